//! Scalar memory: loads, stores, atomics, time.

use super::super::{Exec, Group, Handler, unsupported};
use super::Place;
use crate::memory::Cache;
use crate::memory::order::Issue;
use crate::program::{Mem, MemKind, Op};
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::races::Path;
use crate::strict::waits::{EventKind, RegRange};
use crate::wave::Wave;
use mir::isa::Opcode;
use mir::target::Counter;

/// What executes `op`.
pub(super) fn handler(op: Opcode, mem: &Mem) -> Option<Handler> {
    let writes = op.info().operands.first().is_some_and(|o| o.name == "sdst");
    let time = matches!(op, Opcode::S_MEMTIME | Opcode::S_MEMREALTIME | Opcode::S_GET_WAVEID_IN_WORKGROUP);
    match mem.kind {
        MemKind::None if writes && !time => None,
        _ => Some(|x, w, _, op| x.smem(w, op)),
    }
}

impl Exec<'_> {
    /// One scalar memory instruction.
    pub(super) fn smem(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        let issue = |w: &mut Wave, regs: &[RegRange]| w.waits.issue(Counter::Lgkm, EventKind::Smem, regs);
        if mem.kind == MemKind::None {
            let Some((reg, _)) = op.sdst else {
                self.scalar_fresh |= matches!(op.inst.op, Opcode::S_DCACHE_INV | Opcode::S_DCACHE_INV_VOL);
                issue(w, &[]);
                return Ok(());
            };
            if op.inst.op == Opcode::S_GET_WAVEID_IN_WORKGROUP {
                self.write_scalar(w, reg, 1, w.index.into(), 0)?;
                issue(w, &[RegRange { first: reg, len: 1 }]);
                return Ok(());
            }
            if !matches!(op.inst.op, Opcode::S_MEMTIME | Opcode::S_MEMREALTIME) {
                return Err(unsupported(op));
            }
            let time = w.time + 100;
            self.write_scalar(w, reg, 2, time, 0)?;
            issue(w, &[RegRange { first: reg, len: 2 }]);
            return Ok(());
        }
        let sbase = op.sgpr("sbase").ok_or_else(|| unsupported(op))?;
        let buffer =
            op.info.operands.iter().any(|o| o.name == "sbase" && o.width == mir::isa::Width::Dwords(4));
        let mut offset = self.offset_operand(w, op.operand("soffset"), "the offset")?;
        offset = offset.wrapping_add(op.inst.mods.offset as i64 as u64);
        let mut base = self.address_scalar(w, sbase, 2, "the base")?;
        let mut range = u64::MAX;
        if buffer {
            let rest = self.address_scalar(w, sbase + 2, 1, "the buffer resource")?;
            let stride = base >> 48 & 0x3fff;
            range = if stride == 0 { rest } else { rest * stride };
            base &= 0xffff_ffff_ffff;
            offset &= 0xffff_ffff;
        }
        let address = base.wrapping_add(offset);
        if address & 3 != 0 && self.checks(Checks::MISALIGNED) {
            return Err(Report::new(
                Kind::Misaligned,
                format!("scalar access at 0x{address:x}, which is no multiple of 4"),
            ));
        }
        let address = address & !3;
        let dwords = mem.bytes / 4;
        self.record_bytes(address, mem.bytes);
        self.mem.cache(if self.scalar_fresh { Cache::Fresh } else { Cache::Scalar });
        if let Some(order) = self.mem.order() {
            let atomic = matches!(mem.kind, MemKind::Atomic(_));
            order.issue(Issue { wave: w.index, path: Path::Vmem, number: 0, atomic, past_l1: false });
        }
        match mem.kind {
            MemKind::Load => {
                let Some((dst, _)) = op.sdst else { return Err(unsupported(op)) };
                self.stats.bytes_loaded += u64::from(mem.bytes);
                for k in 0..dwords {
                    let (mut b, mut u) = ([0; 4], [0; 4]);
                    if u64::from(k) * 4 + (offset & !3) < range || !buffer {
                        self.mem.load(address.wrapping_add(u64::from(k) * 4), &mut b, &mut u)?;
                    }
                    let (v, u) = (u32::from_le_bytes(b), u32::from_le_bytes(u));
                    self.write_scalar(w, dst + k as u16, 1, v.into(), u.into())?;
                }
                issue(w, &[RegRange { first: dst, len: dwords as u8 }]);
            }
            MemKind::Store => {
                let data = op.sgpr("sdata").ok_or_else(|| unsupported(op))?;
                self.stats.bytes_stored += u64::from(mem.bytes);
                for k in 0..dwords {
                    if buffer && u64::from(k) * 4 + (offset & !3) >= range {
                        continue;
                    }
                    let (v, u) = self.scalar(w, data + k as u16, 1);
                    let at = address.wrapping_add(u64::from(k) * 4);
                    self.mem.store(at, &(v as u32).to_le_bytes(), &(u as u32).to_le_bytes())?;
                }
                issue(w, &[]);
            }
            MemKind::Atomic(_) => {
                let data = op.sgpr("sdata").ok_or_else(|| unsupported(op))?;
                let n = dwords as u8;
                let (a, b) = (self.scalar(w, data, n), self.scalar(w, data + dwords as u16, n));
                let inside = !buffer || (offset & !3) + u64::from(mem.bytes) <= range;
                let place = if inside { Place::Memory(address) } else { Place::Nowhere };
                self.mem.cache(Cache::Fresh);
                let old = self.atomic(w, &mut Group::default(), mem, place, a, b)?;
                let Some((dst, _)) = op.sdst else {
                    issue(w, &[]);
                    return Ok(());
                };
                let (v, u) = old.long(0);
                self.write_scalar(w, dst, n, v, u)?;
                issue(w, &[RegRange { first: dst, len: n }]);
            }
            MemKind::None => return Err(unsupported(op)),
        }
        Ok(())
    }
}
