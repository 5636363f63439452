//! Alignments of LDS that are known from where variables lie.
//!
//! LDS takes dwords and more at once only where they are aligned, and programs say no more than the type of one element. Variables of a kernel have their
//! places from this compiler: large ones are put where the widest access can reach ([`align_variables`]), and accesses at a multiple of something
//! from there learn of it ([`raise`]).
//!
//! Source of the alignments: LLVM's `AMDGPULowerModuleLDSPass`, `amdgpu-super-align-lds-globals`. Cost: linear.

use crate::bits::low_zeros;
use mir::abi::lds::is_linked;
use mir::ir::*;
use mir::target::Target;

/// log2 of the widest access.
const WIDEST_LOG2: u8 = 4;
/// Steps from an address to what it starts from.
const MAX_STEPS: usize = 8;

/// Aligns the variables in LDS of `module` for the widest access that fits into them, unless more LDS would be wanted than there is.
pub fn align_variables(module: &mut Module, target: &Target) {
    let wanted = |global: &GlobalData| {
        let fits = global.size_bytes.checked_ilog2().unwrap_or(0) as u8;
        let more = u8::from(fits < WIDEST_LOG2 && !global.size_bytes.is_power_of_two());
        global.align_log2.max((fits + more).min(WIDEST_LOG2))
    };
    let is_own = |global: &GlobalData| {
        global.space == AddrSpace::LOCAL && global.size_bytes > 0 && !is_linked(global, target.os)
    };
    let all = module.globals.values().filter(|global| is_own(global));
    let bytes: u64 = all
        .map(|global| global.size_bytes.div_ceil(1 << wanted(global)) << wanted(global))
        .fold(0, u64::saturating_add);
    if bytes > u64::from(target.limits().lds_bytes) {
        return;
    }
    for global in module.globals.values_mut().filter(|global| is_own(global)) {
        global.align_log2 = wanted(global);
    }
}

/// Raises the alignments of accesses of `func` to LDS.
pub fn raise(func: &mut Function, module: &Module) {
    for block in 0..func.layout.len() {
        let block = func.layout[block];
        for at in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[at];
            let (InstKind::Load { ptr, mem } | InstKind::Store { ptr, mem, .. }) = func.insts[inst].kind
            else {
                continue;
            };
            if mem.space != AddrSpace::LOCAL || mem.align_log2 >= WIDEST_LOG2 {
                continue;
            }
            mir::interrupt::checkpoint();
            let known = known_log2(func, module, ptr);
            if let InstKind::Load { mem, .. } | InstKind::Store { mem, .. } = &mut func.insts[inst].kind {
                mem.align_log2 = mem.align_log2.max(known);
            }
        }
    }
}

/// log2 of what `ptr` is known to be a multiple of.
fn known_log2(func: &Function, module: &Module, ptr: Value) -> u8 {
    let (mut at, mut known) = (ptr, u32::from(WIDEST_LOG2));
    for _ in 0..MAX_STEPS {
        if known == 0 {
            break;
        }
        if let ValueDef::Const(Const::Symbol(SymbolRef::Global(global), addend)) = func.values[at].def {
            let of_variable = u32::from(module.globals[global].align_log2);
            return known.min(of_variable).min(addend.trailing_zeros()) as u8;
        }
        let Some(inst) = func.def_inst(at) else { break };
        let InstKind::PtrAdd { base, index, scale, offset } = func.insts[inst].kind else { break };
        known = known.min(offset.trailing_zeros());
        if let Some(index) = index {
            known = known.min(scale.trailing_zeros().saturating_add(low_zeros(func, index)));
        }
        at = base;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(sizes: &[u64]) -> Module {
        let text: String = sizes
            .iter()
            .enumerate()
            .map(|(i, size)| format!("global @v{i} internal addrspace(3) size {size} align 1 init \"\"\n"))
            .collect();
        mir::ir::parse_module(&text, "test").expect("it is well-formed")
    }

    fn aligned(sizes: &[u64]) -> Vec<u8> {
        let mut module = module(sizes);
        let processor = Target::processor_by_name("gfx900").expect("it is known");
        align_variables(&mut module, &Target::new(processor));
        module.globals.values().map(|global| global.align_log2).collect()
    }

    #[test]
    fn variables_are_aligned_for_what_fits() {
        assert_eq!(aligned(&[1, 2, 3, 4, 6, 8, 12, 512]), [0, 1, 2, 2, 3, 3, 4, 4]);
        // Too much with gaps between them.
        assert_eq!(aligned(&[65528, 6, 2]), [0, 0, 0]);
    }
}
