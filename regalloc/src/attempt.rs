//! One attempt at binding all registers of a function.
//!
//! Webs are joined, then packed, file by file. Webs that find no place are taken apart where that may help,
//! else the attempt fails and the function stays as it is. What is bound is rewritten, checked on request,
//! and counted.

use crate::files::{FILES, FileLimits, PerFile, available, kind_of};
use crate::graph::{Graph, Numbering};
use crate::liveness::{Kind, Liveness};
use crate::occupancy::{Mask, Occupancy};
use crate::pack::{File, Packing, UNBOUND};
use crate::resources::{note_whole_wave, place_lane_registers, resources};
use crate::rewrite::{Bound, Rewriter};
use crate::round::{Round, Waves};
use crate::spill::Spills;
use crate::webs::Webs;
use crate::{Allocator, Options, checker, join};
use mir::Result;
use mir::machine::{Function, PReg, RegFile, VReg};
use mir::target::Target;
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

/// Why an attempt failed.
pub(crate) struct Failure {
    /// The file with too few registers.
    pub file: RegFile,
    /// Most dwords at once that found no place, if it came to that.
    pub short: i32,
    /// Registers that found none.
    pub homeless: Vec<VReg>,
}

impl Failure {
    /// So much is alive at once in `file` that no packing was tried.
    fn crowded(file: RegFile) -> Self {
        Self { file, short: 0, homeless: Vec::new() }
    }

    /// `webs` found no place in `round`.
    fn packing(file: RegFile, round: &mut Round<'_>, webs: &[VReg]) -> Self {
        Self { file, short: round.overlap(webs), homeless: round.members(webs) }
    }
}

/// How often webs that found no place are taken apart before something is spilled.
const JOIN_TRIES: usize = 2;
/// Instructions of a function that are worth saving a register of its caller, for a second wave. The next ones are worth less.
const WORTH_A_SAVE: usize = 64;
/// SGPRs that count besides those of the packing: VCC, FLAT_SCRATCH and XNACK_MASK.
const SPECIAL_SGPRS: u16 = 6;

/// Whether `f` goes on after a call.
fn has_calls(f: &Function) -> bool {
    f.calls.iter().any(|site| !site.tail)
}

/// What an attempt knows of the function.
pub(crate) struct Attempt<'a> {
    target: &'a Target,
    options: &'a Options,
    numbering: Numbering,
    wave: Graph,
    thread: Graph,
    /// Live ranges.
    pub live: Rc<Liveness>,
    /// What was spilled before; `None` where nothing was.
    spills: Option<&'a Spills>,
    /// Whether tuples live as a whole, and webs inside of a block from their first position to their last.
    quick: bool,
    files: PerFile<File>,
    /// The VGPRs that a function which is called may change without saving them.
    unsaved: Option<File>,
}

/// A register for everything.
struct Binding {
    /// The register of every virtual one.
    reg_of: Vec<u16>,
    /// Ordinary VGPRs, and all of them.
    vgprs: std::ops::Range<u16>,
}

impl<'a> Attempt<'a> {
    /// Numbers the code and computes its live ranges.
    pub fn new(
        f: &Function,
        target: &'a Target,
        options: &'a Options,
        limits: &FileLimits,
        spills: Option<&'a Spills>,
        quick: bool,
    ) -> Result<Self> {
        let numbering = Numbering::new(f);
        let wave = Graph::new(f, &numbering, RegFile::Sgpr);
        let thread = Graph::new(f, &numbering, RegFile::Vgpr);
        let live = Rc::new(Liveness::compute(f, target, &numbering, &wave, &thread, !quick)?);
        let lanes = spills.map_or(0, Spills::lane_registers);
        let files = PerFile { sgpr: limits.scalar_file(&live), vgpr: limits.vector_file(&live, lanes) };
        let unsaved = limits.unsaved_vectors(f, &files.vgpr);
        Ok(Self { target, options, numbering, wave, thread, live, spills, quick, files, unsaved })
    }

    /// Binds everything, or tells which file has too few registers and leaves `f` as it is.
    pub fn run(&self, f: &mut Function, memory: &mut Allocator) -> Result<Option<Failure>> {
        match self.bind(f, memory) {
            Ok(binding) => self.rewrite(f, memory, &binding).map(|()| None),
            Err(failure) => Ok(Some(failure)),
        }
    }

    /// VGPRs that hold spilled SGPRs.
    fn lanes(&self) -> u16 {
        self.spills.map_or(0, Spills::lane_registers)
    }

    fn bind(&self, f: &Function, memory: &mut Allocator) -> Result<Binding, Failure> {
        let joiner = join::Joiner {
            f,
            live: &self.live,
            numbering: &self.numbering,
            wave: &self.wave,
            thread: &self.thread,
        };
        // What regalloc2 said of the original code holds for what spilling left of it.
        let mut ask = self.options.regalloc2 && self.spills.is_none();
        if self.spills.is_none() {
            memory.units.clear();
        }
        // Taking webs apart costs moves, which is better than spilling, but seldom helps where that has
        // begun.
        let tries_left = if self.spills.is_none() && !self.quick { JOIN_TRIES } else { 0 };
        let mut apart: FxHashSet<VReg> = FxHashSet::default();
        for tries in 0..=tries_left {
            let (mut webs, open) = joiner.join(&mut memory.units, &apart, ask);
            // What was found holds for what webs are joined again.
            ask = false;
            let hints = joiner.hints(&mut webs, &open);
            let (live, numbering) = (&*self.live, &self.numbering);
            let mut round = Round::new(f, live, numbering, &mut webs, &hints, self.quick);
            let mut at = vec![UNBOUND; f.vregs.len()];
            let high = match self.pack(&mut round, memory, &mut at)? {
                Ok(high) => high,
                Err((file, failed)) => {
                    let before = apart.len();
                    round.dissolve(&failed, &mut apart);
                    if tries == tries_left || apart.len() == before {
                        return Err(Failure::packing(file, &mut round, &failed));
                    }
                    continue;
                }
            };
            let mut exclusive = self.files.vgpr.clone();
            exclusive.allowed = exclusive.allowed.and_not(&Mask::run(0, high));
            let packed = round.pack(Kind::WholeWave, &exclusive, 0, &mut memory.whole_wave, &mut at);
            if !packed.failed.is_empty() {
                // Ordinary registers must leave room.
                return Err(Failure::packing(RegFile::Vgpr, &mut round, &packed.failed));
            }
            let reg_of = registers_of(f, &mut webs, &at);
            return Ok(Binding { reg_of, vgprs: high..packed.high.max(high) });
        }
        Err(Failure::crowded(RegFile::Sgpr))
    }

    /// Packs the ordinary registers of both files, tightly where more waves fit for it. Gives the VGPRs that
    /// are taken, or the webs that found no place.
    fn pack(
        &self,
        round: &mut Round<'_>,
        memory: &mut Allocator,
        at: &mut [u16],
    ) -> Result<Result<u16, (RegFile, Vec<VReg>)>, Failure> {
        let mut most = PerFile::default();
        // More waves in one file are worth nothing if the other does not hold them.
        let lanes = self.lanes();
        let mut waves = Waves { target: self.target, kind: Kind::Vgpr, apart: lanes, bound: u32::MAX };
        // What finds no place quickly is tried in full, so nobody asks beforehand.
        if !self.quick {
            for file in FILES {
                most[file] = round.pressure(kind_of(file), &self.files[file]);
            }
            let crowded = |&file: &RegFile| most[file] > available(kind_of(file), &self.files[file]);
            if let Some(file) = FILES.into_iter().find(crowded) {
                return Err(Failure::crowded(file));
            }
            waves.bound = waves.fit(most.vgpr as u16);
        }
        let mut high = 0;
        for file in FILES {
            let (kind, registers) = (kind_of(file), &self.files[file]);
            let occupancy = &mut memory.files[file];
            let mut packed = round.pack(kind, registers, most[file], occupancy, at);
            let mut allowed = Cow::Borrowed(registers);
            let callee = self.unsaved.as_ref().filter(|_| file == RegFile::Vgpr && packed.failed.is_empty());
            let callee = callee.filter(|unsaved| self.taken_saved(round, unsaved, at) > 0);
            let suffice = |unsaved: &&File| !has_calls(round.f) && most[file] <= available(kind, unsaved);
            if let Some(unsaved) = callee.filter(suffice) {
                let waves = Waves { kind, apart: lanes, ..waves };
                (packed, allowed) =
                    self.save_none(round, packed.high, most[file], unsaved, &waves, occupancy, at);
            }
            if packed.failed.is_empty() && !self.quick {
                let apart = if file == RegFile::Sgpr { SPECIAL_SGPRS } else { lanes };
                waves = Waves { kind, apart, ..waves };
                let (improved, used) =
                    waves.improve(round, packed, most[file] as u16, &allowed, occupancy, at);
                packed = match callee.filter(|unsaved| !suffice(unsaved)) {
                    Some(unsaved) => {
                        self.save_few(round, (improved, &used), most[file], unsaved, &waves, occupancy, at)
                    }
                    None => improved,
                };
                waves.bound = waves.bound.min(waves.fit(packed.high));
            }
            if !packed.failed.is_empty() {
                return Ok(Err((file, packed.failed)));
            }
            high = packed.high;
        }
        if let Some(spills) = self.spills.filter(|_| !self.quick) {
            let saved_none = self.unsaved.as_ref().unwrap_or(&self.files.vgpr).allowed;
            let free = saved_none.and(&Mask::run(0, high)).or(&round.taken(Kind::Vgpr, at));
            round.spread(spills, &free, &mut memory.files.vgpr, at);
        }
        Ok(Ok(high))
    }

    /// Packed VGPRs that callers expect back.
    fn taken_saved(&self, round: &Round<'_>, unsaved: &File, at: &[u16]) -> u32 {
        let saved = self.files.vgpr.allowed.and_not(&unsaved.allowed);
        saved.and(&round.taken(Kind::Vgpr, at)).count()
    }

    /// Packs VGPRs, of which `all` take more than the `unsaved` ones, into those: what callers do not expect back costs no store and load. A long function saves
    /// some where more waves fit for it.
    fn save_none<'b>(
        &'b self,
        round: &mut Round<'_>,
        all: u16,
        most: i32,
        unsaved: &'b File,
        waves: &Waves<'_>,
        occupancy: &mut Occupancy,
        at: &mut [u16],
    ) -> (Packing, Cow<'b, File>) {
        let registers = &self.files.vgpr;
        let packed = round.pack(Kind::Vgpr, unsaved, most, occupancy, at);
        if !packed.failed.is_empty() {
            return (round.pack(Kind::Vgpr, registers, most, occupancy, at), Cow::Borrowed(registers));
        }
        let Some(few) = self.few_saved(round.f, registers, unsaved, waves, packed.high, all) else {
            return (packed, Cow::Borrowed(unsaved));
        };
        let packed = round.pack(Kind::Vgpr, &few, most, occupancy, at);
        if packed.failed.is_empty() {
            return (packed, Cow::Owned(few));
        }
        (round.pack(Kind::Vgpr, unsaved, most, occupancy, at), Cow::Borrowed(unsaved))
    }

    /// Packs VGPRs of a function that cannot do without those that callers expect back, as values live across calls or are too many, into as few of them as may
    /// be without a wave less, and without a move more. `packed` are they already, and into what.
    fn save_few(
        &self,
        round: &mut Round<'_>,
        (packed, used): (Packing, &File),
        most: i32,
        unsaved: &File,
        waves: &Waves<'_>,
        occupancy: &mut Occupancy,
        at: &mut [u16],
    ) -> Packing {
        let taken = self.taken_saved(round, unsaved, at) as i32;
        let below = Mask::run(0, waves.limit(waves.fit(packed.high)));
        let free = File { allowed: unsaved.allowed.and(&below), fixed: unsaved.fixed.clone() };
        let least = (round.pressure(Kind::Vgpr, &free) - available(Kind::Vgpr, &free)).max(0);
        let saved = self.files.vgpr.allowed.and(&below).and_not(&unsaved.allowed);
        if least >= taken {
            return packed;
        }
        let most_missed = round.missed(Kind::Vgpr, at);
        // Tuples leave holes.
        for few in [least, least + least / 8 + 2] {
            if few >= taken {
                break;
            }
            let mut file = free.clone();
            (0..PReg::VGPRS)
                .filter(|&n| saved.contains(n))
                .take(few as usize)
                .for_each(|n| file.allowed.insert(n));
            let packed = round.pack(Kind::Vgpr, &file, most, occupancy, at);
            if packed.failed.is_empty() && round.missed(Kind::Vgpr, at) <= most_missed {
                return packed;
            }
        }
        round.pack(Kind::Vgpr, used, most, occupancy, at)
    }

    /// VGPRs with which more waves fit than with the `unsaved` ones up to `high`, if the function is long enough to save some of all: `all` suffice.
    fn few_saved(
        &self,
        f: &Function,
        registers: &File,
        unsaved: &File,
        waves: &Waves<'_>,
        high: u16,
        all: u16,
    ) -> Option<File> {
        let insts: usize = f.layout.iter().map(|&block| f.blocks[block].insts.len()).sum();
        let best = waves.fit(all).min(waves.bound);
        let now = waves.fit(high);
        let worth = WORTH_A_SAVE * (now * now) as usize;
        (now + 1..=best).rev().find_map(|more| {
            let limit = waves.limit(more);
            let below = Mask::run(0, limit);
            let mut allowed = unsaved.allowed.and(&below);
            let saved = registers.allowed.and_not(&unsaved.allowed).and(&below);
            let missing = usize::from(all).saturating_sub(allowed.count() as usize);
            (0..limit).rev().filter(|&n| saved.contains(n)).take(missing).for_each(|n| allowed.insert(n));
            (insts >= missing * worth).then(|| File { allowed, fixed: unsaved.fixed.clone() })
        })
    }

    fn rewrite(&self, f: &mut Function, memory: &mut Allocator, binding: &Binding) -> Result<()> {
        let reg_of = &binding.reg_of;
        let taken = Mask::run(binding.vgprs.start, binding.vgprs.end - binding.vgprs.start);
        let rewriter = Rewriter {
            target: self.target,
            numbering: &self.numbering,
            wave: &self.wave,
            thread: &self.thread,
            reg_of,
            sgprs: Bound {
                occupancy: RefCell::new(&mut memory.files.sgpr),
                allowed: self.files.sgpr.allowed,
            },
            vgprs: Bound {
                occupancy: RefCell::new(&mut memory.files.vgpr),
                allowed: self.files.vgpr.allowed.and_not(&taken),
            },
            traced: self.options.verify,
        };
        let before = self.options.verify.then(|| f.clone());
        #[cfg_attr(not(test), expect(unused_mut, reason = "tests break the result"))]
        let mut traces = rewriter.run(f)?;
        #[cfg(test)]
        if let Some(damage) = &mut memory.damage {
            damage.allocated(f, &mut traces);
        }
        let none = Spills::default();
        let spills = self.spills.unwrap_or(&none);
        if let Some(before) = &before {
            checker::Checker {
                target: self.target,
                before,
                after: f,
                traces: &traces,
                reg_of,
                numbering: &self.numbering,
                wave: &self.wave,
                thread: &self.thread,
                spills,
                named: FxHashSet::default(),
            }
            .check()?;
        }
        note_whole_wave(f, reg_of);
        // A register that broke a cycle of moves may lie above all others.
        let lanes = self.lanes();
        resources(f, lanes);
        if lanes > 0 {
            place_lane_registers(f, lanes)?;
            resources(f, 0);
        }
        f.resources.sgpr_spills += spills.sgpr_dwords;
        f.resources.vgpr_spills += spills.vgpr_dwords;
        Ok(())
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
