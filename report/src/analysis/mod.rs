//! What is computed of a function: each file one analysis over its decoded code.
//!
//! The rules are those that the passes work by, from the same tables: counters and their events ([`mir::target::WaitModel`]), hazards
//! ([`mir::target::hazards`]), registers of an instruction ([`mir::isa::facts`]), cycles ([`mir::target::timing`]).

pub mod cost;
pub mod in_flight;
pub mod liveness;
pub mod occupancy;
pub mod origins;
pub mod search;

/// Numbers of registers ([`mir::machine::PReg`]) are below this.
pub(crate) const SLOTS: usize = 769;
