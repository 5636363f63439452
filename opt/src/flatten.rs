//! Short loops that number the elements of vectors become straight code.
//!
//! An element whose number is known is a register; one whose number is not is a choice among all of them, and of elements smaller than
//! a register nothing else is left. Where the number is that of a loop's iteration, and the loop's iterations can be counted, all of them are written down
//! one behind the other, each with its numbers.
//!
//! Taken are loops of one block with a counter that starts at a constant and goes by constant steps to a constant, of at most [`TRIPS`]
//! iterations and [`SIZE`] instructions in all of them, in which an element's number follows from the counter alone. Left alone: loops with calls, barriers and stack
//! objects, loops that ask for it (`no_unroll`), and functions for size.
//!
//! Cost: linear in the code that it leaves.

use super::bits::{mask64, sext64};
use super::cfg::homes;
use super::fold::{eval_binary, eval_icmp};
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::FxHashMap;

/// Most iterations.
const TRIPS: usize = 16;
/// Most instructions of all iterations.
const SIZE: usize = 512;

/// A loop to be written down.
struct Candidate {
    block: Block,
    trips: usize,
    /// The block behind it, and what that is given in the last iteration.
    exit: BlockCall,
    /// What the next iteration is given.
    back: BlockCall,
}

/// Writes loops of `func`, which is IR as it was read, as straight code.
pub fn flatten(func: &mut Function) {
    if func.flags.intersects(FuncFlags::OPT_SIZE | FuncFlags::MIN_SIZE) {
        return;
    }
    let numbers = |inst: Inst| match func.insts[inst].kind {
        InstKind::ExtractElement { index, .. } | InstKind::InsertElement { index, .. } => {
            func.as_int(index).is_none()
        }
        _ => false,
    };
    let is_loop = |&&block: &&Block| {
        func.successors(block).any(|next| next == block)
            && func.blocks[block].insts.iter().any(|&inst| numbers(inst))
    };
    let loops: Vec<Block> = func.layout.iter().filter(is_loop).copied().collect();
    if loops.is_empty() {
        return;
    }
    let mut wanted: SecondaryMap<Block, bool> = SecondaryMap::new();
    loops.iter().for_each(|&block| wanted[block] = true);
    let mut entering: SecondaryMap<Block, Vec<BlockCall>> = SecondaryMap::new();
    for &block in &func.layout {
        let Some(last) = func.terminator(block) else { continue };
        for call in func.insts[last].kind.targets() {
            if call.block != block && wanted[call.block] {
                entering[call.block].push(call.clone());
            }
        }
    }
    let candidates: Vec<Candidate> =
        loops.iter().filter_map(|&block| candidate(func, block, &entering[block])).collect();
    if candidates.is_empty() {
        return;
    }
    let homes = homes(func);
    // What is used behind a loop is that of the last iteration.
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    let mut flat: SecondaryMap<Block, bool> = SecondaryMap::new();
    for candidate in candidates {
        write_down(func, &candidate, &entering[candidate.block], &mut renamed);
        flat[candidate.block] = true;
    }
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        for j in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[j];
            func.insts[inst].kind.for_each_value_mut(|value| {
                // What stands for a loop's value may be that of a loop in front of it.
                let mut from = block;
                while let Some(home) = homes[*value].filter(|&home| home != from && flat[home]) {
                    *value = renamed.get(value).copied().unwrap_or(*value);
                    from = home;
                }
            });
        }
    }
}

/// What is known of the loop that `block` is, which is entered by the calls in `entering`, if it is one to be written down.
fn candidate(func: &Function, block: Block, entering: &[BlockCall]) -> Option<Candidate> {
    let data = &func.blocks[block];
    let (&last, body) = data.insts.split_last()?;
    let InstKind::Branch { cond, if_true, if_false } = &func.insts[last].kind else { return None };
    let goes_on = if_true.block == block;
    if goes_on == (if_false.block == block)
        || data.unrolling == Unrolling::Never
        || !body.iter().all(|&inst| may_be_copied(func, inst))
    {
        return None;
    }
    let (back, exit) = if goes_on { (if_true, if_false) } else { (if_false, if_true) };
    let trips = (0..data.params.len()).find_map(|counter| {
        let start = func.as_int(*entering.first()?.args.get(counter)?)?;
        let same = entering
            .iter()
            .all(|call| call.args.get(counter).and_then(|&arg| func.as_int(arg)) == Some(start));
        let counter = Counter { value: data.params[counter], next: *back.args.get(counter)?, start };
        same.then(|| trips(func, *cond, goes_on, &counter))
            .flatten()
            .filter(|_| numbers_elements(func, body, &counter))
    })?;
    (trips * body.len() <= SIZE).then(|| Candidate { block, trips, exit: exit.clone(), back: back.clone() })
}

/// Whether one iteration's `inst` is as good as another's.
fn may_be_copied(func: &Function, inst: Inst) -> bool {
    let data = &func.insts[inst];
    match &data.kind {
        InstKind::Load { mem, .. } | InstKind::Store { mem, .. } => mem.is_simple(),
        InstKind::Intrinsic { intrinsic, .. } => {
            !data.has_side_effects() && !intrinsic.props().contains(IntrinsicProps::CONVERGENT)
        }
        InstKind::Alloca { .. } | InstKind::Call { .. } | InstKind::InlineAsm { .. } => false,
        kind => !data.has_side_effects() && !kind.is_terminator(),
    }
}

/// A parameter of the loop that goes by constants.
struct Counter {
    value: Value,
    next: Value,
    start: u64,
}

/// How many iterations there are, at most [`TRIPS`]: the loop goes on while `cond` is `goes_on`.
fn trips(func: &Function, cond: Value, goes_on: bool, counter: &Counter) -> Option<usize> {
    let sum = func.def_inst(counter.next)?;
    let InstKind::Binary { op, args } = func.insts[sum].kind else { return None };
    let bits = width(func.ty(counter.value))?;
    let InstKind::Icmp { predicate, args: compared } = func.insts[func.def_inst(cond)?].kind else {
        return None;
    };
    let mut now = counter.start;
    for trip in 1..=TRIPS {
        let at = |value: Value, next: Option<u64>| match () {
            () if value == counter.value => Some(now),
            () if value == counter.next => next,
            () => func.as_int(value),
        };
        let next = eval_binary(op, at(args[0], None)?, at(args[1], None)?, bits)?;
        let [a, b] = [at(compared[0], Some(next))?, at(compared[1], Some(next))?];
        if eval_icmp(predicate, a, b, bits) != goes_on {
            return Some(trip);
        }
        now = next;
    }
    None
}

/// Whether an element's number in `body` is known where `counter` is.
fn numbers_elements(func: &Function, body: &[Inst], counter: &Counter) -> bool {
    let mut known: rustc_hash::FxHashSet<Value> = std::iter::once(counter.value).collect();
    body.iter().any(|&inst| {
        let data = &func.insts[inst];
        let is_known = |value: &Value| known.contains(value) || func.as_int(*value).is_some();
        match &data.kind {
            InstKind::Binary { args, .. } if args.iter().all(is_known) => known.extend(data.result),
            InstKind::Cast { op: CastOp::ZExt | CastOp::SExt | CastOp::Trunc, arg } if is_known(arg) => {
                known.extend(data.result);
            }
            InstKind::ExtractElement { index, .. } | InstKind::InsertElement { index, .. } => {
                return known.contains(index);
            }
            _ => {}
        }
        false
    })
}

/// Writes down a loop that is entered by the calls in `entering`; what stands for its values behind it goes to `renamed`.
fn write_down(
    func: &mut Function,
    candidate: &Candidate,
    entering: &[BlockCall],
    renamed: &mut FxHashMap<Value, Value>,
) {
    let block = candidate.block;
    let mut insts = std::mem::take(&mut func.blocks[block].insts);
    let Some(last) = insts.pop() else { return };
    let params = func.blocks[block].params.clone();
    // Constants of the first iteration are known as such.
    let mut values: FxHashMap<Value, Value> = FxHashMap::default();
    for (k, &param) in params.iter().enumerate() {
        let first = entering.first().and_then(|call| call.args.get(k)).copied();
        let same = entering.iter().all(|call| call.args.get(k).copied() == first);
        if let Some(first) = first.filter(|&first| same && func.as_const(first).is_some()) {
            values.insert(param, first);
        }
    }
    let mut out = Vec::with_capacity(insts.len() * candidate.trips);
    for trip in 0..candidate.trips {
        if trip > 0 {
            let given: Vec<Value> =
                candidate.back.args.iter().map(|arg| values.get(arg).copied().unwrap_or(*arg)).collect();
            values = params.iter().copied().zip(given).collect();
        }
        for &inst in &insts {
            mir::interrupt::checkpoint();
            copy(func, inst, &mut values, &mut out);
        }
    }
    let mut exit = candidate.exit.clone();
    exit.args.iter_mut().for_each(|arg| *arg = values.get(arg).copied().unwrap_or(*arg));
    let jump = func.make_inst(InstKind::Jump { target: exit }, Type::Void, InstFlags::empty());
    func.locs[jump] = func.locs[last];
    out.push(jump);
    func.blocks[block].insts = out;
    renamed.extend(values);
}

/// Appends a copy of `inst` to `out`, or notes the constant that it is.
fn copy(func: &mut Function, inst: Inst, values: &mut FxHashMap<Value, Value>, out: &mut Vec<Inst>) {
    let InstData { mut kind, ty, flags, fpmath_ulp_256, result } = func.insts[inst].clone();
    kind.for_each_value_mut(|value| *value = values.get(value).copied().unwrap_or(*value));
    if let Some(result) = result
        && let Some(constant) = constant(func, &kind, ty)
    {
        values.insert(result, func.int(ty, constant));
        return;
    }
    let new = func.make_inst(kind, ty, flags);
    func.insts[new].fpmath_ulp_256 = fpmath_ulp_256;
    func.locs[new] = func.locs[inst];
    if let Some(&aligns) = func.mem_aligns.get(&inst) {
        func.mem_aligns.insert(new, aligns);
    }
    out.push(new);
    values.extend(result.zip(func.insts[new].result));
}

/// What an instruction on numbers makes of constants.
fn constant(func: &Function, kind: &InstKind, ty: Type) -> Option<u64> {
    let bits = width(ty)?;
    match kind {
        InstKind::Binary { op, args } => eval_binary(*op, func.as_int(args[0])?, func.as_int(args[1])?, bits),
        InstKind::Cast { op: CastOp::ZExt | CastOp::Trunc, arg } => Some(mask64(func.as_int(*arg)?, bits)),
        InstKind::Cast { op: CastOp::SExt, arg } => {
            let from = width(func.ty(*arg))?;
            Some(mask64(sext64(func.as_int(*arg)?, from) as u64, bits))
        }
        _ => None,
    }
}

/// Bits of a number.
fn width(ty: Type) -> Option<u32> {
    match ty {
        Type::Scalar(Scalar::Int(bits)) if bits <= 64 => Some(bits),
        _ => None,
    }
}
