//! Which bytes of LDS, scratch or global memory an instruction accesses, as far as code says it.
//!
//! Two accesses behind the same virtual registers, which have one value, or at fixed places, at bytes that have nothing in common are apart in each lane. That
//! lanes do not meet at such places of LDS or of global memory is theirs to order, and what orders them keeps accesses on its side (see [`crate::effects`]).
//! Scratch is a lane's own.
//!
//! Sources: ISA manuals, "LDS: indexed and atomic access"; "Buffer addressing"; "Flat memory instructions".

use crate::effects::Spaces;
use mir::isa::format::Slot;
use mir::isa::{MemoryKind, Opcode, OperandKind, Role};
use mir::machine::{Inst, ModFlags, Operand, Reg};

/// Memory whose places are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PlaceSpace {
    Lds,
    Scratch,
    /// Global memory by 64-bit addresses.
    Memory,
}

impl PlaceSpace {
    /// All of them; their numbers are indices of it.
    pub const ALL: [Self; 3] = [Self::Lds, Self::Scratch, Self::Memory];

    /// The space, for order with accesses whose place is not known.
    pub const fn space(self) -> Spaces {
        match self {
            Self::Lds => Spaces::LDS,
            Self::Scratch => Spaces::OF_SCRATCH,
            Self::Memory => Spaces::MEMORY,
        }
    }
}

/// What an address consists of besides the bytes that the instruction says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Base {
    pub space: PlaceSpace,
    address: Address,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Address {
    /// Virtual registers, or parts of them, numbers, or nothing.
    Operands([Operand; 2]),
    /// That of a [`MemPlace`](mir::machine::MemPlace).
    Known(u32),
}

/// Bytes behind an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub base: Base,
    /// The first byte, and the one behind the last.
    pub bytes: (i32, i32),
}

impl Place {
    /// What `inst` accesses, if it is a plain access of LDS.
    pub fn in_lds(inst: &Inst) -> Option<Self> {
        let (size, unit) = size(inst.op)?;
        if !is_plain(inst) || inst.mods.flags.contains(ModFlags::GDS) {
            return None;
        }
        let address = *inst.operands.get(usize::from(inst.facts().def_count))?;
        let base = Base { space: PlaceSpace::Lds, address: Address::Operands([address, Operand::Off]) };
        let (first, second) = (inst.mods.offset, i32::from(inst.mods.offset1));
        let bytes = match unit {
            None => (first, first + size),
            Some(unit) => (first.min(second) * unit, first.max(second) * unit + size),
        };
        has_one_value(&address).then_some(Self { base, bytes })
    }

    /// What `inst`, an access of scratch, accesses. All of scratch is behind one resource.
    pub fn in_scratch(inst: &Inst) -> Option<Self> {
        use OperandKind::{SgprOrOff, Soffset, VgprOrOff};
        if !is_plain(inst) || inst.mods.flags.intersects(ModFlags::IDXEN | ModFlags::LDS) {
            return None;
        }
        let mem = inst.mem?;
        let size = i32::try_from(mem.bytes).ok()?;
        let at = |address, first: i32| {
            let base = Base { space: PlaceSpace::Scratch, address };
            Some(Self { base, bytes: (first, first.checked_add(size)?) })
        };
        if let Some(place) = mem.place {
            return at(Address::Known(place.base), place.offset);
        }
        let parts = inst.op.info().operands.iter().zip(&inst.operands);
        let mut parts = parts
            .filter(|(desc, _)| matches!(desc.kind, VgprOrOff | SgprOrOff | Soffset))
            .map(|(_, operand)| *operand);
        let (Some(first), Some(second), None) = (parts.next(), parts.next(), parts.next()) else {
            return None;
        };
        let operands = [first, second];
        operands
            .iter()
            .all(has_one_value)
            .then(|| at(Address::Operands(operands), inst.mods.offset))
            .flatten()
    }

    /// What `inst`, an access of global memory, accesses, if that is plain and its place is known or it has a 64-bit address.
    pub fn in_memory(inst: &Inst) -> Option<Self> {
        let (memory, mem) = (inst.facts().memory.as_ref()?, inst.mem?);
        if !is_plain(inst) || inst.mods.flags.contains(ModFlags::LDS) {
            return None;
        }
        let size = i32::try_from(mem.bytes.max(u32::from(memory.element_bytes))).ok()?;
        let at = |address, first: i32| {
            let bytes = (first, first.checked_add(size)?);
            (size > 0).then_some(Self { base: Base { space: PlaceSpace::Memory, address }, bytes })
        };
        if let Some(place) = mem.place {
            return at(Address::Known(place.base), place.offset);
        }
        if !matches!(memory.kind, MemoryKind::Flat | MemoryKind::Global) {
            return None;
        }
        let part = |slot: Slot| {
            let mut parts = inst.op.info().operands.iter().zip(&inst.operands);
            parts.find(|(desc, _)| desc.slot == slot).map(|(_, operand)| *operand)
        };
        let operands = [part(Slot::Addr)?, part(Slot::Saddr).unwrap_or(Operand::Off)];
        operands
            .iter()
            .all(has_one_value)
            .then(|| at(Address::Operands(operands), inst.mods.offset))
            .flatten()
    }

    /// Whether both have nothing in common.
    pub fn apart(&self, other: &Self) -> bool {
        (self.bytes.1 <= other.bytes.0 || other.bytes.1 <= self.bytes.0) && self.base == other.base
    }
}

/// Whether `inst` loads or stores, and does not do both.
fn is_plain(inst: &Inst) -> bool {
    !inst.op.info().operands.iter().any(|operand| operand.role == Role::DefUse)
}

/// Whether a part of an address is the same wherever it stands.
fn has_one_value(part: &Operand) -> bool {
    match part {
        Operand::Reg(register) => matches!(register.reg, Reg::Virtual(_)),
        Operand::Imm(_) | Operand::Off => true,
        Operand::Block(_) | Operand::Symbol { .. } => false,
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
