//! A function's code as scheduling before allocation looks at it, read once: virtual registers that instructions access, and their effects.

use crate::effects::Effects;
use mir::isa::{Implicit, OperandAccess};
use mir::machine::{Function, Inst, Reg, VReg};
use mir::target::Target;

/// What an instruction does with a virtual register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Use,
    /// A use in whose place something else is written.
    Tied,
    Def,
}

/// An access of a virtual register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub reg: VReg,
    pub role: Role,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    first: u32,
    pub effects: Effects,
    /// Whether it may access physical registers.
    pub physical: bool,
}

/// All instructions, in layout order.
#[derive(Debug, Default)]
pub(crate) struct Code {
    insts: Vec<Summary>,
    accesses: Vec<Access>,
    /// First instruction of each block, by its place in the layout.
    blocks: Vec<u32>,
}

/// Implied registers that a value can be in.
const PHYSICAL: Implicit = Implicit::LISTED.difference(Implicit::EXEC_DEF);

impl Code {
    /// The code of `f`.
    pub fn read(f: &Function, target: &Target) -> Self {
        let count = f.layout.iter().map(|&block| f.blocks[block].insts.len()).sum();
        let mut code = Self {
            insts: Vec::with_capacity(count),
            accesses: Vec::with_capacity(3 * count),
            blocks: Vec::with_capacity(f.layout.len()),
        };
        for &block in &f.layout {
            code.blocks.push(code.insts.len() as u32);
            for inst in &f.blocks[block].insts {
                code.push(inst, target);
            }
        }
        code
    }

    fn push(&mut self, inst: &Inst, target: &Target) {
        let first = self.accesses.len() as u32;
        let effects = Effects::of(inst, target);
        let mut physical = inst.facts().implicit.intersects(PHYSICAL) || inst.reads_m0();
        for (k, operand) in inst.operands.iter().enumerate() {
            let Some(operand) = operand.as_reg() else { continue };
            match operand.reg {
                Reg::Virtual(reg) => {
                    let role = match inst.operand_access(k) {
                        OperandAccess::Use => Role::Use,
                        OperandAccess::Tied { .. } => Role::Tied,
                        OperandAccess::Def => Role::Def,
                    };
                    self.accesses.push(Access { reg, role });
                }
                Reg::Physical(_) => physical = true,
            }
        }
        self.insts.push(Summary { first, effects, physical });
    }

    /// Number of the first instruction of the block at `place` of the layout.
    #[inline]
    pub fn block(&self, place: usize) -> u32 {
        self.blocks[place]
    }

    /// An instruction, by number.
    #[inline]
    pub fn inst(&self, n: u32) -> &Summary {
        &self.insts[n as usize]
    }

    /// What an instruction accesses.
    #[inline]
    pub fn accesses(&self, n: u32) -> &[Access] {
        let end = self.insts.get(n as usize + 1).map_or(self.accesses.len(), |next| next.first as usize);
        &self.accesses[self.insts[n as usize].first as usize..end]
    }

    /// What instructions that follow each other access.
    #[inline]
    pub fn accesses_of(&self, range: std::ops::Range<u32>) -> &[Access] {
        let at = |n: u32| self.insts.get(n as usize).map_or(self.accesses.len(), |inst| inst.first as usize);
        &self.accesses[at(range.start)..at(range.end)]
    }
}
