//! Numbers about a compilation, for `--stats=json` and `--time-passes`.

use emit::FinalFunction;
use mir::target::Target;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::time::Duration;

/// One function.
#[derive(Clone, Debug, Default, serde::Serialize)]
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
    /// Microseconds of each pass over this function.
    #[serde(rename = "micros")]
    pub times: PassTimes,
}

impl FunctionStats {
    /// Numbers of a finished function.
    pub fn new(f: &FinalFunction, target: &Target) -> Self {
        let resources = &f.function.resources;
        let sgprs = f.kernel.as_ref().map_or(resources.sgprs, |kernel| kernel.metadata.sgpr_count);
        Self {
            function: f.function.name.clone(),
            sgprs,
            vgprs: resources.vgprs,
            sgpr_spills: resources.sgpr_spills,
            vgpr_spills: resources.vgpr_spills,
            occupancy: target.limits().waves_that_fit(sgprs, resources.vgprs),
            lds_bytes: f.function.lds.size_bytes,
            scratch_bytes: resources.scratch_bytes,
            code_bytes: f.code.len() as u32,
            instructions: f.function.layout.iter().map(|&b| f.function.blocks[b].insts.len() as u32).sum(),
            times: PassTimes::default(),
        }
    }
}

/// Time spent in passes, in the order in which they first ran.
#[derive(Clone, Debug, Default)]
pub struct PassTimes {
    times: Vec<(&'static str, Duration)>,
}

impl PassTimes {
    /// Adds `time` to `pass`.
    pub fn add(&mut self, pass: &'static str, time: Duration) {
        match self.times.iter_mut().find(|(known, _)| *known == pass) {
            Some((_, total)) => *total += time,
            None => self.times.push((pass, time)),
        }
    }

    /// Adds `time` to a pass that has none yet.
    pub fn push(&mut self, pass: &'static str, time: Duration) {
        self.times.push((pass, time));
    }

    /// Puts the passes of `later`, which has none of these, behind them.
    pub fn append(&mut self, later: Self) {
        self.times.extend(later.times);
    }

    /// Adds what was spent in `pass` before all others.
    pub fn add_first(&mut self, pass: &'static str, time: Duration) {
        self.times.insert(0, (pass, time));
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: &Self) {
        other.times.iter().for_each(|&(pass, time)| self.add(pass, time));
    }

    /// Each pass with its time.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Duration)> + '_ {
        self.times.iter().copied()
    }
}

/// A map from pass to microseconds.
impl Serialize for PassTimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.times.len()))?;
        for (pass, time) in &self.times {
            map.serialize_entry(pass, &(time.as_micros() as u64))?;
        }
        map.end()
    }
}
