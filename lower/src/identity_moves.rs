//! Removes moves of a register to itself, which allocation makes of copies.

use mir::isa::Opcode;
use mir::machine::{Function, Inst, Operand};

/// Removes moves of a register to itself.
pub fn remove(f: &mut Function) {
    let is_no_op = |inst: &Inst| {
        let moves =
            matches!(inst.op, Opcode::S_MOV_B32 | Opcode::S_MOV_B64 | Opcode::V_MOV_B32 | Opcode::COPY);
        moves
            && inst.mods == Default::default()
            && matches!(inst.operands[..], [Operand::Reg(dst), Operand::Reg(src)] if dst == src)
    };
    for &block in &f.layout {
        f.blocks[block].retain_insts(|inst| !is_no_op(inst));
    }
}
