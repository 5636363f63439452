//! Dimensions of images, and how many registers an address has: where the instruction says the dimension, the number follows from it.
//!
//! Source: RDNA ISA manual, "MIMG" and "Image sample and gather: address VGPRs"; LLVM's assembler as witness.

use super::{ImageParts, OpcodeInfo};
use crate::ir::ImageDim;
use crate::machine::{ModFlags, Modifiers};
use crate::target::Target;

impl ImageDim {
    /// The dimension of a field's value, of which three bits count.
    pub const fn of_field(value: u8) -> Self {
        Self::ALL[(value & 7) as usize]
    }

    /// The name in assembly, behind `SQ_RSRC_IMG_`.
    pub const fn assembly_name(self) -> &'static str {
        match self {
            Self::D1 => "1D",
            Self::D2 => "2D",
            Self::D3 => "3D",
            Self::Cube => "CUBE",
            Self::D1Array => "1D_ARRAY",
            Self::D2Array => "2D_ARRAY",
            Self::D2Msaa => "2D_MSAA",
            Self::D2ArrayMsaa => "2D_MSAA_ARRAY",
        }
    }

    /// The dimension that has `name` in assembly, with or without `SQ_RSRC_IMG_`.
    pub fn by_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix("SQ_RSRC_IMG_").unwrap_or(name);
        Self::ALL.into_iter().find(|dim| dim.assembly_name() == name)
    }

    /// Whether a texel has several samples.
    pub const fn is_multisampled(self) -> bool {
        matches!(self, Self::D2Msaa | Self::D2ArrayMsaa)
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
    let coordinates = if has(ImageParts::SIZE_QUERY) { 0 } else { dim.coords() as u8 };
    let lod = ImageParts::LOD | ImageParts::LOD_CLAMP | ImageParts::MIP | ImageParts::SIZE_QUERY;
    let components = coordinates + u8::from(has(lod));
    let mut dwords = if a16 { components.div_ceil(2) } else { components };
    for extra in [ImageParts::OFFSET, ImageParts::BIAS, ImageParts::COMPARE] {
        dwords += u8::from(has(extra));
    }
    if has(ImageParts::DERIVATIVES) {
        let gradients = dim.gradients() as u8;
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
