//! What a runtime passes for OpenCL's images: dwords that say where texels are and how to read them.
//!
//! An image is 12 dwords: the resource of eight as hardware reads it (of buffers, four), then the channels' type and order as HSA numbers them, and the width in
//! texels. Layouts are linear: rows follow each other without gaps (on GFX10 each starts at a multiple of 256 bytes), and so do planes and slices. Samplers are four dwords, [`mir::abi::sampler`] has them.
//!
//! Sources: Vega ISA, "Image Resource Descriptor" and "Buffer Resource Descriptor"; HSA runtime, `hsa_ext_image.h`; ROCr's image managers (dwords 8 to 10; GFX10's resources).

mod text;

pub use text::{EXAMPLE, sampler_flags};

use crate::exec::memory::format::Format;
use crate::memory::{BufferId, Memory};
use mir::target::{Generation, ImageRules};

/// Bits that every resource of GFX10 has set, of images in dword 2, of buffers in dword 3.
const RESOURCE_LEVEL: u32 = 1 << 31;
const RESOURCE_LEVEL_OF_BUFFER: u32 = 1 << 24;

/// OpenCL's types of images.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// `image1d_t`.
    One,
    /// `image1d_buffer_t`.
    Buffer,
    /// `image1d_array_t`.
    OneArray,
    /// `image2d_t`.
    Two,
    /// `image2d_array_t`.
    TwoArray,
    /// `image3d_t`.
    Three,
}

/// Channels of a texel in memory, the first lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "OpenCL's names")]
pub enum Order {
    A,
    R,
    Rg,
    Ra,
    Rgba,
    Bgra,
    Argb,
    Intensity,
    Luminance,
}

/// Type of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "OpenCL's names")]
pub enum Channel {
    SnormInt8,
    SnormInt16,
    UnormInt8,
    UnormInt16,
    SignedInt8,
    SignedInt16,
    SignedInt32,
    UnsignedInt8,
    UnsignedInt16,
    UnsignedInt32,
    HalfFloat,
    Float,
}

impl Order {
    /// Number of channels, what each of red, green, blue and alpha is read from (0 and 1 are constants, 4 is the first channel), HSA's number.
    fn facts(self) -> (u32, [u32; 4], u32) {
        match self {
            Self::A => (1, [0, 0, 0, 4], 0),
            Self::R => (1, [4, 0, 0, 1], 1),
            Self::Rg => (2, [4, 5, 0, 1], 3),
            Self::Ra => (2, [4, 0, 0, 5], 5),
            Self::Rgba => (4, [4, 5, 6, 7], 8),
            Self::Bgra => (4, [6, 5, 4, 7], 9),
            Self::Argb => (4, [5, 6, 7, 4], 10),
            Self::Intensity => (1, [4, 4, 4, 4], 16),
            Self::Luminance => (1, [4, 4, 4, 1], 17),
        }
    }
}

impl Channel {
    /// Bytes, the number format, HSA's number.
    fn facts(self) -> (u32, u32, u32) {
        match self {
            Self::SnormInt8 => (1, 1, 0),
            Self::SnormInt16 => (2, 1, 1),
            Self::UnormInt8 => (1, 0, 2),
            Self::UnormInt16 => (2, 0, 3),
            Self::SignedInt8 => (1, 5, 8),
            Self::SignedInt16 => (2, 5, 9),
            Self::SignedInt32 => (4, 5, 10),
            Self::UnsignedInt8 => (1, 4, 11),
            Self::UnsignedInt16 => (2, 4, 12),
            Self::UnsignedInt32 => (4, 4, 13),
            Self::HalfFloat => (2, 7, 14),
            Self::Float => (4, 7, 15),
        }
    }
}

/// An image in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Image {
    /// Address of the first texel, a multiple of 256.
    pub address: u64,
    /// Type.
    pub shape: Shape,
    /// Order of channels.
    pub order: Order,
    /// Type of channels.
    pub channel: Channel,
    /// Texels in a row, rows, planes of a volume or slices of an array: each at least 1 and at most 16384 (planes and slices 8192; rows of buffers any).
    pub size: [u32; 3],
}

/// An image of a run.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// The image, where it is.
    pub image: Image,
    /// What its layout is for.
    pub generation: Generation,
    /// Its texels.
    pub texels: BufferId,
    /// Its dwords, whose address a kernel takes.
    pub words: BufferId,
}

impl Placed {
    /// The texels of `memory`'s bytes (or undefined bits), without gaps.
    pub fn packed(&self, memory: &[u8]) -> Vec<u8> {
        self.image.texels_of(memory, self.generation)
    }
}

/// Adds the dwords of the sampler with `flags` (as OpenCL C's constants have them) to `memory`; a kernel takes their address.
pub fn add_sampler(memory: &mut Memory, name: &str, flags: u32) -> BufferId {
    memory.add_buffer(
        name,
        mir::abi::sampler::words(flags).iter().flat_map(|word| word.to_le_bytes()).collect(),
    )
}

impl Image {
    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> u32 {
        self.order.facts().0 * self.channel.facts().0
    }

    /// Bytes of all texels.
    pub fn bytes(&self) -> usize {
        self.size.iter().map(|&n| n as usize).product::<usize>() * self.texel_bytes() as usize
    }

    /// Texels from row to row.
    fn pitch(&self, generation: Generation) -> u32 {
        if generation.limits().images.pitch_bits != 0 || self.shape == Shape::Buffer {
            return self.size[0];
        }
        self.size[0].next_multiple_of(ImageRules::ROW_BYTES / self.texel_bytes())
    }

    /// Memory with `texels` in it, which follow each other without gaps; texels that are missing are zero.
    pub fn memory_of(&self, texels: &[u8], generation: Generation) -> Vec<u8> {
        let [row, all] = self.row_bytes(generation);
        let rows = self.size[1] as usize * self.size[2] as usize;
        let mut out = vec![0; all * rows];
        for (place, row) in out.chunks_mut(all.max(1)).zip(texels.chunks(row.max(1))) {
            place[..row.len()].copy_from_slice(row);
        }
        out
    }

    /// The texels that are in `memory`, without gaps.
    pub fn texels_of(&self, memory: &[u8], generation: Generation) -> Vec<u8> {
        let [row, all] = self.row_bytes(generation);
        memory.chunks(all.max(1)).flat_map(|place| &place[..row.min(place.len())]).copied().collect()
    }

    /// Bytes of a row's texels, and from row to row.
    fn row_bytes(&self, generation: Generation) -> [usize; 2] {
        [self.size[0], self.pitch(generation)].map(|texels| (texels * self.texel_bytes()) as usize)
    }

    /// Bytes of the memory that holds it: of all texels, and of the gaps between rows. Any size may be asked for.
    pub fn memory_bytes(&self, generation: Generation) -> u64 {
        let row = u64::from(self.size[0]) * u64::from(self.texel_bytes());
        let has_gaps = self.shape != Shape::Buffer && generation.limits().images.pitch_bits == 0;
        let place = if has_gaps { row.next_multiple_of(ImageRules::ROW_BYTES.into()) } else { row };
        place * u64::from(self.size[1]) * u64::from(self.size[2])
    }

    /// Whether `most` bytes are enough for it, and a resource can tell of so many.
    ///
    /// # Errors
    /// They are not.
    pub fn check_bytes(&self, generation: Generation, most: u64) -> Result<(), String> {
        // The range of a buffer is 32 bits.
        let limit = if self.shape == Shape::Buffer { most.min(u32::MAX.into()) } else { most };
        match self.memory_bytes(generation) {
            bytes if bytes > limit => Err(format!("{bytes} bytes are more than the {limit} that are left")),
            _ => Ok(()),
        }
    }

    /// Adds `texels` (without gaps; what is missing is zero) and the dwords that describe the image to `memory`. `name` is for messages.
    pub fn place(self, memory: &mut Memory, name: &str, texels: &[u8], generation: Generation) -> Placed {
        let texels = memory.add_buffer(name, self.memory_of(texels, generation));
        let image = Self { address: texels.address(), ..self };
        let words = image.dwords(generation).iter().flat_map(|word| word.to_le_bytes()).collect();
        Placed {
            image,
            generation,
            texels,
            words: memory.add_buffer(&format!("description of {name}"), words),
        }
    }

    /// The dwords for processors of `generation`.
    pub fn dwords(&self, generation: Generation) -> [u32; 12] {
        let (count, select, order) = self.order.facts();
        let (bytes, number, channel) = self.channel.facts();
        let data: u8 = match (bytes, count) {
            (1, 1) => 1,
            (1, 2) => 3,
            (1, _) => 10,
            (2, 1) => 2,
            (2, 2) => 5,
            (2, _) => 12,
            (_, 1) => 4,
            (_, 2) => 11,
            _ => 14,
        };
        let unified = generation.encoding_rules().unified_formats;
        let format = Format { data, number: number as u8 }.number_of_unified();
        let select = (0..4).fold(0, |all, k| all | select[k] << (3 * k));
        let mut out = [0; 12];
        [out[8], out[9], out[10]] = [channel, order, self.size[0]];
        if self.shape == Shape::Buffer {
            let stride = self.texel_bytes();
            out[0] = self.address as u32;
            out[1] = (self.address >> 32) as u32 & 0xffff | stride << 16;
            // Bytes on every generation, as ROCr writes; where the hardware counts records (`mir::target::Records`), that is more than there are.
            out[2] = self.size[0] * stride;
            out[3] = select
                | if unified {
                    format << 12 | RESOURCE_LEVEL_OF_BUFFER
                } else {
                    number << 12 | u32::from(data) << 15
                };
            return out;
        }
        let rules = generation.limits().images;
        let kind = match self.shape {
            Shape::One | Shape::Buffer => 8,
            Shape::Two => 9,
            Shape::Three => 10,
            Shape::OneArray => 12,
            Shape::TwoArray => 13,
        };
        let [width, height, depth] = self.size.map(|n| n.saturating_sub(1));
        let base = self.address >> 8;
        out[0] = base as u32;
        out[1] = (base >> 32) as u32 & 0xff;
        out[3] = select | u32::from(rules.linear) << 20 | kind << 28;
        if unified {
            // The width lies across two dwords. The depth of images that have neither planes nor slices is a pitch on some processors, where not 0.
            out[1] |= format << 20 | width << 30;
            out[2] = width >> 2 & 0xfff | (height & 0x3fff) << 14 | RESOURCE_LEVEL;
            out[4] = depth & 0x1fff;
            return out;
        }
        out[1] |= u32::from(data) << 20 | number << 26;
        out[2] = width & 0x3fff | (height & 0x3fff) << 14;
        out[4] = depth & 0x1fff | (width & ((1 << rules.pitch_bits) - 1)) << 13;
        if matches!(self.shape, Shape::OneArray | Shape::TwoArray) {
            // The last slice; GFX9 has it in the depth alone.
            out[5] = depth << 13;
        }
        out
    }
}
