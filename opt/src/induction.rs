//! Addresses that a loop computes from its counter become running pointers.
//!
//! `base + i * scale` with a 64-bit base takes a multiplication at a quarter of the rate, or a shift and two
//! additions with carry, in each iteration; a pointer that is advanced takes the two additions. So in an innermost
//! loop, for each base and index of this form,
//!
//! * the base is defined outside of the loop;
//! * the index is the counter `i`, or `i` plus what is defined outside, or an extension of either;
//! * `i` is a parameter of the header to which the one way back adds a constant;
//!
//! the header gets a pointer as a parameter, and all accesses that differ by constants use it.
//!
//! Arithmetic at the width of the pointer wraps as the pointer does. A narrower index must not wrap: each of its
//! additions promises so, of the kind of its extension. Addresses in arms of the loop are left alone, as advancing costs
//! every iteration, and a loop gets at most [`MAX_POINTERS`], since each takes registers. A zero-extended index of
//! 32 bits without a scale is left alone, too: with a uniform base it is an operand of the access; so is a
//! 32-bit address with a constant base, which is one shift.
//!
//! Source of the idea: loop strength reduction, A. Aho et al., "Compilers", section 9.1. Cost: linear.

use super::cfg::homes;
use super::memory::Flow;
use cranelift_entity::SecondaryMap;
use mir::analysis::{Graph, Loop};
use mir::ir::*;
use rustc_hash::FxHashMap;

/// Running pointers that one loop gets.
const MAX_POINTERS: usize = 4;

/// A counter of a loop.
#[derive(Clone, Copy)]
struct Counter {
    /// What it starts from.
    start: Value,
    /// What the way back adds.
    step: i64,
    /// Promises of that addition.
    flags: InstFlags,
}

/// An index that follows a counter.
#[derive(Clone, Copy)]
struct Index {
    counter: Counter,
    /// Added to the counter, defined outside of the loop.
    plus: Option<Value>,
    /// The extension behind that.
    cast: Option<(CastOp, Type)>,
}

/// A loop with one way in and one way back.
struct Simple {
    header: Block,
    /// The block that leads into it.
    entering: Block,
    latch: Block,
}

/// What running pointers are shared by: base, index and scale.
type Key = (Value, Value, i64);

/// Makes running pointers in the innermost loops of `func`, which is legal IR.
pub fn reduce(func: &mut Function) {
    let flow = Flow::new(func);
    if flow.loops.is_empty() || !flow.loops.is_reducible() {
        return;
    }
    let mut is_outer = vec![false; flow.loops.len()];
    for l in flow.loops.iter() {
        if let Some(parent) = flow.loops[l].parent {
            is_outer[parent.index()] = true;
        }
    }
    let homes = homes(func);
    for l in flow.loops.iter().filter(|l| !is_outer[l.index()]) {
        if let Some(simple) = simple_loop(func, &flow, l) {
            Reduction { func, flow: &flow, homes: &homes, l, simple }.run();
        }
    }
}

/// The loop's blocks that running pointers concern, if it has one way in and one way back, an edge each.
fn simple_loop(func: &Function, flow: &Flow, l: Loop) -> Option<Simple> {
    let header = flow.loops[l].header;
    let &[a, b] = flow.graph.preds(header) else { return None };
    let (entering, latch) = if flow.loops.contains(l, a) { (b, a) } else { (a, b) };
    let is_simple = flow.loops.contains(l, latch) && !flow.loops.contains(l, entering);
    let [header, entering, latch] = [header, entering, latch].map(Block::from_u32);
    // Edges carry arguments, which a switch has no place for in legal IR.
    let carries = |block| func.terminator(block).is_some();
    (is_simple && carries(entering) && carries(latch)).then_some(Simple { header, entering, latch })
}

struct Reduction<'a> {
    func: &'a mut Function,
    flow: &'a Flow,
    /// The block of each value that is not a constant or a parameter of the function.
    homes: &'a SecondaryMap<Value, Option<Block>>,
    l: Loop,
    simple: Simple,
}

impl Reduction<'_> {
    fn run(mut self) {
        let mut found: Vec<(Key, Vec<Inst>)> = Vec::new();
        let mut places: FxHashMap<Key, usize> = FxHashMap::default();
        for block in self.blocks_of_each_turn() {
            for &inst in &self.func.blocks[block].insts {
                let InstKind::PtrAdd { base, index: Some(index), scale, .. } = self.func.insts[inst].kind
                else {
                    continue;
                };
                let key = (base, index, scale);
                if let Some(&place) = places.get(&key) {
                    found[place].1.push(inst);
                } else if found.len() < MAX_POINTERS && self.is_worth_it(base, index, scale) {
                    places.insert(key, found.len());
                    found.push((key, vec![inst]));
                }
            }
        }
        for (key, insts) in found {
            self.make_pointer(key, &insts);
        }
    }

    /// Blocks of the loop that every iteration passes.
    fn blocks_of_each_turn(&self) -> Vec<Block> {
        let (header, latch) = (self.simple.header.as_u32(), self.simple.latch.as_u32());
        let mut blocks = Vec::new();
        // All dominators of the latch up to the header are in the loop.
        let mut at = Some(latch);
        while let Some(block) = at {
            blocks.push(Block::from_u32(block));
            at = if block == header { None } else { self.flow.dominators.idom(block) };
        }
        blocks.reverse();
        blocks
    }

    fn is_outside(&self, value: Value) -> bool {
        self.homes[value].is_none_or(|block| !self.flow.loops.contains(self.l, block.as_u32()))
    }

    fn is_worth_it(&self, base: Value, index: Value, scale: i64) -> bool {
        let wide = self.func.ty(base).bits() == Some(64);
        let constant = matches!(self.func.values[base].def, ValueDef::Const(_));
        self.is_outside(base)
            && matches!(self.func.ty(base), Type::Scalar(Scalar::Ptr(_)))
            && (wide || !constant)
            && self.index(index, base, scale).is_some()
    }

    /// How `index` follows a counter of the loop.
    fn index(&self, index: Value, base: Value, scale: i64) -> Option<Index> {
        let pointer_bits = self.func.ty(base).bits()?;
        let mut value = index;
        let mut cast = None;
        if let Some(inst) = self.func.def_inst(value)
            && let InstKind::Cast { op: op @ (CastOp::ZExt | CastOp::SExt), arg } = self.func.insts[inst].kind
        {
            if op == CastOp::ZExt && scale == 1 {
                return None;
            }
            cast = Some((op, self.func.ty(value)));
            value = arg;
        }
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
        if let Some(counter) = self.counter(value) {
            return counter.flags.contains(promise).then_some(Index { counter, plus: None, cast });
        }
        let data = &self.func.insts[self.func.def_inst(value)?];
        let InstKind::Binary { op: BinaryOp::Add, args: [a, b] } = data.kind else { return None };
        let (counter, plus) = match (self.counter(a), self.counter(b)) {
            (Some(counter), None) => (counter, b),
            (None, Some(counter)) => (counter, a),
            _ => return None,
        };
        let holds = counter.flags.contains(promise) && data.flags.contains(promise) && self.is_outside(plus);
        holds.then_some(Index { counter, plus: Some(plus), cast })
    }

    /// `value` as a counter of the loop.
    fn counter(&self, value: Value) -> Option<Counter> {
        let ValueDef::BlockParam(block, number) = self.func.values[value].def else { return None };
        if block != self.simple.header {
            return None;
        }
        let next = self.argument(self.simple.latch, number as usize)?;
        let data = &self.func.insts[self.func.def_inst(next)?];
        let InstKind::Binary { op: BinaryOp::Add, args: [of, step] } = data.kind else { return None };
        let bits = self.func.ty(value).bits()? as u32;
        let step = crate::bits::sext64(self.func.as_int(step)?, bits);
        // An addition without unsigned wrap of what looks negative is one of a large number.
        let honest = step >= 0 || !data.flags.contains(InstFlags::NUW);
        let start = self.argument(self.simple.entering, number as usize)?;
        (of == value && honest).then_some(Counter { start, step, flags: data.flags })
    }

    /// What `from` passes for the header's parameter of this number, if one edge leads there.
    fn argument(&self, from: Block, number: usize) -> Option<Value> {
        let last = self.func.terminator(from)?;
        let targets = self.func.insts[last].kind.targets();
        let mut calls = targets.iter().filter(|call| call.block == self.simple.header);
        let call = calls.next()?;
        calls.next().is_none().then(|| call.args.get(number).copied())?
    }

    /// Makes an instruction in front of the terminator of `block`.
    fn before_end(&mut self, block: Block, kind: InstKind, ty: Type, like: Inst) -> Option<Value> {
        let inst = self.func.make_inst(kind, ty, InstFlags::empty());
        self.func.locs[inst] = self.func.locs[like];
        let insts = &mut self.func.blocks[block].insts;
        let end = insts.len().saturating_sub(1);
        insts.insert(end, inst);
        self.func.insts[inst].result
    }

    fn pass(&mut self, from: Block, value: Value) {
        let Some(last) = self.func.terminator(from) else { return };
        for call in self.func.insts[last].kind.targets_mut() {
            if call.block == self.simple.header {
                call.args.push(value);
            }
        }
    }

    fn make_pointer(&mut self, (base, index, scale): Key, insts: &[Inst]) {
        let Some(Index { counter, plus, cast }) = self.index(index, base, scale) else { return };
        let (entering, latch, header) = (self.simple.entering, self.simple.latch, self.simple.header);
        let (like, ty) = (insts[0], self.func.ty(base));
        let Some(advance) = counter.step.checked_mul(scale) else { return };
        // Each part is extended by itself: their sum may wrap in iterations that do not use it.
        let mut start = base;
        for part in plus.into_iter().chain([counter.start]) {
            if let Some(constant) = self.func.as_int(part) {
                let bits = self.func.ty(part).bits().unwrap_or(64) as u32;
                let unsigned = matches!(cast, Some((CastOp::ZExt, _)));
                let value = if unsigned { constant as i64 } else { crate::bits::sext64(constant, bits) };
                let offset = value.wrapping_mul(scale);
                if offset != 0 {
                    let kind = InstKind::PtrAdd { base: start, index: None, scale: 0, offset };
                    start = self.before_end(entering, kind, ty, like).unwrap_or(start);
                }
                continue;
            }
            let mut index = part;
            if let Some((op, wide)) = cast {
                index =
                    self.before_end(entering, InstKind::Cast { op, arg: part }, wide, like).unwrap_or(part);
            }
            let kind = InstKind::PtrAdd { base: start, index: Some(index), scale, offset: 0 };
            start = self.before_end(entering, kind, ty, like).unwrap_or(start);
        }
        let pointer = self.func.add_block_param(header, ty);
        let kind = InstKind::PtrAdd { base: pointer, index: None, scale: 0, offset: advance };
        let next = self.before_end(latch, kind, ty, like).unwrap_or(pointer);
        self.pass(entering, start);
        self.pass(latch, next);
        for &inst in insts {
            if let InstKind::PtrAdd { base, index, scale, .. } = &mut self.func.insts[inst].kind {
                (*base, *index, *scale) = (pointer, None, 0);
            }
        }
    }
}
