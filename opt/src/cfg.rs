//! Control-flow graph of a function: reverse post-order, predecessors, dominators.
//!
//! Dominators are computed by iteration over the reverse post-order (Cooper, Harvey, Kennedy: "A Simple, Fast
//! Dominance Algorithm"), which takes two rounds on reducible graphs. No recursion.

use super::builder::Scope;
use cranelift_entity::SecondaryMap;
use mir::analysis::{Csr, Graph};
use mir::ir::{Block, Function};

/// Reachable blocks of a function, in order.
pub struct Cfg {
    /// Reachable blocks in reverse post-order, the entry first.
    pub rpo: Vec<Block>,
    /// The graph; its nodes are positions in `rpo`.
    pub graph: Csr,
}

impl Cfg {
    /// The graph of `func`, which has a body.
    pub fn new(func: &Function) -> Self {
        // Position + 1; 0 for unreachable blocks.
        let mut order: SecondaryMap<Block, u32> = SecondaryMap::with_capacity(func.blocks.len());
        let mut rpo = Vec::with_capacity(func.layout.len());
        // Successors of the blocks on the path that are still to be visited, the path's last block's on top.
        let mut todo: Vec<Block> = Vec::with_capacity(64);
        let mut path: Vec<(Block, usize)> = Vec::with_capacity(64);
        let entry = func.entry();
        order[entry] = 1;
        path.push((entry, 0));
        todo.extend(func.successors(entry));
        while let Some(&(block, start)) = path.last() {
            if todo.len() == start {
                rpo.push(block);
                path.pop();
            } else if let Some(next) = todo.pop()
                && order[next] == 0
            {
                order[next] = 1;
                path.push((next, todo.len()));
                todo.extend(func.successors(next));
            }
        }
        rpo.reverse();
        for (i, &block) in rpo.iter().enumerate() {
            order[block] = i as u32 + 1;
        }
        let graph = Csr::new(rpo.len(), 0, |position, sink| {
            sink.extend(func.successors(rpo[position as usize]).map(|succ| order[succ] - 1));
        });
        Self { rpo, graph }
    }

    /// Positions of the predecessors of the block at `position`, one for each edge.
    pub fn preds(&self, position: usize) -> &[u32] {
        self.graph.preds(position as u32)
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
                for &pred in self.preds(i) {
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
        let branch = |f: &mut Function, from: usize, to: &[usize]| {
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
        let position = |b: usize| cfg.rpo.iter().position(|&x| x == blocks[b]).unwrap();
        let dominator = |b: usize| cfg.rpo[idom[position(b)] as usize];
        assert_eq!(dominator(4), blocks[1]);
        assert_eq!(dominator(5), blocks[4]);
        let scopes = cfg.scopes(&idom);
        let scope = |b: usize| scopes[position(b)];
        let dominates = |a: usize, b: usize| scope(a).0 <= scope(b).0 && scope(b).1 <= scope(a).1;
        assert!(dominates(1, 5) && dominates(4, 5) && !dominates(2, 4) && !dominates(2, 3));
    }
}
