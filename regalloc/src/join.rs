//! Which webs are joined, and what is left to wish for.
//!
//! Affinities are joined one after the other, those in the innermost loops first; each join may make another
//! impossible. Where some remain that another order could have joined, the registers that they are about are
//! *contested*: [`crate::units`] asks regalloc2 about these alone, joins everything once more with what it
//! put together first, and the better of both, by the dwords that must move weighted by loop depth, is taken.
//! So advice costs nothing where there is nothing to gain.

use crate::graph::{Graph, Numbering};
use crate::liveness::{Kind, Liveness};
use crate::pack::Hints;
use crate::units::Units;
use crate::webs::{Affinity, Webs, affinities};
use mir::analysis::Classes;
use mir::isa::Opcode;
use mir::machine::{Function, Operand, Reg, VReg};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;

/// regalloc2 is not asked if contested registers have more live ranges than this for each position of the
/// code, besides [`FEW_RANGES`]: its time follows them.
const RANGES_BY_POSITION: f32 = 0.25;
const FEW_RANGES: f32 = 2000.0;

/// What joining reads.
#[derive(Clone, Copy)]
pub(crate) struct Joiner<'a> {
    pub f: &'a Function,
    pub live: &'a Liveness,
    pub numbering: &'a Numbering,
    pub wave: &'a Graph,
    pub thread: &'a Graph,
}

impl Joiner<'_> {
    /// Joins what can be joined of all but `apart`; returns the webs and the affinities that remain.
    pub fn join(&self, units: &mut Units, apart: &FxHashSet<VReg>, ask: bool) -> (Webs, Vec<Affinity>) {
        let mut all = affinities(self.f, self.live, self.numbering, self.wave, self.thread);
        // What no move can pass goes first: nothing is in its way yet.
        let unmoved = |a: &Affinity| a.edge && Kind::of(self.f, a.a) == Kind::WholeWave;
        all.sort_by_key(|a| (!unmoved(a), Reverse(a.depth), !units.same(a.a, a.b)));
        let (webs, open) = self.order(&all, apart);
        if !ask {
            return (webs, open);
        }
        let Some(contested) = self.contested(&webs, &all, &open) else { return (webs, open) };
        units.run(self.f, self.numbering, self.wave, Kind::Sgpr, &contested);
        units.run(self.f, self.numbering, self.thread, Kind::Vgpr, &contested);
        all.sort_by_key(|a| (!unmoved(a), Reverse(a.depth), !units.same(a.a, a.b)));
        let (other, other_open) = self.order(&all, apart);
        if self.cost(&other_open) < self.cost(&open) {
            (other, other_open)
        } else {
            units.clear();
            (webs, open)
        }
    }

    fn order(&self, all: &[Affinity], apart: &FxHashSet<VReg>) -> (Webs, Vec<Affinity>) {
        let mut webs = Webs::new(self.f, self.live, self.numbering);
        let mut open = all.to_vec();
        open.retain(|a| apart.contains(&a.a) || apart.contains(&a.b) || !webs.join(self.f, self.live, a));
        (webs, open)
    }

    /// Dwords to move, weighted as 8 times as frequent in each deeper loop.
    fn cost(&self, open: &[Affinity]) -> u64 {
        let dwords = |v: VReg| u64::from(self.f.vregs[v].dwords);
        open.iter().map(|a| dwords(a.a).min(dwords(a.b)) << (3 * u32::from(a.depth.min(12)))).sum()
    }

    /// Registers whose affinities another order of joining might serve better, closed under parameters and
    /// arguments; `None` if there are none or too many.
    fn contested(&self, webs: &Webs, all: &[Affinity], open: &[Affinity]) -> Option<Vec<bool>> {
        let hope: Vec<&Affinity> = open.iter().filter(|a| !webs.hopeless(self.f, self.live, a)).collect();
        if hope.is_empty() {
            return None;
        }
        let mut classes = Classes::new(self.f.vregs.len());
        for a in all.iter().filter(|a| a.edge).chain(all.iter().filter(|a| !a.edge)) {
            if a.edge || !webs.hopeless(self.f, self.live, a) {
                classes.join(a.a.as_u32(), a.b.as_u32());
            }
        }
        let mut wanted = vec![false; self.f.vregs.len()];
        for a in hope {
            wanted[classes.leader(a.a.as_u32()) as usize] = true;
        }
        let out: Vec<bool> = (0..wanted.len() as u32).map(|v| wanted[classes.leader(v) as usize]).collect();
        let ranges: usize =
            self.f.vregs.keys().filter(|v| out[v.as_u32() as usize]).map(|v| self.live.of(v).len()).sum();
        (ranges as f32 <= FEW_RANGES + RANGES_BY_POSITION * self.numbering.len() as f32).then_some(out)
    }

    /// The wishes for places: of registers that the code names, and beside what was not joined.
    pub fn hints(&self, webs: &mut Webs, open: &[Affinity]) -> Hints {
        let mut hints = Hints::default();
        for (_, first, reg) in self.f.entry.registers() {
            if let Some(v) = reg {
                hints.place(webs, v, first, 0);
            }
        }
        let binding = self.live.binding.iter().map(|&at| self.numbering.inst_at(self.f, at));
        for inst in binding.filter(|inst| inst.op == Opcode::COPY) {
            let [Operand::Reg(dst), Operand::Reg(src)] = inst.operands.as_slice() else { continue };
            match (dst.reg, src.reg) {
                (Reg::Virtual(v), Reg::Physical(p)) => hints.place(webs, v, p, 0),
                (Reg::Physical(p), Reg::Virtual(v)) => hints.place(webs, v, p, i32::from(src.sub)),
                _ => {}
            }
        }
        for (v, data) in self.f.vregs.iter() {
            if let Some(reg) = data.hint {
                hints.place(webs, v, reg, 0);
            }
        }
        for affinity in open {
            hints.beside(webs, affinity);
        }
        hints.sort(self.f.vregs.len());
        hints
    }
}
