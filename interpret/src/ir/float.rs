//! Floating-point arithmetic by MODE: rounding, denormals of operands and of results.
//!
//! Sums, products, quotients, remainders and roots are rounded once, in the format of their type. NaN results are those of the hardware (the first NaN operand
//! made quiet), one of those that LLVM allows. `fneg`, `fabs` and `copysign` change the sign bit and nothing else.
//!
//! Where MODE flushes denormals, quotients and remainders of denormals may or may not be those of zero: such a run counts as approximate. So do runs with
//! flags that let the compiler compute something else (`reassoc`, `contract`, `arcp`, `afn`, `nsz`, `!fpmath`), which change nothing here.

use super::exec::{Cx, Step, Stop};
use super::layout::ones;
use super::regs::MAX_LANES;
use mir::ir::{BinaryOp, Float, FloatPredicate, InstFlags, Scalar, Type, Value};
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float as _, Round as ApRound};
use sim::fp::{self, F16, F32, F64, Fmt, Round};

/// bfloat16.
pub const BF16: Fmt = Fmt { mant: 7, exp: 8 };

/// The format of a type.
#[inline]
pub fn format(float: Float) -> Fmt {
    match float {
        Float::Half => F16,
        Float::BFloat => BF16,
        Float::Single => F32,
        Float::Double => F64,
    }
}

/// `x`, a denormal made zero of its sign if `flushes`.
#[inline]
pub fn flush(fmt: Fmt, x: u64, flushes: bool) -> u64 {
    if flushes && fmt.exponent(x) == 0 { x & fmt.sign_bit() } else { x }
}

/// The NaN that an operation on `operands` gives.
fn nan(fmt: Fmt, operands: &[u64]) -> u64 {
    let quiet = 1 << (fmt.mant - 1);
    operands.iter().find(|&&x| fmt.is_nan(x)).map_or(fmt.nan(), |x| x | quiet)
}

macro_rules! by_format {
    ($fmt:expr, $a:expr, $b:expr, $op:ident, $($more:expr)?) => {
        match ($fmt.mant, $fmt.exp) {
            (10, _) => (Half::from_bits($a.into()).$op(Half::from_bits($b.into()) $(, $more)?)).value.to_bits() as u64,
            (7, _) => (BFloat::from_bits($a.into()).$op(BFloat::from_bits($b.into()) $(, $more)?)).value.to_bits() as u64,
            (23, _) => (Single::from_bits($a.into()).$op(Single::from_bits($b.into()) $(, $more)?)).value.to_bits() as u64,
            _ => (Double::from_bits($a.into()).$op(Double::from_bits($b.into()) $(, $more)?)).value.to_bits() as u64,
        }
    };
}

/// The quotient, rounded once.
pub fn divide(fmt: Fmt, a: u64, b: u64, round: Round) -> u64 {
    if fmt.is_nan(a) || fmt.is_nan(b) {
        return nan(fmt, &[a, b]);
    }
    if round == Round::Even && fmt == F32 {
        let q = f32::from_bits(a as u32) / f32::from_bits(b as u32);
        return if q.is_nan() { fmt.nan() } else { q.to_bits().into() };
    }
    if round == Round::Even && fmt == F64 {
        let q = f64::from_bits(a) / f64::from_bits(b);
        return if q.is_nan() { fmt.nan() } else { q.to_bits() };
    }
    let round = match round {
        Round::Even => ApRound::NearestTiesToEven,
        Round::Up => ApRound::TowardPositive,
        Round::Down => ApRound::TowardNegative,
        Round::Zero => ApRound::TowardZero,
    };
    let q = by_format!(fmt, a, b, div_r, round);
    if fmt.is_nan(q) { fmt.nan() } else { q }
}

/// The remainder of the quotient cut to an integer, which is exact.
fn remainder(fmt: Fmt, a: u64, b: u64) -> u64 {
    if fmt.is_nan(a) || fmt.is_nan(b) {
        return nan(fmt, &[a, b]);
    }
    let r = by_format!(fmt, a, b, c_fmod,);
    if fmt.is_nan(r) { fmt.nan() } else { r }
}

/// The square root, rounded once to nearest even; with two formats between it and binary64, twice is once.
pub fn square_root(float: Float, x: u64) -> u64 {
    let fmt = format(float);
    if fmt.is_nan(x) {
        return nan(fmt, &[x]);
    }
    let root = super::cast::to_f64(float, x).sqrt();
    if root.is_nan() {
        return fmt.nan();
    }
    match float {
        Float::Double => root.to_bits(),
        // The root of a binary32 in binary64 is far enough from ties of binary32.
        _ => fp::convert(F64, fmt, root.to_bits(), 0, Round::Even),
    }
}

/// Whether `predicate` holds.
pub fn compare(fmt: Fmt, predicate: FloatPredicate, a: u64, b: u64) -> bool {
    use FloatPredicate::*;
    let unordered = fmt.is_nan(a) || fmt.is_nan(b);
    // Sign and magnitude made monotonic, both zeros equal.
    let key = |x: u64| {
        let magnitude = (x & !fmt.sign_bit()) as i64;
        if x & fmt.sign_bit() != 0 { -magnitude } else { magnitude }
    };
    let order = key(a).cmp(&key(b));
    match predicate {
        False => false,
        True => true,
        Ord => !unordered,
        Uno => unordered,
        Oeq => !unordered && order.is_eq(),
        Ogt => !unordered && order.is_gt(),
        Oge => !unordered && order.is_ge(),
        Olt => !unordered && order.is_lt(),
        Ole => !unordered && order.is_le(),
        One => !unordered && order.is_ne(),
        Ueq => unordered || order.is_eq(),
        Ugt => unordered || order.is_gt(),
        Uge => unordered || order.is_ge(),
        Ult => unordered || order.is_lt(),
        Ule => unordered || order.is_le(),
        Une => unordered || order.is_ne(),
    }
}

impl Cx<'_, '_> {
    /// Rounding of results of this type.
    pub fn round(&self, float: Float) -> Round {
        let shift = if matches!(float, Float::Single | Float::BFloat) { 0 } else { 2 };
        Round::from_bits(self.wave.mode >> shift)
    }

    /// Whether denormals of this type are flushed: operands, results.
    pub fn flushes(&self, float: Float) -> (bool, bool) {
        let field = if matches!(float, Float::Single | Float::BFloat) {
            self.wave.mode >> 4
        } else {
            self.wave.mode >> 6
        };
        (field & 1 == 0, field & 2 == 0)
    }

    /// Marks the run where the flags allow another result than the one computed.
    pub fn note_license(&mut self, flags: InstFlags) {
        let license =
            InstFlags::REASSOC | InstFlags::CONTRACT | InstFlags::ARCP | InstFlags::AFN | InstFlags::NSZ;
        if flags.intersects(license) || self.f.insts[self.inst].fpmath_ulp_256 != 0 {
            self.group.outcome.approximate = true;
        }
    }

    /// A binary operation on floats.
    pub fn float_binary(
        &mut self,
        op: BinaryOp,
        flags: InstFlags,
        float: Float,
        dst: usize,
        from: [usize; 2],
    ) -> Step<()> {
        self.note_license(flags);
        let (fmt, width, round) = (format(float), ones(float.bits()), self.round(float));
        let (flush_in, flush_out) = self.flushes(float);
        // The host's own arithmetic where it is the same.
        if round == Round::Even && !flush_in && !flush_out {
            let single = |f: fn(f32, f32) -> f32| {
                move |a: u64, b: u64| {
                    let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                    u64::from(fp::nan2(f(a, b), a, b).to_bits())
                }
            };
            let double = |f: fn(f64, f64) -> f64| {
                move |a: u64, b: u64| {
                    let (a, b) = (f64::from_bits(a), f64::from_bits(b));
                    fp::nan2d(f(a, b), a, b).to_bits()
                }
            };
            let mut done = true;
            match (float, op) {
                (Float::Single, BinaryOp::FAdd) => self.map2(dst, from, width, single(|a, b| a + b)),
                (Float::Single, BinaryOp::FSub) => self.map2(dst, from, width, single(|a, b| a - b)),
                (Float::Single, BinaryOp::FMul) => self.map2(dst, from, width, single(|a, b| a * b)),
                (Float::Double, BinaryOp::FAdd) => self.map2(dst, from, width, double(|a, b| a + b)),
                (Float::Double, BinaryOp::FSub) => self.map2(dst, from, width, double(|a, b| a - b)),
                (Float::Double, BinaryOp::FMul) => self.map2(dst, from, width, double(|a, b| a * b)),
                _ => done = false,
            }
            if done {
                return Ok(());
            }
        }
        if flush_in && matches!(op, BinaryOp::FDiv | BinaryOp::FRem) {
            // A sequence of instructions need not flush where one does.
            let denormal =
                |at: usize| super::regs::lanes(self.mask).any(|l| fmt.is_denormal(self.regs.v[at][l]));
            self.group.outcome.approximate |= from.into_iter().any(denormal);
        }
        let sign = fmt.sign_bit();
        let operation: fn(Fmt, u64, u64, u64, Round) -> u64 = match op {
            BinaryOp::FAdd => |fmt, _, a, b, round| fp::add(fmt, a, b, round),
            BinaryOp::FSub => |fmt, sign, a, b, round| {
                if fmt.is_nan(b) && !fmt.is_nan(a) {
                    nan(fmt, &[b])
                } else {
                    fp::add(fmt, a, b ^ sign, round)
                }
            },
            BinaryOp::FMul => |fmt, _, a, b, round| fp::mul(fmt, a, b, round),
            BinaryOp::FDiv => |fmt, _, a, b, round| divide(fmt, a, b, round),
            BinaryOp::FRem => |fmt, _, a, b, _| remainder(fmt, a, b),
            _ => return Err(Stop::new(super::Cause::Malformed("an integer operation on floats".to_owned()))),
        };
        self.map2(dst, from, width, |a, b| {
            let (a, b) = (flush(fmt, a, flush_in), flush(fmt, b, flush_in));
            flush(fmt, operation(fmt, sign, a, b, round), flush_out)
        });
        Ok(())
    }

    /// A fused multiply-add.
    pub fn fused(&mut self, float: Float, dst: usize, from: [usize; 3]) {
        let (fmt, width, round) = (format(float), ones(float.bits()), self.round(float));
        let (flush_in, flush_out) = self.flushes(float);
        if round == Round::Even && !flush_in && !flush_out && float == Float::Single {
            return self.map3(dst, from, width, |a, b, c| {
                let [a, b, c] = [a, b, c].map(|x| f32::from_bits(x as u32));
                u64::from(fp::fma(a, b, c).to_bits())
            });
        }
        self.map3(dst, from, width, |a, b, c| {
            let [a, b, c] = [a, b, c].map(|x| flush(fmt, x, flush_in));
            flush(fmt, fp::fma_exact(fmt, fmt, a, b, c, 0, round), flush_out)
        });
    }

    /// `fcmp` on scalars and vectors.
    pub fn fcmp(&mut self, predicate: FloatPredicate, args: [Value; 2], dst: usize) -> Step<()> {
        let (scalar, a) = self.elements(args[0])?;
        let (_, b) = self.elements(args[1])?;
        let Scalar::Float(float) = scalar else {
            return Err(Stop::new(super::Cause::Malformed("fcmp of integers".to_owned())));
        };
        let (fmt, (flush_in, _)) = (format(float), self.flushes(float));
        for (i, (&a, &b)) in a.iter().zip(&b).enumerate() {
            self.map2(dst + i, [a, b], 1, |a, b| {
                let (a, b) = (flush(fmt, a, flush_in), flush(fmt, b, flush_in));
                u64::from(compare(fmt, predicate, a, b))
            });
            if matches!(predicate, FloatPredicate::False | FloatPredicate::True) {
                let answer = u64::from(predicate == FloatPredicate::True);
                self.regs.write(dst + i, self.mask, &[answer; MAX_LANES]);
            }
        }
        Ok(())
    }

    /// `fneg`: bits that are defined stay so.
    pub fn flip_sign(&mut self, ty: Type, dst: usize, arg: Value) -> Step<()> {
        let scalar = self.scalar_of(ty)?;
        let (slot, sign) = (self.slot(arg), 1u64 << (scalar.bits() - 1));
        for i in 0..ty.lanes() as usize {
            self.sign_bits(dst + i, slot + i, |x| x ^ sign, u64::MAX);
        }
        Ok(())
    }

    /// A change of bits that leaves the undefined ones among `kept` undefined.
    pub fn sign_bits(&mut self, dst: usize, a: usize, f: impl Fn(u64) -> u64, kept: u64) {
        let mut value = self.regs.v[a];
        value.iter_mut().for_each(|x| *x = f(*x));
        let any = self.regs.any(a) & self.mask;
        self.regs.write(dst, self.mask, &value);
        for l in super::regs::lanes(any) {
            let undef = self.regs.undef(a, l) & kept;
            self.regs.write_lane(dst, l, value[l], undef);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_and_roots_of_halves() {
        let half = |x: f32| u64::from(fp::f32_to_f16(x));
        assert_eq!(divide(F16, half(1.0), half(3.0), Round::Even), 0x3555);
        assert_eq!(divide(F16, half(1.0), half(3.0), Round::Up), 0x3556);
        assert_eq!(divide(F16, half(1.0), half(0.0), Round::Even), 0x7c00);
        assert_eq!(divide(F16, half(0.0), half(0.0), Round::Even), 0x7e00);
        assert_eq!(square_root(Float::Half, half(2.0)), 0x3da8);
        assert_eq!(square_root(Float::Single, 0x8000_0000), 0x8000_0000);
        assert_eq!(square_root(Float::Single, 0xbf80_0000), 0x7fc0_0000);
        assert_eq!(
            remainder(F32, 5.5f32.to_bits().into(), 2f32.to_bits().into()),
            u64::from(1.5f32.to_bits())
        );
        assert_eq!(divide(BF16, 0x3f80, 0x4040, Round::Even), 0x3eab);
    }

    #[test]
    fn comparisons_with_nan_and_zeros() {
        let (one, nan) = (1f32.to_bits().into(), f32::NAN.to_bits().into());
        assert!(compare(F32, FloatPredicate::Oeq, 0, 0x8000_0000));
        assert!(compare(F32, FloatPredicate::Ult, nan, one) && !compare(F32, FloatPredicate::Olt, nan, one));
        assert!(compare(F32, FloatPredicate::Olt, 0xbf80_0000, one));
        assert!(!compare(F32, FloatPredicate::One, nan, one) && compare(F32, FloatPredicate::Une, nan, one));
    }
}
