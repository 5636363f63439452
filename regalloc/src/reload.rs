//! Stores and reloads of spilled values.
//!
//! One walk over each block keeps what it has loaded (or just defined) in registers as long as the pressure
//! that the victims left allows, and gives up first what is used again last (Belady). Nothing stays loaded
//! from block to block.
//!
//! A spilled parameter has no register: where its moves would be, the argument goes into its slot, from a
//! register or through one from the argument's slot. An edge's moves happen at once, so a slot is written
//! after all reads of it; cycles are broken by reading one slot early. Where both have the same slot, nothing moves. A spilled argument of an ordinary
//! parameter is loaded first of all.
//!
//! A whole-wave value is stored and loaded in all lanes: by marked instructions of the region of other lanes that the walk is in, or in a region of
//! their own. Nobody keeps it loaded, since a region need not have all lanes that the next one has.
//!
//! A store whose value is never loaded, because all uses are near the definition, is taken out again.
//!
//! Cost: linear in the code, with a logarithm for the order of giving up.

use crate::access::{registers, vreg_of};
use crate::files::{FILES, PerFile};
use crate::graph::{Numbering, edges, params};
use crate::liveness::Kind;
use crate::spill::{Choice, Place, Spills, lane_register};
use mir::ir::AliasClass;
use mir::isa::{Implicit, Opcode, OperandAccess};
use mir::machine::{
    Condition, Function, Inst, MemPlace, ModFlags, Operand, RegFile, Terminator, VReg, VRegData, VRegFlags,
};
use mir::target::{Limits, ScratchAccess};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::BinaryHeap;

/// Instructions for which a register with the high part of an offset is kept.
const FAR_REACH: usize = 32;
/// The base of slots' places: the frame's start.
const FRAME: u32 = 0;
/// No further use in the block.
const NEVER: u32 = u32::MAX;

/// Writes stores and reloads for everything in `places`.
pub(crate) fn insert(
    f: &mut Function,
    limits: &Limits,
    numbering: &Numbering,
    choices: &PerFile<Choice>,
    places: &FxHashMap<VReg, Place>,
    spills: &mut Spills,
) {
    let mut loaded = FxHashSet::default();
    let mut stores = Vec::new();
    for i in 0..numbering.order.len() {
        let mut walk = Walk {
            limits,
            numbering,
            choices,
            places,
            spills,
            loaded: &mut loaded,
            stores: Vec::new(),
            out: Vec::new(),
            held: FxHashMap::default(),
            used: PerFile::default(),
            order: PerFile::default(),
            scc_live: Vec::new(),
            at: 0,
            far: None,
            in_region: false,
            i,
        };
        walk.block(f);
        stores.push(walk.stores);
    }
    for (i, stores) in stores.iter().enumerate() {
        let data = &mut f.blocks[numbering.order[i]];
        data.sparams.retain(|v| !places.contains_key(v));
        data.vparams.retain(|v| !places.contains_key(v));
        let dead: FxHashSet<u32> =
            stores.iter().filter(|(v, _)| !loaded.contains(v)).map(|(_, at)| *at).collect();
        if dead.is_empty() {
            continue;
        }
        let before = |end: u32| dead.iter().filter(|at| **at < end).count() as u32;
        let (head, tail) = (before(data.head_len), before(data.tail_start));
        data.head_len -= head;
        data.tail_start -= tail;
        let mut at = 0;
        data.insts.retain(|_| {
            at += 1;
            !dead.contains(&(at - 1))
        });
    }
}

/// A register that has (part of) a spilled value now.
#[derive(Clone, Copy)]
struct Held {
    reg: VReg,
    /// First dword of the value, and how many.
    sub: u8,
    dwords: u8,
    /// Instruction that uses the value next.
    next: u32,
}

/// Instructions that run in all lanes.
struct AllLanes {
    /// Number of the first.
    from: usize,
    /// The mask of the block's lanes, where they have a region of their own.
    saved: Option<Operand>,
}

/// The walk over one block.
struct Walk<'a> {
    limits: &'a Limits,
    numbering: &'a Numbering,
    choices: &'a PerFile<Choice>,
    places: &'a FxHashMap<VReg, Place>,
    spills: &'a mut Spills,
    loaded: &'a mut FxHashSet<VReg>,
    /// Stores after definitions: value and number of the new instruction.
    stores: Vec<(VReg, u32)>,
    out: Vec<Inst>,
    held: FxHashMap<VReg, SmallVec<[Held; 1]>>,
    /// Dwords held by file.
    used: PerFile<i32>,
    /// Held values by next use, the furthest first; entries may be stale.
    order: PerFile<BinaryHeap<(u32, VReg)>>,
    /// Whether SCC is read before it is written again, in front of each instruction of the block and at its
    /// end.
    scc_live: Vec<bool>,
    /// Number of the instruction in front of which the walk writes.
    at: usize,
    /// The last high part of an offset, the register that has it and the instruction where it was made.
    far: Option<(u32, VReg, usize)>,
    /// Whether the walk is in a region of other lanes.
    in_region: bool,
    /// Layout index of the block.
    i: usize,
}

fn is_whole_wave(f: &Function, v: VReg) -> bool {
    Kind::of(f, v) == Kind::WholeWave
}

fn file_of(f: &Function, v: VReg) -> RegFile {
    f.vregs[v].file
}

impl Walk<'_> {
    fn block(&mut self, f: &mut Function) {
        let block = self.numbering.order[self.i];
        let data = &mut f.blocks[block];
        let insts = std::mem::take(&mut data.insts);
        let (head, tail) = (data.head_len as usize, data.tail_start as usize);
        self.scc_live = scc_live(&insts, data.term);
        let nexts = self.next_uses(&insts);
        let mut nexts = nexts.into_iter();
        let (mut head_len, mut tail_start) = (0, 0);
        let entries: Vec<VReg> = match self.i {
            0 => f.entry.registers().into_iter().filter_map(|(_, _, reg)| reg).collect(),
            _ => Vec::new(),
        };
        let (scalar, vector): (Vec<VReg>, Vec<VReg>) =
            entries.into_iter().partition(|&v| f.vregs[v].file == RegFile::Sgpr);
        for &v in &scalar {
            self.store(f, v, 0);
        }
        for k in 0..=insts.len() {
            self.at = k;
            if k == head {
                head_len = self.out.len() as u32;
                for &v in &vector {
                    self.store(f, v, 0);
                }
            }
            if k == tail {
                self.arguments(f, RegFile::Vgpr);
                tail_start = self.out.len() as u32;
            }
            let Some(inst) = insts.get(k) else { break };
            self.inst(f, inst, k, &mut nexts);
        }
        self.arguments(f, RegFile::Sgpr);
        let data = &mut f.blocks[block];
        data.insts = std::mem::take(&mut self.out);
        data.head_len = head_len;
        data.tail_start = tail_start;
    }

    /// For each register operand of a spilled value, in order, the next instruction that accesses the value.
    fn next_uses(&self, insts: &[Inst]) -> Vec<u32> {
        let mut next: FxHashMap<VReg, (u32, u32)> = FxHashMap::default();
        let mut out = Vec::new();
        for (k, inst) in insts.iter().enumerate().rev() {
            mir::interrupt::checkpoint();
            let from = out.len();
            for (_, operand) in registers(inst) {
                let Some(v) = vreg_of(operand).filter(|v| self.places.contains_key(v)) else { continue };
                let k = k as u32;
                // The instruction of the next access, and the one after that.
                let entry = next.entry(v).or_insert((k, NEVER));
                if entry.0 != k {
                    *entry = (k, entry.0);
                }
                out.push(entry.1);
            }
            out[from..].reverse();
        }
        out.reverse();
        out
    }

    fn inst(&mut self, f: &mut Function, inst: &Inst, k: usize, nexts: &mut impl Iterator<Item = u32>) {
        let position = self.numbering.inst(self.i, k) as usize;
        let spilled: SmallVec<[(usize, VReg, u32); 4]> = registers(inst)
            .filter_map(|(n, operand)| Some((n, vreg_of(operand).filter(|v| self.places.contains_key(v))?)))
            .map(|(n, v)| (n, v, nexts.next().unwrap_or(NEVER)))
            .collect();
        let mut new = inst.clone();
        if self.used != PerFile::default() {
            self.shrink(f, position, &spilled);
        }
        let mut stores: SmallVec<[(VReg, u32); 2]> = SmallVec::new();
        for &(n, v, next) in &spilled {
            let Some(operand) = inst.operands[n].as_reg().copied() else { continue };
            if inst.operand_access(n) == OperandAccess::Def {
                if matches!(self.places.get(&v), Some(Place::Again(_))) {
                    return;
                }
                stores.push((v, next));
                continue;
            }
            // What it reads twice is loaded once.
            let same = |&(m, other, _): &(usize, VReg, u32)| {
                let read = inst.operand_access(m) != OperandAccess::Def;
                read && m < n && other == v && inst.operands[m] == inst.operands[n]
            };
            new.operands[n] = match spilled.iter().find(|operand| same(operand)) {
                Some(&(m, ..)) => new.operands[m],
                None => self.value(f, v, operand.sub, operand.dwords, next, inst.loc),
            };
        }
        let loc = inst.loc;
        self.out.push(new);
        self.at = k + 1;
        match inst.op {
            Opcode::LANES_BEGIN => self.in_region = true,
            Opcode::LANES_END => self.in_region = false,
            _ => {}
        }
        if inst.op == Opcode::CALL {
            self.far = None;
        }
        for &(v, next) in &stores {
            self.store(f, v, loc);
            let dwords = f.vregs[v].dwords;
            self.hold(f, v, Held { reg: v, sub: 0, dwords, next });
        }
        if self.used != PerFile::default() {
            let defined: SmallVec<[(usize, VReg, u32); 4]> =
                stores.iter().map(|&(v, next)| (0, v, next)).collect();
            self.shrink(f, position + 1, &defined);
        }
    }

    /// Gives up what has no room at a position besides the `accessed` values, which the profile counts.
    fn shrink(&mut self, f: &Function, position: usize, accessed: &[(usize, VReg, u32)]) {
        for file in FILES {
            let choice = &self.choices[file];
            let room = choice.budget - choice.profile.get(position).copied().unwrap_or(0);
            let counted = |held: &FxHashMap<VReg, SmallVec<[Held; 1]>>, v: VReg| {
                held.get(&v).map_or(0, |h| h.iter().map(|h| i32::from(h.dwords)).sum::<i32>())
            };
            let mut seen: SmallVec<[VReg; 4]> = SmallVec::new();
            let mut now = 0;
            for &(_, v, _) in accessed.iter().filter(|a| file_of(f, a.1) == file) {
                if !seen.contains(&v) {
                    seen.push(v);
                    now += counted(&self.held, v);
                }
            }
            let mut aside: SmallVec<[(u32, VReg); 4]> = SmallVec::new();
            while self.used[file] - now > room.max(0) {
                let Some((next, v)) = self.order[file].pop() else { break };
                let Some(held) = self.held.get(&v) else { continue };
                if !held.iter().any(|h| h.next == next) {
                    continue;
                }
                if seen.contains(&v) {
                    aside.push((next, v));
                    continue;
                }
                self.used[file] -= counted(&self.held, v);
                self.held.remove(&v);
            }
            self.order[file].extend(aside);
        }
    }

    /// Remembers that a register has a value that is used again; forgets it if not.
    fn hold(&mut self, f: &Function, v: VReg, held: Held) {
        if is_whole_wave(f, v) {
            return;
        }
        let file = file_of(f, v);
        if held.next == NEVER {
            if let Some(list) = self.held.remove(&v) {
                self.used[file] -= list.iter().map(|h| i32::from(h.dwords)).sum::<i32>();
            }
            return;
        }
        let list = self.held.entry(v).or_default();
        if !list.iter().any(|h| h.reg == held.reg) {
            self.used[file] += i32::from(held.dwords);
            list.push(held);
        }
        list.iter_mut().for_each(|h| h.next = held.next);
        self.order[file].push((held.next, v));
    }

    /// An operand with `dwords` dwords of `v` from `sub` on.
    fn value(&mut self, f: &mut Function, v: VReg, sub: u8, dwords: u8, next: u32, loc: u32) -> Operand {
        let whole = f.vregs[v].dwords;
        // Parts keep the alignment that they have in the whole.
        let found = self.held.get(&v).and_then(|list| {
            list.iter()
                .find(|h| (h.sub, h.dwords) == (sub, dwords) || (h.sub, h.dwords) == (0, whole))
                .copied()
        });
        let held = found.unwrap_or_else(|| {
            let reg = self.load(f, v, sub, dwords, loc);
            Held { reg, sub, dwords, next }
        });
        self.hold(f, v, Held { next, ..held });
        Operand::sub(held.reg, sub - held.sub, dwords)
    }

    /// Loads or makes `dwords` dwords of `v` from `sub` on.
    fn load(&mut self, f: &mut Function, v: VReg, sub: u8, dwords: u8, loc: u32) -> VReg {
        let file = f.vregs[v].file;
        let places = self.places;
        let Some(place) = places.get(&v) else { return v };
        let flags = f.vregs[v].flags & VRegFlags::WHOLE_WAVE;
        let like = |dwords| VRegData { file, dwords, flags, hint: None };
        if let Place::Again(inst) = place {
            let all_lanes = self.begin_all_lanes(f, v, loc);
            let mut whole = self.temporary(f, v, f.vregs[v].dwords);
            let mut inst = (**inst).clone();
            inst.operands[0] = Operand::vreg(whole, f.vregs[v].dwords);
            self.out.push(inst);
            if sub != 0 || dwords != f.vregs[v].dwords {
                let part = f.vregs.push(like(dwords));
                self.push(Opcode::COPY, [Operand::vreg(part, dwords), Operand::sub(whole, sub, dwords)], loc);
                whole = part;
            }
            self.end_all_lanes(all_lanes, loc);
            return whole;
        }
        self.loaded.insert(v);
        let all_lanes = self.begin_all_lanes(f, v, loc);
        let mut parts: SmallVec<[VReg; 4]> = SmallVec::new();
        for d in sub..sub + dwords {
            let part = f.vregs.push(like(1));
            self.spills.reloads.insert(part, (v, u16::from(d)));
            self.load_slot(f, place, d, part, loc);
            parts.push(part);
        }
        let whole = match parts.as_slice() {
            // A single register keeps its name, so that it can be a reload.
            [one] => *one,
            parts => {
                let whole = self.temporary(f, v, dwords);
                let parts = parts.iter().map(|&p| Operand::vreg(p, 1));
                let operands = std::iter::once(Operand::vreg(whole, dwords)).chain(parts);
                let mut inst = Inst::new(Opcode::REG_SEQUENCE, operands);
                inst.loc = loc;
                self.out.push(inst);
                whole
            }
        };
        self.end_all_lanes(all_lanes, loc);
        whole
    }

    /// What follows moves `v`, in all lanes where it is a value of the wave: `saved` is EXEC meanwhile where a region was begun for it.
    fn begin_all_lanes(&mut self, f: &mut Function, v: VReg, loc: u32) -> Option<AllLanes> {
        if !is_whole_wave(f, v) {
            return None;
        }
        let saved = (!self.in_region).then(|| {
            let mask = VRegData::mask(f.wave);
            let saved = f.vregs.push(VRegData { flags: mask.flags | VRegFlags::PINNED, ..mask });
            let saved = Operand::mask(saved, f.wave);
            self.push(Opcode::LANES_BEGIN, [saved, Operand::Imm(-1)], loc);
            saved
        });
        Some(AllLanes { from: self.out.len(), saved })
    }

    /// Marks what has been written since `begun`, and ends its region.
    fn end_all_lanes(&mut self, begun: Option<AllLanes>, loc: u32) {
        let Some(AllLanes { from, saved }) = begun else { return };
        // Not what makes an address, which is scalar.
        for inst in self.out[from..].iter_mut().filter(|inst| inst.reads_exec() || inst.op.is_copy()) {
            inst.mods.flags |= ModFlags::OTHER_LANES;
        }
        if let Some(saved) = saved {
            self.push(Opcode::LANES_END, [saved, Operand::Imm(-1)], loc);
        }
    }

    fn load_slot(&mut self, f: &mut Function, place: &Place, d: u8, to: VReg, loc: u32) {
        match place {
            Place::Scratch(offsets) => {
                let offset = offsets[usize::from(d)];
                self.scratch(f, false, Operand::vreg(to, 1), offset, loc);
            }
            Place::Lanes(lanes) => {
                let lane = lanes[usize::from(d)];
                let register = lane_register((lane / f.wave.lanes()) as u16);
                let lane = Operand::Imm(i64::from(lane % f.wave.lanes()));
                let operands = [Operand::vreg(to, 1), Operand::preg(register, 1), lane];
                self.push(Opcode::V_READLANE_B32, operands, loc);
            }
            Place::Again(_) => {}
        }
    }

    /// Stores dword `from` into the slot of dword `d`.
    fn store_slot(&mut self, f: &mut Function, place: &Place, d: u8, from: Operand, loc: u32) {
        match place {
            Place::Lanes(lanes) => {
                let lane = lanes[usize::from(d)];
                let register = lane_register((lane / f.wave.lanes()) as u16);
                let lane = Operand::Imm(i64::from(lane % f.wave.lanes()));
                self.push(Opcode::V_WRITELANE_B32, [Operand::preg(register, 1), from, lane], loc);
            }
            Place::Scratch(offsets) => {
                let offset = offsets[usize::from(d)];
                self.scratch(f, true, from, offset, loc);
            }
            Place::Again(_) => {}
        }
    }

    /// Stores `v`, if it is spilled to memory, where it has just been defined.
    fn store(&mut self, f: &mut Function, v: VReg, loc: u32) {
        let places = self.places;
        let Some(place @ (Place::Lanes(_) | Place::Scratch(_))) = places.get(&v) else { return };
        let all_lanes = self.begin_all_lanes(f, v, loc);
        for d in 0..f.vregs[v].dwords {
            self.store_slot(f, place, d, Operand::sub(v, d, 1), loc);
            self.stores.push((v, self.out.len() as u32 - 1));
        }
        self.end_all_lanes(all_lanes, loc);
    }

    /// Passes arguments of `file` along the block's edges.
    fn arguments(&mut self, f: &mut Function, file: RegFile) {
        let block = self.numbering.order[self.i];
        let loc = self.out.last().map_or(0, |inst| inst.loc);
        let places = self.places;
        for n in 0..edges(&f.blocks[block], file).len() {
            let edge = &edges(&f.blocks[block], file)[n];
            if edge.args.is_empty() {
                continue;
            }
            let targets = params(&f.blocks[edge.block], file).to_vec();
            let args: Vec<VReg> = edge.args.to_vec();
            let (through, mut kept): (Vec<_>, Vec<_>) =
                targets.into_iter().zip(args).partition(|(param, _)| places.contains_key(param));
            let written: FxHashSet<u32> = through.iter().flat_map(|&(param, _)| self.slots(param)).collect();
            // First what would be overwritten, then what frees registers, then what takes them.
            for late in [false, true] {
                for (_, arg) in &mut kept {
                    let overwritten = self.slots(*arg).any(|slot| written.contains(&slot));
                    if places.contains_key(arg) && overwritten != late {
                        let dwords = f.vregs[*arg].dwords;
                        let value = self.value(f, *arg, 0, dwords, NEVER, loc);
                        *arg = value.as_reg().and_then(vreg_of).unwrap_or(*arg);
                    }
                }
                if !late {
                    self.pass(f, &through, loc);
                }
            }
            let kept: Vec<VReg> = kept.into_iter().map(|(_, arg)| arg).collect();
            let data = &mut f.blocks[block];
            let succs = if file == RegFile::Sgpr { &mut data.wave_succs } else { &mut data.thread_succs };
            succs[n].args = kept.as_slice().into();
        }
    }

    /// The slots of a value in memory.
    fn slots(&self, v: VReg) -> impl Iterator<Item = u32> + use<'_> {
        let slots = match self.places.get(&v) {
            Some(Place::Lanes(slots) | Place::Scratch(slots)) => slots.as_slice(),
            _ => &[],
        };
        slots.iter().copied()
    }

    /// Puts arguments into the slots of spilled parameters, all at once.
    fn pass(&mut self, f: &mut Function, pairs: &[(VReg, VReg)], loc: u32) {
        let places = self.places;
        let slot = |v: VReg, d: u8| match places.get(&v) {
            Some(Place::Lanes(slots) | Place::Scratch(slots)) => slots.get(usize::from(d)).copied(),
            _ => None,
        };
        // Dwords to move: parameter, argument, dword; and who reads which slot.
        let mut moves: Vec<(VReg, VReg, u8)> = Vec::new();
        let mut readers: FxHashMap<u32, u32> = FxHashMap::default();
        let mut writer: FxHashMap<u32, usize> = FxHashMap::default();
        for &(param, arg) in pairs {
            for d in 0..f.vregs[param].dwords {
                let Some(to) = slot(param, d) else { continue };
                let from = slot(arg, d);
                if from == Some(to) {
                    self.loaded.insert(arg);
                    let block = self.numbering.order[self.i];
                    self.spills.in_place.entry(block).or_default().push((arg, param, u16::from(d)));
                    continue;
                }
                writer.insert(to, moves.len());
                if let Some(from) = from {
                    *readers.entry(from).or_insert(0) += 1;
                }
                moves.push((param, arg, d));
            }
        }
        let mut early: Vec<Option<Operand>> = vec![None; moves.len()];
        let mut done = vec![false; moves.len()];
        let mut ready: Vec<usize> = Vec::new();
        let is_ready = |readers: &FxHashMap<u32, u32>, m: (VReg, VReg, u8)| {
            slot(m.0, m.2).is_some_and(|to| readers.get(&to).is_none_or(|&n| n == 0))
        };
        ready.extend((0..moves.len()).rev().filter(|&n| is_ready(&readers, moves[n])));
        let mut first = 0;
        loop {
            let Some(n) = ready.pop() else {
                // Only cycles are left: read one's source early, and its slot is free.
                while done.get(first).is_some_and(|&d| d) {
                    first += 1;
                }
                let Some(&(_, arg, d)) = moves.get(first) else { break };
                if early[first].is_some() {
                    break;
                }
                early[first] = Some(self.value(f, arg, d, 1, NEVER, loc));
                self.read(slot(arg, d), &mut readers, &writer, &done, &mut ready);
                continue;
            };
            if done[n] {
                continue;
            }
            done[n] = true;
            let (param, arg, d) = moves[n];
            let source = match early[n] {
                Some(source) => source,
                None if places.contains_key(&arg) => self.value(f, arg, d, 1, NEVER, loc),
                None => Operand::sub(arg, d, 1),
            };
            // The name that the parameter's dword has on this edge.
            let named = f.new_vreg(f.vregs[param].file, 1);
            self.push(Opcode::COPY, [Operand::vreg(named, 1), source], loc);
            self.spills.passed.insert(named, (param, u16::from(d)));
            if let Some(place) = places.get(&param) {
                self.store_slot(f, place, d, Operand::vreg(named, 1), loc);
            }
            if early[n].is_none() {
                self.read(slot(arg, d), &mut readers, &writer, &done, &mut ready);
            }
        }
    }

    /// One reader of a slot less.
    fn read(
        &self,
        slot: Option<u32>,
        readers: &mut FxHashMap<u32, u32>,
        writer: &FxHashMap<u32, usize>,
        done: &[bool],
        ready: &mut Vec<usize>,
    ) {
        let Some(slot) = slot else { return };
        if let Some(n) = readers.get_mut(&slot) {
            *n = n.saturating_sub(1);
            if *n == 0
                && let Some(&w) = writer.get(&slot)
                && !done[w]
            {
                ready.push(w);
            }
        }
    }

    fn temporary(&mut self, f: &mut Function, like: VReg, dwords: u8) -> VReg {
        let mut data = f.vregs[like];
        if dwords != data.dwords {
            data.flags &= VRegFlags::WHOLE_WAVE;
        }
        data.dwords = dwords;
        data.hint = None;
        f.vregs.push(data)
    }

    /// An access to a slot: the offset in the instruction as far as it goes, behind the frame's base or a register. MUBUF does without where the
    /// frame starts at 0.
    fn scratch(&mut self, f: &mut Function, store: bool, data: Operand, offset: u32, loc: u32) {
        let max = f.scratch.max_offset(self.limits);
        let base = match f.frame_base {
            Some(base) if offset <= max => Operand::preg(base, 1),
            None if offset <= max && f.scratch == ScratchAccess::Buffer => Operand::Imm(0),
            _ => Operand::vreg(self.far_base(f, offset & !max, loc), 1),
        };
        let resource = Operand::preg(f.entry.scratch_resource(), 4);
        let mut inst = f.scratch.frame_dword(store, data, base, resource, offset & max);
        inst.loc = loc;
        if let Some(mem) = &mut inst.mem {
            mem.access.alias = AliasClass::SLOT;
            mem.place = i32::try_from(offset).ok().map(|offset| MemPlace { base: FRAME, offset });
        }
        self.out.push(inst);
    }

    /// A register with the part of an offset that no instruction can hold, `high`, from the frame's base on.
    /// Adding to a base writes SCC, whose value is kept in a register meanwhile where it is still read.
    fn far_base(&mut self, f: &mut Function, high: u32, loc: u32) -> VReg {
        if let Some((last, base, made)) = self.far
            && last == high
            && self.at - made <= FAR_REACH
        {
            return base;
        }
        let base = f.new_vreg(RegFile::Sgpr, 1);
        self.spills.high_offsets.insert(base, high);
        self.far = Some((high, base, self.at));
        let high = Operand::Imm(i64::from(high) * i64::from(f.bytes_in_base()));
        let Some(frame) = f.frame_base else {
            self.push(Opcode::S_MOV_B32, [Operand::vreg(base, 1), high], loc);
            return base;
        };
        let add = [Operand::vreg(base, 1), Operand::preg(frame, 1), high];
        if !self.scc_live.get(self.at).copied().unwrap_or(true) {
            self.push(Opcode::S_ADD_U32, add, loc);
            return base;
        }
        let scc = Operand::vreg(f.new_vreg(RegFile::Sgpr, 1), 1);
        self.push(Opcode::S_CSELECT_B32, [scc, Operand::Imm(1), Operand::Imm(0)], loc);
        self.push(Opcode::S_ADD_U32, add, loc);
        self.push(Opcode::S_CMP_LG_U32, [scc, Operand::Imm(0)], loc);
        base
    }

    fn push<const N: usize>(&mut self, op: Opcode, operands: [Operand; N], loc: u32) {
        let mut inst = Inst::new(op, operands);
        inst.loc = loc;
        self.out.push(inst);
    }
}

/// For each place in front of an instruction, and the end, whether SCC is read before it is written.
fn scc_live(insts: &[Inst], term: Terminator) -> Vec<bool> {
    let mut live = matches!(term, Terminator::Uniform(Condition::Scc0 | Condition::Scc1));
    let mut out = vec![live; insts.len() + 1];
    for (k, inst) in insts.iter().enumerate().rev() {
        mir::interrupt::checkpoint();
        let implicit = inst.facts().implicit;
        live = implicit.contains(Implicit::SCC_USE) || live && !implicit.contains(Implicit::SCC_DEF);
        out[k] = live;
    }
    out
}
