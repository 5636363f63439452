//! What an instruction is to the rows of the table, and which of its registers they look at.

use super::reg_set::{NO_REGISTER, RegSet};
use mir::isa::{Format, Implicit, MemoryAction, Opcode, OpcodeInfo, Role, Unit};
use mir::machine::{Inst, Operand, PReg, Reg, RegOperand};
use mir::target::hazards::{HazardClass, HazardRegs};

/// The numbers of EXEC's halves.
pub(super) const EXEC: std::ops::Range<u16> = PReg::EXEC_LO.0..PReg::EXEC_HI.0 + 1;

/// Whether only writes of registers that are not VGPRs produce such a hazard.
pub(super) fn produces_scalar(regs: HazardRegs) -> bool {
    use HazardRegs::{Exec, M0, Masks, Scalar, Vcc, ZeroFlags};
    matches!(regs, Scalar | Vcc | Exec | M0 | Masks | ZeroFlags)
}

/// Whether `inst` writes a register that is not a VGPR.
pub(super) fn writes_scalar(inst: &Inst, info: &OpcodeInfo) -> bool {
    inst.facts().implicit.intersects(Implicit::DEFS & Implicit::LISTED)
        || inst.operands.iter().zip(info.operands).take_while(|(_, desc)| desc.role != Role::Use).any(
            |(operand, _)| match operand {
                Operand::Reg(RegOperand { reg: Reg::Physical(reg), .. }) => !reg.is_vgpr(),
                _ => false,
            },
        )
}

/// Wait states that an instruction is worth itself.
pub(super) fn wait_states_of(inst: &Inst) -> u8 {
    match (inst.op, inst.operands.first()) {
        (Opcode::S_NOP, Some(Operand::Imm(n))) => (n & 15) as u8 + 1,
        // The counter is read, and two additions follow.
        (Opcode::PC_ADDRESS, _) => 3,
        _ => 1,
    }
}

pub(super) fn class(inst: &Inst) -> HazardClass {
    let facts = inst.facts();
    let mut class = match facts.unit {
        Unit::Valu | Unit::Interp => HazardClass::VALU,
        Unit::Salu | Unit::Pseudo => HazardClass::SALU,
        Unit::Vmem => HazardClass::VMEM,
        Unit::Smem if facts.is_scalar_buffer() => HazardClass::SMEM | HazardClass::SMEM_BUFFER,
        Unit::Smem => HazardClass::SMEM,
        Unit::Ds => HazardClass::DS,
        Unit::Export => HazardClass::EXPORT,
        Unit::Control => HazardClass::CONTROL,
    };
    if class == HazardClass::SALU && facts.def_count > 0 {
        class |= HazardClass::SALU_RESULT;
    }
    if inst.reads_m0() {
        class |= HazardClass::M0_READER;
    }
    if inst.mods.dpp().is_some() {
        class |= HazardClass::DPP;
    }
    if class.contains(HazardClass::VALU) && inst.op != Opcode::V_NOP {
        class |= HazardClass::VALU_KEPT;
    }
    if class.contains(HazardClass::VMEM) {
        class |= vmem_class(inst);
    }
    if stores_late(inst) {
        class |= HazardClass::WIDE_STORE;
    }
    class
        | match inst.op {
            Opcode::V_READLANE_B32 | Opcode::V_WRITELANE_B32 => HazardClass::LANE_ACCESS,
            Opcode::V_DIV_FMAS_F32 | Opcode::V_DIV_FMAS_F64 => HazardClass::DIV_FMAS,
            Opcode::S_SETREG_B32 | Opcode::S_SETREG_IMM32_B32 => HazardClass::SETREG,
            Opcode::S_GETREG_B32 => HazardClass::GETREG,
            Opcode::S_RFE_B64 => HazardClass::RFE,
            Opcode::V_PERMLANE16_B32 | Opcode::V_PERMLANEX16_B32 => HazardClass::PERMLANE,
            Opcode::S_DENORM_MODE => HazardClass::DENORM_MODE,
            _ => HazardClass::empty(),
        }
}

/// What a vector memory instruction is besides. Of an image's addresses two dwords have the first, each further one four more.
fn vmem_class(inst: &Inst) -> HazardClass {
    let mut class = HazardClass::empty();
    let facts = inst.facts();
    class.set(HazardClass::LONG_IMAGE, inst.mods.address_parts > 4);
    let is_buffer = matches!(inst.op.info().format, Format::Mubuf | Format::Mtbuf);
    class.set(HazardClass::BUFFER_OFFSET, is_buffer && inst.mods.offset & 6 != 0);
    let is_atomic = facts.memory.is_some_and(|memory| memory.action.contains(MemoryAction::ATOMIC));
    class.set(HazardClass::VMEM_ATOMIC, is_atomic);
    class
}

/// Whether a store takes its data in two cycles: more than 64 bits, and no SGPR as buffer offset to slow the address down.
fn stores_late(inst: &Inst) -> bool {
    let facts = inst.facts();
    facts.unit == Unit::Vmem && facts.writes_memory() && {
        let wide = inst.data_operand().and_then(Operand::as_reg).is_some_and(|reg| reg.dwords > 2);
        let soffset = facts.soffset().and_then(|i| inst.operands.get(i));
        wide && soffset.and_then(Operand::as_reg).is_none()
    }
}

/// Whether `regs` selects registers one by one among those that operands access ([`key`]).
pub(super) fn has_key(regs: HazardRegs) -> bool {
    produces_scalar(regs) || matches!(regs, HazardRegs::Vector | HazardRegs::VectorWritten)
}

/// What stands for `register`, which an instruction accesses, in a hazard about `regs`; `None` where it does not matter.
pub(super) fn key(regs: HazardRegs, register: u16) -> Option<u16> {
    let vcc = PReg::VCC_LO.0..PReg::VCC_HI.0 + 1;
    let vector = PReg(register).is_vgpr();
    match regs {
        HazardRegs::Scalar => (!vector && register != PReg::SCC.0).then_some(register),
        HazardRegs::Vector | HazardRegs::VectorWritten => vector.then_some(register),
        HazardRegs::Vcc => vcc.contains(&register).then_some(register),
        HazardRegs::Exec => EXEC.contains(&register).then_some(register),
        HazardRegs::M0 => (register == PReg::M0.0).then_some(register),
        HazardRegs::Masks if vcc.contains(&register) => Some(vcc.start),
        HazardRegs::Masks if EXEC.contains(&register) => Some(EXEC.start),
        HazardRegs::ZeroFlags if register == PReg::VCCZ.0 => Some(vcc.start),
        HazardRegs::ZeroFlags if register == PReg::EXECZ.0 => Some(EXEC.start),
        _ => None,
    }
}

/// Calls `f` with the registers of `inst` that `regs` selects, as producer or as consumer.
pub(super) fn select(inst: &Inst, regs: HazardRegs, producing: bool, mut f: impl FnMut(u16)) {
    let exec = EXEC;
    let physical = |index: usize| match inst.operands.get(index) {
        Some(Operand::Reg(reg)) => match reg.reg {
            Reg::Physical(first) => Some(first.0..first.0 + u16::from(reg.dwords)),
            Reg::Virtual(_) => None,
        },
        _ => None,
    };
    let hwreg = || inst.operands.iter().find_map(Operand::as_imm);
    match regs {
        HazardRegs::Any => f(NO_REGISTER),
        HazardRegs::AcrossBranch => f(RegSet::BEFORE_BRANCH),
        HazardRegs::ScalarRead
        | HazardRegs::ScalarWritten
        | HazardRegs::ExecRead
        | HazardRegs::ExecWritten => {
            let reading = matches!(regs, HazardRegs::ScalarRead | HazardRegs::ExecRead);
            let only_exec = matches!(regs, HazardRegs::ExecRead | HazardRegs::ExecWritten);
            let counts = |register: &u16| match only_exec {
                true => exec.contains(register),
                false => !PReg(*register).is_vgpr() && ![PReg::SCC, PReg::NULL].contains(&PReg(*register)),
            };
            inst.for_each_access(|access| {
                if if reading { access.read } else { access.write } {
                    access.range().map(|r| r as u16).filter(counts).for_each(&mut f);
                }
            });
            // As the mask of its lanes, and M0 by a modifier, they are in no operand.
            if reading && inst.facts().implicit.contains(Implicit::EXEC_USE) {
                exec.clone().for_each(&mut f);
            }
            if regs == HazardRegs::ScalarRead && inst.reads_m0() {
                f(PReg::M0.0);
            }
        }
        HazardRegs::LaneSelect => physical(2).into_iter().flatten().for_each(f),
        HazardRegs::DppSource => {
            physical(usize::from(inst.facts().def_count)).into_iter().flatten().for_each(f)
        }
        HazardRegs::StoreData => {
            inst.facts().data().and_then(physical).into_iter().flatten().for_each(f);
        }
        HazardRegs::HwReg => hwreg().into_iter().for_each(|imm| f((imm & 63) as u16)),
        HazardRegs::TrapSts => hwreg().filter(|imm| imm & 63 == 3).into_iter().for_each(|_| f(NO_REGISTER)),
        HazardRegs::Vskip => {
            let hits = |imm: &i64| {
                let (first, bits) = (imm >> 6 & 31, (imm >> 11 & 31) + 1);
                imm & 63 == 1 && (first..first + bits).contains(&28)
            };
            hwreg().filter(hits).into_iter().for_each(|_| f(NO_REGISTER));
        }
        // What has a `key`.
        HazardRegs::Scalar
        | HazardRegs::Vcc
        | HazardRegs::Exec
        | HazardRegs::M0
        | HazardRegs::ZeroFlags
        | HazardRegs::Masks
        | HazardRegs::Vector
        | HazardRegs::VectorWritten => {
            if regs == HazardRegs::Exec && !producing {
                exec.for_each(f);
                return;
            }
            inst.for_each_access(|access| {
                let written = producing || regs == HazardRegs::VectorWritten;
                if if written { !access.write } else { !access.read } {
                    return;
                }
                access.range().filter_map(|register| key(regs, register as u16)).for_each(&mut f);
            });
            // GDS and LDS DMA read M0 by a modifier, not by their row.
            if regs == HazardRegs::M0 && !producing && !inst.facts().implicit.contains(Implicit::M0_USE) {
                f(PReg::M0.0);
            }
        }
    }
}
