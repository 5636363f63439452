//! Global wave sync: barriers and semaphores by number.
//!
//! A resource is named by M0[21:16] plus the instruction's offset. `ds_gws_init` sets how many waves a barrier waits for (less one), or the count of a semaphore;
//! `ds_gws_barrier` waits until that many have come. Work-groups run one after the other here, so waves that only
//! another work-group could release are reported. Source: Vega ISA, "GWS"; LLVM's `llvm.amdgcn.ds.gws.*`.

use super::super::{Exec, Group, unsupported};
use crate::program::Op;
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::waits::EventKind;
use crate::wave::{Status, Wave};
use mir::isa::Opcode;
use mir::target::Counter;

/// A resource.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resource {
    /// Waves that a barrier waits for, less one; the count of a semaphore.
    value: u32,
    /// Waves that have come to the barrier.
    arrived: u32,
    /// Barriers completed, and releases of all.
    epoch: u32,
}

/// Number of resources.
const COUNT: usize = 64;

/// The resources of a dispatch as a work-group sees them.
#[derive(Clone, Debug)]
pub struct Resources([Resource; COUNT]);

impl Default for Resources {
    fn default() -> Self {
        Self([Resource::default(); COUNT])
    }
}

/// What a wave waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The end of this epoch of a barrier.
    Barrier(u8, u32),
    /// A semaphore.
    Semaphore(u8, u32),
}

impl Resources {
    /// Whether a wave may go on; a semaphore is taken.
    pub fn ready(&mut self, wait: Wait) -> bool {
        match wait {
            Wait::Barrier(n, epoch) => self.at(n).epoch != epoch,
            Wait::Semaphore(n, epoch) => {
                let r = self.at(n);
                let free = r.value > 0;
                r.value -= u32::from(free);
                free || r.epoch != epoch
            }
        }
    }

    fn at(&mut self, n: u8) -> &mut Resource {
        &mut self.0[usize::from(n) % COUNT]
    }
}

impl Exec<'_> {
    /// One instruction of global wave sync.
    pub(super) fn gws(&mut self, w: &mut Wave, g: &mut Group, op: &Op) -> Result<()> {
        let m0 = self.defined_m0(w)?;
        let n = ((m0 >> 16 & 0x3f) + (op.inst.mods.offset as u32 & 0x3f)) as u8 % COUNT as u8;
        let value = match op.vgpr("addr") {
            Some(v) => {
                let lane = w.exec().trailing_zeros().min(63) as usize;
                if w.undef_at(usize::from(v), lane) != 0 && self.checks(Checks::UNDEF_BRANCH) {
                    return Err(Report::new(
                        Kind::UndefBranch,
                        "the count of a barrier or semaphore is undefined",
                    ));
                }
                w.v[usize::from(v) & 255][lane]
            }
            None => 0,
        };
        let resource = g.gws.at(n);
        match op.inst.op {
            Opcode::DS_GWS_INIT => {
                *resource = Resource { value, arrived: 0, epoch: resource.epoch.wrapping_add(1) }
            }
            Opcode::DS_GWS_BARRIER => {
                resource.arrived += 1;
                if resource.arrived > value {
                    (resource.arrived, resource.epoch) = (0, resource.epoch.wrapping_add(1));
                } else {
                    w.status = Status::Gws(Wait::Barrier(n, resource.epoch));
                }
            }
            Opcode::DS_GWS_SEMA_V => resource.value = resource.value.saturating_add(1),
            Opcode::DS_GWS_SEMA_BR => resource.value = resource.value.saturating_add(value),
            Opcode::DS_GWS_SEMA_RELEASE_ALL => resource.epoch = resource.epoch.wrapping_add(1),
            Opcode::DS_GWS_SEMA_P => {
                let wait = Wait::Semaphore(n, resource.epoch);
                if !g.gws.ready(wait) {
                    w.status = Status::Gws(wait);
                }
            }
            _ => return Err(unsupported(op)),
        }
        w.waits.issue(Counter::Lgkm, EventKind::Gds, &[]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semaphores_count_and_barriers_have_epochs() {
        let mut r = Resources::default();
        r.at(3).value = 1;
        let p = Wait::Semaphore(3, 0);
        assert!(r.ready(p) && !r.ready(p));
        r.at(3).epoch += 1;
        assert!(r.ready(p) && r.ready(Wait::Barrier(3, 0)) && !r.ready(Wait::Barrier(3, 1)));
    }
}
