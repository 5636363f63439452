//! Division of wide integers: a loop over the bits of the quotient, by words where the divisor is a short constant.

use super::{Legalizer, Parts};
use mir::ir::*;

impl Legalizer<'_> {
    /// Quotient and remainder, rounded towards zero.
    pub(super) fn wide_divide(
        &mut self,
        x: &[Value],
        y: &[Value],
        bits: u32,
        signed: bool,
    ) -> (Parts, Parts) {
        if let Some(known) = self.known_division(x, y, signed) {
            return known;
        }
        let (cx, cy) = (self.wide_clean(x, bits, signed), self.wide_clean(y, bits, signed));
        let (quotient, remainder) = if signed {
            let (sign_x, sign_y) = (self.wide_sign(&cx), self.wide_sign(&cy));
            let (ax, ay) = (self.wide_negate_if(&cx, sign_x), self.wide_negate_if(&cy, sign_y));
            let (q, r) = self.wide_divide_unsigned(&ax, &ay);
            let sign = self.b.xor(sign_x, sign_y);
            (self.wide_negate_if(&q, sign), self.wide_negate_if(&r, sign_x))
        } else {
            self.wide_divide_unsigned(&cx, &cy)
        };
        self.note_division(x, y, signed, &quotient, &remainder);
        (quotient, remainder)
    }

    /// Quotient and remainder of clean words.
    pub(super) fn wide_divide_unsigned(&mut self, x: &[Value], y: &[Value]) -> (Parts, Parts) {
        let n = x.len();
        let above: Vec<Option<u64>> = y[1..].iter().map(|&word| self.b.func.as_int(word)).collect();
        let small = above.iter().all(|word| *word == Some(0));
        if small && x[1..].iter().all(|&word| self.b.func.as_int(word) == Some(0)) {
            let (q, r) = (self.divide(x[0], y[0], false, false), self.divide(x[0], y[0], false, true));
            return (self.wide_small(q, n), self.wide_small(r, n));
        }
        // A power of two.
        let words: Option<Vec<u64>> = y.iter().map(|&word| self.b.func.as_int(word)).collect();
        if let Some(words) = words
            && words.iter().map(|word| word.count_ones()).sum::<u32>() == 1
        {
            let at = words.iter().position(|&word| word != 0).expect("one bit is set");
            let log = 64 * at as u32 + words[at].trailing_zeros();
            let q = self.wide_shift_imm(BinaryOp::LShr, x, log);
            let ones = self.wide_ones(log, n);
            let r = x.iter().zip(&ones).map(|(&word, &mask)| self.b.and(word, mask)).collect();
            return (q, r);
        }
        if small
            && let Some(divisor) = self.b.func.as_int(y[0])
            && (1..1 << 32).contains(&divisor)
        {
            return self.divide_by_dword(x, divisor);
        }
        self.divide_by_bits(x, y)
    }

    /// Division by a constant dword: from the top, two dwords by one.
    fn divide_by_dword(&mut self, x: &[Value], divisor: u64) -> (Parts, Parts) {
        let divisor = self.b.int(Type::I64, divisor);
        let mut rest = self.b.int(Type::I64, 0);
        let mut quotient = self.wide_zero(x.len());
        for i in (0..x.len()).rev() {
            let (low, high) = self.b.split64(x[i]);
            let mut dwords = [low; 2];
            for (place, dword) in [(1, high), (0, low)] {
                let dword = self.b.cast(CastOp::ZExt, dword, Type::I64);
                let up = self.b.shl_imm(rest, 32);
                let two = self.b.or(up, dword);
                let q = self.divide(two, divisor, false, false);
                let product = self.b.mul64(q, divisor);
                rest = self.b.sub(two, product);
                self.b.assume_unsigned(rest, 32);
                dwords[place] = self.b.cast(CastOp::Trunc, q, Type::I32);
            }
            quotient[i] = self.b.join64(dwords[0], dwords[1]);
        }
        let remainder = self.wide_small(rest, x.len());
        (quotient, remainder)
    }

    /// Long division bit by bit. Starts where the quotient may have its first bit: so many rounds as the
    /// dividend has bits more than the divisor, and one.
    fn divide_by_bits(&mut self, x: &[Value], y: &[Value]) -> (Parts, Parts) {
        use IntPredicate::*;
        let n = x.len();
        let bits = 64 * n as u32;
        let (zeros_x, zeros_y) =
            (self.wide_zeros(true, x, bits, false), self.wide_zeros(true, y, bits, false));
        let less = self.clean_compare(Ult, x, y);
        let distance = self.b.sub(zeros_y, zeros_x);
        let zero32 = self.b.i32(0);
        // Where the divisor is larger nothing is done, and the shifts do not matter.
        let distance = self.b.select(less, zero32, distance);
        let wide_distance = self.b.cast(CastOp::ZExt, distance, Type::I64);
        let first = self.wide_shift(BinaryOp::LShr, x, wide_distance, bits);
        let first = self.wide_shift_imm(BinaryOp::LShr, &first, 1);
        let most = self.b.int(Type::I64, u64::from(bits - 1));
        let back = self.b.sub(most, wide_distance);
        let dividend = self.wide_shift(BinaryOp::Shl, x, back, bits);
        let zero = self.wide_zero(n);
        let rounds = self.b.add_imm(distance, 1);
        let rounds = self.b.select(less, zero32, rounds);
        let start_r = self.wide_select(less, x, &first);
        let start_q = self.wide_select(less, &zero, &dividend);

        let (head, body, done) = (self.b.new_block(), self.b.new_block(), self.b.new_block());
        let mut args: Vec<Value> = vec![rounds];
        args.extend(start_q.iter().chain(&start_r));
        let scope = self.b.scope.take();
        self.b.jump(head, &args);
        let left = self.b.func.add_block_param(head, Type::I32);
        let q: Parts = (0..n).map(|_| self.b.func.add_block_param(head, Type::I64)).collect();
        let r: Parts = (0..n).map(|_| self.b.func.add_block_param(head, Type::I64)).collect();
        self.b.block = head;
        let more = self.b.icmp_imm(Ne, left, 0);
        self.b.branch(more, BlockCall::to(body), BlockCall::to(done));

        self.b.block = body;
        // (carry, r, q) <<= 1
        let carry = self.b.icmp_imm(Slt, r[n - 1], 0);
        let mut all = q.clone();
        all.extend_from_slice(&r);
        let all = self.wide_shift_imm(BinaryOp::Shl, &all, 1);
        let (shifted_q, shifted_r) = all.split_at(n);
        let (difference, borrow) = self.wide_sub(shifted_r, y);
        let enough = self.b.not(borrow);
        let enough = self.b.or(carry, enough);
        let next_r = self.wide_select(enough, &difference, shifted_r);
        let bit = self.b.cast(CastOp::ZExt, enough, Type::I64);
        let mut next_q = Parts::from_slice(shifted_q);
        next_q[0] = self.b.or(next_q[0], bit);
        let next = self.b.add_imm(left, -1);
        let mut args: Vec<Value> = vec![next];
        args.extend(next_q.iter().chain(&next_r));
        self.b.jump(head, &args);
        self.b.block = done;
        self.b.scope = scope;
        (q, r)
    }
}
