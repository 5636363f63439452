//! Intrinsics on integers: extremes, counts, funnel shifts, saturation, overflow, reductions.

use super::{Legalizer, Parts};
use crate::bits::mask64;
use mir::ir::*;
use mir::{Diagnostic, Result};

impl Legalizer<'_> {
    /// Expansion of an integer intrinsic at a width of up to 64 bits; `None` where it is legal.
    pub(super) fn int_lane(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        bits: u32,
    ) -> Result<Option<Value>> {
        use Intrinsic::*;
        let x = args.first().copied();
        let y = args.get(1).copied();
        let need = |v: Option<Value>| v.ok_or_else(|| Diagnostic::malformed("too few arguments"));
        Ok(Some(match intrinsic {
            Smin | Smax | Umin | Umax => {
                let (x, y) = (need(x)?, need(y)?);
                self.integer_minmax(intrinsic, x, y, bits)
            }
            Abs => {
                let x = need(x)?;
                let x = if bits == 1 { x } else { self.sign_extended(x, bits) };
                if bits == 1 {
                    x
                } else {
                    let minus = self.b.neg(x);
                    self.clean_minmax(Smax, x, minus)
                }
            }
            Ctpop => {
                let x = need(x)?;
                self.population(x, bits)
            }
            Ctlz | Cttz => {
                let (x, poison) = (need(x)?, need(y)?);
                self.count_zeros(intrinsic == Ctlz, x, poison, bits)
            }
            Bswap => {
                let x = need(x)?;
                self.byte_swap(x, bits)?
            }
            Bitreverse => {
                let x = need(x)?;
                self.bit_reverse(x, bits)
            }
            Fshl | Fshr => {
                let (x, y) = (need(x)?, need(y)?);
                let amount = need(args.get(2).copied())?;
                self.funnel_shift(intrinsic == Fshl, x, y, amount, bits)
            }
            SaddSat | UaddSat | SsubSat | UsubSat => {
                let (x, y) = (need(x)?, need(y)?);
                self.saturating(intrinsic, x, y, bits)
            }
            SshlSat | UshlSat => {
                let (x, y) = (need(x)?, need(y)?);
                self.saturating_shift(intrinsic == SshlSat, x, y, bits)
            }
            Clmul => {
                let (x, y) = (need(x)?, need(y)?);
                if bits == 1 { self.b.and(x, y) } else { self.carryless_product(&[x], &[y], bits)?[0] }
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn integer_minmax(&mut self, intrinsic: Intrinsic, x: Value, y: Value, bits: u32) -> Value {
        use Intrinsic::*;
        if bits == 1 {
            return if matches!(intrinsic, Umin | Smax) { self.b.and(x, y) } else { self.b.or(x, y) };
        }
        let signed = matches!(intrinsic, Smin | Smax);
        let clean = |this: &mut Self, v| {
            if signed { this.sign_extended(v, bits) } else { this.zero_extended(v, bits) }
        };
        let (x, y) = (clean(self, x), clean(self, y));
        self.clean_minmax(intrinsic, x, y)
    }

    /// Minimum or maximum of clean carriers.
    pub(super) fn clean_minmax(&mut self, intrinsic: Intrinsic, x: Value, y: Value) -> Value {
        use Intrinsic::*;
        let ty = self.b.ty(x);
        if self.b.bits(x) <= 32 {
            return self.b.intrinsic(intrinsic, &[x, y], ty);
        }
        let predicate = match intrinsic {
            Smin => IntPredicate::Slt,
            Smax => IntPredicate::Sgt,
            Umin => IntPredicate::Ult,
            _ => IntPredicate::Ugt,
        };
        let keep = self.b.icmp(predicate, x, y);
        self.b.select(keep, x, y)
    }

    fn population(&mut self, x: Value, bits: u32) -> Value {
        if bits == 1 {
            return x;
        }
        let carrier = self.b.ty(x);
        let x = self.zero_extended(x, bits);
        let count = if self.b.bits(x) == 64 {
            let (low, high) = self.b.split64(x);
            let low = self.b.intrinsic(Intrinsic::Ctpop, &[low], Type::I32);
            let high = self.b.intrinsic(Intrinsic::Ctpop, &[high], Type::I32);
            self.b.add(low, high)
        } else {
            let x = self.b.zext_or_trunc(x, Type::I32);
            self.b.intrinsic(Intrinsic::Ctpop, &[x], Type::I32)
        };
        self.b.zext_or_trunc(count, carrier)
    }

    /// `ctlz` and `cttz`. The instructions give -1 for zero, which as an unsigned number loses against any
    /// count.
    fn count_zeros(&mut self, leading: bool, x: Value, zero_is_poison: Value, bits: u32) -> Value {
        let carrier = self.b.ty(x);
        if bits == 1 {
            return self.b.not(x);
        }
        let exact = self.b.func.as_int(zero_is_poison) == Some(1) || self.is_every_lane(x);
        let intrinsic = if leading { Intrinsic::Ctlz } else { Intrinsic::Cttz };
        let yes = self.b.bool(true);
        let mut x = self.zero_extended(x, bits);
        let width = if self.b.bits(x) == 64 { 64 } else { 32 };
        x = self.b.zext_or_trunc(x, Type::int(width));
        // Narrow values move to the top for leading zeros; a bit above them ends the search for trailing
        // ones.
        if leading && bits < width {
            x = self.b.shl_imm(x, width - bits);
        }
        let mut count = if width == 64 {
            let (low, high) = self.b.split64(x);
            let low_count = self.b.intrinsic(intrinsic, &[low, yes], Type::I32);
            let high_count = self.b.intrinsic(intrinsic, &[high, yes], Type::I32);
            let (first, second) = if leading { (high_count, low_count) } else { (low_count, high_count) };
            // 32 more, without carrying out of -1.
            let thirty_two = self.b.i32(32);
            let second = self.b.or(second, thirty_two);
            self.b.intrinsic(Intrinsic::Umin, &[first, second], Type::I32)
        } else {
            self.b.intrinsic(intrinsic, &[x, yes], Type::I32)
        };
        if !exact {
            let all = self.b.i32(bits);
            count = self.b.intrinsic(Intrinsic::Umin, &[count, all], Type::I32);
        }
        self.b.zext_or_trunc(count, carrier)
    }

    fn byte_swap(&mut self, x: Value, bits: u32) -> Result<Value> {
        let carrier = self.b.ty(x);
        if !bits.is_multiple_of(16) {
            return Err(Diagnostic::malformed(format!("bswap of i{bits}")));
        }
        if self.b.bits(x) == 64 {
            let (low, high) = self.b.split64(x);
            let low = self.b.intrinsic(Intrinsic::Bswap, &[low], Type::I32);
            let high = self.b.intrinsic(Intrinsic::Bswap, &[high], Type::I32);
            let whole = self.b.join64(high, low);
            return Ok(self.b.lshr_imm(whole, 64 - bits));
        }
        let wide = self.b.zext_or_trunc(x, Type::I32);
        let swapped = self.b.intrinsic(Intrinsic::Bswap, &[wide], Type::I32);
        let moved = self.b.lshr_imm(swapped, 32 - bits);
        Ok(self.b.zext_or_trunc(moved, carrier))
    }

    fn bit_reverse(&mut self, x: Value, bits: u32) -> Value {
        let carrier = self.b.ty(x);
        if bits == 1 {
            return x;
        }
        if self.b.bits(x) == 64 {
            let (low, high) = self.b.split64(x);
            let low = self.b.intrinsic(Intrinsic::Bitreverse, &[low], Type::I32);
            let high = self.b.intrinsic(Intrinsic::Bitreverse, &[high], Type::I32);
            let whole = self.b.join64(high, low);
            return self.b.lshr_imm(whole, 64 - bits);
        }
        let wide = self.b.zext_or_trunc(x, Type::I32);
        let reversed = self.b.intrinsic(Intrinsic::Bitreverse, &[wide], Type::I32);
        let moved = self.b.lshr_imm(reversed, 32 - bits);
        self.b.zext_or_trunc(moved, carrier)
    }

    /// Shifts of two values side by side. Constant ones of 32 and 64 bits, which are most, are one `fshr` a
    /// dword.
    fn funnel_shift(&mut self, left: bool, high: Value, low: Value, amount: Value, bits: u32) -> Value {
        if bits == 1 {
            // The amount counts modulo 1.
            return if left { high } else { low };
        }
        if let Some(c) = self.b.func.as_int(amount) {
            let c = (mask64(c, bits) % u64::from(bits)) as u32;
            if c == 0 {
                return if left { high } else { low };
            }
            let right = if left { bits - c } else { c };
            match bits {
                32 => {
                    let right = self.b.i32(right);
                    return self.b.intrinsic(Intrinsic::Fshr, &[high, low, right], Type::I32);
                }
                64 => {
                    let (low_lo, low_hi) = self.b.split64(low);
                    let (high_lo, high_hi) = self.b.split64(high);
                    let words = [low_lo, low_hi, high_lo, high_hi];
                    let at = (right / 32) as usize;
                    let rest = self.b.i32(right % 32);
                    let first =
                        self.b.intrinsic(Intrinsic::Fshr, &[words[at + 1], words[at], rest], Type::I32);
                    let top = words.get(at + 2).copied().unwrap_or(words[at + 1]);
                    let second = self.b.intrinsic(Intrinsic::Fshr, &[top, words[at + 1], rest], Type::I32);
                    return self.b.join64(first, second);
                }
                _ => {
                    let up = self.b.shl_imm(high, bits - right);
                    let low = self.zero_extended(low, bits);
                    let down = self.b.lshr_imm(low, right);
                    return self.b.or(up, down);
                }
            }
        }
        if bits == 32 {
            if !left {
                return self.b.intrinsic(Intrinsic::Fshr, &[high, low, amount], Type::I32);
            }
            if high == low {
                let back = self.b.neg(amount);
                return self.b.intrinsic(Intrinsic::Fshr, &[high, low, back], Type::I32);
            }
            // By 32 - n, where n = 0 must not become 0: one step by 1, one by 31 - n.
            let one = self.b.i32(1);
            let high_half = self.b.lshr_imm(high, 1);
            let low_half = self.b.intrinsic(Intrinsic::Fshr, &[high, low, one], Type::I32);
            let back = self.b.not(amount);
            return self.b.intrinsic(Intrinsic::Fshr, &[high_half, low_half, back], Type::I32);
        }
        let ty = self.b.ty(amount);
        let clean = self.zero_extended(amount, bits);
        let amount = if bits.is_power_of_two() {
            self.b.and_imm(clean, u64::from(bits - 1))
        } else {
            let width = self.b.int(ty, u64::from(bits));
            self.divide(clean, width, false, true)
        };
        // The other side moves by bits - n = 1 + (bits - 1 - n), in two steps.
        let most = self.b.int(ty, u64::from(bits - 1));
        let back = self.b.sub(most, amount);
        let low = self.zero_extended(low, bits);
        let (up, down) = if left {
            let up = self.b.binary(BinaryOp::Shl, high, amount);
            let half = self.b.lshr_imm(low, 1);
            (up, self.b.binary(BinaryOp::LShr, half, back))
        } else {
            let double = self.b.shl_imm(high, 1);
            (self.b.binary(BinaryOp::Shl, double, back), self.b.binary(BinaryOp::LShr, low, amount))
        };
        self.b.or(up, down)
    }

    fn saturating(&mut self, intrinsic: Intrinsic, x: Value, y: Value, bits: u32) -> Value {
        use Intrinsic::*;
        let ty = self.b.ty(x);
        let limit = mask64(u64::MAX, bits);
        if bits == 1 {
            return match intrinsic {
                UaddSat | SaddSat => self.b.or(x, y),
                _ => {
                    let inverse = self.b.not(y);
                    self.b.and(x, inverse)
                }
            };
        }
        match intrinsic {
            UaddSat => {
                let (x, y) = (self.zero_extended(x, bits), self.zero_extended(y, bits));
                // min(x, ~y) + y
                let room = self.b.xor_imm(y, limit);
                let x = self.clean_minmax(Umin, x, room);
                self.b.add(x, y)
            }
            UsubSat => {
                let (x, y) = (self.zero_extended(x, bits), self.zero_extended(y, bits));
                let x = self.clean_minmax(Umax, x, y);
                self.b.sub(x, y)
            }
            _ => {
                let (x, y) = (self.sign_extended(x, bits), self.sign_extended(y, bits));
                let add = intrinsic == SaddSat;
                if bits < self.b.bits(x) {
                    // The sum does not overflow the carrier.
                    let sum = if add { self.b.add(x, y) } else { self.b.sub(x, y) };
                    let top = self.b.int(ty, limit >> 1);
                    let bottom = self.b.int(ty, !(limit >> 1));
                    let sum = self.clean_minmax(Smin, sum, top);
                    return self.clean_minmax(Smax, sum, bottom);
                }
                let sum = if add { self.b.add(x, y) } else { self.b.sub(x, y) };
                let over = self.signed_overflow(x, y, sum, add);
                let sign = self.b.ashr_imm(x, bits - 1);
                let bound = self.b.xor_imm(sign, limit >> 1);
                self.b.select(over, bound, sum)
            }
        }
    }

    /// Whether a signed sum or difference at full width overflowed.
    fn signed_overflow(&mut self, x: Value, y: Value, result: Value, add: bool) -> Value {
        // The result's sign differs from x's although it should not: both operands (the negated one) agree.
        let changed = self.b.xor(x, result);
        let other = if add { self.b.xor(y, result) } else { self.b.xor(x, y) };
        let both = self.b.and(changed, other);
        self.b.icmp_imm(IntPredicate::Slt, both, 0)
    }

    fn saturating_shift(&mut self, signed: bool, x: Value, y: Value, bits: u32) -> Value {
        let ty = self.b.ty(x);
        if bits == 1 {
            return x;
        }
        let limit = mask64(u64::MAX, bits);
        let amount = self.zero_extended(y, bits);
        let clean = |this: &mut Self, v| {
            if signed { this.sign_extended(v, bits) } else { this.zero_extended(v, bits) }
        };
        let x = clean(self, x);
        let moved = self.b.binary(BinaryOp::Shl, x, amount);
        let moved = clean(self, moved);
        let back = self.b.binary(if signed { BinaryOp::AShr } else { BinaryOp::LShr }, moved, amount);
        let lost = self.b.icmp(IntPredicate::Ne, back, x);
        let bound = if signed {
            let width = self.b.bits(x);
            let sign = self.b.ashr_imm(x, width - 1);
            self.b.xor_imm(sign, limit >> 1)
        } else {
            self.b.int(ty, limit)
        };
        self.b.select(lost, bound, moved)
    }

    /// The `with.overflow` family: sum and flag, lane by lane (all sums first).
    pub(super) fn lower_overflow(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Result<Parts> {
        use Intrinsic::*;
        let (scalar, x) = self.lanes(args[0])?;
        let y = self.parts(args[1])?;
        let Scalar::Int(bits) = scalar else {
            return Err(Diagnostic::malformed("overflow arithmetic on floats"));
        };
        let (mut values, mut flags) = (Parts::new(), Parts::new());
        if bits > 64 {
            let signed = matches!(intrinsic, SaddOverflow | SsubOverflow | SmulOverflow);
            let each = self.element_parts(scalar);
            for (x, y) in x.chunks(each).zip(y.chunks(each)) {
                let (value, flag) = match intrinsic {
                    SmulOverflow | UmulOverflow => self.wide_multiply_overflow(x, y, bits, signed),
                    _ => {
                        let add = matches!(intrinsic, SaddOverflow | UaddOverflow);
                        self.wide_overflow(x, y, bits, signed, add)
                    }
                };
                values.extend(value);
                flags.push(flag);
            }
            values.extend(flags);
            return Ok(values);
        }
        for (&x, &y) in x.iter().zip(&y) {
            let (value, flag) = self.overflow_lane(intrinsic, x, y, bits);
            values.push(value);
            flags.push(flag);
        }
        values.extend(flags);
        Ok(values)
    }

    fn overflow_lane(&mut self, intrinsic: Intrinsic, x: Value, y: Value, bits: u32) -> (Value, Value) {
        use IntPredicate::*;
        use Intrinsic::*;
        let signed = matches!(intrinsic, SaddOverflow | SsubOverflow | SmulOverflow);
        if bits == 1 {
            let both = self.b.and(x, y);
            let either = self.b.xor(x, y);
            let inverse = self.b.not(x);
            let less = self.b.and(inverse, y);
            return match intrinsic {
                UaddOverflow | SaddOverflow => (either, both),
                UsubOverflow | SsubOverflow => (either, less),
                SmulOverflow => (both, both),
                _ => {
                    let never = self.b.bool(false);
                    (both, never)
                }
            };
        }
        let clean = |this: &mut Self, v| {
            if signed { this.sign_extended(v, bits) } else { this.zero_extended(v, bits) }
        };
        let (x, y) = (clean(self, x), clean(self, y));
        let width = self.b.bits(x);
        match intrinsic {
            UmulOverflow | SmulOverflow => self.multiply_overflow(x, y, bits, signed),
            _ => {
                let add = matches!(intrinsic, SaddOverflow | UaddOverflow);
                let sum = if add { self.b.add(x, y) } else { self.b.sub(x, y) };
                if bits < width {
                    // Overflow shows in the bits above.
                    let cut = clean(self, sum);
                    let over = self.b.icmp(Ne, cut, sum);
                    return (sum, over);
                }
                let over = if signed {
                    self.signed_overflow(x, y, sum, add)
                } else if add {
                    self.b.icmp(Ult, sum, x)
                } else {
                    self.b.icmp(Ult, x, y)
                };
                (sum, over)
            }
        }
    }

    fn multiply_overflow(&mut self, x: Value, y: Value, bits: u32, signed: bool) -> (Value, Value) {
        let ty = self.b.ty(x);
        if bits <= 32 {
            let op = if signed { CastOp::SExt } else { CastOp::ZExt };
            let (x, y) = match self.b.bits(x) {
                32 => (x, y),
                _ => (self.b.cast(op, x, Type::I32), self.b.cast(op, y, Type::I32)),
            };
            let product = self.b.wide_mul(x, y, signed);
            let low = self.b.cast(CastOp::Trunc, product, Type::I32);
            let cut = if signed { self.sign_extended(low, bits) } else { self.zero_extended(low, bits) };
            let back = self.b.cast(op, cut, Type::I64);
            let over = self.b.icmp(IntPredicate::Ne, back, product);
            return (self.b.zext_or_trunc(low, ty), over);
        }
        let low = self.b.mul64(x, y);
        let mut high = self.b.mulhi_u64(x, y);
        if signed {
            // The unsigned high half counts negative operands 2^64 too large.
            for (a, b) in [(x, y), (y, x)] {
                let sign = self.b.ashr_imm(a, 63);
                let excess = self.b.and(sign, b);
                high = self.b.sub(high, excess);
            }
        }
        let cut = if signed { self.sign_extended(low, bits) } else { self.zero_extended(low, bits) };
        let fill = if signed { self.b.ashr_imm(cut, 63) } else { self.b.int(Type::I64, 0) };
        let above = self.b.icmp(IntPredicate::Ne, high, fill);
        let inside = self.b.icmp(IntPredicate::Ne, cut, low);
        (low, self.b.or(above, inside))
    }

    /// Saturating conversions. The 32-bit instructions saturate and take NaN to 0 by themselves.
    pub(super) fn lower_saturating_conversion(
        &mut self,
        signed: bool,
        arg: Value,
        ty: Type,
    ) -> Result<Parts> {
        let (scalar, lanes) = self.lanes(arg)?;
        let (Scalar::Float(float), Some(Scalar::Int(bits))) = (scalar, ty.scalar()) else {
            return Err(Diagnostic::malformed("saturating conversion of a non-float"));
        };
        let mut out = Parts::new();
        for &x in &lanes {
            if bits > 64 {
                out.extend(self.float_to_wide_saturating(x, float, signed, bits)?);
                continue;
            }
            let native = matches!(float, Float::Single | Float::Double);
            let x = if native { x } else { self.resize_float(x, float, Float::Single)? };
            let largest = mask64(u64::MAX, if signed { bits - 1 } else { bits });
            if bits <= 32 {
                let op = if signed { CastOp::FpToSi } else { CastOp::FpToUi };
                let mut integer = self.b.cast(op, x, Type::I32);
                if bits < 32 {
                    let top = self.b.int(Type::I32, largest);
                    integer = if signed {
                        let bottom = self.b.int(Type::I32, !largest);
                        let capped = self.clean_minmax(Intrinsic::Smin, integer, top);
                        self.clean_minmax(Intrinsic::Smax, capped, bottom)
                    } else {
                        self.clean_minmax(Intrinsic::Umin, integer, top)
                    };
                }
                let mut part = Parts::new();
                self.resize(&[integer], 32, bits, false, &mut part);
                out.extend(part);
                continue;
            }
            let float_ty = self.b.ty(x);
            let whole = self.float_to_long(x, signed)?;
            let power = 2f64.powi(if signed { bits as i32 - 1 } else { bits as i32 });
            let above = self.b.float(float_ty, power);
            let below = self.b.float(float_ty, if signed { -power } else { 0.0 });
            let top = self.b.int(Type::I64, largest);
            let bottom = self.b.int(Type::I64, if signed { !largest } else { 0 });
            let zero = self.b.int(Type::I64, 0);
            let high = self.b.fcmp(FloatPredicate::Oge, x, above);
            let low = self.b.fcmp(FloatPredicate::Olt, x, below);
            let nan = self.b.fcmp(FloatPredicate::Uno, x, x);
            let result = self.b.select(high, top, whole);
            let result = self.b.select(low, bottom, result);
            out.push(self.b.select(nan, zero, result));
        }
        Ok(out)
    }

    /// -1, 0 or 1.
    pub(super) fn lower_three_way(&mut self, signed: bool, args: &[Value], ty: Type) -> Result<Parts> {
        let (scalar, x) = self.lanes(args[0])?;
        let y = self.parts(args[1])?;
        let (Scalar::Int(from), Some(Scalar::Int(to))) = (scalar, ty.scalar()) else {
            return Err(Diagnostic::malformed("three-way comparison of non-integers"));
        };
        let (less, more) = if signed {
            (IntPredicate::Slt, IntPredicate::Sgt)
        } else {
            (IntPredicate::Ult, IntPredicate::Ugt)
        };
        let carrier = if to > 64 { Type::I64 } else { self.carrier(to) };
        let (minus, zero, one) =
            (self.b.int(carrier, u64::MAX), self.b.int(carrier, 0), self.b.int(carrier, 1));
        let each = self.element_parts(scalar);
        let mut out = Parts::new();
        for (x, y) in x.chunks(each).zip(y.chunks(each)) {
            let below = self.any_icmp(less, x, y, from);
            let above = self.any_icmp(more, x, y, from);
            let upper = self.b.select(above, one, zero);
            let low = self.b.select(below, minus, upper);
            out.push(low);
            if to > 64 {
                let fill = self.b.ashr_imm(low, 63);
                out.extend(std::iter::repeat_n(fill, to.div_ceil(64) as usize - 1));
            }
        }
        Ok(out)
    }

    /// Compares integers of any width.
    pub(super) fn any_icmp(&mut self, predicate: IntPredicate, x: &[Value], y: &[Value], bits: u32) -> Value {
        if bits > 64 {
            self.wide_icmp(predicate, x, y, bits)
        } else {
            self.int_icmp(predicate, x[0], y[0], bits)
        }
    }

    /// Two-operand arithmetic on integers of any width.
    pub(super) fn any_binary(&mut self, op: BinaryOp, x: &[Value], y: &[Value], bits: u32) -> Result<Parts> {
        if bits > 64 {
            return self.wide_binary(op, x, y, bits);
        }
        Ok(Parts::from_slice(&[self.int_binary(op, x[0], y[0], bits)?]))
    }

    /// Minimum or maximum of integers of any width.
    pub(super) fn any_minmax(&mut self, intrinsic: Intrinsic, x: &[Value], y: &[Value], bits: u32) -> Parts {
        if bits > 64 {
            return self.wide_minmax(intrinsic, x, y, bits);
        }
        Parts::from_slice(&[self.integer_minmax(intrinsic, x[0], y[0], bits)])
    }

    /// `smul.fix` and its kin, lane by lane.
    pub(super) fn lower_fixed_point(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Result<Parts> {
        use Intrinsic::*;
        let &[x, y, scale] = args else { return Err(Diagnostic::malformed("too few arguments")) };
        let scale = self.old.as_int(scale).expect("the scale is an immediate argument") as u32;
        let (scalar, x) = self.lanes(x)?;
        let y = self.parts(y)?;
        let Scalar::Int(bits) = scalar else {
            return Err(Diagnostic::malformed("fixed-point arithmetic on floats"));
        };
        if scale > bits {
            return Err(Diagnostic::malformed("fixed-point scale larger than the number"));
        }
        let signed = matches!(intrinsic, SmulFix | SmulFixSat | SdivFix | SdivFixSat);
        let saturate = matches!(intrinsic, SmulFixSat | UmulFixSat | SdivFixSat | UdivFixSat);
        let multiply = matches!(intrinsic, SmulFix | SmulFixSat | UmulFix | UmulFixSat);
        let each = self.element_parts(scalar);
        let mut out = Parts::new();
        for (x, y) in x.chunks(each).zip(y.chunks(each)) {
            out.extend(if multiply {
                self.fixed_multiply(x, y, bits, scale, signed, saturate)
            } else {
                self.fixed_divide(x, y, bits, scale, signed, saturate)
            });
        }
        Ok(out)
    }

    pub(super) fn lower_ptrmask(&mut self, args: &[Value]) -> Result<Parts> {
        let mut pointers = self.parts(args[0])?;
        let masks = self.parts(args[1])?;
        if let Some(scalar @ Scalar::Ptr(space)) = self.old.ty(args[0]).scalar()
            && super::fat::is_fat(space)
        {
            // The mask is as wide as an index, which is what the offset is.
            let each = self.element_parts(scalar);
            for (own, &mask) in pointers.chunks_mut(each).zip(&masks) {
                if let Some(offset) = own.last_mut() {
                    *offset = self.b.and(*offset, mask);
                }
            }
            return Ok(pointers);
        }
        Ok(pointers
            .iter()
            .zip(&masks)
            .map(|(&pointer, &mask)| {
                let ty = self.b.ty(pointer);
                let integer = self.b.as_integer(pointer);
                let kept = self.b.and(integer, mask);
                self.b.integer_as(kept, ty)
            })
            .collect())
    }
}
