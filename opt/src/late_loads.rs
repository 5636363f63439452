//! Arguments that would fill the SGPRs are loaded where they are needed.
//!
//! What a kernel is given is loaded where it begins, and the scalar unit waits once for all of it. Structures of some hundred bytes have no place there:
//! they would be alive across all that comes before their first use, and be spilled. So where the entry block loads more than [`MAX_DWORDS`] dwords of memory
//! that never changes, the loads whose users are all in other blocks go in front of the first of them, or to the end of the last block that leads to them all,
//! which is in no loop. Neighbours are merged there.
//!
//! Cost: linear; of the dominator tree at most [`MAX_STEPS`] blocks are walked for a user.

use super::bits::dwords;
use super::cfg::homes;
use super::memory::{Flow, is_of_wave, never_changes};
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::FxHashMap;

/// Dwords that the entry block may load: two thirds of the SGPRs.
const MAX_DWORDS: u64 = 64;
/// Blocks of the dominator tree that are walked at a time.
const MAX_STEPS: usize = 64;

/// Where a load may go: the deepest block that leads to all users.
type Places = FxHashMap<Inst, Block>;

/// Delays loads of `func`, which is legal IR, that its entry block makes too many of.
pub fn delay(func: &mut Function) {
    if func.layout.len() < 2 || func.call_conv.is_callable() {
        return;
    }
    let entry = func.entry();
    let is_given = |&&inst: &&Inst| {
        let data = &func.insts[inst];
        matches!(data.kind, InstKind::Load { mem, .. } if mem.is_simple() && never_changes(&mem))
            && is_of_wave(func, data)
    };
    let loads: Vec<Inst> = func.blocks[entry].insts.iter().filter(is_given).copied().collect();
    let taken: u64 = loads.iter().map(|&inst| u64::from(dwords(func.insts[inst].ty))).sum();
    if taken <= MAX_DWORDS {
        return;
    }
    let flow = Flow::new(func);
    let mut places = places(func, &flow, &loads);
    places.retain(|_, &mut block| block != entry && flow.loops.innermost(block.as_u32()).is_none());
    if places.is_empty() {
        return;
    }
    func.blocks[entry].insts.retain(|inst| !places.contains_key(inst));
    let mut by_block: SecondaryMap<Block, Vec<Inst>> = SecondaryMap::new();
    for &inst in &loads {
        if let Some(&block) = places.get(&inst) {
            by_block[block].push(inst);
        }
    }
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let loads = std::mem::take(&mut by_block[block]);
        if !loads.is_empty() {
            place(func, block, &loads);
        }
    }
}

/// The deepest block that leads to all users, of each of `loads`.
fn places(func: &Function, flow: &Flow, loads: &[Inst]) -> Places {
    let homes = homes(func);
    let by_result: FxHashMap<Value, Inst> =
        loads.iter().filter_map(|&inst| Some((func.insts[inst].result?, inst))).collect();
    let mut places = Places::default();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            mir::interrupt::checkpoint();
            func.insts[inst].kind.for_each_value(|value| {
                if let Some(&load) = by_result.get(&value) {
                    let place = places.entry(load).or_insert(block);
                    *place = meeting(flow, *place, block).or(homes[value]).unwrap_or(*place);
                }
            });
        }
    }
    places
}

/// The deepest block that dominates both, if that is near.
fn meeting(flow: &Flow, a: Block, b: Block) -> Option<Block> {
    let mut at = a.as_u32();
    for _ in 0..MAX_STEPS {
        if flow.dominators.dominates(at, b.as_u32()) {
            return Some(Block::from_u32(at));
        }
        at = flow.dominators.idom(at)?;
    }
    None
}

/// Puts each of `loads` in front of its first user in `block`, or at the end.
fn place(func: &mut Function, block: Block, loads: &[Inst]) {
    let mut waiting: FxHashMap<Value, Inst> =
        loads.iter().filter_map(|&inst| Some((func.insts[inst].result?, inst))).collect();
    let old = std::mem::take(&mut func.blocks[block].insts);
    let mut new = Vec::with_capacity(old.len() + loads.len());
    for inst in old {
        let kind = &func.insts[inst].kind;
        kind.for_each_value(|value| new.extend(waiting.remove(&value)));
        if kind.is_terminator() {
            new.extend(
                loads
                    .iter()
                    .filter(|&&load| func.insts[load].result.and_then(|it| waiting.remove(&it)).is_some()),
            );
        }
        new.push(inst);
    }
    func.blocks[block].insts = new;
}
