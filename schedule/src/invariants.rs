//! What does the same in each iteration goes in front of the loop.
//!
//! Selection puts constants, and what is in an SGPR, into VGPRs where an instruction takes nothing else, joins parts to tuples where one
//! takes a tuple, and extends and shifts what addresses are made of. In a loop that costs an instruction in each iteration, outside of it
//! registers throughout the loop. So it goes in front where SGPRs are left that cost no wave, and VGPRs that are taken elsewhere anyway, once
//! it is known what latencies take: behind scheduling.
//!
//! What goes is a move to a VGPR, a tuple with the same part twice, and what the scalar unit computes, whose sources come from outside of
//! the loop, out of the innermost loops first. SCC may be written where nobody reads it. The block in front
//! must be the only one from which the loop is entered, by the wave and by its lanes, and must dominate the instruction on the graph of
//! the lanes: then it has been executed by all lanes that come to the instruction. Of several moves of one source one is left.
//!
//! Cost: linear in instructions and in the depth of loops; functions without such moves in loops are passed over.

use crate::barriers::{is_arithmetic, scc_read_behind};
use crate::before::most_alive;
use crate::budget::{self, Options};
use crate::code::Code;
use crate::live::{Dwords, LiveOut};
use crate::pressure::Profile;
use crate::registers::{Home, Known, Peaks, alive_in, registers, rename_uses, whole};
use cranelift_entity::SecondaryMap;
use mir::analysis::{Csr, Dominators, Graph, Loop, Loops, Order};
use mir::isa::{Implicit, Opcode, Unit};
use mir::machine::{Block, Function, Inst, Modifiers, Operand, Reg, RegFile, Terminator, VReg};
use mir::target::Target;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What does the same whenever it is executed: the operation, the file of its result, and its sources.
type Key = (Opcode, RegFile, SmallVec<[Operand; 4]>);

/// Most blocks of a loop in which places are told apart.
const MAX_BLOCKS: usize = 8;

/// Hoists moves of `f`, modelled code with virtual registers whose order is settled.
pub fn hoist_invariants(f: &mut Function, target: &Target, options: &Options) {
    if !repeats_something(f, target) {
        return;
    }
    let (wave, thread) = (Csr::wave(f), Csr::thread(f));
    let order = Order::reverse_post_order(&wave);
    let loops = Loops::new(&wave, &order, &Dominators::new(&wave, &order));
    let dominators = Dominators::new(&thread, &Order::reverse_post_order(&thread));
    let code = Code::read(f, target);
    let live = LiveOut::compute(f, &code);
    let mut by_block: SecondaryMap<Block, Dwords> = SecondaryMap::new();
    let most = most_alive(f, &code, &live, |block, most| by_block[block] = most);
    let Some(mut limit) = budget::of(f, target, options, most) else { return };
    // A VGPR more may be the one that matters to whoever runs beside; what moves cost does not make up for it.
    limit.vgprs = most.vgprs;
    let mut taken = vec![Dwords::default(); loops.len()];
    for &block in &f.layout {
        let mut around = loops.innermost(block.as_u32());
        while let Some(l) = around {
            taken[l.index()] = taken[l.index()].max(by_block[block]);
            around = loops[l].parent;
        }
    }
    let mut blocks: Vec<Vec<Block>> = vec![Vec::new(); loops.len()];
    for &block in &f.layout {
        if let Some(l) = loops.innermost(block.as_u32()) {
            blocks[l.index()].push(block);
        }
    }
    let mut places: SecondaryMap<Block, u32> = SecondaryMap::new();
    f.layout.iter().zip(0..).for_each(|(&block, place)| places[block] = place);
    let mut innermost = vec![true; loops.len()];
    loops.iter().filter_map(|l| loops[l].parent).for_each(|parent| innermost[parent.index()] = false);
    let mut hoist = Hoist {
        target,
        loops: &loops,
        dominators: &dominators,
        live: &live,
        code: &code,
        places,
        profile: Profile::new(f),
        limit,
        taken,
        most: by_block,
        regs: registers(f),
        f,
    };
    let mut renamed: SecondaryMap<VReg, Option<VReg>> = SecondaryMap::new();
    let mut any = false;
    // Inner loops have higher numbers.
    for l in loops.iter().rev() {
        if let Some(front) = hoist.front(l, &wave, &thread) {
            let own = &blocks[l.index()];
            let few = innermost[l.index()] && own.len() <= MAX_BLOCKS;
            any |= hoist.run(l, front, own, few, &mut renamed);
        }
    }
    if any {
        for &block in &f.layout {
            f.blocks[block].insts.iter_mut().for_each(|inst| rename_uses(inst, &renamed));
        }
    }
}

/// Whether something in a loop that takes an instruction needs nothing of its block: a cheap look at what most functions do not have.
fn repeats_something(f: &Function, target: &Target) -> bool {
    let mut made_in: SecondaryMap<VReg, u32> = SecondaryMap::with_default(u32::MAX);
    f.layout.iter().filter(|&&block| f.blocks[block].loop_depth > 0).any(|&block| {
        let data = &f.blocks[block];
        for &param in data.vparams.iter().chain(&data.sparams) {
            made_in[param] = block.as_u32();
        }
        data.insts.iter().any(|inst| {
            let mut outside = !inst.op.is_copy() || repeats_a_part(inst);
            for (write, operand) in inst.regs() {
                let Reg::Virtual(reg) = operand.reg else { continue };
                if write {
                    made_in[reg] = block.as_u32();
                } else {
                    outside &= made_in[reg] != block.as_u32();
                }
            }
            outside && may_go(inst, target)
        })
    })
}

/// Whether `inst` joins a tuple with the same part twice.
pub(crate) fn repeats_a_part(inst: &Inst) -> bool {
    let parts = &inst.operands[1.min(inst.operands.len())..];
    inst.op == Opcode::REG_SEQUENCE && (1..parts.len()).any(|k| parts[..k].contains(&parts[k]))
}

/// Tuples with the same part twice of a block, by their parts: once one has gone, it stands for the others.
fn equal_tuples(insts: &[Inst]) -> FxHashMap<SmallVec<[Operand; 4]>, SmallVec<[VReg; 2]>> {
    let mut tuples: FxHashMap<_, SmallVec<[VReg; 2]>> = FxHashMap::default();
    for inst in insts.iter().filter(|inst| repeats_a_part(inst)) {
        if let Some(Reg::Virtual(result)) = inst.operands[0].as_reg().map(|reg| reg.reg) {
            tuples.entry(inst.operands[1..].iter().copied().collect()).or_default().push(result);
        }
    }
    tuples
}

/// Whether `inst` is of the kind that goes.
fn may_go(inst: &Inst, target: &Target) -> bool {
    let kind = inst.op == Opcode::V_MOV_B32 || inst.op.is_copy() || inst.facts().unit == Unit::Salu;
    kind && inst.mods == Modifiers::default() && is_arithmetic(inst, target)
}

/// What has gone from a loop.
struct Counts {
    /// Registers alive at the end of the block in front.
    front: Dwords,
    /// VGPRs that are alive throughout the loop now.
    added: u32,
}

struct Hoist<'a> {
    f: &'a mut Function,
    target: &'a Target,
    loops: &'a Loops,
    dominators: &'a Dominators,
    live: &'a LiveOut,
    /// Most registers that may be alive at a time.
    limit: Dwords,
    /// The most that are alive at a time in each loop.
    taken: Vec<Dwords>,
    /// The same of each block, before anything went.
    most: SecondaryMap<Block, Dwords>,
    regs: SecondaryMap<VReg, Known>,
    profile: Profile,
    code: &'a Code,
    /// By block, in the layout.
    places: SecondaryMap<Block, u32>,
}

impl Hoist<'_> {
    /// The block from which alone `l` is entered, and which leads nowhere else.
    fn front(&self, l: Loop, wave: &Csr, thread: &Csr) -> Option<Block> {
        let header = self.loops[l].header;
        let only = |graph: &Csr| {
            let mut outside = graph.preds(header).iter().filter(|&&pred| !self.loops.contains(l, pred));
            let first = outside.next().copied()?;
            outside.all(|&other| other == first).then_some(first)
        };
        let front = only(wave)?;
        let leads_there = wave.succs(front).iter().all(|&next| next == header);
        (leads_there && only(thread) == Some(front)).then(|| Block::from_u32(front))
    }

    /// Moves what can go from the blocks of `l` that are in no loop inside to the end of `front`; whether anything did. Of moves that were
    /// there twice, `renamed` tells what stands for the second. Of `few` blocks, all of the loop, it is known where what goes was not alive.
    fn run(
        &mut self,
        l: Loop,
        front: Block,
        blocks: &[Block],
        few: bool,
        renamed: &mut SecondaryMap<VReg, Option<VReg>>,
    ) -> bool {
        let mut known: FxHashMap<Key, VReg> = FxHashMap::default();
        let mut moved: Vec<Inst> = Vec::new();
        let mut counts = Counts { front: self.live.dwords(front), added: 0 };
        let end = &self.f.blocks[front];
        let reads_scc = |inst: &Inst| inst.facts().implicit.contains(Implicit::SCC_USE);
        let free_scc =
            end.term == Terminator::Jump && !end.insts[end.tail_start as usize..].iter().any(reads_scc);
        for &block in blocks {
            let others = blocks.iter().take(MAX_BLOCKS).filter(|&&other| other != block);
            let elsewhere = others.map(|&other| self.most[other].vgprs).max().unwrap_or(0);
            let peaks = few.then(|| self.peaks(block));
            let target = self.target;
            let data = &mut self.f.blocks[block];
            let body = data.head_len as usize..data.tail_start as usize;
            if !data.insts[body.clone()].iter().any(|inst| may_go(inst, target))
                || !self.dominators.dominates(front.as_u32(), block.as_u32())
            {
                continue;
            }
            let before = data.insts.len();
            let scc_is_read = scc_read_behind(data);
            let insts = std::mem::take(&mut data.insts);
            let alike = equal_tuples(&insts[body.clone()]);
            let mut kept = Vec::with_capacity(before);
            for (at, mut inst) in insts.into_iter().enumerate() {
                mir::interrupt::checkpoint();
                let writes_scc = inst.facts().implicit.contains(Implicit::SCC_DEF);
                let scc = !writes_scc || free_scc && !scc_is_read[at];
                let result = if body.contains(&at) && scc && may_go(&inst, target) {
                    rename_uses(&mut inst, renamed);
                    self.result_of_invariant(&inst, l, front)
                } else {
                    None
                };
                let Some(result) = result else {
                    kept.push(inst);
                    continue;
                };
                let file = self.f.vregs[result].file;
                let key: Key = (inst.op, file, inst.operands[1..].iter().copied().collect());
                if let Some(&same) = known.get(&key) {
                    renamed[result] = Some(same);
                    self.regs[same].uses += self.regs[result].uses;
                    continue;
                }
                let own = [result];
                let same = alike.get(&inst.operands[1..]).map_or(&own[..], |same| same);
                // The latest use, if none of them lives behind the block.
                let last = same.iter().try_fold(0, |last, &reg| Some(last.max(self.regs[reg].last?)));
                let outside = match (&peaks, last) {
                    (Some(peaks), Some(last)) => Some(peaks.outside(at, last as usize).max(elsewhere)),
                    _ => None,
                };
                if !self.makes_room(l, &inst, same.len(), (result, outside), &mut counts) {
                    kept.push(inst);
                    continue;
                }
                let of_result = &mut self.regs[result];
                (of_result.home, of_result.gone) = (Home::Block(front.as_u32()), Some(l));
                known.insert(key, result);
                moved.push(inst);
            }
            let data = &mut self.f.blocks[block];
            data.tail_start -= (before - kept.len()) as u32;
            data.insts = kept;
        }
        if let Some(parent) = self.loops[l].parent {
            self.taken[parent.index()] = self.taken[parent.index()].max(self.taken[l.index()]);
        }
        let any = !moved.is_empty();
        let data = &mut self.f.blocks[front];
        let at = data.tail_start as usize;
        data.tail_start += moved.len() as u32;
        data.insts.splice(at..at, moved);
        any
    }

    fn peaks(&mut self, block: Block) -> Peaks {
        let place = self.places[block] as usize;
        Peaks::of(alive_in(self.f, self.code, self.live, &mut self.profile, block, place))
    }

    /// Counts `result` of `inst`, which its block has so many `times`, as alive throughout `l`, if there is room for it. Where it was not alive in the loop, at
    /// most `outside` VGPRs were.
    fn makes_room(
        &mut self,
        l: Loop,
        inst: &Inst,
        times: usize,
        (result, outside): (VReg, Option<u32>),
        counts: &mut Counts,
    ) -> bool {
        let data = self.f.vregs[result];
        let (file, dwords) = (data.file, u32::from(data.dwords));
        let lanes = file == RegFile::Vgpr;
        let freed = if lanes { self.freed_parts(inst, times, l) } else { 0 };
        let mut limit = self.limit;
        let taken = self.taken[l.index()].of(file);
        let then = match outside.filter(|_| lanes) {
            Some(outside) => (*taken).max((outside + counts.added + dwords).saturating_sub(freed)),
            None => *taken + dwords,
        };
        if then.max(*counts.front.of(file) + dwords) > *limit.of(file) {
            return false;
        }
        *taken = then;
        *counts.front.of(file) += dwords;
        if lanes {
            counts.added = (counts.added + dwords).saturating_sub(freed);
        }
        true
    }

    /// Dwords of parts of a tuple, made so many `times`, that nothing else uses, and that have gone from `l`.
    fn freed_parts(&self, inst: &Inst, times: usize, l: Loop) -> u32 {
        let parts = &inst.operands[1..];
        let times = |part: &Operand| parts.iter().filter(|&other| other == part).count() * times;
        let freed = |(k, part): (usize, &Operand)| {
            let reg = whole(self.f, part).filter(|_| !parts[..k].contains(part))?;
            let known = self.regs[reg];
            let alone = known.gone == Some(l) && known.uses as usize == times(part);
            alone.then_some(u32::from(self.f.vregs[reg].dwords))
        };
        parts.iter().enumerate().filter_map(freed).sum()
    }

    /// What `inst`, a move in `l`, defines, if it can be executed at the end of `front` instead and is worth it.
    fn result_of_invariant(&self, inst: &Inst, l: Loop, front: Block) -> Option<VReg> {
        let (result, sources) = inst.operands.split_first()?;
        let result = whole(self.f, result)?;
        let data = self.f.vregs[result];
        let lanes = data.file == RegFile::Vgpr;
        let own = matches!(self.regs[result].home, Home::Block(_));
        if self.regs[result].fixed || !own || (lanes && data.wave_level()) {
            return None;
        }
        // A tuple of different parts takes no instruction: they are made in its place. Nor does a copy.
        if lanes && inst.op.is_copy() && !repeats_a_part(inst) {
            return None;
        }
        let is_outside = |operand: &Operand| match operand {
            Operand::Imm(_) => true,
            Operand::Reg(reg) => {
                let Reg::Virtual(reg) = reg.reg else { return false };
                match self.regs[reg].home {
                    Home::Entry => true,
                    Home::Nowhere => false,
                    Home::Block(block) => {
                        !self.loops.contains(l, block)
                            && (self.f.vregs[reg].wave_level()
                                || self.dominators.dominates(block, front.as_u32()))
                    }
                }
            }
            _ => false,
        };
        // What has no source tells where or when it is.
        (!sources.is_empty() && sources.iter().all(is_outside)).then_some(result)
    }
}
