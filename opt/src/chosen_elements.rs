//! Elements of a vector at an index that differs between lanes, where several instructions of a block ask for the same index.
//!
//! Selection compares the index with the number of each element, for each of them anew. An array that became a vector is mostly read and written at the
//! same index (`sum[i] += x; count[i]++`), so here the comparisons are made once, and each element is a choice:
//!
//! ```text
//! x = extractelement v, i     →   c1 = i == 1; c2 = i == 2; …   x = c2 ? v[2] : c1 ? v[1] : v[0]
//! w = insertelement v, y, i   →   w = <i == 0 ? y : v[0], c1 ? y : v[1], …>
//! ```
//!
//! Left alone are indices that all lanes share, for which there are indexed moves, vectors of more elements than lane masks are at hand
//! ([`MAX_LANES`]) and elements that are no whole dwords. Cost: linear.

use super::append::append_value;
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};

/// Elements of a vector: so many masks are alive at a time.
const MAX_LANES: u32 = 8;

/// Makes choices of elements in `func`, which is legal IR.
pub fn choose(func: &mut Function, target: &Target) {
    let mut wanted: FxHashMap<(Block, Value), u32> = FxHashMap::default();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            if let Some(access) = access(func, inst) {
                *wanted.entry((block, access.index)).or_default() += 1;
            }
        }
    }
    wanted.retain(|_, uses| *uses > 1);
    if wanted.is_empty() {
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
        let mut choices = Choices { func, code: Vec::new(), hits: FxHashMap::default() };
        for inst in std::mem::take(&mut choices.func.blocks[block].insts) {
            mir::interrupt::checkpoint();
            match access(choices.func, inst).filter(|access| wanted.contains_key(&(block, access.index))) {
                Some(access) => choices.expand(inst, access),
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
    (variable && whole && (2..=MAX_LANES).contains(&lanes)).then_some(Access {
        vector,
        index,
        new,
        lanes,
        element,
    })
}

struct Choices<'a> {
    func: &'a mut Function,
    /// The block's instructions so far.
    code: Vec<Inst>,
    /// Whether an index is a number.
    hits: FxHashMap<(Value, u32), Value>,
}

impl Choices<'_> {
    /// Puts choices in the place of `inst`, which gives what the last of them does.
    fn expand(&mut self, inst: Inst, access: Access) {
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
