//! Scalar comparisons: they write SCC only.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! sopc { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(S_CMP_EQ_I32, Sopc, [0x00, 0x00, 0x00, 0x00, 0x00], s(SS, 1, I32) s(SS, 1, I32), SCC_DEF | COMMUTES);
    row!(S_CMP_LG_I32, Sopc, [0x01, 0x01, 0x01, 0x01, 0x01], s(SS, 1, I32) s(SS, 1, I32), SCC_DEF | COMMUTES);
    row!(S_CMP_GT_I32, Sopc, [0x02, 0x02, 0x02, 0x02, 0x02], s(SS, 1, I32) s(SS, 1, I32), SCC_DEF);
    row!(S_CMP_GE_I32, Sopc, [0x03, 0x03, 0x03, 0x03, 0x03], s(SS, 1, I32) s(SS, 1, I32), SCC_DEF);
    row!(S_CMP_LT_I32, Sopc, [0x04, 0x04, 0x04, 0x04, 0x04], s(SS, 1, I32) s(SS, 1, I32), SCC_DEF);
    row!(S_CMP_LE_I32, Sopc, [0x05, 0x05, 0x05, 0x05, 0x05], s(SS, 1, I32) s(SS, 1, I32), SCC_DEF);
    row!(S_CMP_EQ_U32, Sopc, [0x06, 0x06, 0x06, 0x06, 0x06], s(SS, 1, U32) s(SS, 1, U32), SCC_DEF | COMMUTES);
    row!(S_CMP_LG_U32, Sopc, [0x07, 0x07, 0x07, 0x07, 0x07], s(SS, 1, U32) s(SS, 1, U32), SCC_DEF | COMMUTES);
    row!(S_CMP_GT_U32, Sopc, [0x08, 0x08, 0x08, 0x08, 0x08], s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_CMP_GE_U32, Sopc, [0x09, 0x09, 0x09, 0x09, 0x09], s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_CMP_LT_U32, Sopc, [0x0a, 0x0a, 0x0a, 0x0a, 0x0a], s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_CMP_LE_U32, Sopc, [0x0b, 0x0b, 0x0b, 0x0b, 0x0b], s(SS, 1, U32) s(SS, 1, U32), SCC_DEF);
    row!(S_BITCMP0_B32, Sopc, [0x0c, 0x0c, 0x0c, 0x0c, 0x0c], s(SS, 1, B32) s(SS, 1, B32), SCC_DEF);
    row!(S_BITCMP1_B32, Sopc, [0x0d, 0x0d, 0x0d, 0x0d, 0x0d], s(SS, 1, B32) s(SS, 1, B32), SCC_DEF);
    row!(S_BITCMP0_B64, Sopc, [0x0e, 0x0e, 0x0e, 0x0e, 0x0e], s(SS, 2, B64) s(SS, 1, B32), SCC_DEF);
    row!(S_BITCMP1_B64, Sopc, [0x0f, 0x0f, 0x0f, 0x0f, 0x0f], s(SS, 2, B64) s(SS, 1, B32), SCC_DEF);
    row!(S_SETVSKIP, Sopc, [0x10, 0x10, 0x10, 0x10, -1], s(SS, 1, B32) s(SS, 1, B32), MODE_DEF | SIDE_EFFECTS);
    row!(S_SET_GPR_IDX_ON, Sopc, [-1, -1, 0x11, 0x11, -1], s(SS, 1, B32) s(SIMM, 0, U16), M0_USE | M0_DEF | MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_CMP_EQ_U64, Sopc, [-1, -1, 0x12, 0x12, 0x12], s(SS, 2, U64) s(SS, 2, U64), SCC_DEF | COMMUTES);
    row!(S_CMP_LG_U64, Sopc, [-1, -1, 0x13, 0x13, 0x13], s(SS, 2, U64) s(SS, 2, U64), SCC_DEF | COMMUTES);
} } }
pub(super) use sopc;
