//! Comparisons with zero of what an instruction has compared with zero already.
//!
//! Logic, shifts, bit fields and counts of the scalar unit leave in SCC whether their result is other than zero, which `s_cmp_lg x, 0` asks
//! again. The comparison goes, and the instruction takes its place where something in between writes SCC and nothing reads the result. For
//! `s_cmp_eq x, 0` the readers of SCC are turned around.
//!
//! Source: GCN3 and Vega ISA, "SOP2 Instructions", "SOP1 Instructions" (SCC).

use super::is_wall;
use mir::isa::{Implicit, Opcode};
use mir::machine::{Block, Condition, Function, Inst, Operand, PReg, Reg, RegOperand, Terminator, VReg};

/// Instructions between the two that are looked at.
const MOST: usize = 12;

/// Drops the comparisons of `block` that SCC answers already.
pub(super) fn reuse(f: &mut Function, block: Block) {
    let mut dropped = false;
    for i in 0..f.blocks[block].insts.len() {
        if let Some((reg, equal)) = asks(&f.blocks[block].insts[i])
            && let Some(step) = plan(f, block, i, reg, equal)
        {
            apply(f, block, i, step, equal);
            dropped = true;
        }
    }
    if dropped {
        let data = &mut f.blocks[block];
        data.insts.retain(|inst| !is_hole(inst));
        data.tail_start = data.insts.len() as u32;
    }
}

/// What stands where an instruction was.
fn hole() -> Inst {
    Inst::new(Opcode::COPY, [])
}

fn is_hole(inst: &Inst) -> bool {
    inst.op == Opcode::COPY && inst.operands.is_empty()
}

/// How a comparison goes.
#[derive(Clone, Copy)]
struct Step {
    /// The instruction that sets SCC.
    setter: usize,
    /// It takes the place of the comparison.
    moves: bool,
}

/// The register that `inst` compares with zero, and whether SCC says that it is equal.
fn asks(inst: &Inst) -> Option<(VReg, bool)> {
    use Opcode::*;
    let equal = match inst.op {
        S_CMP_EQ_U32 | S_CMP_EQ_I32 | S_CMP_EQ_U64 => true,
        S_CMP_LG_U32 | S_CMP_LG_I32 | S_CMP_LG_U64 => false,
        _ => return None,
    };
    match inst.operands[..] {
        [Operand::Reg(RegOperand { reg: Reg::Virtual(reg), sub: 0, .. }), Operand::Imm(0)]
        | [Operand::Imm(0), Operand::Reg(RegOperand { reg: Reg::Virtual(reg), sub: 0, .. })] => {
            Some((reg, equal))
        }
        _ => None,
    }
}

/// Whether SCC says afterwards that the result is not zero.
fn sets_scc_by_result(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        S_AND_B32
            | S_AND_B64
            | S_OR_B32
            | S_OR_B64
            | S_XOR_B32
            | S_XOR_B64
            | S_ANDN2_B32
            | S_ANDN2_B64
            | S_ORN2_B32
            | S_ORN2_B64
            | S_NAND_B32
            | S_NAND_B64
            | S_NOR_B32
            | S_NOR_B64
            | S_XNOR_B32
            | S_XNOR_B64
            | S_NOT_B32
            | S_NOT_B64
            | S_LSHL_B32
            | S_LSHL_B64
            | S_LSHR_B32
            | S_LSHR_B64
            | S_ASHR_I32
            | S_ASHR_I64
            | S_BFE_U32
            | S_BFE_I32
            | S_BFE_U64
            | S_BFE_I64
            | S_BCNT0_I32_B32
            | S_BCNT0_I32_B64
            | S_BCNT1_I32_B32
            | S_BCNT1_I32_B64
            | S_ABS_I32
            | S_ABSDIFF_I32
    )
}

fn writes_scc(inst: &Inst) -> bool {
    inst.facts().implicit.contains(Implicit::SCC_DEF) || names_scc(inst, true)
}

fn reads_scc(inst: &Inst) -> bool {
    inst.facts().implicit.contains(Implicit::SCC_USE) || names_scc(inst, false)
}

fn names_scc(inst: &Inst, written: bool) -> bool {
    inst.regs().any(|(is_def, operand)| is_def == written && operand.reg == Reg::Physical(PReg::SCC))
}

/// How comparison `i` of `reg` goes, if it can.
fn plan(f: &Function, block: Block, i: usize, reg: VReg, equal: bool) -> Option<Step> {
    let insts = &f.blocks[block].insts;
    let defines =
        |inst: &Inst| inst.regs().any(|(is_def, operand)| is_def && operand.reg == Reg::Virtual(reg));
    let setter = (i.saturating_sub(MOST)..i).rev().find(|&k| defines(&insts[k]))?;
    let inst = &insts[setter];
    if !sets_scc_by_result(inst.op) {
        return None;
    }
    let whole = inst.operands.first().and_then(Operand::as_reg)?;
    if whole.reg != Reg::Virtual(reg) || whole.dwords != f.vregs[reg].dwords || whole.sub != 0 {
        return None;
    }
    if insts[i].regs().any(|(_, operand)| operand.dwords != whole.dwords) {
        return None;
    }
    let between = &insts[setter + 1..i];
    if between.iter().any(is_wall) {
        return None;
    }
    let rewritten = between.iter().any(writes_scc);
    // What stands between a writer of SCC and its reader stays there.
    let free = between.len() <= 2 && !between.iter().any(|inst| inst.facts().memory.is_some());
    let moves = if !rewritten && free {
        false
    } else {
        let is_virtual = |operand: &RegOperand| matches!(operand.reg, Reg::Virtual(_));
        let movable = inst.regs().all(|(_, operand)| is_virtual(operand));
        let needed =
            between.iter().any(|inst| inst.regs().any(|(_, operand)| operand.reg == Reg::Virtual(reg)));
        // Whoever reads the SCC of the instruction would read an older one.
        let mut own = between.iter().take_while(|inst| !writes_scc(inst));
        let first_writer = between.iter().find(|inst| writes_scc(inst));
        if !movable || needed || own.any(reads_scc) || first_writer.is_some_and(reads_scc) {
            return None;
        }
        true
    };
    if equal && !can_turn(f, block, i) {
        return None;
    }
    Some(Step { setter, moves })
}

/// The readers of what instruction `i` leaves in SCC: their indices, and whether the terminator is one.
fn readers(f: &Function, block: Block, i: usize) -> (impl Iterator<Item = usize> + '_, bool) {
    let data = &f.blocks[block];
    let behind = &data.insts[i + 1..];
    let end = behind.iter().position(writes_scc);
    let last = end.map_or(behind.len(), |end| end + 1);
    let found =
        behind[..last].iter().enumerate().filter(|(_, inst)| reads_scc(inst)).map(move |(k, _)| i + 1 + k);
    let terminator =
        end.is_none() && matches!(data.term, Terminator::Uniform(Condition::Scc0 | Condition::Scc1));
    (found, terminator)
}

/// Whether all readers can be turned around.
fn can_turn(f: &Function, block: Block, i: usize) -> bool {
    let selects = |op| matches!(op, Opcode::S_CSELECT_B32 | Opcode::S_CSELECT_B64);
    readers(f, block, i)
        .0
        .all(|k| selects(f.blocks[block].insts[k].op) && !names_scc(&f.blocks[block].insts[k], false))
}

fn apply(f: &mut Function, block: Block, i: usize, step: Step, equal: bool) {
    if equal {
        let (found, terminator) = readers(f, block, i);
        let found: Vec<usize> = found.collect();
        let data = &mut f.blocks[block];
        for k in found {
            data.insts[k].operands.swap(1, 2);
        }
        if let (true, Terminator::Uniform(condition)) = (terminator, &mut data.term) {
            *condition = condition.inverse();
        }
    }
    let insts = &mut f.blocks[block].insts;
    let inst = std::mem::replace(&mut insts[step.setter], hole());
    if step.moves {
        insts[i] = inst;
    } else {
        insts[step.setter] = inst;
        insts[i] = hole();
    }
}
