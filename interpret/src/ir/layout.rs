//! How values lie in registers and in memory.
//!
//! A value is a list of *words* of at most 64 bits: a scalar has one for each 64 bits, lowest first; a vector, struct or array has those of its
//! members one after the other, no two members in a word. In memory the elements of a vector lie side by side without gaps, bit by
//! bit where they are not whole bytes; members of aggregates lie at their offsets.
//!
//! Nothing recurses: types may be nested deeply. Cost: linear in the members.

use mir::ir::{Aggregate, Const, Function, Scalar, SymbolRef, Type, TypeTable, Value};
use smallvec::SmallVec;

/// Words of one scalar.
#[inline]
pub fn scalar_words(scalar: Scalar) -> usize {
    scalar.bits().div_ceil(64).max(1) as usize
}

/// The low `bits` ones, 64 at most.
#[inline]
pub fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The bits in use of word `index` of a scalar of `bits` bits.
#[inline]
pub fn word_mask(bits: u32, index: usize) -> u64 {
    ones(bits.saturating_sub(64 * index as u32))
}

/// Words of a value; saturates where there are more than fit.
pub fn words(types: &TypeTable, ty: Type) -> usize {
    let mut sum = 0usize;
    let mut work: SmallVec<[(Type, usize); 8]> = SmallVec::new();
    work.push((ty, 1));
    while let Some((ty, times)) = work.pop() {
        match ty {
            Type::Void => {}
            Type::Scalar(scalar) => sum = sum.saturating_add(times.saturating_mul(scalar_words(scalar))),
            Type::Vector(scalar, lanes) => {
                sum = sum.saturating_add(times.saturating_mul(scalar_words(scalar) * lanes as usize));
            }
            Type::Aggregate(agg) => match &types.aggregates[agg] {
                Aggregate::Struct { fields, .. } => work.extend(fields.iter().map(|f| (f.0, times))),
                Aggregate::Array { element, len, .. } => {
                    work.push((*element, times.saturating_mul(*len as usize)));
                }
            },
        }
    }
    sum
}

/// A scalar or vector inside a value.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Scalar or vector.
    pub ty: Type,
    /// Byte offset in memory.
    pub offset: u64,
    /// First word.
    pub word: usize,
}

/// The scalars and vectors of a type, in order.
pub fn pieces(types: &TypeTable, ty: Type) -> SmallVec<[Piece; 4]> {
    let mut out = SmallVec::new();
    let mut word = 0;
    let mut work: SmallVec<[(Type, u64); 8]> = SmallVec::new();
    work.push((ty, 0));
    while let Some((ty, offset)) = work.pop() {
        match ty {
            Type::Void => {}
            Type::Scalar(_) | Type::Vector(..) => {
                out.push(Piece { ty, offset, word });
                word += words(types, ty);
            }
            Type::Aggregate(agg) => match &types.aggregates[agg] {
                Aggregate::Struct { fields, .. } => {
                    work.extend(fields.iter().rev().map(|&(field, at)| (field, offset + at)));
                }
                Aggregate::Array { element, len, stride_bytes, .. } => {
                    work.extend((0..*len).rev().map(|i| (*element, offset + i * stride_bytes)));
                }
            },
        }
    }
    out
}

/// First word and type of the member of `ty` at `path`.
pub fn member(types: &TypeTable, mut ty: Type, path: &[u32]) -> Option<(usize, Type)> {
    let mut word = 0;
    for &index in path {
        let Type::Aggregate(agg) = ty else { return None };
        match &types.aggregates[agg] {
            Aggregate::Struct { fields, .. } => {
                word += fields.iter().take(index as usize).map(|f| words(types, f.0)).sum::<usize>();
                ty = fields.get(index as usize)?.0;
            }
            Aggregate::Array { element, len, .. } => {
                if u64::from(index) >= *len {
                    return None;
                }
                word += words(types, *element) * index as usize;
                ty = *element;
            }
        }
    }
    Some((word, ty))
}

/// For each word of a value the mask of its bits in use.
pub fn masks(types: &TypeTable, ty: Type) -> SmallVec<[u64; 8]> {
    let mut out = SmallVec::new();
    for piece in pieces(types, ty) {
        let (Some(scalar), lanes) = (piece.ty.scalar(), piece.ty.lanes()) else { continue };
        for _ in 0..lanes {
            out.extend((0..scalar_words(scalar)).map(|i| word_mask(scalar.bits(), i)));
        }
    }
    out
}

/// A constant as words: value and undefined bits of each, and the symbols whose addresses come in addition.
#[derive(Clone, Debug, Default)]
pub struct ConstantWords {
    /// Value and undefined bits.
    pub words: Vec<(u64, u64)>,
    /// Word, symbol, byte offset, mask of the pointer's bits.
    pub symbols: Vec<(usize, SymbolRef, i64, u64)>,
}

/// The words of a constant of `f`; `None` if `value` is no constant.
pub fn constant(types: &TypeTable, f: &Function, value: Value) -> Option<ConstantWords> {
    let mut out = ConstantWords::default();
    let mut work: SmallVec<[Value; 8]> = SmallVec::new();
    work.push(value);
    while let Some(value) = work.pop() {
        let ty = f.ty(value);
        match f.as_const(value)? {
            Const::Int(bits) | Const::Float(bits) => {
                out.words.push((*bits & masks(types, ty).first().copied().unwrap_or(0), 0));
                // An integer of more than 64 bits may be small.
                out.words.extend(masks(types, ty).iter().skip(1).map(|_| (0, 0)));
            }
            Const::Wide(words) => {
                let masks = masks(types, ty);
                out.words.extend(
                    masks.iter().enumerate().map(|(i, m)| (words.get(i).copied().unwrap_or(0) & m, 0)),
                );
            }
            Const::Zero => out.words.extend(masks(types, ty).iter().map(|_| (0, 0))),
            Const::Undef | Const::Poison => out.words.extend(masks(types, ty).iter().map(|&m| (0, m))),
            Const::Symbol(symbol, offset) => {
                let masks = masks(types, ty);
                out.symbols.push((out.words.len(), *symbol, *offset, masks.first().copied().unwrap_or(0)));
                out.words.extend(masks.iter().map(|_| (0, 0)));
            }
            Const::Elements(members) => work.extend(members.iter().rev().copied()),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_their_words() {
        let mut types = TypeTable::default();
        let pair = types.struct_of(&[Type::I8, Type::int(96)], false);
        let array = types.array_of(pair, 2);
        let all = types.struct_of(&[array, Type::Vector(Scalar::Int(17), 3), Type::F16], false);
        assert_eq!(words(&types, all), 2 * 3 + 3 + 1);
        assert_eq!(member(&types, all, &[0, 1, 1]), Some((4, Type::int(96))));
        assert_eq!(member(&types, all, &[2]), Some((9, Type::F16)));
        assert_eq!(member(&types, all, &[0, 2]), None);
        let places: Vec<_> = pieces(&types, all).iter().map(|p| (p.offset, p.word)).collect();
        assert_eq!(places, [(0, 0), (8, 1), (24, 3), (32, 4), (48, 6), (56, 9)]);
        assert_eq!(masks(&types, pair)[..], [0xff, u64::MAX, 0xffff_ffff]);
    }
}
