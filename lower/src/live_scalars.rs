//! Which SGPRs, VCC among them, are read later.
//!
//! On the wave graph of an allocated function. What leaves it reads all, and so does what stands for several instructions. Cost: linear, but for the sweeps that
//! settle what lives behind blocks (two, three with loops).

use cranelift_entity::SecondaryMap;
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
        // What lives in front of each block if all does behind it, and if nothing does.
        let mut known: SecondaryMap<Block, (Scalars, Scalars)> = SecondaryMap::new();
        for &block in &f.layout {
            mir::interrupt::checkpoint();
            let ends = (Scalars::MAX, 0);
            known[block] = f.blocks[block].insts.iter().rev().fold(ends, |(all, none), inst| {
                let access = Accessed::of(inst);
                (access.before(all), access.before(none))
            });
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
                let (all, none) = known[block];
                changed |= live != behind[block];
                (behind[block], before[block]) = (live, none | live & all);
            }
        }
        Self { behind }
    }

    /// What lives behind each instruction of `block`.
    pub fn in_block(&self, f: &Function, block: Block) -> Vec<Scalars> {
        let insts = &f.blocks[block].insts;
        let mut behind = vec![0; insts.len()];
        let mut live = self.behind[block];
        for (inst, behind) in insts.iter().zip(&mut behind).rev() {
            *behind = live;
            live = Accessed::of(inst).before(live);
        }
        behind
    }
}

/// Both halves of VCC.
fn vcc() -> Scalars {
    1 << PReg::VCC_LO.0 | 1 << PReg::VCC_HI.0
}

/// What an instruction reads and writes.
struct Accessed {
    read: Scalars,
    written: Scalars,
}

impl Accessed {
    fn of(inst: &Inst) -> Self {
        if inst.is_expanded_later() || inst.leaves() {
            return Self { read: Scalars::MAX, written: 0 };
        }
        let mut accessed = Self { read: 0, written: 0 };
        inst.for_each_access(|access| {
            let scalars = access.range().filter(|&number| number < Scalars::BITS as usize);
            let bits = scalars.fold(0, |bits: Scalars, number| bits | 1 << number);
            if access.read {
                let asks_vcc = access.range().contains(&usize::from(PReg::VCCZ.0));
                accessed.read |= if asks_vcc { bits | vcc() } else { bits };
            }
            if access.write {
                accessed.written |= bits;
            }
        });
        accessed
    }

    /// What lives in front of it if `live` does behind it.
    fn before(&self, live: Scalars) -> Scalars {
        live & !self.written | self.read
    }
}
