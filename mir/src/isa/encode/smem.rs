//! Offsets of scalar memory accesses, which each generation writes in its own way.

use super::{Encoder, bad, out_of_range};
use crate::diag::Result;
use crate::isa::format::{Field, Mod};
use crate::machine::{ModFlags, Operand, PReg};
use crate::target::operands::{LITERAL, register_code};

impl Encoder<'_> {
    /// The offset of a scalar memory access: an SGPR, or bytes in the generation's unit and range.
    pub(super) fn smem_offset(&mut self, operand: &Operand) -> Result<()> {
        let field = |what: Mod| {
            self.layout.mods.iter().find(|(m, _)| *m == what).map_or(Field { pos: 0, width: 0 }, |m| m.1)
        };
        let (imm, value, sgpr, sgpr_enable) =
            (field(Mod::SmemImm), field(Mod::SmemValue), field(Mod::SmemSgpr), field(Mod::SmemSgprEnable));
        let extra = i64::from(self.inst.mods.offset);
        let bytes = match operand {
            Operand::Imm(bytes) => {
                if extra != 0 {
                    return Err(bad("two immediate offsets", "soffset"));
                }
                *bytes
            }
            _ => {
                let reg = self.register(operand, "soffset")?;
                let code = u64::from(self.scalar_code(reg, 1, "soffset")?);
                if self.generation.encoding_rules().smem_null_offset {
                    self.put(sgpr, code, "soffset")?;
                    return self.put_smem_offset(value, extra);
                }
                if extra == 0 && !self.inst.mods.flags.contains(ModFlags::ZERO_OFFSET) {
                    return self.put(value, code, "soffset");
                }
                if sgpr.width == 0 {
                    return Err(bad("a register and an immediate", "soffset"));
                }
                self.put(sgpr_enable, 1, "soffset")?;
                self.put(sgpr, code, "soffset")?;
                extra
            }
        };
        if self.layout.dwords == 1 {
            // SMRD counts dwords; GFX7 has a literal for what does not fit.
            if bytes & 3 != 0 || bytes < 0 {
                return Err(out_of_range("soffset", bytes));
            }
            let dwords = (bytes >> 2) as u64;
            if dwords <= 255 && !self.inst.mods.flags.contains(ModFlags::LIT0) {
                self.put(imm, 1, "soffset")?;
                return self.put(value, dwords, "soffset");
            }
            return match u32::try_from(dwords) {
                Ok(literal) if self.generation.encoding_rules().smem_literal => {
                    self.put(value, u64::from(LITERAL), "soffset")?;
                    self.set_literal(literal)
                }
                _ => Err(out_of_range("soffset", bytes)),
            };
        }
        if self.generation.encoding_rules().smem_null_offset {
            let null = register_code(PReg::NULL, self.generation).unwrap_or(0);
            self.put(sgpr, u64::from(null), "soffset")?;
            return self.put_smem_offset(value, bytes);
        }
        let (low, high) = if value.width == 21 { (-(1 << 20), (1 << 20) - 1) } else { (0, (1 << 20) - 1) };
        if !(low..=high).contains(&bytes) {
            return Err(out_of_range("soffset", bytes));
        }
        self.put(imm, 1, "soffset")?;
        self.put(value, (bytes as u64) & ((1 << value.width) - 1), "soffset")
    }

    /// Puts a signed offset of scalar memory, in bytes.
    fn put_smem_offset(&mut self, field: Field, bytes: i64) -> Result<()> {
        let limit = 1 << (field.width - 1);
        if !(-limit..limit).contains(&bytes) {
            return Err(out_of_range("soffset", bytes));
        }
        self.put(field, (bytes as u64) & ((1 << field.width) - 1), "soffset")
    }
}
