//! The instruction table: one row an instruction, read by encoder, decoder, printer, parser, scheduler and simulator.
//!
//! A row names the instruction, its format, its opcode number on each generation, its explicit operands in the order of
//! the assembly text, and its properties. [`Opcode`] is made from the rows: adding a row adds a variant, and every match over
//! `Opcode` without a `_` arm then asks for its meaning. Adding a generation adds a column.
//!
//! An opcode is one *operation*: where generations spell it differently (`v_add_i32` on GFX6, `v_add_u32` on GFX8 and
//! `v_add_co_u32` on GFX9 are all "add with carry out"), it is one row, called by its newest name. The same base row stands
//! for the `_e32`, `_e64`, `_sdwa` and `_dpp` encodings ([`crate::machine::Encoding`]); operands that the short encodings
//! imply (VCC of a carry or a comparison) are always listed.

mod accept;
mod address;
mod comparisons;
mod decode;
mod encode;
pub mod facts;
pub mod format;
mod formats;
mod masks;
pub mod parse;
mod print;
mod row;
mod rows;

pub use accept::has_extended_form;
pub use address::image_address_dwords;
pub use decode::*;
pub use encode::*;
pub use facts::{
    Access, Comparison, Events, Implicit, LatencyClass, Memory, MemoryAction, MemoryKind, OpFacts,
    OperandAccess, Rate, Relation, Unit,
};
pub use masks::MaskOp;
pub use print::*;
pub use row::*;
pub use rows::Opcode;
