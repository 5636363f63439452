//! Broken allocations: what the checker must notice, by the judgement of [`crate::interpret`].
//!
//! An allocation is broken in one place. The interpreter runs it along several paths; where anything is read
//! that differs from the code before allocation the damage does harm, and the checker must refuse it. Damage
//! that the interpreter does not see (a value that nobody reads, a register that happens to hold the same)
//! may pass.

use crate::fuzz::{Generator, Shape, target};
use crate::interpret::Case;
use crate::rewrite::Trace;
use crate::{Allocator, Options};
use mir::isa::{Opcode, Role};
use mir::machine::{Function, Inst, Operand, PReg, Reg};

/// One way to break an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Break {
    /// Two results of neighbouring instructions change registers.
    Swap,
    /// A result goes to the next register.
    Result,
    /// A source comes from the next register.
    Source,
    /// An inserted move is lost.
    Move,
    /// An inserted move reads the next register.
    Misdirect,
    /// Two neighbouring inserted moves change order.
    Order,
    /// A reload is lost.
    Reload,
    /// A store of a spilled value is lost.
    Store,
    /// Spilling stores to or loads from another slot.
    Slot,
}

/// Breaks the `n`th place of an allocation where that is possible.
pub(crate) struct Damage {
    pub kind: Break,
    n: usize,
    /// The broken function, if there was such a place.
    pub broken: Option<Function>,
    done: bool,
}

impl Damage {
    /// Breaks spilling, before anything is allocated.
    pub fn spilled(&mut self, f: &mut Function) {
        if self.kind != Break::Slot {
            return;
        }
        self.done = false;
        let mut left = self.n;
        for block in f.layout.clone() {
            for inst in &mut f.blocks[block].insts {
                let lane = matches!(inst.op, Opcode::V_READLANE_B32 | Opcode::V_WRITELANE_B32);
                if !lane && inst.frame_access().is_none() {
                    continue;
                }
                if left > 0 {
                    left -= 1;
                    continue;
                }
                match &mut inst.operands[2] {
                    Operand::Imm(n) => *n ^= 1,
                    _ => inst.mods.offset ^= 4,
                }
                self.done = true;
                return;
            }
        }
    }

    /// Breaks the result.
    pub fn allocated(&mut self, f: &mut Function, traces: &mut [Trace]) {
        let mut left = self.n;
        for (i, block) in f.layout.clone().into_iter().enumerate() {
            if self.kind == Break::Slot {
                break;
            }
            let insts = &mut f.blocks[block].insts;
            for j in 0..insts.len() {
                let Some(change) = self.change(insts, &traces[i], j) else { continue };
                if left > 0 {
                    left -= 1;
                    continue;
                }
                self.done = true;
                match change {
                    Change::Operand(k, operand) => insts[j].operands[k] = operand,
                    Change::Results => {
                        let (a, b) = (insts[j].operands[0], insts[j + 1].operands[0]);
                        insts[j].operands[0] = b;
                        insts[j + 1].operands[0] = a;
                    }
                    Change::Places => insts.swap(j, j + 1),
                    Change::Lost => {
                        // A register moved to itself in its place keeps the numbering of the trace.
                        let first = insts[j].operands[0].as_reg().copied();
                        let op = match first.map(|r| r.reg) {
                            Some(Reg::Physical(r)) if r.is_vgpr() => Opcode::V_MOV_B32,
                            _ => Opcode::S_MOV_B32,
                        };
                        insts[j] = Inst::new(op, [insts[j].operands[0], insts[j].operands[0]]);
                        traces[i].origin[j] = None;
                    }
                }
                self.broken = Some(f.clone());
                return;
            }
        }
        if self.done {
            self.broken = Some(f.clone());
        }
    }

    /// What would break instruction `j`.
    fn change(&self, insts: &[Inst], trace: &Trace, j: usize) -> Option<Change> {
        let inst = &insts[j];
        let inserted = trace.origin[j].is_none();
        let is_move =
            |inst: &Inst| matches!(inst.op, Opcode::V_MOV_B32 | Opcode::S_MOV_B32 | Opcode::S_MOV_B64);
        let from_register = |inst: &Inst| inst.operands[1].as_reg().is_some();
        let next = insts.get(j + 1);
        match self.kind {
            Break::Swap => {
                let single = |inst: &Inst| inst.op == Opcode::V_ADD_F32;
                let reads = |a: &Inst, b: &Inst| a.operands[1..].contains(&b.operands[0]);
                next.filter(|next| {
                    single(inst) && single(next) && !reads(next, inst) && inst.operands[0] != next.operands[0]
                })
                .map(|_| Change::Results)
            }
            Break::Result | Break::Source if !inserted && !is_move(inst) => {
                let role = if self.kind == Break::Result { Role::Def } else { Role::Use };
                let rows = inst.op.info().operands.iter().zip(&inst.operands).enumerate();
                rows.filter(|(_, (row, _))| row.role == role)
                    .find_map(|(k, (_, operand))| Some(Change::Operand(k, further(operand)?)))
            }
            Break::Move => (inserted && is_move(inst)).then_some(Change::Lost),
            Break::Misdirect if inserted && is_move(inst) => {
                Some(Change::Operand(1, further(&inst.operands[1])?))
            }
            Break::Order => {
                let both = inserted && trace.origin.get(j + 1).is_some_and(Option::is_none);
                let next = next.filter(|n| both && is_move(n) && is_move(inst))?;
                // Only where one reads what the other writes.
                (from_register(inst) && next.operands[0] == inst.operands[1]
                    || from_register(next) && inst.operands[0] == next.operands[1])
                    .then_some(Change::Places)
            }
            Break::Reload => {
                let load = inst.frame_access().is_some_and(|access| !access.store);
                (load || inst.op == Opcode::V_READLANE_B32).then_some(Change::Lost)
            }
            Break::Store => {
                let store = inst.frame_access().is_some_and(|access| access.store);
                (store || inst.op == Opcode::V_WRITELANE_B32).then_some(Change::Lost)
            }
            _ => None,
        }
    }
}

enum Change {
    Operand(usize, Operand),
    Results,
    Places,
    Lost,
}

/// The registers after those of `operand`, where there are some.
fn further(operand: &Operand) -> Option<Operand> {
    let mut reg = *operand.as_reg()?;
    let Reg::Physical(first) = reg.reg else { return None };
    let (n, end) = match first.vgpr_index() {
        Some(n) => (n, 256),
        None => (first.sgpr_index()?, 100),
    };
    let step = u16::from(crate::webs::alignment(
        if first.is_vgpr() { mir::machine::RegFile::Vgpr } else { mir::machine::RegFile::Sgpr },
        reg.dwords,
    ));
    (n + step + u16::from(reg.dwords) <= end).then(|| {
        reg.reg = PReg(first.0 + step).into();
        Operand::Reg(reg)
    })
}

#[test]
fn harm_is_noticed() {
    let full = std::env::var("GCNC_FUZZ").is_ok();
    let shapes = [
        Shape { size: 120, vgprs: 60, sgprs: 110, depth: 2, straight: 6 },
        Shape { size: 250, vgprs: 45, sgprs: 60, depth: 3, straight: 4 },
    ];
    let target = target("gfx900");
    let options = Options { verify: true, max_vgprs: Some(40), ..Options::default() };
    use Break::*;
    for kind in [Swap, Result, Source, Move, Misdirect, Order, Reload, Store, Slot] {
        let (mut broken, mut harmful, mut noticed) = (0, 0, 0);
        for seed in 0..if full { 400 } else { 24 } {
            let (before, divergent) = Generator::with_divergent(seed, shapes[seed as usize % 2]);
            for n in [0, 1, 3, 6, 11, 20, 37] {
                let damage = Damage { kind, n: n + seed as usize % 3, broken: None, done: false };
                let mut allocator = Allocator { damage: Some(damage), ..Allocator::default() };
                let result = allocator.allocated(before.clone(), &target, &options);
                let Some(after) = allocator.damage.and_then(|d| d.broken) else {
                    assert!(result.is_ok(), "{kind:?} {seed} {n}: {result:?}");
                    break;
                };
                let case = Case { before: &before, after: &after, divergent: &divergent, target: &target };
                let harm = (0..12).find_map(|path| case.run(path).err());
                broken += 1;
                harmful += usize::from(harm.is_some());
                noticed += usize::from(result.is_err());
                if let Some(harm) = harm {
                    assert!(result.is_err(), "{kind:?} of seed {seed}, place {n}, is not noticed: {harm}");
                }
            }
        }
        println!("{kind:?}: {broken} broken, {harmful} with harm, {noticed} noticed");
        assert!(harmful >= 4, "{kind:?}: only {harmful} of {broken} did harm");
    }
}
