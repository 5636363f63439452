//! `memcpy`, `memmove`, `memset` and their kin.
//!
//! Short blocks of known size are loaded whole, then stored. Others become loops over *units*, the widest
//! access that the alignment on both sides and the address spaces allow, with a rest below one unit: unrolled
//! where its size is known, else a loop over bytes.
//!
//! Blocks of `memmove` may overlap: where the destination lies above the source the loops run downwards, the
//! rest first. Each unit is loaded before it is stored, and what it overwrites of the source has been read by
//! then. Blocks in buffers are compared by where they are in memory.

use super::fat::{Fat, is_buffer};
use super::{Legalizer, Parts};
use mir::ir::*;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// Bytes up to which block copies are unrolled.
const UNROLLED_BYTES: u64 = 256;

/// Where a block starts.
pub(super) enum Start {
    /// An address.
    Address(Value),
    /// A place in a buffer.
    Buffer(Fat),
}

/// One side of a copy.
struct Side {
    start: Start,
    mem: MemAccess,
}

/// What a loop stores.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// Memory.
    Copy(&'a Side),
    /// A dword of four equal bytes.
    Fill(Value),
}

impl Legalizer<'_> {
    /// `memcpy`, `memmove` and `memset`.
    pub(super) fn lower_block_operation(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Result<Parts> {
        let &[dest, source, len, ..] = args else {
            return Err(Diagnostic::malformed("block copy without length"));
        };
        let promised = self.block_aligns;
        let volatile = args.last().is_some_and(|&v| args.len() > 3 && self.old.as_int(v) == Some(1));
        let flags = if volatile { MemFlags::VOLATILE } else { MemFlags::empty() };
        let dest = self.side(dest, promised[0], flags)?;
        let constant = self.old.as_int(len);
        if constant == Some(0) {
            return Ok(Parts::new());
        }
        let fill = matches!(intrinsic, Intrinsic::Memset | Intrinsic::MemsetInline);
        let from;
        let source = if fill {
            let byte = self.part(source)?;
            let byte = self.zero_extended(byte, 8);
            let byte = self.b.zext_or_trunc(byte, Type::I32);
            let ones = self.b.i32(0x0101_0101);
            Source::Fill(self.b.mul(byte, ones))
        } else {
            from = self.side(source, promised[1], flags)?;
            Source::Copy(&from)
        };
        if let Some(bytes) = constant.filter(|&bytes| bytes <= UNROLLED_BYTES) {
            self.copy_unrolled(&dest, source, 0, bytes)?;
            return Ok(Parts::new());
        }
        let len = self.length(len)?;
        match source {
            Source::Copy(from) if intrinsic == Intrinsic::Memmove && may_overlap(&dest, from) => {
                self.move_block(&dest, from, len)?;
            }
            _ => self.copy_block(&dest, source, len, constant)?,
        }
        Ok(Parts::new())
    }

    /// The block at `pointer`, whose alignment is promised to be at least `promised`.
    fn side(&mut self, pointer: Value, promised: u8, flags: MemFlags) -> Result<Side> {
        if let Some(at) = self.buffer_place(pointer)? {
            let space = self.old.ty(pointer).addr_space().unwrap_or(AddrSpace::BUFFER_RESOURCE);
            let mem = MemAccess { flags, ..MemAccess::plain(space, promised) };
            return Ok(Side { start: Start::Buffer(at), mem });
        }
        let (ptr, mem) = self.address(pointer, MemAccess::plain(AddrSpace::FLAT, 0))?;
        let align_log2 = self.pointer_align(ptr).max(promised);
        Ok(Side { start: Start::Address(ptr), mem: MemAccess { flags, align_log2, ..mem } })
    }

    /// Loads `bytes` at `index + at` of a block; the access there is `mem`.
    fn side_load(
        &mut self,
        side: &Side,
        (index, at): (Option<Value>, u64),
        mem: MemAccess,
        bytes: u64,
    ) -> Result<SmallVec<[Value; 8]>> {
        match &side.start {
            Start::Address(ptr) => {
                let ptr = self.within(*ptr, index, at);
                self.load_dwords(ptr, mem, bytes)
            }
            Start::Buffer(start) => {
                let place = self.fat_indexed(start, index);
                self.fat_load_words(&place, mem, at, bytes)
            }
        }
    }

    /// Stores `bytes` at `index + at` of a block; the access there is `mem`.
    fn side_store(
        &mut self,
        side: &Side,
        (index, at): (Option<Value>, u64),
        mem: MemAccess,
        bytes: u64,
        words: &[Value],
    ) -> Result<()> {
        match &side.start {
            Start::Address(ptr) => {
                let ptr = self.within(*ptr, index, at);
                self.store_dwords(ptr, mem, bytes, words)
            }
            Start::Buffer(start) => {
                let place = self.fat_indexed(start, index);
                self.fat_store_words(&place, mem, at, bytes, words)
            }
        }
    }

    fn within(&mut self, base: Value, index: Option<Value>, at: u64) -> Value {
        let ptr = index.map_or(base, |index| self.indexed(base, index));
        self.b.ptr_offset(ptr, at as i64)
    }

    /// `experimental.memset.pattern`: stores a value so many times, one behind the other.
    pub(super) fn lower_pattern(&mut self, args: &[Value]) -> Result<Parts> {
        let &[dest, value, count, volatile] = args else {
            return Err(Diagnostic::malformed("block fill without length"));
        };
        let flags = if self.old.as_int(volatile) == Some(1) { MemFlags::VOLATILE } else { MemFlags::empty() };
        let Side { start, mem } = self.side(dest, self.block_aligns[0], flags)?;
        let ty = self.old.ty(value);
        let stride = self.ctx.module.types.alloc_bytes(ty);
        let mem = aligned_to(mem, stride.max(1));
        let parts = self.parts(value)?;
        let count = self.length(count)?;
        let zero = self.zero_like(count);
        self.counted_loop(zero, count, 1, |this, i| {
            let size = this.b.ty(i);
            let stride = this.b.int(size, stride);
            let at = this.b.mul(i, stride);
            match &start {
                Start::Address(ptr) => {
                    let to = this.indexed(*ptr, at);
                    this.store_parts(to, mem, ty, &parts)
                }
                Start::Buffer(start) => {
                    let to = this.fat_indexed(start, Some(at));
                    this.fat_store(&to, mem, ty, &parts)
                }
            }
        })?;
        Ok(Parts::new())
    }

    /// Bytes `at..at + bytes`; all loads come first, which is right for overlapping memory, too.
    fn copy_unrolled(&mut self, dest: &Side, source: Source<'_>, at: u64, bytes: u64) -> Result<()> {
        let words = match source {
            Source::Copy(from) => self.side_load(from, (None, at), Self::at(from.mem, at), bytes)?,
            Source::Fill(word) => SmallVec::from_elem(word, bytes.div_ceil(4) as usize),
        };
        self.side_store(dest, (None, at), Self::at(dest.mem, at), bytes, &words)
    }

    /// The widest access for both sides.
    fn unit(&self, dest: &Side, source: Source<'_>) -> u64 {
        let widest = self.widest(dest.mem).min(match source {
            Source::Copy(from) => self.widest(from.mem),
            Source::Fill(_) => 16,
        });
        widest.min(16)
    }

    /// One unit at byte `at`.
    fn copy_unit(&mut self, dest: &Side, source: Source<'_>, at: Value, unit: u64) -> Result<()> {
        let words = match source {
            Source::Copy(from) => self.side_load(from, (Some(at), 0), aligned_to(from.mem, unit), unit)?,
            Source::Fill(word) => SmallVec::from_elem(word, unit.div_ceil(4) as usize),
        };
        self.side_store(dest, (Some(at), 0), aligned_to(dest.mem, unit), unit, &words)
    }

    /// Copies `len` bytes upwards.
    fn copy_block(
        &mut self,
        dest: &Side,
        source: Source<'_>,
        len: Value,
        constant: Option<u64>,
    ) -> Result<()> {
        let unit = self.unit(dest, source);
        let (whole, rest) = self.split_length(len, unit);
        let zero = self.zero_like(len);
        self.counted_loop(zero, whole, unit, |this, at| this.copy_unit(dest, source, at, unit))?;
        match constant {
            Some(bytes) if bytes % unit == 0 => Ok(()),
            Some(bytes) => self.copy_unrolled(dest, source, bytes - bytes % unit, bytes % unit),
            None if rest => self.counted_loop(whole, len, 1, |this, at| this.copy_unit(dest, source, at, 1)),
            None => Ok(()),
        }
    }

    /// Copies `len` bytes between blocks that may overlap.
    fn move_block(&mut self, dest: &Side, from: &Side, len: Value) -> Result<()> {
        let source = Source::Copy(from);
        let unit = self.unit(dest, source);
        let address = |this: &mut Self, side: &Side| {
            let ptr = match &side.start {
                Start::Address(ptr) => *ptr,
                Start::Buffer(start) => return this.fat_address(start),
            };
            let flat = Type::ptr(AddrSpace::FLAT);
            let same = dest.mem.space == from.mem.space || this.b.ty(ptr).bits() == Some(64);
            let ptr = if same { ptr } else { this.b.cast(CastOp::AddrSpaceCast, ptr, flat) };
            this.b.as_integer(ptr)
        };
        let (d, s) = (address(self, dest), address(self, from));
        let up = self.b.icmp(IntPredicate::Ult, d, s);
        let (forward, backward, done) = (self.b.new_block(), self.b.new_block(), self.b.new_block());
        self.b.branch(up, BlockCall::to(forward), BlockCall::to(backward));
        let scope = self.b.scope.take();
        self.b.block = forward;
        self.copy_block(dest, source, len, None)?;
        self.b.scope = None;
        self.b.jump(done, &[]);
        self.b.block = backward;
        let (whole, rest) = self.split_length(len, unit);
        if rest {
            self.downward_loop(len, whole, 1, |this, at| this.copy_unit(dest, source, at, 1))?;
        }
        let zero = self.zero_like(len);
        self.downward_loop(whole, zero, unit, |this, at| this.copy_unit(dest, source, at, unit))?;
        self.b.scope = None;
        self.b.jump(done, &[]);
        self.b.block = done;
        self.b.scope = scope;
        Ok(())
    }

    /// The part of `len` that whole units make up, and whether there may be a rest.
    fn split_length(&mut self, len: Value, unit: u64) -> (Value, bool) {
        if unit == 1 { (len, false) } else { (self.b.and_imm(len, !(unit - 1)), true) }
    }

    fn zero_like(&mut self, value: Value) -> Value {
        let ty = self.b.ty(value);
        self.b.int(ty, 0)
    }

    fn length(&mut self, len: Value) -> Result<Value> {
        let bits = self.old.ty(len).bits().unwrap_or(64) as u32;
        let part = self.part(len)?;
        let part = self.zero_extended(part, bits);
        Ok(if self.b.bits(part) < 32 { self.b.cast(CastOp::ZExt, part, Type::I32) } else { part })
    }

    fn indexed(&mut self, base: Value, index: Value) -> Value {
        let ty = self.b.ty(base);
        let index = match (ty.bits(), self.b.bits(index)) {
            (Some(32), 64) => self.b.cast(CastOp::Trunc, index, Type::I32),
            (Some(64), 32) => self.b.cast(CastOp::ZExt, index, Type::I64),
            _ => index,
        };
        let kind = InstKind::PtrAdd { base, index: Some(index), scale: 1, offset: 0 };
        self.b.pure(kind, ty, InstFlags::empty())
    }

    /// Runs `body` for `start`, `start + step`, ... below `end`; goes on in a new block.
    fn counted_loop(
        &mut self,
        start: Value,
        end: Value,
        step: u64,
        body: impl FnOnce(&mut Self, Value) -> Result<()>,
    ) -> Result<()> {
        self.loop_while(start, IntPredicate::Ult, end, |this, i| {
            body(this, i)?;
            Ok(this.b.add_imm(i, step as i64))
        })
    }

    /// Runs `body` for `start - step`, `start - 2 * step`, ... down to `end`, which is a whole number of
    /// steps below.
    fn downward_loop(
        &mut self,
        start: Value,
        end: Value,
        step: u64,
        body: impl FnOnce(&mut Self, Value) -> Result<()>,
    ) -> Result<()> {
        self.loop_while(start, IntPredicate::Ne, end, |this, i| {
            let at = this.b.add_imm(i, -(step as i64));
            body(this, at)?;
            Ok(at)
        })
    }

    /// Runs `body`, which gives the next index, while the index compares with `end` as `more` says; goes on
    /// in a new block.
    fn loop_while(
        &mut self,
        start: Value,
        more: IntPredicate,
        end: Value,
        body: impl FnOnce(&mut Self, Value) -> Result<Value>,
    ) -> Result<()> {
        let ty = self.b.ty(end);
        let (head, work, done) = (self.b.new_block(), self.b.new_block(), self.b.new_block());
        let scope = self.b.scope.take();
        self.b.jump(head, &[start]);
        let i = self.b.func.add_block_param(head, ty);
        self.b.block = head;
        let more = self.b.icmp(more, i, end);
        self.b.branch(more, BlockCall::to(work), BlockCall::to(done));
        self.b.block = work;
        let next = body(self, i)?;
        self.b.jump(head, &[next]);
        self.b.block = done;
        self.b.scope = scope;
        Ok(())
    }
}

/// The access at a multiple of `unit` bytes behind one at `mem`.
fn aligned_to(mem: MemAccess, unit: u64) -> MemAccess {
    MemAccess { align_log2: mem.align_log2.min(unit.trailing_zeros() as u8), ..mem }
}

/// Whether the same byte may be on both sides.
fn may_overlap(a: &Side, b: &Side) -> bool {
    let (a, b) = (a.mem.space, b.mem.space);
    let memory = |space| matches!(space, AddrSpace::GLOBAL | AddrSpace::CONSTANT) || is_buffer(space);
    a == b || a == AddrSpace::FLAT || b == AddrSpace::FLAT || memory(a) && memory(b)
}
