//! Names for functions and variables that have none.
//!
//! LLVM calls them `__unnamed_1`, `__unnamed_2`, ... in the order in which its code generator asks for their
//! symbols: functions with callees before callers, each followed by what its code refers to, then variables
//! with what their contents refer to. Where everything has a name, nothing happens. Cost: linear in the
//! module.

use cranelift_entity::SecondaryMap;
use mir::ir::{Callee, Const, Func, Function, InstKind, Module, SymbolRef, Value, ValueDef};

/// Names what has no name, entries of sections without a symbol aside.
pub(crate) fn name_all(module: &mut Module) {
    let nameless = |name: &String, emitted: bool| name.is_empty() && emitted;
    let any = module.functions.values().any(|f| nameless(&f.name, true))
        || module.globals.values().any(|g| nameless(&g.name, g.section.is_empty()));
    if !any {
        return;
    }
    let mut order = Vec::new();
    for func in callees_first(module) {
        order.push(SymbolRef::Func(func));
        references(&module.functions[func], &mut order);
    }
    for (global, data) in &module.globals {
        order.push(SymbolRef::Global(global));
        order.extend(data.init.iter().flat_map(|init| init.relocations.iter().map(|r| r.symbol)));
    }
    order.extend(module.functions.keys().map(SymbolRef::Func));
    let mut next = 1;
    for symbol in order {
        let name = match symbol {
            SymbolRef::Func(func) => &mut module.functions[func].name,
            SymbolRef::Global(global) if !module.globals[global].section.is_empty() => continue,
            SymbolRef::Global(global) => &mut module.globals[global].name,
        };
        if name.is_empty() {
            *name = format!("__unnamed_{next}");
            next += 1;
        }
    }
}

/// Defined functions in postorder of calls.
fn callees_first(module: &Module) -> Vec<Func> {
    let mut seen: SecondaryMap<Func, bool> = SecondaryMap::new();
    let mut out = Vec::new();
    for root in module.functions.keys() {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut stack = vec![(root, callees(&module.functions[root]).into_iter())];
        while let Some((func, rest)) = stack.last_mut() {
            match rest.next() {
                Some(callee) if std::mem::replace(&mut seen[callee], true) => {}
                Some(callee) => stack.push((callee, callees(&module.functions[callee]).into_iter())),
                None => {
                    out.push(*func);
                    stack.pop();
                }
            }
        }
    }
    out.retain(|&func| !module.functions[func].is_declaration());
    out
}

fn callees(function: &Function) -> Vec<Func> {
    let insts = function.layout.iter().flat_map(|&block| &function.blocks[block].insts);
    insts
        .filter_map(|&inst| match function.insts[inst].kind {
            InstKind::Call { callee: Callee::Func(func), .. } => Some(func),
            _ => None,
        })
        .collect()
}

/// Symbols in the order of the code.
fn references(function: &Function, out: &mut Vec<SymbolRef>) {
    for &inst in function.layout.iter().flat_map(|&block| &function.blocks[block].insts) {
        let kind = &function.insts[inst].kind;
        if let InstKind::Call { callee: Callee::Func(func), .. } = *kind {
            out.push(SymbolRef::Func(func));
        }
        let mut work: Vec<Value> = Vec::new();
        kind.for_each_value(|value| work.push(value));
        work.reverse();
        while let Some(value) = work.pop() {
            match &function.values[value].def {
                ValueDef::Const(Const::Symbol(symbol, _)) => out.push(*symbol),
                ValueDef::Const(Const::Elements(members)) => work.extend(members.iter().rev()),
                _ => {}
            }
        }
    }
}
