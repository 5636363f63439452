//! Integers of more than 64 bits, by big integers.
//!
//! Rare in programs, so a lane at a time. Words are followed bit by bit through logic; sums, differences and products are undefined from the lowest
//! undefined bit on; shifts by a defined amount move undefined bits.

use super::exec::{Cx, Step};
use super::layout::word_mask;
use super::regs::lanes;
use mir::ir::{BinaryOp, InstFlags, IntPredicate, Scalar};
use num_bigint::{BigInt, BigUint, Sign};

/// `x` modulo 2^`bits`.
pub fn cut(x: BigUint, bits: u32) -> BigUint {
    if x.bits() <= u64::from(bits) { x } else { x & mask(bits) }
}

/// 2^`bits` - 1.
pub fn mask(bits: u32) -> BigUint {
    (BigUint::from(1u8) << bits) - 1u8
}

/// `x` as a signed number of `bits` bits.
pub fn signed(x: &BigUint, bits: u32) -> BigInt {
    let value = BigInt::from(x.clone());
    if x.bit(u64::from(bits) - 1) { value - (BigInt::from(1u8) << bits) } else { value }
}

/// A signed number in two's complement of `bits` bits.
pub fn unsigned(x: &BigInt, bits: u32) -> BigUint {
    let modulus = BigInt::from(1u8) << bits;
    let rest = x % &modulus;
    let rest = if rest.sign() == Sign::Minus { rest + modulus } else { rest };
    rest.magnitude().clone()
}

impl Cx<'_, '_> {
    /// The integer of `bits` bits at `at` in `lane`.
    pub fn big(&self, at: usize, bits: u32, lane: usize) -> BigUint {
        let words = bits.div_ceil(64).max(1) as usize;
        let mut digits = Vec::with_capacity(2 * words);
        for i in 0..words {
            let word = self.regs.v[at + i][lane];
            digits.extend([word as u32, (word >> 32) as u32]);
        }
        BigUint::new(digits)
    }

    /// Its undefined bits.
    pub fn big_undef(&self, at: usize, bits: u32, lane: usize) -> BigUint {
        let mut digits = Vec::new();
        for i in 0..bits.div_ceil(64).max(1) as usize {
            let word = self.regs.undef(at + i, lane);
            digits.extend([word as u32, (word >> 32) as u32]);
        }
        BigUint::new(digits)
    }

    /// Writes an integer of `bits` bits with its undefined bits.
    pub fn put_big(&mut self, at: usize, bits: u32, lane: usize, value: &BigUint, undef: &BigUint) {
        let mut value = value.iter_u64_digits();
        let mut undef = undef.iter_u64_digits();
        for i in 0..bits.div_ceil(64).max(1) as usize {
            let width = word_mask(bits, i);
            let (value, undef) = (value.next().unwrap_or(0), undef.next().unwrap_or(0));
            self.regs.write_lane(at + i, lane, value & width, undef & width);
        }
    }

    /// A binary operation on integers of any width.
    pub fn wide_binary(
        &mut self,
        op: BinaryOp,
        flags: InstFlags,
        bits: u32,
        dst: usize,
        [a, b]: [usize; 2],
    ) -> Step<()> {
        for l in lanes(self.mask) {
            let (x, y) = (self.big(a, bits, l), self.big(b, bits, l));
            let (ux, uy) = (self.big_undef(a, bits, l), self.big_undef(b, bits, l));
            let none = BigUint::default();
            let defined = ux == none && uy == none;
            let result =
                operation(op, &x, &y, bits).filter(|r| !defined || !breaks(op, flags, &x, &y, r, bits));
            let undef = match &result {
                None => mask(bits),
                Some(_) if defined => none,
                Some(_) => undefined(op, [&x, &y], [&ux, &uy], bits),
            };
            self.put_big(dst, bits, l, &result.unwrap_or_default(), &undef);
        }
        Ok(())
    }

    /// A comparison of integers of any width.
    pub fn wide_compare(
        &mut self,
        predicate: IntPredicate,
        bits: u32,
        dst: usize,
        [a, b]: [usize; 2],
    ) -> Step<()> {
        for l in lanes(self.mask) {
            let (x, y) = (self.big(a, bits, l), self.big(b, bits, l));
            let order =
                if predicate.is_signed() { signed(&x, bits).cmp(&signed(&y, bits)) } else { x.cmp(&y) };
            let answer = match predicate {
                IntPredicate::Eq => order.is_eq(),
                IntPredicate::Ne => order.is_ne(),
                IntPredicate::Ugt | IntPredicate::Sgt => order.is_gt(),
                IntPredicate::Uge | IntPredicate::Sge => order.is_ge(),
                IntPredicate::Ult | IntPredicate::Slt => order.is_lt(),
                IntPredicate::Ule | IntPredicate::Sle => order.is_le(),
            };
            let undef = self.big_undef(a, bits, l) | self.big_undef(b, bits, l);
            let none = BigUint::default();
            let equality = matches!(predicate, IntPredicate::Eq | IntPredicate::Ne);
            let differ = (&x ^ &y) & (mask(bits) ^ &undef) != none;
            let unknown = undef != none && !(equality && differ);
            let answer = if equality && differ { predicate == IntPredicate::Ne } else { answer };
            self.regs.write_lane(dst, l, u64::from(answer), u64::from(unknown));
        }
        Ok(())
    }

    /// Makes `dst` undefined as a whole in lanes where a word of one of `from`, integers of these widths, has undefined bits.
    pub fn undefined_from(&mut self, dst: usize, scalar: Scalar, from: &[(usize, u32)]) {
        let mut undefined = 0;
        for &(at, bits) in from {
            for i in 0..bits.div_ceil(64).max(1) as usize {
                for l in lanes(self.regs.any(at + i) & self.mask) {
                    undefined |= u64::from(self.regs.undef(at + i, l) != 0) << l;
                }
            }
        }
        self.poison(dst, scalar, undefined);
    }
}

/// The result modulo 2^`bits`; `None` where it is poison without any promise.
pub fn operation(op: BinaryOp, x: &BigUint, y: &BigUint, bits: u32) -> Option<BigUint> {
    let none = BigUint::default();
    let amount = || u32::try_from(y).ok().filter(|&n| n < bits);
    let result = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x + (BigUint::from(1u8) << bits) - y,
        BinaryOp::Mul => x * y,
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::Shl => x << amount()?,
        BinaryOp::LShr => x >> amount()?,
        BinaryOp::AShr => unsigned(&(signed(x, bits) >> amount()?), bits),
        BinaryOp::UDiv if *y != none => x / y,
        BinaryOp::URem if *y != none => x % y,
        BinaryOp::SDiv if *y != none => {
            let quotient = signed(x, bits) / signed(y, bits);
            if quotient == BigInt::from(1u8) << (bits - 1) {
                return None;
            }
            unsigned(&quotient, bits)
        }
        BinaryOp::SRem if *y != none => unsigned(&(signed(x, bits) % signed(y, bits)), bits),
        _ => return None,
    };
    Some(cut(result, bits))
}

/// Whether the flags promise what is not so.
fn breaks(op: BinaryOp, flags: InstFlags, x: &BigUint, y: &BigUint, result: &BigUint, bits: u32) -> bool {
    let (nuw, nsw) = (flags.contains(InstFlags::NUW), flags.contains(InstFlags::NSW));
    let none = BigUint::default();
    let exact = flags.contains(InstFlags::EXACT);
    let wraps = |whole: BigInt, whole_signed: BigInt| {
        nuw && whole != BigInt::from(result.clone()) || nsw && whole_signed != signed(result, bits)
    };
    let (ux, uy) = (BigInt::from(x.clone()), BigInt::from(y.clone()));
    let (sx, sy) = (signed(x, bits), signed(y, bits));
    match op {
        BinaryOp::Add => wraps(ux + uy, sx + sy),
        BinaryOp::Sub => wraps(ux - uy, sx - sy),
        BinaryOp::Mul => wraps(ux * uy, sx * sy),
        BinaryOp::Shl => {
            let amount = u32::try_from(y).unwrap_or(0);
            wraps(ux << amount, sx << amount)
        }
        BinaryOp::LShr | BinaryOp::AShr if exact => {
            let amount = u32::try_from(y).unwrap_or(0);
            (x >> amount) << amount != *x
        }
        BinaryOp::UDiv if exact => x % y != none,
        BinaryOp::SDiv if exact => sx % sy != BigInt::default(),
        BinaryOp::Or => flags.contains(InstFlags::DISJOINT) && x & y != none,
        _ => false,
    }
}

fn undefined(op: BinaryOp, [x, y]: [&BigUint; 2], [ux, uy]: [&BigUint; 2], bits: u32) -> BigUint {
    let all = mask(bits);
    match op {
        BinaryOp::And => (ux & uy) | (ux & y) | (uy & x),
        BinaryOp::Or => (ux | uy) & (&all ^ (x & (&all ^ ux))) & (&all ^ (y & (&all ^ uy))),
        BinaryOp::Xor => ux | uy,
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
            let low = (ux | uy).trailing_zeros().unwrap_or(0);
            &all ^ ((BigUint::from(1u8) << low) - 1u8)
        }
        BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr if *uy == BigUint::default() => {
            operation(op, ux, y, bits).unwrap_or(all)
        }
        _ => all,
    }
}
