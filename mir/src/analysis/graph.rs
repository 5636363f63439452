//! Graphs of blocks: the trait that analyses read and a compact copy of a function's graph.
//!
//! Invariant of [`Csr`]: an edge occurs as often as in the function (a branch with both targets equal gives two), and
//! successor order is branch order. Cost: one pass over the edges.

use crate::{ir, machine};
use cranelift_entity::EntityRef;

/// A flow graph with dense `u32` nodes.
pub trait Graph {
    /// Number of nodes; node numbers are below it. Not every node need be reachable.
    fn num_nodes(&self) -> usize;
    /// Where control enters.
    fn entry(&self) -> u32;
    /// Successors of `node` in branch order.
    fn succs(&self, node: u32) -> &[u32];
    /// Predecessors of `node`, in ascending order of their numbers.
    fn preds(&self, node: u32) -> &[u32];
}

/// A graph in compressed rows.
#[derive(Clone, Debug, Default)]
pub struct Csr {
    entry: u32,
    succ_start: Vec<u32>,
    succs: Vec<u32>,
    pred_start: Vec<u32>,
    preds: Vec<u32>,
}

impl Csr {
    /// The graph with `nodes` nodes whose successors `for_each_edge(node, sink)` lists; nodes are asked in order.
    pub fn new(nodes: usize, entry: u32, mut for_each_edge: impl FnMut(u32, &mut Vec<u32>)) -> Self {
        let mut succ_start = Vec::with_capacity(nodes + 1);
        let mut succs = Vec::with_capacity(nodes * 2);
        succ_start.push(0);
        for node in 0..nodes as u32 {
            for_each_edge(node, &mut succs);
            succ_start.push(succs.len() as u32);
        }
        let (pred_start, preds) = transpose(nodes, &succ_start, &succs);
        Self { entry, succ_start, succs, pred_start, preds }
    }

    /// The control-flow graph of an IR function; nodes are [`ir::Block`] numbers. Blocks outside the layout have no edges.
    pub fn of_ir(f: &ir::Function) -> Self {
        let mut placed = vec![false; f.blocks.len()];
        f.layout.iter().for_each(|b| placed[b.index()] = true);
        let entry = f.layout.first().map_or(0, |b| b.as_u32());
        Self::new(f.blocks.len(), entry, |node, sink| {
            if placed[node as usize] {
                sink.extend(f.successors(ir::Block::from_u32(node)).map(|b| b.as_u32()));
            }
        })
    }

    /// The thread graph of a machine function; nodes are [`machine::Block`] numbers.
    pub fn thread(f: &machine::Function) -> Self {
        Self::of_machine(f, |data| &data.thread_succs)
    }

    /// The wave graph of a machine function; nodes are [`machine::Block`] numbers.
    pub fn wave(f: &machine::Function) -> Self {
        Self::of_machine(f, |data| &data.wave_succs)
    }

    fn of_machine(f: &machine::Function, edges: impl Fn(&machine::BlockData) -> &[machine::Edge]) -> Self {
        let mut placed = vec![false; f.blocks.len()];
        f.layout.iter().for_each(|b| placed[b.index()] = true);
        let entry = f.layout.first().map_or(0, |b| b.as_u32());
        Self::new(f.blocks.len(), entry, |node, sink| {
            if placed[node as usize] {
                let data = &f.blocks[machine::Block::from_u32(node)];
                sink.extend(edges(data).iter().map(|edge| edge.block.as_u32()));
            }
        })
    }

    /// The reversed graph with one new node, the highest, as its entry: it leads to every node that `is_exit` names and to
    /// one node of each part from which no exit can be reached, so that every node is reachable from it.
    ///
    /// [`Dominators`](super::Dominators) of the result are the post-dominators of `self`.
    pub fn reversed(&self, mut is_exit: impl FnMut(u32) -> bool) -> Self {
        let nodes = self.num_nodes();
        let root = nodes as u32;
        let mut from_root: Vec<u32> = (0..root).filter(|&n| is_exit(n)).collect();
        let mut covered = vec![false; nodes];
        let cover = |covered: &mut Vec<bool>, mut stack: Vec<u32>| {
            while let Some(node) = stack.pop() {
                if !std::mem::replace(&mut covered[node as usize], true) {
                    stack.extend_from_slice(self.preds(node));
                }
            }
        };
        cover(&mut covered, from_root.clone());
        if covered.contains(&false) {
            // Of a part that never ends, the last node in reverse post-order stands for its end.
            let rpo = super::Order::reverse_post_order(self);
            let rest = rpo.blocks().iter().rev().copied().chain((0..root).filter(|&n| !rpo.contains(n)));
            for node in rest {
                if !covered[node as usize] {
                    from_root.push(node);
                    cover(&mut covered, vec![node]);
                }
            }
        }
        Self::new(nodes + 1, root, |node, sink| {
            sink.extend_from_slice(if node == root { &from_root } else { self.preds(node) });
        })
    }
}

fn transpose(nodes: usize, start: &[u32], targets: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut pred_start = vec![0u32; nodes + 1];
    for &target in targets {
        pred_start[target as usize] += 1;
    }
    let mut sum = 0;
    for slot in &mut pred_start {
        sum += *slot;
        *slot = sum;
    }
    // From the last edge to the first, so that the end of each row moves down to its start.
    let mut preds = vec![0; targets.len()];
    for node in (0..nodes).rev() {
        for &target in &targets[start[node] as usize..start[node + 1] as usize] {
            let slot = &mut pred_start[target as usize];
            *slot -= 1;
            preds[*slot as usize] = node as u32;
        }
    }
    (pred_start, preds)
}

impl Graph for Csr {
    fn num_nodes(&self) -> usize {
        self.succ_start.len().saturating_sub(1)
    }

    fn entry(&self) -> u32 {
        self.entry
    }

    fn succs(&self, node: u32) -> &[u32] {
        &self.succs[self.succ_start[node as usize] as usize..self.succ_start[node as usize + 1] as usize]
    }

    fn preds(&self, node: u32) -> &[u32] {
        &self.preds[self.pred_start[node as usize] as usize..self.pred_start[node as usize + 1] as usize]
    }
}

/// Graphs for tests: from a list of edges, and random ones.
#[cfg(test)]
pub(super) mod testing {
    use super::Csr;

    pub fn graph(nodes: usize, edges: &[(u32, u32)]) -> Csr {
        Csr::new(nodes, 0, |n, sink| sink.extend(edges.iter().filter(|e| e.0 == n).map(|e| e.1)))
    }

    /// Any shape, irreducible ones and unreachable nodes included.
    pub fn random(rng: &mut fastrand::Rng, nodes: u32) -> Csr {
        let edges: Vec<Vec<u32>> =
            (0..nodes).map(|_| (0..rng.u32(..3)).map(|_| rng.u32(..nodes)).collect()).collect();
        Csr::new(nodes as usize, 0, |n, sink| sink.extend_from_slice(&edges[n as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_order_and_duplicates() {
        let g = testing::graph(4, &[(0, 2), (0, 1), (1, 3), (2, 3), (3, 1), (3, 1)]);
        assert_eq!(g.succs(0), [2, 1]);
        assert_eq!(g.preds(1), [0, 3, 3]);
        assert_eq!(g.preds(0), [0u32; 0]);
    }

    #[test]
    fn reversed_graph_reaches_everything() {
        // 1 leaves; 2 and 3 loop for ever.
        let g = testing::graph(4, &[(0, 1), (0, 2), (2, 3), (3, 2)]);
        let r = g.reversed(|n| g.succs(n).is_empty());
        assert_eq!(r.entry(), 4);
        assert_eq!(r.succs(4), [1, 3]);
        assert_eq!(r.succs(2), [0, 3]);
    }
}
