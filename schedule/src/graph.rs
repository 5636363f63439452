//! What must come before what, in a run of code.
//!
//! Nodes are *units*: instructions that stay together and in order, most often one. An edge says that a unit comes behind another, and how
//! many cycles behind it finds the result that it waits for. All edges lead from earlier units to later ones, so that the order as it is fits.
//!
//! Edges are linear in accesses. Of memory, each access has one to the last write of its space, and each read one more to the next
//! write; so reads between two writes meet in them instead of making pairs.

use crate::effects::{Effects, SPACES, Spaces};
use crate::places::{Place, PlaceSpace};

/// No unit.
pub(crate) const NONE: u32 = u32::MAX;

/// A unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unit {
    /// First instruction.
    pub start: u32,
    /// Behind the last one.
    pub end: u32,
    /// Cycles to issue it.
    pub issue: u32,
    /// A result comes from memory.
    pub late: bool,
    /// Its result comes from scalar memory: who waits for one waits for all that were asked for.
    pub unordered: bool,
    /// It gives a lane mask of the vector unit. Next to who reads it that is VCC, as short encodings have it.
    pub mask: bool,
    /// A late unit depends on it, or it is one.
    pub feeds: bool,
    /// Cycles from its issue to the end of all that depends on it.
    pub height: u32,
    /// Cycle in which the code's order comes to it if nothing waits.
    pub at: i64,
    /// The last cycle, counted like that, in which it can be issued so that nothing waits for it.
    pub latest: i64,
    /// Of a late unit, the first in the code's order that reads its result; of others, the first that does of those they feed.
    pub wanted: u32,
    /// Edges that lead to it.
    pub preds: u32,
    /// First of its successors.
    pub first_succ: u32,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    succ: Succ,
}

/// What comes behind a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Succ {
    /// The later unit.
    pub to: u32,
    /// Cycles from the issue of the earlier one until the later one finds what it needs.
    pub cycles: u32,
    /// The later one reads a result of the earlier one; else they are only kept in order.
    pub data: bool,
}

/// Units and edges of a run of code. Its memory is used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    units: Vec<Unit>,
    edges: Vec<Edge>,
    succs: Vec<Succ>,
    ready: Vec<u32>,
}

impl Graph {
    /// Drops everything.
    pub fn clear(&mut self) {
        self.units.clear();
        self.edges.clear();
    }

    /// Appends a unit, and returns its number.
    pub fn add(&mut self, unit: Unit) -> u32 {
        self.units.push(unit);
        self.units.len() as u32 - 1
    }

    /// The units, in the order of the code.
    #[inline]
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Says that `unit` gives a lane mask.
    pub fn gives_mask(&mut self, unit: u32) {
        if let Some(unit) = self.units.get_mut(unit as usize) {
            unit.mask = true;
        }
    }

    /// Says that `to` is issued behind `from`.
    #[inline]
    pub fn order(&mut self, from: u32, to: u32) {
        self.edge(from, Succ { to, cycles: 0, data: false });
    }

    /// Says that `to` reads a result of `from`, which it finds `cycles` after that was issued.
    #[inline]
    pub fn data(&mut self, from: u32, to: u32, cycles: u32) {
        self.edge(from, Succ { to, cycles, data: true });
    }

    #[inline]
    fn edge(&mut self, from: u32, succ: Succ) {
        debug_assert!(from <= succ.to || from == NONE);
        if from == succ.to || from == NONE {
            return;
        }
        // Dwords of a tuple often say the same.
        match self.edges.last_mut() {
            Some(Edge { from: other, succ: last }) if (*other, last.to) == (from, succ.to) => {
                last.cycles = last.cycles.max(succ.cycles);
                last.data |= succ.data;
            }
            _ => self.edges.push(Edge { from, succ }),
        }
    }

    /// Sorts the edges and computes what follows from them. Whether a unit would wait for a result in the code's order.
    pub fn finish(&mut self) -> bool {
        let Self { units, edges, succs, .. } = self;
        for edge in &*edges {
            units[edge.from as usize].first_succ += 1;
            units[edge.succ.to as usize].preds += 1;
        }
        let mut sum = 0;
        for unit in units.iter_mut() {
            sum += unit.first_succ;
            unit.first_succ = sum;
        }
        succs.clear();
        succs.resize(edges.len(), Succ::default());
        for edge in edges.iter().rev() {
            let place = &mut units[edge.from as usize].first_succ;
            *place -= 1;
            succs[*place as usize] = edge.succ;
        }
        let mut now = 0;
        for unit in units.iter_mut() {
            unit.at = now;
            now += i64::from(unit.issue);
        }
        for u in (0..units.len()).rev() {
            let (mut height, mut feeds, mut latest) = (units[u].issue, units[u].late, units[u].at);
            let (late, mut wanted) = (units[u].late, NONE);
            for succ in &succs[Self::range(units, succs, u)] {
                let next = units[succ.to as usize];
                height = height.max(succ.cycles.max(units[u].issue).saturating_add(next.height));
                feeds |= next.feeds && succ.data;
                latest = latest.min(next.latest - i64::from(succ.cycles));
                if succ.data {
                    wanted = wanted.min(if late { succ.to } else { next.wanted });
                }
            }
            units[u].height = height;
            units[u].feeds = feeds;
            units[u].latest = latest;
            units[u].wanted = wanted;
        }
        self.waits()
    }

    fn waits(&mut self) -> bool {
        self.ready.clear();
        self.ready.resize(self.units.len(), 0);
        let mut now = 0u32;
        for (u, unit) in self.units.iter().enumerate() {
            mir::interrupt::checkpoint();
            if self.ready[u] > now {
                return true;
            }
            for &Succ { to, cycles, .. } in &self.succs[Self::range(&self.units, &self.succs, u)] {
                let ready = &mut self.ready[to as usize];
                *ready = (*ready).max(now.saturating_add(cycles));
            }
            now = now.saturating_add(unit.issue);
        }
        false
    }

    /// What comes behind `unit`.
    #[inline]
    pub fn succs(&self, unit: u32) -> &[Succ] {
        &self.succs[Self::range(&self.units, &self.succs, unit as usize)]
    }

    fn range(units: &[Unit], succs: &[Succ], unit: usize) -> std::ops::Range<usize> {
        let end = units.get(unit + 1).map_or(succs.len(), |next| next.first_succ as usize);
        units[unit].first_succ as usize..end
    }
}

/// Accesses of known places that later ones are compared with. With more, all that follows stays behind them.
const OPEN: usize = 32;

/// An access of a known place.
#[derive(Debug)]
struct Open {
    unit: u32,
    place: Place,
    spaces: Spaces,
    writes: bool,
}

/// The last accesses of each space of memory.
#[derive(Debug)]
pub(crate) struct MemoryOrder {
    writer: [u32; SPACES],
    /// Reads since then.
    readers: [Vec<u32>; SPACES],
    /// Accesses of known places since then, by [`PlaceSpace`].
    open: [Vec<Open>; PlaceSpace::ALL.len()],
    /// Whether an access had a class. Up to then all memory is one space, as in most code.
    classes: bool,
}

impl Default for MemoryOrder {
    fn default() -> Self {
        Self { writer: [NONE; SPACES], readers: Default::default(), open: Default::default(), classes: false }
    }
}

impl MemoryOrder {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.writer = [NONE; SPACES];
        self.readers.iter_mut().for_each(Vec::clear);
        self.open.iter_mut().for_each(Vec::clear);
        self.classes = false;
    }

    /// What is written and read, in spaces that are told apart so far.
    fn known(&mut self, effects: &Effects) -> [Spaces; 2] {
        let spaces = [effects.writes, effects.reads];
        if !self.classes && spaces.iter().any(|spaces| spaces.tells_classes()) {
            self.classes = true;
            let (whole, parts) = Spaces::of_classes();
            for part in parts {
                self.writer[part] = self.writer[whole];
                self.readers[part] = self.readers[whole].clone();
            }
        }
        if self.classes { spaces } else { spaces.map(Spaces::without_classes) }
    }

    /// Puts `unit` behind what it must follow.
    pub fn access(&mut self, unit: u32, effects: &Effects, graph: &mut Graph) {
        let known = self.known(effects);
        if let Some(place) = effects.place
            && self.open[place.base.space as usize].len() < OPEN
        {
            return self.access_place(unit, place, effects, known, graph);
        }
        let [writes, reads] = known;
        for space in writes.each() {
            graph.order(self.writer[space], unit);
            self.readers[space].drain(..).for_each(|reader| graph.order(reader, unit));
            self.writer[space] = unit;
        }
        for (known, open) in PlaceSpace::ALL.iter().zip(&mut self.open) {
            if effects.writes.meets(known.space()) {
                open.retain(|open| {
                    if effects.writes.meets(open.spaces) {
                        graph.order(open.unit, unit);
                    }
                    !effects.writes.covers(open.spaces)
                });
            } else if effects.reads.meets(known.space()) && !effects.unwritten {
                let written = open.iter().filter(|open| open.writes && effects.reads.meets(open.spaces));
                written.for_each(|open| graph.order(open.unit, unit));
            }
        }
        for space in reads.each().filter(|&space| self.writer[space] != unit) {
            if !effects.unwritten {
                graph.order(self.writer[space], unit);
            }
            self.readers[space].push(unit);
        }
    }

    /// The same of an access whose place is known, which writes and reads `known` spaces.
    fn access_place(
        &mut self,
        unit: u32,
        place: Place,
        effects: &Effects,
        [writes, reads]: [Spaces; 2],
        graph: &mut Graph,
    ) {
        let (spaces, written) = (effects.reads, writes != Spaces::default());
        for space in reads.each() {
            if !effects.unwritten {
                graph.order(self.writer[space], unit);
            }
            if written {
                self.readers[space].iter().for_each(|&reader| graph.order(reader, unit));
            }
        }
        let open = &mut self.open[place.base.space as usize];
        for other in &*open {
            let meet = other.spaces.meets(spaces) && !place.apart(&other.place);
            if meet && (written || other.writes && !effects.unwritten) {
                graph.order(other.unit, unit);
            }
        }
        open.push(Open { unit, place, spaces, writes: written });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_and_what_feeds_loads() {
        let mut graph = Graph::default();
        for late in [false, true, false, false, false] {
            graph.add(Unit { issue: 4, late, ..Unit::default() });
        }
        graph.data(0, 1, 4);
        graph.data(1, 2, 400);
        graph.data(0, 3, 4);
        graph.data(2, 2, 9);
        graph.data(NONE, 3, 9);
        graph.finish();
        let heights: Vec<u32> = graph.units().iter().map(|unit| unit.height).collect();
        assert_eq!(heights, [408, 404, 4, 4, 4]);
        let feeds: Vec<bool> = graph.units().iter().map(|unit| unit.feeds).collect();
        assert_eq!(feeds, [true, true, false, false, false]);
        let succ = |to| Succ { to, cycles: 4, data: true };
        assert_eq!(graph.succs(0), [succ(1), succ(3)]);
        assert_eq!(graph.succs(3), []);
        assert_eq!(graph.units()[2].preds, 1);
    }

    /// Two halves of an address become one at no cost, and still feed the load; a load that only has to stay behind does not.
    #[test]
    fn what_costs_nothing_feeds_loads() {
        let mut graph = Graph::default();
        for (issue, late) in [(4, false), (0, false), (4, false), (4, true)] {
            graph.add(Unit { issue, late, ..Unit::default() });
        }
        graph.data(0, 1, 4);
        graph.data(1, 3, 0);
        graph.order(2, 3);
        graph.finish();
        let feeds: Vec<bool> = graph.units().iter().map(|unit| unit.feeds).collect();
        assert_eq!(feeds, [true, true, false, true]);
    }
}
