//! Folding of block parameters that have one value only, and replacement of values everywhere.
//!
//! A parameter that gets the same value along all edges, itself aside, is that value. Sweeps in layout order
//! repeat until nothing changes, which takes as many as loops nest; the number is bounded, what is left over
//! is only superfluous. Cost: linear in branch arguments for each sweep.

use super::flow::Flows;
use cranelift_entity::SecondaryMap;
use mir::ir::*;

/// Most sweeps.
const MAX_SWEEPS: usize = 16;

/// Values that others stand for.
#[derive(Default)]
pub struct Replaced {
    to: SecondaryMap<Value, Option<Value>>,
    any: bool,
}

impl Replaced {
    /// Lets `by` stand for `value`.
    pub fn set(&mut self, value: Value, by: Value) {
        self.to[value] = Some(by);
        self.any = true;
    }

    /// Whether something else stands for `value`.
    pub fn contains(&self, value: Value) -> bool {
        self.to[value].is_some()
    }

    /// What stands for `value` in the end; shortens the chain that leads there.
    pub fn resolve(&mut self, value: Value) -> Value {
        let mut end = value;
        while let Some(next) = self.to[end] {
            end = next;
        }
        let mut at = value;
        while let Some(next) = self.to[at] {
            if next != end {
                self.to[at] = Some(end);
            }
            at = next;
        }
        end
    }

    /// Replaces operands in all instructions of the layout.
    pub fn apply(&mut self, func: &mut Function) {
        if !self.any {
            return;
        }
        for i in 0..func.layout.len() {
            let block = func.layout[i];
            for &inst in &func.blocks[block].insts {
                func.insts[inst].kind.for_each_value_mut(|v| *v = self.resolve(*v));
            }
        }
    }
}

/// Folds parameters with one value, then applies `replaced` with what was found. All blocks are reachable.
pub fn fold_params(func: &mut Function, replaced: &mut Replaced) {
    if func.layout.iter().all(|&block| func.blocks[block].params.is_empty()) {
        return replaced.apply(func);
    }
    let incoming = Flows::of_params(func, |_| true);
    let mut any = false;
    for _ in 0..MAX_SWEEPS {
        let mut changed = false;
        for i in 1..func.layout.len() {
            for &param in &func.blocks[func.layout[i]].params {
                if replaced.contains(param) {
                    continue;
                }
                let mut only = None;
                let single = incoming.of(param).iter().all(|&arg| {
                    let arg = replaced.resolve(arg);
                    arg == param || *only.get_or_insert(arg) == arg
                });
                if let (true, Some(value)) = (single, only) {
                    replaced.set(param, value);
                    changed = true;
                }
            }
        }
        any |= changed;
        if !changed {
            break;
        }
    }
    drop(incoming);
    if any {
        for i in 0..func.layout.len() {
            let Some(&last) = func.blocks[func.layout[i]].insts.last() else { continue };
            let blocks = &func.blocks;
            for target in func.insts[last].kind.targets_mut() {
                let mut params = blocks[target.block].params.iter();
                target.args.retain(|_| params.next().is_some_and(|&p| !replaced.contains(p)));
            }
        }
        for i in 0..func.layout.len() {
            let block = func.layout[i];
            let mut params = std::mem::take(&mut func.blocks[block].params);
            params.retain(|&p| !replaced.contains(p));
            for (index, &param) in params.iter().enumerate() {
                func.values[param].def = ValueDef::BlockParam(block, index as u32);
            }
            func.blocks[block].params = params;
        }
    }
    replaced.apply(func);
}
