//! Which bytes of LDS an instruction accesses, as far as code says it.
//!
//! Two accesses behind one virtual register, which has one value, at bytes that have nothing in common are apart in each lane. That lanes do not meet at such
//! places is theirs to order, and what orders them keeps accesses on its side (see [`crate::effects`]).
//!
//! Source: ISA manuals, "LDS: indexed and atomic access".

use mir::isa::{Opcode, Role};
use mir::machine::{Inst, ModFlags, Reg, RegOperand};

/// Bytes behind an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The address: a virtual register, or a part of one.
    pub base: RegOperand,
    /// The first byte, and the one behind the last.
    pub bytes: (i32, i32),
}

impl Place {
    /// What `inst` accesses, if it is a plain access of LDS.
    pub fn of(inst: &Inst) -> Option<Self> {
        let (size, unit) = size(inst.op)?;
        let info = inst.op.info();
        if info.operands.iter().any(|operand| operand.role == Role::DefUse)
            || inst.mods.flags.contains(ModFlags::GDS)
        {
            return None;
        }
        let base = *inst.operands.get(usize::from(inst.facts().def_count))?.as_reg()?;
        if !matches!(base.reg, Reg::Virtual(_)) {
            return None;
        }
        let (first, second) = (inst.mods.offset, i32::from(inst.mods.offset1));
        let bytes = match unit {
            None => (first, first + size),
            Some(unit) => (first.min(second) * unit, first.max(second) * unit + size),
        };
        Some(Self { base, bytes })
    }

    /// Whether both have nothing in common.
    pub fn apart(&self, other: &Self) -> bool {
        self.base == other.base && (self.bytes.1 <= other.bytes.0 || other.bytes.1 <= self.bytes.0)
    }
}

/// Bytes of an element, and the unit of both offsets where there are two.
fn size(op: Opcode) -> Option<(i32, Option<i32>)> {
    use Opcode::*;
    Some(match op {
        DS_READ_U8 | DS_READ_I8 | DS_WRITE_B8 => (1, None),
        DS_READ_U16 | DS_READ_I16 | DS_WRITE_B16 => (2, None),
        DS_READ_B32 | DS_WRITE_B32 => (4, None),
        DS_READ_B64 | DS_WRITE_B64 => (8, None),
        DS_READ_B96 | DS_WRITE_B96 => (12, None),
        DS_READ_B128 | DS_WRITE_B128 => (16, None),
        DS_READ2_B32 | DS_WRITE2_B32 => (4, Some(4)),
        DS_READ2_B64 | DS_WRITE2_B64 => (8, Some(8)),
        DS_READ2ST64_B32 | DS_WRITE2ST64_B32 => (4, Some(256)),
        DS_READ2ST64_B64 | DS_WRITE2ST64_B64 => (8, Some(512)),
        _ => return None,
    })
}
