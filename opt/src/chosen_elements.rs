//! Elements of a vector at an index that differs between lanes.
//!
//! Selection compares the index with the number of each element, for each of them anew. An array that became a vector is mostly read and written at the
//! same index (`sum[i] += x; count[i]++`), so where several instructions of a block ask for one index, the comparisons are made once, and each element is a
//! choice:
//!
//! ```text
//! x = extractelement v, i     →   c1 = i == 1; c2 = i == 2; …   x = c2 ? v[2] : c1 ? v[1] : v[0]
//! w = insertelement v, y, i   →   w = <i == 0 ? y : v[0], c1 ? y : v[1], …>
//! ```
//!
//! Of many elements one is read by a tournament, in which each bit of the index halves what is left: as many choices, but comparisons for the bits alone.
//!
//! ```text
//! x = extractelement v, i     →   b0 = i & 1; b1 = i & 2; …     x = b1 ? (b0 ? v[3] : v[2]) : (b0 ? v[1] : v[0])
//! ```
//!
//! Left alone are indices that all lanes share, for which there are indexed moves, insertions into vectors of more elements than lane masks are at hand
//! ([`MAX_LANES`]) and elements that are no whole dwords. Cost: linear.

use super::append::append_value;
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};

/// Elements of a vector whose comparisons are shared: so many masks are alive at a time.
const MAX_LANES: u32 = 8;

/// Elements of a vector from which on bits of the index cost less than comparisons with each number.
const MIN_TOURNAMENT: u32 = 8;

/// The accesses of a block at one index.
#[derive(Default)]
struct Uses {
    reads: u32,
    writes: u32,
}

/// How an access becomes choices.
#[derive(Clone, Copy)]
enum Way {
    /// By whether the index is an element's number.
    Numbers,
    /// By the bits of the index.
    Bits,
}

impl Uses {
    fn way(&self, access: &Access) -> Option<Way> {
        let Access { lanes, new, .. } = access;
        if *lanes <= MAX_LANES && self.reads + self.writes > 1 && (*lanes < MIN_TOURNAMENT || self.writes > 0)
        {
            return Some(Way::Numbers);
        }
        (*lanes >= MIN_TOURNAMENT && new.is_none()).then_some(Way::Bits)
    }
}

/// Makes choices of elements in `func`, which is legal IR.
pub fn choose(func: &mut Function, target: &Target) {
    let mut wanted: FxHashMap<(Block, Value), Uses> = FxHashMap::default();
    let mut any = false;
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            if let Some(access) = access(func, inst) {
                let uses = wanted.entry((block, access.index)).or_default();
                match access.new {
                    None => uses.reads += 1,
                    Some(_) => uses.writes += 1,
                }
                any |= uses.way(&access).is_some();
            }
        }
    }
    if !any {
        return;
    }
    let uniformity = Uniformity::compute(func, target);
    wanted.retain(|&(_, index), _| uniformity.is_divergent_where_defined(index));
    let blocks: FxHashSet<Block> = wanted.keys().map(|&(block, _)| block).collect();
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        if !blocks.contains(&block) {
            continue;
        }
        let mut choices =
            Choices { func, code: Vec::new(), hits: FxHashMap::default(), bits: FxHashMap::default() };
        for inst in std::mem::take(&mut choices.func.blocks[block].insts) {
            mir::interrupt::checkpoint();
            let access = access(choices.func, inst);
            let way = access.as_ref().and_then(|access| wanted.get(&(block, access.index))?.way(access));
            match access.zip(way) {
                Some((access, Way::Numbers)) => choices.compare(inst, access),
                Some((access, Way::Bits)) => choices.play(inst, access),
                None => choices.code.push(inst),
            }
        }
        let code = choices.code;
        func.blocks[block].insts = code;
    }
}

/// An element at a variable index that is read, or replaced by `new`.
struct Access {
    vector: Value,
    index: Value,
    new: Option<Value>,
    lanes: u32,
    element: Type,
}

fn access(func: &Function, inst: Inst) -> Option<Access> {
    let (vector, index, new) = match func.insts[inst].kind {
        InstKind::ExtractElement { vector, index } => (vector, index, None),
        InstKind::InsertElement { vector, element, index } => (vector, index, Some(element)),
        _ => return None,
    };
    let ty = func.ty(vector);
    let (lanes, element) = (ty.lanes(), Type::Scalar(ty.scalar()?));
    let whole = element.bits().is_some_and(|bits| matches!(bits, 32 | 64));
    let variable = func.as_const(index).is_none() && func.ty(index) == Type::I32;
    (variable && whole && lanes >= 2).then_some(Access { vector, index, new, lanes, element })
}

struct Choices<'a> {
    func: &'a mut Function,
    /// The block's instructions so far.
    code: Vec<Inst>,
    /// Whether an index is a number.
    hits: FxHashMap<(Value, u32), Value>,
    /// Whether a bit of an index is set, by the bit's value and whether it is known to be the highest.
    bits: FxHashMap<(Value, u32, bool), Value>,
}

impl Choices<'_> {
    /// Puts choices by numbers in the place of `inst`, which gives what the last of them does.
    fn compare(&mut self, inst: Inst, access: Access) {
        let Access { vector, index, new, lanes, element } = access;
        let last = match new {
            None => {
                let mut chosen = self.part(inst, vector, 0, element);
                for lane in 1..lanes - 1 {
                    let (cond, part) = (self.hit(inst, index, lane), self.part(inst, vector, lane, element));
                    let kind = InstKind::Select { cond, if_true: part, if_false: chosen };
                    chosen = append_value(self.func, inst, kind, element, &mut self.code);
                }
                let cond = self.hit(inst, index, lanes - 1);
                let part = self.part(inst, vector, lanes - 1, element);
                InstKind::Select { cond, if_true: part, if_false: chosen }
            }
            Some(new) => {
                let mut tuple = vector;
                for lane in 0..lanes - 1 {
                    let kind = self.replaced(inst, [tuple, new, index], lane, element);
                    let ty = self.func.insts[inst].ty;
                    tuple = append_value(self.func, inst, kind, ty, &mut self.code);
                }
                self.replaced(inst, [tuple, new, index], lanes - 1, element)
            }
        };
        self.func.insts[inst].kind = last;
        self.code.push(inst);
    }

    /// Puts a tournament in the place of `inst`, which gives what its last choice does. The order is that of a walk in depth: at most one value for each bit
    /// waits for its rival.
    fn play(&mut self, inst: Inst, access: Access) {
        let Access { vector, index, lanes, element, .. } = access;
        // Winners, each of the `1 << round` lanes behind those of the one before.
        let mut winners: Vec<(Value, u32)> = Vec::new();
        for lane in 0..lanes {
            let (mut winner, mut round) = (self.part(inst, vector, lane, element), 0);
            while let Some((rival, _)) = winners.pop_if(|&mut (_, r)| r == round) {
                winner = self.choice(inst, [index, winner, rival], lanes, round, element);
                round += 1;
            }
            winners.push((winner, round));
        }
        // What is left has no rival of its own size: an index is no number of a lane that is not there.
        let mut last = winners.pop();
        while let (Some((winner, _)), Some((rival, round))) = (last, winners.pop()) {
            last = Some((self.choice(inst, [index, winner, rival], lanes, round, element), round + 1));
        }
        // The last choice is the instruction itself.
        if let Some(choice) = self.code.pop() {
            self.func.insts[inst].kind = self.func.insts[choice].kind.clone();
        }
        self.code.push(inst);
    }

    /// `winner` where the bit of `round` is set in `index`, else `rival`.
    fn choice(
        &mut self,
        like: Inst,
        [index, winner, rival]: [Value; 3],
        lanes: u32,
        round: u32,
        element: Type,
    ) -> Value {
        let cond = self.bit(like, index, 1 << round, lanes <= 2 << round);
        let kind = InstKind::Select { cond, if_true: winner, if_false: rival };
        append_value(self.func, like, kind, element, &mut self.code)
    }

    /// Whether `bit` is set in `index`, which is below twice that if it is the `highest`.
    fn bit(&mut self, like: Inst, index: Value, bit: u32, highest: bool) -> Value {
        if let Some(&known) = self.bits.get(&(index, bit, highest)) {
            return known;
        }
        let number = self.func.int(Type::I32, u64::from(bit));
        let kind = if highest {
            InstKind::Icmp { predicate: IntPredicate::Uge, args: [index, number] }
        } else {
            let kind = InstKind::Binary { op: BinaryOp::And, args: [index, number] };
            let masked = append_value(self.func, like, kind, Type::I32, &mut self.code);
            let zero = self.func.int(Type::I32, 0);
            InstKind::Icmp { predicate: IntPredicate::Ne, args: [masked, zero] }
        };
        let set = append_value(self.func, like, kind, Type::I1, &mut self.code);
        self.bits.insert((index, bit, highest), set);
        set
    }

    /// `tuple` with `new` as element `lane` where the index is that.
    fn replaced(
        &mut self,
        like: Inst,
        [tuple, new, index]: [Value; 3],
        lane: u32,
        element: Type,
    ) -> InstKind {
        let (cond, old) = (self.hit(like, index, lane), self.part(like, tuple, lane, element));
        let kind = InstKind::Select { cond, if_true: new, if_false: old };
        let chosen = append_value(self.func, like, kind, element, &mut self.code);
        let at = self.func.int(Type::I32, u64::from(lane));
        InstKind::InsertElement { vector: tuple, element: chosen, index: at }
    }

    fn part(&mut self, like: Inst, vector: Value, lane: u32, element: Type) -> Value {
        let index = self.func.int(Type::I32, u64::from(lane));
        append_value(self.func, like, InstKind::ExtractElement { vector, index }, element, &mut self.code)
    }

    /// Whether `index` is `lane`.
    fn hit(&mut self, like: Inst, index: Value, lane: u32) -> Value {
        if let Some(&known) = self.hits.get(&(index, lane)) {
            return known;
        }
        let number = self.func.int(Type::I32, u64::from(lane));
        let kind = InstKind::Icmp { predicate: IntPredicate::Eq, args: [index, number] };
        let hit = append_value(self.func, like, kind, Type::I1, &mut self.code);
        self.hits.insert((index, lane), hit);
        hit
    }
}
