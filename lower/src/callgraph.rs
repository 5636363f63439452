//! What callees take is added to every kernel and shader: [`mir::abi::call_graph`] over the functions of the module.
//!
//! Cost: linear in functions and calls.

use cranelift_entity::SecondaryMap;
use emit::FinalFunction;
use mir::abi::KernelDescriptor;
use mir::abi::call_graph::{self, Assumed, Callee, Need, Node};
use mir::abi::descriptor::RegisterCounts;
use mir::abi::metadata::Metadata;
use mir::ir::{Func, Function, Linkage, Module};
use mir::machine::Resources;
use mir::target::{Os, Target};
use mir::{Diagnostic, Result};

/// Adds what callees take to every kernel and shader of `functions`; `target_of` gives the target of a function of `module`.
pub fn complete_kernels(
    functions: &mut [FinalFunction],
    module: &Module,
    target_of: &dyn Fn(&Function) -> Result<Target>,
) -> Result<()> {
    let linked = functions.iter().any(|f| speaks_to_others(f, module));
    if !linked && functions.iter().all(|f| f.function.calls.is_empty() && !f.function.dynamic_stack) {
        return Ok(());
    }
    let Some(function) = functions.first().and_then(|f| module.functions.get(f.function.source)) else {
        return Ok(());
    };
    let target = target_of(function)?;
    let assumed = if target.os == Os::AmdHsa {
        Assumed::of_version(target.code_object_version)
    } else {
        Assumed::STATIC
    };
    let nodes = nodes(functions, module, target_of)?;
    let needs = call_graph::needs_with(&nodes, target.processor.numbered_sgprs(), assumed);
    for ((f, need), node) in functions.iter_mut().zip(&needs).zip(nodes) {
        f.node = linked.then_some(node);
        if target.os == Os::AmdPal && f.function.call_conv.is_callable() {
            // Its metadata lists functions, each with the registers of all that it calls and the stack of its own.
            let own = f.function.resources;
            let sum = Resources {
                sgprs: need.sgprs,
                vgprs: need.vgprs,
                vcc: need.vcc,
                flat_scratch: need.flat_scratch,
                ..own
            };
            f.function.resources = sum;
            f.function.lds.size_bytes = f.function.lds.size_bytes.max(need.lds_bytes);
        }
        let is_entry = !f.function.call_conv.is_callable();
        if is_entry && (f.function.dynamic_stack || !f.function.calls.is_empty()) {
            let source = &module.functions[f.function.source];
            let described = target_of(source).and_then(|target| describe(f, need, module, &target));
            described.map_err(|e| e.in_function(&f.function.name))?;
        }
    }
    Ok(())
}

/// Whether other objects can call `f`, or it calls what another object may define.
fn speaks_to_others(f: &FinalFunction, module: &Module) -> bool {
    let is_local = |func| matches!(module.functions[func].linkage, Linkage::Internal | Linkage::Private);
    let elsewhere = |callee: Func| !module.functions[callee].is_exact();
    let source = f.function.source;
    module.functions[source].call_conv.is_callable() && !is_local(source)
        || f.function.calls.iter().any(|call| call.callee.is_none_or(elsewhere))
}

/// What each of `functions` takes by itself.
fn nodes(
    functions: &[FinalFunction],
    module: &Module,
    target_of: &dyn Fn(&Function) -> Result<Target>,
) -> Result<Vec<Node>> {
    let mut index: SecondaryMap<Func, Option<u32>> = SecondaryMap::new();
    for (i, f) in functions.iter().enumerate() {
        index[f.function.source] = Some(i as u32);
    }
    let callee = |callee: Option<Func>| match callee {
        None => Callee::Unknown,
        Some(func) => match index[func] {
            // Another object's definition may come in its place when the program is linked.
            Some(node) if module.functions[func].is_exact() => Callee::Node(node),
            _ => Callee::Symbol(module.functions[func].name.clone()),
        },
    };
    functions
        .iter()
        .map(|f| {
            let source = &module.functions[f.function.source];
            let is_local = matches!(source.linkage, Linkage::Internal | Linkage::Private);
            // Of a kernel, the registers that its entry state fills count too.
            let counts = RegisterCounts::of_kernel(&f.function, &target_of(source)?);
            let resources = f.function.resources;
            let calls = &f.function.calls;
            let mut callees: Vec<Callee> = calls.iter().map(|call| callee(call.callee)).collect();
            callees.sort();
            callees.dedup();
            Ok(Node {
                symbol: if is_local { String::new() } else { source.name.clone() },
                is_kernel: !f.function.call_conv.is_callable(),
                sgprs: counts.numbered_sgprs,
                vgprs: counts.vgprs,
                vcc: resources.vcc,
                flat_scratch: resources.flat_scratch,
                frame_bytes: resources.scratch_bytes,
                argument_bytes: calls.iter().map(|call| call.stack_bytes).max().unwrap_or_default(),
                dynamic_frame: f.function.dynamic_stack,
                lds_bytes: f.function.lds.size_bytes,
                callees,
            })
        })
        .collect()
}

/// The function, its descriptor and metadata with what callees take.
fn describe(f: &mut FinalFunction, need: &Need, module: &Module, target: &Target) -> Result<()> {
    let Some(source) = module.functions.get(f.function.source) else {
        return Err(Diagnostic::defect("the function is not of this module"));
    };
    let spills = f.function.resources;
    f.function.resources = Resources {
        sgprs: need.sgprs,
        vgprs: need.vgprs,
        vcc: need.vcc,
        flat_scratch: need.flat_scratch,
        scratch_bytes: need.stack_bytes,
        ..spills
    };
    f.function.lds.size_bytes = f.function.lds.size_bytes.max(need.lds_bytes);
    f.function.dynamic_stack = need.dynamic;
    if f.kernel.is_none() {
        // Other systems than amdhsa have their data made of the function when it is written.
        return Ok(());
    }
    let mut descriptor = KernelDescriptor::for_kernel(&f.function, source, target)?;
    let metadata = Metadata::new(module, [(&f.function, source)], target).kernels.pop();
    if let (Some(kernel), Some(mut metadata)) = (&mut f.kernel, metadata) {
        if target.code_object_version >= 5 {
            descriptor.uses_dynamic_stack = u32::from(need.dynamic);
            metadata.uses_dynamic_stack = Some(need.dynamic);
        }
        kernel.descriptor = descriptor;
        kernel.metadata = metadata;
    }
    Ok(())
}
