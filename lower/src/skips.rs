//! Short code that a branch goes around where no lane is left.
//!
//! Without lanes vector instructions change nothing, and what computes masks gives none: a comparison writes 0, and so do EXEC and a
//! condition. So such code may as well run without lanes if nobody wants what was in those masks, or if that was 0. Then it stands
//! in front of the branch: an `if` around an instruction or two needs no branch; a loop ends in one `s_cbranch_execnz`; where conditions are
//! asked for one after the other (`&&`, a `switch`), the branches of all but the last one go.
//!
//! Sources: ISA manuals, VOPC ("inactive lanes: 0"). Cost: linear; the search for readers of a mask is bounded.

use crate::narrowing::{self, meet, registers};
use cranelift_entity::SecondaryMap;
use mir::isa::{MaskOp, Unit};
use mir::machine::{Block, Condition, Function, Inst, Operand, PReg, Terminator};
use smallvec::SmallVec;

/// Instructions that are cheaper to run without lanes than to branch around (a taken branch costs about 16 cycles, a
/// vector instruction 4; the branch saved on the other path counts too).
const CHEAP_FORWARD: usize = 4;
/// The same where a loop saves a branch in each iteration.
const CHEAP_LOOP: usize = 16;
/// Instructions that are looked at for a reader of a mask.
const REACH: usize = 96;

/// Moves short blocks that a branch skips where no lane is left in front of that branch.
pub(crate) fn hoist_over_skips(f: &mut Function) {
    let preds = crate::exec::count_preds(f);
    let mut place: SecondaryMap<Block, u32> = SecondaryMap::new();
    for (i, &block) in f.layout.iter().enumerate() {
        place[block] = i as u32;
    }
    for i in 0..f.layout.len() {
        let block = f.layout[i];
        // Each time a block gets empty.
        while let Some((index, next, skip)) = skipped(f, block, &preds, &place) {
            let body = f.blocks[block].wave_succs[index].block;
            let insts = std::mem::take(&mut f.blocks[body].insts);
            let data = &mut f.blocks[block];
            data.insts.extend(insts);
            data.wave_succs[index].block = next;
            if next == skip {
                data.wave_succs.truncate(1);
                data.wave_succs[0].block = next;
                data.term = Terminator::Jump;
            }
            // Without predecessors now; dropped with the other empty blocks.
            f.blocks[body].wave_succs.truncate(1);
            f.blocks[body].term = Terminator::Jump;
        }
    }
}

/// Where `block` branches if no lane is left: the index of its other edge, whose block may run in front of that branch, what
/// follows it then, and where the branch goes.
fn skipped(
    f: &Function,
    block: Block,
    preds: &SecondaryMap<Block, u32>,
    place: &SecondaryMap<Block, u32>,
) -> Option<(usize, Block, Block)> {
    let data = &f.blocks[block];
    let branch = |block: Block| {
        let data = &f.blocks[block];
        match (data.term, &data.wave_succs[..]) {
            (Terminator::Uniform(Condition::Execz), [skip, _]) => Some((1, skip.block)),
            (Terminator::Uniform(Condition::Execnz), [_, skip]) => Some((0, skip.block)),
            _ => None,
        }
    };
    let (index, skip) = branch(block)?;
    let body = data.wave_succs[index].block;
    if preds[body] != 1 || body == block {
        return None;
    }
    let inner = &f.blocks[body];
    let next = match (inner.term, &inner.wave_succs[..]) {
        (Terminator::Jump, [next]) => next.block,
        // Both branches go to one place.
        _ => branch(body)
            .filter(|&(_, other)| other == skip)
            .map(|(index, _)| inner.wave_succs[index].block)?,
    };
    let limit = if place[next] <= place[block] { CHEAP_LOOP } else { CHEAP_FORWARD };
    if inner.insts.len() > limit {
        return None;
    }
    // Else a branch stays, which lanes that end in front of it would take, and a copy of EXEC is parted from what narrows it.
    let saves_branch = inner.term != Terminator::Jump || next == skip;
    let may_run = inner.insts.iter().all(|inst| match without_lanes(inst, f) {
        Some(effect) if !saves_branch && (effect.narrows || effect.zero.is_some()) => false,
        Some(Without { zero: Some(mask), .. }) => is_zero(&data.insts, mask, f) || is_dead(f, skip, mask),
        Some(_) => true,
        None => false,
    });
    may_run.then_some((index, next, skip))
}

/// What an instruction does where no lane is active.
#[derive(Clone, Copy, Default)]
struct Without {
    /// It narrows EXEC, which stays empty.
    narrows: bool,
    /// The mask that becomes 0.
    zero: Option<Operand>,
}

fn without_lanes(inst: &Inst, f: &Function) -> Option<Without> {
    if is_nothing_without_lanes(inst) {
        return Some(Without::default());
    }
    let exec = Operand::exec(f.wave);
    let is = |op: MaskOp| inst.op == op.opcode(f.wave);
    let zero =
        |mask: Operand| Without { narrows: mask == exec, zero: Some(mask).filter(|&mask| mask != exec) };
    match inst.operands[..] {
        [mask, _, _] if narrowing::narrowing_forms(inst.op).is_some() => Some(zero(mask)),
        [into, a, b] if is(MaskOp::And) && (a == exec || b == exec) => Some(zero(into)),
        [into, a, _] if is(MaskOp::AndN2) && a == exec => Some(zero(into)),
        [into, a, b]
            if is(MaskOp::Or) && into != exec && ([a, b] == [into, exec] || [a, b] == [exec, into]) =>
        {
            Some(Without::default())
        }
        [into, from] if is(MaskOp::Mov) && into != exec && (from == exec || from == Operand::Imm(0)) => {
            Some(zero(into))
        }
        _ => None,
    }
}

/// Whether `inst` changes nothing where no lane is active: a vector instruction that writes VGPRs alone.
fn is_nothing_without_lanes(inst: &Inst) -> bool {
    let mut vgprs_only = true;
    inst.for_each_access(|access| vgprs_only &= !access.write || access.first.is_vgpr());
    vgprs_only && inst.op.works_by_lane()
}

/// Whether `insts` leave 0 in `mask`.
fn is_zero(insts: &[Inst], mask: Operand, f: &Function) -> bool {
    let wanted = registers(mask);
    let writes = |inst: &&Inst| {
        let mut writes = inst.leaves() || inst.facts().unit == Unit::Pseudo && !inst.op.is_mark();
        inst.for_each_access(|access| writes |= access.write && meet(&access.range(), &wanted));
        writes
    };
    let last = insts.iter().rev().take(REACH).find(writes);
    let zero = [mask, Operand::Imm(0)];
    last.is_some_and(|inst| inst.op == MaskOp::Mov.opcode(f.wave) && inst.operands[..] == zero)
}

/// Whether nobody reads `mask` from the start of `block` on, as far as that is seen soon.
fn is_dead(f: &Function, block: Block, mask: Operand) -> bool {
    let wanted = registers(mask);
    let is_vcc = meet(&wanted, &(usize::from(PReg::VCC_LO.0)..usize::from(PReg::VCC_HI.0) + 1));
    let (mut left, mut todo, mut seen) = (REACH, vec![block], SmallVec::<[Block; 8]>::new());
    while let Some(block) = todo.pop() {
        if seen.contains(&block) {
            continue;
        }
        seen.push(block);
        let data = &f.blocks[block];
        let mut ends = false;
        for inst in &data.insts {
            let unknown = inst.leaves() || inst.facts().unit == Unit::Pseudo && !inst.op.is_mark();
            if left == 0 || unknown {
                return false;
            }
            left -= 1;
            let mut reads = false;
            inst.for_each_access(|access| {
                let touched = access.range();
                reads |= access.read && (meet(&touched, &wanted) || is_vcc && access.first == PReg::VCCZ);
                ends |= access.write && touched.start <= wanted.start && wanted.end <= touched.end;
            });
            if reads {
                return false;
            }
            if ends {
                break;
            }
        }
        match data.term {
            _ if ends => {}
            Terminator::EndProgram | Terminator::Unreachable => {}
            Terminator::Uniform(Condition::Vccz | Condition::Vccnz) if is_vcc => return false,
            Terminator::Jump | Terminator::Uniform(_) => {
                todo.extend(data.wave_succs.iter().map(|edge| edge.block));
            }
            Terminator::Return | Terminator::Divergent(_) => return false,
        }
    }
    true
}
