//! Products that a loop makes of its counter, added up instead.
//!
//! ```text
//! header(i):                           header(i, p):
//!   x = i * m                     →      x = p
//!   y = (i + 1) * m                      y = p + m
//!   next = i + step                      q = p + step * m
//! ```
//!
//! The vector unit multiplies 32 bits at a quarter of the rate at which it adds. Both wrap alike, so that no promise is needed. What else is done to a
//! product with values from outside of the loop, where nobody else wants it, is part of `p`: all that is linear in the counter runs as one sum, however many
//! products there are in it, as in `(a - (i + b)) * m * n + c`, whose step is `-m * n`.

use super::{Counter, Reduction};
use crate::bits::sext64;
use cranelift_entity::SecondaryMap;
use mir::analysis::Uniformity;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Products of one loop, each of which takes a register.
const MAX_PRODUCTS: usize = 4;

/// What is done to a counter on the way to one sum.
const MAX_LINKS: usize = 8;

/// What is done to a number with one from outside of the loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// `x + v`.
    Plus(Value),
    /// `x - v`.
    Minus(Value),
    /// `v - x`.
    From(Value),
    /// `!x`, which is `-1 - x`.
    Not,
    /// `x * v`.
    Times(Value),
    /// `x * constant`, which is a shift.
    Scaled(i64),
}

/// `counter + ahead`, and what is done to that in turn: a linear function of the counter.
#[derive(Clone, PartialEq, Eq)]
struct Chain {
    counter: Counter,
    ahead: i64,
    links: SmallVec<[Link; MAX_LINKS]>,
}

/// A value of the loop that is such a function.
struct Linear {
    chain: Chain,
    inst: Inst,
    /// What the last link was done to.
    of: Value,
}

/// What a function grows by where the counter does by one: `times * factor`.
#[derive(Clone, Copy)]
struct Slope {
    times: i64,
    factor: Option<Value>,
}

impl Reduction<'_> {
    /// Whether the loop makes a product of its counter in each turn.
    pub(super) fn has_products(&self) -> bool {
        !self.linear_values(|_| 1).1.is_empty()
    }

    /// Adds products up. What they are replaced by is told in `replaced`; `uses` counts the users of values.
    pub(super) fn add_up_products(
        &mut self,
        uses: &SecondaryMap<Value, u32>,
        replaced: &mut SecondaryMap<Value, Option<Value>>,
    ) {
        let (linear, roots) = self.linear_values(|value| uses[value]);
        // Functions that are kept up to date, with nothing ahead of the counter, and the header's parameters.
        let mut running: Vec<(Chain, Value, Slope)> = Vec::new();
        for root in roots {
            let Some(Linear { chain, inst, .. }) = linear.get(&root) else { continue };
            if !self.saves_a_product(root, &linear, uses) {
                continue;
            }
            let key = Chain { ahead: 0, ..chain.clone() };
            let known = running.iter().find(|known| known.0 == key).map(|&(_, value, slope)| (value, slope));
            let (value, slope) = match known {
                Some(known) => known,
                None if running.len() == MAX_PRODUCTS => continue,
                None => {
                    let Some((value, slope)) = self.run_chain(&key, *inst) else { continue };
                    running.push((key, value, slope));
                    (value, slope)
                }
            };
            replaced[root] = match chain.ahead {
                0 => Some(value),
                ahead => {
                    let Some(more) = self.growth(slope, ahead, *inst) else { continue };
                    let kind = InstKind::Binary { op: BinaryOp::Add, args: [value, more] };
                    self.before(*inst, kind, Type::I32)
                }
            };
        }
    }

    /// The linear functions of counters in blocks of each turn, and those among them that have a product in them and a user that is none, in the order
    /// of the code.
    fn linear_values(&self, uses: impl Fn(Value) -> u32) -> (FxHashMap<Value, Linear>, Vec<Value>) {
        let mut known: FxHashMap<Value, Linear> = FxHashMap::default();
        let (mut with_products, mut inner) = (Vec::new(), FxHashSet::default());
        for block in self.blocks_of_each_turn() {
            for &inst in &self.func.blocks[block].insts {
                let Some((result, of, link)) = self.link(inst) else { continue };
                let mut chain = match known.get(&of) {
                    Some(found) if found.chain.links.len() < MAX_LINKS => found.chain.clone(),
                    Some(_) => continue,
                    None => {
                        let Some((counter, ahead)) = self.ahead(of, InstFlags::empty()) else { continue };
                        Chain { counter, ahead, links: SmallVec::new() }
                    }
                };
                if self.ahead(result, InstFlags::empty()).is_some() {
                    continue;
                }
                chain.links.push(link);
                if uses(of) == 1 {
                    inner.insert(of);
                }
                if chain.links.iter().any(|link| matches!(link, Link::Times(_))) {
                    with_products.push(result);
                }
                known.insert(result, Linear { chain, inst, of });
            }
        }
        with_products.retain(|value| !inner.contains(value));
        (known, with_products)
    }

    /// What `inst` makes, of which value of the loop, and how, if its other operand is from outside.
    fn link(&self, inst: Inst) -> Option<(Value, Value, Link)> {
        let data = &self.func.insts[inst];
        let (&InstKind::Binary { op, args: [a, b] }, Some(result), Type::I32) =
            (&data.kind, data.result, data.ty)
        else {
            return None;
        };
        let constant = |value| self.func.as_int(value).map(|bits| sext64(bits, 32));
        let (of, other) = if self.is_outside(b) { (a, b) } else { (b, a) };
        if !self.is_outside(other) {
            return None;
        }
        let link = match (op, constant(other)) {
            (BinaryOp::Add, _) => Link::Plus(other),
            (BinaryOp::Sub, _) if other == b => Link::Minus(other),
            (BinaryOp::Sub, _) => Link::From(other),
            (BinaryOp::Xor, Some(-1)) => Link::Not,
            (BinaryOp::Mul, Some(factor)) if (factor as u32).is_power_of_two() => Link::Scaled(factor),
            (BinaryOp::Mul, _) => Link::Times(other),
            (BinaryOp::Shl, Some(amount @ 0..32)) if other == b => Link::Scaled(1 << amount),
            _ => return None,
        };
        Some((result, of, link))
    }

    /// Whether the vector unit makes a product for `root` that nobody else wants.
    fn saves_a_product(
        &mut self,
        root: Value,
        linear: &FxHashMap<Value, Linear>,
        uses: &SecondaryMap<Value, u32>,
    ) -> bool {
        let mut at = root;
        while let Some(Linear { chain, of, .. }) = linear.get(&at) {
            if matches!(chain.links.last(), Some(Link::Times(_))) && self.is_vector(at) {
                return true;
            }
            if uses[*of] != 1 {
                return false;
            }
            at = *of;
        }
        false
    }

    /// Whether the vector unit makes `value`.
    fn is_vector(&mut self, value: Value) -> bool {
        let uniformity = self.uniformity.get_or_insert_with(|| Uniformity::compute(self.func, self.target));
        uniformity.is_divergent_at(value, self.simple.header)
    }

    /// A parameter of the header that is what `chain` makes of the counter in each turn, and what that grows by.
    fn run_chain(&mut self, chain: &Chain, like: Inst) -> Option<(Value, Slope)> {
        let (entering, latch) = (self.simple.entering, self.simple.latch);
        let mut start = chain.counter.start;
        let mut slope = Slope { times: 1, factor: None };
        for &link in &chain.links {
            match link {
                Link::Plus(value) => start = self.outside(BinaryOp::Add, [start, value], like)?,
                Link::Minus(value) => start = self.outside(BinaryOp::Sub, [start, value], like)?,
                Link::From(value) => {
                    start = self.outside(BinaryOp::Sub, [value, start], like)?;
                    slope.times = slope.times.wrapping_neg();
                }
                Link::Not => {
                    let ones = self.constant(-1);
                    start = self.outside(BinaryOp::Xor, [start, ones], like)?;
                    slope.times = slope.times.wrapping_neg();
                }
                Link::Times(value) => {
                    start = self.outside(BinaryOp::Mul, [start, value], like)?;
                    slope.factor = Some(match slope.factor {
                        Some(factor) => self.outside(BinaryOp::Mul, [factor, value], like)?,
                        None => value,
                    });
                }
                Link::Scaled(by) => {
                    let factor = self.constant(by);
                    start = self.outside(BinaryOp::Mul, [start, factor], like)?;
                    slope.times = slope.times.wrapping_mul(by);
                }
            }
        }
        let step = match chain.counter.by {
            Some(by) => {
                let once = self.growth(slope, 1, like)?;
                self.outside(BinaryOp::Mul, [by, once], like)?
            }
            None => self.growth(slope, chain.counter.step, like)?,
        };
        let value = self.func.add_block_param(self.simple.header, Type::I32);
        let kind = InstKind::Binary { op: BinaryOp::Add, args: [value, step] };
        let next = self.before_end(latch, kind, Type::I32, like)?;
        self.pass(entering, start);
        self.pass(latch, next);
        Some((value, slope))
    }

    /// What a function of this slope grows by in `count` steps, in front of the loop.
    fn growth(&mut self, slope: Slope, count: i64, like: Inst) -> Option<Value> {
        let times = slope.times.wrapping_mul(count);
        let Some(factor) = slope.factor else { return Some(self.constant(times)) };
        let (op, args) = match times as i32 {
            -1 => (BinaryOp::Sub, [self.constant(0), factor]),
            _ => (BinaryOp::Mul, [factor, self.constant(times)]),
        };
        self.outside(op, args, like)
    }

    /// The low 32 bits of `value`.
    fn constant(&mut self, value: i64) -> Value {
        self.func.int(Type::I32, u64::from(value as u32))
    }

    /// An operation on 32 bits in front of the loop, if it is none on constants or changes something.
    fn outside(&mut self, op: BinaryOp, [a, b]: [Value; 2], like: Inst) -> Option<Value> {
        let known = [a, b].map(|value| self.func.as_int(value).map(|bits| bits as u32));
        let result = match (op, known) {
            (BinaryOp::Add, [Some(a), Some(b)]) => Some(a.wrapping_add(b)),
            (BinaryOp::Sub, [Some(a), Some(b)]) => Some(a.wrapping_sub(b)),
            (BinaryOp::Mul, [Some(a), Some(b)]) => Some(a.wrapping_mul(b)),
            (BinaryOp::Xor, [Some(a), Some(b)]) => Some(a ^ b),
            (BinaryOp::Mul, [Some(0), _] | [_, Some(0)]) => Some(0),
            _ => None,
        };
        if let Some(result) = result {
            return Some(self.constant(i64::from(result)));
        }
        match (op, known) {
            (BinaryOp::Add | BinaryOp::Sub, [_, Some(0)]) | (BinaryOp::Mul, [_, Some(1)]) => Some(a),
            (BinaryOp::Add, [Some(0), _]) | (BinaryOp::Mul, [Some(1), _]) => Some(b),
            (BinaryOp::Mul, [_, Some(factor)]) if factor.is_power_of_two() => {
                let amount = self.constant(factor.trailing_zeros().into());
                self.before_loop(BinaryOp::Shl, [a, amount], like)
            }
            _ => self.before_loop(op, [a, b], like),
        }
    }

    fn before_loop(&mut self, op: BinaryOp, args: [Value; 2], like: Inst) -> Option<Value> {
        self.before_end(self.simple.entering, InstKind::Binary { op, args }, Type::I32, like)
    }
}
