//! What functions take over the whole call graph: a kernel's descriptor counts what everything below it takes.
//!
//! Registers are the most of any function that may run, stack is the most along any chain of calls. Functions that call each
//! other are one node of the graph (strongly connected components, found without recursion), whose stack has no bound: it counts once, plus
//! what is assumed for it, and the kernel's metadata says that its stack is dynamic. So does a call of what this module does not know; there
//! registers are the most of any function of the module, and no less than what the convention lets a callee change.
//!
//! Cost: linear in functions and calls.
//!
//! Source: AMDGPU usage guide, `.uses_dynamic_stack`; the sizes that llc assumes.

use cranelift_entity::SecondaryMap;
use emit::FinalFunction;
use mir::abi::KernelDescriptor;
use mir::abi::metadata::Metadata;
use mir::ir::{Func, Function, Module};
use mir::machine::Resources;
use mir::target::Target;
use mir::{Diagnostic, Result};

/// Stack bytes assumed for a call of an unknown function, and for a recursion.
const ASSUMED_STACK_BYTES: u32 = 16384;
/// Stack bytes assumed for objects of variable size of a function.
const ASSUMED_OBJECT_BYTES: u32 = 4096;
/// Most stack bytes that the largest frame of the module adds to that.
const MAX_KNOWN_BYTES: u32 = 65536;
/// VGPRs that a callee which is not known may take: what is left to each of 1024 work-items, LLVM's default for functions. Of SGPRs it may take all.
const ASSUMED_VGPRS: u32 = 64;

/// What a function and everything that it calls takes.
#[derive(Clone, Copy, Default)]
struct Need {
    resources: Resources,
    /// Something below has no known bound.
    dynamic: bool,
    lds_bytes: u32,
}

impl Need {
    fn join(&mut self, other: &Self) {
        let (mine, theirs) = (&mut self.resources, &other.resources);
        mine.sgprs = mine.sgprs.max(theirs.sgprs);
        mine.vgprs = mine.vgprs.max(theirs.vgprs);
        mine.vcc |= theirs.vcc;
        mine.flat_scratch |= theirs.flat_scratch;
        mine.scratch_bytes = mine.scratch_bytes.max(theirs.scratch_bytes);
        self.dynamic |= other.dynamic;
        self.lds_bytes = self.lds_bytes.max(other.lds_bytes);
    }
}

/// Adds what callees take to every kernel of `functions`; `target_of` gives the target of a function of `module`.
pub fn complete_kernels(
    functions: &mut [FinalFunction],
    module: &Module,
    target_of: &dyn Fn(&Function) -> Result<Target>,
) -> Result<()> {
    if functions.iter().all(|f| f.function.calls.is_empty() && !f.function.dynamic_stack) {
        return Ok(());
    }
    let mut index: SecondaryMap<Func, Option<u32>> = SecondaryMap::new();
    for (i, f) in functions.iter().enumerate() {
        index[f.function.source] = Some(i as u32);
    }
    let mut unknown = Need { dynamic: true, ..Need::default() };
    for f in functions.iter().filter(|f| f.kernel.is_none()) {
        unknown.join(&Need { resources: f.function.resources, ..Need::default() });
    }
    // A call through a pointer is most likely one of a function of this module.
    let largest = unknown.resources.scratch_bytes.min(MAX_KNOWN_BYTES);
    let more = if largest > ASSUMED_STACK_BYTES / 4 { largest } else { 0 };
    unknown.resources.scratch_bytes = ASSUMED_STACK_BYTES + more;
    unknown.resources.vgprs = unknown.resources.vgprs.max(ASSUMED_VGPRS);
    unknown.resources.sgprs = match functions.first().and_then(|f| module.functions.get(f.function.source)) {
        Some(function) => target_of(function)?.processor.numbered_sgprs(),
        None => 0,
    };
    unknown.resources.vcc = true;
    unknown.resources.flat_scratch = true;
    let edges: Vec<Vec<u32>> = functions
        .iter()
        .map(|f| f.function.calls.iter().filter_map(|call| index[call.callee?]).collect())
        .collect();
    let mut needs: Vec<Need> = vec![Need::default(); functions.len()];
    let mut component_of = vec![u32::MAX; functions.len()];
    for (id, component) in components(&edges).into_iter().enumerate() {
        component.iter().for_each(|&member| component_of[member as usize] = id as u32);
        let mut all = Need::default();
        let mut own_stack = 0u32;
        let mut cyclic = component.len() > 1;
        let mut grows = false;
        for &member in &component {
            let f = &functions[member as usize].function;
            own_stack = own_stack.saturating_add(f.resources.scratch_bytes);
            if f.dynamic_stack {
                own_stack = own_stack.saturating_add(ASSUMED_OBJECT_BYTES);
                grows = true;
            }
            let mut own = Need { resources: f.resources, dynamic: false, lds_bytes: f.lds.size_bytes };
            own.resources.scratch_bytes = 0;
            all.join(&own);
            // Arguments are stored whether or not the callee, which counts them to its frame, reads them.
            let arguments = f.calls.iter().map(|call| call.stack_bytes).max().unwrap_or(0);
            all.resources.scratch_bytes = all.resources.scratch_bytes.max(arguments);
            for &callee in &edges[member as usize] {
                cyclic |= callee == member;
                if component_of[callee as usize] != id as u32 {
                    all.join(&needs[callee as usize]);
                }
            }
            if f.calls.iter().any(|call| call.callee.is_none_or(|callee| index[callee].is_none())) {
                all.join(&unknown);
            }
        }
        all.dynamic |= grows;
        if cyclic {
            own_stack = own_stack.saturating_add(ASSUMED_STACK_BYTES);
            all.dynamic = true;
        }
        all.resources.scratch_bytes = all.resources.scratch_bytes.saturating_add(own_stack);
        for member in component {
            needs[member as usize] = all;
        }
    }
    for (i, f) in functions.iter_mut().enumerate() {
        if f.kernel.is_some() && !(f.function.calls.is_empty() && !f.function.dynamic_stack) {
            let source = &module.functions[f.function.source];
            let described = target_of(source).and_then(|target| describe(f, &needs[i], module, &target));
            described.map_err(|e| e.in_function(&f.function.name))?;
        }
    }
    Ok(())
}

/// Descriptor and metadata again, with what callees take.
fn describe(f: &mut FinalFunction, need: &Need, module: &Module, target: &Target) -> Result<()> {
    let Some(source) = module.functions.get(f.function.source) else {
        return Err(Diagnostic::defect("the function is not of this module"));
    };
    let spills = f.function.resources;
    f.function.resources =
        Resources { sgpr_spills: spills.sgpr_spills, vgpr_spills: spills.vgpr_spills, ..need.resources };
    f.function.lds.size_bytes = f.function.lds.size_bytes.max(need.lds_bytes);
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

/// Strongly connected components of a graph, each after all that it leads to. Source: R. Tarjan, 1972, with a stack of its own.
fn components(edges: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let mut number = vec![NEW; edges.len()];
    let mut low = vec![0u32; edges.len()];
    let mut open = vec![false; edges.len()];
    let mut stack: Vec<u32> = Vec::new();
    let mut out = Vec::new();
    let mut next = 0;
    for root in 0..edges.len() as u32 {
        if number[root as usize] != NEW {
            continue;
        }
        let mut walk: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some((node, at)) = walk.last_mut() {
            let n = *node as usize;
            if *at == 0 {
                number[n] = next;
                low[n] = next;
                next += 1;
                open[n] = true;
                stack.push(*node);
            }
            if let Some(&to) = edges[n].get(*at) {
                *at += 1;
                let t = to as usize;
                if number[t] == NEW {
                    walk.push((to, 0));
                } else if open[t] {
                    low[n] = low[n].min(number[t]);
                }
                continue;
            }
            let node = *node;
            walk.pop();
            if let Some(&(parent, _)) = walk.last() {
                low[parent as usize] = low[parent as usize].min(low[n]);
            }
            if low[n] == number[n] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    open[member as usize] = false;
                    component.push(member);
                    if member == node {
                        break;
                    }
                }
                out.push(component);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_after_what_they_lead_to() {
        // 0 -> 1 <-> 2 -> 3, 3 -> 3, 4 alone.
        let edges = vec![vec![1], vec![2], vec![1, 3], vec![3], vec![]];
        let mut found = components(&edges);
        found.iter_mut().for_each(|c| c.sort_unstable());
        assert_eq!(found, [vec![3], vec![1, 2], vec![0], vec![4]]);
    }
}
