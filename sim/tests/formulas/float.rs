//! Formulas of floating-point instructions, on `rustc_apfloat` (a port of LLVM's APFloat) and, for approximations, on `f64`.

use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use std::cmp::Ordering;

/// What a result must be.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// These bits.
    Bits(u64),
    /// Some quiet NaN.
    Nan,
    /// Some NaN: which one of several, the manuals do not say.
    AnyNan,
    /// Within a relative error of 2^-n of this.
    Near(f64, i32),
}

/// Bits of a float's format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// binary16.
    H,
    /// binary32.
    S,
    /// binary64.
    D,
}

/// Rounding modes by their number in MODE.
pub const ROUNDS: [Round; 4] =
    [Round::NearestTiesToEven, Round::TowardPositive, Round::TowardNegative, Round::TowardZero];

fn exact<F: Float>(x: F) -> Want {
    if x.is_nan() { Want::Nan } else { Want::Bits(x.to_bits() as u64) }
}

/// The result of a minimum or maximum, which passes NaNs on.
fn passed<F: Float>(x: F) -> Want {
    if x.is_nan() { Want::AnyNan } else { exact(x) }
}

fn of<F: Float>(x: u64) -> F {
    F::from_bits(u128::from(x) & ((1u128 << F::BITS) - 1))
}

fn flush<F: Float>(x: F) -> F {
    if x.is_denormal() { F::ZERO.copy_sign(x) } else { x }
}

/// Minimum or maximum as the ISA has it: −0 below +0, numbers win over NaN; with `ieee` a signalling NaN wins and becomes quiet.
fn extreme<F: Float>(a: F, b: F, max: bool, ieee: bool) -> F {
    if ieee && (a.is_signaling() || b.is_signaling()) {
        return F::NAN;
    }
    if a.is_nan() {
        return b;
    }
    if b.is_nan() {
        return a;
    }
    let order = match a.partial_cmp(&b) {
        Some(Ordering::Equal) => b.is_negative().cmp(&a.is_negative()),
        order => order.unwrap_or(Ordering::Equal),
    };
    if (order == Ordering::Greater) == max { a } else { b }
}

/// Operations that exist in every format. `r`: rounding.
fn generic<F: Float>(op: &str, x: [u64; 3], r: Round, ieee: bool) -> Option<Want> {
    let [a, b, c]: [F; 3] = x.map(of);
    Some(match op {
        "add" => exact(a.add_r(b, r).value),
        "sub" => exact(a.sub_r(b, r).value),
        "subrev" => exact(b.sub_r(a, r).value),
        "mul" => exact(a.mul_r(b, r).value),
        "fma" | "fmac" => exact(a.mul_add_r(b, c, r).value),
        "mad" | "mac" => exact(flush(flush(flush(a).mul_r(flush(b), r).value).add_r(flush(c), r).value)),
        "min" => passed(extreme(a, b, false, ieee)),
        "max" => passed(extreme(a, b, true, ieee)),
        "min3" => passed(extreme(extreme(a, b, false, ieee), c, false, ieee)),
        "max3" => passed(extreme(extreme(a, b, true, ieee), c, true, ieee)),
        "med3" if !a.is_nan() && !b.is_nan() && !c.is_nan() => {
            let max = extreme(extreme(a, b, true, ieee), c, true, ieee);
            let without = if max.bitwise_eq(a) {
                [b, c]
            } else if max.bitwise_eq(b) {
                [a, c]
            } else {
                [a, b]
            };
            exact(extreme(without[0], without[1], true, ieee))
        }
        "med3" => passed(extreme(extreme(a, b, false, ieee), c, false, ieee)),
        "trunc" => exact(a.round_to_integral(Round::TowardZero).value),
        "ceil" => exact(a.round_to_integral(Round::TowardPositive).value),
        "floor" => exact(a.round_to_integral(Round::TowardNegative).value),
        "rndne" => exact(a.round_to_integral(Round::NearestTiesToEven).value),
        "fract" => {
            let floor = a.round_to_integral(Round::TowardNegative).value;
            let below_one = F::from_u128(1).value.next_down().value;
            exact(extreme(a.sub_r(floor, Round::NearestTiesToEven).value, below_one, false, false))
                .nan_if(a.is_nan() || a.is_infinite())
        }
        "frexp_mant" if a.is_finite_non_zero() => exact(a.frexp(&mut 0)),
        "frexp_mant" => exact(a),
        _ => return None,
    })
}

impl Want {
    fn nan_if(self, nan: bool) -> Self {
        if nan { Self::Nan } else { self }
    }
}

fn convert<F: Float + FloatConvert<T>, T: Float>(x: u64, r: Round) -> Want {
    exact(of::<F>(x).convert_r(r, &mut false).value)
}

fn to_int<F: Float>(x: u64, bits: u32, signed: bool, r: Round) -> u64 {
    let v: F = of(x);
    if v.is_nan() {
        return 0;
    }
    // APFloat saturates.
    let keep = u64::MAX >> (64 - bits);
    if signed {
        v.to_i128_r(bits as usize, r, &mut false).value as u64 & keep
    } else {
        v.to_u128_r(bits as usize, r, &mut false).value as u64 & keep
    }
}

fn exponent<F: Float>(x: u64, bits: u32) -> Want {
    let v: F = of(x);
    let mut e = 0;
    if v.is_finite_non_zero() {
        let _ = v.frexp(&mut e);
    }
    Want::Bits(e as i64 as u64 & (u64::MAX >> (64 - bits)))
}

/// A product in which a zero wins.
fn legacy(a: u64, b: u64, r: Round) -> Single {
    let (a, b): (Single, Single) = (of(a), of(b));
    if a.is_zero() || b.is_zero() { Single::ZERO } else { a.mul_r(b, r).value }
}

/// A normalised 16-bit integer.
fn norm<F: Float + FloatConvert<Double>>(x: u64, signed: bool) -> u64 {
    let wide: Double = of::<F>(x).convert(&mut false).value;
    let one = Double::from_u128(1).value;
    let low = if signed { -one } else { Double::ZERO };
    let held = if wide < low {
        low
    } else if wide > one {
        one
    } else {
        wide
    };
    let top = Double::from_u128(if signed { 32767 } else { 65535 }).value;
    let product = held.mul_r(top, Round::NearestTiesToEven).value;
    to_int::<Double>(product.to_bits() as u64, if signed { 16 } else { 17 }, signed, Round::NearestTiesToEven)
}

/// The special cases of x[2] / x[1], else x[0] with the quotient's sign; `tiny`: a difference of exponents that underflows.
fn fixup<F: Float>(x: [u64; 3], tiny: i32) -> Option<Want> {
    let [q, d, n]: [F; 3] = x.map(of);
    let negative = d.is_negative() != n.is_negative();
    let signed = |v: F| exact(if v.is_negative() == negative { v } else { -v });
    if n.is_nan() || d.is_nan() || n.is_zero() && d.is_zero() || n.is_infinite() && d.is_infinite() {
        return Some(Want::Nan);
    }
    if d.is_zero() || n.is_infinite() {
        return Some(signed(F::INFINITY));
    }
    if n.is_zero() || d.is_infinite() {
        return Some(signed(F::ZERO));
    }
    let exponent = |v: F| if v.is_denormal() { F::MIN_EXP - 1 } else { v.ilogb() };
    if exponent(n) - exponent(d) < tiny {
        return Some(signed(F::ZERO));
    }
    Some(if q.is_nan() { signed(F::INFINITY) } else { signed(q) })
}

/// Face, coordinates on it, and half the major axis of a cube map.
fn cube(v: [u64; 3]) -> Option<(u128, Single, Single, Single)> {
    let [x, y, z]: [Single; 3] = v.map(of);
    if x.is_nan() || y.is_nan() || z.is_nan() {
        return None;
    }
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    Some(match (az >= ax && az >= ay, ay >= ax) {
        (true, _) if z < Single::ZERO => (5, -x, -y, z),
        (true, _) => (4, x, -y, z),
        (_, true) if y < Single::ZERO => (3, x, -z, y),
        (_, true) => (2, x, z, y),
        _ if x < Single::ZERO => (1, z, -y, x),
        _ => (0, -z, -y, x),
    })
}

fn near(v: f64, bits: i32) -> Want {
    if v.is_nan() { Want::Nan } else { Want::Near(v, bits) }
}

fn number(width: Width, x: u64) -> f64 {
    match width {
        Width::H => {
            let d: Double = of::<Half>(x).convert(&mut false).value;
            f64::from_bits(d.to_bits() as u64)
        }
        Width::S => f64::from(f32::from_bits(x as u32)),
        Width::D => f64::from_bits(x),
    }
}

/// Transcendental operations: flushed sources (binary32), a relative error.
fn approximate(op: &str, width: Width, x: u64) -> Option<Want> {
    let bits = match width {
        Width::H => 9,
        Width::S => 21,
        Width::D => 25,
    };
    let raw = number(width, x);
    // Where the f32 ones flush, denormals stand for zero.
    let v =
        if width == Width::S && raw.abs() < f64::from(f32::MIN_POSITIVE) { 0f64.copysign(raw) } else { raw };
    Some(match op {
        "rcp" | "rcp_iflag" => near(1.0 / v, bits),
        "rsq" => near(1.0 / v.sqrt(), bits),
        "sqrt" => near(raw.sqrt(), bits),
        "exp" | "exp_legacy" => near(v.exp2(), bits),
        "log" | "log_legacy" => near(v.log2(), bits),
        "sin" | "cos" if !v.is_finite() => Want::Nan,
        "sin" if v.abs() <= 1.0 => near((v * std::f64::consts::TAU).sin(), bits - 8),
        "cos" if v.abs() <= 1.0 => near((v * std::f64::consts::TAU).cos(), bits - 8),
        _ => return None,
    })
}

/// The result of `name`, its sources given by value with their modifiers. `rounds`: of binary32, of the others.
pub fn formula(name: &str, x: [u64; 3], rounds: [Round; 2], ieee: bool) -> Option<Want> {
    let rest = name.strip_prefix("v_")?;
    let [rs, rh] = rounds;
    let even = Round::NearestTiesToEven;
    let [a, b, _] = x;
    let int = |v: i128, width| match width {
        Width::H => exact(Half::from_i128_r(v, rh).value),
        Width::S => exact(Single::from_i128_r(v, rs).value),
        Width::D => exact(Double::from_i128_r(v, rh).value),
    };
    let bits = |v: u64| Some(Want::Bits(v));
    match rest {
        "cvt_f32_f16" => return Some(convert::<Half, Single>(a, rs)),
        "cvt_f16_f32" => return Some(convert::<Single, Half>(a, rh)),
        "cvt_f32_f64" => return Some(convert::<Double, Single>(a, rs)),
        "cvt_f64_f32" => return Some(convert::<Single, Double>(a, rh)),
        "cvt_f32_i32" => return Some(int(i128::from(a as i32), Width::S)),
        "cvt_f32_u32" => return Some(int(i128::from(a as u32), Width::S)),
        "cvt_f64_i32" => return Some(int(i128::from(a as i32), Width::D)),
        "cvt_f64_u32" => return Some(int(i128::from(a as u32), Width::D)),
        "cvt_f16_i16" => return Some(int(i128::from(a as i16), Width::H)),
        "cvt_f16_u16" => return Some(int(i128::from(a as u16), Width::H)),
        "cvt_f32_ubyte0" => return Some(int(i128::from(a as u8), Width::S)),
        "cvt_f32_ubyte1" => return Some(int(i128::from((a >> 8) as u8), Width::S)),
        "cvt_f32_ubyte2" => return Some(int(i128::from((a >> 16) as u8), Width::S)),
        "cvt_f32_ubyte3" => return Some(int(i128::from((a >> 24) as u8), Width::S)),
        "cvt_i32_f32" => return bits(to_int::<Single>(a, 32, true, Round::TowardZero)),
        "cvt_u32_f32" => return bits(to_int::<Single>(a, 32, false, Round::TowardZero)),
        "cvt_i32_f64" => return bits(to_int::<Double>(a, 32, true, Round::TowardZero)),
        "cvt_u32_f64" => return bits(to_int::<Double>(a, 32, false, Round::TowardZero)),
        "cvt_i16_f16" => return bits(to_int::<Half>(a, 16, true, Round::TowardZero)),
        "cvt_u16_f16" => return bits(to_int::<Half>(a, 16, false, Round::TowardZero)),
        "cvt_flr_i32_f32" => return bits(to_int::<Single>(a, 32, true, Round::TowardNegative)),
        "cvt_rpi_i32_f32" => {
            let wide: Double = of::<Single>(a).convert(&mut false).value;
            let half = Double::from_bits(0x3fe0 << 48);
            let sum = wide.add_r(half, even).value;
            return bits(to_int::<Double>(sum.to_bits() as u64, 32, true, Round::TowardNegative));
        }
        "cvt_off_f32_i4" => return Some(int((i128::from(a & 15) + 8) % 16 - 8, Width::S).scaled(-4)),
        "cvt_pkrtz_f16_f32" => {
            let part = |x| convert::<Single, Half>(x, Round::TowardZero);
            return match (part(a), part(b)) {
                (Want::Bits(lo), Want::Bits(hi)) => bits(lo | hi << 16),
                _ => None,
            };
        }
        "ldexp_f32" => {
            let e = (b as i32).clamp(-2000, 2000);
            return Some(exact(of::<Single>(a).scalbn_r(e as _, rs)));
        }
        "ldexp_f64" => {
            let e = (b as i32).clamp(-9000, 9000);
            return Some(exact(of::<Double>(a).scalbn_r(e as _, rh)));
        }
        "ldexp_f16" => return Some(exact(of::<Half>(a).scalbn_r((b as i16) as _, rh))),
        "frexp_exp_i32_f32" => return Some(exponent::<Single>(a, 32)),
        "frexp_exp_i32_f64" => return Some(exponent::<Double>(a, 32)),
        "frexp_exp_i16_f16" => return Some(exponent::<Half>(a, 16)),
        "mul_legacy_f32" => return Some(exact(legacy(a, b, rs))),
        "mad_legacy_f32" | "mac_legacy_f32" => {
            let [a, b, c] = x.map(|x| flush(of::<Single>(x)));
            let p = flush(legacy(a.to_bits() as u64, b.to_bits() as u64, rs));
            return Some(exact(flush(p.add_r(c, rs).value)));
        }
        "fma_legacy_f32" | "fmac_legacy_f32" => {
            let [a, b, c] = x.map(of::<Single>);
            let zero = a.is_zero() || b.is_zero();
            return Some(exact(if zero {
                Single::ZERO.add_r(c, rs).value
            } else {
                a.mul_add_r(b, c, rs).value
            }));
        }
        "min_legacy_f32" => {
            return Some(passed(if of::<Single>(a) < of(b) { of::<Single>(a) } else { of(b) }));
        }
        "max_legacy_f32" => {
            return Some(passed(if of::<Single>(a) >= of(b) { of::<Single>(a) } else { of(b) }));
        }
        "rcp_legacy_f32" | "rsq_legacy_f32" if flush(of::<Single>(a)).is_zero() => return bits(0),
        "rcp_legacy_f32" => return approximate("rcp", Width::S, a),
        "rsq_legacy_f32" => return approximate("rsq", Width::S, a),
        "rcp_clamp_f32" => return Some(approximate("rcp", Width::S, a)?.clamped(Width::S)),
        "rsq_clamp_f32" => return Some(approximate("rsq", Width::S, a)?.clamped(Width::S)),
        "log_clamp_f32" => return Some(approximate("log", Width::S, a)?.clamped_below(Width::S)),
        "rcp_clamp_f64" => return Some(approximate("rcp", Width::D, a)?.clamped(Width::D)),
        "rsq_clamp_f64" => return Some(approximate("rsq", Width::D, a)?.clamped(Width::D)),
        "mullit_f32" => {
            let (y, z) = (of::<Single>(b), of::<Single>(x[2]));
            let dark = y.is_nan() || z.is_nan() || y.is_neg_infinity() || y.bitwise_eq(-Single::largest());
            return Some(if dark || z <= Single::ZERO {
                exact(-Single::largest())
            } else {
                exact(legacy(a, b, rs))
            });
        }
        "cvt_pk_u8_f32" | "cvt_pkaccum_u8_f32" => {
            let shift = 8 * (b & 3);
            let byte = to_int::<Single>(a, 8, false, rs);
            return bits((x[2] & !(0xff << shift) | byte << shift) & 0xffff_ffff);
        }
        "cvt_pknorm_i16_f32" => return bits(norm::<Single>(a, true) | norm::<Single>(b, true) << 16),
        "cvt_pknorm_u16_f32" => return bits(norm::<Single>(a, false) | norm::<Single>(b, false) << 16),
        "cvt_pknorm_i16_f16" => return bits(norm::<Half>(a, true) | norm::<Half>(b, true) << 16),
        "cvt_pknorm_u16_f16" => return bits(norm::<Half>(a, false) | norm::<Half>(b, false) << 16),
        "cvt_norm_i16_f16" => return bits(norm::<Half>(a, true)),
        "cvt_norm_u16_f16" => return bits(norm::<Half>(a, false)),
        "div_fixup_f32" => return fixup::<Single>(x, -150),
        "div_fixup_f64" => return fixup::<Double>(x, -1075),
        "div_fixup_f16" | "div_fixup_legacy_f16" => return fixup::<Half>(x, -1000),
        "cubeid_f32" => return cube(x).map(|(id, ..)| exact(Single::from_u128(id).value)),
        "cubesc_f32" => return cube(x).map(|(_, s, ..)| exact(s)),
        "cubetc_f32" => return cube(x).map(|(_, _, t, _)| exact(t)),
        "cubema_f32" => return cube(x).map(|(.., m)| exact(m.add_r(m, even).value)),
        "mad_legacy_f16" => return generic::<Half>("mad", x, rh, ieee),
        "fma_legacy_f16" => return generic::<Half>("fma", x, rh, ieee),
        _ => {}
    }
    let (op, ty) = rest.rsplit_once('_')?;
    if let Some(half) = op.strip_prefix("pk_").filter(|_| ty == "f16") {
        let part = |shift: u32| generic::<Half>(half, x.map(|x| x >> shift & 0xffff), rh, ieee);
        return match (part(0)?, part(16)?) {
            (Want::Bits(lo), Want::Bits(hi)) => bits(lo | hi << 16),
            _ => None,
        };
    }
    match ty {
        "f32" => generic::<Single>(op, x, rs, ieee).or_else(|| approximate(op, Width::S, a)),
        "f64" => generic::<Double>(op, x, rh, ieee).or_else(|| approximate(op, Width::D, a)),
        "f16" => generic::<Half>(op, x, rh, ieee).or_else(|| approximate(op, Width::H, a)),
        _ => None,
    }
}

impl Want {
    /// A binary32 times a power of two.
    fn scaled(self, e: i32) -> Self {
        match self {
            Self::Bits(x) => exact(of::<Single>(x).scalbn(e as _)),
            other => other,
        }
    }

    /// Infinities become the largest numbers.
    fn clamped(self, width: Width) -> Self {
        match self {
            Self::Near(v, n) => {
                let top = if width == Width::D { f64::MAX } else { f64::from(f32::MAX) };
                Self::Near(v.clamp(-top, top), n)
            }
            other => other,
        }
    }

    fn clamped_below(self, width: Width) -> Self {
        match self {
            Self::Near(v, _) if v == f64::NEG_INFINITY => self.clamped(width),
            other => other,
        }
    }

    /// Whether `got` of `width` will do.
    pub fn accepts(self, got: u64, width: Width) -> bool {
        match self {
            Self::Bits(want) => want == got,
            Self::Nan => match width {
                Width::H => of::<Half>(got).is_nan() && !of::<Half>(got).is_signaling(),
                Width::S => of::<Single>(got).is_nan() && !of::<Single>(got).is_signaling(),
                Width::D => of::<Double>(got).is_nan() && !of::<Double>(got).is_signaling(),
            },
            Self::AnyNan => number(width, got).is_nan(),
            Self::Near(want, bits) => {
                let got = number(width, got);
                let (largest, smallest) = match width {
                    Width::H => (65504.0, 6.2e-5),
                    Width::S => (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)),
                    Width::D => (f64::MAX, f64::MIN_POSITIVE),
                };
                got == want
                    || (got - want).abs() <= want.abs() * 2f64.powi(-bits)
                    || want.abs() > largest
                        && got.is_infinite()
                        && got.is_sign_positive() == want.is_sign_positive()
                    || want.abs() < smallest && got.abs() <= smallest
                    || width != Width::D && (got - want).abs() < 1e-6 && want.abs() < 1e-4
            }
        }
    }
}

/// Whether relation `name` holds between `a` and `b` of type `ty`.
pub fn relation(name: &str, ty: &str, a: u64, b: u64) -> Option<bool> {
    let order = match ty {
        "f16" => of::<Half>(a).partial_cmp(&of::<Half>(b)),
        "f32" => of::<Single>(a).partial_cmp(&of::<Single>(b)),
        "f64" => of::<Double>(a).partial_cmp(&of::<Double>(b)),
        "i16" => Some((a as i16).cmp(&(b as i16))),
        "u16" => Some((a as u16).cmp(&(b as u16))),
        "i32" => Some((a as i32).cmp(&(b as i32))),
        "u32" => Some((a as u32).cmp(&(b as u32))),
        "i64" => Some((a as i64).cmp(&(b as i64))),
        "u64" => Some(a.cmp(&b)),
        _ => return None,
    };
    use Ordering::*;
    Some(match name {
        "f" => false,
        "t" | "tru" => true,
        "lt" => order == Some(Less),
        "eq" => order == Some(Equal),
        "gt" => order == Some(Greater),
        "le" => matches!(order, Some(Less | Equal)),
        "ge" => matches!(order, Some(Greater | Equal)),
        "lg" => matches!(order, Some(Less | Greater)),
        "ne" => order != Some(Equal),
        "o" => order.is_some(),
        "u" => order.is_none(),
        "nlt" => order != Some(Less),
        "neq" => order != Some(Equal),
        "ngt" => order != Some(Greater),
        "nle" => !matches!(order, Some(Less | Equal)),
        "nge" => !matches!(order, Some(Greater | Equal)),
        "nlg" => !matches!(order, Some(Less | Greater)),
        _ => return None,
    })
}
