//! Makes a program from a seed.
//!
//! Accesses come in bursts over neighbouring places of few maps, so that most touch what others touched, in loops with a step in each
//! round. Whether they race is not thought of here: [`evaluate()`] says where orderings are missing, and they are put there.

use super::evaluate::{Needs, evaluate};
use super::*;
use fastrand::Rng;

const OPS: [&str; 8] = ["add", "sub", "mul", "xor", "and", "or", "shl", "lshr"];
const WIDE: [&str; 5] = ["add", "add", "xor", "sub", "mul"];
const UPDATES: [&str; 5] = ["add", "or", "xor", "umax", "sub"];
/// Types of variables besides four `i32`.
const TYPES: [Ty; 7] =
    [Ty::Int(8), Ty::Int(16), Ty::Int(32), Ty::Int(64), Ty::F32, Ty::Vec(32, 2), Ty::Vec(32, 4)];
/// Bytes from the place of one lane to that of the next.
const SCALES: [u32; 14] = [4, 4, 4, 4, 4, 8, 8, 8, 12, 16, 16, 20, 2, 1];
/// Most rounds of a loop, and of all loops around a statement.
const ROUNDS: u32 = 20;

/// The program of a seed.
pub fn exchange(seed: u64, form: ExchangeForm) -> Exchange {
    let mut rng = Rng::with_seed(seed);
    let items = if rng.bool() { form.wave } else { 32 << rng.u32(0..4) };
    let mut vars = vec![Ty::Int(32); 4];
    vars.extend((0..rng.usize(1..6)).map(|_| TYPES[rng.usize(0..TYPES.len())]));
    let program = Exchange {
        form,
        items,
        groups: rng.u32(2..4),
        vars,
        regions: Vec::new(),
        maps: Vec::new(),
        trips: Vec::new(),
        scalar_wave: rng.bool(),
        counted_lane: rng.bool(),
        noalias: rng.bool(),
        input: Vec::new(),
        body: Vec::new(),
    };
    let apart = items > form.wave && rng.bool();
    let mut maker = Maker { rng, program, loops: Vec::new(), apart };
    maker.inputs();
    maker.regions();
    let mut body = maker.fill();
    for _ in 0..maker.rng.usize(3..8) {
        maker.part(&mut body);
    }
    // What lanes find at the end tells of what went wrong before.
    for _ in 0..2 {
        let map = maker.some_map();
        maker.burst(&mut body, map, Some(Sort::Load));
    }
    let Maker { mut rng, mut program, .. } = maker;
    program.body = body;
    renumber(&mut program.body, &mut 0);
    while let Err(needs) = evaluate(&program) {
        let impossible = needs.values().any(|need| need.impossible);
        let mut repair = Repair { rng: &mut rng, form, items, needs: &needs, impossible };
        repair.apply(&mut program.body);
        renumber(&mut program.body, &mut 0);
    }
    program
}

/// Numbers statements in their order.
fn renumber(body: &mut [Stmt], next: &mut u32) {
    for stmt in body {
        stmt.id = *next;
        *next += 1;
        match &mut stmt.kind {
            Kind::If { arms, .. } => arms.iter_mut().for_each(|arm| renumber(arm, next)),
            Kind::Loop { body, .. } => renumber(body, next),
            _ => {}
        }
    }
}

/// Leaves out what is impossible, or else puts orderings where they are missing.
struct Repair<'a> {
    rng: &'a mut Rng,
    form: ExchangeForm,
    items: u32,
    needs: &'a Needs,
    impossible: bool,
}

impl Repair<'_> {
    fn apply(&mut self, body: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(body) {
            let need = self.needs.get(&stmt.id).copied().unwrap_or_default();
            if need.impossible {
                continue;
            }
            if let Kind::Loop { body, .. } = &mut stmt.kind {
                self.apply(body);
            }
            if let Some(scope) = need.order[0].max(need.order[1]).filter(|_| !self.impossible) {
                // An ordering of one kind of memory, where no more is needed.
                let only = match need.order {
                    [Some(_), Some(_)] => None,
                    [_, lds] => (self.rng.u32(0..4) == 0).then_some(lds.is_some()),
                };
                let order = order(self.rng, self.form, self.items, scope, only);
                body.push(Stmt { id: 0, kind: Kind::Order(order) });
            }
            body.push(stmt);
        }
    }
}

/// An ordering among the lanes of a wave or of the work-group.
fn order(rng: &mut Rng, form: ExchangeForm, items: u32, scope: Scope, only: Option<bool>) -> Order {
    let one_wave = items <= form.wave;
    let called = (rng.u32(0..16) == 0).then(|| rng.bool());
    let strong = scope == Scope::Group || rng.u32(0..3) == 0 && (one_wave || rng.u32(0..4) == 0);
    let fences = [["release", "acquire"], ["acq_rel", "acq_rel"], ["seq_cst", "seq_cst"]];
    let fences = fences[[0, 0, 0, 0, 1, 2][rng.usize(0..6)]];
    if strong {
        let sync = [
            "workgroup",
            "workgroup",
            "workgroup",
            "workgroup-one-as",
            "agent",
            "agent-one-as",
            "",
            "one-as",
        ];
        let sync = sync[rng.usize(0..sync.len())];
        return Order { scope: Scope::Group, way: Way::FencedBarrier, sync, fences, only, called };
    }
    let ways = [Way::FencedWaveBarrier, Way::WaveBarrier, Way::Barrier, Way::Fence, Way::Fences];
    // A mere barrier orders all memory.
    let ways = match (form.convergent, only) {
        (true, Some(_)) => &ways[..1],
        (true, None) => &ways[..3],
        (false, Some(_)) => &[Way::FencedWaveBarrier, Way::Fence, Way::Fences],
        (false, None) => &ways[..],
    };
    let way = ways[rng.usize(0..ways.len())];
    // A barrier among waves orders what they did if nothing else does, too, but is not needed here.
    let way = if way == Way::Barrier && !one_wave { Way::WaveBarrier } else { way };
    let sync = if rng.u32(0..4) == 0 { "wavefront-one-as" } else { "wavefront" };
    let fences = match way {
        Way::Fence if fences[0] == "release" => ["acq_rel"; 2],
        _ => fences,
    };
    Order { scope, way, sync, fences, only, called }
}

/// Kinds of accesses.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Load,
    Store,
    /// An atomic operation whose old value nobody wants, so that many lanes may do it at one place.
    Update,
    /// An atomic operation that is alone at its place.
    Exchange,
}

struct Maker {
    rng: Rng,
    program: Exchange,
    /// Numbers of rounds of the loops around what is made.
    loops: Vec<u32>,
    /// Waves keep to parts of regions that are their own.
    apart: bool,
}

impl Maker {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(0..from.len())]
    }

    fn chance(&mut self, of: u32) -> bool {
        self.rng.u32(0..of) == 0
    }

    fn inputs(&mut self) {
        let (_, stride) = self.program.slots();
        let size = (self.program.groups * self.program.items) as usize * stride;
        self.program.input = (0..size).map(|_| self.rng.u8(..)).collect();
    }

    fn regions(&mut self) {
        let items = self.program.items;
        let kinds: &[bool] = match self.rng.u32(0..8) {
            0 => &[true],
            1 => &[false],
            2 => &[true, true],
            3 => &[true, true, false],
            4 => &[true, false, false],
            _ => &[true, false],
        };
        for &lds in kinds {
            // All LDS is 32 KiB on GFX6.
            let dwords = self.pick(&[4, 6, 8, 12, 16]);
            let bytes = 4 * dwords * items;
            let align = self.pick(&[4, 8, 16, 16, 16]);
            let size = if lds { 0 } else { self.program.groups * bytes };
            let start = (0..size).map(|_| self.rng.u8(..)).collect();
            let align = if lds { align } else { 16 };
            let region = self.program.regions.len();
            self.program.regions.push(Region { lds, bytes, align, start });
            // What fills LDS goes over it with this one; others cross it.
            self.map(region, Number::Own, 4, 0);
            self.random_map(region);
        }
        for _ in 0..self.rng.usize(1..3) {
            let region = self.rng.usize(0..kinds.len());
            self.random_map(region);
        }
    }

    fn map(&mut self, region: usize, number: Number, scale: u32, base: u32) {
        let lanes = self.program.lanes();
        let waves = self.program.items / lanes;
        let slice = match number {
            Number::Own => 0,
            _ if waves == 1 => 0,
            _ if self.apart => self.program.regions[region].bytes / waves,
            Number::InWave(_) | Number::XorInWave(_) => lanes * scale + self.pick(&[0, 0, 0, 4, 16]),
            _ => 0,
        };
        let map = Map {
            region,
            number,
            base,
            scale,
            slice,
            form: self.pick(&[Form::Steps, Form::Steps, Form::Bytes, Form::Dwords]),
            early: self.rng.bool() && !matches!(number, Number::Value(..)),
            wide: self.rng.bool() && !self.program.regions[region].lds,
        };
        self.program.maps.push(map);
    }

    fn random_map(&mut self, region: usize) {
        let (items, lanes) = (self.program.items, self.program.lanes());
        let small = |rng: &mut Rng, limit: u32| (1 << rng.u32(0..limit.ilog2())) | rng.u32(0..2);
        let kind = if self.apart { self.rng.u32(7..12) } else { self.rng.u32(0..15) };
        let number = match kind {
            0..4 => Number::Own,
            4 => Number::Xor(small(&mut self.rng, items)),
            5 => Number::Reversed,
            6 => Number::Rotated(small(&mut self.rng, items)),
            7 | 8 => Number::InWave(self.rng.u32(0..3)),
            9 | 10 => Number::XorInWave(small(&mut self.rng, lanes)),
            11 if self.apart => Number::Zero,
            11 => Number::Shared(self.rng.u32(1..8)),
            12 => Number::Value(self.rng.usize(0..4), items - 1),
            13 => Number::Wave,
            _ => Number::Zero,
        };
        let scale = self.pick(&SCALES);
        let base = if self.rng.bool() { 0 } else { 4 * self.rng.u32(0..9) };
        self.map(region, number, scale, base);
    }

    /// Stores to every byte of LDS.
    fn fill(&mut self) -> Vec<Stmt> {
        let mut body = Vec::new();
        let (items, lds) = (self.program.items, self.program.regions.clone());
        for (region, _) in lds.iter().enumerate().filter(|(_, region)| region.lds) {
            let map = self.program.maps.iter().position(|map| map.region == region).unwrap_or(0);
            let rows = self.program.regions[region].bytes / (4 * items);
            let at =
                |offset: u32, step| Access { map, offset, step, ty: Ty::Int(32), align: 4, how: How::Plain };
            let value = self.rng.usize(0..4);
            let plus = Operand::Const(self.rng.u32(..));
            let change =
                Kind::Compute { dst: value, part: 0, op: "add", args: [Operand::Var(value, 0), plus] };
            if self.rng.bool() {
                let store = Kind::Store { access: at(0, Some((0, 4 * items))), value };
                let inside = vec![statement(store), statement(change)];
                body.push(self.turns(rows, inside));
                continue;
            }
            for row in 0..rows {
                body.push(statement(Kind::Store { access: at(4 * items * row, None), value }));
                body.push(statement(change.clone()));
            }
        }
        body
    }

    fn turns(&mut self, count: u32, body: Vec<Stmt>) -> Stmt {
        let trips = if self.rng.bool() {
            Trips::Const(count)
        } else {
            self.program.trips.push(count);
            Trips::Arg(self.program.trips.len() - 1)
        };
        statement(Kind::Loop { trips, down: self.chance(5), guarded: self.chance(3), body })
    }

    /// A part of a body: accesses, a branch around some, a loop with parts.
    fn part(&mut self, body: &mut Vec<Stmt>) {
        for _ in 0..self.rng.usize(0..3) {
            self.compute(body);
        }
        match self.rng.u32(0..10) {
            0 | 1 => self.branch(body),
            2..6 if self.loops.len() < 2 => {
                let limit = ROUNDS / self.loops.iter().product::<u32>().max(1);
                let count = self.rng.u32(1..limit.max(1) + 1);
                self.loops.push(count);
                let mut inside = Vec::new();
                for _ in 0..self.rng.usize(2..5) {
                    self.part(&mut inside);
                }
                self.loops.pop();
                let turns = self.turns(count, inside);
                body.push(turns);
            }
            _ => {
                let map = self.some_map();
                self.burst(body, map, None);
            }
        }
        if self.chance(8) {
            let scope = if self.rng.bool() { Scope::Wave } else { Scope::Group };
            let order = order(&mut self.rng, self.program.form, self.program.items, scope, None);
            body.push(statement(Kind::Order(order)));
        }
    }

    fn branch(&mut self, body: &mut Vec<Stmt>) {
        let of = self.operand();
        let items = self.program.items;
        let map = self.some_map();
        let sharers = self.sharers(map);
        if sharers > 1 && !self.chance(4) {
            // One of those that share a place stores there.
            let cond = Cond::Bits(Operand::Item, sharers - 1, self.rng.u32(0..sharers));
            let mut arm = Vec::new();
            self.burst(&mut arm, map, Some(Sort::Store));
            body.push(statement(Kind::If { cond, arms: [arm, Vec::new()] }));
            return;
        }
        let lanes = self.program.lanes();
        let cond = match self.rng.u32(0..7) {
            5 => Cond::Bits(Operand::Lane, self.rng.u32(1..lanes), self.rng.u32(0..4)),
            6 => Cond::Below(Operand::Lane, self.rng.u32(1..lanes)),
            0 => Cond::Bits(Operand::Item, 1 << self.rng.u32(0..items.ilog2()), 0),
            1 => Cond::Below(Operand::Item, self.rng.u32(1..items)),
            2 => Cond::Below(of, self.rng.u32(..)),
            3 => Cond::Bits(Operand::Group, 1, self.rng.u32(0..2)),
            _ => Cond::Bits(of, 3, self.rng.u32(0..4)),
        };
        let mut arms = [Vec::new(), Vec::new()];
        let both = self.chance(3);
        for (number, arm) in arms.iter_mut().enumerate() {
            if number == 0 || both {
                let map = self.some_map();
                self.burst(arm, map, None);
                if self.rng.bool() {
                    self.compute(arm);
                }
            }
        }
        body.push(statement(Kind::If { cond, arms }));
    }

    fn operand(&mut self) -> Operand {
        match self.rng.u32(0..10) {
            0 => Operand::Item,
            1 => Operand::Group,
            2 => Operand::Const(self.rng.u32(0..100)),
            3 if !self.loops.is_empty() => Operand::Round(self.rng.usize(0..self.loops.len())),
            _ => Operand::Var(self.rng.usize(0..self.program.vars.len()), self.rng.u8(0..4)),
        }
    }

    fn compute(&mut self, body: &mut Vec<Stmt>) {
        let dst = self.rng.usize(0..self.program.vars.len());
        let ty = self.program.vars[dst];
        let same: Vec<usize> = (0..self.program.vars.len()).filter(|&v| self.program.vars[v] == ty).collect();
        if ty != Ty::F32 && ty != Ty::Int(32) && self.rng.bool() {
            let (op, arg) = (self.pick(&WIDE), self.pick(&same));
            body.push(statement(Kind::Wide { dst, op, arg }));
            return;
        }
        let op = self.pick(&OPS);
        let mut args = [self.operand(), self.operand()];
        if matches!(op, "shl" | "lshr") {
            args[1] = Operand::Const(self.rng.u32(1..31));
        }
        body.push(statement(Kind::Compute { dst, part: self.rng.u8(0..4), op, args }));
    }

    fn some_map(&mut self) -> usize {
        let apart = |map: &Map| !self.apart || map.slice > 0;
        let maps = &self.program.maps;
        let maps: Vec<usize> = (0..maps.len()).filter(|&map| apart(&maps[map])).collect();
        self.pick(&maps)
    }

    /// How many lanes have the same place, about.
    fn sharers(&self, map: usize) -> u32 {
        match self.program.maps[map].number {
            Number::Shared(shift) => self.program.items.min(1 << shift),
            Number::Wave => self.program.lanes(),
            Number::Zero if self.apart => self.program.lanes(),
            Number::Zero => self.program.items,
            _ => 1,
        }
    }

    /// Up to four accesses of one kind to neighbouring places; where the type has no atomic operations, stores.
    fn burst(&mut self, body: &mut Vec<Stmt>, map: usize, sort: Option<Sort>) {
        let Map { scale, number, .. } = self.program.maps[map];
        let shared = self.sharers(map) > 1 || matches!(number, Number::Value(..));
        let sort = sort.unwrap_or_else(|| match self.rng.u32(0..16) {
            // All lanes at once cannot store to one place, but add to it.
            0..4 if shared => Sort::Update,
            _ if shared => Sort::Load,
            0 => Sort::Update,
            1 => Sort::Exchange,
            2..9 => Sort::Store,
            _ => Sort::Load,
        });
        let fits = |ty: Ty| ty.bytes() as u32 <= scale || sort == Sort::Load && scale >= 4;
        let vars: Vec<usize> =
            (0..self.program.vars.len()).filter(|&var| fits(self.program.vars[var])).collect();
        if vars.is_empty() {
            return;
        }
        let var = self.pick(&vars);
        let ty = self.program.vars[var];
        let same: Vec<usize> = vars.iter().copied().filter(|&var| self.program.vars[var] == ty).collect();
        let size = ty.bytes() as u32;
        let unit = size.min(4);
        let count = self.pick(&[1, 1, 1, 2, 2, 3, 4]);
        let apart = self.pick(&[size, size, size, scale, 2 * size]).next_multiple_of(unit);
        let start = unit * self.rng.u32(0..5);
        let step = self.step(map, size, scale, start + (count - 1) * apart);
        let how = match self.rng.u32(0..16) {
            0 => How::Volatile,
            1 => How::Atomic(self.pick(&["wavefront", "workgroup", "agent", "workgroup-one-as"])),
            _ => How::Plain,
        };
        for number in 0..count {
            let mut access = Access { map, offset: start + number * apart, step, ty, align: 1, how };
            access.align = self.align(&access);
            let whole = matches!(ty, Ty::Int(_)) && access.align >= size;
            if matches!(how, How::Atomic(_)) && !(whole || ty == Ty::F32) {
                access.how = How::Plain;
            }
            if self.chance(12) {
                access.align = unit;
            }
            let value = self.pick(&same);
            let atomic = matches!(sort, Sort::Update | Sort::Exchange) && whole && size >= 4;
            body.push(statement(if atomic {
                access.how = How::Plain;
                access.align = size;
                let sync = self.pick(&["workgroup", "agent", "wavefront"]);
                let op = if sort == Sort::Update {
                    self.pick(&UPDATES)
                } else {
                    self.pick(&["xchg", "xchg", "add"])
                };
                let dst = (sort == Sort::Exchange && self.rng.bool()).then(|| self.pick(&same));
                Kind::Atomic { access, op, sync, value, dst }
            } else if sort != Sort::Load {
                Kind::Store { access, value }
            } else {
                let op = (!self.chance(4)).then(|| self.pick(&WIDE));
                Kind::Load { access, dst: value, op: op.filter(|_| ty != Ty::F32) }
            }));
        }
    }

    /// What an access in a loop goes on by in each round, as far as its region reaches.
    fn step(&mut self, map: usize, size: u32, scale: u32, offset: u32) -> Option<(usize, u32)> {
        if self.loops.is_empty() || self.chance(3) {
            return None;
        }
        let depth = self.rng.usize(0..self.loops.len());
        let items = self.program.items;
        let unit = size.min(4);
        let step =
            self.pick(&[size, size, scale, 2 * size, 4, items * scale, items * 4]).next_multiple_of(unit);
        let Map { base, region, .. } = self.program.maps[map];
        let lanes = if self.apart { self.program.lanes() } else { items };
        let last = (lanes - 1) / self.sharers(map);
        let end = base + last * scale + offset + size + step * (self.loops[depth] - 1);
        (end <= self.program.regions[region].bytes / (items / lanes)).then_some((depth, step))
    }

    /// How the place of an access is aligned at least.
    fn align(&self, access: &Access) -> u32 {
        let map = &self.program.maps[access.map];
        let step = access.step.map_or(0, |(_, bytes)| bytes);
        let all =
            map.base | map.scale | map.slice | access.offset | step | self.program.regions[map.region].align;
        (1 << all.trailing_zeros()).min(access.ty.bytes() as u32)
    }
}

fn statement(kind: Kind) -> Stmt {
    Stmt { id: 0, kind }
}
