//! Stores, cut into what an instruction can store.

use super::Legalizer;
use mir::ir::*;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

impl Legalizer<'_> {
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
                let vector = self.b.data_vector(&parts[from..from + most as usize]);
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
                let vector = self.b.data_vector(&words[word..word + count]);
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
}
