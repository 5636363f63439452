//! Packed operations on two halves of 16 bits (VOP3P). Signs of operands, and which half of a register is read for which half of the
//! result, are modifiers.

use super::Selector;
use mir::ir::{BinaryOp, CastOp, InstData, InstFlags, InstKind, Intrinsic, Type, UnaryOp, Value};
use mir::isa::Opcode::{self, *};
use mir::isa::ValueType;
use mir::machine::{Modifiers, Operand};
use mir::target::operands::{canonical_constant, inline_constant};

/// An operand of a packed instruction.
#[derive(Clone, Copy)]
struct PackedSrc {
    operand: Operand,
    /// Both halves with the other sign.
    neg: bool,
    /// Whether the lower half of the result is made from the upper half of the operand, and the upper half of the result.
    high: [bool; 2],
}

impl<'a> Selector<'a> {
    /// An operation whose operands have the type of the result.
    pub(super) fn packed_op(&mut self, op: Opcode, dst: Operand, args: &[Value]) {
        let signed = matches!(op, V_PK_FMA_F16 | V_PK_ADD_F16 | V_PK_MUL_F16 | V_PK_MIN_F16 | V_PK_MAX_F16);
        let ty = op.info().operands[1].ty;
        let sources: smallvec::SmallVec<[PackedSrc; 3]> =
            args.iter().map(|&arg| self.packed_src(arg, signed, ty)).collect();
        self.packed_inst(op, dst, &sources);
    }

    /// `fadd`, `fsub` and `fmul` of halves; with a product that may be contracted, a fused operation.
    pub(super) fn packed_float(&mut self, data: &InstData, dst: Operand, op: BinaryOp, args: [Value; 2]) {
        if op == BinaryOp::FMul {
            return self.packed_op(V_PK_MUL_F16, dst, &args);
        }
        let subtract = op == BinaryOp::FSub;
        let allowed = |d: &InstData, this: &Self| this.contract_all || d.flags.contains(InstFlags::CONTRACT);
        for (i, [product, addend]) in [args, [args[1], args[0]]].into_iter().enumerate() {
            let Some(mul) = self.foldable(product) else { continue };
            let InstKind::Binary { op: BinaryOp::FMul, args: factors } = mul.kind else { continue };
            if !allowed(data, self) || !allowed(mul, self) {
                continue;
            }
            let mut sources =
                [factors[0], factors[1], addend].map(|arg| self.packed_src(arg, true, ValueType::V2F16));
            // The second operand is what is subtracted.
            sources[if i == 0 { 2 } else { 0 }].neg ^= subtract;
            return self.packed_inst(V_PK_FMA_F16, dst, &sources);
        }
        let mut sources = args.map(|arg| self.packed_src(arg, true, ValueType::V2F16));
        sources[1].neg ^= subtract;
        self.packed_inst(V_PK_ADD_F16, dst, &sources);
    }

    fn packed_inst(&mut self, op: Opcode, dst: Operand, sources: &[PackedSrc]) {
        // What is no operand reads as it does where nothing is said.
        let mut mods = Modifiers { op_sel_hi: 7, ..Modifiers::default() };
        let mut operands: smallvec::SmallVec<[Operand; 4]> = smallvec::smallvec![dst];
        for (i, source) in sources.iter().enumerate() {
            let bit = 1 << i;
            operands.push(source.operand);
            if source.neg {
                mods.neg |= bit;
                mods.neg_hi |= bit;
            }
            if source.high[0] {
                mods.op_sel |= bit;
            }
            if !source.high[1] {
                mods.op_sel_hi &= !bit;
            }
        }
        self.vop_mods(op, &operands, mods);
    }

    /// `value` without the signs (where the instruction has them) and changes of halves around it, for an operand of type `ty`.
    fn packed_src(&mut self, value: Value, signed: bool, ty: ValueType) -> PackedSrc {
        if let Some(constant) = self.const_int(value).and_then(|bits| self.inline_twice(bits as u32, ty)) {
            return PackedSrc { operand: Operand::Imm(constant), neg: false, high: [false; 2] };
        }
        let (mut at, mut neg) = (value, false);
        while signed
            && let Some(InstData { kind: InstKind::Unary { op: UnaryOp::FNeg, arg }, .. }) = self.nearby(at)
        {
            neg = !neg;
            at = *arg;
        }
        let (operand, high) = match self.chosen_halves(at) {
            Some((dword, high)) => (self.src(dword), high),
            None => (self.src(at), [false, true]),
        };
        PackedSrc { operand, neg, high }
    }

    /// The inline constant whose lower half is both halves of `bits`.
    fn inline_twice(&self, bits: u32, ty: ValueType) -> Option<i64> {
        let half = bits as u16;
        let constant = match i64::from(half as i16) {
            number @ -16..=64 => canonical_constant(number, ty),
            _ => i64::from(half),
        };
        let same = bits == u32::from(half) * 0x1_0001 && half != 0;
        (same && inline_constant(constant, ty, self.target.processor.generation).is_some())
            .then_some(constant)
    }

    /// The value of which a packed one has the halves the other way round, or of 16 bits that it has twice.
    fn chosen_halves(&self, value: Value) -> Option<(Value, [bool; 2])> {
        let mut dword = value;
        while self.f.ty(dword) != Type::I32 {
            let InstKind::Cast { op: CastOp::BitCast, arg } = self.nearby(dword)?.kind else { return None };
            dword = arg;
        }
        match &self.nearby(dword)?.kind {
            InstKind::Intrinsic { intrinsic: Intrinsic::Fshr, args } => {
                let rotates = args[0] == args[1] && self.const_int(args[2]) == Some(16);
                (rotates && self.f.ty(args[0]) == Type::I32).then_some((args[0], [true, false]))
            }
            InstKind::Binary { op: BinaryOp::Or, args } => {
                let extended = |v: Value| match self.nearby(v)?.kind {
                    InstKind::Cast { op: CastOp::ZExt, arg } if self.f.ty(arg).is_int(16) => Some(arg),
                    _ => None,
                };
                let InstKind::Binary { op: BinaryOp::Shl, args: [x, amount] } = self.nearby(args[1])?.kind
                else {
                    return None;
                };
                let low = extended(args[0])?;
                let is_twice = self.const_int(amount) == Some(16) && extended(x)? == low;
                is_twice.then(|| self.whole(low).unwrap_or((low, [false; 2])))
            }
            _ => None,
        }
    }

    /// The dword of which a value of 16 bits is a half, and which one for both halves of an operand.
    fn whole(&self, mut value: Value) -> Option<(Value, [bool; 2])> {
        let dword = loop {
            match self.nearby(value)?.kind {
                InstKind::Cast { op: CastOp::Trunc, arg } if self.f.ty(arg) == Type::I32 => break arg,
                InstKind::Cast { op: CastOp::BitCast, arg } if self.f.ty(arg).bits() == Some(16) => {
                    value = arg
                }
                _ => return None,
            }
        };
        Some(match self.nearby(dword).map(|data| &data.kind) {
            Some(&InstKind::Binary { op: BinaryOp::LShr | BinaryOp::AShr, args: [x, amount] })
                if self.const_int(amount) == Some(16) =>
            {
                (x, [true; 2])
            }
            Some(&InstKind::Binary { op: BinaryOp::And, args: [x, mask] })
                if self.const_int(mask).is_some_and(|mask| mask & 0xffff == 0xffff) =>
            {
                (x, [false; 2])
            }
            _ => (dword, [false; 2]),
        })
    }
}
