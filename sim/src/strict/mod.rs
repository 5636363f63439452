//! The strict checks that need state of their own: registers in flight, wait states, races.
//!
//! What is undefined travels with the values themselves (see `exec`), bounds are checked by `memory`.

pub mod clause;
pub mod errata;
pub mod hazards;
pub mod races;
pub mod waits;
