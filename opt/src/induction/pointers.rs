//! Running pointers.

use super::{Group, Index, Key, Member, Reduction};
use crate::bits::sext64;
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::target::Features;
use rustc_hash::FxHashMap;

/// How many instructions are looked at for one that does the same.
const RECENT: usize = 16;

impl Reduction<'_> {
    /// Lets the addresses of `group` follow a pointer that the loop advances.
    pub(super) fn make_pointer(&mut self, key: Key, group: &Group) {
        let Key { base, scale, index: Index { counter, more, factor, plus, cast, .. } } = key;
        let (entering, latch, header) = (self.simple.entering, self.simple.latch, self.simple.header);
        let Some(&Member { ahead: nearest, inst: like, .. }) = group.first() else { return };
        let ty = self.func.ty(base);
        let Some(advance) = counter.step.checked_mul(scale) else { return };
        // A small number that differs between lanes stays beside a pointer that does not, as an operand of the access.
        let takes_both = ty.addr_space() == Some(AddrSpace::GLOBAL) && self.target.has(Features::GLOBAL);
        let beside = plus
            .filter(|&plus| takes_both && factor.is_some() && self.is_small(plus, scale))
            .filter(|_| self.is_scalar(key));
        // Each part is extended by itself: their sum may wrap in iterations that do not use it.
        let mut start = base;
        if let Some(plus) = plus.filter(|_| beside.is_none()) {
            start = self.add_part(start, plus, scale, cast, like);
        }
        if factor.is_none() {
            start = self.add_part(start, counter.start, scale, cast, like);
        }
        let Some(varying) = factor.or(counter.by) else {
            let pointer = self.func.add_block_param(header, ty);
            let next = self.before_end(latch, constant_step(pointer, advance), ty, like);
            self.pass(entering, start);
            self.pass(latch, next.unwrap_or(pointer));
            let mut made: FxHashMap<Value, Value> = FxHashMap::default();
            for member in group {
                let Some(here) = self.off_pointer(member, pointer, key, &mut made) else { continue };
                self.rebase(member.inst, here, None);
                self.add_offset(member.inst, member.plus.wrapping_mul(scale));
            }
            return;
        };
        let advance = if factor.is_some() { advance } else { scale };
        let unit = self.widen(varying, cast, like);
        let first = match self.func.as_int(counter.start) {
            _ if factor.is_none() => 0,
            Some(start) => sext64(start, self.func.ty(counter.start).bits().unwrap_or(64) as u32),
            None => {
                let begin = self.widen(counter.start, cast, like);
                start = self.add_product(start, [begin, unit], scale, like);
                0
            }
        };
        if let Some(more) = more {
            let more = self.widen(more, cast, like);
            start = self.add_product(start, [more, unit], scale, like);
        }
        let mut steps: FxHashMap<i64, Value> = FxHashMap::default();
        let first = first.wrapping_add(nearest).wrapping_mul(scale);
        if first != 0 {
            let step = self.step(start, unit, first, &mut steps, like);
            start = self.before_end(entering, step, ty, like).unwrap_or(start);
        }
        let pointer = self.func.add_block_param(header, ty);
        let (mut at, mut here) = (nearest, pointer);
        for &Member { ahead, inst, plus, .. } in group {
            if ahead != at {
                let step = ahead.wrapping_sub(at).wrapping_mul(scale);
                let step = self.step(here, unit, step, &mut steps, like);
                here = self.before(inst, step, ty).unwrap_or(here);
                at = ahead;
            }
            self.rebase(inst, here, beside);
            self.add_offset(inst, plus.wrapping_mul(scale));
        }
        let left = nearest.wrapping_sub(at).wrapping_mul(scale).wrapping_add(advance);
        let mut next = here;
        if left != 0 {
            let step = self.step(here, unit, left, &mut steps, like);
            next = self.before_end(latch, step, ty, like).unwrap_or(here);
        }
        self.pass(entering, start);
        self.pass(latch, next);
    }

    /// Where `member` is but for constants: `pointer`, or that and what it has [apart](Member::apart). `made` knows what each iteration makes.
    fn off_pointer(
        &mut self,
        member: &Member,
        pointer: Value,
        key: Key,
        made: &mut FxHashMap<Value, Value>,
    ) -> Option<Value> {
        let Some(apart) = member.apart else { return Some(pointer) };
        if let Some(&known) = made.get(&apart).filter(|_| !member.in_arm) {
            return Some(known);
        }
        let unit = self.widen(apart, key.index.cast, member.inst);
        let step = self.step(pointer, unit, key.scale, &mut FxHashMap::default(), member.inst);
        let here = self.before(member.inst, step, self.func.ty(pointer))?;
        // What an arm makes, the others have not.
        if !member.in_arm {
            made.insert(apart, here);
        }
        Some(here)
    }

    /// Whether an access takes `value * scale` as its offset whatever lane it is in.
    fn is_small(&self, value: Value, scale: i64) -> bool {
        let is_id = self.func.def_inst(value).is_some_and(|inst| {
            matches!(
                self.func.insts[inst].kind,
                InstKind::Intrinsic {
                    intrinsic: Intrinsic::WorkitemIdX | Intrinsic::WorkitemIdY | Intrinsic::WorkitemIdZ,
                    ..
                }
            )
        });
        // A work-group has at most 1024 work-items.
        is_id && (1..=1 << 20).contains(&scale) && scale.count_ones() == 1
    }

    /// Whether all that a pointer is made of but `plus` is the same in all lanes.
    pub(super) fn is_scalar(
        &mut self,
        Key { base, index: Index { counter, more, factor, .. }, .. }: Key,
    ) -> bool {
        let parts = [Some(base), Some(counter.value), more, factor];
        parts.into_iter().flatten().all(|value| self.is_uniform(value))
    }

    /// Whether `value`, which is not made here, is the same in all lanes of the loop.
    pub(super) fn is_uniform(&mut self, value: Value) -> bool {
        let uniformity = self.uniformity.get_or_insert_with(|| Uniformity::compute(self.func, self.target));
        !uniformity.is_divergent_at(value, self.simple.header)
    }

    /// `start + part * scale`, in front of the loop.
    fn add_part(
        &mut self,
        start: Value,
        part: Value,
        scale: i64,
        cast: Option<(CastOp, Type)>,
        like: Inst,
    ) -> Value {
        let (entering, ty) = (self.simple.entering, self.func.ty(start));
        let kind = match self.func.as_int(part) {
            Some(constant) => {
                let bits = self.func.ty(part).bits().unwrap_or(64) as u32;
                let unsigned = matches!(cast, Some((CastOp::ZExt, _)));
                let value = if unsigned { constant as i64 } else { sext64(constant, bits) };
                constant_step(start, value.wrapping_mul(scale))
            }
            None => {
                let index = match cast {
                    Some((op, wide)) => self
                        .before_end(entering, InstKind::Cast { op, arg: part }, wide, like)
                        .unwrap_or(part),
                    None => part,
                };
                InstKind::PtrAdd { base: start, index: Some(index), scale, offset: 0 }
            }
        };
        match kind {
            InstKind::PtrAdd { index: None, offset: 0, .. } => start,
            kind => self.before_end(entering, kind, ty, like).unwrap_or(start),
        }
    }

    /// `start + args[0] * args[1] * scale`, in front of the loop; both are extended from 32 bits.
    fn add_product(&mut self, start: Value, args: [Value; 2], scale: i64, like: Inst) -> Value {
        let (entering, ty) = (self.simple.entering, self.func.ty(start));
        let kind = InstKind::Binary { op: BinaryOp::Mul, args };
        let Some(product) = self.before_end(entering, kind, Type::I64, like) else { return start };
        let kind = InstKind::PtrAdd { base: start, index: Some(product), scale, offset: 0 };
        self.before_end(entering, kind, ty, like).unwrap_or(start)
    }

    /// `value` as wide as a pointer, extended as the index is; in front of the loop.
    pub(super) fn widen(&mut self, value: Value, cast: Option<(CastOp, Type)>, like: Inst) -> Value {
        if self.func.ty(value).is_int(64) {
            return value;
        }
        let kind = InstKind::Cast { op: cast.map_or(CastOp::SExt, |(op, _)| op), arg: value };
        self.before_end(self.simple.entering, kind, Type::I64, like).unwrap_or(value)
    }

    /// `pointer + factor * times`. The product is made in front of the loop, if it is one that legal code has; else it is the address's own.
    fn step(
        &mut self,
        pointer: Value,
        factor: Value,
        times: i64,
        known: &mut FxHashMap<i64, Value>,
        like: Inst,
    ) -> InstKind {
        if !self.is_product(factor, times) {
            return InstKind::PtrAdd { base: pointer, index: Some(factor), scale: times, offset: 0 };
        }
        let step = self.multiple(factor, times, known, like);
        pointer_step(pointer, step)
    }

    /// Whether [`Self::multiple`] is legal code: a shift, or a product of two numbers that are extended from 32 bits in the same way.
    fn is_product(&self, factor: Value, times: i64) -> bool {
        let Some(size) = times.checked_abs() else { return false };
        let narrow = |value| self.func.ty(value).bits().is_some_and(|bits| bits <= 32);
        let most = match self.func.def_inst(factor).map(|inst| &self.func.insts[inst].kind) {
            Some(&InstKind::Cast { op: CastOp::SExt, arg }) if narrow(arg) => i64::from(i32::MAX),
            Some(&InstKind::Cast { op: CastOp::ZExt, arg }) if narrow(arg) => i64::from(u32::MAX),
            _ => 1,
        };
        size.count_ones() == 1 || size <= most
    }

    /// `factor * times` in front of the loop.
    fn multiple(
        &mut self,
        factor: Value,
        times: i64,
        known: &mut FxHashMap<i64, Value>,
        like: Inst,
    ) -> Value {
        if let Some(&value) = known.get(&times) {
            return value;
        }
        let entering = self.simple.entering;
        let value = if times == 1 {
            factor
        } else if times < 0 {
            let args =
                [self.func.int(Type::I64, 0), self.multiple(factor, times.wrapping_neg(), known, like)];
            let kind = InstKind::Binary { op: BinaryOp::Sub, args };
            self.before_end(entering, kind, Type::I64, like).unwrap_or(factor)
        } else if times.count_ones() == 1 {
            let by = self.func.int(Type::I64, u64::from(times.trailing_zeros()));
            let kind = InstKind::Binary { op: BinaryOp::Shl, args: [factor, by] };
            self.before_end(entering, kind, Type::I64, like).unwrap_or(factor)
        } else {
            let by = self.func.int(Type::I64, times as u64);
            let kind = InstKind::Binary { op: BinaryOp::Mul, args: [factor, by] };
            self.before_end(entering, kind, Type::I64, like).unwrap_or(factor)
        };
        known.insert(times, value);
        value
    }

    /// Lets the address `inst` be off `pointer`, with the index `beside`.
    fn rebase(&mut self, inst: Inst, pointer: Value, beside: Option<Value>) {
        if let InstKind::PtrAdd { base, index, scale, .. } = &mut self.func.insts[inst].kind {
            (*base, *index) = (pointer, beside);
            if beside.is_none() {
                *scale = 0;
            }
        }
    }

    /// Moves an address by `bytes`. What it promised of its own way from the base need not hold of the way from the pointer.
    fn add_offset(&mut self, inst: Inst, bytes: i64) {
        if bytes != 0
            && let InstKind::PtrAdd { offset, .. } = &mut self.func.insts[inst].kind
        {
            *offset = offset.wrapping_add(bytes);
            self.func.insts[inst].flags = InstFlags::empty();
        }
    }

    /// Makes an instruction in front of the terminator of `block`.
    pub(super) fn before_end(&mut self, block: Block, kind: InstKind, ty: Type, like: Inst) -> Option<Value> {
        let insts = &self.func.blocks[block].insts;
        let end = insts.len().saturating_sub(1);
        // Pointers that follow one counter are made of the same parts.
        let recent = insts[end.saturating_sub(RECENT)..end].iter().map(|&inst| &self.func.insts[inst]);
        let same = |data: &&InstData| data.ty == ty && data.flags.is_empty() && data.kind == kind;
        if let Some(known) = recent.rev().find(same) {
            return known.result;
        }
        self.insert(block, end, kind, ty, like)
    }

    /// Makes an instruction in front of `inst`, which is in the loop.
    pub(super) fn before(&mut self, inst: Inst, kind: InstKind, ty: Type) -> Option<Value> {
        let block = self.homes[self.func.insts[inst].result?]?;
        let at = self.func.blocks[block].insts.iter().position(|&other| other == inst)?;
        self.insert(block, at, kind, ty, inst)
    }

    fn insert(&mut self, block: Block, at: usize, kind: InstKind, ty: Type, like: Inst) -> Option<Value> {
        let inst = self.func.make_inst(kind, ty, InstFlags::empty());
        self.func.locs[inst] = self.func.locs[like];
        self.func.blocks[block].insts.insert(at, inst);
        self.func.insts[inst].result
    }

    /// Passes `value` from the block `from` for the header's last parameter.
    pub(super) fn pass(&mut self, from: Block, value: Value) {
        let Some(last) = self.func.terminator(from) else { return };
        for call in self.func.insts[last].kind.targets_mut() {
            if call.block == self.simple.header {
                call.args.push(value);
            }
        }
    }
}

/// A pointer some bytes further.
fn constant_step(base: Value, offset: i64) -> InstKind {
    InstKind::PtrAdd { base, index: None, scale: 0, offset }
}

/// A pointer further by a number of bytes, of 64 bits.
fn pointer_step(base: Value, step: Value) -> InstKind {
    InstKind::PtrAdd { base, index: Some(step), scale: 1, offset: 0 }
}
