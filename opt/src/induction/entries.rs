//! One way into loops that make products of their counters.
//!
//! Where several edges lead from outside to the header of a loop, what is computed once for the loop has no place. They meet in a block in
//! front of it. Loops without products stay as they are: most are what unrolling has left over, whose few turns pay for no pointer.

use crate::memory::Flow;
use mir::analysis::{Graph, Loop};
use mir::ir::*;
use rustc_hash::FxHashMap;

/// Gives one way in to the loops of `func` that `wanted` names; whether any had several.
pub(super) fn join(func: &mut Function, flow: &Flow, wanted: impl Fn(Loop) -> bool) -> bool {
    let mut entries: FxHashMap<Block, Block> = FxHashMap::default();
    for l in flow.loops.iter().filter(|&l| wanted(l)) {
        let header = flow.loops[l].header;
        let outside = flow.graph.preds(header).iter().filter(|&&pred| !flow.loops.contains(l, pred));
        let outside: Vec<Block> = outside.map(|&pred| Block::from_u32(pred)).collect();
        let header = Block::from_u32(header);
        if outside.len() > 1 && multiplies_parameter(func, flow, l, header) {
            entries.insert(header, make_entry(func, header, &outside));
        }
    }
    if entries.is_empty() {
        return false;
    }
    let with_entry = |&block: &Block| entries.get(&block).copied().into_iter().chain([block]);
    let made = func.layout.len() - entries.len();
    func.layout = func.layout[..made].iter().flat_map(with_entry).collect();
    true
}

/// Whether the loop multiplies a number that follows from a parameter of its header.
fn multiplies_parameter(func: &Function, flow: &Flow, l: Loop, header: Block) -> bool {
    let is_parameter =
        |value: Value| matches!(func.values[value].def, ValueDef::BlockParam(block, _) if block == header);
    let follows = |value: Value| {
        let kind = func.def_inst(value).map(|inst| &func.insts[inst].kind);
        is_parameter(value) || matches!(kind, Some(InstKind::Binary { args, .. }) if is_parameter(args[0]))
    };
    let multiplies = |&inst: &Inst| {
        let data = &func.insts[inst];
        matches!(data.kind, InstKind::Binary { op: BinaryOp::Mul, args } if data.ty == Type::I32 && args.into_iter().any(follows))
    };
    flow.blocks_in(l).iter().any(|&block| func.blocks[Block::from_u32(block)].insts.iter().any(multiplies))
}

/// Makes the block that leads to `header` from all of `outside`, at the end of the layout.
fn make_entry(func: &mut Function, header: Block, outside: &[Block]) -> Block {
    let types: Vec<Type> = func.blocks[header].params.iter().map(|&param| func.ty(param)).collect();
    let entry = func.add_block();
    let args = types.into_iter().map(|ty| func.add_block_param(entry, ty)).collect();
    for &block in outside {
        let Some(last) = func.terminator(block) else { continue };
        for call in func.insts[last].kind.targets_mut() {
            if call.block == header {
                call.block = entry;
            }
        }
    }
    func.append(entry, InstKind::Jump { target: BlockCall { block: header, args } }, Type::Void);
    entry
}
