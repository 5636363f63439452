//! Lanes that read from others near them: DPP, and permutations within rows of 16 lanes.

use super::Selector;
use mir::diag::{Diagnostic, Result};
use mir::ir::{InstData, Intrinsic, Value};
use mir::isa::Opcode::*;
use mir::machine::{Dpp, Dpp8, Encoding, Extension};
use mir::target::Features;

impl<'a> Selector<'a> {
    /// `mov.dpp(x, ctrl, row_mask, bank_mask, bound_ctrl)`; `update.dpp` has the old value in front.
    pub(super) fn dpp(&mut self, data: &InstData, old: Option<Value>, args: &[Value]) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let [x, ctrl, rows, banks, bound, ..] = args else {
            return Err(Diagnostic::malformed("too few arguments"));
        };
        let control = Dpp {
            ctrl: self.immediate(*ctrl)? as u16 & 0x1ff,
            row_mask: self.immediate(*rows)? as u8 & 15,
            bank_mask: self.immediate(*banks)? as u8 & 15,
            bound_ctrl: self.immediate(*bound)? & 1 != 0,
            fetch_inactive: false,
        };
        if !self.target.has(Features::DPP) {
            return Err(Diagnostic::unsupported(format!("DPP on {}", self.target)));
        }
        let x = self.vgpr(*x);
        let old = match old {
            Some(old) if !self.is_undef(old) => self.vgpr(old),
            _ => {
                let out = self.new_vgpr(1);
                self.emit(IMPLICIT_DEF, [out]);
                out
            }
        };
        let inst = self.emit(V_MOV_B32, [dst, x, old]);
        inst.encoding = Encoding::Dpp;
        inst.mods.ext = Extension::Dpp(control);
        Ok(())
    }

    /// `mov.dpp8`: value, eight lanes of three bits.
    pub(super) fn dpp8(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        if !self.target.has(Features::PERMLANE16) {
            return Err(self.lacks(Intrinsic::MovDpp8));
        }
        let (_, dst) = self.result(data)?;
        let &[x, lanes] = args else { return Err(Diagnostic::malformed("two arguments expected")) };
        let lanes = self.immediate(lanes)? as u32 & 0xff_ffff;
        let x = self.vgpr(x);
        // Lanes of the group that do not run give 0, so there is no old value.
        let old = self.new_vgpr(1);
        self.emit(IMPLICIT_DEF, [old]);
        let inst = self.emit(V_MOV_B32, [dst, x, old]);
        inst.encoding = Encoding::Dpp8;
        inst.mods.ext = Extension::Dpp8(Dpp8 { lanes, fetch_inactive: false });
        Ok(())
    }

    /// `permlane16`, `permlanex16`: old value, value, eight selectors of four bits twice, whether lanes that do not run are read, whether
    /// they give 0 otherwise. The last two are bits of `op_sel`.
    pub(super) fn permlane16(&mut self, data: &InstData, intrinsic: Intrinsic, args: &[Value]) -> Result<()> {
        if !self.target.has(Features::PERMLANE16) {
            return Err(self.lacks(intrinsic));
        }
        let (_, dst) = self.result(data)?;
        let &[old, x, low, high, inactive, bound] = args else {
            return Err(Diagnostic::malformed("six arguments expected"));
        };
        let op_sel = (self.immediate(inactive)? & 1) | (self.immediate(bound)? & 1) << 1;
        let op = if intrinsic == Intrinsic::Permlane16 { V_PERMLANE16_B32 } else { V_PERMLANEX16_B32 };
        let x = self.vgpr(x);
        let [low, high] = [low, high].map(|half| {
            let half = self.src(half);
            // Inline constants are operands; literals would be a second one on the bus.
            if half.as_imm().is_some() && !self.is_literal_at(op, 2, &half) {
                half
            } else {
                self.in_sgpr(half, 1)
            }
        });
        let old = if self.is_undef(old) {
            let out = self.new_vgpr(1);
            self.emit(IMPLICIT_DEF, [out]);
            out
        } else {
            self.vgpr(old)
        };
        let inst = self.emit(op, [dst, x, low, high, old]);
        inst.mods.op_sel = op_sel as u8;
        Ok(())
    }
}
