//! Images whose texels are anywhere: for telling whether two programs access the same texels in the same way.
//!
//! With `Config::opaque_images` a texel's address is a hash of the resource and the coordinates, and a sample reads from a hash of all that the sampler sees: resource,
//! sampler, offset, bias, reference, derivatives, coordinates, level, and, where the level follows from them, the coordinates of the quad's lanes. No layout, format
//! or filter is computed, so every instruction can be executed, with 16-bit addresses too. What means the same hashes the same: a zero offset, bias or mip level is that of the
//! instruction without, and a level that is not positive is `_lz`.
//!
//! How many registers an address has depends on the type of the resource, which the configuration gives where the resource holds none.
//! Sources: Vega ISA, "Image Instructions" (order of address components); LLVM 22, `SITargetLowering::lowerImage` (how 16-bit ones are packed on GFX9).

use super::super::{Exec, Group, unsupported};
use super::image::{Address, field};
use super::sample::Form;
use super::{Data, Place, wide};
use crate::memory::fnv1a;
use crate::program::{Mem, MemKind, Op};
use crate::report::Result;
use crate::strict::waits::{EventKind, RegRange};
use crate::wave::{MAX_LANES, Wave};
use mir::isa::{ImageParts, OpcodeInfo};
use mir::machine::{ModFlags, PReg};
use mir::target::Counter;
use mir::target::Features;

/// Where texels are.
const TEXELS: u64 = 0x6a00_0000_0000;

/// Coordinates, and derivatives along one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    coordinates: usize,
    row: usize,
}

impl Shape {
    /// Of a type of image resource.
    fn of(ty: u8) -> Option<Self> {
        let (coordinates, row) = match ty {
            8 => (1, 1),
            9 => (2, 2),
            10 => (3, 3),
            11 | 13 | 14 => (3, 2),
            12 => (2, 1),
            15 => (4, 2),
            _ => return None,
        };
        Some(Self { coordinates, row })
    }
}

/// An address component: what it is, the dword among the address registers, the half of it (`None`: all).
type Part = (u8, usize, Option<u32>);

/// The components of an address, and the number of dwords.
///
/// `a16`: coordinates are halves; `g16`: gradients are.
fn parts(info: &OpcodeInfo, kind: MemKind, shape: Shape, a16: bool, g16: bool) -> (Vec<Part>, usize) {
    let (mut out, mut at) = (Vec::new(), 0);
    let form = Form::of(info);
    if info.image.contains(ImageParts::SIZE_QUERY) {
        return (vec![(b'm', 0, a16.then_some(0))], 1);
    }
    let sampled = kind == MemKind::Load && form.is_some();
    let form = form.unwrap_or_default();
    for (there, what, half) in
        [(form.offset, b'o', None), (form.bias, b'b', Some(0)), (form.compare, b'c', None)]
    {
        if sampled && there {
            out.push((what, at, half.filter(|_| a16)));
            at += 1;
        }
    }
    let mut run = |count: usize, what: u8, last: Option<u8>, a16: bool| {
        for k in 0..count {
            let what = if k + 1 == count { last.unwrap_or(what) } else { what };
            out.push(if a16 { (what, at + k / 2, Some(k as u32 % 2 * 16)) } else { (what, at + k, None) });
        }
        at += if a16 { count.div_ceil(2) } else { count };
    };
    if sampled && form.derivatives {
        run(shape.row, b'd', None, g16);
        run(shape.row, b'd', None, g16);
    }
    let level = match (sampled, form.level, form.clamp) {
        (true, true, _) => Some(b'l'),
        (true, _, true) => Some(b'k'),
        _ if info.image.contains(ImageParts::MIP) => Some(b'm'),
        _ => None,
    };
    run(shape.coordinates + usize::from(level.is_some()), b'x', level, a16);
    (out, at)
}

impl Exec<'_> {
    /// One image instruction.
    pub(super) fn opaque_image(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        let (Some(vdata), Some(vaddr)) = (op.vgpr("vdata"), Address::of(op)) else {
            return Err(unsupported(op));
        };
        let resource = self.image_words(w, op)?;
        let images = self.cfg.opaque_images.unwrap_or_default();
        // GFX10's instructions name the dimension, in the order of the resource's types.
        let dimension = self.launch.target.has(Features::WORKGROUP_PROCESSORS);
        let ty = match images.ty {
            _ if dimension => 8 + op.inst.mods.dim,
            0 => field(&resource, 124, 4) as u8,
            ty => ty,
        };
        let shape = Shape::of(ty).ok_or_else(|| unsupported(op))?;
        let form = Form::of(op.info);
        let kind = if mem.kind == MemKind::None { MemKind::Load } else { mem.kind };
        let a16 = op.flag(ModFlags::A16);
        let g16 = if dimension { op.info.image.contains(ImageParts::GRADIENTS_16) } else { a16 };
        let (parts, dwords) = parts(op.info, kind, shape, a16, g16);
        (0..dwords).try_for_each(|k| self.image_register(w, vaddr.at(k)))?;
        self.announce(w, op, mem.kind);
        let mut hash = resource.iter().fold(0x1357, |h, word| fnv1a(h, &word.to_le_bytes()));
        hash = fnv1a(hash, &[u8::from(op.flag(ModFlags::DA))]);
        if let Some(form) = form {
            let first = op.sgpr("ssamp").ok_or_else(|| unsupported(op))?;
            for k in 0..2 {
                let word = self.address_scalar(w, first + 2 * k, 2, "the sampler")?;
                hash = fnv1a(hash, &word.to_le_bytes());
            }
            let channel = if form.gather { op.inst.mods.dmask } else { 0 };
            let flags = [form.gather, form.query, form.zero, form.derivatives, op.flag(ModFlags::UNORM)];
            hash = fnv1a(hash, &flags.map(u8::from));
            hash = fnv1a(hash, &[channel]);
        } else {
            hash = fnv1a(
                hash,
                if op.info.image.contains(ImageParts::SIZE_QUERY) { b"resinfo" } else { b"texel" },
            );
        }
        let neighbours = images.quads && form.is_some_and(|f| !(f.level || f.zero || f.derivatives));
        let mut places = [0u64; MAX_LANES];
        for l in (0..MAX_LANES).filter(|l| w.exec() >> l & 1 != 0) {
            let mut h = self.hash_address(w, &parts, vaddr, l, hash);
            if neighbours {
                for other in (0..4).map(|k| l & !3 | k).filter(|&k| k != l) {
                    h = fnv1a(h, &self.hash_address(w, &parts, vaddr, other, 0).to_le_bytes());
                }
            }
            places[l] = TEXELS + ((h ^ h >> 32) & 0xffff_ffff) * 16;
        }
        let written = match mem.kind {
            MemKind::Atomic(_) => self.opaque_atomic(w, op, mem, vdata, &places)?,
            MemKind::Store => {
                self.opaque_store(w, op, vdata, &places)?;
                0
            }
            MemKind::Load | MemKind::None => {
                self.opaque_load(w, op, form.is_some_and(|f| f.gather), vdata, &places)?
            }
        };
        let range = RegRange { first: PReg::vgpr(vdata).0, len: written };
        let regs = if written != 0 { vec![range] } else { Vec::new() };
        if op.is_sample() {
            w.waits.issue_sample(&regs);
        } else {
            w.waits.issue_vector(false, op.returns(), &regs);
        }
        if self.launch.target.has(Features::STORES_READ_LATE)
            && !matches!(mem.kind, MemKind::Load | MemKind::None)
        {
            let data = RegRange { len: op.inst.mods.dmask.count_ones().max(1) as u8, ..range };
            w.waits.issue(Counter::Exp, EventKind::Export, &[data]);
        }
        Ok(())
    }

    /// The hash of lane `l`'s address.
    fn hash_address(&self, w: &Wave, parts: &[Part], vaddr: Address<'_>, l: usize, start: u64) -> u64 {
        let mut h = start;
        for &(what, k, half) in parts {
            let word = w.v[vaddr.at(k)][l];
            let x = half.map_or(word, |shift| word >> shift & 0xffff);
            let sign = if half.is_some() { x >> 15 != 0 } else { x >> 31 != 0 };
            let zero = x << if half.is_some() { 17 } else { 1 } == 0;
            match what {
                b'o' | b'm' if x == 0 => {}
                b'b' if zero => {}
                // As `_lz`.
                b'l' if zero || sign => h = fnv1a(h, b"z"),
                _ => h = fnv1a(fnv1a(h, &[what]), &x.to_le_bytes()),
            }
        }
        h
    }

    fn is_packed(&self, op: &Op) -> bool {
        op.flag(ModFlags::D16) && self.launch.target.has(Features::PACKED_D16)
    }

    /// The number of registers written.
    fn opaque_load(
        &mut self,
        w: &mut Wave,
        op: &Op,
        gather: bool,
        vdata: u16,
        places: &[u64; MAX_LANES],
    ) -> Result<u8> {
        let exec = w.exec();
        let dmask = if op.inst.mods.dmask & 15 == 0 { 1 } else { op.inst.mods.dmask };
        let components: Vec<u64> = (0..4).filter(|c| gather || dmask >> c & 1 != 0).collect();
        let (d16, packed) = (op.flag(ModFlags::D16), self.is_packed(op));
        let registers = if packed { components.len().div_ceil(2) } else { components.len() };
        let (mut v, mut u) = (vec![[0; MAX_LANES]; registers], vec![[0; MAX_LANES]; registers]);
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            for (k, c) in components.iter().enumerate() {
                let place = Place::Memory(places[l] + 4 * c);
                let data = self.load_place(w, &mut Group::default(), place, 4).map_err(|r| r.at_lane(l))?;
                let (x, xu) = data.word(0);
                let mask = if d16 { 0xffff } else { u32::MAX };
                let (r, shift) = if packed { (k / 2, k as u32 % 2 * 16) } else { (k, 0) };
                v[r][l] |= (x & mask) << shift;
                u[r][l] |= (xu & mask) << shift;
            }
        }
        for r in 0..registers {
            w.write_v(usize::from(vdata) + r, &v[r], Some(&u[r]), exec);
        }
        let status = usize::from(op.flag(ModFlags::TFE));
        if status != 0 {
            // All pages are resident.
            w.write_v(usize::from(vdata) + registers, &[0; MAX_LANES], None, exec);
        }
        Ok((registers + status) as u8)
    }

    fn opaque_store(&mut self, w: &Wave, op: &Op, vdata: u16, places: &[u64; MAX_LANES]) -> Result<()> {
        let (d16, packed) = (op.flag(ModFlags::D16), self.is_packed(op));
        let dmask = if op.inst.mods.dmask & 15 == 0 { 1 } else { op.inst.mods.dmask };
        for l in (0..MAX_LANES).filter(|l| w.exec() >> l & 1 != 0) {
            self.note_lane(l, MemKind::Store);
            for (k, c) in (0..4u64).filter(|c| dmask >> c & 1 != 0).enumerate() {
                let n = usize::from(vdata) + if packed { k / 2 } else { k };
                let shift = if packed { k as u32 % 2 * 16 } else { 0 };
                let mut data = Data::default();
                data.set_word(0, w.v[n & 255][l] >> shift, w.undef_at(n, l) >> shift);
                let place = Place::Memory(places[l] + 4 * c);
                self.store_place(w, &mut Group::default(), place, &data, if d16 { 2 } else { 4 })
                    .map_err(|r| r.at_lane(l))?;
            }
        }
        Ok(())
    }

    fn opaque_atomic(
        &mut self,
        w: &mut Wave,
        op: &Op,
        mem: Mem,
        vdata: u16,
        places: &[u64; MAX_LANES],
    ) -> Result<u8> {
        let exec = w.exec();
        let swap = mem.kind.takes_comparand();
        let dwords = op.inst.mods.dmask.count_ones() as u16 / if swap { 2 } else { 1 };
        if !matches!(dwords, 1 | 2) {
            return Err(unsupported(op));
        }
        let mem = Mem { bytes: u32::from(dwords) * 4, ..mem };
        let mut old = vec![Data::default(); MAX_LANES];
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            self.note_lane(l, mem.kind);
            let get = |first: u16| {
                let d = Self::lane_data(w, first, dwords.into(), l);
                if dwords == 2 { d.long(0) } else { wide(d.word(0)) }
            };
            let (a, b) = (get(vdata), if swap { get(vdata + dwords) } else { (0, 0) });
            old[l] = self
                .atomic(w, &mut Group::default(), mem, Place::Memory(places[l]), a, b)
                .map_err(|r| r.at_lane(l))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use mir::isa::Opcode;

    #[test]
    fn addresses_are_what_the_mnemonic_and_the_shape_say() {
        let names = |form: &str, ty: u8, a16: bool| {
            let info = Opcode::by_name(form, mir::target::Generation::Gfx9).unwrap().info();
            let (parts, dwords) = parts(info, MemKind::Load, Shape::of(ty).unwrap(), a16, a16);
            (parts.iter().map(|p| char::from(p.0)).collect::<String>(), dwords)
        };
        assert_eq!(names("image_sample_c_b_cl_o", 9, false), ("obcxxk".to_owned(), 6));
        assert_eq!(names("image_sample_d", 10, false), ("ddddddxxx".to_owned(), 9));
        // Three derivatives take two dwords a direction, three coordinates and a level two.
        assert_eq!(names("image_sample_d_cl", 10, true), ("ddddddxxxk".to_owned(), 6));
        assert_eq!(names("image_load_mip", 15, false), ("xxxxm".to_owned(), 5));
        assert_eq!(names("image_get_resinfo", 9, false), ("m".to_owned(), 1));
    }
}
