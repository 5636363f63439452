//! Instruction selection: from IR to machine IR in SSA form.
#![forbid(unsafe_code)]

mod lds;
pub mod memory_model;
mod options;
pub mod select;
pub mod simplify;
pub mod structure;
pub mod uniformity;
mod waterfall;

pub use options::Options;
