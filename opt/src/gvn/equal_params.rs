//! Variables of a block that are equal are one.
//!
//! A counter that was kept in two widths, or as an index and its copy, becomes two variables that start from one value and add the same in each
//! iteration. Two parameters of a block are equal if each edge brings both the same, where *the same* may assume it of the two:
//! `i + 1` and `j + 1`, or `i` and `j` themselves, on a way back. By induction over the way that a thread took, they are then.
//!
//! Cost: linear; of the parameters that look alike a few are compared, and a few levels of what is computed from them.

use super::is_pure;
use crate::flow::Flows;
use crate::params::{Replaced, fold_params};
use mir::ir::*;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::hash::BuildHasher;
use std::mem::discriminant;

/// Parameters that look alike and are compared with each further one.
const MOST_ALIKE: usize = 4;
/// Levels of computations that are compared.
const DEPTH: u32 = 3;

/// Joins equal parameters of the blocks of `func`, which is legal IR whose blocks are reachable.
pub(super) fn join(func: &mut Function) {
    let several = |block: Block| func.blocks[block].params.len() > 1;
    if !func.layout.iter().any(|&block| several(block)) {
        return;
    }
    let incoming = Flows::of_params(func, |_| true);
    let mut replaced = Replaced::default();
    let mut any = false;
    for at in 1..func.layout.len() {
        let params = func.blocks[func.layout[at]].params.clone();
        let mut alike: FxHashMap<u64, SmallVec<[Value; MOST_ALIKE]>> = FxHashMap::default();
        for &param in params.iter().filter(|_| params.len() > 1) {
            mir::interrupt::checkpoint();
            let others = alike.entry(looks(func, &incoming, param)).or_default();
            let equal = others.iter().copied().find_map(|other| {
                let mut pair = Pair { func, params: [other, param], computed: Vec::new() };
                let args = incoming.of(other).iter().zip(incoming.of(param));
                args.into_iter().all(|(&a, &b)| pair.is_equal(a, b, DEPTH)).then_some((other, pair.computed))
            });
            match equal {
                Some((other, computed)) => {
                    for [a, b] in computed {
                        // Who asked for the second gets the first, which promises no more.
                        let flags = func.insts[b].flags;
                        func.insts[a].flags &= flags;
                    }
                    replaced.set(param, other);
                    any = true;
                }
                None if others.len() < MOST_ALIKE => others.push(param),
                None => {}
            }
        }
    }
    if any {
        fold_params(func, &mut replaced);
    }
}

/// A number that equal parameters have in common.
fn looks(func: &Function, incoming: &Flows, param: Value) -> u64 {
    let args: SmallVec<[_; 4]> = incoming
        .of(param)
        .iter()
        .map(|&arg| match func.def_inst(arg) {
            Some(inst) => (None, Some(discriminant(&func.insts[inst].kind))),
            None => (Some(arg).filter(|&arg| arg != param), None),
        })
        .collect();
    FxBuildHasher.hash_one((func.ty(param), args))
}

/// Two parameters that are taken for equal.
struct Pair<'a> {
    func: &'a Function,
    params: [Value; 2],
    /// Pairs of instructions that give the same then.
    computed: Vec<[Inst; 2]>,
}

impl Pair<'_> {
    /// Whether `a`, which the first parameter gets, is what the second gets with `b`.
    fn is_equal(&mut self, a: Value, b: Value, depth: u32) -> bool {
        if a == b || [a, b] == self.params {
            return true;
        }
        let (Some(x), Some(y)) = (self.func.def_inst(a), self.func.def_inst(b)) else { return false };
        let (first, second) = (&self.func.insts[x], &self.func.insts[y]);
        let intrinsic = matches!(first.kind, InstKind::Intrinsic { .. });
        if depth == 0 || intrinsic || !is_pure(first) || first.ty != second.ty {
            return false;
        }
        let (mut k, mut l) = (first.kind.clone(), second.kind.clone());
        let (mut operands, mut others) = (SmallVec::<[Value; 4]>::new(), SmallVec::<[Value; 4]>::new());
        k.for_each_value_mut(|value| operands.push(std::mem::replace(value, a)));
        l.for_each_value_mut(|value| others.push(std::mem::replace(value, a)));
        let alike = k == l && first.fpmath_ulp_256 == second.fpmath_ulp_256;
        self.computed.push([x, y]);
        alike && operands.into_iter().zip(others).all(|(a, b)| self.is_equal(a, b, depth - 1))
    }
}
