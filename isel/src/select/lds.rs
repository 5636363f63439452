//! Loads and stores of LDS: pieces by alignment, two places in one instruction, offsets within reach.

use super::Selector;
use super::memory::{HIGH_STORES, Loads, Stores, load_op, store_op};
use mir::diag::{Diagnostic, Result};
use mir::ir::{AddrSpace, InstKind, MemAccess, Type, Value};
use mir::isa::Opcode::*;
use mir::machine::Operand;
use mir::target::Features;
use smallvec::SmallVec;

const DS_LOADS: Loads =
    [DS_READ_U8, DS_READ_I8, DS_READ_U16, DS_READ_I16, DS_READ_B32, DS_READ_B64, DS_READ_B96, DS_READ_B128];
const DS_STORES: Stores =
    [DS_WRITE_B8, DS_WRITE_B16, DS_WRITE_B32, DS_WRITE_B64, DS_WRITE_B96, DS_WRITE_B128];

/// IR instructions between two loads that become one.
const PAIR_DISTANCE: usize = 64;

/// Loads that wait for a partner at a time.
const PAIR_CANDIDATES: usize = 8;

impl Selector<'_> {
    /// Address register and offset for DS instructions.
    pub(super) fn ds_address(&mut self, ptr: Value, max: i64) -> (Operand, i64) {
        match self.place_address(ptr, AddrSpace::LOCAL, max) {
            (Some(base), offset) => (base, offset),
            (None, offset) => (self.in_vgpr(Operand::Imm(0), 1), offset),
        }
    }

    /// Pieces of a DS access: (bytes, whether it is a two-address instruction on halves).
    pub(super) fn ds_pieces(&self, bytes: u32, align_log2: u8) -> SmallVec<[(u32, bool); 4]> {
        let align = 1u32 << align_log2.min(7);
        let wide = self.target.has(Features::DS_B128);
        // A pair of dwords would have to be aligned.
        let anywhere = align < 4 && self.target.takes_any_lds();
        let mut out = SmallVec::new();
        let mut left = bytes;
        while left > 0 {
            let piece = match left {
                1 | 2 | 4 => (left, false),
                16.. if anywhere => (16, false),
                12.. if anywhere => (12, false),
                8.. if anywhere => (8, false),
                16.. if align >= 16 && wide => (16, false),
                16.. if align >= 8 => (16, true),
                12 if align >= 16 && wide => (12, false),
                8.. if align >= 8 => (8, false),
                8.. => (8, true),
                _ => (4, false),
            };
            out.push(piece);
            left -= piece.0;
        }
        out
    }

    /// Finds loads of single dwords from LDS that `ds_read2_b32` can do together: same base, places at most 255 dwords
    /// apart, nothing between that writes LDS or synchronises. The later one moves up to the earlier.
    pub(super) fn pair_lds_loads(&mut self, block: mir::ir::Block) {
        let sums_checked = self.target.has(Features::DS_CHECKS_SUM);
        let f = self.f;
        let mut open: SmallVec<[(usize, Value, (Value, u32), i64); PAIR_CANDIDATES]> = SmallVec::new();
        for (i, &inst) in f.blocks[block].insts.iter().enumerate() {
            let data = &f.insts[inst];
            let (InstKind::Load { ptr, mem }, Some(value)) = (&data.kind, data.result) else {
                let elsewhere = matches!(&data.kind, InstKind::Store { mem, .. }
                    if mem.is_simple() && matches!(mem.space, AddrSpace::GLOBAL | AddrSpace::PRIVATE));
                if data.kind.has_side_effects() && !elsewhere {
                    open.clear();
                }
                continue;
            };
            if !mem.is_simple() {
                open.clear();
            }
            let single = mem.space == AddrSpace::LOCAL && mem.is_simple() && mem.align_log2 >= 2;
            if !single || data.ty.bits() != Some(32) || self.values[value].rep != super::Rep::Vgpr {
                continue;
            }
            let (root, shift, offset) = self.lds_place(*ptr);
            let usable = self.values[root].rep == super::Rep::Vgpr
                && self.dwords(root) == 1
                && !matches!(f.values[root].def, mir::ir::ValueDef::Const(_))
                && self.root(root) == (root, 0)
                && (0..1 << 16).contains(&offset)
                && (sums_checked || self.fits_unsigned(root, 31 - shift));
            if !usable || self.values[value].uses == 0 {
                continue;
            }
            let fits = |&(at, _, other, place): &(usize, Value, (Value, u32), i64)| {
                let apart = (place - offset).unsigned_abs();
                other == (root, shift)
                    && i - at <= PAIR_DISTANCE
                    && apart % 4 == 0
                    && (4..=508).contains(&apart)
            };
            if let Some(k) = open.iter().position(fits) {
                let (_, first, ..) = open.remove(k);
                self.pairs.insert(first, value);
                self.paired_with.insert(value, first);
            } else {
                if open.len() == PAIR_CANDIDATES {
                    open.remove(0);
                }
                open.push((i, value, (root, shift), offset));
            }
        }
    }

    /// Two dwords of LDS at different places behind one base.
    pub(super) fn ds_load_pair(&mut self, values: [Value; 2], mem: MemAccess) -> Result<()> {
        let mut places = [(Value::from_u32(0), 0u32, 0i64); 2];
        for (place, value) in places.iter_mut().zip(values) {
            let kind = self.f.def_inst(value).map(|inst| &self.f.insts[inst].kind);
            let Some(InstKind::Load { ptr, .. }) = kind else {
                return Err(Diagnostic::defect("a paired value that is not loaded"));
            };
            *place = self.lds_place(*ptr);
        }
        let [(root, shift, a), (_, _, b)] = places;
        let bias = if a.max(b) <= 255 * 4 && a % 4 == 0 { 0 } else { a.min(b) & !0x1fc };
        let base = self.biased_address(root, shift, bias);
        let out = self.new_vgpr(2);
        self.emit(DS_READ2_B32, [out, base]);
        if let Some(inst) = self.touch(mem, 8) {
            inst.mods.offset = ((a - bias) / 4) as i32;
            inst.mods.offset1 = ((b - bias) / 4) as u8;
        }
        for (i, value) in values.into_iter().enumerate() {
            let (dst, part) = (self.def(value), self.sub(&out, i as u8, 1));
            self.emit(COPY, [dst, part]);
        }
        Ok(())
    }

    /// A place in LDS as `(base << shift) + offset`.
    pub(super) fn lds_place(&self, ptr: Value) -> (Value, u32, i64) {
        let (root, offset) = self.split_offset(ptr);
        if let Some(inst) = self.f.def_inst(root)
            && let InstKind::PtrAdd { base, index: Some(index), scale, offset: own } = self.f.insts[inst].kind
            && (1..1 << 16).contains(&scale)
            && (scale as u64).is_power_of_two()
            && self.f.ty(index) == Type::I32
        {
            let (place, more) = self.split_offset(base);
            if let Some(place) = self.const_int(place) {
                let whole = (index, scale.trailing_zeros(), 0);
                let total = offset + own + more + place;
                let (index, shift, bytes) = self.split_index(whole.0, whole.1);
                let sum = i64::from((total + bytes) as i32);
                let checked = self.target.has(Features::DS_CHECKS_SUM);
                if (0..1 << 16).contains(&sum) && (checked || self.fits_unsigned(index, 31 - shift)) {
                    return (index, shift, sum);
                }
                return (whole.0, whole.1, total);
            }
        }
        (root, 0, offset)
    }

    /// `(root << shift) + bias` of 32 bits, computed once, right after the definition of `root`.
    pub(super) fn biased_address(&mut self, root: Value, shift: u32, bias: i64) -> Operand {
        if bias == 0 {
            return self.scaled_index(root, shift);
        }
        self.reg_of(root);
        if let Some(list) = self.biased.get(&root)
            && let Some(&(.., out)) = list.iter().find(|&&(s, b, _)| (s, b) == (shift, bias))
        {
            return out;
        }
        let out = self.new_vgpr(1);
        self.biased.entry(root).or_default().push((shift, bias, out));
        out
    }

    pub(super) fn ds_load(
        &mut self,
        dst: Operand,
        ptr: Value,
        mem: MemAccess,
        bytes: u32,
        signed: bool,
    ) -> Result<()> {
        let pieces = self.ds_pieces(bytes, mem.align_log2);
        let (base, offset) =
            self.ds_address(ptr, i64::from(self.target.limits().offsets.ds.max) - i64::from(bytes));
        let mut parts = SmallVec::<[Operand; 4]>::new();
        let mut at = offset;
        for &(piece, two) in &pieces {
            let part = if pieces.len() == 1 { dst } else { self.new_vgpr(piece.div_ceil(4) as u8) };
            if two {
                let (address, first) = self.two_address(base, at, piece / 2);
                self.emit(if piece == 8 { DS_READ2_B32 } else { DS_READ2_B64 }, [part, address]);
                self.set_two(mem, piece, first);
            } else {
                self.emit(load_op(&DS_LOADS, piece, signed), [part, base]);
                self.set_offset(mem, piece, at);
            }
            self.set_region(mem);
            parts.push(part);
            at += i64::from(piece);
        }
        if parts.len() > 1 {
            self.sequence(dst, &parts);
        }
        Ok(())
    }

    pub(super) fn ds_store(&mut self, ptr: Value, value: Value, mem: MemAccess, bytes: u32) -> Result<()> {
        let pieces = self.ds_pieces(bytes, mem.align_log2);
        let high = if bytes <= 2 { self.high_word(value) } else { None };
        let data = match high {
            Some(whole) => self.in_vgpr(whole, 1),
            None => self.vgpr(value),
        };
        let (base, offset) =
            self.ds_address(ptr, i64::from(self.target.limits().offsets.ds.max) - i64::from(bytes));
        let mut at = offset;
        for &(piece, two) in &pieces {
            let from = ((at - offset) / 4) as u8;
            if two {
                let (address, first) = self.two_address(base, at, piece / 2);
                let half = (piece / 8) as u8;
                let [a, b] = [self.sub(&data, from, half), self.sub(&data, from + half, half)];
                self.emit(if piece == 8 { DS_WRITE2_B32 } else { DS_WRITE2_B64 }, [address, a, b]);
                self.set_two(mem, piece, first);
            } else {
                let part =
                    if pieces.len() == 1 { data } else { self.sub(&data, from, piece.div_ceil(4) as u8) };
                let op = if high.is_some() {
                    HIGH_STORES[2][usize::from(bytes == 2)]
                } else {
                    store_op(&DS_STORES, piece)
                };
                self.emit(op, [base, part]);
                self.set_offset(mem, piece, at);
            }
            self.set_region(mem);
            at += i64::from(piece);
        }
        Ok(())
    }

    /// Address and first element number for a two-address instruction on elements of `size` bytes.
    pub(super) fn two_address(&mut self, base: Operand, offset: i64, size: u32) -> (Operand, u8) {
        let size = i64::from(size);
        if offset % size == 0 && offset / size < 255 {
            return (base, (offset / size) as u8);
        }
        let out = self.new_vgpr(1);
        self.vector_add(out, Operand::Imm(offset), base);
        (out, 0)
    }

    pub(super) fn set_two(&mut self, mem: MemAccess, bytes: u32, first: u8) {
        if let Some(inst) = self.touch(mem, bytes) {
            inst.mods.offset = i32::from(first);
            inst.mods.offset1 = first + 1;
        }
    }
}
