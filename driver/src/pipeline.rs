//! The compiler: every step in order, each named, timed, dumped on request, and verified in tests.

use crate::options::{CompileOptions, FileType};
use crate::stats::{FunctionStats, StepTimes};
use emit::FinalFunction;
use mir::ir::{Func, Module};
use mir::target::Target;
use mir::{Diagnostic, Result, machine};
use rayon::prelude::*;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Everything that went wrong, in the order of the module's functions. Never empty.
pub type Errors = Vec<Box<Diagnostic>>;

/// A step whose result can be dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The module as read.
    Ir,
    /// Legal IR.
    Simplified,
    /// Which values differ between lanes.
    Uniformity,
    /// Machine code on the thread graph.
    Selected,
    /// Both graphs, EXEC code.
    Structured,
    /// Memory model applied.
    Legalized,
    /// Instructions in their order.
    Scheduled,
    /// Physical registers.
    Allocated,
    /// Prolog, waits, NOPs, branches.
    Final,
}

impl Step {
    /// All steps in order.
    pub const ALL: [Self; 9] = [
        Self::Ir,
        Self::Simplified,
        Self::Uniformity,
        Self::Selected,
        Self::Structured,
        Self::Legalized,
        Self::Scheduled,
        Self::Allocated,
        Self::Final,
    ];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ir => "ir",
            Self::Simplified => "simplified",
            Self::Uniformity => "uniformity",
            Self::Selected => "selected",
            Self::Structured => "structured",
            Self::Legalized => "legalized",
            Self::Scheduled => "scheduled",
            Self::Allocated => "allocated",
            Self::Final => "final",
        }
    }

    /// The step called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }
}
