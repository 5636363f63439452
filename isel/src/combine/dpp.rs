//! Moves between lanes that become a part of the instruction that reads them.
//!
//! `v_mov_b32_dpp` with one reader is an instruction, and a move of the old value in front, which the reader's DPP encoding does without. A
//! lane that the move does not write has the old value, and must have the same result afterwards:
//!
//! | lanes that are not written | old value | in the reader |
//! |---|---|---|
//! | none: all rows and banks, out of range reads as zero | any | nothing is kept |
//! | those out of range | zero, or undefined | out of range reads as zero |
//! | none: all rows and banks, every lane of the wave runs, and the control names a lane for each | any | nothing is kept |
//! | any | what the operation leaves its other source unchanged with | the other source is kept |
//!
//! Source: LLVM GCNDPPCombine; Vega ISA, "DPP".

use super::{Combiner, vgpr};
use crate::linearise::exec_regions::{WHOLE_WAVE, stops_marks};
use crate::select::has_source_everywhere;
use mir::isa::{Format, OpFlags, Opcode, OperandKind, Role};
use mir::machine::{Dpp, Encoding, Extension, Function, Inst, ModFlags, Modifiers, Operand, Reg, VReg};
use mir::target::Features;

/// What `inst` wants computed in all lanes of the wave, if it wants anything.
pub(super) fn wants_whole_wave(inst: &Inst) -> Option<VReg> {
    let at = match (inst.op, inst.operands.get(2)) {
        (Opcode::LANES_RESULT, Some(&Operand::Imm(WHOLE_WAVE))) => 1,
        (Opcode::SET_INACTIVE, _) => 2,
        _ => return None,
    };
    match inst.operands.get(at)?.as_reg()?.reg {
        Reg::Virtual(reg) => Some(reg),
        Reg::Physical(_) => None,
    }
}

/// Hands on, from a result to what it is computed from, that all lanes of the wave run.
pub(super) fn note_whole_wave(c: &mut Combiner<'_>, inst: &Inst) {
    if let Some(reg) = wants_whole_wave(inst) {
        c.whole.insert(reg);
    }
    if runs_in_whole_wave(c, inst) {
        for (is_def, operand) in inst.regs() {
            if let (false, Reg::Virtual(reg)) = (is_def, operand.reg) {
                c.whole.insert(reg);
            }
        }
    }
}

fn runs_in_whole_wave(c: &Combiner<'_>, inst: &Inst) -> bool {
    let is_whole = |reg: Reg| matches!(reg, Reg::Virtual(reg) if c.whole.contains(reg));
    c.strict && !stops_marks(inst) && inst.regs().any(|(is_def, reg)| is_def && is_whole(reg.reg))
}

/// Lets instruction `i` of the block read other lanes itself, where a move does that for it alone.
pub(super) fn take_in(c: &mut Combiner<'_>, f: &Function, insts: &mut [Inst], i: usize) {
    let info = insts[i].op.info();
    if !matches!(info.format, Format::Vop1 | Format::Vop2)
        || !info.flags.contains(OpFlags::DPP)
        || info.flags.contains(OpFlags::COPY)
        || insts[i].mods.ext != Extension::None
        || insts[i].encoding != Encoding::Auto
        || !c.target.has(Features::DPP)
    {
        return;
    }
    let Some(first) = info.operands.iter().position(|desc| desc.role == Role::Use) else { return };
    let Some(new) = (0..2).find_map(|n| combined(c, f, insts, i, first, n)) else { return };
    c.put(&mut insts[i], new);
}

/// The DPP form of instruction `i` whose source `n` is the result of a move.
fn combined(
    c: &Combiner<'_>,
    f: &Function,
    insts: &[Inst],
    i: usize,
    first: usize,
    n: usize,
) -> Option<Inst> {
    let inst = &insts[i];
    let info = inst.op.info();
    let desc = info.operands.get(first + n)?;
    if !matches!(desc.kind, OperandKind::Vgpr | OperandKind::VectorSrc) {
        return None;
    }
    let (moved, _) = vgpr(f, &inst.operands[first + n])?;
    let place = c.places[moved];
    if c.uses[moved] != 1
        || place.block != c.block
        || place.epoch != c.epoch
        || f.vregs[moved].dwords != 1
        || place.index as usize >= i
    {
        return None;
    }
    let mov = &insts[place.index as usize];
    let (Opcode::V_MOV_B32, Extension::Dpp(control)) = (mov.op, mov.mods.ext) else { return None };
    if mov.mods != (Modifiers { ext: mov.mods.ext, ..Modifiers::default() }) {
        return None;
    }
    let source = *mov.operands.get(1)?;
    vgpr(f, &source)?;
    let mut new = inst.clone();
    new.operands[first + n] = source;
    if n == 1 {
        if !info.flags.contains(OpFlags::COMMUTES) {
            return None;
        }
        new.operands.swap(first, first + 1);
        let swapped = |bits: u8| bits & !3 | (bits & 1) << 1 | (bits & 2) >> 1;
        new.mods.abs = swapped(new.mods.abs);
        new.mods.neg = swapped(new.mods.neg);
    }
    let other = (info.format == Format::Vop2).then(|| new.operands[first + 1]);
    let (bound_ctrl, kept) = unwritten(c, insts, mov, &control, inst, other)?;
    new.mods.ext = Extension::Dpp(Dpp { bound_ctrl, ..control });
    new.mods.flags -= ModFlags::ANY_LAYOUT;
    new.encoding = Encoding::Dpp;
    c.settle_carry(&mut new);
    if !c.has_form(f, &new, Encoding::Dpp) {
        return None;
    }
    new.operands.extend(kept);
    Some(new)
}

/// Whether lanes out of range read zero in the combined instruction, and what lanes keep that it does not write.
fn unwritten(
    c: &Combiner<'_>,
    insts: &[Inst],
    mov: &Inst,
    control: &Dpp,
    inst: &Inst,
    other: Option<Operand>,
) -> Option<(bool, Option<Operand>)> {
    let all = control.row_mask == 15 && control.bank_mask == 15;
    if all && control.bound_ctrl {
        return Some((true, None));
    }
    if all && has_source_everywhere(control.ctrl) && runs_in_whole_wave(c, inst) {
        return Some((true, None));
    }
    let old = mov.operands.get(2)?;
    let undefined = old.as_reg().is_some_and(|reg| match reg.reg {
        Reg::Virtual(reg) => {
            let place = c.places[reg];
            place.block == c.block && insts[place.index as usize].op == Opcode::IMPLICIT_DEF
        }
        Reg::Physical(_) => false,
    });
    let value = c.known.constant(old);
    if all && (undefined || value == Some(0)) {
        return Some((true, None));
    }
    // The other source must be the result as it is: in full, and without modifiers.
    let neutral = neutral(inst.op)?;
    let plain =
        inst.mods == Modifiers { flags: inst.mods.flags & ModFlags::ANY_LAYOUT, ..Modifiers::default() };
    let other = other.filter(|_| plain && (undefined || value == Some(neutral)))?;
    other.as_reg()?;
    Some((control.bound_ctrl, Some(other)))
}

/// The first source with which the operation's result is the second one, bit by bit.
fn neutral(op: Opcode) -> Option<u32> {
    use Opcode::*;
    Some(match op {
        V_ADD_U32 | V_ADD_CO_U32 | V_OR_B32 | V_XOR_B32 | V_MAX_U32 | V_SUBREV_U32 | V_SUBREV_CO_U32 => 0,
        V_AND_B32 | V_MIN_U32 => u32::MAX,
        V_MIN_I32 => i32::MAX as u32,
        V_MAX_I32 => i32::MIN as u32,
        V_LSHLREV_B32 | V_LSHRREV_B32 | V_ASHRREV_I32 => 0,
        _ => return None,
    })
}
