//! EXEC and branches: what of the program's control flow an instruction carries out.

use super::{At, Explainer, Kind, Reason};
use crate::analysis::origins::register;
use crate::analysis::search::{self, touches};
use mir::isa::{Implicit, Opcode};
use mir::machine::PReg;

/// EXEC.
const EXEC: search::Range = (PReg::EXEC_LO, 2);

impl Explainer<'_> {
    pub(super) fn control(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        if let Some(target) = self.function.lines[at.line].target {
            self.branch(at, target, out);
        } else if touches(at.inst, EXEC).1 {
            self.writes_exec(at, out);
        } else {
            self.mask_of_loop(at, out);
        }
        if matches!(at.inst.op, Opcode::S_ENDPGM) {
            out.push(Reason::new(Kind::ControlFlow, "Ends the wave.", []));
        }
    }

    /// The branch behind a line of the same block that looks at EXEC, or the last one of any kind.
    fn branch_behind(&self, line: usize) -> Option<usize> {
        let block = &self.function.blocks[self.function.block_of[line]];
        let last = block.end.checked_sub(1).filter(|last| *last > line)?;
        self.function.lines[last].target.map(|_| last)
    }

    fn branch(&self, at: &At<'_>, target: usize, out: &mut Vec<Reason>) {
        let there = self.quoted(target);
        let is_back = target <= at.line;
        let way = if is_back {
            format!("goes around the loop again from {there}")
        } else {
            format!("goes on at {there}")
        };
        let condition = |range: search::Range| {
            let found = search::writers(self.function, at.line, range);
            (self.list(&found.lines), found.lines)
        };
        let (text, mut lines) = match at.inst.op {
            Opcode::S_CBRANCH_EXECZ => {
                let (set, lines) = condition(EXEC);
                let text = match is_back {
                    true => format!(
                        "Divergent control flow: where no lane is left, the wave {way}; EXEC is set by {set}."
                    ),
                    false => format!(
                        "Divergent control flow: no lane takes the code up to there, so the wave skips it and {way}; EXEC is set by {set}."
                    ),
                };
                (text, lines)
            }
            Opcode::S_CBRANCH_EXECNZ => {
                let (set, lines) = condition(EXEC);
                (
                    format!(
                        "Divergent control flow: as long as any lane is active, the wave {way}; EXEC is set by {set}."
                    ),
                    lines,
                )
            }
            Opcode::S_CBRANCH_SCC0 | Opcode::S_CBRANCH_SCC1 => {
                let holds = if at.inst.op == Opcode::S_CBRANCH_SCC1 { "holds" } else { "does not hold" };
                let (set, lines) = condition((PReg::SCC, 1));
                (
                    format!(
                        "A branch that is the same for all lanes: where the condition of {set} {holds}, the wave {way}."
                    ),
                    lines,
                )
            }
            Opcode::S_CBRANCH_VCCZ | Opcode::S_CBRANCH_VCCNZ => {
                let holds = if at.inst.op == Opcode::S_CBRANCH_VCCZ { "for no lane" } else { "for any lane" };
                let (set, lines) = condition((PReg::VCC_LO, 2));
                (format!("Where VCC, which {set} writes, holds {holds}, the wave {way}."), lines)
            }
            _ => (format!("The wave {way}."), Vec::new()),
        };
        lines.push(target);
        out.push(Reason::new(Kind::ControlFlow, text, lines));
    }

    /// Instructions that change which lanes are active.
    fn writes_exec(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        use Opcode::*;
        let inst = at.inst;
        let source = inst.operands[usize::from(inst.facts().def_count).min(inst.operands.len())..]
            .iter()
            .filter_map(|operand| Some((register(Some(operand))?, u16::from(operand.as_reg()?.dwords))))
            .find(|(first, _)| *first != PReg::EXEC_LO);
        let mask = source.map(|range| {
            let found = search::writers(self.function, at.line, range);
            let by = match found.lines.is_empty() {
                true => String::new(),
                false => format!(" of {}", self.list(&found.lines)),
            };
            (format!("{}{by}", search::name(range)), found.lines)
        });
        let (mask, mut lines) = mask.unwrap_or_else(|| ("a constant".to_owned(), Vec::new()));
        let saved = inst.facts().def_count > 0
            && inst.facts().implicit.contains(Implicit::EXEC_DEF)
            && !inst.facts().unit.is_vector();
        let mut text = match inst.op {
            S_AND_SAVEEXEC_B64 => {
                format!("Divergent branch: only lanes in {mask} go on; the lanes from before are saved.")
            }
            S_ANDN1_SAVEEXEC_B64 => format!(
                "Divergent branch: only lanes that are not in {mask} go on; the lanes from before are saved."
            ),
            S_ANDN2_SAVEEXEC_B64 => format!(
                "The other arm of a divergent branch: lanes in {mask} that were not active go on; the lanes from before are saved."
            ),
            S_ORN2_SAVEEXEC_B64 | S_OR_SAVEEXEC_B64 | S_XOR_SAVEEXEC_B64 => {
                format!("Changes which lanes are active by {mask}, and saves those from before.")
            }
            S_OR_B64 => format!("Lanes meet again: those in {mask} become active besides those that are."),
            S_ANDN2_B64 => format!("Lanes in {mask} are done here and wait: the others go on."),
            S_AND_B64 => format!("Of the active lanes only those in {mask} go on."),
            S_XOR_B64 => format!(
                "The other arm of a divergent branch: the lanes in {mask} that were not active go on."
            ),
            S_MOV_B64 if inst.operands.get(1).and_then(|o| o.as_imm()) == Some(-1) => {
                "All lanes become active: what follows works on the whole wave.".to_owned()
            }
            S_MOV_B64 => format!("The lanes in {mask} become active."),
            op if op.facts().comparison.is_some() => {
                "A comparison that lanes must pass to stay active.".to_owned()
            }
            _ => format!("Changes which lanes are active, by {mask}."),
        };
        if saved && let Some(range) = search::written(inst).into_iter().next() {
            let restorers = search::readers(self.function, at.line, range);
            if !restorers.lines.is_empty() {
                text.push_str(&format!(
                    " What is saved in {} is used by {}.",
                    search::name(range),
                    self.list(&restorers.lines)
                ));
                lines.extend(restorers.lines);
            }
        }
        if let Some(branch) = self.branch_behind(at.line) {
            text.push_str(&format!(" It belongs to the branch {}.", self.quoted(branch)));
            lines.push(branch);
        }
        out.push(Reason::new(Kind::ControlFlow, text, lines));
    }

    /// Scalar operations on 64-bit masks whose result becomes EXEC.
    fn mask_of_loop(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        use Opcode::*;
        let is_mask = matches!(
            at.inst.op,
            S_AND_B64 | S_OR_B64 | S_ANDN2_B64 | S_XOR_B64 | S_MOV_B64 | S_NOT_B64 | S_ORN2_B64
        );
        let Some(range) = search::written(at.inst).into_iter().next().filter(|_| is_mask) else { return };
        let readers = search::readers(self.function, at.line, range);
        let users: Vec<usize> = readers
            .lines
            .into_iter()
            .filter(|&line| self.function.inst(line).is_some_and(|inst| touches(inst, EXEC).1))
            .collect();
        if !users.is_empty() {
            let text = format!(
                "A mask of lanes for divergent control flow, which {} makes active.",
                self.list(&users)
            );
            out.push(Reason::new(Kind::ControlFlow, text, users));
        }
    }
}
