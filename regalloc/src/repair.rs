//! Places for webs that packing found none for: others make room.
//!
//! A file with room enough is often in pieces: what is free is not consecutive, or free in one half of a
//! web's life only. So of all tuples that a web could have, the one whose owners weigh least is emptied, and
//! the owners look for a new place, which may drive out others. Each web is driven out a few times at most
//! and the number of steps is limited, so this ends.
//!
//! Owners by register are lists sorted by position, made only when something failed. Cost: for each step, the
//! registers of the file times the ranges of the web, with a logarithm.

use crate::liveness::{Liveness, Range};
use crate::occupancy::{Mask, Occupancy};
use crate::pack::{File, Hints, Item, UNBOUND, aligned, bind, candidates, choose, each_piece};
use crate::webs::Webs;
use mir::machine::{Function, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// How often a web may be driven out.
const TIMES: u8 = 3;
/// Steps for each web that failed, and besides.
const STEPS: usize = 24;
const MORE_STEPS: usize = 128;
/// Owners that may be driven out at once.
const MOST_OUT: usize = 160;
/// Webs beyond which it is not worth trying.
const MOST_FAILED: usize = 400;
/// Ranges of a web beyond which no room is made for it.
const MOST_PIECES: usize = 256;

/// A packing in which something failed.
pub(crate) struct Repair<'a> {
    pub f: &'a Function,
    pub live: &'a Liveness,
    pub webs: &'a Webs,
    pub items: &'a [Item],
    pub file: &'a File,
    pub hints: &'a Hints,
}

/// Who has a register: start, end, number of the item, by start.
type Owners = Vec<Vec<(u32, u32, u32)>>;

/// The owner of what the code takes for itself.
const FIXED: u32 = u32::MAX;

impl Repair<'_> {
    /// Finds places for `failed`; tells whether all have one.
    pub fn run(&self, failed: &[VReg], occupancy: &mut Occupancy, at: &mut [u16]) -> bool {
        if failed.len() > MOST_FAILED {
            return false;
        }
        let number: FxHashMap<VReg, u32> =
            self.items.iter().enumerate().map(|(n, item)| (item.root, n as u32)).collect();
        let mut owners = self.owners(at);
        let mut times = vec![0u8; self.items.len()];
        // The widest come last and are popped first.
        let mut open: Vec<u32> = failed.iter().filter_map(|v| number.get(v).copied()).collect();
        open.sort_by_key(|&n| (self.items[n as usize].width, self.items[n as usize].length));
        let mut steps = STEPS * failed.len() + MORE_STEPS;
        while let Some(n) = open.pop() {
            let item = &self.items[n as usize];
            let view = self.webs.view(self.f, self.live, item.root);
            let free = candidates(&view, &self.file.allowed, |range| occupancy.taken(range));
            let reg = match choose(item, &free, self.hints, at) {
                Some(reg) => reg,
                None => {
                    if steps == 0 {
                        return false;
                    }
                    steps -= 1;
                    let Some((reg, out)) = self.cheapest(item, &owners, &times) else { return false };
                    for other in out {
                        times[other as usize] += 1;
                        self.drive_out(other, &mut owners, occupancy, at);
                        open.push(other);
                    }
                    reg
                }
            };
            at[item.root.as_u32() as usize] = reg;
            bind(&view, reg, occupancy);
            each_piece(&view, |range, first, count| {
                for d in first..first + count {
                    let list = &mut owners[usize::from(reg + d)];
                    let place = list.partition_point(|o| o.0 < range.start);
                    list.insert(place, (range.start, range.end, n));
                }
            });
        }
        true
    }

    fn owners(&self, at: &[u16]) -> Owners {
        let mut owners: Owners = vec![Vec::new(); mir::machine::PReg::VGPRS.into()];
        for &(reg, range) in &self.file.fixed {
            owners[usize::from(reg)].push((range.start, range.end, FIXED));
        }
        for (n, item) in self.items.iter().enumerate() {
            let reg = at[item.root.as_u32() as usize];
            if reg == UNBOUND {
                continue;
            }
            each_piece(&self.webs.view(self.f, self.live, item.root), |range, first, count| {
                for d in first..first + count {
                    owners[usize::from(reg + d)].push((range.start, range.end, n as u32));
                }
            });
        }
        owners.iter_mut().for_each(|list| list.sort_unstable());
        owners
    }

    /// The register that costs least to empty, and who must leave.
    fn cheapest(&self, item: &Item, owners: &Owners, times: &[u8]) -> Option<(u16, Vec<u32>)> {
        let view = self.webs.view(self.f, self.live, item.root);
        let mut pieces: Vec<(Range, u16, u16)> = Vec::new();
        each_piece(&view, |range, first, count| pieces.push((range, first, count)));
        if pieces.len() > MOST_PIECES {
            return None;
        }
        let mut all = self.file.allowed.runs(view.width);
        if view.align > 1 {
            all = all.and(&aligned(view.align, view.phase));
        }
        let mut best: Option<(u32, u16, Vec<u32>)> = None;
        let mut out: Vec<u32> = Vec::new();
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        while let Some(reg) = all.first() {
            all = all.and_not(&Mask::run(reg, 1));
            out.clear();
            seen.clear();
            let limit = best.as_ref().map_or(u32::MAX, |b| b.0);
            if let Some(cost) = self.cost(item, &pieces, reg, owners, times, limit, &mut out, &mut seen) {
                best = Some((cost, reg, out.clone()));
            }
        }
        best.map(|(_, reg, out)| (reg, out))
    }

    /// What emptying the tuple from `reg` on costs, if less than `limit` and possible.
    fn cost(
        &self,
        item: &Item,
        pieces: &[(Range, u16, u16)],
        reg: u16,
        owners: &Owners,
        times: &[u8],
        limit: u32,
        out: &mut Vec<u32>,
        seen: &mut FxHashSet<u32>,
    ) -> Option<u32> {
        let mut cost = 0u32;
        for &(range, first, count) in pieces {
            for d in first..first + count {
                let list = &owners[usize::from(reg + d)];
                let from = list.partition_point(|o| o.1 <= range.start);
                for &(_, _, n) in list[from..].iter().take_while(|o| o.0 < range.end) {
                    if !seen.insert(n) {
                        continue;
                    }
                    let other = self.items.get(n as usize)?;
                    let weight = |i: &Item| (u32::from(i.width), i.length);
                    if times[n as usize] >= TIMES || (times[n as usize] > 0 && weight(other) >= weight(item))
                    {
                        return None;
                    }
                    cost += u32::from(other.width).pow(2) * 32 + (other.length / 8).min(1 << 16);
                    if cost >= limit || out.len() >= MOST_OUT {
                        return None;
                    }
                    out.push(n);
                }
            }
        }
        Some(cost)
    }

    fn drive_out(&self, n: u32, owners: &mut Owners, occupancy: &mut Occupancy, at: &mut [u16]) {
        let root = self.items[n as usize].root;
        let reg = std::mem::replace(&mut at[root.as_u32() as usize], UNBOUND);
        each_piece(&self.webs.view(self.f, self.live, root), |range, first, count| {
            occupancy.release(range, &Mask::run(reg + first, count));
            for d in first..first + count {
                let list = &mut owners[usize::from(reg + d)];
                let from = list.partition_point(|o| o.0 < range.start);
                if let Some(place) =
                    list[from..].iter().position(|o| o.2 == n).filter(|&p| list[from + p].0 == range.start)
                {
                    list.remove(from + place);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Numbering;
    use crate::liveness::Kind;
    use crate::pack;
    use fastrand::Rng;
    use mir::machine::RegFile;

    /// Random tuples in a file as large as what is alive at once, or two more, where not all can have a
    /// place: what is repaired must be right.
    #[test]
    fn what_is_driven_out_finds_another_place() {
        let (mut failed, mut repaired) = (0, 0);
        for seed in 0..300 {
            let mut random = Rng::with_seed(seed);
            let mut f = Function::new("f", mir::ir::CallConv::Kernel, mir::ir::Func::from_u32(0));
            let mut ranges = Vec::new();
            for _ in 0..60 {
                f.new_vreg(RegFile::Sgpr, [1, 1, 1, 2, 2, 4][random.usize(..6)]);
                let start = random.usize(..180) as u32;
                let end = start + 2 + random.usize(..40) as u32;
                let late = end + 1 + random.usize(..10) as u32;
                let mut own = vec![Range { start, end }];
                if random.usize(..3) == 0 {
                    own.push(Range { start: late, end: late + 5 });
                }
                ranges.push(own);
            }
            let live = Liveness::given(&ranges);
            let widths: Vec<u8> = f.vregs.values().map(|v| v.dwords).collect();
            let alive = |p: u32| -> u32 {
                let here = ranges
                    .iter()
                    .zip(&widths)
                    .filter(|(r, _)| r.iter().any(|r| (r.start..r.end).contains(&p)));
                here.map(|(_, &w)| u32::from(w)).sum()
            };
            let most = (0..250).map(alive).max().unwrap_or(0) as u16;
            let file = File { allowed: Mask::run(0, most + 2 * (seed % 2) as u16), fixed: Vec::new() };
            let mut webs = Webs::new(&f, &live, &Numbering::default());
            let mut items = pack::items(&f, &live, &mut webs, 4096).of(Kind::Sgpr).to_vec();
            items.sort_by_key(|i| (std::cmp::Reverse(i.width), i.start));
            let (mut occupancy, hints) = (Occupancy::default(), Hints::default());
            let mut at = vec![UNBOUND; f.vregs.len()];
            let packed = pack::pack(&f, &live, &webs, &items, &file, &hints, &mut occupancy, 250, &mut at);
            if packed.failed.is_empty() {
                continue;
            }
            failed += 1;
            let (f, live, webs, items, file, hints) = (&f, &live, &webs, &items[..], &file, &hints);
            let repair = Repair { f, live, webs, items, file, hints };
            if !repair.run(&packed.failed, &mut occupancy, &mut at) {
                continue;
            }
            repaired += 1;
            for position in 0..250 {
                let mut taken = Mask::default();
                for (v, own) in ranges.iter().enumerate() {
                    if !own.iter().any(|r| (r.start..r.end).contains(&position)) {
                        continue;
                    }
                    let mine = Mask::run(at[v], u16::from(widths[v]));
                    assert_eq!(at[v] % u16::from(widths[v].min(4)), 0, "alignment");
                    assert_eq!(mine.and(&taken), Mask::default(), "seed {seed}, position {position}");
                    assert_eq!(mine.and_not(&file.allowed), Mask::default());
                    taken = taken.or(&mine);
                    let range = Range { start: position, end: position + 1 };
                    assert_eq!(mine.and_not(&occupancy.taken(range)), Mask::default(), "occupancy");
                }
            }
        }
        assert!(repaired >= 10, "{repaired} of {failed} repaired");
    }
}
