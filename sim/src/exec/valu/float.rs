//! Vector operations on binary32.
//!
//! Rounding to nearest even is the host's; other modes go through the exact sums of [`fp`].

use super::{Env, In, Kernel, Out, f, m1, m2, m3, mad, norm16, sin_turns, unorm16};
use crate::fp::{self, F16, F32, F64, Round, f16_to_f32};
use crate::wave::MAX_LANES;
use mir::isa::Opcode;
use mir::isa::Opcode::*;

/// The operation of `op`; `None` for what is not in this file.
pub(super) fn kernel(op: Opcode) -> Option<Kernel> {
    let kernel: Kernel = match op {
        V_CVT_U32_F32 => |i, o, _| m1(i, o, |a| f(a) as u32),
        V_CVT_I32_F32 => |i, o, _| m1(i, o, |a| f(a) as i32 as u32),
        V_CVT_RPI_I32_F32 => |i, o, _| m1(i, o, |a| (f64::from(f(a)) + 0.5).floor() as i32 as u32),
        V_CVT_FLR_I32_F32 => |i, o, _| m1(i, o, |a| f(a).floor() as i32 as u32),
        V_CVT_OFF_F32_I4 => |i, o, _| m1(i, o, |a| (((a << 28) as i32 >> 28) as f32 / 16.0).to_bits()),
        V_CVT_F32_UBYTE0 => |i, o, _| m1(i, o, |a| ((a & 255) as f32).to_bits()),
        V_CVT_F32_UBYTE1 => |i, o, _| m1(i, o, |a| ((a >> 8 & 255) as f32).to_bits()),
        V_CVT_F32_UBYTE2 => |i, o, _| m1(i, o, |a| ((a >> 16 & 255) as f32).to_bits()),
        V_CVT_F32_UBYTE3 => |i, o, _| m1(i, o, |a| ((a >> 24) as f32).to_bits()),
        V_CVT_F32_F16 => |i, o, _| m1(i, o, |a| fp::nan2(f16_to_f32(a), f16_to_f32(a), 0.0).to_bits()),
        V_FRACT_F32 => |i, o, _| f1(i, o, fract),
        V_TRUNC_F32 => |i, o, _| f1(i, o, f32::trunc),
        V_CEIL_F32 => |i, o, _| f1(i, o, f32::ceil),
        V_RNDNE_F32 => |i, o, _| f1(i, o, f32::round_ties_even),
        V_FLOOR_F32 => |i, o, _| f1(i, o, f32::floor),
        V_EXP_F32 | V_EXP_LEGACY_F32 => |i, o, _| f1(i, o, |x| f64::from(x).exp2() as f32),
        V_LOG_F32 | V_LOG_LEGACY_F32 => |i, o, _| f1(i, o, |x| f64::from(x).log2() as f32),
        V_LOG_CLAMP_F32 => |i, o, _| {
            f1(i, o, |x| {
                let r = f64::from(x).log2() as f32;
                if r == f32::NEG_INFINITY { -f32::MAX } else { r }
            })
        },
        V_RCP_F32 | V_RCP_IFLAG_F32 => |i, o, _| f1(i, o, |x| 1.0 / x),
        V_RCP_CLAMP_F32 => |i, o, _| f1(i, o, |x| (1.0 / x).clamp(-f32::MAX, f32::MAX)),
        V_RCP_LEGACY_F32 => |i, o, _| f1(i, o, |x| if x == 0.0 { 0.0 } else { 1.0 / x }),
        V_RSQ_F32 => |i, o, _| f1(i, o, |x| (1.0 / f64::from(x).sqrt()) as f32),
        V_RSQ_CLAMP_F32 => |i, o, _| {
            f1(i, o, |x| (1.0 / f64::from(x).sqrt()).clamp(-f64::from(f32::MAX), f64::from(f32::MAX)) as f32)
        },
        V_RSQ_LEGACY_F32 => {
            |i, o, _| f1(i, o, |x| if x == 0.0 { 0.0 } else { (1.0 / f64::from(x).sqrt()) as f32 })
        }
        V_SQRT_F32 => |i, o, _| f1(i, o, f32::sqrt),
        V_SIN_F32 => |i, o, e| f1(i, o, |x| sin_turns(x, false, e.any_turns)),
        V_COS_F32 => |i, o, e| f1(i, o, |x| sin_turns(x, true, e.any_turns)),
        V_FREXP_EXP_I32_F32 => |i, o, _| m1(i, o, |a| fp::frexp_exp(F32, a.into()) as u32),
        V_FREXP_MANT_F32 => |i, o, _| m1(i, o, |a| fp::frexp_mant(F32, a.into()) as u32),
        V_MIN_F32 => |i, o, e| m2(i, o, |a, b| fp::min_max(F32, a.into(), b.into(), false, e.ieee) as u32),
        V_MAX_F32 => |i, o, e| m2(i, o, |a, b| fp::min_max(F32, a.into(), b.into(), true, e.ieee) as u32),
        V_MIN_LEGACY_F32 => |i, o, _| m2(i, o, |a, b| if f(a) < f(b) { a } else { b }),
        V_MAX_LEGACY_F32 => |i, o, _| m2(i, o, |a, b| if f(a) >= f(b) { a } else { b }),
        V_LDEXP_F32 => |i, o, e| m2(i, o, |a, b| ldexp32(a, b as i32, e.round32)),
        V_CVT_PKNORM_I16_F32 => |i, o, _| m2(i, o, |a, b| norm16(f(a)) | norm16(f(b)) << 16),
        V_CVT_PKNORM_U16_F32 => |i, o, _| m2(i, o, |a, b| unorm16(f(a)) | unorm16(f(b)) << 16),
        V_CVT_PKRTZ_F16_F32 => |i, o, _| {
            m2(i, o, |a, b| {
                let h = |x: u32| fp::convert(F32, F16, x.into(), 0, Round::Zero) as u32;
                h(a) | h(b) << 16
            })
        },
        V_MED3_F32 => {
            |i, o, e| m3(i, o, |a, b, c| fp::med3(F32, a.into(), b.into(), c.into(), e.ieee) as u32)
        }
        V_DIV_FIXUP_F32 => {
            |i, o, _| m3(i, o, |a, b, c| fp::div_fixup(F32, a.into(), b.into(), c.into()) as u32)
        }
        V_CUBEID_F32 => |i, o, _| m3(i, o, |a, b, c| cube(f(a), f(b), f(c)).0.to_bits()),
        V_CUBESC_F32 => |i, o, _| m3(i, o, |a, b, c| cube(f(a), f(b), f(c)).1.to_bits()),
        V_CUBETC_F32 => |i, o, _| m3(i, o, |a, b, c| cube(f(a), f(b), f(c)).2.to_bits()),
        V_CUBEMA_F32 => |i, o, _| m3(i, o, |a, b, c| cube(f(a), f(b), f(c)).3.to_bits()),
        V_ADD_F32 => |i, o, e| rounded2(i, o, e, |a, b| a + b, |a, b, r| fp::add(F32, a, b, r)),
        V_SUB_F32 => |i, o, e| rounded2(i, o, e, |a, b| a - b, |a, b, r| fp::add(F32, a, b ^ SIGN, r)),
        V_SUBREV_F32 => |i, o, e| rounded2(i, o, e, |a, b| b - a, |a, b, r| fp::add(F32, b, a ^ SIGN, r)),
        V_MUL_F32 => |i, o, e| rounded2(i, o, e, |a, b| a * b, |a, b, r| fp::mul(F32, a, b, r)),
        V_MUL_LEGACY_F32 => |i, o, e| rounded2(i, o, e, legacy_mul, legacy_mul_exact),
        V_FMA_F32 | V_FMAC_F32 | V_FMAMK_F32 | V_FMAAK_F32 => |i, o, e| {
            if e.round32 == Round::Even {
                m3(i, o, |a, b, c| fp::fma32_parts(f(a), f(b), f(c)).to_bits());
                fix_nans(i, o, 3);
            } else {
                m3(i, o, |a, b, c| {
                    fp::fma_exact(F32, F32, a.into(), b.into(), c.into(), 0, e.round32) as u32
                });
            }
        },
        V_MAD_F32 | V_MAC_F32 | V_MADAK_F32 | V_MADMK_F32 => |i, o, e| {
            if e.round32 == Round::Even {
                m3(i, o, |a, b, c| mad(f(a), f(b), f(c)).to_bits());
                fix_nans(i, o, 3);
            } else {
                m3(i, o, |a, b, c| {
                    let p = fp::flush32(fp::mul(F32, a.into(), b.into(), e.round32) as u32);
                    fp::add(F32, p.into(), c.into(), e.round32) as u32
                });
            }
        },
        // Zero times anything is zero.
        V_FMA_LEGACY_F32 | V_FMAC_LEGACY_F32 => |i, o, e| {
            m3(i, o, |a, b, c| {
                if f(a) == 0.0 || f(b) == 0.0 {
                    fp::add(F32, 0, c.into(), e.round32) as u32
                } else {
                    fp::fma_exact(F32, F32, a.into(), b.into(), c.into(), 0, e.round32) as u32
                }
            })
        },
        V_MAD_LEGACY_F32 | V_MAC_LEGACY_F32 => |i, o, e| {
            m3(i, o, |a, b, c| {
                let p = fp::flush32(legacy_mul_exact(a.into(), b.into(), e.round32) as u32);
                fp::add(F32, p.into(), c.into(), e.round32) as u32
            })
        },
        V_CVT_F32_I32 => |i, o, e| {
            if e.round32 == Round::Even {
                m1(i, o, |a| (a as i32 as f32).to_bits());
            } else {
                m1(i, o, |a| {
                    fp::from_int(F32, (a as i32) < 0, (a as i32).unsigned_abs().into(), e.round32) as u32
                });
            }
        },
        V_CVT_F32_U32 => |i, o, e| {
            if e.round32 == Round::Even {
                m1(i, o, |a| (a as f32).to_bits());
            } else {
                m1(i, o, |a| fp::from_int(F32, false, a.into(), e.round32) as u32);
            }
        },
        V_CVT_F32_F64 => |i, o, e| {
            for l in 0..MAX_LANES {
                o.lo[l] = fp::convert(F64, F32, i.w(0, l), 0, e.round32) as u32;
            }
        },
        V_CVT_PK_U8_F32 | V_CVT_PKACCUM_U8_F32 => |i, o, e| {
            m3(i, o, |a, b, x| {
                let shift = (b & 3) * 8;
                x & !(0xff << shift) | u8_of(f(a), e.round32) << shift
            })
        },
        V_MIN3_F32 => |i, o, e| m3(i, o, |a, b, c| extreme3(a, b, c, false, e.ieee)),
        V_MAX3_F32 => |i, o, e| m3(i, o, |a, b, c| extreme3(a, b, c, true, e.ieee)),
        V_DIV_SCALE_F32 => |i, o, _| {
            o.mask = 0;
            for l in 0..MAX_LANES {
                let [a, b, c] = i.lo.map(|s| u64::from(s[l]));
                let (d, vcc) = fp::div_scale(F32, a, b, c);
                o.lo[l] = d as u32;
                o.mask |= u64::from(vcc) << l;
            }
        },
        V_DIV_FMAS_F32 => |i, o, e| {
            for l in 0..MAX_LANES {
                let [a, b, c] = i.lo.map(|s| u64::from(s[l]));
                o.lo[l] = fp::div_fmas(F32, a, b, c, i.mask >> l & 1 != 0, e.round32) as u32;
            }
        },
        V_MULLIT_F32 => |i, o, e| {
            m3(i, o, |a, b, c| {
                let (y, z) = (f(b), f(c));
                if y.is_nan() || z.is_nan() || y <= -f32::MAX || z <= 0.0 {
                    (-f32::MAX).to_bits()
                } else {
                    legacy_mul_exact(a.into(), b.into(), e.round32) as u32
                }
            })
        },
        _ => return None,
    };
    Some(kernel)
}

const SIGN: u64 = 0x8000_0000;

/// Makes NaN results look like the hardware's, in the rare case that there are any.
#[inline(always)]
fn fix_nans(i: &In<'_>, o: &mut Out, sources: usize) {
    let nan = |x: u32| x & 0x7fff_ffff > 0x7f80_0000;
    if !o.lo.iter().fold(false, |any, x| any | nan(*x)) {
        return;
    }
    for l in 0..MAX_LANES {
        if nan(o.lo[l]) {
            let source = (0..sources).map(|k| i.lo[k][l]).find(|x| nan(*x));
            o.lo[l] = source.map_or(0x7fc0_0000, |x| x | 0x40_0000);
        }
    }
}

#[inline(always)]
fn f1(i: &In<'_>, o: &mut Out, op: impl Fn(f32) -> f32) {
    m1(i, o, |a| op(f(a)).to_bits());
    fix_nans(i, o, 1);
}

/// `host` where MODE rounds to nearest even, else `exact`.
#[inline(always)]
fn rounded2(
    i: &In<'_>,
    o: &mut Out,
    e: &Env,
    host: impl Fn(f32, f32) -> f32,
    exact: impl Fn(u64, u64, Round) -> u64,
) {
    if e.round32 == Round::Even {
        m2(i, o, |a, b| host(f(a), f(b)).to_bits());
        fix_nans(i, o, 2);
    } else {
        m2(i, o, |a, b| exact(a.into(), b.into(), e.round32) as u32);
    }
}

fn extreme3(a: u32, b: u32, c: u32, max: bool, ieee: bool) -> u32 {
    let ab = fp::min_max(F32, a.into(), b.into(), max, ieee);
    fp::min_max(F32, ab, c.into(), max, ieee) as u32
}

fn ldexp32(x: u32, n: i32, round: Round) -> u32 {
    fp::convert(F32, F32, u64::from(x), n.clamp(-1000, 1000), round) as u32
}

fn fract(x: f32) -> f32 {
    let r = x - x.floor();
    if r.is_nan() { r } else { r.min(0.999_999_94) }
}

/// A float as a byte, by the rounding mode, clamped.
fn u8_of(x: f32, round: Round) -> u32 {
    let r = match round {
        Round::Even => x.round_ties_even(),
        Round::Up => x.ceil(),
        Round::Down => x.floor(),
        Round::Zero => x.trunc(),
    };
    u32::from(r as u8)
}

fn cube(x: f32, y: f32, z: f32) -> (f32, f32, f32, f32) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    if az >= ax && az >= ay {
        if z < 0.0 { (5.0, -x, -y, 2.0 * z) } else { (4.0, x, -y, 2.0 * z) }
    } else if ay >= ax {
        if y < 0.0 { (3.0, x, -z, 2.0 * y) } else { (2.0, x, z, 2.0 * y) }
    } else if x < 0.0 {
        (1.0, z, -y, 2.0 * x)
    } else {
        (0.0, -z, -y, 2.0 * x)
    }
}

/// A product in which zero wins over infinity and NaN.
fn legacy_mul(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

fn legacy_mul_exact(a: u64, b: u64, round: Round) -> u64 {
    if (a | SIGN) == SIGN || (b | SIGN) == SIGN { 0 } else { fp::mul(F32, a, b, round) }
}
