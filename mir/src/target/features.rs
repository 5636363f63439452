//! Generations and the abilities of processors.

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
