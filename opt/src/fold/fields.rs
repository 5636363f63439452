//! Fields of one word that are put together again.
//!
//! Vectors of bytes come apart and together as `(w >> 8) & 255`, `x << 8` and so on. What such a chain leaves of a word is a move of its bits
//! and a mask; two of one word with the same move are one, and all fields in their places are the word itself.

use super::{as_binary_const, def_kind};
use crate::builder::Builder;
use mir::ir::{BinaryOp, InstKind, Type, Value};

/// Longest chain that is looked at.
const MAX_CHAIN: usize = 6;

/// Bits of a 32-bit word, moved.
struct Field {
    word: Value,
    /// Places to the left.
    shift: i32,
    /// Bits of the result that are those of the word; all others are 0.
    mask: u32,
}

/// `bits << shift`, to the right where it is negative.
fn moved(bits: u32, shift: i32) -> u32 {
    let by = shift.unsigned_abs();
    if shift >= 0 { bits.checked_shl(by).unwrap_or(0) } else { bits.checked_shr(by).unwrap_or(0) }
}

/// What masks and shifts by constants make of a word.
fn field(b: &Builder<'_>, value: Value) -> Field {
    let mut at = Field { word: value, shift: 0, mask: u32::MAX };
    for _ in 0..MAX_CHAIN {
        let Some(&InstKind::Binary { op, .. }) = def_kind(b, at.word) else { break };
        let Some((inner, c)) = as_binary_const(b, at.word, op) else { break };
        let (shift, kept) = match op {
            BinaryOp::And => (0, c as u32),
            BinaryOp::Shl if c < 32 => (c as i32, u32::MAX << c),
            BinaryOp::LShr if c < 32 => (-(c as i32), u32::MAX >> c),
            _ => break,
        };
        at = Field { word: inner, shift: at.shift + shift, mask: at.mask & moved(kept, at.shift) };
    }
    at
}

/// `x | y` of fields of one word as one field, where that is at most one operation, or a shift and a mask that is a bit field.
pub(super) fn fold_or(b: &mut Builder<'_>, x: Value, y: Value) -> Option<Value> {
    if b.ty(x) != Type::I32 {
        return None;
    }
    let (first, second) = (field(b, x), field(b, y));
    if first.word != second.word || first.shift != second.shift || first.shift.abs() >= 32 {
        return None;
    }
    let (word, shift, mask) = (first.word, first.shift, first.mask | second.mask);
    let all = moved(u32::MAX, shift);
    let low = mask & mask.wrapping_add(1) == 0;
    if mask != all && shift != 0 && !(shift < 0 && low) {
        return None;
    }
    let by = shift.unsigned_abs();
    let word = if shift > 0 { b.shl_imm(word, by) } else { b.lshr_imm(word, by) };
    Some(if mask == all { word } else { b.and_imm(word, mask.into()) })
}

/// `x & mask` where that is a byte or half of a word at a place between bytes: the byte, shifted. Who reads it can take it where it is, and the
/// shift becomes part of an address.
pub(super) fn fold_and(b: &mut Builder<'_>, x: Value, mask: u32) -> Option<Value> {
    let place = mask.trailing_zeros();
    let width = (!(mask.checked_shr(place)?)).trailing_zeros();
    if place.is_multiple_of(8) || !matches!(width, 8 | 16) || place + width + mask.leading_zeros() != 32 {
        return None;
    }
    let at = field(b, x);
    let first = place as i32 - at.shift;
    if at.shift == 0 || at.mask & mask != mask || first < 0 || !(first as u32).is_multiple_of(width) {
        return None;
    }
    let word = b.lshr_imm(at.word, first as u32);
    let part = b.and_imm(word, (1 << width) - 1);
    Some(b.shl_imm(part, place))
}
