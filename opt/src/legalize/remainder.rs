//! `frem`: the exact remainder, by long division in pieces.
//!
//! With the mantissas of both operands in [0.5, 1) and n the distance of their exponents, the remainder is
//! that of `mx * 2^n` by `my`, scaled back. Each turn of the loop brings [`piece`] more digits of the
//! quotient: scale the rest, estimate the quotient with a reciprocal, take it away with one exact `fma`. The
//! estimate is off by one at most, and an addition corrects that. All rests are multiples of the mantissas'
//! last digit, so nothing is ever rounded. Under `afn` it is `x - trunc(x / y) * y`, which is off as soon as
//! the quotient has more digits than the format.

use super::Legalizer;
use mir::Result;
use mir::ir::*;

/// How many digits of the quotient one step finds: half the format's, so that the reciprocal's error stays
/// far below one unit.
fn piece(ty: Type) -> u32 {
    if ty == Type::F64 { 26 } else { 12 }
}

impl Legalizer<'_> {
    /// Remainder in binary32 or binary64.
    pub(super) fn float_remainder(&mut self, x: Value, y: Value) -> Result<Value> {
        if self.flags.contains(InstFlags::AFN) {
            let quotient = self.float_divide(x, y)?;
            let quotient = self.round_value(Intrinsic::Trunc, quotient)?;
            let quotient = self.b.fneg(quotient);
            return Ok(self.b.fma(quotient, y, x));
        }
        let ty = self.b.ty(x);
        let piece = piece(ty);
        let (abs_x, abs_y) = (self.b.fabs(x), self.b.fabs(y));
        // Both finite, y not zero, x not smaller: elsewhere the loop must not run.
        let (zero, infinity) = (self.b.float(ty, 0.0), self.b.float(ty, f64::INFINITY));
        let finite = self.b.fcmp(FloatPredicate::Olt, abs_x, infinity);
        let divides = self.b.fcmp(FloatPredicate::Ogt, abs_y, zero);
        let defined = self.b.and(finite, divides);
        let reduces = self.b.fcmp(FloatPredicate::Oge, abs_x, abs_y);
        let runs = self.b.and(defined, reduces);
        let mantissa = |this: &mut Self, v| this.b.intrinsic(Intrinsic::FrexpMant, &[v], ty);
        let exponent = |this: &mut Self, v| this.b.intrinsic(Intrinsic::FrexpExp, &[v], Type::I32);
        let (mx, my) = (mantissa(self, abs_x), mantissa(self, abs_y));
        let (ex, ey) = (exponent(self, abs_x), exponent(self, abs_y));
        let distance = self.b.sub(ex, ey);
        let none = self.b.i32(0);
        let distance = self.b.select(runs, distance, none);
        let reciprocal = self.refined_reciprocal(my);
        let (head, body, done) = (self.b.new_block(), self.b.new_block(), self.b.new_block());
        let scope = self.b.scope.take();
        let rest = self.b.func.add_block_param(head, ty);
        let left = self.b.func.add_block_param(head, Type::I32);
        self.b.jump(head, &[mx, distance]);
        self.b.block = head;
        let more = self.b.icmp_imm(IntPredicate::Sgt, left, u64::from(piece));
        self.b.branch(more, BlockCall::to(body), BlockCall::to(done));
        self.b.block = body;
        let step = self.b.i32(piece);
        let next = self.remainder_step(rest, step, my, reciprocal)?;
        let fewer = self.b.add_imm(left, -i64::from(piece));
        self.b.jump(head, &[next, fewer]);
        self.b.block = done;
        let last = self.remainder_step(rest, left, my, reciprocal)?;
        self.b.scope = scope;
        let magnitude = self.b.intrinsic(Intrinsic::Ldexp, &[last, ey], ty);
        let signed = self.b.intrinsic(Intrinsic::Copysign, &[magnitude, x], ty);
        let result = self.b.select(reduces, signed, x);
        let nan = self.b.float_bits(ty, if ty == Type::F64 { 0x7ff8 << 48 } else { 0x7fc0_0000 });
        let nan_y = self.b.fcmp(FloatPredicate::Uno, y, y);
        let good = self.b.not(nan_y);
        let good = self.b.and(defined, good);
        Ok(self.b.select(good, result, nan))
    }

    /// `rest * 2^digits` modulo `divisor`, where `rest` is in [0, divisor), or below 1 in the first step.
    fn remainder_step(
        &mut self,
        rest: Value,
        digits: Value,
        divisor: Value,
        reciprocal: Value,
    ) -> Result<Value> {
        let ty = self.b.ty(rest);
        let scaled = self.b.intrinsic(Intrinsic::Ldexp, &[rest, digits], ty);
        let quotient = self.b.fmul(scaled, reciprocal);
        let quotient = self.round_value(Intrinsic::Rint, quotient)?;
        let minus = self.b.fneg(quotient);
        let left = self.b.fma(minus, divisor, scaled);
        let raised = self.b.fadd(left, divisor);
        let zero = self.b.float(ty, 0.0);
        let below = self.b.fcmp(FloatPredicate::Olt, left, zero);
        Ok(self.b.select(below, raised, left))
    }

    /// 1 / x for x in [0.5, 1), to within a few units in the last place.
    fn refined_reciprocal(&mut self, x: Value) -> Value {
        let ty = self.b.ty(x);
        let mut r = self.b.intrinsic(Intrinsic::Rcp, &[x], ty);
        if ty == Type::F64 {
            let one = self.b.f64(1.0);
            let minus = self.b.fneg(x);
            // v_rcp_f64 has about 28 digits.
            let error = self.b.fma(minus, r, one);
            r = self.b.fma(error, r, r);
            let error = self.b.fma(minus, r, one);
            r = self.b.fma(error, r, r);
        }
        r
    }
}
