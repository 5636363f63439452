//! Integers of 64 bits from words of 32 and back, and products wider than their factors.

use super::Builder;
use crate::bits::sext64;
use mir::ir::*;

impl Builder<'_> {
    /// Low and high half of a 64-bit integer.
    pub fn split64(&mut self, value: Value) -> (Value, Value) {
        let low = self.cast(CastOp::Trunc, value, Type::I32);
        let high = self.lshr_imm(value, 32);
        let high = self.cast(CastOp::Trunc, high, Type::I32);
        (low, high)
    }

    /// 64-bit integer from its halves.
    pub fn join64(&mut self, low: Value, high: Value) -> Value {
        if let (Some(low), Some(high)) = (self.func.as_int(low), self.func.as_int(high)) {
            return self.int(Type::I64, low | high << 32);
        }
        if self.func.as_int(high) == Some(0) {
            return self.cast(CastOp::ZExt, low, Type::I64);
        }
        let halves = self.vector(&[low, high]);
        self.bitcast(halves, Type::I64)
    }

    /// The 64-bit product of two 32-bit integers.
    pub fn wide_mul(&mut self, a: Value, b: Value, signed: bool) -> Value {
        let (a, b) = (self.extension(a, signed), self.extension(b, signed));
        self.mul(a, b)
    }

    /// An i32 extended to i64, visibly: selection recognises wide products by their operands.
    fn extension(&mut self, arg: Value, signed: bool) -> Value {
        if let Some(c) = self.func.as_int(arg) {
            return self.int(Type::I64, if signed { sext64(c, 32) as u64 } else { c });
        }
        let op = if signed { CastOp::SExt } else { CastOp::ZExt };
        self.shared(InstKind::Cast { op, arg }, Type::I64, InstFlags::empty())
    }

    /// High half of the unsigned product of two 32-bit integers.
    pub fn mulhi_u32(&mut self, a: Value, b: Value) -> Value {
        let product = self.wide_mul(a, b, false);
        let high = self.lshr_imm(product, 32);
        self.cast(CastOp::Trunc, high, Type::I32)
    }

    /// Product of two 64-bit integers: one wide and two narrow multiplications.
    pub fn mul64(&mut self, a: Value, b: Value) -> Value {
        let (a_small, b_small) = (self.unsigned_bits(a) <= 32, self.unsigned_bits(b) <= 32);
        let (a_lo, a_hi) = self.split64(a);
        let (b_lo, b_hi) = self.split64(b);
        if !(a_small && b_small) && self.signed_bits(a) <= 32 && self.signed_bits(b) <= 32 {
            return self.wide_mul(a_lo, b_lo, true);
        }
        let low = self.wide_mul(a_lo, b_lo, false);
        if a_small && b_small {
            return low;
        }
        let (lo, mut hi) = self.split64(low);
        if !b_small {
            let cross = self.mul(a_lo, b_hi);
            hi = self.add(hi, cross);
        }
        if !a_small {
            let cross = self.mul(a_hi, b_lo);
            hi = self.add(hi, cross);
        }
        self.join64(lo, hi)
    }

    /// High half of the unsigned product of two 64-bit integers.
    pub fn mulhi_u64(&mut self, a: Value, b: Value) -> Value {
        let (a_lo, a_hi) = self.split64(a);
        let (b_lo, b_hi) = self.split64(b);
        let low = self.mulhi_u32(a_lo, b_lo);
        let low = self.cast(CastOp::ZExt, low, Type::I64);
        let mid = self.wide_mul(a_lo, b_hi, false);
        let mid = self.add(mid, low);
        let (mid_lo, mid_hi) = self.split64(mid);
        let mid_lo = self.cast(CastOp::ZExt, mid_lo, Type::I64);
        let mid_hi = self.cast(CastOp::ZExt, mid_hi, Type::I64);
        let mid2 = self.wide_mul(a_hi, b_lo, false);
        let mid2 = self.add(mid2, mid_lo);
        let carry = self.lshr_imm(mid2, 32);
        let high = self.wide_mul(a_hi, b_hi, false);
        let high = self.add(high, mid_hi);
        self.add(high, carry)
    }
}
