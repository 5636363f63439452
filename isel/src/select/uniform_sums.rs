//! Sums of one divergent and two uniform numbers: the scalar unit adds the uniform ones first.
//!
//! `(id + group * size) + offset` is how programs number their work-items, with all but `id` the same in all lanes.

use super::{Rep, Selector};
use mir::ir::{BinaryOp, Value};
use mir::isa::Opcode::S_ADD_U32;
use mir::machine::Operand;

impl Selector<'_> {
    /// The divergent addend, and the sum of the others, which it puts into SGPRs; `bits` is 32 or 64. Nothing for another sum.
    pub(super) fn uniform_part(&mut self, args: [Value; 2], bits: u32) -> Option<(Value, Operand)> {
        let is_uniform = |this: &Self, value: Value| {
            let root = this.root(value).0;
            this.values[root].rep == Rep::Sgpr && !this.is_temporal(root) && this.const_int(value).is_none()
        };
        for [inner, second] in [args, [args[1], args[0]]] {
            if !is_uniform(self, second) {
                continue;
            }
            let Some(pair) = self.fold_binary(inner, BinaryOp::Add) else { continue };
            for [rest, first] in [pair, [pair[1], pair[0]]] {
                if !is_uniform(self, first) || self.values[self.root(rest).0].rep != Rep::Vgpr {
                    continue;
                }
                let sum = if bits == 64 {
                    let [a, b] = [first, second].map(|value| self.wide_halves(value, true));
                    let sum = self.new_sgpr(2);
                    self.scalar_addsub_halves(sum, a, b, false);
                    sum
                } else {
                    let [a, b] = [first, second].map(|value| self.scalar_src(value));
                    let sum = self.new_sgpr(1);
                    self.sop(S_ADD_U32, &[sum, a, b]);
                    sum
                };
                return Some((rest, sum));
            }
        }
        None
    }
}
