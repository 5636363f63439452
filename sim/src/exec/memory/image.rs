//! Images: linear ones of one to three dimensions and arrays, base level alone, as OpenCL uses them.
//!
//! A tiled image is refused by name: its layout is not public. Sources: Vega ISA, "Image Resource Descriptor" and "Image Instructions"; CLRX,
//! "GCN Memory instructions features and functionality". Sampling is in [`super::sample`].

use super::super::{Exec, Group, Handler, unsupported};
use super::format::Format;
use super::sample::Form;
use super::typed::widen;
use super::{Data, Place, wide};
use crate::fp::{self, F16, F32, Round};
use crate::program::{Mem, MemKind, Op};
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::waits::{EventKind, RegRange};
use crate::wave::{MAX_LANES, Wave};
use mir::isa::{ImageParts, OpFlags, Opcode, OpcodeInfo};
use mir::machine::{ModFlags, Operand, PReg, Reg};
use mir::target::{Counter, Features, ImageRules};

/// How `_pck` instructions, which convert nothing, fill registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Raw {
    Unsigned,
    Signed,
}

impl Raw {
    fn of(info: &OpcodeInfo) -> Option<Self> {
        let signed = info.flags.contains(OpFlags::SIGN_EXTENDS);
        info.image.contains(ImageParts::PACKED).then_some(if signed { Self::Signed } else { Self::Unsigned })
    }
}

/// What executes `op`.
pub(super) fn handler(op: Opcode, mem: &Mem) -> Option<Handler> {
    use Opcode::*;
    Some(match op {
        IMAGE_LOAD
        | IMAGE_LOAD_MIP
        | IMAGE_STORE
        | IMAGE_STORE_MIP
        | IMAGE_GET_RESINFO
        | IMAGE_LOAD_PCK
        | IMAGE_LOAD_PCK_SGN
        | IMAGE_LOAD_MIP_PCK
        | IMAGE_LOAD_MIP_PCK_SGN
        | IMAGE_STORE_PCK
        | IMAGE_STORE_MIP_PCK => |x, w, _, op| x.image(w, op),
        _ if Form::of(op.info()).is_some() => |x, w, _, op| x.image(w, op),
        _ if matches!(mem.kind, MemKind::Atomic(_)) => |x, w, _, op| x.image(w, op),
        _ => return None,
    })
}

/// An image resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Image {
    base: u64,
    pub(super) format: Format,
    /// Texels in each dimension; the last is slices of an array where there are any.
    size: [u32; 3],
    /// Coordinates that are not slices.
    pub(super) dimensions: usize,
    pub(super) array: bool,
    pitch: u64,
    select: [u32; 4],
    pub(super) last_level: u32,
}

pub(super) fn field(words: &[u64; 4], first: u32, bits: u32) -> u64 {
    let (word, shift) = ((first / 64) as usize, first % 64);
    words[word] >> shift & (u64::MAX >> (64 - bits))
}

/// The address registers of an image instruction: a run from the first on, or where GFX10 has further dwords for them, each by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address<'a> {
    first: u16,
    rest: &'a [Operand],
}

impl<'a> Address<'a> {
    pub(super) fn of(op: &'a Op) -> Option<Self> {
        let rest = op.inst.operands.get(op.info.operands.len()..).unwrap_or_default();
        Some(Self { first: op.vgpr("vaddr")?, rest })
    }

    /// The VGPR that dword `k` of the address is in.
    pub(super) fn at(self, k: usize) -> usize {
        let further = k.checked_sub(1).and_then(|k| match self.rest.get(k)? {
            Operand::Reg(reg) => match reg.reg {
                Reg::Physical(reg) => reg.vgpr_index(),
                Reg::Virtual(_) => None,
            },
            _ => None,
        });
        further.map_or((usize::from(self.first) + k) & 255, usize::from)
    }
}

impl Image {
    pub(super) fn coordinates(&self) -> usize {
        self.dimensions + usize::from(self.array)
    }

    /// The address of a texel, `None` outside the image.
    pub(super) fn texel(&self, at: [u32; 3]) -> Option<u64> {
        let inside = (0..self.coordinates()).all(|k| at[k] < self.limit(k));
        let line = u64::from(if self.dimensions > 1 { at[1] } else { 0 });
        let slice = u64::from(match (self.dimensions, self.array) {
            (1, true) => at[1],
            (2, true) | (3, _) => at[2],
            _ => 0,
        });
        let rows = u64::from(if self.dimensions > 1 { self.size[1] } else { 1 });
        let index = (slice * rows + line) * self.pitch + u64::from(at[0]);
        inside.then(|| self.base.wrapping_add(index * u64::from(self.format.bytes())))
    }

    /// Texels along coordinate `k`.
    pub(super) fn limit(&self, k: usize) -> u32 {
        if self.array && k == self.dimensions { self.size[2] } else { self.size[k] }
    }
}

impl Exec<'_> {
    pub(super) fn image_words(&self, w: &Wave, op: &Op) -> Result<[u64; 4]> {
        let first = op.sgpr("srsrc").ok_or_else(|| unsupported(op))?;
        let mut words = [0; 4];
        let count = if op.flag(ModFlags::R128) { 2 } else { 4 };
        for (k, word) in words.iter_mut().take(count).enumerate() {
            *word = self.address_scalar(w, first + 2 * k as u16, 2, "the image resource")?;
        }
        Ok(words)
    }

    fn image_resource(&self, w: &Wave, op: &Op) -> Result<Image> {
        let words = self.image_words(w, op)?;
        let get = |first, bits| field(&words, first, bits);
        let refuse = |what: String| Report::new(Kind::BadInstruction, format!("the simulator has no {what}"));
        let (dimensions, array) = match get(124, 4) {
            8 => (1, false),
            9 => (2, false),
            10 => (3, false),
            12 => (1, true),
            13 => (2, true),
            other => return Err(refuse(format!("images of type {other}"))),
        };
        let rules = self.launch.target.limits().images;
        let tiling = get(116, 5);
        if tiling != u64::from(rules.linear) {
            return Err(refuse(format!("image layout {tiling}: linear images alone")));
        }
        let unified = self.launch.target.generation().encoding_rules().unified_formats;
        let format = match unified {
            true => Format::unified(get(52, 9) as u32),
            false => Format { data: get(52, 6) as u8, number: get(58, 4) as u8 },
        };
        if format.widths().is_empty() || format.number > 7 {
            return Err(refuse(match unified {
                true => format!("image format {}", get(52, 9)),
                false => format!("image format {}, {}", format.data, format.number),
            }));
        }
        // GFX10's width lies across two dwords.
        let width = if unified { get(62, 2) | get(64, 12) << 2 } else { get(64, 14) } as u32 + 1;
        let depth = get(128, 13) as u32 + 1;
        let pitch = match rules.pitch_bits {
            0 if depth > 1 && !array && dimensions < 3 => {
                return Err(refuse("images whose pitch is in the resource".to_owned()));
            }
            0 => u64::from(width.next_multiple_of((ImageRules::ROW_BYTES / format.bytes()).max(1))),
            bits => match get(141, bits.into()) {
                0 => u64::from(width),
                pitch => pitch + 1,
            },
        };
        if unified && get(144, 13) != 0 {
            return Err(refuse("arrays of images that start at a later slice".to_owned()));
        }
        Ok(Image {
            base: get(0, 40) << 8,
            format,
            size: [width, get(78, 14) as u32 + 1, depth],
            dimensions,
            array,
            pitch,
            select: std::array::from_fn(|k| get(96 + 3 * k as u32, 3) as u32),
            last_level: get(112, 4) as u32,
        })
    }

    /// One image instruction.
    fn image(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        if self.cfg.opaque_images.is_some() {
            return self.opaque_image(w, op);
        }
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        let (Some(vdata), Some(vaddr)) = (op.vgpr("vdata"), Address::of(op)) else {
            return Err(unsupported(op));
        };
        let image = self.image_resource(w, op)?;
        self.announce(w, op, mem.kind);
        let atomic = matches!(mem.kind, MemKind::Atomic(_));
        let written = match mem.kind {
            MemKind::Atomic(_) => self.image_atomic(w, op, &image, mem, vdata, vaddr)?,
            MemKind::Store => {
                self.image_store(w, op, &image, vdata, vaddr)?;
                0
            }
            MemKind::Load | MemKind::None => self.image_load(w, op, &image, vdata, vaddr)?,
        };
        let range = RegRange { first: PReg::vgpr(vdata).0, len: written };
        let regs = if written != 0 { vec![range] } else { Vec::new() };
        if op.is_sample() {
            w.waits.issue_sample(&regs);
        } else {
            w.waits.issue_vector(false, op.returns(), &regs);
        }
        if self.launch.target.has(Features::STORES_READ_LATE) && (atomic || mem.kind == MemKind::Store) {
            let data = RegRange { len: op.inst.mods.dmask.count_ones().max(1) as u8, ..range };
            w.waits.issue(Counter::Exp, EventKind::Export, &[data]);
        }
        Ok(())
    }

    /// Integer coordinates of lane `l`; a level behind them must be the base level.
    fn texel_of(
        &self,
        w: &Wave,
        op: &Op,
        image: &Image,
        vaddr: Address<'_>,
        l: usize,
    ) -> Result<Option<u64>> {
        let word = |k: usize| w.v[vaddr.at(k)][l];
        // Of 16 bits there are two to a register, without signs.
        let a16 = op.flag(ModFlags::A16);
        let read = |k: usize| if a16 { word(k / 2) >> (16 * (k % 2)) & 0xffff } else { word(k) };
        let n = image.coordinates();
        if op.info.image.contains(ImageParts::MIP) && read(n) != 0 {
            return Ok(None);
        }
        Ok(image.texel(std::array::from_fn(|k| if k < n { read(k) } else { 0 })))
    }

    fn coordinates_defined(&self, w: &Wave, op: &Op, image: &Image, vaddr: Address<'_>) -> Result<()> {
        let level = usize::from(op.info.image.contains(ImageParts::MIP));
        let all = image.coordinates() + level;
        let registers = if op.flag(ModFlags::A16) { all.div_ceil(2) } else { all };
        (0..registers).try_for_each(|k| self.image_register(w, vaddr.at(k)))
    }

    /// An address register must be defined and not in flight: how many there are depends on the resource, so that the general checks do not know.
    pub(super) fn image_register(&self, w: &Wave, n: usize) -> Result<()> {
        let reg = PReg::vgpr((n & 255) as u16);
        if self.checks(Checks::IN_FLIGHT) && w.waits.any() && w.waits.blocks_read(reg.0).is_some() {
            let message = format!("{reg} is read while a load to it is in flight");
            return Err(Report::new(Kind::InFlight, message));
        }
        self.defined_lanes(w, n, w.exec())
    }

    pub(super) fn element(&mut self, w: &Wave, image: &Image, at: Option<u64>) -> Result<[(u32, u32); 4]> {
        let Some(at) = at else { return Ok([(0, 0); 4]) };
        let bytes = image.format.bytes() as usize;
        self.record_bytes(at, bytes as u32);
        let data = self.load_place(w, &mut Group::default(), Place::Memory(at), bytes)?;
        let elements = image.format.load(&data.bytes, &data.undef).unwrap_or_default();
        Ok(image.select.map(|s| match s {
            1 => (image.format.one(), 0),
            s @ 4..=7 => elements[s as usize - 4],
            _ => (0, 0),
        }))
    }

    /// Loads, samples, or tells the size; the number of registers written.
    fn image_load(
        &mut self,
        w: &mut Wave,
        op: &Op,
        image: &Image,
        vdata: u16,
        vaddr: Address<'_>,
    ) -> Result<u8> {
        let exec = w.exec();
        let size = op.inst.op == Opcode::IMAGE_GET_RESINFO;
        let sampler = match Form::of(op.info) {
            Some(form) => {
                let form = form.with_halves(op).ok_or_else(|| unsupported(op))?;
                Some((form, self.sampler(w, op)?))
            }
            None => None,
        };
        match sampler {
            Some((form, _)) => self.sample_address(w, image, form, vaddr)?,
            None if size => {}
            None => self.coordinates_defined(w, op, image, vaddr)?,
        }
        let gather = sampler.is_some_and(|(form, _)| form.gather);
        let raw = Raw::of(op.info);
        let mut texels = vec![[(0u32, 0u32); 4]; MAX_LANES];
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let lane = |r: Box<Report>| r.at_lane(l);
            texels[l] = if size {
                let n = image.coordinates();
                let extent = |k: usize| if k < n { image.limit(k) } else { 0 };
                [(extent(0), 0), (extent(1), 0), (extent(2), 0), (image.last_level + 1, 0)]
            } else if let Some((form, sampler)) = &sampler {
                let channel = op.inst.mods.dmask.trailing_zeros().min(3) as usize;
                self.sample(w, image, sampler, *form, (vaddr, channel), l).map_err(lane)?
            } else {
                let at = self.texel_of(w, op, image, vaddr, l)?;
                match raw {
                    Some(raw) => self.raw_texel(w, image, at, raw).map_err(lane)?,
                    None => self.element(w, image, at).map_err(lane)?,
                }
            };
        }
        let components: Vec<usize> = (0..4).filter(|c| gather || op.inst.mods.dmask >> c & 1 != 0).collect();
        let d16 = op.flag(ModFlags::D16);
        let packed = d16 && self.launch.target.has(Features::PACKED_D16);
        let narrow = |(x, u): (u32, u32)| match (d16, image.format.is_integer()) {
            (false, _) => (x, u),
            (true, true) => (x & 0xffff, u & 0xffff),
            (true, false) => (fp::convert(F32, F16, x.into(), 0, Round::Even) as u32, u & 0xffff),
        };
        let registers = if packed { components.len().div_ceil(2) } else { components.len() };
        for r in 0..registers {
            let (mut v, mut u) = ([0; MAX_LANES], [0; MAX_LANES]);
            for l in 0..MAX_LANES {
                let get = |k: usize| components.get(k).map_or((0, 0), |&c| narrow(texels[l][c]));
                (v[l], u[l]) = if packed {
                    let (lo, hi) = (get(2 * r), get(2 * r + 1));
                    (lo.0 | hi.0 << 16, lo.1 | hi.1 << 16)
                } else {
                    get(r)
                };
            }
            w.write_v(usize::from(vdata) + r, &v, Some(&u), exec);
        }
        let status = usize::from(op.flag(ModFlags::TFE));
        if status != 0 {
            // All pages are resident.
            w.write_v(usize::from(vdata) + registers, &[0; MAX_LANES], None, exec);
        }
        Ok((registers + status) as u8)
    }

    /// The bits of a texel, four bytes to a register.
    fn raw_texel(&mut self, w: &Wave, image: &Image, at: Option<u64>, raw: Raw) -> Result<[(u32, u32); 4]> {
        let Some(at) = at else { return Ok([(0, 0); 4]) };
        let bytes = image.format.bytes() as usize;
        self.record_bytes(at, bytes as u32);
        let data = self.load_place(w, &mut Group::default(), Place::Memory(at), bytes)?;
        let mut out = std::array::from_fn(|k| data.word(4 * k));
        if raw == Raw::Signed && bytes < 4 {
            let up = 32 - 8 * bytes as u32;
            let extend = |x: u32| ((x << up) as i32 >> up) as u32;
            out[0] = (extend(out[0].0), extend(out[0].1));
        }
        Ok(out)
    }

    fn image_store(
        &mut self,
        w: &Wave,
        op: &Op,
        image: &Image,
        vdata: u16,
        vaddr: Address<'_>,
    ) -> Result<()> {
        let exec = w.exec();
        self.coordinates_defined(w, op, image, vaddr)?;
        let d16 = op.flag(ModFlags::D16);
        let packed = d16 && self.launch.target.has(Features::PACKED_D16);
        let raw = Raw::of(op.info).is_some();
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let Some(at) = self.texel_of(w, op, image, vaddr, l)? else { continue };
            let mut components = [(0, 0); 4];
            let mut given = 0;
            for (c, slot) in components.iter_mut().enumerate() {
                if op.inst.mods.dmask >> c & 1 != 0 {
                    let n = usize::from(vdata) + if packed { given / 2 } else { given };
                    let (x, u) = (w.v[n & 255][l], w.undef_at(n, l));
                    let shift = if packed && given % 2 == 1 { 16 } else { 0 };
                    *slot = if d16 { (widen(image.format, x >> shift), u >> shift & 0xffff) } else { (x, u) };
                    given += 1;
                }
            }
            let mut data = Data::default();
            if raw {
                components.iter().enumerate().for_each(|(k, &(x, u))| data.set_word(4 * k, x, u));
            } else {
                let (bytes, undef) = image.format.store(&components).ok_or_else(|| unsupported(op))?;
                data = Data { bytes, undef };
            }
            let len = image.format.bytes() as usize;
            self.record_bytes(at, len as u32);
            self.store_place(w, &mut Group::default(), Place::Memory(at), &data, len)
                .map_err(|r| r.at_lane(l))?;
        }
        Ok(())
    }

    fn image_atomic(
        &mut self,
        w: &mut Wave,
        op: &Op,
        image: &Image,
        mem: Mem,
        vdata: u16,
        vaddr: Address<'_>,
    ) -> Result<u8> {
        let exec = w.exec();
        self.coordinates_defined(w, op, image, vaddr)?;
        let swap = mem.kind.takes_comparand();
        let dwords = op.inst.mods.dmask.count_ones() as u16 / if swap { 2 } else { 1 };
        if !matches!(dwords, 1 | 2) || u32::from(dwords) * 4 != image.format.bytes() {
            return Err(unsupported(op));
        }
        let mem = Mem { bytes: u32::from(dwords) * 4, ..mem };
        let mut old = vec![Data::default(); MAX_LANES];
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let Some(at) = self.texel_of(w, op, image, vaddr, l)? else { continue };
            let get = |first: u16| {
                let d = Self::lane_data(w, first, dwords.into(), l);
                if dwords == 2 { d.long(0) } else { wide(d.word(0)) }
            };
            let (a, b) = (get(vdata), if swap { get(vdata + dwords) } else { (0, 0) });
            self.record_bytes(at, mem.bytes);
            let place = Place::Memory(at);
            old[l] = self.atomic(w, &mut Group::default(), mem, place, a, b).map_err(|r| r.at_lane(l))?;
        }
        if !op.flag(ModFlags::GLC) {
            return Ok(0);
        }
        for k in 0..usize::from(dwords) {
            let v = std::array::from_fn(|l| old[l].word(4 * k).0);
            let u = std::array::from_fn(|l| old[l].word(4 * k).1);
            w.write_v(usize::from(vdata) + k, &v, Some(&u), exec);
        }
        Ok(dwords as u8)
    }
}
