//! Pointers and what is added to them.

use super::{as_binary_const, def_kind};
use crate::bits::sext64;
use crate::builder::Builder;
use mir::ir::*;
use mir::target::{OffsetRange, Target};

/// Whether accesses through pointers of type `ty` have room for `offset` bytes in the instruction.
pub(crate) fn reaches(machine: &Target, ty: Type, offset: i64) -> bool {
    match ty.addr_space() {
        Some(AddrSpace::GLOBAL) => global_range(machine).contains(offset, 0),
        Some(AddrSpace::LOCAL) => (0..1 << 16).contains(&offset),
        // By lanes, or for the wave.
        Some(AddrSpace::CONSTANT | AddrSpace::CONSTANT_32BIT) => {
            offset >= 0
                && global_range(machine).contains(offset, 0)
                && machine.limits().offsets.smem.contains(offset, 0)
        }
        _ => false,
    }
}

/// Offsets of accesses to global memory. A target without such a field adds them, to an address that neighbours share, too.
fn global_range(machine: &Target) -> OffsetRange {
    match machine.limits().offsets.global {
        OffsetRange { min: 0, max: 0 } => OffsetRange { min: -2048, max: 2047 },
        range => range,
    }
}

/// `offset` as a part that accesses through pointers of type `ty` have room for, and the rest, which is the same for neighbours. Nothing where there is no
/// such part.
fn window(machine: &Target, ty: Type, offset: i64) -> Option<(i64, i64)> {
    match ty.addr_space() {
        Some(AddrSpace::GLOBAL) => Some(global_range(machine).split(offset)),
        _ => reaches(machine, ty, offset).then_some((offset, 0)),
    }
}

/// Whether the index is as wide as the address, so that sums wrap alike.
fn is_whole(b: &Builder<'_>, index: Value, wraps: bool) -> bool {
    b.bits(index) == 64 || wraps && b.bits(index) == 32
}

/// What an index is extended from by its sign, or by zeros where that is the same: that is what an index of 32 bits means.
fn narrow_index(b: &mut Builder<'_>, index: Value) -> Value {
    let Some(&InstKind::Cast { op: op @ (CastOp::SExt | CastOp::ZExt), arg }) = def_kind(b, index) else {
        return index;
    };
    match b.bits(arg) {
        ..32 => b.cast(op, arg, Type::I32),
        32 if op == CastOp::SExt || b.unsigned_bits(arg) < 32 => arg,
        _ => index,
    }
}

/// The two parts of a sum of 32 bits with a constant that does not wrap and that zeros extend to `index`.
fn unsigned_sum(b: &Builder<'_>, index: Value) -> Option<(Value, i64)> {
    let Some(&InstKind::Cast { op: CastOp::ZExt, arg }) = def_kind(b, index) else { return None };
    let sum = as_binary_const(b, arg, BinaryOp::Add).filter(|_| has(b, arg, InstFlags::NUW));
    let apart = || as_binary_const(b, arg, BinaryOp::Or).filter(|_| has(b, arg, InstFlags::DISJOINT));
    let (inner, c) = sum.or_else(apart).filter(|_| b.bits(arg) == 32)?;
    Some((inner, c as i64))
}

/// What is doubled how often to become the 32 bits that zeros extend to `index`, and what its own extension promises: neither loses bits that are set.
fn unsigned_multiple(b: &Builder<'_>, index: Value) -> Option<(Value, u64, InstFlags)> {
    let Some(&InstKind::Cast { op: CastOp::ZExt, arg }) = def_kind(b, index) else { return None };
    let (inner, c) = as_binary_const(b, arg, BinaryOp::Shl).filter(|&(_, c)| b.bits(arg) == 32 && c < 16)?;
    // What is not negative behind a shift that keeps the sign was not before.
    let positive = has(b, index, InstFlags::NNEG) && has(b, arg, InstFlags::NSW);
    let flags = if positive { InstFlags::NNEG } else { InstFlags::empty() };
    (positive || has(b, arg, InstFlags::NUW)).then_some((inner, c, flags))
}

pub(super) fn fold_ptr_add(b: &mut Builder<'_>, kind: &mut InstKind, ty: Type) -> Option<Value> {
    let InstKind::PtrAdd { base, index, scale, offset } = kind else { return None };
    let wraps = ty.bits() == Some(32);
    if let Some(at) = *index {
        if *scale == 0 {
            *index = None;
        } else if let Some(c) = b.func.as_int(at) {
            let step = sext64(c, b.bits(at)).wrapping_mul(*scale);
            *offset = offset.wrapping_add(step);
            *index = None;
        } else {
            *index = Some(narrow_index(b, at));
        }
    }
    // Constants inside the index move to the offset, where instructions have room for them. A narrow index whose sum
    // does not overflow, or has no carries as no bits are shared, is extended part by part.
    if let Some(at) = *index {
        let whole = is_whole(b, at, wraps);
        let sum = as_binary_const(b, at, BinaryOp::Add).filter(|_| whole || has(b, at, InstFlags::NSW));
        let apart = || as_binary_const(b, at, BinaryOp::Or).filter(|_| has(b, at, InstFlags::DISJOINT));
        if let Some((inner, c)) = sum.or_else(apart) {
            *offset = offset.wrapping_add(sext64(c, b.bits(at)).wrapping_mul(*scale));
            *index = Some(inner);
        }
    }
    // c - x is ~x + (c + 1): the complement never overflows, and all numbers share it.
    if let Some(at) = *index
        && let Some(&InstKind::Binary { op: BinaryOp::Sub, args: [minuend, x] }) = def_kind(b, at)
        && let Some(c) = b.func.as_int(minuend)
        && (is_whole(b, at, wraps) || has(b, at, InstFlags::NSW))
        && let Some(total) =
            (sext64(c, b.bits(at)) + 1).checked_mul(*scale).and_then(|bytes| offset.checked_add(bytes))
        && reaches(b.machine, ty, total)
    {
        *offset = total;
        *index = Some(b.not(x));
    }
    // The same of what is extended by zeros, where there is room: these indices need no registers of 64 bits.
    if let Some(at) = *index
        && let Some((inner, c)) = unsigned_sum(b, at)
        && let Some(total) = c.checked_mul(*scale).and_then(|bytes| offset.checked_add(bytes))
        && reaches(b.machine, ty, total)
    {
        *offset = total;
        *index = Some(b.cast(CastOp::ZExt, inner, Type::I64));
    }
    // The index doubled is the scale doubled.
    if let Some(at) = *index
        && let Some((inner, c)) = as_binary_const(b, at, BinaryOp::Shl)
        && (is_whole(b, at, wraps) || has(b, at, InstFlags::NSW))
        && c < 16
        && scale.unsigned_abs() < 1 << 24
    {
        *scale <<= c;
        *index = Some(narrow_index(b, inner));
    }
    // The same below zeros. Without a scale the index doubled is what an access may take as it is.
    if let Some(at) = *index
        && (2..1 << 24).contains(&scale.unsigned_abs())
        && let Some((inner, c, flags)) = unsigned_multiple(b, at)
    {
        *scale <<= c;
        *index = Some(b.pure(InstKind::Cast { op: CastOp::ZExt, arg: inner }, Type::I64, flags));
    }
    // A large type for a small number: what it is computed from may be narrowed, too.
    if let Some(at) = *index
        && b.bits(at) == 64
        && b.unsigned_bits(at) < 32
        && !matches!(def_kind(b, at), Some(InstKind::Cast { .. }))
    {
        *index = Some(b.cast(CastOp::Trunc, at, Type::I32));
    }
    // Twice: behind a constant may be an address that is shared.
    for _ in 0..2 {
        let Some(&InstKind::PtrAdd {
            base: inner,
            index: inner_index,
            scale: inner_scale,
            offset: inner_offset,
        }) = def_kind(b, *base)
        else {
            break;
        };
        let is_shared =
            inner_index.is_some() && window(b.machine, ty, inner_offset).is_some_and(|(near, _)| near == 0);
        if index.is_none() && is_shared && reaches(b.machine, ty, *offset) {
            // base + i*s stays shared.
            break;
        } else if index.is_none() {
            // base + (i*s + c) + d: one instruction.
            *base = inner;
            *index = inner_index;
            *scale = inner_scale;
            *offset = offset.wrapping_add(inner_offset);
        } else if inner_offset != 0 {
            // (base + i*s + c) + j*t + d: constants move outwards.
            *base = match inner_index {
                None => inner,
                Some(_) => {
                    let kind =
                        InstKind::PtrAdd { base: inner, index: inner_index, scale: inner_scale, offset: 0 };
                    b.pure(kind, ty, InstFlags::empty())
                }
            };
            *offset = offset.wrapping_add(inner_offset);
        }
    }
    if wraps {
        *offset = sext64(*offset as u64, 32);
    }
    // A constant that fits the access's offset field stands alone, so that neighbours share the rest.
    if index.is_some()
        && let Some((near, far)) = window(b.machine, ty, *offset)
        && near != 0
    {
        let rest = InstKind::PtrAdd { base: *base, index: *index, scale: *scale, offset: far };
        *base = b.pure(rest, ty, InstFlags::empty());
        *index = None;
        *offset = near;
    }
    if index.is_none() {
        *scale = 0;
        if *offset == 0 {
            return Some(*base);
        }
        if let Some(&Const::Symbol(symbol, at)) = b.func.as_const(*base) {
            let constant = Const::Symbol(symbol, at.wrapping_add(*offset));
            return Some(b.func.constant(ty, constant));
        }
    }
    None
}
/// Whether the instruction that makes `value` has `flag`.
fn has(b: &Builder<'_>, value: Value, flag: InstFlags) -> bool {
    b.func.def_inst(value).is_some_and(|inst| b.func.insts[inst].flags.contains(flag))
}
