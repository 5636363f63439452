//! IEEE binary16 on a host without it: constants of the compiler and expected values of tests. The simulator has conversions of its
//! own, in all rounding modes, since it judges these.
//!
//! No crate does this: `half` rounds twice, through binary32, where the host has F16C, and so depends on the host.

/// The smallest normal number.
pub const MIN_NORMAL: f64 = 1.0 / 16384.0;

/// The bits of `value` rounded to nearest, ties to even.
pub fn from_f64(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return sign | 0x7e00;
    }
    // Halfway between the largest number and the power of two above rounds away.
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // The exponent of the unit in the last place: subnormals share the smallest.
    let exponent = if magnitude < MIN_NORMAL { -24 } else { exponent_of(magnitude) - 10 };
    let units = (magnitude / 2f64.powi(exponent)).round_ties_even() as u16;
    // A normal number's hidden bit adds one to the biased exponent; so does a carry out of the fraction.
    sign | (((exponent + 24) as u16) << 10).wrapping_add(units)
}

/// The value of `bits`.
pub fn to_f64(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

fn exponent_of(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives() {
        for bits in 0..=u16::MAX {
            let value = to_f64(bits);
            if value.is_nan() {
                assert!(to_f64(from_f64(value)).is_nan());
            } else {
                assert_eq!(from_f64(value), bits, "{value}");
            }
        }
    }

    #[test]
    fn ties_go_to_even() {
        assert_eq!(from_f64(2049.0), from_f64(2048.0));
        assert_eq!(from_f64(2051.0), from_f64(2052.0));
        assert_eq!(from_f64(65519.0), 0x7bff);
        assert_eq!(from_f64(65520.0), 0x7c00);
        assert_eq!(from_f64(2f64.powi(-25)), 0);
        assert_eq!(from_f64(2049.0 + 2f64.powi(-40)), from_f64(2050.0), "rounded once");
        assert_eq!(from_f64(2047.5), from_f64(2048.0), "carry into the exponent");
    }
}
