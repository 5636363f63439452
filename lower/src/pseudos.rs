//! Expands instructions that the hardware does not have: calls, addresses relative to the program counter, and marks for earlier passes, which go.

use crate::SPARE;
use mir::isa::{MaskOp, Opcode, Unit};
use mir::machine::{CallSite, Function, Inst, Operand, Reg};

/// Expands what stands for several instructions, and drops what stands for none.
pub fn expand(f: &mut Function) {
    let is_tail = |calls: &[CallSite], site: Operand| {
        let index = site.as_imm().and_then(|n| usize::try_from(n).ok());
        index.and_then(|n| calls.get(n)).is_some_and(|site| site.tail)
    };
    for &block in &f.layout {
        let insts = &mut f.blocks[block].insts;
        if insts.iter().all(|inst| inst.facts().unit != Unit::Pseudo) {
            continue;
        }
        let old = std::mem::take(insts);
        insts.reserve(old.len() + SPARE);
        for inst in old {
            match (inst.op, &inst.operands[..]) {
                (Opcode::IMPLICIT_DEF | Opcode::FENCE | Opcode::INLINE_ASM, _) => {}
                (Opcode::CALL, &[link, target, site]) => {
                    let call = match is_tail(&f.calls, site) {
                        true => Inst::new(Opcode::S_SETPC_B64, [target]),
                        false => Inst::new(Opcode::S_SWAPPC_B64, [link, target]),
                    };
                    insts.push(Inst { loc: inst.loc, ..call });
                }
                (Opcode::CHAIN_JUMP, &[target, lanes]) => {
                    let exec = Operand::exec(f.wave);
                    let make = |op, operands: &[Operand]| Inst {
                        loc: inst.loc,
                        ..Inst::new(op, operands.iter().copied())
                    };
                    insts.push(make(MaskOp::Mov.opcode(f.wave), &[exec, lanes]));
                    insts.push(make(Opcode::S_SETPC_B64, &[target]));
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
