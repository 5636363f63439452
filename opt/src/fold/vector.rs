//! Elements put into vectors and taken out of them.

use super::{def_kind, is_poison, is_undef};
use crate::builder::Builder;
use mir::ir::*;
use std::collections::BTreeMap;

/// Most insertions that are looked through for an element of a vector: as many as the widest tuple has, and once more for those that make it undefined.
const MAX_INSERTIONS: usize = 64;

/// The two dwords that a 64-bit integer was joined from.
pub(super) fn halves(b: &mut Builder<'_>, value: Value) -> Option<(Value, Value)> {
    match def_kind(b, value)? {
        InstKind::Cast { op: CastOp::BitCast, arg } => {
            let vector = *arg;
            if b.ty(vector) != Type::Vector(Scalar::Int(32), 2) {
                return None;
            }
            Some((element_of(b, vector, 0)?, element_of(b, vector, 1)?))
        }
        &InstKind::Cast { op: CastOp::ZExt, arg } if b.ty(arg) == Type::I32 => Some((arg, b.i32(0))),
        _ => None,
    }
}

/// The elements of a vector built by insertions into one of which nothing is defined, by their places: those that are not undefined themselves.
/// `None` where others may be defined, too.
pub(crate) fn defined_elements(b: &Builder<'_>, mut vector: Value) -> Option<BTreeMap<u64, Value>> {
    let mut found = BTreeMap::new();
    for _ in 0..=MAX_INSERTIONS {
        if is_undef(b, vector) {
            found.retain(|_, &mut element| !is_undef(b, element));
            return Some(found);
        }
        let Some(&InstKind::InsertElement { vector: rest, element, index }) = def_kind(b, vector) else {
            break;
        };
        found.entry(b.func.as_int(index)?).or_insert(element);
        vector = rest;
    }
    None
}

/// Element `index` of a vector built by insertions.
fn element_of(b: &Builder<'_>, vector: Value, index: u64) -> Option<Value> {
    inserted(b, vector, index).ok()
}

/// What was last inserted at `index` of a vector, or the vector that has the element there: one that no insertion made, or where the search ends.
fn inserted(b: &Builder<'_>, mut vector: Value, index: u64) -> std::result::Result<Value, Value> {
    for _ in 0..MAX_INSERTIONS {
        let Some(&InstKind::InsertElement { vector: rest, element, index: at }) = def_kind(b, vector) else {
            break;
        };
        match b.func.as_int(at) {
            Some(at) if at == index => return Ok(element),
            Some(_) => vector = rest,
            None => break,
        }
    }
    Err(vector)
}

/// The element at `index` of `vector`, if it is known.
pub(super) fn fold_extract(b: &mut Builder<'_>, vector: Value, index: Value, ty: Type) -> Option<Value> {
    let at = b.func.as_int(index)?;
    let source = match inserted(b, vector, at) {
        Ok(element) => return Some(element),
        Err(source) => source,
    };
    match b.func.as_const(source) {
        Some(Const::Poison) => return Some(b.poison(ty)),
        Some(Const::Undef) => return Some(b.undef(ty)),
        Some(Const::Zero) => return Some(b.zero(ty)),
        Some(Const::Elements(elements)) => return elements.get(at as usize).copied(),
        Some(_) => return None,
        None => {}
    }
    if let Some(&InstKind::Cast { op: CastOp::BitCast, arg }) = def_kind(b, vector)
        && b.ty(arg) == Type::I64
        && ty == Type::I32
    {
        let (low, high) = b.split64(arg);
        return Some(if at == 0 { low } else { high });
    }
    None
}

/// The vector that putting `element` into `vector` leaves, if it is there already.
pub(super) fn fold_insert(b: &mut Builder<'_>, vector: Value, element: Value, index: Value) -> Option<Value> {
    // What is there does for poison.
    if is_poison(b, element) {
        return Some(vector);
    }
    let at = b.func.as_int(index)?;
    // The halves of a number one by one, so that each is seen to be what it is.
    if let Some(Const::Elements(elements)) = b.func.as_const(vector)
        && let &[first, second] = &**elements
        && b.ty(vector) == Type::Vector(Scalar::Int(32), 2)
    {
        let whole = if at == 0 { [element, second] } else { [first, element] };
        return Some(b.vector(&whole));
    }
    // Putting an element back where it came from.
    match def_kind(b, element) {
        Some(&InstKind::ExtractElement { vector: source, index: from })
            if source == vector && b.func.as_int(from) == Some(at) =>
        {
            Some(vector)
        }
        _ => None,
    }
}
