//! The form of buffer and image intrinsics in legal IR.
//!
//! LLVM's have data of any type and their arguments in an order that depends on the name. Legalisation turns data into dwords as
//! the instruction has them and puts arguments into one order, so that later passes find resources and addresses without
//! asking for the name:
//!
//! | | arguments |
//! |---|---|
//! | buffer | resource (4 dwords), index or undef, offset, soffset, [`Control`], data.. |
//! | buffer load into LDS | the same with data = LDS pointer, size in bytes, immediate offset |
//! | image | resource (8 dwords), sampler (4 dwords) or undef, address dwords, [`Control`], dmask, data dwords |
//! | `s.buffer.load` | resource, offset, cache bits |
//!
//! Results and data: i8 or i16 for one byte or half, i32, or a vector of i32. 16-bit channels (D16) are packed two to a dword or
//! one in each, as the target has them. A texture-fail result has its status as last dword.

use crate::ir::Intrinsic;

/// Positions of arguments of legal buffer and image intrinsics.
pub mod position {
    /// Resource of either.
    pub const RESOURCE: usize = 0;
    /// Index of a buffer.
    pub const INDEX: usize = 1;
    /// Byte offset of a buffer.
    pub const OFFSET: usize = 2;
    /// Scalar offset of a buffer.
    pub const SOFFSET: usize = 3;
    /// Control bits of a buffer.
    pub const BUFFER_CONTROL: usize = 4;
    /// First data of a buffer.
    pub const BUFFER_DATA: usize = 5;
    /// Sampler of an image.
    pub const SAMPLER: usize = 1;
    /// Address of an image.
    pub const ADDRESS: usize = 2;
    /// Control bits of an image.
    pub const IMAGE_CONTROL: usize = 3;
    /// Channels of an image.
    pub const DMASK: usize = 4;
    /// Data of an image.
    pub const IMAGE_DATA: usize = 5;
}

bitflags::bitflags! {
    /// How an access is made, an i32 constant in legal IR: bits 0 and 1 as in LLVM's cache argument, ours above; bits 8 to 15 are the
    /// format of typed buffers, 16 to 19 the number of channels.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Control: u32 {
        /// Globally coherent.
        const GLC = 1 << 0;
        /// Streaming.
        const SLC = 1 << 1;
        /// Texture fail: one more dword of result.
        const TFE = 1 << 2;
        /// Level-of-detail warning.
        const LWE = 1 << 3;
        /// 16-bit channels.
        const D16 = 1 << 4;
        /// 16-bit addresses.
        const A16 = 1 << 5;
        /// Unnormalised coordinates.
        const UNORM = 1 << 6;
        /// Volatile.
        const VOLATILE = 1 << 7;
        /// Bits that hold numbers.
        const NUMBERS = 0xf_ff00;
        /// Device-coherent: passes the L1 cache by (GFX10).
        const DLC = 1 << 20;
        /// 16-bit derivatives, apart from [`Self::A16`] where instructions tell them apart (GFX10).
        const G16 = 1 << 21;
    }
}

impl Control {
    /// With the number of channels and the format.
    pub fn with_numbers(self, channels: u32, format: u32) -> Self {
        Self::from_bits_retain(self.bits() | (channels & 15) << 16 | (format & 0xff) << 8)
    }

    /// Number of channels.
    pub fn channels(self) -> u32 {
        self.bits() >> 16 & 15
    }

    /// Format of a typed buffer access.
    pub fn format(self) -> u32 {
        self.bits() >> 8 & 0xff
    }

    /// LLVM's cache argument: what GFX6 to GFX10 know of it. Bit 31 says volatile.
    pub fn from_cache(bits: u64) -> Self {
        let mut control = Self::from_bits_truncate(bits as u32 & 3);
        control.set(Self::DLC, bits & 4 != 0);
        control.set(Self::VOLATILE, bits & 1 << 31 != 0);
        control
    }
}

/// Arguments of a legal intrinsic that must be the same in all lanes, where another value in each is possible: the
/// instruction takes them from SGPRs.
pub fn scalar_arguments(intrinsic: Intrinsic) -> &'static [usize] {
    match intrinsic {
        Intrinsic::Buffer(_) => &[position::RESOURCE, position::SOFFSET],
        Intrinsic::Image(image) if image.desc().has_sampler() => &[position::RESOURCE, position::SAMPLER],
        Intrinsic::Image(_) | Intrinsic::SBufferLoad | Intrinsic::ImageBvhIntersectRay => {
            &[position::RESOURCE]
        }
        _ => &[],
    }
}
