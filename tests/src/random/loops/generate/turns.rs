//! Loops: how they count.

use super::*;
use crate::random::evaluate::compare;

const PREDICATES: [&str; 10] = ["ne", "slt", "sgt", "ult", "ugt", "sle", "sge", "ule", "uge", "eq"];
const STEPS: [i64; 22] = [1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, 2, 2, -2, 3, -3, 4, 7, -7, 64, -64];
const ROUNDS: [u64; 24] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 8, 9, 10, 12, 13, 16, 17, 31, 33, 64];
/// Most rounds of a loop whose bound is right, here.
const MOST: u32 = 100;

/// What is known of a loop before it is made.
struct Plan {
    ty: Ty,
    width: u32,
    /// Step, start and bound of each lane.
    steps: Vec<i64>,
    starts: Vec<u64>,
    bounds: Vec<u64>,
}

impl Plan {
    /// Rounds of a lane, if few.
    fn rounds(&self, turn: &Turn, lane: usize) -> Option<u32> {
        let (mut counter, bound) = (self.starts[lane], self.bounds[lane]);
        let is = |predicate: &str, counter: u64, plus: i64| {
            compare(predicate, self.width, counter, self.ty.cut(bound.wrapping_add(plus as u64)))
        };
        if !turn.guards.iter().all(|guard| is(guard.predicate, counter, guard.plus)) {
            return Some(0);
        }
        for rounds in 0..MOST {
            if turn.top && !is(turn.predicate, counter, 0) {
                return Some(rounds);
            }
            let next = self.ty.cut(counter.wrapping_add(self.steps[lane] as u64));
            if !turn.top && !is(turn.predicate, if turn.early { counter } else { next }, 0) {
                return Some(rounds + 1);
            }
            counter = next;
        }
        None
    }
}

impl Maker {
    /// A loop, with what its bound takes in front.
    pub(super) fn turns(&mut self, out: &mut Vec<Stmt>) {
        let depth = self.around.len();
        let ty = if self.chance(16) { Ty::Int(16) } else { self.pick(&[I32, I32, I32, I64]) };
        let step = self.pick(&STEPS);
        let top = self.chance(6);
        let mut turn = Turn {
            id: self.id(),
            ty,
            start: Operand::Const(0),
            step: if self.chance(10) { self.arg(ty, step) } else { Operand::Const(step) },
            bound: Operand::Const(0),
            moving: self.chance(16),
            predicate: "ne",
            swapped: self.chance(4),
            inverse: self.chance(3),
            top,
            guards: Vec::new(),
            early: !top && self.chance(9),
            promises: [false; 2],
            last: None,
            walks: Vec::new(),
            hint: Hint::None,
            body: Vec::new(),
        };
        if depth > 0 && self.chance(3) {
            self.triangle(&mut turn, step, out);
        } else {
            self.known(&mut turn, step, out);
        }
        if self.chance(3) {
            turn.last = Some(self.rng.usize(0..self.program.vars.len()));
        }
        if self.chance(10) {
            turn.hint = match self.rng.u32(0..4) {
                0 => Hint::Count(self.rng.u32(1..6)),
                1 => Hint::Flag("disable"),
                2 => Hint::Flag("full"),
                _ => Hint::Flag("enable"),
            };
        }
        if self.chance(3) {
            let shared: Vec<usize> = (0..self.program.arrays.len())
                .filter(|&array| matches!(self.program.arrays[array].space, Space::Shared { .. }))
                .collect();
            for _ in 0..self.rng.usize(1..3) {
                let (array, small) = (self.pick(&shared), self.rng.i64(-4..40));
                let from = self.pick(&[Operand::Const(small), Operand::Lane, Operand::LaneAnd(7)]);
                let by = self.pick(&[1, 1, step, 2, -1, 16]);
                let by = if self.chance(4) { self.arg(I32, by) } else { Operand::Const(by) };
                turn.walks.push(Walk { array, from, by });
            }
        }
        let far = match turn.start {
            Operand::Const(value) => value.abs() > 1000,
            Operand::Arg(arg) => signed(32, self.program.args[arg].1).abs() > 1000,
            Operand::Slot(slot) => signed(32, self.program.slots[slot].1[0]).abs() > 1000,
            _ => false,
        };
        let simple = self.rng.u32(0..4) > 0;
        let plain = simple && self.rng.u32(0..3) > 0;
        self.around.push(Around { walks: turn.walks.clone(), far, plain, recent: Vec::new() });
        let mut body = Vec::new();
        if simple {
            self.load(&mut body, true);
        }
        for _ in 0..if simple { self.pick(&[0, 0, 1, 1, 2]) } else { self.rng.usize(2..7) } {
            self.part(&mut body, simple);
        }
        self.around.pop();
        turn.body = body;
        out.push(Stmt::Loop(turn));
    }

    /// A loop whose start or bound is a counter around it.
    fn triangle(&mut self, turn: &mut Turn, step: i64, out: &mut Vec<Stmt>) {
        let counter = Operand::Counter(self.rng.usize(0..self.around.len()));
        let rounds = i64::from(self.rng.u8(0..9));
        let number = self.rng.i64(-2..12);
        let small = if self.chance(3) { self.arg(turn.ty, number) } else { Operand::Const(number) };
        (turn.start, turn.bound) = match self.rng.u32(0..4) {
            // A window around the counter, cut at an edge.
            0 if turn.ty != Ty::Int(16) => {
                let ([below, above], edges) = (self.window(counter, turn.ty, out), step > 0);
                if edges { (below, above) } else { (above, below) }
            }
            0 => (counter, small),
            1 => (small, counter),
            _ => {
                let ty = if turn.ty == I64 { I64 } else { I32 };
                let bound = self.var(ty);
                let args = [counter, Operand::Const(rounds * step)];
                out.push(Stmt::Compute { dst: bound, op: "add", args });
                (counter, Operand::Var(bound))
            }
        };
        let exact = matches!(turn.bound, Operand::Var(_)) && rounds > 0;
        let words = if step > 0 { ["slt", "slt", "ult", "sle"] } else { ["sgt", "sgt", "sge", "sgt"] };
        turn.predicate = if exact && self.chance(2) { "ne" } else { self.pick(&words) };
        self.guard(turn);
    }

    /// The ends of a window around a counter that ends at zero and at a number.
    fn window(&mut self, counter: Operand, ty: Ty, out: &mut Vec<Stmt>) -> [Operand; 2] {
        let size = self.rng.i64(1..6);
        let (ahead, edge) = (self.rng.i64(1..6), self.rng.i64(1..12));
        let edge = if self.chance(2) { Operand::Const(edge) } else { self.arg(ty, edge) };
        [("smax", -size, Operand::Const(0)), ("smin", ahead, edge)].map(|(op, by, edge)| {
            let end = self.var(ty);
            out.push(Stmt::Compute { dst: end, op: "add", args: [counter, Operand::Const(by)] });
            out.push(Stmt::Compute { dst: end, op, args: [Operand::Var(end), edge] });
            Operand::Var(end)
        })
    }

    /// A loop of which each lane's start and bound are known.
    fn known(&mut self, turn: &mut Turn, step: i64, out: &mut Vec<Stmt>) {
        let (ty, depth) = (turn.ty, self.around.len());
        let Ty::Int(width) = ty else { return };
        // Lanes go on in steps of their own, sometimes.
        let steps: Vec<i64> = match self.chance(20) {
            true => (0..ITEMS).map(|_| step + step.signum() * self.rng.i64(0..4)).collect(),
            false => vec![step; ITEMS],
        };
        if steps.iter().any(|&other| other != step) {
            turn.step = self.slot(ty, steps.iter().map(|&step| ty.cut(step as u64)).collect());
        }
        let limit = if depth > 0 { 14 } else { ROUNDS.len() };
        let alike = self.chance(2);
        let first = self.edge(width);
        let base = self.pick(&ROUNDS[..limit]);
        let lower = self.rng.u64(0..=base);
        let rounds: Vec<u64> =
            (0..ITEMS).map(|_| if alike { base } else { self.rng.u64(lower..=base + 3) }).collect();
        // Some bits of the lane's number, or an argument less that number, is a bound as it is, and all of them are starts.
        let (start, starts): (Operand, Vec<u64>) = match self.rng.u32(0..8) {
            0 if !alike => (Operand::Lane, (0..ITEMS as u64).collect()),
            1 if !alike => {
                let mask = self.pick(&[1, 3, 7, 15, 31]);
                (Operand::LaneAnd(mask), (0..ITEMS as u64).map(|lane| lane & u64::from(mask)).collect())
            }
            2 | 3 if !alike => {
                let starts: Vec<u64> =
                    (0..ITEMS).map(|_| ty.cut(first.wrapping_add(self.rng.i64(-5..6)) as u64)).collect();
                (self.slot(ty, starts.clone()), starts)
            }
            0..=2 => (self.arg(ty, first), vec![ty.cut(first as u64); ITEMS]),
            _ => (Operand::Const(first), vec![ty.cut(first as u64); ITEMS]),
        };
        turn.start = start;
        let slack = if self.chance(2) { self.rng.i64(0..step.abs()) * step.signum() } else { 0 };
        let end = |lane: usize| {
            let far = rounds[lane].wrapping_mul(steps[lane] as u64).wrapping_sub(slack as u64);
            ty.cut(starts[lane].wrapping_add(far))
        };
        let mut bounds: Vec<u64> = (0..ITEMS).map(end).collect();
        let same = bounds.iter().all(|&bound| bound == bounds[0]);
        turn.bound = if same && self.chance(5) {
            Operand::Const(signed(width, bounds[0]))
        } else if same {
            self.arg(ty, bounds[0] as i64)
        } else if alike && width >= 32 && self.chance(6) {
            // The distance is a constant: a sum in front of the loop.
            let bound = self.var(ty);
            let far = Operand::Const((base as i64).wrapping_mul(step).wrapping_sub(slack));
            out.push(Stmt::Compute { dst: bound, op: "add", args: [start, far] });
            Operand::Var(bound)
        } else if matches!(start, Operand::Const(_)) && first == 0 && step > 0 && self.chance(2) {
            let mask = self.pick(&[1, 3, 7, 15, 31]);
            bounds = (0..ITEMS as u64).map(|lane| lane & u64::from(mask)).collect();
            Operand::LaneAnd(mask)
        } else if matches!(start, Operand::Const(_)) && self.chance(3) {
            let arg = self.arg(ty, first.wrapping_add(base as i64 + 8));
            let Operand::Arg(number) = arg else { return };
            bounds = (0..ITEMS as u64)
                .map(|lane| ty.cut((first as u64).wrapping_add(base + 8).wrapping_sub(lane)))
                .collect();
            Operand::ArgLessLane(number)
        } else {
            self.slot(ty, bounds.clone())
        };
        let plan = Plan { ty, width, steps, starts, bounds };
        // The predicates that suit the direction, mostly; if none does, another bound is needed, and whoever evaluates will say so.
        let mut words = if step > 0 {
            vec!["slt", "slt", "slt", "slt", "slt", "ult", "ult", "ult", "sle", "ule", "ne"]
        } else {
            vec!["sgt", "sgt", "sgt", "sgt", "sgt", "ugt", "ugt", "ugt", "sge", "uge", "ne"]
        };
        if step.abs() == 1 {
            words.extend(["ne", "ne"]);
        }
        self.rng.shuffle(&mut words);
        let mut others = PREDICATES.to_vec();
        self.rng.shuffle(&mut others);
        if self.chance(12) {
            std::mem::swap(&mut words, &mut others);
        }
        words.extend(others);
        for word in words {
            turn.predicate = word;
            self.guard(turn);
            if (0..ITEMS).all(|lane| plan.rounds(turn, lane).is_some()) {
                break;
            }
        }
    }

    /// Guards in front of a loop that asks at its end: what it asks itself, something weaker or something else; or none.
    fn guard(&mut self, turn: &mut Turn) {
        turn.guards.clear();
        if turn.top && !self.chance(8) || !turn.top && self.chance(3) {
            return;
        }
        if self.chance(4) {
            let predicate = self.pick(&PREDICATES);
            turn.guards.push(Guard { predicate, plus: self.rng.i64(-2..3), swapped: self.rng.bool() });
            if self.chance(2) {
                return;
            }
        }
        turn.guards.push(Guard { predicate: turn.predicate, plus: 0, swapped: self.chance(4) });
        if turn.predicate == "ne" && self.chance(2) {
            let word = self.pick(&["slt", "sgt", "ult", "ugt"]);
            turn.guards
                .insert(self.rng.usize(0..2), Guard { predicate: word, plus: 0, swapped: self.chance(4) });
        }
    }

    /// Where a counter starts: mostly about zero, sometimes where it is about to wrap, or has.
    fn edge(&mut self, width: u32) -> i64 {
        let (most, near) = ((1i64 << (width - 1)).wrapping_sub(1), self.rng.i64(-9..10));
        match self.rng.u32(0..16) {
            0..=7 => 0,
            8 => 1,
            9 | 10 => near,
            11 => most.wrapping_sub(self.rng.i64(0..40)),
            12 => most.wrapping_add(near),
            13 => most.wrapping_add(self.rng.i64(1..40)),
            14 => self.rng.i64(-40..0),
            _ => self.rng.i64(0..300),
        }
    }
}
