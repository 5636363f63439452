//! Random programs whose lanes talk to each other through memory, with no more order between their accesses than that takes.
//!
//! A lane that reads what another one wrote needs an ordering in between: a barrier of the wave or of the
//! work-group, or a fence. Among the lanes of one wave the hardware meets it by itself, so it leaves no
//! instruction, and every step of the compiler has to know that it was there: what looks like `store p`,
//! `load p + 4`, `store p + 8` of one thread is neighbours handing something on.
//!
//! ```text
//! generate   statements without order: accesses at places that follow the lane, the rounds of loops, values
//! evaluate   all lanes in lockstep, a statement at a time; finds each pair of accesses that would race
//! generate   puts an ordering in front of the second one of each, as strong as the lanes need and no stronger
//! print      LLVM IR
//! judge      compiled, run on the simulator, compared with what was evaluated
//! reduce     a program that goes wrong becomes smaller
//! ```
//!
//! Orderings change nothing of what the evaluation computes, so what is missing can be found by evaluating, and a program is
//! free of races on the very inputs that it runs with. Accesses of different lanes to one byte in one statement
//! have no order at all: statements that would need one are left out.
//!
//! Cost: ten to twenty milliseconds a program, most of them the evaluation's.

mod evaluate;
mod generate;
mod judge;
mod print;
mod reduce;
#[cfg(test)]
mod tests;

use super::Ty;

pub use generate::exchange;
pub use judge::check_exchange;

/// What programs are made for.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeForm {
    /// Lanes of a wave.
    pub wave: u32,
    /// Whatever orders lanes is an operation that all of them execute together: passes over IR may copy a mere fence
    /// into both arms of a branch in front of it.
    pub convergent: bool,
}

/// A kernel whose lanes exchange values.
#[derive(Clone, Debug)]
pub struct Exchange {
    form: ExchangeForm,
    /// Work-items of a work-group.
    items: u32,
    /// Work-groups.
    groups: u32,
    /// Types of the variables of each lane.
    vars: Vec<Ty>,
    regions: Vec<Region>,
    maps: Vec<Map>,
    /// Arguments that are numbers of rounds.
    trips: Vec<u32>,
    /// The number of a wave is known to be the same in its lanes.
    scalar_wave: bool,
    /// A lane finds its place in the wave by counting those below it.
    counted_lane: bool,
    /// The arguments for input and output overlap with no other.
    noalias: bool,
    /// The variables of each work-item at the start.
    input: Vec<u8>,
    body: Vec<Stmt>,
}

/// Memory of a work-group: an array in LDS, or a part of a buffer.
#[derive(Clone, Debug)]
struct Region {
    lds: bool,
    bytes: u32,
    align: u32,
    /// What a buffer holds at first, for all work-groups; empty for LDS, of which nothing is known.
    start: Vec<u8>,
}

/// Which number a lane has where it accesses memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    /// That of the work-item.
    Own,
    /// With some bits inverted.
    Xor(u32),
    /// Counted from the end.
    Reversed,
    /// That of a work-item further on, cyclically in the work-group.
    Rotated(u32),
    /// The same in the wave; other waves are elsewhere.
    InWave(u32),
    /// With some bits inverted, in the wave.
    XorInWave(u32),
    /// One for several neighbours: shifted to the right.
    Shared(u32),
    /// Bits of an `i32`, with a mask.
    Value(usize, u32),
    /// That of the wave.
    Wave,
    /// Zero for all.
    Zero,
}

/// Where accesses are: byte `base + number * scale + wave * slice`.
#[derive(Clone, Debug)]
struct Map {
    region: usize,
    number: Number,
    base: u32,
    scale: u32,
    /// Bytes of each wave, where numbers are counted in it.
    slice: u32,
    form: Form,
    /// Computed at the start of the kernel instead of at each access.
    early: bool,
    /// Indices have 64 bits.
    wide: bool,
}

impl Map {
    /// Whether it takes the number of the wave, or of the lane in it.
    fn is_of_waves(&self) -> bool {
        self.slice > 0 || matches!(self.number, Number::InWave(_) | Number::XorInWave(_) | Number::Wave)
    }
}

/// How an address is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Step by step from the base, the constant last.
    Steps,
    /// All added first, in bytes.
    Bytes,
    /// All added first, in dwords where it consists of such.
    Dwords,
}

/// An access: of `ty` at `map`, `offset` bytes further, and so many bytes further in each round of a loop around it.
#[derive(Clone, Debug)]
struct Access {
    map: usize,
    offset: u32,
    /// Loop, counted from the outermost, and bytes.
    step: Option<(usize, u32)>,
    ty: Ty,
    align: u32,
    how: How,
}

/// What is special about an access.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Plain,
    Volatile,
    /// Atomic and monotonic in this scope.
    Atomic(&'static str),
}

/// An `i32`.
#[derive(Clone, Copy, Debug)]
enum Operand {
    /// A part of a variable, see [`evaluate::word`].
    Var(usize, u8),
    Const(u32),
    Item,
    /// The number of the lane in its wave; only for conditions.
    Lane,
    Group,
    /// The round of a loop, counted from the outermost.
    Round(usize),
}

/// What decides a branch.
#[derive(Clone, Copy, Debug)]
enum Cond {
    /// Some bits of an operand have a value.
    Bits(Operand, u32, u32),
    /// An operand is below a number.
    Below(Operand, u32),
}

/// Whose accesses an ordering keeps in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Wave,
    Group,
}

/// How an ordering is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// `llvm.amdgcn.wave.barrier`.
    WaveBarrier,
    /// `llvm.amdgcn.s.barrier` alone.
    Barrier,
    /// One fence.
    Fence,
    /// A releasing and an acquiring fence.
    Fences,
    /// `llvm.amdgcn.wave.barrier` between the two.
    FencedWaveBarrier,
    /// `llvm.amdgcn.s.barrier` between the two.
    FencedBarrier,
}

/// What stands between accesses of different lanes to one place.
#[derive(Clone, Copy, Debug)]
struct Order {
    scope: Scope,
    way: Way,
    /// LLVM's scope of its fences.
    sync: &'static str,
    /// Orderings of the first and the second fence.
    fences: [&'static str; 2],
    /// Its fences are of LDS alone (true) or of memory alone.
    only: Option<bool>,
    /// It is in a function, which may be inlined (true) or not.
    called: Option<bool>,
}

/// How often a loop runs.
#[derive(Clone, Copy, Debug)]
enum Trips {
    Const(u32),
    /// An argument.
    Arg(usize),
}

/// A statement. Those inside of an `If` belong to it as one, since nothing orders them.
#[derive(Clone, Debug)]
struct Stmt {
    /// Its number in the program, in the order of the text.
    id: u32,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The operation on two `i32`, put into a part of a variable.
    Compute { dst: usize, part: u8, op: &'static str, args: [Operand; 2] },
    /// `dst = dst op arg`, of one type.
    Wide { dst: usize, op: &'static str, arg: usize },
    /// `dst = load`, or `dst = dst op load`.
    Load { access: Access, dst: usize, op: Option<&'static str> },
    /// A store of a variable.
    Store { access: Access, value: usize },
    /// An atomic operation on memory in a scope; its old value goes to `dst`.
    Atomic { access: Access, op: &'static str, sync: &'static str, value: usize, dst: Option<usize> },
    /// A branch that lanes may take differently.
    If { cond: Cond, arms: [Vec<Stmt>; 2] },
    /// An ordering.
    Order(Order),
    /// A loop that all lanes run together; rounds count from zero, or down to it. `guarded` asks before the first round.
    Loop { trips: Trips, down: bool, guarded: bool, body: Vec<Stmt> },
}

impl Exchange {
    /// Lanes of a wave that there are.
    fn lanes(&self) -> u32 {
        self.form.wave.min(self.items)
    }

    fn trips(&self, trips: Trips) -> u32 {
        match trips {
            Trips::Const(count) => count,
            Trips::Arg(number) => self.trips[number],
        }
    }

    /// Byte offset of each variable in a work-item's part of the input and output, and the size of that.
    fn slots(&self) -> (Vec<usize>, usize) {
        let mut at = 0usize;
        let mut slots = Vec::new();
        for ty in &self.vars {
            at = at.next_multiple_of(ty.bytes());
            slots.push(at);
            at += ty.bytes();
        }
        (slots, at.next_multiple_of(16))
    }

    /// The variables that the program has to do with; others are neither loaded nor stored.
    fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.vars.len()];
        for (map, _) in self.maps.iter().zip(self.used_maps().0).filter(|&(_, used)| used) {
            if let Number::Value(var, _) = map.number {
                used[var] = true;
            }
        }
        mentioned(&self.body, &mut used);
        used
    }

    /// Which maps the program uses, and which regions these are of.
    fn used_maps(&self) -> (Vec<bool>, Vec<bool>) {
        let mut maps = vec![false; self.maps.len()];
        used_maps(&self.body, &mut maps);
        let mut regions = vec![false; self.regions.len()];
        for (map, _) in self.maps.iter().zip(&maps).filter(|&(_, &used)| used) {
            regions[map.region] = true;
        }
        (maps, regions)
    }
}

/// Marks the variables that `body` reads or writes.
fn mentioned(body: &[Stmt], used: &mut [bool]) {
    let operand = |operand: Operand, used: &mut [bool]| {
        if let Operand::Var(var, _) = operand {
            used[var] = true;
        }
    };
    for stmt in body {
        match &stmt.kind {
            Kind::Compute { dst, args, .. } => {
                used[*dst] = true;
                args.iter().for_each(|&arg| operand(arg, used));
            }
            Kind::Wide { dst, arg, .. } => [*dst, *arg].iter().for_each(|&var| used[var] = true),
            Kind::Load { dst, .. } => used[*dst] = true,
            Kind::Store { value, .. } => used[*value] = true,
            Kind::Atomic { value, dst, .. } => {
                std::iter::once(*value).chain(*dst).for_each(|var| used[var] = true);
            }
            Kind::If { cond: Cond::Bits(of, ..) | Cond::Below(of, _), arms } => {
                operand(*of, used);
                arms.iter().for_each(|arm| mentioned(arm, used));
            }
            Kind::Order(_) => {}
            Kind::Loop { body, .. } => mentioned(body, used),
        }
    }
}

/// Whether a condition in `body` is about the lane's number.
fn asks_for_lanes(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        Kind::If { cond: Cond::Bits(of, ..) | Cond::Below(of, _), arms } => {
            matches!(of, Operand::Lane) || arms.iter().any(|arm| asks_for_lanes(arm))
        }
        Kind::Loop { body, .. } => asks_for_lanes(body),
        _ => false,
    })
}

/// Marks the maps of the accesses in `body`.
fn used_maps(body: &[Stmt], used: &mut [bool]) {
    for stmt in body {
        match &stmt.kind {
            Kind::Load { access, .. } | Kind::Store { access, .. } | Kind::Atomic { access, .. } => {
                used[access.map] = true;
            }
            Kind::If { arms, .. } => arms.iter().for_each(|arm| used_maps(arm, used)),
            Kind::Loop { body, .. } => used_maps(body, used),
            Kind::Compute { .. } | Kind::Wide { .. } | Kind::Order(_) => {}
        }
    }
}
