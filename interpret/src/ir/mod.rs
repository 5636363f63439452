//! Runs IR, as read and legal, a work-group at a time.
//!
//! ```text
//! host      the border: Launch, Host, Fault
//! ```

pub mod host;

pub use host::{Barrier, Cause, Fault, Host, Launch, Outcome, Site, Space, Store};

use mir::ir::{Func, Module};
use sim::memory::Bus;

/// A module made ready to run; functions are prepared when they are first called.
pub struct Program<'m> {
    module: &'m Module,
}

impl<'m> Program<'m> {
    /// A program of `module`, as read or legal.
    pub fn new(module: &'m Module) -> Self {
        Self { module }
    }

    /// The module.
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// Runs one work-group of `kernel`.
    ///
    /// # Errors
    /// What stopped it, with the place.
    pub fn run_group(
        &mut self,
        _kernel: Func,
        _launch: &Launch,
        _host: &mut dyn Host,
        _memory: &mut dyn Bus,
    ) -> Result<Outcome, Fault> {
        let cause = Cause::Unsupported("anything yet".to_owned());
        Err(Fault { cause, site: None })
    }
}
