//! Which side of a divergent branch the wave visits first.
//!
//! The smaller, so that lanes wait for a short time only; but where both sides store, the smaller last if it stores several times and loads nothing.
//! Nobody waits for stores, except that what comes behind a burst of them in the same caches does: the instructions of the other side.
//!
//! A side is what its first block dominates; its size is counted in blocks. Cost: linear.

use mir::analysis::{Csr, Dominators, Graph};
use mir::isa::{OpFlags, Unit};
use mir::machine::{Function, Terminator};

/// Loads and stores of vector memory.
#[derive(Clone, Copy, Default)]
struct Accesses {
    loads: u32,
    stores: u32,
}

/// For each block, whether its second successor goes before the first.
pub(super) fn second_first(f: &Function, graph: &Csr, dom: &Dominators) -> Vec<bool> {
    let mut swapped = vec![false; graph.num_nodes()];
    let mut accesses = None;
    for &block in &f.layout {
        let number = block.as_u32();
        let &[x, y] = graph.succs(number) else { continue };
        let divergent = matches!(f.blocks[block].term, Terminator::Divergent(_));
        let [first, second] = [x, y].map(|side| dom.subtree_len(side));
        if !divergent || first == second || [x, y].iter().any(|&side| dom.idom(side) != Some(number)) {
            continue;
        }
        let (small, large) = if first < second { (x, y) } else { (y, x) };
        let accesses = accesses.get_or_insert_with(|| in_preorder(f, graph, dom));
        let [a, b] = [small, large].map(|side| of_side(accesses, dom, side));
        let is_burst = a.stores > 1 && a.loads == 0 && b.stores > 0;
        swapped[number as usize] = (small == y) != is_burst;
    }
    swapped
}

/// How much is accessed in all blocks in front of each one, in the preorder of dominance.
fn in_preorder(f: &Function, graph: &Csr, dom: &Dominators) -> Vec<Accesses> {
    let mut accesses = vec![Accesses::default(); graph.num_nodes() + 1];
    for &block in &f.layout {
        let Some((at, _)) = dom.preorder_range(block.as_u32()) else { continue };
        let own = &mut accesses[at as usize + 1];
        for inst in f.blocks[block].insts.iter().filter(|inst| inst.facts().unit == Unit::Vmem) {
            let flags = inst.op.info().flags;
            own.loads += u32::from(flags.contains(OpFlags::LOAD));
            own.stores += u32::from(flags.contains(OpFlags::STORE));
        }
    }
    for i in 1..accesses.len() {
        accesses[i].loads += accesses[i - 1].loads;
        accesses[i].stores += accesses[i - 1].stores;
    }
    accesses
}

fn of_side(accesses: &[Accesses], dom: &Dominators, side: u32) -> Accesses {
    let Some((first, last)) = dom.preorder_range(side) else { return Accesses::default() };
    let (before, with) = (accesses[first as usize], accesses[last as usize + 1]);
    Accesses { loads: with.loads - before.loads, stores: with.stores - before.stores }
}
