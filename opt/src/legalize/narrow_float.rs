//! half and bfloat where the target has no instructions for them.
//!
//! Arithmetic goes through binary32 ([`Legalizer::narrow_op`]): with 24 digits, rounding twice gives what
//! rounding once does for `+`, `-`, `*`, `/` and the square root of formats of at most 11 digits (Figueroa:
//! "When is double rounding innocuous?"). What looks at bits alone (sign, class) stays in integers, because
//! conversions quiet NaNs and make denormals normal. A fused multiplication and addition needs more digits
//! and goes through binary64.

use super::Legalizer;
use mir::ir::*;
use mir::{Diagnostic, Result};

/// Bits of a 16-bit format's exponent and fraction.
struct Fields {
    infinity: u64,
    least_normal: u64,
    quiet: u64,
}

const HALF: Fields = Fields { infinity: 0x7c00, least_normal: 0x0400, quiet: 0x0200 };
const BFLOAT: Fields = Fields { infinity: 0x7f80, least_normal: 0x0080, quiet: 0x0040 };

impl Legalizer<'_> {
    /// The 16 bits of a half or bfloat, zero-extended.
    fn narrow_bits(&mut self, x: Value) -> Value {
        let bits = self.b.bitcast(x, Type::I16);
        self.b.cast(CastOp::ZExt, bits, Type::I32)
    }

    fn float_of_narrow_bits(&mut self, bits: Value, float: Float) -> Value {
        let bits = self.b.cast(CastOp::Trunc, bits, Type::I16);
        self.b.bitcast(bits, Type::Scalar(Scalar::Float(float)))
    }

    /// `fneg` of a format without instructions.
    pub(super) fn narrow_negate(&mut self, x: Value, float: Float) -> Value {
        let bits = self.narrow_bits(x);
        let bits = self.b.xor_imm(bits, 0x8000);
        self.float_of_narrow_bits(bits, float)
    }

    /// `fabs` of a format without instructions.
    pub(super) fn narrow_magnitude(&mut self, x: Value, float: Float) -> Value {
        let bits = self.narrow_bits(x);
        let bits = self.b.and_imm(bits, 0x7fff);
        self.float_of_narrow_bits(bits, float)
    }

    /// `copysign` of a format without instructions.
    pub(super) fn narrow_copysign(&mut self, magnitude: Value, sign: Value, float: Float) -> Value {
        let (magnitude, sign) = (self.narrow_bits(magnitude), self.narrow_bits(sign));
        let magnitude = self.b.and_imm(magnitude, 0x7fff);
        let sign = self.b.and_imm(sign, 0x8000);
        let bits = self.b.or(magnitude, sign);
        self.float_of_narrow_bits(bits, float)
    }

    /// Whether `x` is of one of the classes in `mask`, numbered as LLVM and `v_cmp_class` do.
    pub(super) fn narrow_class(&mut self, x: Value, mask: Value, float: Float) -> Value {
        use IntPredicate::*;
        let fields = if float == Float::Half { HALF } else { BFLOAT };
        let bits = self.narrow_bits(x);
        let magnitude = self.b.and_imm(bits, 0x7fff);
        let sign = self.b.and_imm(bits, 0x8000);
        let negative = self.b.icmp_imm(Ne, sign, 0);
        let class = |this: &mut Self, plus: u32, minus: u32| {
            let (plus, minus) = (this.b.i32(1 << plus), this.b.i32(1 << minus));
            this.b.select(negative, minus, plus)
        };
        let (zero, small) = (class(self, 6, 5), class(self, 7, 4));
        let (normal, infinite) = (class(self, 8, 3), class(self, 9, 2));
        let quiet = self.b.and_imm(magnitude, fields.quiet);
        let quiet = self.b.icmp_imm(Ne, quiet, 0);
        let (two, one) = (self.b.i32(2), self.b.i32(1));
        let mut found = self.b.select(quiet, two, one);
        let at_most = [
            (fields.infinity + 1, infinite),
            (fields.infinity, normal),
            (fields.least_normal, small),
            (1, zero),
        ];
        for (limit, class) in at_most {
            let below = self.b.icmp_imm(Ult, magnitude, limit);
            found = self.b.select(below, class, found);
        }
        let hit = self.b.and(found, mask);
        self.b.icmp_imm(Ne, hit, 0)
    }

    /// `fma` of a format without instructions, rounded once.
    ///
    /// The product is exact in binary64. For half the sum is as well, unless the product is too small to
    /// decide anything but the direction from a value that half can hold. For bfloat, whose range is wide,
    /// the sum is rounded to odd.
    pub(super) fn narrow_fma(&mut self, args: &[Value], float: Float) -> Result<Value> {
        let mut wide = [args[0]; 3];
        for (to, &from) in wide.iter_mut().zip(args) {
            *to = self.resize_float(from, float, Float::Double)?;
        }
        let [x, y, z] = wide;
        match float {
            Float::Half => {
                let sum = self.b.fma(x, y, z);
                self.resize_float(sum, Float::Double, float)
            }
            Float::BFloat => {
                let product = self.b.fmul(x, y);
                let sum = self.sum_to_odd(product, z);
                self.resize_float(sum, Float::Double, float)
            }
            _ => Err(Diagnostic::defect("a format with instructions of its own")),
        }
    }

    /// `x + y` in binary64, rounded to odd: Knuth's exact error of a sum says whether and in which direction
    /// anything was lost.
    fn sum_to_odd(&mut self, x: Value, y: Value) -> Value {
        let sum = self.b.fadd(x, y);
        let part = self.b.fsub(sum, x);
        let rest = self.b.fsub(sum, part);
        let (off_x, off_y) = (self.b.fsub(x, rest), self.b.fsub(y, part));
        let error = self.b.fadd(off_x, off_y);
        let zero = self.b.f64(0.0);
        let lost = self.b.fcmp(FloatPredicate::One, error, zero);
        let (sum_bits, error_bits) = (self.b.bitcast(sum, Type::I64), self.b.bitcast(error, Type::I64));
        // Rounded away from zero where the error points back.
        let signs = self.b.xor(sum_bits, error_bits);
        let away = self.b.icmp_imm(IntPredicate::Slt, signs, 0);
        let down = self.b.add_imm(sum_bits, -1);
        let truncated = self.b.select(away, down, sum_bits);
        let one = self.b.int(Type::I64, 1);
        let odd = self.b.or(truncated, one);
        let bits = self.b.select(lost, odd, sum_bits);
        self.b.bitcast(bits, Type::F64)
    }
}
