//! What is spilled in each file, round by round: budgets, and the pressure they are for.

use crate::access::{file_index, registers};
use crate::files::{FILES, FileLimits, PerFile, VCC_PAIR, available, kind_of};
use crate::graph::{Graph, Numbering};
use crate::liveness::{Kind, Liveness};
use crate::pack::File;
use crate::reload;
use crate::spill::{self, Budget, Pressure, Spills};
use mir::machine::{Function, Inst, Reg, RegFile, VReg};
use mir::target::Target;
use mir::{Diagnostic, Result};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::rc::Rc;

/// What is known of a function that needs spills before any are inserted: all rounds start from it.
pub(crate) struct SpillPlan {
    numbering: Numbering,
    live: Rc<Liveness>,
    accesses: spill::Accesses,
    /// Dwords alive by position, scalar and vector, those of the wave apart: of registers, not webs, because spilling one of two that
    /// share a place frees nothing.
    profiles: PerFile<Vec<i32>>,
    /// Dwords of whole-wave values alive by position.
    whole: Vec<i32>,
}

/// How much may be alive at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budgets {
    /// In each file.
    pub files: PerFile<Option<Budget>>,
    /// Of whole-wave values; `None` while none of them is spilled.
    whole: Option<i32>,
    /// Registers that are spilled besides, as they found no place among so many others.
    pub besides: Vec<VReg>,
    /// All that the last round spilled.
    spilled: FxHashSet<VReg>,
}

impl Budgets {
    /// The budget of `file` in the last round.
    pub fn last(&self, file: RegFile) -> Option<i32> {
        self.files[file].and_then(|budget| budget.last())
    }
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
            None => Rc::new(Liveness::compute(f, target, &numbering, &wave, &thread, true)?),
        };
        let values = |kind: Kind| {
            let mut pressure = Pressure::new(numbering.len());
            for (v, data) in f.vregs.iter().filter(|(v, _)| Kind::of(f, *v) == kind) {
                live.each(v, data.dwords, |ranges, n| ranges.iter().for_each(|&r| pressure.add(r, n)));
            }
            pressure
        };
        let pressure = |kind: Kind, file: &File| {
            let mut pressure = values(kind);
            let fixed = file.fixed.iter().filter(|r| file.allowed.contains(r.0));
            let fixed = fixed.filter(|r| r.0 < VCC_PAIR || kind != Kind::Sgpr);
            fixed.for_each(|&(_, range)| pressure.add(range, 1));
            pressure.by_position()
        };
        let profiles = PerFile {
            sgpr: pressure(Kind::Sgpr, &limits.scalar_file(&live)),
            vgpr: pressure(Kind::Vgpr, &limits.vector_file(&live, 0)),
        };
        let whole = values(Kind::WholeWave).by_position();
        let accesses = spill::Accesses::new(f, target, &numbering);
        Ok(Self { numbering, live, accesses, profiles, whole })
    }

    /// Lets fewer whole-wave values live at once, since some register of a file has found no place; whether that can be. Budgets of
    /// ordinary ones start anew.
    pub fn lower_whole(&self, limits: &FileLimits, budgets: &mut Budgets) -> bool {
        let most = self.whole.iter().copied().max().unwrap_or(0);
        let half = available(Kind::Vgpr, &limits.vector_file(&self.live, 0)) / 2;
        let next = match budgets.whole {
            None if most > half => half,
            None if most > 0 => 0,
            Some(last) if last > 0 => 0,
            _ => return false,
        };
        *budgets = Budgets { whole: Some(next), ..Budgets::default() };
        true
    }

    /// Registers of a file, those of spilled scalars aside.
    pub fn registers(&self, limits: &FileLimits, file: RegFile) -> i32 {
        match file {
            RegFile::Sgpr => available(Kind::Sgpr, &limits.scalar_file(&self.live)),
            RegFile::Vgpr => available(Kind::Vgpr, &limits.vector_file(&self.live, 0)),
        }
    }

    /// Those of the `wanted` registers that can be spilled and were not in the last round of `budgets`, if they are ordinary ones of `f` and `file`; what
    /// rounds added is not.
    pub fn spillable(&self, f: &Function, file: RegFile, wanted: &[VReg], budgets: &Budgets) -> Vec<VReg> {
        let weights = spill::weights(f, &self.numbering, kind_of(file));
        let spillable = |v: &VReg| {
            weights.get(v.as_u32() as usize).is_some_and(Option::is_some) && !budgets.spilled.contains(v)
        };
        wanted.iter().copied().filter(spillable).collect()
    }

    /// Says of `f`, for which the least budgets are too much, where most registers of `file` are needed at once.
    pub fn refusal(&self, f: &Function, limits: &FileLimits, file: RegFile) -> Box<Diagnostic> {
        let count = |inst: &Inst| {
            let mut seen: SmallVec<[(Reg, u8); 8]> = SmallVec::new();
            for (_, operand) in registers(inst) {
                let own = match operand.reg {
                    Reg::Virtual(v) => f.vregs[v].file == file,
                    Reg::Physical(reg) => file_index(reg).is_some_and(|(own, _)| own == file),
                };
                if own && !seen.iter().any(|&(reg, _)| reg == operand.reg) {
                    seen.push((operand.reg, operand.dwords));
                }
            }
            seen.iter().map(|&(_, dwords)| u32::from(dwords)).sum::<u32>()
        };
        let code = self.numbering.order.iter().flat_map(|&b| f.blocks[b].insts.iter().map(move |i| (b, i)));
        let most = code.map(|(block, inst)| (count(inst), block, inst.op)).max_by_key(|&(most, ..)| most);
        let (name, registers) = match file {
            RegFile::Sgpr => ("scalar", self.registers(limits, file)),
            RegFile::Vgpr => ("vector", self.registers(limits, file)),
        };
        let text = format!("an instruction needs more {name} registers than the {registers} that there are");
        match most {
            Some((most, block, op)) => {
                Diagnostic::unsupported(format!("{text}; most are accessed here, {most}"))
                    .at(format!("{} in {block}", op.info().name))
            }
            None => Diagnostic::unsupported(text),
        }
    }

    /// Brings the pressure of `f` under `budgets`, a lower one for the file `lower` than before.
    pub fn spill(
        &self,
        f: &mut Function,
        limits: &FileLimits,
        budgets: &mut Budgets,
        lower: Option<RegFile>,
    ) -> Result<Spills> {
        let mut spills = Spills::new(f.wave);
        let mut places = rustc_hash::FxHashMap::default();
        let mut choices: PerFile<spill::Choice> = PerFile::default();
        // Whole-wave registers share nothing with others.
        let mut whole = self.whole.clone();
        if let Some(budget) = budgets.whole {
            let kind = Kind::WholeWave;
            let victims =
                spill::choose(f, &self.live, &self.numbering, &self.accesses, kind, &mut whole, budget);
            spill::places(f, &self.live, &self.numbering, &victims, &mut spills, &mut places)?;
        }
        let whole = whole.into_iter().max().unwrap_or(0);
        let Budgets { files: budgets, whole: whole_budget, besides, spilled } = budgets;
        let all_lanes = whole_budget.is_some();
        let mut scratch = budgets.vgpr.is_some() || all_lanes;
        for n in FILES {
            let kind = kind_of(n);
            let mut profile = self.profiles[n].clone();
            if kind == Kind::Vgpr {
                profile.iter_mut().for_each(|p| *p += whole);
            }
            let mut registers = match kind {
                Kind::Sgpr => available(kind, &limits.scalar_file(&self.live)),
                _ => available(kind, &limits.vector_file(&self.live, spills.lane_registers())),
            };
            if kind == Kind::Sgpr {
                // The resource of scratch, aligned, the wave's offset and an offset of a slot.
                let vectors = available(Kind::Vgpr, &limits.vector_file(&self.live, 0));
                scratch |= self.profiles.vgpr.iter().any(|&p| p + whole > vectors);
                // And the lanes of the block beside accesses in all lanes.
                registers -= i32::from(scratch) * 6 + i32::from(all_lanes) * 4;
            }
            let most = profile.iter().copied().max().unwrap_or(0);
            if budgets[n].is_none() && most > registers {
                budgets[n] = Some(Budget::default());
            }
            let budget = match &mut budgets[n] {
                Some(budget) if lower == Some(n) || budget.last().is_none() => budget.next(registers, most),
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
                let chosen: FxHashSet<VReg> = choice.victims.iter().copied().collect();
                let besides = besides.iter().filter(|&v| kind == Kind::of(f, *v) && !chosen.contains(v));
                // The profile has them still: what is held loaded must not take their room.
                choice.victims.extend(besides);
                spill::places(f, &self.live, &self.numbering, &choice.victims, &mut spills, &mut places)?;
            }
            choices[n] = choice;
        }
        *spilled = places.keys().copied().collect();
        reload::insert(f, limits.hardware, &self.numbering, &choices, &places, &mut spills);
        spill::reserve(f, &spills);
        Ok(spills)
    }
}

#[cfg(test)]
mod tests {
    use super::SpillPlan;
    use crate::Options;
    use crate::files::FileLimits;
    use crate::fuzz::target;
    use mir::isa::Opcode;
    use mir::machine::{CallSite, EntryValue, Function, Inst, Operand, PReg, RegFile, Terminator};

    /// A call takes the registers that it changes where it stands, and none anywhere else.
    #[test]
    fn a_call_is_no_pressure_elsewhere() {
        let mut f = Function::new("f", mir::ir::CallConv::Kernel, mir::ir::Func::from_u32(0));
        let block = f.add_block();
        let x = f.new_vreg(RegFile::Vgpr, 1);
        f.entry.request(EntryValue::WorkitemIdX, Some(x));
        let callee = f.new_vreg(RegFile::Sgpr, 2);
        f.entry.request(EntryValue::KernargSegmentPtr, Some(callee));
        f.calls.push(CallSite::default());
        let link = Operand::preg(PReg::sgpr(30), 2);
        let sum = f.new_vreg(RegFile::Vgpr, 1);
        let mut push = |op, operands: &[Operand]| {
            f.blocks[block].push(Inst::new(op, operands.iter().copied()));
        };
        push(Opcode::CALL, &[link, Operand::vreg(callee, 2), Operand::Imm(0)]);
        push(Opcode::V_ADD_F32, &[Operand::vreg(sum, 1), Operand::vreg(x, 1), Operand::vreg(x, 1)]);
        f.blocks[block].term = Terminator::EndProgram;
        let target = target("gfx900");
        let limits = FileLimits::new(&f, &target, &Options::default());
        let plan = SpillPlan::new(&f, &target, &limits, None).unwrap();
        let vector = &plan.profiles.vgpr;
        assert!(*vector.iter().max().unwrap() > 40, "{vector:?}");
        assert_eq!([vector.first(), vector.last()], [Some(&1), Some(&0)], "{vector:?}");
    }
}
