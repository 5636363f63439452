//! Intrinsics on floating point.
//!
//! Exact: absolute value, sign, class, fused multiply-add, roundings to integers, extremes, `ldexp`, `frexp`, `modf`, `sqrt`, conversions. They
//! follow MODE as arithmetic does.
//!
//! Approximate, so that [`Outcome::approximate`](super::Outcome) is set: `sin`, `cos`, `tan`, `sincos`, `exp`, `exp2`, `exp10`, `log`, `log2`, `log10`, `pow`
//! and `powi`, which are the host's in binary64, rounded to their type; and `fmuladd`, which may be fused or not: it is fused here, or, where
//! binary32 flushes denormals, the product rounded by itself.

use super::exec::{Cx, Step, Stop};
use super::float::{flush, format, square_root};
use super::layout::ones;
use super::regs::{MAX_LANES, lanes};
use mir::ir::{Float, InstFlags, Intrinsic, Scalar, Type, Value};
use sim::fp::{self, F64, Fmt, Round};

/// The function of binary64 behind an intrinsic of one operand, where the result is approximate.
fn approximate(intrinsic: Intrinsic) -> Option<fn(f64) -> f64> {
    Some(match intrinsic {
        Intrinsic::Sin => f64::sin,
        Intrinsic::Cos => f64::cos,
        Intrinsic::Tan => f64::tan,
        Intrinsic::Exp => f64::exp,
        Intrinsic::Exp2 => f64::exp2,
        Intrinsic::Exp10 => |x| 10f64.powf(x),
        Intrinsic::Log => f64::ln,
        Intrinsic::Log2 => f64::log2,
        Intrinsic::Log10 => f64::log10,
        _ => return None,
    })
}

/// Roundings to an integral value, exact in binary64 for every format.
fn integral(intrinsic: Intrinsic) -> Option<fn(f64) -> f64> {
    Some(match intrinsic {
        Intrinsic::Floor => f64::floor,
        Intrinsic::Ceil => f64::ceil,
        Intrinsic::Trunc => f64::trunc,
        Intrinsic::Rint
        | Intrinsic::Nearbyint
        | Intrinsic::Roundeven
        | Intrinsic::Lrint
        | Intrinsic::Llrint => f64::round_ties_even,
        Intrinsic::Round | Intrinsic::Lround | Intrinsic::Llround => f64::round,
        _ => return None,
    })
}

/// `f` in binary64; a NaN operand is made quiet.
fn by_double(float: Float, x: u64, round: Round, f: impl Fn(f64) -> f64) -> u64 {
    let fmt = format(float);
    if fmt.is_nan(x) {
        return x | 1 << (fmt.mant - 1);
    }
    let result = f(super::cast::to_f64(float, x));
    if result.is_nan() { fmt.nan() } else { fp::convert(F64, fmt, result.to_bits(), 0, round) }
}

/// Rounding modes by LLVM's numbers.
fn llvm_rounding(number: u64) -> Option<Round> {
    Some(match number {
        0 => Round::Zero,
        1 => Round::Even,
        2 => Round::Up,
        3 => Round::Down,
        _ => return None,
    })
}

fn llvm_number(round: Round) -> u64 {
    match round {
        Round::Zero => 0,
        Round::Even => 1,
        Round::Up => 2,
        Round::Down => 3,
    }
}

/// `x` and `y` by `minnum` and its kin.
fn extreme(intrinsic: Intrinsic, fmt: Fmt, x: u64, y: u64, ieee: bool) -> u64 {
    use Intrinsic::*;
    let max = matches!(intrinsic, Maxnum | Maximum | Maximumnum);
    if matches!(intrinsic, Minimum | Maximum) && (fmt.is_nan(x) || fmt.is_nan(y)) {
        return if fmt.is_nan(x) { x } else { y } | 1 << (fmt.mant - 1);
    }
    let ieee = ieee && matches!(intrinsic, Minnum | Maxnum);
    let result = fp::min_max(fmt, x, y, max, ieee);
    if fmt.is_nan(result) { result | 1 << (fmt.mant - 1) } else { result }
}

impl Cx<'_, '_> {
    fn float_of(&self, value: Value) -> Step<Float> {
        match self.scalar_of(self.ty(value))? {
            Scalar::Float(float) => Ok(float),
            other => {
                Err(Stop::new(super::Cause::Malformed(format!("a float is expected instead of {other}"))))
            }
        }
    }

    /// `minnum` and its kin on one element.
    pub fn float_extreme(&mut self, intrinsic: Intrinsic, float: Float, dst: usize, from: [usize; 2]) {
        let (fmt, width) = (format(float), ones(float.bits()));
        // As read a signalling NaN counts as a quiet one; the instruction returns it where MODE says so.
        let ieee = self.group.legal && self.wave.mode & 1 << 9 != 0;
        let (flush_in, flush_out) = self.flushes(float);
        self.map2(dst, from, width, |x, y| {
            let (x, y) = (flush(fmt, x, flush_in), flush(fmt, y, flush_in));
            flush(fmt, extreme(intrinsic, fmt, x, y, ieee), flush_out)
        });
    }

    /// Applies `f` to each element of the first argument.
    fn each1(&mut self, args: &[Value], dst: usize, mut f: impl FnMut(&mut Self, usize, usize)) -> Step<()> {
        let (_, x) = self.elements(self.value(args, 0)?)?;
        for (i, &x) in x.iter().enumerate() {
            f(self, dst + i, x);
        }
        Ok(())
    }

    /// Applies `f` to the elements of the first two arguments.
    fn each2(
        &mut self,
        args: &[Value],
        dst: usize,
        mut f: impl FnMut(&mut Self, usize, [usize; 2]),
    ) -> Step<()> {
        let (_, x) = self.elements(self.value(args, 0)?)?;
        let (_, y) = self.elements(self.value(args, 1)?)?;
        for (i, &x) in x.iter().enumerate() {
            // A scalar second argument goes with all elements.
            f(self, dst + i, [x, y[i.min(y.len() - 1)]]);
        }
        Ok(())
    }

    /// Whether this file executes `intrinsic`; if so, does.
    pub fn float_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        flags: InstFlags,
        args: &[Value],
        ty: Type,
        dst: usize,
    ) -> Step<bool> {
        use Intrinsic::*;
        match intrinsic {
            Fma | Fmuladd => self.multiply_add(intrinsic, args, ty, dst)?,
            Fabs | Copysign => self.copy_sign(intrinsic, args, dst)?,
            Sqrt => {
                self.note_license(flags);
                let float = self.float_of(args[0])?;
                let (fmt, width, (i, o)) = (format(float), ones(float.bits()), self.flushes(float));
                self.each1(args, dst, |cx, dst, x| {
                    cx.map1(dst, x, width, |x| flush(fmt, square_root(float, flush(fmt, x, i)), o));
                })?;
            }
            Canonicalize => {
                let float = self.float_of(args[0])?;
                let (fmt, width, (i, o)) = (format(float), ones(float.bits()), self.flushes(float));
                self.each1(args, dst, |cx, dst, x| {
                    cx.map1(dst, x, width, |x| {
                        let x = flush(fmt, x, i || o);
                        if fmt.is_nan(x) { x | 1 << (fmt.mant - 1) } else { x }
                    });
                })?;
            }
            Floor | Ceil | Trunc | Rint | Nearbyint | Roundeven | Round => {
                self.unary(args, dst, integral(intrinsic).unwrap_or(f64::trunc))?;
            }
            Sin | Cos | Tan | Exp | Exp2 | Exp10 | Log | Log2 | Log10 => {
                self.group.outcome.approximate = true;
                self.unary(args, dst, approximate(intrinsic).unwrap_or(f64::sin))?;
            }
            Pow => self.power(args, dst, |x, y| x.powf(y))?,
            Powi => self.integer_power(args, dst)?,
            Minnum | Maxnum | Minimum | Maximum | Minimumnum | Maximumnum => {
                let float = self.float_of(args[0])?;
                self.each2(args, dst, |cx, dst, from| cx.float_extreme(intrinsic, float, dst, from))?;
            }
            Ldexp | AmdgcnLdexp => self.scale(args, dst)?,
            Frexp | Modf | Sincos => self.take_apart(intrinsic, args, dst)?,
            IsFpclass => self.class(args, dst)?,
            FptouiSat | FptosiSat => {
                let (float, to) = (self.float_of(args[0])?, self.scalar_of(ty)?);
                let step = super::layout::scalar_words(to);
                let (_, x) = self.elements(args[0])?;
                for (i, &x) in x.iter().enumerate() {
                    self.float_to_int(float, intrinsic == FptosiSat, to.bits(), true, dst + i * step, x);
                }
            }
            Lrint | Llrint | Lround | Llround => self.round_to_int(intrinsic, args, ty, dst)?,
            ConvertFromFp16 | ConvertToFp16 => self.convert_half(intrinsic, args, ty, dst)?,
            FptruncRound => self.truncate_rounded(args, ty, dst)?,
            GetRounding | SetRounding => self.rounding(intrinsic, args, dst)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn multiply_add(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let float = self.float_of(self.value(args, 0)?)?;
        let [a, b, c] = [self.arg(args, 0)?, self.arg(args, 1)?, self.arg(args, 2)?];
        let apart = intrinsic == Intrinsic::Fmuladd
            && float == Float::Single
            && (self.group.legal || self.flushes(float).0);
        self.group.outcome.approximate |= intrinsic == Intrinsic::Fmuladd && !self.group.legal;
        for i in 0..ty.lanes() as usize {
            let from = [a + i, b + i, c + i];
            if apart {
                let sources = from.map(|at| self.regs.v[at]);
                let (result, _) = self.instruction(mir::isa::Opcode::V_MAD_F32, &sources, 0, false)?;
                self.put(dst + i, &result, &from, ones(32));
            } else {
                self.fused(float, dst + i, from);
            }
        }
        Ok(())
    }

    fn copy_sign(&mut self, intrinsic: Intrinsic, args: &[Value], dst: usize) -> Step<()> {
        let sign = 1u64 << (self.float_of(self.value(args, 0)?)?.bits() - 1);
        if intrinsic == Intrinsic::Fabs {
            return self.each1(args, dst, |cx, dst, x| cx.sign_bits(dst, x, |x| x & !sign, !sign));
        }
        self.each2(args, dst, |cx, dst, [x, s]| {
            let mut out = [0; MAX_LANES];
            for l in 0..MAX_LANES {
                out[l] = cx.regs.v[x][l] & !sign | cx.regs.v[s][l] & sign;
            }
            let any = (cx.regs.any(x) | cx.regs.any(s)) & cx.mask;
            cx.regs.write(dst, cx.mask, &out);
            for l in lanes(any) {
                let undef = cx.regs.undef(x, l) & !sign | cx.regs.undef(s, l) & sign;
                cx.regs.write_lane(dst, l, out[l], undef);
            }
        })
    }

    fn unary(&mut self, args: &[Value], dst: usize, f: fn(f64) -> f64) -> Step<()> {
        let float = self.float_of(self.value(args, 0)?)?;
        let (fmt, width, (i, o)) = (format(float), ones(float.bits()), self.flushes(float));
        self.each1(args, dst, |cx, dst, x| {
            cx.map1(dst, x, width, |x| flush(fmt, by_double(float, flush(fmt, x, i), Round::Even, f), o));
        })
    }

    fn power(&mut self, args: &[Value], dst: usize, f: fn(f64, f64) -> f64) -> Step<()> {
        self.group.outcome.approximate = true;
        let float = self.float_of(self.value(args, 0)?)?;
        let (fmt, width, (i, o)) = (format(float), ones(float.bits()), self.flushes(float));
        self.each2(args, dst, |cx, dst, from| {
            cx.map2(dst, from, width, |x, y| {
                let [x, y] = [x, y].map(|v| super::cast::to_f64(float, flush(fmt, v, i)));
                let result = f(x, y);
                let bits = if result.is_nan() { F64.nan() } else { result.to_bits() };
                flush(fmt, fp::convert(F64, fmt, bits, 0, Round::Even), o)
            });
        })
    }

    fn integer_power(&mut self, args: &[Value], dst: usize) -> Step<()> {
        self.group.outcome.approximate = true;
        let float = self.float_of(self.value(args, 0)?)?;
        let bits = self.scalar_of(self.ty(self.value(args, 1)?))?.bits();
        let (fmt, width, (i, o)) = (format(float), ones(float.bits()), self.flushes(float));
        self.each2(args, dst, |cx, dst, from| {
            cx.map2(dst, from, width, |x, n| {
                let x = super::cast::to_f64(float, flush(fmt, x, i));
                let result = x.powf(super::int::sext(n, bits) as i64 as f64);
                let bits = if result.is_nan() { F64.nan() } else { result.to_bits() };
                flush(fmt, fp::convert(F64, fmt, bits, 0, Round::Even), o)
            });
        })
    }

    /// `ldexp`: the exponent may have any width.
    fn scale(&mut self, args: &[Value], dst: usize) -> Step<()> {
        let float = self.float_of(self.value(args, 0)?)?;
        let bits = self.scalar_of(self.ty(self.value(args, 1)?))?.bits();
        let (fmt, width, round) = (format(float), ones(float.bits()), self.round(float));
        let (i, o) = self.flushes(float);
        self.each2(args, dst, |cx, dst, from| {
            cx.map2(dst, from, width, |x, n| {
                let by = (super::int::sext(n, bits) as i64).clamp(-5000, 5000) as i32;
                flush(fmt, fp::convert(fmt, fmt, flush(fmt, x, i), by, round), o)
            });
        })
    }

    /// Two results of one operand: a struct of two scalars or vectors.
    fn take_apart(&mut self, intrinsic: Intrinsic, args: &[Value], dst: usize) -> Step<()> {
        let float = self.float_of(self.value(args, 0)?)?;
        let (_, x) = self.elements(args[0])?;
        let second = dst + x.len();
        let exponent_bits = match self.module.types.at_path(self.f.insts[self.inst].ty, &[1]) {
            Some(ty) if intrinsic == Intrinsic::Frexp => self.scalar_of(ty)?.bits(),
            _ => float.bits(),
        };
        self.group.outcome.approximate |= intrinsic == Intrinsic::Sincos;
        let (fmt, width, (flush_in, _)) = (format(float), ones(float.bits()), self.flushes(float));
        for (i, &x) in x.iter().enumerate() {
            let double = |x, f: fn(f64) -> f64| by_double(float, flush(fmt, x, flush_in), Round::Even, f);
            match intrinsic {
                Intrinsic::Frexp => {
                    self.map1(dst + i, x, width, |x| fp::frexp_mant(fmt, x));
                    self.map1(second + i, x, ones(exponent_bits), |x| fp::frexp_exp(fmt, x) as i64 as u64);
                }
                Intrinsic::Modf => {
                    self.map1(dst + i, x, width, |x| {
                        double(x, |x| {
                            let part = if x.is_infinite() { 0.0 } else { x - x.trunc() };
                            part.copysign(x)
                        })
                    });
                    self.map1(second + i, x, width, |x| double(x, f64::trunc));
                }
                _ => {
                    self.map1(dst + i, x, width, |x| double(x, f64::sin));
                    self.map1(second + i, x, width, |x| double(x, f64::cos));
                }
            }
        }
        Ok(())
    }

    fn round_to_int(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let (float, to) = (self.float_of(self.value(args, 0)?)?, self.scalar_of(ty)?);
        let width = ones(float.bits());
        let f = integral(intrinsic).unwrap_or(f64::trunc);
        let step = super::layout::scalar_words(to);
        self.each1(args, dst, |cx, at, x| {
            let at = dst + (at - dst) * step;
            // The rounded number is put where its integer goes.
            cx.map1(at, x, width, |x| by_double(float, x, Round::Even, f));
            cx.float_to_int(float, true, to.bits(), false, at, at);
        })
    }

    fn convert_half(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let value = self.value(args, 0)?;
        let other = if intrinsic == Intrinsic::ConvertToFp16 { self.ty(value) } else { ty };
        let Some(Scalar::Float(float)) = other.scalar() else {
            return Err(Stop::unsupported("this conversion of half"));
        };
        let (half, fmt, x) = (format(Float::Half), format(float), self.slot(value));
        if intrinsic == Intrinsic::ConvertToFp16 {
            let round = self.round(Float::Half);
            self.map1(dst, x, 0xffff, |x| fp::convert(fmt, half, x, 0, round));
        } else {
            self.map1(dst, x, ones(float.bits()), |x| fp::convert(half, fmt, x, 0, Round::Even));
        }
        Ok(())
    }

    /// `fptrunc.round`: the mode is the second argument.
    fn truncate_rounded(&mut self, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let from = self.float_of(self.value(args, 0)?)?;
        let Some(Scalar::Float(to)) = ty.scalar() else { return Err(Stop::unsupported("fptrunc.round")) };
        let round = llvm_rounding(self.immediate(args, 1)?);
        let round = round.ok_or_else(|| Stop::unsupported("this rounding mode"))?;
        let (in_fmt, out_fmt, width) = (format(from), format(to), ones(to.bits()));
        let (flush_in, flush_out) = (self.flushes(from).0, self.flushes(to).1);
        self.each1(args, dst, |cx, dst, x| {
            cx.map1(dst, x, width, |x| {
                let x = flush(in_fmt, x, flush_in);
                flush(out_fmt, fp::convert(in_fmt, out_fmt, x, 0, round), flush_out)
            });
        })
    }

    /// `get.rounding`, `set.rounding`: the same mode for all formats.
    fn rounding(&mut self, intrinsic: Intrinsic, args: &[Value], dst: usize) -> Step<()> {
        let (single, double) = (self.round(Float::Single), self.round(Float::Double));
        if intrinsic == Intrinsic::GetRounding {
            if single != double {
                return Err(Stop::unsupported("different rounding modes of formats"));
            }
            self.regs.write(dst, self.mask, &[llvm_number(single); MAX_LANES]);
            return Ok(());
        }
        let number = self.uniform(self.arg(args, 0)?, "the rounding mode")?;
        let round = llvm_rounding(number).ok_or_else(|| Stop::unsupported("this rounding mode"))?;
        let bits = match round {
            Round::Even => 0,
            Round::Up => 1,
            Round::Down => 2,
            Round::Zero => 3,
        };
        self.wave.mode = self.wave.mode & !15 | bits << 2 | bits;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::fp::F32;

    #[test]
    fn extremes_of_zeros_and_nans() {
        let b = |x: f32| u64::from(x.to_bits());
        let (nan, snan) = (0x7fc0_0000, 0x7f80_0001);
        assert_eq!(extreme(Intrinsic::Minnum, F32, nan, b(1.0), true), b(1.0));
        assert_eq!(extreme(Intrinsic::Minimum, F32, nan, b(1.0), true), nan);
        assert_eq!(extreme(Intrinsic::Minimumnum, F32, snan, b(1.0), true), b(1.0));
        assert_eq!(extreme(Intrinsic::Maximum, F32, b(-0.0), b(0.0), true), b(0.0));
        assert_eq!(extreme(Intrinsic::Minnum, F32, snan, b(1.0), true), snan | 0x40_0000);
    }

    #[test]
    fn functions_keep_nans_and_infinities() {
        let b = |x: f32| u64::from(x.to_bits());
        assert_eq!(by_double(Float::Single, 0x7f80_0001, Round::Even, f64::sin), 0x7fc0_0001);
        assert_eq!(by_double(Float::Single, b(f32::INFINITY), Round::Even, f64::exp), b(f32::INFINITY));
        assert_eq!(by_double(Float::Half, 0x3c00, Round::Even, f64::exp2), 0x4000);
        assert_eq!(by_double(Float::Single, b(2.5), Round::Even, f64::round_ties_even), b(2.0));
    }
}
