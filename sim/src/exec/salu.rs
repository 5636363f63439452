//! Scalar ALU: what each operation computes, and how undefined bits travel through it.
//!
//! [`compute`] is a pure function of values. What of its result is undefined is found by computing again with other values in the place of
//! undefined bits: bits that change are undefined. Comparisons, where a few samples may miss the one value that matters, follow a rule of
//! their own.

use mir::isa::Opcode;
use mir::isa::Opcode::*;

/// Inputs; 32-bit sources are zero-extended.
#[derive(Clone, Copy, Debug, Default)]
pub struct In {
    /// First source.
    pub a: u64,
    /// Second source, or the immediate of SOPK (sign-extended to 32 bits).
    pub b: u64,
    /// Old value of the destination, where it is read.
    pub d: u64,
    /// SCC.
    pub scc: bool,
    /// EXEC.
    pub exec: u64,
}

/// Results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Out {
    /// Destination.
    pub d: u64,
    /// SCC, where it is written.
    pub scc: Option<bool>,
    /// EXEC, where it is written.
    pub exec: Option<u64>,
}

fn value(d: u64) -> Option<Out> {
    Some(Out { d, ..Out::default() })
}

fn value32(d: u32) -> Option<Out> {
    value(u64::from(d))
}

fn nonzero(d: u64) -> Option<Out> {
    Some(Out { d, scc: Some(d != 0), exec: None })
}

fn nonzero32(d: u32) -> Option<Out> {
    nonzero(u64::from(d))
}

fn with_scc(d: u32, scc: bool) -> Option<Out> {
    Some(Out { d: u64::from(d), scc: Some(scc), exec: None })
}

fn test(scc: bool) -> Option<Out> {
    Some(Out { d: 0, scc: Some(scc), exec: None })
}

fn save_exec(old: u64, new: u64) -> Option<Out> {
    Some(Out { d: old, scc: Some(new != 0), exec: Some(new) })
}

/// The same of the low 32 lanes; the others stay as they are.
fn save_exec_low(old: u64, new: u32) -> Option<Out> {
    let exec = old & !0xffff_ffff | u64::from(new);
    Some(Out { d: old & 0xffff_ffff, scc: Some(new != 0), exec: Some(exec) })
}

fn write_exec_low(old: u64, new: u32) -> Option<Out> {
    Some(Out { d: u64::from(new), ..save_exec_low(old, new)? })
}

fn shl_add(a: u32, shift: u32, b: u32) -> Option<Out> {
    let sum = (u64::from(a) << shift) + u64::from(b);
    with_scc(sum as u32, sum >> 32 != 0)
}

/// Whole quad mode: each group of four bits is set where one of them is.
fn wqm(x: u64) -> u64 {
    let any = (x | x >> 1 | x >> 2 | x >> 3) & 0x1111_1111_1111_1111;
    any * 15
}

fn quad_mask(x: u64) -> u64 {
    (0..16).fold(0, |m, i| m | u64::from(x >> (4 * i) & 15 != 0) << i)
}

fn bfe(x: u64, control: u64, bits: u32, signed: bool) -> u64 {
    let offset = (control & u64::from(bits - 1)) as u32;
    let width = ((control >> 16) & 0x7f) as u32;
    let width = width.min(bits - offset);
    if width == 0 {
        return 0;
    }
    let up = 64 - width - offset;
    if signed { ((x << up) as i64 >> (64 - width)) as u64 } else { x << up >> (64 - width) }
}

/// The operation; `None` for what is no scalar ALU operation (or is executed elsewhere).
pub fn compute(op: Opcode, i: &In) -> Option<Out> {
    let (a, b, exec) = (i.a as u32, i.b as u32, i.exec as u32);
    let (sa, sb) = (a as i32, b as i32);
    match op {
        S_MOV_B32 | S_MOVK_I32 => value32(if op == S_MOVK_I32 { b } else { a }),
        S_MOV_B64 => value(i.a),
        S_CMOV_B32 => value(if i.scc { u64::from(a) } else { i.d }),
        S_CMOVK_I32 => value(if i.scc { u64::from(b) } else { i.d }),
        S_CMOV_B64 => value(if i.scc { i.a } else { i.d }),
        S_NOT_B32 => nonzero32(!a),
        S_NOT_B64 => nonzero(!i.a),
        S_WQM_B32 => nonzero32(wqm(i.a) as u32),
        S_WQM_B64 => nonzero(wqm(i.a)),
        S_BREV_B32 => value32(a.reverse_bits()),
        S_BREV_B64 => value(i.a.reverse_bits()),
        S_BCNT0_I32_B32 => nonzero32(a.count_zeros()),
        S_BCNT0_I32_B64 => nonzero32(i.a.count_zeros()),
        S_BCNT1_I32_B32 => nonzero32(a.count_ones()),
        S_BCNT1_I32_B64 => nonzero32(i.a.count_ones()),
        S_FF0_I32_B32 => value32(first(a.trailing_ones(), 32)),
        S_FF0_I32_B64 => value32(first(i.a.trailing_ones(), 64)),
        S_FF1_I32_B32 => value32(first(a.trailing_zeros(), 32)),
        S_FF1_I32_B64 => value32(first(i.a.trailing_zeros(), 64)),
        S_FLBIT_I32_B32 => value32(first(a.leading_zeros(), 32)),
        S_FLBIT_I32_B64 => value32(first(i.a.leading_zeros(), 64)),
        S_FLBIT_I32 => value32(first((a ^ (sa >> 31) as u32).leading_zeros(), 32)),
        S_FLBIT_I32_I64 => value32(first((i.a ^ ((i.a as i64) >> 63) as u64).leading_zeros(), 64)),
        S_SEXT_I32_I8 => value32(sa as i8 as u32),
        S_SEXT_I32_I16 => value32(sa as i16 as u32),
        S_BITSET0_B32 => value(i.d & !(1 << (a & 31))),
        S_BITSET0_B64 => value(i.d & !(1 << (a & 63))),
        S_BITSET1_B32 => value(i.d | 1 << (a & 31)),
        S_BITSET1_B64 => value(i.d | 1 << (a & 63)),
        S_AND_SAVEEXEC_B64 => save_exec(i.exec, i.a & i.exec),
        S_OR_SAVEEXEC_B64 => save_exec(i.exec, i.a | i.exec),
        S_XOR_SAVEEXEC_B64 => save_exec(i.exec, i.a ^ i.exec),
        S_ANDN2_SAVEEXEC_B64 => save_exec(i.exec, i.a & !i.exec),
        S_ORN2_SAVEEXEC_B64 => save_exec(i.exec, i.a | !i.exec),
        S_NAND_SAVEEXEC_B64 => save_exec(i.exec, !(i.a & i.exec)),
        S_NOR_SAVEEXEC_B64 => save_exec(i.exec, !(i.a | i.exec)),
        S_XNOR_SAVEEXEC_B64 => save_exec(i.exec, !(i.a ^ i.exec)),
        S_ANDN1_SAVEEXEC_B64 => save_exec(i.exec, !i.a & i.exec),
        S_ORN1_SAVEEXEC_B64 => save_exec(i.exec, !i.a | i.exec),
        S_ANDN1_WREXEC_B64 => save_exec(!i.a & i.exec, !i.a & i.exec),
        S_ANDN2_WREXEC_B64 => save_exec(i.a & !i.exec, i.a & !i.exec),
        S_AND_SAVEEXEC_B32 => save_exec_low(i.exec, a & exec),
        S_OR_SAVEEXEC_B32 => save_exec_low(i.exec, a | exec),
        S_XOR_SAVEEXEC_B32 => save_exec_low(i.exec, a ^ exec),
        S_ANDN2_SAVEEXEC_B32 => save_exec_low(i.exec, a & !exec),
        S_ORN2_SAVEEXEC_B32 => save_exec_low(i.exec, a | !exec),
        S_NAND_SAVEEXEC_B32 => save_exec_low(i.exec, !(a & exec)),
        S_NOR_SAVEEXEC_B32 => save_exec_low(i.exec, !(a | exec)),
        S_XNOR_SAVEEXEC_B32 => save_exec_low(i.exec, !(a ^ exec)),
        S_ANDN1_SAVEEXEC_B32 => save_exec_low(i.exec, !a & exec),
        S_ORN1_SAVEEXEC_B32 => save_exec_low(i.exec, !a | exec),
        S_ANDN1_WREXEC_B32 => write_exec_low(i.exec, !a & exec),
        S_ANDN2_WREXEC_B32 => write_exec_low(i.exec, a & !exec),
        S_QUADMASK_B32 => nonzero32(quad_mask(u64::from(a)) as u32),
        S_QUADMASK_B64 => nonzero(quad_mask(i.a)),
        S_ABS_I32 => nonzero32(sa.wrapping_abs() as u32),
        S_BITREPLICATE_B64_B32 => value((0..32).fold(0, |m, k| m | (u64::from(a >> k & 1) * 3) << (2 * k))),
        S_ADD_U32 => with_scc(a.wrapping_add(b), a.checked_add(b).is_none()),
        S_SUB_U32 => with_scc(a.wrapping_sub(b), a < b),
        S_ADD_I32 => with_scc(a.wrapping_add(b), sa.checked_add(sb).is_none()),
        S_SUB_I32 => with_scc(a.wrapping_sub(b), sa.checked_sub(sb).is_none()),
        S_ADDC_U32 => {
            let sum = u64::from(a) + u64::from(b) + u64::from(i.scc);
            with_scc(sum as u32, sum >> 32 != 0)
        }
        S_SUBB_U32 => {
            let difference = u64::from(a).wrapping_sub(u64::from(b)).wrapping_sub(u64::from(i.scc));
            with_scc(difference as u32, difference >> 32 != 0)
        }
        S_MIN_I32 => with_scc(sa.min(sb) as u32, sa < sb),
        S_MIN_U32 => with_scc(a.min(b), a < b),
        S_MAX_I32 => with_scc(sa.max(sb) as u32, sa > sb),
        S_MAX_U32 => with_scc(a.max(b), a > b),
        S_CSELECT_B32 | S_CSELECT_B64 => value(if i.scc { i.a } else { i.b }),
        S_AND_B32 | S_AND_B64 => nonzero(i.a & i.b),
        S_OR_B32 | S_OR_B64 => nonzero(i.a | i.b),
        S_XOR_B32 | S_XOR_B64 => nonzero(i.a ^ i.b),
        S_ANDN2_B32 => nonzero32(a & !b),
        S_ANDN2_B64 => nonzero(i.a & !i.b),
        S_ORN2_B32 => nonzero32(a | !b),
        S_ORN2_B64 => nonzero(i.a | !i.b),
        S_NAND_B32 => nonzero32(!(a & b)),
        S_NAND_B64 => nonzero(!(i.a & i.b)),
        S_NOR_B32 => nonzero32(!(a | b)),
        S_NOR_B64 => nonzero(!(i.a | i.b)),
        S_XNOR_B32 => nonzero32(!(a ^ b)),
        S_XNOR_B64 => nonzero(!(i.a ^ i.b)),
        S_LSHL_B32 => nonzero32(a << (b & 31)),
        S_LSHL_B64 => nonzero(i.a << (b & 63)),
        S_LSHR_B32 => nonzero32(a >> (b & 31)),
        S_LSHR_B64 => nonzero(i.a >> (b & 63)),
        S_ASHR_I32 => nonzero32((sa >> (b & 31)) as u32),
        S_ASHR_I64 => nonzero(((i.a as i64) >> (b & 63)) as u64),
        S_BFM_B32 => value32(((1u32 << (a & 31)).wrapping_sub(1)) << (b & 31)),
        S_BFM_B64 => value((1u64 << (a & 63)).wrapping_sub(1) << (b & 63)),
        S_MUL_I32 => value32(a.wrapping_mul(b)),
        S_MULK_I32 => value32((i.d as u32).wrapping_mul(b)),
        S_ADDK_I32 => {
            let d = i.d as i32;
            with_scc(d.wrapping_add(sb) as u32, d.checked_add(sb).is_none())
        }
        S_BFE_U32 => nonzero32(bfe(u64::from(a), i.b, 32, false) as u32),
        S_BFE_I32 => nonzero32(bfe(u64::from(a), i.b, 32, true) as u32),
        S_BFE_U64 => nonzero(bfe(i.a, i.b, 64, false)),
        S_BFE_I64 => nonzero(bfe(i.a, i.b, 64, true)),
        S_ABSDIFF_I32 => nonzero32(sa.wrapping_sub(sb).wrapping_abs() as u32),
        S_MUL_HI_U32 => value32(((u64::from(a) * u64::from(b)) >> 32) as u32),
        S_MUL_HI_I32 => value32(((i64::from(sa) * i64::from(sb)) >> 32) as u32),
        S_LSHL1_ADD_U32 => shl_add(a, 1, b),
        S_LSHL2_ADD_U32 => shl_add(a, 2, b),
        S_LSHL3_ADD_U32 => shl_add(a, 3, b),
        S_LSHL4_ADD_U32 => shl_add(a, 4, b),
        S_PACK_LL_B32_B16 => value32(a & 0xffff | b << 16),
        S_PACK_LH_B32_B16 => value32(a & 0xffff | b & 0xffff_0000),
        S_PACK_HH_B32_B16 => value32(a >> 16 | b & 0xffff_0000),
        S_CMP_EQ_I32 | S_CMP_EQ_U32 | S_CMPK_EQ_I32 => test(a == b),
        S_CMP_LG_I32 | S_CMP_LG_U32 | S_CMPK_LG_I32 => test(a != b),
        S_CMP_GT_I32 | S_CMPK_GT_I32 => test(sa > sb),
        S_CMP_GE_I32 | S_CMPK_GE_I32 => test(sa >= sb),
        S_CMP_LT_I32 | S_CMPK_LT_I32 => test(sa < sb),
        S_CMP_LE_I32 | S_CMPK_LE_I32 => test(sa <= sb),
        S_CMP_GT_U32 => test(a > b),
        S_CMP_GE_U32 => test(a >= b),
        S_CMP_LT_U32 => test(a < b),
        S_CMP_LE_U32 => test(a <= b),
        S_CMPK_EQ_U32 => test(a == b & 0xffff),
        S_CMPK_LG_U32 => test(a != b & 0xffff),
        S_CMPK_GT_U32 => test(a > b & 0xffff),
        S_CMPK_GE_U32 => test(a >= b & 0xffff),
        S_CMPK_LT_U32 => test(a < b & 0xffff),
        S_CMPK_LE_U32 => test(a <= b & 0xffff),
        S_BITCMP0_B32 => test(a >> (b & 31) & 1 == 0),
        S_BITCMP1_B32 => test(a >> (b & 31) & 1 == 1),
        S_BITCMP0_B64 => test(i.a >> (b & 63) & 1 == 0),
        S_BITCMP1_B64 => test(i.a >> (b & 63) & 1 == 1),
        S_CMP_EQ_U64 => test(i.a == i.b),
        S_CMP_LG_U64 => test(i.a != i.b),
        _ => None,
    }
}

fn first(n: u32, none: u32) -> u32 {
    if n == none { u32::MAX } else { n }
}

fn is_equality(op: Opcode) -> bool {
    matches!(
        op,
        S_CMP_EQ_I32
            | S_CMP_EQ_U32
            | S_CMPK_EQ_I32
            | S_CMP_LG_I32
            | S_CMP_LG_U32
            | S_CMPK_LG_I32
            | S_CMP_EQ_U64
            | S_CMP_LG_U64
            | S_CMPK_EQ_U32
            | S_CMPK_LG_U32
    )
}

/// Undefined bits of the inputs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undef {
    /// First source.
    pub a: u64,
    /// Second source.
    pub b: u64,
    /// Old destination.
    pub d: u64,
    /// SCC.
    pub scc: bool,
}

impl Undef {
    /// Whether anything is undefined.
    pub fn any(&self) -> bool {
        self.a | self.b | self.d != 0 || self.scc
    }
}

/// Undefined bits of the results: destination, SCC, EXEC.
pub fn undefined(op: Opcode, i: &In, u: &Undef, out: &Out) -> (u64, bool, u64) {
    if is_equality(op) {
        let known_different = (i.a ^ i.b) & !(u.a | u.b) != 0;
        return (0, !known_different, 0);
    }
    let (mut d, mut scc, mut exec) = (0, false, 0);
    for pattern in super::PATTERNS {
        let mix = |x: u64, undef: u64, rot: u32| x & !undef | pattern.rotate_left(rot) & undef;
        let j = In {
            a: mix(i.a, u.a, 0),
            b: mix(i.b, u.b, 17),
            d: mix(i.d, u.d, 31),
            scc: if u.scc { pattern & 1 != 0 } else { i.scc },
            exec: i.exec,
        };
        let Some(other) = compute(op, &j) else { continue };
        d |= other.d ^ out.d;
        scc |= other.scc != out.scc;
        exec |= other.exec.unwrap_or(0) ^ out.exec.unwrap_or(0);
    }
    // SCC of a logical operation tells whether the result is zero: certain once one defined bit is set.
    if out.scc == Some(out.d != 0) && out.exec.is_none() && d != 0 {
        scc = out.d & !d == 0;
    }
    if let Some(e) = out.exec {
        scc = exec != 0 && e & !exec == 0;
    }
    (d, scc, exec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(op: Opcode, a: u64, b: u64) -> Out {
        compute(op, &In { a, b, scc: true, ..In::default() }).unwrap()
    }

    #[test]
    fn arithmetic() {
        assert_eq!(run(S_ADD_U32, 0xffff_ffff, 1), Out { d: 0, scc: Some(true), exec: None });
        assert_eq!(run(S_ADDC_U32, 1, 1), Out { d: 3, scc: Some(false), exec: None });
        assert_eq!(run(S_SUBB_U32, 0, 0), Out { d: 0xffff_ffff, scc: Some(true), exec: None });
        assert_eq!(run(S_BFE_I32, 0xf0, 4 | 4 << 16).d, 0xffff_ffff);
        assert_eq!(run(S_BFE_U64, 0xff00_0000_0000_0000, 56 | 8 << 16).d, 0xff);
        assert_eq!(run(S_BFE_U32, 0x1234_5678, 8 | 32 << 16).d, 0x12_3456);
        assert_eq!(run(S_FLBIT_I32_B32, 0, 0).d, 0xffff_ffff);
        assert_eq!(run(S_FLBIT_I32, 0xffff_0000, 0).d, 16);
        assert_eq!(run(S_BFM_B32, 5, 3).d, 0xf8);
        assert_eq!(run(S_WQM_B64, 0x8001, 0).d, 0xf00f);
        assert_eq!(run(S_LSHL4_ADD_U32, 0x1000_0001, 1), Out { d: 0x11, scc: Some(true), exec: None });
    }

    #[test]
    fn undefined_bits_travel() {
        let i = In { a: 0xff, b: 0x0f, ..In::default() };
        let u = Undef { a: 0xf0, ..Undef::default() };
        let und = |op| undefined(op, &i, &u, &compute(op, &i).unwrap());
        assert_eq!(und(S_AND_B32), (0, false, 0));
        assert_eq!(und(S_OR_B32), (0xf0, false, 0));
        assert_eq!(und(S_CMP_EQ_U32), (0, true, 0));
        let i = In { a: 0x1ff, b: 0x0f, ..In::default() };
        assert_eq!(undefined(S_CMP_EQ_U32, &i, &u, &compute(S_CMP_EQ_U32, &i).unwrap()), (0, false, 0));
        // A shift brings them elsewhere, an addition up to where the carry stops.
        assert_eq!(
            undefined(S_LSHL_B32, &In { a: 1, b: 4, ..i }, &Undef { a: 2, ..u }, &run(S_LSHL_B32, 1, 4)).0,
            0x20
        );
        let sum = undefined(S_ADD_U32, &In { a: 0, b: 1, ..i }, &Undef { a: 1, ..u }, &run(S_ADD_U32, 0, 1));
        assert_eq!(sum, (3, false, 0));
    }

    /// What is done to EXEC in 32 bits is what is done in 64, in the low half.
    #[test]
    fn exec_is_saved_in_either_width() {
        let pairs = [
            (S_AND_SAVEEXEC_B32, S_AND_SAVEEXEC_B64),
            (S_OR_SAVEEXEC_B32, S_OR_SAVEEXEC_B64),
            (S_XOR_SAVEEXEC_B32, S_XOR_SAVEEXEC_B64),
            (S_ANDN2_SAVEEXEC_B32, S_ANDN2_SAVEEXEC_B64),
            (S_ORN2_SAVEEXEC_B32, S_ORN2_SAVEEXEC_B64),
            (S_NAND_SAVEEXEC_B32, S_NAND_SAVEEXEC_B64),
            (S_NOR_SAVEEXEC_B32, S_NOR_SAVEEXEC_B64),
            (S_XNOR_SAVEEXEC_B32, S_XNOR_SAVEEXEC_B64),
            (S_ANDN1_SAVEEXEC_B32, S_ANDN1_SAVEEXEC_B64),
            (S_ORN1_SAVEEXEC_B32, S_ORN1_SAVEEXEC_B64),
            (S_ANDN1_WREXEC_B32, S_ANDN1_WREXEC_B64),
            (S_ANDN2_WREXEC_B32, S_ANDN2_WREXEC_B64),
        ];
        let low = |x: u64| x & 0xffff_ffff;
        for (narrow, wide) in pairs {
            for (a, exec) in [(0x00ff_0f0f, 0x0f0f_00ff), (0, 0xffff_ffff), (0xffff_ffff, 0xffff_ffff)] {
                let input = In { a, exec: 7 << 32 | exec, ..In::default() };
                let (n, w) = (compute(narrow, &input).unwrap(), compute(wide, &input).unwrap());
                let set = n.exec.unwrap();
                assert_eq!((n.d, low(set)), (low(w.d), low(w.exec.unwrap())), "{narrow:?}");
                assert_eq!((set >> 32, n.scc), (7, Some(low(set) != 0)), "{narrow:?}");
            }
        }
    }
}
