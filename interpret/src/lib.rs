//! Runs what the compiler holds between its steps: IR, and machine code of every stage, on the memory of the simulator.
//!
//! The simulator judges bytes; this judges steps. Each stage has a contract (`docs/design.md`), and what runs here is that contract: IR and
//! selected code lane by lane on the thread graph, later stages wave by wave on the wave graph. The same dispatch run at two stages must leave the
//! same memory; the first stage that does not is the step that is wrong.
//!
//! ```text
//! convergence  which lanes run together
//! ir           IR, as read and legal; dispatch runs it on a prepared dispatch
//! machine      machine code between selection and emission
//! object       the finished code
//! record       what a run leaves, and who wrote it
//! compare      the first difference of two runs
//! ```
#![forbid(unsafe_code)]

pub mod compare;
mod convergence;
pub mod dispatch;
pub mod ir;
pub mod machine;
pub mod object;
pub mod record;
