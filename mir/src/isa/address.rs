//! Dimensions of images, and how many registers an address has: where the instruction says the dimension, the number follows from it.
//!
//! Source: RDNA ISA manual, "MIMG" and "Image sample and gather: address VGPRs"; LLVM's assembler as witness.

use super::{ImageParts, OpcodeInfo};
use crate::machine::{ModFlags, Modifiers};
use crate::target::Target;

/// Dimension of an image, as the field `dim` of GFX10 has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "the ISA manuals' own names")]
pub enum ImageDim {
    D1,
    D2,
    D3,
    Cube,
    D1Array,
    D2Array,
    D2Msaa,
    D2MsaaArray,
}

impl ImageDim {
    /// All of them, by value of the field.
    pub const ALL: [Self; 8] = [
        Self::D1,
        Self::D2,
        Self::D3,
        Self::Cube,
        Self::D1Array,
        Self::D2Array,
        Self::D2Msaa,
        Self::D2MsaaArray,
    ];

    /// The dimension of a field's value, of which three bits count.
    pub const fn of_field(value: u8) -> Self {
        Self::ALL[(value & 7) as usize]
    }

    /// The name in assembly, behind `SQ_RSRC_IMG_`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::D1 => "1D",
            Self::D2 => "2D",
            Self::D3 => "3D",
            Self::Cube => "CUBE",
            Self::D1Array => "1D_ARRAY",
            Self::D2Array => "2D_ARRAY",
            Self::D2Msaa => "2D_MSAA",
            Self::D2MsaaArray => "2D_MSAA_ARRAY",
        }
    }

    /// The dimension that has `name` in assembly, with or without `SQ_RSRC_IMG_`.
    pub fn by_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix("SQ_RSRC_IMG_").unwrap_or(name);
        Self::ALL.into_iter().find(|dim| dim.name() == name)
    }

    /// Whether a texel has several samples.
    pub const fn is_multisampled(self) -> bool {
        matches!(self, Self::D2Msaa | Self::D2MsaaArray)
    }

    /// Coordinates of a texel: slice, face and sample included.
    const fn coordinates(self) -> u8 {
        match self {
            Self::D1 => 1,
            Self::D2 | Self::D1Array => 2,
            Self::D3 | Self::Cube | Self::D2Array | Self::D2Msaa => 3,
            Self::D2MsaaArray => 4,
        }
    }

    /// Derivatives by both directions of the screen.
    const fn gradients(self) -> u8 {
        match self {
            Self::D1 | Self::D1Array => 2,
            Self::D3 => 6,
            _ => 4,
        }
    }
}

/// Registers of the address of an image instruction with modifiers `mods`, which say its dimension.
pub fn image_address_dwords(info: &OpcodeInfo, mods: &Modifiers) -> u8 {
    let has = |parts: ImageParts| info.image.intersects(parts);
    let a16 = mods.flags.contains(ModFlags::A16);
    if has(ImageParts::RAY) {
        // Node, extent, and origin, direction and its inverse, the last two in 16 bits or 32.
        return info.least_address + if a16 { 0 } else { 3 };
    }
    let dim = ImageDim::of_field(mods.dim);
    let coordinates = if has(ImageParts::SIZE_QUERY) { 0 } else { dim.coordinates() };
    let lod = ImageParts::LOD | ImageParts::LOD_CLAMP | ImageParts::MIP | ImageParts::SIZE_QUERY;
    let components = coordinates + u8::from(has(lod));
    let mut dwords = if a16 { components.div_ceil(2) } else { components };
    for extra in [ImageParts::OFFSET, ImageParts::BIAS, ImageParts::COMPARE] {
        dwords += u8::from(has(extra));
    }
    if has(ImageParts::DERIVATIVES) {
        let gradients = dim.gradients();
        // Those of each direction begin in a register of their own.
        dwords += if has(ImageParts::GRADIENTS_16) { (gradients / 2).next_multiple_of(2) } else { gradients };
    }
    dwords
}

impl Target {
    /// The most address registers that an image instruction can name one by one; 0 where they must follow each other. More than five in
    /// front of GFX10.3 can be encoded, but are for nobody to use (LLVM's limit of code generation).
    pub fn image_address_registers(&self) -> usize {
        if self.encoding_rules().image_dimensions { 13 } else { 0 }
    }
}
