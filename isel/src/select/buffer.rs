//! Buffer and image intrinsics in the form of [`mir::ir::legal`].
//!
//! The instruction follows from the name's facts, the control bits and the number of dwords; what the target lacks is refused by
//! the intrinsic's name. Resources, samplers and scalar offsets are uniform here (loops over their values have been made
//! before).

use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::legal::{Control, position};
use mir::ir::{
    AddrSpace, BufferAction, BufferDesc, BufferIntrinsic, ImageAction, ImageIntrinsic, InstData, Intrinsic,
    MemAccess, MemFlags, Value,
};
use mir::isa::Opcode::{self, *};
use mir::isa::ValueType;
use mir::machine::{MemRef, ModFlags, Operand, PReg};
use mir::target::Features;
use smallvec::SmallVec;

/// Bytes and dwords: 1, 2, 4, 8, 12, 16 bytes.
const LOADS: [Opcode; 6] = [
    BUFFER_LOAD_UBYTE,
    BUFFER_LOAD_USHORT,
    BUFFER_LOAD_DWORD,
    BUFFER_LOAD_DWORDX2,
    BUFFER_LOAD_DWORDX3,
    BUFFER_LOAD_DWORDX4,
];
const STORES: [Opcode; 6] = [
    BUFFER_STORE_BYTE,
    BUFFER_STORE_SHORT,
    BUFFER_STORE_DWORD,
    BUFFER_STORE_DWORDX2,
    BUFFER_STORE_DWORDX3,
    BUFFER_STORE_DWORDX4,
];

/// Formatted accesses by number of channels: 32 bits, then 16 bits.
type Formatted = [[Opcode; 4]; 2];
const LOAD_FORMAT: Formatted = [
    [BUFFER_LOAD_FORMAT_X, BUFFER_LOAD_FORMAT_XY, BUFFER_LOAD_FORMAT_XYZ, BUFFER_LOAD_FORMAT_XYZW],
    [
        BUFFER_LOAD_FORMAT_D16_X,
        BUFFER_LOAD_FORMAT_D16_XY,
        BUFFER_LOAD_FORMAT_D16_XYZ,
        BUFFER_LOAD_FORMAT_D16_XYZW,
    ],
];
const STORE_FORMAT: Formatted = [
    [BUFFER_STORE_FORMAT_X, BUFFER_STORE_FORMAT_XY, BUFFER_STORE_FORMAT_XYZ, BUFFER_STORE_FORMAT_XYZW],
    [
        BUFFER_STORE_FORMAT_D16_X,
        BUFFER_STORE_FORMAT_D16_XY,
        BUFFER_STORE_FORMAT_D16_XYZ,
        BUFFER_STORE_FORMAT_D16_XYZW,
    ],
];
const LOAD_TYPED: Formatted = [
    [TBUFFER_LOAD_FORMAT_X, TBUFFER_LOAD_FORMAT_XY, TBUFFER_LOAD_FORMAT_XYZ, TBUFFER_LOAD_FORMAT_XYZW],
    [
        TBUFFER_LOAD_FORMAT_D16_X,
        TBUFFER_LOAD_FORMAT_D16_XY,
        TBUFFER_LOAD_FORMAT_D16_XYZ,
        TBUFFER_LOAD_FORMAT_D16_XYZW,
    ],
];
const STORE_TYPED: Formatted = [
    [TBUFFER_STORE_FORMAT_X, TBUFFER_STORE_FORMAT_XY, TBUFFER_STORE_FORMAT_XYZ, TBUFFER_STORE_FORMAT_XYZW],
    [
        TBUFFER_STORE_FORMAT_D16_X,
        TBUFFER_STORE_FORMAT_D16_XY,
        TBUFFER_STORE_FORMAT_D16_XYZ,
        TBUFFER_STORE_FORMAT_D16_XYZW,
    ],
];

/// Read-modify-write: 32 bits without and with the old value, 64 bits likewise.
#[rustfmt::skip]
fn atomic(op: &str) -> Option<[Opcode; 4]> {
    Some(match op {
        "swap" => [BUFFER_ATOMIC_SWAP, BUFFER_ATOMIC_SWAP_RTN, BUFFER_ATOMIC_SWAP_X2, BUFFER_ATOMIC_SWAP_X2_RTN],
        "add" => [BUFFER_ATOMIC_ADD, BUFFER_ATOMIC_ADD_RTN, BUFFER_ATOMIC_ADD_X2, BUFFER_ATOMIC_ADD_X2_RTN],
        "sub" => [BUFFER_ATOMIC_SUB, BUFFER_ATOMIC_SUB_RTN, BUFFER_ATOMIC_SUB_X2, BUFFER_ATOMIC_SUB_X2_RTN],
        "smin" => [BUFFER_ATOMIC_SMIN, BUFFER_ATOMIC_SMIN_RTN, BUFFER_ATOMIC_SMIN_X2, BUFFER_ATOMIC_SMIN_X2_RTN],
        "umin" => [BUFFER_ATOMIC_UMIN, BUFFER_ATOMIC_UMIN_RTN, BUFFER_ATOMIC_UMIN_X2, BUFFER_ATOMIC_UMIN_X2_RTN],
        "smax" => [BUFFER_ATOMIC_SMAX, BUFFER_ATOMIC_SMAX_RTN, BUFFER_ATOMIC_SMAX_X2, BUFFER_ATOMIC_SMAX_X2_RTN],
        "umax" => [BUFFER_ATOMIC_UMAX, BUFFER_ATOMIC_UMAX_RTN, BUFFER_ATOMIC_UMAX_X2, BUFFER_ATOMIC_UMAX_X2_RTN],
        "and" => [BUFFER_ATOMIC_AND, BUFFER_ATOMIC_AND_RTN, BUFFER_ATOMIC_AND_X2, BUFFER_ATOMIC_AND_X2_RTN],
        "or" => [BUFFER_ATOMIC_OR, BUFFER_ATOMIC_OR_RTN, BUFFER_ATOMIC_OR_X2, BUFFER_ATOMIC_OR_X2_RTN],
        "xor" => [BUFFER_ATOMIC_XOR, BUFFER_ATOMIC_XOR_RTN, BUFFER_ATOMIC_XOR_X2, BUFFER_ATOMIC_XOR_X2_RTN],
        "inc" => [BUFFER_ATOMIC_INC, BUFFER_ATOMIC_INC_RTN, BUFFER_ATOMIC_INC_X2, BUFFER_ATOMIC_INC_X2_RTN],
        "dec" => [BUFFER_ATOMIC_DEC, BUFFER_ATOMIC_DEC_RTN, BUFFER_ATOMIC_DEC_X2, BUFFER_ATOMIC_DEC_X2_RTN],
        "cmpswap" => [BUFFER_ATOMIC_CMPSWAP, BUFFER_ATOMIC_CMPSWAP_RTN, BUFFER_ATOMIC_CMPSWAP_X2, BUFFER_ATOMIC_CMPSWAP_X2_RTN],
        "fmin" => [BUFFER_ATOMIC_FMIN, BUFFER_ATOMIC_FMIN_RTN, BUFFER_ATOMIC_FMIN_X2, BUFFER_ATOMIC_FMIN_X2_RTN],
        "fmax" => [BUFFER_ATOMIC_FMAX, BUFFER_ATOMIC_FMAX_RTN, BUFFER_ATOMIC_FMAX_X2, BUFFER_ATOMIC_FMAX_X2_RTN],
        _ => return None,
    })
}

/// Where a buffer access goes: the operands behind the data, and the modifiers.
struct Place {
    vaddr: Operand,
    resource: Operand,
    soffset: Operand,
    offset: i32,
    flags: ModFlags,
}

impl<'a> Selector<'a> {
    fn refuse(&self, name: &str) -> Box<Diagnostic> {
        Diagnostic::unsupported(format!("llvm.{name} on {}", self.target))
    }

    pub(super) fn control(&self, value: Value) -> Control {
        Control::from_bits_retain(
            self.const_int(value).expect("legal accesses have constant control bits") as u32
        )
    }

    /// `value`, an inline constant or SGPR.
    fn soffset(&mut self, value: Value) -> Operand {
        if self.is_undef(value) {
            return Operand::Imm(0);
        }
        match self.scalar_src(value) {
            Operand::Imm(o) if self.is_inline(o, ValueType::B32) => Operand::Imm(o),
            other => self.in_sgpr(other, 1),
        }
    }

    /// The offset `value` as VGPR and immediate, which is followed by accesses up to `span` bytes on.
    fn buffer_offset(&mut self, value: Value, span: i64) -> (Option<Operand>, i64) {
        if self.is_undef(value) {
            return (None, 0);
        }
        let field = self.target.limits().offsets.buffer;
        let max = i64::from(field.max);
        if let Some(constant) = self.const_int(value) {
            let constant = i64::from(constant as u32);
            if field.contains(constant, span) {
                return (None, constant);
            }
            // Neighbouring accesses share the register.
            let low = if constant & max <= max - span { constant & max } else { 0 };
            return (Some(self.in_vgpr(Operand::Imm(i64::from((constant - low) as i32)), 1)), low);
        }
        let (root, offset) = self.split_offset(value);
        if field.contains(offset, span) {
            return (Some(self.vgpr(root)), offset);
        }
        (Some(self.vgpr(value)), 0)
    }

    fn buffer_place(&mut self, desc: &BufferDesc, args: &[Value], control: Control) -> Place {
        let resource = self.sgpr(args[position::RESOURCE]);
        let soffset = self.soffset(args[position::SOFFSET]);
        let (offset_reg, offset) = self.buffer_offset(args[position::OFFSET], 0);
        let mut flags = ModFlags::empty();
        flags.set(ModFlags::GLC, control.contains(Control::GLC));
        flags.set(ModFlags::DLC, self.bypasses_l1(control));
        flags.set(ModFlags::SLC, control.contains(Control::SLC));
        flags.set(ModFlags::TFE, control.contains(Control::TFE));
        flags.set(ModFlags::OFFEN, offset_reg.is_some());
        let vaddr = if desc.structured {
            flags |= ModFlags::IDXEN;
            let index = self.vgpr(args[position::INDEX]);
            match offset_reg {
                Some(offset) => {
                    let pair = self.new_vgpr(2);
                    self.sequence(pair, &[index, offset]);
                    pair
                }
                None => index,
            }
        } else {
            offset_reg.unwrap_or(Operand::Off)
        };
        Place { vaddr, resource, soffset, offset: offset as i32, flags }
    }

    /// Modifiers and memory of the instruction just appended.
    fn finish_buffer(&mut self, place: &Place, control: Control, bytes: u32, format: u32) {
        let mut access = MemAccess::plain(AddrSpace::BUFFER_RESOURCE, 2);
        access.flags.set(MemFlags::VOLATILE, control.contains(Control::VOLATILE));
        if let Some(inst) = self.cur.last_mut() {
            inst.mem = Some(MemRef::new(access, bytes));
            inst.mods.offset = place.offset;
            inst.mods.flags |= place.flags;
            inst.mods.dmask = format as u8;
        }
    }

    pub(super) fn lower_buffer(
        &mut self,
        data: &InstData,
        id: BufferIntrinsic,
        args: &[Value],
    ) -> Result<()> {
        let desc = id.desc();
        let control = self.control(args[position::BUFFER_CONTROL]);
        match desc.action {
            BufferAction::Atomic(op) => return self.buffer_atomic(data, desc, op, args, control),
            BufferAction::LoadLds => return self.buffer_load_lds(desc, args, control),
            BufferAction::Load if self.is_scalar_result(data) => {
                return self.lower_uniform_buffer_load(data, args);
            }
            _ => {}
        }
        let stores = matches!(desc.action, BufferAction::Store | BufferAction::StoreFormat);
        let formatted = matches!(desc.action, BufferAction::StoreFormat | BufferAction::LoadFormat);
        let ty = if stores { self.f.ty(args[position::BUFFER_DATA]) } else { data.ty };
        let bits = ty.bits().unwrap_or(32) as u32;
        let op = if formatted {
            let table = match (stores, desc.typed) {
                (false, false) => LOAD_FORMAT,
                (false, true) => LOAD_TYPED,
                (true, false) => STORE_FORMAT,
                (true, true) => STORE_TYPED,
            };
            let channels = control.channels() as usize;
            table[usize::from(control.contains(Control::D16))].get(channels.wrapping_sub(1)).copied()
        } else {
            // Narrow data with a status are as wide as a dword and one more.
            let narrow = control.channels() == 0 && control.contains(Control::TFE);
            let index = match bits - if control.contains(Control::TFE) && !narrow { 32 } else { 0 } {
                8 => Some(0),
                16 => Some(1),
                64 if narrow => Some(usize::from(control.format() != 8)),
                32 => Some(2),
                64 => Some(3),
                96 => Some(4),
                128 => Some(5),
                _ => None,
            };
            index.map(|i: usize| if stores { STORES[i] } else { LOADS[i] })
        };
        let op = op.ok_or_else(|| self.refuse(&desc.name))?;
        let three = matches!(op, BUFFER_LOAD_DWORDX3 | BUFFER_STORE_DWORDX3);
        if three && !self.target.has(Features::DWORDX3) {
            return self.three_dwords(data, desc, args, control);
        }
        if !self.exists(op) {
            return Err(self.refuse(&desc.name));
        }
        let place = self.buffer_place(desc, args, control);
        let register = if stores { self.vgpr(args[position::BUFFER_DATA]) } else { self.result(data)?.1 };
        let dwords = bits.div_ceil(32) as u8;
        self.emit(op, [register, place.vaddr, place.resource, place.soffset]);
        if !stores {
            self.tie_result(dwords, control);
        }
        let format = if desc.typed { control.format() } else { 0 };
        self.finish_buffer(&place, control, if formatted { 0 } else { bits / 8 }, format);
        Ok(())
    }

    /// Gives the load just appended what its destination keeps: dwords that a failing access does not write are zero, 16 bits beside
    /// the one that is written are anything.
    fn tie_result(&mut self, dwords: u8, control: Control) {
        let Some(load) = self.cur.pop() else { return };
        let ties = load.op.info().operands.first().is_some_and(|o| o.role == mir::isa::Role::DefUse);
        let mut load = load;
        if control.intersects(Control::TFE | Control::LWE) {
            let zeros: SmallVec<[Operand; 8]> =
                (0..dwords).map(|_| self.move_to_new_vgpr(Operand::Imm(0))).collect();
            let start = self.new_vgpr(dwords);
            self.sequence(start, &zeros);
            load.operands.push(start);
        } else if ties {
            let start = self.new_vgpr(dwords);
            self.emit(IMPLICIT_DEF, [start]);
            load.operands.push(start);
        }
        self.cur.push(load);
    }

    /// GFX6 has no access of three dwords: loads read one more, stores are two.
    fn three_dwords(
        &mut self,
        data: &InstData,
        desc: &BufferDesc,
        args: &[Value],
        control: Control,
    ) -> Result<()> {
        let mut place = self.buffer_place(desc, args, control);
        if desc.action != BufferAction::Store {
            let (_, dst) = self.result(data)?;
            let dwords = 4 + u8::from(control.contains(Control::TFE));
            let wide = self.new_vgpr(dwords);
            self.emit(BUFFER_LOAD_DWORDX4, [wide, place.vaddr, place.resource, place.soffset]);
            self.tie_result(dwords, control);
            self.finish_buffer(&place, control, 16, 0);
            let part = self.sub(&wide, 0, 3);
            if control.contains(Control::TFE) {
                let status = self.sub(&wide, 4, 1);
                self.sequence(dst, &[part, status]);
            } else {
                self.emit(COPY, [dst, part]);
            }
            return Ok(());
        }
        let value = self.vgpr(args[position::BUFFER_DATA]);
        let [low, high] = [self.sub(&value, 0, 2), self.sub(&value, 2, 1)];
        if !self.target.limits().offsets.buffer.contains(place.offset.into(), 8) {
            return Err(self.refuse(&desc.name));
        }
        self.emit(BUFFER_STORE_DWORDX2, [low, place.vaddr, place.resource, place.soffset]);
        self.finish_buffer(&place, control, 8, 0);
        place.offset += 8;
        self.emit(BUFFER_STORE_DWORD, [high, place.vaddr, place.resource, place.soffset]);
        self.finish_buffer(&place, control, 4, 0);
        Ok(())
    }

    fn buffer_atomic(
        &mut self,
        data: &InstData,
        desc: &BufferDesc,
        op: &str,
        args: &[Value],
        control: Control,
    ) -> Result<()> {
        let row = atomic(op).ok_or_else(|| self.refuse(&desc.name))?;
        let returned = match data.result {
            Some(result) if self.values[result].reg.is_some() => Some(self.def(result)),
            _ => None,
        };
        let values: SmallVec<[Operand; 2]> =
            args[position::BUFFER_DATA..].iter().map(|&v| self.vgpr(v)).collect();
        let dwords = self.dwords(args[position::BUFFER_DATA]);
        let opcode = row[usize::from(dwords == 2) * 2 + usize::from(returned.is_some())];
        if !self.exists(opcode) {
            return Err(self.refuse(&desc.name));
        }
        let place = self.buffer_place(desc, args, control);
        // The replacement, then the value compared with.
        let x = match values[..] {
            [x] => x,
            _ => {
                let both = self.new_vgpr(dwords * values.len() as u8);
                self.sequence(both, &values);
                both
            }
        };
        let all = dwords * values.len() as u8;
        match returned {
            None => {
                self.emit(opcode, [x, place.vaddr, place.resource, place.soffset]);
                self.finish_buffer(&place, control, u32::from(dwords) * 4, 0);
                // Without the old value the bit means nothing else.
                if let Some(inst) = self.cur.last_mut() {
                    inst.mods.flags.remove(ModFlags::GLC);
                }
            }
            Some(old) => {
                let whole = if all == dwords { old } else { self.new_vgpr(all) };
                self.emit(opcode, [whole, place.vaddr, place.resource, place.soffset, x]);
                self.finish_buffer(&place, control, u32::from(dwords) * 4, 0);
                if let Some(inst) = self.cur.last_mut() {
                    inst.mods.flags |= ModFlags::GLC;
                }
                if all != dwords {
                    let part = self.sub(&whole, 0, dwords);
                    self.emit(COPY, [old, part]);
                }
            }
        }
        Ok(())
    }

    /// A load of each lane into LDS at M0 + immediate offset + 4 × lane.
    fn buffer_load_lds(&mut self, desc: &BufferDesc, args: &[Value], control: Control) -> Result<()> {
        let [lds, size, imm] = [0, 1, 2].map(|i| args[position::BUFFER_DATA + i]);
        let op = match self.immediate(size)? {
            1 => BUFFER_LOAD_UBYTE_LDS,
            2 => BUFFER_LOAD_USHORT_LDS,
            _ => BUFFER_LOAD_DWORD_LDS,
        };
        if !self.exists(op) {
            return Err(self.refuse(&desc.name));
        }
        let imm = self.immediate(imm)?;
        let mut place = self.buffer_place(desc, args, control);
        // The immediate counts for both addresses, so the offset of the buffer alone is in a register.
        if place.offset != 0 {
            let whole = self.vgpr(args[position::OFFSET]);
            place.vaddr = if desc.structured {
                let index = self.vgpr(args[position::INDEX]);
                let pair = self.new_vgpr(2);
                self.sequence(pair, &[index, whole]);
                pair
            } else {
                whole
            };
            place.flags |= ModFlags::OFFEN;
        }
        place.offset = imm as i32;
        self.set_m0(lds);
        self.emit(op, [place.vaddr, place.resource, place.soffset]);
        let bytes = u32::from(op.info().memory_bytes);
        self.finish_buffer(&place, control, bytes, 0);
        Ok(())
    }

    /// M0 = `value`, of the first lane where lanes differ.
    pub(super) fn set_m0(&mut self, value: Value) {
        let m0 = Operand::preg(PReg::M0, 1);
        let source = self.scalar_src(value);
        self.emit(S_MOV_B32, [m0, source]);
    }

    /// `s.buffer.load`: a scalar load where the offset is uniform, else vector loads of up to four dwords.
    pub(super) fn lower_scalar_buffer(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let bits = data.ty.bits().unwrap_or(32) as u32;
        let control = Control::from_cache(
            self.const_int(args[2]).expect("legal accesses have constant control bits") as u64,
        );
        if self.values[value].rep == Rep::Sgpr && self.scalar_buffer_load(dst, bits, args, control).is_some()
        {
            return Ok(());
        }
        let resource = self.sgpr(args[0]);
        let span = if bits > 128 { i64::from(bits / 8) - 16 } else { 0 };
        let (vaddr, offset) = self.buffer_offset(args[1], span);
        let mut parts: SmallVec<[Operand; 4]> = SmallVec::new();
        let pieces = bits.div_ceil(128);
        for piece in 0..pieces {
            let here = (bits - piece * 128).min(128);
            let op = match here {
                8 => BUFFER_LOAD_UBYTE,
                16 => BUFFER_LOAD_USHORT,
                32 => BUFFER_LOAD_DWORD,
                64 => BUFFER_LOAD_DWORDX2,
                _ => BUFFER_LOAD_DWORDX4,
            };
            let part = if pieces == 1 && self.values[value].rep == Rep::Vgpr {
                dst
            } else {
                self.new_vgpr(here.div_ceil(32) as u8)
            };
            self.emit(op, [part, vaddr.unwrap_or(Operand::Off), resource, Operand::Imm(0)]);
            let place = Place {
                vaddr: Operand::Off,
                resource,
                soffset: Operand::Imm(0),
                offset: (offset + i64::from(piece) * 16) as i32,
                flags: if vaddr.is_some() { ModFlags::OFFEN } else { ModFlags::empty() },
            };
            self.finish_buffer(&place, control, here / 8, 0);
            parts.push(part);
        }
        if self.values[value].rep == Rep::Sgpr {
            let part = self.in_sgpr(parts[0], 1);
            self.emit(COPY, [dst, part]);
        } else if pieces > 1 {
            self.sequence(dst, &parts);
        }
        Ok(())
    }

    /// Whether the instruction says that the L1 cache is passed by: where there is such a cache.
    fn bypasses_l1(&self, control: Control) -> bool {
        control.contains(Control::DLC) && self.target.has(Features::L1_BYPASS)
    }

    // Images.

    pub(super) fn lower_image(&mut self, data: &InstData, id: ImageIntrinsic, args: &[Value]) -> Result<()> {
        let desc = id.desc();
        let generation = self.target.generation();
        let control = self.control(args[position::IMAGE_CONTROL]);
        let narrow = if control.contains(Control::G16) { "_g16" } else { "" };
        let op = Opcode::by_name(&format!("{}{narrow}", desc.instruction), generation)
            .filter(|&op| self.exists(op))
            .ok_or_else(|| self.refuse(&desc.name))?;
        let d16 = control.contains(Control::D16);
        if d16 && op.info().flags.contains(mir::isa::OpFlags::NO_D16) {
            return Err(self.refuse(&desc.name));
        }
        let resource = self.sgpr(args[position::RESOURCE]);
        let address = self.vgpr(args[position::ADDRESS]);
        let sampler = if desc.has_sampler() { Some(self.sgpr(args[position::SAMPLER])) } else { None };
        let stored = args.get(position::IMAGE_DATA).map(|&v| (self.vgpr(v), self.dwords(v)));
        let atomic = matches!(desc.action, ImageAction::Atomic(_));
        let mut flags = ModFlags::empty();
        for (bit, flag) in [
            (Control::GLC, ModFlags::GLC),
            (Control::SLC, ModFlags::SLC),
            (Control::TFE, ModFlags::TFE),
            (Control::LWE, ModFlags::LWE),
            (Control::D16, ModFlags::D16),
            (Control::A16, ModFlags::A16),
            (Control::UNORM, ModFlags::UNORM),
        ] {
            flags.set(flag, control.contains(bit));
        }
        let names_dimension = self.target.limits().images.names_dimension;
        flags.set(ModFlags::DA, desc.dim.is_array() && !names_dimension);
        flags.set(ModFlags::DLC, self.bypasses_l1(control));
        let mut result = None;
        let mut operands: SmallVec<[Operand; 5]> = SmallVec::new();
        if atomic {
            let Some((value, dwords)) = stored else {
                return Err(Diagnostic::defect("image atomic without data"));
            };
            let returned = match data.result {
                Some(result) if self.values[result].reg.is_some() => Some(self.def(result)),
                _ => None,
            };
            // The row always defines its data; without GLC nothing comes back.
            let whole = match returned {
                Some(old) if self.dwords_of(data.ty) == dwords => old,
                _ => self.new_vgpr(dwords),
            };
            if returned.is_some() {
                flags |= ModFlags::GLC;
            } else {
                flags.remove(ModFlags::GLC);
            }
            operands.extend([whole, address, resource, value]);
            result = returned.map(|old| (old, whole));
        } else if let Some((value, _)) = stored {
            operands.extend([value, address, resource]);
        } else {
            let dst = match data.result {
                None => self.new_vgpr(control.channels() as u8),
                Some(_) => self.result(data)?.1,
            };
            operands.extend([dst, address, resource]);
            operands.extend(sampler);
        }
        let dmask = self.immediate(args[position::DMASK])?;
        let mut access = MemAccess::plain(AddrSpace::BUFFER_RESOURCE, 2);
        access.flags.set(MemFlags::VOLATILE, control.contains(Control::VOLATILE));
        self.emit(op, operands);
        if !atomic && stored.is_none() && data.result.is_some() {
            let dwords = self.dwords_of(data.ty);
            self.tie_result(dwords, control);
        }
        if let Some(inst) = self.cur.last_mut() {
            inst.mods.flags |= flags;
            inst.mods.dmask = dmask as u8;
            inst.mods.dim = if names_dimension { desc.dim as u8 } else { 0 };
            inst.mem = Some(MemRef::new(access, 0));
        }
        if let Some((old, whole)) = result
            && old != whole
        {
            let dwords = self.dwords_of(data.ty);
            let part = self.sub(&whole, 0, dwords);
            self.emit(COPY, [old, part]);
        }
        Ok(())
    }

    /// Where a ray meets a node of a tree.
    pub(super) fn intersect_ray(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let a16 = self.control(args[position::IMAGE_CONTROL]).contains(Control::A16);
        let address = self.vgpr(args[position::ADDRESS]);
        let wide = self.dwords(args[position::ADDRESS]) > if a16 { 8 } else { 11 };
        let op = if wide { IMAGE_BVH64_INTERSECT_RAY } else { IMAGE_BVH_INTERSECT_RAY };
        if !self.exists(op) {
            return Err(self.lacks(Intrinsic::ImageBvhIntersectRay));
        }
        let resource = self.sgpr(args[position::RESOURCE]);
        let (_, dst) = self.result(data)?;
        let inst = self.emit(op, [dst, address, resource]);
        inst.mods.flags.set(ModFlags::A16, a16);
        inst.mem = Some(MemRef::new(MemAccess::plain(AddrSpace::BUFFER_RESOURCE, 2), 0));
        Ok(())
    }

    /// Loads into LDS from global memory: address, LDS pointer, size, immediate offset, cache bits.
    pub(super) fn global_load_lds(&mut self, args: &[Value]) -> Result<()> {
        let [ptr, lds, size, imm, cache, ..] = *args else {
            return Err(Diagnostic::malformed("too few arguments"));
        };
        let op = match self.immediate(size)? {
            1 => GLOBAL_LOAD_UBYTE_LDS,
            2 => GLOBAL_LOAD_USHORT_LDS,
            4 => GLOBAL_LOAD_DWORD_LDS,
            size => {
                return Err(Diagnostic::unsupported(format!(
                    "llvm.amdgcn.global.load.lds of {size} bytes on {}",
                    self.target
                )));
            }
        };
        if !self.exists(op) || !self.target.has(Features::GLOBAL) {
            return Err(self.refuse("amdgcn.global.load.lds"));
        }
        let imm = self.immediate(imm)?;
        if !self.target.limits().offsets.global.contains(imm, 0) {
            return Err(Diagnostic::malformed(format!("llvm.amdgcn.global.load.lds: offset {imm}")));
        }
        let control = Control::from_cache(self.immediate(cache)? as u64);
        let address = self.vgpr(ptr);
        self.set_m0(lds);
        let mut access = MemAccess::plain(AddrSpace::GLOBAL, 2);
        access.flags.set(MemFlags::VOLATILE, control.contains(Control::VOLATILE));
        let bytes = u32::from(op.info().memory_bytes);
        let inst = self.emit(op, [address, Operand::Off]);
        inst.mods.offset = imm as i32;
        inst.mem = Some(MemRef::new(access, bytes));
        inst.mods.flags.set(ModFlags::GLC, control.contains(Control::GLC));
        inst.mods.flags.set(ModFlags::SLC, control.contains(Control::SLC));
        Ok(())
    }
}
