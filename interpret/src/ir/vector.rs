//! Elements of vectors: access by index, rearrangement, reductions, accesses to memory under a mask.

use super::exec::{Cx, Step, Stop};
use super::host::Cause;
use super::layout::{ones, scalar_words, word_mask};
use super::memory::space_of;
use super::regs::{MAX_LANES, lanes};
use mir::ir::{BinaryOp, InstFlags, IntPredicate, Intrinsic, Scalar, Type, Value};

/// How the elements of a vector become one.
#[derive(Clone, Copy)]
enum Reduction {
    /// An operation on integers.
    Int(BinaryOp),
    /// An operation on floats, in order, from the first argument on.
    Float(BinaryOp),
    /// The element that comes first by a comparison.
    Extreme(IntPredicate),
    /// The same for floats.
    FloatExtreme(Intrinsic),
}

fn reduction(intrinsic: Intrinsic) -> Option<Reduction> {
    use Intrinsic::*;
    Some(match intrinsic {
        ReduceAdd => Reduction::Int(BinaryOp::Add),
        ReduceMul => Reduction::Int(BinaryOp::Mul),
        ReduceAnd => Reduction::Int(BinaryOp::And),
        ReduceOr => Reduction::Int(BinaryOp::Or),
        ReduceXor => Reduction::Int(BinaryOp::Xor),
        ReduceSmin => Reduction::Extreme(IntPredicate::Slt),
        ReduceSmax => Reduction::Extreme(IntPredicate::Sgt),
        ReduceUmin => Reduction::Extreme(IntPredicate::Ult),
        ReduceUmax => Reduction::Extreme(IntPredicate::Ugt),
        ReduceFadd => Reduction::Float(BinaryOp::FAdd),
        ReduceFmul => Reduction::Float(BinaryOp::FMul),
        ReduceFmin => Reduction::FloatExtreme(Minnum),
        ReduceFmax => Reduction::FloatExtreme(Maxnum),
        ReduceFminimum => Reduction::FloatExtreme(Minimum),
        ReduceFmaximum => Reduction::FloatExtreme(Maximum),
        _ => return None,
    })
}

impl Cx<'_, '_> {
    /// The index in each lane of a vector of `count` elements: `None` out of range or undefined.
    fn element_index(&self, index: Value, count: usize, lane: usize) -> Option<usize> {
        let slot = self.slot(index);
        let words = self.flat.words_of(index);
        let known = (0..words).all(|w| self.regs.undef(slot + w, lane) == 0);
        let small = (1..words).all(|w| self.regs.v[slot + w][lane] == 0);
        let value = self.regs.v[slot][lane];
        (known && small && value < count as u64).then_some(value as usize)
    }

    /// `extractelement`.
    pub fn extract_element(&mut self, vector: Value, index: Value, dst: usize) -> Step<()> {
        let (scalar, elements) = self.elements(vector)?;
        let step = scalar_words(scalar);
        if let Some(n) = self.f.as_int(index) {
            match elements.get(n as usize) {
                Some(&at) => self.regs.copy(dst, at, step, self.mask),
                None => self.poison(dst, scalar, self.mask),
            }
            return Ok(());
        }
        for l in lanes(self.mask) {
            match self.element_index(index, elements.len(), l) {
                Some(n) => self.regs.copy(dst, elements[n], step, 1 << l),
                None => self.poison(dst, scalar, 1 << l),
            }
        }
        Ok(())
    }

    /// `insertelement`.
    pub fn insert_element(&mut self, vector: Value, element: Value, index: Value, dst: usize) -> Step<()> {
        let (scalar, elements) = self.elements(vector)?;
        let (step, from) = (scalar_words(scalar), self.slot(element));
        self.regs.copy(dst, self.slot(vector), self.flat.words_of(vector), self.mask);
        let whole = |this: &mut Self, mask| {
            (0..elements.len()).for_each(|i| this.poison(dst + i * step, scalar, mask));
        };
        if let Some(n) = self.f.as_int(index) {
            match elements.get(n as usize) {
                Some(_) => self.regs.copy(dst + n as usize * step, from, step, self.mask),
                None => whole(self, self.mask),
            }
            return Ok(());
        }
        for l in lanes(self.mask) {
            match self.element_index(index, elements.len(), l) {
                Some(n) => self.regs.copy(dst + n * step, from, step, 1 << l),
                None => whole(self, 1 << l),
            }
        }
        Ok(())
    }

    /// `shufflevector`.
    pub fn shuffle(&mut self, args: [Value; 2], mask: &[Option<u32>], dst: usize) -> Step<()> {
        let (scalar, mut all) = self.elements(args[0])?;
        all.extend(self.elements(args[1])?.1);
        self.pick(scalar, &all, dst, mask.iter().map(|m| m.map(|m| m as usize)))
    }

    /// Elements chosen from `all`; `None` is undefined.
    fn pick(
        &mut self,
        scalar: Scalar,
        all: &[usize],
        dst: usize,
        which: impl Iterator<Item = Option<usize>>,
    ) -> Step<()> {
        let step = scalar_words(scalar);
        for (i, from) in which.enumerate() {
            match from.and_then(|n| all.get(n)) {
                Some(&at) => self.regs.copy(dst + i * step, at, step, self.mask),
                None => self.poison(dst + i * step, scalar, self.mask),
            }
        }
        Ok(())
    }

    /// Whether this file executes `intrinsic`; if so, does.
    pub fn vector_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
        dst: usize,
    ) -> Step<bool> {
        use Intrinsic::*;
        if let Some(how) = reduction(intrinsic) {
            self.reduce(how, args, dst)?;
            return Ok(true);
        }
        match intrinsic {
            VectorReverse | VectorSplice | VectorSpliceLeft | VectorSpliceRight | VectorInsert
            | VectorExtract => self.rearrange(intrinsic, args, ty, dst)?,
            VectorInterleave2 => self.interleave(args, 2, dst)?,
            VectorInterleave3 => self.interleave(args, 3, dst)?,
            VectorInterleave4 => self.interleave(args, 4, dst)?,
            VectorInterleave5 => self.interleave(args, 5, dst)?,
            VectorInterleave6 => self.interleave(args, 6, dst)?,
            VectorInterleave7 => self.interleave(args, 7, dst)?,
            VectorInterleave8 => self.interleave(args, 8, dst)?,
            VectorDeinterleave2 => self.deinterleave(args, 2, dst)?,
            VectorDeinterleave3 => self.deinterleave(args, 3, dst)?,
            VectorDeinterleave4 => self.deinterleave(args, 4, dst)?,
            VectorDeinterleave5 => self.deinterleave(args, 5, dst)?,
            VectorDeinterleave6 => self.deinterleave(args, 6, dst)?,
            VectorDeinterleave7 => self.deinterleave(args, 7, dst)?,
            VectorDeinterleave8 => self.deinterleave(args, 8, dst)?,
            Stepvector => {
                let scalar = self.scalar_of(ty)?;
                for i in 0..ty.lanes() as usize {
                    let value = i as u64 & word_mask(scalar.bits(), 0);
                    let at = dst + i * scalar_words(scalar);
                    self.regs.write(at, self.mask, &[value; MAX_LANES]);
                    for w in 1..scalar_words(scalar) {
                        self.regs.write(at + w, self.mask, &[0; MAX_LANES]);
                    }
                }
            }
            GetActiveLaneMask => self.active_lanes(args, ty, dst)?,
            PartialReduceAdd => self.partial_sum(args, ty, dst)?,
            VectorCompress => self.compress(args, dst)?,
            CttzElts => self.first_set(args, ty, dst)?,
            ExtractLastActive => self.last_active(args, dst)?,
            VectorMatch => self.matches(args, dst)?,
            MaskedLoad | MaskedGather | MaskedExpandload => self.masked_load(intrinsic, args, ty, dst)?,
            MaskedStore | MaskedScatter | MaskedCompressstore => self.masked_store(intrinsic, args)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn rearrange(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let (scalar, mut all) = self.elements(self.value(args, 0)?)?;
        let count = all.len();
        if intrinsic == Intrinsic::VectorReverse {
            return self.pick(scalar, &all, dst, (0..count).rev().map(Some));
        }
        if intrinsic == Intrinsic::VectorExtract {
            let from = self.immediate(args, 1)? as usize;
            return self.pick(scalar, &all, dst, (0..ty.lanes() as usize).map(|i| Some(from + i)));
        }
        let other = self.elements(self.value(args, 1)?)?.1;
        let parts = other.len();
        all.extend(other);
        if intrinsic == Intrinsic::VectorInsert {
            let to = self.immediate(args, 2)? as usize;
            let which =
                (0..count).map(|i| Some(if (to..to + parts).contains(&i) { count + i - to } else { i }));
            return self.pick(scalar, &all, dst, which);
        }
        if intrinsic == Intrinsic::VectorSplice {
            // A negative number counts from the end of the first vector.
            let by = self.immediate(args, 2)? as u32 as i32 as i64;
            let first = if by < 0 { (count as i64 + by).max(0) as usize } else { by as usize };
            return self.pick(scalar, &all, dst, (first..first + count).map(Some));
        }
        let slot = self.arg(args, 2)?;
        for l in lanes(self.mask) {
            let by = self.defined(slot, l, "the offset of a splice")? as usize;
            let first = match intrinsic {
                _ if by > count => None,
                Intrinsic::VectorSpliceLeft => Some(by),
                _ => Some(count - by),
            };
            let step = scalar_words(scalar);
            for i in 0..count {
                match first.and_then(|f| all.get(f + i)) {
                    Some(&at) => self.regs.copy(dst + i * step, at, step, 1 << l),
                    None => self.poison(dst + i * step, scalar, 1 << l),
                }
            }
        }
        Ok(())
    }

    fn interleave(&mut self, args: &[Value], ways: usize, dst: usize) -> Step<()> {
        let (scalar, mut all) = self.elements(self.value(args, 0)?)?;
        let count = all.len();
        for n in 1..ways {
            all.extend(self.elements(self.value(args, n)?)?.1);
        }
        self.pick(scalar, &all, dst, (0..count * ways).map(|i| Some(i % ways * count + i / ways)))
    }

    fn deinterleave(&mut self, args: &[Value], ways: usize, dst: usize) -> Step<()> {
        let (scalar, all) = self.elements(self.value(args, 0)?)?;
        let each = all.len() / ways;
        self.pick(scalar, &all, dst, (0..each * ways).map(|i| Some(i % each * ways + i / each)))
    }

    /// Whether base + i < limit, without wrapping.
    fn active_lanes(&mut self, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let (base, limit) = (self.arg(args, 0)?, self.arg(args, 1)?);
        for i in 0..ty.lanes() as usize {
            self.map2(dst + i, [base, limit], 1, |b, n| {
                u64::from(u128::from(b) + i as u128 <= u128::from(n).wrapping_sub(1) && n != 0)
            });
        }
        Ok(())
    }

    /// The elements of the second vector added to those of the first, round and round.
    fn partial_sum(&mut self, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let (scalar, sums) = self.elements(self.value(args, 0)?)?;
        let (_, terms) = self.elements(self.value(args, 1)?)?;
        let one = Type::Scalar(scalar);
        let step = scalar_words(scalar);
        self.regs.copy(dst, sums[0], step * ty.lanes() as usize, self.mask);
        for (i, &term) in terms.iter().enumerate() {
            let at = dst + i % sums.len() * step;
            self.binary(BinaryOp::Add, InstFlags::empty(), one, at, [at, term])?;
        }
        Ok(())
    }

    /// A bit of a mask that must be defined.
    fn mask_bit(&self, slot: usize, lane: usize) -> Step<bool> {
        Ok(self.defined(slot, lane, "a mask")? & 1 != 0)
    }

    /// Elements under the mask move together; behind them is what the third argument has.
    fn compress(&mut self, args: &[Value], dst: usize) -> Step<()> {
        let (scalar, all) = self.elements(self.value(args, 0)?)?;
        let (_, mask) = self.elements(self.value(args, 1)?)?;
        let (_, rest) = self.elements(self.value(args, 2)?)?;
        let step = scalar_words(scalar);
        self.regs.copy(dst, rest[0], step * all.len(), self.mask);
        for l in lanes(self.mask) {
            let mut next = dst;
            for (&at, &bit) in all.iter().zip(&mask) {
                if self.mask_bit(bit, l)? {
                    self.regs.copy(next, at, step, 1 << l);
                    next += step;
                }
            }
        }
        Ok(())
    }

    /// Number of elements before the first that is not zero.
    fn first_set(&mut self, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let (scalar, all) = self.elements(self.value(args, 0)?)?;
        let zero_is_poison = self.immediate(args, 1)? & 1 != 0;
        let result = self.scalar_of(ty)?;
        for l in lanes(self.mask) {
            let mut first = all.len();
            for (i, &at) in all.iter().enumerate().rev() {
                for w in 0..scalar_words(scalar) {
                    if self.defined(at + w, l, "a count of elements")? != 0 {
                        first = i;
                    }
                }
            }
            self.regs.write_lane(dst, l, first as u64 & word_mask(result.bits(), 0), 0);
            if first == all.len() && zero_is_poison {
                self.poison(dst, result, 1 << l);
            }
        }
        Ok(())
    }

    fn last_active(&mut self, args: &[Value], dst: usize) -> Step<()> {
        let (scalar, all) = self.elements(self.value(args, 0)?)?;
        let (_, mask) = self.elements(self.value(args, 1)?)?;
        let step = scalar_words(scalar);
        let default = self.arg(args, 2)?;
        self.regs.copy(dst, default, step, self.mask);
        for l in lanes(self.mask) {
            for (&at, &bit) in all.iter().zip(&mask) {
                if self.mask_bit(bit, l)? {
                    self.regs.copy(dst, at, step, 1 << l);
                }
            }
        }
        Ok(())
    }

    /// Whether each element is among those of the second vector, under a mask.
    fn matches(&mut self, args: &[Value], dst: usize) -> Step<()> {
        let (scalar, all) = self.elements(self.value(args, 0)?)?;
        let (_, wanted) = self.elements(self.value(args, 1)?)?;
        let (_, mask) = self.elements(self.value(args, 2)?)?;
        for l in lanes(self.mask) {
            for (i, &at) in all.iter().enumerate() {
                let x = self.big(at, scalar.bits(), l);
                let found = wanted.iter().any(|&w| self.big(w, scalar.bits(), l) == x);
                let on = self.mask_bit(mask[i], l)?;
                self.regs.write_lane(dst + i, l, u64::from(found && on), 0);
            }
        }
        let from: Vec<(usize, u32)> = all.iter().chain(&wanted).map(|&at| (at, scalar.bits())).collect();
        (0..all.len()).for_each(|i| self.undefined_from(dst + i, Scalar::Int(1), &from));
        Ok(())
    }

    fn reduce(&mut self, how: Reduction, args: &[Value], dst: usize) -> Step<()> {
        let start = matches!(how, Reduction::Float(_));
        let (scalar, all) = self.elements(self.value(args, usize::from(start))?)?;
        let (one, step) = (Type::Scalar(scalar), scalar_words(scalar));
        let flags = self.f.insts[self.inst].flags & (InstFlags::REASSOC | InstFlags::CONTRACT);
        let first = if start { self.arg(args, 0)? } else { all[0] };
        self.regs.copy(dst, first, step, self.mask);
        for &at in all.iter().skip(usize::from(!start)) {
            match how {
                Reduction::Int(op) => self.binary(op, InstFlags::empty(), one, dst, [dst, at])?,
                Reduction::Float(op) => self.binary(op, flags, one, dst, [dst, at])?,
                Reduction::Extreme(predicate) => self.keep_extreme(predicate, scalar, dst, at),
                Reduction::FloatExtreme(intrinsic) => {
                    let Scalar::Float(float) = scalar else {
                        return Err(Stop::new(Cause::Malformed("a float reduction of integers".to_owned())));
                    };
                    self.float_extreme(intrinsic, float, dst, [dst, at]);
                }
            }
        }
        Ok(())
    }

    /// Replaces `dst` by `at` where that comes first by `predicate`.
    fn keep_extreme(&mut self, predicate: IntPredicate, scalar: Scalar, dst: usize, at: usize) {
        let bits = scalar.bits();
        let better = lanes(self.mask).filter(|&l| {
            let (x, y) = (self.big(at, bits, l), self.big(dst, bits, l));
            if predicate.is_signed() {
                let (x, y) = (super::wide::signed(&x, bits), super::wide::signed(&y, bits));
                if predicate == IntPredicate::Slt { x < y } else { x > y }
            } else if predicate == IntPredicate::Ult {
                x < y
            } else {
                x > y
            }
        });
        let better = better.fold(0, |m, l| m | 1 << l);
        let unknown =
            |at: usize, l: usize| (0..scalar_words(scalar)).any(|w| self.regs.undef(at + w, l) != 0);
        let undefined = lanes(self.mask).filter(|&l| unknown(at, l) || unknown(dst, l));
        let undefined = undefined.fold(0, |m, l| m | 1 << l);
        self.regs.copy(dst, at, scalar_words(scalar), better);
        self.poison(dst, scalar, undefined);
    }

    /// Loads under a mask; elements that are off are those of the last argument.
    fn masked_load(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let scalar = self.scalar_of(ty)?;
        let (element, step) = (Type::Scalar(scalar), scalar_words(scalar));
        let ptr = self.value(args, 0)?;
        let (_, mask) = self.elements(self.value(args, args.len().saturating_sub(2))?)?;
        let rest = self.arg(args, args.len().saturating_sub(1))?;
        self.regs.copy(dst, rest, step * ty.lanes() as usize, self.mask);
        for l in lanes(self.mask) {
            let mut next = 0;
            for (i, &bit) in mask.iter().enumerate() {
                let on = self.mask_bit(bit, l)?;
                let n = if intrinsic == Intrinsic::MaskedExpandload { next } else { i };
                next += usize::from(on);
                if on {
                    let place = self.element_place(ptr, n, scalar, l)?;
                    self.load_value(place, l, element, dst + i * step)?;
                }
            }
        }
        Ok(())
    }

    fn masked_store(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Step<()> {
        let (value, ptr) = (self.value(args, 0)?, self.value(args, 1)?);
        let (scalar, all) = self.elements(value)?;
        let (_, mask) = self.elements(self.value(args, args.len().saturating_sub(1))?)?;
        for l in lanes(self.mask) {
            let mut next = 0;
            for (i, (&at, &bit)) in all.iter().zip(&mask).enumerate() {
                let on = self.mask_bit(bit, l)?;
                let n = if intrinsic == Intrinsic::MaskedCompressstore { next } else { i };
                next += usize::from(on);
                if on {
                    let place = self.element_place(ptr, n, scalar, l)?;
                    self.store_value(place, l, Type::Scalar(scalar), at)?;
                }
            }
        }
        Ok(())
    }

    /// Where element `n` behind a pointer is, or what element `n` of a vector of pointers points to.
    fn element_place(&self, ptr: Value, n: usize, scalar: Scalar, lane: usize) -> Step<super::memory::Place> {
        let (_, pointers) = self.elements(ptr)?;
        let space = space_of(self.ty(ptr));
        if !scalar.bits().is_multiple_of(8) && pointers.len() == 1 {
            return Err(Stop::unsupported(format!("a masked access to elements of {scalar}")));
        }
        let (slot, offset) = match pointers.len() {
            1 => (pointers[0], n as u64 * scalar.store_bytes()),
            _ => (pointers[n.min(pointers.len() - 1)], 0),
        };
        let address = self.defined(slot, lane, "an address")?.wrapping_add(offset);
        self.place_of(space, address & ones(space.pointer_bits()), lane)
    }
}
