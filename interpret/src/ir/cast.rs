//! Conversions.
//!
//! In legal IR a conversion to an integer is the instruction that it becomes: it saturates and takes NaN to zero. As read, what does not fit is undefined.

use super::exec::{Cx, Step, Stop};
use super::float::format;
use super::layout::{ones, scalar_words, word_mask};
use super::regs::{MAX_LANES, lanes};
use super::wide;
use mir::ir::{AddrSpace, CastOp, Float, InstFlags, Scalar, Type, Value};
use num_bigint::{BigInt, BigUint};
use sim::fp::{self, Fmt, Round};

/// A number that is neither infinite nor NaN, cut to an integer, with what a float of 64 bits holds.
fn truncated(x: f64) -> BigInt {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64 - 1075;
    let mantissa = BigInt::from(bits & ((1 << 52) - 1) | 1 << 52);
    let magnitude = match exponent {
        0.. => mantissa << exponent as u64,
        -63..0 => mantissa >> (-exponent) as u64,
        _ => BigInt::default(),
    };
    if x < 0.0 { -magnitude } else { magnitude }
}

/// A float of any format as binary64, exactly.
pub fn to_f64(float: Float, x: u64) -> f64 {
    match float {
        Float::Double => f64::from_bits(x),
        Float::Single => f64::from(f32::from_bits(x as u32)),
        Float::BFloat => f64::from(f32::from_bits((x as u32) << 16)),
        Float::Half => f64::from(fp::f16_to_f32(x as u32)),
    }
}

/// An integer of any width rounded to a float.
pub fn from_big(to: Fmt, negative: bool, magnitude: &BigUint, round: Round) -> u64 {
    let bits = magnitude.bits();
    if bits <= 64 {
        return fp::from_int(to, negative, magnitude.iter_u64_digits().next().unwrap_or(0), round);
    }
    // The leading 62 bits and a sticky one, rounded where there is range enough, then scaled: exact but for overflow.
    let shift = bits - 62;
    let lead = magnitude >> shift;
    let sticky = u64::from((&lead << shift) != *magnitude);
    let lead = lead.iter_u64_digits().next().unwrap_or(0) << 1 | sticky;
    let wide = fp::from_int(Fmt { mant: to.mant, exp: 15.min(62 - to.mant) }, negative, lead, round);
    let scale = i32::try_from(shift - 1).unwrap_or(i32::MAX / 2).min(20_000);
    fp::convert(Fmt { mant: to.mant, exp: 15.min(62 - to.mant) }, to, wide, scale, round)
}

impl Cx<'_, '_> {
    /// A cast of a scalar or vector.
    pub fn cast(&mut self, op: CastOp, flags: InstFlags, arg: Value, ty: Type, dst: usize) -> Step<()> {
        if op == CastOp::BitCast {
            return self.bit_cast(arg, ty, dst);
        }
        let (from, to) = (self.scalar_of(self.ty(arg))?, self.scalar_of(ty)?);
        let (a, from_step, to_step) = (self.slot(arg), scalar_words(from), scalar_words(to));
        for i in 0..ty.lanes() as usize {
            let (d, a) = (dst + i * to_step, a + i * from_step);
            match op {
                CastOp::Trunc | CastOp::ZExt | CastOp::SExt => self.resize(op, flags, [to, from], d, a),
                CastOp::PtrToInt | CastOp::IntToPtr => {
                    let op = if to.bits() > from.bits() { CastOp::ZExt } else { CastOp::Trunc };
                    self.resize(op, InstFlags::empty(), [to, from], d, a);
                }
                CastOp::FpTrunc | CastOp::FpExt => self.convert_float([to, from], d, a)?,
                CastOp::FpToUi | CastOp::FpToSi => {
                    let (Scalar::Float(float), saturate) = (from, self.group.legal) else {
                        return mismatch();
                    };
                    self.float_to_int(float, op == CastOp::FpToSi, to.bits(), saturate, d, a);
                }
                CastOp::UiToFp | CastOp::SiToFp => {
                    let Scalar::Float(float) = to else { return mismatch() };
                    self.int_to_float(float, op == CastOp::SiToFp, from.bits(), d, a);
                    if flags.contains(InstFlags::NNEG) {
                        self.broken_sign(from, to, d, a);
                    }
                }
                CastOp::AddrSpaceCast => {
                    let (Scalar::Ptr(to), Scalar::Ptr(from)) = (to, from) else { return mismatch() };
                    self.cast_space(to, from, d, a)?;
                }
                CastOp::BitCast => {}
            }
        }
        Ok(())
    }

    fn resize(&mut self, op: CastOp, flags: InstFlags, [to, from]: [Scalar; 2], dst: usize, a: usize) {
        let (to_bits, from_bits) = (to.bits(), from.bits());
        let (to_words, from_words) = (scalar_words(to), scalar_words(from));
        for i in 0..to_words.min(from_words) {
            let width = word_mask(to_bits, i);
            if op == CastOp::Trunc && width != u64::MAX {
                let mut value = self.regs.v[a + i];
                value.iter_mut().for_each(|v| *v &= width);
                let any = self.regs.any(a + i) & self.mask;
                self.regs.write(dst + i, self.mask, &value);
                for l in lanes(any) {
                    let undef = self.regs.undef(a + i, l) & width;
                    self.regs.write_lane(dst + i, l, value[l], undef);
                }
            } else {
                self.regs.copy(dst + i, a + i, 1, self.mask);
            }
        }
        for i in from_words..to_words {
            self.regs.write(dst + i, self.mask, &[0; MAX_LANES]);
        }
        if op == CastOp::SExt {
            self.extend_sign([to_bits, from_bits], dst, a);
        }
        if op == CastOp::ZExt && flags.contains(InstFlags::NNEG) {
            self.broken_sign(from, to, dst, a);
        }
        if op == CastOp::Trunc && flags.intersects(InstFlags::NUW | InstFlags::NSW) {
            for l in lanes(self.mask) {
                let x = self.big(a, from_bits, l);
                if self.big_undef(a, from_bits, l) != BigUint::default() {
                    continue;
                }
                let cut = wide::cut(x.clone(), to_bits);
                let kept = wide::signed(&cut, to_bits) == wide::signed(&x, from_bits);
                if flags.contains(InstFlags::NUW) && cut != x || flags.contains(InstFlags::NSW) && !kept {
                    self.poison(dst, to, 1 << l);
                }
            }
        }
    }

    /// Spreads the sign bit of the integer at `a` over what `dst` has above it.
    fn extend_sign(&mut self, [to, from]: [u32; 2], dst: usize, a: usize) {
        let (word, bit) = ((from as usize - 1) / 64, (from - 1) % 64);
        for i in word..to.div_ceil(64) as usize {
            let above = if i == word { !ones(bit + 1) } else { u64::MAX } & word_mask(to, i);
            for l in lanes(self.mask) {
                let (sign, unknown) =
                    (self.regs.v[a + word][l] >> bit & 1, self.regs.undef(a + word, l) >> bit & 1);
                let (value, undef) = (self.regs.v[dst + i][l], self.regs.undef(dst + i, l));
                self.regs.write_lane(dst + i, l, value | (sign * above), undef | (unknown * above));
            }
        }
    }

    /// `nneg`: undefined where the operand is negative.
    fn broken_sign(&mut self, from: Scalar, to: Scalar, dst: usize, a: usize) {
        let (word, bit) = ((from.bits() as usize - 1) / 64, (from.bits() - 1) % 64);
        let broken = lanes(self.mask).filter(|&l| self.regs.v[a + word][l] >> bit & 1 != 0);
        let broken = broken.fold(0, |m, l| m | 1 << l);
        self.poison(dst, to, broken);
    }

    fn convert_float(&mut self, [to, from]: [Scalar; 2], dst: usize, a: usize) -> Step<()> {
        let (Scalar::Float(to), Scalar::Float(from)) = (to, from) else { return mismatch() };
        let (round, width) = (self.round(to), ones(to.bits()));
        let (flush_in, flush_out) = (self.flushes(from).0, self.flushes(to).1);
        let (in_fmt, out_fmt) = (format(from), format(to));
        self.map1(dst, a, width, |x| {
            let x = super::float::flush(in_fmt, x, flush_in);
            super::float::flush(out_fmt, fp::convert(in_fmt, out_fmt, x, 0, round), flush_out)
        });
        Ok(())
    }

    /// A float cut to an integer of `bits` bits. What does not fit saturates, NaN is zero; without `saturate` both are undefined.
    pub fn float_to_int(
        &mut self,
        float: Float,
        signed: bool,
        bits: u32,
        saturate: bool,
        dst: usize,
        a: usize,
    ) {
        let scalar = Scalar::Int(bits);
        // Seen before the result is written, which may be in the operand's place.
        let undefined = lanes(self.regs.any(a)).filter(|&l| self.regs.undef(a, l) != 0);
        let undefined = undefined.fold(0, |m, l| m | 1 << l);
        let mut outside = 0;
        for l in lanes(self.mask) {
            let x = to_f64(float, self.regs.v[a][l]);
            if bits <= 64 && x.is_finite() && x.abs() < 9.0e18 {
                let value = x as i64;
                let (least, most) = if signed {
                    (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
                } else {
                    (0, (1i128 << bits) - 1)
                };
                let clamped = i128::from(value).clamp(least, most);
                outside |= u64::from(clamped != i128::from(value)) << l;
                self.regs.write_lane(dst, l, clamped as u64 & ones(bits), 0);
                continue;
            }
            let limit = BigInt::from(1u8) << if signed { bits - 1 } else { bits };
            let most = &limit - 1u8;
            let least = if signed { -limit } else { BigInt::default() };
            let value = if x.is_nan() {
                outside |= 1 << l;
                BigInt::default()
            } else {
                let value = match x.is_infinite() {
                    true if x > 0.0 => &most + 1u8,
                    true => &least - 1u8,
                    false => truncated(x),
                };
                outside |= u64::from(value > most || value < least) << l;
                value.clamp(least, most)
            };
            self.put_big(dst, bits, l, &wide::unsigned(&value, bits), &BigUint::default());
        }
        if !saturate {
            self.poison(dst, scalar, outside);
        }
        self.poison(dst, scalar, undefined);
    }

    fn int_to_float(&mut self, float: Float, signed: bool, bits: u32, dst: usize, a: usize) {
        let (fmt, round, width) = (format(float), self.round(float), ones(float.bits()));
        if bits <= 64 {
            return self.map1(dst, a, width, |x| {
                let negative = signed && x >> (bits - 1) & 1 != 0;
                let magnitude = if negative { super::int::sext(x, bits).wrapping_neg() } else { x };
                fp::from_int(fmt, negative, magnitude, round)
            });
        }
        for l in lanes(self.mask) {
            let x = self.big(a, bits, l);
            let negative = signed && x.bit(u64::from(bits) - 1);
            let magnitude = if negative { (BigUint::from(1u8) << bits) - &x } else { x };
            self.regs.write_lane(dst, l, from_big(fmt, negative, &magnitude, round), 0);
        }
        self.undefined_from(dst, Scalar::Float(float), &[(a, bits)]);
    }

    /// The bits of a value in another grouping.
    fn bit_cast(&mut self, arg: Value, ty: Type, dst: usize) -> Step<()> {
        let (from, from_elements) = self.elements(arg)?;
        let to = self.scalar_of(ty)?;
        if from.bits() == to.bits() {
            self.regs.copy(dst, self.slot(arg), self.flat.words_of(arg), self.mask);
            return Ok(());
        }
        let total = from.bits() as usize * from_elements.len();
        let (mut value, mut undef) = (vec![0u64; total.div_ceil(64)], vec![0u64; total.div_ceil(64)]);
        for l in lanes(self.mask) {
            value.fill(0);
            undef.fill(0);
            for (i, &at) in from_elements.iter().enumerate() {
                for word in 0..scalar_words(from) {
                    let bit = i * from.bits() as usize + 64 * word;
                    or_bits(&mut value, bit, self.regs.v[at + word][l]);
                    or_bits(&mut undef, bit, self.regs.undef(at + word, l));
                }
            }
            for i in 0..ty.lanes() as usize {
                for word in 0..scalar_words(to) {
                    let (bit, width) = (i * to.bits() as usize + 64 * word, word_mask(to.bits(), word));
                    let at = dst + i * scalar_words(to) + word;
                    let (value, undef) = (bits_at(&value, bit) & width, bits_at(&undef, bit) & width);
                    self.regs.write_lane(at, l, value, undef);
                }
            }
        }
        Ok(())
    }

    /// A pointer in another address space.
    pub fn cast_space(&mut self, to: AddrSpace, from: AddrSpace, dst: usize, a: usize) -> Step<()> {
        let segment = |space| matches!(space, AddrSpace::LOCAL | AddrSpace::PRIVATE);
        let high = u64::from(match if segment(from) { from } else { to } {
            AddrSpace::LOCAL => self.group.launch.shared_aperture,
            _ => self.group.launch.private_aperture,
        }) << 32;
        let width = ones(to.pointer_bits());
        match (to, from) {
            _ if to.pointer_bits() > 64 || from.pointer_bits() > 64 => {
                if to.pointer_bits() != from.pointer_bits() {
                    return self.cast_fat(to, from, dst, a);
                }
                let words = to.pointer_bits().div_ceil(64) as usize;
                self.regs.copy(dst, a, words, self.mask);
            }
            (AddrSpace::FLAT, _) if segment(from) => {
                // The null pointers of LDS and scratch are all ones.
                self.map1(dst, a, width, |x| if x == 0xffff_ffff { 0 } else { high | x });
            }
            (_, AddrSpace::FLAT) if segment(to) => {
                self.map1(dst, a, width, |x| if x == 0 { 0xffff_ffff } else { x });
            }
            (_, AddrSpace::CONSTANT_32BIT) => {
                let high = super::memory::constant_high(self.f);
                self.map1(dst, a, width, |x| high | x);
            }
            _ => self.map1(dst, a, width, |x| x),
        }
        Ok(())
    }
}

fn mismatch<T>() -> Step<T> {
    Err(Stop::new(super::Cause::Malformed("a cast between types that do not fit".to_owned())))
}

/// Puts the bits of `word` at `bit` of a stream.
fn or_bits(stream: &mut [u64], bit: usize, word: u64) {
    let (at, shift) = (bit / 64, bit % 64);
    if let Some(slot) = stream.get_mut(at) {
        *slot |= word << shift;
    }
    if let (1.., Some(slot)) = (shift, stream.get_mut(at + 1)) {
        *slot |= word >> (64 - shift);
    }
}

/// 64 bits from `bit` of a stream on; zero behind its end.
fn bits_at(stream: &[u64], bit: usize) -> u64 {
    let (at, shift) = (bit / 64, bit % 64);
    let word = |i: usize| stream.get(i).copied().unwrap_or(0);
    if shift == 0 { word(at) } else { word(at) >> shift | word(at + 1) << (64 - shift) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::fp::{F16, F32, F64};

    #[test]
    fn wide_integers_round_once() {
        let mut rng = fastrand::Rng::with_seed(4);
        for _ in 0..20_000 {
            let x = rng.u128(..) >> rng.u32(0..100);
            let big = BigUint::from(x);
            assert_eq!(from_big(F64, false, &big, Round::Even), (x as f64).to_bits());
            assert_eq!(from_big(F32, false, &big, Round::Even), u64::from((x as f32).to_bits()));
        }
        assert_eq!(from_big(F32, true, &(BigUint::from(1u8) << 200u32), Round::Even), 0xff80_0000);
        assert_eq!(from_big(F32, false, &(BigUint::from(1u8) << 200u32), Round::Zero), 0x7f7f_ffff);
        assert_eq!(from_big(F16, false, &(BigUint::from(1u8) << 70u32), Round::Even), 0x7c00);
        assert_eq!(
            from_big(F64, false, &(BigUint::from(1u8) << 1000u32), Round::Even),
            2f64.powi(1000).to_bits()
        );
    }

    #[test]
    fn floats_are_cut_exactly() {
        assert_eq!(truncated(-3.99), BigInt::from(-3));
        assert_eq!(truncated(0.5), BigInt::default());
        assert_eq!(truncated(1e-300), BigInt::default());
        assert_eq!(truncated(2f64.powi(100)), BigInt::from(1u8) << 100u32);
        assert_eq!(truncated(2_251_799_813_685_249.5), BigInt::from(2_251_799_813_685_249u64));
    }
}
