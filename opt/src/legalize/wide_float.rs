//! Conversions between floating point and integers of more than 64 bits.
//!
//! Towards floating point, the leading bits of the magnitude with a sticky last one are converted and scaled:
//! they round as all bits would. Towards integers everything is exact: the significand of a double is shifted
//! by its exponent.

use super::{Legalizer, Parts};
use mir::Result;
use mir::ir::*;

impl Legalizer<'_> {
    pub(super) fn wide_to_float(
        &mut self,
        words: &[Value],
        bits: u32,
        signed: bool,
        float: Float,
    ) -> Result<Value> {
        let n = words.len() as u32;
        let clean = self.wide_clean(words, bits, signed);
        let top = clean[clean.len() - 1];
        let sign = self.b.ashr_imm(top, 63);
        let magnitude = if signed { self.wide_negate_if(&clean, sign) } else { clean };
        let zeros = self.wide_zeros(true, &magnitude, 64 * n, false);
        // A shift by the whole width, where there is no bit at all, leaves what it leaves of zero.
        let wide_zeros = self.b.cast(CastOp::ZExt, zeros, Type::I64);
        let normal = self.wide_shift(BinaryOp::Shl, &magnitude, wide_zeros, 64 * n);
        let (rest, high) = normal.split_at(normal.len() - 1);
        let mut below = self.b.int(Type::I64, 0);
        for &word in rest {
            below = self.b.or(below, word);
        }
        let result = if float == Float::Double {
            let sticky = self.b.icmp_imm(IntPredicate::Ne, below, 0);
            let sticky = self.b.cast(CastOp::ZExt, sticky, Type::I64);
            let leading = self.b.or(high[0], sticky);
            let value = self.int_to_float(&[leading], 64, false, Float::Double)?;
            self.scaled_by_zeros(value, 64 * n - 64, zeros)
        } else {
            // 32 bits are exact in a double, and enough for one rounding to anything narrower.
            let (low, high) = self.b.split64(high[0]);
            let low = self.b.cast(CastOp::ZExt, low, Type::I64);
            let below = self.b.or(below, low);
            let sticky = self.b.icmp_imm(IntPredicate::Ne, below, 0);
            let sticky = self.b.cast(CastOp::ZExt, sticky, Type::I32);
            let leading = self.b.or(high, sticky);
            let value = self.b.cast(CastOp::UiToFp, leading, Type::F64);
            let value = self.scaled_by_zeros(value, 64 * n - 32, zeros);
            self.resize_float(value, Float::Double, float)?
        };
        if !signed {
            return Ok(result);
        }
        let negative = self.b.icmp_imm(IntPredicate::Slt, sign, 0);
        let minus = self.narrow_op(float, &[result], |this, v| Ok(this.b.fneg(v[0])))?;
        Ok(self.b.select(negative, minus, result))
    }

    /// `value * 2^(most - zeros)` of a double.
    fn scaled_by_zeros(&mut self, value: Value, most: u32, zeros: Value) -> Value {
        let most = self.b.i32(most);
        let exponent = self.b.sub(most, zeros);
        self.b.intrinsic(Intrinsic::Ldexp, &[value, exponent], Type::F64)
    }

    /// Rounds towards zero; what does not fit is undefined.
    pub(super) fn float_to_wide(&mut self, x: Value, float: Float, signed: bool, bits: u32) -> Result<Parts> {
        let n = bits.div_ceil(64) as usize;
        let x = if float == Float::Double { x } else { self.resize_float(x, float, Float::Double)? };
        let pattern = self.b.bitcast(x, Type::I64);
        let (_, high) = self.b.split64(pattern);
        let exponent = self.b.lshr_imm(high, 20);
        let exponent = self.b.and_imm(exponent, 0x7ff);
        // The significand as an integer counts 2^-52 of the value's power of two.
        let shift = self.b.add_imm(exponent, -1075);
        let significand = self.b.and_imm(pattern, (1 << 52) - 1);
        let hidden = self.b.int(Type::I64, 1 << 52);
        let significand = self.b.or(significand, hidden);
        let left = self.b.icmp_imm(IntPredicate::Sge, shift, 0);
        let down = self.b.neg(shift);
        let most = self.b.i32(63);
        let down = self.b.intrinsic(Intrinsic::Umin, &[down, most], Type::I32);
        let down = self.b.cast(CastOp::ZExt, down, Type::I64);
        let small = self.b.binary(BinaryOp::LShr, significand, down);
        let zero = self.b.int(Type::I64, 0);
        let mut words: Parts = std::iter::repeat_n(zero, n).collect();
        words[0] = significand;
        let up = self.b.cast(CastOp::ZExt, shift, Type::I64);
        let large = self.wide_shift(BinaryOp::Shl, &words, up, 64 * n as u32);
        words[0] = small;
        let magnitude: Parts = large.iter().zip(&words).map(|(&l, &s)| self.b.select(left, l, s)).collect();
        if !signed {
            return Ok(magnitude);
        }
        let sign = self.b.ashr_imm(pattern, 63);
        Ok(self.wide_negate_if(&magnitude, sign))
    }

    /// The nearest integer towards zero; not a number is 0.
    pub(super) fn float_to_wide_saturating(
        &mut self,
        x: Value,
        float: Float,
        signed: bool,
        bits: u32,
    ) -> Result<Parts> {
        let n = bits.div_ceil(64) as usize;
        let x = if float == Float::Double { x } else { self.resize_float(x, float, Float::Double)? };
        let exact = self.float_to_wide(x, Float::Double, signed, bits)?;
        let used = if signed { bits - 1 } else { bits };
        // Beyond the range of doubles only infinity is too large.
        let power = if used < 1024 { 2f64.powi(used as i32) } else { f64::INFINITY };
        let (above, below) = (self.b.f64(power), self.b.f64(if signed { -power } else { 0.0 }));
        let largest = self.wide_ones(used, n);
        let smallest: Parts = if signed {
            largest.iter().map(|&word| self.b.not(word)).collect()
        } else {
            let zero = self.b.int(Type::I64, 0);
            std::iter::repeat_n(zero, n).collect()
        };
        let high = self.b.fcmp(FloatPredicate::Oge, x, above);
        let low = self.b.fcmp(FloatPredicate::Olt, x, below);
        let nan = self.b.fcmp(FloatPredicate::Uno, x, x);
        let zero = self.b.int(Type::I64, 0);
        Ok((0..n)
            .map(|i| {
                let word = self.b.select(high, largest[i], exact[i]);
                let word = self.b.select(low, smallest[i], word);
                self.b.select(nan, zero, word)
            })
            .collect())
    }
}
