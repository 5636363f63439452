//! Vector operations on 64-bit integers and binary64.

use super::int::{msad8, sad8};
use super::{Env, In, Kernel, Out, f, put_wide, w1, w2, w3};
use crate::fp::{self, F64, Round};
use crate::wave::MAX_LANES;
use mir::isa::Opcode;
use mir::isa::Opcode::*;

/// The operation of `op`; `None` for what is not in this file.
pub(super) fn kernel(op: Opcode) -> Option<Kernel> {
    let kernel: Kernel = match op {
        V_CVT_F64_F32 => |i, o, _| {
            w1(i, o, |a| {
                let x = f(a as u32);
                fp::nan2d(f64::from(x), f64::from(x), 0.0).to_bits()
            })
        },
        V_CVT_F64_I32 => |i, o, _| w1(i, o, |a| f64::from(a as u32 as i32).to_bits()),
        V_CVT_F64_U32 => |i, o, _| w1(i, o, |a| f64::from(a as u32).to_bits()),
        V_CVT_I32_F64 => |i, o, _| w1(i, o, |a| u64::from(f64::from_bits(a) as i32 as u32)),
        V_CVT_U32_F64 => |i, o, _| w1(i, o, |a| u64::from(cvt_u32(f64::from_bits(a)))),
        V_TRUNC_F64 => |i, o, _| d1(i, o, f64::trunc),
        V_CEIL_F64 => |i, o, _| d1(i, o, f64::ceil),
        V_RNDNE_F64 => |i, o, _| d1(i, o, f64::round_ties_even),
        V_FLOOR_F64 => |i, o, _| d1(i, o, f64::floor),
        V_FRACT_F64 => |i, o, _| {
            d1(i, o, |x| {
                let r = x - x.floor();
                if r.is_nan() { r } else { r.min(1.0 - f64::EPSILON / 2.0) }
            })
        },
        V_RCP_F64 => |i, o, _| d1(i, o, |x| 1.0 / x),
        V_RCP_CLAMP_F64 => |i, o, _| d1(i, o, |x| (1.0 / x).clamp(-f64::MAX, f64::MAX)),
        V_RSQ_F64 => |i, o, _| d1(i, o, |x| 1.0 / x.sqrt()),
        V_RSQ_CLAMP_F64 => |i, o, _| d1(i, o, |x| (1.0 / x.sqrt()).clamp(-f64::MAX, f64::MAX)),
        V_SQRT_F64 => |i, o, _| d1(i, o, f64::sqrt),
        V_FREXP_EXP_I32_F64 => |i, o, _| w1(i, o, |a| u64::from(fp::frexp_exp(F64, a) as u32)),
        V_FREXP_MANT_F64 => |i, o, _| w1(i, o, |a| fp::frexp_mant(F64, a)),
        V_MIN_F64 => |i, o, e| w2(i, o, |a, b| fp::min_max(F64, a, b, false, e.ieee)),
        V_MAX_F64 => |i, o, e| w2(i, o, |a, b| fp::min_max(F64, a, b, true, e.ieee)),
        V_LDEXP_F64 => |i, o, e| {
            w2(i, o, |a, b| fp::convert(F64, F64, a, (b as u32 as i32).clamp(-5000, 5000), e.round64))
        },
        V_DIV_FIXUP_F64 => |i, o, _| w3(i, o, |a, b, c| fp::div_fixup(F64, a, b, c)),
        V_LSHLREV_B64 => |i, o, _| w2(i, o, |a, b| b << (a & 63)),
        V_LSHRREV_B64 => |i, o, _| w2(i, o, |a, b| b >> (a & 63)),
        V_ASHRREV_I64 => |i, o, _| w2(i, o, |a, b| ((b as i64) >> (a & 63)) as u64),
        V_LSHL_B64 => |i, o, _| w2(i, o, |a, b| a << (b & 63)),
        V_LSHR_B64 => |i, o, _| w2(i, o, |a, b| a >> (b & 63)),
        V_ASHR_I64 => |i, o, _| w2(i, o, |a, b| ((a as i64) >> (b & 63)) as u64),
        V_TRIG_PREOP_F64 => |i, o, _| w2(i, o, |a, b| fp::trig_preop(a, b as u32)),
        V_ADD_F64 => |i, o, e| rounded2(i, o, e, |a, b| a + b, |a, b, r| fp::add(F64, a, b, r)),
        V_MUL_F64 => |i, o, e| rounded2(i, o, e, |a, b| a * b, |a, b, r| fp::mul(F64, a, b, r)),
        V_FMA_F64 => |i, o, e| {
            if e.round64 == Round::Even {
                w3(i, o, |a, b, c| {
                    fp::fma64(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits()
                });
            } else {
                w3(i, o, |a, b, c| fp::fma_exact(F64, F64, a, b, c, 0, e.round64));
            }
        },
        V_QSAD_PK_U16_U8 => |i, o, e| w3(i, o, |a, b, x| qsad(a, b as u32, x, sad8, e.clamp)),
        V_MQSAD_PK_U16_U8 => |i, o, e| w3(i, o, |a, b, x| qsad(a, b as u32, x, msad8, e.clamp)),
        V_DIV_SCALE_F64 => |i, o, _| {
            o.mask = 0;
            for l in 0..MAX_LANES {
                let (d, vcc) = fp::div_scale(F64, i.w(0, l), i.w(1, l), i.w(2, l));
                put_wide(o, l, d);
                o.mask |= u64::from(vcc) << l;
            }
        },
        V_DIV_FMAS_F64 => |i, o, e| {
            for l in 0..MAX_LANES {
                let vcc = i.mask >> l & 1 != 0;
                put_wide(o, l, fp::div_fmas(F64, i.w(0, l), i.w(1, l), i.w(2, l), vcc, e.round64));
            }
        },
        V_MAD_U64_U32 => |i, o, e| {
            mad64(i, o, |a, b, x| {
                let (d, over) = (u64::from(a) * u64::from(b)).overflowing_add(x);
                (if over && e.clamp { u64::MAX } else { d }, over)
            })
        },
        V_MAD_I64_I32 => |i, o, e| {
            mad64(i, o, |a, b, x| {
                let p = i64::from(a as i32) * i64::from(b as i32);
                let (d, over) = p.overflowing_add(x as i64);
                let saturated = if p < 0 { i64::MIN } else { i64::MAX };
                (if over && e.clamp { saturated } else { d } as u64, over)
            })
        },
        _ => return None,
    };
    Some(kernel)
}

#[inline(always)]
fn mad64(i: &In<'_>, o: &mut Out, op: impl Fn(u32, u32, u64) -> (u64, bool)) {
    o.mask = 0;
    for l in 0..MAX_LANES {
        let (d, over) = op(i.lo[0][l], i.lo[1][l], i.w(2, l));
        put_wide(o, l, d);
        o.mask |= u64::from(over) << l;
    }
}

/// Four sums of absolute differences of a sliding window of four bytes.
fn qsad(a: u64, reference: u32, sums: u64, sad: fn(u32, u32) -> u32, clamp: bool) -> u64 {
    (0..4).fold(0, |d, k| {
        let sum = u64::from(sad((a >> (8 * k)) as u32, reference)) + (sums >> (16 * k) & 0xffff);
        d | (if clamp { sum.min(0xffff) } else { sum & 0xffff }) << (16 * k)
    })
}

#[inline(always)]
fn d1(i: &In<'_>, o: &mut Out, op: impl Fn(f64) -> f64) {
    w1(i, o, |a| {
        let a = f64::from_bits(a);
        fp::nan2d(op(a), a, 0.0).to_bits()
    });
}

/// `host` where MODE rounds to nearest even, else `exact`.
#[inline(always)]
fn rounded2(
    i: &In<'_>,
    o: &mut Out,
    e: &Env,
    host: impl Fn(f64, f64) -> f64,
    exact: impl Fn(u64, u64, Round) -> u64,
) {
    if e.round64 == Round::Even {
        w2(i, o, |a, b| {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            fp::nan2d(host(a, b), a, b).to_bits()
        });
    } else {
        w2(i, o, |a, b| exact(a, b, e.round64));
    }
}

fn cvt_u32(x: f64) -> u32 {
    x as u32
}
