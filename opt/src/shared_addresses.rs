//! Addresses that several arms compute are computed once, in front of them.
//!
//! ```text
//! a: br c, t, j                      a: p = x + 4 * i   br c, t, j
//! t: p = x + 4 * i   …       →       t: …
//! u: q = x + 4 * i   …               u: …        (v as well)
//! v: r = x + 4 * i   …
//! ```
//!
//! Unrolled loops with an `if` in each turn have such arms, of which none dominates another, so that value numbering keeps each address. It takes a register
//! from the first arm to the last; so it is done where [`ARMS`] blocks at least share it, and not out of a loop, which invariant code motion decides.
//!
//! Cost: linear; [`CLIMB`] steps up the dominator tree for each address.

use super::inline::substitute;
use super::memory::Flow;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::FxHashMap;

/// Blocks that compute an address.
const ARMS: usize = 3;
/// Steps up the dominator tree to a block that dominates one more.
const CLIMB: usize = 64;

/// Base, index and scale.
type Key = (Value, Value, i64);

/// Equal addresses.
struct Shared {
    /// The first of them.
    first: Inst,
    members: Vec<Value>,
    /// The block that dominates all.
    above: u32,
    /// What all of them promise.
    flags: InstFlags,
}

/// Shares addresses of `func`, which is legal IR behind value numbering.
pub fn share(func: &mut Function) {
    if !is_worth_it(func) {
        return;
    }
    let mut equal: FxHashMap<Key, usize> = FxHashMap::default();
    let mut shared: Vec<Shared> = Vec::new();
    // The first of the equal addresses stands for all.
    let mut class: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let flow = Flow::new(func);
    for &block in flow.order.blocks() {
        mir::interrupt::checkpoint();
        for &inst in &func.blocks[Block::from_u32(block)].insts {
            let data = &func.insts[inst];
            let (Some((base, index, scale)), Some(value)) = (key(&data.kind), data.result) else { continue };
            let key = (class[base].unwrap_or(base), index, scale);
            let known = equal.get(&key).map(|&known| &mut shared[known]);
            match known.and_then(|known| Some((above(&flow, known.above, block)?, known))) {
                Some((above, known)) => {
                    known.above = above;
                    known.flags &= data.flags;
                    known.members.push(value);
                    class[value] = func.insts[known.first].result;
                }
                None => {
                    equal.insert(key, shared.len());
                    shared.push(Shared {
                        first: inst,
                        members: vec![value],
                        above: block,
                        flags: data.flags,
                    });
                }
            }
        }
    }
    hoist(func, &flow, &shared);
}

/// What an address is made from, but for a constant offset, with which it is not looked at.
fn key(kind: &InstKind) -> Option<Key> {
    match *kind {
        InstKind::PtrAdd { base, index: Some(index), scale, offset: 0 } => Some((base, index, scale)),
        _ => None,
    }
}

/// Whether an address is computed often enough anywhere.
fn is_worth_it(func: &Function) -> bool {
    let mut counts: FxHashMap<Key, usize> = FxHashMap::default();
    let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    insts.filter_map(|&inst| key(&func.insts[inst].kind)).any(|key| {
        let count = counts.entry(key).or_default();
        *count += 1;
        *count == ARMS
    })
}

/// The nearest block that dominates both, if it is in the innermost loop of either.
fn above(flow: &Flow, mut a: u32, b: u32) -> Option<u32> {
    let innermost = flow.loops.innermost(b);
    for _ in 0..CLIMB {
        if flow.loops.innermost(a) != innermost {
            return None;
        }
        if flow.dominators.dominates(a, b) {
            return Some(a);
        }
        a = flow.dominators.idom(a)?;
    }
    None
}

/// Computes what enough blocks share in front of them.
fn hoist(func: &mut Function, flow: &Flow, shared: &[Shared]) {
    let homes = super::cfg::homes(func);
    let mut replaced: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut moved: FxHashMap<Value, u32> = FxHashMap::default();
    for Shared { first, members, above, flags } in shared {
        let mut blocks: Vec<_> = members.iter().filter_map(|&value| homes[value]).collect();
        blocks.dedup();
        if blocks.len() < ARMS || blocks.contains(&Block::from_u32(*above)) {
            continue;
        }
        let InstKind::PtrAdd { base, index: Some(index), scale, .. } = func.insts[*first].kind else {
            continue;
        };
        let base = replaced[base].unwrap_or(base);
        let there = |value: Value| match moved.get(&value) {
            Some(&block) => flow.dominators.dominates(block, *above),
            None => homes[value].is_none_or(|home| flow.dominators.dominates(home.as_u32(), *above)),
        };
        if !there(base) || !there(index) {
            continue;
        }
        let ty = func.insts[*first].ty;
        let kind = InstKind::PtrAdd { base, index: Some(index), scale, offset: 0 };
        let inst = func.make_inst(kind, ty, *flags);
        func.locs[inst] = func.locs[*first];
        let Some(value) = func.insts[inst].result else { continue };
        let insts = &mut func.blocks[Block::from_u32(*above)].insts;
        insts.insert(insts.len() - 1, inst);
        moved.insert(value, *above);
        members.iter().for_each(|&member| replaced[member] = Some(value));
    }
    if moved.is_empty() {
        return;
    }
    substitute(func, &replaced);
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        insts.retain(|&inst| func.insts[inst].result.is_none_or(|value| replaced[value].is_none()));
        func.blocks[block].insts = insts;
    }
}
