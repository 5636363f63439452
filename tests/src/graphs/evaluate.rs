//! What a program must compute, block by block and lane by lane, without the compiler's IR.
//!
//! Lanes have nothing to do with each other but for the operations across lanes, where it matters which lanes
//! are in a block together: those that agree on how often all loops around the block have been around.
//! [`Nest`] finds these loops, which are well defined where control flow is reducible, and an order of all
//! *visits* (a block, and the counts of the loops around it) in which every step leads to a later visit. So
//! the lanes at the earliest visit are all that will ever be there, and go first, together.

use super::program::*;
use std::collections::BTreeMap;

/// Steps after which a program counts as endless.
const STEPS: usize = 100_000;

/// State of a lane.
#[derive(Clone, Copy)]
struct Lane {
    vars: [u32; 6],
    traces: [u32; TRACES],
    lds: u32,
}

/// The results of `program`, [`Program::results`] dwords.
///
/// # Errors
/// A program that does not end, or that has operations across lanes in an irreducible graph.
pub fn evaluate(program: &Program, inputs: Inputs) -> Result<Vec<u32>, String> {
    let mut run = Run {
        program,
        inputs,
        lanes: (0..program.lanes as u32).map(|lane| start(program, inputs, lane)).collect(),
        results: vec![0; program.results()],
        steps: STEPS,
    };
    if program.is_convergent() {
        run.together(&Nest::of(&program.graph)?)?;
    } else {
        for lane in 0..program.lanes {
            let mut block = 0;
            while block < program.graph.exit() {
                match run.block(block, &[lane])?.pop() {
                    Some((_, next)) => block = next,
                    None => break,
                }
            }
        }
    }
    Ok(run.results)
}

/// The state that a lane starts with.
fn start(program: &Program, inputs: Inputs, lane: u32) -> Lane {
    let [x, y] = START.map(|(factor, shift)| {
        let sum = lane.wrapping_mul(factor).wrapping_add(inputs.argument);
        sum ^ sum >> shift
    });
    let fuel = program.fuel + if program.uneven_fuel { lane & 3 } else { 0 };
    let mut state = Lane {
        vars: [x, y, inputs.argument ^ START_U, fuel, 0, inputs.argument >> START_N & 1],
        traces: [0; TRACES],
        lds: 0,
    };
    state.vars[Var::M as usize] = u32::from(holds(program.mask, &state, inputs, lane));
    state
}

fn pick(pick: Pick, state: &Lane, inputs: Inputs, lane: u32) -> u32 {
    let value = match pick.source {
        Source::Var(var) => state.vars[var as usize],
        Source::Lane => lane,
        Source::Argument => inputs.argument,
    };
    value >> pick.shift & pick.mask
}

fn holds(cond: Cond, state: &Lane, inputs: Inputs, lane: u32) -> bool {
    match cond {
        Cond::Below(from, bound) => pick(from, state, inputs, lane) < bound,
        Cond::Mask(var) => state.vars[var as usize] != 0,
        Cond::Not(var) => state.vars[var as usize] == 0,
        Cond::Xor(var, from, bound) => {
            (state.vars[var as usize] != 0) != (pick(from, state, inputs, lane) < bound)
        }
        Cond::Const(value) => value,
    }
}

/// What the called function returns.
fn called(mut x: u32, mask: bool) -> u32 {
    if mask {
        return x.wrapping_mul(5).wrapping_add(1);
    }
    for n in (1..=x & 3).rev() {
        x = x.wrapping_mul(3).wrapping_add(n);
    }
    x
}

struct Run<'a> {
    program: &'a Program,
    inputs: Inputs,
    lanes: Vec<Lane>,
    results: Vec<u32>,
    steps: usize,
}

impl Run<'_> {
    /// Runs `block` for `group`, lanes that are there together, and says where each goes that is left.
    fn block(&mut self, block: u8, group: &[usize]) -> Result<Vec<(usize, u8)>, String> {
        self.steps = self.steps.checked_sub(1).ok_or("the program does not end")?;
        let exit = self.program.graph.exit();
        let program = self.program;
        let index = usize::from(block);
        let code = &program.blocks[index];
        let mut here = group.to_vec();
        let mut next = Vec::new();
        for at in 0..=code.ops.len() {
            if code.fuel == (Fuel::Exit { at: at as u8 }) {
                here.retain(|&lane| {
                    let fuel = &mut self.lanes[lane].vars[Var::Fuel as usize];
                    *fuel = fuel.wrapping_sub(1);
                    let stays = *fuel != 0;
                    if !stays {
                        next.push((lane, exit));
                    }
                    stays
                });
            }
            if let Some(op) = code.ops.get(at) {
                self.op(op, &mut here)?;
            }
        }
        for &(lane, _) in &next {
            self.keep_memory(lane);
            self.finish(lane, exit);
        }
        for lane in here {
            let target = self.target(code, index, lane);
            self.keep_memory(lane);
            match target {
                Some(to) => {
                    if to == exit {
                        self.finish(lane, exit);
                    }
                    next.push((lane, to));
                }
                None => self.finish(lane, block),
            }
        }
        Ok(next)
    }

    /// Where `lane` goes at the end of a block; nowhere where it returns.
    fn target(&mut self, code: &Block, index: usize, lane: usize) -> Option<u8> {
        let state = &mut self.lanes[lane];
        let driven = match code.fuel {
            Fuel::Drive { to } => {
                let fuel = &mut state.vars[Var::Fuel as usize];
                *fuel = fuel.wrapping_sub(1);
                ((*fuel as i32) < 1).then_some(usize::from(to))
            }
            _ => None,
        };
        let (inputs, lane) = (self.inputs, lane as u32);
        let choice = match &self.program.graph.ends[index] {
            End::Jump(_) => 0,
            End::Branch { .. } => {
                driven.unwrap_or_else(|| usize::from(!holds(code.cond, state, inputs, lane)))
            }
            End::Switch { to, .. } => {
                driven.unwrap_or_else(|| (pick(code.pick, state, inputs, lane) as usize).min(to.len() - 1))
            }
            End::Return => return None,
        };
        self.program.graph.ends[index].targets().get(choice).copied()
    }

    /// Stores what `lane` ends with.
    fn finish(&mut self, lane: usize, by: u8) {
        let state = self.lanes[lane];
        let results = &mut self.results[lane * STRIDE..(lane + 1) * STRIDE];
        for var in Var::ALL {
            if self.program.stored[var as usize] {
                results[var as usize] = state.vars[var as usize];
            }
        }
        results[ENDED] = u32::from(by) + 1;
        results[LDS_TRACE] = state.lds;
    }

    /// Runs `op` for the lanes that are `here`, from the lowest.
    fn op(&mut self, op: &Op, here: &mut Vec<usize>) -> Result<(), String> {
        // What operations across lanes see, which all lanes read before any writes.
        let mut seen = Vec::new();
        match *op {
            Op::Ballot { cond, .. } => {
                let has = |&&lane: &&usize| holds(cond, &self.lanes[lane], self.inputs, lane as u32);
                let wave = self.program.waves.lanes;
                let mut masks = vec![0u64; self.lanes.len() / wave];
                here.iter().filter(has).for_each(|&lane| masks[lane / wave] |= 1 << (lane % wave));
                let fold = |mask: u64| (mask as u32).wrapping_add(((mask >> 32) as u32).wrapping_mul(31));
                seen = here.iter().map(|&lane| fold(masks[lane / wave])).collect();
            }
            Op::FirstLane { src, .. } => {
                let wave = self.program.waves.lanes;
                let first = |lane: usize| here.iter().find(|&&other| other / wave == lane / wave);
                let value =
                    |&lane: &usize| first(lane).map_or(0, |&first| self.lanes[first].vars[src as usize]);
                seen = here.iter().map(value).collect();
            }
            Op::Permute { src, by, .. } => {
                let span = self.program.waves.permuted.max(1);
                let source = |&lane: &usize| lane / span * span + (lane + usize::from(by)) % span;
                let read = |from: usize| {
                    if here.contains(&from) { self.lanes[from].vars[src as usize] } else { 0 }
                };
                seen = here.iter().map(source).map(read).collect();
            }
            Op::Exchange { src, .. } => {
                if here.len() != self.lanes.len() {
                    return Err("a barrier that some lanes do not reach".to_owned());
                }
                let next = |lane: usize| (lane + self.program.waves.lanes) % self.lanes.len();
                let source = |&lane: &usize| self.lanes[next(lane)].vars[src as usize];
                seen = here.iter().map(source).collect();
            }
            Op::Kill(cond) => {
                here.retain(|&lane| {
                    let killed = holds(cond, &self.lanes[lane], self.inputs, lane as u32);
                    if killed {
                        self.keep_memory(lane);
                    }
                    !killed
                });
            }
            _ => {}
        }
        for (at, &lane) in here.iter().enumerate() {
            let inputs = self.inputs;
            if let Op::Tally(counter) = *op {
                let at = self.lanes.len() * STRIDE + usize::from(counter);
                self.results[at] = self.results[at].wrapping_add(1);
            }
            let state = &mut self.lanes[lane];
            let get = |state: &Lane, var: Var| state.vars[var as usize];
            let set = |state: &mut Lane, var: Var, value: u32| state.vars[var as usize] = value;
            match *op {
                Op::Mix { dst, factor, addend } => {
                    let value = get(state, dst).wrapping_mul(factor).wrapping_add(addend);
                    set(state, dst, value);
                }
                Op::Fold { dst, src, shift, addend } => {
                    let value = get(state, dst).wrapping_add(get(state, src) >> shift) ^ addend;
                    set(state, dst, value);
                }
                Op::Test { dst, cond } => {
                    let value = u32::from(holds(cond, state, inputs, lane as u32));
                    set(state, dst, value);
                }
                Op::Select { dst, mask, addend } => {
                    let old = get(state, dst);
                    let value = if get(state, mask) != 0 { old.wrapping_add(addend) } else { old ^ addend };
                    set(state, dst, value);
                }
                Op::Append { dst, mask } => {
                    let value = get(state, dst).wrapping_mul(2).wrapping_add(get(state, mask));
                    set(state, dst, value);
                }
                Op::Trace { place, src } => {
                    let value = get(state, src);
                    let trace = state.trace(place);
                    *trace = trace.wrapping_mul(5).wrapping_add(value);
                }
                Op::Add { place, src, old } => {
                    let value = get(state, src);
                    let trace = state.trace(place);
                    let before = std::mem::replace(trace, trace.wrapping_add(value));
                    if let Some(old) = old {
                        let value = get(state, old).wrapping_add(before);
                        set(state, old, value);
                    }
                }
                Op::Call { dst, mask } => {
                    let value = called(get(state, dst), get(state, mask) != 0);
                    set(state, dst, value);
                }
                Op::CallTrace { src } => {
                    let value = get(state, src);
                    let trace = state.trace(Place::Global(0));
                    let before = std::mem::replace(trace, trace.wrapping_add(value));
                    set(state, src, before);
                }
                Op::Ballot { dst, .. } => {
                    let value = get(state, dst).wrapping_mul(3).wrapping_add(seen[at]);
                    set(state, dst, value);
                }
                Op::FirstLane { dst, .. } => {
                    let value = get(state, dst) ^ seen[at];
                    set(state, dst, value);
                }
                Op::Permute { dst, .. } | Op::Exchange { dst, .. } => {
                    let value = get(state, dst).wrapping_add(seen[at]);
                    set(state, dst, value);
                }
                Op::Tally(_) | Op::Kill(_) => {}
            }
        }
        Ok(())
    }

    /// Puts what is in global memory at any time into the results.
    fn keep_memory(&mut self, lane: usize) {
        let state = &self.lanes[lane];
        let results = &mut self.results[lane * STRIDE..(lane + 1) * STRIDE];
        results[TRACE..TRACE + TRACES].copy_from_slice(&state.traces);
        for var in Var::ALL {
            if self.program.homes[var as usize] == Home::Global {
                results[HOMES + var as usize] = state.vars[var as usize];
            }
        }
    }

    /// Runs all lanes, those of one visit together, the earliest visit first.
    fn together(&mut self, nest: &Nest) -> Result<(), String> {
        let mut waiting: BTreeMap<Vec<u32>, (u8, Vec<usize>)> = BTreeMap::new();
        waiting.insert(nest.visit(None, 0), (0, (0..self.program.lanes).collect()));
        while let Some((visit, (block, mut group))) = waiting.pop_first() {
            group.sort_unstable();
            for (lane, to) in self.block(block, &group)? {
                if to != self.program.graph.exit() {
                    let next = nest.visit(Some((block, &visit)), to);
                    waiting.entry(next).or_insert_with(|| (to, Vec::new())).1.push(lane);
                }
            }
        }
        Ok(())
    }
}

impl Lane {
    fn trace(&mut self, place: Place) -> &mut u32 {
        match place {
            Place::Global(index) => &mut self.traces[usize::from(index)],
            Place::Lds => &mut self.lds,
        }
    }
}

/// The loops of a reducible graph. A visit is written as the position of what holds the block among the parts
/// of the graph in topological order, then, where that is a loop, how often it has been around, then the same
/// inside of the loop.
pub struct Nest {
    /// Of each block: the positions, from the outermost.
    positions: Vec<Vec<u32>>,
    /// Of each block: the headers of the loops around it, from the outermost.
    headers: Vec<Vec<u8>>,
}

impl Nest {
    /// Of `graph`, by components that are strongly connected, inside of them without the edges to their
    /// header, and so on.
    ///
    /// # Errors
    /// A graph that is not reducible.
    pub fn of(graph: &Graph) -> Result<Self, String> {
        let blocks = graph.ends.len();
        let mut nest = Self { positions: vec![Vec::new(); blocks], headers: vec![Vec::new(); blocks] };
        // Parts to look at: the blocks, and the one through which all come.
        let reachable = graph.reachable();
        let mut parts: Vec<(Vec<u8>, Option<u8>)> =
            vec![((0..graph.exit()).filter(|&b| reachable[usize::from(b)]).collect(), None)];
        while let Some((part, header)) = parts.pop() {
            let inside = |to: u8| part.contains(&to) && Some(to) != header;
            let components = components(&part, |block| {
                let targets = graph.ends[usize::from(block)].targets().iter().copied();
                targets.filter(|&to| inside(to)).collect()
            });
            for (position, component) in components.iter().enumerate() {
                let first = component[0];
                let around = graph.ends[usize::from(first)].targets().contains(&first) && inside(first);
                let is_loop = component.len() > 1 || around;
                for &block in component {
                    nest.positions[usize::from(block)].push(position as u32);
                }
                if !is_loop {
                    continue;
                }
                let entered = |&&block: &&u8| {
                    block == 0
                        || (0..graph.exit()).filter(|from| reachable[usize::from(*from)]).any(|from| {
                            !component.contains(&from)
                                && graph.ends[usize::from(from)].targets().contains(&block)
                        })
                };
                let entries: Vec<u8> = component.iter().filter(entered).copied().collect();
                let [header] = entries[..] else { return Err("the graph is not reducible".to_owned()) };
                for &block in component {
                    nest.headers[usize::from(block)].push(header);
                }
                parts.push((component.clone(), Some(header)));
            }
        }
        Ok(nest)
    }

    /// The visit of `to` by a lane that comes from a visit of another block, or from the entry.
    fn visit(&self, from: Option<(u8, &[u32])>, to: u8) -> Vec<u32> {
        let (positions, headers) = (&self.positions[usize::from(to)], &self.headers[usize::from(to)]);
        let mut visit = Vec::with_capacity(positions.len() + headers.len());
        // Whether the loops so far are those that the lane is in already.
        let mut same = from;
        for (level, &position) in positions.iter().enumerate() {
            visit.push(position);
            let Some(&header) = headers.get(level) else { break };
            same = same.filter(|&(block, _)| self.headers[usize::from(block)].get(level) == Some(&header));
            let count = same.map_or(0, |(_, visit)| visit[2 * level + 1]);
            visit.push(if same.is_some() && header == to { count + 1 } else { count });
            if header == to {
                same = None;
            }
        }
        visit
    }
}

/// The strongly connected components of `part` in topological order (Kosaraju's algorithm).
fn components(part: &[u8], targets: impl Fn(u8) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut finished = Vec::new();
    let mut seen = [false; 256];
    for &root in part {
        if std::mem::replace(&mut seen[usize::from(root)], true) {
            continue;
        }
        let mut stack = vec![(root, targets(root))];
        while let Some((block, left)) = stack.last_mut() {
            match left.pop() {
                Some(to) if !std::mem::replace(&mut seen[usize::from(to)], true) => {
                    stack.push((to, targets(to)));
                }
                Some(_) => {}
                None => {
                    finished.push(*block);
                    stack.pop();
                }
            }
        }
    }
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut taken = [false; 256];
    for &root in finished.iter().rev() {
        if taken[usize::from(root)] {
            continue;
        }
        let (mut component, mut todo) = (Vec::new(), vec![root]);
        while let Some(block) = todo.pop() {
            if std::mem::replace(&mut taken[usize::from(block)], true) {
                continue;
            }
            component.push(block);
            todo.extend(part.iter().copied().filter(|&from| targets(from).contains(&block)));
        }
        component.sort_unstable();
        all.push(component);
    }
    all
}
