//! The strict simulator: runs kernels of GCN code objects on the CPU and judges them.
//!
//! It starts from the bytes of the object that was really written. What hardware passes over in silence is
//! reported here: a register read while a load to it is in flight, a missing wait state, an undefined value that decides something, an
//! access out of bounds, a barrier that not all waves reach.
//!
//! ```text
//! load      bytes -> CodeObject: image, kernels, descriptors, metadata
//! dispatch  CodeObject + Memory + Dispatch -> initial state of each wave; runs the work-groups
//! program   code -> Op, each decoded once
//! exec      Op × Wave: one instruction for all lanes
//! strict    registers in flight, wait states
//! memory    regions with bounds and undefined bits; private views of work-groups
//! timing    modelled cycles of a compute unit, from what waves did
//! ```
//!
//! A wave's registers and all memory carry undefined bits beside their values (see [`wave`]). Cost: some 200 ns for a vector
//! instruction of 64 lanes, independent of the size of the program.
#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "a lane indexes several arrays at once")]

pub mod decode;
mod dispatch;
mod dispatch_json;
pub mod exec;
pub mod fp;
pub mod images;
mod lines;
pub mod load;
pub mod memory;
mod printf;
pub mod program;
mod relocation;
pub mod report;
pub mod robustness;
pub mod strict;
pub mod timing;
mod watch;
pub mod wave;

pub use dispatch::prepared::Prepared;
pub use dispatch::single;
pub use dispatch::{Arg, Dispatch, run, run_on};
pub use dispatch_json::{Contents, Described, Outcome, RunError, RunOptions, run_from_json};
pub use load::{CodeObject, Kernel};
pub use memory::{BufferId, Memory};
pub use printf::Printed;
pub use report::{Checks, Config, Kind, Report, Stats, Unmapped};
pub use timing::{Cycles, Model};
pub use watch::{Progress, Watch};
