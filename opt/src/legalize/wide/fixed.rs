//! Fixed-point products and quotients: wide operations, a shift, and a bound where they saturate.

use super::{Legalizer, Parts};
use mir::ir::*;

impl Legalizer<'_> {
    /// `smul.fix` and its kin at any width: the product shifted right by `scale`, rounded down, at twice the
    /// width.
    pub(in crate::legalize) fn fixed_multiply(
        &mut self,
        x: &[Value],
        y: &[Value],
        bits: u32,
        scale: u32,
        signed: bool,
        saturate: bool,
    ) -> Parts {
        let (x, y) = (self.as_words(x, bits, signed), self.as_words(y, bits, signed));
        let product = if 2 * bits <= 64 {
            let (x, y) = (self.b.split64(x[0]).0, self.b.split64(y[0]).0);
            Parts::from_slice(&[self.b.wide_mul(x, y, signed)])
        } else {
            self.wide_product(&x, &y, signed)
        };
        let op = if signed { BinaryOp::AShr } else { BinaryOp::LShr };
        let moved = self.wide_shift_imm(op, &product, scale);
        self.fixed_result(&moved, bits, signed, saturate)
    }

    /// `sdiv.fix` and its kin: the dividend shifted left by `scale`, divided, rounded down.
    pub(in crate::legalize) fn fixed_divide(
        &mut self,
        x: &[Value],
        y: &[Value],
        bits: u32,
        scale: u32,
        signed: bool,
        saturate: bool,
    ) -> Parts {
        // One bit more, so that no quotient overflows.
        let words = (bits + scale + 1).div_ceil(64) as usize;
        let widen = |this: &mut Self, v: &[Value]| {
            let mut v = this.as_words(v, bits, signed);
            let fill = if signed { this.wide_sign(&v) } else { this.b.int(Type::I64, 0) };
            v.resize(words, fill);
            v
        };
        let (x, y) = (widen(self, x), widen(self, y));
        let x = self.wide_shift_imm(BinaryOp::Shl, &x, scale);
        if words == 1 && !signed {
            let q = self.divide(x[0], y[0], false, false);
            return self.fixed_result(&[q], bits, signed, saturate);
        }
        let (mut q, r) = if words == 1 {
            let (q, r) = (self.divide(x[0], y[0], true, false), self.divide(x[0], y[0], true, true));
            (Parts::from_slice(&[q]), Parts::from_slice(&[r]))
        } else {
            self.wide_divide(&x, &y, 64 * words as u32, signed)
        };
        if signed {
            let zero = self.wide_zero(words);
            let inexact = self.clean_compare(IntPredicate::Ne, &r, &zero);
            let signs = self.b.xor(x[words - 1], y[words - 1]);
            let negative = self.b.icmp_imm(IntPredicate::Slt, signs, 0);
            let down = self.b.and(inexact, negative);
            let down = self.b.cast(CastOp::SExt, down, Type::I64);
            let down: Parts = std::iter::repeat_n(down, words).collect();
            q = self.wide_add(&q, &down, None).0;
        }
        self.fixed_result(&q, bits, signed, saturate)
    }

    /// Clean words of an integer of any width.
    fn as_words(&mut self, x: &[Value], bits: u32, signed: bool) -> Parts {
        if bits > 64 {
            return self.wide_clean(x, bits, signed);
        }
        let clean = match bits {
            1 => x[0],
            _ if signed => self.sign_extended(x[0], bits),
            _ => self.zero_extended(x[0], bits),
        };
        Parts::from_slice(&[if signed {
            self.b.sext_or_trunc(clean, Type::I64)
        } else {
            self.b.zext_or_trunc(clean, Type::I64)
        }])
    }

    /// The low `bits` bits of clean words as parts, the nearest number where that is not the value and
    /// `saturate` is asked for.
    fn fixed_result(&mut self, x: &[Value], bits: u32, signed: bool, saturate: bool) -> Parts {
        let mut result = Parts::from_slice(x);
        if saturate {
            let over = self.exceeds(x, bits, signed);
            let n = x.len();
            let bound = if signed {
                let sign = self.wide_sign(x);
                let most = self.wide_ones(bits - 1, n);
                self.wide_xor_word(&most, sign)
            } else {
                self.wide_ones(bits, n)
            };
            result = self.wide_select(over, &bound, &result);
        }
        let mut out = Parts::new();
        // What is cut off are copies of the sign or unspecified.
        self.resize(&result, 64 * result.len() as u32, bits, false, &mut out);
        out
    }
}
