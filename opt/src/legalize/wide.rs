//! Integers of more than 64 bits: arithmetic, comparison and intrinsics, word by word.
//!
//! A wide integer is a list of i64 words, the lowest first. Bits of the last word above the width are
//! unspecified, as those of every carrier are; [`Legalizer::wide_clean`] clears or sign-fills them where an
//! operation would see them. Everything is unrolled over the words but division, which is a loop over the
//! bits of the quotient.
//!
//! Cost: linear in the words emitted; products are quadratic in the number of words.

mod divide;
mod fixed;

use super::{Legalizer, Parts};
use crate::bits::mask64;
use mir::ir::*;
use mir::{Diagnostic, Result};

/// A division whose quotient and remainder were both computed, for the other one to be asked for next.
pub(super) struct Divided {
    x: Parts,
    y: Parts,
    signed: bool,
    scope: Option<super::super::builder::Scope>,
    quotient: Parts,
    remainder: Parts,
}

impl Legalizer<'_> {
    /// Quotient and remainder of the last division, if it was this one and stands where both are found.
    pub(super) fn known_division(&self, x: &[Value], y: &[Value], signed: bool) -> Option<(Parts, Parts)> {
        let known = self.divided.as_ref()?;
        let same = known.scope.is_some()
            && known.scope == self.b.scope
            && known.signed == signed
            && known.x[..] == *x
            && known.y[..] == *y;
        same.then(|| (known.quotient.clone(), known.remainder.clone()))
    }

    /// Keeps the results of a division.
    pub(super) fn note_division(
        &mut self,
        x: &[Value],
        y: &[Value],
        signed: bool,
        quotient: &[Value],
        remainder: &[Value],
    ) {
        if self.b.optimize {
            self.divided = Some(Divided {
                x: Parts::from_slice(x),
                y: Parts::from_slice(y),
                signed,
                scope: self.b.scope,
                quotient: Parts::from_slice(quotient),
                remainder: Parts::from_slice(remainder),
            });
        }
    }

    /// Arithmetic on integers of more than 64 bits.
    pub(super) fn wide_binary(&mut self, op: BinaryOp, x: &[Value], y: &[Value], bits: u32) -> Result<Parts> {
        use BinaryOp::*;
        Ok(match op {
            And | Or | Xor => x.iter().zip(y).map(|(&a, &b)| self.b.binary(op, a, b)).collect(),
            Add => self.wide_add(x, y, None).0,
            Sub => self.wide_sub(x, y).0,
            Mul => self.wide_mul(x, y, x.len()),
            Shl | LShr | AShr => {
                // An amount of 2^32 and more is undefined; the low word is enough.
                self.wide_shift(op, x, y[0], bits)
            }
            UDiv | SDiv | URem | SRem => {
                let signed = matches!(op, SDiv | SRem);
                let (quotient, remainder) = self.wide_divide(x, y, bits, signed);
                if matches!(op, UDiv | SDiv) { quotient } else { remainder }
            }
            FAdd | FSub | FMul | FDiv | FRem => {
                return Err(Diagnostic::malformed("floating-point operation on integers"));
            }
        })
    }

    /// The words with bits from `bits` on cleared or sign-filled. `bits` may lie in any word.
    pub(super) fn wide_clean(&mut self, x: &[Value], bits: u32, signed: bool) -> Parts {
        let mut out = Parts::from_slice(x);
        let top = (bits.div_ceil(64) as usize).max(1) - 1;
        let Some(&word) = out.get(top) else { return out };
        let used = bits - 64 * top as u32;
        let clean = if signed { self.sign_extended(word, used) } else { self.zero_extended(word, used) };
        out[top] = clean;
        if top + 1 < out.len() {
            let fill = if signed { self.b.ashr_imm(clean, 63) } else { self.b.int(Type::I64, 0) };
            out[top + 1..].fill(fill);
        }
        out
    }

    /// The words of a constant.
    fn wide_constant(&mut self, words: usize, word: impl Fn(usize) -> u64) -> Parts {
        (0..words).map(|i| self.b.int(Type::I64, word(i))).collect()
    }

    /// 2^bits - 1.
    pub(super) fn wide_ones(&mut self, bits: u32, words: usize) -> Parts {
        self.wide_constant(words, |i| {
            let left = bits.saturating_sub(64 * i as u32);
            mask64(u64::MAX, left.min(64))
        })
    }

    fn wide_zero(&mut self, words: usize) -> Parts {
        self.wide_constant(words, |_| 0)
    }

    /// A small number as words.
    fn wide_small(&mut self, low: Value, words: usize) -> Parts {
        let mut out = self.wide_zero(words);
        if let Some(first) = out.first_mut() {
            *first = self.b.zext_or_trunc(low, Type::I64);
        }
        out
    }

    fn wide_select(&mut self, cond: Value, x: &[Value], y: &[Value]) -> Parts {
        x.iter().zip(y).map(|(&a, &b)| self.b.select(cond, a, b)).collect()
    }

    /// All bits equal to the sign of clean words.
    fn wide_sign(&mut self, x: &[Value]) -> Value {
        let top = x[x.len() - 1];
        self.b.ashr_imm(top, 63)
    }

    fn wide_xor_word(&mut self, x: &[Value], word: Value) -> Parts {
        x.iter().map(|&a| self.b.xor(a, word)).collect()
    }

    /// Sum and carry (an i1) of words.
    fn wide_add(&mut self, x: &[Value], y: &[Value], carry_in: Option<Value>) -> (Parts, Value) {
        self.wide_chain(x, y, carry_in, |this, a, b| {
            let sum = this.b.add(a, b);
            (sum, this.b.icmp(IntPredicate::Ult, sum, a))
        })
    }

    /// Difference of words, and whether the subtrahend was larger.
    fn wide_sub(&mut self, x: &[Value], y: &[Value]) -> (Parts, Value) {
        self.wide_chain(x, y, None, |this, a, b| (this.b.sub(a, b), this.b.icmp(IntPredicate::Ult, a, b)))
    }

    /// Words by `word`, which gives a result and a carry; the carry of one word is the second operand of
    /// another step on the next.
    fn wide_chain(
        &mut self,
        x: &[Value],
        y: &[Value],
        carry_in: Option<Value>,
        word: impl Fn(&mut Self, Value, Value) -> (Value, Value),
    ) -> (Parts, Value) {
        let mut out = Parts::new();
        let mut carry = carry_in;
        for (&a, &b) in x.iter().zip(y) {
            let (first, over) = word(self, a, b);
            let (total, over) = match carry {
                Some(carry) => {
                    let carry = self.b.cast(CastOp::ZExt, carry, Type::I64);
                    let (total, again) = word(self, first, carry);
                    (total, self.b.or(over, again))
                }
                None => (first, over),
            };
            carry = Some(over);
            out.push(total);
        }
        let carry = match carry {
            Some(carry) => carry,
            None => self.b.bool(false),
        };
        (out, carry)
    }

    /// `(x ^ sign) - sign`: the negative where `sign` is -1.
    pub(super) fn wide_negate_if(&mut self, x: &[Value], sign: Value) -> Parts {
        let flipped = self.wide_xor_word(x, sign);
        let signs: Parts = std::iter::repeat_n(sign, x.len()).collect();
        self.wide_sub(&flipped, &signs).0
    }

    /// The low `count` words of the product of unsigned words.
    fn wide_mul(&mut self, x: &[Value], y: &[Value], count: usize) -> Parts {
        let mut out = self.wide_zero(count);
        for (i, &a) in x.iter().enumerate() {
            for (j, &b) in y.iter().enumerate() {
                let at = i + j;
                if at >= count {
                    break;
                }
                let low = self.b.mul64(a, b);
                let mut addend = self.wide_zero(count - at);
                addend[0] = low;
                if count - at > 1 {
                    addend[1] = self.b.mulhi_u64(a, b);
                }
                let sum = self.wide_add(&out[at..], &addend, None).0;
                out[at..].copy_from_slice(&sum);
            }
        }
        out
    }

    /// The whole product of clean operands of `x.len()` words, in twice as many.
    fn wide_product(&mut self, x: &[Value], y: &[Value], signed: bool) -> Parts {
        let n = x.len();
        let mut out = self.wide_mul(x, y, 2 * n);
        if signed {
            // The unsigned upper half counts negative operands 2^(64 n) too large.
            for (a, b) in [(x, y), (y, x)] {
                let sign = self.wide_sign(a);
                let excess: Parts = b.iter().map(|&word| self.b.and(word, sign)).collect();
                let upper = self.wide_sub(&out[n..], &excess).0;
                out[n..].copy_from_slice(&upper);
            }
        }
        out
    }

    /// Shifts by words with selects on the number of whole words, then by bits. `amount` is an i64 below
    /// `bits`.
    pub(super) fn wide_shift(&mut self, op: BinaryOp, x: &[Value], amount: Value, bits: u32) -> Parts {
        let n = x.len();
        let left = op == BinaryOp::Shl;
        let words = if left { Parts::from_slice(x) } else { self.wide_clean(x, bits, op == BinaryOp::AShr) };
        let fill =
            if op == BinaryOp::AShr { self.b.ashr_imm(words[n - 1], 63) } else { self.b.int(Type::I64, 0) };
        let word_shift = self.b.lshr_imm(amount, 6);
        let mut moved = words.clone();
        for distance in 1..n {
            let hit = self.b.icmp_imm(IntPredicate::Eq, word_shift, distance as u64);
            for i in 0..n {
                let source = if left {
                    i.checked_sub(distance).map_or(fill, |s| words[s])
                } else {
                    words.get(i + distance).copied().unwrap_or(fill)
                };
                moved[i] = self.b.select(hit, source, moved[i]);
            }
        }
        let bit_shift = self.b.and_imm(amount, 63);
        // The neighbour's bits: shifted by 64 - n in two steps, since n may be 0.
        let rest = self.b.xor_imm(bit_shift, 63);
        (0..n)
            .map(|i| {
                let neighbour = if left {
                    i.checked_sub(1).map_or(fill, |s| moved[s])
                } else {
                    moved.get(i + 1).copied().unwrap_or(fill)
                };
                let (forward, backward) =
                    if left { (BinaryOp::Shl, BinaryOp::LShr) } else { (BinaryOp::LShr, BinaryOp::Shl) };
                let own = self.b.binary(forward, moved[i], bit_shift);
                let one = self.b.int(Type::I64, 1);
                let half = self.b.binary(backward, neighbour, one);
                let other = self.b.binary(backward, half, rest);
                self.b.or(own, other)
            })
            .collect()
    }

    /// Shift by a constant of less than 64 bits a word, across all words.
    fn wide_shift_imm(&mut self, op: BinaryOp, x: &[Value], amount: u32) -> Parts {
        let amount = self.b.int(Type::I64, u64::from(amount));
        self.wide_shift(op, x, amount, 64 * x.len() as u32)
    }

    /// Compares words of `bits`-bit integers.
    pub(super) fn wide_icmp(
        &mut self,
        predicate: IntPredicate,
        x: &[Value],
        y: &[Value],
        bits: u32,
    ) -> Value {
        let signed = predicate.is_signed();
        let (x, y) = (self.wide_clean(x, bits, signed), self.wide_clean(y, bits, signed));
        self.clean_compare(predicate, &x, &y)
    }

    /// Compares clean words.
    fn clean_compare(&mut self, predicate: IntPredicate, x: &[Value], y: &[Value]) -> Value {
        use IntPredicate::*;
        if matches!(predicate, Eq | Ne) {
            let mut any = self.b.int(Type::I64, 0);
            for (&a, &b) in x.iter().zip(y) {
                let differs = self.b.xor(a, b);
                any = self.b.or(any, differs);
            }
            return self.b.icmp_imm(predicate, any, 0);
        }
        let lower = match predicate {
            Sgt => Ugt,
            Sge => Uge,
            Slt => Ult,
            Sle => Ule,
            other => other,
        };
        let top = x.len() - 1;
        let mut result = self.b.icmp(if top == 0 { predicate } else { lower }, x[0], y[0]);
        for i in 1..=top {
            let same = self.b.icmp(Eq, x[i], y[i]);
            let here = self.b.icmp(if i == top { predicate } else { lower }, x[i], y[i]);
            result = self.b.select(same, result, here);
        }
        result
    }

    /// Whether clean words are not what cutting them to `bits` bits leaves.
    fn exceeds(&mut self, x: &[Value], bits: u32, signed: bool) -> Value {
        let cut = self.wide_clean(x, bits, signed);
        self.clean_compare(IntPredicate::Ne, &cut, x)
    }

    // ---- division

    // ---- intrinsics

    /// Leading or trailing zeros as i32, all of `bits` where there is no one (unless `exact`). The
    /// instructions give -1 for a zero dword, which as an unsigned number loses against any count and stays
    /// -1 under `or`.
    pub(super) fn wide_zeros(&mut self, leading: bool, x: &[Value], bits: u32, exact: bool) -> Value {
        let n = x.len() as u32;
        let x = if leading {
            // The unspecified bits go out at the top.
            self.wide_shift_imm(BinaryOp::Shl, x, 64 * n - bits)
        } else {
            Parts::from_slice(x)
        };
        let intrinsic = if leading { Intrinsic::Ctlz } else { Intrinsic::Cttz };
        let yes = self.b.bool(true);
        let mut dwords: Vec<Value> = Vec::new();
        for &word in &x {
            let (low, high) = self.b.split64(word);
            dwords.extend([low, high]);
        }
        if leading {
            dwords.reverse();
        }
        let mut count = self.b.i32(if exact { u32::MAX } else { bits });
        for (i, &dword) in dwords.iter().enumerate() {
            let own = self.b.intrinsic(intrinsic, &[dword, yes], Type::I32);
            let base = self.b.i32(32 * i as u32);
            let own = self.b.or(own, base);
            count = self.b.intrinsic(Intrinsic::Umin, &[count, own], Type::I32);
        }
        count
    }

    /// An integer intrinsic at a width of more than 64 bits; `None` where it is none of those.
    pub(super) fn wide_lane(
        &mut self,
        intrinsic: Intrinsic,
        args: &[&[Value]],
        bits: u32,
    ) -> Result<Option<Parts>> {
        use Intrinsic::*;
        let need = |i: usize| args.get(i).copied().ok_or_else(|| Diagnostic::malformed("too few arguments"));
        let x = need(0)?;
        let n = x.len();
        Ok(Some(match intrinsic {
            Smin | Smax | Umin | Umax => self.wide_minmax(intrinsic, x, need(1)?, bits),
            Abs => {
                let clean = self.wide_clean(x, bits, true);
                let sign = self.wide_sign(&clean);
                self.wide_negate_if(&clean, sign)
            }
            Ctpop => {
                let clean = self.wide_clean(x, bits, false);
                let mut sum = self.b.i32(0);
                for &word in &clean {
                    let (low, high) = self.b.split64(word);
                    for dword in [low, high] {
                        let count = self.b.intrinsic(Ctpop, &[dword], Type::I32);
                        sum = self.b.add(sum, count);
                    }
                }
                self.wide_small(sum, n)
            }
            Ctlz | Cttz => {
                let exact = need(1)?.first().is_some_and(|&v| self.b.func.as_int(v) == Some(1));
                let count = self.wide_zeros(intrinsic == Ctlz, x, bits, exact);
                self.wide_small(count, n)
            }
            Bswap | Bitreverse => {
                if intrinsic == Bswap && !bits.is_multiple_of(16) {
                    return Err(Diagnostic::malformed(format!("bswap of i{bits}")));
                }
                let mut turned = Parts::new();
                for &word in x.iter().rev() {
                    let (low, high) = self.b.split64(word);
                    let low = self.b.intrinsic(intrinsic, &[low], Type::I32);
                    let high = self.b.intrinsic(intrinsic, &[high], Type::I32);
                    turned.push(self.b.join64(high, low));
                }
                self.wide_shift_imm(BinaryOp::LShr, &turned, 64 * n as u32 - bits)
            }
            Fshl | Fshr => self.wide_funnel(intrinsic == Fshl, x, need(1)?, need(2)?, bits),
            UaddSat | UsubSat | SaddSat | SsubSat => {
                let y = need(1)?;
                let signed = matches!(intrinsic, SaddSat | SsubSat);
                let add = matches!(intrinsic, SaddSat | UaddSat);
                let (sum, over) = self.wide_overflow(x, y, bits, signed, add);
                let bound = match intrinsic {
                    UaddSat => self.wide_ones(bits, n),
                    UsubSat => self.wide_zero(n),
                    _ => self.signed_bound(x, bits),
                };
                self.wide_select(over, &bound, &sum)
            }
            SshlSat | UshlSat => {
                let signed = intrinsic == SshlSat;
                let amount = need(1)?[0];
                let clean = self.wide_clean(x, bits, signed);
                let moved = self.wide_shift(BinaryOp::Shl, &clean, amount, bits);
                let back = if signed { BinaryOp::AShr } else { BinaryOp::LShr };
                let back = self.wide_shift(back, &moved, amount, bits);
                let lost = self.clean_compare(IntPredicate::Ne, &back, &clean);
                let bound = if signed { self.signed_bound(x, bits) } else { self.wide_ones(bits, n) };
                self.wide_select(lost, &bound, &moved)
            }
            Clmul => self.carryless_product(x, need(1)?, bits)?,
            _ => return Ok(None),
        }))
    }

    pub(super) fn wide_minmax(&mut self, intrinsic: Intrinsic, x: &[Value], y: &[Value], bits: u32) -> Parts {
        let predicate = match intrinsic {
            Intrinsic::Smin => IntPredicate::Slt,
            Intrinsic::Smax => IntPredicate::Sgt,
            Intrinsic::Umin => IntPredicate::Ult,
            _ => IntPredicate::Ugt,
        };
        let keep = self.wide_icmp(predicate, x, y, bits);
        self.wide_select(keep, x, y)
    }

    /// The largest number where `x` is not negative, else the smallest.
    fn signed_bound(&mut self, x: &[Value], bits: u32) -> Parts {
        let clean = self.wide_clean(x, bits, true);
        let sign = self.wide_sign(&clean);
        let most = self.wide_ones(bits - 1, x.len());
        self.wide_xor_word(&most, sign)
    }

    /// Two values side by side, shifted by an amount that counts modulo the width.
    fn wide_funnel(
        &mut self,
        left: bool,
        high: &[Value],
        low: &[Value],
        amount: &[Value],
        bits: u32,
    ) -> Parts {
        let clean = self.wide_clean(amount, bits, false);
        let amount = if bits.is_power_of_two() {
            self.b.and_imm(clean[0], u64::from(bits - 1))
        } else {
            let width = self.b.int(Type::I64, u64::from(bits));
            let width = self.wide_small(width, clean.len());
            self.wide_divide_unsigned(&clean, &width).1[0]
        };
        let most = self.b.int(Type::I64, u64::from(bits - 1));
        let back = self.b.sub(most, amount);
        let low = self.wide_clean(low, bits, false);
        let (up, down) = if left {
            let up = self.wide_shift(BinaryOp::Shl, high, amount, bits);
            let half = self.wide_shift_imm(BinaryOp::LShr, &low, 1);
            (up, self.wide_shift(BinaryOp::LShr, &half, back, bits))
        } else {
            let double = self.wide_shift_imm(BinaryOp::Shl, high, 1);
            (
                self.wide_shift(BinaryOp::Shl, &double, back, bits),
                self.wide_shift(BinaryOp::LShr, &low, amount, bits),
            )
        };
        up.iter().zip(&down).map(|(&a, &b)| self.b.or(a, b)).collect()
    }

    /// Sum or difference, and whether it does not fit.
    pub(super) fn wide_overflow(
        &mut self,
        x: &[Value],
        y: &[Value],
        bits: u32,
        signed: bool,
        add: bool,
    ) -> (Parts, Value) {
        let n = x.len();
        let (x, y) = (self.wide_clean(x, bits, signed), self.wide_clean(y, bits, signed));
        let (sum, carry) = if add { self.wide_add(&x, &y, None) } else { self.wide_sub(&x, &y) };
        if bits < 64 * n as u32 {
            let over = self.exceeds(&sum, bits, signed);
            return (sum, over);
        }
        if !signed {
            return (sum, carry);
        }
        // The result's sign differs from x's although it should not: both operands (the negated one) agree.
        let changed = self.b.xor(x[n - 1], sum[n - 1]);
        let other = if add { self.b.xor(y[n - 1], sum[n - 1]) } else { self.b.xor(x[n - 1], y[n - 1]) };
        let both = self.b.and(changed, other);
        let over = self.b.icmp_imm(IntPredicate::Slt, both, 0);
        (sum, over)
    }

    /// Product, and whether it does not fit.
    pub(super) fn wide_multiply_overflow(
        &mut self,
        x: &[Value],
        y: &[Value],
        bits: u32,
        signed: bool,
    ) -> (Parts, Value) {
        let n = x.len();
        let (x, y) = (self.wide_clean(x, bits, signed), self.wide_clean(y, bits, signed));
        let product = self.wide_product(&x, &y, signed);
        let over = self.exceeds(&product, bits, signed);
        (Parts::from_slice(&product[..n]), over)
    }

    // ---- fixed point
}
