//! Products of 64 bits that a loop makes of its counter, added up instead.
//!
//! ```text
//! header(i):                           header(i, p):
//!   x = sext(i) * m               →      x = p
//!   y = sext(i + 1) * m                  y = p + m
//!   next = i + step                      q = p + step * m
//! ```
//!
//! Legal code has such a product as three of 32 bits, one of them with a result of 64, and two additions; so this precedes legalisation. A sum takes
//! two additions, or none where a pointer is advanced by it ([`super::reduce`]). A counter that is narrower must promise not to wrap in the way in which it is
//! extended. Products of two numbers that are extended from 32 bits stay: they are one instruction of the vector unit.

use super::{Counter, Reduction, outer_loops, simple_loop};
use crate::bits::sext64;
use crate::cfg::homes;
use crate::memory::Flow;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use mir::target::Target;

/// Products of one loop, each of which takes two registers.
const MAX_PRODUCTS: usize = 4;

/// Sums for counters ahead in one loop, each of which takes two registers for what is added, too.
const MAX_SUMS: usize = 8;

/// `(counter + more) * factor`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Product {
    counter: Counter,
    /// What is added before it is extended, defined outside of the loop.
    more: Option<Value>,
    /// How it becomes as wide as the factor, where that is an instruction.
    cast: Option<(CastOp, Type)>,
    /// Defined outside of the loop.
    factor: Value,
}

/// Adds up products of 64 bits in the innermost loops of `func`, which is not legal yet.
pub fn add_up_wide_products(func: &mut Function, target: &Target) {
    let is_product = |inst: &InstData| {
        inst.ty == Type::I64 && matches!(inst.kind, InstKind::Binary { op: BinaryOp::Mul, .. })
    };
    if !func.insts.values().any(is_product) {
        return;
    }
    let flow = Flow::new(func);
    if flow.loops.is_empty() || !flow.loops.is_reducible() {
        return;
    }
    let (homes, is_outer) = (homes(func), outer_loops(&flow));
    let (mut uniformity, mut replaced) = (None, SecondaryMap::new());
    for l in flow.loops.iter().filter(|l| !is_outer[l.index()]) {
        if let Some(simple) = simple_loop(func, &flow, l) {
            let uniformity = &mut uniformity;
            let mut reduction = Reduction { func, target, flow: &flow, homes: &homes, uniformity, l, simple };
            if reduction.has_plain_ends() {
                reduction.run_products(&mut replaced);
            }
        }
    }
    crate::inline::substitute(func, &replaced);
}

impl Reduction<'_> {
    /// Whether jumps and branches of two ways lead into the loop and back.
    fn has_plain_ends(&self) -> bool {
        [self.simple.entering, self.simple.latch].into_iter().all(|block| {
            self.func.terminator(block).is_some_and(|end| {
                matches!(self.func.insts[end].kind, InstKind::Jump { .. } | InstKind::Branch { .. })
            })
        })
    }

    /// Tells in `replaced` what products of the loop are replaced by.
    fn run_products(&mut self, replaced: &mut SecondaryMap<Value, Option<Value>>) {
        let mut running: Vec<(Product, Value)> = Vec::new();
        let mut sums = 0;
        for block in self.blocks_of_each_turn() {
            for inst in self.func.blocks[block].insts.clone() {
                let Some((result, product, ahead)) = self.wide_product(inst) else { continue };
                if ahead != 0 && sums == MAX_SUMS {
                    continue;
                }
                let known = running.iter().find(|known| known.0 == product).map(|known| known.1);
                let value = match known {
                    Some(value) => value,
                    None if running.len() == MAX_PRODUCTS => continue,
                    None => {
                        let Some(value) = self.run_product(product, inst) else { continue };
                        running.push((product, value));
                        value
                    }
                };
                replaced[result] = match ahead {
                    0 => Some(value),
                    ahead => {
                        sums += 1;
                        self.times(product.factor, ahead, inst).and_then(|more| {
                            let kind = InstKind::Binary { op: BinaryOp::Add, args: [value, more] };
                            self.before(inst, kind, Type::I64)
                        })
                    }
                };
            }
        }
    }

    /// The result of `inst` as a product, and how far its counter is ahead.
    fn wide_product(&self, inst: Inst) -> Option<(Value, Product, i64)> {
        let data = &self.func.insts[inst];
        let InstKind::Binary { op: BinaryOp::Mul, args: [a, b] } = data.kind else { return None };
        if data.ty != Type::I64 {
            return None;
        }
        let (of, factor) = if self.is_outside(b) { (a, b) } else { (b, a) };
        if !self.is_outside(factor) || self.func.as_const(factor).is_some() {
            return None;
        }
        let extended = |value| match self.func.insts[self.func.def_inst(value)?] {
            InstData {
                kind: InstKind::Cast { op: op @ (CastOp::SExt | CastOp::ZExt), arg }, flags, ..
            } => Some((op, arg, flags)),
            _ => None,
        };
        let Some((op, arg, flags)) = extended(of) else {
            let (counter, ahead, more) = self.sum(of, InstFlags::empty())?;
            return Some((data.result?, Product { counter, more, cast: None, factor }, ahead));
        };
        let narrow = |value| self.func.ty(value).bits().is_some_and(|bits| bits <= 32);
        if narrow(arg) && extended(factor).is_some_and(|(_, of, _)| narrow(of)) {
            return None;
        }
        let signed = || Some((CastOp::SExt, self.sum(arg, InstFlags::NSW)?));
        // What is not negative may as well be extended by its sign.
        let (op, (counter, ahead, more)) = match op {
            CastOp::SExt => signed()?,
            _ => match self.sum(arg, InstFlags::NUW) {
                Some(found) => (op, found),
                None if flags.contains(InstFlags::NNEG) => signed()?,
                None => return None,
            },
        };
        let cast = Some((op, Type::I64));
        Some((data.result?, Product { counter, more, cast, factor }, ahead))
    }

    /// A parameter of the header that is `product` in each turn.
    fn run_product(&mut self, Product { counter, more, cast, factor }: Product, like: Inst) -> Option<Value> {
        let mut start = self.extend(counter.start, cast, like);
        if let Some(more) = more {
            let more = self.extend(more, cast, like);
            start = match self.func.as_int(start) {
                Some(0) => more,
                _ => self.wide(BinaryOp::Add, [start, more], like)?,
            };
        }
        start = match self.func.as_int(start) {
            Some(constant) => self.times(factor, constant as i64, like)?,
            None => self.wide(BinaryOp::Mul, [start, factor], like)?,
        };
        let step = match counter.by {
            Some(by) => {
                let by = self.extend(by, cast, like);
                self.wide(BinaryOp::Mul, [by, factor], like)?
            }
            None => self.times(factor, counter.step, like)?,
        };
        let value = self.func.add_block_param(self.simple.header, Type::I64);
        let kind = InstKind::Binary { op: BinaryOp::Add, args: [value, step] };
        let next = self.before_end(self.simple.latch, kind, Type::I64, like)?;
        self.pass(self.simple.entering, start);
        self.pass(self.simple.latch, next);
        Some(value)
    }

    /// `value` with 64 bits, in front of the loop.
    fn extend(&mut self, value: Value, cast: Option<(CastOp, Type)>, like: Inst) -> Value {
        match (self.func.as_int(value), cast) {
            (Some(constant), Some((CastOp::ZExt, _))) => self.func.int(Type::I64, constant),
            (Some(constant), _) => {
                let bits = self.func.ty(value).bits().unwrap_or(64) as u32;
                self.func.int(Type::I64, sext64(constant, bits) as u64)
            }
            (None, _) => self.widen(value, cast, like),
        }
    }

    /// `factor * count` in front of the loop.
    fn times(&mut self, factor: Value, count: i64, like: Inst) -> Option<Value> {
        let constant = self.func.int(Type::I64, count as u64);
        match count {
            0 => Some(constant),
            1 => Some(factor),
            _ => self.wide(BinaryOp::Mul, [factor, constant], like),
        }
    }

    /// An operation on 64 bits in front of the loop.
    fn wide(&mut self, op: BinaryOp, args: [Value; 2], like: Inst) -> Option<Value> {
        self.before_end(self.simple.entering, InstKind::Binary { op, args }, Type::I64, like)
    }
}
