//! Address arithmetic and addressing modes.
//!
//! Constant byte offsets go into the instruction as far as its field reaches. An access to global memory whose address is a
//! uniform base plus a 32-bit offset that cannot wrap uses the base from SGPRs.

use super::mubuf::Scaled;
use super::{Rep, Selector};
use mir::diag::Result;
use mir::ir::{AddrSpace, BinaryOp, Block, CastOp, InstData, InstFlags, InstKind, Type, Value};
use mir::isa::Opcode::*;
use mir::machine::{EntryValue, MemPlace, ModFlags, Operand};
use mir::target::{Features, OffsetRange};

/// Operands of a global or flat access.
#[derive(Clone, Copy)]
pub(super) struct GlobalAddress {
    /// VGPR pair, or a 32-bit offset beside `saddr`.
    pub vaddr: Operand,
    /// SGPR pair or `off`; the resource of MUBUF.
    pub saddr: Operand,
    /// Bytes.
    pub offset: i32,
    /// Whether the access goes through `flat_*`.
    pub flat: bool,
    /// What `vaddr` is for MUBUF.
    pub mode: ModFlags,
    /// Where that is, as far as others know it.
    pub place: Option<MemPlace>,
}

/// An index of an address: `value * scale`.
#[derive(Clone, Copy)]
pub(super) struct Index {
    pub value: Value,
    pub scale: i64,
}

/// A 32-bit value that a wider index extends.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    pub value: Value,
    pub signed: bool,
}

impl<'a> Selector<'a> {
    pub(super) fn lower_ptradd(
        &mut self,
        data: &InstData,
        base: Value,
        index: Option<Value>,
        scale: i64,
        offset: i64,
    ) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let scalar = self.values[value].rep == Rep::Sgpr;
        let index = index.map(|value| Index { value, scale });
        // The whole chain of constants joins in here.
        let (root, more) = self.split_offset(base);
        let offset = offset.wrapping_add(more);
        let base = self.src(root);
        if data.ty.bits() == Some(32) {
            self.add_32(dst, base, index, offset, scalar);
        } else {
            self.add_64(dst, base, index, offset, scalar);
        }
        Ok(())
    }

    /// `dst = base + index + offset` of 32 bits.
    fn add_32(&mut self, dst: Operand, base: Operand, index: Option<Index>, offset: i64, scalar: bool) {
        let constant = |o: i64| Operand::Imm(i64::from(o as i32));
        let (base, offset) = match base {
            Operand::Imm(place) => (Operand::Imm(0), place.wrapping_add(offset) as i32 as i64),
            other => (other, offset as i32 as i64),
        };
        // base + offset, or the plain constant.
        let join = |this: &mut Self| -> Operand {
            match (base, offset) {
                (Operand::Imm(_), o) => constant(o),
                (b, 0) => b,
                (b, o) if scalar || this.is_sgpr(&b) => {
                    let out = this.new_sgpr(1);
                    this.sop(S_ADD_U32, &[out, b, constant(o)]);
                    out
                }
                (b, o) => {
                    let out = this.new_vgpr(1);
                    this.vector_add(out, constant(o), b);
                    out
                }
            }
        };
        let Some(Index { value, scale }) = index else {
            let sum = join(self);
            let sum = if scalar { self.in_sgpr(sum, 1) } else { self.in_vgpr(sum, 1) };
            self.emit(COPY, [dst, sum]);
            return;
        };
        if !scalar
            && scale == 1
            && let Some(product) = self.scaled_product(value)
        {
            let rest = join(self);
            if rest != Operand::Imm(0) {
                return self.add_to_scaled(dst, product, rest);
            }
        }
        let i = if scalar { self.scalar_src(value) } else { self.src(value) };
        let i = self.sub(&i, 0, 1);
        let rest = join(self);
        let zero = rest == Operand::Imm(0);
        let shift =
            (scale > 0 && (scale as u64).is_power_of_two()).then(|| i64::from(scale.trailing_zeros()));
        if scalar {
            let scaled = if scale == 1 {
                i
            } else {
                let out = if zero { dst } else { self.new_sgpr(1) };
                match shift {
                    Some(k) => self.sop(S_LSHL_B32, &[out, i, Operand::Imm(k)]),
                    None => self.sop(S_MUL_I32, &[out, i, constant(scale)]),
                }
                out
            };
            if !zero {
                self.sop(S_ADD_U32, &[dst, scaled, rest]);
            } else if scale == 1 {
                let i = self.in_sgpr(i, 1);
                self.emit(COPY, [dst, i]);
            }
            return;
        }
        let one_outside = self.is_vgpr(&i) || self.is_vgpr(&rest) || rest.as_imm().is_some();
        match shift {
            Some(0) if zero => {
                let i = self.in_vgpr(i, 1);
                self.emit(COPY, [dst, i]);
            }
            Some(0) => self.vector_add(dst, rest, i),
            Some(k) if zero => {
                // Accesses with this index share it.
                let scaled = self.scaled_index(value, k as u32);
                self.emit(COPY, [dst, scaled]);
            }
            Some(k) if self.target.has(Features::THREE_OP_INT) && one_outside => {
                self.vop(V_LSHL_ADD_U32, &[dst, i, Operand::Imm(k), rest]);
            }
            _ if shift.is_none() && self.fits_unsigned(value, 24) && (0..1 << 24).contains(&scale) => {
                self.vop(V_MAD_U32_U24, &[dst, i, constant(scale), rest]);
            }
            _ => {
                let out = if zero { dst } else { self.new_vgpr(1) };
                match shift {
                    Some(k) => self.vop(V_LSHLREV_B32, &[out, Operand::Imm(k), i]),
                    None => self.vop(V_MUL_LO_U32, &[out, i, constant(scale)]),
                }
                if !zero {
                    self.vector_add(dst, rest, out);
                }
            }
        }
    }

    /// `dst = base + index + offset` of 64 bits.
    fn add_64(&mut self, dst: Operand, base: Operand, index: Option<Index>, offset: i64, scalar: bool) {
        let Some(index) = index else {
            let sum = self.add_constant_64(base, offset, scalar);
            let sum = if scalar { self.in_sgpr(sum, 2) } else { self.in_vgpr(sum, 2) };
            self.emit(COPY, [dst, sum]);
            return;
        };
        // A constant that joins a scalar base costs the scalar unit alone.
        let early = scalar || self.is_sgpr(&base) || base.as_imm().is_some();
        let base = if early { self.add_constant_64(base, offset, scalar) } else { base };
        let late = if early { 0 } else { offset };
        let sum = if late == 0 { dst } else { self.new_vgpr(2) };
        if scalar {
            self.scalar_index_64(sum, base, index);
        } else {
            self.vector_index_64(sum, base, index);
        }
        if late != 0 {
            self.vector_add64(dst, sum, Operand::Imm(late));
        }
    }

    /// `base + offset` wherever the base lives.
    pub(super) fn add_constant_64(&mut self, base: Operand, offset: i64, scalar: bool) -> Operand {
        match base {
            Operand::Imm(value) => Operand::Imm(value.wrapping_add(offset)),
            _ if offset == 0 => base,
            _ if scalar || self.is_sgpr(&base) => {
                let base = self.in_sgpr(base, 2);
                self.scalar_add64(base, Operand::Imm(offset))
            }
            _ => {
                let out = self.new_vgpr(2);
                self.vector_add64(out, base, Operand::Imm(offset));
                out
            }
        }
    }

    /// An index of 64 bits that only extends one of 32.
    pub(super) fn narrow_index(&self, value: Value) -> Option<Narrow> {
        let (root, sub) = self.root(value);
        if self.f.ty(value) == Type::I32 {
            return Some(Narrow { value, signed: true });
        }
        if sub != 0 {
            return None;
        }
        let inst = self.f.def_inst(root)?;
        let data = &self.f.insts[inst];
        match data.kind {
            InstKind::Cast { op: CastOp::SExt, arg } if self.f.ty(arg) == Type::I32 => {
                Some(Narrow { value: arg, signed: true })
            }
            InstKind::Cast { op: CastOp::ZExt, arg } if self.f.ty(arg) == Type::I32 => {
                Some(Narrow { value: arg, signed: false })
            }
            _ => None,
        }
    }

    fn scalar_index_64(&mut self, dst: Operand, base: Operand, index: Index) {
        let shift =
            index.scale.unsigned_abs().is_power_of_two().then(|| index.scale.unsigned_abs().trailing_zeros());
        let wide = if self.f.ty(index.value) == Type::I32 {
            let low = self.scalar_src(index.value);
            let low = self.in_sgpr(low, 1);
            let high = if self.fits_unsigned(index.value, 31) {
                self.in_sgpr(Operand::Imm(0), 1)
            } else {
                let high = self.new_sgpr(1);
                self.sop(S_ASHR_I32, &[high, low, Operand::Imm(31)]);
                high
            };
            let out = self.new_sgpr(2);
            self.sequence(out, &[low, high]);
            out
        } else {
            self.scalar_src(index.value)
        };
        let scaled = match shift {
            Some(0) => wide,
            Some(k) => {
                let out = self.new_sgpr(2);
                self.sop(S_LSHL_B64, &[out, wide, Operand::Imm(i64::from(k))]);
                out
            }
            None => {
                let parts = self.multiply_64(wide, Operand::Imm(index.scale), true);
                let out = self.new_sgpr(2);
                self.sequence(out, &parts);
                out
            }
        };
        let subtract = shift.is_some() && index.scale < 0;
        if base.as_imm() == Some(0) && !subtract {
            let scaled = self.in_sgpr(scaled, 2);
            self.emit(COPY, [dst, scaled]);
            return;
        }
        let ([a_lo, a_hi], [b_lo, b_hi]) = (self.halves(&base), self.halves(&scaled));
        let [lo, hi] = [self.new_sgpr(1), self.new_sgpr(1)];
        let (low, high) = if subtract { (S_SUB_U32, S_SUBB_U32) } else { (S_ADD_U32, S_ADDC_U32) };
        let fit = |this: &mut Self, o: Operand| if o.as_imm().is_some() { this.in_sgpr(o, 1) } else { o };
        let [a_lo, a_hi] = [fit(self, a_lo), fit(self, a_hi)];
        self.sop(low, &[lo, a_lo, b_lo]);
        self.sop(high, &[hi, a_hi, b_hi]);
        self.sequence(dst, &[lo, hi]);
    }

    fn vector_index_64(&mut self, dst: Operand, base: Operand, index: Index) {
        // A uniform index is scaled and joined with the base as far as that is uniform, on the scalar unit.
        let (root, _) = self.root(index.value);
        let uniform = self.const_int(index.value).is_none()
            && self.values[root].rep == Rep::Sgpr
            && !self.is_temporal(root);
        // Where a sum with carry takes a long encoding, one product is shorter than extension, shift and sum.
        let product = self.target.limits().constant_bus > 1
            && index.scale > 1
            && self.values[index.value].uses == 1
            && self.narrow_index(index.value).is_some();
        let scales = index.scale.unsigned_abs().is_power_of_two() || self.exists(S_MUL_HI_U32);
        if uniform && scales && !product {
            let scaled = if index.scale == 1 && self.f.ty(index.value) != Type::I32 {
                // As it is: whoever adds it again finds what its halves were moved to.
                let whole = self.scalar_src(index.value);
                self.in_sgpr(whole, 2)
            } else {
                let scaled = self.new_sgpr(2);
                self.scalar_index_64(scaled, Operand::Imm(0), index);
                scaled
            };
            self.vector_add64(dst, base, scaled);
            return;
        }
        // One instruction multiplies by the scale and adds, for indices of 32 bits.
        if let Some(Narrow { value, signed }) = self.narrow_index(index.value)
            && self.exists(V_MAD_U64_U32)
            && (if signed { i32::try_from(index.scale).is_ok() } else { u32::try_from(index.scale).is_ok() })
        {
            let i = self.src(value);
            if index.scale == 1 && signed && (self.target.limits().constant_bus > 1 || self.is_vgpr(&base)) {
                // Where both halves of the base can be added beside the carry, three instructions take less time than a product.
                let (low, high, wide) = (self.in_vgpr(i, 1), self.new_vgpr(1), self.new_vgpr(2));
                self.vop(V_ASHRREV_I32, &[high, Operand::Imm(31), low]);
                self.sequence(wide, &[low, high]);
                self.vector_add64(dst, base, wide);
                return;
            }
            if index.scale == 1 && !signed {
                self.vector_add_low(dst, base, i);
                return;
            }
            // Where the shifted index has no upper half, the sum takes less time than the product.
            let shift = index.scale.unsigned_abs().trailing_zeros();
            let bits = 32u32.saturating_sub(shift + u32::from(signed && shift == 0));
            let shifts =
                index.scale > 0 && (index.scale as u64).is_power_of_two() && self.fits_unsigned(value, bits);
            if shifts && (self.target.limits().constant_bus > 1 || self.is_vgpr(&base)) {
                let low = self.scaled_index(value, shift);
                self.vector_add_low(dst, base, low);
                return;
            }
            if index.scale > 0
                && (index.scale as u64).is_power_of_two()
                && let Some(wide) = self.index_of_many(value, shift, signed)
            {
                self.vector_add64(dst, base, wide);
                return;
            }
            self.mad_wide(dst, i, Operand::Imm(i64::from(index.scale as i32)), base, signed);
            return;
        }
        // One instruction multiplies the lower half of a wide index and adds.
        if let Ok(scale) = u32::try_from(index.scale)
            && !scale.is_power_of_two()
            && self.exists(V_MAD_U64_U32)
        {
            let wide = self.wide_index(Index { scale: 1, ..index });
            let ([low, high], scale) = (self.halves(&wide), Operand::Imm(i64::from(scale as i32)));
            let [sum, cross, out] = [self.new_vgpr(2), self.new_vgpr(1), self.new_vgpr(1)];
            self.mad_wide(sum, low, scale, base, false);
            self.vop(V_MUL_LO_U32, &[cross, high, scale]);
            let sum = self.halves(&sum);
            self.vector_add(out, sum[1], cross);
            self.sequence(dst, &[sum[0], out]);
            return;
        }
        if index.scale == 1 && self.add_split_product(dst, base, index.value) {
            return;
        }
        let scaled = if (1..1 << 31).contains(&index.scale) && (index.scale as u64).is_power_of_two() {
            self.wide_index(index)
        } else {
            let wide = self.wide_index(Index { scale: 1, ..index });
            let parts = self.multiply_64(wide, Operand::Imm(index.scale), false);
            let out = self.new_vgpr(2);
            self.sequence(out, &parts);
            out
        };
        self.vector_add64(dst, base, scaled);
    }

    /// `value << shift` in 64 bits, made once for the addresses of this block, where they are so many that their sums take less time than products.
    fn index_of_many(&mut self, value: Value, shift: u32, signed: bool) -> Option<Operand> {
        let how = if signed { Scaled::Signed(shift) } else { Scaled::Unsigned(shift) };
        let users = self.index_users.get(&(self.block, value, how)).copied().unwrap_or(0);
        // A second scalar operand saves the move of a base's upper half, which loops have in front of them. Elsewhere it decides how long
        // the code is, which is fetched once. Measured on some 700 kernels for each generation.
        let in_loop = self.uniformity.loops().depth(self.block.as_u32()) > 0;
        let enough = match (self.target.limits().constant_bus > 1, in_loop) {
            (true, true) => 3,
            (false, true) => 5,
            (false, false) => 8,
            (true, false) => return None,
        };
        if users < enough { None } else { self.shared_index(value, how) }
    }

    /// Counts the addresses of a block that have an index in common.
    pub(super) fn count_index_users(&mut self, block: Block, kind: &InstKind, ty: Type) {
        let &InstKind::PtrAdd { index: Some(index), scale, .. } = kind else { return };
        if ty.bits() != Some(64) || scale <= 1 || !(scale as u64).is_power_of_two() {
            return;
        }
        let Some(Narrow { value, signed }) = self.narrow_index(index) else { return };
        let shift = scale.trailing_zeros();
        let how = if signed { Scaled::Signed(shift) } else { Scaled::Unsigned(shift) };
        *self.index_users.entry((block, value, how)).or_default() += 1;
    }

    /// `dst = base + low`, of which `low` has 32 bits.
    fn vector_add_low(&mut self, dst: Operand, base: Operand, low: Operand) {
        let ([lo, hi], [out_lo, out_hi]) = (self.halves(&base), [self.new_vgpr(1), self.new_vgpr(1)]);
        let [carry, dead] = [self.new_mask(), self.new_mask()];
        self.vop(V_ADD_CO_U32, &[out_lo, carry, lo, low]);
        self.vop(V_ADDC_CO_U32, &[out_hi, dead, hi, Operand::Imm(0), carry]);
        self.sequence(dst, &[out_lo, out_hi]);
    }

    // Addressing modes.

    /// Immediate offsets that `flat_*` takes, and does not leave out.
    pub(super) fn flat_offsets(&self) -> OffsetRange {
        match self.target.has(Features::FLAT_OFFSET_IGNORED) {
            true => OffsetRange { min: 0, max: 0 },
            false => self.target.limits().offsets.flat,
        }
    }

    /// Operands for an access at `ptr` that also touches `span` bytes behind it with larger immediates.
    pub(super) fn global_address(&mut self, ptr: Value, space: AddrSpace, span: i64) -> GlobalAddress {
        if self.takes_buffers(space) {
            return self.buffer_address(ptr, span);
        }
        let (mode, place) = (ModFlags::empty(), self.places.get(&ptr).copied());
        let has_global = self.target.has(Features::GLOBAL);
        let flat = !has_global || space == AddrSpace::FLAT;
        let field = if flat { self.flat_offsets() } else { self.target.limits().offsets.global };
        // Where there is no field the later pieces have addresses of their own.
        let span = if field.max == 0 { 0 } else { span };
        let (root, offset) = self.split_offset(ptr);
        // Base from SGPRs, offset of 32 bits from a VGPR.
        if !flat
            && let Some((base, index, own)) = self.scalar_base(root)
            && let (near, far) = field.split(offset.wrapping_add(own))
            && field.contains(near, span)
        {
            let saddr = self.base_at(base, far);
            let vaddr = match index {
                None => self.in_vgpr(Operand::Imm(0), 1),
                Some(Index { value, scale: 1 }) => self.vgpr(value),
                Some(Index { value, scale }) => self.scaled_index(value, scale.trailing_zeros()),
            };
            return GlobalAddress { vaddr, saddr, offset: near as i32, flat, mode, place };
        }
        if !flat
            && field.contains(offset, span)
            && let Some((base, uniform, own)) = self.scalar_sum(root)
        {
            let base = self.src(base);
            let base = self.in_sgpr(base, 2);
            let saddr = self.new_sgpr(2);
            self.scalar_index_64(saddr, base, uniform);
            let vaddr = self.scaled_index(own.value, own.scale.trailing_zeros());
            return GlobalAddress { vaddr, saddr, offset: offset as i32, flat, mode, place };
        }
        let (root, offset) = match field.contains(offset, span) || field.max == 0 {
            true => (root, offset),
            false => self.within_reach(ptr, field, span),
        };
        let base = self.src(root);
        let (kept, moved) = if field.contains(offset, span) {
            (offset, 0)
        } else {
            // The field's positive part is a row of ones.
            let max = i64::from(field.max);
            let kept = (offset & max).min(max - span).max(0);
            (kept, offset - kept)
        };
        let base = self.add_constant_64(base, moved, false);
        if !flat && self.is_sgpr(&base) {
            let vaddr = self.in_vgpr(Operand::Imm(0), 1);
            return GlobalAddress { vaddr, saddr: base, offset: kept as i32, flat, mode, place };
        }
        let vaddr = self.in_vgpr(base, 2);
        GlobalAddress { vaddr, saddr: Operand::Off, offset: kept as i32, flat, mode, place }
    }

    /// `root` as a uniform base in SGPRs, with an index that stays below 2^32 when scaled, and constant bytes.
    fn scalar_base(&self, root: Value) -> Option<(Value, Option<Index>, i64)> {
        let (base, index, offset) = self.uniform_base(root)?;
        let Some(Index { value, scale }) = index else { return Some((base, None, offset)) };
        let Narrow { value, signed } = self.narrow_index(value)?;
        let bits = scale.trailing_zeros() + u32::from(signed && scale == 1);
        self.fits_unsigned(value, 32 - bits).then_some((base, Some(Index { value, scale }), offset))
    }

    /// `root`, which nothing else uses, as a uniform base and the two parts of an index that does not overflow: one for the scalar unit, and one that stays below
    /// 2^32 when scaled.
    fn scalar_sum(&self, root: Value) -> Option<(Value, Index, Index)> {
        if self.values[root].uses != 1 {
            return None;
        }
        let (base, Some(Index { value, scale }), 0) = self.uniform_base(root)? else { return None };
        let inst = self.f.def_inst(value).filter(|&inst| self.home[inst].expand() == Some(self.block))?;
        let data = &self.f.insts[inst];
        let InstKind::Binary { op: BinaryOp::Add, args } = data.kind else { return None };
        if data.ty != Type::I32 || !data.flags.contains(InstFlags::NSW) {
            return None;
        }
        [args, [args[1], args[0]]].into_iter().find_map(|[uniform, own]| {
            let (first, second) = (self.root(uniform).0, self.root(own).0);
            let fits = self.values[first].rep == Rep::Sgpr
                && !self.is_temporal(first)
                && self.const_int(uniform).is_none()
                && self.values[second].rep == Rep::Vgpr
                && self.fits_unsigned(own, 31 - scale.trailing_zeros());
            fits.then_some((base, Index { value: uniform, scale }, Index { value: own, scale }))
        })
    }

    /// `root` as a uniform base in SGPRs, with an index whose scale is a power of two below 2^31, and constant bytes.
    pub(super) fn uniform_base(&self, root: Value) -> Option<(Value, Option<Index>, i64)> {
        let scalar = |v: Value| {
            let (root, _) = self.root(v);
            self.const_int(root).is_none() && self.values[root].rep == Rep::Sgpr && !self.is_temporal(root)
        };
        if scalar(root) {
            return Some((root, None, 0));
        }
        let inst = self.f.def_inst(root)?;
        let InstKind::PtrAdd { base, index: Some(value), scale, offset } = self.f.insts[inst].kind else {
            return None;
        };
        if !scalar(base) || scale <= 0 || !(scale as u64).is_power_of_two() || scale >= 1 << 31 {
            return None;
        }
        let (base_root, more) = self.split_offset(base);
        let (base, offset) =
            if scalar(base_root) { (base_root, offset.wrapping_add(more)) } else { (base, offset) };
        Some((base, Some(Index { value, scale }), offset))
    }

    /// A 32-bit address in a VGPR and the bytes left for the instruction's offset field, which holds 0 to `max`.
    pub(super) fn place_address(&mut self, ptr: Value, space: AddrSpace, max: i64) -> (Option<Operand>, i64) {
        // Old targets check the register against the limit before the offset is added, so it must not be negative.
        let folds = self.target.has(match space {
            AddrSpace::LOCAL => Features::DS_CHECKS_SUM,
            _ => Features::SCRATCH_CHECKS_SUM,
        });
        let (root, mut offset) = self.split_offset(ptr);
        if let Some(place) = self.const_int(root) {
            let at = i64::from(place.wrapping_add(offset) as u32);
            if at <= max {
                return (None, at);
            }
            let kept = if space == AddrSpace::PRIVATE { at & max } else { 0 };
            return (Some(self.in_vgpr(Operand::Imm(i64::from((at - kept) as i32)), 1)), kept);
        }
        // An index of which the place is constant: the constant goes into the field. Neighbours share the shifted index.
        if let Some(inst) = self.f.def_inst(root)
            && let InstKind::PtrAdd { base, index: Some(index), scale, offset: own } = self.f.insts[inst].kind
            && self.values[root].rep == Rep::Vgpr
        {
            let (base_root, more) = self.split_offset(base);
            let place = self.const_int(base_root);
            let total = offset + own + more + place.unwrap_or(0);
            let fits = (0..=max).contains(&total);
            if place.is_some() && scale > 0 && (scale as u64).is_power_of_two() && scale < 1 << 31 {
                let whole = (index, scale.trailing_zeros(), 0);
                let split =
                    if space == AddrSpace::LOCAL { self.split_index(whole.0, whole.1) } else { whole };
                for (index, shift, bytes) in [split, whole] {
                    let total = i64::from((total + bytes) as i32);
                    if (0..=max).contains(&total) && (folds || self.fits_unsigned(index, 31 - shift)) {
                        return (Some(self.scaled_index(index, shift)), total);
                    }
                }
            }
            if fits && folds && (place.is_some() || total != offset) && self.values[root].uses == 1 {
                let base = if place.is_some() { Operand::Imm(0) } else { self.src(base_root) };
                let out = self.new_vgpr(1);
                self.add_32(out, base, Some(Index { value: index, scale }), 0, false);
                return (Some(out), total);
            }
        }
        if offset != 0 && !folds && !self.fits_unsigned(root, 31) {
            return (Some(self.vgpr(ptr)), 0);
        }
        let base = self.src(root);
        let mut base = self.in_vgpr(base, 1);
        if !(0..=max).contains(&offset) {
            let kept = if offset > 0 { offset & max } else { 0 };
            let out = self.new_vgpr(1);
            self.vector_add(out, Operand::Imm(i64::from((offset - kept) as i32)), base);
            base = out;
            offset = kept;
        }
        (Some(base), offset)
    }

    /// The register that holds an entry value.
    pub(super) fn entry_value(&mut self, value: EntryValue) -> Operand {
        let settled = self.has_calls && !self.mf.entry.layout.builds_scratch;
        if value == EntryValue::PrivateSegmentBuffer && (self.mf.call_conv.is_callable() || settled) {
            if self.has_calls && !self.mf.call_conv.is_callable() {
                self.mf.entry.request(value, None);
            }
            // It stays where it is for all functions below.
            return Operand::preg(mir::abi::call::SCRATCH_RESOURCE, 4);
        }
        let reg = match self.mf.entry.reg(value) {
            Some(reg) => reg,
            None => {
                let reg = self.mf.new_vreg(value.file(), value.dwords());
                self.mf.entry.request(value, Some(reg));
                reg
            }
        };
        Operand::vreg(reg, value.dwords())
    }
}
