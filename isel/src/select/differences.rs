//! Absolute differences of unsigned numbers: `v_sad_u32` is |a - b| + c.

use super::Selector;
use mir::ir::{BinaryOp, InstKind, IntPredicate, Intrinsic, Type, Value};
use mir::isa::Opcode::V_SAD_U32;
use mir::machine::Operand;

impl Selector<'_> {
    /// `|a - b| + c`, in whatever order.
    pub(super) fn add_difference(&mut self, dst: Operand, args: [Value; 2]) -> bool {
        for [inner, other] in [args, [args[1], args[0]]] {
            let Some(data) = self.foldable(inner) else { continue };
            if let Some(pair) = self.difference(&data.kind, data.ty) {
                self.emit_difference(dst, pair, Some(other));
                return true;
            }
        }
        false
    }

    /// `|a - b|` alone, as `kind` of type `ty` computes it.
    pub(super) fn plain_difference(&mut self, dst: Operand, kind: &InstKind, ty: Type) -> bool {
        match self.difference(kind, ty) {
            Some(pair) => {
                self.emit_difference(dst, pair, None);
                true
            }
            None => false,
        }
    }

    fn emit_difference(&mut self, dst: Operand, pair: [Value; 2], addend: Option<Value>) {
        let [a, b] = pair.map(|v| self.src(v));
        let c = addend.map_or(Operand::Imm(0), |v| self.src(v));
        self.vop(V_SAD_U32, &[dst, a, b, c]);
    }

    /// `umax(a, b) - umin(a, b)`, or `a > b ? a - b : b - a`.
    fn difference(&self, kind: &InstKind, ty: Type) -> Option<[Value; 2]> {
        if ty != Type::I32 {
            return None;
        }
        match *kind {
            InstKind::Binary { op: BinaryOp::Sub, args: [high, low] } => {
                let of = |value, wanted| match self.foldable(value)?.kind {
                    InstKind::Intrinsic { intrinsic, ref args } if intrinsic == wanted => {
                        Some([*args.first()?, *args.get(1)?])
                    }
                    _ => None,
                };
                let [a, b] = of(high, Intrinsic::Umax)?;
                let pair = of(low, Intrinsic::Umin)?;
                (pair == [a, b] || pair == [b, a]).then_some([a, b])
            }
            InstKind::Select { cond, if_true, if_false } => {
                let [a, b] = self.fold_binary(if_true, BinaryOp::Sub)?;
                if self.fold_binary(if_false, BinaryOp::Sub)? != [b, a] {
                    return None;
                }
                let InstKind::Icmp { predicate, args } = self.f.insts[self.f.def_inst(cond)?].kind else {
                    return None;
                };
                let greater = match predicate {
                    IntPredicate::Ugt | IntPredicate::Uge => args,
                    IntPredicate::Ult | IntPredicate::Ule => [args[1], args[0]],
                    _ => return None,
                };
                (greater == [a, b]).then_some([a, b])
            }
            _ => None,
        }
    }
}
