//! How source operand fields name registers and constants: special registers by generation, inline constants.
//!
//! A 9-bit source field holds an SGPR (0 to 101 or 103), a special register, an inline constant (128 to 208 and 240 to 248), 255 for
//! a literal that follows, or 256 + n for VGPR n; scalar fields are the low 7 or 8 bits of the same space.
//!
//! Source: the ISA manuals, "Scalar ALU operands" and "Vector ALU operands".

use super::Generation;
use crate::isa::ValueType;
use crate::machine::PReg;

/// Source field value of a literal constant.
pub const LITERAL: u16 = 255;
/// Source field value of an SDWA extension dword (`src0` of VOP1, VOP2, VOPC).
pub const SDWA: u16 = 249;
/// Source field value of a DPP extension dword.
pub const DPP: u16 = 250;

/// Source field values of a dword of DPP in groups of eight lanes: inactive lanes are not read, or are.
pub const DPP8: [u16; 2] = [233, 234];

const FIRST_SPECIAL: u16 = PReg::FLAT_SCRATCH_LO.0;
const SPECIALS: usize = (PReg::POPS_EXITING_WAVE_ID.0 + 1 - FIRST_SPECIAL) as usize;

/// One line a register: (register, code on GFX6, 7, 8, 9, 10), −1 where absent.
#[rustfmt::skip]
const SPECIAL_CODES: &[(PReg, [i16; Generation::COUNT])] = &[
    (PReg::FLAT_SCRATCH_LO, [-1, 104, 102, 102, -1]),
    (PReg::FLAT_SCRATCH_HI, [-1, 105, 103, 103, -1]),
    (PReg::XNACK_MASK_LO, [-1, -1, 104, 104, -1]),
    (PReg::XNACK_MASK_HI, [-1, -1, 105, 105, -1]),
    (PReg::VCC_LO, [106, 106, 106, 106, 106]),
    (PReg::VCC_HI, [107, 107, 107, 107, 107]),
    (PReg::TBA_LO, [108, 108, 108, -1, -1]),
    (PReg::TBA_HI, [109, 109, 109, -1, -1]),
    (PReg::TMA_LO, [110, 110, 110, -1, -1]),
    (PReg::TMA_HI, [111, 111, 111, -1, -1]),
    (PReg::M0, [124, 124, 124, 124, 124]),
    (PReg::NULL, [-1, -1, -1, -1, 125]),
    (PReg::EXEC_LO, [126, 126, 126, 126, 126]),
    (PReg::EXEC_HI, [127, 127, 127, 127, 127]),
    (PReg::SHARED_BASE, [-1, -1, -1, 235, 235]),
    (PReg::SHARED_LIMIT, [-1, -1, -1, 236, 236]),
    (PReg::PRIVATE_BASE, [-1, -1, -1, 237, 237]),
    (PReg::PRIVATE_LIMIT, [-1, -1, -1, 238, 238]),
    (PReg::POPS_EXITING_WAVE_ID, [-1, -1, -1, 239, 239]),
    (PReg::VCCZ, [251, 251, 251, 251, 251]),
    (PReg::EXECZ, [252, 252, 252, 252, 252]),
    (PReg::SCC, [253, 253, 253, 253, 253]),
    (PReg::LDS_DIRECT, [254, 254, 254, 254, 254]),
];

/// Code of `ttmp0` and number of trap temporaries.
const TTMPS: [(i16, u16); Generation::COUNT] = [(112, 12), (112, 12), (112, 12), (108, 16), (108, 16)];

/// Number of plain SGPRs.
const SGPRS: [u16; Generation::COUNT] = [104, 104, 102, 102, 106];

static CODES: [[i16; SPECIALS]; Generation::COUNT] = {
    let mut codes = [[-1; SPECIALS]; Generation::COUNT];
    let mut g = 0;
    while g < Generation::COUNT {
        let mut i = 0;
        while i < SPECIAL_CODES.len() {
            codes[g][(SPECIAL_CODES[i].0.0 - FIRST_SPECIAL) as usize] = SPECIAL_CODES[i].1[g];
            i += 1;
        }
        let mut n = 0;
        while n < TTMPS[g].1 {
            codes[g][(PReg::ttmp(n).0 - FIRST_SPECIAL) as usize] = TTMPS[g].0 + n as i16;
            n += 1;
        }
        g += 1;
    }
    codes
};

const NO_REGISTER: u16 = u16::MAX;

static REGISTERS: [[u16; 256]; Generation::COUNT] = {
    let mut registers = [[NO_REGISTER; 256]; Generation::COUNT];
    let mut g = 0;
    while g < Generation::COUNT {
        let mut n = 0;
        while n < SGPRS[g] {
            registers[g][n as usize] = n;
            n += 1;
        }
        let mut i = 0;
        while i < SPECIALS {
            if CODES[g][i] >= 0 {
                registers[g][CODES[g][i] as usize] = FIRST_SPECIAL + i as u16;
            }
            i += 1;
        }
        g += 1;
    }
    registers
};

/// The source field value of `reg`: 0 to 127 for what can be written, up to 254 for read-only registers, 256 + n for VGPRs.
/// `None` where the generation lacks the register.
#[inline]
pub fn register_code(reg: PReg, generation: Generation) -> Option<u16> {
    let g = generation as usize;
    if let Some(n) = reg.vgpr_index() {
        return Some(256 + n);
    }
    if reg.0 < FIRST_SPECIAL {
        return (reg.0 < SGPRS[g]).then_some(reg.0);
    }
    let code = *CODES[g].get(usize::from(reg.0 - FIRST_SPECIAL))?;
    u16::try_from(code).ok()
}

/// The register that a source field value below 256 means.
#[inline]
pub fn register_of_code(code: u16, generation: Generation) -> Option<PReg> {
    let reg = *REGISTERS[generation as usize].get(usize::from(code))?;
    (reg != NO_REGISTER).then_some(PReg(reg))
}

/// Float inline constants 240 to 248 as f16, f32 and f64 patterns: ±0.5, ±1, ±2, ±4, 1/(2π).
const FLOATS: [(u16, u32, u64); 9] = [
    (0x3800, 0x3f00_0000, 0x3fe0_0000_0000_0000),
    (0xb800, 0xbf00_0000, 0xbfe0_0000_0000_0000),
    (0x3c00, 0x3f80_0000, 0x3ff0_0000_0000_0000),
    (0xbc00, 0xbf80_0000, 0xbff0_0000_0000_0000),
    (0x4000, 0x4000_0000, 0x4000_0000_0000_0000),
    (0xc000, 0xc000_0000, 0xc000_0000_0000_0000),
    (0x4400, 0x4080_0000, 0x4010_0000_0000_0000),
    (0xc400, 0xc080_0000, 0xc010_0000_0000_0000),
    (0x3118, 0x3e22_f983, 0x3fc4_5f30_6dc9_c882),
];

const FIRST_FLOAT: u16 = 240;

/// How many of [`FLOATS`] the generation has.
fn float_count(generation: Generation) -> usize {
    FLOATS.len() - usize::from(!generation.encoding_rules().has_inverse_2pi)
}

/// Width in bits of a constant of type `ty`, 0 where constants are not defined.
fn constant_bits(ty: ValueType) -> u32 {
    use ValueType as T;
    match ty {
        T::B16 | T::I16 | T::U16 | T::F16 => 16,
        T::B32 | T::I32 | T::U32 | T::F32 | T::V2I16 | T::V2F16 => 32,
        T::B64 | T::I64 | T::U64 | T::F64 => 64,
        T::Data => 0,
    }
}

/// Brings a constant operand into its one form: sign-extended from the width of `ty`; floats are the bit pattern, zero-extended.
pub fn canonical_constant(value: i64, ty: ValueType) -> i64 {
    use ValueType as T;
    match ty {
        T::F16 => i64::from(value as u16),
        T::F32 | T::V2F16 => i64::from(value as u32),
        T::B16 | T::I16 | T::U16 => i64::from(value as i16),
        T::B32 | T::I32 | T::U32 | T::V2I16 => i64::from(value as i32),
        T::B64 | T::I64 | T::U64 | T::F64 | T::Data => value,
    }
}

/// The inline constant that reads as `value` in an operand of type `ty`.
///
/// Integers −16 to 64 do in every type, as that integer's bits. Float patterns do in 16-bit float, and in 32- and 64-bit
/// operands of any type. A packed float operand reads a float constant in its low half and zero in the other. Integer operands of 16
/// bits, single and packed, read the pattern of the 32-bit float; as that is wider than a single one, it stands for itself.
pub fn inline_constant(value: i64, ty: ValueType, generation: Generation) -> Option<u16> {
    use ValueType as T;
    let signed = match constant_bits(ty) {
        // The pattern of a 32-bit float is none of a smaller integer.
        16 if ty != T::F16 && value > i64::from(u16::MAX) => i64::MAX,
        16 => i64::from(value as i16),
        32 => i64::from(value as i32),
        64 => value,
        _ => return None,
    };
    match signed {
        0..=64 => return Some(128 + signed as u16),
        -16..=-1 => return Some((192 - signed) as u16),
        _ => {}
    }
    let floats = &FLOATS[..float_count(generation)];
    let found = match ty {
        T::B16 | T::I16 | T::U16 => floats.iter().position(|f| i64::from(f.1) == value),
        T::V2I16 => floats.iter().position(|f| f.1 == value as u32),
        // Before there were 16-bit instructions, a half was the low half of a 32-bit constant.
        T::F16 if !generation.encoding_rules().has_halves => None,
        T::F16 => floats.iter().position(|f| f.0 == value as u16),
        T::V2F16 => floats.iter().position(|f| u32::from(f.0) == value as u32),
        T::Data => None,
        T::B32 | T::I32 | T::U32 | T::F32 => floats.iter().position(|f| f.1 == value as u32),
        T::B64 | T::I64 | T::U64 | T::F64 => floats.iter().position(|f| f.2 == value as u64),
    };
    found.map(|i| FIRST_FLOAT + i as u16)
}

/// What the inline constant `code` reads as in an operand of type `ty`, in canonical form; `None` where `code` is none.
pub fn inline_constant_value(code: u16, ty: ValueType, generation: Generation) -> Option<i64> {
    use ValueType as T;
    if constant_bits(ty) == 0 {
        return None;
    }
    match code {
        128..=192 => return Some(i64::from(code) - 128),
        193..=208 => return Some(canonical_constant(192 - i64::from(code), ty)),
        _ => {}
    }
    let floats = &FLOATS[..float_count(generation)];
    let &(half, single, double) = floats.get(usize::from(code.checked_sub(FIRST_FLOAT)?))?;
    Some(match ty {
        T::F16 if !generation.encoding_rules().has_halves => i64::from(single as u16),
        T::F16 | T::V2F16 => i64::from(half),
        // 16-bit integer operands read the low half of the f32 pattern; see `inline_constant`.
        T::B16 | T::I16 | T::U16 => i64::from(single),
        T::V2I16 | T::B32 | T::I32 | T::U32 | T::F32 => canonical_constant(i64::from(single), ty),
        T::B64 | T::I64 | T::U64 | T::F64 | T::Data => double as i64,
    })
}

/// The literal dword that reads as `value` in an operand of type `ty`: 64-bit integers are zero-extended from it, a double has
/// it as its high half. `None` where no literal does.
pub fn literal_of_constant(value: i64, ty: ValueType) -> Option<u32> {
    use ValueType as T;
    match ty {
        T::F16 | T::B16 | T::I16 | T::U16 => Some(u32::from(value as u16)),
        T::B32 | T::I32 | T::U32 | T::F32 | T::V2I16 | T::V2F16 => Some(value as u32),
        T::F64 => (value as u32 == 0).then_some((value as u64 >> 32) as u32),
        T::B64 | T::U64 | T::I64 => u32::try_from(value).ok(),
        T::Data => None,
    }
}

/// What the literal dword reads as in an operand of type `ty`, in canonical form.
pub fn constant_of_literal(literal: u32, ty: ValueType) -> i64 {
    match ty {
        ValueType::F64 => ((u64::from(literal)) << 32) as i64,
        ValueType::B64 | ValueType::U64 | ValueType::I64 | ValueType::Data => i64::from(literal),
        _ => canonical_constant(i64::from(literal), ty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_survive_their_code() {
        for generation in Generation::ALL {
            for n in 0..PReg::vgpr(0).0 {
                if let Some(code) = register_code(PReg(n), generation) {
                    assert_eq!(register_of_code(code, generation), Some(PReg(n)), "{generation:?}");
                }
            }
        }
        assert_eq!(register_code(PReg::ttmp(0), Generation::Gfx9), Some(108));
        assert_eq!(register_code(PReg::ttmp(0), Generation::Gfx8), Some(112));
        assert_eq!(register_code(PReg::sgpr(102), Generation::Gfx9), None);
        assert_eq!(register_code(PReg::FLAT_SCRATCH_LO, Generation::Gfx7), Some(104));
    }

    #[test]
    fn constants_survive_their_code() {
        use ValueType as T;
        for generation in [Generation::Gfx7, Generation::Gfx9] {
            for ty in [T::B32, T::I32, T::F32, T::F16, T::F64, T::I64, T::V2F16] {
                for code in 128..=248 {
                    let half = ty == T::F16 && generation < Generation::Gfx8 && code >= FIRST_FLOAT;
                    if let (Some(value), false) = (inline_constant_value(code, ty, generation), half) {
                        assert_eq!(inline_constant(value, ty, generation), Some(code), "{ty:?} {value:#x}");
                    }
                }
            }
        }
        assert_eq!(inline_constant(0x3e22_f983, T::F32, Generation::Gfx7), None);
        assert_eq!(inline_constant(-1, T::F16, Generation::Gfx9), Some(193));
        assert_eq!(inline_constant(0xffff_ffff, T::U32, Generation::Gfx9), Some(193));
        assert_eq!(inline_constant(0xffff_ffff, T::U64, Generation::Gfx9), None);
        assert_eq!(literal_of_constant(0x4059_0000_0000_0000, T::F64), Some(0x4059_0000));
    }
}
