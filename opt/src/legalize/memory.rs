//! Loads and pointer arithmetic; `store.rs` has the way back, `alloca.rs` stack objects.
//!
//! An access is cut into pieces that the target does in one instruction each; see [`Legalizer::widest`].
//! Members of 32 and 64 bits are accessed at their type, narrower ones of a vector as packed dwords. What
//! lies apart here is put together again by `merge_memory`, which sees neighbours of other instructions, too.

use super::{Legalizer, Parts};
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// Bytes of a vector that may be a window of a row, of which others are loaded, too.
const WINDOW: u64 = 8;

impl Legalizer<'_> {
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
        if let Some(scalar @ Scalar::Ptr(space)) = ty.scalar()
            && super::fat::is_fat(space)
        {
            let each = self.element_parts(scalar);
            let mut out = Parts::new();
            for lane in 0..ty.lanes() as usize {
                let from = if bases.len() == each { 0 } else { lane * each };
                let Some(own) = bases.get(from..from + each) else {
                    return Err(Diagnostic::malformed("pointer arithmetic on fewer pointers than results"));
                };
                let mut own = Parts::from_slice(own);
                let index = indices.get(lane).or(indices.first()).copied();
                let index = index.map(|index| self.sign_extended(index, index_bits));
                let index = index.map(|index| self.b.sext_or_trunc(index, Type::I32));
                self.fat_add(&mut own, index, scale, offset);
                out.extend(own);
            }
            return Ok(out);
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

    /// The most bytes that one access with this alignment may have.
    ///
    /// Scratch is swizzled in elements (of a dword, if nobody asks for more), and no access may have more of them than one, nor cross two up to GFX8
    /// ([`Target::takes_any_dword`](mir::target::Target::takes_any_dword)); flat accesses may go there, where GFX9 splits wide ones itself.
    pub(super) fn widest(&self, mem: MemAccess) -> u64 {
        let align = 1u64 << mem.align_log2.min(6);
        let machine = self.ctx.machine;
        let dword = align >= 4 || machine.takes_any_dword(mem.space);
        match mem.space {
            AddrSpace::PRIVATE if align >= 4 => machine.scratch_width(align),
            AddrSpace::PRIVATE if dword => 4,
            AddrSpace::PRIVATE => align,
            AddrSpace::LOCAL | AddrSpace::REGION => match align {
                8.. => 16,
                4 => 8,
                _ if machine.takes_any_lds() && mem.space == AddrSpace::LOCAL => 16,
                _ if machine.has(Features::UNALIGNED_DS) => 4,
                _ => align,
            },
            AddrSpace::FLAT if !dword => align,
            AddrSpace::FLAT if machine.has(Features::FLAT) && !machine.has(Features::WIDE_FLAT_SCRATCH) => 4,
            // They may go to LDS.
            AddrSpace::FLAT if machine.aligns_lds() => align.clamp(4, 16),
            _ if dword || machine.has(Features::UNALIGNED_ACCESS) => 16,
            _ => align,
        }
    }

    /// `mem` at `offset` bytes further on.
    pub(super) fn at(mem: MemAccess, offset: u64) -> MemAccess {
        let align_log2 =
            if offset == 0 { mem.align_log2 } else { mem.align_log2.min(offset.trailing_zeros() as u8) };
        MemAccess { align_log2, ..mem }
    }

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
        // Bytes that are no dword are loaded one by one where merging sees to them: with their neighbours they may be one.
        let apart = bits == 8
            && mem.align_log2 == 0
            && mem.is_simple()
            && self.b.optimize
            && self.ctx.machine.takes_any_dword(mem.space);
        let words = self.load_dwords_by(ptr, mem, total, if apart { 1 } else { 2 })?;
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

    /// Bytes of the next access when `left` bytes are left: a power of two, or 12, at most [`Self::widest`],
    /// and a multiple of `unit`.
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
        self.load_dwords_by(ptr, mem, bytes, 2)
    }

    /// The same with at most `piece` bytes at once where less than a dword is left.
    fn load_dwords_by(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        bytes: u64,
        piece: u64,
    ) -> Result<SmallVec<[Value; 8]>> {
        let mut words: SmallVec<[Value; 8]> = SmallVec::new();
        let mut at = 0;
        while at < bytes {
            let here = Self::at(mem, at);
            let size = self.chunk(bytes - at, here, 1);
            let size = if piece == 1 && bytes <= WINDOW { 1 } else { size };
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
            let size = if size < 4 { size.min(piece) } else { size };
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
    pub(super) fn at_once(&self, mem: MemAccess, bytes: u64) -> Result<bool> {
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

    /// What is known about a pointer's alignment from its definition: stack objects, variables, constant
    /// offsets.
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
