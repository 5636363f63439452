//! Formulas of integer instructions, on `i128`.

/// Operands and modes of one lane.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Sources.
    pub x: [u64; 3],
    /// Carry in, or condition.
    pub carry: bool,
    /// Saturation.
    pub clamp: bool,
    /// Lane.
    pub lane: u32,
}

fn low(x: u64, bits: u32) -> i128 {
    i128::from(x) & ((1 << bits) - 1)
}

fn signed(x: u64, bits: u32) -> i128 {
    let v = low(x, bits);
    if v >> (bits - 1) != 0 { v - (1 << bits) } else { v }
}

/// `v` in `bits`, wrapped or held inside the range.
fn fit(v: i128, bits: u32, is_signed: bool, clamp: bool) -> u64 {
    let (lo, hi) = if is_signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    let v = if clamp { v.max(lo).min(hi) } else { v };
    (v & ((1 << bits) - 1)) as u64
}

fn byte(x: u64, k: u32) -> i128 {
    low(x >> (8 * k), 8)
}

fn bits_between(x: u64, offset: u64, width: u64, is_signed: bool) -> u64 {
    let width = width.min(32 - offset);
    if width == 0 {
        return 0;
    }
    let field = low(x >> offset, width as u32);
    let v = if is_signed && field >> (width - 1) != 0 { field - (1 << width) } else { field };
    fit(v, 32, false, false)
}

fn middle(mut v: [i128; 3]) -> i128 {
    v.sort_unstable();
    v[1]
}

fn sad(a: u64, b: u64, masked: bool) -> i128 {
    (0..4).filter(|&k| !masked || byte(b, k) != 0).map(|k| (byte(a, k) - byte(b, k)).abs()).sum()
}

/// The result of `name` (vector instructions), with the carry or overflow bit where it has one; `None` for others.
pub fn formula(name: &str, c: &Case) -> Option<(u64, Option<bool>)> {
    let [a, b, d] = c.x;
    let u = |x: u64| low(x, 32);
    let s = |x: u64| signed(x, 32);
    let (u24, s24) = (|x: u64| low(x, 24), |x: u64| signed(x, 24));
    let (u16, s16) = (|x: u64| low(x, 16), |x: u64| signed(x, 16));
    let wrap = |v: i128| fit(v, 32, false, false);
    let word = |v: i128| fit(v, 16, false, false);
    let carry = i128::from(c.carry);
    let plain = |v: u64| Some((v, None));
    let over = |v: i128| Some((fit(v, 32, false, c.clamp), Some(!(0..1 << 32).contains(&v))));
    let count_below = |x: u64, from: u32| {
        let n = c.lane.saturating_sub(from).min(32);
        i128::from((0..n).filter(|k| x >> k & 1 != 0).count() as u64)
    };
    match name {
        "v_mov_b32" => plain(a & 0xffff_ffff),
        "v_not_b32" => plain(!a & 0xffff_ffff),
        "v_bfrev_b32" => plain((0..32).filter(|k| a >> k & 1 != 0).map(|k| 1 << (31 - k)).sum()),
        "v_ffbh_u32" => plain((0..32).find(|k| a >> (31 - k) & 1 != 0).unwrap_or(0xffff_ffff)),
        "v_ffbl_b32" => plain((0..32).find(|k| a >> k & 1 != 0).unwrap_or(0xffff_ffff)),
        "v_ffbh_i32" => plain((1..32).find(|k| (a >> (31 - k) ^ a >> 31) & 1 != 0).unwrap_or(0xffff_ffff)),
        "v_cndmask_b32" => plain(if c.carry { b } else { a } & 0xffff_ffff),
        "v_and_b32" => plain(a & b & 0xffff_ffff),
        "v_or_b32" => plain((a | b) & 0xffff_ffff),
        "v_xor_b32" => plain((a ^ b) & 0xffff_ffff),
        "v_xnor_b32" => plain(!(a ^ b) & 0xffff_ffff),
        "v_add_co_u32" => over(u(a) + u(b)),
        "v_sub_co_u32" => over(u(a) - u(b)),
        "v_subrev_co_u32" => over(u(b) - u(a)),
        "v_addc_co_u32" => over(u(a) + u(b) + carry),
        "v_subb_co_u32" => over(u(a) - u(b) - carry),
        "v_subbrev_co_u32" => over(u(b) - u(a) - carry),
        "v_add_u32" => plain(fit(u(a) + u(b), 32, false, c.clamp)),
        "v_sub_u32" => plain(fit(u(a) - u(b), 32, false, c.clamp)),
        "v_subrev_u32" => plain(fit(u(b) - u(a), 32, false, c.clamp)),
        "v_add_i32" => plain(fit(s(a) + s(b), 32, true, c.clamp)),
        "v_sub_i32" => plain(fit(s(a) - s(b), 32, true, c.clamp)),
        "v_mul_i32_i24" => plain(fit(s24(a) * s24(b), 32, true, c.clamp)),
        "v_mul_u32_u24" => plain(fit(u24(a) * u24(b), 32, false, c.clamp)),
        "v_mul_hi_i32_i24" => plain(wrap((s24(a) * s24(b)) >> 32)),
        "v_mul_hi_u32_u24" => plain(wrap((u24(a) * u24(b)) >> 32)),
        "v_mad_i32_i24" => plain(fit(s24(a) * s24(b) + s(d), 32, true, c.clamp)),
        "v_mad_u32_u24" => plain(fit(u24(a) * u24(b) + u(d), 32, false, c.clamp)),
        "v_mul_lo_u32" | "v_mul_lo_i32" => plain(wrap(u(a) * u(b))),
        "v_mul_hi_u32" => plain(wrap((u(a) * u(b)) >> 32)),
        "v_mul_hi_i32" => plain(wrap((s(a) * s(b)) >> 32)),
        "v_min_i32" => plain(wrap(s(a).min(s(b)))),
        "v_max_i32" => plain(wrap(s(a).max(s(b)))),
        "v_min_u32" => plain(wrap(u(a).min(u(b)))),
        "v_max_u32" => plain(wrap(u(a).max(u(b)))),
        "v_min3_i32" => plain(wrap(s(a).min(s(b)).min(s(d)))),
        "v_max3_i32" => plain(wrap(s(a).max(s(b)).max(s(d)))),
        "v_med3_i32" => plain(wrap(middle([s(a), s(b), s(d)]))),
        "v_min3_u32" => plain(wrap(u(a).min(u(b)).min(u(d)))),
        "v_max3_u32" => plain(wrap(u(a).max(u(b)).max(u(d)))),
        "v_med3_u32" => plain(wrap(middle([u(a), u(b), u(d)]))),
        "v_lshlrev_b32" => plain(wrap(u(b) << (a % 32))),
        "v_lshrrev_b32" => plain(wrap(u(b) >> (a % 32))),
        "v_ashrrev_i32" => plain(wrap(s(b) >> (a % 32))),
        "v_lshl_b32" => plain(wrap(u(a) << (b % 32))),
        "v_lshr_b32" => plain(wrap(u(a) >> (b % 32))),
        "v_ashr_i32" => plain(wrap(s(a) >> (b % 32))),
        "v_bfm_b32" => plain(wrap(((1i128 << (a % 32)) - 1) << (b % 32))),
        "v_bcnt_u32_b32" => plain(wrap((0..32).map(|k| u(a) >> k & 1).sum::<i128>() + u(b))),
        "v_mbcnt_lo_u32_b32" => plain(wrap(count_below(a, 0) + u(b))),
        "v_mbcnt_hi_u32_b32" => plain(wrap(count_below(a, 32) + u(b))),
        "v_bfe_u32" => plain(bits_between(a & 0xffff_ffff, b % 32, d % 32, false)),
        "v_bfe_i32" => plain(bits_between(a & 0xffff_ffff, b % 32, d % 32, true)),
        "v_bfi_b32" => plain((0..32).map(|k| (if a >> k & 1 != 0 { b } else { d }) & 1 << k).sum()),
        "v_alignbit_b32" => plain(wrap((u(a) << 32 | u(b)) >> (d % 32))),
        "v_alignbyte_b32" => plain(wrap((u(a) << 32 | u(b)) >> (8 * (d % 4)))),
        "v_lerp_u8" => {
            plain((0..4).map(|k| (((byte(a, k) + byte(b, k) + byte(d, k) % 2) / 2) as u64) << (8 * k)).sum())
        }
        "v_sad_u8" => plain(fit(sad(a, b, false) + u(d), 32, false, c.clamp)),
        "v_sad_hi_u8" => plain(fit((sad(a, b, false) << 16) + u(d), 32, false, c.clamp)),
        "v_msad_u8" => plain(fit(sad(a, b, true) + u(d), 32, false, c.clamp)),
        "v_sad_u16" => {
            let sum = (u16(a) - u16(b)).abs() + (u16(a >> 16) - u16(b >> 16)).abs();
            plain(fit(sum + u(d), 32, false, c.clamp))
        }
        "v_sad_u32" => plain(fit((u(a) - u(b)).abs() + u(d), 32, false, c.clamp)),
        "v_qsad_pk_u16_u8" | "v_mqsad_pk_u16_u8" => plain(
            (0..4)
                .map(|k| {
                    let sum = sad(a >> (8 * k), b, name.contains("mqsad")) + low(d >> (16 * k), 16);
                    fit(sum, 16, false, c.clamp) << (16 * k)
                })
                .sum(),
        ),
        "v_perm_b32" => {
            let bytes: Vec<i128> = (0..4).map(|k| byte(b, k)).chain((0..4).map(|k| byte(a, k))).collect();
            let sign = |k: usize| if bytes[k] >= 128 { 255 } else { 0 };
            let pick = |k: u32| match byte(d, k) {
                n @ 0..=7 => bytes[n as usize],
                n @ 8..=11 => sign((2 * (n - 8) + 1) as usize),
                12 => 0,
                _ => 255,
            };
            plain((0..4).map(|k| (pick(k) as u64) << (8 * k)).sum())
        }
        "v_xad_u32" => plain(wrap((u(a) ^ u(b)) + u(d))),
        "v_lshl_add_u32" => plain(wrap((u(a) << (b % 32)) + u(d))),
        "v_add_lshl_u32" => plain(wrap((u(a) + u(b)) << (d % 32))),
        "v_add3_u32" => plain(wrap(u(a) + u(b) + u(d))),
        "v_lshl_or_b32" => plain(wrap(u(a) << (b % 32)) | d & 0xffff_ffff),
        "v_and_or_b32" => plain((a & b | d) & 0xffff_ffff),
        "v_xor3_b32" => plain((a ^ b ^ d) & 0xffff_ffff),
        "v_or3_b32" => plain((a | b | d) & 0xffff_ffff),
        "v_cvt_pk_u16_u32" => plain(fit(u(a), 16, false, true) | fit(u(b), 16, false, true) << 16),
        "v_cvt_pk_i16_i32" => plain(fit(s(a), 16, true, true) | fit(s(b), 16, true, true) << 16),
        "v_sat_pk_u8_i16" => plain(fit(s16(a), 8, false, true) | fit(s16(a >> 16), 8, false, true) << 8),
        "v_lshlrev_b64" => plain(((u128::from(b) << (a % 64)) & u128::from(u64::MAX)) as u64),
        "v_lshrrev_b64" => plain((u128::from(b) >> (a % 64)) as u64),
        "v_ashrrev_i64" => plain((i128::from(b as i64) >> (a % 64)) as u64),
        "v_lshl_b64" => plain(((u128::from(a) << (b % 64)) & u128::from(u64::MAX)) as u64),
        "v_lshr_b64" => plain((u128::from(a) >> (b % 64)) as u64),
        "v_ashr_i64" => plain((i128::from(a as i64) >> (b % 64)) as u64),
        "v_mad_u64_u32" if !c.clamp => {
            let v = u(a) * u(b) + i128::from(d);
            Some((v as u64, Some(v >> 64 != 0)))
        }
        "v_mad_i64_i32" if !c.clamp => {
            let v = s(a) * s(b) + i128::from(d as i64);
            Some((v as u64, Some(v != i128::from(v as i64))))
        }
        "v_add_u16" | "v_add_nc_u16" => plain(fit(u16(a) + u16(b), 16, false, c.clamp)),
        "v_sub_u16" | "v_sub_nc_u16" => plain(fit(u16(a) - u16(b), 16, false, c.clamp)),
        "v_subrev_u16" => plain(fit(u16(b) - u16(a), 16, false, c.clamp)),
        "v_add_i16" => plain(fit(s16(a) + s16(b), 16, true, c.clamp)),
        "v_sub_i16" => plain(fit(s16(a) - s16(b), 16, true, c.clamp)),
        "v_mul_lo_u16" => plain(word(u16(a) * u16(b))),
        "v_lshlrev_b16" => plain(word(u16(b) << (a % 16))),
        "v_lshrrev_b16" => plain(word(u16(b) >> (a % 16))),
        "v_ashrrev_i16" => plain(word(s16(b) >> (a % 16))),
        "v_min_u16" => plain(word(u16(a).min(u16(b)))),
        "v_max_u16" => plain(word(u16(a).max(u16(b)))),
        "v_min_i16" => plain(word(s16(a).min(s16(b)))),
        "v_max_i16" => plain(word(s16(a).max(s16(b)))),
        "v_min3_u16" => plain(word(u16(a).min(u16(b)).min(u16(d)))),
        "v_max3_u16" => plain(word(u16(a).max(u16(b)).max(u16(d)))),
        "v_med3_u16" => plain(word(middle([u16(a), u16(b), u16(d)]))),
        "v_min3_i16" => plain(word(s16(a).min(s16(b)).min(s16(d)))),
        "v_max3_i16" => plain(word(s16(a).max(s16(b)).max(s16(d)))),
        "v_med3_i16" => plain(word(middle([s16(a), s16(b), s16(d)]))),
        "v_mad_u16" | "v_mad_legacy_u16" => plain(fit(u16(a) * u16(b) + u16(d), 16, false, c.clamp)),
        "v_mad_i16" | "v_mad_legacy_i16" => plain(fit(s16(a) * s16(b) + s16(d), 16, true, c.clamp)),
        "v_mad_u32_u16" => plain(fit(u16(a) * u16(b) + u(d), 32, false, c.clamp)),
        "v_mad_i32_i16" => plain(fit(s16(a) * s16(b) + s(d), 32, true, c.clamp)),
        "v_pack_b32_f16" => plain(a & 0xffff | (b & 0xffff) << 16),
        "v_dot2_i32_i16" => plain(fit(dot(a, b, 16, true) + s(d), 32, true, c.clamp)),
        "v_dot2_u32_u16" => plain(fit(dot(a, b, 16, false) + u(d), 32, false, c.clamp)),
        "v_dot4_i32_i8" => plain(fit(dot(a, b, 8, true) + s(d), 32, true, c.clamp)),
        "v_dot4c_i32_i8" => plain(fit(dot(a, b, 8, true) + s(d), 32, true, false)),
        "v_dot4_u32_u8" => plain(fit(dot(a, b, 8, false) + u(d), 32, false, c.clamp)),
        "v_dot8_i32_i4" => plain(fit(dot(a, b, 4, true) + s(d), 32, true, c.clamp)),
        "v_dot8_u32_u4" => plain(fit(dot(a, b, 4, false) + u(d), 32, false, c.clamp)),
        _ => {
            let half = name.strip_prefix("v_pk_")?;
            let single = format!("v_{half}");
            let part = |shift: u32| {
                let x = c.x.map(|x| x >> shift & 0xffff);
                formula(&single, &Case { x, ..*c }).map(|(v, _)| v & 0xffff)
            };
            if name.ends_with("f16") {
                return None;
            }
            plain(part(0)? | part(16)? << 16)
        }
    }
}

fn dot(a: u64, b: u64, bits: u32, is_signed: bool) -> i128 {
    let part = |x: u64| if is_signed { signed(x, bits) } else { low(x, bits) };
    (0..32 / bits).map(|k| part(a >> (k * bits)) * part(b >> (k * bits))).sum()
}
