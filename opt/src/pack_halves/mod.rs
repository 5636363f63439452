//! Pairs of equal operations on 16 bits whose results share a dword become one packed operation (VOP3P).
//!
//! Legalisation takes vectors of 16-bit elements apart: what comes together again in a dword,
//! `or (zext lo), (shl (zext hi), 16)`, is where this pass starts, and where two neighbours do the same that no other pair reads: what
//! legalisation left of a vector whose elements go different ways. From there it walks up pair by pair as long as both
//! members do the same in the block of the dword, down to pairs that are a dword already (the halves of one value, constants), or have to be
//! put together for the purpose. A tree is packed where that saves instructions; trees that share operations are weighed together first ([`forest`]).
//!
//! Cost: linear; a pair is looked at once in a block, and again only as a leaf of another tree, and no value is the lower member of more than
//! [`MOST_PARTNERS`] pairs that are walked through.

mod forest;
mod pairs;
mod params;
mod placed;

use super::append::{append, append_value};
use cranelift_entity::SecondaryMap;
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::target::{Features, Target};
use pairs::*;
use placed::{Placed, Rank};
use rustc_hash::{FxHashMap, FxHashSet};

/// With how many others a value is tried. Two graphs of shared values have as many pairs as the product of their sizes.
const MOST_PARTNERS: u8 = 8;

/// Packs what can be packed in `func`, which is legal IR and stays so.
pub fn pack_halves(func: &mut Function, machine: &Target) {
    if !machine.has(Features::PACKED_16BIT) {
        return;
    }
    params::pack_params(func);
    // Floating point is the vector unit's in any case.
    let (mut has_floats, mut has_integers) = (false, false);
    for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
        if is_listed(&func.insts[inst].kind) {
            has_floats |= func.insts[inst].ty == Type::Scalar(Scalar::Float(Float::Half));
            has_integers |= func.insts[inst].ty.is_int(16);
        }
    }
    if !has_floats && !has_integers {
        return;
    }
    let uniformity = has_integers.then(|| Uniformity::compute(func, machine));
    let partners = SecondaryMap::new();
    let mut pass = Packer {
        uses: uses(func),
        uniformity,
        rejected: FxHashSet::default(),
        partners,
        roots: FxHashMap::default(),
        nodes: FxHashMap::default(),
        together: FxHashSet::default(),
    };
    for i in 0..func.layout.len() {
        pass.block(func, func.layout[i]);
    }
}

/// How often each value is used, where conversions between `half` and `i16` do not count but what uses them.
fn uses(func: &Function) -> SecondaryMap<Value, u32> {
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::new();
    for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
        if is_same_bits(func, inst) {
            continue;
        }
        func.insts[inst].kind.for_each_value(|v| uses[strip(func, v)] += 1);
    }
    uses
}

/// Who reads the pair that a tree makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// An instruction that puts the halves together, which goes.
    Dword,
    /// Each half has users of its own; the upper one is shifted down.
    Halves,
}

/// A tree that may be packed.
struct Tree {
    /// In front of which instruction of the block the top is made.
    place: usize,
    pair: Pair,
    reader: Reader,
    /// What makes the dword, or the lower member.
    inst: Inst,
}

/// The trees of a block of `insts`, by their places.
fn trees(func: &Function, insts: &[Inst], tops: &FxHashMap<Inst, Inst>, placed: &Placed) -> Vec<Tree> {
    let mut trees = Vec::new();
    for (at, &inst) in insts.iter().enumerate() {
        if let Some(pair) = tops.get(&inst).and_then(|&hi| neighbours(func, inst, hi)) {
            trees.push(Tree { place: at, pair, reader: Reader::Halves, inst });
        }
        if let Some(pair) = root(func, inst) {
            trees.push(Tree { place: placed.behind(func, pair), pair, reader: Reader::Dword, inst });
        }
    }
    trees.sort_by_key(|tree| tree.place);
    trees
}

/// What becomes of a pair.
#[derive(Clone)]
enum Node {
    /// It is this dword.
    Dword(Value),
    /// A constant with these bits.
    Constant(u32),
    /// One operation on pairs.
    Packed(InstKind, Vec<Pair>),
    /// The halves are put together.
    Built,
}

struct Packer {
    uses: SecondaryMap<Value, u32>,
    /// Of the values that were there when the pass began, if integers may be packed.
    uniformity: Option<Uniformity>,
    /// Pairs of trees that do not pay.
    rejected: FxHashSet<Pair>,
    /// In how many pairs that were walked through a value is the lower member.
    partners: SecondaryMap<Value, u8>,
    /// How many dwords the block makes of each pair: who carries on with it, and who takes it out of a loop.
    roots: FxHashMap<Pair, u32>,
    /// What the pairs of the block are that were looked at.
    nodes: FxHashMap<Pair, Node>,
    /// Pairs of trees of the block that pay together.
    together: FxHashSet<Pair>,
}

impl Packer {
    fn block(&mut self, func: &mut Function, block: Block) {
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let inside: FxHashSet<Inst> = insts.iter().copied().collect();
        let mut placed = Placed::new(&insts);
        let tops = tops(func, &insts);
        self.roots.clear();
        for pair in insts.iter().filter_map(|&inst| root(func, inst)) {
            *self.roots.entry(pair).or_default() += 1;
        }
        self.nodes.clear();
        self.weigh_forests(func, &insts, &tops, &inside);
        let trees = trees(func, &insts, &tops, &placed);
        let mut taken_apart: FxHashSet<Inst> = FxHashSet::default();
        for tree in trees {
            let Tree { place, pair, reader, inst } = tree;
            if taken_apart.contains(&inst) {
                continue;
            }
            // Trees in front of it may have changed what it is made of.
            let is_left = match reader {
                Reader::Halves => tops.get(&inst).and_then(|&hi| neighbours(func, inst, hi)) == Some(pair),
                Reader::Dword => root(func, inst) == Some(pair),
            };
            if is_left && let Some(whole) = self.pack(func, &tree, &inside, &mut placed) {
                if reader == Reader::Halves {
                    let mut out = Vec::new();
                    take_apart(func, whole, [inst, tops[&inst]], &mut out);
                    placed.put(place, Rank::Packed, out);
                    taken_apart.insert(inst);
                } else {
                    // The same result under the same number: what used it does so further on.
                    func.insts[inst].kind = InstKind::Cast { op: CastOp::BitCast, arg: whole };
                    func.insts[inst].flags = InstFlags::empty();
                }
            }
        }
        func.blocks[block].insts = placed.merge(insts);
    }

    /// The packed value of a tree's pair, if packing pays.
    fn pack(
        &mut self,
        func: &mut Function,
        tree: &Tree,
        inside: &FxHashSet<Inst>,
        placed: &mut Placed,
    ) -> Option<Value> {
        let Tree { place: top_place, pair, reader, inst: at } = *tree;
        if placed.values.contains_key(&pair) {
            return placed.known(pair, reader, top_place);
        }
        if self.rejected.contains(&pair) {
            return None;
        }
        let order = self.walk(func, pair, inside, |pair| placed.values.contains_key(&pair));
        if !matches!(order.first(), Some((_, Node::Packed(..)))) {
            return None;
        }
        let order = users_first(order, &[pair]);
        if !self.together.contains(&pair) && self.gain(func, &order, &[(pair, reader)]) <= 0 {
            self.rejected.extend(order.iter().map(|(pair, _)| *pair));
            return None;
        }
        let top = pair;
        for (pair, node) in order.into_iter().rev() {
            let ty = Type::Vector(func.ty(pair[0]).scalar()?, 2);
            let mut out = Vec::new();
            let leaf = match node {
                Node::Dword(arg) => {
                    append(func, at, InstKind::Cast { op: CastOp::BitCast, arg }, ty, &mut out)?
                }
                Node::Constant(bits) => {
                    let arg = func.int(Type::I32, bits.into());
                    append(func, at, InstKind::Cast { op: CastOp::BitCast, arg }, ty, &mut out)?
                }
                Node::Built => self.build(func, pair, ty, at, &mut out)?,
                Node::Packed(mut kind, operands) => {
                    let place = if pair == top { top_place } else { placed.behind(func, pair) };
                    let mut at_operand = 0;
                    let mut values = Vec::with_capacity(operands.len());
                    for &operand in &operands {
                        let (value, _) = *placed.values.get(&operand)?;
                        placed.need(operand, place);
                        let same = func.ty(value) == ty;
                        let cast = InstKind::Cast { op: CastOp::BitCast, arg: value };
                        values.push(if same { value } else { append(func, at, cast, ty, &mut out)? });
                    }
                    kind.for_each_value_mut(|v| {
                        *v = values[at_operand];
                        at_operand += 1;
                    });
                    let flags =
                        pair.map(|v| func.def_inst(v).map_or(InstFlags::empty(), |i| func.insts[i].flags));
                    let value = append(func, at, kind, ty, &mut out)?;
                    if let Some(inst) = func.def_inst(value) {
                        func.insts[inst].flags = flags[0] & flags[1];
                    }
                    placed.put(place, Rank::Packed, out);
                    placed.values.insert(pair, (value, place));
                    continue;
                }
            };
            placed.put_leaf(pair, leaf, out);
        }
        placed.values.get(&top).map(|&(value, _)| value)
    }

    /// The tree of `pair` without what `is_known`, each pair once.
    fn walk(
        &mut self,
        func: &Function,
        pair: Pair,
        inside: &FxHashSet<Inst>,
        mut is_known: impl FnMut(Pair) -> bool,
    ) -> Vec<(Pair, Node)> {
        let mut out = Vec::new();
        let mut seen: FxHashSet<Pair> = FxHashSet::default();
        let mut work = vec![pair];
        while let Some(next) = work.pop() {
            if is_known(next) || !seen.insert(next) {
                continue;
            }
            let node = self.node(func, next, inside);
            if let Node::Packed(_, operands) = &node {
                work.extend(operands.iter().rev());
            }
            out.push((next, node));
        }
        out
    }

    fn node(&mut self, func: &Function, pair: Pair, inside: &FxHashSet<Inst>) -> Node {
        if self.rejected.contains(&pair) {
            return self.leaf(func, pair).unwrap_or(Node::Built);
        }
        if let Some(node) = self.nodes.get(&pair) {
            return node.clone();
        }
        let node = self.leaf(func, pair).unwrap_or_else(|| self.packed(func, pair, inside));
        self.nodes.insert(pair, node.clone());
        node
    }

    /// What is a dword already.
    fn leaf(&self, func: &Function, [lo, hi]: Pair) -> Option<Node> {
        if let (Some((a, false)), Some((b, true))) = (half_of(func, lo), half_of(func, hi))
            && a == b
        {
            return Some(Node::Dword(a));
        }
        Some(Node::Constant(bits(func, lo)? | bits(func, hi)? << 16))
    }

    fn packed(&mut self, func: &Function, pair: Pair, inside: &FxHashSet<Inst>) -> Node {
        let [lo, hi] = pair;
        let (Some(i), Some(k)) = (func.def_inst(lo), func.def_inst(hi)) else { return Node::Built };
        if !inside.contains(&i) || !inside.contains(&k) {
            return Node::Built;
        }
        let (a, b) = (&func.insts[i], &func.insts[k]);
        if a.ty != b.ty || (a.flags | b.flags).contains(InstFlags::STRICT) || !self.is_packable(lo, a) {
            return Node::Built;
        }
        let [x, y] = [operands(func, &a.kind), operands(func, &b.kind)];
        if !is_same_operation(&a.kind, &b.kind) || x.len() != y.len() {
            return Node::Built;
        }
        if self.partners[lo] == MOST_PARTNERS {
            return Node::Built;
        }
        self.partners[lo] += 1;
        let mut pairs: Vec<Pair> = x.iter().zip(&y).map(|(&x, &y)| [x, y]).collect();
        // The members of the upper half may stand the other way round.
        let commutes = match &a.kind {
            InstKind::Binary { op, .. } => super::fold::is_commutative(*op),
            // The first two operands of those with several.
            InstKind::Intrinsic { .. } => true,
            _ => false,
        };
        if commutes && y.len() >= 2 {
            let fit = |x: Value, y: Value| fits(func, x, y);
            let [straight, crossed] = [fit(x[0], y[0]) + fit(x[1], y[1]), fit(x[0], y[1]) + fit(x[1], y[0])];
            if crossed > straight {
                pairs[0][1] = y[1];
                pairs[1][1] = y[0];
            }
        }
        Node::Packed(a.kind.clone(), pairs)
    }

    /// Whether there is a packed form of what makes `value`, and the vector unit would do it anyway.
    fn is_packable(&self, value: Value, data: &InstData) -> bool {
        is_listed(&data.kind)
            && match data.ty {
                Type::Scalar(Scalar::Float(Float::Half)) => true,
                Type::Scalar(Scalar::Int(16)) => self
                    .uniformity
                    .as_ref()
                    .is_some_and(|uniformity| uniformity.is_divergent_where_defined(value)),
                _ => false,
            }
    }

    /// Instructions that packing saves.
    fn gain(&self, func: &Function, order: &[(Pair, Node)], tops: &[(Pair, Reader)]) -> i64 {
        let mut left: FxHashMap<Value, u32> = FxHashMap::default();
        let read = |left: &mut FxHashMap<Value, u32>, value: Value| {
            let left = left.entry(value).or_insert(self.uses[value]);
            *left = left.saturating_sub(1);
        };
        let mut gain = 0;
        for (top, reader) in tops {
            match reader {
                // The dwords themselves are what reads the pair.
                Reader::Dword => {
                    let roots = self.roots.get(top).copied().unwrap_or(1);
                    (0..roots).for_each(|_| top.iter().for_each(|&v| read(&mut left, v)));
                    gain += 2 * i64::from(roots);
                }
                // Whoever reads the halves reads those of the dword.
                Reader::Halves => {
                    left.extend(top.iter().map(|&v| (v, 0)));
                    gain -= 1;
                }
            }
        }
        for (pair, node) in order {
            let is_dead = |value: Value| left.get(&value).copied().unwrap_or(self.uses[value]) == 0;
            match node {
                Node::Packed(kind, operands) => {
                    let dead = pair.map(is_dead);
                    gain += i64::from(dead[0]) + i64::from(dead[1]) - 1;
                    // A sign is free with the operations that read it, packed or not.
                    if matches!(kind, InstKind::Unary { .. }) {
                        gain -= 1;
                    }
                    for operand in operands {
                        for (&member, _) in operand.iter().zip(dead).filter(|(_, dead)| *dead) {
                            read(&mut left, member);
                        }
                    }
                }
                // The upper half need not be shifted down.
                Node::Dword(_) => {
                    gain += i64::from(is_dead(pair[1]));
                }
                Node::Constant(_) => {}
                // Operands may take either half of a register for each of theirs.
                Node::Built if pair[0] == pair[1] || swapped(func, *pair).is_some() => {}
                Node::Built => gain -= 1,
            }
        }
        gain
    }

    /// The dword of two halves.
    fn build(
        &self,
        func: &mut Function,
        pair: Pair,
        ty: Type,
        at: Inst,
        out: &mut Vec<Inst>,
    ) -> Option<Value> {
        if let Some(dword) = swapped(func, pair) {
            let amount = func.int(Type::I32, 16);
            let args = [dword, dword, amount].into_iter().collect();
            let rotate = InstKind::Intrinsic { intrinsic: Intrinsic::Fshr, args };
            let arg = append(func, at, rotate, Type::I32, out)?;
            return append(func, at, InstKind::Cast { op: CastOp::BitCast, arg }, ty, out);
        }
        let arg = put_together(func, at, pair, out);
        append(func, at, InstKind::Cast { op: CastOp::BitCast, arg }, ty, out)
    }
}

/// The dword that has two values of 16 bits as its halves.
fn put_together(func: &mut Function, at: Inst, pair: Pair, out: &mut Vec<Inst>) -> Value {
    let mut word = |func: &mut Function, mut value: Value| {
        if !func.ty(value).is_int(16) {
            value =
                append_value(func, at, InstKind::Cast { op: CastOp::BitCast, arg: value }, Type::I16, out);
        }
        append_value(func, at, InstKind::Cast { op: CastOp::ZExt, arg: value }, Type::I32, out)
    };
    let low = word(func, pair[0]);
    if bits(func, pair[1]) == Some(0) {
        return low;
    }
    let high = if pair[0] == pair[1] { low } else { word(func, pair[1]) };
    let sixteen = func.int(Type::I32, 16);
    let shift = InstKind::Binary { op: BinaryOp::Shl, args: [high, sixteen] };
    let high = append_value(func, at, shift, Type::I32, out);
    append_value(func, at, InstKind::Binary { op: BinaryOp::Or, args: [low, high] }, Type::I32, out)
}

/// Lets two instructions have the halves of `whole` as their results; what they need stands in front of both.
fn take_apart(func: &mut Function, whole: Value, members: [Inst; 2], out: &mut Vec<Inst>) -> Option<()> {
    let at = members[0];
    let ty = func.insts[at].ty;
    let dword = append(func, at, InstKind::Cast { op: CastOp::BitCast, arg: whole }, Type::I32, out)?;
    let sixteen = func.int(Type::I32, 16);
    let shift = InstKind::Binary { op: BinaryOp::LShr, args: [dword, sixteen] };
    let high = append(func, at, shift, Type::I32, out)?;
    for (inst, arg) in members.into_iter().zip([dword, high]) {
        let trunc = InstKind::Cast { op: CastOp::Trunc, arg };
        func.insts[inst].kind = match ty.is_int(16) {
            true => trunc,
            false => InstKind::Cast { op: CastOp::BitCast, arg: append(func, at, trunc, Type::I16, out)? },
        };
        func.insts[inst].flags = InstFlags::empty();
    }
    Some(())
}

/// The nodes that are reached from `tops`, in an order in which each stands behind all that use it.
fn users_first(nodes: Vec<(Pair, Node)>, tops: &[Pair]) -> Vec<(Pair, Node)> {
    let mut by_pair: FxHashMap<Pair, Node> = nodes.into_iter().collect();
    let mut order = Vec::with_capacity(by_pair.len());
    let mut seen: FxHashSet<Pair> = FxHashSet::default();
    for &top in tops {
        if !seen.insert(top) {
            continue;
        }
        // A pair, and how many of its operands have been gone into.
        let mut stack: Vec<(Pair, usize)> = vec![(top, 0)];
        while let Some((pair, next)) = stack.pop() {
            let operand = match by_pair.get(&pair) {
                Some(Node::Packed(_, operands)) => operands.get(next).copied(),
                _ => None,
            };
            match operand {
                Some(operand) => {
                    stack.push((pair, next + 1));
                    if seen.insert(operand) {
                        stack.push((operand, 0));
                    }
                }
                None => order.push(pair),
            }
        }
    }
    order.reverse();
    order.into_iter().filter_map(|pair| Some((pair, by_pair.remove(&pair)?))).collect()
}
