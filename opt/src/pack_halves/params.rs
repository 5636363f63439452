//! Pairs of block parameters of 16 bits that become one dword.
//!
//! A vector of halves that loops or arms of a switch carry is one parameter for each element. Packed operations read and make dwords, so such pairs
//! would be put together and taken apart at each border of a block. Two neighbours among the parameters become a dword where that saves more than it costs: readers
//! that do the same with both, dwords that both are put into, and edges that bring both halves of a dword gain by it; readers of the upper half
//! alone and edges that bring two unrelated values lose. Blocks in loops count more, and of the edges that come together in a block one is taken.
//!
//! What an edge brings and makes in its own block is read as halves of the dword in all other blocks, so that nothing but the packed operation is left.
//!
//! Cost: linear in instructions, and in uses of pairs for each sweep that drops some of those that lean on each other; sweeps are bounded.

use super::super::cfg::{Cfg, homes};
use super::super::params::Replaced;
use super::*;
use mir::analysis::{Dominators, Loops, Order};
use smallvec::SmallVec;

/// Sweeps over the pairs. Where those that are left still lean on dropped ones, nothing is done.
const SWEEPS: usize = 16;
/// What a block outside of loops counts: edges have shares of it.
const ONCE: i64 = 60;
/// How much more a block counts than one that is in a loop less, and how many loops count.
const PER_LOOP: i64 = 8;
const MOST_LOOPS: u32 = 3;
/// Readers of one half that are looked at for a partner of one of the other half's.
const PARTNERS: usize = 64;

/// Who reads a parameter.
#[derive(Clone, Copy)]
enum Use {
    /// An operand of an instruction of a block.
    Operand { inst: Inst, index: usize, block: Block },
    /// An argument of an edge (by number) from a block to another.
    Argument { edge: usize, from: Block, to: Block, index: usize },
}

/// Two neighbours among the parameters of a block: the position of the lower one.
type Place = (Block, usize);

/// Joins pairs of parameters of `func` where that pays.
pub(super) fn pack_params(func: &mut Function) {
    let pairs = candidates(func);
    if pairs.is_empty() {
        return;
    }
    let mut pass = Params::new(func, &pairs);
    let mut places = pairs;
    // Those that only pass through join the others, so that no border between them takes code.
    for _ in 0..SWEEPS {
        mir::interrupt::checkpoint();
        let scores: Vec<i64> = places.iter().map(|&place| pass.score(func, place)).collect();
        if scores.iter().all(|&score| score >= 0) {
            if scores.iter().any(|&score| score > 0) {
                rewrite(func, &places);
            }
            return;
        }
        let mut scores = scores.into_iter();
        places.retain(|_| scores.next().is_some_and(|score| score >= 0));
        pass.places = places.iter().copied().collect();
    }
}

/// Neighbours of type `half`, each parameter in one pair.
fn candidates(func: &Function) -> Vec<Place> {
    let mut out = Vec::new();
    for &block in func.layout.iter().skip(1) {
        let params = &func.blocks[block].params;
        let mut i = 0;
        while i + 1 < params.len() {
            let is_pair = params[i..i + 2]
                .iter()
                .all(|&param| func.ty(param) == Type::Scalar(Scalar::Float(Float::Half)));
            if is_pair {
                out.push((block, i));
            }
            i += if is_pair { 2 } else { 1 };
        }
    }
    out
}

struct Params {
    /// The pairs that are left.
    places: FxHashSet<Place>,
    uses: FxHashMap<Value, Vec<Use>>,
    /// Blocks that put both values into a dword.
    dwords: FxHashMap<Pair, Vec<Block>>,
    /// What edges bring for each pair, and from where.
    brought: FxHashMap<Place, Vec<(Block, Pair)>>,
    edges: usize,
    weights: SecondaryMap<Block, i64>,
}

impl Params {
    fn new(func: &Function, places: &[Place]) -> Self {
        let cfg = Cfg::new(func);
        let order = Order::from_blocks((0..cfg.rpo.len() as u32).collect(), cfg.rpo.len());
        let loops = Loops::new(&cfg.graph, &order, &Dominators::new(&cfg.graph, &order));
        let mut weights = SecondaryMap::with_default(ONCE);
        for (position, &block) in cfg.rpo.iter().enumerate() {
            weights[block] = ONCE * PER_LOOP.pow(loops.depth(position as u32).min(MOST_LOOPS));
        }
        let mut this = Self {
            places: places.iter().copied().collect(),
            uses: FxHashMap::default(),
            dwords: FxHashMap::default(),
            brought: FxHashMap::default(),
            edges: 0,
            weights,
        };
        for &(block, i) in places {
            this.uses.extend([i, i + 1].map(|i| (func.blocks[block].params[i], Vec::new())));
        }
        for &block in &func.layout {
            for &inst in &func.blocks[block].insts {
                this.note(func, block, inst);
            }
        }
        this
    }

    fn note(&mut self, func: &Function, block: Block, inst: Inst) {
        let kind = &func.insts[inst].kind;
        if let Some(pair) = root(func, inst)
            && pair.iter().all(|member| self.uses.contains_key(member))
        {
            self.dwords.entry(pair).or_default().push(block);
        }
        if kind.is_terminator() {
            for call in kind.targets() {
                let args: SmallVec<[Value; 8]> = call.args.iter().map(|&arg| strip(func, arg)).collect();
                for (index, arg) in args.iter().enumerate() {
                    if let Some(uses) = self.uses.get_mut(arg) {
                        uses.push(Use::Argument { edge: self.edges, from: block, to: call.block, index });
                    }
                    if let [low, high, ..] = args[index..]
                        && self.places.contains(&(call.block, index))
                    {
                        self.brought.entry((call.block, index)).or_default().push((block, [low, high]));
                    }
                }
                self.edges += 1;
            }
        } else if !is_same_bits(func, inst) {
            let mut index = 0;
            kind.for_each_value(|value| {
                if let Some(uses) = self.uses.get_mut(&strip(func, value)) {
                    uses.push(Use::Operand { inst, index, block });
                }
                index += 1;
            });
        }
    }

    /// Instructions that a dword saves, by how often they run.
    fn score(&self, func: &Function, place: Place) -> i64 {
        let (block, i) = place;
        let pair = [func.blocks[block].params[i], func.blocks[block].params[i + 1]];
        let mut score = 0;
        // One of the two zero extensions that a dword is made of is counted as a reader of the upper half.
        for &block in self.dwords.get(&pair).into_iter().flatten() {
            score += 2 * self.weights[block];
        }
        let lower = self.uses.get(&pair[0]).map_or(&[][..], Vec::as_slice);
        let upper = self.uses.get(&pair[1]).map_or(&[][..], Vec::as_slice);
        // Readers of the lower half by what they do; each is one half of a packed operation at most.
        let mut operations: FxHashMap<(Block, usize), Vec<Inst>> = FxHashMap::default();
        let mut arguments: FxHashSet<(usize, usize)> = FxHashSet::default();
        for &reader in lower {
            match reader {
                Use::Operand { inst, index, block } if is_half_operation(func, inst) => {
                    operations.entry((block, index)).or_default().push(inst);
                }
                Use::Operand { .. } => {}
                Use::Argument { edge, index, .. } => _ = arguments.insert((edge, index + 1)),
            }
        }
        // A half that is wanted by itself is shifted down once in a block.
        let mut shifted: FxHashSet<Block> = FxHashSet::default();
        for &reader in upper {
            let block = match reader {
                Use::Operand { inst, index, block } => {
                    let partner = operations.get_mut(&(block, index)).and_then(|known| {
                        let same = |&other: &Inst| {
                            other != inst
                                && is_same_operation(&func.insts[other].kind, &func.insts[inst].kind)
                        };
                        known.iter().take(PARTNERS).position(same).map(|at| known.swap_remove(at))
                    });
                    if let Some(partner) = partner
                        && is_half_operation(func, inst)
                    {
                        score += self.weights[block] * self.packs(func, [partner, inst], index);
                        continue;
                    }
                    block
                }
                Use::Argument { edge, from, to, index } => {
                    if arguments.contains(&(edge, index)) && self.places.contains(&(to, index - 1)) {
                        continue;
                    }
                    from
                }
            };
            if shifted.insert(block) {
                score -= self.weights[block];
            }
        }
        let brought = self.brought.get(&place).map_or(&[][..], Vec::as_slice);
        // Edges of one frequency share it: those into a loop, those around it.
        let mut shares: SmallVec<[(i64, i64, i64); 4]> = SmallVec::new();
        for &(from, pair) in brought {
            let (weight, gain) = (self.weights[from], self.brings(func, pair));
            match shares.iter_mut().find(|(known, ..)| *known == weight) {
                Some((_, sum, count)) => (*sum, *count) = (*sum + gain, *count + 1),
                None => shares.push((weight, gain, 1)),
            }
        }
        score + shares.into_iter().map(|(weight, sum, count)| weight * sum / count).sum::<i64>()
    }

    /// Instructions that one packed operation saves in place of two, whose operands number `known` are the parameters.
    fn packs(&self, func: &Function, pair: [Inst; 2], known: usize) -> i64 {
        let [lower, upper] = pair.map(|inst| operands(func, &func.insts[inst].kind));
        let others = lower.into_iter().zip(upper).enumerate().filter(|&(index, _)| index != known);
        1 + others.map(|(_, (x, y))| self.brings(func, [x, y]).min(0)).sum::<i64>()
    }

    /// Instructions that a dword saves where `pair` is wanted as one.
    fn brings(&self, func: &Function, pair: Pair) -> i64 {
        if let [Some((a, false)), Some((b, true))] = pair.map(|value| half_of(func, value))
            && a == b
        {
            return 1;
        }
        if pair.iter().all(|&value| bits(func, value).is_some()) || pair[0] == pair[1] {
            return 0;
        }
        if let [ValueDef::BlockParam(a, i), ValueDef::BlockParam(b, k)] =
            pair.map(|value| func.values[value].def.clone())
            && a == b
            && i + 1 == k
            && self.places.contains(&(a, i as usize))
        {
            return 0;
        }
        let packs = match pair.map(|value| func.def_inst(value)) {
            [Some(a), Some(b)] => {
                let [x, y] = [a, b].map(|inst| &func.insts[inst]);
                is_half_operation(func, a) && x.ty == y.ty && is_same_operation(&x.kind, &y.kind)
            }
            _ => false,
        };
        if packs { 0 } else { -1 }
    }
}

/// What a function has instead of pairs.
#[derive(Default)]
struct Dwords {
    /// The lower members of pairs, by the block whose parameters they were.
    places: FxHashMap<Block, FxHashSet<usize>>,
    /// The dwords that parameters became, by their halves.
    params: FxHashMap<Pair, Value>,
    /// Halves that stand for values behind the block that makes them.
    elsewhere: FxHashMap<Value, (Block, Value)>,
}

/// Makes a dword of each pair.
fn rewrite(func: &mut Function, places: &[Place]) {
    let homes = homes(func);
    let mut dwords = Dwords::default();
    for &(block, i) in places {
        dwords.places.entry(block).or_default().insert(i);
    }
    let mut replaced = Replaced::default();
    for position in 0..func.layout.len() {
        let block = func.layout[position];
        join_params(func, block, &mut dwords, &mut replaced);
    }
    for position in 0..func.layout.len() {
        mir::interrupt::checkpoint();
        let block = func.layout[position];
        join_arguments(func, block, &mut dwords, &homes);
    }
    if !dwords.elsewhere.is_empty() {
        for position in 0..func.layout.len() {
            let block = func.layout[position];
            for &inst in &func.blocks[block].insts {
                let is_last = func.insts[inst].kind.is_terminator();
                func.insts[inst].kind.for_each_value_mut(|value| {
                    if let Some(&(home, half)) = dwords.elsewhere.get(value)
                        && (home != block || is_last)
                    {
                        *value = half;
                    }
                });
            }
        }
    }
    replaced.apply(func);
}

fn join_params(func: &mut Function, block: Block, dwords: &mut Dwords, replaced: &mut Replaced) {
    let Some(places) = dwords.places.get(&block) else { return };
    let Some(&like) = func.blocks[block].insts.first() else { return };
    let old = std::mem::take(&mut func.blocks[block].params);
    let mut halves = Vec::new();
    let mut left = old.iter().copied().enumerate();
    while let Some((i, param)) = left.next() {
        if places.contains(&i)
            && let Some((_, upper)) = left.next()
        {
            let dword = func.add_block_param(block, Type::I32);
            dwords.params.insert([param, upper], dword);
            for (member, half) in [param, upper].into_iter().zip(take(func, like, dword, &mut halves)) {
                replaced.set(member, half);
            }
        } else {
            func.values[param].def = ValueDef::BlockParam(block, func.blocks[block].params.len() as u32);
            func.blocks[block].params.push(param);
        }
    }
    func.blocks[block].insts.splice(0..0, halves);
}

fn join_arguments(
    func: &mut Function,
    block: Block,
    dwords: &mut Dwords,
    homes: &SecondaryMap<Value, Option<Block>>,
) {
    let Some(last) = func.terminator(block) else { return };
    let is_own =
        |func: &Function, value: Value| homes[value] == Some(block) && func.def_inst(value).is_some();
    let mut made: FxHashMap<Pair, Value> = FxHashMap::default();
    let mut code = Vec::new();
    let mut calls: Vec<BlockCall> = func.insts[last].kind.targets().into_iter().cloned().collect();
    for call in &mut calls {
        let Some(places) = dwords.places.get(&call.block) else { continue };
        let old = std::mem::take(&mut call.args);
        let mut left = old.into_iter().enumerate();
        while let Some((i, arg)) = left.next() {
            if places.contains(&i)
                && let Some((_, upper)) = left.next()
            {
                let pair = [arg, upper].map(|value| strip(func, value));
                let known = dwords.params.get(&pair).or_else(|| made.get(&pair)).copied();
                let dword = known.unwrap_or_else(|| {
                    let dword = brought(func, last, pair, &mut code);
                    if pair[0] != pair[1] && pair.iter().all(|&value| is_own(func, value)) {
                        for (value, half) in pair.into_iter().zip(take(func, last, dword, &mut code)) {
                            // What is stripped of conversions may be an integer.
                            let half = if func.ty(value).is_int(16) { strip(func, half) } else { half };
                            dwords.elsewhere.entry(value).or_insert((block, half));
                        }
                    }
                    dword
                });
                made.insert(pair, dword);
                call.args.push(dword);
            } else {
                call.args.push(arg);
            }
        }
    }
    for (target, call) in func.insts[last].kind.targets_mut().into_iter().zip(calls) {
        *target = call;
    }
    let insts = &mut func.blocks[block].insts;
    let end = insts.len() - 1;
    insts.splice(end..end, code);
}

/// Whether an instruction has a packed form for numbers of type `half`.
fn is_half_operation(func: &Function, inst: Inst) -> bool {
    let data = &func.insts[inst];
    data.ty == Type::Scalar(Scalar::Float(Float::Half))
        && is_listed(&data.kind)
        && !data.flags.contains(InstFlags::STRICT)
}

/// The halves of a dword, as numbers of type `half`.
fn take(func: &mut Function, like: Inst, dword: Value, out: &mut Vec<Inst>) -> Pair {
    let sixteen = func.int(Type::I32, 16);
    let shift = InstKind::Binary { op: BinaryOp::LShr, args: [dword, sixteen] };
    let high = append_value(func, like, shift, Type::I32, out);
    [dword, high].map(|arg| {
        let arg = append_value(func, like, InstKind::Cast { op: CastOp::Trunc, arg }, Type::I16, out);
        append_value(
            func,
            like,
            InstKind::Cast { op: CastOp::BitCast, arg },
            Type::Scalar(Scalar::Float(Float::Half)),
            out,
        )
    })
}

/// The dword that an edge brings in place of two values.
fn brought(func: &mut Function, like: Inst, pair: Pair, out: &mut Vec<Inst>) -> Value {
    if let [Some((a, false)), Some((b, true))] = pair.map(|value| half_of(func, value))
        && a == b
    {
        return a;
    }
    match pair.map(|value| bits(func, value)) {
        [Some(low), Some(high)] => func.int(Type::I32, (low | high << 16).into()),
        _ => put_together(func, like, pair, out),
    }
}
