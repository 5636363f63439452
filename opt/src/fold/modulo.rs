//! Reduction modulo a number by subtraction: `x >= d ? x - d : x` is `umin(x, x - d)`, since the difference wraps to more than `x` where
//! `x` is less. Division and sums modulo a number end with it.

use super::def_kind;
use crate::builder::Builder;
use mir::ir::{BinaryOp, InstKind, IntPredicate, Intrinsic, Type, Value};

/// `x` and `d` where `cond` is `x < d` (or `x >= d` if `inverse`), without sign.
fn less(b: &Builder<'_>, cond: Value, inverse: bool) -> Option<[Value; 2]> {
    let Some(&InstKind::Icmp { predicate, args: [x, d] }) = def_kind(b, cond) else { return None };
    let predicate = if inverse { predicate.inverse() } else { predicate };
    match predicate {
        IntPredicate::Ult => Some([x, d]),
        IntPredicate::Ugt => Some([d, x]),
        _ => None,
    }
}

fn reduced(b: &mut Builder<'_>, x: Value, less: Value) -> Value {
    b.intrinsic(Intrinsic::Umin, &[x, less], Type::I32)
}

/// `x - (x < d ? 0 : d)`.
pub(super) fn fold_sub(b: &mut Builder<'_>, x: Value, y: Value) -> Option<Value> {
    let Some(&InstKind::Select { cond, if_true, if_false }) = def_kind(b, y) else { return None };
    if b.ty(x) != Type::I32 {
        return None;
    }
    for (zero, d, inverse) in [(if_true, if_false, false), (if_false, if_true, true)] {
        if b.func.as_int(zero) == Some(0) && less(b, cond, inverse) == Some([x, d]) {
            let rest = b.sub(x, d);
            return Some(reduced(b, x, rest));
        }
    }
    None
}

/// `x < d ? x : x - d`.
pub(super) fn fold_select(
    b: &mut Builder<'_>,
    cond: Value,
    if_true: Value,
    if_false: Value,
) -> Option<Value> {
    if b.ty(if_true) != Type::I32 {
        return None;
    }
    for (x, rest, inverse) in [(if_true, if_false, false), (if_false, if_true, true)] {
        if let Some(&InstKind::Binary { op: BinaryOp::Sub, args: [minuend, d] }) = def_kind(b, rest)
            && minuend == x
            && less(b, cond, inverse) == Some([x, d])
        {
            return Some(reduced(b, x, rest));
        }
    }
    None
}
