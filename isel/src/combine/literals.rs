//! Constants that have no inline form, as literals of the vector instructions that read them (GFX10).
//!
//! Before GFX10 the long encodings of vector instructions take no literal, so that selection puts one into an SGPR wherever the encoding is not certain.
//! Where they do, an SGPR costs an instruction, eight bytes and the register, and each literal four bytes; none where the product and sum has a form
//! with a constant (`v_fmaak_f32`, `v_fmamk_f32`). So a constant stays in its SGPR that takes more bytes as literals, or that an instruction reads which
//! takes none. The same of those that are made in front of loops: what is used where few iterations come by is not made for all.
//!
//! Literals and SGPRs take the same places on the constant bus, so what fitted still does, as long as the instruction has no other literal.
//!
//! Cost: linear. Source: RDNA ISA, "Vector ALU operands": VOP3 takes a literal.

use crate::uses::count_uses;
use cranelift_entity::PrimaryMap;
use mir::isa::Opcode::{self, S_MOV_B32};
use mir::isa::{Format, OperandKind, Role, ValueType};
use mir::machine::{
    Block, Encoding, Function, Inst, Modifiers, Operand, Reg, RegFile, RegOperand, VReg, VRegData,
};
use mir::target::Target;
use mir::target::operands::inline_constant;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Bytes of `s_mov_b32` with a literal.
const MOVE_BYTES: u32 = 8;
/// Bytes of a literal.
const LITERAL_BYTES: u32 = 4;

/// A constant in an SGPR.
struct Constant {
    value: i64,
    /// Operands that it is.
    uses: u32,
    /// Those that can be literals, and the bytes that these take.
    literals: u32,
    bytes: u32,
}

impl Constant {
    fn is_literal(&self) -> bool {
        self.literals == self.uses && self.bytes <= MOVE_BYTES
    }
}

/// Puts constants where vector sources read them.
pub(super) fn fold(f: &mut Function, target: &Target, layout: &[Block]) {
    if !target.encoding_rules().vop3_literals {
        return;
    }
    let mut constants = find(f, target, layout);
    if constants.is_empty() {
        return;
    }
    for inst in layout.iter().flat_map(|&block| &f.blocks[block].insts) {
        let Some(register) = literal_of(&f.vregs, inst, &constants, target) else { continue };
        let free = has_constant_form(&f.vregs, inst, register, target);
        if let Some(constant) = constants.get_mut(&register) {
            constant.literals += slots_of(inst, register).count() as u32;
            constant.bytes += if free { 0 } else { LITERAL_BYTES };
        }
    }
    // Which of two constants an instruction takes is decided among all of them, as it was counted.
    let Function { vregs, blocks, .. } = f;
    for &block in layout {
        let data = &mut blocks[block];
        for inst in &mut data.insts {
            let Some(register) = literal_of(vregs, inst, &constants, target) else { continue };
            let Some(constant) = constants.get(&register).filter(|constant| constant.is_literal()) else {
                continue;
            };
            for slot in slots_of(inst, register).collect::<SmallVec<[usize; 3]>>() {
                inst.operands[slot] = Operand::Imm(constant.value);
            }
        }
        let stays = |inst: &Inst| {
            constant(inst, target)
                .is_none_or(|(register, _)| !constants.get(&register).is_some_and(Constant::is_literal))
        };
        data.insts.retain(stays);
        data.tail_start = data.insts.len() as u32;
    }
}

/// What code makes only to have a constant in an SGPR, and uses.
fn find(f: &Function, target: &Target, layout: &[Block]) -> FxHashMap<VReg, Constant> {
    let made =
        layout.iter().flat_map(|&block| &f.blocks[block].insts).filter_map(|inst| constant(inst, target));
    let mut constants: FxHashMap<VReg, Constant> = made
        .map(|(register, value)| (register, Constant { value, uses: 0, literals: 0, bytes: 0 }))
        .collect();
    if !constants.is_empty() {
        let uses = count_uses(f, layout);
        constants.retain(|&register, constant| {
            constant.uses = uses[register];
            constant.uses > 0
        });
    }
    constants
}

/// The register that `inst` could have as a literal; of several the one that least is read, then one that takes no byte.
fn literal_of(
    vregs: &PrimaryMap<VReg, VRegData>,
    inst: &Inst,
    constants: &FxHashMap<VReg, Constant>,
    target: &Target,
) -> Option<VReg> {
    let sources = (0..inst.operands.len()).filter(|&slot| is_source(inst, slot));
    let known = sources.filter_map(|slot| {
        let register = register(&inst.operands[slot])?;
        let uses = constants.get(&register)?.uses;
        Some((uses, !has_constant_form(vregs, inst, register, target), register))
    });
    let (_, _, register) = known.min_by_key(|&(uses, long, _)| (uses, long))?;
    takes_literals(inst, target).then_some(register)
}

/// Sources that are `wanted`.
fn slots_of(inst: &Inst, wanted: VReg) -> impl Iterator<Item = usize> {
    (0..inst.operands.len())
        .filter(move |&slot| is_source(inst, slot) && register(&inst.operands[slot]) == Some(wanted))
}

/// Whether `inst` is as short with `constant` as a literal: a product and sum with one constant, where a VGPR is in the place that takes nothing else.
fn has_constant_form(
    vregs: &PrimaryMap<VReg, VRegData>,
    inst: &Inst,
    constant: VReg,
    target: &Target,
) -> bool {
    let form = match inst.op {
        Opcode::V_FMA_F32 => Opcode::V_FMAMK_F32,
        Opcode::V_MAD_F32 => Opcode::V_MADMK_F32,
        _ => return false,
    };
    let [_, a, b, c] = &inst.operands[..] else { return false };
    let vgpr =
        |operand: &Operand| register(operand).is_some_and(|register| vregs[register].file == RegFile::Vgpr);
    let is = |operand: &Operand| register(operand) == Some(constant);
    let fits = match [is(a), is(b), is(c)] {
        [false, false, true] => vgpr(a) || vgpr(b),
        [true, false, false] | [false, true, false] => vgpr(c),
        _ => false,
    };
    fits && inst.mods == Modifiers::default() && form.info().exists_on(target)
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
