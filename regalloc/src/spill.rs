//! Spilling: which values leave the registers, and where they go.
//!
//! A value is chosen as a whole: it is stored right after its definition and [`crate::reload`] loads it again
//! where it is used. A value that a move of a constant makes is made again instead (*rematerialised*). A
//! spilled parameter is passed in memory, or is there already ([`crate::slots`]). The code stays SSA, so that allocation simply runs again, on code
//! whose pressure is known to fit.
//!
//! The pressure profile (dwords alive by position) is computed once. One sweep over the positions chooses
//! victims where pressure exceeds the budget: of the values alive and not accessed there, the one whose uses,
//! weighted by loop depth, are fewest for the positions of too much pressure that it covers. What a victim
//! relieves is kept as differences by position: its ranges without its accesses, where it still is in a
//! register.
//!
//! Tuples may need more room than dwords. If packing fails, the next round starts from the original code with
//! a smaller budget ([`Budget`]), in the end with none: then registers hold only what one instruction
//! accesses.
//!
//! * SGPRs go to lanes of VGPRs that hold nothing else (`v_writelane`, `v_readlane`). Those act on a lane
//!   whatever EXEC says, and no other instruction touches these registers, so they live on the wave graph as
//!   SGPRs do. They are numbered behind all other VGPRs; until that is known they are physical registers
//!   counted down from v255 ([`lane_register`]).
//! * VGPRs go to scratch, dword by dword (the resource interleaves lanes by dword). Store and load stand in
//!   bodies of blocks, so they act on exactly the lanes that are there on the thread graph: a lane that comes
//!   to the use came through the definition and stored then; lanes that are elsewhere have slots of their
//!   own.
//! * Whole-wave VGPRs go to scratch, too, by accesses in all lanes ([`crate::reload`]), and have slots that nothing else uses: the wave
//!   writes them in lanes that are elsewhere. They are chosen where spilling everything else is not enough, or where they
//!   take most of the registers.
//!
//! Nothing inserted changes SCC. Cost: linear, with a logarithm for the heap of candidates.

use crate::access::{registers, vreg_of};
use crate::graph::{Graph, Numbering, edges, params};
use crate::liveness::{Kind, Liveness, Range};
use crate::slots;
use mir::isa::{Opcode, OperandAccess};
use mir::machine::{
    Block, EntryValue, FrameSlotData, Function, Inst, ModFlags, Modifiers, Operand, PReg, Reg, RegFile,
    RegOperand, VReg, VRegFlags,
};
use mir::target::{ScratchAccess, Target, WaveSize};
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where a spilled value is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Made again by this instruction.
    Again(Box<Inst>),
    /// Lanes by dword, counted over all lane registers.
    Lanes(SmallVec<[u32; 4]>),
    /// Bytes of the frame by dword.
    Scratch(SmallVec<[u32; 4]>),
}

/// What was spilled.
#[derive(Debug, Default)]
pub(crate) struct Spills {
    /// How many lanes a VGPR has.
    pub wave: WaveSize,
    /// Lanes taken.
    pub lanes: u32,
    /// First byte of the frame that spills use.
    scratch_base: Option<u32>,
    /// First byte behind the slots of whole-wave values, which come first.
    whole_end: u32,
    /// First free byte.
    scratch_end: u32,
    /// SGPR dwords spilled.
    pub sgpr_dwords: u32,
    /// VGPR dwords spilled.
    pub vgpr_dwords: u32,
    /// For each reloaded dword, the value and its dword.
    pub reloads: FxHashMap<VReg, (VReg, u16)>,
    /// For each dword stored as an argument, the spilled parameter and its dword.
    pub passed: FxHashMap<VReg, (VReg, u16)>,
    /// By the block that passes them: arguments in memory whose parameters have the same slot, dword by dword.
    pub in_place: FxHashMap<Block, Vec<(VReg, VReg, u16)>>,
    /// Registers that hold the part of an offset that no instruction can.
    pub high_offsets: FxHashMap<VReg, u32>,
}

impl Spills {
    /// Nothing is spilled yet, in waves of this size.
    pub fn new(wave: WaveSize) -> Self {
        Self { wave, ..Self::default() }
    }

    /// VGPRs that hold spilled SGPRs.
    pub fn lane_registers(&self) -> u16 {
        self.lanes.div_ceil(self.wave.lanes()) as u16
    }

    /// Whether a store at this offset is a spill.
    pub fn is_slot(&self, offset: u32) -> bool {
        self.scratch_base.is_some_and(|base| offset >= base)
    }

    /// Whether the slot at this offset has a value of the wave.
    pub fn is_whole_slot(&self, offset: u32) -> bool {
        self.is_slot(offset) && offset < self.whole_end
    }
}

/// The provisional register of lane register `n`.
pub(crate) fn lane_register(n: u16) -> PReg {
    PReg::vgpr(PReg::VGPRS - 1 - n)
}

/// How many dwords may be alive at once in successive rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    round: u32,
    /// The budget of the round before.
    last: Option<i32>,
    /// Dwords at once that found no place in the round before.
    pub short: i32,
}

impl Budget {
    /// No budget yet; `short` dwords at once found no place.
    pub fn after(short: i32) -> Self {
        Self { short, ..Self::default() }
    }

    /// That of a round which is not the first.
    pub fn of(budget: i32) -> Self {
        Self { last: Some(budget), ..Self::default() }
    }

    /// The next round's budget in a file of `registers` registers where `most` dwords are alive at once
    /// without spills: by ever larger steps less, in the end nothing.
    pub fn next(&mut self, registers: i32, most: i32) -> i32 {
        let step = (registers / 32).max(1);
        let next = match self.last {
            None if self.short == 0 => registers - 2 - step,
            None => (registers - 2 - step).min(most - (self.short + 1).min(registers / 4)),
            // A budget that nothing exceeds would change nothing.
            Some(last) => {
                last.min(most)
                    - (self.short + 1).min(registers / 4).max(step << (self.round.max(1) - 1).min(8))
            }
        };
        self.round += 1;
        let next = if next <= registers / 8 { 0 } else { next };
        self.last = Some(next);
        next
    }

    /// The budget of the last round.
    pub fn last(&self) -> Option<i32> {
        self.last
    }

    /// Whether the last round had the least there is.
    pub fn spent(&self) -> bool {
        self.last == Some(0)
    }
}

/// Dwords alive at each position, exactly: what is added are ranges of single dwords that never overlap in one web.
pub(crate) struct Pressure {
    /// By position, how many more are alive than at the one before.
    differences: Vec<i32>,
}

impl Pressure {
    /// Nothing is alive in `positions` positions.
    pub fn new(positions: u32) -> Self {
        Self { differences: vec![0; positions as usize + 1] }
    }

    /// Adds dwords that are alive in `range`.
    pub fn add(&mut self, range: Range, dwords: u8) {
        self.differences[range.start as usize] += i32::from(dwords);
        self.differences[range.end as usize] -= i32::from(dwords);
    }

    /// Most dwords at once.
    pub fn most(&self) -> i32 {
        let mut sum = 0;
        let sums = self.differences.iter().map(|&difference| {
            sum += difference;
            sum
        });
        sums.max().unwrap_or(0)
    }

    /// Dwords at each position.
    pub fn by_position(mut self) -> Vec<i32> {
        accumulate(&mut self.differences);
        self.differences
    }
}

fn accumulate(differences: &mut [i32]) {
    let mut sum = 0;
    for x in differences {
        sum += *x;
        *x = sum;
    }
}

/// Makes parameters of blocks with one predecessor copies, so that only joins have parameters whose moves
/// stand in predecessors; tells whether there were any.
pub(crate) fn copy_lone_parameters(
    f: &mut Function,
    numbering: &Numbering,
    wave: &Graph,
    thread: &Graph,
) -> bool {
    let mut changed = false;
    for i in 0..numbering.order.len() {
        let block = numbering.order[i];
        for (file, graph) in [(RegFile::Sgpr, wave), (RegFile::Vgpr, thread)] {
            let [pred] = graph.preds(i) else { continue };
            if params(&f.blocks[block], file).is_empty() || graph.moves_in_pred(*pred as usize) {
                continue;
            }
            let from = &mut f.blocks[numbering.order[*pred as usize]];
            let succs = if file == RegFile::Sgpr { &mut from.wave_succs } else { &mut from.thread_succs };
            let Some(edge) = succs.iter_mut().find(|e| e.block == block) else { continue };
            let args = std::mem::take(&mut edge.args);
            changed = true;
            let data = &mut f.blocks[block];
            let list = if file == RegFile::Sgpr { &mut data.sparams } else { &mut data.vparams };
            let copies: Vec<Inst> = std::mem::take(list)
                .into_iter()
                .zip(args)
                .map(|(p, a)| {
                    let dwords = f.vregs[p].dwords;
                    Inst::new(Opcode::COPY, [Operand::vreg(p, dwords), Operand::vreg(a, dwords)])
                })
                .collect();
            let count = copies.len() as u32;
            let at = if file == RegFile::Sgpr { 0 } else { data.head_len as usize };
            data.insts.splice(at..at, copies);
            if file == RegFile::Sgpr {
                data.head_len += count;
            }
            data.tail_start += count;
        }
    }
    changed
}

/// Where registers are read and written, by register: pieces of positions in which even a spilled value is in
/// a register.
pub(crate) struct Accesses {
    offsets: Vec<u32>,
    ranges: Vec<Range>,
}

impl Accesses {
    pub fn new(f: &Function, target: &Target, numbering: &Numbering) -> Self {
        let mut pairs: Vec<(u32, Range)> = Vec::new();
        for v in f.entry.registers().into_iter().filter_map(|(_, _, reg)| reg) {
            let end = match (f.vregs[v].file, numbering.order.first()) {
                (RegFile::Vgpr, Some(&b)) => numbering.moves_at_start(0, &f.blocks[b], RegFile::Vgpr) + 1,
                _ => 2,
            };
            pairs.push((v.as_u32(), Range { start: 0, end }));
        }
        for (i, &block) in numbering.order.iter().enumerate() {
            for (k, inst) in f.blocks[block].insts.iter().enumerate() {
                mir::interrupt::checkpoint();
                let early = numbering.inst(i, k);
                for (n, operand) in registers(inst) {
                    let Some(v) = vreg_of(operand) else { continue };
                    let range = match inst.operand_access(n) {
                        OperandAccess::Def if inst.defined_early(n, target) => {
                            Range { start: early, end: early + 2 }
                        }
                        OperandAccess::Def => Range { start: early + 1, end: early + 2 },
                        OperandAccess::Use => Range { start: early, end: early + 1 },
                        // The definition that it is tied to is there already.
                        OperandAccess::Tied { .. } => continue,
                    };
                    pairs.push((v.as_u32(), range));
                }
            }
        }
        let mut offsets = vec![0u32; f.vregs.len() + 2];
        for (v, _) in &pairs {
            offsets[*v as usize + 2] += 1;
        }
        for i in 2..offsets.len() {
            offsets[i] += offsets[i - 1];
        }
        let mut ranges = vec![Range::default(); pairs.len()];
        for (v, range) in pairs {
            let slot = &mut offsets[v as usize + 1];
            ranges[*slot as usize] = range;
            *slot += 1;
        }
        offsets.pop();
        // Several operands of one instruction may be the same register.
        Self { offsets, ranges }
    }

    /// The accesses of `v` in layout order; neighbours may overlap.
    fn of(&self, v: VReg) -> &[Range] {
        let v = v.as_u32() as usize;
        &self.ranges[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }
}

/// The parts of `v`'s ranges in which it need not be in a register: from `from` on, what its accesses leave.
fn gaps(ranges: &[Range], accesses: &[Range], from: u32, mut visit: impl FnMut(Range)) {
    let first = ranges.partition_point(|r| r.end <= from);
    let mut next = accesses.partition_point(|a| a.end <= from);
    for range in &ranges[first..] {
        let mut at = range.start.max(from);
        while let Some(a) = accesses.get(next).filter(|a| a.start < range.end) {
            if a.start > at {
                visit(Range { start: at, end: a.start });
            }
            at = at.max(a.end);
            next += 1;
        }
        if at < range.end {
            visit(Range { start: at, end: range.end });
        }
    }
}

/// Chooses registers of `kind` until `profile` is within `budget` wherever that is possible; `profile`
/// becomes what is left.
pub(crate) fn choose(
    f: &Function,
    live: &Liveness,
    numbering: &Numbering,
    accesses: &Accesses,
    kind: Kind,
    profile: &mut [i32],
    budget: i32,
) -> Vec<VReg> {
    // Positions of too much pressure before each.
    let mut over = Vec::with_capacity(profile.len() + 1);
    let mut sum = 0u32;
    for &p in profile.iter() {
        over.push(sum);
        sum += u32::from(p > budget);
    }
    over.push(sum);
    if sum == 0 {
        return Vec::new();
    }
    let costs = costs(f, live, numbering, kind, &over);
    let mut starts: Vec<(Range, VReg)> = Vec::new();
    for v in f.vregs.keys().filter(|v| costs[v.as_u32() as usize].is_some()) {
        starts.extend(live.of(v).iter().map(|&r| (r, v)));
    }
    starts.sort_unstable_by_key(|(r, v)| (r.start, *v));
    let mut victims = Vec::new();
    let mut chosen = vec![false; f.vregs.len()];
    let mut relief = vec![0i32; profile.len() + 1];
    let mut relieved = 0;
    // Costs are positive, so their bits are in the order of their values.
    let mut active: BinaryHeap<Reverse<(u32, VReg, u32)>> = BinaryHeap::new();
    let mut aside = Vec::new();
    let mut next = 0;
    for position in 0..profile.len() {
        mir::interrupt::checkpoint();
        relieved += relief[position];
        while let Some((range, v)) = starts.get(next).filter(|(r, _)| r.start as usize <= position) {
            let cost = costs[v.as_u32() as usize].unwrap_or(f32::MAX);
            active.push(Reverse((cost.to_bits(), *v, range.end)));
            next += 1;
        }
        while profile[position] - relieved > budget {
            let Some(Reverse((cost, v, end))) = active.pop() else { break };
            if end as usize <= position || chosen[v.as_u32() as usize] {
                continue;
            }
            let here = position as u32;
            let list = accesses.of(v);
            let at = list.partition_point(|a| a.end <= here);
            if list.get(at).is_some_and(|a| a.start <= here) {
                aside.push(Reverse((cost, v, end)));
                continue;
            }
            chosen[v.as_u32() as usize] = true;
            victims.push(v);
            live.each(v, f.vregs[v].dwords, |ranges, dwords| {
                let dwords = i32::from(dwords);
                gaps(ranges, list, here, |gap| {
                    match gap.start == here {
                        true => relieved += dwords,
                        false => relief[gap.start as usize] += dwords,
                    }
                    relief[gap.end as usize] -= dwords;
                });
            });
        }
        active.extend(aside.drain(..));
    }
    let mut relief = vec![0i32; profile.len() + 1];
    for &v in &victims {
        live.each(v, f.vregs[v].dwords, |ranges, dwords| {
            gaps(ranges, accesses.of(v), 0, |gap| {
                relief[gap.start as usize] += i32::from(dwords);
                relief[gap.end as usize] -= i32::from(dwords);
            });
        });
    }
    accumulate(&mut relief);
    for (p, r) in profile.iter_mut().zip(relief) {
        *p -= r;
    }
    victims
}

/// Weight of accesses by relieved positions; `None` where spilling gains nothing or is not possible.
fn costs(f: &Function, live: &Liveness, numbering: &Numbering, kind: Kind, over: &[u32]) -> Vec<Option<f32>> {
    let mut weights = weights(f, numbering, kind);
    for v in f.vregs.keys() {
        let weight = &mut weights[v.as_u32() as usize];
        let Some(accesses) = *weight else { continue };
        let mut relieved = 0;
        live.each(v, f.vregs[v].dwords, |ranges, dwords| {
            let over = ranges.iter().map(|r| over[r.end as usize] - over[r.start as usize]);
            relieved += over.sum::<u32>() * u32::from(dwords);
        });
        *weight = (relieved > 0).then(|| accesses / relieved as f32);
    }
    weights
}

/// Weight of accesses; `None` where spilling is not possible.
pub(crate) fn weights(f: &Function, numbering: &Numbering, kind: Kind) -> Vec<Option<f32>> {
    let mut weight = vec![0f32; f.vregs.len()];
    let mut again = vec![false; f.vregs.len()];
    let mut barred = vec![false; f.vregs.len()];
    for &block in &numbering.order {
        let data = &f.blocks[block];
        let frequency = 8f32.powi(i32::from(data.loop_depth.min(8)));
        for (k, inst) in data.insts.iter().enumerate() {
            mir::interrupt::checkpoint();
            let body = (data.head_len..data.tail_start).contains(&(k as u32));
            for (n, operand) in registers(inst) {
                let Some(v) = vreg_of(operand) else { continue };
                let i = v.as_u32() as usize;
                weight[i] += frequency;
                // Vector registers are loaded and stored in bodies alone.
                barred[i] |= kind != Kind::Sgpr && !body;
                if inst.operand_access(n) == OperandAccess::Def {
                    again[i] = rematerialisable(f, inst);
                }
            }
        }
        let args = edges(data, kind.graph()).iter().flat_map(|edge| &edge.args);
        for &v in args.chain(params(data, kind.graph())) {
            weight[v.as_u32() as usize] += frequency;
            // What passes values of all lanes stands in tails, and lives from copy to copy only.
            barred[v.as_u32() as usize] |= kind == Kind::WholeWave;
        }
    }
    let weight = |v: VReg| {
        let i = v.as_u32() as usize;
        let never = barred[i] || Kind::of(f, v) != kind || f.vregs[v].flags.contains(VRegFlags::PINNED);
        (!never).then(|| if again[i] { weight[i] * 0.25 } else { weight[i] })
    };
    f.vregs.keys().map(weight).collect()
}

/// Whether the instruction's result can be made again anywhere.
fn rematerialisable(f: &Function, inst: &Inst) -> bool {
    let constant = matches!(inst.operands.get(1), Some(Operand::Imm(_))) && inst.operands.len() == 2;
    let whole = inst
        .operands
        .first()
        .and_then(|o| o.as_reg())
        .is_some_and(|r| vreg_of(r).is_some_and(|v| f.vregs[v].dwords == r.dwords));
    // In which lanes it is made follows from where it is made again.
    let mods = Modifiers { flags: inst.mods.flags - ModFlags::OTHER_LANES, ..inst.mods };
    constant
        && whole
        && mods == Modifiers::default()
        && matches!(inst.op, Opcode::S_MOV_B32 | Opcode::S_MOV_B64 | Opcode::V_MOV_B32 | Opcode::S_MOVK_I32)
}

/// Victims of one file, with what pressure they leave and what it may be.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub victims: Vec<VReg>,
    pub profile: Vec<i32>,
    pub budget: i32,
}

/// Gives every victim a place; call it for whole-wave registers first, then for scalar ones.
pub(crate) fn places(
    f: &mut Function,
    live: &Liveness,
    numbering: &Numbering,
    victims: &[VReg],
    spills: &mut Spills,
    places: &mut FxHashMap<VReg, Place>,
) -> Result<()> {
    let mut definitions: FxHashMap<VReg, Box<Inst>> = FxHashMap::default();
    let wanted: rustc_hash::FxHashSet<VReg> = victims.iter().copied().collect();
    for &block in &numbering.order {
        for inst in f.blocks[block].insts.iter().filter(|i| !i.op.is_copy()) {
            if let Some(v) = inst.operands.first().and_then(|o| o.as_reg()).and_then(vreg_of)
                && wanted.contains(&v)
                && rematerialisable(f, inst)
            {
                definitions.insert(v, Box::new(inst.clone()));
            }
        }
    }
    let (again, kept): (Vec<VReg>, Vec<VReg>) =
        victims.iter().copied().partition(|v| definitions.contains_key(v));
    places.extend(again.into_iter().filter_map(|v| Some((v, Place::Again(definitions.remove(&v)?)))));
    // Slots are taken again once the whole range of their last owners is over.
    let mut free: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    for group in slots::groups(f, live, numbering, &kept) {
        let Some(&v) = group.members.first() else { continue };
        let dwords = usize::from(f.vregs[v].dwords);
        let scalar = f.vregs[v].file == RegFile::Sgpr;
        if !scalar && spills.scratch_base.is_none() {
            let base = frame_end(f);
            spills.scratch_base = Some(base);
            spills.scratch_end = base;
            request_scratch(f);
        }
        let (end, step) = if scalar { (&mut spills.lanes, 1) } else { (&mut spills.scratch_end, 4) };
        let mut slots: SmallVec<[u32; 4]> = SmallVec::new();
        while slots.len() < dwords {
            match free.peek() {
                Some(&Reverse((until, slot))) if until <= group.start() => {
                    free.pop();
                    slots.push(slot);
                }
                _ => {
                    slots.push(*end);
                    *end += step;
                }
            }
        }
        free.extend(slots.iter().map(|&slot| Reverse((group.end(), slot))));
        let (taken, place) = match scalar {
            true => (&mut spills.sgpr_dwords, Place::Lanes(slots)),
            false => (&mut spills.vgpr_dwords, Place::Scratch(slots)),
        };
        *taken += (dwords * group.members.len()) as u32;
        places.extend(group.members.iter().map(|&v| (v, place.clone())));
    }
    if let Some(&v) = victims.first()
        && Kind::of(f, v) == Kind::WholeWave
    {
        spills.whole_end = spills.scratch_end;
    }
    if spills.lane_registers() > 128 {
        return Err(Diagnostic::unsupported("more scalar spills than lanes"));
    }
    Ok(())
}

/// Takes room in the frame for the slots that were given out.
pub(crate) fn reserve(f: &mut Function, spills: &Spills) {
    if let Some(base) = spills.scratch_base {
        f.frame.push(FrameSlotData {
            size_bytes: spills.scratch_end - base,
            align_log2: 2,
            offset_bytes: Some(base),
        });
        f.resources.scratch_bytes = f.resources.scratch_bytes.max(spills.scratch_end);
    }
}

/// First byte behind all frame objects.
fn frame_end(f: &Function) -> u32 {
    f.frame_end().max(f.resources.scratch_bytes).next_multiple_of(4)
}

/// Asks for what accesses to scratch start from: FLAT_SCRATCH, or the scratch resource, which from now on stays where the entry has it (in
/// kernels of amdhsa: s[0:3]) throughout.
fn request_scratch(f: &mut Function) {
    if f.scratch == ScratchAccess::Scratch {
        if !f.call_conv.is_callable() {
            f.entry.request(EntryValue::FlatScratchInit, None);
            f.entry.request(EntryValue::ScratchWaveOffset, None);
            f.uses_flat_scratch = true;
        }
        return;
    }
    let old = f.entry.reg(EntryValue::PrivateSegmentBuffer);
    let mut entry = f.entry.emptied();
    for (value, _, reg) in f.entry.registers() {
        entry.request(value, reg.filter(|_| value != EntryValue::PrivateSegmentBuffer));
    }
    entry.request(EntryValue::PrivateSegmentBuffer, None);
    if !f.call_conv.is_callable() {
        entry.request(EntryValue::ScratchWaveOffset, None);
    }
    f.entry = entry;
    let Some(old) = old else { return };
    let resource = f.entry.scratch_resource();
    for block in f.layout.clone() {
        for inst in &mut f.blocks[block].insts {
            for operand in &mut inst.operands {
                if let Operand::Reg(reg) = operand
                    && reg.reg == Reg::Virtual(old)
                {
                    *reg = RegOperand {
                        reg: resource.plus(u16::from(reg.sub)).into(),
                        sub: 0,
                        dwords: reg.dwords,
                    };
                }
            }
        }
    }
}
