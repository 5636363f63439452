//! Removes moves that put into a register what it holds already.
//!
//! Allocation makes a move for each part of a tuple and for each value that has to be in another place, one by one; the high half of a sum that is known to be 0,
//! say, again for each sum. Here each register has the number of the value that it holds: a move gives its source's number on, a constant has one number
//! everywhere, and every other write a new one. What a VGPR holds is known of the lanes that are active; it is still known of fewer, and of nothing where EXEC may
//! have got others. Where ways meet, what all of them say holds; in front of a loop nothing is known of what comes around. Cost: linear, times the registers that
//! are tracked where ways part.

use cranelift_entity::SecondaryMap;
use mir::isa::{Implicit, MaskOp, Opcode, Unit};
use mir::machine::{Block, Function, Inst, Modifiers, Operand, PReg, Reg};
use mir::target::WaveSize;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Removes such moves of an allocated function whose writes of EXEC are explicit.
pub fn remove(f: &mut Function) {
    let mut edges: SecondaryMap<Block, u32> = SecondaryMap::new();
    for &block in &f.layout {
        for edge in &f.blocks[block].wave_succs {
            edges[edge.block] += 1;
        }
    }
    let mut numbers = Numbers::default();
    // What is known in front of blocks to come, and how many edges to each have not been seen yet.
    let mut ahead: FxHashMap<Block, (Registers, u32)> = FxHashMap::default();
    let (entry, wave) = (f.layout.first().copied(), f.wave);
    for i in 0..f.layout.len() {
        mir::interrupt::checkpoint();
        let block = f.layout[i];
        let known = ahead.remove(&block).filter(|&(_, unseen)| unseen == 0 && Some(block) != entry);
        let mut registers = known.map_or_else(Registers::default, |(registers, _)| registers);
        let data = &mut f.blocks[block];
        data.retain_insts(|inst| !registers.pass(inst, wave, &mut numbers));
        // What goes back tells nothing any more.
        edges[block] = 0;
        for edge in data.wave_succs.iter().filter(|edge| edges[edge.block] > 0) {
            let others = ahead.len();
            match ahead.entry(edge.block) {
                Entry::Occupied(mut seen) => {
                    let (known, unseen) = seen.get_mut();
                    known.meet(&registers);
                    *unseen -= 1;
                }
                Entry::Vacant(new) if others < MOST_AHEAD => {
                    new.insert((registers.clone(), edges[edge.block] - 1));
                }
                Entry::Vacant(_) => {}
            }
        }
    }
}

/// Most blocks to come for which something is remembered at a time: there may be as many as cases of a switch.
const MOST_AHEAD: usize = 64;

/// Numbers of values; 0 is none.
#[derive(Default)]
struct Numbers {
    last: u32,
    constants: FxHashMap<u32, u32>,
}

impl Numbers {
    fn fresh(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    fn constant(&mut self, bits: u32) -> u32 {
        let Self { last, constants } = self;
        *constants.entry(bits).or_insert_with(|| {
            *last += 1;
            *last
        })
    }
}

/// What each register holds, as the number of a value; 0 where that is not known.
#[derive(Clone)]
struct Registers([u32; Registers::COUNT]);

impl Default for Registers {
    fn default() -> Self {
        Self([0; Self::COUNT])
    }
}

impl Registers {
    /// Plain SGPRs and those up to VCC, and behind them VGPRs.
    const SCALARS: usize = PReg::VCC_HI.0 as usize + 1;
    const COUNT: usize = Self::SCALARS + PReg::VGPRS as usize;

    /// The place of a register that is tracked.
    fn place(reg: PReg) -> Option<usize> {
        let scalar = Some(usize::from(reg.0)).filter(|&number| number < Self::SCALARS);
        scalar.or_else(|| reg.vgpr_index().map(|number| Self::SCALARS + usize::from(number)))
    }

    /// Keeps what `other` says as well.
    fn meet(&mut self, other: &Self) {
        for (here, there) in self.0.iter_mut().zip(&other.0) {
            if here != there {
                *here = 0;
            }
        }
    }

    fn forget_vgprs(&mut self) {
        self.0[Self::SCALARS..].fill(0);
    }

    /// Goes on behind `inst`; whether it is a move that changes nothing.
    fn pass(&mut self, inst: &Inst, wave: WaveSize, numbers: &mut Numbers) -> bool {
        if inst.is_expanded_later() || inst.leaves() {
            *self = Self::default();
            return false;
        }
        if let Some((to, from, dwords)) = moved(inst) {
            return self.moves(to, from, dwords, numbers);
        }
        let mut lanes = inst.facts().implicit.contains(Implicit::EXEC_DEF);
        inst.for_each_access(|access| {
            if access.write {
                for k in 0..access.dwords {
                    let reg = access.first.plus(k);
                    lanes |= matches!(reg, PReg::EXEC_LO | PReg::EXEC_HI);
                    if let Some(place) = Self::place(reg) {
                        self.0[place] = 0;
                    }
                }
            }
        });
        if lanes && !only_removes_lanes(inst, wave) {
            self.forget_vgprs();
        }
        false
    }

    /// Notes a move of `dwords` registers, or of a constant to one, to `to`; whether it changes nothing.
    fn moves(&mut self, to: PReg, from: Operand, dwords: u16, numbers: &mut Numbers) -> bool {
        // All sources are read before anything is written.
        let mut values = [0; 2];
        for (k, value) in (0..dwords).zip(&mut values) {
            *value = match from {
                Operand::Imm(bits) => numbers.constant(bits as u32),
                Operand::Reg(source) => match source.reg {
                    Reg::Physical(first) => Self::place(first.plus(k)).map_or(0, |place| {
                        if self.0[place] == 0 {
                            self.0[place] = numbers.fresh();
                        }
                        self.0[place]
                    }),
                    Reg::Virtual(_) => 0,
                },
                _ => 0,
            };
        }
        let mut same = true;
        for (k, value) in (0..dwords).zip(values) {
            if let Some(place) = Self::place(to.plus(k)) {
                same &= value != 0 && self.0[place] == value;
                self.0[place] = value;
            } else {
                same = false;
            }
        }
        same
    }
}

/// Where `inst` moves what, and how many registers, if it is a plain move.
fn moved(inst: &Inst) -> Option<(PReg, Operand, u16)> {
    let [Operand::Reg(to), from] = inst.operands[..] else { return None };
    let dwords = match inst.op {
        Opcode::S_MOV_B32 | Opcode::V_MOV_B32 => 1,
        // A constant of 64 bits is no number of 32.
        Opcode::S_MOV_B64 if from.as_reg().is_some() => 2,
        _ => return None,
    };
    let Reg::Physical(to) = to.reg else { return None };
    let writes_lanes = matches!(to, PReg::EXEC_LO | PReg::EXEC_HI);
    (inst.mods == Modifiers::default() && !writes_lanes).then_some((to, from, dwords))
}

/// Whether `inst`, which writes EXEC, leaves no lane active that was not before.
fn only_removes_lanes(inst: &Inst, wave: WaveSize) -> bool {
    let exec = Operand::exec(wave);
    let narrows = [MaskOp::And, MaskOp::AndN2].iter().any(|op| inst.op == op.opcode(wave));
    // The second source of `s_andn2` is what goes.
    let keeps = |sources: &[Operand]| {
        sources.first() == Some(&exec) || inst.op == MaskOp::And.opcode(wave) && sources.contains(&exec)
    };
    narrows && inst.operands[0] == exec && keeps(&inst.operands[1..])
        || inst.op == MaskOp::AndSaveexec.opcode(wave)
        // `v_cmpx` writes 0 for lanes that are not active.
        || inst.facts().unit == Unit::Valu
}
