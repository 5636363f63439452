//! Small loops with loads do several iterations in one.
//!
//! A load's latency in a loop of a few instructions is waited for in each iteration, as nothing moves between iterations. So a loop of
//! one block that loads gets a second one in front of it, which does some ([`TIMES`]) iterations at a time, as long as so many are left:
//!
//! ```text
//! enter:  enough left? → wide, else → loop
//! wide:   body, body, …; enough left? → wide, else → rest
//! rest:   exit? → behind, else → loop
//! loop:   body; exit? → behind, else → loop          (as it was)
//! ```
//!
//! Where a branch in front says that the first iteration is one, and lanes part at the guard, they meet behind the wide loop: `enter` leads to `rest`, too, so that
//! the two loops are in regions one behind the other. Where the loop asks for its counter only to end, the wide one counts down what is left, and `rest` makes the
//! counter from that ([`widen`]).
//!
//! //! *Enough* is a comparison of what is between the counter and its bound, computed so that it never holds by a wrap: where the counter
//! is below the bound, or on it, so many steps do not pass it. So no iteration is done that the loop would not do, and nothing is loaded
//! that it would not load. Orders of accesses and sums are as they were.
//!
//! The counter `i` is a parameter to which the way back adds a constant, and the loop goes on while the sum is `<`, `>` or (with steps of
//! one) `!=` a bound from outside. Addresses that follow the counter are made from the first iteration's, so that they differ by
//! constants and accesses of neighbours are merged.
//!
//! [`choose`] looks at loops as they come, with their limits and indices. Addresses are pointers that run along with the counter by the time that [`unroll`]
//! does what it chose: copies are at constants from the first one's, and the loop goes on with the pointers where the wide one stops.
//!
//! Left alone: loops with barriers, fences, atomics, calls or operations across lanes; with stores, which keep loads apart unless one
//! of both is in LDS and the other is not; where few iterations are known or likely to be left ([`choice`]); functions with very many such loops ([`GROWTH`]) or for size, and loops that ask for it (`no_unroll`).
//!
//! Source of the idea: unrolling with a remainder, S. Muchnick, "Advanced Compiler Design and Implementation", section 17.4.3. Cost:
//! linear.

mod choice;
mod copies;
mod widen;

use super::bits::sext64;
use super::cfg::homes;
use cranelift_entity::SecondaryMap;
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Iterations at a time, of loops that load little and of others.
const TIMES: [u32; 2] = [4, 2];
/// The former's iterations load this part of the VGPRs at most that a wave has where as many run as can: all iterations' are there at a time.
const LITTLE: u64 = 6;
/// Instructions of a loop that is worth its copies: more of them hide the latency themselves, and take more bytes than they save.
const SIZE: usize = 14;
/// The same with those that take or put elements, which mostly are no instructions.
const WHOLE_SIZE: usize = 24;
/// Dwords that an iteration loads at most.
const LOADED: u64 = 8;
/// Instructions that copies may add to a function. One with more such loops (one of ArrayFire's has 46, side by side) would outgrow the
/// instruction cache by them, and their values the registers.
const GROWTH: usize = 1024;
/// Branches in front of a loop that are looked at.
const MAX_GUARDS: usize = 4;
/// The largest step of a counter.
const MAX_STEP: i64 = 1 << 16;

/// A loop of one block that can be widened.
struct Candidate {
    block: Block,
    /// The only block that leads into it from outside.
    entering: Block,
    /// Index of the counter among the parameters.
    counter: usize,
    /// What it starts from.
    first: Value,
    step: i64,
    bound: Value,
    /// The loop goes on while the next counter is this to the bound.
    predicate: IntPredicate,
    /// The counter is this to the bound at the start, too, as a branch on the way says.
    is_guarded: bool,
    /// Iterations to do at a time.
    times: u32,
}

impl Candidate {
    /// Whether lanes may leave the loop in different iterations.
    fn is_divergent(&self, func: &Function, uniformity: &Uniformity) -> bool {
        match func.terminator(self.block).map(|last| &func.insts[last].kind) {
            Some(&InstKind::Branch { cond, .. }) => uniformity.is_divergent_where_defined(cond),
            _ => false,
        }
    }
}

/// Edges into a block.
#[derive(Clone, Copy, Default)]
struct Entries {
    edges: u32,
    /// The last block found outside of the block itself.
    outside: Option<Block>,
}

/// Loops that can be widened, and what they were found by.
#[derive(Default)]
struct Candidates {
    list: Vec<Candidate>,
    /// The block of each value that is not a constant or a parameter of the function.
    homes: SecondaryMap<Value, Option<Block>>,
    entries: SecondaryMap<Block, Entries>,
}

/// Marks the loops of `func`, which is legal IR, that are to do several iterations at a time.
pub fn choose(func: &mut Function, target: &Target) {
    if func.flags.intersects(FuncFlags::OPT_SIZE | FuncFlags::MIN_SIZE) {
        return;
    }
    let Candidates { list: mut chosen, .. } =
        candidates(func, target, |data| data.unrolling == Unrolling::Open);
    chosen.retain(|candidate| choice::is_worth_it(func, candidate));
    choice::leave_shared(func, target, &mut chosen);
    let growth: usize = chosen.iter().map(|it| func.blocks[it.block].insts.len() * it.times as usize).sum();
    if growth <= GROWTH {
        for Candidate { block, .. } in chosen {
            func.blocks[block].unrolling = Unrolling::Wanted;
        }
    }
}

/// Widens the loops of `func`, which is legal IR, that are marked.
pub fn unroll(func: &mut Function, target: &Target) {
    let Candidates { list: candidates, homes, entries } =
        candidates(func, target, |data| data.unrolling == Unrolling::Wanted);
    if candidates.is_empty() {
        return;
    }
    // Where lanes part at the guard they are better together behind the wide loop.
    let uniformity = candidates.iter().any(|it| it.is_guarded).then(|| Uniformity::compute(func, target));
    let parts: Vec<bool> = (candidates.iter())
        .map(|it| it.is_guarded && uniformity.as_ref().is_some_and(|all| it.is_divergent(func, all)))
        .collect();
    let mut escaping = escaping(func, &homes, &candidates);
    // What is used behind a loop comes from either of the two.
    let mut replaced: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut before: FxHashMap<Block, [Block; 3]> = FxHashMap::default();
    for (candidate, meets) in candidates.iter().zip(parts) {
        let mut escaping = escaping.remove(&candidate.block).unwrap_or_default();
        let exit = func.successors(candidate.block).find(|&next| next != candidate.block);
        // A value that is used behind has no way around this loop, so the exit has no other edge.
        if exit.is_none_or(|exit| !escaping.is_empty() && entries[exit].edges != 1) {
            continue;
        }
        let extended = take_extended(func, &homes, candidate.block, &mut escaping);
        before.insert(candidate.block, widen::widen(func, candidate, &escaping, &mut replaced, meets));
        if let Some(exit) = exit {
            extend_behind(func, exit, extended, &mut replaced);
        }
    }
    let layout = std::mem::take(&mut func.layout);
    for block in layout {
        if let Some(new) = before.get(&block) {
            func.layout.extend(new);
        }
        func.layout.push(block);
    }
    if replaced.values().any(Option::is_some) {
        for i in 0..func.layout.len() {
            let block = func.layout[i];
            for j in 0..func.blocks[block].insts.len() {
                let inst = func.blocks[block].insts[j];
                func.insts[inst].kind.for_each_value_mut(|value| {
                    if let Some(new) = replaced[*value]
                        && homes[*value] != Some(block)
                    {
                        *value = new;
                    }
                });
            }
        }
    }
}

/// A value that is extended once more behind the loop, and the extensions from the last one to the first.
type Extended = (Value, SmallVec<[Inst; 2]>);

/// Lets what is extended escape from the loop `block` instead of the result: it is narrower, and the factor of a 64-bit product has to be seen to be an extension.
fn take_extended(
    func: &Function,
    homes: &SecondaryMap<Value, Option<Block>>,
    block: Block,
    escaping: &mut Vec<Value>,
) -> Vec<Extended> {
    let extension = |value: Value| match func.insts[func.def_inst(value)?].kind {
        InstKind::Cast { op: CastOp::ZExt | CastOp::SExt, arg } if homes[value] == Some(block) => Some(arg),
        _ => None,
    };
    let mut extended = Vec::new();
    let mut narrow = Vec::new();
    escaping.retain(|&value| {
        let (mut of, mut chain) = (value, SmallVec::new());
        while let Some(arg) = extension(of) {
            chain.extend(func.def_inst(of));
            of = arg;
        }
        if chain.is_empty() {
            return true;
        }
        if homes[of] == Some(block) {
            narrow.push(of);
        }
        extended.push((of, chain));
        false
    });
    escaping.extend(narrow);
    let mut seen = FxHashSet::default();
    escaping.retain(|&value| seen.insert(value));
    extended
}

/// Extends values again at the start of `exit`, and notes that in `replaced`.
fn extend_behind(
    func: &mut Function,
    exit: Block,
    extended: Vec<Extended>,
    replaced: &mut SecondaryMap<Value, Option<Value>>,
) {
    let mut first = Vec::new();
    for (of, chain) in extended {
        let mut value = replaced[of].unwrap_or(of);
        for &inst in chain.iter().rev() {
            let InstData { mut kind, ty, flags, .. } = func.insts[inst].clone();
            kind.for_each_value_mut(|arg| *arg = value);
            let copy = func.make_inst(kind, ty, flags);
            func.locs[copy] = func.locs[inst];
            first.push(copy);
            value = func.insts[copy].result.unwrap_or(value);
        }
        if let Some(last) = chain.first().and_then(|&inst| func.insts[inst].result) {
            replaced[last] = Some(value);
        }
    }
    func.blocks[exit].insts.splice(0..0, first);
}

/// The values of candidates that are used in other blocks, by candidate, each once.
fn escaping(
    func: &Function,
    homes: &SecondaryMap<Value, Option<Block>>,
    candidates: &[Candidate],
) -> FxHashMap<Block, Vec<Value>> {
    let mut lists: FxHashMap<Block, Vec<Value>> =
        candidates.iter().map(|candidate| (candidate.block, Vec::new())).collect();
    let mut seen: SecondaryMap<Value, bool> = SecondaryMap::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            func.insts[inst].kind.for_each_value(|value| {
                if let Some(home) = homes[value]
                    && home != block
                    && let Some(list) = lists.get_mut(&home)
                    && !std::mem::replace(&mut seen[value], true)
                {
                    list.push(value);
                }
            });
        }
    }
    lists
}

/// The loops of one block, of those that are `wanted`, that can be widened.
fn candidates(func: &Function, target: &Target, wanted: impl Fn(&BlockData) -> bool) -> Candidates {
    let is_loop = |block: Block| func.successors(block).any(|next| next == block);
    let loops: Vec<Block> =
        func.layout.iter().copied().filter(|&block| wanted(&func.blocks[block]) && is_loop(block)).collect();
    if loops.is_empty() {
        return Candidates::default();
    }
    let (homes, entries) = (homes(func), entries(func));
    let limits = target.limits();
    let little = u64::from(limits.vgpr_budget(limits.max_waves_per_simd)) / LITTLE;
    let times = |block: Block| TIMES[usize::from(loaded(func, &func.blocks[block].insts) > little)];
    let found = |block| candidate(func, block, &homes, &entries, times(block));
    let list = loops.into_iter().filter_map(found).collect();
    Candidates { list, homes, entries }
}

/// The edges into each block.
fn entries(func: &Function) -> SecondaryMap<Block, Entries> {
    let mut entries: SecondaryMap<Block, Entries> = SecondaryMap::new();
    for &block in &func.layout {
        for next in func.successors(block) {
            entries[next].edges += 1;
            if next != block {
                entries[next].outside = Some(block);
            }
        }
    }
    entries
}

/// What is known of the loop that `block` is, if it is one to be widened by `times` iterations.
fn candidate(
    func: &Function,
    block: Block,
    homes: &SecondaryMap<Value, Option<Block>>,
    entries: &SecondaryMap<Block, Entries>,
    times: u32,
) -> Option<Candidate> {
    let data = &func.blocks[block];
    let InstKind::Branch { cond, if_true, if_false } = &func.insts[func.terminator(block)?].kind else {
        return None;
    };
    let goes_on = if_true.block == block;
    let entering = entries[block].outside?;
    let alone = goes_on != (if_false.block == block) && entries[block].edges == 2;
    // A switch has no place for arguments.
    let carries = matches!(
        func.insts[func.terminator(entering)?].kind,
        InstKind::Jump { .. } | InstKind::Branch { .. }
    );
    if !alone || !carries {
        return None;
    }
    // The comparison, as that of the next counter with the bound.
    let condition = func.def_inst(*cond)?;
    let InstKind::Icmp { predicate, args: [a, b] } = func.insts[condition].kind else { return None };
    let inside = |value: Value| homes[value] == Some(block);
    if !inside(*cond) {
        return None;
    }
    let (next, bound, predicate) = match (inside(a), inside(b)) {
        (true, false) => (a, b, predicate),
        (false, true) => (b, a, predicate.swapped()),
        _ => return None,
    };
    let predicate = if goes_on { predicate } else { predicate.inverse() };
    let back = if goes_on { if_true } else { if_false };
    let sum = func.def_inst(next)?;
    let InstKind::Binary { op: BinaryOp::Add, args } = func.insts[sum].kind else { return None };
    let (counter, step) = plus_constant(func, args)?;
    let counter = data.params.iter().position(|&param| param == counter)?;
    let integer = matches!(func.ty(next), Type::I32 | Type::I64);
    if !integer
        || back.args.get(counter) != Some(&next)
        || matches!(func.as_const(bound), Some(Const::Undef | Const::Poison))
    {
        return None;
    }
    use IntPredicate::*;
    let fits = match predicate {
        Ne => step.abs() == 1,
        Slt | Ult => (1..=MAX_STEP).contains(&step),
        Sgt | Ugt => (-MAX_STEP..=-1).contains(&step),
        _ => false,
    };
    let mut calls = func.insts[func.terminator(entering)?].kind.targets().into_iter();
    let first = *calls.find(|call| call.block == block)?.args.get(counter)?;
    let is_guarded = is_guarded(func, [entering, block], entries, [first, bound], predicate);
    fits.then_some(Candidate { block, entering, counter, first, step, bound, predicate, is_guarded, times })
}
/// Dwords that `insts` load.
fn loaded(func: &Function, insts: &[Inst]) -> u64 {
    let of = |&inst: &Inst| match func.insts[inst].kind {
        InstKind::Load { .. } => func.insts[inst].ty.bits().map_or(LOADED + 1, |bits| bits.div_ceil(32)),
        _ => 0,
    };
    insts.iter().map(of).sum()
}

/// Whether a branch leads over the edge from `before` to `block` only where `args` compare as `predicate`.
fn is_guarded(
    func: &Function,
    [mut before, mut block]: [Block; 2],
    entries: &SecondaryMap<Block, Entries>,
    args: [Value; 2],
    predicate: IntPredicate,
) -> bool {
    use IntPredicate::*;
    for _ in 0..MAX_GUARDS {
        let Some(last) = func.terminator(before) else { return false };
        if let InstKind::Branch { cond, if_true, .. } = &func.insts[last].kind
            && let Some(test) = func.def_inst(*cond)
            && let InstKind::Icmp { predicate: found, args: compared } = func.insts[test].kind
        {
            let found = if if_true.block == block { found } else { found.inverse() };
            let found = if compared == args { found } else { found.swapped() };
            let same = compared == args || compared == [args[1], args[0]];
            let apart = predicate == Ne && matches!(found, Slt | Sgt | Ult | Ugt);
            if same && (found == predicate || apart) {
                return true;
            }
        }
        let Entries { edges: 1, outside: Some(further) } = entries[before] else { return false };
        (before, block) = (further, before);
    }
    false
}

fn signed_constant(func: &Function, value: Value) -> Option<i64> {
    let bits = func.ty(value).bits().filter(|&bits| bits <= 64)?;
    Some(sext64(func.as_int(value)?, bits as u32))
}

/// A value and the constant that is added to it.
fn plus_constant(func: &Function, [a, b]: [Value; 2]) -> Option<(Value, i64)> {
    match [a, b].map(|value| signed_constant(func, value)) {
        [None, Some(step)] => Some((a, step)),
        [Some(step), None] => Some((b, step)),
        _ => None,
    }
}
