//! Instructions without encoding, gone before emission.
//!
//! Columns: opcode numbers on GFX6, 7, 8, 9, 10; operands; properties. See [`super`] for the abbreviations.

#[rustfmt::skip]
macro_rules! pseudo { ([$next:ident $($more:ident)*] $($rows:tt)*) => { $next! { [$($more)*] $($rows)*
    row!(COPY, Pseudo, [-1, -1, -1, -1, -1], d(ANY, 0, Data, dst) s(ANY, 0, Data, src), COPY);
    row!(REG_SEQUENCE, Pseudo, [-1, -1, -1, -1, -1], d(ANY, 0, Data, dst), COPY | VARIADIC);
    row!(IMPLICIT_DEF, Pseudo, [-1, -1, -1, -1, -1], d(ANY, 0, Data, dst), NONE);
} } }
pub(super) use pseudo;
