//! NOPs, and what else keeps dependent instructions apart: asked of the table that the pass works by.

use super::{At, Explainer, Kind, Reason};
use crate::analysis::search;
use lower::hazards::{conflict, outlives, wait_states};
use mir::isa::Opcode;
use mir::machine::{Operand, PReg};
use mir::target::hazards::{HAZARDS, MAX_WAIT_STATES};

/// A hazard between two lines.
struct Pair {
    name: &'static str,
    producer: usize,
    consumer: usize,
    /// Wait states that are needed.
    needed: u8,
    /// Wait states between the two without the NOP.
    there: u8,
}

impl Explainer<'_> {
    pub(super) fn hazard(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        if at.inst.op == Opcode::S_NOP {
            self.nop(at, out);
        }
        self.refresh(at, out);
    }

    fn nop(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        let pairs = self.pairs(at.line);
        for pair in &pairs {
            let leaves = search::is_call(self.function, pair.consumer)
                || self.function.inst(pair.consumer).is_some_and(|inst| inst.op == Opcode::S_SETPC_B64);
            let text = format!(
                "Hazard \"{}\": {}{} needs {} wait states behind {}; without this there are {}, branches not counted.",
                pair.name,
                self.quoted(pair.consumer),
                if leaves { ", behind which other code may read it at once," } else { "" },
                pair.needed,
                self.quoted(pair.producer),
                pair.there,
            );
            out.push(Reason::new(Kind::Hazard, text, [pair.producer, pair.consumer]));
        }
        if !pairs.is_empty() {
            return;
        }
        if let Some(reason) = self.alignment(at.line) {
            out.push(reason);
        } else {
            let text = "No hazard of the table needs it here: it fills space, or the text of the program asks for it.";
            out.push(Reason::new(Kind::Unknown, text, []));
        }
    }

    /// Why NOPs from `line` on end where they do: at a block of code that a loop begins with, or a wait.
    fn alignment(&self, line: usize) -> Option<Reason> {
        let lines = &self.function.lines;
        let is_nop = |&next: &usize| self.function.inst(next).is_some_and(|inst| inst.op == Opcode::S_NOP);
        let next = (line + 1..lines.len()).find(|next| !is_nop(next))?;
        let bytes = u64::from(self.program.target.timing().front.fetch_bytes);
        if !lines[next].offset.is_multiple_of(bytes) {
            return None;
        }
        let is_loop = lines[next..].iter().any(|line| line.target == Some(next));
        let waits = self.function.inst(next).is_some_and(|inst| inst.op == Opcode::S_WAITCNT);
        let text = match (is_loop, waits) {
            (true, _) => format!(
                "So that the loop begins with a block of {bytes} bytes, as code is fetched: each way back would wait for two blocks else."
            ),
            (_, true) => "So that more of the code behind is fetched while the wave waits.".to_owned(),
            _ => return None,
        };
        Some(Reason::new(Kind::Alignment, text, [next]))
    }

    /// The hazards that the code would have without the NOP at `line`.
    fn pairs(&self, nop: usize) -> Vec<Pair> {
        let mut out: Vec<Pair> = Vec::new();
        let generation = self.program.target.generation();
        let own = self.function.inst(nop).map_or(1, wait_states);
        // Consumers behind it, with the wait states between.
        let mut behind = 0u8;
        for consumer in nop + 1..self.function.lines.len() {
            let Some(inst) = self.function.inst(consumer) else { break };
            if inst.op != Opcode::S_NOP {
                let mut producers: Vec<(usize, u8)> = Vec::new();
                self.producers(nop, behind, &mut producers);
                for (producer, there) in producers {
                    let Some(first) = self.function.inst(producer) else { continue };
                    for hazard in HAZARDS.iter().filter(|hazard| hazard.is_of(&self.program.target)) {
                        let mut needed = hazard.wait_states(generation);
                        let known =
                            out.iter().any(|pair| pair.name == hazard.name && pair.consumer == consumer);
                        let call = inst.op == Opcode::S_SWAPPC_B64;
                        let found = match call || inst.op == Opcode::S_SETPC_B64 {
                            // The jump itself is one.
                            true => {
                                needed = needed.saturating_sub(1);
                                outlives(hazard, first, call)
                            }
                            false => conflict(hazard, first, inst),
                        };
                        if !known && there < needed && found {
                            out.push(Pair { name: hazard.name, producer, consumer, needed, there });
                        }
                    }
                }
            }
            behind = behind.saturating_add(wait_states(inst));
            if behind.saturating_add(own) > MAX_WAIT_STATES || self.function.lines[consumer].target.is_some()
            {
                break;
            }
        }
        out
    }

    /// Lines in front of `nop` from which fewer wait states than any row has lie up to its consumer: with how many.
    fn producers(&self, nop: usize, behind: u8, out: &mut Vec<(usize, u8)>) {
        let Some(&block) = self.function.block_of.get(nop) else { return };
        let mut work = vec![(block, nop, behind)];
        let mut seen: Vec<(usize, u8)> = Vec::new();
        while let Some((block, end, mut states)) = work.pop() {
            let data = &self.function.blocks[block];
            let mut is_open = true;
            for line in (data.first..end).rev() {
                if states >= MAX_WAIT_STATES {
                    is_open = false;
                    break;
                }
                let Some(inst) = self.function.inst(line) else { continue };
                out.push((line, states));
                // Branches are placed when NOPs are there already, so these are for the code without them.
                if self.function.lines[line].target.is_none() {
                    states = states.saturating_add(wait_states(inst));
                }
            }
            if is_open && states < MAX_WAIT_STATES {
                for &pred in &data.preds {
                    if !seen.contains(&(pred, states)) {
                        seen.push((pred, states));
                        work.push((pred, self.function.blocks[pred].end, states));
                    }
                }
            }
        }
    }

    /// A move of VCC to itself makes VCCZ right again.
    fn refresh(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        let vcc =
            |operand: Option<&Operand>| crate::analysis::origins::register(operand) == Some(PReg::VCC_LO);
        if at.inst.op != Opcode::S_MOV_B64 || !vcc(at.inst.operands.first()) || !vcc(at.inst.operands.get(1))
        {
            return;
        }
        let block = &self.function.blocks[self.function.block_of[at.line]];
        let branch = (at.line..block.end).find(|&line| {
            self.function
                .inst(line)
                .is_some_and(|i| matches!(i.op, Opcode::S_CBRANCH_VCCZ | Opcode::S_CBRANCH_VCCNZ))
        });
        if let Some(branch) = branch {
            let text = format!(
                "Writes VCC again, so that the flag VCCZ is right for {}: it is stale where scalar instructions wrote half of VCC, or scalar loads are about.",
                self.quoted(branch)
            );
            out.push(Reason::new(Kind::Hazard, text, [branch]));
        }
    }
}
