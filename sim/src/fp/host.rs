//! The fast paths: the host's operations with the NaN results of the hardware.

use super::{F16, F32, F64, Round, convert};

/// binary16 to binary32, exact.
#[inline]
pub fn f16_to_f32(h: u32) -> f32 {
    let sign = (h & 0x8000) << 16;
    let e = (h >> 10) & 0x1f;
    let m = h & 0x3ff;
    let magnitude = if e == 0 {
        return f32::from_bits(sign | (m as f32 * (1.0 / 16_777_216.0)).to_bits());
    } else if e == 31 {
        0x7f80_0000 | m << 13
    } else {
        (e + 112) << 23 | m << 13
    };
    f32::from_bits(sign | magnitude)
}

/// binary32 to binary16, to nearest even.
#[inline]
pub fn f32_to_f16(x: f32) -> u32 {
    convert(F32, F16, u64::from(x.to_bits()), 0, Round::Even) as u32
}

/// binary64 to binary16, to nearest even.
#[inline]
pub fn f64_to_f16(x: f64) -> u32 {
    convert(F64, F16, x.to_bits(), 0, Round::Even) as u32
}

/// `result`, or where that is a NaN the NaN that the hardware makes of `a` and `b`.
#[inline]
pub fn nan2(result: f32, a: f32, b: f32) -> f32 {
    if result.is_nan() { nan3(a, b, 0.0) } else { result }
}

#[inline]
fn nan3(a: f32, b: f32, c: f32) -> f32 {
    let quiet = |x: f32| f32::from_bits(x.to_bits() | 0x40_0000);
    if a.is_nan() {
        quiet(a)
    } else if b.is_nan() {
        quiet(b)
    } else if c.is_nan() {
        quiet(c)
    } else {
        f32::from_bits(0x7fc0_0000)
    }
}

/// The same for binary64.
#[inline]
pub fn nan2d(result: f64, a: f64, b: f64) -> f64 {
    if result.is_nan() { nan3d(a, b, 0.0) } else { result }
}

#[inline]
fn nan3d(a: f64, b: f64, c: f64) -> f64 {
    let quiet = |x: f64| f64::from_bits(x.to_bits() | 1 << 51);
    if a.is_nan() {
        quiet(a)
    } else if b.is_nan() {
        quiet(b)
    } else if c.is_nan() {
        quiet(c)
    } else {
        f64::from_bits(0x7ff8_0000_0000_0000)
    }
}

/// Fused multiply-add.
#[inline]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    let r = a.mul_add(b, c);
    if r.is_nan() { nan3(a, b, c) } else { r }
}

/// Fused multiply-add of binary64.
#[inline]
pub fn fma64(a: f64, b: f64, c: f64) -> f64 {
    let r = a.mul_add(b, c);
    if r.is_nan() { nan3d(a, b, c) } else { r }
}

/// Flushes a denormal to zero of its sign.
#[inline]
pub fn flush32(x: u32) -> u32 {
    if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x }
}

/// Flushes a binary16 denormal.
#[inline]
pub fn flush16(x: u32) -> u32 {
    if x & 0x7c00 == 0 { x & 0x8000 } else { x }
}

/// Flushes a binary64 denormal.
#[inline]
pub fn flush64(x: u64) -> u64 {
    if x & 0x7ff0_0000_0000_0000 == 0 { x & 1 << 63 } else { x }
}

/// Fused multiply-add without the host's instruction: the product is exact in binary64, the sum is rounded to odd there and
/// then once to binary32. Vectorises; which NaN results is unspecified.
#[inline(always)]
pub fn fma32_parts(a: f32, b: f32, c: f32) -> f32 {
    let (p, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let s = p + c;
    // The exact error of the sum (Knuth's two-sum); NaN where the sum is not finite.
    let t = s - p;
    let error = (p - (s - t)) + (c - t);
    let bits = s.to_bits();
    // An inexact sum with an even last bit moves one place towards the exact value.
    let outward = (error > 0.0) == (s > 0.0);
    let inexact = error.abs() > 0.0;
    let step = if outward { 1 } else { u64::MAX };
    let odd = if inexact && bits & 1 == 0 { bits.wrapping_add(step) } else { bits };
    f64::from_bits(odd) as f32
}
