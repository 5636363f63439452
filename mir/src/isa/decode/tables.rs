//! From the first dword of an instruction to its row: format and encoding by the fixed bits of the layouts, then the opcode number.
//!
//! Made from rows and layouts once for each generation.

use super::DecodeError;
use crate::isa::format::{Field, Mod, code_of, layout};
use crate::isa::{Format, OpFlags, Opcode};
use crate::machine::Encoding;
use crate::target::operands::DPP8;
use crate::target::{Generation, Target};
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Opcodes by number in their format.
struct Tables {
    /// Index: [`table_index`] of the format; then the number; then up to two rows, told apart by what they require.
    opcodes: Vec<Vec<[Option<Opcode>; 2]>>,
    /// Those with the most fixed bits first.
    shapes: Vec<Shape>,
}

/// What the first dword of an instruction looks like.
pub(super) struct Shape {
    /// Bits that are the same in all instructions of the shape, and what they are.
    mask: u32,
    bits: u32,
    pub format: Format,
    pub encoding: Encoding,
    /// Opcode number, its low and its high part.
    op: [Field; 2],
}

impl Shape {
    /// The opcode number in `bits`, the first two dwords.
    pub fn code(&self, bits: u64) -> u64 {
        code_of(self.op[0], self.op[1], bits)
    }
}

const TABLES: usize = 21;

/// VOP3 numbers have a table of their own.
fn table_index(format: Format) -> usize {
    format as usize
}

fn tables(generation: Generation) -> &'static Tables {
    static TABLES_OF: [OnceLock<Tables>; Generation::COUNT] = [const { OnceLock::new() }; Generation::COUNT];
    TABLES_OF[generation as usize].get_or_init(|| {
        let mut opcodes: Vec<Vec<[Option<Opcode>; 2]>> = vec![Vec::new(); TABLES];
        let mut add = |format: Format, code: u16, op: Opcode| {
            let Some(table) = opcodes.get_mut(table_index(format)) else { return };
            if table.len() <= usize::from(code) {
                table.resize(usize::from(code) + 1, [None; 2]);
            }
            let slot = &mut table[usize::from(code)];
            if slot[0].is_none() {
                slot[0] = Some(op);
            } else {
                slot[1] = Some(op);
            }
        };
        for &op in Opcode::ALL {
            let info = op.info();
            // The rows of an alias group follow from the plain row and its modifiers.
            if info.flags.contains(OpFlags::RTN) || (info.flags.contains(OpFlags::LDS_DMA | OpFlags::LOAD)) {
                continue;
            }
            if let (Some(code), false) = (info.code(generation), info.format == Format::Vop3) {
                add(info.format, code, op);
            }
            if let Some(code) = info.vop3_code(generation) {
                add(Format::Vop3, code, op);
            }
        }
        Tables { opcodes, shapes: shapes(generation) }
    })
}

/// The shapes of the layouts that some instruction of `generation` has.
fn shapes(generation: Generation) -> Vec<Shape> {
    let mut out: Vec<Shape> = Vec::new();
    for info in Opcode::ALL.iter().map(|op| op.info()).filter(|info| info.code(generation).is_some()) {
        for &encoding in info.format.encodings() {
            // What others have in VOP3 is read as an instruction of that format.
            let Some(layout) = layout(info, encoding, generation) else { continue };
            if encoding == Encoding::E64 && info.format.has_short_encoding() {
                continue;
            }
            let (mut mask, mut bits) = (layout.fixed_mask, layout.fixed);
            if let Some((_, field)) = layout.mods.iter().find(|(what, _)| *what == Mod::Segment) {
                mask |= field.mask();
                bits |= field.put(info.format.segment().into());
            }
            // One shape, or one for each marker.
            let mut variants = SmallVec::<[u64; 2]>::from_slice(&[0]);
            if let Some((_, field)) = layout.mods.iter().find(|(what, _)| *what == Mod::Dpp8Marker) {
                mask |= field.mask();
                variants = DPP8.iter().map(|marker| field.put(u64::from(*marker))).collect();
            }
            for variant in variants {
                let (mask, bits) = (mask as u32, (bits | variant) as u32);
                let known = |shape: &Shape| {
                    (shape.format, shape.encoding, shape.mask, shape.bits)
                        == (info.format, encoding, mask, bits)
                };
                if !out.iter().any(known) {
                    let op = [layout.op, layout.op_high];
                    out.push(Shape { mask, bits, format: info.format, encoding, op });
                }
            }
        }
    }
    out.sort_by_key(|shape| std::cmp::Reverse(shape.mask.count_ones()));
    out
}

/// What `word`, the first of an instruction, looks like.
pub(super) fn identify(word: u32, generation: Generation) -> Option<&'static Shape> {
    tables(generation).shapes.iter().find(|shape| word & shape.mask == shape.bits)
}

/// The row of an alias group that has all of `flags`.
pub(super) fn alias(op: Opcode, flags: OpFlags) -> Option<Opcode> {
    // Alias rows stand right behind their base row, and are few.
    let mut index = op as usize;
    for _ in 0..3 {
        index += 1;
        let other = *Opcode::ALL.get(index)?;
        if other.info().name == op.info().name && other.info().flags.contains(flags) {
            return Some(other);
        }
    }
    None
}

/// The opcode of number `code` in `format`.
pub(super) fn find(format: Format, code: u64, target: &Target) -> Result<Opcode, DecodeError> {
    let candidates = tables(target.generation())
        .opcodes
        .get(table_index(format))
        .and_then(|t| t.get(code as usize))
        .copied()
        .unwrap_or([None; 2]);
    candidates
        .into_iter()
        .flatten()
        .find(|op| target.has(op.info().requires))
        .ok_or(DecodeError::UnknownOpcode { format, code: code as u16 })
}
