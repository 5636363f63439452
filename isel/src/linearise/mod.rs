//! From the thread graph to the wave graph: divergent control flow as EXEC masks.
//!
//! # Problem
//!
//! Selected code branches lane by lane ([`Terminator::Divergent`]). The wave has one program counter: it must visit every
//! block that some lane goes to, with EXEC set to just those lanes, and it should keep real branches where all lanes agree.
//!
//! # Idea
//!
//! Partial linearisation. Blocks are put into reverse post-order with loops contiguous, so that only back edges lead
//! backwards. After a divergent branch the wave goes on with whichever block comes first in the order, among the branch's
//! targets and the blocks where lanes already wait; the rest are *deferred* past it. `linearise` computes the set of blocks
//! deferred at each block, and from it the wave graph. A uniform branch stays a branch unless lanes wait in front of its
//! target.
//!
//! Every block gets its EXEC in one of four ways (`Kind`), the first that applies:
//!
//! * *direct*: never deferred; the wave comes straight from the thread predecessors and EXEC is right already. A divergent
//!   branch leaves it right: `s_mov_b64 S, exec; s_and_b64 exec, exec, cond`, with the other operation where cond is that of the other side;
//! * *restore*: exactly the lanes of an earlier block m of the same loop come here (m dominates, this block
//!   post-dominates m within the iteration): `s_mov_b64 exec, S(m)`. Joins of if-then-else and exits of loops are such; where m itself restores
//!   those of an earlier one, that one saves for both;
//! * *other side*: the second target of one divergent branch b: `s_andn2_b64 exec, S(b), cond`;
//! * *pending*: the general case. Each predecessor adds its lanes to a mask, in loops over all iterations; the block (or
//!   its gate) takes EXEC from it. The masks are SSA on the wave graph, with 0 where nothing was added.
//!
//! A block of the last two kinds may find no lanes. Then it is skipped: a *gate*, a block of the wave graph alone, sets
//! EXEC and branches over it. So every block that is more than a few vector instructions runs with EXEC ≠ 0, which scalar
//! loads, `v_readfirstlane`, barriers and uniform branches rely on.
//!
//! Example, `if (c) A; else B;`:
//!
//! ```text
//! head:   s_mov_b64 S, exec            S = lanes here
//!         s_and_b64 exec, exec, c      EXEC = those with c
//!         s_cbranch_execz gate
//! A:      ...
//! gate:   s_andn2_b64 exec, S, c
//!         s_cbranch_execz join
//! B:      ...
//! join:   s_mov_b64 exec, S
//! ```
//!
//! # Scalars
//!
//! SGPR parameters and all SGPR values whose definition does not dominate a use on the wave graph are brought into SSA form on
//! the wave graph (`scalars`). Where no definition reaches, the value is undefined, and no lane is there to look.
//!
//! # Invariants of the result
//!
//! `machine::verify(f)`; each edge with arguments has a source with one successor or a target with one
//! predecessor, on its graph; blocks without lanes of their own (gates, split wave edges) have no thread edges.
//!
//! `exec_regions` puts code that runs with other lanes into regions: whole-wave mode, whole quads, exact lanes of pixel shaders.
//!
//! # Cost
//!
//! Near linear in blocks and edges: sets of deferred blocks share their parts ([`positions`]).
//!
//! Sources: S. Moll, S. Hack, "Partial Control-Flow Linearization", PLDI 2018, for keeping uniform branches.

mod defer;
pub(crate) mod exec_regions;
mod masks;
mod normalise;
mod plan;
mod positions;
mod scalars;
mod sides;
mod whole_params;

use mir::Result;
use mir::machine::{Block, Edge, Function, Terminator};
use normalise::Shape;
use plan::Plan;

/// Linearises `f`: selected code in, linear code out.
///
/// Errors: `Unsupported` for irreducible control flow together with divergent branches, for a return of a device function while other lanes
/// wait, and for whole-wave values that pass through a phi where lanes meet; `Defect` where a loop kept two back edges from one block.
pub fn linearise(f: &mut Function) -> Result<()> {
    for block in f.layout.clone() {
        let data = &mut f.blocks[block];
        data.head_len = 0;
        data.tail_start = data.insts.len() as u32;
        let edges = data.thread_succs.len();
        data.thread_sargs.resize(edges, Default::default());
    }
    exec_regions::strict(f);
    let quads = exec_regions::survey(f);
    exec_regions::split_behind_demotions(f);
    normalise::merge_equal_targets(f);
    let branches_diverge = f.layout.iter().any(|&b| matches!(f.blocks[b].term, Terminator::Divergent(_)));
    if branches_diverge {
        divergent_graph(f).map_err(|d| d.in_function(&f.name))?
    } else {
        uniform_graph(f)
    }
    if let Some(quads) = quads {
        exec_regions::live(f, &quads);
    }
    exec_regions::entry(f).map_err(|d| d.in_function(&f.name))?;
    scalars::split_critical_wave_edges(f);
    for block in f.layout.clone() {
        f.blocks[block].thread_sargs.clear();
    }
    f.stage = mir::machine::Stage::Linear;
    Ok(())
}

/// Without divergent branches the wave graph is the thread graph.
fn uniform_graph(f: &mut Function) {
    normalise::split_edges_with_args(f);
    let Shape { rpo, loops, .. } = Shape::new(f);
    let order = rpo.loops_contiguous(&loops);
    f.layout = order.blocks().iter().map(|&b| Block::from_u32(b)).collect();
    for &block in &f.layout {
        let data = &mut f.blocks[block];
        data.loop_depth = loops.depth(block.as_u32()).min(255) as u8;
        let sargs = std::mem::take(&mut data.thread_sargs);
        data.wave_succs =
            data.thread_succs.iter().zip(sargs).map(|(e, args)| Edge { block: e.block, args }).collect();
    }
}

fn divergent_graph(f: &mut Function) -> Result<()> {
    normalise::unify_exits(f)?;
    normalise::split_edges_with_args(f);
    let mut shape = normalise::canonical_loops(f)?;
    // Uniform branches to a pending block need a block of their own on that edge; that adds no further pending blocks.
    // Such a block comes right behind its source and is never pending itself, so each edge is split once at most.
    let mut split = Vec::new();
    let plan = loop {
        let plan = Plan::new(f, &split, shape)?;
        let edges = plan.uniform_edges_to_pending(f);
        if edges.is_empty() {
            break plan;
        }
        for (block, index) in edges {
            split.push((normalise::split_thread_edge(f, block, index), block));
        }
        shape = Shape::new(f);
    };
    plan.check_returns(f)?;
    whole_params::check(f, &plan)?;
    let (gates, wave) = masks::build(f, &plan);
    scalars::repair(f, &wave);
    masks::fold_gates(f, &gates);
    Ok(())
}
