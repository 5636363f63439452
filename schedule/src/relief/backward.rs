//! A walk through a region from its end: what is issued stands in front of all that was, ends its result and starts its operands.

use super::ACCESSES;
use super::ready::Ready;
use crate::code::{Access, Role};
use crate::live::Dwords;
use crate::pressure::Profile;
use crate::regions::Regions;
use crate::units::Run;
use cranelift_entity::EntityRef;
use mir::machine::{Function, RegFile};

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// The last of the code as long as so many dwords are alive at most, then what ends most.
    Until(Dwords),
    /// What the unit just taken reads, and what that reads, before anything else. Where much is read at once and used one by one, as the
    /// elements of loads that all stand at the start, no single step takes fewer registers, but each such chain ends what it begins.
    DepthFirst,
}

/// A walk through a region, from its end.
#[derive(Default)]
pub(super) struct Walk {
    /// Registers that are alive where the walk is.
    alive: Vec<bool>,
    now: Dwords,
    /// Dwords that are alive behind the region.
    pub behind: Dwords,
    /// Units in front of each, by the unit's first, and units behind it that are left.
    preds: Vec<u32>,
    first_pred: Vec<u32>,
    left: Vec<u32>,
    /// Units behind which nothing is left.
    ready: Ready,
    /// The same, the one that became so last at the end.
    deep: Vec<u32>,
}

impl Walk {
    /// For regions of `f`.
    pub fn new(f: &Function) -> Self {
        Self { alive: vec![false; f.vregs.len()], ..Self::default() }
    }

    /// An order of the region of which `regions` has the graph.
    pub fn region(
        &mut self,
        f: &Function,
        first: u32,
        runs: &[Run],
        choice: Choice,
        regions: &Regions<'_>,
        order: &mut [u32],
    ) {
        self.now = self.behind;
        if runs.len() < 3 {
            return;
        }
        let accesses = |unit: u32| {
            let run = &runs[unit as usize];
            regions.code.accesses_of(first + run.start..first + run.end)
        };
        for unit in 0..runs.len() as u32 {
            for access in accesses(unit) {
                self.alive[access.reg.index()] = regions.profile.leaves(access.reg);
            }
        }
        self.edges(regions, runs.len());
        self.ready.clear();
        self.deep.clear();
        for unit in 0..runs.len() as u32 {
            if self.left[unit as usize] == 0 {
                self.becomes_ready(unit, choice);
            }
        }
        let mut end = runs[runs.len() - 1].end;
        while let Some(unit) = self.next(f, choice, &regions.profile, accesses) {
            mir::interrupt::checkpoint();
            self.issue(f, &regions.profile, accesses(unit), unit);
            // Of what becomes ready together, the first of the code is issued first if what is deep comes first: values behind short chains.
            for k in (self.first_pred[unit as usize]..self.first_pred[unit as usize + 1]).rev() {
                let pred = self.preds[k as usize];
                self.left[pred as usize] -= 1;
                if self.left[pred as usize] == 0 {
                    self.becomes_ready(pred, choice);
                }
            }
            let run = &runs[unit as usize];
            for k in (run.start..run.end).rev() {
                end -= 1;
                order[end as usize] = k;
            }
        }
    }

    fn becomes_ready(&mut self, unit: u32, choice: Choice) {
        match choice {
            Choice::Until(_) => self.ready.push(unit, |_| false),
            Choice::DepthFirst => self.deep.push(unit),
        }
    }

    /// Takes the unit that stands in front of all that were taken.
    fn next<'a>(
        &mut self,
        f: &Function,
        choice: Choice,
        profile: &Profile,
        accesses: impl Fn(u32) -> &'a [Access],
    ) -> Option<u32> {
        let Choice::Until(limit) = choice else { return self.deep.pop() };
        let (&last, others) = self.ready.near.split_last()?;
        let mut best = (self.change(f, profile, accesses(last), last), others.len());
        if !self.allows(best.0, limit) {
            for (at, &unit) in others.iter().enumerate().rev() {
                if accesses(unit).len() > ACCESSES {
                    continue;
                }
                let change = self.change(f, profile, accesses(unit), unit);
                let over = |change: [i32; 2]| self.now.sgprs as i32 + change[0] - limit.sgprs as i32;
                let key = |change: [i32; 2]| (over(change).max(0), change[1]);
                if key(change) < key(best.0) {
                    best = (change, at);
                }
            }
        }
        Some(self.ready.take(best.1))
    }

    /// Turns the graph's edges round.
    fn edges(&mut self, regions: &Regions<'_>, count: usize) {
        let graph = &regions.graph;
        self.first_pred.clear();
        self.first_pred.push(0);
        for unit in graph.units() {
            let start = self.first_pred[self.first_pred.len() - 1];
            self.first_pred.push(start + unit.preds);
        }
        self.preds.clear();
        self.preds.resize(self.first_pred[count] as usize, 0);
        self.left.clear();
        let mut next = self.first_pred.clone();
        for unit in 0..count as u32 {
            let succs = graph.succs(unit);
            for succ in succs {
                let place = &mut next[succ.to as usize];
                self.preds[*place as usize] = unit;
                *place += 1;
            }
            self.left.push(succs.len() as u32);
        }
    }

    /// Whether a change of both files keeps to the code's order.
    fn allows(&self, change: [i32; 2], limit: Dwords) -> bool {
        self.now.sgprs as i32 + change[0] <= limit.sgprs as i32
            && (change[1] <= 0 || self.now.vgprs as i32 + change[1] <= limit.vgprs as i32)
    }

    /// What is alive in front of a unit more than behind it, in dwords of both files; of large units at most so much.
    fn change(&self, f: &Function, profile: &Profile, accesses: &[Access], unit: u32) -> [i32; 2] {
        let mut change = [0; 2];
        let mut count = |reg, sign: i32| {
            let data = f.vregs[reg];
            change[usize::from(data.file == RegFile::Vgpr)] += sign * i32::from(data.dwords);
        };
        for (n, access) in accesses.iter().enumerate() {
            let alive = self.alive[access.reg.index()];
            match access.role {
                Role::Def if alive => count(access.reg, -1),
                // In several operands it is one register.
                Role::Use | Role::Tied
                    if !alive
                        && profile.definer(access.reg) != Some(unit)
                        && (accesses.len() > ACCESSES
                            || !accesses[..n].iter().any(|other| other.reg == access.reg)) =>
                {
                    count(access.reg, 1);
                }
                _ => {}
            }
        }
        change
    }

    /// Takes a unit as the one in front of all that were taken.
    fn issue(&mut self, f: &Function, profile: &Profile, accesses: &[Access], unit: u32) {
        for (defs, alive) in [(true, false), (false, true)] {
            for access in accesses.iter().filter(|access| (access.role == Role::Def) == defs) {
                if alive && profile.definer(access.reg) == Some(unit) {
                    continue;
                }
                let data = f.vregs[access.reg];
                if std::mem::replace(&mut self.alive[access.reg.index()], alive) != alive {
                    let dwords = u32::from(data.dwords);
                    let count = self.now.of(data.file);
                    *count = if alive { *count + dwords } else { count.saturating_sub(dwords) };
                }
            }
        }
    }
}
