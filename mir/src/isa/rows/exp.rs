//! Exports.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! exp { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(EXP, Exp, [0x00, 0x00, 0x00, 0x00, 0x00], s(TGT, 0, U32, tgt) s(XS, 1, B32, src0) s(XS, 1, B32, src1) s(XS, 1, B32, src2) s(XS, 1, B32, src3), EXPCNT | SIDE_EFFECTS);
} } }
pub(super) use exp;
