//! Packing in one sweep over the code: which registers are taken where it has come to.
//!
//! Problem: most webs live for a few positions of one block, and the tree of [`crate::occupancy`] asks a dozen nodes for each of their ranges.
//! Without optimisation that is most of the time of packing.
//!
//! Idea: webs that come by their first positions need no tree for what starts at the sweep's position. Whatever was bound before and is alive
//! there is in one mask, from which registers leave where their ranges end. What starts later is entered in the tree, and at its start,
//! where the mask takes it up: ranges behind holes, and ranges of registers that the code names. Short ranges look at these starts, long
//! ones ask the tree. A web of one block takes its registers from its first position to its last, so that it is one range.
//!
//! A range that starts at the sweep's position is not entered in the tree but noted, since nobody asks for it once the sweep has passed. Who
//! asks after packing has the tree completed ([`Occupancy::settle`]).
//!
//! Cost: a few operations of masks for a range, and one step for each position.

use crate::liveness::Range;
use crate::occupancy::{Mask, Occupancy};

/// Positions of a range beyond which the tree is asked what starts inside.
const SHORT: u32 = 64;

/// No entry: the first one is none.
const NONE: u32 = 0;
/// The first entry.
const NO_ENTRY: Entry =
    Entry { range: Range { start: 0, end: 0 }, next: NONE, first: 0, count: 0, in_tree: true };

/// A run of registers, taken in `range`; the next one of its list.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub range: Range,
    next: u32,
    pub first: u16,
    pub count: u8,
    /// Whether the tree has it.
    pub in_tree: bool,
}

/// Lists of a position.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Lists {
    ends: u32,
    starts: u32,
}

/// A sweep over the code.
pub(crate) struct Sweep<'a> {
    occupancy: &'a mut Occupancy,
    /// How far it has come.
    at: u32,
    /// What is taken at `at`.
    now: Mask,
    /// Up to where, by register, for those that are taken at `at`.
    until: [u32; 256],
    lists: Vec<Lists>,
    entries: Vec<Entry>,
    /// Positions behind `at` at which something starts that was bound before, as bits.
    starting: Vec<u64>,
}

impl<'a> Sweep<'a> {
    /// A sweep that has come nowhere, over `positions` positions of which nothing is taken.
    pub fn new(occupancy: &'a mut Occupancy, positions: u32) -> Self {
        occupancy.reset(positions);
        let mut entries = Vec::with_capacity(positions as usize / 2 + 1);
        entries.push(NO_ENTRY);
        let lists = vec![Lists { ends: NONE, starts: NONE }; positions as usize + 1];
        Self {
            occupancy,
            at: 0,
            now: Mask::default(),
            until: [0; 256],
            lists,
            entries,
            starting: vec![0; positions as usize / 64 + 1],
        }
    }

    /// Goes on to `position`, which is not before that of the last time.
    pub fn advance(&mut self, position: u32) {
        while self.at < position {
            self.at += 1;
            let lists = self.lists[self.at as usize];
            if lists == (Lists { ends: NONE, starts: NONE }) {
                continue;
            }
            let mut n = lists.ends;
            while n != NONE {
                let entry = &self.entries[n as usize];
                self.now.remove_run(entry.first, entry.count);
                n = entry.next;
            }
            let mut n = lists.starts;
            while n != NONE {
                let entry = self.entries[n as usize];
                self.entries[n as usize].next = self.begin(n, &entry);
                n = entry.next;
            }
        }
    }

    /// `entry`, which is number `n`, is taken from here on. Gives the next one of the list of its end.
    fn begin(&mut self, n: u32, entry: &Entry) -> u32 {
        self.now.insert_run(entry.first, entry.count);
        for register in usize::from(entry.first)..usize::from(entry.first) + usize::from(entry.count) {
            if let Some(until) = self.until.get_mut(register) {
                *until = entry.range.end;
            }
        }
        let lists = self.lists.get_mut(entry.range.end as usize);
        lists.map_or(NONE, |lists| std::mem::replace(&mut lists.ends, n))
    }

    /// Removes from `out` the registers that are taken now, but no longer at `position`.
    fn leave(&self, position: u32, out: &mut Mask) {
        if position - self.at > SHORT {
            for n in (0..256).filter(|&n| self.now.contains(n)) {
                if self.until[usize::from(n)] <= position {
                    out.remove_run(n, 1);
                }
            }
            return;
        }
        for lists in &self.lists[self.at as usize + 1..=position as usize] {
            let mut n = lists.ends;
            while n != NONE {
                let entry = &self.entries[n as usize];
                out.remove_run(entry.first, entry.count);
                n = entry.next;
            }
        }
    }

    /// Registers taken somewhere in `range`, which starts here or later, as far as they are bound.
    pub fn taken(&self, range: Range) -> Mask {
        if range.start >= range.end {
            return Mask::default();
        }
        let mut out = self.now;
        if range.start > self.at {
            self.leave(range.start, &mut out);
        }
        if range.end - self.at > SHORT {
            return out.or(&self.occupancy.taken(range));
        }
        // Bits of the positions behind this one up to the end of the range, which lie in two words.
        let from = self.at + 1;
        let (word, shift) = ((from / 64) as usize, from % 64);
        let high = self.starting.get(word + 1).map_or(0, |high| (high << 1) << (63 - shift));
        let below = (1u64 << (range.end - from)) - 1;
        let mut bits = (self.starting[word] >> shift | high) & below;
        while bits != 0 {
            let mut n = self.lists[(from + bits.trailing_zeros()) as usize].starts;
            while n != NONE {
                let entry = &self.entries[n as usize];
                if entry.range.end > range.start {
                    out.insert_run(entry.first, entry.count);
                }
                n = entry.next;
            }
            bits &= bits - 1;
        }
        out
    }

    /// Takes `count` registers from `first` on in `range`, which starts here or later.
    pub fn take(&mut self, range: Range, first: u16, count: u8) {
        if range.start >= range.end {
            return;
        }
        let n = self.entries.len() as u32;
        let mut entry = Entry { range, next: NONE, first, count, in_tree: range.start > self.at };
        if !entry.in_tree {
            entry.next = self.begin(n, &entry);
            self.entries.push(entry);
            return;
        }
        if let Some(lists) = self.lists.get_mut(range.start as usize) {
            entry.next = std::mem::replace(&mut lists.starts, n);
            self.starting[range.start as usize / 64] |= 1 << (range.start % 64);
        }
        self.entries.push(entry);
        self.occupancy.take(range, &Mask::run(first, count.into()));
    }

    /// Ends the sweep. What the tree lacks is noted there.
    pub fn finish(self) {
        self.occupancy.note(self.entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes pseudo-random ranges in the order of their starts, with further ones behind them, and compares with masks by position.
    #[test]
    fn agrees_with_a_plain_table() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut random = |n: u32| rng.u32(..n);
        for positions in [1u32, 7, 64, 65, 200, 3000] {
            let mut tree = Occupancy::default();
            let mut sweep = Sweep::new(&mut tree, positions);
            let mut plain = vec![Mask::default(); positions as usize];
            let mut at = 0;
            while at < positions {
                sweep.advance(at);
                for _ in 0..random(4) {
                    let (first, count) = (random(250) as u16, 1 + random(4) as u8);
                    let regs = Mask::run(first, count.into());
                    let mut start = at + if random(4) == 0 { random(positions - at) } else { 0 };
                    for _ in 0..1 + random(3) {
                        let longest =
                            if random(4) == 0 { positions - start } else { (positions - start).min(20) };
                        let range = Range { start, end: start + 1 + random(longest) };
                        let expected = plain[range.start as usize..range.end as usize]
                            .iter()
                            .fold(Mask::default(), |a, m| a.or(m));
                        assert_eq!(sweep.taken(range), expected, "{range:?} at {at} of {positions}");
                        if expected.and(&regs) == Mask::default() {
                            sweep.take(range, first, count);
                            let taken = &mut plain[range.start as usize..range.end as usize];
                            taken.iter_mut().for_each(|m| *m = m.or(&regs));
                        }
                        start = range.end + random(9);
                        if start >= positions {
                            break;
                        }
                    }
                }
                at += random(4);
            }
            sweep.finish();
            tree.settle();
            for (position, expected) in (0..).zip(plain) {
                assert_eq!(tree.taken(Range { start: position, end: position + 1 }), expected);
            }
        }
    }
}
