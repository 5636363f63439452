//! Elementary functions from the hardware's base-2 approximations.
//!
//! `v_exp_f32`, `v_log_f32`, `v_sin_f32` are accurate to about 1 ulp over limited ranges and flush denormals;
//! what is around them here extends ranges and, without `afn`, precision (products with constants split in
//! two). Constants are the binary32 roundings of ln 2, log2 e and so on and of what the rounding left over.

use super::Legalizer;
use crate::bits::sext64;
use mir::ir::*;
use mir::{Diagnostic, Result};

/// A constant as a sum of two binary32 numbers.
struct Split {
    high: f32,
    low: f32,
}

impl Split {
    fn new(value: f64) -> Self {
        let high = value as f32;
        Self { high, low: (value - f64::from(high)) as f32 }
    }
}

impl Legalizer<'_> {
    /// `exp`, `log`, `sin` and their kin in one format.
    pub(super) fn elementary(&mut self, intrinsic: Intrinsic, x: Value, float: Float) -> Result<Value> {
        use Intrinsic::*;
        match float {
            Float::Double => Err(Diagnostic::unsupported(format!(
                "llvm.{} of double, which has no expansion",
                intrinsic.name()
            ))),
            Float::Half | Float::BFloat => {
                if float == Float::Half
                    && let Some(result) = self.elementary_half(intrinsic, x)
                {
                    return Ok(result);
                }
                // binary32 approximations are more than exact enough, and half has no numbers that they
                // flush.
                let wide = self.resize_float(x, float, Float::Single)?;
                let (flags, ignores) = (self.flags, self.ignores_denormals);
                if float == Float::Half {
                    self.flags |= InstFlags::AFN;
                    self.ignores_denormals = true;
                }
                let result = self.elementary(intrinsic, wide, Float::Single);
                (self.flags, self.ignores_denormals) = (flags, ignores);
                self.resize_float(result?, Float::Single, float)
            }
            Float::Single => Ok(match intrinsic {
                Exp2 => self.exp2(x),
                Exp => self.exp(x, std::f64::consts::LOG2_E, (-103.972_08, 88.722_84)),
                Exp10 => self.exp(x, std::f64::consts::LOG2_10, (-45.154_5, 38.531_84)),
                Log2 => self.log2(x),
                Log => self.log(x, std::f64::consts::LN_2),
                Log10 => self.log(x, std::f64::consts::LOG10_2),
                Sin => self.trigonometric(AmdgcnSin, x),
                Cos => self.trigonometric(AmdgcnCos, x),
                Tan => {
                    let (sine, cosine) = (self.trigonometric(AmdgcnSin, x), self.trigonometric(AmdgcnCos, x));
                    return self.float_divide(sine, cosine);
                }
                _ => return Err(Diagnostic::unsupported(format!("llvm.{}", intrinsic.name()))),
            }),
        }
    }

    /// Of half by the instructions for half, where there are some: those for powers of two give what is asked for, and an approximation may
    /// take a factor that is rounded to half.
    ///
    /// Source: LLVM's `AMDGPUTargetLowering::lowerFEXP`, `LowerFLOGCommon`.
    fn elementary_half(&mut self, intrinsic: Intrinsic, x: Value) -> Option<Value> {
        use Intrinsic::*;
        if !self.has_16bit() {
            return None;
        }
        match intrinsic {
            Exp2 => return Some(self.b.intrinsic(AmdgcnExp2, &[x], Type::F16)),
            Log2 => return Some(self.b.intrinsic(AmdgcnLog, &[x], Type::F16)),
            _ if !self.fast() => return None,
            _ => {}
        }
        let scaled = |this: &mut Self, x: Value, factor: f64| {
            let factor = this.b.float(Type::F16, factor);
            this.b.fmul(x, factor)
        };
        match intrinsic {
            Exp => {
                let power = scaled(self, x, std::f64::consts::LOG2_E);
                Some(self.b.intrinsic(AmdgcnExp2, &[power], Type::F16))
            }
            Log => {
                let log = self.b.intrinsic(AmdgcnLog, &[x], Type::F16);
                Some(scaled(self, log, std::f64::consts::LN_2))
            }
            Log10 => {
                let log = self.b.intrinsic(AmdgcnLog, &[x], Type::F16);
                Some(scaled(self, log, std::f64::consts::LOG10_2))
            }
            _ => None,
        }
    }

    fn fast(&self) -> bool {
        self.flags.contains(InstFlags::AFN)
    }

    fn exp2(&mut self, x: Value) -> Value {
        // Approximations for halves need no results that halves round to zero.
        if self.flushes_single() || self.fast() && self.is_extended_half(x) {
            return self.b.intrinsic(Intrinsic::AmdgcnExp2, &[x], Type::F32);
        }
        // Also under `afn`, results that are denormal come out scaled by 2^64.
        let limit = self.b.f32(-126.0);
        let small = self.b.fcmp(FloatPredicate::Olt, x, limit);
        let (offset, zero) = (self.b.f32(64.0), self.b.f32(0.0));
        let offset = self.b.select(small, offset, zero);
        let moved = self.b.fadd(x, offset);
        let power = self.b.intrinsic(Intrinsic::AmdgcnExp2, &[moved], Type::F32);
        let (down, one) = (self.b.f32(2f32.powi(-64)), self.b.f32(1.0));
        let scale = self.b.select(small, down, one);
        self.b.fmul(power, scale)
    }

    /// 2^(x * factor): the product in two pieces, its integer part put in by `ldexp`. `range` is where the
    /// result is neither zero nor infinite.
    fn exp(&mut self, x: Value, factor: f64, range: (f32, f32)) -> Value {
        let Split { high, low } = Split::new(factor);
        let (c, cc) = (self.b.f32(high), self.b.f32(low));
        if self.fast() {
            let product = self.b.fmul(x, c);
            return match self.is_extended_half(x) {
                true => self.b.intrinsic(Intrinsic::AmdgcnExp2, &[product], Type::F32),
                false => self.exp2(product),
            };
        }
        let product = self.b.fmul(x, c);
        let minus = self.b.fneg(product);
        let rest = self.b.fma(x, c, minus);
        let rest = self.b.fma(x, cc, rest);
        let whole = self.b.intrinsic(Intrinsic::Rint, &[product], Type::F32);
        let fraction = self.b.fsub(product, whole);
        let fraction = self.b.fadd(fraction, rest);
        let exponent = self.b.cast(CastOp::FpToSi, whole, Type::I32);
        let power = self.b.intrinsic(Intrinsic::AmdgcnExp2, &[fraction], Type::F32);
        let result = self.b.intrinsic(Intrinsic::Ldexp, &[power, exponent], Type::F32);
        let (lowest, highest) = (self.b.f32(range.0), self.b.f32(range.1));
        let (zero, infinity) = (self.b.f32(0.0), self.b.f32(f32::INFINITY));
        let under = self.b.fcmp(FloatPredicate::Olt, x, lowest);
        let result = self.b.select(under, zero, result);
        let over = self.b.fcmp(FloatPredicate::Ogt, x, highest);
        self.b.select(over, infinity, result)
    }

    /// Whether `x` is a half in a wider format, of which none is denormal, or its negative.
    ///
    /// Source: LLVM's `valueIsKnownNeverF32Denorm`.
    fn is_extended_half(&self, x: Value) -> bool {
        let kind = |x| self.b.func.def_inst(x).map(|inst| &self.b.func.insts[inst].kind);
        let positive = match kind(x) {
            Some(&InstKind::Unary { op: UnaryOp::FNeg, arg }) => arg,
            _ => x,
        };
        matches!(kind(positive), Some(&InstKind::Cast { op: CastOp::FpExt, arg }) if self.b.ty(arg) == Type::F16)
    }

    /// The hardware's logarithm of `x`, scaled by 2^32 where it is denormal, and whether it is; nothing where that cannot be or does not matter.
    fn scaled_log(&mut self, x: Value) -> (Value, Option<Value>) {
        if self.flushes_single() || self.is_never_denormal(x) {
            return (self.b.intrinsic(Intrinsic::AmdgcnLog, &[x], Type::F32), None);
        }
        let limit = self.b.f32(f32::MIN_POSITIVE);
        let small = self.b.fcmp(FloatPredicate::Olt, x, limit);
        let exponent = self.scale(small);
        let scaled = self.b.intrinsic(Intrinsic::Ldexp, &[x, exponent], Type::F32);
        (self.b.intrinsic(Intrinsic::AmdgcnLog, &[scaled], Type::F32), Some(small))
    }

    /// The power of two that a number was scaled by.
    fn scale(&mut self, small: Value) -> Value {
        let (up, zero) = (self.b.i32(32), self.b.i32(0));
        self.b.select(small, up, zero)
    }

    fn log2(&mut self, x: Value) -> Value {
        let (log, small) = self.scaled_log(x);
        let Some(small) = small else { return log };
        let exponent = self.scale(small);
        let exponent = self.b.cast(CastOp::SiToFp, exponent, Type::F32);
        self.b.fsub(log, exponent)
    }

    /// log2(x) * factor, the product in two pieces.
    fn log(&mut self, x: Value, factor: f64) -> Value {
        let Split { high, low } = Split::new(factor);
        let (c, cc) = (self.b.f32(high), self.b.f32(low));
        // Where literals stand in long encodings, the scale is taken back by the instruction that multiplies.
        let fuses = self.ctx.machine.encoding_rules().vop3_literals;
        if self.fast() && !fuses {
            let log = self.log2(x);
            return self.b.fmul(log, c);
        }
        let (log, small) = self.scaled_log(x);
        if self.fast() {
            let Some(small) = small else { return self.b.fmul(log, c) };
            let (offset, zero) = (self.b.f32(-32.0 * high), self.b.f32(0.0));
            let offset = self.b.select(small, offset, zero);
            return self.multiply_add(log, c, offset);
        }
        let product = self.b.fmul(log, c);
        let minus = self.b.fneg(product);
        let rest = self.b.fma(log, c, minus);
        let rest = self.b.fma(log, cc, rest);
        let sum = self.b.fadd(product, rest);
        // Infinities would become NaN in the rest.
        let magnitude = self.b.fabs(log);
        let infinity = self.b.f32(f32::INFINITY);
        let finite = self.b.fcmp(FloatPredicate::Olt, magnitude, infinity);
        let result = self.b.select(finite, sum, log);
        let Some(small) = small else { return result };
        // A power of two times the factor is exact.
        let exponent = self.scale(small);
        let exponent = self.b.cast(CastOp::SiToFp, exponent, Type::F32);
        let minus = self.b.f32(-high);
        self.b.fma(exponent, minus, result)
    }

    /// The hardware takes turns, not radians; up to GFX8 only their fraction is in its range.
    fn trigonometric(&mut self, intrinsic: Intrinsic, x: Value) -> Value {
        let turns = self.b.f32(std::f32::consts::FRAC_1_PI / 2.0);
        let turns = self.b.fmul(x, turns);
        let turns = match self.ctx.machine.has(mir::target::Features::ANY_TURNS) {
            true => turns,
            false => self.b.intrinsic(Intrinsic::Fract, &[turns], Type::F32),
        };
        self.b.intrinsic(intrinsic, &[turns], Type::F32)
    }

    /// 2^(y * log2 |x|), the sign by the parity of y; the legacy product makes x^0 = 1 for all x.
    pub(super) fn power(&mut self, x: Value, y: Value, float: Float) -> Result<Value> {
        match float {
            Float::Double => Err(Diagnostic::unsupported("llvm.pow of double, which has no expansion")),
            Float::Single => {
                let base = if self.fast() { x } else { self.b.fabs(x) };
                let log = self.log2(base);
                let product = self.b.intrinsic(Intrinsic::FmulLegacy, &[log, y], Type::F32);
                let magnitude = self.exp2(product);
                if self.fast() {
                    return Ok(magnitude);
                }
                let whole = self.round_value(Intrinsic::Trunc, y)?;
                let is_whole = self.b.fcmp(FloatPredicate::Oeq, whole, y);
                let half = self.b.f32(0.5);
                let halved = self.b.fmul(y, half);
                let even = self.round_value(Intrinsic::Trunc, halved)?;
                let fraction = self.b.fcmp(FloatPredicate::One, even, halved);
                let odd = self.b.and(is_whole, fraction);
                let zero = self.b.f32(0.0);
                let signed = self.b.intrinsic(Intrinsic::Copysign, &[magnitude, x], Type::F32);
                let power = self.b.select(odd, signed, magnitude);
                // Negative and finite to a power that is no integer.
                let negative = self.b.fcmp(FloatPredicate::Olt, x, zero);
                let lowest = self.b.f32(f32::NEG_INFINITY);
                let finite = self.b.fcmp(FloatPredicate::One, x, lowest);
                let negative = self.b.and(negative, finite);
                let broken = self.b.fcmp(FloatPredicate::One, whole, y);
                let undefined = self.b.and(negative, broken);
                let nan = self.b.float_bits(Type::F32, 0x7fc0_0000);
                Ok(self.b.select(undefined, nan, power))
            }
            _ => {
                let (x, y) = (
                    self.resize_float(x, float, Float::Single)?,
                    self.resize_float(y, float, Float::Single)?,
                );
                let result = self.power(x, y, Float::Single)?;
                self.resize_float(result, Float::Single, float)
            }
        }
    }

    /// x^n: by repeated squaring for constant n, by logarithms otherwise.
    pub(super) fn integer_power(&mut self, x: Value, n: Value, float: Float) -> Result<Value> {
        let Some(c) = self.b.func.as_int(n) else {
            if float == Float::Double {
                return Err(Diagnostic::unsupported("llvm.powi of double, which has no expansion"));
            }
            let exponent = self.int_to_float(&[n], self.b.bits(n), true, Float::Single)?;
            let (one, zero) = (self.b.int(self.b.ty(n), 1), self.b.int(self.b.ty(n), 0));
            let lowest = self.b.binary(BinaryOp::And, n, one);
            let odd = self.b.icmp(IntPredicate::Ne, lowest, zero);
            let wide = self.resize_float(x, float, Float::Single)?;
            let base = self.b.fabs(wide);
            let magnitude = self.power(base, exponent, Float::Single)?;
            let signed = self.b.intrinsic(Intrinsic::Copysign, &[magnitude, wide], Type::F32);
            let power = self.b.select(odd, signed, magnitude);
            return self.resize_float(power, Float::Single, float);
        };
        let n = sext64(c, self.b.bits(n));
        let mut left = n.unsigned_abs();
        self.narrow_op(float, &[x], |this, args| {
            let mut square = args[0];
            let ty = this.b.ty(square);
            let one = this.b.float(ty, 1.0);
            let mut result = one;
            while left != 0 {
                if left & 1 == 1 {
                    result = if result == one { square } else { this.b.fmul(result, square) };
                }
                left >>= 1;
                if left != 0 {
                    square = this.b.fmul(square, square);
                }
            }
            if n < 0 { this.float_divide(one, result) } else { Ok(result) }
        })
    }
}
