//! Two operations of 32 bits in one instruction.

use super::int::{Shifts, Signed, is_shift};
use super::{Rep, Selector};
use mir::ir::{BinaryOp, InstKind, Intrinsic, Type, Value};
use mir::isa::Opcode::{self, *};
use mir::machine::Operand;
use mir::target::Features;
use smallvec::SmallVec;

/// A product of `x` and `(2^shift + 1) * 2^scale`, which is even.
pub(super) struct Scaled {
    x: Value,
    shift: u32,
    scale: u32,
}

impl Selector<'_> {
    /// Two operations in one: tries the three-operand forms whose inner operation is `args[0]` or `args[1]`.
    pub(super) fn three_operand(&mut self, dst: Operand, op: BinaryOp, args: [Value; 2]) -> bool {
        // Bit-field insert, on every generation: (m & a) | (~m & b), b ^ (m & (a ^ b)), and what two of three bits say.
        if let Some([m, a, b]) = self.bit_field_insert(op, args).or_else(|| self.majority(op, args)) {
            return self.emit_three(V_BFI_B32, dst, [m, a, b]);
        }
        // With what is inverted: (y & x) | (~y & -1), (y & 0) | (~y & x).
        if let Some([inverted, other]) = self.with_inverted(op, args)
            && self.fits_three(&[inverted, other])
        {
            let [y, x] = [inverted, other].map(|v| self.src(v));
            let sources = if op == BinaryOp::Or { [x, Operand::Imm(-1)] } else { [Operand::Imm(0), x] };
            self.vop(V_BFI_B32, &[dst, y, sources[0], sources[1]]);
            return true;
        }
        // a * b + c of 24 bits.
        if op == BinaryOp::Add {
            for [product, addend] in [args, [args[1], args[0]]] {
                if let Some(factors) = self.fold_binary(product, BinaryOp::Mul)
                    && let Some(signed) = self.are_24_bits(factors)
                {
                    let [a, b] = factors.map(|v| self.low_24_bits(v));
                    let opcode = if signed == Signed::Yes { V_MAD_I32_I24 } else { V_MAD_U32_U24 };
                    if self.emit_three(opcode, dst, [a, b, addend]) {
                        return true;
                    }
                }
            }
        }
        if op == BinaryOp::Add && self.multiply_add_wide(dst, args) {
            return true;
        }
        // Bits are counted into a sum; a sum of several counts is so made of one instruction for each.
        if op == BinaryOp::Add {
            for [count, addend] in [args, [args[1], args[0]]] {
                if let Some(x) = self.fold_ctpop(count) {
                    let [x, addend] = [x, addend].map(|v| self.src(v));
                    self.vop(V_BCNT_U32_B32, &[dst, x, addend]);
                    return true;
                }
            }
        }
        if !self.target.has(Features::THREE_OP_INT) {
            return false;
        }
        if op == BinaryOp::Add {
            for [product, addend] in [args, [args[1], args[0]]] {
                // A literal would need a register.
                let free = self.const_int(addend).is_none_or(|c| (-16..=64).contains(&c));
                if free && let Some(product) = self.scaled_product(product) {
                    let addend = self.src(addend);
                    self.add_to_scaled(dst, product, addend);
                    return true;
                }
            }
        }
        if let Some((x, amount, other)) = self.scalar_shift_of(op, args) {
            let opcode = if op == BinaryOp::Add { V_LSHL_ADD_U32 } else { V_LSHL_OR_B32 };
            let [x, other] = [self.src(x), self.src(other)];
            self.vop(opcode, &[dst, x, Operand::Imm(amount), other]);
            return true;
        }
        for (i, [inner, other]) in [args, [args[1], args[0]]].into_iter().enumerate() {
            let commutes = !is_shift(op);
            if i == 1 && !commutes {
                break;
            }
            let rules: &[(BinaryOp, Opcode)] = match op {
                BinaryOp::Add => &[
                    (BinaryOp::Shl, V_LSHL_ADD_U32),
                    (BinaryOp::Add, V_ADD3_U32),
                    (BinaryOp::Xor, V_XAD_U32),
                ],
                BinaryOp::Or => &[
                    (BinaryOp::And, V_AND_OR_B32),
                    (BinaryOp::Shl, V_LSHL_OR_B32),
                    (BinaryOp::Or, V_OR3_B32),
                ],
                BinaryOp::Shl => &[(BinaryOp::Add, V_ADD_LSHL_U32)],
                BinaryOp::Xor => &[(BinaryOp::Xor, V_XOR3_B32)],
                _ => &[],
            };
            for &(inner_op, opcode) in rules {
                if !self.exists(opcode) {
                    continue;
                }
                let Some([a, b]) = self.fold_binary(inner, inner_op) else { continue };
                // Three are combined by one instruction, and the sum may be a part of another one.
                let is_xor = |v| self.fold_binary(v, BinaryOp::Xor).is_some();
                if opcode == V_XAD_U32 && self.exists(V_XOR3_B32) && (is_xor(a) || is_xor(b)) {
                    continue;
                }
                // So are the three of a bit-field insert.
                let is_insert = |args| self.bit_field_insert(BinaryOp::Xor, args).is_some();
                if opcode == V_XAD_U32
                    && (is_insert([a, b]) || self.majority(BinaryOp::Xor, [a, b]).is_some())
                {
                    continue;
                }
                // A sum with what other lanes have is one instruction, whoever adds to it.
                if opcode == V_ADD3_U32 && [a, b, other].iter().any(|&v| self.is_of_other_lanes(v)) {
                    continue;
                }
                // A shift by a constant of 32 bits or more would be poison; the hardware takes 5 bits either way.
                if self.emit_three(opcode, dst, [a, b, other]) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether `value` is a move between lanes that becomes a part of the instruction that reads it.
    fn is_of_other_lanes(&self, value: Value) -> bool {
        self.foldable(value).is_some_and(|data| {
            matches!(
                data.kind,
                InstKind::Intrinsic { intrinsic: Intrinsic::UpdateDpp | Intrinsic::MovDpp, .. }
            )
        })
    }

    /// `dst = a * b + c` of 32 bits by the multiplication of 64, which takes as long as the product alone.
    fn multiply_add_wide(&mut self, dst: Operand, args: [Value; 2]) -> bool {
        for [product, addend] in [args, [args[1], args[0]]] {
            let constant = self.const_int(addend);
            if constant.is_some_and(|c| !(0..=64).contains(&c)) {
                continue;
            }
            let by_constant = || constant.and_then(|_| self.product_with_constant(product));
            let Some(factors) = self.wide_product_of_32(product).or_else(by_constant) else { continue };
            self.mad_low(dst, factors, |this, a, b| {
                if let Some(c) = constant {
                    return Operand::Imm(c);
                }
                let mut low = this.src(addend);
                let scalars = [a, b, low].iter().filter(|operand| this.is_sgpr(operand)).count();
                // What comes from outside of a loop has its pair of VGPRs made there.
                if this.is_from_outside(addend) || scalars > this.target.limits().constant_bus {
                    low = this.in_vgpr(low, 1);
                }
                this.low_of_pair(low)
            });
            return true;
        }
        false
    }

    /// `dst = product + addend` in the same way, if `product` is one of this block that nothing else uses.
    pub(super) fn multiply_add_to(&mut self, dst: Operand, product: Value, addend: Operand) -> bool {
        let factors = self.wide_product_of_32(product);
        if let Some(factors) = factors {
            self.mad_low(dst, factors, |this, _, _| this.low_of_pair(addend));
        }
        factors.is_some()
    }

    /// `dst = product + addend`: the last shift of the product is part of the addition.
    pub(super) fn add_to_scaled(&mut self, dst: Operand, product: Scaled, addend: Operand) {
        let (x, sum) = (self.src(product.x), self.new_vgpr(1));
        self.vop(V_LSHL_ADD_U32, &[sum, x, Operand::Imm(product.shift.into()), x]);
        self.vop(V_LSHL_ADD_U32, &[dst, sum, Operand::Imm(product.scale.into()), addend]);
    }

    /// `product`, if nothing else uses it and its sum with anything is two instructions at full rate.
    pub(super) fn scaled_product(&self, product: Value) -> Option<Scaled> {
        let factors = self.fold_binary(product, BinaryOp::Mul)?;
        let Shifts::Sum { scale, shift } = self.shifts_of_product(factors[1])? else { return None };
        let three = scale > 0 && self.target.has(Features::THREE_OP_INT);
        (three && self.are_24_bits(factors).is_none()).then_some(Scaled { x: factors[0], shift, scale })
    }

    /// The factors of a product of 32 bits that nothing else uses, if that of 64 takes no longer. Products with constants may have cheaper forms, and the constant
    /// would take the bus; those of 24 bits are four times as fast.
    fn wide_product_of_32(&self, product: Value) -> Option<[Value; 2]> {
        let factors = self.fold_binary(product, BinaryOp::Mul)?;
        let constant = factors.iter().any(|&factor| self.const_int(factor).is_some());
        (self.exists(V_MAD_U64_U32) && !constant && self.are_24_bits(factors).is_none()).then_some(factors)
    }

    /// The factors of a product of 32 bits with a constant for which there is no cheaper form, where nothing else uses it; beside it, the constant bus is free.
    fn product_with_constant(&self, product: Value) -> Option<[Value; 2]> {
        let factors = self.fold_binary(product, BinaryOp::Mul)?;
        let constant = self.const_int(factors[1])? as u32;
        let by_shifts =
            constant == 0 || constant.is_power_of_two() || self.shifts_of_product(factors[1]).is_some();
        let wide = self.exists(V_MAD_U64_U32) && !by_shifts && self.are_24_bits(factors).is_none();
        wide.then_some(factors)
    }

    /// `dst` = the lower half of a product of two numbers of 32 bits and what `addend` makes beside their operands.
    fn mad_low(
        &mut self,
        dst: Operand,
        factors: [Value; 2],
        addend: impl FnOnce(&mut Self, Operand, Operand) -> Operand,
    ) {
        let [a, b] = factors.map(|factor| self.src(factor));
        let c = addend(self, a, b);
        let out = self.new_vgpr(2);
        self.mad_wide(out, a, b, c, false);
        let low = self.sub(&out, 0, 1);
        self.emit(COPY, [dst, low]);
    }

    /// A pair whose lower half is `low`, and whose upper half is anything.
    fn low_of_pair(&mut self, low: Operand) -> Operand {
        let new = if self.is_sgpr(&low) { Self::new_sgpr } else { Self::new_vgpr };
        let (high, pair) = (new(self, 1), new(self, 2));
        self.emit(IMPLICIT_DEF, [high]);
        self.sequence(pair, &[low, high]);
        pair
    }

    /// `(x, n, other)` if `op` adds `other` to `x << n`, a scalar of this block that has no other user: the vector unit shifts it on its way.
    fn scalar_shift_of(&self, op: BinaryOp, args: [Value; 2]) -> Option<(Value, i64, Value)> {
        if !matches!(op, BinaryOp::Add | BinaryOp::Or) {
            return None;
        }
        [args, [args[1], args[0]]].into_iter().find_map(|[shifted, other]| {
            let info = &self.values[shifted];
            let alone = info.uses == 1 && !info.crosses_blocks && info.rep == Rep::Sgpr && info.reg.is_none();
            let data = self.nearby(shifted).filter(|data| alone && data.ty == Type::I32)?;
            let InstKind::Binary { op: BinaryOp::Shl, args: [x, amount] } = data.kind else { return None };
            let inner = |value: Value| {
                self.values[self.root(value).0].rep == Rep::Sgpr && self.const_int(value).is_none()
            };
            let vector = self.values[self.root(other).0].rep == Rep::Vgpr;
            (inner(x) && vector).then_some((x, self.shift_amount(amount, 32)?, other))
        })
    }

    /// Emits a three-operand instruction unless it would need extra moves: as many operands may be scalars as the instruction can read,
    /// or one a literal, and the others are VGPRs or inline constants.
    pub(super) fn emit_three(&mut self, op: Opcode, dst: Operand, args: [Value; 3]) -> bool {
        if !self.fits_three(&args) {
            return false;
        }
        let [a, b, c] = args.map(|v| self.src(v));
        self.vop(op, &[dst, a, b, c]);
        true
    }

    /// Whether an instruction takes `args` without moves.
    fn fits_three(&self, args: &[Value]) -> bool {
        let mut outside: SmallVec<[Value; 3]> = SmallVec::new();
        let mut literal = false;
        for &value in args {
            let (root, _) = self.root(value);
            let costs = match self.const_int(root) {
                Some(_) => {
                    let costs =
                        self.const_int(value).is_some_and(|v| !self.is_inline(v, mir::isa::ValueType::B32));
                    literal |= costs;
                    costs
                }
                None => self.values[root].rep != Rep::Vgpr && !self.is_temporal(root),
            };
            if costs && !outside.contains(&root) {
                outside.push(root);
            }
        }
        outside.len() <= if literal { 1 } else { self.target.limits().constant_bus }
    }

    /// What `x & ~y` and `x | ~y` invert for one user alone, and the other operand, which is no constant.
    pub(super) fn with_inverted(&self, op: BinaryOp, args: [Value; 2]) -> Option<[Value; 2]> {
        if !matches!(op, BinaryOp::And | BinaryOp::Or) {
            return None;
        }
        [args, [args[1], args[0]]].into_iter().find_map(|[inverted, other]| {
            let [y, ones] = self.fold_binary(inverted, BinaryOp::Xor)?;
            (self.is_const_value(ones, -1) && self.const_int(other).is_none()).then_some([y, other])
        })
    }

    /// A value with the low 24 bits of `value`, which are all that 24-bit multiplications read: what a mask leaves
    /// them of, or what is shifted up and down again by no more than 8.
    pub(super) fn low_24_bits(&self, value: Value) -> Value {
        match self.fold_binary(value, BinaryOp::And) {
            Some([x, mask]) if self.const_int(mask).is_some_and(|m| m & 0xff_ffff == 0xff_ffff) => return x,
            _ => {}
        }
        if let Some([shifted, down]) = self.fold_binary(value, BinaryOp::AShr)
            && let Some((x, up)) = self.fold_shl(shifted)
            && up <= 8
            && self.shift_amount(down, 32) == Some(up)
        {
            return x;
        }
        value
    }

    /// `(x << n) + b` in one scalar instruction, n from 1 to 4, where the target has it.
    pub(super) fn scalar_shift_add(&mut self, dst: Operand, args: [Value; 2]) -> bool {
        const OPS: [Opcode; 4] = [S_LSHL1_ADD_U32, S_LSHL2_ADD_U32, S_LSHL3_ADD_U32, S_LSHL4_ADD_U32];
        for [shifted, b] in [args, [args[1], args[0]]] {
            let info = &self.values[shifted];
            if info.uses != 1 || info.crosses_blocks || info.reg.is_some() {
                continue;
            }
            let Some(InstKind::Binary { op: BinaryOp::Shl, args: [x, amount] }) =
                self.nearby(shifted).map(|data| &data.kind)
            else {
                continue;
            };
            let op = match self.shift_amount(*amount, 5) {
                Some(n @ 1..=4) => OPS[n as usize - 1],
                _ => continue,
            };
            if op.info().code(self.target.generation()).is_none() {
                return false;
            }
            let [x, b] = [self.scalar_src(*x), self.scalar_src(b)];
            self.sop(op, &[dst, x, b]);
            return true;
        }
        false
    }

    /// `(m & a) | (~m & b)` and `b ^ (m & (a ^ b))` as [m, a, b].
    pub(super) fn bit_field_insert(&self, op: BinaryOp, args: [Value; 2]) -> Option<[Value; 3]> {
        match op {
            BinaryOp::Or => {
                let [p, q] =
                    [self.fold_binary(args[0], BinaryOp::And)?, self.fold_binary(args[1], BinaryOp::And)?];
                for ([m, a], [n, b]) in pairings(p, q) {
                    let complement = match (self.const_int(m), self.const_int(n)) {
                        (Some(m), Some(n)) => m as u32 == !(n as u32),
                        _ => self.is_complement(n, m),
                    };
                    if complement {
                        return Some([m, a, b]);
                    }
                }
                None
            }
            BinaryOp::Xor => {
                for [masked, b] in [args, [args[1], args[0]]] {
                    let Some([p, q]) = self.fold_binary(masked, BinaryOp::And) else { continue };
                    for [m, difference] in [[p, q], [q, p]] {
                        let Some([x, y]) = self.nearby_xor(difference) else { continue };
                        if x == b {
                            return Some([m, y, b]);
                        }
                        if y == b {
                            return Some([m, x, b]);
                        }
                    }
                }
                None
            }
            _ => None,
        }
    }

    /// `(x & y) | (z & (x ^ y))`, in which `or` and `xor` are one, as [x ^ y, z, x]: where two bits differ, the third one decides.
    pub(super) fn majority(&self, op: BinaryOp, args: [Value; 2]) -> Option<[Value; 3]> {
        if !matches!(op, BinaryOp::Or | BinaryOp::Xor) {
            return None;
        }
        for [both, decided] in [args, [args[1], args[0]]] {
            let Some([x, y]) = self.fold_binary(both, BinaryOp::And) else { continue };
            let Some([p, q]) = self.fold_binary(decided, BinaryOp::And) else { continue };
            for [z, differ] in [[p, q], [q, p]] {
                let operands = self.nearby_xor(differ);
                if operands.is_some_and(|found| found == [x, y] || found == [y, x]) {
                    return Some([differ, z, x]);
                }
            }
        }
        None
    }

    /// Operands of `value`, an exclusive or of this block, whoever else uses it.
    fn nearby_xor(&self, value: Value) -> Option<[Value; 2]> {
        match self.nearby(value)?.kind {
            InstKind::Binary { op: BinaryOp::Xor, args } => Some(args),
            _ => None,
        }
    }

    fn is_complement(&self, not: Value, of: Value) -> bool {
        self.nearby(not).is_some_and(|data| match data.kind {
            InstKind::Binary { op: BinaryOp::Xor, args } => args[0] == of && self.is_const_value(args[1], -1),
            _ => false,
        })
    }
}

/// The four ways to name the operands of two commutative operations.
fn pairings(p: [Value; 2], q: [Value; 2]) -> [([Value; 2], [Value; 2]); 4] {
    let (p2, q2) = ([p[1], p[0]], [q[1], q[0]]);
    [(p, q), (p, q2), (p2, q), (p2, q2)]
}
