//! Intrinsics of arithmetic that take more than one instruction, or one of several.

use super::float::by_float;
use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{BinaryOp, InstData, InstKind, Intrinsic, Type, Value};
use mir::isa::Opcode::*;
use mir::isa::{MaskOp, ValueType};
use mir::machine::{ModFlags, Modifiers, Operand};

impl<'a> Selector<'a> {
    /// GFX8 and later have no clamping `v_rsq`: the result is clamped to the finite range.
    pub(super) fn rsq_clamp(&mut self, data: &InstData, arg: Value) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let float = self.float_of(data.ty)?;
        let clamping = by_float([V_NOP, V_RSQ_CLAMP_F32, V_RSQ_CLAMP_F64], float)?;
        let x = self.float_src(arg);
        if self.exists(clamping) {
            self.float_op(clamping, dst, &[x]);
            return Ok(());
        }
        let (rsq, min, max, largest) = match self.dwords(value) {
            1 => (V_RSQ_F32, V_MIN_F32, V_MAX_F32, 0x7f7f_ffffu64),
            _ => (V_RSQ_F64, V_MIN_F64, V_MAX_F64, 0x7fef_ffff_ffff_ffff),
        };
        let dwords = self.dwords(value);
        let [root, below] = [self.new_vgpr(dwords), self.new_vgpr(dwords)];
        self.float_op(rsq, root, &[x]);
        let constant =
            |bits: u64| Operand::Imm(if dwords == 1 { i64::from(bits as u32 as i32) } else { bits as i64 });
        let sign = if dwords == 1 { 1 << 31 } else { 1 << 63 };
        self.vop(min, &[below, constant(largest), root]);
        self.vop(max, &[dst, constant(largest | sign), below]);
        Ok(())
    }

    pub(super) fn int_min_max(
        &mut self,
        data: &InstData,
        intrinsic: Intrinsic,
        args: &[Value],
    ) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let row = match intrinsic {
            Intrinsic::Smin => [S_MIN_I32, V_MIN_I32, V_MIN_I16, V_PK_MIN_I16],
            Intrinsic::Smax => [S_MAX_I32, V_MAX_I32, V_MAX_I16, V_PK_MAX_I16],
            Intrinsic::Umin => [S_MIN_U32, V_MIN_U32, V_MIN_U16, V_PK_MIN_U16],
            _ => [S_MAX_U32, V_MAX_U32, V_MAX_U16, V_PK_MAX_U16],
        };
        let signed = matches!(intrinsic, Intrinsic::Smin | Intrinsic::Smax);
        if self.values[value].rep == Rep::Sgpr {
            if intrinsic == Intrinsic::Smax
                && data.ty == Type::I32
                && let Some(x) = self.magnitude(args)
            {
                let x = self.scalar_src(x);
                self.sop(S_ABS_I32, &[dst, x]);
                return Ok(());
            }
            if intrinsic == Intrinsic::Umin && data.ty == Type::I32 && self.search_pair(dst, args) {
                return Ok(());
            }
            let [a, b] = [args[0], args[1]].map(|v| {
                let x = if signed { self.sext32(v) } else { self.zext32(v) };
                if x.as_imm().is_some() { x } else { self.in_sgpr(x, 1) }
            });
            self.sop(row[0], &[dst, a, b]);
            return Ok(());
        }
        if data.ty == Type::I32 && self.median(dst, intrinsic, args) {
            return Ok(());
        }
        if data.ty == Type::I32
            && let Some(values) = self.nested(intrinsic, args)
        {
            let op = match intrinsic {
                Intrinsic::Smin => V_MIN3_I32,
                Intrinsic::Smax => V_MAX3_I32,
                Intrinsic::Umin => V_MIN3_U32,
                _ => V_MAX3_U32,
            };
            let [a, b, c] = values.map(|v| self.src(v));
            self.vop(op, &[dst, a, b, c]);
            return Ok(());
        }
        if Self::is_packed(data.ty) {
            self.packed_op(row[3], dst, args);
            return Ok(());
        }
        let op = if data.ty.bits() == Some(16) { row[2] } else { row[1] };
        let [a, b] = [self.src(args[0]), self.src(args[1])];
        self.vop(op, &[dst, a, b]);
        Ok(())
    }

    /// The x of `max(x, 0 - x)`, whose largest magnitude stays as it is in either form.
    fn magnitude(&self, args: &[Value]) -> Option<Value> {
        let is_negated = |x: Value, other: Value| {
            matches!(
                self.nearby(other).map(|data| &data.kind),
                Some(&InstKind::Binary { op: BinaryOp::Sub, args: [zero, y] })
                    if y == x && self.const_int(zero) == Some(0)
            )
        };
        let &[a, b] = args else { return None };
        if is_negated(a, b) { Some(a) } else { is_negated(b, a).then_some(b) }
    }

    /// `max(min(x, hi), lo)` and `min(max(x, lo), hi)` of constants `lo <= hi`: the median.
    pub(super) fn median(&mut self, dst: Operand, outer: Intrinsic, args: &[Value]) -> bool {
        let opposite = match outer {
            Intrinsic::Smin => Intrinsic::Smax,
            Intrinsic::Smax => Intrinsic::Smin,
            Intrinsic::Umin => Intrinsic::Umax,
            _ => Intrinsic::Umin,
        };
        let Some(outer_bound) = self.const_int(args[1]) else { return false };
        let Some(mir::ir::InstKind::Intrinsic { intrinsic, args: inner }) =
            self.foldable(args[0]).map(|d| &d.kind)
        else {
            return false;
        };
        if *intrinsic != opposite {
            return false;
        }
        let Some(inner_bound) = self.const_int(inner[1]) else { return false };
        let signed = matches!(outer, Intrinsic::Smin | Intrinsic::Smax);
        let (low, high) = if matches!(outer, Intrinsic::Smax | Intrinsic::Umax) {
            (outer_bound, inner_bound)
        } else {
            (inner_bound, outer_bound)
        };
        let ordered = if signed { low <= high } else { low as u32 <= high as u32 };
        // Two literals would cost a move more than the two instructions.
        let inline = |v| self.is_inline(v, mir::isa::ValueType::B32);
        if !ordered || !(inline(low) || inline(high)) {
            return false;
        }
        let x = self.src(inner[0]);
        let op = if signed { V_MED3_I32 } else { V_MED3_U32 };
        self.vop(op, &[dst, x, Operand::Imm(low), Operand::Imm(high)]);
        true
    }

    pub(super) fn byte_swap(&mut self, data: &InstData, arg: Value) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let x = self.vgpr(arg);
        if self.exists(V_PERM_B32) {
            self.vop(V_PERM_B32, &[dst, Operand::Imm(0), x, Operand::Imm(0x0001_0203)]);
            return Ok(());
        }
        let [left, right] = [self.new_vgpr(1), self.new_vgpr(1)];
        self.vop(V_ALIGNBIT_B32, &[left, x, x, Operand::Imm(24)]);
        self.vop(V_ALIGNBIT_B32, &[right, x, x, Operand::Imm(8)]);
        self.vop(V_BFI_B32, &[dst, Operand::Imm(0x00ff_00ff), left, right]);
        Ok(())
    }

    /// `fshr`: the low dword of `{a, b} >> (c mod 32)`.
    pub(super) fn funnel_right(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let (value, dst) = self.result(data)?;
        if self.values[value].rep != Rep::Sgpr {
            let [a, b, c] = [self.src(args[0]), self.src(args[1]), self.src(args[2])];
            let c = match c {
                Operand::Imm(amount) => Operand::Imm(amount & 31),
                other => other,
            };
            self.vop(V_ALIGNBIT_B32, &[dst, a, b, c]);
            return Ok(());
        }
        let parts = [self.sgpr(args[1]), self.sgpr(args[0])];
        let pair = self.new_sgpr(2);
        self.sequence(pair, &parts);
        let amount = match self.scalar_src(args[2]) {
            Operand::Imm(amount) => Operand::Imm(amount & 31),
            other => {
                let out = self.new_sgpr(1);
                self.sop(S_AND_B32, &[out, other, Operand::Imm(31)]);
                out
            }
        };
        let shifted = self.new_sgpr(2);
        self.sop(S_LSHR_B64, &[shifted, pair, amount]);
        let low = self.sub(&shifted, 0, 1);
        self.emit(COPY, [dst, low]);
        Ok(())
    }

    pub(super) fn bit_field_extract(&mut self, data: &InstData, args: &[Value], signed: bool) -> Result<()> {
        let (value, dst) = self.result(data)?;
        if self.values[value].rep == Rep::Sgpr
            && let (Some(offset), Some(width)) = (self.const_int(args[1]), self.const_int(args[2]))
        {
            let x = self.scalar_src(args[0]);
            let field = offset & 31 | (width & 31) << 16;
            self.sop(if signed { S_BFE_I32 } else { S_BFE_U32 }, &[dst, x, Operand::Imm(field)]);
            return Ok(());
        }
        self.plain(if signed { V_BFE_I32 } else { V_BFE_U32 }, dst, args)
    }

    /// `div.scale(numerator, denominator, select)`: the instruction reads the operand to scale first, then denominator
    /// and numerator. Source: GCN3 ISA, `V_DIV_SCALE_F32`.
    pub(super) fn div_scale(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let op = by_float([V_NOP, V_DIV_SCALE_F32, V_DIV_SCALE_F64], self.float_of(self.f.ty(args[0]))?)?;
        if op == V_NOP {
            return Err(Diagnostic::unsupported("div.scale of half"));
        }
        let [n, d] = [self.src(args[0]), self.src(args[1])];
        let scaled = if self.immediate(args[2])? & 1 != 0 { n } else { d };
        let flag = match self.seconds.get(&value) {
            Some(&reg) => Operand::mask(reg, self.mf.wave),
            None => self.new_mask(),
        };
        // The two operands that are the same must stay the same. An inline constant may be one, and one register may be scalar.
        let dwords = self.dwords(args[0]);
        let ty = if op == V_DIV_SCALE_F64 { ValueType::F64 } else { ValueType::F32 };
        let stays = |this: &Self, x: &Operand| x.as_imm().is_some_and(|imm| this.is_inline(imm, ty));
        let d2 = if stays(self, &d) || self.is_sgpr(&d) { d } else { self.in_vgpr(d, dwords) };
        let alone = self.is_sgpr(&n) && !self.is_sgpr(&d2);
        let n2 = if stays(self, &n) || alone { n } else { self.in_vgpr(n, dwords) };
        let scaled = if scaled == n { n2 } else { d2 };
        self.emit(op, [dst, flag, scaled, d2, n2]);
        Ok(())
    }

    /// `div.fmas` reads VCC, which takes the constant bus.
    pub(super) fn div_fmas(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let op = by_float([V_NOP, V_DIV_FMAS_F32, V_DIV_FMAS_F64], self.float_of(data.ty)?)?;
        if op == V_NOP {
            return Err(Diagnostic::unsupported("div.fmas of half"));
        }
        let dwords = self.dwords(value);
        let sources = [args[0], args[1], args[2]].map(|v| {
            let x = self.src(v);
            self.in_vgpr(x, dwords)
        });
        let mask = self.mask(args[3])?;
        self.mask_sop(MaskOp::Mov, &[Operand::vcc(self.mf.wave), mask]);
        self.emit(op, [dst, sources[0], sources[1], sources[2]]);
        Ok(())
    }

    pub(super) fn dot_product(
        &mut self,
        data: &InstData,
        intrinsic: Intrinsic,
        args: &[Value],
    ) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let op = match intrinsic {
            Intrinsic::Sdot2 => V_DOT2_I32_I16,
            Intrinsic::Udot2 => V_DOT2_U32_U16,
            Intrinsic::Sdot4 => V_DOT4_I32_I8,
            Intrinsic::Udot4 => V_DOT4_U32_U8,
            Intrinsic::Sdot8 => V_DOT8_I32_I4,
            Intrinsic::Udot8 => V_DOT8_U32_U4,
            _ => V_DOT2_F32_F16,
        };
        if !self.exists(op) {
            return Err(Diagnostic::unsupported(format!("{} on {}", op.info().name, self.target)));
        }
        let &[a, b, c, clamp] = args else { return Err(Diagnostic::malformed("four arguments expected")) };
        let clamp = self.immediate(clamp)? & 1 != 0;
        let [a, b, c] = [self.src(a), self.src(b), self.src(c)];
        // Second products are of the upper halves.
        let mut mods = Modifiers { op_sel_hi: 7, ..Modifiers::default() };
        if clamp {
            mods.flags |= ModFlags::CLAMP;
        }
        self.vop_mods(op, &[dst, a, b, c], mods);
        Ok(())
    }

    // Across lanes.
}
