//! Vector-predicated intrinsics (`llvm.vp.*`): operations on the lanes that a mask and a length select.
//!
//! The result of a lane that is not selected is poison, so arithmetic on all lanes is right; masks and
//! lengths matter to reductions, merges and memory alone. So each intrinsic becomes the plain instructions
//! that it stands for.

use crate::body::Body;
use crate::llvm::{InstRef, ValueRef};
use mir::ir::{
    BinaryOp, CastOp, Const, FloatPredicate, Inst, InstFlags, InstKind, IntPredicate, Intrinsic, Scalar,
    Type, UnaryOp, Value,
};
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// A reduction: over the vector, what unselected lanes count as, and how the start value comes in.
fn reduction(name: &str) -> Option<(Intrinsic, Identity, Join)> {
    use BinaryOp::*;
    use Identity::*;
    use Intrinsic::*;
    Some(match name {
        "add" => (ReduceAdd, Zero, Join::Binary(Add)),
        "mul" => (ReduceMul, One, Join::Binary(Mul)),
        "and" => (ReduceAnd, Ones, Join::Binary(And)),
        "or" => (ReduceOr, Zero, Join::Binary(Or)),
        "xor" => (ReduceXor, Zero, Join::Binary(Xor)),
        "smax" => (ReduceSmax, Start, Join::Call(Smax)),
        "smin" => (ReduceSmin, Start, Join::Call(Smin)),
        "umax" => (ReduceUmax, Start, Join::Call(Umax)),
        "umin" => (ReduceUmin, Start, Join::Call(Umin)),
        "fmax" => (ReduceFmax, Start, Join::Call(Maxnum)),
        "fmin" => (ReduceFmin, Start, Join::Call(Minnum)),
        "fmaximum" => (ReduceFmaximum, Start, Join::Call(Maximum)),
        "fminimum" => (ReduceFminimum, Start, Join::Call(Minimum)),
        // -0.0 and 1.0 change nothing.
        "fadd" => (ReduceFadd, MinusZero, Join::Ordered),
        "fmul" => (ReduceFmul, One, Join::Ordered),
        _ => return None,
    })
}

#[derive(Clone, Copy)]
enum Identity {
    Zero,
    MinusZero,
    One,
    Ones,
    Start,
}

#[derive(Clone, Copy)]
enum Join {
    Binary(BinaryOp),
    Call(Intrinsic),
    Ordered,
}

impl<'m> Body<'_, 'm> {
    /// The instruction that a call of `llvm.vp.{name}` stands for; `None` where there is no such operation.
    pub(crate) fn vector_predicated(
        &mut self,
        inst: InstRef<'m>,
        ours: Inst,
        name: &str,
        ty: Type,
    ) -> Result<Option<InstKind>> {
        let count = inst.num_args();
        let missing = || Diagnostic::malformed("missing operand");
        if let Some(op) = BinaryOp::from_word(name) {
            return Ok(Some(InstKind::Binary { op, args: [self.operand(inst, 0)?, self.operand(inst, 1)?] }));
        }
        if let Some(op) = CastOp::from_word(name) {
            return Ok(Some(InstKind::Cast { op, arg: self.operand(inst, 0)? }));
        }
        match name {
            "fneg" => {
                return Ok(Some(InstKind::Unary { op: UnaryOp::FNeg, arg: self.operand(inst, 0)? }));
            }
            "icmp" | "fcmp" => {
                let args = [self.operand(inst, 0)?, self.operand(inst, 1)?];
                let predicate = inst.operand(2).and_then(ValueRef::md_string).ok_or_else(missing)?;
                let kind = if name == "icmp" {
                    IntPredicate::from_word(&predicate).map(|predicate| InstKind::Icmp { predicate, args })
                } else {
                    FloatPredicate::from_word(&predicate).map(|predicate| InstKind::Fcmp { predicate, args })
                };
                return Ok(Some(kind.ok_or_else(missing)?));
            }
            "select" => {
                return Ok(Some(InstKind::Select {
                    cond: self.operand(inst, 0)?,
                    if_true: self.operand(inst, 1)?,
                    if_false: self.operand(inst, 2)?,
                }));
            }
            "merge" => {
                let (mask, length) = (self.operand(inst, 0)?, self.operand(inst, 3)?);
                let cond = self.selected(mask, length)?;
                return Ok(Some(InstKind::Select {
                    cond,
                    if_true: self.operand(inst, 1)?,
                    if_false: self.operand(inst, 2)?,
                }));
            }
            "load" | "gather" | "store" | "scatter" => {
                return Ok(Some(self.predicated_access(inst, ours, name, ty)?));
            }
            _ => {}
        }
        if let Some(what) = name.strip_prefix("reduce.") {
            let Some(found) = reduction(what) else { return Ok(None) };
            return Ok(Some(self.predicated_reduction(inst, found, ty)?));
        }
        let plain = match name {
            "roundtozero" => "trunc",
            "cttz.elts" => return Ok(None),
            other => other,
        };
        // An intrinsic with mask and length behind its own arguments.
        let Some(intrinsic) = Intrinsic::from_name(plain) else { return Ok(None) };
        let own = count.checked_sub(2).ok_or_else(missing)?;
        let args = (0..own).map(|i| self.operand(inst, i)).collect::<Result<SmallVec<[Value; 4]>>>()?;
        Ok(Some(InstKind::Intrinsic { intrinsic, args }))
    }

    /// The lanes of `mask` whose number is below `length`.
    fn selected(&mut self, mask: Value, length: Value) -> Result<Value> {
        let ty = self.function.ty(mask);
        let lanes = ty.lanes();
        if self.function.as_int(length).is_some_and(|length| length >= u64::from(lanes)) {
            return Ok(mask);
        }
        let zero = self.function.int(self.function.ty(length), 0);
        let args = SmallVec::from_slice(&[zero, length]);
        let below = InstKind::Intrinsic { intrinsic: Intrinsic::GetActiveLaneMask, args };
        let below = self.emit(below, ty, InstFlags::empty())?;
        self.emit(InstKind::Binary { op: BinaryOp::And, args: [mask, below] }, ty, InstFlags::empty())
    }

    fn predicated_access(&mut self, inst: InstRef<'m>, ours: Inst, name: &str, ty: Type) -> Result<InstKind> {
        let store = matches!(name, "store" | "scatter");
        let at = u32::from(store);
        let pointer = self.operand(inst, at)?;
        let (mask, length) = (self.operand(inst, at + 1)?, self.operand(inst, at + 2)?);
        let cond = self.selected(mask, length)?;
        let align = inst.arg_attribute(at, self.reader.align_attribute);
        let vector = if store {
            let data = self.operand(inst, 0)?;
            self.function.ty(data)
        } else {
            ty
        };
        let align = match align.checked_ilog2() {
            Some(log2) => log2 as u8,
            // Without an attribute the vector is aligned as its type.
            None if matches!(name, "load" | "store") => {
                self.reader.module.types.abi_align(vector).trailing_zeros() as u8
            }
            None => vector.scalar().map_or(0, |scalar| scalar.abi_align().trailing_zeros() as u8),
        };
        self.function.mem_aligns.insert(ours, [align; 2]);
        let (intrinsic, args) = match name {
            "store" => (Intrinsic::MaskedStore, [self.operand(inst, 0)?, pointer, cond]),
            "scatter" => (Intrinsic::MaskedScatter, [self.operand(inst, 0)?, pointer, cond]),
            _ => {
                let nothing = self.function.constant(ty, Const::Poison);
                let which = if name == "load" { Intrinsic::MaskedLoad } else { Intrinsic::MaskedGather };
                (which, [pointer, cond, nothing])
            }
        };
        Ok(InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(&args) })
    }

    fn predicated_reduction(
        &mut self,
        inst: InstRef<'m>,
        (intrinsic, identity, join): (Intrinsic, Identity, Join),
        ty: Type,
    ) -> Result<InstKind> {
        let (start, vector) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        let (mask, length) = (self.operand(inst, 2)?, self.operand(inst, 3)?);
        let cond = self.selected(mask, length)?;
        let vector_ty = self.function.ty(vector);
        let Some(scalar) = vector_ty.scalar() else {
            return Err(Diagnostic::malformed("reduction of no vector"));
        };
        let neutral = match (identity, scalar) {
            (Identity::Start, _) => start,
            (Identity::MinusZero | Identity::One, Scalar::Float(float)) => {
                let sign = 1u64 << (float.bits() - 1);
                let one = match float {
                    mir::ir::Float::Half => 0x3c00,
                    mir::ir::Float::BFloat => 0x3f80,
                    mir::ir::Float::Single => 0x3f80_0000,
                    mir::ir::Float::Double => 0x3ff0_0000_0000_0000,
                };
                let bits = if matches!(identity, Identity::One) { one } else { sign };
                self.function.constant(ty, Const::Float(bits))
            }
            (Identity::One, _) => self.function.int(ty, 1),
            (Identity::Ones, Scalar::Int(bits)) if bits > 64 => {
                let words: Vec<u64> = (0..bits.div_ceil(64))
                    .map(|i| {
                        let left = (bits - 64 * i).min(64);
                        u64::MAX >> (64 - left)
                    })
                    .collect();
                self.function.constant(ty, Const::Wide(words.into()))
            }
            (Identity::Ones, _) => self.function.int(ty, u64::MAX),
            _ => self.function.constant(ty, Const::Zero),
        };
        let neutral = if self.function.as_const(neutral).is_some() {
            let lanes = vec![neutral; vector_ty.lanes() as usize];
            self.function.constant(vector_ty, Const::Elements(lanes.into()))
        } else {
            let mut whole = self.function.constant(vector_ty, Const::Poison);
            for lane in 0..vector_ty.lanes() {
                let index = self.function.int(Type::I32, u64::from(lane));
                let kind = InstKind::InsertElement { vector: whole, element: neutral, index };
                whole = self.emit(kind, vector_ty, InstFlags::empty())?;
            }
            whole
        };
        let kind = InstKind::Select { cond, if_true: vector, if_false: neutral };
        let chosen = self.emit(kind, vector_ty, InstFlags::empty())?;
        let reduce = |args: &[Value]| InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(args) };
        let flags = crate::enums::flags(inst);
        Ok(match join {
            Join::Ordered => reduce(&[start, chosen]),
            Join::Binary(op) => {
                let rest = self.emit(reduce(&[chosen]), ty, flags)?;
                InstKind::Binary { op, args: [start, rest] }
            }
            Join::Call(both) => {
                let rest = self.emit(reduce(&[chosen]), ty, flags)?;
                let args = SmallVec::from_slice(&[start, rest]);
                InstKind::Intrinsic { intrinsic: both, args }
            }
        })
    }
}
