//! Which physical registers an instruction reads and writes.

use mir::isa::{OpFlags, Role};
use mir::machine::{Inst, Operand, PReg, Reg};

/// One access of consecutive registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
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
    pub fn range(&self) -> std::ops::Range<usize> {
        usize::from(self.first.0)..usize::from(self.first.0 + self.dwords)
    }
}

/// Calls `f` for each register access of an allocated instruction: operands, then implicit registers. EXEC as the mask of
/// vector instructions is not listed. Virtual registers are passed over; `finish` has refused them before.
pub(crate) fn for_each_access(inst: &Inst, mut f: impl FnMut(Access)) {
    let info = inst.op.info();
    if inst.asm_layout().is_some() {
        for (write, reg) in inst.regs() {
            if let Reg::Physical(first) = reg.reg {
                f(Access { first, dwords: u16::from(reg.dwords), read: !write, write, operand: None });
            }
        }
    }
    for (i, (operand, desc)) in inst.operands.iter().zip(info.operands).enumerate() {
        if let Operand::Reg(reg) = operand
            && let Reg::Physical(first) = reg.reg
        {
            let write = desc.role != Role::Use;
            let keeps_rest =
                info.flags.intersects(OpFlags::D16 | OpFlags::D16_HI) && info.flags.contains(OpFlags::LOAD);
            // A load into half a register merges when it returns, it does not read at issue.
            let read = desc.role == Role::Use || (desc.role == Role::DefUse && !keeps_rest);
            f(Access { first, dwords: u16::from(reg.dwords), read, write, operand: Some(i) });
        }
    }
    for (flag, first, dwords) in [
        (OpFlags::SCC_USE, PReg::SCC, 1),
        (OpFlags::VCC_USE, PReg::VCC_LO, 2),
        (OpFlags::M0_USE, PReg::M0, 1),
    ] {
        if info.flags.contains(flag) {
            f(Access { first, dwords, read: true, write: false, operand: None });
        }
    }
    for (flag, first, dwords) in [
        (OpFlags::SCC_DEF, PReg::SCC, 1),
        (OpFlags::VCC_DEF, PReg::VCC_LO, 2),
        (OpFlags::M0_DEF, PReg::M0, 1),
        (OpFlags::EXEC_DEF, PReg::EXEC_LO, 2),
    ] {
        if info.flags.contains(flag) {
            f(Access { first, dwords, read: false, write: true, operand: None });
        }
    }
}
