//! Register allocation: from virtual to physical registers.
//!
//! # The problem
//!
//! A wave has about a hundred scalar registers and shares 256 vector registers a lane with the other waves of
//! its SIMD: the fewer a kernel takes, the more waves hide its memory latency, in steps ([`vgpr_budget`]).
//! Values are tuples of 1 to 32 consecutive registers, aligned for SGPRs. And there are two control-flow
//! graphs: a lane follows the thread graph, the wave executes the wave graph.
//!
//! # The idea
//!
//! 1. [`graph`]: number the code in layout order.
//! 2. [`liveness`]: live ranges of every register on the graph of its file: SGPRs and whole-wave VGPRs on the
//!    wave graph, other VGPRs on the thread graph. Ranges are sets of positions, so that interference is
//!    exact for both.
//! 3. [`webs`] and [`join`]: join what moves connect, with the advice of regalloc2 ([`units`]).
//! 4. [`pack`] and [`repair`]: bind webs to registers; quick ([`Options::quick`]), [`sweep`] does it, with live ranges that are coarser.
//! 5. Where that is not possible, [`spill_plan`], [`spill`] and [`reload`]: bring pressure under a budget,
//!    then once more from 1; [`spread`] keeps apart what is stored and loaded one after the other.
//! 6. [`rewrite`] and [`moves`]: physical operands, and the moves that remain.
//! 7. [`checker`], on request: prove the result by symbolic execution on both graphs.
//!
//! # Invariants
//!
//! * EXEC changes only in heads and tails of blocks, and VGPR moves, spills and reloads stand in bodies. So
//!   each acts on exactly the lanes that are in the block on the thread graph. Lanes that wait elsewhere keep
//!   what their own path left, even in a register that this block uses for something else: its instructions
//!   do not touch inactive lanes.
//! * That is why an ordinary VGPR interferes on the thread graph alone. A whole-wave VGPR is written in
//!   inactive lanes too; it shares no register with ordinary ones.
//! * No inserted move writes SCC, and where the place of a spill takes an addition, SCC is what it was after
//!   it.
//! * Errors are values: what does not fit is `Unsupported`, what contradicts the contract of the input a
//!   `Defect`.
//!
//! # Cost
//!
//! Every phase is linear in instructions, operands and live ranges, but for a logarithm in [`occupancy`].
#![forbid(unsafe_code)]

mod access;
mod attempt;
mod checker;
#[cfg(test)]
mod damage;
mod files;
#[cfg(test)]
mod fuzz;
mod graph;
#[cfg(test)]
mod interpret;
mod join;
mod liveness;
mod moves;
mod occupancy;
mod pack;
mod reload;
mod repair;
mod resources;
mod rewrite;
mod round;
mod rounds;
mod slots;
mod spill;
mod spill_plan;
mod spread;
mod sweep;
mod units;
mod webs;

use attempt::Attempt;
use files::{FileLimits, PerFile};
use graph::{Graph, Numbering};
use mir::Result;
use mir::machine::{Function, RegFile};
use mir::target::Target;
use occupancy::Occupancy;
use rounds::Rounds;
use spill_plan::SpillPlan;
use units::Units;

pub use files::{vgpr_budget, vgpr_limit};

/// What the user asked for, besides what the function says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Check the result symbolically.
    pub verify: bool,
    /// Most VGPRs that may be used (`"amdgpu-num-vgpr"`).
    pub max_vgprs: Option<u32>,
    /// Most SGPRs that may be used, VCC and its kin included (`"amdgpu-num-sgpr"`).
    pub max_sgprs: Option<u32>,
    /// Fewest waves of a SIMD that must fit (`"amdgpu-waves-per-eu"`).
    pub min_waves: Option<u32>,
    /// Ask regalloc2 which of the values belong together that cannot all share registers.
    pub regalloc2: bool,
    /// Try first what takes less time and more registers: coarser live ranges, bound in one sweep over the code.
    pub quick: bool,
}

/// Allocates registers for `f`.
pub fn allocate(f: &mut Function, target: &Target, options: &Options) -> Result<()> {
    Allocator::default().allocate(f, target, options)
}

/// An allocator that keeps its memory from function to function.
#[derive(Default)]
pub struct Allocator {
    files: PerFile<Occupancy>,
    whole_wave: Occupancy,
    units: Units,
    /// Damage done to the result before it is checked.
    #[cfg(test)]
    damage: Option<damage::Damage>,
}

impl Allocator {
    /// Allocates registers for `f`.
    pub fn allocate(&mut self, f: &mut Function, target: &Target, options: &Options) -> Result<()> {
        self.run(f, target, options).map_err(|d| d.in_function(&f.name))
    }

    /// What [`Self::allocate`] makes of `f`.
    #[cfg(test)]
    fn allocated(&mut self, mut f: Function, target: &Target, options: &Options) -> Result<Function> {
        self.allocate(&mut f, target, options).map(|()| f)
    }

    fn run(&mut self, f: &mut Function, target: &Target, options: &Options) -> Result<()> {
        let limits = FileLimits::new(f, target, options);
        if options.quick && Attempt::new(f, target, options, &limits, None, true)?.run(f, self)?.is_none() {
            return Ok(());
        }
        let first = Attempt::new(f, target, options, &limits, None, false)?;
        let mut known = Some(first.live.clone());
        let Some(failed) = first.run(f, self)? else { return Ok(()) };
        {
            let numbering = Numbering::new(f);
            let wave = Graph::new(f, &numbering, RegFile::Sgpr);
            let thread = Graph::new(f, &numbering, RegFile::Vgpr);
            if spill::copy_lone_parameters(f, &numbering, &wave, &thread) {
                known = None;
            }
        }
        let plan = SpillPlan::new(f, target, &limits, known)?;
        *f = Rounds { f, target, options, limits: &limits, plan: &plan }.run(self, &failed)?;
        Ok(())
    }
}
