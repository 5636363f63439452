//! The loop that does several iterations at a time.

use super::copies::Copies;
use super::{Candidate, TIMES};
use crate::append::append_value;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Puts the loop in front; the new blocks in their order. Values in `escaping` become parameters of the exit, noted in `replaced`.
pub(super) fn widen(
    func: &mut Function,
    candidate: &Candidate,
    escaping: &[Value],
    replaced: &mut SecondaryMap<Value, Option<Value>>,
) -> [Block; 3] {
    let block = candidate.block;
    let [enter, wide, rest] = [(); 3].map(|()| func.blocks.push(BlockData::default()));
    let params = func.blocks[block].params.clone();
    let like = func.blocks[block].insts[0];
    let at_wide: SmallVec<[Value; 4]> =
        params.iter().map(|&param| func.add_block_param(wide, func.ty(param))).collect();
    // One edge leads here, so that it is known where the counter starts. Other constants are best made once for both ways on.
    let mut at_enter: SmallVec<[Value; 4]> = SmallVec::new();
    for (k, &param) in params.iter().enumerate() {
        let new = if k == candidate.counter { param } else { func.add_block_param(enter, func.ty(param)) };
        at_enter.push(new);
    }
    if let Some(last) = func.terminator(candidate.entering) {
        for call in func.insts[last].kind.targets_mut() {
            if call.block == block {
                call.block = enter;
                at_enter[candidate.counter] = call.args.remove(candidate.counter);
            }
        }
    }
    // The guard.
    let mut insts = Vec::new();
    let first = at_enter[candidate.counter];
    let mut enough = is_enough(func, candidate, first, like, &mut insts);
    if candidate.predicate != IntPredicate::Ne {
        let args = [first, candidate.bound];
        let below = InstKind::Icmp { predicate: candidate.predicate, args };
        let below = append_value(func, like, below, Type::I1, &mut insts);
        let both = InstKind::Binary { op: BinaryOp::And, args: [below, enough] };
        enough = append_value(func, like, both, Type::I1, &mut insts);
    }
    let calls = [BlockCall { block: wide, args: at_enter.clone() }, BlockCall { block, args: at_enter }];
    func.blocks[enter].insts = insts;
    branch(func, enter, like, enough, calls);
    // The body, several times.
    let mut copies = Copies::new(func, block);
    let mut args = at_wide;
    let mut values = FxHashMap::default();
    for n in 0..TIMES {
        values = copies.copy(n, &params, &args);
        args = copies.back(&values);
    }
    let mut out = copies.out;
    let counter = args[candidate.counter];
    let enough = is_enough(func, candidate, counter, like, &mut out);
    func.blocks[wide].insts = out;
    branch(func, wide, like, enough, [BlockCall { block: wide, args }, BlockCall::to(rest)]);
    // Behind it the loop's own branch, with the values of the last copy. Its condition is computed there alone.
    if let Some(last) = func.terminator(block) {
        let moved = |value: &mut Value| *value = values.get(value).copied().unwrap_or(*value);
        let mut kind = func.insts[last].kind.clone();
        if let InstKind::Branch { cond, .. } = &mut kind
            && let Some(inst) = func.def_inst(*cond)
        {
            let InstData { kind: mut condition, ty, flags, .. } = func.insts[inst].clone();
            condition.for_each_value_mut(moved);
            let copied = func.make_inst(condition, ty, flags);
            func.locs[copied] = func.locs[inst];
            func.blocks[rest].insts.push(copied);
            *cond = func.insts[copied].result.unwrap_or(*cond);
        }
        kind.for_each_value_mut(moved);
        let [own, copied] = [last, func.make_inst(kind, Type::Void, InstFlags::empty())];
        func.locs[copied] = func.locs[own];
        func.blocks[rest].insts.push(copied);
        for &value in escaping {
            let Some(exit) = func.successors(block).find(|&next| next != block) else { continue };
            replaced[value] = Some(func.add_block_param(exit, func.ty(value)));
            let copy = values.get(&value).copied().unwrap_or(value);
            for (inst, arg) in [(own, value), (copied, copy)] {
                for call in func.insts[inst].kind.targets_mut() {
                    if call.block == exit {
                        call.args.push(arg);
                    }
                }
            }
        }
    }
    func.blocks[block].unrolling = Unrolling::Never;
    func.blocks[wide].unrolling = Unrolling::Never;
    [enter, wide, rest]
}

/// Ends `block` by a branch.
fn branch(func: &mut Function, block: Block, like: Inst, cond: Value, [if_true, if_false]: [BlockCall; 2]) {
    let inst = func.make_inst(InstKind::Branch { cond, if_true, if_false }, Type::Void, InstFlags::empty());
    func.locs[inst] = func.locs[like];
    func.blocks[block].insts.push(inst);
}

/// Whether as many iterations as are done at a time are left where the counter is `now`, if it is not past the bound.
fn is_enough(
    func: &mut Function,
    candidate: &Candidate,
    now: Value,
    like: Inst,
    out: &mut Vec<Inst>,
) -> Value {
    let ty = func.ty(now);
    let between = if candidate.step > 0 { [candidate.bound, now] } else { [now, candidate.bound] };
    let between = match func.as_int(between[1]) {
        Some(0) => between[0],
        _ => append_value(func, like, InstKind::Binary { op: BinaryOp::Sub, args: between }, ty, out),
    };
    let passed = u64::from(TIMES - 1) * candidate.step.unsigned_abs();
    // With `!=` all numbers of iterations are there; else more than half of them count as too few.
    let predicate =
        if candidate.predicate == IntPredicate::Ne { IntPredicate::Ugt } else { IntPredicate::Sgt };
    let args = [between, func.int(ty, passed)];
    append_value(func, like, InstKind::Icmp { predicate, args }, Type::I1, out)
}
