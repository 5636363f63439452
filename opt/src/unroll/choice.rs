//! Which loops are worth their copies.

use super::{Candidate, LOADED, SIZE, WHOLE_SIZE, loaded, plus_constant, signed_constant};
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::target::Target;
use smallvec::SmallVec;

/// Limits of a counter that are looked at.
const MAX_LIMITS: usize = 4;
/// Sums and extremes between a counter and its limits.
const MAX_WAY: u32 = 16;

/// Whether several iterations at a time are worth it.
pub(super) fn is_worth_it(func: &Function, candidate: &Candidate) -> bool {
    let Some((_, body)) = func.blocks[candidate.block].insts.split_last() else { return false };
    body.len() < WHOLE_SIZE && is_body_worth_it(func, body) && !is_short(func, candidate)
}

/// Takes loops out of `chosen` that lanes share: each starts from its own number and steps over the others'. So each has few iterations, of many in all, and
/// other waves hide latencies by what they share.
pub(super) fn leave_shared(func: &Function, target: &Target, chosen: &mut Vec<Candidate>) {
    let steps_over = |candidate: &Candidate| candidate.step.unsigned_abs() > 1;
    if chosen.iter().any(steps_over) {
        let uniformity = Uniformity::compute(func, target);
        chosen.retain(|candidate| !steps_over(candidate) || !candidate.is_divergent(func, &uniformity));
    }
}

/// Whether the loop is known to be short.
fn is_short(func: &Function, candidate: &Candidate) -> bool {
    let up = candidate.step > 0;
    let [first, last] =
        [(candidate.first, up), (candidate.bound, !up)].map(|(v, above)| limits(func, v, above));
    let most = u64::from(2 * candidate.times) * candidate.step.unsigned_abs();
    let is_near = |a: i64, b: i64| b.wrapping_sub(a).unsigned_abs() < most;
    first.iter().any(|&(root, a)| last.iter().any(|&(other, b)| root == other && is_near(a, b)))
}

/// Sums of a value, if not of nothing, and a constant that `value` is not below if `above`, or else not above: windows around a place end at an image's border.
fn limits(func: &Function, value: Value, above: bool) -> SmallVec<[(Option<Value>, i64); 4]> {
    let (mut found, mut work) = (SmallVec::new(), SmallVec::<[(Value, i64); 4]>::from_slice(&[(value, 0)]));
    for _ in 0..MAX_WAY {
        let Some((value, more)) = work.pop() else { break };
        if let Some(constant) = signed_constant(func, value) {
            found.push((None, constant.wrapping_add(more)));
            continue;
        }
        match func.def_inst(value).map(|inst| &func.insts[inst].kind) {
            Some(&InstKind::Binary { op: BinaryOp::Add, args })
                if let Some((inner, constant)) = plus_constant(func, args) =>
            {
                work.push((inner, more.wrapping_add(constant)));
            }
            Some(InstKind::Intrinsic { intrinsic, args })
                if found.len() + work.len() < MAX_LIMITS
                    && *intrinsic == if above { Intrinsic::Smax } else { Intrinsic::Smin } =>
            {
                work.extend(args.iter().map(|&arg| (arg, more)));
            }
            _ => found.push((Some(value), more)),
        }
    }
    found
}

/// Whether a body may be there several times, and is worth it.
fn is_body_worth_it(func: &Function, body: &[Inst]) -> bool {
    let (mut loads, mut stores): (Vec<AddrSpace>, Vec<AddrSpace>) = Default::default();
    // What takes instructions.
    let mut size = 0;
    for &inst in body {
        let data = &func.insts[inst];
        match &data.kind {
            InstKind::Load { mem, .. } if mem.is_simple() => loads.push(mem.space),
            InstKind::Store { mem, .. } if mem.is_simple() => stores.push(mem.space),
            InstKind::Intrinsic { intrinsic, .. } => {
                let props = intrinsic.props();
                let across = IntrinsicProps::CONVERGENT | IntrinsicProps::READS;
                if data.has_side_effects() || props.intersects(across) {
                    return false;
                }
            }
            // An index that lanes share would not be shared any more by those that the wide loop leaves over.
            InstKind::ExtractElement { index, .. } | InstKind::InsertElement { index, .. }
                if func.as_int(*index).is_none() =>
            {
                return false;
            }
            kind if data.has_side_effects() || kind.is_terminator() => return false,
            InstKind::Load { .. }
            | InstKind::Alloca { .. }
            | InstKind::Call { .. }
            | InstKind::InlineAsm { .. } => return false,
            _ => {}
        }
        size += usize::from(!matches!(
            data.kind,
            InstKind::ExtractElement { .. } | InstKind::InsertElement { .. }
        ));
    }
    // LDS is the one space that nothing else reaches but a generic pointer.
    let apart = |load: AddrSpace, store: AddrSpace| {
        load != store
            && (load == AddrSpace::LOCAL || store == AddrSpace::LOCAL)
            && ![load, store].contains(&AddrSpace::FLAT)
    };
    let apart = loads.iter().all(|&load| stores.iter().all(|&store| apart(load, store)));
    !loads.is_empty() && apart && loaded(func, body) <= LOADED && size <= SIZE
}
