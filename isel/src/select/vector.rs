//! Vectors in registers: building, taking apart.
//!
//! A chain of `insertelement` becomes one `REG_SEQUENCE`; elements of 32 and 64 bits are parts of the tuple and cost nothing.

use super::halves::Chain;
use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{Inst, InstData, InstKind, Value};
use mir::isa::Opcode::*;
use mir::machine::Operand;
use mir::target::Features;
use smallvec::SmallVec;

impl<'a> Selector<'a> {
    /// An element that is no alias: 16- and 8-bit ones above bit 0 of their dword, and parts used in other blocks.
    pub(super) fn lower_extract(&mut self, data: &InstData, vector: Value, index: Value) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let bits = data.ty.bits().expect("elements are scalars");
        let Some(index) = self.const_int(index) else {
            return self.read_indexed(dst, vector, index, bits as u32);
        };
        let at_bit = index.saturating_mul(bits as i64);
        let total = self.f.ty(vector).bits().expect("elements are those of a vector") as i64;
        let scalar = self.values[value].rep == Rep::Sgpr;
        let dwords = self.dwords(value);
        if at_bit < 0 || at_bit >= total {
            self.emit(IMPLICIT_DEF, [dst]);
            return Ok(());
        }
        if bits == 1 {
            return Err(Diagnostic::unsupported("vector of i1"));
        }
        let whole = self.src(vector);
        let part = match whole {
            Operand::Imm(constant) => Operand::Imm(constant >> at_bit.min(63)),
            _ => self.sub(&whole, (at_bit / 32) as u8, dwords),
        };
        if at_bit % 32 == 0 || part.as_imm().is_some() {
            let part = self.fit_constant(part, data.ty);
            let part = if scalar { self.in_sgpr(part, dwords) } else { self.in_vgpr(part, dwords) };
            self.emit(COPY, [dst, part]);
            return Ok(());
        }
        let shift = Operand::Imm(at_bit % 32);
        if scalar {
            let part = self.in_sgpr(part, 1);
            self.sop(S_LSHR_B32, &[dst, part, shift]);
        } else {
            self.vop(V_LSHRREV_B32, &[dst, shift, part]);
        }
        Ok(())
    }

    /// The last of a chain of insertions: gathers the elements and builds the tuple once.
    pub(super) fn lower_insert(&mut self, inst: Inst, data: &InstData) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let lanes = data.ty.lanes() as usize;
        let element =
            data.ty.scalar().ok_or_else(|| Diagnostic::defect("insertion into what is no vector"))?;
        let bits = element.bits();
        if bits == 1 {
            return Err(Diagnostic::unsupported("vector of i1"));
        }
        let InstKind::InsertElement { vector, element, index } = data.kind else {
            return Err(Diagnostic::defect("no insertion"));
        };
        let Some(Chain { elements, base, .. }) = self.insertions(inst, lanes) else {
            return self.write_indexed(dst, [vector, element, index], bits);
        };
        let scalar = self.values[value].rep == Rep::Sgpr;
        let dwords = self.dwords(value);
        // What a load completes is taken from there.
        let loaded: SmallVec<[Option<Operand>; 4]> =
            (0..dwords).map(|d| self.half_result(value, d)).collect();
        let per_dword = (32 / bits.max(1)) as usize;
        let is_loaded = |i: usize| loaded.get(i / per_dword.max(1)).is_some_and(Option::is_some);
        let complete = (0..lanes).all(|i| elements[i].is_some() || bits < 32 && is_loaded(i));
        let base = (!complete && !self.is_undef(base)).then_some(base);
        let base = base.map(|b| if scalar { self.sgpr(b) } else { self.vgpr(b) });
        if bits >= 32 {
            let step = (bits / 32) as u8;
            let mut parts: SmallVec<[Operand; 8]> = SmallVec::new();
            for (i, element) in elements.iter().enumerate() {
                parts.push(match (*element, base) {
                    (Some(element), _) if scalar => self.sgpr(element),
                    (Some(element), _) => self.vgpr(element),
                    (None, Some(base)) => self.sub(&base, i as u8 * step, step),
                    (None, None) => self.undefined(!scalar, step),
                });
            }
            self.sequence(dst, &parts);
            return Ok(());
        }
        // Narrow elements, packed dword by dword.
        let mut parts: SmallVec<[Operand; 8]> = SmallVec::new();
        for d in 0..usize::from(dwords) {
            if let Some(part) = loaded[d] {
                parts.push(part);
                continue;
            }
            let old = base.map(|b| self.sub(&b, d as u8, 1));
            let last = ((d + 1) * per_dword).min(lanes);
            let group: SmallVec<[Option<Value>; 4]> = elements[d * per_dword..last].iter().copied().collect();
            parts.push(self.pack_dword(&group, old, bits, scalar));
        }
        self.sequence(dst, &parts);
        Ok(())
    }

    /// Dwords of an element that a variable index may choose.
    fn indexed_dwords(bits: u32) -> Result<u8> {
        match bits {
            32 | 64 => Ok((bits / 32) as u8),
            _ => Err(Diagnostic::unsupported("variable index of elements that are not whole dwords")),
        }
    }

    /// Whether `index` has one value for all lanes here, in a register that a scalar operand can be made of.
    fn is_uniform_index(&self, index: Value) -> bool {
        let (root, _) = self.root(index);
        !self.uniformity.is_divergent_where_defined(index)
            && !self.uniformity.is_divergent_where_defined(root)
            && !self.is_temporal_use(root)
    }

    /// The first dword of element `index`, which is uniform.
    fn first_dword(&mut self, index: Value, dwords: u8) -> Operand {
        let index = self.src(index);
        let index = self.sub(&index, 0, 1);
        let index = self.in_sgpr(index, 1);
        if dwords == 1 {
            return index;
        }
        let out = self.new_sgpr(1);
        self.sop(S_LSHL_B32, &[out, index, Operand::Imm(1)]);
        out
    }

    /// Element `index` of a tuple: an indexed move where the index is uniform, else one selection an element.
    fn read_indexed(&mut self, dst: Operand, vector: Value, index: Value, bits: u32) -> Result<()> {
        let dwords = Self::indexed_dwords(bits)?;
        let tuple = self.vgpr(vector);
        let mut parts: SmallVec<[Operand; 2]> = SmallVec::new();
        if self.is_uniform_index(index) {
            let at = self.first_dword(index, dwords);
            for d in 0..dwords {
                let part = if dwords == 1 { dst } else { self.new_vgpr(1) };
                self.emit(INDEXED_READ, [part, tuple, at]).mods.offset = i32::from(d);
                parts.push(part);
            }
        } else {
            parts.extend((0..dwords).map(|d| self.sub(&tuple, d, 1)));
            let lanes = self.f.ty(vector).lanes() as u8;
            for lane in 1..lanes {
                let hit = self.is_lane(index, lane);
                let last = dwords == 1 && lane + 1 == lanes;
                for (d, part) in parts.iter_mut().enumerate() {
                    let out = if last { dst } else { self.new_vgpr(1) };
                    let other = self.sub(&tuple, lane * dwords + d as u8, 1);
                    self.vop(V_CNDMASK_B32, &[out, *part, other, hit]);
                    *part = out;
                }
            }
            if lanes <= 1 && dwords == 1 {
                self.emit(COPY, [dst, parts[0]]);
            }
        }
        if dwords > 1 {
            self.sequence(dst, &parts);
        }
        Ok(())
    }

    /// The tuple with element `index` replaced.
    fn write_indexed(&mut self, dst: Operand, [vector, element, index]: [Value; 3], bits: u32) -> Result<()> {
        let dwords = Self::indexed_dwords(bits)?;
        let width = self.dwords(vector);
        let mut tuple = if self.is_undef(vector) { self.undefined(true, width) } else { self.vgpr(vector) };
        let element = self.src(element);
        if self.is_uniform_index(index) {
            let at = self.first_dword(index, dwords);
            for d in 0..dwords {
                let out = if d + 1 == dwords { dst } else { self.new_vgpr(width) };
                let mut part = self.sub(&element, d, 1);
                if !self.target.has(Features::VGPR_INDEX_MODE) {
                    // M0 is the one scalar operand that `v_movreld_b32` may read.
                    part = self.in_vgpr(part, 1);
                }
                self.emit(INDEXED_WRITE, [out, part, at, tuple]).mods.offset = i32::from(d);
                tuple = out;
            }
            return Ok(());
        }
        let lanes = self.f.ty(vector).lanes() as u8;
        let mut parts: SmallVec<[Operand; 8]> = SmallVec::new();
        for lane in 0..lanes {
            let hit = self.is_lane(index, lane);
            for d in 0..dwords {
                let (old, new) = (self.sub(&tuple, lane * dwords + d, 1), self.sub(&element, d, 1));
                let out = self.new_vgpr(1);
                self.vop(V_CNDMASK_B32, &[out, old, new, hit]);
                parts.push(out);
            }
        }
        self.sequence(dst, &parts);
        Ok(())
    }

    /// Lanes whose `index` is `lane`.
    fn is_lane(&mut self, index: Value, lane: u8) -> Operand {
        let index = self.src(index);
        let index = self.sub(&index, 0, 1);
        let hit = self.new_mask();
        self.vop(V_CMP_EQ_U32, &[hit, Operand::Imm(i64::from(lane)), index]);
        hit
    }

    fn undefined(&mut self, vgpr: bool, dwords: u8) -> Operand {
        let out = self.new_reg(vgpr, dwords);
        self.emit(IMPLICIT_DEF, [out]);
        out
    }

    /// One dword of 8- or 16-bit elements; missing ones come from `old`.
    fn pack_dword(
        &mut self,
        elements: &[Option<Value>],
        old: Option<Operand>,
        bits: u32,
        scalar: bool,
    ) -> Operand {
        if elements.iter().all(Option::is_none) {
            return match old {
                Some(old) => old,
                None => self.undefined(!scalar, 1),
            };
        }
        // Two words of registers: one byte permutation.
        if let (16, [Some(low), Some(high)], false) = (bits, elements, scalar) {
            let [l, h] = [self.src(*low), self.src(*high)];
            if self.exists(V_PERM_B32) && l.as_imm().is_none() && h.as_imm().is_none() {
                let [l, h] = [self.in_vgpr(l, 1), self.in_vgpr(h, 1)];
                let out = self.new_vgpr(1);
                self.vop(V_PERM_B32, &[out, h, l, Operand::Imm(0x0504_0100)]);
                return out;
            }
        }
        if let (16, [Some(low), Some(high)], true) = (bits, elements, scalar)
            && self.exists(S_PACK_LL_B32_B16)
        {
            let [l, h] = [self.scalar_src(*low), self.scalar_src(*high)];
            let out = self.new_sgpr(1);
            self.sop(S_PACK_LL_B32_B16, &[out, l, h]);
            return out;
        }
        // In general: the kept bits of the old value, then each element shifted into place.
        let field = if bits >= 32 { u32::MAX } else { (1u32 << bits) - 1 };
        let mut keep = 0u32;
        for (i, element) in elements.iter().enumerate() {
            if element.is_none() {
                keep |= field << (bits * i as u32);
            }
        }
        let mut sum: Option<Operand> = None;
        if let (Some(old), true) = (old, keep != 0) {
            let out = self.new_reg(!scalar, 1);
            let mask = Operand::Imm(i64::from(keep as i32));
            if scalar {
                self.sop(S_AND_B32, &[out, old, mask])
            } else {
                self.vop(V_AND_B32, &[out, mask, old])
            }
            sum = Some(out);
        }
        for (i, element) in elements.iter().enumerate() {
            let Some(element) = *element else { continue };
            let shift = bits * i as u32;
            let top = shift + bits == 32;
            let x = if top { self.src(element) } else { self.zext32(element) };
            let x = match x {
                Operand::Imm(v) => Operand::Imm(i64::from(((v as u32 & field) << shift) as i32)),
                x if shift == 0 => x,
                x => {
                    let out = self.new_reg(!scalar, 1);
                    let k = Operand::Imm(i64::from(shift));
                    if scalar {
                        let x = self.in_sgpr(x, 1);
                        self.sop(S_LSHL_B32, &[out, x, k]);
                    } else {
                        self.vop(V_LSHLREV_B32, &[out, k, x]);
                    }
                    out
                }
            };
            sum = Some(match sum {
                None => x,
                Some(Operand::Imm(a)) if let Operand::Imm(b) = x => Operand::Imm(a | b),
                Some(old) => {
                    let out = self.new_reg(!scalar, 1);
                    if scalar {
                        let [old, x] =
                            [old, x].map(|o| if o.as_imm().is_some() { o } else { self.in_sgpr(o, 1) });
                        self.sop(S_OR_B32, &[out, old, x]);
                    } else {
                        self.vop(V_OR_B32, &[out, old, x]);
                    }
                    out
                }
            });
        }
        let sum = sum.unwrap_or(Operand::Imm(0));
        if scalar { self.in_sgpr(sum, 1) } else { self.in_vgpr(sum, 1) }
    }

    /// Members of the struct results of `cmpxchg` and `div.scale`; member 0 is mostly an alias.
    pub(super) fn lower_extract_value(
        &mut self,
        data: &InstData,
        aggregate: Value,
        path: &[u32],
    ) -> Result<()> {
        if let &[index] = path
            && self.asm_result_is_scalar(aggregate, index).is_some()
        {
            let (result, dst) = self.result(data)?;
            let dwords = self.dwords(result);
            let source = self.asm_member(aggregate, index, dwords);
            self.emit(COPY, [dst, source]);
            return Ok(());
        }
        match path {
            [0] => self.copy_value(data, aggregate),
            [1] => {
                let (_, dst) = self.result(data)?;
                let mask = self.second_result(aggregate);
                self.emit(COPY, [dst, mask]);
                Ok(())
            }
            _ => Err(Diagnostic::unsupported("member of an aggregate")),
        }
    }

    /// The lane mask that is member 1 of `div.scale`'s result.
    pub(super) fn second_result(&mut self, aggregate: Value) -> Operand {
        self.reg_of(aggregate);
        if let Some(&reg) = self.seconds.get(&aggregate) {
            return Operand::mask(reg, self.mf.wave);
        }
        let mask = self.new_mask();
        if let Some(mir::machine::Reg::Virtual(reg)) = mask.as_reg().map(|r| r.reg) {
            self.seconds.insert(aggregate, reg);
        }
        mask
    }
}
