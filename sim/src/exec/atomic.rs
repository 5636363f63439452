//! Read-modify-write operations, the same for LDS, buffers, flat and scalar memory.

use crate::fp::{self, F32, F64};

/// What an atomic does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the ISA manuals' own names")]
pub enum AtomicOp {
    Swap,
    CmpSwap,
    Add,
    Sub,
    Rsub,
    Smin,
    Umin,
    Smax,
    Umax,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    Mskor,
    Fadd,
    Fmin,
    Fmax,
    FcmpSwap,
    Wrap,
}

impl AtomicOp {
    /// From the instruction's name.
    pub fn from_name(name: &str) -> Option<Self> {
        let rest = match name.split_once("atomic_") {
            Some((_, rest)) => rest,
            None => name.strip_prefix("ds_")?,
        };
        let (word, ty) = (rest.split('_').next()?, rest.rsplit('_').next()?);
        let ds = name.starts_with("ds_");
        Some(match word {
            "swap" | "wrxchg" | "wrxchg2" | "wrxchg2st64" => Self::Swap,
            "cmpswap" => Self::CmpSwap,
            "cmpst" if ty.starts_with('f') => Self::FcmpSwap,
            "cmpst" => Self::CmpSwap,
            "add" if ds && ty.starts_with('f') => Self::Fadd,
            "add" => Self::Add,
            "sub" => Self::Sub,
            "rsub" => Self::Rsub,
            "smin" => Self::Smin,
            "umin" => Self::Umin,
            "smax" => Self::Smax,
            "umax" => Self::Umax,
            "min" | "max" if ds => match (word, ty.chars().next()?) {
                ("min", 'i') => Self::Smin,
                ("min", 'u') => Self::Umin,
                ("min", _) => Self::Fmin,
                (_, 'i') => Self::Smax,
                (_, 'u') => Self::Umax,
                _ => Self::Fmax,
            },
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "inc" => Self::Inc,
            "dec" => Self::Dec,
            "mskor" => Self::Mskor,
            "fmin" => Self::Fmin,
            "fmax" => Self::Fmax,
            "fcmpswap" => Self::FcmpSwap,
            "wrap" => Self::Wrap,
            _ => return None,
        })
    }

    /// The new value of memory. `a` and `b` are the data operands: for compare-and-swap the new value and the value compared with,
    /// for masked or the mask and the bits.
    pub fn apply(self, old: u64, a: u64, b: u64, wide: bool) -> u64 {
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
    fn names_and_meaning() {
        assert_eq!(AtomicOp::from_name("global_atomic_umin_x2"), Some(AtomicOp::Umin));
        assert_eq!(AtomicOp::from_name("ds_min_rtn_i32"), Some(AtomicOp::Smin));
        assert_eq!(AtomicOp::from_name("ds_add_f32"), Some(AtomicOp::Fadd));
        assert_eq!(AtomicOp::from_name("ds_cmpst_rtn_b64"), Some(AtomicOp::CmpSwap));
        assert_eq!(AtomicOp::from_name("s_buffer_atomic_inc"), Some(AtomicOp::Inc));
        assert_eq!(AtomicOp::Inc.apply(5, 5, 0, false), 0);
        assert_eq!(AtomicOp::Dec.apply(0, 7, 0, false), 7);
        assert_eq!(AtomicOp::Smin.apply(0xffff_ffff, 1, 0, false), 0xffff_ffff);
        assert_eq!(AtomicOp::Add.apply(0xffff_ffff, 1, 0, false), 0);
        assert_eq!(AtomicOp::CmpSwap.apply(3, 9, 3, true), 9);
    }
}
