//! Pairs of values of 16 bits: what they are halves of, and which instructions do the same to both.

use mir::ir::legal::{PACKED, PACKED_INTRINSICS};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Two values of 16 bits, the lower half first.
pub(super) type Pair = [Value; 2];

/// Whether the instruction converts between the two types of 16 bits.
pub(super) fn is_same_bits(func: &Function, inst: Inst) -> bool {
    matches!(func.insts[inst].kind, InstKind::Cast { op: CastOp::BitCast, arg } if is_half(func.ty(arg)))
        && is_half(func.insts[inst].ty)
}

pub(super) fn is_half(ty: Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Int(16) | Scalar::Float(Float::Half)))
}

/// The value whose bits `value` has.
pub(super) fn strip(func: &Function, mut value: Value) -> Value {
    while let Some(inst) = func.def_inst(value)
        && is_same_bits(func, inst)
        && let InstKind::Cast { arg, .. } = func.insts[inst].kind
    {
        value = arg;
    }
    value
}

/// The two halves that an instruction puts into a dword.
pub(super) fn root(func: &Function, inst: Inst) -> Option<[Value; 2]> {
    let data = &func.insts[inst];
    let InstKind::Binary { op: BinaryOp::Or, args } = data.kind else { return None };
    if data.ty != Type::I32 {
        return None;
    }
    let kind = |v| func.def_inst(v).map(|i| &func.insts[i].kind);
    let extended = |v: Value| match kind(v)? {
        &InstKind::Cast { op: CastOp::ZExt, arg } if func.ty(arg).is_int(16) => Some(strip(func, arg)),
        _ => None,
    };
    let shifted = |v: Value| match kind(v)? {
        &InstKind::Binary { op: BinaryOp::Shl, args: [x, n] } if func.as_int(n) == Some(16) => extended(x),
        _ => None,
    };
    let of = |lo: Value, hi: Value| Some([extended(lo)?, shifted(hi)?]);
    of(args[0], args[1]).or_else(|| of(args[1], args[0]))
}

/// Whether there is a packed form of `kind`.
pub(super) fn is_listed(kind: &InstKind) -> bool {
    match kind {
        InstKind::Unary { op: UnaryOp::FNeg, .. } => true,
        InstKind::Binary { op, .. } => PACKED.contains(op),
        InstKind::Intrinsic { intrinsic, .. } => PACKED_INTRINSICS.contains(intrinsic),
        _ => false,
    }
}

/// The results of two instructions if both do the same to 16 bits, the second without the first.
pub(super) fn neighbours(func: &Function, lo: Inst, hi: Inst) -> Option<Pair> {
    let [a, b] = [&func.insts[lo], &func.insts[hi]];
    let pair = [a.result?, b.result?];
    let mut in_sequence = false;
    b.kind.for_each_value(|v| in_sequence |= v == pair[0]);
    let alike = a.ty == b.ty && is_half(a.ty) && is_listed(&a.kind) && is_same_operation(&a.kind, &b.kind);
    (alike && !in_sequence).then_some(pair)
}

pub(super) fn is_same_operation(a: &InstKind, b: &InstKind) -> bool {
    match (a, b) {
        (InstKind::Unary { op: a, .. }, InstKind::Unary { op: b, .. }) => a == b,
        (InstKind::Binary { op: a, .. }, InstKind::Binary { op: b, .. }) => a == b,
        (InstKind::Intrinsic { intrinsic: a, .. }, InstKind::Intrinsic { intrinsic: b, .. }) => a == b,
        _ => false,
    }
}

/// The neighbours in a block that do the same, and whose results no other such pair and no dword has: the lower one of each.
pub(super) fn tops(func: &Function, insts: &[Inst]) -> FxHashMap<Inst, Inst> {
    let mut pairs: FxHashSet<Pair> = FxHashSet::default();
    let mut members: FxHashSet<Value> = FxHashSet::default();
    let mut out = FxHashMap::default();
    for (n, &inst) in insts.iter().enumerate().rev() {
        if let Some(pair) = root(func, inst) {
            pairs.insert(pair);
            members.extend(pair);
        }
        let Some(&before) = n.checked_sub(1).and_then(|n| insts.get(n)) else { break };
        let Some(pair) = neighbours(func, before, inst) else { continue };
        if !pairs.contains(&pair) {
            // Half of another pair has its partner elsewhere.
            if pair.iter().any(|member| members.contains(member)) {
                continue;
            }
            out.insert(before, inst);
        }
        let [x, y] = [before, inst].map(|i| operands(func, &func.insts[i].kind));
        for (k, &x) in x.iter().enumerate() {
            // One that commutes may have its operands the other way round.
            for (_, &y) in y.iter().enumerate().filter(|(m, _)| k == *m || k + m == 1) {
                pairs.insert([x, y]);
            }
        }
        members.extend(x.into_iter().chain(y));
    }
    out
}

/// The dword of which a value of 16 bits is a half, and whether the upper one.
pub(super) fn half_of(func: &Function, value: Value) -> Option<(Value, bool)> {
    let kind = |v| func.def_inst(v).map(|i| &func.insts[i].kind);
    let Some(&InstKind::Cast { op: CastOp::Trunc, arg }) = kind(value) else { return None };
    if func.ty(arg) != Type::I32 {
        return None;
    }
    match kind(arg) {
        Some(&InstKind::Binary { op: BinaryOp::LShr | BinaryOp::AShr, args: [x, n] })
            if func.as_int(n) == Some(16) =>
        {
            Some((x, true))
        }
        Some(&InstKind::Binary { op: BinaryOp::And, args: [x, mask] })
            if func.as_int(mask).is_some_and(|m| m & 0xffff == 0xffff) =>
        {
            Some((x, false))
        }
        _ => Some((arg, false)),
    }
}

/// The dword whose halves a pair has the other way round.
pub(super) fn swapped(func: &Function, pair: Pair) -> Option<Value> {
    match pair.map(|v| half_of(func, v)) {
        [Some((a, true)), Some((b, false))] if a == b => Some(a),
        _ => None,
    }
}

/// How well two values pack: both halves of a dword in order, or the same operation.
pub(super) fn fits(func: &Function, x: Value, y: Value) -> u32 {
    match (half_of(func, x), half_of(func, y)) {
        (Some((a, false)), Some((b, true))) if a == b => 3,
        (Some((a, _)), Some((b, _))) if a == b => 2,
        (None, None) => {
            let kind = |v| func.def_inst(v).map(|i| std::mem::discriminant(&func.insts[i].kind));
            u32::from(kind(x) == kind(y))
        }
        _ => 0,
    }
}

pub(super) fn operands(func: &Function, kind: &InstKind) -> Vec<Value> {
    let mut out = Vec::new();
    kind.for_each_value(|v| out.push(strip(func, v)));
    out
}

/// The bits of a constant of 16 bits.
pub(super) fn bits(func: &Function, value: Value) -> Option<u32> {
    match func.as_const(value)? {
        Const::Int(bits) | Const::Float(bits) => Some((*bits & 0xffff) as u32),
        Const::Zero | Const::Undef | Const::Poison => Some(0),
        _ => None,
    }
}
