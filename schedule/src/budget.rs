//! How many registers a function may take without costing anything.

use crate::live::Dwords;
use mir::machine::{Function, PReg};
use mir::target::{Limits, Target};
use std::ops::RangeInclusive;

/// What the user asked for, besides what the function says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Check the result.
    pub verify: bool,
    /// Most VGPRs that may be used (`"amdgpu-num-vgpr"`).
    pub max_vgprs: Option<u32>,
    /// Most SGPRs that may be used, VCC and its kin included (`"amdgpu-num-sgpr"`).
    pub max_sgprs: Option<u32>,
    /// Fewest waves of a SIMD that must fit (`"amdgpu-waves-per-eu"`).
    pub min_waves: Option<u32>,
}

/// One in so many VGPRs is left to packing: it may need more than the dwords that are alive at a time, as tuples leave holes.
pub(crate) const VGPR_HOLES: u32 = 16;
/// The same where that would cost a wave: packing may do with fewer.
pub(crate) const FEW_HOLES: u32 = 60;
/// The same where registers are taken to hide latencies, which may cost a wave that nothing else would.
const TAKEN_HOLES: u32 = 10;
/// SGPRs: their tuples are aligned.
const SGPR_HOLES: u32 = 8;
/// Registers of a called function that are free: what it saves it pays for.
const CALLED: Dwords = Dwords { sgprs: 20, vgprs: 24 };

/// What decides how many waves of a function fit.
///
/// Sources: ISA manuals, "Occupancy"; AMDGPU usage guide, "Kernel Descriptor" for granules; `mir::target::Limits`.
struct Occupancy<'a> {
    limits: &'a Limits,
    /// SGPRs that VCC and its kin take.
    specials: u32,
    /// Waves of a SIMD that must fit, and that can.
    waves: RangeInclusive<u32>,
    /// Most registers there are.
    hard: Dwords,
    /// VGPRs of those that a function may change without saving them.
    unsaved: u32,
}

impl<'a> Occupancy<'a> {
    fn of(f: &Function, target: &'a Target, options: &Options) -> Self {
        let (limits, timing) = (target.limits(), target.timing());
        // They share LDS.
        let simds = u32::from(timing.front.simds.max(1));
        let wanted = |n: Option<u32>| n.filter(|&n| n > 0).unwrap_or(u32::MAX);
        let specials = limits.special_sgprs;
        let specials = specials.vcc.max(specials.xnack_mask).max(specials.flat_scratch);
        let groups_waves = f.max_flat_workgroup_size.div_ceil(target.wave_size()).max(1);
        // A work-group is resident as a whole.
        let least = groups_waves
            .div_ceil(simds)
            .max(options.min_waves.unwrap_or(1))
            .clamp(1, limits.max_waves_per_simd);
        let by_lds = match timing
            .lds
            .bytes
            .checked_div(f.lds.size_bytes.next_multiple_of(limits.lds_granule.max(1)))
        {
            Some(groups) if !f.lds.dynamic => (groups * groups_waves / simds).max(1),
            _ => limits.max_waves_per_simd,
        };
        let mut this =
            Self { limits, specials, waves: least..=by_lds.max(least), hard: Dwords::default(), unsaved: 0 };
        this.hard = Dwords {
            sgprs: this.sgprs(1).min(wanted(options.max_sgprs).saturating_sub(specials)),
            vgprs: this.vgprs(least).min(wanted(options.max_vgprs)),
        };
        let vgprs = 0..this.hard.vgprs as u16;
        this.unsaved = match f.call_conv.is_callable() {
            true => vgprs.filter(|&n| !f.saves(PReg::vgpr(n))).count() as u32,
            false => this.hard.vgprs,
        };
        this
    }

    /// VGPRs with which so many waves fit.
    fn vgprs(&self, waves: u32) -> u32 {
        let limits = self.limits;
        (limits.total_vgprs / waves / limits.vgpr_granule * limits.vgpr_granule).min(limits.addressable_vgprs)
    }

    /// SGPRs with which so many waves fit.
    fn sgprs(&self, waves: u32) -> u32 {
        let limits = self.limits;
        (limits.total_sgprs / waves / limits.sgpr_granule * limits.sgpr_granule)
            .min(limits.addressable_sgprs)
            .saturating_sub(self.specials)
    }

    /// Waves that fit with so many registers.
    fn waves(&self, registers: Dwords) -> u32 {
        let fit = self.limits.waves_that_fit(registers.sgprs + self.specials, registers.vgprs);
        fit.min(*self.waves.end()).max(*self.waves.start())
    }

    /// Whether so many registers can be had, and what packing needs besides.
    fn fits(&self, registers: Dwords) -> bool {
        registers.sgprs + SGPR_HOLES <= self.hard.sgprs && registers.vgprs <= without_holes(self.hard.vgprs)
    }
}

/// VGPRs of so many that may be alive at a time.
fn without_holes(vgprs: u32) -> u32 {
    without(vgprs, VGPR_HOLES)
}

/// VGPRs of so many without one in `holes` of them.
fn without(vgprs: u32, holes: u32) -> u32 {
    vgprs - vgprs / holes
}

/// The registers that `f`, of which `most` are alive at a time, takes without fewer waves. `None` where they do not suffice as it is.
pub(crate) fn of(f: &Function, target: &Target, options: &Options, most: Dwords) -> Option<Dwords> {
    of_fewer(f, target, options, most, 0)
}

/// The same with so many waves `fewer`. `None`, too, where no fewer can be.
pub(crate) fn of_fewer(
    f: &Function,
    target: &Target,
    options: &Options,
    most: Dwords,
    fewer: u32,
) -> Option<Dwords> {
    let occupancy = Occupancy::of(f, target, options);
    let hard = occupancy.hard;
    if !occupancy.fits(most) {
        return None;
    }
    if f.call_conv.is_callable() {
        let most = most.max(CALLED);
        return (fewer == 0)
            .then_some(Dwords { sgprs: most.sgprs.min(hard.sgprs), vgprs: most.vgprs.min(hard.vgprs) });
    }
    let waves = occupancy.waves(most).checked_sub(fewer).filter(|waves| occupancy.waves.contains(waves))?;
    let budget = Dwords {
        sgprs: occupancy.sgprs(waves).saturating_sub(SGPR_HOLES),
        vgprs: without(occupancy.vgprs(waves), TAKEN_HOLES),
    };
    let budget = budget.max(most);
    Some(Dwords { sgprs: budget.sgprs.min(hard.sgprs), vgprs: budget.vgprs.min(hard.vgprs) })
}

/// The same where a function takes more than there are: blocks that do not may take so many. Of a file that suffices it is what costs no wave.
pub(crate) fn bounded(f: &Function, target: &Target, options: &Options, most: Dwords) -> Dwords {
    let hard = Occupancy::of(f, target, options).hard;
    let hard = Dwords { sgprs: hard.sgprs.saturating_sub(SGPR_HOLES), vgprs: without_holes(hard.vgprs) };
    let most = Dwords { sgprs: most.sgprs.min(hard.sgprs), vgprs: most.vgprs.min(hard.vgprs) };
    of(f, target, options, most).unwrap_or(hard)
}

/// Waves of a SIMD that fit where `most` registers are alive at a time: of a function that is called, as if it took more than all around it.
pub(crate) fn waves(f: &Function, target: &Target, options: &Options, most: Dwords) -> u32 {
    Occupancy::of(f, target, options).waves(most)
}

/// Registers that may be alive at a time for so many `waves` of `f` to fit, if packing leaves one in `holes` VGPRs.
pub(crate) fn for_waves(f: &Function, target: &Target, options: &Options, waves: u32, holes: u32) -> Dwords {
    let occupancy = Occupancy::of(f, target, options);
    let waves = waves.max(1);
    Dwords {
        sgprs: occupancy.sgprs(waves).min(occupancy.hard.sgprs).saturating_sub(SGPR_HOLES),
        vgprs: without(occupancy.vgprs(waves).min(occupancy.hard.vgprs), holes),
    }
}

/// Fewer registers, with which one more wave of `f` would fit than with `most`, if packing leaves one in `holes` VGPRs, or with which it would not spill; of a function
/// that is called, with which it would save none for its callers. `None` where no fewer would help.
pub(crate) fn better(
    f: &Function,
    target: &Target,
    options: &Options,
    most: Dwords,
    holes: u32,
) -> Option<Dwords> {
    let occupancy = Occupancy::of(f, target, options);
    let sgprs = occupancy.hard.sgprs.saturating_sub(SGPR_HOLES);
    if most.sgprs > sgprs {
        return Some(Dwords { sgprs, vgprs: most.vgprs.min(without_holes(occupancy.hard.vgprs)) });
    }
    // Scalar registers that cost nothing may be more than there are now.
    let goal = if most.vgprs > without_holes(occupancy.hard.vgprs) {
        let free = occupancy.sgprs(*occupancy.waves.start()).saturating_sub(SGPR_HOLES);
        Dwords { vgprs: without_holes(occupancy.hard.vgprs), sgprs: sgprs.min(free).max(most.sgprs) }
    } else if most.vgprs > without(occupancy.unsaved, holes) {
        // What is saved is stored and loaded.
        Dwords { vgprs: without(occupancy.unsaved, holes), ..most }
    } else {
        let waves = occupancy.waves(most) + 1;
        let goal = Dwords {
            sgprs: sgprs.min(occupancy.sgprs(waves).saturating_sub(SGPR_HOLES)),
            vgprs: most.vgprs.min(without(occupancy.vgprs(waves), holes)),
        };
        if occupancy.waves(goal) < waves {
            return None;
        }
        goal
    };
    (goal.vgprs < most.vgprs || goal.sgprs < most.sgprs).then_some(goal)
}
