//! How instructions access registers: the one place that reads rows' roles for allocation.
//!
//! Positions are those of [`crate::graph::Numbering`]. An operand is read at the early position and written at the late
//! one, so a result may take the register of a source that dies. Two kinds of definition start early: *tied* ones,
//! because the incoming value may have to be moved into the register before the instruction, and those that the hardware
//! writes before it has read all sources ([`early_clobber`]).

use mir::isa::{OpFlags, Opcode, OperandDesc, Role};
use mir::machine::{Inst, Operand, PReg, Reg, RegFile, RegOperand};
use mir::target::{Features, Target};

/// What an operand does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Read.
    Use,
    /// Read by the definition in operand `def`, in the same register.
    Tied { def: usize },
    /// Written.
    Def,
}

/// The access of operand `k`, which is a register.
pub(crate) fn access(inst: &Inst, k: usize) -> Access {
    if is_copy(inst.op) {
        return if k == 0 { Access::Def } else { Access::Use };
    }
    if let Some(layout) = inst.asm_layout() {
        return match k {
            _ if k < layout.defs_end => Access::Def,
            _ if k < layout.uses_end => Access::Use,
            _ => Access::Tied { def: layout.tied_to(k) },
        };
    }
    let row = inst.op.info().operands;
    match row.get(k) {
        Some(desc) => match desc.role {
            Role::Use => Access::Use,
            Role::Def | Role::DefUse => Access::Def,
        },
        None => Access::Tied { def: tied_def(row, k - row.len()) },
    }
}

/// The operand that extra operand `extra` is tied to: the `DefUse` positions in order, then operand 0 (SDWA, DPP).
fn tied_def(row: &[OperandDesc], extra: usize) -> usize {
    row.iter()
        .enumerate()
        .filter(|(_, desc)| desc.role == Role::DefUse)
        .map(|(i, _)| i)
        .nth(extra)
        .unwrap_or(0)
}

/// Whether the definition in operand `k` must not share a register with any source.
pub(crate) fn defined_early(inst: &Inst, k: usize, target: &Target) -> bool {
    if let Some(layout) = inst.asm_layout() {
        return layout.is_early(k) || (layout.uses_end..inst.operands.len()).any(|n| layout.tied_to(n) == k);
    }
    let row = inst.op.info().operands;
    if !is_copy(inst.op) && inst.operands.len() > row.len() {
        return (row.len()..inst.operands.len()).any(|extra| tied_def(row, extra - row.len()) == k)
            || early_clobber(inst, target);
    }
    early_clobber(inst, target)
}

/// Instructions that write a part of their result before they have read every source.
///
/// Sources: LLVM VOP3Instructions.td (`@earlyclobber` on the SAD instructions with 64- and 128-bit results);
/// SMInstructions.td (a scalar load of several dwords may be replayed after a page fault under XNACK, so that its address
/// must survive); VINTERPInstructions.td (`v_interp_p1_f32` where LDS has 16 banks).
pub(crate) fn early_clobber(inst: &Inst, target: &Target) -> bool {
    let info = inst.op.info();
    match info.format {
        mir::isa::Format::Smem => {
            info.flags.contains(OpFlags::LOAD) && target.has(Features::XNACK) && info.memory_bytes > 4
        }
        mir::isa::Format::Vop3 => info.name.contains("qsad_"),
        mir::isa::Format::Vintrp => inst.op == Opcode::V_INTERP_P1_F32 && target.has(Features::LDS_BANKS_16),
        _ => false,
    }
}

/// Whether `op` moves registers without being an instruction of the hardware yet: `COPY` and `REG_SEQUENCE`.
pub(crate) fn is_copy(op: Opcode) -> bool {
    matches!(op, Opcode::COPY | Opcode::REG_SEQUENCE)
}

/// A physical register of one of the allocated files, as the index that this crate uses: the number of an SGPR, 110 and
/// 111 for VCC; the number of a VGPR.
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

/// Registers of the allocated files that a callee may change, one of the graphics convention or another.
pub(crate) fn clobbered(graphics: bool) -> Vec<(RegFile, u16)> {
    let scalar = (0..=VCC + 1).map(|n| (RegFile::Sgpr, n));
    let vector = (0..256).map(|n| (RegFile::Vgpr, n));
    let changes = |&(file, n): &(RegFile, u16)| !mir::abi::call::is_callee_saved(preg(file, n), graphics);
    // Between the numbered registers and VCC are those that have roles of their own.
    scalar
        .chain(vector)
        .filter(changes)
        .filter(|&(file, n)| file == RegFile::Vgpr || !(106..VCC).contains(&n))
        .collect()
}
