//! Floating-point arithmetic on constants, and what reassociation makes of it.

use super::super::builder::Builder;
use mir::ir::*;

pub(super) fn float_const(b: &Builder<'_>, value: Value) -> Option<f64> {
    match (b.func.as_const(value)?, b.ty(value)) {
        (Const::Float(bits), Type::F32) => Some(f64::from(f32::from_bits(*bits as u32))),
        (Const::Float(bits), Type::F64) => Some(f64::from_bits(*bits)),
        _ => None,
    }
}

/// A result that rounding, flushing and NaN payloads cannot make differ from the hardware's.
pub(super) fn plain_f32(value: f32) -> bool {
    value == 0.0 || value.is_normal()
}

pub(super) fn fold_float_binary(
    b: &mut Builder<'_>,
    op: BinaryOp,
    args: &mut [Value; 2],
    ty: Type,
    flags: InstFlags,
) -> Option<Value> {
    let [x, y] = *args;
    let cy = float_const(b, y);
    if let (Some(fx), Some(fy)) = (float_const(b, x), cy) {
        if ty == Type::F32 {
            let (fx, fy) = (fx as f32, fy as f32);
            let result = match op {
                BinaryOp::FAdd => fx + fy,
                BinaryOp::FSub => fx - fy,
                BinaryOp::FMul => fx * fy,
                BinaryOp::FDiv => fx / fy,
                _ => return None,
            };
            if plain_f32(fx) && plain_f32(fy) && plain_f32(result) {
                return Some(b.f32(result));
            }
        } else {
            let result = match op {
                BinaryOp::FAdd => fx + fy,
                BinaryOp::FSub => fx - fy,
                BinaryOp::FMul => fx * fy,
                BinaryOp::FDiv => fx / fy,
                _ => return None,
            };
            if [fx, fy, result].iter().all(|v| *v == 0.0 || v.is_normal()) {
                return Some(b.f64(result));
            }
        }
        return None;
    }
    // x * 1, x - 0 and x + -0 are x, but for the quieting of signalling NaNs, which LangRef leaves open.
    match (op, cy) {
        (BinaryOp::FMul | BinaryOp::FDiv, Some(1.0)) => Some(x),
        (BinaryOp::FSub, Some(0.0)) if cy.is_some_and(f64::is_sign_positive) => Some(x),
        (BinaryOp::FAdd, Some(0.0))
            if cy.is_some_and(f64::is_sign_negative) || flags.contains(InstFlags::NSZ) =>
        {
            Some(x)
        }
        (BinaryOp::FMul, Some(0.0)) if flags.contains(InstFlags::NNAN | InstFlags::NSZ) => Some(y),
        (BinaryOp::FMul, Some(_)) => {
            merge_factors(b, args, flags);
            None
        }
        _ => None,
    }
}

/// What a fused multiply-add, or a multiplication and an addition, is with fewer operands.
pub(super) enum Fma {
    /// An operand.
    Value(Value),
    /// An operation that rounds once, as both forms may.
    Operation(BinaryOp, [Value; 2]),
}

/// `x * y + z` with a factor of 0, 1 or -1, or without an addend.
pub(super) fn fold_fma(b: &Builder<'_>, [x, y, z]: [Value; 3], flags: InstFlags) -> Option<Fma> {
    for (factor, other) in [(x, y), (y, x)] {
        match simple_const(b, factor) {
            Some(1.0) => return Some(Fma::Operation(BinaryOp::FAdd, [other, z])),
            Some(-1.0) => return Some(Fma::Operation(BinaryOp::FSub, [z, other])),
            Some(0.0) if flags.contains(InstFlags::NNAN | InstFlags::NSZ) => return Some(Fma::Value(z)),
            _ => {}
        }
    }
    let addend = simple_const(b, z).filter(|&z| z == 0.0)?;
    // -0 is added without a trace; 0 makes 0 of -0.
    (addend.is_sign_negative() || flags.contains(InstFlags::NSZ))
        .then_some(Fma::Operation(BinaryOp::FMul, [x, y]))
}

/// A constant of any format, where it is 0, 1 or -1.
fn simple_const(b: &Builder<'_>, value: Value) -> Option<f64> {
    match (b.func.as_const(value)?, b.ty(value)) {
        (Const::Float(0), Type::F16) => Some(0.0),
        (Const::Float(0x8000), Type::F16) => Some(-0.0),
        (Const::Float(0x3c00), Type::F16) => Some(1.0),
        (Const::Float(0xbc00), Type::F16) => Some(-1.0),
        _ => float_const(b, value).filter(|&c| c == 0.0 || c.abs() == 1.0),
    }
}

/// `(x * c) * d` becomes `x * (c * d)` where both products may be reassociated: of `factors`, which `flags` allow
/// it for, one is a constant and the other a product with one.
pub(super) fn merge_factors(b: &mut Builder<'_>, factors: &mut [Value], flags: InstFlags) {
    if !flags.contains(InstFlags::REASSOC) {
        return;
    }
    for [i, j] in [[0, 1], [1, 0]] {
        let Some(d) = float_const(b, factors[j]) else { continue };
        let Some(inner) = b.func.def_inst(factors[i]).map(|inst| &b.func.insts[inst]) else { continue };
        let InstKind::Binary { op: BinaryOp::FMul, args: [x, c] } = inner.kind else { continue };
        let Some(c) = float_const(b, c).filter(|_| inner.flags.contains(InstFlags::REASSOC)) else {
            continue;
        };
        let (single, double) = (c as f32 * d as f32, c * d);
        match b.ty(x) {
            Type::F32 if single.is_normal() => (factors[i], factors[j]) = (x, b.f32(single)),
            Type::F64 if double.is_normal() => (factors[i], factors[j]) = (x, b.f64(double)),
            _ => {}
        }
        return;
    }
}
