//! Registers as this crate numbers them. What an instruction does with its operands is
//! the table's ([`mir::isa::facts`]); positions are those of [`crate::graph::Numbering`].

use mir::machine::{Inst, Operand, PReg, Reg, RegFile, RegOperand};

/// A physical register of one of the allocated files, as the index that this crate uses: the number of an
/// SGPR, 110 and 111 for VCC; the number of a VGPR.
pub(crate) fn file_index(reg: PReg) -> Option<(RegFile, u16)> {
    match reg.vgpr_index() {
        Some(n) => Some((RegFile::Vgpr, n)),
        None if reg.0 < 112 => Some((RegFile::Sgpr, reg.0)),
        None => None,
    }
}

/// The inverse of [`file_index`].
pub(crate) fn preg(file: RegFile, index: u16) -> PReg {
    match file {
        RegFile::Sgpr => PReg(index),
        RegFile::Vgpr => PReg::vgpr(index),
    }
}

/// Index of VCC_LO in the scalar file.
pub(crate) const VCC: u16 = PReg::VCC_LO.0;

/// The register operands of an instruction.
pub(crate) fn registers(inst: &Inst) -> impl Iterator<Item = (usize, &RegOperand)> {
    inst.operands.iter().enumerate().filter_map(|(k, operand)| match operand {
        Operand::Reg(reg) => Some((k, reg)),
        _ => None,
    })
}

/// The virtual register of an operand.
pub(crate) fn vreg_of(operand: &RegOperand) -> Option<mir::machine::VReg> {
    match operand.reg {
        Reg::Virtual(v) => Some(v),
        Reg::Physical(_) => None,
    }
}
