//! Orders that take fewer registers.
//!
//! Several ways are tried ([`backward::Choice`]), the ones that keep most of the code's own order first: from the end of a region to its start ([`backward`]), and
//! from its start ([`forward`]). Where no order is found that is good enough in all blocks, nothing is changed: a register less in one
//! block is worth nothing if the function takes it in another.
//!
//! Cost: that of a few more walks through the blocks that take too many, times the steps of occupancy that are tried; at each unit
//! a few others are looked at.

mod backward;
mod forward;
mod ready;

use crate::before::split;
use crate::budget::{self, FEW_HOLES, Options, VGPR_HOLES};
use crate::code::Code;
use crate::live::{Dwords, LiveOut};
use crate::regions::Regions;
use crate::units::Units;
use backward::{Choice, Walk};
use forward::EarlyEnds;
use mir::machine::{Block, Function};
use mir::target::Target;

/// Accesses of a unit, with more of which it is looked at only in its turn, and then roughly: looking for what it accesses twice would cost their square.
const ACCESSES: usize = 64;
/// Steps of occupancy that are tried.
const STEPS: usize = 3;

/// How an order is found.
#[derive(Clone, Copy, Debug)]
enum Way {
    FromEnd(Choice),
    FromStart,
}

/// The new orders of some blocks, and the most dwords that are alive in any block then.
pub(crate) type Found = (Vec<(Block, Vec<u32>)>, Dwords);

/// Looks for orders of blocks of a function. Its memory is used again.
pub(crate) struct Search<'a> {
    f: &'a Function,
    target: &'a Target,
    options: &'a Options,
    live: &'a LiveOut,
    /// The most dwords that are alive at a time.
    most: Dwords,
    /// The same of each block, by its place in the layout.
    by_place: Vec<Dwords>,
    /// What is asked for first.
    goal: Dwords,
    regions: Regions<'a>,
    units: Units,
    parts: Vec<std::ops::Range<usize>>,
    walk: Walk,
    forward: EarlyEnds,
}

impl<'a> Search<'a> {
    /// For `f`, of which `most` dwords are alive at a time, `by_place` of them in each block of the layout. `None` where fewer would not help.
    pub(crate) fn new(
        f: &'a Function,
        target: &'a Target,
        options: &'a Options,
        code: &'a Code,
        live: &'a LiveOut,
        most: Dwords,
        by_place: Vec<Dwords>,
    ) -> Option<Self> {
        let goal = budget::better(f, target, options, most, VGPR_HOLES)?;
        Some(Self {
            f,
            target,
            options,
            live,
            most,
            by_place,
            goal,
            regions: Regions::new(f, code, target),
            units: Units::default(),
            parts: Vec::new(),
            walk: Walk::new(f),
            forward: EarlyEnds::new(f),
        })
    }

    /// Fewer registers than `now`, with which one more wave would fit.
    fn better(&self, now: Dwords, holes: u32) -> Option<Dwords> {
        budget::better(self.f, self.target, self.options, now, holes)
    }

    /// Orders of blocks in which one more wave fits, or in which it need not spill.
    pub(crate) fn find(&mut self) -> Option<Found> {
        let (mut goal, mut now, mut found) = (self.goal, self.most, None);
        let too_many = budget::of(self.f, self.target, self.options, now).is_none();
        for _ in 0..STEPS {
            let spills = found.is_none() && too_many && now.vgprs > goal.vgprs;
            let mut orders = self.all(goal, spills);
            if orders.is_none()
                && let Some(near) = self.better(now, FEW_HOLES)
            {
                orders = self.all(near, spills);
            }
            let Some((orders, less)) = orders else { break };
            (found, now) = (Some((orders, less)), less);
            match self.better(now, VGPR_HOLES) {
                Some(next) if next.vgprs < goal.vgprs || next.sgprs < goal.sgprs => goal = next,
                _ => break,
            }
        }
        found
    }

    /// The same where orders that take `refused` are not worth it: such that may fit, too, and take more.
    pub(crate) fn find_near(&mut self, refused: Dwords) -> Option<Found> {
        let goal = self.better(self.most, FEW_HOLES)?;
        self.all(goal, false).filter(|(_, less)| less.vgprs > refused.vgprs)
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

    /// Orders of all blocks that take more than `goal`, in which none of them does; if the function `spills` otherwise, those that are nearest to it.
    fn all(&mut self, goal: Dwords, spills: bool) -> Option<Found> {
        let over =
            |taken: Dwords| taken.vgprs.saturating_sub(goal.vgprs) + taken.sgprs.saturating_sub(goal.sgprs);
        let mut most = Dwords::default();
        let mut places = Vec::new();
        for (place, &taken) in self.by_place.iter().enumerate() {
            if over(taken) == 0 {
                most = most.max(taken);
                continue;
            }
            // What lives through it is not for it to end.
            if !spills && over(self.live.dwords(self.f.layout[place])) > 0 {
                return None;
            }
            places.push(place);
        }
        // Where one fails all is in vain, most likely the one that takes most.
        places.sort_by_key(|&place| std::cmp::Reverse(self.by_place[place].vgprs));
        let mut orders = Vec::new();
        for place in places {
            mir::interrupt::checkpoint();
            // The closer to the goal the code's order is left, the more of it is kept.
            let until = [goal.vgprs, goal.vgprs / 2, 0].map(|vgprs| Choice::Until(Dwords { vgprs, ..goal }));
            let ways =
                until.into_iter().chain([Choice::DepthFirst]).map(Way::FromEnd).chain([Way::FromStart]);
            let (mut best, mut least) = (None, self.by_place[place]);
            for (n, way) in ways.enumerate() {
                let order = self.block(place, way, n > 0);
                let less = self.taken(place, &order);
                if over(less) < over(least) {
                    (best, least) = (Some(order), less);
                }
                if over(least) == 0 {
                    break;
                }
            }
            if !spills && over(least) > 0 {
                return None;
            }
            most = most.max(least);
            orders.extend(best.map(|order| (place, order)));
        }
        if orders.is_empty() {
            return None;
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
            match way {
                Way::FromStart => self.forward.region(self.f, first, runs, &self.regions, &mut order),
                Way::FromEnd(choice) => {
                    self.walk.region(self.f, first, runs, choice, &self.regions, &mut order)
                }
            }
        }
        order
    }
}
