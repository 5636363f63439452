//! Shorter encodings for what allocated instructions do.
//!
//! A literal takes a dword of code, and VOP3 takes two dwords where VOP2 takes one. Which short form fits depends on registers, so that this
//! follows allocation: destination and source must be the same for `s_addk_i32` or `v_mac_f32`. Some write SCC in another way than the
//! instruction they replace, so that nobody may read it.
//!
//! | from | to | where |
//! |---|---|---|
//! | `s_mov_b32 d, K` | `s_movk_i32 d, K`; `s_brev_b32 d, k` | K of 16 bits, signed; k inline |
//! | `v_mov_b32 d, K` | `v_bfrev_b32 d, k` | k inline |
//! | `s_add_u32 d, d, K`, `s_sub_u32` | `s_addk_i32 d, ±K` | SCC unused |
//! | `s_mul_i32 d, d, K` | `s_mulk_i32 d, K` | |
//! | `s_cmp_* a, K` | `s_cmpk_* a, K` | K of 16 bits, signed or unsigned as the comparison |
//! | `s_and_b32 d, a, K`, `s_or`, `s_xor` | `s_andn2_b32 d, a, ~K`, `s_orn2`, `s_xnor` | ~K inline |
//! | `s_and_b32 d, d, ~(1 << n)`, `s_or_b32 d, d, 1 << n` | `s_bitset0_b32 d, n`, `s_bitset1` | SCC unused |
//! | `s_and_b32 d, a, 0xffff`, `0xffff0000` | `s_pack_ll_b32_b16 d, a, 0`, `s_pack_lh_b32_b16 d, 0, a` | SCC unused; from GFX9 |
//! | an image's address in registers of its own | a tuple | they follow each other |
//! | `v_mad_f32 d, a, b, d`, `v_fma_f32` | `v_mac_f32 d, a, b`, `v_fmac` | b a VGPR, no modifiers |
//! | `v_mad_f32 d, a, b, K`, `v_fma_f32` | `v_madak_f32 d, a, b, K`, `v_fmaak` | b a VGPR, no modifiers |
//! | `v_mad_f32 d, a, K, c`, `v_fma_f32` | `v_madmk_f32 d, a, K, c`, `v_fmamk` | c a VGPR, no modifiers |
//!
//! Code of inline assembly is not there yet, so that it stays as it was written. Cost: one walk.
//!
//! Source: Vega ISA, "SOPK Instructions", "SOP1 Instructions" (S_BITSET, S_BREV), "VOP2 Instructions" (V_MAC_F32, V_MADAK_F32, V_MADMK_F32).

use mir::isa::format::Slot;
use mir::isa::{OpFlags, Opcode, ValueType};
use mir::machine::{Condition, Function, Inst, Modifiers, Operand, PReg, Reg, RegOperand, Terminator};
use mir::target::Target;
use mir::target::operands::inline_constant;

/// Shortens the instructions of an allocated function.
pub fn shrink(f: &mut Function, target: &Target) {
    for &block in &f.layout {
        let data = &mut f.blocks[block];
        let mut scc_is_read = matches!(data.term, Terminator::Uniform(Condition::Scc0 | Condition::Scc1));
        for inst in data.insts.iter_mut().rev() {
            let flags = inst.op.info().flags;
            join_address(inst);
            if let Some((op, operands)) = short_form(inst, scc_is_read, target) {
                inst.op = op;
                inst.operands.clear();
                inst.operands.extend_from_slice(operands.as_slice());
            }
            if flags.contains(OpFlags::SCC_DEF) {
                scc_is_read = false;
            }
            scc_is_read |= flags.contains(OpFlags::SCC_USE);
        }
    }
}

/// Makes a tuple of the address registers of an image that are named one by one and follow each other.
fn join_address(inst: &mut Inst) {
    let parts = usize::from(inst.mods.address_parts);
    let rows = inst.op.info().operands;
    let first = rows.iter().position(|desc| desc.slot == Slot::Addr);
    let register = |operand: Option<&Operand>| match operand?.as_reg()? {
        RegOperand { reg: Reg::Physical(reg), dwords: 1, .. } => Some(reg.0),
        _ => None,
    };
    let Some((first, start)) = first.and_then(|k| Some((k, register(inst.operands.get(k))?))) else { return };
    let follows = |n: usize| register(inst.operands.get(rows.len() + n)) == Some(start + 1 + n as u16);
    if parts == 0 || !(0..parts).all(follows) {
        return;
    }
    inst.operands.drain(rows.len()..rows.len() + parts);
    inst.operands[first] = Operand::preg(PReg(start), 1 + parts as u8);
    inst.mods.address_parts = 0;
}

/// Up to four operands.
type Operands = smallvec::SmallVec<[Operand; 4]>;

fn short_form(inst: &Inst, scc_is_read: bool, target: &Target) -> Option<(Opcode, Operands)> {
    use Opcode::*;
    if inst.mods != Modifiers::default() {
        return None;
    }
    let inline = |bits: u32| {
        let value = i64::from(bits as i32);
        inline_constant(value, ValueType::B32, target.generation()).map(|_| Operand::Imm(value))
    };
    let literal =
        |operand: &Operand| operand.as_imm().map(|value| value as u32).filter(|&bits| inline(bits).is_none());
    match inst.op {
        S_MOV_B32 | V_MOV_B32 => {
            let [dst, source] = inst.operands[..] else { return None };
            let bits = literal(&source)?;
            if inst.op == S_MOV_B32
                && let Some(short) = signed16(bits)
            {
                return Some((S_MOVK_I32, Operands::from_slice(&[dst, short])));
            }
            let reversed = inline(bits.reverse_bits())?;
            let op = if inst.op == S_MOV_B32 { S_BREV_B32 } else { V_BFREV_B32 };
            Some((op, Operands::from_slice(&[dst, reversed])))
        }
        V_MAD_F32 | V_FMA_F32 => {
            accumulate(inst, target).or_else(|| with_constant(inst, |k| literal(k).is_some(), target))
        }
        _ => {
            let (a, bits, swapped) = literal_source(inst, &literal)?;
            if let Some(comparison) = short_comparison(inst.op, swapped) {
                let signed = matches!(comparison.types, Types::Signed | Types::Both);
                if let Some(short) = signed16(bits).filter(|_| signed) {
                    return Some((comparison.signed, Operands::from_slice(&[a, short])));
                }
                let unsigned = matches!(comparison.types, Types::Unsigned | Types::Both);
                return (unsigned && bits <= 0xffff).then(|| {
                    (comparison.unsigned, Operands::from_slice(&[a, Operand::Imm(i64::from(bits))]))
                });
            }
            let dst = *inst.operands.first()?;
            let in_place = dst == a;
            let bitwise = |one_bit: Option<Opcode>, one: u32, negated: Opcode| {
                if let (true, false, Some(op), true) = (in_place, scc_is_read, one_bit, one.is_power_of_two())
                {
                    let bit = Operand::Imm(i64::from(one.trailing_zeros()));
                    return Some((op, Operands::from_slice(&[dst, bit])));
                }
                Some((negated, Operands::from_slice(&[dst, a, inline(!bits)?])))
            };
            match inst.op {
                S_ADD_U32 | S_ADD_I32 if in_place && !scc_is_read => {
                    Some((S_ADDK_I32, Operands::from_slice(&[dst, signed16(bits)?])))
                }
                S_SUB_U32 | S_SUB_I32 if in_place && !scc_is_read && !swapped => {
                    Some((S_ADDK_I32, Operands::from_slice(&[dst, signed16(bits.wrapping_neg())?])))
                }
                S_MUL_I32 if in_place => Some((S_MULK_I32, Operands::from_slice(&[dst, signed16(bits)?]))),
                // A half of the register beside a half of 0.
                S_AND_B32 if !scc_is_read && bits == 0xffff && S_PACK_LL_B32_B16.info().exists_on(target) => {
                    Some((S_PACK_LL_B32_B16, Operands::from_slice(&[dst, a, Operand::Imm(0)])))
                }
                S_AND_B32
                    if !scc_is_read && bits == 0xffff_0000 && S_PACK_LH_B32_B16.info().exists_on(target) =>
                {
                    Some((S_PACK_LH_B32_B16, Operands::from_slice(&[dst, Operand::Imm(0), a])))
                }
                S_AND_B32 => bitwise(Some(S_BITSET0_B32), !bits, S_ANDN2_B32),
                S_OR_B32 => bitwise(Some(S_BITSET1_B32), bits, S_ORN2_B32),
                S_XOR_B32 => bitwise(None, bits, S_XNOR_B32),
                _ => None,
            }
        }
    }
}

/// The register source, the bits of the literal, and whether the literal stands first.
fn literal_source(inst: &Inst, literal: &impl Fn(&Operand) -> Option<u32>) -> Option<(Operand, u32, bool)> {
    let [.., first, second] = inst.operands[..] else { return None };
    let register = |operand: &Operand| operand.as_reg().is_some();
    if let Some(bits) = literal(&second).filter(|_| register(&first)) {
        return Some((first, bits, false));
    }
    literal(&first).filter(|_| register(&second)).map(|bits| (second, bits, true))
}

fn signed16(bits: u32) -> Option<Operand> {
    let value = bits as i32;
    i16::try_from(value).is_ok().then_some(Operand::Imm(i64::from(value)))
}

/// How a comparison reads its operands.
enum Types {
    Signed,
    Unsigned,
    /// It does not matter.
    Both,
}

struct Comparison {
    types: Types,
    signed: Opcode,
    unsigned: Opcode,
}

/// The comparison of the register with a constant of 16 bits; `swapped` where the constant stood first.
fn short_comparison(op: Opcode, swapped: bool) -> Option<Comparison> {
    use Opcode::*;
    let (types, mut row) = match op {
        S_CMP_EQ_I32 | S_CMP_EQ_U32 => (Types::Both, 0),
        S_CMP_LG_I32 | S_CMP_LG_U32 => (Types::Both, 1),
        S_CMP_GT_I32 => (Types::Signed, 2),
        S_CMP_GE_I32 => (Types::Signed, 3),
        S_CMP_LT_I32 => (Types::Signed, 4),
        S_CMP_LE_I32 => (Types::Signed, 5),
        S_CMP_GT_U32 => (Types::Unsigned, 2),
        S_CMP_GE_U32 => (Types::Unsigned, 3),
        S_CMP_LT_U32 => (Types::Unsigned, 4),
        S_CMP_LE_U32 => (Types::Unsigned, 5),
        _ => return None,
    };
    if swapped {
        row = [0, 1, 4, 5, 2, 3][row];
    }
    let (signed, unsigned) = [
        (S_CMPK_EQ_I32, S_CMPK_EQ_U32),
        (S_CMPK_LG_I32, S_CMPK_LG_U32),
        (S_CMPK_GT_I32, S_CMPK_GT_U32),
        (S_CMPK_GE_I32, S_CMPK_GE_U32),
        (S_CMPK_LT_I32, S_CMPK_LT_U32),
        (S_CMPK_LE_I32, S_CMPK_LE_U32),
    ][row];
    Some(Comparison { types, signed, unsigned })
}

/// `d = a * b + d`.
fn accumulate(inst: &Inst, target: &Target) -> Option<(Opcode, Operands)> {
    let op = if inst.op == Opcode::V_MAD_F32 { Opcode::V_MAC_F32 } else { Opcode::V_FMAC_F32 };
    let [dst, a, b, c] = inst.operands[..] else { return None };
    if dst != c || !op.info().exists_on(target) {
        return None;
    }
    if is_vgpr(&b) {
        Some((op, Operands::from_slice(&[dst, a, b])))
    } else {
        is_vgpr(&a).then(|| (op, Operands::from_slice(&[dst, b, a])))
    }
}

/// `d = a * b + K` or `d = a * K + c`.
fn with_constant(
    inst: &Inst,
    is_literal: impl Fn(&Operand) -> bool,
    target: &Target,
) -> Option<(Opcode, Operands)> {
    let (addend, factor) = match inst.op {
        Opcode::V_MAD_F32 => (Opcode::V_MADAK_F32, Opcode::V_MADMK_F32),
        _ => (Opcode::V_FMAAK_F32, Opcode::V_FMAMK_F32),
    };
    let [dst, a, b, c] = inst.operands[..] else { return None };
    let (op, operands) = match () {
        () if is_literal(&c) && is_vgpr(&b) => (addend, [dst, a, b, c]),
        () if is_literal(&c) && is_vgpr(&a) => (addend, [dst, b, a, c]),
        () if is_literal(&b) && is_vgpr(&c) => (factor, [dst, a, b, c]),
        () if is_literal(&a) && is_vgpr(&c) => (factor, [dst, b, a, c]),
        () => return None,
    };
    // An instruction has one: a constant that is both factors stays in the long form.
    let literals = operands.iter().filter(|operand| is_literal(operand)).count();
    (literals == 1 && op.info().exists_on(target)).then(|| (op, Operands::from_slice(&operands)))
}

fn is_vgpr(operand: &Operand) -> bool {
    matches!(operand.as_reg().map(|r| r.reg), Some(Reg::Physical(p)) if p.is_vgpr())
}
