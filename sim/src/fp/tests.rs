//! Tests of the floating-point arithmetic against the host's.

use super::*;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn exact_fma_agrees_with_the_host() {
    let mut s = 88172645463325252;
    for _ in 0..200_000 {
        let (a, b, c) = (random(&mut s) as u32, random(&mut s) as u32, random(&mut s) as u32);
        // Bring exponents together so that sums cancel.
        let c = if c & 1 == 0 {
            c
        } else {
            (f32::from_bits(a) * f32::from_bits(b)).to_bits() ^ 0x8000_0000 ^ (c >> 28)
        };
        let want = fma(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits();
        let got = fma_exact(F32, F32, a.into(), b.into(), c.into(), 0, Round::Even) as u32;
        assert_eq!(got, want, "{a:08x} * {b:08x} + {c:08x}");
    }
    for _ in 0..100_000 {
        let (a, b, c) = (random(&mut s), random(&mut s), random(&mut s));
        let c = if c & 1 == 0 {
            c
        } else {
            (f64::from_bits(a) * f64::from_bits(b)).to_bits() ^ 1 << 63 ^ (c >> 60)
        };
        let want = fma64(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits();
        assert_eq!(fma_exact(F64, F64, a, b, c, 0, Round::Even), want, "{a:x} {b:x} {c:x}");
    }
}

#[test]
fn conversions_agree_with_the_host() {
    let mut s = 7;
    for _ in 0..100_000 {
        let a = random(&mut s);
        let want = f64::from_bits(a) as f32;
        if !want.is_nan() {
            assert_eq!(convert(F64, F32, a, 0, Round::Even) as u32, want.to_bits());
        }
        assert_eq!(from_int(F32, false, a, Round::Even) as u32, (a as f32).to_bits());
    }
    for h in 0..0x10000u32 {
        let x = f16_to_f32(h);
        if !x.is_nan() {
            assert_eq!(f32_to_f16(x), h);
        }
    }
    assert_eq!(convert(F32, F16, 0x3f80_1fff, 0, Round::Zero), 0x3c00);
    assert_eq!(convert(F32, F16, 0x3f80_1fff, 0, Round::Up), 0x3c01);
    assert_eq!(convert(F32, F16, 0x7f00_0000, 0, Round::Zero), 0x7bff);
}

/// The whole sequence of scale, reciprocal, refinement, fmas and fixup divides correctly, at the edges too.
#[test]
fn division_sequence_is_correctly_rounded() {
    let mut s = 3;
    for i in 0..200_000 {
        let (mut n, mut d) = (random(&mut s) as u32, random(&mut s) as u32);
        if i % 4 == 1 {
            n &= 0x80ff_ffff;
        }
        if i % 4 == 2 {
            d |= 0x7e00_0000;
        }
        let (nf, df) = (f32::from_bits(n), f32::from_bits(d));
        let (ds, _) = div_scale(F32, d.into(), d.into(), n.into());
        let (ns, vcc) = div_scale(F32, n.into(), d.into(), n.into());
        let (dsf, nsf) = (f32::from_bits(ds as u32), f32::from_bits(ns as u32));
        let r = 1.0 / dsf;
        let e = fma(-dsf, r, 1.0);
        let r = fma(e, r, r);
        let q = nsf * r;
        let e = fma(-dsf, q, nsf);
        let q = fma(e, r, q);
        let e = fma(-dsf, q, nsf);
        let q = div_fmas(F32, e.to_bits().into(), r.to_bits().into(), q.to_bits().into(), vcc, Round::Even);
        let q = f32::from_bits(div_fixup(F32, q, d.into(), n.into()) as u32);
        let want = nf / df;
        assert!(q == want || q.is_nan() && want.is_nan(), "{nf:e} / {df:e} = {q:e}, not {want:e}");
    }
}

#[test]
fn minimum_and_class() {
    let b = |x: f32| u64::from(x.to_bits());
    assert_eq!(min_max(F32, b(0.0), b(-0.0), false, true), b(-0.0));
    assert_eq!(min_max(F32, b(f32::NAN), b(2.0), true, true), b(2.0));
    assert_eq!(min_max(F32, 0x7f80_0001, b(2.0), true, true), 0x7fc0_0001);
    assert_eq!(med3(F32, b(3.0), b(1.0), b(2.0), true), b(2.0));
    assert_eq!(class(F32, b(-1.0)), 8);
    assert_eq!(class(F64, 1), 1 << 7);
    assert_eq!(frexp_exp(F32, b(8.0)), 4);
    assert_eq!(frexp_mant(F32, b(8.0)), b(0.5));
    assert_eq!(frexp_exp(F32, 1), -148);
    // The first segment of 2/π is its 53 highest bits.
    let want = std::f64::consts::FRAC_2_PI;
    assert!((f64::from_bits(trig_preop(1f64.to_bits(), 0)) - want).abs() < 1e-15);
}

/// The branch-free form agrees with the fused one, at cancellation, ties and denormals.
#[test]
fn fused_by_parts() {
    let mut s = 99;
    for i in 0..400_000u32 {
        let (a, b) = (random(&mut s) as u32, random(&mut s) as u32);
        let c = match i % 4 {
            0 => random(&mut s) as u32,
            1 => {
                (f32::from_bits(a) * f32::from_bits(b)).to_bits() ^ 0x8000_0000 ^ (random(&mut s) as u32 & 3)
            }
            2 => (f32::from_bits(a) * f32::from_bits(b) * 3e-8).to_bits(),
            _ => random(&mut s) as u32 & 0x80ff_ffff,
        };
        let (a, b, c) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        let (want, got) = (a.mul_add(b, c), fma32_parts(a, b, c));
        assert!(want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan(), "{a:e} * {b:e} + {c:e}");
    }
}
