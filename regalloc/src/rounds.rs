//! Rounds of spilling: what is too much for the registers is spilled under ever smaller budgets until the rest finds a place.
//!
//! Where tuples and lifetimes with holes leave few registers without a place, those are spilled besides, before anything else is tried.
//!
//! The first budget that suffices is a large step below one that did not. So budgets between are tried, too, and the one that leaves the
//! fewest instructions is taken: what is spilled for nothing is stored and loaded for nothing.

use crate::attempt::{Attempt, Failure};
use crate::files::FileLimits;
use crate::spill::Budget;
use crate::spill_plan::{Budgets, SpillPlan};
use crate::{Allocator, Options};
use mir::Result;
use mir::machine::{Function, RegFile};
use mir::target::Target;

/// Rounds in which what found no place is spilled besides.
const BESIDES: usize = 4;
/// The share of a file that may be.
const FEW: i32 = 8;
/// Budgets between that are tried.
const BETWEEN: usize = 2;

/// What the rounds of a function have in common.
pub(crate) struct Rounds<'a> {
    pub f: &'a Function,
    pub target: &'a Target,
    pub options: &'a Options,
    pub limits: &'a FileLimits,
    pub plan: &'a SpillPlan,
}

impl Rounds<'_> {
    /// The function with all registers bound, of which an attempt without spills `failed`.
    pub fn run(&self, memory: &mut Allocator, failed: &Failure) -> Result<Function> {
        let mut file = failed.file;
        let mut budgets = Budgets::default();
        budgets.files[file] = Some(Budget::after(failed.short));
        let (mut lower, mut besides) = (true, 0);
        let mut refused = None;
        loop {
            let failed = match self.round(memory, &mut budgets, lower.then_some(file))? {
                Ok(bound) => match refused {
                    Some(refused) => return self.between(memory, bound, budgets, file, refused),
                    None => return Ok(bound),
                },
                Err(failed) => failed,
            };
            let few = failed.short * FEW <= self.plan.registers(self.limits, file);
            if failed.file == file && few && besides < BESIDES {
                besides += 1;
                let spillable = self.plan.spillable(self.f, file, &failed.homeless, &budgets);
                lower = spillable.is_empty();
                budgets.besides.extend(spillable);
            } else {
                lower = true;
            }
            if !lower {
                continue;
            }
            budgets.besides.clear();
            refused = budgets.last(failed.file).filter(|_| failed.file == file);
            file = failed.file;
            let budget = budgets.files[file].get_or_insert_default();
            if !budget.spent() {
                budget.short = failed.short;
            } else if file == RegFile::Vgpr && self.plan.lower_whole(self.limits, &mut budgets) {
                budgets.files[file] = Some(Budget::after(failed.short));
                refused = None;
            } else {
                return Err(self.plan.refusal(self.f, self.limits, file));
            }
        }
    }

    /// One round, with a lower budget for a file if asked.
    fn round(
        &self,
        memory: &mut Allocator,
        budgets: &mut Budgets,
        lower: Option<RegFile>,
    ) -> Result<std::result::Result<Function, Failure>> {
        let mut spilled = self.f.clone();
        let spills = self.plan.spill(&mut spilled, self.limits, budgets, lower)?;
        #[cfg(test)]
        if let Some(damage) = &mut memory.damage {
            damage.spilled(&mut spilled);
        }
        let attempt = Attempt::new(&spilled, self.target, self.options, self.limits, Some(&spills), false)?;
        Ok(match attempt.run(&mut spilled, memory)? {
            None => Ok(spilled),
            Some(failed) => Err(failed),
        })
    }

    /// Tries budgets for `file` between those that left what is `bound` and the one that was `refused`.
    fn between(
        &self,
        memory: &mut Allocator,
        mut bound: Function,
        mut budgets: Budgets,
        file: RegFile,
        mut refused: i32,
    ) -> Result<Function> {
        let mut least = work(&bound);
        for _ in 0..BETWEEN {
            let Some(suffices) = budgets.last(file).filter(|&suffices| refused - suffices > 1) else { break };
            let middle = suffices + (refused - suffices + 1) / 2;
            let mut more = budgets.clone();
            more.files[file] = Some(Budget::of(middle));
            more.besides.clear();
            match self.round(memory, &mut more, None)? {
                Ok(next) => {
                    let work = work(&next);
                    if work < least {
                        (bound, least) = (next, work);
                    }
                    budgets = more;
                }
                Err(_) => refused = middle,
            }
        }
        Ok(bound)
    }
}

/// Instructions, in loops eight times those around them for each level.
fn work(f: &Function) -> u64 {
    let blocks = f.layout.iter().map(|&block| &f.blocks[block]);
    let work = |depth: u32, insts: usize| (insts as u64).saturating_mul(1 << (3 * depth.min(8)));
    blocks.fold(0, |sum, data| sum.saturating_add(work(u32::from(data.loop_depth), data.insts.len())))
}
