//! What a row of the instruction table says.

use super::format::Slot;
use crate::machine::Encoding;
use crate::target::{Features, Generation, Target, WaveSize};

/// Microcode formats, by the manuals' names. An instruction with several encodings has its shortest one here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the ISA manuals' own names")]
pub enum Format {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    /// Scalar memory: SMRD on GFX6-7, SMEM from GFX8.
    Smem,
    Vop1,
    Vop2,
    Vopc,
    /// Only a VOP3 encoding exists (VOP3A or VOP3B).
    Vop3,
    Vop3p,
    Vintrp,
    Ds,
    Mubuf,
    Mtbuf,
    Mimg,
    /// `flat_*`.
    Flat,
    /// `global_*`.
    Global,
    /// `scratch_*`.
    Scratch,
    Exp,
    /// No encoding: exists only before emission.
    Pseudo,
}

impl Format {
    /// Whether its instructions are those of the vector ALU.
    #[inline]
    pub const fn is_vector_alu(self) -> bool {
        use Format::*;
        matches!(self, Vop1 | Vop2 | Vopc | Vop3 | Vop3p | Vintrp)
    }

    /// Whether its instructions are those of the scalar ALU, program control included.
    #[inline]
    pub const fn is_scalar_alu(self) -> bool {
        use Format::*;
        matches!(self, Sop1 | Sop2 | Sopc | Sopk | Sopp)
    }

    /// The encodings of its instructions, in LLVM's order of preference.
    #[inline]
    pub const fn encodings(self) -> &'static [Encoding] {
        use Format::*;
        match self {
            Vop1 | Vop2 | Vopc | Vintrp => {
                &[Encoding::E32, Encoding::E64, Encoding::Sdwa, Encoding::Dpp, Encoding::Dpp8]
            }
            Vop3 | Vop3p => &[Encoding::E64],
            _ => &[Encoding::Auto],
        }
    }

    /// Whether its instructions have several encodings.
    #[inline]
    pub const fn has_short_encoding(self) -> bool {
        self.encodings().len() > 1
    }

    /// Whether the short encoding has a second source, which must be a VGPR there.
    #[inline]
    pub const fn has_vgpr_src1(self) -> bool {
        matches!(self, Self::Vop2 | Self::Vopc)
    }

    /// Whether its atomic instructions return the old value where `glc` is set.
    #[inline]
    pub const fn returns_by_glc(self) -> bool {
        use Format::*;
        matches!(self, Mubuf | Flat | Global | Smem)
    }

    /// Whether its instructions access memory through a buffer resource, lane by lane.
    #[inline]
    pub const fn is_buffer(self) -> bool {
        matches!(self, Self::Mubuf | Self::Mtbuf)
    }

    /// The `seg` field of the formats that share the encoding of FLAT.
    pub const fn segment(self) -> u8 {
        match self {
            Self::Scratch => 1,
            Self::Global => 2,
            _ => 0,
        }
    }

    /// Whether its instructions access memory (LDS, scratch and resources included).
    pub fn is_memory(self) -> bool {
        use Format::*;
        matches!(self, Smem | Ds | Mubuf | Mtbuf | Mimg | Flat | Global | Scratch)
    }
}

/// Whether an operand is written or read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Written.
    Def,
    /// Read.
    Use,
    /// Read and written: the operand is listed once and is both (`v_mac_f32` destination, `s_cmov`, returning buffer
    /// atomics, D16 loads). See [`crate::machine::Inst::operands`] for its form before allocation.
    DefUse,
}

/// What may stand in an operand position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandKind {
    /// VGPR tuple.
    Vgpr,
    /// Any SGPR tuple, VCC, M0, EXEC, trap temporaries; no constants.
    Sgpr,
    /// Scalar source: SGPR, special register, inline constant or literal.
    ScalarSrc,
    /// Vector source: VGPR, or anything a scalar source may be (subject to the constant bus and literal limits).
    VectorSrc,
    /// Lane mask: VCC in short encodings, any SGPRs in VOP3.
    LaneMask,
    /// Signed 16-bit immediate.
    Simm16,
    /// Branch target: signed 16-bit dword offset from the next instruction.
    Label,
    /// `s_waitcnt` counters.
    Waitcnt,
    /// Counters of `s_waitcnt_depctr`.
    Depctr,
    /// `hwreg(id, offset, size)`.
    Hwreg,
    /// `sendmsg(...)`.
    Sendmsg,
    /// Scalar memory offset: SGPR or immediate (bytes; the generation's unit is the encoder's business).
    SmemOffset,
    /// Buffer soffset: SGPR, M0 or inline constant.
    Soffset,
    /// Optional VGPR address of MUBUF or of global/scratch instructions ([`crate::machine::Operand::Off`] where absent).
    VgprOrOff,
    /// Optional SGPR address of global/scratch instructions ([`crate::machine::Operand::Off`] where absent).
    SgprOrOff,
    /// Mandatory 32-bit literal (`v_madak`, `v_madmk`, `s_setreg_imm32`).
    Literal,
    /// `attrN.c` of VINTRP: attribute × 4 + channel.
    Attribute,
    /// `p10`, `p20`, `p0`.
    InterpSlot,
    /// Export target.
    ExportTarget,
    /// VGPR or `off` of an export.
    ExportSrc,
    /// Any other immediate, of the bits given by the field.
    Imm,
    /// 16-bit immediate that is left out where it is 0 (`s_endpgm`).
    OptionalImm,
    /// Register or constant of any file and width; pseudo instructions only.
    AnyReg,
}

/// How an operand's bits are understood: decides inline constants, SDWA extension, and what the simulator computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "names of the manuals")]
pub enum ValueType {
    B16,
    B32,
    B64,
    I16,
    I32,
    I64,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    /// Two 16-bit integers.
    V2I16,
    /// Two 16-bit floats.
    V2F16,
    /// Anything else: wide data, descriptors.
    Data,
}

/// How wide an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Width {
    /// Dwords (sub-dword types take 1); 0 where the register says it.
    Dwords(u8),
    /// One bit a lane.
    Mask,
}

impl Width {
    /// Dwords where waves have the size `wave`.
    #[inline]
    pub const fn dwords(self, wave: WaveSize) -> u8 {
        match self {
            Self::Dwords(dwords) => dwords,
            Self::Mask => wave.mask_dwords(),
        }
    }
}

/// One explicit operand of a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperandDesc {
    /// Written or read.
    pub role: Role,
    /// What may stand there.
    pub kind: OperandKind,
    /// How wide it is.
    pub width: Width,
    /// How the bits are understood.
    pub ty: ValueType,
    /// Name in the manual's field list and in assembly (`vdst`, `src0`, `saddr`), for messages.
    pub name: &'static str,
    /// Where it is encoded.
    pub slot: Slot,
}

impl OperandDesc {
    /// Width in dwords where waves have the size `wave`.
    #[inline]
    pub const fn dwords(&self, wave: WaveSize) -> u8 {
        self.width.dwords(wave)
    }
}

bitflags::bitflags! {
    /// Properties of an instruction that are not visible in its operands.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct OpFlags: u64 {
        /// Writes SCC.
        const SCC_DEF = 1 << 0;
        /// Reads SCC.
        const SCC_USE = 1 << 1;
        /// Writes VCC without listing it.
        const VCC_DEF = 1 << 2;
        /// Reads VCC without listing it (`v_div_fmas`).
        const VCC_USE = 1 << 3;
        /// Reads M0.
        const M0_USE = 1 << 4;
        /// Writes EXEC besides its operands (`s_and_saveexec`, `v_cmpx`).
        const EXEC_DEF = 1 << 5;
        /// Reads EXEC as data or as mask. All vector instructions do, unless `IGNORES_EXEC`.
        const EXEC_USE = 1 << 6;
        /// Vector instruction that works on lanes whatever EXEC says (`v_readlane`, `v_writelane`).
        const IGNORES_EXEC = 1 << 7;
        /// Source operands 0 and 1 may be swapped with no other change.
        const COMMUTES = 1 << 8;
        /// VOP3 encoding accepts abs and neg on its sources of float or `B` type, and clamp and omod unless denied below.
        /// VOP3P: accepts neg_lo and neg_hi.
        const FLOAT_MODS = 1 << 9;
        /// VOP3 encoding accepts clamp though it is an integer instruction.
        const INT_CLAMP = 1 << 10;
        /// Float instruction without output modifier.
        const NO_OMOD = 1 << 11;
        /// SDWA encoding exists (GFX8 to GFX10).
        const SDWA = 1 << 12;
        /// DPP encoding exists (GFX8 to GFX10).
        const DPP = 1 << 13;
        /// Accepts op_sel in VOP3 (GFX9).
        const OP_SEL = 1 << 14;
        /// Reads memory.
        const LOAD = 1 << 15;
        /// Writes memory.
        const STORE = 1 << 16;
        /// Read-modify-write; returns the old value when GLC is set (or by its operands, for DS).
        const ATOMIC = 1 << 17;
        /// Ends a block.
        const BRANCH = 1 << 18;
        /// Transcendental: a quarter of the VALU rate.
        const TRANS = 1 << 19;
        /// Reduced rate: 64-bit floating point, 32- and 64-bit multiplication, sums of byte differences over quads.
        const F64_RATE = 1 << 20;
        /// Must stay: synchronisation, messages, mode changes.
        const SIDE_EFFECTS = 1 << 21;
        /// Copies bits without looking at them (moves): uninitialised bits may pass.
        const COPY = 1 << 22;
        /// Only the low 16 bits of the destination are written, the high half is kept (D16 loads, GFX9 VOP3 op_sel forms) or zeroed (GFX8).
        const D16 = 1 << 23;
        /// The high half of the destination is written (D16_HI loads).
        const D16_HI = 1 << 24;
        /// Reads or writes MODE.
        const MODE_USE = 1 << 25;
        /// Writes MODE or other hardware registers.
        const MODE_DEF = 1 << 26;
        /// Counts in lgkmcnt.
        const LGKM = 1 << 27;
        /// Counts in vmcnt.
        const VM = 1 << 28;
        /// Counts in expcnt (memory stores: on GFX6 alone).
        const EXPCNT = 1 << 29;
        /// VOP3 encoding is VOP3B: operand 1 is an SGPR destination, no abs and no op_sel.
        const VOP3B = 1 << 30;
        /// May be a pseudo that expands to a control-flow change; never reordered.
        const BARRIER = 1 << 31;
        /// Buffer or image instruction with a typed format.
        const FORMATTED = 1 << 32;
        /// No properties.
        const NONE = 0;
        /// Has no VOP3 encoding though its format usually does.
        const NO_VOP3 = 1 << 33;
        /// Float instruction without clamp.
        const NO_CLAMP = 1 << 34;
        /// Accepts an output modifier though its sources are integers.
        const OMOD = 1 << 35;
        /// SDWA encoding exists on GFX8 alone.
        const SDWA8 = 1 << 36;
        /// Mixed precision: VOP3P whose neg_hi bits are abs, and whose sources are f32 or, by op_sel_hi, half of a dword.
        const MIX = 1 << 37;
        /// Writes M0.
        const M0_DEF = 1 << 38;
        /// Needs an LDS limit in M0 where the target lacks `LDS_NO_M0`.
        const M0_LDS = 1 << 39;
        /// Atomic that returns the old value: shares the code point of the row without `_RTN` and sets GLC.
        const RTN = 1 << 40;
        /// Buffer load into LDS: shares the code point of the row without `_LDS` and sets the LDS bit.
        const LDS_DMA = 1 << 41;
        /// DS with two addresses: two 8-bit offsets, counted in elements (of 64 elements for `st64`).
        const DS_TWO = 1 << 42;
        /// DS without GDS form.
        const NO_GDS = 1 << 43;
        /// DS that exists for GDS alone.
        const GDS_ONLY = 1 << 44;
        /// Image gather: always four results.
        const GATHER4 = 1 << 45;
        /// Image instruction without 16-bit data.
        const NO_D16 = 1 << 47;
        /// Takes any number of sources.
        const VARIADIC = 1 << 46;
        /// DS with two addresses whose offsets count 64 elements.
        const ST64 = 1 << 48;
        /// DS whose second operand is in LDS too (`src2`).
        const DS_SRC2 = 1 << 49;
        /// What is loaded is sign-extended to a dword.
        const SIGN_EXTENDS = 1 << 50;
        /// Comparison with a mask of classes (`v_cmp_class`).
        const CLASS = 1 << 51;
        /// Writes a part of its result before it has read all sources. Source: LLVM VOP3Instructions.td, `@earlyclobber`.
        const EARLY_CLOBBER = 1 << 52;
        /// The sources are the other way round than in the operation without `rev`.
        const REVERSED = 1 << 53;
        /// SDWA encoding exists on GFX10 alone.
        const SDWA10 = 1 << 54;
        /// DPP encoding exists on GFX10 alone.
        const DPP10 = 1 << 55;
        /// Bits 0 and 1 of `op_sel` are switches of lane permutations; there are no others.
        const PERMLANE = 1 << 56;
    }
}

/// What a read-modify-write instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the ISA manuals' own names")]
pub enum Rmw {
    Swap,
    CmpSwap,
    Add,
    Sub,
    Rsub,
    Smin,
    Umin,
    Smax,
    Umax,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    Mskor,
    Fadd,
    Fmin,
    Fmax,
    FcmpSwap,
    Wrap,
    Csub,
}

bitflags::bitflags! {
    /// What an image instruction takes besides coordinates, and what it asks.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct ImageParts: u16 {
        /// Goes through a sampler.
        const SAMPLED = 1 << 0;
        /// Texel offsets (`_o`).
        const OFFSET = 1 << 1;
        /// Bias of the level of detail (`_b`).
        const BIAS = 1 << 2;
        /// Value to compare with (`_c`).
        const COMPARE = 1 << 3;
        /// Derivatives (`_d`, `_cd`).
        const DERIVATIVES = 1 << 4;
        /// Level of detail (`_l`).
        const LOD = 1 << 5;
        /// Level of detail is 0 (`_lz`).
        const LOD_ZERO = 1 << 6;
        /// Least level of detail (`_cl`).
        const LOD_CLAMP = 1 << 7;
        /// Asks for the level of detail.
        const LOD_QUERY = 1 << 8;
        /// Asks for the size.
        const SIZE_QUERY = 1 << 9;
        /// Level of a texel (`_mip`).
        const MIP = 1 << 10;
        /// Texels without conversion (`_pck`).
        const PACKED = 1 << 11;
        /// `image_gather4h`.
        const HORIZONTAL = 1 << 12;
        /// Derivatives in 16 bits (`_g16`).
        const GRADIENTS_16 = 1 << 13;
        /// Samples of a texel (`image_msaa_load`).
        const MSAA = 1 << 14;
        /// Intersects a ray with a tree of boxes and triangles.
        const RAY = 1 << 15;
        /// What tells the level of detail apart from the differences between the lanes of a quad.
        const EXPLICIT_LOD = Self::DERIVATIVES.bits() | Self::LOD.bits() | Self::LOD_ZERO.bits();
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OpcodeInfo {
    /// Assembly name without encoding suffix, newest spelling. The rows of an alias group (`RTN`, `LDS_DMA`) share it.
    pub name: &'static str,
    /// Format of the shortest encoding.
    pub format: Format,
    /// Opcode number in `format` by generation (GFX6, 7, 8, 9, 10), −1 where the instruction is absent.
    pub codes: [i16; Generation::COUNT],
    /// Opcode number in VOP3 by generation, −1 where it has no VOP3 encoding. Meaningless outside VOP formats.
    pub vop3_codes: [i16; Generation::COUNT],
    /// Assembly names on generations where they differ: (generation, name).
    pub old_names: &'static [(Generation, &'static str)],
    /// Explicit operands in the order of the assembly text.
    pub operands: &'static [OperandDesc],
    /// Properties.
    pub flags: OpFlags,
    /// Abilities that the instruction needs and not every processor of its generations has.
    pub requires: Features,
    /// Bytes of memory accessed a lane (scalar: by the wave); 0 where it is no memory instruction or depends on modifiers.
    pub memory_bytes: u8,
    /// The fewest address registers that an image instruction reads: one coordinate in 16 bits, and what else it needs (offset, bias,
    /// comparison value, derivatives). How many it does read depends on its resource.
    pub least_address: u8,
    /// What a read-modify-write instruction does.
    pub rmw: Option<Rmw>,
    /// What an image instruction takes and asks.
    pub image: ImageParts,
}

impl OpcodeInfo {
    /// Assembly name on `generation`, without encoding suffix.
    pub(crate) fn name_on(&self, generation: Generation) -> &'static str {
        self.old_names.iter().find(|(g, _)| *g == generation).map_or(self.name, |(_, name)| name)
    }

    /// Whether `target` has the instruction in any encoding. Pseudo instructions exist everywhere.
    #[inline]
    pub fn exists_on(&self, target: &Target) -> bool {
        let generation = target.generation();
        self.format == Format::Pseudo
            || ((self.code(generation).is_some() || self.vop3_code(generation).is_some())
                && target.has(self.requires))
    }

    /// What may stand at operand `index` in VOP3 (`vop3`) or else in the short encoding: VOP3 takes any source where
    /// VOP2 and VOPC want a VGPR for `src1`.
    #[inline]
    pub fn operand_kind(&self, index: usize, vop3: bool) -> Option<OperandKind> {
        let desc = self.operands.get(index)?;
        let relaxed = vop3
            && self.format.has_vgpr_src1()
            && desc.kind == OperandKind::Vgpr
            && desc.role == Role::Use
            && !self.flags.contains(OpFlags::IGNORES_EXEC);
        Some(if relaxed { OperandKind::VectorSrc } else { desc.kind })
    }

    /// Number of operands that are written (`Def` and `DefUse`); they come first.
    pub const fn def_count(&self) -> usize {
        let (mut count, mut i) = (0, 0);
        while i < self.operands.len() {
            count += !matches!(self.operands[i].role, Role::Use) as usize;
            i += 1;
        }
        count
    }

    /// Whether it interpolates an attribute.
    pub const fn interpolates(&self) -> bool {
        let mut i = 0;
        while i < self.operands.len() {
            if matches!(self.operands[i].kind, OperandKind::Attribute) {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Opcode number in its base format on `generation`.
    #[inline]
    pub fn code(&self, generation: Generation) -> Option<u16> {
        u16::try_from(self.codes[generation as usize]).ok()
    }

    /// Opcode number in VOP3 on `generation`.
    #[inline]
    pub fn vop3_code(&self, generation: Generation) -> Option<u16> {
        u16::try_from(self.vop3_codes[generation as usize]).ok()
    }
}

/// Opcode numbers in VOP3 that follow from those of the short encoding. Source: the manuals' VOP3A opcode tables
/// ("VOP1 opcodes + 0x180" on GFX6-7 and GFX10, + 0x140 on GFX8-9).
pub(super) const fn vop3_codes(
    format: Format,
    codes: [i16; Generation::COUNT],
    flags: OpFlags,
) -> [i16; Generation::COUNT] {
    let distance: [i16; Generation::COUNT] = match format {
        Format::Vop1 => [0x180, 0x180, 0x140, 0x140, 0x180],
        Format::Vop2 => [0x100; Generation::COUNT],
        Format::Vopc | Format::Vop3 => [0; Generation::COUNT],
        _ => return [-1; Generation::COUNT],
    };
    let mut out = [-1; Generation::COUNT];
    if flags.contains(OpFlags::NO_VOP3) {
        return out;
    }
    let mut i = 0;
    while i < Generation::COUNT {
        if codes[i] >= 0 {
            out[i] = codes[i] + distance[i];
        }
        i += 1;
    }
    out
}

/// `name` in lower case.
pub(super) const fn lower_case<const N: usize>(name: &str) -> [u8; N] {
    let bytes = name.as_bytes();
    let mut out = [0; N];
    let mut i = 0;
    while i < N {
        out[i] = bytes[i].to_ascii_lowercase();
        i += 1;
    }
    out
}

/// The assembly name: without the suffix that tells the rows of an alias group apart.
pub(super) const fn assembly_name(name: &'static [u8], flags: OpFlags) -> &'static str {
    let alias =
        flags.contains(OpFlags::RTN) || (flags.contains(OpFlags::LDS_DMA) && flags.contains(OpFlags::LOAD));
    let name = if alias && name.len() > 4 { name.split_at(name.len() - 4).0 } else { name };
    match std::str::from_utf8(name) {
        Ok(name) => name,
        Err(_) => "",
    }
}
