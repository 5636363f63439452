//! Variables of a block that have the same bits are one, whatever their types.
//!
//! What lanes exchange is an integer, what they compare is a float: where paths join, a program has two variables of one value then, and each choice
//! between values twice. Two parameters of a block have the same bits if each edge brings both the same bits, which may assume it of the two, as
//! [`super::equal_params`] does, and of those that were found before. Choices by one condition are the same if their values are.
//!
//! Cost: linear; of the parameters that look alike a few are compared, and a few levels of choices.

use crate::flow::Flows;
use crate::params::{Replaced, fold_params};
use mir::ir::*;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::hash::BuildHasher;

/// Parameters that look alike and are compared with each further one.
const MOST_ALIKE: usize = 4;
/// Levels of choices that are compared.
const DEPTH: u32 = 3;

/// Joins parameters with the same bits of the blocks of `func`, which is legal IR whose blocks are reachable.
pub(super) fn join(func: &mut Function) {
    let is_cast = |data: &InstData| {
        matches!(data.kind, InstKind::Cast { op: CastOp::BitCast, .. }) && is_number(data.ty)
    };
    let several = |block: Block| func.blocks[block].params.len() > 1;
    if !func.layout.iter().any(|&block| several(block)) || !func.insts.values().any(is_cast) {
        return;
    }
    let incoming = Flows::of_params(func, |param| is_number(func.ty(param)));
    let mut joined: Vec<(Block, Value, Value)> = Vec::new();
    let mut same = FxHashMap::default();
    for at in 1..func.layout.len() {
        let block = func.layout[at];
        let params = &func.blocks[block].params;
        let mut alike: FxHashMap<u64, SmallVec<[Value; MOST_ALIKE]>> = FxHashMap::default();
        for &param in params.iter().filter(|&&param| params.len() > 1 && is_number(func.ty(param))) {
            mir::interrupt::checkpoint();
            let others = alike.entry(looks(func, &incoming, &same, param)).or_default();
            let equal = others.iter().copied().find(|&other| {
                let pair = Pair { func, same: &same, params: [other, param] };
                func.ty(other) != func.ty(param)
                    && func.ty(other).bits() == func.ty(param).bits()
                    && incoming
                        .of(other)
                        .iter()
                        .zip(incoming.of(param))
                        .all(|(&a, &b)| pair.is_equal(a, b, DEPTH))
            });
            match equal {
                Some(other) => {
                    same.insert(param, other);
                    joined.push((block, param, other));
                }
                None if others.len() < MOST_ALIKE => others.push(param),
                None => {}
            }
        }
    }
    drop(incoming);
    let mut replaced = Replaced::default();
    for of_block in joined.chunk_by(|a, b| a.0 == b.0) {
        let mut casts = Vec::with_capacity(of_block.len());
        for &(_, param, other) in of_block {
            let cast = InstKind::Cast { op: CastOp::BitCast, arg: other };
            let inst = func.make_inst(cast, func.ty(param), InstFlags::empty());
            if let Some(result) = func.insts[inst].result {
                casts.push(inst);
                replaced.set(param, result);
            }
        }
        func.blocks[of_block[0].0].insts.splice(0..0, casts);
    }
    if !joined.is_empty() {
        fold_params(func, &mut replaced);
    }
}

/// Whether values of the type are integers or floats, as many bits as either has.
fn is_number(ty: Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Int(_) | Scalar::Float(_))) && ty != Type::I1
}

/// The value whose bits `value` has, through conversions and the parameters that stand for others.
fn strip(func: &Function, same: &FxHashMap<Value, Value>, mut value: Value) -> Value {
    loop {
        if let Some(&other) = same.get(&value) {
            value = other;
        } else if let Some(inst) = func.def_inst(value)
            && let InstKind::Cast { op: CastOp::BitCast, arg } = func.insts[inst].kind
            && is_number(func.ty(arg))
        {
            value = arg;
        } else {
            return value;
        }
    }
}

/// A number that parameters with the same bits have in common.
fn looks(func: &Function, incoming: &Flows, same: &FxHashMap<Value, Value>, param: Value) -> u64 {
    let home = &func.values[param].def;
    let args: SmallVec<[_; 4]> = incoming
        .of(param)
        .iter()
        .map(|&arg| {
            let root = strip(func, same, arg);
            match (&func.values[root].def, home) {
                (ValueDef::BlockParam(a, _), ValueDef::BlockParam(b, _)) if a == b => None,
                (&ValueDef::Inst(inst), _) => match func.insts[inst].kind {
                    InstKind::Select { cond, .. } => Some(cond),
                    _ => Some(root),
                },
                _ => bits(func, root).map_or(Some(root), |_| None),
            }
        })
        .collect();
    FxBuildHasher.hash_one((func.ty(param).bits(), args))
}

/// The bits of a constant.
fn bits(func: &Function, value: Value) -> Option<u128> {
    match func.as_const(value)? {
        Const::Int(bits) | Const::Float(bits) => Some((*bits).into()),
        Const::Zero => Some(0),
        _ => None,
    }
}

/// Two parameters whose bits are taken for equal.
struct Pair<'a> {
    func: &'a Function,
    same: &'a FxHashMap<Value, Value>,
    params: [Value; 2],
}

impl Pair<'_> {
    /// Whether `a`, which the first parameter gets, has the bits of `b`, which the second gets with it.
    fn is_equal(&self, a: Value, b: Value, depth: u32) -> bool {
        let [a, b] = [a, b].map(|value| strip(self.func, self.same, value));
        if a == b || [a, b] == self.params {
            return true;
        }
        if let (Some(x), Some(y)) = (bits(self.func, a), bits(self.func, b)) {
            return x == y;
        }
        let choice = |value| match self.func.insts[self.func.def_inst(value)?].kind {
            InstKind::Select { cond, if_true, if_false } => Some((cond, [if_true, if_false])),
            _ => None,
        };
        let (Some((c, x)), Some((d, y))) = (choice(a), choice(b)) else { return false };
        depth > 0 && c == d && x.into_iter().zip(y).all(|(a, b)| self.is_equal(a, b, depth - 1))
    }
}
