//! Vectors, structs and arrays: their members are parts, so most of this is picking.

use super::{Legalizer, Parts};
use crate::flow::Flows;
use crate::fold::defined_elements;
use cranelift_entity::SecondaryMap;
use mir::ir::legal::is_indexable;
use mir::ir::*;
use mir::{Diagnostic, Result};

/// Fewest elements for which an indexed move beats comparisons and selections.
const MIN_INDEXED_LANES: u32 = 4;

/// Most elements that a variable index is compared with, one by one, where they are no tuple.
const MAX_COMPARED: usize = 4;

/// Most defined elements that a variable index is compared with where it is the same in all lanes.
const MAX_SCALAR_CHOICES: usize = 2;

/// The vectors that stay whole: those an element of which is chosen by a variable index, and what they are
/// the same registers as, through insertions and parameters of blocks. Linear.
pub(super) fn whole_vectors(f: &Function) -> SecondaryMap<Value, bool> {
    let mut whole = SecondaryMap::new();
    let mut work: Vec<Value> = Vec::new();
    // Pairs of values that share a register, both ways.
    let mut same: Vec<(Value, Value)> = Vec::new();
    for &block in &f.layout {
        for &inst in &f.blocks[block].insts {
            let data = &f.insts[inst];
            match (&data.kind, data.result) {
                (&InstKind::ExtractElement { vector, index }, _) if f.as_int(index).is_none() => {
                    work.push(vector);
                }
                (&InstKind::InsertElement { vector, index, .. }, Some(result)) => {
                    same.push((vector, result));
                    if f.as_int(index).is_none() {
                        work.push(result);
                    }
                }
                (kind, _) => {
                    for target in kind.targets() {
                        let pairs = f.blocks[target.block].params.iter().zip(&target.args);
                        same.extend(pairs.filter(|&(&p, _)| is_indexable(f.ty(p))).map(|(&p, &a)| (p, a)));
                    }
                }
            }
        }
    }
    if work.is_empty() {
        return whole;
    }
    let both: Vec<_> = same.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect();
    let peers = Flows::new(&both);
    while let Some(value) = work.pop() {
        let fits = is_indexable(f.ty(value)) && f.ty(value).lanes() >= MIN_INDEXED_LANES;
        if fits && !whole[value] && f.as_const(value).is_none() {
            whole[value] = true;
            work.extend_from_slice(peers.of(value));
        }
    }
    whole
}

/// The vector of whole registers that `vector` is a cast of, if it is one and its elements are several of that one's.
fn cast_source(f: &Function, vector: Value) -> Option<Value> {
    let InstKind::Cast { op: CastOp::BitCast, arg } = f.insts[f.def_inst(vector)?].kind else { return None };
    let (of, from) = (f.ty(vector).scalar()?.bits(), f.ty(arg));
    let several = is_indexable(from) && from.scalar().is_some_and(|part| of > part.bits() && of % 64 == 0);
    (several && f.ty(vector).lanes() > 1).then_some(arg)
}

impl Legalizer<'_> {
    /// Scalar type and parts for each lane of a value of a scalar or vector type.
    pub(super) fn lanes(&mut self, value: Value) -> Result<(Scalar, Parts)> {
        let ty = self.old.ty(value);
        let scalar = ty.scalar().ok_or_else(|| Diagnostic::malformed("aggregate where a scalar belongs"))?;
        Ok((scalar, self.parts(value)?))
    }

    pub(super) fn lower_select(&mut self, cond: Value, if_true: Value, if_false: Value) -> Result<Parts> {
        let conds = self.parts(cond)?;
        // Pointers that are known to lie in one space stay there.
        let same = self.spaces.of(if_true).is_some() && self.spaces.of(if_true) == self.spaces.of(if_false);
        let (t, f) = if same {
            (self.raw_parts(if_true)?, self.raw_parts(if_false)?)
        } else {
            (self.parts(if_true)?, self.parts(if_false)?)
        };
        if conds.is_empty() || t.len() != f.len() || !t.len().is_multiple_of(conds.len()) {
            return Err(Diagnostic::malformed("select of values of different shapes"));
        }
        let per_lane = t.len() / conds.len();
        let compared = self.old.def_inst(cond).map(|inst| &self.old.insts[inst]);
        let promised = compared
            .filter(|data| matches!(data.kind, InstKind::Fcmp { .. }))
            .map_or(InstFlags::empty(), |data| data.flags);
        let no_nans = promised.contains(InstFlags::NNAN) && !promised.contains(InstFlags::STRICT);
        // clang gives selections among the elements of vectors no flags; LLVM takes the comparison's for theirs.
        let no_signs = (self.flags | promised).contains(InstFlags::NSZ);
        Ok((0..t.len())
            .map(|i| {
                let cond = if conds.len() == 1 { conds[0] } else { conds[i / per_lane] };
                let extreme = if no_nans { self.extreme(cond, t[i], f[i], no_signs) } else { None };
                extreme.unwrap_or_else(|| self.b.select(cond, t[i], f[i]))
            })
            .collect())
    }

    /// The larger or smaller one of two numbers, of which a comparison that promises no NaNs selects one. That zeros need not have
    /// the right sign (`no_signs`) has to be promised, but between a number and a constant other than zero.
    fn extreme(&mut self, cond: Value, if_true: Value, if_false: Value, no_signs: bool) -> Option<Value> {
        use FloatPredicate::*;
        let ty = self.b.ty(if_true);
        let InstKind::Fcmp { predicate, args } = self.b.func.insts[self.b.func.def_inst(cond)?].kind else {
            return None;
        };
        let nonzero = |value| match self.b.func.as_const(value) {
            Some(Const::Float(bits)) => bits & (u64::MAX >> 1) & !(u64::from(ty == Type::F32) << 31) != 0,
            _ => false,
        };
        let signs = no_signs || nonzero(if_true) || nonzero(if_false);
        if !signs || !matches!(ty, Type::F32 | Type::F64) {
            return None;
        }
        let greater = match predicate {
            Ogt | Oge | Ugt | Uge => true,
            Olt | Ole | Ult | Ule => false,
            _ => return None,
        };
        let takes_first = match args {
            [a, b] if [a, b] == [if_true, if_false] => true,
            [a, b] if [b, a] == [if_true, if_false] => false,
            _ => return None,
        };
        let extreme = if greater == takes_first { Intrinsic::Maxnum } else { Intrinsic::Minnum };
        // A constant comes second, where clamps are looked for.
        let [x, y] =
            if self.b.func.as_const(if_true).is_some() { [if_false, if_true] } else { [if_true, if_false] };
        Some(self.b.intrinsic_flags(extreme, &[x, y], ty, InstFlags::NNAN))
    }

    /// A vector that a variable index may address, in one register tuple.
    pub(super) fn whole_vector(&mut self, vector: Value) -> Result<Value> {
        if self.whole[vector] {
            let (start, _) = self.parts[vector];
            let found = self.arena.get(start as usize).copied();
            return found.ok_or_else(|| Diagnostic::malformed("a vector without a definition"));
        }
        let parts = self.parts(vector)?;
        Ok(self.b.vector(&parts))
    }

    fn is_indexed(&self, vector: Value) -> bool {
        is_indexable(self.old.ty(vector)) && self.old.ty(vector).lanes() >= MIN_INDEXED_LANES
    }

    pub(super) fn lower_extract(&mut self, vector: Value, index: Value) -> Result<Parts> {
        let constant = self.old.as_const(vector).is_some();
        if self.old.as_int(index).is_none()
            && let Some(source) = cast_source(self.old, vector)
            && self.whole[source]
            && !self.differs_between_lanes(index, self.current_block)
        {
            // Where lanes differ, comparisons of fewer elements cost less.
            return self.extract_several(source, vector, index);
        }
        if self.old.as_int(index).is_none() && self.is_indexed(vector) && !constant {
            let differs = self.differs_between_lanes(index, self.current_block);
            let (index, vector) = (self.vector_index(index)?, self.whole_vector(vector)?);
            if let Some(chosen) = self.choose_defined(vector, index, differs) {
                return Ok(Parts::from_slice(&[chosen]));
            }
            let element = self.b.ty(vector).scalar().map_or(Type::I32, Type::Scalar);
            let kind = InstKind::ExtractElement { vector, index };
            return Ok(Parts::from_slice(&[self.b.pure(kind, element, InstFlags::empty())]));
        }
        if self.whole[vector]
            && let Some(at) = self.old.as_int(index)
            && at < u64::from(self.old.ty(vector).lanes())
        {
            let vector = self.whole_vector(vector)?;
            return Ok(Parts::from_slice(&[self.b.extract(vector, at as u32)]));
        }
        let (scalar, parts) = self.lanes(vector)?;
        let each = self.element_parts(scalar);
        let lanes = parts.len() / each;
        if let Some(at) = self.old.as_int(index) {
            let start = at as usize * each;
            return match parts.get(start..start + each) {
                Some(found) if (at as usize) < lanes => Ok(Parts::from_slice(found)),
                _ => Ok((0..each).map(|i| self.poison_like(parts[i])).collect()),
            };
        }
        let index = self.vector_index(index)?;
        if let Some(element) = self.extract_shifted(&parts, scalar, index, constant) {
            return Ok(element);
        }
        if constant || lanes <= MAX_COMPARED {
            // Constants are operands of the selections; in a tuple they would take registers first. Few elements cost least so, and an insertion at the same
            // index asks the same.
            let undefined = |parts: &[Value]| {
                parts.iter().all(|&p| matches!(self.b.func.as_const(p), Some(Const::Undef | Const::Poison)))
            };
            let (elements, anything): (Vec<_>, Vec<_>) =
                parts.chunks(each).enumerate().partition(|(_, members)| !undefined(members));
            // Any element does for one that is not defined.
            let first = elements.first().or(anything.first());
            let first = first.ok_or_else(|| Diagnostic::malformed("vector without elements"))?;
            let mut result = Parts::from_slice(first.1);
            for &(lane, members) in elements.iter().skip(1) {
                let hit = self.b.icmp_imm(IntPredicate::Eq, index, lane as u64);
                result =
                    result.iter().zip(members).map(|(&old, &new)| self.b.select(hit, new, old)).collect();
            }
            return Ok(result);
        }
        if lanes > 16 && each == 1 {
            return self.extract_through_stack(&parts, index);
        }
        // A tournament: each bit of the index halves what is left.
        let mut left: Vec<Value> = parts.to_vec();
        let mut bit = 0;
        while left.len() > each {
            let lanes = left.len() / each;
            let masked = self.b.and_imm(index, 1 << bit);
            let odd = self.b.icmp_imm(IntPredicate::Ne, masked, 0);
            let mut next = Vec::with_capacity(lanes.div_ceil(2) * each);
            for pair in left.chunks(2 * each) {
                for i in 0..each {
                    next.push(match pair.get(each + i) {
                        Some(&second) => self.b.select(odd, second, pair[i]),
                        None => pair[i],
                    });
                }
            }
            left = next;
            bit += 1;
        }
        let result = Parts::from_slice(&left);
        Ok(result)
    }

    /// The element at a variable index of a vector that is not defined everywhere: a choice between the other elements, any of which does for what is not
    /// defined. Constants are chosen from where all are defined, too: a tuple would take registers for them first. Where the index is the same in all
    /// lanes, there are indexed moves, which cost less than many choices.
    fn choose_defined(&mut self, vector: Value, index: Value, differs: bool) -> Option<Value> {
        let lanes = self.b.ty(vector).lanes() as usize;
        let defined = defined_elements(&self.b, vector)?;
        let constant = defined.values().all(|&element| self.b.func.as_const(element).is_some());
        let most = match (differs, constant) {
            (true, true) => lanes,
            (true, false) => lanes.saturating_sub(1),
            (false, true) => MAX_COMPARED,
            (false, false) => MAX_SCALAR_CHOICES,
        };
        if defined.len() > most {
            return None;
        }
        let mut defined = defined.into_iter();
        let Some((_, mut chosen)) = defined.next() else {
            let element = self.b.ty(vector).scalar().map_or(Type::I32, Type::Scalar);
            return Some(self.b.undef(element));
        };
        for (lane, element) in defined {
            let hit = self.b.icmp_imm(IntPredicate::Eq, index, lane);
            chosen = self.b.select(hit, element, chosen);
        }
        Some(chosen)
    }

    /// Element `index` out of `parts`, several of which fill a dword: what lies in memory so is still whole in registers, and a shift by the element's first
    /// bit takes the place of a choice between all. Dwords beyond 64 bits are chosen first; constants beyond that would take registers. Nothing where a
    /// choice of two does.
    fn extract_shifted(
        &mut self,
        parts: &[Value],
        scalar: Scalar,
        index: Value,
        constant: bool,
    ) -> Option<Parts> {
        let bits = scalar.bits();
        let total = bits * parts.len() as u32;
        let undefined =
            |&&part: &&Value| matches!(self.b.func.as_const(part), Some(Const::Undef | Const::Poison));
        let defined = parts.len() - parts.iter().filter(undefined).count();
        if !matches!(bits, 8 | 16) || defined <= 2 || constant && total > 64 {
            return None;
        }
        let words = self.split_dwords(parts, scalar);
        // Bytes that have to be put together first are chosen for less.
        let is_put_together = |&word: &Value| {
            let inst = self.b.func.def_inst(word).map(|inst| &self.b.func.insts[inst].kind);
            matches!(inst, Some(InstKind::Binary { op: BinaryOp::Or, .. }))
        };
        if bits == 8 && words.iter().any(is_put_together) {
            return None;
        }
        let shifted = match words[..] {
            [word] => {
                let bit = self.b.shl_imm(index, bits.trailing_zeros());
                self.b.binary(BinaryOp::LShr, word, bit)
            }
            [low, high] => {
                let whole = self.b.join64(low, high);
                let bit = self.b.shl_imm(index, bits.trailing_zeros());
                let bit = self.b.zext_or_trunc(bit, Type::I64);
                let shifted = self.b.binary(BinaryOp::LShr, whole, bit);
                self.b.cast(CastOp::Trunc, shifted, Type::I32)
            }
            _ => {
                let each = 32 / bits;
                let at = self.b.lshr_imm(index, each.trailing_zeros());
                let within = self.b.and_imm(index, u64::from(each - 1));
                let word = self.choose_word(&words, at);
                let bit = self.b.shl_imm(within, bits.trailing_zeros());
                self.b.binary(BinaryOp::LShr, word, bit)
            }
        };
        let mut element = Parts::new();
        self.join_dwords(&[shifted], 0, scalar, &mut element);
        Some(element)
    }

    /// Word `at` of `words`.
    fn choose_word(&mut self, words: &[Value], at: Value) -> Value {
        if words.len() >= MIN_INDEXED_LANES as usize {
            let vector = self.b.vector(words);
            if is_indexable(self.b.ty(vector)) {
                let kind = InstKind::ExtractElement { vector, index: at };
                return self.b.pure(kind, Type::I32, InstFlags::empty());
            }
        }
        let mut chosen = words[0];
        for (number, &word) in words.iter().enumerate().skip(1) {
            let hit = self.b.icmp_imm(IntPredicate::Eq, at, number as u64);
            chosen = self.b.select(hit, word, chosen);
        }
        chosen
    }

    /// Element `index` of `vector` in parts of 64 bits, out of `source`, of which it is a cast.
    fn extract_several(&mut self, source: Value, vector: Value, index: Value) -> Result<Parts> {
        let scalar = self.old.ty(vector).scalar().unwrap_or(Scalar::Int(64));
        let bits = scalar.bits();
        let part_ty = if matches!(scalar, Scalar::Float(_)) { Type::F64 } else { Type::I64 };
        let (index, source) = (self.vector_index(index)?, self.whole_vector(source)?);
        let ty = self.b.ty(source).scalar().map_or(Type::I64, Type::Scalar);
        let width = ty.bits().unwrap_or(64) as u32;
        let count = self.b.i32(bits / width);
        let first = self.b.binary(BinaryOp::Mul, index, count);
        let piece = |this: &mut Self, k: u32| {
            let index = this.b.add_imm(first, k.into());
            let kind = InstKind::ExtractElement { vector: source, index };
            this.b.pure(kind, ty, InstFlags::empty())
        };
        let part = |k: u32| {
            let whole = match width {
                64 => piece(self, k),
                _ => {
                    let halves = [2 * k, 2 * k + 1].map(|k| piece(self, k));
                    let [low, high] = halves.map(|half| self.b.bitcast(half, Type::I32));
                    self.b.join64(low, high)
                }
            };
            self.b.bitcast(whole, part_ty)
        };
        Ok((0..bits / 64).map(part).collect())
    }

    pub(super) fn lower_insert(
        &mut self,
        result: Option<Value>,
        vector: Value,
        element: Value,
        index: Value,
    ) -> Result<Parts> {
        if result.is_some_and(|r| self.whole[r]) {
            let differs =
                self.old.as_int(index).is_none() && self.differs_between_lanes(index, self.current_block);
            let index = self.vector_index(index)?;
            let (vector, element) = (self.whole_vector(vector)?, self.part(element)?);
            let ty = self.b.ty(vector);
            if differs && defined_elements(&self.b, vector).is_some_and(|defined| defined.is_empty()) {
                // The other elements may be the new one, too.
                let all = vec![element; ty.lanes() as usize];
                return Ok(Parts::from_slice(&[self.b.vector(&all)]));
            }
            let kind = InstKind::InsertElement { vector, element, index };
            return Ok(Parts::from_slice(&[self.b.pure(kind, ty, InstFlags::empty())]));
        }
        let (scalar, mut parts) = self.lanes(vector)?;
        let each = self.element_parts(scalar);
        let lanes = parts.len() / each;
        let element = self.parts(element)?;
        if element.len() != each {
            return Err(Diagnostic::malformed("element of another type than the vector's"));
        }
        if let Some(at) = self.old.as_int(index) {
            if (at as usize) < lanes {
                parts[at as usize * each..][..each].copy_from_slice(&element);
            }
            return Ok(parts);
        }
        let index = self.vector_index(index)?;
        for lane in 0..lanes {
            let hit = self.b.icmp_imm(IntPredicate::Eq, index, lane as u64);
            for i in 0..each {
                let at = lane * each + i;
                parts[at] = self.b.select(hit, element[i], parts[at]);
            }
        }
        Ok(parts)
    }

    /// A variable index as i32; out-of-range ones are poison, so high bits may go.
    fn vector_index(&mut self, index: Value) -> Result<Value> {
        let bits = self.old.ty(index).bits().unwrap_or(32) as u32;
        let parts = self.parts(index)?;
        let low = parts.first().copied().ok_or_else(|| Diagnostic::malformed("index without a value"))?;
        let low = self.zero_extended(low, bits.min(64));
        Ok(self.b.zext_or_trunc(low, Type::I32))
    }

    fn extract_through_stack(&mut self, parts: &[Value], index: Value) -> Result<Parts> {
        // An index out of range must not leave the object.
        let last = self.b.i32(parts.len() as u32 - 1);
        let index = self.b.intrinsic(Intrinsic::Umin, &[index, last], Type::I32);
        let ty = self.b.ty(parts[0]);
        let narrow = if ty == Type::I1 { Type::I32 } else { ty };
        let stride = narrow.scalar().map_or(4, |s| s.store_bytes()).max(4);
        let slot = self.entry_alloca(stride * parts.len() as u64, stride.trailing_zeros() as u8);
        let mem = MemAccess::plain(AddrSpace::PRIVATE, stride.min(4).trailing_zeros() as u8);
        for (i, &part) in parts.iter().enumerate() {
            let part = if ty == Type::I1 { self.b.cast(CastOp::ZExt, part, narrow) } else { part };
            let ptr = self.b.ptr_offset(slot, i as i64 * stride as i64);
            self.store_scalar(ptr, part, mem)?;
        }
        let kind = InstKind::PtrAdd { base: slot, index: Some(index), scale: stride as i64, offset: 0 };
        let ptr = self.b.pure(kind, Type::ptr(AddrSpace::PRIVATE), InstFlags::empty());
        let loaded = self.load_scalar(ptr, mem, narrow)?;
        let loaded = if ty == Type::I1 { self.b.icmp_imm(IntPredicate::Ne, loaded, 0) } else { loaded };
        Ok(Parts::from_slice(&[loaded]))
    }

    fn poison_like(&mut self, part: Value) -> Value {
        let ty = self.b.ty(part);
        self.b.poison(ty)
    }

    pub(super) fn lower_shuffle(
        &mut self,
        args: [Value; 2],
        mask: &[Option<u32>],
        ty: Type,
    ) -> Result<Parts> {
        let (scalar, mut parts) = self.lanes(args[0])?;
        parts.extend(self.parts(args[1])?);
        let each = self.element_parts(scalar);
        let types = self.part_types(ty)?;
        let mut out = Parts::new();
        for (lane, source) in mask.iter().enumerate() {
            for i in 0..each {
                let part = source.and_then(|s| parts.get(s as usize * each + i).copied());
                out.push(match (part, types.get(lane * each + i)) {
                    (Some(part), _) => part,
                    (None, Some(&ty)) => self.b.poison(ty),
                    (None, None) => return Err(Diagnostic::malformed("shuffle mask longer than its result")),
                });
            }
        }
        Ok(out)
    }

    /// Where the member at `path` lies among the parts of a value of type `ty`.
    fn member_range(&self, mut ty: Type, path: &[u32]) -> Result<std::ops::Range<usize>> {
        let mut start = 0;
        for &index in path {
            let Type::Aggregate(agg) = ty else {
                return Err(Diagnostic::malformed("index path into a scalar"));
            };
            match &self.ctx.module.types.aggregates[agg] {
                Aggregate::Struct { fields, .. } => {
                    for &(field, _) in fields.iter().take(index as usize) {
                        start += self.part_types(field)?.len();
                    }
                    ty = fields
                        .get(index as usize)
                        .ok_or_else(|| Diagnostic::malformed("index past the end of a struct"))?
                        .0;
                }
                Aggregate::Array { element, .. } => {
                    start += self.part_types(*element)?.len() * index as usize;
                    ty = *element;
                }
            }
        }
        Ok(start..start + self.part_types(ty)?.len())
    }

    pub(super) fn lower_extract_value(&mut self, aggregate: Value, path: &[u32]) -> Result<Parts> {
        let range = self.member_range(self.old.ty(aggregate), path)?;
        let parts = self.parts(aggregate)?;
        parts
            .get(range)
            .map(Parts::from_slice)
            .ok_or_else(|| Diagnostic::malformed("index path outside of the aggregate"))
    }

    pub(super) fn lower_insert_value(
        &mut self,
        aggregate: Value,
        value: Value,
        path: &[u32],
    ) -> Result<Parts> {
        let range = self.member_range(self.old.ty(aggregate), path)?;
        let mut parts = self.parts(aggregate)?;
        let value = self.parts(value)?;
        match parts.get_mut(range) {
            Some(slot) if slot.len() == value.len() => slot.copy_from_slice(&value),
            _ => return Err(Diagnostic::malformed("inserted member does not fit the aggregate")),
        }
        Ok(parts)
    }
}
