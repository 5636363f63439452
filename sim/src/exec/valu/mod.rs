//! Vector ALU: what each operation computes for the 64 lanes.
//!
//! [`kernel`] gives an operation as a function from fetched sources (modifiers applied, denormals flushed, sub-dword parts extracted)
//! to results before output modifiers, so that `exec` can handle those, and undefined bits, in one place for all
//! operations. It is looked up once, when an instruction is decoded. The loops run over all lanes, active or not, so that they vectorise;
//! the caller writes active lanes only.
//!
//! Sources are borrowed: a VGPR that needs no change is read where it is.
//!
//! Approximations ([`is_approximate`]): `v_rcp`, `v_rsq`, `v_sqrt`, `v_exp`, `v_log`, `v_sin` and `v_cos` give the correctly rounded result or
//! nearly so; hardware is within 1 ulp of it (2^-29 relative for the 64-bit ones), by tables that are not public.

mod float;
mod half;
mod int;
mod packed;
mod wide;

pub(super) use int::msad8;

use crate::fp::{self, Round, f16_to_f32, f32_to_f16};
use crate::wave::{Lanes, MAX_LANES};
use mir::isa::{OpFlags, Opcode};

/// An operation on all lanes.
pub type Kernel = fn(&In<'_>, &mut Out, &Env);

/// No bits in any lane.
pub static ZERO: Lanes = [0; MAX_LANES];

/// Fetched sources, in order; a source that is also the destination comes last.
#[derive(Clone, Copy, Debug)]
pub struct In<'a> {
    /// Low dwords.
    pub lo: [&'a Lanes; 3],
    /// High dwords.
    pub hi: [&'a Lanes; 3],
    /// Lane mask read: carry in, condition, or VCC of `v_div_fmas`.
    pub mask: u64,
}

impl In<'_> {
    /// Source `k` in lane `l` as 64 bits.
    #[inline(always)]
    pub fn w(&self, k: usize, l: usize) -> u64 {
        u64::from(self.lo[k][l]) | u64::from(self.hi[k][l]) << 32
    }
}

/// Results.
#[derive(Clone, Debug)]
pub struct Out {
    /// Low dwords of the vector result.
    pub lo: Lanes,
    /// High dwords.
    pub hi: Lanes,
    /// The lane mask: carry out, `v_div_scale`.
    pub mask: u64,
}

impl Default for Out {
    fn default() -> Self {
        Self { lo: [0; MAX_LANES], hi: [0; MAX_LANES], mask: 0 }
    }
}

/// The modes that results depend on.
#[derive(Clone, Copy, Debug)]
pub struct Env {
    /// Integer saturation.
    pub clamp: bool,
    /// MODE.IEEE.
    pub ieee: bool,
    /// Rounding of binary32.
    pub round32: Round,
    /// Rounding of binary16 and binary64.
    pub round64: Round,
    /// `v_sin` and `v_cos` take any number of turns.
    pub any_turns: bool,
    /// Bits of VOP3P: `op_sel`, `op_sel_hi`, `neg_lo`, `neg_hi`.
    pub packed: [u8; 4],
}

/// The operation of `op`; `None` for what is no operation on sources alone, or unknown.
pub fn kernel(op: Opcode) -> Option<Kernel> {
    int::kernel(op)
        .or_else(|| float::kernel(op))
        .or_else(|| wide::kernel(op))
        .or_else(|| half::kernel(op))
        .or_else(|| packed::kernel(op))
}

/// Whether the hardware's result may differ from [`kernel`]'s in the last place.
pub fn is_approximate(op: Opcode) -> bool {
    op.info().flags.contains(OpFlags::TRANS)
}

#[inline(always)]
fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

#[inline(always)]
fn m1(i: &In<'_>, o: &mut Out, op: impl Fn(u32) -> u32) {
    let a = i.lo[0];
    for l in 0..MAX_LANES {
        o.lo[l] = op(a[l]);
    }
}

#[inline(always)]
fn m2(i: &In<'_>, o: &mut Out, op: impl Fn(u32, u32) -> u32) {
    let [a, b, _] = i.lo;
    for l in 0..MAX_LANES {
        o.lo[l] = op(a[l], b[l]);
    }
}

#[inline(always)]
fn m3(i: &In<'_>, o: &mut Out, op: impl Fn(u32, u32, u32) -> u32) {
    let [a, b, c] = i.lo;
    for l in 0..MAX_LANES {
        o.lo[l] = op(a[l], b[l], c[l]);
    }
}

#[inline(always)]
fn put_wide(o: &mut Out, l: usize, d: u64) {
    o.lo[l] = d as u32;
    o.hi[l] = (d >> 32) as u32;
}

#[inline(always)]
fn w1(i: &In<'_>, o: &mut Out, op: impl Fn(u64) -> u64) {
    for l in 0..MAX_LANES {
        put_wide(o, l, op(i.w(0, l)));
    }
}

#[inline(always)]
fn w2(i: &In<'_>, o: &mut Out, op: impl Fn(u64, u64) -> u64) {
    for l in 0..MAX_LANES {
        put_wide(o, l, op(i.w(0, l), i.w(1, l)));
    }
}

#[inline(always)]
fn w3(i: &In<'_>, o: &mut Out, op: impl Fn(u64, u64, u64) -> u64) {
    for l in 0..MAX_LANES {
        put_wide(o, l, op(i.w(0, l), i.w(1, l), i.w(2, l)));
    }
}

/// The lanes for which `holds`, as a mask.
#[inline(always)]
pub fn mask_of(holds: impl Fn(usize) -> bool) -> u64 {
    // Bytes of 0 or 1 vectorise; eight of them become bits by a multiplication that moves byte k to bit 56 + k.
    let mut bytes = [0u8; MAX_LANES];
    for l in 0..MAX_LANES {
        bytes[l] = u8::from(holds(l));
    }
    bytes.as_chunks::<8>().0.iter().enumerate().fold(0, |mask, (k, b)| {
        mask | (u64::from_le_bytes(*b).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * k)
    })
}

/// All ones in the lanes of `mask`, zero elsewhere.
#[inline(always)]
pub fn spread(mask: u64) -> Lanes {
    let mut out = [0; MAX_LANES];
    for (half, lanes) in out.chunks_exact_mut(32).enumerate() {
        let m = (mask >> (32 * half)) as u32;
        for (l, x) in lanes.iter_mut().enumerate() {
            *x = if m & 1u32 << l != 0 { !0 } else { 0 };
        }
    }
    out
}

fn s16(x: u32) -> i64 {
    i64::from(x as i16)
}

fn z16(x: u32) -> i64 {
    i64::from(x as u16)
}

fn sat_u(x: i64, bits: u32, clamp: bool) -> u32 {
    if clamp { x.clamp(0, (1 << bits) - 1) as u32 } else { x as u32 & (u64::MAX >> (64 - bits)) as u32 }
}

fn sat_i(x: i64, bits: u32, clamp: bool) -> u32 {
    let max = (1i64 << (bits - 1)) - 1;
    (if clamp { x.clamp(-max - 1, max) } else { x }) as u32 & (u64::MAX >> (64 - bits)) as u32
}

fn norm16(x: f32) -> u32 {
    if x.is_nan() {
        0
    } else {
        ((f64::from(x.clamp(-1.0, 1.0)) * 32767.0).round_ties_even() as i32 as u32) & 0xffff
    }
}

fn unorm16(x: f32) -> u32 {
    (f64::from(x.clamp(0.0, 1.0)) * 65535.0).round_ties_even() as u32 & 0xffff
}

fn med(a: i64, b: i64, c: i64) -> i64 {
    a.min(b).max(a.max(b).min(c))
}

/// `v_sin` and `v_cos`: of `x` turns, of which there may be 256 unless `any`.
///
/// Source: Vega ISA, `V_SIN_F32`, for the range; that GFX9 has none is what LLVM and Mesa rely on.
fn sin_turns(x: f32, cos: bool, any: bool) -> f32 {
    if x.is_nan() || x.is_infinite() {
        return f32::NAN;
    }
    if x.abs() > 256.0 && !any {
        return if cos { 1.0 } else { 0.0 };
    }
    let t = f64::from(x);
    let t = t - t.round();
    // Exact at multiples of a quarter turn.
    let quarter = t * 4.0;
    if quarter == quarter.round() {
        let q = (quarter as i64).rem_euclid(4);
        let table = if cos { [1.0, 0.0, -1.0, 0.0] } else { [0.0f32, 1.0, 0.0, -1.0] };
        let v = table[q as usize];
        return if v == 0.0 && !cos { 0f32.copysign(x) } else { v };
    }
    let r = t * std::f64::consts::TAU;
    (if cos { r.cos() } else { r.sin() }) as f32
}

/// The product of `v_mad`, rounded by itself and flushed, plus `c`.
fn mad(a: f32, b: f32, c: f32) -> f32 {
    f(fp::flush32((a * b).to_bits())) + c
}

fn fma16(a: u32, b: u32, c: u32, round: Round) -> u32 {
    if round != Round::Even {
        return fp::fma_exact(fp::F16, fp::F16, z(a), z(b), z(c), 0, round) as u32;
    }
    // A product of 22 bits and a sum that binary64 cannot round to a tie it is not.
    let (a, b, c) = (f16_to_f32(a), f16_to_f32(b), f16_to_f32(c));
    let r = f64::from(a) * f64::from(b) + f64::from(c);
    if r.is_nan() { f32_to_f16(fp::fma(a, b, c)) } else { fp::f64_to_f16(r) }
}

/// The low half.
fn z(x: u32) -> u64 {
    u64::from(x & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_lanes() {
        for mask in [0, 1, 1 << 63, 0x0123_4567_89ab_cdef, u64::MAX] {
            let lanes = spread(mask);
            assert_eq!(mask_of(|l| lanes[l] != 0), mask);
            assert!(lanes.iter().all(|x| *x == 0 || *x == !0));
        }
    }

    #[test]
    fn sines_at_quarter_turns() {
        assert_eq!(sin_turns(0.25, false, false), 1.0);
        assert_eq!(sin_turns(0.5, true, false), -1.0);
        assert_eq!(sin_turns(300.25, true, false), 1.0);
        assert_eq!(sin_turns(300.25, true, true), 0.0);
    }
}
