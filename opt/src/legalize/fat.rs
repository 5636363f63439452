//! Buffer fat pointers (address space 7) and strided ones (9): a resource with an offset, or with an index
//! and an offset.
//!
//! | space | parts | in memory, from the lowest dword |
//! |---|---|---|
//! | 7 | resource, offset | offset, resource |
//! | 9 | resource, index, offset | offset, index, resource |
//!
//! Arguments and results of functions are the parts in order, those of a vector the resources of all elements, then their
//! indices, then their offsets. Arithmetic and comparisons concern the offset alone; as a number a pointer is what it is in
//! memory. Accesses are those of the buffer intrinsics, cut into what one instruction does. What has no instruction is a
//! loop of compare-and-swap. An ordered atomic operation is an unordered one between fences.
//!
//! Source: LLVM's AMDGPU usage guide, "Buffer Fat Pointer" and "Buffer Strided Pointer";
//! AMDGPULowerBufferFatPointers.cpp for the layout; LLVM's language reference, "icmp": pointers are compared by their
//! address bits.

use super::{Legalizer, Parts};
use mir::ir::legal::Control;
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// Whether pointers into `space` are more than an address.
pub(super) fn is_fat(space: AddrSpace) -> bool {
    matches!(space, AddrSpace::BUFFER_FAT_POINTER | AddrSpace::BUFFER_STRIDED_POINTER)
}

/// Whether pointers into `space` are to places in buffers.
pub(super) fn is_buffer(space: AddrSpace) -> bool {
    is_fat(space) || space == AddrSpace::BUFFER_RESOURCE
}

/// Types of the parts of a pointer into `space`.
pub(super) fn part_types(space: AddrSpace) -> &'static [Type] {
    const RESOURCE: Type = Type::Scalar(Scalar::Ptr(AddrSpace::BUFFER_RESOURCE));
    match space {
        AddrSpace::BUFFER_STRIDED_POINTER => &[RESOURCE, Type::I32, Type::I32],
        _ => &[RESOURCE, Type::I32],
    }
}

fn not_castable(from: AddrSpace, to: AddrSpace) -> Box<Diagnostic> {
    Diagnostic::unsupported(format!("cast from address space {} to {}", from.0, to.0))
}

/// Where a fat pointer points.
#[derive(Clone)]
pub(super) struct Fat {
    /// The resource, four dwords.
    resource: Value,
    index: Option<Value>,
    offset: Value,
}

impl Legalizer<'_> {
    /// The pointer operand of an access, where it is a fat one.
    pub(super) fn fat_pointer(&mut self, ptr: Value) -> Result<Option<Fat>> {
        if !self.old.ty(ptr).addr_space().is_some_and(is_fat) {
            return Ok(None);
        }
        let parts = self.raw_parts(ptr)?;
        if self.old.ty(ptr).lanes() != 1 {
            return Err(Diagnostic::malformed("access through a vector of buffer pointers"));
        }
        self.fat_place(&parts).map(Some)
    }

    /// Where the pointer with `parts` points to.
    pub(super) fn fat_place(&mut self, parts: &[Value]) -> Result<Fat> {
        let &[resource, ref middle @ .., offset] = parts else {
            return Err(Diagnostic::defect("a buffer pointer without its parts"));
        };
        let resource = self.b.bitcast(resource, Type::Vector(Scalar::Int(32), 4));
        Ok(Fat { resource, index: middle.first().copied(), offset })
    }

    /// Where `ptr` points to, if that is in a buffer: a resource alone is the buffer's start.
    pub(super) fn buffer_place(&mut self, ptr: Value) -> Result<Option<Fat>> {
        if self.old.ty(ptr) != Type::ptr(AddrSpace::BUFFER_RESOURCE) {
            return self.fat_pointer(ptr);
        }
        let resource = self.part(ptr)?;
        let resource = self.b.bitcast(resource, Type::Vector(Scalar::Int(32), 4));
        Ok(Some(Fat { resource, index: None, offset: self.b.i32(0) }))
    }

    /// The place `index` bytes behind `at`.
    pub(super) fn fat_indexed(&mut self, at: &Fat, index: Option<Value>) -> Fat {
        let Some(index) = index else { return at.clone() };
        let index = self.b.zext_or_trunc(index, Type::I32);
        Fat { offset: self.b.add(at.offset, index), ..at.clone() }
    }

    /// The address of a place, as 64-bit integer: the resource's base, its stride (bits 48 to 61) times the index, and the offset. Buffers
    /// whose elements are interleaved have no order that is the memory's.
    ///
    /// Source: ISA manuals, "Buffer Resource Descriptor".
    pub(super) fn fat_address(&mut self, at: &Fat) -> Value {
        let (low, high) = (self.b.extract(at.resource, 0), self.b.extract(at.resource, 1));
        let base = self.b.and_imm(high, 0xffff);
        let base = self.b.join64(low, base);
        let mut offset = self.b.cast(CastOp::ZExt, at.offset, Type::I64);
        if let Some(index) = at.index {
            let shift = self.b.i32(16);
            let stride = self.b.binary(BinaryOp::LShr, high, shift);
            let stride = self.b.and_imm(stride, 0x3fff);
            let [index, stride] = [index, stride].map(|v| self.b.cast(CastOp::ZExt, v, Type::I64));
            let bytes = self.b.mul(index, stride);
            offset = self.b.add(offset, bytes);
        }
        self.b.add(base, offset)
    }

    /// The dwords of a fat pointer's parts as they are in memory; its resource first where it is passed to a
    /// function.
    pub(super) fn fat_words(&mut self, parts: &[Value], in_memory: bool) -> SmallVec<[Value; 8]> {
        let Some((&resource, rest)) = parts.split_first() else { return SmallVec::new() };
        let vector = self.b.bitcast(resource, Type::Vector(Scalar::Int(32), 4));
        let words = (0..4).map(|i| self.b.extract(vector, i)).collect::<SmallVec<[Value; 8]>>();
        if in_memory {
            return rest.iter().rev().copied().chain(words).collect();
        }
        words.into_iter().chain(rest.iter().copied()).collect()
    }

    /// The inverse of [`Self::fat_words`].
    pub(super) fn fat_parts(&mut self, words: &[Value], in_memory: bool, out: &mut Parts) {
        let (resource, rest) = words.split_at(if in_memory { words.len() - 4 } else { 4 });
        let (resource, rest) = if in_memory { (rest, resource) } else { (resource, rest) };
        let vector = self.b.vector(resource);
        out.push(self.b.bitcast(vector, Type::ptr(AddrSpace::BUFFER_RESOURCE)));
        if in_memory {
            out.extend(rest.iter().rev().copied());
        } else {
            out.extend(rest.iter().copied());
        }
    }

    /// The dwords of `parts` as functions take and return them: of a vector, what its elements have of a kind stands together.
    pub(super) fn fat_passed(&mut self, parts: &[Value], each: usize) -> SmallVec<[Value; 8]> {
        let words: SmallVec<[SmallVec<[Value; 8]>; 4]> =
            parts.chunks(each).map(|own| self.fat_words(own, false)).collect();
        let mut out: SmallVec<[Value; 8]> =
            words.iter().flat_map(|own| own.iter().take(4).copied()).collect();
        for part in 0..each - 1 {
            out.extend(words.iter().filter_map(|own| own.get(4 + part).copied()));
        }
        out
    }

    /// The inverse of [`Self::fat_passed`], of `lanes` elements with `each` parts.
    pub(super) fn fat_received(&mut self, words: &[Value], lanes: usize, each: usize, out: &mut Parts) {
        for lane in 0..lanes {
            let rest = (0..each - 1).map(|part| 4 * lanes + part * lanes + lane);
            let own: SmallVec<[Value; 8]> = (4 * lane..4 * lane + 4).chain(rest).map(|i| words[i]).collect();
            self.fat_parts(&own, false, out);
        }
    }

    /// Pointers as numbers of `to` bits, `each` parts a pointer.
    pub(super) fn fat_to_int(&mut self, parts: &[Value], each: usize, to: u32) -> Parts {
        let mut out = Parts::new();
        for own in parts.chunks(each) {
            let mut words = self.fat_words(own, true);
            let bits = 32 * words.len() as u32;
            if words.len() % 2 == 1 {
                words.push(self.b.i32(0));
            }
            let wide: Parts = words.chunks(2).map(|two| self.b.join64(two[0], two[1])).collect();
            self.resize(&wide, bits, to, false, &mut out);
        }
        out
    }

    /// Pointers into `space` of the numbers of `from` bits in `parts`, `each` parts a number.
    pub(super) fn fat_of_int(&mut self, parts: &[Value], each: usize, from: u32, space: AddrSpace) -> Parts {
        let mut out = Parts::new();
        let bits = space.pointer_bits();
        for own in parts.chunks(each) {
            let mut wide = Parts::new();
            self.resize(own, from, bits, false, &mut wide);
            let mut words: SmallVec<[Value; 8]> = SmallVec::new();
            for &word in &wide {
                let (low, high) = self.b.split64(word);
                words.extend([low, high]);
            }
            words.truncate((bits / 32) as usize);
            self.fat_parts(&words, true, &mut out);
        }
        out
    }

    /// Pointer arithmetic: `index * scale + offset`, all modulo 2^32, is added to the offset.
    pub(super) fn fat_add(&mut self, parts: &mut Parts, index: Option<Value>, scale: i64, offset: i64) {
        let Some(last) = parts.last_mut() else { return };
        if let Some(index) = index {
            let index = self.b.zext_or_trunc(index, Type::I32);
            let scale = self.b.i32(scale as u32);
            let bytes = self.b.mul(index, scale);
            *last = self.b.add(*last, bytes);
        }
        *last = self.b.add_imm(*last, i64::from(offset as i32));
    }

    /// A cast from resources: they point to the buffers' starts. A constant null of another space has no resource.
    pub(super) fn fat_cast(&mut self, arg: Value, to: AddrSpace) -> Result<Parts> {
        let from = self.old.ty(arg).addr_space();
        if from == Some(to) {
            return self.parts(arg);
        }
        let resources = match (from, self.old.as_const(arg)) {
            (Some(AddrSpace::BUFFER_RESOURCE), _) => self.parts(arg)?,
            (Some(from), Some(constant)) if is_fat(to) && !is_fat(from) => {
                let resource = Type::ptr(AddrSpace::BUFFER_RESOURCE);
                let (value, zero) = match constant {
                    Const::Zero => (self.b.zero(resource), self.b.i32(0)),
                    Const::Poison => (self.b.poison(resource), self.b.poison(Type::I32)),
                    _ => return Err(not_castable(from, to)),
                };
                let lanes = self.old.ty(arg).lanes() as usize;
                return Ok(Self::fat_starts(&[value].repeat(lanes), to, zero));
            }
            (Some(from), _) => return Err(not_castable(from, to)),
            (None, _) => return Err(Diagnostic::malformed("cast of what is no pointer")),
        };
        if !is_fat(to) {
            return Err(not_castable(AddrSpace::BUFFER_RESOURCE, to));
        }
        let zero = self.b.i32(0);
        Ok(Self::fat_starts(&resources, to, zero))
    }

    /// Pointers with these resources, whose other parts are all `rest`.
    fn fat_starts(resources: &[Value], to: AddrSpace, rest: Value) -> Parts {
        let rest = std::iter::repeat_n(rest, part_types(to).len() - 1);
        resources.iter().flat_map(|&resource| std::iter::once(resource).chain(rest.clone())).collect()
    }

    /// Compares the offsets of pointers with `each` parts.
    pub(super) fn fat_compare(
        &mut self,
        predicate: IntPredicate,
        a: &[Value],
        b: &[Value],
        each: usize,
    ) -> Parts {
        let offsets = |parts: &[Value]| parts.chunks(each).filter_map(|own| own.last().copied()).collect();
        let (a, b): (Parts, Parts) = (offsets(a), offsets(b));
        a.iter().zip(&b).map(|(&x, &y)| self.b.icmp(predicate, x, y)).collect()
    }

    // ---- accesses

    fn fat_intrinsic(&mut self, at: &Fat, what: &str) -> Result<Intrinsic> {
        let kind = if at.index.is_some() { "struct" } else { "raw" };
        let name = format!("amdgcn.{kind}.ptr.buffer.{what}");
        Intrinsic::from_name(&name).ok_or_else(|| Diagnostic::defect(format!("no intrinsic {name}")))
    }

    /// An access of the buffer `bytes` further on.
    fn fat_access(
        &mut self,
        at: &Fat,
        bytes: u64,
        what: &str,
        control: Control,
        data: &[Value],
        ty: Type,
    ) -> Result<Option<Value>> {
        let intrinsic = self.fat_intrinsic(at, what)?;
        let index = at.index.unwrap_or_else(|| self.b.undef(Type::I32));
        let offset = self.b.add_imm(at.offset, bytes as i64);
        let (zero, control) = (self.b.i32(0), self.b.i32(control.bits()));
        let mut args: SmallVec<[Value; 4]> =
            SmallVec::from_slice(&[at.resource, index, offset, zero, control]);
        args.extend_from_slice(data);
        Ok(self.b.push(InstKind::Intrinsic { intrinsic, args }, ty, InstFlags::empty()))
    }

    fn fat_control(mem: MemAccess) -> Control {
        let mut control = Control::empty();
        let volatile = mem.flags.contains(MemFlags::VOLATILE);
        control.set(Control::GLC, volatile || mem.ordering != Ordering::NotAtomic);
        control.set(Control::SLC, mem.flags.contains(MemFlags::NONTEMPORAL));
        control.set(Control::VOLATILE, volatile);
        control
    }

    /// Bytes of the next piece of an access of `bytes`, of which `done` are done; pieces below a dword end
    /// with it at the latest.
    fn fat_piece(&self, mem: MemAccess, done: u64, bytes: u64) -> u64 {
        let mem = Self::at(mem, done);
        let left = (bytes - done).min(if done.is_multiple_of(4) { 16 } else { 4 - done % 4 });
        let align = 1u64 << mem.align_log2.min(4);
        let any = self.ctx.machine.has(Features::UNALIGNED_ACCESS);
        let three = self.ctx.machine.has(Features::DWORDX3);
        let sizes: &[u64] = if three { &[16, 12, 8, 4, 2, 1] } else { &[16, 8, 4, 2, 1] };
        let fits = |size: u64| size <= left && (any || align >= size.min(4));
        // A byte always fits.
        sizes.iter().copied().find(|&size| fits(size)).unwrap_or(1)
    }

    /// A load through a fat pointer.
    pub(super) fn fat_load(&mut self, at: &Fat, mem: MemAccess, ty: Type) -> Result<Parts> {
        self.fence_before(mem, false);
        let mut out = Parts::new();
        for (member, start) in self.members(ty)? {
            let scalar = member.scalar().ok_or_else(|| Diagnostic::unsupported("load of this type"))?;
            let words = self.fat_load_words(at, Self::at(mem, start), start, self.fat_bytes(member)?)?;
            for lane in 0..member.lanes() {
                self.join_dwords(&words, lane * scalar.bits(), scalar, &mut out);
            }
        }
        self.fence_after(mem, false);
        Ok(out)
    }

    /// Bytes of a scalar or vector, of whole bytes each.
    fn fat_bytes(&self, ty: Type) -> Result<u64> {
        match ty.bits() {
            Some(bits) if ty.scalar().is_some_and(|scalar| scalar.bits() % 8 == 0) => Ok(bits / 8),
            _ => Err(Diagnostic::unsupported("access of odd width through a buffer pointer")),
        }
    }

    /// Loads `bytes`, `start` bytes behind `at`, as dwords; `mem` is the access there.
    pub(super) fn fat_load_words(
        &mut self,
        at: &Fat,
        mem: MemAccess,
        start: u64,
        bytes: u64,
    ) -> Result<SmallVec<[Value; 8]>> {
        let none = || Diagnostic::defect("load without a result");
        let zero = self.b.i32(0);
        let mut words: SmallVec<[Value; 8]> = SmallVec::from_elem(zero, bytes.div_ceil(4) as usize);
        let control = Self::fat_control(mem);
        let mut done = 0;
        while done < bytes {
            let size = self.fat_piece(mem, done, bytes);
            let word = (done / 4) as usize;
            if size < 4 {
                let ty = Type::int(8 * size as u32);
                let control = control.with_numbers(0, 8 * size as u32);
                let part = self.fat_access(at, start + done, "load", control, &[], ty)?.ok_or_else(none)?;
                let part = self.b.cast(CastOp::ZExt, part, Type::I32);
                let part = self.b.shl_imm(part, 8 * (done % 4) as u32);
                words[word] = self.b.or(words[word], part);
            } else {
                let count = (size / 4) as u32;
                let ty = if count == 1 { Type::I32 } else { Type::Vector(Scalar::Int(32), count) };
                let control = control.with_numbers(count, 0);
                let part = self.fat_access(at, start + done, "load", control, &[], ty)?.ok_or_else(none)?;
                for i in 0..count {
                    words[word + i as usize] = if count == 1 { part } else { self.b.extract(part, i) };
                }
            }
            done += size;
        }
        Ok(words)
    }

    /// A store through a fat pointer.
    pub(super) fn fat_store(&mut self, at: &Fat, mem: MemAccess, ty: Type, parts: &[Value]) -> Result<()> {
        self.fence_before(mem, true);
        let mut next = 0;
        for (member, start) in self.members(ty)? {
            let scalar = member.scalar().ok_or_else(|| Diagnostic::unsupported("store of this type"))?;
            let count = self.element_parts(scalar) * member.lanes() as usize;
            let Some(own) = parts.get(next..next + count) else {
                return Err(Diagnostic::malformed("a value has fewer members than its type"));
            };
            next += count;
            let bytes = self.fat_bytes(member)?;
            let words = self.split_dwords(own, scalar);
            self.fat_store_words(at, Self::at(mem, start), start, bytes, &words)?;
        }
        self.fence_after(mem, true);
        Ok(())
    }

    /// Stores `bytes` of `words`, `start` bytes behind `at`; `mem` is the access there.
    pub(super) fn fat_store_words(
        &mut self,
        at: &Fat,
        mem: MemAccess,
        start: u64,
        bytes: u64,
        words: &[Value],
    ) -> Result<()> {
        let control = Control::from_bits_retain(Self::fat_control(mem).bits());
        let mut done = 0;
        while done < bytes {
            let size = self.fat_piece(mem, done, bytes);
            let word = (done / 4) as usize;
            if size < 4 {
                let shift = self.b.i32(8 * (done % 4) as u32);
                let part = self.b.binary(BinaryOp::LShr, words[word], shift);
                let part = self.b.cast(CastOp::Trunc, part, Type::int(8 * size as u32));
                self.fat_access(at, start + done, "store", control.with_numbers(0, 0), &[part], Type::Void)?;
            } else {
                let count = (size / 4) as usize;
                let own = &words[word..word + count];
                let data = if let [one] = own { *one } else { self.b.vector(own) };
                let control = control.with_numbers(count as u32, 0);
                self.fat_access(at, start + done, "store", control, &[data], Type::Void)?;
            }
            done += size;
        }
        Ok(())
    }

    // ---- atomics

    fn fence(&mut self, mem: MemAccess, ordering: Ordering) {
        let kind =
            InstKind::Fence { ordering, scope: mem.scope, flags: MemFlags::empty(), space: AddrSpace::FLAT };
        self.b.push(kind, Type::Void, InstFlags::empty());
    }

    fn fence_before(&mut self, mem: MemAccess, writes: bool) {
        if mem.ordering == Ordering::SeqCst {
            self.fence(mem, Ordering::SeqCst);
        } else if writes && matches!(mem.ordering, Ordering::Release | Ordering::AcqRel) {
            self.fence(mem, Ordering::Release);
        }
    }

    fn fence_after(&mut self, mem: MemAccess, stores: bool) {
        if !stores && matches!(mem.ordering, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst) {
            self.fence(mem, Ordering::Acquire);
        }
    }

    /// `cmpxchg` of 32 or 64 bits as integers: what was there, and whether it was what was expected.
    fn fat_swap(&mut self, at: &Fat, expected: Value, new: Value, mem: MemAccess) -> Result<(Value, Value)> {
        let ty = self.b.ty(expected);
        let words = |this: &mut Self, value| {
            if this.b.bits(value) == 32 {
                return value;
            }
            let (low, high) = this.b.split64(value);
            this.b.vector(&[low, high])
        };
        let data = [words(self, new), words(self, expected)];
        let result = if ty == Type::I32 { ty } else { Type::Vector(Scalar::Int(32), 2) };
        let control = Self::fat_control(MemAccess { ordering: Ordering::NotAtomic, ..mem });
        let seen = self
            .fat_access(at, 0, "atomic.cmpswap", control, &data, result)?
            .ok_or_else(|| Diagnostic::defect("atomic without a result"))?;
        let seen = if ty == Type::I32 {
            seen
        } else {
            let (low, high) = (self.b.extract(seen, 0), self.b.extract(seen, 1));
            self.b.join64(low, high)
        };
        let same = self.b.icmp(IntPredicate::Eq, seen, expected);
        Ok((seen, same))
    }

    /// Replaces an integer by `update` of itself, until nobody interfered. The value before.
    fn fat_update(
        &mut self,
        at: &Fat,
        mem: MemAccess,
        integer: Type,
        update: impl FnOnce(&mut Self, Value) -> Result<Value>,
    ) -> Result<Value> {
        let start = MemAccess { ordering: Ordering::Monotonic, align_log2: 2, ..mem };
        let words = self.fat_load_words(at, start, 0, integer.bits().unwrap_or(32) / 8)?;
        let first = if let [low, high] = words[..] { self.b.join64(low, high) } else { words[0] };
        self.until_swapped(first, integer, update, |this, expected, new| {
            this.fat_swap(at, expected, new, mem)
        })
    }

    /// `atomicrmw` through a fat pointer.
    pub(super) fn fat_rmw(
        &mut self,
        op: AtomicOp,
        at: &Fat,
        value: Value,
        mem: MemAccess,
        ty: Type,
    ) -> Result<Parts> {
        let operands = self.parts(value)?;
        let bits = match ty.bits() {
            Some(bits @ (8 | 16 | 32 | 64)) => bits as u32,
            Some(bits) => return Err(Diagnostic::unsupported(format!("atomic operation on {bits} bits"))),
            None => return Err(Diagnostic::unsupported("atomic operation on an aggregate")),
        };
        self.fence_before(mem, true);
        let update = |this: &mut Self, old: Value| {
            let old = this.parts_of_bits(old, ty);
            let new = this.rmw_parts(op, &old, &operands, ty)?;
            Ok(this.bits_of_parts(&new, ty))
        };
        let seen = if bits < 32 {
            self.fat_narrow(at, mem, bits, update)?
        } else {
            self.fat_update(at, mem, Type::int(bits), update)?
        };
        self.fence_after(mem, false);
        Ok(self.parts_of_bits(seen, ty))
    }

    /// An update of a byte or a half inside its dword. The value before, with the bits above clear.
    fn fat_narrow(
        &mut self,
        at: &Fat,
        mem: MemAccess,
        bits: u32,
        update: impl FnOnce(&mut Self, Value) -> Result<Value>,
    ) -> Result<Value> {
        let shift = self.b.and_imm(at.offset, 3);
        let shift = self.b.shl_imm(shift, 3);
        let dword = Fat { offset: self.b.and_imm(at.offset, 0xffff_fffc), ..at.clone() };
        let field = self.sub_dword(shift, bits);
        let seen = self.fat_update(&dword, mem, Type::I32, |this, expected| {
            let old = this.sub_dword_of(expected, &field);
            let new = update(this, old)?;
            Ok(this.with_sub_dword(expected, &field, new))
        })?;
        Ok(self.sub_dword_of(seen, &field))
    }

    /// `cmpxchg` through a fat pointer.
    pub(super) fn fat_cmpxchg(
        &mut self,
        at: &Fat,
        expected: Value,
        replacement: Value,
        mem: MemAccess,
    ) -> Result<Parts> {
        let ty = self.old.ty(expected);
        let [expected, replacement] = [self.part(expected)?, self.part(replacement)?];
        let [expected, replacement] = [self.b.as_integer(expected), self.b.as_integer(replacement)];
        let Some(bits) = ty.bits() else { return Err(Diagnostic::unsupported("cmpxchg of this type")) };
        let bits = bits as u32;
        self.fence_before(mem, true);
        let (seen, same) = match bits {
            32 | 64 => self.fat_swap(at, expected, replacement, mem)?,
            8 | 16 => {
                let wanted = self.b.zext_or_trunc(expected, Type::I32);
                let wanted = self.zero_extended(wanted, bits);
                let new = self.b.zext_or_trunc(replacement, Type::I32);
                let seen = self.fat_narrow(at, mem, bits, |this, old| {
                    let same = this.b.icmp(IntPredicate::Eq, old, wanted);
                    Ok(this.b.select(same, new, old))
                })?;
                let same = self.b.icmp(IntPredicate::Eq, seen, wanted);
                (seen, same)
            }
            _ => return Err(Diagnostic::unsupported(format!("cmpxchg of {bits} bits"))),
        };
        self.fence_after(mem, false);
        let mut out = self.parts_of_bits(seen, ty);
        out.push(same);
        Ok(out)
    }
}
