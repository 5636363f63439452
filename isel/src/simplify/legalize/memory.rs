//! Loads, stores, stack objects and pointer arithmetic.
//!
//! An access is cut into pieces that the target does in one instruction each; see [`Legalizer::widest`]. Members
//! of 32 and 64 bits are accessed at their type, narrower ones of a vector as packed dwords. What lies apart
//! here is put together again by `merge_memory`, which sees neighbours of other instructions, too.

use super::{Legalizer, Parts};
use crate::uniformity::Uniformity;
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

impl Legalizer<'_> {
    // ---- addresses

    /// The pointer operand of an access with the space it really lies in.
    pub(super) fn address(&mut self, ptr: Value, mem: MemAccess) -> Result<(Value, MemAccess)> {
        // A volatile access goes the way that the program says, where there is one.
        let as_written = mem.flags.contains(MemFlags::VOLATILE)
            && mem.space == AddrSpace::FLAT
            && self.ctx.machine.has(Features::FLAT)
            && (self.spaces.of(ptr) == Some(AddrSpace::LOCAL)
                || mir::abi::shader::has_flat_scratch(self.old.call_conv, self.ctx.machine));
        let parts = if as_written { self.parts(ptr)? } else { self.raw_parts(ptr)? };
        let [part] = parts[..] else {
            return Err(Diagnostic::unsupported("access through a vector of pointers"));
        };
        let space = self.b.ty(part).addr_space().unwrap_or(mem.space);
        if space == AddrSpace::CONSTANT_32BIT {
            // The upper half of the address is the same for all.
            let part = self.b.cast(CastOp::AddrSpaceCast, part, Type::ptr(AddrSpace::CONSTANT));
            return Ok((part, MemAccess { space: AddrSpace::CONSTANT, ..mem }));
        }
        Ok((part, MemAccess { space, ..mem }))
    }

    pub(super) fn lower_ptr_add(
        &mut self,
        result: Option<Value>,
        base: Value,
        index: Option<Value>,
        scale: i64,
        offset: i64,
        ty: Type,
    ) -> Result<Parts> {
        let known = result.is_some_and(|r| self.spaces.of(r).is_some());
        let bases = if known { self.raw_parts(base)? } else { self.parts(base)? };
        let (indices, index_bits) = match index {
            Some(index) => {
                let (scalar, parts) = self.lanes(index)?;
                // No pointer has more than 64 bits to add to.
                let each = self.element_parts(scalar);
                (parts.iter().copied().step_by(each).collect(), scalar.bits().min(64))
            }
            None => (Parts::new(), 0),
        };
        if ty.addr_space().is_some_and(super::fat::is_fat) && ty.lanes() == 1 {
            let mut bases = bases;
            let index = indices.first().map(|&index| self.sign_extended(index, index_bits));
            let index = index.map(|index| self.b.sext_or_trunc(index, Type::I32));
            self.fat_add(&mut bases, index, scale, offset);
            return Ok(bases);
        }
        let lanes = ty.lanes() as usize;
        let mut out = Parts::new();
        for lane in 0..lanes {
            let pick = |parts: &Parts| if parts.len() == 1 { parts[0] } else { parts[lane] };
            let base = pick(&bases);
            let pointer_ty = self.b.ty(base);
            let index = if indices.is_empty() {
                None
            } else {
                let index = pick(&indices);
                let wide = pointer_ty.bits().unwrap_or(64) >= 64;
                let index = if index_bits == 1 {
                    self.b.cast(CastOp::SExt, index, Type::I32)
                } else {
                    self.sign_extended(index, index_bits)
                };
                Some(match (wide, self.b.bits(index)) {
                    (false, 64) => self.b.cast(CastOp::Trunc, index, Type::I32),
                    (_, 16) => self.b.cast(CastOp::SExt, index, Type::I32),
                    _ => index,
                })
            };
            out.push(self.b.pure(InstKind::PtrAdd { base, index, scale, offset }, pointer_ty, self.flags));
        }
        Ok(out)
    }

    pub(super) fn lower_alloca(
        &mut self,
        size_bytes: u64,
        count: Option<Value>,
        align_log2: u8,
        ty: Type,
    ) -> Result<Parts> {
        let known = match count {
            None => Some(1),
            Some(count) => self.old.as_int(count),
        };
        let Some(count) = known.filter(|_| !self.renewed.contains(&self.current)) else {
            return self.lower_variable_alloca(size_bytes, count, align_log2, ty);
        };
        let size = size_bytes.saturating_mul(count);
        if size > 1 << 24 {
            return Err(Diagnostic::limit(format!("stack object of {size} bytes")));
        }
        // The frame of a function that is called starts where its caller's ends.
        let slot = if self.old.call_conv.is_callable() && align_log2 > super::functions::FRAME_ALIGN_LOG2 {
            let more = (1 << align_log2.min(16)) - (1 << super::functions::FRAME_ALIGN_LOG2);
            let slot = self.entry_alloca(size + more, super::functions::FRAME_ALIGN_LOG2);
            self.align_pointer(slot, align_log2)
        } else {
            self.entry_alloca(size, align_log2)
        };
        let slot_ty = self.b.ty(slot);
        Ok(Parts::from_slice(&[if slot_ty == ty {
            slot
        } else {
            self.b.cast(CastOp::AddrSpaceCast, slot, ty)
        }]))
    }

    /// A stack object of variable size: all lanes get as much as the one that wants most.
    ///
    /// In legal IR the count is in bytes, a multiple of the stack's alignment, and the same in all lanes.
    fn lower_variable_alloca(
        &mut self,
        size_bytes: u64,
        count: Option<Value>,
        align_log2: u8,
        ty: Type,
    ) -> Result<Parts> {
        let each = self.b.i32(size_bytes.min(u64::from(u32::MAX)) as u32);
        let bytes = match count {
            None => each,
            Some(count) => {
                let bits = self.old.ty(count).bits().unwrap_or(32) as u32;
                let part = self.part(count)?;
                let part = self.zero_extended(part, bits.min(64));
                let count = self.b.zext_or_trunc(part, Type::I32);
                self.b.mul(count, each)
            }
        };
        let frame_align = 1i64 << super::functions::FRAME_ALIGN_LOG2;
        let more = (1i64 << align_log2.clamp(super::functions::FRAME_ALIGN_LOG2, 16)) - 1;
        let bytes = self.b.add_imm(bytes, more);
        let mut bytes = self.b.and_imm(bytes, !(frame_align as u64 - 1) & 0xffff_ffff);
        let machine = self.ctx.machine;
        let old = self.old;
        let uniformity = self.uniformity.get_or_insert_with(|| Uniformity::compute(old, machine));
        if count.is_some_and(|count| uniformity.is_divergent(count)) {
            bytes = self.most_of_all_lanes(bytes);
        }
        let private = Type::ptr(AddrSpace::PRIVATE);
        let kind = InstKind::Alloca { size_bytes: 1, count: Some(bytes), align_log2: 4 };
        let Some(slot) = self.b.push(kind, private, InstFlags::empty()) else {
            return Err(Diagnostic::defect("stack object without address"));
        };
        let slot = if align_log2 > super::functions::FRAME_ALIGN_LOG2 {
            self.align_pointer(slot, align_log2)
        } else {
            slot
        };
        Ok(Parts::from_slice(&[if private == ty {
            slot
        } else {
            self.b.cast(CastOp::AddrSpaceCast, slot, ty)
        }]))
    }

    /// The largest value of `size` in any active lane, bit by bit from the top; sizes are below what scratch can hold.
    fn most_of_all_lanes(&mut self, size: Value) -> Value {
        let mut most = self.b.i32(0);
        let mut candidates = self.b.bool(true);
        for bit in (u32::from(super::functions::FRAME_ALIGN_LOG2)..20).rev() {
            let own = self.b.and_imm(size, 1 << bit);
            let has = self.b.icmp_imm(IntPredicate::Ne, own, 0);
            let both = self.b.and(candidates, has);
            let lanes = self.b.intrinsic(Intrinsic::Ballot, &[both], Type::I64);
            let any = self.b.icmp_imm(IntPredicate::Ne, lanes, 0);
            let (value, zero) = (self.b.i32(1 << bit), self.b.i32(0));
            let chosen = self.b.select(any, value, zero);
            most = self.b.or(most, chosen);
            let none = self.b.not(any);
            let keeps = self.b.or(has, none);
            candidates = self.b.and(candidates, keeps);
        }
        most
    }

    /// The next multiple of an alignment.
    fn align_pointer(&mut self, pointer: Value, align_log2: u8) -> Value {
        let align = 1u64 << align_log2.min(16);
        let ty = self.b.ty(pointer);
        let place = self.b.as_integer(pointer);
        let place = self.b.add_imm(place, align as i64 - 1);
        let place = self.b.and_imm(place, !(align - 1) & 0xffff_ffff);
        self.b.integer_as(place, ty)
    }

    /// A stack object, placed at the start of the entry block in the end, so that it dominates everything.
    pub(super) fn entry_alloca(&mut self, size_bytes: u64, align_log2: u8) -> Value {
        let ty = Type::ptr(AddrSpace::PRIVATE);
        let kind = InstKind::Alloca { size_bytes, count: None, align_log2: align_log2.max(2) };
        let inst = self.b.func.make_inst(kind, ty, InstFlags::empty());
        self.allocas.push(inst);
        match self.b.func.insts[inst].result {
            Some(value) => value,
            None => self.b.poison(ty),
        }
    }

    // ---- what the target can do

    /// The most bytes that one access with this alignment may have.
    ///
    /// Scratch is swizzled in dwords (the private element size of amdhsa descriptors is 4), so lanes access
    /// one dword at a time, and none that crosses two elements; flat accesses may go there, where GFX9 splits wide ones itself.
    pub(super) fn widest(&self, mem: MemAccess) -> u64 {
        let align = 1u64 << mem.align_log2.min(6);
        let machine = self.ctx.machine;
        let dword = align >= 4 || machine.has(Features::UNALIGNED_SCRATCH | Features::UNALIGNED_ACCESS);
        match mem.space {
            AddrSpace::PRIVATE if dword => 4,
            AddrSpace::PRIVATE => align,
            AddrSpace::LOCAL | AddrSpace::REGION => match align {
                8.. => 16,
                4 => 8,
                _ if machine.has(Features::UNALIGNED_DS) => 4,
                _ => align,
            },
            AddrSpace::FLAT if !dword => align,
            AddrSpace::FLAT if !machine.has(Features::GLOBAL) => 4,
            _ if align >= 4 || machine.has(Features::UNALIGNED_ACCESS) => 16,
            _ => align,
        }
    }

    /// `mem` at `offset` bytes further on.
    pub(super) fn at(mem: MemAccess, offset: u64) -> MemAccess {
        let align_log2 =
            if offset == 0 { mem.align_log2 } else { mem.align_log2.min(offset.trailing_zeros() as u8) };
        MemAccess { align_log2, ..mem }
    }

    // ---- loads

    pub(super) fn lower_load(&mut self, ptr: Value, mem: MemAccess, ty: Type) -> Result<Parts> {
        if let Some(at) = self.fat_pointer(ptr)? {
            return self.fat_load(&at, mem, ty);
        }
        let (ptr, mem) = self.address(ptr, mem)?;
        if mem.ordering != Ordering::NotAtomic && mem.space != AddrSpace::PRIVATE {
            return self.atomic_load(ptr, mem, ty);
        }
        let mem = MemAccess { ordering: Ordering::NotAtomic, ..mem };
        self.load_parts(ptr, mem, ty)
    }

    /// Loads a value of an old type.
    pub(super) fn load_parts(&mut self, ptr: Value, mem: MemAccess, ty: Type) -> Result<Parts> {
        let mut out = Parts::new();
        for (ty, offset) in self.members(ty)? {
            let ptr = self.b.ptr_offset(ptr, offset as i64);
            let mem = Self::at(mem, offset);
            match ty {
                Type::Vector(scalar, lanes) => self.load_vector(ptr, mem, scalar, lanes, &mut out)?,
                Type::Scalar(scalar) => self.load_one(ptr, mem, scalar, &mut out)?,
                _ => {}
            }
        }
        Ok(out)
    }

    /// Scalars and vectors inside a type with their byte offsets, in order.
    pub(super) fn members(&self, ty: Type) -> Result<SmallVec<[(Type, u64); 4]>> {
        let mut out: SmallVec<[(Type, u64); 4]> = SmallVec::new();
        let mut work: SmallVec<[(Type, u64); 8]> = SmallVec::from_slice(&[(ty, 0)]);
        while let Some((ty, at)) = work.pop() {
            if out.len() > super::MAX_PARTS {
                return Err(Diagnostic::unsupported("a value of more than 4096 members"));
            }
            match ty {
                Type::Aggregate(agg) => match &self.ctx.module.types.aggregates[agg] {
                    Aggregate::Struct { fields, .. } => {
                        work.extend(fields.iter().rev().map(|&(ty, offset)| (ty, at + offset)));
                    }
                    Aggregate::Array { element, len, stride_bytes, .. } => {
                        if *len > super::MAX_PARTS as u64 {
                            return Err(Diagnostic::unsupported("an array value of more than 4096 elements"));
                        }
                        work.extend((0..*len).rev().map(|i| (*element, at + i * stride_bytes)));
                    }
                },
                other => out.push((other, at)),
            }
        }
        Ok(out)
    }

    fn load_one(&mut self, ptr: Value, mem: MemAccess, scalar: Scalar, out: &mut Parts) -> Result<()> {
        let bits = scalar.bits();
        let bytes = scalar.store_bytes();
        match scalar {
            Scalar::Int(1) => {
                let byte = self.load_scalar(ptr, mem, Type::I8)?;
                let byte = self.b.cast(CastOp::ZExt, byte, Type::I32);
                let bit = self.b.and_imm(byte, 1);
                out.push(self.b.icmp_imm(IntPredicate::Ne, bit, 0));
            }
            Scalar::Int(8) => {
                let byte = self.load_scalar(ptr, mem, Type::I8)?;
                out.push(self.b.cast(CastOp::ZExt, byte, Type::I32));
            }
            _ if bits < 64 && (bits == 16 || bits == 32) || bits == 64 => {
                let loaded = self.load_scalar(ptr, mem, Type::Scalar(scalar))?;
                out.push(if scalar == Scalar::Int(16) && !self.has_16bit() {
                    self.b.cast(CastOp::ZExt, loaded, Type::I32)
                } else {
                    loaded
                });
            }
            Scalar::Ptr(space) if super::fat::is_fat(space) => {
                let words = self.load_dwords(ptr, mem, u64::from(bits / 8))?;
                self.fat_parts(&words, true, out);
            }
            Scalar::Ptr(_) => {
                let words = self.load_dwords(ptr, mem, bytes)?;
                let vector = self.b.vector(&words);
                out.push(self.b.bitcast(vector, Type::Scalar(scalar)));
            }
            _ => {
                let mut words = self.load_dwords(ptr, mem, bytes)?;
                if bits <= 32 {
                    let word = self.zero_extended(words[0], bits);
                    out.push(word);
                } else {
                    let zero = self.b.i32(0);
                    if words.len() % 2 == 1 {
                        words.push(zero);
                    }
                    for pair in words.chunks(2) {
                        out.push(self.b.join64(pair[0], pair[1]));
                    }
                }
            }
        }
        Ok(())
    }

    fn load_vector(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        scalar: Scalar,
        lanes: u32,
        out: &mut Parts,
    ) -> Result<()> {
        let bits = scalar.bits();
        let bytes = u64::from(bits / 8);
        if bits >= 32 && bits.is_multiple_of(32) {
            // Elements at their own type, as many at once as possible.
            let widest = self.widest(mem);
            if bits > 64 || widest < bytes {
                for lane in 0..u64::from(lanes) {
                    let at = self.b.ptr_offset(ptr, (lane * bytes) as i64);
                    self.load_one(at, Self::at(mem, lane * bytes), scalar, out)?;
                }
                return Ok(());
            }
            let mut lane = 0;
            while lane < u64::from(lanes) {
                let here = Self::at(mem, lane * bytes);
                let most = self.chunk((u64::from(lanes) - lane) * bytes, here, bytes) / bytes;
                let at = self.b.ptr_offset(ptr, (lane * bytes) as i64);
                if most <= 1 {
                    self.load_one(at, here, scalar, out)?;
                    lane += 1;
                    continue;
                }
                let ty = Type::Vector(scalar, most as u32);
                let vector = self.plain_load(at, here, ty);
                for i in 0..most {
                    out.push(self.b.extract(vector, i as u32));
                }
                lane += most;
            }
            return Ok(());
        }
        // Packed elements: dwords, then fields of them.
        let total = (u64::from(bits) * u64::from(lanes)).div_ceil(8);
        let words = self.load_dwords(ptr, mem, total)?;
        for lane in 0..lanes {
            self.join_dwords(&words, lane * bits, scalar, out);
        }
        Ok(())
    }

    /// Bits `start..start + bits` (at most 64) of little-endian dwords; bits above are clear.
    fn field(&mut self, words: &[Value], start: u32, bits: u32) -> Value {
        let (word, shift) = ((start / 32) as usize, start % 32);
        if shift + bits <= 32 {
            let moved = self.b.lshr_imm(words[word], shift);
            return self.zero_extended(moved, bits);
        }
        let low = words[word];
        let high = words.get(word + 1).copied().unwrap_or(low);
        let mut pair = self.b.join64(low, high);
        pair = self.b.lshr_imm(pair, shift);
        if shift + bits > 64
            && let Some(&top) = words.get(word + 2)
        {
            let top = self.b.cast(CastOp::ZExt, top, Type::I64);
            let top = self.b.shl_imm(top, 64 - shift);
            pair = self.b.or(pair, top);
        }
        self.zero_extended(pair, bits)
    }

    /// A zero-extended field as the part of a scalar.
    pub(super) fn field_to_part(&mut self, field: Value, scalar: Scalar) -> Value {
        match scalar {
            Scalar::Int(1) => self.b.icmp_imm(IntPredicate::Ne, field, 0),
            Scalar::Int(bits) => {
                let carrier = self.carrier(bits);
                self.b.zext_or_trunc(field, carrier)
            }
            other => {
                let bits = Type::int(other.bits());
                let field = self.b.zext_or_trunc(field, bits);
                self.b.integer_as(field, Type::Scalar(other))
            }
        }
    }

    /// Bytes of the next access when `left` bytes are left: a power of two, or 12, at most [`Self::widest`], and a
    /// multiple of `unit`.
    pub(super) fn chunk(&self, left: u64, mem: MemAccess, unit: u64) -> u64 {
        let widest = self.widest(mem);
        let mut size = widest.min(16);
        while size > left {
            size /= 2;
        }
        // Three dwords at once where global memory can.
        if left >= 12
            && size == 8
            && widest >= 16
            && 12 % unit == 0
            && self.ctx.machine.has(Features::DWORDX3)
            && !matches!(mem.space, AddrSpace::LOCAL | AddrSpace::REGION)
        {
            return 12;
        }
        size.max(unit.min(left)).max(1)
    }

    /// Loads `bytes` bytes as little-endian dwords; the last one is zero-extended.
    pub(super) fn load_dwords(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        bytes: u64,
    ) -> Result<SmallVec<[Value; 8]>> {
        let mut words: SmallVec<[Value; 8]> = SmallVec::new();
        let mut at = 0;
        while at < bytes {
            let here = Self::at(mem, at);
            let size = self.chunk(bytes - at, here, 1);
            let address = self.b.ptr_offset(ptr, at as i64);
            if size >= 8 && at % 4 == 0 {
                let count = (size / 4) as u32;
                let vector = self.plain_load(address, here, Type::Vector(Scalar::Int(32), count));
                for i in 0..count {
                    let word = self.b.extract(vector, i);
                    words.push(word);
                }
                at += size;
                continue;
            }
            // Pieces of a dword never cross its end.
            let size = size.min(4 - at % 4);
            let size = if size == 3 { 2 } else { size };
            let piece = self.plain_load(address, here, Type::int(size as u32 * 8));
            let piece = self.b.zext_or_trunc(piece, Type::I32);
            if at % 4 == 0 {
                words.push(piece);
            } else if let Some(last) = words.last_mut() {
                let moved = self.b.shl_imm(piece, (at % 4) as u32 * 8);
                *last = self.b.or(*last, moved);
            }
            at += size;
        }
        Ok(words)
    }

    /// Loads a scalar of 8, 16, 32 or 64 bits, in pieces where alignment or space demand it.
    pub(super) fn load_scalar(&mut self, ptr: Value, mem: MemAccess, ty: Type) -> Result<Value> {
        let bytes = ty.bits().unwrap_or(32) / 8;
        if self.at_once(mem, bytes)? {
            return Ok(self.plain_load(ptr, mem, ty));
        }
        let words = self.load_dwords(ptr, mem, bytes)?;
        let whole = match words[..] {
            [low, high] => self.b.join64(low, high),
            [low, ..] => low,
            [] => self.b.i32(0),
        };
        let integer = self.b.zext_or_trunc(whole, Type::int(bytes as u32 * 8));
        Ok(self.b.integer_as(integer, ty))
    }

    /// Whether an access of `bytes` bytes is one instruction; an atomic one must be.
    fn at_once(&self, mem: MemAccess, bytes: u64) -> Result<bool> {
        if mem.ordering == Ordering::NotAtomic {
            return Ok(self.widest(mem) >= bytes);
        }
        if 1u64 << mem.align_log2.min(6) >= bytes {
            return Ok(true);
        }
        Err(Diagnostic::unsupported(format!(
            "atomic access of {bytes} bytes that is not aligned to its size"
        )))
    }

    pub(super) fn plain_load(&mut self, ptr: Value, mem: MemAccess, ty: Type) -> Value {
        let kind = InstKind::Load { ptr, mem };
        if mem.is_simple() && mem.flags.contains(MemFlags::INVARIANT) {
            return self.b.pure(kind, ty, InstFlags::empty());
        }
        match self.b.push(kind, ty, InstFlags::empty()) {
            Some(value) => value,
            None => self.b.poison(ty),
        }
    }

    // ---- stores

    pub(super) fn lower_store(&mut self, ptr: Value, value: Value, mem: MemAccess) -> Result<()> {
        if let Some(at) = self.fat_pointer(ptr)? {
            let parts = self.parts(value)?;
            return self.fat_store(&at, mem, self.old.ty(value), &parts);
        }
        let (ptr, mem) = self.address(ptr, mem)?;
        let ty = self.old.ty(value);
        let parts = self.parts(value)?;
        if mem.ordering != Ordering::NotAtomic && mem.space != AddrSpace::PRIVATE {
            return self.atomic_store(ptr, mem, &parts, ty);
        }
        // Nobody else sees the lane's own memory.
        let mem = MemAccess { ordering: Ordering::NotAtomic, ..mem };
        if matches!(self.old.as_const(value), Some(Const::Undef | Const::Poison)) {
            return Ok(());
        }
        self.store_parts(ptr, mem, ty, &parts)
    }

    /// Stores a value of an old type.
    pub(super) fn store_parts(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        ty: Type,
        parts: &[Value],
    ) -> Result<()> {
        let mut next = 0;
        for (ty, offset) in self.members(ty)? {
            let count = self.part_types(ty)?.len();
            let Some(parts) = parts.get(next..next + count) else {
                return Err(Diagnostic::malformed("stored value has fewer members than its type"));
            };
            next += count;
            let ptr = self.b.ptr_offset(ptr, offset as i64);
            let mem = Self::at(mem, offset);
            match ty {
                Type::Vector(scalar, lanes) => self.store_vector(ptr, mem, scalar, lanes, parts)?,
                Type::Scalar(scalar) => self.store_one(ptr, mem, scalar, parts)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn store_one(&mut self, ptr: Value, mem: MemAccess, scalar: Scalar, parts: &[Value]) -> Result<()> {
        let bits = scalar.bits();
        match scalar {
            Scalar::Ptr(space) if super::fat::is_fat(space) => {
                let words = self.fat_words(parts, true);
                self.store_dwords(ptr, mem, u64::from(bits / 8), &words)
            }
            Scalar::Int(1) => {
                let wide = self.b.cast(CastOp::ZExt, parts[0], Type::I32);
                let byte = self.b.cast(CastOp::Trunc, wide, Type::I8);
                self.store_scalar(ptr, byte, mem)
            }
            Scalar::Int(8 | 16) => {
                let narrow = self.b.zext_or_trunc(parts[0], Type::int(bits));
                self.store_scalar(ptr, narrow, mem)
            }
            _ if matches!(bits, 16 | 32 | 64) => self.store_scalar(ptr, parts[0], mem),
            _ => {
                // Bits beyond an odd width are stored as zero, as LLVM does.
                let mut words: SmallVec<[Value; 8]> = SmallVec::new();
                for (i, &part) in parts.iter().enumerate() {
                    let left = bits - 64 * i as u32;
                    let integer = match scalar {
                        Scalar::Ptr(_) => {
                            let vector = self.b.bitcast(part, Type::Vector(Scalar::Int(32), bits / 32));
                            for i in 0..bits / 32 {
                                let word = self.b.extract(vector, i);
                                words.push(word);
                            }
                            continue;
                        }
                        _ => self.zero_extended(part, left.min(64)),
                    };
                    if self.b.bits(integer) == 64 {
                        let (low, high) = self.b.split64(integer);
                        words.extend([low, high]);
                    } else {
                        let word = self.b.zext_or_trunc(integer, Type::I32);
                        words.push(word);
                    }
                }
                self.store_dwords(ptr, mem, scalar.store_bytes(), &words)
            }
        }
    }

    fn store_vector(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        scalar: Scalar,
        lanes: u32,
        parts: &[Value],
    ) -> Result<()> {
        let bits = scalar.bits();
        let bytes = u64::from(bits / 8);
        if bits >= 32 && bits.is_multiple_of(32) {
            let each = self.element_parts(scalar);
            let whole = bits <= 64 && self.widest(mem) >= bytes;
            let mut lane = 0;
            while lane < u64::from(lanes) {
                let here = Self::at(mem, lane * bytes);
                let most = if whole {
                    self.chunk((u64::from(lanes) - lane) * bytes, here, bytes) / bytes
                } else {
                    1
                };
                let at = self.b.ptr_offset(ptr, (lane * bytes) as i64);
                let from = lane as usize * each;
                if most <= 1 {
                    self.store_one(at, here, scalar, &parts[from..from + each])?;
                    lane += 1;
                    continue;
                }
                let vector = self.b.vector(&parts[from..from + most as usize]);
                self.push_store(at, vector, here);
                lane += most;
            }
            return Ok(());
        }
        let words = self.split_dwords(parts, scalar);
        self.store_dwords(ptr, mem, u64::from((bits * lanes).div_ceil(8)), &words)
    }

    /// The little-endian dwords of elements laid side by side without padding.
    pub(super) fn split_dwords(&mut self, parts: &[Value], scalar: Scalar) -> SmallVec<[Value; 8]> {
        let bits = scalar.bits();
        let each = self.element_parts(scalar);
        if matches!(scalar, Scalar::Ptr(space) if super::fat::is_fat(space)) {
            return parts.chunks(each).flat_map(|own| self.fat_words(own, true)).collect();
        }
        let total_bits = bits * (parts.len() / each) as u32;
        let mut words: SmallVec<[Value; 8]> = SmallVec::new();
        if matches!(scalar, Scalar::Ptr(_)) && bits > 64 {
            for &part in parts {
                for word in self.pointer_words(part, bits) {
                    let (low, high) = self.b.split64(word);
                    words.extend([low, high]);
                }
            }
            return words;
        }
        let zero = self.b.i32(0);
        words.resize(total_bits.div_ceil(32) as usize, zero);
        let mut defined: SmallVec<[bool; 8]> = SmallVec::from_elem(false, words.len());
        for (i, &part) in parts.iter().enumerate() {
            // An element without a value says nothing about its neighbours.
            if matches!(self.b.func.as_const(part), Some(Const::Undef | Const::Poison)) {
                continue;
            }
            let (lane, word_of_lane) = ((i / each) as u32, (i % each) as u32);
            let start = lane * bits + 64 * word_of_lane;
            let bits = (bits - 64 * word_of_lane).min(64);
            let integer = self.b.as_integer(part);
            let integer = if matches!(self.b.ty(integer), Type::I16 | Type::I1) {
                self.b.cast(CastOp::ZExt, integer, Type::I32)
            } else {
                self.zero_extended(integer, bits)
            };
            let (word, shift) = ((start / 32) as usize, start % 32);
            let last = ((start + bits - 1) / 32) as usize;
            defined[word..=last].fill(true);
            if shift + bits <= 32 {
                // The last word of a wide integer is an i64 however few bits it holds.
                let low = self.b.zext_or_trunc(integer, Type::I32);
                let moved = self.b.shl_imm(low, shift);
                words[word] = self.b.or(words[word], moved);
                continue;
            }
            let wide = self.b.zext_or_trunc(integer, Type::I64);
            let moved = self.b.shl_imm(wide, shift);
            let (low, high) = self.b.split64(moved);
            words[word] = self.b.or(words[word], low);
            if word + 1 < words.len() {
                words[word + 1] = self.b.or(words[word + 1], high);
            }
            if shift + bits > 64 && word + 2 < words.len() {
                let top = self.b.lshr_imm(wide, 64 - shift);
                let top = self.b.cast(CastOp::Trunc, top, Type::I32);
                words[word + 2] = self.b.or(words[word + 2], top);
            }
        }
        for (word, defined) in words.iter_mut().zip(defined) {
            if !defined {
                *word = self.b.undef(Type::I32);
            }
        }
        words
    }

    /// Appends the parts of the element that starts at bit `start` of little-endian dwords.
    pub(super) fn join_dwords(&mut self, words: &[Value], start: u32, scalar: Scalar, out: &mut Parts) {
        let bits = scalar.bits();
        if bits <= 64 {
            let field = self.field(words, start, bits);
            out.push(self.field_to_part(field, scalar));
            return;
        }
        if matches!(scalar, Scalar::Ptr(space) if super::fat::is_fat(space)) {
            let first = (start / 32) as usize;
            return self.fat_parts(&words[first..first + (bits / 32) as usize], true, out);
        }
        if matches!(scalar, Scalar::Ptr(_)) {
            let first = (start / 32) as usize;
            let vector = self.b.vector(&words[first..first + (bits / 32) as usize]);
            out.push(self.b.bitcast(vector, Type::Scalar(scalar)));
            return;
        }
        for word in 0..bits.div_ceil(64) {
            let left = (bits - 64 * word).min(64);
            let field = self.field(words, start + 64 * word, left);
            out.push(self.b.zext_or_trunc(field, Type::I64));
        }
    }

    pub(super) fn store_dwords(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        bytes: u64,
        words: &[Value],
    ) -> Result<()> {
        let mut at = 0;
        while at < bytes {
            let here = Self::at(mem, at);
            let size = self.chunk(bytes - at, here, 1);
            let address = self.b.ptr_offset(ptr, at as i64);
            let word = (at / 4) as usize;
            if size >= 8 && at % 4 == 0 {
                let count = (size / 4) as usize;
                let vector = self.b.vector(&words[word..word + count]);
                self.push_store(address, vector, here);
                at += size;
                continue;
            }
            let size = size.min(4 - at % 4);
            let size = if size == 3 { 2 } else { size };
            let piece = self.b.lshr_imm(words[word], (at % 4) as u32 * 8);
            let piece = self.b.zext_or_trunc(piece, Type::int(size as u32 * 8));
            self.push_store(address, piece, here);
            at += size;
        }
        Ok(())
    }

    /// Stores a scalar of 8, 16, 32 or 64 bits, in pieces where alignment or space demand it.
    pub(super) fn store_scalar(&mut self, ptr: Value, value: Value, mem: MemAccess) -> Result<()> {
        let bytes = u64::from(self.b.bits(value) / 8);
        if self.at_once(mem, bytes)? {
            self.push_store(ptr, value, mem);
            return Ok(());
        }
        let integer = self.b.as_integer(value);
        let words: SmallVec<[Value; 2]> = if bytes == 8 {
            let (low, high) = self.b.split64(integer);
            SmallVec::from_slice(&[low, high])
        } else {
            let word = self.b.zext_or_trunc(integer, Type::I32);
            SmallVec::from_slice(&[word])
        };
        self.store_dwords(ptr, mem, bytes, &words)
    }

    pub(super) fn push_store(&mut self, ptr: Value, value: Value, mem: MemAccess) {
        self.b.push(InstKind::Store { ptr, value, mem }, Type::Void, InstFlags::empty());
    }

    /// What is known about a pointer's alignment from its definition: stack objects, variables, constant offsets.
    pub(super) fn pointer_align(&self, ptr: Value) -> u8 {
        let (mut ptr, mut align) = (ptr, 6u8);
        for _ in 0..16 {
            match &self.b.func.values[ptr].def {
                ValueDef::Const(Const::Symbol(symbol, offset)) => {
                    let own = match symbol {
                        SymbolRef::Global(global) => self.ctx.module.globals[*global].align_log2,
                        SymbolRef::Func(_) => 2,
                    };
                    let at = if *offset == 0 { 6 } else { offset.trailing_zeros() as u8 };
                    return align.min(own).min(at);
                }
                ValueDef::Inst(inst) => match &self.b.func.insts[*inst].kind {
                    InstKind::Alloca { align_log2, .. } => return align.min(*align_log2),
                    InstKind::PtrAdd { base, index, scale, offset } => {
                        if *offset != 0 {
                            align = align.min(offset.trailing_zeros() as u8);
                        }
                        if index.is_some() {
                            align = align.min(scale.trailing_zeros() as u8);
                        }
                        ptr = *base;
                    }
                    InstKind::Cast { op: CastOp::AddrSpaceCast, arg } => ptr = *arg,
                    InstKind::Intrinsic { intrinsic: Intrinsic::KernargSegmentPtr, .. } => {
                        return align.min(4);
                    }
                    _ => return 0,
                },
                _ => return 0,
            }
        }
        0
    }
}
