//! Branches that ask VCC instead of SCC.
//!
//! Where a comparison of the vector unit decides for the whole wave, selection takes the lanes of the mask that are active and asks whether there are any:
//! `v_cmp vcc, …; s_and_b64 vcc, vcc, exec; s_cbranch_scc1`. A comparison writes 0 for the other lanes, so VCC is what it was, and `s_cbranch_vccnz` asks the same.
//! Not where the flag VCCZ may be stale and would be written anew. Cost: one look from the end of each block.

use crate::narrowing::{is_comparison, registers};
use mir::isa::{Implicit, MaskOp};
use mir::machine::{BlockData, Condition, Function, Inst, Operand, PReg, Terminator};
use mir::target::{Features, Target, WaveSize};

/// Lets branches of an allocated function ask VCC.
pub fn branch_on_vcc(f: &mut Function, target: &Target) {
    if target.has(Features::VCCZ_STALE_AFTER_SMEM) {
        return;
    }
    for &block in &f.layout {
        let data = &mut f.blocks[block];
        let term = match data.term {
            Terminator::Uniform(Condition::Scc0) => Condition::Vccz,
            Terminator::Uniform(Condition::Scc1) => Condition::Vccnz,
            _ => continue,
        };
        if let Some(at) = needless(data, f.wave) {
            data.insts.remove(at);
            data.head_len -= u32::from(at < data.head_len as usize);
            data.tail_start -= u32::from(at < data.tail_start as usize);
            data.term = Terminator::Uniform(term);
        }
    }
}

/// The instruction that takes VCC's active lanes for the branch at the end of a block, where it changes nothing else.
fn needless(data: &BlockData, wave: WaveSize) -> Option<usize> {
    let (vcc, exec) = (Operand::vcc(wave), Operand::exec(wave));
    let writes_scc = |inst: &Inst| inst.facts().implicit.contains(Implicit::SCC_DEF);
    let at = data.insts.iter().rposition(writes_scc)?;
    let inst = &data.insts[at];
    let takes = inst.op == MaskOp::And.opcode(wave) && inst.operands[0] == vcc;
    let sources = &inst.operands[1..];
    if !takes || !(sources == [vcc, exec] || sources == [exec, vcc]) {
        return None;
    }
    let changes = |inst: &Inst, first: PReg, last: PReg| {
        let mut changes = false;
        let registers = usize::from(first.0)..usize::from(last.0) + 1;
        inst.for_each_access(|access| {
            changes |= access.write && access.range().any(|reg| registers.contains(&reg))
        });
        changes
    };
    let opaque = |inst: &Inst| inst.is_expanded_later() || inst.leaves();
    // Behind it the flag stays, and nobody else asks SCC.
    let quiet = |inst: &Inst| {
        let asks = inst.facts().implicit.contains(Implicit::SCC_USE);
        !asks && !opaque(inst) && !changes(inst, PReg::VCC_LO, PReg::VCC_HI)
    };
    if !data.insts[at + 1..].iter().all(quiet) {
        return None;
    }
    for inst in data.insts[..at].iter().rev() {
        let compares = is_comparison(inst.op) && registers(inst.operands[0]) == registers(vcc);
        if compares || opaque(inst) || changes(inst, PReg::VCC_LO, PReg::VCC_HI) {
            return compares.then_some(at);
        }
        if inst.facts().implicit.contains(Implicit::EXEC_DEF) || changes(inst, PReg::EXEC_LO, PReg::EXEC_HI) {
            return None;
        }
    }
    None
}
