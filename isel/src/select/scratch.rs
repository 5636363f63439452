//! Loads and stores of private memory.
//!
//! * By buffers: `buffer_* offen`, an element at a time, as lanes' scratch is interleaved by elements and the resource says so.
//! * By `scratch_*`: the address is in a VGPR or in an SGPR, never in neither and never in both. The hardware adds the immediate offset to it
//!   without sign and without wrapping, so a constant is split off only where what remains cannot be negative.

use super::memory::{BUFFER_LOADS, BUFFER_STORES, Loads, Stores, load_op, store_op};
use super::{Rep, Selector};
use mir::diag::Result;
use mir::ir::{AddrSpace, MemAccess, Value};
use mir::isa::Opcode::{self, *};
use mir::machine::{EntryValue, ModFlags, Operand};
use mir::target::ScratchAccess;
use smallvec::SmallVec;

const SCRATCH_LOADS: Loads = [
    SCRATCH_LOAD_UBYTE,
    SCRATCH_LOAD_SBYTE,
    SCRATCH_LOAD_USHORT,
    SCRATCH_LOAD_SSHORT,
    SCRATCH_LOAD_DWORD,
    SCRATCH_LOAD_DWORDX2,
    SCRATCH_LOAD_DWORDX3,
    SCRATCH_LOAD_DWORDX4,
];
const SCRATCH_STORES: Stores = [
    SCRATCH_STORE_BYTE,
    SCRATCH_STORE_SHORT,
    SCRATCH_STORE_DWORD,
    SCRATCH_STORE_DWORDX2,
    SCRATCH_STORE_DWORDX3,
    SCRATCH_STORE_DWORDX4,
];

/// Address of a private access.
#[derive(Clone, Copy)]
struct Place {
    /// VGPR, or `off`.
    vaddr: Operand,
    /// Base in an SGPR; `off` beside a VGPR of `scratch_*`, 0 in MUBUF.
    base: Operand,
    /// Bytes in the instruction.
    offset: i64,
}

/// Opcodes of an access in either form.
#[derive(Clone, Copy)]
pub(super) struct Forms {
    pub buffer: Opcode,
    pub scratch: Opcode,
}

impl<'a> Selector<'a> {
    fn scratch_place(&mut self, ptr: Value, bytes: u32) -> Place {
        match self.mf.scratch {
            ScratchAccess::Buffer => self.place_for_buffer(ptr, bytes),
            ScratchAccess::Scratch => self.place_for_scratch(ptr, bytes),
        }
    }

    /// Operands of MUBUF.
    fn place_for_buffer(&mut self, ptr: Value, bytes: u32) -> Place {
        // Every dword of the access must be reachable.
        let max = i64::from(self.mf.scratch.max_offset(self.target.limits()));
        let zero = Operand::Imm(0);
        if let Some(frame) = self.mf.frame_base {
            let (root, offset) = self.split_offset(ptr);
            if let Some(&place) = self.allocas.get(&root) {
                let at = i64::from(place) + offset;
                if (0..=max + 4 - i64::from(bytes.max(4))).contains(&at) {
                    // Objects at a known place are relative to the frame.
                    return Place { vaddr: Operand::Off, base: Operand::preg(frame, 1), offset: at };
                }
            }
        }
        let (mut vaddr, offset) = self.place_address(ptr, AddrSpace::PRIVATE, max);
        if vaddr.is_none() && self.mf.frame_base.is_some() {
            vaddr = Some(self.in_vgpr(zero, 1));
        }
        if offset + i64::from(bytes) - 4 <= max {
            return Place { vaddr: vaddr.unwrap_or(Operand::Off), base: zero, offset };
        }
        let out = self.new_vgpr(1);
        match vaddr {
            Some(vaddr) => self.vector_add(out, Operand::Imm(offset), vaddr),
            None => {
                self.emit(V_MOV_B32, [out, Operand::Imm(offset)]);
            }
        }
        Place { vaddr: out, base: zero, offset: 0 }
    }

    /// Operands of `scratch_*`.
    fn place_for_scratch(&mut self, ptr: Value, bytes: u32) -> Place {
        let max = i64::from(self.mf.scratch.max_offset(self.target.limits()));
        let last = max - (i64::from(bytes.max(4)) - 4);
        let (root, offset) = self.split_offset(ptr);
        let scalar = |base, offset| Place { vaddr: Operand::Off, base, offset };
        if let (Some(frame), Some(&place)) = (self.mf.frame_base, self.allocas.get(&root)) {
            let at = i64::from(place) + offset;
            if (0..=last).contains(&at) {
                return scalar(Operand::preg(frame, 1), at);
            }
        }
        if let Some(place) = self.const_int(root) {
            let at = i64::from(place.wrapping_add(offset) as u32);
            let low = Some(at & max).filter(|&low| low <= last).unwrap_or(0);
            let base = self.in_sgpr(Operand::Imm(i64::from((at - low) as i32)), 1);
            return scalar(base, low);
        }
        let splits = offset == 0 || (0..=last).contains(&offset) && self.fits_unsigned(root, 31);
        let (whole, offset) = if splits { (root, offset) } else { (ptr, 0) };
        let (base, _) = self.root(whole);
        if self.values[base].rep == Rep::Sgpr && !self.is_temporal(base) {
            let base = self.src(whole);
            let base = self.in_sgpr(base, 1);
            return scalar(base, offset);
        }
        Place { vaddr: self.vgpr(whole), base: Operand::Off, offset }
    }

    /// One access; `tied` is the other half of what it loads.
    fn scratch_access(
        &mut self,
        forms: Forms,
        data: Operand,
        place: Place,
        mem: MemAccess,
        bytes: u32,
        tied: Option<Operand>,
    ) {
        let Place { vaddr, base, offset } = place;
        let mut operands: SmallVec<[Operand; 5]> = SmallVec::new();
        let op = match self.mf.scratch {
            ScratchAccess::Buffer => {
                let resource = self.entry_value(EntryValue::PrivateSegmentBuffer);
                operands.extend([data, vaddr, resource, base]);
                forms.buffer
            }
            ScratchAccess::Scratch => {
                self.set_flat_scratch_up();
                // The address is the first source.
                let data_first = forms.scratch.facts().def_count > 0;
                operands.extend(if data_first { [data, vaddr] } else { [vaddr, data] });
                operands.push(base);
                forms.scratch
            }
        };
        operands.extend(tied);
        self.emit(op, operands);
        self.set_offset(mem, bytes, offset);
        if self.mf.scratch == ScratchAccess::Buffer
            && vaddr != Operand::Off
            && let Some(inst) = self.cur.last_mut()
        {
            inst.mods.flags |= ModFlags::OFFEN;
        }
    }

    /// Sizes of the pieces of an access. Instructions for scratch take several dwords, which each have their place in it; buffers take what an
    /// element holds.
    fn scratch_pieces(&self, mem: MemAccess, bytes: u32) -> SmallVec<[u32; 4]> {
        let widest = match self.mf.scratch {
            _ if mem.align_log2 < 2 => 4,
            ScratchAccess::Scratch => 16,
            ScratchAccess::Buffer => self.target.scratch_width(1 << mem.align_log2.min(6)) as u32,
        };
        self.pieces(bytes, widest)
    }

    /// A load into one half of a register: `[whole, other half]`.
    pub(super) fn scratch_half_load(
        &mut self,
        forms: Forms,
        [out, rest]: [Operand; 2],
        ptr: Value,
        mem: MemAccess,
        bytes: u32,
    ) {
        let place = self.scratch_place(ptr, bytes);
        self.scratch_access(forms, out, place, mem, bytes, Some(rest));
    }

    pub(super) fn scratch_load(
        &mut self,
        dst: Operand,
        ptr: Value,
        mem: MemAccess,
        bytes: u32,
        signed: bool,
    ) -> Result<()> {
        let pieces = self.scratch_pieces(mem, bytes);
        let mut place = self.scratch_place(ptr, bytes);
        let mut parts = SmallVec::<[Operand; 4]>::new();
        for &piece in &pieces {
            let part = if pieces.len() == 1 { dst } else { self.new_vgpr(piece.div_ceil(4) as u8) };
            let forms = Forms {
                buffer: load_op(&BUFFER_LOADS, piece, signed),
                scratch: load_op(&SCRATCH_LOADS, piece, signed),
            };
            self.scratch_access(forms, part, place, mem, piece, None);
            parts.push(part);
            place.offset += i64::from(piece);
        }
        if parts.len() > 1 {
            self.sequence(dst, &parts);
        }
        Ok(())
    }

    pub(super) fn scratch_store(
        &mut self,
        ptr: Value,
        value: Value,
        mem: MemAccess,
        bytes: u32,
    ) -> Result<()> {
        let pieces = self.scratch_pieces(mem, bytes);
        let high = if bytes <= 2 { self.high_word(value) } else { None };
        let data = match high {
            Some(whole) => self.in_vgpr(whole, 1),
            None => self.vgpr(value),
        };
        let mut place = self.scratch_place(ptr, bytes);
        let mut dword = 0;
        for &piece in &pieces {
            let dwords = piece.div_ceil(4) as u8;
            let part = if pieces.len() == 1 { data } else { self.sub(&data, dword, dwords) };
            let forms = match (high, piece) {
                (Some(_), 1) => {
                    Forms { buffer: BUFFER_STORE_BYTE_D16_HI, scratch: SCRATCH_STORE_BYTE_D16_HI }
                }
                (Some(_), _) => {
                    Forms { buffer: BUFFER_STORE_SHORT_D16_HI, scratch: SCRATCH_STORE_SHORT_D16_HI }
                }
                (None, _) => Forms {
                    buffer: store_op(&BUFFER_STORES, piece),
                    scratch: store_op(&SCRATCH_STORES, piece),
                },
            };
            self.scratch_access(forms, part, place, mem, piece, None);
            dword += dwords;
            place.offset += i64::from(piece);
        }
        Ok(())
    }
}
