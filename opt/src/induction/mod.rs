//! Addresses that a loop computes from its counter become running pointers.
//!
//! `base + i * scale` with a 64-bit base takes a multiplication at a quarter of the rate, or a shift and two
//! additions with carry, in each iteration; a pointer that is advanced takes the two additions. So in an innermost
//! loop, for each base and index of this form,
//!
//! * the base is defined outside of the loop;
//! * the index is the counter `i`, or `i * m`, or one of these plus what is defined outside, or an extension of any;
//! * `i` is a parameter of the header to which the one way back adds a constant, or, without `m`, what is defined outside;
//!
//! the header gets a pointer as a parameter, and all accesses that differ by constants use it ([`pointers`]), or, from [`FAMILY`] on, by what is the same in all
//! lanes. Where iterations have been unrolled,
//! accesses at `(i + k) * m` are multiples of `m` apart, and each is made from the one before it.
//!
//! Arithmetic at the width of the pointer wraps as the pointer does. A narrower index must not wrap: each of its
//! additions promises so, of the kind of its extension. Advancing costs every iteration, so an address in an arm of the loop follows a pointer that is there
//! anyway, or one that several arms share. A loop gets at most [`MAX_POINTERS`], since each takes registers. A zero-extended index of
//! 32 bits without a scale is left alone, too: with a uniform base it is an operand of the access; so is a
//! 32-bit address with a constant base, which is one shift.
//!
//! Where a loop ends when its counter has *had* a value, it asks for the counter's next one instead ([`exits`]): else both would be alive at its end, and
//! one copied to the other's register on the way back.
//!
//! Products of the counter that are left, and that differ between lanes, are added up with all that is linear about them ([`products`]). Those of 64 bits are before they are taken apart
//! ([`wide_products`]).
//!
//! Source of the idea: loop strength reduction, A. Aho et al., "Compilers", section 9.1. Cost: linear.

mod entries;
mod exits;
mod index;
mod pointers;
mod products;
mod wide_products;

pub use wide_products::add_up_wide_products;

use super::cfg::{homes, uses};
use super::memory::Flow;
use crate::bits::sext64;
use cranelift_entity::SecondaryMap;
use mir::analysis::{Graph, Loop, Uniformity};
use mir::ir::*;
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};

/// Running pointers that one loop gets.
const MAX_POINTERS: usize = 4;

/// Kinds of addresses of one loop that are looked at.
const MAX_KEYS: usize = 64;

/// So many pointers that differ by what is the same in all lanes are one.
const FAMILY: usize = 3;

/// Pointers that variables advance: each takes a sum of 64 bits, which the loop may not do often.
const MAX_VARIABLE_STEPS: usize = 2;

/// Addresses that follow one pointer.
const MAX_GROUP: usize = 16;

/// A counter of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Counter {
    /// The parameter of the header.
    value: Value,
    /// What it starts from.
    start: Value,
    /// What the way back adds.
    step: i64,
    /// What it adds instead, where that is no constant but defined outside of the loop.
    by: Option<Value>,
    /// Promises of that addition.
    flags: InstFlags,
}

/// An index that follows a counter: `(counter + ahead + more) * factor + plus`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Index {
    counter: Counter,
    /// Added to the counter before it is multiplied; so many steps, where these are no constants.
    ahead: i64,
    /// The same, defined outside of the loop.
    more: Option<Value>,
    /// What is multiplied by, defined outside of the loop.
    factor: Option<Value>,
    /// Added behind that, defined outside of the loop.
    plus: Option<Value>,
    /// How it becomes as wide as the pointer, where that is an instruction.
    cast: Option<(CastOp, Type)>,
}

/// A loop with one way in and one way back.
struct Simple {
    header: Block,
    /// The block that leads into it.
    entering: Block,
    latch: Block,
}

/// What running pointers are shared by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    base: Value,
    scale: i64,
    /// With nothing ahead of the counter.
    index: Index,
}

/// An address off a running pointer.
#[derive(Clone, Copy)]
struct Member {
    inst: Inst,
    /// How far its counter is ahead.
    ahead: i64,
    /// The constant part of its index.
    plus: i64,
    /// A part of its index that the pointer has not: the same in all lanes, and defined outside of the loop.
    apart: Option<Value>,
    /// Not every iteration passes it.
    in_arm: bool,
}

/// Addresses off one running pointer, in the order of the code.
type Group = Vec<Member>;

/// Makes running pointers in the innermost loops of `func`, which is legal IR for `target`.
pub fn reduce(func: &mut Function, target: &Target) {
    let mut flow = Flow::new(func);
    if flow.loops.is_empty() || !flow.loops.is_reducible() {
        return;
    }
    let mut is_outer = outer_loops(&flow);
    if entries::join(func, &flow, |l| !is_outer[l.index()]) {
        flow = Flow::new(func);
        is_outer = outer_loops(&flow);
    }
    let homes = homes(func);
    let uses = uses(func);
    let mut uniformity = None;
    let mut with_products = Vec::new();
    for l in flow.loops.iter() {
        if let Some(simple) = simple_loop(func, &flow, l) {
            let uniformity = &mut uniformity;
            let mut reduction = Reduction { func, target, flow: &flow, homes: &homes, uniformity, l, simple };
            if !is_outer[l.index()] {
                reduction.run();
                if reduction.has_products() {
                    with_products.push(l);
                }
            }
            reduction.test_next(|value| uses[value]);
        }
    }
    if !with_products.is_empty() {
        add_up_products(func, target, &flow, &with_products);
    }
}

/// Of each loop, whether another one is in it.
fn outer_loops(flow: &Flow) -> Vec<bool> {
    let mut is_outer = vec![false; flow.loops.len()];
    for parent in flow.loops.iter().filter_map(|l| flow.loops[l].parent) {
        is_outer[parent.index()] = true;
    }
    is_outer
}

/// Adds up products in these loops, of which nobody may want some any more.
fn add_up_products(func: &mut Function, target: &Target, flow: &Flow, loops: &[Loop]) {
    super::dce::remove_dead(func);
    let (homes, uses) = (homes(func), uses(func));
    let (mut uniformity, mut replaced) = (None, SecondaryMap::new());
    for &l in loops {
        if let Some(simple) = simple_loop(func, flow, l) {
            let uniformity = &mut uniformity;
            let mut reduction = Reduction { func, target, flow, homes: &homes, uniformity, l, simple };
            reduction.add_up_products(&uses, &mut replaced);
        }
    }
    super::inline::substitute(func, &replaced);
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

/// What addresses have in common that differ in what is added to their index.
fn without_plus(key: Key) -> Key {
    Key { index: Index { plus: None, ..key.index }, ..key }
}

struct Reduction<'a> {
    func: &'a mut Function,
    target: &'a Target,
    flow: &'a Flow,
    /// The block of each value that is not a constant or a parameter of the function.
    homes: &'a SecondaryMap<Value, Option<Block>>,
    /// Which values differ between lanes, once somebody asks; what is made here is not in it.
    uniformity: &'a mut Option<Uniformity>,
    l: Loop,
    simple: Simple,
}

impl Reduction<'_> {
    fn run(&mut self) {
        let mut found: Vec<(Key, Group)> = Vec::new();
        let mut places: FxHashMap<Key, usize> = FxHashMap::default();
        let each_turn = self.blocks_of_each_turn();
        for &block in &each_turn {
            for &inst in &self.func.blocks[block].insts {
                let Some((key, member)) = self.member(inst) else { continue };
                if let Some(&place) = places.get(&key) {
                    let group = &mut found[place].1;
                    // Those ahead find their places one by one.
                    if member.ahead == group[0].ahead || group.len() < MAX_GROUP {
                        group.push(member);
                    }
                } else if found.len() < MAX_KEYS {
                    places.insert(key, found.len());
                    found.push((key, vec![member]));
                }
            }
        }
        if self.join_families(&mut found) {
            places.clear();
            for (place, (key, group)) in found.iter().enumerate() {
                for member in group {
                    let plus = key.index.plus.or(member.apart);
                    places.insert(Key { index: Index { plus, ..key.index }, ..*key }, place);
                }
            }
        }
        found.truncate(MAX_POINTERS);
        places.retain(|_, place| *place < found.len());
        self.arms(&each_turn, &mut found, &places);
        let by_variables = found.iter().filter(|(key, _)| key.index.counter.by.is_some()).count();
        if by_variables > MAX_VARIABLE_STEPS {
            found.retain(|(key, _)| key.index.counter.by.is_none());
        }
        for (key, group) in found {
            self.make_pointer(key, &group);
        }
    }

    /// Lets addresses that differ by what is the same in all lanes follow one pointer, where they are many: each takes its part of the scalar unit's registers
    /// then, and none of the vector unit's from one iteration to the next. Says whether there are such.
    fn join_families(&mut self, found: &mut Vec<(Key, Group)>) -> bool {
        let mut families: FxHashMap<Key, Vec<usize>> = FxHashMap::default();
        for (place, &(key, _)) in found.iter().enumerate() {
            let wide = self.func.ty(key.base).bits() == Some(64);
            if wide && key.index.factor.is_none() && key.index.counter.by.is_none() {
                families.entry(without_plus(key)).or_default().push(place);
            }
        }
        for place in 0..found.len() {
            let family = without_plus(found[place].0);
            let Some(mut places) = families.remove(&family).filter(|places| places.len() >= FAMILY) else {
                continue;
            };
            places.retain(|&place| found[place].0.index.plus.is_none_or(|plus| self.is_uniform(plus)));
            if places.len() < FAMILY || self.is_scalar(family) {
                continue;
            }
            let mut joined = Group::new();
            for &place in &places {
                let (key, group) = &mut found[place];
                joined.extend(group.drain(..).map(|member| Member { apart: key.index.plus, ..member }));
            }
            found[places[0]] = (family, joined);
        }
        let all = found.len();
        found.retain(|(_, group)| !group.is_empty());
        found.len() < all
    }

    /// What `inst` has in common with addresses off one pointer, if it is an address that follows a counter.
    fn member(&self, inst: Inst) -> Option<(Key, Member)> {
        let InstKind::PtrAdd { base, index: Some(index), scale, .. } = self.func.insts[inst].kind else {
            return None;
        };
        if !self.is_base(base) {
            return None;
        }
        let index = self.index(index, base, scale)?;
        let mut member = Member { inst, ahead: index.ahead, plus: 0, apart: None, in_arm: false };
        let mut key = Key { base, scale, index: Index { ahead: 0, ..index } };
        if let Some(value) = index.plus
            && index.factor.is_none()
            && let Some(plus) = self.func.as_int(value)
        {
            let unsigned = matches!(index.cast, Some((CastOp::ZExt, _)));
            let bits = self.func.ty(value).bits()? as u32;
            member.plus = if unsigned { plus as i64 } else { sext64(plus, bits) };
            key.index.plus = None;
        }
        Some((key, member))
    }

    /// Adds the addresses in arms of the loop, whose other blocks are `each_turn`: to pointers that are `found`, which cost nothing more, and pointers that
    /// several arms share.
    fn arms(&mut self, each_turn: &[Block], found: &mut Vec<(Key, Group)>, places: &FxHashMap<Key, usize>) {
        let blocks = self.flow.blocks_in(self.l);
        if blocks.len() == each_turn.len() {
            return;
        }
        let each_turn: FxHashSet<Block> = each_turn.iter().copied().collect();
        let mut shared: Vec<(Key, Group, FxHashSet<Block>)> = Vec::new();
        let mut numbers: FxHashMap<Key, usize> = FxHashMap::default();
        for block in blocks.iter().map(|&block| Block::from_u32(block)) {
            if each_turn.contains(&block) {
                continue;
            }
            for &inst in &self.func.blocks[block].insts {
                let Some((key, mut member)) = self.member(inst) else { continue };
                member.in_arm = true;
                // What is made from the address before it is made in its block.
                if key.index.factor.is_some() || key.index.counter.by.is_some() {
                    continue;
                }
                if let Some(&place) = places.get(&key) {
                    let (found, group) = &mut found[place];
                    member.apart = key.index.plus.filter(|_| found.index.plus.is_none());
                    group.push(member);
                    continue;
                }
                let number = *numbers.entry(key).or_insert_with(|| {
                    shared.push((key, Vec::new(), FxHashSet::default()));
                    shared.len() - 1
                });
                shared[number].1.push(member);
                shared[number].2.insert(block);
            }
        }
        for (key, group, arms) in shared {
            // A narrow address is one addition in each arm, too, and the scalar unit makes its own beside the other code.
            let wide = self.func.ty(key.base).bits() == Some(64);
            if wide && arms.len() > 1 && found.len() < MAX_POINTERS && !self.is_scalar(key) {
                found.push((key, group));
            }
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

    /// Whether addresses off `base` are worth a pointer.
    fn is_base(&self, base: Value) -> bool {
        let wide = self.func.ty(base).bits() == Some(64);
        let constant = matches!(self.func.values[base].def, ValueDef::Const(_));
        self.is_outside(base)
            && matches!(self.func.ty(base), Type::Scalar(Scalar::Ptr(_)))
            && (wide || !constant)
    }
}
