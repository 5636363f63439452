//! Access to memory through buffer resources: intrinsics as read and legal, and fat pointers.
//!
//! A fat pointer is as in memory: a strided one has its offset in the lowest dword, then the index, then the resource; an ordinary one has no index. Loads from
//! outside of a buffer give zero, stores there do nothing. Each lane may have a resource of its own, as the code has before it becomes a loop over them.
//!
//! Resources that swizzle addresses or add the lane's number, and accesses that convert formats, are not executed.
//!
//! Source: Vega ISA, "Buffer Resource Descriptor" and "Buffer Addressing"; `mir::ir::legal::position` for the order of legal arguments.

use super::exec::{Cx, Step, Stop};
use super::int::sext;
use super::layout::{masks, scalar_words};
use super::memory::Place;
use super::regs::lanes;
use mir::ir::{AddrSpace, AtomicOp, BufferAction, BufferIntrinsic, Intrinsic, Scalar, Type, Value};
use mir::target::{BufferRules, Records};

/// Whether pointers into `space` are a resource and an offset.
pub fn is_fat(space: AddrSpace) -> bool {
    matches!(space, AddrSpace::BUFFER_FAT_POINTER | AddrSpace::BUFFER_STRIDED_POINTER)
}

/// Addresses have 48 bits.
const ADDRESS: u64 = (1 << 48) - 1;

/// The selection of the range check of GFX10 (bits 29:28 of dword 3) that counts bytes.
const RAW: u32 = 3 << 28;

/// Where an access inside a buffer is.
#[derive(Clone, Copy, Debug, Default)]
struct Offsets {
    /// The instruction has one, or none.
    index: Option<u64>,
    offset: u64,
    soffset: u64,
}

/// The address of an access of `bytes`; `None` where it is outside.
fn address(resource: [u32; 4], at: Offsets, bytes: u64, rules: &BufferRules) -> Step<Option<u64>> {
    let [low, high, records, word3] = resource.map(u64::from);
    if high >> 31 != 0 || word3 >> 23 & 1 != 0 {
        return Err(Stop::unsupported("a buffer that swizzles addresses or adds the lane"));
    }
    let (base, stride) = ((low | high << 32) & ADDRESS, high >> 16 & 0x3fff);
    let index = at.index.unwrap_or(0);
    let inside = at.offset + stride * index;
    let checked = if rules.checks_soffset { at.soffset } else { 0 };
    let is_raw = || inside + bytes <= records.saturating_sub(checked);
    let is_inside = match rules.records {
        Records::Selected => match word3 >> 28 & 3 {
            0 => index < records && (stride == 0 || at.offset + bytes <= stride),
            1 => index < records,
            2 => records != 0,
            _ => is_raw(),
        },
        _ if !rules.counts_records(stride, at.index.is_some()) => is_raw(),
        _ if at.index.is_some() => index < records,
        _ => inside + bytes <= records * stride,
    };
    if !is_inside {
        return Ok(None);
    }
    Ok(Some(base.wrapping_add(at.soffset).wrapping_add(inside) & ADDRESS))
}

/// The atomic operation of an intrinsic's name.
fn atomic(name: &str) -> Option<AtomicOp> {
    Some(match name {
        "swap" => AtomicOp::Xchg,
        "add" => AtomicOp::Add,
        "sub" => AtomicOp::Sub,
        "smin" => AtomicOp::Min,
        "umin" => AtomicOp::UMin,
        "smax" => AtomicOp::Max,
        "umax" => AtomicOp::UMax,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "inc" => AtomicOp::UIncWrap,
        "dec" => AtomicOp::UDecWrap,
        "fadd" => AtomicOp::FAdd,
        "fmin" => AtomicOp::FMin,
        "fmax" => AtomicOp::FMax,
        "cond.sub.u32" => AtomicOp::USubCond,
        _ => return None,
    })
}

impl Cx<'_, '_> {
    /// The dwords of a value from `first` on, all defined.
    fn resource_dwords<const N: usize>(&self, value: Value, first: usize, lane: usize) -> Step<[u32; N]> {
        let (scalar, slots) = self.elements(value)?;
        let mut out = [0; N];
        for (n, word) in out.iter_mut().enumerate() {
            let dword = first + n;
            // Elements of a vector of dwords have a word each, pointers two dwords a word.
            let (at, shift) = match scalar {
                Scalar::Int(32) => (slots.get(dword).copied().unwrap_or(slots[0]), 0),
                _ => (slots[0] + dword / 2, 32 * (dword % 2)),
            };
            *word = (self.defined(at, lane, "a buffer resource")? >> shift) as u32;
        }
        Ok(out)
    }

    /// Where a fat pointer's access of `bytes` goes; `None` outside of the buffer.
    pub fn fat_place(&self, ptr: Value, bytes: u64, lane: usize) -> Step<Option<Place>> {
        let strided = self.ty(ptr).addr_space() == Some(AddrSpace::BUFFER_STRIDED_POINTER);
        let [offset, second] = self.resource_dwords::<2>(ptr, 0, lane)?.map(u64::from);
        let resource = self.resource_dwords(ptr, if strided { 2 } else { 1 }, lane)?;
        let at = Offsets { index: strided.then_some(second), offset, soffset: 0 };
        let rules = &self.group.launch.target.limits().buffers;
        Ok(address(resource, at, bytes, rules)?.map(Place::Global))
    }

    /// A load through a fat pointer.
    pub fn load_fat(&mut self, ptr: Value, ty: Type, dst: usize) -> Step<()> {
        let bytes = self.module.types.store_bytes(ty);
        for l in lanes(self.mask) {
            let place = self.fat_place(ptr, bytes, l)?;
            self.load_or_zero(place, l, ty, dst)?;
        }
        Ok(())
    }

    fn load_or_zero(&mut self, place: Option<Place>, lane: usize, ty: Type, dst: usize) -> Step<()> {
        match place {
            Some(place) => self.load_value(place, lane, ty, dst),
            None => {
                let words = masks(&self.module.types, ty).len();
                (0..words).for_each(|i| self.regs.write_lane(dst + i, lane, 0, 0));
                Ok(())
            }
        }
    }

    /// A store through a fat pointer.
    pub fn store_fat(&mut self, ptr: Value, value: Value) -> Step<()> {
        let (ty, from) = (self.ty(value), self.slot(value));
        let bytes = self.module.types.store_bytes(ty);
        for l in lanes(self.mask) {
            if let Some(place) = self.fat_place(ptr, bytes, l)? {
                self.store_value(place, l, ty, from)?;
            }
        }
        Ok(())
    }

    /// Arithmetic on a fat pointer changes its offset, the lowest dword.
    pub fn fat_ptr_add(
        &mut self,
        base: Value,
        index: Option<Value>,
        (scale, offset): (i64, i64),
        ty: Type,
        dst: usize,
    ) -> Step<()> {
        let step = ty.scalar().map_or(1, scalar_words);
        for lane in 0..ty.lanes() as usize {
            let of = |this: &Self, v: Value, step| {
                this.slot(v) + if this.ty(v).lanes() > 1 { lane * step } else { 0 }
            };
            let (slot, dst) = (of(self, base, step), dst + lane * step);
            self.regs.copy(dst, slot, step, self.mask);
            let index = match index {
                Some(v) => {
                    let scalar = self.scalar_of(self.ty(v))?;
                    Some((of(self, v, scalar_words(scalar)), scalar.bits()))
                }
                None => None,
            };
            for l in lanes(self.mask) {
                let (word, mut undef) = (self.regs.v[slot][l], self.regs.undef(slot, l));
                let mut moved = offset as u64;
                if let Some((at, bits)) = index {
                    moved = moved.wrapping_add(sext(self.regs.v[at][l], bits).wrapping_mul(scale as u64));
                    undef |= if self.regs.undef(at, l) != 0 { 0xffff_ffff } else { 0 };
                }
                let low = (word as u32).wrapping_add(moved as u32);
                self.regs.write_lane(dst, l, word & !0xffff_ffff | u64::from(low), undef);
            }
        }
        Ok(())
    }

    /// `ptrmask`: of each pointer the offset, its lowest dword, is masked.
    fn fat_mask(&mut self, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let (from, mask) = (self.arg(args, 0)?, self.arg(args, 1)?);
        let step = ty.scalar().map_or(1, scalar_words);
        for lane in 0..ty.lanes() as usize {
            let (from, mask, dst) = (from + lane * step, mask + lane, dst + lane * step);
            self.regs.copy(dst, from, step, self.mask);
            for l in lanes(self.mask) {
                let (word, bits) = (self.regs.v[from][l], self.regs.v[mask][l] | !0xffff_ffff);
                // A bit that is cleared is defined, whatever it was.
                let unknown = self.regs.undef(mask, l) & 0xffff_ffff;
                let undef = self.regs.undef(from, l) & (bits | unknown) | unknown & word;
                self.regs.write_lane(dst, l, word & bits, undef);
            }
        }
        Ok(())
    }

    /// A resource becomes a pointer to the start of its buffer.
    pub fn cast_fat(&mut self, to: AddrSpace, from: AddrSpace, dst: usize, a: usize) -> Step<()> {
        if from != AddrSpace::BUFFER_RESOURCE || !is_fat(to) {
            return Err(Stop::unsupported(format!("a cast from address space {} to {}", from.0, to.0)));
        }
        let shift = if to == AddrSpace::BUFFER_STRIDED_POINTER { 64u32 } else { 32 };
        for l in lanes(self.mask) {
            let (value, undef) = (self.big(a, 128, l) << shift, self.big_undef(a, 128, l) << shift);
            self.put_big(dst, to.pointer_bits(), l, &value, &undef);
        }
        Ok(())
    }

    /// `make.buffer.rsrc`: base, stride, records, flags.
    pub fn make_resource(&mut self, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let [base, stride, records, flags] =
            [self.arg(args, 0)?, self.arg(args, 1)?, self.arg(args, 2)?, self.arg(args, 3)?];
        let space = ty.addr_space().unwrap_or(AddrSpace::BUFFER_RESOURCE);
        for l in lanes(self.mask) {
            let word = |slot: usize| self.defined(slot, l, "a buffer resource");
            let low = word(base)? & ADDRESS | (word(stride)? & 0xffff) << 48;
            let high = word(records)? & 0xffff_ffff | word(flags)? << 32;
            let whole = num_bigint::BigUint::from(u128::from(low) | u128::from(high) << 64);
            let whole = whole << (space.pointer_bits() - 128);
            self.put_big(dst, space.pointer_bits(), l, &whole, &num_bigint::BigUint::default());
        }
        Ok(())
    }

    /// A buffer intrinsic.
    pub fn buffer(&mut self, intrinsic: BufferIntrinsic, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let desc = intrinsic.desc();
        let legal = self.group.legal;
        let refuse = || Stop::unsupported(format!("llvm.{}", desc.name));
        let data_at = if legal { 5 } else { 0 };
        let data_args = desc.data_args();
        let resource = self.value(args, if legal { 0 } else { desc.resource() })?;
        let index = match (desc.structured, legal) {
            (false, _) => None,
            (true, true) => Some(self.arg(args, 1)?),
            (true, false) => desc.index().map(|n| self.arg(args, n)).transpose()?,
        };
        let offset = self.arg(args, if legal { 2 } else { desc.offset() })?;
        let soffset = self.arg(args, if legal { 3 } else { desc.soffset() })?;
        let data = (data_args > 0).then(|| self.value(args, data_at)).transpose()?;
        let rules = &self.group.launch.target.limits().buffers;
        let accessed = data.map_or(ty, |v| self.ty(v));
        let bytes = self.module.types.store_bytes(accessed);
        for l in lanes(self.mask) {
            let number = |slot: usize| self.defined(slot, l, "a buffer offset");
            let at = Offsets {
                index: index.map(number).transpose()?,
                offset: number(offset)?,
                soffset: number(soffset)?,
            };
            let place = address(self.resource_dwords(resource, 0, l)?, at, bytes, rules)?;
            let place = place.map(Place::Global);
            match desc.action {
                BufferAction::Load | BufferAction::AtomicLoad => self.load_or_zero(place, l, ty, dst)?,
                BufferAction::Store => {
                    if let (Some(place), Some(data)) = (place, data) {
                        self.store_value(place, l, accessed, self.slot(data))?;
                    }
                }
                BufferAction::Atomic("cmpswap") => {
                    let (new, expected) = (self.arg(args, data_at)?, self.arg(args, data_at + 1)?);
                    self.load_or_zero(place, l, ty, dst)?;
                    let wanted = self.defined(expected, l, "a compare-and-swap")?;
                    if let Some(place) = place
                        && self.defined(dst, l, "a compare-and-swap")? == wanted
                    {
                        self.store_value(place, l, ty, new)?;
                    }
                }
                BufferAction::Atomic(name) => {
                    let (Some(op), Some(data)) = (atomic(name), data) else { return Err(refuse()) };
                    self.rmw_lane(op, place, data, l, dst)?;
                }
                BufferAction::LoadFormat | BufferAction::StoreFormat | BufferAction::LoadLds => {
                    return Err(refuse());
                }
            }
        }
        Ok(())
    }

    /// `s.buffer.load`: resource, offset.
    pub fn scalar_buffer_load(&mut self, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let (resource, offset) = (self.value(args, 0)?, self.arg(args, 1)?);
        let rules = &self.group.launch.target.limits().buffers;
        for l in lanes(self.mask) {
            let [low, high, records, word3] = self.resource_dwords(resource, 0, l)?;
            // Without a stride records are bytes, with one their product counts; each dword by itself.
            let stride = u64::from(high >> 16 & 0x3fff).max(1);
            let size = (u64::from(records) * stride).min(u64::from(u32::MAX)) as u32;
            let plain = [low, high & 0xffff, size, word3 & !(1 << 23) | RAW];
            let at =
                Offsets { offset: self.defined(offset, l, "a buffer offset")? & !3, ..Offsets::default() };
            let place = address(plain, at, self.module.types.store_bytes(ty), rules)?;
            self.load_or_zero(place.map(Place::Global), l, ty, dst)?;
        }
        Ok(())
    }

    /// Whether this file executes `intrinsic`; if so, does.
    pub fn buffer_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
        dst: usize,
    ) -> Step<bool> {
        match intrinsic {
            Intrinsic::Buffer(buffer) => self.buffer(buffer, args, ty, dst)?,
            Intrinsic::SBufferLoad => self.scalar_buffer_load(args, ty, dst)?,
            Intrinsic::MakeBufferRsrc => self.make_resource(args, ty, dst)?,
            Intrinsic::Ptrmask if ty.addr_space().is_some_and(is_fat) => self.fat_mask(args, ty, dst)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::target::Generation;

    #[test]
    fn range_and_stride() {
        let raw = [0x1000, 0x1, 16, 0];
        let at = |index, offset, soffset| Offsets { index: (index > 0).then_some(index), offset, soffset };
        let find =
            |resource, at, bytes| address(resource, at, bytes, &Generation::Gfx9.limits().buffers).unwrap();
        assert_eq!(find(raw, at(0, 12, 0), 4), Some(0x1_0000_100c));
        assert_eq!(find(raw, at(0, 13, 0), 4), None);
        assert_eq!(find(raw, at(0, 12, 4), 4), None);
        assert_eq!(
            address(raw, at(0, 12, 4), 4, &Generation::Gfx8.limits().buffers).unwrap(),
            Some(0x1_0000_1010)
        );
        let strided = [0x1000, 8 << 16, 4, 0];
        let on = |generation: Generation, resource, index: Option<u64>| {
            let at = Offsets { index, offset: 4, soffset: 0 };
            address(resource, at, 4, &generation.limits().buffers).unwrap().map(|address| address - 0x1000)
        };
        // Records, bytes, and what the instruction chooses.
        assert_eq!([3, 4].map(|n| on(Generation::Gfx7, strided, Some(n))), [Some(28), None]);
        assert_eq!(on(Generation::Gfx7, strided, None), Some(4));
        let bytes = [0x1000, 8 << 16, 32, 0];
        assert_eq!([3, 4].map(|n| on(Generation::Gfx8, bytes, Some(n))), [Some(28), None]);
        assert_eq!([3, 4].map(|n| on(Generation::Gfx9, strided, Some(n))), [Some(28), None]);
        assert_eq!(on(Generation::Gfx9, strided, None), None);
        for (select, index, place) in
            [(0, 3, Some(28)), (0, 4, None), (1, 3, Some(28)), (2, 9, Some(76)), (3, 0, None)]
        {
            let resource = [0x1000, 8 << 16, 4, select << 28];
            assert_eq!(on(Generation::Gfx10, resource, Some(index)), place, "{select} {index}");
        }
        assert!(address([0, 1 << 31, 64, 0], at(0, 0, 0), 4, &Generation::Gfx9.limits().buffers).is_err());
    }
}
