//! Decoder: dwords to an instruction over physical registers.
//!
//! The inverse of the encoder over the same layouts: the top bits of the first dword tell the format, the opcode number and
//! the format name a row through a table made once for each generation, the row's operands are read from their slots and
//! the modifiers from their fields. Bits that no field covers must be zero, so whatever decodes encodes to the same dwords, up to
//! fields that the operation ignores.
//!
//! Never panics: any dwords give an instruction or a [`DecodeError`]. Cost: linear in operands and modifier fields.

mod modifiers;
mod tables;

use super::address::image_address_dwords;
use super::encode::{encodes_to, scalar_tuple_fits};
use super::format::{Field, Layout, Mod, Slot, layout};
use super::{Format, ImageParts, OpFlags, Opcode, OpcodeInfo, OperandDesc, OperandKind, Role, ValueType};
use crate::machine::{Encoding, Inst, ModFlags, Modifiers, Operand, PReg};
use crate::target::operands::{
    LITERAL, constant_of_literal, inline_constant, inline_constant_value, register_of_code,
};
use crate::target::{Features, Generation, Target, WaveSize};
use smallvec::SmallVec;
use tables::{Shape, alias};

/// Source field value of `src_lds_direct`, which vector instructions alone read.
const LDS_DIRECT: u64 = 254;

/// Why dwords are no instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The input ends inside the instruction.
    #[error("instruction is cut off")]
    Truncated,
    /// No format has these top bits.
    #[error("no format begins with {0:#010x}")]
    UnknownFormat(u32),
    /// The target has no instruction of this number in the format.
    #[error("no opcode {code:#x} in {format:?}")]
    UnknownOpcode {
        /// Format.
        format: Format,
        /// Number in it.
        code: u16,
    },
    /// An operand field holds what the operand cannot be.
    #[error("{name} cannot be {value:#x}")]
    BadOperand {
        /// Operand.
        name: &'static str,
        /// Field value.
        value: u32,
    },
    /// No tuple of scalar registers begins there.
    #[error("{name} cannot be a tuple from {value:#x}")]
    BadTuple {
        /// Operand.
        name: &'static str,
        /// Field value.
        value: u32,
    },
    /// Reserved bits are set, or a modifier that the instruction lacks.
    #[error("reserved bits {0:#x} are set")]
    ReservedBits(u64),
    /// The operands are possible each, but not together (constant bus).
    #[error("impossible combination of operands of {0:?}")]
    Contradictory(Opcode),
}

/// Decodes the instruction at the start of `words`; also returns its length in dwords.
///
/// The result has physical registers and constants in canonical form
/// ([`crate::target::operands::canonical_constant`]), branch distances as constants, and its encoding set where the row has several.
/// It encodes to the same dwords, but for the high half of a 16-bit operand's literal.
pub fn decode(words: &[u32], target: &Target) -> Result<(Inst, usize), DecodeError> {
    let (inst, length) = decode_with(words, target, true)?;
    // What spans operands, such as the constant bus, is the encoder's knowledge.
    if !encodes_to(&inst, target, &words[..length.min(words.len())]) {
        return Err(DecodeError::Contradictory(inst.op));
    }
    Ok((inst, length))
}

/// The same for a disassembler: bits that the instruction does not use may be set, and the limits that span operands are not checked.
/// LLVM's disassembler is the witness for which bits count as unused.
pub fn decode_lenient(words: &[u32], target: &Target) -> Result<(Inst, usize), DecodeError> {
    decode_with(words, target, false)
}

fn decode_with(words: &[u32], target: &Target, strict: bool) -> Result<(Inst, usize), DecodeError> {
    let generation = target.generation();
    let &first = words.first().ok_or(DecodeError::Truncated)?;
    let shape = tables::identify(first, generation).ok_or(DecodeError::UnknownFormat(first))?;
    let &Shape { format, encoding, .. } = shape;
    let second = words.get(1).copied().unwrap_or(0);
    let code = shape.code(u64::from(first) | u64::from(second) << 32);
    let op = tables::find(format, code, target)?;
    let info = op.info();
    let layout =
        layout(info, encoding, generation).ok_or(DecodeError::UnknownOpcode { format, code: code as u16 })?;
    let mut bits = u64::from(first);
    if layout.dwords > 1 {
        bits |= u64::from(*words.get(1).ok_or(DecodeError::Truncated)?) << 32;
    }
    let mut decoder = Decoder {
        info,
        generation,
        wave: target.wave(),
        encoding,
        layout,
        packed_d16: target.has(Features::PACKED_D16),
        strict,
        bits,
        rest: words.get(usize::from(layout.dwords)..).unwrap_or(&[]),
        literal: None,
        target,
        nsa_dwords: 0,
        seen: layout.op.mask() | layout.op_high.mask() | layout.fixed,
        mods: Modifiers::default(),
    };
    decoder.mods()?;
    let op = decoder.alias_of(op);
    let info = op.info();
    decoder.info = info;
    decoder.check_modifiers()?;
    let mut operands = SmallVec::new();
    for (index, desc) in info.operands.iter().enumerate() {
        let operand = decoder.operand(index, desc)?;
        // An optional immediate of 0 is not listed.
        if desc.kind == OperandKind::OptionalImm && operand == Operand::Imm(0) {
            continue;
        }
        operands.push(operand);
    }
    decoder.further_addresses(&mut operands)?;
    decoder.check_reserved()?;
    let length =
        usize::from(layout.dwords) + usize::from(decoder.literal.is_some()) + usize::from(decoder.nsa_dwords);
    let inst = Inst {
        op,
        encoding: if info.format.has_short_encoding() { encoding } else { Encoding::Auto },
        operands,
        mods: decoder.mods,
        mem: None,
        loc: 0,
    };
    Ok((inst, length))
}

struct Decoder<'a> {
    info: &'static OpcodeInfo,
    generation: Generation,
    wave: WaveSize,
    encoding: Encoding,
    layout: &'static Layout,
    /// 16-bit data stand two to a register.
    packed_d16: bool,
    /// Unused bits must be clear.
    strict: bool,
    bits: u64,
    /// What follows the layout's dwords.
    rest: &'a [u32],
    target: &'a Target,
    /// Dwords with further address registers of an image instruction.
    nsa_dwords: u8,
    literal: Option<u32>,
    /// Bits that mean something in this instruction.
    seen: u64,
    mods: Modifiers,
}

impl Decoder<'_> {
    /// The row of an alias group that the modifiers ask for; what the row implies is no modifier any more.
    fn alias_of(&mut self, op: Opcode) -> Opcode {
        let info = op.info();
        let flags = self.mods.flags;
        let returns = info.flags.contains(OpFlags::ATOMIC)
            && flags.contains(ModFlags::GLC)
            && info.format.returns_by_glc();
        if returns && let Some(other) = alias(op, OpFlags::RTN) {
            self.mods.flags -= ModFlags::GLC;
            return other;
        }
        if flags.contains(ModFlags::LDS) {
            if info.flags.contains(OpFlags::LDS_DMA) {
                self.mods.flags -= ModFlags::LDS;
            } else if let Some(other) = alias(op, OpFlags::LDS_DMA) {
                self.mods.flags -= ModFlags::LDS;
                return other;
            }
        }
        if info.flags.contains(OpFlags::GDS_ONLY) {
            self.mods.flags -= ModFlags::GDS;
        }
        op
    }

    fn bad(&self, name: &'static str, value: u64) -> DecodeError {
        DecodeError::BadOperand { name, value: value as u32 }
    }

    fn operand(&mut self, index: usize, desc: &OperandDesc) -> Result<Operand, DecodeError> {
        use OperandKind as K;
        let field = self.layout.slot(desc.slot);
        self.seen |= field.mask();
        let value = field.get(self.bits);
        let name = desc.name;
        let relaxed = matches!(self.encoding, Encoding::E64 | Encoding::Sdwa);
        let kind = self.info.operand_kind(index, relaxed).unwrap_or(desc.kind);
        match kind {
            K::Vgpr if field.width == 9 => match value {
                256.. => self.vgpr(value - 256, desc.dwords(self.wave), name),
                LDS_DIRECT if desc.role == Role::Use && !self.info.flags.contains(OpFlags::M0_USE) => {
                    Ok(Operand::preg(PReg::LDS_DIRECT, 1))
                }
                _ => Err(self.bad(name, value)),
            },
            K::Vgpr | K::VgprOrOff => {
                let dwords = self.vgpr_width(desc);
                if dwords == 0 {
                    return self.unused(Operand::Off, name, value);
                }
                self.vgpr(value, dwords, name)
            }
            K::Sgpr => {
                let unit = match desc.slot {
                    Slot::Srsrc | Slot::Ssamp => 2,
                    Slot::Sbase => 1,
                    _ => 0,
                };
                let code = value << unit;
                // Scalar memory does not load or store M0 and EXEC.
                let memory = desc.slot == Slot::Sdata && matches!(code, 124 | 126 | 127);
                if (code > 127 && desc.role != Role::Use) || code == LDS_DIRECT || memory {
                    return Err(self.bad(name, value));
                }
                self.scalar(code, desc.dwords(self.wave), name)
            }
            K::SgprOrOff => match value {
                _ if value == u64::from(self.generation.encoding_rules().no_saddr) => Ok(Operand::Off),
                // A scratch instruction without any register.
                0x7f if self.target.has(Features::SCRATCH_WITHOUT_ADDRESS)
                    && self.info.format == Format::Scratch =>
                {
                    Ok(Operand::Off)
                }
                0x7e | 0x7f if desc.dwords(self.wave) == 2 => Err(self.bad(name, value)),
                _ => self.scalar(value, desc.dwords(self.wave), name),
            },
            K::ScalarSrc | K::VectorSrc => self.source(field, value, kind, desc),
            K::Soffset => match inline_constant_value(value as u16, ValueType::U32, self.generation) {
                None if value == LDS_DIRECT => Err(self.bad(name, value)),
                Some(constant) => Ok(Operand::Imm(constant)),
                None => self.scalar(value, 1, name),
            },
            K::LaneMask => {
                if field.width == 0 {
                    return Ok(Operand::vcc(self.wave));
                }
                if self.encoding == Encoding::Sdwa {
                    let explicit = self.field_of(Mod::ScalarDst).is_some_and(|f| f.get(self.bits) != 0);
                    return match (explicit, value) {
                        (true, _) => self.scalar(value, desc.dwords(self.wave), name),
                        _ => self.unused(Operand::vcc(self.wave), name, value),
                    };
                }
                if value > 127 {
                    return Err(self.bad(name, value));
                }
                self.scalar(value, desc.dwords(self.wave), name)
            }
            K::Literal => {
                let literal = self.take_literal()?;
                // All of it, even where the operation takes the low half.
                let wide = desc.ty == ValueType::F16;
                Ok(Operand::Imm(if wide {
                    i64::from(literal)
                } else {
                    constant_of_literal(literal, desc.ty)
                }))
            }
            K::Attribute if self.encoding == Encoding::E64 => {
                Ok(Operand::Imm(((value & 0x3f) << 2 | value >> 6) as i64))
            }
            K::Label => Ok(Operand::Imm(i64::from(value as u16 as i16))),
            K::Simm16 if field.width == 16 && desc.ty == ValueType::I16 => {
                Ok(Operand::Imm(i64::from(value as u16 as i16)))
            }
            K::Simm16
            | K::Waitcnt
            | K::Depctr
            | K::Hwreg
            | K::Sendmsg
            | K::OptionalImm
            | K::Attribute
            | K::ExportTarget
            | K::Imm => Ok(Operand::Imm(value as i64)),
            K::InterpSlot => {
                if self.strict && value > 2 {
                    return Err(self.bad(name, value));
                }
                Ok(Operand::Imm(value as i64))
            }
            K::ExportSrc => {
                let number = desc.slot as u8 - Slot::Exp0 as u8;
                let compressed = self.mods.flags.contains(ModFlags::COMPR);
                let value = match desc.slot {
                    _ if !compressed => value,
                    Slot::Exp0 | Slot::Exp1 => self.layout.slot(Slot::Exp0).get(self.bits),
                    _ => self.layout.slot(Slot::Exp1).get(self.bits),
                };
                if self.mods.dmask >> number & 1 != 0 {
                    self.vgpr(value, 1, name)
                } else if compressed {
                    Ok(Operand::Off)
                } else {
                    self.unused(Operand::Off, name, value)
                }
            }
            K::SmemOffset => self.smem_offset(),
            K::AnyReg => Err(self.bad(name, value)),
        }
    }

    /// `operand` for a field without meaning, which holds `value`.
    fn unused(&self, operand: Operand, name: &'static str, value: u64) -> Result<Operand, DecodeError> {
        if self.strict && value != 0 { Err(self.bad(name, value)) } else { Ok(operand) }
    }

    fn vgpr(&self, first: u64, dwords: u8, name: &'static str) -> Result<Operand, DecodeError> {
        if first + u64::from(dwords) > 256 {
            return Err(self.bad(name, first));
        }
        Ok(Operand::preg(PReg::vgpr(first as u16), dwords))
    }

    fn scalar(&self, code: u64, dwords: u8, name: &'static str) -> Result<Operand, DecodeError> {
        let reg = register_of_code(code as u16, self.generation).ok_or(self.bad(name, code))?;
        if scalar_tuple_fits(reg, dwords, self.generation) {
            Ok(Operand::preg(reg, dwords))
        } else {
            Err(DecodeError::BadTuple { name, value: code as u32 })
        }
    }

    fn take_literal(&mut self) -> Result<u32, DecodeError> {
        if let Some(literal) = self.literal {
            return Ok(literal);
        }
        let literal = *self.rest.first().ok_or(DecodeError::Truncated)?;
        self.literal = Some(literal);
        Ok(literal)
    }

    fn field_of(&self, what: Mod) -> Option<Field> {
        self.layout.mods.iter().find(|(m, _)| *m == what).map(|m| m.1)
    }

    fn source(
        &mut self,
        field: Field,
        value: u64,
        kind: OperandKind,
        desc: &OperandDesc,
    ) -> Result<Operand, DecodeError> {
        let name = desc.name;
        let vector = kind == OperandKind::VectorSrc;
        match self.encoding {
            Encoding::Dpp | Encoding::Dpp8 => return self.vgpr(value, desc.dwords(self.wave), name),
            Encoding::Sdwa => {
                let what = if desc.slot == Slot::Src0 { Mod::Scalar0 } else { Mod::Scalar1 };
                let scalar = self.field_of(what).is_some_and(|f| f.get(self.bits) != 0);
                if !scalar {
                    return self.vgpr(value, desc.dwords(self.wave), name);
                }
                return match inline_constant_value(value as u16, desc.ty, self.generation) {
                    Some(constant) => Ok(Operand::Imm(constant)),
                    None => self.scalar(value, desc.dwords(self.wave), name),
                };
            }
            _ => {}
        }
        if value >= 256 {
            if !vector {
                return Err(self.bad(name, value));
            }
            return self.vgpr(value - 256, desc.dwords(self.wave), name);
        }
        if value == u64::from(LITERAL) {
            let allowed = match self.encoding {
                Encoding::E32 => desc.slot == Slot::Src0,
                Encoding::Auto => true,
                Encoding::E64 => self.generation.encoding_rules().vop3_literals,
                _ => false,
            };
            if !allowed || field.width == 0 {
                return Err(self.bad(name, value));
            }
            let constant = constant_of_literal(self.take_literal()?, desc.ty);
            if inline_constant(constant, desc.ty, self.generation).is_some() {
                self.mods.flags |= ModFlags::literal_of(desc.slot);
            }
            return Ok(Operand::Imm(constant));
        }
        if let Some(constant) = inline_constant_value(value as u16, desc.ty, self.generation) {
            return Ok(Operand::Imm(constant));
        }
        // Of the scalar sources of vector instructions, `v_writelane`'s value alone could come from LDS, and not everywhere.
        let lane = self.info.flags.contains(OpFlags::IGNORES_EXEC);
        let lane_takes = desc.slot == Slot::Src0 && self.generation.encoding_rules().writelane_from_lds;
        if value == LDS_DIRECT && (self.encoding == Encoding::Auto || lane && !lane_takes) {
            return Err(self.bad(name, value));
        }
        self.scalar(value, desc.dwords(self.wave), name)
    }

    /// Width of a VGPR operand of this instruction, 0 where it is absent.
    fn vgpr_width(&self, desc: &OperandDesc) -> u8 {
        let flags = self.mods.flags;
        match (self.info.format, desc.slot) {
            (format, Slot::Addr) if format.is_buffer() => {
                if flags.contains(ModFlags::ADDR64) {
                    2
                } else {
                    u8::from(flags.contains(ModFlags::OFFEN)) + u8::from(flags.contains(ModFlags::IDXEN))
                }
            }
            (Format::Global, Slot::Addr) => 1 + u8::from(self.has_no_saddr()),
            (Format::Scratch, Slot::Addr) => u8::from(self.has_no_saddr()),
            (format, Slot::Data0) if format.is_buffer() => {
                // Packed data take half of what unpacked ones do.
                let formatted = self.info.flags.contains(OpFlags::FORMATTED | OpFlags::D16);
                let packed = formatted && self.packed_d16;
                let dwords = if packed { desc.dwords(self.wave).div_ceil(2) } else { desc.dwords(self.wave) };
                dwords + u8::from(flags.contains(ModFlags::TFE))
            }
            (Format::Mimg, Slot::Data0) => self.image_data_width(desc),
            // How many address registers an image instruction reads depends on its resource: the fewest are shown, as LLVM does.
            (Format::Mimg, Slot::Addr) if self.layout.has_mod(Mod::Dim) => self.image_address_width(),
            (Format::Mimg, Slot::Addr) => self.info.least_address,
            _ => desc.dwords(self.wave),
        }
    }

    /// Whether the field of the SGPR address says that there is none.
    fn has_no_saddr(&self) -> bool {
        self.layout.slot(Slot::Saddr).get(self.bits) == u64::from(self.generation.encoding_rules().no_saddr)
    }

    /// Registers of an image address that stand in the first field, where the dimension is known.
    fn image_address_width(&self) -> u8 {
        if self.nsa_dwords > 0 {
            return 1;
        }
        let width = image_address_dwords(self.info, &self.mods);
        let first = self.layout.slot(Slot::Addr).get(self.bits);
        // Too many registers are shown as one, as LLVM does.
        if !self.strict && first + u64::from(width) > 256 { 1 } else { width }
    }

    /// The address registers of an image instruction that stand in dwords of their own.
    fn further_addresses(&mut self, operands: &mut SmallVec<[Operand; 5]>) -> Result<(), DecodeError> {
        if self.nsa_dwords == 0 {
            return Ok(());
        }
        let given = self.rest.get(..usize::from(self.nsa_dwords)).ok_or(DecodeError::Truncated)?;
        let wanted = usize::from(image_address_dwords(self.info, &self.mods)) - 1;
        if wanted.div_ceil(4) != given.len() || wanted + 1 > self.target.image_address_registers() {
            return Err(self.bad("vaddr", wanted as u64));
        }
        let bytes = given.iter().flat_map(|dword| dword.to_le_bytes());
        for (index, byte) in bytes.enumerate() {
            if index < wanted {
                operands.push(self.vgpr(u64::from(byte), 1, "vaddr")?);
            } else if self.strict && byte != 0 {
                return Err(self.bad("vaddr", u64::from(byte)));
            }
        }
        self.mods.address_parts = wanted as u8;
        Ok(())
    }

    fn image_data_width(&self, desc: &OperandDesc) -> u8 {
        if self.info.image.contains(ImageParts::RAY) {
            return desc.dwords(self.wave);
        }
        let flags = self.mods.flags;
        let channels = if self.info.flags.contains(OpFlags::GATHER4) {
            4
        } else {
            (self.mods.dmask.count_ones() as u8).max(1)
        };
        let status = u8::from(flags.contains(ModFlags::TFE));
        let atomic = self.info.flags.contains(OpFlags::ATOMIC);
        let gather = self.info.flags.contains(OpFlags::GATHER4);
        let packed = flags.contains(ModFlags::D16) && self.packed_d16;
        // The fewest registers that the instruction can have.
        let least = match (atomic, gather) {
            // One element, or two that are compared and swapped, of one or two dwords each.
            (true, _) => desc.dwords(self.wave) / 2,
            (_, true) => 2,
            _ => 1,
        };
        let width = match (atomic, packed) {
            (true, _) => channels + status,
            (_, true) => channels.div_ceil(2).min(desc.dwords(self.wave)) + status,
            _ => channels.min(desc.dwords(self.wave)) + status,
        };
        if atomic && !(least..=desc.dwords(self.wave) + 1).contains(&width) {
            return least;
        }
        // Too many registers are shown as the fewest, as LLVM does.
        let first = self.layout.slot(Slot::Data0).get(self.bits);
        if !self.strict && first + u64::from(width) > 256 { least } else { width }
    }

    fn smem_offset(&mut self) -> Result<Operand, DecodeError> {
        let get = |this: &Self, what: Mod| this.field_of(what).map_or(0, |f| f.get(this.bits));
        let value_field = self.field_of(Mod::SmemValue).unwrap_or(Field { pos: 0, width: 0 });
        for what in [Mod::SmemImm, Mod::SmemValue, Mod::SmemSgpr, Mod::SmemSgprEnable] {
            self.seen |= self.field_of(what).map_or(0, Field::mask);
        }
        let imm = get(self, Mod::SmemImm) != 0;
        let value = value_field.get(self.bits);
        if self.layout.dwords == 1 {
            // SMRD counts dwords.
            if imm {
                return Ok(Operand::Imm(value as i64 * 4));
            }
            if value == u64::from(LITERAL) && self.generation.encoding_rules().smem_literal {
                let literal = self.take_literal()?;
                if literal <= 0xff {
                    self.mods.flags |= ModFlags::LIT0;
                }
                return Ok(Operand::Imm(i64::from(literal) * 4));
            }
            return self.scalar(value, 1, "soffset");
        }
        if self.generation.encoding_rules().smem_null_offset {
            return self.smem_offset_and_register(value as i64, get(self, Mod::SmemSgpr));
        }
        let bytes = if value_field.width == 21 {
            // Sign-extend 21 bits.
            (value as i64) << 43 >> 43
        } else {
            value as i64
        };
        let sgpr = get(self, Mod::SmemSgpr);
        if get(self, Mod::SmemSgprEnable) != 0 {
            if imm {
                self.mods.offset = bytes as i32;
                self.mods.flags.set(ModFlags::ZERO_OFFSET, bytes == 0);
            } else {
                self.unused(Operand::Off, "soffset", value)?;
            }
            return self.scalar(sgpr, 1, "soffset");
        }
        self.unused(Operand::Off, "soffset", sgpr)?;
        if imm {
            return Ok(Operand::Imm(bytes));
        }
        self.unused(Operand::Off, "soffset", value & !127)?;
        self.scalar(value & 127, 1, "soffset")
    }

    /// The offset where a register and 21 bits stand side by side: `null` is the register of an immediate alone.
    fn smem_offset_and_register(&mut self, field: i64, register: u64) -> Result<Operand, DecodeError> {
        let bytes = field << 43 >> 43;
        let accesses = self.info.flags.intersects(OpFlags::LOAD | OpFlags::STORE);
        if register_of_code(register as u16, self.generation) == Some(PReg::NULL) && (accesses || bytes != 0)
        {
            return Ok(Operand::Imm(bytes));
        }
        self.mods.offset = bytes as i32;
        self.scalar(register, 1, "soffset")
    }
}

/// Whether a 9-bit `dpp_ctrl` means something on `generation`.
///
/// Source: GCN3, Vega and RDNA ISA, "DPP_CTRL".
pub fn dpp_control_exists(ctrl: u16, generation: Generation) -> bool {
    let shares = generation.encoding_rules().dpp_row_share;
    match ctrl {
        0x000..=0x0ff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x140 | 0x141 => true,
        0x130 | 0x134 | 0x138 | 0x13c | 0x142 | 0x143 => !shares,
        0x150..=0x16f => shares,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `v_add_u16_e32 v1, 0x8001, v7`, as llc writes it and as gcnc does.
    #[test]
    fn the_high_half_of_a_short_literal_does_not_matter() {
        let target = Target::new(Target::processor_by_name("gfx900").expect("gfx900 is in the table"));
        for literal in [0xffff_8001, 0x8001] {
            let (inst, length) = decode(&[0x4c02_0eff, literal], &target).expect("a valid instruction");
            assert_eq!((length, inst.operands[1]), (2, Operand::Imm(-0x7fff)));
        }
        assert!(decode(&[0x4c02_0eff], &target).is_err());
    }

    /// What buffers have no use for is passed over by a disassembler, on all generations.
    #[test]
    fn registers_that_buffers_do_not_read() {
        let off = "buffer_load_dword v1, off, s[4:7], s4";
        let cases = [
            ("gfx600", [0xe030_0000, 0x0401_0155], off),
            ("gfx900", [0xe050_0000, 0x0401_0155], off),
            ("gfx600", [0xe1c4_0000, 0x0000_0055], "buffer_wbinvl1"),
            ("gfx700", [0xe1c0_0000, 0x0501_0255], "buffer_wbinvl1_vol"),
            ("gfx803", [0xe0f8_0000, 0x0501_0255], "buffer_wbinvl1"),
        ];
        for (cpu, words, text) in cases {
            let target = Target::new(Target::processor_by_name(cpu).expect("in the table"));
            let read = decode_lenient(&words, &target).map(|(inst, _)| inst.display(&target).to_string());
            assert_eq!(read, Ok(text.to_owned()), "{cpu}");
            assert!(decode(&words, &target).is_err(), "{cpu}: bytes that nobody would write");
        }
    }

    /// `v_writelane_b32 v5, src_lds_direct, s2` was possible until GFX7, `v_writelane_b32 v5, s2, src_lds_direct` never.
    #[test]
    fn lane_access_and_lds() {
        let decodes = |cpu: &str, words: &[u32]| {
            let target = Target::new(Target::processor_by_name(cpu).expect("in the table"));
            decode(words, &target).is_ok()
        };
        assert!(decodes("gfx700", &[0x040a_04fe]));
        assert!(!decodes("gfx900", &[0xd28a_0005, 0x0000_04fe]));
        assert!(!decodes("gfx900", &[0xd28a_0005, 0x0001_fc02]));
        assert!(decodes("gfx900", &[0xd28a_0005, 0x0000_0402]));
        // v_readlane_b32 s5, src_lds_direct, s2
        assert!(decodes("gfx900", &[0xd289_0005, 0x0000_04fe]));
    }
}
