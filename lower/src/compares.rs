//! Removes scalar comparisons whose answer SCC still holds.
//!
//! Selection compares anew for each reader of SCC (`isel/src/select/compare.rs`): a choice and the branch behind it, say. Where nothing
//! between the two writes SCC or what is compared, the second comparison is needless. It is decided behind scheduling, which kept each
//! comparison beside its reader and moved others in between only where both stayed right. Cost: one walk.

use mir::isa::{OpFlags, Unit};
use mir::machine::{Function, Inst, Operand, Reg};

/// Removes comparisons of an allocated function that repeat the one before.
pub fn remove_repeated(f: &mut Function) {
    for &block in &f.layout {
        let data = &mut f.blocks[block];
        if data.insts.iter().filter(|inst| is_comparison(inst)).count() < 2 {
            continue;
        }
        // What SCC is the answer to.
        let mut known: Option<Inst> = None;
        let mut keep = vec![true; data.insts.len()];
        for (inst, keep) in data.insts.iter().zip(&mut keep) {
            if is_comparison(inst) {
                let same =
                    |old: &Inst| (old.op, &old.operands, &old.mods) == (inst.op, &inst.operands, &inst.mods);
                *keep = !known.as_ref().is_some_and(same);
                known = Some(inst.clone());
            } else if known.as_ref().is_some_and(|old| changes(inst, old)) {
                known = None;
            }
        }
        let removed = |range: std::ops::Range<u32>, keep: &[bool]| {
            keep[range.start as usize..range.end as usize].iter().filter(|&&keep| !keep).count() as u32
        };
        let (head, tail) = (data.head_len, data.tail_start);
        data.head_len -= removed(0..head, &keep);
        data.tail_start -= removed(0..tail, &keep);
        let mut keep = keep.into_iter();
        data.insts.retain(|_| keep.next().unwrap_or(true));
    }
}

/// Whether `inst` does nothing but compare scalars into SCC.
fn is_comparison(inst: &Inst) -> bool {
    let info = inst.op.info();
    inst.facts().unit == Unit::Salu
        && inst.facts().def_count == 0
        && info.flags.contains(OpFlags::SCC_DEF)
        && !info.flags.intersects(OpFlags::SCC_USE | OpFlags::SIDE_EFFECTS | OpFlags::BRANCH)
        && inst.operands.iter().all(|operand| {
            matches!(operand, Operand::Imm(_))
                || operand.as_reg().is_some_and(|reg| matches!(reg.reg, Reg::Physical(_)))
        })
}

/// Whether SCC or a register that `compared` reads may be another one behind `inst`.
fn changes(inst: &Inst, compared: &Inst) -> bool {
    if inst.is_expanded_later() || inst.leaves() || inst.op.info().flags.contains(OpFlags::SCC_DEF) {
        return true;
    }
    let mut changed = false;
    inst.for_each_access(|access| {
        if access.write {
            let written = access.range();
            compared.for_each_access(|read| {
                changed |= read.read && read.range().any(|reg| written.contains(&reg))
            });
        }
    });
    changed
}
