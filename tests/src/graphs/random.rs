//! Random graphs of many blocks, with switches and several returns, and programs over them with all that
//! programs may have.

use super::dress::{Style, dress};
use super::evaluate::evaluate;
use super::program::*;
use fastrand::Rng;

/// A program for `waves` over a random graph of at most `size` blocks, from a seed.
pub fn random(seed: u64, size: usize, waves: Waves) -> (Program, Inputs) {
    let mut rng = Rng::with_seed(seed);
    let blocks = rng.usize(2..=size.clamp(2, 60));
    let reducible = rng.bool();
    let graph = if reducible { reducible_graph(&mut rng, blocks) } else { any_graph(&mut rng, blocks) };
    let kind = rng.u32(0..8);
    let style = Style {
        calls: kind == 0,
        convergent: reducible && kind >= 4,
        kill: kind == 1,
        ..Style::plain(rng.bool(), rng.u32(0..4) == 0)
    };
    let (mut program, inputs) = dress(&graph, rng.u64(..), style, waves);
    if waves.permuted == 0 {
        let across = |op: &Op| matches!(op, Op::Permute { .. });
        program.blocks.iter_mut().for_each(|block| block.ops.retain(|op| !across(op)));
        program.settle();
    }
    if style.convergent && kind >= 6 {
        barriers(&mut program, inputs, &mut rng);
    }
    (program, inputs)
}

/// The end of a block that is not one of the first, with places to be filled in.
fn some_end(rng: &mut Rng, block: usize) -> End {
    let divergent = rng.u32(0..5) < 3;
    match rng.u32(0..20) {
        0..5 => End::Jump(0),
        5..8 => End::Switch { divergent, to: vec![0; rng.usize(2..=6)] },
        8 if block > 1 => End::Return,
        _ => End::Branch { divergent, to: [0; 2] },
    }
}

/// A graph whose edges lead anywhere, or mostly to near blocks.
fn any_graph(rng: &mut Rng, blocks: usize) -> Graph {
    let near = rng.bool();
    let mut ends = Vec::new();
    for block in 0..blocks {
        let mut end = some_end(rng, block);
        for to in end.targets_mut() {
            *to = if near && rng.u32(0..8) != 0 {
                rng.usize(block.saturating_sub(3)..=(block + 3).min(blocks)) as u8
            } else {
                rng.usize(0..=blocks) as u8
            };
        }
        ends.push(end);
    }
    reachable_part(Graph { ends })
}

/// A graph whose edges lead forward, or back to a block that dominates.
fn reducible_graph(rng: &mut Rng, blocks: usize) -> Graph {
    let near = rng.bool();
    let mut ends: Vec<End> = Vec::new();
    // The immediate dominator of each block; forward edges to a block are all known when it is its turn.
    let mut dominators: Vec<Option<usize>> = vec![None; blocks + 1];
    let mut seen = vec![false; blocks + 1];
    seen[0] = true;
    for block in 0..blocks {
        let mut end = some_end(rng, block);
        for to in end.targets_mut() {
            if rng.u32(0..4) == 0 {
                let mut over = block;
                while let Some(next) = dominators[over].filter(|_| rng.u32(0..3) != 0) {
                    over = next;
                }
                *to = over as u8;
                continue;
            }
            let last = if near { (block + 4).min(blocks) } else { blocks };
            let next = rng.usize(block + 1..=last);
            *to = next as u8;
            // What no edge from a reachable block leads to is dropped in the end.
            if seen[block] {
                dominators[next] = if std::mem::replace(&mut seen[next], true) {
                    common(&dominators, dominators[next], block)
                } else {
                    Some(block)
                };
            }
        }
        ends.push(end);
    }
    reachable_part(Graph { ends })
}

/// The nearest block that dominates both.
fn common(dominators: &[Option<usize>], a: Option<usize>, b: usize) -> Option<usize> {
    let (mut a, mut b) = (a?, b);
    while a != b {
        let higher = if a > b { &mut a } else { &mut b };
        *higher = dominators[*higher]?;
    }
    Some(a)
}

/// `graph` without the blocks that cannot be reached.
pub fn reachable_part(graph: Graph) -> Graph {
    let reachable = graph.reachable();
    let mut new = Vec::with_capacity(reachable.len() + 1);
    let mut count = 0u8;
    for &seen in &reachable {
        new.push(count);
        count += u8::from(seen);
    }
    new.push(count);
    let kept = graph.ends.iter().zip(&reachable).filter(|(_, seen)| **seen);
    Graph { ends: kept.map(|(end, _)| end.renumbered(&new)).collect() }
}

/// Puts exchanges between waves where all lanes of the work-group are together whenever they come there.
fn barriers(program: &mut Program, inputs: Inputs, rng: &mut Rng) {
    // Two waves.
    program.lanes = 2 * program.waves.lanes;
    for block in 0..program.blocks.len() {
        if rng.bool() {
            continue;
        }
        let at = rng.usize(0..=program.blocks[block].ops.len());
        let before = program.clone();
        program.blocks[block].ops.insert(at, Op::Exchange { dst: Var::X, src: Var::Y });
        if evaluate(program, inputs).is_err() {
            *program = before;
        }
    }
}
