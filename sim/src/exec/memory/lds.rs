//! LDS.

use super::super::{Exec, Group, Handler, unsupported};
use super::{Data, Place, wide};
use crate::exec::atomic::AtomicOp;
use crate::program::{Mem, MemKind, Op};
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::waits::{Counter, EventKind, RegRange};
use crate::wave::{LANES, Wave};
use mir::isa::{OpFlags, Opcode};
use mir::machine::{ModFlags, PReg};
use mir::target::Features;

/// What executes `op`.
pub(super) fn handler(op: Opcode, mem: &Mem) -> Option<Handler> {
    let name = op.info().name;
    match op {
        Opcode::DS_SWIZZLE_B32 | Opcode::DS_PERMUTE_B32 | Opcode::DS_BPERMUTE_B32 | Opcode::DS_NOP => {}
        _ if mem.kind == MemKind::None || name.contains("src2") || name.contains("condxchg") => return None,
        _ => {}
    }
    Some(|x, w, g, op| x.lds(w, g, op))
}

impl Exec<'_> {
    pub(super) fn lds(&mut self, w: &mut Wave, g: &mut Group, op: &Op) -> Result<()> {
        if matches!(op.inst.op, Opcode::DS_SWIZZLE_B32 | Opcode::DS_PERMUTE_B32 | Opcode::DS_BPERMUTE_B32) {
            self.lds_lanes(w, op)?;
            let regs = op.vdst.map(|(n, _)| RegRange { first: PReg::vgpr(n).0, len: 1 });
            w.waits.issue(Counter::Lgkm, EventKind::Lds, regs.as_slice());
            return Ok(());
        }
        if op.inst.op == Opcode::DS_NOP {
            w.waits.issue(Counter::Lgkm, EventKind::Lds, &[]);
            return Ok(());
        }
        let (Some(mem), false) = (op.mem, op.flag(ModFlags::GDS)) else { return Err(unsupported(op)) };
        if mem.kind == MemKind::None || op.info.name.contains("src2") || op.info.name.contains("condxchg") {
            return Err(unsupported(op));
        }
        let exec = w.exec();
        let mut limit = u32::MAX;
        if op.info.flags.contains(OpFlags::M0_LDS) && !self.launch.target.has(Features::LDS_NO_M0) {
            limit = self.defined_m0(w)?;
        }
        let mut base = [0u32; LANES];
        match op.vgpr("addr") {
            Some(n) => {
                self.defined_lanes(w, usize::from(n), exec)?;
                base = w.v[usize::from(n) & 255];
            }
            None => {
                // add-TID: M0 plus four bytes a lane.
                let m0 = self.defined_m0(w)? & 0xffff;
                base.iter_mut().enumerate().for_each(|(l, b)| *b = m0 + 4 * l as u32);
            }
        }
        let (data0, data1) = (op.vgpr("data0"), op.vgpr("data1"));
        let dst = op.vdst.map(|(n, _)| n);
        let mods = &op.inst.mods;
        let offsets: &[u32] = if mem.two != 0 {
            &[mods.offset as u32 * mem.two, u32::from(mods.offset1) * mem.two]
        } else {
            &[mods.offset as u32]
        };
        let align = if mem.two != 0 {
            mem.bytes
        } else if self.launch.target.has(Features::UNALIGNED_DS) {
            1
        } else {
            mem.bytes.next_power_of_two().min(16)
        };
        // The compare value and the new value stand the other way round than in buffer atomics.
        let mut loaded = vec![[Data::default(); LANES]; offsets.len()];
        let bytes = mem.bytes as usize;
        for l in (0..LANES).filter(|l| exec >> l & 1 != 0) {
            for (which, &offset) in offsets.iter().enumerate() {
                let at = base[l].wrapping_add(offset);
                let lane = |r: Box<Report>| r.at_lane(l);
                if at % align != 0 && self.checks(Checks::MISALIGNED) {
                    let message = format!("LDS access of {bytes} bytes at 0x{at:x}");
                    return Err(Report::new(Kind::Misaligned, message).at_lane(l));
                }
                if u64::from(at) + u64::from(mem.bytes) > u64::from(limit).saturating_add(1) && limit < 0xffff
                {
                    return Err(Report::new(
                        Kind::OutOfBounds,
                        format!("LDS access at 0x{at:x} beyond M0 (0x{limit:x})"),
                    )
                    .at_lane(l));
                }
                let place = Place::Lds(at);
                match mem.kind {
                    MemKind::Load => loaded[which][l] = self.load_place(w, g, place, bytes).map_err(lane)?,
                    MemKind::Store => {
                        let Some(first) = (if which == 0 { data0 } else { data1 }) else {
                            return Err(unsupported(op));
                        };
                        let mut d = Self::lane_data(w, first, mem.bytes.div_ceil(4), l);
                        if op.info.flags.contains(OpFlags::D16_HI) {
                            let (v, u) = d.word(0);
                            d.set_word(0, v >> 16, u >> 16);
                        }
                        self.store_place(w, g, place, &d, bytes).map_err(lane)?;
                    }
                    MemKind::Atomic(kind) => {
                        let get = |n: Option<u16>| {
                            n.map_or((0, 0), |n| {
                                let d = Self::lane_data(w, n, mem.bytes / 4, l);
                                if bytes == 8 { d.long(0) } else { wide(d.word(0)) }
                            })
                        };
                        let (a, b) = match (kind, mem.two != 0) {
                            (_, true) => (get(if which == 0 { data0 } else { data1 }), (0, 0)),
                            (AtomicOp::CmpSwap | AtomicOp::FcmpSwap, _) => (get(data1), get(data0)),
                            _ => (get(data0), get(data1)),
                        };
                        loaded[which][l] = self.atomic(w, g, mem, place, a, b).map_err(lane)?;
                    }
                    MemKind::None => {}
                }
            }
        }
        if let Some(dst) = dst {
            for (which, data) in loaded.iter().enumerate() {
                let first = dst + (which as u32 * mem.bytes / 4) as u16;
                self.write_loaded(w, op, mem, first, data, bytes);
            }
        }
        self.in_flight(w, op, data0, dst);
        Ok(())
    }
}
