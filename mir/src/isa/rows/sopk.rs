//! Scalar instructions with a 16-bit immediate.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! sopk { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(S_MOVK_I32, Sopk, [0x00, 0x00, 0x00, 0x00, 0x00], d(S, 1, I32) s(SIMM, 0, I16), COPY);
    row!(S_CMOVK_I32, Sopk, [0x02, 0x02, 0x01, 0x01, 0x02], x(S, 1, I32) s(SIMM, 0, I16), SCC_USE | COPY);
    row!(S_CMPK_EQ_I32, Sopk, [0x03, 0x03, 0x02, 0x02, 0x03], s(S, 1, I32) s(SIMM, 0, I16), SCC_DEF);
    row!(S_CMPK_LG_I32, Sopk, [0x04, 0x04, 0x03, 0x03, 0x04], s(S, 1, I32) s(SIMM, 0, I16), SCC_DEF);
    row!(S_CMPK_GT_I32, Sopk, [0x05, 0x05, 0x04, 0x04, 0x05], s(S, 1, I32) s(SIMM, 0, I16), SCC_DEF);
    row!(S_CMPK_GE_I32, Sopk, [0x06, 0x06, 0x05, 0x05, 0x06], s(S, 1, I32) s(SIMM, 0, I16), SCC_DEF);
    row!(S_CMPK_LT_I32, Sopk, [0x07, 0x07, 0x06, 0x06, 0x07], s(S, 1, I32) s(SIMM, 0, I16), SCC_DEF);
    row!(S_CMPK_LE_I32, Sopk, [0x08, 0x08, 0x07, 0x07, 0x08], s(S, 1, I32) s(SIMM, 0, I16), SCC_DEF);
    row!(S_CMPK_EQ_U32, Sopk, [0x09, 0x09, 0x08, 0x08, 0x09], s(S, 1, U32) s(SIMM, 0, U16), SCC_DEF);
    row!(S_CMPK_LG_U32, Sopk, [0x0a, 0x0a, 0x09, 0x09, 0x0a], s(S, 1, U32) s(SIMM, 0, U16), SCC_DEF);
    row!(S_CMPK_GT_U32, Sopk, [0x0b, 0x0b, 0x0a, 0x0a, 0x0b], s(S, 1, U32) s(SIMM, 0, U16), SCC_DEF);
    row!(S_CMPK_GE_U32, Sopk, [0x0c, 0x0c, 0x0b, 0x0b, 0x0c], s(S, 1, U32) s(SIMM, 0, U16), SCC_DEF);
    row!(S_CMPK_LT_U32, Sopk, [0x0d, 0x0d, 0x0c, 0x0c, 0x0d], s(S, 1, U32) s(SIMM, 0, U16), SCC_DEF);
    row!(S_CMPK_LE_U32, Sopk, [0x0e, 0x0e, 0x0d, 0x0d, 0x0e], s(S, 1, U32) s(SIMM, 0, U16), SCC_DEF);
    row!(S_ADDK_I32, Sopk, [0x0f, 0x0f, 0x0e, 0x0e, 0x0f], x(S, 1, I32) s(SIMM, 0, I16), SCC_DEF);
    row!(S_MULK_I32, Sopk, [0x10, 0x10, 0x0f, 0x0f, 0x10], x(S, 1, I32) s(SIMM, 0, I16), NONE);
    row!(S_CBRANCH_I_FORK, Sopk, [0x11, 0x11, 0x10, 0x10, -1], s(S, 2, B64) s(LABEL, 0, I16), BRANCH | SIDE_EFFECTS);
    row!(S_GETREG_B32, Sopk, [0x12, 0x12, 0x11, 0x11, 0x12], d(S, 1, B32) s(HWREG, 0, U16), MODE_USE | SIDE_EFFECTS);
    row!(S_SETREG_B32, Sopk, [0x13, 0x13, 0x12, 0x12, 0x13], s(HWREG, 0, U16) s(S, 1, B32), MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_SETREG_IMM32_B32, Sopk, [0x15, 0x15, 0x14, 0x14, 0x15], s(HWREG, 0, U16) s(LIT, 1, B32), MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_WAITCNT_VSCNT, Sopk, [-1, -1, -1, -1, 0x17], s(S, 1, B32) s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_WAITCNT_VMCNT, Sopk, [-1, -1, -1, -1, 0x18], s(S, 1, B32) s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_WAITCNT_EXPCNT, Sopk, [-1, -1, -1, -1, 0x19], s(S, 1, B32) s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_WAITCNT_LGKMCNT, Sopk, [-1, -1, -1, -1, 0x1a], s(S, 1, B32) s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_CALL_B64, Sopk, [-1, -1, -1, 0x15, 0x16], d(S, 2, B64) s(LABEL, 0, I16), BRANCH);
    row!(S_VERSION, Sopk, [-1, -1, -1, -1, 0x01], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_SUBVECTOR_LOOP_BEGIN, Sopk, [-1, -1, -1, -1, 0x1b], x(S, 1, B32) s(LABEL, 0, I16), EXEC_DEF | EXEC_USE | BRANCH | SIDE_EFFECTS);
    row!(S_SUBVECTOR_LOOP_END, Sopk, [-1, -1, -1, -1, 0x1c], x(S, 1, B32) s(LABEL, 0, I16), EXEC_DEF | EXEC_USE | BRANCH | SIDE_EFFECTS);
} } }
pub(super) use sopk;
