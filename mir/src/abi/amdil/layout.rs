//! What the runtime puts into constant buffers 0 and 1 for a kernel: sizes and offsets of the dispatch, arguments, images; and how
//! addresses are made of them.
//!
//! Buffer 0 has fixed places ([`RESERVED`]), buffer 1 the arguments ([`Slot`]), each at a multiple of sixteen bytes. Where the
//! specification and its table differ: the formulas of addresses use `cb0[3].z` and `cb0[4].z` as masks, which the table has as 0; what
//! is here is the formula, and the masks are the runtime's to choose.

use super::{ConstantPlace, ValueType};

/// Constant buffer of what is the same for all kernels.
pub const RESERVED_BUFFER: u32 = 0;

/// Constant buffer of a kernel's arguments.
pub const ARGUMENT_BUFFER: u32 = 1;

/// Bytes of a slot: a vector of four dwords.
pub const SLOT_BYTES: u32 = 16;

/// Bytes of an image's description.
pub const IMAGE_BYTES: u32 = 32;

/// Number of the raw view of memory.
pub const RAW_UAV: u32 = 1;

/// Number of the view through which bytes and halves are written; it is the same memory.
pub const ARENA_UAV: u32 = 0;

/// What `;uavid` says where there is only the arena, because eight images are written.
pub const ONLY_ARENA: u32 = 8;

/// Images that are written have views from here on, or from [`RAW_UAV`] on where there are eight.
pub const FIRST_IMAGE_UAV: u32 = 2;

/// Bytes at the start of the arena for scratch that a kernel without a write of its own writes.
pub const RESERVED_PRIVATE_BYTES: u32 = 4;

/// Number of the view of the written image `index` of `count`.
pub fn image_uav(index: u32, count: u32) -> u32 {
    index + if count > 7 { RAW_UAV } else { FIRST_IMAGE_UAV }
}

/// A fixed place of buffer 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// What is there.
    pub name: &'static str,
    /// Byte offset.
    pub offset: u32,
    /// Dwords.
    pub dwords: u32,
}

/// The fixed places.
#[rustfmt::skip]
pub const RESERVED: &[Reserved] = &[
    Reserved { name: "global size",                   offset: 0,   dwords: 3 },
    Reserved { name: "dimensions",                    offset: 12,  dwords: 1 },
    Reserved { name: "local size",                    offset: 16,  dwords: 3 },
    Reserved { name: "groups",                        offset: 32,  dwords: 3 },
    Reserved { name: "private ring offset",           offset: 48,  dwords: 1 },
    Reserved { name: "private bytes of a work-item",  offset: 52,  dwords: 1 },
    Reserved { name: "local ring offset",             offset: 64,  dwords: 1 },
    Reserved { name: "local bytes of a work-group",   offset: 68,  dwords: 1 },
    Reserved { name: "math tables",                   offset: 76,  dwords: 1 },
    Reserved { name: "0, 0.5, 1 and 2 as binary32",   offset: 80,  dwords: 4 },
    Reserved { name: "global offset",                 offset: 96,  dwords: 3 },
    Reserved { name: "flat global offset",            offset: 108, dwords: 1 },
    Reserved { name: "group offset",                  offset: 112, dwords: 3 },
    Reserved { name: "flat group offset",             offset: 124, dwords: 1 },
    Reserved { name: "data segment offset",           offset: 128, dwords: 1 },
    Reserved { name: "printf buffer offset",          offset: 132, dwords: 1 },
    Reserved { name: "printf buffer bytes",           offset: 136, dwords: 1 },
];

/// Dwords of buffer 0 that have a meaning.
pub const RESERVED_DWORDS: usize = 35;

/// What buffer 0 is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Work-items in each dimension.
    pub global: [u32; 3],
    /// Dimensions; 0 for a single work-item (`clEnqueueTask`).
    pub dimensions: u32,
    /// Work-items of a group in each dimension.
    pub local: [u32; 3],
    /// Where the ring for emulated scratch is, and the bytes of each work-item.
    pub private_ring: [u32; 2],
    /// Where the ring for emulated LDS is, and the bytes of each work-group.
    pub local_ring: [u32; 2],
    /// Where the tables of the math library are.
    pub math_tables: u32,
    /// First work-item in each dimension.
    pub global_offset: [u32; 3],
    /// First work-group in each dimension.
    pub group_offset: [u32; 3],
    /// Where the data segment is.
    pub data_segment: u32,
    /// Where the buffer of `printf` is, and its bytes.
    pub printf: [u32; 2],
}

impl Launch {
    /// One work-item.
    pub fn task() -> Self {
        Self { global: [1; 3], local: [1; 3], ..Self::default() }
    }

    /// The dwords of buffer 0.
    pub fn dwords(&self) -> [u32; RESERVED_DWORDS] {
        let mut out = [0; RESERVED_DWORDS];
        let mut put = |at: usize, values: &[u32]| out[at..at + values.len()].copy_from_slice(values);
        let groups: [u32; 3] =
            std::array::from_fn(|i| self.global[i].checked_div(self.local[i]).unwrap_or(0));
        let flat = |of: [u32; 3]| of.iter().fold(1u32, |product, part| product.wrapping_mul(*part));
        put(0, &self.global);
        put(3, &[self.dimensions]);
        put(4, &self.local);
        put(8, &groups);
        put(12, &self.private_ring);
        put(16, &self.local_ring);
        put(19, &[self.math_tables]);
        put(20, &[0.0f32, 0.5, 1.0, 2.0].map(f32::to_bits));
        put(24, &self.global_offset);
        put(27, &[flat(self.global_offset)]);
        put(28, &self.group_offset);
        put(31, &[flat(self.group_offset)]);
        put(32, &[self.data_segment]);
        put(33, &self.printf);
        out
    }
}

/// The address of byte `offset` of emulated scratch or LDS: of work-item or work-group `index`, in a ring of `[offset, bytes of each]`.
pub fn ring_address(index: u32, mask: u32, ring: [u32; 2], offset: u32) -> u32 {
    (index & mask).wrapping_mul(ring[1]).wrapping_add(ring[0]).wrapping_add(offset)
}

/// Where LDS for pointer arguments of `sizes` begins: behind the `static_bytes` that the compiler has reported, one behind the other at
/// multiples of sixteen. `None` where it is more than 32 bits can say.
pub fn local_offsets(static_bytes: u32, sizes: &[u32]) -> Option<Vec<u32>> {
    let mut end = static_bytes;
    sizes
        .iter()
        .map(|size| {
            let at = end.checked_next_multiple_of(SLOT_BYTES)?;
            end = at.checked_add(*size)?;
            Some(at)
        })
        .collect()
}

/// Size of an element in buffer 1. Truth values take a dword.
pub fn element_bytes(ty: ValueType) -> u32 {
    match ty {
        ValueType::I8 | ValueType::Struct | ValueType::Union => 1,
        ValueType::I16 => 2,
        ValueType::I64 | ValueType::Double => 8,
        _ => 4,
    }
}

/// Bytes in buffer 1 of an argument of `count` elements: whole slots. Bytes and halves stand four to a slot, others as many as fit; a
/// structure or union has `count` bytes.
pub fn argument_bytes(ty: ValueType, count: u32) -> u32 {
    let slots = match (ty, count) {
        (ValueType::I8 | ValueType::I16, count) => count.div_ceil(4),
        (ty, 3) if !matches!(ty, ValueType::Struct | ValueType::Union) => {
            (4 * element_bytes(ty)).div_ceil(SLOT_BYTES)
        }
        (ty, count) => count.saturating_mul(element_bytes(ty)).div_ceil(SLOT_BYTES),
    };
    slots.max(1).saturating_mul(SLOT_BYTES)
}

/// Byte offset in its argument of element `index`.
pub fn element_offset(ty: ValueType, index: u32) -> u32 {
    match ty {
        ValueType::I8 | ValueType::I16 => index / 4 * SLOT_BYTES + index % 4 * element_bytes(ty),
        _ => index * element_bytes(ty),
    }
}

/// Hands out places of buffer 1, one argument after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slots {
    end: u32,
}

impl Slots {
    /// The place of an argument that takes `bytes`.
    pub fn take(&mut self, bytes: u32) -> ConstantPlace {
        let place = ConstantPlace { buffer: ARGUMENT_BUFFER, offset: self.end };
        self.end =
            self.end.saturating_add(bytes.max(1)).checked_next_multiple_of(SLOT_BYTES).unwrap_or(u32::MAX);
        place
    }
}

/// Generations whose runtimes describe images in their own ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageForm {
    /// HD 4000.
    Hd7xx,
    /// HD 5000 and later.
    Hd8xx,
}

/// An image as a kernel's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageArgument {
    /// Width, height and depth in pixels; a depth of 1 for two dimensions.
    pub size: [u32; 3],
    /// Type of the channels.
    pub data_type: u32,
    /// Order of the channels.
    pub channel_order: u32,
    /// Where the image is in memory (HD 4000 alone).
    pub offset: u32,
    /// Bytes from row to row and from slice to slice (HD 4000 alone).
    pub pitches: [u32; 2],
}

impl ImageArgument {
    /// The eight dwords of its two slots.
    pub fn dwords(&self, form: ImageForm) -> [u32; IMAGE_BYTES as usize / 4] {
        let [width, height, depth] = self.size;
        match form {
            ImageForm::Hd7xx => {
                let [row, slice] = self.pitches;
                [width, height, depth, self.offset, self.data_type, self.channel_order, row, slice]
            }
            ImageForm::Hd8xx => {
                let [w, h, d] = self.size.map(|size| (1.0 / size as f32).to_bits());
                [width, height, depth, self.data_type, w, h, d, self.channel_order]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_places_do_not_overlap() {
        let mut end = 0;
        for place in RESERVED {
            assert!(place.offset >= end, "{}", place.name);
            end = place.offset + 4 * place.dwords;
        }
        assert_eq!(end as usize, 4 * RESERVED_DWORDS);
    }

    #[test]
    fn buffer_0_describes_the_launch() {
        let launch = Launch {
            global: [256, 8, 2],
            dimensions: 3,
            local: [64, 4, 1],
            private_ring: [0x1000, 32],
            global_offset: [2, 3, 4],
            printf: [0x8000, 0x100],
            ..Launch::default()
        };
        let dwords = launch.dwords();
        assert_eq!(dwords[..12], [256, 8, 2, 3, 64, 4, 1, 0, 4, 2, 2, 0]);
        assert_eq!((dwords[12], dwords[13], dwords[20], dwords[22]), (0x1000, 32, 0, 0x3f80_0000));
        assert_eq!(dwords[24..28], [2, 3, 4, 24]);
        assert_eq!(dwords[32..], [0, 0x8000, 0x100]);
        assert_eq!(Launch::task().dwords()[..12], [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0]);
        assert_eq!(ring_address(5, 3, [0x1000, 32], 8), 0x1000 + 32 + 8);
        assert_eq!(local_offsets(20, &[8, 4]), Some(vec![32, 48]));
        assert_eq!(local_offsets(u32::MAX, &[8]), None);
    }

    #[test]
    fn arguments_take_whole_slots() {
        for (ty, count, bytes) in [
            (ValueType::I1, 1, 16),
            (ValueType::I8, 1, 16),
            (ValueType::I8, 4, 16),
            (ValueType::I8, 8, 32),
            (ValueType::I16, 16, 64),
            (ValueType::Float, 3, 16),
            (ValueType::Float, 8, 32),
            (ValueType::Double, 3, 32),
            (ValueType::Double, 8, 64),
            (ValueType::Struct, 36, 48),
            (ValueType::Union, 0, 16),
        ] {
            assert_eq!(argument_bytes(ty, count), bytes, "{ty:?} {count}");
        }
        assert_eq!((element_offset(ValueType::I8, 5), element_offset(ValueType::I16, 3)), (17, 6));
        assert_eq!(element_offset(ValueType::Double, 3), 24);
        let mut slots = Slots::default();
        let places = [4, 20, 0, 1].map(|bytes| slots.take(bytes).offset);
        assert_eq!(places, [0, 16, 48, 64]);
    }

    #[test]
    fn images_have_two_slots() {
        let image =
            ImageArgument { size: [4, 2, 1], data_type: 7, channel_order: 9, offset: 64, pitches: [16, 32] };
        assert_eq!(image.dwords(ImageForm::Hd7xx), [4, 2, 1, 64, 7, 9, 16, 32]);
        let one = 1f32.to_bits();
        assert_eq!(image.dwords(ImageForm::Hd8xx), [4, 2, 1, 7, 0.25f32.to_bits(), 0.5f32.to_bits(), one, 9]);
        assert_eq!((image_uav(0, 7), image_uav(0, 8), image_uav(6, 7)), (2, 1, 8));
    }
}
