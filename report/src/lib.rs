//! Pictures and words of machine code: a page about each kernel of a code object, and why an instruction is there.
//!
//! ```text
//! program    object -> functions of decoded instructions, blocks, entry registers
//! analysis   what waits wait for, what is alive, where scalars come from, what instructions cost, how many waves fit
//! explain    a line in words, with the reasons why it is there
//! gather     all of it as plain data (`data`), which serialises
//! page       the data as one HTML page; `graph` draws control flow
//! ```
//!
//! Everything starts from the object's bytes. What they do not say, the lines of IR that code was made from, may be given beside ([`IrText`]). The page
//! and the data depend on the inputs alone: the same inputs give the same bytes.
#![forbid(unsafe_code)]

mod analysis;
pub mod data;
mod explain;
mod gather;
mod graph;
mod ir_text;
mod page;
pub mod place;
mod program;

pub use analysis::cost::Cost;
pub use analysis::liveness::Live;
pub use analysis::occupancy::{Occupancy, Resources, Step, occupancy};
pub use data::Report;
pub use explain::{Explainer, Explanation, Kind, Places, Reason};
pub use gather::{Inputs, gather};
pub use ir_text::{IrFunction, IrLine, IrText};
pub use page::html;
pub use program::{Block, EntryValue, Function, Line, Program};
