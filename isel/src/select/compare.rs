//! Comparisons and conditions. Choices by them are in [`super::choices`].
//!
//! A condition is wanted in one of three forms: in SCC right before its reader ([`Selector::scc`]), as a lane mask
//! ([`Selector::mask`]), as 0 or 1 in an SGPR ([`Selector::bool_src`]). A scalar comparison of the same block is repeated at
//! each reader of SCC, since that costs one instruction, as much as testing a saved bit.

use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{
    BinaryOp, CastOp, Float, FloatPredicate, InstData, InstKind, IntPredicate, Scalar, Type, Value,
};
use mir::isa::MaskOp;
use mir::isa::Opcode::{self, *};
use mir::machine::{Modifiers, Operand};

/// Most masks that wait to be made outside of the loops that use them.
const MAX_OUTER_MASKS: usize = 8;

/// How SCC holds a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scc {
    /// SCC is the condition.
    True,
    /// SCC is its opposite.
    False,
}

impl Scc {
    fn negate(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
        }
    }
}

/// Scalar comparison of 32 bits.
fn scalar_op(predicate: IntPredicate) -> Opcode {
    match predicate {
        IntPredicate::Eq => S_CMP_EQ_U32,
        IntPredicate::Ne => S_CMP_LG_U32,
        IntPredicate::Ugt => S_CMP_GT_U32,
        IntPredicate::Uge => S_CMP_GE_U32,
        IntPredicate::Ult => S_CMP_LT_U32,
        IntPredicate::Ule => S_CMP_LE_U32,
        IntPredicate::Sgt => S_CMP_GT_I32,
        IntPredicate::Sge => S_CMP_GE_I32,
        IntPredicate::Slt => S_CMP_LT_I32,
        IntPredicate::Sle => S_CMP_LE_I32,
    }
}

/// Vector comparison by width 16, 32, 64.
#[rustfmt::skip]
fn vector_int_op(predicate: IntPredicate, bits: u64) -> Opcode {
    let row = match predicate {
        IntPredicate::Eq  => [V_CMP_EQ_U16, V_CMP_EQ_U32, V_CMP_EQ_U64],
        IntPredicate::Ne  => [V_CMP_NE_U16, V_CMP_NE_U32, V_CMP_NE_U64],
        IntPredicate::Ugt => [V_CMP_GT_U16, V_CMP_GT_U32, V_CMP_GT_U64],
        IntPredicate::Uge => [V_CMP_GE_U16, V_CMP_GE_U32, V_CMP_GE_U64],
        IntPredicate::Ult => [V_CMP_LT_U16, V_CMP_LT_U32, V_CMP_LT_U64],
        IntPredicate::Ule => [V_CMP_LE_U16, V_CMP_LE_U32, V_CMP_LE_U64],
        IntPredicate::Sgt => [V_CMP_GT_I16, V_CMP_GT_I32, V_CMP_GT_I64],
        IntPredicate::Sge => [V_CMP_GE_I16, V_CMP_GE_I32, V_CMP_GE_I64],
        IntPredicate::Slt => [V_CMP_LT_I16, V_CMP_LT_I32, V_CMP_LT_I64],
        IntPredicate::Sle => [V_CMP_LE_I16, V_CMP_LE_I32, V_CMP_LE_I64],
    };
    row[match bits { 0..=16 => 0, 17..=32 => 1, _ => 2 }]
}

/// Vector comparison of half, float, double. Unordered predicates are negations of the opposite ordered ones.
#[rustfmt::skip]
fn vector_float_op(predicate: FloatPredicate, float: Float) -> Option<Opcode> {
    let row = match predicate {
        FloatPredicate::Oeq => [V_CMP_EQ_F16,  V_CMP_EQ_F32,  V_CMP_EQ_F64],
        FloatPredicate::Ogt => [V_CMP_GT_F16,  V_CMP_GT_F32,  V_CMP_GT_F64],
        FloatPredicate::Oge => [V_CMP_GE_F16,  V_CMP_GE_F32,  V_CMP_GE_F64],
        FloatPredicate::Olt => [V_CMP_LT_F16,  V_CMP_LT_F32,  V_CMP_LT_F64],
        FloatPredicate::Ole => [V_CMP_LE_F16,  V_CMP_LE_F32,  V_CMP_LE_F64],
        FloatPredicate::One => [V_CMP_LG_F16,  V_CMP_LG_F32,  V_CMP_LG_F64],
        FloatPredicate::Ord => [V_CMP_O_F16,   V_CMP_O_F32,   V_CMP_O_F64],
        FloatPredicate::Uno => [V_CMP_U_F16,   V_CMP_U_F32,   V_CMP_U_F64],
        FloatPredicate::Ueq => [V_CMP_NLG_F16, V_CMP_NLG_F32, V_CMP_NLG_F64],
        FloatPredicate::Ugt => [V_CMP_NLE_F16, V_CMP_NLE_F32, V_CMP_NLE_F64],
        FloatPredicate::Uge => [V_CMP_NLT_F16, V_CMP_NLT_F32, V_CMP_NLT_F64],
        FloatPredicate::Ult => [V_CMP_NGE_F16, V_CMP_NGE_F32, V_CMP_NGE_F64],
        FloatPredicate::Ule => [V_CMP_NGT_F16, V_CMP_NGT_F32, V_CMP_NGT_F64],
        FloatPredicate::Une => [V_CMP_NEQ_F16, V_CMP_NEQ_F32, V_CMP_NEQ_F64],
        FloatPredicate::False | FloatPredicate::True => return None,
    };
    match float {
        Float::Half => Some(row[0]),
        Float::Single => Some(row[1]),
        Float::Double => Some(row[2]),
        Float::BFloat => None,
    }
}

impl<'a> Selector<'a> {
    /// Whether the scalar unit compares values of `ty` so. 64 bits: equality only, from GFX8.
    pub(super) fn scalar_compare_exists(&self, predicate: IntPredicate, ty: Type) -> bool {
        match ty.bits() {
            Some(0..=32) => true,
            Some(64) => matches!(predicate, IntPredicate::Eq | IntPredicate::Ne) && self.exists(S_CMP_EQ_U64),
            _ => false,
        }
    }

    /// Materialises a comparison: a lane mask, or 0 or 1.
    pub(super) fn lower_compare(&mut self, data: &InstData) -> Result<()> {
        let (value, dst) = self.result(data)?;
        if self.is_answered(value) {
            return Ok(());
        }
        match (self.values[value].rep, &data.kind) {
            (Rep::Bool, InstKind::Icmp { predicate, args }) => {
                let scc = self.scalar_compare(*predicate, *args)?;
                self.set_bool(dst, scc);
                Ok(())
            }
            (_, InstKind::Icmp { predicate, args }) => self.vector_int_compare(dst, *predicate, *args),
            (_, InstKind::Fcmp { predicate, args }) => self.vector_float_compare(dst, *predicate, *args),
            _ => Err(Diagnostic::defect("no comparison")),
        }
    }

    pub(super) fn set_bool(&mut self, dst: Operand, scc: Scc) {
        let [t, f] = if scc == Scc::True { [1, 0] } else { [0, 1] };
        self.sop(S_CSELECT_B32, &[dst, Operand::Imm(t), Operand::Imm(f)]);
    }

    /// Compares into SCC; operands are uniform.
    fn scalar_compare(&mut self, predicate: IntPredicate, args: [Value; 2]) -> Result<Scc> {
        let ty = self.f.ty(args[0]);
        if ty == Type::I1 {
            let [a, b] = [self.bool_src(args[0])?, self.bool_src(args[1])?];
            self.sop(scalar_op(predicate), &[a, b]);
            return Ok(Scc::True);
        }
        if ty.bits() == Some(64) {
            let [a, b] = [self.scalar_src(args[0]), self.scalar_src(args[1])];
            let op = if predicate == IntPredicate::Eq { S_CMP_EQ_U64 } else { S_CMP_LG_U64 };
            self.sop(op, &[a, b]);
            return Ok(Scc::True);
        }
        // (x & 1 << k) == 0, != 0
        if ty == Type::I32
            && matches!(predicate, IntPredicate::Eq | IntPredicate::Ne)
            && self.is_const_value(args[1], 0)
            && let Some(InstData { kind: InstKind::Binary { op: BinaryOp::And, args: and }, .. }) =
                self.nearby(args[0])
            && let Some(mask) = self.const_int(and[1])
            && (mask as u32).is_power_of_two()
        {
            let x = self.scalar_src(and[0]);
            let bit = i64::from((mask as u32).trailing_zeros());
            let op = if predicate == IntPredicate::Eq { S_BITCMP0_B32 } else { S_BITCMP1_B32 };
            self.sop(op, &[x, Operand::Imm(bit)]);
            return Ok(Scc::True);
        }
        let [a, b] = args.map(|v| if predicate.is_signed() { self.sext32(v) } else { self.zext32(v) });
        let [a, b] = [a, b].map(|o| if o.as_imm().is_some() { o } else { self.in_sgpr(o, 1) });
        self.sop(scalar_op(predicate), &[a, b]);
        Ok(Scc::True)
    }

    pub(super) fn vector_int_compare(
        &mut self,
        dst: Operand,
        predicate: IntPredicate,
        args: [Value; 2],
    ) -> Result<()> {
        let ty = self.f.ty(args[0]);
        let bits = ty.bits().ok_or_else(|| Diagnostic::unsupported("comparison of aggregates"))?;
        if ty == Type::I1 {
            let [a, b] = [self.mask(args[0])?, self.mask(args[1])?];
            let op = match predicate {
                IntPredicate::Eq => MaskOp::Xnor,
                IntPredicate::Ne => MaskOp::Xor,
                // false < true unsigned; true is -1 signed.
                IntPredicate::Ugt | IntPredicate::Slt => MaskOp::AndN2,
                IntPredicate::Uge | IntPredicate::Sle => MaskOp::OrN2,
                IntPredicate::Ult | IntPredicate::Sgt => {
                    self.mask_sop(MaskOp::AndN2, &[dst, b, a]);
                    return Ok(());
                }
                IntPredicate::Ule | IntPredicate::Sge => {
                    self.mask_sop(MaskOp::OrN2, &[dst, b, a]);
                    return Ok(());
                }
            };
            self.mask_sop(op, &[dst, a, b]);
            return Ok(());
        }
        let (a, b, bits) = if let Some(pair) = self.upper_compare(predicate, args) {
            (pair[0], pair[1], 32)
        } else if bits < 32 && !self.exists(V_CMP_EQ_U16) || bits < 16 {
            let [a, b] = args.map(|v| if predicate.is_signed() { self.sext32(v) } else { self.zext32(v) });
            (a, b, 32)
        } else {
            (self.src(args[0]), self.src(args[1]), bits)
        };
        let swap = !self.is_vgpr(&b) && self.is_vgpr(&a);
        let (predicate, a, b) = if swap { (predicate.swapped(), b, a) } else { (predicate, a, b) };
        self.vop(vector_int_op(predicate, bits), &[dst, a, b]);
        Ok(())
    }

    /// The operands of the comparison of upper halves that decides one of 64 bits: with a constant that begins (or ends) a range of numbers
    /// with the same upper half, such as 0 for signs.
    fn upper_compare(&mut self, predicate: IntPredicate, args: [Value; 2]) -> Option<[Operand; 2]> {
        let constant = self.const_int(args[1]).filter(|_| self.f.ty(args[0]).is_int(64))?;
        let lower = constant as u32;
        let decides = match predicate {
            IntPredicate::Slt | IntPredicate::Sge | IntPredicate::Ult | IntPredicate::Uge => lower == 0,
            IntPredicate::Sgt | IntPredicate::Sle | IntPredicate::Ugt | IntPredicate::Ule => {
                lower == u32::MAX
            }
            IntPredicate::Eq | IntPredicate::Ne => false,
        };
        decides.then(|| {
            let whole = self.src(args[0]);
            [self.halves(&whole)[1], Operand::Imm(constant >> 32)]
        })
    }

    pub(super) fn vector_float_compare(
        &mut self,
        dst: Operand,
        predicate: FloatPredicate,
        args: [Value; 2],
    ) -> Result<()> {
        let Scalar::Float(float) = self.scalar_of(args[0])? else {
            return Err(Diagnostic::defect("fcmp of integers"));
        };
        if let FloatPredicate::True | FloatPredicate::False = predicate {
            let all = if predicate == FloatPredicate::True { -1 } else { 0 };
            self.mask_sop(MaskOp::Mov, &[dst, Operand::Imm(all)]);
            return Ok(());
        }
        let (mut a, mut b) = (self.float_src(args[0]), self.float_src(args[1]));
        let mut predicate = predicate;
        if !self.is_vgpr(&b.operand) && self.is_vgpr(&a.operand) {
            (a, b) = (b, a);
            predicate = predicate.swapped();
        }
        let op = vector_float_op(predicate, float)
            .ok_or_else(|| Diagnostic::unsupported("comparison of bfloat values"))?;
        let mods = Modifiers {
            abs: u8::from(a.abs) | u8::from(b.abs) << 1,
            neg: u8::from(a.neg) | u8::from(b.neg) << 1,
            ..Modifiers::default()
        };
        self.vop_mods(op, &[dst, a.operand, b.operand], mods);
        Ok(())
    }

    // Conditions on demand.

    /// Brings a uniform condition into SCC; nothing may be emitted between this and the reader that writes SCC.
    pub(super) fn scc(&mut self, cond: Value) -> Result<Scc> {
        if let Some(constant) = self.const_int(cond) {
            self.sop(S_CMP_LG_U32, &[Operand::Imm(constant & 1), Operand::Imm(0)]);
            return Ok(Scc::True);
        }
        let (root, _) = self.root(cond);
        if self.is_temporal(root) {
            let mask = self.mask(cond)?;
            return Ok(self.scc_of_mask(mask));
        }
        match self.values[root].rep {
            Rep::Mask => {
                let mask = self.mask(cond)?;
                Ok(self.scc_of_mask(mask))
            }
            Rep::Bool => {
                if let Some(data) = self.nearby(root) {
                    match &data.kind {
                        InstKind::Icmp { predicate, args } => return self.scalar_compare(*predicate, *args),
                        InstKind::Binary { op: BinaryOp::Xor, args } if self.is_const_value(args[1], -1) => {
                            return Ok(self.scc(args[0])?.negate());
                        }
                        InstKind::Cast { op: CastOp::Trunc, arg } => {
                            let x = self.scalar_src(*arg);
                            let x = self.sub(&x, 0, 1);
                            self.sop(S_BITCMP1_B32, &[x, Operand::Imm(0)]);
                            return Ok(Scc::True);
                        }
                        _ => {}
                    }
                }
                let reg = self.reg_of(root);
                self.sop(S_CMP_LG_U32, &[Operand::vreg(reg, 1), Operand::Imm(0)]);
                Ok(Scc::True)
            }
            Rep::Sgpr | Rep::Vgpr => Err(Diagnostic::defect("condition in a data register")),
        }
    }

    /// SCC = any active lane's bit set. Bits of inactive lanes are unspecified, hence the `and`.
    pub(super) fn scc_of_mask(&mut self, mask: Operand) -> Scc {
        let dead = self.new_mask();
        self.mask_sop(MaskOp::And, &[dead, mask, self.exec()]);
        Scc::True
    }

    /// A condition as a lane mask in a register.
    pub(super) fn mask(&mut self, cond: Value) -> Result<Operand> {
        if let Some(constant) = self.const_int(cond) {
            let dst = self.new_mask();
            self.mask_sop(MaskOp::Mov, &[dst, Operand::Imm(if constant & 1 != 0 { -1 } else { 0 })]);
            return Ok(dst);
        }
        let (root, _) = self.root(cond);
        if self.is_temporal(root) {
            let copy = self.outside_reg(root);
            let dst = self.new_mask();
            self.vop(V_CMP_NE_U32, &[dst, Operand::Imm(0), Operand::vreg(copy, 1)]);
            return Ok(dst);
        }
        if self.values[root].rep == Rep::Mask {
            return Ok(Operand::mask(self.reg_of(root), self.mf.wave));
        }
        if self.is_from_outer_loop(root)
            && let Some(shared) = self.outer_mask(root)
        {
            return Ok(shared);
        }
        match self.values[root].uses {
            // Several users share a mask, which is made in front of the first of them.
            2.. => {
                if let Some(shared) = self.pool.mask_of(root) {
                    return Ok(shared);
                }
                let dst = self.new_mask();
                if let Some((older, mask)) = self.pool.add_mask(root, dst) {
                    self.uniform_mask(older, mask)?;
                }
                Ok(dst)
            }
            0 | 1 => {
                let dst = self.new_mask();
                self.uniform_mask(cond, dst)?;
                Ok(dst)
            }
        }
    }

    /// Whether the present block is in a loop that the instruction which makes `value` is not in.
    pub(super) fn is_from_outer_loop(&self, value: Value) -> bool {
        self.f.def_inst(value).is_some() && self.is_from_outside(value)
    }

    /// The mask of `cond` that is made where that is, for users in loops inside; `None` where there are too many, and where calls are, which
    /// would save them.
    fn outer_mask(&mut self, cond: Value) -> Option<Operand> {
        if let Some(known) = self.outer_masks.get(&cond) {
            return Some(*known);
        }
        if self.has_calls || self.outer_masks.len() == MAX_OUTER_MASKS {
            return None;
        }
        let mask = self.new_mask();
        self.outer_masks.insert(cond, mask);
        Some(mask)
    }

    /// All lanes or none, as a uniform condition says.
    fn uniform_mask(&mut self, cond: Value, dst: Operand) -> Result<()> {
        let scc = self.scc(cond)?;
        let [t, f] = if scc == Scc::True { [-1, 0] } else { [0, -1] };
        self.mask_sop(MaskOp::Select, &[dst, Operand::Imm(t), Operand::Imm(f)]);
        Ok(())
    }

    /// Makes shared masks, of which the first user is far away; all of them at the start of a block.
    pub(super) fn emit_old_masks(&mut self, all: bool) -> Result<()> {
        while let Some((cond, mask)) = self.pool.next_old_mask(all) {
            self.uniform_mask(cond, mask)?;
        }
        Ok(())
    }

    /// Makes the shared mask of `value`, the result of the instruction that the walk has come to, if users want one.
    #[inline]
    pub(super) fn emit_shared_mask(&mut self, value: Value) -> Result<()> {
        if self.outer_masks.is_empty() && !self.pool.shares_masks() {
            Ok(())
        } else {
            self.emit_mask_of(value)
        }
    }

    fn emit_mask_of(&mut self, value: Value) -> Result<()> {
        let outer = if self.outer_masks.is_empty() { None } else { self.outer_masks.remove(&value) };
        for mask in self.pool.take_mask(value).into_iter().chain(outer) {
            self.uniform_mask(value, mask)?;
        }
        Ok(())
    }

    /// A uniform condition as 0 or 1: SGPR or constant.
    pub(super) fn bool_src(&mut self, cond: Value) -> Result<Operand> {
        if let Some(constant) = self.const_int(cond) {
            return Ok(Operand::Imm(constant & 1));
        }
        let (root, _) = self.root(cond);
        if self.values[root].rep == Rep::Bool && !self.is_temporal(root) {
            return Ok(Operand::vreg(self.reg_of(root), 1));
        }
        let scc = self.scc(cond)?;
        let dst = self.new_sgpr(1);
        self.set_bool(dst, scc);
        Ok(dst)
    }

    /// A condition as 0 or 1 in a VGPR, for block parameters.
    pub(super) fn bool_vgpr(&mut self, cond: Value) -> Result<Operand> {
        if let Some(constant) = self.const_int(cond) {
            return Ok(self.move_to_new_vgpr(Operand::Imm(constant & 1)));
        }
        let (root, _) = self.root(cond);
        if self.is_temporal(root) {
            return Ok(Operand::vreg(self.outside_reg(root), 1));
        }
        match self.values[root].rep {
            Rep::Bool => {
                let bit = self.bool_src(cond)?;
                Ok(self.move_to_new_vgpr(bit))
            }
            _ => {
                let mask = self.mask(cond)?;
                let dst = self.new_vgpr(1);
                self.vop(V_CNDMASK_B32, &[dst, Operand::Imm(0), Operand::Imm(1), mask]);
                Ok(dst)
            }
        }
    }
}
