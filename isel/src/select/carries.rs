//! Conditions that are added or subtracted: they are the carry of an addition or the borrow of a subtraction.

use super::compare::Scc;
use super::{Rep, Selector};
use mir::Result;
use mir::ir::{BinaryOp, CastOp, InstKind, Type, Value};
use mir::isa::Opcode::*;
use mir::machine::Operand;

impl Selector<'_> {
    /// `x ± (zext or sext condition)`: the condition is the carry or the borrow. So are both of `x + (condition + condition)`.
    pub(super) fn add_condition(&mut self, dst: Operand, op: BinaryOp, args: [Value; 2]) -> Result<bool> {
        let swapped = [args[1], args[0]];
        for [x, flag] in if op == BinaryOp::Add { [args, swapped] } else { [args, args] } {
            let add = |cast| (op == BinaryOp::Add) == (cast == CastOp::ZExt);
            if let Some((cast, condition)) = self.extended_condition(flag) {
                self.carry(dst, add(cast), x, condition)?;
                return Ok(true);
            }
            if let Some(pair) = self.fold_binary(flag, BinaryOp::Add)
                && let [Some((cast, first)), Some((other, second))] =
                    pair.map(|value| self.extended_condition(value))
            {
                let sum = self.new_vgpr(1);
                self.carry(sum, add(cast), x, first)?;
                self.carry_into(dst, add(other), sum, second)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What is extended to `value`, if that is a condition of lanes, in this block, and `value` has no other user.
    fn extended_condition(&self, value: Value) -> Option<(CastOp, Value)> {
        let InstKind::Cast { op: op @ (CastOp::ZExt | CastOp::SExt), arg } = self.foldable(value)?.kind
        else {
            return None;
        };
        let (root, _) = self.root(arg);
        let fits =
            self.f.ty(arg) == Type::I1 && self.values[root].rep == Rep::Mask && !self.is_temporal(root);
        fits.then_some((op, arg))
    }

    /// `dst = x + condition`, or `x - condition`.
    fn carry(&mut self, dst: Operand, add: bool, x: Value, condition: Value) -> Result<()> {
        let x = self.vgpr(x);
        self.carry_into(dst, add, x, condition)
    }

    fn carry_into(&mut self, dst: Operand, add: bool, x: Operand, condition: Value) -> Result<()> {
        let (carry, dead) = (self.mask(condition)?, self.new_mask());
        let opcode = if add { V_ADDC_CO_U32 } else { V_SUBBREV_CO_U32 };
        self.emit(opcode, [dst, dead, Operand::Imm(0), x, carry]);
        Ok(())
    }

    /// `x ± (zext or sext condition)` of the scalar unit, whose carry is SCC.
    pub(super) fn add_uniform_condition(
        &mut self,
        dst: Operand,
        op: BinaryOp,
        args: [Value; 2],
    ) -> Result<bool> {
        let swapped = [args[1], args[0]];
        for [x, flag] in if op == BinaryOp::Add { [args, swapped] } else { [args, args] } {
            let info = &self.values[flag];
            let alone = info.uses == 1 && !info.crosses_blocks && info.reg.is_none();
            let Some(&InstKind::Cast { op: cast @ (CastOp::ZExt | CastOp::SExt), arg }) =
                self.nearby(flag).filter(|_| alone).map(|data| &data.kind)
            else {
                continue;
            };
            let (root, _) = self.root(arg);
            if self.f.ty(arg) != Type::I1 || self.values[root].rep != Rep::Bool || self.is_temporal(root) {
                continue;
            }
            let x = self.scalar_src(x);
            let add = (op == BinaryOp::Add) == (cast == CastOp::ZExt);
            // The other way round the condition is 1 - SCC.
            let (opcode, rest) = match (add, self.scc(arg)? == Scc::True) {
                (true, true) => (S_ADDC_U32, 0),
                (true, false) => (S_SUBB_U32, -1),
                (false, true) => (S_SUBB_U32, 0),
                (false, false) => (S_ADDC_U32, -1),
            };
            self.sop(opcode, &[dst, x, Operand::Imm(rest)]);
            return Ok(true);
        }
        Ok(false)
    }
}
