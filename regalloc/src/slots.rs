//! Which spilled values share slots.
//!
//! A parameter has the slots of its arguments where never two of them are alive: so the variable of a loop is stored where it is computed, and nothing is left
//! to be passed. Inner loops come first.
//!
//! Cost: linear in the arguments, as groups of many ranges stay as they are.

use crate::graph::{Numbering, edges, params};
use crate::liveness::{Liveness, Range};
use mir::machine::{Function, RegFile, VReg};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Ranges of a group that is joined with others.
const RANGES: usize = 64;

/// Values of the same file and width that are never alive together.
pub(crate) struct Group {
    pub members: Vec<VReg>,
    /// Where one of them is alive, in order.
    ranges: Vec<Range>,
}

impl Group {
    /// The first position of any.
    pub fn start(&self) -> u32 {
        self.ranges.first().map_or(0, |range| range.start)
    }

    /// Behind the last one.
    pub fn end(&self) -> u32 {
        self.ranges.last().map_or(0, |range| range.end)
    }

    fn overlaps(&self, other: &Self) -> bool {
        let mut rest = other.ranges.as_slice();
        self.ranges.iter().any(|range| {
            let over = rest.iter().take_while(|r| r.end <= range.start).count();
            rest = &rest[over..];
            rest.first().is_some_and(|r| r.start < range.end)
        })
    }

    fn take(&mut self, other: &mut Self) {
        self.members.append(&mut other.members);
        self.ranges.append(&mut other.ranges);
        self.ranges.sort_unstable_by_key(|range| range.start);
    }
}

/// The `victims` in groups, in the order of their first positions.
pub(crate) fn groups(f: &Function, live: &Liveness, numbering: &Numbering, victims: &[VReg]) -> Vec<Group> {
    let mut groups: Vec<Group> =
        victims.iter().map(|&v| Group { members: vec![v], ranges: live.of(v).to_vec() }).collect();
    let mut group_of: FxHashMap<VReg, usize> = victims.iter().enumerate().map(|(n, &v)| (v, n)).collect();
    let mut blocks = numbering.order.clone();
    blocks.sort_by_key(|&block| Reverse(f.blocks[block].loop_depth));
    for &block in &blocks {
        for file in [RegFile::Sgpr, RegFile::Vgpr] {
            for edge in edges(&f.blocks[block], file) {
                for (param, arg) in params(&f.blocks[edge.block], file).iter().zip(&*edge.args) {
                    mir::interrupt::checkpoint();
                    let pair = group_of.get(param).copied().zip(group_of.get(arg).copied());
                    let Some((a, b)) = pair.filter(|(a, b)| a != b) else { continue };
                    if f.vregs[*param].dwords == f.vregs[*arg].dwords {
                        join(&mut groups, &mut group_of, a, b);
                    }
                }
            }
        }
    }
    groups.retain(|group| !group.members.is_empty());
    groups.sort_by_key(|group| (group.start(), group.members.first().copied()));
    groups
}

/// Makes two groups one, unless that is not possible or costs too much.
fn join(groups: &mut [Group], group_of: &mut FxHashMap<VReg, usize>, a: usize, b: usize) {
    let (into, from) = if groups[a].members.len() < groups[b].members.len() { (b, a) } else { (a, b) };
    let Ok([into_group, from_group]) = groups.get_disjoint_mut([into, from]) else { return };
    let ranges = into_group.ranges.len() + from_group.ranges.len();
    if ranges > RANGES || into_group.overlaps(from_group) {
        return;
    }
    group_of.extend(from_group.members.iter().map(|&v| (v, into)));
    into_group.take(from_group);
}
