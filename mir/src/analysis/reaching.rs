//! SSA form of a variable with several definitions.
//!
//! Problem: a variable is assigned at the ends of several blocks; every use needs one value, and block parameters where
//! different values meet. Idea: (1) the variable's *region* is the blocks that a value other than the undefined one can come to and from which a use
//! can be reached; elsewhere it is undefined or nobody looks; (2) in the region values can meet only where an undefined one enters it, and in
//! the iterated dominance frontier of such blocks and the definitions; these few blocks and the definitions are the variable's *nodes*, and
//! what reaches any other block is what leaves the nearest node above it in the dominator tree; (3) from the nodes that uses see, find those
//! that can matter, so that no dead parameter is made; (4) over these iterate "the value at my start is the value at the end of all my
//! predecessors, or a parameter of mine where they differ" from an optimistic start. A parameter once made stays, so this ends, in two or
//! three sweeps.
//!
//! Values are any copyable type; `undefined` stands at the entry. Cost: near linear in a variable's region and uses (in a nest of loops the
//! whole frontier of a definition is often all headers); the frontiers once for each graph.
//!
//! Source: R. Cytron et al., "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph",
//! TOPLAS 13(4), 1991, for the place of parameters.

use super::dominators::Frontiers;
use super::{Dominators, Graph, Order};

/// What a use of a variable sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Reaching<V> {
    /// This value of a definition (or the undefined one).
    Value(V),
    /// The parameter that the variable needs at this block.
    Param(u32),
}

/// Solves one variable after another over the same graph.
pub struct ReachingSolver<'a, G> {
    graph: &'a G,
    order: &'a Order,
    dom: &'a Dominators,
    /// Computed for the first variable.
    frontiers: Option<Frontiers>,
    /// Number of the last variable that has the block as a meeting point.
    meets: Vec<u32>,
    /// Number of the last variable that the block defines.
    defines: Vec<u32>,
    /// Number of the last variable that may have a value other than the undefined one at the block's start.
    fresh: Vec<u32>,
    /// Number of the last variable in whose region the block is.
    region: Vec<u32>,
    variable: u32,
}

/// A block where the variable changes.
#[derive(Clone, Debug)]
struct Node<V> {
    block: u32,
    /// Interval in the dominator tree.
    range: (u32, u32),
    /// Next node above in the dominator tree.
    above: Option<usize>,
    /// Value at the end, where the block defines one.
    def: Option<V>,
    /// Whether values may meet at the start.
    meet: bool,
    /// What they make, where a use depends on it.
    start: Option<Reaching<V>>,
}

/// The SSA form of one variable.
#[derive(Clone, Debug)]
pub struct Solution<'a, V> {
    dom: &'a Dominators,
    /// In preorder of the dominator tree.
    nodes: Vec<Node<V>>,
    /// Uses, and blocks that lead into the region, where the variable is undefined. Ascending.
    outside: Vec<u32>,
    undefined: V,
}

/// Where the value at some place comes from.
enum Origin<V> {
    Value(V),
    Start(usize),
}

impl<V: Copy + PartialEq> Solution<'_, V> {
    /// The nearest node that dominates `block`, itself included.
    fn nearest(&self, block: u32) -> Option<usize> {
        let (enter, _) = self.dom.preorder_range(block)?;
        let mut node = self.nodes.partition_point(|n| n.range.0 <= enter).checked_sub(1);
        while let Some(n) = node.filter(|&n| self.nodes[n].range.1 < enter) {
            node = self.nodes[n].above;
        }
        node
    }

    fn origin_at_end(&self, block: u32) -> Origin<V> {
        let node = self.nearest(block).map(|n| (n, &self.nodes[n]));
        match node {
            Some((_, Node { block: at, def: Some(value), .. })) if *at == block => Origin::Value(*value),
            Some((n, node)) if self.in_region(block) => node.def.map_or(Origin::Start(n), Origin::Value),
            _ => Origin::Value(self.undefined),
        }
    }

    fn origin_at_start(&self, block: u32) -> Origin<V> {
        if !self.in_region(block) {
            return Origin::Value(self.undefined);
        }
        match self.nearest(block).filter(|&n| self.nodes[n].block == block && self.nodes[n].meet) {
            Some(n) => Origin::Start(n),
            None => self.dom.idom(block).map_or(Origin::Value(self.undefined), |d| self.origin_at_end(d)),
        }
    }

    fn in_region(&self, block: u32) -> bool {
        self.outside.binary_search(&block).is_err()
    }

    fn reaching(&self, origin: Origin<V>) -> Reaching<V> {
        match origin {
            Origin::Value(value) => Reaching::Value(value),
            Origin::Start(n) => self.nodes[n].start.unwrap_or(Reaching::Value(self.undefined)),
        }
    }

    /// What reaches the start of `block`: one of the uses that the variable was solved for.
    pub fn at_start(&self, block: u32) -> Reaching<V> {
        self.reaching(self.origin_at_start(block))
    }

    /// What leaves the end of `block`: a definition, a use, or a predecessor of a block of [`Self::params`].
    pub fn at_end(&self, block: u32) -> Reaching<V> {
        self.reaching(self.origin_at_end(block))
    }

    /// Blocks that need a parameter, in preorder of the dominator tree.
    pub fn params(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes.iter().filter(|n| n.start == Some(Reaching::Param(n.block))).map(|n| n.block)
    }
}

impl<'a, G: Graph> ReachingSolver<'a, G> {
    /// A solver over `graph`, of which `order` is a reverse post-order and `dom` the dominator tree.
    pub fn new(graph: &'a G, order: &'a Order, dom: &'a Dominators) -> Self {
        Self {
            graph,
            order,
            dom,
            frontiers: None,
            meets: Vec::new(),
            defines: Vec::new(),
            fresh: Vec::new(),
            region: Vec::new(),
            variable: 0,
        }
    }

    /// Solves a variable that has the value of `defs` at the end of each block named there (once) and is used at the start
    /// of `uses` (for a use at the end of a block without definition, name the block too).
    pub fn solve<V: Copy + PartialEq>(
        &mut self,
        defs: impl IntoIterator<Item = (u32, V)>,
        uses: impl IntoIterator<Item = u32>,
        undefined: V,
    ) -> Solution<'a, V> {
        let uses: Vec<u32> = uses.into_iter().collect();
        let (nodes, outside) = self.nodes(defs, &uses, undefined);
        let mut solution = Solution { dom: self.dom, nodes, outside, undefined };
        // Nodes that matter, and what each hears from its predecessors.
        let mut needed = Vec::new();
        let mut is_needed = vec![false; solution.nodes.len()];
        let mut need = |needed: &mut Vec<usize>, n: usize| {
            if !std::mem::replace(&mut is_needed[n], true) {
                needed.push(n);
            }
        };
        for block in uses {
            if let Origin::Start(n) = solution.origin_at_start(block) {
                need(&mut needed, n);
            }
        }
        let mut heard: Vec<(usize, Vec<Origin<V>>)> = Vec::new();
        let mut done = 0;
        while let Some(&n) = needed.get(done) {
            done += 1;
            let block = solution.nodes[n].block;
            let preds = self.graph.preds(block).iter().filter(|&&p| self.order.contains(p));
            let mut origins: Vec<Origin<V>> = preds.map(|&p| solution.origin_at_end(p)).collect();
            if block == self.graph.entry() {
                origins.push(Origin::Value(undefined));
            }
            for origin in &origins {
                if let Origin::Start(from) = *origin {
                    need(&mut needed, from);
                }
            }
            heard.push((n, origins));
        }
        heard.sort_unstable_by_key(|(n, _)| self.order.position(solution.nodes[*n].block));
        loop {
            let mut changed = false;
            for (n, origins) in &heard {
                let Node { block, start: old, .. } = solution.nodes[*n];
                if old == Some(Reaching::Param(block)) {
                    continue;
                }
                let mut new = None;
                for origin in origins {
                    let out = match *origin {
                        Origin::Value(value) => Some(Reaching::Value(value)),
                        Origin::Start(from) => solution.nodes[from].start,
                    };
                    match (new, out) {
                        (Some(a), Some(b)) if a != b => new = Some(Reaching::Param(block)),
                        (None, out) => new = out,
                        _ => {}
                    }
                }
                if new.is_some() && new != old {
                    solution.nodes[*n].start = new;
                    changed = true;
                }
            }
            if !changed {
                return solution;
            }
        }
    }

    /// The definitions and meeting points, in preorder of the dominator tree, and the blocks outside of the region that matter.
    fn nodes<V: Copy + PartialEq>(
        &mut self,
        defs: impl IntoIterator<Item = (u32, V)>,
        uses: &[u32],
        undefined: V,
    ) -> (Vec<Node<V>>, Vec<u32>) {
        self.variable += 1;
        for table in [&mut self.meets, &mut self.defines, &mut self.fresh, &mut self.region] {
            table.resize(self.graph.num_nodes(), 0);
        }
        let dom = self.dom;
        let node = |block: u32, def: Option<V>| {
            let range = dom.preorder_range(block)?;
            Some(Node { block, range, above: None, def, meet: false, start: None })
        };
        let mut nodes: Vec<Node<V>> =
            defs.into_iter().filter_map(|(b, value)| node(b, Some(value))).collect();
        nodes.iter().for_each(|n| self.defines[n.block as usize] = self.variable);
        // What makes the variable undefined ends a region but starts none.
        let mut open: Vec<u32> = nodes.iter().filter(|n| n.def != Some(undefined)).map(|n| n.block).collect();
        let ends: Vec<u32> = nodes.iter().filter(|n| n.def == Some(undefined)).map(|n| n.block).collect();
        self.mark_fresh(&open);
        let (outside, entered) = self.mark_region(uses, &ends);
        for meet in entered {
            self.meets[meet as usize] = self.variable;
            nodes.extend(node(meet, None));
            open.push(meet);
        }
        let frontiers = self.frontiers.get_or_insert_with(|| self.dom.frontiers(self.graph));
        while let Some(block) = open.pop() {
            for &meet in frontiers.of(block) {
                if self.region[meet as usize] == self.variable
                    && std::mem::replace(&mut self.meets[meet as usize], self.variable) != self.variable
                {
                    nodes.extend(node(meet, None));
                    open.push(meet);
                }
            }
        }
        // A definition comes before the meeting point in the same block.
        nodes.sort_by_key(|n| n.range.0);
        nodes.dedup_by_key(|n| n.block);
        let mut open: Vec<usize> = Vec::new();
        for n in 0..nodes.len() {
            while open.last().is_some_and(|&o| nodes[o].range.1 < nodes[n].range.0) {
                open.pop();
            }
            nodes[n].above = open.last().copied();
            nodes[n].meet = self.meets[nodes[n].block as usize] == self.variable;
            open.push(n);
        }
        (nodes, outside)
    }

    /// Marks the blocks to whose start a value of one of `defs` comes.
    fn mark_fresh(&mut self, defs: &[u32]) {
        let mut stack: Vec<u32> = defs.iter().flat_map(|&b| self.graph.succs(b)).copied().collect();
        while let Some(block) = stack.pop() {
            if std::mem::replace(&mut self.fresh[block as usize], self.variable) != self.variable
                && self.defines[block as usize] != self.variable
            {
                stack.extend_from_slice(self.graph.succs(block));
            }
        }
    }

    /// Marks the region. Uses and predecessors outside of it, ascending, and its blocks to which the undefined value comes from there or from
    /// `ends`, the definitions that make the variable undefined.
    fn mark_region(&mut self, uses: &[u32], ends: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let (mut outside, mut entered) = (Vec::new(), Vec::new());
        let mut stack: Vec<u32> = uses.to_vec();
        while let Some(block) = stack.pop() {
            if self.fresh[block as usize] != self.variable {
                outside.push(block);
                continue;
            }
            if std::mem::replace(&mut self.region[block as usize], self.variable) == self.variable {
                continue;
            }
            let mut is_entered = block == self.graph.entry();
            for &pred in self.graph.preds(block).iter().filter(|&&p| self.order.contains(p)) {
                if self.defines[pred as usize] == self.variable {
                    is_entered |= ends.contains(&pred);
                } else {
                    is_entered |= self.fresh[pred as usize] != self.variable;
                    stack.push(pred);
                }
            }
            if is_entered {
                entered.push(block);
            }
        }
        outside.sort_unstable();
        outside.dedup();
        (outside, entered)
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::testing::{graph, random};
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn loop_carried_and_straight() {
        // 0 → 1 ⇄ 2, 1 → 3; defined in 0 and 2, used in 3 and 2.
        let g = graph(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
        let order = Order::reverse_post_order(&g);
        let dom = Dominators::new(&g, &order);
        let defs = [(0, 'a'), (2, 'b')];
        let at = ReachingSolver::new(&g, &order, &dom).solve(defs, [3, 2], '?');
        assert_eq!(at.at_start(3), Reaching::Param(1));
        assert_eq!(at.at_start(1), Reaching::Param(1));
        let at = ReachingSolver::new(&g, &order, &dom).solve([(0, 'a')], [3, 2], '?');
        assert!(at.params().next().is_none());
        assert!([1, 2, 3].iter().all(|&b| at.at_start(b) == Reaching::Value('a')));
        let at = ReachingSolver::new(&g, &order, &dom).solve([(2, 'b')], [3], '?');
        assert_eq!(at.at_start(3), Reaching::Param(1));
        assert_eq!(at.at_start(0), Reaching::Value('?'));
    }

    /// Follows random paths, carrying the variable both as memory and by the solution's parameters.
    #[test]
    fn agrees_with_execution() {
        let mut rng = fastrand::Rng::with_seed(11);
        for _ in 0..2000 {
            let n = 2 + rng.u32(..10);
            let g = random(&mut rng, n);
            let order = Order::reverse_post_order(&g);
            let dom = Dominators::new(&g, &order);
            let defs: BTreeMap<u32, u32> = (0..n).filter(|_| rng.u32(..3) == 0).map(|b| (b, b + 1)).collect();
            let uses: Vec<u32> = (0..n).filter(|_| rng.u32(..3) == 0).collect();
            let at = ReachingSolver::new(&g, &order, &dom).solve(defs.clone(), uses.iter().copied(), 0);
            let (mut block, mut memory) = (0, 0);
            let mut params = vec![0; n as usize];
            for _ in 0..40 {
                let read = |params: &[u32], r: Reaching<u32>| match r {
                    Reaching::Value(v) => v,
                    Reaching::Param(b) => params[b as usize],
                };
                if uses.contains(&block) {
                    assert_eq!(read(&params, at.at_start(block)), memory, "{g:?} {defs:?} {block}");
                }
                memory = defs.get(&block).copied().unwrap_or(memory);
                let succs = g.succs(block);
                if succs.is_empty() {
                    break;
                }
                let next = succs[rng.u32(..succs.len() as u32) as usize];
                if at.params().any(|p| p == next) {
                    params[next as usize] = read(&params, at.at_end(block));
                }
                block = next;
            }
        }
    }
}
