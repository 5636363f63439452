//! Measures gcnc beside LLVM and Mesa's ACO: compile time, memory, and the code that comes out.
//!
//! ```text
//! time      compile time in one process on the same parsed modules; whole commands with their memory
//! code      the examples: sizes, registers, instructions by kind, modelled cycles, beside llc -O3
//! shaders   compute shaders through RADV: what ACO makes of them, and gcnc and llc of RADV's LLVM IR
//! corpora   kernels of other projects, fetched when there is a network, beside llc -O3
//! report    what a run found, as JSON; `table`, `plot` and `compare` show it
//! ```
//!
//! Machines are noisy: where time is measured, the compilers take turns, the least of all rounds counts, and the spread is told. What
//! is missing (Vulkan driver, network, tools) is left out, and the report says what and why.
#![deny(unsafe_code)]

pub mod code;
pub mod compare;
pub mod corpora;
pub mod estimate;
pub mod llvm;
pub mod mesa;
pub mod plot;
#[cfg(feature = "aco")]
pub mod radv;
pub mod report;
pub mod shaders;
pub mod table;
pub mod time;
pub mod trial;
