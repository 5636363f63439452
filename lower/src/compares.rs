//! Removes scalar comparisons whose answer SCC still holds.
//!
//! Selection compares anew for each reader of SCC (`isel/src/select/compare.rs`): a choice and the branch behind it, say, or two choices by one lane mask. Where
//! nothing between the two writes SCC or what is compared, the second comparison is needless; of a test of a mask, `s_and` with EXEC, nobody may want the result,
//! either. It is decided behind scheduling, which kept each comparison beside its reader and moved others in between only where both stayed right. Cost: one walk,
//! and where tests are repeated, that of [`LiveScalars`].

use crate::live_scalars::{LiveScalars, Scalars};
use mir::isa::{OpFlags, Opcode, Unit};
use mir::machine::{Block, Function, Inst, Operand, PReg, Reg};

/// Removes comparisons of an allocated function that repeat the one before.
pub fn remove_repeated(f: &mut Function) {
    let mut live: Option<LiveScalars> = None;
    for i in 0..f.layout.len() {
        let block = f.layout[i];
        let asks = |inst: &&Inst| is_comparison(inst) || is_test(inst);
        if f.blocks[block].insts.iter().filter(asks).nth(1).is_none() {
            continue;
        }
        let keep = kept(f, block, &mut live);
        let mut keep = keep.into_iter();
        f.blocks[block].retain_insts(|_| keep.next().unwrap_or(true));
    }
}

/// Which instructions of `block` stay. `live` is computed where it is asked for first.
fn kept(f: &Function, block: Block, live: &mut Option<LiveScalars>) -> Vec<bool> {
    let insts = &f.blocks[block].insts;
    let mut here: Option<Vec<Scalars>> = None;
    let mut keep = vec![true; insts.len()];
    // What SCC is the answer to.
    let mut known: Option<&Inst> = None;
    for (at, inst) in insts.iter().enumerate() {
        if is_comparison(inst) {
            let same =
                |old: &Inst| (old.op, &old.operands, &old.mods) == (inst.op, &inst.operands, &inst.mods);
            keep[at] = !known.is_some_and(same);
            known = Some(inst);
        } else if is_test(inst) {
            let same = |old: &Inst| old.op == inst.op && old.operands[1..] == inst.operands[1..];
            if known.is_some_and(same) {
                let here = here.get_or_insert_with(|| {
                    live.get_or_insert_with(|| LiveScalars::compute(f)).in_block(f, block)
                });
                keep[at] = is_read(&inst.operands[0], here[at]);
            }
            known = Some(inst);
        } else if known.is_some_and(|old| changes(inst, old)) {
            known = None;
        }
    }
    keep
}

/// Whether one of the registers of `operand` is among `live`.
fn is_read(operand: &Operand, live: Scalars) -> bool {
    operand.as_reg().is_none_or(|operand| match operand.reg {
        Reg::Physical(first) => (first.0..first.0 + u16::from(operand.dwords))
            .any(|number| u32::from(number) >= Scalars::BITS || live >> number & 1 != 0),
        Reg::Virtual(_) => true,
    })
}

/// Whether `inst` says in SCC whether lanes of a mask are active; its result may be that mask, of which the same may be asked again.
fn is_test(inst: &Inst) -> bool {
    let [result, a, b] = inst.operands[..] else { return false };
    let is_exec =
        |operand: Operand| operand.as_reg().is_some_and(|reg| reg.reg == Reg::Physical(PReg::EXEC_LO));
    matches!(inst.op, Opcode::S_AND_B32 | Opcode::S_AND_B64)
        && is_exec(a) != is_exec(b)
        && !is_exec(result)
        && [a, b]
            .iter()
            .all(|operand| operand.as_reg().is_some_and(|reg| matches!(reg.reg, Reg::Physical(_))))
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
