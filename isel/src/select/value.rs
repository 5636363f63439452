//! From IR values to machine operands: registers on demand, constants, parts, narrow values, moves between files.

use super::mubuf::Scaled;
use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{BinaryOp, Float, Scalar, Type, Value, ValueDef};
use mir::isa::Opcode;
use mir::machine::{Operand, PReg, Reg, RegFile, RegOperand, VReg, VRegFlags};
use mir::target::Features;
use smallvec::SmallVec;

impl<'a> Selector<'a> {
    /// Dwords of a register that holds a value of type `ty`; the struct results of legal IR count as their first member.
    #[inline]
    pub(super) fn dwords_of(&self, ty: Type) -> u8 {
        match ty {
            Type::Scalar(Scalar::Int(1..=32) | Scalar::Float(Float::Half | Float::Single)) => 1,
            _ => self.dwords_of_any(ty),
        }
    }

    fn dwords_of_any(&self, ty: Type) -> u8 {
        let bits = match ty {
            Type::Aggregate(agg) => match &self.module.types.aggregates[agg] {
                mir::ir::Aggregate::Struct { fields, .. } => {
                    fields.first().and_then(|(ty, _)| ty.bits()).unwrap_or(32)
                }
                mir::ir::Aggregate::Array { .. } => 32,
            },
            _ => ty.bits().unwrap_or(32),
        };
        bits.div_ceil(32).clamp(1, 255) as u8
    }

    pub(super) fn dwords(&self, value: Value) -> u8 {
        self.dwords_of(self.f.ty(value))
    }

    /// Whether the target has `op`.
    pub(super) fn exists(&self, op: Opcode) -> bool {
        op.info().exists_on(self.target)
    }

    /// Whether the target has the register `reg`.
    pub(super) fn has_register(&self, reg: PReg) -> bool {
        mir::target::operands::register_code(reg, self.target.generation()).is_some()
    }

    // Registers.

    pub(super) fn new_vgpr(&mut self, dwords: u8) -> Operand {
        Operand::vreg(self.mf.new_vreg(RegFile::Vgpr, dwords), dwords)
    }

    pub(super) fn new_sgpr(&mut self, dwords: u8) -> Operand {
        Operand::vreg(self.mf.new_vreg(RegFile::Sgpr, dwords), dwords)
    }

    /// A register for one bit a lane, best in VCC.
    pub(super) fn new_mask(&mut self) -> Operand {
        let reg = self.mf.new_lane_mask();
        self.mf.vregs[reg].hint = Some(PReg::VCC_LO);
        Operand::mask(reg, self.mf.wave)
    }

    /// A register like that of a value: VGPRs or SGPRs by `rep`.
    pub(super) fn new_reg(&mut self, vgpr: bool, dwords: u8) -> Operand {
        if vgpr { self.new_vgpr(dwords) } else { self.new_sgpr(dwords) }
    }

    pub(super) fn file(&self, operand: &Operand) -> Option<RegFile> {
        match operand.as_reg()?.reg {
            Reg::Virtual(reg) => Some(self.mf.vregs[reg].file),
            Reg::Physical(reg) => Some(if reg.is_vgpr() { RegFile::Vgpr } else { RegFile::Sgpr }),
        }
    }

    pub(super) fn is_vgpr(&self, operand: &Operand) -> bool {
        self.file(operand) == Some(RegFile::Vgpr)
    }

    pub(super) fn is_sgpr(&self, operand: &Operand) -> bool {
        self.file(operand) == Some(RegFile::Sgpr)
    }

    /// The register of a value that is no constant and no part of another; asking for it keeps the definition.
    pub(super) fn reg_of(&mut self, value: Value) -> VReg {
        if let Some(reg) = self.values[value].reg.expand() {
            return reg;
        }
        if let Some(entry) = self.entry_of(value)
            && let Some(Reg::Virtual(reg)) = self.entry_value(entry).as_reg().map(|r| r.reg)
        {
            self.values[value].reg = reg.into();
            return reg;
        }
        let dwords = self.dwords(value);
        let reg = match self.values[value].rep {
            Rep::Vgpr => self.mf.new_vreg(RegFile::Vgpr, dwords),
            Rep::Sgpr => self.mf.new_vreg(RegFile::Sgpr, dwords),
            Rep::Bool => self.mf.new_vreg(RegFile::Sgpr, 1),
            Rep::Mask => {
                let reg = self.mf.new_lane_mask();
                self.mf.vregs[reg].hint = Some(PReg::VCC_LO);
                reg
            }
        };
        self.values[value].reg = reg.into();
        if self.values[value].rep == Rep::Vgpr && dwords == 1 && self.values[value].crosses_blocks {
            let uniform = !self.uniformity.is_divergent_where_defined(value);
            self.mf.vregs[reg].flags.set(VRegFlags::UNIFORM, uniform);
        }
        reg
    }

    fn rep_dwords(&self, value: Value) -> u8 {
        match self.values[value].rep {
            Rep::Mask => self.mf.wave.mask_dwords(),
            Rep::Bool => 1,
            Rep::Sgpr | Rep::Vgpr => self.dwords(value),
        }
    }

    /// The register that `value`'s definition writes.
    pub(super) fn def(&mut self, value: Value) -> Operand {
        let dwords = self.rep_dwords(value);
        Operand::vreg(self.reg_of(value), dwords)
    }

    /// The value of which `value` is a part, and the part's first dword.
    pub(super) fn root(&self, value: Value) -> (Value, u8) {
        match self.values[value].alias.expand() {
            Some(root) => (root, self.values[value].alias_sub),
            None => (value, 0),
        }
    }

    /// `value` as an operand: a constant of up to 64 bits, or registers of whichever file holds it. Not for `i1`, except
    /// where it is 0 or 1 in an SGPR.
    pub(super) fn src(&mut self, value: Value) -> Operand {
        let dwords = self.dwords(value);
        // Most are in a VGPR that was asked for before; of stack objects constants are made.
        let info = &self.values[value];
        if info.rep == Rep::Vgpr
            && info.alias.is_none()
            && self.allocas.is_empty()
            && let Some(reg) = info.reg.expand()
        {
            return Operand::sub(reg, 0, dwords);
        }
        let (root, sub) = self.root(value);
        let fixed = self.mf.frame_base.is_none() && self.allocas.contains_key(&root);
        if matches!(self.f.values[root].def, ValueDef::Const(_)) || fixed {
            let whole = self.constant_operand(root);
            let part =
                if self.dwords(root) == dwords && sub == 0 { whole } else { self.sub(&whole, sub, dwords) };
            return self.fit_constant(part, self.f.ty(value));
        }
        if self.is_temporal(root) {
            let reg = self.outside_reg(root);
            return Operand::sub(reg, sub, dwords);
        }
        let reg = self.reg_of(root);
        Operand::sub(reg, sub, dwords)
    }

    /// Whether uses in the current block see another iteration's value of a scalar register.
    pub(super) fn is_temporal(&self, root: Value) -> bool {
        // A value that the IR uses in its own block alone may be read elsewhere, through what is folded into an address.
        self.values[root].rep != Rep::Vgpr && self.is_temporal_use(root)
    }

    pub(super) fn is_temporal_use(&self, root: Value) -> bool {
        self.uniformity.is_temporally_divergent(root, self.block)
    }

    /// The VGPR copy of a scalar value for uses outside its loop; lane masks travel as 0 or 1.
    pub(super) fn outside_reg(&mut self, value: Value) -> VReg {
        if let Some(reg) = self.values[value].outside.expand() {
            return reg;
        }
        let dwords = match self.values[value].rep {
            Rep::Mask | Rep::Bool => 1,
            _ => self.dwords(value),
        };
        self.reg_of(value);
        let reg = self.mf.new_vreg(RegFile::Vgpr, dwords);
        self.values[value].outside = reg.into();
        reg
    }

    /// `value << shift` in a VGPR, computed once, right after the definition of `value`, for all addresses that use it.
    pub(super) fn scaled_index(&mut self, value: Value, shift: u32) -> Operand {
        if shift == 0 {
            let whole = self.vgpr(value);
            return self.sub(&whole, 0, 1);
        }
        self.shared_index(value, Scaled::Low(shift)).unwrap_or_else(|| {
            let (index, out) = (self.src(value), self.new_vgpr(1));
            let index = self.sub(&index, 0, 1);
            self.scale_index(out, index, Scaled::Low(shift));
            out
        })
    }

    /// The block that defines `value`, if it is no constant.
    pub(super) fn home_of(&self, value: Value) -> Option<mir::ir::Block> {
        match self.f.values[value].def {
            ValueDef::Inst(inst) => self.home[inst].expand(),
            ValueDef::BlockParam(block, _) => Some(block),
            ValueDef::FuncParam(_) => Some(self.f.entry()),
            ValueDef::Const(_) => None,
        }
    }

    /// Whether the present block is in a loop that `value` does not come from.
    pub(super) fn is_from_outside(&self, value: Value) -> bool {
        let depth = |block: mir::ir::Block| self.uniformity.loops().depth(block.as_u32());
        self.home_of(value).is_some_and(|home| depth(home) < depth(self.block))
    }

    /// An index made of `value` for all addresses that use it, if that is in a VGPR of its own: right after the definition of `value`, but at the
    /// start of this block where that is in a loop that this block is not in.
    pub(super) fn shared_index(&mut self, value: Value, how: Scaled) -> Option<Operand> {
        let (root, sub) = self.root(value);
        let dwords = if matches!(how, Scaled::Low(_)) { 1 } else { self.dwords(value) };
        let home = self.home_of(root)?;
        if sub != 0 || self.values[root].rep != Rep::Vgpr || self.dwords(root) != dwords {
            return None;
        }
        let new = if matches!(how, Scaled::Low(_)) { 1 } else { 2 };
        let loops = self.uniformity.loops();
        if loops.innermost(home.as_u32()).is_some_and(|home| !loops.contains(home, self.block.as_u32())) {
            if let Some(&(.., out)) = self.indices.iter().find(|&&(v, h, _)| (v, h) == (root, how)) {
                return Some(out);
            }
            self.reg_of(root);
            let out = self.new_vgpr(new);
            self.indices.push((root, how, out));
            return Some(out);
        }
        // A sum that nothing else uses is shifted as it is added up.
        if !(matches!(how, Scaled::Low(_)) && self.is_shiftable_sum(root)) {
            self.reg_of(root);
        }
        if let Some(list) = self.scaled.get(&root)
            && let Some(&(_, out)) = list.iter().find(|(known, _)| *known == how)
        {
            return Some(out);
        }
        let out = self.new_vgpr(new);
        self.scaled.entry(root).or_default().push((how, out));
        Some(out)
    }

    /// Whether `value` is a sum whose one user need not have it unshifted, as far as selection has come.
    fn is_shiftable_sum(&self, value: Value) -> bool {
        self.target.has(Features::THREE_OP_INT)
            && self.f.ty(value).is_int(32)
            && self.fold_binary(value, BinaryOp::Add).is_some()
    }

    /// At the definition of `value`: its sum and shift in one instruction where one shift is all that has been asked for.
    pub(super) fn emit_shifted_sum(&mut self, inst: mir::ir::Inst, value: Value) {
        if self.scaled.is_empty() || !self.is_shiftable_sum(value) {
            return;
        }
        let Some(args) = self.fold_binary(value, BinaryOp::Add) else { return };
        match self.scaled.get(&value).map(|list| &list[..]) {
            None => {}
            Some(&[(Scaled::Low(shift), out)]) => {
                self.scaled.remove(&value);
                self.set_loc(inst);
                let [a, b] = match self.uniform_part(args, 32) {
                    Some((rest, sum)) => [sum, self.src(rest)],
                    None => args.map(|v| self.src(v)),
                };
                self.vop(Opcode::V_ADD_LSHL_U32, &[out, a, b, Operand::Imm(i64::from(shift))]);
            }
            Some(_) => {
                self.reg_of(value);
            }
        }
    }

    /// After the definition of `value`: its copy for uses outside the loop, if one was asked for.
    pub(super) fn copy_outside(&mut self, value: Option<Value>) {
        let Some(value) = value else { return };
        if !self.scaled.is_empty()
            && let Some(scaled) = self.scaled.remove(&value)
        {
            let index = self.def(value);
            for (how, out) in scaled {
                self.scale_index(out, index, how);
            }
        }
        if !self.outer_scalars.is_empty()
            && let Some(wanted) = self.outer_scalars.remove(&value)
        {
            let def = self.def(value);
            for (sub, out) in wanted {
                let dwords = self.mf.vregs[out].dwords;
                if self.values[value].rep == Rep::Mask {
                    let scc = self.scc_of_mask(def);
                    self.set_bool(Operand::vreg(out, 1), scc);
                    continue;
                }
                let part = self.sub(&def, sub, dwords);
                let scalar = self.in_sgpr(part, dwords);
                self.emit(Opcode::COPY, [Operand::vreg(out, dwords), scalar]);
            }
        }
        self.emit_resources(value);
        self.emit_far_bases(value);
        if !self.biased.is_empty()
            && let Some(biased) = self.biased.remove(&value)
        {
            let base = self.def(value);
            for (shift, bias, out) in biased {
                let mut scaled = base;
                if shift > 0 {
                    scaled = self.new_vgpr(1);
                    self.vop(Opcode::V_LSHLREV_B32, &[scaled, Operand::Imm(i64::from(shift)), base]);
                }
                self.vector_add(out, Operand::Imm(bias), scaled);
            }
        }
        let Some(outside) = self.values[value].outside.expand() else { return };
        let reg = self.def(value);
        match self.values[value].rep {
            Rep::Mask => {
                let copy = Operand::vreg(outside, 1);
                self.emit(Opcode::V_CNDMASK_B32, [copy, Operand::Imm(0), Operand::Imm(1), reg]);
            }
            _ => {
                let dwords = self.mf.vregs[outside].dwords;
                if dwords == 1 {
                    self.emit(Opcode::V_MOV_B32, [Operand::vreg(outside, 1), reg]);
                    return;
                }
                let parts: SmallVec<[Operand; 4]> = (0..dwords)
                    .map(|i| {
                        let part = self.sub(&reg, i, 1);
                        self.move_to_new_vgpr(part)
                    })
                    .collect();
                self.sequence(Operand::vreg(outside, dwords), &parts);
            }
        }
    }

    /// `dwords` dwords of `operand` from dword `from` on; constants keep the sign-extended form.
    pub(super) fn sub(&self, operand: &Operand, from: u8, dwords: u8) -> Operand {
        match *operand {
            Operand::Reg(RegOperand { reg: Reg::Physical(reg), .. }) => {
                Operand::preg(reg.plus(u16::from(from)), dwords)
            }
            Operand::Reg(RegOperand { reg, sub, .. }) => {
                Operand::Reg(RegOperand { reg, sub: sub + from, dwords })
            }
            Operand::Imm(value) if dwords == 1 => {
                Operand::Imm(i64::from(if from == 0 { value as i32 } else { (value >> 32) as i32 }))
            }
            other => other,
        }
    }

    /// The low and the high dword.
    pub(super) fn halves(&self, operand: &Operand) -> [Operand; 2] {
        [self.sub(operand, 0, 1), self.sub(operand, 1, 1)]
    }

    // Moves between files.

    /// Copies one dword into a new VGPR.
    pub(super) fn move_to_new_vgpr(&mut self, operand: Operand) -> Operand {
        let out = self.new_vgpr(1);
        self.emit(Opcode::V_MOV_B32, [out, operand]);
        out
    }

    /// `operand` of `dwords` dwords in VGPRs.
    pub(super) fn in_vgpr(&mut self, operand: Operand, dwords: u8) -> Operand {
        if self.is_vgpr(&operand) {
            return operand;
        }
        if dwords == 1 {
            return self.pooled_vgpr(operand);
        }
        let parts: SmallVec<[Operand; 4]> = (0..dwords)
            .map(|i| {
                let part = self.sub(&operand, i, 1);
                self.pooled_vgpr(part)
            })
            .collect();
        let out = self.new_vgpr(dwords);
        self.sequence(out, &parts);
        out
    }

    /// `operand` of `dwords` dwords in SGPRs; a VGPR must hold a uniform value.
    pub(super) fn in_sgpr(&mut self, operand: Operand, dwords: u8) -> Operand {
        if self.is_sgpr(&operand) {
            return operand;
        }
        let from_vgpr = self.is_vgpr(&operand);
        // A literal has 32 bits; below 2^31 it does not matter how it is extended.
        let is_literal = operand.as_imm().is_some_and(|imm| (0..1 << 31).contains(&imm));
        if !from_vgpr && dwords == 2 && (is_literal || self.is_inline_64(&operand)) {
            let out = self.new_sgpr(2);
            self.emit(Opcode::S_MOV_B64, [out, operand]);
            return out;
        }
        let parts: SmallVec<[Operand; 4]> = (0..dwords)
            .map(|i| {
                let part = self.sub(&operand, i, 1);
                if !from_vgpr {
                    return self.pooled_sgpr(part);
                }
                let out = self.new_sgpr(1);
                self.emit(Opcode::V_READFIRSTLANE_B32, [out, part]);
                out
            })
            .collect();
        if dwords == 1 {
            return parts[0];
        }
        let out = self.new_sgpr(dwords);
        self.sequence(out, &parts);
        out
    }

    /// Where an edge from this block to `target` leaves a loop with `value`, which the vector unit makes in front of the loop and which is uniform: the SGPRs to
    /// which it is moved there, an `i1` as 0 or 1. Moved in the loop, lanes that leave in different iterations would have different moves in mind.
    pub(super) fn outer_scalar(&mut self, value: Value, target: mir::ir::Block) -> Option<Operand> {
        let (root, sub) = self.root(value);
        let home = match self.f.values[root].def {
            ValueDef::Inst(inst) => self.home[inst].expand()?,
            ValueDef::BlockParam(block, _) => block,
            _ => return None,
        };
        let loops = self.uniformity.loops();
        let left = loops.innermost(self.block.as_u32())?;
        if loops.contains(left, target.as_u32()) || loops.contains(left, home.as_u32()) {
            return None;
        }
        let dwords = match self.values[root].rep {
            Rep::Vgpr => self.dwords(value),
            Rep::Mask => 1,
            Rep::Sgpr | Rep::Bool => return None,
        };
        Some(self.moved_at_home(root, sub, dwords))
    }

    /// SGPRs to which `dwords` of `root` from `sub` on, which are uniform, are moved right behind its definition, for all who ask.
    fn moved_at_home(&mut self, root: Value, sub: u8, dwords: u8) -> Operand {
        self.reg_of(root);
        let known = self.outer_scalars.get(&root).into_iter().flatten();
        let same = known.copied().find(|&(from, reg)| from == sub && self.mf.vregs[reg].dwords == dwords);
        let reg = same.map_or_else(|| self.mf.new_vreg(RegFile::Sgpr, dwords), |(_, reg)| reg);
        if same.is_none() {
            self.outer_scalars.entry(root).or_default().push((sub, reg));
        }
        Operand::vreg(reg, dwords)
    }

    /// `value` in VGPRs.
    pub(super) fn vgpr(&mut self, value: Value) -> Operand {
        let dwords = self.dwords(value);
        let operand = self.src(value);
        self.in_vgpr(operand, dwords)
    }

    /// `value`, which is uniform, in SGPRs.
    pub(super) fn sgpr(&mut self, value: Value) -> Operand {
        let dwords = self.dwords(value);
        let operand = self.src(value);
        self.in_sgpr(operand, dwords)
    }

    /// `value`, which is uniform, as a scalar source: SGPRs or a constant.
    pub(super) fn scalar_src(&mut self, value: Value) -> Operand {
        let dwords = self.dwords(value);
        let operand = self.src(value);
        if operand.as_imm().is_some() { operand } else { self.in_sgpr(operand, dwords) }
    }

    /// The same, for several users in the block of `value`: what the vector unit makes there is moved once.
    pub(super) fn shared_scalar_src(&mut self, value: Value) -> Operand {
        let (root, sub) = self.root(value);
        let home = self.f.def_inst(root).and_then(|inst| self.home[inst].expand());
        if self.values[root].rep != Rep::Vgpr || home != Some(self.block) {
            return self.scalar_src(value);
        }
        self.moved_at_home(root, sub, self.dwords(value))
    }

    /// Joins parts into `dst`.
    pub(super) fn sequence(&mut self, dst: Operand, parts: &[Operand]) {
        if let [part] = parts {
            self.emit(Opcode::COPY, [dst, *part]);
            return;
        }
        let operands: SmallVec<[Operand; 8]> = std::iter::once(dst).chain(parts.iter().copied()).collect();
        self.emit(Opcode::REG_SEQUENCE, operands);
    }

    // Narrow integers: the bits above the value are unspecified in its register.

    /// `value` zero-extended to one dword, in either file.
    pub(super) fn zext32(&mut self, value: Value) -> Operand {
        let bits = self.f.ty(value).bits().unwrap_or(32) as u32;
        let operand = self.src(value);
        if let Operand::Imm(imm) = operand {
            let mask = if bits >= 32 { u32::MAX } else { (1 << bits) - 1 };
            return Operand::Imm(i64::from((imm as u32 & mask) as i32));
        }
        if bits >= 32
            || self.clears_upper_bits(value)
            || self.clears_upper_bits(self.root(value).0) && bits >= 16
        {
            return operand;
        }
        self.extend_bits(operand, bits, false)
    }

    /// `value` sign-extended to one dword, in either file.
    pub(super) fn sext32(&mut self, value: Value) -> Operand {
        let bits = self.f.ty(value).bits().unwrap_or(32) as u32;
        let operand = self.src(value);
        if bits >= 32 || operand.as_imm().is_some() || self.loads_signed(value) {
            return operand;
        }
        self.extend_bits(operand, bits, true)
    }

    /// The low `bits` bits (8 or 16 mostly) of a register, extended.
    pub(super) fn extend_bits(&mut self, operand: Operand, bits: u32, signed: bool) -> Operand {
        let vgpr = self.is_vgpr(&operand);
        let out = self.new_reg(vgpr, 1);
        self.extend_into(out, operand, bits, signed);
        out
    }

    /// Extends into a given register of the operand's file.
    pub(super) fn extend_into(&mut self, out: Operand, operand: Operand, bits: u32, signed: bool) {
        let mask = Operand::Imm((1i64 << bits) - 1);
        match (self.is_vgpr(&operand), signed) {
            (true, false) => self.vop(Opcode::V_AND_B32, &[out, mask, operand]),
            (true, true) => {
                self.vop(Opcode::V_BFE_I32, &[out, operand, Operand::Imm(0), Operand::Imm(i64::from(bits))])
            }
            (false, false) => self.sop(Opcode::S_AND_B32, &[out, operand, mask]),
            (false, true) if bits == 8 => self.sop(Opcode::S_SEXT_I32_I8, &[out, operand]),
            (false, true) if bits == 16 => self.sop(Opcode::S_SEXT_I32_I16, &[out, operand]),
            (false, true) => {
                self.sop(Opcode::S_BFE_I32, &[out, operand, Operand::Imm(i64::from(bits) << 16)])
            }
        }
    }

    /// Element type of a packed 16-bit vector or the scalar type itself.
    pub(super) fn scalar_of(&self, value: Value) -> Result<Scalar> {
        self.f.ty(value).scalar().ok_or_else(|| Diagnostic::unsupported("aggregate value in selection"))
    }
}
