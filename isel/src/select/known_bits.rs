//! Bits of integers of 32 bits that are known, looking a few producers back.

use super::Selector;
use super::int::Signed;
use mir::ir::{BinaryOp, CastOp, InstKind, Value};

impl Selector<'_> {
    /// Whether `value` of 32 bits is known to be below `2^bits`.
    pub(super) fn fits_unsigned(&self, value: Value, bits: u32) -> bool {
        self.leading_zeros(value, 4) >= 32u32.saturating_sub(bits)
    }

    /// Whether a product of these values of 32 bits is one of 24-bit factors.
    pub(super) fn are_24_bits(&self, args: [Value; 2]) -> Option<Signed> {
        if args.iter().all(|&v| self.fits_unsigned(v, 24)) {
            return Some(Signed::No);
        }
        args.iter().all(|&v| self.sign_bits_of(v, 4) > 8).then_some(Signed::Yes)
    }

    /// Whether all bits of a 32-bit value are known to be equal.
    pub(super) fn is_sign_alone(&self, value: Value) -> bool {
        self.sign_bits_of(value, 4) == 32
    }

    /// A lower bound of how many of the highest bits of a 32-bit value equal its sign, looking `depth` producers
    /// back.
    fn sign_bits_of(&self, value: Value, depth: u32) -> u32 {
        if let Some(constant) = self.const_int(value) {
            let constant = constant as i32;
            return (constant ^ constant >> 31).leading_zeros();
        }
        let Some(inst) = self.f.def_inst(value).filter(|_| depth > 0) else { return 1 };
        let of = |v| self.sign_bits_of(v, depth - 1);
        let bits = match &self.f.insts[inst].kind {
            InstKind::Binary { op: BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, args } => {
                of(args[0]).min(of(args[1]))
            }
            InstKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, args } => {
                of(args[0]).min(of(args[1])).saturating_sub(1)
            }
            // A product has as many bits as its factors together.
            InstKind::Binary { op: BinaryOp::Mul, args } => (of(args[0]) + of(args[1])).saturating_sub(33),
            InstKind::Binary { op: BinaryOp::AShr, args } => {
                (of(args[0]) + self.shift_amount(args[1], 32).unwrap_or(0) as u32).min(32)
            }
            InstKind::Binary { op: BinaryOp::Shl, args } => match self.shift_amount(args[1], 32) {
                Some(amount) => of(args[0]).saturating_sub(amount as u32),
                None => 1,
            },
            InstKind::Select { if_true, if_false, .. } => of(*if_true).min(of(*if_false)),
            InstKind::Cast { op: CastOp::SExt, arg } => {
                self.f.ty(*arg).bits().map_or(1, |bits| 33u32.saturating_sub(bits as u32))
            }
            _ => 1,
        };
        bits.max(self.leading_zeros(value, depth)).max(1)
    }

    /// A lower bound of the trailing zeros of a 32-bit value, looking `depth` producers back.
    pub(super) fn trailing_zeros(&self, value: Value, depth: u32) -> u32 {
        if let Some(constant) = self.const_int(value) {
            return (constant as u32).trailing_zeros();
        }
        let Some(inst) = self.f.def_inst(value).filter(|_| depth > 0) else { return 0 };
        let of = |v| self.trailing_zeros(v, depth - 1);
        match &self.f.insts[inst].kind {
            InstKind::Binary { op: BinaryOp::And, args } => of(args[0]).max(of(args[1])),
            InstKind::Binary { op: BinaryOp::Or | BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub, args } => {
                of(args[0]).min(of(args[1]))
            }
            InstKind::Binary { op: BinaryOp::Mul, args } => (of(args[0]) + of(args[1])).min(32),
            InstKind::Binary { op: BinaryOp::Shl, args } => {
                (of(args[0]) + self.shift_amount(args[1], 32).unwrap_or(0) as u32).min(32)
            }
            _ => 0,
        }
    }

    /// A lower bound of the leading zeros of a 32-bit value, looking `depth` producers back.
    fn leading_zeros(&self, value: Value, depth: u32) -> u32 {
        mir::analysis::leading_zeros(self.f, value, depth, &|value| self.const_int(value))
    }
}
