//! Control-flow graph of a function: reverse post-order, predecessors, dominators.
//!
//! Dominators are computed by iteration over the reverse post-order (Cooper, Harvey, Kennedy: "A Simple, Fast
//! Dominance Algorithm"), which takes two rounds on reducible graphs. No recursion.

use super::builder::Scope;
use cranelift_entity::SecondaryMap;
use mir::ir::{Block, Function};

/// Reachable blocks of a function, in order.
pub struct Cfg {
    /// Reachable blocks in reverse post-order, the entry first.
    pub rpo: Vec<Block>,
    /// Position in `rpo` + 1; 0 for unreachable blocks.
    order: SecondaryMap<Block, u32>,
    /// Predecessors in reverse post-order positions, one for each edge.
    preds: Vec<Vec<u32>>,
}

impl Cfg {
    /// The graph of `func`, which has a body.
    pub fn new(func: &Function) -> Self {
        let mut order: SecondaryMap<Block, u32> = SecondaryMap::new();
        let mut postorder = Vec::with_capacity(func.layout.len());
        let mut stack: Vec<(Block, Vec<Block>)> = Vec::new();
        let entry = func.entry();
        order[entry] = 1;
        stack.push((entry, func.successors(entry).collect()));
        while let Some((block, succs)) = stack.last_mut() {
            match succs.pop() {
                Some(next) if order[next] == 0 => {
                    order[next] = 1;
                    stack.push((next, func.successors(next).collect()));
                }
                Some(_) => {}
                None => {
                    postorder.push(*block);
                    stack.pop();
                }
            }
        }
        postorder.reverse();
        for (i, &block) in postorder.iter().enumerate() {
            order[block] = i as u32 + 1;
        }
        let mut preds = vec![Vec::new(); postorder.len()];
        for (i, &block) in postorder.iter().enumerate() {
            for succ in func.successors(block) {
                preds[order[succ] as usize - 1].push(i as u32);
            }
        }
        Self { rpo: postorder, order, preds }
    }

    /// Position of a reachable block in the order.
    pub fn position(&self, block: Block) -> Option<usize> {
        (self.order[block] as usize).checked_sub(1)
    }

    /// Positions of the predecessors of the block at `position`, one for each edge.
    pub fn preds(&self, position: usize) -> &[u32] {
        &self.preds[position]
    }

    /// Immediate dominators by position; the entry's is itself.
    pub fn dominators(&self) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        let mut idom = vec![NONE; self.rpo.len()];
        if idom.is_empty() {
            return idom;
        }
        idom[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for i in 1..self.rpo.len() {
                let mut new = NONE;
                for &pred in &self.preds[i] {
                    if idom[pred as usize] == NONE {
                        continue;
                    }
                    new = if new == NONE { pred } else { intersect(&idom, new, pred) };
                }
                if idom[i] != new {
                    idom[i] = new;
                    changed = true;
                }
            }
        }
        idom
    }

    /// Intervals of the dominator tree by position: a block dominates another iff its interval contains the other's.
    pub fn scopes(&self, idom: &[u32]) -> Vec<Scope> {
        let n = self.rpo.len();
        // Sizes of subtrees, from the leaves: children come after their parent in the order.
        let mut size = vec![1u32; n];
        for i in (1..n).rev() {
            size[idom[i] as usize] += size[i];
        }
        let mut next = vec![0u32; n];
        let mut scopes = vec![(0, 0); n];
        for i in 0..n {
            let start = if i == 0 {
                0
            } else {
                let parent = idom[i] as usize;
                let start = next[parent];
                next[parent] += size[i];
                start
            };
            scopes[i] = (start, start + size[i] - 1);
            next[i] = start + 1;
        }
        scopes
    }
}

fn intersect(idom: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while a > b {
            a = idom[a as usize];
        }
        while b > a {
            b = idom[b as usize];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::ir::{CallConv, InstKind, Target, Type};

    #[test]
    fn diamond_in_a_loop() {
        let mut f = Function::new("f", CallConv::Kernel, Type::Void);
        let blocks: Vec<_> = (0..6).map(|_| f.add_block()).collect();
        let c = f.int(Type::I1, 1);
        let mut branch = |f: &mut Function, from: usize, to: &[usize]| {
            let kind = match *to {
                [] => InstKind::Ret { value: None },
                [t] => InstKind::Jump { target: Target::to(blocks[t]) },
                [t, e, ..] => InstKind::Branch {
                    cond: c,
                    if_true: Target::to(blocks[t]),
                    if_false: Target::to(blocks[e]),
                },
            };
            f.append(blocks[from], kind, Type::Void);
        };
        for (from, to) in [(0, &[1][..]), (1, &[2, 3]), (2, &[4]), (3, &[4]), (4, &[1, 5]), (5, &[])] {
            branch(&mut f, from, to);
        }
        let cfg = Cfg::new(&f);
        let idom = cfg.dominators();
        let dominator = |b: usize| cfg.rpo[idom[cfg.position(blocks[b]).unwrap()] as usize];
        assert_eq!(dominator(4), blocks[1]);
        assert_eq!(dominator(5), blocks[4]);
        let scopes = cfg.scopes(&idom);
        let scope = |b: usize| scopes[cfg.position(blocks[b]).unwrap()];
        let dominates = |a: usize, b: usize| scope(a).0 <= scope(b).0 && scope(b).1 <= scope(a).1;
        assert!(dominates(1, 5) && dominates(4, 5) && !dominates(2, 4) && !dominates(2, 3));
    }
}
