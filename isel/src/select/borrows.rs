//! Comparisons that differences make anyway: the borrow of `a - b` says whether `a < b`.
//!
//! A comparison of 64 unsigned bits takes four times the cycles of other vector instructions. Where a block behind it subtracts what it compares, and
//! nobody asks for the answer in between, the last borrow is the answer. The walk goes backwards, so it knows at the difference whether somebody does.
//! Cost: linear.

use super::{Rep, Selector};
use mir::ir::{BinaryOp, Block, InstKind, IntPredicate, Type, Value};
use mir::machine::Operand;
use rustc_hash::FxHashMap;

/// Which differences answer which comparisons.
#[derive(Default)]
pub(super) struct Borrows {
    /// The comparison of a difference.
    of: FxHashMap<Value, Value>,
    /// Comparisons that have been answered.
    answered: rustc_hash::FxHashSet<Value>,
}

impl Selector<'_> {
    /// Finds the differences of `block` that answer a comparison.
    pub(super) fn plan_borrows(&mut self, block: Block) {
        let f = self.f;
        let wide = |value: Value| f.ty(value) == Type::I64;
        let mut asked: FxHashMap<[Value; 2], Value> = FxHashMap::default();
        let mut pairs: FxHashMap<Value, [Value; 2]> = FxHashMap::default();
        for &inst in &f.blocks[block].insts {
            let data = &f.insts[inst];
            if !asked.is_empty() {
                data.kind.for_each_value(|value| {
                    // Who asks this early cannot wait for a difference.
                    if let Some(pair) = pairs.get(&value)
                        && asked.get(pair) == Some(&value)
                    {
                        asked.remove(pair);
                    }
                });
            }
            let Some(result) = data.result else { continue };
            match data.kind {
                InstKind::Icmp { predicate, args: [a, b] } if wide(a) => {
                    let pair = match predicate {
                        IntPredicate::Ult => [a, b],
                        IntPredicate::Ugt => [b, a],
                        _ => continue,
                    };
                    let info = &self.values[result];
                    if info.rep == Rep::Mask && !info.crosses_blocks {
                        asked.insert(pair, result);
                        pairs.insert(result, pair);
                    }
                }
                InstKind::Binary { op: BinaryOp::Sub, args } if wide(result) => {
                    if self.values[result].rep == Rep::Vgpr
                        && let Some(comparison) = asked.remove(&args)
                    {
                        self.borrows.of.insert(result, comparison);
                    }
                }
                _ => {}
            }
        }
    }

    /// Where the borrow of the difference `value` goes, which is selected now: to the comparison that it answers, if somebody asks.
    pub(super) fn borrow_of(&mut self, value: Value) -> Operand {
        match self.borrows.of.get(&value) {
            Some(&comparison) if self.values[comparison].reg.is_some() => {
                self.borrows.answered.insert(comparison);
                Operand::mask(self.reg_of(comparison), self.mf.wave)
            }
            _ => self.new_mask(),
        }
    }

    /// Whether a difference has answered the comparison `value`.
    pub(super) fn is_answered(&self, value: Value) -> bool {
        self.borrows.answered.contains(&value)
    }
}
