//! Users of virtual registers in selected code.

use cranelift_entity::SecondaryMap;
use mir::machine::{Block, Function, Inst, Reg, VReg};

/// How many operands and arguments of edges are, or are part of, a register.
pub(crate) fn count_uses(f: &Function, layout: &[Block]) -> SecondaryMap<VReg, u32> {
    let mut uses: SecondaryMap<VReg, u32> = SecondaryMap::new();
    for &block in layout {
        let data = &f.blocks[block];
        for (is_def, operand) in data.insts.iter().flat_map(Inst::regs) {
            if let (false, Reg::Virtual(reg)) = (is_def, operand.reg) {
                uses[reg] += 1;
            }
        }
        let scalars = data.thread_sargs.iter().flatten();
        for &arg in data.thread_succs.iter().flat_map(|edge| &edge.args).chain(scalars) {
            uses[arg] += 1;
        }
    }
    uses
}
