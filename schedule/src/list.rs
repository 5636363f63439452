//! The order in which units are issued.
//!
//! The code's own order is kept but for two cases, both within what registers allow:
//!
//! 1. What comes from memory, and what that is computed from, is issued as early as possible, the longest way to the end first, of equal ones
//!    what is read first: results of memory come in order. Those of scalar memory do not, so its loads are asked for together.
//! 2. Where the next unit would wait for a result, another one that waits for nothing takes its place.
//!
//! Neither takes registers that the function has not had anywhere for nothing: what comes early waits until something would wait for it
//! ([`Unit::latest`]), and short waits stay.
//!
//! So what has no latency to hide stays as selection and allocation like it. At any time the rest of the code follows in its own order
//! if nothing is done about it, and what registers that takes is known; [`Pressure`] says of a unit whether it may be issued now.
//!
//! Cost: a unit is taken from the heap once, and put back a bounded number of times for each unit issued. Who looks for something to do
//! looks at [`REACH`] units.

use crate::graph::{Graph, Succ, Unit};
use crate::latency;
use mir::target::Target;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Units beyond the next one in the code's order that may be issued before it.
pub(crate) const WINDOW: u32 = 256;
/// Units that are looked at for one that need not wait.
const REACH: u32 = 48;
/// Units that are asked whether registers allow them, for each one issued.
const TRIES: usize = 6;
/// Ways to the end are rounded to multiples of this, so that accesses that stand together stay together. Latencies lie in the middle between two.
const EQUAL: u32 = 64;

/// An access is taken for so much farther from the end than it is. The addresses of others may wait while its own is there: what memory does meanwhile is
/// done, and no address takes registers for it. Half as much is slower in 129 of 448 kernels and faster in 73.
const ACCESS_FIRST: u32 = EQUAL;

/// What an instruction that is issued early takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Room {
    /// Registers that the function takes anyway.
    Spare,
    /// More of them, within the budget.
    More,
    /// More than the budget.
    None,
}

/// Whether registers allow what is planned.
pub(crate) trait Pressure {
    /// What it takes to issue `unit` now, before all units from `next` on that are left.
    fn room(&mut self, unit: u32, next: u32) -> Room;
    /// `unit` is issued, where `next` is the first in the code's order that is left.
    fn issued(&mut self, unit: u32, next: u32);
}

/// Registers have been chosen.
pub(crate) struct Unlimited;

impl Pressure for Unlimited {
    fn room(&mut self, _: u32, _: u32) -> Room {
        Room::Spare
    }

    fn issued(&mut self, _: u32, _: u32) {}
}

/// A unit among others: the longest way to the end first, then whose result, or what comes of it from memory, is read first, then the code's order.
type Entry = (u32, Reverse<u32>, Reverse<u32>);

fn entry(data: &Unit, unit: u32) -> Entry {
    // What costs nothing, as a part of a tuple, only stands in front of the access that it feeds.
    let first = data.late || data.issue == 0;
    let height = data.height.saturating_add(if first { ACCESS_FIRST } else { 0 });
    (height.saturating_add(EQUAL / 2) / EQUAL, Reverse(data.wanted), Reverse(unit))
}

/// Orders units. Its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    /// Cycles that are too few to do something about.
    short: u32,
    /// Cycles of waiting that are worth registers.
    worth: u32,
    /// Cycles of waiting that are worth a lane mask in another register than VCC.
    masks: u32,
    /// Cycle in which everything that a unit needs is there, and edges that lead to it from units that are left.
    state: Vec<(u32, u32)>,
    issued: Vec<bool>,
    /// Units that memory depends on and that could be issued.
    ready: BinaryHeap<Entry>,
    /// Of these the loads of scalar memory.
    unordered: BinaryHeap<Entry>,
    /// The unit issued last is such a load.
    asks: bool,
    /// Registers were too few for something that memory waits for.
    refused: bool,
    /// The same, of which something is on its way: cycle, unit.
    waiting: BinaryHeap<Reverse<(u32, u32)>>,
    put_back: Vec<Entry>,
    /// Cycles in which loads end that are under way.
    under_way: VecDeque<u32>,
    order: Vec<u32>,
}

impl Scheduler {
    /// One for `target`.
    pub fn new(target: &Target) -> Self {
        Self {
            short: latency::short(target),
            worth: latency::worth_registers(target),
            masks: latency::worth_masks(target),
            ..Self::default()
        }
    }

    /// The units in their new order, after [`Self::run`].
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Whether registers were too few, in any of the graphs so far, for something that memory waits for.
    pub fn refused(&self) -> bool {
        self.refused
    }

    /// Puts the units of `graph` in a better order, and returns the cycles that it takes. At most `most` results from memory are under way at a time, unless the code's order has more.
    pub fn run(&mut self, graph: &Graph, pressure: &mut impl Pressure, most: usize) -> u32 {
        let units = graph.units();
        let count = units.len() as u32;
        self.start(graph);
        let (mut next, mut now) = (0u32, 0u32);
        while next < count {
            if self.issued[next as usize] {
                next += 1;
                continue;
            }
            let chosen = self.early(graph, pressure, next, now, most).or_else(|| {
                let ready = self.state[next as usize].0;
                if ready <= now.saturating_add(self.short) {
                    return None;
                }
                self.filler(graph, pressure, next, now)
            });
            let unit = chosen.unwrap_or(next);
            pressure.issued(unit, next);
            now = self.issue(graph, unit, now.max(self.state[unit as usize].0));
        }
        now
    }

    fn start(&mut self, graph: &Graph) {
        let units = graph.units();
        self.state.clear();
        self.state.extend(units.iter().map(|unit| (0, unit.preds)));
        self.issued.clear();
        self.issued.resize(units.len(), false);
        self.ready.clear();
        self.unordered.clear();
        self.asks = false;
        self.waiting.clear();
        self.under_way.clear();
        self.order.clear();
        for (i, unit) in units.iter().enumerate() {
            if unit.preds == 0 && unit.feeds {
                self.is_ready(unit, i as u32);
            }
        }
    }

    /// Takes note of a unit that memory depends on and that could be issued.
    fn is_ready(&mut self, data: &Unit, unit: u32) {
        let entry = entry(data, unit);
        self.ready.push(entry);
        if data.unordered {
            self.unordered.push(entry);
        }
    }

    /// Something that memory waits for.
    fn early(
        &mut self,
        graph: &Graph,
        pressure: &mut impl Pressure,
        next: u32,
        now: u32,
        most: usize,
    ) -> Option<u32> {
        while let Some(&Reverse((cycle, unit))) = self.waiting.peek()
            && cycle <= now
        {
            self.waiting.pop();
            self.is_ready(&graph.units()[unit as usize], unit);
        }
        while self.under_way.front().is_some_and(|&cycle| cycle <= now) {
            self.under_way.pop_front();
        }
        let full = self.under_way.len() >= most;
        let mut found = None;
        if std::mem::take(&mut self.asks)
            && !full
            && let Some(unit) = self.asked_together(pressure, next)
        {
            return Some(unit);
        }
        for _ in 0..TRIES {
            let Some(entry) = self.ready.pop() else { break };
            let unit = entry.2.0;
            if self.issued[unit as usize] {
                continue;
            }
            let near = unit < next.saturating_add(WINDOW);
            let data = &graph.units()[unit as usize];
            let mut allowed = || match pressure.room(unit, next) {
                Room::Spare => true,
                Room::More => data.latest <= graph.units()[next as usize].at,
                Room::None => {
                    self.refused = true;
                    false
                }
            };
            if near && !(full && data.late) && allowed() {
                found = Some(unit);
                break;
            }
            self.put_back.push(entry);
        }
        self.ready.extend(self.put_back.drain(..));
        found
    }

    /// Another load of scalar memory behind the one that was issued last: the wait for that would be a wait for this one, too, if it
    /// came a little later.
    fn asked_together(&mut self, pressure: &mut impl Pressure, next: u32) -> Option<u32> {
        while let Some(&entry) = self.unordered.peek() {
            let unit = entry.2.0;
            let left = !self.issued[unit as usize];
            if left && (unit >= next.saturating_add(WINDOW) || pressure.room(unit, next) != Room::Spare) {
                return None;
            }
            self.unordered.pop();
            if left {
                return Some(unit);
            }
        }
        None
    }

    /// Something else than the next unit, that waits for nothing, or at least not as long.
    fn filler(&mut self, graph: &Graph, pressure: &mut impl Pressure, next: u32, now: u32) -> Option<u32> {
        let end = next.saturating_add(REACH).min(graph.units().len() as u32);
        let mut best = None;
        // Registers that are taken anyway go before those that are not, and then what is there sooner.
        let mut cost = (Room::None, 0);
        let end_of_wait = self.state[next as usize].0;
        let worth = end_of_wait >= now.saturating_add(self.worth);
        let masks_stay = end_of_wait < now.saturating_add(self.masks);
        for unit in next + 1..end {
            let (cycle, preds) = self.state[unit as usize];
            let least = (Room::Spare, cycle.max(now));
            let stays = masks_stay && graph.units()[unit as usize].mask;
            if preds > 0 || stays || self.issued[unit as usize] || cycle >= end_of_wait || least >= cost {
                continue;
            }
            let found = (pressure.room(unit, next), cycle.max(now));
            if found < cost && (found.0 == Room::Spare || worth) {
                (best, cost) = (Some(unit), found);
            }
            if cost <= (Room::Spare, now) {
                break;
            }
        }
        best
    }

    /// Issues `unit` in cycle `now`, and returns the next one.
    fn issue(&mut self, graph: &Graph, unit: u32, now: u32) -> u32 {
        self.issued[unit as usize] = true;
        self.order.push(unit);
        let data = &graph.units()[unit as usize];
        let mut end = now;
        for &Succ { to, cycles, .. } in graph.succs(unit) {
            let (ready, preds) = &mut self.state[to as usize];
            *ready = (*ready).max(now.saturating_add(cycles));
            *preds -= 1;
            end = end.max(now.saturating_add(cycles));
            if *preds == 0 && graph.units()[to as usize].feeds {
                match *ready > now.saturating_add(data.issue) {
                    true => self.waiting.push(Reverse((*ready, to))),
                    false => self.is_ready(&graph.units()[to as usize], to),
                }
            }
        }
        if data.late {
            self.under_way.push_back(end);
        }
        self.asks = data.unordered;
        now.saturating_add(data.issue)
    }
}
