//! Vector ALU: what each operation computes for the 64 lanes.
//!
//! [`compute`] is a pure function from fetched sources (modifiers applied, denormals flushed, sub-dword parts extracted) to results before
//! output modifiers, so that `exec` can handle those, and undefined bits, in one place for all operations. The loops run over all
//! lanes, active or not, so that they vectorise; the caller writes active lanes only.
//!
//! Approximations: `v_rcp`, `v_rsq`, `v_sqrt`, `v_exp`, `v_log`, `v_sin` and `v_cos` give the correctly rounded result or nearly so; hardware is within
//! 1 ulp of it (2^-29 relative for the 64-bit ones), by tables that are not public.

use crate::fp::{self, F16, F32, F64, Round, f16_to_f32, f32_to_f16};
use crate::wave::{LANES, Lanes};
use mir::isa::Opcode;
use mir::isa::Opcode::*;

/// A value of up to 64 bits in each lane.
#[derive(Clone, Debug)]
pub struct Val {
    /// Low dwords.
    pub lo: Lanes,
    /// High dwords.
    pub hi: Lanes,
}

impl Default for Val {
    fn default() -> Self {
        Self { lo: [0; LANES], hi: [0; LANES] }
    }
}

impl Val {
    #[inline]
    /// All 64 bits in lane `l`.
    pub fn w(&self, l: usize) -> u64 {
        u64::from(self.lo[l]) | u64::from(self.hi[l]) << 32
    }
}

/// Fetched sources.
#[derive(Clone, Debug, Default)]
pub struct In {
    /// The sources in order; a source that is also the destination comes last.
    pub s: [Val; 3],
    /// Lane mask read: carry in, condition, or VCC of `v_div_fmas`.
    pub mask: u64,
}

/// Results.
#[derive(Clone, Debug, Default)]
pub struct Out {
    /// The vector result.
    pub d: Val,
    /// The lane mask: carry out, comparison, `v_div_scale`.
    pub mask: u64,
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
    /// Bits of VOP3P: `op_sel`, `op_sel_hi`, `neg_lo`, `neg_hi`.
    pub packed: [u8; 4],
}

#[inline]
fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

#[inline(always)]
fn m1(i: &In, o: &mut Out, op: impl Fn(u32) -> u32) {
    for l in 0..LANES {
        o.d.lo[l] = op(i.s[0].lo[l]);
    }
}

#[inline(always)]
fn m2(i: &In, o: &mut Out, op: impl Fn(u32, u32) -> u32) {
    for l in 0..LANES {
        o.d.lo[l] = op(i.s[0].lo[l], i.s[1].lo[l]);
    }
}

#[inline(always)]
fn m3(i: &In, o: &mut Out, op: impl Fn(u32, u32, u32) -> u32) {
    for l in 0..LANES {
        o.d.lo[l] = op(i.s[0].lo[l], i.s[1].lo[l], i.s[2].lo[l]);
    }
}

/// Makes NaN results look like the hardware's, in the rare case that there are any.
#[inline(always)]
fn fix_nans(i: &In, o: &mut Out, sources: usize) {
    let nan = |x: u32| x & 0x7fff_ffff > 0x7f80_0000;
    if !o.d.lo.iter().fold(false, |any, x| any | nan(*x)) {
        return;
    }
    for l in 0..LANES {
        if nan(o.d.lo[l]) {
            let source = (0..sources).map(|k| i.s[k].lo[l]).find(|x| nan(*x));
            o.d.lo[l] = source.map_or(0x7fc0_0000, |x| x | 0x40_0000);
        }
    }
}

#[inline(always)]
fn f1(i: &In, o: &mut Out, op: impl Fn(f32) -> f32) {
    m1(i, o, |a| op(f(a)).to_bits());
    fix_nans(i, o, 1);
}

#[inline(always)]
fn f2(i: &In, o: &mut Out, op: impl Fn(f32, f32) -> f32) {
    m2(i, o, |a, b| op(f(a), f(b)).to_bits());
    fix_nans(i, o, 2);
}

#[inline(always)]
fn w1(i: &In, o: &mut Out, op: impl Fn(u64) -> u64) {
    for l in 0..LANES {
        let d = op(i.s[0].w(l));
        o.d.lo[l] = d as u32;
        o.d.hi[l] = (d >> 32) as u32;
    }
}

#[inline(always)]
fn w2(i: &In, o: &mut Out, op: impl Fn(u64, u64) -> u64) {
    for l in 0..LANES {
        let d = op(i.s[0].w(l), i.s[1].w(l));
        o.d.lo[l] = d as u32;
        o.d.hi[l] = (d >> 32) as u32;
    }
}

#[inline(always)]
fn w3(i: &In, o: &mut Out, op: impl Fn(u64, u64, u64) -> u64) {
    for l in 0..LANES {
        let d = op(i.s[0].w(l), i.s[1].w(l), i.s[2].w(l));
        o.d.lo[l] = d as u32;
        o.d.hi[l] = (d >> 32) as u32;
    }
}

#[inline(always)]
fn d1(i: &In, o: &mut Out, op: impl Fn(f64) -> f64) {
    w1(i, o, |a| {
        let a = f64::from_bits(a);
        fp::nan2d(op(a), a, 0.0).to_bits()
    });
}

#[inline(always)]
fn d2(i: &In, o: &mut Out, op: impl Fn(f64, f64) -> f64) {
    w2(i, o, |a, b| {
        let (a, b) = (f64::from_bits(a), f64::from_bits(b));
        fp::nan2d(op(a, b), a, b).to_bits()
    });
}

/// One rounding to binary16 of a result that binary32 holds well enough (sums, products, quotients).
#[inline(always)]
fn h1(i: &In, o: &mut Out, op: impl Fn(f32) -> f32) {
    m1(i, o, |a| f32_to_f16(fp::nan2(op(f16_to_f32(a)), f16_to_f32(a), 0.0)));
}

#[inline(always)]
fn h2(i: &In, o: &mut Out, op: impl Fn(f32, f32) -> f32) {
    m2(i, o, |a, b| {
        let (a, b) = (f16_to_f32(a), f16_to_f32(b));
        f32_to_f16(fp::nan2(op(a, b), a, b))
    });
}

#[inline(always)]
fn carry(i: &In, o: &mut Out, op: impl Fn(u32, u32, u32) -> (u32, bool)) {
    let mut mask = 0;
    for l in 0..LANES {
        let (d, c) = op(i.s[0].lo[l], i.s[1].lo[l], (i.mask >> l & 1) as u32);
        o.d.lo[l] = d;
        mask |= u64::from(c) << l;
    }
    o.mask = mask;
}

fn add_carry(a: u32, b: u32, c: u32, clamp: bool) -> (u32, bool) {
    let sum = u64::from(a) + u64::from(b) + u64::from(c);
    (if clamp { sum.min(0xffff_ffff) as u32 } else { sum as u32 }, sum >> 32 != 0)
}

fn sub_borrow(a: u32, b: u32, c: u32, clamp: bool) -> (u32, bool) {
    let d = i64::from(a) - i64::from(b) - i64::from(c);
    (if clamp { d.max(0) as u32 } else { d as u32 }, d < 0)
}

fn u24(x: u32) -> u32 {
    x & 0xff_ffff
}

fn i24(x: u32) -> i32 {
    (x << 8) as i32 >> 8
}

fn sat_u(x: i64, bits: u32, clamp: bool) -> u32 {
    if clamp { x.clamp(0, (1 << bits) - 1) as u32 } else { x as u32 & (u64::MAX >> (64 - bits)) as u32 }
}

fn sat_i(x: i64, bits: u32, clamp: bool) -> u32 {
    let max = (1i64 << (bits - 1)) - 1;
    (if clamp { x.clamp(-max - 1, max) } else { x }) as u32 & (u64::MAX >> (64 - bits)) as u32
}

fn s16(x: u32) -> i64 {
    i64::from(x as i16)
}

fn z16(x: u32) -> i64 {
    i64::from(x as u16)
}

fn bfe(x: u32, offset: u32, width: u32, signed: bool) -> u32 {
    let (offset, width) = (offset & 31, width & 31);
    let width = width.min(32 - offset);
    if width == 0 {
        return 0;
    }
    let up = 32 - width - offset;
    if signed { ((x << up) as i32 >> (32 - width)) as u32 } else { x << up >> (32 - width) }
}

fn sad8(a: u32, b: u32) -> u32 {
    a.to_le_bytes().iter().zip(b.to_le_bytes()).map(|(x, y)| u32::from(x.abs_diff(y))).sum()
}

fn msad8(a: u32, reference: u32) -> u32 {
    a.to_le_bytes()
        .iter()
        .zip(reference.to_le_bytes())
        .filter(|(_, r)| *r != 0)
        .map(|(x, y)| u32::from(x.abs_diff(y)))
        .sum()
}

fn add_clamp(a: u32, b: u32, clamp: bool) -> u32 {
    if clamp { a.saturating_add(b) } else { a.wrapping_add(b) }
}

fn perm(s0: u32, s1: u32, select: u32) -> u32 {
    let bytes = (u64::from(s0) << 32 | u64::from(s1)).to_le_bytes();
    let sign = |i: usize| if bytes[i] & 0x80 != 0 { 0xff } else { 0 };
    let pick = select.to_le_bytes().map(|s| match s {
        0..=7 => bytes[usize::from(s)],
        8 => sign(1),
        9 => sign(3),
        10 => sign(5),
        11 => sign(7),
        12 => 0,
        _ => 0xff,
    });
    u32::from_le_bytes(pick)
}

fn ldexp32(x: u32, n: i32, round: Round) -> u32 {
    fp::convert(F32, F32, u64::from(x), n.clamp(-1000, 1000), round) as u32
}

fn fract(x: f32) -> f32 {
    (x - x.floor()).min(0.999_999_94)
}

fn sin_turns(x: f32, cos: bool) -> f32 {
    if x.is_nan() || x.is_infinite() {
        return f32::NAN;
    }
    if x.abs() > 256.0 {
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

fn cvt_u32(x: f64) -> u32 {
    x as u32
}

fn norm16(x: f32) -> u32 {
    if x.is_nan() { 0 } else { ((x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i32 as u32) & 0xffff }
}

fn unorm16(x: f32) -> u32 {
    (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u32 & 0xffff
}

fn cube(x: f32, y: f32, z: f32) -> (f32, f32, f32, f32) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    if az >= ax && az >= ay {
        if z < 0.0 { (5.0, -x, -y, 2.0 * z) } else { (4.0, x, -y, 2.0 * z) }
    } else if ay >= ax {
        if y < 0.0 { (3.0, x, -z, 2.0 * y) } else { (2.0, x, z, 2.0 * y) }
    } else if x < 0.0 {
        (1.0, z, -y, 2.0 * x)
    } else {
        (0.0, -z, -y, 2.0 * x)
    }
}

fn legacy_mul(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

fn flush(x: f32) -> f32 {
    f(fp::flush32(x.to_bits()))
}

fn mad(a: f32, b: f32, c: f32) -> f32 {
    // The product is rounded by itself.
    flush(a * b) + c
}

fn fma16(a: u32, b: u32, c: u32) -> u32 {
    // A product of 22 bits and a sum that binary64 cannot round to a tie it is not.
    let (a, b, c) = (f16_to_f32(a), f16_to_f32(b), f16_to_f32(c));
    let r = f64::from(a) * f64::from(b) + f64::from(c);
    if r.is_nan() { f32_to_f16(fp::fma(a, b, c)) } else { fp::f64_to_f16(r) }
}

fn mad16(a: u32, b: u32, c: u32) -> u32 {
    let p = fp::flush16(f32_to_f16(fp::nan2(f16_to_f32(a) * f16_to_f32(b), f16_to_f32(a), f16_to_f32(b))));
    let (p, c) = (f16_to_f32(p), f16_to_f32(c));
    f32_to_f16(fp::nan2(p + c, p, c))
}

fn med(a: i64, b: i64, c: i64) -> i64 {
    a.min(b).max(a.max(b).min(c))
}

/// Operations whose results are rounded in another mode than to nearest even; `false`: not one of them.
fn rounded(op: Opcode, i: &In, o: &mut Out, e: &Env) -> bool {
    let neg32 = |x: u32| u64::from(x ^ 0x8000_0000);
    let one32 = 0x3f80_0000;
    let fma32 = |a: u64, b: u64, c: u64| fp::fma_exact(F32, F32, a, b, c, 0, e.round32) as u32;
    // A zero to add that does not change the sign of a zero product.
    let zero = |a: u32, b: u32| u64::from((a ^ b) & 0x8000_0000);
    match op {
        V_ADD_F32 => m2(i, o, |a, b| fma32(a.into(), one32, b.into())),
        V_SUB_F32 => m2(i, o, |a, b| fma32(a.into(), one32, neg32(b))),
        V_SUBREV_F32 => m2(i, o, |a, b| fma32(b.into(), one32, neg32(a))),
        V_MUL_F32 => m2(i, o, |a, b| fma32(a.into(), b.into(), zero(a, b))),
        V_FMA_F32 | V_FMAC_F32 => m3(i, o, |a, b, c| fma32(a.into(), b.into(), c.into())),
        V_MAD_F32 | V_MAC_F32 | V_MADAK_F32 => m3(i, o, |a, b, c| {
            let p = fp::flush32(fma32(a.into(), b.into(), zero(a, b)));
            fma32(p.into(), one32, c.into())
        }),
        V_CVT_F32_F64 => {
            for l in 0..LANES {
                o.d.lo[l] = fp::convert(F64, F32, i.s[0].w(l), 0, e.round32) as u32;
            }
        }
        V_CVT_F32_U32 => m1(i, o, |a| fp::from_int(F32, false, a.into(), e.round32) as u32),
        V_CVT_F32_I32 => m1(i, o, |a| {
            fp::from_int(F32, (a as i32) < 0, (a as i32).unsigned_abs().into(), e.round32) as u32
        }),
        V_CVT_F16_F32 => m1(i, o, |a| fp::convert(F32, F16, a.into(), 0, e.round64) as u32),
        V_ADD_F16 => {
            m2(i, o, |a, b| fp::fma_exact(F16, F16, a.into(), 0x3c00, b.into(), 0, e.round64) as u32)
        }
        V_ADD_F64 => w2(i, o, |a, b| fp::fma_exact(F64, F64, a, 0x3ff0 << 48, b, 0, e.round64)),
        V_MUL_F64 => w2(i, o, |a, b| fp::fma_exact(F64, F64, a, b, (a ^ b) & 1 << 63, 0, e.round64)),
        V_FMA_F64 => w3(i, o, |a, b, c| fp::fma_exact(F64, F64, a, b, c, 0, e.round64)),
        _ => return false,
    }
    true
}

/// The operation; `false` for what is no operation of this kind.
pub fn compute(op: Opcode, i: &In, o: &mut Out, e: &Env) -> bool {
    if (e.round32 != Round::Even || e.round64 != Round::Even) && rounded(op, i, o, e) {
        return true;
    }
    let c = e.clamp;
    match op {
        V_MOV_B32 => m1(i, o, |a| a),
        V_NOT_B32 => m1(i, o, |a| !a),
        V_BFREV_B32 => m1(i, o, u32::reverse_bits),
        V_FFBH_U32 => m1(i, o, |a| if a == 0 { !0 } else { a.leading_zeros() }),
        V_FFBL_B32 => m1(i, o, |a| if a == 0 { !0 } else { a.trailing_zeros() }),
        V_FFBH_I32 => m1(i, o, |a| {
            let x = a ^ ((a as i32) >> 31) as u32;
            if x == 0 { !0 } else { x.leading_zeros() }
        }),
        V_CVT_F32_I32 => m1(i, o, |a| (a as i32 as f32).to_bits()),
        V_CVT_F32_U32 => m1(i, o, |a| (a as f32).to_bits()),
        V_CVT_U32_F32 => m1(i, o, |a| f(a) as u32),
        V_CVT_I32_F32 => m1(i, o, |a| f(a) as i32 as u32),
        V_CVT_RPI_I32_F32 => m1(i, o, |a| (f64::from(f(a)) + 0.5).floor() as i32 as u32),
        V_CVT_FLR_I32_F32 => m1(i, o, |a| f(a).floor() as i32 as u32),
        V_CVT_OFF_F32_I4 => m1(i, o, |a| (((a << 28) as i32 >> 28) as f32 / 16.0).to_bits()),
        V_CVT_F32_UBYTE0 => m1(i, o, |a| ((a & 255) as f32).to_bits()),
        V_CVT_F32_UBYTE1 => m1(i, o, |a| ((a >> 8 & 255) as f32).to_bits()),
        V_CVT_F32_UBYTE2 => m1(i, o, |a| ((a >> 16 & 255) as f32).to_bits()),
        V_CVT_F32_UBYTE3 => m1(i, o, |a| ((a >> 24) as f32).to_bits()),
        V_CVT_F16_F32 => m1(i, o, |a| f32_to_f16(f(a))),
        V_CVT_F32_F16 => m1(i, o, |a| fp::nan2(f16_to_f32(a), f16_to_f32(a), 0.0).to_bits()),
        V_CVT_F32_F64 => {
            for l in 0..LANES {
                o.d.lo[l] = fp::convert(F64, F32, i.s[0].w(l), 0, Round::Even) as u32;
            }
        }
        V_CVT_F64_F32 => w1(i, o, |a| {
            let x = f(a as u32);
            fp::nan2d(f64::from(x), f64::from(x), 0.0).to_bits()
        }),
        V_CVT_F64_I32 => w1(i, o, |a| f64::from(a as u32 as i32).to_bits()),
        V_CVT_F64_U32 => w1(i, o, |a| f64::from(a as u32).to_bits()),
        V_CVT_I32_F64 => w1(i, o, |a| u64::from(f64::from_bits(a) as i32 as u32)),
        V_CVT_U32_F64 => w1(i, o, |a| u64::from(cvt_u32(f64::from_bits(a)))),
        V_CVT_F16_U16 => m1(i, o, |a| f32_to_f16((a & 0xffff) as f32)),
        V_CVT_F16_I16 => m1(i, o, |a| f32_to_f16(f32::from(a as i16))),
        V_CVT_U16_F16 => m1(i, o, |a| u32::from(f16_to_f32(a) as u16)),
        V_CVT_I16_F16 => m1(i, o, |a| u32::from(f16_to_f32(a) as i16 as u16)),
        V_CVT_NORM_I16_F16 => m1(i, o, |a| norm16(f16_to_f32(a))),
        V_CVT_NORM_U16_F16 => m1(i, o, |a| unorm16(f16_to_f32(a))),
        V_SAT_PK_U8_I16 => m1(i, o, |a| {
            let sat = |x: i64| x.clamp(0, 255) as u32;
            sat(s16(a)) | sat(s16(a >> 16)) << 8
        }),
        V_FRACT_F32 => f1(i, o, fract),
        V_TRUNC_F32 => f1(i, o, f32::trunc),
        V_CEIL_F32 => f1(i, o, f32::ceil),
        V_RNDNE_F32 => f1(i, o, f32::round_ties_even),
        V_FLOOR_F32 => f1(i, o, f32::floor),
        V_TRUNC_F64 => d1(i, o, f64::trunc),
        V_CEIL_F64 => d1(i, o, f64::ceil),
        V_RNDNE_F64 => d1(i, o, f64::round_ties_even),
        V_FLOOR_F64 => d1(i, o, f64::floor),
        V_FRACT_F64 => d1(i, o, |x| (x - x.floor()).min(1.0 - f64::EPSILON / 2.0)),
        V_TRUNC_F16 => h1(i, o, f32::trunc),
        V_CEIL_F16 => h1(i, o, f32::ceil),
        V_RNDNE_F16 => h1(i, o, f32::round_ties_even),
        V_FLOOR_F16 => h1(i, o, f32::floor),
        V_FRACT_F16 => h1(i, o, |x| (x - x.floor()).min(0.999_511_7)),
        V_EXP_F32 | V_EXP_LEGACY_F32 => f1(i, o, |x| f64::from(x).exp2() as f32),
        V_LOG_F32 | V_LOG_LEGACY_F32 => f1(i, o, |x| f64::from(x).log2() as f32),
        V_LOG_CLAMP_F32 => f1(i, o, |x| {
            let r = f64::from(x).log2() as f32;
            if r == f32::NEG_INFINITY { -f32::MAX } else { r }
        }),
        V_RCP_F32 | V_RCP_IFLAG_F32 => f1(i, o, |x| 1.0 / x),
        V_RCP_CLAMP_F32 => f1(i, o, |x| (1.0 / x).clamp(-f32::MAX, f32::MAX)),
        V_RCP_LEGACY_F32 => f1(i, o, |x| if x == 0.0 { 0.0 } else { 1.0 / x }),
        V_RSQ_F32 => f1(i, o, |x| (1.0 / f64::from(x).sqrt()) as f32),
        V_RSQ_CLAMP_F32 => {
            f1(i, o, |x| (1.0 / f64::from(x).sqrt()).clamp(-f64::from(f32::MAX), f64::from(f32::MAX)) as f32)
        }
        V_RSQ_LEGACY_F32 => f1(i, o, |x| if x == 0.0 { 0.0 } else { (1.0 / f64::from(x).sqrt()) as f32 }),
        V_SQRT_F32 => f1(i, o, f32::sqrt),
        V_SIN_F32 => f1(i, o, |x| sin_turns(x, false)),
        V_COS_F32 => f1(i, o, |x| sin_turns(x, true)),
        V_RCP_F64 => d1(i, o, |x| 1.0 / x),
        V_RCP_CLAMP_F64 => d1(i, o, |x| (1.0 / x).clamp(-f64::MAX, f64::MAX)),
        V_RSQ_F64 => d1(i, o, |x| 1.0 / x.sqrt()),
        V_RSQ_CLAMP_F64 => d1(i, o, |x| (1.0 / x.sqrt()).clamp(-f64::MAX, f64::MAX)),
        V_SQRT_F64 => d1(i, o, f64::sqrt),
        V_RCP_F16 => h1(i, o, |x| 1.0 / x),
        V_SQRT_F16 => h1(i, o, f32::sqrt),
        V_RSQ_F16 => h1(i, o, |x| (1.0 / f64::from(x).sqrt()) as f32),
        V_LOG_F16 => h1(i, o, |x| f64::from(x).log2() as f32),
        V_EXP_F16 => h1(i, o, |x| f64::from(x).exp2() as f32),
        V_SIN_F16 => h1(i, o, |x| sin_turns(x, false)),
        V_COS_F16 => h1(i, o, |x| sin_turns(x, true)),
        V_FREXP_EXP_I32_F32 => m1(i, o, |a| fp::frexp_exp(F32, a.into()) as u32),
        V_FREXP_EXP_I32_F64 => w1(i, o, |a| u64::from(fp::frexp_exp(F64, a) as u32)),
        V_FREXP_EXP_I16_F16 => m1(i, o, |a| fp::frexp_exp(F16, u64::from(a & 0xffff)) as u32 & 0xffff),
        V_FREXP_MANT_F32 => m1(i, o, |a| fp::frexp_mant(F32, a.into()) as u32),
        V_FREXP_MANT_F64 => w1(i, o, |a| fp::frexp_mant(F64, a)),
        V_FREXP_MANT_F16 => m1(i, o, |a| fp::frexp_mant(F16, u64::from(a & 0xffff)) as u32),
        V_CNDMASK_B32 => {
            for l in 0..LANES {
                o.d.lo[l] = if i.mask >> l & 1 != 0 { i.s[1].lo[l] } else { i.s[0].lo[l] };
            }
        }
        V_ADD_F32 => f2(i, o, |a, b| a + b),
        V_SUB_F32 => f2(i, o, |a, b| a - b),
        V_SUBREV_F32 => f2(i, o, |a, b| b - a),
        V_MUL_F32 => f2(i, o, |a, b| a * b),
        V_MUL_LEGACY_F32 => f2(i, o, legacy_mul),
        V_MIN_F32 => m2(i, o, |a, b| fp::min_max(F32, a.into(), b.into(), false, e.ieee) as u32),
        V_MAX_F32 => m2(i, o, |a, b| fp::min_max(F32, a.into(), b.into(), true, e.ieee) as u32),
        V_MIN_LEGACY_F32 => m2(i, o, |a, b| if f(a) < f(b) { a } else { b }),
        V_MAX_LEGACY_F32 => m2(i, o, |a, b| if f(a) >= f(b) { a } else { b }),
        V_ADD_F16 => h2(i, o, |a, b| a + b),
        V_SUB_F16 => h2(i, o, |a, b| a - b),
        V_SUBREV_F16 => h2(i, o, |a, b| b - a),
        V_MUL_F16 => h2(i, o, |a, b| a * b),
        V_MIN_F16 => m2(i, o, |a, b| fp::min_max(F16, z16(a) as u64, z16(b) as u64, false, e.ieee) as u32),
        V_MAX_F16 => m2(i, o, |a, b| fp::min_max(F16, z16(a) as u64, z16(b) as u64, true, e.ieee) as u32),
        V_ADD_F64 => d2(i, o, |a, b| a + b),
        V_MUL_F64 => d2(i, o, |a, b| a * b),
        V_MIN_F64 => w2(i, o, |a, b| fp::min_max(F64, a, b, false, e.ieee)),
        V_MAX_F64 => w2(i, o, |a, b| fp::min_max(F64, a, b, true, e.ieee)),
        V_FMA_F32 | V_FMAC_F32 => {
            m3(i, o, |a, b, c| f(a).mul_add(f(b), f(c)).to_bits());
            fix_nans(i, o, 3);
        }
        V_FMA_F64 => {
            w3(i, o, |a, b, c| fp::fma64(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits())
        }
        V_MAD_F32 | V_MAC_F32 | V_MADAK_F32 | V_MADMK_F32 => {
            m3(i, o, |a, b, c| mad(f(a), f(b), f(c)).to_bits());
            fix_nans(i, o, 3);
        }
        V_MAD_LEGACY_F32 | V_MAC_LEGACY_F32 => m3(i, o, |a, b, c| {
            let p = legacy_mul(f(a), f(b));
            fp::nan2(p + f(c), p, f(c)).to_bits()
        }),
        V_FMA_F16 | V_FMA_LEGACY_F16 => m3(i, o, fma16),
        V_MAD_F16 | V_MAD_LEGACY_F16 | V_MAC_F16 | V_MADAK_F16 | V_MADMK_F16 => m3(i, o, mad16),
        V_MUL_I32_I24 => m2(i, o, |a, b| sat_i(i64::from(i24(a)) * i64::from(i24(b)), 32, c)),
        V_MUL_HI_I32_I24 => m2(i, o, |a, b| ((i64::from(i24(a)) * i64::from(i24(b))) >> 32) as u32),
        V_MUL_U32_U24 => m2(i, o, |a, b| sat_u(i64::from(u24(a)) * i64::from(u24(b)), 32, c)),
        V_MUL_HI_U32_U24 => m2(i, o, |a, b| ((u64::from(u24(a)) * u64::from(u24(b))) >> 32) as u32),
        V_MAD_I32_I24 => {
            m3(i, o, |a, b, x| sat_i(i64::from(i24(a)) * i64::from(i24(b)) + i64::from(x as i32), 32, c))
        }
        V_MAD_U32_U24 => {
            m3(i, o, |a, b, x| sat_u(i64::from(u24(a)) * i64::from(u24(b)) + i64::from(x), 32, c))
        }
        V_MIN_I32 => m2(i, o, |a, b| (a as i32).min(b as i32) as u32),
        V_MAX_I32 => m2(i, o, |a, b| (a as i32).max(b as i32) as u32),
        V_MIN_U32 => m2(i, o, u32::min),
        V_MAX_U32 => m2(i, o, u32::max),
        V_LSHRREV_B32 => m2(i, o, |a, b| b >> (a & 31)),
        V_ASHRREV_I32 => m2(i, o, |a, b| ((b as i32) >> (a & 31)) as u32),
        V_LSHLREV_B32 => m2(i, o, |a, b| b << (a & 31)),
        V_LSHR_B32 => m2(i, o, |a, b| a >> (b & 31)),
        V_ASHR_I32 => m2(i, o, |a, b| ((a as i32) >> (b & 31)) as u32),
        V_LSHL_B32 => m2(i, o, |a, b| a << (b & 31)),
        V_AND_B32 => m2(i, o, |a, b| a & b),
        V_OR_B32 => m2(i, o, |a, b| a | b),
        V_XOR_B32 => m2(i, o, |a, b| a ^ b),
        V_XNOR_B32 => m2(i, o, |a, b| !(a ^ b)),
        V_BFM_B32 => m2(i, o, |a, b| (1u32 << (a & 31)).wrapping_sub(1) << (b & 31)),
        V_BCNT_U32_B32 => m2(i, o, |a, b| a.count_ones().wrapping_add(b)),
        V_MBCNT_LO_U32_B32 => {
            for l in 0..LANES {
                let below = if l >= 32 { !0 } else { (1u32 << l) - 1 };
                o.d.lo[l] = (i.s[0].lo[l] & below).count_ones().wrapping_add(i.s[1].lo[l]);
            }
        }
        V_MBCNT_HI_U32_B32 => {
            for l in 0..LANES {
                let below = if l >= 32 { (1u32 << (l - 32)) - 1 } else { 0 };
                o.d.lo[l] = (i.s[0].lo[l] & below).count_ones().wrapping_add(i.s[1].lo[l]);
            }
        }
        V_ADD_CO_U32 => carry(i, o, |a, b, _| add_carry(a, b, 0, c)),
        V_SUB_CO_U32 => carry(i, o, |a, b, _| sub_borrow(a, b, 0, c)),
        V_SUBREV_CO_U32 => carry(i, o, |a, b, _| sub_borrow(b, a, 0, c)),
        V_ADDC_CO_U32 => carry(i, o, |a, b, x| add_carry(a, b, x, c)),
        V_SUBB_CO_U32 => carry(i, o, |a, b, x| sub_borrow(a, b, x, c)),
        V_SUBBREV_CO_U32 => carry(i, o, |a, b, x| sub_borrow(b, a, x, c)),
        V_ADD_U32 if !c => m2(i, o, u32::wrapping_add),
        V_SUB_U32 if !c => m2(i, o, u32::wrapping_sub),
        V_SUBREV_U32 if !c => m2(i, o, |a, b| b.wrapping_sub(a)),
        V_ADD_U32 => m2(i, o, u32::saturating_add),
        V_SUB_U32 => m2(i, o, u32::saturating_sub),
        V_SUBREV_U32 => m2(i, o, |a, b| b.saturating_sub(a)),
        V_ADD_I32 => m2(i, o, |a, b| sat_i(i64::from(a as i32) + i64::from(b as i32), 32, c)),
        V_SUB_I32 => m2(i, o, |a, b| sat_i(i64::from(a as i32) - i64::from(b as i32), 32, c)),
        V_ADD_U16 => m2(i, o, |a, b| sat_u(z16(a) + z16(b), 16, c)),
        V_SUB_U16 => m2(i, o, |a, b| sat_u(z16(a) - z16(b), 16, c)),
        V_SUBREV_U16 => m2(i, o, |a, b| sat_u(z16(b) - z16(a), 16, c)),
        V_ADD_I16 => m2(i, o, |a, b| sat_i(s16(a) + s16(b), 16, c)),
        V_SUB_I16 => m2(i, o, |a, b| sat_i(s16(a) - s16(b), 16, c)),
        V_MUL_LO_U16 => m2(i, o, |a, b| a.wrapping_mul(b) & 0xffff),
        V_LSHLREV_B16 => m2(i, o, |a, b| b << (a & 15) & 0xffff),
        V_LSHRREV_B16 => m2(i, o, |a, b| (b & 0xffff) >> (a & 15)),
        V_ASHRREV_I16 => m2(i, o, |a, b| (s16(b) >> (a & 15)) as u32 & 0xffff),
        V_MAX_U16 => m2(i, o, |a, b| z16(a).max(z16(b)) as u32),
        V_MAX_I16 => m2(i, o, |a, b| s16(a).max(s16(b)) as u32 & 0xffff),
        V_MIN_U16 => m2(i, o, |a, b| z16(a).min(z16(b)) as u32),
        V_MIN_I16 => m2(i, o, |a, b| s16(a).min(s16(b)) as u32 & 0xffff),
        V_MAD_U16 | V_MAD_LEGACY_U16 => m3(i, o, |a, b, x| sat_u(z16(a) * z16(b) + z16(x), 16, c)),
        V_MAD_I16 | V_MAD_LEGACY_I16 => m3(i, o, |a, b, x| sat_i(s16(a) * s16(b) + s16(x), 16, c)),
        V_MAD_U32_U16 => m3(i, o, |a, b, x| sat_u(z16(a) * z16(b) + i64::from(x), 32, c)),
        V_MAD_I32_I16 => m3(i, o, |a, b, x| sat_i(s16(a) * s16(b) + i64::from(x as i32), 32, c)),
        V_LDEXP_F32 => m2(i, o, |a, b| ldexp32(a, b as i32, e.round32)),
        V_LDEXP_F64 => {
            w2(i, o, |a, b| fp::convert(F64, F64, a, (b as u32 as i32).clamp(-5000, 5000), e.round64))
        }
        V_LDEXP_F16 => m2(i, o, |a, b| {
            fp::convert(F16, F16, u64::from(a & 0xffff), i32::from(b as i16).clamp(-100, 100), e.round64)
                as u32
        }),
        V_CVT_PKNORM_I16_F32 => m2(i, o, |a, b| norm16(f(a)) | norm16(f(b)) << 16),
        V_CVT_PKNORM_U16_F32 => m2(i, o, |a, b| unorm16(f(a)) | unorm16(f(b)) << 16),
        V_CVT_PKNORM_I16_F16 => m2(i, o, |a, b| norm16(f16_to_f32(a)) | norm16(f16_to_f32(b)) << 16),
        V_CVT_PKNORM_U16_F16 => m2(i, o, |a, b| unorm16(f16_to_f32(a)) | unorm16(f16_to_f32(b)) << 16),
        V_CVT_PKRTZ_F16_F32 => m2(i, o, |a, b| {
            let h = |x: u32| fp::convert(F32, F16, x.into(), 0, Round::Zero) as u32;
            h(a) | h(b) << 16
        }),
        V_CVT_PK_U16_U32 => m2(i, o, |a, b| a.min(0xffff) | b.min(0xffff) << 16),
        V_CVT_PK_I16_I32 => m2(i, o, |a, b| {
            let h = |x: u32| sat_i(i64::from(x as i32), 16, true);
            h(a) | h(b) << 16
        }),
        V_CVT_PK_U8_F32 => m3(i, o, |a, b, x| {
            let shift = (b & 3) * 8;
            let byte = u32::from(f(a).round_ties_even() as u8);
            x & !(0xff << shift) | byte << shift
        }),
        V_PACK_B32_F16 => m2(i, o, |a, b| a & 0xffff | b << 16),
        V_BFE_U32 => m3(i, o, |a, b, c| bfe(a, b, c, false)),
        V_BFE_I32 => m3(i, o, |a, b, c| bfe(a, b, c, true)),
        V_BFI_B32 => m3(i, o, |a, b, c| a & b | !a & c),
        V_LERP_U8 => m3(i, o, |a, b, c| {
            let (a, b, c) = (a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes());
            u32::from_le_bytes(std::array::from_fn(|k| {
                ((u32::from(a[k]) + u32::from(b[k]) + u32::from(c[k] & 1)) >> 1) as u8
            }))
        }),
        V_ALIGNBIT_B32 => m3(i, o, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32),
        V_ALIGNBYTE_B32 => m3(i, o, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32),
        V_MIN3_F32 | V_MAX3_F32 => {
            let max = op == V_MAX3_F32;
            m3(i, o, |a, b, c| {
                let ab = fp::min_max(F32, a.into(), b.into(), max, e.ieee);
                fp::min_max(F32, ab, c.into(), max, e.ieee) as u32
            });
        }
        V_MED3_F32 => m3(i, o, |a, b, c| fp::med3(F32, a.into(), b.into(), c.into(), e.ieee) as u32),
        V_MIN3_F16 | V_MAX3_F16 => {
            let max = op == V_MAX3_F16;
            m3(i, o, |a, b, c| {
                let ab = fp::min_max(F16, z16(a) as u64, z16(b) as u64, max, e.ieee);
                fp::min_max(F16, ab, z16(c) as u64, max, e.ieee) as u32
            });
        }
        V_MED3_F16 => {
            m3(i, o, |a, b, c| fp::med3(F16, z16(a) as u64, z16(b) as u64, z16(c) as u64, e.ieee) as u32)
        }
        V_MIN3_I32 => m3(i, o, |a, b, c| (a as i32).min(b as i32).min(c as i32) as u32),
        V_MAX3_I32 => m3(i, o, |a, b, c| (a as i32).max(b as i32).max(c as i32) as u32),
        V_MED3_I32 => m3(i, o, |a, b, c| med((a as i32).into(), (b as i32).into(), (c as i32).into()) as u32),
        V_MIN3_U32 => m3(i, o, |a, b, c| a.min(b).min(c)),
        V_MAX3_U32 => m3(i, o, |a, b, c| a.max(b).max(c)),
        V_MED3_U32 => m3(i, o, |a, b, c| med(a.into(), b.into(), c.into()) as u32),
        V_MIN3_I16 => m3(i, o, |a, b, c| s16(a).min(s16(b)).min(s16(c)) as u32 & 0xffff),
        V_MAX3_I16 => m3(i, o, |a, b, c| s16(a).max(s16(b)).max(s16(c)) as u32 & 0xffff),
        V_MED3_I16 => m3(i, o, |a, b, c| med(s16(a), s16(b), s16(c)) as u32 & 0xffff),
        V_MIN3_U16 => m3(i, o, |a, b, c| z16(a).min(z16(b)).min(z16(c)) as u32),
        V_MAX3_U16 => m3(i, o, |a, b, c| z16(a).max(z16(b)).max(z16(c)) as u32),
        V_MED3_U16 => m3(i, o, |a, b, c| med(z16(a), z16(b), z16(c)) as u32),
        V_SAD_U8 => m3(i, o, |a, b, x| add_clamp(sad8(a, b), x, c)),
        V_SAD_HI_U8 => m3(i, o, |a, b, x| add_clamp(sad8(a, b) << 16, x, c)),
        V_SAD_U16 => m3(i, o, |a, b, x| {
            let sum = (z16(a) - z16(b)).unsigned_abs() + (z16(a >> 16) - z16(b >> 16)).unsigned_abs();
            add_clamp(sum as u32, x, c)
        }),
        V_SAD_U32 => m3(i, o, |a, b, x| add_clamp(a.abs_diff(b), x, c)),
        V_MSAD_U8 => m3(i, o, |a, b, x| add_clamp(msad8(a, b), x, c)),
        V_QSAD_PK_U16_U8 | V_MQSAD_PK_U16_U8 => w3(i, o, |a, b, x| {
            (0..4).fold(0, |d, k| {
                let window = (a >> (8 * k)) as u32;
                let sad =
                    if op == V_QSAD_PK_U16_U8 { sad8(window, b as u32) } else { msad8(window, b as u32) };
                let sum = u64::from(sad) + (x >> (16 * k) & 0xffff);
                d | (if c { sum.min(0xffff) } else { sum & 0xffff }) << (16 * k)
            })
        }),
        V_DIV_FIXUP_F32 => m3(i, o, |a, b, c| fp::div_fixup(F32, a.into(), b.into(), c.into()) as u32),
        V_DIV_FIXUP_F64 => w3(i, o, |a, b, c| fp::div_fixup(F64, a, b, c)),
        V_DIV_FIXUP_F16 | V_DIV_FIXUP_LEGACY_F16 => {
            m3(i, o, |a, b, c| fp::div_fixup(F16, z16(a) as u64, z16(b) as u64, z16(c) as u64) as u32)
        }
        V_DIV_SCALE_F32 | V_DIV_SCALE_F64 => {
            let fmt = if op == V_DIV_SCALE_F32 { F32 } else { F64 };
            o.mask = 0;
            for l in 0..LANES {
                let (d, vcc) = fp::div_scale(fmt, i.s[0].w(l), i.s[1].w(l), i.s[2].w(l));
                o.d.lo[l] = d as u32;
                o.d.hi[l] = (d >> 32) as u32;
                o.mask |= u64::from(vcc) << l;
            }
        }
        V_DIV_FMAS_F32 | V_DIV_FMAS_F64 => {
            let (fmt, round) = if op == V_DIV_FMAS_F32 { (F32, e.round32) } else { (F64, e.round64) };
            for l in 0..LANES {
                let vcc = i.mask >> l & 1 != 0;
                let d = fp::div_fmas(fmt, i.s[0].w(l), i.s[1].w(l), i.s[2].w(l), vcc, round);
                o.d.lo[l] = d as u32;
                o.d.hi[l] = (d >> 32) as u32;
            }
        }
        V_MAD_U64_U32 | V_MAD_I64_I32 => {
            o.mask = 0;
            for l in 0..LANES {
                let (a, b, x) = (i.s[0].lo[l], i.s[1].lo[l], i.s[2].w(l));
                let (d, over) = if op == V_MAD_U64_U32 {
                    (u64::from(a) * u64::from(b)).overflowing_add(x)
                } else {
                    let p = i64::from(a as i32) * i64::from(b as i32);
                    let (d, over) = p.overflowing_add(x as i64);
                    (d as u64, over)
                };
                o.d.lo[l] = d as u32;
                o.d.hi[l] = (d >> 32) as u32;
                o.mask |= u64::from(over) << l;
            }
        }
        V_PERM_B32 => m3(i, o, perm),
        V_XAD_U32 => m3(i, o, |a, b, c| (a ^ b).wrapping_add(c)),
        V_LSHL_ADD_U32 => m3(i, o, |a, b, c| (a << (b & 31)).wrapping_add(c)),
        V_ADD_LSHL_U32 => m3(i, o, |a, b, c| a.wrapping_add(b) << (c & 31)),
        V_ADD3_U32 => m3(i, o, |a, b, c| a.wrapping_add(b).wrapping_add(c)),
        V_LSHL_OR_B32 => m3(i, o, |a, b, c| a << (b & 31) | c),
        V_AND_OR_B32 => m3(i, o, |a, b, c| a & b | c),
        V_OR3_B32 => m3(i, o, |a, b, c| a | b | c),
        V_MUL_LO_U32 | V_MUL_LO_I32 => m2(i, o, u32::wrapping_mul),
        V_MUL_HI_U32 => m2(i, o, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        V_MUL_HI_I32 => m2(i, o, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        V_LSHLREV_B64 => w2(i, o, |a, b| b << (a & 63)),
        V_LSHRREV_B64 => w2(i, o, |a, b| b >> (a & 63)),
        V_ASHRREV_I64 => w2(i, o, |a, b| ((b as i64) >> (a & 63)) as u64),
        V_LSHL_B64 => w2(i, o, |a, b| a << (b & 63)),
        V_LSHR_B64 => w2(i, o, |a, b| a >> (b & 63)),
        V_ASHR_I64 => w2(i, o, |a, b| ((a as i64) >> (b & 63)) as u64),
        V_TRIG_PREOP_F64 => w2(i, o, |a, b| fp::trig_preop(a, b as u32)),
        V_CUBEID_F32 => m3(i, o, |a, b, c| cube(f(a), f(b), f(c)).0.to_bits()),
        V_CUBESC_F32 => m3(i, o, |a, b, c| cube(f(a), f(b), f(c)).1.to_bits()),
        V_CUBETC_F32 => m3(i, o, |a, b, c| cube(f(a), f(b), f(c)).2.to_bits()),
        V_CUBEMA_F32 => m3(i, o, |a, b, c| cube(f(a), f(b), f(c)).3.to_bits()),
        _ => return packed(op, i, o, e),
    }
    true
}

/// VOP3P: each half of the result from the halves that `op_sel` and `op_sel_hi` name.
fn packed(op: Opcode, i: &In, o: &mut Out, e: &Env) -> bool {
    let c = e.clamp;
    let float = matches!(op, V_PK_FMA_F16 | V_PK_ADD_F16 | V_PK_MUL_F16 | V_PK_MIN_F16 | V_PK_MAX_F16);
    let [sel_lo, sel_hi, neg_lo, neg_hi] = e.packed;
    let half = |x: u32, source: u32, high: bool| -> u32 {
        let (sel, neg) = if high { (sel_hi, neg_hi) } else { (sel_lo, neg_lo) };
        let h = if sel >> source & 1 != 0 { x >> 16 } else { x & 0xffff };
        if float && neg >> source & 1 != 0 { h ^ 0x8000 } else { h }
    };
    let r16 = |x: f32, a: f32, b: f32| f32_to_f16(fp::nan2(x, a, b));
    let one: &dyn Fn(u32, u32, u32) -> u32 = match op {
        V_PK_MAD_I16 => &|a, b, x| sat_i(s16(a) * s16(b) + s16(x), 16, c),
        V_PK_MAD_U16 => &|a, b, x| sat_u(z16(a) * z16(b) + z16(x), 16, c),
        V_PK_MUL_LO_U16 => &|a, b, _| a.wrapping_mul(b) & 0xffff,
        V_PK_ADD_I16 => &|a, b, _| sat_i(s16(a) + s16(b), 16, c),
        V_PK_SUB_I16 => &|a, b, _| sat_i(s16(a) - s16(b), 16, c),
        V_PK_ADD_U16 => &|a, b, _| sat_u(z16(a) + z16(b), 16, c),
        V_PK_SUB_U16 => &|a, b, _| sat_u(z16(a) - z16(b), 16, c),
        V_PK_LSHLREV_B16 => &|a, b, _| b << (a & 15) & 0xffff,
        V_PK_LSHRREV_B16 => &|a, b, _| b >> (a & 15),
        V_PK_ASHRREV_I16 => &|a, b, _| (s16(b) >> (a & 15)) as u32 & 0xffff,
        V_PK_MAX_I16 => &|a, b, _| s16(a).max(s16(b)) as u32 & 0xffff,
        V_PK_MIN_I16 => &|a, b, _| s16(a).min(s16(b)) as u32 & 0xffff,
        V_PK_MAX_U16 => &|a, b, _| a.max(b),
        V_PK_MIN_U16 => &|a, b, _| a.min(b),
        V_PK_FMA_F16 => &fma16,
        V_PK_ADD_F16 => &|a, b, _| r16(f16_to_f32(a) + f16_to_f32(b), f16_to_f32(a), f16_to_f32(b)),
        V_PK_MUL_F16 => &|a, b, _| r16(f16_to_f32(a) * f16_to_f32(b), f16_to_f32(a), f16_to_f32(b)),
        V_PK_MIN_F16 => &|a, b, _| fp::min_max(F16, a.into(), b.into(), false, e.ieee) as u32,
        V_PK_MAX_F16 => &|a, b, _| fp::min_max(F16, a.into(), b.into(), true, e.ieee) as u32,
        _ => return mixed(op, i, o, e),
    };
    for l in 0..LANES {
        let part = |high| {
            one(half(i.s[0].lo[l], 0, high), half(i.s[1].lo[l], 1, high), half(i.s[2].lo[l], 2, high))
                & 0xffff
        };
        o.d.lo[l] = part(false) | part(true) << 16;
    }
    true
}

/// Mixed precision and dot products.
fn mixed(op: Opcode, i: &In, o: &mut Out, e: &Env) -> bool {
    let [sel_lo, sel_hi, neg, abs] = e.packed;
    let source = |x: u32, k: u32| {
        let mut v = match (sel_hi >> k & 1 != 0, sel_lo >> k & 1 != 0) {
            (false, _) => f(x),
            (true, false) => f16_to_f32(x & 0xffff),
            (true, true) => f16_to_f32(x >> 16),
        };
        if abs >> k & 1 != 0 {
            v = v.abs();
        }
        if neg >> k & 1 != 0 { -v } else { v }
    };
    let dot = |a: u32, b: u32, bits: u32, signed: bool| -> i64 {
        (0..32 / bits)
            .map(|k| {
                let part = |x: u32| {
                    let x = x >> (k * bits) << (32 - bits);
                    if signed { i64::from(x as i32 >> (32 - bits)) } else { i64::from(x >> (32 - bits)) }
                };
                part(a) * part(b)
            })
            .sum()
    };
    match op {
        V_MAD_MIX_F32 | V_FMA_MIX_F32 | V_MAD_MIXLO_F16 | V_FMA_MIXLO_F16 | V_MAD_MIXHI_F16
        | V_FMA_MIXHI_F16 => {
            let fused = matches!(op, V_FMA_MIX_F32 | V_FMA_MIXLO_F16 | V_FMA_MIXHI_F16);
            m3(i, o, |a, b, c| {
                let (a, b, c) = (source(a, 0), source(b, 1), source(c, 2));
                let r = if fused { fp::fma(a, b, c) } else { mad(flush(a), flush(b), flush(c)) };
                let r = if r.is_nan() { fp::fma(a, b, c) } else { r };
                if matches!(op, V_MAD_MIX_F32 | V_FMA_MIX_F32) { r.to_bits() } else { f32_to_f16(r) }
            });
        }
        V_DOT2_F32_F16 => m3(i, o, |a, b, c| {
            let h = |x: u32| f16_to_f32(x & 0xffff);
            let r = fp::fma(h(a >> 16), h(b >> 16), f(c));
            fp::fma(h(a), h(b), r).to_bits()
        }),
        V_DOT2_I32_I16 => m3(i, o, |a, b, x| sat_i(dot(a, b, 16, true) + i64::from(x as i32), 32, e.clamp)),
        V_DOT2_U32_U16 => m3(i, o, |a, b, x| sat_u(dot(a, b, 16, false) + i64::from(x), 32, e.clamp)),
        V_DOT4_I32_I8 => m3(i, o, |a, b, x| sat_i(dot(a, b, 8, true) + i64::from(x as i32), 32, e.clamp)),
        V_DOT4_U32_U8 => m3(i, o, |a, b, x| sat_u(dot(a, b, 8, false) + i64::from(x), 32, e.clamp)),
        V_DOT8_I32_I4 => m3(i, o, |a, b, x| sat_i(dot(a, b, 4, true) + i64::from(x as i32), 32, e.clamp)),
        V_DOT8_U32_U4 => m3(i, o, |a, b, x| sat_u(dot(a, b, 4, false) + i64::from(x), 32, e.clamp)),
        _ => return false,
    }
    true
}
