//! Instruction scheduling: the order of instructions inside of blocks.
//!
//! # The problem
//!
//! A result from memory comes hundreds of cycles after its instruction. The other waves of a SIMD hide that only as far as there are any,
//! and the more registers a kernel takes, the fewer there are. So what is needed from memory is asked for early and used late, but
//! not so that a wave less fits.
//!
//! # The idea
//!
//! 1. [`effects`], [`units`], [`graph`]: what must stay in order, as edges between instructions, or between those that stay together.
//! 2. [`live`], [`pressure`], [`budget`]: which registers live where, what an order takes, and what costs nothing.
//! 3. [`list`]: the code's own order, in which what feeds memory comes earlier, and what can be done meanwhile stands in latencies.
//! 4. [`before`] does this with virtual registers, [`after`] with physical ones, where registers are settled and names in the way.
//! 5. [`relief`], before that: where the code's order takes registers that cost a wave, or more than there are, one that takes fewer.
//! 6. [`pairs`], before all: two accesses of LDS as one instruction.
//! 7. [`barriers`], too: what is computed behind a barrier is computed in front of it.
//! 8. [`next_values`], too: what a loop goes on with is computed behind the branch that lanes leave it by.
//! 9. [`uniform_values`], in front of [`before`]: what is the same in all lanes is in SGPRs where that makes room for more waves.
//! 10. [`invariants`], behind [`before`]: moves that a loop repeats go in front of it where registers are left.
//! 11. [`repeated_moves`], behind that: of equal moves in a block one is left where registers are left.
//! 12. [`verify`], on request: proves the new order from the old one without any of this.
//!
//! # Cost
//!
//! Linear in instructions and operands, with a logarithm of the units that are ready; blocks without memory accesses are not looked into unless they take too many registers.
#![forbid(unsafe_code)]

mod after;
mod barriers;
mod before;
mod budget;
mod code;
mod effects;
mod graph;
mod invariants;
mod latency;
mod list;
mod live;
mod next_values;
mod pairs;
mod places;
mod pressure;
mod regions;
mod registers;
mod relief;
mod rematerialise;
mod repeated_moves;
#[cfg(test)]
mod tests;
mod uniform_values;
mod units;
mod verify;

pub use after::schedule_allocated;
pub use barriers::hoist_over_barriers;
pub use before::schedule;
pub use budget::Options;
pub use invariants::hoist_invariants;
pub use next_values::compute_late;
pub use pairs::pair_lds;
pub use rematerialise::rematerialise;
pub use repeated_moves::share_moves;
pub use uniform_values::move_uniform_values;
