//! Types: LLVM's into the module's table, data layout applied.
//!
//! Iterative, because the nesting of types is the input's choice; deeper than [`MAX_DEPTH`] is refused, so
//! that later steps may recurse over types.

use crate::llvm::{LLVMTypeKind, TypeRef};
use crate::reader::Reader;
use mir::ir::{AddrSpace, Float, Scalar, Type};
use mir::{Diagnostic, Result};

/// Deepest nesting of structs and arrays.
pub(crate) const MAX_DEPTH: u32 = 1000;

/// Largest object in bytes: offsets must fit a signed 64-bit number with room to add.
const MAX_BYTES: u64 = 1 << 48;

enum Shape<'m> {
    Done(Type),
    Struct(Vec<TypeRef<'m>>, bool),
    Array(TypeRef<'m>, u64),
}

impl<'m> Reader<'m> {
    /// The type of the module's table that `ty` means.
    pub(crate) fn ty(&mut self, ty: TypeRef<'m>) -> Result<Type> {
        if let Some((same, known)) = self.last_type
            && same == ty
        {
            return Ok(known);
        }
        let known = match self.types.get(&ty) {
            Some(&(known, _)) => known,
            None => self.new_type(ty)?,
        };
        self.last_type = Some((ty, known));
        Ok(known)
    }

    fn new_type(&mut self, ty: TypeRef<'m>) -> Result<Type> {
        let mut stack = vec![ty];
        while let Some(&top) = stack.last() {
            let (members, shape) = match shape_of(top)? {
                Shape::Done(done) => {
                    self.types.insert(top, (done, 0));
                    stack.pop();
                    continue;
                }
                Shape::Struct(fields, packed) => (fields, Shape::Struct(Vec::new(), packed)),
                Shape::Array(element, len) => (vec![element], Shape::Array(element, len)),
            };
            let missing: Vec<_> = members.iter().filter(|m| !self.types.contains_key(m)).copied().collect();
            if !missing.is_empty() {
                stack.extend(missing);
                if stack.len() > 1 << 20 {
                    return Err(Diagnostic::limit("types are nested too deeply"));
                }
                continue;
            }
            let depth = members.iter().map(|m| self.types[m].1).max().unwrap_or(0) + 1;
            if depth > MAX_DEPTH {
                return Err(Diagnostic::limit(format!("types are nested more than {MAX_DEPTH} deep")));
            }
            let members: Vec<Type> = members.iter().map(|m| self.types[m].0).collect();
            let table = &mut self.module.types;
            let bytes = match &shape {
                Shape::Array(_, len) => len.saturating_mul(table.alloc_bytes(members[0])),
                _ => members.iter().fold(0u64, |sum, &m| sum.saturating_add(table.alloc_bytes(m))),
            };
            if bytes > MAX_BYTES {
                return Err(Diagnostic::limit(format!("type of more than 2^48 bytes: {}", short(top))));
            }
            let done = match shape {
                Shape::Array(_, len) => table.array_of(members[0], len),
                Shape::Struct(_, packed) => table.struct_of(&members, packed),
                Shape::Done(done) => done,
            };
            self.types.insert(top, (done, depth));
            stack.pop();
        }
        Ok(self.types[&ty].0)
    }
}

fn short(ty: TypeRef<'_>) -> String {
    let mut text = ty.print();
    if text.len() > 80 {
        let cut = (0..=77).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        text.truncate(cut);
        text.push_str("...");
    }
    text
}

fn shape_of(ty: TypeRef<'_>) -> Result<Shape<'_>> {
    use LLVMTypeKind::*;
    let refuse = || Diagnostic::unsupported(format!("unsupported type {}", short(ty)));
    let scalar = match ty.kind() {
        LLVMVoidTypeKind => return Ok(Shape::Done(Type::Void)),
        LLVMHalfTypeKind => Scalar::Float(Float::Half),
        LLVMBFloatTypeKind => Scalar::Float(Float::BFloat),
        LLVMFloatTypeKind => Scalar::Float(Float::Single),
        LLVMDoubleTypeKind => Scalar::Float(Float::Double),
        LLVMIntegerTypeKind => Scalar::Int(ty.int_bits()),
        LLVMPointerTypeKind => Scalar::Ptr(AddrSpace(ty.address_space())),
        LLVMVectorTypeKind => {
            let (element, lanes) = ty.sequence().ok_or_else(refuse)?;
            return match shape_of_scalar(element)? {
                Some(scalar) => {
                    Ok(Shape::Done(Type::Vector(scalar, u32::try_from(lanes).map_err(|_| refuse())?)))
                }
                None => Err(refuse()),
            };
        }
        LLVMArrayTypeKind => {
            let (element, len) = ty.sequence().ok_or_else(refuse)?;
            return Ok(Shape::Array(element, len));
        }
        LLVMStructTypeKind => {
            let (fields, packed) = ty.fields().ok_or_else(refuse)?;
            return Ok(Shape::Struct(fields, packed));
        }
        _ => return Err(refuse()),
    };
    Ok(Shape::Done(Type::Scalar(scalar)))
}

fn shape_of_scalar(ty: TypeRef<'_>) -> Result<Option<Scalar>> {
    // Vectors do not nest, so this goes one level deep.
    if ty.kind() == LLVMTypeKind::LLVMVectorTypeKind {
        return Ok(None);
    }
    Ok(match shape_of(ty)? {
        Shape::Done(Type::Scalar(scalar)) => Some(scalar),
        _ => None,
    })
}
