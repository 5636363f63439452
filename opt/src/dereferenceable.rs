//! Loads of memory that is there whatever the program does get `DEREFERENCEABLE`: they may be made where control would not
//! come to them, so in front of loops and together with their neighbours.
//!
//! Such memory is behind parameters that promise it (`dereferenceable`, and `byref` and `byval`, of their type) and those that
//! are OpenCL's images and samplers, whose descriptors it holds, and in the module's own variables. An address leads there at a constant distance. Drivers of
//! graphics hand out addresses of 32 bits and put the other half, which an attribute of the function names, in front of them; that is followed.
//!
//! Sources: LLVM language reference, "Parameter Attributes"; OpenCL specification, `clSetKernelArg`: images and samplers are
//! objects; AMDGPU usage guide, "Address Spaces", "amdgpu-32bit-address-high-bits"; ISA manuals, "Image resource descriptor",
//! "Sampler descriptor". Cost: linear.

use mir::abi::kernarg;
use mir::ir::*;
use mir::target::{Os, Target};

/// Bytes of the descriptors of an image and of a sampler.
const IMAGE_BYTES: u64 = 32;
const SAMPLER_BYTES: u64 = 16;
/// Steps from an address to what it starts from.
const MAX_STEPS: usize = 8;
/// log2 of the alignment that accesses of global memory need at most.
const DWORD_LOG2: u8 = 2;

/// Marks loads of `func`, which is IR of `module` as it was read.
pub fn mark(func: &mut Function, module: &Module, target: &Target) {
    let high = func.short_address_high_bits().ok();
    for block in 0..func.layout.len() {
        let block = func.layout[block];
        for at in 0..func.blocks[block].insts.len() {
            mir::interrupt::checkpoint();
            let inst = func.blocks[block].insts[at];
            let data = &func.insts[inst];
            let InstKind::Load { ptr, mem } = data.kind else { continue };
            let bytes = module.types.store_bytes(data.ty);
            let Some((base, offset)) = origin(func, ptr, high).filter(|_| mem.is_simple()) else { continue };
            let Some((there, align)) = memory_behind(func, module, target, base) else { continue };
            let inside = u64::try_from(offset).is_ok_and(|offset| offset.saturating_add(bytes) <= there);
            let needed =
                if mem.space == AddrSpace::LOCAL { mem.align_log2 } else { mem.align_log2.min(DWORD_LOG2) };
            let aligned = align.min(offset.trailing_zeros().min(63) as u8) >= needed;
            if inside
                && aligned
                && let InstKind::Load { mem, .. } = &mut func.insts[inst].kind
            {
                mem.flags |= MemFlags::DEREFERENCEABLE;
            }
        }
    }
}

/// What an address is at a constant distance from, and the distance in bytes.
fn origin(func: &Function, ptr: Value, high: Option<u32>) -> Option<(Value, i64)> {
    let (mut at, mut distance) = (ptr, 0i64);
    for _ in 0..MAX_STEPS {
        let Some(inst) = func.def_inst(at) else { return Some((at, distance)) };
        match func.insts[inst].kind {
            InstKind::PtrAdd { base, index: None, offset, .. } => {
                distance = distance.checked_add(offset)?;
                at = base;
            }
            InstKind::Cast { op: CastOp::IntToPtr, arg } => at = short_address(func, arg, high?)?,
            _ => return None,
        }
    }
    None
}

/// The address of 32 bits of which `wide` is the whole: a vector of two, of which the other one is `high`.
fn short_address(func: &Function, wide: Value, high: u32) -> Option<Value> {
    let kind = |value| func.def_inst(value).map(|inst| &func.insts[inst].kind);
    let &InstKind::Cast { op: CastOp::BitCast, arg } = kind(wide)? else { return None };
    let &InstKind::InsertElement { vector, element, index } = kind(arg)? else { return None };
    let Const::Elements(halves) = func.as_const(vector)? else { return None };
    let [_, half] = halves[..] else { return None };
    let &InstKind::Cast { op: CastOp::PtrToInt, arg: value } = kind(element)? else { return None };
    let is_short = func.ty(value) == Type::Scalar(Scalar::Ptr(AddrSpace::CONSTANT_32BIT));
    (is_short && func.as_int(index) == Some(0) && func.as_int(half) == Some(high.into())).then_some(value)
}

/// Bytes that are there from `base` on, and the log2 of its alignment.
fn memory_behind(func: &Function, module: &Module, target: &Target, base: Value) -> Option<(u64, u8)> {
    match func.values[base].def {
        ValueDef::FuncParam(n) => {
            let param = func.params.get(n as usize)?;
            let base_ty = func.kernel.args.get(n as usize).map_or("", |info| info.base_ty.as_str());
            let descriptor = match func.is_kernel() && target.os == Os::AmdHsa {
                true if kernarg::is_image(base_ty) => IMAGE_BYTES,
                true if kernarg::is_sampler(base_ty) => SAMPLER_BYTES,
                _ => 0,
            };
            let align = if descriptor > 0 { DWORD_LOG2 } else { param.align_log2 };
            let whole = param.indirect.map_or(0, |indirect| module.types.store_bytes(indirect.ty));
            Some((param.dereferenceable_bytes.max(descriptor).max(whole), align))
        }
        ValueDef::Const(Const::Symbol(SymbolRef::Global(global), addend)) => {
            let data = &module.globals[global];
            let weak = data.linkage == Linkage::ExternalWeak;
            let left = data.size_bytes.checked_sub(u64::try_from(addend).ok()?)?;
            let align = data.align_log2.min(addend.trailing_zeros().min(63) as u8);
            (!weak && data.space != AddrSpace::REGION).then_some((left, align))
        }
        _ => None,
    }
}
