//! Bits of 64 that are looked for or counted: two halves that legalisation took apart, where the scalar unit has an instruction for both.

use super::{Rep, Selector};
use mir::ir::{BinaryOp, CastOp, InstKind, Intrinsic, Value};
use mir::isa::Opcode::{self, *};
use mir::machine::Operand;

impl Selector<'_> {
    /// `umin(cttz(low), cttz(high) | 32)` and `umin(ctlz(high), ctlz(low) | 32)`, whose parts are all ones for zero, as one search. So is
    /// its result then.
    pub(super) fn search_pair(&mut self, dst: Operand, args: &[Value]) -> bool {
        let &[a, b] = args else { return false };
        [[a, b], [b, a]].into_iter().any(|[first, other]| {
            let Some(second) = self.with_32(other) else { return false };
            let pairs = [(Intrinsic::Cttz, S_FF1_I32_B64), (Intrinsic::Ctlz, S_FLBIT_I32_B64)];
            pairs.into_iter().any(|(intrinsic, op)| {
                let (Some(x), Some(y)) =
                    (self.lone_search(first, intrinsic), self.lone_search(second, intrinsic))
                else {
                    return false;
                };
                let (low, high) = if intrinsic == Intrinsic::Cttz { (x, y) } else { (y, x) };
                self.of_pair(op, dst, low, high)
            })
        })
    }

    /// `ctpop(low) + ctpop(high)` as one count.
    pub(super) fn count_pair(&mut self, dst: Operand, args: [Value; 2]) -> bool {
        let [Some(a), Some(b)] = args.map(|arg| self.lone_search(arg, Intrinsic::Ctpop)) else {
            return false;
        };
        self.of_pair(S_BCNT1_I32_B64, dst, a, b) || self.of_pair(S_BCNT1_I32_B64, dst, b, a)
    }

    fn of_pair(&mut self, op: Opcode, dst: Operand, low: Value, high: Value) -> bool {
        let Some(pair) = self.halves_of(low, high).filter(|&x| self.values[x].rep == Rep::Sgpr) else {
            return false;
        };
        let pair = self.scalar_src(pair);
        self.sop(op, &[dst, pair]);
        true
    }

    /// What `intrinsic` of 32 bits, a scalar of this block without another user, looks at. Searches are those that may say anything of zero.
    fn lone_search(&self, value: Value, intrinsic: Intrinsic) -> Option<Value> {
        let info = &self.values[value];
        let alone = info.uses == 1 && !info.crosses_blocks && info.rep == Rep::Sgpr && info.reg.is_none();
        match &self.nearby(value).filter(|_| alone)?.kind {
            InstKind::Intrinsic { intrinsic: found, args } if *found == intrinsic => {
                let any_of_zero =
                    args.get(1).is_none_or(|&poison| self.const_int(poison).is_some_and(|bit| bit != 0));
                any_of_zero.then_some(args[0])
            }
            _ => None,
        }
    }

    /// `x` of `x | 32`.
    fn with_32(&self, value: Value) -> Option<Value> {
        let info = &self.values[value];
        let alone = info.uses == 1 && !info.crosses_blocks && info.reg.is_none();
        match self.nearby(value).filter(|_| alone)?.kind {
            InstKind::Binary { op: BinaryOp::Or, args: [x, bits] } if self.is_const_value(bits, 32) => {
                Some(x)
            }
            _ => None,
        }
    }

    /// The value of 64 bits whose halves `low` and `high` are.
    fn halves_of(&self, low: Value, high: Value) -> Option<Value> {
        let truncated = |value: Value| match self.f.insts[self.f.def_inst(value)?].kind {
            InstKind::Cast { op: CastOp::Trunc, arg } => Some(arg),
            _ => None,
        };
        let whole = truncated(low)?;
        match self.f.insts[self.f.def_inst(truncated(high)?)?].kind {
            InstKind::Binary { op: BinaryOp::LShr, args: [x, amount] }
                if x == whole && self.f.ty(x).is_int(64) && self.is_const_value(amount, 32) =>
            {
                Some(whole)
            }
            _ => None,
        }
    }
}
