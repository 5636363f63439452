//! Constants that have no inline form, as literals of the vector instruction that reads them (GFX10).
//!
//! Before GFX10 the long encodings of vector instructions take no literal, so that selection puts one into an SGPR wherever the encoding is not certain.
//! Where they do, an SGPR that is made for one source of the same block costs an instruction, four bytes and the register. One that
//! several read stays: each literal is a dword of its own.
//!
//! Literals and SGPRs take the same places on the constant bus, so what fitted still does, as long as the instruction has no other literal.
//!
//! Cost: linear. Source: RDNA ISA, "Vector ALU operands": VOP3 takes a literal.

use crate::uses::count_uses;
use mir::isa::Opcode::S_MOV_B32;
use mir::isa::{Format, OperandKind, Role, ValueType};
use mir::machine::{Block, Encoding, Function, Inst, Operand, Reg, RegOperand, VReg};
use mir::target::Target;
use mir::target::operands::inline_constant;
use rustc_hash::FxHashMap;

/// Puts constants that one vector source reads there.
pub(super) fn fold(f: &mut Function, target: &Target, layout: &[Block]) {
    if !target.encoding_rules().vop3_literals {
        return;
    }
    let uses = count_uses(f, layout);
    for &block in layout {
        let data = &mut f.blocks[block];
        // Constants that the block makes for one reader, by where.
        let mut constants: FxHashMap<VReg, (usize, i64)> = FxHashMap::default();
        let mut gone: Vec<usize> = Vec::new();
        for (place, inst) in data.insts.iter_mut().enumerate() {
            if let Some((register, value)) = constant(inst, target) {
                if uses[register] == 1 {
                    constants.insert(register, (place, value));
                }
                continue;
            }
            if !takes_literals(inst, target) {
                continue;
            }
            let source = (0..inst.operands.len()).filter(|&slot| is_source(inst, slot)).find_map(|slot| {
                let register = register(&inst.operands[slot])?;
                Some((slot, *constants.get(&register)?))
            });
            if let Some((slot, (made, value))) = source {
                inst.operands[slot] = Operand::Imm(value);
                gone.push(made);
            }
        }
        if gone.is_empty() {
            continue;
        }
        gone.sort_unstable();
        let mut place = 0;
        data.insts.retain(|_| {
            place += 1;
            gone.binary_search(&(place - 1)).is_err()
        });
        data.tail_start = data.insts.len() as u32;
    }
}

/// The virtual register that an operand is as a whole, of one dword.
fn register(operand: &Operand) -> Option<VReg> {
    match *operand {
        Operand::Reg(RegOperand { reg: Reg::Virtual(register), sub: 0, dwords: 1 }) => Some(register),
        _ => None,
    }
}

/// What an instruction makes that only puts a constant without an inline form into an SGPR.
fn constant(inst: &Inst, target: &Target) -> Option<(VReg, i64)> {
    let (S_MOV_B32, [result, Operand::Imm(value)]) = (inst.op, &inst.operands[..]) else { return None };
    let is_inline = inline_constant(*value, ValueType::B32, target.generation()).is_some();
    (!is_inline).then_some((register(result)?, *value))
}

/// Whether a literal fits into `inst`, which has none.
fn takes_literals(inst: &Inst, target: &Target) -> bool {
    let info = inst.op.info();
    let vector = matches!(info.format, Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vopc);
    let plain = inst.mods.sdwa().is_none() && inst.mods.dpp().is_none() && inst.mods.dpp8().is_none();
    let long = info.vop3_code(target.generation()).is_some();
    let has_literal = inst.operands.iter().enumerate().any(|(slot, operand)| match operand {
        Operand::Imm(value) => {
            let ty = info.operands.get(slot).map_or(ValueType::B32, |desc| desc.ty);
            inline_constant(*value, ty, target.generation()).is_none()
        }
        Operand::Symbol { .. } => true,
        _ => false,
    });
    vector && plain && long && inst.encoding == Encoding::Auto && !has_literal
}

/// Whether the operand in `slot` is a source of 32 bits that a long encoding reads from anywhere.
fn is_source(inst: &Inst, slot: usize) -> bool {
    use ValueType::{B32, F32, I32, U32};
    let info = inst.op.info();
    info.operands.get(slot).is_some_and(|desc| {
        desc.role == Role::Use
            && matches!(desc.ty, B32 | F32 | I32 | U32)
            && info.operand_kind(slot, true) == Some(OperandKind::VectorSrc)
    })
}
