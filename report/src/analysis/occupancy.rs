//! How many waves a SIMD holds, what limits them, and what one more would need.

use mir::target::Target;
use serde::Serialize;

/// What a kernel takes, as its descriptor and metadata say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// VGPRs of a lane.
    pub vgprs: u32,
    /// SGPRs of a wave, specials included.
    pub sgprs: u32,
    /// LDS bytes of a work-group.
    pub lds_bytes: u32,
    /// Scratch bytes of a lane.
    pub scratch_bytes: u32,
    /// Lanes of the largest work-group that may be launched.
    pub max_work_group: u32,
    /// SGPRs that were spilled, where the metadata says so.
    pub sgpr_spills: u32,
    /// VGPRs that were spilled, where the metadata says so.
    pub vgpr_spills: u32,
}

/// A number of waves on a SIMD and the most that each may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Waves.
    pub waves: u32,
    /// VGPRs.
    pub vgprs: u32,
    /// SGPRs.
    pub sgprs: u32,
    /// LDS bytes of a work-group of the largest size; `None` where no amount of LDS is in the way.
    pub lds_bytes: Option<u32>,
}

/// The occupancy of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Occupancy {
    /// Waves that a SIMD holds.
    pub waves: u32,
    /// Waves that each resource alone leaves room for: VGPRs, SGPRs, LDS, the processor.
    pub by_vgprs: u32,
    /// See [`Self::by_vgprs`].
    pub by_sgprs: u32,
    /// See [`Self::by_vgprs`]; for work-groups of the largest size.
    pub by_lds: u32,
    /// See [`Self::by_vgprs`].
    pub most: u32,
    /// Which of them are no larger than [`Self::waves`].
    pub limited_by: Vec<&'static str>,
    /// What one more wave needs, in words; none where no more fit the processor.
    pub next: Vec<String>,
    /// All steps of the processor that differ in what a wave may take, most waves first.
    pub steps: Vec<Step>,
}

/// SIMDs that share LDS.
fn simds(target: &Target) -> u32 {
    target.timing().front.simds.max(1).into()
}

/// Waves of a work-group of the largest size.
fn waves_of_group(resources: &Resources, target: &Target) -> u32 {
    resources.max_work_group.clamp(1, 1024).div_ceil(target.wave_size())
}

/// The most that each of `waves` waves on a SIMD may take.
fn step(waves: u32, resources: &Resources, target: &Target) -> Step {
    let limits = target.limits();
    let share = |total: u32, granule: u32, most: u32| {
        let granule = granule.max(1);
        (total / waves / granule * granule).min(most)
    };
    let special = &limits.special_sgprs;
    let specials = special.vcc + special.xnack_mask + special.flat_scratch;
    let addressable = limits.addressable_sgprs + specials;
    let groups = (waves * simds(target)).div_ceil(waves_of_group(resources, target));
    let granule = limits.lds_granule.max(1);
    let lds = target.timing().lds.bytes / groups.max(1) / granule * granule;
    Step {
        waves,
        vgprs: share(limits.total_vgprs, limits.vgpr_granule, limits.addressable_vgprs),
        sgprs: share(limits.total_sgprs, limits.sgpr_granule, addressable),
        lds_bytes: (lds < limits.lds_bytes).then_some(lds),
    }
}

/// The occupancy of a kernel that takes `resources`.
pub fn occupancy(resources: &Resources, target: &Target) -> Occupancy {
    let limits = target.limits();
    let most = limits.max_waves_per_simd;
    let by_vgprs = limits.waves_that_fit(0, resources.vgprs);
    let by_sgprs = limits.waves_that_fit(resources.sgprs, 0);
    let by_lds = match resources.lds_bytes.next_multiple_of(limits.lds_granule.max(1)) {
        0 => most,
        bytes => {
            let groups = target.timing().lds.bytes / bytes;
            // A wave of a work-group that is alone is there, however few its neighbours are.
            (groups * waves_of_group(resources, target))
                .div_ceil(simds(target))
                .clamp(u32::from(groups > 0), most)
        }
    };
    let waves = by_vgprs.min(by_sgprs).min(by_lds).min(most);
    let all = [("VGPRs", by_vgprs), ("SGPRs", by_sgprs), ("LDS", by_lds), ("the processor", most)];
    // Where the processor holds no more, nothing else is in the way.
    let limits_it = |(name, by): &&(&str, u32)| *by <= waves && (waves < most || *name == all[3].0);
    let limited_by: Vec<_> = all.iter().filter(limits_it).map(|(name, _)| *name).collect();
    let mut steps: Vec<Step> = (1..=most).rev().map(|waves| step(waves, resources, target)).collect();
    // Of numbers of waves that leave the same to each, the largest counts.
    steps.dedup_by(|later, first| {
        (later.vgprs, later.sgprs, later.lds_bytes) == (first.vgprs, first.sgprs, first.lds_bytes)
    });
    let mut next = Vec::new();
    if waves < most {
        let goal = step(waves + 1, resources, target);
        let mut need = |what: &str, by: u32, used: u32, allowed: u32| {
            if by <= waves && used > allowed {
                next.push(format!("{what}: {allowed} at most, {} fewer", used - allowed));
            }
        };
        need("VGPRs", by_vgprs, resources.vgprs, goal.vgprs);
        need("SGPRs", by_sgprs, resources.sgprs, goal.sgprs);
        if let Some(lds) = goal.lds_bytes {
            need("bytes of LDS", by_lds, resources.lds_bytes, lds);
        }
    }
    Occupancy { waves, by_vgprs, by_sgprs, by_lds, most, limited_by, next, steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(resources: Resources) -> Occupancy {
        let processor = Target::processor_by_name("gfx900").expect("a processor of the table");
        occupancy(&resources, &Target::new(processor))
    }

    /// AMD's table for 256 VGPRs a lane, 800 SGPRs a SIMD and 64 KB of LDS. Source: AMD, "AMD GCN3 ISA", "GPR allocation"; GPUOpen, "Occupancy".
    #[test]
    fn known_steps() {
        for (vgprs, waves) in [
            (24, 10),
            (25, 9),
            (28, 9),
            (32, 8),
            (36, 7),
            (40, 6),
            (48, 5),
            (64, 4),
            (84, 3),
            (128, 2),
            (129, 1),
        ] {
            assert_eq!(of(Resources { vgprs, sgprs: 16, ..Resources::default() }).waves, waves, "{vgprs}");
        }
        let plan = of(Resources { vgprs: 30, sgprs: 16, ..Resources::default() });
        assert_eq!(
            (plan.waves, plan.limited_by, plan.next),
            (8, vec!["VGPRs"], vec!["VGPRs: 28 at most, 2 fewer".to_owned()])
        );
    }

    #[test]
    fn lds_limits_work_groups() {
        // 64 KB hold three work-groups of 20 KB, of four waves each: three waves a SIMD.
        let plan = of(Resources {
            vgprs: 8,
            sgprs: 8,
            lds_bytes: 20 << 10,
            max_work_group: 256,
            ..Resources::default()
        });
        assert_eq!((plan.waves, plan.by_lds, plan.limited_by), (3, 3, vec!["LDS"]));
        assert_eq!(plan.next, ["bytes of LDS: 16384 at most, 4096 fewer"]);
        let free = of(Resources { vgprs: 8, sgprs: 8, ..Resources::default() });
        assert_eq!((free.waves, free.next.len(), free.limited_by), (10, 0, vec!["the processor"]));
    }
}
