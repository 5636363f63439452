//! Random programs that are loops over memory, with everything about their counters that a pass over loops must ask for.
//!
//! A loop's counter has a width, a start, a step and a bound, each a constant, the same for all lanes, or another in each of them; the loop
//! asks at its top or its end, for the counter or its next value, with any predicate, behind guards that say the same, less, or something else.
//! It may wrap, as long as it ends soon. Bodies load what follows the counter, add it up, and sometimes store, branch and leave. Accesses may say that they
//! are to the memory of their array, and to that of no other, by scopes.
//!
//! ```text
//! generate   statements whose loops end soon, as far as is seen from their starts, steps and bounds
//! evaluate   each lane alone; what no lane does may be promised: no sum that overflows, no index out of bounds
//! generate   masks indices that are out of bounds, and promises some of what holds
//! print      LLVM IR
//! judge      compiled, run on the simulator, compared with what was evaluated
//! reduce     a program that goes wrong becomes smaller
//! ```
//!
//! Lanes write memory of their own alone, and NaNs and denormals do not occur, so that each bit of the result is known.
//!
//! Cost: some milliseconds a program, of which one in two is thrown away because a loop of it would not end soon.

mod evaluate;
mod generate;
mod judge;
mod print;
mod reduce;
#[cfg(test)]
mod tests;

use super::Ty;
use super::evaluate::signed;

pub use generate::loops;
pub use judge::check_loops;

/// Work-items that run.
const ITEMS: usize = 128;
/// Work-items of a work-group.
const GROUP: usize = 64;
/// Elements of an array that all lanes read.
const SHARED: i64 = 4096;
/// Elements of an array that each lane has.
const OWN: i64 = 16;

const I32: Ty = Ty::Int(32);
const I64: Ty = Ty::Int(64);

/// A kernel of loops over memory.
#[derive(Clone, Debug)]
pub struct Loops {
    /// Types of variables, and what they start from.
    vars: Vec<(Ty, Operand)>,
    /// Uniform arguments.
    args: Vec<(Ty, u64)>,
    /// What is loaded for each lane at the start: the type, and the value of each.
    slots: Vec<(Ty, Vec<u64>)>,
    arrays: Vec<Array>,
    body: Vec<Stmt>,
}

/// Where an array is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Space {
    /// Read by all lanes; its base is in the middle, or else at its start.
    Shared { middle: bool },
    /// A part of a buffer for each lane, or every so many elements.
    Own { interleaved: bool },
    /// The same in LDS.
    Lds { interleaved: bool },
    /// On the stack.
    Private,
}

/// An array of vectors, which may have one element, and what it holds at first: for one lane, where it is in LDS or on the stack.
#[derive(Clone, Debug)]
struct Array {
    space: Space,
    ty: Ty,
    lanes: u32,
    data: Vec<u8>,
    /// Its argument is `readonly`, or `noalias`, where it has one.
    readonly: bool,
    noalias: bool,
}

impl Array {
    fn name(&self) -> String {
        if self.lanes == 1 { self.ty.name() } else { format!("<{} x {}>", self.lanes, self.ty.name()) }
    }

    /// Bytes from one vector to the next.
    fn bytes(&self) -> usize {
        self.ty.bytes() * self.lanes as usize
    }

    /// The indices that there are, and a mask that makes one of any number.
    fn bounds(&self) -> (std::ops::Range<i64>, i64) {
        match self.space {
            Space::Shared { middle: true } => (-SHARED / 2..SHARED / 2, SHARED / 2 - 1),
            Space::Shared { middle: false } => (0..SHARED, SHARED - 1),
            _ => (0..OWN, OWN - 1),
        }
    }

    /// Number of LLVM's address space, and width of its indices.
    fn space(&self) -> (u32, u32) {
        match self.space {
            Space::Shared { .. } | Space::Own { .. } => (1, 64),
            Space::Lds { .. } => (3, 32),
            Space::Private => (5, 32),
        }
    }
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operand {
    Const(i64),
    Arg(usize),
    /// The work-item's number, and some bits of it.
    Lane,
    LaneAnd(u32),
    /// An argument less the work-item's number.
    ArgLessLane(usize),
    Slot(usize),
    Var(usize),
    /// The counter of a loop, counted from the outermost; less its start.
    Counter(usize),
    Past(usize),
}

/// Which element is accessed.
#[derive(Clone, Copy, Debug)]
enum Index {
    /// `term * scale + add * times + plus`.
    Sum { term: Operand, scale: Operand, add: Operand, times: i64 },
    /// A pointer that runs along with a loop, counted from the outermost, and `plus`.
    Walk(usize, usize),
}

/// How an index is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Sum,
    /// `(term + plus) * scale + add * times`.
    Factor,
    /// Three additions to the address, `plus` the last.
    Apart,
}

#[derive(Clone, Debug)]
struct Access {
    id: usize,
    array: usize,
    index: Index,
    plus: i64,
    form: Form,
    mask: bool,
    /// Computed in 64 bits; else how it becomes so wide, if not by the address itself.
    wide: bool,
    extend: Option<&'static str>,
    /// Its sums and products do not wrap as signed or unsigned numbers.
    promises: [bool; 2],
    inbounds: bool,
    /// Says that it is to its array's memory (`!alias.scope`), and that it is to no other array's (`!noalias`).
    scopes: [bool; 2],
}

/// What decides a branch: some bits of an operand, compared with a number.
#[derive(Clone, Copy, Debug)]
struct Cond {
    of: Operand,
    mask: u32,
    predicate: &'static str,
    value: u32,
}

#[derive(Clone, Debug)]
enum Stmt {
    /// `dst = dst op component`, for each of them in turn, of what is loaded.
    Load {
        dst: usize,
        op: &'static str,
        access: Access,
        components: Vec<u32>,
        extend: bool,
    },
    Store {
        value: Operand,
        access: Access,
    },
    /// The operation on numbers as wide as `dst`.
    Compute {
        dst: usize,
        op: &'static str,
        args: [Operand; 2],
    },
    If {
        cond: Cond,
        arms: [Vec<Stmt>; 2],
    },
    /// Leaves the loop that it stands in, in no branch.
    Break(Cond),
    Loop(Turn),
}

/// A branch in front of a loop: whether it runs at all, asked of its start and its bound, and a number added to that.
#[derive(Clone, Copy, Debug)]
struct Guard {
    predicate: &'static str,
    plus: i64,
    swapped: bool,
}

/// A pointer that runs along with a loop, from an element of an array on.
#[derive(Clone, Debug)]
struct Walk {
    array: usize,
    from: Operand,
    by: Operand,
}

/// What is wished of unrolling.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hint {
    None,
    Flag(&'static str),
    Count(u32),
}

/// A loop.
#[derive(Clone, Debug)]
struct Turn {
    id: usize,
    ty: Ty,
    start: Operand,
    step: Operand,
    bound: Operand,
    /// The bound is asked for in each round.
    moving: bool,
    /// It goes on while the counter is this to the bound.
    predicate: &'static str,
    swapped: bool,
    /// Written as the condition to leave.
    inverse: bool,
    /// Asks before each round; else behind it, with guards in front.
    top: bool,
    guards: Vec<Guard>,
    /// Behind a round asks for the counter, not its next value.
    early: bool,
    promises: [bool; 2],
    /// Variable for the counter's last value.
    last: Option<usize>,
    walks: Vec<Walk>,
    hint: Hint,
    body: Vec<Stmt>,
}

/// A number of type `from` as one of type `to`: sign-extended or cut; bits of a `float`, or the lowest eight as one.
fn convert(bits: u64, from: Ty, to: Ty) -> u64 {
    match (from, to) {
        (Ty::Int(width), Ty::F32) => {
            let low = signed(width, bits) as u8;
            u64::from(f32::from(low).to_bits())
        }
        (Ty::Int(width), _) => to.cut(signed(width, bits) as u64),
        (_, Ty::F32) => bits,
        (..) => convert(bits, I32, to),
    }
}

/// Calls `seen` for each statement of `body`, outer ones first.
fn visit<'a>(body: &'a [Stmt], seen: &mut dyn FnMut(&'a Stmt)) {
    for stmt in body {
        seen(stmt);
        match stmt {
            Stmt::If { arms, .. } => arms.iter().for_each(|arm| visit(arm, seen)),
            Stmt::Loop(turn) => visit(&turn.body, seen),
            _ => {}
        }
    }
}

/// The same, to change them.
fn visit_mut(body: &mut [Stmt], seen: &mut dyn FnMut(&mut Stmt)) {
    for stmt in body {
        seen(stmt);
        match stmt {
            Stmt::If { arms, .. } => arms.iter_mut().for_each(|arm| visit_mut(arm, seen)),
            Stmt::Loop(turn) => visit_mut(&mut turn.body, seen),
            _ => {}
        }
    }
}

impl Stmt {
    fn access(&self) -> Option<&Access> {
        match self {
            Self::Load { access, .. } | Self::Store { access, .. } => Some(access),
            _ => None,
        }
    }

    fn access_mut(&mut self) -> Option<&mut Access> {
        match self {
            Self::Load { access, .. } | Self::Store { access, .. } => Some(access),
            _ => None,
        }
    }

    /// The variable that it changes itself, if any.
    fn changed(&self) -> Option<usize> {
        match self {
            Self::Load { dst, .. } | Self::Compute { dst, .. } => Some(*dst),
            Self::Loop(turn) => turn.last,
            _ => None,
        }
    }

    /// The numbers that it takes itself.
    fn operands(&self) -> Vec<Operand> {
        let mut operands = match self {
            Self::Load { dst, .. } => vec![Operand::Var(*dst)],
            Self::Store { value, .. } => vec![*value],
            Self::Compute { args, .. } => args.to_vec(),
            Self::If { cond, .. } | Self::Break(cond) => vec![cond.of],
            Self::Loop(turn) => turn
                .walks
                .iter()
                .flat_map(|walk| [walk.from, walk.by])
                .chain([turn.start, turn.step, turn.bound])
                .collect(),
        };
        if let Some(Access { index: Index::Sum { term, scale, add, .. }, .. }) = self.access() {
            operands.extend([*term, *scale, *add]);
        }
        operands
    }
}
