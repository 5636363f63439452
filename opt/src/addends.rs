//! A sum behind a 64-bit product is made with its lower half's.
//!
//! A product of 64-bit numbers is that of their lower halves, with those of one half each added to its upper half. What the program adds to it can
//! be added to the first product, by the instruction that multiplies (`v_mad_u64_u32`), as sums may be in any order:
//! `join(lo(p), hi(p) + x + y) + z` is `join(lo(p + z), hi(p + z) + x + y)`.
//!
//! Cost: linear; blocks without 64-bit products are left alone.

use super::append::append_value;
use super::products::{binary, cast, kind, upper_half};
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Products of one half each that a product has.
const MAX_CROSS: usize = 2;

/// A product of 64 bits as the legaliser makes it.
struct Long {
    /// The product of the lower halves.
    low: Value,
    /// What is added to its upper half.
    cross: SmallVec<[Value; MAX_CROSS]>,
}

/// Rewrites sums in all blocks of a legal function.
pub(super) fn add(func: &mut Function) {
    let is_long = |data: &InstData| {
        data.ty == Type::I64 && matches!(data.kind, InstKind::Binary { op: BinaryOp::Mul, .. })
    };
    let blocks: Vec<Block> = (func.layout.iter().copied())
        .filter(|&block| func.blocks[block].insts.iter().any(|&inst| is_long(&func.insts[inst])))
        .collect();
    if blocks.is_empty() {
        return;
    }
    let uses = super::cfg::uses(func);
    for block in blocks {
        add_in(func, block, &uses);
    }
}

fn add_in(func: &mut Function, block: Block, uses: &SecondaryMap<Value, u32>) {
    let insts = std::mem::take(&mut func.blocks[block].insts);
    let mut out = Vec::with_capacity(insts.len() + 8);
    let mut here: FxHashSet<Value> = FxHashSet::default();
    for inst in insts {
        if let InstKind::Binary { op: BinaryOp::Add, args: [a, b] } = func.insts[inst].kind
            && func.insts[inst].ty == Type::I64
            && let Some((long, addend)) = [(a, b), (b, a)].into_iter().find_map(|(long, addend)| {
                let long = long_product(func, long, uses).filter(|long| here.contains(&long.low))?;
                Some((long, addend))
            })
        {
            func.insts[inst].kind = sum(func, inst, &long, addend, &mut out);
            func.insts[inst].flags = InstFlags::empty();
        }
        here.extend(func.insts[inst].result);
        out.push(inst);
    }
    func.blocks[block].insts = out;
}

/// `value` as a product, if nobody else asks for any part of it.
fn long_product(func: &Function, value: Value, uses: &SecondaryMap<Value, u32>) -> Option<Long> {
    let once = |value: Value| uses[value] == 1;
    let insertion = |value: Value, at: u64| match kind(func, value)? {
        &InstKind::InsertElement { vector, element, index } if func.as_int(index) == Some(at) => {
            once(value).then_some((vector, element))
        }
        _ => None,
    };
    let pair = cast(func, value, CastOp::BitCast)?;
    let (vector, mut high) = insertion(pair, 1)?;
    let (_, low) = insertion(vector, 0)?;
    let product = cast(func, low, CastOp::Trunc)?;
    binary(func, product, BinaryOp::Mul).filter(|_| func.ty(product) == Type::I64)?;
    if !(once(value) && once(low) && uses[product] == 2) {
        return None;
    }
    // The upper half comes first.
    let mut cross = SmallVec::new();
    while once(high)
        && cross.len() < MAX_CROSS
        && let Some([rest, term]) = binary(func, high, BinaryOp::Add)
    {
        cross.push(term);
        high = rest;
    }
    let is_upper = once(high) && upper_half(func, high) == Some(product);
    let shifted_once = cast(func, high, CastOp::Trunc).is_some_and(once);
    (is_upper && shifted_once).then_some(Long { low: product, cross })
}

/// What gives `long + addend`, with all but the last step appended to `out`.
fn sum(func: &mut Function, like: Inst, long: &Long, addend: Value, out: &mut Vec<Inst>) -> InstKind {
    let binary = |op, args| InstKind::Binary { op, args };
    let sum = append_value(func, like, binary(BinaryOp::Add, [long.low, addend]), Type::I64, out);
    let low = append_value(func, like, InstKind::Cast { op: CastOp::Trunc, arg: sum }, Type::I32, out);
    let by = func.int(Type::I64, 32);
    let arg = append_value(func, like, binary(BinaryOp::LShr, [sum, by]), Type::I64, out);
    let mut high = append_value(func, like, InstKind::Cast { op: CastOp::Trunc, arg }, Type::I32, out);
    for &term in long.cross.iter().rev() {
        high = append_value(func, like, binary(BinaryOp::Add, [high, term]), Type::I32, out);
    }
    let pair = Type::Vector(Scalar::Int(32), 2);
    let mut vector = func.constant(pair, Const::Poison);
    for (at, element) in [low, high].into_iter().enumerate() {
        let index = func.int(Type::I32, at as u64);
        vector = append_value(func, like, InstKind::InsertElement { vector, element, index }, pair, out);
    }
    InstKind::Cast { op: CastOp::BitCast, arg: vector }
}
