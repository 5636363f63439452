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
use mir::Result;
use mir::abi::call::RETURN_ADDRESS;
use mir::abi::call_graph::components;
use mir::ir::{CallConv, Callee, Const, Func, InstKind, Linkage, Module, SymbolRef, ValueDef};
use mir::machine::{CallSite, Function, PReg, RegSet};

/// What calls of functions change.
#[derive(Debug, Default)]
pub struct Callees {
    changes: SecondaryMap<Func, Option<RegSet>>,
    /// Functions whose callers are all known, see [`Levels::owned`].
    owned: SecondaryMap<Func, bool>,
}

impl Callees {
    pub(crate) fn insert(&mut self, func: Func, changes: Option<RegSet>) {
        self.changes[func] = changes;
    }

    /// Notes that all callers of `func` are known.
    pub(crate) fn own(&mut self, func: Func) {
        self.owned[func] = true;
    }

    /// What a call of `func` changes, where it is known.
    fn changes(&self, func: Func) -> Option<&RegSet> {
        self.changes.get(func)?.as_ref()
    }
}

/// Notes at each call of `f` what the callee changes, where that is known, and whether `f` may leave saving to its callers.
///
/// # Errors
/// Malformed attributes.
pub(crate) fn note(f: &mut Function, cx: &FunctionContext<'_>) -> Result<()> {
    if cx.callees.owned[cx.func] {
        // Callers that spill SGPRs have them in lanes of VGPRs, some of which must survive calls whatever the code uses.
        let limit = regalloc::vgpr_limit(f, cx.target, &crate::prepare::register_limits(cx)?);
        f.saves_from = mir::abi::call::last_saved_vgprs(limit);
    }
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
    Ok(())
}

/// Indices of functions, and whether others of the module call them.
pub(crate) struct Levels {
    /// Those of each level call only each other and those of levels before.
    pub levels: Vec<Vec<usize>>,
    pub called: Vec<bool>,
    /// Whether all callers are known, and are compiled behind it: a local function that no pointer leads to, that does not call itself, and to which no
    /// function jumps in place of a return.
    pub owned: Vec<bool>,
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
    let exposed = exposed(module);
    let mut owned: Vec<bool> = bodies.iter().map(|body| !exposed[body.0]).collect();
    let mut edges: Vec<Vec<u32>> = Vec::with_capacity(bodies.len());
    for (func, form) in bodies {
        let mut to = Vec::new();
        let known = |callee: &Func| module.functions.get(*callee).is_some_and(|f| f.is_exact());
        for (callee, plain) in calls(module, *func, form).filter(|call| known(&call.0)) {
            let Some(callee) = index[callee] else { continue };
            owned[callee as usize] &= plain;
            to.push(callee);
        }
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
        for &member in &component {
            level[member as usize] = at;
            owned[member as usize] &= component.len() == 1 && !edges[member as usize].contains(&member);
        }
        if levels.len() <= at {
            levels.resize_with(at + 1, Vec::new);
        }
        levels[at].extend(component.iter().map(|&member| member as usize));
    }
    levels.iter_mut().for_each(|level| level.sort_unstable());
    Some(Levels { levels, called, owned })
}

/// The functions that `func` calls by name, each with whether the call is a plain one: of the convention of the callee, and no jump.
fn calls<'a>(module: &'a Module, func: Func, form: &'a Form) -> Box<dyn Iterator<Item = (Func, bool)> + 'a> {
    let plain = move |callee: Func, graphics: bool, tail: bool| {
        let function = module.functions.get(callee);
        !tail && function.is_some_and(|f| (f.call_conv == CallConv::AmdgpuGfx) == graphics)
    };
    if let Some(f) = form.machine() {
        let named = move |site: &'a CallSite| {
            site.callee.map(|callee| (callee, plain(callee, site.graphics, site.tail)))
        };
        return Box::new(f.calls.iter().filter_map(named));
    }
    let ir = &module.functions[func];
    Box::new(ir.call_layouts.iter().filter_map(move |(&inst, layout)| match ir.insts.get(inst)?.kind {
        InstKind::Call { callee: Callee::Func(callee), .. } => {
            Some((callee, plain(callee, layout.graphics, layout.tail)))
        }
        _ => None,
    }))
}

/// Functions that code may reach which is not a call by name in this module: those that other objects see, and those whose address is somewhere.
///
/// Cost: linear in the constants of the module.
fn exposed(module: &Module) -> SecondaryMap<Func, bool> {
    let mut exposed = SecondaryMap::new();
    let mut expose = |symbol: SymbolRef| {
        if let SymbolRef::Func(func) = symbol {
            exposed[func] = true;
        }
    };
    for (func, function) in &module.functions {
        let local = matches!(function.linkage, Linkage::Internal | Linkage::Private);
        if !local || !module.inline_asm.is_empty() {
            expose(SymbolRef::Func(func));
        }
        for value in function.values.values() {
            if let ValueDef::Const(Const::Symbol(symbol, _)) = value.def {
                expose(symbol);
            }
        }
    }
    let relocations = module.globals.values().filter_map(|global| global.init.as_ref());
    relocations.flat_map(|init| &init.relocations).for_each(|relocation| expose(relocation.symbol));
    module.aliases.iter().for_each(|alias| expose(alias.target));
    module.used.iter().for_each(|&symbol| expose(symbol));
    exposed
}
