//! Sums and differences that take back what was just done.
//!
//! A remainder is `x - x / y * y`, so that `x / y * y + x % y` is `x`; neither division nor product is wanted for it. Additions wrap.

use super::Numbering;
use crate::cfg::homes;
use mir::ir::*;

impl Numbering<'_> {
    /// The value that `inst`, a sum or difference in `block`, comes back to, if there is one that may stand for its result.
    pub(super) fn taken_back(&mut self, inst: Inst, block: u32) -> Option<(Value, Value)> {
        let InstData { kind: InstKind::Binary { op, args: [a, b] }, result: Some(result), .. } =
            self.func.insts[inst]
        else {
            return None;
        };
        let parts = |value: Value, wanted: BinaryOp| match self.func.insts[self.func.def_inst(value)?].kind {
            InstKind::Binary { op, args } if op == wanted => Some(args),
            _ => None,
        };
        let value = match op {
            // a + (c - a), (c - b) + b
            BinaryOp::Add => [(a, b), (b, a)].into_iter().find_map(|(one, other)| {
                let [from, less] = parts(other, BinaryOp::Sub)?;
                (less == one).then_some(from)
            })?,
            // (b + c) - b, a - (a - c)
            BinaryOp::Sub => {
                let of_sum = parts(a, BinaryOp::Add).and_then(|[x, y]| match () {
                    () if x == b => Some(y),
                    () if y == b => Some(x),
                    () => None,
                });
                let of_difference =
                    || parts(b, BinaryOp::Sub).and_then(|[from, less]| (from == a).then_some(less));
                of_sum.or_else(of_difference)?
            }
            _ => return None,
        };
        let homes = self.homes.get_or_insert_with(|| homes(self.func));
        let near = homes[value].is_none_or(|home| super::value_reaches(self.flow, home.as_u32(), block));
        near.then_some((result, value))
    }
}
