//! Constants: values of the function that uses them, or instructions in front of the use.
//!
//! LLVM's constants are a graph of any depth, so every walk here keeps its own stack. A constant that folds
//! to plain data or to `symbol + offset` becomes a value once in a function. Any other constant expression
//! becomes instructions in the block being built, made anew for each user, because one place need not
//! dominate the next.

use crate::body::Body;
use crate::enums;
use crate::llvm::{self, BlockRef, LLVMOpcode, LLVMTypeKind, LLVMValueKind, ValueRef};
use crate::reader::Reader;
use mir::ir::{CastOp, Const, InstFlags, InstKind, Scalar, SymbolRef, Type, Value};
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// Widest integer constant in bits: LLVM prints it in decimal, at quadratic cost.
const MAX_INT_BITS: u32 = 1 << 14;

/// Differences inside of differences that are followed.
const MAX_NESTED_DIFFERENCES: u8 = 4;

/// What a constant address or integer expression comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folded {
    /// Address of a symbol plus bytes.
    Symbol(SymbolRef, i64),
    /// A number.
    Int(i64),
}

impl Folded {
    /// The bytes from `to` to this, plus `more`, where they are known.
    fn distance(self, to: Self, more: i64) -> Option<Self> {
        match (self, to) {
            (Self::Int(a), Self::Int(b)) => Some(Self::Int(a.wrapping_sub(b).wrapping_add(more))),
            (Self::Symbol(symbol, a), Self::Symbol(other, b)) if symbol == other => {
                Some(Self::Int(a.wrapping_sub(b).wrapping_add(more)))
            }
            _ => None,
        }
    }
}

/// A `getelementptr` in bytes.
#[derive(Default)]
pub(crate) struct Steps<'m> {
    /// Variable indices with their scales, in order.
    pub variable: SmallVec<[(ValueRef<'m>, i64); 2]>,
    /// Sum of the constant parts.
    pub offset: i64,
    /// Whether all constant parts come after the last variable one.
    pub constant_last: bool,
}

impl<'m> Reader<'m> {
    /// Applies the data layout to the indices of a `getelementptr` instruction or expression.
    pub(crate) fn steps(&mut self, gep: ValueRef<'m>) -> Result<Steps<'m>> {
        let source =
            gep.gep_source_type().ok_or_else(|| Diagnostic::defect("getelementptr without a type"))?;
        let mut ty = self.ty(source)?;
        let mut steps = Steps { constant_last: true, ..Steps::default() };
        for operand in 1..gep.num_operands() {
            let index = gep.operand(operand).ok_or_else(|| Diagnostic::malformed("missing index"))?;
            let types = &self.module.types;
            let scale = match ty {
                _ if operand == 1 => types.alloc_bytes(ty),
                Type::Aggregate(agg) => match &types.aggregates[agg] {
                    mir::ir::Aggregate::Array { element, stride_bytes, .. } => {
                        ty = *element;
                        *stride_bytes
                    }
                    mir::ir::Aggregate::Struct { fields, .. } => {
                        let number = index.as_u64().or_else(|| index.element(0)?.as_u64());
                        let field = number.and_then(|n| fields.get(usize::try_from(n).ok()?));
                        let &(field, bytes) = field.ok_or_else(|| Diagnostic::malformed("no such field"))?;
                        ty = field;
                        steps.offset = steps.offset.wrapping_add(bytes as i64);
                        continue;
                    }
                },
                Type::Vector(scalar, _) => {
                    ty = Type::Scalar(scalar);
                    scalar.store_bytes()
                }
                _ => return Err(Diagnostic::malformed("index into a type without members")),
            };
            let scale = scale as i64;
            match index.as_i64() {
                Some(0) => {}
                Some(number) => steps.offset = steps.offset.wrapping_add(number.wrapping_mul(scale)),
                None => {
                    steps.constant_last = steps.offset == 0;
                    steps.variable.push((index, scale));
                }
            }
        }
        Ok(steps)
    }

    /// Folds a chain of constant casts and offsets to a symbol or number plus bytes; `None` where it is
    /// something else.
    ///
    /// With `across_casts` the question is about stored bits: pointers and integers of one width are the
    /// same, and so are flat, global and constant addresses. Without it only a pointer of the type asked for
    /// is an answer.
    pub(crate) fn fold(&mut self, constant: ValueRef<'m>, across_casts: bool) -> Result<Option<Folded>> {
        self.fold_nested(constant, across_casts, 0)
    }

    /// Both sides of the subtraction `constant`, the one to subtract last; `None` where it is none, or one of them does not fold.
    fn difference(&mut self, constant: ValueRef<'m>, nested: u8) -> Result<Option<(Folded, Folded)>> {
        let is_difference = constant.const_opcode() == Some(LLVMOpcode::LLVMSub);
        let (Some(a), Some(b)) = (constant.operand(0), constant.operand(1)) else { return Ok(None) };
        if !is_difference || nested == MAX_NESTED_DIFFERENCES {
            return Ok(None);
        }
        let sides = [self.fold_nested(a, true, nested + 1)?, self.fold_nested(b, true, nested + 1)?];
        Ok(match sides {
            [Some(a), Some(b)] => Some((a, b)),
            _ => None,
        })
    }

    /// The symbol plus bytes that `constant` gives the distance of from a place in `variable`, with the bytes of that place.
    pub(crate) fn distance_from(
        &mut self,
        variable: SymbolRef,
        mut constant: ValueRef<'m>,
    ) -> Result<Option<(SymbolRef, i64)>> {
        while constant.const_opcode() == Some(LLVMOpcode::LLVMTrunc) {
            let Some(operand) = constant.operand(0) else { return Ok(None) };
            constant = operand;
        }
        Ok(match self.difference(constant, 0)? {
            Some((Folded::Symbol(to, a), Folded::Symbol(from, b))) if from == variable => {
                Some((to, a.wrapping_sub(b)))
            }
            _ => None,
        })
    }

    fn fold_nested(
        &mut self,
        constant: ValueRef<'m>,
        across_casts: bool,
        nested: u8,
    ) -> Result<Option<Folded>> {
        let (mut at, mut offset) = (constant, 0i64);
        loop {
            if let Some(&(symbol, more)) = self.symbols.get(&at) {
                return Ok(Some(Folded::Symbol(symbol, offset.wrapping_add(more))));
            }
            if let Some(function) = at.equivalent() {
                at = function;
                continue;
            }
            match at.kind() {
                LLVMValueKind::LLVMConstantPointerNullValueKind if across_casts => {
                    return Ok(Some(Folded::Int(offset)));
                }
                LLVMValueKind::LLVMConstantIntValueKind if across_casts => {
                    return Ok(at.as_i64().map(|number| Folded::Int(number.wrapping_add(offset))));
                }
                LLVMValueKind::LLVMBlockAddressValueKind if across_casts => {
                    let number = self.block_address(at)?;
                    return Ok(Some(Folded::Int(number.wrapping_add(offset))));
                }
                LLVMValueKind::LLVMConstantExprValueKind => {}
                _ => return Ok(None),
            }
            let Some(operand) = at.operand(0) else { return Ok(None) };
            match at.const_opcode() {
                Some(LLVMOpcode::LLVMGetElementPtr) => {
                    if self.ty(at.ty())?.lanes() != 1 || matches!(self.ty(at.ty())?, Type::Vector(..)) {
                        return Ok(None);
                    }
                    let steps = self.steps(at)?;
                    if !steps.variable.is_empty() {
                        return Ok(None);
                    }
                    offset = offset.wrapping_add(steps.offset);
                }
                Some(LLVMOpcode::LLVMAdd) if across_casts => match at.operand(1).and_then(ValueRef::as_i64) {
                    Some(number) => offset = offset.wrapping_add(number),
                    None => return Ok(None),
                },
                Some(LLVMOpcode::LLVMSub) if across_casts => match at.operand(1).and_then(ValueRef::as_i64) {
                    Some(number) => offset = offset.wrapping_sub(number),
                    None => {
                        let distance = self.difference(at, nested)?;
                        return Ok(distance.and_then(|(from, to)| from.distance(to, offset)));
                    }
                },
                Some(
                    LLVMOpcode::LLVMBitCast
                    | LLVMOpcode::LLVMTrunc
                    | LLVMOpcode::LLVMPtrToInt
                    | LLVMOpcode::LLVMPtrToAddr
                    | LLVMOpcode::LLVMIntToPtr,
                ) if across_casts => {
                    let (from, to) = (self.ty(operand.ty())?, self.ty(at.ty())?);
                    // A narrower integer holds the low bits; a wider pointer is known where the integer is a
                    // number.
                    let narrows = to.bits() <= from.bits() && matches!(to, Type::Scalar(Scalar::Int(_)));
                    if matches!(from, Type::Vector(..)) || from.bits() != to.bits() && !narrows {
                        return Ok(match (operand.as_u64(), to) {
                            (Some(number), Type::Scalar(Scalar::Ptr(_))) => {
                                Some(Folded::Int((number as i64).wrapping_add(offset)))
                            }
                            _ => None,
                        });
                    }
                }
                Some(LLVMOpcode::LLVMAddrSpaceCast) if across_casts => {
                    let (from, to) = (operand.ty().address_space(), at.ty().address_space());
                    // Flat, global and constant addresses are the same bits.
                    let same = |space| matches!(space, 0 | 1 | 4);
                    if !(same(from) && same(to)) {
                        if operand.kind() == LLVMValueKind::LLVMConstantPointerNullValueKind {
                            let null = mir::ir::AddrSpace(to).null_value();
                            return Ok(Some(Folded::Int(null.wrapping_add(offset))));
                        }
                        return Ok(None);
                    }
                }
                _ => return Ok(None),
            }
            at = operand;
        }
    }

    /// What stands for a `blockaddress`: the block's number in its function, from 1. Nothing but `indirectbr`
    /// and comparison with null may be done with such an address, and it means nothing outside its function.
    pub(crate) fn block_address(&mut self, constant: ValueRef<'m>) -> Result<i64> {
        let block = constant.block_address();
        self.block_number(block.ok_or_else(|| Diagnostic::malformed("address of no block"))?)
    }

    /// The number that [`Reader::block_address`] gives to `block`.
    pub(crate) fn block_number(&mut self, block: BlockRef<'m>) -> Result<i64> {
        if !self.block_numbers.contains_key(&block) {
            let blocks = block.function().map(ValueRef::blocks).unwrap_or_default();
            self.block_numbers.extend(blocks.into_iter().zip(1..));
        }
        let number = self.block_numbers.get(&block).copied();
        number.ok_or_else(|| Diagnostic::malformed("address of a block elsewhere"))
    }

    /// The integer constant's words, little-endian, zero above its width.
    pub(crate) fn int_words(&self, constant: ValueRef<'m>) -> Result<SmallVec<[u64; 2]>> {
        let bits = constant.ty().int_bits();
        if bits <= 64 {
            return Ok(constant.as_u64().into_iter().collect());
        }
        if bits > MAX_INT_BITS {
            return Err(Diagnostic::unsupported(format!("constant of type i{bits}")));
        }
        let text = constant.print();
        let digits = text.rsplit(' ').next().unwrap_or_default();
        let (negative, digits) = match digits.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, digits),
        };
        let mut words: SmallVec<[u64; 2]> = SmallVec::from_elem(0, bits.div_ceil(64) as usize);
        for byte in digits.bytes() {
            if !byte.is_ascii_digit() {
                return Err(Diagnostic::defect(format!("integer constant printed as {text:?}")));
            }
            let mut carry = u128::from(byte - b'0');
            for word in &mut words {
                carry += u128::from(*word) * 10;
                *word = carry as u64;
                carry >>= 64;
            }
        }
        if negative {
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(u64::from(carry));
            }
        }
        if !bits.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last &= (1 << (bits % 64)) - 1;
        }
        Ok(words)
    }
}

/// Bytes of one element of LLVM's packed constant data, as bits.
fn element_bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// A scalar constant of `ty` from its bits.
fn scalar_const(ty: Scalar, bits: u64) -> Const {
    match ty {
        Scalar::Float(_) => Const::Float(bits),
        _ => Const::Int(bits),
    }
}

impl<'m> Body<'_, 'm> {
    /// The value of a constant; instructions for it go to the end of the block being built.
    pub(crate) fn constant(&mut self, root: ValueRef<'m>) -> Result<Value> {
        if let Some(value) = self.leaf(root)? {
            self.values.insert(root, value);
            return Ok(value);
        }
        let mut stack = vec![root];
        while let Some(&top) = stack.last() {
            if self.known(top).is_some() {
                stack.pop();
                continue;
            }
            if let Some(value) = self.leaf(top)? {
                self.values.insert(top, value);
                stack.pop();
                continue;
            }
            if top.kind() == LLVMValueKind::LLVMBlockAddressValueKind {
                let (number, ty) = (self.reader.block_address(top)?, self.reader.ty(top.ty())?);
                let arg = self.function.int(Type::I64, number as u64);
                let kind = InstKind::Cast { op: CastOp::IntToPtr, arg };
                let value = self.emit(kind, ty, InstFlags::empty())?;
                self.temporaries.insert(top, value);
                continue;
            }
            let operands: SmallVec<[ValueRef<'m>; 4]> =
                (0..top.num_operands()).filter_map(|i| top.operand(i)).collect();
            let before = stack.len();
            stack.extend(operands.iter().filter(|&&operand| self.known(operand).is_none()));
            if stack.len() > before {
                continue;
            }
            stack.pop();
            let values: SmallVec<[Value; 4]> =
                operands.iter().filter_map(|&operand| self.known(operand)).collect();
            let value = self.compose(top, &values)?;
            if self.function.as_const(value).is_some() {
                self.values.insert(top, value);
            } else {
                self.temporaries.insert(top, value);
            }
        }
        self.known(root)
            .ok_or_else(|| Diagnostic::defect(format!("constant without a value: {}", root.print())))
    }

    /// The value of a constant without operands to translate first; `None` for those with.
    fn leaf(&mut self, constant: ValueRef<'m>) -> Result<Option<Value>> {
        use LLVMValueKind::*;
        let constant = constant.equivalent().unwrap_or(constant);
        let kind = constant.kind();
        if matches!(kind, LLVMInstructionValueKind | LLVMArgumentValueKind | LLVMBasicBlockValueKind) {
            return Err(Diagnostic::malformed(format!("use of a value that has none: {}", constant.print())));
        }
        let ty = self.reader.ty(constant.ty())?;
        let data = match kind {
            LLVMConstantIntValueKind | LLVMConstantFPValueKind => match ty {
                Type::Scalar(_) => self.scalar(constant)?,
                Type::Vector(_, lanes) => {
                    // A splat.
                    let element = constant.element(0).ok_or_else(|| self.refused(constant))?;
                    let value = self.constant_scalar(element)?;
                    Const::Elements(vec![value; lanes as usize].into())
                }
                _ => return Err(self.refused(constant)),
            },
            LLVMConstantPointerNullValueKind | LLVMConstantAggregateZeroValueKind => Const::Zero,
            LLVMUndefValueValueKind => Const::Undef,
            LLVMPoisonValueKind => Const::Poison,
            LLVMConstantDataArrayValueKind | LLVMConstantDataVectorValueKind => {
                let (element, _) = constant.ty().sequence().ok_or_else(|| self.refused(constant))?;
                let Type::Scalar(scalar) = self.reader.ty(element)? else {
                    return Err(self.refused(constant));
                };
                let bytes = constant.raw_data().ok_or_else(|| self.refused(constant))?;
                let size = scalar.store_bytes().max(1) as usize;
                let members = bytes
                    .chunks_exact(size)
                    .map(|chunk| {
                        self.function
                            .constant(Type::Scalar(scalar), scalar_const(scalar, element_bits(chunk)))
                    })
                    .collect();
                Const::Elements(members)
            }
            LLVMFunctionValueKind | LLVMGlobalVariableValueKind | LLVMGlobalAliasValueKind => {
                let Some(&(symbol, offset)) = self.reader.symbols.get(&constant) else {
                    return Err(self.refused(constant));
                };
                Const::Symbol(symbol, offset)
            }
            LLVMConstantExprValueKind => match self.reader.fold(constant, false)? {
                Some(Folded::Symbol(symbol, offset)) => Const::Symbol(symbol, offset),
                _ => return Ok(None),
            },
            LLVMConstantArrayValueKind
            | LLVMConstantStructValueKind
            | LLVMConstantVectorValueKind
            | LLVMBlockAddressValueKind => {
                return Ok(None);
            }
            _ => return Err(self.refused(constant)),
        };
        Ok(Some(self.function.constant(ty, data)))
    }

    fn refused(&self, constant: ValueRef<'m>) -> Box<Diagnostic> {
        Diagnostic::unsupported(format!("unsupported constant {}", constant.print()))
    }

    fn scalar(&self, constant: ValueRef<'m>) -> Result<Const> {
        if constant.ty().kind() == LLVMTypeKind::LLVMIntegerTypeKind {
            let words = self.reader.int_words(constant)?;
            return Ok(if let [word] = words[..] { Const::Int(word) } else { Const::Wide(words[..].into()) });
        }
        self.reader.llvm.float_bits(constant).map(Const::Float).ok_or_else(|| self.refused(constant))
    }

    fn constant_scalar(&mut self, constant: ValueRef<'m>) -> Result<Value> {
        let ty = self.reader.ty(constant.ty())?;
        let data = self.scalar(constant)?;
        Ok(self.function.constant(ty, data))
    }

    /// The value of an aggregate or constant expression whose operands have values.
    fn compose(&mut self, constant: ValueRef<'m>, operands: &[Value]) -> Result<Value> {
        let ty = self.reader.ty(constant.ty())?;
        let Some(opcode) = constant.const_opcode() else {
            if operands.iter().all(|&operand| self.function.as_const(operand).is_some()) {
                return Ok(self.function.constant(ty, Const::Elements(operands.into())));
            }
            let mut whole = self.function.constant(ty, Const::Poison);
            for (index, &member) in operands.iter().enumerate() {
                let kind = match ty {
                    Type::Vector(..) => {
                        let index = self.function.int(Type::I32, index as u64);
                        InstKind::InsertElement { vector: whole, element: member, index }
                    }
                    _ => InstKind::InsertValue {
                        aggregate: whole,
                        value: member,
                        path: SmallVec::from_slice(&[index as u32]),
                    },
                };
                whole = self.emit(kind, ty, InstFlags::empty())?;
            }
            return Ok(whole);
        };
        let refuse =
            || Diagnostic::unsupported(format!("unsupported constant expression {}", constant.print()));
        if opcode == LLVMOpcode::LLVMGetElementPtr {
            return self.pointer_chain(constant, ty, None);
        }
        let kind = match (opcode, operands) {
            (LLVMOpcode::LLVMShuffleVector, &[a, b]) => {
                InstKind::Shuffle { args: [a, b], mask: llvm::shuffle_mask(constant, opcode).into() }
            }
            (LLVMOpcode::LLVMExtractElement, &[vector, index]) => InstKind::ExtractElement { vector, index },
            (LLVMOpcode::LLVMInsertElement, &[vector, element, index]) => {
                InstKind::InsertElement { vector, element, index }
            }
            (_, &[arg]) => match enums::cast_op(opcode) {
                Some(op) => InstKind::Cast { op, arg },
                None => return Err(refuse()),
            },
            (_, &[a, b]) => match enums::binary_op(opcode) {
                Some(op) => InstKind::Binary { op, args: [a, b] },
                None => return Err(refuse()),
            },
            _ => return Err(refuse()),
        };
        self.emit(kind, ty, InstFlags::empty())
    }
}
