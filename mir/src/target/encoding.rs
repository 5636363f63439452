//! What differs between generations in how operands are encoded and written, beyond the bit fields of layouts.
//!
//! Sources: ISA manuals, "Microcode Formats" and "Scalar memory"; LLVM's assembler for what concerns text.

use super::{Generation, Target};

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct EncodingRules {
    /// Bytes that one in the immediate offset of scalar memory stands for, in code and in text.
    pub smem_unit: i64,
    /// Scalar memory takes a literal dword for its offset.
    pub smem_literal: bool,
    /// Integer instructions can clamp.
    pub clamps_integers: bool,
    /// There are 16-bit operations, so a half is a half; else the low half of 32 bits.
    pub has_halves: bool,
    /// 1/(2π) is an inline constant.
    pub has_inverse_2pi: bool,
    /// `v_writelane_b32` can take its value from LDS (`src_lds_direct`).
    pub writelane_from_lds: bool,
    /// `ds_swizzle_b32` has the patterns FFT and ROTATE.
    pub swizzles_fft: bool,
    /// Number format 6 of buffers.
    pub number_format_6: &'static str,
    /// Comparisons with SDWA have the suffix `_sdwa` in LLVM's text.
    pub shows_sdwa_of_comparisons: bool,
    /// VOP3 and VOP3P take a literal.
    pub vop3_literals: bool,
    /// Scalar memory names the register of a missing offset (`null`) in the field for registers, where any register offset stands, too.
    pub smem_null_offset: bool,
    /// Code of the SGPR field of global and scratch instructions that means no register.
    pub no_saddr: u16,
    /// Typed buffers have one format number in place of data and number format.
    pub unified_formats: bool,
    /// Images name their dimension (`dim:`), and their address registers may be anywhere.
    pub image_dimensions: bool,
    /// Exports have a fifth position and primitives as targets.
    pub exports_primitives: bool,
    /// Where VCC is implied as a mask, the text may leave it out.
    pub implied_vcc_optional: bool,
    /// DPP can share a lane of a row or exchange lanes by an exclusive or, and reads inactive lanes (`fi`); it does not shift through the
    /// whole wave.
    pub dpp_row_share: bool,
}

const GFX6: EncodingRules = EncodingRules {
    smem_unit: 4,
    smem_literal: false,
    clamps_integers: false,
    has_halves: false,
    has_inverse_2pi: false,
    writelane_from_lds: true,
    swizzles_fft: false,
    number_format_6: "SNORM_OGL",
    shows_sdwa_of_comparisons: false,
    vop3_literals: false,
    smem_null_offset: false,
    no_saddr: 0x7f,
    unified_formats: false,
    image_dimensions: false,
    exports_primitives: false,
    implied_vcc_optional: false,
    dpp_row_share: false,
};

const GFX7: EncodingRules = EncodingRules { smem_literal: true, ..GFX6 };

const GFX8: EncodingRules = EncodingRules {
    smem_unit: 1,
    smem_literal: false,
    clamps_integers: true,
    has_halves: true,
    has_inverse_2pi: true,
    writelane_from_lds: false,
    number_format_6: "RESERVED_6",
    ..GFX7
};

const GFX9: EncodingRules = EncodingRules { swizzles_fft: true, shows_sdwa_of_comparisons: true, ..GFX8 };

const GFX10: EncodingRules = EncodingRules {
    vop3_literals: true,
    smem_null_offset: true,
    no_saddr: 0x7d,
    unified_formats: true,
    image_dimensions: true,
    exports_primitives: true,
    implied_vcc_optional: true,
    dpp_row_share: true,
    writelane_from_lds: true,
    ..GFX9
};

static RULES: [EncodingRules; Generation::COUNT] = [GFX6, GFX7, GFX8, GFX9, GFX10];

impl Generation {
    /// How the generation encodes and writes operands.
    #[inline]
    pub fn encoding_rules(self) -> &'static EncodingRules {
        &RULES[self as usize]
    }
}

impl Target {
    /// How the target encodes and writes operands.
    #[inline]
    pub fn encoding_rules(&self) -> &'static EncodingRules {
        self.generation().encoding_rules()
    }
}
