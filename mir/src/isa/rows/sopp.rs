//! Program control: no data operands.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! sopp { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(S_NOP, Sopp, [0x00, 0x00, 0x00, 0x00, 0x00], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_ENDPGM, Sopp, [0x01, 0x01, 0x01, 0x01, -1], s(OPT, 0, U16), BRANCH | SIDE_EFFECTS);
    row!(S_BRANCH, Sopp, [0x02, 0x02, 0x02, 0x02, -1], s(LABEL, 0, I16), BRANCH);
    row!(S_WAKEUP, Sopp, [-1, -1, 0x03, 0x03, -1], (), SIDE_EFFECTS);
    row!(S_CBRANCH_SCC0, Sopp, [0x04, 0x04, 0x04, 0x04, -1], s(LABEL, 0, I16), SCC_USE | BRANCH);
    row!(S_CBRANCH_SCC1, Sopp, [0x05, 0x05, 0x05, 0x05, -1], s(LABEL, 0, I16), SCC_USE | BRANCH);
    row!(S_CBRANCH_VCCZ, Sopp, [0x06, 0x06, 0x06, 0x06, -1], s(LABEL, 0, I16), VCC_USE | BRANCH);
    row!(S_CBRANCH_VCCNZ, Sopp, [0x07, 0x07, 0x07, 0x07, -1], s(LABEL, 0, I16), VCC_USE | BRANCH);
    row!(S_CBRANCH_EXECZ, Sopp, [0x08, 0x08, 0x08, 0x08, -1], s(LABEL, 0, I16), EXEC_USE | BRANCH);
    row!(S_CBRANCH_EXECNZ, Sopp, [0x09, 0x09, 0x09, 0x09, -1], s(LABEL, 0, I16), EXEC_USE | BRANCH);
    row!(S_BARRIER, Sopp, [0x0a, 0x0a, 0x0a, 0x0a, -1], (), SIDE_EFFECTS | BARRIER);
    row!(S_SETKILL, Sopp, [0x0b, 0x0b, 0x0b, 0x0b, -1], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_WAITCNT, Sopp, [0x0c, 0x0c, 0x0c, 0x0c, 0x0c], s(WAIT, 0, U16), SIDE_EFFECTS);
    row!(S_SETHALT, Sopp, [0x0d, 0x0d, 0x0d, 0x0d, -1], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_SLEEP, Sopp, [0x0e, 0x0e, 0x0e, 0x0e, -1], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_SETPRIO, Sopp, [0x0f, 0x0f, 0x0f, 0x0f, -1], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_SENDMSG, Sopp, [0x10, 0x10, 0x10, 0x10, -1], s(MSG, 0, U16), EXEC_USE | M0_USE | SIDE_EFFECTS | LGKM);
    row!(S_SENDMSGHALT, Sopp, [0x11, 0x11, 0x11, 0x11, -1], s(MSG, 0, U16), EXEC_USE | M0_USE | SIDE_EFFECTS | LGKM);
    row!(S_TRAP, Sopp, [0x12, 0x12, 0x12, 0x12, -1], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_ICACHE_INV, Sopp, [0x13, 0x13, 0x13, 0x13, -1], (), SIDE_EFFECTS);
    row!(S_INCPERFLEVEL, Sopp, [0x14, 0x14, 0x14, 0x14, -1], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_DECPERFLEVEL, Sopp, [0x15, 0x15, 0x15, 0x15, -1], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_TTRACEDATA, Sopp, [0x16, 0x16, 0x16, 0x16, -1], (), M0_USE | SIDE_EFFECTS);
    row!(S_CBRANCH_CDBGSYS, Sopp, [0x17, 0x17, 0x17, 0x17, -1], s(LABEL, 0, I16), BRANCH);
    row!(S_CBRANCH_CDBGUSER, Sopp, [0x18, 0x18, 0x18, 0x18, -1], s(LABEL, 0, I16), BRANCH);
    row!(S_CBRANCH_CDBGSYS_OR_USER, Sopp, [0x19, 0x19, 0x19, 0x19, -1], s(LABEL, 0, I16), BRANCH);
    row!(S_CBRANCH_CDBGSYS_AND_USER, Sopp, [0x1a, 0x1a, 0x1a, 0x1a, -1], s(LABEL, 0, I16), BRANCH);
    row!(S_ENDPGM_SAVED, Sopp, [-1, -1, 0x1b, 0x1b, -1], (), BRANCH | SIDE_EFFECTS);
    row!(S_SET_GPR_IDX_OFF, Sopp, [-1, -1, 0x1c, 0x1c, -1], (), MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_SET_GPR_IDX_MODE, Sopp, [-1, -1, 0x1d, 0x1d, -1], s(SIMM, 0, U16), M0_DEF | MODE_USE | MODE_DEF | SIDE_EFFECTS);
    row!(S_WAITCNT_DEPCTR, Sopp, [-1, -1, -1, -1, 0x23], s(SIMM, 0, U16), SIDE_EFFECTS);
    row!(S_ENDPGM_ORDERED_PS_DONE, Sopp, [-1, -1, -1, 0x1e, -1], (), BRANCH | SIDE_EFFECTS);
} } }
pub(super) use sopp;
