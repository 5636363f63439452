//! Makes a program that goes wrong smaller as long as it still goes wrong.
//!
//! One simplification at a time is tried, the greatest first: a block left out, an edge that leads to the
//! exit instead, a branch made a jump, an operation left out, a variable moved to SSA values. A program that
//! does not end any more counts as not wrong. Cost: some hundred runs, twenty seconds at most.

use super::evaluate::evaluate;
use super::program::*;
use super::random::reachable_part;
use std::time::{Duration, Instant};

/// Most simplifications that are tried.
const TRIES: usize = 4000;
/// Longest that is tried.
const TIME: Duration = Duration::from_secs(20);

/// The smallest program found for which `fails` still holds, which holds for `program`.
pub fn reduce(program: &Program, inputs: Inputs, fails: &dyn Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut tries = TRIES;
    let mut at = 0;
    // The end of a round without progress ends it all.
    let mut progress = false;
    let start = Instant::now();
    while tries > 0 && start.elapsed() < TIME {
        let candidates = candidates(&best);
        let Some(candidate) = candidates.get(at) else {
            if !std::mem::take(&mut progress) {
                break;
            }
            at = 0;
            continue;
        };
        tries -= 1;
        if *candidate != best && evaluate(candidate, inputs).is_ok() && fails(candidate) {
            best = candidate.clone();
            progress = true;
        } else {
            at += 1;
        }
    }
    best
}

/// Programs that are one step simpler.
fn candidates(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Program)| {
        let mut candidate = program.clone();
        change(&mut candidate);
        candidate.settle();
        all.push(candidate);
    };
    let exit = program.graph.exit();
    for block in (0..usize::from(exit)).rev() {
        // Whoever went there goes where it goes.
        let targets = program.graph.ends[block].targets().iter();
        for &to in targets.filter(|&&to| usize::from(to) != block && (block != 0 || to != exit)) {
            add(&|p| redirect(p, block as u8, to));
        }
    }
    for block in (0..usize::from(exit)).rev() {
        let end = &program.graph.ends[block];
        if end.targets().len() > 1 {
            for &to in end.targets() {
                add(&|p| p.set_end(block, End::Jump(to)));
            }
        }
        if let End::Switch { divergent, to } = end {
            for left_out in 0..to.len() {
                let mut to = to.clone();
                to.remove(left_out);
                let end = match to[..] {
                    [a, b] => End::Branch { divergent: *divergent, to: [a, b] },
                    _ => End::Switch { divergent: *divergent, to },
                };
                add(&|p| p.set_end(block, end.clone()));
            }
        }
        for at in (0..end.targets().len()).filter(|&at| end.targets()[at] != exit) {
            add(&|p| {
                p.graph.ends[block].targets_mut()[at] = exit;
                p.drop_unreachable();
            });
        }
        if *end == End::Return {
            add(&|p| p.set_end(block, End::Jump(exit)));
        }
        for at in (0..program.blocks[block].ops.len()).rev() {
            add(&|p| {
                p.blocks[block].ops.remove(at);
            });
        }
        if program.blocks[block].fuel != Fuel::Free {
            add(&|p| p.blocks[block].fuel = Fuel::Free);
        }
        if !matches!(program.blocks[block].cond, Cond::Const(_)) {
            for value in [false, true] {
                add(&|p| p.blocks[block].cond = Cond::Const(value));
            }
            for var in [Var::M, Var::N] {
                if program.blocks[block].cond != Cond::Mask(var) {
                    add(&|p| p.blocks[block].cond = Cond::Mask(var));
                }
            }
        }
    }
    for var in 0..6 {
        if program.homes[var] != Home::Ssa {
            add(&|p| p.homes[var] = Home::Ssa);
        }
        if program.stored[var] {
            add(&|p| p.stored[var] = false);
        }
    }
    if program.uneven_fuel {
        add(&|p| p.uneven_fuel = false);
    }
    if program.fuel > 1 {
        add(&|p| p.fuel -= 1);
    }
    for value in [false, true] {
        add(&|p| p.mask = Cond::Const(value));
    }
    if program.lanes > program.waves.lanes {
        add(&|p| {
            p.lanes = p.waves.lanes;
            p.blocks.iter_mut().for_each(|block| block.ops.retain(|op| !matches!(op, Op::Exchange { .. })));
        });
    }
    all
}

/// Leads all edges to `block` to `to` instead.
fn redirect(program: &mut Program, block: u8, to: u8) {
    for end in &mut program.graph.ends {
        end.targets_mut().iter_mut().filter(|place| **place == block).for_each(|place| *place = to);
    }
    if block == 0 {
        // The entry leads to block 0, so the two change places.
        program.graph.ends.swap(0, usize::from(to));
        program.blocks.swap(0, usize::from(to));
        for end in &mut program.graph.ends {
            for place in end.targets_mut() {
                *place = match *place {
                    0 => to,
                    place if place == to => 0,
                    place => place,
                };
            }
        }
    }
    program.drop_unreachable();
}

impl Program {
    /// Gives `block` another end.
    fn set_end(&mut self, block: usize, end: End) {
        if let Fuel::Drive { to } = &mut self.blocks[block].fuel {
            *to = (*to).min(end.targets().len().saturating_sub(1) as u8);
        }
        self.graph.ends[block] = end;
        self.drop_unreachable();
    }

    /// Removes the blocks that cannot be reached.
    fn drop_unreachable(&mut self) {
        let reachable = self.graph.reachable();
        let mut seen = reachable.iter();
        self.blocks.retain(|_| seen.next().is_none_or(|&seen| seen));
        self.graph = reachable_part(self.graph.clone());
    }
}
