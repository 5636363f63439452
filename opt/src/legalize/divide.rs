//! Integer division, which the hardware does not have.
//!
//! By constants: a multiplication with a precomputed reciprocal (Granlund, Montgomery: "Division by Invariant
//! Integers using Multiplication"). By variables: a binary32 reciprocal gives the first 23 bits; small
//! operands need one correction, 32-bit ones a Newton step in integers and two corrections, or one where the scalar unit corrects the reciprocal
//! of a divisor that all lanes have, 64-bit ones two steps and two corrections. All of it is free of branches but one: operands of 64 bits that fit into 32 in the
//! end, as sizes and indices mostly do, are divided as such; where the dividend is known to fit, without a branch.

use super::Legalizer;
use crate::bits::{mask64, sext64};
use mir::ir::*;

impl Legalizer<'_> {
    /// Quotient or remainder of clean carriers of one type.
    pub(super) fn divide(&mut self, x: Value, y: Value, signed: bool, rem: bool) -> Value {
        let bits = self.b.bits(x);
        if bits < 32 {
            let op = if signed { CastOp::SExt } else { CastOp::ZExt };
            let (x32, y32) = (self.b.cast(op, x, Type::I32), self.b.cast(op, y, Type::I32));
            let result = self.divide(x32, y32, signed, rem);
            let ty = self.b.ty(x);
            return self.b.cast(CastOp::Trunc, result, ty);
        }
        // Signed division of what cannot be negative.
        let signed = signed && !(self.b.unsigned_bits(x) < bits && self.b.unsigned_bits(y) < bits);
        if bits == 64 {
            let fits = if signed {
                // One bit less: -2^31 / -1 does not fit.
                self.b.signed_bits(x) <= 31 && self.b.signed_bits(y) <= 32
            } else {
                self.b.unsigned_bits(x) <= 32 && self.b.unsigned_bits(y) <= 32
            };
            if fits {
                let (x, _) = self.b.split64(x);
                let (y, _) = self.b.split64(y);
                let result = self.divide(x, y, signed, rem);
                return self.b.cast(if signed { CastOp::SExt } else { CastOp::ZExt }, result, Type::I64);
            }
        }
        if let Some(c) = self.b.func.as_int(y)
            && c != 0
        {
            return self.divide_by_constant(x, c, signed, rem);
        }
        if bits == 64 && !signed && self.b.unsigned_bits(x) <= 32 {
            let (q, r) = self.divide_short(x, y);
            return if rem { r } else { q };
        }
        // Expansions have loops of their own, in which what was divided is not found again.
        let may_branch = bits == 64
            && self.b.optimize
            && self.b.scope.is_some()
            && !self.old.flags.intersects(FuncFlags::OPT_SIZE | FuncFlags::MIN_SIZE);
        let (q, r) =
            if may_branch { self.divide_by_size(x, y, signed) } else { self.divide_any(x, y, signed) };
        if rem { r } else { q }
    }

    /// Quotient and remainder of what has no more than 32 bits, which is below every divisor that has more.
    fn divide_short(&mut self, x: Value, y: Value) -> (Value, Value) {
        let ((x_low, _), (y_low, y_high)) = (self.b.split64(x), self.b.split64(y));
        let (q, r) = self.divide_unsigned(x_low, y_low);
        let short = self.b.icmp_imm(IntPredicate::Eq, y_high, 0);
        let zero = self.b.i32(0);
        let q = self.b.select(short, q, zero);
        let r = self.b.select(short, r, x_low);
        let wide = |this: &mut Self, value| this.b.cast(CastOp::ZExt, value, Type::I64);
        (wide(self, q), wide(self, r))
    }

    /// Quotient and remainder of 64 bits, by 32 where neither operand has more.
    fn divide_by_size(&mut self, x: Value, y: Value, signed: bool) -> (Value, Value) {
        if let Some((q, r)) = self.known_division(&[x], &[y], signed) {
            return (q[0], r[0]);
        }
        let ((x_low, x_high), (y_low, y_high)) = (self.b.split64(x), self.b.split64(y));
        let above = self.b.or(x_high, y_high);
        let small = self.b.icmp_imm(IntPredicate::Eq, above, 0);
        let [short, long, done] = [(); 3].map(|()| self.b.new_block());
        let scope = self.b.scope.take();
        let [q, r] = [(); 2].map(|()| self.b.func.add_block_param(done, Type::I64));
        self.b.branch(small, BlockCall::to(short), BlockCall::to(long));
        self.b.block = short;
        let (short_q, short_r) = self.divide_u32(x_low, y_low);
        let both = [short_q, short_r].map(|value| self.b.cast(CastOp::ZExt, value, Type::I64));
        self.b.jump(done, &both);
        self.b.block = long;
        let (long_q, long_r) = self.divide_any(x, y, signed);
        self.b.jump(done, &[long_q, long_r]);
        self.b.block = done;
        self.b.scope = scope;
        self.note_division(&[x], &[y], signed, &[q], &[r]);
        (q, r)
    }

    /// Quotient and remainder, without a look at sizes.
    fn divide_any(&mut self, x: Value, y: Value, signed: bool) -> (Value, Value) {
        if !signed {
            return self.divide_unsigned(x, y);
        }
        let bits = self.b.bits(x);
        let known = self.b.signed_bits(x).max(self.b.signed_bits(y));
        if bits == 32 && known <= 23 {
            return self.divide_s23(x, y);
        }
        let (sign_x, sign_y) = (self.b.ashr_imm(x, bits - 1), self.b.ashr_imm(y, bits - 1));
        let (abs_x, abs_y) = (self.magnitude(x, sign_x), self.magnitude(y, sign_y));
        if bits == 32 && known <= 24 {
            self.b.assume_unsigned(abs_x, 24);
            self.b.assume_unsigned(abs_y, 24);
        }
        let (q, r) = self.divide_unsigned(abs_x, abs_y);
        let sign = if bits == 32 && self.b.func.as_int(sign_x).or(self.b.func.as_int(sign_y)).is_none() {
            let signs = self.b.xor(x, y);
            self.b.ashr_imm(signs, bits - 1)
        } else {
            self.b.xor(sign_x, sign_y)
        };
        let mut with_sign = |value, sign| {
            let flipped = self.b.xor(value, sign);
            self.b.sub(flipped, sign)
        };
        (with_sign(q, sign), with_sign(r, sign_x))
    }

    /// The absolute value of `x`, whose sign is 0 or -1. Words do without the sign, and the scalar unit has an instruction.
    fn magnitude(&mut self, x: Value, sign: Value) -> Value {
        if self.b.bits(x) == 32 && self.b.func.as_int(sign).is_none() {
            let negated = self.b.neg(x);
            return self.b.intrinsic(Intrinsic::Smax, &[x, negated], Type::I32);
        }
        self.flip_sign(x, sign)
    }

    /// `(x + sign) ^ sign`: the absolute value where sign is 0 or -1.
    fn flip_sign(&mut self, x: Value, sign: Value) -> Value {
        let sum = self.b.add(x, sign);
        self.b.xor(sum, sign)
    }

    fn divide_unsigned(&mut self, x: Value, y: Value) -> (Value, Value) {
        if self.b.bits(x) == 64 {
            return self.divide_u64(x, y);
        }
        let known = self.b.unsigned_bits(x).max(self.b.unsigned_bits(y));
        if known <= 24 { self.divide_u24(x, y, known) } else { self.divide_u32(x, y) }
    }

    /// Both operands are below 2^24, so that binary32 holds them. The truncated quotient is off by one at
    /// most (the reciprocals of 1 and 2, where an error would weigh more, are exact); up to 22 bits it is
    /// never too large: the relative error of the estimate (rcp 1 ulp, product half an ulp) is below the
    /// distance 1/y to the next integer. So no estimate has more bits than the operands.
    fn divide_u24(&mut self, x: Value, y: Value, known: u32) -> (Value, Value) {
        let (fx, fy) = (self.b.cast(CastOp::UiToFp, x, Type::F32), self.b.cast(CastOp::UiToFp, y, Type::F32));
        let reciprocal = self.b.intrinsic(Intrinsic::Rcp, &[fy], Type::F32);
        let estimate = self.b.fmul(fx, reciprocal);
        let q = self.b.cast(CastOp::FpToUi, estimate, Type::I32);
        self.b.assume_unsigned(q, known);
        let r = if known > 22 {
            let product = self.b.mul(q, y);
            self.b.sub(x, product)
        } else {
            // As signed numbers of 24 bits they are multiplied and added by one instruction; divisions by the same number share this one.
            let minus_y = self.b.neg(y);
            let product = self.b.mul(q, minus_y);
            self.b.add(x, product)
        };
        let (q, r) = if known > 22 {
            let low = self.b.icmp_imm(IntPredicate::Slt, r, 0);
            let (less, more) = (self.b.add_imm(q, -1), self.b.add(r, y));
            (self.b.select(low, less, q), self.b.select(low, more, r))
        } else {
            (q, r)
        };
        self.correct(q, r, y, 1)
    }

    /// The same of signed operands between -2^22 and 2^22, whose signs binary32 takes care of: the estimate is rounded towards zero and not too
    /// large. The remainder is exact whether or not it is fused, and so is its correction.
    fn divide_s23(&mut self, x: Value, y: Value) -> (Value, Value) {
        let (fx, fy) = (self.b.cast(CastOp::SiToFp, x, Type::F32), self.b.cast(CastOp::SiToFp, y, Type::F32));
        let reciprocal = self.b.intrinsic(Intrinsic::Rcp, &[fy], Type::F32);
        let estimate = self.b.fmul(fx, reciprocal);
        let estimate = self.b.intrinsic(Intrinsic::Trunc, &[estimate], Type::F32);
        let minus = self.b.fneg(estimate);
        let flags = std::mem::replace(&mut self.flags, InstFlags::empty());
        let rest = self.multiply_add(minus, fy, fx);
        self.flags = flags;
        let (size, limit) = (self.b.fabs(rest), self.b.fabs(fy));
        let low = self.b.fcmp(FloatPredicate::Oge, size, limit);
        let q = self.b.cast(CastOp::FpToSi, estimate, Type::I32);
        // 1 or -1, as the quotient is positive or negative.
        let signs = self.b.xor(x, y);
        let sign = self.b.ashr_imm(signs, 30);
        let one = self.b.i32(1);
        let step = self.b.or(sign, one);
        let zero = self.b.i32(0);
        let step = self.b.select(low, step, zero);
        let q = self.b.add(q, step);
        let product = self.b.intrinsic(Intrinsic::MulI24, &[q, y], Type::I32);
        let r = self.b.sub(x, product);
        (q, r)
    }

    fn divide_u32(&mut self, x: Value, y: Value) -> (Value, Value) {
        let fy = self.b.cast(CastOp::UiToFp, y, Type::F32);
        let reciprocal = self.b.intrinsic(Intrinsic::Rcp, &[fy], Type::F32);
        // 2^32 less two units: the estimate must not exceed the true reciprocal.
        let scale = self.b.float_bits(Type::F32, 0x4f7f_fffe);
        let scaled = self.b.fmul(reciprocal, scale);
        let z = self.b.cast(CastOp::FpToUi, scaled, Type::I32);
        // Newton: z += z * (2^32 - y * z) / 2^32. What comes out is ⌊(2^32 - 1) / y⌋, or one less for few divisors.
        let minus_y = self.b.neg(y);
        let error = self.b.mul(minus_y, z);
        let step = self.b.mulhi_u32(z, error);
        let mut z = self.b.add(z, step);
        let mut times = 2;
        if self.b.optimize && self.divides_by_one_number() {
            // The scalar unit corrects it once for all, so that each quotient is too small by one at most.
            let rest = self.b.mul(minus_y, z);
            let rest = self.b.add_imm(rest, -1);
            let low = self.b.icmp(IntPredicate::Uge, rest, y);
            let one_more = self.b.cast(CastOp::ZExt, low, Type::I32);
            z = self.b.add(z, one_more);
            times = 1;
        }
        let q = self.b.mulhi_u32(x, z);
        let product = self.b.mul(q, minus_y);
        let r = self.b.add(x, product);
        self.correct(q, r, y, times)
    }

    /// Whether the instruction being lowered divides by the same number in all lanes.
    fn divides_by_one_number(&mut self) -> bool {
        use BinaryOp::*;
        match self.old.insts[self.current].kind {
            InstKind::Binary { op: UDiv | URem | SDiv | SRem, args: [_, divisor] } => {
                !self.differs_between_lanes(divisor, self.current_block)
            }
            _ => false,
        }
    }

    fn divide_u64(&mut self, x: Value, y: Value) -> (Value, Value) {
        let (y_lo, y_hi) = self.b.split64(y);
        let (f_lo, f_hi) =
            (self.b.cast(CastOp::UiToFp, y_lo, Type::F32), self.b.cast(CastOp::UiToFp, y_hi, Type::F32));
        let two32 = self.b.f32(4294967296.0);
        let high = self.b.fmul(f_hi, two32);
        let fy = self.b.fadd(high, f_lo);
        let reciprocal = self.b.intrinsic(Intrinsic::Rcp, &[fy], Type::F32);
        // 2^64 less four units.
        let scale = self.b.float_bits(Type::F32, 0x5f7f_fffc);
        let scaled = self.b.fmul(reciprocal, scale);
        let down = self.b.f32(2f32.powi(-32));
        let top = self.b.fmul(scaled, down);
        let top = self.b.intrinsic(Intrinsic::Trunc, &[top], Type::F32);
        let up = self.b.f32(-4294967296.0);
        let rest = self.b.fmul(top, up);
        let rest = self.b.fadd(rest, scaled);
        let z_lo = self.b.cast(CastOp::FpToUi, rest, Type::I32);
        let z_hi = self.b.cast(CastOp::FpToUi, top, Type::I32);
        let mut z = self.b.join64(z_lo, z_hi);
        let minus_y = self.b.neg(y);
        for _ in 0..2 {
            let error = self.b.mul64(minus_y, z);
            let step = self.b.mulhi_u64(z, error);
            z = self.b.add(z, step);
        }
        let q = self.b.mulhi_u64(x, z);
        let product = self.b.mul64(q, y);
        let r = self.b.sub(x, product);
        self.correct(q, r, y, 2)
    }

    /// Raises a quotient that may be too small by up to `times`.
    fn correct(&mut self, mut q: Value, mut r: Value, y: Value, times: u32) -> (Value, Value) {
        for _ in 0..times {
            let low = self.b.icmp(IntPredicate::Uge, r, y);
            // A carry.
            let ty = self.b.ty(q);
            let one_more = self.b.cast(CastOp::ZExt, low, ty);
            q = self.b.add(q, one_more);
            let next_r = self.b.sub(r, y);
            // A minimum, as folding knows.
            r = self.b.select(low, next_r, r);
        }
        (q, r)
    }

    fn divide_by_constant(&mut self, x: Value, divisor: u64, signed: bool, rem: bool) -> Value {
        let bits = self.b.bits(x);
        let ty = self.b.ty(x);
        let signed_divisor = sext64(divisor, bits);
        let magnitude = if signed { mask64(signed_divisor.unsigned_abs(), bits) } else { divisor };
        let q = if signed {
            let q = self.signed_quotient(x, magnitude, bits);
            if signed_divisor < 0 { self.b.neg(q) } else { q }
        } else if magnitude.is_power_of_two() {
            if rem {
                return self.b.and_imm(x, magnitude - 1);
            }
            return self.b.lshr_imm(x, magnitude.trailing_zeros());
        } else {
            self.unsigned_quotient(x, magnitude, bits)
        };
        if !rem {
            return q;
        }
        let divisor = self.b.int(ty, divisor);
        let product = if bits == 64 { self.b.mul64(q, divisor) } else { self.b.mul(q, divisor) };
        self.b.sub(x, product)
    }

    fn mulhi(&mut self, x: Value, factor: u64) -> Value {
        if self.b.bits(x) == 64 {
            let factor = self.b.int(Type::I64, factor);
            return self.b.mulhi_u64(x, factor);
        }
        let factor = self.b.i32(factor as u32);
        self.b.mulhi_u32(x, factor)
    }

    fn unsigned_quotient(&mut self, x: Value, divisor: u64, bits: u32) -> Value {
        let known = self.b.unsigned_bits(x);
        let ty = self.b.ty(x);
        if known < 64 && divisor >> known != 0 {
            return self.b.int(ty, 0);
        }
        if bits == 32
            && let Some((factor, shift)) = small_magic(divisor, known)
        {
            let factor = self.b.int(ty, factor);
            let product = self.b.mul(x, factor);
            return self.b.lshr_imm(product, shift);
        }
        // The common power of two comes out first.
        let even = divisor.trailing_zeros();
        if let Some((factor, shift)) = magic(divisor, bits, known) {
            let high = self.mulhi(x, factor);
            return self.b.lshr_imm(high, shift);
        }
        if even > 0 {
            let x = self.b.lshr_imm(x, even);
            return self.unsigned_quotient(x, divisor >> even, bits);
        }
        // The factor has one bit more than fits: its top bit is added by hand.
        let log = 64 - (divisor - 1).leading_zeros();
        let factor = ((((1u128 << log) - u128::from(divisor)) << bits) / u128::from(divisor) + 1) as u64;
        let high = self.mulhi(x, factor);
        let rest = self.b.sub(x, high);
        let half = self.b.lshr_imm(rest, 1);
        let sum = self.b.add(half, high);
        self.b.lshr_imm(sum, log - 1)
    }

    fn signed_quotient(&mut self, x: Value, magnitude: u64, bits: u32) -> Value {
        if magnitude.is_power_of_two() {
            let log = magnitude.trailing_zeros();
            if log == 0 {
                return x;
            }
            // Round towards zero: add 2^log - 1 to negative numbers.
            let sign = self.b.ashr_imm(x, bits - 1);
            let bias = self.b.lshr_imm(sign, bits - log);
            let biased = self.b.add(x, bias);
            return self.b.ashr_imm(biased, log);
        }
        if bits == 64 {
            let sign = self.b.ashr_imm(x, 63);
            let absolute = self.flip_sign(x, sign);
            let q = self.unsigned_quotient(absolute, magnitude, 64);
            let flipped = self.b.xor(q, sign);
            return self.b.sub(flipped, sign);
        }
        let (factor, shift) = signed_magic(magnitude);
        let constant = self.b.i32(factor as u32);
        let product = self.b.wide_mul(x, constant, true);
        let high = self.b.lshr_imm(product, 32);
        let mut q = self.b.cast(CastOp::Trunc, high, Type::I32);
        if factor >= 1 << 31 {
            // As a signed number the factor is 2^32 too small.
            q = self.b.add(q, x);
        }
        let q = self.b.ashr_imm(q, shift);
        let sign = self.b.lshr_imm(x, 31);
        self.b.add(q, sign)
    }
}

/// Factor and shift such that `x / divisor == (x * factor >> bits) >> shift` for all `x` below 2^`known`, if
/// a factor below 2^`bits` exists. The rounded-up factor overshoots by `error`; the quotient is right while
/// `x * error < 2^(bits + shift)`.
fn magic(divisor: u64, bits: u32, known: u32) -> Option<(u64, u32)> {
    let largest = mask64(u64::MAX, known);
    for shift in 0..bits.min(63) {
        let power = 1u128 << (bits + shift);
        let factor = power / u128::from(divisor) + 1;
        if factor >> bits != 0 {
            return None;
        }
        let error = factor * u128::from(divisor) - power;
        if u128::from(largest).checked_mul(error).is_some_and(|product| product < power) {
            return Some((factor as u64, shift));
        }
    }
    None
}

/// Factor and shift such that `x / divisor == x * factor >> shift` in 32 bits for all `x` below 2^`known`, if there are such of 24 bits at most, as
/// full-rate multiplications take them.
fn small_magic(divisor: u64, known: u32) -> Option<(u64, u32)> {
    if known > 24 {
        return None;
    }
    let largest = mask64(u64::MAX, known);
    (1..32).find_map(|shift| {
        let power = 1u64 << shift;
        let factor = power / divisor + 1;
        let error = factor * divisor - power;
        let exact = largest * error < power;
        (exact && factor < 1 << 24 && largest * factor < 1 << 32).then_some((factor, shift))
    })
}

/// Factor and shift such that `x / magnitude`, rounded towards zero, is `(x * factor >> 32) >> shift`, and one
/// more where `x` is negative, for all `x` of 32 bits. `magnitude` is no power of two.
///
/// The factor is that of the smallest shift at which it overshoots little enough; one below 2^31 needs no
/// correction. Source: T. Granlund and P. Montgomery, "Division by Invariant Integers using Multiplication",
/// PLDI 1994, theorem 5.1.
fn signed_magic(magnitude: u64) -> (u64, u32) {
    let (mut factor, mut shift) = (0u64, 0);
    for s in 0..32 {
        let f = ((1u128 << (32 + s)) / u128::from(magnitude)) as u64 + 1;
        let error = u128::from(f) * u128::from(magnitude) - (1u128 << (32 + s));
        (factor, shift) = (f, s);
        if error <= 1 << (s + 1) {
            break;
        }
    }
    (factor, shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_factors_divide_exactly_at_the_edges() {
        assert_eq!(signed_magic(6), (0x2aaa_aaab, 0));
        let few = 3u64..1000;
        let many = (5..31).flat_map(|log| [(1 << log) - 3, (1 << log) - 1, (1 << log) + 1, (1 << log) + 3]);
        for magnitude in few.chain(many).filter(|m| !m.is_power_of_two()) {
            let (factor, shift) = signed_magic(magnitude);
            let d = magnitude as i64;
            let multiples = [i64::from(i32::MIN) / d, -1, 0, 1, i64::from(i32::MAX) / d].map(|q| q * d);
            let near = multiples.into_iter().flat_map(|m| [m - 1, m, m + 1, m + d - 1, m - d + 1]);
            let ends = [i64::from(i32::MIN), i64::from(i32::MAX)];
            for x in near.chain(ends).filter(|&x| i32::try_from(x).is_ok()) {
                let quotient = ((i128::from(x) * i128::from(factor)) >> 32 >> shift) + i128::from(x < 0);
                assert_eq!(quotient, i128::from(x / d), "{x} / {d}");
            }
        }
    }

    #[test]
    fn factors_divide_exactly_at_the_edges() {
        for divisor in [3u64, 5, 6, 7, 9, 10, 11, 25, 125, 625, 641, 1000, 65537, 0x7fff_ffff, 0xffff_fffe] {
            for known in [8, 16, 24, 31, 32] {
                let Some((factor, shift)) = magic(divisor, 32, known) else { continue };
                let top = (1u64 << known) - 1;
                for k in 0..2000u64 {
                    for x in [k, top - k.min(top), (top / divisor * divisor).saturating_sub(k), top / (k + 1)]
                    {
                        let x = x.min(top);
                        assert_eq!(((x * factor) >> 32) >> shift, x / divisor, "{x} / {divisor}");
                    }
                }
            }
        }
    }

    /// The reciprocals that a processor with an error of 1 ulp may have.
    fn reciprocals(y: f32) -> Vec<f32> {
        let nearest = y.recip();
        if y <= 2.0 {
            return vec![nearest];
        }
        [-1i32, 0, 1].map(|ulps| f32::from_bits(nearest.to_bits().wrapping_add_signed(ulps))).to_vec()
    }

    #[test]
    fn estimates_of_22_bits_are_low_by_one_at_most() {
        let top = 1u32 << 22;
        let divisors = (1..600).chain((600..top).step_by(997)).chain(top - 600..=top);
        for y in divisors {
            for reciprocal in reciprocals(y as f32) {
                let quotients = [1, 2, 3, top / y / 2, (top / y).saturating_sub(1), top / y];
                let near =
                    quotients.into_iter().flat_map(|q| [q * y, (q * y).saturating_sub(1), q * y + y / 2]);
                for x in near.filter(|&x| x <= top) {
                    let estimate = (x as f32 * reciprocal).trunc();
                    let rest = x as f32 - estimate * y as f32;
                    assert!(rest >= 0.0 && rest < 2.0 * y as f32, "{x} / {y} by {reciprocal}");
                    let q = estimate as u32 + u32::from(rest >= y as f32);
                    assert_eq!(q, x / y, "{x} / {y} by {reciprocal}");
                }
            }
        }
    }

    #[test]
    fn corrected_reciprocals_are_exact() {
        let steps = (1..3000).chain((1..=u32::MAX).step_by(65_521)).chain((0..32).map(|n| 1 << n));
        let beside = steps.flat_map(|y: u32| [y, y.saturating_add(1), u32::MAX - y]);
        let mut low = 0;
        for y in beside.filter(|&y| y != 0) {
            for reciprocal in reciprocals(y as f32) {
                let z = (reciprocal * f32::from_bits(0x4f7f_fffe)) as u32;
                // What the expansion asks of the hardware.
                if u64::from(z) * u64::from(y) >= 1 << 32 {
                    continue;
                }
                let error = y.wrapping_neg().wrapping_mul(z);
                let z = z + ((u64::from(z) * u64::from(error)) >> 32) as u32;
                let is_low = y.wrapping_neg().wrapping_mul(z).wrapping_sub(1) >= y;
                low += usize::from(is_low);
                let z = z + u32::from(is_low);
                assert_eq!(z, u32::MAX / y, "{y} by {reciprocal}");
                for x in [u32::MAX, u32::MAX - 1, y, y - 1, u32::MAX / y * y, u32::MAX / y * y - 1] {
                    let q = ((u64::from(x) * u64::from(z)) >> 32) as u32;
                    let q = q + u32::from(x - q * y >= y);
                    assert_eq!(q, x / y, "{x} / {y}");
                }
            }
        }
        assert!(low > 0);
    }

    #[test]
    fn small_factors_divide_exactly() {
        assert_eq!(small_magic(255, 16), Some((0x8081, 23)));
        let mut found = 0;
        for divisor in (1..700u64).chain([999, 1000, 1 << 12, 12345, 65535, 65537]) {
            for known in [4, 8, 12, 16, 20, 24] {
                let Some((factor, shift)) = small_magic(divisor, known) else { continue };
                found += 1;
                for x in 0..1u64 << known.min(16) {
                    // All of few bits; of more, those beside multiples.
                    let x = if known <= 16 { x } else { ((1 << known) - 1).min(x * divisor + x % 3) };
                    assert!(x * factor < 1 << 32, "{x} / {divisor}");
                    assert_eq!((x * factor) >> shift, x / divisor, "{x} / {divisor}");
                }
            }
        }
        assert!(found > 2000, "{found}");
    }
}
