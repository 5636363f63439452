//! Modelled cycles of a dispatch on a compute unit.
//!
//! While the simulator runs a work-group it records what its waves did ([`record`]); the model ([`unit`]) replays that with the times of
//! the generation ([`mir::target::timing`]), so that results never depend on the model, nor the model on the order in which the simulator
//! runs waves.
//!
//! ```text
//! record   where control went, lines and banks that were touched
//! lanes    addresses of lanes -> lines, passes
//! code     instructions: unit, cycles, registers, what they do
//! wave     a resident wave: instruction buffer, counters, dependencies
//! unit     SIMDs in turn, issue, units, barriers, work-groups as they fit
//! path     caches and the ways between them
//! report   what comes out
//! ```
//!
//! **Which work-groups.** The compute unit gets every nth work-group, n being [`Model::compute_units`], from the first one on, and with them its share of
//! the bandwidth of L2 and memory. 1, the default, takes the dispatch as a sample of a larger one: all of its work-groups run on the one
//! compute unit. The first [`Model::groups`] of them are modelled, and the cycles scaled by the instructions of all.
//!
//! Cost: linear in the instructions that modelled waves execute; memory for the traces of the resident work-groups and of those that the
//! simulator is ahead.

mod cache;
mod code;
pub mod lanes;
mod path;
pub mod record;
pub mod report;
mod unit;
mod wave;

pub use report::{Busy, Caches, Cycles, Instruction, Stall, Stalls, Traffic};
pub use unit::{Needs, Unit};

/// What is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Compute units that share the dispatch.
    pub compute_units: u32,
    /// Work-groups that are modelled at most.
    pub groups: u32,
    /// Reports each instruction.
    pub per_instruction: bool,
}

impl Default for Model {
    fn default() -> Self {
        Self { compute_units: 1, groups: 256, per_instruction: false }
    }
}

impl Model {
    /// Whether the work-group `number` of the dispatch runs on the compute unit.
    pub fn has(&self, number: u64) -> bool {
        number.is_multiple_of(self.compute_units.max(1).into())
    }

    /// Whether it is modelled, too.
    pub fn models(&self, number: u64) -> bool {
        self.has(number) && number / u64::from(self.compute_units.max(1)) < self.groups.into()
    }
}
