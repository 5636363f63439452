//! What is known of functions that are called directly: which registers their code changes.
//!
//! Callees are compiled before their callers ([`levels`]), so that their final code says it ([`lower::changes`]). Only a definition that is the code
//! which calls reach for certain counts; functions that call each other, those behind pointers and those of other objects change what the convention
//! says.
//!
//! Source: LLVM's inter-procedural register allocation (`RegUsageInfoCollector`, `RegUsageInfoPropagation`), which llc runs for these processors.

use crate::compile::Form;
use crate::pass::FunctionContext;
use cranelift_entity::SecondaryMap;
use mir::abi::call::RETURN_ADDRESS;
use mir::abi::call_graph::components;
use mir::ir::{Callee, Func, InstKind, Module};
use mir::machine::{Function, PReg, RegSet};

/// What calls of functions change.
#[derive(Debug, Default)]
pub struct Callees {
    changes: SecondaryMap<Func, Option<RegSet>>,
}

impl Callees {
    pub(crate) fn insert(&mut self, func: Func, changes: Option<RegSet>) {
        self.changes[func] = changes;
    }

    /// What a call of `func` changes, where it is known.
    fn changes(&self, func: Func) -> Option<&RegSet> {
        self.changes.get(func)?.as_ref()
    }
}

/// Notes at each call of `f` what the callee changes, where that is known.
pub(crate) fn note(f: &mut Function, cx: &FunctionContext<'_>) {
    for site in &mut f.calls {
        let callee = site.callee.filter(|&func| {
            let function = &cx.module.functions[func];
            function.is_exact() && (function.call_conv == mir::ir::CallConv::AmdgpuGfx) == site.graphics
        });
        site.changes = callee.and_then(|func| cx.callees.changes(func)).map(|known| {
            // The result is another value though the callee may find it in place.
            let mut changes = *known;
            changes.insert_tuple(PReg::vgpr(0), site.result_dwords.into());
            changes.insert_tuple(RETURN_ADDRESS, 2);
            Box::new(changes)
        });
    }
}

/// Indices of functions, and whether others of the module call them.
pub(crate) struct Levels {
    /// Those of each level call only each other and those of levels before.
    pub levels: Vec<Vec<usize>>,
    pub called: Vec<bool>,
}

/// The order in which `bodies` are compiled, callees first; `None` where they do not call each other.
///
/// Cost: linear in functions and calls.
pub(crate) fn levels(module: &Module, bodies: &[(Func, Form)]) -> Option<Levels> {
    let calls_any = |(func, form): &(Func, Form)| match form.machine() {
        Some(f) => !f.calls.is_empty(),
        None => !module.functions[*func].call_layouts.is_empty(),
    };
    if !bodies.iter().any(calls_any) {
        return None;
    }
    let mut index: SecondaryMap<Func, Option<u32>> = SecondaryMap::new();
    for (i, (func, _)) in bodies.iter().enumerate() {
        index[*func] = Some(i as u32);
    }
    let mut called = vec![false; bodies.len()];
    let mut edges: Vec<Vec<u32>> = Vec::with_capacity(bodies.len());
    for (func, form) in bodies {
        let ir = &module.functions[*func];
        let named = |inst| match ir.insts.get(inst).map(|data| &data.kind) {
            Some(&InstKind::Call { callee: Callee::Func(callee), .. }) => Some(callee),
            _ => None,
        };
        let callees: Vec<Func> = match form.machine() {
            Some(f) => f.calls.iter().filter_map(|site| site.callee).collect(),
            None => ir.call_layouts.keys().filter_map(|&inst| named(inst)).collect(),
        };
        let known = |callee: &Func| module.functions.get(*callee).is_some_and(|f| f.is_exact());
        let mut to: Vec<u32> = callees.into_iter().filter(known).filter_map(|callee| index[callee]).collect();
        to.sort_unstable();
        to.dedup();
        to.iter().for_each(|&callee| called[callee as usize] = true);
        edges.push(to);
    }
    if !called.contains(&true) {
        return None;
    }
    // Each component comes after all that it leads to.
    let mut level = vec![0usize; bodies.len()];
    let mut component_of = vec![usize::MAX; bodies.len()];
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (id, component) in components(&edges).into_iter().enumerate() {
        component.iter().for_each(|&member| component_of[member as usize] = id);
        let below = component.iter().flat_map(|&member| &edges[member as usize]);
        let outside = below.filter(|&&callee| component_of[callee as usize] != id);
        let at = outside.map(|&callee| level[callee as usize] + 1).max().unwrap_or(0);
        component.iter().for_each(|&member| level[member as usize] = at);
        if levels.len() <= at {
            levels.resize_with(at + 1, Vec::new);
        }
        levels[at].extend(component.iter().map(|&member| member as usize));
    }
    levels.iter_mut().for_each(|level| level.sort_unstable());
    Some(Levels { levels, called })
}
