//! The steps of division and of range reduction.

use super::{F16, F64, Fmt, Round, convert, fma_exact};

/// 2/π as a fraction: the bits after the binary point, highest word first. Computed from Machin's formula.
pub static TWO_OVER_PI: [u64; 19] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
];

/// `v_div_scale`: the scaled operand and whether `v_div_fmas` must scale back.
///
/// Source: Vega ISA, "V_DIV_SCALE_F32" and "_F64": s0 is the operand to scale, s1 the denominator, s2 the numerator. Where both
/// 1/s1 and s2/s1 are denormal the manual scales the denominator up, which would overflow; it must go down (ERRATA E3).
pub fn div_scale(fmt: Fmt, s0: u64, s1: u64, s2: u64) -> (u64, bool) {
    let (gap, up, low) = if fmt == F64 { (768, 128, 53) } else { (96, 64, 23) };
    let scaled = |by| convert(fmt, fmt, s0, by, Round::Even);
    let zero = |x: u64| x & !fmt.sign_bit() == 0;
    if zero(s2) || zero(s1) {
        return (fmt.nan(), false);
    }
    let (e1, e2) = (fmt.exponent(s1), fmt.exponent(s2));
    let top = fmt.exp_max() as i32;
    let finite = e1 != top && e2 != top;
    // 1/s1 and s2/s1 are denormal: decided on the exact quotients.
    let inverse_denormal = finite && e1 != 0 && inverse_is_denormal(fmt, s1);
    let quotient_denormal = finite && quotient_is_denormal(fmt, s2, s1);
    if e2 - e1 >= gap {
        (if s0 == s1 { scaled(up) } else { s0 }, true)
    } else if fmt.is_denormal(s1) {
        (scaled(up), false)
    } else if inverse_denormal && quotient_denormal {
        (if s0 == s1 { scaled(-up) } else { s0 }, true)
    } else if inverse_denormal {
        (scaled(-up), false)
    } else if quotient_denormal {
        (if s0 == s2 { scaled(up) } else { s0 }, true)
    } else if e2 <= low {
        (scaled(up), false)
    } else {
        (s0, false)
    }
}

fn inverse_is_denormal(fmt: Fmt, x: u64) -> bool {
    // |x| > 2^(bias - 1), that is 1/|x| below the smallest normal 2^(1 - bias).
    let (_, e, m) = fmt.unpack(x);
    let power = e + fmt.mant as i32;
    power > fmt.bias() - 1 || power == fmt.bias() - 1 && m != 1 << fmt.mant
}

fn quotient_is_denormal(fmt: Fmt, n: u64, d: u64) -> bool {
    let (_, en, mn) = fmt.unpack(n);
    let (_, ed, md) = fmt.unpack(d);
    if mn == 0 || md == 0 {
        return false;
    }
    let (zn, zd) = (mn.leading_zeros() as i32, md.leading_zeros() as i32);
    let power = (en - zn) - (ed - zd) - i32::from(mn << zn < md << zd);
    power < 1 - fmt.bias()
}

/// `v_div_fmas`: a fused multiply-add whose result is scaled back where `vcc` is set.
///
/// The manuals give one factor (2^32 and 2^64), which cannot undo both of `v_div_scale`'s scalings; the quotient's own
/// exponent (`s2`'s) tells which way it must go, by the factor that `v_div_scale` used (ERRATA E2).
pub fn div_fmas(fmt: Fmt, s0: u64, s1: u64, s2: u64, vcc: bool, round: Round) -> u64 {
    let by = if fmt == F64 { 128 } else { 64 };
    let scale = match (vcc, fmt.exponent(s2) > fmt.bias()) {
        (false, _) => 0,
        (true, true) => by,
        (true, false) => -by,
    };
    fma_exact(fmt, fmt, s0, s1, s2, scale, round)
}

/// `v_div_fixup`: the special cases of `s2 / s1`, else the quotient `s0` with the right sign.
pub fn div_fixup(fmt: Fmt, s0: u64, s1: u64, s2: u64) -> u64 {
    let sign = (s1 ^ s2) & fmt.sign_bit();
    let abs = |x: u64| x & !fmt.sign_bit();
    let inf = fmt.infinity();
    if fmt.is_nan(s2) {
        return s2 | fmt.quiet_bit();
    }
    if fmt.is_nan(s1) {
        return s1 | fmt.quiet_bit();
    }
    if abs(s1) == 0 && abs(s2) == 0 || abs(s1) == inf && abs(s2) == inf {
        return fmt.nan() | fmt.sign_bit();
    }
    if abs(s1) == 0 || abs(s2) == inf {
        return sign | inf;
    }
    if abs(s1) == inf || abs(s2) == 0 {
        return sign;
    }
    if fmt != F16 && fmt.exponent(s2) - fmt.exponent(s1) < if fmt == F64 { -1075 } else { -150 } {
        return sign;
    }
    if fmt.is_nan(s0) {
        return sign | inf;
    }
    sign | abs(s0)
}

/// `v_trig_preop_f64`: the part of 2/π, 53 bits wide, that segment `s1` of the reduction of `s0` needs.
///
/// Source: Vega ISA, "V_TRIG_PREOP_F64".
pub fn trig_preop(s0: u64, s1: u32) -> u64 {
    let e = F64.exponent(s0);
    let mut shift = (s1 & 31) as i32 * 53;
    if e > 1077 {
        shift += e - 1077;
    }
    let bit = |i: i32| -> u64 {
        usize::try_from(i / 64).ok().and_then(|w| TWO_OVER_PI.get(w)).map_or(0, |w| w >> (63 - i % 64) & 1)
    };
    let mut mant = 0u64;
    for i in shift..shift + 53 {
        mant = mant << 1 | bit(i);
    }
    let scale = -53 - shift + if e >= 1968 { 128 } else { 0 };
    F64.pack(false, scale, u128::from(mant), false, Round::Even)
}
