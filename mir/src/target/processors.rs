//! Processors.

use super::{Features, Generation};

/// One processor.
#[derive(Clone, Copy, Debug)]
pub struct Processor {
    /// `gfxNNN`.
    pub name: &'static str,
    /// Product code names accepted by `-mcpu`.
    pub aliases: &'static [&'static str],
    /// Generation.
    pub generation: Generation,
    /// `EF_AMDGPU_MACH` value.
    pub elf_mach: u32,
    /// `EF_AMDGPU_GENERIC_VERSION` of a name that stands for several processors (code object V6 and later); 0 for others.
    pub generic_version: u8,
    /// Abilities, defaults included.
    pub features: Features,
    /// Whether it is part of an APU.
    pub apu: bool,
}

const fn gfx6() -> Features {
    Features::ADDR64
        .union(Features::MAD_F32)
        .union(Features::MUL_LO_I32)
        .union(Features::LDS_SRC2)
        .union(Features::VCCZ_STALE_AFTER_SMEM)
        .union(Features::VCCZ_STALE_AFTER_HALF)
        .union(Features::STORES_READ_LATE)
}

const fn gfx7() -> Features {
    Features::FLAT
        .union(Features::ADDR64)
        .union(Features::MAD_F32)
        .union(Features::MUL_LO_I32)
        .union(Features::LDS_SRC2)
        .union(Features::DS_B128)
        .union(Features::DWORDX3)
        .union(Features::UNALIGNED_ACCESS)
        .union(Features::ROUND_F64)
        .union(Features::FREXP_OF_INFINITY)
        .union(Features::DS_CHECKS_SUM)
        .union(Features::VCCZ_STALE_AFTER_SMEM)
        .union(Features::VCCZ_STALE_AFTER_HALF)
}

const fn gfx8() -> Features {
    Features::FLAT
        .union(Features::MAD_F32)
        .union(Features::LDS_SRC2)
        .union(Features::INST_16BIT)
        .union(Features::SDWA)
        .union(Features::DPP)
        .union(Features::SCALAR_STORES)
        .union(Features::DS_B128)
        .union(Features::DWORDX3)
        .union(Features::DS_ADD_F32)
        .union(Features::UNALIGNED_ACCESS)
        .union(Features::ROUND_F64)
        .union(Features::FREXP_OF_INFINITY)
        .union(Features::DS_CHECKS_SUM)
        .union(Features::SMEM_GLC)
        .union(Features::D16_FORMATS)
        .union(Features::XNACK_MASK)
        .union(Features::VCCZ_STALE_AFTER_HALF)
        .union(Features::STEADY_CLOCK)
        .union(Features::ZEROES_HIGH_HALF)
}

const fn gfx9() -> Features {
    gfx8()
        .union(Features::GLOBAL)
        .union(Features::PACKED_16BIT)
        .union(Features::LDS_NO_M0)
        .union(Features::ADD_NO_CARRY)
        .union(Features::APERTURE_REGS)
        .union(Features::D16_PRESERVES)
        .union(Features::THREE_OP_INT)
        .union(Features::VGPR_INDEX_MODE)
        .union(Features::FAST_FMA_F32)
        .union(Features::UNALIGNED_DS)
        .union(Features::UNALIGNED_SCRATCH)
        .union(Features::XNACK_SUPPORTED)
        .union(Features::PACKED_D16)
        .union(Features::ANY_TURNS)
        .union(Features::MIN_MAX_DENORMAL_MODES)
        .union(Features::SCRATCH_CHECKS_SUM)
        .union(Features::IMAGE_A16)
        .union(Features::GWS_REPLAY)
        .union(Features::FP16_OVERFLOW)
        .union(Features::MERGED_SHADERS)
        .union(Features::TRAP_FINDS_QUEUE)
        .union(Features::WIDE_FLAT_SCRATCH)
        .union(Features::SMEM_SGPR_AND_IMMEDIATE)
}

/// What GFX10.1 and GFX10.3 have in common.
const fn gfx10() -> Features {
    Features::FLAT
        .union(Features::GLOBAL)
        .union(Features::INST_16BIT)
        .union(Features::PACKED_16BIT)
        .union(Features::SDWA)
        .union(Features::DPP)
        .union(Features::LDS_NO_M0)
        .union(Features::ADD_NO_CARRY)
        .union(Features::APERTURE_REGS)
        .union(Features::FMA_MIX)
        .union(Features::DL_INSTS)
        .union(Features::FAST_FMA_F32)
        .union(Features::D16_PRESERVES)
        .union(Features::THREE_OP_INT)
        .union(Features::DS_B128)
        .union(Features::DWORDX3)
        .union(Features::DS_ADD_F32)
        .union(Features::UNALIGNED_ACCESS)
        .union(Features::UNALIGNED_DS)
        .union(Features::UNALIGNED_SCRATCH)
        .union(Features::PACKED_D16)
        .union(Features::ANY_TURNS)
        .union(Features::ROUND_F64)
        .union(Features::FREXP_OF_INFINITY)
        .union(Features::MIN_MAX_DENORMAL_MODES)
        .union(Features::DS_CHECKS_SUM)
        .union(Features::SCRATCH_CHECKS_SUM)
        .union(Features::SMEM_GLC)
        .union(Features::D16_FORMATS)
        .union(Features::IMAGE_A16)
        .union(Features::GWS_REPLAY)
        .union(Features::FP16_OVERFLOW)
        .union(Features::MERGED_SHADERS)
        .union(Features::TRAP_FINDS_QUEUE)
        .union(Features::STEADY_CLOCK)
        .union(Features::WIDE_FLAT_SCRATCH)
        .union(Features::SMEM_SGPR_AND_IMMEDIATE)
        .union(Features::WAVEFRONTSIZE32)
        .union(Features::WORKGROUP_PROCESSORS)
        .union(Features::L1_BYPASS)
        .union(Features::IMAGE_G16)
        .union(Features::PERMLANE16)
        .union(Features::ORDERED_COUNT_DWORDS)
        .union(Features::BACK_OFF_BARRIER)
}

const fn gfx10_1() -> Features {
    gfx10()
        .union(Features::MAD_F32)
        .union(Features::MUL_LO_I32)
        .union(Features::LDS_SRC2)
        .union(Features::SCALAR_STORES)
        .union(Features::GET_WAVE_ID)
        .union(Features::XNACK_MASK)
        .union(Features::VMEM_READS_SCALARS_LATE)
        .union(Features::SMEM_READS_SCALARS_LATE)
        .union(Features::COMPARISONS_OVERTAKE_EXEC)
        .union(Features::PERMLANE_MISSES_EXEC)
        .union(Features::LDS_AND_VMEM_ACROSS_BRANCH)
        .union(Features::BUFFERS_AFTER_LONG_IMAGES)
        .union(Features::BRANCH_OF_63_DWORDS)
        .union(Features::FLAT_OFFSET_IGNORED)
        .union(Features::LDS_MISALIGNED_IN_PAIRS)
}

const fn gfx10_3() -> Features {
    gfx10()
        .union(Features::DOT_INSTS)
        .union(Features::FMA_LEGACY)
        .union(Features::ATOMIC_CSUB)
        .union(Features::GLOBAL_ADDTID)
        .union(Features::RAY_TRACING)
        .union(Features::SHADER_CYCLES)
        .union(Features::SCRATCH_WITHOUT_ADDRESS)
        .union(Features::COARSE_VGPRS)
}

/// SGPRs of every wave where the processor cannot initialise another number (SPI erratum).
pub const FIXED_SGPRS: u32 = 96;

impl Processor {
    /// Major and minor number and stepping of the instruction set: the digits of a `gfx` name, the last two hexadecimal.
    ///
    /// Names that stand for several processors have the numbers of the first. Source: usage guide,
    /// "Instruction Set Architecture".
    pub fn isa_version(&self) -> [u16; 3] {
        let name = match self.name {
            "generic" => "gfx600",
            "generic-hsa" => "gfx700",
            "gfx10-1-generic" => "gfx1010",
            "gfx10-3-generic" => "gfx1030",
            name => name,
        };
        let digits = name.trim_start_matches("gfx").as_bytes();
        let digit = |byte: u8| (byte as char).to_digit(16).map_or(0, |digit| digit as u16);
        match digits {
            [major @ .., minor, stepping] => {
                let major =
                    major.iter().fold(0, |sum: u16, &byte| sum.wrapping_mul(10).wrapping_add(digit(byte)));
                [major, digit(*minor), digit(*stepping)]
            }
            _ => [0; 3],
        }
    }

    /// SGPRs that code may use by number. Where the special ones at the end of the allocation count within the limit of what is addressable
    /// these are fewer; so they are, by all six specials, where the allocation is fixed.
    ///
    /// Source: ISA manuals, "SGPR allocation"; LLVM's limits for these processors.
    pub fn numbered_sgprs(&self) -> u32 {
        let limits = self.limits();
        if self.features.contains(Features::SGPR_INIT_BUG) {
            return FIXED_SGPRS - limits.special_sgprs.flat_scratch;
        }
        limits.addressable_sgprs - limits.special_sgprs.within_limit
    }

    /// Sizes of the processor's generation that do not depend on wave size.
    pub fn limits(&self) -> &'static super::Limits {
        self.generation.limits()
    }
}

macro_rules! is_apu {
    () => {
        false
    };
    (apu) => {
        true
    };
}

macro_rules! processor {
    ($name:literal $aliases:expr, $generation:ident, $mach:literal, $features:expr $(, $apu:tt)?) => {
        Processor {
            name: $name,
            aliases: &$aliases,
            generation: Generation::$generation,
            elf_mach: $mach,
            generic_version: 0,
            features: $features,
            apu: is_apu!($($apu)?),
        }
    };
}

/// All processors. The first two stand for whatever LLVM calls by these names: the least of GFX6, and of GFX7 on amdhsa. Sources: AMDGPU usage guide "Processors"; LLVM GCNProcessors.td for the abilities.
#[rustfmt::skip]
pub static PROCESSORS: &[Processor] = &[
    processor!("generic" [], Gfx6, 0, gfx6()),
    processor!("generic-hsa" [], Gfx7, 0, gfx7()),
    processor!("gfx600" ["tahiti"], Gfx6, 0x20, gfx6().union(Features::FAST_F64).union(Features::FAST_FMA_F32)),
    processor!("gfx601" ["pitcairn", "verde"], Gfx6, 0x21, gfx6()),
    processor!("gfx602" ["hainan", "oland"], Gfx6, 0x3a, gfx6()),
    processor!("gfx700" ["kaveri"], Gfx7, 0x22, gfx7(), apu),
    processor!("gfx701" ["hawaii"], Gfx7, 0x23, gfx7().union(Features::FAST_F64).union(Features::FAST_FMA_F32)),
    processor!("gfx702" [], Gfx7, 0x24, gfx7().union(Features::FAST_FMA_F32)),
    processor!("gfx703" ["kabini", "mullins"], Gfx7, 0x25, gfx7().union(Features::LDS_BANKS_16), apu),
    processor!("gfx704" ["bonaire"], Gfx7, 0x26, gfx7()),
    processor!("gfx705" [], Gfx7, 0x3b, gfx7().union(Features::LDS_BANKS_16), apu),
    processor!("gfx801" ["carrizo"], Gfx8, 0x28, gfx8().union(Features::FAST_F64).union(Features::FAST_FMA_F32).union(Features::XNACK_SUPPORTED).union(Features::XNACK), apu),
    processor!("gfx802" ["iceland", "tonga"], Gfx8, 0x29, gfx8().union(Features::SGPR_INIT_BUG)),
    processor!("gfx803" ["fiji", "polaris10", "polaris11"], Gfx8, 0x2a, gfx8()),
    processor!("gfx805" ["tongapro"], Gfx8, 0x3c, gfx8().union(Features::SGPR_INIT_BUG)),
    processor!("gfx810" ["stoney"], Gfx8, 0x2b, gfx8().union(Features::PACKED_D16).union(Features::LDS_BANKS_16).union(Features::XNACK_SUPPORTED).union(Features::XNACK), apu),
    processor!("gfx900" [], Gfx9, 0x2c, gfx9().union(Features::MAD_MIX)),
    processor!("gfx902" [], Gfx9, 0x2d, gfx9().union(Features::MAD_MIX).union(Features::XNACK), apu),
    processor!("gfx904" [], Gfx9, 0x2e, gfx9().union(Features::FMA_MIX)),
    processor!("gfx906" [], Gfx9, 0x2f, gfx9().union(Features::FMA_MIX).union(Features::DL_INSTS).union(Features::DOT_INSTS).union(Features::FAST_F64).union(Features::SRAM_ECC_SUPPORTED).union(Features::SRAM_ECC)),
    processor!("gfx909" [], Gfx9, 0x31, gfx9().union(Features::MAD_MIX).union(Features::XNACK), apu),
    processor!("gfx90c" [], Gfx9, 0x32, gfx9().union(Features::MAD_MIX).union(Features::XNACK), apu),
    Processor { generic_version: 1, ..processor!("gfx9-generic" [], Gfx9, 0x51, gfx9()) },
    processor!("gfx1010" [], Gfx10, 0x33, gfx10_1().union(Features::XNACK_SUPPORTED)),
    processor!("gfx1011" [], Gfx10, 0x34, gfx10_1().union(Features::DOT_INSTS).union(Features::XNACK_SUPPORTED)),
    processor!("gfx1012" [], Gfx10, 0x35, gfx10_1().union(Features::DOT_INSTS).union(Features::XNACK_SUPPORTED)),
    processor!("gfx1013" [], Gfx10, 0x42, gfx10_1().union(Features::RAY_TRACING).union(Features::XNACK_SUPPORTED), apu),
    processor!("gfx1030" [], Gfx10, 0x36, gfx10_3()),
    processor!("gfx1031" [], Gfx10, 0x37, gfx10_3()),
    processor!("gfx1032" [], Gfx10, 0x38, gfx10_3()),
    processor!("gfx1033" [], Gfx10, 0x39, gfx10_3(), apu),
    processor!("gfx1034" [], Gfx10, 0x3e, gfx10_3()),
    processor!("gfx1035" [], Gfx10, 0x3d, gfx10_3(), apu),
    processor!("gfx1036" [], Gfx10, 0x45, gfx10_3(), apu),
    Processor { generic_version: 1, ..processor!("gfx10-1-generic" [], Gfx10, 0x52, gfx10_1().union(Features::XNACK_SUPPORTED)) },
    Processor { generic_version: 1, ..processor!("gfx10-3-generic" [], Gfx10, 0x53, gfx10_3()) },
];

/// A name that older documents and producers have for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OlderName {
    /// The name.
    pub name: &'static str,
    /// [`Processor::name`] of what it stands for.
    pub processor: &'static str,
    /// Whether replay is on by default, where the processor of today's name leaves it off.
    pub xnack: bool,
    /// The last version of code objects for which it stands for that; all ones where there is none.
    pub up_to_version: u8,
}

/// Names that are not in [`PROCESSORS`], or were of another processor up to a version. Sources: AMDGPU usage guides of LLVM 5 and 8,
/// "Processors"; HSA's compute ABI for AMD, "ISA". The first names of GFX8 and GFX9 told an APU or a setting from the rest.
pub static OLDER_NAMES: &[OlderName] = &[
    OlderName { name: "gfx800", processor: "gfx802", xnack: false, up_to_version: u8::MAX },
    OlderName { name: "gfx804", processor: "gfx803", xnack: false, up_to_version: u8::MAX },
    OlderName { name: "gfx901", processor: "gfx900", xnack: true, up_to_version: u8::MAX },
    OlderName { name: "gfx903", processor: "gfx902", xnack: false, up_to_version: u8::MAX },
    // gfx602 came with V4.
    OlderName { name: "hainan", processor: "gfx601", xnack: false, up_to_version: 3 },
    OlderName { name: "oland", processor: "gfx601", xnack: false, up_to_version: 3 },
];

impl OlderName {
    /// What `name` stood for in code objects of `version`.
    pub fn find(name: &str, version: u8) -> Option<&'static Self> {
        OLDER_NAMES.iter().find(|older| older.name == name && version <= older.up_to_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    #[test]
    fn names_are_unique_and_found() {
        let mut seen = std::collections::HashSet::new();
        for p in PROCESSORS {
            for name in std::iter::once(&p.name).chain(p.aliases) {
                assert!(seen.insert(*name), "{name} twice");
                assert_eq!(Target::processor_by_name(name).map(|q| q.name), Some(p.name));
            }
        }
        for older in OLDER_NAMES {
            assert!(Target::processor_by_name(older.processor).is_some_and(|p| p.name == older.processor));
            assert_eq!(OlderName::find(older.name, 3), Some(older));
            // A name for good is nobody else's.
            assert!(older.up_to_version < u8::MAX || seen.insert(older.name), "{} twice", older.name);
        }
        assert!(Target::processor_by_name("gfx1234").is_none());
    }

    #[test]
    fn names_tell_the_instruction_set() {
        let version = |name: &str| Target::processor_by_name(name).map(Processor::isa_version);
        assert_eq!([version("gfx803"), version("gfx90c")], [Some([8, 0, 3]), Some([9, 0, 12])]);
        assert_eq!([version("generic"), version("generic-hsa")], [Some([6, 0, 0]), Some([7, 0, 0])]);
        assert_eq!([version("gfx1036"), version("gfx10-3-generic")], [Some([10, 3, 6]), Some([10, 3, 0])]);
    }
}
