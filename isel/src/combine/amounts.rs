//! Masks of shift amounts, which the hardware masks itself.
//!
//! A shift reads as many of the low bits of its amount as its width has; a mask that keeps those changes nothing. The same holds where the amount is
//! made from the masked value by instructions whose low bits follow from the low bits of what they read, and nobody reads more of them.
//!
//! A walk backwards, users before what they use, notes which bits of each register are read; a walk forwards lets instructions read what was masked, where
//! the mask keeps all that they read. What is then unused goes.
//!
//! Cost: linear. Sources: GCN3 ISA and Vega ISA, "Vector ALU", `V_LSHLREV_B32`: the amount is `S0[4:0]`; others alike.

use super::{single_result, vgpr};
use crate::uses::count_uses;
use cranelift_entity::{EntitySet, SecondaryMap};
use mir::isa::Opcode::{self, *};
use mir::machine::{Block, Function, Inst, Operand, Reg, RegOperand, VReg};
use rustc_hash::FxHashMap;

const ALL: u32 = u32::MAX;

/// A masked value, and the mask.
type Masks = FxHashMap<VReg, (Operand, u32)>;

/// Lets shifts read what their amounts are masks of.
pub(super) fn unmask(f: &mut Function, layout: &[Block]) {
    let mut masks = Masks::default();
    for &block in layout {
        for inst in &f.blocks[block].insts {
            if let Some((result, mask)) = masked(f, inst) {
                masks.insert(result, mask);
            }
        }
    }
    if masks.is_empty() {
        return;
    }
    let Some(read) = bits_read(f, layout) else { return };
    let mut released: EntitySet<VReg> = EntitySet::new();
    for &block in layout {
        let mut insts = std::mem::take(&mut f.blocks[block].insts);
        for inst in &mut insts {
            let result = single_result(f, inst);
            for slot in 0..inst.operands.len() {
                let wanted = reads(inst.op, slot, || result.map_or(ALL, |result| read[result]));
                if let Some(register) = register(f, &inst.operands[slot])
                    && let Some(&(source, mask)) = masks.get(&register)
                    && result != Some(register)
                    && wanted & !mask == 0
                {
                    inst.operands[slot] = source;
                    released.insert(register);
                }
            }
        }
        f.blocks[block].insts = insts;
    }
    if released.is_empty() {
        return;
    }
    let uses = count_uses(f, layout);
    for &block in layout {
        let mut insts = std::mem::take(&mut f.blocks[block].insts);
        insts.retain(|inst| {
            let masked = single_result(f, inst).filter(|_| inst.op == V_AND_B32);
            masked.is_none_or(|result| !released.contains(result) || uses[result] > 0)
        });
        f.blocks[block].tail_start = insts.len() as u32;
        f.blocks[block].insts = insts;
    }
}

/// The register that is a value and a constant mask, with both.
fn masked(f: &Function, inst: &Inst) -> Option<(VReg, (Operand, u32))> {
    let (V_AND_B32, [result, a, b]) = (inst.op, &inst.operands[..]) else { return None };
    let plain = inst.mods.sdwa().is_none() && inst.mods.dpp().is_none() && inst.mods.dpp8().is_none();
    let result = register(f, result).filter(|_| plain)?;
    let (mask, source) = match (a, b) {
        (Operand::Imm(mask), source) | (source, Operand::Imm(mask)) => (*mask as u32, source),
        _ => return None,
    };
    // Amounts have four to six bits.
    (mask & 15 == 15 && register(f, source).is_some()).then_some((result, (*source, mask)))
}

/// Which bits of each register are read; `None` where a use comes in front of its definition, so that a walk does not tell.
fn bits_read(f: &Function, layout: &[Block]) -> Option<SecondaryMap<VReg, u32>> {
    let mut read: SecondaryMap<VReg, u32> = SecondaryMap::with_capacity(f.vregs.len());
    let mut defined: EntitySet<VReg> = EntitySet::with_capacity(f.vregs.len());
    for &block in layout.iter().rev() {
        let data = &f.blocks[block];
        for &arg in data.thread_succs.iter().flat_map(|edge| &edge.args) {
            read[arg] = ALL;
        }
        for inst in data.insts.iter().rev() {
            let result = single_result(f, inst);
            for (slot, operand) in inst.operands.iter().enumerate() {
                let Operand::Reg(RegOperand { reg: Reg::Virtual(reg), .. }) = *operand else { continue };
                if Some(reg) == result {
                    defined.insert(reg);
                } else if defined.contains(reg) {
                    return None;
                } else {
                    read[reg] |= reads(inst.op, slot, || result.map_or(ALL, |result| read[result]));
                }
            }
        }
    }
    Some(read)
}

/// The bits that `op` reads of its operand in `slot`, of whose result `of_result` are read.
fn reads(op: Opcode, slot: usize, of_result: impl FnOnce() -> u32) -> u32 {
    match (op, slot) {
        (V_LSHLREV_B16 | V_LSHRREV_B16 | V_ASHRREV_I16, 1) => 15,
        (V_LSHLREV_B32 | V_LSHRREV_B32 | V_ASHRREV_I32, 1) => 31,
        (V_LSHL_B32 | V_LSHR_B32 | V_ASHR_I32, 2) => 31,
        (V_LSHLREV_B64 | V_LSHRREV_B64 | V_ASHRREV_I64, 1) => 63,
        (V_LSHL_B64 | V_LSHR_B64 | V_ASHR_I64, 2) => 63,
        (V_LSHL_ADD_U32 | V_LSHL_OR_B32, 2) => 31,
        (V_ADD_LSHL_U32 | V_ALIGNBIT_B32, 3) => 31,
        (V_BFE_U32 | V_BFE_I32, 2 | 3) => 31,
        // Carries go up: bits below the highest one that is read.
        (
            V_XOR_B32 | V_OR_B32 | V_AND_B32 | V_NOT_B32 | V_ADD_U32 | V_SUB_U32 | V_SUBREV_U32 | V_ADD3_U32,
            1..,
        ) => ALL.checked_shr(of_result().leading_zeros()).unwrap_or(0),
        _ => ALL,
    }
}

/// The VGPR of one dword that an operand is.
fn register(f: &Function, operand: &Operand) -> Option<VReg> {
    vgpr(f, operand).filter(|&(reg, _)| f.vregs[reg].dwords == 1).map(|(reg, _)| reg)
}
