//! What is spilled in each file, round by round: budgets, and the pressure they are for.

use crate::files::{FILES, FileLimits, PerFile, VCC_PAIR, available, kind_of};
use crate::graph::{Graph, Numbering};
use crate::liveness::{Kind, Liveness};
use crate::pack::File;
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
        let pieces = |kind: Kind| {
            let mut pieces = Vec::new();
            for (v, data) in f.vregs.iter().filter(|(v, _)| Kind::of(f, *v) == kind) {
                live.each(v, data.dwords, |ranges, n| pieces.extend(ranges.iter().map(|&r| (r, n))));
            }
            pieces
        };
        let pressure = |kind: Kind, file: &File| {
            let mut pieces = pieces(kind);
            let fixed = file.fixed.iter().filter(|r| file.allowed.contains(r.0));
            let fixed = fixed.filter(|r| r.0 < VCC_PAIR || kind != Kind::Sgpr);
            pieces.extend(fixed.map(|&(_, range)| (range, 1)));
            spill::pressure(numbering.len(), pieces.into_iter())
        };
        let mut vector = pressure(Kind::Vgpr, &limits.vector_file(&live, 0));
        // Whole-wave registers share nothing with others.
        let whole = spill::pressure(numbering.len(), pieces(Kind::WholeWave).into_iter());
        let whole = whole.into_iter().max().unwrap_or(0);
        vector.iter_mut().for_each(|p| *p += whole);
        let profiles = PerFile { sgpr: pressure(Kind::Sgpr, &limits.scalar_file(&live)), vgpr: vector };
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
