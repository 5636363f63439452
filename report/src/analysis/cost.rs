//! What instructions cost, without running them: one wave alone, block by block.
//!
//! Cycles are those of the tables that the scheduler and the simulator's model read ([`mir::target::timing`]). A wave issues an instruction when its
//! unit has taken the one before; a wait lasts until the operations that it waits for have answered, as late as a scheduler should expect. What
//! began in another block is taken to be done, jumps and fetches to cost nothing, so loops and other waves are not in these numbers: a run has
//! them ([`sim::Cycles`]).

use super::in_flight::Wait;
use crate::program::Function;
use mir::isa::{Opcode, Unit};
use mir::target::Target;

/// Cycles of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Cost {
    /// For which it keeps its unit, or the wave's turn.
    pub issue: u32,
    /// For which the wave waits before.
    pub stall: u32,
}

/// The cost of each line.
pub fn cost(function: &Function, waits: &[Wait], target: &Target) -> Vec<Cost> {
    let mut out = vec![Cost::default(); function.lines.len()];
    let turn = u32::from(target.timing().front.turn);
    for block in &function.blocks {
        let mut now = 0u32;
        // By line, from the block's first one: when its result is there.
        let mut done = vec![0u32; block.end - block.first];
        for line in block.first..block.end {
            let Some(inst) = function.inst(line) else { continue };
            let mut cost = Cost { issue: turn, stall: 0 };
            if let Ok(wait) = waits.binary_search_by_key(&line, |wait| wait.line) {
                let own = waits[wait]
                    .done
                    .iter()
                    .filter_map(|(_, operation)| done.get(operation.line.checked_sub(block.first)?).copied());
                cost.stall = own.max().unwrap_or(0).saturating_sub(now);
            } else if inst.op == Opcode::S_NOP {
                cost.stall = turn * (u32::from(lower::hazards::wait_states(inst)) - 1);
            } else if inst.facts().unit == Unit::Valu || inst.facts().unit == Unit::Interp {
                cost.issue = inst.facts().rate.issue_cycles(target).into();
            }
            now += cost.stall;
            done[line - block.first] = now + u32::from(inst.facts().latency.cycles(target.timing()));
            now += cost.issue;
            out[line] = cost;
        }
    }
    out
}
