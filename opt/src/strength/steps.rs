//! Addresses that are one step of all lanes behind each other.
//!
//! `p[i + s]` behind `p[i]` is that address and `s * scale`, of 64 bits, which the scalar unit makes once for all of them: two additions, where the vector unit
//! adds to the index and then multiplies 32 bits to 64 at a quarter of the rate. The sum must not overflow, as the index of 32 bits that it is. Where multiples of one
//! step are added to one index, each address is made from the nearest multiple's.
//! Indices of lanes that are short are left alone: an offset of 32 bits takes them, and the scalar unit the rest.

use super::MOST;
use super::factors::{SHORT_DEPTH, Steps, is_short};
use super::sums::product;
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::FxHashMap;

/// Addresses of a block by their base, their index, and the scale of that; which value each is, and what is added to it in bytes.
type Addresses = FxHashMap<(Value, Value, i64), (Value, i64)>;

/// The same, a multiple of a step away, by that multiple.
type Family = Vec<(i64, (Value, i64))>;

/// An address that may be made from an earlier one.
struct Found {
    inst: Inst,
    block: Block,
    /// The earlier address, and how many bytes are added to it beside the steps.
    from: Value,
    offset: i64,
    /// What the index is a multiple of a step away from, the step, and how often that is added to the earlier address.
    index: Value,
    step: Value,
    by: i64,
}

/// Reduces addresses of each block of `func`.
pub(super) fn reduce(func: &mut Function, target: &Target) {
    let mut found = Vec::new();
    let mut known = Addresses::default();
    let mut families: FxHashMap<(Value, Value, i64, Value), Family> = FxHashMap::default();
    for &block in &func.layout {
        known.clear();
        families.clear();
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            let (&InstKind::PtrAdd { base, index: Some(index), scale, offset }, Some(value)) =
                (&data.kind, data.result)
            else {
                continue;
            };
            if func.ty(base).bits() != Some(64) || !(1..=i64::from(i32::MAX)).contains(&scale) {
                continue;
            }
            let place = (value, offset);
            let behind = steps_behind(func, index, |earlier| known.get(&(base, earlier, scale)).copied());
            if let Some((index, first, step, number)) = behind {
                let family = families.entry((base, index, scale, step)).or_insert_with(|| vec![(0, first)]);
                // What lies between the index and this one overflows no more than this one.
                let between = |&&(other, _): &&(i64, _)| {
                    other == 0 || other.signum() == number.signum() && other.abs() < number.abs()
                };
                let earlier = family.iter().rev().take(MOST).filter(between);
                if let Some(&(other, (from, own))) = earlier.max_by_key(|(other, _)| other.abs())
                    && other != number
                {
                    let (offset, by) = (offset.wrapping_sub(own), number - other);
                    found.push(Found { inst, block, from, offset, index, step, by });
                }
                family.push((number, place));
            }
            known.entry((base, index, scale)).or_insert(place);
        }
    }
    if found.is_empty() {
        return;
    }
    let uniformity = Uniformity::compute(func, target);
    let mut steps = Steps::default();
    for Found { inst, block, from, offset, index, step, by } in found {
        let InstKind::PtrAdd { base, index: Some(own), scale, .. } = func.insts[inst].kind else { continue };
        let differs = |value| uniformity.is_divergent_at(value, block);
        let bytes = by.abs().checked_mul(scale).filter(|&bytes| i32::try_from(bytes).is_ok());
        let Some(bytes) = bytes.filter(|_| !differs(step) && differs(index)) else { continue };
        if !differs(base) && is_short(func, own, SHORT_DEPTH) {
            continue;
        }
        let step = steps.times(func, step, bytes, Type::I64);
        let data = &mut func.insts[inst];
        data.kind = InstKind::PtrAdd { base: from, index: Some(step), scale: by.signum(), offset };
        data.flags = InstFlags::empty();
    }
    steps.insert(func);
}

/// If `index` is an earlier one and a multiple of a variable: the earlier one, what is known of it, the variable, and the multiple.
fn steps_behind<T>(
    func: &Function,
    index: Value,
    earlier: impl Fn(Value) -> Option<T>,
) -> Option<(Value, T, Value, i64)> {
    let data = &func.insts[func.def_inst(index)?];
    let InstKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), args: [a, b] } = data.kind else {
        return None;
    };
    if data.ty != Type::I32 || !data.flags.contains(InstFlags::NSW) {
        return None;
    }
    let sign = if op == BinaryOp::Add { 1 } else { -1 };
    let orders = if op == BinaryOp::Add { &[(a, b), (b, a)][..] } else { &[(a, b)] };
    orders.iter().find_map(|&(from, step)| {
        let known = earlier(from).filter(|_| func.as_int(step).is_none())?;
        let (step, number) = match product(func, step) {
            Some((of, number, flags)) if flags.contains(InstFlags::NSW) => (of, number),
            _ => (step, 1),
        };
        Some((from, known, step, number * sign))
    })
}
