//! Floating-point arithmetic as the hardware does it, bit by bit.
//!
//! The fast paths are the host's operations, which are IEEE 754 with rounding to nearest even; NaN results are made to look
//! like AMD's (the first NaN operand made quiet, else the positive default NaN). Everything else goes through [`fma_exact`], an exact
//! sum `a * b + c` of any format that is rounded once, in any rounding mode, to any format and scale.
//!
//! Denormals are flushed by the callers, which know MODE; the functions here keep them.

mod divide;
mod host;
mod select;

pub use divide::{div_fixup, div_fmas, div_scale, trig_preop};
pub use host::{
    f16_to_f32, f32_to_f16, f64_to_f16, flush16, flush32, flush64, fma, fma32_parts, fma64, nan2, nan2d,
};
pub use select::{class, frexp_exp, frexp_mant, med3, min_max};

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

    /// The sign bit.
    pub fn sign_bit(self) -> u64 {
        1 << (self.mant + self.exp)
    }

    /// The number 1.
    pub fn one(self) -> u64 {
        (self.bias() as u64) << self.mant
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

/// `a + b` in `fmt`.
pub fn add(fmt: Fmt, a: u64, b: u64, round: Round) -> u64 {
    fma_exact(fmt, fmt, a, fmt.one(), b, 0, round)
}

/// `a * b` in `fmt`.
pub fn mul(fmt: Fmt, a: u64, b: u64, round: Round) -> u64 {
    // A zero of the product's own sign keeps the sign of zero products.
    fma_exact(fmt, fmt, a, b, (a ^ b) & fmt.sign_bit(), 0, round)
}

#[cfg(test)]
mod tests;
