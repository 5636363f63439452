//! Floating point: arithmetic, comparison, conversion, division and square root.
//!
//! Half precision works in binary32 where the target has no 16-bit instructions, bfloat16 always. Accuracy
//! follows the producer's promises: `!fpmath` and fast-math flags choose between the hardware's
//! approximations and the correctly rounded sequences that the ISA manuals give for `v_div_*` and
//! `v_sqrt`/`v_rsq`.

use super::magnitude::SMALLEST_NORMAL;
use super::{Legalizer, Parts};
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};

/// `!fpmath` of 1 ulp, in units of 1/256 ulp.
pub(super) const ONE_ULP: u16 = 256;
/// Classes of numbers that are their own square roots (`v_cmp_class`; Vega ISA, "VOPC").
pub(super) const ZEROS_AND_POSITIVE_INFINITY: u32 = 0x260;

impl Legalizer<'_> {
    pub(super) fn lower_unary(&mut self, op: UnaryOp, arg: Value, _ty: Type) -> Result<Parts> {
        match op {
            UnaryOp::Freeze => {
                let parts =
                    if self.spaces.of(arg).is_some() { self.raw_parts(arg)? } else { self.parts(arg)? };
                Ok(parts
                    .iter()
                    .map(|&part| match self.b.func.as_const(part) {
                        // Any fixed value will do.
                        Some(Const::Undef | Const::Poison) => {
                            let ty = self.b.ty(part);
                            self.b.zero(ty)
                        }
                        _ => part,
                    })
                    .collect())
            }
            UnaryOp::FNeg => {
                let (scalar, parts) = self.lanes(arg)?;
                let Scalar::Float(float) = scalar else {
                    return Err(Diagnostic::malformed("fneg of a non-float"));
                };
                Ok(parts
                    .iter()
                    .map(|&x| if self.native(float) { self.b.fneg(x) } else { self.narrow_negate(x, float) })
                    .collect())
            }
        }
    }

    /// Whether operations of this format exist.
    pub(super) fn native(&self, float: Float) -> bool {
        match float {
            Float::Half => self.has_16bit(),
            Float::BFloat => false,
            _ => true,
        }
    }

    /// Runs `op` on the operands, in binary32 where the format has no instructions.
    pub(super) fn narrow_op(
        &mut self,
        float: Float,
        args: &[Value],
        op: impl FnOnce(&mut Self, &[Value]) -> Result<Value>,
    ) -> Result<Value> {
        if self.native(float) {
            return op(self, args);
        }
        let mut wide = Parts::new();
        for &arg in args {
            let is_float = matches!(self.b.ty(arg), Type::Scalar(Scalar::Float(f)) if f == float);
            wide.push(if is_float { self.resize_float(arg, float, Float::Single)? } else { arg });
        }
        let result = op(self, &wide)?;
        if self.b.ty(result) == Type::F32 {
            self.resize_float(result, Float::Single, float)
        } else {
            Ok(result)
        }
    }

    pub(super) fn float_binary(&mut self, op: BinaryOp, x: Value, y: Value, float: Float) -> Result<Value> {
        if float == Float::Half && self.native(float) {
            if op == BinaryOp::FDiv {
                return self.divide_half(x, y);
            }
            if op == BinaryOp::FRem {
                let (x, y) = (
                    self.resize_float(x, float, Float::Single)?,
                    self.resize_float(y, float, Float::Single)?,
                );
                let result = self.float_remainder(x, y)?;
                return self.resize_float(result, Float::Single, float);
            }
        }
        let flags = self.flags;
        self.narrow_op(float, &[x, y], |this, args| {
            let [x, y] = [args[0], args[1]];
            match op {
                BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul => Ok(this.add_or_fuse(op, x, y, flags)),
                BinaryOp::FDiv => this.float_divide(x, y),
                BinaryOp::FRem => this.float_remainder(x, y),
                _ => Err(Diagnostic::malformed("integer operation on floats")),
            }
        })
    }

    /// An addition whose operand is a product that may be fused becomes `fma` or `mad`.
    fn add_or_fuse(&mut self, op: BinaryOp, x: Value, y: Value, flags: InstFlags) -> Value {
        let all = self.ctx.options.contract_all;
        let ty = self.b.ty(x);
        if op != BinaryOp::FMul
            && self.b.optimize
            && (all || flags.contains(InstFlags::CONTRACT))
            && self.fused(ty).is_some()
        {
            for (product, addend, product_first) in [(x, y, true), (y, x, false)] {
                let Some(inst) = self.b.func.def_inst(product) else { continue };
                let data = &self.b.func.insts[inst];
                if let InstKind::Binary { op: BinaryOp::FMul, args } = data.kind
                    && (all || data.flags.contains(InstFlags::CONTRACT))
                {
                    let [mut a, b] = args;
                    let mut c = addend;
                    if op == BinaryOp::FSub {
                        if product_first {
                            c = self.b.fneg(c);
                        } else {
                            a = self.b.fneg(a);
                        }
                    }
                    return self.multiply_add(a, b, c);
                }
            }
        }
        self.b.binary_flags(op, x, y, flags)
    }

    /// The intrinsic that multiplies and adds at once, where it is not slower than doing both.
    fn fused(&self, ty: Type) -> Option<Intrinsic> {
        match ty {
            Type::F32 if self.flushes_single() => Some(Intrinsic::Fmuladd),
            Type::F32 => self.ctx.machine.has(Features::FAST_FMA_F32).then_some(Intrinsic::Fma),
            _ => Some(Intrinsic::Fma),
        }
    }

    /// `a * b + c`, fused or not, whatever is faster.
    pub(super) fn multiply_add(&mut self, a: Value, b: Value, c: Value) -> Value {
        let ty = self.b.ty(a);
        let flags = self.flags;
        match self.fused(ty) {
            Some(intrinsic) => self.b.intrinsic_flags(intrinsic, &[a, b, c], ty, flags),
            None => {
                let product = self.b.binary_flags(BinaryOp::FMul, a, b, flags);
                self.b.binary_flags(BinaryOp::FAdd, product, c, flags)
            }
        }
    }

    pub(super) fn lower_fcmp(&mut self, predicate: FloatPredicate, args: [Value; 2]) -> Result<Parts> {
        let (scalar, a) = self.lanes(args[0])?;
        let b = self.parts(args[1])?;
        let Scalar::Float(float) = scalar else {
            return Err(Diagnostic::malformed("fcmp of non-floats"));
        };
        a.iter()
            .zip(&b)
            .map(|(&x, &y)| self.narrow_op(float, &[x, y], |this, v| Ok(this.b.fcmp(predicate, v[0], v[1]))))
            .collect()
    }

    // ---- conversions

    pub(super) fn resize_float(&mut self, x: Value, from: Float, to: Float) -> Result<Value> {
        use Float::*;
        let ty = |float| Type::Scalar(Scalar::Float(float));
        Ok(match (from, to) {
            _ if from == to => x,
            (Half, Single) | (Single, Double) => self.b.cast(CastOp::FpExt, x, ty(to)),
            (Double, Single) | (Single, Half) => self.b.cast(CastOp::FpTrunc, x, ty(to)),
            (Half, Double) => {
                let single = self.b.cast(CastOp::FpExt, x, Type::F32);
                self.b.cast(CastOp::FpExt, single, Type::F64)
            }
            (Double, Half) => {
                // Two roundings are as good as an approximation.
                let approximate = self.flags.contains(InstFlags::AFN);
                let odd = if approximate {
                    self.b.cast(CastOp::FpTrunc, x, Type::F32)
                } else {
                    self.round_to_odd(x)
                };
                self.b.cast(CastOp::FpTrunc, odd, Type::F16)
            }
            (BFloat, Single) => {
                let bits = self.b.bitcast(x, Type::I16);
                let wide = self.b.cast(CastOp::ZExt, bits, Type::I32);
                let moved = self.b.shl_imm(wide, 16);
                self.b.bitcast(moved, Type::F32)
            }
            (BFloat, _) => {
                let single = self.resize_float(x, BFloat, Single)?;
                self.resize_float(single, Single, to)?
            }
            (Single, BFloat) => {
                // Nearest even on the upper half: add 0x7fff and the last bit kept. NaNs get their quiet bit.
                let bits = self.b.bitcast(x, Type::I32);
                let last = self.b.lshr_imm(bits, 16);
                let last = self.b.and_imm(last, 1);
                let rounded = self.b.add(bits, last);
                let rounded = self.b.add_imm(rounded, 0x7fff);
                let quiet = self.b.i32(0x0040_0000);
                let quiet = self.b.or(bits, quiet);
                let nan = self.b.fcmp(FloatPredicate::Uno, x, x);
                let chosen = self.b.select(nan, quiet, rounded);
                let high = self.b.lshr_imm(chosen, 16);
                let high = self.b.cast(CastOp::Trunc, high, Type::I16);
                self.b.bitcast(high, ty(BFloat))
            }
            (Half, BFloat) => {
                let single = self.b.cast(CastOp::FpExt, x, Type::F32);
                self.resize_float(single, Single, BFloat)?
            }
            (Double, BFloat) => {
                let odd = self.round_to_odd(x);
                self.resize_float(odd, Single, BFloat)?
            }
            _ => return Err(Diagnostic::unsupported("conversion between these float types")),
        })
    }

    /// binary64 to binary32 such that a second rounding to fewer bits is as good as one: truncated, with the
    /// last bit set where anything was lost (Boldo, Melquiond: "When double rounding is odd").
    fn round_to_odd(&mut self, x: Value) -> Value {
        let nearest = self.b.cast(CastOp::FpTrunc, x, Type::F32);
        let back = self.b.cast(CastOp::FpExt, nearest, Type::F64);
        let (abs_back, abs_x) = (self.b.fabs(back), self.b.fabs(x));
        let away = self.b.fcmp(FloatPredicate::Ogt, abs_back, abs_x);
        let lost = self.b.fcmp(FloatPredicate::One, back, x);
        let bits = self.b.bitcast(nearest, Type::I32);
        let down = self.b.add_imm(bits, -1);
        let truncated = self.b.select(away, down, bits);
        let one = self.b.cast(CastOp::ZExt, lost, Type::I32);
        let odd = self.b.or(truncated, one);
        self.b.bitcast(odd, Type::F32)
    }

    /// `floor`, `ceil`, `trunc` or `rint` of a native format.
    pub(super) fn round_value(&mut self, intrinsic: Intrinsic, x: Value) -> Result<Value> {
        let ty = self.b.ty(x);
        if ty == Type::F64 && !self.ctx.machine.has(Features::ROUND_F64) {
            return Ok(self.round_double(intrinsic, x));
        }
        Ok(self.b.intrinsic(intrinsic, &[x], ty))
    }

    /// Rounding of binary64 without instructions for it.
    fn round_double(&mut self, intrinsic: Intrinsic, x: Value) -> Value {
        match intrinsic {
            Intrinsic::Trunc => {
                // Clears the fraction bits below the exponent's unit.
                let bits = self.b.bitcast(x, Type::I64);
                let (_, high) = self.b.split64(bits);
                let exponent = self.b.lshr_imm(high, 20);
                let exponent = self.b.and_imm(exponent, 0x7ff);
                let exponent = self.b.add_imm(exponent, -1023);
                let amount = self.b.and_imm(exponent, 63);
                let amount = self.b.cast(CastOp::ZExt, amount, Type::I64);
                let fraction = self.b.int(Type::I64, (1 << 52) - 1);
                let fraction = self.b.binary(BinaryOp::LShr, fraction, amount);
                let keep = self.b.not(fraction);
                let cleared = self.b.and(bits, keep);
                let sign = self.b.and_imm(high, 1 << 31);
                let none = self.b.i32(0);
                let zero = self.b.join64(none, sign);
                let small = self.b.icmp_imm(IntPredicate::Slt, exponent, 0);
                let large = self.b.icmp_imm(IntPredicate::Sgt, exponent, 51);
                let result = self.b.select(small, zero, cleared);
                let result = self.b.select(large, bits, result);
                self.b.bitcast(result, Type::F64)
            }
            Intrinsic::Rint => {
                // Adding and subtracting 2^52 leaves no fraction.
                let magic = self.b.f64(4503599627370496.0);
                let signed = self.b.intrinsic(Intrinsic::Copysign, &[magic, x], Type::F64);
                let sum = self.b.fadd(x, signed);
                let back = self.b.fsub(sum, signed);
                let back = self.b.intrinsic(Intrinsic::Copysign, &[back, x], Type::F64);
                let magnitude = self.b.fabs(x);
                let limit = self.b.f64(4503599627370495.5);
                let large = self.b.fcmp(FloatPredicate::Ogt, magnitude, limit);
                let rounded = self.b.select(large, x, back);
                let nan = self.b.fcmp(FloatPredicate::Uno, x, x);
                self.b.select(nan, x, rounded)
            }
            _ => {
                let truncated = self.round_double(Intrinsic::Trunc, x);
                let (predicate, step) = if intrinsic == Intrinsic::Floor {
                    (FloatPredicate::Ogt, -1.0)
                } else {
                    (FloatPredicate::Olt, 1.0)
                };
                let off = self.b.fcmp(predicate, truncated, x);
                let step = self.b.f64(step);
                let adjusted = self.b.fadd(truncated, step);
                let result = self.b.select(off, adjusted, truncated);
                self.b.intrinsic(Intrinsic::Copysign, &[result, x], Type::F64)
            }
        }
    }

    // ---- division

    /// Division in binary32 or binary64.
    pub(super) fn float_divide(&mut self, x: Value, y: Value) -> Result<Value> {
        let ty = self.b.ty(x);
        let approximate = self.flags.contains(InstFlags::AFN);
        if ty == Type::F64 {
            if approximate {
                return Ok(self.divide_double_fast(x, y));
            }
            return self.divide_double(x, y);
        }
        let is_one = |b: &super::super::builder::Builder<'_>, v: Value, bits: u64| matches!(b.func.as_const(v), Some(Const::Float(c)) if *c == bits);
        let accurate_enough = self.fpmath_ulp_256 >= ONE_ULP;
        // rcp has 1 ulp, but flushes denormals.
        let denominator = self.float_magnitude(y);
        let is_normal = denominator.has_normal_reciprocal(self.flushes_single());
        let reciprocal_will_do = self.flushes_single() || is_normal;
        if approximate || accurate_enough && reciprocal_will_do {
            for (bits, negative) in [(0x3f80_0000u64, false), (0xbf80_0000, true)] {
                if is_one(&self.b, x, bits) {
                    let y = if negative { self.b.fneg(y) } else { y };
                    return Ok(self.b.intrinsic(Intrinsic::Rcp, &[y], Type::F32));
                }
            }
        }
        if approximate || accurate_enough && reciprocal_will_do && self.flags.contains(InstFlags::ARCP) {
            let reciprocal = self.b.intrinsic(Intrinsic::Rcp, &[y], Type::F32);
            return Ok(self.b.fmul(x, reciprocal));
        }
        if u32::from(self.fpmath_ulp_256) * 2 >= 5 * u32::from(ONE_ULP) {
            if let Some(quotient) = self.multiply_by_reciprocal(x, y) {
                return Ok(quotient);
            }
            if is_normal {
                let reciprocal = self.b.intrinsic(Intrinsic::Rcp, &[y], Type::F32);
                return Ok(self.b.fmul(x, reciprocal));
            }
            return Ok(if self.flushes_single() {
                self.divide_single_scaled(x, y)
            } else if denominator.has_normal_quarter() && self.float_magnitude(x).has_normal_quarter() {
                self.divide_single_quarters(x, y)
            } else {
                self.divide_single_by_parts(x, y)
            });
        }
        self.divide_single(x, y)
    }

    /// `x / y` as a product, where `y` is a constant whose reciprocal is normal: half an ulp of the reciprocal, which may be a whole one in the
    /// quotient, and half an ulp of the product.
    fn multiply_by_reciprocal(&mut self, x: Value, y: Value) -> Option<Value> {
        let &Const::Float(bits) = self.b.func.as_const(y)? else { return None };
        let y = f32::from_bits(bits as u32);
        let reciprocal = y.recip();
        if !y.is_normal() || !reciprocal.is_normal() {
            return None;
        }
        let reciprocal = self.b.f32(reciprocal);
        Some(self.b.fmul(x, reciprocal))
    }

    /// 2.5 ulp without denormals: large denominators are scaled down so that their reciprocal is not flushed.
    pub(super) fn divide_single_scaled(&mut self, x: Value, y: Value) -> Value {
        let magnitude = self.b.fabs(y);
        let limit = self.b.f32(2f32.powi(96));
        let large = self.b.fcmp(FloatPredicate::Ogt, magnitude, limit);
        let (small_scale, one) = (self.b.f32(2f32.powi(-32)), self.b.f32(1.0));
        let scale = self.b.select(large, small_scale, one);
        let scaled = self.b.fmul(y, scale);
        let reciprocal = self.b.intrinsic(Intrinsic::Rcp, &[scaled], Type::F32);
        let quotient = self.b.fmul(x, reciprocal);
        self.b.fmul(scale, quotient)
    }

    /// 2.5 ulp with denormals, where neither number nor its quarter is one: the reciprocal of a quarter of the largest denominator is normal.
    fn divide_single_quarters(&mut self, x: Value, y: Value) -> Value {
        let quarter = self.b.f32(0.25);
        let scaled = self.b.fmul(y, quarter);
        let reciprocal = self.b.intrinsic(Intrinsic::Rcp, &[scaled], Type::F32);
        let numerator = match self.b.func.as_const(x) {
            Some(&Const::Float(bits)) => self.b.f32(f32::from_bits(bits as u32) * 0.25),
            _ => self.b.fmul(x, quarter),
        };
        self.b.fmul(numerator, reciprocal)
    }

    /// 2.5 ulp with denormals: mantissas are divided, exponents subtracted.
    fn divide_single_by_parts(&mut self, x: Value, y: Value) -> Value {
        let parts = |this: &mut Self, v| {
            let mantissa = this.b.intrinsic(Intrinsic::FrexpMant, &[v], Type::F32);
            let exponent = this.b.intrinsic(Intrinsic::FrexpExp, &[v], Type::I32);
            (mantissa, exponent)
        };
        let (my, ey) = parts(self, y);
        let reciprocal = self.b.intrinsic(Intrinsic::Rcp, &[my], Type::F32);
        let one = matches!(self.b.func.as_const(x), Some(Const::Float(0x3f80_0000)));
        let (quotient, exponent) = if one {
            (reciprocal, self.b.neg(ey))
        } else {
            let (mx, ex) = parts(self, x);
            (self.b.fmul(mx, reciprocal), self.b.sub(ex, ey))
        };
        self.b.intrinsic(Intrinsic::Ldexp, &[quotient, exponent], Type::F32)
    }

    /// Numerator or denominator scaled for division, and the flag that `div.fmas` takes.
    fn div_scale(&mut self, x: Value, y: Value, numerator: bool) -> Result<(Value, Value)> {
        let ty = self.b.ty(x);
        let pair = self
            .pair_type(ty)
            .ok_or_else(|| Diagnostic::defect("the result type of div.scale is not prepared"))?;
        let which = self.b.bool(numerator);
        let both = self.b.intrinsic(Intrinsic::DivScale, &[x, y, which], pair);
        let member = |this: &mut Self, index: u32, ty| {
            let path = std::iter::once(index).collect();
            this.b.pure(InstKind::ExtractValue { aggregate: both, path }, ty, InstFlags::empty())
        };
        Ok((member(self, 0, ty), member(self, 1, Type::I1)))
    }

    /// Correctly rounded binary32 division. Residues may be denormal, whatever operands and quotient are.
    fn divide_single(&mut self, x: Value, y: Value) -> Result<Value> {
        let one = self.b.f32(1.0);
        let (den, _) = self.div_scale(x, y, false)?;
        let (num, flag) = self.div_scale(x, y, true)?;
        let r = self.b.intrinsic(Intrinsic::Rcp, &[den], Type::F32);
        let minus = self.b.fneg(den);
        let mut steps = (r, r);
        let e = self.with_f32_denormals(|this| {
            let e = this.b.fma(minus, r, one);
            let r = this.b.fma(e, r, r);
            let q = this.b.fmul(num, r);
            let e = this.b.fma(minus, q, num);
            let q = this.b.fma(e, r, q);
            steps = (r, q);
            Ok(this.b.fma(minus, q, num))
        })?;
        let (r, q) = steps;
        let q = self.b.intrinsic(Intrinsic::DivFmas, &[e, r, q, flag], Type::F32);
        Ok(self.b.intrinsic(Intrinsic::DivFixup, &[q, y, x], Type::F32))
    }

    /// Correctly rounded binary64 division.
    fn divide_double(&mut self, x: Value, y: Value) -> Result<Value> {
        let one = self.b.f64(1.0);
        let (den, _) = self.div_scale(x, y, false)?;
        let (num, flag) = self.div_scale(x, y, true)?;
        let mut r = self.b.intrinsic(Intrinsic::Rcp, &[den], Type::F64);
        let minus = self.b.fneg(den);
        for _ in 0..2 {
            let e = self.b.fma(minus, r, one);
            r = self.b.fma(r, e, r);
        }
        let q = self.b.fmul(num, r);
        let e = self.b.fma(minus, q, num);
        let q = self.b.intrinsic(Intrinsic::DivFmas, &[e, r, q, flag], Type::F64);
        Ok(self.b.intrinsic(Intrinsic::DivFixup, &[q, y, x], Type::F64))
    }

    /// binary64 division under `afn`: two Newton steps, one correction of the quotient.
    fn divide_double_fast(&mut self, x: Value, y: Value) -> Value {
        let one = self.b.f64(1.0);
        let minus = self.b.fneg(y);
        let mut r = self.b.intrinsic(Intrinsic::Rcp, &[y], Type::F64);
        for _ in 0..2 {
            let e = self.b.fma(minus, r, one);
            r = self.b.fma(e, r, r);
        }
        let q = self.b.fmul(x, r);
        let e = self.b.fma(minus, q, x);
        self.b.fma(e, r, q)
    }

    /// Half division: a binary32 quotient with one correction, rounded, special cases fixed.
    fn divide_half(&mut self, x: Value, y: Value) -> Result<Value> {
        if self.flags.contains(InstFlags::AFN) {
            let r = self.b.intrinsic(Intrinsic::Rcp, &[y], Type::F16);
            return Ok(self.b.fmul(x, r));
        }
        let wide_y = self.b.cast(CastOp::FpExt, y, Type::F32);
        // No reciprocal of a half is within an ulp of binary32 of what lies between two halves.
        if let Some(&Const::Float(bits @ (0x3c00 | 0xbc00))) = self.b.func.as_const(x) {
            let y = if bits == 0x3c00 { wide_y } else { self.b.fneg(wide_y) };
            let r = self.b.intrinsic(Intrinsic::Rcp, &[y], Type::F32);
            return Ok(self.b.cast(CastOp::FpTrunc, r, Type::F16));
        }
        let wide_x = self.b.cast(CastOp::FpExt, x, Type::F32);
        let r = self.b.intrinsic(Intrinsic::Rcp, &[wide_y], Type::F32);
        let q = self.b.fmul(wide_x, r);
        let minus = self.b.fneg(wide_y);
        let e = self.b.fma(minus, q, wide_x);
        let q = self.b.fma(e, r, q);
        let q = self.b.cast(CastOp::FpTrunc, q, Type::F16);
        Ok(self.b.intrinsic(Intrinsic::DivFixup, &[q, y, x], Type::F16))
    }

    // ---- square root

    pub(super) fn square_root(&mut self, x: Value, float: Float) -> Result<Value> {
        match float {
            Float::Half => {
                let wide = self.resize_float(x, float, Float::Single)?;
                let root = self.b.intrinsic(Intrinsic::AmdgcnSqrt, &[wide], Type::F32);
                self.resize_float(root, Float::Single, float)
            }
            // An error of one unit in binary32 is not felt, but denormals are.
            Float::BFloat => {
                let wide = self.resize_float(x, float, Float::Single)?;
                let accuracy = std::mem::replace(&mut self.fpmath_ulp_256, ONE_ULP);
                let root = self.single_root(wide);
                self.fpmath_ulp_256 = accuracy;
                self.resize_float(root, Float::Single, float)
            }
            Float::Single => Ok(self.single_root(x)),
            Float::Double => Ok(self.double_root(x)),
        }
    }

    /// Exponent of the smallest number whose root is found as it is.
    const LEAST_UNSCALED_ROOT: i32 = -60;

    fn single_root(&mut self, x: Value) -> Value {
        let exact = self.fpmath_ulp_256 < ONE_ULP;
        let least = self.float_magnitude(x).least;
        let any_will_do = self.flushes_single() || least >= SMALLEST_NORMAL;
        if self.flags.contains(InstFlags::AFN) || !exact && any_will_do {
            return self.b.intrinsic(Intrinsic::AmdgcnSqrt, &[x], Type::F32);
        }
        // Small numbers are scaled up by 2^64 (the root by 2^32): the instruction flushes denormals, and
        // where the mode does, residues of 2^-47 of the operand must not be denormal either.
        let (mut small, mut scaled) = (None, x);
        if least < Self::LEAST_UNSCALED_ROOT {
            let limit = self.b.f32(2f32.powi(Self::LEAST_UNSCALED_ROOT));
            let is_small = self.b.fcmp(FloatPredicate::Olt, x, limit);
            let up = self.b.f32(2f32.powi(64));
            let moved = self.b.fmul(x, up);
            (small, scaled) = (Some(is_small), self.b.select(is_small, moved, x));
        }
        let mut root = self.b.intrinsic(Intrinsic::AmdgcnSqrt, &[scaled], Type::F32);
        if exact {
            // One of the neighbours may be nearer.
            let bits = self.b.bitcast(root, Type::I32);
            let below = self.b.add_imm(bits, -1);
            let above = self.b.add_imm(bits, 1);
            let below = self.b.bitcast(below, Type::F32);
            let above = self.b.bitcast(above, Type::F32);
            let zero = self.b.f32(0.0);
            let minus_below = self.b.fneg(below);
            let residue_below = self.b.fma(minus_below, root, scaled);
            let minus_above = self.b.fneg(above);
            let residue_above = self.b.fma(minus_above, root, scaled);
            let take_below = self.b.fcmp(FloatPredicate::Ole, residue_below, zero);
            let lower = self.b.select(take_below, below, root);
            let take_above = self.b.fcmp(FloatPredicate::Ogt, residue_above, zero);
            root = self.b.select(take_above, above, lower);
        }
        let Some(small) = small else { return root };
        let down = self.b.f32(2f32.powi(-32));
        let unscaled = self.b.fmul(root, down);
        // Zeros and +infinity are their own roots: one neighbour's residue is a NaN there, the other's a NaN or a zero, so none is taken.
        self.b.select(small, unscaled, root)
    }

    /// `root`, or `scaled` where that is a zero or +infinity.
    fn keep_zero_and_infinity(&mut self, scaled: Value, root: Value) -> Value {
        let mask = self.b.i32(ZEROS_AND_POSITIVE_INFINITY);
        let special = self.b.intrinsic(Intrinsic::AmdgcnClass, &[scaled, mask], Type::I1);
        self.b.select(special, scaled, root)
    }

    /// Goldschmidt iteration from `rsq`, with two corrections by the residue.
    fn double_root(&mut self, x: Value) -> Value {
        let limit = self.b.f64(2f64.powi(-767));
        let small = self.b.fcmp(FloatPredicate::Olt, x, limit);
        let (up, none) = (self.b.i32(256), self.b.i32(0));
        let up = self.b.select(small, up, none);
        let scaled = self.b.intrinsic(Intrinsic::Ldexp, &[x, up], Type::F64);
        let y = self.b.intrinsic(Intrinsic::Rsq, &[scaled], Type::F64);
        let half = self.b.f64(0.5);
        let mut s = self.b.fmul(scaled, y);
        let mut h = self.b.fmul(y, half);
        let minus_h = self.b.fneg(h);
        let r = self.b.fma(minus_h, s, half);
        s = self.b.fma(s, r, s);
        h = self.b.fma(h, r, h);
        for _ in 0..2 {
            let minus_s = self.b.fneg(s);
            let d = self.b.fma(minus_s, s, scaled);
            s = self.b.fma(d, h, s);
        }
        let down = self.b.i32(-128i32 as u32);
        let down = self.b.select(small, down, none);
        let root = self.b.intrinsic(Intrinsic::Ldexp, &[s, down], Type::F64);
        self.keep_zero_and_infinity(scaled, root)
    }
}

#[cfg(test)]
mod tests {
    /// Whatever `v_rcp_f32` gives within its ulp, the half is the right one.
    #[test]
    fn reciprocals_of_halves_round_alike_an_ulp_off() {
        for bits in (0..=u16::MAX).filter(|bits| bits & 0x7fff != 0 && bits & 0x7fff < 0x7c00) {
            let exact = mir::half::to_f64(bits).recip();
            let wanted = mir::half::from_f64(exact);
            let single = exact as f32;
            for near in [single, single.next_up(), single.next_down()] {
                assert_eq!(mir::half::from_f64(f64::from(near)), wanted, "1 / {bits:#06x}");
            }
        }
    }
}
