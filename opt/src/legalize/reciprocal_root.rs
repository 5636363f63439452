//! `1 / sqrt(x)` where both may be contracted: from `v_rsq`, which has an error of one unit where root and quotient have two.

use super::Legalizer;
use super::float::{ONE_ULP, ZEROS_AND_POSITIVE_INFINITY};
use mir::ir::*;

/// What is known of a root that a quotient is made from.
#[derive(Clone, Copy)]
pub(super) struct Root {
    /// What it is the root of, in the old function.
    pub(super) of: Value,
    /// Whether it need not be accurate.
    approximate: bool,
    /// Whether neither root nor quotient is infinite, by their promises; so what it is the root of is no zero, nor infinite.
    finite: bool,
}

impl Legalizer<'_> {
    /// The root that the denominator of the present division is, if both may be contracted and neither must be more accurate than
    /// `v_rsq` is.
    pub(super) fn contracted_root(&self, denominator: Value) -> Option<Root> {
        let data = &self.old.insts[self.old.def_inst(denominator)?];
        let InstKind::Intrinsic { intrinsic: Intrinsic::Sqrt, args } = &data.kind else { return None };
        if (self.flags | data.flags).contains(InstFlags::STRICT) {
            return None;
        }
        let both = self.flags & data.flags;
        let is = |float| self.old.ty(denominator).scalar() == Some(Scalar::Float(float));
        // Two approximations may be one; the flag says nothing of how good any is. In binary64 a step follows in any case.
        let approximate = both.contains(InstFlags::AFN) && !is(Float::Double);
        let may = approximate || both.contains(InstFlags::CONTRACT) || self.ctx.options.contract_all;
        // Other formats have no accuracy of their own to ask for.
        let enough = !is(Float::Single)
            || approximate
            || self.fpmath_ulp_256 >= ONE_ULP
                && (data.fpmath_ulp_256 >= ONE_ULP || data.flags.contains(InstFlags::AFN));
        (self.b.optimize && may && enough).then_some(Root {
            of: args[0],
            approximate,
            finite: both.contains(InstFlags::NINF),
        })
    }

    /// `numerator / sqrt(x)`, where the numerator is one or minus one and the format has the instruction.
    pub(super) fn reciprocal_root(
        &mut self,
        numerator: Value,
        x: Value,
        root: Root,
        float: Float,
    ) -> Option<Value> {
        let Some(&Const::Float(bits)) = self.b.func.as_const(numerator) else { return None };
        let (one, sign) = match float {
            Float::Half if self.native(float) => (0x3c00, 1 << 15),
            Float::Single => (0x3f80_0000, 1 << 31),
            Float::Double => (0x3ff0_0000_0000_0000, 1 << 63),
            Float::Half | Float::BFloat => return None,
        };
        if bits & !sign != one {
            return None;
        }
        let value = match float {
            Float::Double => self.reciprocal_root_double(x, root.finite),
            Float::Single if !root.approximate && !self.flushes_single() && !self.is_never_denormal(x) => {
                self.reciprocal_root_scaled(x)
            }
            _ => self.b.intrinsic(Intrinsic::Rsq, &[x], self.b.ty(x)),
        };
        Some(if bits & sign != 0 { self.b.fneg(value) } else { value })
    }

    /// Denormals, which the instruction flushes, are scaled by 2^24 and the result by 2^12.
    fn reciprocal_root_scaled(&mut self, x: Value) -> Value {
        let (least, one) = (self.b.f32(f32::MIN_POSITIVE), self.b.f32(1.0));
        let small = self.b.fcmp(FloatPredicate::Olt, x, least);
        let [up, back] = [24, 12].map(|power| self.b.f32(2f32.powi(power)));
        let up = self.b.select(small, up, one);
        let scaled = self.b.fmul(x, up);
        let value = self.b.intrinsic(Intrinsic::Rsq, &[scaled], Type::F32);
        let back = self.b.select(small, back, one);
        self.b.fmul(value, back)
    }

    /// One step of third order from the instruction's 2^-26: with `e = 1 - x y²`, `y + y e (1/2 + 3/8 e)`.
    ///
    /// Of a zero or an infinity the instruction's result is right, and `x y` would be a NaN there.
    fn reciprocal_root_double(&mut self, x: Value, finite: bool) -> Value {
        let y = self.b.intrinsic(Intrinsic::Rsq, &[x], Type::F64);
        let mut factor = x;
        if !finite {
            let mask = self.b.i32(ZEROS_AND_POSITIVE_INFINITY);
            let special = self.b.intrinsic(Intrinsic::AmdgcnClass, &[x, mask], Type::I1);
            factor = self.b.select(special, y, x);
        }
        let minus = self.b.fneg(y);
        let product = self.b.fmul(factor, minus);
        let [one, half, weight] = [1.0, 0.5, 0.375].map(|constant| self.b.f64(constant));
        let e = self.b.fma(product, y, one);
        let first = self.b.fmul(y, e);
        let second = self.b.fma(e, weight, half);
        self.b.fma(first, second, y)
    }
}
