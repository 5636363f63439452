//! Who wrote a register, who reads it: searches from a line along the wave's control flow.
//!
//! A search looks at [`MOST_LINES`] lines at most, so that asking it of every line costs no more than a constant for each.

use crate::program::Function;
use mir::abi::call::{STACK_POINTER, is_callee_saved};
use mir::isa::{Access, Opcode};
use mir::machine::{Inst, PReg};

/// Lines that one search looks at.
const MOST_LINES: usize = 400;

/// Physical registers of a line: first, count.
pub type Range = (PReg, u16);

fn overlaps((first, count): Range, access: &Access) -> bool {
    access.first.0 < first.0 + count && first.0 < access.first.0 + access.dwords
}

/// Whether a line calls another function.
pub fn is_call(function: &Function, line: usize) -> bool {
    function.inst(line).is_some_and(|inst| inst.op == Opcode::S_SWAPPC_B64)
}

/// Whether a callee may change the registers.
fn is_given_to_callees((first, _): Range) -> bool {
    // A callee leaves EXEC as it was.
    first != PReg::EXEC_LO && !is_callee_saved(first, false)
}

/// Whether `inst` reads, and whether it writes, any of the registers. Lanes' masks count as read where they decide.
pub fn touches(inst: &Inst, range: Range) -> (bool, bool) {
    let is_exec = range.0 == PReg::EXEC_LO && inst.facts().unit.is_vector();
    let (mut reads, mut writes) = (is_exec && inst.reads_exec(), false);
    inst.for_each_access(|access| {
        if overlaps(range, &access) {
            reads |= access.read;
            writes |= access.write;
        }
    });
    (reads, writes)
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Lines, ascending.
    pub lines: Vec<usize>,
    /// The value may also be the one from the function's start.
    pub from_start: bool,
    /// Lines are left that were not looked at.
    pub cut_off: bool,
}

/// The lines whose writes of `range` may be what `line` finds there.
pub fn writers(function: &Function, line: usize, range: Range) -> Found {
    let mut found = Found::default();
    let mut seen = vec![];
    let mut budget = MOST_LINES;
    let Some(&block) = function.block_of.get(line) else { return found };
    let mut work = vec![(block, line)];
    while let Some((block, end)) = work.pop() {
        let mut is_open = true;
        for at in (function.blocks[block].first..end).rev() {
            if budget == 0 {
                found.cut_off = true;
                return finish(found);
            }
            budget -= 1;
            let by_callee = is_call(function, at) && is_given_to_callees(range);
            if by_callee || function.inst(at).is_some_and(|inst| touches(inst, range).1) {
                found.lines.push(at);
                is_open = false;
                break;
            }
        }
        if !is_open {
            continue;
        }
        found.from_start |= block == 0;
        for &pred in &function.blocks[block].preds {
            found.cut_off |= seen.len() >= MOST_LINES;
            if seen.len() < MOST_LINES && !seen.contains(&pred) {
                seen.push(pred);
                work.push((pred, function.blocks[pred].end));
            }
        }
    }
    finish(found)
}

/// The first lines on each way behind `line` that read `range`, before something writes it.
pub fn readers(function: &Function, line: usize, range: Range) -> Found {
    let mut found = Found::default();
    let mut seen = vec![];
    let mut budget = MOST_LINES;
    let Some(&block) = function.block_of.get(line) else { return found };
    let mut work = vec![(block, line + 1)];
    while let Some((block, start)) = work.pop() {
        let mut is_open = true;
        for at in start..function.blocks[block].end {
            if budget == 0 {
                found.cut_off = true;
                return finish(found);
            }
            budget -= 1;
            let (mut reads, writes) = function.inst(at).map_or((false, false), |inst| touches(inst, range));
            // What a callee reads is not known here; it is given the register.
            reads |= is_call(function, at) && (is_given_to_callees(range) || range.0 == STACK_POINTER);
            if reads {
                found.lines.push(at);
            }
            if reads || writes {
                is_open = false;
                break;
            }
        }
        if !is_open {
            continue;
        }
        for &succ in &function.blocks[block].succs {
            found.cut_off |= seen.len() >= MOST_LINES;
            if seen.len() < MOST_LINES && !seen.contains(&succ) {
                seen.push(succ);
                work.push((succ, function.blocks[succ].first));
            }
        }
    }
    finish(found)
}

fn finish(mut found: Found) -> Found {
    found.lines.sort_unstable();
    found.lines.dedup();
    found
}

/// The registers that an instruction writes through operands, or reads late, one range an operand.
pub fn written(inst: &Inst) -> Vec<Range> {
    let mut out = Vec::new();
    inst.for_each_access(|access| {
        if access.write && access.operand.is_some() {
            out.push((access.first, access.dwords));
        }
    });
    out
}

/// A range as assembly writes it.
pub fn name((first, count): Range) -> String {
    let last = PReg(first.0 + count.max(1) - 1);
    let tuple =
        |letter: char, from: Option<u16>, to: Option<u16>| Some(format!("{letter}[{}:{}]", from?, to?));
    let pair = match first {
        PReg::VCC_LO => Some("vcc"),
        PReg::EXEC_LO => Some("exec"),
        PReg::FLAT_SCRATCH_LO => Some("flat_scratch"),
        PReg::XNACK_MASK_LO => Some("xnack_mask"),
        _ => None,
    };
    match pair {
        _ if first == PReg::SCC => "scc".to_owned(),
        _ if count == 1 => first.to_string(),
        Some(name) if count == 2 => name.to_owned(),
        _ => tuple('v', first.vgpr_index(), last.vgpr_index())
            .or_else(|| tuple('s', first.sgpr_index(), last.sgpr_index()))
            .unwrap_or_else(|| format!("{first}..{last}")),
    }
}
