//! Appending machine instructions, with the operand rules of the encodings applied.
//!
//! A vector instruction may read one SGPR or one literal (the *constant bus*); VOP3 takes no literal; short encodings want a VGPR as
//! second source. [`Selector::vop`] commutes, and moves what does not fit into other registers. A scalar
//! instruction may have one literal ([`Selector::sop`]).
//!
//! Moves of constants are shared by users that are near to each other: the walk goes backwards, so a move waits in the
//! [`Pool`] until nothing has wanted it for a while, or others need its room, and goes in front of the first of its users.
//! How far and how many bounds the pressure.

use super::Selector;
use mir::diag::Result;
use mir::ir::Value;
use mir::isa::{Format, MaskOp, OpFlags, Opcode, OperandKind, Role, ValueType};
use mir::machine::{Inst, Modifiers, Operand, Reg, RegFile};
use mir::target::operands::inline_constant;
use smallvec::SmallVec;

/// How constants in registers of one file are shared.
struct Sharing {
    /// Most IR instructions between two users.
    distance: u32,
    /// Most registers at a time.
    registers: usize,
}

const SHARED_SGPRS: Sharing = Sharing { distance: 1024, registers: 64 };
const SHARED_VGPRS: Sharing = Sharing { distance: 12, registers: 6 };

/// IR instructions over which a lane mask made of a uniform condition is shared.
const MASK_WINDOW: u32 = 64;

/// Masks that are shared at the same time.
const MASKS: usize = 4;

/// Moves that the current stretch of code shares.
#[derive(Default)]
pub(super) struct Pool {
    sgprs: Vec<PoolEntry>,
    vgprs: Vec<PoolEntry>,
    /// Moves with their places in the block's reversed code.
    moves: Vec<(usize, Inst)>,
    /// Lane masks of uniform conditions: the condition, its mask, when its last user was seen. Oldest first.
    masks: SmallVec<[(Value, Operand, u32); MASKS]>,
    /// Instructions of the block so far.
    step: u32,
}

impl Pool {
    /// Whether there are masks that users share.
    pub(super) fn shares_masks(&self) -> bool {
        !self.masks.is_empty()
    }

    /// The mask that users of `cond` share.
    pub(super) fn mask_of(&self, cond: Value) -> Option<Operand> {
        self.masks.iter().find(|entry| entry.0 == cond).map(|entry| entry.1)
    }

    /// Shares `mask`; gives back one that is to be made now where there are too many.
    pub(super) fn add_mask(&mut self, cond: Value, mask: Operand) -> Option<(Value, Operand)> {
        let full = self.masks.len() == MASKS;
        let oldest = full.then(|| self.masks.remove(0)).map(|(cond, mask, _)| (cond, mask));
        self.masks.push((cond, mask, self.step));
        oldest
    }

    /// The mask of `cond`, which is no longer shared.
    pub(super) fn take_mask(&mut self, cond: Value) -> Option<Operand> {
        let at = self.masks.iter().position(|entry| entry.0 == cond)?;
        Some(self.masks.remove(at).1)
    }

    /// A mask that has been shared long enough.
    pub(super) fn next_old_mask(&mut self, all: bool) -> Option<(Value, Operand)> {
        let &(cond, mask, since) = self.masks.first()?;
        if !all && self.step - since < MASK_WINDOW {
            return None;
        }
        self.masks.remove(0);
        Some((cond, mask))
    }
}

/// A constant in a register, or what is in an SGPR in a VGPR.
struct PoolEntry {
    source: Operand,
    reg: Operand,
    /// The step of the first user so far, in the order of the code.
    step: u32,
    /// Its place in the block's reversed code: the length of that with the user.
    place: usize,
}

impl PoolEntry {
    fn into_move(self, op: Opcode) -> (usize, Inst) {
        (self.place, Inst::new(op, [self.reg, self.source]))
    }
}

impl<'a> Selector<'a> {
    /// Appends an instruction whose operands fit as they are.
    pub(super) fn emit(&mut self, op: Opcode, operands: impl IntoIterator<Item = Operand>) -> &mut Inst {
        let mut inst = Inst::new(op, operands);
        inst.loc = self.loc;
        if inst.op.info().format == Format::Vop3p {
            inst.mods.op_sel_hi = 7;
        }
        self.cur.push(inst);
        let last = self.cur.len() - 1;
        &mut self.cur[last]
    }

    /// Appends a vector instruction without modifiers; sources are made to fit.
    pub(super) fn vop(&mut self, op: Opcode, operands: &[Operand]) {
        // Packed operations read the upper halves for the upper half of the result.
        let op_sel_hi = if op.info().format == Format::Vop3p { 7 } else { 0 };
        self.vop_mods(op, operands, Modifiers { op_sel_hi, ..Modifiers::default() });
    }

    /// Appends a vector instruction with modifiers; sources are made to fit. Bits of `mods.abs` and `mods.neg` count
    /// sources from 0 and follow them when the instruction is commuted.
    pub(super) fn vop_mods(&mut self, op: Opcode, operands: &[Operand], mut mods: Modifiers) {
        let info = op.info();
        let mut ops: SmallVec<[Operand; 5]> = SmallVec::from_slice(operands);
        let first = usize::from(op.facts().def_count);
        if self.fits_at_once(op, first, &ops, &mods) {
            let mut inst = Inst::with_operands(op, ops, mods);
            inst.loc = self.loc;
            self.cur.push(inst);
            return;
        }
        let packed = info.format == Format::Vop3p;
        let has_short = info.format.has_short_encoding() && info.code(self.target.generation()).is_some();
        let plain = mods.abs == 0
            && mods.neg == 0
            && mods.omod == 0
            && mods.op_sel == 0
            && !mods.flags.contains(mir::machine::ModFlags::CLAMP);
        let two = info.format.has_vgpr_src1() && ops.len() > first + 1;
        if two
            && info.flags.contains(OpFlags::COMMUTES)
            && !self.is_vgpr(&ops[first + 1])
            && (self.is_vgpr(&ops[first]) || self.is_literal_at(op, first + 1, &ops[first + 1]))
        {
            ops.swap(first, first + 1);
            mods.abs = swap_low_bits(mods.abs);
            mods.neg = swap_low_bits(mods.neg);
        }
        // The constant bus. A lane mask that is read takes its place whatever register it gets.
        let limit = self.target.limits().constant_bus;
        let mut bus: SmallVec<[Operand; 3]> = SmallVec::new();
        let has_mask = info.operands.iter().any(|o| o.kind == OperandKind::LaneMask);
        for (i, desc) in info.operands.iter().enumerate() {
            if desc.kind == OperandKind::LaneMask && desc.role == Role::Use {
                bus.push(ops[i]);
            }
        }
        let is_source = |i: usize| {
            info.operands.get(i).is_some_and(|desc| desc.role == Role::Use)
                && info.operand_kind(i, true) == Some(OperandKind::VectorSrc)
        };
        // A second source that is no VGPR needs VOP3.
        let vop3_exists = info.vop3_code(self.target.generation()).is_some();
        for i in first..ops.len() {
            let Some(desc) = info.operands.get(i) else { break };
            let dwords = desc.dwords(self.mf.wave).max(1);
            if desc.role == Role::Use && desc.kind == OperandKind::Vgpr && (!is_source(i) || !vop3_exists) {
                ops[i] = self.in_vgpr(ops[i], dwords);
                continue;
            }
            if !is_source(i) || !self.is_sgpr(&ops[i]) {
                continue;
            }
            if !bus.contains(&ops[i]) {
                if bus.len() >= limit {
                    ops[i] = self.in_vgpr(ops[i], dwords);
                    continue;
                }
                bus.push(ops[i]);
            }
        }
        for i in first..ops.len() {
            if !is_source(i) || !self.is_literal_as_read(op, i, &ops[i], &mods) {
                continue;
            }
            let others_short =
                (first + 1..ops.len()).all(|k| k == i || !is_source(k) || self.is_vgpr(&ops[k]));
            let dwords = info.operands[i].dwords(self.mf.wave).max(1);
            if has_short
                && plain
                && i == first
                && others_short
                && !has_mask
                && dwords == 1
                && bus.len() < limit
                && !packed
            {
                bus.push(ops[i]);
            } else if bus.len() < limit {
                ops[i] = self.in_sgpr(ops[i], dwords);
                bus.push(ops[i]);
            } else {
                ops[i] = self.in_vgpr(ops[i], dwords);
            }
        }
        let mut inst = Inst::with_operands(op, ops, mods);
        inst.loc = self.loc;
        self.cur.push(inst);
    }

    /// Whether the sources of a vector instruction, operands from `first` on, plainly need no care: VGPRs, where the first may be any other
    /// source without a literal as long as no lane mask is on the constant bus with it.
    fn fits_at_once(&self, op: Opcode, first: usize, ops: &[Operand], mods: &Modifiers) -> bool {
        let Some((source, rest)) = ops.get(first..).and_then(|sources| sources.split_first()) else {
            return false;
        };
        if !rest.iter().all(|operand| self.is_vgpr(operand)) {
            return false;
        }
        let row = op.info().operands;
        let is_source = || row.get(first).is_some_and(|desc| desc.kind == OperandKind::VectorSrc);
        let any_mask = || row.iter().any(|desc| desc.kind == OperandKind::LaneMask && desc.role == Role::Use);
        self.is_vgpr(source)
            || (is_source()
                && !any_mask()
                && (self.is_sgpr(source)
                    || source.as_imm().is_some() && !self.is_literal_as_read(op, first, source, mods)))
    }

    /// Appends a scalar instruction; sources that are not inline constants beyond the one literal get registers.
    pub(super) fn sop(&mut self, op: Opcode, operands: &[Operand]) {
        let info = op.info();
        let mut ops: SmallVec<[Operand; 5]> = SmallVec::from_slice(operands);
        let mut literal: Option<i64> = None;
        for i in 0..ops.len() {
            let Some(desc) = info.operands.get(i) else { break };
            if desc.role != Role::Use {
                continue;
            }
            let Operand::Imm(value) = ops[i] else { continue };
            match desc.kind {
                OperandKind::ScalarSrc => {
                    if !self.is_literal_at(op, i, &ops[i]) {
                        continue;
                    }
                    if desc.dwords(self.mf.wave) >= 2 || literal.is_some_and(|l| l as i32 != value as i32) {
                        ops[i] = self.in_sgpr(ops[i], desc.dwords(self.mf.wave).max(1));
                    } else {
                        literal = Some(value);
                    }
                }
                OperandKind::Sgpr => ops[i] = self.in_sgpr(ops[i], desc.dwords(self.mf.wave).max(1)),
                _ => {}
            }
        }
        let mut inst = Inst::with_operands(op, ops, Modifiers::default());
        inst.loc = self.loc;
        self.cur.push(inst);
    }

    /// Appends a scalar instruction that does `op` to masks of lanes.
    pub(super) fn mask_sop(&mut self, op: MaskOp, operands: &[Operand]) {
        self.sop(op.opcode(self.mf.wave), operands);
    }

    /// EXEC.
    pub(super) fn exec(&self) -> Operand {
        Operand::exec(self.mf.wave)
    }

    /// Whether `operand` at position `index` of `op` is a constant that has no inline form.
    pub(super) fn is_literal_at(&self, op: Opcode, index: usize, operand: &Operand) -> bool {
        match operand {
            Operand::Imm(value) => {
                let ty = op.info().operands.get(index).map_or(ValueType::B32, |desc| desc.ty);
                !self.is_inline(*value, ty)
            }
            Operand::Symbol { .. } => true,
            _ => false,
        }
    }

    /// The same of an operand that `mods` say how to read: of a packed one the lower half may be all that is read.
    fn is_literal_as_read(&self, op: Opcode, index: usize, operand: &Operand, mods: &Modifiers) -> bool {
        let low_alone = || {
            let bit = 1u8 << (index - usize::from(op.facts().def_count));
            op.info().format == Format::Vop3p && (mods.op_sel | mods.op_sel_hi) & bit == 0
        };
        let inline = |value: i64| {
            let ty = op.info().operands.get(index).map_or(ValueType::B32, |desc| desc.ty);
            inline_constant(value, ty, self.target.processor.generation).is_some()
        };
        self.is_literal_at(op, index, operand) && !operand.as_imm().is_some_and(|c| low_alone() && inline(c))
    }

    /// Whether `value` has an inline constant for an operand of type `ty`.
    pub(super) fn is_inline(&self, value: i64, ty: ValueType) -> bool {
        match ty {
            // Packed constants would need care for the high half; only 0 is the same in every reading.
            ValueType::V2I16 | ValueType::V2F16 => value as i32 == 0,
            _ => inline_constant(value, ty, self.target.processor.generation).is_some(),
        }
    }

    /// Whether the operand is a constant that `s_mov_b64` takes inline.
    pub(super) fn is_inline_64(&self, operand: &Operand) -> bool {
        operand.as_imm().is_some_and(|value| self.is_inline(value, ValueType::B64))
    }

    // Shared moves.

    /// One dword in a VGPR, shared with other users nearby.
    pub(super) fn pooled_vgpr(&mut self, source: Operand) -> Operand {
        self.pooled(source, RegFile::Vgpr)
    }

    /// A one-dword constant in an SGPR, shared with other users nearby.
    pub(super) fn pooled_sgpr(&mut self, source: Operand) -> Operand {
        self.pooled(source, RegFile::Sgpr)
    }

    fn pooled(&mut self, source: Operand, file: RegFile) -> Operand {
        // What is in an SGPR is there before its first user, and nothing writes it twice.
        let lasts = matches!(source.as_reg().map(|r| r.reg), Some(Reg::Virtual(_)));
        if !lasts && !matches!(source, Operand::Imm(_)) {
            return self.move_to_new_vgpr(source);
        }
        if file == RegFile::Sgpr
            && let Some(reg) = self.loop_constant(source)
        {
            return reg;
        }
        let step = self.pool.step;
        let entries = match file {
            RegFile::Sgpr => &mut self.pool.sgprs,
            RegFile::Vgpr => &mut self.pool.vgprs,
        };
        if let Some(entry) = entries.iter_mut().find(|entry| entry.source == source) {
            entry.step = step;
            return entry.reg;
        }
        let reg = Operand::vreg(self.mf.new_vreg(file, 1), 1);
        entries.push(PoolEntry { source, reg, step, place: usize::MAX });
        reg
    }

    /// Moves the code of the IR instruction to that of the block.
    #[inline]
    pub(super) fn flush(&mut self) {
        if self.cur.is_empty() {
            return;
        }
        self.move_what_is_made_here();
        // Most make one machine instruction, and many none.
        while let Some(inst) = self.cur.pop() {
            self.rev.push(inst);
        }
    }

    /// What the IR instruction's own code makes in an SGPR and wants in a VGPR is moved behind its definition.
    fn move_what_is_made_here(&mut self) {
        let Self { pool, cur, .. } = self;
        let step = pool.step;
        pool.vgprs.retain(|entry| {
            let Some(source) = entry.source.as_reg().filter(|_| entry.step == step) else { return true };
            let defines = |inst: &Inst| inst.regs().any(|(write, reg)| write && reg.reg == source.reg);
            let Some(at) = cur.iter().rposition(defines) else { return true };
            let mut inst = Inst::new(Opcode::V_MOV_B32, [entry.reg, entry.source]);
            inst.loc = cur[at].loc;
            cur.insert(at + 1, inst);
            false
        });
    }

    /// Called after each IR instruction: its code is complete.
    pub(super) fn pool_step(&mut self) -> Result<()> {
        self.emit_old_masks(false)?;
        self.flush();
        let Pool { sgprs, vgprs, moves, step, .. } = &mut self.pool;
        for (entries, op, sharing) in
            [(sgprs, Opcode::S_MOV_B32, SHARED_SGPRS), (vgprs, Opcode::V_MOV_B32, SHARED_VGPRS)]
        {
            let mut most = 0;
            for entry in entries.iter_mut() {
                if entry.step == *step {
                    entry.place = self.rev.len();
                }
                most = most.max(*step - entry.step);
            }
            // Beyond the room, the one goes that has not been wanted for longest.
            while entries.len() > sharing.registers || most > sharing.distance {
                let oldest = entries.iter().enumerate().min_by_key(|(_, entry)| entry.step);
                let Some((at, _)) = oldest else { break };
                moves.push(entries.remove(at).into_move(op));
                most = entries.iter().map(|entry| *step - entry.step).max().unwrap_or(0);
            }
        }
        *step += 1;
        Ok(())
    }

    /// Makes the moves that are still shared; the code so far has all users.
    pub(super) fn flush_pool(&mut self) {
        self.flush();
        let Pool { sgprs, vgprs, moves, step, .. } = &mut self.pool;
        for (entries, op) in [(sgprs, Opcode::S_MOV_B32), (vgprs, Opcode::V_MOV_B32)] {
            for mut entry in entries.drain(..) {
                if entry.step == *step {
                    entry.place = self.rev.len();
                }
                moves.push(entry.into_move(op));
            }
        }
        *step += 1;
    }

    /// Takes the block's code in its order, with the moves that its instructions share.
    pub(super) fn take_code(&mut self) -> Vec<Inst> {
        let mut moves = std::mem::take(&mut self.pool.moves);
        moves.sort_by_key(|&(place, _)| place);
        // Later passes add some: writes of EXEC, waits, branches.
        let own = self.rev.len() + moves.len();
        let mut code = Vec::with_capacity(own + own / 8 + 8);
        for (at, inst) in self.rev.drain(..).enumerate().rev() {
            while moves.last().is_some_and(|&(place, _)| place > at) {
                code.extend(moves.pop().map(|(_, inst)| inst));
            }
            code.push(inst);
        }
        // What only the edges out of the block use.
        code.extend(moves.into_iter().rev().map(|(_, inst)| inst));
        code
    }

    /// Whether the operand is a whole virtual register.
    pub(super) fn is_whole(&self, operand: &Operand) -> bool {
        match operand.as_reg() {
            Some(r) => match r.reg {
                Reg::Virtual(reg) => r.sub == 0 && self.mf.vregs[reg].dwords == r.dwords,
                Reg::Physical(_) => false,
            },
            None => false,
        }
    }
}

fn swap_low_bits(bits: u8) -> u8 {
    bits & !3 | (bits & 1) << 1 | (bits & 2) >> 1
}
