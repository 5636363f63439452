//! Lanes that read from others near them: DPP, and permutations within rows of 16 lanes.

use super::Selector;
use cranelift_entity::EntitySet;
use mir::analysis::Uniformity;
use mir::diag::{Diagnostic, Result};
use mir::ir::{Block, Function, Inst, InstData, InstKind, Intrinsic, Value};
use mir::isa::Opcode::*;
use mir::machine::{Dpp, Dpp8, Encoding, Extension, Operand};
use mir::target::{Features, Target};

impl<'a> Selector<'a> {
    /// `mov.dpp(x, ctrl, row_mask, bank_mask, bound_ctrl)`; `update.dpp` has the old value in front.
    pub(super) fn dpp(&mut self, data: &InstData, old: Option<Value>, args: &[Value]) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let [x, ctrl, rows, banks, bound, ..] = args else {
            return Err(Diagnostic::malformed("too few arguments"));
        };
        let mut control = Dpp {
            ctrl: self.immediate(*ctrl)? as u16 & 0x1ff,
            row_mask: self.immediate(*rows)? as u8 & 15,
            bank_mask: self.immediate(*banks)? as u8 & 15,
            bound_ctrl: self.immediate(*bound)? & 1 != 0,
            fetch_inactive: false,
        };
        if !self.target.has(Features::DPP) {
            return Err(Diagnostic::unsupported(format!("DPP on {}", self.target)));
        }
        // What lanes keep that have no source: nothing where those read zero, or there are none.
        let zero = old.is_some_and(|old| self.const_int(old) == Some(0));
        let all = control.row_mask == 15 && control.bank_mask == 15;
        control.bound_ctrl |= all && (zero || has_source_everywhere(control.ctrl) && self.all_lanes_run());
        let x = self.vgpr(*x);
        let old = self.kept_value(old.filter(|_| !(all && control.bound_ctrl)));
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
        let old = self.kept_value(None);
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
        // Each lane has a source, which is read, or zero in its place.
        let old = self.kept_value(Some(old).filter(|_| op_sel == 0));
        let inst = self.emit(op, [dst, x, low, high, old]);
        inst.mods.op_sel = op_sel as u8;
        Ok(())
    }

    /// What lanes keep that an instruction does not write; without a value anything.
    fn kept_value(&mut self, old: Option<Value>) -> Operand {
        match old {
            Some(old) if !self.is_undef(old) => self.vgpr(old),
            _ => {
                let out = self.new_vgpr(1);
                self.emit(IMPLICIT_DEF, [out]);
                out
            }
        }
    }

    /// Whether all lanes of the wave run in this block: waves start full, and lanes have not parted since.
    fn all_lanes_run(&mut self) -> bool {
        let full = self.full_blocks.get_or_insert_with(|| full_blocks(self.f, self.uniformity, self.target));
        full.contains(self.block)
    }
}

/// The blocks in which all lanes of the wave run for sure.
fn full_blocks(f: &Function, uniformity: &Uniformity, target: &Target) -> EntitySet<Block> {
    let mut full = EntitySet::new();
    let sets_lanes = |inst: &Inst| {
        matches!(
            f.insts[*inst].kind,
            InstKind::Intrinsic { intrinsic: Intrinsic::InitExec | Intrinsic::InitExecFromInput, .. }
        )
    };
    let blocks = &f.layout;
    if !f.starts_full_waves(target.wave_size())
        || blocks.iter().any(|&block| f.blocks[block].insts.iter().any(sets_lanes))
    {
        return full;
    }
    blocks.iter().for_each(|&block| {
        full.insert(block);
    });
    // Where lanes part, and behind that.
    let mut parted: Vec<Block> =
        blocks.iter().copied().filter(|&b| uniformity.is_divergent_branch(b)).collect();
    while let Some(block) = parted.pop() {
        for next in f.successors(block) {
            if full.remove(next) {
                parted.push(next);
            }
        }
    }
    full
}

/// Whether `control` names a lane of the wave for each of its lanes: permutations of quads, rotations and mirrors, as opposed to shifts
/// and broadcasts.
pub(crate) fn has_source_everywhere(control: u16) -> bool {
    matches!(control, 0..=0xff | 0x121..=0x12f | 0x134 | 0x13c | 0x140 | 0x141)
}
