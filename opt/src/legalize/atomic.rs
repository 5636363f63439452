//! Atomic operations.
//!
//! Operations of 32 and 64 bits that the target has stay; others become loops of `cmpxchg`. Bytes and halves
//! are updated inside their dword.

use super::{Legalizer, Parts};
use crate::bits::mask64;
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// The place of a byte or a half in a dword.
pub(super) struct SubDword {
    /// Bits below it.
    shift: Value,
    /// Bits of it.
    bits: u32,
    /// A mask of the dword's other bits.
    others: Value,
}

impl Legalizer<'_> {
    /// Whether an access is generic and the place may be scratch: where there are no generic addresses it is global memory.
    fn may_be_scratch(&self, mem: MemAccess) -> bool {
        mem.space == AddrSpace::FLAT
            && self.ctx.machine.has(Features::FLAT)
            && !mem.flags.contains(MemFlags::NOT_PRIVATE)
    }

    /// An atomic load outside of private memory; narrow loads are atomic by themselves, vectors are loaded as
    /// one integer.
    pub(super) fn atomic_load(&mut self, ptr: Value, mem: MemAccess, ty: Type) -> Result<Parts> {
        let bits = self.atomic_bits(ty)?;
        if self.may_be_scratch(mem) && bits == 64 && !self.ctx.machine.has(Features::WIDE_FLAT_SCRATCH) {
            let types = self.part_types(ty)?;
            return self.by_privacy(ptr, mem, &types, |this, ptr, mem| match mem.space {
                AddrSpace::PRIVATE => this.load_parts(ptr, mem_plain(mem), ty),
                _ => this.atomic_load_at(ptr, mem, ty),
            });
        }
        self.atomic_load_at(ptr, mem, ty)
    }

    fn atomic_load_at(&mut self, ptr: Value, mem: MemAccess, ty: Type) -> Result<Parts> {
        let bits = self.atomic_bits(ty)?;
        if let Type::Scalar(scalar) = ty {
            let loaded = self.load_scalar(ptr, mem, ty)?;
            return Ok(Parts::from_slice(&[match scalar {
                Scalar::Int(8) => self.b.cast(CastOp::ZExt, loaded, Type::I32),
                Scalar::Int(16) if !self.has_16bit() => self.b.cast(CastOp::ZExt, loaded, Type::I32),
                _ => loaded,
            }]));
        }
        let loaded = self.load_scalar(ptr, mem, Type::int(bits))?;
        let loaded = self.b.zext_or_trunc(loaded, Type::int(bits.max(32)));
        Ok(self.parts_of_bits(loaded, ty))
    }

    /// An atomic store outside of private memory.
    pub(super) fn atomic_store(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        parts: &[Value],
        ty: Type,
    ) -> Result<()> {
        let bits = self.atomic_bits(ty)?;
        if self.may_be_scratch(mem) && bits == 64 && !self.ctx.machine.has(Features::WIDE_FLAT_SCRATCH) {
            let store = |this: &mut Self, ptr, mem: MemAccess| match mem.space {
                AddrSpace::PRIVATE => this.store_parts(ptr, mem_plain(mem), ty, parts),
                _ => this.atomic_store_at(ptr, mem, parts, ty),
            };
            self.by_privacy(ptr, mem, &[], |this, ptr, mem| store(this, ptr, mem).map(|()| Parts::new()))?;
            return Ok(());
        }
        self.atomic_store_at(ptr, mem, parts, ty)
    }

    fn atomic_store_at(&mut self, ptr: Value, mem: MemAccess, parts: &[Value], ty: Type) -> Result<()> {
        let bits = self.atomic_bits(ty)?;
        let value = match (ty, parts) {
            (Type::Scalar(Scalar::Int(_)), &[part]) => self.b.zext_or_trunc(part, Type::int(bits)),
            (Type::Scalar(_), &[part]) => part,
            _ => {
                let whole = self.bits_of_parts(parts, ty);
                self.b.zext_or_trunc(whole, Type::int(bits))
            }
        };
        self.store_scalar(ptr, value, mem)
    }

    /// Width of a type that one access can read or write.
    fn atomic_bits(&self, ty: Type) -> Result<u32> {
        match ty.bits() {
            Some(bits @ (8 | 16 | 32 | 64)) => Ok(bits as u32),
            _ => Err(Diagnostic::unsupported(format!(
                "atomic access to a value of type {}",
                self.ctx.module.types.display(ty)
            ))),
        }
    }

    /// Parts of a value of at most 64 bits from its bits, an `i32` with clear upper bits or an `i64`.
    pub(super) fn parts_of_bits(&mut self, whole: Value, ty: Type) -> Parts {
        let bits = ty.bits().unwrap_or(32) as u32;
        match ty {
            Type::Vector(scalar, lanes) => {
                let words: SmallVec<[Value; 2]> = if self.b.bits(whole) == 64 {
                    let (low, high) = self.b.split64(whole);
                    SmallVec::from_slice(&[low, high])
                } else {
                    SmallVec::from_slice(&[whole])
                };
                let mut out = Parts::new();
                for lane in 0..lanes {
                    self.join_dwords(&words, lane * scalar.bits(), scalar, &mut out);
                }
                out
            }
            Type::Scalar(Scalar::Int(_)) if bits < 32 => {
                let carrier = self.carrier(bits);
                Parts::from_slice(&[self.b.zext_or_trunc(whole, carrier)])
            }
            _ if bits < 32 => {
                let narrow = self.b.cast(CastOp::Trunc, whole, Type::int(bits));
                Parts::from_slice(&[self.b.bitcast(narrow, ty)])
            }
            _ => Parts::from_slice(&[self.b.integer_or_cast_to(whole, ty)]),
        }
    }

    /// The inverse of [`Self::parts_of_bits`].
    pub(super) fn bits_of_parts(&mut self, parts: &[Value], ty: Type) -> Value {
        let bits = ty.bits().unwrap_or(32) as u32;
        match (ty, parts) {
            (Type::Vector(scalar, _), _) => match self.split_dwords(parts, scalar)[..] {
                [low, high] => self.b.join64(low, high),
                [low, ..] => low,
                [] => self.b.i32(0),
            },
            (_, &[part, ..]) => {
                let integer = self.b.as_integer(part);
                let integer = self.b.zext_or_trunc(integer, Type::int(bits.max(32)));
                self.zero_extended(integer, bits)
            }
            _ => self.b.i32(0),
        }
    }

    pub(super) fn lower_rmw(
        &mut self,
        op: AtomicOp,
        ptr: Value,
        value: Value,
        mem: MemAccess,
        ty: Type,
    ) -> Result<Parts> {
        if let Some(at) = self.fat_pointer(ptr)? {
            return self.fat_rmw(op, &at, value, mem, ty);
        }
        let (ptr, mem) = self.address(ptr, mem)?;
        let operands = self.parts(value)?;
        if self.may_be_scratch(mem) && self.atomic_bits(ty)? == 64 {
            let types = self.part_types(ty)?;
            return self
                .by_privacy(ptr, mem, &types, |this, ptr, mem| this.rmw_at(op, ptr, &operands, mem, ty));
        }
        self.rmw_at(op, ptr, &operands, mem, ty)
    }

    /// Does `access` where the generic pointer `ptr` points: scratch, which is interleaved by dwords, takes
    /// no access of 64 bits at once, but is the lane's own. `types` are those of the results.
    fn by_privacy(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        types: &[Type],
        access: impl Fn(&mut Self, Value, MemAccess) -> Result<Parts>,
    ) -> Result<Parts> {
        let is_private = self.b.intrinsic(Intrinsic::IsPrivate, &[ptr], Type::I1);
        let (own, other, done) = (self.b.new_block(), self.b.new_block(), self.b.new_block());
        self.b.branch(is_private, BlockCall::to(own), BlockCall::to(other));
        let scope = self.b.scope.take();
        self.b.block = own;
        let place = self.b.cast(CastOp::AddrSpaceCast, ptr, Type::ptr(AddrSpace::PRIVATE));
        let parts = access(self, place, MemAccess { space: AddrSpace::PRIVATE, ..mem })?;
        self.b.scope = None;
        self.b.jump(done, &parts);
        self.b.block = other;
        let parts = access(self, ptr, mem)?;
        self.b.scope = None;
        self.b.jump(done, &parts);
        let results = types.iter().map(|&ty| self.b.func.add_block_param(done, ty)).collect();
        self.b.block = done;
        self.b.scope = scope;
        Ok(results)
    }

    fn rmw_at(
        &mut self,
        op: AtomicOp,
        ptr: Value,
        operands: &[Value],
        mem: MemAccess,
        ty: Type,
    ) -> Result<Parts> {
        let bits = self.atomic_bits(ty)?;
        if mem.space == AddrSpace::PRIVATE {
            // Nobody else sees the lane's own memory.
            let old = self.load_parts(ptr, mem_plain(mem), ty)?;
            let new = self.rmw_parts(op, &old, operands, ty)?;
            self.store_parts(ptr, mem_plain(mem), ty, &new)?;
            return Ok(old);
        }
        if bits < 32 {
            return self.narrow_atomic(ptr, mem, ty, |this, old| {
                let old = this.parts_of_bits(old, ty);
                let new = this.rmw_parts(op, &old, operands, ty)?;
                Ok(this.bits_of_parts(&new, ty))
            });
        }
        if self.has_atomic(op, mem, ty)
            && let [part] = operands[..]
        {
            let (operand, memory_ty) = if matches!(ty, Type::Scalar(Scalar::Ptr(_)))
                || op == AtomicOp::Xchg && matches!(ty, Type::Scalar(Scalar::Float(_)))
            {
                (self.b.as_integer(part), Type::int(bits))
            } else {
                (part, ty)
            };
            let kind = InstKind::AtomicRmw { op, ptr, value: operand, mem };
            let old = self.b.push(kind, memory_ty, InstFlags::empty());
            return Ok(old.into_iter().map(|old| self.b.integer_or_cast_to(old, ty)).collect());
        }
        let seen = self.update_loop(ptr, mem, Type::int(bits), |this, old| {
            let old = this.parts_of_bits(old, ty);
            let new = this.rmw_parts(op, &old, operands, ty)?;
            Ok(this.bits_of_parts(&new, ty))
        })?;
        Ok(self.parts_of_bits(seen, ty))
    }

    /// Replaces an integer in memory by `update` of itself: computes from what was read last, until nobody
    /// interfered. The value before.
    fn update_loop(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        integer: Type,
        update: impl FnOnce(&mut Self, Value) -> Result<Value>,
    ) -> Result<Value> {
        let start = MemAccess { ordering: Ordering::Monotonic, ..mem };
        let Some(first) = self.b.push(InstKind::Load { ptr, mem: start }, integer, InstFlags::empty()) else {
            return Err(Diagnostic::defect("load without a result"));
        };
        self.until_swapped(first, integer, update, |this, expected, new| {
            this.push_cmpxchg(ptr, expected, new, mem)
        })
    }

    /// The loop of compare-and-swap: `update` computes what should be there instead of what was found, first
    /// `first`; `swap` puts it there and says what it found and whether that was expected. The result is what
    /// was found at last.
    pub(super) fn until_swapped(
        &mut self,
        first: Value,
        integer: Type,
        update: impl FnOnce(&mut Self, Value) -> Result<Value>,
        swap: impl FnOnce(&mut Self, Value, Value) -> Result<(Value, Value)>,
    ) -> Result<Value> {
        let (head, done) = (self.b.new_block(), self.b.new_block());
        let scope = self.b.scope.take();
        self.b.jump(head, &[first]);
        let expected = self.b.func.add_block_param(head, integer);
        self.b.block = head;
        let new = update(self, expected)?;
        let (seen, same) = swap(self, expected, new)?;
        self.b.branch(
            same,
            BlockCall::to(done),
            BlockCall { block: head, args: std::iter::once(seen).collect() },
        );
        self.b.block = done;
        self.b.scope = scope;
        Ok(seen)
    }

    /// Whether one instruction does it, wherever the memory is: behind a bus, PCIe knows exchange and
    /// addition alone.
    fn has_atomic(&self, op: AtomicOp, mem: MemAccess, ty: Type) -> bool {
        let lds = matches!(mem.space, AddrSpace::LOCAL | AddrSpace::REGION);
        let near = lds || mem.flags.contains(MemFlags::DEVICE_MEMORY);
        let float = matches!(ty, Type::Scalar(Scalar::Float(_)));
        if !matches!(ty, Type::Scalar(_)) {
            return false;
        }
        match op {
            AtomicOp::Xchg => true,
            AtomicOp::Add => !float,
            AtomicOp::Sub
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Max
            | AtomicOp::Min
            | AtomicOp::UMax
            | AtomicOp::UMin
            | AtomicOp::UIncWrap
            | AtomicOp::UDecWrap => !float && near,
            AtomicOp::FAdd => lds && ty == Type::F32 && self.ctx.machine.has(Features::DS_ADD_F32),
            AtomicOp::FMin | AtomicOp::FMax => lds && matches!(ty, Type::F32 | Type::F64),
            _ => false,
        }
    }

    /// The parts of the new value of an atomic operation, lane by lane.
    pub(super) fn rmw_parts(
        &mut self,
        op: AtomicOp,
        old: &[Value],
        operands: &[Value],
        ty: Type,
    ) -> Result<Parts> {
        let bits = ty.scalar().map_or(32, Scalar::bits);
        old.iter().zip(operands).map(|(&old, &value)| self.rmw_value(op, old, value, bits)).collect()
    }

    /// One part of the new value of an atomic operation.
    fn rmw_value(&mut self, op: AtomicOp, old: Value, value: Value, bits: u32) -> Result<Value> {
        let (zero_old, zero_value) =
            (self.integer_part(old, bits, false), self.integer_part(value, bits, false));
        let b = |this: &mut Self, op, x, y| this.b.binary(op, x, y);
        Ok(match op {
            AtomicOp::Xchg => value,
            AtomicOp::Add => b(self, BinaryOp::Add, old, value),
            AtomicOp::Sub => b(self, BinaryOp::Sub, old, value),
            AtomicOp::And => b(self, BinaryOp::And, old, value),
            AtomicOp::Or => b(self, BinaryOp::Or, old, value),
            AtomicOp::Xor => b(self, BinaryOp::Xor, old, value),
            AtomicOp::Nand => {
                let both = b(self, BinaryOp::And, old, value);
                self.b.not(both)
            }
            AtomicOp::Max | AtomicOp::Min => {
                let (x, y) = (self.integer_part(old, bits, true), self.integer_part(value, bits, true));
                let predicate = if op == AtomicOp::Max { IntPredicate::Sgt } else { IntPredicate::Slt };
                let keep = self.b.icmp(predicate, x, y);
                self.b.select(keep, old, value)
            }
            AtomicOp::UMax | AtomicOp::UMin => {
                let predicate = if op == AtomicOp::UMax { IntPredicate::Ugt } else { IntPredicate::Ult };
                let keep = self.b.icmp(predicate, zero_old, zero_value);
                self.b.select(keep, old, value)
            }
            AtomicOp::FAdd | AtomicOp::FSub => {
                let Type::Scalar(Scalar::Float(float)) = self.b.ty(old) else {
                    return Err(Diagnostic::malformed("floating-point operation on another type"));
                };
                let op = if op == AtomicOp::FAdd { BinaryOp::FAdd } else { BinaryOp::FSub };
                self.float_binary(op, old, value, float)?
            }
            AtomicOp::FMax => self.lower_minmax(Intrinsic::Maxnum, old, value)?,
            AtomicOp::FMin => self.lower_minmax(Intrinsic::Minnum, old, value)?,
            AtomicOp::FMaximum => self.lower_minmax(Intrinsic::Maximum, old, value)?,
            AtomicOp::FMinimum => self.lower_minmax(Intrinsic::Minimum, old, value)?,
            AtomicOp::UIncWrap => {
                // old >= value ? 0 : old + 1
                let wrap = self.b.icmp(IntPredicate::Uge, zero_old, zero_value);
                let next = self.b.add_imm(old, 1);
                let ty = self.b.ty(old);
                let zero = self.b.int(ty, 0);
                self.b.select(wrap, zero, next)
            }
            AtomicOp::UDecWrap => {
                // old == 0 || old > value ? value : old - 1
                let zero = self.b.icmp_imm(IntPredicate::Eq, zero_old, 0);
                let above = self.b.icmp(IntPredicate::Ugt, zero_old, zero_value);
                let wrap = self.b.or(zero, above);
                let next = self.b.add_imm(old, -1);
                self.b.select(wrap, value, next)
            }
            AtomicOp::USubCond | AtomicOp::USubSat => {
                let fits = self.b.icmp(IntPredicate::Uge, zero_old, zero_value);
                let difference = self.b.sub(old, value);
                let ty = self.b.ty(old);
                let other = if op == AtomicOp::USubCond { old } else { self.b.int(ty, 0) };
                self.b.select(fits, difference, other)
            }
        })
    }

    /// An integer part with clean upper bits; others as they are.
    fn integer_part(&mut self, part: Value, bits: u32, signed: bool) -> Value {
        match self.b.ty(part) {
            Type::Scalar(Scalar::Int(_)) if signed => self.sign_extended(part, bits),
            Type::Scalar(Scalar::Int(_)) => self.zero_extended(part, bits),
            _ => part,
        }
    }

    /// `cmpxchg` on integers: the old value and whether it was the expected one.
    fn push_cmpxchg(
        &mut self,
        ptr: Value,
        expected: Value,
        replacement: Value,
        mem: MemAccess,
    ) -> Result<(Value, Value)> {
        let ty = self.b.ty(expected);
        let result = self
            .cmpxchg_type(ty)
            .ok_or_else(|| Diagnostic::defect("the result type of cmpxchg is not prepared"))?;
        let kind = InstKind::CmpXchg { ptr, expected, replacement, mem, weak: false };
        let Some(pair) = self.b.push(kind, result, InstFlags::empty()) else {
            return Err(Diagnostic::defect("cmpxchg without a result"));
        };
        let path = std::iter::once(0).collect();
        let kind = InstKind::ExtractValue { aggregate: pair, path };
        let seen = self.b.pure(kind, ty, InstFlags::empty());
        let same = self.b.icmp(IntPredicate::Eq, seen, expected);
        Ok((seen, same))
    }

    /// The struct `{ ty, i1 }` of the module.
    fn cmpxchg_type(&self, ty: Type) -> Option<Type> {
        self.pair_type(ty)
    }

    pub(super) fn lower_cmpxchg(
        &mut self,
        ptr: Value,
        expected: Value,
        replacement: Value,
        mem: MemAccess,
        _weak: bool,
        _ty: Type,
    ) -> Result<Parts> {
        let value_ty = self.old.ty(expected);
        if let Some(at) = self.fat_pointer(ptr)? {
            return self.fat_cmpxchg(&at, expected, replacement, mem);
        }
        let (ptr, mem) = self.address(ptr, mem)?;
        let values = [self.part(expected)?, self.part(replacement)?];
        if self.may_be_scratch(mem) && value_ty.bits() == Some(64) {
            let mut types = self.part_types(value_ty)?;
            types.push(Type::I1);
            return self
                .by_privacy(ptr, mem, &types, |this, ptr, mem| this.cmpxchg_at(ptr, values, mem, value_ty));
        }
        self.cmpxchg_at(ptr, values, mem, value_ty)
    }

    fn cmpxchg_at(
        &mut self,
        ptr: Value,
        [expected, replacement]: [Value; 2],
        mem: MemAccess,
        value_ty: Type,
    ) -> Result<Parts> {
        let Some(bits) = value_ty.bits() else { return Err(Diagnostic::unsupported("cmpxchg of this type")) };
        let bits = bits as u32;
        if mem.space == AddrSpace::PRIVATE {
            let old = self.load_parts(ptr, mem_plain(mem), value_ty)?;
            let [old_part] = old[..] else { return Err(Diagnostic::unsupported("cmpxchg of this type")) };
            let (x, y) =
                (self.bits_of_parts(&[old_part], value_ty), self.bits_of_parts(&[expected], value_ty));
            let same = self.b.icmp(IntPredicate::Eq, x, y);
            let new = self.b.select(same, replacement, old_part);
            self.store_parts(ptr, mem_plain(mem), value_ty, &[new])?;
            return Ok(Parts::from_slice(&[old_part, same]));
        }
        match bits {
            32 | 64 => {
                let expected = self.b.as_integer(expected);
                let replacement = self.b.as_integer(replacement);
                let (old, same) = self.push_cmpxchg(ptr, expected, replacement, mem)?;
                let old = self.b.integer_or_cast_to(old, value_ty);
                Ok(Parts::from_slice(&[old, same]))
            }
            8 | 16 => {
                // Where the narrow value differs, memory is written back unchanged, which is a failure nobody
                // sees.
                let wanted = self.zero_extended(expected, bits);
                let wanted = self.b.zext_or_trunc(wanted, Type::I32);
                let new = self.bits_of_parts(&[replacement], value_ty);
                let old = self.narrow_atomic(ptr, mem, value_ty, |this, old| {
                    let same = this.b.icmp(IntPredicate::Eq, old, wanted);
                    Ok(this.b.select(same, new, old))
                })?;
                let [part] = old[..] else { return Err(Diagnostic::defect("cmpxchg of several parts")) };
                let clean = self.bits_of_parts(&[part], value_ty);
                let same = self.b.icmp(IntPredicate::Eq, clean, wanted);
                Ok(Parts::from_slice(&[part, same]))
            }
            _ => Err(Diagnostic::unsupported(format!("cmpxchg of {bits} bits"))),
        }
    }

    /// An update of a byte or a half inside its aligned dword; `update` maps its bits, with those above
    /// clear.
    fn narrow_atomic(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        ty: Type,
        update: impl FnOnce(&mut Self, Value) -> Result<Value>,
    ) -> Result<Parts> {
        let bits = ty.bits().unwrap_or(8) as u32;
        let address = self.b.as_integer(ptr);
        let low = self.b.zext_or_trunc(address, Type::I32);
        let offset = self.b.and_imm(low, 3);
        let shift = self.b.shl_imm(offset, 3);
        let back = self.b.neg(offset);
        let pointer_ty = self.b.ty(ptr);
        let kind = InstKind::PtrAdd { base: ptr, index: Some(back), scale: 1, offset: 0 };
        let dword = self.b.pure(kind, pointer_ty, InstFlags::empty());
        let mem = MemAccess { align_log2: 2, ..mem };
        let field = self.sub_dword(shift, bits);
        let seen = self.update_loop(dword, mem, Type::I32, |this, expected| {
            let old = this.sub_dword_of(expected, &field);
            let new = update(this, old)?;
            Ok(this.with_sub_dword(expected, &field, new))
        })?;
        let old = self.sub_dword_of(seen, &field);
        Ok(self.parts_of_bits(old, ty))
    }

    /// The place `shift` bits from the bottom of a dword that holds `bits` bits.
    pub(super) fn sub_dword(&mut self, shift: Value, bits: u32) -> SubDword {
        let ones = self.b.i32(mask64(u64::MAX, bits) as u32);
        let mask = self.b.binary(BinaryOp::Shl, ones, shift);
        SubDword { shift, bits, others: self.b.not(mask) }
    }

    /// What is at a place of `dword`, with the bits above clear.
    pub(super) fn sub_dword_of(&mut self, dword: Value, place: &SubDword) -> Value {
        let moved = self.b.binary(BinaryOp::LShr, dword, place.shift);
        self.zero_extended(moved, place.bits)
    }

    /// `dword` with the low bits of `new` at a place.
    pub(super) fn with_sub_dword(&mut self, dword: Value, place: &SubDword, new: Value) -> Value {
        let new = self.zero_extended(new, place.bits);
        let placed = self.b.binary(BinaryOp::Shl, new, place.shift);
        let rest = self.b.and(dword, place.others);
        self.b.or(rest, placed)
    }
}

/// The access without its atomicity.
fn mem_plain(mem: MemAccess) -> MemAccess {
    MemAccess { ordering: Ordering::NotAtomic, ..mem }
}
