//! VOP3P: packed 16-bit operations, mixed precision, dot products.
//!
//! Each half of a packed result comes from the halves that `op_sel` and `op_sel_hi` name. A dot product is the exact sum of exact products,
//! saturated where the instruction says so; that of binary16 is accumulated in binary32 from the highest element down.

use super::{Env, In, Kernel, Out, f, fma16, half, m3, mad, s16, sat_i, sat_u, z16};
use crate::fp::{self, F16, F32, Round, f16_to_f32};
use crate::wave::MAX_LANES;
use mir::isa::Opcode;
use mir::isa::Opcode::*;

/// The operation of `op`; `None` for what is not in this file.
pub(super) fn kernel(op: Opcode) -> Option<Kernel> {
    let kernel: Kernel = match op {
        V_PK_MAD_I16 => {
            |i, o, e| halves(i, o, e, false, |a, b, x| sat_i(s16(a) * s16(b) + s16(x), 16, e.clamp))
        }
        V_PK_MAD_U16 => {
            |i, o, e| halves(i, o, e, false, |a, b, x| sat_u(z16(a) * z16(b) + z16(x), 16, e.clamp))
        }
        V_PK_MUL_LO_U16 => |i, o, e| halves(i, o, e, false, |a, b, _| a.wrapping_mul(b) & 0xffff),
        V_PK_ADD_I16 => |i, o, e| halves(i, o, e, false, |a, b, _| sat_i(s16(a) + s16(b), 16, e.clamp)),
        V_PK_SUB_I16 => |i, o, e| halves(i, o, e, false, |a, b, _| sat_i(s16(a) - s16(b), 16, e.clamp)),
        V_PK_ADD_U16 => |i, o, e| halves(i, o, e, false, |a, b, _| sat_u(z16(a) + z16(b), 16, e.clamp)),
        V_PK_SUB_U16 => |i, o, e| halves(i, o, e, false, |a, b, _| sat_u(z16(a) - z16(b), 16, e.clamp)),
        V_PK_LSHLREV_B16 => |i, o, e| halves(i, o, e, false, |a, b, _| b << (a & 15) & 0xffff),
        V_PK_LSHRREV_B16 => |i, o, e| halves(i, o, e, false, |a, b, _| b >> (a & 15)),
        V_PK_ASHRREV_I16 => |i, o, e| halves(i, o, e, false, |a, b, _| (s16(b) >> (a & 15)) as u32 & 0xffff),
        V_PK_MAX_I16 => |i, o, e| halves(i, o, e, false, |a, b, _| s16(a).max(s16(b)) as u32 & 0xffff),
        V_PK_MIN_I16 => |i, o, e| halves(i, o, e, false, |a, b, _| s16(a).min(s16(b)) as u32 & 0xffff),
        V_PK_MAX_U16 => |i, o, e| halves(i, o, e, false, |a, b, _| a.max(b)),
        V_PK_MIN_U16 => |i, o, e| halves(i, o, e, false, |a, b, _| a.min(b)),
        V_PK_FMA_F16 => |i, o, e| halves(i, o, e, true, |a, b, x| fma16(a, b, x, e.round64)),
        // The short encoding has no bits that choose halves.
        V_PK_FMAC_F16 => |i, o, e| {
            let e = &Env { packed: [0, 7, 0, 0], ..*e };
            halves(i, o, e, true, |a, b, x| fma16(a, b, x, e.round64))
        },
        V_DOT2C_F32_F16 => |i, o, _| {
            m3(i, o, |a, b, c| {
                let part = |x: u32, high: bool| f16_to_f32(if high { x >> 16 } else { x & 0xffff });
                let high = fp::fma(part(a, true), part(b, true), f(c));
                fp::fma(part(a, false), part(b, false), high).to_bits()
            })
        },
        V_DOT4C_I32_I8 => {
            |i, o, _| m3(i, o, |a, b, x| sat_i(dot(a, b, 8, true) + i64::from(x as i32), 32, false))
        }
        V_PK_ADD_F16 => |i, o, e| halves(i, o, e, true, |a, b, _| half::add(a, b, e.round64)),
        V_PK_MUL_F16 => |i, o, e| halves(i, o, e, true, |a, b, _| half::mul(a, b, e.round64)),
        V_PK_MIN_F16 => |i, o, e| {
            halves(i, o, e, true, |a, b, _| fp::min_max(F16, a.into(), b.into(), false, e.ieee) as u32)
        },
        V_PK_MAX_F16 => |i, o, e| {
            halves(i, o, e, true, |a, b, _| fp::min_max(F16, a.into(), b.into(), true, e.ieee) as u32)
        },
        V_FMA_MIX_F32 => |i, o, e| m3(i, o, |a, b, c| mix(a, b, c, e, true)),
        V_MAD_MIX_F32 => |i, o, e| m3(i, o, |a, b, c| mix(a, b, c, e, false)),
        V_FMA_MIXLO_F16 | V_FMA_MIXHI_F16 => |i, o, e| m3(i, o, |a, b, c| mix16(a, b, c, e, true)),
        V_MAD_MIXLO_F16 | V_MAD_MIXHI_F16 => |i, o, e| m3(i, o, |a, b, c| mix16(a, b, c, e, false)),
        V_DOT2_F32_F16 => |i, o, e| {
            m3(i, o, |a, b, c| {
                let [neg_lo, neg_hi] = [e.packed[2], e.packed[3]];
                let part = |x: u32, source: u32, high: bool| {
                    let (sel, neg) = if high { (e.packed[1], neg_hi) } else { (e.packed[0], neg_lo) };
                    let h = if sel >> source & 1 != 0 { x >> 16 } else { x & 0xffff };
                    f16_to_f32(if neg >> source & 1 != 0 { h ^ 0x8000 } else { h })
                };
                let c = if neg_lo >> 2 & 1 != 0 { c ^ 0x8000_0000 } else { c };
                let high = fp::fma(part(a, 0, true), part(b, 1, true), f(c));
                fp::fma(part(a, 0, false), part(b, 1, false), high).to_bits()
            })
        },
        V_DOT2_I32_I16 => {
            |i, o, e| m3(i, o, |a, b, x| sat_i(dot(a, b, 16, true) + i64::from(x as i32), 32, e.clamp))
        }
        V_DOT2_U32_U16 => {
            |i, o, e| m3(i, o, |a, b, x| sat_u(dot(a, b, 16, false) + i64::from(x), 32, e.clamp))
        }
        V_DOT4_I32_I8 => {
            |i, o, e| m3(i, o, |a, b, x| sat_i(dot(a, b, 8, true) + i64::from(x as i32), 32, e.clamp))
        }
        V_DOT4_U32_U8 => |i, o, e| m3(i, o, |a, b, x| sat_u(dot(a, b, 8, false) + i64::from(x), 32, e.clamp)),
        V_DOT8_I32_I4 => {
            |i, o, e| m3(i, o, |a, b, x| sat_i(dot(a, b, 4, true) + i64::from(x as i32), 32, e.clamp))
        }
        V_DOT8_U32_U4 => |i, o, e| m3(i, o, |a, b, x| sat_u(dot(a, b, 4, false) + i64::from(x), 32, e.clamp)),
        _ => return None,
    };
    Some(kernel)
}

/// `one` on the low and on the high halves. `float`: the negations are of signs.
#[inline(always)]
fn halves(i: &In<'_>, o: &mut Out, e: &Env, float: bool, one: impl Fn(u32, u32, u32) -> u32) {
    let [sel_lo, sel_hi, neg_lo, neg_hi] = e.packed;
    let half = |x: u32, source: u32, high: bool| -> u32 {
        let (sel, neg) = if high { (sel_hi, neg_hi) } else { (sel_lo, neg_lo) };
        let h = if sel >> source & 1 != 0 { x >> 16 } else { x & 0xffff };
        if float && neg >> source & 1 != 0 { h ^ 0x8000 } else { h }
    };
    for l in 0..MAX_LANES {
        let [a, b, c] = i.lo.map(|s| s[l]);
        let part = |high| one(half(a, 0, high), half(b, 1, high), half(c, 2, high)) & 0xffff;
        o.lo[l] = part(false) | part(true) << 16;
    }
}

/// A source of a mixed-precision operation: binary32, or by `op_sel_hi` the half that `op_sel` names; `neg_hi` is abs.
fn mixed_source(x: u32, k: u32, e: &Env) -> f32 {
    let [sel_lo, sel_hi, neg, abs] = e.packed;
    let v = match (sel_hi >> k & 1 != 0, sel_lo >> k & 1 != 0) {
        (false, _) => f(x),
        (true, false) => f16_to_f32(x & 0xffff),
        (true, true) => f16_to_f32(x >> 16),
    };
    let v = if abs >> k & 1 != 0 { v.abs() } else { v };
    if neg >> k & 1 != 0 { -v } else { v }
}

fn mix(a: u32, b: u32, c: u32, e: &Env, fused: bool) -> u32 {
    let [a, b, c] = [mixed_source(a, 0, e), mixed_source(b, 1, e), mixed_source(c, 2, e)];
    let bits = |x: f32| u64::from(x.to_bits());
    if fused || a.is_nan() || b.is_nan() || c.is_nan() {
        return fp::fma_exact(F32, F32, bits(a), bits(b), bits(c), 0, e.round32) as u32;
    }
    // The unfused form flushes whatever MODE says.
    let flush = |x: f32| f(fp::flush32(x.to_bits()));
    let (a, b, c) = (flush(a), flush(b), flush(c));
    if e.round32 == Round::Even {
        let r = mad(a, b, c);
        return if r.is_nan() { 0x7fc0_0000 } else { r.to_bits() };
    }
    let p = fp::flush32(fp::mul(F32, bits(a), bits(b), e.round32) as u32);
    fp::add(F32, p.into(), bits(c), e.round32) as u32
}

fn mix16(a: u32, b: u32, c: u32, e: &Env, fused: bool) -> u32 {
    fp::convert(F32, F16, mix(a, b, c, e, fused).into(), 0, e.round64) as u32
}

/// The exact sum of the products of elements of `bits`.
fn dot(a: u32, b: u32, bits: u32, signed: bool) -> i64 {
    let part = |x: u32, k: u32| {
        let x = x >> (k * bits) << (32 - bits);
        if signed { i64::from(x as i32 >> (32 - bits)) } else { i64::from(x >> (32 - bits)) }
    };
    (0..32 / bits).map(|k| part(a, k) * part(b, k)).sum()
}
