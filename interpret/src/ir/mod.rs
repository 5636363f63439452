//! Runs IR, as read and legal, a work-group at a time.
//!
//! ```text
//! host                     the border: Launch, Host, Fault
//! layout, regs             how values lie in words; the registers of an activation
//! group, wave              waves in turns up to barriers; lanes on the control-flow graph; calls
//! exec                     one instruction for the lanes that run together
//! int, wide, cast          integers up to 64 bits and beyond; conversions
//! float, library           arithmetic by MODE; functions of the mathematical library
//! memory, atomic, buffer   address spaces, copies; read-modify-write; access through resources
//! vector, aggregate        elements, members
//! intrinsics, lanes        operations that LLVM calls; operations between lanes
//! hardware                 steps that are instructions of the processor, computed by the simulator's functions
//! ```
//!
//! Lanes run by [`crate::convergence`], those together that are in the same dynamic instance of a block. What is undefined or poison is followed bit by bit
//! and stops nothing, unless it decides a branch or an address. Where LangRef says poison for a whole value (a broken `nsw`, a shift too far, division by
//! zero), all its bits are undefined; operations on it are then those on bits, so that `and` with zero gives a defined zero.
//!
//! Results are exact by IEEE 754 and MODE but for what [`library`] lists, and the hardware's approximations, which are the simulator's: an
//! [`Outcome`] says whether any was executed. Nothing is fused that is written apart.

#![allow(clippy::needless_range_loop, reason = "a lane indexes several arrays at once")]

mod aggregate;
mod atomic;
mod buffer;
mod cast;
mod exec;
mod float;
mod group;
mod hardware;
pub mod host;
mod int;
mod int_intrinsics;
mod intrinsics;
mod lanes;
mod layout;
pub mod library;
mod memory;
mod regs;
mod vector;
mod wave;
mod wide;

pub use host::{Barrier, Cause, Fault, Host, Launch, Outcome, Site, Space, Store};

use mir::ir::{Func, Module};
use regs::{Flat, Regs};
use sim::memory::Bus;
use std::sync::Arc;

/// A module made ready to run; functions are prepared when they are first called.
pub struct Program<'m> {
    module: &'m Module,
    legal: bool,
    flat: Vec<Option<Arc<Flat>>>,
    /// Registers that are free, by function.
    pool: Vec<Vec<Regs>>,
}

impl<'m> Program<'m> {
    /// A program of `module` as read.
    pub fn new(module: &'m Module) -> Self {
        Self::of_dialect(module, false)
    }

    /// A program of a legal `module`: what LLVM leaves undefined and an instruction defines is what the instruction does.
    pub fn legal(module: &'m Module) -> Self {
        Self::of_dialect(module, true)
    }

    fn of_dialect(module: &'m Module, legal: bool) -> Self {
        let functions = module.functions.len();
        Self { module, legal, flat: vec![None; functions], pool: vec![Vec::new(); functions] }
    }

    /// The module.
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// Runs one work-group of `kernel`. LDS starts undefined.
    ///
    /// # Errors
    /// What stopped it, with the place.
    pub fn run_group(
        &mut self,
        kernel: Func,
        launch: &Launch,
        host: &mut dyn Host,
        memory: &mut dyn Bus,
    ) -> Result<Outcome, Fault> {
        group::run(self, kernel, launch, host, memory)
    }
}

#[cfg(test)]
mod tests;
