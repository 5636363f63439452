//! Sampled images: filters, address modes, depth comparison, levels of detail, gathers.
//!
//! What stands in the address registers follows from the opcode: offsets, bias, depth reference, derivatives, coordinates, level or
//! clamp of the level, in this order. Images have one level here, so the level only chooses between the filters for magnification and
//! minification. Sources: Vega ISA, "Image Sample" and "Sampler Descriptor". Weights are exact, while hardware has 8 bits of them.

use super::super::{Exec, unsupported};
use super::image::{Address, Image, field};
use crate::fp::f16_to_f32;
use crate::program::Op;
use crate::report::{Kind, Report, Result};
use crate::wave::{MAX_LANES, Wave};
use mir::isa::{ImageParts, OpFlags, OpcodeInfo};
use mir::machine::ModFlags;

/// What an opcode takes and gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Form {
    /// The four texels of a linear filter instead of their mean.
    pub gather: bool,
    /// The level of detail itself.
    pub query: bool,
    pub offset: bool,
    pub bias: bool,
    pub compare: bool,
    pub derivatives: bool,
    pub level: bool,
    pub zero: bool,
    pub clamp: bool,
    /// Addresses are halves, two to a register.
    pub a16: bool,
}

impl Form {
    /// `None` for what samples nothing, and for `image_gather4h`, whose footprint is not documented.
    pub(super) fn of(info: &OpcodeInfo) -> Option<Self> {
        let parts = info.image;
        let known = parts.contains(ImageParts::SAMPLED) && !parts.contains(ImageParts::HORIZONTAL);
        known.then(|| Self {
            gather: info.flags.contains(OpFlags::GATHER4),
            query: parts.contains(ImageParts::LOD_QUERY),
            offset: parts.contains(ImageParts::OFFSET),
            bias: parts.contains(ImageParts::BIAS),
            compare: parts.contains(ImageParts::COMPARE),
            derivatives: parts.contains(ImageParts::DERIVATIVES),
            level: parts.contains(ImageParts::LOD),
            zero: parts.contains(ImageParts::LOD_ZERO),
            clamp: parts.contains(ImageParts::LOD_CLAMP),
            a16: false,
        })
    }

    /// With addresses as `op` has them; `None` where it has halves for what is not known to be one.
    pub(super) fn with_halves(self, op: &Op) -> Option<Self> {
        let a16 = op.flag(ModFlags::A16);
        let mixed = self.offset || self.compare || self.derivatives || self.bias;
        (!(a16 && mixed)).then_some(Self { a16, ..self })
    }

    /// Address registers for an image, and where the coordinates are among them.
    pub(super) fn registers(self, image: &Image) -> (usize, usize) {
        let before = [self.offset, self.bias, self.compare].into_iter().filter(|&b| b).count()
            + if self.derivatives { 2 * image.dimensions } else { 0 };
        let all = before + image.coordinates() + usize::from(self.level || self.clamp);
        (if self.a16 { all.div_ceil(2) } else { all }, before)
    }
}

/// A sampler.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampler {
    wrap: [u32; 3],
    unnormalised: bool,
    compare: u32,
    reduce: u32,
    magnify_linear: bool,
    minify_linear: bool,
    border: u32,
    min_lod: f32,
    max_lod: f32,
    bias: f32,
}

impl Sampler {
    /// Texel number `i` of `n` along a coordinate; `None` is the border.
    fn wrap(&self, k: usize, i: i64, n: u32) -> Option<u32> {
        let n = i64::from(n);
        let i = match self.wrap[k] {
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

    /// The depth comparison: reference against texel.
    fn passes(&self, reference: f32, texel: f32) -> bool {
        match self.compare {
            0 => false,
            1 => reference < texel,
            2 => reference == texel,
            3 => reference <= texel,
            4 => reference > texel,
            5 => reference != texel,
            6 => reference >= texel,
            _ => true,
        }
    }
}

/// Signed fixed-point numbers with 8 bits behind the point.
fn fixed(x: u64, bits: u32) -> f32 {
    ((x << (64 - bits)) as i64 >> (64 - bits)) as f32 / 256.0
}

/// A lane's footprint along a coordinate: the first texel, and the weight of the second.
type Axis = (i64, f32);

impl Exec<'_> {
    pub(super) fn sampler(&self, w: &Wave, op: &Op) -> Result<Sampler> {
        let first = op.sgpr("ssamp").ok_or_else(|| unsupported(op))?;
        let mut words = [0; 4];
        for k in 0..2 {
            words[k] = self.address_scalar(w, first + 2 * k as u16, 2, "the sampler")?;
        }
        let get = |first, bits| field(&words, first, bits) as u32;
        Ok(Sampler {
            wrap: [get(0, 3), get(3, 3), get(6, 3)],
            unnormalised: get(15, 1) != 0 || op.flag(ModFlags::UNORM),
            compare: get(12, 3),
            reduce: get(29, 2),
            magnify_linear: get(84, 2) & 1 != 0,
            minify_linear: get(86, 2) & 1 != 0,
            border: get(126, 2),
            min_lod: get(32, 12) as f32 / 256.0,
            max_lod: get(44, 12) as f32 / 256.0,
            bias: fixed(field(&words, 64, 14), 14),
        })
    }

    /// Samples lane `l`, whose address registers start at `vaddr`.
    pub(super) fn sample(
        &mut self,
        w: &Wave,
        image: &Image,
        s: &Sampler,
        form: Form,
        (vaddr, channel): (Address<'_>, usize),
        l: usize,
    ) -> Result<[(u32, u32); 4]> {
        let refuse = |what: String| Report::new(Kind::BadInstruction, format!("the simulator has no {what}"));
        let word = |k: usize| w.v[vaddr.at(k)][l];
        let component = |k: usize, lane: usize| {
            let v = |n: usize| w.v[vaddr.at(n)][lane];
            if form.a16 { f16_to_f32(v(k / 2) >> (16 * (k % 2)) & 0xffff) } else { f32::from_bits(v(k)) }
        };
        let number = |k: usize| component(k, l);
        let n = image.coordinates();
        let (_, first) = form.registers(image);
        let mut at = 0;
        let mut next = |there: bool| {
            at += usize::from(there);
            at - usize::from(there)
        };
        let (offset, bias, reference) = (next(form.offset), next(form.bias), next(form.compare));
        let derivatives = next(false);
        let scale = |k: usize| if s.unnormalised { 1.0 } else { image.limit(k) as f32 };
        // The level of detail matters where there is a choice of filters.
        let mut raw = s.bias + if form.bias { number(bias) } else { 0.0 };
        let choice = s.magnify_linear != s.minify_linear || image.last_level > 0 || form.query;
        if form.zero {
            raw = 0.0;
        } else if form.level {
            raw += number(first + n);
        } else if choice {
            // Changes along the two directions of the screen: given, or the differences to the neighbours in the quad.
            let dims = image.dimensions;
            let change = |direction: usize, k: usize| {
                if form.derivatives {
                    return number(derivatives + direction * dims + k) * scale(k);
                }
                let other = l ^ (1 << direction);
                (component(first + k, other) - component(first + k, l)) * scale(k)
            };
            let length = |direction| (0..dims).map(|k| change(direction, k).powi(2)).sum::<f32>().sqrt();
            raw += length(0).max(length(1)).log2();
        }
        let least = if form.clamp { s.min_lod.max(number(first + n)) } else { s.min_lod };
        // NaN gives the most detail.
        let lod = if form.zero { 0.0 } else { raw.max(least).min(s.max_lod.max(least)) };
        if form.query {
            let level = lod.clamp(0.0, image.last_level as f32);
            return Ok([(level.to_bits(), 0), (raw.to_bits(), 0), (0, 0), (0, 0)]);
        }
        if image.last_level > 0 && lod >= 0.5 {
            return Err(refuse(format!("levels of images: level of detail {lod}")));
        }
        let filters = if lod > 0.0 { s.minify_linear } else { s.magnify_linear };
        let linear = form.gather || (filters && !image.format.is_integer());
        if form.gather && image.dimensions != 2 {
            return Err(refuse("gather from images that are not of two dimensions".to_owned()));
        }
        let mut axes = [(0i64, 0f32); 3];
        for (k, axis) in axes.iter_mut().enumerate().take(n) {
            *axis = if image.array && k == image.dimensions {
                let slice = number(first + k).round_ties_even() as i64;
                (slice.clamp(0, i64::from(image.limit(k)) - 1), 0.0)
            } else {
                let x = number(first + k) * scale(k);
                let shift = if form.offset { (word(offset) << (26 - 8 * k)) as i32 >> 26 } else { 0 };
                let start = if linear { x - 0.5 } else { x };
                (start.floor() as i64 + i64::from(shift), if linear { start - start.floor() } else { 0.0 })
            };
        }
        let texel = |this: &mut Self, corner: usize| {
            let texel = this.corner(w, image, s, &axes, corner)?;
            Ok(if form.compare {
                let one = s.passes(number(reference), f32::from_bits(texel[0].0));
                let u = if texel[0].1 != 0 { !0 } else { 0 };
                [(if one { 0x3f80_0000 } else { 0 }, u), (0, 0), (0, 0), (0x3f80_0000, 0)]
            } else {
                texel
            })
        };
        if form.gather {
            let mut out = [(0, 0); 4];
            // Counter-clockwise from the lower left.
            for (slot, corner) in out.iter_mut().zip([0b10, 0b11, 0b01, 0b00]) {
                *slot = texel(self, corner)?[channel];
            }
            return Ok(out);
        }
        if !linear {
            return texel(self, 0);
        }
        let (mut sum, mut undef) = ([0f32; 4], 0);
        let mut any = false;
        for corner in 0..1usize << image.dimensions {
            let weight: f32 = (0..image.dimensions)
                .map(|k| if corner >> k & 1 != 0 { axes[k].1 } else { 1.0 - axes[k].1 })
                .product();
            if weight == 0.0 {
                continue;
            }
            for (sum, (x, u)) in sum.iter_mut().zip(texel(self, corner)?) {
                let x = f32::from_bits(x);
                *sum = match s.reduce {
                    1 if any => sum.min(x),
                    2 if any => sum.max(x),
                    1 | 2 => x,
                    _ => *sum + weight * x,
                };
                undef |= u;
            }
            any = true;
        }
        let u = if undef != 0 { !0 } else { 0 };
        Ok(sum.map(|x| (x.to_bits(), u)))
    }

    /// A texel of the footprint; bit k of `corner` takes the second along coordinate k.
    fn corner(
        &mut self,
        w: &Wave,
        image: &Image,
        s: &Sampler,
        axes: &[Axis; 3],
        corner: usize,
    ) -> Result<[(u32, u32); 4]> {
        let (mut at, mut outside) = ([0; 3], false);
        for k in 0..image.coordinates() {
            let second = if k < image.dimensions { corner >> k & 1 } else { 0 };
            match s.wrap(k, axes[k].0.saturating_add(second as i64), image.limit(k)) {
                Some(i) => at[k] = i,
                None => outside = true,
            }
        }
        if !outside {
            return self.element(w, image, image.texel(at));
        }
        let border: [f32; 4] = match s.border {
            1 => [0.0, 0.0, 0.0, 1.0],
            2 => [1.0; 4],
            3 => {
                let message = "the simulator has no table of border colours";
                return Err(Report::new(Kind::BadInstruction, message));
            }
            _ => [0.0; 4],
        };
        Ok(border.map(|b| (if image.format.is_integer() { b as u32 } else { b.to_bits() }, 0)))
    }

    /// The address registers of a sampled image must be defined and there.
    pub(super) fn sample_address(
        &self,
        w: &Wave,
        image: &Image,
        form: Form,
        vaddr: Address<'_>,
    ) -> Result<()> {
        (0..form.registers(image).0).try_for_each(|k| self.image_register(w, vaddr.at(k)))
    }
}

/// Lanes of a wave come in quads.
const _: () = assert!(MAX_LANES.is_multiple_of(4));

#[cfg(test)]
mod tests {
    use super::*;
    use mir::isa::Opcode;

    #[test]
    fn opcodes_tell_the_address_registers() {
        let of = |name| Form::of(Opcode::by_name(name, mir::target::Generation::Gfx9).unwrap().info());
        let form = of("image_sample_c_b_cl_o").unwrap();
        assert!(form.compare && form.bias && form.clamp && form.offset && !form.level && !form.gather);
        assert!(of("image_gather4_lz").unwrap().zero && of("image_sample_cd").unwrap().derivatives);
        assert_eq!((of("image_gather4h"), of("image_load")), (None, None));
        assert!(fixed(0x3f80, 14) == -0.5 && fixed(0x180, 14) == 1.5);
    }
}
