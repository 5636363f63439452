//! Makes a program from a seed.
//!
//! A loop is given the number of rounds that lanes are to do, and from that its bound. Whether its predicate, which may be any, agrees is asked where
//! start, step and bound are known; where they are not, [`evaluate()`] finds the programs that take too long.

mod bodies;
mod turns;

use super::evaluate::{Fault, evaluate};
use super::*;
use fastrand::Rng;

/// Arrays that all lanes read: type and elements of a vector.
const SHARED_TYPES: [(Ty, u32); 15] = [
    (I32, 1),
    (I32, 1),
    (I32, 1),
    (I32, 1),
    (Ty::Int(8), 1),
    (Ty::Int(16), 1),
    (I64, 1),
    (Ty::F32, 1),
    (Ty::F32, 1),
    (I32, 2),
    (Ty::F32, 4),
    (Ty::Int(8), 4),
    (Ty::Int(16), 2),
    (I32, 4),
    (I64, 2),
];
/// Types of arrays that lanes write.
const OWN_TYPES: [Ty; 6] = [I32, I32, Ty::Int(8), Ty::Int(16), I64, Ty::F32];
/// Times that indices out of bounds are masked before a program is given up.
const REPAIRS: usize = 40;

/// The program of a seed.
pub fn loops(seed: u64) -> Loops {
    let mut rng = Rng::with_seed(seed);
    loop {
        let mut maker = Maker::new(rng.fork());
        let body = maker.program();
        if let Some(program) = settle(Loops { body, ..maker.program }, &mut maker.rng) {
            return program;
        }
    }
}

/// Masks what is out of bounds, and promises some of what holds; nothing where the program takes too long.
fn settle(mut program: Loops, rng: &mut Rng) -> Option<Loops> {
    for _ in 0..REPAIRS {
        match evaluate(&program) {
            Ok(outcome) => {
                visit_mut(&mut program.body, &mut |stmt| {
                    let mut promise = |id: usize| outcome.wraps[id].map(|wraps| !wraps && rng.u32(0..3) > 0);
                    if let Stmt::Loop(turn) = stmt {
                        turn.promises = promise(turn.id);
                    }
                    if let Some(access) = stmt.access_mut() {
                        access.promises = promise(access.id);
                        access.inbounds = access.form != Form::Apart && rng.u32(0..3) == 0;
                        // A pointer may run on to anywhere behind its last access.
                        access.inbounds &= matches!(access.index, Index::Sum { .. });
                    }
                });
                return Some(program);
            }
            Err(Fault::Bounds(id)) => visit_mut(&mut program.body, &mut |stmt| {
                let Some(access) = stmt.access_mut().filter(|access| access.id == id) else { return };
                access.mask = true;
                if access.form == Form::Apart {
                    access.form = Form::Sum;
                }
                if let Index::Walk(depth, _) = access.index {
                    let (term, scale) = (Operand::Counter(depth), Operand::Const(1));
                    access.index = Index::Sum { term, scale, add: Operand::Const(0), times: 1 };
                }
            }),
            Err(Fault::Long | Fault::Promise | Fault::Float) => return None,
        }
    }
    None
}

/// A loop around the statements that are made.
#[derive(Clone)]
struct Around {
    walks: Vec<Walk>,
    /// The counter starts far from zero.
    far: bool,
    /// It is to be small: indices follow the counter closely.
    plain: bool,
    /// The last access to each array in this loop, whose neighbours are next.
    recent: Vec<Access>,
}

struct Maker {
    rng: Rng,
    program: Loops,
    around: Vec<Around>,
    next: usize,
    /// Accesses say what scopes of memory they are to.
    scoped: bool,
}

impl Maker {
    fn new(rng: Rng) -> Self {
        let program = Loops {
            vars: Vec::new(),
            args: Vec::new(),
            slots: Vec::new(),
            arrays: Vec::new(),
            body: Vec::new(),
        };
        let mut this = Self { rng, program, around: Vec::new(), next: 0, scoped: false };
        this.scoped = this.chance(3);
        this
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(0..from.len())]
    }

    fn chance(&mut self, of: u32) -> bool {
        self.rng.u32(0..of) == 0
    }

    fn id(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// The statements.
    fn program(&mut self) -> Vec<Stmt> {
        for _ in 0..self.rng.usize(1..4) {
            let ((ty, lanes), middle) = (self.pick(&SHARED_TYPES), self.rng.bool());
            self.array(Space::Shared { middle }, ty, lanes);
        }
        for _ in 0..self.rng.usize(1..3) {
            let (ty, interleaved) = (self.pick(&OWN_TYPES), self.rng.bool());
            self.array(Space::Own { interleaved }, ty, 1);
        }
        if self.chance(3) {
            let (ty, interleaved) = (self.pick(&OWN_TYPES[..5]), self.rng.bool());
            self.array(Space::Lds { interleaved }, ty, 1);
        }
        if self.chance(4) {
            let ty = self.pick(&OWN_TYPES[..5]);
            self.array(Space::Private, ty, 1);
        }
        for _ in 0..self.rng.usize(3..7) {
            let ty = self.pick(&[I32, I32, I64, Ty::F32]);
            self.var(ty);
        }
        self.var(I32);
        self.var(Ty::F32);
        let mut body = Vec::new();
        for _ in 0..self.rng.usize(1..5) {
            self.turns(&mut body);
            if self.chance(4) {
                self.part(&mut body, false);
            }
        }
        body
    }

    /// A variable, whose start lanes may differ in.
    fn var(&mut self, ty: Ty) -> usize {
        let from = if ty == Ty::F32 || self.chance(3) {
            let values = (0..ITEMS).map(|_| value(&mut self.rng, ty)).collect();
            self.slot(ty, values)
        } else {
            Operand::Const(self.rng.i64(-1..20))
        };
        self.program.vars.push((ty, from));
        self.program.vars.len() - 1
    }

    fn arg(&mut self, ty: Ty, value: i64) -> Operand {
        self.program.args.push((ty, ty.cut(value as u64)));
        Operand::Arg(self.program.args.len() - 1)
    }

    fn slot(&mut self, ty: Ty, values: Vec<u64>) -> Operand {
        self.program.slots.push((ty, values));
        Operand::Slot(self.program.slots.len() - 1)
    }

    fn array(&mut self, space: Space, ty: Ty, lanes: u32) {
        let elements = match space {
            Space::Shared { .. } => SHARED as usize,
            Space::Own { .. } => ITEMS * OWN as usize,
            Space::Lds { .. } | Space::Private => OWN as usize,
        } * lanes as usize;
        let values = (0..elements).map(|_| value(&mut self.rng, ty));
        let data = values.flat_map(|bits| bits.to_le_bytes().into_iter().take(ty.bytes())).collect();
        let readonly = matches!(space, Space::Shared { .. }) && self.rng.bool();
        let noalias = self.rng.u32(0..3) > 0;
        self.program.arrays.push(Array { space, ty, lanes, data, readonly, noalias });
    }
}

/// Bits that memory holds: numbers that make small indices and those that fill their type, floats whose sums are rounded.
fn value(rng: &mut Rng, ty: Ty) -> u64 {
    match ty {
        Ty::F32 => {
            let number = rng.i32(-800..800) as f32;
            u64::from((if rng.bool() { number / 8.0 } else { number / 3.0 }).to_bits())
        }
        _ => ty.cut(if rng.bool() { rng.u64(..) } else { rng.u64(0..64) }),
    }
}
