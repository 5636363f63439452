//! Products of one value with numbers that differ by constants, and addresses at them.
//!
//! `s * (x + k)` behind `s * (x + k - 1)` is that and `s`: the vector unit multiplies 32 bits at a quarter of the rate at which it adds, and the sum is not
//! made. What the earlier product promises is given up, since it may overflow where the later one does not. Where they differ by `d`, `s * d` is made once,
//! if all lanes have the same `s` or a shift does it.
//!
//! An address at such an index, or at one and a value that is added to each, is the earlier address and `s * d * scale`, of 64 bits, which is the same for all of
//! them, if the index is exact and all lanes have the same step. That an earlier index does not overflow is known from an access at it, which has been executed
//! then. Indices of lanes that are short are left alone: an offset of 32 bits takes them, and the scalar unit the rest.

use super::MOST;
use crate::bits::{low_zeros, sext64};
use cranelift_entity::SecondaryMap;
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};

/// How far back it is looked whether an index is short.
pub(super) const SHORT_DEPTH: u32 = 3;

/// `step * (x + number)`.
#[derive(Clone, Copy)]
struct Product {
    step: Value,
    x: Value,
    number: i64,
    /// Whether neither the sum nor the product overflows as signed numbers.
    exact: bool,
}

/// A product of the block.
struct Known {
    number: i64,
    value: Value,
    inst: Inst,
}

/// An address of the block.
struct Address {
    number: i64,
    offset: i64,
    value: Value,
}

/// Reduces products and addresses of each block of `func`.
pub(super) fn reduce(func: &mut Function, target: &Target) {
    let products = find(func);
    if products.is_empty() {
        return;
    }
    let uniformity = Uniformity::compute(func, target);
    let mut steps = Steps::default();
    for at in 0..func.layout.len() {
        let block = func.layout[at];
        reduce_block(func, block, &products, &uniformity, &mut steps);
    }
    steps.insert(func);
}

/// The products of numbers that are a variable and a constant, or of the variable of one, by their instructions; nothing if there are no two of
/// the same variable and step.
fn find(func: &Function) -> FxHashMap<Inst, Vec<Product>> {
    let mut products: FxHashMap<Inst, Vec<Product>> = FxHashMap::default();
    let mut steps: FxHashSet<(Value, Value)> = FxHashSet::default();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            let InstKind::Binary { op: BinaryOp::Mul, args: [a, b] } = data.kind else { continue };
            // Legal IR has no product of 64 bits.
            if data.ty != Type::I32 || func.as_int(a).is_some() || func.as_int(b).is_some() {
                continue;
            }
            let found = [(a, b), (b, a)].map(|(step, factor)| {
                let (x, number, exact) = ahead(func, factor);
                Product { step, x, number, exact: exact && data.flags.contains(InstFlags::NSW) }
            });
            steps.extend(
                found.iter().filter(|product| product.number != 0).map(|product| (product.step, product.x)),
            );
            products.insert(inst, found.into());
        }
    }
    products.retain(|_, found| {
        found.retain(|product| steps.contains(&(product.step, product.x)));
        !found.is_empty()
    });
    products
}

/// The variable and the number whose sum `value` is, and whether that sum does not overflow.
fn ahead(func: &Function, value: Value) -> (Value, i64, bool) {
    let itself = (value, 0, true);
    let Some(inst) = func.def_inst(value) else { return itself };
    let data = &func.insts[inst];
    let InstKind::Binary { op, args: [x, number] } = data.kind else { return itself };
    let Some(number) = func.as_int(number).map(|number| sext64(number, 32)) else { return itself };
    match op {
        BinaryOp::Add => (x, number, data.flags.contains(InstFlags::NSW)),
        // Without a common bit there is no carry.
        BinaryOp::Or
            if data.flags.contains(InstFlags::DISJOINT)
                || u64::try_from(number).is_ok_and(|number| number >> low_zeros(func, x).min(63) == 0) =>
        {
            (x, number, true)
        }
        _ => itself,
    }
}

fn reduce_block(
    func: &mut Function,
    block: Block,
    products: &FxHashMap<Inst, Vec<Product>>,
    uniformity: &Uniformity,
    steps: &mut Steps,
) {
    let mut known: FxHashMap<(Value, Value), Vec<Known>> = FxHashMap::default();
    let mut addresses: FxHashMap<(Value, Option<Value>, Value, Value, i64), Vec<Address>> =
        FxHashMap::default();
    let mut accessed: FxHashSet<Value> = FxHashSet::default();
    for i in 0..func.blocks[block].insts.len() {
        let inst = func.blocks[block].insts[i];
        accessed.extend(address_of(&func.insts[inst].kind));
        let Some(value) = func.insts[inst].result else { continue };
        if let Some(found) = products.get(&inst) {
            let vector = uniformity.is_divergent_at(value, block);
            let makes = |step: Value, by: i64| {
                by == 1
                    || vector
                        && (by.unsigned_abs().is_power_of_two() || !uniformity.is_divergent_at(step, block))
            };
            reduce_product(func, inst, value, found, &mut known, steps, makes);
        } else if let InstKind::PtrAdd { base, index: Some(index), scale, offset } = func.insts[inst].kind
            && let Some((found, beside)) = parts(func, index, products)
        {
            let divergent = |part: Value| uniformity.is_divergent_at(part, block);
            if divergent(index)
                && !divergent(base)
                && beside.is_none_or(|own| is_short(func, own, SHORT_DEPTH))
            {
                continue;
            }
            let usable = |product: &&Product| product.exact && !divergent(product.step);
            for product in found.iter().filter(usable) {
                let known = addresses.entry((base, beside, product.step, product.x, scale)).or_default();
                let usable = |earlier: &&Address| accessed.contains(&earlier.value);
                let change =
                    nearest(known.iter().rev().take(MOST).filter(usable), product.number, |k| k.number)
                        .and_then(|(earlier, by)| {
                            // Legal products have factors of 32 bits.
                            let bytes =
                                by.abs().checked_mul(scale).filter(|&bytes| i32::try_from(bytes).is_ok())?;
                            Some((earlier.value, by.signum(), bytes, offset.wrapping_sub(earlier.offset)))
                        });
                known.push(Address { number: product.number, offset, value });
                if let Some((earlier, sign, bytes, offset)) = change {
                    let step = steps.times(func, product.step, bytes, Type::I64);
                    let data = &mut func.insts[inst];
                    data.kind = InstKind::PtrAdd { base: earlier, index: Some(step), scale: sign, offset };
                    data.flags = InstFlags::empty();
                    break;
                }
            }
        }
    }
}

/// The products that an index is, wherever they are made, alone or with a value that is added without an overflow.
fn parts<'a>(
    func: &Function,
    index: Value,
    products: &'a FxHashMap<Inst, Vec<Product>>,
) -> Option<(&'a [Product], Option<Value>)> {
    let of = |value| products.get(&func.def_inst(value)?).map(Vec::as_slice);
    if let Some(found) = of(index) {
        return Some((found, None));
    }
    let data = &func.insts[func.def_inst(index)?];
    let InstKind::Binary { op: BinaryOp::Add, args: [a, b] } = data.kind else { return None };
    if !data.flags.contains(InstFlags::NSW) {
        return None;
    }
    [(a, b), (b, a)].into_iter().find_map(|(product, own)| Some((of(product)?, Some(own))))
}

/// Whether a value has few bits, as the numbers of lanes and parts of them have, and its sign is no question.
pub(super) fn is_short(func: &Function, value: Value, depth: u32) -> bool {
    let Some(inst) = func.def_inst(value) else { return func.as_int(value).is_some() };
    let short = |value| depth > 0 && is_short(func, value, depth - 1);
    match func.insts[inst].kind {
        InstKind::Intrinsic {
            intrinsic: Intrinsic::WorkitemIdX | Intrinsic::WorkitemIdY | Intrinsic::WorkitemIdZ,
            ..
        } => true,
        InstKind::Cast { op: CastOp::ZExt, arg } => func.ty(arg).bits().is_some_and(|bits| bits < 32),
        InstKind::Binary { op: BinaryOp::And, args: [_, mask] } => {
            func.as_int(mask).is_some_and(|mask| mask <= i16::MAX as u64)
        }
        InstKind::Binary { op: BinaryOp::LShr, args: [x, _] } => short(x),
        InstKind::Binary { op: BinaryOp::Shl | BinaryOp::Mul, args: [x, by] } => {
            func.as_int(by).is_some() && short(x)
        }
        InstKind::Binary { op: BinaryOp::Add | BinaryOp::Or, args: [a, b] } => short(a) && short(b),
        _ => false,
    }
}

/// Makes a product from one that differs by a constant, if there is one and `makes` says that as many steps are worth it, and notes it.
fn reduce_product(
    func: &mut Function,
    inst: Inst,
    value: Value,
    found: &[Product],
    known: &mut FxHashMap<(Value, Value), Vec<Known>>,
    steps: &mut Steps,
    makes: impl Fn(Value, i64) -> bool,
) {
    let mut from = None;
    for product in found {
        let known = known.entry((product.step, product.x)).or_default();
        let earlier = nearest(known.iter().rev().take(MOST), product.number, |known| known.number);
        from = from.or_else(|| {
            let (earlier, by) = earlier.filter(|&(_, by)| makes(product.step, by.abs()))?;
            Some((earlier.value, earlier.inst, product.step, by))
        });
        known.push(Known { number: product.number, value, inst });
    }
    if let Some((earlier, earlier_inst, step, by)) = from {
        let step = steps.times(func, step, by.abs(), Type::I32);
        func.insts[earlier_inst].flags = InstFlags::empty();
        let op = if by > 0 { BinaryOp::Add } else { BinaryOp::Sub };
        let data = &mut func.insts[inst];
        data.kind = InstKind::Binary { op, args: [earlier, step] };
        data.flags = InstFlags::empty();
    }
}

/// What is nearest to `number`, of equals the first, and how much greater that is; not what is equal.
fn nearest<T>(known: impl Iterator<Item = T>, number: i64, of: impl Fn(&T) -> i64) -> Option<(T, i64)> {
    let ahead = known.map(|known| {
        let by = number - of(&known);
        (known, by)
    });
    ahead.filter(|&(_, by)| by != 0).min_by_key(|&(_, by)| by.abs())
}

/// What an access goes to.
fn address_of(kind: &InstKind) -> Option<Value> {
    match *kind {
        InstKind::Load { ptr, .. } | InstKind::Store { ptr, .. } => Some(ptr),
        _ => None,
    }
}

/// Multiples of steps, which are made behind what they are made from.
#[derive(Default)]
pub(super) struct Steps {
    known: FxHashMap<(Value, i64, Type), Value>,
    made: FxHashMap<Value, Vec<Inst>>,
}

impl Steps {
    /// `step * by` of the type `ty`, i32 or i64, to which the step is extended if it is narrower.
    pub fn times(&mut self, func: &mut Function, step: Value, by: i64, ty: Type) -> Value {
        if let Some(&value) = self.known.get(&(step, by, ty)) {
            return value;
        }
        if by == 1 && func.ty(step) == ty {
            return step;
        }
        let kind = if by == 1 {
            InstKind::Cast { op: CastOp::SExt, arg: step }
        } else {
            let (op, by) = match u64::try_from(by) {
                Ok(by) if by.is_power_of_two() => (BinaryOp::Shl, u64::from(by.trailing_zeros())),
                _ => (BinaryOp::Mul, by as u64),
            };
            let whole = if ty == Type::I64 { self.times(func, step, 1, ty) } else { step };
            InstKind::Binary { op, args: [whole, func.int(ty, by)] }
        };
        let inst = func.make_inst(kind, ty, InstFlags::empty());
        if let Some(origin) = func.def_inst(step) {
            func.locs[inst] = func.locs[origin];
        }
        self.made.entry(step).or_default().push(inst);
        let value = func.insts[inst].result.unwrap_or(step);
        self.known.insert((step, by, ty), value);
        value
    }

    /// Puts them behind the values they are made from.
    pub fn insert(self, func: &mut Function) {
        if self.made.is_empty() {
            return;
        }
        let entry = func.layout.first().copied();
        let mut at_start: SecondaryMap<Block, Vec<Inst>> = SecondaryMap::default();
        let mut behind: FxHashMap<Inst, Vec<Inst>> = FxHashMap::default();
        let mut made: Vec<_> = self.made.into_iter().collect();
        made.sort_by_key(|&(step, _)| step);
        for (step, insts) in made {
            match func.values[step].def {
                ValueDef::Inst(inst) => behind.entry(inst).or_default().extend(insts),
                ValueDef::BlockParam(block, _) => at_start[block].extend(insts),
                _ => entry.into_iter().for_each(|block| at_start[block].extend(&insts)),
            }
        }
        for i in 0..func.layout.len() {
            let block = func.layout[i];
            let old = std::mem::take(&mut func.blocks[block].insts);
            let mut new = std::mem::take(&mut at_start[block]);
            for inst in old {
                new.push(inst);
                new.extend(behind.remove(&inst).into_iter().flatten());
            }
            func.blocks[block].insts = new;
        }
    }
}
