//! Program control: no data operands.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! sopp { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(S_NOP, Sopp, [0x00, 0x00, 0x00, 0x00, 0x00], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_ENDPGM, Sopp, [0x01, 0x01, 0x01, 0x01, 0x01], s(OPT, 0, U16), BRANCH | SIDE_EFFECTS);
    row!(S_BRANCH, Sopp, [0x02, 0x02, 0x02, 0x02, 0x02], s(LABEL, 0, I16), BRANCH);
    row!(S_WAKEUP, Sopp, [-1, -1, 0x03, 0x03, 0x03], (), SIDE_EFFECTS);
    row!(S_CBRANCH_SCC0, Sopp, [0x04, 0x04, 0x04, 0x04, 0x04], s(LABEL, 0, I16), SCC_USE | BRANCH);
    row!(S_CBRANCH_SCC1, Sopp, [0x05, 0x05, 0x05, 0x05, 0x05], s(LABEL, 0, I16), SCC_USE | BRANCH);
    row!(S_CBRANCH_VCCZ, Sopp, [0x06, 0x06, 0x06, 0x06, 0x06], s(LABEL, 0, I16), VCC_USE | BRANCH);
    row!(S_CBRANCH_VCCNZ, Sopp, [0x07, 0x07, 0x07, 0x07, 0x07], s(LABEL, 0, I16), VCC_USE | BRANCH);
    row!(S_CBRANCH_EXECZ, Sopp, [0x08, 0x08, 0x08, 0x08, 0x08], s(LABEL, 0, I16), EXEC_USE | BRANCH);
    row!(S_CBRANCH_EXECNZ, Sopp, [0x09, 0x09, 0x09, 0x09, 0x09], s(LABEL, 0, I16), EXEC_USE | BRANCH);
    row!(S_BARRIER, Sopp, [0x0a, 0x0a, 0x0a, 0x0a, 0x0a], (), SIDE_EFFECTS | BARRIER);
    row!(S_SETKILL, Sopp, [0x0b, 0x0b, 0x0b, 0x0b, 0x0b], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_WAITCNT, Sopp, [0x0c, 0x0c, 0x0c, 0x0c, 0x0c], s(WAIT, 0, U16), SIDE_EFFECTS);
    row!(S_SETHALT, Sopp, [0x0d, 0x0d, 0x0d, 0x0d, 0x0d], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_SLEEP, Sopp, [0x0e, 0x0e, 0x0e, 0x0e, 0x0e], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_SETPRIO, Sopp, [0x0f, 0x0f, 0x0f, 0x0f, 0x0f], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_SENDMSG, Sopp, [0x10, 0x10, 0x10, 0x10, 0x10], s(MSG, 0, U16), EXEC_USE | M0_USE | SIDE_EFFECTS | LGKM);
    row!(S_SENDMSGHALT, Sopp, [0x11, 0x11, 0x11, 0x11, 0x11], s(MSG, 0, U16), EXEC_USE | M0_USE | SIDE_EFFECTS | LGKM);
    row!(S_TRAP, Sopp, [0x12, 0x12, 0x12, 0x12, 0x12], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_ICACHE_INV, Sopp, [0x13, 0x13, 0x13, 0x13, 0x13], (), SIDE_EFFECTS);
    row!(S_INCPERFLEVEL, Sopp, [0x14, 0x14, 0x14, 0x14, 0x14], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_DECPERFLEVEL, Sopp, [0x15, 0x15, 0x15, 0x15, 0x15], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_TTRACEDATA, Sopp, [0x16, 0x16, 0x16, 0x16, 0x16], (), M0_USE | SIDE_EFFECTS);
    row!(S_CBRANCH_CDBGSYS, Sopp, [0x17, 0x17, 0x17, 0x17, 0x17], s(LABEL, 0, I16), BRANCH);
    row!(S_CBRANCH_CDBGUSER, Sopp, [0x18, 0x18, 0x18, 0x18, 0x18], s(LABEL, 0, I16), BRANCH);
    row!(S_CBRANCH_CDBGSYS_OR_USER, Sopp, [0x19, 0x19, 0x19, 0x19, 0x19], s(LABEL, 0, I16), BRANCH);
    row!(S_CBRANCH_CDBGSYS_AND_USER, Sopp, [0x1a, 0x1a, 0x1a, 0x1a, 0x1a], s(LABEL, 0, I16), BRANCH);
    row!(S_ENDPGM_SAVED, Sopp, [-1, -1, 0x1b, 0x1b, 0x1b], (), BRANCH | SIDE_EFFECTS);
    row!(S_SET_GPR_IDX_OFF, Sopp, [-1, -1, 0x1c, 0x1c, -1], (), MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_SET_GPR_IDX_MODE, Sopp, [-1, -1, 0x1d, 0x1d, -1], s(SIMM, 0, U16), M0_DEF | MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_WAITCNT_DEPCTR, Sopp, [-1, -1, -1, -1, 0x23], s(DEPCTR, 0, U16), SIDE_EFFECTS);
    row!(S_ENDPGM_ORDERED_PS_DONE, Sopp, [-1, -1, -1, 0x1e, 0x1e], (), BRANCH | SIDE_EFFECTS);
    row!(S_CODE_END, Sopp, [-1, -1, -1, -1, 0x1f], (), SIDE_EFFECTS);
    row!(S_INST_PREFETCH, Sopp, [-1, -1, -1, -1, 0x20], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_CLAUSE, Sopp, [-1, -1, -1, -1, 0x21], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_WAIT_IDLE, Sopp, [-1, -1, -1, -1, 0x22], (), SIDE_EFFECTS);
    row!(S_ROUND_MODE, Sopp, [-1, -1, -1, -1, 0x24], s(SIMM, 0, U16), MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_DENORM_MODE, Sopp, [-1, -1, -1, -1, 0x25], s(SIMM, 0, U16), MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_TTRACEDATA_IMM, Sopp, [-1, -1, -1, -1, 0x28], s(SIMM, 0, U16), SIDE_EFFECTS);
} } }
pub(super) use sopp;
