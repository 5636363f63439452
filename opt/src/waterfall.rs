//! Loops over the values of operands that the hardware takes from SGPRs.
//!
//! Problem: resources, samplers and scalar offsets are uniform in the instruction, but lanes may have
//! different ones. Idea: a loop runs once for each value: the first lane's value is read, the lanes that have
//! the same one make the access and leave.
//!
//! ```text
//! head:  first = readfirstlane(resource)        dword by dword
//!        same = first == resource               two dwords at a time
//!        branch same, access, latch(undef)
//! access: x = buffer.load first, ..
//!        jump latch(x)
//! latch(x): branch same, rest, head
//! ```
//!
//! The access stands inside the loop, so it runs once for each value; the latch collects results. Works on
//! legal IR; cost: linear, and nothing where no operand differs.

use mir::analysis::Uniformity;
use mir::ir::legal::scalar_arguments;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Rewrites every access of `f` with a scalar operand that differs between lanes.
pub fn expand(f: &mut Function, machine: &Target) {
    let concerns = |f: &Function, inst: Inst| match &f.insts[inst].kind {
        InstKind::Intrinsic { intrinsic, .. } => !scalar_arguments(*intrinsic).is_empty(),
        _ => false,
    };
    if !f.layout.iter().any(|&b| f.blocks[b].insts.iter().any(|&i| concerns(f, i))) {
        return;
    }
    let uniformity = Uniformity::compute(f, machine);
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for block in f.layout.clone() {
        let mut rest = std::mem::take(&mut f.blocks[block].insts);
        let mut here = block;
        loop {
            let found = rest
                .iter()
                .position(|&inst| concerns(f, inst) && !differing(f, inst, block, &uniformity).is_empty());
            let Some(at) = found else { break };
            let tail = rest.split_off(at + 1);
            let inst = rest.pop();
            f.blocks[here].insts.extend(rest);
            rest = tail;
            if let Some(inst) = inst {
                here = make_loop(f, inst, here, &differing(f, inst, block, &uniformity), &mut renamed);
            }
        }
        f.blocks[here].insts.extend(rest);
    }
    if renamed.is_empty() {
        return;
    }
    for block in f.layout.clone() {
        for i in 0..f.blocks[block].insts.len() {
            let inst = f.blocks[block].insts[i];
            // The jump to the latch passes the result itself.
            let InstData { kind, .. } = &mut f.insts[inst];
            let is_latch_jump = matches!(kind, InstKind::Jump { target } if target.args.first().is_some_and(|v| renamed.get(v) == f.blocks[target.block].params.first()));
            if !is_latch_jump {
                kind.for_each_value_mut(|v| *v = renamed.get(v).copied().unwrap_or(*v));
            }
        }
    }
}

/// Positions of scalar arguments that differ between lanes.
fn differing(f: &Function, inst: Inst, block: Block, uniformity: &Uniformity) -> SmallVec<[usize; 2]> {
    let InstKind::Intrinsic { intrinsic, args } = &f.insts[inst].kind else { return SmallVec::new() };
    scalar_arguments(*intrinsic)
        .iter()
        .copied()
        .filter(|&i| args.get(i).is_some_and(|&arg| uniformity.is_divergent_at(arg, block)))
        .collect()
}

/// Puts `inst` into a loop behind `block`; the block where code goes on.
fn make_loop(
    f: &mut Function,
    inst: Inst,
    block: Block,
    scalars: &[usize],
    renamed: &mut FxHashMap<Value, Value>,
) -> Block {
    let [head, access, latch, rest] = [(); 4].map(|()| f.add_block());
    let loc = f.locs[inst];
    let to = |block: Block, args: &[Value]| BlockCall { block, args: SmallVec::from_slice(args) };
    let append = |f: &mut Function, block: Block, kind: InstKind, ty: Type| {
        let value = f.append(block, kind, ty);
        if let Some(&last) = f.blocks[block].insts.last() {
            f.locs[last] = loc;
        }
        value
    };
    append(f, block, InstKind::Jump { target: to(head, &[]) }, Type::Void);
    let (Some(args), result, ty) = (
        match &f.insts[inst].kind {
            InstKind::Intrinsic { args, .. } => Some(args.clone()),
            _ => None,
        },
        f.insts[inst].result,
        f.insts[inst].ty,
    ) else {
        return block;
    };
    let mut same: Option<Value> = None;
    let mut replaced = args.clone();
    for &i in scalars {
        let whole = args[i];
        let ty = f.ty(whole);
        let lanes = ty.lanes();
        let is_vector = matches!(ty, Type::Vector(..));
        let mut first = f.constant(ty, Const::Undef);
        let mut pending: Option<[Value; 2]> = None;
        for lane in 0..lanes {
            let index = f.int(Type::I32, u64::from(lane));
            let word = if is_vector {
                append(f, head, InstKind::ExtractElement { vector: whole, index }, Type::I32)
            } else {
                Some(whole)
            };
            let Some(word) = word else { continue };
            let read = InstKind::Intrinsic {
                intrinsic: Intrinsic::Readfirstlane,
                args: std::iter::once(word).collect(),
            };
            let Some(uniform) = append(f, head, read, Type::I32) else { continue };
            first = if is_vector {
                let kind = InstKind::InsertElement { vector: first, element: uniform, index };
                append(f, head, kind, ty).unwrap_or(first)
            } else {
                uniform
            };
            let operands = match pending.take() {
                None if lane + 1 < lanes => {
                    pending = Some([uniform, word]);
                    continue;
                }
                None => Some([uniform, word]),
                Some(low) => {
                    let high = [uniform, word];
                    let [a, b] = [0, 1].map(|side| pair(f, head, [low[side], high[side]]));
                    a.zip(b).map(|(a, b)| [a, b])
                }
            };
            let Some(args) = operands else { continue };
            let compare = InstKind::Icmp { predicate: IntPredicate::Eq, args };
            let equal = append(f, head, compare, Type::I1);
            same = match (same, equal) {
                (Some(a), Some(b)) => {
                    append(f, head, InstKind::Binary { op: BinaryOp::And, args: [a, b] }, Type::I1)
                }
                (a, b) => a.or(b),
            };
        }
        replaced[i] = first;
    }
    let (mut with, mut without): (SmallVec<[Value; 1]>, SmallVec<[Value; 1]>) = Default::default();
    if let Some(result) = result {
        let param = f.add_block_param(latch, ty);
        renamed.insert(result, param);
        with.push(result);
        without.push(f.constant(ty, Const::Undef));
    }
    let cond = same.unwrap_or_else(|| f.int(Type::I1, 1));
    let branch = InstKind::Branch { cond, if_true: to(access, &[]), if_false: to(latch, &without) };
    append(f, head, branch, Type::Void);
    if let InstKind::Intrinsic { args, .. } = &mut f.insts[inst].kind {
        *args = replaced;
    }
    f.blocks[access].insts.push(inst);
    append(f, access, InstKind::Jump { target: to(latch, &with) }, Type::Void);
    let leave = InstKind::Branch { cond, if_true: to(rest, &[]), if_false: to(head, &[]) };
    append(f, latch, leave, Type::Void);
    rest
}

/// Two dwords as one number, the lower one first.
fn pair(f: &mut Function, block: Block, [low, high]: [Value; 2]) -> Option<Value> {
    let ty = Type::Vector(Scalar::Int(32), 2);
    let mut vector = f.constant(ty, Const::Undef);
    for (element, lane) in [(low, 0), (high, 1)] {
        let index = f.int(Type::I32, lane);
        vector = f.append(block, InstKind::InsertElement { vector, element, index }, ty)?;
    }
    f.append(block, InstKind::Cast { op: CastOp::BitCast, arg: vector }, Type::I64)
}
