// Arithmetic: integers of all widths, fixed point, floats, bit tricks.

use super::{fold, pick};

/// A 64-bit number of two words of the input.
fn pick64(input: &[u32], i: usize, k: usize) -> u64 {
    u64::from(pick(input, i, k)) << 32 | u64::from(pick(input, i, k + 1))
}

/// A finite number of moderate size with many bits.
fn real(input: &[u32], i: usize, k: usize) -> f64 {
    f64::from(pick(input, i, k) as i32) / 65536.0 + f64::from(pick(input, i, k + 1)) / 1e13
}

pub fn checked(i: usize, input: &[u32], out: &mut [u32]) {
    let (a, b) = (pick64(input, i, 0), pick64(input, i, 2));
    let none = 0xdead_beef;
    out[0] = (a as u32).checked_add(b as u32).unwrap_or(none) ^ (a as i32).checked_sub(b as i32).map_or(none, |x| x as u32);
    fold(&mut out[1..4], a.checked_mul(b >> (i % 64)).unwrap_or(7));
    fold(&mut out[1..4], (a as i64).checked_mul(b as i64 >> (i % 64)).map_or(9, |x| x as u64));
    out[4] = (a as u8).checked_shl(i as u32 % 12).map_or(none, u32::from);
    out[5] = (a as i32).checked_abs().and_then(|x| x.checked_rem(b as i32 & 15)).map_or(none, |x| x as u32);
    out[6] = (a as u16).checked_next_power_of_two().map_or(none, u32::from);
    out[7] = 3u32.checked_pow(i as u32 % 24).unwrap_or(none);
}

pub fn saturating(i: usize, input: &[u32], out: &mut [u32]) {
    let (a, b) = (pick64(input, i, 0), pick64(input, i, 2));
    out[0] = u32::from((a as u8).saturating_add(b as u8)) | u32::from((a as i8).saturating_sub(b as i8) as u8) << 8;
    out[1] = u32::from((a as u16).saturating_sub(b as u16)) | u32::from((a as i16).saturating_add(b as i16) as u16) << 16;
    out[2] = (a as i32).saturating_mul(b as i32 >> (i % 32)) as u32;
    fold(&mut out[3..6], a.saturating_add(b) ^ (a as i64).saturating_sub(b as i64) as u64);
    fold(&mut out[3..6], (a as i64).saturating_mul(b as i64 >> 40) as u64);
    out[6] = (a as i32).saturating_neg() as u32 ^ (b as i32).saturating_abs() as u32;
    out[7] = (a as u32 >> 26).saturating_pow(i as u32 % 8);
}

pub fn narrow(i: usize, input: &[u32], out: &mut [u32]) {
    let (mut a, mut b, mut c) = (pick(input, i, 0) as u8, pick(input, i, 1) as i8, pick(input, i, 2) as i16);
    for k in 0..9 {
        a = a.wrapping_mul(37).wrapping_add(b as u8).rotate_left(k);
        b = (b >> 1) ^ a as i8;
        c = c.wrapping_sub(i16::from(b).wrapping_mul(i16::from(a as i8))).swap_bytes();
    }
    out[0] = u32::from(a) | u32::from(b as u8) << 8 | u32::from(c as u16) << 16;
    out[1] = i32::from(b).rem_euclid(7) as u32 | (u32::from(a.isqrt()) << 8) | u32::from(a.ilog2_or()) << 16;
    out[2] = (i32::from(c).abs_diff(i32::from(b))) ^ u32::from(a.reverse_bits());
    out[3] = u32::from(a.is_power_of_two()) | u32::from(c.is_negative()) << 1 | u32::from(b.signum() as u8) << 8;
}

trait Log { fn ilog2_or(self) -> u8; }
impl Log for u8 { fn ilog2_or(self) -> u8 { self.checked_ilog2().map_or(255, |x| x as u8) } }

pub fn wide_shifts(i: usize, input: &[u32], out: &mut [u32]) {
    let x = u128::from(pick64(input, i, 0)) << 64 | u128::from(pick64(input, i, 2));
    let by = pick(input, i, 4) % 128;
    for value in [x << by, x >> by, ((x as i128) >> by) as u128, x.rotate_left(by), x.reverse_bits(), x.swap_bytes()] {
        fold(&mut out[..6], value as u64);
        fold(&mut out[..6], (value >> 64) as u64);
    }
    out[6] = x.count_ones() | (x << by).trailing_zeros() << 8 | (x >> by).leading_zeros() << 16;
    out[7] = u32::from((x as i128) < (x.rotate_left(by) as i128)) | u32::from(x < x.rotate_left(by)) << 1;
}

pub fn wide_checked(i: usize, input: &[u32], out: &mut [u32]) {
    let x = u128::from(pick64(input, i, 0)) << 64 | u128::from(pick64(input, i, 2));
    let y = x.rotate_left(77) >> (i % 128);
    fold(out, x.checked_mul(y).map_or(1, |p| (p >> 50) as u64));
    fold(out, (x as i128).checked_add(y as i128).map_or(2, |s| (s >> 64) as u64));
    fold(out, x.saturating_sub(y) as u64);
    fold(out, (x as i128).overflowing_sub(y as i128).1.into());
    fold(out, ((x >> 64).isqrt() as u64) ^ x.abs_diff(y) as u64);
}

pub fn wide_to_float(i: usize, input: &[u32], out: &mut [u32]) {
    let x = (u128::from(pick64(input, i, 0)) << 64 | u128::from(pick64(input, i, 2))) >> (i % 128);
    fold(&mut out[..4], (x as f64).to_bits());
    fold(&mut out[..4], (x as i128 as f64).to_bits());
    out[4] = (x as f32).to_bits();
    let big = real(input, i, 5) * 1e30;
    fold(&mut out[5..8], (big as i128 >> 60) as u64);
    fold(&mut out[5..8], (big as u128 >> 60) as u64);
}

pub fn fixed_point(i: usize, input: &[u32], out: &mut [u32]) {
    /// Q16.16.
    #[derive(Clone, Copy, PartialEq, PartialOrd)]
    struct Q(i32);
    impl core::ops::Add for Q { type Output = Q; fn add(self, o: Q) -> Q { Q(self.0.saturating_add(o.0)) } }
    impl core::ops::Sub for Q { type Output = Q; fn sub(self, o: Q) -> Q { Q(self.0.saturating_sub(o.0)) } }
    impl core::ops::Mul for Q {
        type Output = Q;
        fn mul(self, o: Q) -> Q { Q(((i64::from(self.0) * i64::from(o.0) + 0x8000) >> 16).clamp(i32::MIN.into(), i32::MAX.into()) as i32) }
    }
    impl core::ops::Div for Q {
        type Output = Q;
        fn div(self, o: Q) -> Q { if o.0 == 0 { Q(i32::MAX) } else { Q(((i64::from(self.0) << 16) / i64::from(o.0)) as i32) } }
    }
    impl core::ops::Neg for Q { type Output = Q; fn neg(self) -> Q { Q(self.0.wrapping_neg()) } }
    let (a, b) = (Q(pick(input, i, 0) as i32 >> 8), Q(pick(input, i, 1) as i32 >> 12));
    let sine = |x: Q| x - x * x * x / Q(6 << 16) + x * x * x * x * x / Q(120 << 16);
    out[0] = (a * b).0 as u32;
    out[1] = (a / b).0 as u32;
    out[2] = sine(Q(b.0 & 0x1_ffff)).0 as u32;
    let mut root = Q(1 << 16);
    for _ in 0..12 { root = (root + Q(a.0 & 0x7f_ffff) / root) * Q(0x8000); }
    out[3] = root.0 as u32;
    out[4] = u32::from(a < b) | u32::from(-a >= b) << 1;
}

pub fn bit_tricks(i: usize, input: &[u32], out: &mut [u32]) {
    let x = pick(input, i, 0);
    // Morton code of two halves, and back.
    let spread = |v: u32| [(8, 0x00ff_00ff), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)].iter().fold(v & 0xffff, |v, &(s, m)| (v | v << s) & m);
    let gather = |v: u32| [(1, 0x3333_3333u32), (2, 0x0f0f_0f0f), (4, 0x00ff_00ff), (8, 0xffff)].iter().fold(v & 0x5555_5555, |v, &(s, m)| (v | v >> s) & m);
    let morton = spread(x) | spread(x >> 16) << 1;
    out[0] = morton;
    out[1] = gather(morton) | gather(morton >> 1) << 16;
    // The next number with as many bits, lowest set bit, Gray code and back.
    let low = x & x.wrapping_neg();
    let ripple = x.wrapping_add(low);
    out[2] = if low == 0 || ripple == 0 { 0 } else { ripple | ((x ^ ripple) >> 2) / low };
    let gray = x ^ x >> 1;
    out[3] = (0..5).fold(gray, |g, k| g ^ g >> (1 << k)) ^ low;
    out[4] = (x & 0x5555_5555).wrapping_add(x >> 1 & 0x5555_5555);
    let has_zero = |v: u32| v.wrapping_sub(0x0101_0101) & !v & 0x8080_8080;
    out[5] = has_zero(x & 0xff00_ffff).trailing_zeros();
    out[6] = (0..32).filter(|k| x >> k & 5 == 5).map(|k| 1u32 << k).sum();
    out[7] = x.isolate() ^ (x << 3 | x >> 29);
}

trait Isolate { fn isolate(self) -> Self; }
impl Isolate for u32 { fn isolate(self) -> u32 { self.checked_ilog2().map_or(0, |k| 1 << k) } }

pub fn float_core(i: usize, input: &[u32], out: &mut [u32]) {
    let (a, b) = (real(input, i, 0), real(input, i, 2));
    fold(&mut out[..4], (a * b - a / b).to_bits());
    fold(&mut out[..4], a.min(b).max(-100.0).clamp(-50.0, 1e9).to_bits());
    fold(&mut out[..4], a.copysign(b).to_bits() ^ b.recip().to_bits());
    out[4] = a.total_cmp(&b) as i32 as u32 ^ (a.partial_cmp(&b).map_or(9, |o| o as i32) as u32) << 8;
    out[5] = u32::from(f64::NAN.max(a) == a) | u32::from((a / 0.0).is_infinite()) << 1 | u32::from((a - a).is_sign_negative()) << 2
        | u32::from(f64::from_bits(pick64(input, i, 4)).is_normal()) << 3 | (f64::from_bits(pick64(input, i, 4)).classify() as u32) << 4;
    out[6] = (a as i8 as u8 as u32) | (b as u16 as u32) << 8 | u32::from((a as f32) < b as f32) << 31;
    out[7] = f32::from_bits(pick(input, i, 4) & 0x807f_ffff).to_bits() ^ (1e-310 * a).to_bits() as u32;
}

pub fn float_functions(i: usize, input: &[u32], out: &mut [u32]) {
    fn root(x: f64) -> f64 {
        let mut y = f64::from_bits((x.to_bits() >> 1) + (1023 << 51));
        for _ in 0..5 { y = 0.5 * (y + x / y); }
        y
    }
    fn exponential(x: f64) -> f64 {
        let n = (x * core::f64::consts::LOG2_E) as i64;
        let r = x - n as f64 * core::f64::consts::LN_2;
        let sum = (1..16).rev().fold(1.0, |s, k| 1.0 + s * r / f64::from(k));
        sum * f64::from_bits(((1023 + n) as u64) << 52)
    }
    fn logarithm(x: f64) -> f64 {
        let bits = x.to_bits();
        let e = (bits >> 52) as i64 - 1023;
        let m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
        let z = (m - 1.0) / (m + 1.0);
        let series = (0..20).rev().fold(0.0, |s, k| s * z * z + 1.0 / f64::from(2 * k + 1));
        2.0 * z * series + e as f64 * core::f64::consts::LN_2
    }
    let x = real(input, i, 0).abs() + 0.25;
    fold(&mut out[..2], root(x).to_bits());
    fold(&mut out[2..4], exponential(x / 100.0).to_bits());
    fold(&mut out[4..6], logarithm(x).to_bits());
    out[6] = (root(x) as f32).to_bits();
    out[7] = u32::from((exponential(logarithm(x)) / x - 1.0).abs() < 1e-9);
}

pub fn float_bits(i: usize, input: &[u32], out: &mut [u32]) {
    // Conversions between all integers and floats, at their edges, too.
    let x = pick64(input, i, 0) >> (i % 64);
    fold(&mut out[..3], (x as f64).to_bits() ^ (x as i64 as f64).to_bits().rotate_left(1));
    out[3] = (x as f32).to_bits() ^ (x as i64 as f32).to_bits().rotate_left(1);
    out[4] = (x as u32 as f32).to_bits() ^ (x as i32 as f32).to_bits().rotate_left(3) ^ (x as i16 as f32).to_bits();
    let f = f64::from_bits(pick64(input, i, 2) & 0x83ff_ffff_ffff_ffff | 0x4000_0000_0000_0000);
    fold(&mut out[5..8], f as u64 ^ (f as i64 as u64).rotate_left(7));
    fold(&mut out[5..8], u64::from(f as f32 as u32) ^ (f as i32 as u64) << 20);
}

pub fn mandelbrot(i: usize, input: &[u32], out: &mut [u32]) {
    let (cx, cy) = (f64::from(pick(input, i, 0) % 3000) / 1000.0 - 2.0, f64::from(pick(input, i, 1) % 2000) / 1000.0 - 1.0);
    let (mut x, mut y, mut n) = (0.0f64, 0.0f64, 0);
    while x * x + y * y <= 4.0 && n < 60 {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        n += 1;
    }
    out[0] = n;
    fold(&mut out[1..4], x.to_bits() ^ y.to_bits().rotate_left(9));
}

pub fn matrix_of_floats(i: usize, input: &[u32], out: &mut [u32]) {
    // Gauss elimination with pivots.
    let mut m: [[f64; 5]; 4] = core::array::from_fn(|r| core::array::from_fn(|c| real(input, i, 5 * r + c)));
    let mut swaps = 0;
    for k in 0..4 {
        let pivot = (k..4).max_by(|&a, &b| m[a][k].abs().total_cmp(&m[b][k].abs())).unwrap_or(k);
        if pivot != k { m.swap(pivot, k); swaps += 1; }
        for r in k + 1..4 {
            let factor = m[r][k] / m[k][k];
            for c in k..5 { m[r][c] -= factor * m[k][c]; }
        }
    }
    let mut x = [0.0; 4];
    for r in (0..4).rev() {
        let known: f64 = (r + 1..4).map(|c| m[r][c] * x[c]).sum();
        x[r] = (m[r][4] - known) / m[r][r];
    }
    out[0] = swaps;
    for value in x { fold(&mut out[1..7], value.to_bits()); }
}

pub fn complex_fft(i: usize, input: &[u32], out: &mut [u32]) {
    #[derive(Clone, Copy, Default)]
    struct C { re: f32, im: f32 }
    impl core::ops::Mul for C { type Output = C; fn mul(self, o: C) -> C { C { re: self.re * o.re - self.im * o.im, im: self.re * o.im + self.im * o.re } } }
    impl core::ops::Add for C { type Output = C; fn add(self, o: C) -> C { C { re: self.re + o.re, im: self.im + o.im } } }
    impl core::ops::Sub for C { type Output = C; fn sub(self, o: C) -> C { C { re: self.re - o.re, im: self.im - o.im } } }
    const ROOTS: [C; 4] = [C { re: 1.0, im: 0.0 }, C { re: 0.707_106_77, im: -0.707_106_77 }, C { re: 0.0, im: -1.0 }, C { re: -0.707_106_77, im: -0.707_106_77 }];
    let mut a: [C; 8] = core::array::from_fn(|k| C { re: (pick(input, i, k) % 256) as f32, im: 0.0 });
    for k in 0..8usize {
        let r = (k & 1) << 2 | k & 2 | k >> 2;
        if k < r { a.swap(k, r); }
    }
    let mut half = 1;
    while half < 8 {
        for start in (0..8).step_by(2 * half) {
            for k in 0..half {
                let (u, v) = (a[start + k], a[start + k + half] * ROOTS[k * (4 / half)]);
                (a[start + k], a[start + k + half]) = (u + v, u - v);
            }
        }
        half *= 2;
    }
    for (slot, c) in out.iter_mut().zip(a) { *slot = c.re.to_bits() ^ c.im.to_bits().rotate_left(16); }
}

pub fn big_numbers(i: usize, input: &[u32], out: &mut [u32]) {
    // Power of two 128-bit numbers' product modulo 2^255 - 19, limb by limb.
    type Limbs = [u64; 4];
    fn reduce(mut wide: [u64; 8]) -> Limbs {
        for _ in 0..2 {
            let mut carry = 0u128;
            for k in 0..4 {
                let t = u128::from(wide[k]) + u128::from(wide[k + 4]) * 38 + carry;
                wide[k] = t as u64;
                carry = t >> 64;
            }
            wide[4..].fill(0);
            wide[4] = carry as u64;
        }
        [wide[0], wide[1], wide[2], wide[3]]
    }
    fn mul(a: &Limbs, b: &Limbs) -> Limbs {
        let mut wide = [0u64; 8];
        for (r, &x) in a.iter().enumerate() {
            let mut carry = 0u64;
            for (c, &y) in b.iter().enumerate() {
                let t = u128::from(x) * u128::from(y) + u128::from(wide[r + c]) + u128::from(carry);
                wide[r + c] = t as u64;
                carry = (t >> 64) as u64;
            }
            wide[r + 4] = carry;
        }
        reduce(wide)
    }
    let mut x: Limbs = core::array::from_fn(|k| pick64(input, i, 2 * k));
    let base = x;
    for k in 0..6 {
        x = mul(&x, &x);
        if i >> k & 1 == 1 { x = mul(&x, &base); }
    }
    for (pair, limb) in out.chunks_mut(2).zip(x) { (pair[0], pair[1]) = (limb as u32, (limb >> 32) as u32); }
}

pub fn modular(i: usize, input: &[u32], out: &mut [u32]) {
    fn power(mut b: u64, mut e: u64, m: u64) -> u64 {
        let mut r = 1;
        while e > 0 {
            if e & 1 == 1 { r = (u128::from(r) * u128::from(b) % u128::from(m)) as u64; }
            b = (u128::from(b) * u128::from(b) % u128::from(m)) as u64;
            e >>= 1;
        }
        r
    }
    fn gcd(a: u32, b: u32) -> u32 { if b == 0 { a } else { gcd(b, a % b) } }
    let m = u64::from(pick(input, i, 0)) << 10 | 1;
    fold(&mut out[..2], power(pick64(input, i, 1) % m, u64::from(pick(input, i, 3) % 5000), m));
    out[2] = gcd(pick(input, i, 4), pick(input, i, 5) / 6);
    // Miller and Rabin's test.
    let n = u64::from(pick(input, i, 6) >> 8 | 1) + 2;
    let (d, s) = ((n - 1) >> (n - 1).trailing_zeros(), (n - 1).trailing_zeros());
    let probable = [2u64, 3, 5, 7].iter().all(|&a| {
        let mut x = power(a % n, d, n);
        if a % n == 0 || x == 1 || x == n - 1 { return true; }
        (1..s).any(|_| { x = x * x % n; x == n - 1 })
    });
    out[3] = u32::from(probable);
}

pub fn random_numbers(i: usize, input: &[u32], out: &mut [u32]) {
    // PCG, xoshiro and a Mersenne-like shift register.
    let mut pcg = pick64(input, i, 0);
    let mut s: [u32; 4] = core::array::from_fn(|k| pick(input, i, k + 2) | 1);
    for slot in out.iter_mut() {
        let old = pcg;
        pcg = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(0x1405_7b7e_f767_814f);
        let word = (((old >> 18) ^ old) >> 27) as u32;
        let star = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 9;
        s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t;
        s[3] = s[3].rotate_left(11);
        *slot = word.rotate_right((old >> 59) as u32) ^ star;
    }
}

pub fn nonzero_and_ranges(i: usize, input: &[u32], out: &mut [u32]) {
    use core::num::{NonZeroU8, NonZeroU32, Wrapping};
    let x = NonZeroU32::new(pick(input, i, 0) % 4);
    out[0] = x.map_or(77, |n| n.get().pow(3) + n.leading_zeros());
    let sizes = [size_of::<Option<NonZeroU8>>(), size_of::<Option<&u8>>(), size_of::<Option<Option<bool>>>()];
    out[1] = sizes.iter().fold(0, |a, &s| a << 8 | s as u32);
    out[2] = (Wrapping(pick(input, i, 1)) * Wrapping(pick(input, i, 2)) - Wrapping(1)).0;
    out[3] = (0..=pick(input, i, 3) % 20).rev().step_by(3).map(|k| k * k).sum();
    out[4] = (-5i8..=(i as i8 % 7)).filter(|k| k % 2 != 0).map(|k| k as i32).sum::<i32>() as u32;
    out[5] = ('a'..='z').nth(i % 30).map_or(0, |c| c as u32);
    out[6] = u32::from((3..9).contains(&(i % 11))) | ((1u64..u64::MAX).size_hint().0 as u32) << 1;
    out[7] = u8::try_from(pick(input, i, 4) >> 23).map_or_else(|_| 0xbad, u32::from) ^ i16::try_from(i as i64 - 40).map_or(1, |v| v as u32);
}
