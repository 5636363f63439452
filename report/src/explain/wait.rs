//! Waits: for which operations, for whom.

use super::{At, Explainer, Kind, Reason};
use crate::analysis::in_flight::Wait;
use crate::analysis::search::{self, touches};
use mir::isa::Opcode;
use mir::target::{Counter, EventKind};

/// Lines behind a wait among which its user is looked for.
const NEAR: usize = 64;

/// What a kind of operation is, in words.
fn words(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Vmem => "vector memory",
        EventKind::Sampled => "image sample",
        EventKind::Ray => "ray",
        EventKind::Store => "store",
        EventKind::FlatVm => "generic access",
        EventKind::FlatStore => "generic store",
        EventKind::Lds => "LDS",
        EventKind::Gds => "GDS",
        EventKind::Smem => "scalar memory",
        EventKind::Message => "message",
        EventKind::FlatLgkm => "generic access that may be to LDS",
        EventKind::Export => "export, whose sources are read late",
        EventKind::Data => "data that are read late",
    }
}

impl Explainer<'_> {
    /// The wait at a line.
    pub(super) fn wait_at(&self, line: usize) -> Option<&Wait> {
        self.waits.binary_search_by_key(&line, |wait| wait.line).ok().map(|at| &self.waits[at])
    }

    pub(super) fn wait(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        let Some(wait) = self.wait_at(at.line) else { return };
        let max = self.program.target.waits().max();
        let next = self.behind(at.line);
        let mut used = false;
        for counter in Counter::ALL {
            let allowed = wait.counts[counter];
            if allowed >= max[counter] {
                continue;
            }
            let name = counter.name();
            let done: Vec<_> = wait.done.iter().filter(|(by, _)| *by == counter).map(|(_, o)| *o).collect();
            if done.is_empty() {
                let text = format!(
                    "{name}({allowed}): nothing that counts there is under way on any way to here that was followed."
                );
                out.push(Reason::new(Kind::Wait, text, []));
                continue;
            }
            let mut lines: Vec<usize> = done.iter().map(|operation| operation.line).collect();
            let mut kinds: Vec<&str> = done.iter().map(|operation| words(operation.kind())).collect();
            kinds.sort_unstable();
            kinds.dedup();
            let left = match allowed {
                0 => "all of it".to_owned(),
                1 => "all but the last one".to_owned(),
                n => format!("all but the last {n}"),
            };
            let mut text =
                format!("{name}({allowed}) waits for {} ({left}): {}.", kinds.join(", "), self.list(&lines));
            if let Some((user, what)) = self.user_of(at.line, &lines) {
                used |= Some(user) == next;
                text.push_str(&format!(" {} {what}.", self.quoted(user)));
                lines.push(user);
            }
            out.push(Reason::new(Kind::Wait, text, lines));
        }
        if !used {
            self.ordering_of_wait(at.line, next, out);
        }
    }

    /// The first instruction behind a line that is no wait and no NOP.
    pub(super) fn behind(&self, line: usize) -> Option<usize> {
        let model = self.program.target.waits();
        (line + 1..self.function.lines.len()).find(|&next| {
            let inst = self.function.inst(next);
            inst.is_some_and(|inst| model.waited_for(inst).is_none() && inst.op != Opcode::S_NOP)
        })
    }

    /// Who uses first what operations of `lines` bring, and how.
    fn user_of(&self, wait: usize, lines: &[usize]) -> Option<(usize, String)> {
        let mut first: Option<(usize, String)> = None;
        let mut note = |line: usize, what: String| {
            if first.as_ref().is_none_or(|(known, _)| line < *known) {
                first = Some((line, what));
            }
        };
        for &line in lines {
            let Some(inst) = self.function.inst(line) else { continue };
            let ranges = search::written(inst);
            for range in ranges.iter().copied() {
                let near = self.function.lines.len().min(wait + 1 + NEAR);
                for user in wait + 1..near {
                    let Some((reads, writes)) = self.function.inst(user).map(|inst| touches(inst, range))
                    else {
                        continue;
                    };
                    let name = search::name(range);
                    if reads {
                        note(user, format!("reads {name}"));
                    } else if writes {
                        note(user, format!("overwrites {name}, into which the operation writes"));
                    }
                    if reads || writes {
                        break;
                    }
                }
            }
            // Stores on some processors, exports and GDS read their registers late.
            let late = inst.counter_events(&self.program.target).sources.is_some();
            if late && let Some(next) = self.behind(wait) {
                let mut read = Vec::new();
                inst.for_each_access(|access| {
                    if access.read && access.operand.is_some() && access.first.is_vgpr() {
                        read.push((access.first, access.dwords));
                    }
                });
                let writes = |range: &search::Range| {
                    self.function.inst(next).is_some_and(|inst| touches(inst, *range).1)
                };
                if let Some(range) = read.into_iter().find(writes) {
                    note(
                        next,
                        format!("overwrites {}, which the operation may still read", search::name(range)),
                    );
                }
            }
        }
        first
    }

    /// Why a wait is there whose operations the next instruction does not use.
    fn ordering_of_wait(&self, line: usize, next: Option<usize>, out: &mut Vec<Reason>) {
        if self.function.kernel.is_none() && (0..line).all(|before| self.is_wait(before)) {
            let text = "A caller may leave anything under way: by the calling convention a function waits for all of it first.";
            out.push(Reason::new(Kind::Wait, text, []));
            return;
        }
        let Some((next, inst)) = next.and_then(|next| Some((next, self.function.inst(next)?))) else {
            return;
        };
        let there = self.quoted(next);
        let facts = inst.facts();
        let memory = facts.memory;
        let text = match inst.op {
            Opcode::S_BARRIER => format!("{there} follows: what this wave did must be done before others go on (release at the work-group)."),
            Opcode::S_SETPC_B64 => format!("{there} returns: the caller relies on nothing being under way."),
            Opcode::S_SWAPPC_B64 => format!("{there} calls: the callee is entered with nothing under way."),
            op if super::memory::is_invalidate(op) => {
                format!("{there} follows: what was loaded must be there before older lines of the cache go (acquire).")
            }
            _ if memory.is_some_and(|memory| memory.writes()) => {
                format!("{there} follows: earlier accesses must be done before it (release).")
            }
            _ if self.user_of_any(line) => return,
            _ if self.is_right_behind(line) => {
                "It stands right behind what it waits for: a volatile access, or one that orders others, is waited for at once.".to_owned()
            }
            _ => "No register explains it where it stands: the memory model asks for an order here, or the text of the program does.".to_owned(),
        };
        out.push(Reason::new(Kind::MemoryModel, text, [next]));
    }

    fn user_of_any(&self, line: usize) -> bool {
        let Some(wait) = self.wait_at(line) else { return false };
        let lines: Vec<usize> = wait.done.iter().map(|(_, operation)| operation.line).collect();
        self.user_of(line, &lines).is_some()
    }

    /// Whether the instruction in front of a wait is what it waits for.
    fn is_right_behind(&self, line: usize) -> bool {
        let before = (0..line).rev().find(|before| !self.is_wait(*before));
        let wait = self.wait_at(line);
        wait.is_some_and(|wait| wait.done.iter().any(|(_, operation)| Some(operation.line) == before))
    }

    pub(super) fn is_wait(&self, line: usize) -> bool {
        self.wait_at(line).is_some()
    }
}
