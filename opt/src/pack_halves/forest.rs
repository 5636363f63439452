//! Trees of a block that share operations, weighed together.
//!
//! What several accumulators are multiplied with is computed once, but for each of their trees alone it is an operation more: the scalar form stays for
//! the others. So trees that meet are one forest, and where that pays as a whole all of them are packed. Where it does not, each is weighed alone.
//!
//! Cost: linear in the pairs of the trees, but for a logarithm.

use super::*;
use mir::analysis::Classes;

/// The trees of a block, in sets that share pairs.
#[derive(Default)]
struct Forests {
    /// The top of each tree, and who reads it.
    tops: Vec<(Pair, Reader)>,
    /// Which of them share pairs.
    sets: Classes,
}

impl Packer {
    /// Notes the tops of trees of a block of `insts` that pay together.
    pub(super) fn weigh_forests(
        &mut self,
        func: &Function,
        insts: &[Inst],
        tops: &FxHashMap<Inst, Inst>,
        inside: &FxHashSet<Inst>,
    ) {
        self.together.clear();
        let mut forests = Forests::default();
        let mut seen: FxHashSet<Pair> = FxHashSet::default();
        let mut owners: FxHashMap<Pair, u32> = FxHashMap::default();
        let mut nodes: Vec<Vec<(Pair, Node)>> = Vec::new();
        for &inst in insts {
            let neighbours = || Some((neighbours(func, inst, *tops.get(&inst)?)?, Reader::Halves));
            let dword = || Some((root(func, inst)?, Reader::Dword));
            let Some((top, reader)) = neighbours().or_else(dword) else { continue };
            if !matches!(self.node(func, top, inside), Node::Packed(..)) || !seen.insert(top) {
                continue;
            }
            mir::interrupt::checkpoint();
            forests.tops.push((top, reader));
            let tree = forests.sets.add();
            let mut met: Vec<u32> = Vec::new();
            let own = self.walk(func, top, inside, |pair| {
                let owner = owners.get(&pair);
                met.extend(owner);
                owner.is_some()
            });
            // Leaves that are dwords anyway are nobody's.
            owners.extend(
                own.iter()
                    .filter(|(_, node)| matches!(node, Node::Packed(..) | Node::Built))
                    .map(|(pair, _)| (*pair, tree)),
            );
            nodes.push(own);
            for other in met {
                forests.sets.join(tree, other);
            }
        }
        self.take_what_pays(func, forests, nodes);
    }

    /// Notes the tops of the sets of trees that pay.
    fn take_what_pays(&mut self, func: &Function, mut forests: Forests, nodes: Vec<Vec<(Pair, Node)>>) {
        type Forest = (Vec<(Pair, Reader)>, Vec<(Pair, Node)>);
        let mut sets: Vec<Forest> = forests.tops.iter().map(|_| Forest::default()).collect();
        for ((top, own), tree) in forests.tops.into_iter().zip(nodes).zip(0..) {
            let (tops, all) = &mut sets[forests.sets.leader(tree) as usize];
            tops.push(top);
            all.extend(own);
        }
        for (tops, all) in sets {
            if tops.len() < 2 {
                continue;
            }
            let pairs: Vec<Pair> = tops.iter().map(|(pair, _)| *pair).collect();
            let order = users_first(all, &pairs);
            if self.gain(func, &order, &tops) > 0 {
                self.together.extend(pairs);
            }
        }
    }
}
