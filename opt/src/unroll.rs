//! Small loops with loads do several iterations in one.
//!
//! A load's latency in a loop of a few instructions is waited for in each iteration, as nothing moves between iterations. So a loop of
//! one block that loads gets a second one in front of it, which does [`TIMES`] iterations at a time, as long as so many are left:
//!
//! ```text
//! enter:  enough left? → wide, else → loop
//! wide:   body, body, …; enough left? → wide, else → rest
//! rest:   exit? → behind, else → loop
//! loop:   body; exit? → behind, else → loop          (as it was)
//! ```
//!
//! *Enough* is a comparison of what is between the counter and its bound, computed so that it never holds by a wrap: where the counter
//! is below the bound, or on it, so many steps do not pass it. So no iteration is done that the loop would not do, and nothing is loaded
//! that it would not load. Orders of accesses and sums are as they were.
//!
//! The counter `i` is a parameter to which the way back adds a constant, and the loop goes on while the sum is `<`, `>` or (with steps of
//! one) `!=` a bound from outside. Addresses that follow the counter are made from the first iteration's, so that they differ by
//! constants and accesses of neighbours are merged.
//!
//! Left alone: loops with barriers, fences, atomics, calls or operations across lanes; with stores, which keep loads apart unless one
//! of both is in LDS and the other is not; where few iterations are known to be left ([`limits`]); functions with very many such loops ([`GROWTH`]) or for size, and loops that ask for it (`no_unroll`).
//!
//! Source of the idea: unrolling with a remainder, S. Muchnick, "Advanced Compiler Design and Implementation", section 17.4.3. Cost:
//! linear.

use super::append::append_value;
use super::cfg::homes;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Iterations at a time.
const TIMES: u32 = 4;
/// Instructions of a loop that is worth its copies: more of them hide the latency themselves, and take more bytes than they save.
const SIZE: usize = 14;
/// The same with those that take or put elements, which mostly are no instructions.
const WHOLE_SIZE: usize = 24;
/// Dwords that an iteration loads at most, since all iterations' are there at a time.
const LOADED: u64 = 8;
/// Instructions that copies may add to a function. One with more such loops (one of ArrayFire's has 46, side by side) would outgrow the
/// instruction cache by them, and their values the registers.
const GROWTH: usize = 1024;
/// Limits of a counter that are looked at.
const MAX_LIMITS: usize = 4;
/// Sums and extremes between a counter and its limits.
const MAX_WAY: u32 = 16;
/// The largest step of a counter.
const MAX_STEP: i64 = 1 << 16;

/// How a value changes from one iteration to the next.
#[derive(Clone, Copy)]
struct Step {
    by: i64,
    /// As signed, and as unsigned numbers, neither value wraps.
    signed: bool,
    unsigned: bool,
}

/// A loop of one block that can be widened.
struct Candidate {
    block: Block,
    /// The only block that leads into it from outside.
    entering: Block,
    /// Index of the counter among the parameters.
    counter: usize,
    step: i64,
    bound: Value,
    /// The loop goes on while the next counter is this to the bound.
    predicate: IntPredicate,
}

/// Edges into a block.
#[derive(Clone, Copy, Default)]
struct Entries {
    edges: u32,
    /// The last block found outside of the block itself.
    outside: Option<Block>,
}

/// Widens loops of `func`, which is legal IR.
pub fn unroll(func: &mut Function) {
    if func.flags.intersects(FuncFlags::OPT_SIZE | FuncFlags::MIN_SIZE) {
        return;
    }
    let is_loop = |&block: &Block| func.successors(block).any(|next| next == block);
    if !func.layout.iter().any(is_loop) {
        return;
    }
    let homes = homes(func);
    let mut entries: SecondaryMap<Block, Entries> = SecondaryMap::new();
    for &block in &func.layout {
        for next in func.successors(block) {
            entries[next].edges += 1;
            if next != block {
                entries[next].outside = Some(block);
            }
        }
    }
    let candidates: Vec<Candidate> =
        func.layout.iter().filter_map(|&block| candidate(func, block, &homes, &entries)).collect();
    let growth: usize = candidates.iter().map(|it| func.blocks[it.block].insts.len() * TIMES as usize).sum();
    if candidates.is_empty() || growth > GROWTH {
        return;
    }
    let mut escaping = escaping(func, &homes, &candidates);
    // What is used behind a loop comes from either of the two.
    let mut replaced: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut before: FxHashMap<Block, [Block; 3]> = FxHashMap::default();
    for candidate in &candidates {
        let escaping = escaping.remove(&candidate.block).unwrap_or_default();
        let exit = func.successors(candidate.block).find(|&next| next != candidate.block);
        // A value that is used behind has no way around this loop, so the exit has no other edge.
        if exit.is_none_or(|exit| !escaping.is_empty() && entries[exit].edges != 1) {
            continue;
        }
        before.insert(candidate.block, widen(func, candidate, &escaping, &mut replaced));
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

/// What is known of the loop that `block` is, if it is one to be widened.
fn candidate(
    func: &Function,
    block: Block,
    homes: &SecondaryMap<Value, Option<Block>>,
    entries: &SecondaryMap<Block, Entries>,
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
    if !alone || !carries || data.no_unroll || data.insts.len() > WHOLE_SIZE {
        return None;
    }
    if !is_worth_it(func, &data.insts[..data.insts.len() - 1]) {
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
    // A loop that is known to be short is not made longer.
    let call =
        func.insts[func.terminator(entering)?].kind.targets().into_iter().find(|call| call.block == block)?;
    let up = step > 0;
    let [first, last] =
        [(*call.args.get(counter)?, up), (bound, !up)].map(|(v, above)| limits(func, v, above));
    let most = u64::from(2 * TIMES) * step.unsigned_abs();
    let is_near = |a: i64, b: i64| b.wrapping_sub(a).unsigned_abs() < most;
    let short = first.iter().any(|&(root, a)| last.iter().any(|&(other, b)| root == other && is_near(a, b)));
    (fits && !short).then_some(Candidate { block, entering, counter, step, bound, predicate })
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

fn signed_constant(func: &Function, value: Value) -> Option<i64> {
    let bits = func.ty(value).bits().filter(|&bits| bits <= 64)?;
    let raw = func.as_int(value)? as i64;
    Some(raw << (64 - bits) >> (64 - bits))
}

/// A value and the constant that is added to it.
fn plus_constant(func: &Function, [a, b]: [Value; 2]) -> Option<(Value, i64)> {
    match [a, b].map(|value| signed_constant(func, value)) {
        [None, Some(step)] => Some((a, step)),
        [Some(step), None] => Some((b, step)),
        _ => None,
    }
}

/// Whether several iterations of a body may be done at a time, and are worth it.
fn is_worth_it(func: &Function, body: &[Inst]) -> bool {
    let (mut loads, mut stores): (Vec<AddrSpace>, Vec<AddrSpace>) = Default::default();
    let mut dwords = 0;
    // What takes instructions.
    let mut size = 0;
    for &inst in body {
        let data = &func.insts[inst];
        match &data.kind {
            InstKind::Load { mem, .. } if mem.is_simple() => {
                loads.push(mem.space);
                dwords += data.ty.bits().map_or(LOADED + 1, |bits| bits.div_ceil(32));
            }
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
            InstKind::Load { .. } | InstKind::Alloca { .. } | InstKind::Call { .. } => return false,
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
    !loads.is_empty() && apart && dwords <= LOADED && size <= SIZE
}

/// Puts the loop in front; the new blocks in their order. Values in `escaping` become parameters of the exit, noted in `replaced`.
fn widen(
    func: &mut Function,
    candidate: &Candidate,
    escaping: &[Value],
    replaced: &mut SecondaryMap<Value, Option<Value>>,
) -> [Block; 3] {
    let block = candidate.block;
    let [enter, wide, rest] = [(); 3].map(|()| func.blocks.push(BlockData::default()));
    let params = func.blocks[block].params.clone();
    let like = func.blocks[block].insts[0];
    let at_wide: SmallVec<[Value; 4]> =
        params.iter().map(|&param| func.add_block_param(wide, func.ty(param))).collect();
    // One edge leads here, so that it is known where the counter starts. Other constants are best made once for both ways on.
    let mut at_enter: SmallVec<[Value; 4]> = SmallVec::new();
    for (k, &param) in params.iter().enumerate() {
        let new = if k == candidate.counter { param } else { func.add_block_param(enter, func.ty(param)) };
        at_enter.push(new);
    }
    if let Some(last) = func.terminator(candidate.entering) {
        for call in func.insts[last].kind.targets_mut() {
            if call.block == block {
                call.block = enter;
                at_enter[candidate.counter] = call.args.remove(candidate.counter);
            }
        }
    }
    // The guard.
    let mut insts = Vec::new();
    let first = at_enter[candidate.counter];
    let mut enough = is_enough(func, candidate, first, like, &mut insts);
    if candidate.predicate != IntPredicate::Ne {
        let args = [first, candidate.bound];
        let below = InstKind::Icmp { predicate: candidate.predicate, args };
        let below = append_value(func, like, below, Type::I1, &mut insts);
        let both = InstKind::Binary { op: BinaryOp::And, args: [below, enough] };
        enough = append_value(func, like, both, Type::I1, &mut insts);
    }
    let calls = [BlockCall { block: wide, args: at_enter.clone() }, BlockCall { block, args: at_enter }];
    func.blocks[enter].insts = insts;
    branch(func, enter, like, enough, calls);
    // The body, several times.
    let steps = steps(func, block);
    let mut copies = Copies { func, block, steps, first: FxHashMap::default(), out: Vec::new() };
    let mut args = at_wide;
    let mut values = FxHashMap::default();
    for n in 0..TIMES {
        values = copies.copy(n, &params, &args);
        args = copies.back(&values);
    }
    let Copies { mut out, .. } = copies;
    let counter = args[candidate.counter];
    let enough = is_enough(func, candidate, counter, like, &mut out);
    func.blocks[wide].insts = out;
    branch(func, wide, like, enough, [BlockCall { block: wide, args }, BlockCall::to(rest)]);
    // Behind it the loop's own branch, with the values of the last copy. Its condition is computed there alone.
    if let Some(last) = func.terminator(block) {
        let moved = |value: &mut Value| *value = values.get(value).copied().unwrap_or(*value);
        let mut kind = func.insts[last].kind.clone();
        if let InstKind::Branch { cond, .. } = &mut kind
            && let Some(inst) = func.def_inst(*cond)
        {
            let InstData { kind: mut condition, ty, flags, .. } = func.insts[inst].clone();
            condition.for_each_value_mut(moved);
            let copied = func.make_inst(condition, ty, flags);
            func.locs[copied] = func.locs[inst];
            func.blocks[rest].insts.push(copied);
            *cond = func.insts[copied].result.unwrap_or(*cond);
        }
        kind.for_each_value_mut(moved);
        let [own, copied] = [last, func.make_inst(kind, Type::Void, InstFlags::empty())];
        func.locs[copied] = func.locs[own];
        func.blocks[rest].insts.push(copied);
        for &value in escaping {
            let Some(exit) = func.successors(block).find(|&next| next != block) else { continue };
            replaced[value] = Some(func.add_block_param(exit, func.ty(value)));
            let copy = values.get(&value).copied().unwrap_or(value);
            for (inst, arg) in [(own, value), (copied, copy)] {
                for call in func.insts[inst].kind.targets_mut() {
                    if call.block == exit {
                        call.args.push(arg);
                    }
                }
            }
        }
    }
    func.blocks[block].no_unroll = true;
    func.blocks[wide].no_unroll = true;
    [enter, wide, rest]
}

/// Ends `block` by a branch.
fn branch(func: &mut Function, block: Block, like: Inst, cond: Value, [if_true, if_false]: [BlockCall; 2]) {
    let inst = func.make_inst(InstKind::Branch { cond, if_true, if_false }, Type::Void, InstFlags::empty());
    func.locs[inst] = func.locs[like];
    func.blocks[block].insts.push(inst);
}

/// Whether as many iterations as are done at a time are left where the counter is `now`, if it is not past the bound.
fn is_enough(
    func: &mut Function,
    candidate: &Candidate,
    now: Value,
    like: Inst,
    out: &mut Vec<Inst>,
) -> Value {
    let ty = func.ty(now);
    let between = if candidate.step > 0 { [candidate.bound, now] } else { [now, candidate.bound] };
    let between = match func.as_int(between[1]) {
        Some(0) => between[0],
        _ => append_value(func, like, InstKind::Binary { op: BinaryOp::Sub, args: between }, ty, out),
    };
    let passed = u64::from(TIMES - 1) * candidate.step.unsigned_abs();
    // With `!=` all numbers of iterations are there; else more than half of them count as too few.
    let predicate =
        if candidate.predicate == IntPredicate::Ne { IntPredicate::Ugt } else { IntPredicate::Sgt };
    let args = [between, func.int(ty, passed)];
    append_value(func, like, InstKind::Icmp { predicate, args }, Type::I1, out)
}

/// How the values of a loop's block change, where that is by a constant.
fn steps(func: &Function, block: Block) -> FxHashMap<Value, Step> {
    let data = &func.blocks[block];
    let mut steps: FxHashMap<Value, Step> = FxHashMap::default();
    let Some(last) = func.terminator(block) else { return steps };
    let targets = func.insts[last].kind.targets();
    let Some(back) = targets.into_iter().find(|call| call.block == block) else { return steps };
    for (&param, &arg) in data.params.iter().zip(&back.args) {
        let Some(sum) = func.def_inst(arg) else { continue };
        let InstData { kind: InstKind::Binary { op: BinaryOp::Add, args }, flags, .. } = &func.insts[sum]
        else {
            continue;
        };
        if let Some((of, by)) = plus_constant(func, *args)
            && of == param
        {
            let [signed, unsigned] = [InstFlags::NSW, InstFlags::NUW].map(|flag| flags.contains(flag));
            steps.insert(param, Step { by, signed, unsigned: unsigned && by >= 0 });
        }
    }
    let inside: rustc_hash::FxHashSet<Value> = data
        .params
        .iter()
        .copied()
        .chain(data.insts.iter().filter_map(|&inst| func.insts[inst].result))
        .collect();
    for &inst in &data.insts {
        let InstData { kind, flags, result: Some(result), .. } = &func.insts[inst] else { continue };
        let of = |value: &Value| match inside.contains(value) {
            false => Some(Step { by: 0, signed: true, unsigned: true }),
            true => steps.get(value).copied(),
        };
        let step = match kind {
            InstKind::Binary { op: BinaryOp::Add, args: [a, b] } => of(a).zip(of(b)).and_then(|(a, b)| {
                let by = a.by.checked_add(b.by)?;
                let signed = a.signed && b.signed && flags.contains(InstFlags::NSW);
                Some(Step {
                    by,
                    signed,
                    unsigned: a.unsigned && b.unsigned && flags.contains(InstFlags::NUW),
                })
            }),
            InstKind::Cast { op: CastOp::SExt, arg } => {
                of(arg).filter(|step| step.signed).map(|step| Step { unsigned: false, ..step })
            }
            InstKind::Cast { op: CastOp::ZExt, arg } => {
                of(arg).filter(|step| step.unsigned).map(|step| Step { signed: true, ..step })
            }
            _ => None,
        };
        if let Some(step) = step {
            steps.insert(*result, step);
        }
    }
    steps
}

/// Makes copies of a body.
struct Copies<'a> {
    func: &'a mut Function,
    block: Block,
    steps: FxHashMap<Value, Step>,
    /// The values of the first copy.
    first: FxHashMap<Value, Value>,
    out: Vec<Inst>,
}

impl Copies<'_> {
    /// Appends copy number `n`, whose parameters are `args`; its values by those of the body.
    fn copy(&mut self, n: u32, params: &[Value], args: &[Value]) -> FxHashMap<Value, Value> {
        let mut values: FxHashMap<Value, Value> = params.iter().copied().zip(args.iter().copied()).collect();
        if n == 0 {
            self.first = values.clone();
        }
        let count = self.func.blocks[self.block].insts.len().saturating_sub(1);
        for i in 0..count {
            mir::interrupt::checkpoint();
            let inst = self.func.blocks[self.block].insts[i];
            let InstData { mut kind, ty, flags, fpmath_ulp_256, result } = self.func.insts[inst].clone();
            let beside_first = self.beside_first(n, &kind);
            kind.for_each_value_mut(|value| *value = values.get(value).copied().unwrap_or(*value));
            let mut flags = flags;
            match beside_first {
                Some((index, more)) => {
                    if let InstKind::PtrAdd { index: place, offset, .. } = &mut kind {
                        (*place, *offset) = (Some(index), offset.wrapping_add(more));
                    }
                    // The parts of the sum are others, though not the sum.
                    flags.remove(InstFlags::NUW);
                }
                None => self.join_constants(&mut kind, &mut flags),
            }
            let new = self.func.make_inst(kind, ty, flags);
            self.func.insts[new].fpmath_ulp_256 = fpmath_ulp_256;
            self.func.locs[new] = self.func.locs[inst];
            if let Some(&aligns) = self.func.mem_aligns.get(&inst) {
                self.func.mem_aligns.insert(new, aligns);
            }
            self.out.push(new);
            if let Some((old, new)) = result.zip(self.func.insts[new].result) {
                values.insert(old, new);
                if n == 0 {
                    self.first.insert(old, new);
                }
            }
        }
        values
    }

    /// For an address of copy `n` with an index that moves by a constant: the first copy's index, and what is added in bytes.
    fn beside_first(&self, n: u32, kind: &InstKind) -> Option<(Value, i64)> {
        let &InstKind::PtrAdd { base, index: Some(index), scale, offset } = kind else { return None };
        let step = self.steps.get(&index).filter(|_| n > 0)?;
        let bits = |value: Value| self.func.ty(value).bits();
        if bits(index)? < bits(base)? && !step.signed {
            return None;
        }
        let more = step.by.checked_mul(i64::from(n))?.checked_mul(scale)?;
        offset.checked_add(more)?;
        Some((*self.first.get(&index)?, more))
    }

    /// A constant added to a sum with a constant is one sum.
    fn join_constants(&mut self, kind: &mut InstKind, flags: &mut InstFlags) {
        let below = |value: Value| self.func.def_inst(value).map(|inst| &self.func.insts[inst]);
        match kind {
            InstKind::PtrAdd { base, index: None, offset, .. } => {
                let Some(lower) = below(*base) else { return };
                let InstKind::PtrAdd { base: under, index: None, offset: more, .. } = lower.kind else {
                    return;
                };
                if let Some(sum) = offset.checked_add(more) {
                    (*base, *offset) = (under, sum);
                    *flags = flags.intersection(lower.flags).difference(InstFlags::NUW);
                }
            }
            InstKind::Binary { op: BinaryOp::Add, args } => {
                let Some((of, by)) = plus_constant(self.func, *args) else { return };
                let Some(lower) = below(of) else { return };
                let InstKind::Binary { op: BinaryOp::Add, args: sum } = lower.kind else { return };
                let own = lower.flags;
                let Some((under, more)) = plus_constant(self.func, sum) else { return };
                let Some(sum) = by.checked_add(more).filter(|_| (by < 0) == (more < 0)) else { return };
                // In the same direction, if neither wraps the sum does not.
                *flags = flags.intersection(own);
                let ty = self.func.ty(under);
                *args = [under, self.func.int(ty, sum as u64)];
            }
            _ => {}
        }
    }

    /// The arguments of the way back, as those of the copy with `values`.
    fn back(&self, values: &FxHashMap<Value, Value>) -> SmallVec<[Value; 4]> {
        let Some(last) = self.func.terminator(self.block) else { return SmallVec::new() };
        let targets = self.func.insts[last].kind.targets();
        let Some(back) = targets.into_iter().find(|call| call.block == self.block) else {
            return SmallVec::new();
        };
        back.args.iter().map(|arg| values.get(arg).copied().unwrap_or(*arg)).collect()
    }
}
