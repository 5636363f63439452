//! Block parameters that carry a value of all lanes of the wave.
//!
//! A VGPR parameter is passed along thread edges, by moves in the lanes of the block, so other lanes get nothing. Where a strict operation
//! needs them, the parameter is passed along wave edges instead, as scalars are, from and to copies that act in all lanes:
//!
//! ```text
//! on each edge:  c = copy argument    (all lanes)
//! target(p'):    p = copy p'          (all lanes)
//! ```
//!
//! `c` lives up to the edge and `p'` from there on, so nothing keeps allocation from giving them one register, and the edge needs no move.
//!
//! The wave must come from one predecessor with all lanes that are in the block, as it does where control flow is uniform and at headers of loops.
//! Where lanes meet that came different ways, the last one to be visited would take the place of the others' values.
//!
//! Cost: linear in edges and parameters.

use super::exec_regions::stops_marks;
use super::normalise;
use super::plan::{Kind, Plan};
use cranelift_entity::{EntityRef, SecondaryMap};
use mir::isa::Opcode;
use mir::machine::{Block, Function, Inst, Operand, Reg, VReg, VRegFlags};
use mir::{Diagnostic, Result};
use std::ops::Range;

/// Block parameters of selected code that carry a value in other lanes.
pub(super) struct WholeParams {
    /// Arguments of each parameter.
    args: SecondaryMap<VReg, Vec<VReg>>,
    whole: SecondaryMap<VReg, bool>,
    any: bool,
}

impl WholeParams {
    /// Among the parameters that `roots` are computed from: those that get, through whatever computation, what `set.inactive` or an
    /// instruction that `other_lanes` names has defined. `def` tells the instruction that defines a register.
    pub(super) fn find(
        f: &Function,
        roots: Vec<VReg>,
        def: impl Fn(VReg) -> Option<(Block, u32)>,
        other_lanes: impl Fn(VReg) -> bool,
    ) -> Self {
        let mut args: SecondaryMap<VReg, Vec<VReg>> = SecondaryMap::new();
        for edge in f.layout.iter().flat_map(|&block| &f.blocks[block].thread_succs) {
            for (&param, &arg) in f.blocks[edge.block].vparams.iter().zip(&edge.args) {
                args[param].push(arg);
            }
        }
        // Against the data flow, with a way back.
        let mut users: SecondaryMap<VReg, Vec<VReg>> = SecondaryMap::new();
        let mut seen: SecondaryMap<VReg, bool> = SecondaryMap::new();
        let mut sources = Vec::new();
        let mut open = roots;
        while let Some(reg) = open.pop() {
            if std::mem::replace(&mut seen[reg], true) {
                continue;
            }
            let mut reads = |read: VReg| {
                users[read].push(reg);
                open.push(read);
            };
            match def(reg) {
                None => args[reg].iter().for_each(|&arg| {
                    reads(arg);
                    sources.extend(other_lanes(arg).then_some(arg));
                }),
                Some((block, i)) => {
                    let inst = &f.blocks[block].insts[i as usize];
                    sources.extend((inst.op == Opcode::SET_INACTIVE).then_some(reg));
                    if stops_marks(inst) {
                        continue;
                    }
                    for (_, operand) in inst.regs().filter(|(is_def, _)| !is_def) {
                        if let Reg::Virtual(v) = operand.reg {
                            reads(v);
                        }
                    }
                }
            }
        }
        let mut reached: SecondaryMap<VReg, bool> = SecondaryMap::new();
        let mut whole: SecondaryMap<VReg, bool> = SecondaryMap::new();
        let mut any = false;
        while let Some(reg) = sources.pop() {
            if !std::mem::replace(&mut reached[reg], true) {
                sources.extend(&users[reg]);
                whole[reg] = !args[reg].is_empty();
                any |= whole[reg];
            }
        }
        Self { args, whole, any }
    }

    /// Whether `reg` is such a parameter.
    pub(super) fn contains(&self, reg: VReg) -> bool {
        self.whole[reg]
    }

    /// What comes to a parameter.
    pub(super) fn args(&self, param: VReg) -> &[VReg] {
        &self.args[param]
    }

    /// Passes by the wave what carries a value in other lanes. The copies made: instructions at the start of blocks.
    pub(super) fn pass_by_wave(self, f: &mut Function) -> Vec<(Block, Range<usize>)> {
        if !self.any {
            return Vec::new();
        }
        let whole = self.whole;
        let edges = edges_by_target(f);
        let mut copies = Vec::new();
        for block in f.layout.clone() {
            let params = f.blocks[block].vparams.clone();
            let concerned: Vec<usize> = (0..params.len()).filter(|&k| whole[params[k]]).collect();
            if concerned.is_empty() {
                continue;
            }
            let mut insts = Vec::new();
            for &k in &concerned {
                let carried = new_whole(f, params[k]);
                f.blocks[block].sparams.push(carried);
                insts.push(copy(f, params[k], carried));
            }
            copies.push((block, 0..insts.len()));
            f.blocks[block].vparams.retain(|&param| !whole[param]);
            f.blocks[block].insts.splice(0..0, insts);
            for &(source, index) in &edges[block] {
                let middle = normalise::split_thread_edge(f, source, index);
                let args = f.blocks[middle].thread_succs[0].args.clone();
                let mut insts = Vec::new();
                for &k in &concerned {
                    let carried = new_whole(f, args[k]);
                    insts.push(copy(f, carried, args[k]));
                    f.blocks[middle].thread_sargs[0].push(carried);
                }
                let data = &mut f.blocks[middle];
                let kept = args.iter().enumerate().filter(|(k, _)| !concerned.contains(k));
                data.thread_succs[0].args = kept.map(|(_, &arg)| arg).collect();
                copies.push((middle, 0..insts.len()));
                data.insts = insts;
            }
        }
        copies
    }
}

/// Thread edges that lead to each block, by source and number.
fn edges_by_target(f: &Function) -> SecondaryMap<Block, Vec<(Block, usize)>> {
    let mut edges: SecondaryMap<Block, Vec<(Block, usize)>> = SecondaryMap::new();
    for &source in &f.layout {
        for (index, edge) in f.blocks[source].thread_succs.iter().enumerate() {
            edges[edge.block].push((source, index));
        }
    }
    edges
}

/// A register like `like` that all lanes of the wave share.
fn new_whole(f: &mut Function, like: VReg) -> VReg {
    let data = f.vregs[like];
    let reg = f.new_vreg(data.file, data.dwords);
    f.vregs[reg].flags = data.flags | VRegFlags::WHOLE_WAVE;
    reg
}

fn copy(f: &Function, dst: VReg, src: VReg) -> Inst {
    let dwords = f.vregs[dst].dwords;
    Inst::new(Opcode::COPY, [Operand::vreg(dst, dwords), Operand::vreg(src, dwords)])
}

/// Refuses what [`WholeParams::pass_by_wave`] has made where lanes meet that came different ways.
///
/// # Errors
/// `Unsupported`, for such a parameter.
pub(super) fn check(f: &Function, plan: &Plan) -> Result<()> {
    for &block in plan.order.blocks() {
        let whole = |&param: &VReg| f.vregs[param].flags.contains(VRegFlags::WHOLE_WAVE);
        let meets = plan.kind[block as usize] != Kind::Direct;
        if meets && f.blocks[Block::new(block as usize)].sparams.iter().any(whole) {
            let message = "a whole-wave value that passes through a phi where lanes meet";
            return Err(Diagnostic::unsupported(message));
        }
    }
    Ok(())
}
