//! Loads, stores and fences.
//!
//! | memory | instructions |
//! |---|---|
//! | uniform, not written meanwhile, whole dwords | `s_load` |
//! | global, constant | `global_*` (GFX9), `flat_*` (GFX7-8), `buffer_*` (GFX6, `mubuf.rs`) |
//! | generic | `flat_*` |
//! | LDS | `ds_*`; `read2`/`write2` where the alignment is that of half the access |
//! | private | see `scratch.rs` |

use super::Selector;
use super::address::GlobalAddress;
use mir::diag::{Diagnostic, Result};
use mir::ir::{
    AddrSpace, BinaryOp, CastOp, InstData, InstKind, MemAccess, MemFlags, Ordering, SyncScope, Type, Value,
};
use mir::isa::Opcode::{self, *};
use mir::machine::{Inst, MemPlace, MemRef, ModFlags, Operand, PReg};
use mir::target::Features;
use smallvec::SmallVec;

/// Loads of one family: unsigned and signed byte, unsigned and signed word, 1 to 4 dwords.
pub(super) type Loads = [Opcode; 8];
/// Stores: byte, word, 1 to 4 dwords.
pub(super) type Stores = [Opcode; 6];

const GLOBAL_LOADS: Loads = [
    GLOBAL_LOAD_UBYTE,
    GLOBAL_LOAD_SBYTE,
    GLOBAL_LOAD_USHORT,
    GLOBAL_LOAD_SSHORT,
    GLOBAL_LOAD_DWORD,
    GLOBAL_LOAD_DWORDX2,
    GLOBAL_LOAD_DWORDX3,
    GLOBAL_LOAD_DWORDX4,
];
const FLAT_LOADS: Loads = [
    FLAT_LOAD_UBYTE,
    FLAT_LOAD_SBYTE,
    FLAT_LOAD_USHORT,
    FLAT_LOAD_SSHORT,
    FLAT_LOAD_DWORD,
    FLAT_LOAD_DWORDX2,
    FLAT_LOAD_DWORDX3,
    FLAT_LOAD_DWORDX4,
];
pub(super) const BUFFER_LOADS: Loads = [
    BUFFER_LOAD_UBYTE,
    BUFFER_LOAD_SBYTE,
    BUFFER_LOAD_USHORT,
    BUFFER_LOAD_SSHORT,
    BUFFER_LOAD_DWORD,
    BUFFER_LOAD_DWORDX2,
    BUFFER_LOAD_DWORDX3,
    BUFFER_LOAD_DWORDX4,
];
const GLOBAL_STORES: Stores = [
    GLOBAL_STORE_BYTE,
    GLOBAL_STORE_SHORT,
    GLOBAL_STORE_DWORD,
    GLOBAL_STORE_DWORDX2,
    GLOBAL_STORE_DWORDX3,
    GLOBAL_STORE_DWORDX4,
];
const FLAT_STORES: Stores = [
    FLAT_STORE_BYTE,
    FLAT_STORE_SHORT,
    FLAT_STORE_DWORD,
    FLAT_STORE_DWORDX2,
    FLAT_STORE_DWORDX3,
    FLAT_STORE_DWORDX4,
];
pub(super) const BUFFER_STORES: Stores = [
    BUFFER_STORE_BYTE,
    BUFFER_STORE_SHORT,
    BUFFER_STORE_DWORD,
    BUFFER_STORE_DWORDX2,
    BUFFER_STORE_DWORDX3,
    BUFFER_STORE_DWORDX4,
];

/// Stores of a byte or of a word from the high half of a dword: global, flat, DS.
pub(super) const HIGH_STORES: [[Opcode; 2]; 3] = [
    [GLOBAL_STORE_BYTE_D16_HI, GLOBAL_STORE_SHORT_D16_HI],
    [FLAT_STORE_BYTE_D16_HI, FLAT_STORE_SHORT_D16_HI],
    [DS_WRITE_B8_D16_HI, DS_WRITE_B16_D16_HI],
];

pub(super) fn load_op(table: &Loads, bytes: u32, signed: bool) -> Opcode {
    table[match bytes {
        1 => usize::from(signed),
        2 => 2 + usize::from(signed),
        4 => 4,
        8 => 5,
        12 => 6,
        _ => 7,
    }]
}

pub(super) fn store_op(table: &Stores, bytes: u32) -> Opcode {
    table[match bytes {
        1 => 0,
        2 => 1,
        4 => 2,
        8 => 3,
        12 => 4,
        _ => 5,
    }]
}
impl<'a> Selector<'a> {
    pub(super) fn lower_load(&mut self, data: &InstData, ptr: Value, mem: MemAccess) -> Result<()> {
        if let Some(value) = data.result.filter(|&value| self.is_half_wanted(value)) {
            if !self.lower_half_load(value, ptr, mem)? {
                self.lower_whole_load(data, ptr, mem)?;
                self.join_half(value)?;
            }
            return Ok(());
        }
        self.lower_whole_load(data, ptr, mem)
    }

    fn lower_whole_load(&mut self, data: &InstData, ptr: Value, mem: MemAccess) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let bytes = self.access_bytes(data.ty)?;
        if let Some(&first) = self.paired_with.get(&value) {
            // The earlier load brings this dword, too.
            self.reg_of(first);
            return Ok(());
        }
        if let Some(&later) = self.pairs.get(&value)
            && self.values[later].reg.is_some()
        {
            return self.ds_load_pair([value, later], mem);
        }
        if self.values[value].rep == super::Rep::Sgpr {
            return self.scalar_load(value, dst, ptr, mem, bytes);
        }
        let signed = self.loads_signed(value);
        match mem.space {
            AddrSpace::LOCAL | AddrSpace::REGION => self.ds_load(dst, ptr, mem, bytes, signed),
            AddrSpace::PRIVATE => self.scratch_load(dst, ptr, mem, bytes, signed),
            AddrSpace::FLAT | AddrSpace::GLOBAL | AddrSpace::CONSTANT => {
                self.global_load(dst, ptr, mem, bytes, signed)
            }
            other => Err(Diagnostic::unsupported(format!("load from address space {}", other.0))),
        }
    }

    pub(super) fn lower_store(&mut self, ptr: Value, value: Value, mem: MemAccess) -> Result<()> {
        let bytes = self.access_bytes(self.f.ty(value))?;
        match mem.space {
            AddrSpace::LOCAL | AddrSpace::REGION => self.ds_store(ptr, value, mem, bytes),
            AddrSpace::PRIVATE => self.scratch_store(ptr, value, mem, bytes),
            AddrSpace::FLAT | AddrSpace::GLOBAL => self.global_store(ptr, value, mem, bytes),
            other => Err(Diagnostic::unsupported(format!("store to address space {}", other.0))),
        }
    }

    /// Bytes of an access that selection can do: 1, 2, or whole dwords.
    fn access_bytes(&self, ty: Type) -> Result<u32> {
        let bytes = self.module.types.store_bytes(ty);
        if ty == Type::I1
            || ty.scalar().is_none()
            || !(bytes == 1 || bytes == 2 || bytes.is_multiple_of(4) && bytes <= 128)
        {
            return Err(Diagnostic::unsupported(format!(
                "memory access of {}",
                self.module.types.display(ty)
            )));
        }
        Ok(bytes as u32)
    }

    /// Sets what the last instruction touches.
    pub(super) fn touch(&mut self, mem: MemAccess, bytes: u32) -> Option<&mut Inst> {
        let inst = self.cur.last_mut()?;
        inst.mem = Some(MemRef::new(mem, bytes));
        Some(inst)
    }

    pub(super) fn set_offset(&mut self, mem: MemAccess, bytes: u32, offset: i64) {
        if let Some(inst) = self.touch(mem, bytes) {
            inst.mods.offset = offset as i32;
        }
    }

    // Scalar memory.

    fn scalar_load(
        &mut self,
        value: Value,
        dst: Operand,
        ptr: Value,
        mem: MemAccess,
        bytes: u32,
    ) -> Result<()> {
        if bytes < 4 {
            let (root, offset) = self
                .narrow_scalar_offset(ptr, &mem)
                .ok_or_else(|| Diagnostic::defect("narrow scalar load at an unknown place"))?;
            let signed = self.loads_signed(value);
            let word = self.new_sgpr(1);
            self.scalar_load_dwords(word, root, offset & !3, mem, 4);
            let field = ((offset & 3) * 8) | (i64::from(bytes * 8) << 16);
            self.sop(if signed { S_BFE_I32 } else { S_BFE_U32 }, &[dst, word, Operand::Imm(field)]);
            return Ok(());
        }
        let (root, offset) = self.split_offset(ptr);
        // Powers of two of dwords, largest first.
        let mut parts = SmallVec::<[Operand; 4]>::new();
        let mut done = 0;
        while done < bytes {
            let left = (bytes - done) / 4;
            let dwords = (1u32 << left.ilog2()).min(16);
            let part = if dwords * 4 == bytes { dst } else { self.new_sgpr(dwords as u8) };
            self.scalar_load_dwords(part, root, offset + i64::from(done), mem, dwords * 4);
            parts.push(part);
            done += dwords * 4;
        }
        if parts.len() > 1 {
            self.sequence(dst, &parts);
        }
        Ok(())
    }

    fn scalar_load_dwords(&mut self, dst: Operand, root: Value, offset: i64, mem: MemAccess, bytes: u32) {
        let opcode = match bytes {
            4 => S_LOAD_DWORD,
            8 => S_LOAD_DWORDX2,
            16 => S_LOAD_DWORDX4,
            32 => S_LOAD_DWORDX8,
            _ => S_LOAD_DWORDX16,
        };
        let base = self.src(root);
        let mut base = self.in_sgpr(base, 2);
        let fits = self.target.limits().offsets.smem.contains(offset, 0);
        // The hardware drops the two lowest bits of the base and of the offset, not of their sum.
        let aligned = offset % 4 == 0;
        let soffset = if fits && aligned {
            Operand::Imm(offset)
        } else if (0..=i64::from(u32::MAX)).contains(&offset) && aligned {
            self.in_sgpr(Operand::Imm(i64::from(offset as i32)), 1)
        } else {
            base = self.scalar_add64(base, Operand::Imm(offset));
            Operand::Imm(0)
        };
        self.emit(opcode, [dst, base, soffset]);
        self.touch(mem, bytes);
    }

    // Global and generic memory.

    /// Sizes of the pieces that an access is made of: one where it has a legal size.
    pub(super) fn pieces(&self, bytes: u32, max: u32) -> SmallVec<[u32; 4]> {
        let mut out = SmallVec::new();
        let mut left = bytes;
        while left > 0 {
            let piece = match left {
                1 | 2 | 4 | 8 => left,
                3 => 2,
                12 if self.target.has(Features::DWORDX3) => 12,
                16.. => 16,
                12.. => 8,
                _ => 4,
            }
            .min(max);
            out.push(piece);
            left -= piece;
        }
        out
    }

    fn global_load(
        &mut self,
        dst: Operand,
        ptr: Value,
        mem: MemAccess,
        bytes: u32,
        signed: bool,
    ) -> Result<()> {
        let pieces = self.pieces(bytes, 16);
        let address = self.global_address(ptr, mem.space, i64::from(bytes - pieces[pieces.len() - 1]));
        let mut parts = SmallVec::<[Operand; 4]>::new();
        let mut at = 0;
        for &piece in &pieces {
            let part = if pieces.len() == 1 { dst } else { self.new_vgpr(piece.div_ceil(4) as u8) };
            self.global_access(Access::Load { dst: part, signed }, address, at, mem, piece)?;
            parts.push(part);
            at += piece;
        }
        if parts.len() > 1 {
            self.sequence(dst, &parts);
        }
        Ok(())
    }

    fn global_store(&mut self, ptr: Value, value: Value, mem: MemAccess, bytes: u32) -> Result<()> {
        let pieces = self.pieces(bytes, 16);
        let high = if bytes <= 2 { self.high_word(value) } else { None };
        let data = match high {
            Some(whole) => self.in_vgpr(whole, 1),
            None => self.vgpr(value),
        };
        let address = self.global_address(ptr, mem.space, i64::from(bytes - pieces[pieces.len() - 1]));
        let mut at = 0;
        for &piece in &pieces {
            let part = if pieces.len() == 1 {
                data
            } else {
                self.sub(&data, (at / 4) as u8, piece.div_ceil(4) as u8)
            };
            self.global_access(Access::Store { data: part, high: high.is_some() }, address, at, mem, piece)?;
            at += piece;
        }
        Ok(())
    }

    fn global_access(
        &mut self,
        access: Access,
        address: GlobalAddress,
        at: u32,
        mem: MemAccess,
        bytes: u32,
    ) -> Result<()> {
        let mut address = address;
        address.place = address.place.and_then(|place| place.behind(at));
        // Without an offset field the later pieces need their own address.
        let offsets = &self.target.limits().offsets;
        let buffers = self.takes_buffers(mem.space);
        let field = match address.flat {
            true => self.flat_offsets(),
            false if buffers => offsets.buffer,
            false => offsets.global,
        };
        if at > 0 && field.max == 0 {
            let out = self.new_vgpr(2);
            self.vector_add64(out, address.vaddr, Operand::Imm(i64::from(at)));
            address.vaddr = out;
        } else {
            address.offset += at as i32;
        }
        if buffers {
            self.buffer_access(access, address, mem, bytes);
            return Ok(());
        }
        match (access, address.flat) {
            (Access::Load { dst, signed }, false) => {
                self.emit(load_op(&GLOBAL_LOADS, bytes, signed), [dst, address.vaddr, address.saddr]);
            }
            (Access::Load { dst, signed }, true) => {
                self.emit(load_op(&FLAT_LOADS, bytes, signed), [dst, address.vaddr]);
            }
            (Access::Store { data, high }, false) => {
                let op = if high {
                    HIGH_STORES[0][usize::from(bytes == 2)]
                } else {
                    store_op(&GLOBAL_STORES, bytes)
                };
                self.emit(op, [address.vaddr, data, address.saddr]);
            }
            (Access::Store { data, high }, true) => {
                let op = if high {
                    HIGH_STORES[1][usize::from(bytes == 2)]
                } else {
                    store_op(&FLAT_STORES, bytes)
                };
                self.emit(op, [address.vaddr, data]);
            }
        }
        self.set_offset(mem, bytes, i64::from(address.offset));
        self.set_place(address.place);
        Ok(())
    }

    /// Where the last instruction accesses memory.
    fn set_place(&mut self, place: Option<MemPlace>) {
        if let Some(mem) = self.cur.last_mut().and_then(|inst| inst.mem.as_mut()) {
            mem.place = place;
        }
    }

    fn buffer_access(&mut self, access: Access, address: GlobalAddress, mem: MemAccess, bytes: u32) {
        let GlobalAddress { vaddr, saddr: resource, offset, mode, place, .. } = address;
        let zero = Operand::Imm(0);
        let (op, data) = match access {
            Access::Load { dst, signed } => (load_op(&BUFFER_LOADS, bytes, signed), dst),
            Access::Store { data, .. } => (store_op(&BUFFER_STORES, bytes), data),
        };
        self.emit(op, [data, vaddr, resource, zero]);
        self.set_offset(mem, bytes, i64::from(offset));
        self.set_place(place);
        if let Some(inst) = self.cur.last_mut() {
            inst.mods.flags |= mode;
        }
    }

    /// The 32-bit value whose high half a 16-bit value is, where stores can take it from there.
    pub(super) fn high_word(&mut self, value: Value) -> Option<Operand> {
        if !self.target.has(Features::D16_PRESERVES) {
            return None;
        }
        let data = self.nearby(value)?;
        match &data.kind {
            InstKind::Cast { op: CastOp::Trunc | CastOp::BitCast, arg } => {
                // The low byte of the high half is where the whole of it is.
                let same_place = matches!(data.kind, InstKind::Cast { op: CastOp::BitCast, .. });
                if same_place || self.f.ty(*arg).bits() == Some(16) {
                    return self.high_word(*arg);
                }
                match &self.nearby(*arg)?.kind {
                    InstKind::Binary { op: BinaryOp::LShr | BinaryOp::AShr, args }
                        if self.is_const_value(args[1], 16) && self.f.ty(*arg) == Type::I32 =>
                    {
                        Some(self.src(args[0]))
                    }
                    _ => None,
                }
            }
            InstKind::ExtractElement { vector, index } => {
                let index = self.const_int(*index)?;
                let bits = self.f.ty(value).bits()?;
                (bits == 16 && index >= 0 && index % 2 == 1).then(|| {
                    let whole = self.src(*vector);
                    self.sub(&whole, (index / 2) as u8, 1)
                })
            }
            _ => None,
        }
        .filter(|o| o.as_imm().is_none())
    }

    // LDS.

    /// Marks the last instruction as one on GDS where `mem` says so. M0 is then the size that the function declares, as LLVM sets it.
    pub(super) fn set_region(&mut self, mem: MemAccess) {
        if mem.space != AddrSpace::REGION {
            return;
        }
        let Some(mut inst) = self.cur.pop() else { return };
        inst.mods.flags |= ModFlags::GDS;
        let size = self.mf.lds.gds_bytes;
        self.emit(S_MOV_B32, [Operand::preg(PReg::M0, 1), Operand::Imm(i64::from(size))]);
        self.cur.push(inst);
    }

    // Fences.

    /// A fence is a pseudo that carries ordering and scope; the memory model turns it into waits and invalidates.
    pub(super) fn lower_fence(
        &mut self,
        ordering: Ordering,
        scope: SyncScope,
        flags: MemFlags,
        space: AddrSpace,
    ) -> Result<()> {
        self.emit(FENCE, []);
        let access = MemAccess { flags, ordering, scope, ..MemAccess::plain(space, 0) };
        self.touch(access, 0);
        Ok(())
    }
}

/// A load or store of one piece.
#[derive(Clone, Copy)]
enum Access {
    Load { dst: Operand, signed: bool },
    Store { data: Operand, high: bool },
}
