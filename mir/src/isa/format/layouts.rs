//! The layouts of all formats, by generation: `_6` stands from GFX6 on, `_7`, `_8`, `_9` and `_10` from there on.
//!
//! `ignoring` lists the bits that LLVM's disassembler passes over where an instruction has no use for them
//! (`tests/decode_agreement.rs`).

use super::{Field, Layout, Mod, Slot, extend, f, join, make};
use crate::machine::ModFlags;
use crate::target::operands::{DPP as DPP_MARK, DPP8 as DPP8_MARK, SDWA as SDWA_MARK};
use Mod::*;
use Slot::{
    Addr, Attr, Data0, Data1, Saddr, Sbase, Sdata, Sdst, Simm, Soffset, Src0, Src1, Src2, Srsrc, Ssamp, Vdst,
};

const CLAMP: Mod = Flag(ModFlags::CLAMP);
const GLC: Mod = Flag(ModFlags::GLC);
const SLC: Mod = Flag(ModFlags::SLC);
const TFE: Mod = Flag(ModFlags::TFE);
const LDS: Mod = Flag(ModFlags::LDS);
const OFFEN: Mod = Flag(ModFlags::OFFEN);
const IDXEN: Mod = Flag(ModFlags::IDXEN);
const ADDR64: Mod = Flag(ModFlags::ADDR64);
const GDS: Mod = Flag(ModFlags::GDS);
const NV: Mod = Flag(ModFlags::NV);
const HIGH: Mod = Flag(ModFlags::HIGH);
const DLC: Mod = Flag(ModFlags::DLC);

pub(super) static SOP2: Layout =
    make(1, (0b10, 2), f(23, 7), &[(Sdst, f(16, 7)), (Src1, f(8, 8)), (Src0, f(0, 8))], &[])
        .ignoring(0x007f_0000);
pub(super) static SOPK: Layout =
    make(1, (0b1011, 4), f(23, 5), &[(Sdst, f(16, 7)), (Simm, f(0, 16))], &[]).ignoring(0x007f_0000);
pub(super) static SOP1: Layout =
    make(1, (0b1_0111_1101, 9), f(8, 8), &[(Sdst, f(16, 7)), (Src0, f(0, 8))], &[]).ignoring(0x007f_00ff);
pub(super) static SOPC: Layout =
    make(1, (0b1_0111_1110, 9), f(16, 7), &[(Src1, f(8, 8)), (Src0, f(0, 8))], &[]);
pub(super) static SOPP: Layout = make(1, (0b1_0111_1111, 9), f(16, 7), &[(Simm, f(0, 16))], &[]);

pub(super) static SMRD: Layout = make(
    1,
    (0b11000, 5),
    f(22, 5),
    &[(Sdata, f(15, 7)), (Sbase, f(9, 6))],
    &[(SmemImm, f(8, 1)), (SmemValue, f(0, 8))],
);
pub(super) static SMEM8: Layout = make(
    2,
    (0b110000, 6),
    f(18, 8),
    &[(Sdata, f(6, 7)), (Sbase, f(0, 6))],
    &[(SmemImm, f(17, 1)), (GLC, f(16, 1)), (SmemValue, f(32, 20))],
)
.ignoring(0xffff_ffff_0000_ffff);
pub(super) static SMEM9: Layout = make(
    2,
    (0b110000, 6),
    f(18, 8),
    &[(Sdata, f(6, 7)), (Sbase, f(0, 6))],
    &[
        (SmemImm, f(17, 1)),
        (GLC, f(16, 1)),
        (NV, f(15, 1)),
        (SmemSgprEnable, f(14, 1)),
        (SmemValue, f(32, 21)),
        (SmemSgpr, f(57, 7)),
    ],
)
.ignoring(0xffff_ffff_0000_ffff);

pub(super) static SMEM10: Layout = make(
    2,
    (0b111101, 6),
    f(18, 8),
    &[(Sdata, f(6, 7)), (Sbase, f(0, 6))],
    &[(GLC, f(16, 1)), (DLC, f(14, 1)), (SmemValue, f(32, 21)), (SmemSgpr, f(57, 7))],
)
.ignoring(0xffff_ffff_0003_ffff);

const VOP2_SLOTS: &[(Slot, Field)] = &[(Vdst, f(17, 8)), (Src1, f(9, 8)), (Src0, f(0, 9))];
pub(super) static VOP2: Layout = make(1, (0, 1), f(25, 6), VOP2_SLOTS, &[]);
pub(super) static VOP1: Layout =
    make(1, (0b011_1111, 7), f(9, 8), &[(Vdst, f(17, 8)), (Src0, f(0, 9))], &[]).ignoring(0x1ff);
pub(super) static VOPC: Layout = make(1, (0b011_1110, 7), f(17, 8), &[(Src1, f(9, 8)), (Src0, f(0, 9))], &[]);

const VOP3A_SLOTS: &[(Slot, Field)] =
    &[(Vdst, f(0, 8)), (Src0, f(32, 9)), (Src1, f(41, 9)), (Src2, f(50, 9))];
const VOP3B_SLOTS: &[(Slot, Field)] =
    &[(Vdst, f(0, 8)), (Sdst, f(8, 7)), (Src0, f(32, 9)), (Src1, f(41, 9)), (Src2, f(50, 9))];
const VOP3_PREFIX: (u64, u8) = (0b110100, 6);
/// The three source fields of VOP3.
const SOURCES: u64 = 0x07ff_ffff_0000_0000;
pub(super) static VOP3A_6: Layout = make(
    2,
    VOP3_PREFIX,
    f(17, 9),
    VOP3A_SLOTS,
    &[(Abs, f(8, 3)), (CLAMP, f(11, 1)), (Omod, f(59, 2)), (Neg, f(61, 3))],
);
pub(super) static VOP3B_6: Layout =
    make(2, VOP3_PREFIX, f(17, 9), VOP3B_SLOTS, &[(Omod, f(59, 2)), (Neg, f(61, 3))]);
pub(super) static VOP3A_8: Layout = make(
    2,
    VOP3_PREFIX,
    f(16, 10),
    VOP3A_SLOTS,
    &[(Abs, f(8, 3)), (CLAMP, f(15, 1)), (Omod, f(59, 2)), (Neg, f(61, 3))],
)
.ignoring(SOURCES | 0x7800);
pub(super) static VOP3A_9: Layout = make(
    2,
    VOP3_PREFIX,
    f(16, 10),
    VOP3A_SLOTS,
    &[(Abs, f(8, 3)), (OpSel, f(11, 4)), (CLAMP, f(15, 1)), (Omod, f(59, 2)), (Neg, f(61, 3))],
)
.ignoring(SOURCES);
pub(super) static VOP3B_8: Layout =
    make(2, VOP3_PREFIX, f(16, 10), VOP3B_SLOTS, &[(CLAMP, f(15, 1)), (Omod, f(59, 2)), (Neg, f(61, 3))])
        .ignoring(SOURCES);
pub(super) static VOP3P: Layout = make(
    2,
    (0b1_1010_0111, 9),
    f(16, 7),
    VOP3A_SLOTS,
    &[
        (NegHi, f(8, 3)),
        (OpSel, f(11, 3)),
        (OpSelHi2, f(14, 1)),
        (CLAMP, f(15, 1)),
        (OpSelHi01, f(59, 2)),
        (Neg, f(61, 3)),
    ],
)
.ignoring(SOURCES);
const VOP3_PREFIX_10: (u64, u8) = (0b110101, 6);
pub(super) static VOP3A_10: Layout = make(
    2,
    VOP3_PREFIX_10,
    f(16, 10),
    VOP3A_SLOTS,
    &[(Abs, f(8, 3)), (OpSel, f(11, 4)), (CLAMP, f(15, 1)), (Omod, f(59, 2)), (Neg, f(61, 3))],
)
.ignoring(SOURCES);
pub(super) static VOP3B_10: Layout =
    make(2, VOP3_PREFIX_10, f(16, 10), VOP3B_SLOTS, &[(CLAMP, f(15, 1)), (Omod, f(59, 2)), (Neg, f(61, 3))])
        .ignoring(SOURCES);
/// The field of the destination names EXEC.
pub(super) static VOP3_EXEC_10: Layout = make(
    2,
    VOP3_PREFIX_10,
    f(16, 10),
    &[(Src0, f(32, 9)), (Src1, f(41, 9))],
    &[(Abs, f(8, 3)), (CLAMP, f(15, 1)), (Omod, f(59, 2)), (Neg, f(61, 3))],
)
.with_fixed(f(0, 8), 126)
.ignoring(SOURCES | 0x7800);
pub(super) static VOP3P_10: Layout = make(
    2,
    (0b1_1001_1000, 9),
    f(16, 7),
    VOP3A_SLOTS,
    &[
        (NegHi, f(8, 3)),
        (OpSel, f(11, 3)),
        (OpSelHi2, f(14, 1)),
        (CLAMP, f(15, 1)),
        (OpSelHi01, f(59, 2)),
        (Neg, f(61, 3)),
    ],
)
.ignoring(SOURCES);
/// Interpolation in VOP3: the attribute stands in the field of source 0.
const VOP3_INTERP_SLOTS: &[(Slot, Field)] =
    &[(Vdst, f(0, 8)), (Attr, f(32, 8)), (Src0, f(41, 9)), (Src1, f(50, 9))];
pub(super) static VOP3_INTERP: Layout = make(
    2,
    VOP3_PREFIX,
    f(16, 10),
    VOP3_INTERP_SLOTS,
    &[(Abs, f(9, 2)), (CLAMP, f(15, 1)), (HIGH, f(40, 1)), (Omod, f(59, 2)), (Neg, f(62, 2))],
)
.ignoring(SOURCES | 0x7800);

pub(super) static VOP3_INTERP_10: Layout = make(
    2,
    VOP3_PREFIX_10,
    f(16, 10),
    VOP3_INTERP_SLOTS,
    &[(Abs, f(9, 2)), (CLAMP, f(15, 1)), (HIGH, f(40, 1)), (Omod, f(59, 2)), (Neg, f(62, 2))],
)
.ignoring(SOURCES | 0x7800);

const VINTRP_SLOTS: &[(Slot, Field)] = &[(Vdst, f(18, 8)), (Attr, f(8, 8)), (Src0, f(0, 8))];
pub(super) static VINTRP_6: Layout = make(1, (0b110010, 6), f(16, 2), VINTRP_SLOTS, &[]);
pub(super) static VINTRP_8: Layout = make(1, (0b110101, 6), f(16, 2), VINTRP_SLOTS, &[]);

const DS_SLOTS: &[(Slot, Field)] =
    &[(Vdst, f(56, 8)), (Data1, f(48, 8)), (Data0, f(40, 8)), (Addr, f(32, 8))];
pub(super) static DS_6: Layout =
    make(2, (0b110110, 6), f(18, 8), DS_SLOTS, &[(GDS, f(17, 1)), (DsOffset, f(0, 16))]);
pub(super) static DS_8: Layout =
    make(2, (0b110110, 6), f(17, 8), DS_SLOTS, &[(GDS, f(16, 1)), (DsOffset, f(0, 16))]);

/// The bits of GFX6.
pub(super) static DS_10: Layout =
    make(2, (0b110110, 6), f(18, 8), DS_SLOTS, &[(GDS, f(17, 1)), (DsOffset, f(0, 16))]).ignoring(0x1_0000);

const BUFFER_SLOTS: &[(Slot, Field)] =
    &[(Soffset, f(56, 8)), (Srsrc, f(48, 5)), (Data0, f(40, 8)), (Addr, f(32, 8))];
/// Modifiers that all buffer formats have in the same place.
const BUFFER_MODS: &[(Mod, Field)] =
    &[(Offset, f(0, 12)), (OFFEN, f(12, 1)), (IDXEN, f(13, 1)), (GLC, f(14, 1)), (TFE, f(55, 1))];
const MUBUF_PREFIX: (u64, u8) = (0b111000, 6);
const MTBUF_PREFIX: (u64, u8) = (0b111010, 6);
pub(super) static MUBUF_6: Layout = make(
    2,
    MUBUF_PREFIX,
    f(18, 7),
    BUFFER_SLOTS,
    &join::<8>(&[BUFFER_MODS, &[(ADDR64, f(15, 1)), (LDS, f(16, 1)), (SLC, f(54, 1))]]),
)
// LLVM does not read code of these generations: as on GFX8.
.ignoring(0xff3f_ffff_0000_0000);
pub(super) static MUBUF_8: Layout = make(
    2,
    MUBUF_PREFIX,
    f(18, 7),
    BUFFER_SLOTS,
    &join::<7>(&[BUFFER_MODS, &[(LDS, f(16, 1)), (SLC, f(17, 1))]]),
)
.ignoring(0xff7f_ffff_0200_8000);
pub(super) static MUBUF_10: Layout = make(
    2,
    MUBUF_PREFIX,
    f(18, 8),
    BUFFER_SLOTS,
    &join::<8>(&[BUFFER_MODS, &[(DLC, f(15, 1)), (LDS, f(16, 1)), (SLC, f(54, 1))]]),
)
.ignoring(0xff3f_ffff_0002_0000);
pub(super) static MTBUF_10: Layout = make(
    2,
    MTBUF_PREFIX,
    f(16, 3),
    BUFFER_SLOTS,
    &join::<8>(&[BUFFER_MODS, &[(DLC, f(15, 1)), (Dmask, f(19, 7)), (SLC, f(54, 1))]]),
)
.with_high_opcode(f(53, 1));
pub(super) static MTBUF_6: Layout = make(
    2,
    MTBUF_PREFIX,
    f(16, 3),
    BUFFER_SLOTS,
    &join::<8>(&[BUFFER_MODS, &[(ADDR64, f(15, 1)), (Dmask, f(19, 7)), (SLC, f(54, 1))]]),
);
pub(super) static MTBUF_8: Layout = make(
    2,
    MTBUF_PREFIX,
    f(15, 4),
    BUFFER_SLOTS,
    &join::<7>(&[BUFFER_MODS, &[(Dmask, f(19, 7)), (SLC, f(54, 1))]]),
)
.ignoring(0x0020_0000_0000_0000);

const MIMG_SLOTS: &[(Slot, Field)] =
    &[(Ssamp, f(53, 5)), (Srsrc, f(48, 5)), (Data0, f(40, 8)), (Addr, f(32, 8))];
/// Modifiers that images have on all generations.
const MIMG_MODS: &[(Mod, Field)] = &[
    (Dmask, f(8, 4)),
    (Flag(ModFlags::UNORM), f(12, 1)),
    (GLC, f(13, 1)),
    (Flag(ModFlags::DA), f(14, 1)),
    (TFE, f(16, 1)),
    (Flag(ModFlags::LWE), f(17, 1)),
    (SLC, f(25, 1)),
];
const MIMG_PREFIX: (u64, u8) = (0b111100, 6);
const MIMG_R128: (Mod, Field) = (Flag(ModFlags::R128), f(15, 1));
const MIMG_A16: (Mod, Field) = (Flag(ModFlags::A16), f(15, 1));
const MIMG_D16: (Mod, Field) = (Flag(ModFlags::D16), f(63, 1));
pub(super) static MIMG_6: Layout =
    make(2, MIMG_PREFIX, f(18, 7), MIMG_SLOTS, &join::<8>(&[MIMG_MODS, &[MIMG_R128]]));
pub(super) static MIMG_8: Layout =
    make(2, MIMG_PREFIX, f(18, 7), MIMG_SLOTS, &join::<9>(&[MIMG_MODS, &[MIMG_R128, MIMG_D16]]))
        .ignoring(0x7c00_0000_0000_00fe);
pub(super) static MIMG_9: Layout =
    make(2, MIMG_PREFIX, f(18, 7), MIMG_SLOTS, &join::<9>(&[MIMG_MODS, &[MIMG_A16, MIMG_D16]]))
        .ignoring(0x7c00_0000_0000_00fe);

pub(super) static MIMG_10: Layout = make(
    2,
    MIMG_PREFIX,
    f(18, 7),
    MIMG_SLOTS,
    &[
        (NsaDwords, f(1, 2)),
        (Dim, f(3, 3)),
        (DLC, f(7, 1)),
        (Dmask, f(8, 4)),
        (Flag(ModFlags::UNORM), f(12, 1)),
        (GLC, f(13, 1)),
        (Flag(ModFlags::R128), f(15, 1)),
        (TFE, f(16, 1)),
        (Flag(ModFlags::LWE), f(17, 1)),
        (SLC, f(25, 1)),
        (Flag(ModFlags::A16), f(62, 1)),
        MIMG_D16,
    ],
)
.with_high_opcode(f(0, 1))
.ignoring(0x3c00_0000_0000_4040);

pub(super) static FLAT_7: Layout = make(
    2,
    (0b110111, 6),
    f(18, 7),
    &[(Vdst, f(56, 8)), (Data0, f(40, 8)), (Addr, f(32, 8))],
    &[(GLC, f(16, 1)), (SLC, f(17, 1)), (TFE, f(55, 1))],
)
.ignoring(0xff00_ff00_0200_0000);
pub(super) static FLAT_9: Layout = make(
    2,
    (0b110111, 6),
    f(18, 7),
    &[(Vdst, f(56, 8)), (Data0, f(40, 8)), (Addr, f(32, 8))],
    &[(Offset, f(0, 12)), (Segment, f(14, 2)), (GLC, f(16, 1)), (SLC, f(17, 1)), (NV, f(55, 1))],
)
.ignoring(0xff00_ff00_0200_0000);
pub(super) static GLOBAL_9: Layout = make(
    2,
    (0b110111, 6),
    f(18, 7),
    &[(Vdst, f(56, 8)), (Saddr, f(48, 7)), (Data0, f(40, 8)), (Addr, f(32, 8))],
    &[
        (SignedOffset, f(0, 13)),
        (LDS, f(13, 1)),
        (Segment, f(14, 2)),
        (GLC, f(16, 1)),
        (SLC, f(17, 1)),
        (NV, f(55, 1)),
    ],
)
.ignoring(0xff00_ff00_0200_0000);

pub(super) static FLAT_10: Layout = make(
    2,
    (0b110111, 6),
    f(18, 7),
    &[(Vdst, f(56, 8)), (Data0, f(40, 8)), (Addr, f(32, 8))],
    &[(Offset, f(0, 11)), (DLC, f(12, 1)), (Segment, f(14, 2)), (GLC, f(16, 1)), (SLC, f(17, 1))],
)
.with_fixed(f(48, 7), 0x7d)
.ignoring(0xff80_ff00_0200_0000);
pub(super) static GLOBAL_10: Layout = make(
    2,
    (0b110111, 6),
    f(18, 7),
    &[(Vdst, f(56, 8)), (Saddr, f(48, 7)), (Data0, f(40, 8)), (Addr, f(32, 8))],
    &[
        (SignedOffset, f(0, 12)),
        (DLC, f(12, 1)),
        (LDS, f(13, 1)),
        (Segment, f(14, 2)),
        (GLC, f(16, 1)),
        (SLC, f(17, 1)),
    ],
)
.ignoring(0xff80_ff00_0200_0000);

const EXP_SLOTS: &[(Slot, Field)] = &[
    (Slot::Target, f(4, 6)),
    (Slot::Exp0, f(32, 8)),
    (Slot::Exp1, f(40, 8)),
    (Slot::Exp2, f(48, 8)),
    (Slot::Exp3, f(56, 8)),
];
const EXP_MODS: &[(Mod, Field)] = &[
    (Dmask, f(0, 4)),
    (Flag(ModFlags::COMPR), f(10, 1)),
    (Flag(ModFlags::DONE), f(11, 1)),
    (Flag(ModFlags::VM), f(12, 1)),
];
pub(super) static EXP_6: Layout = make(2, (0b111110, 6), f(0, 0), EXP_SLOTS, EXP_MODS);
pub(super) static EXP_8: Layout = make(2, (0b110001, 6), f(0, 0), EXP_SLOTS, EXP_MODS).ignoring(0x03ff_e000);

pub(super) static EXP_10: Layout = make(2, (0b111110, 6), f(0, 0), EXP_SLOTS, EXP_MODS).ignoring(0x03ff_e000);

/// Destination control of SDWA.
const SDWA_DST: &[(Mod, Field)] = &[(DstSel, f(40, 3)), (DstUnused, f(43, 2)), (CLAMP, f(45, 1))];
/// Source control of SDWA.
const SDWA_SRC: &[(Mod, Field)] = &[
    (SrcSel0, f(48, 3)),
    (Sext0, f(51, 1)),
    (Neg0, f(52, 1)),
    (Abs0, f(53, 1)),
    (SrcSel1, f(56, 3)),
    (Sext1, f(59, 1)),
    (Neg1, f(60, 1)),
    (Abs1, f(61, 1)),
];
/// What GFX9 added: scalar sources.
const SDWA_SCALARS: &[(Mod, Field)] = &[(Scalar0, f(55, 1)), (Scalar1, f(63, 1))];
static SDWA_8: [(Mod, Field); 11] = join(&[SDWA_DST, SDWA_SRC]);
static SDWA_8_CMP: [(Mod, Field); 9] = join(&[&[(CLAMP, f(45, 1))], SDWA_SRC]);
static SDWA_9: [(Mod, Field); 14] = join(&[SDWA_DST, SDWA_SRC, &[(Omod, f(46, 2))], SDWA_SCALARS]);
static SDWA_9_CMP: [(Mod, Field); 11] = join(&[SDWA_SRC, &[(ScalarDst, f(47, 1))], SDWA_SCALARS]);
const DPP_MODS: &[(Mod, Field)] = &[
    (DppCtrl, f(40, 9)),
    (BoundCtrl, f(51, 1)),
    (Neg0, f(52, 1)),
    (Abs0, f(53, 1)),
    (Neg1, f(54, 1)),
    (Abs1, f(55, 1)),
    (BankMask, f(56, 4)),
    (RowMask, f(60, 4)),
];
/// What GFX10 added: inactive lanes.
static DPP_MODS_10: [(Mod, Field); 9] = join(&[DPP_MODS, &[(FetchInactive, f(50, 1))]]);
const DPP8_MODS: &[(Mod, Field)] = &[(Dpp8Marker, f(0, 9)), (Dpp8Lanes, f(40, 24))];
const ABSENT: Field = Field::ABSENT;
const SRC1: Field = f(9, 8);
pub(super) static VOP1_SDWA_8: Layout =
    extend(&VOP1, SDWA_MARK, ABSENT, None, &SDWA_8).ignoring(0xc0c0_c000_0000_0000);
pub(super) static VOP2_SDWA_8: Layout =
    extend(&VOP2, SDWA_MARK, SRC1, None, &SDWA_8).ignoring(0xc0c0_c000_0000_0000);
pub(super) static VOPC_SDWA_8: Layout =
    extend(&VOPC, SDWA_MARK, SRC1, None, &SDWA_8_CMP).ignoring(0xc0c0_df00_0000_0000);
pub(super) static VOP1_SDWA_9: Layout =
    extend(&VOP1, SDWA_MARK, ABSENT, None, &SDWA_9).ignoring(0x4040_0000_0000_0000);
pub(super) static VOP2_SDWA_9: Layout =
    extend(&VOP2, SDWA_MARK, SRC1, None, &SDWA_9).ignoring(0x4040_0000_0000_0000);
pub(super) static VOPC_SDWA_9: Layout =
    extend(&VOPC, SDWA_MARK, SRC1, Some(f(40, 7)), &SDWA_9_CMP).ignoring(0x4040_0000_0000_0000);
pub(super) static VOP1_DPP: Layout =
    extend(&VOP1, DPP_MARK, ABSENT, None, DPP_MODS).ignoring(0x0006_00ff_0000_0000);
pub(super) static VOP2_DPP: Layout =
    extend(&VOP2, DPP_MARK, SRC1, None, DPP_MODS).ignoring(0x0006_0000_0000_0000);
pub(super) static VOP1_DPP_10: Layout =
    extend(&VOP1, DPP_MARK, ABSENT, None, &DPP_MODS_10).ignoring(0x0002_00ff_0000_0000);
pub(super) static VOP2_DPP_10: Layout =
    extend(&VOP2, DPP_MARK, SRC1, None, &DPP_MODS_10).ignoring(0x0002_0000_0000_0000);
/// The marker is not fixed: there are two of them.
pub(super) static VOP1_DPP8: Layout =
    extend(&VOP1, DPP8_MARK[0], ABSENT, None, DPP8_MODS).without_fixed(f(0, 9));
pub(super) static VOP2_DPP8: Layout =
    extend(&VOP2, DPP8_MARK[0], SRC1, None, DPP8_MODS).without_fixed(f(0, 9));
