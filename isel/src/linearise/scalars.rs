//! SGPR values on the wave graph: parameters, pending masks, and values that lost their dominance.
//!
//! Each is a variable with one or more definitions, brought into SSA form by [`mir::analysis::ReachingSolver`]: blocks where
//! different values meet get a parameter. Cost: near linear in uses and new parameters; most SGPR values keep their
//! dominance, which one check a use shows.

use super::plan::Plan;
use cranelift_entity::EntityRef;
use mir::analysis::{Csr, Dominators, Graph, Order, Reaching, ReachingSolver, Solution};
use mir::isa::{MaskOp, Opcode};
use mir::machine::{
    Block, BlockData, Edge, Function, Inst, Operand, Reg, RegFile, Terminator, VReg, VRegData, VRegFlags,
};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The wave graph with an order; edges' arguments do not matter to it.
pub(super) struct Wave {
    graph: Csr,
    order: Order,
    dom: Dominators,
}

impl Wave {
    pub(super) fn new(f: &Function) -> Self {
        let graph = Csr::wave(f);
        let order = Order::reverse_post_order(&graph);
        let dom = Dominators::new(&graph, &order);
        Self { graph, order, dom }
    }

    /// Whether the wave can come to `block`.
    pub(super) fn contains(&self, block: u32) -> bool {
        self.order.contains(block)
    }

    pub(super) fn solver(&self) -> ReachingSolver<'_, Csr> {
        ReachingSolver::new(&self.graph, &self.order, &self.dom)
    }
}

/// A value of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Val {
    Reg(VReg),
    /// All bits zero.
    Zero,
    /// Nobody will look.
    Undefined,
}

/// SSA form of one variable.
pub(super) struct Variable<'a> {
    values: Solution<'a, Val>,
    params: Vec<(u32, VReg)>,
    undefined: Val,
}

impl Variable<'_> {
    fn value(&self, reaching: Reaching<Val>) -> Val {
        match reaching {
            Reaching::Value(value) => value,
            Reaching::Param(at) => match self.params.binary_search_by_key(&at, |p| p.0) {
                Ok(i) => Val::Reg(self.params[i].1),
                Err(_) => self.undefined,
            },
        }
    }

    /// The variable's value at the start of `block`, one of the uses given.
    pub(super) fn at_start(&self, block: u32) -> Val {
        self.value(self.values.at_start(block))
    }

    /// The variable's value at the end of `block`, which defines or uses it.
    pub(super) fn at_end(&self, block: u32) -> Val {
        self.value(self.values.at_end(block))
    }
}

/// Brings a variable into SSA form: adds parameters of the shape `template` to blocks and arguments to wave edges.
pub(super) fn construct<'a>(
    f: &mut Function,
    wave: &Wave,
    solver: &mut ReachingSolver<'a, Csr>,
    defs: impl IntoIterator<Item = (u32, Val)>,
    uses: impl IntoIterator<Item = u32>,
    undefined: Val,
    template: VRegData,
) -> Variable<'a> {
    let values = solver.solve(defs, uses, undefined);
    let mut params: Vec<(u32, VReg)> = values.params().map(|b| (b, VReg::from_u32(0))).collect();
    params.sort_unstable();
    params.iter_mut().for_each(|(_, reg)| *reg = f.vregs.push(template));
    let variable = Variable { values, params, undefined };
    for &(block, param) in &variable.params {
        f.blocks[Block::from_u32(block)].sparams.push(param);
        pass_args(f, wave, block, template, |pred| variable.at_end(pred));
    }
    variable
}

/// Appends an argument to every wave edge to `block`: what `value_at_end` says of each predecessor.
fn pass_args(
    f: &mut Function,
    wave: &Wave,
    block: u32,
    template: VRegData,
    value_at_end: impl Fn(u32) -> Val,
) {
    let mut last = None;
    for &pred in wave.graph.preds(block) {
        if last.replace(pred) == Some(pred) {
            continue;
        }
        let value = if wave.order.contains(pred) { value_at_end(pred) } else { Val::Undefined };
        let arg = in_register(f, pred, value, template);
        for edge in &mut f.blocks[Block::from_u32(pred)].wave_succs {
            if edge.block.as_u32() == block {
                edge.args.push(arg);
            }
        }
    }
}

/// `value` in a register; where it is none yet, one is set in the tail of `block`, without touching SCC.
pub(super) fn in_register(f: &mut Function, block: u32, value: Val, template: VRegData) -> VReg {
    if let Val::Reg(reg) = value {
        return reg;
    }
    let reg = f.vregs.push(VRegData { hint: None, ..template });
    let dst = Operand::vreg(reg, template.dwords);
    let inst = match value {
        Val::Zero if template.flags.contains(VRegFlags::LANE_MASK) => {
            Inst::new(MaskOp::Mov.opcode(f.wave), [dst, Operand::Imm(0)])
        }
        _ => Inst::new(Opcode::IMPLICIT_DEF, [dst]),
    };
    f.blocks[Block::from_u32(block)].insts.push(inst);
    reg
}

/// Passes the arguments of SGPR parameters, given along thread edges, along the wave edges.
pub(super) fn pass_params(f: &mut Function, plan: &Plan, wave: &Wave) {
    let selected: Vec<(u32, Vec<VReg>)> =
        plan.order.blocks().iter().map(|&b| (b, f.blocks[Block::from_u32(b)].sparams.clone())).collect();
    let mut solver = wave.solver();
    for (block, params) in selected {
        for (i, &param) in params.iter().enumerate() {
            let template = VRegData { hint: None, ..f.vregs[param] };
            let mut defs: Vec<(u32, Val)> = Vec::new();
            for &pred in plan.graph.preds(block).iter().filter(|&&p| plan.order.contains(p)) {
                let data = &f.blocks[Block::from_u32(pred)];
                let edge = data.thread_succs.iter().position(|e| e.block.as_u32() == block);
                if let Some(&arg) = edge.and_then(|e| data.thread_sargs.get(e)).and_then(|args| args.get(i))
                    && defs.last().is_none_or(|d| d.0 != pred)
                {
                    defs.push((pred, Val::Reg(arg)));
                }
            }
            if defs.iter().all(|d| d.0 != block) {
                defs.push((block, Val::Reg(param)));
            }
            // Parameters that the variable needs on the way go behind those of the selected code, whose arguments are
            // not complete yet; so the arguments of this one are inserted at its place.
            let defined: Vec<u32> = defs.iter().map(|d| d.0).collect();
            let uses = wave.graph.preds(block).iter().copied().filter(|p| !defined.contains(p));
            let variable = construct(f, wave, &mut solver, defs, uses, Val::Undefined, template);
            let mut last = None;
            for &pred in wave.graph.preds(block) {
                if last.replace(pred) == Some(pred) {
                    continue;
                }
                let arg = in_register(f, pred, variable.at_end(pred), template);
                for edge in &mut f.blocks[Block::from_u32(pred)].wave_succs {
                    if edge.block.as_u32() == block {
                        let place = i.min(edge.args.len());
                        edge.args.insert(place, arg);
                    }
                }
            }
        }
    }
}

/// Rewrites every SGPR use that its definition no longer dominates on the wave graph.
pub(super) fn repair(f: &mut Function, wave: &Wave) {
    let (defs, mut broken) = definitions(f);
    broken.retain(|&(reg, block)| {
        let def = defs[reg.index()];
        def != u32::MAX && def != block && wave.order.contains(block) && !wave.dom.dominates(def, block)
    });
    if broken.is_empty() {
        return;
    }
    broken.sort_unstable();
    broken.dedup();
    let entry = f.layout[0].as_u32();
    let mut solver = wave.solver();
    // Block, register, and what it becomes there.
    let mut replacements: Vec<(u32, VReg, VReg)> = Vec::with_capacity(broken.len());
    for uses in broken.chunk_by(|a, b| a.0 == b.0) {
        let reg = uses[0].0;
        let template = VRegData { hint: None, ..f.vregs[reg] };
        let def = [(defs[reg.index()], Val::Reg(reg))];
        let blocks = uses.iter().map(|u| u.1);
        let variable = construct(f, wave, &mut solver, def, blocks.clone(), Val::Undefined, template);
        let mut undefined = None;
        for block in blocks {
            let new = match variable.at_start(block) {
                Val::Reg(new) => new,
                value => *undefined.get_or_insert_with(|| in_register(f, entry, value, template)),
            };
            replacements.push((block, reg, new));
        }
    }
    replacements.sort_unstable();
    for uses in replacements.chunk_by(|a, b| a.0 == b.0) {
        replace(&mut f.blocks[Block::from_u32(uses[0].0)], |reg| {
            uses.binary_search_by_key(&reg, |u| u.1).ok().map(|i| uses[i].2)
        });
    }
}

/// Block that defines each register, `u32::MAX` for none; and the SGPRs that a block uses without having defined
/// them before, with the block, some of them several times.
fn definitions(f: &Function) -> (Vec<u32>, Vec<(VReg, u32)>) {
    let mut defs = vec![u32::MAX; f.vregs.len()];
    let mut used = Vec::new();
    let entry = f.layout[0].as_u32();
    for reg in f.entry.registers().into_iter().filter_map(|(_, _, reg)| reg) {
        defs[reg.index()] = entry;
    }
    for &block in &f.layout {
        let (data, number) = (&f.blocks[block], block.as_u32());
        for &param in data.vparams.iter().chain(&data.sparams) {
            defs[param.index()] = number;
        }
        let mut from_elsewhere = |defs: &[u32], reg: VReg| {
            if defs[reg.index()] != number && f.vregs[reg].file == RegFile::Sgpr {
                used.push((reg, number));
            }
        };
        for inst in &data.insts {
            for (is_def, reg) in inst.regs() {
                match reg.reg {
                    Reg::Virtual(reg) if is_def => defs[reg.index()] = number,
                    Reg::Virtual(reg) => from_elsewhere(&defs, reg),
                    Reg::Physical(_) => {}
                }
            }
        }
        data.wave_succs.iter().flat_map(|edge| &edge.args).for_each(|&arg| from_elsewhere(&defs, arg));
    }
    (defs, used)
}

/// Replaces the registers that a block's instructions and wave edges use by what `new` says.
fn replace(data: &mut BlockData, new: impl Fn(VReg) -> Option<VReg>) {
    for inst in &mut data.insts {
        for (_, operand) in inst.regs_mut().filter(|(is_def, _)| !is_def) {
            if let Reg::Virtual(reg) = operand.reg
                && let Some(new) = new(reg)
            {
                operand.reg = Reg::Virtual(new);
            }
        }
    }
    for arg in data.wave_succs.iter_mut().flat_map(|edge| &mut edge.args) {
        if let Some(new) = new(*arg) {
            *arg = new;
        }
    }
}

/// Puts a block on every critical wave edge that passes arguments: behind its source on a back edge, else before its
/// target.
pub(super) fn split_critical_wave_edges(f: &mut Function) {
    let mut preds = vec![0u32; f.blocks.len()];
    let mut place = vec![0u32; f.blocks.len()];
    for (i, &block) in f.layout.iter().enumerate() {
        place[block.index()] = i as u32;
        for edge in &f.blocks[block].wave_succs {
            preds[edge.block.index()] += 1;
        }
    }
    let (mut before, mut behind): (BTreeMap<Block, Vec<Block>>, BTreeMap<Block, Vec<Block>>) =
        Default::default();
    for i in 0..f.layout.len() {
        let block = f.layout[i];
        if f.blocks[block].wave_succs.len() < 2 {
            continue;
        }
        for index in 0..f.blocks[block].wave_succs.len() {
            let edge = &f.blocks[block].wave_succs[index];
            let to = edge.block;
            if edge.args.is_empty() || preds[to.index()] < 2 {
                continue;
            }
            let edge = edge.clone();
            let middle = f.blocks.push(BlockData {
                term: Terminator::Jump,
                wave_succs: [edge].into_iter().collect(),
                loop_depth: f.blocks[block].loop_depth.min(f.blocks[to].loop_depth),
                ..BlockData::default()
            });
            f.blocks[block].wave_succs[index] = Edge { block: middle, args: SmallVec::new() };
            if place[to.index()] <= place[block.index()] {
                behind.entry(block).or_default().push(middle);
            } else {
                before.entry(to).or_default().push(middle);
            }
        }
    }
    if before.is_empty() && behind.is_empty() {
        return;
    }
    let old = std::mem::take(&mut f.layout);
    for block in old {
        f.layout.extend(before.remove(&block).unwrap_or_default());
        f.layout.push(block);
        f.layout.extend(behind.remove(&block).unwrap_or_default());
    }
}
