//! Sums of an address and a product of 64 bits.
//!
//! Legal code has a product of 64 bits in parts: that of the lower halves, whole, and to its upper half the products of a lower and an upper half. One instruction
//! adds 64 bits to the first of them; so the address goes in there, and no addition with carry is left.

use super::Selector;
use mir::ir::{BinaryOp, CastOp, InstKind, Type, Value};
use mir::isa::Opcode::*;
use mir::machine::Operand;
use smallvec::SmallVec;

/// A product of 64 bits that nothing else uses.
struct SplitProduct {
    /// The lower halves.
    factors: [Value; 2],
    signed: bool,
    /// What is added to the upper half of their product.
    high: SmallVec<[Value; 2]>,
}

/// Most sums that are followed for what is added to the upper half.
const MOST_SUMS: usize = 4;

impl<'a> Selector<'a> {
    /// `dst = base + value` for such a product; whether it is one.
    pub(super) fn add_split_product(&mut self, dst: Operand, base: Operand, value: Value) -> bool {
        let Some(product) = self.split_product(value) else { return false };
        let [a, b] = product.factors.map(|factor| self.factor(factor, false));
        let sum = self.new_vgpr(2);
        self.mad_wide(sum, a, b, base, product.signed);
        let [low, mut high] = self.halves(&sum);
        for part in product.high {
            let out = self.new_vgpr(1);
            if !self.multiply_add_to(out, part, high) {
                let part = self.src(part);
                self.vector_add(out, high, part);
            }
            high = out;
        }
        self.sequence(dst, &[low, high]);
        true
    }

    fn split_product(&self, value: Value) -> Option<SplitProduct> {
        if !self.exists(V_MAD_U64_U32) {
            return None;
        }
        // `bitcast <2 x i32>` of both halves.
        let InstKind::Cast { op: CastOp::BitCast, arg } = self.foldable(value)?.kind else { return None };
        let InstKind::InsertElement { vector, element: high, index } = self.foldable(arg)?.kind else {
            return None;
        };
        let InstKind::InsertElement { element: low, index: other, .. } = self.foldable(vector)?.kind else {
            return None;
        };
        if !self.is_const_value(other, 0) || !self.is_const_value(index, 1) || self.f.ty(low) != Type::I32 {
            return None;
        }
        let InstKind::Cast { op: CastOp::Trunc, arg: product } = self.foldable(low)?.kind else {
            return None;
        };
        let info = &self.values[product];
        if info.uses != 2 || info.crosses_blocks || info.reg.is_some() {
            return None;
        }
        let InstKind::Binary { op: BinaryOp::Mul, args } = self.nearby(product)?.kind else { return None };
        let (factors, signed) = self.wide_factors(args)?;
        // The product's upper half, somewhere in a sum.
        let mut terms = SmallVec::new();
        let mut at = high;
        for _ in 0..MOST_SUMS {
            let [a, b] = self.fold_binary(at, BinaryOp::Add)?;
            let (rest, term) = if self.is_upper_half(b, product) { (b, a) } else { (a, b) };
            terms.push(term);
            if self.is_upper_half(rest, product) {
                terms.reverse();
                return Some(SplitProduct { factors, signed, high: terms });
            }
            at = rest;
        }
        None
    }

    /// Whether `value` is the upper half of `product`, and used once.
    fn is_upper_half(&self, value: Value, product: Value) -> bool {
        let half = self.foldable(value).and_then(|data| match data.kind {
            InstKind::Cast { op: CastOp::Trunc, arg } if data.ty == Type::I32 => self.foldable(arg),
            _ => None,
        });
        half.is_some_and(|data| match data.kind {
            InstKind::Binary { op: BinaryOp::LShr, args } => {
                args[0] == product && self.is_const_value(args[1], 32)
            }
            _ => false,
        })
    }
}
