//! Read-modify-write operations. Lanes make theirs one after the other, in ascending order.

use super::exec::{Cx, Step, Stop};
use super::float::{compare, format};
use super::host::Cause;
use super::int::sext;
use super::layout::{masks, ones};
use super::memory::{Bytes, Place};
use super::regs::lanes;
use mir::ir::{AddrSpace, AtomicOp, Float, FloatPredicate, Scalar, Value};
use sim::fp::{self, Round};

/// What memory holds afterwards; for integers and pointers of up to 64 bits.
fn integer(op: AtomicOp, old: u64, x: u64, bits: u32) -> Option<u64> {
    let signed = |v| sext(v, bits) as i64;
    Some(match op {
        AtomicOp::Xchg => x,
        AtomicOp::Add => old.wrapping_add(x),
        AtomicOp::Sub => old.wrapping_sub(x),
        AtomicOp::And => old & x,
        AtomicOp::Nand => !(old & x),
        AtomicOp::Or => old | x,
        AtomicOp::Xor => old ^ x,
        AtomicOp::Max => signed(old).max(signed(x)) as u64,
        AtomicOp::Min => signed(old).min(signed(x)) as u64,
        AtomicOp::UMax => old.max(x),
        AtomicOp::UMin => old.min(x),
        AtomicOp::UIncWrap => {
            if old >= x {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::UDecWrap => {
            if old == 0 || old > x {
                x
            } else {
                old - 1
            }
        }
        AtomicOp::USubCond => {
            if old >= x {
                old - x
            } else {
                old
            }
        }
        AtomicOp::USubSat => old.saturating_sub(x),
        _ => return None,
    })
    .map(|v| v & ones(bits))
}

/// The same for floats. Denormals are kept: memory does not know MODE.
fn float(op: AtomicOp, ty: Float, old: u64, x: u64) -> Option<u64> {
    let fmt = format(ty);
    let extreme = |max| {
        let less = compare(fmt, FloatPredicate::Olt, old, x) || old == fmt.sign_bit() && x == 0;
        if less == max { x } else { old }
    };
    Some(match op {
        AtomicOp::Xchg => x,
        AtomicOp::FAdd => fp::add(fmt, old, x, Round::Even),
        AtomicOp::FSub => fp::add(fmt, old, x ^ fmt.sign_bit(), Round::Even),
        AtomicOp::FMax => fp::min_max(fmt, old, x, true, false),
        AtomicOp::FMin => fp::min_max(fmt, old, x, false, false),
        AtomicOp::FMaximum | AtomicOp::FMinimum if fmt.is_nan(old) || fmt.is_nan(x) => {
            let nan = if fmt.is_nan(old) { old } else { x };
            nan | 1 << (fmt.mant - 1)
        }
        AtomicOp::FMaximum => extreme(true),
        AtomicOp::FMinimum => extreme(false),
        _ => return None,
    })
}

/// The new value of one scalar of up to 64 bits.
pub fn apply(op: AtomicOp, scalar: Scalar, old: u64, x: u64) -> Option<u64> {
    match scalar {
        Scalar::Float(ty) => float(op, ty, old, x),
        _ if scalar.bits() <= 64 => integer(op, old, x, scalar.bits()),
        _ => None,
    }
}

impl Cx<'_, '_> {
    /// `atomicrmw`.
    pub fn atomic_rmw(
        &mut self,
        op: AtomicOp,
        ptr: Value,
        space: AddrSpace,
        value: Value,
        dst: usize,
    ) -> Step<()> {
        let slot = self.slot(ptr);
        for l in lanes(self.mask) {
            let place = if super::buffer::is_fat(space) {
                self.fat_place(ptr, self.module.types.store_bytes(self.ty(value)), l)?
            } else {
                Some(self.place(space, slot, l)?)
            };
            self.rmw_lane(op, place, value, l, dst)?;
        }
        Ok(())
    }

    /// One lane's read-modify-write; of a place that does not exist it reads zero.
    pub fn rmw_lane(
        &mut self,
        op: AtomicOp,
        place: Option<Place>,
        value: Value,
        lane: usize,
        dst: usize,
    ) -> Step<()> {
        let ty = self.ty(value);
        let (scalar, from) = self.elements(value)?;
        if scalar.bits() > 64 {
            return Err(Stop::unsupported(format!("an atomic operation on {scalar}")));
        }
        let len = self.module.types.store_bytes(ty) as usize;
        let (mut bytes, mut undef) = (Bytes::from_elem(0, len), Bytes::from_elem(0, len));
        let Some(place) = place else {
            (0..from.len()).for_each(|i| self.regs.write_lane(dst + i, lane, 0, 0));
            return Ok(());
        };
        self.load_bytes(place, lane, &mut bytes, &mut undef)?;
        let types = &self.module.types;
        let mut old = vec![(0, 0); from.len()];
        super::memory::unpack(types, ty, &bytes, &undef, |word, value, undef| old[word] = (value, undef));
        let width = ones(scalar.bits());
        if let (Scalar::Float(ty), false) = (scalar, op == AtomicOp::Xchg) {
            // Memory may or may not flush denormals as MODE says.
            let (fmt, flushes) = (format(ty), self.flushes(ty));
            let mut operands = from.iter().map(|&at| self.regs.v[at][lane]).chain(old.iter().map(|o| o.0));
            self.group.outcome.approximate |=
                flushes != (false, false) && operands.any(|x| fmt.is_denormal(x));
        }
        let mut new = Vec::with_capacity(old.len());
        for (&at, &(value, unknown)) in from.iter().zip(&old) {
            let result = apply(op, scalar, value, self.regs.v[at][lane]);
            let result =
                result.ok_or_else(|| Stop::unsupported(format!("atomicrmw {} of {scalar}", op.word())))?;
            let undefined = if op == AtomicOp::Xchg { 0 } else { unknown } | self.regs.undef(at, lane);
            new.push((result, if undefined != 0 { width } else { 0 }));
        }
        super::memory::pack(types, ty, &mut bytes, &mut undef, |word| new[word]);
        self.store_bytes(place, lane, &bytes, &undef)?;
        for (i, (value, undef)) in old.into_iter().enumerate() {
            self.regs.write_lane(dst + i, lane, value, undef);
        }
        Ok(())
    }

    /// `cmpxchg`: the old value and whether it was the one expected.
    pub fn compare_exchange(
        &mut self,
        ptr: Value,
        space: AddrSpace,
        [expected, replacement]: [Value; 2],
        dst: usize,
    ) -> Step<()> {
        let (slot, ty) = (self.slot(ptr), self.ty(expected));
        let (e, r) = (self.slot(expected), self.slot(replacement));
        let widths = masks(&self.module.types, ty);
        let words = widths.len();
        for l in lanes(self.mask) {
            let place = if super::buffer::is_fat(space) {
                self.fat_place(ptr, self.module.types.store_bytes(ty), l)?
            } else {
                Some(self.place(space, slot, l)?)
            };
            let Some(place) = place else {
                widths.iter().enumerate().for_each(|(i, _)| self.regs.write_lane(dst + i, l, 0, 0));
                let equal = (0..words).all(|i| self.regs.v[e + i][l] == 0);
                self.regs.write_lane(dst + words, l, u64::from(equal), 0);
                continue;
            };
            self.load_value(place, l, ty, dst)?;
            let mut equal = true;
            let mut differs = false;
            for i in 0..words {
                let (found, wanted) = (self.regs.undef(dst + i, l), self.regs.undef(e + i, l));
                let unlike = self.regs.v[dst + i][l] ^ self.regs.v[e + i][l];
                differs |= unlike & !found & !wanted != 0;
                // What has been loaded from there is equal to it, defined or not: a loop gets on with it.
                equal &= unlike == 0 && found == wanted;
            }
            if !equal && !differs {
                return Err(Stop::in_lane(Cause::Undefined("a compare-and-swap"), l));
            }
            if equal {
                self.store_value(place, l, ty, r)?;
            }
            self.regs.write_lane(dst + words, l, u64::from(equal), 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_at_their_width() {
        assert_eq!(integer(AtomicOp::Nand, 0xff, 0x0f, 8), Some(0xf0));
        assert_eq!(integer(AtomicOp::Max, 0x80, 0x7f, 8), Some(0x7f));
        assert_eq!(integer(AtomicOp::UIncWrap, 7, 7, 32), Some(0));
        assert_eq!(integer(AtomicOp::UDecWrap, 0, 7, 32), Some(7));
        assert_eq!(integer(AtomicOp::USubCond, 3, 5, 32), Some(3));
        assert_eq!(integer(AtomicOp::FAdd, 3, 5, 32), None);
    }

    #[test]
    fn extremes_of_floats() {
        let b = |x: f32| u64::from(x.to_bits());
        let single = |op, x, y| float(op, Float::Single, b(x), b(y));
        assert_eq!(single(AtomicOp::FMin, f32::NAN, 2.0), Some(b(2.0)));
        assert_eq!(single(AtomicOp::FMaximum, f32::NAN, 2.0), Some(b(f32::NAN)));
        assert_eq!(single(AtomicOp::FMaximum, -0.0, 0.0), Some(b(0.0)));
        assert_eq!(single(AtomicOp::FMinimum, 0.0, -0.0), Some(b(-0.0)));
        assert_eq!(single(AtomicOp::FSub, 1.0, 3.0), Some(b(-2.0)));
    }
}
