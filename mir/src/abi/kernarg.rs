//! The kernarg segment: where a kernel finds its arguments, explicit and hidden.
//!
//! Explicit arguments lie in order, each at the ABI alignment of its type (an argument passed as pointer to a copy: the
//! pointee's size, at the alignment that the parameter declares). Behind them, 8-aligned, come the arguments that the runtime
//! adds and `llvm.amdgcn.implicitarg.ptr` points to. Which ones exist depends on the code object version; the tables below
//! hold both generations of the block.
//!
//! The block is left out where the attribute `"amdgpu-no-implicitarg-ptr"` says that nothing looks at it. Inside the block, other attributes
//! rule out arguments that cost the runtime something (hostcall buffer, default queue, ...). clang's attributor pass adds them. The
//! compilers that wrote V3 had the pass in the back end: there, what no reachable load can touch is found here.
//!
//! The answer is the same before and after `implicitarg.ptr` is lowered to `kernarg.segment.ptr` plus an offset: reads behind
//! the explicit arguments count as well. Cost: linear in the code reachable from the kernel.
//!
//! Sources: AMDGPU usage guide, "Kernel Dispatch", "Code Object V3/V5 Metadata"; requirements of hidden arguments by size as
//! `llc` 16 and 22 print them.

use crate::ir::{
    AddrSpace, Callee, Const, Function, GlobalData, InstKind, Intrinsic, Module, Param, Scalar, SymbolRef,
    Type, Value, ValueDef,
};
use crate::machine::{KernargLayout, KernelArg};
use crate::target::{Os, Target};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashSet;

/// When a hidden argument is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Wherever the block is long enough.
    Always,
    /// The module has `printf` formats.
    Printf,
    /// Its bytes may be read and the attribute is absent.
    Used(&'static str),
    /// Like `Used`, but the printf buffer takes the slot if the module has formats.
    PrintfOr(&'static str),
    /// The processor has no aperture registers.
    NoApertures,
    /// The queue pointer is needed and not passed in registers.
    QueuePtr,
    /// Dynamic LDS is used.
    DynamicLds,
}

/// A row of the table of hidden arguments.
struct Hidden {
    offset: u32,
    size: u32,
    kind: &'static str,
    presence: Presence,
}

const fn hidden(offset: u32, size: u32, kind: &'static str, presence: Presence) -> Hidden {
    Hidden { offset, size, kind, presence }
}

/// Code objects V2 to V4: a prefix of these 8-byte slots, as long as `"amdgpu-implicitarg-num-bytes"` says.
#[rustfmt::skip]
static HIDDEN_V2: &[Hidden] = &[
    hidden(0,  8, "hidden_global_offset_x",    Presence::Always),
    hidden(8,  8, "hidden_global_offset_y",    Presence::Always),
    hidden(16, 8, "hidden_global_offset_z",    Presence::Always),
    hidden(24, 8, "hidden_hostcall_buffer",    Presence::PrintfOr("amdgpu-no-hostcall-ptr")),
    hidden(32, 8, "hidden_default_queue",      Presence::Used("amdgpu-no-default-queue")),
    hidden(40, 8, "hidden_completion_action",  Presence::Used("amdgpu-no-completion-action")),
    hidden(48, 8, "hidden_multigrid_sync_arg", Presence::Used("amdgpu-no-multigrid-sync-arg")),
];

/// Code objects V5 and V6: fields of a 256-byte block.
#[rustfmt::skip]
static HIDDEN_V5: &[Hidden] = &[
    hidden(0,   4, "hidden_block_count_x",      Presence::Always),
    hidden(4,   4, "hidden_block_count_y",      Presence::Always),
    hidden(8,   4, "hidden_block_count_z",      Presence::Always),
    hidden(12,  2, "hidden_group_size_x",       Presence::Always),
    hidden(14,  2, "hidden_group_size_y",       Presence::Always),
    hidden(16,  2, "hidden_group_size_z",       Presence::Always),
    hidden(18,  2, "hidden_remainder_x",        Presence::Always),
    hidden(20,  2, "hidden_remainder_y",        Presence::Always),
    hidden(22,  2, "hidden_remainder_z",        Presence::Always),
    hidden(40,  8, "hidden_global_offset_x",    Presence::Always),
    hidden(48,  8, "hidden_global_offset_y",    Presence::Always),
    hidden(56,  8, "hidden_global_offset_z",    Presence::Always),
    hidden(64,  2, "hidden_grid_dims",          Presence::Always),
    hidden(72,  8, "hidden_printf_buffer",      Presence::Printf),
    hidden(80,  8, "hidden_hostcall_buffer",    Presence::Used("amdgpu-no-hostcall-ptr")),
    hidden(88,  8, "hidden_multigrid_sync_arg", Presence::Used("amdgpu-no-multigrid-sync-arg")),
    hidden(96,  8, "hidden_heap_v1",            Presence::Used("amdgpu-no-heap-ptr")),
    hidden(104, 8, "hidden_default_queue",      Presence::Used("amdgpu-no-default-queue")),
    hidden(112, 8, "hidden_completion_action",  Presence::Used("amdgpu-no-completion-action")),
    hidden(120, 4, "hidden_dynamic_lds_size",   Presence::DynamicLds),
    hidden(192, 4, "hidden_private_base",       Presence::NoApertures),
    hidden(196, 4, "hidden_shared_base",        Presence::NoApertures),
    hidden(200, 8, "hidden_queue_ptr",          Presence::QueuePtr),
];

/// Whether `version` passes the hidden arguments in the 256-byte block of V5.
fn has_v5_block(version: u8) -> bool {
    version >= 5
}

/// Whether the queue and the high halves of generic addresses in LDS and scratch are among the hidden arguments, at the offsets of
/// [`PRIVATE_BASE`], [`SHARED_BASE`] and [`QUEUE_PTR`].
pub fn has_hidden_apertures(function: &Function, target: &Target) -> bool {
    target.os == Os::AmdHsa
        && has_v5_block(target.code_object_version)
        && function.attribute("amdgpu-no-implicitarg-ptr").is_none()
}

/// Where the three sizes of a work-group, of 16 bits each, stand among the hidden arguments (`hidden_group_size_x`), if they do.
pub fn group_size_offset(target: &Target) -> Option<u32> {
    (target.os == Os::AmdHsa && has_v5_block(target.code_object_version)).then_some(12)
}

/// Offset of `hidden_private_base` in the block of V5.
pub const PRIVATE_BASE: u32 = 192;
/// Offset of `hidden_shared_base` in the block of V5.
pub const SHARED_BASE: u32 = 196;
/// Offset of `hidden_queue_ptr` in the block of V5.
pub const QUEUE_PTR: u32 = 200;

/// Where each parameter of `function` stands in its kernarg segment, in bytes, and how long it is.
pub fn param_places(
    module: &Module,
    function: &Function,
    target: &Target,
) -> impl Iterator<Item = std::ops::Range<u32>> {
    let mut end = u64::from(header_bytes(target));
    let header = end;
    function.params.iter().map(move |param| {
        let (size, align) = param_size_align(module, function, param);
        let start = header + (end - header).next_multiple_of(align);
        end = start + size;
        start as u32..end as u32
    })
}

/// Bytes of the kernarg segment of `function` if it looks at what stands behind its parameters.
pub fn segment_bytes(module: &Module, function: &Function, target: &Target) -> u32 {
    let header = header_bytes(target);
    let end = param_places(module, function, target).last().map_or(header, |place| place.end);
    implicit_offset(end - header, target) + header + implicit_bytes(function, target)
}

/// Where the implicit arguments start behind `explicit` bytes of others.
fn implicit_offset(explicit: u32, target: &Target) -> u32 {
    explicit.next_multiple_of(if target.os == Os::AmdHsa { 8 } else { 4 })
}

/// The layout of `function`'s kernarg segment.
pub fn layout(module: &Module, function: &Function, target: &Target) -> KernargLayout {
    let mut out = explicit_layout(module, function, target);
    let implicit_bytes = implicit_bytes(function, target);
    let used = match implicit_bytes {
        0 => ImplicitUse::None,
        _ if target.os == Os::AmdHsa && target.code_object_version >= 4 => ImplicitUse::Any,
        _ => implicit_use(module, function, out.implicit_offset),
    };
    if used == ImplicitUse::None {
        out.size_bytes = out.size_bytes.next_multiple_of(4);
        return out;
    }
    out.align_bytes = out.align_bytes.max(implicit_offset(1, target));
    out.size_bytes = (out.implicit_offset + implicit_bytes).next_multiple_of(4);
    if target.os == Os::AmdHsa {
        hidden_args(module, function, target, implicit_bytes, &used, &mut out);
    }
    out
}

/// The layout of the explicit arguments alone, which end the segment, and where implicit ones would start.
pub fn explicit_layout(module: &Module, function: &Function, target: &Target) -> KernargLayout {
    let mut out = KernargLayout { align_bytes: 4, ..Default::default() };
    let header = header_bytes(target);
    let mut end = header;
    for (index, (param, place)) in
        function.params.iter().zip(param_places(module, function, target)).enumerate()
    {
        let (_, align) = param_size_align(module, function, param);
        end = place.end;
        out.align_bytes = out.align_bytes.max(align as u32);
        out.args.push(explicit_arg(function, index, param, place.start, place.end - place.start));
    }
    out.implicit_offset = header + implicit_offset(end - header, target);
    out.size_bytes = end;
    out
}

/// Bytes in front of the explicit arguments. Without an operating system they hold the numbers of work-groups, of work-items and
/// the size of a work-group, three dwords each, as Mesa's first driver for these GPUs passed them.
///
/// Source: what llc 22 makes of kernels for `amdgcn--`; `llvm.r600.read.*` read these dwords.
pub fn header_bytes(target: &Target) -> u32 {
    if target.os == Os::Unknown { 36 } else { 0 }
}

/// Bytes of the block if there is one. Source: AMDGPU usage guide, `"amdgpu-implicitarg-num-bytes"`; the defaults are LLVM's.
fn implicit_bytes(function: &Function, target: &Target) -> u32 {
    if function.attribute("amdgpu-no-implicitarg-ptr").is_some() {
        return 0;
    }
    if target.os == Os::Mesa3d {
        return 16;
    }
    match function.attribute("amdgpu-implicitarg-num-bytes").and_then(|s| s.trim().parse().ok()) {
        Some(bytes) => bytes,
        None if target.os != Os::AmdHsa => 0,
        None if has_v5_block(target.code_object_version) => 256,
        None => 56,
    }
}

fn hidden_args(
    module: &Module,
    function: &Function,
    target: &Target,
    implicit_bytes: u32,
    used: &ImplicitUse,
    out: &mut KernargLayout,
) {
    let v5 = has_v5_block(target.code_object_version);
    let printf = !module.printf_formats.is_empty();
    for row in if v5 { HIDDEN_V5 } else { HIDDEN_V2 } {
        if row.offset + row.size > implicit_bytes {
            break;
        }
        let wanted = |attr| function.attribute(attr).is_none() && used.touches(row.offset, row.size);
        let kind = match row.presence {
            Presence::Always => Some(row.kind),
            Presence::PrintfOr(_) if printf => Some("hidden_printf_buffer"),
            Presence::Printf => printf.then_some(row.kind),
            Presence::Used(attr) | Presence::PrintfOr(attr) => wanted(attr).then_some(row.kind),
            Presence::NoApertures => {
                let apertures = target.has(crate::target::Features::APERTURE_REGS);
                (!apertures && used.touches(row.offset, row.size)).then_some(row.kind)
            }
            Presence::QueuePtr => wanted("amdgpu-no-queue-ptr").then_some(row.kind),
            Presence::DynamicLds => uses_dynamic_lds(module, function).then_some(row.kind),
        };
        // The fixed slots of V2 to V4 stay in the list when unused; V5 names present arguments only.
        let Some(value_kind) = kind.or((!v5).then_some("hidden_none")) else { continue };
        out.args.push(KernelArg {
            param: None,
            value_kind,
            offset_bytes: out.implicit_offset + row.offset,
            size_bytes: row.size,
            pointee_align: 0,
            space: None,
        });
    }
}

/// Whether the code reachable from the kernel `function` by direct calls refers to an LDS variable without a size of its own, or the runtime
/// places LDS for one of its parameters.
fn uses_dynamic_lds(module: &Module, function: &Function) -> bool {
    let is_pointer = |param: &Param| function.ty(param.value) == Type::ptr(AddrSpace::LOCAL);
    if function.params.iter().any(is_pointer) {
        return true;
    }
    let is_dynamic = |variable: &GlobalData| variable.space == AddrSpace::LOCAL && variable.size_bytes == 0;
    if !module.globals.values().any(is_dynamic) {
        return false;
    }
    let mut seen = FxHashSet::default();
    let mut work = vec![function];
    while let Some(current) = work.pop() {
        for value in current.values.values() {
            if let ValueDef::Const(Const::Symbol(SymbolRef::Global(global), _)) = value.def
                && is_dynamic(&module.globals[global])
            {
                return true;
            }
        }
        for &inst in current.layout.iter().flat_map(|&block| &current.blocks[block].insts) {
            if let InstKind::Call { callee: Callee::Func(func), .. } = current.insts[inst].kind
                && seen.insert(func)
            {
                work.push(&module.functions[func]);
            }
        }
    }
    false
}

/// Size and alignment of a parameter in the segment.
pub(super) fn param_size_align(module: &Module, function: &Function, param: &Param) -> (u64, u64) {
    let ty = param.indirect.map_or_else(|| function.ty(param.value), |indirect| indirect.ty);
    let declared = 1u64 << param.align_log2.min(31);
    let align = match param.indirect {
        Some(_) if declared > 1 => declared,
        _ => module.types.abi_align(ty).max(1),
    };
    (module.types.alloc_bytes(ty), align)
}

fn explicit_arg(function: &Function, index: usize, param: &Param, offset: u32, size: u32) -> KernelArg {
    let ty = function.ty(param.value);
    let space = match (param.indirect, ty) {
        // A pointer with its resource is no address that a runtime hands over, but so many bytes.
        (None, Type::Scalar(Scalar::Ptr(space))) if space.pointer_bits() <= 64 => Some(space),
        _ => None,
    };
    let info = function.kernel.args.get(index);
    let value_kind = value_kind(
        space,
        info.map_or("", |info| info.qualifiers.as_str()),
        info.map_or("", |info| info.base_ty.as_str()),
    );
    let pointee_align = if space == Some(AddrSpace::LOCAL) { 1 << param.align_log2.min(31) } else { 0 };
    KernelArg {
        param: Some(index as u32),
        value_kind,
        offset_bytes: offset,
        size_bytes: size,
        pointee_align,
        space,
    }
}

/// Whether OpenCL's type, without typedefs, is one of images: the argument is the address of a descriptor.
pub fn is_image(base_ty: &str) -> bool {
    base_ty.starts_with("image") && base_ty.ends_with("_t")
}

/// Whether OpenCL's type, without typedefs, is that of samplers: the argument is the address of a descriptor.
pub fn is_sampler(base_ty: &str) -> bool {
    base_ty == "sampler_t"
}

/// Metadata `value_kind` of an explicit argument: OpenCL's type name decides before the IR type does.
fn value_kind(space: Option<AddrSpace>, qualifiers: &str, base_ty: &str) -> &'static str {
    if qualifiers.split_whitespace().any(|word| word == "pipe") {
        return "pipe";
    }
    match base_ty {
        "queue_t" => return "queue",
        _ if is_sampler(base_ty) => return "sampler",
        _ if is_image(base_ty) => return "image",
        _ => {}
    }
    match space {
        Some(AddrSpace::LOCAL) => "dynamic_shared_pointer",
        Some(_) => "global_buffer",
        None => "by_value",
    }
}

/// Kinds of arguments that are in no table: explicit ones, slots that hold nothing, and what takes the place of another.
const OTHER_KINDS: [&str; 9] = [
    "by_value",
    "global_buffer",
    "dynamic_shared_pointer",
    "image",
    "sampler",
    "pipe",
    "queue",
    "hidden_none",
    "hidden_printf_buffer",
];

/// The [`KernelArg::value_kind`] that reads `name`.
pub(crate) fn value_kind_named(name: &str) -> Option<&'static str> {
    let hidden = HIDDEN_V2.iter().chain(HIDDEN_V5).map(|row| row.kind);
    hidden.chain(OTHER_KINDS).find(|kind| *kind == name)
}

/// Which bytes behind `implicitarg.ptr` the code may read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ImplicitUse {
    /// Nothing.
    None,
    /// Loads of these `(offset, bytes)` only.
    Known(Vec<(i64, u64)>),
    /// Anything.
    Any,
}

impl ImplicitUse {
    fn touches(&self, offset: u32, size: u32) -> bool {
        let (start, end) = (i64::from(offset), i64::from(offset + size));
        match self {
            Self::None => false,
            Self::Any => true,
            Self::Known(loads) => loads.iter().any(|&(o, n)| o < end && o.saturating_add_unsigned(n) > start),
        }
    }
}

/// A pointer that leads to the block.
struct Root {
    value: Value,
    /// Byte offset from the start of the block; negative inside the explicit arguments.
    offset: i64,
}

/// What the code reachable from `function` by direct calls reads of the block, which starts at `implicit_offset` of the segment.
fn implicit_use(module: &Module, function: &Function, implicit_offset: u32) -> ImplicitUse {
    let mut loads = Vec::new();
    let mut seen = FxHashSet::default();
    let mut work = vec![function];
    while let Some(current) = work.pop() {
        let mut roots = Vec::new();
        for &block in &current.layout {
            for &inst in &current.blocks[block].insts {
                let data = &current.insts[inst];
                match &data.kind {
                    InstKind::Intrinsic { intrinsic: Intrinsic::ImplicitargPtr, .. } => {
                        roots.extend(data.result.map(|value| Root { value, offset: 0 }));
                    }
                    InstKind::Intrinsic { intrinsic: Intrinsic::KernargSegmentPtr, .. } => {
                        let offset = -i64::from(implicit_offset);
                        roots.extend(data.result.map(|value| Root { value, offset }));
                    }
                    InstKind::Call { callee: Callee::Func(func), .. } => {
                        let callee = &module.functions[*func];
                        if !callee.is_exact() {
                            return ImplicitUse::Any;
                        }
                        if seen.insert(*func) {
                            work.push(callee);
                        }
                    }
                    InstKind::Call { .. } => return ImplicitUse::Any,
                    _ => {}
                }
            }
        }
        if !roots.is_empty() && !trace_loads(module, current, roots, &mut loads) {
            return ImplicitUse::Any;
        }
    }
    if loads.is_empty() { ImplicitUse::None } else { ImplicitUse::Known(loads) }
}

/// Follows `roots` through constant offsets to loads of the block; false where a pointer into the block gets away. Pointers to
/// explicit arguments may: they stay inside their argument. A variable index may lead anywhere: its constant part says nothing, since
/// `(i - 2) * 4 + 16` is `i * 4 + 8`.
fn trace_loads(module: &Module, function: &Function, roots: Vec<Root>, loads: &mut Vec<(i64, u64)>) -> bool {
    let mut offsets: SecondaryMap<Value, Option<i64>> = SecondaryMap::with_capacity(function.values.len());
    offsets.resize(function.values.len());
    for Root { value, offset } in roots {
        offsets[value] = Some(offset);
    }
    // Uses stand behind what they use in nearly all code; where they do not, some more rounds find them.
    let known = loads.len();
    for _ in 0..MAX_ROUNDS {
        loads.truncate(known);
        match trace_round(module, function, &mut offsets, loads) {
            Traced::Escapes => return false,
            Traced::All => return true,
            Traced::More => {}
        }
    }
    false
}

/// Most walks through a function for the pointers that lead to the block.
const MAX_ROUNDS: usize = 8;

/// What a walk through a function found.
enum Traced {
    /// All loads.
    All,
    /// A pointer that was found too late for its uses.
    More,
    /// A pointer that gets away.
    Escapes,
}

fn trace_round(
    module: &Module,
    function: &Function,
    offsets: &mut SecondaryMap<Value, Option<i64>>,
    loads: &mut Vec<(i64, u64)>,
) -> Traced {
    let mut passed: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(function.values.len());
    passed.resize(function.values.len());
    let mut late = false;
    for &inst in function.layout.iter().flat_map(|&block| &function.blocks[block].insts) {
        let data = &function.insts[inst];
        // Of several, the one that is furthest behind the arguments.
        let mut used = None;
        data.kind.for_each_value(|value| {
            passed[value] = true;
            used = used.max(offsets[value]);
        });
        let Some(offset) = used else { continue };
        match (&data.kind, data.result) {
            (InstKind::Load { .. }, _) => {
                let bytes = module.types.store_bytes(data.ty);
                if offset.saturating_add_unsigned(bytes) > 0 {
                    loads.push((offset, bytes));
                }
            }
            (InstKind::PtrAdd { base, index: None, offset: add, .. }, Some(result))
                if offsets[*base].is_some() =>
            {
                late |= passed[result] && offsets[result].is_none();
                offsets[result] = Some(offset.saturating_add(*add));
            }
            (InstKind::PtrAdd { index: Some(_), .. }, _) => return Traced::Escapes,
            _ if offset < 0 => {}
            _ => return Traced::Escapes,
        }
    }
    if late { Traced::More } else { Traced::All }
}

#[cfg(test)]
mod tests;
