//! Integer operations at any width, on numbers without bounds: what LLVM IR says they are, and nothing
//! cleverer.

use num_bigint::{BigInt, BigUint, Sign};

/// 2^`bits` - 1.
pub fn ones(bits: u32) -> BigUint {
    (BigUint::from(1u32) << bits) - 1u32
}

/// The number modulo 2^`bits`.
pub fn cut(x: &BigInt, bits: u32) -> BigUint {
    let modulus = BigInt::from(1) << bits;
    let rest = x % &modulus;
    let rest = if rest.sign() == Sign::Minus { rest + modulus } else { rest };
    rest.magnitude().clone()
}

/// As a number with a sign.
pub fn signed(x: &BigUint, bits: u32) -> BigInt {
    let x = BigInt::from(x.clone());
    if x.bit(u64::from(bits) - 1) { x - (BigInt::from(1) << bits) } else { x }
}

fn unsigned(x: &BigUint) -> BigInt {
    BigInt::from(x.clone())
}

fn small(x: &BigUint) -> u32 {
    x.iter_u32_digits().next().unwrap_or(0)
}

/// `x` rounded down to a multiple of `y`, over `y`.
fn floor_divide(x: &BigInt, y: &BigInt) -> BigInt {
    let (q, r) = (x / y, x % y);
    if r.sign() != Sign::NoSign && (r.sign() == Sign::Minus) != (y.sign() == Sign::Minus) { q - 1 } else { q }
}

fn limits(bits: u32, is_signed: bool) -> (BigInt, BigInt) {
    if is_signed {
        let half = BigInt::from(1) << (bits - 1);
        (-half.clone(), half - 1)
    } else {
        (BigInt::from(0), unsigned(&ones(bits)))
    }
}

/// Two-operand instructions and intrinsics; shifts have amounts below the width, divisors are not zero and do
/// not overflow.
pub fn binary(name: &str, bits: u32, x: &BigUint, y: &BigUint) -> BigUint {
    let (sx, sy, ux, uy) = (signed(x, bits), signed(y, bits), unsigned(x), unsigned(y));
    let clamp = |value: BigInt, is_signed: bool| {
        let (least, most) = limits(bits, is_signed);
        value.clamp(least, most)
    };
    let amount = small(y);
    let result = match name {
        "add" => ux + uy,
        "sub" => ux - uy,
        "mul" => ux * uy,
        "and" => ux & uy,
        "or" => ux | uy,
        "xor" => ux ^ uy,
        "shl" => ux << amount,
        "lshr" => ux >> amount,
        "ashr" => sx >> amount,
        "udiv" => ux / uy,
        "urem" => ux % uy,
        "sdiv" => sx / sy,
        "srem" => sx % sy,
        "umin" => ux.min(uy),
        "umax" => ux.max(uy),
        "smin" => sx.min(sy),
        "smax" => sx.max(sy),
        "uadd.sat" => clamp(ux + uy, false),
        "usub.sat" => clamp(ux - uy, false),
        "sadd.sat" => clamp(sx + sy, true),
        "ssub.sat" => clamp(sx - sy, true),
        "ushl.sat" => clamp(ux << amount, false),
        "sshl.sat" => clamp(sx << amount, true),
        other => unreachable!("{other}"),
    };
    cut(&result, bits)
}

/// One-operand intrinsics.
pub fn unary(name: &str, bits: u32, x: &BigUint) -> BigUint {
    let number = |n: u64| cut(&BigInt::from(n), bits);
    match name {
        "ctpop" => number(x.count_ones()),
        "ctlz" => number(u64::from(bits) - x.bits()),
        "cttz" => number(x.trailing_zeros().unwrap_or(u64::from(bits))),
        "abs" => cut(&BigInt::from(signed(x, bits).magnitude().clone()), bits),
        "bitreverse" => {
            let mut out = BigUint::default();
            (0..u64::from(bits)).for_each(|i| out.set_bit(u64::from(bits) - 1 - i, x.bit(i)));
            out
        }
        "bswap" => {
            let mut out = BigUint::default();
            let bytes = u64::from(bits) / 8;
            for i in 0..bytes * 8 {
                out.set_bit((bytes - 1 - i / 8) * 8 + i % 8, x.bit(i));
            }
            out
        }
        other => unreachable!("{other}"),
    }
}

/// `fshl`, `fshr`.
pub fn funnel(name: &str, bits: u32, x: &BigUint, y: &BigUint, z: &BigUint) -> BigUint {
    let amount = small(&(z % bits));
    let both: BigUint = (x << bits) | y;
    let moved: BigUint = if name == "fshl" { (both << amount) >> bits } else { both >> amount };
    moved & ones(bits)
}

/// `icmp`.
pub fn compare(predicate: &str, bits: u32, x: &BigUint, y: &BigUint) -> bool {
    let (sx, sy) = (signed(x, bits), signed(y, bits));
    match predicate {
        "eq" => x == y,
        "ne" => x != y,
        "ugt" => x > y,
        "uge" => x >= y,
        "ult" => x < y,
        "ule" => x <= y,
        "sgt" => sx > sy,
        "sge" => sx >= sy,
        "slt" => sx < sy,
        _ => sx <= sy,
    }
}

/// Result and overflow of the `with.overflow` family.
pub fn overflow(name: &str, bits: u32, x: &BigUint, y: &BigUint) -> (BigUint, bool) {
    let is_signed = name.starts_with('s');
    let (x, y) = if is_signed { (signed(x, bits), signed(y, bits)) } else { (unsigned(x), unsigned(y)) };
    let exact = match &name[1..] {
        "add" => x + y,
        "sub" => x - y,
        _ => x * y,
    };
    let (least, most) = limits(bits, is_signed);
    let over = exact < least || exact > most;
    (cut(&exact, bits), over)
}

/// `smul.fix.sat` and its kin.
pub fn fixed(name: &str, bits: u32, scale: u32, x: &BigUint, y: &BigUint) -> BigUint {
    let is_signed = name.starts_with('s');
    let (x, y) = if is_signed { (signed(x, bits), signed(y, bits)) } else { (unsigned(x), unsigned(y)) };
    let exact = if name[1..].starts_with("mul") { (x * y) >> scale } else { floor_divide(&(x << scale), &y) };
    let (least, most) = limits(bits, is_signed);
    cut(&exact.clamp(least, most), bits)
}

/// -1, 0 or 1 at `to` bits.
pub fn three_way(name: &str, bits: u32, to: u32, x: &BigUint, y: &BigUint) -> BigUint {
    let order = if name == "scmp" { signed(x, bits).cmp(&signed(y, bits)) } else { x.cmp(y) };
    cut(&BigInt::from(order as i8), to)
}

/// `trunc`, `zext`, `sext`.
pub fn resize(name: &str, from: u32, to: u32, x: &BigUint) -> BigUint {
    let x = if name == "sext" { signed(x, from) } else { unsigned(x) };
    cut(&x, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widths at which the host has the operations itself.
    #[test]
    fn agrees_with_the_host() {
        let mut rng = fastrand::Rng::with_seed(7);
        let big = |x: u64| BigUint::from(x);
        for _ in 0..2000 {
            let (x, y) = (rng.u64(..) >> rng.u32(0..64), rng.u64(..) >> rng.u32(0..63) | 1);
            let (sx, sy) = (x as i64, y as i64);
            let check = |name: &str, want: u64| {
                assert_eq!(binary(name, 64, &big(x), &big(y)), big(want), "{name} {x:#x} {y:#x}");
            };
            check("sub", x.wrapping_sub(y));
            check("sdiv", sx.wrapping_div(sy) as u64);
            check("srem", sx.wrapping_rem(sy) as u64);
            check("sadd.sat", sx.saturating_add(sy) as u64);
            check("usub.sat", x.saturating_sub(y));
            check("smax", sx.max(sy) as u64);
            assert_eq!(unary("bitreverse", 64, &big(x)), big(x.reverse_bits()));
            assert_eq!(unary("bswap", 64, &big(x)), big(x.swap_bytes()));
            assert_eq!(unary("ctlz", 64, &big(x)), big(x.leading_zeros().into()));
            assert_eq!(unary("abs", 64, &big(x)), big(sx.unsigned_abs()));
            let (value, over) = sx.overflowing_mul(sy);
            assert_eq!(overflow("smul", 64, &big(x), &big(y)), (big(value as u64), over));
            assert_eq!(compare("slt", 64, &big(x), &big(y)), sx < sy);
            let turned = x.rotate_left((y % 64) as u32);
            assert_eq!(funnel("fshl", 64, &big(x), &big(x), &big(y)), big(turned));
        }
        // 2.75 * -1.5 = -4.125, rounded down to a multiple of 1/4.
        assert_eq!(signed(&fixed("smul.fix.sat", 8, 2, &big(11), &big(250)), 8), BigInt::from(-17));
        assert_eq!(signed(&fixed("sdiv.fix.sat", 8, 2, &big(11), &big(250)), 8), BigInt::from(-8));
        assert_eq!(signed(&fixed("smul.fix.sat", 8, 2, &big(127), &big(127)), 8), BigInt::from(127));
    }
}
