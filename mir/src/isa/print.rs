//! Printer: assembly text as LLVM's tools write it.
//!
//! `mnemonic[_e32|_e64|_sdwa|_dpp] operands modifiers`: operands in the row's order, each by its kind and type; modifiers in the order
//! that the format has. What only a function knows (names of blocks, symbols and virtual registers) comes from [`Names`].
//!
//! Witness: llvm-mc 22, by `tests/isa_round_trip.rs`.

pub(super) mod fields;
mod modifiers;

use super::encode::choose;
use super::format::Slot;
use super::{Format, OpFlags, OpcodeInfo, OperandDesc, OperandKind, Role, ValueType};
use crate::machine::{Block, Encoding, Inst, ModFlags, Operand, PReg, Reg, RegOperand, RelocKind, SymbolId};
use crate::target::operands::{inline_constant, inline_constant_value, literal_of_constant};
use crate::target::{Generation, Target};
use fields::{depctr, export_target, gpr_index_mode};
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

    fn smem_offset(&self, f: &mut Formatter<'_>, bytes: i64) -> fmt::Result {
        // Text counts as the field does.
        let units = bytes / self.generation.encoding_rules().smem_unit;
        // A literal dword where the short field would do.
        if self.inst.mods.flags.contains(ModFlags::LIT0) {
            return write!(f, "lit({units:#x})");
        }
        hexadecimal(f, units)
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

/// Numbers that an inline constant could be in decimal, larger ones in hexadecimal.
fn small_number(f: &mut Formatter<'_>, value: i64) -> fmt::Result {
    if (-16..=64).contains(&value) { write!(f, "{value}") } else { write!(f, "{value:#x}") }
}

fn hexadecimal(f: &mut Formatter<'_>, value: i64) -> fmt::Result {
    if value < 0 { write!(f, "-{:#x}", value.unsigned_abs()) } else { write!(f, "{value:#x}") }
}
