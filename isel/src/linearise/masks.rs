//! Builds the wave graph of a plan and writes the EXEC code.
//!
//! Heads set EXEC for their block; tails first add lanes to pending masks (reading EXEC as the body had it), then save EXEC and
//! narrow it for a divergent branch. No tail of a uniform branch writes SCC: only a copy is put there.

use super::plan::{Kind, Plan, Step};
use super::scalars::{self, Val, Wave};
use crate::uses::count_uses;
use cranelift_entity::{EntityRef, SecondaryMap};
use mir::analysis::Graph;
use mir::isa::MaskOp;
use mir::machine::{
    Block, BlockData, Condition, Edge, Function, Inst, Operand, Reg, Terminator, VReg, VRegData,
};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Gate of each block, by block number.
pub(super) type Gates = Vec<Option<Block>>;

/// Writes wave edges, parameters, heads and tails into `f`. The gates and the wave graph.
pub(super) fn build(f: &mut Function, plan: &Plan) -> (Gates, Wave) {
    let conditions: Vec<Option<VReg>> = f
        .blocks
        .values()
        .map(|data| if let Terminator::Divergent(mask) = data.term { Some(mask) } else { None })
        .collect();
    let gates = wave_edges(f, plan);
    let wave = Wave::new(f);
    scalars::pass_params(f, plan, &wave);
    let inverted = invert(f, plan, &conditions);
    let mut masks = Masks {
        f,
        plan,
        gates: &gates,
        conditions: &conditions,
        inverted: &inverted,
        saved: BTreeMap::new(),
    };
    let pending = masks.pending(&wave);
    masks.choose_saves();
    masks.heads(&pending);
    masks.tails();
    (gates, wave)
}

/// Makes gates, the layout, and wave edges without arguments.
fn wave_edges(f: &mut Function, plan: &Plan) -> Gates {
    let mut gates: Gates = vec![None; f.blocks.len()];
    f.layout.clear();
    let mut all_steps = Vec::with_capacity(plan.order.blocks().len());
    for &block in plan.order.blocks() {
        all_steps.push(plan.steps(f, block));
    }
    for &block in plan.order.blocks() {
        let depth = plan.depth(block).min(255) as u8;
        if plan.gate(block).is_some() {
            let gate = f.blocks.push(BlockData { loop_depth: depth, ..BlockData::default() });
            gates[block as usize] = Some(gate);
            f.layout.push(gate);
        }
        f.layout.push(Block::from_u32(block));
        f.blocks[Block::from_u32(block)].loop_depth = depth;
    }
    let enter =
        |b: u32| Edge { block: gates[b as usize].unwrap_or(Block::from_u32(b)), args: SmallVec::new() };
    for (&block, steps) in plan.order.blocks().iter().zip(all_steps) {
        let data = &mut f.blocks[Block::from_u32(block)];
        match steps {
            [Some(Step::Always(a)), Some(Step::Always(b))] if a != b => {
                data.wave_succs = [enter(a), enter(b)].into_iter().collect();
            }
            [Some(Step::Always(next)), _] | [_, Some(Step::Always(next))] => {
                data.wave_succs = [enter(next)].into_iter().collect();
                data.term = Terminator::Jump;
            }
            [Some(Step::IfAny(first, second)), _] => {
                let backwards = plan.position(first) <= plan.position(block);
                let (condition, edges) = if backwards {
                    (Condition::Execnz, [enter(first), enter(second)])
                } else {
                    (Condition::Execz, [enter(second), enter(first)])
                };
                data.term = Terminator::Uniform(condition);
                data.wave_succs = edges.into_iter().collect();
            }
            _ if matches!(data.term, Terminator::EndProgram | Terminator::Return) => {}
            _ => data.term = Terminator::Unreachable,
        }
        if let (Some(gate), Some(skip)) = (gates[block as usize], plan.gate(block)) {
            let data = &mut f.blocks[gate];
            data.term = Terminator::Uniform(Condition::Execz);
            data.wave_succs = [enter(skip), Edge { block: Block::from_u32(block), args: SmallVec::new() }]
                .into_iter()
                .collect();
        }
    }
    gates
}

/// Inverts the comparisons whose masks say which lanes leave the side that the wave goes on with, and tells whose masks these are. A
/// comparison of those that stay narrows EXEC itself.
fn invert(f: &mut Function, plan: &Plan, conditions: &[Option<VReg>]) -> Vec<bool> {
    let mut inverted = vec![false; f.blocks.len()];
    let leaves = |block: u32| {
        let mask = conditions.get(block as usize).copied().flatten()?;
        let side = plan.narrowed_successor(block)?;
        let next = plan.graph.succs(block)[side];
        // What is empty goes where it leads to the join, and the other side is left.
        let on = |from: u32, to: u32| plan.position(to) > plan.position(from);
        let data = &f.blocks[Block::from_u32(next)];
        let goes =
            on(block, next)
                && data.insts.is_empty()
                && data.term == Terminator::Jump
                && plan.graph.succs(next).iter().all(|&behind| {
                    on(next, behind) && matches!(plan.kind[behind as usize], Kind::Restore(_))
                });
        ((side == 1) != goes).then_some(mask)
    };
    let blocks: Vec<(u32, VReg)> =
        plan.order.blocks().iter().filter_map(|&block| Some((block, leaves(block)?))).collect();
    if blocks.is_empty() {
        return inverted;
    }
    // Who asks for each mask besides branches, whose branch it is, and where it is made.
    let uses = count_uses(f, &f.layout);
    let mut branches: SecondaryMap<VReg, u32> = SecondaryMap::new();
    conditions.iter().flatten().for_each(|&mask| branches[mask] += 1);
    let mut made: SecondaryMap<VReg, Option<(Block, usize)>> = SecondaryMap::new();
    for &block in &f.layout {
        for (at, inst) in f.blocks[block].insts.iter().enumerate() {
            for (is_def, operand) in inst.regs() {
                if let (true, Reg::Virtual(reg)) = (is_def, operand.reg) {
                    made[reg] = Some((block, at));
                }
            }
        }
    }
    for (block, mask) in blocks {
        let alone = uses[mask] == 0 && branches[mask] == 1;
        let Some((home, at)) = made[mask].filter(|_| alone) else { continue };
        let inst = &mut f.blocks[home].insts[at];
        // A lane without one to read from compares nothing, and has a 0 whatever the relation is.
        let own = inst.mods.dpp().is_none() && inst.mods.dpp8().is_none();
        if let Some(inverse) = inst.op.inverse_comparison().filter(|_| own) {
            inst.op = inverse;
            inverted[block as usize] = true;
        }
    }
    inverted
}

struct Masks<'a> {
    f: &'a mut Function,
    plan: &'a Plan,
    gates: &'a Gates,
    /// Branch mask of each divergent block.
    conditions: &'a [Option<VReg>],
    /// Divergent blocks whose branch mask has been inverted: lanes that are in it go to successor 1.
    inverted: &'a [bool],
    /// Register that holds EXEC of a block, set in its tail.
    saved: BTreeMap<u32, VReg>,
}

impl Masks<'_> {
    fn template(&self) -> VRegData {
        VRegData::mask(self.f.wave)
    }

    fn exec(&self) -> Operand {
        Operand::exec(self.f.wave)
    }

    fn mask(&self, reg: VReg) -> Operand {
        Operand::mask(reg, self.f.wave)
    }

    fn inst<const N: usize>(&self, op: MaskOp, operands: [Operand; N]) -> Inst {
        Inst::new(op.opcode(self.f.wave), operands)
    }

    /// The block of the wave graph that sets EXEC for `block`.
    fn setter(&self, block: u32) -> Block {
        self.gates[block as usize].unwrap_or(Block::from_u32(block))
    }

    fn condition(&self, block: u32) -> Option<VReg> {
        self.conditions.get(block as usize).copied().flatten()
    }

    /// Whether the lanes in the branch mask of `block` go to successor `index`.
    fn goes_by_mask(&self, block: u32, index: usize) -> bool {
        (index == 0) != self.inverted[block as usize]
    }

    /// Collects the lanes of every pending block; the mask that each one's setter reads.
    fn pending(&mut self, wave: &Wave) -> BTreeMap<u32, VReg> {
        let mut result = BTreeMap::new();
        let mut solver = wave.solver();
        for &block in self.plan.order.blocks() {
            if self.plan.kind[block as usize] != Kind::Pending {
                continue;
            }
            let setter = self.setter(block).as_u32();
            let mut sources: Vec<(u32, VReg)> = Vec::new();
            for &pred in self.plan.graph.preds(block) {
                if self.plan.order.contains(pred)
                    && pred != setter
                    && sources.last().is_none_or(|s| s.0 != pred)
                {
                    sources.push((pred, self.f.new_lane_mask()));
                }
            }
            let defs = sources.iter().map(|&(p, reg)| (p, Val::Reg(reg))).chain([(setter, Val::Zero)]);
            let uses = sources.iter().map(|s| s.0).chain([setter]);
            let variable =
                scalars::construct(self.f, wave, &mut solver, defs, uses, Val::Zero, self.template());
            for &(source, to) in &sources {
                let index = self
                    .plan
                    .graph
                    .succs(source)
                    .iter()
                    .position(|&s| s == block)
                    .expect("lanes come along edges");
                self.add_lanes(source, index, variable.at_start(source), to);
            }
            let mask = variable.at_start(setter);
            let mask = scalars::in_register(self.f, self.f.layout[0].as_u32(), mask, self.template());
            result.insert(block, mask);
        }
        result
    }

    /// At the end of `block`: `to` = `old` plus the lanes that go to successor `index`.
    fn add_lanes(&mut self, block: u32, index: usize, old: Val, to: VReg) {
        let lanes = match self.condition(block) {
            None => self.exec(),
            Some(condition) => {
                let lanes = if matches!(old, Val::Reg(_)) { self.f.new_lane_mask() } else { to };
                let op = if self.goes_by_mask(block, index) { MaskOp::And } else { MaskOp::AndN2 };
                self.tail(block, self.inst(op, [self.mask(lanes), self.exec(), self.mask(condition)]));
                self.mask(lanes)
            }
        };
        match old {
            Val::Reg(old) => self.tail(block, self.inst(MaskOp::Or, [self.mask(to), self.mask(old), lanes])),
            _ if self.condition(block).is_none() => {
                self.tail(block, self.inst(MaskOp::Mov, [self.mask(to), lanes]));
            }
            _ => {}
        }
    }

    /// The block at whose end the EXEC of `block` is saved: earlier ones that have it in a register already serve.
    fn save_point(&self, mut block: u32) -> u32 {
        while let Kind::Restore(earlier) = self.plan.kind[block as usize] {
            block = earlier;
        }
        block
    }

    fn choose_saves(&mut self) {
        for &block in self.plan.order.blocks() {
            let from = match self.plan.kind[block as usize] {
                Kind::Restore(m) if !self.plan.idle[block as usize] => self.save_point(m),
                Kind::OtherSide(b, _) => self.save_point(b),
                _ => continue,
            };
            if !self.saved.contains_key(&from) {
                let reg = self.f.new_lane_mask();
                self.saved.insert(from, reg);
            }
        }
    }

    fn heads(&mut self, pending: &BTreeMap<u32, VReg>) {
        for &block in self.plan.order.blocks() {
            let head = match self.plan.kind[block as usize] {
                Kind::Restore(m) if !self.plan.idle[block as usize] => self
                    .saved
                    .get(&self.save_point(m))
                    .map(|&s| self.inst(MaskOp::Mov, [self.exec(), self.mask(s)])),
                Kind::OtherSide(b, index) => {
                    self.saved.get(&self.save_point(b)).zip(self.condition(b)).map(|(&s, condition)| {
                        let op = if self.goes_by_mask(b, index) { MaskOp::And } else { MaskOp::AndN2 };
                        self.inst(op, [self.exec(), self.mask(s), self.mask(condition)])
                    })
                }
                Kind::Pending => {
                    pending.get(&block).map(|&p| self.inst(MaskOp::Mov, [self.exec(), self.mask(p)]))
                }
                Kind::Direct | Kind::Restore(_) => None,
            };
            if let Some(head) = head {
                let data = &mut self.f.blocks[self.gates[block as usize].unwrap_or(Block::from_u32(block))];
                data.insts.insert(0, head);
                data.head_len = 1;
                data.tail_start += 1;
            }
        }
    }

    fn tails(&mut self) {
        for &block in self.plan.order.blocks() {
            let saved = self.saved.get(&block).copied();
            let Some(condition) = self.condition(block) else {
                if let Some(saved) = saved {
                    self.tail(block, self.inst(MaskOp::Mov, [self.mask(saved), self.exec()]));
                }
                continue;
            };
            // Two instructions, so that what is saved does not take the mask's register, which a comparison writes that narrows EXEC itself.
            if let Some(saved) = saved {
                self.tail(block, self.inst(MaskOp::Mov, [self.mask(saved), self.exec()]));
            }
            if let Some(side) = self.narrowed(block) {
                let op = if self.goes_by_mask(block, side) { MaskOp::And } else { MaskOp::AndN2 };
                self.tail(block, self.inst(op, [self.exec(), self.exec(), self.mask(condition)]));
            }
        }
    }

    fn narrowed(&self, block: u32) -> Option<usize> {
        self.plan.narrowed_successor(block)
    }

    fn tail(&mut self, block: u32, inst: Inst) {
        self.f.blocks[Block::from_u32(block)].insts.push(inst);
    }
}

/// Moves the code of gates that have one predecessor, which only jumps there, into its tail.
pub(super) fn fold_gates(f: &mut Function, gates: &Gates) {
    let mut preds: Vec<(u32, Option<Block>)> = vec![(0, None); f.blocks.len()];
    for &block in &f.layout {
        for edge in &f.blocks[block].wave_succs {
            let slot = &mut preds[edge.block.index()];
            *slot = (slot.0 + 1, Some(block));
        }
    }
    let mut folded = vec![false; f.blocks.len()];
    for &gate in gates.iter().flatten() {
        let (1, Some(pred)) = preds[gate.index()] else { continue };
        if f.blocks[pred].term != Terminator::Jump || !f.blocks[gate].sparams.is_empty() {
            continue;
        }
        let data = std::mem::take(&mut f.blocks[gate]);
        let into = &mut f.blocks[pred];
        into.insts.extend(data.insts);
        into.term = data.term;
        into.wave_succs = data.wave_succs;
        folded[gate.index()] = true;
    }
    f.layout.retain(|b| !folded[b.index()]);
}
