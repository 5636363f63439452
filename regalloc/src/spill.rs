//! Spilling: values leave the registers for a while.
//!
//! A value is chosen as a whole: it is stored right after its definition and loaded again before each use, into a
//! register of its own that later uses near by in the same block share. A value that a move of a constant makes is made again instead (*rematerialised*).
//! The code stays SSA, so that allocation simply runs again.
//!
//! * SGPRs go to lanes of VGPRs that hold nothing else (`v_writelane`, `v_readlane`). Those act on a lane whatever EXEC says, and
//!   no other instruction touches these registers, so they live on the wave graph as SGPRs do. They are numbered behind all other VGPRs;
//!   until that is known they are physical registers counted down from v255 ([`lane_register`]).
//! * VGPRs go to scratch, dword by dword (the resource interleaves lanes by dword). Store and load stand in
//!   bodies of blocks, so they act on exactly the lanes that are there on the thread graph: a lane that comes to the use came
//!   through the definition and stored then; lanes that are elsewhere have slots of their own.
//!
//! Victims are found by one sweep over the positions where pressure exceeds the budget: of the values alive there, the one
//! whose uses (weighted by loop depth) are sparsest over its live range. Nothing inserted writes SCC.

use crate::access::{Access, access, registers, vreg_of};
use crate::graph::{Numbering, edges, params};
use crate::liveness::{Kind, Liveness, Range};
use mir::ir::{AddrSpace, MemAccess};
use mir::isa::Opcode;
use mir::machine::{
    EntryState, EntryValue, FrameSlotData, Function, Inst, MemRef, Modifiers, Operand, PReg, Reg, RegFile,
    RegOperand, VReg,
};
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Instructions of a block over which a reloaded value is used again.
const WINDOW: u32 = 12;
/// Largest immediate offset of MUBUF.
const MAX_OFFSET: u32 = 4095;

/// Where a spilled value is.
#[derive(Clone, Debug)]
enum Place {
    /// Made again by this instruction.
    Again(Box<Inst>),
    /// Lanes by dword, counted over all lane registers.
    Lanes(SmallVec<[u32; 4]>),
    /// Bytes of the frame by dword.
    Scratch(SmallVec<[u32; 4]>),
}

/// What was spilled so far; kept from round to round.
#[derive(Debug, Default)]
pub(crate) struct Spills {
    /// Lanes taken.
    pub lanes: u32,
    /// First byte of the frame that spills use.
    scratch_base: Option<u32>,
    /// First free byte.
    scratch_end: u32,
    /// SGPR dwords spilled.
    pub sgpr_dwords: u32,
    /// VGPR dwords spilled.
    pub vgpr_dwords: u32,
    /// For each reloaded dword, the value and its dword.
    pub reloads: FxHashMap<VReg, (VReg, u16)>,
    /// Registers that hold the part of an offset that no instruction can.
    pub high_offsets: FxHashMap<VReg, u32>,
    /// Registers that must not be spilled again.
    fixed: rustc_hash::FxHashSet<VReg>,
    /// The frame object of all slots.
    slot: Option<mir::machine::FrameSlot>,
}

impl Spills {
    /// VGPRs that hold spilled SGPRs.
    pub fn lane_registers(&self) -> u16 {
        self.lanes.div_ceil(64) as u16
    }

    /// Whether a store at this offset is a spill.
    pub fn is_slot(&self, offset: u32) -> bool {
        self.scratch_base.is_some_and(|base| offset >= base)
    }
}

/// The provisional register of lane register `n`.
pub(crate) fn lane_register(n: u16) -> PReg {
    PReg::vgpr(255 - n)
}

/// Dwords alive at each position, exactly: `pieces` are ranges of single dwords that never overlap in one web.
pub(crate) fn pressure(positions: u32, pieces: impl Iterator<Item = (Range, u8)>) -> Vec<i32> {
    let mut out = vec![0i32; positions as usize + 1];
    for (range, dwords) in pieces {
        out[range.start as usize] += i32::from(dwords);
        out[range.end as usize] -= i32::from(dwords);
    }
    let mut sum = 0;
    for x in &mut out {
        sum += *x;
        *x = sum;
    }
    out
}

/// Chooses registers of `kind` until `pressure` is within `budget` everywhere.
pub(crate) fn choose(
    f: &Function,
    live: &Liveness,
    numbering: &Numbering,
    kind: Kind,
    pressure: &mut [i32],
    budget: i32,
    spills: &Spills,
) -> Vec<VReg> {
    if pressure.iter().all(|&p| p <= budget) {
        return Vec::new();
    }
    let costs = costs(f, live, numbering, kind, spills);
    let mut starts: Vec<(Range, VReg)> = Vec::new();
    for (v, _) in
        f.vregs.iter().filter(|(v, _)| Kind::of(f, *v) == kind && costs[v.as_u32() as usize].is_some())
    {
        starts.extend(live.of(v).iter().map(|&r| (r, v)));
    }
    starts.sort_unstable_by_key(|(r, v)| (r.start, *v));
    let mut victims = Vec::new();
    let mut chosen = vec![false; f.vregs.len()];
    // What victims relieve, as differences by position.
    let mut relief = vec![0i32; pressure.len()];
    let mut relieved = 0;
    let mut active: Vec<(u32, VReg)> = Vec::new();
    let mut next = 0;
    for position in 0..pressure.len() {
        relieved += relief[position];
        while let Some((range, v)) = starts.get(next).filter(|(r, _)| r.start as usize <= position) {
            active.push((range.end, *v));
            next += 1;
        }
        if pressure[position] - relieved <= budget {
            continue;
        }
        active.retain(|(end, v)| *end as usize > position && !chosen[v.as_u32() as usize]);
        while pressure[position] - relieved > budget {
            let best = active.iter().enumerate().min_by(|(_, a), (_, b)| {
                let cost = |v: VReg| costs[v.as_u32() as usize].unwrap_or(f32::MAX);
                cost(a.1).total_cmp(&cost(b.1)).then(a.1.cmp(&b.1))
            });
            let Some((at, _)) = best else { break };
            let (_, v) = active.swap_remove(at);
            chosen[v.as_u32() as usize] = true;
            victims.push(v);
            let dwords = i32::from(f.vregs[v].dwords);
            for range in live.of(v).iter().filter(|r| r.end as usize > position) {
                let start = range.start.max(position as u32) as usize;
                if start == position {
                    relieved += dwords;
                } else {
                    relief[start] += dwords;
                }
                relief[range.end as usize] -= dwords;
            }
        }
    }
    victims
}

/// Weight of uses by length of range; `None` where spilling gains nothing.
fn costs(
    f: &Function,
    live: &Liveness,
    numbering: &Numbering,
    kind: Kind,
    spills: &Spills,
) -> Vec<Option<f32>> {
    let mut weight = vec![0f32; f.vregs.len()];
    let mut count = vec![0u32; f.vregs.len()];
    let mut again = vec![false; f.vregs.len()];
    let mut barred = vec![false; f.vregs.len()];
    for &block in &numbering.order {
        let data = &f.blocks[block];
        let frequency = 8f32.powi(i32::from(data.loop_depth.min(8)));
        for (k, inst) in data.insts.iter().enumerate() {
            let body = (data.head_len..data.tail_start).contains(&(k as u32));
            for (n, operand) in registers(inst) {
                let Some(v) = vreg_of(operand) else { continue };
                let i = v.as_u32() as usize;
                weight[i] += frequency;
                count[i] += 1;
                // Vector registers are loaded and stored in bodies alone.
                barred[i] |= kind == Kind::Vgpr && !body;
                if access(inst, n) == Access::Def {
                    again[i] = rematerialisable(f, inst);
                }
            }
        }
        for edge in edges(data, kind.graph()) {
            for &v in &edge.args {
                weight[v.as_u32() as usize] += frequency;
                count[v.as_u32() as usize] += 1;
            }
        }
        for &v in params(data, kind.graph()) {
            weight[v.as_u32() as usize] += frequency;
            count[v.as_u32() as usize] += 1;
        }
    }
    f.vregs
        .keys()
        .map(|v| {
            let i = v.as_u32() as usize;
            if barred[i] || spills.fixed.contains(&v) || Kind::of(f, v) != kind {
                return None;
            }
            let length: u32 = live.of(v).iter().map(|r| r.end - r.start).sum();
            if length < 4 * count[i] + 6 {
                return None;
            }
            let weight = if again[i] { weight[i] * 0.25 } else { weight[i] };
            Some(weight / length as f32)
        })
        .collect()
}

/// Whether the instruction's result can be made again anywhere.
fn rematerialisable(f: &Function, inst: &Inst) -> bool {
    let constant = matches!(inst.operands.get(1), Some(Operand::Imm(_))) && inst.operands.len() == 2;
    let whole = inst
        .operands
        .first()
        .and_then(|o| o.as_reg())
        .is_some_and(|r| vreg_of(r).is_some_and(|v| f.vregs[v].dwords == r.dwords));
    constant
        && whole
        && inst.mods == Modifiers::default()
        && matches!(inst.op, Opcode::S_MOV_B32 | Opcode::S_MOV_B64 | Opcode::V_MOV_B32 | Opcode::S_MOVK_I32)
}

/// Spills `victims`.
pub(crate) fn spill(
    f: &mut Function,
    live: &Liveness,
    numbering: &Numbering,
    victims: &[VReg],
    spills: &mut Spills,
) -> Result<()> {
    let mut places: FxHashMap<VReg, Place> = FxHashMap::default();
    let mut definitions: FxHashMap<VReg, Box<Inst>> = FxHashMap::default();
    let wanted: rustc_hash::FxHashSet<VReg> = victims.iter().copied().collect();
    for &block in &numbering.order {
        for inst in &f.blocks[block].insts {
            if let Some(v) = inst.operands.first().and_then(|o| o.as_reg()).and_then(vreg_of)
                && wanted.contains(&v)
                && rematerialisable(f, inst)
            {
                definitions.insert(v, Box::new(inst.clone()));
            }
        }
    }
    // Slots are taken again once the whole range of their last owner is over. Slots of earlier rounds stay apart.
    let mut free: [BinaryHeap<Reverse<(u32, u32)>>; 2] = Default::default();
    let mut victims = victims.to_vec();
    victims.sort_by_key(|&v| (live.of(v).first().map_or(0, |r| r.start), v));
    for &v in &victims {
        let dwords = usize::from(f.vregs[v].dwords);
        let place = if let Some(inst) = definitions.remove(&v) {
            Place::Again(inst)
        } else {
            let scalar = f.vregs[v].file == RegFile::Sgpr;
            if !scalar && spills.scratch_base.is_none() {
                let base = frame_end(f);
                spills.scratch_base = Some(base);
                spills.scratch_end = base;
                request_scratch(f);
            }
            let (free, end, step) = match scalar {
                true => (&mut free[0], &mut spills.lanes, 1),
                false => (&mut free[1], &mut spills.scratch_end, 4),
            };
            let ranges = live.of(v);
            let (first, last) = (ranges.first().map_or(0, |r| r.start), ranges.last().map_or(0, |r| r.end));
            let mut slots: SmallVec<[u32; 4]> = SmallVec::new();
            while slots.len() < dwords {
                match free.peek() {
                    Some(&Reverse((until, slot))) if until <= first => {
                        free.pop();
                        slots.push(slot);
                    }
                    _ => {
                        slots.push(*end);
                        *end += step;
                    }
                }
            }
            free.extend(slots.iter().map(|&slot| Reverse((last, slot))));
            if scalar {
                spills.sgpr_dwords += dwords as u32;
                Place::Lanes(slots)
            } else {
                spills.vgpr_dwords += dwords as u32;
                Place::Scratch(slots)
            }
        };
        places.insert(v, place);
        spills.fixed.insert(v);
    }
    if spills.lane_registers() > 128 {
        return Err(Diagnostic::unsupported("more scalar spills than lanes"));
    }
    for &block in &numbering.order {
        let mut insert = Insert { places: &places, spills, out: Vec::new(), cache: Vec::new() };
        insert.block(f, block, block == numbering.order[0])?;
    }
    if let Some(base) = spills.scratch_base {
        let data =
            FrameSlotData { size_bytes: spills.scratch_end - base, align_log2: 2, offset_bytes: Some(base) };
        match spills.slot {
            Some(slot) => f.frame[slot] = data,
            None => spills.slot = Some(f.frame.push(data)),
        }
        f.resources.scratch_bytes = f.resources.scratch_bytes.max(spills.scratch_end);
    }
    Ok(())
}

/// First byte behind all frame objects.
fn frame_end(f: &Function) -> u32 {
    let objects = f.frame.values().filter_map(|s| Some(s.offset_bytes? + s.size_bytes)).max().unwrap_or(0);
    objects.max(f.resources.scratch_bytes).next_multiple_of(4)
}

/// Asks for the scratch resource, which from now on is s[0:3] throughout.
fn request_scratch(f: &mut Function) {
    let old = f.entry.reg(EntryValue::PrivateSegmentBuffer);
    let mut entry = EntryState::default();
    for (value, _, reg) in f.entry.registers() {
        entry.request(value, reg.filter(|_| value != EntryValue::PrivateSegmentBuffer));
    }
    entry.request(EntryValue::PrivateSegmentBuffer, None);
    entry.request(EntryValue::ScratchWaveOffset, None);
    f.entry = entry;
    let Some(old) = old else { return };
    for block in f.layout.clone() {
        for inst in &mut f.blocks[block].insts {
            for operand in &mut inst.operands {
                if let Operand::Reg(reg) = operand
                    && reg.reg == Reg::Virtual(old)
                {
                    *reg =
                        RegOperand { reg: PReg::sgpr(u16::from(reg.sub)).into(), sub: 0, dwords: reg.dwords };
                }
            }
        }
    }
}

/// A reloaded part that may be used again.
struct Cached {
    of: (VReg, u8, u8),
    reg: VReg,
    /// Number of the old instruction that it was loaded for.
    at: u32,
}

/// Rewrites one block.
struct Insert<'a> {
    places: &'a FxHashMap<VReg, Place>,
    spills: &'a mut Spills,
    out: Vec<Inst>,
    cache: Vec<Cached>,
}

impl Insert<'_> {
    fn block(&mut self, f: &mut Function, block: mir::machine::Block, entry: bool) -> Result<()> {
        let data = &mut f.blocks[block];
        let insts = std::mem::take(&mut data.insts);
        let (head, tail) = (data.head_len as usize, data.tail_start as usize);
        let (sparams, vparams) = (data.sparams.clone(), data.vparams.clone());
        let mut args: [Vec<Vec<VReg>>; 2] = [RegFile::Sgpr, RegFile::Vgpr]
            .map(|file| edges(data, file).iter().map(|e| e.args.to_vec()).collect());
        let entries: Vec<VReg> = if entry {
            f.entry.registers().into_iter().filter_map(|(_, _, reg)| reg).collect()
        } else {
            Vec::new()
        };
        let (mut head_len, mut tail_start) = (0, 0);
        let (scalar, vector): (Vec<VReg>, Vec<VReg>) =
            entries.into_iter().partition(|&v| f.vregs[v].file == RegFile::Sgpr);
        for &v in scalar.iter().chain(&sparams) {
            self.store(f, v, 0);
        }
        for k in 0..=insts.len() {
            if k == head {
                head_len = self.out.len() as u32;
                for &v in vector.iter().chain(&vparams) {
                    self.store(f, v, 0);
                }
            }
            if k == tail {
                self.arguments(f, &mut args[1], k);
                tail_start = self.out.len() as u32;
            }
            let Some(inst) = insts.get(k) else { break };
            self.inst(f, inst, k)?;
        }
        self.arguments(f, &mut args[0], insts.len());
        let data = &mut f.blocks[block];
        data.insts = std::mem::take(&mut self.out);
        data.head_len = head_len;
        data.tail_start = tail_start;
        for (edge, args) in data.wave_succs.iter_mut().zip(&args[0]) {
            edge.args = args.as_slice().into();
        }
        for (edge, args) in data.thread_succs.iter_mut().zip(&args[1]) {
            edge.args = args.as_slice().into();
        }
        Ok(())
    }

    fn arguments(&mut self, f: &mut Function, args: &mut [Vec<VReg>], k: usize) {
        for v in args.iter_mut().flatten() {
            if self.places.contains_key(v) {
                let dwords = f.vregs[*v].dwords;
                *v = self.load(f, *v, 0, dwords, k as u32, 0);
            }
        }
    }

    fn inst(&mut self, f: &mut Function, inst: &Inst, k: usize) -> Result<()> {
        let mut new = inst.clone();
        let mut stores: Vec<VReg> = Vec::new();
        for (n, operand) in registers(inst) {
            let Some(v) = vreg_of(operand).filter(|v| self.places.contains_key(v)) else { continue };
            if access(inst, n) == Access::Def {
                if matches!(self.places.get(&v), Some(Place::Again(_))) {
                    return Ok(());
                }
                stores.push(v);
                continue;
            }
            let reg = self.load(f, v, operand.sub, operand.dwords, k as u32, inst.loc);
            new.operands[n] = Operand::vreg(reg, operand.dwords);
        }
        let loc = inst.loc;
        self.out.push(new);
        for v in stores {
            self.store(f, v, loc);
        }
        Ok(())
    }

    /// Stores `v`, if it is spilled to memory, where it has just been defined.
    fn store(&mut self, f: &mut Function, v: VReg, loc: u32) {
        let dwords = f.vregs[v].dwords;
        match self.places.get(&v).cloned() {
            Some(Place::Lanes(lanes)) => {
                for (d, lane) in (0..dwords).zip(lanes) {
                    let register = lane_register((lane / 64) as u16);
                    self.push(
                        Opcode::V_WRITELANE_B32,
                        [
                            Operand::preg(register, 1),
                            Operand::sub(v, d, 1),
                            Operand::Imm(i64::from(lane % 64)),
                        ],
                        loc,
                    );
                }
            }
            Some(Place::Scratch(offsets)) => {
                for (d, offset) in (0..dwords).zip(offsets) {
                    self.scratch(f, Opcode::BUFFER_STORE_DWORD, Operand::sub(v, d, 1), offset, loc);
                }
            }
            Some(Place::Again(_)) | None => {}
        }
    }

    /// A register that holds `dwords` dwords of `v` from `sub` on, before the old instruction `k`.
    fn load(&mut self, f: &mut Function, v: VReg, sub: u8, dwords: u8, k: u32, loc: u32) -> VReg {
        self.cache.retain(|c| c.at + WINDOW > k);
        if let Some(c) = self.cache.iter().find(|c| c.of == (v, sub, dwords)) {
            return c.reg;
        }
        let place = self.places.get(&v).cloned();
        let file = f.vregs[v].file;
        let reg = match place {
            Some(Place::Again(inst)) => {
                let whole = self.temporary(f, v);
                let mut inst = *inst;
                inst.operands[0] = Operand::vreg(whole, f.vregs[v].dwords);
                self.out.push(inst);
                if sub == 0 && dwords == f.vregs[v].dwords {
                    whole
                } else {
                    let part = f.new_vreg(file, dwords);
                    self.spills.fixed.insert(part);
                    self.push(
                        Opcode::COPY,
                        [Operand::vreg(part, dwords), Operand::sub(whole, sub, dwords)],
                        loc,
                    );
                    part
                }
            }
            _ => {
                let mut parts = Vec::new();
                for d in sub..sub + dwords {
                    let part = f.new_vreg(file, 1);
                    self.spills.fixed.insert(part);
                    self.spills.reloads.insert(part, (v, u16::from(d)));
                    match &place {
                        Some(Place::Scratch(offsets)) => {
                            let offset = offsets.get(usize::from(d)).copied().unwrap_or(0);
                            self.scratch(f, Opcode::BUFFER_LOAD_DWORD, Operand::vreg(part, 1), offset, loc);
                        }
                        Some(Place::Lanes(lanes)) => {
                            let lane = lanes.get(usize::from(d)).copied().unwrap_or(0);
                            let register = lane_register((lane / 64) as u16);
                            self.push(
                                Opcode::V_READLANE_B32,
                                [
                                    Operand::vreg(part, 1),
                                    Operand::preg(register, 1),
                                    Operand::Imm(i64::from(lane % 64)),
                                ],
                                loc,
                            );
                        }
                        _ => {}
                    }
                    parts.push(part);
                }
                match parts.as_slice() {
                    [one] => *one,
                    _ => {
                        let whole = self.temporary_of(f, v, dwords);
                        let operands = std::iter::once(Operand::vreg(whole, dwords))
                            .chain(parts.iter().map(|&p| Operand::vreg(p, 1)));
                        let mut inst = Inst::new(Opcode::REG_SEQUENCE, operands);
                        inst.loc = loc;
                        self.out.push(inst);
                        whole
                    }
                }
            }
        };
        self.cache.push(Cached { of: (v, sub, dwords), reg, at: k });
        reg
    }

    fn temporary(&mut self, f: &mut Function, like: VReg) -> VReg {
        let dwords = f.vregs[like].dwords;
        self.temporary_of(f, like, dwords)
    }

    fn temporary_of(&mut self, f: &mut Function, like: VReg, dwords: u8) -> VReg {
        let mut data = f.vregs[like];
        if dwords != data.dwords {
            data.flags = mir::machine::VRegFlags::empty();
        }
        data.dwords = dwords;
        data.hint = None;
        let reg = f.vregs.push(data);
        self.spills.fixed.insert(reg);
        reg
    }

    /// An access to a slot: relative to the resource in s[0:3], the offset in the instruction as far as it goes.
    fn scratch(&mut self, f: &mut Function, op: Opcode, data: Operand, offset: u32, loc: u32) {
        let (soffset, offset) = if offset <= MAX_OFFSET {
            (Operand::Imm(0), offset)
        } else {
            let base = f.new_vreg(RegFile::Sgpr, 1);
            self.spills.fixed.insert(base);
            let high = offset & !MAX_OFFSET;
            self.spills.high_offsets.insert(base, high);
            self.push(Opcode::S_MOV_B32, [Operand::vreg(base, 1), Operand::Imm(i64::from(high))], loc);
            (Operand::vreg(base, 1), offset & MAX_OFFSET)
        };
        let access = MemAccess::plain(AddrSpace::PRIVATE, 2);
        let mods = Modifiers { offset: offset as i32, ..Modifiers::default() };
        let mut inst = Inst::new(op, [data, Operand::Off, Operand::preg(PReg::sgpr(0), 4), soffset])
            .with_mods(mods)
            .with_mem(MemRef { access, bytes: 4 });
        inst.loc = loc;
        self.out.push(inst);
    }

    fn push<const N: usize>(&mut self, op: Opcode, operands: [Operand; N], loc: u32) {
        let mut inst = Inst::new(op, operands);
        inst.loc = loc;
        self.out.push(inst);
    }
}
