//! Encoder: an instruction over physical registers to its dwords.
//!
//! [`encode`] picks the encoding ([`choose`]), walks the row's operands into the slots of its layout, then the layout's
//! modifier fields, and checks on the way: register file and width, tuple alignment, the constant bus (one SGPR, special register or
//! literal for each vector instruction), ranges, and that every modifier set has a field. Nothing is allocated unless
//! it fails. Cost: linear in the number of operands and modifier fields.
//!
//! Witness: llvm-mc, by `tests/isa_round_trip.rs`.

mod modifiers;

use super::format::{Field, Layout, Mod, Slot, layout};
use super::{Format, OpFlags, OpcodeInfo, OperandDesc, OperandKind, Role, ValueType};
use crate::diag::{Diagnostic, Result};
use crate::machine::{Encoding, Extension, Inst, ModFlags, Modifiers, Operand, PReg, Reg, RegOperand};
use crate::target::operands::{
    LITERAL, constant_of_literal, inline_constant, literal_of_constant, register_code,
};
use crate::target::{Features, Generation, Target, WaveSize};
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
    /// The scalar values on the constant bus: register codes, or [`LITERAL`].
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
        for (index, operand) in given.iter().enumerate() {
            if index < descs.len() {
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

    fn is_vector(&self) -> bool {
        self.info.format.is_vector_alu()
    }

    fn put(&mut self, field: Field, value: u64, name: &str) -> Result<()> {
        let bits = field.put(value);
        if field.get(bits) != value {
            return Err(out_of_range(name, value as i64));
        }
        self.bits |= bits;
        Ok(())
    }

    fn operand(&mut self, index: usize, operand: &Operand) -> Result<()> {
        use OperandKind as K;
        let desc = &self.info.operands[index];
        let field = self.layout.slot(desc.slot);
        let name = desc.name;
        let vop3 = self.encoding == Encoding::E64;
        match self.info.operand_kind(index, vop3 || self.encoding == Encoding::Sdwa).unwrap_or(desc.kind) {
            K::Vgpr | K::VgprOrOff => {
                if *operand == Operand::Off && desc.kind == K::VgprOrOff {
                    return self.check_address(0);
                }
                let reg = self.register(operand, name)?;
                let width = self.vgpr_width(desc.slot, desc.dwords(self.wave))?;
                let lds = reg.0 == PReg::LDS_DIRECT && field.width == 9;
                let Some(n) = reg.0.vgpr_index() else {
                    if lds {
                        return self.put(field, 254, name);
                    }
                    return Err(bad("a scalar register", name));
                };
                if reg.1 != width && !(self.flexible(desc.slot) && reg.1 >= 1 && reg.1 <= width) {
                    return Err(bad(&format!("a tuple of {} dwords", reg.1), name));
                }
                if n + u16::from(reg.1) > 256 {
                    return Err(out_of_range(name, i64::from(n)));
                }
                let code = if field.width == 9 { 256 + n } else { n };
                self.put(field, u64::from(code), name)
            }
            K::Sgpr => {
                let reg = self.register(operand, name)?;
                let code = self.scalar_code(reg, desc.dwords(self.wave), name)?;
                // The destination of a lane read stands in a VGPR field.
                if code > 127 && desc.role != Role::Use {
                    return Err(bad("a read-only register", name));
                }
                let unit = match desc.slot {
                    Slot::Srsrc | Slot::Ssamp => 2,
                    Slot::Sbase => 1,
                    _ => 0,
                };
                self.put(field, u64::from(code >> unit), name)
            }
            K::SgprOrOff => {
                let rules = self.generation.encoding_rules();
                if *operand == Operand::Off {
                    // A scratch instruction without any register has a mark of its own.
                    let none = self.target.has(Features::SCRATCH_WITHOUT_ADDRESS)
                        && self.info.format == Format::Scratch
                        && self.inst.operands.get(self.address_index()) == Some(&Operand::Off);
                    return self.put(field, if none { 0x7f } else { u64::from(rules.no_saddr) }, name);
                }
                let reg = self.register(operand, name)?;
                let code = self.scalar_code(reg, desc.dwords(self.wave), name)?;
                if code > 126 || (reg.0 == PReg::EXEC_LO && desc.dwords(self.wave) > 1) {
                    return Err(bad("this register", name));
                }
                self.put(field, u64::from(code), name)
            }
            K::ScalarSrc | K::VectorSrc => {
                let code = self.source(
                    operand,
                    desc.dwords(self.wave),
                    desc.ty,
                    desc.slot,
                    desc.kind == K::ScalarSrc,
                    name,
                )?;
                self.put_source(field, desc.slot, code, name)
            }
            K::Soffset => {
                let code = match operand {
                    Operand::Imm(value) => inline_constant(*value, ValueType::U32, self.generation)
                        .ok_or_else(|| out_of_range(name, *value))?,
                    _ => {
                        let reg = self.register(operand, name)?;
                        self.scalar_code(reg, 1, name)?
                    }
                };
                self.put(field, u64::from(code), name)
            }
            K::LaneMask => {
                if field.width == 0 || (desc.slot == Slot::Vdst && self.encoding == Encoding::Sdwa) {
                    return self.implied_mask(operand, field, desc, name);
                }
                let reg = self.register(operand, name)?;
                let code = self.scalar_code(reg, desc.dwords(self.wave), name)?;
                if desc.role == Role::Use {
                    self.use_bus(code)?;
                }
                self.put(field, u64::from(code), name)
            }
            K::Literal => match operand {
                Operand::Symbol { .. } => {
                    self.relocated = true;
                    self.set_literal(0)
                }
                _ => {
                    let value = self.immediate(operand, name)?;
                    // The low half counts of a 16-bit one, and all of it is kept.
                    let whole = u32::try_from(value).ok().filter(|_| desc.ty == ValueType::F16);
                    let literal = whole
                        .or_else(|| literal_of_constant(value, desc.ty))
                        .ok_or_else(|| out_of_range(name, value))?;
                    self.set_literal(literal)
                }
            },
            K::Label => match operand {
                Operand::Block(_) => {
                    self.unresolved = true;
                    Ok(())
                }
                _ => {
                    let value = self.immediate(operand, name)?;
                    if i16::try_from(value).is_err() && u16::try_from(value).is_err() {
                        return Err(out_of_range("branch distance", value));
                    }
                    self.put(field, u64::from(value as u16), name)
                }
            },
            K::Simm16 | K::Waitcnt | K::Depctr | K::Hwreg | K::Sendmsg | K::OptionalImm => {
                let value = self.immediate(operand, name)?;
                if field.width < 16 {
                    return self.put(field, value as u64, name);
                }
                if i16::try_from(value).is_err() && u16::try_from(value).is_err() {
                    return Err(out_of_range(name, value));
                }
                self.put(field, u64::from(value as u16), name)
            }
            // VINTRP has the attribute above the channel, VOP3 the other way round.
            K::Attribute if vop3 => {
                let value = self.immediate(operand, name)?;
                if !(0..256).contains(&value) {
                    return Err(out_of_range(name, value));
                }
                self.put(field, (value >> 2 | (value & 3) << 6) as u64, name)
            }
            K::Attribute | K::ExportTarget | K::InterpSlot | K::Imm => {
                let value = self.immediate(operand, name)?;
                self.put(field, value as u64, name)
            }
            K::ExportSrc => {
                if *operand == Operand::Off {
                    return Ok(());
                }
                let reg = self.register(operand, name)?;
                let n = reg.0.vgpr_index().ok_or_else(|| bad("a scalar register", name))?;
                if self.inst.mods.flags.contains(ModFlags::COMPR) {
                    return self.compressed_export(desc.slot, index, n, name);
                }
                self.put(field, u64::from(n), name)
            }
            K::SmemOffset => self.smem_offset(operand),
            K::AnyReg => Err(Diagnostic::defect("pseudo instruction without encoding")),
        }
    }

    /// Compressed exports read two components from a register: operands come in equal pairs, one field for each pair.
    fn compressed_export(&mut self, slot: Slot, index: usize, n: u16, name: &str) -> Result<()> {
        let second = matches!(slot, Slot::Exp1 | Slot::Exp3);
        let partner = &self.inst.operands[if second { index - 1 } else { index + 1 }];
        if *partner != Operand::Off && *partner != self.inst.operands[index] {
            return Err(bad("another register than its pair has", name));
        }
        let field =
            self.layout.slot(if matches!(slot, Slot::Exp0 | Slot::Exp1) { Slot::Exp0 } else { Slot::Exp1 });
        self.put(field, u64::from(n), name)
    }

    fn register(&self, operand: &Operand, name: &str) -> Result<(PReg, u8)> {
        match operand {
            Operand::Reg(RegOperand { reg: Reg::Physical(reg), dwords, .. }) => Ok((*reg, *dwords)),
            Operand::Reg(_) => Err(bad("a virtual register", name)),
            _ => Err(bad("no register", name)),
        }
    }

    fn immediate(&self, operand: &Operand, name: &str) -> Result<i64> {
        operand.as_imm().ok_or_else(|| bad("no constant", name))
    }

    fn scalar_code(&self, (reg, dwords): (PReg, u8), expected: u8, name: &str) -> Result<u16> {
        if dwords != expected {
            return Err(bad(&format!("a tuple of {dwords} dwords"), name));
        }
        let code = register_code(reg, self.generation)
            .ok_or_else(|| Diagnostic::unsupported(format!("no register {reg} on {}", self.target)))?;
        if code > 255 {
            return Err(bad("a vector register", name));
        }
        if !scalar_tuple_fits(reg, dwords, self.generation) {
            return Err(bad(&format!("{dwords} registers from {reg}"), name));
        }
        Ok(code)
    }

    /// Width in dwords that a VGPR operand must have, the maximum where [`Self::flexible`].
    fn vgpr_width(&self, slot: Slot, dwords: u8) -> Result<u8> {
        let flags = self.inst.mods.flags;
        Ok(match (self.info.format, slot) {
            (format, Slot::Addr) if format.is_buffer() => {
                self.check_address(1)?;
                if flags.contains(ModFlags::ADDR64) {
                    2
                } else {
                    u8::from(flags.contains(ModFlags::OFFEN)) + u8::from(flags.contains(ModFlags::IDXEN))
                }
            }
            (Format::Global, Slot::Addr) => {
                let has_saddr = self.inst.operands.last().is_some_and(|o| *o != Operand::Off);
                if has_saddr { 1 } else { 2 }
            }
            (Format::Scratch, Slot::Addr) => {
                self.check_address(1)?;
                1
            }
            (Format::Mimg, Slot::Addr) if self.inst.mods.address_parts > 0 => 1,
            (format, Slot::Data0) if format.is_buffer() => dwords + u8::from(flags.contains(ModFlags::TFE)),
            // Either of an image's two warnings has a dword behind the data.
            (Format::Mimg, Slot::Data0) => dwords + u8::from(flags.intersects(ModFlags::TFE | ModFlags::LWE)),
            _ => dwords,
        })
    }

    /// Whether fewer dwords than the row says are right too: images, and D16 data that GFX8.0 does not pack and GFX9 does.
    fn flexible(&self, slot: Slot) -> bool {
        match self.info.format {
            Format::Mimg => matches!(slot, Slot::Data0 | Slot::Addr),
            format if format.is_buffer() => {
                slot == Slot::Data0 && self.info.flags.contains(OpFlags::FORMATTED | OpFlags::D16)
            }
            _ => false,
        }
    }

    /// Checks that presence of a VGPR address goes with the modifiers.
    fn check_address(&self, given: u8) -> Result<()> {
        let flags = self.inst.mods.flags;
        let wanted = match self.info.format {
            format if format.is_buffer() => {
                u8::from(flags.intersects(ModFlags::OFFEN | ModFlags::IDXEN | ModFlags::ADDR64))
            }
            // A scratch access has one of the two addresses, or on some processors none.
            Format::Scratch if given == 0 && self.target.has(Features::SCRATCH_WITHOUT_ADDRESS) => 0,
            Format::Scratch => u8::from(self.inst.operands.last() == Some(&Operand::Off)),
            _ => given,
        };
        if wanted == given {
            Ok(())
        } else {
            Err(bad(if given == 0 { "no register" } else { "a register" }, "vaddr"))
        }
    }

    /// Where the row has the operand for the address in VGPRs.
    fn address_index(&self) -> usize {
        let index = self.info.operands.iter().position(|desc| desc.slot == Slot::Addr);
        index.unwrap_or(usize::MAX)
    }

    fn set_literal(&mut self, literal: u32) -> Result<()> {
        match self.literal {
            Some(old) if old != literal || self.relocated => {
                Err(Diagnostic::limit("more than one literal constant"))
            }
            _ => {
                self.literal = Some(literal);
                if self.is_vector() { self.use_bus(LITERAL) } else { Ok(()) }
            }
        }
    }

    /// Notes a scalar value read by a vector instruction.
    fn use_bus(&mut self, code: u16) -> Result<()> {
        let limit = constant_bus(self.info, self.generation);
        for slot in self.bus.iter_mut().take(limit) {
            match *slot {
                Some(old) if old != code => {}
                _ => {
                    *slot = Some(code);
                    return Ok(());
                }
            }
        }
        Err(Diagnostic::limit(match limit {
            1 => "more than one scalar operand on the constant bus",
            _ => "more scalar operands than the constant bus takes",
        }))
    }

    /// The source field value of an operand, literal and constant bus noted.
    fn source(
        &mut self,
        operand: &Operand,
        dwords: u8,
        ty: ValueType,
        slot: Slot,
        scalar: bool,
        name: &str,
    ) -> Result<u16> {
        let literal_allowed = match self.encoding {
            Encoding::E32 => slot == Slot::Src0,
            Encoding::Auto => true,
            Encoding::E64 => self.generation.encoding_rules().vop3_literals,
            _ => false,
        };
        match operand {
            Operand::Reg(_) => {
                let reg = self.register(operand, name)?;
                if let Some(n) = reg.0.vgpr_index() {
                    if scalar {
                        return Err(bad("a vector register", name));
                    }
                    if reg.1 != dwords {
                        return Err(bad(&format!("a tuple of {} dwords", reg.1), name));
                    }
                    if n + u16::from(dwords) > 256 {
                        return Err(out_of_range(name, i64::from(n)));
                    }
                    return Ok(256 + n);
                }
                let code = self.scalar_code(reg, dwords, name)?;
                // The lane select of `v_writelane` may be M0 beside an SGPR.
                let free = self.info.flags.contains(OpFlags::IGNORES_EXEC)
                    && slot == Slot::Src1
                    && reg.0 == PReg::M0;
                // LDS data come another way.
                if self.is_vector() && !free && !matches!(reg.0, PReg::LDS_DIRECT | PReg::NULL) {
                    self.use_bus(code)?;
                }
                Ok(code)
            }
            Operand::Imm(value) => {
                let forced = self.inst.mods.flags.intersects(ModFlags::literal_of(slot));
                if let (Some(code), false) = (inline_constant(*value, ty, self.generation), forced) {
                    return Ok(code);
                }
                if !literal_allowed {
                    return Err(Diagnostic::limit(format!("literal constant {value:#x} in this encoding")));
                }
                let literal = literal_of_constant(*value, ty).ok_or_else(|| out_of_range(name, *value))?;
                self.set_literal(literal)?;
                Ok(LITERAL)
            }
            Operand::Symbol { .. } if literal_allowed => {
                self.relocated = true;
                self.set_literal(0)?;
                Ok(LITERAL)
            }
            _ => Err(bad("no source", name)),
        }
    }

    /// Puts a source field value; SDWA and DPP sources are VGPRs (or, in SDWA of GFX9, SGPRs) in 8 bits.
    fn put_source(&mut self, field: Field, slot: Slot, code: u16, name: &str) -> Result<()> {
        match self.encoding {
            Encoding::Dpp | Encoding::Dpp8 => match code.checked_sub(256) {
                Some(n) => self.put(field, u64::from(n), name),
                None => Err(bad("a scalar operand", name)),
            },
            Encoding::Sdwa => {
                let (scalar, n) = match code.checked_sub(256) {
                    Some(n) => (0, n),
                    None => (1, code),
                };
                let what = if slot == Slot::Src0 { Mod::Scalar0 } else { Mod::Scalar1 };
                match self.layout.mods.iter().find(|(m, _)| *m == what) {
                    Some((_, bit)) => self.bits |= bit.put(scalar),
                    None if scalar == 1 => return Err(bad("a scalar operand", name)),
                    None => {}
                }
                self.put(field, u64::from(n), name)
            }
            _ => {
                if field.width == 8 && code > 255 {
                    let n = if self.is_vector() { code - 256 } else { code };
                    return self.put(field, u64::from(n), name);
                }
                self.put(field, u64::from(code), name)
            }
        }
    }

    /// A lane mask without a field of its own: VCC, or the destination of an SDWA comparison.
    fn implied_mask(
        &mut self,
        operand: &Operand,
        field: Field,
        desc: &OperandDesc,
        name: &str,
    ) -> Result<()> {
        if *operand == Operand::vcc(self.wave) {
            return if desc.role == Role::Use { self.use_bus(106) } else { Ok(()) };
        }
        let Some((_, bit)) = self.layout.mods.iter().find(|(m, _)| *m == Mod::ScalarDst) else {
            return Err(bad("a mask other than vcc", name));
        };
        let reg = self.register(operand, name)?;
        let code = self.scalar_code(reg, desc.dwords(self.wave), name)?;
        self.bits |= bit.put(1);
        self.put(field, u64::from(code), name)
    }

    /// The offset of a scalar memory access: an SGPR, or bytes in the generation's unit and range.
    fn smem_offset(&mut self, operand: &Operand) -> Result<()> {
        let field = |what: Mod| {
            self.layout.mods.iter().find(|(m, _)| *m == what).map_or(Field { pos: 0, width: 0 }, |m| m.1)
        };
        let (imm, value, sgpr, sgpr_enable) =
            (field(Mod::SmemImm), field(Mod::SmemValue), field(Mod::SmemSgpr), field(Mod::SmemSgprEnable));
        let extra = i64::from(self.inst.mods.offset);
        let bytes = match operand {
            Operand::Imm(bytes) => {
                if extra != 0 {
                    return Err(bad("two immediate offsets", "soffset"));
                }
                *bytes
            }
            _ => {
                let reg = self.register(operand, "soffset")?;
                let code = u64::from(self.scalar_code(reg, 1, "soffset")?);
                if self.generation.encoding_rules().smem_null_offset {
                    self.put(sgpr, code, "soffset")?;
                    return self.put_smem_offset(value, extra);
                }
                if extra == 0 && !self.inst.mods.flags.contains(ModFlags::ZERO_OFFSET) {
                    return self.put(value, code, "soffset");
                }
                if sgpr.width == 0 {
                    return Err(bad("a register and an immediate", "soffset"));
                }
                self.put(sgpr_enable, 1, "soffset")?;
                self.put(sgpr, code, "soffset")?;
                extra
            }
        };
        if self.layout.dwords == 1 {
            // SMRD counts dwords; GFX7 has a literal for what does not fit.
            if bytes & 3 != 0 || bytes < 0 {
                return Err(out_of_range("soffset", bytes));
            }
            let dwords = (bytes >> 2) as u64;
            if dwords <= 255 && !self.inst.mods.flags.contains(ModFlags::LIT0) {
                self.put(imm, 1, "soffset")?;
                return self.put(value, dwords, "soffset");
            }
            return match u32::try_from(dwords) {
                Ok(literal) if self.generation.encoding_rules().smem_literal => {
                    self.put(value, u64::from(LITERAL), "soffset")?;
                    self.set_literal(literal)
                }
                _ => Err(out_of_range("soffset", bytes)),
            };
        }
        if self.generation.encoding_rules().smem_null_offset {
            let null = register_code(PReg::NULL, self.generation).unwrap_or(0);
            self.put(sgpr, u64::from(null), "soffset")?;
            return self.put_smem_offset(value, bytes);
        }
        let (low, high) = if value.width == 21 { (-(1 << 20), (1 << 20) - 1) } else { (0, (1 << 20) - 1) };
        if !(low..=high).contains(&bytes) {
            return Err(out_of_range("soffset", bytes));
        }
        self.put(imm, 1, "soffset")?;
        self.put(value, (bytes as u64) & ((1 << value.width) - 1), "soffset")
    }

    /// Puts a signed offset of scalar memory, in bytes.
    fn put_smem_offset(&mut self, field: Field, bytes: i64) -> Result<()> {
        let limit = 1 << (field.width - 1);
        if !(-limit..limit).contains(&bytes) {
            return Err(out_of_range("soffset", bytes));
        }
        self.put(field, (bytes as u64) & ((1 << field.width) - 1), "soffset")
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
