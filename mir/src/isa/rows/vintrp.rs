//! Parameter interpolation.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! vintrp { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(V_INTERP_P1_F32, Vintrp, [0x00, 0x00, 0x00, 0x00, 0x00], d(V, 1, F32) s(V, 1, F32) s(ATTR, 0, B32), FLOAT_MODS | M0_USE, vop3 [-1, -1, 0x270, 0x270, 0x200]);
    row!(V_INTERP_P2_F32, Vintrp, [0x01, 0x01, 0x01, 0x01, 0x01], x(V, 1, F32) s(V, 1, F32) s(ATTR, 0, B32), FLOAT_MODS | M0_USE, vop3 [-1, -1, 0x271, 0x271, 0x201]);
    row!(V_INTERP_MOV_F32, Vintrp, [0x02, 0x02, 0x02, 0x02, 0x02], d(V, 1, F32) s(SLOT, 0, B32) s(ATTR, 0, B32), INT_CLAMP | OMOD | M0_USE, vop3 [-1, -1, 0x272, 0x272, 0x202]);
} } }
pub(super) use vintrp;
