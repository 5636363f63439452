//! SSA form of a variable with several definitions.
//!
//! Problem: a variable is assigned at the ends of several blocks; every use at the start of a block needs one value, and
//! block parameters where different values meet. Idea: (1) walk backwards from the uses to the definitions, which gives
//! the blocks where the variable is live, so that no dead parameter is made; (2) over these, iterate "the value at my start
//! is the value at the end of all my predecessors, or a parameter of mine where they differ" from an optimistic start, in
//! the order given. A parameter once made stays, so this ends, in two or three sweeps on reducible graphs.
//!
//! Values are any copyable type; `undefined` stands at the entry. Cost: linear in the variable's live range.

use super::{Graph, Order};
use std::collections::BTreeMap;

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
    live: BTreeMap<u32, u32>,
}

impl<'a, G: Graph> ReachingSolver<'a, G> {
    /// A solver over `graph`; `order` is a reverse post-order of it.
    pub fn new(graph: &'a G, order: &'a Order) -> Self {
        Self { graph, order, live: BTreeMap::new() }
    }

    /// Solves a variable that has value `defs[b]` at the end of block `b` and is used at the start of `uses` (for a use at
    /// the end of a block without definition, name the block too).
    ///
    /// Returns what reaches the start of every block where the variable is live; the predecessors of a block whose answer
    /// is its own `Param` have their answer too, unless they define it or are unreachable.
    pub fn solve<V: Copy + PartialEq>(
        &mut self,
        defs: &BTreeMap<u32, V>,
        uses: impl IntoIterator<Item = u32>,
        undefined: V,
    ) -> BTreeMap<u32, Reaching<V>> {
        self.live.clear();
        let mut stack: Vec<u32> = uses.into_iter().collect();
        while let Some(block) = stack.pop() {
            let Some(position) = self.order.position(block) else { continue };
            if self.live.insert(position, block).is_none() {
                stack.extend(self.graph.preds(block).iter().copied().filter(|p| !defs.contains_key(p)));
            }
        }
        let entry = self.graph.entry();
        let mut at_start: BTreeMap<u32, Reaching<V>> = BTreeMap::new();
        loop {
            let mut changed = false;
            for &block in self.live.values() {
                let old = at_start.get(&block).copied();
                if old == Some(Reaching::Param(block)) {
                    continue;
                }
                let mut new = (block == entry).then_some(Reaching::Value(undefined));
                for &pred in self.graph.preds(block) {
                    if !self.order.contains(pred) {
                        continue;
                    }
                    let out =
                        defs.get(&pred).map(|&v| Reaching::Value(v)).or_else(|| at_start.get(&pred).copied());
                    match (new, out) {
                        (Some(a), Some(b)) if a != b => new = Some(Reaching::Param(block)),
                        (None, out) => new = out,
                        _ => {}
                    }
                }
                if let Some(new) = new.filter(|&n| Some(n) != old) {
                    at_start.insert(block, new);
                    changed = true;
                }
            }
            if !changed {
                return at_start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::testing::{Random, graph, random};
    use super::*;

    #[test]
    fn loop_carried_and_straight() {
        // 0 → 1 ⇄ 2, 1 → 3; defined in 0 and 2, used in 3 and 2.
        let g = graph(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
        let order = Order::reverse_post_order(&g);
        let defs = BTreeMap::from([(0, 'a'), (2, 'b')]);
        let at = ReachingSolver::new(&g, &order).solve(&defs, [3, 2], '?');
        assert_eq!(at[&3], Reaching::Param(1));
        assert_eq!(at[&1], Reaching::Param(1));
        let at = ReachingSolver::new(&g, &order).solve(&BTreeMap::from([(0, 'a')]), [3, 2], '?');
        assert!(at.values().all(|v| *v == Reaching::Value('a')));
        let at = ReachingSolver::new(&g, &order).solve(&BTreeMap::from([(2, 'b')]), [3], '?');
        assert_eq!(at[&3], Reaching::Param(1));
        assert_eq!(at[&0], Reaching::Value('?'));
    }

    /// Follows random paths, carrying the variable both as memory and by the solution's parameters.
    #[test]
    fn agrees_with_execution() {
        let mut rng = Random(11);
        for _ in 0..2000 {
            let n = 2 + rng.below(10);
            let g = random(&mut rng, n);
            let order = Order::reverse_post_order(&g);
            let defs: BTreeMap<u32, u32> = (0..n).filter(|_| rng.below(3) == 0).map(|b| (b, b + 1)).collect();
            let uses: Vec<u32> = (0..n).filter(|_| rng.below(3) == 0).collect();
            let at = ReachingSolver::new(&g, &order).solve(&defs, uses.iter().copied(), 0);
            let (mut block, mut memory) = (0, 0);
            let mut params = vec![0; n as usize];
            for _ in 0..40 {
                let read = |params: &[u32], r: Reaching<u32>| match r {
                    Reaching::Value(v) => v,
                    Reaching::Param(b) => params[b as usize],
                };
                if uses.contains(&block) {
                    assert_eq!(read(&params, at[&block]), memory, "{g:?} {defs:?} {block}");
                }
                memory = defs.get(&block).copied().unwrap_or(memory);
                let succs = g.succs(block);
                if succs.is_empty() {
                    break;
                }
                let next = succs[rng.below(succs.len() as u32) as usize];
                if at.get(&next) == Some(&Reaching::Param(next)) {
                    params[next as usize] =
                        defs.get(&block).copied().unwrap_or_else(|| read(&params, at[&block]));
                }
                block = next;
            }
        }
    }
}
