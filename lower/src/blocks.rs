//! Folds empty blocks away and drops those that the wave cannot reach.

use cranelift_entity::SecondaryMap;
use mir::machine::{Block, Function, Terminator};

/// Redirects edges around blocks that do nothing, and keeps in the layout what the entry reaches.
pub fn fold_empty_blocks(f: &mut Function) {
    let next = |f: &Function, block: Block| match (&f.blocks[block].term, f.blocks[block].insts.is_empty()) {
        (Terminator::Jump, true) => f.blocks[block].wave_succs.first().map(|edge| edge.block),
        _ => None,
    };
    // The end of each chain of empty blocks; a ring of them is an endless loop and keeps one block.
    let mut end: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    for &start in &f.layout {
        let mut chain = Vec::new();
        let mut block = start;
        let last = loop {
            if let Some(known) = end[block] {
                break known;
            }
            match next(f, block) {
                Some(following) => {
                    // Seen again before it is known to end: a ring.
                    end[block] = Some(block);
                    chain.push(block);
                    block = following;
                }
                None => break block,
            }
        };
        end[last] = Some(last);
        for block in chain {
            end[block] = Some(last);
        }
    }
    let Some(&entry) = f.layout.first() else { return };
    let mut reached: SecondaryMap<Block, bool> = SecondaryMap::new();
    reached[entry] = true;
    let mut work = vec![entry];
    while let Some(block) = work.pop() {
        let data = &mut f.blocks[block];
        for edge in &mut data.wave_succs {
            edge.block = end[edge.block].unwrap_or(edge.block);
            if !std::mem::replace(&mut reached[edge.block], true) {
                work.push(edge.block);
            }
        }
        if let Terminator::Uniform(_) = data.term
            && let [a, b] = &data.wave_succs[..]
            && a.block == b.block
        {
            data.wave_succs.truncate(1);
            data.term = Terminator::Jump;
        }
    }
    f.layout.retain(|&block| reached[block]);
}
