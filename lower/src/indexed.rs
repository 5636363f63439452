//! Indexed moves: `INDEXED_READ` and `INDEXED_WRITE` become what the target has for an element of a VGPR tuple whose number is in an SGPR.
//!
//! From GFX8 a mode adds M0 to the register numbers of vector instructions (`s_set_gpr_idx_on`), before that `v_movrels`
//! and `v_movreld` do. Runs of moves with one index share the mode. The expansion follows wait insertion, which has to see
//! the whole tuple as read or written, and precedes hazard NOPs, which concern the real instructions. Cost: linear.
//!
//! Sources: Vega ISA, "S_SET_GPR_IDX_ON"; Southern Islands ISA, "V_MOVRELS_B32".

use mir::isa::Opcode;
use mir::machine::{Function, Inst, Operand, PReg, Reg};
use mir::target::Target;

/// `s_set_gpr_idx_on`: the index is added to the first source.
const INDEX_SRC0: i64 = 1;
/// `s_set_gpr_idx_on`: the index is added to the destination.
const INDEX_DST: i64 = 8;

/// Expands all indexed moves of an allocated function.
pub fn expand(f: &mut Function, target: &Target) {
    let mode = Opcode::S_SET_GPR_IDX_ON.info().exists_on(target);
    for &block in &f.layout {
        let insts = &mut f.blocks[block].insts;
        if !insts.iter().any(|inst| parts(inst).is_some()) {
            continue;
        }
        let mut open: Option<(Operand, i64)> = None;
        let old = std::mem::take(insts);
        for inst in old {
            let wanted = parts(&inst).map(|p| (p.index, p.which));
            if open.is_some() && open != wanted {
                insts.push(make(&inst, Opcode::S_SET_GPR_IDX_OFF, &[]));
                open = None;
            }
            let Some(p) = parts(&inst) else {
                insts.push(inst);
                continue;
            };
            let read = p.which == INDEX_SRC0;
            if mode {
                if open.is_none() {
                    insts.push(make(&inst, Opcode::S_SET_GPR_IDX_ON, &[p.index, Operand::Imm(p.which)]));
                    open = wanted;
                }
                insts.push(make(&inst, Opcode::V_MOV_B32, &[p.dst, p.src]));
            } else {
                insts.push(make(&inst, Opcode::S_MOV_B32, &[Operand::preg(PReg::M0, 1), p.index]));
                let op = if read { Opcode::V_MOVRELS_B32 } else { Opcode::V_MOVRELD_B32 };
                insts.push(make(&inst, op, &[p.dst, p.src]));
            }
        }
        if open.is_some() {
            insts.push(Inst::new(Opcode::S_SET_GPR_IDX_OFF, []));
        }
    }
}

/// An indexed move, taken apart.
struct Parts {
    dst: Operand,
    src: Operand,
    index: Operand,
    which: i64,
}

fn parts(inst: &Inst) -> Option<Parts> {
    let element = |tuple: Operand| match tuple {
        Operand::Reg(reg) => match reg.reg {
            Reg::Physical(first) => Some(Operand::preg(first.plus(inst.mods.offset as u16), 1)),
            Reg::Virtual(_) => None,
        },
        _ => None,
    };
    match (inst.op, &inst.operands[..]) {
        (Opcode::INDEXED_READ, &[dst, tuple, index]) => {
            Some(Parts { dst, src: element(tuple)?, index, which: INDEX_SRC0 })
        }
        (Opcode::INDEXED_WRITE, &[tuple, src, index]) => {
            Some(Parts { dst: element(tuple)?, src, index, which: INDEX_DST })
        }
        _ => None,
    }
}

fn make(like: &Inst, op: Opcode, operands: &[Operand]) -> Inst {
    Inst { loc: like.loc, ..Inst::new(op, operands.iter().copied()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::ir::{CallConv, Func};

    /// Opcodes and first register of the first operand after the expansion of two reads and a write with one index.
    fn expanded(processor: &str) -> Vec<(Opcode, Option<Operand>)> {
        let mut f = Function::new("k", CallConv::Kernel, Func::from_u32(0));
        let block = f.add_block();
        f.layout = vec![block];
        let (v, index) = (|n, d| Operand::preg(PReg::vgpr(n), d), Operand::preg(PReg::sgpr(7), 1));
        let mut high = Inst::new(Opcode::INDEXED_READ, [v(1, 1), v(8, 16), index]);
        high.mods.offset = 1;
        f.blocks[block].insts = vec![
            Inst::new(Opcode::INDEXED_READ, [v(0, 1), v(8, 16), index]),
            high,
            Inst::new(Opcode::INDEXED_WRITE, [v(8, 16), v(0, 1), index]),
        ];
        expand(&mut f, &Target::new(Target::processor_by_name(processor).expect("a processor")));
        f.blocks[block].insts.iter().map(|i| (i.op, i.operands.last().copied())).collect()
    }

    #[test]
    fn moves_with_one_index_share_the_mode() {
        use Opcode::*;
        let (v, imm) = (|n| Some(Operand::preg(PReg::vgpr(n), 1)), |n| Some(Operand::Imm(n)));
        let want = [
            (S_SET_GPR_IDX_ON, imm(INDEX_SRC0)),
            (V_MOV_B32, v(8)),
            (V_MOV_B32, v(9)),
            (S_SET_GPR_IDX_OFF, None),
            (S_SET_GPR_IDX_ON, imm(INDEX_DST)),
            (V_MOV_B32, v(0)),
            (S_SET_GPR_IDX_OFF, None),
        ];
        assert_eq!(expanded("gfx900"), want);
    }

    #[test]
    fn older_targets_move_relative_to_m0() {
        let ops: Vec<Opcode> = expanded("gfx600").into_iter().map(|(op, _)| op).collect();
        use Opcode::*;
        assert_eq!(ops, [S_MOV_B32, V_MOVRELS_B32, S_MOV_B32, V_MOVRELS_B32, S_MOV_B32, V_MOVRELD_B32]);
    }
}
