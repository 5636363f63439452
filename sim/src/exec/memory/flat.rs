//! Flat, global and scratch accesses.

use super::super::{Exec, Group, unsupported};
use super::Place;
use crate::program::Op;
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::races::Path;
use crate::strict::waits::{EventKind, RegRange};
use crate::wave::{MAX_LANES, Wave};
use mir::isa::{MemoryKind, Opcode};
use mir::machine::PReg;
use mir::target::Counter;
use mir::target::{Features, FlatScratch};

impl Exec<'_> {
    /// FLAT_SCRATCH as an address.
    fn flat_scratch(&self, w: &Wave) -> Result<u64> {
        let v = self.address_scalar(w, PReg::FLAT_SCRATCH_LO.0, 2, "FLAT_SCRATCH")?;
        Ok(if self.launch.target.limits().flat_scratch != FlatScratch::SizeAndOffset {
            v
        } else {
            // The high dword is the offset from the hidden base in units of 256 bytes.
            self.launch.hidden_private_base.wrapping_add((v >> 32) << 8)
        })
    }

    pub(super) fn flat(&mut self, w: &mut Wave, g: &mut Group, op: &Op) -> Result<()> {
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        let exec = w.exec();
        let dst = op.vdst.map(|(n, _)| n);
        let data = op.vgpr("vdata");
        if exec == 0 {
            self.flat_in_flight(w, op, data, dst, self.is_in_order(op));
            return Ok(());
        }
        let mut offset = op.inst.mods.offset as i64 as u64;
        let vaddr = op.vgpr("vaddr").map(usize::from);
        let saddr = op.sgpr("saddr").filter(|&r| PReg(r) != PReg::NULL);
        let mut places = [Place::Nowhere; MAX_LANES];
        match op.memory_kind() {
            Some(MemoryKind::Scratch) => {
                let base = self.flat_scratch(w)?;
                let s = match saddr {
                    Some(r) => self.address_scalar(w, r, 1, "saddr")?,
                    None => 0,
                };
                if let (Some(n), None) = (vaddr, saddr) {
                    self.defined_lanes(w, n, exec)?;
                }
                let outside =
                    |at: i128| Report::new(Kind::OutOfBounds, format!("scratch address {at:#x} of a lane"));
                let negative = op.inst.mods.offset < 0;
                // Errata: the access faults, on GFX9 with an SGPR, on GFX10.1 with a VGPR where the offset is no multiple of 4. Source:
                // LLVM, `FeatureNegativeScratchOffsetBug` and `FeatureNegativeUnalignedScratchOffsetBug`.
                let faults = match self.launch.flat_scratch_is_apart() {
                    true => self.launch.first_gfx10 && saddr.is_none() && op.inst.mods.offset % 4 != 0,
                    false => saddr.is_some(),
                };
                if negative && faults {
                    return Err(outside(i128::from(op.inst.mods.offset)));
                }
                for (l, place) in places.iter_mut().enumerate().filter(|(l, _)| exec >> l & 1 != 0) {
                    let v = if saddr.is_some() { 0 } else { vaddr.map_or(0, |n| u64::from(w.v[n & 255][l])) };
                    // Sums do not wrap.
                    let at = i128::from(v) + i128::from(s) + i128::from(op.inst.mods.offset);
                    let offset = u32::try_from(at).map_err(|_| outside(at).at_lane(l))?;
                    *place = Place::Swizzled { base: base.wrapping_add(4 * l as u64), offset };
                }
            }
            _ if matches!(
                op.inst.op,
                Opcode::GLOBAL_LOAD_DWORD_ADDTID | Opcode::GLOBAL_STORE_DWORD_ADDTID
            ) =>
            {
                let base = saddr.map_or(Ok(0), |r| self.address_scalar(w, r, 2, "saddr"))?;
                for (l, place) in places.iter_mut().enumerate() {
                    *place = Place::Memory(base.wrapping_add(offset).wrapping_add(4 * l as u64));
                }
            }
            _ => {
                let Some(n) = vaddr else { return Err(unsupported(op)) };
                self.defined_lanes(w, n, exec)?;
                let s = match saddr {
                    Some(r) => Some(self.address_scalar(w, r, 2, "saddr")?),
                    None => {
                        self.defined_lanes(w, n + 1, exec)?;
                        None
                    }
                };
                let flat = op.is_generic();
                // Source: LLVM, `FeatureFlatSegmentOffsetBug`.
                if flat && op.inst.mods.offset != 0 && self.launch.first_gfx10 {
                    if self.checks(Checks::HAZARD) {
                        let message = "the processor ignores the offset of FLAT (erratum)";
                        return Err(Report::new(Kind::Hazard, message));
                    }
                    offset = 0;
                }
                let mut scratch = None;
                for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
                    let lo = u64::from(w.v[n & 255][l]);
                    let address = match s {
                        Some(s) => s.wrapping_add(lo),
                        None => lo | u64::from(w.v[(n + 1) & 255][l]) << 32,
                    }
                    .wrapping_add(offset);
                    let aperture = (address >> 32) as u32;
                    places[l] = if flat && aperture == self.launch.shared_aperture {
                        Place::Lds(address as u32)
                    } else if flat && aperture == self.launch.private_aperture {
                        let base = match scratch {
                            Some(base) => base,
                            None => *scratch.insert(self.flat_scratch(w)?),
                        };
                        Place::Swizzled { base: base.wrapping_add(4 * l as u64), offset: address as u32 }
                    } else {
                        Place::Memory(address)
                    };
                }
            }
        }
        self.check_alignment(&places, mem, exec)?;
        let to_memory = (0..MAX_LANES).all(|l| exec >> l & 1 == 0 || matches!(places[l], Place::Memory(_)));
        let in_order = to_memory && self.is_in_order(op);
        self.path = if op.is_generic() && !in_order { Path::Flat } else { Path::Vmem };
        let result = self.access(w, g, op, &places, data, dst);
        self.path = Path::Ds;
        result?;
        self.flat_in_flight(w, op, data, dst, in_order);
        Ok(())
    }

    /// Whether FLAT answers in order with other vector memory if no lane's address is in LDS or scratch: without global_* instructions a compiler that knows the
    /// address space uses FLAT for memory.
    fn is_in_order(&self, op: &Op) -> bool {
        op.is_generic() && !self.launch.target.has(Features::GLOBAL)
    }

    /// Marks what the instruction writes as in flight, in the order of other vector memory or in any.
    fn flat_in_flight(&self, w: &mut Wave, op: &Op, data: Option<u16>, dst: Option<u16>, in_order: bool) {
        let Some(mem) = op.mem.filter(|_| in_order) else { return self.in_flight(w, op, data, dst) };
        let range = dst.map(|n| RegRange { first: PReg::vgpr(n).0, len: mem.bytes.div_ceil(4) as u8 });
        w.waits.issue_vector(false, range.is_some(), range.as_slice());
        w.waits.issue(Counter::Lgkm, EventKind::Flat, &[]);
    }
}
