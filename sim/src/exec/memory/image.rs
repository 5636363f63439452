//! Images: linear ones of one to three dimensions and arrays, base level alone, as OpenCL uses them.
//!
//! A tiled image is refused by name: its layout is not public. Sources: Vega ISA, "Image Resource Descriptor", "Sampler Descriptor" and "Image
//! Instructions"; CLRX, "GCN Memory instructions features and functionality". Bilinear weights are exact here, while hardware has
//! 8 bits of them.

use super::super::{Exec, Group, Handler, unsupported};
use super::format::Format;
use super::{Data, Place, wide};
use crate::fp::{self, F16, F32, Round};
use crate::memory::Cache;
use crate::program::{Mem, MemKind, Op};
use crate::report::{Kind, Report, Result};
use crate::strict::waits::{Counter, EventKind, RegRange};
use crate::wave::{LANES, Wave};
use mir::isa::Opcode;
use mir::machine::{ModFlags, PReg};
use mir::target::Generation;

/// What executes `op`.
pub(super) fn handler(op: Opcode, mem: &Mem) -> Option<Handler> {
    use Opcode::*;
    Some(match op {
        IMAGE_LOAD | IMAGE_LOAD_MIP | IMAGE_STORE | IMAGE_STORE_MIP | IMAGE_GET_RESINFO => {
            |x, w, _, op| x.image(w, op)
        }
        IMAGE_SAMPLE | IMAGE_SAMPLE_L | IMAGE_SAMPLE_LZ => |x, w, _, op| x.image(w, op),
        _ if matches!(mem.kind, MemKind::Atomic(_)) => |x, w, _, op| x.image(w, op),
        _ => return None,
    })
}

/// An image resource.
#[derive(Clone, Copy, Debug)]
struct Image {
    base: u64,
    format: Format,
    /// Texels in each dimension; the last is slices of an array where there are any.
    size: [u32; 3],
    /// Coordinates that are not slices.
    dimensions: usize,
    array: bool,
    pitch: u64,
    select: [u32; 4],
    last_level: u32,
}

fn field(words: &[u64; 4], first: u32, bits: u32) -> u64 {
    let (word, shift) = ((first / 64) as usize, first % 64);
    words[word] >> shift & (u64::MAX >> (64 - bits))
}

impl Image {
    fn coordinates(&self) -> usize {
        self.dimensions + usize::from(self.array)
    }

    /// The address of a texel, `None` outside the image.
    fn texel(&self, at: [u32; 3]) -> Option<u64> {
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
    fn limit(&self, k: usize) -> u32 {
        if self.array && k == self.dimensions { self.size[2] } else { self.size[k] }
    }
}

/// A sampler.
#[derive(Clone, Copy, Debug)]
struct Sampler {
    clamp: [u32; 3],
    unnormalised: bool,
    linear: bool,
    border: u32,
}

impl Sampler {
    /// Texel number `i` of `n` along a coordinate; `None` is the border.
    fn wrap(&self, k: usize, i: i64, n: u32) -> Option<u32> {
        let n = i64::from(n);
        let i = match self.clamp[k] {
            0 => i.rem_euclid(n),
            1 => {
                let m = i.rem_euclid(2 * n);
                if m < n { m } else { 2 * n - 1 - m }
            }
            2 => i.clamp(0, n - 1),
            3 => (if i < 0 { -i - 1 } else { i }).clamp(0, n - 1),
            5 | 7 => {
                if i < 0 {
                    -i - 1
                } else {
                    i
                }
            }
            _ => i,
        };
        (0..n).contains(&i).then_some(i as u32)
    }
}

impl Exec<'_> {
    fn image_words(&self, w: &Wave, op: &Op) -> Result<[u64; 4]> {
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
        let gfx9 = self.launch.target.generation() >= Generation::Gfx9;
        let tiling = get(116, 5);
        if tiling != if gfx9 { 0 } else { 8 } {
            return Err(refuse(format!("image layout {tiling}: linear images alone")));
        }
        let format = Format { data: get(52, 6) as u8, number: get(58, 4) as u8 };
        if format.widths().is_empty() || format.number > 7 {
            return Err(refuse(format!("image format {}, {}", format.data, format.number)));
        }
        let width = get(64, 14) as u32 + 1;
        let pitch = get(141, if gfx9 { 16 } else { 14 }) + 1;
        Ok(Image {
            base: get(0, 40) << 8,
            format,
            size: [width, get(78, 14) as u32 + 1, get(128, 13) as u32 + 1],
            dimensions,
            array,
            pitch: if pitch == 1 { u64::from(width) } else { pitch },
            select: std::array::from_fn(|k| get(96 + 3 * k as u32, 3) as u32),
            last_level: get(112, 4) as u32,
        })
    }

    fn sampler(&self, w: &Wave, op: &Op) -> Result<Sampler> {
        let first = op.sgpr("ssamp").ok_or_else(|| unsupported(op))?;
        let mut words = [0; 4];
        for k in 0..2 {
            words[k] = self.address_scalar(w, first + 2 * k as u16, 2, "the sampler")?;
        }
        let get = |first, bits| field(&words, first, bits) as u32;
        Ok(Sampler {
            clamp: [get(0, 3), get(3, 3), get(6, 3)],
            unnormalised: get(15, 1) != 0 || op.flag(ModFlags::UNORM),
            linear: get(84, 2) & 1 != 0,
            border: get(126, 2),
        })
    }

    /// One image instruction.
    fn image(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        let (Some(vdata), Some(vaddr)) = (op.vgpr("vdata"), op.vgpr("vaddr")) else {
            return Err(unsupported(op));
        };
        if op.inst.mods.flags.intersects(ModFlags::A16 | ModFlags::TFE | ModFlags::LWE) {
            return Err(unsupported(op));
        }
        let image = self.image_resource(w, op)?;
        let fresh = self.vector_fresh || op.inst.mods.flags.intersects(ModFlags::GLC | ModFlags::SLC);
        self.mem.cache(if fresh { Cache::Fresh } else { Cache::Vector });
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
        w.waits.issue(Counter::Vm, EventKind::Vmem, &regs);
        if self.launch.target.generation() == Generation::Gfx6 && (atomic || mem.kind == MemKind::Store) {
            let data = RegRange { len: op.inst.mods.dmask.count_ones().max(1) as u8, ..range };
            w.waits.issue(Counter::Exp, EventKind::Export, &[data]);
        }
        Ok(())
    }

    /// Integer coordinates of lane `l`; a level behind them must be the base level.
    fn texel_of(&self, w: &Wave, op: &Op, image: &Image, vaddr: u16, l: usize) -> Result<Option<u64>> {
        let read = |k: usize| w.v[(usize::from(vaddr) + k) & 255][l];
        let n = image.coordinates();
        if op.info.name.ends_with("_mip") && read(n) != 0 {
            return Ok(None);
        }
        Ok(image.texel(std::array::from_fn(|k| if k < n { read(k) } else { 0 })))
    }

    fn coordinates_defined(&self, w: &Wave, op: &Op, image: &Image, vaddr: u16) -> Result<()> {
        let level = usize::from(op.info.name.ends_with("_mip") || op.info.name.ends_with("_l"));
        (0..image.coordinates() + level)
            .try_for_each(|k| self.defined_lanes(w, usize::from(vaddr) + k, w.exec()))
    }

    fn element(&mut self, w: &Wave, image: &Image, at: Option<u64>) -> Result<[(u32, u32); 4]> {
        let Some(at) = at else { return Ok([(0, 0); 4]) };
        let bytes = image.format.bytes() as usize;
        let data = self.load_place(w, &mut Group::default(), Place::Memory(at), bytes)?;
        let elements = image.format.load(&data.bytes, &data.undef).unwrap_or_default();
        Ok(image.select.map(|s| match s {
            1 => (image.format.one(), 0),
            s @ 4..=7 => elements[s as usize - 4],
            _ => (0, 0),
        }))
    }

    /// Loads, samples, or tells the size; the number of registers written.
    fn image_load(&mut self, w: &mut Wave, op: &Op, image: &Image, vdata: u16, vaddr: u16) -> Result<u8> {
        let exec = w.exec();
        let size = op.inst.op == Opcode::IMAGE_GET_RESINFO;
        let sampler =
            if op.info.name.starts_with("image_sample") { Some(self.sampler(w, op)?) } else { None };
        if !size {
            self.coordinates_defined(w, op, image, vaddr)?;
        }
        let mut texels = vec![[(0u32, 0u32); 4]; LANES];
        for l in (0..LANES).filter(|l| exec >> l & 1 != 0) {
            let lane = |r: Box<Report>| r.at_lane(l);
            texels[l] = if size {
                let n = image.coordinates();
                let extent = |k: usize| if k < n { image.limit(k) } else { 0 };
                [(extent(0), 0), (extent(1), 0), (extent(2), 0), (image.last_level + 1, 0)]
            } else if let Some(sampler) = &sampler {
                self.sample(w, image, sampler, vaddr, l).map_err(lane)?
            } else {
                let at = self.texel_of(w, op, image, vaddr, l)?;
                self.element(w, image, at).map_err(lane)?
            };
        }
        let components: Vec<usize> = (0..4).filter(|c| op.inst.mods.dmask >> c & 1 != 0).collect();
        let d16 = op.flag(ModFlags::D16);
        let packed = d16 && self.launch.target.generation() >= Generation::Gfx9;
        let narrow = |(x, u): (u32, u32)| match (d16, image.format.is_integer()) {
            (false, _) => (x, u),
            (true, true) => (x & 0xffff, u & 0xffff),
            (true, false) => (fp::convert(F32, F16, x.into(), 0, Round::Even) as u32, u & 0xffff),
        };
        let registers = if packed { components.len().div_ceil(2) } else { components.len() };
        for r in 0..registers {
            let (mut v, mut u) = ([0; LANES], [0; LANES]);
            for l in 0..LANES {
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
        Ok(registers as u8)
    }

    fn image_store(&mut self, w: &Wave, op: &Op, image: &Image, vdata: u16, vaddr: u16) -> Result<()> {
        let exec = w.exec();
        self.coordinates_defined(w, op, image, vaddr)?;
        if op.flag(ModFlags::D16) {
            return Err(unsupported(op));
        }
        for l in (0..LANES).filter(|l| exec >> l & 1 != 0) {
            let Some(at) = self.texel_of(w, op, image, vaddr, l)? else { continue };
            let mut components = [(0, 0); 4];
            let mut n = usize::from(vdata);
            for (c, slot) in components.iter_mut().enumerate() {
                if op.inst.mods.dmask >> c & 1 != 0 {
                    *slot = (w.v[n & 255][l], w.undef_at(n, l));
                    n += 1;
                }
            }
            let (bytes, undef) = image.format.store(&components).ok_or_else(|| unsupported(op))?;
            let data = Data { bytes, undef };
            let len = image.format.bytes() as usize;
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
        vaddr: u16,
    ) -> Result<u8> {
        let exec = w.exec();
        self.coordinates_defined(w, op, image, vaddr)?;
        let swap = op.info.name.contains("cmpswap");
        let dwords = op.inst.mods.dmask.count_ones() as u16 / if swap { 2 } else { 1 };
        if !matches!(dwords, 1 | 2) || u32::from(dwords) * 4 != image.format.bytes() {
            return Err(unsupported(op));
        }
        let mem = Mem { bytes: u32::from(dwords) * 4, ..mem };
        let mut old = vec![Data::default(); LANES];
        for l in (0..LANES).filter(|l| exec >> l & 1 != 0) {
            let Some(at) = self.texel_of(w, op, image, vaddr, l)? else { continue };
            let get = |first: u16| {
                let d = Self::lane_data(w, first, dwords.into(), l);
                if dwords == 2 { d.long(0) } else { wide(d.word(0)) }
            };
            let (a, b) = (get(vdata), if swap { get(vdata + dwords) } else { (0, 0) });
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

    /// Samples lane `l` at the base level: the nearest texel, or a weighted mean of the neighbours.
    fn sample(
        &mut self,
        w: &Wave,
        image: &Image,
        s: &Sampler,
        vaddr: u16,
        l: usize,
    ) -> Result<[(u32, u32); 4]> {
        let read = |k: usize| f32::from_bits(w.v[(usize::from(vaddr) + k) & 255][l]);
        let border: [f32; 4] = match s.border {
            1 => [0.0, 0.0, 0.0, 1.0],
            2 => [1.0; 4],
            _ => [0.0; 4],
        };
        let linear = s.linear && !image.format.is_integer();
        // For each coordinate the two texels and the weight of the second.
        let mut axes = [(0i64, 0f32); 3];
        for (k, axis) in axes.iter_mut().enumerate().take(image.coordinates()) {
            let slice = image.array && k == image.dimensions;
            let n = image.limit(k);
            let x = if s.unnormalised || slice { read(k) } else { read(k) * n as f32 };
            *axis = if slice {
                ((x.round_ties_even() as i64).clamp(0, i64::from(n) - 1), 0.0)
            } else if linear {
                ((x - 0.5).floor() as i64, (x - 0.5) - (x - 0.5).floor())
            } else {
                (x.floor() as i64, 0.0)
            };
        }
        let (mut sum, mut undef) = ([0f32; 4], 0);
        let corners = if linear { 1usize << image.dimensions } else { 1 };
        for corner in 0..corners {
            let (mut weight, mut at, mut outside) = (1.0, [0; 3], false);
            for k in 0..image.coordinates() {
                let second = corner >> k & 1;
                let (first, fraction) = axes[k];
                weight *= if !linear || k >= image.dimensions {
                    1.0
                } else if second != 0 {
                    fraction
                } else {
                    1.0 - fraction
                };
                match s.wrap(k, first.saturating_add(second as i64), image.limit(k)) {
                    Some(i) => at[k] = i,
                    None => outside = true,
                }
            }
            if weight == 0.0 {
                continue;
            }
            let texel = if outside {
                border.map(|b| (if image.format.is_integer() { b as u32 } else { b.to_bits() }, 0))
            } else {
                self.element(w, image, image.texel(at))?
            };
            if !linear {
                return Ok(texel);
            }
            for (sum, (x, u)) in sum.iter_mut().zip(texel) {
                *sum += weight * f32::from_bits(x);
                undef |= u;
            }
        }
        let u = if undef != 0 { !0 } else { 0 };
        Ok(sum.map(|x| (x.to_bits(), u)))
    }
}
