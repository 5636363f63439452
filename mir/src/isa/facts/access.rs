//! Which registers an instruction reads and writes: its operands' and those that the row implies.
//!
//! There are two views. Before allocation the code is SSA over virtual registers, and [`Inst::operand_access`] says of an operand whether it
//! is used, defined, or tied to a definition. After allocation [`Inst::for_each_access`] lists physical registers, implied ones included.
//!
//! An operand is read early and written late, so a result may take the register of a source that dies, unless
//! [`Inst::defined_early`] says otherwise.

use super::super::{Format, OpFlags, Opcode, OpcodeInfo, OperandDesc, Role, Width};
use super::{MemoryKind, Unit, is_float};
use crate::machine::{Inst, Operand, PReg, Reg, RegOperand};
use crate::target::{Features, Target, WaveSize};

bitflags::bitflags! {
    /// Registers that an instruction touches besides its operands.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Implicit: u16 {
        /// Reads SCC.
        const SCC_USE = 1 << 0;
        /// Reads VCC.
        const VCC_USE = 1 << 1;
        /// Reads M0.
        const M0_USE = 1 << 2;
        /// Writes SCC.
        const SCC_DEF = 1 << 3;
        /// Writes VCC.
        const VCC_DEF = 1 << 4;
        /// Writes M0.
        const M0_DEF = 1 << 5;
        /// Writes EXEC.
        const EXEC_DEF = 1 << 6;
        /// EXEC decides what it does, as the mask of its lanes or as data.
        const EXEC_USE = 1 << 7;
        /// May read FLAT_SCRATCH.
        const FLAT_SCRATCH_USE = 1 << 8;
        /// Reads MODE: rounding, denormals and exceptions of floats, index mode.
        const MODE_USE = 1 << 9;
        /// Writes MODE or other hardware registers.
        const MODE_DEF = 1 << 10;
        /// Those that [`Inst::for_each_access`] lists.
        const LISTED = (1 << 7) - 1;
        /// Those that stand for a [`PReg`].
        const REGISTERS = (1 << 9) - 1;
        /// Those that are written.
        const DEFS = Self::SCC_DEF.bits()
            | Self::VCC_DEF.bits()
            | Self::M0_DEF.bits()
            | Self::EXEC_DEF.bits()
            | Self::MODE_DEF.bits();
    }
}

/// First register, width and whether it is written, in the order of the bits of [`Implicit::REGISTERS`].
const REGISTERS: [(PReg, Width, bool); 9] = [
    (PReg::SCC, Width::Dwords(1), false),
    (PReg::VCC_LO, Width::Mask, false),
    (PReg::M0, Width::Dwords(1), false),
    (PReg::SCC, Width::Dwords(1), true),
    (PReg::VCC_LO, Width::Mask, true),
    (PReg::M0, Width::Dwords(1), true),
    (PReg::EXEC_LO, Width::Mask, true),
    (PReg::EXEC_LO, Width::Mask, false),
    (PReg::FLAT_SCRATCH_LO, Width::Dwords(2), false),
];

impl Implicit {
    pub(super) const fn of(info: &OpcodeInfo, unit: Unit) -> Self {
        let flags = info.flags;
        let mut all = Self::empty();
        let table = [
            (OpFlags::SCC_USE, Self::SCC_USE),
            (OpFlags::VCC_USE, Self::VCC_USE),
            (OpFlags::M0_USE, Self::M0_USE),
            (OpFlags::SCC_DEF, Self::SCC_DEF),
            (OpFlags::VCC_DEF, Self::VCC_DEF),
            (OpFlags::M0_DEF, Self::M0_DEF),
            (OpFlags::EXEC_DEF, Self::EXEC_DEF),
            (OpFlags::EXEC_USE, Self::EXEC_USE),
            (OpFlags::MODE_USE, Self::MODE_USE),
            (OpFlags::MODE_DEF, Self::MODE_DEF),
        ];
        let mut i = 0;
        while i < table.len() {
            if flags.contains(table[i].0) {
                all = all.union(table[i].1);
            }
            i += 1;
        }
        if unit.is_vector() && !flags.contains(OpFlags::IGNORES_EXEC) {
            all = all.union(Self::EXEC_USE);
        }
        if matches!(info.format, Format::Flat | Format::Scratch) {
            all = all.union(Self::FLAT_SCRATCH_USE);
        }
        let computes = matches!(unit, Unit::Valu | Unit::Interp) && !flags.contains(OpFlags::COPY);
        i = 0;
        while computes && i < info.operands.len() {
            if is_float(info.operands[i].ty) {
                all = all.union(Self::MODE_USE);
            }
            i += 1;
        }
        all
    }

    /// The registers: first one, dwords, whether it is written. MODE is none; of VCC and EXEC a wave of 32 lanes has the low halves.
    #[inline]
    pub fn registers(self, wave: WaveSize) -> impl Iterator<Item = (PReg, u16, bool)> {
        let mut bits = self.bits() & Self::REGISTERS.bits();
        std::iter::from_fn(move || {
            let &(first, width, write) = REGISTERS.get(bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some((first, u16::from(width.dwords(wave)), write))
        })
    }
}

/// One access of consecutive physical registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// First register.
    pub first: PReg,
    /// Number of registers.
    pub dwords: u16,
    /// Read.
    pub read: bool,
    /// Written.
    pub write: bool,
    /// Index of the operand; `None` for implicit accesses.
    pub operand: Option<usize>,
}

impl Access {
    /// The registers' numbers.
    #[inline]
    pub fn range(&self) -> std::ops::Range<usize> {
        usize::from(self.first.0)..usize::from(self.first.0 + self.dwords)
    }
}

/// What an operand of SSA code does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandAccess {
    /// Read.
    Use,
    /// Read by the definition in operand `def`, in the same register.
    Tied {
        /// Index of the definition.
        def: usize,
    },
    /// Written.
    Def,
}

impl Opcode {
    /// Whether it moves registers without being an instruction of the hardware yet: `COPY` and `REG_SEQUENCE`.
    #[inline]
    pub fn is_copy(self) -> bool {
        matches!(self, Self::COPY | Self::REG_SEQUENCE)
    }

    /// Whether it tells passes something and leaves no instruction: `IMPLICIT_DEF` and `FENCE`.
    #[inline]
    pub fn is_mark(self) -> bool {
        matches!(self, Self::IMPLICIT_DEF | Self::FENCE)
    }
}

impl Inst {
    /// Calls `f` for each register access of an allocated instruction: operands, then implicit registers ([`Implicit::LISTED`]: not EXEC as
    /// the mask of lanes). Virtual registers are passed over. Implied masks count as pairs
    /// whatever size waves have: who waits for a register or counts registers is on the safe side so. [`Implicit::registers`] is exact.
    #[inline]
    pub fn for_each_access(&self, mut f: impl FnMut(Access)) {
        if self.asm_layout().is_some() {
            for (write, reg) in self.regs() {
                if let Reg::Physical(first) = reg.reg {
                    f(Access { first, dwords: u16::from(reg.dwords), read: !write, write, operand: None });
                }
            }
        }
        let info = self.op.info();
        for (i, (operand, desc)) in self.operands.iter().zip(info.operands).enumerate() {
            if let Operand::Reg(reg) = operand
                && let Reg::Physical(first) = reg.reg
            {
                let write = desc.role != Role::Use;
                // A load into half a register merges when it returns, it does not read at issue.
                let merges = || {
                    info.flags.intersects(OpFlags::D16 | OpFlags::D16_HI)
                        && info.flags.contains(OpFlags::LOAD)
                };
                let read = desc.role == Role::Use || (desc.role == Role::DefUse && !merges());
                f(Access { first, dwords: u16::from(reg.dwords), read, write, operand: Some(i) });
            }
        }
        let parts = info.operands.len()..self.operands.len().min(self.kept_operands());
        for (i, operand) in parts.clone().zip(self.operands.get(parts).unwrap_or_default()) {
            if let Operand::Reg(RegOperand { reg: Reg::Physical(first), dwords, .. }) = *operand {
                f(Access { first, dwords: u16::from(dwords), read: true, write: false, operand: Some(i) });
            }
        }
        for (first, dwords, write) in (self.facts().implicit & Implicit::LISTED).registers(WaveSize::W64) {
            f(Access { first, dwords, read: !write, write, operand: None });
        }
    }

    /// The access of operand `k` of SSA code, which is a register.
    #[inline]
    pub fn operand_access(&self, k: usize) -> OperandAccess {
        if self.op.is_copy() {
            return if k == 0 { OperandAccess::Def } else { OperandAccess::Use };
        }
        if let Some(layout) = self.asm_layout() {
            return match k {
                _ if k < layout.defs_end => OperandAccess::Def,
                _ if k < layout.uses_end => OperandAccess::Use,
                _ => OperandAccess::Tied { def: layout.tied_to(k) },
            };
        }
        let row = self.op.info().operands;
        match row.get(k) {
            Some(desc) if desc.role == Role::Use => OperandAccess::Use,
            Some(_) => OperandAccess::Def,
            None if k < self.kept_operands() => OperandAccess::Use,
            None => OperandAccess::Tied { def: tied_def(row, k - self.kept_operands()) },
        }
    }

    /// The definition in whose register operand `k` of SSA code may be read: that of a tied operand with the same value, which is there before
    /// the instruction runs. Only the vector unit's instructions, which read all sources before they write.
    #[inline]
    pub fn read_as_tied(&self, k: usize, target: &Target) -> Option<usize> {
        let kept = self.kept_operands();
        if self.operands.len() > kept { self.find_tied(k, kept, target) } else { None }
    }

    /// As [`Self::read_as_tied`], of an instruction with operands behind the `kept` ones.
    fn find_tied(&self, k: usize, kept: usize, target: &Target) -> Option<usize> {
        let operands = &self.operands;
        if self.facts().unit != Unit::Valu
            || self.asm_layout().is_some()
            || self.op.is_copy()
            || self.clobbers_early(target)
        {
            return None;
        }
        let same = operands[kept..].iter().position(|tied| *tied == operands[k])?;
        let def = tied_def(self.op.info().operands, same);
        operands.get(def).is_some_and(|def| def.as_reg().is_some()).then_some(def)
    }

    /// Whether the definition in operand `k` must not share a register with any source: because the incoming value may have to be moved
    /// there before the instruction, or the hardware writes it before it has read all sources.
    pub fn defined_early(&self, k: usize, target: &Target) -> bool {
        if let Some(layout) = self.asm_layout() {
            return layout.is_early(k)
                || (layout.uses_end..self.operands.len()).any(|n| layout.tied_to(n) == k);
        }
        let row = self.op.info().operands;
        let tied = !self.op.is_copy()
            && (self.kept_operands()..self.operands.len())
                .any(|extra| tied_def(row, extra - self.kept_operands()) == k);
        tied || self.clobbers_early(target)
    }

    /// Whether a part of the result is written before every source has been read.
    ///
    /// Sources: the row's flag; LLVM SMInstructions.td (a scalar load of several dwords may be replayed after a page fault under XNACK, so
    /// that its address must survive), VINTERPInstructions.td (`v_interp_p1_f32` where LDS has 16 banks).
    #[inline]
    pub fn clobbers_early(&self, target: &Target) -> bool {
        let info = self.op.info();
        let facts = self.facts();
        match (facts.unit, facts.memory) {
            (Unit::Interp, _) => self.op == Opcode::V_INTERP_P1_F32 && target.has(Features::LDS_BANKS_16),
            (_, Some(memory)) => {
                matches!(memory.kind, MemoryKind::Scalar | MemoryKind::ScalarBuffer)
                    && info.flags.contains(OpFlags::LOAD)
                    && memory.element_bytes > 4
                    && target.has(Features::XNACK)
            }
            _ => info.flags.contains(OpFlags::EARLY_CLOBBER),
        }
    }
}

/// The operand that extra operand `extra` is tied to: the `DefUse` positions in order, then operand 0 (SDWA, DPP).
fn tied_def(row: &[OperandDesc], extra: usize) -> usize {
    let mut tied = row.iter().enumerate().filter(|(_, desc)| desc.role == Role::DefUse).map(|(i, _)| i);
    tied.nth(extra).unwrap_or(0)
}
