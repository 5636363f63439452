//! Objects on the stack.

use super::{Legalizer, Parts};
use mir::ir::*;
use mir::{Diagnostic, Result};

impl Legalizer<'_> {
    /// A stack object of `count` (one, where there is none) times `size_bytes`, as a pointer of type `ty`. Of
    /// known size in the entry block it has a place in the frame.
    ///
    /// Errors: an object of more than 16 MiB (`Limit`).
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
        if count.is_some_and(|count| self.differs_between_lanes(count, self.current_block)) {
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

    /// The largest value of `size` in any active lane, bit by bit from the top; sizes are below what scratch
    /// can hold.
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
}
