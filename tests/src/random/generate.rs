//! Makes a program from a seed.

use super::{Op, Program, Stmt, Ty, Val, typed};
use fastrand::Rng;

const INTS: [u32; 4] = [8, 16, 32, 64];
const BINARY: &[&str] = &["add", "sub", "mul", "and", "or", "xor"];
const SHIFT: &[&str] = &["shl", "lshr", "ashr"];
const DIVIDE: &[&str] = &["udiv", "urem", "sdiv", "srem"];
const CALL2: &[&str] = &["umin", "umax", "smin", "smax", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat"];
const CALL1: &[&str] = &["ctpop", "bswap", "bitreverse", "abs", "ctlz", "cttz"];
const ICMP: &[&str] = &["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];
const FCMP: &[&str] =
    &["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"];
const FLOAT_CALLS: &[&str] = &["fma", "fabs", "sqrt", "floor", "trunc", "rint"];

/// A program of about `size` operations.
pub fn generate(rng: &mut Rng, size: usize, typed: bool) -> Program {
    let mut program = Program { arrays: rng.usize(0..3), typed, ..Program::default() };
    if typed {
        program.palette = typed::palette(rng);
    }
    let mut visible = Vec::new();
    let types = [Ty::Int(32), Ty::Int(64), Ty::Int(16), Ty::Int(8), Ty::F32, Ty::F64];
    for ty in types {
        let value = new(&mut program, ty);
        program.uniform.push(value);
        visible.push(value);
    }
    let mut offset = 0;
    for ty in [Ty::Int(64), Ty::F64, Ty::Int(32), Ty::Int(32), Ty::F32, Ty::F32, Ty::Int(16), Ty::Int(8)] {
        let value = new(&mut program, ty);
        program.loaded.push((value, offset));
        visible.push(value);
        // Gaps, so that not all loads merge.
        offset += ty.bytes() + if rng.u32(0..3) == 0 { 8 } else { 0 };
        offset = offset.next_multiple_of(2);
        if offset + 8 > super::LANE_INPUT {
            break;
        }
    }
    let mut offset = super::LANE_INPUT;
    for ty in program.palette.clone() {
        let value = new(&mut program, ty);
        program.loaded.push((value, offset));
        visible.push(value);
        offset += ty.bytes() + rng.usize(0..3);
    }
    let mut budget = size;
    let body = statements(rng, &mut program, &mut visible, &mut budget, 0, size);
    program.body = body;
    for &value in visible.iter().rev().take(24) {
        // A single bit is stored as nothing that its neighbours could not show.
        if program.types[value] != Ty::Int(1) {
            program.outputs.push(value);
        }
    }
    program
}

pub(super) fn new(program: &mut Program, ty: Ty) -> Val {
    program.types.push(ty);
    program.types.len() - 1
}

pub(super) fn pick<'a>(rng: &mut Rng, list: &[&'a str]) -> &'a str {
    list[rng.usize(0..list.len())]
}

/// A visible value of `ty`, the later the likelier, or a new constant.
pub(super) fn operand(
    rng: &mut Rng,
    program: &mut Program,
    visible: &mut Vec<Val>,
    out: &mut Vec<Stmt>,
    ty: Ty,
) -> Val {
    if rng.u32(0..8) != 0 {
        let n = visible.len();
        for _ in 0..12 {
            let back = (rng.f32() * rng.f32() * n as f32) as usize;
            let value = visible[n - 1 - back.min(n - 1)];
            if program.types[value] == ty {
                return value;
            }
        }
    }
    let dst = new(program, ty);
    let op = if ty.is_plain() {
        Op::Const(super::random_bits(ty, rng))
    } else {
        program.constants.push(typed::random(ty, rng));
        Op::Big(program.constants.len() - 1)
    };
    out.push(Stmt::Op { dst, op, args: Vec::new() });
    visible.push(dst);
    dst
}

fn statements(
    rng: &mut Rng,
    program: &mut Program,
    visible: &mut Vec<Val>,
    budget: &mut usize,
    depth: u32,
    most: usize,
) -> Vec<Stmt> {
    let mut out = Vec::new();
    let end = budget.saturating_sub(most);
    while *budget > end {
        *budget -= 1;
        match rng.u32(0..24) {
            0 | 1 if depth < 3 => branch(rng, program, visible, budget, depth, &mut out),
            2 if depth < 3 => repeat(rng, program, visible, budget, depth, &mut out),
            3 if program.arrays > 0 => {
                let array = rng.usize(0..program.arrays);
                let index = operand(rng, program, visible, &mut out, Ty::Int(32));
                let value = operand(rng, program, visible, &mut out, Ty::Int(32));
                out.push(Stmt::ArrayStore { array, index, value });
            }
            _ => operation(rng, program, visible, &mut out),
        }
    }
    out
}

fn branch(
    rng: &mut Rng,
    program: &mut Program,
    visible: &mut Vec<Val>,
    budget: &mut usize,
    depth: u32,
    out: &mut Vec<Stmt>,
) {
    let two = rng.u32(0..3) != 0;
    let on = operand(rng, program, visible, out, if two { Ty::Int(1) } else { Ty::Int(32) });
    let count = if two { 2 } else { 4 };
    let outer = visible.len();
    let (mut arms, mut scopes) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let length = if rng.u32(0..4) == 0 { 0 } else { rng.usize(1..8) };
        let mut scope = visible.clone();
        arms.push(statements(rng, program, &mut scope, budget, depth + 1, length));
        scopes.push(scope);
    }
    let mut phis = Vec::new();
    for _ in 0..rng.usize(0..4) {
        let ty = phi_type(rng, program);
        let values: Vec<Val> = scopes
            .iter_mut()
            .zip(&mut arms)
            .map(|(scope, arm)| operand(rng, program, scope, arm, ty))
            .collect();
        let dst = new(program, ty);
        phis.push((dst, values));
        visible.push(dst);
    }
    debug_assert!(visible.len() >= outer);
    out.push(Stmt::Branch { on, arms, phis });
}

fn repeat(
    rng: &mut Rng,
    program: &mut Program,
    visible: &mut Vec<Val>,
    budget: &mut usize,
    depth: u32,
    out: &mut Vec<Stmt>,
) {
    let count = operand(rng, program, visible, out, Ty::Int(32));
    let mut scope = visible.clone();
    let mut carried = Vec::new();
    for _ in 0..rng.usize(1..4) {
        let ty = phi_type(rng, program);
        let start = operand(rng, program, visible, out, ty);
        let dst = new(program, ty);
        scope.push(dst);
        carried.push((dst, start, dst));
    }
    let length = rng.usize(1..8);
    let mut body = statements(rng, program, &mut scope, budget, depth + 1, length);
    for item in &mut carried {
        item.2 = operand(rng, program, &mut scope, &mut body, program.types[item.0]);
    }
    visible.extend(carried.iter().map(|item| item.0));
    out.push(Stmt::Loop { count, body, carried });
}

fn phi_type(rng: &mut Rng, program: &Program) -> Ty {
    if program.typed && rng.bool() {
        return program.palette[rng.usize(0..program.palette.len())];
    }
    any_type(rng, true)
}

fn any_type(rng: &mut Rng, bit: bool) -> Ty {
    match rng.u32(0..14) {
        0 if bit => Ty::Int(1),
        1 | 2 => Ty::F32,
        3 => Ty::F64,
        4 | 5 => Ty::Int(64),
        6 => Ty::Int(16),
        7 => Ty::Int(8),
        _ => Ty::Int(32),
    }
}

fn operation(rng: &mut Rng, program: &mut Program, visible: &mut Vec<Val>, out: &mut Vec<Stmt>) {
    if program.typed && rng.u32(0..4) != 0 {
        typed::operation(rng, program, visible, out);
        return;
    }
    let ty = any_type(rng, true);
    let (op, operands): (Op, Vec<Ty>) = match ty {
        Ty::Int(1) => match rng.u32(0..4) {
            0 => (Op::Binary(pick(rng, &["and", "or", "xor"])), vec![ty; 2]),
            1 => {
                let float = if rng.bool() { Ty::F32 } else { Ty::F64 };
                (Op::Fcmp(pick(rng, FCMP)), vec![float; 2])
            }
            _ => (Op::Icmp(pick(rng, ICMP)), vec![Ty::Int(INTS[rng.usize(0..4)]); 2]),
        },
        Ty::Int(bits) => match rng.u32(0..20) {
            0..=5 => (Op::Binary(pick(rng, BINARY)), vec![ty; 2]),
            6..=8 => (Op::Shift(pick(rng, SHIFT)), vec![ty; 2]),
            9 => (Op::Divide(pick(rng, DIVIDE)), vec![ty; 2]),
            10 => (Op::Call2(pick(rng, CALL2)), vec![ty; 2]),
            11 => {
                let name = pick(rng, CALL1);
                (Op::Call1(if name == "bswap" && bits == 8 { "abs" } else { name }), vec![ty])
            }
            12 => (Op::Funnel(pick(rng, &["fshl", "fshr"])), vec![ty; 3]),
            13 | 14 => (Op::Select, vec![Ty::Int(1), ty, ty]),
            15 if bits == 32 && program.arrays > 0 => {
                (Op::ArrayLoad(rng.usize(0..program.arrays)), vec![Ty::Int(32)])
            }
            _ => {
                let from = match rng.u32(0..5) {
                    0 => 1,
                    n => INTS[n as usize - 1],
                };
                match from.cmp(&bits) {
                    std::cmp::Ordering::Less => (Op::Cast(pick(rng, &["zext", "sext"])), vec![Ty::Int(from)]),
                    std::cmp::Ordering::Greater => (Op::Cast("trunc"), vec![Ty::Int(from)]),
                    std::cmp::Ordering::Equal => (Op::Binary(pick(rng, BINARY)), vec![ty; 2]),
                }
            }
        },
        Ty::Vec(..) => (Op::Freeze, vec![ty]),
        Ty::F32 | Ty::F64 => match rng.u32(0..12) {
            0..=4 => (Op::Float(pick(rng, &["fadd", "fsub", "fmul", "fadd", "fmul", "fdiv"])), vec![ty; 2]),
            5 => (Op::Fneg, vec![ty]),
            6 | 7 => {
                let name = pick(rng, FLOAT_CALLS);
                (Op::FloatCall(name), vec![ty; if name == "fma" { 3 } else { 1 }])
            }
            8 => (Op::Select, vec![Ty::Int(1), ty, ty]),
            9 if ty == Ty::F32 => (Op::Cast("fptrunc"), vec![Ty::F64]),
            9 => (Op::Cast("fpext"), vec![Ty::F32]),
            _ => (Op::Cast(pick(rng, &["sitofp", "uitofp"])), vec![Ty::Int(INTS[rng.usize(0..4)])]),
        },
    };
    let args = operands.iter().map(|&ty| operand(rng, program, visible, out, ty)).collect();
    let dst = new(program, ty);
    out.push(Stmt::Op { dst, op, args });
    visible.push(dst);
}
