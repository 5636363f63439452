//! One-source scalar instructions.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! sop1 { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(S_MOV_B32, Sop1, [0x03, 0x03, 0x00, 0x00, 0x03], d(S, 1, B32) s(SS, 1, B32), COPY);
    row!(S_MOV_B64, Sop1, [0x04, 0x04, 0x01, 0x01, 0x04], d(S, 2, B64) s(SS, 2, B64), COPY);
    row!(S_CMOV_B32, Sop1, [0x05, 0x05, 0x02, 0x02, 0x05], x(S, 1, B32) s(SS, 1, B32), SCC_USE | COPY);
    row!(S_CMOV_B64, Sop1, [0x06, 0x06, 0x03, 0x03, 0x06], x(S, 2, B64) s(SS, 2, B64), SCC_USE | COPY);
    row!(S_NOT_B32, Sop1, [0x07, 0x07, 0x04, 0x04, 0x07], d(S, 1, B32) s(SS, 1, B32), SCC_DEF);
    row!(S_NOT_B64, Sop1, [0x08, 0x08, 0x05, 0x05, 0x08], d(S, 2, B64) s(SS, 2, B64), SCC_DEF);
    row!(S_WQM_B32, Sop1, [0x09, 0x09, 0x06, 0x06, 0x09], d(S, 1, B32) s(SS, 1, B32), SCC_DEF);
    row!(S_WQM_B64, Sop1, [0x0a, 0x0a, 0x07, 0x07, 0x0a], d(S, 2, B64) s(SS, 2, B64), SCC_DEF);
    row!(S_BREV_B32, Sop1, [0x0b, 0x0b, 0x08, 0x08, 0x0b], d(S, 1, B32) s(SS, 1, B32), NONE);
    row!(S_BREV_B64, Sop1, [0x0c, 0x0c, 0x09, 0x09, 0x0c], d(S, 2, B64) s(SS, 2, B64), NONE);
    row!(S_BCNT0_I32_B32, Sop1, [0x0d, 0x0d, 0x0a, 0x0a, 0x0d], d(S, 1, I32) s(SS, 1, B32), SCC_DEF);
    row!(S_BCNT0_I32_B64, Sop1, [0x0e, 0x0e, 0x0b, 0x0b, 0x0e], d(S, 1, I32) s(SS, 2, B64), SCC_DEF);
    row!(S_BCNT1_I32_B32, Sop1, [0x0f, 0x0f, 0x0c, 0x0c, 0x0f], d(S, 1, I32) s(SS, 1, B32), SCC_DEF);
    row!(S_BCNT1_I32_B64, Sop1, [0x10, 0x10, 0x0d, 0x0d, 0x10], d(S, 1, I32) s(SS, 2, B64), SCC_DEF);
    row!(S_FF0_I32_B32, Sop1, [0x11, 0x11, 0x0e, 0x0e, 0x11], d(S, 1, I32) s(SS, 1, B32), NONE);
    row!(S_FF0_I32_B64, Sop1, [0x12, 0x12, 0x0f, 0x0f, 0x12], d(S, 1, I32) s(SS, 2, B64), NONE);
    row!(S_FF1_I32_B32, Sop1, [0x13, 0x13, 0x10, 0x10, 0x13], d(S, 1, I32) s(SS, 1, B32), NONE);
    row!(S_FF1_I32_B64, Sop1, [0x14, 0x14, 0x11, 0x11, 0x14], d(S, 1, I32) s(SS, 2, B64), NONE);
    row!(S_FLBIT_I32_B32, Sop1, [0x15, 0x15, 0x12, 0x12, 0x15], d(S, 1, I32) s(SS, 1, B32), NONE);
    row!(S_FLBIT_I32_B64, Sop1, [0x16, 0x16, 0x13, 0x13, 0x16], d(S, 1, I32) s(SS, 2, B64), NONE);
    row!(S_FLBIT_I32, Sop1, [0x17, 0x17, 0x14, 0x14, 0x17], d(S, 1, I32) s(SS, 1, I32), NONE);
    row!(S_FLBIT_I32_I64, Sop1, [0x18, 0x18, 0x15, 0x15, 0x18], d(S, 1, I32) s(SS, 2, I64), NONE);
    row!(S_SEXT_I32_I8, Sop1, [0x19, 0x19, 0x16, 0x16, 0x19], d(S, 1, I32) s(SS, 1, I32), NONE);
    row!(S_SEXT_I32_I16, Sop1, [0x1a, 0x1a, 0x17, 0x17, 0x1a], d(S, 1, I32) s(SS, 1, I32), NONE);
    row!(S_BITSET0_B32, Sop1, [0x1b, 0x1b, 0x18, 0x18, 0x1b], x(S, 1, B32) s(SS, 1, B32), NONE);
    row!(S_BITSET0_B64, Sop1, [0x1c, 0x1c, 0x19, 0x19, 0x1c], x(S, 2, B64) s(SS, 1, B32), NONE);
    row!(S_BITSET1_B32, Sop1, [0x1d, 0x1d, 0x1a, 0x1a, 0x1d], x(S, 1, B32) s(SS, 1, B32), NONE);
    row!(S_BITSET1_B64, Sop1, [0x1e, 0x1e, 0x1b, 0x1b, 0x1e], x(S, 2, B64) s(SS, 1, B32), NONE);
    row!(S_GETPC_B64, Sop1, [0x1f, 0x1f, 0x1c, 0x1c, 0x1f], d(S, 2, B64), NONE);
    row!(S_SETPC_B64, Sop1, [0x20, 0x20, 0x1d, 0x1d, 0x20], s(S, 2, B64), BRANCH);
    row!(S_SWAPPC_B64, Sop1, [0x21, 0x21, 0x1e, 0x1e, 0x21], d(S, 2, B64) s(SS, 2, B64), BRANCH);
    row!(S_RFE_B64, Sop1, [0x22, 0x22, 0x1f, 0x1f, 0x22], s(S, 2, B64), BRANCH | SIDE_EFFECTS);
    row!(S_AND_SAVEEXEC_B64, Sop1, [0x24, 0x24, 0x20, 0x20, 0x24], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_OR_SAVEEXEC_B64, Sop1, [0x25, 0x25, 0x21, 0x21, 0x25], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_XOR_SAVEEXEC_B64, Sop1, [0x26, 0x26, 0x22, 0x22, 0x26], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ANDN2_SAVEEXEC_B64, Sop1, [0x27, 0x27, 0x23, 0x23, 0x27], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ORN2_SAVEEXEC_B64, Sop1, [0x28, 0x28, 0x24, 0x24, 0x28], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_NAND_SAVEEXEC_B64, Sop1, [0x29, 0x29, 0x25, 0x25, 0x29], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_NOR_SAVEEXEC_B64, Sop1, [0x2a, 0x2a, 0x26, 0x26, 0x2a], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_XNOR_SAVEEXEC_B64, Sop1, [0x2b, 0x2b, 0x27, 0x27, 0x2b], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_QUADMASK_B32, Sop1, [0x2c, 0x2c, 0x28, 0x28, 0x2c], d(S, 1, B32) s(SS, 1, B32), NONE);
    row!(S_QUADMASK_B64, Sop1, [0x2d, 0x2d, 0x29, 0x29, 0x2d], d(S, 2, B64) s(SS, 2, B64), NONE);
    row!(S_MOVRELS_B32, Sop1, [0x2e, 0x2e, 0x2a, 0x2a, 0x2e], d(S, 1, B32) s(S, 1, B32), M0_USE | COPY);
    row!(S_MOVRELS_B64, Sop1, [0x2f, 0x2f, 0x2b, 0x2b, 0x2f], d(S, 2, B64) s(S, 2, B64), M0_USE | COPY);
    row!(S_MOVRELD_B32, Sop1, [0x30, 0x30, 0x2c, 0x2c, 0x30], x(S, 1, B32) s(SS, 1, B32), M0_USE | COPY);
    row!(S_MOVRELD_B64, Sop1, [0x31, 0x31, 0x2d, 0x2d, 0x31], x(S, 2, B64) s(SS, 2, B64), M0_USE | COPY);
    row!(S_CBRANCH_JOIN, Sop1, [0x32, 0x32, 0x2e, 0x2e, -1], s(S, 1, B32), BRANCH | SIDE_EFFECTS);
    row!(S_ABS_I32, Sop1, [0x34, 0x34, 0x30, 0x30, 0x34], d(S, 1, I32) s(SS, 1, I32), SCC_DEF);
    row!(S_SET_GPR_IDX_IDX, Sop1, [-1, -1, 0x32, 0x32, -1], s(SS, 1, B32), M0_USE | M0_DEF | MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_ANDN1_SAVEEXEC_B64, Sop1, [-1, -1, -1, 0x33, 0x37], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ORN1_SAVEEXEC_B64, Sop1, [-1, -1, -1, 0x34, 0x38], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ANDN1_WREXEC_B64, Sop1, [-1, -1, -1, 0x35, 0x39], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ANDN2_WREXEC_B64, Sop1, [-1, -1, -1, 0x36, 0x3a], d(S, 2, B64) s(SS, 2, B64), SCC_DEF | EXEC_DEF | EXEC_USE);
    // For waves of 32 lanes.
    row!(S_AND_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x3c], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_OR_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x3d], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_XOR_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x3e], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ANDN2_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x3f], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ORN2_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x40], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_NAND_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x41], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_NOR_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x42], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_XNOR_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x43], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ANDN1_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x44], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ORN1_SAVEEXEC_B32, Sop1, [-1, -1, -1, -1, 0x45], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ANDN1_WREXEC_B32, Sop1, [-1, -1, -1, -1, 0x46], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_ANDN2_WREXEC_B32, Sop1, [-1, -1, -1, -1, 0x47], d(S, 1, B32) s(SS, 1, B32), SCC_DEF | EXEC_DEF | EXEC_USE);
    row!(S_BITREPLICATE_B64_B32, Sop1, [-1, -1, -1, 0x37, 0x3b], d(S, 2, B64) s(SS, 1, B32), NONE);
    row!(S_MOVRELSD_2_B32, Sop1, [-1, -1, -1, -1, 0x49], x(S, 1, B32) s(S, 1, B32), M0_USE | COPY);
} } }
pub(super) use sop1;
