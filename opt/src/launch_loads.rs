//! What the launch of a kernel gives is loaded first.
//!
//! Sizes and offsets of the grid stand in the dispatch packet and behind the arguments, at constant places of memory that is there and that nobody writes.
//! Programs read them where they need them: behind a barrier, in a branch, again and again. In the entry block they are loaded once, together with
//! the arguments, and nobody waits for them later.
//!
//! Source: AMDGPU usage guide, "Kernel Dispatch" and "Implicit kernel arguments"; HSA runtime specification, "Architected Queuing Language packets".
//! Cost: linear.

use mir::abi::kernarg;
use mir::ir::*;
use mir::target::Target;
use smallvec::SmallVec;

/// Dwords that move: each is an SGPR that lives longer.
const MAX_DWORDS: u64 = 12;
/// Bytes of a dispatch packet.
const PACKET_BYTES: u64 = 64;
/// Steps from an address to what it starts from.
const MAX_STEPS: usize = 4;

/// Moves the loads of the kernel `func`, which is legal IR, into its entry block.
pub fn hoist(func: &mut Function, module: &Module, target: &Target) {
    let reads = |intrinsic| matches!(intrinsic, Intrinsic::DispatchPtr | Intrinsic::KernargSegmentPtr);
    let any =
        |data: &InstData| matches!(data.kind, InstKind::Intrinsic { intrinsic, .. } if reads(intrinsic));
    if !func.is_kernel() || func.layout.len() < 2 || !func.insts.values().any(any) {
        return;
    }
    let entry = func.entry();
    let arguments = u64::from(kernarg::segment_bytes(module, func, target));
    let mut moved: Vec<Inst> = Vec::new();
    let mut is_moved = cranelift_entity::EntitySet::with_capacity(func.insts.len());
    let mut dwords = 0;
    for &block in func.layout.iter().skip(1) {
        for &inst in &func.blocks[block].insts {
            mir::interrupt::checkpoint();
            let InstKind::Load { ptr, mem } = func.insts[inst].kind else { continue };
            let bytes = module.types.store_bytes(func.insts[inst].ty);
            let known = mem.is_simple() && mem.space == AddrSpace::CONSTANT && bytes <= 16;
            let Some((chain, offset)) = known.then(|| origin(func, ptr)).flatten() else { continue };
            let room = match func.insts[chain[chain.len() - 1]].kind {
                InstKind::Intrinsic { intrinsic: Intrinsic::DispatchPtr, .. } => PACKET_BYTES,
                InstKind::Intrinsic { intrinsic: Intrinsic::KernargSegmentPtr, .. } => arguments,
                _ => continue,
            };
            let inside = u64::try_from(offset).is_ok_and(|offset| offset.saturating_add(bytes) <= room);
            if !inside || dwords + bytes.div_ceil(4) > MAX_DWORDS {
                continue;
            }
            dwords += bytes.div_ceil(4);
            for &inst in chain.iter().rev().chain([&inst]) {
                if is_moved.insert(inst) {
                    moved.push(inst);
                }
            }
        }
    }
    if moved.is_empty() {
        return;
    }
    // What the addresses start from may stand in the entry block already.
    let there: Vec<Inst> = func.blocks[entry].insts.clone();
    let mut stays = cranelift_entity::EntitySet::with_capacity(func.insts.len());
    there.iter().for_each(|&inst| {
        stays.insert(inst);
    });
    moved.retain(|&inst| !stays.contains(inst));
    for &inst in &moved {
        if let InstKind::Load { mem, .. } = &mut func.insts[inst].kind {
            mem.flags |= MemFlags::INVARIANT | MemFlags::DEREFERENCEABLE;
        }
    }
    for &block in func.layout.iter().skip(1) {
        func.blocks[block].insts.retain(|&inst| !is_moved.contains(inst));
    }
    let insts = &mut func.blocks[entry].insts;
    let end = insts.len().saturating_sub(1);
    insts.splice(end..end, moved);
}

/// The instructions that make an address at a constant distance from where it starts, the latter last, and the distance in bytes.
fn origin(func: &Function, ptr: Value) -> Option<(SmallVec<[Inst; 4]>, i64)> {
    let (mut chain, mut at, mut distance) = (SmallVec::new(), ptr, 0i64);
    for _ in 0..MAX_STEPS {
        let inst = func.def_inst(at)?;
        chain.push(inst);
        match func.insts[inst].kind {
            InstKind::PtrAdd { base, index: None, offset, .. } => {
                distance = distance.checked_add(offset)?;
                at = base;
            }
            InstKind::Intrinsic { .. } => return Some((chain, distance)),
            _ => return None,
        }
    }
    None
}
