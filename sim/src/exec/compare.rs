//! Vector comparisons.
//!
//! A relation is four bits: it holds where the operands are less (1), equal (2), greater (4) or unordered (8).

use super::Exec;
use crate::fp::{self, F16, F32, F64};
use crate::program::{Class, Op};
use crate::report::Result;
use crate::wave::{LANES, Wave};
use mir::isa::{OpFlags, ValueType};
use std::cmp::Ordering;

fn bits_of(o: Option<Ordering>) -> u8 {
    match o {
        Some(Ordering::Less) => 1,
        Some(Ordering::Equal) => 2,
        Some(Ordering::Greater) => 4,
        None => 8,
    }
}

impl Exec<'_> {
    /// `v_cmp` and `v_cmpx`: writes a lane mask with zeros for inactive lanes, and EXEC for `v_cmpx`.
    pub(super) fn compare(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let (lanes, undef) = self.fetch(w, op);
        let exec = w.exec() & lanes;
        let ty = op.srcs.first().map_or(ValueType::B32, |s| s.ty);
        let (mut mask, mut mask_undef) = (0u64, 0u64);
        match op.class {
            Class::CompareClass => {
                let fmt = match ty {
                    ValueType::F16 => F16,
                    ValueType::F64 => F64,
                    _ => F32,
                };
                for l in 0..LANES {
                    let x = self.i.s[0].w(l);
                    let x = if fmt == F16 { x & 0xffff } else { x };
                    mask |= u64::from(fp::class(fmt, x) & self.i.s[1].lo[l] != 0) << l;
                }
            }
            Class::Compare(relation) => mask = self.relation_mask(relation, ty),
            _ => {}
        }
        if undef {
            for l in 0..LANES {
                let (ua, ub) = (self.u.s[0].w(l), self.u.s[1].w(l));
                if exec >> l & 1 != 0 && (ua | ub) != 0 && self.comparison_undefined(op, ty, l, ua, ub) {
                    mask_undef |= 1 << l;
                }
            }
        }
        let result = mask & exec;
        if let Some((reg, dwords)) = op.sdst {
            self.write_scalar(w, reg, dwords, result, mask_undef)?;
        }
        if op.info.flags.contains(OpFlags::EXEC_DEF) {
            self.set_exec(w, result, mask_undef)?;
        }
        Ok(())
    }

    fn relation_mask(&self, relation: u8, ty: ValueType) -> u64 {
        let (a, b) = (&self.i.s[0], &self.i.s[1]);
        let collect = |holds: &dyn Fn(usize) -> u8| {
            (0..LANES).fold(0u64, |m, l| m | u64::from(holds(l) & relation != 0) << l)
        };
        macro_rules! by {
            ($get:expr) => {{
                let get = $get;
                let mut mask = 0u64;
                for l in 0..LANES {
                    let (x, y) = (get(a, l), get(b, l));
                    let r = u8::from(x < y) | u8::from(x == y) << 1 | u8::from(x > y) << 2;
                    mask |= u64::from(r & relation != 0) << l;
                }
                mask
            }};
        }
        match ty {
            ValueType::U16 | ValueType::B16 => by!(|v: &super::valu::Val, l: usize| v.lo[l] as u16),
            ValueType::I16 => by!(|v: &super::valu::Val, l: usize| v.lo[l] as i16),
            ValueType::I32 => by!(|v: &super::valu::Val, l: usize| v.lo[l] as i32),
            ValueType::U64 | ValueType::B64 => by!(|v: &super::valu::Val, l: usize| v.w(l)),
            ValueType::I64 => by!(|v: &super::valu::Val, l: usize| v.w(l) as i64),
            ValueType::F16 => {
                collect(&|l| bits_of(fp::f16_to_f32(a.lo[l]).partial_cmp(&fp::f16_to_f32(b.lo[l]))))
            }
            ValueType::F32 => {
                collect(&|l| bits_of(f32::from_bits(a.lo[l]).partial_cmp(&f32::from_bits(b.lo[l]))))
            }
            ValueType::F64 => {
                collect(&|l| bits_of(f64::from_bits(a.w(l)).partial_cmp(&f64::from_bits(b.w(l)))))
            }
            _ => by!(|v: &super::valu::Val, l: usize| v.lo[l]),
        }
    }

    /// Whether undefined bits can change the outcome: for (in)equality unless defined bits differ, for an order unless
    /// the extreme values agree, for floating point always.
    fn comparison_undefined(&self, op: &Op, ty: ValueType, l: usize, ua: u64, ub: u64) -> bool {
        let Class::Compare(relation) = op.class else { return true };
        if matches!(ty, ValueType::F16 | ValueType::F32 | ValueType::F64)
            || relation & 7 == 0
            || relation & 7 == 7
        {
            return relation & 7 != 0 && relation & 7 != 7 || matches!(relation, 7 | 8);
        }
        let (bits, signed) = match ty {
            ValueType::I16 => (16, true),
            ValueType::U16 | ValueType::B16 => (16, false),
            ValueType::I32 => (32, true),
            ValueType::I64 => (64, true),
            ValueType::U64 | ValueType::B64 => (64, false),
            _ => (32, false),
        };
        let keep = u64::MAX >> (64 - bits);
        let flip = if signed { 1u64 << (bits - 1) } else { 0 };
        let (a, b) = ((self.i.s[0].w(l) ^ flip) & keep, (self.i.s[1].w(l) ^ flip) & keep);
        if relation == 2 || relation == 5 {
            return (a ^ b) & !(ua | ub) & keep == 0;
        }
        let low = bits_of(Some((a & !ua).cmp(&((b | ub) & keep)))) & relation != 0;
        let high = bits_of(Some(((a | ua) & keep).cmp(&(b & !ub)))) & relation != 0;
        low != high
    }
}
