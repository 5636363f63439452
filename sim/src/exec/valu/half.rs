//! Vector operations on 16-bit integers and binary16.
//!
//! binary32 holds sums, products, quotients and roots of binary16 numbers so well that rounding its result again is rounding once
//! (24 ≥ 2 × 11 + 2 bits); other rounding modes than to nearest even go through the exact sums of [`fp`].

use super::{
    Env, In, Kernel, Out, fma16, m1, m2, m3, med, norm16, s16, sat_i, sat_u, sin_turns, unorm16, z, z16,
};
use crate::fp::{self, F16, F32, Round, f16_to_f32, f32_to_f16};
use mir::isa::Opcode;
use mir::isa::Opcode::*;

/// The operation of `op`; `None` for what is not in this file.
pub(super) fn kernel(op: Opcode) -> Option<Kernel> {
    let kernel: Kernel = match op {
        V_CVT_U16_F16 => |i, o, _| m1(i, o, |a| u32::from(f16_to_f32(a) as u16)),
        V_CVT_I16_F16 => |i, o, _| m1(i, o, |a| u32::from(f16_to_f32(a) as i16 as u16)),
        V_CVT_NORM_I16_F16 => |i, o, _| m1(i, o, |a| norm16(f16_to_f32(a))),
        V_CVT_NORM_U16_F16 => |i, o, _| m1(i, o, |a| unorm16(f16_to_f32(a))),
        V_TRUNC_F16 => |i, o, _| h1(i, o, f32::trunc),
        V_CEIL_F16 => |i, o, _| h1(i, o, f32::ceil),
        V_RNDNE_F16 => |i, o, _| h1(i, o, f32::round_ties_even),
        V_FLOOR_F16 => |i, o, _| h1(i, o, f32::floor),
        V_FRACT_F16 => |i, o, _| {
            h1(i, o, |x| {
                let r = x - x.floor();
                if r.is_nan() { r } else { r.min(0.999_511_7) }
            })
        },
        V_RCP_F16 => |i, o, _| h1(i, o, |x| 1.0 / x),
        V_SQRT_F16 => |i, o, _| h1(i, o, f32::sqrt),
        V_RSQ_F16 => |i, o, _| h1(i, o, |x| (1.0 / f64::from(x).sqrt()) as f32),
        V_LOG_F16 => |i, o, _| h1(i, o, |x| f64::from(x).log2() as f32),
        V_EXP_F16 => |i, o, _| h1(i, o, |x| f64::from(x).exp2() as f32),
        V_SIN_F16 => |i, o, e| h1(i, o, |x| sin_turns(x, false, e.any_turns)),
        V_COS_F16 => |i, o, e| h1(i, o, |x| sin_turns(x, true, e.any_turns)),
        V_FREXP_EXP_I16_F16 => {
            |i, o, _| m1(i, o, |a| fp::frexp_exp(F16, u64::from(a & 0xffff)) as u32 & 0xffff)
        }
        V_FREXP_MANT_F16 => |i, o, _| m1(i, o, |a| fp::frexp_mant(F16, u64::from(a & 0xffff)) as u32),
        V_MIN_F16 => {
            |i, o, e| m2(i, o, |a, b| fp::min_max(F16, z16(a) as u64, z16(b) as u64, false, e.ieee) as u32)
        }
        V_MAX_F16 => {
            |i, o, e| m2(i, o, |a, b| fp::min_max(F16, z16(a) as u64, z16(b) as u64, true, e.ieee) as u32)
        }
        V_ADD_U16 | V_ADD_NC_U16 => |i, o, e| m2(i, o, |a, b| sat_u(z16(a) + z16(b), 16, e.clamp)),
        V_SUB_U16 | V_SUB_NC_U16 => |i, o, e| m2(i, o, |a, b| sat_u(z16(a) - z16(b), 16, e.clamp)),
        V_SUBREV_U16 => |i, o, e| m2(i, o, |a, b| sat_u(z16(b) - z16(a), 16, e.clamp)),
        V_ADD_I16 => |i, o, e| m2(i, o, |a, b| sat_i(s16(a) + s16(b), 16, e.clamp)),
        V_SUB_I16 => |i, o, e| m2(i, o, |a, b| sat_i(s16(a) - s16(b), 16, e.clamp)),
        V_MUL_LO_U16 => |i, o, _| m2(i, o, |a, b| a.wrapping_mul(b) & 0xffff),
        V_LSHLREV_B16 => |i, o, _| m2(i, o, |a, b| b << (a & 15) & 0xffff),
        V_LSHRREV_B16 => |i, o, _| m2(i, o, |a, b| (b & 0xffff) >> (a & 15)),
        V_ASHRREV_I16 => |i, o, _| m2(i, o, |a, b| (s16(b) >> (a & 15)) as u32 & 0xffff),
        V_MAX_U16 => |i, o, _| m2(i, o, |a, b| z16(a).max(z16(b)) as u32),
        V_MAX_I16 => |i, o, _| m2(i, o, |a, b| s16(a).max(s16(b)) as u32 & 0xffff),
        V_MIN_U16 => |i, o, _| m2(i, o, |a, b| z16(a).min(z16(b)) as u32),
        V_MIN_I16 => |i, o, _| m2(i, o, |a, b| s16(a).min(s16(b)) as u32 & 0xffff),
        V_MAD_U16 | V_MAD_LEGACY_U16 => {
            |i, o, e| m3(i, o, |a, b, x| sat_u(z16(a) * z16(b) + z16(x), 16, e.clamp))
        }
        V_MAD_I16 | V_MAD_LEGACY_I16 => {
            |i, o, e| m3(i, o, |a, b, x| sat_i(s16(a) * s16(b) + s16(x), 16, e.clamp))
        }
        V_MAD_U32_U16 => |i, o, e| m3(i, o, |a, b, x| sat_u(z16(a) * z16(b) + i64::from(x), 32, e.clamp)),
        V_MAD_I32_I16 => {
            |i, o, e| m3(i, o, |a, b, x| sat_i(s16(a) * s16(b) + i64::from(x as i32), 32, e.clamp))
        }
        V_LDEXP_F16 => |i, o, e| {
            m2(i, o, |a, b| {
                fp::convert(F16, F16, u64::from(a & 0xffff), i32::from(b as i16).clamp(-100, 100), e.round64)
                    as u32
            })
        },
        V_MED3_F16 => |i, o, e| {
            m3(i, o, |a, b, c| fp::med3(F16, z16(a) as u64, z16(b) as u64, z16(c) as u64, e.ieee) as u32)
        },
        V_MIN3_I16 => |i, o, _| m3(i, o, |a, b, c| s16(a).min(s16(b)).min(s16(c)) as u32 & 0xffff),
        V_MAX3_I16 => |i, o, _| m3(i, o, |a, b, c| s16(a).max(s16(b)).max(s16(c)) as u32 & 0xffff),
        V_MED3_I16 => |i, o, _| m3(i, o, |a, b, c| med(s16(a), s16(b), s16(c)) as u32 & 0xffff),
        V_MIN3_U16 => |i, o, _| m3(i, o, |a, b, c| z16(a).min(z16(b)).min(z16(c)) as u32),
        V_MAX3_U16 => |i, o, _| m3(i, o, |a, b, c| z16(a).max(z16(b)).max(z16(c)) as u32),
        V_MED3_U16 => |i, o, _| m3(i, o, |a, b, c| med(z16(a), z16(b), z16(c)) as u32),
        V_DIV_FIXUP_F16 | V_DIV_FIXUP_LEGACY_F16 => |i, o, _| {
            m3(i, o, |a, b, c| fp::div_fixup(F16, z16(a) as u64, z16(b) as u64, z16(c) as u64) as u32)
        },
        V_CVT_F16_F32 => |i, o, e| m1(i, o, |a| fp::convert(F32, F16, a.into(), 0, e.round64) as u32),
        V_CVT_F16_U16 => |i, o, e| m1(i, o, |a| fp::from_int(F16, false, z(a), e.round64) as u32),
        V_CVT_F16_I16 => |i, o, e| {
            m1(i, o, |a| {
                fp::from_int(F16, (a as i16) < 0, (a as i16).unsigned_abs().into(), e.round64) as u32
            })
        },
        V_ADD_F16 => |i, o, e| m2(i, o, |a, b| add(a, b, e.round64)),
        V_SUB_F16 => |i, o, e| m2(i, o, |a, b| add(a, b ^ 0x8000, e.round64)),
        V_SUBREV_F16 => |i, o, e| m2(i, o, |a, b| add(b, a ^ 0x8000, e.round64)),
        V_MUL_F16 => |i, o, e| m2(i, o, |a, b| mul(a, b, e.round64)),
        V_FMA_F16 | V_FMA_LEGACY_F16 | V_FMAC_F16 | V_FMAMK_F16 | V_FMAAK_F16 => {
            |i, o, e| m3(i, o, |a, b, c| fma16(a, b, c, e.round64))
        }
        V_MAD_F16 | V_MAD_LEGACY_F16 | V_MAC_F16 | V_MADAK_F16 | V_MADMK_F16 => {
            |i, o, e| m3(i, o, |a, b, c| add(fp::flush16(mul(a, b, e.round64)), c, e.round64))
        }
        V_MIN3_F16 => |i, o, e| m3(i, o, |a, b, c| extreme3(a, b, c, false, e)),
        V_MAX3_F16 => |i, o, e| m3(i, o, |a, b, c| extreme3(a, b, c, true, e)),
        _ => return None,
    };
    Some(kernel)
}

fn extreme3(a: u32, b: u32, c: u32, max: bool, e: &Env) -> u32 {
    let ab = fp::min_max(F16, z(a), z(b), max, e.ieee);
    fp::min_max(F16, ab, z(c), max, e.ieee) as u32
}

/// `a + b` rounded to binary16.
pub(super) fn add(a: u32, b: u32, round: Round) -> u32 {
    if round != Round::Even {
        return fp::add(F16, z(a), z(b), round) as u32;
    }
    let (a, b) = (f16_to_f32(a), f16_to_f32(b));
    f32_to_f16(fp::nan2(a + b, a, b))
}

/// `a * b` rounded to binary16.
pub(super) fn mul(a: u32, b: u32, round: Round) -> u32 {
    if round != Round::Even {
        return fp::mul(F16, z(a), z(b), round) as u32;
    }
    let (a, b) = (f16_to_f32(a), f16_to_f32(b));
    f32_to_f16(fp::nan2(a * b, a, b))
}

#[inline(always)]
fn h1(i: &In<'_>, o: &mut Out, op: impl Fn(f32) -> f32) {
    m1(i, o, |a| f32_to_f16(fp::nan2(op(f16_to_f32(a)), f16_to_f32(a), 0.0)));
}
