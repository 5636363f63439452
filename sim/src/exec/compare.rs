//! Vector comparisons.
//!
//! A relation is four bits: it holds where the operands are less (1), equal (2), greater (4) or unordered (8).

use super::Exec;
use super::valu::{In, mask_of};
use crate::fp::{self, F16, F32, F64};
use crate::program::{Class, Op};
use crate::report::Result;
use crate::wave::{MAX_LANES, Wave};
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
        let fetched = self.fetch(w, op);
        let exec = w.exec() & fetched.lanes;
        let ty = op.srcs.first().map_or(ValueType::B32, |s| s.ty);
        let i = fetched.inputs(&self.s, w);
        let mask = match op.class {
            Class::Compare(relation) => relation_mask(&i, relation, ty),
            _ => class_mask(&i, ty),
        };
        let mut mask_undef = 0;
        if fetched.undef {
            for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
                let wide = |k: usize| u64::from(self.u[k].lo[l]) | u64::from(self.u[k].hi[l]) << 32;
                let (ua, ub) = (wide(0), wide(1));
                let certain = ua | ub == 0 || !undecided(op, ty, (i.w(0, l), i.w(1, l)), (ua, ub));
                mask_undef |= u64::from(!certain) << l;
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
}

fn class_mask(i: &In<'_>, ty: ValueType) -> u64 {
    let (fmt, keep) = match ty {
        ValueType::F16 => (F16, 0xffff),
        ValueType::F64 => (F64, u64::MAX),
        _ => (F32, u64::MAX),
    };
    mask_of(|l| fp::class(fmt, i.w(0, l) & keep) & i.lo[1][l] != 0)
}

fn relation_mask(i: &In<'_>, relation: u8, ty: ValueType) -> u64 {
    fn by<T: PartialOrd>(relation: u8, get: impl Fn(usize, usize) -> T) -> u64 {
        let holds = |bit: u8| relation & bit != 0;
        let (lt, eq, gt, un) = (holds(1), holds(2), holds(4), holds(8));
        mask_of(|l| {
            let (x, y) = (get(0, l), get(1, l));
            let (less, equal, greater) = (x < y, x == y, x > y);
            less & lt | equal & eq | greater & gt | !(less | equal | greater) & un
        })
    }
    match ty {
        ValueType::U16 | ValueType::B16 => by(relation, |k, l| i.lo[k][l] as u16),
        ValueType::I16 => by(relation, |k, l| i.lo[k][l] as i16),
        ValueType::I32 => by(relation, |k, l| i.lo[k][l] as i32),
        ValueType::U64 | ValueType::B64 => by(relation, |k, l| i.w(k, l)),
        ValueType::I64 => by(relation, |k, l| i.w(k, l) as i64),
        ValueType::F16 => by(relation, |k, l| fp::f16_to_f32(i.lo[k][l])),
        ValueType::F32 => by(relation, |k, l| f32::from_bits(i.lo[k][l])),
        ValueType::F64 => by(relation, |k, l| f64::from_bits(i.w(k, l))),
        ValueType::B32 | ValueType::U32 | ValueType::V2I16 | ValueType::V2F16 | ValueType::Data => {
            by(relation, |k, l| i.lo[k][l])
        }
    }
}

/// Whether undefined bits can change the outcome: for (in)equality unless defined bits differ, for an order unless
/// the extreme values agree, for floating point always.
fn undecided(op: &Op, ty: ValueType, (x, y): (u64, u64), (ux, uy): (u64, u64)) -> bool {
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
    let (a, b, ua, ub) = ((x ^ flip) & keep, (y ^ flip) & keep, ux & keep, uy & keep);
    if relation == 2 || relation == 5 {
        return (a ^ b) & !(ua | ub) & keep == 0;
    }
    let low = bits_of(Some((a & !ua).cmp(&((b | ub) & keep)))) & relation != 0;
    let high = bits_of(Some(((a | ua) & keep).cmp(&(b & !ub)))) & relation != 0;
    low != high
}
