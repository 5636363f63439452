//! Alignments of LDS and of the stack that are known from where variables lie.
//!
//! LDS takes dwords and more at once only where they are aligned, and programs say no more than the type of one element. Variables of a kernel have their
//! places from this compiler: large ones are put where the widest access can reach ([`align_variables`]), and accesses at a multiple of something
//! from there learn of it ([`raise`]).
//!
//! Scratch takes no more than a byte at a time where a dword's place is not known to be aligned, and legalisation takes such accesses apart. So what lies in
//! stack objects at multiples of something, counters of loops among them, learns of it before ([`raise_on_stack`]).
//!
//! Source of the alignments: LLVM's `AMDGPULowerModuleLDSPass`, `amdgpu-super-align-lds-globals`; for recurrences, `llvm::computeKnownBits`. Cost: linear.

use crate::bits::{low_zeros, low_zeros_given};
use cranelift_entity::SecondaryMap;
use mir::abi::lds::is_linked;
use mir::ir::*;
use mir::target::Target;

/// log2 of the widest access.
const WIDEST_LOG2: u8 = 4;
/// Steps from an address to what it starts from.
const MAX_STEPS: usize = 8;
/// Sweeps in which what parameters of blocks are multiples of must have settled.
const MAX_SWEEPS: usize = 8;
/// log2 of the widest access to scratch that aligned places make one.
const STACK_LOG2: u8 = 2;

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
            let known = known_log2(func, module, ptr, &|index| low_zeros(func, index));
            if let InstKind::Load { mem, .. } | InstKind::Store { mem, .. } = &mut func.insts[inst].kind {
                mem.align_log2 = mem.align_log2.max(known);
            }
        }
    }
}

/// Raises the alignments of accesses of `func`, IR as read, to stack objects.
pub fn raise_on_stack(func: &mut Function, module: &Module) {
    let mut unaligned = Vec::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            let (ptr, mem, ty) = match data.kind {
                InstKind::Load { ptr, mem } => (ptr, mem, data.ty),
                InstKind::Store { ptr, value, mem } => (ptr, mem, func.ty(value)),
                _ => continue,
            };
            // Of a single byte nothing is to be known.
            let apart =
                mem.align_log2 < STACK_LOG2 && ty.bits().is_none_or(|bits| bits > 8 << mem.align_log2);
            if mem.space == AddrSpace::PRIVATE && apart {
                unaligned.push((inst, ptr));
            }
        }
    }
    if unaligned.is_empty() {
        return;
    }
    align_objects(func);
    let params = zeros_of_params(func);
    for (inst, ptr) in unaligned {
        mir::interrupt::checkpoint();
        let zeros = |index| low_zeros_given(func, index, &|value| u32::from(params[value]));
        let known = known_log2(func, module, ptr, &zeros).min(STACK_LOG2);
        if let InstKind::Load { mem, .. } | InstKind::Store { mem, .. } = &mut func.insts[inst].kind {
            mem.align_log2 = mem.align_log2.max(known);
        }
    }
}

/// Aligns stack objects of whole dwords. Each takes at most three bytes more, where one of odd size lies in front of it.
fn align_objects(func: &mut Function) {
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            if let InstKind::Alloca { size_bytes, count: None, align_log2 } = &mut func.insts[inst].kind
                && *size_bytes > 0
                && *size_bytes % (1 << STACK_LOG2) == 0
            {
                *align_log2 = STACK_LOG2.max(*align_log2);
            }
        }
    }
}

/// How many low bits of each block's parameters are zeros: as many as of all that is passed, assuming so of the parameters themselves until something else
/// is seen.
fn zeros_of_params(func: &Function) -> SecondaryMap<Value, u8> {
    let mut zeros: SecondaryMap<Value, u8> = SecondaryMap::new();
    let entry = func.entry();
    for &block in func.layout.iter().filter(|&&block| block != entry) {
        for &param in &func.blocks[block].params {
            let is_int = matches!(func.ty(param), Type::Scalar(Scalar::Int(_)));
            zeros[param] = if is_int { STACK_LOG2 } else { 0 };
        }
    }
    for _ in 0..MAX_SWEEPS {
        let mut settled = true;
        for &block in &func.layout {
            let Some(last) = func.terminator(block) else { continue };
            for call in func.insts[last].kind.targets() {
                for (&arg, &param) in call.args.iter().zip(&func.blocks[call.block].params) {
                    if zeros[param] > 0 {
                        let passed = low_zeros_given(func, arg, &|value| u32::from(zeros[value]));
                        let fewer = passed < u32::from(zeros[param]);
                        if fewer {
                            zeros[param] = passed as u8;
                        }
                        settled &= !fewer;
                    }
                }
            }
        }
        if settled {
            return zeros;
        }
    }
    SecondaryMap::new()
}

/// log2 of what `ptr` is known to be a multiple of, where an index is one of two to the power of its `zeros`.
fn known_log2(func: &Function, module: &Module, ptr: Value, zeros: &dyn Fn(Value) -> u32) -> u8 {
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
        if let InstKind::Alloca { align_log2, .. } = func.insts[inst].kind {
            return known.min(u32::from(align_log2)) as u8;
        }
        let InstKind::PtrAdd { base, index, scale, offset } = func.insts[inst].kind else { break };
        known = known.min(offset.trailing_zeros());
        if let Some(index) = index {
            known = known.min(scale.trailing_zeros().saturating_add(zeros(index)));
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
