//! How many registers a function may take without costing anything.

use crate::live::Dwords;
use mir::machine::Function;
use mir::target::Target;

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
const VGPR_HOLES: u32 = 16;
/// SGPRs: their tuples are aligned.
const SGPR_HOLES: u32 = 8;
/// Registers of a called function that are free: what it saves it pays for.
const CALLED: Dwords = Dwords { sgprs: 20, vgprs: 24 };

/// The registers that `f`, of which `most` are alive at a time, takes without fewer waves. `None` where they do not suffice as it is.
///
/// Sources: ISA manuals, "Occupancy"; AMDGPU usage guide, "Kernel Descriptor" for granules; `mir::target::Limits`.
pub(crate) fn of(f: &Function, target: &Target, options: &Options, most: Dwords) -> Option<Dwords> {
    let (limits, timing) = (target.limits(), target.timing());
    // They share LDS.
    let simds = u32::from(timing.front.simds.max(1));
    let wanted = |n: Option<u32>| n.filter(|&n| n > 0).unwrap_or(u32::MAX);
    let specials = limits.special_sgprs;
    let specials = specials.vcc.max(specials.xnack_mask).max(specials.flat_scratch);
    let groups_waves = f.max_flat_workgroup_size.div_ceil(target.wave_size()).max(1);
    // A work-group is resident as a whole.
    let least_waves =
        groups_waves.div_ceil(simds).max(options.min_waves.unwrap_or(1)).clamp(1, limits.max_waves_per_simd);
    let vgprs_of = |waves: u32| {
        (limits.total_vgprs / waves / limits.vgpr_granule * limits.vgpr_granule).min(limits.addressable_vgprs)
    };
    let sgprs_of = |waves: u32| {
        (limits.total_sgprs / waves / limits.sgpr_granule * limits.sgpr_granule)
            .min(limits.addressable_sgprs)
            .saturating_sub(specials)
    };
    let hard = Dwords {
        sgprs: sgprs_of(1).min(wanted(options.max_sgprs).saturating_sub(specials)),
        vgprs: vgprs_of(least_waves).min(wanted(options.max_vgprs)),
    };
    if most.sgprs + SGPR_HOLES > hard.sgprs || most.vgprs + hard.vgprs / VGPR_HOLES > hard.vgprs {
        return None;
    }
    if f.call_conv.is_callable() {
        let most = most.max(CALLED);
        return Some(Dwords { sgprs: most.sgprs.min(hard.sgprs), vgprs: most.vgprs.min(hard.vgprs) });
    }
    let by_lds =
        match timing.lds.bytes.checked_div(f.lds.size_bytes.next_multiple_of(limits.lds_granule.max(1))) {
            Some(groups) if !f.lds.dynamic => (groups * groups_waves / simds).max(1),
            _ => limits.max_waves_per_simd,
        };
    let waves = limits.waves_that_fit(most.sgprs + specials, most.vgprs).min(by_lds).max(least_waves);
    let budget = Dwords {
        sgprs: sgprs_of(waves).saturating_sub(SGPR_HOLES),
        vgprs: vgprs_of(waves) - vgprs_of(waves) / VGPR_HOLES,
    };
    let budget = budget.max(most);
    Some(Dwords { sgprs: budget.sgprs.min(hard.sgprs), vgprs: budget.vgprs.min(hard.vgprs) })
}
