//! Simplification: from the faithful IR that `frontend` reads to the *legal* IR that selection accepts.
//!
//! ```text
//! prepare (module)     inline         small and private callees; known builtins to intrinsics; what nothing reaches is gone
//! simplify_function    promote        stack objects to values                      -O1
//!                      legalize       one rebuilding walk: types, memory, expansions; folds and shares as it goes
//!                      constant_branches  they become jumps, unreachable blocks go
//!                      dce            dead instructions and block parameters
//!                      branches       threads jumps, merges blocks, small arms to selects          -O1
//!                      narrow         arithmetic in fewer bits                                       -O1
//!                      reducible      cycles with several entries get one
//!                      merge_memory   neighbouring accesses to one wide one, then dce again        -O1
//!                      waterfall      loops over the values of operands that must be uniform
//!                      verify_legal   in debug builds
//! ```
//!
//! `docs/design.md` defines legal IR, [`legal_intrinsics`] the details, [`verify_legal`] checks both. Functions are
//! independent of each other once the module is prepared. Every pass is linear, or nearly so, in the code that it leaves.

mod address_space;
mod branches;
mod builder;
mod builtins;
mod callgraph;
mod cfg;
mod constant_branches;
mod dce;
#[cfg(test)]
mod expansion_tests;
mod flow;
mod fold;
mod inline;
#[cfg(test)]
mod interp;
pub mod legal_intrinsics;
pub mod legal_memory;
mod legalize;
mod merge_memory;
mod narrow;
mod params;
mod promote;
mod reducible;
mod variadic;
mod verify;

use crate::Options;
use mir::Result;
use mir::ir::{CallConv, Func, Function, Module, Type};
use mir::target::Target;
use smallvec::SmallVec;

pub use inline::is_entry_point;
pub use verify::{is_wide_product, verify_legal};

/// Types at which `cmpxchg` and `div.scale` occur in legal IR; their results are structs that the module must know.
const PAIRED: [Type; 4] = [Type::I32, Type::I64, Type::F32, Type::F64];

/// Simplifies every kernel of `module` in place.
pub fn run(module: &mut Module, target: &Target, options: &Options) -> Result<()> {
    run_for_targets(module, &|_| Ok(*target), options)
}

/// As [`run`], where each function may have a target of its own.
pub fn run_for_targets(
    module: &mut Module,
    target_of: &dyn Fn(&Function) -> Result<Target>,
    options: &Options,
) -> Result<()> {
    prepare(module)?;
    let funcs: Vec<Func> = module.functions.keys().collect();
    for func in funcs {
        if !module.functions[func].is_declaration() {
            let empty = Function::new(String::new(), CallConv::Device, Type::Void);
            let function = std::mem::replace(&mut module.functions[func], empty);
            let target = target_of(&function)?;
            module.functions[func] = simplify_function(module, function, &target, options)?;
        }
    }
    callgraph::find_inputs(module, target_of)?;
    crate::lds::lay_out(module);
    Ok(())
}

/// The part that needs the whole module: inlines calls, drops what entry points do not reach, adds the types that
/// expansions need. Functions that still have a body afterwards are to be simplified and compiled.
pub fn prepare(module: &mut Module) -> Result<()> {
    variadic::lower(module);
    inline::inline_all(module)?;
    for ty in PAIRED {
        module.types.struct_of(&[ty, Type::I1], false);
    }
    legalize::asm::add_result_types(module);
    Ok(())
}

/// The legal form of a function taken out of a prepared module.
pub fn simplify_function(
    module: &Module,
    mut function: Function,
    target: &Target,
    options: &Options,
) -> Result<Function> {
    let mut pairs: SmallVec<[(Type, Type); 4]> = SmallVec::new();
    for ty in PAIRED {
        if let Some(pair) = module.types.find_struct(&[ty, Type::I1]) {
            pairs.push((ty, pair));
        }
    }
    let ctx = legalize::Context { module, machine: target, options, pairs };
    if options.opt_level > 0 {
        promote::promote(&mut function, &module.types);
    }
    let mut legal = legalize::legalize(&ctx, &function)?;
    constant_branches::fold(&mut legal);
    dce::remove_dead(&mut legal);
    if options.opt_level > 0 {
        branches::clean_up(&mut legal);
        narrow::narrow(&mut legal);
        constant_branches::fold(&mut legal);
    }
    reducible::make_reducible(&mut legal);
    if options.opt_level > 0 {
        merge_memory::merge_memory(&mut legal, target);
        dce::remove_dead(&mut legal);
    }
    crate::waterfall::expand(&mut legal, target);
    if cfg!(debug_assertions) {
        verify_legal(&legal, &module.types, target)?;
    }
    Ok(legal)
}
