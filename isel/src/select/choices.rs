//! Choices between two values by a condition.

use super::compare::Scc;
use super::float::FloatSrc;
use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{InstData, InstKind, IntPredicate, Intrinsic, Type, Value};
use mir::isa::MaskOp;
use mir::isa::Opcode::{self, *};
use mir::machine::Operand;

impl<'a> Selector<'a> {
    pub(super) fn lower_select(
        &mut self,
        data: &InstData,
        cond: Value,
        if_true: Value,
        if_false: Value,
    ) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let rep = self.values[value].rep;
        if let Some(count) = self.count_that_knows_zero(cond, [if_true, if_false]) {
            let count = if rep == Rep::Sgpr { self.scalar_src(count) } else { self.src(count) };
            self.emit(COPY, [dst, count]);
            return Ok(());
        }
        match rep {
            Rep::Bool => {
                let [t, f] = [self.bool_src(if_true)?, self.bool_src(if_false)?];
                self.scalar_select(S_CSELECT_B32, dst, cond, t, f)
            }
            Rep::Mask => self.select_mask(dst, cond, if_true, if_false),
            Rep::Sgpr => {
                let [t, f] = [self.shared_scalar_src(if_true), self.shared_scalar_src(if_false)];
                match self.dwords(value) {
                    1 => self.scalar_select(S_CSELECT_B32, dst, cond, t, f),
                    2 => self.scalar_select(S_CSELECT_B64, dst, cond, t, f),
                    _ => Err(Diagnostic::unsupported("scalar select wider than 64 bits")),
                }
            }
            Rep::Vgpr if self.plain_difference(dst, &data.kind, data.ty) => Ok(()),
            Rep::Vgpr => {
                let mask = self.mask(cond)?;
                if matches!(data.ty, Type::F32 | Type::I32) {
                    // Signs are modifiers, which change no NaN, and are bits like others.
                    let [t, f] = [self.float_src(if_true), self.float_src(if_false)];
                    self.float_op(
                        V_CNDMASK_B32,
                        dst,
                        &[f, t, FloatSrc { operand: mask, neg: false, abs: false }],
                    );
                    return Ok(());
                }
                let dwords = self.dwords(value);
                if dwords == 2 && data.ty.bits() == Some(64) {
                    let [t, f] = [if_true, if_false].map(|value| self.wide_halves(value, false));
                    let parts = [0, 1].map(|half| {
                        if t[half].as_imm().is_some() && t[half] == f[half] {
                            return self.in_vgpr(t[half], 1);
                        }
                        let out = self.new_vgpr(1);
                        self.vop(V_CNDMASK_B32, &[out, f[half], t[half], mask]);
                        out
                    });
                    self.sequence(dst, &parts);
                    return Ok(());
                }
                let [t, f] = [self.src(if_true), self.src(if_false)];
                if dwords == 1 {
                    self.vop(V_CNDMASK_B32, &[dst, f, t, mask]);
                    return Ok(());
                }
                let mut parts = smallvec::SmallVec::<[Operand; 4]>::new();
                for i in 0..dwords {
                    let out = self.new_vgpr(1);
                    let [t, f] = [self.sub(&t, i, 1), self.sub(&f, i, 1)];
                    self.vop(V_CNDMASK_B32, &[out, f, t, mask]);
                    parts.push(out);
                }
                self.sequence(dst, &parts);
                Ok(())
            }
        }
    }

    /// The count among both values if it is one of zeros in front of the first or behind the last one, and the other value is −1, chosen where no bit is one: the
    /// instructions say that themselves (ISA manuals, `S_FLBIT_I32_B32`, `V_FFBH_U32`, `S_FF1_I32_B32`, `V_FFBL_B32`).
    fn count_that_knows_zero(&self, cond: Value, values: [Value; 2]) -> Option<Value> {
        let InstKind::Icmp { predicate, args: [x, zero] } = self.f.insts[self.f.def_inst(cond)?].kind else {
            return None;
        };
        let [none, count] = match predicate {
            IntPredicate::Eq => values,
            IntPredicate::Ne => [values[1], values[0]],
            _ => return None,
        };
        let InstKind::Intrinsic { intrinsic: Intrinsic::Ctlz | Intrinsic::Cttz, args } =
            &self.f.insts[self.f.def_inst(count)?].kind
        else {
            return None;
        };
        let fits = args[0] == x && self.is_const_value(zero, 0) && self.const_int(none) == Some(-1);
        (fits && self.f.ty(x) == Type::I32).then_some(count)
    }

    /// Whether `cond` is one for the wave, and made here for one user: as a mask it would be made for that alone.
    pub(super) fn decides_once(&self, cond: Value) -> bool {
        let root = self.root(cond).0;
        let data = &self.values[root];
        data.rep == Rep::Bool
            && data.uses <= 1
            && self.const_int(cond).is_none()
            && !self.is_temporal(root)
            && !self.is_from_outer_loop(root)
    }

    pub(super) fn scalar_select(
        &mut self,
        op: Opcode,
        dst: Operand,
        cond: Value,
        t: Operand,
        f: Operand,
    ) -> Result<()> {
        // Constants that need registers first: nothing may come between the comparison and its reader.
        let wide = op == S_CSELECT_B64;
        let fit = |this: &mut Self, o: Operand, other_literal: bool| {
            let literal = this.is_literal_at(op, 1, &o);
            if literal && (wide || other_literal) { this.in_sgpr(o, if wide { 2 } else { 1 }) } else { o }
        };
        let t = fit(self, t, false);
        let t_literal = self.is_literal_at(op, 1, &t);
        let f = fit(self, f, t_literal);
        let scc = self.scc(cond)?;
        let [a, b] = if scc == Scc::True { [t, f] } else { [f, t] };
        self.sop(op, &[dst, a, b]);
        Ok(())
    }

    /// Select between lane masks: `cond & t | ~cond & f`, shortened where a side is constant.
    fn select_mask(&mut self, dst: Operand, cond: Value, if_true: Value, if_false: Value) -> Result<()> {
        let root = self.root(cond).0;
        let uniform = self.values[root].rep == Rep::Bool && !self.is_temporal(root);
        let (t, f) = (self.const_int(if_true), self.const_int(if_false));
        match (t, f) {
            (Some(t), _) if !uniform => {
                let [c, f] = [self.mask(cond)?, self.mask(if_false)?];
                // true: c | f; false: f & ~c
                if t & 1 != 0 {
                    self.mask_sop(MaskOp::Or, &[dst, c, f])
                } else {
                    self.mask_sop(MaskOp::AndN2, &[dst, f, c])
                }
                Ok(())
            }
            (_, Some(f)) if !uniform => {
                let [c, t] = [self.mask(cond)?, self.mask(if_true)?];
                // false: c & t; true: t | ~c
                if f & 1 == 0 {
                    self.mask_sop(MaskOp::And, &[dst, c, t])
                } else {
                    self.mask_sop(MaskOp::OrN2, &[dst, t, c])
                }
                Ok(())
            }
            _ if uniform => {
                let all_or_none = |c: i64| Operand::Imm(if c & 1 != 0 { -1 } else { 0 });
                let t = t.map_or_else(|| self.mask(if_true), |t| Ok(all_or_none(t)))?;
                let f = f.map_or_else(|| self.mask(if_false), |f| Ok(all_or_none(f)))?;
                self.scalar_select(MaskOp::Select.opcode(self.mf.wave), dst, cond, t, f)
            }
            _ => {
                let [c, t, f] = [self.mask(cond)?, self.mask(if_true)?, self.mask(if_false)?];
                let [yes, no] = [self.new_mask(), self.new_mask()];
                self.mask_sop(MaskOp::And, &[yes, c, t]);
                self.mask_sop(MaskOp::AndN2, &[no, f, c]);
                self.mask_sop(MaskOp::Or, &[dst, yes, no]);
                Ok(())
            }
        }
    }
}
