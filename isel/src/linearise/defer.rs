//! Solves the deferred sets of a plan in one walk; [`super::plan`] has the equations.

use super::plan::Plan;
use super::positions::Set;
use mir::analysis::Loop;
use mir::machine::{Block, Function, Terminator};

/// A loop that the walk is in, or (outermost) the function.
struct Frame {
    l: Option<Loop>,
    /// Position behind the last block.
    end: u32,
    /// What is deferred at the header, of the frame around.
    entry: Set,
    /// Positions behind the end that blocks inside defer.
    out: Set,
    /// Steps of the wave out of the frame: targets behind the end, and whether the step ends a divergent branch.
    leaving: Vec<(Set, bool)>,
}

/// The walk.
pub(super) struct Defer<'a> {
    plan: &'a mut Plan,
    /// What is deferred at each position and lies in its innermost frame.
    local: Vec<Set>,
    frames: Vec<Frame>,
    /// What each loop defers in the loop around it.
    of_loop: Vec<Set>,
}

impl Defer<'_> {
    /// Fills in the plan's deferred sets.
    pub(super) fn run(plan: &mut Plan, f: &Function) {
        let count = plan.order.blocks().len();
        let of_loop = vec![Set::EMPTY; plan.loops.len()];
        let function =
            Frame { l: None, end: u32::MAX, entry: Set::EMPTY, out: Set::EMPTY, leaving: Vec::new() };
        let mut walk = Defer { plan, local: vec![Set::EMPTY; count], frames: vec![function], of_loop };
        for at in 0..count as u32 {
            walk.open_and_close(at);
            walk.block(f, at);
        }
        while walk.frames.len() > 1 {
            walk.close();
        }
        walk.finish();
    }

    /// Leaves the loops that have ended before position `at` and enters the one that starts there.
    fn open_and_close(&mut self, at: u32) {
        while self.frames.last().is_some_and(|frame| frame.end == at) {
            self.close();
        }
        let block = self.plan.order.blocks()[at as usize];
        if let Some(l) = self.plan.loop_headed_by(block) {
            let entry = std::mem::take(&mut self.local[at as usize]);
            let end = self.plan.end_of_loop(l);
            self.frames.push(Frame { l: Some(l), end, entry, out: Set::EMPTY, leaving: Vec::new() });
        }
    }

    /// The steps out of the block at `at`.
    fn block(&mut self, f: &Function, at: u32) {
        let block = self.plan.order.blocks()[at as usize];
        let (steps, divergent): (&[Option<usize>], _) = match f.blocks[Block::from_u32(block)].term {
            Terminator::Uniform(_) => (&[Some(0), Some(1)], false),
            Terminator::Divergent(_) => (&[None], true),
            _ => (&[None], false),
        };
        for &step in steps {
            let (targets, header) = self.plan.targets(block, step);
            let mut set = Set::EMPTY;
            for target in targets {
                let one = self.plan.positions.single(target);
                set = self.plan.positions.union(set, one);
            }
            match header {
                None => self.step(self.local[at as usize], set, divergent),
                Some(_) => {
                    // The wave goes round with whoever stays; the others wait, and when nobody stays it leaves.
                    let all = self.plan.positions.union(set, self.local[at as usize]);
                    self.wait_behind(all);
                    if divergent {
                        self.leave(Set::EMPTY, false);
                    }
                }
            }
        }
        // A block where lanes wait is passed over when it turns out that there are none.
        if self.plan.positions.contains(self.plan.ever_deferred, at) {
            self.step(self.local[at as usize], Set::EMPTY, false);
        }
    }

    /// One step of the wave in the innermost frame: to the first of `waiting`, which lies in it, and `targets`. After a divergent branch it may be
    /// the second one, if nobody goes to the first.
    fn step(&mut self, waiting: Set, targets: Set, divergent: bool) {
        let end = self.frame_end();
        let sets = &mut self.plan.positions;
        let inside = sets.below(targets, end);
        let behind = sets.from(targets, end);
        let inside = sets.union(inside, waiting);
        let Some((first, rest)) = sets.split_first(inside) else {
            self.leave(behind, divergent);
            return;
        };
        self.defer(first, rest);
        self.wait_behind(behind);
        if divergent {
            match self.plan.positions.split_first(rest) {
                Some((second, rest)) => self.defer(second, rest),
                None => self.leave(Set::EMPTY, false),
            }
        }
    }

    fn frame_end(&self) -> u32 {
        self.frames.last().map_or(u32::MAX, |frame| frame.end)
    }

    /// `set` is deferred at position `at`.
    fn defer(&mut self, at: u32, set: Set) {
        let sets = &mut self.plan.positions;
        self.local[at as usize] = sets.union(self.local[at as usize], set);
        self.plan.ever_deferred = sets.union(self.plan.ever_deferred, set);
    }

    /// `set`, behind the innermost frame, is deferred in all of it.
    fn wait_behind(&mut self, set: Set) {
        let sets = &mut self.plan.positions;
        self.plan.ever_deferred = sets.union(self.plan.ever_deferred, set);
        if let Some(frame) = self.frames.last_mut() {
            frame.out = sets.union(frame.out, set);
        }
    }

    fn leave(&mut self, targets: Set, divergent: bool) {
        if let Some(frame) = self.frames.last_mut()
            && frame.l.is_some()
        {
            frame.leaving.push((targets, divergent));
        }
    }

    /// Ends the innermost loop: what leaves it becomes steps of the frame around.
    fn close(&mut self) {
        let Some(Frame { l: Some(l), entry, out, mut leaving, .. }) = self.frames.pop() else { return };
        let end = self.frame_end();
        let sets = &mut self.plan.positions;
        let near = sets.below(out, end);
        let near = sets.union(near, entry);
        let far = sets.from(out, end);
        self.of_loop[l.index()] = near;
        self.wait_behind(far);
        leaving.sort_unstable();
        leaving.dedup();
        for (targets, divergent) in leaving {
            self.step(near, targets, divergent);
        }
    }

    /// Puts the sets of loops under those of their blocks.
    fn finish(self) {
        let Defer { plan, local, mut of_loop, .. } = self;
        for l in plan.loops.iter() {
            if let Some(around) = plan.loops[l].parent {
                of_loop[l.index()] = plan.positions.union(of_loop[l.index()], of_loop[around.index()]);
            }
        }
        for (&set, at) in local.iter().zip(0..) {
            let around = plan.innermost(plan.order.blocks()[at]).map_or(Set::EMPTY, |l| of_loop[l.index()]);
            let all = plan.positions.union(set, around);
            plan.deferred.push(all);
        }
    }
}
