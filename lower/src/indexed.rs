//! Indexed moves: `INDEXED_READ` and `INDEXED_WRITE` become what the target has for an element of a VGPR tuple whose number is in an SGPR.
//!
//! From GFX8 a mode adds M0 to the register numbers of vector instructions (`s_set_gpr_idx_on`), before that `v_movrels`
//! and `v_movreld` do, whose moves into M0 `m0.rs` thins out. Runs of moves with one index share the mode. The expansion follows wait insertion, which has to see
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
    let mut moved = Vec::new();
    for &block in &f.layout {
        let insts = &mut f.blocks[block].insts;
        if !insts.iter().any(|inst| parts(inst).is_some()) {
            continue;
        }
        moved.push(block);
        let mut open: Option<(Operand, i64)> = None;
        let old = std::mem::take(insts);
        insts.reserve(old.len() + old.len() / 4);
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
    if !mode {
        crate::m0::settle(f, &moved);
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
