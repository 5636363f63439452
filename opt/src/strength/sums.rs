//! Multiples of one step, added to one base, are made from each other.
//!
//! `y + 2 * s` behind `y + s` is that and one step more: the product is not made, and where the first sum has had its last user, the second takes
//! its register, which may be part of an address already.
//!
//! Nothing overflows that did not before: the earlier sum lies between the base and the later one, and it and its product promise nothing
//! that the later one and its product do not. A sum is made from one whose block dominates its own in the same loop.

use super::MOST;
use crate::bits::sext64;
use crate::memory::Flow;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// What a sum promises.
const WRAPS: InstFlags = InstFlags::NSW.union(InstFlags::NUW);

/// `base + number * step`.
struct Sum {
    number: i64,
    value: Value,
    block: u32,
    /// What the sum or the product promises.
    flags: InstFlags,
}

/// Reduces sums of `func`.
pub(super) fn reduce(func: &mut Function) {
    let steps = steps(func);
    if steps.is_empty() {
        return;
    }
    let flow = Flow::new(func);
    if !flow.loops.is_reducible() {
        return;
    }
    let mut sums: FxHashMap<(Value, Value), Vec<Sum>> = FxHashMap::default();
    for &block in flow.order.blocks() {
        for i in 0..func.blocks[Block::from_u32(block)].insts.len() {
            let inst = func.blocks[Block::from_u32(block)].insts[i];
            let Some((args, value)) = sum(func, inst) else { continue };
            for [base, addend] in [args, [args[1], args[0]]] {
                let Some((step, number, flags)) = multiple(func, addend, &steps) else { continue };
                if step == base {
                    continue;
                }
                let both = func.insts[inst].flags & flags & WRAPS;
                let any = (func.insts[inst].flags | flags) & WRAPS;
                let known = sums.entry((base, step)).or_default();
                let usable = |earlier: &&Sum| {
                    (earlier.number - number).abs() == 1
                        && earlier.number.signum() == number.signum()
                        && earlier.number.abs() < number.abs()
                        && both.contains(earlier.flags)
                        && flow.dominators.dominates(earlier.block, block)
                        && flow.loops.innermost(earlier.block) == flow.loops.innermost(block)
                };
                let found = known.iter().rev().take(MOST).find(usable).map(|earlier| earlier.value);
                known.push(Sum { number, value, block, flags: any });
                if let Some(earlier) = found {
                    let op = if number > 0 { BinaryOp::Add } else { BinaryOp::Sub };
                    let data = &mut func.insts[inst];
                    data.kind = InstKind::Binary { op, args: [earlier, step] };
                    data.flags = InstFlags::empty();
                    break;
                }
            }
        }
    }
}

/// The operands and the result of a sum of two variables.
fn sum(func: &Function, inst: Inst) -> Option<([Value; 2], Value)> {
    let data = &func.insts[inst];
    let InstKind::Binary { op: BinaryOp::Add, args } = data.kind else { return None };
    let value = data.result.filter(|_| data.ty == Type::I32)?;
    args.iter().all(|&arg| func.as_int(arg).is_none()).then_some((args, value))
}

/// The variable that `value` is a constant multiple of, the multiple, and what the product promises.
pub(super) fn product(func: &Function, value: Value) -> Option<(Value, i64, InstFlags)> {
    let data = &func.insts[func.def_inst(value)?];
    let InstKind::Binary { op, args: [step, factor] } = data.kind else { return None };
    let constant = func.as_int(factor).filter(|_| func.as_int(step).is_none())?;
    let number = match op {
        BinaryOp::Mul => sext64(constant, 32),
        BinaryOp::Shl if constant < 31 => 1 << constant,
        _ => return None,
    };
    // As an unsigned number a negative one is large, and no earlier multiple lies below it.
    (number > 0 || !data.flags.contains(InstFlags::NUW)).then_some((step, number, data.flags))
}

/// What `value` is a multiple of, as [`product`] says, where it is one of `steps` at least once.
fn multiple(func: &Function, value: Value, steps: &FxHashSet<Value>) -> Option<(Value, i64, InstFlags)> {
    product(func, value).or_else(|| steps.contains(&value).then_some((value, 1, InstFlags::empty())))
}

/// Variables whose multiples are added to others.
fn steps(func: &Function) -> FxHashSet<Value> {
    let mut steps = FxHashSet::default();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let Some((args, _)) = sum(func, inst) else { continue };
            steps.extend(args.into_iter().filter_map(|arg| product(func, arg)).map(|(step, ..)| step));
        }
    }
    steps
}
