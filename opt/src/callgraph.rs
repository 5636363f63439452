//! What functions need of their callers, over the whole call graph.
//!
//! A function asks for a handed-on value (work-item ids, pointers, ...) if its code reads it or if a function
//! that it calls asks for it; who calls a function of which nothing is known hands on everything. The answer
//! for a set of functions that call each other is one answer. Cost: linear in code and calls, but for the
//! rounds that cycles take, bounded by the number of values.

use mir::Result;
use mir::abi::call::Inputs;
use mir::ir::*;
use mir::target::{Features, Os, Target};

/// Fills in [`Function::inputs`] of all functions of a legal module.
pub fn find_inputs(module: &mut Module, target_of: &dyn Fn(&Function) -> Result<Target>) -> Result<()> {
    let mut callers: cranelift_entity::SecondaryMap<Func, Vec<Func>> = cranelift_entity::SecondaryMap::new();
    let mut work = Vec::new();
    let funcs: Vec<Func> = module.functions.keys().collect();
    for &func in &funcs {
        let mut inputs = Inputs::empty();
        let function = &module.functions[func];
        if function.is_declaration() {
            continue;
        }
        let target = target_of(function)?;
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                inputs |= match &function.insts[inst].kind {
                    InstKind::Call { callee: Callee::Func(callee), .. }
                        if module.functions[*callee].is_exact() =>
                    {
                        callers[*callee].push(func);
                        Inputs::empty()
                    }
                    // Kernels are numbered only where the whole program is known.
                    InstKind::Call { .. } => Inputs::all() - Inputs::LDS_KERNEL_ID,
                    kind => own_inputs(function, kind, &target),
                };
            }
        }
        if !inputs.is_empty() {
            work.push(func);
        }
        module.functions[func].inputs = inputs;
    }
    while let Some(func) = work.pop() {
        let inputs = module.functions[func].inputs;
        for &caller in &callers[func] {
            let wanted = &mut module.functions[caller].inputs;
            if !wanted.contains(inputs) {
                *wanted |= inputs;
                work.push(caller);
            }
        }
    }
    Ok(())
}

/// What one operation reads.
fn own_inputs(function: &Function, kind: &InstKind, target: &Target) -> Inputs {
    // Where the apertures are not in registers, the queue has them, and on systems without queues the hidden
    // arguments.
    let hidden = mir::abi::kernarg::has_hidden_apertures(function, target);
    let apertures = match target.os {
        _ if target.has(Features::APERTURE_REGS) => Inputs::empty(),
        Os::AmdHsa if hidden => Inputs::IMPLICITARG_PTR,
        Os::AmdHsa | Os::Mesa3d => Inputs::QUEUE_PTR,
        Os::AmdPal | Os::Unknown => Inputs::IMPLICITARG_PTR,
    };
    match kind {
        InstKind::Intrinsic { intrinsic, .. } => match intrinsic {
            Intrinsic::WorkitemIdX => Inputs::WORKITEM_ID_X,
            Intrinsic::WorkitemIdY => Inputs::WORKITEM_ID_Y,
            Intrinsic::WorkitemIdZ => Inputs::WORKITEM_ID_Z,
            Intrinsic::WorkgroupIdX | Intrinsic::WorkgroupIdY | Intrinsic::WorkgroupIdZ
                if target.has(Features::ARCHITECTED_SGPRS) =>
            {
                Inputs::empty()
            }
            Intrinsic::WorkgroupIdX => Inputs::WORKGROUP_ID_X,
            Intrinsic::WorkgroupIdY => Inputs::WORKGROUP_ID_Y,
            Intrinsic::WorkgroupIdZ => Inputs::WORKGROUP_ID_Z,
            Intrinsic::DispatchPtr => Inputs::DISPATCH_PTR,
            Intrinsic::DispatchId => Inputs::DISPATCH_ID,
            Intrinsic::QueuePtr => Inputs::QUEUE_PTR,
            Intrinsic::Trap | Intrinsic::Ubsantrap if hidden => Inputs::IMPLICITARG_PTR,
            Intrinsic::Trap | Intrinsic::Ubsantrap => Inputs::QUEUE_PTR,
            Intrinsic::ImplicitargPtr => Inputs::IMPLICITARG_PTR,
            Intrinsic::LdsKernelId => Inputs::LDS_KERNEL_ID,
            Intrinsic::IsShared | Intrinsic::IsPrivate => apertures,
            _ => Inputs::empty(),
        },
        InstKind::Cast { op: CastOp::AddrSpaceCast, arg } => match function.ty(*arg).addr_space() {
            Some(AddrSpace::LOCAL | AddrSpace::PRIVATE) => apertures,
            _ => Inputs::empty(),
        },
        _ => Inputs::empty(),
    }
}
