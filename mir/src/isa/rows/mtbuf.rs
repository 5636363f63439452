//! Typed buffer memory; the format is in `dmask`.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! mtbuf { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(TBUFFER_LOAD_FORMAT_X, Mtbuf, [0x00, 0x00, 0x00, 0x00, 0x00], d(V, 1, B32, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), LOAD | VM | FORMATTED);
    row!(TBUFFER_LOAD_FORMAT_XY, Mtbuf, [0x01, 0x01, 0x01, 0x01, 0x01], d(V, 2, B64, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), LOAD | VM | FORMATTED);
    row!(TBUFFER_LOAD_FORMAT_XYZ, Mtbuf, [0x02, 0x02, 0x02, 0x02, 0x02], d(V, 3, Data, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), LOAD | VM | FORMATTED);
    row!(TBUFFER_LOAD_FORMAT_XYZW, Mtbuf, [0x03, 0x03, 0x03, 0x03, 0x03], d(V, 4, Data, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), LOAD | VM | FORMATTED);
    row!(TBUFFER_STORE_FORMAT_X, Mtbuf, [0x04, 0x04, 0x04, 0x04, 0x04], s(V, 1, B32, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), STORE | VM | FORMATTED | EXPCNT);
    row!(TBUFFER_STORE_FORMAT_XY, Mtbuf, [0x05, 0x05, 0x05, 0x05, 0x05], s(V, 2, B64, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), STORE | VM | FORMATTED | EXPCNT);
    row!(TBUFFER_STORE_FORMAT_XYZ, Mtbuf, [0x06, 0x06, 0x06, 0x06, 0x06], s(V, 3, Data, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), STORE | VM | FORMATTED | EXPCNT);
    row!(TBUFFER_STORE_FORMAT_XYZW, Mtbuf, [0x07, 0x07, 0x07, 0x07, 0x07], s(V, 4, Data, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), STORE | VM | FORMATTED | EXPCNT);
    row!(TBUFFER_LOAD_FORMAT_D16_X, Mtbuf, [-1, -1, 0x08, 0x08, 0x08], x(V, 1, B32, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), LOAD | VM | FORMATTED | D16);
    row!(TBUFFER_LOAD_FORMAT_D16_XY, Mtbuf, [-1, -1, 0x09, 0x09, 0x09], d(V, 2, B64, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), LOAD | VM | FORMATTED | D16);
    row!(TBUFFER_LOAD_FORMAT_D16_XYZ, Mtbuf, [-1, -1, 0x0a, 0x0a, 0x0a], d(V, 3, Data, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), LOAD | VM | FORMATTED | D16);
    row!(TBUFFER_LOAD_FORMAT_D16_XYZW, Mtbuf, [-1, -1, 0x0b, 0x0b, 0x0b], d(V, 4, Data, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), LOAD | VM | FORMATTED | D16);
    row!(TBUFFER_STORE_FORMAT_D16_X, Mtbuf, [-1, -1, 0x0c, 0x0c, 0x0c], s(V, 1, B32, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), STORE | VM | FORMATTED | D16 | EXPCNT);
    row!(TBUFFER_STORE_FORMAT_D16_XY, Mtbuf, [-1, -1, 0x0d, 0x0d, 0x0d], s(V, 2, B64, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), STORE | VM | FORMATTED | D16 | EXPCNT);
    row!(TBUFFER_STORE_FORMAT_D16_XYZ, Mtbuf, [-1, -1, 0x0e, 0x0e, 0x0e], s(V, 3, Data, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), STORE | VM | FORMATTED | D16 | EXPCNT);
    row!(TBUFFER_STORE_FORMAT_D16_XYZW, Mtbuf, [-1, -1, 0x0f, 0x0f, 0x0f], s(V, 4, Data, vdata) s(VOFF, 2, B64, vaddr) s(S, 4, Data, srsrc) s(SO, 1, U32, soffset), STORE | VM | FORMATTED | D16 | EXPCNT);
} } }
pub(super) use mtbuf;
