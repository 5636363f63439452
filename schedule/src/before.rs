//! Scheduling before allocation: latencies are hidden as far as registers cost nothing.

use crate::budget::{self, Options};
use crate::code::Code;
use crate::latency;
use crate::list::Scheduler;
use crate::live::{Dwords, LiveOut};
use crate::pressure::{Profile, Region};
use crate::regions::Regions;
use crate::relief;
use crate::units::{Run, Units};
use crate::verify;
use mir::Result;
use mir::isa::Unit;
use mir::machine::{Block, BlockData, Function, Inst, Stage};
use mir::target::Target;

/// An order in which more waves fit is taken if a wave takes a fifth longer at most by the estimate, which says too little of what other waves do meanwhile: of
/// 31 kernels of twelve projects that this decides (gfx900 and gfx1030), twelve are slower, by 0.1 to 5 %, and nineteen are faster by up to 24; of 58 shaders
/// one is slower, by 9 %. Eight more, seven of them CLBlast's products of matrices, take between a fourth and a third longer by it, and are slower by
/// 16 to 33 % then.
const SLACK: u64 = 5;

/// A wave is given up where each of the others takes a sixth longer with it, and two where each takes a fourth longer. 30 kernels of llama.cpp (`mul_mat_vec_f`,
/// gfx900) take 0.84 to 1.03 of the time then, 0.91 in the mean. Where the estimate gains less, eleven of eighteen kernels of four projects are slower, by up to a
/// tenth.
const WORTH_WAVES: [u64; 2] = [6, 4];

/// Orders the instructions of each block of `f`, whose registers are virtual, so that latencies are hidden.
///
/// Occupancy stays what the order as it is would have, becomes more where an order that takes fewer registers is worth that, or less where loads that have no
/// registers otherwise are.
///
/// # Errors
/// A defect where the result is not what it was made from, if [`Options::verify`] asks for the check.
pub fn schedule(f: &mut Function, target: &Target, options: &Options) -> Result<()> {
    debug_assert!(f.stage == Stage::Modelled);
    let code = Code::read(f, target);
    let live = LiveOut::compute(f, &code);
    let mut by_place = Vec::with_capacity(f.layout.len());
    let most = most_alive(f, &code, &live, |_, most| by_place.push(most));
    let mut relief = relief::Search::new(f, target, options, &code, &live, most, by_place);
    let Some((mut found, relief)) = relief.as_mut().and_then(|relief| Some((relief.find()?, relief))) else {
        let plan = best(f, target, options, &code, &live, most);
        return plan.apply(f, target, options);
    };
    let own = best(f, target, options, &code, &live, most);
    loop {
        let (orders, less) = found;
        let mut relieved = f.clone();
        for (block, mut order) in orders {
            apply(&mut relieved, block, &mut order, target, options.verify)?;
        }
        let code = Code::read(&relieved, target);
        let plan = best(&relieved, target, options, &code, &live, less);
        // What takes scalar registers instead has to pay at once. Without a time it spills.
        let slack = |own: u64| if less.sgprs > most.sgprs { 0 } else { own / SLACK };
        if own.time.is_none_or(|own| plan.time.is_some_and(|time| time <= own + slack(own))) {
            plan.apply(&mut relieved, target, options)?;
            *f = relieved;
            return Ok(());
        }
        // Not so many waves more, then.
        match relief.find_near(less) {
            Some(next) => found = next,
            None => break,
        }
    }
    own.apply(f, target, options)
}

/// New orders of some blocks.
struct Plan {
    orders: Vec<(Block, Vec<u32>)>,
    /// How long a wave takes then, in 256ths of cycles, if all blocks are executed as often as their depth in loops says and other waves have the vector unit
    /// while it does without; nothing where registers do not suffice as it is.
    time: Option<u64>,
    /// With more registers memory might have been asked earlier for something.
    refused: bool,
}

impl Plan {
    fn apply(self, f: &mut Function, target: &Target, options: &Options) -> Result<()> {
        for (block, mut order) in self.orders {
            apply(f, block, &mut order, target, options.verify)?;
        }
        Ok(())
    }
}

/// Orders of blocks of which `most` dwords are alive at a time. Registers that cost waves are taken where memory is asked for that much earlier.
fn best(f: &Function, target: &Target, options: &Options, code: &Code, live: &LiveOut, most: Dwords) -> Plan {
    let own = plan(f, target, options, code, live, most, 0);
    let Some(time) = own.time.filter(|_| own.refused) else { return own };
    for (fewer, worth) in (1..).zip(WORTH_WAVES) {
        let wider = plan(f, target, options, code, live, most, fewer);
        if wider.time.is_some_and(|less| less + less / worth <= time) {
            return wider;
        }
        if !wider.refused {
            break;
        }
    }
    own
}

/// Orders of blocks of which `most` dwords are alive at a time, with so many waves `fewer`.
fn plan(
    f: &Function,
    target: &Target,
    options: &Options,
    code: &Code,
    live: &LiveOut,
    most: Dwords,
    fewer: u32,
) -> Plan {
    let fitting = budget::of_fewer(f, target, options, most, fewer);
    let budget = fitting.unwrap_or_else(|| budget::bounded(f, target, options, most));
    let mut pass = Pass {
        regions: Regions::new(f, code, target),
        budget,
        taken: most.vgprs.min(budget.vgprs),
        times: Times::default(),
        scheduler: Scheduler::new(target),
    };
    let late = |inst: &Inst| latency::waits_for(inst, target);
    let mut units = Units::default();
    let mut order = Vec::new();
    let mut orders = Vec::new();
    let mut regions: Vec<std::ops::Range<usize>> = Vec::new();
    let mut wave = Times::default();
    for place in 0..f.layout.len() {
        let block = f.layout[place];
        let first = code.block(place);
        let data = &f.blocks[block];
        pass.times = Times::default();
        // Eight iterations of each loop, as costs of spilling take them.
        let weight = 1u64 << (3 * data.loop_depth.min(8));
        let has_late = |k: u32| late(&data.insts[k as usize]);
        if !(data.head_len..data.tail_start).any(has_late) {
            wave.add(weight, Times::of(&data.insts, target));
            continue;
        }
        pass.regions.enter(f, block, live, first);
        let runs = units.find(f, data, code, first);
        split(runs, &mut regions);
        order.clear();
        order.extend(0..data.insts.len() as u32);
        for region in regions.iter().rev() {
            pass.region(f, data, first, &runs[region.clone()], &mut order);
        }
        wave.add(weight, pass.times);
        if order.windows(2).any(|pair| pair[0] > pair[1]) {
            orders.push((block, std::mem::take(&mut order)));
        }
    }
    let waves = budget::waves(f, target, options, most).saturating_sub(fewer);
    let time = fitting.map(|_| wave.beside_others(waves));
    Plan { orders, time, refused: pass.scheduler.refused() }
}

/// Cycles of a block, or of a wave.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// In which the vector unit is busy.
    vector: u64,
    /// With those in which others are, or nothing can be.
    total: u64,
}

impl Times {
    /// Those of `insts` if nothing waits.
    fn of(insts: &[Inst], target: &Target) -> Self {
        let mut times = Self::default();
        for inst in insts {
            let cycles = u64::from(latency::issue(inst, target));
            times.total += cycles;
            if matches!(inst.facts().unit, Unit::Valu | Unit::Interp) {
                times.vector += cycles;
            }
        }
        times
    }

    /// Adds `times` of a block that is executed `count` times.
    fn add(&mut self, count: u64, times: Self) {
        self.vector += count * times.vector;
        self.total += count * times.total;
    }

    /// How long a wave takes among so many that share a SIMD, in 256ths of cycles: what it does without the vector unit, others do at the same time.
    fn beside_others(self, waves: u32) -> u64 {
        let rest = self.total.saturating_sub(self.vector).saturating_mul(256) / u64::from(waves.max(1));
        self.vector.saturating_mul(256).saturating_add(rest)
    }
}

/// The most dwords that are alive at a time; `note` is told those of each block.
pub(crate) fn most_alive(
    f: &Function,
    code: &Code,
    live: &LiveOut,
    mut note: impl FnMut(Block, Dwords),
) -> Dwords {
    let mut profile = Profile::new(f);
    let mut most = Dwords::default();
    for (place, &block) in f.layout.iter().enumerate() {
        profile.enter_block(live.dwords(block), live.near(block));
        let first = code.block(place);
        for n in (first..first + f.blocks[block].insts.len() as u32).rev() {
            profile.step(f, code.accesses(n));
        }
        note(block, profile.most);
        most = most.max(profile.most);
    }
    most
}

/// Cuts a body into regions without walls; a wall is a region of its own.
pub(crate) fn split(runs: &[Run], regions: &mut Vec<std::ops::Range<usize>>) {
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
    regions: Regions<'a>,
    budget: Dwords,
    /// VGPRs that are taken anyway, as the code takes them somewhere.
    taken: u32,
    times: Times,
    scheduler: Scheduler,
}

impl Pass<'_> {
    /// Walks over a region backwards, and writes its instructions in their new order to their place in `order`.
    fn region(&mut self, f: &Function, data: &BlockData, first: u32, runs: &[Run], order: &mut [u32]) {
        let (begin, end) = (runs[0].start, runs[runs.len() - 1].end);
        let target = self.regions.target;
        let insts = &data.insts[begin as usize..end as usize];
        let own = Times::of(insts, target);
        self.times.vector += own.vector;
        if runs.len() < 3 || !insts.iter().any(|inst| latency::waits_for(inst, target)) {
            self.times.total += own.total;
            for k in (begin..end).rev() {
                self.regions.profile.step(f, self.regions.code.accesses(first + k));
            }
            return;
        }
        if !self.regions.graph(f, data, first, runs) {
            self.times.total += own.total;
            return;
        }
        let Regions { code, target, profile, graph, .. } = &mut self.regions;
        let mut region =
            Region { f, code, first, units: graph.units(), profile, budget: self.budget, taken: self.taken };
        let most = usize::from(target.waits().max()[mir::target::Counter::Vm]).saturating_sub(1).max(1);
        self.times.total += u64::from(self.scheduler.run(graph, &mut region, most));
        let mut place = begin as usize;
        for &unit in self.scheduler.order() {
            let unit = &graph.units()[unit as usize];
            for k in unit.start..unit.end {
                order[place] = k;
                place += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::isa::Opcode;
    use mir::machine::Operand;

    #[test]
    fn only_the_vector_unit_is_not_shared() {
        let target = Target::new(Target::processor_by_name("gfx900").expect("a processor of the table"));
        let nop = Inst::new(Opcode::S_NOP, [Operand::Imm(0)]);
        let product = Inst::new(Opcode::V_MUL_LO_U32, [Operand::Imm(0), Operand::Imm(0), Operand::Imm(0)]);
        let times = Times::of(&[nop, product], &target);
        assert_eq!((times.vector, times.total), (16, 20));
    }

    #[test]
    fn waves_are_worth_some_waits() {
        // Powers of four numbers, which take 0.89 of the time with 34 registers instead of 58.
        let [wide, narrow] = [3482, 4409].map(|total| Times { vector: 2192, total });
        assert!(narrow.beside_others(7) < wide.beside_others(4));
        // A convolution, which takes 1.17 times as long with 79 registers as with 91.
        let [wide, narrow] = [10_345, 12_217].map(|total| Times { vector: 7356, total });
        assert!(wide.beside_others(2) < narrow.beside_others(3));
    }

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
