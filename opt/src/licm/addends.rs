//! What an address adds in each iteration and is always the same is added first, in front of the loop.
//!
//! ```text
//! loop: p = base + 2068 * x    q = p + 4 * lane    →    t = base + 4 * lane    loop: q = t + 2068 * x
//! ```
//!
//! Only where `x` is in VGPRs: what is one for the wave is summed by the scalar unit, and the lane's part is an offset then, which costs nothing.

use super::{File, Hoisting, MAX_DWORDS};
use crate::bits::dwords;
use crate::memory::{Flow, never_changes};
use crate::products::kind;
use mir::analysis::Loop;
use mir::ir::*;

/// An address with two variable parts.
struct Sum {
    base: Value,
    /// The part that changes, and its scale.
    varying: (Value, i64),
    /// The part that does not.
    invariant: (Value, i64),
    /// Constant bytes of both steps.
    offset: i64,
    /// The sum of the base and what changes, which nobody else asks for.
    between: Value,
}

/// The base of an address with a variable part, that part with its scale, and the constant bytes.
fn step(func: &Function, inst: Inst) -> Option<(Value, (Value, i64), i64)> {
    match func.insts[inst].kind {
        InstKind::PtrAdd { base, index: Some(index), scale, offset } => Some((base, (index, scale), offset)),
        _ => None,
    }
}

/// Whether a loop of `func` has an address with two variable parts.
pub(super) fn has_sums(func: &Function, flow: &Flow) -> bool {
    let is_sum = |inst: Inst| {
        let before = step(func, inst).and_then(|(base, ..)| func.def_inst(base));
        before.is_some_and(|before| step(func, before).is_some())
    };
    let in_loops = flow.order.blocks().iter().filter(|&&block| flow.loops.innermost(block).is_some());
    in_loops.flat_map(|&block| &func.blocks[Block::from_u32(block)].insts).any(|&inst| is_sum(inst))
}

impl Hoisting<'_> {
    /// Turns `inst`, in the innermost loop `inner`, into a step behind an address that does not change there, where it is one behind an address that does.
    /// Returns the instruction of the invariant address, which comes before it.
    pub(super) fn add_invariant_first(
        &mut self,
        func: &mut Function,
        inst: Inst,
        inner: Loop,
    ) -> Option<Inst> {
        let sum = self.sum(func, inst, inner)?;
        let ty = func.insts[inst].ty;
        if self.dwords[inner.index()][File::Vector as usize].saturating_add(dwords(ty)) > MAX_DWORDS {
            return None;
        }
        if !self.is_in_vgprs(func, sum.varying.0, inner) {
            return None;
        }
        let add = |base, (index, scale), offset| InstKind::PtrAdd { base, index: Some(index), scale, offset };
        // Neither sum is promised to stay within the object: they leave out what the program added first.
        let first = func.make_inst(add(sum.base, sum.invariant, 0), ty, InstFlags::empty());
        func.locs[first] = func.locs[inst];
        let value = func.insts[first].result?;
        func.insts[inst].kind = add(value, sum.varying, sum.offset);
        func.insts[inst].flags = InstFlags::empty();
        self.left_sums = true;
        self.uses[sum.between] -= 1;
        for used in [sum.base, sum.varying.0, value] {
            self.uses[used] += 1;
        }
        Some(first)
    }

    /// Whether `value`, of the loop `inner`, differs between lanes or comes by an instruction of the vector unit, as memory does that the loop writes.
    fn is_in_vgprs(&self, func: &Function, value: Value, inner: Loop) -> bool {
        let mut source = value;
        if let Some(InstKind::Cast { op: CastOp::SExt | CastOp::ZExt | CastOp::Trunc, arg }) =
            kind(func, source)
        {
            source = *arg;
        }
        if let Some(&InstKind::Load { ptr, mem }) = kind(func, source) {
            let root = self.memory.number(func, self.module, ptr, &mem);
            if !never_changes(&mem) && self.written[inner.index()] >> root & 1 == 1 {
                return true;
            }
        }
        self.uniformity.as_ref().is_some_and(|uniformity| uniformity.is_divergent_where_defined(value))
    }

    /// `inst` as an address that changes in `inner` and one step more that does not.
    fn sum(&self, func: &Function, inst: Inst, inner: Loop) -> Option<Sum> {
        let (between, invariant, offset) = step(func, inst)?;
        if self.uses[between] != 1
            || !self.is_defined_in(between, inner)
            || self.is_defined_in(invariant.0, inner)
        {
            return None;
        }
        let (base, varying, more) = step(func, func.def_inst(between)?)?;
        let is_sum = self.is_defined_in(varying.0, inner) && !self.is_defined_in(base, inner);
        let offset = offset.checked_add(more)?;
        is_sum.then_some(Sum { base, varying, invariant, offset, between })
    }
}
