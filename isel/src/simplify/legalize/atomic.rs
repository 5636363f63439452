//! Atomic operations.
//!
//! Operations of 32 and 64 bits that the target has stay; others become loops of `cmpxchg`. Bytes and halves are
//! updated inside their dword.

use super::{Legalizer, Parts};
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};

impl Legalizer<'_> {
    /// An atomic load of a scalar; narrow loads are atomic by themselves.
    pub(super) fn atomic_load(&mut self, ptr: Value, mem: MemAccess, scalar: Scalar) -> Result<Value> {
        let ty = match scalar.bits() {
            8 | 16 | 32 | 64 => Type::Scalar(scalar),
            bits => return Err(Diagnostic::unsupported(format!("atomic load of {bits} bits"))),
        };
        let loaded = self.load_scalar(ptr, mem, ty)?;
        Ok(match scalar {
            Scalar::Int(8) => self.b.cast(CastOp::ZExt, loaded, Type::I32),
            Scalar::Int(16) if !self.has_16bit() => self.b.cast(CastOp::ZExt, loaded, Type::I32),
            _ => loaded,
        })
    }

    /// An atomic store of a scalar.
    pub(super) fn atomic_store(
        &mut self,
        ptr: Value,
        mem: MemAccess,
        part: Value,
        scalar: Scalar,
    ) -> Result<()> {
        let value = match scalar {
            Scalar::Int(bits @ (8 | 16 | 32 | 64)) => self.b.zext_or_trunc(part, Type::int(bits)),
            _ if matches!(scalar.bits(), 16 | 32 | 64) => part,
            _ => return Err(Diagnostic::unsupported(format!("atomic store of {} bits", scalar.bits()))),
        };
        self.store_scalar(ptr, value, mem)
    }

    pub(super) fn lower_rmw(
        &mut self,
        op: AtomicOp,
        ptr: Value,
        value: Value,
        mem: MemAccess,
        ty: Type,
    ) -> Result<Parts> {
        let (ptr, mem) = self.atomic_address(ptr, mem)?;
        let part = self.part(value)?;
        let bits = match ty {
            Type::Scalar(scalar) => scalar.bits(),
            _ => return Err(Diagnostic::unsupported("atomic operation on a vector")),
        };
        if mem.space == AddrSpace::PRIVATE {
            // Nobody else sees the lane's own memory.
            let old = self.load_parts(ptr, mem_plain(mem), ty)?;
            let [old_part] = old[..] else { return Err(Diagnostic::unsupported("atomic of this type")) };
            let new = self.rmw_value(op, old_part, part, bits)?;
            self.store_parts(ptr, mem_plain(mem), ty, &[new])?;
            return Ok(old);
        }
        match bits {
            32 | 64 => {}
            8 | 16 => {
                return self.narrow_atomic(ptr, mem, ty, |this, old| this.rmw_value(op, old, part, bits));
            }
            _ => return Err(Diagnostic::unsupported(format!("atomic operation on {bits} bits"))),
        }
        if self.has_atomic(op, mem.space, ty) {
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
        // Loop: compute from what was read last, until nobody interfered.
        let integer = Type::int(bits);
        let start = MemAccess { ordering: Ordering::Monotonic, ..mem };
        let Some(first) = self.b.push(InstKind::Load { ptr, mem: start }, integer, InstFlags::empty()) else {
            return Err(Diagnostic::defect("load without a result"));
        };
        let (head, done) = (self.b.new_block(), self.b.new_block());
        let scope = self.b.scope.take();
        self.b.jump(head, &[first]);
        let expected = self.b.func.add_block_param(head, integer);
        self.b.block = head;
        let old = self.b.integer_or_cast_to(expected, ty);
        let new = self.rmw_value(op, old, part, bits)?;
        let new = self.b.as_integer(new);
        let (seen, same) = self.push_cmpxchg(ptr, expected, new, mem)?;
        self.b.branch(same, Target::to(done), Target { block: head, args: std::iter::once(seen).collect() });
        self.b.block = done;
        self.b.scope = scope;
        let old = self.b.integer_or_cast_to(seen, ty);
        Ok(Parts::from_slice(&[old]))
    }

    fn atomic_address(&mut self, ptr: Value, mem: MemAccess) -> Result<(Value, MemAccess)> {
        let parts = self.raw_parts(ptr)?;
        let [part] = parts[..] else {
            return Err(Diagnostic::unsupported("atomic operation through a vector of pointers"));
        };
        let space = self.b.ty(part).addr_space().unwrap_or(mem.space);
        Ok((part, MemAccess { space, ..mem }))
    }

    /// Whether one instruction does it.
    fn has_atomic(&self, op: AtomicOp, space: AddrSpace, ty: Type) -> bool {
        let lds = matches!(space, AddrSpace::LOCAL | AddrSpace::REGION);
        let float = matches!(ty, Type::Scalar(Scalar::Float(_)));
        match op {
            AtomicOp::Xchg => true,
            AtomicOp::Add
            | AtomicOp::Sub
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Max
            | AtomicOp::Min
            | AtomicOp::UMax
            | AtomicOp::UMin
            | AtomicOp::UIncWrap
            | AtomicOp::UDecWrap => !float,
            AtomicOp::FAdd => lds && ty == Type::F32 && self.ctx.machine.has(Features::DS_ADD_F32),
            _ => false,
        }
    }

    /// The new value of an atomic operation, from parts.
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
            AtomicOp::FAdd => b(self, BinaryOp::FAdd, old, value),
            AtomicOp::FSub => b(self, BinaryOp::FSub, old, value),
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
        let (ptr, mem) = self.atomic_address(ptr, mem)?;
        let bits = value_ty.bits().unwrap_or(0) as u32;
        let (expected, replacement) = (self.part(expected)?, self.part(replacement)?);
        if mem.space == AddrSpace::PRIVATE {
            let old = self.load_parts(ptr, mem_plain(mem), value_ty)?;
            let [old_part] = old[..] else { return Err(Diagnostic::unsupported("cmpxchg of this type")) };
            let (x, y) = (self.integer_part(old_part, bits, false), self.integer_part(expected, bits, false));
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
                // Where the narrow value differs, memory is written back unchanged, which is a failure nobody sees.
                let wanted = self.zero_extended(expected, bits);
                let old = self.narrow_atomic(ptr, mem, value_ty, |this, old| {
                    let clean = this.zero_extended(old, bits);
                    let same = this.b.icmp(IntPredicate::Eq, clean, wanted);
                    Ok(this.b.select(same, replacement, old))
                })?;
                let clean = self.zero_extended(old[0], bits);
                let same = self.b.icmp(IntPredicate::Eq, clean, wanted);
                Ok(Parts::from_slice(&[old[0], same]))
            }
            _ => Err(Diagnostic::unsupported(format!("cmpxchg of {bits} bits"))),
        }
    }

    /// An update of a byte or a half inside its aligned dword.
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
        let ones = self.b.i32(super::super::fold::mask64(u64::MAX, bits) as u32);
        let mask = self.b.binary(BinaryOp::Shl, ones, shift);
        let keep = self.b.not(mask);
        let start = MemAccess { ordering: Ordering::Monotonic, ..mem };
        let Some(first) =
            self.b.push(InstKind::Load { ptr: dword, mem: start }, Type::I32, InstFlags::empty())
        else {
            return Err(Diagnostic::defect("load without a result"));
        };
        let (head, done) = (self.b.new_block(), self.b.new_block());
        let scope = self.b.scope.take();
        self.b.jump(head, &[first]);
        let expected = self.b.func.add_block_param(head, Type::I32);
        self.b.block = head;
        let old = self.narrow_part(expected, shift, ty);
        let new = update(self, old)?;
        let new = self.b.as_integer(new);
        let new = self.b.zext_or_trunc(new, Type::I32);
        let new = self.zero_extended(new, bits);
        let placed = self.b.binary(BinaryOp::Shl, new, shift);
        let rest = self.b.and(expected, keep);
        let whole = self.b.or(rest, placed);
        let (seen, same) = self.push_cmpxchg(dword, expected, whole, mem)?;
        self.b.branch(same, Target::to(done), Target { block: head, args: std::iter::once(seen).collect() });
        self.b.block = done;
        let old = self.narrow_part(seen, shift, ty);
        self.b.scope = scope;
        Ok(Parts::from_slice(&[old]))
    }

    fn narrow_part(&mut self, dword: Value, shift: Value, ty: Type) -> Value {
        let field = self.b.binary(BinaryOp::LShr, dword, shift);
        let bits = ty.bits().unwrap_or(8) as u32;
        match ty {
            Type::Scalar(Scalar::Int(_)) => {
                let field = self.zero_extended(field, bits);
                let carrier = self.carrier(bits);
                self.b.zext_or_trunc(field, carrier)
            }
            _ => {
                let narrow = self.b.cast(CastOp::Trunc, field, Type::int(bits));
                self.b.bitcast(narrow, ty)
            }
        }
    }
}

/// The access without its atomicity.
fn mem_plain(mem: MemAccess) -> MemAccess {
    MemAccess { ordering: Ordering::NotAtomic, ..mem }
}
