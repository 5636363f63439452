//! Where all edges into a block bring the same computation of the same values, the block does it itself.
//!
//! Arms that fall into each other (`case 3: a[2] = z; case 2: a[1] = y; case 1: a[0] = x`) each compute the address that the next one goes on
//! with, as front ends see one arm at a time. As a variable of the block it takes a register, a move along each edge and a block for the move; and whoever
//! uses it no longer sees what it is made of: an index that a mode of addressing would extend and scale.
//!
//! The operands are defined where all edges come from, so they are at hand in the block. What has no other use moves; what has is done twice
//! if it is a change of type or the distance of a pointer, which most users take as a part of themselves.
//!
//! Cost: linear in arguments.

use super::cfg::{Cfg, uses};
use super::params::Replaced;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use smallvec::SmallVec;

/// The arguments of an edge.
type Arguments = SmallVec<[Value; 4]>;

/// Joins arguments of edges in `func`, which is IR as it was read.
pub fn join(func: &mut Function) {
    let takes = |&block: &Block| !func.blocks[block].params.is_empty();
    if !func.layout.iter().any(takes) {
        return;
    }
    let order = Cfg::new(func).rpo;
    // What each edge into a block brings.
    let mut edges: SecondaryMap<Block, SmallVec<[Arguments; 4]>> = SecondaryMap::new();
    for &block in &order {
        let Some(last) = func.terminator(block) else { continue };
        for call in func.insts[last].kind.targets() {
            if !call.args.is_empty() {
                edges[call.block].push(call.args.iter().copied().collect());
            }
        }
    }
    let uses = uses(func);
    let mut replaced = Replaced::default();
    for &block in &order {
        let mut joined = Vec::new();
        for i in 0..func.blocks[block].params.len() {
            mir::interrupt::checkpoint();
            let Some((first, flags)) = same(func, &edges[block], i, &uses, &mut replaced) else { continue };
            let (kind, ty) = (resolved(func, first, &mut replaced), func.insts[first].ty);
            let inst = func.make_inst(kind, ty, flags);
            func.locs[inst] = func.locs[first];
            let Some(result) = func.insts[inst].result else { continue };
            joined.push(inst);
            replaced.set(func.blocks[block].params[i], result);
        }
        func.blocks[block].insts.splice(0..0, joined);
    }
    replaced.apply(func);
}

/// One of the instructions that compute argument `i` of all `edges`, if these do the same, and what all of them promise.
fn same(
    func: &Function,
    edges: &[Arguments],
    i: usize,
    uses: &SecondaryMap<Value, u32>,
    replaced: &mut Replaced,
) -> Option<(Inst, InstFlags)> {
    let mut found: Option<(Inst, InstKind, InstFlags)> = None;
    let mut several = false;
    for args in edges {
        let arg = replaced.resolve(*args.get(i)?);
        let inst = func.def_inst(arg)?;
        let data = &func.insts[inst];
        let is_part = match &data.kind {
            InstKind::PtrAdd { .. } => true,
            InstKind::Cast { op, .. } => !op.is_of_floats() && *op != CastOp::AddrSpaceCast,
            InstKind::Binary { op, .. } if is_simple(*op) => false,
            _ => return None,
        };
        if !is_part && uses[arg] > 1 {
            return None;
        }
        let kind = resolved(func, inst, replaced);
        match &mut found {
            None => found = Some((inst, kind, data.flags)),
            Some((first, known, flags)) => {
                if *known != kind || func.insts[*first].ty != data.ty {
                    return None;
                }
                *flags &= data.flags;
                several |= *first != inst;
            }
        }
    }
    let (first, _, flags) = found.filter(|_| several)?;
    Some((first, flags))
}

/// Whether `op` takes an instruction or two.
fn is_simple(op: BinaryOp) -> bool {
    !matches!(
        op,
        BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem | BinaryOp::FDiv | BinaryOp::FRem
    )
}

/// What `inst` does, with what stands for its operands.
fn resolved(func: &Function, inst: Inst, replaced: &mut Replaced) -> InstKind {
    let mut kind = func.insts[inst].kind.clone();
    kind.for_each_value_mut(|v| *v = replaced.resolve(*v));
    kind
}
