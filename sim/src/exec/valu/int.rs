//! Vector operations on 32-bit integers and bits.

use super::{In, Kernel, Out, m1, m2, m3, mask_of, med, norm16, s16, sat_i, sat_u, unorm16, z16};
use crate::fp::f16_to_f32;
use crate::wave::MAX_LANES;
use mir::isa::Opcode;
use mir::isa::Opcode::*;

/// The operation of `op`; `None` for what is not in this file.
pub(super) fn kernel(op: Opcode) -> Option<Kernel> {
    let kernel: Kernel = match op {
        V_MOV_B32 => |i, o, _| m1(i, o, |a| a),
        V_NOT_B32 => |i, o, _| m1(i, o, |a| !a),
        V_BFREV_B32 => |i, o, _| m1(i, o, u32::reverse_bits),
        V_FFBH_U32 => |i, o, _| m1(i, o, |a| if a == 0 { !0 } else { a.leading_zeros() }),
        V_FFBL_B32 => |i, o, _| m1(i, o, |a| if a == 0 { !0 } else { a.trailing_zeros() }),
        V_FFBH_I32 => |i, o, _| {
            m1(i, o, |a| {
                let x = a ^ ((a as i32) >> 31) as u32;
                if x == 0 { !0 } else { x.leading_zeros() }
            })
        },
        V_SAT_PK_U8_I16 => |i, o, _| {
            m1(i, o, |a| {
                let sat = |x: i64| x.clamp(0, 255) as u32;
                sat(s16(a)) | sat(s16(a >> 16)) << 8
            })
        },
        V_MUL_I32_I24 => |i, o, e| m2(i, o, |a, b| sat_i(i64::from(i24(a)) * i64::from(i24(b)), 32, e.clamp)),
        V_MUL_HI_I32_I24 => |i, o, _| m2(i, o, |a, b| ((i64::from(i24(a)) * i64::from(i24(b))) >> 32) as u32),
        V_MUL_U32_U24 => |i, o, e| m2(i, o, |a, b| sat_u(i64::from(u24(a)) * i64::from(u24(b)), 32, e.clamp)),
        V_MUL_HI_U32_U24 => |i, o, _| m2(i, o, |a, b| ((u64::from(u24(a)) * u64::from(u24(b))) >> 32) as u32),
        V_MAD_I32_I24 => |i, o, e| {
            m3(i, o, |a, b, x| {
                sat_i(i64::from(i24(a)) * i64::from(i24(b)) + i64::from(x as i32), 32, e.clamp)
            })
        },
        V_MAD_U32_U24 => |i, o, e| {
            m3(i, o, |a, b, x| sat_u(i64::from(u24(a)) * i64::from(u24(b)) + i64::from(x), 32, e.clamp))
        },
        V_MIN_I32 => |i, o, _| m2(i, o, |a, b| (a as i32).min(b as i32) as u32),
        V_MAX_I32 => |i, o, _| m2(i, o, |a, b| (a as i32).max(b as i32) as u32),
        V_MIN_U32 => |i, o, _| m2(i, o, u32::min),
        V_MAX_U32 => |i, o, _| m2(i, o, u32::max),
        V_LSHRREV_B32 => |i, o, _| m2(i, o, |a, b| b >> (a & 31)),
        V_ASHRREV_I32 => |i, o, _| m2(i, o, |a, b| ((b as i32) >> (a & 31)) as u32),
        V_LSHLREV_B32 => |i, o, _| m2(i, o, |a, b| b << (a & 31)),
        V_LSHR_B32 => |i, o, _| m2(i, o, |a, b| a >> (b & 31)),
        V_ASHR_I32 => |i, o, _| m2(i, o, |a, b| ((a as i32) >> (b & 31)) as u32),
        V_LSHL_B32 => |i, o, _| m2(i, o, |a, b| a << (b & 31)),
        V_AND_B32 => |i, o, _| m2(i, o, |a, b| a & b),
        V_OR_B32 => |i, o, _| m2(i, o, |a, b| a | b),
        V_XOR_B32 => |i, o, _| m2(i, o, |a, b| a ^ b),
        V_XNOR_B32 => |i, o, _| m2(i, o, |a, b| !(a ^ b)),
        V_BFM_B32 => |i, o, _| m2(i, o, |a, b| (1u32 << (a & 31)).wrapping_sub(1) << (b & 31)),
        V_BCNT_U32_B32 => |i, o, _| m2(i, o, |a, b| a.count_ones().wrapping_add(b)),
        V_ADD_CO_U32 => |i, o, e| carry(i, o, |a, b, _| add_carry(a, b, 0, e.clamp)),
        V_SUB_CO_U32 => |i, o, e| carry(i, o, |a, b, _| sub_borrow(a, b, 0, e.clamp)),
        V_SUBREV_CO_U32 => |i, o, e| carry(i, o, |a, b, _| sub_borrow(b, a, 0, e.clamp)),
        V_ADDC_CO_U32 => |i, o, e| carry(i, o, |a, b, x| add_carry(a, b, x, e.clamp)),
        V_SUBB_CO_U32 => |i, o, e| carry(i, o, |a, b, x| sub_borrow(a, b, x, e.clamp)),
        V_SUBBREV_CO_U32 => |i, o, e| carry(i, o, |a, b, x| sub_borrow(b, a, x, e.clamp)),
        V_ADD_I32 => |i, o, e| m2(i, o, |a, b| sat_i(i64::from(a as i32) + i64::from(b as i32), 32, e.clamp)),
        V_SUB_I32 => |i, o, e| m2(i, o, |a, b| sat_i(i64::from(a as i32) - i64::from(b as i32), 32, e.clamp)),
        V_CVT_PKNORM_I16_F16 => {
            |i, o, _| m2(i, o, |a, b| norm16(f16_to_f32(a)) | norm16(f16_to_f32(b)) << 16)
        }
        V_CVT_PKNORM_U16_F16 => {
            |i, o, _| m2(i, o, |a, b| unorm16(f16_to_f32(a)) | unorm16(f16_to_f32(b)) << 16)
        }
        V_CVT_PK_U16_U32 => |i, o, _| m2(i, o, |a, b| a.min(0xffff) | b.min(0xffff) << 16),
        V_CVT_PK_I16_I32 => |i, o, _| {
            m2(i, o, |a, b| {
                let h = |x: u32| sat_i(i64::from(x as i32), 16, true);
                h(a) | h(b) << 16
            })
        },
        V_PACK_B32_F16 => |i, o, _| m2(i, o, |a, b| a & 0xffff | b << 16),
        V_BFE_U32 => |i, o, _| m3(i, o, |a, b, c| bfe(a, b, c, false)),
        V_BFE_I32 => |i, o, _| m3(i, o, |a, b, c| bfe(a, b, c, true)),
        V_BFI_B32 => |i, o, _| m3(i, o, |a, b, c| a & b | !a & c),
        V_LERP_U8 => |i, o, _| {
            m3(i, o, |a, b, c| {
                let (a, b, c) = (a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes());
                u32::from_le_bytes(std::array::from_fn(|k| {
                    ((u32::from(a[k]) + u32::from(b[k]) + u32::from(c[k] & 1)) >> 1) as u8
                }))
            })
        },
        V_ALIGNBIT_B32 => {
            |i, o, _| m3(i, o, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32)
        }
        V_ALIGNBYTE_B32 => {
            |i, o, _| m3(i, o, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32)
        }
        V_MIN3_I32 => |i, o, _| m3(i, o, |a, b, c| (a as i32).min(b as i32).min(c as i32) as u32),
        V_MAX3_I32 => |i, o, _| m3(i, o, |a, b, c| (a as i32).max(b as i32).max(c as i32) as u32),
        V_MED3_I32 => {
            |i, o, _| m3(i, o, |a, b, c| med((a as i32).into(), (b as i32).into(), (c as i32).into()) as u32)
        }
        V_MIN3_U32 => |i, o, _| m3(i, o, |a, b, c| a.min(b).min(c)),
        V_MAX3_U32 => |i, o, _| m3(i, o, |a, b, c| a.max(b).max(c)),
        V_MED3_U32 => |i, o, _| m3(i, o, |a, b, c| med(a.into(), b.into(), c.into()) as u32),
        V_SAD_U8 => |i, o, e| m3(i, o, |a, b, x| add_clamp(sad8(a, b), x, e.clamp)),
        V_SAD_HI_U8 => |i, o, e| m3(i, o, |a, b, x| add_clamp(sad8(a, b) << 16, x, e.clamp)),
        V_SAD_U16 => |i, o, e| {
            m3(i, o, |a, b, x| {
                let sum = (z16(a) - z16(b)).unsigned_abs() + (z16(a >> 16) - z16(b >> 16)).unsigned_abs();
                add_clamp(sum as u32, x, e.clamp)
            })
        },
        V_SAD_U32 => |i, o, e| m3(i, o, |a, b, x| add_clamp(a.abs_diff(b), x, e.clamp)),
        V_MSAD_U8 => |i, o, e| m3(i, o, |a, b, x| add_clamp(msad8(a, b), x, e.clamp)),
        V_PERM_B32 => |i, o, _| m3(i, o, perm),
        V_XOR3_B32 => |i, o, _| m3(i, o, |a, b, c| a ^ b ^ c),
        V_XAD_U32 => |i, o, _| m3(i, o, |a, b, c| (a ^ b).wrapping_add(c)),
        V_LSHL_ADD_U32 => |i, o, _| m3(i, o, |a, b, c| (a << (b & 31)).wrapping_add(c)),
        V_ADD_LSHL_U32 => |i, o, _| m3(i, o, |a, b, c| a.wrapping_add(b) << (c & 31)),
        V_ADD3_U32 => |i, o, _| m3(i, o, |a, b, c| a.wrapping_add(b).wrapping_add(c)),
        V_LSHL_OR_B32 => |i, o, _| m3(i, o, |a, b, c| a << (b & 31) | c),
        V_AND_OR_B32 => |i, o, _| m3(i, o, |a, b, c| a & b | c),
        V_OR3_B32 => |i, o, _| m3(i, o, |a, b, c| a | b | c),
        V_MUL_LO_U32 | V_MUL_LO_I32 => |i, o, _| m2(i, o, u32::wrapping_mul),
        V_MUL_HI_U32 => |i, o, _| m2(i, o, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        V_MUL_HI_I32 => |i, o, _| m2(i, o, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        V_CNDMASK_B32 => |i, o, _| {
            let lanes = super::spread(i.mask);
            for l in 0..MAX_LANES {
                o.lo[l] = i.lo[0][l] & !lanes[l] | i.lo[1][l] & lanes[l];
            }
        },
        V_MBCNT_LO_U32_B32 => |i, o, _| mbcnt(i, o, |l| if l >= 32 { !0 } else { (1u32 << l) - 1 }),
        V_MBCNT_HI_U32_B32 => |i, o, _| mbcnt(i, o, |l| if l >= 32 { (1u32 << (l - 32)) - 1 } else { 0 }),
        V_ADD_U32 => |i, o, e| {
            if e.clamp { m2(i, o, u32::saturating_add) } else { m2(i, o, u32::wrapping_add) }
        },
        V_SUB_U32 => |i, o, e| {
            if e.clamp { m2(i, o, u32::saturating_sub) } else { m2(i, o, u32::wrapping_sub) }
        },
        V_SUBREV_U32 => |i, o, e| {
            if e.clamp { m2(i, o, |a, b| b.saturating_sub(a)) } else { m2(i, o, |a, b| b.wrapping_sub(a)) }
        },
        _ => return None,
    };
    Some(kernel)
}

/// Set bits of the first source below each lane.
#[inline(always)]
fn mbcnt(i: &In<'_>, o: &mut Out, below: impl Fn(usize) -> u32) {
    for l in 0..MAX_LANES {
        o.lo[l] = (i.lo[0][l] & below(l)).count_ones().wrapping_add(i.lo[1][l]);
    }
}

/// Operations with a carry: `op` gives the 33-bit result as a signed number, negative for a borrow.
#[inline(always)]
fn carry(i: &In<'_>, o: &mut Out, op: impl Fn(u32, u32, u32) -> (u32, bool)) {
    let mut over = [false; MAX_LANES];
    for l in 0..MAX_LANES {
        let bit = (i.mask >> l) as u32 & 1;
        (o.lo[l], over[l]) = op(i.lo[0][l], i.lo[1][l], bit);
    }
    o.mask = mask_of(|l| over[l]);
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

fn bfe(x: u32, offset: u32, width: u32, signed: bool) -> u32 {
    let (offset, width) = (offset & 31, width & 31);
    let width = width.min(32 - offset);
    if width == 0 {
        return 0;
    }
    let up = 32 - width - offset;
    if signed { ((x << up) as i32 >> (32 - width)) as u32 } else { x << up >> (32 - width) }
}

/// Sum of the absolute differences of four bytes.
pub(super) fn sad8(a: u32, b: u32) -> u32 {
    a.to_le_bytes().iter().zip(b.to_le_bytes()).map(|(x, y)| u32::from(x.abs_diff(y))).sum()
}

/// The same where the reference's byte is not 0.
pub(in crate::exec) fn msad8(a: u32, reference: u32) -> u32 {
    let bytes = a.to_le_bytes();
    let pairs = bytes.iter().zip(reference.to_le_bytes());
    pairs.filter(|(_, r)| *r != 0).map(|(x, y)| u32::from(x.abs_diff(y))).sum()
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
