//! Generic pointers where the processor has no generic addresses (GFX6).
//!
//! There a generic pointer is one to global memory, and an access through it a MUBUF with a 64-bit address. A pointer to LDS or scratch that
//! becomes generic can be compared and stored, but nothing reads through it; so a module that makes such pointers may not have accesses
//! through generic ones. Those whose origin is known have become accesses of their own spaces by then. Cost: linear in the module.
//!
//! Source: AMDGPU usage guide, "Memory Spaces".

use mir::ir::{AddrSpace, CastOp, Function, InstKind, Module};
use mir::target::{Features, Target};
use mir::{Diagnostic, Result};

/// Refuses accesses through generic pointers beside casts from LDS or scratch, where functions cannot do both.
///
/// # Errors
/// `Unsupported`, naming both functions.
pub fn check(module: &Module, target_of: &dyn Fn(&Function) -> Result<Target>) -> Result<()> {
    let (mut access, mut cast) = (None, None);
    for function in module.functions.values().filter(|f| !f.is_declaration()) {
        let target = target_of(function)?;
        if target.has(Features::FLAT) {
            continue;
        }
        let insts = function.layout.iter().flat_map(|&block| &function.blocks[block].insts);
        for &inst in insts {
            let kind = &function.insts[inst].kind;
            if accessed_space(kind) == Some(AddrSpace::FLAT) {
                access.get_or_insert((function, target));
            }
            if makes_generic(function, kind) {
                cast.get_or_insert(function);
            }
        }
    }
    match (access, cast) {
        (Some((function, target)), Some(cast)) => Err(Diagnostic::unsupported(format!(
            "access through a generic pointer on {target}, where {} makes them of pointers to LDS or scratch",
            cast.name
        ))
        .in_function(&function.name)),
        _ => Ok(()),
    }
}

fn accessed_space(kind: &InstKind) -> Option<AddrSpace> {
    match kind {
        InstKind::Load { mem, .. }
        | InstKind::Store { mem, .. }
        | InstKind::AtomicRmw { mem, .. }
        | InstKind::CmpXchg { mem, .. } => Some(mem.space),
        _ => None,
    }
}

/// Whether `kind` makes a pointer to LDS or scratch a generic one.
fn makes_generic(function: &Function, kind: &InstKind) -> bool {
    match kind {
        &InstKind::Cast { op: CastOp::AddrSpaceCast, arg } => {
            matches!(function.ty(arg).addr_space(), Some(AddrSpace::LOCAL | AddrSpace::PRIVATE))
        }
        _ => false,
    }
}
