//! Floating-point arithmetic, always on the vector unit; source modifiers and fusion.
//!
//! `fneg` and `fabs` of an operand are modifiers of the instruction that reads it, at the price of the long encoding. They
//! do not disturb NaN payloads or denormals any differently from the separate bit operation.

use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{
    BinaryOp, CastOp, Float, InstData, InstFlags, InstKind, Intrinsic, Scalar, Type, UnaryOp, Value,
};
use mir::isa::Opcode::{self, *};
use mir::machine::{Modifiers, Operand};

/// A source with its modifiers.
#[derive(Clone, Copy)]
pub(super) struct FloatSrc {
    pub operand: Operand,
    pub neg: bool,
    pub abs: bool,
}

/// An operation by format: half, float, double.
pub(super) type ByFloat = [Opcode; 3];

pub(super) fn by_float(row: ByFloat, float: Float) -> Result<Opcode> {
    match float {
        Float::Half => Ok(row[0]),
        Float::Single => Ok(row[1]),
        Float::Double => Ok(row[2]),
        Float::BFloat => Err(Diagnostic::unsupported("arithmetic on bfloat values")),
    }
}

const ADD: ByFloat = [V_ADD_F16, V_ADD_F32, V_ADD_F64];
const MUL: ByFloat = [V_MUL_F16, V_MUL_F32, V_MUL_F64];
const FMA: ByFloat = [V_FMA_F16, V_FMA_F32, V_FMA_F64];
pub(super) const MIN: ByFloat = [V_MIN_F16, V_MIN_F32, V_MIN_F64];
pub(super) const MAX: ByFloat = [V_MAX_F16, V_MAX_F32, V_MAX_F64];

/// The forms of `a * b + c` in binary32 that round alike.
struct MultiplyAdd {
    /// Any operands.
    general: Opcode,
    /// A literal as addend.
    constant_addend: Opcode,
    /// A literal as factor.
    constant_factor: Opcode,
    /// The addend is overwritten. Where there is none, that is decided behind allocation.
    accumulate: Option<Opcode>,
}

/// The product is rounded, denormals are flushed.
const MAD_F32: MultiplyAdd = MultiplyAdd {
    general: V_MAD_F32,
    constant_addend: V_MADAK_F32,
    constant_factor: V_MADMK_F32,
    accumulate: Some(V_MAC_F32),
};

/// Rounded once.
const FMA_F32: MultiplyAdd = MultiplyAdd {
    general: V_FMA_F32,
    constant_addend: V_FMAAK_F32,
    constant_factor: V_FMAMK_F32,
    accumulate: None,
};

/// The sign of binary32.
const SIGN: u64 = 0x8000_0000;

impl<'a> Selector<'a> {
    pub(super) fn float_of(&self, ty: Type) -> Result<Float> {
        match ty.scalar() {
            Some(Scalar::Float(float)) => Ok(float),
            _ => Err(Diagnostic::defect("floating-point operation on another type")),
        }
    }

    /// `value` with the `fneg`s and `fabs`s of this block around it as modifiers.
    pub(super) fn float_src(&mut self, value: Value) -> FloatSrc {
        let (mut at, mut neg, mut abs) = (value, false, false);
        for _ in 0..4 {
            let Some(data) = self.nearby(at) else { break };
            if matches!(data.ty, Type::Vector(..)) {
                break;
            }
            match &data.kind {
                InstKind::Unary { op: UnaryOp::FNeg, arg } => {
                    neg ^= !abs;
                    at = *arg;
                }
                InstKind::Intrinsic { intrinsic: Intrinsic::Fabs, args } => {
                    abs = true;
                    at = args[0];
                }
                // What integers do with the sign of 32 bits.
                InstKind::Binary { op, args: [of, mask] } if data.ty == Type::I32 => {
                    match (op, self.f.as_int(*mask)) {
                        (BinaryOp::Xor, Some(SIGN)) => neg ^= !abs,
                        (BinaryOp::And, Some(c)) if c == SIGN - 1 => abs = true,
                        (BinaryOp::Or, Some(SIGN)) => {
                            neg ^= !abs;
                            abs = true;
                        }
                        _ => break,
                    }
                    at = *of;
                }
                InstKind::Cast { op: CastOp::BitCast, arg }
                    if data.ty.is_int(32) || data.ty == Type::F32 && self.f.ty(*arg).is_int(32) =>
                {
                    at = *arg;
                }
                _ => break,
            }
        }
        let operand = self.src(at);
        if let Operand::Imm(bits) = operand {
            // A constant takes its modifiers at once.
            let sign = 1i64 << (self.f.ty(at).bits().unwrap_or(32).clamp(1, 64) - 1);
            let bits = if abs { bits & !sign } else { bits };
            let bits = if neg { bits ^ sign } else { bits };
            let operand = self.fit_constant(Operand::Imm(bits), self.f.ty(at));
            return FloatSrc { operand, neg: false, abs: false };
        }
        FloatSrc { operand, neg, abs }
    }

    /// The instruction that does the same where the target lacks `op`: GFX9 gave three half operations new opcodes that
    /// keep the upper half of the result; GFX8 has the old ones alone.
    pub(super) fn older_name(&self, op: Opcode) -> Opcode {
        match op {
            V_MAD_F16 if !self.exists(op) => V_MAD_LEGACY_F16,
            V_FMA_F16 if !self.exists(op) => V_FMA_LEGACY_F16,
            V_DIV_FIXUP_F16 if !self.exists(op) => V_DIV_FIXUP_LEGACY_F16,
            other => other,
        }
    }

    /// Appends a float instruction with its sources' modifiers.
    pub(super) fn float_op(&mut self, op: Opcode, dst: Operand, sources: &[FloatSrc]) {
        let op = self.older_name(op);
        let mut mods = Modifiers::default();
        let mut operands = smallvec::SmallVec::<[Operand; 4]>::new();
        operands.push(dst);
        for (i, source) in sources.iter().enumerate() {
            mods.abs |= u8::from(source.abs) << i;
            mods.neg |= u8::from(source.neg) << i;
            operands.push(source.operand);
        }
        self.vop_mods(op, &operands, mods);
    }

    pub(super) fn lower_float_binary(
        &mut self,
        data: &InstData,
        dst: Operand,
        op: BinaryOp,
        args: [Value; 2],
    ) -> Result<()> {
        let float = self.float_of(data.ty)?;
        if matches!(data.ty, Type::Vector(..)) {
            self.packed_float(data, dst, op, args);
            return Ok(());
        }
        if op != BinaryOp::FMul && self.fuse(data, dst, op, args, float)?
            || op == BinaryOp::FMul && self.scale_double(data, dst, args)
        {
            return Ok(());
        }
        let a = self.float_src(args[0]);
        let mut b = self.float_src(args[1]);
        match op {
            BinaryOp::FMul => {
                let opcode = by_float(MUL, float)?;
                self.float_op(opcode, dst, &[a, b]);
            }
            _ => {
                let subtract = op == BinaryOp::FSub;
                // The short encodings have their own subtractions; a modifier would make them long.
                let (sub, subrev) = match float {
                    Float::Half => (V_SUB_F16, V_SUBREV_F16),
                    _ => (V_SUB_F32, V_SUBREV_F32),
                };
                if float != Float::Double && b.neg != subtract && !a.neg && !a.abs && !b.abs {
                    b.neg = false;
                    if !self.is_vgpr(&b.operand) && self.is_vgpr(&a.operand) {
                        self.float_op(subrev, dst, &[b, a]);
                    } else {
                        self.float_op(sub, dst, &[a, b]);
                    }
                    return Ok(());
                }
                if float != Float::Double && a.neg && !b.neg && !subtract && !a.abs && !b.abs {
                    let a = FloatSrc { neg: false, ..a };
                    self.float_op(sub, dst, &[b, a]);
                    return Ok(());
                }
                if subtract {
                    if let Operand::Imm(bits) = b.operand {
                        let sign = 1i64 << (data.ty.bits().unwrap_or(32).clamp(1, 64) - 1);
                        b.operand = self.fit_constant(Operand::Imm(bits ^ sign), data.ty);
                    } else {
                        b.neg = !b.neg;
                    }
                }
                let opcode = by_float(ADD, float)?;
                self.float_op(opcode, dst, &[a, b]);
            }
        }
        Ok(())
    }

    /// A product with a power of two in 64 bits, by an addition to the exponent where that costs less. Both round once.
    fn scale_double(&mut self, data: &InstData, dst: Operand, args: [Value; 2]) -> bool {
        let cycles = |op: Opcode| op.facts().rate.cycles(self.target);
        let faster = cycles(V_LDEXP_F64) < cycles(V_MUL_F64);
        let exponent = |value| {
            let bits = self.const_int(value)? as u64;
            let biased = (bits >> 52 & 0x7ff) as i32;
            let exponent = biased - 1023;
            // 0.5 to 4 are numbers that instructions have; of others the exponent is half as long.
            let shorter = !(-1..=2).contains(&exponent);
            let is_power = bits & ((1 << 52) - 1) == 0 && (1..0x7ff).contains(&biased);
            (is_power && (faster || shorter)).then_some((bits >> 63 != 0, exponent))
        };
        if data.ty != Type::F64 || data.flags.contains(InstFlags::STRICT) {
            return false;
        }
        let pairs = [args, [args[1], args[0]]].into_iter();
        let Some((other, (negative, exponent))) =
            pairs.filter_map(|[other, value]| Some((other, exponent(value)?))).next()
        else {
            return false;
        };
        let mut source = self.float_src(other);
        if negative {
            source = self.negate_src(source, data.ty);
        }
        let operand = self.fit_constant(Operand::Imm(i64::from(exponent)), Type::I32);
        self.float_op(V_LDEXP_F64, dst, &[source, FloatSrc { operand, neg: false, abs: false }]);
        true
    }

    /// `a * b ± c` in one instruction where contraction is allowed: fused where that is fast or denormals are kept,
    /// else `v_mad`. Where denormals are flushed, `v_mad_f32` rounds and flushes as the two would, whatever is allowed.
    fn fuse(
        &mut self,
        data: &InstData,
        dst: Operand,
        op: BinaryOp,
        args: [Value; 2],
        float: Float,
    ) -> Result<bool> {
        let exact = float == Float::Single && self.float_mode.single.all_flushed() && self.exists(V_MAD_F32);
        let allowed = |d: &InstData, this: &Self| {
            !d.flags.contains(InstFlags::STRICT)
                && (exact || this.contract_all || d.flags.contains(InstFlags::CONTRACT))
        };
        if !allowed(data, self) {
            return Ok(false);
        }
        for (i, [product, addend]) in [args, [args[1], args[0]]].into_iter().enumerate() {
            let (mul, negated) = match self.foldable(product) {
                Some(InstData { kind: InstKind::Unary { op: UnaryOp::FNeg, arg }, .. }) => {
                    (self.foldable(*arg), true)
                }
                other => (other, false),
            };
            let Some(mul) = mul else { continue };
            let InstKind::Binary { op: BinaryOp::FMul, args: factors } = mul.kind else { continue };
            if !allowed(mul, self) {
                continue;
            }
            let mut a = self.float_src(factors[0]);
            let b = self.float_src(factors[1]);
            let mut c = self.float_src(addend);
            let flip_product = negated ^ (op == BinaryOp::FSub && i == 1);
            let flip_addend = op == BinaryOp::FSub && i == 0;
            if flip_product {
                a = self.negate_src(a, data.ty);
            }
            if flip_addend {
                c = self.negate_src(c, data.ty);
            }
            self.multiply_add(dst, float, a, b, c, addend)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// The same source with the other sign.
    fn negate_src(&self, source: FloatSrc, ty: Type) -> FloatSrc {
        match source.operand {
            Operand::Imm(bits) => {
                let sign = 1i64 << (ty.bits().unwrap_or(32).clamp(1, 64) - 1);
                FloatSrc { operand: self.fit_constant(Operand::Imm(bits ^ sign), ty), ..source }
            }
            _ => FloatSrc { neg: !source.neg, ..source },
        }
    }

    /// `dst = a * b + c`, contraction allowed.
    fn multiply_add(
        &mut self,
        dst: Operand,
        float: Float,
        a: FloatSrc,
        b: FloatSrc,
        c: FloatSrc,
        addend: Value,
    ) -> Result<()> {
        if float == Float::Single {
            let rounds_product = self.float_mode.single.all_flushed() && self.exists(V_MAD_F32);
            let family = if rounds_product { &MAD_F32 } else { &FMA_F32 };
            self.multiply_add_f32(family, dst, a, b, c, addend);
            return Ok(());
        }
        let opcode = by_float(FMA, float)?;
        self.float_op(opcode, dst, &[a, b, c]);
        Ok(())
    }

    /// The short form of `family` where the addend dies here and is a VGPR (half the code), with a constant one of the two forms for
    /// that, else the general one.
    fn multiply_add_f32(
        &mut self,
        family: &MultiplyAdd,
        dst: Operand,
        a: FloatSrc,
        b: FloatSrc,
        c: FloatSrc,
        addend: Value,
    ) {
        let plain = [a, b, c].iter().all(|s| !s.neg && !s.abs);
        let vgprs = [a, b, c].map(|s| self.is_vgpr(&s.operand));
        if plain {
            let literal = |s: &FloatSrc| {
                self.exists(family.constant_addend) && self.is_literal_at(family.general, 1, &s.operand)
            };
            // a * b + K; the first source may be an inline constant but no SGPR beside the literal.
            if literal(&c) && vgprs[0] && vgprs[1] {
                self.emit(family.constant_addend, [dst, a.operand, b.operand, c.operand]);
                return;
            }
            // a * K + c
            for [x, k] in [[a, b], [b, a]] {
                if literal(&k) && self.is_vgpr(&x.operand) && vgprs[2] {
                    self.emit(family.constant_factor, [dst, x.operand, k.operand, c.operand]);
                    return;
                }
            }
            let dies = self.values[addend].uses == 1 && !self.values[addend].crosses_blocks;
            if let Some(op) = family.accumulate
                && dies
                && vgprs[2]
                && (vgprs[0] || vgprs[1])
                && self.is_whole(&c.operand)
            {
                let [first, second] = if vgprs[1] { [a, b] } else { [b, a] };
                self.vop(op, &[dst, first.operand, second.operand]);
                if let Some(inst) = self.cur.last_mut() {
                    inst.operands.push(c.operand);
                }
                return;
            }
        }
        self.float_op(family.general, dst, &[a, b, c]);
    }

    /// `fmuladd` (flushing functions only), `fma`.
    pub(super) fn lower_fma(&mut self, data: &InstData, args: &[Value], fused: bool) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let float = self.float_of(data.ty)?;
        if matches!(data.ty, Type::Vector(..)) {
            self.packed_op(V_PK_FMA_F16, dst, args);
            return Ok(());
        }
        let [a, b, c] = [self.float_src(args[0]), self.float_src(args[1]), self.float_src(args[2])];
        if float == Float::Single {
            let family = if !fused && self.exists(V_MAD_F32) { &MAD_F32 } else { &FMA_F32 };
            self.multiply_add_f32(family, dst, a, b, c, args[2]);
            return Ok(());
        }
        let opcode = by_float(FMA, float)?;
        self.float_op(opcode, dst, &[a, b, c]);
        Ok(())
    }

    /// `canonicalize`: `max x, x` keeps every value; where denormals are flushed a multiplication flushes too, `max`
    /// not everywhere, hence the multiplication elsewhere.
    pub(super) fn lower_canonicalize(&mut self, data: &InstData, arg: Value) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let float = self.float_of(data.ty)?;
        if matches!(data.ty, Type::Vector(..)) {
            self.packed_op(V_PK_MAX_F16, dst, &[arg, arg]);
            return Ok(());
        }
        let a = self.float_src(arg);
        if self.target.has(mir::target::Features::MIN_MAX_DENORMAL_MODES) {
            let opcode = by_float(MAX, float)?;
            self.float_op(opcode, dst, &[a, a]);
        } else {
            let one = match float {
                Float::Double => 0x3ff0_0000_0000_0000,
                Float::Half => 0x3c00,
                _ => 0x3f80_0000,
            };
            let one = FloatSrc { operand: Operand::Imm(one), neg: false, abs: false };
            let opcode = by_float(MUL, float)?;
            self.float_op(opcode, dst, &[one, a]);
        }
        Ok(())
    }

    pub(super) fn lower_unary(&mut self, data: &InstData, op: UnaryOp, arg: Value) -> Result<()> {
        match op {
            UnaryOp::FNeg => self.sign_bits(data, arg, SignOp::Flip),
            UnaryOp::Freeze => self.copy_value(data, arg),
        }
    }

    /// `fneg`, `fabs` as bit operations on the upper dword (both halves of a packed one).
    pub(super) fn sign_bits(&mut self, data: &InstData, arg: Value, op: SignOp) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let packed = matches!(data.ty, Type::Vector(..));
        let sign: u32 = match self.float_of(data.ty)? {
            Float::Half | Float::BFloat if packed => 0x8000_8000,
            Float::Half | Float::BFloat => 0x8000,
            _ => 0x8000_0000,
        };
        let (sop, vop, mask) = match op {
            SignOp::Flip => (S_XOR_B32, V_XOR_B32, sign),
            SignOp::Clear => (S_AND_B32, V_AND_B32, !sign),
        };
        let mask = Operand::Imm(i64::from(mask as i32));
        let scalar = self.values[value].rep == Rep::Sgpr;
        let x = if scalar { self.scalar_src(arg) } else { self.src(arg) };
        let dwords = self.dwords(value);
        let high = self.sub(&x, dwords - 1, 1);
        let out = if dwords == 1 { dst } else { self.new_reg(!scalar, 1) };
        if scalar {
            self.sop(sop, &[out, high, mask]);
        } else {
            self.vop(vop, &[out, mask, high]);
        }
        if dwords == 2 {
            let low = self.sub(&x, 0, 1);
            let low = if scalar { self.in_sgpr(low, 1) } else { self.in_vgpr(low, 1) };
            self.sequence(dst, &[low, out]);
        }
        Ok(())
    }

    /// `copysign`: bit-field insert of everything but the sign.
    pub(super) fn lower_copysign(&mut self, data: &InstData, magnitude: Value, sign: Value) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let [m, s] = [self.src(magnitude), self.src(sign)];
        let mask = match self.float_of(data.ty)? {
            Float::Half | Float::BFloat => 0x7fff,
            _ => 0x7fff_ffff,
        };
        let dwords = self.dwords(value);
        let sign_dwords = self.dwords(sign);
        let [m_hi, s_hi] = [self.sub(&m, dwords - 1, 1), self.sub(&s, sign_dwords - 1, 1)];
        let out = if dwords == 1 { dst } else { self.new_vgpr(1) };
        self.vop(V_BFI_B32, &[out, Operand::Imm(mask), m_hi, s_hi]);
        if dwords == 2 {
            let low = self.sub(&m, 0, 1);
            let low = self.in_vgpr(low, 1);
            self.sequence(dst, &[low, out]);
        }
        Ok(())
    }

    /// A copy where a value could not simply be another one's alias.
    pub(super) fn copy_value(&mut self, data: &InstData, arg: Value) -> Result<()> {
        let (value, dst) = self.result(data)?;
        let dwords = self.dwords(value);
        let operand = match self.values[value].rep {
            Rep::Vgpr => self.vgpr(arg),
            Rep::Sgpr => self.sgpr(arg),
            Rep::Mask => self.mask(arg)?,
            Rep::Bool => {
                let bit = self.bool_src(arg)?;
                self.in_sgpr(bit, 1)
            }
        };
        let _ = dwords;
        self.emit(COPY, [dst, operand]);
        Ok(())
    }
}

/// What happens to the sign bit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SignOp {
    Flip,
    Clear,
}
