//! The forest of natural loops.
//!
//! A back edge is an edge whose target, the *header*, dominates its source, the *latch*; the loop is the header with all
//! blocks that reach a latch without passing the header. Loops with one header are one loop. Headers are taken inner before
//! outer; walking backwards from the latches, a loop found earlier is crossed in one step over its header, so the cost is
//! near linear (path compression over the chain of parents).
//!
//! An edge that goes backwards in reverse post-order without being a back edge makes the graph irreducible; such
//! edges belong to no loop.

use super::{Dominators, Graph, Order};
use std::ops::Index;

/// A loop of a [`Loops`] forest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Loop(u32);

impl Loop {
    /// Its number: outer loops have lower ones than the loops inside them.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One natural loop.
#[derive(Clone, Debug)]
pub struct LoopData {
    /// The block that every entry goes through.
    pub header: u32,
    /// The loop around it.
    pub parent: Option<Loop>,
    /// Nesting depth, 1 for an outermost loop.
    pub depth: u32,
    /// Sources of the back edges, without repetition.
    pub latches: Vec<u32>,
    /// Edges that leave the loop, from inside to outside.
    pub exits: Vec<(u32, u32)>,
    /// Number in preorder of the forest, and the highest of the loops inside.
    preorder: (u32, u32),
}

/// All natural loops of a graph.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    loops: Vec<LoopData>,
    innermost: Vec<Option<Loop>>,
    irreducible: bool,
}

impl Loops {
    /// Finds the loops; `rpo` is a reverse post-order and `dom` the dominator tree of `graph`.
    pub fn new(graph: &impl Graph, rpo: &Order, dom: &Dominators) -> Self {
        let nodes = graph.num_nodes();
        let mut this = Self { innermost: vec![None; nodes], ..Self::default() };
        let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut worklist = Vec::new();
        // Innermost loop found so far of each block, and the loop around each loop (indices into `found`).
        let mut of_block = vec![u32::MAX; nodes];
        let mut around: Vec<u32> = Vec::new();
        // Like `around`, shortened to the outermost known.
        let mut shortcut: Vec<u32> = Vec::new();
        for &header in rpo.blocks().iter().rev() {
            let mut latches = Vec::new();
            for &pred in graph.preds(header) {
                if dom.dominates(header, pred) {
                    if latches.last() != Some(&pred) {
                        latches.push(pred);
                    }
                } else if rpo.position(pred) >= rpo.position(header) && rpo.contains(pred) {
                    // It goes backwards, and its target does not dominate its source.
                    this.irreducible = true;
                }
            }
            if latches.is_empty() {
                continue;
            }
            let this_loop = found.len() as u32;
            around.push(u32::MAX);
            shortcut.push(u32::MAX);
            worklist.extend_from_slice(&latches);
            found.push((header, latches));
            of_block[header as usize] =
                if of_block[header as usize] == u32::MAX { this_loop } else { of_block[header as usize] };
            while let Some(block) = worklist.pop() {
                if block == header {
                    continue;
                }
                let inner = of_block[block as usize];
                let walk_from = if inner == u32::MAX {
                    of_block[block as usize] = this_loop;
                    block
                } else {
                    let mut outer = inner;
                    while shortcut[outer as usize] != u32::MAX {
                        outer = shortcut[outer as usize];
                    }
                    let mut node = inner;
                    while node != outer {
                        node = std::mem::replace(&mut shortcut[node as usize], outer);
                    }
                    if outer == this_loop {
                        continue;
                    }
                    around[outer as usize] = this_loop;
                    shortcut[outer as usize] = this_loop;
                    found[outer as usize].0
                };
                worklist.extend(graph.preds(walk_from).iter().copied().filter(|&p| {
                    // Latches of a crossed loop are inside it and lead nowhere new; unreachable blocks are in no loop.
                    rpo.contains(p)
                }));
            }
        }
        this.finish(graph, rpo, found, &of_block, &around);
        this
    }

    /// Renumbers loops so that outer ones come first, and collects blocks and exits.
    fn finish(
        &mut self,
        graph: &impl Graph,
        rpo: &Order,
        found: Vec<(u32, Vec<u32>)>,
        of_block: &[u32],
        around: &[u32],
    ) {
        let count = found.len() as u32;
        let number = |old: u32| Loop(count - 1 - old);
        for (old, (header, latches)) in found.into_iter().enumerate().rev() {
            let parent = Some(around[old]).filter(|&p| p != u32::MAX).map(number);
            let depth = parent.map_or(1, |p| self[p].depth + 1);
            self.loops.push(LoopData { header, parent, depth, latches, exits: Vec::new(), preorder: (0, 0) });
        }
        self.number();
        for &block in rpo.blocks() {
            if of_block[block as usize] != u32::MAX {
                self.innermost[block as usize] = Some(number(of_block[block as usize]));
            }
        }
        for &block in rpo.blocks() {
            for &succ in graph.succs(block) {
                let mut at = self.innermost[block as usize];
                while let Some(l) = at {
                    if self.contains(l, succ) {
                        break;
                    }
                    self.loops[l.index()].exits.push((block, succ));
                    at = self[l].parent;
                }
            }
        }
    }

    /// Preorder numbers of the forest, so that containment is two comparisons.
    fn number(&mut self) {
        let mut size = vec![1u32; self.loops.len()];
        for l in (0..self.loops.len()).rev() {
            if let Some(parent) = self.loops[l].parent {
                size[parent.index()] += size[l];
            }
        }
        // Where the next loop inside each loop, or (last) at the top, starts.
        let mut next = vec![0u32; self.loops.len() + 1];
        for l in 0..self.loops.len() {
            let around = self.loops[l].parent.map_or(self.loops.len(), Loop::index);
            let first = next[around];
            next[around] += size[l];
            next[l] = first + 1;
            self.loops[l].preorder = (first, first + size[l] - 1);
        }
    }

    /// Number of loops.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether there are no loops.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// All loops, outer before inner.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Loop> + use<> {
        (0..self.loops.len() as u32).map(Loop)
    }

    /// The innermost loop around `node`.
    pub fn innermost(&self, node: u32) -> Option<Loop> {
        self.innermost[node as usize]
    }

    /// Number of loops around `node`.
    pub fn depth(&self, node: u32) -> u32 {
        self.innermost(node).map_or(0, |l| self[l].depth)
    }

    /// Whether `node` is in `l` or in a loop inside it.
    pub fn contains(&self, l: Loop, node: u32) -> bool {
        self.innermost(node).is_some_and(|inner| self.encloses(l, inner))
    }

    /// Whether `inner` is `l` or a loop inside it.
    pub(crate) fn encloses(&self, l: Loop, inner: Loop) -> bool {
        let (first, last) = self[l].preorder;
        (first..=last).contains(&self[inner].preorder.0)
    }

    /// Whether the edge leads from a block of a loop to its header.
    pub fn is_back_edge(&self, from: u32, to: u32) -> bool {
        self.innermost(to).is_some_and(|l| self[l].header == to && self.contains(l, from))
    }

    /// Whether every cycle has one entry.
    pub fn is_reducible(&self) -> bool {
        !self.irreducible
    }
}

impl Index<Loop> for Loops {
    type Output = LoopData;

    fn index(&self, l: Loop) -> &LoopData {
        &self.loops[l.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Csr;
    use super::super::graph::testing::{graph, random};
    use super::*;

    fn loops(g: &Csr) -> Loops {
        let rpo = Order::reverse_post_order(g);
        Loops::new(g, &rpo, &Dominators::new(g, &rpo))
    }

    #[test]
    fn nest_with_two_latches() {
        // 1 heads {1, 2, 3, 4}, 2 heads {2, 3}; latches of 1: 3 and 4.
        let g = graph(6, &[(0, 1), (1, 2), (2, 3), (3, 2), (3, 1), (2, 4), (4, 1), (4, 5)]);
        let l = loops(&g);
        assert_eq!(l.len(), 2);
        let outer = l.innermost(1).unwrap();
        let inner = l.innermost(3).unwrap();
        assert_eq!((l[outer].header, l[outer].depth, l[outer].parent), (1, 1, None));
        assert_eq!((l[inner].header, l[inner].depth, l[inner].parent), (2, 2, Some(outer)));
        assert_eq!(l[outer].latches, [3, 4]);
        assert_eq!(l[outer].exits, [(4, 5)]);
        assert_eq!(l[inner].exits, [(2, 4), (3, 1)]);
        assert!(l.is_reducible() && l.is_back_edge(3, 1) && !l.is_back_edge(2, 4));
    }

    #[test]
    fn two_entries_are_irreducible() {
        let l = loops(&graph(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]));
        assert!(l.is_empty() && !l.is_reducible());
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..3000 {
            let n = 2 + rng.u32(..12);
            let g = random(&mut rng, n);
            let rpo = Order::reverse_post_order(&g);
            let dom = Dominators::new(&g, &rpo);
            let l = Loops::new(&g, &rpo, &dom);
            for header in (0..n).filter(|&h| rpo.contains(h)) {
                let mut body = vec![header];
                let mut stack: Vec<u32> =
                    g.preds(header).iter().copied().filter(|&p| dom.dominates(header, p)).collect();
                let is_header = !stack.is_empty();
                while let Some(b) = stack.pop() {
                    if !body.contains(&b) {
                        body.push(b);
                        stack.extend(g.preds(b).iter().copied().filter(|&p| rpo.contains(p)));
                    }
                }
                body.sort_by_key(|&b| rpo.position(b));
                match l.iter().find(|&x| l[x].header == header) {
                    Some(x) => {
                        let mut blocks: Vec<u32> = rpo.blocks().to_vec();
                        blocks.retain(|&b| l.contains(x, b));
                        assert_eq!(blocks, body, "{g:?}");
                    }
                    None => assert!(!is_header),
                }
            }
        }
    }
}
