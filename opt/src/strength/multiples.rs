//! Addresses that are multiples of one value of 64 bits away from one base, made from each other.
//!
//! ```text
//! q = p + s * 4                        q = p + s * 4
//! r = p + s * 12                  →    r = q + s * 8
//! t = p + s * 20                       t = r + s * 8
//! ```
//!
//! Front ends take the products out of the loop that uses them: there each takes three multiplications, two additions and two registers, and rows of
//! a tile are dozens. Steps between them are few. Numbers of 64 bits wrap as addresses do, so nothing else changes. Legal code has such a product as
//! parts of 32 bits, so this precedes legalisation. An address of a loop is none to start from behind it: it would be kept alive through the loop, in
//! VGPRs where lanes leave that at different times.
//!
//! Cost: linear but for a logarithm; [`MOST`] earlier addresses are looked at for each.

use super::MOST;
use super::factors::Steps;
use crate::memory::Flow;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Products that must disappear for it.
const LEAST: usize = 4;

/// An address.
#[derive(Clone, Copy)]
struct Member {
    inst: Inst,
    value: Value,
    block: u32,
    /// How often the step is added to the base, and the bytes beside.
    number: i64,
    offset: i64,
    /// The one it is made from, among the members.
    from: Option<usize>,
}

/// Addresses of one base and one step, in order of the dominator tree.
#[derive(Default)]
struct Family {
    members: Vec<Member>,
    /// Those that dominate the block that is looked at.
    open: Vec<usize>,
}

/// Makes addresses of `func` from each other, which is not legal yet.
pub fn chain_multiples(func: &mut Function) {
    let multiples = func.insts.values().filter(|data| multiple(func, data).is_some()).count();
    if multiples < LEAST {
        return;
    }
    let families = families(func);
    let mut steps = Steps::default();
    for ((_, step), family) in families {
        if !family.is_worth_it() {
            continue;
        }
        for member in &family.members {
            let Some(earlier) = member.from.map(|from| family.members[from]) else { continue };
            let index = steps.times(func, step, member.number.wrapping_sub(earlier.number), Type::I64);
            let data = &mut func.insts[member.inst];
            let offset = member.offset.wrapping_sub(earlier.offset);
            data.kind = InstKind::PtrAdd { base: earlier.value, index: Some(index), scale: 1, offset };
            data.flags = InstFlags::empty();
        }
    }
    steps.insert(func);
}

/// Of an address of 64 bits: its base, what is multiplied, by what, and the bytes beside.
fn multiple(func: &Function, data: &InstData) -> Option<(Value, Value, i64, i64)> {
    let InstKind::PtrAdd { base, index: Some(index), scale, offset } = data.kind else { return None };
    if !matches!(data.ty, Type::Scalar(Scalar::Ptr(_)))
        || data.ty.bits() != Some(64)
        || func.ty(index) != Type::I64
    {
        return None;
    }
    let product = func.def_inst(index).and_then(|inst| match func.insts[inst].kind {
        InstKind::Binary { op: op @ (BinaryOp::Mul | BinaryOp::Shl), args: [step, by] } => {
            let by = func.as_int(by)?;
            let by = if op == BinaryOp::Mul { by } else { 1u64.checked_shl(u32::try_from(by).ok()?)? };
            Some((step, by as i64))
        }
        _ => None,
    });
    let (step, by) = product.unwrap_or((index, 1));
    func.as_int(step).is_none().then(|| (base, step, by.wrapping_mul(scale), offset))
}

/// The families of `func`, the first address of each first.
fn families(func: &Function) -> Vec<((Value, Value), Family)> {
    let flow = Flow::new(func);
    let mut blocks = flow.order.blocks().to_vec();
    blocks.sort_by_key(|&block| flow.dominators.preorder_range(block));
    let mut places: FxHashMap<(Value, Value), usize> = FxHashMap::default();
    let mut families: Vec<((Value, Value), Family)> = Vec::new();
    for block in blocks {
        for &inst in &func.blocks[Block::from_u32(block)].insts {
            let data = &func.insts[inst];
            let (Some((base, step, number, offset)), Some(value)) = (multiple(func, data), data.result)
            else {
                continue;
            };
            let place = *places.entry((base, step)).or_insert(families.len());
            if place == families.len() {
                families.push(((base, step), Family::default()));
            }
            let Family { members, open } = &mut families[place].1;
            while open.last().is_some_and(|&last| !flow.dominators.dominates(members[last].block, block)) {
                open.pop();
            }
            let distance = |&at: &usize| number.wrapping_sub(members[at].number).unsigned_abs();
            let usable = |&at: &usize| {
                let left = flow.loops.innermost(members[at].block);
                left.is_none_or(|l| flow.loops.contains(l, block))
            };
            let nearest = open.iter().rev().take(MOST).copied().filter(usable).min_by_key(distance);
            let from = nearest.filter(|at| distance(at) <= number.unsigned_abs());
            open.push(members.len());
            members.push(Member { inst, value, block, number, offset, from });
        }
    }
    families
}

impl Family {
    /// Whether fewer products are needed than before.
    fn is_worth_it(&self) -> bool {
        let is_product = |number: &i64| !number.unsigned_abs().is_power_of_two();
        let before: FxHashSet<i64> =
            self.members.iter().map(|member| member.number).filter(is_product).collect();
        let steps = self.members.iter().map(|member| {
            let from = member.from.map_or(0, |from| self.members[from].number);
            member.number.wrapping_sub(from)
        });
        let after: FxHashSet<i64> = steps.filter(is_product).collect();
        before.len() >= after.len() + LEAST
    }
}
