//! What the assembler demands beyond what can be encoded: sizes of image data, bits that go with operands.

use super::modifier::{Collected, Seen};
use crate::ir::ImageDim;
use crate::isa::encode;
use crate::isa::format::Slot;
use crate::isa::{Format, ImageParts, OpFlags, Opcode, OperandKind, Role, ValueType, image_address_dwords};
use crate::machine::{Encoding, Inst, ModFlags, Operand, PReg, Reg, RegOperand, SdwaSel};
use crate::target::operands::inline_constant;
use crate::target::{Features, Target};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Checks `inst`, which was written with the modifiers `collected`.
pub fn statement(inst: &Inst, collected: &Collected, target: &Target) -> Result<(), Cow<'static, str>> {
    let info = inst.op.info();
    let flags = info.flags;
    vector_sources(inst, target)?;
    if inst.encoding == Encoding::Dpp8 && !collected.seen.contains(Seen::DPP8) {
        return Err("too few operands for instruction: a dpp instruction has a control".into());
    }
    if inst.encoding == Encoding::Dpp && !collected.seen.contains(Seen::DPP_CTRL) {
        return Err("too few operands for instruction: a dpp instruction has a control".into());
    }
    let glc = collected.flags.contains(ModFlags::GLC);
    if info.flags.contains(OpFlags::SDWA8) && inst.mods.sdwa().is_some_and(|s| s.dst_sel != SdwaSel::Dword) {
        return Err("the destination is also an addend and must be whole".into());
    }
    if inst.facts().is_scalar_buffer() {
        let offset = inst.operands.last().and_then(|o| o.as_imm()).unwrap_or(i64::from(inst.mods.offset));
        if offset < 0 {
            return Err("expected a 20-bit unsigned offset".into());
        }
    }
    // The encoder would take a literal as for any scalar source.
    let literal = |value| inline_constant(value, ValueType::B64, target.generation()).is_none();
    if inst.op == Opcode::S_CBRANCH_G_FORK && inst.operands.iter().filter_map(|o| o.as_imm()).any(literal) {
        return Err("literal operands are not supported".into());
    }
    if info.format == Format::Smem
        && collected.seen.contains(Seen::OFFSET)
        && inst.operands.last().is_none_or(|o| o.as_reg().is_none())
    {
        return Err("offset besides an immediate offset".into());
    }
    match info.format {
        Format::Mimg => image(inst, collected, target)?,
        Format::Mubuf | Format::Mtbuf
            if inst.mods.flags.contains(ModFlags::ADDR64)
                && inst.mods.flags.intersects(ModFlags::OFFEN | ModFlags::IDXEN) =>
        {
            return Err("addr64 goes with neither offen nor idxen".into());
        }
        Format::Mubuf | Format::Mtbuf if flags.contains(OpFlags::FORMATTED | OpFlags::D16) => {
            let info = info.operands.first().map_or(0, |desc| desc.dwords(target.wave()));
            let wanted = if packs_halves(target) { info.div_ceil(2) } else { info };
            let tfe = u8::from(inst.mods.flags.contains(ModFlags::TFE));
            if inst.operands.first().and_then(|o| o.as_reg()).is_none_or(|reg| reg.dwords != wanted + tfe) {
                return Err(format!("data of another width than {wanted} dwords").into());
            }
        }
        Format::Ds => {
            if flags.contains(OpFlags::GDS_ONLY) && !collected.flags.contains(ModFlags::GDS) {
                return Err("instruction must use gds".into());
            }
            if inst.mods.offset < 0 {
                return Err("expected a 16-bit unsigned offset".into());
            }
        }
        Format::Mubuf | Format::Flat | Format::Global | Format::Scratch | Format::Smem => {
            if flags.contains(OpFlags::RTN) && !glc {
                return Err("instruction must use glc".into());
            }
            if flags.contains(OpFlags::ATOMIC) && !flags.contains(OpFlags::RTN) && glc {
                return Err("instruction must not use glc".into());
            }
            if flags.contains(OpFlags::LDS_DMA) && !collected.flags.contains(ModFlags::LDS) {
                return Err("instruction must use lds".into());
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether the processor packs two 16-bit components of image and typed buffer data in a register; Tonga and its kin leave one in each.
fn packs_halves(target: &Target) -> bool {
    target.has(Features::PACKED_D16)
}

/// Registers in places where the assembler does not want them.
fn vector_sources(inst: &Inst, target: &Target) -> Result<(), Cow<'static, str>> {
    let info = inst.op.info();
    if info.format == Format::Smem {
        let data =
            inst.operands.first().filter(|_| info.operands.first().is_some_and(|d| d.slot == Slot::Sdata));
        let reg = data.and_then(|o| o.as_reg()).map(|r| r.reg);
        if [PReg::M0, PReg::EXEC_LO, PReg::EXEC_HI].iter().any(|special| reg == Some((*special).into())) {
            return Err("m0 and exec are no data of scalar memory".into());
        }
        return Ok(());
    }
    let lane_read = matches!(inst.op, Opcode::V_READLANE_B32 | Opcode::V_READFIRSTLANE_B32);
    let to = inst.operands.first().and_then(|o| o.as_reg()).map(|r| r.reg);
    if lane_read && to == Some(PReg::M0.into()) {
        return Err("m0 cannot be the destination of a lane read".into());
    }
    let vector = info.format.is_vector_alu();
    for (desc, operand) in info.operands.iter().zip(&inst.operands) {
        let Some(reg) = operand.as_reg() else { continue };
        if reg.reg == Reg::Physical(PReg::LDS_DIRECT) {
            let reversed = info.flags.contains(OpFlags::REVERSED);
            let lane = inst.op == Opcode::V_WRITELANE_B32
                && inst.encoding == Encoding::E64
                && !target.encoding_rules().writelane_from_lds;
            let short = matches!(inst.encoding, Encoding::Sdwa | Encoding::Dpp | Encoding::Dpp8);
            if !vector || reversed || lane || short {
                return Err("lds_direct cannot be used with this instruction".into());
            }
            if desc.slot != Slot::Src0 {
                return Err("lds_direct may be used as src0 only".into());
            }
        }
        if reg.reg == Reg::Physical(PReg::LDS_DIRECT) && info.flags.contains(OpFlags::PERMLANE) {
            return Err("lds_direct cannot be used with this instruction".into());
        }
    }
    if vector && inst.op != Opcode::V_WRITELANE_B32 { constant_bus(inst, target) } else { Ok(()) }
}

/// Scalar values of a vector instruction as the assembler counts them: a register and a pair that begins with it are two, and so is a
/// literal that is read as one dword and as two.
fn constant_bus(inst: &Inst, target: &Target) -> Result<(), Cow<'static, str>> {
    let mut values: SmallVec<[(Option<PReg>, u8); 4]> = SmallVec::new();
    for (desc, operand) in inst.op.info().operands.iter().zip(&inst.operands) {
        let value = match operand {
            _ if desc.role != Role::Use => continue,
            Operand::Reg(RegOperand { reg: Reg::Physical(reg), dwords, .. }) if !reg.is_vgpr() => {
                (Some(*reg), *dwords)
            }
            Operand::Imm(value) if matches!(desc.kind, OperandKind::VectorSrc | OperandKind::Literal) => {
                match inline_constant(*value, desc.ty, target.generation()) {
                    Some(_) if desc.kind != OperandKind::Literal => continue,
                    _ => (None, desc.dwords(target.wave())),
                }
            }
            _ => continue,
        };
        if !matches!(value.0, Some(PReg::LDS_DIRECT | PReg::NULL)) && !values.contains(&value) {
            values.push(value);
        }
    }
    // What the encoder sees, too, it says with the operand's place: where one value is taken, that is all but two widths of a register.
    let limit = encode::constant_bus(inst.op.info(), target.generation());
    let twice = || values.iter().any(|a| values.iter().any(|b| a.0 == b.0 && a.1 != b.1));
    match limit {
        _ if values.len() <= limit => Ok(()),
        1 if !twice() => Ok(()),
        1 => Err("more than one scalar operand on the constant bus".into()),
        _ => Err("more scalar operands than the constant bus takes".into()),
    }
}

/// The address must have the registers that dimension and operation make it.
fn image_address(inst: &Inst) -> Result<(), Cow<'static, str>> {
    let first = inst.operands.get(1).and_then(|o| o.as_reg()).map_or(0, |reg| reg.dwords);
    let given = first.saturating_add(inst.mods.address_parts);
    let wanted = image_address_dwords(inst.op.info(), &inst.mods);
    // Older assemblers knew tuples of four and eight only.
    let oversized = inst.mods.address_parts == 0 && given == 8 && (5..8).contains(&wanted);
    if given == wanted || oversized {
        return Ok(());
    }
    Err(format!("image address of {given} dwords instead of {wanted} by dim and a16").into())
}

/// Image data must be as wide as `dmask`, `d16` and `tfe` make it.
fn image(inst: &Inst, collected: &Collected, target: &Target) -> Result<(), Cow<'static, str>> {
    let flags = inst.op.info().flags;
    let mods = &inst.mods;
    if mods.flags.contains(ModFlags::D16) && inst.op.info().image.contains(ImageParts::PACKED) {
        return Err("d16 is not supported by this instruction".into());
    }
    if flags.contains(OpFlags::ATOMIC) && !matches!(mods.dmask, 1 | 3 | 15) {
        return Err("invalid atomic image dmask".into());
    }
    if inst.op == Opcode::IMAGE_ATOMIC_CMPSWAP && mods.dmask == 1 {
        return Err("invalid atomic image dmask".into());
    }
    if flags.contains(OpFlags::GATHER4) && mods.dmask.count_ones() != 1 {
        return Err("invalid image_gather dmask: only one bit must be set".into());
    }
    let info = inst.op.info();
    if info.image.contains(ImageParts::RAY) {
        return image_address(inst);
    }
    if target.encoding_rules().image_dimensions {
        if !collected.seen.contains(Seen::DIM) {
            return Err("missing dim operand".into());
        }
        let multisampled = ImageDim::of_field(mods.dim).is_multisampled();
        if info.image.contains(ImageParts::MSAA) && !multisampled {
            return Err("invalid dim; must be MSAA type".into());
        }
        image_address(inst)?;
    }
    let least = info.least_address;
    if !target.encoding_rules().image_dimensions
        && inst.operands.get(1).and_then(|o| o.as_reg()).is_some_and(|reg| reg.dwords < least)
    {
        return Err(format!("image address of less than {least} dwords").into());
    }
    let given = inst.operands.first().and_then(|o| o.as_reg()).map_or(0, |reg| u32::from(reg.dwords));
    let channels = if flags.contains(OpFlags::GATHER4) { 4 } else { mods.dmask.count_ones().max(1) };
    let packed = packs_halves(target) && mods.flags.contains(ModFlags::D16);
    let data = if packed { channels.div_ceil(2) } else { channels };
    let wanted = data + u32::from(mods.flags.contains(ModFlags::TFE));
    if given == wanted {
        Ok(())
    } else {
        Err(format!("image data of {given} dwords instead of {wanted} by dmask, d16 and tfe").into())
    }
}
