//! What is computed far in front of its uses, and costs an instruction, is computed again where it is used if one more wave fits then.
//!
//! Loops of hashes add round constants to their state, and turn it, in front of the loop: it is alive throughout then, beside the numbers that it is computed
//! from. A full-rate instruction in the loop costs less than a wave of four.
//!
//! A register may go whose definition computes it from registers that are alive at each of its uses anyway, and that are the same there: VGPRs keep what a lane
//! computed, SGPRs do so within the loops that they are defined in. Instructions are added only where the wave is reached, if need be by an order of blocks that
//! takes fewer registers ([`crate::relief`]), and not where such an order reaches it alone. What would be spilled otherwise is computed again as far as that
//! goes.
//!
//! Cost: linear in accesses, and in the number of blocks that registers live through; functions with as many waves as they need, and those whose registers
//! do not go, are passed over.

use crate::barriers::is_arithmetic;
use crate::before::most_alive;
use crate::budget::{self, FEW_HOLES, Options};
use crate::code::Code;
use crate::live::{Dwords, LiveOut};
use crate::relief::Search;
use crate::uniform_values::{ENOUGH, PRICE, depth_weight, takes_number};
use cranelift_entity::SecondaryMap;
use mir::analysis::{Csr, Dominators, Graph, Loop, Loops, Order};
use mir::isa::{Implicit, OperandAccess, Rate, Unit};
use mir::machine::{
    Block, Encoding, Function, Inst, Modifiers, Operand, Reg, RegFile, VReg, VRegData, VRegFlags,
};
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Uses that are at most so many instructions apart share what is computed in front of the first of them.
const NEAR: u32 = 16;

/// Uses in the block of the definition that have so many instructions between them and what uses it before them are far.
const FAR: u32 = 64;

/// A position in the code: the block, and the instruction in it.
type Position = (Block, u32);

/// A register that may be computed anew where it is used.
struct Candidate {
    reg: VReg,
    /// Its definition.
    def: Position,
    /// Its uses far from the definition, by blocks in the layout, and in them from the first to the last.
    uses: SmallVec<[Position; 4]>,
    /// The last use near the definition in its block, or the definition.
    end: u32,
    /// Whether there is no such use, so that the definition goes.
    goes: bool,
    /// Instructions that are added, by what loops execute.
    cost: u64,
}

/// Computes registers of `f`, modelled code with virtual registers, again where they are used if more waves fit then.
pub fn rematerialise(f: &mut Function, target: &Target, options: &Options) {
    // How many waves fit is up to those who call.
    if f.call_conv.is_callable() {
        return;
    }
    let alive = Alive::of(f, target);
    let most = alive.most;
    let now = budget::waves(f, target, options, most);
    let room = |waves| budget::for_waves(f, target, options, waves, FEW_HOLES);
    // Without room for the waves that must fit, some are spilled.
    let spills = most.vgprs > room(now).vgprs;
    let waves = now + u32::from(!spills);
    let goal = room(waves);
    let useful = waves <= (target.limits().max_waves_per_simd * ENOUGH.0 / ENOUGH.1).max(now)
        && goal.vgprs < most.vgprs
        && most.sgprs <= goal.sgprs
        && budget::waves(f, target, options, goal) >= waves;
    if !useful {
        return;
    }
    let mut hot: SecondaryMap<Block, bool> = SecondaryMap::new();
    for (&block, taken) in f.layout.iter().zip(&alive.by_place) {
        hot[block] = taken.vgprs > goal.vgprs;
    }
    let chosen = affordable(f, candidates(f, target, &hot), (!spills).then_some(waves));
    let missing = (most.vgprs - goal.vgprs) as usize;
    if chosen.is_empty() || alive.reaches(f, target, options, goal) {
        return;
    }
    for count in [missing, chosen.len()] {
        if count > chosen.len() {
            continue;
        }
        mir::interrupt::checkpoint();
        let mut anew = f.clone();
        apply(&mut anew, &chosen[..count]);
        let alive = Alive::of(&anew, target);
        // Fewer spills are worth it, too: each is an access of memory where a register is computed anew.
        if fits(alive.most, goal)
            || spills && count == chosen.len() && alive.most.vgprs < most.vgprs
            || alive.reaches(&anew, target, options, goal)
        {
            *f = anew;
            return;
        }
    }
}

/// What is alive in a function.
struct Alive {
    code: Code,
    live: LiveOut,
    /// The most dwords at a time, and those of each block, by its place in the layout.
    most: Dwords,
    by_place: Vec<Dwords>,
}

impl Alive {
    fn of(f: &Function, target: &Target) -> Self {
        let code = Code::read(f, target);
        let live = LiveOut::compute(f, &code);
        let mut by_place = Vec::with_capacity(f.layout.len());
        let most = most_alive(f, &code, &live, |_, most| by_place.push(most));
        Self { code, live, most, by_place }
    }

    /// Whether the blocks of `f`, of which this is, have orders in which no more than `goal` is alive at a time.
    fn reaches(&self, f: &Function, target: &Target, options: &Options, goal: Dwords) -> bool {
        let by_place = self.by_place.clone();
        let search = Search::new(f, target, options, &self.code, &self.live, self.most, by_place);
        search.and_then(|mut search| search.find()).is_some_and(|(_, less)| fits(less, goal))
    }
}

fn fits(most: Dwords, goal: Dwords) -> bool {
    most.vgprs <= goal.vgprs && most.sgprs <= goal.sgprs
}

/// Those of `candidates` that go together, the cheapest first, and that are worth it if the last of `waves` is won, where that is what they are for.
fn affordable(f: &Function, mut candidates: Vec<Candidate>, waves: Option<u32>) -> Vec<Candidate> {
    candidates.sort_by_key(|candidate| (candidate.cost, candidate.reg.as_u32()));
    let executed: u64 =
        f.layout.iter().map(|&block| depth_weight(f, block) * f.blocks[block].insts.len() as u64).sum();
    let (mut gone, mut needed) = (FxHashSet::default(), FxHashSet::default());
    let mut added = 0;
    candidates.retain(|candidate| {
        let sources = || sources(&f.blocks[candidate.def.0].insts[candidate.def.1 as usize]);
        let total = added + candidate.cost;
        let apart = !needed.contains(&candidate.reg) && !sources().any(|source| gone.contains(&source));
        let stays = apart && waves.is_none_or(|waves| total * PRICE * u64::from(waves) <= executed);
        if stays {
            added = total;
            gone.insert(candidate.reg);
            needed.extend(sources());
        }
        stays
    });
    candidates
}

/// The virtual registers that an instruction reads.
fn sources(inst: &Inst) -> impl Iterator<Item = VReg> {
    inst.regs().filter_map(|(write, operand)| match operand.reg {
        Reg::Virtual(reg) if !write => Some(reg),
        _ => None,
    })
}

/// What `inst` computes, if it costs no more than any instruction and does the same in the same lanes wherever it stands.
fn computed(f: &Function, inst: &Inst, target: &Target) -> Option<VReg> {
    let plain = inst.facts().unit == Unit::Valu
        && matches!(inst.encoding, Encoding::Auto)
        && inst.mods == Modifiers::default()
        && is_arithmetic(inst, target)
        && takes_number(inst)
        && inst.facts().rate == Rate::Full
        && !inst.facts().implicit.contains(Implicit::MODE_USE);
    let mut regs = inst.regs();
    let (true, Some((true, result))) = (plain, regs.next()) else { return None };
    let Reg::Virtual(result) = result.reg else { return None };
    let only_reads = (1..inst.operands.len()).all(|k| inst.operand_access(k) == OperandAccess::Use);
    let data = f.vregs[result];
    let of_lanes = data.file == RegFile::Vgpr && data.dwords == 1 && !data.flags.intersects(SPECIAL);
    let sources_are = sources(inst).all(|source| !f.vregs[source].flags.intersects(SPECIAL));
    (only_reads && of_lanes && sources_are).then_some(result)
}

/// Registers that mean something else than a number of each lane, or that others know.
const SPECIAL: VRegFlags = VRegFlags::WHOLE_WAVE.union(VRegFlags::PINNED).union(VRegFlags::LANE_MASK);

/// The registers that may be computed again at each of their uses, and that live behind a block that is `hot` or in one.
fn candidates(f: &Function, target: &Target, hot: &SecondaryMap<Block, bool>) -> Vec<Candidate> {
    let mut found: FxHashMap<VReg, Candidate> = FxHashMap::default();
    for &block in &f.layout {
        let data = &f.blocks[block];
        for at in data.head_len..data.tail_start {
            if let Some(reg) = computed(f, &data.insts[at as usize], target) {
                let candidate =
                    Candidate { reg, def: (block, at), uses: SmallVec::new(), end: at, goes: true, cost: 0 };
                found.insert(reg, candidate);
            }
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    // Uses are in order, whatever the layout is.
    for &block in &f.layout {
        let data = &f.blocks[block];
        let edges = data.thread_succs.iter().chain(&data.wave_succs);
        let args = edges.flat_map(|edge| &edge.args);
        data.vparams.iter().chain(args).for_each(|reg| drop(found.remove(reg)));
        for (at, inst) in data.insts.iter().enumerate() {
            let at = at as u32;
            let inside = (data.head_len..data.tail_start).contains(&at) && takes_number(inst);
            for (k, operand) in inst.operands.iter().enumerate() {
                let Some(Reg::Virtual(reg)) = operand.as_reg().map(|operand| operand.reg) else { continue };
                let Some(candidate) = found.get_mut(&reg) else { continue };
                let access = inst.operand_access(k);
                if access == OperandAccess::Def && candidate.def == (block, at) {
                    continue;
                }
                let whole = *operand == Operand::vreg(reg, 1);
                if access != OperandAccess::Use || !inside || !whole {
                    found.remove(&reg);
                } else if candidate.def.0 == block && candidate.uses.is_empty() && at <= candidate.end + FAR {
                    (candidate.end, candidate.goes) = (at, false);
                } else if candidate.uses.last() != Some(&(block, at)) {
                    candidate.uses.push((block, at));
                }
            }
        }
    }
    found.retain(|_, candidate| !candidate.uses.is_empty());
    let ways = Ways::of(f);
    found.retain(|_, candidate| ways.is_alive_in_hot(candidate, hot));
    ways.keep_available(f, &mut found);
    let mut found: Vec<_> = found.into_values().collect();
    for candidate in &mut found {
        let added: u64 = computed_at(candidate).map(|(block, _)| depth_weight(f, block)).sum();
        let saved = if candidate.goes { depth_weight(f, candidate.def.0) } else { 0 };
        candidate.cost = added.saturating_sub(saved);
    }
    found
}

/// The uses in front of which a register is computed anew: those that are not near to one in front of them.
fn computed_at(candidate: &Candidate) -> impl Iterator<Item = Position> {
    let mut last: Option<Position> = None;
    candidate.uses.iter().copied().filter(move |&(block, at)| {
        let first = last.is_none_or(|(other, start)| other != block || at > start + NEAR);
        if first {
            last = Some((block, at));
        }
        first
    })
}

/// The ways through a function, for walks from uses to definitions.
struct Ways {
    thread: Csr,
    wave: Csr,
    /// Loops of lanes, and of the wave.
    loops: [Loops; 2],
}

impl Ways {
    fn of(f: &Function) -> Self {
        let (thread, wave) = (Csr::thread(f), Csr::wave(f));
        let loops = [&thread, &wave].map(|graph| {
            let order = Order::reverse_post_order(graph);
            Loops::new(graph, &order, &Dominators::new(graph, &order))
        });
        Self { thread, wave, loops }
    }

    /// The innermost loops of lanes and of the wave around a block.
    fn around(&self, block: Block) -> [Option<Loop>; 2] {
        [0, 1].map(|k| self.loops[k].innermost(block.as_u32()))
    }

    /// Whether `loops` have `block` in them.
    fn inside(&self, loops: [Option<Loop>; 2], block: Block) -> bool {
        [0, 1].into_iter().all(|k| loops[k].is_none_or(|l| self.loops[k].contains(l, block.as_u32())))
    }

    /// Blocks behind which a register lives that is defined in `def` and used in `users`: those it leaves.
    fn left(
        &self,
        wave_level: bool,
        def: Option<Block>,
        users: impl Iterator<Item = Block>,
    ) -> FxHashSet<Block> {
        let graph = if wave_level { &self.wave } else { &self.thread };
        let (mut left, mut entered): (FxHashSet<Block>, FxHashSet<Block>) = Default::default();
        let mut work: Vec<Block> = users.filter(|&user| Some(user) != def && entered.insert(user)).collect();
        while let Some(block) = work.pop() {
            mir::interrupt::checkpoint();
            for &pred in graph.preds(block.as_u32()) {
                let pred = Block::from_u32(pred);
                if left.insert(pred) && Some(pred) != def && entered.insert(pred) {
                    work.push(pred);
                }
            }
        }
        left
    }

    /// Whether a register lives behind a block that is `hot`, or is used in one.
    fn is_alive_in_hot(&self, candidate: &Candidate, hot: &SecondaryMap<Block, bool>) -> bool {
        let users = candidate.uses.iter().map(|place| place.0);
        users.clone().any(|block| hot[block])
            || self.left(false, Some(candidate.def.0), users).iter().any(|&block| hot[block])
    }

    /// Drops the candidates of which a source is not alive at a use, or may be another number there.
    fn keep_available(&self, f: &Function, found: &mut FxHashMap<VReg, Candidate>) {
        let mut users: FxHashMap<VReg, SmallVec<[VReg; 2]>> = FxHashMap::default();
        for candidate in found.values() {
            let def = &f.blocks[candidate.def.0].insts[candidate.def.1 as usize];
            sources(def).for_each(|source| users.entry(source).or_default().push(candidate.reg));
        }
        // Of each source: the block of its definition, its last use in each block, and whether that is an edge's.
        let mut defs: FxHashMap<VReg, Block> = FxHashMap::default();
        let mut last: FxHashMap<VReg, FxHashMap<Block, u32>> = FxHashMap::default();
        for &block in &f.layout {
            let data = &f.blocks[block];
            let mut define = |reg: VReg| {
                if users.contains_key(&reg) {
                    defs.insert(reg, block);
                }
            };
            data.vparams.iter().chain(&data.sparams).for_each(|&reg| define(reg));
            for (at, inst) in data.insts.iter().enumerate() {
                for (write, operand) in inst.regs() {
                    let Reg::Virtual(reg) = operand.reg else { continue };
                    if write {
                        define(reg);
                    } else if users.contains_key(&reg) {
                        last.entry(reg).or_default().insert(block, at as u32);
                    }
                }
            }
            for &arg in data.thread_succs.iter().chain(&data.wave_succs).flat_map(|edge| &edge.args) {
                if users.contains_key(&arg) {
                    last.entry(arg).or_default().insert(block, u32::MAX);
                }
            }
        }
        for (source, candidates) in users {
            let def = defs.get(&source).copied();
            let data = f.vregs[source];
            let uses = &last[&source];
            let at_end = uses.iter().filter(|(_, at)| **at == u32::MAX).map(|(&block, _)| block);
            let mut left = self.left(data.wave_level(), def, uses.keys().copied());
            left.extend(at_end);
            // What a lane has in a VGPR stays; of a number of the wave there is another one in the next iteration.
            let loops = match data.file {
                RegFile::Vgpr => [None; 2],
                RegFile::Sgpr => def.map_or([None; 2], |block| self.around(block)),
            };
            for reg in candidates {
                let Some(candidate) = found.get(&reg) else { continue };
                let available = candidate.uses.iter().all(|&(block, at)| {
                    let alive = left.contains(&block) || uses.get(&block).is_some_and(|&end| end >= at);
                    alive && self.inside(loops, block)
                });
                if !available {
                    found.remove(&reg);
                }
            }
        }
    }
}

/// Computes the registers of `candidates` where they are used.
fn apply(f: &mut Function, candidates: &[Candidate]) {
    let mut gone: SecondaryMap<Block, Vec<u32>> = SecondaryMap::new();
    let mut added: SecondaryMap<Block, Vec<(u32, Inst)>> = SecondaryMap::new();
    let mut renamed: SecondaryMap<Block, Vec<(u32, VReg, VReg)>> = SecondaryMap::new();
    for candidate in candidates {
        let (block, at) = candidate.def;
        let def = f.blocks[block].insts[at as usize].clone();
        let data = VRegData { hint: None, ..f.vregs[candidate.reg] };
        if candidate.goes {
            gone[block].push(at);
        }
        let mut anew = computed_at(candidate).peekable();
        let mut own = candidate.reg;
        for &place in &candidate.uses {
            if anew.next_if_eq(&place).is_some() {
                own = f.vregs.push(data);
                let mut inst = def.clone();
                inst.operands[0] = Operand::vreg(own, 1);
                added[place.0].push((place.1, inst));
            }
            renamed[place.0].push((place.1, candidate.reg, own));
        }
    }
    for block in f.layout.clone() {
        let (gone, renamed) = (std::mem::take(&mut gone[block]), std::mem::take(&mut renamed[block]));
        let mut added = std::mem::take(&mut added[block]);
        if gone.is_empty() && renamed.is_empty() {
            continue;
        }
        for (at, old, new) in renamed {
            let inst = &mut f.blocks[block].insts[at as usize];
            inst.operands
                .iter_mut()
                .filter(|operand| **operand == Operand::vreg(old, 1))
                .for_each(|operand| *operand = Operand::vreg(new, 1));
        }
        added.sort_by_key(|(at, _)| *at);
        let mut added = added.into_iter().peekable();
        let gone: FxHashSet<u32> = gone.into_iter().collect();
        let insts = std::mem::take(&mut f.blocks[block].insts);
        let before = insts.len();
        let mut out = Vec::with_capacity(before + added.len());
        for (at, inst) in insts.into_iter().enumerate() {
            while let Some((_, anew)) = added.next_if(|(place, _)| *place as usize == at) {
                out.push(anew);
            }
            if !gone.contains(&(at as u32)) {
                out.push(inst);
            }
        }
        let data = &mut f.blocks[block];
        data.tail_start = (data.tail_start as usize + out.len() - before) as u32;
        data.insts = out;
    }
}
