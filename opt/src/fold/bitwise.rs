//! Conjunctions and disjunctions that are something shorter.

use super::*;

/// `(x & y) | ((x | y) & z)`, what two of three bits say, with an exclusive or inside: a bit-field insert takes the rest.
pub(super) fn fold_majority(b: &mut Builder<'_>, p: Value, q: Value) -> Option<Value> {
    let operands = |v, wanted| match def_kind(b, v) {
        Some(&InstKind::Binary { op, args }) if op == wanted => Some(args),
        _ => None,
    };
    let (p_args, q_args) = (operands(p, BinaryOp::And)?, operands(q, BinaryOp::And)?);
    let (both, [x, y], z) =
        [(p, p_args, q_args), (q, q_args, p_args)].into_iter().find_map(|(both, [x, y], [m, n])| {
            let is_either =
                |v| operands(v, BinaryOp::Or).is_some_and(|either| either == [x, y] || either == [y, x]);
            let z = if is_either(m) { n } else { is_either(n).then_some(m)? };
            Some((both, [x, y], z))
        })?;
    let differ = b.binary(BinaryOp::Xor, x, y);
    let decided = b.binary(BinaryOp::And, differ, z);
    Some(b.binary(BinaryOp::Or, both, decided))
}

/// Logic on conditions that fill all bits, as comparisons of OpenCL's vectors leave them: logic on the conditions, or a choice.
pub(super) fn fold_masks(b: &mut Builder<'_>, op: BinaryOp, x: Value, y: Value, ty: Type) -> Option<Value> {
    let condition = |v| match def_kind(b, v) {
        Some(&InstKind::Cast { op: CastOp::SExt, arg }) if b.ty(arg) == Type::I1 => Some(arg),
        _ => None,
    };
    let (cond, other) = match (condition(x), condition(y)) {
        (Some(p), Some(q)) => {
            let both = b.binary(op, p, q);
            return Some(b.cast(CastOp::SExt, both, ty));
        }
        (Some(p), None) => (p, y),
        (None, Some(q)) => (q, x),
        (None, None) => return None,
    };
    match op {
        BinaryOp::And => {
            let zero = b.int(ty, 0);
            Some(b.select(cond, other, zero))
        }
        BinaryOp::Or => {
            let ones = b.int(ty, u64::MAX);
            Some(b.select(cond, ones, other))
        }
        // All bits of a condition turned round.
        BinaryOp::Xor if b.func.as_int(other) == Some(mask64(u64::MAX, b.bits(x))) => {
            let inverse = b.not(cond);
            Some(b.cast(CastOp::SExt, inverse, ty))
        }
        _ => None,
    }
}
