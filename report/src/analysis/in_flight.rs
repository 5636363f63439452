//! Which operations each wait waits for.
//!
//! The pass that inserts waits knows of each register how many events of a kind have begun since; here the events keep the line that began
//! them. A state is a list of operations under way, each with the number of events of its kind behind it; joins take the union with the smaller
//! number. Operations that a full counter proves done, and all but the last [`MOST`] that finish in any order, are left out, so states are
//! short and lists only grow: the iteration ends after about as many rounds as loops nest.

use crate::program::Function;
use mir::isa::Opcode;
use mir::machine::Inst;
use mir::target::{Counter, EventKind, Target, WaitCounts};

/// Operations of a kind that a state holds.
const MOST: usize = 64;

/// An operation under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Operation {
    /// What it counts as.
    kind: u8,
    /// The line that began it.
    pub line: usize,
    /// Events of the kind that have begun behind it.
    age: u8,
}

impl Operation {
    /// What it counts as.
    pub fn kind(&self) -> EventKind {
        EventKind::ALL[usize::from(self.kind)]
    }
}

/// Operations under way, by kind and line.
type State = Vec<Operation>;

/// What a wait does.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The line.
    pub line: usize,
    /// What it waits for.
    pub counts: WaitCounts,
    /// Operations under way in front of it that are done behind it, with the counter that proves it.
    pub done: Vec<(Counter, Operation)>,
    /// Operations that are under way still.
    pub left: usize,
}

/// The waits of a function, in order.
pub fn waits(function: &Function, target: &Target) -> Vec<Wait> {
    let order = function.order();
    let mut states: Vec<Option<State>> = vec![None; function.blocks.len()];
    let mut rank = vec![usize::MAX; function.blocks.len()];
    order.iter().enumerate().for_each(|(i, &block)| rank[block] = i);
    let mut work = std::collections::BTreeSet::new();
    if let Some(&first) = order.first() {
        states[first] = Some(State::new());
        work.insert(0);
    }
    while let Some(i) = work.pop_first() {
        let block = order[i];
        let mut state = states[block].clone().unwrap_or_default();
        pass(function, block, target, &mut state, &mut |_| ());
        for &succ in &function.blocks[block].succs {
            if join(&mut states[succ], &state) {
                work.insert(rank[succ]);
            }
        }
    }
    let mut out = Vec::new();
    for (block, state) in states.into_iter().enumerate() {
        let mut state = state.unwrap_or_default();
        pass(function, block, target, &mut state, &mut |wait| out.push(wait));
    }
    out
}

/// Joins `new` into `state`; true when it changed.
fn join(state: &mut Option<State>, new: &State) -> bool {
    let Some(old) = state else {
        *state = Some(new.clone());
        return true;
    };
    let mut changed = false;
    for operation in new {
        match old.binary_search_by_key(&(operation.kind, operation.line), |o| (o.kind, o.line)) {
            Ok(at) if old[at].age <= operation.age => {}
            Ok(at) => {
                old[at].age = operation.age;
                changed = true;
            }
            Err(at) if old.iter().filter(|o| o.kind == operation.kind).count() < MOST => {
                old.insert(at, *operation);
                changed = true;
            }
            Err(_) => {}
        }
    }
    changed
}

/// Runs over a block.
fn pass(function: &Function, block: usize, target: &Target, state: &mut State, found: &mut dyn FnMut(Wait)) {
    let model = target.waits();
    let max = model.max();
    let data = &function.blocks[block];
    for line in data.first..data.end {
        let Some(inst) = function.inst(line) else { continue };
        if let Some(counts) = model.waited_for(inst) {
            let mut done = Vec::new();
            state.retain(|operation| {
                let Some((counter, in_order)) = model.kind(operation.kind()) else { return true };
                let allowed = counts[counter];
                let ends = allowed < max[counter] && (allowed == 0 || in_order && operation.age >= allowed);
                if ends {
                    done.push((counter, *operation));
                }
                !ends
            });
            done.sort_by_key(|(_, operation)| operation.line);
            found(Wait { line, counts, done, left: state.len() });
            continue;
        }
        begin(inst, line, target, state);
        if inst.op == Opcode::S_SWAPPC_B64 {
            // A callee waits for everything when it starts, and before it returns.
            state.clear();
        }
    }
}

/// Notes the events that an instruction begins.
fn begin(inst: &Inst, line: usize, target: &Target, state: &mut State) {
    let model = target.waits();
    let events = inst.counter_events(target);
    for kind in events.kinds.into_iter().chain([events.sources]).flatten() {
        let Some((counter, in_order)) = model.kind(kind) else { continue };
        let number = kind as u8;
        // A counter that is full holds the next instruction back.
        let full = model.max()[counter];
        state.retain_mut(|operation| {
            if operation.kind == number {
                operation.age = operation.age.saturating_add(1);
            }
            operation.kind != number || operation.line != line && (!in_order || operation.age < full)
        });
        let same = state.iter().filter(|operation| operation.kind == number);
        if same.clone().count() >= MOST
            && let Some(oldest) = same.max_by_key(|operation| operation.age).copied()
        {
            state.retain(|operation| *operation != oldest);
        }
        let at = state.partition_point(|o| (o.kind, o.line) < (number, line));
        state.insert(at, Operation { kind: number, line, age: 0 });
    }
}
