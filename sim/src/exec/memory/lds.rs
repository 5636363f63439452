//! LDS and GDS: the same instructions, told apart by the GDS bit.
//!
//! GDS is memory that all work-groups of a dispatch share; M0 holds base (31:16) and size (15:0) of the part that an access may touch.
//! Source: Vega ISA, "Data Share"; CLRX, "GCN ISA DS instructions" for the two-address forms (`src2`).

use super::super::{Exec, Group, Handler, unsupported};
use super::{Data, Place, wide};
use crate::program::{Mem, MemKind, Op};
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::waits::{EventKind, RegRange};
use crate::wave::{MAX_LANES, Wave};
use mir::isa::{OpFlags, Opcode, Rmw};
use mir::machine::{ModFlags, PReg};
use mir::target::Counter;
use mir::target::Features;

/// What executes `op`.
pub(super) fn handler(op: Opcode, mem: &Mem) -> Option<Handler> {
    Some(match op {
        Opcode::DS_SWIZZLE_B32 | Opcode::DS_PERMUTE_B32 | Opcode::DS_BPERMUTE_B32 | Opcode::DS_NOP => {
            |x, w, g, op| x.lds(w, g, op)
        }
        Opcode::DS_APPEND => |x, w, g, op| x.lds_count(w, g, op, false),
        Opcode::DS_CONSUME => |x, w, g, op| x.lds_count(w, g, op, true),
        Opcode::DS_CONDXCHG32_RTN_B64 => |x, w, g, op| x.lds_condxchg(w, g, op),
        Opcode::DS_GWS_INIT
        | Opcode::DS_GWS_BARRIER
        | Opcode::DS_GWS_SEMA_V
        | Opcode::DS_GWS_SEMA_BR
        | Opcode::DS_GWS_SEMA_P
        | Opcode::DS_GWS_SEMA_RELEASE_ALL => |x, w, g, op| x.gws(w, g, op),
        _ if mem.kind == MemKind::None => return None,
        _ if op.info().flags.contains(OpFlags::DS_SRC2) => |x, w, g, op| x.lds_src2(w, g, op),
        _ => |x, w, g, op| x.lds(w, g, op),
    })
}

impl Exec<'_> {
    /// On GFX10.1 several dwords must be aligned where a work-group runs on a pair of compute units. Source: LLVM, `FeatureLdsMisalignedBug`.
    fn lds_misaligns(&self, bytes: u32) -> bool {
        self.launch.first_gfx10 && self.launch.wgp && bytes > 4
    }

    /// One LDS or GDS instruction.
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
        let Some(mem) = op.mem else { return Err(unsupported(op)) };
        let exec = w.exec();
        let mut limit = u32::MAX;
        let gds = op.flag(ModFlags::GDS);
        let mut gds_base = 0;
        if gds {
            let m0 = self.defined_m0(w)?;
            (limit, gds_base) = ((m0 & 0xffff).wrapping_sub(1), self.launch.gds + u64::from(m0 >> 16));
        } else if op.info.flags.contains(OpFlags::M0_LDS) && !self.launch.target.has(Features::LDS_NO_M0) {
            limit = self.defined_m0(w)?;
        }
        let mut base = [0u32; MAX_LANES];
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
        } else if self.launch.target.has(Features::UNALIGNED_DS) && !self.lds_misaligns(mem.bytes) {
            1
        } else {
            mem.bytes.next_power_of_two().min(16)
        };
        // The compare value and the new value stand the other way round than in buffer atomics.
        let mut loaded = vec![[Data::default(); MAX_LANES]; offsets.len()];
        let bytes = mem.bytes as usize;
        for &offset in offsets {
            let places = std::array::from_fn(|l| Place::Lds(base[l].wrapping_add(offset)));
            self.record_lanes(exec, &places, mem.bytes);
        }
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            self.note_lane(l, mem.kind);
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
                let place = if gds { Place::Memory(gds_base + u64::from(at)) } else { Place::Lds(at) };
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
                            (Rmw::CmpSwap | Rmw::FcmpSwap, _) => (get(data1), get(data0)),
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

    /// Where byte `at` of LDS, or of the part of GDS that M0 names, is.
    fn share_place(&self, w: &Wave, op: &Op, at: u32, bytes: u32) -> Result<Place> {
        if !op.flag(ModFlags::GDS) {
            return Ok(Place::Lds(at));
        }
        let m0 = self.defined_m0(w)?;
        if u64::from(at) + u64::from(bytes) > u64::from(m0 & 0xffff) {
            let message = format!("GDS access at 0x{at:x} beyond M0 (0x{:x} bytes)", m0 & 0xffff);
            return Err(Report::new(Kind::OutOfBounds, message));
        }
        Ok(Place::Memory(self.launch.gds + u64::from(m0 >> 16) + u64::from(at)))
    }

    /// `ds_append` and `ds_consume`: the number of active lanes is added to or taken from one counter; all lanes get its old value.
    ///
    /// The counter is at M0 + offset in LDS (so LLVM uses it), at offset in GDS.
    fn lds_count(&mut self, w: &mut Wave, g: &mut Group, op: &Op, consume: bool) -> Result<()> {
        let exec = w.exec();
        let Some((dst, _)) = op.vdst else { return Err(unsupported(op)) };
        let offset = op.inst.mods.offset as u32 & 0xffff;
        let base = if op.flag(ModFlags::GDS) { 0 } else { self.defined_m0(w)? & 0xffff };
        let place = self.share_place(w, op, base.wrapping_add(offset) & !3, 4)?;
        let kind = MemKind::Atomic(if consume { Rmw::Sub } else { Rmw::Add });
        let mem = Mem { kind, bytes: 4, signed: false, two: 0 };
        let old = self.atomic(w, g, mem, place, (u64::from(exec.count_ones()), 0), (0, 0))?;
        let (v, u) = old.word(0);
        w.write_v(usize::from(dst), &[v; MAX_LANES], Some(&[u; MAX_LANES]), exec);
        self.count_in_flight(w, op, 1);
        Ok(())
    }

    fn count_in_flight(&self, w: &mut Wave, op: &Op, dwords: u8) {
        let kind = if op.flag(ModFlags::GDS) { EventKind::Gds } else { EventKind::Lds };
        let regs = op.vdst.map(|(n, _)| RegRange { first: PReg::vgpr(n).0, len: dwords });
        w.waits.issue(Counter::Lgkm, kind, regs.as_slice());
    }

    /// `ds_condxchg32_rtn_b64`: each dword is replaced where bit 31 of its data is set, by the other bits.
    fn lds_condxchg(&mut self, w: &mut Wave, g: &mut Group, op: &Op) -> Result<()> {
        let (Some(addr), Some(data), Some((dst, _))) = (op.vgpr("addr"), op.vgpr("data0"), op.vdst) else {
            return Err(unsupported(op));
        };
        let exec = w.exec();
        self.defined_lanes(w, usize::from(addr), exec)?;
        let mut out = [([0; MAX_LANES], [0; MAX_LANES]); 2];
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            for (k, (v, u)) in out.iter_mut().enumerate() {
                let lane = |r: Box<Report>| r.at_lane(l);
                let at = (w.v[usize::from(addr) & 255][l].wrapping_add(op.inst.mods.offset as u32) & !7)
                    + 4 * k as u32;
                let place = self.share_place(w, op, at, 4)?;
                let old = self.load_place(w, g, place, 4).map_err(lane)?;
                (v[l], u[l]) = old.word(0);
                let n = (usize::from(data) + k) & 255;
                let (new, new_u) = (w.v[n][l], w.undef_at(n, l));
                if new >> 31 != 0 {
                    let mut d = Data::default();
                    d.set_word(0, new & 0x7fff_ffff, new_u & 0x7fff_ffff);
                    self.store_place(w, g, place, &d, 4).map_err(lane)?;
                }
            }
        }
        for (k, (v, u)) in out.iter().enumerate() {
            w.write_v(usize::from(dst) + k, v, Some(u), exec);
        }
        self.count_in_flight(w, op, 2);
        Ok(())
    }

    /// `ds_*_src2_*`: the second operand is in LDS too, at a distance from the first in dwords that comes from the offset or, with bit
    /// 15 of that, from the high bits of the address.
    fn lds_src2(&mut self, w: &mut Wave, g: &mut Group, op: &Op) -> Result<()> {
        let (Some(mem), Some(addr)) = (op.mem, op.vgpr("addr")) else { return Err(unsupported(op)) };
        let exec = w.exec();
        self.defined_lanes(w, usize::from(addr), exec)?;
        let offset = op.inst.mods.offset as u32 & 0xffff;
        let bytes = mem.bytes as usize;
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let address = w.v[usize::from(addr) & 255][l];
            let (a, distance) = if offset & 0x8000 != 0 {
                (address & 0x1_fffc, address >> 17 | address >> 16 & 0x8000)
            } else {
                (address & !3, offset & 0x7fff | offset << 1 & 0x8000)
            };
            let b = a.wrapping_add((distance as u16 as i16 as i32 as u32).wrapping_mul(4));
            let lane = |r: Box<Report>| r.at_lane(l);
            let (to, from) = (self.share_place(w, op, a, mem.bytes)?, self.share_place(w, op, b, mem.bytes)?);
            let second = self.load_place(w, g, from, bytes).map_err(lane)?;
            if mem.kind == MemKind::Store {
                self.store_place(w, g, to, &second, bytes).map_err(lane)?;
            } else {
                let operand = if bytes == 8 { second.long(0) } else { wide(second.word(0)) };
                self.atomic(w, g, mem, to, operand, (0, 0)).map_err(lane)?;
            }
        }
        self.count_in_flight(w, op, 0);
        Ok(())
    }
}
