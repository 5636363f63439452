//! Which SGPRs, VCC among them, are read later.
//!
//! On the wave graph of an allocated function. What leaves it reads all, and so does what stands for several instructions. Cost: linear, but for the sweeps that
//! settle what lives behind blocks (two, three with loops).

use cranelift_entity::SecondaryMap;
use mir::isa::Unit;
use mir::machine::{Block, Condition, Function, Inst, PReg, Terminator};

/// A set of scalar registers by their numbers, those below 128.
pub(crate) type Scalars = u128;

/// What lives behind each block.
pub(crate) struct LiveScalars {
    behind: SecondaryMap<Block, Scalars>,
}

impl LiveScalars {
    pub fn compute(f: &Function) -> Self {
        let mut before: SecondaryMap<Block, Scalars> = SecondaryMap::new();
        let mut behind: SecondaryMap<Block, Scalars> = SecondaryMap::new();
        // Written in each block before it is read, and read before it is written.
        let mut known: SecondaryMap<Block, (Scalars, Scalars)> = SecondaryMap::new();
        for &block in &f.layout {
            let insts = &f.blocks[block].insts;
            let both = |live| insts.iter().rev().fold(live, |live, inst| before_inst(inst, live));
            known[block] = (both(Scalars::MAX), both(0));
        }
        let mut changed = true;
        while std::mem::take(&mut changed) {
            mir::interrupt::checkpoint();
            for &block in f.layout.iter().rev() {
                let data = &f.blocks[block];
                let read = match data.term {
                    Terminator::Uniform(Condition::Vccz | Condition::Vccnz) => vcc(),
                    Terminator::Return | Terminator::Divergent(_) => Scalars::MAX,
                    _ => 0,
                };
                let live = data.wave_succs.iter().fold(read, |live, edge| live | before[edge.block]);
                let (kept, own) = known[block];
                changed |= live != behind[block];
                (behind[block], before[block]) = (live, own | live & kept);
            }
        }
        Self { behind }
    }

    /// What lives behind the instruction `at` of `block`.
    pub fn behind(&self, f: &Function, block: Block, at: usize) -> Scalars {
        let later = &f.blocks[block].insts[at + 1..];
        later.iter().rev().fold(self.behind[block], |live, inst| before_inst(inst, live))
    }
}

/// Both halves of VCC.
fn vcc() -> Scalars {
    1 << PReg::VCC_LO.0 | 1 << PReg::VCC_HI.0
}

/// What lives in front of `inst` if `live` does behind it.
fn before_inst(inst: &Inst, live: Scalars) -> Scalars {
    let opaque = inst.facts().unit == Unit::Pseudo && !inst.op.is_copy() && !inst.op.is_mark();
    if opaque || inst.leaves() {
        return Scalars::MAX;
    }
    let (mut read, mut written) = (0, 0);
    inst.for_each_access(|access| {
        let range = access.range();
        let bits = range.filter(|&number| number < Scalars::BITS as usize).fold(0, |bits, number| bits | 1 << number);
        if access.read {
            let of_vcc = if access.range().contains(&usize::from(PReg::VCCZ.0)) { vcc() } else { 0 };
            read |= bits | of_vcc;
        }
        if access.write {
            written |= bits;
        }
    });
    live & !written | read
}
