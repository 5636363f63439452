//! The plan: order of blocks, what is deferred where, how each block gets its EXEC.
//!
//! For block b with deferred set D(b) and targets T, the wave's next block is the first of A = T ∪ D(b) in the order; the
//! rest of A is deferred there. A uniform branch has one such step for each target. At the end of a loop the deferred
//! blocks, all outside, stay deferred in the next iteration, so D of the header includes D of the latch; this is the only
//! equation that goes backwards, and it settles after one more pass over the loop for each level of nesting.
//!
//! Which blocks have exactly the lanes of an earlier one is read off dominators and post-dominators; the latter of the
//! graph in which each back edge leads to the exits of its loop instead, so that "all lanes come by" means "in this
//! iteration".

use super::normalise::Shape;
use cranelift_entity::EntityRef;
use mir::analysis::{Csr, Dominators, Graph, Loops, Order};
use mir::isa::{Format, OpFlags};
use mir::machine::{Block, Function, Terminator};
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
    /// Positions deferred at each position, ascending.
    deferred: Vec<Set>,
    /// Block whose loop counts as the block's own: for blocks put on edges, the edge's source.
    home: Vec<u32>,
}

impl Plan {
    /// `split` lists blocks put on edges of uniform branches, with the edge's source. They come right behind it, so that the
    /// wave goes there before anything deferred, even where the edge leaves a loop.
    pub(super) fn new(f: &Function, split: &[(Block, Block)], shape: Shape) -> Self {
        let Shape { graph, mut rpo, dom, mut loops } = shape;
        // Of the sides of a divergent branch, the smaller goes first: lanes wait for a short time only.
        let swap = |b: u32| {
            matches!(f.blocks[Block::from_u32(b)].term, Terminator::Divergent(_))
                && matches!(graph.succs(b), [x, y] if [*x, *y].iter().all(|&s| dom.idom(s) == Some(b))
                    && dom.subtree_len(*x) > dom.subtree_len(*y))
        };
        if rpo.blocks().iter().any(|&b| swap(b)) {
            rpo = Order::reverse_post_order_by(&graph, swap);
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
            home,
            graph,
            order,
            loops,
        };
        plan.defer(f);
        plan.choose_kinds(f, &dom);
        plan
    }

    fn innermost(&self, block: u32) -> Option<mir::analysis::Loop> {
        self.loops.innermost(self.home[block as usize])
    }

    /// Loops around `block`.
    pub(super) fn depth(&self, block: u32) -> u32 {
        self.loops.depth(self.home[block as usize])
    }

    pub(super) fn position(&self, block: u32) -> u32 {
        self.order.position(block).unwrap_or(u32::MAX)
    }

    /// Blocks deferred while the wave is in `block`, in order.
    pub(super) fn deferred_at(&self, block: u32) -> impl Iterator<Item = u32> + '_ {
        self.deferred[self.position(block) as usize].iter().map(|&p| self.order.blocks()[p as usize])
    }

    /// Positions of the targets ahead of one step of `block`, and the back edge's header. `only` picks one successor, for
    /// uniform branches.
    fn targets(&self, block: u32, only: Option<usize>) -> (SmallVec<[u32; 2]>, Option<u32>) {
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
        let (targets, header) = self.targets(block, only);
        let deferred = &self.deferred[self.position(block) as usize];
        let mut first: SmallVec<[u32; 4]> = deferred.iter().take(2).copied().chain(targets).collect();
        first.sort_unstable();
        first.dedup();
        first.truncate(2);
        (first.into_iter().map(|p| self.order.blocks()[p as usize]).collect(), header)
    }

    /// Solves the deferred sets.
    fn defer(&mut self, f: &Function) {
        let count = self.order.blocks().len();
        let mut at_header: Vec<Set> = vec![Set::new(); count];
        // The first round grows the sets of headers, later ones recompute the others from scratch.
        loop {
            self.deferred = at_header.clone();
            let mut stable = true;
            let mut at = 0;
            let mut is_deferred = vec![false; count];
            at_header.iter().flatten().for_each(|&p| is_deferred[p as usize] = true);
            while at < count {
                let block = self.order.blocks()[at];
                let steps: &[Option<usize>] = match f.blocks[Block::from_u32(block)].term {
                    Terminator::Uniform(_) => &[Some(0), Some(1)],
                    _ => &[None],
                };
                let mut restart = None;
                for &step in steps {
                    let (targets, header) = self.targets(block, step);
                    let mut all = self.deferred[at].clone();
                    union(&mut all, &targets);
                    if let Some(header) = header {
                        let to = self.position(header) as usize;
                        if union(&mut at_header[to], &all) {
                            union(&mut self.deferred[to], &all);
                            stable = false;
                            restart = Some(restart.map_or(to, |r: usize| r.min(to)));
                        }
                    }
                    let divergent = matches!(f.blocks[Block::from_u32(block)].term, Terminator::Divergent(_));
                    if (header.is_none() || divergent)
                        && let [next, rest @ ..] = &all[..]
                    {
                        self.defer_at(*next, rest);
                        // Where EXEC turns out empty, the wave skips to the second.
                        if divergent && let [second, rest @ ..] = rest {
                            self.defer_at(*second, rest);
                        }
                    }
                }
                // So does the gate of a block that is deferred itself.
                if is_deferred[at]
                    && let [next, rest @ ..] = &self.deferred[at].clone()[..]
                {
                    self.defer_at(*next, rest);
                }
                self.deferred[at].iter().for_each(|&p| is_deferred[p as usize] = true);
                at = restart.unwrap_or(at + 1);
            }
            if stable {
                return;
            }
        }
    }

    fn defer_at(&mut self, position: u32, blocks: &[u32]) {
        union(&mut self.deferred[position as usize], blocks);
    }

    fn choose_kinds(&mut self, f: &Function, dom: &Dominators) {
        let post = self.post_dominators(f);
        let mut is_deferred = vec![false; self.order.blocks().len()];
        self.deferred.iter().flatten().for_each(|&p| is_deferred[p as usize] = true);
        for &block in self.order.blocks() {
            if is_deferred[self.position(block) as usize] {
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
        let forward = Csr::new(nodes, self.graph.entry(), |b, sink| {
            if !self.order.contains(b) {
                return;
            }
            for &succ in self.graph.succs(b) {
                if self.loops.is_back_edge(b, succ) {
                    let exits = self.loops.innermost(succ).map_or(&[][..], |l| &self.loops[l].exits);
                    sink.extend(exits.iter().map(|e| e.1).filter(|&e| finishes[e as usize]));
                } else if finishes[succ as usize] || !finishes[b as usize] {
                    sink.push(succ);
                }
            }
        });
        let reversed = forward.reversed(ends);
        Dominators::new(&reversed, &Order::reverse_post_order(&reversed))
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
            Kind::Pending | Kind::OtherSide(..) => self.deferred_at(block).next(),
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
            matches!(
                info.format,
                Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p | Format::Vopc | Format::Pseudo
            ) && !info.flags.intersects(bad)
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

/// Positions, ascending.
type Set = SmallVec<[u32; 4]>;

/// Adds ascending `from` to ascending `into`; whether anything was new.
fn union(into: &mut Set, from: &[u32]) -> bool {
    if from.is_empty() || into[..] == *from {
        return false;
    }
    if into.is_empty() {
        into.extend_from_slice(from);
        return true;
    }
    if let [x] = *from {
        let place = into.binary_search(&x);
        if let Err(place) = place {
            into.insert(place, x);
        }
        return place.is_err();
    }
    let old = std::mem::take(into);
    into.reserve(old.len() + from.len());
    let mut from = from.iter().copied().peekable();
    for &x in &old {
        while let Some(y) = from.next_if(|&y| y < x) {
            into.push(y);
        }
        from.next_if_eq(&x);
        into.push(x);
    }
    into.extend(from);
    into.len() != old.len()
}
