//! Which modifiers an instruction takes in an encoding: what its layout has a field for, less what its operands cannot use.
//!
//! Encoder and decoder refuse the rest; an assembler may ask before it encodes. Cost: a walk over the operands.
//!
//! Sources: the ISA manuals, "Input modifiers", "Output modifiers" and the opcode tables; LLVM's assembler and disassembler agree with it
//! (`tests/isa_round_trip.rs`, `tests/decode_agreement.rs`).

use super::format::{Layout, Mod, layout};
use super::{Format, ImageParts, OpFlags, OpcodeInfo, OperandDesc, OperandKind, Role, ValueType};
use crate::machine::{Encoding, Inst, ModFlags, Modifiers, Operand, RegFile, RegOperand};
use crate::target::operands::inline_constant;
use crate::target::{Generation, Target};

/// Modifiers that an instruction takes. Bit i of a mask is source i, as in [`Modifiers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accepted {
    /// One-bit modifiers.
    pub flags: ModFlags,
    /// Absolute value.
    pub abs: u8,
    /// Negation (`neg_lo` of VOP3P).
    pub neg: u8,
    /// Negation of the high half.
    pub neg_hi: u8,
    /// SDWA sign extension.
    pub sext: u8,
    /// Selection of halves; bit 3 is the destination.
    pub op_sel: u8,
    /// Output modifier.
    pub omod: bool,
    /// Sources that exist but are no numbers for `abs` and `neg`: the hardware does not look at their bits.
    pub deaf: u8,
}

/// Whether the instruction has an output modifier.
fn accepts_omod(info: &OpcodeInfo, encoding: Encoding) -> bool {
    let float = info.flags.contains(OpFlags::FLOAT_MODS) && !info.flags.contains(OpFlags::NO_OMOD);
    let to_float = matches!(info.operands.first().map(|o| o.ty), Some(ValueType::F16 | ValueType::F32));
    info.flags.contains(OpFlags::OMOD)
        || (float
            && !matches!(info.format, Format::Vop3p | Format::Vopc)
            // Conversions to integer lose it there.
            && (encoding != Encoding::Sdwa || to_float))
}

/// Whether the instruction can clamp its result. GFX6-7 clamp floats alone; SDWA clamps anything.
fn accepts_clamp(info: &OpcodeInfo, encoding: Encoding, generation: Generation) -> bool {
    use ValueType as T;
    let float = info.flags.contains(OpFlags::FLOAT_MODS) && !info.flags.contains(OpFlags::NO_CLAMP);
    let to_float = info.operands.first().is_some_and(|o| matches!(o.ty, T::F16 | T::F32 | T::F64 | T::V2F16));
    (encoding == Encoding::Sdwa && !info.operands.is_empty())
        || (((float && info.format != Format::Vop3p) || info.flags.contains(OpFlags::INT_CLAMP))
            && (generation.encoding_rules().clamps_integers || to_float))
}

/// One-bit modifiers that this row lacks though its format has them.
fn denied_flags(info: &OpcodeInfo, encoding: Encoding, generation: Generation) -> ModFlags {
    let flags = info.flags;
    if info.image.contains(ImageParts::RAY) {
        return ModFlags::all() - ModFlags::A16;
    }
    let mut denied = ModFlags::empty();
    let mut deny = |flag, when: bool| denied.set(flag, when);
    deny(ModFlags::CLAMP, !accepts_clamp(info, encoding, generation));
    // Row by row an alias group says what it loads, and whether it loads to LDS.
    deny(ModFlags::LDS, !flags.contains(OpFlags::LDS_DMA));
    deny(ModFlags::GDS, flags.contains(OpFlags::NO_GDS) && !flags.contains(OpFlags::GDS_ONLY));
    let single = flags.intersects(OpFlags::ATOMIC.union(OpFlags::LDS_DMA));
    deny(ModFlags::TFE, info.format == Format::Mtbuf || (info.format == Format::Mubuf && single));
    // An atomic operation is done where all see it.
    deny(ModFlags::DLC, info.format == Format::Mubuf && flags.contains(OpFlags::ATOMIC));
    deny(ModFlags::D16, flags.intersects(OpFlags::ATOMIC.union(OpFlags::NO_D16)));
    let addressed = info.operands.iter().any(|o| o.kind == OperandKind::VgprOrOff);
    deny(ModFlags::OFFEN.union(ModFlags::IDXEN).union(ModFlags::ADDR64), !addressed);
    deny(ModFlags::HIGH, info.format == Format::Vintrp);
    // Cache control has no operands and no modifiers.
    if info.operands.is_empty() && matches!(info.format, Format::Mubuf | Format::Smem) {
        return ModFlags::all();
    }
    if info.format == Format::Smem {
        // The assembler cannot say it.
        denied.insert(ModFlags::NV);
        let accesses = flags.intersects(OpFlags::LOAD.union(OpFlags::STORE));
        denied.set(ModFlags::GLC.union(ModFlags::DLC), !accesses);
    }
    denied
}

/// Whether a source of this type has a sign that `abs` and `neg` may change.
pub(super) fn is_signed_number(desc: &OperandDesc) -> bool {
    use ValueType as T;
    desc.kind != OperandKind::LaneMask
        && matches!(desc.ty, T::F16 | T::F32 | T::F64 | T::V2F16 | T::B16 | T::B32 | T::B64)
}

/// Whether SDWA may sign-extend the source.
pub(super) fn is_integer(desc: &OperandDesc, info: &OpcodeInfo) -> bool {
    use ValueType as T;
    matches!(desc.ty, T::I16 | T::U16 | T::I32 | T::U32)
        || (matches!(desc.ty, T::B16 | T::B32) && !info.flags.contains(OpFlags::FLOAT_MODS))
}

/// The operands that `abs`, `neg` and the others count as sources, in order.
pub(super) fn sources(info: &OpcodeInfo) -> impl Iterator<Item = &'static OperandDesc> {
    info.operands
        .iter()
        .filter(|o| o.role == Role::Use && !matches!(o.kind, OperandKind::Literal | OperandKind::Attribute))
}

/// Whether `op_sel` of VOP3 names halves of sources and result: by its row, or since it works on 16-bit integers and GFX10 has it as VOP3 alone.
///
/// Source: RDNA ISA manual, "Vector ALU operations", VOP3A's `OPSEL`; which instructions take it is as in llvm-mc 22.
pub fn selects_halves(info: &OpcodeInfo, generation: Generation) -> bool {
    use ValueType::{B16, I16, U16};
    let alone = generation == Generation::Gfx10
        && info.format == Format::Vop2
        && info.code(generation).is_none()
        && info.vop3_code(generation).is_some();
    let short = |operand: &OperandDesc| matches!(operand.ty, B16 | I16 | U16);
    info.flags.contains(OpFlags::OP_SEL) || (alone && info.operands.iter().all(short))
}

/// What `info` takes in `encoding`, which has `layout`.
pub fn accepted(info: &OpcodeInfo, encoding: Encoding, layout: &Layout, generation: Generation) -> Accepted {
    let flags = info.flags;
    let vop3p = info.format == Format::Vop3p;
    let mix = flags.contains(OpFlags::MIX);
    let floats = flags.contains(OpFlags::FLOAT_MODS) || mix;
    let (mut all, mut numbers, mut integers, mut masks) = (0u8, 0u8, 0u8, 0u8);
    for (i, desc) in sources(info).enumerate().take(3) {
        let bit = 1 << i;
        all |= bit;
        if is_signed_number(desc) {
            numbers |= bit;
        }
        if is_integer(desc, info) {
            integers |= bit;
        }
        if desc.kind == OperandKind::LaneMask {
            masks |= bit;
        }
    }
    let signs = match (vop3p, floats) {
        (true, _) => all,
        (false, true) => numbers,
        (false, false) => 0,
    };
    let selects = match (vop3p, floats) {
        (true, true) => all,
        (false, _) if flags.contains(OpFlags::PERMLANE) => 3,
        (false, _) if selects_halves(info, generation) && layout.has_mod(Mod::OpSel) => all | 8,
        _ => 0,
    };
    Accepted {
        flags: layout.flags - denied_flags(info, encoding, generation),
        abs: if flags.contains(OpFlags::VOP3B) || (vop3p && !mix) { 0 } else { signs },
        neg: signs,
        neg_hi: if vop3p && !mix { all } else { 0 },
        sext: if encoding == Encoding::Sdwa { integers & 3 } else { 0 },
        op_sel: selects,
        omod: layout.has_mod(Mod::Omod) && accepts_omod(info, encoding),
        deaf: if floats && !matches!(info.format, Format::Vopc | Format::Vop3p) && encoding != Encoding::Sdwa
        {
            all & !numbers & !masks
        } else {
            0
        },
    }
}

impl Accepted {
    /// Whether all of `mods` that concern sources and result are taken; memory offsets and the like are not looked at.
    pub fn takes(&self, mods: &Modifiers) -> bool {
        // A 64-bit address in VGPRs leaves no place for index and offset.
        if mods.flags.contains(ModFlags::ADDR64)
            && mods.flags.intersects(ModFlags::OFFEN.union(ModFlags::IDXEN))
        {
            return false;
        }
        let sext = mods.sdwa().map_or(0, |s| s.sext);
        mods.abs & !self.abs == 0
            && mods.neg & !self.neg == 0
            && mods.neg_hi & !self.neg_hi == 0
            && mods.op_sel & !self.op_sel == 0
            && sext & !self.sext == 0
            && (mods.omod == 0 || self.omod)
            && self.flags.contains(mods.flags - ModFlags::ANY_LAYOUT)
    }
}

/// Whether `inst`, whose registers `file` tells apart, has an SDWA or DPP form with its operands and modifiers.
///
/// Sources are VGPRs; SDWA has SGPRs and inline constants where the generation's layout marks them, and literals nowhere. A mask that the
/// layout has no field for must be VCC.
pub fn has_extended_form(
    inst: &Inst,
    encoding: Encoding,
    target: &Target,
    file: impl Fn(&RegOperand) -> RegFile,
) -> bool {
    let (info, generation) = (inst.op.info(), target.generation());
    if !target.has(info.requires) || info.code(generation).is_none() {
        return false;
    }
    let Some(layout) = layout(info, encoding, generation) else { return false };
    if !accepted(info, encoding, layout, generation).takes(&inst.mods) {
        return false;
    }
    let scalars = encoding == Encoding::Sdwa && layout.has_mod(Mod::Scalar0);
    info.operands.iter().zip(&inst.operands).all(|(desc, operand)| match (desc.kind, operand) {
        (OperandKind::LaneMask, mask) => {
            *mask == Operand::vcc(target.wave())
                || (info.format == Format::Vopc && layout.has_mod(Mod::ScalarDst))
        }
        (OperandKind::Vgpr | OperandKind::VectorSrc, Operand::Reg(reg)) => {
            file(reg) == RegFile::Vgpr || (scalars && desc.role == Role::Use)
        }
        (OperandKind::Vgpr | OperandKind::VectorSrc, Operand::Imm(value)) => {
            scalars && inline_constant(*value, desc.ty, generation).is_some()
        }
        _ => false,
    })
}
