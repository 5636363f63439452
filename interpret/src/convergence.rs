//! Which lanes run together.
//!
//! Each lane follows the control-flow graph for itself, but operations between lanes (a ballot, a barrier) need to know who takes part. By LLVM's
//! "Convergence and Uniformity" lanes execute a block together, as one *dynamic instance*, where they agree on how often they have come round
//! each loop around it. That is maximal convergence: lanes that part meet again as early as the graph allows.
//!
//! Idea: every edge but those back to a loop's header leads forward in an order of the blocks in which loops are contiguous. So a lane's
//! place in its own execution is a list: for each loop around its block, outermost first, the loop's place in the order and the number of rounds, at the end the
//! block's place. Each step makes that list larger in lexicographic order, and lanes are in the same dynamic instance exactly if their lists are equal.
//! Running those that are *furthest behind* therefore merges whatever can meet: nobody who is ahead can ever be reached but by waiting for the others.
//!
//! Loops are natural loops where the graph is reducible. Otherwise a cycle is a strongly connected component, its header the first of its
//! blocks in reverse post-order, and what is inside is found in the same way once the edges to the header are left out. A lane that enters such a cycle
//! beside its header is in round 0 there like those that come through the header.
//!
//! Cost: linear for reducible graphs, else edges times depth of cycles; a step takes time in the depth of loops and in the number of groups of lanes.

use mir::analysis::{Dominators, Graph, Loops, Order};
use smallvec::SmallVec;

/// No loop.
const NONE: u32 = u32::MAX;

/// A loop, or a cycle of an irreducible graph.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    header: u32,
    /// The cycle around it, or [`NONE`].
    parent: u32,
    depth: u32,
    /// Place in the order of its first block.
    start: u32,
}

/// Loops of a graph and an order of its blocks; what [`Position`]s are made from.
#[derive(Clone, Debug, Default)]
pub struct Convergence {
    cycles: Vec<Cycle>,
    /// Innermost cycle of each block, or [`NONE`].
    innermost: Vec<u32>,
    /// Place of each block in the order; [`NONE`] where it is unreachable.
    rank: Vec<u32>,
    entry: u32,
}

/// Where a lane is in its execution: a block, and the rounds of the loops around it. Smaller is further behind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// Place and round of each loop, then the block's place.
    key: SmallVec<[u64; 7]>,
    block: u32,
}

impl Position {
    /// The block.
    #[inline]
    pub fn block(&self) -> u32 {
        self.block
    }

    /// Rounds of the loops around the block, outermost first; 0 in the first.
    #[cfg(test)]
    pub fn rounds(&self) -> impl Iterator<Item = u64> + '_ {
        self.key.iter().skip(1).step_by(2).copied()
    }
}

impl Convergence {
    /// Prepares `graph`.
    pub fn new(graph: &impl Graph) -> Self {
        let rpo = Order::reverse_post_order(graph);
        let loops = Loops::new(graph, &rpo, &Dominators::new(graph, &rpo));
        if loops.is_reducible() {
            Self::of_loops(graph, &rpo.loops_contiguous(&loops), &loops)
        } else {
            Self::of_components(graph, &rpo)
        }
    }

    fn empty(graph: &impl Graph) -> Self {
        let nodes = graph.num_nodes();
        Self {
            cycles: Vec::new(),
            innermost: vec![NONE; nodes],
            rank: vec![NONE; nodes],
            entry: graph.entry(),
        }
    }

    fn of_loops(graph: &impl Graph, order: &Order, loops: &Loops) -> Self {
        let mut this = Self::empty(graph);
        for l in loops.iter() {
            let data = &loops[l];
            let start = order.position(data.header).unwrap_or(0);
            let parent = data.parent.map_or(NONE, |p| p.index() as u32);
            this.cycles.push(Cycle { header: data.header, parent, depth: data.depth, start });
        }
        for (rank, &block) in order.blocks().iter().enumerate() {
            this.rank[block as usize] = rank as u32;
            this.innermost[block as usize] = loops.innermost(block).map_or(NONE, |l| l.index() as u32);
        }
        this
    }

    /// Cycles by strongly connected components, from the outside in; components come out in the order in which control may reach them.
    fn of_components(graph: &impl Graph, rpo: &Order) -> Self {
        enum Item {
            Block(u32),
            Region(Vec<u32>),
        }
        let mut this = Self::empty(graph);
        let mut finder = Components::new(graph.num_nodes());
        let mut next_rank = 0;
        let mut work = vec![(Item::Region(rpo.blocks().to_vec()), NONE)];
        while let Some((item, cycle)) = work.pop() {
            let mut nodes = match item {
                Item::Block(block) => {
                    this.rank[block as usize] = next_rank;
                    this.innermost[block as usize] = cycle;
                    next_rank += 1;
                    continue;
                }
                Item::Region(nodes) => nodes,
            };
            let header = this.cycles.get_mut(cycle as usize).map(|c| {
                c.start = next_rank;
                c.header
            });
            nodes.sort_unstable_by_key(|&n| rpo.position(n));
            // Components are found last first, which is how the stack wants them.
            for component in finder.find(graph, &nodes, header) {
                let first = component.iter().copied().min_by_key(|&n| rpo.position(n)).unwrap_or(0);
                if component.len() == 1 && (Some(first) == header || !graph.succs(first).contains(&first)) {
                    work.push((Item::Block(first), cycle));
                    continue;
                }
                let depth = this.cycles.get(cycle as usize).map_or(1, |c| c.depth + 1);
                this.cycles.push(Cycle { header: first, parent: cycle, depth, start: 0 });
                work.push((Item::Region(component), this.cycles.len() as u32 - 1));
            }
            // What was pushed last is the component found last, the first in the order: it is popped first.
        }
        this
    }

    /// Where lanes start.
    pub fn start(&self) -> Position {
        let mut key = SmallVec::new();
        self.enter(&mut key, self.entry);
        Position { key, block: self.entry }
    }

    /// Where a lane at `from` is after it has taken an edge to `to`.
    pub fn advance(&self, from: &Position, to: u32) -> Position {
        let (mut a, mut b) = (self.innermost[from.block as usize], self.innermost[to as usize]);
        while a != b {
            let (depth_a, depth_b) = (self.depth(a), self.depth(b));
            if depth_a >= depth_b {
                a = self.cycles[a as usize].parent;
            }
            if depth_b >= depth_a {
                b = self.cycles[b as usize].parent;
            }
        }
        let mut key: SmallVec<[u64; 7]> = from.key.iter().take(2 * self.depth(a) as usize).copied().collect();
        if a != NONE
            && self.cycles[a as usize].header == to
            && let Some(round) = key.last_mut()
        {
            *round += 1;
        }
        self.enter(&mut key, to);
        Position { key, block: to }
    }

    fn depth(&self, cycle: u32) -> u32 {
        self.cycles.get(cycle as usize).map_or(0, |c| c.depth)
    }

    /// Completes a key that knows the outer loops around `block`.
    fn enter(&self, key: &mut SmallVec<[u64; 7]>, block: u32) {
        let known = key.len();
        let mut cycle = self.innermost[block as usize];
        key.resize(2 * self.depth(cycle) as usize, 0);
        while self.depth(cycle) as usize * 2 > known {
            let data = &self.cycles[cycle as usize];
            key[2 * (data.depth as usize - 1)] = u64::from(data.start);
            cycle = data.parent;
        }
        key.push(u64::from(self.rank[block as usize]));
    }
}

/// Finds strongly connected components (Tarjan), in subgraphs one after the other.
struct Components {
    /// Number of the search in which a node takes part.
    search: Vec<u32>,
    searches: u32,
    /// Order of discovery, 0 before; [`NONE`] once the component is known.
    index: Vec<u32>,
    low: Vec<u32>,
}

impl Components {
    fn new(nodes: usize) -> Self {
        Self { search: vec![0; nodes], searches: 0, index: vec![0; nodes], low: vec![0; nodes] }
    }

    /// The components of the subgraph of `nodes` without the edges to `cut`; one that control reaches later comes earlier.
    fn find(&mut self, graph: &impl Graph, nodes: &[u32], cut: Option<u32>) -> Vec<Vec<u32>> {
        self.searches += 1;
        for &node in nodes {
            self.search[node as usize] = self.searches;
            self.index[node as usize] = 0;
        }
        let (mut found, mut open, mut next) = (Vec::new(), Vec::new(), 1);
        let mut path: Vec<(u32, usize)> = Vec::new();
        for &root in nodes {
            if self.index[root as usize] != 0 {
                continue;
            }
            self.discover(root, &mut next, &mut open, &mut path);
            while let Some((node, done)) = path.last_mut() {
                let n = *node as usize;
                let Some(&succ) = graph.succs(*node).get(*done) else {
                    path.pop();
                    if let Some(&(parent, _)) = path.last() {
                        self.low[parent as usize] = self.low[parent as usize].min(self.low[n]);
                    }
                    if self.low[n] == self.index[n] {
                        let start = open.iter().rposition(|&o| o as usize == n).unwrap_or(0);
                        let component: Vec<u32> = open.drain(start..).collect();
                        component.iter().for_each(|&c| self.index[c as usize] = NONE);
                        found.push(component);
                    }
                    continue;
                };
                *done += 1;
                let s = succ as usize;
                if self.search[s] != self.searches || Some(succ) == cut {
                    continue;
                }
                match self.index[s] {
                    0 => self.discover(succ, &mut next, &mut open, &mut path),
                    NONE => {}
                    index => self.low[n] = self.low[n].min(index),
                }
            }
        }
        found
    }

    fn discover(&mut self, node: u32, next: &mut u32, open: &mut Vec<u32>, path: &mut Vec<(u32, usize)>) {
        self.index[node as usize] = *next;
        self.low[node as usize] = *next;
        *next += 1;
        open.push(node);
        path.push((node, 0));
    }
}

/// Lanes that still run, by position.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Furthest behind last; no two positions are equal.
    groups: Vec<(Position, u64)>,
}

impl Schedule {
    /// Nobody runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The lanes of `mask` get to `position`, where they join those that are there.
    pub fn arrive(&mut self, position: Position, mask: u64) {
        if mask == 0 {
            return;
        }
        match self.groups.binary_search_by(|(other, _)| position.cmp(other)) {
            Ok(i) => self.groups[i].1 |= mask,
            Err(i) => self.groups.insert(i, (position, mask)),
        }
    }

    /// Takes the lanes that are furthest behind; `None` once all are gone.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "what comes next changes with who arrives")]
    pub fn next(&mut self) -> Option<(Position, u64)> {
        self.groups.pop()
    }

    /// Removes lanes wherever they are.
    pub fn remove(&mut self, lanes: u64) {
        self.groups.iter_mut().for_each(|(_, mask)| *mask &= !lanes);
        self.groups.retain(|(_, mask)| *mask != 0);
    }
}

#[cfg(test)]
mod tests;
