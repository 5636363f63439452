//! Minimum, maximum and median of floats, and clamping to 0 and 1.
//!
//! Three operands share an instruction (`v_min3`, `v_max3`, `v_med3`); a median with 0 and 1 is the clamp modifier of the
//! instruction that makes the value.

use super::Selector;
use super::float::{FloatSrc, MAX, MIN, by_float};
use mir::diag::{Diagnostic, Result};
use mir::ir::{BinaryOp, Float, InstData, InstFlags, InstKind, Intrinsic, Type, Value};
use mir::isa::Opcode::{self, *};
use mir::isa::{OpFlags, OperandKind, Role};
use mir::machine::{ModFlags, Operand};

impl<'a> Selector<'a> {
    /// `minnum`, `maxnum`: `min(max(x, lo), hi)` of constants is a median or a clamp, two of a kind are one of three.
    pub(super) fn lower_min_max(&mut self, data: &InstData, args: &[Value], max: bool) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let float = self.float_of(data.ty)?;
        if matches!(data.ty, Type::Vector(..)) {
            self.packed_op(if max { V_PK_MAX_F16 } else { V_PK_MIN_F16 }, dst, args);
            return Ok(());
        }
        if !max && self.bounded(data, dst, args, float)? {
            return Ok(());
        }
        let outer = if max { Intrinsic::Maxnum } else { Intrinsic::Minnum };
        if let Some(op) = self.of_three(max, float)
            && let Some([x, y, z]) = self.nested(outer, args)
        {
            let sources = [self.float_src(x), self.float_src(y), self.float_src(z)];
            self.float_op(op, dst, &sources);
            return Ok(());
        }
        let [a, b] = [self.float_src(args[0]), self.float_src(args[1])];
        let opcode = by_float(if max { MAX } else { MIN }, float)?;
        self.float_op(opcode, dst, &[a, b]);
        Ok(())
    }

    /// The instruction of three operands.
    fn of_three(&self, max: bool, float: Float) -> Option<Opcode> {
        let op = match (float, max) {
            (Float::Single, false) => V_MIN3_F32,
            (Float::Single, true) => V_MAX3_F32,
            (Float::Half, false) => V_MIN3_F16,
            (Float::Half, true) => V_MAX3_F16,
            _ => return None,
        };
        self.exists(op).then_some(op)
    }

    /// The three operands of `outer(outer(x, y), z)`, unless constants would have to be moved to registers.
    pub(super) fn nested(&self, outer: Intrinsic, args: &[Value]) -> Option<[Value; 3]> {
        let literal = |v: Value| self.float_bits(v).is_some_and(|bits| !self.is_inline_value(bits, v));
        for (inner, other) in [(args[0], args[1]), (args[1], args[0])] {
            if let Some(InstData { kind: InstKind::Intrinsic { intrinsic, args: of }, .. }) =
                self.foldable(inner)
                && *intrinsic == outer
                && ![of[0], of[1], other].into_iter().any(literal)
            {
                return Some([of[0], of[1], other]);
            }
        }
        None
    }

    /// `min(max(x, lo), hi)` with constants in order. A NaN becomes `lo` in either form.
    fn bounded(&mut self, data: &InstData, dst: Operand, args: &[Value], float: Float) -> Result<bool> {
        let Some(InstData {
            kind: InstKind::Intrinsic { intrinsic: Intrinsic::Maxnum, args: inner }, ..
        }) = self.foldable(args[0])
        else {
            return Ok(false);
        };
        let (Some(low), Some(high)) = (self.float_bits(inner[1]), self.float_bits(args[1])) else {
            return Ok(false);
        };
        let x = inner[0];
        if self.is_zero_to_one(low, high, float) && self.clamp(data, x)? {
            return Ok(true);
        }
        let op = match float {
            Float::Single => V_MED3_F32,
            Float::Half if self.exists(V_MED3_F16) => V_MED3_F16,
            _ => return Ok(false),
        };
        // Two constants that are no inline ones are worth registers where others are bounded by them, too.
        let is_inline = self.is_inline_value(low, inner[1]) || self.is_inline_value(high, args[1]);
        let is_shared = || [inner[1], args[1]].iter().all(|&bound| self.values[bound].uses > 1);
        if !in_order(low, high, float) || !is_inline && !is_shared() {
            return Ok(false);
        }
        let sources = [self.float_src(x), self.float_src(inner[1]), self.float_src(args[1])];
        self.float_op(op, dst, &sources);
        Ok(true)
    }

    /// `amdgcn.fmed3` with 0 and 1 as a clamp; whether it was one. The order of the three does not matter.
    pub(super) fn clamped_median(&mut self, data: &InstData, args: &[Value]) -> Result<bool> {
        let float = self.float_of(data.ty)?;
        for (x, a, b) in [(0, 1, 2), (1, 0, 2), (2, 0, 1)] {
            let [Some(a), Some(b)] = [a, b].map(|i| self.float_bits(args[i])) else { continue };
            if self.is_zero_to_one(a, b, float) || self.is_zero_to_one(b, a, float) {
                return self.clamp(data, args[x]);
            }
        }
        Ok(false)
    }

    fn is_zero_to_one(&self, low: u64, high: u64, float: Float) -> bool {
        let one = match float {
            Float::Half => 0x3c00,
            Float::Single => 0x3f80_0000,
            Float::Double => 0x3ff0_0000_0000_0000,
            Float::BFloat => return false,
        };
        low == 0 && high == one && self.float_mode.dx10_clamp
    }

    /// Makes `x`, if nobody else wants it and an arithmetic instruction makes it, clamped as the result of `data`: that
    /// instruction takes the modifier, or a `v_max` behind it where its encoding has none.
    fn clamp(&mut self, data: &InstData, x: Value) -> Result<bool> {
        let Some(producer) = self.foldable(x) else { return Ok(false) };
        // Their results are no signalling NaNs, which a median would quiet or return.
        let arithmetic = match &producer.kind {
            InstKind::Binary { op: BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul, .. } => true,
            InstKind::Intrinsic { intrinsic, .. } => matches!(
                intrinsic,
                Intrinsic::Fma
                    | Intrinsic::Fmuladd
                    | Intrinsic::Minnum
                    | Intrinsic::Maxnum
                    | Intrinsic::Canonicalize
                    | Intrinsic::Rcp
                    | Intrinsic::Rsq
                    | Intrinsic::AmdgcnSqrt
            ),
            _ => false,
        };
        if !arithmetic
            || producer.flags.contains(InstFlags::STRICT)
            || matches!(producer.ty, Type::Vector(..))
        {
            return Ok(false);
        }
        let (value, dst) = self.result(data)?;
        let inst = match self.f.def_inst(x) {
            Some(inst) => inst,
            None => return Ok(false),
        };
        // The walk must not find `x` wanted when it comes to it.
        self.values[x].reg = self.values[value].reg;
        let lowered = self.lower(inst, producer);
        self.values[x].reg = None.into();
        lowered?;
        let takes = |this: &Self, inst: &mir::machine::Inst| {
            let info = inst.op.info();
            info.flags.contains(OpFlags::FLOAT_MODS)
                && !info.flags.contains(OpFlags::NO_CLAMP)
                && info.vop3_code(this.target.generation()).is_some()
                && info.operands.iter().zip(&inst.operands).enumerate().all(|(i, (desc, operand))| {
                    desc.role != Role::Use
                        || desc.kind == OperandKind::LaneMask
                        || !this.is_literal_at(inst.op, i, operand)
                })
        };
        let makes = |inst: &mir::machine::Inst| inst.operands.first() == Some(&dst);
        let Some(at) = self.cur.iter().rposition(makes) else {
            return Err(Diagnostic::defect("no instruction makes the value that is clamped"));
        };
        if takes(self, &self.cur[at]) {
            self.cur[at].mods.flags |= ModFlags::CLAMP;
            return Ok(true);
        }
        let dwords = self.dwords(value);
        let bare = self.new_vgpr(dwords);
        self.cur[at].operands[0] = bare;
        let source = FloatSrc { operand: bare, neg: false, abs: false };
        let max = by_float(MAX, self.float_of(data.ty)?)?;
        self.float_op(max, dst, &[source, source]);
        if let Some(last) = self.cur.last_mut() {
            last.mods.flags |= ModFlags::CLAMP;
        }
        Ok(true)
    }

    /// The bits of a floating-point constant.
    fn float_bits(&self, value: Value) -> Option<u64> {
        self.const_int(value).map(|bits| {
            let width = self.f.ty(value).bits().unwrap_or(64).clamp(1, 64);
            bits as u64 & (u64::MAX >> (64 - width))
        })
    }

    /// Whether `bits`, the contents of the constant `value`, have an inline form.
    fn is_inline_value(&self, bits: u64, value: Value) -> bool {
        let ty = match self.f.ty(value).bits() {
            Some(16) => mir::isa::ValueType::F16,
            Some(64) => mir::isa::ValueType::F64,
            _ => mir::isa::ValueType::F32,
        };
        let signed = if ty == mir::isa::ValueType::F32 { i64::from(bits as u32 as i32) } else { bits as i64 };
        self.is_inline(signed, ty)
    }
}

/// Whether both are numbers and the first is not above the second.
fn in_order(low: u64, high: u64, float: Float) -> bool {
    match float {
        Float::Single => f32::from_bits(low as u32) <= f32::from_bits(high as u32),
        // Positive halves are in the order of their bits.
        Float::Half => low <= high && high <= 0x7c00,
        _ => false,
    }
}
