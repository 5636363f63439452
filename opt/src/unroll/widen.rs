//! The loop that does several iterations at a time.

use super::Candidate;
use super::copies::Copies;
use crate::append::append_value;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Puts the loop in front; the new blocks in their order. Values in `escaping` become parameters of the exit, noted in `replaced`.
/// If `meets`, all lanes meet behind it, for which the loop must be guarded.
pub(super) fn widen(
    func: &mut Function,
    candidate: &Candidate,
    escaping: &[Value],
    replaced: &mut SecondaryMap<Value, Option<Value>>,
    meets: bool,
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
    let left = what_is_left(func, candidate, first, like, &mut insts);
    let mut enough = is_enough(func, candidate, left, like, &mut insts);
    if candidate.predicate != IntPredicate::Ne && !candidate.is_guarded {
        let args = [first, candidate.bound];
        let below = InstKind::Icmp { predicate: candidate.predicate, args };
        let below = append_value(func, like, below, Type::I1, &mut insts);
        let both = InstKind::Binary { op: BinaryOp::And, args: [below, enough] };
        enough = append_value(func, like, both, Type::I1, &mut insts);
    }
    func.blocks[enter].insts = insts;
    // The body, several times.
    let mut copies = Copies::new(func, block);
    let mut args = at_wide;
    let at_start = args[candidate.counter];
    let mut values = FxHashMap::default();
    for n in 0..candidate.times {
        values = copies.copy(n, &params, &args);
        args = copies.back(&values);
    }
    let mut out = copies.out;
    let counts_down = left != first && counts_alone(func, candidate, escaping);
    let mut into_wide = at_enter.clone();
    let now = if counts_down {
        // Where nobody asks for the counter there is what is left of it.
        into_wide[candidate.counter] = left;
        let ty = func.ty(left);
        let passed = func.int(ty, u64::from(candidate.times).wrapping_mul(candidate.step.unsigned_abs()));
        let now = InstKind::Binary { op: BinaryOp::Sub, args: [at_start, passed] };
        args[candidate.counter] = append_value(func, like, now, ty, &mut out);
        args[candidate.counter]
    } else {
        what_is_left(func, candidate, args[candidate.counter], like, &mut out)
    };
    let again = is_enough(func, candidate, now, like, &mut out);
    func.blocks[wide].insts = out;
    // What lanes that have done with the wide loop, and those that leave it out, go on with.
    let mut behind = Behind {
        rest,
        body: Vec::new(),
        values,
        params: SmallVec::new(),
        known: FxHashMap::default(),
        ways: None,
    };
    if meets {
        behind.meet(func, candidate, [into_wide.clone(), args.clone()]);
    }
    if counts_down {
        behind.count_again(func, candidate, now, like);
    }
    rest_of_iterations(func, block, &mut behind, escaping, replaced);
    let [left_out, over] = match behind.ways {
        Some([left_out, over]) => {
            [BlockCall { block: rest, args: left_out }, BlockCall { block: rest, args: over }]
        }
        None => [BlockCall { block, args: at_enter }, BlockCall::to(rest)],
    };
    branch(func, enter, like, enough, [BlockCall { block: wide, args: into_wide }, left_out]);
    branch(func, wide, like, again, [BlockCall { block: wide, args }, over]);
    func.blocks[block].unrolling = Unrolling::Never;
    func.blocks[wide].unrolling = Unrolling::Never;
    [enter, wide, rest]
}

/// Whether the counter is there to count alone.
fn counts_alone(func: &Function, candidate: &Candidate, escaping: &[Value]) -> bool {
    let data = &func.blocks[candidate.block];
    let Some((&last, body)) = data.insts.split_last() else { return false };
    let InstKind::Branch { cond, if_true, if_false } = &func.insts[last].kind else { return false };
    let back = if if_true.block == candidate.block { if_true } else { if_false };
    let (counter, next) = (data.params[candidate.counter], back.args[candidate.counter]);
    let mut alone = ![counter, next].iter().any(|value| escaping.contains(value));
    for &inst in body {
        let result = func.insts[inst].result;
        if result != Some(next) && result != Some(*cond) {
            func.insts[inst].kind.for_each_value(|value| alone &= value != counter && value != next);
        }
    }
    let mut uses = 0;
    func.insts[last].kind.for_each_value(|value| uses += u32::from(value == counter || value == next));
    alone && uses == 1
}

/// Fills the block behind the wide loop with the loop's own branch. Its condition is computed there alone.
fn rest_of_iterations(
    func: &mut Function,
    block: Block,
    behind: &mut Behind,
    escaping: &[Value],
    replaced: &mut SecondaryMap<Value, Option<Value>>,
) {
    let Some(own) = func.terminator(block) else { return };
    let mut kind = func.insts[own].kind.clone();
    let mut body = std::mem::take(&mut behind.body);
    if let InstKind::Branch { cond, .. } = &mut kind
        && let Some(inst) = func.def_inst(*cond)
    {
        let InstData { kind: mut condition, ty, flags, .. } = func.insts[inst].clone();
        condition.for_each_value_mut(|value| *value = behind.value(func, *value));
        let copied = func.make_inst(condition, ty, flags);
        func.locs[copied] = func.locs[inst];
        body.push(copied);
        *cond = func.insts[copied].result.unwrap_or(*cond);
    }
    for call in kind.targets_mut() {
        if call.block == block && behind.ways.is_some() {
            call.args = behind.params.clone();
            continue;
        }
        for arg in &mut call.args {
            *arg = behind.value(func, *arg);
        }
    }
    let copied = func.make_inst(kind, Type::Void, InstFlags::empty());
    func.locs[copied] = func.locs[own];
    body.push(copied);
    func.blocks[behind.rest].insts = body;
    let Some(exit) = func.successors(block).find(|&next| next != block) else { return };
    for &value in escaping {
        replaced[value] = Some(func.add_block_param(exit, func.ty(value)));
        let copy = behind.value(func, value);
        for (inst, arg) in [(own, value), (copied, copy)] {
            for call in func.insts[inst].kind.targets_mut() {
                if call.block == exit {
                    call.args.push(arg);
                }
            }
        }
    }
}

/// What the values of the loop are behind the wide one.
struct Behind {
    rest: Block,
    /// What is computed there first.
    body: Vec<Inst>,
    /// The values of the last copy.
    values: FxHashMap<Value, Value>,
    /// The block's parameters for those of the loop, where lanes meet.
    params: SmallVec<[Value; 4]>,
    /// Which parameter is what, there.
    known: FxHashMap<Value, Value>,
    /// Where lanes meet: what the block gets from in front of the wide loop, and from it.
    ways: Option<[SmallVec<[Value; 4]>; 2]>,
}

impl Behind {
    /// Lets lanes meet that come from the wide loop's front and from its end, with these arguments of the way back of the loop.
    fn meet(&mut self, func: &mut Function, candidate: &Candidate, ways: [SmallVec<[Value; 4]>; 2]) {
        let types: SmallVec<[Type; 4]> = ways[1].iter().map(|&arg| func.ty(arg)).collect();
        self.params = types.into_iter().map(|ty| func.add_block_param(self.rest, ty)).collect();
        self.ways = Some(ways);
        let Some(last) = func.terminator(candidate.block) else { return };
        let targets = func.insts[last].kind.targets();
        let Some(back) = targets.into_iter().find(|call| call.block == candidate.block) else { return };
        // The condition must hold for lanes that come from the front, so it is the counter that is compared.
        let counter = candidate.counter;
        for k in [counter].into_iter().chain(0..self.params.len()) {
            self.known.entry(back.args[k]).or_insert(self.params[k]);
        }
    }

    /// Makes the counter from what is left of it, `now` behind the wide loop.
    fn count_again(&mut self, func: &mut Function, candidate: &Candidate, now: Value, like: Inst) {
        let Some(last) = func.terminator(candidate.block) else { return };
        let targets = func.insts[last].kind.targets();
        let Some(back) = targets.into_iter().find(|call| call.block == candidate.block) else { return };
        let next = back.args[candidate.counter];
        let left = self.params.get(candidate.counter).copied().unwrap_or(now);
        let op = if candidate.step > 0 { BinaryOp::Sub } else { BinaryOp::Add };
        let kind = InstKind::Binary { op, args: [candidate.bound, left] };
        let counter = append_value(func, like, kind, func.ty(left), &mut self.body);
        match self.params.get_mut(candidate.counter) {
            Some(param) => {
                *param = counter;
                self.known.insert(next, counter);
            }
            None => {
                self.values.insert(next, counter);
            }
        }
    }

    /// What is `value` of the loop there.
    fn value(&mut self, func: &mut Function, value: Value) -> Value {
        let Some(&copy) = self.values.get(&value) else { return value };
        let Some([before, after]) = &mut self.ways else { return copy };
        // A lane that was not in the wide loop does not leave here.
        let ty = func.ty(value);
        *self.known.entry(value).or_insert_with(|| {
            before.push(func.constant(ty, Const::Undef));
            after.push(copy);
            func.add_block_param(self.rest, ty)
        })
    }
}

/// Ends `block` by a branch.
fn branch(func: &mut Function, block: Block, like: Inst, cond: Value, [if_true, if_false]: [BlockCall; 2]) {
    let inst = func.make_inst(InstKind::Branch { cond, if_true, if_false }, Type::Void, InstFlags::empty());
    func.locs[inst] = func.locs[like];
    func.blocks[block].insts.push(inst);
}

/// What is between the counter, which is `now`, and its bound.
fn what_is_left(
    func: &mut Function,
    candidate: &Candidate,
    now: Value,
    like: Inst,
    out: &mut Vec<Inst>,
) -> Value {
    let args = if candidate.step > 0 { [candidate.bound, now] } else { [now, candidate.bound] };
    match func.as_int(args[1]) {
        Some(0) => args[0],
        _ => append_value(func, like, InstKind::Binary { op: BinaryOp::Sub, args }, func.ty(now), out),
    }
}

/// Whether as many iterations as are done at a time are `left` by the counter, if it is not past the bound.
fn is_enough(
    func: &mut Function,
    candidate: &Candidate,
    left: Value,
    like: Inst,
    out: &mut Vec<Inst>,
) -> Value {
    let passed = u64::from(candidate.times - 1) * candidate.step.unsigned_abs();
    // With `!=` all numbers of iterations are there; else more than half of them count as too few.
    let predicate =
        if candidate.predicate == IntPredicate::Ne { IntPredicate::Ugt } else { IntPredicate::Sgt };
    let args = [left, func.int(func.ty(left), passed)];
    append_value(func, like, InstKind::Icmp { predicate, args }, Type::I1, out)
}
