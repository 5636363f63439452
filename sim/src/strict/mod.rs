//! The strict checks that need state of their own: registers in flight and wait states.
//!
//! What is undefined travels with the values themselves (see `exec`), bounds are checked by `memory`.

pub mod hazards;
pub mod waits;
