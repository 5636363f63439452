//! Conversions.

use super::float::{FloatSrc, by_float};
use super::{Rep, Selector};
use crate::select::compare::Scc;
use mir::abi::kernarg;
use mir::diag::{Diagnostic, Result};
use mir::ir::{AddrSpace, BinaryOp, CastOp, Float, InstData, InstKind, Intrinsic, Type, Value};
use mir::isa::Opcode::*;
use mir::machine::{EntryValue, Operand, PReg};
use mir::target::{Features, Os};
use smallvec::SmallVec;

impl<'a> Selector<'a> {
    pub(super) fn lower_cast(&mut self, data: &InstData, op: CastOp, arg: Value) -> Result<()> {
        match op {
            CastOp::Trunc if data.ty == Type::I1 => self.trunc_to_bool(data, arg),
            CastOp::Trunc => self.trunc(data, arg),
            CastOp::ZExt | CastOp::SExt => {
                if self.f.ty(arg) == Type::I1 {
                    self.extend_bool(data, arg, op == CastOp::SExt)
                } else {
                    self.extend(data, arg, op == CastOp::SExt)
                }
            }
            CastOp::BitCast | CastOp::PtrToInt | CastOp::IntToPtr => self.copy_value(data, arg),
            CastOp::AddrSpaceCast => self.address_space_cast(data, arg),
            CastOp::FpTrunc | CastOp::FpExt => {
                let (_, dst) = self.result(data)?;
                let from = self.float_of(self.f.ty(arg))?;
                let to = self.float_of(data.ty)?;
                let opcode = match (from, to) {
                    (Float::Half, Float::Single) => V_CVT_F32_F16,
                    (Float::Single, Float::Half) => V_CVT_F16_F32,
                    (Float::Single, Float::Double) => V_CVT_F64_F32,
                    (Float::Double, Float::Single) => V_CVT_F32_F64,
                    _ => {
                        return Err(Diagnostic::unsupported(
                            "conversion between these floating-point formats",
                        ));
                    }
                };
                let source = self.float_src(arg);
                self.float_op(opcode, dst, &[source]);
                Ok(())
            }
            CastOp::FpToUi | CastOp::FpToSi => {
                let (value, dst) = self.result(data)?;
                let signed = op == CastOp::FpToSi;
                let from = self.float_of(self.f.ty(arg))?;
                let row = if signed {
                    [V_CVT_I16_F16, V_CVT_I32_F32, V_CVT_I32_F64]
                } else {
                    [V_CVT_U16_F16, V_CVT_U32_F32, V_CVT_U32_F64]
                };
                let mut opcode = by_float(row, from)?;
                let mut arg = arg;
                if opcode == V_CVT_I32_F32
                    && let Some(InstKind::Intrinsic { intrinsic: Intrinsic::Floor, args }) =
                        self.foldable(arg).map(|data| &data.kind)
                {
                    (opcode, arg) = (V_CVT_FLR_I32_F32, args[0]);
                }
                let source = self.float_src(arg);
                let scalar = self.values[value].rep == Rep::Sgpr;
                let number = if scalar { self.new_vgpr(1) } else { dst };
                self.float_op(opcode, number, &[source]);
                if scalar {
                    self.emit(V_READFIRSTLANE_B32, [dst, number]);
                }
                Ok(())
            }
            CastOp::UiToFp | CastOp::SiToFp => self.int_to_float(data, arg, op == CastOp::SiToFp),
        }
    }

    fn int_to_float(&mut self, data: &InstData, arg: Value, signed: bool) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let to = self.float_of(data.ty)?;
        // One byte of a dword to float.
        if to == Float::Single
            && let Some((x, byte)) = self.byte_of(arg)
        {
            let opcode = [V_CVT_F32_UBYTE0, V_CVT_F32_UBYTE1, V_CVT_F32_UBYTE2, V_CVT_F32_UBYTE3][byte];
            let x = self.src(x);
            let x = self.sub(&x, 0, 1);
            self.vop(opcode, &[dst, x]);
            return Ok(());
        }
        let row = if signed {
            [V_CVT_F16_I16, V_CVT_F32_I32, V_CVT_F64_I32]
        } else {
            [V_CVT_F16_U16, V_CVT_F32_U32, V_CVT_F64_U32]
        };
        let opcode = by_float(row, to)?;
        let source = if to == Float::Half {
            self.src(arg)
        } else if signed {
            self.sext32(arg)
        } else {
            self.zext32(arg)
        };
        self.vop(opcode, &[dst, source]);
        Ok(())
    }

    /// `value` as byte `n` of a dword, zero-extended: loads, `x & 255`, `(x >> 8n) & 255`, `x >> 24`.
    fn byte_of(&self, value: Value) -> Option<(Value, usize)> {
        if self.f.ty(value) != Type::I32 || self.values[self.root(value).0].rep != Rep::Vgpr {
            return None;
        }
        let data = self.nearby(value)?;
        let shifted = |v: Value| match self.nearby(v).map(|d| &d.kind) {
            Some(InstKind::Binary { op: BinaryOp::LShr, args }) => {
                Some((args[0], self.shift_amount(args[1], 32).filter(|s| s % 8 == 0)? as usize / 8))
            }
            _ => None,
        };
        match &data.kind {
            InstKind::Binary { op: BinaryOp::And, args } if self.is_const_value(args[1], 255) => {
                Some(shifted(args[0]).unwrap_or((args[0], 0)))
            }
            InstKind::Binary { op: BinaryOp::LShr, args } if self.is_const_value(args[1], 24) => {
                Some((args[0], 3))
            }
            InstKind::Cast { op: CastOp::ZExt, arg } if self.f.ty(*arg) == Type::I8 => Some((*arg, 0)),
            _ => None,
        }
    }

    fn trunc_to_bool(&mut self, data: &InstData, arg: Value) -> Result<()> {
        let (value, dst) = self.result(data)?;
        if self.values[value].rep == Rep::Bool {
            let x = self.scalar_src(arg);
            let x = self.sub(&x, 0, 1);
            self.sop(S_AND_B32, &[dst, x, Operand::Imm(1)]);
            return Ok(());
        }
        let x = self.src(arg);
        let x = self.sub(&x, 0, 1);
        let bit = self.new_vgpr(1);
        self.vop(V_AND_B32, &[bit, Operand::Imm(1), x]);
        self.vop(V_CMP_EQ_U32, &[dst, Operand::Imm(1), bit]);
        Ok(())
    }

    /// Truncation that is no alias: the high half of a wide product, or a change of register file.
    fn trunc(&mut self, data: &InstData, arg: Value) -> Result<()> {
        let (value, dst) = self.result(data)?;
        if let Some(InstData { kind: InstKind::Binary { op: BinaryOp::LShr | BinaryOp::AShr, args }, .. }) =
            self.nearby(arg)
            && self.is_const_value(args[1], 32)
            && self.values[arg].uses == 1
            && let Some(([a, b], signed)) = self.wide_product(args[0])
        {
            if self.values[value].rep == Rep::Sgpr {
                let [a, b] = [self.factor(a, true), self.factor(b, true)];
                self.scalar_mul_high(dst, a, b, signed);
            } else {
                let [a, b] = [self.factor(a, false), self.factor(b, false)];
                self.vop(if signed { V_MUL_HI_I32 } else { V_MUL_HI_U32 }, &[dst, a, b]);
            }
            return Ok(());
        }
        let dwords = self.dwords(value);
        let x = self.src(arg);
        let x = self.sub(&x, 0, dwords);
        let x = if self.values[value].rep == Rep::Sgpr {
            self.in_sgpr(x, dwords)
        } else {
            self.in_vgpr(x, dwords)
        };
        self.emit(COPY, [dst, x]);
        Ok(())
    }

    /// `zext`, `sext` of a condition.
    fn extend_bool(&mut self, data: &InstData, arg: Value, signed: bool) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let one = if signed { -1 } else { 1 };
        let dwords = self.dwords(value);
        if self.values[value].rep == Rep::Sgpr {
            if !signed && dwords == 2 {
                let low = self.bool_src(arg)?;
                let parts = [self.in_sgpr(low, 1), self.in_sgpr(Operand::Imm(0), 1)];
                self.sequence(dst, &parts);
                return Ok(());
            }
            let scc = self.scc(arg)?;
            let [t, f] = if scc == Scc::True { [one, 0] } else { [0, one] };
            let opcode = if dwords == 2 { S_CSELECT_B64 } else { S_CSELECT_B32 };
            self.sop(opcode, &[dst, Operand::Imm(t), Operand::Imm(f)]);
            return Ok(());
        }
        let mask = self.mask(arg)?;
        let low = if dwords == 1 { dst } else { self.new_vgpr(1) };
        self.vop(V_CNDMASK_B32, &[low, Operand::Imm(0), Operand::Imm(one), mask]);
        if dwords == 2 {
            let high = if signed { low } else { self.in_vgpr(Operand::Imm(0), 1) };
            self.sequence(dst, &[low, high]);
        }
        Ok(())
    }

    fn extend(&mut self, data: &InstData, arg: Value, signed: bool) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let scalar = self.values[value].rep == Rep::Sgpr;
        let dwords = self.dwords(value);
        let bits = self.f.ty(arg).bits().unwrap_or(32) as u32;
        if matches!(data.ty, Type::Vector(..)) || bits > 32 {
            return Err(Diagnostic::unsupported("extension of this type"));
        }
        let known = bits == 32 || !signed && self.clears_upper_bits(arg) || signed && self.loads_signed(arg);
        if dwords == 1 {
            let x = if scalar { self.scalar_src(arg) } else { self.src(arg) };
            if known || x.as_imm().is_some() {
                let x = if signed { self.sext32(arg) } else { self.zext32(arg) };
                let x = if scalar { self.in_sgpr(x, 1) } else { self.in_vgpr(x, 1) };
                self.emit(COPY, [dst, x]);
            } else if scalar || self.is_vgpr(&x) {
                self.extend_into(dst, x, bits, signed);
            } else {
                let x = self.in_vgpr(x, 1);
                self.extend_into(dst, x, bits, signed);
            }
            return Ok(());
        }
        let low = if signed { self.sext32(arg) } else { self.zext32(arg) };
        let low = if scalar { self.in_sgpr(low, 1) } else { self.in_vgpr(low, 1) };
        let high = match (signed, scalar) {
            (false, true) => self.in_sgpr(Operand::Imm(0), 1),
            (false, false) => self.in_vgpr(Operand::Imm(0), 1),
            (true, _) if bits == 32 && self.is_sign_alone(arg) => low,
            (true, true) => {
                let high = self.new_sgpr(1);
                self.sop(S_ASHR_I32, &[high, low, Operand::Imm(31)]);
                high
            }
            (true, false) => {
                let high = self.new_vgpr(1);
                self.vop(V_ASHRREV_I32, &[high, Operand::Imm(31), low]);
                high
            }
        };
        self.sequence(dst, &[low, high]);
        Ok(())
    }

    /// Between the generic space and LDS or scratch through apertures; null maps to null. Constant memory of 32 bits gets
    /// its high half from an attribute.
    fn address_space_cast(&mut self, data: &InstData, arg: Value) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let space =
            |ty: Type| ty.addr_space().ok_or_else(|| Diagnostic::unsupported("cast of vectors of pointers"));
        let (from, to) = (space(self.f.ty(arg))?, space(data.ty)?);
        let scalar = self.values[value].rep == Rep::Sgpr;
        let place = |s| matches!(s, AddrSpace::LOCAL | AddrSpace::PRIVATE);
        match (from, to) {
            (AddrSpace::LOCAL | AddrSpace::PRIVATE, AddrSpace::FLAT) => {
                self.place_to_flat(dst, arg, from, scalar)
            }
            (AddrSpace::FLAT, AddrSpace::LOCAL | AddrSpace::PRIVATE) => self.flat_to_place(dst, arg, scalar),
            (_, AddrSpace::CONSTANT_32BIT) if from.pointer_bits() == 64 => {
                let x = if scalar { self.scalar_src(arg) } else { self.src(arg) };
                let x = self.sub(&x, 0, 1);
                let x = if scalar { self.in_sgpr(x, 1) } else { self.in_vgpr(x, 1) };
                self.emit(COPY, [dst, x]);
                Ok(())
            }
            (AddrSpace::CONSTANT_32BIT, _) if to.pointer_bits() == 64 => {
                let high = self.f.short_address_high_bits()?;
                let x = self.src(arg);
                let high = Operand::Imm(i64::from(high as i32));
                let parts = [x, high].map(|p| if scalar { self.in_sgpr(p, 1) } else { self.in_vgpr(p, 1) });
                self.sequence(dst, &parts);
                Ok(())
            }
            _ if from.pointer_bits() == to.pointer_bits() => self.copy_value(data, arg),
            // No address is both; LLVM makes such a cast undefined.
            _ if place(from) || place(to) || from == AddrSpace::REGION || to == AddrSpace::REGION => {
                let dwords = self.dwords(value);
                let zero = Operand::Imm(0);
                let zero = if scalar { self.in_sgpr(zero, dwords) } else { self.in_vgpr(zero, dwords) };
                self.emit(COPY, [dst, zero]);
                Ok(())
            }
            _ => Err(Diagnostic::unsupported(format!("cast from address space {} to {}", from.0, to.0))),
        }
    }

    /// The high half of flat addresses in LDS or scratch, in an SGPR. Source: AMDGPU usage guide, "Flat Address Space": GFX9
    /// has it in `src_shared_base` and `src_private_base`; before that the queue descriptor holds it at bytes 0x40 and 0x44. Systems without
    /// queues have it among the hidden arguments, if anywhere.
    pub(super) fn aperture(&mut self, space: AddrSpace) -> Operand {
        if self.target.has(Features::APERTURE_REGS) {
            let base = if space == AddrSpace::LOCAL { PReg::SHARED_BASE } else { PReg::PRIVATE_BASE };
            let pair = self.new_sgpr(2);
            self.emit(S_MOV_B64, [pair, Operand::preg(base, 2)]);
            return self.sub(&pair, 1, 1);
        }
        let out = self.new_sgpr(1);
        let local = space == AddrSpace::LOCAL;
        let hidden = kernarg::has_hidden_apertures(self.f, self.target);
        let (base, offset) = if self.is_dispatched() && !hidden {
            (self.entry_value(EntryValue::QueuePtr), if local { 0x40 } else { 0x44 })
        } else {
            let (base, start) = self.hidden_arguments();
            (base, start + i64::from(if local { kernarg::SHARED_BASE } else { kernarg::PRIVATE_BASE }))
        };
        let offset = self.scalar_load_offset(offset);
        self.emit(S_LOAD_DWORD, [out, base, offset]);
        out
    }

    /// Where traps find the queue, on processors before GFX9: its address in an SGPR pair.
    pub(super) fn queue_of_trap(&mut self) -> Operand {
        if !kernarg::has_hidden_apertures(self.f, self.target) {
            return self.entry_value(EntryValue::QueuePtr);
        }
        let out = self.new_sgpr(2);
        let (base, start) = self.hidden_arguments();
        let offset = self.scalar_load_offset(start + i64::from(kernarg::QUEUE_PTR));
        self.emit(S_LOAD_DWORDX2, [out, base, offset]);
        out
    }

    /// Base and byte offset of the hidden arguments of V5, which other systems have none of. Shaders and functions of drivers that pass
    /// none read below their base, as LLVM's do: such a driver has nothing in place that flat instructions could find scratch or LDS by.
    fn hidden_arguments(&mut self) -> (Operand, i64) {
        let called = self.mf.call_conv.is_callable();
        if called && matches!(self.target.os, Os::AmdHsa | Os::Unknown) {
            return (self.entry_value(EntryValue::ImplicitargPtr), 0);
        }
        if called || mir::abi::shader::is_shader(self.mf.call_conv) {
            let null = self.in_sgpr(Operand::Imm(0), 2);
            return (null, i64::from(kernarg::header_bytes(self.target)));
        }
        (self.entry_value(EntryValue::KernargSegmentPtr), i64::from(self.mf.kernarg.implicit_offset))
    }

    /// A byte offset as a scalar load takes it.
    fn scalar_load_offset(&mut self, bytes: i64) -> Operand {
        let offset = Operand::Imm(bytes);
        if self.target.limits().offsets.smem.contains(bytes, 0) { offset } else { self.in_sgpr(offset, 1) }
    }

    fn place_to_flat(&mut self, dst: Operand, arg: Value, from: AddrSpace, scalar: bool) -> Result<()> {
        if from == AddrSpace::PRIVATE {
            self.mf.uses_flat_scratch = true;
        }
        let high = self.aperture(from);
        // The address of an object is never null.
        if let Some(place) = self.const_int(arg).filter(|&p| p != -1) {
            let parts: SmallVec<[Operand; 2]> = [Operand::Imm(place), high]
                .into_iter()
                .map(|p| if scalar { self.in_sgpr(p, 1) } else { self.in_vgpr(p, 1) })
                .collect();
            self.sequence(dst, &parts);
            return Ok(());
        }
        if scalar {
            let low = self.scalar_src(arg);
            let low = self.in_sgpr(low, 1);
            let [lo, hi] = [self.new_sgpr(1), self.new_sgpr(1)];
            self.sop(S_CMP_LG_U32, &[low, Operand::Imm(-1)]);
            self.sop(S_CSELECT_B32, &[lo, low, Operand::Imm(0)]);
            self.sop(S_CSELECT_B32, &[hi, high, Operand::Imm(0)]);
            self.sequence(dst, &[lo, hi]);
            return Ok(());
        }
        let low = self.src(arg);
        let low = self.in_vgpr(low, 1);
        let valid = self.new_mask();
        self.vop(V_CMP_NE_U32, &[valid, Operand::Imm(-1), low]);
        let [lo, hi] = [self.new_vgpr(1), self.new_vgpr(1)];
        self.vop(V_CNDMASK_B32, &[lo, Operand::Imm(0), low, valid]);
        self.vop(V_CNDMASK_B32, &[hi, Operand::Imm(0), high, valid]);
        self.sequence(dst, &[lo, hi]);
        Ok(())
    }

    fn flat_to_place(&mut self, dst: Operand, arg: Value, scalar: bool) -> Result<()> {
        if scalar {
            let address = self.scalar_src(arg);
            let address = self.in_sgpr(address, 2);
            let low = self.sub(&address, 0, 1);
            if self.exists(S_CMP_LG_U64) {
                self.sop(S_CMP_LG_U64, &[address, Operand::Imm(0)]);
            } else {
                let dead = self.new_sgpr(2);
                self.sop(S_OR_B64, &[dead, address, Operand::Imm(0)]);
            }
            self.sop(S_CSELECT_B32, &[dst, low, Operand::Imm(-1)]);
            return Ok(());
        }
        let address = self.src(arg);
        let address = self.in_vgpr(address, 2);
        let low = self.sub(&address, 0, 1);
        let valid = self.new_mask();
        self.vop(V_CMP_NE_U64, &[valid, Operand::Imm(0), address]);
        self.vop(V_CNDMASK_B32, &[dst, Operand::Imm(-1), low, valid]);
        Ok(())
    }

    /// `amdgcn.is.shared`, `amdgcn.is.private`.
    pub(super) fn lower_is_place(&mut self, data: &InstData, arg: Value, space: AddrSpace) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let address = self.src(arg);
        let high = self.sub(&address, 1, 1);
        let high = self.in_vgpr(high, 1);
        let aperture = self.aperture(space);
        self.vop(V_CMP_EQ_U32, &[dst, aperture, high]);
        Ok(())
    }

    /// A plain float source without modifiers.
    pub(super) fn plain_float(&mut self, value: Value) -> FloatSrc {
        FloatSrc { operand: self.src(value), neg: false, abs: false }
    }
}
