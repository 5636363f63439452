//! Operations that choose or take apart: minimum, maximum, median, class, mantissa and exponent.

use super::{Fmt, Round};

/// `v_min`/`v_max` on bit patterns of `fmt`: −0 is below +0; of a NaN and a number the number; with `ieee` a signalling NaN
/// wins and is made quiet.
pub fn min_max(fmt: Fmt, a: u64, b: u64, max: bool, ieee: bool) -> u64 {
    if ieee {
        for x in [a, b] {
            if fmt.is_snan(x) {
                return x | fmt.quiet_bit();
            }
        }
    }
    if fmt.is_nan(a) {
        return b;
    }
    if fmt.is_nan(b) {
        return a;
    }
    // Sign and magnitude made monotonic.
    let key = |x: u64| {
        let m = (x & !fmt.sign_bit()) as i64;
        if x & fmt.sign_bit() != 0 { -m - 1 } else { m }
    };
    if (key(a) > key(b)) == max { a } else { b }
}

/// `v_med3`.
pub fn med3(fmt: Fmt, a: u64, b: u64, c: u64, ieee: bool) -> u64 {
    let min = |x, y| min_max(fmt, x, y, false, ieee);
    let max = |x, y| min_max(fmt, x, y, true, ieee);
    if fmt.is_nan(a) || fmt.is_nan(b) || fmt.is_nan(c) {
        return min(min(a, b), c);
    }
    max(min(a, b), min(max(a, b), c))
}

/// The class mask of `v_cmp_class`: bit 0 signalling NaN, 1 quiet NaN, 2 −∞, 3 −normal, 4 −denormal, 5 −0, 6 +0, 7 +denormal, 8 +normal, 9 +∞.
pub fn class(fmt: Fmt, x: u64) -> u32 {
    let negative = x & fmt.sign_bit() != 0;
    let m = x & !fmt.sign_bit();
    if fmt.is_nan(x) {
        return if fmt.is_snan(x) { 1 } else { 2 };
    }
    let (neg, pos) = if m == fmt.infinity() {
        (2, 9)
    } else if m == 0 {
        (5, 6)
    } else if fmt.exponent(x) == 0 {
        (4, 7)
    } else {
        (3, 8)
    };
    1 << if negative { neg } else { pos }
}

/// `v_frexp_exp`: the exponent that makes the mantissa lie in [0.5, 1); 0 for 0, ∞ and NaN.
pub fn frexp_exp(fmt: Fmt, x: u64) -> i32 {
    let m = x & !fmt.sign_bit();
    if m == 0 || m >= fmt.infinity() {
        return 0;
    }
    let (_, e, m) = fmt.unpack(x);
    e + 64 - m.leading_zeros() as i32
}

/// `v_frexp_mant`.
pub fn frexp_mant(fmt: Fmt, x: u64) -> u64 {
    let m = x & !fmt.sign_bit();
    if m == 0 || m == fmt.infinity() {
        return x;
    }
    if fmt.is_nan(x) {
        return x | fmt.quiet_bit();
    }
    let (s, e, m) = fmt.unpack(x);
    fmt.pack(s, e - frexp_exp(fmt, x), u128::from(m), false, Round::Even)
}
