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
