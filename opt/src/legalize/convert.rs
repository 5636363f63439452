//! Conversions between floating point and integers of up to 64 bits.
//!
//! The hardware converts 32 bits. An i64 is normalised first: what is cut off leaves a sticky last bit, so
//! that the conversion of the leading digits rounds as one of all of them would, and `ldexp` puts the
//! exponent back. In the other direction two conversions of 32 bits make an i64. Wider integers are in
//! `wide_float`.

use super::{Legalizer, Parts};
use mir::ir::*;
use mir::{Diagnostic, Result};

impl Legalizer<'_> {
    pub(super) fn int_to_float(
        &mut self,
        words: &[Value],
        bits: u32,
        signed: bool,
        float: Float,
    ) -> Result<Value> {
        let op = if signed { CastOp::SiToFp } else { CastOp::UiToFp };
        let ty = Type::Scalar(Scalar::Float(float));
        if bits > 64 {
            return self.wide_to_float(words, bits, signed, float);
        }
        let Some(&x) = words.first() else { return Err(Diagnostic::malformed("conversion of no value")) };
        if bits == 1 {
            let one = self
                .b
                .float(if float == Float::BFloat { Type::F32 } else { ty }, if signed { -1.0 } else { 1.0 });
            let one =
                if float == Float::BFloat { self.resize_float(one, Float::Single, float)? } else { one };
            let zero = self.b.zero(ty);
            return Ok(self.b.select(x, one, zero));
        }
        let clean = if signed { self.sign_extended(x, bits) } else { self.zero_extended(x, bits) };
        if float == Float::Half && self.has_16bit() {
            let known = if signed { self.b.signed_bits(clean) } else { self.b.unsigned_bits(clean) };
            if known <= 16 {
                let narrow = match signed {
                    true => self.b.sext_or_trunc(clean, Type::I16),
                    false => self.b.zext_or_trunc(clean, Type::I16),
                };
                return Ok(self.b.cast(op, narrow, Type::F16));
            }
        }
        if self.b.bits(clean) <= 32 {
            let clean = if signed {
                self.b.sext_or_trunc(clean, Type::I32)
            } else {
                self.b.zext_or_trunc(clean, Type::I32)
            };
            return match float {
                Float::Single | Float::Double => Ok(self.b.cast(op, clean, ty)),
                // Integers in half's range are exact in binary32: only one of the roundings counts.
                Float::Half => {
                    let single = self.b.cast(op, clean, Type::F32);
                    self.resize_float(single, Float::Single, float)
                }
                Float::BFloat => {
                    let double = self.b.cast(op, clean, Type::F64);
                    self.resize_float(double, Float::Double, float)
                }
            };
        }
        // 64 bits that fit into 32.
        if !signed && self.b.unsigned_bits(clean) <= 32 || signed && self.b.signed_bits(clean) <= 32 {
            let low = self.b.cast(CastOp::Trunc, clean, Type::I32);
            return self.int_to_float(&[low], 32, signed, float);
        }
        match float {
            Float::Double => {
                let (low, high) = self.b.split64(clean);
                let high = self.b.cast(op, high, Type::F64);
                let low = self.b.cast(CastOp::UiToFp, low, Type::F64);
                let thirty_two = self.b.i32(32);
                let high = self.b.intrinsic(Intrinsic::Ldexp, &[high, thirty_two], Type::F64);
                Ok(self.b.fadd(high, low))
            }
            // Integers in half's range are exact in binary32; bfloat's are not, so binary32 is rounded to
            // odd.
            Float::Single | Float::Half | Float::BFloat => {
                let single = self.long_to_single(clean, signed, float == Float::BFloat);
                self.resize_float(single, Float::Single, float)
            }
        }
    }

    /// i64 to binary32: the leading 32 bits with a sticky last one are converted, then scaled back. With
    /// `odd`, 24 of them, which are exact.
    fn long_to_single(&mut self, x: Value, signed: bool, odd: bool) -> Value {
        if signed && !odd {
            return self.signed_long_to_single(x);
        }
        let sign = self.b.ashr_imm(x, 63);
        let magnitude = if signed {
            let sum = self.b.add(x, sign);
            self.b.xor(sum, sign)
        } else {
            x
        };
        let (_, high) = self.b.split64(magnitude);
        let yes = self.b.bool(true);
        let zeros = self.b.intrinsic(Intrinsic::Ctlz, &[high, yes], Type::I32);
        let limit = self.b.i32(32);
        let zeros = self.b.intrinsic(Intrinsic::Umin, &[zeros, limit], Type::I32);
        let amount = self.b.cast(CastOp::ZExt, zeros, Type::I64);
        let normal = self.b.binary(BinaryOp::Shl, magnitude, amount);
        let value = self.digits_to_single(normal, odd);
        let exponent = self.b.sub(limit, zeros);
        let value = self.b.intrinsic(Intrinsic::Ldexp, &[value, exponent], Type::F32);
        if !signed {
            return value;
        }
        let negative = self.b.fneg(value);
        let is_negative = self.b.icmp_imm(IntPredicate::Slt, x, 0);
        self.b.select(is_negative, negative, value)
    }

    /// The same of a number with a sign: the instruction that converts 32 bits takes them as they are, so copies of the sign are shifted out, but for one. Where
    /// the upper half is nothing else, 32 bits can go if the lower half starts with the sign, too.
    ///
    /// Source of the idea: LLVM's `AMDGPUTargetLowering::LowerINT_TO_FP32`.
    fn signed_long_to_single(&mut self, x: Value) -> Value {
        let (low, high) = self.b.split64(x);
        let differ = self.b.xor(low, high);
        let differ = self.b.ashr_imm(differ, 31);
        let thirty_two = self.b.i32(32);
        let limit = self.b.add(thirty_two, differ);
        // -1 of a half that is all signs: then much.
        let first_digit = self.b.intrinsic(Intrinsic::Sffbh, &[high], Type::I32);
        let minus_one = self.b.i32(u32::MAX);
        let copies = self.b.add(first_digit, minus_one);
        let shift = self.b.intrinsic(Intrinsic::Umin, &[copies, limit], Type::I32);
        let amount = self.b.cast(CastOp::ZExt, shift, Type::I64);
        let digits = self.b.binary(BinaryOp::Shl, x, amount);
        let (low, high) = self.b.split64(digits);
        let one = self.b.i32(1);
        let sticky = self.b.intrinsic(Intrinsic::Umin, &[low, one], Type::I32);
        let digits = self.b.or(high, sticky);
        let value = self.b.cast(CastOp::SiToFp, digits, Type::F32);
        let exponent = self.b.sub(thirty_two, shift);
        self.b.intrinsic(Intrinsic::Ldexp, &[value, exponent], Type::F32)
    }

    /// The high dword of `digits`, with a sticky last bit for the low one, in binary32; with `odd` so that
    /// nothing is rounded.
    fn digits_to_single(&mut self, digits: Value, odd: bool) -> Value {
        let (low, high) = self.b.split64(digits);
        let one = self.b.i32(1);
        let sticky = self.b.intrinsic(Intrinsic::Umin, &[low, one], Type::I32);
        let mut digits = self.b.or(high, sticky);
        if odd {
            // 24 bits at bit 8, the last of them sticky.
            let cut = self.b.and_imm(digits, 0xff);
            let kept = self.b.and_imm(digits, 0xffff_ff00);
            let lost = self.b.icmp_imm(IntPredicate::Ne, cut, 0);
            let marked = self.b.i32(0x100);
            let marked = self.b.or(kept, marked);
            let exact = self.b.select(lost, marked, kept);
            // Small numbers in the low half (no leading one at the top) are exact as they are.
            let normal = self.b.icmp_imm(IntPredicate::Slt, digits, 0);
            digits = self.b.select(normal, exact, digits);
        }
        self.b.cast(CastOp::UiToFp, digits, Type::F32)
    }

    pub(super) fn float_to_int(&mut self, x: Value, float: Float, signed: bool, bits: u32) -> Result<Parts> {
        let op = if signed { CastOp::FpToSi } else { CastOp::FpToUi };
        if float == Float::Half && bits > 32 {
            // None is beyond 65504.
            let x = self.resize_float(x, float, Float::Single)?;
            let integer = self.b.cast(op, x, Type::I32);
            let first = self.b.cast(if signed { CastOp::SExt } else { CastOp::ZExt }, integer, Type::I64);
            let rest = if signed { self.b.ashr_imm(first, 63) } else { self.b.int(Type::I64, 0) };
            let more = bits.div_ceil(64) as usize - 1;
            return Ok(std::iter::once(first).chain(std::iter::repeat_n(rest, more)).collect());
        }
        if bits > 64 {
            return self.float_to_wide(x, float, signed, bits);
        }
        let wide = !matches!(float, Float::Single | Float::Double);
        let x = if wide { self.resize_float(x, float, Float::Single)? } else { x };
        if bits <= 32 {
            // In range means that the signed conversion agrees, which also takes -0.x and narrow widths.
            let integer = self.b.cast(op, x, Type::I32);
            if bits == 1 {
                let bit = self.b.and_imm(integer, 1);
                return Ok(Parts::from_slice(&[self.b.icmp_imm(IntPredicate::Ne, bit, 0)]));
            }
            let carrier = self.carrier(bits);
            return Ok(Parts::from_slice(&[self.b.zext_or_trunc(integer, carrier)]));
        }
        Ok(Parts::from_slice(&[self.float_to_long(x, signed)?]))
    }

    /// Two conversions of 32 bits each: floor(x / 2^32) and the rest. binary32 has too few digits for the
    /// rest of a negative number, so its sign is taken out first.
    pub(super) fn float_to_long(&mut self, x: Value, signed: bool) -> Result<Value> {
        let ty = self.b.ty(x);
        let truncated = self.round_value(Intrinsic::Trunc, x)?;
        let by_sign = signed && ty == Type::F32;
        let magnitude = if by_sign { self.b.fabs(truncated) } else { truncated };
        let down = self.b.float(ty, 2f64.powi(-32));
        let up = self.b.float(ty, -4294967296.0);
        let high = self.b.fmul(magnitude, down);
        let high = self.round_value(Intrinsic::Floor, high)?;
        let low = self.b.fma(high, up, magnitude);
        let op = if signed && !by_sign { CastOp::FpToSi } else { CastOp::FpToUi };
        let high = self.b.cast(op, high, Type::I32);
        let low = self.b.cast(CastOp::FpToUi, low, Type::I32);
        let whole = self.b.join64(low, high);
        if !by_sign {
            return Ok(whole);
        }
        let bits = self.b.bitcast(x, Type::I32);
        let sign = self.b.ashr_imm(bits, 31);
        let sign = self.b.cast(CastOp::SExt, sign, Type::I64);
        let flipped = self.b.xor(whole, sign);
        Ok(self.b.sub(flipped, sign))
    }
}
