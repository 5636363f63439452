//! Fewer moves into M0, where indexed moves take their index from it.
//!
//! Each indexed move gets a move of its index into M0 in front of it. Two rules take most of them away again, inside of a block:
//!
//! * M0 still has the register's value: the move goes.
//! * The register was computed in this block by a scalar instruction and nobody else reads it: that instruction writes M0 itself. So the
//!   move does not wait for its result, either.
//!
//! Whether anybody else reads it is decided by the next access behind the move, in this block or in all that follow it. Searches
//! end after [`REACH`] instructions, so the cost is linear.

use mir::isa::{Format, OpFlags, Opcode, Role, Unit};
use mir::machine::{Block, Function, Inst, Operand, PReg, Reg, RegOperand};

/// Most instructions that a search looks at.
const REACH: usize = 48;

/// Takes needless moves into M0 out of `blocks` of an allocated function.
pub fn settle(f: &mut Function, blocks: &[Block]) {
    for &block in blocks {
        drop_known(&mut f.blocks[block].insts);
        let insts = std::mem::take(&mut f.blocks[block].insts);
        let mut kept: Vec<Inst> = Vec::with_capacity(insts.len());
        for (at, inst) in insts.iter().enumerate() {
            if let Some(source) = source_of(inst)
                && let Some(def) = definition(&kept, source)
                && is_dead(f, block, &insts[at + 1..], source)
            {
                kept[def].operands[0] = Operand::preg(PReg::M0, 1);
            } else {
                kept.push(inst.clone());
            }
        }
        f.blocks[block].insts = kept;
    }
}

/// The register that `inst` moves into M0.
fn source_of(inst: &Inst) -> Option<PReg> {
    match inst.operands[..] {
        [m0, Operand::Reg(RegOperand { reg: Reg::Physical(source), dwords: 1, .. })]
            if inst.op == Opcode::S_MOV_B32 && m0 == Operand::preg(PReg::M0, 1) =>
        {
            Some(source)
        }
        _ => None,
    }
}

/// Removes moves of what M0 has already.
fn drop_known(insts: &mut Vec<Inst>) {
    let mut known: Option<PReg> = None;
    insts.retain(|inst| {
        let source = source_of(inst);
        if source.is_some() {
            let keep = source != known;
            known = source;
            return keep;
        }
        if known.is_some_and(|source| is_opaque(inst) || writes(inst, source) || writes(inst, PReg::M0)) {
            known = None;
        }
        true
    });
}

/// Place of the scalar instruction that computes `source` for the move behind `before`, and could write M0 in its stead.
fn definition(before: &[Inst], source: PReg) -> Option<usize> {
    for (at, inst) in before.iter().enumerate().rev().take(REACH) {
        if is_opaque(inst) || writes(inst, PReg::M0) || reads(inst, PReg::M0) {
            return None;
        }
        if writes(inst, source) {
            let info = inst.op.info();
            let whole = inst.operands.first() == Some(&Operand::preg(source, 1));
            let fits = matches!(info.format, Format::Sop1 | Format::Sop2)
                && inst.facts().unit == Unit::Salu
                && inst.facts().def_count == 1
                && info.operands.first().is_some_and(|desc| desc.role == Role::Def)
                && !info.flags.intersects(OpFlags::SIDE_EFFECTS | OpFlags::BRANCH);
            return (whole && fits).then_some(at);
        }
        if reads(inst, source) {
            return None;
        }
    }
    None
}

/// Whether nobody reads `reg` in the `rest` of `block` and behind it, as far as the search reaches. The block's own code is not in place.
fn is_dead(f: &Function, block: Block, rest: &[Inst], reg: PReg) -> bool {
    // `None` where nobody has accessed it up to the end.
    let dead_in = |insts: &[Inst]| {
        for inst in insts.iter().take(REACH) {
            if is_opaque(inst) || reads(inst, reg) {
                return Some(false);
            }
            if writes(inst, reg) {
                return Some(true);
            }
        }
        (insts.len() > REACH).then_some(false)
    };
    dead_in(rest).unwrap_or_else(|| {
        let succs = &f.blocks[block].wave_succs;
        !succs.is_empty() && succs.iter().all(|edge| dead_in(&f.blocks[edge.block].insts) == Some(true))
    })
}

/// Whether `inst` may access registers that it does not name.
fn is_opaque(inst: &Inst) -> bool {
    inst.facts().unit == Unit::Pseudo && !inst.op.is_mark() || inst.leaves()
}

fn reads(inst: &Inst, reg: PReg) -> bool {
    let mut found = false;
    inst.for_each_access(|access| found |= access.read && access.range().contains(&usize::from(reg.0)));
    found
}

fn writes(inst: &Inst, reg: PReg) -> bool {
    let mut found = false;
    inst.for_each_access(|access| found |= access.write && access.range().contains(&usize::from(reg.0)));
    found
}
