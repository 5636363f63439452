//! Which hardware registers are taken when: a tree over positions with register masks.
//!
//! Level 0 has a mask for each position; a node of level `l` stands for `8^l` positions. `cover` holds the
//! registers taken in all of a node's positions by a range stored there, `any` those taken somewhere in it. A
//! range touches at most 14 nodes a level, so asking for *all* registers free in a range, taking one and
//! giving it back cost O(log n).

use crate::liveness::Range;
use crate::sweep::Entry;

const FANOUT_LOG2: u32 = 3;
const FANOUT: u32 = 1 << FANOUT_LOG2;

/// A set of up to 256 registers of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mask(pub [u64; 4]);

impl Mask {
    /// Registers `first..first + count`.
    pub fn run(first: u16, count: u16) -> Self {
        let (first, end) = (u32::from(first), u32::from(first) + u32::from(count));
        // Bits below `n` of the word from register `from` on.
        let below = |n: u32, from: u32| match n.saturating_sub(from) {
            bits @ 0..64 => (1u64 << bits) - 1,
            _ => u64::MAX,
        };
        Self(std::array::from_fn(|word| {
            let from = 64 * word as u32;
            below(end, from) & !below(first, from)
        }))
    }

    /// The words of a run of less than 64 registers with its bits; a second one where it goes beyond the first.
    #[inline]
    fn words(first: u16, count: u8) -> [(usize, u64); 2] {
        let bits = (1u64 << (count & 63)) - 1;
        let (word, shift) = (usize::from(first >> 6), u32::from(first & 63));
        [(word, bits << shift), (word + 1, bits >> 1 >> (63 - shift))]
    }

    /// Adds registers `first..first + count`, less than 64.
    #[inline]
    pub fn insert_run(&mut self, first: u16, count: u8) {
        let [(low, bits), (high, more)] = Self::words(first, count);
        if let Some(word) = self.0.get_mut(low) {
            *word |= bits;
        }
        if more != 0
            && let Some(word) = self.0.get_mut(high)
        {
            *word |= more;
        }
    }

    /// Takes registers `first..first + count` away, less than 64.
    #[inline]
    pub fn remove_run(&mut self, first: u16, count: u8) {
        let [(low, bits), (high, more)] = Self::words(first, count);
        if let Some(word) = self.0.get_mut(low) {
            *word &= !bits;
        }
        if more != 0
            && let Some(word) = self.0.get_mut(high)
        {
            *word &= !more;
        }
    }

    pub fn insert(&mut self, n: u16) {
        if let Some(word) = self.0.get_mut(usize::from(n >> 6)) {
            *word |= 1 << (n & 63);
        }
    }

    pub fn contains(&self, n: u16) -> bool {
        self.0.get(usize::from(n >> 6)).is_some_and(|word| word >> (n & 63) & 1 != 0)
    }

    /// Whether all registers of `other` are in the set.
    pub fn contains_all(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| theirs & !mine == 0)
    }

    pub fn or(mut self, other: &Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a |= b;
        }
        self
    }

    pub fn and(mut self, other: &Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= b;
        }
        self
    }

    pub fn and_not(mut self, other: &Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= !b;
        }
        self
    }

    /// Register `n + by` becomes register `n`.
    pub fn down(self, by: u32) -> Self {
        let (words, bits) = ((by >> 6) as usize, by & 63);
        let mut out = [0; 4];
        for (i, word) in out.iter_mut().enumerate() {
            let low = self.0.get(i + words).copied().unwrap_or(0);
            let high = self.0.get(i + words + 1).copied().unwrap_or(0);
            *word = if bits == 0 { low } else { low >> bits | high << (64 - bits) };
        }
        Self(out)
    }

    /// First registers of `count` consecutive ones that are all in the set.
    pub fn runs(self, count: u8) -> Self {
        let mut out = self;
        let mut have = 1;
        while have < count {
            let step = have.min(count - have);
            out = out.and(&out.down(u32::from(step)));
            have += step;
        }
        out
    }

    /// The lowest register.
    pub fn first(&self) -> Option<u16> {
        self.0
            .iter()
            .enumerate()
            .find(|(_, w)| **w != 0)
            .map(|(i, w)| i as u16 * 64 + w.trailing_zeros() as u16)
    }

    /// All registers, from the lowest on.
    pub fn each(&self) -> impl Iterator<Item = u16> {
        (0u16..).zip(self.0).flat_map(|(i, word)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| i * 64 + bit)
        })
    }

    /// Number of registers in the set.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }
}

#[derive(Clone, Copy, Default)]
struct Node {
    any: Mask,
    cover: Mask,
}

/// Registers of one file taken over positions.
#[derive(Default)]
pub(crate) struct Occupancy {
    leaves: Vec<Mask>,
    levels: Vec<Vec<Node>>,
    /// What a sweep bound. The tree may lack some of it.
    noted: Vec<Entry>,
}

impl Occupancy {
    /// Nothing taken in `positions` positions; keeps memory.
    pub fn reset(&mut self, positions: u32) {
        self.leaves.clear();
        self.leaves.resize(positions as usize, Mask::default());
        let mut n = positions.div_ceil(FANOUT);
        let mut level = 0;
        while n > 1 {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].clear();
            self.levels[level].resize(n as usize, Node::default());
            level += 1;
            n = n.div_ceil(FANOUT);
        }
        self.levels.truncate(level);
        self.noted.clear();
    }

    /// Notes what a sweep bound. It counts once the tree is complete ([`Self::settle`]).
    pub fn note(&mut self, entries: Vec<Entry>) {
        self.noted = entries;
    }

    /// Takes what was noted and is not in the tree.
    pub fn settle(&mut self) {
        for entry in std::mem::take(&mut self.noted).into_iter().filter(|entry| !entry.in_tree) {
            self.take(entry.range, &Mask::run(entry.first, entry.count.into()));
        }
    }

    /// Registers taken somewhere in `range`.
    pub fn taken(&self, range: Range) -> Mask {
        let mut out = Mask::default();
        if range.start >= range.end {
            return out;
        }
        for (l, level) in self.levels.iter().enumerate() {
            let shift = FANOUT_LOG2 * (l as u32 + 1);
            let (first, last) = (range.start >> shift, (range.end - 1) >> shift);
            out = out.or(&level[first as usize].cover);
            if last != first {
                out = out.or(&level[last as usize].cover);
            }
        }
        let top = self.levels.len();
        canonical(range, top, |level, runs| {
            for nodes in runs {
                match level {
                    0 => self.leaves[nodes].iter().for_each(|leaf| out = out.or(leaf)),
                    _ => self.levels[level - 1][nodes].iter().for_each(|node| out = out.or(&node.any)),
                }
            }
        });
        out
    }

    /// Registers that somebody holds at some time.
    pub fn ever_taken(&self) -> Mask {
        match self.levels.last() {
            Some(top) => top.iter().fold(Mask::default(), |out, node| out.or(&node.any).or(&node.cover)),
            None => self.leaves.iter().fold(Mask::default(), |out, leaf| out.or(leaf)),
        }
    }

    /// Takes `regs` in `range`.
    pub fn take(&mut self, range: Range, regs: &Mask) {
        if range.start >= range.end {
            return;
        }
        for (l, level) in self.levels.iter_mut().enumerate() {
            let shift = FANOUT_LOG2 * (l as u32 + 1);
            let (first, last) = ((range.start >> shift) as usize, ((range.end - 1) >> shift) as usize);
            let mut known = level[first].any.contains_all(regs);
            level[first].any = level[first].any.or(regs);
            if last != first {
                known &= level[last].any.contains_all(regs);
                level[last].any = level[last].any.or(regs);
            }
            // What a node has somewhere, those above it have too.
            if known {
                break;
            }
        }
        let (leaves, levels) = (&mut self.leaves, &mut self.levels);
        let top = levels.len();
        canonical(range, top, |level, runs| {
            for nodes in runs {
                match level {
                    0 => leaves[nodes].iter_mut().for_each(|leaf| *leaf = leaf.or(regs)),
                    _ => levels[level - 1][nodes].iter_mut().for_each(|node| {
                        node.cover = node.cover.or(regs);
                        node.any = node.any.or(regs);
                    }),
                }
            }
        });
    }

    /// Gives back `regs`, which were taken in `range` by exactly this range.
    pub fn release(&mut self, range: Range, regs: &Mask) {
        if range.start >= range.end {
            return;
        }
        let (leaves, levels) = (&mut self.leaves, &mut self.levels);
        let top = levels.len();
        canonical(range, top, |level, runs| {
            for nodes in runs {
                match level {
                    0 => leaves[nodes].iter_mut().for_each(|leaf| *leaf = leaf.and_not(regs)),
                    _ => levels[level - 1][nodes]
                        .iter_mut()
                        .for_each(|node| node.cover = node.cover.and_not(regs)),
                }
            }
        });
        for l in 0..top {
            let shift = FANOUT_LOG2 * (l as u32 + 1);
            // Every node of this level that the range meets may have lost registers; all but the two outer
            // ones are canonical or below a canonical node of a higher level, where `any` was never set by
            // this range.
            let (first, last) = (range.start >> shift, (range.end - 1) >> shift);
            let mut nodes = vec![first];
            if last != first {
                nodes.push(last);
            }
            canonical(range, top, |level, runs| {
                let inner = runs.into_iter().flatten().map(|node| node as u32);
                nodes.extend(inner.filter(|&node| level == l + 1 && node != first && node != last));
            });
            for node in nodes {
                let from = (node << FANOUT_LOG2) as usize;
                let mut any = self.levels[l][node as usize].cover;
                if l == 0 {
                    let to = (from + FANOUT as usize).min(self.leaves.len());
                    any = self.leaves[from..to].iter().fold(any, |a, m| a.or(m));
                } else {
                    let below = &self.levels[l - 1];
                    let to = (from + FANOUT as usize).min(below.len());
                    any = below[from..to].iter().fold(any, |a, n| a.or(&n.any));
                }
                self.levels[l][node as usize].any = any;
            }
        }
    }
}

/// The fewest nodes whose positions make up `range`: two runs of each level, level 0 being positions. Runs may be empty.
#[inline]
fn canonical(range: Range, top: usize, mut visit: impl FnMut(usize, [std::ops::Range<usize>; 2])) {
    let (mut low, mut high) = (range.start as usize, range.end as usize);
    let mut level = 0;
    // One call of `visit`, so that it becomes part of the loop.
    while low < high {
        let (whole, end) = match level == top {
            true => (high, high),
            false => {
                let whole = low.next_multiple_of(FANOUT as usize).min(high);
                (whole, (high & !(FANOUT as usize - 1)).max(whole))
            }
        };
        visit(level, [low..whole, end..high]);
        low = whole >> FANOUT_LOG2;
        high = end >> FANOUT_LOG2;
        level += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes and releases pseudo-random ranges and compares with masks by position.
    #[test]
    fn agrees_with_a_plain_table() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut random = |n: u32| rng.u32(..n);
        for positions in [1u32, 7, 64, 65, 1000] {
            let mut tree = Occupancy::default();
            tree.reset(positions);
            let mut plain = vec![Mask::default(); positions as usize];
            let mut held = Vec::new();
            for step in 0..400 {
                let start = random(positions);
                let range = Range { start, end: start + 1 + random(positions - start) };
                let expected = plain[range.start as usize..range.end as usize]
                    .iter()
                    .fold(Mask::default(), |a, m| a.or(m));
                assert_eq!(tree.taken(range), expected, "step {step} of {positions}");
                let reg = random(200) as u16;
                if !expected.contains(reg) && !expected.contains(reg + 1) {
                    let regs = Mask::run(reg, 2);
                    tree.take(range, &regs);
                    plain[range.start as usize..range.end as usize].iter_mut().for_each(|m| *m = m.or(&regs));
                    held.push((range, regs));
                }
                if random(3) == 0 && !held.is_empty() {
                    let (range, regs) = held.swap_remove(random(held.len() as u32) as usize);
                    tree.release(range, &regs);
                    plain[range.start as usize..range.end as usize]
                        .iter_mut()
                        .for_each(|m| *m = m.and_not(&regs));
                }
            }
        }
    }

    #[test]
    fn runs_find_consecutive_registers() {
        let mut mask = Mask::run(60, 10);
        mask.insert(3);
        assert_eq!(mask.runs(1), mask);
        assert_eq!(mask.runs(5), Mask::run(60, 6));
        assert_eq!(mask.runs(10).first(), Some(60));
        assert_eq!(mask.runs(11), Mask::default());
    }
}
