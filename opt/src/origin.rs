//! What addresses start from.

use mir::ir::*;

/// What an address starts from. Places in one variable are constants apart, whatever constant values they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A value that is not the address of a symbol.
    Value(Value),
    /// A symbol, by a pointer of this type.
    Symbol(SymbolRef, Type),
}

impl Origin {
    /// The origin of `base`, which is a pointer, and how many bytes in front of it that is.
    pub(crate) fn of(func: &Function, base: Value) -> (Self, i64) {
        match func.as_const(base) {
            Some(&Const::Symbol(symbol, offset)) => (Self::Symbol(symbol, func.ty(base)), offset),
            _ => (Self::Value(base), 0),
        }
    }

    /// The pointer `offset` bytes behind a symbol; a value, and the offset that remains.
    pub(crate) fn pointer(self, func: &mut Function, offset: i64) -> (Value, i64) {
        match self {
            Self::Value(value) => (value, offset),
            Self::Symbol(symbol, ty) => (func.constant(ty, Const::Symbol(symbol, offset)), 0),
        }
    }
}
