//! Numbers about a compilation, for `--stats=json`.

use crate::pipeline::Step;
use serde::Serialize;
use std::time::Duration;

/// One function.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FunctionStats {
    /// Symbol name.
    pub function: String,
    /// Scalar registers, specials included.
    pub sgprs: u32,
    /// Vector registers.
    pub vgprs: u32,
    /// Scalar registers spilled (dwords).
    pub sgpr_spills: u32,
    /// Vector registers spilled (dwords a lane).
    pub vgpr_spills: u32,
    /// Waves a SIMD can hold.
    pub occupancy: u32,
    /// LDS bytes of a work-group.
    pub lds_bytes: u32,
    /// Scratch bytes of a lane.
    pub scratch_bytes: u32,
    /// Bytes of code.
    pub code_bytes: u32,
    /// Machine instructions.
    pub instructions: u32,
    /// Microseconds by step, for this function.
    pub micros: Vec<(&'static str, u64)>,
}

/// Time spent in the steps of one function.
#[derive(Clone, Debug, Default)]
pub struct StepTimes {
    times: Vec<(Step, Duration)>,
}

impl StepTimes {
    /// Adds `time` to `step`.
    pub fn add(&mut self, step: Step, time: Duration) {
        match self.times.iter_mut().find(|(known, _)| *known == step) {
            Some((_, total)) => *total += time,
            None => self.times.push((step, time)),
        }
    }

    /// Microseconds by step, in the order in which steps first ran.
    pub fn micros(&self) -> Vec<(&'static str, u64)> {
        self.times.iter().map(|(step, time)| (step.name(), time.as_micros() as u64)).collect()
    }
}
