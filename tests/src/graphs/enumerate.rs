//! Every control-flow graph of a given number of blocks, once.
//!
//! A graph has an entry that leads to block 0, the blocks, and an exit. A block ends in a jump, or in a
//! branch to two different places that is uniform or divergent; places are the blocks and the exit. Two
//! graphs are the same if renumbering the blocks, all but block 0, makes one the other; the order of a
//! branch's two targets does not count ([`super::dress`] puts them in either order). Every block is
//! reachable; the exit need not be.
//!
//! A block's end is a number, a graph the sequence of those of its blocks. All sequences are counted through;
//! one is a graph to emit if all blocks are reachable and no renumbering makes a smaller sequence. Nothing is
//! stored, so the cost is the number of sequences, 36^5 for five blocks, times some ten nanoseconds;
//! renumberings mostly fail at their first block.

use super::program::{End, Graph};

/// Most blocks: beyond, a run would not come to its end.
pub const MAX_BLOCKS: usize = 6;

/// The ends that a block of a graph with `blocks` blocks may have, the order being that of their numbers.
fn ends(blocks: usize) -> Vec<End> {
    let places = 0..=blocks as u8;
    let mut ends: Vec<End> = places.clone().map(End::Jump).collect();
    for a in places {
        for b in a + 1..=blocks as u8 {
            ends.extend([false, true].map(|divergent| End::Branch { divergent, to: [a, b] }));
        }
    }
    ends
}

/// All renumberings that leave block 0 and the exit where they are: for each, the new number of every place.
fn renumberings(blocks: usize) -> Vec<Vec<u8>> {
    let mut all = vec![vec![0u8]];
    for next in 1..blocks as u8 {
        let grown = all.iter().flat_map(|numbers| {
            (1..=numbers.len()).map(move |at| {
                let mut numbers = numbers.clone();
                numbers.insert(at, next);
                numbers
            })
        });
        all = grown.collect();
    }
    all.iter_mut().for_each(|numbers| numbers.push(blocks as u8));
    all
}

/// A renumbering, ready to be compared with.
struct Renumbering {
    /// The old number of each new block.
    old: Vec<u8>,
    /// The number of each end once its places are renumbered.
    end: Vec<u8>,
}

/// Iterates over the graphs; made by [`graphs`].
pub struct Graphs {
    ends: Vec<End>,
    /// The blocks among the places that each end leads to, as bits.
    reaches: Vec<u8>,
    renumberings: Vec<Renumbering>,
    /// The next sequence to look at; `None` behind the last.
    next: Option<Vec<u8>>,
}

/// Every graph of `blocks` blocks, 1 to [`MAX_BLOCKS`], in an order that is always the same.
pub fn graphs(blocks: usize) -> Graphs {
    let blocks = blocks.clamp(1, MAX_BLOCKS);
    let ends = ends(blocks);
    let number = |end: &End| ends.iter().position(|e| e == end).unwrap_or_default() as u8;
    let renumberings = renumberings(blocks)
        .into_iter()
        .map(|new| {
            let mut old = vec![0; blocks];
            (0..blocks).for_each(|block| old[usize::from(new[block])] = block as u8);
            let end = ends.iter().map(|end| number(&end.renumbered(&new).sorted())).collect();
            Renumbering { old, end }
        })
        .collect();
    let reaches = ends.iter().map(|end| end.targets().iter().fold(0, |bits, &to| bits | 1 << to)).collect();
    Graphs { ends, reaches, renumberings, next: Some(vec![0; blocks]) }
}

impl Graphs {
    /// Whether every block of `sequence` can be reached.
    fn is_reachable(&self, sequence: &[u8]) -> bool {
        let all = (1u32 << sequence.len()) - 1;
        let (mut seen, mut todo) = (1u32, 1u32);
        while todo != 0 {
            let block = todo.trailing_zeros() as usize;
            todo &= todo - 1;
            let new = u32::from(self.reaches[usize::from(sequence[block])]) & all & !seen;
            seen |= new;
            todo |= new;
        }
        seen == all
    }

    /// Whether no renumbering of `sequence` is smaller.
    fn is_smallest(&self, sequence: &[u8]) -> bool {
        self.renumberings.iter().all(|renumbering| {
            for (new, &old) in renumbering.old.iter().enumerate() {
                let end = renumbering.end[usize::from(sequence[usize::from(old)])];
                match end.cmp(&sequence[new]) {
                    std::cmp::Ordering::Less => return false,
                    std::cmp::Ordering::Greater => return true,
                    std::cmp::Ordering::Equal => {}
                }
            }
            true
        })
    }
}

impl Iterator for Graphs {
    type Item = Graph;

    fn next(&mut self) -> Option<Graph> {
        while let Some(sequence) = self.next.take() {
            let mut following = sequence.clone();
            let last = self.ends.len() as u8 - 1;
            if let Some(at) = following.iter().rposition(|&end| end < last) {
                following[at] += 1;
                following[at + 1..].fill(0);
                self.next = Some(following);
            }
            if self.is_reachable(&sequence) && self.is_smallest(&sequence) {
                return Some(Graph {
                    ends: sequence.iter().map(|&end| self.ends[usize::from(end)].clone()).collect(),
                });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The sequences of ends that renumbering makes of `graph`.
    fn class(graph: &Graph) -> BTreeSet<Vec<String>> {
        renumberings(graph.ends.len())
            .into_iter()
            .map(|new| {
                let mut ends = vec![String::new(); graph.ends.len()];
                for (block, end) in graph.ends.iter().enumerate() {
                    ends[usize::from(new[block])] = format!("{:?}", end.renumbered(&new).sorted());
                }
                ends
            })
            .collect()
    }

    /// Counted another way: all sequences that reach all blocks, put into classes.
    #[test]
    fn each_class_comes_once() {
        for blocks in 1..=3 {
            let ends = ends(blocks);
            let mut classes = BTreeSet::new();
            for number in 0..ends.len().pow(blocks as u32) {
                let graph = Graph {
                    ends: (0..blocks as u32)
                        .map(|at| ends[number / ends.len().pow(at) % ends.len()].clone())
                        .collect(),
                };
                if graph.reachable().iter().all(|&seen| seen) {
                    classes.insert(class(&graph));
                }
            }
            let emitted: Vec<_> = graphs(blocks).map(|graph| class(&graph)).collect();
            assert_eq!(emitted.len(), classes.len(), "{blocks} blocks");
            assert_eq!(emitted.into_iter().collect::<BTreeSet<_>>(), classes);
        }
    }
}
