//! Comparisons and what chooses by them.

use super::*;

/// Whether `predicate` holds between two integers of `bits` bits.
pub fn eval_icmp(predicate: IntPredicate, a: u64, c: u64, bits: u32) -> bool {
    let (sa, sc) = (sext64(a, bits), sext64(c, bits));
    match predicate {
        IntPredicate::Eq => a == c,
        IntPredicate::Ne => a != c,
        IntPredicate::Ugt => a > c,
        IntPredicate::Uge => a >= c,
        IntPredicate::Ult => a < c,
        IntPredicate::Ule => a <= c,
        IntPredicate::Sgt => sa > sc,
        IntPredicate::Sge => sa >= sc,
        IntPredicate::Slt => sa < sc,
        IntPredicate::Sle => sa <= sc,
    }
}

pub(super) fn fold_icmp(
    b: &mut Builder<'_>,
    predicate: &mut IntPredicate,
    args: &mut [Value; 2],
) -> Option<Value> {
    use IntPredicate::*;
    if args.iter().any(|&a| is_poison(b, a)) {
        return Some(b.poison(Type::I1));
    }
    if b.func.as_const(args[0]).is_some() && b.func.as_const(args[1]).is_none() {
        args.swap(0, 1);
        *predicate = predicate.swapped();
    }
    let [x, y] = *args;
    let bits = b.bits(x);
    if bits > 64 {
        return None;
    }
    if x == y {
        return Some(b.bool(matches!(predicate, Eq | Uge | Ule | Sge | Sle)));
    }
    let is_int = matches!(b.ty(x), Type::Scalar(Scalar::Int(_)));
    if let (Some(cx), Some(cy)) = (b.func.as_int(x), b.func.as_int(y)) {
        return Some(b.bool(eval_icmp(*predicate, cx, cy, bits)));
    }
    let mut c = b.func.as_int(y)?;
    if !is_int {
        return None;
    }
    // Out of the known range.
    let known = b.unsigned_bits(x);
    if known < bits {
        if c >> known != 0 && sext64(c, bits) >= 0 {
            return Some(b.bool(matches!(predicate, Ne | Ult | Ule | Slt | Sle)));
        }
        if sext64(c, bits) < 0 {
            return Some(b.bool(matches!(predicate, Ne | Ult | Ule | Sgt | Sge)));
        }
    }
    match (*predicate, c) {
        (Ult, 0) => return Some(b.bool(false)),
        (Uge, 0) => return Some(b.bool(true)),
        (Ult, 1) | (Ule, 0) => {
            (*predicate, c) = (Eq, 0);
            args[1] = b.int(b.ty(x), 0);
        }
        (Ugt, 0) | (Uge, 1) => {
            (*predicate, c) = (Ne, 0);
            args[1] = b.int(b.ty(x), 0);
        }
        _ => {}
    }
    // Comparisons of extended values at the narrow width.
    if let Some(&InstKind::Cast { op, arg }) = def_kind(b, x) {
        let narrow = b.bits(arg);
        let narrow_ty = b.ty(arg);
        let fits_u = c == mask64(c, narrow);
        let fits_s = sext64(c, bits) == sext64(mask64(c, narrow), narrow);
        if op == CastOp::ZExt && narrow >= 16 && fits_u && narrow_ty != Type::I1 {
            let unsigned = match *predicate {
                Sgt => Ugt,
                Sge => Uge,
                Slt => Ult,
                Sle => Ule,
                other => other,
            };
            let legal = narrow != 16 || b.machine.has(mir::target::Features::INST_16BIT);
            if legal {
                let c = b.int(narrow_ty, c);
                return Some(b.icmp(unsigned, arg, c));
            }
        }
        if op == CastOp::SExt
            && narrow == 32
            && fits_s
            && matches!(predicate, Eq | Ne | Sgt | Sge | Slt | Sle)
        {
            let c = b.int(narrow_ty, c);
            return Some(b.icmp(*predicate, arg, c));
        }
    }
    // One of two constants against a third.
    if let Some((cond, [t, f])) = two_constants(b, x) {
        let holds = (eval_icmp(*predicate, t, c, bits), eval_icmp(*predicate, f, c, bits));
        return Some(match holds {
            (true, true) => b.bool(true),
            (false, false) => b.bool(false),
            (true, false) => cond,
            (false, true) => b.not(cond),
        });
    }
    None
}

/// `x >= 0 & x < n` as one comparison without a sign, `x < max(n, 0)`, since numbers below 0 are larger than all others then; and the opposite, of
/// which `|` is made. One of both may be a part of what the other one was joined with.
pub(super) fn fold_range(b: &mut Builder<'_>, op: BinaryOp, p: Value, q: Value) -> Option<Value> {
    if let Some(range) = range_of(b, op, p, q) {
        return Some(range);
    }
    for (joined, other) in [(p, q), (q, p)] {
        let Some(&InstKind::Binary { op: inner, args: [r, s] }) = def_kind(b, joined) else { continue };
        if inner != op {
            continue;
        }
        for (part, rest) in [(r, s), (s, r)] {
            if let Some(range) = range_of(b, op, part, other) {
                return Some(b.binary(op, rest, range));
            }
        }
    }
    None
}

/// The comparison that `p` and `q` joined by `op` are.
fn range_of(b: &mut Builder<'_>, op: BinaryOp, p: Value, q: Value) -> Option<Value> {
    use IntPredicate::{Sge, Sgt, Sle, Slt, Uge, Ult};
    let compared = |b: &Builder<'_>, v| match *def_kind(b, v)? {
        InstKind::Icmp { predicate, args } if b.ty(args[0]) == Type::I32 => Some((predicate, args)),
        _ => None,
    };
    let within = op == BinaryOp::And;
    // `x >= 0`, or `x < 0`.
    let signed = |b: &Builder<'_>, (predicate, [x, c]): (IntPredicate, [Value; 2])| {
        let c = b.func.as_int(c)? as u32 as i32;
        let (above, below) =
            (matches!((predicate, c), (Sgt, -1) | (Sge, 0)), matches!((predicate, c), (Slt, 0) | (Sle, -1)));
        (if within { above } else { below }).then_some(x)
    };
    // `x < n`, or `x >= n`.
    let limit = |(predicate, [x, n]): (IntPredicate, [Value; 2])| match (within, predicate) {
        (true, Slt) | (false, Sge) => Some((x, n)),
        (true, Sgt) | (false, Sle) => Some((n, x)),
        _ => None,
    };
    let (p, q) = (compared(b, p)?, compared(b, q)?);
    let (x, n) = [(p, q), (q, p)].into_iter().find_map(|(p, q)| {
        let x = signed(b, p)?;
        limit(q).filter(|&(compared, _)| compared == x)
    })?;
    let most = if b.unsigned_bits(n) < 32 {
        n
    } else {
        let zero = b.i32(0);
        b.intrinsic(Intrinsic::Smax, &[n, zero], Type::I32)
    };
    Some(b.icmp(if within { Ult } else { Uge }, x, most))
}

/// The condition by which `x` is one constant or another, and these: a choice, or an extended condition.
fn two_constants(b: &Builder<'_>, x: Value) -> Option<(Value, [u64; 2])> {
    match *def_kind(b, x)? {
        InstKind::Select { cond, if_true, if_false } => {
            Some((cond, [b.func.as_int(if_true)?, b.func.as_int(if_false)?]))
        }
        InstKind::Cast { op, arg } if b.ty(arg) == Type::I1 => match op {
            CastOp::ZExt => Some((arg, [1, 0])),
            CastOp::SExt => Some((arg, [mask64(u64::MAX, b.bits(x)), 0])),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn fold_fcmp(
    b: &mut Builder<'_>,
    predicate: &mut FloatPredicate,
    args: &mut [Value; 2],
) -> Option<Value> {
    use FloatPredicate::*;
    match predicate {
        False => return Some(b.bool(false)),
        True => return Some(b.bool(true)),
        _ => {}
    }
    let (x, y) = (float_const(b, args[0])?, float_const(b, args[1])?);
    let unordered = x.is_nan() || y.is_nan();
    let holds = match predicate {
        False => false,
        True => true,
        Oeq => x == y,
        Ogt => x > y,
        Oge => x >= y,
        Olt => x < y,
        Ole => x <= y,
        One => !unordered && x != y,
        Ord => !unordered,
        Uno => unordered,
        Ueq => unordered || x == y,
        Ugt => unordered || x > y,
        Uge => unordered || x >= y,
        Ult => unordered || x < y,
        Ule => unordered || x <= y,
        Une => x != y,
    };
    Some(b.bool(holds))
}

pub(super) fn fold_select(
    b: &mut Builder<'_>,
    cond: &mut Value,
    if_true: &mut Value,
    if_false: &mut Value,
) -> Option<Value> {
    if if_true == if_false || is_poison(b, *if_false) {
        return Some(*if_true);
    }
    if is_poison(b, *if_true) || is_undef(b, *cond) {
        return Some(*if_false);
    }
    if let Some(c) = b.func.as_int(*cond) {
        return Some(if c == 1 { *if_true } else { *if_false });
    }
    if let Some((inner, 1)) = as_binary_const(b, *cond, BinaryOp::Xor) {
        *cond = inner;
        std::mem::swap(if_true, if_false);
    }
    if b.ty(*if_true) == Type::I1 {
        let (t, f) = (b.func.as_int(*if_true), b.func.as_int(*if_false));
        return match (t, f) {
            (Some(1), Some(0)) => Some(*cond),
            (Some(0), Some(1)) => Some(b.not(*cond)),
            (Some(1), None) => Some(b.or(*cond, *if_false)),
            (None, Some(0)) => Some(b.and(*cond, *if_true)),
            (Some(0), None) => {
                let inverse = b.not(*cond);
                Some(b.and(inverse, *if_false))
            }
            (None, Some(1)) => {
                let inverse = b.not(*cond);
                Some(b.or(inverse, *if_true))
            }
            _ => None,
        };
    }
    if let Some(value) = fold_extended(b, *cond, *if_true, *if_false) {
        return Some(value);
    }
    modulo::fold_select(b, *cond, *if_true, *if_false).or_else(|| fold_step(b, *cond, *if_true, *if_false))
}

/// A choice between an extended condition and what it may be itself: the conditions meet, and one is extended.
fn fold_extended(b: &mut Builder<'_>, cond: Value, if_true: Value, if_false: Value) -> Option<Value> {
    let extended = |b: &Builder<'_>, v| match *def_kind(b, v)? {
        InstKind::Cast { op: op @ (CastOp::SExt | CastOp::ZExt), arg } if b.ty(arg) == Type::I1 => {
            Some((op, arg))
        }
        _ => None,
    };
    let ty = b.ty(if_true);
    // What is chosen by is known on either side.
    if let Some((op, p)) = extended(b, if_true)
        && p == cond
    {
        let constant = b.int(ty, if op == CastOp::SExt { u64::MAX } else { 1 });
        return Some(b.select(cond, constant, if_false));
    }
    if let Some((_, p)) = extended(b, if_false)
        && p == cond
    {
        let zero = b.int(ty, 0);
        return Some(b.select(cond, if_true, zero));
    }
    if let Some((op, p)) = extended(b, if_true)
        && b.func.as_int(if_false) == Some(0)
    {
        let both = b.and(cond, p);
        return Some(b.cast(op, both, ty));
    }
    if let Some((op, p)) = extended(b, if_false)
        && let Some(c) = b.func.as_int(if_true)
        && c == if op == CastOp::SExt { mask64(u64::MAX, b.bits(if_true)) } else { 1 }
    {
        let either = b.or(cond, p);
        return Some(b.cast(op, either, ty));
    }
    None
}

/// `c ? x + 1 : x` and `c ? x - 1 : x`: the condition is a carry or a borrow.
fn fold_step(b: &mut Builder<'_>, cond: Value, if_true: Value, x: Value) -> Option<Value> {
    if b.ty(x) != Type::I32 {
        return None;
    }
    let op = match as_binary_const(b, if_true, BinaryOp::Add)? {
        (base, 1) if base == x => BinaryOp::Add,
        (base, 0xffff_ffff) if base == x => BinaryOp::Sub,
        _ => return None,
    };
    let step = b.cast(CastOp::ZExt, cond, Type::I32);
    Some(b.binary(op, x, step))
}
