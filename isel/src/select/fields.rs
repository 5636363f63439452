//! Fields that are put together: `(d << (k + m)) | (c << k) | x` is `(((d << m) | c) << k) | x`, two instructions where a shift and an `or` are one.

use super::{Rep, Selector};
use mir::ir::{BinaryOp, Value};
use mir::isa::Opcode::V_LSHL_OR_B32;
use mir::machine::Operand;
use mir::target::Features;

impl Selector<'_> {
    /// Shifts two neighbouring fields together, where the lower one is not wider than its place.
    pub(super) fn join_fields(&mut self, dst: Operand, args: [Value; 2]) -> bool {
        if !self.target.has(Features::THREE_OP_INT) {
            return false;
        }
        for [inner, high] in [args, [args[1], args[0]]] {
            let (Some(pair), Some((d, far))) = (self.fold_binary(inner, BinaryOp::Or), self.fold_shl(high))
            else {
                continue;
            };
            for [x, low] in [pair, [pair[1], pair[0]]] {
                let Some((c, near)) = self.fold_shl(low) else { continue };
                let vectors = [x, c, d].iter().all(|&v| self.values[self.root(v).0].rep == Rep::Vgpr);
                if vectors && near > 0 && far > near && self.fits_unsigned(c, (far - near) as u32) {
                    let both = self.new_vgpr(1);
                    let [x, c, d] = [x, c, d].map(|v| self.src(v));
                    self.vop(V_LSHL_OR_B32, &[both, d, Operand::Imm(far - near), c]);
                    self.vop(V_LSHL_OR_B32, &[dst, both, Operand::Imm(near), x]);
                    return true;
                }
            }
        }
        false
    }
}
