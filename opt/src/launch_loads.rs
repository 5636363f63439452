//! What the launch of a kernel gives is loaded first, and descriptors behind it.
//!
//! Sizes and offsets of the grid stand in the dispatch packet and behind the arguments, at constant places of memory that is there and that nobody writes.
//! Programs read them where they need them: behind a barrier, in a branch, again and again. In the entry block they are loaded once, together with
//! the arguments, and nobody waits for them later.
//!
//! The same holds for what is in scalar memory at an address that comes from the launch, if it may be loaded always ([`super::dereferenceable`]):
//! descriptors of images, samplers and buffers, which programs read before each access, in branches and loops.
//!
//! Source: AMDGPU usage guide, "Kernel Dispatch" and "Implicit kernel arguments"; HSA runtime specification, "Architected Queuing Language packets".
//! Cost: linear.

use super::gvn::is_pure;
use super::memory::{is_of_wave, never_changes};
use mir::abi::kernarg;
use mir::analysis::{Csr, Dominators, Graph, Order};
use mir::ir::*;
use mir::target::Target;
use smallvec::SmallVec;

/// Dwords that move: each is an SGPR that lives longer.
const MAX_DWORDS: u64 = 12;
/// The same of descriptors: four images, or eight buffers.
const MAX_DESCRIPTOR_DWORDS: u64 = 32;
/// Bytes of a dispatch packet.
const PACKET_BYTES: u64 = 64;
/// Steps from an address to what it starts from.
const MAX_STEPS: usize = 4;

/// Moves the loads of `func`, which is legal IR, into its entry block if a wave starts there.
pub fn hoist(func: &mut Function, module: &Module, target: &Target) {
    if func.call_conv.is_callable() || func.layout.len() < 2 {
        return;
    }
    hoist_launch(func, module, target);
    hoist_descriptors(func, module);
}

/// Moves loads of descriptors.
fn hoist_descriptors(func: &mut Function, module: &Module) {
    let entry = func.entry();
    // The instructions that an address or a descriptor takes, operands first.
    let mut moved: Vec<Inst> = Vec::new();
    let mut is_there = cranelift_entity::EntitySet::with_capacity(func.insts.len());
    for &inst in &func.blocks[entry].insts {
        is_there.insert(inst);
    }
    let mut known = rustc_hash::FxHashSet::default();
    let mut dwords = 0;
    let mut likely = None;
    for &block in func.layout.iter().skip(1) {
        for &inst in &func.blocks[block].insts {
            mir::interrupt::checkpoint();
            let data = &func.insts[inst];
            let InstKind::Load { ptr, mem } = data.kind else { continue };
            let bytes = module.types.store_bytes(data.ty);
            if mem.space != AddrSpace::CONSTANT
                || !may_be_first(data)
                || !is_of_wave(func, data)
                || bytes > 32
            {
                continue;
            }
            if !likely.get_or_insert_with(|| main_path(func)).contains(block) {
                continue;
            }
            let mut needs: SmallVec<[Inst; 8]> = SmallVec::new();
            if !needed(func, inst, &is_there, &mut needs) {
                continue;
            }
            let place = place(func, ptr);
            let taken = if known.contains(&place) { 0 } else { bytes.div_ceil(4) };
            if dwords + taken > MAX_DESCRIPTOR_DWORDS {
                continue;
            }
            dwords += taken;
            known.insert(place);
            for inst in needs {
                is_there.insert(inst);
                moved.push(inst);
            }
        }
    }
    if moved.is_empty() {
        return;
    }
    for &block in func.layout.iter().skip(1) {
        func.blocks[block].insts.retain(|&inst| !is_there.contains(inst));
    }
    let insts = &mut func.blocks[entry].insts;
    let end = insts.len().saturating_sub(1);
    insts.splice(end..end, moved);
}

/// Blocks that most waves come to: all must, but for what ends early and for what goes round a loop not at all.
fn main_path(func: &Function) -> cranelift_entity::EntitySet<Block> {
    let graph = Csr::of_ir(func);
    let back = graph.reversed(|node| graph.succs(node).is_empty());
    let after = Dominators::new(&back, &Order::reverse_post_order(&back));
    let ends = |node: u32| {
        let only = |node: u32| func.blocks[Block::from_u32(node)].insts.len() == 1;
        let last = |node: u32| only(node) && graph.succs(node).is_empty();
        last(node) || only(node) && matches!(graph.succs(node), &[next] if last(next))
    };
    let mut path = cranelift_entity::EntitySet::with_capacity(func.blocks.len());
    let mut at = Some(func.entry());
    while let Some(block) = at
        && path.insert(block)
    {
        let node = block.as_u32();
        let mut goes_on = graph.succs(node).iter().copied().filter(|&next| !ends(next));
        let next = match (goes_on.next(), goes_on.next()) {
            (Some(next), None) => Some(next),
            (None, _) => graph.succs(node).first().copied(),
            _ => after.idom(node),
        };
        at = next.filter(|&node| (node as usize) < func.blocks.len()).map(Block::from_u32);
    }
    path
}

/// Whether what `data` does may always be done.
fn may_be_first(data: &InstData) -> bool {
    match &data.kind {
        InstKind::Load { mem, .. } => {
            mem.is_simple() && never_changes(mem) && mem.flags.contains(MemFlags::DEREFERENCEABLE)
        }
        _ => is_pure(data),
    }
}

/// Appends `inst`, behind those that it needs and that are not there, if all of them may always be executed. Its result comes
/// from the launch in few steps.
fn needed(
    func: &Function,
    inst: Inst,
    is_there: &cranelift_entity::EntitySet<Inst>,
    needs: &mut SmallVec<[Inst; 8]>,
) -> bool {
    if is_there.contains(inst) || needs.contains(&inst) {
        return true;
    }
    let mut all = may_be_first(&func.insts[inst]);
    func.insts[inst].kind.for_each_value(|v| {
        all = all && func.def_inst(v).is_none_or(|inst| needed(func, inst, is_there, needs));
    });
    needs.push(inst);
    all
}

/// What an address is at a constant distance from, and the distance in bytes.
pub(super) fn place(func: &Function, ptr: Value) -> (Value, i64) {
    let (mut at, mut distance) = (ptr, 0i64);
    for _ in 0..MAX_STEPS {
        let Some(inst) = func.def_inst(at) else { break };
        let InstKind::PtrAdd { base, index: None, offset, .. } = func.insts[inst].kind else { break };
        distance = distance.wrapping_add(offset);
        at = base;
    }
    (at, distance)
}

/// Moves loads of what the launch gives.
fn hoist_launch(func: &mut Function, module: &Module, target: &Target) {
    let reads = |intrinsic| matches!(intrinsic, Intrinsic::DispatchPtr | Intrinsic::KernargSegmentPtr);
    let any =
        |data: &InstData| matches!(data.kind, InstKind::Intrinsic { intrinsic, .. } if reads(intrinsic));
    if !func.is_kernel() || !func.insts.values().any(any) {
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
