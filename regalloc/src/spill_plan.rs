//! What is spilled in each file, round by round: budgets, and the pressure they are for.

use crate::files::{FILES, FileLimits, PerFile, VCC_PAIR, available, kind_of};
use crate::graph::{Graph, Numbering};
use crate::liveness::{Kind, Liveness};
use crate::reload;
use crate::spill::{self, Budget, Spills};
use mir::Result;
use mir::machine::{Function, RegFile};
use mir::target::Target;
use std::rc::Rc;

/// What is known of a function that needs spills before any are inserted: all rounds start from it.
pub(crate) struct SpillPlan {
    numbering: Numbering,
    live: Rc<Liveness>,
    accesses: spill::Accesses,
    /// Dwords alive by position, scalar and vector: of registers, not webs, because spilling one of two that
    /// share a place frees nothing.
    profiles: PerFile<Vec<i32>>,
}

impl SpillPlan {
    /// A plan for `f`, whose live ranges may be `known`.
    pub fn new(
        f: &Function,
        target: &Target,
        limits: &FileLimits,
        known: Option<Rc<Liveness>>,
    ) -> Result<Self> {
        let numbering = Numbering::new(f);
        let wave = Graph::new(f, &numbering, RegFile::Sgpr);
        let thread = Graph::new(f, &numbering, RegFile::Vgpr);
        let live = match known {
            Some(live) => live,
            None => Rc::new(Liveness::compute(f, target, &numbering, &wave, &thread)?),
        };
        let pressure = |kind: Kind, which: RegFile| {
            let file = match which {
                RegFile::Sgpr => limits.scalar_file(&live),
                RegFile::Vgpr => limits.vector_file(&live, 0),
            };
            let registers = f.vregs.iter().filter(|(v, _)| Kind::of(f, *v) == kind);
            let mut pieces = Vec::new();
            for (v, data) in registers {
                live.each(v, data.dwords, |ranges, n| pieces.extend(ranges.iter().map(|&r| (r, n))));
            }
            let fixed = file.fixed.iter().filter(|r| file.allowed.contains(r.0));
            let fixed = fixed.filter(|r| r.0 < VCC_PAIR || kind != Kind::Sgpr);
            pieces.extend(fixed.map(|&(_, range)| (range, 1)));
            spill::pressure(numbering.len(), pieces.into_iter())
        };
        let mut vector = pressure(Kind::Vgpr, RegFile::Vgpr);
        // Whole-wave registers share nothing with others.
        let whole = pressure(Kind::WholeWave, RegFile::Vgpr).into_iter().max().unwrap_or(0);
        vector.iter_mut().for_each(|p| *p += whole);
        let profiles = PerFile { sgpr: pressure(Kind::Sgpr, RegFile::Sgpr), vgpr: vector };
        let accesses = spill::Accesses::new(f, target, &numbering);
        Ok(Self { numbering, live, accesses, profiles })
    }

    /// Brings the pressure of `f` under new budgets, lower ones for `file` than before.
    pub fn spill(
        &self,
        f: &mut Function,
        limits: &FileLimits,
        budgets: &mut PerFile<Option<Budget>>,
        file: RegFile,
    ) -> Result<Spills> {
        let mut spills = Spills::new(f.wave);
        let mut places = rustc_hash::FxHashMap::default();
        let mut choices: PerFile<spill::Choice> = PerFile::default();
        let mut scratch = budgets.vgpr.is_some();
        for n in FILES {
            let kind = kind_of(n);
            let profile = self.profiles[n].clone();
            let mut registers = match kind {
                Kind::Sgpr => available(kind, &limits.scalar_file(&self.live)),
                _ => available(kind, &limits.vector_file(&self.live, spills.lane_registers())),
            };
            if kind == Kind::Sgpr {
                // The resource of scratch, aligned, the wave's offset and an offset of a slot.
                let vectors = available(Kind::Vgpr, &limits.vector_file(&self.live, 0));
                scratch |= self.profiles.vgpr.iter().any(|&p| p > vectors);
                registers -= i32::from(scratch) * 6;
            }
            let most = profile.iter().copied().max().unwrap_or(0);
            if budgets[n].is_none() && most > registers {
                budgets[n] = Some(Budget::default());
            }
            let budget = match &mut budgets[n] {
                Some(budget) if n == file || budget.last().is_none() => budget.next(registers, most),
                Some(budget) => budget.last().unwrap_or(registers),
                None => registers,
            };
            let mut choice = spill::Choice { victims: Vec::new(), profile, budget };
            if budgets[n].is_some() {
                choice.victims = spill::choose(
                    f,
                    &self.live,
                    &self.numbering,
                    &self.accesses,
                    kind,
                    &mut choice.profile,
                    budget,
                );
                spill::places(f, &self.live, &self.numbering, &choice.victims, &mut spills, &mut places)?;
            }
            choices[n] = choice;
        }
        reload::insert(f, limits.hardware, &self.numbering, &choices, &places, &mut spills);
        spill::reserve(f, &spills);
        Ok(spills)
    }
}
