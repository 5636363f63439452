//! The plan: order of blocks, what is deferred where, how each block gets its EXEC.
//!
//! For block b with deferred set D(b) and targets T, the wave's next block is the first of A = T ∪ D(b) in the order; the
//! rest of A is deferred there. A uniform branch has one such step for each target.
//!
//! Loops make these equations circular, but only so far: what is deferred in loop L and lies behind it stays deferred until L has ended, so it is
//! deferred in all of L. Hence D(b) = local(b) ∪ D(L), where local(b) lies inside the innermost loop L around b and does not depend on what
//! lies outside, which comes later in the order anyway. One walk over the order finds local(b), what L's blocks defer behind L, and the steps
//! that leave L; where L ends, these become steps of the loop around it (`Defer`).
//!
//! Which blocks have exactly the lanes of an earlier one is read off dominators and post-dominators; the latter of the
//! graph in which each back edge leads to the exits of its loop instead, so that "all lanes come by" means "in this
//! iteration".

use super::defer::Defer;
use super::normalise::Shape;
use super::positions::{Positions, Set};
use super::sides::second_first;
use cranelift_entity::EntityRef;
use mir::analysis::{Csr, Dominators, Graph, Loop, Loops, Order};
use mir::isa::{OpFlags, Unit};
use mir::machine::{Block, Function, Terminator};
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// How a block's EXEC comes about; see [`super`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Direct,
    /// EXEC of this block, which has the same lanes, is restored.
    Restore(u32),
    /// The target with this number of this divergent block, visited later than the other.
    OtherSide(u32, usize),
    Pending,
}

/// A step of the wave out of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// To this block, whatever EXEC is.
    Always(u32),
    /// EXEC has been narrowed to the lanes for the first block; if none, to the second.
    IfAny(u32, u32),
    /// Nowhere: the program ends or control cannot get here.
    Stop,
}

pub(super) struct Plan {
    pub graph: Csr,
    pub order: Order,
    pub loops: Loops,
    pub kind: Vec<Kind>,
    /// Blocks of kind `Restore` where nobody looks at EXEC.
    pub idle: Vec<bool>,
    /// Positions deferred at each position.
    pub(super) deferred: Vec<Set>,
    /// Positions that are deferred anywhere.
    pub(super) ever_deferred: Set,
    pub(super) positions: Positions,
    /// Position behind each loop, by number.
    loop_end: Vec<u32>,
    /// Block whose loop counts as the block's own: for blocks put on edges, the edge's source.
    home: Vec<u32>,
}

impl Plan {
    /// `split` lists blocks put on edges of uniform branches, with the edge's source. They come right behind it, so that the
    /// wave goes there before anything deferred, even where the edge leaves a loop.
    ///
    /// Errors: `Defect` for a block with two back edges, which [`super::normalise::canonical_loops`] leaves none of.
    pub(super) fn new(f: &Function, split: &[(Block, Block)], shape: Shape) -> Result<Self> {
        let Shape { graph, mut rpo, dom, mut loops } = shape;
        let swapped = second_first(f, &graph, &dom);
        if swapped.contains(&true) {
            rpo = Order::reverse_post_order_by(&graph, |b| swapped[b as usize]);
            loops = Loops::new(&graph, &rpo, &dom);
        }
        let nodes = graph.num_nodes();
        let mut home: Vec<u32> = (0..nodes as u32).collect();
        split.iter().for_each(|&(middle, source)| home[middle.index()] = source.as_u32());
        let order = place(f, rpo.loops_contiguous(&loops).blocks(), split, nodes);
        let mut plan = Self {
            kind: vec![Kind::Direct; nodes],
            idle: vec![false; nodes],
            deferred: Vec::new(),
            ever_deferred: Set::EMPTY,
            positions: Positions::new(order.blocks().len()),
            loop_end: Vec::new(),
            home,
            graph,
            order,
            loops,
        };
        plan.check_latches()?;
        plan.find_loop_ends();
        Defer::run(&mut plan, f);
        plan.choose_kinds(f, &dom);
        Ok(plan)
    }

    fn check_latches(&self) -> Result<()> {
        for &block in self.order.blocks() {
            let at = self.position(block);
            let backwards = self.graph.succs(block).iter().filter(|&&s| self.position(s) <= at).count();
            if backwards > 1 {
                return Err(Diagnostic::defect(format!("block {block} has two back edges")));
            }
        }
        Ok(())
    }

    /// Where the wave returns, nobody may be left behind.
    ///
    /// Errors: `Unsupported` for a return in front of which lanes part that do not come there.
    pub(super) fn check_returns(&self, f: &Function) -> Result<()> {
        for &block in self.order.blocks() {
            let returns = f.blocks[Block::from_u32(block)].term == Terminator::Return;
            if returns && self.first_deferred(block).is_some() {
                return Err(Diagnostic::unsupported("a return while other lanes wait"));
            }
        }
        Ok(())
    }

    fn find_loop_ends(&mut self) {
        self.loop_end = vec![self.order.blocks().len() as u32; self.loops.len()];
        let mut open: Vec<Loop> = Vec::new();
        for (&block, at) in self.order.blocks().iter().zip(0..) {
            let home = self.home[block as usize];
            while let Some(l) = open.pop_if(|&mut l| !self.loops.contains(l, home)) {
                self.loop_end[l.index()] = at;
            }
            open.extend(self.loop_headed_by(block));
        }
    }

    /// The loop whose header `block` is.
    pub(super) fn loop_headed_by(&self, block: u32) -> Option<Loop> {
        self.loops.innermost(block).filter(|&l| self.loops[l].header == block)
    }

    /// The position behind the last block of `l`.
    pub(super) fn end_of_loop(&self, l: Loop) -> u32 {
        self.loop_end[l.index()]
    }

    pub(super) fn innermost(&self, block: u32) -> Option<Loop> {
        self.loops.innermost(self.home[block as usize])
    }

    /// Loops around `block`.
    pub(super) fn depth(&self, block: u32) -> u32 {
        self.loops.depth(self.home[block as usize])
    }

    pub(super) fn position(&self, block: u32) -> u32 {
        self.order.position(block).unwrap_or(u32::MAX)
    }

    /// The first of the blocks deferred while the wave is in `block`.
    fn first_deferred(&self, block: u32) -> Option<u32> {
        let set = self.deferred[self.position(block) as usize];
        self.positions.first(set).map(|p| self.order.blocks()[p as usize])
    }

    fn is_deferred(&self, block: u32) -> bool {
        self.positions.contains(self.ever_deferred, self.position(block))
    }

    /// Positions of the targets ahead of one step of `block`, and the back edge's header. `only` picks one successor, for
    /// uniform branches.
    pub(super) fn targets(&self, block: u32, only: Option<usize>) -> (SmallVec<[u32; 4]>, Option<u32>) {
        let at = self.position(block);
        let (mut ahead, mut header) = (SmallVec::new(), None);
        for (i, &succ) in self.graph.succs(block).iter().enumerate() {
            let to = self.position(succ);
            if only.is_some_and(|o| o != i) {
            } else if to <= at {
                header = Some(succ);
            } else {
                ahead.push(to);
            }
        }
        ahead.sort_unstable();
        ahead.dedup();
        (ahead, header)
    }

    /// The first two blocks, of the targets of one step of `block` and the deferred ones; and the back edge's header.
    fn waiting(&self, block: u32, only: Option<usize>) -> (SmallVec<[u32; 4]>, Option<u32>) {
        let (mut first, header) = self.targets(block, only);
        let deferred = self.deferred[self.position(block) as usize];
        if let Some(next) = self.positions.first(deferred) {
            first.push(next);
            first.extend(self.positions.next(deferred, next + 1));
        }
        first.sort_unstable();
        first.dedup();
        first.truncate(2);
        (first.into_iter().map(|p| self.order.blocks()[p as usize]).collect(), header)
    }

    fn choose_kinds(&mut self, f: &Function, dom: &Dominators) {
        let post = self.post_dominators(f);
        for &block in self.order.blocks() {
            if self.is_deferred(block) {
                self.kind[block as usize] = match self.same_lanes(block, dom, &post) {
                    Some(m) => Kind::Restore(m),
                    None => self.other_side(f, block).unwrap_or(Kind::Pending),
                };
            }
        }
        // Saved masks must dominate their use on the wave graph; where merging of paths breaks that, lanes are collected.
        loop {
            self.find_idle(f);
            if !self.kind.iter().any(|kind| matches!(kind, Kind::Restore(_) | Kind::OtherSide(..))) {
                return;
            }
            let wave = self.wave_graph(f);
            let wave_dom = Dominators::new(&wave, &Order::reverse_post_order(&wave));
            let mut changed = false;
            for &block in self.order.blocks() {
                let source = match self.kind[block as usize] {
                    Kind::Restore(m) => m,
                    Kind::OtherSide(b, _) => b,
                    _ => continue,
                };
                let place = self.gate(block).map_or(block, |_| self.gate_node(block));
                if !wave_dom.dominates(source, place) {
                    self.kind[block as usize] = Kind::Pending;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// The block that dominates `block`, is in the same loop, and all of whose lanes come to `block` in the same iteration.
    fn same_lanes(&self, block: u32, dom: &Dominators, post: &Dominators) -> Option<u32> {
        let here = self.innermost(block);
        let depth = self.depth(block);
        let mut m = dom.idom(block)?;
        loop {
            let mut inner = self.innermost(m);
            if inner == here {
                return post.dominates(block, m).then_some(m);
            }
            // Out of the loops that have ended between `m` and here.
            let mut outermost = None;
            while let Some(l) = inner.filter(|&l| self.loops[l].depth > depth) {
                outermost = Some(l);
                inner = self.loops[l].parent;
            }
            if inner != here {
                return None;
            }
            m = dom.idom(self.loops[outermost?].header)?;
        }
    }

    fn other_side(&self, f: &Function, block: u32) -> Option<Kind> {
        let &[from] = self.graph.preds(block) else { return None };
        let divergent = matches!(f.blocks[Block::from_u32(from)].term, Terminator::Divergent(_));
        if !divergent || self.innermost(from) != self.innermost(block) {
            return None;
        }
        let index = self.graph.succs(from).iter().position(|&s| s == block)?;
        Some(Kind::OtherSide(from, index))
    }

    /// Post-dominators of one iteration; blocks from which the function's end cannot be reached do not count.
    fn post_dominators(&self, f: &Function) -> Dominators {
        let ends = |b: u32| {
            self.order.contains(b)
                && matches!(f.blocks[Block::from_u32(b)].term, Terminator::EndProgram | Terminator::Return)
        };
        let nodes = self.graph.num_nodes();
        let mut finishes = vec![false; nodes];
        let mut stack: Vec<u32> = (0..nodes as u32).filter(|&b| ends(b)).collect();
        while let Some(b) = stack.pop() {
            if !std::mem::replace(&mut finishes[b as usize], true) {
                stack.extend_from_slice(self.graph.preds(b));
            }
        }
        let exits = self.exits();
        // One node more for each loop: "the iteration is over". It leads where the loop is left to, directly or through the loop around it, all
        // of whose exits can be reached from there anyway where that is left as well.
        let forward = Csr::new(nodes + self.loops.len(), self.graph.entry(), |b, sink| {
            if let Some(l) = (b as usize).checked_sub(nodes) {
                let range = exits.partition_point(|e| e.0 < l)..exits.partition_point(|e| e.0 <= l);
                sink.extend(
                    exits[range].iter().map(|e| e.1).filter(|&e| finishes.get(e as usize) != Some(&false)),
                );
                return;
            }
            if !self.order.contains(b) {
                return;
            }
            for &succ in self.graph.succs(b) {
                if let Some(l) = self.loops.innermost(succ).filter(|_| self.loops.is_back_edge(b, succ)) {
                    sink.push((nodes + l.index()) as u32);
                } else if finishes[succ as usize] || !finishes[b as usize] {
                    sink.push(succ);
                }
            }
        });
        let reversed = forward.reversed(ends);
        Dominators::new(&reversed, &Order::reverse_post_order(&reversed))
    }

    /// Where each loop, by number, is left to: blocks directly inside the loop around it, or (numbered behind the blocks) that loop, where an
    /// edge leaves both. Sorted, each once.
    fn exits(&self) -> Vec<(usize, u32)> {
        let nodes = self.graph.num_nodes();
        let mut exits = Vec::new();
        for &block in self.order.blocks() {
            for &succ in self.graph.succs(block) {
                let mut at = self.loops.innermost(block);
                while let Some(l) = at.filter(|&l| !self.loops.contains(l, succ)) {
                    let around = self.loops[l].parent;
                    exits.push(match around.filter(|&around| !self.loops.contains(around, succ)) {
                        Some(around) => (l.index(), (nodes + around.index()) as u32),
                        None => (l.index(), succ),
                    });
                    at = around;
                }
            }
        }
        exits.sort_unstable();
        exits.dedup();
        exits
    }

    /// A restored EXEC is not needed in a block that does nothing and goes where EXEC is restored again, or to the end.
    fn find_idle(&mut self, f: &Function) {
        for &block in self.order.blocks() {
            let data = &f.blocks[Block::from_u32(block)];
            let leads_to_restore = || {
                let [edge] = &data.thread_succs[..] else { return false };
                edge.args.is_empty() && matches!(self.kind[edge.block.index()], Kind::Restore(_))
            };
            let does_nothing = data.insts.iter().all(|inst| inst.op == mir::isa::Opcode::S_ENDPGM);
            let idle = matches!(self.kind[block as usize], Kind::Restore(_))
                && does_nothing
                && match data.term {
                    Terminator::EndProgram => true,
                    Terminator::Jump => leads_to_restore(),
                    _ => false,
                };
            self.idle[block as usize] = idle;
        }
    }

    /// Where the gate of `block` skips to, if the block has a gate.
    pub(super) fn gate(&self, block: u32) -> Option<u32> {
        match self.kind[block as usize] {
            Kind::Pending | Kind::OtherSide(..) => self.first_deferred(block),
            _ => None,
        }
    }

    /// Number of the gate of `block` in [`Self::wave_graph`].
    fn gate_node(&self, block: u32) -> u32 {
        self.graph.num_nodes() as u32 + block
    }

    /// The wave's steps out of `block`: one, or two for a uniform branch.
    pub(super) fn steps(&self, f: &Function, block: u32) -> [Option<Step>; 2] {
        match f.blocks[Block::from_u32(block)].term {
            Terminator::Uniform(_) => [0, 1].map(|i| {
                let (all, header) = self.waiting(block, Some(i));
                Some(header.or(all.first().copied()).map_or(Step::Stop, Step::Always))
            }),
            Terminator::Divergent(_) => {
                let (all, header) = self.waiting(block, None);
                let narrowed = header.is_some() || self.narrows(block, &all);
                let mut next = header.into_iter().chain(all.iter().copied());
                let step = match (next.next(), next.next()) {
                    (Some(first), Some(second)) if narrowed && !self.is_short(f, first, second) => {
                        Step::IfAny(first, second)
                    }
                    (Some(first), _) => Step::Always(first),
                    (None, _) => Step::Stop,
                };
                [Some(step), None]
            }
            _ => {
                let (all, header) = self.waiting(block, None);
                [Some(header.or(all.first().copied()).map_or(Step::Stop, Step::Always)), None]
            }
        }
    }

    /// The successor that divergent `block` narrows EXEC to, if the wave goes there next: its number.
    pub(super) fn narrowed_successor(&self, block: u32) -> Option<usize> {
        let (all, header) = self.waiting(block, None);
        let next = match header {
            Some(header) => header,
            None if self.narrows(block, &all) => *all.first()?,
            None => return None,
        };
        self.graph.succs(block).iter().position(|&s| s == next)
    }

    fn narrows(&self, block: u32, all: &[u32]) -> bool {
        all.first().is_some_and(|&next| {
            self.kind[next as usize] == Kind::Direct && self.graph.succs(block).contains(&next)
        })
    }

    /// Whether running `block` without lanes is cheaper than a branch to `skip`, where it leads, and harmless.
    fn is_short(&self, f: &Function, block: u32, skip: u32) -> bool {
        let data = &f.blocks[Block::from_u32(block)];
        let harmless = |inst: &mir::machine::Inst| {
            let info = inst.op.info();
            let bad = OpFlags::LOAD
                | OpFlags::STORE
                | OpFlags::ATOMIC
                | OpFlags::SIDE_EFFECTS
                | OpFlags::BARRIER
                | OpFlags::IGNORES_EXEC
                | OpFlags::BRANCH
                | OpFlags::MODE_DEF;
            matches!(inst.facts().unit, Unit::Valu | Unit::Pseudo)
                && !info.flags.intersects(bad)
                && inst.op != mir::isa::Opcode::V_READFIRSTLANE_B32
        };
        data.term == Terminator::Jump
            && data.insts.len() <= SHORT_INSTS
            && data.insts.iter().all(harmless)
            && self.steps(f, block)[0] == Some(Step::Always(skip))
    }

    /// The wave graph over blocks, and gates by [`Self::gate_node`].
    fn wave_graph(&self, f: &Function) -> Csr {
        let nodes = self.graph.num_nodes();
        let enter =
            |b: u32, header: bool| if !header && self.gate(b).is_some() { self.gate_node(b) } else { b };
        Csr::new(nodes * 2, self.graph.entry(), |node, sink| {
            let block = node % nodes as u32;
            if !self.order.contains(block) {
                return;
            }
            if node != block {
                if let Some(skip) = self.gate(block) {
                    sink.extend([enter(skip, false), block]);
                }
                return;
            }
            for step in self.steps(f, block).into_iter().flatten() {
                match step {
                    Step::Always(next) => sink.push(enter(next, false)),
                    Step::IfAny(first, second) => sink.extend([enter(first, false), enter(second, false)]),
                    Step::Stop => {}
                }
            }
        })
    }

    /// Edges (block, number) of uniform branches whose target collects lanes.
    pub(super) fn uniform_edges_to_pending(&self, f: &Function) -> Vec<(Block, usize)> {
        let mut edges = Vec::new();
        for &block in self.order.blocks() {
            let block = Block::from_u32(block);
            if let Terminator::Uniform(_) = f.blocks[block].term {
                for (i, edge) in f.blocks[block].thread_succs.iter().enumerate() {
                    if self.kind[edge.block.index()] == Kind::Pending {
                        edges.push((block, i));
                    }
                }
            }
        }
        edges
    }
}

/// Vector instructions that take no longer than the branch around them (a taken branch costs about 16 cycles and
/// refills the instruction buffer, a vector instruction 4).
const SHORT_INSTS: usize = 8;

/// The final order: the block that ends the function last, behind blocks that never get there, and `split` blocks behind
/// their sources.
fn place(f: &Function, order: &[u32], split: &[(Block, Block)], nodes: usize) -> Order {
    let mut behind: Vec<[Option<u32>; 2]> = vec![[None; 2]; nodes];
    let mut is_split = vec![false; nodes];
    for &(middle, source) in split {
        is_split[middle.index()] = true;
        let slots = &mut behind[source.index()];
        let slot = usize::from(slots[0].is_some());
        slots[slot] = Some(middle.as_u32());
    }
    let ends =
        |b: u32| matches!(f.blocks[Block::from_u32(b)].term, Terminator::EndProgram | Terminator::Return);
    let mut blocks = Vec::with_capacity(order.len());
    for &block in order {
        if !is_split[block as usize] && (!ends(block) || order.len() == 1) {
            blocks.push(block);
            blocks.extend(behind[block as usize].iter().flatten());
        }
    }
    if order.len() > 1 {
        blocks.extend(order.iter().copied().filter(|&b| ends(b)));
    }
    Order::from_blocks(blocks, nodes)
}
