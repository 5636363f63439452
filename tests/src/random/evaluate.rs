//! What a lane of a program stores, by plain arithmetic on the host.

use super::{Inputs, Op, Program, Stmt, Ty, Val, typed};
use num_bigint::BigUint;

struct Lane<'a> {
    program: &'a Program,
    values: Vec<BigUint>,
    arrays: Vec<[u32; 8]>,
}

/// Bits of every output of `lane`.
pub fn evaluate(program: &Program, inputs: &Inputs, lane: usize) -> Vec<BigUint> {
    let mut state = Lane {
        program,
        values: vec![BigUint::default(); program.types.len()],
        arrays: vec![[0; 8]; program.arrays],
    };
    for (&value, &bits) in program.uniform.iter().zip(&inputs.uniform) {
        state.values[value] = bits.into();
    }
    for &(value, offset) in &program.loaded {
        let at = lane * program.lane_input() + offset;
        let size = program.types[value].bytes();
        state.values[value] = BigUint::from_bytes_le(&inputs.lanes[at..at + size]);
    }
    state.run(&program.body);
    program.outputs.iter().map(|&value| state.values[value].clone()).collect()
}

/// The low 64 bits.
pub(super) fn low(x: &BigUint) -> u64 {
    x.iter_u64_digits().next().unwrap_or(0)
}

impl Lane<'_> {
    fn run(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Op { dst, op, args } => {
                    let types = &self.program.types;
                    let ty = types[*dst];
                    let plain =
                        ty.is_plain() && args.iter().all(|&arg| types[arg].is_plain()) && !typed::is_own(*op);
                    self.values[*dst] = if plain {
                        ty.cut(self.operation(ty, *op, args)).into()
                    } else {
                        let args: Vec<(Ty, &BigUint)> =
                            args.iter().map(|&arg| (types[arg], &self.values[arg])).collect();
                        typed::evaluate(self.program, ty, *op, &args)
                    };
                }
                Stmt::ArrayStore { array, index, value } => {
                    self.arrays[*array][low(&self.values[*index]) as usize & 7] =
                        low(&self.values[*value]) as u32;
                }
                Stmt::Branch { on, arms, phis } => {
                    let bits = low(&self.values[*on]);
                    let arm = match self.program.types[*on] {
                        Ty::Int(1) => usize::from(bits & 1 == 0),
                        _ => bits as usize & 3,
                    };
                    self.run(&arms[arm]);
                    let values: Vec<BigUint> =
                        phis.iter().map(|(_, from)| self.values[from[arm]].clone()).collect();
                    for ((dst, _), bits) in phis.iter().zip(values) {
                        self.values[*dst] = bits;
                    }
                }
                Stmt::Loop { count, body, carried } => {
                    let rounds = low(&self.values[*count]) & 7;
                    for &(dst, start, _) in carried {
                        self.values[dst] = self.values[start].clone();
                    }
                    for _ in 0..rounds {
                        self.run(body);
                        let next: Vec<BigUint> =
                            carried.iter().map(|&(_, _, next)| self.values[next].clone()).collect();
                        for (&(dst, _, _), bits) in carried.iter().zip(next) {
                            self.values[dst] = bits;
                        }
                    }
                }
            }
        }
    }

    fn operation(&self, ty: Ty, op: Op, args: &[Val]) -> u64 {
        let arg = |n: usize| low(&self.values[args[n]]);
        let from = args.first().map_or(ty, |&a| self.program.types[a]);
        match op {
            Op::Const(bits) => bits,
            Op::Select => arg(if arg(0) & 1 == 1 { 1 } else { 2 }),
            Op::ArrayLoad(array) => self.arrays[array][arg(0) as usize & 7].into(),
            Op::Cast(name) => cast(name, from, ty, arg(0)),
            Op::Icmp(predicate) => compare(predicate, width(from), arg(0), arg(1)).into(),
            Op::Fcmp(predicate) => fcmp(predicate, float(from, arg(0)), float(from, arg(1))).into(),
            Op::Fneg => arg(0) ^ (1 << (8 * ty.bytes() - 1)),
            Op::Float(_) | Op::FloatCall(_) => {
                let args: Vec<u64> = args.iter().map(|&a| low(&self.values[a])).collect();
                match ty {
                    Ty::F32 => float32(op, &args),
                    _ => float64(op, &args),
                }
            }
            Op::Binary(name) => binary(name, arg(0), arg(1)),
            Op::Shift(name) => shift(name, width(ty), arg(0), arg(1)),
            Op::Divide(name) => divide(name, width(ty), arg(0), arg(1)),
            Op::Call1(name) => call1(name, width(ty), arg(0)),
            Op::Call2(name) => call2(name, width(ty), arg(0), arg(1)),
            Op::Funnel(name) => funnel(name, width(ty), arg(0), arg(1), arg(2)),
            _ => unreachable!("{op:?} is not plain"),
        }
    }
}

fn width(ty: Ty) -> u32 {
    8 * ty.bytes() as u32 - if ty == Ty::Int(1) { 7 } else { 0 }
}

pub(super) fn signed(bits: u32, x: u64) -> i64 {
    (x << (64 - bits)) as i64 >> (64 - bits)
}

fn float(ty: Ty, bits: u64) -> f64 {
    if ty == Ty::F32 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
}

fn cast(name: &str, from: Ty, to: Ty, x: u64) -> u64 {
    let wide = signed(width(from), x);
    match (name, to) {
        ("trunc" | "zext", _) => x,
        ("sext", _) => wide as u64,
        ("sitofp", Ty::F32) => (wide as f32).to_bits().into(),
        ("sitofp", _) => (wide as f64).to_bits(),
        ("uitofp", Ty::F32) => (x as f32).to_bits().into(),
        ("uitofp", _) => (x as f64).to_bits(),
        ("fptrunc", _) => (f64::from_bits(x) as f32).to_bits().into(),
        _ => f64::from(f32::from_bits(x as u32)).to_bits(),
    }
}

pub(super) fn compare(predicate: &str, bits: u32, x: u64, y: u64) -> bool {
    let (sx, sy) = (signed(bits, x), signed(bits, y));
    match predicate {
        "eq" => x == y,
        "ne" => x != y,
        "ugt" => x > y,
        "uge" => x >= y,
        "ult" => x < y,
        "ule" => x <= y,
        "sgt" => sx > sy,
        "sge" => sx >= sy,
        "slt" => sx < sy,
        _ => sx <= sy,
    }
}

fn fcmp(predicate: &str, x: f64, y: f64) -> bool {
    let unordered = x.is_nan() || y.is_nan();
    match (&predicate[..1], &predicate[1..]) {
        (_, "rd") => !unordered,
        (_, "no") => unordered,
        ("u", _) if unordered => true,
        (_, "eq") => x == y,
        (_, "ne") => x != y && !unordered,
        (_, "gt") => x > y,
        (_, "ge") => x >= y,
        (_, "lt") => x < y,
        _ => x <= y,
    }
}

macro_rules! floats {
    ($name:ident, $ty:ty, $bits:ty) => {
        fn $name(op: Op, args: &[u64]) -> u64 {
            let arg = |n: usize| <$ty>::from_bits(args[n] as $bits);
            let x = arg(0);
            let result = match op {
                Op::Float("fadd") => x + arg(1),
                Op::Float("fsub") => x - arg(1),
                Op::Float("fmul") => x * arg(1),
                Op::Float(_) => x / arg(1),
                Op::FloatCall("fma") => x.mul_add(arg(1), arg(2)),
                Op::FloatCall("fabs") => x.abs(),
                Op::FloatCall("sqrt") => x.sqrt(),
                Op::FloatCall("floor") => x.floor(),
                Op::FloatCall("trunc") => x.trunc(),
                _ => x.round_ties_even(),
            };
            result.to_bits().into()
        }
    };
}
floats!(float32, f32, u32);
floats!(float64, f64, u64);

pub(super) fn binary(name: &str, x: u64, y: u64) -> u64 {
    match name {
        "add" => x.wrapping_add(y),
        "sub" => x.wrapping_sub(y),
        "mul" => x.wrapping_mul(y),
        "and" => x & y,
        "or" => x | y,
        _ => x ^ y,
    }
}

fn shift(name: &str, bits: u32, x: u64, y: u64) -> u64 {
    let amount = y & u64::from(bits - 1);
    match name {
        "shl" => x << amount,
        "lshr" => x >> amount,
        _ => (signed(bits, x) >> amount) as u64,
    }
}

/// The divisor that is printed: `y & 127 | 1`.
fn divide(name: &str, bits: u32, x: u64, y: u64) -> u64 {
    let divisor = y & 127 | 1;
    match name {
        "udiv" => x / divisor,
        "urem" => x % divisor,
        "sdiv" => (signed(bits, x) / divisor as i64) as u64,
        _ => (signed(bits, x) % divisor as i64) as u64,
    }
}

fn call1(name: &str, bits: u32, x: u64) -> u64 {
    match name {
        "ctpop" => x.count_ones().into(),
        "bswap" => x.swap_bytes() >> (64 - bits),
        "bitreverse" => x.reverse_bits() >> (64 - bits),
        "abs" => signed(bits, x).unsigned_abs(),
        "ctlz" => (x.leading_zeros() - (64 - bits)).into(),
        _ => x.trailing_zeros().min(bits).into(),
    }
}

pub(super) fn call2(name: &str, bits: u32, x: u64, y: u64) -> u64 {
    let (sx, sy) = (i128::from(signed(bits, x)), i128::from(signed(bits, y)));
    let (ux, uy) = (i128::from(x), i128::from(y));
    let (least, most) = (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
    let all = (1i128 << bits) - 1;
    let result = match name {
        "umin" => ux.min(uy),
        "umax" => ux.max(uy),
        "smin" => sx.min(sy),
        "smax" => sx.max(sy),
        "uadd.sat" => (ux + uy).min(all),
        "usub.sat" => (ux - uy).max(0),
        "sadd.sat" => (sx + sy).clamp(least, most),
        _ => (sx - sy).clamp(least, most),
    };
    result as u64
}

fn funnel(name: &str, bits: u32, x: u64, y: u64, z: u64) -> u64 {
    let amount = (z % u64::from(bits)) as u32;
    let both = u128::from(x) << bits | u128::from(y);
    let moved = if name == "fshl" { (both << amount) >> bits } else { both >> amount };
    moved as u64
}
