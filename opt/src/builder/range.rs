//! How many bits of an integer can differ from zero, or from its sign.

use super::{Builder, Range};
use crate::bits::sext64;
use mir::ir::*;

impl Builder<'_> {
    /// The least n such that `value` is known to be below 2^n.
    pub fn unsigned_bits(&self, value: Value) -> u32 {
        let bits = self.bits(value);
        if let Some(constant) = self.func.as_int(value) {
            return 64 - constant.leading_zeros();
        }
        self.ranges[value].map_or(bits, |r| u32::from(r.unsigned).min(bits))
    }

    /// The least n such that `value` is known to be the sign extension of its low n bits.
    pub fn signed_bits(&self, value: Value) -> u32 {
        let bits = self.bits(value);
        if let Some(constant) = self.func.as_int(value) {
            let signed = sext64(constant, bits);
            return 65 - if signed < 0 { signed.leading_ones() } else { signed.leading_zeros() };
        }
        self.ranges[value].map_or(bits, |r| u32::from(r.signed).min(bits))
    }

    /// Records that `value` is below 2^`bits`.
    pub fn assume_unsigned(&mut self, value: Value, bits: u32) {
        let width = self.bits(value);
        let signed = self.signed_bits(value).min(bits + 1).min(width);
        let unsigned = self.unsigned_bits(value).min(bits);
        self.ranges[value] = Some(Range { unsigned: unsigned as u8, signed: signed as u8 });
    }

    pub(super) fn range_of(&self, kind: &InstKind, ty: Type) -> Option<Range> {
        let Type::Scalar(Scalar::Int(width)) = ty else { return None };
        if width > 64 {
            return None;
        }
        let (u, s) = (|v: Value| self.unsigned_bits(v), |v: Value| self.signed_bits(v));
        let (mut unsigned, mut signed) = (width, width);
        match kind {
            InstKind::Cast { op: CastOp::ZExt, arg } => {
                unsigned = u(*arg);
            }
            InstKind::Cast { op: CastOp::SExt, arg } => {
                signed = s(*arg);
                if u(*arg) < self.bits(*arg) {
                    unsigned = u(*arg);
                }
            }
            InstKind::Cast { op: CastOp::Trunc, arg } => {
                unsigned = u(*arg);
                signed = s(*arg);
            }
            InstKind::Binary { op, args: [a, b] } => {
                let amount = self.func.as_int(*b).filter(|&n| n < u64::from(width)).map(|n| n as u32);
                // A shift to the right by an unknown amount may be one by nothing.
                let least = amount.unwrap_or(0);
                match op {
                    BinaryOp::And => {
                        unsigned = u(*a).min(u(*b));
                        signed = s(*a).max(s(*b));
                    }
                    BinaryOp::Or | BinaryOp::Xor => {
                        unsigned = u(*a).max(u(*b));
                        signed = s(*a).max(s(*b));
                    }
                    BinaryOp::Add => {
                        unsigned = u(*a).max(u(*b)) + 1;
                        signed = s(*a).max(s(*b)) + 1;
                    }
                    BinaryOp::Sub => signed = s(*a).max(s(*b)) + 1,
                    BinaryOp::Mul => {
                        unsigned = u(*a) + u(*b);
                        signed = s(*a) + s(*b);
                    }
                    BinaryOp::Shl => {
                        if let Some(n) = amount {
                            unsigned = u(*a) + n;
                            signed = s(*a) + n;
                        }
                    }
                    BinaryOp::LShr => {
                        unsigned = u(*a).saturating_sub(least);
                    }
                    BinaryOp::AShr => {
                        signed = s(*a).saturating_sub(least).max(1);
                        if u(*a) < width {
                            unsigned = u(*a).saturating_sub(least);
                        }
                    }
                    _ => {}
                }
            }
            InstKind::Select { if_true, if_false, .. } => {
                unsigned = u(*if_true).max(u(*if_false));
                signed = s(*if_true).max(s(*if_false));
            }
            InstKind::Intrinsic { intrinsic, args } => match intrinsic {
                Intrinsic::WorkitemIdX | Intrinsic::WorkitemIdY | Intrinsic::WorkitemIdZ => {
                    let limit = self.id_limits[intrinsic.work_item_dimension()?];
                    unsigned = 32 - (limit - 1).leading_zeros();
                }
                Intrinsic::Ctpop => unsigned = 6,
                Intrinsic::Umin => {
                    unsigned = args.iter().map(|&a| u(a)).min().unwrap_or(width);
                }
                Intrinsic::Umax => {
                    unsigned = args.iter().map(|&a| u(a)).max().unwrap_or(width);
                }
                Intrinsic::Smin | Intrinsic::Smax => {
                    signed = args.iter().map(|&a| s(a)).max().unwrap_or(width);
                }
                Intrinsic::MbcntLo | Intrinsic::MbcntHi if args.get(1).is_some_and(|&a| u(a) <= 6) => {
                    unsigned = 7;
                }
                _ => {}
            },
            _ => return None,
        }
        unsigned = unsigned.min(width);
        signed = signed.min(width);
        if unsigned < width {
            signed = signed.min(unsigned + 1);
        }
        (unsigned < width || signed < width)
            .then_some(Range { unsigned: unsigned as u8, signed: signed.max(1) as u8 })
    }
}
