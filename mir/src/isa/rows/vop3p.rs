//! Packed 16-bit and dot-product instructions; MIX rows read each source as f32 or, by op_sel_hi, as a half of it.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! vop3p { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(V_PK_MAD_I16, Vop3p, [-1, -1, -1, 0x00, 0x00], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_MUL_LO_U16, Vop3p, [-1, -1, -1, 0x01, 0x01], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_ADD_I16, Vop3p, [-1, -1, -1, 0x02, 0x02], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_SUB_I16, Vop3p, [-1, -1, -1, 0x03, 0x03], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP);
    row!(V_PK_LSHLREV_B16, Vop3p, [-1, -1, -1, 0x04, 0x04], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | REVERSED);
    row!(V_PK_LSHRREV_B16, Vop3p, [-1, -1, -1, 0x05, 0x05], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | REVERSED);
    row!(V_PK_ASHRREV_I16, Vop3p, [-1, -1, -1, 0x06, 0x06], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | REVERSED);
    row!(V_PK_MAX_I16, Vop3p, [-1, -1, -1, 0x07, 0x07], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_MIN_I16, Vop3p, [-1, -1, -1, 0x08, 0x08], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_MAD_U16, Vop3p, [-1, -1, -1, 0x09, 0x09], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_ADD_U16, Vop3p, [-1, -1, -1, 0x0a, 0x0a], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_SUB_U16, Vop3p, [-1, -1, -1, 0x0b, 0x0b], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP);
    row!(V_PK_MAX_U16, Vop3p, [-1, -1, -1, 0x0c, 0x0c], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_MIN_U16, Vop3p, [-1, -1, -1, 0x0d, 0x0d], d(V, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, V2I16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_FMA_F16, Vop3p, [-1, -1, -1, 0x0e, 0x0e], d(V, 1, V2F16) s(VS, 1, V2F16) s(VS, 1, V2F16) s(VS, 1, V2F16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_ADD_F16, Vop3p, [-1, -1, -1, 0x0f, 0x0f], d(V, 1, V2F16) s(VS, 1, V2F16) s(VS, 1, V2F16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_MUL_F16, Vop3p, [-1, -1, -1, 0x10, 0x10], d(V, 1, V2F16) s(VS, 1, V2F16) s(VS, 1, V2F16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_MIN_F16, Vop3p, [-1, -1, -1, 0x11, 0x11], d(V, 1, V2F16) s(VS, 1, V2F16) s(VS, 1, V2F16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_PK_MAX_F16, Vop3p, [-1, -1, -1, 0x12, 0x12], d(V, 1, V2F16) s(VS, 1, V2F16) s(VS, 1, V2F16), FLOAT_MODS | INT_CLAMP | COMMUTES);
    row!(V_FMA_MIX_F32, Vop3p, [-1, -1, -1, 0x20, 0x20], d(V, 1, F32) s(VS, 1, F32) s(VS, 1, F32) s(VS, 1, F32), INT_CLAMP | MIX | COMMUTES, requires FMA_MIX);
    row!(V_MAD_MIX_F32, Vop3p, [-1, -1, -1, 0x20, -1], d(V, 1, F32) s(VS, 1, F32) s(VS, 1, F32) s(VS, 1, F32), INT_CLAMP | MIX | COMMUTES, requires MAD_MIX);
    row!(V_FMA_MIXLO_F16, Vop3p, [-1, -1, -1, 0x21, 0x21], x(V, 1, F16) s(VS, 1, F32) s(VS, 1, F32) s(VS, 1, F32), INT_CLAMP | MIX | COMMUTES, requires FMA_MIX);
    row!(V_MAD_MIXLO_F16, Vop3p, [-1, -1, -1, 0x21, -1], x(V, 1, F16) s(VS, 1, F32) s(VS, 1, F32) s(VS, 1, F32), INT_CLAMP | MIX | COMMUTES, requires MAD_MIX);
    row!(V_FMA_MIXHI_F16, Vop3p, [-1, -1, -1, 0x22, 0x22], x(V, 1, F16) s(VS, 1, F32) s(VS, 1, F32) s(VS, 1, F32), INT_CLAMP | MIX | COMMUTES, requires FMA_MIX);
    row!(V_MAD_MIXHI_F16, Vop3p, [-1, -1, -1, 0x22, -1], x(V, 1, F16) s(VS, 1, F32) s(VS, 1, F32) s(VS, 1, F32), INT_CLAMP | MIX | COMMUTES, requires MAD_MIX);
    row!(V_DOT2_F32_F16, Vop3p, [-1, -1, -1, 0x23, 0x13], d(V, 1, F32) s(VS, 1, V2F16) s(VS, 1, V2F16) s(VS, 1, F32), FLOAT_MODS | INT_CLAMP, requires DOT_INSTS);
    row!(V_DOT2_I32_I16, Vop3p, [-1, -1, -1, 0x26, 0x14], d(V, 1, I32) s(VS, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, I32), FLOAT_MODS | INT_CLAMP, requires DOT_INSTS);
    row!(V_DOT2_U32_U16, Vop3p, [-1, -1, -1, 0x27, 0x15], d(V, 1, U32) s(VS, 1, V2I16) s(VS, 1, V2I16) s(VS, 1, U32), FLOAT_MODS | INT_CLAMP, requires DOT_INSTS);
    row!(V_DOT4_I32_I8, Vop3p, [-1, -1, -1, 0x28, 0x16], d(V, 1, I32) s(VS, 1, I32) s(VS, 1, I32) s(VS, 1, I32), INT_CLAMP, requires DOT_INSTS);
    row!(V_DOT4_U32_U8, Vop3p, [-1, -1, -1, 0x29, 0x17], d(V, 1, U32) s(VS, 1, B32) s(VS, 1, B32) s(VS, 1, U32), INT_CLAMP, requires DOT_INSTS);
    row!(V_DOT8_I32_I4, Vop3p, [-1, -1, -1, 0x2a, 0x18], d(V, 1, I32) s(VS, 1, B32) s(VS, 1, B32) s(VS, 1, I32), INT_CLAMP, requires DOT_INSTS);
    row!(V_DOT8_U32_U4, Vop3p, [-1, -1, -1, 0x2b, 0x19], d(V, 1, U32) s(VS, 1, B32) s(VS, 1, B32) s(VS, 1, U32), INT_CLAMP, requires DOT_INSTS);
} } }
pub(super) use vop3p;
