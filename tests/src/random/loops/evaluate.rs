//! What each lane computes, and what it never does.

use super::*;
use crate::random::evaluate::{binary, call2, compare};

/// Most rounds of a loop, and of all loops of a lane.
const ROUNDS: u32 = 200;
const FUEL: u32 = 1500;

/// What a program leaves.
pub struct Outcome {
    /// The variables of each lane, eight bytes each.
    pub vars: Vec<u64>,
    /// The arrays, where lanes write them to memory.
    pub arrays: Vec<Vec<u8>>,
    /// By the numbers of loops and accesses: whether sums and products wrap, as signed and as unsigned numbers.
    pub wraps: Vec<[bool; 2]>,
}

/// Why a program has no meaning, or is of no use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The access with this number is out of bounds.
    Bounds(usize),
    /// A loop does not end soon.
    Long,
    /// What is promised does not hold.
    Promise,
    /// A number is infinite, too small, or none.
    Float,
}

/// A loop that is running.
struct Frame {
    ty: Ty,
    counter: u64,
    start: u64,
    walks: Vec<i64>,
}

struct Lane<'a> {
    program: &'a Loops,
    item: usize,
    vars: Vec<u64>,
    /// The lane's part of each array that it writes; empty where it reads all.
    own: Vec<Vec<u8>>,
    frames: Vec<Frame>,
    wraps: &'a mut Vec<[bool; 2]>,
    fuel: u32,
}

/// Evaluates all lanes.
///
/// # Errors
/// Why that has no result.
pub fn evaluate(program: &Loops) -> Result<Outcome, Fault> {
    let mut numbers = 0;
    visit(&program.body, &mut |stmt| {
        if let Stmt::Loop(Turn { id, .. }) = stmt {
            numbers = numbers.max(id + 1);
        }
        numbers = stmt.access().map_or(numbers, |access| numbers.max(access.id + 1));
    });
    let mut outcome = Outcome {
        vars: Vec::new(),
        arrays: program.arrays.iter().map(|array| array.data.clone()).collect(),
        wraps: vec![[false; 2]; numbers],
    };
    for item in 0..ITEMS {
        let mut own = Vec::new();
        for array in &program.arrays {
            let (bytes, data) = (array.bytes(), &array.data);
            own.push(match array.space {
                Space::Shared { .. } => Vec::new(),
                Space::Lds { .. } | Space::Private => data.clone(),
                Space::Own { .. } => {
                    (0..OWN).flat_map(|k| &data[array.place(item, k) * bytes..][..bytes]).copied().collect()
                }
            });
        }
        let mut lane = Lane {
            program,
            item,
            vars: Vec::new(),
            own,
            frames: Vec::new(),
            wraps: &mut outcome.wraps,
            fuel: FUEL,
        };
        lane.vars = program.vars.iter().map(|&(ty, from)| lane.operand(from, ty)).collect();
        lane.body(&program.body)?;
        outcome.vars.extend(&lane.vars);
        for ((array, own), all) in program.arrays.iter().zip(&lane.own).zip(&mut outcome.arrays) {
            if let Space::Own { .. } = array.space {
                for (k, element) in own.chunks(array.bytes()).enumerate() {
                    let at = array.place(item, k as i64) * array.bytes();
                    all[at..at + array.bytes()].copy_from_slice(element);
                }
            }
        }
    }
    Ok(outcome)
}

impl Array {
    /// Which element of the buffer is number `k` of a work-item's own.
    pub fn place(&self, item: usize, k: i64) -> usize {
        match self.space {
            Space::Own { interleaved: true } => k as usize * ITEMS + item,
            _ => item * OWN as usize + k as usize,
        }
    }
}

/// The result of an operation on numbers of type `ty`.
fn operation(op: &str, ty: Ty, a: u64, b: u64) -> u64 {
    let float = |bits: u64| f32::from_bits(bits as u32);
    match (op, ty) {
        ("set", _) => b,
        ("fadd", _) => (float(a) + float(b)).to_bits().into(),
        ("fsub", _) => (float(a) - float(b)).to_bits().into(),
        ("decay", _) => (float(a) * 0.75 + float(b)).to_bits().into(),
        ("umin" | "smin" | "smax", Ty::Int(bits)) => ty.cut(call2(op, bits, a, b)),
        _ => ty.cut(binary(op, a, b)),
    }
}

impl Lane<'_> {
    fn operand(&self, operand: Operand, to: Ty) -> u64 {
        let program = self.program;
        let (bits, from) = match operand {
            Operand::Const(value) => (value as u64, I64),
            Operand::Arg(arg) => (program.args[arg].1, program.args[arg].0),
            Operand::Lane => (self.item as u64, I32),
            Operand::LaneAnd(mask) => (self.item as u64 & u64::from(mask), I32),
            Operand::ArgLessLane(arg) => {
                let (ty, value) = program.args[arg];
                (ty.cut(value.wrapping_sub(self.item as u64)), ty)
            }
            Operand::Slot(slot) => (program.slots[slot].1[self.item], program.slots[slot].0),
            Operand::Var(var) => (self.vars[var], program.vars[var].0),
            Operand::Counter(depth) => (self.frames[depth].counter, self.frames[depth].ty),
            Operand::Past(depth) => {
                let Frame { ty, counter, start, .. } = self.frames[depth];
                (ty.cut(counter.wrapping_sub(start)), ty)
            }
        };
        convert(bits, from, to)
    }

    fn holds(&self, cond: &Cond) -> bool {
        let bits = self.operand(cond.of, I32) & u64::from(cond.mask);
        compare(cond.predicate, 32, bits, cond.value.into())
    }

    /// Whether a `break` ends the statements.
    fn body(&mut self, body: &[Stmt]) -> Result<bool, Fault> {
        for stmt in body {
            match stmt {
                Stmt::Load { dst, op, access, components, extend } => {
                    let array = &self.program.arrays[access.array];
                    let at = self.place(access)?;
                    let ty = self.program.vars[*dst].0;
                    for &component in components {
                        let data = if self.own[access.array].is_empty() {
                            &array.data
                        } else {
                            &self.own[access.array]
                        };
                        let bytes = &data[at + component as usize * array.ty.bytes()..][..array.ty.bytes()];
                        let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
                        let wider = array.ty.bytes() < ty.bytes() && ty != Ty::F32;
                        let bits = if *extend && wider { bits } else { convert(bits, array.ty, ty) };
                        self.set(*dst, operation(op, ty, self.vars[*dst], bits))?;
                    }
                }
                Stmt::Store { value, access } => {
                    let (ty, at) = (self.program.arrays[access.array].ty, self.place(access)?);
                    let bits = self.operand(*value, ty);
                    self.own[access.array][at..at + ty.bytes()]
                        .copy_from_slice(&bits.to_le_bytes()[..ty.bytes()]);
                }
                Stmt::Compute { dst, op, args } => {
                    let ty = self.program.vars[*dst].0;
                    let [a, b] = args.map(|arg| self.operand(arg, ty));
                    self.set(*dst, operation(op, ty, a, b))?;
                }
                Stmt::If { cond, arms } => {
                    let arm = usize::from(!self.holds(cond));
                    self.body(&arms[arm])?;
                }
                Stmt::Break(cond) => {
                    if self.holds(cond) {
                        return Ok(true);
                    }
                }
                Stmt::Loop(turn) => self.turns(turn)?,
            }
        }
        Ok(false)
    }

    fn set(&mut self, var: usize, bits: u64) -> Result<(), Fault> {
        let float = f32::from_bits(bits as u32);
        if self.program.vars[var].0 == Ty::F32 && !(float == 0.0 || float.is_normal()) {
            return Err(Fault::Float);
        }
        self.vars[var] = bits;
        Ok(())
    }

    fn turns(&mut self, turn: &Turn) -> Result<(), Fault> {
        let Ty::Int(width) = turn.ty else { return Err(Fault::Long) };
        let [start, step, mut bound] =
            [turn.start, turn.step, turn.bound].map(|operand| self.operand(operand, turn.ty));
        let mut last = start;
        let runs = turn.guards.iter().all(|guard| {
            compare(guard.predicate, width, start, turn.ty.cut(bound.wrapping_add(guard.plus as u64)))
        });
        if runs {
            let walks = turn.walks.iter().map(|walk| self.operand(walk.from, I64) as i64).collect();
            let by: Vec<_> = turn.walks.iter().map(|walk| self.operand(walk.by, I64) as i64).collect();
            self.frames.push(Frame { ty: turn.ty, counter: start, start, walks });
            let depth = self.frames.len() - 1;
            let mut rounds = 0;
            loop {
                let counter = self.frames[depth].counter;
                last = counter;
                if turn.top {
                    bound = if turn.moving { self.operand(turn.bound, turn.ty) } else { bound };
                    if !compare(turn.predicate, width, counter, bound) {
                        break;
                    }
                }
                rounds += 1;
                self.fuel = self.fuel.checked_sub(1).filter(|_| rounds <= ROUNDS).ok_or(Fault::Long)?;
                if self.body(&turn.body)? {
                    break;
                }
                let next = turn.ty.cut(counter.wrapping_add(step));
                self.wraps(turn.id, turn.promises, width, "add", counter, step)?;
                if !turn.top {
                    bound = if turn.moving { self.operand(turn.bound, turn.ty) } else { bound };
                    last = if turn.early { counter } else { next };
                    if !compare(turn.predicate, width, last, bound) {
                        break;
                    }
                }
                let frame = &mut self.frames[depth];
                frame.counter = next;
                frame.walks.iter_mut().zip(&by).for_each(|(walk, by)| *walk = walk.wrapping_add(*by));
            }
            self.frames.pop();
        }
        if let Some(var) = turn.last {
            self.set(var, convert(last, turn.ty, self.program.vars[var].0))?;
        }
        Ok(())
    }

    /// Notes whether an operation of loop or access `id` wraps.
    fn wraps(
        &mut self,
        id: usize,
        promises: [bool; 2],
        bits: u32,
        op: &str,
        a: u64,
        b: u64,
    ) -> Result<u64, Fault> {
        let wide = |signed: fn(u32, u64) -> i128| {
            let (a, b) = (signed(bits, a), signed(bits, b));
            let result = if op == "add" { a.checked_add(b) } else { a.checked_mul(b) };
            let low = Ty::Int(bits).cut(binary(op, a as u64, b as u64));
            result != Some(signed(bits, low))
        };
        let wraps = [wide(|bits, x| signed(bits, x).into()), wide(|_, x| x.into())];
        for (k, wraps) in wraps.into_iter().enumerate() {
            self.wraps[id][k] |= wraps;
            if wraps && promises[k] {
                return Err(Fault::Promise);
            }
        }
        Ok(Ty::Int(bits).cut(binary(op, a, b)))
    }

    /// Byte offset of an access in the array, or in the lane's part of it.
    fn place(&mut self, access: &Access) -> Result<usize, Fault> {
        let array = &self.program.arrays[access.array];
        let (bounds, mask) = array.bounds();
        let index = match access.index {
            Index::Walk(depth, number) => self.frames[depth].walks[number].wrapping_add(access.plus),
            Index::Sum { term, scale, add, times } => {
                let width = if access.wide { 64 } else { 32 };
                let ty = Ty::Int(width);
                let [term, scale, add] = [term, scale, add].map(|operand| self.operand(operand, ty));
                let (plus, times) = (ty.cut(access.plus as u64), ty.cut(times as u64));
                let mut wraps =
                    |op: &str, a: u64, b: u64| self.wraps(access.id, access.promises, width, op, a, b);
                let add = wraps("mul", add, times)?;
                let term = if access.form == Form::Factor { wraps("add", term, plus)? } else { term };
                let mut index = wraps("mul", term, scale)?;
                if access.form != Form::Apart {
                    index = wraps("add", index, add)?;
                }
                if access.form == Form::Sum {
                    index = wraps("add", index, plus)?;
                }
                let wide = |index: u64| match access.extend {
                    Some("zext") => index as i64,
                    _ => signed(width, index),
                };
                if access.mask {
                    index &= mask as u64;
                }
                match access.form {
                    Form::Apart => wide(index).wrapping_add(wide(add)).wrapping_add(access.plus),
                    Form::Sum | Form::Factor => wide(index),
                }
            }
        };
        if !bounds.contains(&index) {
            return Err(Fault::Bounds(access.id));
        }
        let from = if self.own[access.array].is_empty() { bounds.start } else { 0 };
        Ok((index - from) as usize * array.bytes())
    }
}
