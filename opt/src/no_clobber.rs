//! Loads of memory that nothing in the kernel can have written before them get `NO_CLOBBER`, and accesses of memory behind a kernel's
//! arguments their [`AliasClass`]: later, pointers may be variables of loops.
//!
//! A uniform load with that promise goes through the scalar cache, into SGPRs, once for the whole wave. The scalar
//! cache does not see what vector stores write, so it has to hold for all waves of the dispatch. All of them run
//! this code: a store that a load may see stands on a path to the load, or in code of another wave that is
//! ordered before it by a fence, a barrier or an acquiring atomic, and these count as writing everything.
//!
//! What is only stored again stays a vector load, if it is more than a dword: in SGPRs each of its dwords would have to be moved to a VGPR.
//!
//! Sets of what may be written, by roots of addresses ([`super::memory`]), flow forwards once: in an order in
//! which loops are contiguous, what a loop writes reaches its header. Functions that are called do not know
//! what their callers wrote, and are left alone.
//!
//! Source of the idea: LLVM's AMDGPUAnnotateUniformValues, which asks MemorySSA. Cost: linear, but for a logarithm of
//! the blocks at each loop.

use super::memory::{Flow, Memory, is_constant};
use cranelift_entity::SecondaryMap;
use mir::analysis::Graph;
use mir::ir::*;
use mir::target::Target;

/// Marks loads of the kernel `func`, which is legal IR of `module`.
pub fn mark(func: &mut Function, module: &Module, target: &Target) {
    let is_noalias = |param: &Param| param.flags.contains(ParamFlags::NOALIAS);
    if !func.is_kernel()
        || !(func.params.iter().any(is_noalias)
            || !func.alias_sets.is_empty()
            || func.insts.values().any(|data| candidate(&data.kind).is_some()))
    {
        return;
    }
    let computed = computed(func);
    let memory = Memory::new(func, module, target);
    if memory.tells_classes(func) {
        classify(func, module, &memory);
    }
    let mut flow = Flow::new(func);
    if !flow.loops.is_reducible() {
        return;
    }
    flow.note_writes(func, module, &memory);
    // What may be written by the end of each block, by its number.
    let mut written = vec![0; func.blocks.len()];
    for &block in flow.order.blocks() {
        let before = flow.graph.preds(block).iter().fold(0, |set, &pred| set | written[pred as usize]);
        let mut set = before | flow.headed_by(block).map_or(0, |l| flow.written_in(l));
        for i in 0..func.blocks[Block::from_u32(block)].insts.len() {
            let inst = func.blocks[Block::from_u32(block)].insts[i];
            if let Some((ptr, mem)) = candidate(&func.insts[inst].kind)
                && func.insts[inst].result.is_some_and(|result| computed[result] || is_dword(func, result))
                && set >> memory.number(func, module, ptr, &mem) & 1 == 0
                && let InstKind::Load { mem, .. } = &mut func.insts[inst].kind
            {
                mem.flags |= MemFlags::NO_CLOBBER;
            }
            set |= memory.writes(func, module, inst);
        }
        written[block as usize] = set;
    }
}

/// Notes the alias classes of accesses.
fn classify(func: &mut Function, module: &Module, memory: &Memory) {
    for at in 0..func.layout.len() {
        let block = func.layout[at];
        for k in 0..func.blocks[block].insts.len() {
            mir::interrupt::checkpoint();
            let inst = func.blocks[block].insts[k];
            let class = match func.insts[inst].kind {
                InstKind::Load { ptr, mem } | InstKind::Store { ptr, mem, .. } if mem.is_simple() => {
                    memory.alias_class(func, module, ptr, &mem)
                }
                _ => continue,
            };
            if let InstKind::Load { mem, .. } | InstKind::Store { mem, .. } = &mut func.insts[inst].kind {
                mem.alias = class;
            }
        }
    }
}

/// Values with another use than to be stored, whole or in parts.
fn computed(func: &Function) -> SecondaryMap<Value, bool> {
    let mut computed: SecondaryMap<Value, bool> = SecondaryMap::new();
    // Users inside of a block come later, and those in other blocks count as they are.
    for &block in func.layout.iter().rev() {
        for &inst in func.blocks[block].insts.iter().rev() {
            mir::interrupt::checkpoint();
            let data = &func.insts[inst];
            match &data.kind {
                InstKind::Store { ptr, .. } => computed[*ptr] = true,
                InstKind::ExtractElement { .. }
                | InstKind::InsertElement { .. }
                | InstKind::Cast { op: CastOp::BitCast, .. }
                    if data.result.is_some_and(|result| !computed[result]) => {}
                kind => kind.for_each_value(|value| computed[value] = true),
            }
        }
    }
    computed
}

/// Whether `value` has 32 bits, which are moved at once.
fn is_dword(func: &Function, value: Value) -> bool {
    func.ty(value).bits() == Some(32)
}

/// A plain load of global memory without the promise.
fn candidate(kind: &InstKind) -> Option<(Value, MemAccess)> {
    match kind {
        InstKind::Load { ptr, mem }
            if mem.space == AddrSpace::GLOBAL && mem.is_simple() && !is_constant(mem) =>
        {
            Some((*ptr, *mem))
        }
        _ => None,
    }
}
