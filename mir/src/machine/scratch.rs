//! Accesses to a dword of scratch at a place in the frame, in either form ([`ScratchAccess`]).

use super::{Inst, MemRef, Modifiers, Operand};
use crate::ir::{AddrSpace, MemAccess};
use crate::isa::Opcode;
use crate::target::ScratchAccess;

/// Operands of an access of a dword of scratch whose address has no VGPR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameAccess {
    /// Whether it stores.
    pub store: bool,
    /// Index of the operand that is stored or loaded.
    pub data: usize,
    /// Index of the base: a register, or a constant in MUBUF.
    pub base: usize,
    /// Index of the resource, where there is one.
    pub resource: Option<usize>,
}

impl ScratchAccess {
    /// Loads `data` from, or stores it at, `offset` bytes of a lane behind `base`. `resource` is the scratch resource, which MUBUF
    /// alone reads.
    pub fn frame_dword(
        self,
        store: bool,
        data: Operand,
        base: Operand,
        resource: Operand,
        offset: u32,
    ) -> Inst {
        let inst = match (self, store) {
            (Self::Buffer, false) => {
                Inst::new(Opcode::BUFFER_LOAD_DWORD, [data, Operand::Off, resource, base])
            }
            (Self::Buffer, true) => {
                Inst::new(Opcode::BUFFER_STORE_DWORD, [data, Operand::Off, resource, base])
            }
            (Self::Scratch, false) => Inst::new(Opcode::SCRATCH_LOAD_DWORD, [data, Operand::Off, base]),
            (Self::Scratch, true) => Inst::new(Opcode::SCRATCH_STORE_DWORD, [Operand::Off, data, base]),
        };
        let mods = Modifiers { offset: offset as i32, ..Modifiers::default() };
        let access = MemAccess::plain(AddrSpace::PRIVATE, 2);
        inst.with_mods(mods).with_mem(MemRef::new(access, 4))
    }
}

impl Inst {
    /// The operands, where this may be an access of a dword of the frame: what [`ScratchAccess::frame_dword`] makes has this form, and
    /// buffer accesses of the program may have it, too.
    pub fn frame_access(&self) -> Option<FrameAccess> {
        let (store, data, base, resource) = match self.op {
            Opcode::BUFFER_LOAD_DWORD => (false, 0, 3, Some(2)),
            Opcode::BUFFER_STORE_DWORD => (true, 0, 3, Some(2)),
            Opcode::SCRATCH_LOAD_DWORD => (false, 0, 2, None),
            Opcode::SCRATCH_STORE_DWORD => (true, 1, 2, None),
            _ => return None,
        };
        let address = if self.op == Opcode::SCRATCH_STORE_DWORD { 0 } else { 1 };
        let absent = self.operands.get(address) == Some(&Operand::Off);
        absent.then_some(FrameAccess { store, data, base, resource })
    }
}
