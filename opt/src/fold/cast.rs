//! Conversions: chains of them, and conversions of constants.

use super::*;
use crate::builder::width;

pub(super) fn fold_cast(b: &mut Builder<'_>, op: &mut CastOp, arg: &mut Value, ty: Type) -> Option<Value> {
    if is_poison(b, *arg) {
        return Some(b.poison(ty));
    }
    let from = b.ty(*arg);
    if from == ty && matches!(op, CastOp::BitCast | CastOp::AddrSpaceCast) {
        return Some(*arg);
    }
    if is_undef(b, *arg) {
        return match op {
            CastOp::Trunc | CastOp::BitCast | CastOp::PtrToInt | CastOp::IntToPtr => Some(b.undef(ty)),
            CastOp::ZExt | CastOp::SExt => Some(b.int(ty, 0)),
            _ => None,
        };
    }
    let to_bits = width(ty);
    if let (Type::Scalar(Scalar::Int(from_bits)), Type::Scalar(Scalar::Int(_))) = (from, ty)
        && let Some(c) = b.func.as_int(*arg)
        && to_bits <= 64
    {
        return Some(match op {
            CastOp::SExt => b.int(ty, sext64(c, from_bits) as u64),
            _ => b.int(ty, c),
        });
    }
    match op {
        CastOp::Trunc => {
            if let Some((low, _)) = halves(b, *arg) {
                return Some(b.zext_or_trunc(low, ty));
            }
            match def_kind(b, *arg)?.clone() {
                InstKind::Cast { op: inner @ (CastOp::ZExt | CastOp::SExt), arg: source } => {
                    let bits = b.bits(source);
                    if bits >= to_bits {
                        return Some(b.zext_or_trunc(source, ty));
                    }
                    // Nothing extends to a byte, nor to a half where there is no 16-bit arithmetic.
                    let extends =
                        to_bits >= 32 || to_bits == 16 && b.machine.has(mir::target::Features::INST_16BIT);
                    return extends.then(|| b.cast(inner, source, ty));
                }
                InstKind::Cast { op: CastOp::Trunc, arg: source } => {
                    return Some(b.cast(CastOp::Trunc, source, ty));
                }
                // The high half of a join, and low bits of 64-bit arithmetic.
                InstKind::Binary { op: BinaryOp::LShr, args } if b.func.as_int(args[1]) == Some(32) => {
                    if let Some((_, high)) = halves(b, args[0]) {
                        return Some(b.zext_or_trunc(high, ty));
                    }
                    // The high half of an extended word is its sign.
                    if to_bits == 32
                        && from == Type::I64
                        && let Some(&InstKind::Cast { op: CastOp::SExt, arg: source }) = def_kind(b, args[0])
                        && b.ty(source) == Type::I32
                    {
                        return Some(b.ashr_imm(source, 31));
                    }
                }
                InstKind::Binary {
                    op: op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub),
                    args,
                } if to_bits == 32
                    && from == Type::I64
                    && args.iter().all(|&a| is_constant_or_cast(b, a)) =>
                {
                    // Only one level deep: this recursion must not follow the input.
                    let x = b.cast(CastOp::Trunc, args[0], ty);
                    let y = b.cast(CastOp::Trunc, args[1], ty);
                    return Some(b.binary(op, x, y));
                }
                _ => {}
            }
            None
        }
        CastOp::ZExt | CastOp::SExt => {
            if from == ty {
                return Some(*arg);
            }
            match *def_kind(b, *arg)? {
                InstKind::Cast { op: CastOp::ZExt, arg: source } => {
                    return Some(b.cast(CastOp::ZExt, source, ty));
                }
                InstKind::Cast { op: CastOp::SExt, arg: source } if *op == CastOp::SExt => {
                    return Some(b.cast(CastOp::SExt, source, ty));
                }
                InstKind::Cast { op: CastOp::Trunc, arg: source } => {
                    // Nothing was cut off: the source itself, at the wanted width.
                    let narrow = b.bits(*arg);
                    let source_ty = b.ty(source);
                    if source_ty.scalar().is_some_and(|s| matches!(s, Scalar::Int(_))) {
                        if *op == CastOp::ZExt && b.unsigned_bits(source) <= narrow {
                            return Some(b.zext_or_trunc(source, ty));
                        }
                        if *op == CastOp::SExt && b.signed_bits(source) <= narrow {
                            return Some(b.sext_or_trunc(source, ty));
                        }
                    }
                }
                _ => {}
            }
            if *op == CastOp::SExt && b.unsigned_bits(*arg) < b.bits(*arg) {
                *op = CastOp::ZExt;
            }
            None
        }
        CastOp::BitCast => {
            if let Some(constant) = b.func.as_const(*arg) {
                let bits = match constant {
                    Const::Int(bits) | Const::Float(bits) => *bits,
                    Const::Zero if from.bits().is_some_and(|n| n <= 64) => 0,
                    _ => return None,
                };
                return match ty {
                    Type::Scalar(Scalar::Int(_)) => Some(b.int(ty, bits)),
                    Type::Scalar(Scalar::Float(_)) => Some(b.float_bits(ty, bits)),
                    Type::Vector(Scalar::Int(32), 2) => {
                        let (low, high) = (b.i32(bits as u32), b.i32((bits >> 32) as u32));
                        Some(b.vector(&[low, high]))
                    }
                    _ => None,
                };
            }
            match *def_kind(b, *arg)? {
                InstKind::Cast { op: CastOp::BitCast, arg: source } => Some(b.bitcast(source, ty)),
                _ => None,
            }
        }
        CastOp::PtrToInt | CastOp::IntToPtr => {
            if matches!(b.func.as_const(*arg), Some(Const::Zero | Const::Int(0))) {
                return Some(b.zero(ty));
            }
            match *def_kind(b, *arg)? {
                InstKind::Cast { op: inner @ (CastOp::PtrToInt | CastOp::IntToPtr), arg: source }
                    if inner != *op && b.ty(source) == ty =>
                {
                    Some(source)
                }
                _ => None,
            }
        }
        CastOp::AddrSpaceCast => {
            match *def_kind(b, *arg)? {
                // There and back: the source space sees the same object.
                InstKind::Cast { op: CastOp::AddrSpaceCast, arg: source } if b.ty(source) == ty => {
                    Some(source)
                }
                _ => None,
            }
        }
        CastOp::FpExt => match (b.func.as_const(*arg)?, from, ty) {
            (Const::Float(bits), Type::F32, Type::F64) => {
                let value = f32::from_bits(*bits as u32);
                plain_f32(value).then(|| b.f64(f64::from(value)))
            }
            (Const::Float(bits), Type::F16, Type::F32) => {
                let value = mir::half::to_f64(*bits as u16);
                value.is_finite().then(|| b.f32(value as f32))
            }
            _ => None,
        },
        CastOp::FpTrunc => match (b.func.as_const(*arg)?, from, ty) {
            (Const::Float(bits), Type::F64, Type::F32) => {
                let value = f64::from_bits(*bits) as f32;
                plain_f32(value).then(|| b.f32(value))
            }
            _ => None,
        },
        CastOp::UiToFp | CastOp::SiToFp => {
            let c = b.func.as_int(*arg)?;
            let signed = *op == CastOp::SiToFp;
            let n = sext64(c, b.bits(*arg));
            match ty {
                Type::F32 => Some(b.f32(if signed { n as f32 } else { c as f32 })),
                Type::F64 => Some(b.f64(if signed { n as f64 } else { c as f64 })),
                _ => None,
            }
        }
        CastOp::FpToUi | CastOp::FpToSi => {
            let value = float_const(b, *arg)?.trunc();
            let limit = 2f64.powi(to_bits.min(63) as i32 - 1);
            (to_bits <= 64 && value.abs() < limit).then(|| {
                let n = value as i64;
                b.int(ty, n as u64)
            })
        }
    }
}
