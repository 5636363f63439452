//! Comparisons that write EXEC themselves.
//!
//! `v_cmp D, a, b; s_and_b64 exec, exec, D` → `v_cmpx D, a, b`, and `v_cmp D, a, b; s_and_saveexec_b64 S, D` →
//! `s_mov_b64 S, exec; v_cmpx D, a, b`: nothing waits for the vector unit's mask, and where nothing is saved an instruction goes. Both
//! write 0 to D for lanes that are not active, so D and EXEC are what they were. From GFX10 on `v_cmpx` has no D, which nobody may read then.
//!
//! Where the mask joins several comparisons (`s_and_b64`), each of them narrows in turn, and the last one leaves the mask: what is inside of all of a grid's
//! bounds takes no scalar instruction. The others' masks are not what they were then, so nobody may read them.
//!
//! Comparisons move down to the narrowing, past instructions that neither touch D nor change what is compared. Cost: linear; the
//! search for comparisons is bounded, and which masks are read later is asked for where one would not be what it was.

use crate::live_scalars::{LiveScalars, Scalars};
use mir::isa::Opcode::{self, *};
use mir::isa::{Implicit, MaskOp, Unit};
use mir::machine::{Encoding, Function, Inst, Operand, PReg, Reg, RegOperand};
use mir::target::{Features, Target, WaveSize};
use smallvec::SmallVec;
use std::ops::Range;

/// How many instructions in front of the narrowing comparisons are looked for.
const REACH: usize = 24;

/// Most comparisons that one narrowing takes.
const MOST: usize = 6;

/// What comparisons that write EXEC leave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Their mask, too.
    WithMask,
    /// Nothing else.
    Alone,
}

impl Form {
    fn on(target: &Target) -> Self {
        if V_CMPX_EQ_U32.info().exists_on(target) { Self::WithMask } else { Self::Alone }
    }

    /// The comparison `op` in this form. Those that a target has exist in the form that it has.
    fn of(self, op: Opcode) -> Option<Opcode> {
        let [with_mask, alone] = narrowing_forms(op)?;
        Some(match self {
            Self::WithMask => with_mask,
            Self::Alone => alone,
        })
    }
}

/// What makes a mask.
struct Chain {
    /// The comparisons, ascending.
    compares: SmallVec<[usize; MOST]>,
    /// What joins their masks.
    joins: SmallVec<[usize; MOST]>,
}

/// Lets comparisons of an allocated function narrow EXEC.
pub(crate) fn fuse(f: &mut Function, target: &Target) {
    let wave = f.wave;
    let form = Form::on(target);
    let mut live = None;
    for place in 0..f.layout.len() {
        let block = f.layout[place];
        let insts = &f.blocks[block].insts;
        let mut gone: Vec<bool> = Vec::new();
        let mut edits: Vec<(usize, Vec<Inst>)> = Vec::new();
        let mut live_here: Option<Vec<Scalars>> = None;
        for at in 1..insts.len() {
            let Some((saved, mask)) = narrowing(&insts[at], wave) else { continue };
            // What is saved would have to be waited for.
            if saved.is_some() && target.has(Features::COMPARISONS_OVERTAKE_EXEC) {
                continue;
            }
            let Some(chain) = chain(&insts[..at], saved, mask, wave, form) else { continue };
            let mut masks: SmallVec<[Operand; MOST]> =
                chain.compares.iter().map(|&compare| insts[compare].operands[0]).collect();
            if form == Form::Alone || !chain.joins.is_empty() {
                let live = live_here.get_or_insert_with(|| {
                    live.get_or_insert_with(|| LiveScalars::compute(f)).in_block(f, block)
                })[at];
                let is_read = |own: Operand| registers(own).any(|number| live >> number & 1 != 0);
                let is_left = |own: Operand| own == mask && form == Form::WithMask;
                if masks.iter().any(|&own| !is_left(own) && is_read(own))
                    || form == Form::Alone && is_read(mask)
                {
                    continue;
                }
                if let Some(last) = masks.last_mut() {
                    *last = mask;
                }
                // Short forms write VCC. It is free until the last one if that leaves its mask there.
                let vcc = Operand::vcc(wave);
                let takes_vcc = |&compare: &usize| {
                    let inst = &insts[compare];
                    inst.encoding == Encoding::Auto && !inst.operands[1..].iter().any(|&x| overlap(x, vcc))
                };
                let free = mask == vcc || !is_read(vcc);
                if free && chain.compares.iter().all(takes_vcc) {
                    masks.iter_mut().filter(|own| **own != mask || !is_read(mask)).for_each(|own| *own = vcc);
                }
            }
            let save = saved.map(|saved| Inst {
                loc: insts[at].loc,
                ..Inst::new(MaskOp::Mov.opcode(wave), [saved, Operand::exec(wave)])
            });
            let mut code: Vec<Inst> = save.into_iter().collect();
            for (&compare, mask) in chain.compares.iter().zip(masks) {
                let mut inst = insts[compare].clone();
                inst.op = form.of(inst.op).unwrap_or(inst.op);
                match form {
                    Form::WithMask => inst.operands[0] = mask,
                    Form::Alone => drop(inst.operands.remove(0)),
                }
                code.push(inst);
            }
            gone.resize(insts.len(), false);
            chain.compares.iter().chain(&chain.joins).for_each(|&at| gone[at] = true);
            edits.push((at, code));
        }
        if edits.is_empty() {
            continue;
        }
        let mut edits = edits.into_iter().peekable();
        let insts = std::mem::take(&mut f.blocks[block].insts);
        let mut out = Vec::with_capacity(insts.len());
        for (at, inst) in insts.into_iter().enumerate() {
            if let Some((_, code)) = edits.next_if(|edit| edit.0 == at) {
                out.extend(code);
            } else if !gone[at] {
                out.push(inst);
            }
        }
        f.blocks[block].insts = out;
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

/// What makes `mask` at the end of `insts` and may as well stand there, where EXEC is narrowed and put into `saved`.
fn chain(insts: &[Inst], saved: Option<Operand>, mask: Operand, wave: WaveSize, form: Form) -> Option<Chain> {
    let first = insts.len().saturating_sub(REACH);
    let mut found = Chain { compares: SmallVec::new(), joins: SmallVec::new() };
    let mut work: SmallVec<[(Operand, usize); MOST]> = SmallVec::from_slice(&[(mask, insts.len())]);
    while let Some((mask, end)) = work.pop() {
        let at = first + insts[first..end].iter().rposition(|inst| touches(inst, &registers(mask)))?;
        let inst = &insts[at];
        if inst.operands.first() != Some(&mask) {
            return None;
        }
        if form.of(inst.op).is_some() {
            if found.compares.len() == MOST {
                return None;
            }
            found.compares.push(at);
            continue;
        }
        let &[_, a, b] = &inst.operands[..] else { return None };
        let masks = [a, b].iter().all(|&part| is_mask(part, wave));
        if inst.op != MaskOp::And.opcode(wave) || !masks || overlap(a, b) || found.joins.len() == MOST {
            return None;
        }
        found.joins.push(at);
        work.extend([(a, at), (b, at)]);
    }
    found.compares.sort_unstable();
    may_sink(insts, &found, saved, mask).then_some(found)
}

/// Whether the comparisons of `chain` may stand at the end of `insts`, in their order and without what joins them.
fn may_sink(insts: &[Inst], chain: &Chain, saved: Option<Operand>, mask: Operand) -> bool {
    let (Some(&first), Some(&last)) = (chain.compares.first(), chain.compares.last()) else { return false };
    let is_part = |at: usize| chain.compares.contains(&at) || chain.joins.contains(&at);
    let apart = |at: usize| {
        let [own, compared @ ..] = &insts[at].operands[..] else { return false };
        // Masks are pairs: what meets one is it.
        let kept = *own == mask || !overlap(*own, mask);
        let saved = saved.is_none_or(|saved| !compared.iter().chain([own]).any(|&x| overlap(x, saved)));
        kept && saved && !compared.iter().any(|&x| overlap(x, *own))
    };
    // A form that was chosen for its own mask may have no room for another one.
    let whole = insts[last].encoding == Encoding::Auto || insts[last].operands[0] == mask;
    let leaves_mask = whole && !insts[last].operands[1..].iter().any(|&x| overlap(x, mask));
    if !leaves_mask || !chain.compares.iter().all(|&at| apart(at)) {
        return false;
    }
    (first + 1..insts.len()).filter(|&at| !is_part(at)).all(|at| {
        let inst = &insts[at];
        let facts = inst.facts();
        // In front of a barrier or a wait the comparison costs no time.
        let opaque = inst.is_expanded_later() || facts.unit == Unit::Control;
        let state = Implicit::EXEC_DEF.union(Implicit::MODE_DEF);
        let asks_joins = !chain.joins.is_empty() && facts.implicit.contains(Implicit::SCC_USE);
        let mut changes = opaque || asks_joins || inst.leaves() || facts.implicit.intersects(state);
        inst.for_each_access(|access| {
            let accessed = access.range();
            let exec = usize::from(PReg::EXEC_LO.0)..usize::from(PReg::EXEC_HI.0) + 1;
            changes |= access.write && meet(&accessed, &exec);
            for &compare in chain.compares.iter().filter(|&&compare| compare < at) {
                let operands = &insts[compare].operands;
                changes |= access.write && operands[1..].iter().any(|&x| meet(&accessed, &registers(x)));
                changes |= meet(&accessed, &registers(operands[0]));
            }
        });
        !changes
    })
}

/// Whether `inst` reads or writes one of `wanted`.
fn touches(inst: &Inst, wanted: &Range<usize>) -> bool {
    let mut touches = false;
    inst.for_each_access(|access| touches |= meet(&access.range(), wanted));
    touches
}

/// Whether an operand is a mask in registers other than EXEC.
fn is_mask(operand: Operand, wave: WaveSize) -> bool {
    let registers = registers(operand);
    registers.len() == usize::from(wave.mask_dwords()) && registers.start != usize::from(PReg::EXEC_LO.0)
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

/// Whether `op` compares values of lanes into a mask, in which it writes 0 for lanes that are not active.
pub(crate) fn is_comparison(op: Opcode) -> bool {
    narrowing_forms(op).is_some()
}

/// The comparisons that also write EXEC: the one that leaves its mask, too, and the one that does not, which exists from GFX10 on in its place.
pub(crate) fn narrowing_forms(op: Opcode) -> Option<[Opcode; 2]> {
    Some(match op {
        V_CMP_CLASS_F32 => [V_CMPX_CLASS_F32, V_CMPX_CLASS_F32_EXEC],
        V_CMP_CLASS_F64 => [V_CMPX_CLASS_F64, V_CMPX_CLASS_F64_EXEC],
        V_CMP_CLASS_F16 => [V_CMPX_CLASS_F16, V_CMPX_CLASS_F16_EXEC],
        V_CMP_LT_F16 => [V_CMPX_LT_F16, V_CMPX_LT_F16_EXEC],
        V_CMP_EQ_F16 => [V_CMPX_EQ_F16, V_CMPX_EQ_F16_EXEC],
        V_CMP_LE_F16 => [V_CMPX_LE_F16, V_CMPX_LE_F16_EXEC],
        V_CMP_GT_F16 => [V_CMPX_GT_F16, V_CMPX_GT_F16_EXEC],
        V_CMP_LG_F16 => [V_CMPX_LG_F16, V_CMPX_LG_F16_EXEC],
        V_CMP_GE_F16 => [V_CMPX_GE_F16, V_CMPX_GE_F16_EXEC],
        V_CMP_O_F16 => [V_CMPX_O_F16, V_CMPX_O_F16_EXEC],
        V_CMP_U_F16 => [V_CMPX_U_F16, V_CMPX_U_F16_EXEC],
        V_CMP_NGE_F16 => [V_CMPX_NGE_F16, V_CMPX_NGE_F16_EXEC],
        V_CMP_NLG_F16 => [V_CMPX_NLG_F16, V_CMPX_NLG_F16_EXEC],
        V_CMP_NGT_F16 => [V_CMPX_NGT_F16, V_CMPX_NGT_F16_EXEC],
        V_CMP_NLE_F16 => [V_CMPX_NLE_F16, V_CMPX_NLE_F16_EXEC],
        V_CMP_NEQ_F16 => [V_CMPX_NEQ_F16, V_CMPX_NEQ_F16_EXEC],
        V_CMP_NLT_F16 => [V_CMPX_NLT_F16, V_CMPX_NLT_F16_EXEC],
        V_CMP_LT_F32 => [V_CMPX_LT_F32, V_CMPX_LT_F32_EXEC],
        V_CMP_EQ_F32 => [V_CMPX_EQ_F32, V_CMPX_EQ_F32_EXEC],
        V_CMP_LE_F32 => [V_CMPX_LE_F32, V_CMPX_LE_F32_EXEC],
        V_CMP_GT_F32 => [V_CMPX_GT_F32, V_CMPX_GT_F32_EXEC],
        V_CMP_LG_F32 => [V_CMPX_LG_F32, V_CMPX_LG_F32_EXEC],
        V_CMP_GE_F32 => [V_CMPX_GE_F32, V_CMPX_GE_F32_EXEC],
        V_CMP_O_F32 => [V_CMPX_O_F32, V_CMPX_O_F32_EXEC],
        V_CMP_U_F32 => [V_CMPX_U_F32, V_CMPX_U_F32_EXEC],
        V_CMP_NGE_F32 => [V_CMPX_NGE_F32, V_CMPX_NGE_F32_EXEC],
        V_CMP_NLG_F32 => [V_CMPX_NLG_F32, V_CMPX_NLG_F32_EXEC],
        V_CMP_NGT_F32 => [V_CMPX_NGT_F32, V_CMPX_NGT_F32_EXEC],
        V_CMP_NLE_F32 => [V_CMPX_NLE_F32, V_CMPX_NLE_F32_EXEC],
        V_CMP_NEQ_F32 => [V_CMPX_NEQ_F32, V_CMPX_NEQ_F32_EXEC],
        V_CMP_NLT_F32 => [V_CMPX_NLT_F32, V_CMPX_NLT_F32_EXEC],
        V_CMP_LT_F64 => [V_CMPX_LT_F64, V_CMPX_LT_F64_EXEC],
        V_CMP_EQ_F64 => [V_CMPX_EQ_F64, V_CMPX_EQ_F64_EXEC],
        V_CMP_LE_F64 => [V_CMPX_LE_F64, V_CMPX_LE_F64_EXEC],
        V_CMP_GT_F64 => [V_CMPX_GT_F64, V_CMPX_GT_F64_EXEC],
        V_CMP_LG_F64 => [V_CMPX_LG_F64, V_CMPX_LG_F64_EXEC],
        V_CMP_GE_F64 => [V_CMPX_GE_F64, V_CMPX_GE_F64_EXEC],
        V_CMP_O_F64 => [V_CMPX_O_F64, V_CMPX_O_F64_EXEC],
        V_CMP_U_F64 => [V_CMPX_U_F64, V_CMPX_U_F64_EXEC],
        V_CMP_NGE_F64 => [V_CMPX_NGE_F64, V_CMPX_NGE_F64_EXEC],
        V_CMP_NLG_F64 => [V_CMPX_NLG_F64, V_CMPX_NLG_F64_EXEC],
        V_CMP_NGT_F64 => [V_CMPX_NGT_F64, V_CMPX_NGT_F64_EXEC],
        V_CMP_NLE_F64 => [V_CMPX_NLE_F64, V_CMPX_NLE_F64_EXEC],
        V_CMP_NEQ_F64 => [V_CMPX_NEQ_F64, V_CMPX_NEQ_F64_EXEC],
        V_CMP_NLT_F64 => [V_CMPX_NLT_F64, V_CMPX_NLT_F64_EXEC],
        V_CMP_LT_I16 => [V_CMPX_LT_I16, V_CMPX_LT_I16_EXEC],
        V_CMP_EQ_I16 => [V_CMPX_EQ_I16, V_CMPX_EQ_I16_EXEC],
        V_CMP_LE_I16 => [V_CMPX_LE_I16, V_CMPX_LE_I16_EXEC],
        V_CMP_GT_I16 => [V_CMPX_GT_I16, V_CMPX_GT_I16_EXEC],
        V_CMP_NE_I16 => [V_CMPX_NE_I16, V_CMPX_NE_I16_EXEC],
        V_CMP_GE_I16 => [V_CMPX_GE_I16, V_CMPX_GE_I16_EXEC],
        V_CMP_LT_U16 => [V_CMPX_LT_U16, V_CMPX_LT_U16_EXEC],
        V_CMP_EQ_U16 => [V_CMPX_EQ_U16, V_CMPX_EQ_U16_EXEC],
        V_CMP_LE_U16 => [V_CMPX_LE_U16, V_CMPX_LE_U16_EXEC],
        V_CMP_GT_U16 => [V_CMPX_GT_U16, V_CMPX_GT_U16_EXEC],
        V_CMP_NE_U16 => [V_CMPX_NE_U16, V_CMPX_NE_U16_EXEC],
        V_CMP_GE_U16 => [V_CMPX_GE_U16, V_CMPX_GE_U16_EXEC],
        V_CMP_LT_I32 => [V_CMPX_LT_I32, V_CMPX_LT_I32_EXEC],
        V_CMP_EQ_I32 => [V_CMPX_EQ_I32, V_CMPX_EQ_I32_EXEC],
        V_CMP_LE_I32 => [V_CMPX_LE_I32, V_CMPX_LE_I32_EXEC],
        V_CMP_GT_I32 => [V_CMPX_GT_I32, V_CMPX_GT_I32_EXEC],
        V_CMP_NE_I32 => [V_CMPX_NE_I32, V_CMPX_NE_I32_EXEC],
        V_CMP_GE_I32 => [V_CMPX_GE_I32, V_CMPX_GE_I32_EXEC],
        V_CMP_LT_U32 => [V_CMPX_LT_U32, V_CMPX_LT_U32_EXEC],
        V_CMP_EQ_U32 => [V_CMPX_EQ_U32, V_CMPX_EQ_U32_EXEC],
        V_CMP_LE_U32 => [V_CMPX_LE_U32, V_CMPX_LE_U32_EXEC],
        V_CMP_GT_U32 => [V_CMPX_GT_U32, V_CMPX_GT_U32_EXEC],
        V_CMP_NE_U32 => [V_CMPX_NE_U32, V_CMPX_NE_U32_EXEC],
        V_CMP_GE_U32 => [V_CMPX_GE_U32, V_CMPX_GE_U32_EXEC],
        V_CMP_LT_I64 => [V_CMPX_LT_I64, V_CMPX_LT_I64_EXEC],
        V_CMP_EQ_I64 => [V_CMPX_EQ_I64, V_CMPX_EQ_I64_EXEC],
        V_CMP_LE_I64 => [V_CMPX_LE_I64, V_CMPX_LE_I64_EXEC],
        V_CMP_GT_I64 => [V_CMPX_GT_I64, V_CMPX_GT_I64_EXEC],
        V_CMP_NE_I64 => [V_CMPX_NE_I64, V_CMPX_NE_I64_EXEC],
        V_CMP_GE_I64 => [V_CMPX_GE_I64, V_CMPX_GE_I64_EXEC],
        V_CMP_LT_U64 => [V_CMPX_LT_U64, V_CMPX_LT_U64_EXEC],
        V_CMP_EQ_U64 => [V_CMPX_EQ_U64, V_CMPX_EQ_U64_EXEC],
        V_CMP_LE_U64 => [V_CMPX_LE_U64, V_CMPX_LE_U64_EXEC],
        V_CMP_GT_U64 => [V_CMPX_GT_U64, V_CMPX_GT_U64_EXEC],
        V_CMP_NE_U64 => [V_CMPX_NE_U64, V_CMPX_NE_U64_EXEC],
        V_CMP_GE_U64 => [V_CMPX_GE_U64, V_CMPX_GE_U64_EXEC],
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
            let forms = narrowing_forms(op);
            let narrow = forms.map(|[op, _]| op.info().name.to_owned());
            if let Some([_, alone]) = forms {
                assert_eq!(alone.info().name.strip_suffix("_exec").map(str::to_owned), narrow);
            }
            let wanted = op
                .info()
                .name
                .strip_prefix("v_cmp_")
                .filter(|rest| !["f_", "t_", "tru_"].iter().any(|constant| rest.starts_with(constant)));
            assert_eq!(narrow, wanted.map(|rest| format!("v_cmpx_{rest}")), "{}", op.info().name);
            for processor in mir::target::PROCESSORS {
                let target = Target::new(processor);
                let form = Form::on(&target).of(op);
                assert!(
                    !op.info().exists_on(&target) || form.is_none_or(|form| form.info().exists_on(&target))
                );
            }
            count += usize::from(narrow.is_some());
        }
        assert_eq!(count, 81);
    }
}
