//! Expands instructions that the hardware does not have: calls, addresses relative to the program counter, and marks for earlier passes, which go.

use mir::isa::{Opcode, Unit};
use mir::machine::{Function, Inst, Operand, Reg};

/// Expands what stands for several instructions, and drops what stands for none.
pub fn expand(f: &mut Function) {
    for &block in &f.layout {
        let insts = &mut f.blocks[block].insts;
        if insts.iter().all(|inst| inst.facts().unit != Unit::Pseudo) {
            continue;
        }
        for inst in std::mem::take(insts) {
            match (inst.op, &inst.operands[..]) {
                (Opcode::IMPLICIT_DEF | Opcode::FENCE | Opcode::INLINE_ASM, _) => {}
                (Opcode::CALL, &[link, target, _]) => {
                    let call = Inst::new(Opcode::S_SWAPPC_B64, [link, target]);
                    insts.push(Inst { loc: inst.loc, ..call });
                }
                (Opcode::PC_ADDRESS, &[Operand::Reg(dst), low, high]) if dst.dwords == 2 => {
                    let Reg::Physical(first) = dst.reg else {
                        insts.push(inst);
                        continue;
                    };
                    let half = |n| Operand::preg(first.plus(n), 1);
                    let make = |op, operands: &[Operand]| Inst {
                        loc: inst.loc,
                        ..Inst::new(op, operands.iter().copied())
                    };
                    insts.push(make(Opcode::S_GETPC_B64, &[Operand::Reg(dst)]));
                    insts.push(make(Opcode::S_ADD_U32, &[half(0), half(0), low]));
                    insts.push(make(Opcode::S_ADDC_U32, &[half(1), half(1), high]));
                }
                _ => insts.push(inst),
            }
        }
    }
}
