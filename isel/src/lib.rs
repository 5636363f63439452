//! Instruction selection, and what makes wave-level code of it: legal IR in, machine code over virtual registers out.
//!
//! | pass | from | to |
//! |---|---|---|
//! | [`select`] | legal IR | selected: SSA on the thread graph |
//! | [`merge_scalar_loads`] | selected | selected: fewer, wider scalar loads |
//! | [`combine`] | selected | selected: fewer instructions |
//! | [`linearise`] | selected | linear: the wave graph beside the thread graph, EXEC code |
//! | [`memory_model`] | linear | modelled: cache bits, invalidates, required waits |
#![forbid(unsafe_code)]

pub mod combine;
pub mod linearise;
pub mod memory_model;
pub mod merge_scalar_loads;
pub mod select;
mod uses;
