//! Sets of positions that share their parts.
//!
//! Problem: linearisation keeps, for each block, the set of blocks where lanes wait. In a nest of a thousand loops each set has a thousand
//! elements, and the sets of neighbouring blocks differ in one or two. Idea: a set is a binary trie over positions with words of 64 bits as
//! leaves. Nodes are made once for each content (*hash-consing*), so equal sets have equal numbers, a change makes a path of nodes, and a union
//! stops where both sides are the same node.
//!
//! Cost: `insert`, `first`, `without`, `from` and `below` take a step for each level, log2(n / 64) of them; `union` steps for each node in which
//! the sides differ. Recursion is as deep as the trie: at most 26 levels.

use rustc_hash::FxHashMap;

/// A set of positions in a [`Positions`]; equal sets are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(super) struct Set(u32);

impl Set {
    /// The empty set.
    pub(super) const EMPTY: Self = Self(0);

    pub(super) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    /// 64 positions.
    Leaf(u64),
    /// The lower and the upper half; not both are empty.
    Fork(Set, Set),
}

/// The sets over positions 0 to n - 1.
pub(super) struct Positions {
    nodes: Vec<Node>,
    numbers: FxHashMap<Node, Set>,
    /// Levels of forks.
    height: u32,
}

impl Positions {
    /// Sets of positions below `count`.
    pub(super) fn new(count: usize) -> Self {
        let height = count.div_ceil(64).next_power_of_two().trailing_zeros();
        Self { nodes: vec![Node::Leaf(0)], numbers: FxHashMap::default(), height }
    }

    fn make(&mut self, node: Node) -> Set {
        if matches!(node, Node::Leaf(0) | Node::Fork(Set::EMPTY, Set::EMPTY)) {
            return Set::EMPTY;
        }
        let nodes = &mut self.nodes;
        *self.numbers.entry(node).or_insert_with(|| {
            nodes.push(node);
            Set(nodes.len() as u32 - 1)
        })
    }

    /// The halves of a set that is no leaf.
    fn halves(&self, set: Set) -> (Set, Set) {
        match self.nodes[set.0 as usize] {
            Node::Fork(low, high) => (low, high),
            Node::Leaf(_) => (Set::EMPTY, Set::EMPTY),
        }
    }

    fn word(&self, set: Set) -> u64 {
        match self.nodes[set.0 as usize] {
            Node::Leaf(word) => word,
            Node::Fork(..) => 0,
        }
    }

    /// Half of the positions of a node at `level`.
    fn half(level: u32) -> u32 {
        32 << level
    }

    /// `{position}`.
    pub(super) fn single(&mut self, position: u32) -> Set {
        let mut set = self.make(Node::Leaf(1 << (position % 64)));
        for level in 1..=self.height {
            let high = position & Self::half(level) != 0;
            set = self.make(if high { Node::Fork(Set::EMPTY, set) } else { Node::Fork(set, Set::EMPTY) });
        }
        set
    }

    /// `a` ∪ `b`.
    pub(super) fn union(&mut self, a: Set, b: Set) -> Set {
        self.union_at(self.height, a, b)
    }

    fn union_at(&mut self, level: u32, a: Set, b: Set) -> Set {
        if a == b || b.is_empty() {
            return a;
        }
        if a.is_empty() {
            return b;
        }
        if level == 0 {
            return self.make(Node::Leaf(self.word(a) | self.word(b)));
        }
        let ((a0, a1), (b0, b1)) = (self.halves(a), self.halves(b));
        let low = self.union_at(level - 1, a0, b0);
        let high = self.union_at(level - 1, a1, b1);
        self.make(Node::Fork(low, high))
    }

    /// The lowest position.
    pub(super) fn first(&self, set: Set) -> Option<u32> {
        (!set.is_empty()).then(|| self.first_at(self.height, set))
    }

    /// The same of a node at `height` that is not empty.
    fn first_at(&self, height: u32, mut set: Set) -> u32 {
        let mut base = 0;
        for level in (1..=height).rev() {
            let (low, high) = self.halves(set);
            set = if low.is_empty() { high } else { low };
            base += if low.is_empty() { Self::half(level) } else { 0 };
        }
        base + self.word(set).trailing_zeros()
    }

    /// The lowest position from `start` on.
    pub(super) fn next(&self, set: Set, start: u32) -> Option<u32> {
        if u64::from(start) >= 64 << self.height {
            return None;
        }
        // Behind `start` in the lowest word, or in the lowest node to the right of the path to it.
        let (mut at, mut right) = (set, None);
        for level in (1..=self.height).rev() {
            let (low, high) = self.halves(at);
            let half = Self::half(level);
            if start & half == 0 {
                if !high.is_empty() {
                    right = Some((high, level - 1, (start & !(2 * half - 1)) + half));
                }
                at = low;
            } else {
                at = high;
            }
        }
        let word = self.word(at) & (u64::MAX << (start % 64));
        if word != 0 {
            return Some((start & !63) + word.trailing_zeros());
        }
        let (set, height, base) = right?;
        Some(base + self.first_at(height, set))
    }

    /// The positions from `start` on.
    pub(super) fn from(&mut self, set: Set, start: u32) -> Set {
        self.part(self.height, set, start, true)
    }

    /// The positions below `end`.
    pub(super) fn below(&mut self, set: Set, end: u32) -> Set {
        self.part(self.height, set, end, false)
    }

    /// Those of the positions of a node at `level` that are not below `cut`, or only those that are.
    fn part(&mut self, level: u32, set: Set, cut: u32, above: bool) -> Set {
        if set.is_empty() {
            return set;
        }
        if u64::from(cut) >= 64 << level {
            return if above { Set::EMPTY } else { set };
        }
        if level == 0 {
            let lower = (1u64 << cut) - 1;
            return self.make(Node::Leaf(self.word(set) & if above { !lower } else { lower }));
        }
        let (low, high) = self.halves(set);
        let half = Self::half(level);
        let node = match (cut < half, above) {
            (true, true) => Node::Fork(self.part(level - 1, low, cut, above), high),
            (true, false) => Node::Fork(self.part(level - 1, low, cut, above), Set::EMPTY),
            (false, true) => Node::Fork(Set::EMPTY, self.part(level - 1, high, cut - half, above)),
            (false, false) => Node::Fork(low, self.part(level - 1, high, cut - half, above)),
        };
        self.make(node)
    }

    /// The lowest position and the others.
    pub(super) fn split_first(&mut self, set: Set) -> Option<(u32, Set)> {
        let first = self.first(set)?;
        Some((first, self.from(set, first + 1)))
    }

    /// Whether `position` is in `set`.
    pub(super) fn contains(&self, mut set: Set, position: u32) -> bool {
        for level in (1..=self.height).rev() {
            let (low, high) = self.halves(set);
            set = if position & Self::half(level) == 0 { low } else { high };
        }
        self.word(set) >> (position % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_ordinary_sets() {
        for count in [1usize, 64, 65, 128, 1000, 5000] {
            let mut p = Positions::new(count);
            let mut state = 99u64;
            let mut random = |below: u32| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 33) % u64::from(below)) as u32
            };
            let mut sets: Vec<(Set, BTreeSet<u32>)> = vec![(Set::EMPTY, BTreeSet::new())];
            for _ in 0..400 {
                let (a, am) = sets[random(sets.len() as u32) as usize].clone();
                let (b, bm) = sets[random(sets.len() as u32) as usize].clone();
                let at = random(count as u32);
                let one = p.single(at);
                let next: (Set, BTreeSet<u32>) = match random(4) {
                    0 => (p.union(a, b), am.union(&bm).copied().collect()),
                    1 => (p.from(a, at), am.range(at..).copied().collect()),
                    2 => (p.below(a, at), am.range(..at).copied().collect()),
                    _ => (p.union(a, one), am.iter().copied().chain([at]).collect()),
                };
                assert_eq!(p.first(next.0), next.1.first().copied());
                assert_eq!(p.contains(next.0, at), next.1.contains(&at));
                assert_eq!(p.next(next.0, at), next.1.range(at..).next().copied());
                assert_eq!(p.next(next.0, count as u32), None);
                let rest: BTreeSet<u32> = next.1.iter().skip(1).copied().collect();
                if let Some((first, others)) = p.split_first(next.0) {
                    assert_eq!((Some(&first), p.first(others)), (next.1.first(), rest.first().copied()));
                }
                sets.push(next);
            }
            for (a, am) in &sets {
                for (b, bm) in &sets {
                    assert_eq!(a == b, am == bm, "equal sets are one");
                }
            }
        }
    }

    #[test]
    fn neighbours_share() {
        let mut p = Positions::new(1 << 16);
        let mut set = Set::EMPTY;
        for position in (0..1 << 16).rev() {
            let one = p.single(position);
            set = p.union(one, set);
        }
        // A path of eleven nodes for each of the sets and for each of the singletons.
        assert!(p.nodes.len() < (1 << 16) * 23, "{}", p.nodes.len());
    }
}
