//! Integer arithmetic, comparison and conversions.
//!
//! An operation works on the carriers of its operands. Addition, subtraction, multiplication, logic and left
//! shifts need nothing from the unspecified upper bits; the others get them cleared or sign-filled first.

use super::{Legalizer, Parts};
use mir::ir::*;
use mir::{Diagnostic, Result};

impl Legalizer<'_> {
    pub(super) fn lower_binary(&mut self, op: BinaryOp, args: [Value; 2], ty: Type) -> Result<Parts> {
        // Most are of scalars.
        if let Type::Scalar(Scalar::Int(bits @ 0..=64)) = self.old.ty(args[0]) {
            let [x, y] = [self.part(args[0])?, self.part(args[1])?];
            return Ok(smallvec::smallvec![self.int_binary(op, x, y, bits)?]);
        }
        let (scalar, a) = self.lanes(args[0])?;
        let b = self.parts(args[1])?;
        if a.len() != b.len() {
            return Err(Diagnostic::malformed("operands of different shapes"));
        }
        let _ = ty;
        match scalar {
            Scalar::Int(bits) if bits > 64 => {
                let words = bits.div_ceil(64) as usize;
                let mut out = Parts::new();
                for (x, y) in a.chunks(words).zip(b.chunks(words)) {
                    out.extend(self.wide_binary(op, x, y, bits)?);
                }
                Ok(out)
            }
            Scalar::Int(bits) => a.iter().zip(&b).map(|(&x, &y)| self.int_binary(op, x, y, bits)).collect(),
            Scalar::Float(float) => {
                if op == BinaryOp::FDiv
                    && let Some(root) = self.contracted_root(args[1])
                {
                    let radicands = self.parts(root.of)?;
                    let each = a.iter().zip(&b).zip(&radicands);
                    return each
                        .map(|((&x, &y), &of)| match self.reciprocal_root(x, of, root, float) {
                            Some(value) => Ok(value),
                            None => self.float_binary(op, x, y, float),
                        })
                        .collect();
                }
                a.iter().zip(&b).map(|(&x, &y)| self.float_binary(op, x, y, float)).collect()
            }
            Scalar::Ptr(_) => Err(Diagnostic::malformed("arithmetic on pointers")),
        }
    }

    /// One integer operation on carriers of `bits`-bit integers, at most 64 bits.
    pub(super) fn int_binary(&mut self, op: BinaryOp, x: Value, y: Value, bits: u32) -> Result<Value> {
        use BinaryOp::*;
        if bits == 1 {
            return self.bool_binary(op, x, y);
        }
        let whole = self.b.bits(x) == bits;
        let flags = if whole { self.flags } else { InstFlags::empty() };
        Ok(match op {
            Mul if self.b.bits(x) == 64 => self.lower_mul64(x, y),
            Add | Sub | Mul | And | Or | Xor => self.b.binary_flags(op, x, y, flags),
            Shl => {
                let amount = self.zero_extended(y, bits);
                self.b.binary_flags(op, x, amount, flags)
            }
            LShr => {
                let (x, amount) = (self.zero_extended(x, bits), self.zero_extended(y, bits));
                self.b.binary_flags(op, x, amount, flags)
            }
            AShr => {
                let (x, amount) = (self.sign_extended(x, bits), self.zero_extended(y, bits));
                self.b.binary_flags(op, x, amount, flags)
            }
            UDiv | URem => {
                let (x, y) = (self.zero_extended(x, bits), self.zero_extended(y, bits));
                self.divide(x, y, false, op == URem)
            }
            SDiv | SRem => {
                let (x, y) = (self.sign_extended(x, bits), self.sign_extended(y, bits));
                self.divide(x, y, true, op == SRem)
            }
            FAdd | FSub | FMul | FDiv | FRem => {
                return Err(Diagnostic::malformed("floating-point operation on integers"));
            }
        })
    }

    fn lower_mul64(&mut self, x: Value, y: Value) -> Value {
        // Powers of two are shifts, not multiplications of halves.
        for (value, other) in [(x, y), (y, x)] {
            if let Some(c) = self.b.func.as_int(value)
                && (c == 0 || c.is_power_of_two())
            {
                return if c == 0 { value } else { self.b.shl_imm(other, c.trailing_zeros()) };
            }
        }
        self.b.mul64(x, y)
    }

    fn bool_binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Result<Value> {
        use BinaryOp::*;
        Ok(match op {
            Add | Sub | Xor => self.b.xor(x, y),
            Mul | And => self.b.and(x, y),
            Or => self.b.or(x, y),
            // A shift by 1 and a division by 0 are undefined.
            Shl | LShr | AShr | UDiv | SDiv => x,
            URem | SRem => self.b.bool(false),
            _ => return Err(Diagnostic::malformed("floating-point operation on i1")),
        })
    }

    /// Whether any of the bits of a vector is set, or all of them are, where a program asks that of them as one number.
    fn any_or_all(&mut self, predicate: IntPredicate, args: [Value; 2]) -> Result<Option<Value>> {
        let cast = self.old.def_inst(args[0]).map(|inst| &self.old.insts[inst].kind);
        let (&InstKind::Cast { op: CastOp::BitCast, arg: bits }, Some(number)) =
            (cast.unwrap_or(&InstKind::Unreachable), self.old.as_int(args[1]))
        else {
            return Ok(None);
        };
        let Type::Vector(Scalar::Int(1), lanes @ 1..=64) = self.old.ty(bits) else { return Ok(None) };
        let negated = match predicate {
            IntPredicate::Eq => number == 0,
            IntPredicate::Ne => number != 0,
            _ => return Ok(None),
        };
        let op = match number {
            0 => BinaryOp::Or,
            ones if ones == u64::MAX >> (64 - lanes) => BinaryOp::And,
            _ => return Ok(None),
        };
        let mut bits = self.parts(bits)?.into_iter();
        let Some(first) = bits.next() else { return Ok(None) };
        let whole = bits.fold(first, |whole, bit| self.b.binary(op, whole, bit));
        Ok(Some(if negated { self.b.not(whole) } else { whole }))
    }

    pub(super) fn lower_icmp(&mut self, predicate: IntPredicate, args: [Value; 2]) -> Result<Parts> {
        if let Some(bit) = self.any_or_all(predicate, args)? {
            return Ok(smallvec::smallvec![bit]);
        }
        let same = self.spaces.of(args[0]).is_some() && self.spaces.of(args[0]) == self.spaces.of(args[1]);
        let (a, b) = if same && matches!(predicate, IntPredicate::Eq | IntPredicate::Ne) {
            (self.raw_parts(args[0])?, self.raw_parts(args[1])?)
        } else {
            (self.parts(args[0])?, self.parts(args[1])?)
        };
        if a.len() != b.len() {
            return Err(Diagnostic::malformed("comparison of values of different shapes"));
        }
        match self.old.ty(args[0]).scalar() {
            Some(Scalar::Int(bits)) if bits > 64 => {
                let words = bits.div_ceil(64) as usize;
                Ok(a.chunks(words)
                    .zip(b.chunks(words))
                    .map(|(x, y)| self.wide_icmp(predicate, x, y, bits))
                    .collect())
            }
            Some(Scalar::Int(bits)) => {
                Ok(a.iter().zip(&b).map(|(&x, &y)| self.int_icmp(predicate, x, y, bits)).collect())
            }
            Some(scalar @ Scalar::Ptr(space)) if super::fat::is_fat(space) => {
                Ok(self.fat_compare(predicate, &a, &b, self.element_parts(scalar)))
            }
            Some(Scalar::Ptr(space)) if space.pointer_bits() <= 64 => {
                Ok(a.iter().zip(&b).map(|(&x, &y)| self.b.icmp(predicate, x, y)).collect())
            }
            Some(Scalar::Ptr(space)) => {
                let bits = space.pointer_bits();
                let mut out = Parts::new();
                for (&x, &y) in a.iter().zip(&b) {
                    let (x, y) = (self.pointer_words(x, bits), self.pointer_words(y, bits));
                    out.push(self.wide_icmp(predicate, &x, &y, bits));
                }
                Ok(out)
            }
            _ => Err(Diagnostic::malformed("comparison of this type")),
        }
    }

    /// Compares carriers of `bits`-bit integers.
    pub(super) fn int_icmp(&mut self, predicate: IntPredicate, x: Value, y: Value, bits: u32) -> Value {
        use IntPredicate::*;
        if bits == 1 {
            // As signed numbers, true is -1.
            let (nx, ny) = (self.b.not(x), self.b.not(y));
            return match predicate {
                Eq => self.b.xor(nx, y),
                Ne => self.b.xor(x, y),
                Ugt | Slt => self.b.and(x, ny),
                Uge | Sle => self.b.or(x, ny),
                Ult | Sgt => self.b.and(nx, y),
                Ule | Sge => self.b.or(nx, y),
            };
        }
        let (x, y) = match predicate {
            Sgt | Sge | Slt | Sle => (self.sign_extended(x, bits), self.sign_extended(y, bits)),
            _ => (self.zero_extended(x, bits), self.zero_extended(y, bits)),
        };
        self.b.icmp(predicate, x, y)
    }

    pub(super) fn lower_cast(&mut self, op: CastOp, arg: Value, ty: Type) -> Result<Parts> {
        if op == CastOp::AddrSpaceCast {
            return self.lower_space_cast(arg, ty);
        }
        if op == CastOp::BitCast {
            return self.lower_bitcast(arg, ty);
        }
        if op == CastOp::ZExt && (self.old.ty(arg), ty) == (Type::I32, Type::I64) {
            // Addresses ask whether it is the extension by the sign, too.
            let arg = self.part(arg)?;
            let promise = self.flags & InstFlags::NNEG;
            return Ok(Parts::from_slice(&[self.b.pure(InstKind::Cast { op, arg }, ty, promise)]));
        }
        let (from, parts) = self.lanes(arg)?;
        let to = ty.scalar().ok_or_else(|| Diagnostic::malformed("conversion to an aggregate"))?;
        let each = self.element_parts(from);
        match (op, from, to) {
            (CastOp::PtrToInt, Scalar::Ptr(space), Scalar::Int(to)) if super::fat::is_fat(space) => {
                return Ok(self.fat_to_int(&parts, each, to));
            }
            (CastOp::IntToPtr, Scalar::Int(from), Scalar::Ptr(space)) if super::fat::is_fat(space) => {
                return Ok(self.fat_of_int(&parts, each, from, space));
            }
            _ => {}
        }
        let mut out = Parts::new();
        for lane in parts.chunks(each) {
            match (op, from, to) {
                (CastOp::Trunc | CastOp::ZExt | CastOp::SExt, Scalar::Int(from), Scalar::Int(to)) => {
                    self.resize(lane, from, to, op == CastOp::SExt, &mut out);
                }
                (CastOp::PtrToInt, Scalar::Ptr(space), Scalar::Int(to)) if space.pointer_bits() <= 64 => {
                    let integer = self.b.as_integer(lane[0]);
                    self.resize(&[integer], space.pointer_bits(), to, false, &mut out);
                }
                (CastOp::IntToPtr, Scalar::Int(from), Scalar::Ptr(space)) if space.pointer_bits() <= 64 => {
                    let mut sized = Parts::new();
                    self.resize(lane, from, space.pointer_bits(), false, &mut sized);
                    out.push(self.b.cast(CastOp::IntToPtr, sized[0], Type::Scalar(to)));
                }
                (CastOp::PtrToInt, Scalar::Ptr(space), Scalar::Int(to)) => {
                    let words = self.pointer_words(lane[0], space.pointer_bits());
                    self.resize(&words, space.pointer_bits(), to, false, &mut out);
                }
                (CastOp::IntToPtr, Scalar::Int(from), Scalar::Ptr(space)) => {
                    let mut words = Parts::new();
                    self.resize(lane, from, space.pointer_bits(), false, &mut words);
                    let dwords: Parts = words
                        .iter()
                        .flat_map(|&word| {
                            let (low, high) = self.b.split64(word);
                            [low, high]
                        })
                        .collect();
                    let vector = self.b.vector(&dwords);
                    out.push(self.b.bitcast(vector, Type::Scalar(to)));
                }
                (CastOp::UiToFp | CastOp::SiToFp, Scalar::Int(bits), Scalar::Float(float)) => {
                    let value = self.int_to_float(lane, bits, op == CastOp::SiToFp, float)?;
                    out.push(value);
                }
                (CastOp::FpToUi | CastOp::FpToSi, Scalar::Float(float), Scalar::Int(bits)) => {
                    let value = self.float_to_int(lane[0], float, op == CastOp::FpToSi, bits)?;
                    out.extend(value);
                }
                (CastOp::FpExt | CastOp::FpTrunc, Scalar::Float(from), Scalar::Float(to)) => {
                    let value = self.resize_float(lane[0], from, to)?;
                    out.push(value);
                }
                _ => return Err(Diagnostic::unsupported("conversion between these types")),
            }
        }
        Ok(out)
    }

    /// Extends or truncates one integer.
    pub(super) fn resize(&mut self, words: &[Value], from: u32, to: u32, signed: bool, out: &mut Parts) {
        if to < from && to <= 64 {
            // Truncation: upper bits may stay.
            let low = words[0];
            out.push(match (to, self.b.ty(low)) {
                (1, _) => {
                    let bit = self.b.and_imm(low, 1);
                    self.b.icmp_imm(IntPredicate::Ne, bit, 0)
                }
                _ => {
                    let carrier = self.carrier(to);
                    self.b.zext_or_trunc(low, carrier)
                }
            });
            return;
        }
        let top = words.len() - 1;
        let used = from - 64 * top as u32;
        let clean = if from == 1 || used == 64 {
            words[top]
        } else if signed {
            self.sign_extended(words[top], used)
        } else {
            self.zero_extended(words[top], used)
        };
        if to <= 64 {
            let carrier = self.carrier(to);
            out.push(if signed {
                self.b.sext_or_trunc(clean, carrier)
            } else {
                self.b.zext_or_trunc(clean, carrier)
            });
            return;
        }
        let count = to.div_ceil(64) as usize;
        let clean = if signed {
            self.b.sext_or_trunc(clean, Type::I64)
        } else {
            self.b.zext_or_trunc(clean, Type::I64)
        };
        let fill = if signed { self.b.ashr_imm(clean, 63) } else { self.b.int(Type::I64, 0) };
        out.extend(words.iter().copied().take(top.min(count)));
        if top < count {
            out.push(clean);
            out.extend(std::iter::repeat_n(fill, count - top - 1));
        }
    }

    /// The i64 words of a pointer of more than 64 bits.
    pub(super) fn pointer_words(&mut self, pointer: Value, bits: u32) -> Parts {
        let dwords = self.b.bitcast(pointer, Type::Vector(Scalar::Int(32), bits / 32));
        (0..bits / 64)
            .map(|i| {
                let (low, high) = (self.b.extract(dwords, 2 * i), self.b.extract(dwords, 2 * i + 1));
                self.b.join64(low, high)
            })
            .collect()
    }

    fn lower_space_cast(&mut self, arg: Value, ty: Type) -> Result<Parts> {
        let parts = self.raw_parts(arg)?;
        let to =
            ty.addr_space().ok_or_else(|| Diagnostic::malformed("address-space cast to a non-pointer"))?;
        if super::fat::is_fat(to) || self.old.ty(arg).addr_space().is_some_and(super::fat::is_fat) {
            return self.fat_cast(arg, to);
        }
        Ok(parts
            .iter()
            .map(|&part| {
                let from = self.b.ty(part).addr_space();
                // A flat pointer into a known space is carried as a pointer of that space.
                let kept = ty.lanes() == 1
                    && to == AddrSpace::FLAT
                    && matches!(
                        from,
                        Some(AddrSpace::GLOBAL | AddrSpace::CONSTANT | AddrSpace::LOCAL | AddrSpace::PRIVATE)
                    );
                if kept || from == Some(to) {
                    return part;
                }
                // That the host passes global memory alone says nothing about a pointer that the program
                // knows to be of another space.
                let flat = self.old.ty(arg).addr_space() == Some(AddrSpace::FLAT)
                    && matches!(to, AddrSpace::LOCAL | AddrSpace::PRIVATE)
                    && matches!(from, Some(AddrSpace::GLOBAL | AddrSpace::CONSTANT));
                let part = if flat {
                    self.b.cast(CastOp::AddrSpaceCast, part, Type::ptr(AddrSpace::FLAT))
                } else {
                    part
                };
                self.b.cast(CastOp::AddrSpaceCast, part, Type::ptr(to))
            })
            .collect())
    }

    /// Reinterpretation, lane structure included: through little-endian dwords where shapes differ.
    fn lower_bitcast(&mut self, arg: Value, ty: Type) -> Result<Parts> {
        let from_ty = self.old.ty(arg);
        let (from, parts) = self.lanes(arg)?;
        let to = ty.scalar().ok_or_else(|| Diagnostic::malformed("bit cast to an aggregate"))?;
        if from_ty == ty {
            return Ok(parts);
        }
        let simple = |s: Scalar| matches!(s.bits(), 16 | 32 | 64);
        if from.bits() == to.bits() && simple(from) {
            return Ok(parts
                .iter()
                .map(|&part| {
                    let part = self.b.as_integer(part);
                    let part = self.b.zext_or_trunc(part, Type::int(from.bits()));
                    match to {
                        Scalar::Int(bits) => {
                            let carrier = self.carrier(bits);
                            self.b.zext_or_trunc(part, carrier)
                        }
                        _ => self.b.integer_as(part, Type::Scalar(to)),
                    }
                })
                .collect());
        }
        let words = self.split_dwords(&parts, from);
        let lanes = ty.lanes();
        let mut out = Parts::new();
        for lane in 0..lanes {
            self.join_dwords(&words, lane * to.bits(), to, &mut out);
        }
        Ok(out)
    }
}
