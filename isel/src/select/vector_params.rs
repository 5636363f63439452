//! Parameters that are the same for all lanes and stay in VGPRs.
//!
//! A uniform parameter of integers is in SGPRs, so that what follows it is scalar arithmetic. Where every edge brings it from the vector unit and every user is
//! an instruction of the vector unit anyway, that takes a `v_readfirstlane` on each edge, and a wait where the edge brings what was just loaded: sums of
//! numbers in LDS, say. Those stay where they are, all that are arguments for each other or none.
//!
//! Cost: linear; a walk over the edges, and one over the code where an edge brings a parameter from the vector unit.

use super::{Rep, Selector};
use mir::ir::{Block, InstData, InstKind, Scalar, Type, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};

/// Dwords of such a parameter.
const MAX_DWORDS: u8 = 2;

/// What is known of a uniform parameter of integers.
#[derive(Default)]
struct Param {
    /// An edge brings it from the vector unit.
    vector: bool,
    /// An edge brings it from SGPRs, or a user wants it there.
    scalar: bool,
    /// Parameters that it is an argument for or that are arguments for it.
    beside: Vec<Value>,
}

impl Selector<'_> {
    /// The uniform parameters of integers that stay in VGPRs, by where values live if none does.
    pub(super) fn find_vector_params(&self, order: &[Block]) -> FxHashSet<Value> {
        let brings_vector = |&(param, arg): &(Value, Value)| self.is_candidate(param) && self.is_vector(arg);
        if !order.iter().flat_map(|&block| self.edges(block)).any(|edge| brings_vector(&edge)) {
            return FxHashSet::default();
        }
        let mut params: FxHashMap<Value, Param> = FxHashMap::default();
        for &block in order {
            for &inst in &self.f.blocks[block].insts {
                let data = &self.f.insts[inst];
                if data.kind.targets().is_empty() && self.is_of_vector_unit(data) {
                    continue;
                }
                data.kind.for_each_value(|value| {
                    if self.is_candidate(value) && !self.takes_vgpr(&data.kind, value) {
                        params.entry(value).or_default().scalar = true;
                    }
                });
            }
            for (param, arg) in self.edges(block) {
                match (self.is_candidate(param), self.is_candidate(arg)) {
                    (true, true) => {
                        params.entry(param).or_default().beside.push(arg);
                        params.entry(arg).or_default().beside.push(param);
                    }
                    (true, false) if self.f.as_const(arg).is_some() => {}
                    (true, false) => {
                        let known = params.entry(param).or_default();
                        known.vector |= self.is_vector(arg);
                        known.scalar |= !self.is_vector(arg);
                    }
                    (false, true) if self.values[param].rep != Rep::Vgpr => {
                        params.entry(arg).or_default().scalar = true;
                    }
                    _ => {}
                }
            }
        }
        let scalar = spread(&params, |param| param.scalar);
        let vector = spread(&params, |param| param.vector);
        vector.difference(&scalar).copied().collect()
    }

    /// Parameters that `block` hands arguments to, and these.
    fn edges(&self, block: Block) -> impl Iterator<Item = (Value, Value)> {
        let targets =
            self.f.terminator(block).map(|last| self.f.insts[last].kind.targets()).unwrap_or_default();
        targets.into_iter().flat_map(|target| {
            let params = &self.f.blocks[target.block].params;
            params.iter().copied().zip(target.args.iter().copied())
        })
    }

    /// Whether `value` is a uniform parameter of integers.
    fn is_candidate(&self, value: Value) -> bool {
        let ty = self.f.ty(value);
        matches!(self.f.values[value].def, ValueDef::BlockParam(..))
            && self.values[value].rep == Rep::Sgpr
            && matches!(ty, Type::Scalar(Scalar::Int(_)))
            && self.dwords_of(ty) <= MAX_DWORDS
    }

    /// Whether the vector unit makes `value`.
    fn is_vector(&self, value: Value) -> bool {
        self.f.def_inst(value).is_some() && self.values[self.root(value).0].rep == Rep::Vgpr
    }

    /// Whether the vector unit computes `data`, whatever its operands are.
    fn is_of_vector_unit(&self, data: &InstData) -> bool {
        let arithmetic =
            matches!(data.kind, InstKind::Binary { .. } | InstKind::Unary { .. } | InstKind::Select { .. });
        arithmetic && data.result.is_some_and(|result| self.values[result].rep == Rep::Vgpr)
    }

    /// Whether `kind` uses `value` where a VGPR does: as an argument of an edge, which is judged by the parameter, or as what is stored.
    fn takes_vgpr(&self, kind: &InstKind, value: Value) -> bool {
        match kind {
            InstKind::Jump { .. } => true,
            &InstKind::Branch { cond, .. } => cond != value,
            &InstKind::Switch { value: chosen, .. } => chosen != value,
            &InstKind::Store { ptr, value: stored, .. } => stored == value && ptr != value,
            _ => false,
        }
    }
}

/// The parameters of which `is` holds and all beside them, from one to the next.
fn spread(params: &FxHashMap<Value, Param>, is: impl Fn(&Param) -> bool) -> FxHashSet<Value> {
    let mut work: Vec<Value> =
        params.iter().filter(|(_, param)| is(param)).map(|(&value, _)| value).collect();
    let mut found: FxHashSet<Value> = work.iter().copied().collect();
    while let Some(value) = work.pop() {
        let beside = params.get(&value).map_or(&[][..], |param| &param.beside);
        work.extend(beside.iter().copied().filter(|&next| found.insert(next)));
    }
    found
}
