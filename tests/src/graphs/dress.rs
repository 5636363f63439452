//! Gives the blocks of a graph something to do and its branches something to ask, by a seed.
//!
//! Over many seeds every combination comes up: which blocks define a mask and which only hand it on, which
//! variables are phis and which are in memory, where fuel is tested, which values are used at the end. What
//! must hold always is that the program ends, in one of two ways:
//!
//! * *exits*: each block, or each target of an edge that closes a cycle, leaves for the exit when it has used
//!   up the fuel;
//! * else each branch turns to the target from where the exit is nearest once fuel is used up. Uniform
//!   branches on the argument do not, as that would make them divergent; each of them always goes the same
//!   way, and it is made sure that the exit stays in reach. Blocks from which the graph has no way to the
//!   exit leave as above.

use super::program::*;
use fastrand::Rng;

/// How a graph is dressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether blocks leave for the exit when fuel is used up; else branches turn towards it.
    pub exits: bool,
    /// Whether variables are in volatile memory.
    pub volatile: bool,
    /// Whether there are calls.
    pub calls: bool,
    /// Whether there are operations across lanes, where the graph is reducible.
    pub convergent: bool,
    /// Whether it is a pixel shader that kills lanes.
    pub kill: bool,
}

impl Style {
    /// The styles that every graph is dressed in.
    pub const PLAIN: [Self; 4] = [
        Self::plain(true, false),
        Self::plain(false, false),
        Self::plain(true, true),
        Self::plain(false, true),
    ];

    /// Without calls, operations across lanes and kills.
    pub const fn plain(exits: bool, volatile: bool) -> Self {
        Self { exits, volatile, calls: false, convergent: false, kill: false }
    }
}

/// Makes a branch one that may go everywhere. Which lanes are together follows from loops, and a loop may be
/// one by an edge that is never taken; the compiler drops such edges where it knows, so with operations
/// across lanes there must be none.
fn use_all_edges(block: &mut Block, end: &End) {
    let asked = block.ops.iter_mut().filter_map(|op| match op {
        Op::Test { cond, .. } | Op::Ballot { cond, .. } => Some(cond),
        _ => None,
    });
    for cond in asked.chain([&mut block.cond]) {
        if let Cond::Below(from, bound) | Cond::Xor(_, from, bound) = cond {
            *bound = (*bound).clamp(1, from.mask);
        }
    }
    if end.targets().len() > 4 {
        block.pick.mask = 7;
    }
}

/// A small odd number of bits that are as good as any.
fn odd(rng: &mut Rng) -> u32 {
    rng.u32(..) >> 16 | 1
}

/// `graph` as a program for `waves` with its inputs.
pub fn dress(graph: &Graph, seed: u64, style: Style, waves: Waves) -> (Program, Inputs) {
    let mut rng = Rng::with_seed(seed);
    let rng = &mut rng;
    let mut graph = graph.clone();
    for end in &mut graph.ends {
        if matches!(end, End::Branch { .. }) && rng.bool() {
            end.targets_mut().reverse();
        }
    }
    let inputs = Inputs { argument: rng.u32(..) };
    let mut blocks: Vec<Block> = graph.ends.iter().map(|end| block(end, rng, style)).collect();
    if style.convergent {
        blocks.iter_mut().zip(&graph.ends).for_each(|(block, end)| use_all_edges(block, end));
    }
    let mut program = Program {
        lanes: waves.lanes,
        waves,
        homes: homes(rng, style),
        fuel: rng.u32(2..8) + rng.u32(0..2) * graph.ends.len() as u32,
        uneven_fuel: rng.u32(0..4) == 0,
        mask: match rng.u32(0..3) {
            0 if !style.convergent => Cond::Const(rng.bool()),
            1 => Cond::Below(Pick { source: Source::Argument, shift: 9, mask: 1 }, 1),
            _ => Cond::Below(small(rng, Source::Lane), 1),
        },
        stored: std::array::from_fn(|_| rng.u32(0..4) != 0),
        graph,
        blocks,
    };
    program.stored[Var::X as usize] = true;
    if style.exits {
        exits(&mut program, rng);
    } else {
        drive(&mut program, inputs);
    }
    (program, inputs)
}

fn homes(rng: &mut Rng, style: Style) -> [Home; 6] {
    const MEMORY: [Home; 4] = [Home::Private, Home::Private, Home::Lds, Home::Global];
    let all = style.volatile && rng.bool();
    std::array::from_fn(|_| {
        if style.volatile && (all || rng.u32(0..3) != 0) && !style.kill {
            MEMORY[rng.usize(0..4)]
        } else if rng.u32(0..4) == 0 {
            Home::Phis
        } else {
            Home::Ssa
        }
    })
}

/// A few bits of `source`, of the lane's number low ones.
fn small(rng: &mut Rng, source: Source) -> Pick {
    let mask = [1, 3, 3, 7][rng.usize(0..4)];
    let shift = match source {
        Source::Lane => rng.u8(0..5),
        Source::Var(Var::Fuel) => 0,
        _ => rng.u8(0..28),
    };
    Pick { source, shift, mask }
}

/// A question after a few bits of `source`. One in twelve has always the same answer, which only known bits
/// tell: the other edge of such a branch is there as long as nobody looks at them.
fn below(rng: &mut Rng, source: Source) -> Cond {
    let from = small(rng, source);
    Cond::Below(
        from,
        match rng.u32(0..12) {
            0 => rng.u32(0..2) * (from.mask + 1),
            _ => rng.u32(1..=from.mask),
        },
    )
}

fn divergent_source(rng: &mut Rng) -> Source {
    match rng.u32(0..8) {
        0..4 => Source::Var(Var::X),
        4 => Source::Var(Var::Y),
        _ => Source::Lane,
    }
}

fn uniform_source(rng: &mut Rng) -> Source {
    match rng.u32(0..8) {
        0..3 => Source::Var(Var::U),
        3 => Source::Var(Var::Fuel),
        _ => Source::Argument,
    }
}

fn condition(rng: &mut Rng, divergent: bool) -> Cond {
    let (mask, source) =
        if divergent { (Var::M, divergent_source(rng)) } else { (Var::N, uniform_source(rng)) };
    match rng.u32(0..8) {
        0 => Cond::Mask(mask),
        1 => Cond::Not(mask),
        2 => match below(rng, source) {
            Cond::Below(from, bound) => Cond::Xor(mask, from, bound),
            other => other,
        },
        _ => below(rng, source),
    }
}

fn block(end: &End, rng: &mut Rng, style: Style) -> Block {
    let ops = (0..rng.usize(1..5)).map(|_| op(rng, style)).collect();
    let cond = condition(rng, end.is_divergent());
    let source = if end.is_divergent() { divergent_source(rng) } else { uniform_source(rng) };
    let cases = end.targets().len();
    // With fewer bits than cases, some are never selected, nor what is left over.
    let mask = if cases <= 4 || rng.u32(0..4) == 0 { 3 } else { 7 };
    let pick = Pick { mask, ..small(rng, source) };
    Block { ops, fuel: Fuel::Free, cond, pick }
}

fn op(rng: &mut Rng, style: Style) -> Op {
    let lane_number = |rng: &mut Rng| if rng.u32(0..3) == 0 { Var::Y } else { Var::X };
    let mask = |rng: &mut Rng| if rng.u32(0..3) == 0 { Var::N } else { Var::M };
    let place = |rng: &mut Rng| {
        if rng.u32(0..3) == 0 && !style.kill { Place::Lds } else { Place::Global(rng.u8(0..TRACES as u8)) }
    };
    let special = rng.u32(0..5) == 0;
    if special && style.calls {
        let dst = lane_number(rng);
        return if rng.bool() { Op::Call { dst, mask: mask(rng) } } else { Op::CallTrace { src: dst } };
    }
    if special && style.kill {
        return Op::Kill(condition(rng, true));
    }
    if special && style.convergent {
        let (dst, src) = (lane_number(rng), lane_number(rng));
        return match rng.u32(0..3) {
            0 => Op::Ballot { dst, cond: condition(rng, true) },
            1 => Op::FirstLane { dst, src },
            _ => Op::Permute { dst, src, by: rng.u8(1..64) },
        };
    }
    match rng.u32(0..16) {
        0..3 => Op::Mix { dst: lane_number(rng), factor: odd(rng), addend: odd(rng) },
        3..5 => Op::Mix { dst: Var::U, factor: odd(rng), addend: odd(rng) },
        5 => Op::Fold { dst: Var::Y, src: Var::X, shift: rng.u8(0..16), addend: odd(rng) },
        6 => Op::Fold { dst: lane_number(rng), src: Var::U, shift: rng.u8(0..16), addend: odd(rng) },
        7..10 => Op::Test { dst: Var::M, cond: condition(rng, true) },
        10 => Op::Test { dst: Var::N, cond: condition(rng, false) },
        11 => Op::Select { dst: lane_number(rng), mask: mask(rng), addend: odd(rng) },
        12 => Op::Append { dst: lane_number(rng), mask: mask(rng) },
        13 => Op::Trace { place: place(rng), src: lane_number(rng) },
        14 => {
            let old = rng.bool().then_some(Var::Y);
            Op::Add { place: place(rng), src: Var::X, old }
        }
        _ => Op::Tally(rng.u8(0..TALLIES as u8)),
    }
}

/// Lets blocks leave when fuel is used up: all, or enough that every cycle has one.
fn exits(program: &mut Program, rng: &mut Rng) {
    let needed = if rng.bool() { vec![true; program.blocks.len()] } else { program.graph.loop_heads() };
    for (block, _) in program.blocks.iter_mut().zip(needed).filter(|(_, needed)| *needed) {
        block.fuel = Fuel::Exit { at: rng.u8(0..=block.ops.len() as u8) };
    }
}

/// Whether a block's branch asks the argument alone, and so goes the same way always.
fn asks_argument(program: &Program, block: usize) -> bool {
    let code = &program.blocks[block];
    match program.graph.ends[block] {
        End::Branch { .. } => {
            matches!(code.cond, Cond::Below(Pick { source: Source::Argument, .. }, _) | Cond::Const(_))
        }
        End::Switch { .. } => code.pick.source == Source::Argument,
        End::Jump(_) | End::Return => false,
    }
}

/// The places that a block may go to once fuel is used up, by their index.
fn ways(program: &Program, inputs: Inputs, block: usize, fixed: &[bool]) -> Vec<usize> {
    let end = &program.graph.ends[block];
    if !fixed[block] {
        return (0..end.targets().len()).collect();
    }
    let value = |from: Pick| inputs.argument >> from.shift & from.mask;
    let code = &program.blocks[block];
    vec![match (end, code.cond) {
        (End::Switch { to, .. }, _) => (value(code.pick) as usize).min(to.len() - 1),
        (_, Cond::Below(from, bound)) => usize::from(value(from) >= bound),
        (_, Cond::Const(holds)) => usize::from(!holds),
        _ => 0,
    }]
}

/// The number of steps from each block to an end; `None` where there is no way.
fn distances(program: &Program, inputs: Inputs, fixed: &[bool]) -> Vec<Option<u32>> {
    let exit = usize::from(program.graph.exit());
    let mut distance = vec![None; exit + 1];
    distance[exit] = Some(0);
    for (block, end) in program.graph.ends.iter().enumerate() {
        if *end == End::Return {
            distance[block] = Some(0);
        }
    }
    for step in 0..=exit as u32 {
        for block in 0..exit {
            let ways = ways(program, inputs, block, fixed);
            let targets = program.graph.ends[block].targets();
            if distance[block].is_none()
                && ways.iter().any(|&way| distance[usize::from(targets[way])] == Some(step))
            {
                distance[block] = Some(step + 1);
            }
        }
    }
    distance
}

/// Lets branches turn towards the exit when fuel is used up.
fn drive(program: &mut Program, inputs: Inputs) {
    let blocks = program.blocks.len();
    let mut fixed: Vec<bool> = (0..blocks).map(|block| asks_argument(program, block)).collect();
    let possible = distances(program, inputs, &vec![false; blocks]);
    // Fewer and fewer branches are fixed, until each block that has a way to the exit still has one.
    let distance = loop {
        let distance = distances(program, inputs, &fixed);
        if distance.iter().zip(&possible).all(|(now, before)| now.is_some() == before.is_some()) {
            break distance;
        }
        let Some(last) = fixed.iter().rposition(|&fixed| fixed) else { break distance };
        fixed[last] = false;
    };
    for block in 0..blocks {
        let targets = program.graph.ends[block].targets();
        let to = (0..targets.len()).min_by_key(|&at| distance[usize::from(targets[at])].unwrap_or(u32::MAX));
        program.blocks[block].fuel = match (distance[block], to) {
            (None, _) => Fuel::Exit { at: 0 },
            (Some(_), Some(to)) if targets.len() > 1 && !fixed[block] => Fuel::Drive { to: to as u8 },
            _ => Fuel::Free,
        };
    }
}
