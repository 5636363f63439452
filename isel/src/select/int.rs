//! Integer arithmetic, logic and shifts.
//!
//! Each rule says what it matches; more specific ones come first. Scalar forms are chosen by where the result lives, which
//! was decided from the operands; vector forms fold producers that have no other user.

use super::compare::Scc;
use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{BinaryOp, InstData, InstKind, Intrinsic, Type, Value};
use mir::isa::MaskOp;
use mir::isa::Opcode::{self, *};
use mir::machine::Operand;
use mir::target::Features;

/// How 24-bit factors are extended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Signed {
    Yes,
    No,
}

/// A product with a constant as shifts.
#[derive(Clone, Copy)]
pub(super) enum Shifts {
    /// With `(2^shift + 1) * 2^scale`.
    Sum { scale: u32, shift: u32 },
    /// With `2^shift - 1`.
    Difference { shift: u32 },
}

/// Scalar and vector opcodes of an operation on 16 and 32 bits, its packed form, and whether the vector one takes the
/// operands in reverse.
struct IntOps {
    scalar: Opcode,
    vector: Opcode,
    vector16: Opcode,
    packed: Opcode,
    reversed: bool,
}

fn int_ops(op: BinaryOp) -> Option<IntOps> {
    let (scalar, vector, vector16, packed, reversed) = match op {
        BinaryOp::Add => (S_ADD_U32, V_ADD_U32, V_ADD_U16, V_PK_ADD_U16, false),
        BinaryOp::Sub => (S_SUB_U32, V_SUB_U32, V_SUB_U16, V_PK_SUB_I16, false),
        BinaryOp::Mul => (S_MUL_I32, V_MUL_LO_U32, V_MUL_LO_U16, V_PK_MUL_LO_U16, false),
        BinaryOp::Shl => (S_LSHL_B32, V_LSHLREV_B32, V_LSHLREV_B16, V_PK_LSHLREV_B16, true),
        BinaryOp::LShr => (S_LSHR_B32, V_LSHRREV_B32, V_LSHRREV_B16, V_PK_LSHRREV_B16, true),
        BinaryOp::AShr => (S_ASHR_I32, V_ASHRREV_I32, V_ASHRREV_I16, V_PK_ASHRREV_I16, true),
        BinaryOp::And => (S_AND_B32, V_AND_B32, V_AND_B32, V_AND_B32, false),
        BinaryOp::Or => (S_OR_B32, V_OR_B32, V_OR_B32, V_OR_B32, false),
        BinaryOp::Xor => (S_XOR_B32, V_XOR_B32, V_XOR_B32, V_XOR_B32, false),
        _ => return None,
    };
    Some(IntOps { scalar, vector, vector16, packed, reversed })
}

fn is_logic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
}

pub(super) fn is_shift(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr)
}

impl<'a> Selector<'a> {
    pub(super) fn lower_binary(&mut self, data: &InstData, op: BinaryOp, args: [Value; 2]) -> Result<()> {
        let (value, dst) = self.result(data)?;
        if data.ty == Type::I1 {
            return self.lower_logic_i1(value, dst, op, args);
        }
        if matches!(op, BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul) {
            return self.lower_float_binary(data, dst, op, args);
        }
        if op == BinaryOp::Or
            && let Some(whole) = self.half_result(value, 0)
        {
            self.emit(COPY, [dst, whole]);
            return Ok(());
        }
        let ops = int_ops(op).ok_or_else(|| Diagnostic::unsupported("division left for selection"))?;
        let bits = data.ty.bits().expect("operands of arithmetic are scalars or vectors");
        let packed = matches!(data.ty, Type::Vector(..));
        let scalar = self.values[value].rep == Rep::Sgpr;
        match (bits, scalar) {
            (32, _) if packed => {
                if scalar && is_logic(op) {
                    self.scalar_32(dst, &ops, args, 32);
                } else {
                    self.packed_16(dst, &ops, op, args);
                }
                Ok(())
            }
            (16 | 32, true) => self.scalar_narrow(dst, op, &ops, args, bits as u32),
            (16, false) => {
                let [a, b] = [self.src(args[0]), self.src(args[1])];
                let [a, b] = if ops.reversed { [b, a] } else { [a, b] };
                let op = match ops.vector16 {
                    V_ADD_U16 if !self.exists(V_ADD_U16) => V_ADD_NC_U16,
                    V_SUB_U16 if !self.exists(V_SUB_U16) => V_SUB_NC_U16,
                    op => op,
                };
                self.vop(op, &[dst, a, b]);
                Ok(())
            }
            (32, false) => self.vector_32(dst, op, &ops, args),
            (64, true) => self.scalar_64(value, dst, op, args),
            (64, false) => self.vector_64(value, dst, op, args),
            _ => Err(Diagnostic::unsupported("integer width that selection does not know")),
        }
    }

    fn scalar_32(&mut self, dst: Operand, ops: &IntOps, args: [Value; 2], _bits: u32) {
        let [a, b] = [self.scalar_src(args[0]), self.scalar_src(args[1])];
        self.sop(ops.scalar, &[dst, a, b]);
    }

    fn packed_16(&mut self, dst: Operand, ops: &IntOps, op: BinaryOp, args: [Value; 2]) {
        let args = if ops.reversed { [args[1], args[0]] } else { args };
        if is_logic(op) {
            let [a, b] = args.map(|arg| self.src(arg));
            self.vop(ops.vector, &[dst, a, b]);
        } else {
            self.packed_op(ops.packed, dst, &args);
        }
    }

    /// 16 and 32 bits on the scalar unit. A right shift of 16 bits needs its operand extended.
    fn scalar_narrow(
        &mut self,
        dst: Operand,
        op: BinaryOp,
        ops: &IntOps,
        args: [Value; 2],
        bits: u32,
    ) -> Result<()> {
        // Bit fields: (x >> k) & mask.
        if bits == 32 && op == BinaryOp::And {
            if let Some((x, shift, width)) = self.bit_field(args) {
                let x = self.scalar_src(x);
                self.sop(S_BFE_U32, &[dst, x, Operand::Imm(shift | width << 16)]);
                return Ok(());
            }
            // a & ~b
            if let Some((a, b)) = self.and_not(args) {
                let [a, b] = [self.scalar_src(a), self.scalar_src(b)];
                self.sop(S_ANDN2_B32, &[dst, a, b]);
                return Ok(());
            }
        }
        // (x << a) >> b with b >= a.
        if bits == 32
            && let Some((x, shift, width)) = self.shifted_field(op, args)
        {
            let x = self.scalar_src(x);
            match (op, shift, width) {
                (BinaryOp::AShr, 0, 8) => self.sop(S_SEXT_I32_I8, &[dst, x]),
                (BinaryOp::AShr, 0, 16) => self.sop(S_SEXT_I32_I16, &[dst, x]),
                (BinaryOp::AShr, ..) => self.sop(S_BFE_I32, &[dst, x, Operand::Imm(shift | width << 16)]),
                _ => self.sop(S_BFE_U32, &[dst, x, Operand::Imm(shift | width << 16)]),
            }
            return Ok(());
        }
        if bits == 32
            && op == BinaryOp::Add
            && (self.count_pair(dst, args) || self.scalar_shift_add(dst, args))
        {
            return Ok(());
        }
        if bits == 32
            && matches!(op, BinaryOp::Add | BinaryOp::Sub)
            && self.add_uniform_condition(dst, op, args)?
        {
            return Ok(());
        }
        if op == BinaryOp::Xor && self.is_const_value(args[1], -1) {
            let a = self.scalar_src(args[0]);
            self.sop(S_NOT_B32, &[dst, a]);
            return Ok(());
        }
        let a = match op {
            BinaryOp::LShr if bits == 16 => {
                let x = self.zext32(args[0]);
                if x.as_imm().is_some() { x } else { self.in_sgpr(x, 1) }
            }
            BinaryOp::AShr if bits == 16 => {
                let x = self.sext32(args[0]);
                if x.as_imm().is_some() { x } else { self.in_sgpr(x, 1) }
            }
            _ => self.scalar_src(args[0]),
        };
        let b = self.scalar_src(args[1]);
        // `s_addk_i32` and its kin are the encoder's to find; a small negative addend is an inline constant anyway.
        self.sop(ops.scalar, &[dst, a, b]);
        Ok(())
    }

    fn vector_32(&mut self, dst: Operand, op: BinaryOp, ops: &IntOps, args: [Value; 2]) -> Result<()> {
        if op == BinaryOp::Add
            && let Some((rest, sum)) = self.uniform_part(args, 32)
        {
            let rest = self.src(rest);
            self.vector_add(dst, sum, rest);
            return Ok(());
        }
        let done = match op {
            BinaryOp::Add => self.add_difference(dst, args),
            BinaryOp::Sub => self.plain_difference(dst, &InstKind::Binary { op, args }, Type::I32),
            BinaryOp::Or => self.join_fields(dst, args),
            _ => false,
        };
        let is_sum = matches!(op, BinaryOp::Add | BinaryOp::Sub);
        if done || is_sum && self.add_condition(dst, op, args)? || self.three_operand(dst, op, args) {
            return Ok(());
        }
        match op {
            BinaryOp::And => {
                // (x >> k) & (2^n - 1)
                if let Some((x, shift, width)) = self.bit_field(args) {
                    let x = self.src(x);
                    self.vop(V_BFE_U32, &[dst, x, Operand::Imm(shift), Operand::Imm(width)]);
                    return Ok(());
                }
                if let Some((x, shift, width)) = self.variable_bit_field(args) {
                    let [x, shift] = [x, shift].map(|value| self.src(value));
                    self.vop(V_BFE_U32, &[dst, x, shift, Operand::Imm(width)]);
                    return Ok(());
                }
            }
            BinaryOp::AShr | BinaryOp::LShr => {
                // (x << a) >> b with b >= a
                if let (Some(right), Some((x, left))) =
                    (self.shift_amount(args[1], 32), self.fold_shl(args[0]))
                    && right >= left
                    && left > 0
                {
                    let bfe = if op == BinaryOp::AShr { V_BFE_I32 } else { V_BFE_U32 };
                    let x = self.src(x);
                    self.vop(bfe, &[dst, x, Operand::Imm(right - left), Operand::Imm(32 - right)]);
                    return Ok(());
                }
            }
            BinaryOp::Mul => {
                // 24-bit factors multiply at full rate, others at a quarter of it.
                if self.are_24_bits(args).is_none() && self.multiply_by_shifts(dst, args) {
                    return Ok(());
                }
                let (op, args) = match self.are_24_bits(args) {
                    Some(Signed::No) => (V_MUL_U32_U24, args.map(|v| self.low_24_bits(v))),
                    Some(Signed::Yes) => (V_MUL_I32_I24, args.map(|v| self.low_24_bits(v))),
                    None => (V_MUL_LO_U32, args),
                };
                let [a, b] = args.map(|v| self.src(v));
                self.vop(op, &[dst, a, b]);
                return Ok(());
            }
            BinaryOp::Xor if self.is_const_value(args[1], -1) => {
                let a = self.src(args[0]);
                self.vop(V_NOT_B32, &[dst, a]);
                return Ok(());
            }
            BinaryOp::Add => {
                let [a, b] = [self.src(args[0]), self.src(args[1])];
                self.vector_add(dst, a, b);
                return Ok(());
            }
            BinaryOp::Sub => {
                let [a, b] = [self.src(args[0]), self.src(args[1])];
                self.vector_sub(dst, a, b);
                return Ok(());
            }
            _ => {}
        }
        let [a, b] = [self.src(args[0]), self.src(args[1])];
        let [a, b] = if ops.reversed { [b, a] } else { [a, b] };
        self.vop(ops.vector, &[dst, a, b]);
        Ok(())
    }

    /// A product with a constant as one or two instructions at full rate, if there are such.
    fn multiply_by_shifts(&mut self, dst: Operand, args: [Value; 2]) -> bool {
        let Some(shifts) = self.shifts_of_product(args[1]) else { return false };
        let mut x = self.src(args[0]);
        match shifts {
            Shifts::Sum { scale, shift } => {
                if scale > 0 {
                    let scaled = self.new_vgpr(1);
                    self.vop(V_LSHLREV_B32, &[scaled, Operand::Imm(scale.into()), x]);
                    x = scaled;
                }
                if self.target.has(Features::THREE_OP_INT) {
                    self.vop(V_LSHL_ADD_U32, &[dst, x, Operand::Imm(shift.into()), x]);
                } else {
                    let shifted = self.new_vgpr(1);
                    self.vop(V_LSHLREV_B32, &[shifted, Operand::Imm(shift.into()), x]);
                    self.vector_add(dst, x, shifted);
                }
            }
            Shifts::Difference { shift } => {
                let shifted = self.new_vgpr(1);
                self.vop(V_LSHLREV_B32, &[shifted, Operand::Imm(shift.into()), x]);
                self.vector_sub(dst, shifted, x);
            }
        }
        true
    }

    /// How a product with `factor`, if that is a constant, is one or two instructions at full rate: with 2^n ± 1, and with a multiple of 2^n + 1 by 2^m
    /// where shift and addition are one.
    pub(super) fn shifts_of_product(&self, factor: Value) -> Option<Shifts> {
        let factor = self.const_int(factor)? as u32;
        let scale = factor.trailing_zeros();
        let below = (factor >> scale.min(31)).wrapping_sub(1);
        if below.is_power_of_two() && (scale == 0 || self.target.has(Features::THREE_OP_INT)) {
            return Some(Shifts::Sum { scale, shift: below.trailing_zeros() });
        }
        let above = factor.wrapping_add(1);
        (factor > 1 && above.is_power_of_two()).then(|| Shifts::Difference { shift: above.trailing_zeros() })
    }

    /// `dst = a + b` of 32 bits; older targets write a carry that nobody reads.
    pub(super) fn vector_add(&mut self, dst: Operand, a: Operand, b: Operand) {
        if self.target.has(Features::ADD_NO_CARRY) {
            self.vop(V_ADD_U32, &[dst, a, b]);
        } else {
            let carry = self.new_mask();
            self.vop(V_ADD_CO_U32, &[dst, carry, a, b]);
        }
    }

    /// `dst = a - b` of 32 bits. The second source is better a VGPR: `v_subrev` swaps.
    pub(super) fn vector_sub(&mut self, dst: Operand, a: Operand, b: Operand) {
        let reverse = !self.is_vgpr(&b) && self.is_vgpr(&a);
        let (a, b) = if reverse { (b, a) } else { (a, b) };
        if self.target.has(Features::ADD_NO_CARRY) {
            self.vop(if reverse { V_SUBREV_U32 } else { V_SUB_U32 }, &[dst, a, b]);
        } else {
            let carry = self.new_mask();
            self.vop(if reverse { V_SUBREV_CO_U32 } else { V_SUB_CO_U32 }, &[dst, carry, a, b]);
        }
    }

    /// Operands of `value` if it is a divergent 32-bit `op` of this block that has no other user.
    pub(super) fn fold_binary(&self, value: Value, op: BinaryOp) -> Option<[Value; 2]> {
        let data = self.foldable(value)?;
        match data.kind {
            InstKind::Binary { op: found, args } if found == op && data.ty == self.f.ty(value) => Some(args),
            _ => None,
        }
    }

    /// What `value` counts the bits of, if that is divergent, has 32 bits, is in this block and has no other user.
    pub(super) fn fold_ctpop(&self, value: Value) -> Option<Value> {
        match &self.foldable(value)?.kind {
            InstKind::Intrinsic { intrinsic: Intrinsic::Ctpop, args } => Some(args[0]),
            _ => None,
        }
    }

    /// The producer of `value` if folding it into its only user costs nothing: same block, vector unit.
    pub(super) fn foldable(&self, value: Value) -> Option<&'a InstData> {
        let info = &self.values[value];
        if info.uses != 1 || info.crosses_blocks || info.rep != Rep::Vgpr || info.reg.is_some() {
            return None;
        }
        let inst = self.f.def_inst(value)?;
        (self.home[inst].expand() == Some(self.block)).then(|| &self.f.insts[inst])
    }

    /// The producer of `value` in this block, whoever else uses it.
    pub(super) fn nearby(&self, value: Value) -> Option<&'a InstData> {
        let inst = self.f.def_inst(value)?;
        (self.home[inst].expand() == Some(self.block)).then(|| &self.f.insts[inst])
    }

    /// `x << constant` that may be folded: (x, constant).
    pub(super) fn fold_shl(&self, value: Value) -> Option<(Value, i64)> {
        let [x, amount] = self.fold_binary(value, BinaryOp::Shl)?;
        Some((x, self.shift_amount(amount, 32)?))
    }

    /// A constant shift amount below `bits`.
    pub(super) fn shift_amount(&self, value: Value, bits: i64) -> Option<i64> {
        self.const_int(value).filter(|amount| (0..bits).contains(amount))
    }

    /// `(x >> shift) & (2^width - 1)` as (x, shift, width), where the shift is near.
    fn bit_field(&self, args: [Value; 2]) -> Option<(Value, i64, i64)> {
        let mask = self.const_int(args[1])? as u32;
        if mask == 0 || mask.wrapping_add(1) & mask != 0 {
            return None;
        }
        let width = i64::from(mask.count_ones());
        let data = self.nearby(args[0])?;
        match data.kind {
            InstKind::Binary { op: BinaryOp::LShr, args: [x, amount] } if data.ty == Type::I32 => {
                let shift = self.shift_amount(amount, 32)?;
                (shift + width <= 32).then_some((x, shift, width))
            }
            _ => None,
        }
    }

    /// The same with a shift that is no constant and that nobody else wants.
    fn variable_bit_field(&self, args: [Value; 2]) -> Option<(Value, Value, i64)> {
        let mask = self.const_int(args[1])? as u32;
        if mask == 0 || mask.wrapping_add(1) & mask != 0 || self.values[args[0]].uses != 1 {
            return None;
        }
        let data = self.nearby(args[0])?;
        match data.kind {
            InstKind::Binary { op: BinaryOp::LShr, args: [x, amount] }
                if data.ty == Type::I32 && self.const_int(amount).is_none() =>
            {
                Some((x, amount, i64::from(mask.count_ones())))
            }
            _ => None,
        }
    }

    /// `(x << a) >> b` with b >= a > 0 as (x, shift, width) of the field that is left, where the shift is near.
    fn shifted_field(&self, op: BinaryOp, args: [Value; 2]) -> Option<(Value, i64, i64)> {
        if !matches!(op, BinaryOp::AShr | BinaryOp::LShr) {
            return None;
        }
        let right = self.shift_amount(args[1], 32)?;
        let InstKind::Binary { op: BinaryOp::Shl, args: [x, amount] } = self.nearby(args[0])?.kind else {
            return None;
        };
        let left = self.shift_amount(amount, 32)?;
        (right >= left && left > 0).then_some((x, right - left, 32 - right))
    }

    /// `a & ~b` as (a, b), the complement being near.
    fn and_not(&self, args: [Value; 2]) -> Option<(Value, Value)> {
        for [a, not] in [args, [args[1], args[0]]] {
            if let Some(data) = self.nearby(not)
                && let InstKind::Binary { op: BinaryOp::Xor, args: [b, ones] } = data.kind
                && self.is_const_value(ones, -1)
            {
                return Some((a, b));
            }
        }
        None
    }

    /// `and`, `or`, `xor` of conditions.
    fn lower_logic_i1(&mut self, value: Value, dst: Operand, op: BinaryOp, args: [Value; 2]) -> Result<()> {
        if self.values[value].rep == Rep::Bool {
            if op == BinaryOp::Xor && self.is_const_value(args[1], -1) {
                let scc = self.scc(args[0])?;
                let [t, f] = if scc == Scc::True { [0, 1] } else { [1, 0] };
                self.sop(S_CSELECT_B32, &[dst, Operand::Imm(t), Operand::Imm(f)]);
                return Ok(());
            }
            let [a, b] = [self.bool_src(args[0])?, self.bool_src(args[1])?];
            let opcode = match op {
                BinaryOp::And => S_AND_B32,
                BinaryOp::Or => S_OR_B32,
                BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub => S_XOR_B32,
                _ => return Err(Diagnostic::unsupported("arithmetic on i1")),
            };
            self.sop(opcode, &[dst, a, b]);
            return Ok(());
        }
        if matches!(op, BinaryOp::Xor) && self.is_const_value(args[1], -1) {
            let a = self.mask(args[0])?;
            self.mask_sop(MaskOp::Not, &[dst, a]);
            return Ok(());
        }
        // A condition of the wave chooses between the mask and all lanes or none.
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            for [cond, other] in [args, [args[1], args[0]]] {
                if self.decides_once(cond) && !self.decides_once(other) {
                    let mask = self.mask(other)?;
                    let [t, f] = match op {
                        BinaryOp::And => [mask, Operand::Imm(0)],
                        _ => [Operand::Imm(-1), mask],
                    };
                    return self.scalar_select(MaskOp::Select.opcode(self.mf.wave), dst, cond, t, f);
                }
            }
        }
        // a & ~b, a | ~b
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            for [a, not] in [args, [args[1], args[0]]] {
                if let Some(data) = self.nearby(not)
                    && let InstKind::Binary { op: BinaryOp::Xor, args: [b, ones] } = data.kind
                    && self.is_const_value(ones, -1)
                    && self.values[not].uses == 1
                {
                    let [a, b] = [self.mask(a)?, self.mask(b)?];
                    self.mask_sop(
                        if op == BinaryOp::And { MaskOp::AndN2 } else { MaskOp::OrN2 },
                        &[dst, a, b],
                    );
                    return Ok(());
                }
            }
        }
        let [a, b] = [self.mask(args[0])?, self.mask(args[1])?];
        let opcode = match op {
            BinaryOp::And => MaskOp::And,
            BinaryOp::Or => MaskOp::Or,
            BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub => MaskOp::Xor,
            _ => return Err(Diagnostic::unsupported("arithmetic on i1")),
        };
        self.mask_sop(opcode, &[dst, a, b]);
        Ok(())
    }
}
