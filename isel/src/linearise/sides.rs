//! Which side of a divergent branch the wave visits first.
//!
//! The smaller, so that lanes wait for a short time only; but where both sides store, the smaller last if it stores several times and loads nothing.
//! Nobody waits for stores, except that what comes behind a burst of them in the same caches does: the instructions of the other side.

use mir::analysis::{Csr, Dominators, Graph};
use mir::isa::{OpFlags, Unit};
use mir::machine::{Block, Function, Terminator};

/// The order of sides.
pub(super) struct Sides<'a> {
    f: &'a Function,
    graph: &'a Csr,
    dom: &'a Dominators,
    /// Loads and stores of vector memory in the blocks of smaller preorder numbers of dominance.
    accesses: Vec<Accesses>,
}

#[derive(Clone, Copy, Default)]
struct Accesses {
    loads: u32,
    stores: u32,
}

impl<'a> Sides<'a> {
    pub(super) fn new(f: &'a Function, graph: &'a Csr, dom: &'a Dominators) -> Self {
        let mut accesses = vec![Accesses::default(); graph.num_nodes() + 1];
        for &block in &f.layout {
            if let Some((at, _)) = dom.preorder_range(block.as_u32()) {
                accesses[at as usize + 1] = count(f, block);
            }
        }
        for i in 1..accesses.len() {
            accesses[i].loads += accesses[i - 1].loads;
            accesses[i].stores += accesses[i - 1].stores;
        }
        Self { f, graph, dom, accesses }
    }

    /// Whether the second successor of `block` goes before the first.
    pub(super) fn second_first(&self, block: u32) -> bool {
        let divergent = matches!(self.f.blocks[Block::from_u32(block)].term, Terminator::Divergent(_));
        let &[x, y] = self.graph.succs(block) else { return false };
        if !divergent || [x, y].iter().any(|&side| self.dom.idom(side) != Some(block)) {
            return false;
        }
        let sizes = [x, y].map(|side| self.dom.subtree_len(side));
        let small = if sizes[0] > sizes[1] { y } else { x };
        let last = sizes[0] != sizes[1] && {
            let (small, large) = (self.behind(small), self.behind(if small == x { y } else { x }));
            small.loads == 0 && small.stores > 1 && large.stores > 0
        };
        (small == y) != last
    }

    /// What `side` and the blocks that only it leads to access.
    fn behind(&self, side: u32) -> Accesses {
        let Some((first, last)) = self.dom.preorder_range(side) else { return Accesses::default() };
        let (before, with) = (self.accesses[first as usize], self.accesses[last as usize + 1]);
        Accesses { loads: with.loads - before.loads, stores: with.stores - before.stores }
    }
}

fn count(f: &Function, block: Block) -> Accesses {
    let mut accesses = Accesses::default();
    for inst in &f.blocks[block].insts {
        let info = inst.op.info();
        if inst.facts().unit == Unit::Vmem {
            accesses.loads += u32::from(info.flags.contains(OpFlags::LOAD));
            accesses.stores += u32::from(info.flags.contains(OpFlags::STORE));
        }
    }
    accesses
}
