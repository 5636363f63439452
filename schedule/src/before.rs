//! Scheduling before allocation: latencies are hidden as far as registers cost nothing.

use crate::budget::{self, Options};
use crate::code::{Access, Code, Role};
use crate::graph::{Graph, MemoryOrder, Unit};
use crate::latency;
use crate::list::Scheduler;
use crate::live::{Dwords, LiveOut};
use crate::pressure::{Profile, Region};
use crate::units::{Run, Units};
use crate::verify;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use mir::Result;
use mir::isa::Unit as ExecutingUnit;
use mir::machine::{Block, BlockData, Function, Inst, Reg, RegFile, Stage, VReg};
use mir::target::Target;

/// Orders the instructions of each block of `f`, whose registers are virtual, so that latencies are hidden.
///
/// Occupancy stays what the order as it is would have.
///
/// # Errors
/// A defect where the result is not what it was made from, if [`Options::verify`] asks for the check.
pub fn schedule(f: &mut Function, target: &Target, options: &Options) -> Result<()> {
    debug_assert!(f.stage == Stage::Modelled);
    let late = |inst: &Inst| latency::waits_for(inst, target);
    if !f.layout.iter().any(|&block| f.blocks[block].insts.iter().any(late)) {
        return Ok(());
    }
    let code = Code::read(f, target);
    let live = LiveOut::compute(f, &code);
    let mut profile = Profile::new(f);
    let mut most = Dwords::default();
    for (place, &block) in f.layout.iter().enumerate() {
        profile.enter_block(live.dwords(block), live.near(block));
        let first = code.block(place);
        for n in (first..first + f.blocks[block].insts.len() as u32).rev() {
            profile.step(f, code.accesses(n));
        }
        most = most.max(profile.most);
    }
    let Some(budget) = budget::of(f, target, options, most) else { return Ok(()) };
    let mut pass = Pass {
        code: &code,
        target,
        budget,
        taken: most.vgprs,
        becomes: parameters(f),
        profile,
        graph: Graph::default(),
        memory: MemoryOrder::default(),
    };
    let (mut units, mut scheduler) = (Units::default(), Scheduler::new(target));
    let mut order = Vec::new();
    let mut regions: Vec<std::ops::Range<usize>> = Vec::new();
    for place in 0..f.layout.len() {
        let block = f.layout[place];
        let first = code.block(place);
        let data = &f.blocks[block];
        let has_late = |k: u32| late(&data.insts[k as usize]);
        if !(data.head_len..data.tail_start).any(has_late) {
            continue;
        }
        pass.profile.enter_block(live.dwords(block), live.near(block));
        for k in (data.tail_start..data.insts.len() as u32).rev() {
            pass.profile.step(f, code.accesses(first + k));
        }
        let runs = units.find(f, data, &code, first);
        split(runs, &mut regions);
        order.clear();
        order.extend(0..data.insts.len() as u32);
        for region in regions.iter().rev() {
            pass.region(f, data, first, &runs[region.clone()], &mut scheduler, &mut order);
        }
        if order.windows(2).any(|pair| pair[0] > pair[1]) {
            apply(f, block, &mut order, target, options.verify)?;
        }
    }
    Ok(())
}

/// Cuts a body into regions without walls; a wall is a region of its own.
fn split(runs: &[Run], regions: &mut Vec<std::ops::Range<usize>>) {
    regions.clear();
    let mut start = 0;
    for (i, run) in runs.iter().enumerate() {
        mir::interrupt::checkpoint();
        if run.wall {
            regions.push(start..i);
            regions.push(i..i + 1);
            start = i + 1;
        }
    }
    regions.push(start..runs.len());
    regions.retain(|region| !region.is_empty());
}

/// Puts the instructions of a block in `order`, of which nothing is left, and checks the result if asked.
pub(crate) fn apply(
    f: &mut Function,
    block: Block,
    order: &mut [u32],
    target: &Target,
    verify: bool,
) -> Result<()> {
    let before = verify.then(|| (f.blocks[block].insts.clone(), order.to_vec()));
    permute(&mut f.blocks[block].insts, order);
    match before {
        Some((old, order)) => verify::same(f, block, &old, &order, target),
        None => Ok(()),
    }
}

/// Puts instructions in `order`, of which nothing is left.
fn permute(insts: &mut [Inst], order: &mut [u32]) {
    for start in 0..order.len() {
        // Cycle by cycle: the place that was taken from is filled next.
        let mut to = start;
        loop {
            let from = std::mem::replace(&mut order[to], to as u32) as usize;
            if from == start || from == to {
                break;
            }
            insts.swap(to, from);
            to = from;
        }
    }
}

struct Pass<'a> {
    code: &'a Code,
    target: &'a Target,
    budget: Dwords,
    /// VGPRs that are taken anyway, as the code takes them somewhere.
    taken: u32,
    becomes: SecondaryMap<VReg, PackedOption<VReg>>,
    profile: Profile,
    graph: Graph,
    memory: MemoryOrder,
}

impl Pass<'_> {
    /// Walks over a region backwards, and writes its instructions in their new order to their place in `order`.
    fn region(
        &mut self,
        f: &Function,
        data: &BlockData,
        first: u32,
        runs: &[Run],
        scheduler: &mut Scheduler,
        order: &mut [u32],
    ) {
        let (begin, end) = (runs[0].start, runs[runs.len() - 1].end);
        let late = |run: &Run| (run.start..run.end).any(|k| self.code.inst(first + k).effects.late);
        let waits = |run: &Run| {
            (run.start..run.end).any(|k| latency::waits_for(&data.insts[k as usize], self.target))
        };
        if runs.len() < 3 || !runs.iter().any(waits) {
            for k in (begin..end).rev() {
                self.profile.step(f, self.code.accesses(first + k));
            }
            return;
        }
        self.graph.clear();
        for run in runs {
            let insts = &data.insts[run.start as usize..run.end as usize];
            let issue = insts.iter().map(|inst| latency::issue(inst, self.target)).sum();
            self.graph.add(Unit {
                start: run.start,
                end: run.end,
                issue,
                late: late(run),
                ..Unit::default()
            });
        }
        self.profile.region(f, self.code, first, self.graph.units());
        self.edges(f, data, first, runs);
        if !self.graph.finish() {
            return;
        }
        let mut region = Region {
            f,
            code: self.code,
            first,
            units: self.graph.units(),
            profile: &mut self.profile,
            budget: self.budget,
            taken: self.taken,
        };
        let most = usize::from(self.target.waits().max()[mir::target::Counter::Vm]).saturating_sub(1).max(1);
        let mut place = begin as usize;
        for &unit in scheduler.run(&self.graph, &mut region, most) {
            let unit = &self.graph.units()[unit as usize];
            for k in unit.start..unit.end {
                order[place] = k;
                place += 1;
            }
        }
    }

    fn edges(&mut self, f: &Function, data: &BlockData, first: u32, runs: &[Run]) {
        let Self { code, target, profile, graph, memory, becomes, .. } = self;
        memory.clear();
        for (u, run) in runs.iter().enumerate() {
            mir::interrupt::checkpoint();
            let u = u as u32;
            for k in run.start..run.end {
                let inst = &data.insts[k as usize];
                for &Access { reg, role } in code.accesses(first + k) {
                    if role == Role::Def {
                        if let Some(param) = becomes[reg].expand()
                            && inst.facts().memory.is_none()
                        {
                            // Where the old value of a variable of a loop ends in front of the new one, both share a register. What is
                            // loaded for the next iteration is early instead: a move costs less than the wait.
                            profile.all_uses(param, |user| {
                                if user < u {
                                    graph.order(user, u);
                                }
                            });
                        }
                        let cycles = latency::result(inst, target);
                        let unit = inst.facts().unit;
                        let scalar = f.vregs[reg].file == RegFile::Sgpr && unit == ExecutingUnit::Valu;
                        profile.all_uses(reg, |user| {
                            let hazard = match scalar {
                                true => latency::scalar_hazard(
                                    &data.insts[runs[user as usize].start as usize],
                                    target,
                                ),
                                false => 0,
                            };
                            graph.data(u, user, cycles.max(hazard));
                        });
                    } else if role == Role::Tied {
                        // Where the old value ends, others have read it before it is overwritten, or a copy would be needed.
                        profile.ended_uses(reg, |user| {
                            if user < u {
                                graph.order(user, u);
                            }
                        });
                    }
                }
                memory.access(u, &code.inst(first + k).effects, graph);
            }
        }
    }
}

/// For each register that is an argument of an edge, or a part of one, a parameter that it becomes.
fn parameters(f: &Function) -> SecondaryMap<VReg, PackedOption<VReg>> {
    let mut becomes: SecondaryMap<VReg, PackedOption<VReg>> = SecondaryMap::new();
    for &block in &f.layout {
        let data = &f.blocks[block];
        for (edges, of_wave) in [(&data.thread_succs, false), (&data.wave_succs, true)] {
            for edge in edges {
                let target = &f.blocks[edge.block];
                let params = if of_wave { &target.sparams } else { &target.vparams };
                for (&arg, &param) in edge.args.iter().zip(params) {
                    becomes[arg] = param.into();
                }
            }
        }
    }
    // What a tuple is put together from shares its register.
    for &block in &f.layout {
        for inst in f.blocks[block].insts.iter().rev().filter(|inst| inst.op.is_copy()) {
            let virtuals = |defs: bool| {
                inst.regs().filter_map(move |(is_def, operand)| match operand.reg {
                    Reg::Virtual(reg) if is_def == defs => Some(reg),
                    _ => None,
                })
            };
            let Some(param) = virtuals(true).find_map(|reg| becomes[reg].expand()) else { continue };
            for part in virtuals(false) {
                if becomes[part].is_none() {
                    becomes[part] = param.into();
                }
            }
        }
    }
    becomes
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::isa::Opcode;
    use mir::machine::Operand;

    #[test]
    fn permutations_are_followed() {
        for order in [vec![0, 1, 2], vec![2, 0, 1], vec![1, 0, 2], vec![3, 2, 1, 0, 4], vec![4, 0, 3, 1, 2]] {
            let inst = |n: u32| Inst::new(Opcode::S_NOP, [Operand::Imm(n.into())]);
            let mut insts: Vec<Inst> = (0..order.len() as u32).map(inst).collect();
            permute(&mut insts, &mut order.clone());
            assert_eq!(insts, order.iter().map(|&n| inst(n)).collect::<Vec<_>>());
        }
    }
}
