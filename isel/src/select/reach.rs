//! Addresses whose offset is out of an instruction's reach: neighbours share what brings them there.

use super::{Rep, Selector};
use mir::ir::{InstKind, Value};
use mir::machine::Operand;
use mir::target::OffsetRange;

impl Selector<'_> {
    /// `ptr` as a value and an offset from it in `field`, where neighbours share the rest of the way to what [`Self::split_offset`] would give.
    pub(super) fn within_reach(&self, ptr: Value, field: OffsetRange, span: i64) -> (Value, i64) {
        let (mut at, mut bytes) = (self.whole_root(ptr), 0i64);
        while let Some(inst) = self.f.def_inst(at)
            && let InstKind::PtrAdd { base, index: None, offset, .. } = self.f.insts[inst].kind
            && self.values[at].rep == Rep::Vgpr
            && field.contains(bytes.wrapping_add(offset), span)
        {
            (at, bytes) = (self.whole_root(base), bytes.wrapping_add(offset));
        }
        match self.values[at].rep {
            Rep::Vgpr => (at, bytes),
            _ => self.split_offset(ptr),
        }
    }

    /// The address in SGPRs `far` bytes behind `base`: computed once for a block, and outside of loops, where `base` is defined.
    pub(super) fn base_at(&mut self, base: Value, far: i64) -> Operand {
        let (root, sub) = self.root(base);
        let home = self.f.def_inst(root).and_then(|inst| self.home[inst].expand());
        let loops = self.uniformity.loops();
        let shares = home.is_some_and(|home| {
            home == self.block || loops.depth(home.as_u32()) < loops.depth(self.block.as_u32())
        });
        if far == 0 || !shares || self.is_temporal(root) {
            let base = self.src(base);
            let base = self.in_sgpr(base, 2);
            return self.add_constant_64(base, far, true);
        }
        self.reg_of(root);
        let known =
            self.far_bases.get(&root).and_then(|list| list.iter().find(|it| (it.0, it.1) == (sub, far)));
        if let Some(&(.., out)) = known {
            return out;
        }
        let out = self.new_sgpr(2);
        self.far_bases.entry(root).or_default().push((sub, far, out));
        out
    }

    /// After the definition of `value`: the addresses behind it that were asked for.
    pub(super) fn emit_far_bases(&mut self, value: Value) {
        if self.far_bases.is_empty() {
            return;
        }
        let Some(list) = self.far_bases.remove(&value) else { return };
        let whole = self.def(value);
        for (sub, far, out) in list {
            let base = self.sub(&whole, sub, 2);
            let sum = [base, Operand::Imm(far)].map(|part| self.halves(&part));
            self.scalar_addsub_halves(out, sum[0], sum[1], false);
        }
    }
}
