//! Floating-point arithmetic as the hardware does it, bit by bit.
//!
//! The fast paths are the host's operations, which are IEEE 754 with rounding to nearest even; NaN results are made to look
//! like AMD's (the first NaN operand made quiet, else the positive default NaN). Everything else goes through [`fma_exact`], an exact
//! sum `a * b + c` of any format that is rounded once, in any rounding mode, to any format and scale.
//!
//! Denormals are flushed by the callers, which know MODE; the functions here keep them.

/// A binary interchange format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fmt {
    /// Bits of the mantissa without the hidden one.
    pub mant: u32,
    /// Bits of the exponent.
    pub exp: u32,
}

/// binary16.
pub const F16: Fmt = Fmt { mant: 10, exp: 5 };
/// binary32.
pub const F32: Fmt = Fmt { mant: 23, exp: 8 };
/// binary64.
pub const F64: Fmt = Fmt { mant: 52, exp: 11 };

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

/// Rounding modes, by their number in MODE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// To nearest, ties to even.
    Even,
    /// Towards +∞.
    Up,
    /// Towards −∞.
    Down,
    /// Towards zero.
    Zero,
}

impl Round {
    /// From the two bits of MODE.
    pub fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::Even,
            1 => Self::Up,
            2 => Self::Down,
            _ => Self::Zero,
        }
    }
}

impl Fmt {
    fn bias(self) -> i32 {
        (1 << (self.exp - 1)) - 1
    }

    fn exp_max(self) -> u64 {
        (1 << self.exp) - 1
    }

    fn sign_bit(self) -> u64 {
        1 << (self.mant + self.exp)
    }

    /// Positive infinity.
    pub fn infinity(self) -> u64 {
        self.exp_max() << self.mant
    }

    /// The default NaN: quiet, positive.
    pub fn nan(self) -> u64 {
        self.infinity() | self.quiet_bit()
    }

    fn quiet_bit(self) -> u64 {
        1 << (self.mant - 1)
    }

    /// Whether it is a NaN.
    pub fn is_nan(self, x: u64) -> bool {
        x & !self.sign_bit() > self.infinity()
    }

    /// Whether it is a signalling NaN.
    pub fn is_snan(self, x: u64) -> bool {
        self.is_nan(x) && x & self.quiet_bit() == 0
    }

    /// The biased exponent.
    pub fn exponent(self, x: u64) -> i32 {
        ((x >> self.mant) & self.exp_max()) as i32
    }

    /// Whether it is a denormal number (not zero).
    pub fn is_denormal(self, x: u64) -> bool {
        self.exponent(x) == 0 && x & (self.quiet_bit() * 2 - 1) != 0
    }

    /// Sign, exponent of the lowest mantissa bit, mantissa; of a finite number.
    fn unpack(self, x: u64) -> (bool, i32, u64) {
        let e = self.exponent(x);
        let m = x & ((1 << self.mant) - 1);
        let sign = x & self.sign_bit() != 0;
        if e == 0 {
            (sign, 1 - self.bias() - self.mant as i32, m)
        } else {
            (sign, e - self.bias() - self.mant as i32, m | 1 << self.mant)
        }
    }

    /// Rounds `mant * 2^exp` (plus something smaller than its lowest bit, if `sticky`) to this format.
    fn pack(self, sign: bool, mut exp: i32, mut mant: u128, mut sticky: bool, round: Round) -> u64 {
        let s = if sign { self.sign_bit() } else { 0 };
        if mant == 0 {
            return s;
        }
        // Leave two bits below the format's lowest bit; what is shifted out becomes sticky.
        let top = 127 - mant.leading_zeros() as i32;
        let min_exp = 1 - self.bias() - self.mant as i32;
        let want = (exp + top - self.mant as i32).max(min_exp) - 2;
        if want > exp {
            let shift = (want - exp) as u32;
            if shift > 127 {
                sticky = true;
                mant = 0;
            } else {
                sticky |= mant & ((1u128 << shift) - 1) != 0;
                mant >>= shift;
            }
        } else {
            mant <<= (exp - want) as u32;
        }
        exp = want + 2;
        let rest = (mant & 3) as u32 * 2 + u32::from(sticky);
        let mut m = (mant >> 2) as u64;
        let up = match round {
            Round::Even => rest > 4 || rest == 4 && m & 1 == 1,
            Round::Up => !sign && rest != 0,
            Round::Down => sign && rest != 0,
            Round::Zero => false,
        };
        m += u64::from(up);
        if m >> (self.mant + 1) != 0 {
            m >>= 1;
            exp += 1;
        }
        let biased = if m >> self.mant == 0 { 0 } else { exp + self.bias() + self.mant as i32 };
        if biased >= self.exp_max() as i32 {
            let to_inf = match round {
                Round::Even => true,
                Round::Up => !sign,
                Round::Down => sign,
                Round::Zero => false,
            };
            return s | (self.infinity() - u64::from(!to_inf));
        }
        s | (biased as u64) << self.mant | m & ((1 << self.mant) - 1)
    }
}

/// `(a * b + c) * 2^scale` exactly, rounded once to `to`. Operands are in `from`.
pub fn fma_exact(from: Fmt, to: Fmt, a: u64, b: u64, c: u64, scale: i32, round: Round) -> u64 {
    for x in [a, b, c] {
        if from.is_nan(x) {
            return convert_nan(from, to, x);
        }
    }
    let (inf, sign_bit) = (from.infinity(), from.sign_bit());
    let sign = (a ^ b) & sign_bit != 0;
    let abs = |x: u64| x & !sign_bit;
    if abs(a) == inf || abs(b) == inf {
        if abs(a) == 0 || abs(b) == 0 || abs(c) == inf && (c & sign_bit != 0) != sign {
            return to.nan();
        }
        return to.infinity() | if sign { to.sign_bit() } else { 0 };
    }
    if abs(c) == inf {
        return to.infinity() | if c & sign_bit != 0 { to.sign_bit() } else { 0 };
    }
    let (_, ea, ma) = from.unpack(a);
    let (_, eb, mb) = from.unpack(b);
    let (sc, ec, mc) = from.unpack(c);
    let product = u128::from(ma) * u128::from(mb);
    if product == 0 && mc == 0 {
        let negative = if sign == sc { sign } else { round == Round::Down };
        return if negative { to.sign_bit() } else { 0 };
    }
    if product == 0 {
        return to.pack(sc, ec + scale, u128::from(mc), false, round);
    }
    if mc == 0 {
        return to.pack(sign, ea + eb + scale, product, false, round);
    }
    // Put the highest bit of each at bit 124, then shift the smaller one down.
    let norm = |m: u128, e: i32| {
        let shift = m.leading_zeros() as i32 - 3;
        (m << shift, e - shift)
    };
    let (mp, ep) = norm(product, ea + eb);
    let (mc, ec) = norm(u128::from(mc), ec);
    let ((sb, mb, eb), (ss, ms, es)) =
        if (ep, mp) >= (ec, mc) { ((sign, mp, ep), (sc, mc, ec)) } else { ((sc, mc, ec), (sign, mp, ep)) };
    let shift = (eb - es) as u32;
    let (small, sticky) =
        if shift > 127 { (0, true) } else { (ms >> shift, ms & ((1u128 << shift) - 1) != 0) };
    if sb == ss {
        return to.pack(sb, eb + scale, mb + small, sticky, round);
    }
    let diff = mb - small - u128::from(sticky);
    if diff == 0 && !sticky {
        return if round == Round::Down { to.sign_bit() } else { 0 };
    }
    to.pack(sb, eb + scale, diff, sticky, round)
}

fn convert_nan(from: Fmt, to: Fmt, x: u64) -> u64 {
    let sign = if x & from.sign_bit() != 0 { to.sign_bit() } else { 0 };
    let m = x & ((1 << from.mant) - 1);
    let m = if to.mant >= from.mant { m << (to.mant - from.mant) } else { m >> (from.mant - to.mant) };
    sign | to.nan() | m
}

/// `x * 2^scale` rounded to `to`.
pub fn convert(from: Fmt, to: Fmt, x: u64, scale: i32, round: Round) -> u64 {
    let one = (from.bias() as u64) << from.mant;
    // A zero of x's own sign keeps the sign of zero results.
    fma_exact(from, to, x, one, x & from.sign_bit(), scale, round)
}

/// The integer `m`, negative if `sign`, rounded to `to`.
pub fn from_int(to: Fmt, sign: bool, m: u64, round: Round) -> u64 {
    if m == 0 { 0 } else { to.pack(sign, 0, u128::from(m), false, round) }
}

/// binary16 to binary32, exact.
#[inline]
pub fn f16_to_f32(h: u32) -> f32 {
    let sign = (h & 0x8000) << 16;
    let e = (h >> 10) & 0x1f;
    let m = h & 0x3ff;
    let magnitude = if e == 0 {
        return f32::from_bits(sign | (m as f32 * (1.0 / 16_777_216.0)).to_bits());
    } else if e == 31 {
        0x7f80_0000 | m << 13
    } else {
        (e + 112) << 23 | m << 13
    };
    f32::from_bits(sign | magnitude)
}

/// binary32 to binary16, to nearest even.
#[inline]
pub fn f32_to_f16(x: f32) -> u32 {
    convert(F32, F16, u64::from(x.to_bits()), 0, Round::Even) as u32
}

/// binary64 to binary16, to nearest even.
#[inline]
pub fn f64_to_f16(x: f64) -> u32 {
    convert(F64, F16, x.to_bits(), 0, Round::Even) as u32
}

/// `result`, or where that is a NaN the NaN that the hardware makes of `a` and `b`.
#[inline]
pub fn nan2(result: f32, a: f32, b: f32) -> f32 {
    if result.is_nan() { nan3(a, b, 0.0) } else { result }
}

#[inline]
fn nan3(a: f32, b: f32, c: f32) -> f32 {
    let quiet = |x: f32| f32::from_bits(x.to_bits() | 0x40_0000);
    if a.is_nan() {
        quiet(a)
    } else if b.is_nan() {
        quiet(b)
    } else if c.is_nan() {
        quiet(c)
    } else {
        f32::from_bits(0x7fc0_0000)
    }
}

/// The same for binary64.
#[inline]
pub fn nan2d(result: f64, a: f64, b: f64) -> f64 {
    if result.is_nan() { nan3d(a, b, 0.0) } else { result }
}

#[inline]
fn nan3d(a: f64, b: f64, c: f64) -> f64 {
    let quiet = |x: f64| f64::from_bits(x.to_bits() | 1 << 51);
    if a.is_nan() {
        quiet(a)
    } else if b.is_nan() {
        quiet(b)
    } else if c.is_nan() {
        quiet(c)
    } else {
        f64::from_bits(0x7ff8_0000_0000_0000)
    }
}

/// Fused multiply-add.
#[inline]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    let r = a.mul_add(b, c);
    if r.is_nan() { nan3(a, b, c) } else { r }
}

/// Fused multiply-add of binary64.
#[inline]
pub fn fma64(a: f64, b: f64, c: f64) -> f64 {
    let r = a.mul_add(b, c);
    if r.is_nan() { nan3d(a, b, c) } else { r }
}

/// Flushes a denormal to zero of its sign.
#[inline]
pub fn flush32(x: u32) -> u32 {
    if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x }
}

/// Flushes a binary16 denormal.
#[inline]
pub fn flush16(x: u32) -> u32 {
    if x & 0x7c00 == 0 { x & 0x8000 } else { x }
}

/// Flushes a binary64 denormal.
#[inline]
pub fn flush64(x: u64) -> u64 {
    if x & 0x7ff0_0000_0000_0000 == 0 { x & 1 << 63 } else { x }
}

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

/// `v_div_scale`: the scaled operand and whether `v_div_fmas` must scale back.
///
/// Source: Vega ISA, "V_DIV_SCALE_F32" and "_F64": s0 is the operand to scale, s1 the denominator, s2 the numerator. Where both
/// 1/s1 and s2/s1 are denormal the manual scales the denominator up, which would overflow; it must go down.
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
/// exponent (`s2`'s) tells which way it must go, by the factor that `v_div_scale` used.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn exact_fma_agrees_with_the_host() {
        let mut s = 88172645463325252;
        for _ in 0..200_000 {
            let (a, b, c) = (random(&mut s) as u32, random(&mut s) as u32, random(&mut s) as u32);
            // Bring exponents together so that sums cancel.
            let c = if c & 1 == 0 {
                c
            } else {
                (f32::from_bits(a) * f32::from_bits(b)).to_bits() ^ 0x8000_0000 ^ (c >> 28)
            };
            let want = fma(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits();
            let got = fma_exact(F32, F32, a.into(), b.into(), c.into(), 0, Round::Even) as u32;
            assert_eq!(got, want, "{a:08x} * {b:08x} + {c:08x}");
        }
        for _ in 0..100_000 {
            let (a, b, c) = (random(&mut s), random(&mut s), random(&mut s));
            let c = if c & 1 == 0 {
                c
            } else {
                (f64::from_bits(a) * f64::from_bits(b)).to_bits() ^ 1 << 63 ^ (c >> 60)
            };
            let want = fma64(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits();
            assert_eq!(fma_exact(F64, F64, a, b, c, 0, Round::Even), want, "{a:x} {b:x} {c:x}");
        }
    }

    #[test]
    fn conversions_agree_with_the_host() {
        let mut s = 7;
        for _ in 0..100_000 {
            let a = random(&mut s);
            let want = f64::from_bits(a) as f32;
            if !want.is_nan() {
                assert_eq!(convert(F64, F32, a, 0, Round::Even) as u32, want.to_bits());
            }
            assert_eq!(from_int(F32, false, a, Round::Even) as u32, (a as f32).to_bits());
        }
        for h in 0..0x10000u32 {
            let x = f16_to_f32(h);
            if !x.is_nan() {
                assert_eq!(f32_to_f16(x), h);
            }
        }
        assert_eq!(convert(F32, F16, 0x3f80_1fff, 0, Round::Zero), 0x3c00);
        assert_eq!(convert(F32, F16, 0x3f80_1fff, 0, Round::Up), 0x3c01);
        assert_eq!(convert(F32, F16, 0x7f00_0000, 0, Round::Zero), 0x7bff);
    }

    /// The whole sequence of scale, reciprocal, refinement, fmas and fixup divides correctly, at the edges too.
    #[test]
    fn division_sequence_is_correctly_rounded() {
        let mut s = 3;
        for i in 0..200_000 {
            let (mut n, mut d) = (random(&mut s) as u32, random(&mut s) as u32);
            if i % 4 == 1 {
                n &= 0x80ff_ffff;
            }
            if i % 4 == 2 {
                d |= 0x7e00_0000;
            }
            let (nf, df) = (f32::from_bits(n), f32::from_bits(d));
            let (ds, _) = div_scale(F32, d.into(), d.into(), n.into());
            let (ns, vcc) = div_scale(F32, n.into(), d.into(), n.into());
            let (dsf, nsf) = (f32::from_bits(ds as u32), f32::from_bits(ns as u32));
            let r = 1.0 / dsf;
            let e = fma(-dsf, r, 1.0);
            let r = fma(e, r, r);
            let q = nsf * r;
            let e = fma(-dsf, q, nsf);
            let q = fma(e, r, q);
            let e = fma(-dsf, q, nsf);
            let q =
                div_fmas(F32, e.to_bits().into(), r.to_bits().into(), q.to_bits().into(), vcc, Round::Even);
            let q = f32::from_bits(div_fixup(F32, q, d.into(), n.into()) as u32);
            let want = nf / df;
            assert!(q == want || q.is_nan() && want.is_nan(), "{nf:e} / {df:e} = {q:e}, not {want:e}");
        }
    }

    #[test]
    fn minimum_and_class() {
        let b = |x: f32| u64::from(x.to_bits());
        assert_eq!(min_max(F32, b(0.0), b(-0.0), false, true), b(-0.0));
        assert_eq!(min_max(F32, b(f32::NAN), b(2.0), true, true), b(2.0));
        assert_eq!(min_max(F32, 0x7f80_0001, b(2.0), true, true), 0x7fc0_0001);
        assert_eq!(med3(F32, b(3.0), b(1.0), b(2.0), true), b(2.0));
        assert_eq!(class(F32, b(-1.0)), 8);
        assert_eq!(class(F64, 1), 1 << 7);
        assert_eq!(frexp_exp(F32, b(8.0)), 4);
        assert_eq!(frexp_mant(F32, b(8.0)), b(0.5));
        assert_eq!(frexp_exp(F32, 1), -148);
        // The first segment of 2/π is its 53 highest bits.
        let want = std::f64::consts::FRAC_2_PI;
        assert!((f64::from_bits(trig_preop(1f64.to_bits(), 0)) - want).abs() < 1e-15);
    }
}
