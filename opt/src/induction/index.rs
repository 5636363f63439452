//! Which indices follow a counter.

use super::{Counter, Index, MAX_GROUP, Reduction};
use mir::ir::*;

impl Reduction<'_> {
    /// How `index` follows a counter of the loop.
    pub(super) fn index(&self, index: Value, base: Value, scale: i64) -> Option<Index> {
        if let Some(inst) = self.func.def_inst(index)
            && let InstKind::Cast { op: op @ (CastOp::ZExt | CastOp::SExt), arg } = self.func.insts[inst].kind
        {
            if op == CastOp::ZExt && scale == 1 {
                return None;
            }
            let extended = |op| self.narrow_index(arg, base, Some((op, self.func.ty(index))));
            // What is not negative may as well be extended by its sign.
            let either = self.func.insts[inst].flags.contains(InstFlags::NNEG);
            return extended(op).or_else(|| either.then(|| extended(CastOp::SExt))?);
        }
        self.narrow_index(index, base, None)
    }

    /// How `value`, which `cast` makes an index of, follows a counter.
    fn narrow_index(&self, value: Value, base: Value, cast: Option<(CastOp, Type)>) -> Option<Index> {
        let pointer_bits = self.func.ty(base).bits()?;
        if !matches!(self.func.ty(value), Type::Scalar(Scalar::Int(32 | 64))) {
            return None;
        }
        // An index that is narrower than the pointer is extended by its sign.
        let promise = match cast {
            Some((CastOp::ZExt, _)) => InstFlags::NUW,
            Some(_) => InstFlags::NSW,
            None if self.func.ty(value).bits()? < pointer_bits => InstFlags::NSW,
            None => InstFlags::empty(),
        };
        let found = self.term(value, promise).or_else(|| {
            let [a, b] = self.binary(value, BinaryOp::Add, promise)?;
            let (term, plus) = match (self.term(a, promise), self.term(b, promise)) {
                (Some(term), None) => (term, b),
                (None, Some(term)) => (term, a),
                _ => return None,
            };
            self.is_outside(plus).then_some(Index { plus: Some(plus), ..term })
        })?;
        // Where a multiplication and an addition make an address of 32 bits, or a shift, there is nothing to gain.
        let pays = found.factor.is_none() && found.counter.by.is_none() || pointer_bits == 64;
        pays.then_some(Index { cast, ..found })
    }

    /// `value` as a counter, or as a product of one, or of a number ahead of one; without what extends it.
    fn term(&self, value: Value, promise: InstFlags) -> Option<Index> {
        if let Some(counter) = self.counter(value) {
            let holds = counter.flags.contains(promise);
            return holds.then_some(Index {
                counter,
                ahead: 0,
                more: None,
                factor: None,
                plus: None,
                cast: None,
            });
        }
        if let Some((counter, ahead)) = self.steps_ahead(value, promise) {
            return Some(Index { counter, ahead, more: None, factor: None, plus: None, cast: None });
        }
        // Legal IR multiplies 64 bits only where they extend 32.
        if self.func.ty(value) != Type::I32 {
            return None;
        }
        let [a, b] = self.binary(value, BinaryOp::Mul, promise)?;
        let ((counter, ahead, more), factor) = match (self.sum(a, promise), self.sum(b, promise)) {
            (Some(found), None) => (found, b),
            (None, Some(found)) => (found, a),
            _ => return None,
        };
        let varies = self.func.as_const(factor).is_none() && counter.by.is_none();
        (varies && self.is_outside(factor)).then_some(Index {
            counter,
            ahead,
            more,
            factor: Some(factor),
            plus: None,
            cast: None,
        })
    }

    /// `value` as a counter of the loop, a constant, and something defined outside, added up.
    pub(super) fn sum(&self, value: Value, promise: InstFlags) -> Option<(Counter, i64, Option<Value>)> {
        if let Some((counter, ahead)) = self.ahead(value, promise) {
            return Some((counter, ahead, None));
        }
        let [a, b] = self.binary(value, BinaryOp::Add, promise)?;
        [(a, b), (b, a)].into_iter().find_map(|(inner, more)| {
            let (counter, ahead) = self.ahead(inner, promise)?;
            self.is_outside(more).then_some((counter, ahead, Some(more)))
        })
    }

    /// The operands of `value` if it is `op` and promises `promise`.
    fn binary(&self, value: Value, op: BinaryOp, promise: InstFlags) -> Option<[Value; 2]> {
        let data = &self.func.insts[self.func.def_inst(value)?];
        match data.kind {
            InstKind::Binary { op: found, args } if found == op && data.flags.contains(promise) => Some(args),
            _ => None,
        }
    }

    /// `value` as a counter of the loop and a constant that is added.
    pub(super) fn ahead(&self, value: Value, promise: InstFlags) -> Option<(Counter, i64)> {
        if let Some(counter) = self.counter(value) {
            return counter.flags.contains(promise).then_some((counter, 0));
        }
        // Of numbers that share no bit neither sum wraps.
        let apart = || self.binary(value, BinaryOp::Or, InstFlags::DISJOINT);
        let [of, constant] = self.binary(value, BinaryOp::Add, promise).or_else(apart)?;
        let counter = self.counter(of).filter(|counter| counter.flags.contains(promise))?;
        let bits = self.func.ty(value).bits()? as u32;
        let ahead = crate::bits::sext64(self.func.as_int(constant)?, bits);
        // An addition without unsigned wrap of what looks negative is one of a large number.
        let honest = ahead >= 0 || !promise.contains(InstFlags::NUW);
        honest.then_some((counter, ahead))
    }

    /// `value` as a counter of the loop with a step that is no constant, and how often that is added.
    fn steps_ahead(&self, value: Value, promise: InstFlags) -> Option<(Counter, i64)> {
        let (mut of, mut chain) = (value, Vec::new());
        while chain.len() < MAX_GROUP
            && let Some([x, step]) = self.binary(of, BinaryOp::Add, promise)
        {
            chain.push(step);
            of = x;
        }
        let counter = self.counter(of).filter(|counter| counter.flags.contains(promise))?;
        let all = !chain.is_empty() && chain.iter().all(|&step| Some(step) == counter.by);
        all.then_some((counter, chain.len() as i64))
    }

    /// `value` as a counter of the loop.
    pub(super) fn counter(&self, value: Value) -> Option<Counter> {
        let ValueDef::BlockParam(block, number) = self.func.values[value].def else { return None };
        if block != self.simple.header {
            return None;
        }
        let next = self.argument(self.simple.latch, number as usize)?;
        let data = &self.func.insts[self.func.def_inst(next)?];
        let InstKind::Binary { op: BinaryOp::Add, args: [of, step] } = data.kind else { return None };
        let bits = self.func.ty(value).bits()? as u32;
        let start = self.argument(self.simple.entering, number as usize)?;
        if of != value {
            return None;
        }
        let Some(step) = self.func.as_int(step) else {
            return self.is_outside(step).then_some(Counter {
                value,
                start,
                step: 0,
                by: Some(step),
                flags: data.flags,
            });
        };
        let step = crate::bits::sext64(step, bits);
        // As above.
        let honest = step >= 0 || !data.flags.contains(InstFlags::NUW);
        honest.then_some(Counter { value, start, step, by: None, flags: data.flags })
    }

    /// What `from` passes for the header's parameter of this number, if one edge leads there.
    pub(super) fn argument(&self, from: Block, number: usize) -> Option<Value> {
        let last = self.func.terminator(from)?;
        let targets = self.func.insts[last].kind.targets();
        let mut calls = targets.iter().filter(|call| call.block == self.simple.header);
        let call = calls.next()?;
        calls.next().is_none().then(|| call.args.get(number).copied())?
    }
}
