//! Where in a block the operations on pairs stand.
//!
//! An operation on pairs stands behind the later of the two that it stands for: what reads it may be beyond barriers, or at the block's end, and there all trees
//! would have what they are made of at once. Dwords that are put together for them stand in front of the first of those.

use super::Reader;
use super::pairs::Pair;
use mir::ir::*;
use rustc_hash::FxHashMap;

/// What is made in a block, and where.
pub(super) struct Placed {
    /// In front of which instruction of the block the result of an instruction can first be used.
    available: FxHashMap<Inst, usize>,
    /// Instructions, and in front of which of the block they stand.
    made: Vec<(usize, Rank, Vec<Inst>)>,
    /// What pairs became, and in front of which instruction of the block.
    pub values: FxHashMap<Pair, (Value, usize)>,
    /// Where in `made` the pairs are that are made of no other.
    leaves: FxHashMap<Pair, usize>,
}

/// What is first of all that stands in one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Dwords that are put together.
    Leaf,
    /// Operations on pairs, operands first.
    Packed,
}

impl Placed {
    pub fn new(insts: &[Inst]) -> Self {
        let available = insts.iter().enumerate().map(|(at, &inst)| (inst, at + 1)).collect();
        Self { available, made: Vec::new(), values: FxHashMap::default(), leaves: FxHashMap::default() }
    }

    /// The first place at which both members of a pair can be used.
    pub fn behind(&self, func: &Function, pair: Pair) -> usize {
        let behind = |value| func.def_inst(value).and_then(|inst| self.available.get(&inst)).copied();
        pair.into_iter().filter_map(behind).max().unwrap_or(0)
    }

    pub fn put(&mut self, place: usize, rank: Rank, insts: Vec<Inst>) {
        self.available.extend(insts.iter().map(|&inst| (inst, place + 1)));
        self.made.push((place, rank, insts));
    }

    /// Notes what a pair that is made of no other is; where it stands is told by who needs it.
    pub fn put_leaf(&mut self, pair: Pair, value: Value, insts: Vec<Inst>) {
        self.leaves.insert(pair, self.made.len());
        self.made.push((usize::MAX, Rank::Leaf, insts));
        self.values.insert(pair, (value, 0));
    }

    /// What a pair became, where that can be read in a place.
    pub fn known(&mut self, pair: Pair, reader: Reader, place: usize) -> Option<Value> {
        let (value, from) = self.values.get(&pair).copied()?;
        // What is put together from two halves does not make them.
        if from > place || reader == Reader::Halves && self.leaves.contains_key(&pair) {
            return None;
        }
        self.need(pair, place);
        Some(value)
    }

    /// Notes that a pair is needed in a place.
    pub fn need(&mut self, pair: Pair, place: usize) {
        if let Some(&leaf) = self.leaves.get(&pair) {
            let at = &mut self.made[leaf].0;
            *at = place.min(*at);
        }
    }

    /// The instructions of the block, which were `insts`.
    pub fn merge(mut self, insts: Vec<Inst>) -> Vec<Inst> {
        self.made.sort_by_key(|&(place, rank, _)| (place, rank));
        let mut made = self.made.into_iter().peekable();
        let mut all = Vec::with_capacity(insts.len());
        for (at, inst) in insts.into_iter().enumerate() {
            while let Some((_, _, made)) = made.next_if(|&(place, ..)| place == at) {
                all.extend(made);
            }
            all.push(inst);
        }
        all
    }
}
