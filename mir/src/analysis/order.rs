//! Orders of the reachable nodes: reverse post-order, and one in which loops are contiguous.
//!
//! Plain reverse post-order may put a loop's exit between two blocks of the loop. [`Order::loops_contiguous`] fixes
//! that: it walks the loop forest, at each level keeping reverse post-order of the blocks and of the headers of inner
//! loops. All edges into a loop go to its header, so the result is still topological apart from back edges (and from the
//! retreating edges of irreducible parts, which no order can avoid). Cost: linear.

use super::{Graph, Loops};

/// An order of the reachable nodes and its inverse.
#[derive(Clone, Debug, Default)]
pub struct Order {
    blocks: Vec<u32>,
    position: Vec<u32>,
}

impl Order {
    const NONE: u32 = u32::MAX;

    /// The order that lists `blocks`, of `nodes` in all.
    pub fn from_blocks(blocks: Vec<u32>, nodes: usize) -> Self {
        let mut position = vec![Self::NONE; nodes];
        for (i, &block) in blocks.iter().enumerate() {
            position[block as usize] = i as u32;
        }
        Self { blocks, position }
    }

    /// Reverse post-order in which, where edges leave the choice, an earlier successor comes before a later one.
    pub fn reverse_post_order(graph: &impl Graph) -> Self {
        Self::reverse_post_order_by(graph, |_| false)
    }

    /// The same, but where `swap(node)` holds, later successors come before earlier ones.
    pub fn reverse_post_order_by(graph: &impl Graph, mut swap: impl FnMut(u32) -> bool) -> Self {
        let nodes = graph.num_nodes();
        if nodes == 0 {
            return Self::default();
        }
        let mut seen = vec![false; nodes];
        let mut blocks = Vec::with_capacity(nodes);
        // Node, successors still to visit, whether to take them from the front.
        let mut stack = Vec::with_capacity(64);
        let entry = graph.entry();
        seen[entry as usize] = true;
        stack.push((entry, 0, swap(entry)));
        while let Some((node, done, from_front)) = stack.last_mut() {
            let succs = graph.succs(*node);
            if *done == succs.len() {
                blocks.push(*node);
                stack.pop();
                continue;
            }
            let next = if *from_front { succs[*done] } else { succs[succs.len() - 1 - *done] };
            *done += 1;
            if !std::mem::replace(&mut seen[next as usize], true) {
                let front = swap(next);
                stack.push((next, 0, front));
            }
        }
        blocks.reverse();
        Self::from_blocks(blocks, nodes)
    }

    /// Reorders a reverse post-order so that every natural loop is contiguous, its header first.
    pub fn loops_contiguous(&self, loops: &Loops) -> Self {
        if loops.is_empty() {
            return self.clone();
        }
        enum Item {
            Block(u32),
            Loop(super::Loop),
        }
        let mut top = Vec::new();
        let mut inside: Vec<Vec<Item>> = Vec::new();
        inside.resize_with(loops.len(), Vec::new);
        for &block in &self.blocks {
            let Some(inner) = loops.innermost(block) else {
                top.push(Item::Block(block));
                continue;
            };
            if loops[inner].header == block {
                let outer = loops[inner].parent;
                outer.map_or(&mut top, |l| &mut inside[l.index()]).push(Item::Loop(inner));
            }
            inside[inner.index()].push(Item::Block(block));
        }
        let mut blocks = Vec::with_capacity(self.blocks.len());
        let mut stack = vec![top.into_iter()];
        while let Some(items) = stack.last_mut() {
            match items.next() {
                None => {
                    stack.pop();
                }
                Some(Item::Block(block)) => blocks.push(block),
                Some(Item::Loop(inner)) => stack.push(std::mem::take(&mut inside[inner.index()]).into_iter()),
            }
        }
        Self::from_blocks(blocks, self.position.len())
    }

    /// Nodes in order.
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Place of `node` in the order; `None` where it is unreachable.
    pub fn position(&self, node: u32) -> Option<u32> {
        self.position.get(node as usize).copied().filter(|&p| p != Self::NONE)
    }

    /// Whether `node` is reachable.
    pub fn contains(&self, node: u32) -> bool {
        self.position(node).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::testing::{graph, random};
    use super::super::{Dominators, Graph, Loops};
    use super::*;

    #[test]
    fn first_successor_comes_first() {
        let g = graph(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(Order::reverse_post_order(&g).blocks(), [0, 1, 2, 3]);
        assert_eq!(Order::reverse_post_order_by(&g, |n| n == 0).blocks(), [0, 2, 1, 3]);
    }

    #[test]
    fn exits_do_not_split_loops() {
        // 0 → 1; loop {1, 2, 3}; 2 leaves to 4, 3 to 5.
        let g = graph(6, &[(0, 1), (1, 2), (1, 3), (2, 4), (2, 1), (3, 5), (3, 1)]);
        let rpo = Order::reverse_post_order(&g);
        let loops = Loops::new(&g, &rpo, &Dominators::new(&g, &rpo));
        let order = rpo.loops_contiguous(&loops);
        let mut first: Vec<u32> = order.blocks()[..4].to_vec();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2, 3]);
    }

    #[test]
    fn contiguous_and_topological_on_random_graphs() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..3000 {
            let n = 2 + rng.u32(..14);
            let g = random(&mut rng, n);
            let rpo = Order::reverse_post_order(&g);
            let loops = Loops::new(&g, &rpo, &Dominators::new(&g, &rpo));
            let order = rpo.loops_contiguous(&loops);
            assert_eq!(order.blocks().len(), rpo.blocks().len());
            for l in loops.iter() {
                let mut places: Vec<u32> = (0..n)
                    .filter(|&b| rpo.contains(b) && loops.contains(l, b))
                    .map(|b| order.position(b).unwrap())
                    .collect();
                places.sort_unstable();
                assert_eq!(places[0], order.position(loops[l].header).unwrap());
                assert_eq!(places[places.len() - 1] - places[0] + 1, places.len() as u32);
            }
            if loops.is_reducible() {
                for &b in order.blocks() {
                    for &s in g.succs(b) {
                        let back = loops.innermost(s).is_some_and(|_| loops.is_back_edge(b, s));
                        assert!(back || order.position(b) < order.position(s), "{b} -> {s} in {g:?}");
                    }
                }
            }
        }
    }
}
