//! Functions for other processors.
//!
//! Libraries hold variants of a function, each with the instructions that it needs among its
//! `"target-features"`, and choose at run time. What the processor cannot run is dropped, as LLVM does:
//! whoever refers to it gets null. Processors without a number (`generic`) keep everything. Cost: linear in
//! the module where something is dropped, in the number of functions otherwise.

use crate::options::CompileOptions;
use mir::ir::{Callee, Const, Func, Function, InstKind, Module, SymbolRef, Type, Value, ValueDef};
use mir::target::{Features, Generation, Processor, Target};
use std::collections::BTreeSet;

/// What a feature of LLVM's needs.
#[derive(Clone, Copy)]
enum Need {
    /// No processor here has it.
    Never,
    /// An ability.
    Feature(Features),
    /// An ability, on processors from a generation on.
    FeatureSince(Features, Generation),
    /// The instructions of a generation.
    Generation(Generation),
}

/// Features by which functions are told apart, and what each needs.
///
/// Source: LLVM, AMDGPURemoveIncompatibleFunctions.cpp (names) and GCNProcessors.td.
const NEEDED: &[(&str, Need)] = &[
    ("16-bit-insts", Need::Feature(Features::INST_16BIT)),
    ("dot1-insts", Need::Feature(Features::DOT_INSTS)),
    ("dot10-insts", Need::Feature(Features::DOT_INSTS)),
    ("dot2-insts", Need::Feature(Features::DOT_INSTS)),
    ("dot3-insts", Need::Never),
    ("dot4-insts", Need::Never),
    ("dot5-insts", Need::FeatureSince(Features::DOT_INSTS, Generation::Gfx10)),
    ("dot6-insts", Need::FeatureSince(Features::DOT_INSTS, Generation::Gfx10)),
    ("dot7-insts", Need::Feature(Features::DOT_INSTS)),
    ("dot8-insts", Need::Never),
    ("dot9-insts", Need::Never),
    ("dpp", Need::Feature(Features::DPP)),
    ("gfx10-insts", Need::Generation(Generation::Gfx10)),
    ("gfx11-insts", Need::Never),
    ("gfx8-insts", Need::Generation(Generation::Gfx8)),
    ("gfx9-insts", Need::Generation(Generation::Gfx9)),
    ("wavefrontsize32", Need::Generation(Generation::Gfx10)),
];

/// Drops what the processor of the command line, or of the function itself, cannot run.
pub fn drop_incompatible(module: &mut Module, options: &CompileOptions) {
    let mut dropped: BTreeSet<Func> = BTreeSet::new();
    // Functions of one source mostly ask for the same.
    let mut before: Option<(Asked<'_>, bool)> = None;
    for (func, function) in module.functions.iter().filter(|(_, function)| !function.is_declaration()) {
        let asked = (function.attribute("target-cpu"), function.attribute("target-features"));
        let runs = match before {
            Some((same, runs)) if same == asked => runs,
            _ => runs(asked, options),
        };
        before = Some((asked, runs));
        if !runs {
            dropped.insert(func);
        }
    }
    if dropped.is_empty() {
        return;
    }
    for &func in &dropped {
        let function = &mut module.functions[func];
        let (name, call_conv, ret) = (std::mem::take(&mut function.name), function.call_conv, function.ret);
        *function = Function::new(name, call_conv, ret);
    }
    for function in module.functions.values_mut() {
        forget(function, &dropped);
    }
    let is_dropped = |symbol: SymbolRef| matches!(symbol, SymbolRef::Func(func) if dropped.contains(&func));
    for init in module.globals.values_mut().filter_map(|global| global.init.as_mut()) {
        init.relocations.retain(|relocation| !is_dropped(relocation.symbol));
    }
    module.aliases.retain(|alias| !is_dropped(alias.target));
    module.used.retain(|&symbol| !is_dropped(symbol));
}

/// What a function asks for: `"target-cpu"` and `"target-features"`.
type Asked<'a> = (Option<&'a str>, Option<&'a str>);

/// Whether the processor has everything that a function asks for by name.
fn runs((cpu, features): Asked<'_>, options: &CompileOptions) -> bool {
    let cpu = cpu.unwrap_or(&options.cpu);
    let processor = match Target::processor_by_name(cpu) {
        Some(processor) if !processor.name.starts_with("generic") => processor,
        _ => return true,
    };
    let Some(text) = features else { return true };
    // What the processor lacks, as far as the list goes.
    let mut lacking: Vec<&str> = Vec::new();
    for entry in text.split(',').map(str::trim) {
        match entry.split_at_checked(1) {
            Some(("+", name)) if !has(processor, name) => lacking.push(name),
            Some(("-", name)) => lacking.retain(|known| *known != name),
            _ => {}
        }
    }
    lacking.is_empty()
}

fn has(processor: &Processor, name: &str) -> bool {
    match NEEDED.binary_search_by_key(&name, |row| row.0) {
        Ok(row) => match NEEDED[row].1 {
            Need::Never => false,
            Need::Feature(features) => processor.features.contains(features),
            Need::FeatureSince(features, first) => {
                processor.features.contains(features) && processor.generation >= first
            }
            Need::Generation(first) => processor.generation >= first,
        },
        Err(_) => true,
    }
}

/// Replaces addresses of dropped functions by null, calls included.
fn forget(function: &mut Function, dropped: &BTreeSet<Func>) {
    let is_dropped = |def: &ValueDef| matches!(def, ValueDef::Const(Const::Symbol(SymbolRef::Func(func), _)) if dropped.contains(func));
    let addresses: Vec<Value> =
        function.values.iter().filter(|(_, data)| is_dropped(&data.def)).map(|(value, _)| value).collect();
    for value in addresses {
        function.values[value].def = ValueDef::Const(Const::Zero);
    }
    let calls: Vec<_> = function
        .insts
        .iter()
        .filter(|(_, data)| {
            matches!(data.kind, InstKind::Call { callee: Callee::Func(func), .. } if dropped.contains(&func))
        })
        .map(|(inst, _)| inst)
        .collect();
    if calls.is_empty() {
        return;
    }
    let null = function.constant(Type::ptr(mir::ir::AddrSpace::FLAT), Const::Zero);
    for inst in calls {
        if let InstKind::Call { callee, .. } = &mut function.insts[inst].kind {
            *callee = Callee::Indirect(null);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(NEEDED.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn what_the_processor_lacks_is_dropped_and_forgotten() {
        let text = "
@table = addrspace(1) global [2 x ptr] [ptr @old, ptr @new]
define void @old() \"target-features\"=\"+gfx8-insts,+dpp\" {
  ret void
}
define void @new() \"target-features\"=\"+gfx9-insts,+gfx10-insts,-gfx10-insts\" {
  ret void
}
define void @small() \"target-features\"=\"+wavefrontsize32\" {
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  call void @new()
  store ptr @new, ptr addrspace(1) %p
  ret void
}";
        let left = |cpu: &str| {
            let mut module = frontend::read_module(text.as_bytes(), "t.ll").unwrap();
            let options = CompileOptions { cpu: cpu.into(), ..Default::default() };
            drop_incompatible(&mut module, &options);
            let names: Vec<String> =
                module.functions.values().filter(|f| !f.is_declaration()).map(|f| f.name.clone()).collect();
            let addresses: usize =
                module.globals.values().filter_map(|g| g.init.as_ref()).map(|i| i.relocations.len()).sum();
            let kernel = module.functions.values().find(|f| f.name == "k").unwrap();
            let direct = kernel
                .insts
                .values()
                .any(|i| matches!(i.kind, InstKind::Call { callee: Callee::Func(_), .. }));
            (names.join(" "), addresses, direct)
        };
        assert_eq!(left("gfx900"), ("old new k".into(), 2, true));
        assert_eq!(left("fiji"), ("old k".into(), 1, false));
        assert_eq!(left("gfx600"), ("k".into(), 0, false));
        assert_eq!(left(""), ("old new small k".into(), 2, true));
    }
}
