//! Both halves of a product from one multiplication, and sums of a product with what was carried.
//!
//! Arithmetic with many digits is written with 32-bit products: `lo = a * b`, `hi = mul_hi(a, b)`, and, digit by digit,
//! `s = c + lo`, `next = hi + (s < c)`. The vector unit multiplies and adds in 64 bits as fast as it makes one of these products
//! (`v_mad_u64_u32`). So where a block has a 64-bit product of two 32-bit values:
//!
//! * their 32-bit product is its lower half;
//! * `s` and `next` are the halves of `a * b + c`, which 64 bits hold: (2³² − 1)² + 2³² − 1 < 2⁶⁴.
//!
//! Behind that, what is added to a product of 64-bit numbers is added to the first of its parts ([`super::addends`]).
//!
//! Cost: linear; blocks without such products are left alone.

use super::append::append_value;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Factors in one order.
type Key = [Value; 2];

/// Joins products in all blocks of a legal function.
pub fn join(func: &mut Function) {
    let mut replaced: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut any = false;
    for i in 0..func.layout.len() {
        any |= join_block(func, func.layout[i], &mut replaced);
    }
    if any {
        super::inline::substitute(func, &replaced);
    }
    super::addends::add(func);
}

/// What a block has of the pattern.
#[derive(Default)]
struct Found {
    /// Factors that are multiplied in 64 bits, and in 32.
    wide: FxHashSet<Key>,
    low: FxHashSet<Key>,
    /// `s`: its product and `c`.
    sums: FxHashMap<Value, (Key, Value)>,
    /// `next`: its `s`.
    carried: FxHashMap<Value, Value>,
}

pub(super) fn kind(func: &Function, value: Value) -> Option<&InstKind> {
    func.def_inst(value).map(|inst| &func.insts[inst].kind)
}

pub(super) fn binary(func: &Function, value: Value, wanted: BinaryOp) -> Option<[Value; 2]> {
    match kind(func, value)? {
        &InstKind::Binary { op, args } if op == wanted => Some(args),
        _ => None,
    }
}

pub(super) fn cast(func: &Function, value: Value, wanted: CastOp) -> Option<Value> {
    match kind(func, value)? {
        &InstKind::Cast { op, arg } if op == wanted => Some(arg),
        _ => None,
    }
}

fn key(mut factors: [Value; 2]) -> Key {
    factors.sort();
    factors
}

/// The 32-bit factors of a 64-bit product: zero-extended values, and constants.
fn wide_factors(func: &mut Function, value: Value) -> Option<Key> {
    let factors = binary(func, value, BinaryOp::Mul).filter(|_| func.ty(value) == Type::I64)?;
    let mut out = factors;
    for (factor, narrow) in factors.into_iter().zip(&mut out) {
        *narrow = match cast(func, factor, CastOp::ZExt) {
            Some(arg) if func.ty(arg) == Type::I32 => arg,
            _ => {
                let constant = func.as_int(factor).filter(|&c| c <= u64::from(u32::MAX))?;
                func.int(Type::I32, constant)
            }
        };
    }
    Some(key(out))
}

/// The product whose upper half `value` is.
pub(super) fn upper_half(func: &Function, value: Value) -> Option<Value> {
    let shifted = cast(func, value, CastOp::Trunc).filter(|_| func.ty(value) == Type::I32)?;
    let [product, amount] = binary(func, shifted, BinaryOp::LShr)?;
    (func.as_int(amount) == Some(32)).then_some(product)
}

/// `s`, `c` and the product of a sum `next`.
fn carried(func: &mut Function, next: Value) -> Option<(Value, Value, Key)> {
    let args = binary(func, next, BinaryOp::Add).filter(|_| func.ty(next) == Type::I32)?;
    for [high, carry] in [args, [args[1], args[0]]] {
        let Some(bit) = cast(func, carry, CastOp::ZExt) else { continue };
        let Some(&InstKind::Icmp { predicate, args: compared }) = kind(func, bit) else { continue };
        let [sum, part] = match predicate {
            IntPredicate::Ult => compared,
            IntPredicate::Ugt => [compared[1], compared[0]],
            _ => continue,
        };
        let Some(product) = upper_half(func, high) else { continue };
        let (Some(key), Some(addends)) = (wide_factors(func, product), binary(func, sum, BinaryOp::Add))
        else {
            continue;
        };
        for [low, c] in [addends, [addends[1], addends[0]]] {
            let own = binary(func, low, BinaryOp::Mul).is_some_and(|factors| self::key(factors) == key);
            if own && (part == c || part == low) {
                return Some((sum, c, key));
            }
        }
    }
    None
}

fn join_block(func: &mut Function, block: Block, replaced: &mut SecondaryMap<Value, Option<Value>>) -> bool {
    let insts = std::mem::take(&mut func.blocks[block].insts);
    let mut found = Found::default();
    for &inst in &insts {
        let Some(value) = func.insts[inst].result else { continue };
        if let Some(key) = wide_factors(func, value) {
            found.wide.insert(key);
        }
    }
    if !found.wide.is_empty() {
        find(func, &insts, &mut found);
    }
    if found.wide.intersection(&found.low).next().is_none() {
        func.blocks[block].insts = insts;
        return false;
    }
    let mut products: FxHashMap<Key, Value> = FxHashMap::default();
    let mut totals: FxHashMap<Value, Value> = FxHashMap::default();
    let mut out = Vec::with_capacity(insts.len() + 8);
    for inst in insts {
        let Some(value) = func.insts[inst].result else {
            out.push(inst);
            continue;
        };
        if let Some(sum) = found.carried.get(&value) {
            // Behind the sum, whose total is known.
            replaced[value] = totals.get(sum).map(|&total| half(func, inst, total, true, &mut out));
        } else if let Some(&(key, c)) = found.sums.get(&value) {
            let product = product(func, inst, key, &mut products, &mut out);
            let c = extended(func, inst, c, &mut out);
            let total = InstKind::Binary { op: BinaryOp::Add, args: [product, c] };
            let total = append_value(func, inst, total, Type::I64, &mut out);
            totals.insert(value, total);
            replaced[value] = Some(half(func, inst, total, false, &mut out));
        } else if let Some(factors) = binary(func, value, BinaryOp::Mul) {
            let narrow = (func.ty(value) == Type::I32).then(|| self::key(factors));
            let wide = wide_factors(func, value);
            match (narrow, wide) {
                (Some(key), _) if found.wide.contains(&key) => {
                    let product = product(func, inst, key, &mut products, &mut out);
                    replaced[value] = Some(half(func, inst, product, false, &mut out));
                }
                (_, Some(key)) if found.low.contains(&key) => {
                    replaced[value] = Some(product(func, inst, key, &mut products, &mut out));
                }
                _ => out.push(inst),
            }
        } else {
            out.push(inst);
        }
    }
    func.blocks[block].insts = out;
    true
}

/// Finds products and sums that go with the wide ones.
fn find(func: &mut Function, insts: &[Inst], found: &mut Found) {
    let mut here: FxHashSet<Value> = FxHashSet::default();
    for &inst in insts {
        let Some(value) = func.insts[inst].result else { continue };
        if let Some(factors) = binary(func, value, BinaryOp::Mul)
            && func.ty(value) == Type::I32
        {
            let key = key(factors);
            if found.wide.contains(&key) {
                found.low.insert(key);
            }
        } else if let Some((sum, c, key)) = carried(func, value)
            && here.contains(&sum)
            && found.low.contains(&key)
            && found.sums.get(&sum).is_none_or(|known| *known == (key, c))
        {
            found.sums.insert(sum, (key, c));
            found.carried.insert(value, sum);
        }
        here.insert(value);
    }
}

fn extended(func: &mut Function, like: Inst, value: Value, out: &mut Vec<Inst>) -> Value {
    match func.as_int(value) {
        Some(constant) => func.int(Type::I64, constant & u64::from(u32::MAX)),
        None => append_value(func, like, InstKind::Cast { op: CastOp::ZExt, arg: value }, Type::I64, out),
    }
}

/// The 64-bit product, which stands where the first of its kind is wanted.
fn product(
    func: &mut Function,
    like: Inst,
    key: Key,
    products: &mut FxHashMap<Key, Value>,
    out: &mut Vec<Inst>,
) -> Value {
    if let Some(&known) = products.get(&key) {
        return known;
    }
    let args = key.map(|factor| extended(func, like, factor, out));
    let value = append_value(func, like, InstKind::Binary { op: BinaryOp::Mul, args }, Type::I64, out);
    products.insert(key, value);
    value
}

fn half(func: &mut Function, like: Inst, whole: Value, upper: bool, out: &mut Vec<Inst>) -> Value {
    let arg = if upper {
        let by = func.int(Type::I64, 32);
        append_value(func, like, InstKind::Binary { op: BinaryOp::LShr, args: [whole, by] }, Type::I64, out)
    } else {
        whole
    };
    append_value(func, like, InstKind::Cast { op: CastOp::Trunc, arg }, Type::I32, out)
}
