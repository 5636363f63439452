//! Orders that take fewer registers.
//!
//! The code's own order is kept as long as it takes no more registers than wanted; where it does, what ends most of them comes next. The walk
//! is from the end of a region to its start, where an instruction ends its result and starts its operands. Where no order is found that
//! is good enough in all blocks, nothing is changed: a register less in one block is worth nothing if the function takes it in another.
//!
//! Cost: that of one more walk through the blocks that take too many, times the steps of occupancy that are tried; at each unit
//! [`TRIES`] others are looked at.

use crate::before::split;
use crate::budget::{self, Options};
use crate::code::{Access, Code, Role};
use crate::live::{Dwords, LiveOut};
use crate::pressure::Profile;
use crate::regions::Regions;
use crate::units::{Run, Units};
use cranelift_entity::EntityRef;
use mir::machine::{Block, Function, RegFile};
use mir::target::Target;
use std::collections::BinaryHeap;

/// Units that are looked at for each that is issued.
const TRIES: usize = 32;
/// Accesses of a unit, with more of which it is looked at only in its turn, and then roughly: looking for what it accesses twice would cost their square.
const ACCESSES: usize = 64;
/// Steps of occupancy that are tried.
const STEPS: usize = 3;

/// The new orders of some blocks, and the most dwords that are alive in any block then.
pub(crate) type Found = (Vec<(Block, Vec<u32>)>, Dwords);

/// Orders of blocks of `f` in which one more wave fits, or in which it need not spill. `most` dwords are alive at a time, `by_place` of them in
/// each block of the layout.
pub(crate) fn find(
    f: &Function,
    target: &Target,
    options: &Options,
    code: &Code,
    live: &LiveOut,
    most: Dwords,
    by_place: Vec<Dwords>,
) -> Option<Found> {
    let mut goal = budget::better(f, target, options, most)?;
    let mut search = Search::new(f, target, code, live, by_place);
    let mut found = None;
    for _ in 0..STEPS {
        let Some((orders, less)) = search.all(goal) else { break };
        let next = budget::better(f, target, options, less);
        found = Some((orders, less));
        match next {
            Some(next) if next.vgprs < goal.vgprs => goal = next,
            _ => break,
        }
    }
    found
}

/// Looks for orders. Its memory is used again.
struct Search<'a> {
    f: &'a Function,
    live: &'a LiveOut,
    /// The most dwords of each block, by its place in the layout.
    most: Vec<Dwords>,
    regions: Regions<'a>,
    units: Units,
    parts: Vec<std::ops::Range<usize>>,
    walk: Walk,
}

impl<'a> Search<'a> {
    fn new(
        f: &'a Function,
        target: &'a Target,
        code: &'a Code,
        live: &'a LiveOut,
        most: Vec<Dwords>,
    ) -> Self {
        let regions = Regions::new(f, code, target);
        let walk = Walk { alive: vec![false; f.vregs.len()], ..Walk::default() };
        Self { f, live, most, regions, units: Units::default(), parts: Vec::new(), walk }
    }

    /// The most dwords that are alive in the block at `place` in this order.
    fn taken(&mut self, place: usize, order: &[u32]) -> Dwords {
        let block = self.f.layout[place];
        let Regions { code, profile, .. } = &mut self.regions;
        profile.enter_block(self.live.dwords(block), self.live.near(block));
        for &k in order.iter().rev() {
            profile.step(self.f, code.accesses(code.block(place) + k));
        }
        profile.most
    }

    /// Orders of all blocks that take more than `goal`, in which none of them does.
    fn all(&mut self, goal: Dwords) -> Option<Found> {
        let fits = |taken: Dwords| taken.vgprs <= goal.vgprs && taken.sgprs <= goal.sgprs;
        let mut most = Dwords::default();
        let mut places = Vec::new();
        for (place, &taken) in self.most.iter().enumerate() {
            if fits(taken) {
                most = most.max(taken);
                continue;
            }
            // What lives through it is not for it to end.
            if !fits(self.live.dwords(self.f.layout[place])) {
                return None;
            }
            places.push(place);
        }
        // Where one fails all is in vain, most likely the one that takes most.
        places.sort_by_key(|&place| std::cmp::Reverse(self.most[place].vgprs));
        let mut orders = Vec::new();
        for place in places {
            mir::interrupt::checkpoint();
            // The closer to the goal the code's order is left, the more of it is kept.
            let until = [goal.vgprs, goal.vgprs / 2, 0].map(|vgprs| Way::Until(Dwords { vgprs, ..goal }));
            let ways = until.into_iter().chain([Way::DepthFirst]);
            let (order, less) = ways.enumerate().find_map(|(n, way)| {
                let order = self.block(place, way, n > 0);
                let less = self.taken(place, &order);
                fits(less).then_some((order, less))
            })?;
            most = most.max(less);
            orders.push((place, order));
        }
        orders.sort_by_key(|order| order.0);
        Some((orders.into_iter().map(|(place, order)| (self.f.layout[place], order)).collect(), most))
    }

    /// An order of the block at `place`; `again`: the last one was of this block.
    fn block(&mut self, place: usize, way: Way, again: bool) -> Vec<u32> {
        let block = self.f.layout[place];
        let first = self.regions.code.block(place);
        let data = &self.f.blocks[block];
        let mut order: Vec<u32> = (0..data.insts.len() as u32).collect();
        if !again {
            self.regions.enter(self.f, block, self.live, first);
            let runs = self.units.find(self.f, data, self.regions.code, first);
            split(runs, &mut self.parts);
        } else if self.parts.len() > 1 {
            self.regions.enter(self.f, block, self.live, first);
        }
        let runs = self.units.found();
        for part in self.parts.iter().rev() {
            let runs = &runs[part.clone()];
            // The graph of the only region is still there.
            if !again || self.parts.len() > 1 {
                self.walk.behind = self.regions.profile.now;
                self.regions.graph(self.f, data, first, runs);
            }
            self.walk.region(self.f, first, runs, way, &self.regions, &mut order);
        }
        order
    }
}

/// How a walk chooses what comes next.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// In the code's order as long as so many dwords are alive at most, then what ends most.
    Until(Dwords),
    /// What the unit just taken reads, and what that reads, before anything else: where much is read at once and used one by one, as the
    /// elements of loads that all stand at the start, no single step takes fewer registers, but each such chain ends what it begins.
    DepthFirst,
}

/// A walk through a region, from its end.
#[derive(Default)]
struct Walk {
    /// Registers that are alive where the walk is.
    alive: Vec<bool>,
    now: Dwords,
    /// Dwords that are alive behind the region.
    behind: Dwords,
    /// Units in front of each, by the unit's first, and units behind it that are left.
    preds: Vec<u32>,
    first_pred: Vec<u32>,
    left: Vec<u32>,
    /// Units behind which nothing is left.
    ready: Ready,
    /// The same, the one that became so last at the end.
    deep: Vec<u32>,
}

/// Units that may come next, of which the last ones of the code are looked at.
#[derive(Default)]
struct Ready {
    /// The last ones, in the order of the code: as many as are looked at, or all.
    near: Vec<u32>,
    /// Those in front of them.
    far: BinaryHeap<u32>,
}

impl Ready {
    fn clear(&mut self) {
        self.near.clear();
        self.far.clear();
    }

    fn push(&mut self, unit: u32) {
        if self.near.len() > TRIES {
            if unit < self.near[0] {
                self.far.push(unit);
                return;
            }
            self.far.push(self.near.remove(0));
        }
        let at = self.near.partition_point(|&other| other < unit);
        self.near.insert(at, unit);
    }

    /// Takes the unit at `at` out of the near ones.
    fn take(&mut self, at: usize) -> u32 {
        let unit = self.near.remove(at);
        if let Some(next) = self.far.pop() {
            self.near.insert(0, next);
        }
        unit
    }
}

impl Walk {
    /// An order of the region of which `regions` has the graph.
    fn region(
        &mut self,
        f: &Function,
        first: u32,
        runs: &[Run],
        way: Way,
        regions: &Regions<'_>,
        order: &mut [u32],
    ) {
        self.now = self.behind;
        if runs.len() < 3 {
            return;
        }
        let accesses = |unit: u32| {
            let run = &runs[unit as usize];
            regions.code.accesses_of(first + run.start..first + run.end)
        };
        for unit in 0..runs.len() as u32 {
            for access in accesses(unit) {
                self.alive[access.reg.index()] = regions.profile.leaves(access.reg);
            }
        }
        self.edges(regions, runs.len());
        self.ready.clear();
        self.deep.clear();
        for unit in 0..runs.len() as u32 {
            if self.left[unit as usize] == 0 {
                self.becomes_ready(unit, way);
            }
        }
        let mut end = runs[runs.len() - 1].end;
        while let Some(unit) = self.next(f, way, &regions.profile, accesses) {
            mir::interrupt::checkpoint();
            self.issue(f, &regions.profile, accesses(unit), unit);
            // Of what becomes ready together, the first of the code is issued first if what is deep comes first: values behind short chains.
            for k in (self.first_pred[unit as usize]..self.first_pred[unit as usize + 1]).rev() {
                let pred = self.preds[k as usize];
                self.left[pred as usize] -= 1;
                if self.left[pred as usize] == 0 {
                    self.becomes_ready(pred, way);
                }
            }
            let run = &runs[unit as usize];
            for k in (run.start..run.end).rev() {
                end -= 1;
                order[end as usize] = k;
            }
        }
    }

    fn becomes_ready(&mut self, unit: u32, way: Way) {
        match way {
            Way::Until(_) => self.ready.push(unit),
            Way::DepthFirst => self.deep.push(unit),
        }
    }

    /// Takes the unit that stands in front of all that were taken.
    fn next<'a>(
        &mut self,
        f: &Function,
        way: Way,
        profile: &Profile,
        accesses: impl Fn(u32) -> &'a [Access],
    ) -> Option<u32> {
        let Way::Until(limit) = way else { return self.deep.pop() };
        let (&last, others) = self.ready.near.split_last()?;
        let mut best = (self.change(f, profile, accesses(last), last), others.len());
        if !self.allows(best.0, limit) {
            for (at, &unit) in others.iter().enumerate().rev() {
                if accesses(unit).len() > ACCESSES {
                    continue;
                }
                let change = self.change(f, profile, accesses(unit), unit);
                let over = |change: [i32; 2]| self.now.sgprs as i32 + change[0] - limit.sgprs as i32;
                let key = |change: [i32; 2]| (over(change).max(0), change[1]);
                if key(change) < key(best.0) {
                    best = (change, at);
                }
            }
        }
        Some(self.ready.take(best.1))
    }

    /// Turns the graph's edges round.
    fn edges(&mut self, regions: &Regions<'_>, count: usize) {
        let graph = &regions.graph;
        self.first_pred.clear();
        self.first_pred.push(0);
        for unit in graph.units() {
            let start = self.first_pred[self.first_pred.len() - 1];
            self.first_pred.push(start + unit.preds);
        }
        self.preds.clear();
        self.preds.resize(self.first_pred[count] as usize, 0);
        self.left.clear();
        let mut next = self.first_pred.clone();
        for unit in 0..count as u32 {
            let succs = graph.succs(unit);
            for succ in succs {
                let place = &mut next[succ.to as usize];
                self.preds[*place as usize] = unit;
                *place += 1;
            }
            self.left.push(succs.len() as u32);
        }
    }

    /// Whether a change of both files keeps to the code's order.
    fn allows(&self, change: [i32; 2], limit: Dwords) -> bool {
        self.now.sgprs as i32 + change[0] <= limit.sgprs as i32
            && (change[1] <= 0 || self.now.vgprs as i32 + change[1] <= limit.vgprs as i32)
    }

    /// What is alive in front of a unit more than behind it, in dwords of both files; of large units at most so much.
    fn change(&self, f: &Function, profile: &Profile, accesses: &[Access], unit: u32) -> [i32; 2] {
        let mut change = [0; 2];
        let mut count = |reg, sign: i32| {
            let data = f.vregs[reg];
            change[usize::from(data.file == RegFile::Vgpr)] += sign * i32::from(data.dwords);
        };
        for (n, access) in accesses.iter().enumerate() {
            let alive = self.alive[access.reg.index()];
            match access.role {
                Role::Def if alive => count(access.reg, -1),
                // In several operands it is one register.
                Role::Use | Role::Tied
                    if !alive
                        && profile.definer(access.reg) != Some(unit)
                        && (accesses.len() > ACCESSES
                            || !accesses[..n].iter().any(|other| other.reg == access.reg)) =>
                {
                    count(access.reg, 1);
                }
                _ => {}
            }
        }
        change
    }

    /// Takes a unit as the one in front of all that were taken.
    fn issue(&mut self, f: &Function, profile: &Profile, accesses: &[Access], unit: u32) {
        for (defs, alive) in [(true, false), (false, true)] {
            for access in accesses.iter().filter(|access| (access.role == Role::Def) == defs) {
                if alive && profile.definer(access.reg) == Some(unit) {
                    continue;
                }
                let data = f.vregs[access.reg];
                if std::mem::replace(&mut self.alive[access.reg.index()], alive) != alive {
                    let dwords = u32::from(data.dwords);
                    let count = self.now.of(data.file);
                    *count = if alive { *count + dwords } else { count.saturating_sub(dwords) };
                }
            }
        }
    }
}
