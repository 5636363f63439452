//! Comparisons that write EXEC themselves.
//!
//! `v_cmp D, a, b; s_and_b64 exec, exec, D` → `v_cmpx D, a, b`, and `v_cmp D, a, b; s_and_saveexec_b64 S, D` →
//! `s_mov_b64 S, exec; v_cmpx D, a, b`: nothing waits for the vector unit's mask, and where nothing is saved an instruction goes. Both
//! write 0 to D for lanes that are not active, so D and EXEC are what they were. Up to GFX9: from GFX10 on `v_cmpx` has no D.
//!
//! The comparison moves down to the narrowing, past instructions that neither touch D nor change what is compared. Cost: linear; the
//! search for the comparison is bounded.

use mir::isa::Opcode::{self, *};
use mir::isa::{Implicit, MaskOp, Unit};
use mir::machine::{Function, Inst, Operand, PReg, Reg, RegOperand};
use mir::target::{Target, WaveSize};
use std::ops::Range;

/// How many instructions in front of the narrowing a comparison is looked for.
const REACH: usize = 8;

/// Lets comparisons of an allocated function narrow EXEC.
pub(crate) fn fuse(f: &mut Function, target: &Target) {
    let wave = f.wave;
    if !V_CMPX_EQ_U32.info().exists_on(target) {
        return;
    }
    for &block in &f.layout {
        let insts = &mut f.blocks[block].insts;
        let mut gone = Vec::new();
        for at in 1..insts.len() {
            let Some((saved, mask)) = narrowing(&insts[at], wave) else { continue };
            let Some((from, op)) = comparison(&insts[..at], saved, mask) else { continue };
            if !op.info().exists_on(target) {
                continue;
            }
            insts[from..at].rotate_left(1);
            let mut compare = insts[at - 1].clone();
            compare.op = op;
            match saved {
                Some(saved) => {
                    let save = Inst::new(MaskOp::Mov.opcode(wave), [saved, Operand::exec(wave)]);
                    insts[at - 1] = Inst { loc: insts[at].loc, ..save };
                }
                None => gone.push(at - 1),
            }
            insts[at] = compare;
        }
        if !gone.is_empty() {
            let (mut at, mut gone) = (0, gone.into_iter().peekable());
            insts.retain(|_| {
                at += 1;
                gone.next_if_eq(&(at - 1)).is_none()
            });
        }
    }
}

/// Where `inst` narrows EXEC by a mask: where it saves EXEC, and the mask.
fn narrowing(inst: &Inst, wave: WaveSize) -> Option<(Option<Operand>, Operand)> {
    let exec = Operand::exec(wave);
    let (saved, mask) = match inst.operands[..] {
        [into, a, b] if inst.op == MaskOp::And.opcode(wave) && into == exec => match (a == exec, b == exec) {
            (true, false) => (None, b),
            (false, true) => (None, a),
            _ => return None,
        },
        [saved, mask] if inst.op == MaskOp::AndSaveexec.opcode(wave) => (Some(saved), mask),
        _ => return None,
    };
    let apart = saved.is_none_or(|saved| !overlap(saved, mask));
    (apart && matches!(mask, Operand::Reg(_))).then_some((saved, mask))
}

/// The last comparison of `insts` that leaves `mask`, if it may as well stand at their end, and what it is when it writes EXEC.
fn comparison(insts: &[Inst], saved: Option<Operand>, mask: Operand) -> Option<(usize, Opcode)> {
    let touches = |inst: &Inst| {
        let mut touches = false;
        inst.for_each_access(|access| touches |= meet(&access.range(), &registers(mask)));
        touches
    };
    let first = insts.len().saturating_sub(REACH);
    let from = first + insts[first..].iter().rposition(touches)?;
    let compare = &insts[from];
    let op = narrowing_form(compare.op)?;
    if compare.operands.first() != Some(&mask)
        || compare.operands[1..].iter().any(|&x| overlap(x, mask) || saved.is_some_and(|s| overlap(x, s)))
    {
        return None;
    }
    let stays = insts[from + 1..].iter().all(|inst| {
        let facts = inst.facts();
        let opaque = facts.unit == Unit::Pseudo && !inst.op.is_copy() && !inst.op.is_mark();
        // In front of a barrier or a wait the comparison costs no time.
        let opaque = opaque || facts.unit == Unit::Control;
        let state = Implicit::EXEC_DEF.union(Implicit::MODE_DEF);
        let mut changes = opaque || inst.leaves() || facts.implicit.intersects(state);
        inst.for_each_access(|access| {
            let written = access.range();
            let exec = usize::from(PReg::EXEC_LO.0)..usize::from(PReg::EXEC_HI.0) + 1;
            changes |= access.write && meet(&written, &exec);
            changes |= access.write && compare.operands[1..].iter().any(|&x| meet(&written, &registers(x)));
        });
        !changes
    });
    stays.then_some((from, op))
}

/// The physical registers of an operand.
pub(crate) fn registers(operand: Operand) -> Range<usize> {
    match operand {
        Operand::Reg(RegOperand { reg: Reg::Physical(first), dwords, .. }) => {
            usize::from(first.0)..usize::from(first.0) + usize::from(dwords)
        }
        _ => 0..0,
    }
}

pub(crate) fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn overlap(a: Operand, b: Operand) -> bool {
    meet(&registers(a), &registers(b))
}

/// The comparison that also writes EXEC.
pub(crate) fn narrowing_form(op: Opcode) -> Option<Opcode> {
    Some(match op {
        V_CMP_CLASS_F32 => V_CMPX_CLASS_F32,
        V_CMP_CLASS_F64 => V_CMPX_CLASS_F64,
        V_CMP_CLASS_F16 => V_CMPX_CLASS_F16,
        V_CMP_LT_F16 => V_CMPX_LT_F16,
        V_CMP_EQ_F16 => V_CMPX_EQ_F16,
        V_CMP_LE_F16 => V_CMPX_LE_F16,
        V_CMP_GT_F16 => V_CMPX_GT_F16,
        V_CMP_LG_F16 => V_CMPX_LG_F16,
        V_CMP_GE_F16 => V_CMPX_GE_F16,
        V_CMP_O_F16 => V_CMPX_O_F16,
        V_CMP_U_F16 => V_CMPX_U_F16,
        V_CMP_NGE_F16 => V_CMPX_NGE_F16,
        V_CMP_NLG_F16 => V_CMPX_NLG_F16,
        V_CMP_NGT_F16 => V_CMPX_NGT_F16,
        V_CMP_NLE_F16 => V_CMPX_NLE_F16,
        V_CMP_NEQ_F16 => V_CMPX_NEQ_F16,
        V_CMP_NLT_F16 => V_CMPX_NLT_F16,
        V_CMP_LT_F32 => V_CMPX_LT_F32,
        V_CMP_EQ_F32 => V_CMPX_EQ_F32,
        V_CMP_LE_F32 => V_CMPX_LE_F32,
        V_CMP_GT_F32 => V_CMPX_GT_F32,
        V_CMP_LG_F32 => V_CMPX_LG_F32,
        V_CMP_GE_F32 => V_CMPX_GE_F32,
        V_CMP_O_F32 => V_CMPX_O_F32,
        V_CMP_U_F32 => V_CMPX_U_F32,
        V_CMP_NGE_F32 => V_CMPX_NGE_F32,
        V_CMP_NLG_F32 => V_CMPX_NLG_F32,
        V_CMP_NGT_F32 => V_CMPX_NGT_F32,
        V_CMP_NLE_F32 => V_CMPX_NLE_F32,
        V_CMP_NEQ_F32 => V_CMPX_NEQ_F32,
        V_CMP_NLT_F32 => V_CMPX_NLT_F32,
        V_CMP_LT_F64 => V_CMPX_LT_F64,
        V_CMP_EQ_F64 => V_CMPX_EQ_F64,
        V_CMP_LE_F64 => V_CMPX_LE_F64,
        V_CMP_GT_F64 => V_CMPX_GT_F64,
        V_CMP_LG_F64 => V_CMPX_LG_F64,
        V_CMP_GE_F64 => V_CMPX_GE_F64,
        V_CMP_O_F64 => V_CMPX_O_F64,
        V_CMP_U_F64 => V_CMPX_U_F64,
        V_CMP_NGE_F64 => V_CMPX_NGE_F64,
        V_CMP_NLG_F64 => V_CMPX_NLG_F64,
        V_CMP_NGT_F64 => V_CMPX_NGT_F64,
        V_CMP_NLE_F64 => V_CMPX_NLE_F64,
        V_CMP_NEQ_F64 => V_CMPX_NEQ_F64,
        V_CMP_NLT_F64 => V_CMPX_NLT_F64,
        V_CMP_LT_I16 => V_CMPX_LT_I16,
        V_CMP_EQ_I16 => V_CMPX_EQ_I16,
        V_CMP_LE_I16 => V_CMPX_LE_I16,
        V_CMP_GT_I16 => V_CMPX_GT_I16,
        V_CMP_NE_I16 => V_CMPX_NE_I16,
        V_CMP_GE_I16 => V_CMPX_GE_I16,
        V_CMP_LT_U16 => V_CMPX_LT_U16,
        V_CMP_EQ_U16 => V_CMPX_EQ_U16,
        V_CMP_LE_U16 => V_CMPX_LE_U16,
        V_CMP_GT_U16 => V_CMPX_GT_U16,
        V_CMP_NE_U16 => V_CMPX_NE_U16,
        V_CMP_GE_U16 => V_CMPX_GE_U16,
        V_CMP_LT_I32 => V_CMPX_LT_I32,
        V_CMP_EQ_I32 => V_CMPX_EQ_I32,
        V_CMP_LE_I32 => V_CMPX_LE_I32,
        V_CMP_GT_I32 => V_CMPX_GT_I32,
        V_CMP_NE_I32 => V_CMPX_NE_I32,
        V_CMP_GE_I32 => V_CMPX_GE_I32,
        V_CMP_LT_U32 => V_CMPX_LT_U32,
        V_CMP_EQ_U32 => V_CMPX_EQ_U32,
        V_CMP_LE_U32 => V_CMPX_LE_U32,
        V_CMP_GT_U32 => V_CMPX_GT_U32,
        V_CMP_NE_U32 => V_CMPX_NE_U32,
        V_CMP_GE_U32 => V_CMPX_GE_U32,
        V_CMP_LT_I64 => V_CMPX_LT_I64,
        V_CMP_EQ_I64 => V_CMPX_EQ_I64,
        V_CMP_LE_I64 => V_CMPX_LE_I64,
        V_CMP_GT_I64 => V_CMPX_GT_I64,
        V_CMP_NE_I64 => V_CMPX_NE_I64,
        V_CMP_GE_I64 => V_CMPX_GE_I64,
        V_CMP_LT_U64 => V_CMPX_LT_U64,
        V_CMP_EQ_U64 => V_CMPX_EQ_U64,
        V_CMP_LE_U64 => V_CMPX_LE_U64,
        V_CMP_GT_U64 => V_CMPX_GT_U64,
        V_CMP_NE_U64 => V_CMPX_NE_U64,
        V_CMP_GE_U64 => V_CMPX_GE_U64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mnemonics are the witness: each comparison narrows by the same relation of the same type, and none is left out but those that compare
    /// nothing.
    #[test]
    fn comparisons_narrow_by_their_own_relation() {
        let mut count = 0;
        for &op in Opcode::ALL {
            let narrow = narrowing_form(op).map(|op| op.info().name.to_owned());
            let wanted = op
                .info()
                .name
                .strip_prefix("v_cmp_")
                .filter(|rest| !["f_", "t_", "tru_"].iter().any(|constant| rest.starts_with(constant)));
            assert_eq!(narrow, wanted.map(|rest| format!("v_cmpx_{rest}")), "{}", op.info().name);
            count += usize::from(narrow.is_some());
        }
        assert_eq!(count, 81);
    }
}
