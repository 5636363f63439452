//! Branches on one condition in a row become one.
//!
//! ```text
//! a: …  br c, t, j              a: …  x = …  br c, t, k
//! t: …  jump j           →      t: …  …  jump k
//! j: x = …  br c, u, k
//! u: …  jump k
//! ```
//!
//! Programs ask again and again what they know, where code between was expanded from a macro or unrolled. Where lanes go different ways each question takes
//! a mask that is saved, a branch and a mask that comes back. What stands between the branches is computed in front of the first one, where it can be: all
//! lanes come to it anyway. The lanes that execute `t` and `u` stay the same.
//!
//! Runs behind value numbering, which finds out that conditions are one. Cost: linear.

use super::gvn::is_pure;
use cranelift_entity::SecondaryMap;
use mir::ir::*;

/// Joins branches of `func`.
pub fn join(func: &mut Function) {
    let mut edges: SecondaryMap<Block, u32> = SecondaryMap::new();
    for &block in &func.layout {
        for target in func.successors(block) {
            edges[target] += 1;
        }
    }
    let mut gone = cranelift_entity::EntitySet::with_capacity(func.blocks.len());
    for at in 0..func.layout.len() {
        mir::interrupt::checkpoint();
        let block = func.layout[at];
        if gone.contains(block) {
            continue;
        }
        while let Some(chain) = Chain::find(func, block, &edges) {
            gone.insert(chain.between);
            gone.insert(chain.second);
            chain.join(func, block);
        }
    }
    func.layout.retain(|&block| !gone.contains(block));
}

/// Two branches on one condition: what the first leads to, what stands between them, what the second leads to.
struct Chain {
    first: Block,
    between: Block,
    second: Block,
    /// Where the second branch goes else.
    end: BlockCall,
    /// Whether the condition holds in `first`.
    holds: bool,
}

impl Chain {
    /// The branch that `block` ends with and the next on its condition.
    fn find(func: &Function, block: Block, edges: &SecondaryMap<Block, u32>) -> Option<Self> {
        let (cond, targets) = branch(func, block)?;
        [true, false].into_iter().find_map(|holds| {
            let [first, between] = if holds { targets } else { [targets[1], targets[0]] };
            let (first, between) = (alone(func, first)?, alone(func, between)?);
            let jump = match &func.insts[func.terminator(first)?].kind {
                InstKind::Jump { target } => alone(func, target)?,
                _ => return None,
            };
            if jump != between || first == between || edges[first] != 1 || edges[between] != 2 {
                return None;
            }
            let (again, targets) = branch(func, between)?;
            let [second, end] = if holds { targets } else { [targets[1], targets[0]] };
            let second = alone(func, second)?;
            let ends = [block, first, between, second].contains(&end.block);
            let insts = &func.blocks[between].insts;
            let movable = insts[..insts.len() - 1].iter().all(|&inst| is_pure(&func.insts[inst]));
            (again == cond && edges[second] == 1 && second != block && !ends && movable).then(|| Self {
                first,
                between,
                second,
                end: end.clone(),
                holds,
            })
        })
    }

    /// Makes one branch of the two, the one of `block`.
    fn join(self, func: &mut Function, block: Block) {
        let mut moved = std::mem::take(&mut func.blocks[self.between].insts);
        moved.pop();
        let insts = &mut func.blocks[block].insts;
        let end = insts.len().saturating_sub(1);
        insts.splice(end..end, moved);
        let more = std::mem::take(&mut func.blocks[self.second].insts);
        let insts = &mut func.blocks[self.first].insts;
        insts.pop();
        insts.extend(more);
        if let Some(last) = func.terminator(block)
            && let InstKind::Branch { if_true, if_false, .. } = &mut func.insts[last].kind
        {
            *(if self.holds { if_false } else { if_true }) = self.end;
        }
    }
}

/// The condition that `block` branches on, and where it goes if that holds and if not.
fn branch(func: &Function, block: Block) -> Option<(Value, [&BlockCall; 2])> {
    match &func.insts[func.terminator(block)?].kind {
        InstKind::Branch { cond, if_true, if_false } => Some((*cond, [if_true, if_false])),
        _ => None,
    }
}

/// The target of an edge, if it has no parameters.
fn alone(func: &Function, call: &BlockCall) -> Option<Block> {
    func.blocks[call.block].params.is_empty().then_some(call.block)
}
