//! Integers of 64 bits: halves, carries, shifts, wide products.

use super::{Rep, Selector};
use mir::diag::Result;
use mir::ir::{BinaryOp, CastOp, InstKind, Type, Value};
use mir::isa::Opcode::{self, *};
use mir::machine::Operand;

impl<'a> Selector<'a> {
    pub(super) fn scalar_64(
        &mut self,
        value: Value,
        dst: Operand,
        op: BinaryOp,
        args: [Value; 2],
    ) -> Result<()> {
        let logic = match op {
            BinaryOp::And => Some(S_AND_B64),
            BinaryOp::Or => Some(S_OR_B64),
            BinaryOp::Xor => Some(S_XOR_B64),
            _ => None,
        };
        if let Some(opcode) = logic {
            if self.build_pair(dst, op, args, false) {
                return Ok(());
            }
            let [a, b] = [self.scalar_src(args[0]), self.scalar_src(args[1])];
            self.sop(opcode, &[dst, a, b]);
            return Ok(());
        }
        match op {
            BinaryOp::Add | BinaryOp::Sub => {
                let [a, b] = args.map(|v| self.wide_halves(v, true));
                self.scalar_addsub_halves(dst, a, b, op == BinaryOp::Sub);
            }
            BinaryOp::Mul => self.multiply_wide(value, dst, args, true)?,
            _ => {
                let opcode = match op {
                    BinaryOp::Shl => S_LSHL_B64,
                    BinaryOp::LShr => S_LSHR_B64,
                    _ => S_ASHR_I64,
                };
                let x = self.scalar_src(args[0]);
                let [amount, _] = self.wide_halves(args[1], true);
                // A shift by half the width is a move of a half.
                if amount == Operand::Imm(32) && x.as_imm().is_none() {
                    let [lo, hi] = self.halves(&x);
                    let parts = match op {
                        BinaryOp::Shl => [Operand::Imm(0), lo],
                        BinaryOp::LShr => [hi, Operand::Imm(0)],
                        _ => {
                            let sign = self.new_sgpr(1);
                            self.sop(S_ASHR_I32, &[sign, hi, Operand::Imm(31)]);
                            [hi, sign]
                        }
                    };
                    let parts = parts.map(|p| if p.as_imm().is_some() { self.in_sgpr(p, 1) } else { p });
                    self.sequence(dst, &parts);
                    return Ok(());
                }
                self.sop(opcode, &[dst, x, amount]);
            }
        }
        Ok(())
    }

    pub(super) fn scalar_addsub_halves(
        &mut self,
        dst: Operand,
        [a_lo, a_hi]: [Operand; 2],
        [b_lo, b_hi]: [Operand; 2],
        subtract: bool,
    ) {
        let [lo, hi] = [self.new_sgpr(1), self.new_sgpr(1)];
        let (low, high) = if subtract { (S_SUB_U32, S_SUBB_U32) } else { (S_ADD_U32, S_ADDC_U32) };
        // Constants that need registers come before the pair, so that nothing stands between carry and its reader.
        let b_hi = self.scalar_fit(b_hi, &a_hi);
        let b_lo = self.scalar_fit(b_lo, &a_lo);
        self.sop(low, &[lo, a_lo, b_lo]);
        self.sop(high, &[hi, a_hi, b_hi]);
        self.sequence(dst, &[lo, hi]);
    }

    /// `b` beside `a` in one scalar instruction: only one of them may be a literal.
    fn scalar_fit(&mut self, b: Operand, a: &Operand) -> Operand {
        if b.as_imm().is_some() && a.as_imm().is_some() { self.in_sgpr(b, 1) } else { b }
    }

    /// `a + b` of 64 bits in new SGPRs.
    pub(super) fn scalar_add64(&mut self, a: Operand, b: Operand) -> Operand {
        let out = self.new_sgpr(2);
        let (a, b) = (self.halves(&a), self.halves(&b));
        self.scalar_addsub_halves(out, a, b, false);
        out
    }

    pub(super) fn vector_64(
        &mut self,
        value: Value,
        dst: Operand,
        op: BinaryOp,
        args: [Value; 2],
    ) -> Result<()> {
        match op {
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                if self.build_pair(dst, op, args, true) || self.insert_halves(dst, op, args) {
                    return Ok(());
                }
                let [a, b] = [self.src(args[0]), self.src(args[1])];
                let opcode = match op {
                    BinaryOp::And => V_AND_B32,
                    BinaryOp::Or => V_OR_B32,
                    _ => V_XOR_B32,
                };
                let ([a_lo, a_hi], [b_lo, b_hi]) = (self.halves(&a), self.halves(&b));
                let lo = self.logic_half(opcode, a_lo, b_lo);
                let hi = self.logic_half(opcode, a_hi, b_hi);
                self.sequence(dst, &[lo, hi]);
            }
            BinaryOp::Add => {
                if let Some((rest, sum)) = self.uniform_part(args, 64) {
                    if !self.add_product(dst, rest, |_| sum) {
                        let (a, b) = (self.wide_halves(rest, false), self.halves(&sum));
                        self.vector_add_halves(dst, a, b);
                    }
                    return Ok(());
                }
                for [product, addend] in [args, [args[1], args[0]]] {
                    if self.add_product(dst, product, |this| this.src(addend)) {
                        return Ok(());
                    }
                }
                let [a, b] = args.map(|v| self.wide_halves(v, false));
                self.vector_add_halves(dst, a, b);
            }
            BinaryOp::Sub => {
                let [a, b] = args.map(|v| self.wide_halves(v, false));
                let borrow = self.borrow_of(value);
                self.vector_sub_halves(dst, a, b, borrow);
            }
            BinaryOp::Mul => self.multiply_wide(value, dst, args, false)?,
            BinaryOp::LShr if self.chosen_byte(value, dst, args) => {}
            _ => {
                let x = self.src(args[0]);
                let [amount, _] = self.wide_halves(args[1], false);
                self.vector_shift64(dst, op, x, amount);
            }
        }
        Ok(())
    }

    /// `product + addend` where the former is one of 32-bit factors: one instruction.
    fn add_product(
        &mut self,
        dst: Operand,
        product: Value,
        addend: impl FnOnce(&mut Self) -> Operand,
    ) -> bool {
        if let Some(data) = self.foldable(product)
            && let InstKind::Binary { op: BinaryOp::Mul, args: factors } = data.kind
            && let Some(([a, b], signed)) = self.wide_factors(factors)
            && self.exists(V_MAD_U64_U32)
        {
            let [a, b] = [self.factor(a, false), self.factor(b, false)];
            let c = addend(self);
            self.mad_wide(dst, a, b, c, signed);
            return true;
        }
        false
    }

    /// A bit-field insert of two halves, or what inverts one operand, if all operands are in VGPRs.
    fn insert_halves(&mut self, dst: Operand, op: BinaryOp, args: [Value; 2]) -> bool {
        let insert = self.bit_field_insert(op, args).or_else(|| self.majority(op, args));
        let inverted = || self.with_inverted(op, args).map(|[y, x]| [y, x, x]);
        let Some(operands) = insert.or_else(inverted) else { return false };
        let in_vgpr = |&value: &Value| {
            let (root, _) = self.root(value);
            self.const_int(value).is_none() && self.values[root].rep == Rep::Vgpr
        };
        if !operands.iter().all(in_vgpr) {
            return false;
        }
        let [m, a, b] = operands.map(|value| self.src(value)).map(|whole| self.halves(&whole));
        let halves = [0, 1].map(|half| {
            let out = self.new_vgpr(1);
            // (y & x) | (~y & -1), (y & 0) | (~y & x).
            let [a, b] = match (insert, op) {
                (Some(_), _) => [a[half], b[half]],
                (None, BinaryOp::Or) => [a[half], Operand::Imm(-1)],
                (None, _) => [Operand::Imm(0), b[half]],
            };
            self.vop(V_BFI_B32, &[out, m[half], a, b]);
            out
        });
        self.sequence(dst, &halves);
        true
    }

    fn logic_half(&mut self, opcode: Opcode, a: Operand, b: Operand) -> Operand {
        // Neutral and absorbing halves of constants.
        for (x, c) in [(a, b), (b, a)] {
            match (opcode, c.as_imm()) {
                (V_OR_B32 | V_XOR_B32, Some(0)) | (V_AND_B32, Some(-1)) => return self.in_vgpr(x, 1),
                (V_AND_B32, Some(0)) => return self.in_vgpr(Operand::Imm(0), 1),
                _ => {}
            }
        }
        let out = self.new_vgpr(1);
        self.vop(opcode, &[out, a, b]);
        out
    }

    /// `(zext lo) | (zext hi) << 32` (also as `add` or `xor` of disjoint halves): two dwords side by side.
    fn build_pair(&mut self, dst: Operand, op: BinaryOp, args: [Value; 2], vgpr: bool) -> bool {
        if op != BinaryOp::Or {
            return false;
        }
        for [low, high] in [args, [args[1], args[0]]] {
            let (Some(low), Some(high)) = (self.low_half(low), self.high_half(high)) else { continue };
            let [lo, hi] = [low, high].map(|v| {
                let operand = self.src(v);
                let operand = self.sub(&operand, 0, 1);
                if vgpr { self.in_vgpr(operand, 1) } else { self.in_sgpr(operand, 1) }
            });
            self.sequence(dst, &[lo, hi]);
            return true;
        }
        false
    }

    /// The 32-bit value that a 64-bit one zero-extends.
    fn low_half(&self, value: Value) -> Option<Value> {
        match self.nearby(value)?.kind {
            InstKind::Cast { op: CastOp::ZExt, arg } if self.f.ty(arg) == Type::I32 => Some(arg),
            _ => None,
        }
    }

    /// The 32-bit value that a 64-bit one has in its high half, the low half being 0: `shl (ext x), 32`.
    fn high_half(&self, value: Value) -> Option<Value> {
        match self.nearby(value)?.kind {
            InstKind::Binary { op: BinaryOp::Shl, args } if self.is_const_value(args[1], 32) => {
                match self.nearby(args[0])?.kind {
                    InstKind::Cast { op: CastOp::ZExt | CastOp::SExt, arg }
                        if self.f.ty(arg) == Type::I32 =>
                    {
                        Some(arg)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The dwords that a 64-bit value near by was joined from, if one of them is a constant: `bitcast <2 x i32>`.
    fn joined_halves(&self, value: Value) -> Option<[Value; 2]> {
        let InstKind::Cast { op: CastOp::BitCast, arg } = self.nearby(value)?.kind else { return None };
        let InstKind::InsertElement { vector, element: second, index } = self.nearby(arg)?.kind else {
            return None;
        };
        let InstKind::InsertElement { element: first, index: other, .. } = self.nearby(vector)?.kind else {
            return None;
        };
        let parts = match (self.const_int(other)?, self.const_int(index)?) {
            (0, 1) => [first, second],
            (1, 0) => [second, first],
            _ => return None,
        };
        let dwords = parts.iter().all(|&v| self.f.ty(v) == Type::I32);
        (dwords && parts.iter().any(|&v| self.const_int(v).is_some())).then_some(parts)
    }

    /// The dwords of a 64-bit operand; the upper one of an extension from 32 bits near by is the constant 0.
    pub(super) fn wide_halves(&mut self, value: Value, scalar: bool) -> [Operand; 2] {
        if let Some(low) = self.low_half(value) {
            let low = if scalar { self.scalar_src(low) } else { self.src(low) };
            return [low, Operand::Imm(0)];
        }
        if let Some(parts) = self.joined_halves(value) {
            return parts.map(|v| if scalar { self.scalar_src(v) } else { self.src(v) });
        }
        let whole = if scalar { self.scalar_src(value) } else { self.src(value) };
        self.halves(&whole)
    }

    /// `dst = a + b` of 64 bits with a carry chain.
    pub(super) fn vector_add64(&mut self, dst: Operand, a: Operand, b: Operand) {
        let (a, b) = (self.halves(&a), self.halves(&b));
        self.vector_add_halves(dst, a, b);
    }

    fn vector_add_halves(&mut self, dst: Operand, [a_lo, a_hi]: [Operand; 2], [b_lo, b_hi]: [Operand; 2]) {
        let [lo, hi] = [self.new_vgpr(1), self.new_vgpr(1)];
        if a_lo.as_imm() == Some(0) || b_lo.as_imm() == Some(0) {
            let kept = if b_lo.as_imm() == Some(0) { a_lo } else { b_lo };
            let kept = self.in_vgpr(kept, 1);
            self.vector_add(hi, a_hi, b_hi);
            self.sequence(dst, &[kept, hi]);
            return;
        }
        let [carry, dead] = [self.new_mask(), self.new_mask()];
        self.vop(V_ADD_CO_U32, &[lo, carry, a_lo, b_lo]);
        self.vop(V_ADDC_CO_U32, &[hi, dead, a_hi, b_hi, carry]);
        self.sequence(dst, &[lo, hi]);
    }

    /// `dst = a - b` of 64 bits; `borrow` is the mask of lanes where a is below b.
    fn vector_sub_halves(
        &mut self,
        dst: Operand,
        [a_lo, a_hi]: [Operand; 2],
        [b_lo, b_hi]: [Operand; 2],
        borrow: Operand,
    ) {
        let [lo, hi] = [self.new_vgpr(1), self.new_vgpr(1)];
        let carry = self.new_mask();
        // The second source wants to be a VGPR.
        if !self.is_vgpr(&b_lo) && self.is_vgpr(&a_lo) {
            self.vop(V_SUBREV_CO_U32, &[lo, carry, b_lo, a_lo]);
            self.vop(V_SUBBREV_CO_U32, &[hi, borrow, b_hi, a_hi, carry]);
        } else {
            self.vop(V_SUB_CO_U32, &[lo, carry, a_lo, b_lo]);
            self.vop(V_SUBB_CO_U32, &[hi, borrow, a_hi, b_hi, carry]);
        }
        self.sequence(dst, &[lo, hi]);
    }

    /// 64-bit shift; constants of 32 and more, and 32-bit parts, need no 64-bit instruction.
    pub(super) fn vector_shift64(&mut self, dst: Operand, op: BinaryOp, x: Operand, amount: Operand) {
        let [lo, hi] = self.halves(&x);
        if let Some(k @ 32..=63) = amount.as_imm() {
            let k = Operand::Imm(k - 32);
            let shifted = |this: &mut Self, opcode, part| {
                if k == Operand::Imm(0) {
                    return this.in_vgpr(part, 1);
                }
                let out = this.new_vgpr(1);
                this.vop(opcode, &[out, k, part]);
                out
            };
            let parts = match op {
                BinaryOp::Shl => {
                    let high = shifted(self, V_LSHLREV_B32, lo);
                    [self.in_vgpr(Operand::Imm(0), 1), high]
                }
                BinaryOp::LShr => {
                    let low = shifted(self, V_LSHRREV_B32, hi);
                    [low, self.in_vgpr(Operand::Imm(0), 1)]
                }
                _ => {
                    let low = shifted(self, V_ASHRREV_I32, hi);
                    let sign = self.new_vgpr(1);
                    self.vop(V_ASHRREV_I32, &[sign, Operand::Imm(31), hi]);
                    [low, sign]
                }
            };
            self.sequence(dst, &parts);
            return;
        }
        let (reversed, plain) = match op {
            BinaryOp::Shl => (V_LSHLREV_B64, V_LSHL_B64),
            BinaryOp::LShr => (V_LSHRREV_B64, V_LSHR_B64),
            _ => (V_ASHRREV_I64, V_ASHR_I64),
        };
        if self.exists(reversed) {
            self.vop(reversed, &[dst, amount, x]);
        } else {
            self.vop(plain, &[dst, x, amount]);
        }
    }

    /// Whether `value` is a 64-bit product of extended 32-bit factors that has no other user than its high half.
    pub(super) fn wide_product(&self, value: Value) -> Option<([Value; 2], bool)> {
        let inst = self.f.def_inst(value)?;
        match self.f.insts[inst].kind {
            InstKind::Binary { op: BinaryOp::Mul, args } if self.values[value].uses == 1 => {
                self.wide_factors(args)
            }
            _ => None,
        }
    }

    /// A factor of a wide product as an operand of 32 bits.
    pub(super) fn factor(&mut self, value: Value, scalar: bool) -> Operand {
        let whole = if scalar { self.scalar_src(value) } else { self.src(value) };
        self.sub(&whole, 0, 1)
    }

    /// The 32-bit factors of a wide product, and whether they are signed. A constant stands for its low half.
    pub(super) fn wide_factors(&self, args: [Value; 2]) -> Option<([Value; 2], bool)> {
        let factor = |value: Value, want: CastOp| -> Option<Value> {
            if let Some(constant) = self.const_int(value) {
                let fits = match want {
                    CastOp::ZExt => u32::try_from(constant).is_ok(),
                    _ => i32::try_from(constant).is_ok(),
                };
                return fits.then_some(value);
            }
            let inst = self.f.def_inst(value)?;
            match self.f.insts[inst].kind {
                InstKind::Cast { op, arg } if op == want && self.f.ty(arg) == Type::I32 => Some(arg),
                _ => None,
            }
        };
        for (cast, signed) in [(CastOp::ZExt, false), (CastOp::SExt, true)] {
            if let (Some(a), Some(b)) = (factor(args[0], cast), factor(args[1], cast)) {
                return Some(([a, b], signed));
            }
        }
        None
    }

    fn multiply_wide(&mut self, value: Value, dst: Operand, args: [Value; 2], scalar: bool) -> Result<()> {
        let _ = value;
        if let Some(([a, b], signed)) = self.wide_factors(args) {
            if scalar {
                let [a, b] = [self.factor(a, true), self.factor(b, true)];
                let [lo, hi] = [self.new_sgpr(1), self.new_sgpr(1)];
                self.sop(S_MUL_I32, &[lo, a, b]);
                self.scalar_mul_high(hi, a, b, signed);
                self.sequence(dst, &[lo, hi]);
                return Ok(());
            }
            let [a, b] = [self.factor(a, false), self.factor(b, false)];
            if self.exists(V_MAD_U64_U32) {
                self.mad_wide(dst, a, b, Operand::Imm(0), signed);
            } else {
                let [lo, hi] = [self.new_vgpr(1), self.new_vgpr(1)];
                self.vop(V_MUL_LO_U32, &[lo, a, b]);
                self.vop(if signed { V_MUL_HI_I32 } else { V_MUL_HI_U32 }, &[hi, a, b]);
                self.sequence(dst, &[lo, hi]);
            }
            return Ok(());
        }
        // The general product: lo * lo, and the crosswise low products in the high half.
        let [a, b] = if scalar {
            [self.scalar_src(args[0]), self.scalar_src(args[1])]
        } else {
            [self.src(args[0]), self.src(args[1])]
        };
        let out = self.multiply_64(a, b, scalar);
        self.sequence(dst, &out);
        Ok(())
    }

    /// The upper half of a product of SGPRs or constants. Where the scalar unit does not multiply so, the vector unit does, and lanes' common result is read from
    /// the first: what follows is mostly arithmetic on integers, which takes the vector unit longer.
    pub(super) fn scalar_mul_high(&mut self, dst: Operand, a: Operand, b: Operand, signed: bool) {
        if self.exists(S_MUL_HI_U32) {
            self.sop(if signed { S_MUL_HI_I32 } else { S_MUL_HI_U32 }, &[dst, a, b]);
            return;
        }
        let high = self.new_vgpr(1);
        self.vop(if signed { V_MUL_HI_I32 } else { V_MUL_HI_U32 }, &[high, a, b]);
        self.emit(V_READFIRSTLANE_B32, [dst, high]);
    }

    /// The product of two 64-bit operands, as its dwords.
    pub(super) fn multiply_64(&mut self, a: Operand, b: Operand, scalar: bool) -> [Operand; 2] {
        let ([a_lo, a_hi], [b_lo, b_hi]) = (self.halves(&a), self.halves(&b));
        let product = |this: &mut Self, x, y| {
            let out = this.new_reg(!scalar, 1);
            if scalar {
                this.sop(S_MUL_I32, &[out, x, y])
            } else {
                this.vop(V_MUL_LO_U32, &[out, x, y])
            }
            out
        };
        let lo = product(self, a_lo, b_lo);
        let mut hi = self.new_reg(!scalar, 1);
        if scalar {
            self.scalar_mul_high(hi, a_lo, b_lo, false);
        } else {
            self.vop(V_MUL_HI_U32, &[hi, a_lo, b_lo]);
        }
        for (x, y) in [(a_lo, b_hi), (a_hi, b_lo)] {
            if x == Operand::Imm(0) || y == Operand::Imm(0) {
                continue;
            }
            let cross = product(self, x, y);
            let sum = self.new_reg(!scalar, 1);
            if scalar {
                self.sop(S_ADD_U32, &[sum, hi, cross]);
            } else {
                self.vector_add(sum, hi, cross);
            }
            hi = sum;
        }
        [lo, hi]
    }

    /// `dst = a * b + c`, factors of 32 bits, the rest of 64.
    pub(super) fn mad_wide(&mut self, dst: Operand, a: Operand, b: Operand, c: Operand, signed: bool) {
        let dead = self.new_mask();
        let op = if signed { V_MAD_I64_I32 } else { V_MAD_U64_U32 };
        self.vop(op, &[dst, dead, a, b, c]);
    }

    // i1.
}
