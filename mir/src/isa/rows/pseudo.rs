//! Instructions without encoding, gone before emission.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! pseudo { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(COPY, Pseudo, [-1, -1, -1, -1, -1], d(ANY, 0, Data, dst) s(ANY, 0, Data, src), COPY);
    row!(REG_SEQUENCE, Pseudo, [-1, -1, -1, -1, -1], d(ANY, 0, Data, dst), COPY | VARIADIC);
    row!(IMPLICIT_DEF, Pseudo, [-1, -1, -1, -1, -1], d(ANY, 0, Data, dst), NONE);
    row!(FENCE, Pseudo, [-1, -1, -1, -1, -1], (), SIDE_EFFECTS | BARRIER);
    // Element `index` of a VGPR tuple, the same one in all lanes: dword `index` + modifier `offset`. All of the tuple counts as read or
    // written; emission makes indexed moves of them after waits are placed.
    row!(INDEXED_READ, Pseudo, [-1, -1, -1, -1, -1], d(V, 1, B32, dst) s(V, 0, Data, vector) s(SS, 1, B32, index), M0_DEF | SIDE_EFFECTS | COPY);
    row!(INDEXED_WRITE, Pseudo, [-1, -1, -1, -1, -1], x(V, 0, Data, vector) s(VS, 1, B32, element) s(SS, 1, B32, index), M0_DEF | SIDE_EFFECTS | COPY);
    // A call; `site` is an index into `Function::calls`, which says what else is read and written. Becomes s_swappc_b64.
    row!(CALL, Pseudo, [-1, -1, -1, -1, -1], d(S, 2, B64, link) s(S, 2, B64, target) s(IMM, 0, U32, site), BRANCH | SIDE_EFFECTS);
    // Inline assembly, see `machine::asm`. Later its code: a dword as it is.
    row!(INLINE_ASM, Pseudo, [-1, -1, -1, -1, -1], s(IMM, 0, U32, head) s(IMM, 0, U32, ties) s(IMM, 0, U32, ties_hi) s(IMM, 0, U32, early) s(IMM, 0, U32, early_hi), SCC_DEF | SIDE_EFFECTS | BARRIER | EXEC_USE | VARIADIC);
    row!(DATA_DWORD, Pseudo, [-1, -1, -1, -1, -1], s(IMM, 0, U32, data), SIDE_EFFECTS | BARRIER | EXEC_USE);
    // The address of a symbol relative to the code: s_getpc_b64 dst; s_add_u32 dst.lo, dst.lo, src0; s_addc_u32 dst.hi, dst.hi, src1,
    // with nothing between. Addends of the two literals (+4, +12) count from the end of s_getpc_b64 already.
    row!(PC_ADDRESS, Pseudo, [-1, -1, -1, -1, -1], d(S, 2, B64, dst) s(SS, 1, B32, low) s(SS, 1, B32, high), SCC_DEF);
    // Code that runs with other lanes than its block (`lower::exec_regions`): from here on marked instructions run with those of `mask`; EXEC is kept.
    row!(LANES_BEGIN, Pseudo, [-1, -1, -1, -1, -1], d(S, MASK, B64, saved) s(SS, MASK, B64, mask), SIDE_EFFECTS | EXEC_USE);
    row!(LANES_END, Pseudo, [-1, -1, -1, -1, -1], s(S, MASK, B64, saved) s(SS, MASK, B64, mask), SIDE_EFFECTS | EXEC_USE);
    // Before linearisation: the result of a strict operation or of `wqm`; `set.inactive`; live lanes of a shader; lanes that become helpers but for
    // those of `mask`; quads with a lane in `mask`; lanes at the entry.
    row!(LANES_RESULT, Pseudo, [-1, -1, -1, -1, -1], d(V, 1, B32, dst) s(VS, 1, B32, src) s(IMM, 0, U32, lanes), SIDE_EFFECTS);
    row!(SET_INACTIVE, Pseudo, [-1, -1, -1, -1, -1], d(V, 1, B32, dst) s(VS, 1, B32, active) s(VS, 1, B32, inactive), SIDE_EFFECTS);
    row!(LIVE_LANES, Pseudo, [-1, -1, -1, -1, -1], d(S, MASK, B64, dst), SIDE_EFFECTS | EXEC_USE);
    row!(DEMOTE, Pseudo, [-1, -1, -1, -1, -1], s(S, MASK, B64, mask), SIDE_EFFECTS | EXEC_USE | SCC_DEF);
    // The lanes of the block are killed: it leads to the end.
    row!(KILLED, Pseudo, [-1, -1, -1, -1, -1], (), SIDE_EFFECTS | EXEC_USE | SCC_DEF);
    row!(QUAD_VOTE, Pseudo, [-1, -1, -1, -1, -1], d(S, MASK, B64, dst) s(S, MASK, B64, mask), SIDE_EFFECTS | SCC_DEF);
    // The wave goes on with a chain function, and with these lanes: s_mov exec, lanes; s_setpc_b64 target.
    row!(CHAIN_JUMP, Pseudo, [-1, -1, -1, -1, -1], s(S, 2, B64, target) s(SS, MASK, B64, lanes), BRANCH | SIDE_EFFECTS);
    row!(ENTRY_LANES, Pseudo, [-1, -1, -1, -1, -1], s(SS, 0, B64, lanes) s(IMM, 0, U32, shift), SIDE_EFFECTS);
} } }
pub(super) use pseudo;
