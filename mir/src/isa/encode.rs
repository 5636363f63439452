//! Encoder: an instruction over physical registers to its dwords.
//!
//! [`encode`] picks the encoding ([`choose`]), walks the row's operands into the slots of its layout, then the layout's
//! modifier fields, and checks on the way: register file and width, tuple alignment, the constant bus (one SGPR, special register or
//! literal for each vector instruction), ranges, and that every modifier set has a field. Nothing is allocated unless
//! it fails. Cost: linear in the number of operands and modifier fields.
//!
//! Witness: llvm-mc, by `tests/isa_round_trip.rs`.

mod modifiers;
mod operand;
mod smem;
mod source;

use super::format::{Field, Layout, Slot, layout};
use super::{Format, OpFlags, OpcodeInfo, OperandDesc, OperandKind};
use crate::diag::{Diagnostic, Result};
use crate::machine::{Encoding, Extension, Inst, ModFlags, Modifiers, Operand, PReg, Reg};
use crate::target::operands::{constant_of_literal, register_code};
use crate::target::{Generation, Target, WaveSize};
use smallvec::SmallVec;

/// What [`encode`] appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// Number of dwords.
    pub dwords: u8,
    /// Index among them of the literal that stands for an [`Operand::Symbol`], to be relocated; the dword is 0.
    pub relocated: Option<u8>,
}

/// An encoded instruction before it is appended.
struct Words {
    bits: u64,
    dwords: u8,
    literal: Option<u32>,
    /// Further address registers of an image instruction.
    addresses: SmallVec<[u32; 3]>,
    relocated: bool,
    /// A branch target is not resolved yet.
    unresolved: bool,
}

/// Encodes `inst` for `target` and appends 1 to 3 dwords to `out`.
///
/// Registers must be physical and branch targets resolved (`Operand::Imm`, in dwords from the next instruction).
/// Errors: `Unsupported` where the target lacks opcode or encoding, `Limit` where an operand does not fit, `Defect` where the
/// instruction does not match its row.
pub fn encode(inst: &Inst, target: &Target, out: &mut Vec<u32>) -> Result<Encoded> {
    encode_into(inst, target, out).map_err(|(_, e)| e.at(inst.op.info().name))
}

/// [`encode`] for those who want to know which operand does not fit: the error comes with its index, if it is one operand's.
pub(crate) fn encode_into(
    inst: &Inst,
    target: &Target,
    out: &mut impl Extend<u32>,
) -> Result<Encoded, (Option<usize>, Box<Diagnostic>)> {
    let words = words(inst, target)?;
    if words.unresolved {
        return Err((None, Diagnostic::defect("unresolved branch target")));
    }
    let second = (words.dwords > 1).then_some((words.bits >> 32) as u32);
    out.extend([Some(words.bits as u32), second, words.literal].into_iter().flatten());
    let behind = u8::from(words.literal.is_some()) + words.addresses.len() as u8;
    out.extend(words.addresses);
    Ok(Encoded { dwords: words.dwords + behind, relocated: words.relocated.then_some(words.dwords) })
}

/// The encoding that `inst` has or, for [`Encoding::Auto`], the shortest that expresses it. Formats with a single encoding stay
/// `Auto`.
pub fn choose(inst: &Inst, generation: Generation) -> Encoding {
    let info = inst.op.info();
    if inst.encoding != Encoding::Auto {
        return inst.encoding;
    }
    if let [only] = info.format.encodings() {
        return *only;
    }
    match inst.mods.ext {
        Extension::Sdwa(_) => return Encoding::Sdwa,
        Extension::Dpp(_) => return Encoding::Dpp,
        Extension::Dpp8(_) => return Encoding::Dpp8,
        Extension::None => {}
    }
    let mods = &inst.mods;
    let plain =
        (mods.flags - ModFlags::ANY_LAYOUT).is_empty() && mods.abs | mods.neg | mods.omod | mods.op_sel == 0;
    let fits = info.code(generation).is_some()
        && plain
        && info.operands.iter().zip(&inst.operands).all(|(desc, operand)| match desc.kind {
            OperandKind::LaneMask => is_register(operand, PReg::VCC_LO),
            OperandKind::Vgpr if desc.slot == Slot::Src1 => {
                operand.as_reg().is_some_and(|r| matches!(r.reg, Reg::Physical(p) if p.is_vgpr()))
            }
            _ => true,
        });
    if fits || info.vop3_code(generation).is_none() { Encoding::E32 } else { Encoding::E64 }
}

fn is_register(operand: &Operand, reg: PReg) -> bool {
    operand.as_reg().is_some_and(|r| r.reg == Reg::Physical(reg))
}

/// State of one instruction's encoding.
struct Encoder<'a> {
    info: &'static OpcodeInfo,
    inst: &'a Inst,
    target: &'a Target,
    generation: Generation,
    wave: WaveSize,
    encoding: Encoding,
    layout: &'static Layout,
    bits: u64,
    literal: Option<u32>,
    /// Further address registers of an image instruction, four to a dword.
    addresses: SmallVec<[u32; 3]>,
    relocated: bool,
    unresolved: bool,
    /// The scalar values on the constant bus: register codes, or [`crate::target::operands::LITERAL`].
    bus: [Option<u16>; 2],
}

fn words(inst: &Inst, target: &Target) -> Result<Words, (Option<usize>, Box<Diagnostic>)> {
    let info = inst.op.info();
    let generation = target.generation();
    if !target.has(info.requires) {
        return Err((None, unsupported_here(target)));
    }
    let encoding = choose(inst, generation);
    let vop3 = encoding == Encoding::E64;
    let code =
        if vop3 && info.format != Format::Vop3p { info.vop3_code(generation) } else { info.code(generation) };
    let (Some(code), Some(layout)) = (code, layout(info, encoding, generation)) else {
        return Err((None, unsupported_here(target)));
    };
    let mut encoder = Encoder {
        info,
        inst,
        target,
        generation,
        wave: target.wave(),
        encoding,
        layout,
        bits: layout.fixed | layout.put_code(code),
        literal: None,
        addresses: SmallVec::new(),
        relocated: false,
        unresolved: false,
        bus: [None; 2],
    };
    encoder.operands()?;
    // Arithmetic without modifiers, most code, has nothing to put into their fields.
    if !encoder.is_plain() {
        encoder.mods().map_err(|e| (None, e))?;
    }
    Ok(Words {
        bits: encoder.bits,
        dwords: layout.dwords,
        literal: encoder.literal,
        addresses: encoder.addresses,
        relocated: encoder.relocated,
        unresolved: encoder.unresolved,
    })
}

/// Whether `inst` encodes to `dwords`.
pub(super) fn encodes_to(inst: &Inst, target: &Target, dwords: &[u32]) -> bool {
    let Ok(words) = words(inst, target) else { return false };
    let ours = [words.bits as u32, (words.bits >> 32) as u32];
    let Some((given, rest)) = dwords.split_at_checked(words.dwords.into()) else { return false };
    let literal_fits = match (words.literal, rest) {
        (None, rest) => rest == words.addresses.as_slice(),
        // The high half of a 16-bit operand's literal does not matter: llc fills it with the sign.
        (Some(literal), &[found]) => {
            literal == found
                || inst.op.info().operands.iter().zip(&inst.operands).any(|(desc, operand)| {
                    matches!(operand, Operand::Imm(_))
                        && constant_of_literal(literal, desc.ty) == constant_of_literal(found, desc.ty)
                })
        }
        _ => false,
    };
    given == &ours[..given.len()] && literal_fits
}

#[cold]
fn unsupported_here(target: &Target) -> Box<Diagnostic> {
    Diagnostic::unsupported(format!("no such instruction or encoding on {target}"))
}

#[cold]
fn bad(what: &str, name: &str) -> Box<Diagnostic> {
    Diagnostic::defect(format!("{what} as operand {name}"))
}

#[cold]
fn out_of_range(name: &str, value: i64) -> Box<Diagnostic> {
    Diagnostic::limit(format!("{name} {value} is out of range"))
}

/// Whether a tuple of `dwords` scalar registers may start at `code`: pairs at even numbers, wider ones at multiples of 4
/// (of the trap temporaries' first for them), and inside one group of registers.
pub(super) fn scalar_tuple_fits(first: PReg, dwords: u8, generation: Generation) -> bool {
    if dwords <= 1 {
        return true;
    }
    let align = if dwords == 2 { 2 } else { 4 };
    let aligned = |n: u16| n.is_multiple_of(align);
    let last = first.plus(u16::from(dwords) - 1);
    if let Some(n) = first.sgpr_index() {
        return aligned(n) && last.sgpr_index().is_some() && register_code(last, generation).is_some();
    }
    if let Some(n) = first.ttmp_index() {
        return aligned(n) && last.ttmp_index().is_some() && register_code(last, generation).is_some();
    }
    dwords == 2
        && matches!(
            first,
            PReg::FLAT_SCRATCH_LO
                | PReg::XNACK_MASK_LO
                | PReg::VCC_LO
                | PReg::TBA_LO
                | PReg::TMA_LO
                | PReg::EXEC_LO
                | PReg::SHARED_BASE
                | PReg::SHARED_LIMIT
                | PReg::PRIVATE_BASE
                | PReg::PRIVATE_LIMIT
                | PReg::POPS_EXITING_WAVE_ID
                | PReg::VCCZ
                | PReg::EXECZ
                | PReg::SCC
                | PReg::NULL
        )
}

/// How many scalar values a vector instruction reads: shifts of 64 bits one everywhere.
pub(super) fn constant_bus(info: &OpcodeInfo, generation: Generation) -> usize {
    let shift = info.flags.contains(OpFlags::F64_RATE | OpFlags::REVERSED);
    if shift { 1 } else { generation.limits().constant_bus }
}

impl Encoder<'_> {
    /// Encodes the operands; an error comes with the operand's index.
    fn operands(&mut self) -> Result<(), (Option<usize>, Box<Diagnostic>)> {
        let descs = self.info.operands;
        let given = &self.inst.operands;
        let optional = descs.last().is_some_and(|d| d.kind == OperandKind::OptionalImm);
        let wanted = descs.len() + usize::from(self.inst.mods.address_parts);
        if given.len() != wanted && !(optional && given.len() + 1 == wanted) {
            let error = Diagnostic::defect(format!("{} operands instead of {}", given.len(), descs.len()));
            return Err((None, error));
        }
        let plain =
            self.is_vector() && matches!(self.encoding, Encoding::E32 | Encoding::E64 | Encoding::Auto);
        for (index, operand) in given.iter().enumerate() {
            if index < descs.len() {
                if plain && self.plain_vgpr(&descs[index], operand) {
                    continue;
                }
                self.operand(index, operand).map_err(|e| (Some(index), e))?;
            } else {
                self.further_address(index - descs.len(), operand).map_err(|e| (Some(index), e))?;
            }
        }
        // Reads of VCC that no field shows take the constant bus too.
        if self.info.flags.contains(OpFlags::VCC_USE) && self.is_vector() {
            self.use_bus(106).map_err(|e| (None, e))?;
        }
        if self.info.flags.contains(OpFlags::M0_USE) && self.is_vector() {
            self.use_bus(124).map_err(|e| (None, e))?;
        }
        Ok(())
    }

    /// Puts the most frequent operand of an arithmetic instruction without SDWA and DPP, a VGPR; false where that takes more care.
    #[inline]
    fn plain_vgpr(&mut self, desc: &OperandDesc, operand: &Operand) -> bool {
        if !matches!(desc.kind, OperandKind::Vgpr | OperandKind::VectorSrc) {
            return false;
        }
        let Operand::Reg(reg) = operand else { return false };
        let Reg::Physical(first) = reg.reg else { return false };
        let Some(n) = first.vgpr_index() else { return false };
        let field = self.layout.slot(desc.slot);
        // Fields of nine bits name scalar registers, too.
        let code = match field.width {
            9 => 256 + n,
            8 => n,
            _ => return false,
        };
        if reg.dwords != desc.dwords(self.wave) || n + u16::from(reg.dwords) > 256 {
            return false;
        }
        self.bits |= field.put(u64::from(code));
        true
    }

    /// Address register `index` of those behind the row's operands.
    fn further_address(&mut self, index: usize, operand: &Operand) -> Result<()> {
        if index + 2 > self.target.image_address_registers() {
            return Err(Diagnostic::limit("too many address registers"));
        }
        let (reg, dwords) = self.register(operand, "vaddr")?;
        let n = reg.vgpr_index().ok_or_else(|| bad("a scalar register", "vaddr"))?;
        if dwords != 1 {
            return Err(bad(&format!("a tuple of {dwords} dwords"), "vaddr"));
        }
        if index.is_multiple_of(4) {
            self.addresses.push(0);
        }
        if let Some(dword) = self.addresses.last_mut() {
            *dword |= u32::from(n) << (8 * (index % 4));
        }
        Ok(())
    }

    #[inline]
    fn is_vector(&self) -> bool {
        self.info.format.is_vector_alu()
    }

    #[inline]
    fn put(&mut self, field: Field, value: u64, name: &str) -> Result<()> {
        let bits = field.put(value);
        if field.get(bits) != value {
            return Err(out_of_range(name, value as i64));
        }
        self.bits |= bits;
        Ok(())
    }

    /// Whether all fields of modifiers are zero.
    fn is_plain(&self) -> bool {
        let format = self.info.format;
        (format.is_scalar_alu() || (format.is_vector_alu() && format != Format::Vintrp))
            && !matches!(self.encoding, Encoding::Sdwa | Encoding::Dpp | Encoding::Dpp8)
            && self.inst.mods == Modifiers::default()
    }
}

#[cfg(test)]
mod tests;
