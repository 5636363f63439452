//! Choices between a value and the same with something added: `x - (c ? 0 : m)` becomes `c ? x : x - m`.
//!
//! Front ends write the former for `if (!c) x -= m`. A 0 that is chosen where the condition holds takes an instruction of 8 bytes, while two registers take one
//! of 4; the difference need not wait for the condition; and where the condition says whether x is below m, the difference's borrow is the answer: it is put behind
//! that comparison, so that selection finds it (`isel/src/select/borrows.rs`).
//!
//! Done for integers of 32 and 64 bits where x has other users: it is in a register then, and no sum of three operands is taken apart. Cost: linear.

use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::FxHashMap;

/// Unfolds the choices of `func`, which is legal IR.
pub fn unfold(func: &mut Function) {
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.values.len());
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            func.insts[inst].kind.for_each_value(|value| uses[value] += 1);
        }
    }
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        // New instructions, by the one that they stand behind.
        let mut behind: FxHashMap<Inst, Inst> = FxHashMap::default();
        for k in 0..func.blocks[block].insts.len() {
            mir::interrupt::checkpoint();
            let inst = func.blocks[block].insts[k];
            let Some((cond, args, op)) = choice(func, &uses, inst) else { continue };
            let ty = func.insts[inst].ty;
            let place = comparison(func, cond, args, block, k)
                .or_else(|| func.blocks[block].insts.get(k.checked_sub(1)?).copied());
            let Some(place) = place.filter(|place| !behind.contains_key(place)) else { continue };
            let sum = func.make_inst(InstKind::Binary { op, args }, ty, InstFlags::empty());
            func.locs[sum] = func.locs[inst];
            let Some(sum_value) = func.insts[sum].result else { continue };
            behind.insert(place, sum);
            let data = &mut func.insts[inst];
            data.kind = InstKind::Select { cond, if_true: args[0], if_false: sum_value };
            data.flags = InstFlags::empty();
        }
        if !behind.is_empty() {
            let old = std::mem::take(&mut func.blocks[block].insts);
            func.blocks[block].insts =
                old.into_iter().flat_map(|inst| [inst].into_iter().chain(behind.remove(&inst))).collect();
        }
    }
}

/// `x op (cond ? 0 : more)` as (cond, [x, more], op).
fn choice(
    func: &Function,
    uses: &SecondaryMap<Value, u32>,
    inst: Inst,
) -> Option<(Value, [Value; 2], BinaryOp)> {
    let data = &func.insts[inst];
    let InstKind::Binary { op, args: [a, b] } = data.kind else { return None };
    if !matches!(data.ty, Type::I32 | Type::I64) {
        return None;
    }
    let sides = match op {
        BinaryOp::Sub => &[(a, b)][..],
        BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor => &[(a, b), (b, a)],
        _ => return None,
    };
    sides.iter().find_map(|&(x, chosen)| {
        let InstKind::Select { cond, if_true, if_false } = func.insts[func.def_inst(chosen)?].kind else {
            return None;
        };
        let fits = uses[chosen] == 1
            && uses[x] > 1
            && func.as_int(if_true) == Some(0)
            && [x, if_false, cond].iter().all(|&value| func.as_const(value).is_none());
        fits.then_some((cond, [x, if_false], op))
    })
}

/// The comparison in front of instruction `k` of `block` that the borrow of `a - b` answers and that `cond` is, or is made of.
fn comparison(func: &Function, cond: Value, [a, b]: [Value; 2], block: Block, k: usize) -> Option<Inst> {
    let inst = func.def_inst(cond)?;
    let parts = match func.insts[inst].kind {
        InstKind::Binary { op: BinaryOp::And | BinaryOp::Or, args: [x, y] } => [Some(x), Some(y)],
        _ => [Some(cond), None],
    };
    let below = |inst: Inst| match func.insts[inst].kind {
        InstKind::Icmp { predicate: IntPredicate::Ult, args } => args == [a, b],
        InstKind::Icmp { predicate: IntPredicate::Ugt, args } => args == [b, a],
        _ => false,
    };
    let found =
        parts.into_iter().flatten().find_map(|part| func.def_inst(part).filter(|&inst| below(inst)))?;
    // What is near is in this block.
    func.blocks[block].insts[k.saturating_sub(NEAR)..k].contains(&found).then_some(found)
}

/// Instructions between a comparison and the sum at most.
const NEAR: usize = 16;
