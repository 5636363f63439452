//! Shapes that linearisation relies on, made on the thread graph.
//!
//! After these: a kernel has one end (a function may return from several blocks); an edge with arguments is not critical; every loop has one back edge, from a block of the loop that is
//! in no inner one, and is entered from one block that has no other successor. So a block has one back edge at most. Blocks added here have
//! no instructions and cost nothing where they stay empty.

use cranelift_entity::EntityRef;
use mir::analysis::{Csr, Dominators, Graph, Loops, Order};
use mir::machine::{Block, Edge, Function, Terminator, VReg};
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// A branch whose targets and arguments are the same becomes a jump.
pub(super) fn merge_equal_targets(f: &mut Function) {
    for block in f.layout.clone() {
        let data = &mut f.blocks[block];
        if let ([a, b], [sa, sb]) = (&data.thread_succs[..], &data.thread_sargs[..])
            && a == b
            && sa == sb
        {
            data.thread_succs.truncate(1);
            data.thread_sargs.truncate(1);
            data.term = Terminator::Jump;
        }
    }
}

/// Blocks that end the program lead to a single one instead. Several may return, where that is the wave's decision.
pub(super) fn unify_exits(f: &mut Function) -> Result<()> {
    let returns = f.layout.iter().filter(|&&b| f.blocks[b].term == Terminator::Return).count();
    let ends: Vec<Block> =
        f.layout.iter().copied().filter(|&b| f.blocks[b].term == Terminator::EndProgram).collect();
    if returns > 0 && !ends.is_empty() {
        return Err(Diagnostic::unsupported("a function that both returns and ends the program"));
    }
    if ends.len() > 1 {
        let end = f.add_block();
        f.blocks[end].term = Terminator::EndProgram;
        for block in ends {
            let data = &mut f.blocks[block];
            // The instruction itself, where selection wrote one, stays behind.
            data.insts.retain(|inst| inst.op != mir::isa::Opcode::S_ENDPGM);
            data.tail_start = data.insts.len() as u32;
            data.term = Terminator::Jump;
            data.thread_succs.push(Edge { block: end, args: SmallVec::new() });
            data.thread_sargs.push(SmallVec::new());
        }
    }
    Ok(())
}

/// Splits every critical edge that passes arguments.
pub(super) fn split_edges_with_args(f: &mut Function) {
    let mut preds = vec![0u32; f.blocks.len()];
    for &block in &f.layout {
        for edge in &f.blocks[block].thread_succs {
            preds[edge.block.index()] += 1;
        }
    }
    for block in f.layout.clone() {
        let data = &f.blocks[block];
        if data.thread_succs.len() < 2 {
            continue;
        }
        let twice = data.thread_succs[0].block == data.thread_succs[1].block;
        let split: SmallVec<[usize; 2]> = (0..data.thread_succs.len())
            .filter(|&i| {
                let edge = &data.thread_succs[i];
                let args = !edge.args.is_empty() || !data.thread_sargs[i].is_empty();
                preds[edge.block.index()] > 1 && (args || twice)
            })
            .collect();
        for index in split {
            split_thread_edge(f, block, index);
        }
    }
}

/// Puts a new block on edge `index` of `block`.
pub(super) fn split_thread_edge(f: &mut Function, block: Block, index: usize) -> Block {
    let middle = f.add_block();
    let edge = std::mem::replace(
        &mut f.blocks[block].thread_succs[index],
        Edge { block: middle, args: SmallVec::new() },
    );
    let sargs = std::mem::take(&mut f.blocks[block].thread_sargs[index]);
    let data = &mut f.blocks[middle];
    data.term = Terminator::Jump;
    data.thread_succs.push(edge);
    data.thread_sargs.push(sargs);
    middle
}

/// The thread graph with what is known about it.
pub(super) struct Shape {
    pub graph: Csr,
    pub rpo: Order,
    pub dom: Dominators,
    pub loops: Loops,
}

impl Shape {
    pub(super) fn new(f: &Function) -> Self {
        let graph = Csr::thread(f);
        let rpo = Order::reverse_post_order(&graph);
        let dom = Dominators::new(&graph, &rpo);
        let loops = Loops::new(&graph, &rpo, &dom);
        Self { graph, rpo, dom, loops }
    }
}

/// Gives every loop one latch of its own and one way in. The shape of the result.
///
/// An edge to the header that leaves an inner loop gets a block: lanes that take it wait there, outside of the inner loop, until all have left
/// that. Without it the block that the edge comes from would be the latch of both loops.
pub(super) fn canonical_loops(f: &mut Function) -> Result<Shape> {
    let shape = Shape::new(f);
    let Shape { graph, rpo, loops, .. } = &shape;
    let mut changed = false;
    if !loops.is_reducible() {
        return Err(Diagnostic::unsupported("irreducible control flow under divergent branch"));
    }
    for l in loops.iter() {
        let header = loops[l].header;
        let (inside, outside): (Vec<u32>, Vec<u32>) = graph
            .preds(header)
            .iter()
            .copied()
            .filter(|&p| rpo.contains(p))
            .partition(|&p| loops.is_back_edge(p, header));
        if inside.len() > 1 || inside.iter().any(|&latch| loops.innermost(latch) != Some(l)) {
            merge_edges(f, &inside, header);
            changed = true;
        }
        if outside.len() != 1 || graph.succs(outside[0]).len() != 1 {
            merge_edges(f, &outside, header);
            changed = true;
        }
    }
    Ok(if changed { Shape::new(f) } else { shape })
}

/// Leads the edges from `sources` to `target` through one new block, which passes their arguments on.
fn merge_edges(f: &mut Function, sources: &[u32], target: u32) {
    let target = Block::from_u32(target);
    let middle = f.add_block();
    let copies = |f: &mut Function, regs: Vec<VReg>| -> SmallVec<[VReg; 4]> {
        regs.into_iter().map(|r| f.vregs.push(f.vregs[r])).collect()
    };
    let vparams = copies(f, f.blocks[target].vparams.clone());
    let sparams = copies(f, f.blocks[target].sparams.clone());
    for &source in sources {
        // A source with several edges to the target is listed as often; the first visit turns them all.
        for edge in &mut f.blocks[Block::from_u32(source)].thread_succs {
            if edge.block == target {
                edge.block = middle;
            }
        }
    }
    let data = &mut f.blocks[middle];
    data.term = Terminator::Jump;
    data.vparams = vparams.to_vec();
    data.sparams = sparams.to_vec();
    data.thread_succs.push(Edge { block: target, args: vparams });
    data.thread_sargs.push(sparams);
}
