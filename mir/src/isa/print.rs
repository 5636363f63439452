//! Printer: assembly text as LLVM's tools write it.
//!
//! `mnemonic[_e32|_e64|_sdwa|_dpp] operands modifiers`: operands in the row's order, each by its kind and type; modifiers in the order
//! that the format has. What only a function knows (names of blocks, symbols and virtual registers) comes from [`Names`].
//!
//! Witness: llvm-mc 22, by `tests/isa_round_trip.rs`.

use super::encode::choose;
use super::format::Slot;
use super::formats::{UNIFIED_DEFAULT, unified_format_name};
use super::{Format, ImageParts, OpFlags, Opcode, OpcodeInfo, OperandDesc, OperandKind, Role, ValueType};
use crate::ir::ImageDim;
use crate::machine::{
    Block, Dpp, Dpp8, Encoding, Inst, ModFlags, Modifiers, Operand, PReg, Reg, RegOperand, RelocKind, Sdwa,
    SdwaSel, SdwaUnused, SymbolId,
};
use crate::target::messages::{
    MSG_GS, MSG_GS_DONE, MSG_SYSMSG, depctr_fields, depctr_neutral, hwreg_fields, hwreg_name, message_fields,
    message_name, operation_name,
};
use crate::target::operands::{inline_constant, inline_constant_value, literal_of_constant};
use crate::target::{Generation, Target};
use std::fmt::{self, Formatter, Write};

/// Names of what an instruction refers to.
pub trait Names {
    /// A branch target.
    fn block(&self, f: &mut Formatter<'_>, block: Block) -> fmt::Result {
        write!(f, "{block}")
    }

    /// A symbol, as an expression that the assembler understands.
    fn symbol(&self, f: &mut Formatter<'_>, symbol: SymbolId, addend: i32, kind: RelocKind) -> fmt::Result {
        write!(f, "{symbol}{}", kind.suffix())?;
        if addend == 0 { Ok(()) } else { write!(f, "{addend:+}") }
    }
}

/// Entity numbers instead of names.
#[derive(Clone, Copy, Debug)]
pub struct Numbers;

impl Names for Numbers {}

/// Displays an instruction; made by [`Inst::display`].
pub struct DisplayInst<'a, N: Names> {
    inst: &'a Inst,
    generation: Generation,
    target: &'a Target,
    names: &'a N,
}

impl Inst {
    /// The instruction as assembly text for `target`, with entity numbers for blocks and symbols.
    pub fn display<'a>(&'a self, target: &'a Target) -> DisplayInst<'a, Numbers> {
        self.display_with(target, &Numbers)
    }

    /// The instruction as assembly text for `target`.
    pub fn display_with<'a, N: Names>(&'a self, target: &'a Target, names: &'a N) -> DisplayInst<'a, N> {
        DisplayInst { inst: self, generation: target.generation(), target, names }
    }
}

impl<N: Names> fmt::Display for DisplayInst<'_, N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let info = self.inst.op.info();
        let encoding = choose(self.inst, self.generation);
        f.write_str(info.name_on(self.generation))?;
        f.write_str(suffix(info, encoding, self.generation))?;
        // Address registers that do not follow each other stand behind the row's operands.
        let parts = usize::from(self.inst.mods.address_parts);
        let (operands, parts) = self.inst.operands.split_at(self.inst.operands.len().saturating_sub(parts));
        for (index, operand) in operands.iter().enumerate() {
            // The target of an export has no comma behind it.
            let first = index == 0 || (index == 1 && info.format == Format::Exp);
            f.write_str(if first { " " } else { ", " })?;
            match info.operands.get(index) {
                Some(desc) if desc.slot == Slot::Addr && !parts.is_empty() => {
                    f.write_char('[')?;
                    self.plain(f, operand, desc.ty)?;
                    for part in parts {
                        f.write_str(", ")?;
                        self.plain(f, part, desc.ty)?;
                    }
                    f.write_char(']')?;
                }
                Some(desc) => self.operand(f, info, encoding, index, desc, operand)?,
                // Tied values before allocation, sources of pseudo instructions.
                None => self.plain(f, operand, ValueType::B32)?,
            }
        }
        self.modifiers(f, info, encoding)
    }
}

/// The suffix of the mnemonic: written where it tells two encodings apart.
fn suffix(info: &OpcodeInfo, encoding: Encoding, generation: Generation) -> &'static str {
    let short = info.code(generation).is_some();
    let long = info.vop3_code(generation).is_some();
    match (info.format, encoding) {
        // Without operands the mnemonic alone is the short encoding. LLVM prints it for the others too, and reads
        // back other bytes.
        (_, Encoding::E32) if info.operands.is_empty() => "",
        (format, Encoding::E32) if long && format.has_short_encoding() => "_e32",
        (format, Encoding::E64) if short && format.has_short_encoding() => "_e64",
        // LLVM leaves it out here.
        (Format::Vopc, Encoding::Sdwa) if !generation.encoding_rules().shows_sdwa_of_comparisons => "",
        (_, Encoding::Sdwa) => "_sdwa",
        (_, Encoding::Dpp | Encoding::Dpp8) => "_dpp",
        _ => "",
    }
}

impl<N: Names> DisplayInst<'_, N> {
    fn operand(
        &self,
        f: &mut Formatter<'_>,
        info: &OpcodeInfo,
        encoding: Encoding,
        index: usize,
        desc: &OperandDesc,
        operand: &Operand,
    ) -> fmt::Result {
        use OperandKind as K;
        let Operand::Imm(value) = *operand else {
            if desc.role == Role::Use && !matches!(desc.kind, K::LaneMask) {
                return self.source(f, info, encoding, index, desc, operand);
            }
            return self.plain(f, operand, desc.ty);
        };
        if self.inst.mods.flags.intersects(ModFlags::literal_of(desc.slot))
            && let Some(dword) = literal_of_constant(value, desc.ty)
        {
            return write!(f, "lit({dword:#x})");
        }
        match desc.kind {
            K::Simm16 if info.format == Format::Sopk => write!(f, "{:#x}", value as u16),
            K::Simm16 if info.flags.contains(OpFlags::MODE_DEF | OpFlags::M0_DEF) => gpr_index_mode(f, value),
            // LLVM shows the field.
            K::Label => write!(f, "{}", value as u16),
            K::Simm16 | K::Imm => small_number(f, value),
            K::Waitcnt => self.waitcnt(f, value as u16),
            K::Depctr => depctr(f, value as u16, self.target),
            K::Hwreg => self.hwreg(f, value as u16),
            K::Sendmsg => self.message(f, value as u16),
            K::SmemOffset => self.smem_offset(f, value),
            K::Literal if info.format == Format::Sopk => self.constant(f, value, desc.ty),
            K::Literal => write!(f, "{:#x}", value as u32),
            K::Attribute => {
                let channel = ["x", "y", "z", "w"][(value & 3) as usize];
                write!(f, "attr{}.{channel}", value >> 2)
            }
            K::InterpSlot => f.write_str(match value {
                0 => "p10",
                1 => "p20",
                2 => "p0",
                _ => return write!(f, "invalid_param_{value}"),
            }),
            K::ExportTarget => export_target(f, value, self.generation),
            K::ScalarSrc | K::VectorSrc | K::Vgpr | K::Soffset => {
                self.source(f, info, encoding, index, desc, operand)
            }
            _ => write!(f, "{value}"),
        }
    }

    /// A source with its negation, absolute value or sign extension.
    fn source(
        &self,
        f: &mut Formatter<'_>,
        info: &OpcodeInfo,
        encoding: Encoding,
        index: usize,
        desc: &OperandDesc,
        operand: &Operand,
    ) -> fmt::Result {
        let mods = &self.inst.mods;
        if !info.format.is_vector_alu()
            || (info.format == Format::Vop3p && !info.flags.contains(OpFlags::MIX))
        {
            return self.plain(f, operand, desc.ty);
        }
        let number = source_number(info, index);
        let (neg, abs) = (mods.neg >> number & 1 != 0, mods.abs >> number & 1 != 0);
        let sext = encoding == Encoding::Sdwa && mods.sdwa().is_some_and(|s| s.sext >> number & 1 != 0);
        // A minus sign before a constant would be part of it.
        let wrap = neg && !abs && matches!(operand, Operand::Imm(_));
        if wrap {
            f.write_str("neg(")?;
        } else if neg {
            f.write_char('-')?;
        }
        if abs {
            f.write_char('|')?;
        }
        if sext {
            f.write_str("sext(")?;
        }
        self.plain(f, operand, desc.ty)?;
        if sext {
            f.write_char(')')?;
        }
        if abs {
            f.write_char('|')?;
        }
        if wrap { f.write_char(')') } else { Ok(()) }
    }

    fn plain(&self, f: &mut Formatter<'_>, operand: &Operand, ty: ValueType) -> fmt::Result {
        match operand {
            Operand::Reg(reg) => register(f, reg),
            Operand::Imm(value) => self.constant(f, *value, ty),
            Operand::Block(block) => self.names.block(f, *block),
            Operand::Symbol { symbol, addend, kind } => self.names.symbol(f, *symbol, *addend, *kind),
            Operand::Off => f.write_str("off"),
        }
    }

    /// A constant of type `ty`: inline constants by value, literals in hexadecimal.
    fn constant(&self, f: &mut Formatter<'_>, value: i64, ty: ValueType) -> fmt::Result {
        const FLOATS: [&str; 8] = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"];
        use ValueType as T;
        match inline_constant(value, ty, self.generation) {
            Some(code @ 128..=192) => write!(f, "{}", code - 128),
            Some(code @ 193..=208) => write!(f, "-{}", code - 192),
            // As LLVM shows it, though its assembler makes a literal of that.
            Some(code) if matches!(ty, T::B16 | T::I16 | T::U16) => {
                write!(f, "{:#x}", inline_constant_value(code, T::F16, self.generation).unwrap_or(0))
            }
            Some(248) if matches!(ty, T::F64 | T::B64 | T::I64 | T::U64) => {
                f.write_str("0.15915494309189532")
            }
            Some(248) => f.write_str("0.15915494"),
            Some(code) => f.write_str(FLOATS.get(usize::from(code) - 240).unwrap_or(&"?")),
            None => match ty {
                // GFX6-7 read no half from a constant, but LLVM's assembler would take the pattern for one.
                T::F16 if inline_constant(value, ty, Generation::Gfx8).is_some() => {
                    write!(f, "lit({:#x})", value as u16)
                }
                T::F16 | T::B16 | T::I16 | T::U16 => write!(f, "{:#x}", value as u16),
                // The high half alone is written, and a small number there would be an integer.
                T::F64 if (-16..=64).contains(&(value >> 32)) => {
                    write!(f, "lit({:#x})", (value >> 32) as u32)
                }
                T::F64 => write!(f, "{:#x}", value as u64 >> 32),
                T::B64 | T::I64 | T::U64 => write!(f, "{value:#x}"),
                _ => write!(f, "{:#x}", value as u32),
            },
        }
    }

    fn waitcnt(&self, f: &mut Formatter<'_>, imm: u16) -> fmt::Result {
        let layout = self.target.waits();
        let counts = layout.decode(imm);
        if layout.encode(counts) != imm {
            return write!(f, "{imm:#x}");
        }
        let max = layout.max();
        let all = counts == max;
        let mut separator = "";
        for counter in layout.fields() {
            if counts[counter] != max[counter] || all {
                write!(f, "{separator}{}({})", counter.name(), counts[counter])?;
                separator = " ";
            }
        }
        Ok(())
    }

    fn hwreg(&self, f: &mut Formatter<'_>, imm: u16) -> fmt::Result {
        let (id, offset, size) = hwreg_fields(imm);
        match hwreg_name(id, self.target) {
            Some(name) => write!(f, "hwreg({name}")?,
            None => write!(f, "hwreg({id}")?,
        }
        if (offset, size) != (0, 32) {
            write!(f, ", {offset}, {size}")?;
        }
        f.write_char(')')
    }

    fn message(&self, f: &mut Formatter<'_>, imm: u16) -> fmt::Result {
        let Some((id, operation, stream)) = message_fields(imm) else {
            return write!(f, "{imm}");
        };
        let generation = self.generation;
        if let Some(name) = message_name(id, generation) {
            match operation_name(id, operation, generation) {
                // The first geometry message has no neutral operation; the others take no stream.
                Some(op) if id == MSG_GS && operation == 0 => {
                    let _ = op;
                }
                Some(op) if matches!(id, MSG_GS | MSG_GS_DONE) => {
                    if operation != 0 {
                        return write!(f, "sendmsg({name}, {op}, {stream})");
                    }
                    if stream == 0 {
                        return write!(f, "sendmsg({name}, {op})");
                    }
                }
                Some(op) if stream == 0 => return write!(f, "sendmsg({name}, {op})"),
                None if operation == 0 && stream == 0 && !matches!(id, MSG_GS | MSG_GS_DONE | MSG_SYSMSG) => {
                    return write!(f, "sendmsg({name})");
                }
                _ => {}
            }
        }
        write!(f, "sendmsg({id}, {operation}, {stream})")
    }

    fn smem_offset(&self, f: &mut Formatter<'_>, bytes: i64) -> fmt::Result {
        // Text counts as the field does.
        let units = bytes / self.generation.encoding_rules().smem_unit;
        // A literal dword where the short field would do.
        if self.inst.mods.flags.contains(ModFlags::LIT0) {
            return write!(f, "lit({units:#x})");
        }
        hexadecimal(f, units)
    }

    fn modifiers(&self, f: &mut Formatter<'_>, info: &OpcodeInfo, encoding: Encoding) -> fmt::Result {
        let mods = &self.inst.mods;
        match info.format {
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vintrp => {
                flag(f, mods, ModFlags::HIGH, " high")?;
                if info.flags.contains(OpFlags::PERMLANE) {
                    if mods.op_sel != 0 {
                        list(f, " op_sel:", mods.op_sel, 2)?;
                    }
                } else if info.flags.contains(OpFlags::OP_SEL) && mods.op_sel != 0 {
                    let sources = source_count(info);
                    let bits = mods.op_sel & ((1 << sources) - 1) | (mods.op_sel >> 3 & 1) << sources;
                    list(f, " op_sel:", bits, sources + 1)?;
                }
                flag(f, mods, ModFlags::CLAMP, " clamp")?;
                f.write_str(["", " mul:2", " mul:4", " div:2"][usize::from(mods.omod & 3)])?;
                match (encoding, &mods.sdwa(), &mods.dpp()) {
                    (Encoding::Sdwa, Some(s), _) => sdwa(f, info, s),
                    (Encoding::Dpp, _, Some(d)) => dpp(f, d),
                    _ => mods.dpp8().map_or(Ok(()), |d| dpp8(f, d)),
                }
            }
            Format::Vop3p => packed(f, info, mods),
            Format::Smem => {
                let register = self.inst.operands.last().is_some_and(|o| o.as_reg().is_some());
                if register && (mods.offset != 0 || mods.flags.contains(ModFlags::ZERO_OFFSET)) {
                    f.write_str(" offset:")?;
                    hexadecimal(f, i64::from(mods.offset))?;
                }
                self.glc(f, info)?;
                flag(f, mods, ModFlags::DLC, " dlc")
            }
            Format::Ds => {
                if info.flags.contains(OpFlags::DS_TWO) {
                    number(f, " offset0:", i64::from(mods.offset))?;
                    number(f, " offset1:", i64::from(mods.offset1))?;
                } else if self.inst.op == Opcode::DS_SWIZZLE_B32 {
                    swizzle(f, mods.offset as u16, self.generation)?;
                } else {
                    number(f, " offset:", i64::from(mods.offset))?;
                }
                if info.flags.contains(OpFlags::GDS_ONLY) {
                    return f.write_str(" gds");
                }
                flag(f, mods, ModFlags::GDS, " gds")
            }
            Format::Mubuf | Format::Mtbuf => {
                if info.format == Format::Mtbuf && self.generation.encoding_rules().unified_formats {
                    unified_format(f, mods.dmask)?;
                } else if info.format == Format::Mtbuf {
                    buffer_format(f, mods.dmask, self.generation)?;
                }
                flag(f, mods, ModFlags::IDXEN, " idxen")?;
                flag(f, mods, ModFlags::OFFEN, " offen")?;
                flag(f, mods, ModFlags::ADDR64, " addr64")?;
                number(f, " offset:", i64::from(mods.offset))?;
                // Without an address operand the assembler wants `lds` first.
                let store = info.flags.contains(OpFlags::LDS_DMA) && !info.flags.contains(OpFlags::LOAD);
                if store {
                    f.write_str(" lds")?;
                }
                self.glc(f, info)?;
                flag(f, mods, ModFlags::SLC, " slc")?;
                flag(f, mods, ModFlags::DLC, " dlc")?;
                flag(f, mods, ModFlags::TFE, " tfe")?;
                if info.flags.contains(OpFlags::LDS_DMA) && !store {
                    return f.write_str(" lds");
                }
                flag(f, mods, ModFlags::LDS, " lds")
            }
            Format::Flat | Format::Global | Format::Scratch => {
                number(f, " offset:", i64::from(mods.offset))?;
                self.glc(f, info)?;
                flag(f, mods, ModFlags::SLC, " slc")?;
                flag(f, mods, ModFlags::DLC, " dlc")?;
                flag(f, mods, ModFlags::TFE, " tfe")?;
                flag(f, mods, ModFlags::NV, " nv")?;
                if info.flags.contains(OpFlags::LDS_DMA) { f.write_str(" lds") } else { Ok(()) }
            }
            Format::Mimg => {
                if mods.dmask != 0 {
                    write!(f, " dmask:{:#x}", mods.dmask)?;
                }
                let ray = info.image.contains(ImageParts::RAY);
                if self.generation.encoding_rules().image_dimensions && !ray {
                    write!(f, " dim:SQ_RSRC_IMG_{}", ImageDim::of_field(mods.dim).assembly_name())?;
                }
                for (bit, name) in [
                    (ModFlags::UNORM, " unorm"),
                    (ModFlags::GLC, " glc"),
                    (ModFlags::SLC, " slc"),
                    (ModFlags::DLC, " dlc"),
                    (ModFlags::R128, " r128"),
                    (ModFlags::A16, " a16"),
                    (ModFlags::TFE, " tfe"),
                    (ModFlags::LWE, " lwe"),
                    (ModFlags::DA, " da"),
                    (ModFlags::D16, " d16"),
                ] {
                    flag(f, mods, bit, name)?;
                }
                Ok(())
            }
            Format::Exp => {
                flag(f, mods, ModFlags::DONE, " done")?;
                flag(f, mods, ModFlags::COMPR, " compr")?;
                flag(f, mods, ModFlags::VM, " vm")
            }
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Pseudo => {
                Ok(())
            }
        }
    }

    fn glc(&self, f: &mut Formatter<'_>, info: &OpcodeInfo) -> fmt::Result {
        if info.flags.contains(OpFlags::RTN) {
            return f.write_str(" glc");
        }
        flag(f, &self.inst.mods, ModFlags::GLC, " glc")
    }
}

/// Which source operand `index` is, for the bits of `neg` and `abs`.
fn source_number(info: &OpcodeInfo, index: usize) -> u32 {
    info.operands[..index]
        .iter()
        .filter(|o| o.role == Role::Use && !matches!(o.kind, OperandKind::Literal | OperandKind::Attribute))
        .count() as u32
}

fn source_count(info: &OpcodeInfo) -> u32 {
    source_number(info, info.operands.len())
}

fn register(f: &mut Formatter<'_>, operand: &RegOperand) -> fmt::Result {
    match operand.reg {
        Reg::Physical(reg) => tuple(f, reg, operand.dwords),
        Reg::Virtual(reg) => {
            write!(f, "{reg}")?;
            if operand.sub != 0 {
                write!(f, ".{}", operand.sub)?
            }
            if operand.dwords != 1 { write!(f, ":{}", operand.dwords) } else { Ok(()) }
        }
    }
}

/// A physical tuple: `v[0:1]`, `vcc`, `s3`.
fn tuple(f: &mut Formatter<'_>, reg: PReg, dwords: u8) -> fmt::Result {
    if dwords == 1 {
        return write!(f, "{reg}");
    }
    let range = |f: &mut Formatter<'_>, file: &str, first: u16| {
        write!(f, "{file}[{first}:{}]", first + u16::from(dwords).saturating_sub(1))
    };
    if let Some(n) = reg.vgpr_index() {
        return range(f, "v", n);
    }
    if let Some(n) = reg.sgpr_index() {
        return range(f, "s", n);
    }
    if let Some(n) = reg.ttmp_index() {
        return range(f, "ttmp", n);
    }
    f.write_str(match reg {
        PReg::VCC_LO => "vcc",
        PReg::EXEC_LO => "exec",
        PReg::FLAT_SCRATCH_LO => "flat_scratch",
        PReg::XNACK_MASK_LO => "xnack_mask",
        PReg::TBA_LO => "tba",
        PReg::TMA_LO => "tma",
        _ => return write!(f, "{reg}"),
    })
}

fn flag(f: &mut Formatter<'_>, mods: &Modifiers, bit: ModFlags, text: &str) -> fmt::Result {
    if mods.flags.contains(bit) { f.write_str(text) } else { Ok(()) }
}

/// ` name:value` unless 0.
fn number(f: &mut Formatter<'_>, name: &str, value: i64) -> fmt::Result {
    if value == 0 { Ok(()) } else { write!(f, "{name}{value}") }
}

/// Numbers that an inline constant could be in decimal, larger ones in hexadecimal.
fn small_number(f: &mut Formatter<'_>, value: i64) -> fmt::Result {
    if (-16..=64).contains(&value) { write!(f, "{value}") } else { write!(f, "{value:#x}") }
}

fn hexadecimal(f: &mut Formatter<'_>, value: i64) -> fmt::Result {
    if value < 0 { write!(f, "-{:#x}", value.unsigned_abs()) } else { write!(f, "{value:#x}") }
}

/// ` name:[1,0,..]`, the lowest bit first.
fn list(f: &mut Formatter<'_>, name: &str, bits: u8, count: u32) -> fmt::Result {
    f.write_str(name)?;
    for i in 0..count {
        write!(f, "{}{}", if i == 0 { '[' } else { ',' }, bits >> i & 1)?;
    }
    f.write_char(']')
}

fn packed(f: &mut Formatter<'_>, info: &OpcodeInfo, mods: &Modifiers) -> fmt::Result {
    let sources = source_count(info);
    let all = (1 << sources) - 1;
    let selects = info.flags.intersects(OpFlags::FLOAT_MODS | OpFlags::MIX);
    let neutral_hi = if info.flags.contains(OpFlags::MIX) { 0 } else { all };
    for (name, bits, neutral) in [
        (" op_sel:", mods.op_sel, 0),
        (" op_sel_hi:", if selects { mods.op_sel_hi & all } else { neutral_hi }, neutral_hi),
        (" neg_lo:", if info.flags.contains(OpFlags::MIX) { 0 } else { mods.neg }, 0),
        (" neg_hi:", mods.neg_hi, 0),
    ] {
        if bits & all != neutral {
            list(f, name, bits, sources)?;
        }
    }
    flag(f, mods, ModFlags::CLAMP, " clamp")
}

fn part_name(part: SdwaSel) -> &'static str {
    match part {
        SdwaSel::Byte0 => "BYTE_0",
        SdwaSel::Byte1 => "BYTE_1",
        SdwaSel::Byte2 => "BYTE_2",
        SdwaSel::Byte3 => "BYTE_3",
        SdwaSel::Word0 => "WORD_0",
        SdwaSel::Word1 => "WORD_1",
        SdwaSel::Dword => "DWORD",
    }
}

fn sdwa(f: &mut Formatter<'_>, info: &OpcodeInfo, sdwa: &Sdwa) -> fmt::Result {
    if info.operands.is_empty() {
        return Ok(());
    }
    if info.format != Format::Vopc {
        let unused = match sdwa.dst_unused {
            SdwaUnused::Pad => "UNUSED_PAD",
            SdwaUnused::Sext => "UNUSED_SEXT",
            SdwaUnused::Preserve => "UNUSED_PRESERVE",
        };
        write!(f, " dst_sel:{} dst_unused:{unused}", part_name(sdwa.dst_sel))?;
    }
    write!(f, " src0_sel:{}", part_name(sdwa.src_sel[0]))?;
    if info.format == Format::Vop1 { Ok(()) } else { write!(f, " src1_sel:{}", part_name(sdwa.src_sel[1])) }
}

fn dpp(f: &mut Formatter<'_>, dpp: &Dpp) -> fmt::Result {
    let ctrl = dpp.ctrl;
    match ctrl {
        0..=0xff => {
            let lane = |i: u16| ctrl >> (2 * i) & 3;
            write!(f, " quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3))?;
        }
        0x101..=0x10f => write!(f, " row_shl:{}", ctrl & 15)?,
        0x111..=0x11f => write!(f, " row_shr:{}", ctrl & 15)?,
        0x121..=0x12f => write!(f, " row_ror:{}", ctrl & 15)?,
        0x130 => f.write_str(" wave_shl:1")?,
        0x134 => f.write_str(" wave_rol:1")?,
        0x138 => f.write_str(" wave_shr:1")?,
        0x13c => f.write_str(" wave_ror:1")?,
        0x140 => f.write_str(" row_mirror")?,
        0x141 => f.write_str(" row_half_mirror")?,
        0x142 => f.write_str(" row_bcast:15")?,
        0x143 => f.write_str(" row_bcast:31")?,
        0x150..=0x15f => write!(f, " row_share:{}", ctrl & 15)?,
        0x160..=0x16f => write!(f, " row_xmask:{}", ctrl & 15)?,
        other => write!(f, " dpp_ctrl:{other:#x}")?,
    }
    write!(f, " row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask)?;
    if dpp.bound_ctrl {
        f.write_str(" bound_ctrl:1")?;
    }
    if dpp.fetch_inactive { f.write_str(" fi:1") } else { Ok(()) }
}

fn dpp8(f: &mut Formatter<'_>, dpp: &Dpp8) -> fmt::Result {
    f.write_str(" dpp8:")?;
    for lane in 0..8 {
        write!(f, "{}{}", if lane == 0 { '[' } else { ',' }, dpp.lanes >> (3 * lane) & 7)?;
    }
    f.write_str(if dpp.fetch_inactive { "] fi:1" } else { "]" })
}

/// Counters of `s_waitcnt_depctr`: those that wait for nothing are left out, unless all do.
fn depctr(f: &mut Formatter<'_>, imm: u16, target: &Target) -> fmt::Result {
    if imm & !depctr_neutral(target) != 0 {
        return write!(f, "{imm:#x}");
    }
    let fields = || depctr_fields(target);
    let all = fields().all(|field| field.get(imm) == field.max());
    let mut separator = "";
    for field in fields().filter(|field| all || field.get(imm) != field.max()) {
        write!(f, "{separator}{}({})", field.name, field.get(imm))?;
        separator = " ";
    }
    Ok(())
}

fn gpr_index_mode(f: &mut Formatter<'_>, value: i64) -> fmt::Result {
    if !(0..16).contains(&value) {
        return write!(f, "{value:#x}");
    }
    f.write_str("gpr_idx(")?;
    let mut separator = "";
    for (bit, name) in ["SRC0", "SRC1", "SRC2", "DST"].iter().enumerate() {
        if value >> bit & 1 != 0 {
            write!(f, "{separator}{name}")?;
            separator = ",";
        }
    }
    f.write_char(')')
}

fn export_target(f: &mut Formatter<'_>, target: i64, generation: Generation) -> fmt::Result {
    match target {
        0..=7 => write!(f, "mrt{target}"),
        8 => f.write_str("mrtz"),
        9 => f.write_str("null"),
        12..=15 => write!(f, "pos{}", target - 12),
        16 if generation.encoding_rules().exports_primitives => f.write_str("pos4"),
        20 if generation.encoding_rules().exports_primitives => f.write_str("prim"),
        32..=63 => write!(f, "param{}", target - 32),
        _ => write!(f, "invalid_target_{target}"),
    }
}

/// The lane pattern of `ds_swizzle_b32`. Source: Vega ISA, "DS_SWIZZLE_B32"; spelling of LLVM.
fn swizzle(f: &mut Formatter<'_>, offset: u16, generation: Generation) -> fmt::Result {
    if offset == 0 {
        return Ok(());
    }
    if offset & 0xff00 == 0x8000 {
        let lane = |i: u16| offset >> (2 * i) & 3;
        return write!(f, " offset:swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
    }
    if generation.encoding_rules().swizzles_fft && offset & !0x1f == 0xe000 {
        return write!(f, " offset:swizzle(FFT,{})", offset & 31);
    }
    if generation.encoding_rules().swizzles_fft && offset & !0x7e0 == 0xc000 {
        return write!(f, " offset:swizzle(ROTATE,{},{})", offset >> 10 & 1, offset >> 5 & 31);
    }
    if offset & 0x8000 != 0 {
        return write!(f, " offset:{offset}");
    }
    let (and, or, xor) = (offset & 31, offset >> 5 & 31, offset >> 10 & 31);
    if and == 31 && or == 0 && xor.is_power_of_two() {
        return write!(f, " offset:swizzle(SWAP,{xor})");
    }
    if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        return write!(f, " offset:swizzle(REVERSE,{})", xor + 1);
    }
    let group = 32 - and;
    if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        return write!(f, " offset:swizzle(BROADCAST,{group},{or})");
    }
    // A bit forced to 0 or 1 has one spelling, but several encodings.
    if or & and != 0 || xor & !(and & !or) != 0 {
        return write!(f, " offset:{offset}");
    }
    f.write_str(" offset:swizzle(BITMASK_PERM,\"")?;
    // What becomes of each bit of the lane number, from the highest.
    for bit in (0..5).rev() {
        let of = |mask: u16| mask >> bit & 1 != 0;
        let with = |input: bool| ((input && of(and)) || of(or)) != of(xor);
        f.write_char(match (with(false), with(true)) {
            (false, false) => '0',
            (true, true) => '1',
            (false, true) => 'p',
            (true, false) => 'i',
        })?;
    }
    f.write_str("\")")
}

/// Names of data formats of typed buffers, by number. Source: the ISA manuals' buffer resource tables.
pub(super) static DATA_FORMATS: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];

/// A unified format by its name, or by its number where it has none.
fn unified_format(f: &mut Formatter<'_>, format: u8) -> fmt::Result {
    match unified_format_name(format) {
        // The default, which LLVM leaves out.
        _ if format == UNIFIED_DEFAULT => Ok(()),
        Some((data, number)) => write!(f, " format:[BUF_FMT_{data}{number}]"),
        None => write!(f, " format:{format}"),
    }
}

/// Typed buffer formats: data format in bits 3:0, number format in 6:4. Source: the ISA manuals' buffer resource tables.
fn buffer_format(f: &mut Formatter<'_>, format: u8, generation: Generation) -> fmt::Result {
    const NUMBER: [&str; 8] = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "", "FLOAT"];
    let (data, number) = (format & 15, format >> 4 & 7);
    // The default, which LLVM leaves out.
    if (data, number) == (1, 0) {
        return Ok(());
    }
    f.write_str(" format:[")?;
    if data != 1 {
        write!(f, "BUF_DATA_FORMAT_{}", DATA_FORMATS[usize::from(data)])?;
    }
    if number != 0 {
        let name = match NUMBER[usize::from(number)] {
            "" => generation.encoding_rules().number_format_6,
            name => name,
        };
        write!(f, "{}BUF_NUM_FORMAT_{name}", if data != 1 { "," } else { "" })?;
    }
    f.write_char(']')
}
