//! Operands into their fields, each checked for its register file, width and range.

use super::{Encoder, bad, out_of_range, scalar_tuple_fits};
use crate::diag::{Diagnostic, Result};
use crate::isa::format::{Field, Mod, Slot};
use crate::isa::{Format, OpFlags, OperandDesc, OperandKind, Role, ValueType};
use crate::machine::{Encoding, ModFlags, Operand, PReg, Reg, RegOperand};
use crate::target::Features;
use crate::target::operands::{inline_constant, literal_of_constant, register_code};

impl Encoder<'_> {
    pub(super) fn operand(&mut self, index: usize, operand: &Operand) -> Result<()> {
        use OperandKind as K;
        let desc = &self.info.operands[index];
        let field = self.layout.slot(desc.slot);
        let name = desc.name;
        let vop3 = self.encoding == Encoding::E64;
        match self.info.operand_kind(index, vop3 || self.encoding == Encoding::Sdwa).unwrap_or(desc.kind) {
            K::Vgpr | K::VgprOrOff => {
                if *operand == Operand::Off && desc.kind == K::VgprOrOff {
                    return self.check_address(0);
                }
                let reg = self.register(operand, name)?;
                let width = self.vgpr_width(desc.slot, desc.dwords(self.wave))?;
                let lds = reg.0 == PReg::LDS_DIRECT && field.width == 9;
                let Some(n) = reg.0.vgpr_index() else {
                    if lds {
                        return self.put(field, 254, name);
                    }
                    return Err(bad("a scalar register", name));
                };
                if reg.1 != width && !(self.flexible(desc.slot) && reg.1 >= 1 && reg.1 <= width) {
                    return Err(bad(&format!("a tuple of {} dwords", reg.1), name));
                }
                if n + u16::from(reg.1) > 256 {
                    return Err(out_of_range(name, i64::from(n)));
                }
                let code = if field.width == 9 { 256 + n } else { n };
                self.put(field, u64::from(code), name)
            }
            K::Sgpr => {
                let reg = self.register(operand, name)?;
                let code = self.scalar_code(reg, desc.dwords(self.wave), name)?;
                // The destination of a lane read stands in a VGPR field.
                if code > 127 && desc.role != Role::Use {
                    return Err(bad("a read-only register", name));
                }
                let unit = match desc.slot {
                    Slot::Srsrc | Slot::Ssamp => 2,
                    Slot::Sbase => 1,
                    _ => 0,
                };
                self.put(field, u64::from(code >> unit), name)
            }
            K::SgprOrOff => {
                let rules = self.generation.encoding_rules();
                if *operand == Operand::Off {
                    // A scratch instruction without any register has a mark of its own.
                    let none = self.target.has(Features::SCRATCH_WITHOUT_ADDRESS)
                        && self.info.format == Format::Scratch
                        && self.inst.operands.get(self.address_index()) == Some(&Operand::Off);
                    return self.put(field, if none { 0x7f } else { u64::from(rules.no_saddr) }, name);
                }
                let reg = self.register(operand, name)?;
                let code = self.scalar_code(reg, desc.dwords(self.wave), name)?;
                if code > 126 || (reg.0 == PReg::EXEC_LO && desc.dwords(self.wave) > 1) {
                    return Err(bad("this register", name));
                }
                self.put(field, u64::from(code), name)
            }
            K::ScalarSrc | K::VectorSrc => {
                let code = self.source(
                    operand,
                    desc.dwords(self.wave),
                    desc.ty,
                    desc.slot,
                    desc.kind == K::ScalarSrc,
                    name,
                )?;
                self.put_source(field, desc.slot, code, name)
            }
            K::Soffset => {
                let code = match operand {
                    Operand::Imm(value) => inline_constant(*value, ValueType::U32, self.generation)
                        .ok_or_else(|| out_of_range(name, *value))?,
                    _ => {
                        let reg = self.register(operand, name)?;
                        self.scalar_code(reg, 1, name)?
                    }
                };
                self.put(field, u64::from(code), name)
            }
            K::LaneMask => {
                if field.width == 0 || (desc.slot == Slot::Vdst && self.encoding == Encoding::Sdwa) {
                    return self.implied_mask(operand, field, desc, name);
                }
                let reg = self.register(operand, name)?;
                let code = self.scalar_code(reg, desc.dwords(self.wave), name)?;
                if desc.role == Role::Use {
                    self.use_bus(code)?;
                }
                self.put(field, u64::from(code), name)
            }
            K::Literal => match operand {
                Operand::Symbol { .. } => {
                    self.relocated = true;
                    self.set_literal(0)
                }
                _ => {
                    let value = self.immediate(operand, name)?;
                    // The low half counts of a 16-bit one, and all of it is kept.
                    let whole = u32::try_from(value).ok().filter(|_| desc.ty == ValueType::F16);
                    let literal = whole
                        .or_else(|| literal_of_constant(value, desc.ty))
                        .ok_or_else(|| out_of_range(name, value))?;
                    self.set_literal(literal)
                }
            },
            K::Label => match operand {
                Operand::Block(_) => {
                    self.unresolved = true;
                    Ok(())
                }
                _ => {
                    let value = self.immediate(operand, name)?;
                    if i16::try_from(value).is_err() && u16::try_from(value).is_err() {
                        return Err(out_of_range("branch distance", value));
                    }
                    self.put(field, u64::from(value as u16), name)
                }
            },
            K::Simm16 | K::Waitcnt | K::Depctr | K::Hwreg | K::Sendmsg | K::OptionalImm => {
                let value = self.immediate(operand, name)?;
                if field.width < 16 {
                    return self.put(field, value as u64, name);
                }
                if i16::try_from(value).is_err() && u16::try_from(value).is_err() {
                    return Err(out_of_range(name, value));
                }
                self.put(field, u64::from(value as u16), name)
            }
            // VINTRP has the attribute above the channel, VOP3 the other way round.
            K::Attribute if vop3 => {
                let value = self.immediate(operand, name)?;
                if !(0..256).contains(&value) {
                    return Err(out_of_range(name, value));
                }
                self.put(field, (value >> 2 | (value & 3) << 6) as u64, name)
            }
            K::Attribute | K::ExportTarget | K::InterpSlot | K::Imm => {
                let value = self.immediate(operand, name)?;
                self.put(field, value as u64, name)
            }
            K::ExportSrc => {
                if *operand == Operand::Off {
                    return Ok(());
                }
                let reg = self.register(operand, name)?;
                let n = reg.0.vgpr_index().ok_or_else(|| bad("a scalar register", name))?;
                if self.inst.mods.flags.contains(ModFlags::COMPR) {
                    return self.compressed_export(desc.slot, index, n, name);
                }
                self.put(field, u64::from(n), name)
            }
            K::SmemOffset => self.smem_offset(operand),
            K::AnyReg => Err(Diagnostic::defect("pseudo instruction without encoding")),
        }
    }

    /// Compressed exports read two components from a register: operands come in equal pairs, one field for each pair.
    fn compressed_export(&mut self, slot: Slot, index: usize, n: u16, name: &str) -> Result<()> {
        let second = matches!(slot, Slot::Exp1 | Slot::Exp3);
        let partner = &self.inst.operands[if second { index - 1 } else { index + 1 }];
        if *partner != Operand::Off && *partner != self.inst.operands[index] {
            return Err(bad("another register than its pair has", name));
        }
        let field =
            self.layout.slot(if matches!(slot, Slot::Exp0 | Slot::Exp1) { Slot::Exp0 } else { Slot::Exp1 });
        self.put(field, u64::from(n), name)
    }

    #[inline]
    pub(super) fn register(&self, operand: &Operand, name: &str) -> Result<(PReg, u8)> {
        match operand {
            Operand::Reg(RegOperand { reg: Reg::Physical(reg), dwords, .. }) => Ok((*reg, *dwords)),
            Operand::Reg(_) => Err(bad("a virtual register", name)),
            _ => Err(bad("no register", name)),
        }
    }

    fn immediate(&self, operand: &Operand, name: &str) -> Result<i64> {
        operand.as_imm().ok_or_else(|| bad("no constant", name))
    }

    #[inline]
    pub(super) fn scalar_code(&self, (reg, dwords): (PReg, u8), expected: u8, name: &str) -> Result<u16> {
        if dwords != expected {
            return Err(bad(&format!("a tuple of {dwords} dwords"), name));
        }
        let code = register_code(reg, self.generation)
            .ok_or_else(|| Diagnostic::unsupported(format!("no register {reg} on {}", self.target)))?;
        if code > 255 {
            return Err(bad("a vector register", name));
        }
        if !scalar_tuple_fits(reg, dwords, self.generation) {
            return Err(bad(&format!("{dwords} registers from {reg}"), name));
        }
        Ok(code)
    }

    /// Width in dwords that a VGPR operand must have, the maximum where [`Self::flexible`].
    fn vgpr_width(&self, slot: Slot, dwords: u8) -> Result<u8> {
        let flags = self.inst.mods.flags;
        Ok(match (self.info.format, slot) {
            (format, Slot::Addr) if format.is_buffer() => {
                self.check_address(1)?;
                if flags.contains(ModFlags::ADDR64) {
                    2
                } else {
                    u8::from(flags.contains(ModFlags::OFFEN)) + u8::from(flags.contains(ModFlags::IDXEN))
                }
            }
            (Format::Global, Slot::Addr) => {
                let has_saddr = self.inst.operands.last().is_some_and(|o| *o != Operand::Off);
                if has_saddr { 1 } else { 2 }
            }
            (Format::Scratch, Slot::Addr) => {
                self.check_address(1)?;
                1
            }
            (Format::Mimg, Slot::Addr) if self.inst.mods.address_parts > 0 => 1,
            (format, Slot::Data0) if format.is_buffer() => dwords + u8::from(flags.contains(ModFlags::TFE)),
            // Either of an image's two warnings has a dword behind the data.
            (Format::Mimg, Slot::Data0) => dwords + u8::from(flags.intersects(ModFlags::TFE | ModFlags::LWE)),
            _ => dwords,
        })
    }

    /// Whether fewer dwords than the row says are right too: images, and D16 data that GFX8.0 does not pack and GFX9 does.
    fn flexible(&self, slot: Slot) -> bool {
        match self.info.format {
            Format::Mimg => matches!(slot, Slot::Data0 | Slot::Addr),
            format if format.is_buffer() => {
                slot == Slot::Data0 && self.info.flags.contains(OpFlags::FORMATTED | OpFlags::D16)
            }
            _ => false,
        }
    }

    /// Checks that presence of a VGPR address goes with the modifiers.
    fn check_address(&self, given: u8) -> Result<()> {
        let flags = self.inst.mods.flags;
        let wanted = match self.info.format {
            format if format.is_buffer() => {
                u8::from(flags.intersects(ModFlags::OFFEN | ModFlags::IDXEN | ModFlags::ADDR64))
            }
            // A scratch access has one of the two addresses, or on some processors none.
            Format::Scratch if given == 0 && self.target.has(Features::SCRATCH_WITHOUT_ADDRESS) => 0,
            Format::Scratch => u8::from(self.inst.operands.last() == Some(&Operand::Off)),
            _ => given,
        };
        if wanted == given {
            Ok(())
        } else {
            Err(bad(if given == 0 { "no register" } else { "a register" }, "vaddr"))
        }
    }

    /// Where the row has the operand for the address in VGPRs.
    fn address_index(&self) -> usize {
        let index = self.info.operands.iter().position(|desc| desc.slot == Slot::Addr);
        index.unwrap_or(usize::MAX)
    }

    /// A lane mask without a field of its own: VCC, or the destination of an SDWA comparison.
    fn implied_mask(
        &mut self,
        operand: &Operand,
        field: Field,
        desc: &OperandDesc,
        name: &str,
    ) -> Result<()> {
        if *operand == Operand::vcc(self.wave) {
            return if desc.role == Role::Use { self.use_bus(106) } else { Ok(()) };
        }
        let Some((_, bit)) = self.layout.mods.iter().find(|(m, _)| *m == Mod::ScalarDst) else {
            return Err(bad("a mask other than vcc", name));
        };
        let reg = self.register(operand, name)?;
        let code = self.scalar_code(reg, desc.dwords(self.wave), name)?;
        self.bits |= bit.put(1);
        self.put(field, u64::from(code), name)
    }
}
