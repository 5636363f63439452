//! Values that the host has no type for: integers of odd widths, vectors of them, aggregates.
//!
//! A value is one number: the lanes of a vector side by side, lane 0 in the lowest bits, as in memory. A
//! program has a *palette* of a few types that belong together (vectors of one element or of one length, the
//! integer of the same size), so that operations find operands.

use super::generate::{new, operand, pick};
use super::numbers as n;
use super::print::Printer;
use super::{Op, Program, Stmt, Ty, Val};
use fastrand::Rng;
use num_bigint::{BigInt, BigUint};
use std::fmt::Write;

const WIDTHS: &[u32] =
    &[2, 3, 7, 12, 17, 24, 25, 31, 33, 40, 48, 63, 65, 80, 96, 100, 127, 128, 129, 192, 256];
const ELEMENTS: &[u32] = &[8, 16, 32, 64, 16, 8, 32, 1, 3, 7, 24, 33, 65, 128];
const LANES: &[u32] = &[2, 3, 4, 5, 7, 8, 9, 16, 17];
/// Widest value.
const MOST_BITS: u32 = 512;

fn choose(rng: &mut Rng, list: &[u32]) -> u32 {
    list[rng.usize(0..list.len())]
}

/// The types of a program that are not plain.
pub fn palette(rng: &mut Rng) -> Vec<Ty> {
    let mut out = vec![Ty::Int(choose(rng, WIDTHS)), Ty::Int(choose(rng, WIDTHS))];
    let (bits, lanes) = loop {
        let (bits, lanes) = (choose(rng, ELEMENTS), choose(rng, LANES));
        if bits * lanes <= MOST_BITS {
            break (bits, lanes);
        }
    };
    out.push(Ty::Vec(bits, lanes));
    for (bits, lanes) in [(bits, choose(rng, LANES)), (choose(rng, ELEMENTS), lanes), (1, lanes)] {
        if bits * lanes <= MOST_BITS && !out.contains(&Ty::Vec(bits, lanes)) {
            out.push(Ty::Vec(bits, lanes));
        }
    }
    let whole = Ty::Int(bits * lanes);
    if !whole.is_plain() && !out.contains(&whole) {
        out.push(whole);
    }
    if !out.contains(&Ty::Vec(1, lanes)) {
        out.push(Ty::Vec(1, lanes));
    }
    out
}

/// A random value, edges frequent.
pub fn random(ty: Ty, rng: &mut Rng) -> BigUint {
    let (bits, lanes) = ty.shape();
    let mut out = BigUint::default();
    for lane in 0..lanes {
        let one = BigUint::from(1u32);
        let number = match rng.u32(0..8) {
            0 => BigUint::from(rng.u32(0..4)),
            1 => n::ones(bits) - rng.u32(0..2),
            2 => (one << (bits - 1)) - rng.u32(0..2),
            3 => one << rng.u32(0..bits),
            4 => BigUint::from(rng.u32(0..256)),
            _ => {
                let digits: Vec<u32> = (0..bits.div_ceil(32)).map(|_| rng.u32(..)).collect();
                BigUint::new(digits) >> rng.u32(0..bits)
            }
        };
        out |= (number & n::ones(bits)) << (bits * lane);
    }
    out
}

/// Whether the operation is one of this file whatever its types are.
pub fn is_own(op: Op) -> bool {
    matches!(
        op,
        Op::Big(_)
            | Op::Wrapped(_)
            | Op::Overflow(_)
            | Op::Fixed(..)
            | Op::ThreeWay(_)
            | Op::Extract
            | Op::Insert
            | Op::Shuffle(_)
            | Op::Reduce(_)
            | Op::Bitcast
            | Op::Freeze
            | Op::Aggregate(_)
            | Op::Memory
    )
}

/// The type with elements of `bits` bits.
fn with_bits(ty: Ty, bits: u32) -> Ty {
    match ty {
        Ty::Vec(_, lanes) => Ty::Vec(bits, lanes),
        _ => Ty::Int(bits),
    }
}

/// Appends an operation on a type of the palette.
pub fn operation(rng: &mut Rng, program: &mut Program, visible: &mut Vec<Val>, out: &mut Vec<Stmt>) {
    let ty = program.palette[rng.usize(0..program.palette.len())];
    let (bits, lanes) = ty.shape();
    let element = Ty::Int(bits);
    let is_vector = matches!(ty, Ty::Vec(..));
    let other = program.palette[rng.usize(0..program.palette.len())];
    let overflow = ["sadd", "uadd", "ssub", "usub", "smul", "umul"];
    let (result, op, operands): (Ty, Op, Vec<Ty>) = match rng.u32(0..30) {
        5 | 6 => (ty, Op::Shift(pick(rng, &["shl", "lshr", "ashr", "ushl.sat", "sshl.sat"])), vec![ty; 2]),
        7 if bits > 1 => (ty, Op::Divide(pick(rng, &["udiv", "urem", "sdiv", "srem"])), vec![ty; 2]),
        8 => {
            let names = ["umin", "umax", "smin", "smax", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat"];
            (ty, Op::Call2(pick(rng, &names)), vec![ty; 2])
        }
        9 => {
            let names = ["ctpop", "bitreverse", "abs", "ctlz", "cttz", "bswap"];
            let count = if bits.is_multiple_of(16) { 6 } else { 5 };
            (ty, Op::Call1(pick(rng, &names[..count])), vec![ty])
        }
        10 => (ty, Op::Funnel(pick(rng, &["fshl", "fshr"])), vec![ty; 3]),
        11 | 12 => {
            let cond = if is_vector && rng.bool() { Ty::Vec(1, lanes) } else { Ty::Int(1) };
            (ty, Op::Select, vec![cond, ty, ty])
        }
        13 => {
            let names = ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];
            (with_bits(ty, 1), Op::Icmp(pick(rng, &names)), vec![ty; 2])
        }
        14 | 15 => {
            let from = match other {
                Ty::Vec(from, m) if is_vector && m == lanes => from,
                Ty::Int(from) if !is_vector => from,
                _ => choose(rng, &[1, 8, 16, 32, 64]),
            };
            match from.cmp(&bits) {
                std::cmp::Ordering::Less => {
                    (ty, Op::Cast(pick(rng, &["zext", "sext"])), vec![with_bits(ty, from)])
                }
                std::cmp::Ordering::Equal => (ty, Op::Freeze, vec![ty]),
                std::cmp::Ordering::Greater => (ty, Op::Cast("trunc"), vec![with_bits(ty, from)]),
            }
        }
        16 => (ty, Op::Wrapped(pick(rng, &overflow)), vec![ty; 2]),
        17 => (with_bits(ty, 1), Op::Overflow(pick(rng, &overflow)), vec![ty; 2]),
        18 if bits > 2 => {
            let names = ["smul.fix.sat", "umul.fix.sat", "sdiv.fix.sat", "udiv.fix.sat"];
            (ty, Op::Fixed(pick(rng, &names), rng.u32(0..bits)), vec![ty; 2])
        }
        19 => {
            let to = if rng.bool() { 8 } else { bits.max(2) };
            (with_bits(ty, to), Op::ThreeWay(pick(rng, &["ucmp", "scmp"])), vec![ty; 2])
        }
        20 | 21 if is_vector => (element, Op::Extract, vec![ty, Ty::Int(32)]),
        22 if is_vector => (ty, Op::Insert, vec![ty, element, Ty::Int(32)]),
        23 | 24 if is_vector => {
            let from = match other {
                Ty::Vec(b, m) if b == bits => Ty::Vec(b, m),
                _ => ty,
            };
            let (_, count) = from.shape();
            program.masks.push((0..lanes).map(|_| rng.u32(0..2 * count)).collect());
            (ty, Op::Shuffle(program.masks.len() - 1), vec![from; 2])
        }
        25 if is_vector => {
            let names = ["add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax"];
            (element, Op::Reduce(pick(rng, &names)), vec![ty])
        }
        26 if is_vector && rng.bool() => (Ty::Int(bits * lanes), Op::Bitcast, vec![ty]),
        26 => {
            let fits = |t: &&Ty| t.shape().0 * t.shape().1 == bits * lanes && **t != ty;
            match program.palette.iter().find(fits) {
                Some(&from) => (ty, Op::Bitcast, vec![from]),
                None => (ty, Op::Freeze, vec![ty]),
            }
        }
        27 => {
            let types = [ty, other, [Ty::Int(8), Ty::Int(16), Ty::F64][rng.usize(0..3)]];
            let members = [0, 1, 1, 2, 0].map(|t: usize| types[t]);
            let member = rng.usize(0..5);
            let mut operands = vec![Ty::Int(1)];
            operands.extend(members.iter().chain(&members));
            (members[member], Op::Aggregate(member), operands)
        }
        28 => (ty, Op::Memory, vec![ty]),
        _ => (ty, Op::Binary(pick(rng, &["add", "sub", "mul", "and", "or", "xor"])), vec![ty; 2]),
    };
    let args = operands.iter().map(|&ty| operand(rng, program, visible, out, ty)).collect();
    let dst = new(program, result);
    out.push(Stmt::Op { dst, op, args });
    visible.push(dst);
}

fn lane(x: &BigUint, bits: u32, at: u32) -> BigUint {
    (x >> (bits * at)) & n::ones(bits)
}

fn small(x: &BigUint) -> u32 {
    x.iter_u32_digits().next().unwrap_or(0)
}

/// What the operation computes.
pub fn evaluate(program: &Program, ty: Ty, op: Op, args: &[(Ty, &BigUint)]) -> BigUint {
    let (bits, lanes) = ty.shape();
    let arg = |i: usize, at: u32| {
        let (ty, value) = args[i];
        let (bits, lanes) = ty.shape();
        lane(value, bits, if lanes == 1 { 0 } else { at })
    };
    let from = args.first().map_or((bits, lanes), |(ty, _)| ty.shape());
    let whole = |i: usize| args[i].1.clone();
    match op {
        Op::Big(index) => return program.constants[index].clone(),
        Op::Bitcast | Op::Freeze | Op::Memory => return whole(0),
        Op::Aggregate(member) => {
            let first = args[0].1.bit(0);
            return whole(1 + member + if first { 0 } else { 5 });
        }
        Op::Extract => return lane(args[0].1, from.0, small(args[1].1) % from.1),
        Op::Reduce(name) => {
            let mut result = lane(args[0].1, from.0, 0);
            for at in 1..from.1 {
                result = n::binary(name, from.0, &result, &lane(args[0].1, from.0, at));
            }
            return result;
        }
        Op::Select if args[0].0 == Ty::Int(1) => return whole(if args[0].1.bit(0) { 1 } else { 2 }),
        _ => {}
    }
    let mut out = BigUint::default();
    for at in 0..lanes {
        let one = match op {
            Op::Binary(name) | Op::Call2(name) => n::binary(name, bits, &arg(0, at), &arg(1, at)),
            Op::Shift(name) => {
                let amount = arg(1, at).min(BigUint::from(bits - 1));
                n::binary(name, bits, &arg(0, at), &amount)
            }
            Op::Divide(name) => n::binary(name, bits, &arg(0, at), &divisor(name, bits, &arg(1, at))),
            Op::Call1(name) => n::unary(name, bits, &arg(0, at)),
            Op::Funnel(name) => n::funnel(name, bits, &arg(0, at), &arg(1, at), &arg(2, at)),
            Op::Select => arg(if arg(0, at).bit(0) { 1 } else { 2 }, at),
            Op::Icmp(predicate) => n::compare(predicate, from.0, &arg(0, at), &arg(1, at)).into(),
            Op::Cast(name) => n::resize(name, from.0, bits, &arg(0, at)),
            Op::Wrapped(name) => n::overflow(name, bits, &arg(0, at), &arg(1, at)).0,
            Op::Overflow(name) => n::overflow(name, from.0, &arg(0, at), &arg(1, at)).1.into(),
            Op::Fixed(name, scale) => {
                let y = arg(1, at);
                let y = if name[1..].starts_with("div") { divisor(name, bits, &y) } else { y };
                n::fixed(name, bits, scale, &arg(0, at), &y)
            }
            Op::ThreeWay(name) => n::three_way(name, from.0, bits, &arg(0, at), &arg(1, at)),
            Op::Insert => {
                if small(args[2].1) % lanes == at {
                    args[1].1.clone()
                } else {
                    arg(0, at)
                }
            }
            Op::Shuffle(mask) => {
                let source = program.masks[mask][at as usize];
                let (which, place) = ((source / from.1) as usize, source % from.1);
                lane(args[which].1, bits, place)
            }
            other => unreachable!("{other:?}"),
        };
        out |= (one & n::ones(bits)) << (bits * at);
    }
    out
}

/// What is divided by: odd, and 1 instead of -1 where that could overflow.
fn divisor(name: &str, bits: u32, y: &BigUint) -> BigUint {
    let odd = y | BigUint::from(1u32);
    if name.starts_with('s') && odd == n::ones(bits) { BigUint::from(1u32) } else { odd }
}

/// `number` in every lane.
fn splat(ty: Ty, number: &BigInt) -> String {
    match ty {
        Ty::Vec(bits, _) => format!("splat (i{bits} {number})"),
        _ => number.to_string(),
    }
}

/// The operation as LLVM IR.
pub fn print(p: &mut Printer<'_>, dst: Val, op: Op, args: &[Val]) {
    let program = p.program;
    let ty = program.types[dst];
    let name = ty.name();
    let types: Vec<Ty> = args.iter().map(|&arg| program.types[arg]).collect();
    let from = types.first().copied().unwrap_or(ty);
    let from_name = from.name();
    let v: Vec<String> = args.iter().map(|arg| format!("%v{arg}")).collect();
    let call = |p: &mut Printer<'_>, result: &str, callee: &str, params: &[(String, String)]| {
        let kinds: Vec<&str> = params.iter().map(|(ty, _)| ty.as_str()).collect();
        p.declarations.insert(format!("{result} @llvm.{callee}({})", kinds.join(", ")));
        let values: Vec<String> = params.iter().map(|(ty, value)| format!("{ty} {value}")).collect();
        format!("call {result} @llvm.{callee}({})", values.join(", "))
    };
    let typed = |i: usize| (types[i].name(), v[i].clone());
    let suffix = ty.suffix();
    let text = match op {
        Op::Big(index) => {
            let value = &program.constants[index];
            match ty {
                Ty::Vec(bits, lanes) => {
                    let members: Vec<String> =
                        (0..lanes).map(|at| format!("i{bits} {}", lane(value, bits, at))).collect();
                    format!("or {name} <{}>, zeroinitializer", members.join(", "))
                }
                _ => format!("or {name} {value}, 0"),
            }
        }
        Op::Binary(what) => format!("{what} {name} {}, {}", v[0], v[1]),
        Op::Shift(what) => {
            let most = splat(ty, &BigInt::from(ty.shape().0 - 1));
            let least = call(p, &name, &format!("umin.{suffix}"), &[typed(1), (name.clone(), most)]);
            let amount = p.fresh("%m");
            p.line(&format!("  {amount} = {least}"));
            if what.ends_with(".sat") {
                call(p, &name, &format!("{what}.{suffix}"), &[typed(0), (name.clone(), amount)])
            } else {
                format!("{what} {name} {}, {amount}", v[0])
            }
        }
        Op::Divide(what) => {
            let y = print_divisor(p, what, ty, &v[1]);
            format!("{what} {name} {}, {y}", v[0])
        }
        Op::Fixed(what, scale) => {
            let y =
                if what[1..].starts_with("div") { print_divisor(p, what, ty, &v[1]) } else { v[1].clone() };
            let scale = ("i32".to_owned(), scale.to_string());
            call(p, &name, &format!("{what}.{suffix}"), &[typed(0), (name.clone(), y), scale])
        }
        Op::Call1(what) => {
            let mut params = vec![typed(0)];
            if matches!(what, "abs" | "ctlz" | "cttz") {
                params.push(("i1".into(), "false".into()));
            }
            call(p, &name, &format!("{what}.{suffix}"), &params)
        }
        Op::Call2(what) => call(p, &name, &format!("{what}.{suffix}"), &[typed(0), typed(1)]),
        Op::Funnel(what) => call(p, &name, &format!("{what}.{suffix}"), &[typed(0), typed(1), typed(2)]),
        Op::ThreeWay(what) => {
            let callee = format!("{what}.{suffix}.{}", from.suffix());
            call(p, &name, &callee, &[typed(0), typed(1)])
        }
        Op::Reduce(what) => call(p, &name, &format!("vector.reduce.{what}.{}", from.suffix()), &[typed(0)]),
        Op::Wrapped(what) | Op::Overflow(what) => {
            let flags = with_bits(from, 1).name();
            let both = format!("{{ {from_name}, {flags} }}");
            let callee = format!("{what}.with.overflow.{}", from.suffix());
            let result = call(p, &both, &callee, &[typed(0), typed(1)]);
            let pair = p.fresh("%pair");
            p.line(&format!("  {pair} = {result}"));
            format!("extractvalue {both} {pair}, {}", u32::from(matches!(op, Op::Overflow(_))))
        }
        Op::Select => {
            format!("select {from_name} {}, {name} {}, {name} {}", v[0], v[1], v[2])
        }
        Op::Icmp(predicate) => format!("icmp {predicate} {from_name} {}, {}", v[0], v[1]),
        Op::Cast(what) => format!("{what} {from_name} {} to {name}", v[0]),
        Op::Bitcast => format!("bitcast {from_name} {} to {name}", v[0]),
        Op::Freeze => format!("freeze {name} {}", v[0]),
        Op::Extract => {
            let at = print_index(p, &v[1], from);
            format!("extractelement {from_name} {}, i32 {at}", v[0])
        }
        Op::Insert => {
            let at = print_index(p, &v[2], ty);
            format!("insertelement {name} {}, {} {}, i32 {at}", v[0], types[1].name(), v[1])
        }
        Op::Shuffle(mask) => {
            let places: Vec<String> = program.masks[mask].iter().map(|at| format!("i32 {at}")).collect();
            let count = places.len();
            format!(
                "shufflevector {from_name} {}, {from_name} {}, <{count} x i32> <{}>",
                v[0],
                v[1],
                places.join(", ")
            )
        }
        Op::Aggregate(member) => {
            let [a, b, c] = [1, 2, 4].map(|i| types[i].name());
            let whole = format!("{{ {a}, [2 x {b}], {{ {c}, {a} }} }}");
            let paths = ["0", "1, 0", "1, 1", "2, 0", "2, 1"];
            let mut sides = Vec::new();
            for side in 0..2 {
                let mut last = "poison".to_owned();
                for (i, path) in paths.iter().enumerate() {
                    let next = p.fresh("%agg");
                    let (kind, value) = typed(1 + 5 * side + i);
                    p.line(&format!("  {next} = insertvalue {whole} {last}, {kind} {value}, {path}"));
                    last = next;
                }
                sides.push(last);
            }
            let chosen = p.fresh("%agg");
            p.line(&format!("  {chosen} = select i1 {}, {whole} {}, {whole} {}", v[0], sides[0], sides[1]));
            format!("extractvalue {whole} {chosen}, {}", paths[member])
        }
        Op::Memory => {
            let slot = p.fresh("%slot");
            let volatile = if dst.is_multiple_of(2) { " volatile" } else { "" };
            p.line(&format!("  {slot} = alloca {name}, addrspace(5)"));
            p.line(&format!("  store{volatile} {name} {}, ptr addrspace(5) {slot}", v[0]));
            format!("load{volatile} {name}, ptr addrspace(5) {slot}")
        }
        _ => return,
    };
    let mut line = String::new();
    let _ = write!(line, "  %v{dst} = {text}");
    p.line(&line);
}

fn print_divisor(p: &mut Printer<'_>, what: &str, ty: Ty, y: &str) -> String {
    let name = ty.name();
    let (one, minus) = (splat(ty, &BigInt::from(1)), splat(ty, &BigInt::from(-1)));
    let odd = p.fresh("%m");
    p.line(&format!("  {odd} = or {name} {y}, {one}"));
    if !what.starts_with('s') {
        return odd;
    }
    let (bad, good) = (p.fresh("%m"), p.fresh("%m"));
    p.line(&format!("  {bad} = icmp eq {name} {odd}, {minus}"));
    p.line(&format!("  {good} = select {} {bad}, {name} {one}, {name} {odd}", with_bits(ty, 1).name()));
    good
}

fn print_index(p: &mut Printer<'_>, index: &str, ty: Ty) -> String {
    let at = p.fresh("%m");
    p.line(&format!("  {at} = urem i32 {index}, {}", ty.shape().1));
    at
}
