//! Global memory through MUBUF, where there are no `global_*` and `flat_*` is missing or not wanted.
//!
//! | address | operands |
//! |---|---|
//! | uniform | the resource's base |
//! | uniform base, index that stays below 2^31 when scaled | base in the resource, 32 bits in a VGPR (`offen`) |
//! | uniform base, any index | base in the resource, 64 bits in a VGPR pair (`addr64`) |
//! | anything else | resource without a base, 64 bits in a VGPR pair (`addr64`) |
//!
//! A base is an address: its upper 16 bits are clear, as those of the dword that holds it say other things in a resource (LLVM takes that for
//! granted, too). A resource is four SGPRs. That of a base is put together once, right behind the definition of the base, so that loops only use it.

use super::Selector;
use super::address::{GlobalAddress, Index, Narrow};
use mir::ir::{AddrSpace, BinaryOp, Value, ValueDef};
use mir::isa::Opcode::*;
use mir::machine::{ModFlags, Operand};
use mir::target::Features;

/// An index that addresses share, made of a value of 32 bits (of 64 for `Whole`) and shifted to the left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Scaled {
    /// The low 32 bits.
    Low(u32),
    /// 64 bits, sign-extended before the shift.
    Signed(u32),
    /// 64 bits, zero-extended before the shift.
    Unsigned(u32),
    /// 64 bits of a value that has as many.
    Whole(u32),
}

/// A uniform address that resources have as their base: dwords of a value from the one given on, and constant bytes behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ResourceBase {
    first_dword: u8,
    bytes: i64,
}

impl Selector<'_> {
    /// Whether accesses of `space`, global memory or a generic one, are MUBUF's. Where there is no generic address space, generic pointers
    /// are to global memory.
    pub(super) fn takes_buffers(&self, space: AddrSpace) -> bool {
        !self.target.has(Features::FLAT)
            || space != AddrSpace::FLAT && self.target.has(Features::ADDR64 | Features::BUFFER_FOR_GLOBAL)
    }

    /// Operands for an access at `ptr` that also touches `span` bytes behind it with larger immediates; `saddr` is the resource.
    pub(super) fn buffer_address(&mut self, ptr: Value, span: i64) -> GlobalAddress {
        let field = self.target.limits().offsets.buffer;
        let max = i64::from(field.max);
        // What the field takes, and the rest, which is a multiple of its size or leaves it nothing.
        let split = |offset: i64| {
            let kept = if field.contains(offset & max, span) { offset & max } else { 0 };
            (kept, offset.wrapping_sub(kept))
        };
        let place = self.places.get(&ptr).copied();
        let (root, offset) = self.split_offset(ptr);
        if let Some((base, index, own)) = self.uniform_base(root) {
            let (kept, moved) = split(offset.wrapping_add(own));
            let (vaddr, mode) = match index {
                None => (Operand::Off, ModFlags::empty()),
                Some(index) => match self.short_index(index) {
                    Some((value, shift)) => (self.scaled_index(value, shift), ModFlags::OFFEN),
                    None => (self.wide_index(index), ModFlags::ADDR64),
                },
            };
            let saddr = self.resource_at(base, moved);
            return GlobalAddress { vaddr, saddr, offset: kept as i32, flat: false, mode, place };
        }
        let (kept, moved) = split(offset);
        let base = self.src(root);
        let base = self.add_constant_64(base, moved, false);
        let vaddr = self.in_vgpr(base, 2);
        let saddr = self.plain_resource();
        GlobalAddress { vaddr, saddr, offset: kept as i32, flat: false, mode: ModFlags::ADDR64, place }
    }

    /// An index as a value of 32 bits and a shift, if the result is below 2^31: with all immediates it is then within the limit of resources.
    fn short_index(&self, index: Index) -> Option<(Value, u32)> {
        let Narrow { value, .. } = self.narrow_index(index.value)?;
        let shift = index.scale.trailing_zeros();
        self.fits_unsigned(value, 31u32.checked_sub(shift)?).then_some((value, shift))
    }

    /// The last two dwords of resources without stride and limit; data format 32; addresses of the IOMMU's table on HSA (ATC).
    ///
    /// Sources: Southern Islands ISA, "Buffer resource descriptor"; AMDGPU usage guide, "Initial Kernel Execution State" (ATC).
    fn resource_words(&self) -> [Operand; 2] {
        let atc = if self.target.os == mir::target::Os::AmdHsa { 1 << 24 } else { 0 };
        [-1, 0xf000 | atc].map(Operand::Imm)
    }

    fn fill_resource(&mut self, out: Operand, base: [Operand; 2]) {
        let [limit, format] = self.resource_words().map(|word| self.pooled_sgpr(word));
        self.sequence(out, &[base[0], base[1], limit, format]);
    }

    /// The resource without a base that code of this block, or of the loops around it, shares.
    fn plain_resource(&mut self) -> Operand {
        if let Some(resource) = self.loop_resource().or(self.plain_resource) {
            return resource;
        }
        let resource = self.new_sgpr(4);
        self.plain_resource = Some(resource);
        resource
    }

    /// `out` = a resource without a base; nothing of it is shared with others.
    pub(super) fn make_plain_resource(&mut self, out: Operand) {
        let zero = self.new_sgpr(2);
        self.emit(S_MOV_B64, [zero, Operand::Imm(0)]);
        let [limit, format] = self.resource_words().map(|word| {
            let part = self.new_sgpr(1);
            self.emit(S_MOV_B32, [part, word]);
            part
        });
        self.sequence(out, &[zero, limit, format]);
    }

    /// The resource of `base`, which is uniform, and `bytes` behind it.
    fn resource_at(&mut self, base: Value, bytes: i64) -> Operand {
        let (root, first_dword) = self.root(base);
        let depth = |block: mir::ir::Block| self.uniformity.loops().depth(block.as_u32());
        let home = self.f.def_inst(root).and_then(|inst| self.home[inst].expand());
        let constant =
            matches!(self.f.values[root].def, ValueDef::Const(_)) || self.allocas.contains_key(&root);
        if constant || home.is_some_and(|home| depth(home) > depth(self.block)) {
            let base = self.src(base);
            let base = self.in_sgpr(base, 2);
            let base = self.add_constant_64(base, bytes, true);
            let base = self.halves(&base);
            let out = self.new_sgpr(4);
            self.fill_resource(out, base);
            return out;
        }
        self.reg_of(root);
        let key = ResourceBase { first_dword, bytes };
        if let Some(list) = self.resources.get(&root)
            && let Some(&(_, out)) = list.iter().find(|&&(known, _)| known == key)
        {
            return out;
        }
        let out = self.new_sgpr(4);
        self.resources.entry(root).or_default().push((key, out));
        out
    }

    /// After the definition of `value`: the resources that have it as their base.
    pub(super) fn emit_resources(&mut self, value: Value) {
        if self.resources.is_empty() {
            return;
        }
        let Some(resources) = self.resources.remove(&value) else { return };
        let whole = self.def(value);
        for (ResourceBase { first_dword, bytes }, out) in resources {
            let base = self.sub(&whole, first_dword, 2);
            let base = self.add_constant_64(base, bytes, true);
            let base = self.halves(&base);
            self.fill_resource(out, base);
        }
    }

    /// `index` times its scale, a power of two below 2^31, as 64 bits in VGPRs.
    pub(super) fn wide_index(&mut self, index: Index) -> Operand {
        let shift = index.scale.trailing_zeros();
        let (value, how) = match self.narrow_index(index.value) {
            Some(Narrow { value, signed: true }) => (value, Scaled::Signed(shift)),
            Some(Narrow { value, signed: false }) => (value, Scaled::Unsigned(shift)),
            None => (index.value, Scaled::Whole(shift)),
        };
        self.shared_index(value, how).unwrap_or_else(|| {
            let index = self.vgpr(value);
            let out = self.new_vgpr(2);
            self.scale_index(out, index, how);
            out
        })
    }

    /// `out` = an index made of `value` in VGPRs.
    pub(super) fn scale_index(&mut self, out: Operand, value: Operand, how: Scaled) {
        let amount = |shift: u32| Operand::Imm(i64::from(shift));
        match how {
            Scaled::Low(shift) => self.vop(V_LSHLREV_B32, &[out, amount(shift), value]),
            Scaled::Whole(0) => {
                self.emit(COPY, [out, value]);
            }
            Scaled::Whole(shift) => self.vector_shift64(out, BinaryOp::Shl, value, amount(shift)),
            Scaled::Signed(0) => {
                let high = self.new_vgpr(1);
                self.vop(V_ASHRREV_I32, &[high, Operand::Imm(31), value]);
                self.sequence(out, &[value, high]);
            }
            Scaled::Unsigned(0) => {
                let high = self.in_vgpr(Operand::Imm(0), 1);
                self.sequence(out, &[value, high]);
            }
            // Two shifts of 32 bits take less time than one of 64.
            Scaled::Signed(shift) | Scaled::Unsigned(shift) => {
                let op = if how == Scaled::Signed(shift) { V_ASHRREV_I32 } else { V_LSHRREV_B32 };
                let [low, high] = [self.new_vgpr(1), self.new_vgpr(1)];
                self.vop(V_LSHLREV_B32, &[low, amount(shift), value]);
                self.vop(op, &[high, amount(32 - shift), value]);
                self.sequence(out, &[low, high]);
            }
        }
    }
}
