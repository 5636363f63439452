//! Source operands: registers, inline constants and literals, and the constant bus that they share.

use super::{Encoder, bad, constant_bus, out_of_range};
use crate::diag::{Diagnostic, Result};
use crate::isa::format::{Field, Mod, Slot};
use crate::isa::{OpFlags, ValueType};
use crate::machine::{Encoding, ModFlags, Operand, PReg};
use crate::target::operands::{LITERAL, inline_constant, literal_of_constant};

impl Encoder<'_> {
    pub(super) fn set_literal(&mut self, literal: u32) -> Result<()> {
        match self.literal {
            Some(old) if old != literal || self.relocated => {
                Err(Diagnostic::limit("more than one literal constant"))
            }
            _ => {
                self.literal = Some(literal);
                if self.is_vector() { self.use_bus(LITERAL) } else { Ok(()) }
            }
        }
    }

    /// Notes a scalar value read by a vector instruction.
    #[inline]
    pub(super) fn use_bus(&mut self, code: u16) -> Result<()> {
        let limit = constant_bus(self.info, self.generation);
        for slot in self.bus.iter_mut().take(limit) {
            match *slot {
                Some(old) if old != code => {}
                _ => {
                    *slot = Some(code);
                    return Ok(());
                }
            }
        }
        Err(Diagnostic::limit(match limit {
            1 => "more than one scalar operand on the constant bus",
            _ => "more scalar operands than the constant bus takes",
        }))
    }

    /// The source field value of an operand, literal and constant bus noted.
    pub(super) fn source(
        &mut self,
        operand: &Operand,
        dwords: u8,
        ty: ValueType,
        slot: Slot,
        scalar: bool,
        name: &str,
    ) -> Result<u16> {
        let literal_allowed = match self.encoding {
            Encoding::E32 => slot == Slot::Src0,
            Encoding::Auto => true,
            Encoding::E64 => self.generation.encoding_rules().vop3_literals,
            _ => false,
        };
        match operand {
            Operand::Reg(_) => {
                let reg = self.register(operand, name)?;
                if let Some(n) = reg.0.vgpr_index() {
                    if scalar {
                        return Err(bad("a vector register", name));
                    }
                    if reg.1 != dwords {
                        return Err(bad(&format!("a tuple of {} dwords", reg.1), name));
                    }
                    if n + u16::from(dwords) > 256 {
                        return Err(out_of_range(name, i64::from(n)));
                    }
                    return Ok(256 + n);
                }
                let code = self.scalar_code(reg, dwords, name)?;
                // The lane select of `v_writelane` may be M0 beside an SGPR.
                let free = self.info.flags.contains(OpFlags::IGNORES_EXEC)
                    && slot == Slot::Src1
                    && reg.0 == PReg::M0;
                // LDS data come another way.
                if self.is_vector() && !free && !matches!(reg.0, PReg::LDS_DIRECT | PReg::NULL) {
                    self.use_bus(code)?;
                }
                Ok(code)
            }
            Operand::Imm(value) => {
                let forced = self.inst.mods.flags.intersects(ModFlags::literal_of(slot));
                if let (Some(code), false) = (inline_constant(*value, ty, self.generation), forced) {
                    return Ok(code);
                }
                if !literal_allowed {
                    return Err(Diagnostic::limit(format!("literal constant {value:#x} in this encoding")));
                }
                let literal = literal_of_constant(*value, ty).ok_or_else(|| out_of_range(name, *value))?;
                self.set_literal(literal)?;
                Ok(LITERAL)
            }
            Operand::Symbol { .. } if literal_allowed => {
                self.relocated = true;
                self.set_literal(0)?;
                Ok(LITERAL)
            }
            _ => Err(bad("no source", name)),
        }
    }

    /// Puts a source field value; SDWA and DPP sources are VGPRs (or, in SDWA of GFX9, SGPRs) in 8 bits.
    pub(super) fn put_source(&mut self, field: Field, slot: Slot, code: u16, name: &str) -> Result<()> {
        match self.encoding {
            Encoding::Dpp | Encoding::Dpp8 => match code.checked_sub(256) {
                Some(n) => self.put(field, u64::from(n), name),
                None => Err(bad("a scalar operand", name)),
            },
            Encoding::Sdwa => {
                let (scalar, n) = match code.checked_sub(256) {
                    Some(n) => (0, n),
                    None => (1, code),
                };
                let what = if slot == Slot::Src0 { Mod::Scalar0 } else { Mod::Scalar1 };
                match self.layout.mods.iter().find(|(m, _)| *m == what) {
                    Some((_, bit)) => self.bits |= bit.put(scalar),
                    None if scalar == 1 => return Err(bad("a scalar operand", name)),
                    None => {}
                }
                self.put(field, u64::from(n), name)
            }
            _ => {
                if field.width == 8 && code > 255 {
                    let n = if self.is_vector() { code - 256 } else { code };
                    return self.put(field, u64::from(n), name);
                }
                self.put(field, u64::from(code), name)
            }
        }
    }
}
