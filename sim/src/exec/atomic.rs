//! Read-modify-write operations, the same for LDS, buffers, flat and scalar memory.

use crate::fp::{self, F32, F64};
use mir::isa::Rmw;

/// What [`Rmw`] operations compute.
pub trait Apply {
    /// The new value of memory. `a` and `b` are the data operands: for compare-and-swap the new value and the value compared with,
    /// for masked or the mask and the bits.
    fn apply(self, old: u64, a: u64, b: u64, wide: bool) -> u64;
}

impl Apply for Rmw {
    fn apply(self, old: u64, a: u64, b: u64, wide: bool) -> u64 {
        let mask = if wide { u64::MAX } else { 0xffff_ffff };
        let signed = |x: u64| if wide { x as i64 } else { i64::from(x as u32 as i32) };
        let fmt = if wide { F64 } else { F32 };
        let new = match self {
            Self::Swap => a,
            Self::CmpSwap => {
                if old == b {
                    a
                } else {
                    old
                }
            }
            Self::FcmpSwap => {
                let equal = if wide {
                    f64::from_bits(old) == f64::from_bits(b)
                } else {
                    f32::from_bits(old as u32) == f32::from_bits(b as u32)
                };
                if equal { a } else { old }
            }
            Self::Add => old.wrapping_add(a),
            Self::Sub => old.wrapping_sub(a),
            Self::Csub => old.saturating_sub(a),
            Self::Rsub => a.wrapping_sub(old),
            Self::Smin => signed(old).min(signed(a)) as u64,
            Self::Umin => old.min(a),
            Self::Smax => signed(old).max(signed(a)) as u64,
            Self::Umax => old.max(a),
            Self::And => old & a,
            Self::Or => old | a,
            Self::Xor => old ^ a,
            Self::Inc => {
                if old >= a {
                    0
                } else {
                    old + 1
                }
            }
            Self::Dec => {
                if old == 0 || old > a {
                    a
                } else {
                    old - 1
                }
            }
            Self::Mskor => old & !a | b,
            Self::Fadd if wide => (f64::from_bits(old) + f64::from_bits(a)).to_bits(),
            Self::Fadd => u64::from((f32::from_bits(old as u32) + f32::from_bits(a as u32)).to_bits()),
            Self::Fmin => fp::min_max(fmt, old, a, false, false),
            Self::Fmax => fp::min_max(fmt, old, a, true, false),
            Self::Wrap => {
                if old >= a {
                    old.wrapping_sub(a)
                } else {
                    old.wrapping_add(b)
                }
            }
        };
        new & mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meaning() {
        assert_eq!(Rmw::Inc.apply(5, 5, 0, false), 0);
        assert_eq!(Rmw::Dec.apply(0, 7, 0, false), 7);
        assert_eq!(Rmw::Smin.apply(0xffff_ffff, 1, 0, false), 0xffff_ffff);
        assert_eq!(Rmw::Add.apply(0xffff_ffff, 1, 0, false), 0);
        assert_eq!(Rmw::CmpSwap.apply(3, 9, 3, true), 9);
    }
}
