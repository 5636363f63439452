//! Dominator trees by the algorithm of Lengauer and Tarjan with path compression.
//!
//! The simpler iteration over reverse post-order (Cooper, Harvey, Kennedy) is quadratic on shapes that kernels do have: a
//! long chain of early exits to one block. This one costs n log n whatever the shape. The tree keeps preorder intervals, so
//! `dominates` is two comparisons.
//!
//! Source: T. Lengauer, R. E. Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", TOPLAS 1(1), 1979.

use super::{Graph, Order};

const NONE: u32 = u32::MAX;

/// The dominator tree of a graph. Over [`super::Csr::reversed`] it is the post-dominator tree, its root the added node.
#[derive(Clone, Debug, Default)]
pub struct Dominators {
    idom: Vec<u32>,
    /// Preorder number in the tree; `NONE` for unreachable nodes.
    enter: Vec<u32>,
    /// Highest preorder number in the node's subtree.
    leave: Vec<u32>,
    preorder: Vec<u32>,
}

impl Dominators {
    /// Computes the tree; `order` is any order of the reachable nodes with the entry first.
    pub fn new(graph: &impl Graph, order: &Order) -> Self {
        let nodes = graph.num_nodes();
        let mut this = Self {
            idom: vec![NONE; nodes],
            enter: vec![NONE; nodes],
            leave: vec![0; nodes],
            preorder: Vec::with_capacity(order.blocks().len()),
        };
        if order.blocks().is_empty() {
            return this;
        }
        this.lengauer_tarjan(graph);
        this.number(order);
        this
    }

    fn lengauer_tarjan(&mut self, graph: &impl Graph) {
        let nodes = graph.num_nodes();
        // From here on nodes are called by their depth-first number.
        let mut number = vec![NONE; nodes];
        let mut vertex = Vec::with_capacity(nodes);
        let mut parent = Vec::with_capacity(nodes);
        let mut stack = vec![(graph.entry(), 0u32)];
        while let Some((node, from)) = stack.pop() {
            if number[node as usize] != NONE {
                continue;
            }
            let n = vertex.len() as u32;
            number[node as usize] = n;
            vertex.push(node);
            parent.push(from);
            stack.extend(graph.succs(node).iter().rev().map(|&s| (s, n)));
        }
        let count = vertex.len();
        // One allocation for all tables: most functions are small.
        let mut tables = vec![NONE; count * 6];
        let (semi, rest) = tables.split_at_mut(count);
        let (label, rest) = rest.split_at_mut(count);
        let (ancestor, rest) = rest.split_at_mut(count);
        let (idom, rest) = rest.split_at_mut(count);
        // Bucket of w: nodes whose semidominator is w, as linked lists.
        let (bucket_head, bucket_next) = rest.split_at_mut(count);
        semi.iter_mut().zip(0..).for_each(|(semi, n)| *semi = n);
        label.copy_from_slice(semi);
        let mut path = Vec::new();
        for w in (1..count as u32).rev() {
            for &pred in graph.preds(vertex[w as usize]) {
                let v = number[pred as usize];
                if v == NONE {
                    continue;
                }
                let u = eval(v, ancestor, label, semi, &mut path);
                semi[w as usize] = semi[w as usize].min(semi[u as usize]);
            }
            let s = semi[w as usize] as usize;
            bucket_next[w as usize] = bucket_head[s];
            bucket_head[s] = w;
            let p = parent[w as usize];
            ancestor[w as usize] = p;
            let mut v = std::mem::replace(&mut bucket_head[p as usize], NONE);
            while v != NONE {
                let u = eval(v, ancestor, label, semi, &mut path);
                idom[v as usize] = if semi[u as usize] < semi[v as usize] { u } else { p };
                v = bucket_next[v as usize];
            }
        }
        for w in 1..count {
            if idom[w] != semi[w] {
                idom[w] = idom[idom[w] as usize];
            }
            self.idom[vertex[w] as usize] = vertex[idom[w] as usize];
        }
    }

    /// Preorder intervals; children in the given order.
    fn number(&mut self, order: &Order) {
        let nodes = self.idom.len();
        let mut lists = vec![NONE; nodes * 2];
        let (first, next) = lists.split_at_mut(nodes);
        for &node in order.blocks().iter().rev() {
            let parent = self.idom[node as usize];
            if parent != NONE {
                next[node as usize] = first[parent as usize];
                first[parent as usize] = node;
            }
        }
        let root = order.blocks()[0];
        let mut stack = vec![root];
        while let Some(&node) = stack.last() {
            if self.enter[node as usize] == NONE {
                self.enter[node as usize] = self.preorder.len() as u32;
                self.preorder.push(node);
            }
            let child = std::mem::replace(&mut first[node as usize], NONE);
            if child == NONE {
                self.leave[node as usize] = self.preorder.len() as u32 - 1;
                stack.pop();
            } else {
                first[node as usize] = next[child as usize];
                stack.push(child);
            }
        }
    }

    /// Immediate dominator; `None` for the root and for unreachable nodes.
    pub fn idom(&self, node: u32) -> Option<u32> {
        self.idom.get(node as usize).copied().filter(|&d| d != NONE)
    }

    /// Whether every path from the root to `b` goes through `a`; a node dominates itself. False if either is unreachable.
    pub fn dominates(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        self.enter[a] != NONE
            && self.enter[b] != NONE
            && self.enter[a] <= self.enter[b]
            && self.enter[b] <= self.leave[a]
    }

    /// Number of nodes that `node` dominates, itself included; 0 where it is unreachable.
    pub fn subtree_len(&self, node: u32) -> u32 {
        let n = node as usize;
        if self.enter[n] == NONE { 0 } else { self.leave[n] - self.enter[n] + 1 }
    }

    /// Preorder numbers of the first and the last node of `node`'s subtree; the first is its own.
    pub fn preorder_range(&self, node: u32) -> Option<(u32, u32)> {
        let n = node as usize;
        self.enter.get(n).filter(|&&e| e != NONE).map(|&e| (e, self.leave[n]))
    }

    /// Dominance frontier of every node: the blocks where its dominance ends. Their size, and so the cost, is about the
    /// number of nodes times the nesting depth of loops.
    pub(crate) fn frontiers(&self, graph: &impl Graph) -> Frontiers {
        let nodes = self.idom.len();
        // (block, block of its frontier), and the last one found for each block.
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut last = vec![NONE; nodes];
        for &node in &self.preorder {
            let preds = graph.preds(node);
            // The way in counts for the root.
            if preds.len() + usize::from(node == graph.entry()) < 2 {
                continue;
            }
            for &pred in preds {
                let mut runner = pred;
                while self.enter[runner as usize] != NONE && Some(runner) != self.idom(node) {
                    // What is above has been there already.
                    if std::mem::replace(&mut last[runner as usize], node) == node {
                        break;
                    }
                    pairs.push((runner, node));
                    match self.idom(runner) {
                        Some(up) => runner = up,
                        None => break,
                    }
                }
            }
        }
        let mut start = vec![0u32; nodes + 1];
        pairs.iter().for_each(|pair| start[pair.0 as usize] += 1);
        let mut sum = 0;
        for slot in &mut start {
            sum += *slot;
            *slot = sum;
        }
        let mut blocks = vec![0; pairs.len()];
        for &(block, frontier) in pairs.iter().rev() {
            let slot = &mut start[block as usize];
            *slot -= 1;
            blocks[*slot as usize] = frontier;
        }
        Frontiers { start, blocks }
    }
}

/// The dominance frontiers of all nodes of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Frontiers {
    start: Vec<u32>,
    blocks: Vec<u32>,
}

impl Frontiers {
    /// The frontier of `node`.
    pub fn of(&self, node: u32) -> &[u32] {
        &self.blocks[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }
}

/// The node with the least semidominator on the path from `v` to its tree's root (exclusive), compressing the path.
fn eval(v: u32, ancestor: &mut [u32], label: &mut [u32], semi: &[u32], path: &mut Vec<u32>) -> u32 {
    if ancestor[v as usize] == NONE {
        return v;
    }
    path.clear();
    let mut node = v;
    while ancestor[ancestor[node as usize] as usize] != NONE {
        path.push(node);
        node = ancestor[node as usize];
    }
    // `node` hangs directly below a root; compress from there back to `v`.
    while let Some(below) = path.pop() {
        let up = ancestor[below as usize] as usize;
        if semi[label[up] as usize] < semi[label[below as usize] as usize] {
            label[below as usize] = label[up];
        }
        ancestor[below as usize] = ancestor[up];
    }
    label[v as usize]
}

#[cfg(test)]
mod tests {
    use super::super::Csr;
    use super::super::graph::testing::{graph, random};
    use super::*;

    /// `a` dominates `b` iff `b` cannot be reached without `a`.
    fn dominates_by_definition(g: &Csr, a: u32, b: u32) -> bool {
        let mut seen = vec![false; g.num_nodes()];
        let mut stack = vec![g.entry()];
        while let Some(n) = stack.pop() {
            if n != a && !std::mem::replace(&mut seen[n as usize], true) {
                stack.extend_from_slice(g.succs(n));
            }
        }
        !seen[b as usize]
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let n = 1 + rng.u32(..12);
            let g = random(&mut rng, n);
            let order = Order::reverse_post_order(&g);
            let dom = Dominators::new(&g, &order);
            for a in 0..n {
                for b in 0..n {
                    if order.contains(a) && order.contains(b) {
                        assert_eq!(dom.dominates(a, b), dominates_by_definition(&g, a, b), "{a} {b} {g:?}");
                    } else {
                        assert!(!dom.dominates(a, b));
                    }
                }
            }
        }
    }

    #[test]
    fn post_dominators_of_a_diamond_with_early_exit() {
        let g = graph(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 4)]);
        let r = g.reversed(|n| n == 4);
        let pdom = Dominators::new(&r, &Order::reverse_post_order(&r));
        assert_eq!(pdom.idom(1), Some(3));
        assert_eq!(pdom.idom(2), Some(4));
        assert_eq!(pdom.idom(0), Some(4));
        assert_eq!(pdom.idom(4), Some(5));
    }

    #[test]
    fn frontiers_of_a_loop() {
        let g = graph(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
        let dom = Dominators::new(&g, &Order::reverse_post_order(&g));
        let frontiers = dom.frontiers(&g);
        assert_eq!([0, 1, 2, 3].map(|n| frontiers.of(n).to_vec()), [vec![], vec![1], vec![1], vec![]]);
    }

    #[test]
    fn a_long_chain_of_early_exits_is_quick() {
        let n = 200_000;
        let g = Csr::new(n as usize, 0, |b, sink| {
            if b + 1 < n {
                sink.extend([n - 1, b + 1]);
            }
        });
        let dom = Dominators::new(&g, &Order::reverse_post_order(&g));
        assert_eq!(dom.idom(n - 1), Some(0));
        assert_eq!(dom.subtree_len(0), n);
    }
}
