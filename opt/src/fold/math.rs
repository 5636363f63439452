//! Functions of floating-point constants.
//!
//! Only what is exact, or rounded once as the hardware does it, is folded; infinities, NaNs and denormal numbers, of which modes decide,
//! stay. The reciprocal of the hardware has 1 ulp: here it is the nearest number, as LLVM folds it.

use super::super::builder::Builder;
use mir::half;
use mir::ir::*;

/// The value of a constant that is zero or normal in its format.
fn plain(b: &Builder<'_>, value: Value) -> Option<f64> {
    let &Const::Float(bits) = b.func.as_const(value)? else { return None };
    let (number, least) = match b.ty(value) {
        Type::F16 => (half::to_f64(bits as u16), half::MIN_NORMAL),
        Type::F32 => (f64::from(f32::from_bits(bits as u32)), f64::from(f32::MIN_POSITIVE)),
        Type::F64 => (f64::from_bits(bits), f64::MIN_POSITIVE),
        _ => return None,
    };
    is_plain(number, least).then_some(number)
}

fn is_plain(number: f64, least: f64) -> bool {
    number == 0.0 || number.is_finite() && number.abs() >= least
}

/// `number`, rounded to `ty`, where it is zero or normal there.
fn constant(b: &mut Builder<'_>, ty: Type, number: f64) -> Option<Value> {
    let (bits, rounded, least) = match ty {
        Type::F16 => {
            let bits = half::from_f64(number);
            (u64::from(bits), half::to_f64(bits), half::MIN_NORMAL)
        }
        Type::F32 => {
            let rounded = number as f32;
            (u64::from(rounded.to_bits()), f64::from(rounded), f64::from(f32::MIN_POSITIVE))
        }
        Type::F64 => (number.to_bits(), number, f64::MIN_POSITIVE),
        _ => return None,
    };
    // What underflows to zero was not zero.
    (is_plain(rounded, least) && (rounded == 0.0) == (number == 0.0)).then(|| b.float_bits(ty, bits))
}

/// Mantissa in [0.5, 1) and exponent of a number that is neither zero nor denormal.
fn frexp(number: f64) -> (f64, i32) {
    let bits = number.to_bits();
    let mantissa = bits & !(0x7ff << 52) | 1022 << 52;
    (f64::from_bits(mantissa), (bits >> 52 & 0x7ff) as i32 - 1022)
}

/// The result of an intrinsic whose arguments are constants, and of `ldexp` by nothing.
pub(super) fn fold_math(
    b: &mut Builder<'_>,
    intrinsic: Intrinsic,
    args: &[Value],
    ty: Type,
) -> Option<Value> {
    use Intrinsic::*;
    let number = match (intrinsic, args) {
        (Ldexp, &[x, exponent]) => {
            let exponent = super::sext64(b.func.as_int(exponent)?, b.bits(exponent));
            if exponent == 0 {
                return Some(x);
            }
            // Farther away nothing is left of any number.
            plain(b, x)? * 2f64.powi(i32::try_from(exponent).ok().filter(|n| n.abs() < 1000)?)
        }
        (FrexpExp, &[x]) => {
            let x = plain(b, x)?;
            let exponent = if x == 0.0 { 0 } else { frexp(x).1 };
            return Some(b.int(ty, i64::from(exponent) as u64));
        }
        // Numbers of 53 bits hold what 24 and 11 bits need to be rounded rightly at the second time.
        (Fma, &[x, y, z]) if ty == Type::F32 => {
            let [x, y, z] = [plain(b, x)?, plain(b, y)?, plain(b, z)?].map(|x| x as f32);
            f64::from(x.mul_add(y, z))
        }
        (Fma, &[x, y, z]) if ty == Type::F64 => plain(b, x)?.mul_add(plain(b, y)?, plain(b, z)?),
        (Copysign, &[x, sign]) => plain(b, x)?.copysign(plain(b, sign)?),
        (Minnum | Maxnum | Minimum | Maximum | Minimumnum | Maximumnum, &[x, y]) => {
            let (cx, cy) = (plain(b, x)?, plain(b, y)?);
            if cx == cy && cx.is_sign_negative() != cy.is_sign_negative() {
                return None;
            }
            let first = cx < cy;
            return Some(if first == matches!(intrinsic, Minnum | Minimum | Minimumnum) { x } else { y });
        }
        (Floor, &[x]) => plain(b, x)?.floor(),
        (Ceil, &[x]) => plain(b, x)?.ceil(),
        (Trunc, &[x]) => plain(b, x)?.trunc(),
        (Rint | Nearbyint | Roundeven, &[x]) => plain(b, x)?.round_ties_even(),
        (Round, &[x]) => plain(b, x)?.round(),
        (Sqrt, &[x]) => Some(plain(b, x)?).filter(|x| x.is_sign_positive())?.sqrt(),
        (Rcp, &[x]) => 1.0 / Some(plain(b, x)?).filter(|&x| x != 0.0)?,
        (FrexpMant, &[x]) => match plain(b, x)? {
            0.0 => return Some(x),
            x => frexp(x).0,
        },
        _ => return None,
    };
    constant(b, ty, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mantissas_and_exponents() {
        for (number, parts) in
            [(1.0, (0.5, 1)), (-12.92, (-0.8075, 4)), (0.3, (0.6, -1)), (1024.0, (0.5, 11))]
        {
            assert_eq!(frexp(number), parts);
            assert_eq!(parts.0 * 2f64.powi(parts.1), number);
        }
        // Powers of two beyond the ends of the format.
        assert_eq!(frexp(f64::MAX), (1.0 - f64::EPSILON / 2.0, 1024));
        assert_eq!(frexp(-f64::MIN_POSITIVE), (-0.5, -1021));
    }

    #[test]
    fn plain_numbers() {
        assert!(is_plain(0.0, 1.0) && is_plain(-0.0, 1.0) && is_plain(-1.0, 1.0));
        assert!(!is_plain(0.5, 1.0) && !is_plain(f64::INFINITY, 1.0) && !is_plain(f64::NAN, 1.0));
    }
}
