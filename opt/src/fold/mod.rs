//! Constant folding and algebraic identities, applied to every instruction before it is made.
//!
//! [`fold`] looks at one instruction and its operands' definitions, never further (but through insertions into a vector, of which there is a limit),
//! so its cost is constant.
//! It returns a value that makes the instruction unnecessary, or leaves a simpler instruction in its place.
//! Constants go to the right of commutative operations. Undef is folded only where any choice of bits gives
//! the same answer or the result may be undef itself; an operand that is poison makes the result poison.

mod bitwise;
mod cast;
mod compare;
mod fields;
mod float;
mod math;
mod modulo;
mod pointer;
mod vector;

use super::bits::{mask64, sext64};
use super::builder::Builder;
use bitwise::{fold_majority, fold_masks};
use cast::fold_cast;
pub use compare::eval_icmp;
use compare::{fold_fcmp, fold_icmp, fold_select};
use float::{float_const, fold_float_binary, plain_f32};
use mir::ir::*;
use pointer::fold_ptr_add;
pub(crate) use pointer::reaches;
pub(crate) use vector::defined_elements;
use vector::{fold_extract, fold_insert, halves};

/// Simplifies an instruction that is about to be made.
pub fn fold(b: &mut Builder<'_>, kind: &mut InstKind, ty: Type, flags: InstFlags) -> Option<Value> {
    match kind {
        InstKind::Binary { op, args } => fold_binary(b, op, args, ty, flags),
        InstKind::Unary { op, arg } => fold_unary(b, *op, *arg, ty),
        InstKind::Cast { op, arg } => fold_cast(b, op, arg, ty),
        InstKind::Icmp { predicate, args } => fold_icmp(b, predicate, args),
        InstKind::Fcmp { predicate, args } => fold_fcmp(b, predicate, args),
        InstKind::Select { cond, if_true, if_false } => fold_select(b, cond, if_true, if_false),
        InstKind::PtrAdd { .. } => fold_ptr_add(b, kind, ty),
        InstKind::ExtractElement { vector, index } => fold_extract(b, *vector, *index, ty),
        InstKind::InsertElement { vector, element, index } => fold_insert(b, *vector, *element, *index),
        InstKind::Intrinsic { intrinsic: Intrinsic::Fma | Intrinsic::Fmuladd, args } => {
            float::merge_factors(b, args, flags);
            let operands = [*args.first()?, *args.get(1)?, *args.get(2)?];
            match float::fold_fma(b, operands, flags) {
                Some(float::Fma::Value(value)) => Some(value),
                Some(float::Fma::Operation(op, args)) => {
                    *kind = InstKind::Binary { op, args };
                    None
                }
                None => math::fold_math(b, Intrinsic::Fma, &operands, ty),
            }
        }
        InstKind::Intrinsic { intrinsic, args } => fold_intrinsic(b, *intrinsic, args, ty),
        _ => None,
    }
}

fn is_poison(b: &Builder<'_>, value: Value) -> bool {
    matches!(b.func.as_const(value), Some(Const::Poison))
}

fn is_undef(b: &Builder<'_>, value: Value) -> bool {
    matches!(b.func.as_const(value), Some(Const::Undef | Const::Poison))
}

fn def_kind<'f>(b: &'f Builder<'_>, value: Value) -> Option<&'f InstKind> {
    b.func.def_inst(value).map(|inst| &b.func.insts[inst].kind)
}

/// `value` as `x op constant`.
fn as_binary_const(b: &Builder<'_>, value: Value, wanted: BinaryOp) -> Option<(Value, u64)> {
    match def_kind(b, value)? {
        InstKind::Binary { op, args } if *op == wanted => Some((args[0], b.func.as_int(args[1])?)),
        _ => None,
    }
}

/// Result of an integer operation on constants; `None` where it is undefined.
pub fn eval_binary(op: BinaryOp, a: u64, c: u64, bits: u32) -> Option<u64> {
    let in_range = c < u64::from(bits);
    let (sa, sc) = (sext64(a, bits), sext64(c, bits));
    let value = match op {
        BinaryOp::Add => a.wrapping_add(c),
        BinaryOp::Sub => a.wrapping_sub(c),
        BinaryOp::Mul => a.wrapping_mul(c),
        BinaryOp::UDiv => a.checked_div(c)?,
        BinaryOp::URem => a.checked_rem(c)?,
        BinaryOp::SDiv if sc != 0 => sa.wrapping_div(sc) as u64,
        BinaryOp::SRem if sc != 0 => sa.wrapping_rem(sc) as u64,
        BinaryOp::Shl if in_range => a << c,
        BinaryOp::LShr if in_range => a >> c,
        BinaryOp::AShr if in_range => (sa >> c) as u64,
        BinaryOp::And => a & c,
        BinaryOp::Or => a | c,
        BinaryOp::Xor => a ^ c,
        _ => return None,
    };
    Some(mask64(value, bits))
}

pub(super) fn is_commutative(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Add | Mul | And | Or | Xor | FAdd | FMul)
}

fn fold_binary(
    b: &mut Builder<'_>,
    op: &mut BinaryOp,
    args: &mut [Value; 2],
    ty: Type,
    flags: InstFlags,
) -> Option<Value> {
    if is_commutative(*op) {
        let constant = |v| b.func.as_const(v).is_some();
        let swap = match (constant(args[0]), constant(args[1])) {
            (true, false) => true,
            (false, true) => false,
            _ => args[0] > args[1],
        };
        if swap {
            args.swap(0, 1);
        }
    }
    if args.iter().any(|&a| is_poison(b, a)) {
        return Some(b.poison(ty));
    }
    let Type::Scalar(Scalar::Int(bits)) = ty else { return fold_float_binary(b, *op, args, ty, flags) };
    if bits > 64 {
        return None;
    }
    let [x, y] = *args;
    let (cx, cy) = (b.func.as_int(x), b.func.as_int(y));
    if let (Some(cx), Some(cy)) = (cx, cy) {
        return Some(match eval_binary(*op, cx, cy, bits) {
            Some(value) => b.int(ty, value),
            None => b.poison(ty),
        });
    }
    if is_undef(b, x) || is_undef(b, y) {
        return match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor => Some(b.undef(ty)),
            BinaryOp::And | BinaryOp::Mul | BinaryOp::Shl | BinaryOp::LShr => Some(b.int(ty, 0)),
            BinaryOp::Or => Some(b.int(ty, u64::MAX)),
            _ => None,
        };
    }
    if x == y {
        match op {
            BinaryOp::Sub | BinaryOp::Xor => return Some(b.int(ty, 0)),
            BinaryOp::And | BinaryOp::Or => return Some(x),
            _ => {}
        }
    }
    if cx == Some(0) && matches!(op, BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr) {
        return Some(x);
    }
    if *op == BinaryOp::Or
        && cy.is_none()
        && let Some(value) = fields::fold_or(b, x, y)
    {
        return Some(value);
    }
    if bits == 1
        && matches!(op, BinaryOp::And | BinaryOp::Or)
        && let Some(value) = compare::fold_range(b, *op, x, y)
    {
        return Some(value);
    }
    if *op == BinaryOp::Or
        && let Some(value) = fold_majority(b, x, y)
    {
        return Some(value);
    }
    if *op == BinaryOp::Sub
        && let Some(value) = modulo::fold_sub(b, x, y)
    {
        return Some(value);
    }
    if matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
        && let Some(value) = fold_masks(b, *op, x, y, ty)
    {
        return Some(value);
    }
    // The sum of multiples of 2^32.
    if *op == BinaryOp::Add
        && bits == 64
        && cy != Some(0)
        && let (Some(x), Some(y)) = (high_alone(b, x), high_alone(b, y))
    {
        let (zero, high) = (b.i32(0), b.add(x, y));
        return Some(b.join64(zero, high));
    }
    // Halves that are put together.
    if matches!(op, BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor) && bits == 64 && cy != Some(0) {
        for [low, high] in [[x, y], [y, x]] {
            if let Some(high) = high_alone(b, high)
                && b.unsigned_bits(low) <= 32
            {
                let low = b.cast(CastOp::Trunc, low, Type::I32);
                return Some(b.join64(low, high));
            }
        }
    }
    let c = cy?;
    let ones = mask64(u64::MAX, bits);
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr
            if c == 0 =>
        {
            return Some(x);
        }
        BinaryOp::Or if c == 0 => return Some(x),
        BinaryOp::Or if c == ones => return Some(y),
        BinaryOp::And | BinaryOp::Mul if c == 0 => return Some(y),
        BinaryOp::And if c == ones => return Some(x),
        BinaryOp::Mul if c == 1 => return Some(x),
        _ => {}
    }
    if matches!(op, BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr) && c >= u64::from(bits) {
        return Some(b.poison(ty));
    }
    match op {
        // One form for subtraction of constants, so that sums of constants meet.
        BinaryOp::Sub if bits > 1 => {
            *op = BinaryOp::Add;
            args[1] = b.int(ty, c.wrapping_neg());
            if let Some((inner, d)) = as_binary_const(b, x, BinaryOp::Add) {
                let sum = b.int(ty, d.wrapping_sub(c));
                return Some(b.add(inner, sum));
            }
        }
        BinaryOp::Add => {
            if let Some((inner, d)) = as_binary_const(b, x, BinaryOp::Add) {
                let sum = b.int(ty, d.wrapping_add(c));
                return Some(b.add(inner, sum));
            }
        }
        BinaryOp::Mul if c.is_power_of_two() => {
            return Some(b.shl_imm(x, c.trailing_zeros()));
        }
        BinaryOp::And => {
            // A mask that keeps all bits that can be set, or none.
            let cleared = as_binary_const(b, x, BinaryOp::Shl).map_or(0, |(_, n)| n.min(64));
            let possible = mask64(ones, b.unsigned_bits(x)) & !mask64(u64::MAX, cleared as u32);
            if c & possible == possible {
                return Some(x);
            }
            if c & possible == 0 {
                return Some(b.int(ty, 0));
            }
            if let Some((inner, d)) = as_binary_const(b, x, BinaryOp::And) {
                let both = b.int(ty, c & d);
                return Some(b.and(inner, both));
            }
            if ty == Type::I32
                && let Some(value) = fields::fold_and(b, x, c as u32)
            {
                return Some(value);
            }
            // The half of a 64-bit value that is masked out entirely.
            if bits == 64 && c <= u64::from(u32::MAX) {
                let mut low = b.cast(CastOp::Trunc, x, Type::I32);
                if !c & possible & u64::from(u32::MAX) != 0 {
                    low = b.and_imm(low, c);
                }
                return Some(b.cast(CastOp::ZExt, low, ty));
            }
        }
        BinaryOp::Or => {
            if let Some((inner, d)) = as_binary_const(b, x, BinaryOp::Or) {
                let both = b.int(ty, c | d);
                return Some(b.or(inner, both));
            }
        }
        BinaryOp::Xor => {
            if let Some((inner, d)) = as_binary_const(b, x, BinaryOp::Xor) {
                let both = b.int(ty, c ^ d);
                return Some(b.xor(inner, both));
            }
            if bits == 1 {
                match def_kind(b, x) {
                    Some(&InstKind::Icmp { predicate, args }) => {
                        return Some(b.icmp(predicate.inverse(), args[0], args[1]));
                    }
                    Some(&InstKind::Fcmp { predicate, args }) => {
                        return Some(b.fcmp(predicate.inverse(), args[0], args[1]));
                    }
                    _ => {}
                }
            }
        }
        BinaryOp::Shl | BinaryOp::LShr => return fold_shift(b, *op, x, c as u32, bits, ty),
        BinaryOp::AShr => {
            if b.unsigned_bits(x) < bits {
                return Some(b.lshr_imm(x, c as u32));
            }
            // Nothing but copies of the sign.
            if b.signed_bits(x) == 1 {
                return Some(x);
            }
            if let Some((inner, d)) = as_binary_const(b, x, BinaryOp::AShr) {
                return Some(b.ashr_imm(inner, (d + c).min(u64::from(bits - 1)) as u32));
            }
            // Sign extension of what is sign-extended from there already.
            if let Some((inner, d)) = as_binary_const(b, x, BinaryOp::Shl)
                && d == c
                && b.signed_bits(inner) <= bits - c as u32
            {
                return Some(inner);
            }
            // The field of a field: what was moved to the right comes back on the way to the left.
            if let Some((inner, left)) = as_binary_const(b, x, BinaryOp::Shl)
                && let Some((inner, right)) = as_binary_const(b, inner, BinaryOp::LShr)
                && right < left
                && left <= c
            {
                let top = b.shl_imm(inner, (left - right) as u32);
                return Some(b.ashr_imm(top, c as u32));
            }
            if bits == 64 && c >= 32 {
                let (_, high) = b.split64(x);
                let high = b.ashr_imm(high, c as u32 - 32);
                return Some(b.cast(CastOp::SExt, high, ty));
            }
            // `(x << 32) >> 30`, as LLVM writes the offset of element `x`: addresses know what to do with an extended index.
            if bits == 64
                && let Some(high) = high_alone(b, x)
            {
                let wide = b.cast(CastOp::SExt, high, ty);
                return Some(b.shl_imm(wide, 32 - c as u32));
            }
        }
        _ => {}
    }
    None
}

/// The high half of a 64-bit value whose low half is 0, where both are at hand.
fn high_alone(b: &mut Builder<'_>, value: Value) -> Option<Value> {
    if let Some(c) = b.func.as_int(value) {
        return (c as u32 == 0).then(|| b.i32((c >> 32) as u32));
    }
    let (low, high) = halves(b, value)?;
    (b.func.as_int(low) == Some(0)).then_some(high)
}

fn fold_shift(b: &mut Builder<'_>, op: BinaryOp, x: Value, c: u32, bits: u32, ty: Type) -> Option<Value> {
    if op == BinaryOp::LShr && c >= b.unsigned_bits(x) {
        return Some(b.int(ty, 0));
    }
    if let Some((inner, d)) = as_binary_const(b, x, op) {
        let sum = d + u64::from(c);
        return Some(if sum >= u64::from(bits) {
            b.int(ty, 0)
        } else {
            let amount = b.int(ty, sum);
            b.binary(op, inner, amount)
        });
    }
    // A mask that only clears what is shifted out.
    if op == BinaryOp::Shl
        && let Some((inner, mask)) = as_binary_const(b, x, BinaryOp::And)
        && mask64(!mask, bits - c) == 0
    {
        return Some(b.shl_imm(inner, c));
    }
    // Clearing the ends: (x >> c) << c and (x << c) >> c.
    let other = if op == BinaryOp::Shl { BinaryOp::LShr } else { BinaryOp::Shl };
    if let Some((inner, d)) = as_binary_const(b, x, other)
        && d == u64::from(c)
        && bits <= 32
    {
        let mask = mask64(u64::MAX, bits);
        let mask = if op == BinaryOp::Shl { mask64(mask << c, bits) } else { mask >> c };
        return Some(b.and_imm(inner, mask));
    }
    // Whole-dword parts of 64-bit shifts.
    if bits == 64 && c >= 32 {
        if op == BinaryOp::Shl {
            let low = b.cast(CastOp::Trunc, x, Type::I32);
            let high = b.shl_imm(low, c - 32);
            let zero = b.i32(0);
            return Some(b.join64(zero, high));
        }
        if c > 32 {
            let high = b.lshr_imm(x, 32);
            let high = b.cast(CastOp::Trunc, high, Type::I32);
            let high = b.lshr_imm(high, c - 32);
            return Some(b.cast(CastOp::ZExt, high, ty));
        }
        if let Some((_, high)) = halves(b, x) {
            return Some(b.cast(CastOp::ZExt, high, ty));
        }
    }
    None
}

fn is_constant_or_cast(b: &Builder<'_>, value: Value) -> bool {
    b.func.as_const(value).is_some() || matches!(def_kind(b, value), Some(InstKind::Cast { .. }))
}

fn fold_unary(b: &mut Builder<'_>, op: UnaryOp, arg: Value, ty: Type) -> Option<Value> {
    if is_poison(b, arg) && op == UnaryOp::FNeg {
        return Some(b.poison(ty));
    }
    match op {
        UnaryOp::FNeg => match (b.func.as_const(arg), ty) {
            (Some(Const::Float(bits)), Type::Scalar(Scalar::Float(float))) => {
                let bits = bits ^ 1 << (float.bits() - 1);
                Some(b.float_bits(ty, bits))
            }
            _ => match def_kind(b, arg) {
                Some(InstKind::Unary { op: UnaryOp::FNeg, arg }) => Some(*arg),
                _ => None,
            },
        },
        UnaryOp::Freeze => (!is_undef(b, arg)).then_some(arg),
    }
}

fn fold_intrinsic(b: &mut Builder<'_>, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Option<Value> {
    use Intrinsic::*;
    match (intrinsic, args) {
        (Smin | Smax | Umin | Umax, &[x, y]) => {
            if x == y {
                return Some(x);
            }
            let bits = b.bits(x);
            let (cx, cy) = (b.func.as_int(x)?, b.func.as_int(y)?);
            let predicate = match intrinsic {
                Smin => IntPredicate::Slt,
                Smax => IntPredicate::Sgt,
                Umin => IntPredicate::Ult,
                _ => IntPredicate::Ugt,
            };
            Some(if eval_icmp(predicate, cx, cy, bits) { x } else { y })
        }
        (Ctpop, &[x]) => {
            let c = b.func.as_int(x)?;
            Some(b.int(ty, u64::from(c.count_ones())))
        }
        (Fshr, &[high, low, amount]) if ty == Type::I32 => {
            let amount = b.func.as_int(amount)? & 31;
            if amount == 0 {
                return Some(low);
            }
            let (h, l) = (b.func.as_int(high)?, b.func.as_int(low)?);
            Some(b.int(ty, (h << 32 | l) >> amount))
        }
        (Bswap, &[x]) if ty == Type::I32 => {
            let c = b.func.as_int(x)?;
            Some(b.int(ty, u64::from((c as u32).swap_bytes())))
        }
        (Bitreverse, &[x]) if ty == Type::I32 => {
            let c = b.func.as_int(x)?;
            Some(b.int(ty, u64::from((c as u32).reverse_bits())))
        }
        (Ctlz, &[x, _]) if ty == Type::I32 => {
            let c = b.func.as_int(x)? as u32;
            Some(b.i32(if c == 0 { u32::MAX } else { c.leading_zeros() }))
        }
        (Cttz, &[x, _]) if ty == Type::I32 => {
            let c = b.func.as_int(x)? as u32;
            Some(b.i32(if c == 0 { u32::MAX } else { c.trailing_zeros() }))
        }
        (Fabs, &[x]) => match (b.func.as_const(x), ty) {
            (Some(Const::Float(bits)), Type::Scalar(Scalar::Float(float))) => {
                let bits = bits & !(1 << (float.bits() - 1));
                Some(b.float_bits(ty, bits))
            }
            _ => None,
        },
        _ => math::fold_math(b, intrinsic, args, ty),
    }
}
