//! Generations, processors and features.

use std::fmt;

/// A generation of the instruction set; the discriminant indexes the columns of tables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Generation {
    /// Southern Islands.
    Gfx6,
    /// Sea Islands.
    Gfx7,
    /// Volcanic Islands.
    Gfx8,
    /// Vega.
    Gfx9,
    /// Navi.
    Gfx10,
}

impl Generation {
    /// Number of generations, the length of table columns.
    pub const COUNT: usize = 5;
    /// All generations in order.
    pub const ALL: [Self; Self::COUNT] = [Self::Gfx6, Self::Gfx7, Self::Gfx8, Self::Gfx9, Self::Gfx10];
}

bitflags::bitflags! {
    /// Abilities of a processor. Passes ask for these, never for a generation.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct Features: u128 {
        /// `flat_*` instructions and apertures.
        const FLAT = 1 << 0;
        /// `global_*` and `scratch_*` instructions, immediate offsets on FLAT.
        const GLOBAL = 1 << 1;
        /// MUBUF with 64-bit addresses in VGPRs.
        const ADDR64 = 1 << 2;
        /// 16-bit VALU instructions.
        const INST_16BIT = 1 << 3;
        /// Packed 16-bit instructions (VOP3P).
        const PACKED_16BIT = 1 << 4;
        /// Sub-dword addressing.
        const SDWA = 1 << 5;
        /// Data-parallel primitives.
        const DPP = 1 << 6;
        /// Scalar stores and atomics.
        const SCALAR_STORES = 1 << 7;
        /// DS and FLAT need no M0.
        const LDS_NO_M0 = 1 << 8;
        /// Carry-less `v_add_u32`.
        const ADD_NO_CARRY = 1 << 9;
        /// `src_shared_base` and its kin.
        const APERTURE_REGS = 1 << 10;
        /// `v_mad_mix_f32`.
        const MAD_MIX = 1 << 11;
        /// `v_fma_mix_f32`.
        const FMA_MIX = 1 << 12;
        /// `v_fmac_f32`, `v_xnor_b32`.
        const DL_INSTS = 1 << 13;
        /// `v_dot2_f32_f16`, `v_dot4_i32_i8` and their kin of Vega 20.
        const DOT_INSTS = 1 << 14;
        /// 64-bit float operations at half or quarter rate.
        const FAST_F64 = 1 << 15;
        /// `v_fma_f32` as fast as `v_mad_f32`.
        const FAST_FMA_F32 = 1 << 16;
        /// Page-fault replay can be switched on.
        const XNACK_SUPPORTED = 1 << 17;
        /// SRAM ECC can be switched on.
        const SRAM_ECC_SUPPORTED = 1 << 18;
        /// D16 loads and stores of either half. The loads keep the other half where SRAM ECC is off ([`Target::loads_keep_halves`]).
        const D16_PRESERVES = 1 << 19;
        /// `v_lshl_add_u32`, `v_add3_u32`, `v_and_or_b32` and their kin.
        const THREE_OP_INT = 1 << 20;
        /// `ds_read_b96`, `ds_read_b128` and 96-bit memory accesses.
        const DS_B128 = 1 << 21;
        /// `s_movrel*` needs M0; GFX9 also has VGPR index mode.
        const VGPR_INDEX_MODE = 1 << 22;
        /// Must declare 96 SGPRs (SPI erratum of Tonga and Iceland).
        const SGPR_INIT_BUG = 1 << 23;
        /// MUBUF and FLAT accept dword x3.
        const DWORDX3 = 1 << 24;
        /// DS `add_f32` and friends.
        const DS_ADD_F32 = 1 << 25;
        /// Scalar and vector memory behave under XNACK replay: page faults are retried.
        const XNACK = 1 << 26;
        /// SRAM ECC is on, or may be ([`Self::SRAM_ECC_ANY`]): D16 loads write whole registers.
        const SRAM_ECC = 1 << 27;
        /// Unaligned global access allowed.
        const UNALIGNED_ACCESS = 1 << 28;
        /// LDS accesses may be unaligned.
        const UNALIGNED_DS = 1 << 29;
        /// 16-bit data of buffer and image instructions stand two to a register. The first GFX8 chips use one register each.
        const PACKED_D16 = 1 << 30;
        /// Replay was neither asked for nor ruled out: the code serves both, and the object says so.
        const XNACK_ANY = 1 << 31;
        /// The same for SRAM ECC.
        const SRAM_ECC_ANY = 1 << 32;
        /// `s_trap` reaches a handler that the driver has installed.
        const TRAP_HANDLER = 1 << 33;
        /// Scratch accesses may be unaligned, although lanes are interleaved by dwords.
        const UNALIGNED_SCRATCH = 1 << 34;
        /// LDS has 16 banks, not 32: interpolation reads an attribute's dwords in two steps.
        const LDS_BANKS_16 = 1 << 35;
        /// Ids of work-group and wave are in trap temporaries, not in SGPRs of the wave.
        const ARCHITECTED_SGPRS = 1 << 36;
        /// `v_sin` and `v_cos` take any number of turns; elsewhere 256 at most either way.
        const ANY_TURNS = 1 << 37;
        /// `v_trunc_f64`, `v_ceil_f64`, `v_floor_f64` and `v_rndne_f64`.
        const ROUND_F64 = 1 << 38;
        /// `v_frexp_*` give infinities and NaNs themselves and an exponent of 0; elsewhere rubbish.
        const FREXP_OF_INFINITY = 1 << 39;
        /// `v_min_f*`, `v_max_f*` and `v_med3_f32` flush denormals where MODE says so; elsewhere they keep them.
        const MIN_MAX_DENORMAL_MODES = 1 << 40;
        /// The address of a DS instruction is checked with its offset added; elsewhere the register must be within LDS by itself.
        const DS_CHECKS_SUM = 1 << 41;
        /// The same for scratch through MUBUF.
        const SCRATCH_CHECKS_SUM = 1 << 42;
        /// Scalar loads accept `glc`.
        const SMEM_GLC = 1 << 43;
        /// Buffer and image formats of 16 bits a channel in registers.
        const D16_FORMATS = 1 << 44;
        /// Image addresses of 16 bits a coordinate.
        const IMAGE_A16 = 1 << 45;
        /// Global wave sync that fails while memory is being moved is repeated by the hardware.
        const GWS_REPLAY = 1 << 46;
        /// MODE has FP16_OVFL in bit 23.
        const FP16_OVERFLOW = 1 << 47;
        /// Local and export (hull), export and geometry shaders run as one.
        const MERGED_SHADERS = 1 << 48;
        /// The trap handler finds the queue by its doorbell; elsewhere the wave hands it over.
        const TRAP_FINDS_QUEUE = 1 << 49;
        /// XNACK_MASK.
        const XNACK_MASK = 1 << 50;
        /// Erratum: scalar loads leave VCCZ stale.
        const VCCZ_STALE_AFTER_SMEM = 1 << 51;
        /// Erratum: scalar writes of one half of VCC leave VCCZ stale.
        const VCCZ_STALE_AFTER_HALF = 1 << 52;
        /// Memory stores read their data late and count in expcnt until they have.
        const STORES_READ_LATE = 1 << 53;
        /// A clock of constant speed (`s_memrealtime`).
        const STEADY_CLOCK = 1 << 54;
        /// FLAT accesses of several dwords work in scratch, where lanes are interleaved by dwords.
        const WIDE_FLAT_SCRATCH = 1 << 55;
        /// Waves have 32 lanes. Only where the generation leaves the choice ([`super::Limits::wave_sizes`]).
        const WAVEFRONTSIZE32 = 1 << 56;
        /// Accesses of global memory take MUBUF with 64-bit addresses where FLAT could serve, too.
        const BUFFER_FOR_GLOBAL = 1 << 57;
        /// Code reaches scratch by `scratch_*` instructions ([`Target::scratch_access`]).
        const SCRATCH_INSTRUCTIONS = 1 << 58;
        /// Scalar loads take an SGPR and an immediate as offset, added.
        const SMEM_SGPR_AND_IMMEDIATE = 1 << 59;
        /// `v_mad_f32`, `v_mac_f32` and their kin, which round the product.
        const MAD_F32 = 1 << 60;
        /// `v_mul_lo_i32` besides `v_mul_lo_u32`.
        const MUL_LO_I32 = 1 << 61;
        /// DS instructions whose second operand is in LDS (`ds_add_src2_u32`).
        const LDS_SRC2 = 1 << 62;
        /// `s_get_waveid_in_workgroup`.
        const GET_WAVE_ID = 1 << 63;
        /// `v_fma_legacy_f32`, `v_fmac_legacy_f32`.
        const FMA_LEGACY = 1 << 64;
        /// `buffer_atomic_csub`, `global_atomic_csub`.
        const ATOMIC_CSUB = 1 << 65;
        /// `global_load_dword_addtid`, `global_store_dword_addtid`.
        const GLOBAL_ADDTID = 1 << 66;
        /// `image_bvh_intersect_ray` and its kin, `image_msaa_load`.
        const RAY_TRACING = 1 << 67;
        /// HW_REG_SHADER_CYCLES, and a counter of instructions that hold the wave in `s_waitcnt_depctr`.
        const SHADER_CYCLES = 1 << 68;
        /// Scratch instructions may have an immediate offset alone.
        const SCRATCH_WITHOUT_ADDRESS = 1 << 69;
        /// Compute units work in pairs, and descriptors say how waves run on them (GFX10).
        const WORKGROUP_PROCESSORS = 1 << 70;
        /// VGPRs are given out in portions twice as large, to at most 16 waves of a SIMD (GFX10.3).
        const COARSE_VGPRS = 1 << 71;
        /// Memory instructions can pass the L1 cache by (`dlc`).
        const L1_BYPASS = 1 << 72;
        /// Image derivatives of 16 bits, whatever width the coordinates have.
        const IMAGE_G16 = 1 << 73;
        /// 16-bit operations of VOP1 and VOP2 zero the upper half of their destination; elsewhere they keep it.
        const ZEROES_HIGH_HALF = 1 << 74;
        /// `v_permlane16_b32`, `v_permlanex16_b32` and DPP8.
        const PERMLANE16 = 1 << 75;
        /// `ds_ordered_count` of up to four dwords.
        const ORDERED_COUNT_DWORDS = 1 << 76;
        /// All waves of a work-group run on one compute unit of the pair; elsewhere they are spread over both. Only with [`Self::WORKGROUP_PROCESSORS`].
        const CU_MODE = 1 << 80;
        /// Waves may come to a barrier with memory operations under way.
        const BACK_OFF_BARRIER = 1 << 81;
        /// Erratum: vector memory and LDS read SGPRs, M0 and EXEC late.
        const VMEM_READS_SCALARS_LATE = 1 << 82;
        /// Erratum: scalar memory reads SGPRs late.
        const SMEM_READS_SCALARS_LATE = 1 << 83;
        /// Erratum: comparisons may write EXEC before others have read it.
        const COMPARISONS_OVERTAKE_EXEC = 1 << 84;
        /// Erratum: `v_permlane16` misses what a comparison has just written to EXEC.
        const PERMLANE_MISSES_EXEC = 1 << 85;
        /// Erratum: LDS and vector memory get into each other's way across a branch.
        const LDS_AND_VMEM_ACROSS_BRANCH = 1 << 86;
        /// Erratum: buffer instructions right behind images with many addresses fail where half of EXEC is 0.
        const BUFFERS_AFTER_LONG_IMAGES = 1 << 87;
        /// Erratum: branches over exactly 63 dwords go wrong.
        const BRANCH_OF_63_DWORDS = 1 << 88;
        /// Erratum: `flat_*` leaves out its immediate offset where it reaches global memory.
        const FLAT_OFFSET_IGNORED = 1 << 89;
        /// Erratum: LDS and FLAT accesses of several dwords must be aligned to their size where waves are not in [`Self::CU_MODE`].
        const LDS_MISALIGNED_IN_PAIRS = 1 << 90;
    }
}

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

/// The operating system part of the triple: decides sections, notes and entry conventions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Os {
    /// Empty or unknown.
    Unknown,
    /// HSA runtimes (ROCm).
    AmdHsa,
    /// Platform Abstraction Library.
    AmdPal,
    /// Mesa 3D.
    Mesa3d,
}

/// The vendor part of the triple, which names of other systems' targets repeat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Vendor {
    /// Empty, unknown, or one without a meaning here.
    Unknown,
    /// AMD.
    #[default]
    Amd,
    /// Mesa.
    Mesa,
    /// Mesa, as the usage guide calls it on its own system.
    Mesa3d,
}

impl Vendor {
    /// The part of the triple.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Amd => "amd",
            Self::Mesa => "mesa",
            Self::Mesa3d => "mesa3d",
        }
    }
}

/// Which happens-before relations a program relies on.
///
/// Source: AMDGPU usage guide of LLVM 8, "Memory Model".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemoryModel {
    /// One relation over all address spaces.
    #[default]
    Hsa,
    /// Separate ones for global and local memory: ordering one does not wait for the other.
    OpenCl,
}

/// How code reaches the private memory of its lanes.
///
/// Source: AMDGPU usage guide, "Private Segment Buffer" and "Flat Scratch"; feature `enable-flat-scratch` of LLVM.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ScratchAccess {
    /// `buffer_*` with a resource in SGPRs. A base in an SGPR counts bytes of all lanes.
    #[default]
    Buffer,
    /// `scratch_*` from FLAT_SCRATCH on. A base in an SGPR counts bytes of one lane.
    Scratch,
}

impl ScratchAccess {
    /// What one byte of a lane counts in the stack pointer, the frame pointer, and every other base in an SGPR.
    pub fn bytes_in_base(self, wave: super::WaveSize) -> u32 {
        match self {
            Self::Buffer => wave.lanes(),
            Self::Scratch => 1,
        }
    }

    /// The largest immediate offset of an access, a row of ones. Negative ones are not used: with a base in an SGPR GFX9 does not take
    /// them (LLVM's `negative-scratch-offset-bug`).
    pub fn max_offset(self, limits: &super::Limits) -> u32 {
        let range = match self {
            Self::Buffer => limits.offsets.buffer,
            Self::Scratch => limits.offsets.global,
        };
        range.max as u32
    }
}

/// What is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Processor.
    pub processor: &'static Processor,
    /// Abilities after `-mattr`.
    pub features: Features,
    /// Operating system.
    pub os: Os,
    /// Vendor.
    pub vendor: Vendor,
    /// Memory model of the source language.
    pub memory_model: MemoryModel,
    /// Code object version, 2 to 6.
    pub code_object_version: u8,
    /// Bytes of scratch that are a lane's before the next lane's follow (4, 8 or 16), where the resource says it: see [`Self::scratch_width`].
    pub private_element_bytes: u8,
}

impl Target {
    /// `processor` with its default features on amdhsa, code object V3.
    pub fn new(processor: &'static Processor) -> Self {
        Self {
            processor,
            features: processor.features | Features::TRAP_HANDLER,
            os: Os::AmdHsa,
            vendor: Vendor::Amd,
            memory_model: MemoryModel::Hsa,
            code_object_version: 3,
            private_element_bytes: 4,
        }
    }

    /// Finds a processor by `gfx` name or alternative name.
    pub fn processor_by_name(name: &str) -> Option<&'static Processor> {
        PROCESSORS.iter().find(|p| p.name == name || p.aliases.contains(&name))
    }

    /// Whether the processor can do all of `features`.
    pub fn has(&self, features: Features) -> bool {
        self.features.contains(features)
    }

    /// Whether loads into one half of a register leave the other as it is, on all that the code may run on. Where SRAM ECC is on they do
    /// not; names that stand for several processors do not say whether it is.
    ///
    /// Source: AMDGPU usage guide, "Target Features" (`sramecc`) and "Generic processors".
    pub fn loads_keep_halves(&self) -> bool {
        self.has(Features::D16_PRESERVES)
            && !self.has(Features::SRAM_ECC)
            && self.processor.generic_version == 0
    }

    /// How code reaches scratch: by `scratch_*` where that is asked for and the processor has them.
    pub fn scratch_access(&self) -> ScratchAccess {
        if self.has(Features::SCRATCH_INSTRUCTIONS | Features::GLOBAL) {
            ScratchAccess::Scratch
        } else {
            ScratchAccess::Buffer
        }
    }

    /// The most bytes that one access through the scratch resource may have at a place that is aligned to `align_bytes`, at least a dword.
    ///
    /// An access must not leave its element, since those of other lanes stand between it and the next; without sizes of elements in resources the
    /// hardware finds each dword's place on its own. Source: `ELEMENT_SIZE` of the buffer resource (GFX6 to GFX8 ISA manuals), which the resource of GFX9 lacks; what LLVM makes of
    /// `max-private-element-size`.
    pub fn scratch_width(&self, align_bytes: u64) -> u64 {
        let element = u64::from(self.private_element_bytes);
        match self.limits().buffers.element_size {
            true => element.min(align_bytes),
            false => element,
        }
    }

    /// Whether the waves of a work-group may run on different compute units, which then do not share their innermost cache.
    ///
    /// Source: AMDGPU usage guide, "Memory Model GFX10-GFX11".
    pub fn splits_work_groups(&self) -> bool {
        self.has(Features::WORKGROUP_PROCESSORS) && !self.has(Features::CU_MODE)
    }

    /// Generation, for indexing table columns. Passes ask [`Self::has`] instead.
    pub fn generation(&self) -> Generation {
        self.processor.generation
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.processor.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
