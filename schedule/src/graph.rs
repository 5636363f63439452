//! What must come before what, in a run of code.
//!
//! Nodes are *units*: instructions that stay together and in order, most often one. An edge says that a unit comes behind another, and how
//! many cycles behind it finds the result that it waits for. All edges lead from earlier units to later ones, so that the order as it is fits.
//!
//! Edges are linear in accesses. Of memory, each access has one to the last write of its space, and each read one more to the next
//! write; so reads between two writes meet in them instead of making pairs.

use crate::effects::{Effects, SPACES};

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
    /// A late unit depends on it, or it is one.
    pub feeds: bool,
    /// Cycles from its issue to the end of all that depends on it.
    pub height: u32,
    /// Edges that lead to it.
    pub preds: u32,
    /// First of its successors.
    pub first_succ: u32,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    to: u32,
    cycles: u32,
}

/// Units and edges of a run of code. Its memory is used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    units: Vec<Unit>,
    edges: Vec<Edge>,
    succs: Vec<(u32, u32)>,
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

    /// Says that `to` is issued behind `from`, and finds what it needs `cycles` after that was issued.
    #[inline]
    pub fn edge(&mut self, from: u32, to: u32, cycles: u32) {
        debug_assert!(from <= to || from == NONE);
        if from == to || from == NONE {
            return;
        }
        // Dwords of a tuple often say the same.
        match self.edges.last_mut() {
            Some(last) if (last.from, last.to) == (from, to) => last.cycles = last.cycles.max(cycles),
            _ => self.edges.push(Edge { from, to, cycles }),
        }
    }

    /// Sorts the edges and computes what follows from them. Whether a unit would wait for a result in the code's order.
    pub fn finish(&mut self) -> bool {
        let Self { units, edges, succs, .. } = self;
        for edge in &*edges {
            units[edge.from as usize].first_succ += 1;
            units[edge.to as usize].preds += 1;
        }
        let mut sum = 0;
        for unit in units.iter_mut() {
            sum += unit.first_succ;
            unit.first_succ = sum;
        }
        succs.clear();
        succs.resize(edges.len(), (0, 0));
        for edge in edges.iter().rev() {
            let place = &mut units[edge.from as usize].first_succ;
            *place -= 1;
            succs[*place as usize] = (edge.to, edge.cycles);
        }
        for u in (0..units.len()).rev() {
            let (mut height, mut feeds) = (units[u].issue, units[u].late);
            for &(to, cycles) in &succs[Self::range(units, succs, u)] {
                let next = units[to as usize];
                height = height.max(cycles.max(units[u].issue).saturating_add(next.height));
                feeds |= next.feeds && cycles > 0;
            }
            units[u].height = height;
            units[u].feeds = feeds;
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
            for &(to, cycles) in &self.succs[Self::range(&self.units, &self.succs, u)] {
                let ready = &mut self.ready[to as usize];
                *ready = (*ready).max(now.saturating_add(cycles));
            }
            now = now.saturating_add(unit.issue);
        }
        false
    }

    /// What comes behind `unit`, and how many cycles behind its issue.
    #[inline]
    pub fn succs(&self, unit: u32) -> &[(u32, u32)] {
        &self.succs[Self::range(&self.units, &self.succs, unit as usize)]
    }

    fn range(units: &[Unit], succs: &[(u32, u32)], unit: usize) -> std::ops::Range<usize> {
        let end = units.get(unit + 1).map_or(succs.len(), |next| next.first_succ as usize);
        units[unit].first_succ as usize..end
    }
}

/// The last accesses of each space of memory.
#[derive(Debug)]
pub(crate) struct MemoryOrder {
    writer: [u32; SPACES],
    /// Reads since then.
    readers: [Vec<u32>; SPACES],
}

impl Default for MemoryOrder {
    fn default() -> Self {
        Self { writer: [NONE; SPACES], readers: Default::default() }
    }
}

impl MemoryOrder {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.writer = [NONE; SPACES];
        self.readers.iter_mut().for_each(Vec::clear);
    }

    /// Puts `unit` behind what it must follow.
    pub fn access(&mut self, unit: u32, effects: &Effects, graph: &mut Graph) {
        for space in effects.writes.each() {
            graph.edge(self.writer[space], unit, 0);
            self.readers[space].drain(..).for_each(|reader| graph.edge(reader, unit, 0));
            self.writer[space] = unit;
        }
        for space in effects.reads.each().filter(|&space| self.writer[space] != unit) {
            if !effects.unwritten {
                graph.edge(self.writer[space], unit, 0);
            }
            self.readers[space].push(unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_and_what_feeds_loads() {
        let mut graph = Graph::default();
        for late in [false, true, false, false] {
            graph.add(Unit { issue: 4, late, ..Unit::default() });
        }
        graph.edge(0, 1, 4);
        graph.edge(1, 2, 400);
        graph.edge(0, 3, 4);
        graph.edge(2, 2, 9);
        graph.edge(NONE, 3, 9);
        graph.finish();
        let heights: Vec<u32> = graph.units().iter().map(|unit| unit.height).collect();
        assert_eq!(heights, [408, 404, 4, 4]);
        let feeds: Vec<bool> = graph.units().iter().map(|unit| unit.feeds).collect();
        assert_eq!(feeds, [true, true, false, false]);
        assert_eq!(graph.succs(0), [(1, 4), (3, 4)]);
        assert_eq!(graph.succs(3), []);
        assert_eq!(graph.units()[2].preds, 1);
    }
}
