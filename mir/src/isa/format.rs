//! Microcode formats as lists of named bit fields: the encoder walks them one way, the decoder the other.
//!
//! A [`Layout`] says for one encoding of one format on some generations: which bits are fixed, where the opcode number is,
//! where each operand goes ([`Slot`]) and where each modifier goes ([`Mod`]). Bits that none of them covers must be zero.
//! Layouts are at most two dwords; a literal follows them.
//!
//! [`layout`] chooses; which slot an operand of a row takes follows from its format and kind ([`OperandDesc::slot`]).
//!
//! Source: the ISA manuals of Southern Islands, Sea Islands, GCN3 and Vega, "Microcode Formats".

mod layouts;

use super::{Format, OpFlags, OpcodeInfo, OperandDesc, OperandKind, Role};
use crate::machine::{Encoding, ModFlags};
use crate::target::Generation;
use layouts::*;

/// Where an operand is in an encoding. Fields of several formats share a name; a layout has each at most once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Slot {
    /// Not encoded: implied (VCC of short encodings) or handled with another field.
    Implied,
    /// VGPR destination, DS/FLAT `vdst`; SGPR destination of VOPC and of lane reads.
    Vdst,
    /// SGPR destination (SALU, VOP3B), or first operand of SOPK.
    Sdst,
    /// First source.
    Src0,
    /// Second source.
    Src1,
    /// Third source.
    Src2,
    /// `simm16`.
    Simm,
    /// The dword after the instruction.
    Literal,
    /// Memory address VGPR.
    Addr,
    /// Memory data VGPR (`vdata`, `data0`).
    Data0,
    /// Second DS data.
    Data1,
    /// Buffer or image resource, in units of 4 SGPRs.
    Srsrc,
    /// Sampler, in units of 4 SGPRs.
    Ssamp,
    /// Buffer offset SGPR or constant.
    Soffset,
    /// SGPR address of global and scratch.
    Saddr,
    /// Scalar memory base, in units of 2 SGPRs.
    Sbase,
    /// Scalar memory data.
    Sdata,
    /// Scalar memory offset; its fields are special.
    SmemOffset,
    /// Attribute × 4 + channel of interpolation.
    Attr,
    /// Export target.
    Target,
    /// Export sources.
    Exp0,
    /// Second.
    Exp1,
    /// Third.
    Exp2,
    /// Fourth.
    Exp3,
}

impl ModFlags {
    /// What says that the source in `slot` is a literal though an inline constant would do; empty where nothing can.
    pub(crate) fn literal_of(slot: Slot) -> Self {
        match slot {
            Slot::Src0 => Self::LIT0,
            Slot::Src1 => Self::LIT1,
            Slot::Src2 => Self::LIT2,
            _ => Self::empty(),
        }
    }
}

const SLOTS: usize = Slot::Exp3 as usize + 1;

/// A run of bits: first bit (32 and up: second dword) and width; width 0 where absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// First bit.
    pub pos: u8,
    /// Number of bits.
    pub width: u8,
}

impl Field {
    const ABSENT: Self = Self { pos: 0, width: 0 };

    /// The bits of the field in place.
    pub const fn mask(self) -> u64 {
        if self.width == 0 { 0 } else { (u64::MAX >> (64 - self.width)) << self.pos }
    }

    /// The field's value in `bits`.
    pub const fn get(self, bits: u64) -> u64 {
        (bits & self.mask()) >> self.pos
    }

    /// `value` in place; bits that do not fit are lost.
    pub const fn put(self, value: u64) -> u64 {
        (value << self.pos) & self.mask()
    }
}

/// A modifier's field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mod {
    /// A one-bit modifier.
    Flag(ModFlags),
    /// `abs`, a bit for each source.
    Abs,
    /// `neg` or `neg_lo`, a bit for each source.
    Neg,
    /// `neg_hi`; `abs` of mixed-precision instructions.
    NegHi,
    /// `op_sel`.
    OpSel,
    /// Bits 1:0 of `op_sel_hi`.
    OpSelHi01,
    /// Bit 2 of `op_sel_hi`.
    OpSelHi2,
    /// Output modifier.
    Omod,
    /// Unsigned byte offset.
    Offset,
    /// Signed byte offset.
    SignedOffset,
    /// Second DS offset.
    Offset1,
    /// Second offset byte of a DS instruction with one offset of 16 bits is part of it: both bytes together.
    DsOffset,
    /// `dmask`, export enable, typed buffer format.
    Dmask,
    /// Dimension of an image.
    Dim,
    /// Dwords with further address registers of an image instruction; follows from the operands.
    NsaDwords,
    /// SDWA destination.
    DstSel,
    /// SDWA treatment of other destination bits.
    DstUnused,
    /// SDWA part of source 0.
    SrcSel0,
    /// SDWA part of source 1.
    SrcSel1,
    /// SDWA sign extension of source 0.
    Sext0,
    /// SDWA sign extension of source 1.
    Sext1,
    /// Negation of source 0.
    Neg0,
    /// Absolute value of source 0.
    Abs0,
    /// Negation of source 1.
    Neg1,
    /// Absolute value of source 1.
    Abs1,
    /// SDWA: source 0 is scalar; follows from the operand.
    Scalar0,
    /// SDWA: source 1 is scalar.
    Scalar1,
    /// SDWA of comparisons: the destination is not VCC.
    ScalarDst,
    /// DPP control.
    DppCtrl,
    /// DPP rows.
    RowMask,
    /// DPP banks.
    BankMask,
    /// DPP bound control.
    BoundCtrl,
    /// DPP reads inactive lanes.
    FetchInactive,
    /// DPP in groups of eight: the marker in the field of source 0 says whether inactive lanes are read.
    Dpp8Marker,
    /// DPP in groups of eight: lanes.
    Dpp8Lanes,
    /// FLAT segment; follows from the format.
    Segment,
    /// Scalar memory: an immediate offset is present; follows from the operand.
    SmemImm,
    /// Scalar memory of GFX9: the SGPR of [`Mod::SmemSgpr`] is added; follows from the operand.
    SmemSgprEnable,
    /// Scalar memory: SGPR offset besides an immediate.
    SmemSgpr,
    /// Scalar memory: immediate (bytes, or dwords on GFX6-7) or SGPR number.
    SmemValue,
}

/// One encoding of one format.
#[derive(Debug)]
pub struct Layout {
    /// Dwords without literal.
    pub dwords: u8,
    /// Bits that are the same in every instruction of the layout...
    pub fixed_mask: u64,
    /// ...and what they are.
    pub fixed: u64,
    /// Opcode number, its low part.
    pub op: Field,
    /// The rest of it, if it is in two parts.
    pub op_high: Field,
    /// Field of each slot.
    slots: [Field; SLOTS],
    /// Modifiers.
    pub mods: &'static [(Mod, Field)],
    /// One-bit modifiers that have a field.
    pub flags: ModFlags,
    /// All bits of `fixed`'s pattern, opcode, slots and modifiers.
    pub used: u64,
    /// Bits that may be set where the instruction has no use for them; others must then be 0.
    pub ignored: u64,
}

impl Layout {
    /// The field of `slot`, of width 0 where the layout has none.
    #[inline]
    pub fn slot(&self, slot: Slot) -> Field {
        self.slots[slot as usize]
    }

    /// The opcode number in `bits`.
    #[inline]
    pub fn code(&self, bits: u64) -> u64 {
        code_of(self.op, self.op_high, bits)
    }

    /// Opcode number `code` in place.
    #[inline]
    pub fn put_code(&self, code: u16) -> u64 {
        let high =
            if self.op_high.width == 0 { 0 } else { self.op_high.put(u64::from(code) >> self.op.width) };
        self.op.put(u64::from(code)) | high
    }

    /// Whether the layout has a field for modifier `what`.
    pub fn has_mod(&self, what: Mod) -> bool {
        self.mods.iter().any(|(m, _)| *m == what)
    }

    /// Whether `bits` have the one-bit modifier `flag`.
    pub(crate) fn flag_is_set(&self, flag: ModFlags, bits: u64) -> bool {
        self.mods.iter().any(|(m, field)| *m == Mod::Flag(flag) && field.get(bits) != 0)
    }

    /// The same layout with the upper bits of the opcode number in `field`.
    const fn with_high_opcode(mut self, field: Field) -> Self {
        self.op_high = field;
        self.used |= field.mask();
        self
    }

    /// The same layout where `field` is not fixed.
    const fn without_fixed(mut self, field: Field) -> Self {
        self.fixed_mask &= !field.mask();
        self.fixed &= !field.mask();
        self
    }

    /// The same layout where `field` is always `value`.
    const fn with_fixed(mut self, field: Field, value: u64) -> Self {
        self.fixed_mask |= field.mask();
        self.fixed |= field.put(value);
        self.used |= field.mask();
        self
    }

    /// The same layout with `bits` ignored.
    const fn ignoring(mut self, bits: u64) -> Self {
        self.ignored = bits;
        self
    }
}

/// An opcode number in two parts, of which the second may be absent.
#[inline]
pub(super) fn code_of(low: Field, high: Field, bits: u64) -> u64 {
    let upper = if high.width == 0 { 0 } else { high.get(bits) << low.width };
    low.get(bits) | upper
}

const fn f(pos: u8, width: u8) -> Field {
    Field { pos, width }
}

/// Makes a layout. `prefix` are the fixed bits of the first dword from its top bit on, given as (value, width).
const fn make(
    dwords: u8,
    prefix: (u64, u8),
    op: Field,
    slots: &[(Slot, Field)],
    mods: &'static [(Mod, Field)],
) -> Layout {
    let prefix_field = Field { pos: 32 - prefix.1, width: prefix.1 };
    let mut used = prefix_field.mask() | op.mask();
    let mut table = [Field::ABSENT; SLOTS];
    let mut i = 0;
    while i < slots.len() {
        table[slots[i].0 as usize] = slots[i].1;
        used |= slots[i].1.mask();
        i += 1;
    }
    let mut flags = ModFlags::empty();
    i = 0;
    while i < mods.len() {
        if let Mod::Flag(flag) = mods[i].0 {
            flags = flags.union(flag);
        }
        used |= mods[i].1.mask();
        i += 1;
    }
    let (fixed_mask, fixed) = (prefix_field.mask(), prefix_field.put(prefix.0));
    Layout {
        dwords,
        fixed_mask,
        fixed,
        op,
        op_high: Field::ABSENT,
        slots: table,
        mods,
        flags,
        used,
        ignored: 0,
    }
}

/// Several lists of modifiers as one of `N`.
const fn join<const N: usize>(parts: &[&[(Mod, Field)]]) -> [(Mod, Field); N] {
    let mut all = [(Mod::Omod, Field::ABSENT); N];
    let (mut n, mut i) = (0, 0);
    while i < parts.len() {
        let mut j = 0;
        while j < parts[i].len() {
            all[n] = parts[i][j];
            n += 1;
            j += 1;
        }
        i += 1;
    }
    assert!(n == N);
    all
}

/// `base` (one dword) with an extension dword, announced by `marker` in its `src0` field.
const fn extend(
    base: &Layout,
    marker: u16,
    src1: Field,
    vdst: Option<Field>,
    mods: &'static [(Mod, Field)],
) -> Layout {
    let old_src0 = base.slots[Slot::Src0 as usize];
    let mut slots = base.slots;
    slots[Slot::Src0 as usize] = f(32, 8);
    slots[Slot::Src1 as usize] = src1;
    let mut used = base.used | slots[Slot::Src0 as usize].mask();
    if let Some(vdst) = vdst {
        slots[Slot::Vdst as usize] = vdst;
        used |= vdst.mask();
    }
    let mut flags = ModFlags::empty();
    let mut i = 0;
    while i < mods.len() {
        if let Mod::Flag(flag) = mods[i].0 {
            flags = flags.union(flag);
        }
        used |= mods[i].1.mask();
        i += 1;
    }
    Layout {
        dwords: 2,
        fixed_mask: base.fixed_mask | old_src0.mask(),
        fixed: base.fixed | old_src0.put(marker as u64),
        op: base.op,
        op_high: base.op_high,
        slots,
        mods,
        flags,
        used,
        ignored: 0,
    }
}

/// The layouts of one generation, where they differ from another's.
struct Family {
    smem: &'static Layout,
    /// VOP1, VOP2, VOPC with SDWA, and the flags of which an instruction has one where it has that encoding.
    sdwa: Option<([&'static Layout; 3], OpFlags)>,
    /// VOP1 and VOP2 with DPP, and the flags.
    dpp: Option<([&'static Layout; 2], OpFlags)>,
    /// DPP in groups of eight lanes, for what has DPP.
    dpp8: Option<[&'static Layout; 2]>,
    vintrp: &'static Layout,
    vop3a: &'static Layout,
    vop3b: &'static Layout,
    /// Comparisons without a destination but EXEC.
    vop3_exec: Option<&'static Layout>,
    vop3_interp: Option<&'static Layout>,
    vop3p: Option<&'static Layout>,
    ds: &'static Layout,
    mubuf: &'static Layout,
    mtbuf: &'static Layout,
    mimg: &'static Layout,
    flat: &'static Layout,
    /// `global_*` and `scratch_*`.
    global: Option<&'static Layout>,
    exp: &'static Layout,
}

const FAMILY_6: Family = Family {
    smem: &SMRD,
    sdwa: None,
    dpp: None,
    dpp8: None,
    vintrp: &VINTRP_6,
    vop3a: &VOP3A_6,
    vop3b: &VOP3B_6,
    vop3_exec: None,
    vop3_interp: None,
    vop3p: None,
    ds: &DS_6,
    mubuf: &MUBUF_6,
    mtbuf: &MTBUF_6,
    mimg: &MIMG_6,
    flat: &FLAT_7,
    global: None,
    exp: &EXP_6,
};

const FAMILY_8: Family = Family {
    smem: &SMEM8,
    sdwa: Some(([&VOP1_SDWA_8, &VOP2_SDWA_8, &VOPC_SDWA_8], OpFlags::SDWA.union(OpFlags::SDWA8))),
    dpp: Some(([&VOP1_DPP, &VOP2_DPP], OpFlags::DPP)),
    vintrp: &VINTRP_8,
    vop3a: &VOP3A_8,
    vop3b: &VOP3B_8,
    vop3_interp: Some(&VOP3_INTERP),
    ds: &DS_8,
    mubuf: &MUBUF_8,
    mtbuf: &MTBUF_8,
    mimg: &MIMG_8,
    exp: &EXP_8,
    ..FAMILY_6
};

const FAMILY_9: Family = Family {
    smem: &SMEM9,
    sdwa: Some(([&VOP1_SDWA_9, &VOP2_SDWA_9, &VOPC_SDWA_9], OpFlags::SDWA)),
    vop3a: &VOP3A_9,
    vop3p: Some(&VOP3P),
    mimg: &MIMG_9,
    flat: &FLAT_9,
    global: Some(&GLOBAL_9),
    ..FAMILY_8
};

const FAMILY_10: Family = Family {
    smem: &SMEM10,
    sdwa: Some(([&VOP1_SDWA_9, &VOP2_SDWA_9, &VOPC_SDWA_9], OpFlags::SDWA.union(OpFlags::SDWA10))),
    dpp: Some(([&VOP1_DPP_10, &VOP2_DPP_10], OpFlags::DPP.union(OpFlags::DPP10))),
    dpp8: Some([&VOP1_DPP8, &VOP2_DPP8]),
    vintrp: &VINTRP_6,
    vop3a: &VOP3A_10,
    vop3b: &VOP3B_10,
    vop3_exec: Some(&VOP3_EXEC_10),
    vop3_interp: Some(&VOP3_INTERP_10),
    vop3p: Some(&VOP3P_10),
    ds: &DS_10,
    mubuf: &MUBUF_10,
    mtbuf: &MTBUF_10,
    mimg: &MIMG_10,
    flat: &FLAT_10,
    global: Some(&GLOBAL_10),
    exp: &EXP_10,
};

static FAMILIES: [Family; Generation::COUNT] = [FAMILY_6, FAMILY_6, FAMILY_8, FAMILY_9, FAMILY_10];

/// The layout of `info` in `encoding` on `generation`; `encoding` matters for VOP1, VOP2, VOPC and VINTRP and must not be `Auto`
/// there. `None` where that encoding does not exist.
pub fn layout(info: &OpcodeInfo, encoding: Encoding, generation: Generation) -> Option<&'static Layout> {
    let family = &FAMILIES[generation as usize];
    let sdwa =
        |n: usize| family.sdwa.filter(|(_, flags)| info.flags.intersects(*flags)).map(|(all, _)| all[n]);
    let has_dpp = family.dpp.filter(|(_, flags)| info.flags.intersects(*flags));
    let dpp = |n: usize| has_dpp.map(|(all, _)| all[n]);
    let dpp8 = |n: usize| has_dpp.and(family.dpp8).map(|all| all[n]);
    match (info.format, encoding) {
        (Format::Sop1, _) => Some(&SOP1),
        (Format::Sop2, _) => Some(&SOP2),
        (Format::Sopc, _) => Some(&SOPC),
        (Format::Sopk, _) => Some(&SOPK),
        (Format::Sopp, _) => Some(&SOPP),
        (Format::Smem, _) => Some(family.smem),
        (Format::Vop1, Encoding::E32) => Some(&VOP1),
        (Format::Vop2, Encoding::E32) => Some(&VOP2),
        (Format::Vopc, Encoding::E32) => Some(&VOPC),
        (Format::Vop1, Encoding::Sdwa) => sdwa(0),
        (Format::Vop2, Encoding::Sdwa) => sdwa(1),
        (Format::Vopc, Encoding::Sdwa) => sdwa(2),
        (Format::Vop1, Encoding::Dpp) => dpp(0),
        (Format::Vop2, Encoding::Dpp) => dpp(1),
        (Format::Vop1, Encoding::Dpp8) => dpp8(0),
        (Format::Vop2, Encoding::Dpp8) => dpp8(1),
        (Format::Vintrp, Encoding::E32) => Some(family.vintrp),
        (Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vintrp, Encoding::E64)
        | (Format::Vop3, Encoding::E64 | Encoding::Auto) => {
            if info.interpolates() {
                family.vop3_interp
            } else if info.format == Format::Vopc && info.def_count() == 0 {
                family.vop3_exec
            } else if info.flags.contains(OpFlags::VOP3B) {
                Some(family.vop3b)
            } else {
                Some(family.vop3a)
            }
        }
        (Format::Vop3p, Encoding::Auto | Encoding::E64) => family.vop3p,
        (Format::Ds, _) => Some(family.ds),
        (Format::Mubuf, _) => Some(family.mubuf),
        (Format::Mtbuf, _) => Some(family.mtbuf),
        (Format::Mimg, _) => Some(family.mimg),
        (Format::Flat, _) => Some(family.flat),
        (Format::Global | Format::Scratch, _) => family.global,
        (Format::Exp, _) => Some(family.exp),
        _ => None,
    }
}

/// The slot of a memory or export operand, by its name.
const fn slot_of_name(name: &str) -> Slot {
    match name.as_bytes() {
        b"vdst" => Slot::Vdst,
        b"vdata" | b"data0" => Slot::Data0,
        b"data1" => Slot::Data1,
        b"vaddr" | b"addr" => Slot::Addr,
        b"srsrc" => Slot::Srsrc,
        b"ssamp" => Slot::Ssamp,
        b"soffset" => Slot::Soffset,
        b"saddr" => Slot::Saddr,
        b"sbase" => Slot::Sbase,
        b"sdst" | b"sdata" => Slot::Sdata,
        b"tgt" => Slot::Target,
        b"src0" => Slot::Exp0,
        b"src1" => Slot::Exp1,
        b"src2" => Slot::Exp2,
        b"src3" => Slot::Exp3,
        _ => Slot::Implied,
    }
}

/// Fills in the names and slots of a row's operands. Unnamed destinations are called `vdst` or `sdst`, sources `src0`, `src1`, `src2`.
pub(super) const fn place_operands<const N: usize>(
    format: Format,
    mut operands: [OperandDesc; N],
) -> [OperandDesc; N] {
    let (scalar, vector) = (format.is_scalar_alu(), format.is_vector_alu());
    let (mut defs, mut sources) = (0, 0);
    let mut i = 0;
    while i < N {
        let desc = &mut operands[i];
        let is_source = matches!(desc.role, Role::Use);
        let (source_name, source_slot) = match sources {
            0 => ("src0", Slot::Src0),
            1 => ("src1", Slot::Src1),
            _ => ("src2", Slot::Src2),
        };
        let (name, slot) = match desc.kind {
            OperandKind::Literal => ("imm", Slot::Literal),
            OperandKind::Attribute => ("attr", Slot::Attr),
            OperandKind::SmemOffset => ("soffset", Slot::SmemOffset),
            OperandKind::AnyReg => ("", Slot::Implied),
            OperandKind::Simm16 if matches!(format, Format::Sopc) => ("imm", source_slot),
            OperandKind::Simm16 | OperandKind::OptionalImm | OperandKind::Label | OperandKind::Waitcnt => {
                ("simm16", Slot::Simm)
            }
            OperandKind::Hwreg | OperandKind::Sendmsg | OperandKind::Depctr => ("simm16", Slot::Simm),
            // SOPK has one register, read or written.
            _ if matches!(format, Format::Sopk) => ("sdst", Slot::Sdst),
            _ if !scalar && !vector => (desc.name, slot_of_name(desc.name)),
            _ if is_source => {
                sources += 1;
                (source_name, source_slot)
            }
            _ if scalar => ("sdst", Slot::Sdst),
            OperandKind::LaneMask if defs > 0 => ("sdst", Slot::Sdst),
            // `v_swap_b32` writes both.
            _ if defs > 0 => ("vsrc", Slot::Src0),
            OperandKind::LaneMask => ("sdst", Slot::Vdst),
            _ => ("vdst", Slot::Vdst),
        };
        if desc.name.is_empty() {
            desc.name = name;
        }
        desc.slot = slot;
        if !is_source {
            defs += 1;
        }
        i += 1;
    }
    operands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Opcode;
    use crate::target::OffsetRange;

    /// The ranges of [`crate::target::OffsetRanges`] are what the fields hold.
    #[test]
    fn offset_fields_hold_their_ranges() {
        for generation in [Generation::Gfx6, Generation::Gfx7, Generation::Gfx8, Generation::Gfx9] {
            let field = |op: Opcode, what: Mod| {
                let layout = layout(op.info(), Encoding::Auto, generation)?;
                layout.mods.iter().find(|(m, _)| *m == what).map(|(_, field)| i32::from(field.width))
            };
            let unsigned =
                |width: Option<i32>| OffsetRange { min: 0, max: width.map_or(0, |w| (1 << w) - 1) };
            let signed = |width: Option<i32>| match width {
                Some(w) => OffsetRange { min: -(1 << (w - 1)), max: (1 << (w - 1)) - 1 },
                None => OffsetRange { min: 0, max: 0 },
            };
            let ranges = generation.limits().offsets;
            assert_eq!(unsigned(field(Opcode::BUFFER_LOAD_DWORD, Mod::Offset)), ranges.buffer);
            assert_eq!(unsigned(field(Opcode::DS_READ_B32, Mod::DsOffset)), ranges.ds);
            assert_eq!(unsigned(field(Opcode::FLAT_LOAD_DWORD, Mod::Offset)), ranges.flat);
            assert_eq!(signed(field(Opcode::GLOBAL_LOAD_DWORD, Mod::SignedOffset)), ranges.global);
            // Scalar memory: dwords at first, then bytes; the sign of GFX9 is not used.
            let smem = match field(Opcode::S_LOAD_DWORD, Mod::SmemValue) {
                Some(8) => 0xff * 4 + 3,
                Some(20 | 21) => (1 << 20) - 1,
                other => panic!("{other:?}"),
            };
            assert_eq!(OffsetRange { min: 0, max: smem }, ranges.smem);
        }
    }
}
