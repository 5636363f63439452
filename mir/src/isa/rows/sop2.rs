//! Two-source scalar instructions.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! sop2 { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(S_ADD_U32, Sop2, [0x00, 0x00, 0x00, 0x00, 0x00], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF | COMMUTES);
    row!(S_SUB_U32, Sop2, [0x01, 0x01, 0x01, 0x01, 0x01], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_ADD_I32, Sop2, [0x02, 0x02, 0x02, 0x02, 0x02], d(S, 1, I32) s(SS, 1, I32) s(SS, 1, I32), SCC_DEF | COMMUTES);
    row!(S_SUB_I32, Sop2, [0x03, 0x03, 0x03, 0x03, 0x03], d(S, 1, I32) s(SS, 1, I32) s(SS, 1, I32), SCC_DEF);
    row!(S_ADDC_U32, Sop2, [0x04, 0x04, 0x04, 0x04, 0x04], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF | SCC_USE | COMMUTES);
    row!(S_SUBB_U32, Sop2, [0x05, 0x05, 0x05, 0x05, 0x05], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF | SCC_USE);
    row!(S_MIN_I32, Sop2, [0x06, 0x06, 0x06, 0x06, 0x06], d(S, 1, I32) s(SS, 1, I32) s(SS, 1, I32), SCC_DEF | COMMUTES);
    row!(S_MIN_U32, Sop2, [0x07, 0x07, 0x07, 0x07, 0x07], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF | COMMUTES);
    row!(S_MAX_I32, Sop2, [0x08, 0x08, 0x08, 0x08, 0x08], d(S, 1, I32) s(SS, 1, I32) s(SS, 1, I32), SCC_DEF | COMMUTES);
    row!(S_MAX_U32, Sop2, [0x09, 0x09, 0x09, 0x09, 0x09], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF | COMMUTES);
    row!(S_CSELECT_B32, Sop2, [0x0a, 0x0a, 0x0a, 0x0a, 0x0a], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_USE | COPY);
    row!(S_CSELECT_B64, Sop2, [0x0b, 0x0b, 0x0b, 0x0b, 0x0b], d(S, 2, B64) s(SS, 2, B64) s(SS, 2, B64), SCC_USE | COPY);
    row!(S_AND_B32, Sop2, [0x0e, 0x0e, 0x0c, 0x0c, 0x0e], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF | COMMUTES);
    row!(S_AND_B64, Sop2, [0x0f, 0x0f, 0x0d, 0x0d, 0x0f], d(S, 2, B64) s(SS, 2, B64) s(SS, 2, B64), SCC_DEF | COMMUTES);
    row!(S_OR_B32, Sop2, [0x10, 0x10, 0x0e, 0x0e, 0x10], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF | COMMUTES);
    row!(S_OR_B64, Sop2, [0x11, 0x11, 0x0f, 0x0f, 0x11], d(S, 2, B64) s(SS, 2, B64) s(SS, 2, B64), SCC_DEF | COMMUTES);
    row!(S_XOR_B32, Sop2, [0x12, 0x12, 0x10, 0x10, 0x12], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF | COMMUTES);
    row!(S_XOR_B64, Sop2, [0x13, 0x13, 0x11, 0x11, 0x13], d(S, 2, B64) s(SS, 2, B64) s(SS, 2, B64), SCC_DEF | COMMUTES);
    row!(S_ANDN2_B32, Sop2, [0x14, 0x14, 0x12, 0x12, 0x14], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF);
    row!(S_ANDN2_B64, Sop2, [0x15, 0x15, 0x13, 0x13, 0x15], d(S, 2, B64) s(SS, 2, B64) s(SS, 2, B64), SCC_DEF);
    row!(S_ORN2_B32, Sop2, [0x16, 0x16, 0x14, 0x14, 0x16], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF);
    row!(S_ORN2_B64, Sop2, [0x17, 0x17, 0x15, 0x15, 0x17], d(S, 2, B64) s(SS, 2, B64) s(SS, 2, B64), SCC_DEF);
    row!(S_NAND_B32, Sop2, [0x18, 0x18, 0x16, 0x16, 0x18], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF | COMMUTES);
    row!(S_NAND_B64, Sop2, [0x19, 0x19, 0x17, 0x17, 0x19], d(S, 2, B64) s(SS, 2, B64) s(SS, 2, B64), SCC_DEF | COMMUTES);
    row!(S_NOR_B32, Sop2, [0x1a, 0x1a, 0x18, 0x18, 0x1a], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF | COMMUTES);
    row!(S_NOR_B64, Sop2, [0x1b, 0x1b, 0x19, 0x19, 0x1b], d(S, 2, B64) s(SS, 2, B64) s(SS, 2, B64), SCC_DEF | COMMUTES);
    row!(S_XNOR_B32, Sop2, [0x1c, 0x1c, 0x1a, 0x1a, 0x1c], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF | COMMUTES);
    row!(S_XNOR_B64, Sop2, [0x1d, 0x1d, 0x1b, 0x1b, 0x1d], d(S, 2, B64) s(SS, 2, B64) s(SS, 2, B64), SCC_DEF | COMMUTES);
    row!(S_LSHL_B32, Sop2, [0x1e, 0x1e, 0x1c, 0x1c, 0x1e], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF);
    row!(S_LSHL_B64, Sop2, [0x1f, 0x1f, 0x1d, 0x1d, 0x1f], d(S, 2, B64) s(SS, 2, B64) s(SS, 1, B32), SCC_DEF);
    row!(S_LSHR_B32, Sop2, [0x20, 0x20, 0x1e, 0x1e, 0x20], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), SCC_DEF);
    row!(S_LSHR_B64, Sop2, [0x21, 0x21, 0x1f, 0x1f, 0x21], d(S, 2, B64) s(SS, 2, B64) s(SS, 1, B32), SCC_DEF);
    row!(S_ASHR_I32, Sop2, [0x22, 0x22, 0x20, 0x20, 0x22], d(S, 1, I32) s(SS, 1, I32) s(SS, 1, I32), SCC_DEF);
    row!(S_ASHR_I64, Sop2, [0x23, 0x23, 0x21, 0x21, 0x23], d(S, 2, I64) s(SS, 2, I64) s(SS, 1, B32), SCC_DEF);
    row!(S_BFM_B32, Sop2, [0x24, 0x24, 0x22, 0x22, 0x24], d(S, 1, B32) s(SS, 1, B32) s(SS, 1, B32), NONE);
    row!(S_BFM_B64, Sop2, [0x25, 0x25, 0x23, 0x23, 0x25], d(S, 2, B64) s(SS, 1, B32) s(SS, 1, B32), NONE);
    row!(S_MUL_I32, Sop2, [0x26, 0x26, 0x24, 0x24, 0x26], d(S, 1, I32) s(SS, 1, I32) s(SS, 1, I32), COMMUTES);
    row!(S_BFE_U32, Sop2, [0x27, 0x27, 0x25, 0x25, 0x27], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_BFE_I32, Sop2, [0x28, 0x28, 0x26, 0x26, 0x28], d(S, 1, I32) s(SS, 1, I32) s(SS, 1, I32), SCC_DEF);
    row!(S_BFE_U64, Sop2, [0x29, 0x29, 0x27, 0x27, 0x29], d(S, 2, U64) s(SS, 2, U64) s(SS, 1, B32), SCC_DEF);
    row!(S_BFE_I64, Sop2, [0x2a, 0x2a, 0x28, 0x28, 0x2a], d(S, 2, I64) s(SS, 2, I64) s(SS, 1, B32), SCC_DEF);
    row!(S_CBRANCH_G_FORK, Sop2, [0x2b, 0x2b, 0x29, 0x29, -1], s(SS, 2, B64) s(SS, 2, B64), BRANCH | SIDE_EFFECTS);
    row!(S_ABSDIFF_I32, Sop2, [0x2c, 0x2c, 0x2a, 0x2a, 0x2c], d(S, 1, I32) s(SS, 1, I32) s(SS, 1, I32), SCC_DEF | COMMUTES);
    row!(S_RFE_RESTORE_B64, Sop2, [-1, -1, 0x2b, 0x2b, -1], s(SS, 2, B64) s(SS, 1, B32), BRANCH | SIDE_EFFECTS);
    row!(S_MUL_HI_U32, Sop2, [-1, -1, -1, 0x2c, 0x35], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), COMMUTES);
    row!(S_MUL_HI_I32, Sop2, [-1, -1, -1, 0x2d, 0x36], d(S, 1, I32) s(SS, 1, I32) s(SS, 1, I32), COMMUTES);
    row!(S_LSHL1_ADD_U32, Sop2, [-1, -1, -1, 0x2e, 0x2e], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_LSHL2_ADD_U32, Sop2, [-1, -1, -1, 0x2f, 0x2f], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_LSHL3_ADD_U32, Sop2, [-1, -1, -1, 0x30, 0x30], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_LSHL4_ADD_U32, Sop2, [-1, -1, -1, 0x31, 0x31], d(S, 1, U32) s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_PACK_LL_B32_B16, Sop2, [-1, -1, -1, 0x32, 0x32], d(S, 1, B32) s(SS, 1, I32) s(SS, 1, I32), NONE);
    row!(S_PACK_LH_B32_B16, Sop2, [-1, -1, -1, 0x33, 0x33], d(S, 1, B32) s(SS, 1, I32) s(SS, 1, I32), NONE);
    row!(S_PACK_HH_B32_B16, Sop2, [-1, -1, -1, 0x34, 0x34], d(S, 1, B32) s(SS, 1, I32) s(SS, 1, I32), NONE);
} } }
pub(super) use sop2;
