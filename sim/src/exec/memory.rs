//! Memory instructions: scalar, LDS, buffer, flat, global and scratch.
//!
//! Memory is accessed when the instruction is issued; the destination registers are marked as in flight until a wait proves them. An
//! access is made lane by lane in the order of the lanes.
//!
//! Scratch is *swizzled*: the dwords of the 64 lanes lie side by side, so that byte `o` of lane `l` is at
//! `base + (o / 4) * 256 + l * 4 + o % 4`. A multi-dword access is made dword by dword there.

use super::{Exec, Group, memory_event, unsupported};
use crate::memory::RegionKind;
use crate::program::{Mem, MemKind, Op};
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::waits::{Counter, EventKind, RegRange};
use crate::wave::{LANES, Wave};
use mir::isa::{Format, OpFlags, Opcode};
use mir::machine::{ModFlags, Operand, PReg, Reg};
use mir::target::{Features, Generation};

/// Data of one access with its undefined bits.
#[derive(Clone, Copy, Debug, Default)]
struct Data {
    bytes: [u8; 16],
    undef: [u8; 16],
}

impl Data {
    fn word(&self, at: usize) -> (u32, u32) {
        let get = |b: &[u8; 16]| {
            b.get(at..at + 4).and_then(|s| s.first_chunk::<4>()).map_or(0, |c| u32::from_le_bytes(*c))
        };
        (get(&self.bytes), get(&self.undef))
    }

    fn long(&self, at: usize) -> (u64, u64) {
        let ((a, au), (b, bu)) = (self.word(at), self.word(at + 4));
        (u64::from(a) | u64::from(b) << 32, u64::from(au) | u64::from(bu) << 32)
    }

    fn set_word(&mut self, at: usize, value: u32, undef: u32) {
        if let (Some(b), Some(u)) = (self.bytes.get_mut(at..at + 4), self.undef.get_mut(at..at + 4)) {
            b.copy_from_slice(&value.to_le_bytes());
            u.copy_from_slice(&undef.to_le_bytes());
        }
    }
}

/// Where a lane's access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Contiguous bytes at an address.
    Memory(u64),
    /// Swizzled by elements of 4 bytes: base of the lane's column, byte offset.
    Swizzled { base: u64, offset: u32 },
    /// Byte offset in LDS.
    Lds(u32),
    /// Out of a buffer's range: loads give zero, stores do nothing.
    Nowhere,
}

impl Exec<'_> {
    /// Reads the VGPRs from `first` on in lane `l`.
    fn lane_data(w: &Wave, first: u16, dwords: u32, l: usize) -> Data {
        let mut data = Data::default();
        for k in 0..dwords.min(4) {
            let n = (usize::from(first) + k as usize) & 255;
            data.set_word(4 * k as usize, w.v[n][l], w.undef_at(n, l));
        }
        data
    }

    fn check_owner(&mut self, w: &Wave, address: u64) -> Result<()> {
        if self.checks(Checks::SCRATCH_OWNER)
            && let Some(RegionKind::Scratch(slot)) = self.mem.kind_at(address)
            && slot != w.index
        {
            let message = format!("wave {} accesses the scratch of wave {slot} at 0x{address:x}", w.index);
            return Err(Report::new(Kind::ScratchOwner, message));
        }
        Ok(())
    }

    fn load_place(&mut self, w: &Wave, g: &Group, place: Place, bytes: usize) -> Result<Data> {
        let mut data = Data::default();
        match place {
            Place::Memory(address) => {
                self.stats.bytes_loaded += bytes as u64;
                self.check_owner(w, address)?;
                self.mem.load(address, &mut data.bytes[..bytes], &mut data.undef[..bytes])?;
            }
            Place::Swizzled { base, offset } => {
                self.stats.bytes_loaded += bytes as u64;
                self.stats.bytes_scratch += bytes as u64;
                let mut at = 0;
                while at < bytes {
                    let o = offset.wrapping_add(at as u32);
                    let n = (4 - (o & 3) as usize).min(bytes - at);
                    let address = base.wrapping_add(u64::from(o >> 2) * 256 + u64::from(o & 3));
                    self.check_owner(w, address)?;
                    self.mem.load(address, &mut data.bytes[at..at + n], &mut data.undef[at..at + n])?;
                    at += n;
                }
            }
            Place::Lds(offset) => {
                self.stats.bytes_lds += bytes as u64;
                let at = offset as usize;
                match (g.lds.get(at..at + bytes), g.lds_undef.get(at..at + bytes)) {
                    (Some(b), Some(u)) => {
                        data.bytes[..bytes].copy_from_slice(b);
                        data.undef[..bytes].copy_from_slice(u);
                    }
                    _ => return Err(lds_bounds("load", offset, bytes, g)),
                }
            }
            Place::Nowhere => {}
        }
        Ok(data)
    }

    fn store_place(
        &mut self,
        w: &Wave,
        g: &mut Group,
        place: Place,
        data: &Data,
        bytes: usize,
    ) -> Result<()> {
        match place {
            Place::Memory(address) => {
                self.stats.bytes_stored += bytes as u64;
                self.check_owner(w, address)?;
                if self.checks(Checks::UNDEF_STORE)
                    && data.undef[..bytes].contains(&0xff)
                    && !matches!(self.mem.kind_at(address), Some(RegionKind::Scratch(_)))
                {
                    let message = format!("undefined bytes are stored at 0x{address:x}");
                    return Err(Report::new(Kind::UndefStore, message));
                }
                self.mem.store(address, &data.bytes[..bytes], &data.undef[..bytes])?;
            }
            Place::Swizzled { base, offset } => {
                self.stats.bytes_stored += bytes as u64;
                self.stats.bytes_scratch += bytes as u64;
                let mut at = 0;
                while at < bytes {
                    let o = offset.wrapping_add(at as u32);
                    let n = (4 - (o & 3) as usize).min(bytes - at);
                    let address = base.wrapping_add(u64::from(o >> 2) * 256 + u64::from(o & 3));
                    self.check_owner(w, address)?;
                    self.mem.store(address, &data.bytes[at..at + n], &data.undef[at..at + n])?;
                    at += n;
                }
            }
            Place::Lds(offset) => {
                self.stats.bytes_lds += bytes as u64;
                let at = offset as usize;
                match (g.lds.get_mut(at..at + bytes), g.lds_undef.get_mut(at..at + bytes)) {
                    (Some(b), Some(u)) => {
                        b.copy_from_slice(&data.bytes[..bytes]);
                        u.copy_from_slice(&data.undef[..bytes]);
                    }
                    _ => return Err(lds_bounds("store", offset, bytes, g)),
                }
            }
            Place::Nowhere => {}
        }
        Ok(())
    }

    /// Makes an access of every active lane to its place. `data`: first VGPR of the data read, `dst` of the data written.
    fn access(
        &mut self,
        w: &mut Wave,
        g: &mut Group,
        op: &Op,
        places: &[Place; LANES],
        data: Option<u16>,
        dst: Option<u16>,
    ) -> Result<()> {
        let Some(mem) = op.mem else { return Err(unsupported(op)) };
        let exec = w.exec();
        let bytes = mem.bytes as usize;
        let mut loaded = [Data::default(); LANES];
        for l in (0..LANES).filter(|l| exec >> l & 1 != 0) {
            let place = places[l];
            let lane = |r: Box<Report>| r.at_lane(l);
            match mem.kind {
                MemKind::Load => loaded[l] = self.load_place(w, g, place, bytes).map_err(lane)?,
                MemKind::Store => {
                    let Some(first) = data else { return Err(unsupported(op)) };
                    let mut d = Self::lane_data(w, first, mem.bytes.div_ceil(4), l);
                    if op.info.flags.contains(OpFlags::D16_HI) {
                        let (v, u) = d.word(0);
                        d.set_word(0, v >> 16, u >> 16);
                    }
                    self.store_place(w, g, place, &d, bytes).map_err(lane)?;
                }
                MemKind::Atomic(_) => {
                    let Some(first) = data else { return Err(unsupported(op)) };
                    let d = Self::lane_data(w, first, mem.bytes / 2, l);
                    let (a, b) =
                        if bytes == 8 { (d.long(0), d.long(8)) } else { (wide(d.word(0)), wide(d.word(4))) };
                    loaded[l] = self.atomic(w, g, mem, place, a, b).map_err(lane)?;
                }
                MemKind::None => {}
            }
        }
        if let Some(dst) = dst {
            self.write_loaded(w, op, mem, dst, &loaded, bytes);
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        w: &Wave,
        g: &mut Group,
        mem: Mem,
        place: Place,
        (a, au): (u64, u64),
        (b, bu): (u64, u64),
    ) -> Result<Data> {
        let bytes = mem.bytes as usize;
        let MemKind::Atomic(kind) = mem.kind else { return Ok(Data::default()) };
        let misaligned = match place {
            Place::Memory(address) => address % bytes as u64 != 0,
            Place::Lds(offset) => offset % mem.bytes != 0,
            _ => false,
        };
        if misaligned {
            return Err(Report::new(
                Kind::Misaligned,
                format!("atomic of {bytes} bytes at a misaligned {place:x?}"),
            ));
        }
        let old = self.load_place(w, g, place, bytes)?;
        let (x, xu) = if bytes == 8 { old.long(0) } else { wide(old.word(0)) };
        let new = kind.apply(x, a, b, bytes == 8);
        use super::atomic::AtomicOp;
        let undef = match kind {
            AtomicOp::Swap => au,
            AtomicOp::CmpSwap | AtomicOp::FcmpSwap if x != b => xu | bu,
            _ if xu | au | bu & if needs_second(kind) { u64::MAX } else { 0 } != 0 => u64::MAX,
            _ => 0,
        };
        let mut data = Data::default();
        data.set_word(0, new as u32, undef as u32);
        data.set_word(4, (new >> 32) as u32, (undef >> 32) as u32);
        self.store_place(w, g, place, &data, bytes)?;
        Ok(old)
    }

    /// Writes loaded data to VGPRs from `dst` on, extended as the instruction says.
    fn write_loaded(&self, w: &mut Wave, op: &Op, mem: Mem, dst: u16, loaded: &[Data; LANES], bytes: usize) {
        let exec = w.exec();
        let flags = op.info.flags;
        for k in 0..bytes.div_ceil(4) {
            let n = (usize::from(dst) + k) & 255;
            let (mut v, mut u) = ([0; LANES], [0; LANES]);
            for l in 0..LANES {
                (v[l], u[l]) = loaded[l].word(4 * k);
                if bytes < 4 {
                    let up = 32 - 8 * bytes as u32;
                    if mem.signed {
                        v[l] = ((v[l] << up) as i32 >> up) as u32;
                        u[l] = ((u[l] << up) as i32 >> up) as u32;
                    } else {
                        v[l] = v[l] << up >> up;
                        u[l] = u[l] << up >> up;
                    }
                }
                if flags.intersects(OpFlags::D16 | OpFlags::D16_HI) {
                    let (old, old_u) = (w.v[n][l], w.undef_at(n, l));
                    let whole = !self.launch.target.has(Features::D16_PRESERVES);
                    if flags.contains(OpFlags::D16_HI) {
                        v[l] = v[l] << 16 | if whole { 0 } else { old & 0xffff };
                        u[l] = u[l] << 16 | if whole { 0 } else { old_u & 0xffff };
                    } else {
                        v[l] = v[l] & 0xffff | if whole { 0 } else { old & 0xffff_0000 };
                        u[l] = u[l] & 0xffff | if whole { 0 } else { old_u & 0xffff_0000 };
                    }
                }
            }
            let any = (0..LANES).any(|l| u[l] != 0 && exec >> l & 1 != 0);
            w.write_v(n, &v, any.then_some(&u), exec);
        }
    }

    /// Marks what a vector memory instruction writes as in flight.
    fn in_flight(&self, w: &mut Wave, op: &Op, data: Option<u16>, dst: Option<u16>) {
        let Some(mem) = op.mem else { return };
        let two = if mem.two != 0 { 2 } else { 1 };
        let dwords = |bytes: u32| (bytes * two).div_ceil(4) as u8;
        let range = dst.map(|n| RegRange { first: PReg::vgpr(n).0, len: dwords(mem.bytes) });
        let regs = range.as_slice();
        match memory_event(op) {
            Some(EventKind::Vmem) => w.waits.issue(Counter::Vm, EventKind::Vmem, regs),
            Some(EventKind::Flat) => {
                w.waits.issue(Counter::Vm, EventKind::Flat, regs);
                w.waits.issue(Counter::Lgkm, EventKind::Flat, regs);
            }
            Some(kind) => w.waits.issue(Counter::Lgkm, kind, regs),
            None => {}
        }
        // GFX6 reads store data late; GDS does so everywhere.
        let late = self.launch.target.generation() == Generation::Gfx6
            && memory_event(op) == Some(EventKind::Vmem)
            || memory_event(op) == Some(EventKind::Gds);
        if let (true, Some(n)) = (late && mem.kind != MemKind::Load, data) {
            let regs = [RegRange { first: PReg::vgpr(n).0, len: mem.bytes.div_ceil(4) as u8 }];
            w.waits.issue(Counter::Exp, EventKind::Export, &regs);
        }
    }

    /// A scalar operand that is an address or descriptor, which must be defined.
    fn address_scalar(&self, w: &Wave, reg: u16, dwords: u8, what: &str) -> Result<u64> {
        let (v, u) = self.scalar(w, reg, dwords);
        if u != 0 && self.checks(Checks::UNDEF_ADDRESS) {
            return Err(Report::new(Kind::UndefAddress, format!("{what} ({}) is undefined", PReg(reg))));
        }
        Ok(v)
    }

    fn offset_operand(&self, w: &Wave, operand: Option<&Operand>, what: &str) -> Result<u64> {
        match operand {
            Some(Operand::Imm(k)) => Ok(*k as u64),
            Some(Operand::Reg(r)) => match r.reg {
                Reg::Physical(p) => self.address_scalar(w, p.0, 1, what),
                Reg::Virtual(_) => Ok(0),
            },
            _ => Ok(0),
        }
    }

    pub(super) fn smem(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        let issue = |w: &mut Wave, regs: &[RegRange]| w.waits.issue(Counter::Lgkm, EventKind::Smem, regs);
        if mem.kind == MemKind::None {
            let Some((reg, _)) = op.sdst else {
                issue(w, &[]);
                return Ok(());
            };
            if !matches!(op.inst.op, Opcode::S_MEMTIME | Opcode::S_MEMREALTIME) {
                return Err(unsupported(op));
            }
            let time = w.time + 100;
            self.write_scalar(w, reg, 2, time, 0)?;
            issue(w, &[RegRange { first: reg, len: 2 }]);
            return Ok(());
        }
        let sbase = op.sgpr("sbase").ok_or_else(|| unsupported(op))?;
        let buffer = op.info.operands.iter().any(|o| o.name == "sbase" && o.dwords == 4);
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
                    let (v, u) = self.scalar(w, data + k as u16, 1);
                    let at = address.wrapping_add(u64::from(k) * 4);
                    self.mem.store(at, &(v as u32).to_le_bytes(), &(u as u32).to_le_bytes())?;
                }
                issue(w, &[]);
            }
            _ => return Err(unsupported(op)),
        }
        Ok(())
    }

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
                        use super::atomic::AtomicOp;
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

    pub(super) fn buffer(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        if mem.kind == MemKind::None {
            w.waits.issue(Counter::Vm, EventKind::Vmem, &[]);
            return Ok(());
        }
        let srsrc = op.sgpr("srsrc").ok_or_else(|| unsupported(op))?;
        let exec = w.exec();
        if exec == 0 {
            self.in_flight(w, op, None, op.vgpr("vdata").filter(|_| op.vdst.is_some()));
            return Ok(());
        }
        let low = self.address_scalar(w, srsrc, 2, "the buffer resource")?;
        let high = self.address_scalar(w, srsrc + 2, 2, "the buffer resource")?;
        let base = low & 0xffff_ffff_ffff;
        let swizzle = low >> 63 & 1 != 0;
        let records = high & 0xffff_ffff;
        let word3 = (high >> 32) as u32;
        let add_tid = word3 >> 23 & 1 != 0;
        let generation = self.launch.target.generation();
        let mut stride = low >> 48 & 0x3fff;
        if add_tid && generation >= Generation::Gfx8 {
            // With add-TID the data format holds more bits of the stride.
            stride |= u64::from(word3 >> 15 & 15) << 14;
        }
        let index_stride = 8u64 << (word3 >> 21 & 3);
        let element = if generation >= Generation::Gfx9 { 4u64 } else { 2 << (word3 >> 19 & 3) };
        let soffset = self.offset_operand(w, op.operand("soffset"), "soffset")? & 0xffff_ffff;
        let (offen, idxen, addr64) =
            (op.flag(ModFlags::OFFEN), op.flag(ModFlags::IDXEN), op.flag(ModFlags::ADDR64));
        let vaddr = op.vgpr("vaddr").map(usize::from);
        let wide_address = addr64 || offen && idxen;
        if let (Some(n), true) = (vaddr, offen || idxen || addr64) {
            self.defined_lanes(w, n, exec)?;
            if wide_address {
                self.defined_lanes(w, n + 1, exec)?;
            }
        }
        let inst_offset = op.inst.mods.offset as u64;
        let mut places = [Place::Nowhere; LANES];
        for l in (0..LANES).filter(|l| exec >> l & 1 != 0) {
            let reg = |k: usize| vaddr.map_or(0, |n| u64::from(w.v[(n + k) & 255][l]));
            if addr64 {
                let address = (reg(0) | reg(1) << 32).wrapping_add(base).wrapping_add(soffset + inst_offset);
                places[l] = Place::Memory(address);
                continue;
            }
            let index = if idxen { reg(0) } else { 0 } + if add_tid { l as u64 } else { 0 };
            let offset = if offen { reg(usize::from(idxen)) } else { 0 } + inst_offset;
            let in_range = if stride == 0 || !swizzle {
                let at = offset + stride * index;
                at + u64::from(mem.bytes)
                    <= records.saturating_sub(if generation >= Generation::Gfx9 { soffset } else { 0 })
            } else {
                index < records && offset < stride
            };
            if !(in_range || swizzle && stride == 0) {
                if self.checks(Checks::BUFFER_RANGE) {
                    let message =
                        format!("buffer access at offset {offset}, index {index} of {records} records");
                    return Err(Report::new(Kind::BufferRange, message).at_lane(l));
                }
                continue;
            }
            places[l] = if !swizzle {
                Place::Memory(base.wrapping_add(soffset).wrapping_add(offset + stride * index))
            } else if element == 4 && index_stride == 64 {
                let (msb, lsb) = (index / 64, index % 64);
                let column = base.wrapping_add(soffset).wrapping_add(msb * stride * 64 + lsb * 4);
                Place::Swizzled { base: column, offset: offset as u32 }
            } else {
                let (imsb, ilsb) = (index / index_stride, index % index_stride);
                let (omsb, olsb) = (offset / element, offset % element);
                let at = (imsb * stride + omsb * element) * index_stride + ilsb * element + olsb;
                Place::Memory(base.wrapping_add(soffset).wrapping_add(at))
            };
        }
        self.check_alignment(&places, mem, exec)?;
        let vdata = op.vgpr("vdata");
        let dst = op.vdst.map(|(n, _)| n);
        let mut no_lds = Group::default();
        self.access(w, &mut no_lds, op, &places, vdata, dst)?;
        self.in_flight(w, op, vdata, dst);
        Ok(())
    }

    fn check_alignment(&self, places: &[Place; LANES], mem: Mem, exec: u64) -> Result<()> {
        if self.launch.target.has(Features::UNALIGNED_ACCESS) || !self.checks(Checks::MISALIGNED) {
            return Ok(());
        }
        let align = u64::from(mem.bytes.next_power_of_two().min(4));
        for l in (0..LANES).filter(|l| exec >> l & 1 != 0) {
            let at = match places[l] {
                Place::Memory(a) => a,
                Place::Swizzled { offset, .. } => u64::from(offset),
                _ => 0,
            };
            if at % align != 0 {
                return Err(Report::new(
                    Kind::Misaligned,
                    format!("access of {} bytes at 0x{at:x}", mem.bytes),
                )
                .at_lane(l));
            }
        }
        Ok(())
    }

    /// FLAT_SCRATCH as an address.
    fn flat_scratch(&self, w: &Wave) -> Result<u64> {
        let generation = self.launch.target.generation();
        let v = self.address_scalar(w, PReg::FLAT_SCRATCH_LO.0, 2, "FLAT_SCRATCH")?;
        Ok(if generation >= Generation::Gfx9 {
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
            self.in_flight(w, op, data, dst);
            return Ok(());
        }
        let offset = op.inst.mods.offset as i64 as u64;
        let vaddr = op.vgpr("vaddr").map(usize::from);
        let saddr = op.sgpr("saddr").filter(|&r| PReg(r) != PReg::NULL);
        let mut places = [Place::Nowhere; LANES];
        match op.info.format {
            Format::Scratch => {
                let base = self.flat_scratch(w)?;
                let s = match saddr {
                    Some(r) => self.address_scalar(w, r, 1, "saddr")?,
                    None => 0,
                };
                if let (Some(n), None) = (vaddr, saddr) {
                    self.defined_lanes(w, n, exec)?;
                }
                for (l, place) in places.iter_mut().enumerate() {
                    let v = if saddr.is_some() { 0 } else { vaddr.map_or(0, |n| u64::from(w.v[n & 255][l])) };
                    let at = v.wrapping_add(s).wrapping_add(offset) as u32;
                    *place = Place::Swizzled { base: base.wrapping_add(4 * l as u64), offset: at };
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
                let flat = op.info.format == Format::Flat;
                let mut scratch = None;
                for l in (0..LANES).filter(|l| exec >> l & 1 != 0) {
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
        self.access(w, g, op, &places, data, dst)?;
        // Without global_* instructions a compiler that knows the address space uses FLAT for memory, which then
        // answers in order with other vector memory.
        let to_memory = (0..LANES).all(|l| exec >> l & 1 == 0 || matches!(places[l], Place::Memory(_)));
        if op.info.format == Format::Flat && to_memory && !self.launch.target.has(Features::GLOBAL) {
            let range = dst.map(|n| RegRange { first: PReg::vgpr(n).0, len: mem.bytes.div_ceil(4) as u8 });
            w.waits.issue(Counter::Vm, EventKind::Vmem, range.as_slice());
            w.waits.issue(Counter::Lgkm, EventKind::Flat, &[]);
        } else {
            self.in_flight(w, op, data, dst);
        }
        Ok(())
    }
}

fn wide((v, u): (u32, u32)) -> (u64, u64) {
    (u64::from(v), u64::from(u))
}

fn needs_second(kind: super::atomic::AtomicOp) -> bool {
    use super::atomic::AtomicOp;
    matches!(kind, AtomicOp::CmpSwap | AtomicOp::FcmpSwap | AtomicOp::Mskor | AtomicOp::Wrap)
}

fn lds_bounds(what: &str, offset: u32, bytes: usize, g: &Group) -> Box<Report> {
    Report::new(
        Kind::OutOfBounds,
        format!("LDS {what} of {bytes} bytes at 0x{offset:x}, the work-group has {} bytes", g.lds.len()),
    )
}
