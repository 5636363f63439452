//! Register allocation: from virtual to physical registers.
//!
//! # The problem
//!
//! A wave has about a hundred scalar registers and shares 256 vector registers a lane with the other waves of its SIMD: the fewer a
//! kernel takes, the more waves hide its memory latency, in steps ([`vgpr_budget`]). Values are tuples of 1 to 32
//! consecutive registers, aligned for SGPRs. And there are two control-flow graphs: a lane follows the thread graph, the wave
//! executes the wave graph.
//!
//! # The idea
//!
//! 1. [`graph`]: number the code in layout order.
//! 2. [`liveness`]: live ranges of every register on the graph of its file: SGPRs and whole-wave VGPRs on the wave graph,
//!    other VGPRs on the thread graph. Ranges are sets of positions, so that interference is exact for both.
//! 3. [`webs`] and [`join`]: join what moves connect, with the advice of regalloc2 ([`units`]).
//! 4. [`pack`] and [`repair`]: bind webs to registers.
//! 5. Where that is not possible, [`spill`] and [`reload`]: bring pressure under a budget, then once more from 1.
//! 6. [`rewrite`] and [`moves`]: physical operands, and the moves that remain.
//! 7. [`checker`], on request: prove the result by symbolic execution on both graphs.
//!
//! # Invariants
//!
//! * EXEC changes only in heads and tails of blocks, and VGPR moves, spills and reloads stand in bodies. So each acts on exactly the
//!   lanes that are in the block on the thread graph. Lanes that wait elsewhere keep what their own path left, even in a
//!   register that this block uses for something else: its instructions do not touch inactive lanes.
//! * That is why an ordinary VGPR interferes on the thread graph alone. A whole-wave VGPR is written in inactive lanes too; it
//!   shares no register with ordinary ones.
//! * No inserted move writes SCC, and where the place of a spill takes an addition, SCC is what it was after it.
//! * Errors are values: what does not fit is `Unsupported`, what contradicts the contract of the input a `Defect`.
//!
//! # Cost
//!
//! Every phase is linear in instructions, operands and live ranges, but for a logarithm in [`occupancy`].
#![forbid(unsafe_code)]

mod access;
mod checker;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod fuzz;
mod graph;
#[cfg(test)]
mod interpret;
mod join;
mod liveness;
mod moves;
mod occupancy;
mod pack;
mod reload;
mod repair;
mod rewrite;
mod spill;
mod units;
mod webs;

use graph::{Graph, Numbering};
use liveness::{Kind, Liveness};
use mir::isa::{Implicit, Opcode};
use mir::machine::{Function, Operand, PReg, Reg, RegFile, VReg};
use mir::target::Target;
use mir::{Diagnostic, Result};
use occupancy::{Mask, Occupancy};
use pack::{File, Hints, Item, Packing, UNBOUND};
use rewrite::{Bound, Rewriter};
use spill::{Budget, Spills};
use std::rc::Rc;
use units::Units;
use webs::Webs;

/// What the user asked for, besides what the function says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Check the result symbolically.
    pub verify: bool,
    /// Most VGPRs that may be used (`"amdgpu-num-vgpr"`).
    pub max_vgprs: Option<u32>,
    /// Most SGPRs that may be used, VCC and its kin included (`"amdgpu-num-sgpr"`).
    pub max_sgprs: Option<u32>,
    /// Fewest waves of a SIMD that must fit (`"amdgpu-waves-per-eu"`).
    pub min_waves: Option<u32>,
    /// Ask regalloc2 which of the values belong together that cannot all share registers.
    pub regalloc2: bool,
}

/// Registers for SGPR indices: the plain ones and VCC.
const VCC_PAIR: u16 = access::VCC;

/// Most VGPRs that a kernel may use if `waves` of its waves are to fit on a SIMD.
///
/// Source: AMDGPU usage guide and the ISA manuals: 256 registers a lane and SIMD, given out in granules of 4.
pub fn vgpr_budget(target: &Target, waves: u32) -> u32 {
    let limits = target.limits();
    let granule = limits.vgpr_granule;
    (limits.total_vgprs / waves.clamp(1, limits.max_waves_per_simd) / granule * granule).max(granule)
}

/// Waves of one work-group that share a SIMD: a compute unit has 4 SIMDs, and all of a work-group must be resident.
fn waves_of_workgroup(f: &Function, target: &Target) -> u32 {
    f.max_flat_workgroup_size.div_ceil(target.wave_size()).div_ceil(4).max(1)
}

/// Allocates registers for `f`.
pub fn allocate(f: &mut Function, target: &Target, options: &Options) -> Result<()> {
    Allocator::default().allocate(f, target, options)
}

/// An allocator that keeps its memory from function to function.
#[derive(Default)]
pub struct Allocator {
    scalar: Occupancy,
    vector: Occupancy,
    whole_wave: Occupancy,
    units: Units,
    /// Live ranges of the function before spilling.
    known: Option<Rc<Liveness>>,
    /// Damage done to the result before it is checked.
    #[cfg(test)]
    damage: Option<damage::Damage>,
}

impl Allocator {
    /// Allocates registers for `f`.
    pub fn allocate(&mut self, f: &mut Function, target: &Target, options: &Options) -> Result<()> {
        self.run(f, target, options).map_err(|d| d.in_function(&f.name))
    }

    /// What [`Self::allocate`] makes of `f`.
    #[cfg(test)]
    fn allocated(&mut self, mut f: Function, target: &Target, options: &Options) -> Result<Function> {
        self.allocate(&mut f, target, options).map(|()| f)
    }

    fn run(&mut self, f: &mut Function, target: &Target, options: &Options) -> Result<()> {
        let limits = Limits::new(f, target, options);
        let Some(failed) = self.attempt(f, target, options, &limits, None)? else {
            self.known = None;
            return Ok(());
        };
        let mut known = self.known.take();
        {
            let numbering = Numbering::new(f);
            let wave = Graph::new(f, &numbering, RegFile::Sgpr);
            let thread = Graph::new(f, &numbering, RegFile::Vgpr);
            if spill::copy_lone_parameters(f, &numbering, &wave, &thread) {
                known = None;
            }
        }
        let plan = Plan::new(f, target, &limits, known)?;
        let mut file = failed.file;
        let mut budgets = [None; 2];
        budgets[file] = Some(Budget::after(failed.short));
        loop {
            let mut spilled = f.clone();
            let spills = plan.spill(&mut spilled, &limits, &mut budgets, file)?;
            #[cfg(test)]
            if let Some(damage) = &mut self.damage {
                damage.spilled(&mut spilled);
            }
            let Some(failed) = self.attempt(&mut spilled, target, options, &limits, Some(&spills))? else {
                *f = spilled;
                return Ok(());
            };
            let budget = budgets[failed.file].get_or_insert_default();
            if budget.spent() {
                let file = ["scalar", "vector"][failed.file];
                return Err(Diagnostic::unsupported(format!(
                    "an instruction needs more {file} registers than there are"
                )));
            }
            budget.short = failed.short;
            file = failed.file;
        }
    }

    /// Binds everything, or tells which file has too few registers and leaves `f` as it is.
    fn attempt(
        &mut self,
        f: &mut Function,
        target: &Target,
        options: &Options,
        limits: &Limits,
        spills: Option<&Spills>,
    ) -> Result<Option<Failure>> {
        let numbering = Numbering::new(f);
        let wave = Graph::new(f, &numbering, RegFile::Sgpr);
        let thread = Graph::new(f, &numbering, RegFile::Vgpr);
        let live = Rc::new(Liveness::compute(f, target, &numbering, &wave, &thread)?);
        self.known = spills.is_none().then(|| live.clone());
        let mut apart = rustc_hash::FxHashSet::default();
        let joiner = join::Joiner { f, live: &live, numbering: &numbering, wave: &wave, thread: &thread };
        // What regalloc2 said of the original code holds for what spilling left of it.
        let mut ask = options.regalloc2 && spills.is_none();
        if spills.is_none() {
            self.units.clear();
        }
        // Taking webs apart costs moves, which is better than spilling, but seldom helps where that has begun.
        let tries_left = if spills.is_none() { JOIN_TRIES } else { 0 };
        let none = Spills::default();
        let spills = spills.unwrap_or(&none);
        let lanes = spills.lane_registers();
        let scalar = limits.scalar_file(&live);
        let vector = limits.vector_file(&live, lanes);
        for tries in 0..=tries_left {
            let (mut webs, open) = joiner.join(&mut self.units, &apart, ask);
            // What was found holds for what webs are joined again.
            ask = false;
            let hints = joiner.hints(&mut webs, &open);
            let mut round = Round { f, live: &live, numbering: &numbering, webs: &mut webs, hints: &hints };
            let mut at = vec![UNBOUND; round.f.vregs.len()];
            let mut failure = None;
            let mut high = 0;
            let most = [(Kind::Sgpr, &scalar), (Kind::Vgpr, &vector)]
                .map(|(kind, file)| round.pressure(kind, file).into_iter().max().unwrap_or(0));
            if let Some(file) = (0..2).find(|&n| most[n] > available(KINDS[n], [&scalar, &vector][n])) {
                return Ok(Some(Failure { file, short: 0 }));
            }
            // More waves in one file are worth nothing if the other does not hold them.
            let mut waves = Waves { target, kind: Kind::Vgpr, apart: lanes, bound: u32::MAX };
            waves.bound = waves.fit(most[1] as u16);
            for (n, kind, file, occupancy) in
                [(0, Kind::Sgpr, &scalar, &mut self.scalar), (1, Kind::Vgpr, &vector, &mut self.vector)]
            {
                let mut packed = round.pack(kind, file, most[n], occupancy, &mut at);
                if packed.failed.is_empty() {
                    let apart = if kind == Kind::Sgpr { 6 } else { lanes };
                    waves = Waves { kind, apart, ..waves };
                    packed = waves.improve(&mut round, packed, most[n] as u16, file, occupancy, &mut at);
                    waves.bound = waves.bound.min(waves.fit(packed.high));
                }
                high = packed.high;
                if !packed.failed.is_empty() {
                    failure = Some((n, packed.failed));
                    break;
                }
            }
            if let Some((file, failed)) = failure {
                let before = apart.len();
                round.dissolve(&failed, &mut apart);
                if tries == tries_left || apart.len() == before {
                    return Ok(Some(Failure { file, short: round.overlap(&failed) }));
                }
                continue;
            }
            let mut exclusive = vector.clone();
            exclusive.allowed = exclusive.allowed.and_not(&Mask::run(0, high));
            let packed = round.pack(Kind::WholeWave, &exclusive, 0, &mut self.whole_wave, &mut at);
            if !packed.failed.is_empty() {
                // Ordinary registers must leave room.
                return Ok(Some(Failure { file: 1, short: round.overlap(&packed.failed) }));
            }
            let all = packed.high.max(high);
            let reg_of = registers_of(f, &mut webs, &at);
            let rewriter = Rewriter {
                target,
                numbering: &numbering,
                wave: &wave,
                thread: &thread,
                reg_of: &reg_of,
                sgprs: Bound { occupancy: &self.scalar, allowed: scalar.allowed },
                vgprs: Bound {
                    occupancy: &self.vector,
                    allowed: vector.allowed.and_not(&Mask::run(high, all - high)),
                },
                traced: options.verify,
            };
            let before = options.verify.then(|| f.clone());
            #[cfg_attr(not(test), expect(unused_mut, reason = "tests break the result"))]
            let mut traces = rewriter.run(f)?;
            #[cfg(test)]
            if let Some(damage) = &mut self.damage {
                damage.allocated(f, &mut traces);
            }
            if let Some(before) = &before {
                checker::Checker {
                    target,
                    before,
                    after: f,
                    traces: &traces,
                    reg_of: &reg_of,
                    numbering: &numbering,
                    wave: &wave,
                    thread: &thread,
                    spills,
                    named: rustc_hash::FxHashSet::default(),
                }
                .check()?;
            }
            note_whole_wave(f, &reg_of);
            // A register that broke a cycle of moves may lie above all others.
            resources(f, lanes);
            if lanes > 0 {
                place_lane_registers(f, lanes)?;
                resources(f, 0);
            }
            f.resources.sgpr_spills += spills.sgpr_dwords;
            f.resources.vgpr_spills += spills.vgpr_dwords;
            return Ok(None);
        }
        Ok(Some(Failure { file: 0, short: 0 }))
    }
}

/// Why an attempt failed.
struct Failure {
    /// The file (scalar 0, vector 1) with too few registers.
    file: usize,
    /// Most dwords at once that found no place, if it came to that.
    short: i32,
}

/// The kinds that ordinary packing is for, by file.
const KINDS: [Kind; 2] = [Kind::Sgpr, Kind::Vgpr];

/// How often webs that found no place are taken apart before something is spilled.
const JOIN_TRIES: usize = 2;

/// Registers that `file` has for anything.
fn available(kind: Kind, file: &File) -> i32 {
    file.allowed.and_not(&Mask::run(VCC_PAIR, u16::from(kind == Kind::Sgpr) * 2)).count() as i32
}

/// What is known of a function that needs spills before any are inserted: all rounds start from it.
struct Plan {
    numbering: Numbering,
    live: Rc<Liveness>,
    accesses: spill::Accesses,
    /// Dwords alive by position, scalar and vector: of registers, not webs, because spilling one of two that share a
    /// place frees nothing.
    profiles: [Vec<i32>; 2],
}

impl Plan {
    /// A plan for `f`, whose live ranges may be `known`.
    fn new(f: &Function, target: &Target, limits: &Limits, known: Option<Rc<Liveness>>) -> Result<Self> {
        let numbering = Numbering::new(f);
        let wave = Graph::new(f, &numbering, RegFile::Sgpr);
        let thread = Graph::new(f, &numbering, RegFile::Vgpr);
        let live = match known {
            Some(live) => live,
            None => Rc::new(Liveness::compute(f, target, &numbering, &wave, &thread)?),
        };
        let pressure = |kind: Kind, which: RegFile| {
            let file = match which {
                RegFile::Sgpr => limits.scalar_file(&live),
                RegFile::Vgpr => limits.vector_file(&live, 0),
            };
            let registers = f.vregs.iter().filter(|(v, _)| Kind::of(f, *v) == kind);
            let mut pieces = Vec::new();
            for (v, data) in registers {
                live.each(v, data.dwords, |ranges, n| pieces.extend(ranges.iter().map(|&r| (r, n))));
            }
            let fixed = file.fixed.iter().filter(|r| file.allowed.contains(r.0));
            let fixed = fixed.filter(|r| r.0 < VCC_PAIR || kind != Kind::Sgpr);
            pieces.extend(fixed.map(|&(_, range)| (range, 1)));
            spill::pressure(numbering.len(), pieces.into_iter())
        };
        let mut vector = pressure(Kind::Vgpr, RegFile::Vgpr);
        // Whole-wave registers share nothing with others.
        let whole = pressure(Kind::WholeWave, RegFile::Vgpr).into_iter().max().unwrap_or(0);
        vector.iter_mut().for_each(|p| *p += whole);
        let profiles = [pressure(Kind::Sgpr, RegFile::Sgpr), vector];
        let accesses = spill::Accesses::new(f, target, &numbering);
        Ok(Self { numbering, live, accesses, profiles })
    }

    /// Brings the pressure of `f` under new budgets, lower ones for `file` than before.
    fn spill(
        &self,
        f: &mut Function,
        limits: &Limits,
        budgets: &mut [Option<Budget>; 2],
        file: usize,
    ) -> Result<Spills> {
        let mut spills = Spills::default();
        let mut places = rustc_hash::FxHashMap::default();
        let mut choices: [spill::Choice; 2] = Default::default();
        let mut scratch = budgets[1].is_some();
        for (n, kind) in [(0, Kind::Sgpr), (1, Kind::Vgpr)] {
            let profile = self.profiles[n].clone();
            let mut registers = match kind {
                Kind::Sgpr => available(kind, &limits.scalar_file(&self.live)),
                _ => available(kind, &limits.vector_file(&self.live, spills.lane_registers())),
            };
            if kind == Kind::Sgpr {
                // The resource of scratch, aligned, the wave's offset and an offset of a slot.
                let vectors = available(Kind::Vgpr, &limits.vector_file(&self.live, 0));
                scratch |= self.profiles[1].iter().any(|&p| p > vectors);
                registers -= i32::from(scratch) * 6;
            }
            let most = profile.iter().copied().max().unwrap_or(0);
            if budgets[n].is_none() && most > registers {
                budgets[n] = Some(Budget::default());
            }
            let budget = match &mut budgets[n] {
                Some(budget) if n == file || budget.last().is_none() => budget.next(registers, most),
                Some(budget) => budget.last().unwrap_or(registers),
                None => registers,
            };
            let mut choice = spill::Choice { victims: Vec::new(), profile, budget };
            if budgets[n].is_some() {
                choice.victims = spill::choose(
                    f,
                    &self.live,
                    &self.numbering,
                    &self.accesses,
                    kind,
                    &mut choice.profile,
                    budget,
                );
                spill::places(f, &self.live, &self.numbering, &choice.victims, &mut spills, &mut places)?;
            }
            choices[n] = choice;
        }
        spill::insert(f, limits.hardware, &self.numbering, &choices, &places, &mut spills);
        Ok(spills)
    }
}

/// One attempt.
struct Round<'a> {
    f: &'a Function,
    live: &'a Liveness,
    numbering: &'a Numbering,
    webs: &'a mut Webs,
    hints: &'a Hints,
}

impl Round<'_> {
    /// Packs the webs of `kind`, trying orders until all find a place, then moving what is in the way.
    /// `most` dwords are alive at once.
    fn pack(
        &mut self,
        kind: Kind,
        file: &File,
        most: i32,
        occupancy: &mut Occupancy,
        at: &mut [u16],
    ) -> Packing {
        let mut items: Vec<Item> = pack::items(self.f, self.live, self.webs, kind);
        let positions = self.numbering.len();
        let mut packed = Packing::default();
        // Where aligned tuples are crowded, they need their room first.
        let crowded = kind == Kind::Sgpr && most * 6 > available(kind, file) * 5;
        for order in usize::from(crowded)..2 {
            if order == 1 {
                items.sort_by_key(|i| (std::cmp::Reverse(i.width), i.start, i.root));
            }
            packed =
                pack::pack(self.f, self.live, self.webs, &items, file, self.hints, occupancy, positions, at);
            if packed.failed.is_empty() {
                return packed;
            }
        }
        let repair = repair::Repair {
            f: self.f,
            live: self.live,
            webs: self.webs,
            items: &items,
            file,
            hints: self.hints,
        };
        if repair.run(&packed.failed, occupancy, at) {
            packed.failed.clear();
            packed.high = pack::high(self.f, &items, at);
        }
        packed
    }

    /// Dwords of `kind` alive at each position, those that the code names included.
    fn pressure(&mut self, kind: Kind, file: &File) -> Vec<i32> {
        let mut pieces = Vec::new();
        for v in self.f.vregs.keys() {
            if Kind::of(self.f, v) == kind && self.webs.find(v).0 == v.as_u32() {
                self.webs.view(self.f, self.live, v).pieces(&mut pieces);
            }
        }
        for &(n, range) in &file.fixed {
            if file.allowed.contains(n) && (n < VCC_PAIR || kind != Kind::Sgpr) {
                pieces.push((range, 1));
            }
        }
        spill::pressure(self.numbering.len(), pieces.into_iter())
    }

    /// Most dwords of `webs` alive at once.
    fn overlap(&self, webs: &[VReg]) -> i32 {
        let mut pieces = Vec::new();
        for &v in webs {
            self.webs.view(self.f, self.live, v).pieces(&mut pieces);
        }
        spill::pressure(self.numbering.len(), pieces.into_iter()).into_iter().max().unwrap_or(0)
    }

    /// Keeps the members of failed webs out of joins from now on.
    fn dissolve(&mut self, failed: &[VReg], apart: &mut rustc_hash::FxHashSet<VReg>) {
        let roots: rustc_hash::FxHashSet<u32> = failed.iter().map(|v| v.as_u32()).collect();
        let mut size = rustc_hash::FxHashMap::<u32, u32>::default();
        for v in self.f.vregs.keys() {
            *size.entry(self.webs.find(v).0).or_insert(0) += 1;
        }
        for v in self.f.vregs.keys() {
            let (root, _) = self.webs.find(v);
            if roots.contains(&root) && size.get(&root).is_some_and(|&n| n > 1) {
                apart.insert(v);
            }
        }
    }
}

/// Steps of a file's size in which more waves fit.
struct Waves<'a> {
    target: &'a Target,
    kind: Kind,
    /// Registers that count besides those of the packing.
    apart: u16,
    /// Waves that fit for other reasons.
    bound: u32,
}

impl Waves<'_> {
    /// Waves that fit with the first `high` registers.
    fn fit(&self, high: u16) -> u32 {
        let used = u32::from(high + self.apart);
        match self.kind {
            Kind::Sgpr => self.target.limits().waves_that_fit(used, 1),
            _ => self.target.limits().waves_that_fit(1, used),
        }
    }

    /// Registers with which `waves` fit.
    fn limit(&self, waves: u32) -> u16 {
        let p = self.target.limits();
        let limit = match self.kind {
            Kind::Sgpr => p.total_sgprs / waves / p.sgpr_granule * p.sgpr_granule,
            _ => vgpr_budget(self.target, waves),
        };
        (limit as u16).saturating_sub(self.apart)
    }

    /// Packs more tightly where `most`, the registers alive at once, would let more waves fit than `packed` does.
    fn improve(
        &self,
        round: &mut Round<'_>,
        packed: Packing,
        most: u16,
        file: &File,
        occupancy: &mut Occupancy,
        at: &mut [u16],
    ) -> Packing {
        let (now, best) = (self.fit(packed.high), self.fit(most).min(self.bound));
        if now >= best {
            return packed;
        }
        let goals = [best, now + 1];
        for &waves in &goals[usize::from(best == now + 1)..] {
            let mut tight = file.clone();
            let vcc = Mask::run(VCC_PAIR, u16::from(self.kind == Kind::Sgpr) * 2);
            tight.allowed = tight.allowed.and(&Mask::run(0, self.limit(waves)).or(&vcc));
            let packed = round.pack(self.kind, &tight, i32::from(most), occupancy, at);
            if packed.failed.is_empty() {
                return packed;
            }
        }
        round.pack(self.kind, file, i32::from(most), occupancy, at)
    }
}

/// The register of every virtual register.
fn registers_of(f: &Function, webs: &mut Webs, at: &[u16]) -> Vec<u16> {
    f.vregs
        .keys()
        .map(|v| {
            let (root, offset) = webs.find(v);
            match at[root as usize] {
                UNBOUND => UNBOUND,
                first => first.saturating_add_signed(offset),
            }
        })
        .collect()
}

/// Notes the registers of whole-wave values for the prolog of a function that is called.
fn note_whole_wave(f: &mut Function, reg_of: &[u16]) {
    let mut out: Vec<PReg> = Vec::new();
    for (v, data) in f.vregs.iter().filter(|(v, _)| Kind::of(f, *v) == Kind::WholeWave) {
        let first = reg_of[v.as_u32() as usize];
        if first != UNBOUND {
            out.extend((0..u16::from(data.dwords)).map(|d| PReg::vgpr(first + d)));
        }
    }
    out.sort_unstable();
    out.dedup();
    f.whole_wave_vgprs = out;
}

/// Registers for spilled SGPRs: behind all others; where there are calls, those that callees leave alone, and where there is inline assembly, those that
/// it does not name.
fn lane_places(f: &Function, lanes: u16) -> Vec<PReg> {
    let first = f.resources.vgprs as u16;
    if f.calls.is_empty() && f.asm_sites.is_empty() {
        return (0..lanes).map(|n| PReg::vgpr(first + n)).collect();
    }
    let mut taken = [false; PReg::VGPRS as usize];
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            let spills = matches!(inst.op, Opcode::V_WRITELANE_B32 | Opcode::V_READLANE_B32);
            for (_, operand) in access::registers(inst) {
                if let Reg::Physical(reg) = operand.reg {
                    let numbers = (0..u16::from(operand.dwords)).filter_map(|d| reg.plus(d).vgpr_index());
                    // The provisional numbers of those that are placed here.
                    for n in numbers.filter(|&n| !(spills && n >= PReg::VGPRS - lanes)) {
                        taken[usize::from(n)] = true;
                    }
                }
            }
        }
    }
    let kept = |n: u16| f.calls.is_empty() || mir::abi::call::is_callee_saved(PReg::vgpr(n), false);
    let free = |n: &u16| !taken[usize::from(*n)] && kept(*n);
    (0..PReg::VGPRS).filter(free).take(usize::from(lanes)).map(PReg::vgpr).collect()
}

/// Numbers the registers that hold spilled SGPRs behind all others.
fn place_lane_registers(f: &mut Function, lanes: u16) -> Result<()> {
    let places = lane_places(f, lanes);
    if places.len() < usize::from(lanes) {
        return Err(Diagnostic::limit(
            "no VGPR is left for spilled SGPRs beside those that calls and inline assembly change",
        ));
    }
    f.whole_wave_vgprs.extend(&places);
    for block in f.layout.clone() {
        for inst in &mut f.blocks[block].insts {
            if !matches!(inst.op, Opcode::V_WRITELANE_B32 | Opcode::V_READLANE_B32) {
                continue;
            }
            for operand in &mut inst.operands {
                if let Operand::Reg(reg) = operand
                    && let Reg::Physical(p) = reg.reg
                    && let Some(n) = p.vgpr_index().filter(|&n| n >= PReg::VGPRS - lanes)
                {
                    reg.reg = places.get(usize::from(PReg::VGPRS - 1 - n)).copied().unwrap_or(p).into();
                }
            }
        }
    }
    Ok(())
}

/// Which registers there are.
struct Limits {
    hardware: &'static mir::target::Limits,
    sgprs: u16,
    vgprs: u16,
    /// SGPRs that are not to be used at all.
    barred: Mask,
}

impl Limits {
    fn new(f: &Function, target: &Target, options: &Options) -> Self {
        let waves = waves_of_workgroup(f, target).max(options.min_waves.unwrap_or(1));
        let vgprs = vgpr_budget(target, waves)
            .min(options.max_vgprs.filter(|&n| n > 0).unwrap_or(target.limits().addressable_vgprs));
        let mut sgprs = target.processor.numbered_sgprs();
        if let Some(n) = options.max_sgprs.filter(|&n| n > 0) {
            // VCC, FLAT_SCRATCH and XNACK_MASK count as the last six of what is declared.
            sgprs = sgprs.min(n.saturating_sub(6).max(16));
        }
        let mut barred = Mask::default();
        if f.dynamic_stack {
            barred.insert(mir::abi::call::STACK_POINTER.0);
        }
        if f.call_conv.is_callable() {
            // What belongs to the caller and is not worth saving; with calls it is where values survive them.
            let calls = !f.calls.is_empty();
            let graphics = f.saves_as_graphics();
            let given: Vec<PReg> = f.entry.registers().iter().map(|entry| entry.1).collect();
            let kept = |n: u16| {
                let reg = PReg::sgpr(n);
                mir::abi::call::is_reserved(reg)
                    || !calls && mir::abi::call::is_callee_saved(reg, graphics) && !given.contains(&reg)
            };
            for n in (0..PReg::SGPRS).filter(|&n| kept(n)) {
                barred = barred.or(&Mask::run(n, 1));
            }
        }
        Self { hardware: target.limits(), sgprs: sgprs as u16, vgprs: vgprs as u16, barred }
    }

    fn scalar_file(&self, live: &Liveness) -> File {
        let mut file =
            File { allowed: Mask::run(0, self.sgprs).or(&Mask::run(VCC_PAIR, 2)), fixed: Vec::new() };
        file.allowed = file.allowed.and_not(&self.barred);
        restrict(&mut file, live, RegFile::Sgpr);
        file
    }

    fn vector_file(&self, live: &Liveness, lanes: u16) -> File {
        let mut file = File { allowed: Mask::run(0, self.vgprs.saturating_sub(lanes)), fixed: Vec::new() };
        restrict(&mut file, live, RegFile::Vgpr);
        file
    }
}

fn restrict(file: &mut File, live: &Liveness, which: RegFile) {
    for &(_, n) in live.reserved.iter().filter(|r| r.0 == which) {
        file.allowed = file.allowed.and_not(&Mask::run(n, 1));
    }
    file.fixed.extend(live.fixed.iter().filter(|r| r.0 == which).map(|&(_, n, range)| (n, range)));
}

/// Fills in what the code uses, the last `lanes` VGPRs apart.
fn resources(f: &mut Function, lanes: u16) {
    let (mut sgprs, mut vgprs, mut vcc) = (0u16, 0u16, false);
    let mut count = |reg: PReg, dwords: u8| {
        let last = reg.plus(u16::from(dwords.max(1)) - 1);
        if let Some(n) = last.vgpr_index() {
            if n >= PReg::VGPRS - lanes {
                return;
            }
            vgprs = vgprs.max(n + 1);
        } else if let Some(n) = last.sgpr_index() {
            sgprs = sgprs.max(n + 1);
        } else if (PReg::VCC_LO..=PReg::VCC_HI).contains(&last) {
            vcc = true;
        }
    };
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            for (_, operand) in access::registers(inst) {
                if let Reg::Physical(reg) = operand.reg {
                    count(reg, operand.dwords);
                }
            }
            for (reg, dwords, _) in (inst.facts().implicit & Implicit::LISTED).registers() {
                count(reg, dwords as u8);
            }
        }
    }
    for (value, first, _) in f.entry.registers() {
        count(first, value.dwords());
    }
    f.resources.sgprs = f.resources.sgprs.max(u32::from(sgprs));
    f.resources.vgprs = f.resources.vgprs.max(u32::from(vgprs));
    f.resources.vcc |= vcc;
    f.resources.flat_scratch |= f.uses_flat_scratch;
}
