//! Where lanes meet again that a divergent branch, or leaving a loop at different times, has separated.
//!
//! Two lanes meet in the first block that two disjoint paths from the branch reach. Every outgoing edge gets a label;
//! blocks are taken in loop-contiguous reverse post-order (a heap of positions, so only the region is visited), each
//! handing its label to its successors; a block that is offered two different labels is a join and hands on a label of
//! its own. The walk ends when one block is left. Back edges end in the loop's *sink*: if, when the walk leaves the loop, some
//! lanes have gone to the sink and others out (with another label), the loop has a divergent exit, and the loop as a whole
//! acts as a branch to all its exits, which the caller asks for by [`Joins::of_loop`]. Two labels in the sink make the
//! header a join.
//!
//! Long chains of early exits would make this quadratic, so visits are counted; past the budget, and on irreducible graphs,
//! every block with several predecessors that is reachable from the branch counts as a join, each visited once in all.

use crate::analysis::{Csr, Graph, Loop, Loops, Order};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What follows from one separation of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// Lanes from different ways meet in this block.
    Join(u32),
    /// Lanes leave this loop in different iterations.
    DivergentExit(Loop),
}

pub(super) struct Joins<'a> {
    graph: &'a Csr,
    loops: &'a Loops,
    pub(super) order: &'a Order,
    /// Label and walk number by block.
    label: Vec<(u32, u32)>,
    walk: u32,
    heap: BinaryHeap<Reverse<u32>>,
    budget: u64,
    /// Blocks that the coarse answer has covered.
    coarse: Vec<bool>,
}

/// Labels that came to back edges of loops around the start of a walk: one, and another one where there are several. Most loops have none.
struct Sinks {
    /// The innermost loop around the start.
    start: Option<Loop>,
    labels: FxHashMap<Loop, (u32, Option<u32>)>,
}

impl<'a> Joins<'a> {
    pub(super) fn new(graph: &'a Csr, loops: &'a Loops, order: &'a Order) -> Self {
        let nodes = graph.num_nodes();
        let mut this = Self {
            graph,
            loops,
            order,
            label: vec![(0, 0); nodes],
            walk: 0,
            heap: BinaryHeap::new(),
            budget: 0,
            coarse: vec![false; nodes],
        };
        this.reset();
        this
    }

    /// Takes up the whole budget again.
    pub(super) fn reset(&mut self) {
        let nodes = self.graph.num_nodes() as u64;
        self.budget = if self.loops.is_reducible() { 200_000 + 64 * nodes } else { 0 };
        self.coarse.fill(false);
    }

    /// Whether there is budget left, so that all answers were exact.
    pub(super) fn is_exact(&self) -> bool {
        self.budget > 0
    }

    /// Outcomes of lanes taking different successors of `block`.
    pub(super) fn of_branch(&mut self, block: u32) -> Vec<Outcome> {
        let edges: Vec<(u32, u32)> = self.graph.succs(block).iter().map(|&s| (block, s)).collect();
        self.walk(&edges, self.loops.innermost(block))
    }

    /// Outcomes of lanes leaving `l` through different exits or at different times.
    pub(super) fn of_loop(&mut self, l: Loop) -> Vec<Outcome> {
        let edges = self.loops[l].exits.clone();
        self.walk(&edges, self.loops[l].parent)
    }

    fn walk(&mut self, edges: &[(u32, u32)], mut around: Option<Loop>) -> Vec<Outcome> {
        if self.budget == 0 {
            return self.coarse(edges, around);
        }
        self.walk += 1;
        self.heap.clear();
        let mut out = Vec::new();
        let mut sinks = Sinks { start: around, labels: FxHashMap::default() };
        let nodes = self.graph.num_nodes() as u32;
        for (i, &(from, to)) in edges.iter().enumerate() {
            self.offer(from, to, nodes + i as u32, &mut sinks, &mut out);
        }
        loop {
            let next = self.heap.peek().map(|p| self.order.blocks()[p.0 as usize]);
            while let Some(l) = around {
                if next.is_some_and(|b| self.loops.contains(l, b)) {
                    break;
                }
                if let Some(&(first, second)) = sinks.labels.get(&l) {
                    if second.is_some() {
                        out.push(Outcome::Join(self.loops[l].header));
                    }
                    // Lanes that have left: to blocks ahead, or round an outer loop.
                    let ahead =
                        self.heap.iter().map(|p| self.label[self.order.blocks()[p.0 as usize] as usize].0);
                    let outer = sinks.labels.iter().filter(|s| *s.0 != l && self.loops.encloses(*s.0, l));
                    let outer = outer.flat_map(|(_, &(one, other))| [Some(one), other]).flatten();
                    let mut left = ahead.chain(outer).peekable();
                    let leaves = left.peek().is_some();
                    if leaves && (second.is_some() || left.any(|label| label != first)) {
                        out.push(Outcome::DivergentExit(l));
                    }
                    return out;
                }
                around = self.loops[l].parent;
            }
            if self.heap.len() == 1 && sinks.labels.is_empty() {
                return out;
            }
            let Some(Reverse(position)) = self.heap.pop() else { return out };
            self.budget = self.budget.saturating_sub(1);
            let block = self.order.blocks()[position as usize];
            let label = self.label[block as usize].0;
            for &succ in self.graph.succs(block) {
                self.offer(block, succ, label, &mut sinks, &mut out);
            }
        }
    }

    fn offer(&mut self, from: u32, to: u32, label: u32, sinks: &mut Sinks, out: &mut Vec<Outcome>) {
        if self.loops.is_back_edge(from, to) {
            // Loops that the walk entered by their header are left with one label; their back edges tell nothing.
            if let (Some(l), Some(start)) = (self.loops.innermost(to), sinks.start)
                && self.loops.encloses(l, start)
            {
                let known = sinks.labels.entry(l).or_insert((label, None));
                if known.0 != label {
                    known.1 = Some(label);
                }
            }
            return;
        }
        let slot = &mut self.label[to as usize];
        if slot.1 != self.walk {
            *slot = (label, self.walk);
            if let Some(position) = self.order.position(to) {
                self.heap.push(Reverse(position));
            }
        } else if slot.0 != label && slot.0 != to {
            slot.0 = to;
            out.push(Outcome::Join(to));
        }
    }

    fn coarse(&mut self, edges: &[(u32, u32)], around: Option<Loop>) -> Vec<Outcome> {
        let mut out = Vec::new();
        let mut at = around;
        while let Some(l) = at {
            out.push(Outcome::DivergentExit(l));
            at = self.loops[l].parent;
        }
        let mut stack: Vec<u32> = edges.iter().map(|e| e.1).collect();
        while let Some(block) = stack.pop() {
            if std::mem::replace(&mut self.coarse[block as usize], true) {
                continue;
            }
            if self.graph.preds(block).len() > 1 {
                out.push(Outcome::Join(block));
            }
            stack.extend_from_slice(self.graph.succs(block));
        }
        out
    }
}
