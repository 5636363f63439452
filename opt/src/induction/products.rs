//! Products that a loop makes of its counter, added up instead.
//!
//! ```text
//! header(i):                           header(i, p):
//!   x = i * m                     →      x = p
//!   y = (i + 1) * m                      y = p + m
//!   next = i + step                      q = p + step * m
//! ```
//!
//! The vector unit multiplies 32 bits at a quarter of the rate at which it adds. Both wrap alike, so that no promise is needed. What is
//! added to a product and comes from outside of the loop is part of `p` where nobody else wants the product.

use super::{Counter, Reduction};
use crate::bits::sext64;
use cranelift_entity::SecondaryMap;
use mir::analysis::Uniformity;
use mir::ir::*;

/// Products of one loop, each of which takes a register.
const MAX_PRODUCTS: usize = 4;

/// `(counter + ahead + more) * factor`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Product {
    counter: Counter,
    ahead: i64,
    more: Option<Value>,
    factor: Value,
}

impl Reduction<'_> {
    /// Whether the loop makes a product of its counter in each turn.
    pub(super) fn has_products(&self) -> bool {
        self.blocks_of_each_turn()
            .into_iter()
            .any(|block| self.func.blocks[block].insts.iter().any(|&inst| self.product(inst).is_some()))
    }

    /// Adds products up. What they are replaced by is told in `replaced`; `uses` counts the users of values.
    pub(super) fn add_up_products(
        &mut self,
        uses: &SecondaryMap<Value, u32>,
        replaced: &mut SecondaryMap<Value, Option<Value>>,
    ) {
        let mut found: Vec<(Inst, Product)> = Vec::new();
        let mut sums: SecondaryMap<Value, Option<(Value, Value)>> = SecondaryMap::new();
        for block in self.blocks_of_each_turn() {
            for &inst in &self.func.blocks[block].insts {
                if let Some(product) = self.product(inst) {
                    found.push((inst, product));
                } else if let InstKind::Binary { op: BinaryOp::Add, args: [a, b] } =
                    self.func.insts[inst].kind
                    && let Some(sum) = self.func.insts[inst].result
                {
                    for (product, plus) in [(a, b), (b, a)] {
                        if uses[product] == 1 && self.is_outside(plus) {
                            sums[product] = Some((sum, plus));
                        }
                    }
                }
            }
        }
        found.retain(|&(inst, _)| self.is_vector(inst));
        // Products that are kept up to date, with what is added to them, and the header's parameters.
        let mut running: Vec<((Product, Option<Value>), Value)> = Vec::new();
        for (inst, product) in found {
            let Some(result) = self.func.insts[inst].result else { continue };
            let (target, plus) = match sums[result] {
                Some((sum, plus)) => (sum, Some(plus)),
                None => (result, None),
            };
            let key = (Product { ahead: 0, ..product }, plus);
            let value = match running.iter().find(|known| known.0 == key) {
                Some(known) => Some(known.1),
                None if running.len() == MAX_PRODUCTS => None,
                None => {
                    let value = self.run_product(product, plus, inst);
                    running.extend(value.map(|value| (key, value)));
                    value
                }
            };
            let Some(value) = value else { continue };
            replaced[target] = match product.ahead {
                0 => Some(value),
                ahead => {
                    let more = self.times(product.factor, ahead, inst);
                    let kind = InstKind::Binary { op: BinaryOp::Add, args: [value, more] };
                    self.before(inst, kind, Type::I32)
                }
            };
        }
    }

    /// `inst` as a product of 32 bits of a counter, or of a number ahead of one, by what a shift does not do.
    fn product(&self, inst: Inst) -> Option<Product> {
        let data = &self.func.insts[inst];
        let InstKind::Binary { op: BinaryOp::Mul, args: [a, b] } = data.kind else { return None };
        if data.ty != Type::I32 {
            return None;
        }
        let none = InstFlags::empty();
        let ((counter, ahead, more), factor) = match (self.sum(a, none), self.sum(b, none)) {
            (Some(found), None) => (found, b),
            (None, Some(found)) => (found, a),
            _ => return None,
        };
        let shift = self.func.as_int(factor).is_some_and(|factor| (factor as u32).is_power_of_two());
        (!shift && self.is_outside(factor)).then_some(Product { counter, ahead, more, factor })
    }

    /// Whether the vector unit makes the result of `inst`.
    fn is_vector(&mut self, inst: Inst) -> bool {
        let uniformity = self.uniformity.get_or_insert_with(|| Uniformity::compute(self.func, self.target));
        self.func.insts[inst]
            .result
            .is_some_and(|value| uniformity.is_divergent_at(value, self.simple.header))
    }

    /// A parameter of the header that is the product, with `plus`, in each turn.
    fn run_product(&mut self, product: Product, plus: Option<Value>, like: Inst) -> Option<Value> {
        let Product { counter, more, factor, .. } = product;
        let (entering, latch) = (self.simple.entering, self.simple.latch);
        let mut start = match self.func.as_int(counter.start) {
            Some(start) => self.times(factor, sext64(start, 32), like),
            None => self.outside(BinaryOp::Mul, [counter.start, factor], like)?,
        };
        let more = match more {
            Some(more) => Some(self.outside(BinaryOp::Mul, [more, factor], like)?),
            None => None,
        };
        for plus in more.into_iter().chain(plus) {
            start = match self.func.as_int(start) {
                Some(0) => plus,
                _ => self.outside(BinaryOp::Add, [start, plus], like)?,
            };
        }
        let step = match counter.by {
            Some(by) => self.outside(BinaryOp::Mul, [by, factor], like)?,
            None => self.times(factor, counter.step, like),
        };
        let value = self.func.add_block_param(self.simple.header, Type::I32);
        let kind = InstKind::Binary { op: BinaryOp::Add, args: [value, step] };
        let next = self.before_end(latch, kind, Type::I32, like)?;
        self.pass(entering, start);
        self.pass(latch, next);
        Some(value)
    }

    /// `factor * times`, in front of the loop.
    fn times(&mut self, factor: Value, times: i64, like: Inst) -> Value {
        let constant = |this: &mut Self, value: i64| this.func.int(Type::I32, u64::from(value as u32));
        match (times, self.func.as_int(factor)) {
            (0, _) => constant(self, 0),
            (1, _) => factor,
            (_, Some(factor)) => constant(self, (factor as i64).wrapping_mul(times)),
            (-1, None) => {
                let zero = constant(self, 0);
                self.outside(BinaryOp::Sub, [zero, factor], like).unwrap_or(factor)
            }
            (_, None) => {
                let times = constant(self, times);
                self.outside(BinaryOp::Mul, [factor, times], like).unwrap_or(factor)
            }
        }
    }

    /// An operation on 32 bits in front of the loop.
    fn outside(&mut self, op: BinaryOp, args: [Value; 2], like: Inst) -> Option<Value> {
        self.before_end(self.simple.entering, InstKind::Binary { op, args }, Type::I32, like)
    }
}
