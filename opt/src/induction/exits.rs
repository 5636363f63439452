//! The condition under which a loop goes on, asked of the counter's next value.
//!
//! ```text
//! next = i + step                      next = i + step
//! done = icmp eq i, n           →      done = icmp eq next, n + step
//! ```
//!
//! Additions wrap, so that two numbers are equal in front of them where they are behind.

use super::Reduction;
use mir::ir::*;

impl Reduction<'_> {
    /// Lets the end of the loop depend on its counter's next value where it asks for equality of the present one with what is defined outside,
    /// at the end of the latch and for nobody else. `uses` counts the users of values.
    pub(super) fn test_next(&mut self, uses: impl Fn(Value) -> u32) {
        let latch = self.simple.latch;
        let Some(end) = self.func.terminator(latch) else { return };
        let InstKind::Branch { cond, .. } = self.func.insts[end].kind else { return };
        let Some(test) =
            self.func.def_inst(cond).filter(|_| uses(cond) == 1 && self.homes[cond] == Some(latch))
        else {
            return;
        };
        let InstKind::Icmp { predicate: predicate @ (IntPredicate::Eq | IntPredicate::Ne), args: [a, b] } =
            self.func.insts[test].kind
        else {
            return;
        };
        let counted =
            |counter, bound| Some((self.counter(counter)?, bound)).filter(|_| self.is_outside(bound));
        let Some((counter, bound)) = counted(a, b).or_else(|| counted(b, a)) else { return };
        let ValueDef::BlockParam(_, number) = self.func.values[counter.value].def else { return };
        let Some(next) = self.argument(latch, number as usize) else { return };
        let ty = self.func.ty(bound);
        let bound = match (self.func.as_int(bound), counter.by) {
            (Some(bound), None) => self.func.int(ty, bound.wrapping_add(counter.step as u64)),
            (_, by) => {
                let step = by.unwrap_or_else(|| self.func.int(ty, counter.step as u64));
                let kind = InstKind::Binary { op: BinaryOp::Add, args: [bound, step] };
                let Some(sum) = self.before_end(self.simple.entering, kind, ty, test) else { return };
                sum
            }
        };
        let ty = self.func.insts[test].ty;
        let kind = InstKind::Icmp { predicate, args: [next, bound] };
        let Some(new) = self.before_end(latch, kind, ty, test) else { return };
        if let InstKind::Branch { cond, .. } = &mut self.func.insts[end].kind {
            *cond = new;
        }
        // The last addition may wrap where nobody looked at its result before.
        if let Some(sum) = self.func.def_inst(next) {
            self.func.insts[sum].flags.remove(InstFlags::NSW | InstFlags::NUW);
        }
    }
}
