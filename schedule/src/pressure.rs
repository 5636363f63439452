//! How many registers a region takes, whichever order its units are issued in.
//!
//! The profile has for each *gap*, in front of a unit and behind the last one, the dwords that are alive there if all units that are left
//! follow in the code's order. Who issues a unit before others moves its results in front of them and the ends of what
//! it reads last; the profile follows, so what is allowed never takes more than it says.

use crate::code::{Access, Code, Role};
use crate::graph::Unit;
use crate::list::{Pressure, Room};
use crate::live::Dwords;
use cranelift_entity::EntityRef;
use mir::machine::{Function, RegFile, VReg};

const NONE: u32 = u32::MAX;

/// What is known of a virtual register.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The block for which `alive` counts.
    block: u32,
    alive: bool,
    /// The region for which the rest counts.
    region: u32,
    /// Whether it lives behind the region.
    leaves: bool,
    /// Unit that defines it.
    def: u32,
    /// The last one of its uses that are left, an index into [`Profile::uses`].
    last: u32,
    /// The use found last, which is the earliest.
    first: u32,
    /// The walk over operands that came by last, as a register may be in several.
    visit: u32,
}

/// A unit that uses a register.
#[derive(Clone, Copy, Debug)]
struct Use {
    unit: u32,
    /// The use before this one.
    before: u32,
}

/// What a region takes, and what it may take.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    states: Vec<State>,
    uses: Vec<Use>,
    gaps: [Vec<i32>; 2],
    issued: Vec<bool>,
    block: u32,
    region: u32,
    visits: u32,
    /// Dwords alive at the place that the walk backwards has come to.
    pub now: Dwords,
    /// The most there were since [`Profile::enter_block`].
    pub most: Dwords,
}

/// Index of a file in pairs.
#[inline]
fn index(file: RegFile) -> usize {
    match file {
        RegFile::Sgpr => 0,
        RegFile::Vgpr => 1,
    }
}

impl Profile {
    /// A profile for regions of `f`.
    pub fn new(f: &Function) -> Self {
        let none = State {
            block: NONE,
            alive: false,
            region: NONE,
            leaves: false,
            def: NONE,
            last: NONE,
            first: NONE,
            visit: 0,
        };
        Self { states: vec![none; f.vregs.len()], ..Self::default() }
    }

    /// Starts at the end of a block behind which `dwords` live, of which it accesses `near`.
    pub fn enter_block(&mut self, dwords: Dwords, near: &[VReg]) {
        self.block += 1;
        self.now = dwords;
        self.most = dwords;
        for reg in near {
            let state = &mut self.states[reg.index()];
            (state.block, state.alive) = (self.block, true);
        }
    }

    #[inline]
    fn state(&mut self, reg: VReg) -> &mut State {
        let state = &mut self.states[reg.index()];
        if state.block != self.block {
            (state.block, state.alive) = (self.block, false);
        }
        state
    }

    /// Goes over an instruction backwards.
    #[inline]
    pub fn step(&mut self, f: &Function, accesses: &[Access]) {
        for access in accesses {
            let data = f.vregs[access.reg];
            if access.role == Role::Def && std::mem::replace(&mut self.state(access.reg).alive, false) {
                *self.now.of(data.file) -= u32::from(data.dwords);
            }
        }
        for access in accesses {
            let data = f.vregs[access.reg];
            if access.role != Role::Def && !std::mem::replace(&mut self.state(access.reg).alive, true) {
                *self.now.of(data.file) += u32::from(data.dwords);
            }
        }
        self.most = self.most.max(self.now);
    }

    /// Goes over the units of a region backwards, and takes them up.
    pub fn region(&mut self, f: &Function, code: &Code, first: u32, units: &[Unit]) {
        self.region += 1;
        self.uses.clear();
        self.issued.clear();
        self.issued.resize(units.len(), false);
        self.gaps.iter_mut().for_each(|gaps| {
            gaps.clear();
            gaps.resize(units.len() + 1, 0);
        });
        self.gap(units.len());
        for (u, unit) in units.iter().enumerate().rev() {
            mir::interrupt::checkpoint();
            for k in (unit.start..unit.end).rev() {
                let accesses = code.accesses(first + k);
                for access in accesses {
                    self.note(access, u as u32);
                }
                self.step(f, accesses);
            }
            self.gap(u);
        }
    }

    fn gap(&mut self, place: usize) {
        self.gaps[0][place] = self.now.sgprs as i32;
        self.gaps[1][place] = self.now.vgprs as i32;
    }

    /// An access of unit `u`, in front of all that have been noted.
    fn note(&mut self, access: &Access, u: u32) {
        let region = self.region;
        let known = self.uses.len() as u32;
        let state = self.state(access.reg);
        if state.region != region {
            let leaves = state.alive;
            *state = State { region, leaves, def: NONE, last: NONE, first: NONE, ..*state };
        }
        if access.role == Role::Def {
            state.def = u;
            return;
        }
        let first = std::mem::replace(&mut state.first, known);
        if first == NONE {
            state.last = known;
        } else if self.uses[first as usize].unit == u {
            self.states[access.reg.index()].first = first;
            return;
        } else {
            self.uses[first as usize].before = known;
        }
        self.uses.push(Use { unit: u, before: NONE });
    }

    /// Whether `reg`, which the region accesses, lives behind it.
    pub fn leaves(&self, reg: VReg) -> bool {
        let state = &self.states[reg.index()];
        state.region == self.region && state.leaves
    }

    /// The unit of the region that defines `reg`, which it accesses.
    pub fn definer(&self, reg: VReg) -> Option<u32> {
        let state = &self.states[reg.index()];
        (state.region == self.region && state.def != NONE).then_some(state.def)
    }

    /// Calls `visit` with the units that use `reg`, the last one first; nothing where it lives behind the region.
    pub fn ended_uses(&self, reg: VReg, mut visit: impl FnMut(u32)) {
        let state = &self.states[reg.index()];
        if state.region == self.region && !state.leaves {
            self.uses_from(state.last, &mut visit);
        }
    }

    /// Calls `visit` with the units that use `reg`, the last one first.
    pub fn all_uses(&self, reg: VReg, mut visit: impl FnMut(u32)) {
        let state = &self.states[reg.index()];
        if state.region == self.region {
            self.uses_from(state.last, &mut visit);
        }
    }

    fn uses_from(&self, mut at: u32, visit: &mut impl FnMut(u32)) {
        while let Some(found) = self.uses.get(at as usize) {
            visit(found.unit);
            at = found.before;
        }
    }

    /// The last use of `reg` that is left, at or before `at`.
    fn left(&self, mut at: u32) -> u32 {
        while let Some(found) = self.uses.get(at as usize)
            && self.issued[found.unit as usize]
        {
            at = found.before;
        }
        at
    }

    /// Calls `visit` with the file and dwords of each register that `unit` ends, and the unit that uses it last if not `unit`.
    fn ends(
        &mut self,
        f: &Function,
        accesses: &[Access],
        unit: u32,
        mut visit: impl FnMut(&mut Self, RegFile, i32, Option<u32>),
    ) {
        self.visits += 1;
        for access in accesses.iter().filter(|access| access.role != Role::Def) {
            let reg = access.reg;
            let state = &mut self.states[reg.index()];
            if std::mem::replace(&mut state.visit, self.visits) == self.visits
                || state.leaves
                || state.def == unit
            {
                continue;
            }
            let last = state.last;
            let last = self.left(last);
            self.states[reg.index()].last = last;
            let Some(&Use { unit: ends, before }) = self.uses.get(last as usize) else { continue };
            if ends != unit {
                continue;
            }
            let before = self.left(before);
            let next = self.uses.get(before as usize).map(|found| found.unit);
            let data = f.vregs[reg];
            visit(self, data.file, i32::from(data.dwords), next);
        }
    }
}

/// A region, its profile and what it may take.
pub(crate) struct Region<'a> {
    pub f: &'a Function,
    pub code: &'a Code,
    /// First instruction of the block in `code`.
    pub first: u32,
    pub units: &'a [Unit],
    pub profile: &'a mut Profile,
    pub budget: Dwords,
    /// VGPRs that the function takes anyway.
    pub taken: u32,
}

impl Region<'_> {
    fn accesses(&self, unit: u32) -> &[Access] {
        // Accesses of neighbours are neighbours.
        let unit = &self.units[unit as usize];
        self.code.accesses_of(self.first + unit.start..self.first + unit.end)
    }

    /// Dwords that `unit` leaves behind, by file.
    fn results(&self, unit: u32) -> [i32; 2] {
        let mut results = [0; 2];
        for access in self.accesses(unit).iter().filter(|access| access.role == Role::Def) {
            let state = &self.profile.states[access.reg.index()];
            let used = |at: u32| self.profile.uses.get(at as usize).is_some_and(|found| found.unit != unit);
            if state.leaves || used(state.last) {
                let data = self.f.vregs[access.reg];
                results[index(data.file)] += i32::from(data.dwords);
            }
        }
        results
    }
}

impl Pressure for Region<'_> {
    fn room(&mut self, unit: u32, next: u32) -> Room {
        if unit == next {
            return Room::Spare;
        }
        let mut change = self.results(unit);
        let (f, code) = (self.f, self.code);
        let range = self.first + self.units[unit as usize].start..self.first + self.units[unit as usize].end;
        self.profile.ends(f, code.accesses_of(range), unit, |_, file, dwords, last| {
            if last.is_none() {
                change[index(file)] -= dwords;
            }
        });
        let needed = [0, 1].map(|n| match change[n] {
            ..=0 => 0,
            more => {
                let gaps = &self.profile.gaps[n][next as usize..=unit as usize];
                gaps.iter().copied().max().unwrap_or(0) + more
            }
        });
        match needed[0] <= self.budget.sgprs as i32 && needed[1] <= self.budget.vgprs as i32 {
            true if needed[1] <= self.taken as i32 => Room::Spare,
            true => Room::More,
            false => Room::None,
        }
    }

    fn issued(&mut self, unit: u32, next: u32) {
        if unit != next {
            let results = self.results(unit);
            for (gaps, dwords) in self.profile.gaps.iter_mut().zip(results) {
                if dwords != 0 {
                    gaps[next as usize..=unit as usize].iter_mut().for_each(|gap| *gap += dwords);
                }
            }
            let range =
                self.first + self.units[unit as usize].start..self.first + self.units[unit as usize].end;
            let accesses = self.code.accesses_of(range);
            self.profile.ends(self.f, accesses, unit, |profile, file, dwords, last| {
                let from = last.map_or(next, |last| last + 1) as usize;
                profile.gaps[index(file)][from..=unit as usize].iter_mut().for_each(|gap| *gap -= dwords);
            });
        }
        self.profile.issued[unit as usize] = true;
    }
}
