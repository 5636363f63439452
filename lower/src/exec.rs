//! Control flow and EXEC code after allocation, when it is known which moves between blocks are real.
//!
//! Linearisation prepares for moves at every place where values meet; most of those blocks end up empty. So:
//!
//! 1. writes of EXEC that nobody sees (EXEC is written afresh, or the program ends, before anything depends on it) go, once more
//!    behind 3;
//! 2. empty blocks are folded away, and a block that only follows its sole predecessor is appended to it;
//! 3. what does nothing without lanes comes before the branch that skips it where no lane is left ([`skips`](crate::skips));
//! 4. a copy of EXEC followed by its narrowing becomes one `s_and_saveexec_b64`;
//! 5. a comparison that EXEC is narrowed by narrows it itself ([`narrowing`]).
//!
//! Invariant: the wave's path, but for blocks it runs through without lanes, and all registers read later stay the same. SCC
//! written by EXEC code has no readers, so that code may go or change. The thread graph is not kept up: nothing reads it any more.
//!
//! Cost: linear, but for the sweeps that settle where EXEC is dead (two, three with loops).

use crate::blocks::fold_empty_blocks;
use crate::narrowing;
use crate::skips::hoist_over_skips;
use cranelift_entity::SecondaryMap;
use mir::isa::{Implicit, MaskOp, OpFlags, Opcode, Unit};
use mir::machine::{Block, Condition, Function, Inst, Operand, PReg, RegOperand, Terminator};
use mir::target::{Target, WaveSize};

/// Simplifies the wave graph and the EXEC code of an allocated function.
pub fn simplify(f: &mut Function, target: &Target) {
    remove_dead_writes(f);
    fold_empty_blocks(f);
    hoist_over_skips(f);
    fold_empty_blocks(f);
    // Where both ways of a branch have become one, nobody asks for EXEC any more.
    remove_dead_writes(f);
    fold_empty_blocks(f);
    merge_chains(f);
    fuse_saves(f, target);
    narrowing::fuse(f, target);
    for &block in &f.layout {
        let data = &mut f.blocks[block];
        data.thread_succs.clear();
        // Head and tail have met the body.
        (data.head_len, data.tail_start) = (0, data.insts.len() as u32);
    }
}

/// What an instruction, or a whole block, does first to EXEC.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Reads,
    /// Sets all of it, whatever it was.
    Sets,
    Neither,
}

fn is_exec(operand: &Operand, wave: WaveSize) -> bool {
    *operand == Operand::exec(wave)
}

fn first_of(inst: &Inst, wave: WaveSize) -> First {
    if inst.op.is_mark() {
        return First::Neither;
    }
    let facts = inst.facts();
    // What a pseudo instruction stands for is not there yet.
    if facts.unit == Unit::Pseudo || facts.implicit.contains(Implicit::EXEC_USE) {
        return First::Reads;
    }
    // Code elsewhere may look at EXEC.
    let leaves = inst.leaves();
    if leaves || inst.op == Opcode::S_TRAP {
        return First::Reads;
    }
    let (mut reads, mut sets) = (false, false);
    inst.for_each_access(|access| {
        let touches = access.range().any(|r| r == PReg::EXEC_LO.0.into() || r == PReg::EXEC_HI.0.into());
        reads |= access.read && (touches || access.range().contains(&PReg::EXECZ.0.into()));
        // Writing a half keeps the other.
        let whole = access.dwords >= u16::from(wave.mask_dwords());
        reads |= access.write && touches && !whole;
        sets |= access.write && access.first == PReg::EXEC_LO && whole;
    });
    match (reads, sets) {
        (true, _) => First::Reads,
        (false, true) => First::Sets,
        (false, false) => First::Neither,
    }
}

/// Whether `inst` does nothing but set EXEC (and SCC), so that it can go where EXEC is dead.
fn only_sets_exec(inst: &Inst, wave: WaveSize) -> bool {
    let facts = inst.facts();
    facts.unit == Unit::Salu
        && !inst.op.info().flags.contains(OpFlags::BRANCH)
        && !facts.implicit.contains(Implicit::EXEC_DEF)
        && facts.def_count == 1
        && inst.operands.first().is_some_and(|operand| is_exec(operand, wave))
}

/// Removes writes of EXEC that nothing depends on.
fn remove_dead_writes(f: &mut Function) {
    let wave = f.wave;
    let may_go = |inst: &Inst| only_sets_exec(inst, wave);
    let concerned: Vec<usize> =
        (0..f.layout.len()).filter(|&i| f.blocks[f.layout[i]].insts.iter().any(may_go)).collect();
    if concerned.is_empty() {
        return;
    }
    let mut effect: SecondaryMap<Block, First> = SecondaryMap::with_default(First::Neither);
    for &block in &f.layout {
        let data = &f.blocks[block];
        let inside =
            data.insts.iter().map(|inst| first_of(inst, wave)).find(|&first| first != First::Neither);
        effect[block] = inside.unwrap_or(match data.term {
            Terminator::Uniform(Condition::Execz | Condition::Execnz) | Terminator::Return => First::Reads,
            Terminator::EndProgram | Terminator::Unreachable => First::Sets,
            Terminator::Jump | Terminator::Uniform(_) => First::Neither,
            Terminator::Divergent(_) => First::Reads,
        });
    }
    // Blocks at whose start EXEC is live.
    let mut live: SecondaryMap<Block, bool> = SecondaryMap::new();
    let live_out = |f: &Function, live: &SecondaryMap<Block, bool>, block: Block| {
        let data = &f.blocks[block];
        matches!(
            data.term,
            Terminator::Uniform(Condition::Execz | Condition::Execnz)
                | Terminator::Return
                | Terminator::Divergent(_)
        ) || data.wave_succs.iter().any(|edge| live[edge.block])
    };
    loop {
        let mut changed = false;
        for &block in f.layout.iter().rev() {
            let now = match effect[block] {
                First::Reads => true,
                First::Sets => false,
                First::Neither => live_out(f, &live, block),
            };
            changed |= now != live[block];
            live[block] = now;
        }
        if !changed {
            break;
        }
    }
    for i in concerned {
        let block = f.layout[i];
        let mut is_live = live_out(f, &live, block);
        let insts = &mut f.blocks[block].insts;
        let mut keep = vec![true; insts.len()];
        for (inst, keep) in insts.iter_mut().zip(&mut keep).rev() {
            if !is_live && only_sets_exec(inst, wave) {
                *keep = false;
                continue;
            }
            match first_of(inst, wave) {
                First::Reads => is_live = true,
                First::Sets => is_live = false,
                First::Neither => {}
            }
        }
        let mut keep = keep.into_iter();
        insts.retain(|_| keep.next().unwrap_or(true));
    }
}

/// Number of wave edges into each block; the way in counts for the entry.
pub(crate) fn count_preds(f: &Function) -> SecondaryMap<Block, u32> {
    let mut preds = SecondaryMap::new();
    if let Some(&entry) = f.layout.first() {
        preds[entry] = 1;
    }
    for &block in &f.layout {
        for edge in &f.blocks[block].wave_succs {
            preds[edge.block] += 1;
        }
    }
    preds
}

/// Appends blocks to the sole predecessor that jumps to them.
fn merge_chains(f: &mut Function) {
    let preds = count_preds(f);
    let mut merged: SecondaryMap<Block, bool> = SecondaryMap::new();
    for i in 0..f.layout.len() {
        let block = f.layout[i];
        if merged[block] {
            continue;
        }
        while f.blocks[block].term == Terminator::Jump
            && let [edge] = &f.blocks[block].wave_succs[..]
            && let next = edge.block
            && next != block
            && preds[next] == 1
            && !merged[next]
        {
            let from = std::mem::take(&mut f.blocks[next]);
            let into = &mut f.blocks[block];
            into.insts.extend(from.insts);
            into.term = from.term;
            into.wave_succs = from.wave_succs;
            merged[next] = true;
        }
    }
    f.layout.retain(|&block| !merged[block]);
}

/// `s_mov_b64 S, exec; s_and_b64 exec, exec, c` → `s_and_saveexec_b64 S, c`, and the same for `s_andn2_b64` where there is
/// `s_andn1_saveexec_b64` (EXEC = ~source & EXEC).
fn fuse_saves(f: &mut Function, target: &Target) {
    let wave = f.wave;
    for &block in &f.layout {
        f.blocks[block].insts.dedup_by(|narrow, copy| match fused_save(copy, narrow, wave, target) {
            Some(fused) => {
                *copy = fused;
                true
            }
            None => false,
        });
    }
}

fn fused_save(copy: &Inst, narrow: &Inst, wave: WaveSize, target: &Target) -> Option<Inst> {
    let &[Operand::Reg(saved), source] = &copy.operands[..] else { return None };
    if copy.op != MaskOp::Mov.opcode(wave) {
        return None;
    }
    let &[into, a, b] = &narrow.operands[..] else { return None };
    let is_exec = |x: &Operand| is_exec(x, wave);
    let same = |x: Operand| is_exec(&x) || x == Operand::Reg(saved);
    if !is_exec(&source) || !is_exec(&into) || is_exec(&Operand::Reg(saved)) {
        return None;
    }
    let is = |op: MaskOp| narrow.op == op.opcode(wave);
    let (op, condition) = if is(MaskOp::And) && same(a) {
        (MaskOp::AndSaveexec, b)
    } else if is(MaskOp::And) && same(b) {
        (MaskOp::AndSaveexec, a)
    } else if is(MaskOp::AndN2) && same(a) {
        (MaskOp::AndN1Saveexec, b)
    } else {
        return None;
    };
    let op = op.opcode(wave);
    let Operand::Reg(RegOperand { .. }) = condition else { return None };
    if same(condition) || !op.info().exists_on(target) {
        return None;
    }
    Some(Inst { loc: narrow.loc, ..Inst::new(op, [Operand::Reg(saved), condition]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;
    use mir::ir::{CallConv, Func};
    use mir::machine::Edge;
    use mir::target::{Features, Generation, Processor};

    const EXEC: Operand =
        Operand::Reg(RegOperand { reg: mir::machine::Reg::Physical(PReg::EXEC_LO), sub: 0, dwords: 2 });

    fn pair(n: u16) -> Operand {
        Operand::preg(PReg::sgpr(n), 2)
    }

    fn vmov() -> Inst {
        Inst::new(Opcode::V_MOV_B32, [Operand::preg(PReg::vgpr(0), 1), Operand::preg(PReg::vgpr(1), 1)])
    }

    fn narrow(op: Opcode) -> Inst {
        Inst::new(op, [EXEC, EXEC, pair(4)])
    }

    fn save() -> Inst {
        Inst::new(Opcode::S_MOV_B64, [pair(2), EXEC])
    }

    fn restore() -> Inst {
        Inst::new(Opcode::S_MOV_B64, [EXEC, pair(2)])
    }

    /// Blocks with their instructions, terminator and successors, simplified for gfx900; what is left, in order.
    fn simplified(blocks: &[(&[Inst], Terminator, &[u32])]) -> Vec<(Vec<Opcode>, Terminator)> {
        let mut f = Function::new("f", CallConv::Kernel, Func::new(0));
        for (insts, term, succs) in blocks {
            let block = f.add_block();
            f.blocks[block].insts = insts.to_vec();
            f.blocks[block].term = *term;
            let edge = |&b: &u32| Edge { block: Block::from_u32(b), args: Default::default() };
            f.blocks[block].wave_succs = succs.iter().map(edge).collect();
        }
        let target = Target::new(Target::processor_by_name("gfx900").expect("gfx900 is in the table"));
        simplify(&mut f, &target);
        f.layout
            .iter()
            .map(|&b| (f.blocks[b].insts.iter().map(|i| i.op).collect(), f.blocks[b].term))
            .collect()
    }

    const EXECZ: Terminator = Terminator::Uniform(Condition::Execz);

    #[test]
    fn exec_is_not_restored_for_the_end() {
        let left = simplified(&[
            (&[save(), narrow(Opcode::S_AND_B64)], EXECZ, &[2, 1]),
            (&[vmov(), vmov(), vmov(), vmov(), vmov()], Terminator::Jump, &[2]),
            (&[restore()], Terminator::EndProgram, &[]),
        ]);
        assert_eq!(left.len(), 3);
        assert!(left[2].0.is_empty());
    }

    #[test]
    fn the_other_lanes_are_not_made_active_for_nothing() {
        let left = simplified(&[
            (&[save(), narrow(Opcode::S_AND_B64)], EXECZ, &[2, 1]),
            (&[vmov(), vmov(), vmov(), vmov(), vmov()], Terminator::Jump, &[2]),
            (&[Inst::new(Opcode::S_ANDN2_B64, [EXEC, pair(2), pair(4)])], EXECZ, &[4, 3]),
            (&[], Terminator::Jump, &[4]),
            (&[restore(), vmov()], Terminator::EndProgram, &[]),
        ]);
        assert_eq!(left.len(), 3);
        assert_eq!(left[2].0, [Opcode::S_MOV_B64, Opcode::V_MOV_B32]);
    }

    #[test]
    fn a_restore_that_somebody_needs_stays() {
        let left = simplified(&[
            (&[save(), narrow(Opcode::S_AND_B64)], EXECZ, &[2, 1]),
            (&[vmov(), vmov(), vmov(), vmov(), vmov()], Terminator::Jump, &[2]),
            (&[restore(), vmov()], Terminator::EndProgram, &[]),
        ]);
        assert_eq!(left[0].0, [Opcode::S_AND_SAVEEXEC_B64]);
        assert_eq!(left[2].0, [Opcode::S_MOV_B64, Opcode::V_MOV_B32]);
    }

    #[test]
    fn moves_of_the_next_iteration_come_before_the_branch() {
        let left = simplified(&[
            (&[], Terminator::Jump, &[1]),
            (&[vmov(), narrow(Opcode::S_ANDN2_B64)], EXECZ, &[3, 2]),
            (&[vmov()], Terminator::Jump, &[1]),
            (&[restore(), vmov()], Terminator::EndProgram, &[]),
        ]);
        let body = left.iter().find(|b| b.1 == EXECZ).expect("the loop is left");
        assert_eq!(body.0, [Opcode::V_MOV_B32, Opcode::S_ANDN2_B64, Opcode::V_MOV_B32]);
        assert_eq!(left.len(), 3);
    }

    fn compare(mask: u16) -> Inst {
        Inst::new(Opcode::V_CMP_EQ_U32, [pair(mask), Operand::Imm(0), Operand::preg(PReg::vgpr(0), 1)])
    }

    /// `s[8:9]` is compared in a block that is skipped without lanes, and `behind` follows. Blocks that are left.
    fn around_a_comparison(in_front: &[Inst], behind: Inst) -> usize {
        let first = [in_front, &[narrow(Opcode::S_AND_B64)]].concat();
        let left = simplified(&[
            (&first, EXECZ, &[2, 1]),
            (&[compare(8)], Terminator::Jump, &[2]),
            (&[behind, restore(), vmov()], Terminator::EndProgram, &[]),
        ]);
        left.len()
    }

    #[test]
    fn masks_are_made_without_lanes_if_they_were_empty_or_nobody_wants_them() {
        let reads = Inst::new(Opcode::S_NOT_B64, [pair(10), pair(8)]);
        let zero = Inst::new(Opcode::S_MOV_B64, [pair(8), Operand::Imm(0)]);
        let ones = Inst::new(Opcode::S_MOV_B64, [pair(8), Operand::Imm(-1)]);
        let half = Inst::new(Opcode::S_MOV_B32, [Operand::preg(PReg::sgpr(9), 1), Operand::Imm(1)]);
        assert_eq!(around_a_comparison(&[], reads.clone()), 3);
        assert_eq!(around_a_comparison(std::slice::from_ref(&ones), reads.clone()), 3);
        assert_eq!(around_a_comparison(&[zero.clone(), half.clone()], reads.clone()), 3);
        assert_eq!(around_a_comparison(&[], half), 1);
        assert_eq!(around_a_comparison(&[zero], reads), 1);
        assert_eq!(around_a_comparison(&[], ones), 1);
    }

    #[test]
    fn conditions_one_after_the_other_share_a_branch() {
        let arm = [vmov(), vmov(), vmov(), vmov(), vmov()];
        let and = Inst::new(Opcode::S_AND_B64, [EXEC, EXEC, pair(8)]);
        let end: (&[Inst], _, &[u32]) = (&[restore(), vmov()], Terminator::EndProgram, &[]);
        let left = simplified(&[
            (&[save(), narrow(Opcode::S_AND_B64)], EXECZ, &[3, 1]),
            (&[compare(8), and.clone()], EXECZ, &[3, 2]),
            (&arm, Terminator::Jump, &[3]),
            end,
        ]);
        assert_eq!(left.len(), 3);
        // Lanes that end in the second block go on to the third one, which may do something without them.
        let left = simplified(&[
            (&[save(), narrow(Opcode::S_AND_B64)], EXECZ, &[3, 1]),
            (&[compare(8), and], Terminator::Jump, &[2]),
            (
                &[
                    &[Inst::new(Opcode::S_MOV_B32, [Operand::preg(PReg::sgpr(12), 1), Operand::Imm(1)])],
                    &arm[..],
                ]
                .concat(),
                Terminator::Jump,
                &[3],
            ),
            end,
        ]);
        assert_eq!(left[0].0, [Opcode::S_AND_SAVEEXEC_B64]);
    }

    #[test]
    fn an_empty_first_side_leaves_one_saveexec() {
        let left = simplified(&[
            (&[vmov(), save(), narrow(Opcode::S_ANDN2_B64)], Terminator::Jump, &[1]),
            (&[Inst::new(Opcode::S_AND_B64, [EXEC, pair(2), pair(4)])], EXECZ, &[3, 2]),
            (&[vmov(), vmov(), vmov(), vmov(), vmov()], Terminator::Jump, &[3]),
            (&[restore(), vmov()], Terminator::EndProgram, &[]),
        ]);
        assert_eq!(left[0].0, [Opcode::V_MOV_B32, Opcode::S_AND_SAVEEXEC_B64]);
    }

    /// What is one register for 32 lanes is half of EXEC for 64.
    #[test]
    fn exec_of_32_lanes_is_one_register() {
        static PROCESSOR: Processor = Processor {
            name: "waves of 32 lanes",
            aliases: &[],
            generation: Generation::Gfx10,
            elf_mach: 0,
            generic_version: 0,
            features: Features::WAVEFRONTSIZE32,
            apu: false,
        };
        let (wave, exec) = (WaveSize::W32, Operand::exec(WaveSize::W32));
        let one = |n| Operand::preg(PReg::sgpr(n), 1);
        let copy = Inst::new(MaskOp::Mov.opcode(wave), [one(3), exec]);
        let narrow = Inst::new(MaskOp::And.opcode(wave), [exec, exec, one(4)]);
        let fused = fused_save(&copy, &narrow, wave, &Target::new(&PROCESSOR));
        assert_eq!(fused, Some(Inst::new(Opcode::S_AND_SAVEEXEC_B32, [one(3), one(4)])));
        // GFX9 has no such instruction.
        let gfx9 = Target::new(Target::processor_by_name("gfx900").unwrap());
        assert_eq!(fused_save(&copy, &narrow, wave, &gfx9), None);
        let set = Inst::new(Opcode::S_MOV_B32, [exec, one(3)]);
        assert!(first_of(&set, wave) == First::Sets && only_sets_exec(&set, wave));
        assert!(first_of(&set, WaveSize::W64) == First::Reads && !only_sets_exec(&set, WaveSize::W64));
    }
}
