//! Control-flow graphs of every shape: kernels over all small graphs and over random large ones, judged by a
//! direct evaluation.
//!
//! Control flow is where a compiler for lanes in lock-step has most to get wrong, and the shapes that go
//! wrong (a block that is the latch of two loops, a mask that waits through an inner loop) are not those that
//! programs written by hand have. So the graphs come first: [`enumerate`] makes each small one once,
//! [`random`] draws large ones with switches, several returns, calls, barriers, kills and operations across
//! lanes. [`dress`] then gives the blocks something to do, and the branches something to decide on, that
//! shows in the results which way each lane went.
//!
//! ```text
//! Graph ── dress ──> Program ── lower ──> ir::Module ── gcnc ──> simulator ──> results
//!                            └─ evaluate (block by block, without the compiler's IR) ──> the same results
//! ```
//!
//! Every program ends: a counter of fuel runs out. What happens then is part of the graph, so there are two
//! kinds ([`Style::exits`]): blocks leave for the exit when it has run out, which adds an edge to each of
//! them, or branches turn towards the exit by themselves, which leaves the graph as it is.
//!
//! Cost: below a millisecond for a run of one kernel at one level; `gcnc-graphs` prints what it is.

mod callees;
pub mod campaign;
pub mod dress;
pub mod enumerate;
pub mod evaluate;
pub mod judge;
pub mod llvm;
pub mod lower;
pub mod program;
pub mod random;
pub mod reduce;
mod ssa;

pub use campaign::{Campaign, Case, Counts};
pub use dress::{Style, dress};
pub use enumerate::graphs;
pub use judge::{Finding, Reference, Setting, check, check_against};
pub use program::{Block, Cond, End, Fuel, Graph, Home, Inputs, Op, Program, Var, Waves};
pub use random::random;
pub use reduce::reduce;
