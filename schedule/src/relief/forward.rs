//! A walk through a region from its start: what ends registers is issued as soon as it can be, all else in the code's order. Where several results are made of
//! what is read once, they are made together, and packed as soon as there are enough of them.

use super::ACCESSES;
use super::ready::Ready;
use crate::code::{Access, Role};
use crate::pressure::Profile;
use crate::regions::Regions;
use crate::units::Run;
use cranelift_entity::EntityRef;
use mir::machine::{Function, RegFile};

/// The walk. Its memory is used again for the next region.
#[derive(Default)]
pub(super) struct EarlyEnds {
    /// Accesses of each register by units that are left.
    uses: Vec<u32>,
    /// Units in front of each that are left.
    preds: Vec<u32>,
    /// Units in front of which nothing is left, numbered from the region's end: the first of the code are near.
    ready: Ready,
}

impl EarlyEnds {
    /// For regions of `f`.
    pub fn new(f: &Function) -> Self {
        Self { uses: vec![0; f.vregs.len()], ..Self::default() }
    }

    /// An order of the region of which `regions` has the graph.
    pub fn region(
        &mut self,
        f: &Function,
        first: u32,
        runs: &[Run],
        regions: &Regions<'_>,
        order: &mut [u32],
    ) {
        let accesses = |unit: u32| {
            let run = &runs[unit as usize];
            regions.code.accesses_of(first + run.start..first + run.end)
        };
        let (graph, profile) = (&regions.graph, &regions.profile);
        let last = runs.len() as u32 - 1;
        for unit in 0..=last {
            accesses(unit).iter().for_each(|access| self.uses[access.reg.index()] = 0);
        }
        self.ready.clear();
        self.preds.clear();
        for unit in 0..=last {
            for access in read(accesses(unit), profile, unit) {
                self.uses[access.reg.index()] += 1;
            }
            let preds = graph.units()[unit as usize].preds;
            self.preds.push(preds);
        }
        let change = |uses: &[u32], near: u32| change(f, profile, uses, accesses(last - near), last - near);
        for unit in 0..=last {
            if self.preds[unit as usize] == 0 {
                self.ready.push(last - unit, |near| change(&self.uses, near) <= 0);
            }
        }
        let mut next = runs[0].start;
        while let Some((&near, others)) = self.ready.near.split_last() {
            mir::interrupt::checkpoint();
            let mut best = (change(&self.uses, near), Some(others.len()));
            for (at, &near) in others.iter().enumerate().rev() {
                let change = change(&self.uses, near);
                if change <= 0 && change < best.0 {
                    best = (change, Some(at));
                }
            }
            if let Some(&near) = self.ready.ending.peek()
                && change(&self.uses, near) < best.0
            {
                best.1 = None;
            }
            let near = match best.1 {
                Some(at) => self.ready.take(at),
                None => self.ready.ending.pop().unwrap_or(near),
            };
            let unit = last - near;
            for access in read(accesses(unit), profile, unit) {
                self.uses[access.reg.index()] -= 1;
            }
            for succ in graph.succs(unit) {
                let left = &mut self.preds[succ.to as usize];
                *left -= 1;
                if *left == 0 {
                    self.ready.push(last - succ.to, |near| change(&self.uses, near) <= 0);
                }
            }
            let run = &runs[unit as usize];
            for k in run.start..run.end {
                order[next as usize] = k;
                next += 1;
            }
        }
    }
}

/// VGPRs that are alive behind a unit more than in front of it, if each register is accessed by `uses` that are left; of large units nothing is known.
fn change(f: &Function, profile: &Profile, uses: &[u32], accesses: &[Access], unit: u32) -> i32 {
    if accesses.len() > ACCESSES {
        return 0;
    }
    let mut change = 0;
    for (n, access) in accesses.iter().enumerate() {
        let data = f.vregs[access.reg];
        if data.file != RegFile::Vgpr || accesses[..n].iter().any(|other| other.reg == access.reg) {
            continue;
        }
        let inner = profile.definer(access.reg) == Some(unit);
        let here = if inner { 0 } else { accesses.iter().filter(|other| other.reg == access.reg).count() };
        let ends = uses[access.reg.index()] == here as u32 && !profile.leaves(access.reg);
        change += match (inner, ends) {
            (true, false) => i32::from(data.dwords),
            (false, true) => -i32::from(data.dwords),
            _ => 0,
        };
    }
    change
}

/// What a unit reads of what is there in front of it.
fn read<'a>(accesses: &'a [Access], profile: &'a Profile, unit: u32) -> impl Iterator<Item = &'a Access> {
    accesses
        .iter()
        .filter(move |access| access.role != Role::Def && profile.definer(access.reg) != Some(unit))
}
