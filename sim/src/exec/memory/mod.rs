//! Memory instructions: scalar, LDS, buffer, flat, global and scratch.
//!
//! Memory is accessed when the instruction is issued; the destination registers are marked as in flight until a wait proves them. An
//! access is made lane by lane in the order of the lanes.
//!
//! Scratch is *swizzled*: the dwords of a wave's n lanes lie side by side, so that byte `o` of lane `l` is at
//! `base + (o / 4) * n * 4 + l * 4 + o % 4`. A multi-dword access is made dword by dword there.

use super::{Exec, Group, Handler, memory_event, unsupported};
use crate::exec::atomic::Apply as _;
use crate::memory::order::Issue;
use crate::memory::{Cache, RegionKind};
use crate::program::{Class, Mem, MemKind, Op};
use crate::report::{Checks, Kind, Report, Result, Unmapped};
use crate::strict::races::{Access, By, Path};
use crate::strict::waits::{EventKind, RegRange};
use crate::wave::{MAX_LANES, Wave};
use mir::ir::AddrSpace;
use mir::isa::{OpFlags, Opcode, Rmw};
use mir::machine::{ModFlags, Operand, PReg, Reg};
use mir::target::Counter;
use mir::target::Features;

mod buffer;
mod dma;
mod flat;
pub(crate) mod format;
pub mod gws;
mod image;
mod lds;
mod opaque;
mod sample;
mod scalar;
mod typed;

/// What executes a memory instruction.
pub fn handler(op: Opcode, class: Class, mem: &Mem) -> Option<Handler> {
    let info = op.info();
    let (formatted, dma) = (info.flags.contains(OpFlags::FORMATTED), info.flags.contains(OpFlags::LDS_DMA));
    match class {
        Class::Image => image::handler(op, mem),
        Class::Buffer if dma => Some(|x, w, g, op| x.dma(w, g, op)),
        Class::Buffer if formatted => Some(|x, w, _, op| x.typed(w, op)),
        Class::Smem => scalar::handler(op, mem),
        Class::Lds => lds::handler(op, mem),
        Class::Buffer => Some(|x, w, g, op| x.buffer(w, g, op)),
        Class::Flat => Some(|x, w, g, op| x.flat(w, g, op)),
        _ => None,
    }
}

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

    /// Bytes of scratch from a lane's dword to its next.
    fn scratch_row(&self) -> u64 {
        u64::from(self.launch.target.wave_size()) * 4
    }

    /// Tells the model of cycles where the active lanes' accesses go.
    fn record_lanes(&mut self, exec: u64, places: &[Place; MAX_LANES], bytes: u32) {
        let row = self.scratch_row();
        let Some(record) = &mut self.record else { return };
        let active = |l: usize| (exec >> l & 1 != 0).then_some(places[l]);
        let lds: [Option<u32>; MAX_LANES] = std::array::from_fn(|l| match active(l)? {
            Place::Lds(at) => Some(at),
            _ => None,
        });
        if lds.iter().any(Option::is_some) {
            record.lds(&lds, bytes.div_ceil(4));
        }
        let memory: [Option<(u64, Option<u64>)>; MAX_LANES] = std::array::from_fn(|l| match active(l)? {
            Place::Memory(at) => Some((at, None)),
            Place::Swizzled { base, offset } => {
                Some((base.wrapping_add(u64::from(offset / 4) * row), Some(row)))
            }
            Place::Lds(_) | Place::Nowhere => None,
        });
        if memory.iter().any(Option::is_some) {
            // What lies across two dwords of scratch is in two rows.
            let across = (0..MAX_LANES).filter_map(|l| match active(l)? {
                Place::Swizzled { offset, .. } => Some(offset % 4),
                _ => None,
            });
            record.memory(&memory, bytes + across.max().unwrap_or(0));
        }
    }

    /// Tells it of bytes of memory that no lane's place says.
    fn record_bytes(&mut self, at: u64, bytes: u32) {
        if let Some(record) = &mut self.record {
            record.bytes(at, bytes);
        }
    }

    /// This access, for the check of races.
    fn by(&self, w: &Wave, access: Access, same: bool, lds: bool) -> By {
        let path = match self.path {
            Path::Ds if !lds && self.stores => Path::Store,
            Path::Ds if !lds => Path::Vmem,
            Path::Flat if self.stores => Path::FlatStore,
            Path::Vmem if self.stores => Path::Store,
            path => path,
        };
        let kind = match path {
            Path::Ds => EventKind::Lds,
            Path::Flat => EventKind::Flat,
            Path::Vmem => EventKind::Vmem,
            Path::FlatStore => EventKind::FlatStore,
            Path::Store => EventKind::Store,
        };
        let access = if self.atomic { Access::Atomic } else { access };
        By { wave: w.index, path, number: w.waits.issued(kind) + 1, access, same }
    }

    /// Says how the loads of a vector memory instruction may be answered, and which instruction it is.
    fn announce(&mut self, w: &Wave, op: &Op, kind: MemKind) {
        let atomic = matches!(kind, MemKind::Atomic(_));
        let flags = op.inst.mods.flags;
        // GFX10 has two caches before L2: GLC passes the first, with DLC both.
        let two = self.launch.target.has(Features::WORKGROUP_PROCESSORS);
        let coherent = match two {
            true => flags.contains(ModFlags::GLC | ModFlags::DLC),
            false => flags.intersects(ModFlags::GLC | ModFlags::SLC),
        };
        let past_l1 = two && flags.contains(ModFlags::GLC);
        self.mem.cache(match (atomic || coherent, self.vector_fresh) {
            (true, _) => Cache::Coherent,
            (false, true) => Cache::Invalidated,
            (false, false) => Cache::Vector,
        });
        let By { wave, path, number, .. } = self.by(w, Access::Read, false, false);
        if let Some(order) = self.mem.order() {
            order.issue(Issue { wave, path, number, atomic, past_l1 });
        }
    }

    /// Reports a race of this access to LDS with another wave's.
    fn check_race(
        &self,
        w: &Wave,
        g: &mut Group,
        at: usize,
        bytes: usize,
        access: Access,
        same: bool,
    ) -> Result<()> {
        let Some(races) = &mut g.races else { return Ok(()) };
        let by = self.by(w, access, same, true);
        races.lds(by, at, bytes).map_err(|race| Report::new(Kind::Race, race.to_string()))
    }

    /// The same in memory, where that is checked; of a store, `data` is what it stores.
    fn check_memory_race(
        &mut self,
        w: &Wave,
        g: &mut Group,
        address: u64,
        bytes: usize,
        data: Option<&Data>,
    ) -> Result<()> {
        let Some(races) = g.races.as_mut().filter(|_| self.cfg.checks.contains(Checks::RACE_GLOBAL)) else {
            return Ok(());
        };
        let mut same = false;
        if let Some(data) = data {
            let mut old = Data::default();
            let cache = self.mem.cache(Cache::Fresh);
            let loaded = self.mem.load(address, &mut old.bytes[..bytes], &mut old.undef[..bytes]);
            self.mem.cache(cache);
            loaded?;
            same = old.bytes[..bytes] == data.bytes[..bytes];
        }
        let by = self.by(w, if data.is_some() { Access::Write } else { Access::Read }, same, false);
        races.memory(by, address, bytes).map_err(|race| Report::new(Kind::RaceGlobal, race.to_string()))
    }

    fn load_place(&mut self, w: &Wave, g: &mut Group, place: Place, bytes: usize) -> Result<Data> {
        let mut data = Data::default();
        match place {
            Place::Memory(address) => {
                self.stats.bytes_loaded += bytes as u64;
                self.check_owner(w, address)?;
                self.check_memory_race(w, g, address, bytes, None)?;
                self.mem.load(address, &mut data.bytes[..bytes], &mut data.undef[..bytes])?;
            }
            Place::Swizzled { base, offset } => {
                self.stats.bytes_loaded += bytes as u64;
                self.stats.bytes_scratch += bytes as u64;
                let (mut at, row) = (0, self.scratch_row());
                while at < bytes {
                    let o = offset.wrapping_add(at as u32);
                    let n = (4 - (o & 3) as usize).min(bytes - at);
                    let address = base.wrapping_add(u64::from(o >> 2) * row + u64::from(o & 3));
                    self.check_owner(w, address)?;
                    self.mem.load(address, &mut data.bytes[at..at + n], &mut data.undef[at..at + n])?;
                    at += n;
                }
            }
            Place::Lds(offset) => {
                self.stats.bytes_lds += bytes as u64;
                let at = offset as usize;
                self.check_race(w, g, at, bytes, Access::Read, false)?;
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
                    && data.undef[..bytes].iter().all(|&u| u == 0xff)
                    && !matches!(self.mem.kind_at(address), Some(RegionKind::Scratch(_)))
                {
                    let message = format!("an undefined value is stored at 0x{address:x}");
                    return Err(Report::new(Kind::UndefStore, message));
                }
                self.check_memory_race(w, g, address, bytes, Some(data))?;
                self.mem.store(address, &data.bytes[..bytes], &data.undef[..bytes])?;
            }
            Place::Swizzled { base, offset } => {
                self.stats.bytes_stored += bytes as u64;
                self.stats.bytes_scratch += bytes as u64;
                let (mut at, row) = (0, self.scratch_row());
                while at < bytes {
                    let o = offset.wrapping_add(at as u32);
                    let n = (4 - (o & 3) as usize).min(bytes - at);
                    let address = base.wrapping_add(u64::from(o >> 2) * row + u64::from(o & 3));
                    self.check_owner(w, address)?;
                    self.mem.store(address, &data.bytes[at..at + n], &data.undef[at..at + n])?;
                    at += n;
                }
            }
            Place::Lds(offset) => {
                self.stats.bytes_lds += bytes as u64;
                let at = offset as usize;
                let same = g.lds.get(at..at + bytes).is_some_and(|b| b == &data.bytes[..bytes]);
                self.check_race(w, g, at, bytes, Access::Write, same)?;
                match (g.lds.get_mut(at..at + bytes), g.lds_undef.get_mut(at..at + bytes)) {
                    (Some(b), Some(u)) => {
                        b.copy_from_slice(&data.bytes[..bytes]);
                        u.copy_from_slice(&data.undef[..bytes]);
                    }
                    _ => return Err(lds_bounds("store", offset, bytes, g)),
                }
                if self.cfg.observe {
                    self.mem.lds_stored(offset, bytes as u32);
                }
            }
            Place::Nowhere => {}
        }
        Ok(())
    }

    /// Says which lane's access follows, where memory may want to know.
    fn note_lane(&mut self, l: usize, kind: MemKind) {
        if self.cfg.observe {
            self.mem.lane(l);
        } else if self.cfg.unmapped == Unmapped::Hash {
            self.mem.lane(if matches!(kind, MemKind::Atomic(_)) { 255 } else { l });
        }
    }

    /// Makes an access of every active lane to its place. `data`: first VGPR of the data read, `dst` of the data written.
    fn access(
        &mut self,
        w: &mut Wave,
        g: &mut Group,
        op: &Op,
        places: &[Place; MAX_LANES],
        data: Option<u16>,
        dst: Option<u16>,
    ) -> Result<()> {
        let Some(mem) = op.mem else { return Err(unsupported(op)) };
        let exec = w.exec();
        let bytes = mem.bytes as usize;
        let mut loaded = [Data::default(); MAX_LANES];
        self.announce(w, op, mem.kind);
        self.record_lanes(exec, places, mem.bytes);
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let place = places[l];
            let lane = |r: Box<Report>| r.at_lane(l);
            self.note_lane(l, mem.kind);
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

    /// One lane's read-modify-write; what was there before.
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
        if misaligned && self.checks(Checks::MISALIGNED) {
            return Err(Report::new(
                Kind::Misaligned,
                format!("atomic of {bytes} bytes at a misaligned {place:x?}"),
            ));
        }
        self.atomic = true;
        let old = self.load_place(w, g, place, bytes);
        let old = old.inspect_err(|_| self.atomic = false)?;
        let (x, xu) = if bytes == 8 { old.long(0) } else { wide(old.word(0)) };
        let new = kind.apply(x, a, b, bytes == 8);

        let undef = match kind {
            Rmw::Swap => au,
            Rmw::CmpSwap | Rmw::FcmpSwap if x != b => xu | bu,
            _ if xu | au | bu & if needs_second(kind) { u64::MAX } else { 0 } != 0 => u64::MAX,
            _ => 0,
        };
        let mut data = Data::default();
        data.set_word(0, new as u32, undef as u32);
        data.set_word(4, (new >> 32) as u32, (undef >> 32) as u32);
        let stored = self.store_place(w, g, place, &data, bytes);
        self.atomic = false;
        stored.map(|()| old)
    }

    /// Writes loaded data to VGPRs from `dst` on, extended as the instruction says.
    fn write_loaded(
        &self,
        w: &mut Wave,
        op: &Op,
        mem: Mem,
        dst: u16,
        loaded: &[Data; MAX_LANES],
        bytes: usize,
    ) {
        let exec = w.exec();
        let flags = op.info.flags;
        let keeps = self.launch.target.loads_keep_halves();
        for k in 0..bytes.div_ceil(4) {
            let n = (usize::from(dst) + k) & 255;
            let (mut v, mut u) = ([0; MAX_LANES], [0; MAX_LANES]);
            for l in 0..MAX_LANES {
                let mut data = loaded[l];
                if k == 0 {
                    write_extended(&mut data, mem);
                }
                (v[l], u[l]) = data.word(4 * k);
                if flags.intersects(OpFlags::D16 | OpFlags::D16_HI) {
                    // With SRAM ECC the other half is lost; where its state is open nobody may rely on either.
                    let (old, old_u) = if keeps { (w.v[n][l], w.undef_at(n, l)) } else { (0, u32::MAX) };
                    if flags.contains(OpFlags::D16_HI) {
                        v[l] = v[l] << 16 | old & 0xffff;
                        u[l] = u[l] << 16 | old_u & 0xffff;
                    } else {
                        v[l] = v[l] & 0xffff | old & 0xffff_0000;
                        u[l] = u[l] & 0xffff | old_u & 0xffff_0000;
                    }
                }
            }
            let any = (0..MAX_LANES).any(|l| u[l] != 0 && exec >> l & 1 != 0);
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
        match memory_event(op, w.waits.counts_stores()) {
            Some(EventKind::Vmem | EventKind::Store) => w.waits.issue_vector(false, op.returns(), regs),
            Some(EventKind::Flat | EventKind::FlatStore) => w.waits.issue_vector(true, op.returns(), regs),
            Some(kind) => w.waits.issue(Counter::Lgkm, kind, regs),
            None => {}
        }
        // GDS reads its data late everywhere.
        let late = self.launch.target.has(Features::STORES_READ_LATE)
            && memory_event(op, false) == Some(EventKind::Vmem)
            || memory_event(op, false) == Some(EventKind::Gds);
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

    /// Reports what the processor does not do unaligned: memory by its mode, scratch up to GFX8 across two elements, since the next one of the
    /// lane is behind those of all others.
    fn check_alignment(&self, places: &[Place; MAX_LANES], mem: Mem, exec: u64) -> Result<()> {
        if !self.checks(Checks::MISALIGNED) {
            return Ok(());
        }
        let unaligned = self.launch.target.has(Features::UNALIGNED_ACCESS);
        let across = self.launch.target.takes_any_dword(AddrSpace::PRIVATE);
        let align = u64::from(mem.bytes.next_power_of_two().min(4));
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let (at, wrong) = match places[l] {
                Place::Memory(a) => (a, !unaligned && a % align != 0),
                Place::Swizzled { offset, .. } => {
                    let at = u64::from(offset);
                    (at, if unaligned { !across && at % 4 + align > 4 } else { at % align != 0 })
                }
                _ => continue,
            };
            if wrong {
                return Err(Report::new(
                    Kind::Misaligned,
                    format!("access of {} bytes at 0x{at:x}", mem.bytes),
                )
                .at_lane(l));
            }
        }
        Ok(())
    }
}

/// Makes a dword of what was loaded, as the instruction extends it.
fn write_extended(data: &mut Data, mem: Mem) {
    if mem.bytes < 4 {
        let up = 32 - 8 * mem.bytes;
        let extend = |x: u32| if mem.signed { (x << up) as i32 >> up } else { (x << up >> up) as i32 } as u32;
        let (v, u) = data.word(0);
        data.set_word(0, extend(v), extend(u));
    }
}

fn wide((v, u): (u32, u32)) -> (u64, u64) {
    (u64::from(v), u64::from(u))
}

fn needs_second(kind: Rmw) -> bool {
    matches!(kind, Rmw::CmpSwap | Rmw::FcmpSwap | Rmw::Mskor | Rmw::Wrap)
}

fn lds_bounds(what: &str, offset: u32, bytes: usize, g: &Group) -> Box<Report> {
    Report::new(
        Kind::OutOfBounds,
        format!("LDS {what} of {bytes} bytes at 0x{offset:x}, the work-group has {} bytes", g.lds.len()),
    )
}
