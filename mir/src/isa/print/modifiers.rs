//! Modifiers, in the order that the format has.

use super::fields::{buffer_format, swizzle, unified_format};
use super::{DisplayInst, Names, hexadecimal, source_count};
use crate::ir::ImageDim;
use crate::isa::accept::selects_halves;
use crate::isa::{Format, ImageParts, OpFlags, Opcode, OpcodeInfo};
use crate::machine::{Dpp, Dpp8, Encoding, ModFlags, Modifiers, Sdwa, SdwaSel, SdwaUnused};
use std::fmt::{self, Formatter, Write};

impl<N: Names> DisplayInst<'_, N> {
    pub(super) fn modifiers(
        &self,
        f: &mut Formatter<'_>,
        info: &OpcodeInfo,
        encoding: Encoding,
    ) -> fmt::Result {
        let mods = &self.inst.mods;
        match info.format {
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vintrp => {
                flag(f, mods, ModFlags::HIGH, " high")?;
                if info.flags.contains(OpFlags::PERMLANE) {
                    if mods.op_sel != 0 {
                        list(f, " op_sel:", mods.op_sel, 2)?;
                    }
                } else if selects_halves(info, self.generation) && mods.op_sel != 0 {
                    let sources = source_count(info);
                    let bits = mods.op_sel & ((1 << sources) - 1) | (mods.op_sel >> 3 & 1) << sources;
                    list(f, " op_sel:", bits, sources + 1)?;
                }
                flag(f, mods, ModFlags::CLAMP, " clamp")?;
                f.write_str(["", " mul:2", " mul:4", " div:2"][usize::from(mods.omod & 3)])?;
                match (encoding, &mods.sdwa(), &mods.dpp()) {
                    (Encoding::Sdwa, Some(s), _) => sdwa(f, info, s),
                    (Encoding::Dpp, _, Some(d)) => dpp(f, d),
                    _ => mods.dpp8().map_or(Ok(()), |d| dpp8(f, d)),
                }
            }
            Format::Vop3p => packed(f, info, mods),
            Format::Smem => {
                let register = self.inst.operands.last().is_some_and(|o| o.as_reg().is_some());
                if register && (mods.offset != 0 || mods.flags.contains(ModFlags::ZERO_OFFSET)) {
                    f.write_str(" offset:")?;
                    hexadecimal(f, i64::from(mods.offset))?;
                }
                self.glc(f, info)?;
                flag(f, mods, ModFlags::DLC, " dlc")
            }
            Format::Ds => {
                if info.flags.contains(OpFlags::DS_TWO) {
                    number(f, " offset0:", i64::from(mods.offset))?;
                    number(f, " offset1:", i64::from(mods.offset1))?;
                } else if self.inst.op == Opcode::DS_SWIZZLE_B32 {
                    swizzle(f, mods.offset as u16, self.generation)?;
                } else {
                    number(f, " offset:", i64::from(mods.offset))?;
                }
                if info.flags.contains(OpFlags::GDS_ONLY) {
                    return f.write_str(" gds");
                }
                flag(f, mods, ModFlags::GDS, " gds")
            }
            Format::Mubuf | Format::Mtbuf => {
                if info.format == Format::Mtbuf && self.generation.encoding_rules().unified_formats {
                    unified_format(f, mods.dmask)?;
                } else if info.format == Format::Mtbuf {
                    buffer_format(f, mods.dmask, self.generation)?;
                }
                flag(f, mods, ModFlags::IDXEN, " idxen")?;
                flag(f, mods, ModFlags::OFFEN, " offen")?;
                flag(f, mods, ModFlags::ADDR64, " addr64")?;
                number(f, " offset:", i64::from(mods.offset))?;
                // Without an address operand the assembler wants `lds` first.
                let store = info.flags.contains(OpFlags::LDS_DMA) && !info.flags.contains(OpFlags::LOAD);
                if store {
                    f.write_str(" lds")?;
                }
                self.glc(f, info)?;
                flag(f, mods, ModFlags::SLC, " slc")?;
                flag(f, mods, ModFlags::DLC, " dlc")?;
                flag(f, mods, ModFlags::TFE, " tfe")?;
                if info.flags.contains(OpFlags::LDS_DMA) && !store {
                    return f.write_str(" lds");
                }
                flag(f, mods, ModFlags::LDS, " lds")
            }
            Format::Flat | Format::Global | Format::Scratch => {
                number(f, " offset:", i64::from(mods.offset))?;
                self.glc(f, info)?;
                flag(f, mods, ModFlags::SLC, " slc")?;
                flag(f, mods, ModFlags::DLC, " dlc")?;
                flag(f, mods, ModFlags::TFE, " tfe")?;
                flag(f, mods, ModFlags::NV, " nv")?;
                if info.flags.contains(OpFlags::LDS_DMA) { f.write_str(" lds") } else { Ok(()) }
            }
            Format::Mimg => {
                if mods.dmask != 0 {
                    write!(f, " dmask:{:#x}", mods.dmask)?;
                }
                let ray = info.image.contains(ImageParts::RAY);
                if self.generation.encoding_rules().image_dimensions && !ray {
                    write!(f, " dim:SQ_RSRC_IMG_{}", ImageDim::of_field(mods.dim).assembly_name())?;
                }
                for (bit, name) in [
                    (ModFlags::UNORM, " unorm"),
                    (ModFlags::GLC, " glc"),
                    (ModFlags::SLC, " slc"),
                    (ModFlags::DLC, " dlc"),
                    (ModFlags::R128, " r128"),
                    (ModFlags::A16, " a16"),
                    (ModFlags::TFE, " tfe"),
                    (ModFlags::LWE, " lwe"),
                    (ModFlags::DA, " da"),
                    (ModFlags::D16, " d16"),
                ] {
                    flag(f, mods, bit, name)?;
                }
                Ok(())
            }
            Format::Exp => {
                flag(f, mods, ModFlags::DONE, " done")?;
                flag(f, mods, ModFlags::COMPR, " compr")?;
                flag(f, mods, ModFlags::VM, " vm")
            }
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Pseudo => {
                Ok(())
            }
        }
    }

    fn glc(&self, f: &mut Formatter<'_>, info: &OpcodeInfo) -> fmt::Result {
        if info.flags.contains(OpFlags::RTN) {
            return f.write_str(" glc");
        }
        flag(f, &self.inst.mods, ModFlags::GLC, " glc")
    }
}

fn flag(f: &mut Formatter<'_>, mods: &Modifiers, bit: ModFlags, text: &str) -> fmt::Result {
    if mods.flags.contains(bit) { f.write_str(text) } else { Ok(()) }
}

/// ` name:value` unless 0.
fn number(f: &mut Formatter<'_>, name: &str, value: i64) -> fmt::Result {
    if value == 0 { Ok(()) } else { write!(f, "{name}{value}") }
}

/// ` name:[1,0,..]`, the lowest bit first.
fn list(f: &mut Formatter<'_>, name: &str, bits: u8, count: u32) -> fmt::Result {
    f.write_str(name)?;
    for i in 0..count {
        write!(f, "{}{}", if i == 0 { '[' } else { ',' }, bits >> i & 1)?;
    }
    f.write_char(']')
}

fn packed(f: &mut Formatter<'_>, info: &OpcodeInfo, mods: &Modifiers) -> fmt::Result {
    let sources = source_count(info);
    let all = (1 << sources) - 1;
    let selects = info.flags.intersects(OpFlags::FLOAT_MODS | OpFlags::MIX);
    let neutral_hi = if info.flags.contains(OpFlags::MIX) { 0 } else { all };
    for (name, bits, neutral) in [
        (" op_sel:", mods.op_sel, 0),
        (" op_sel_hi:", if selects { mods.op_sel_hi & all } else { neutral_hi }, neutral_hi),
        (" neg_lo:", if info.flags.contains(OpFlags::MIX) { 0 } else { mods.neg }, 0),
        (" neg_hi:", mods.neg_hi, 0),
    ] {
        if bits & all != neutral {
            list(f, name, bits, sources)?;
        }
    }
    flag(f, mods, ModFlags::CLAMP, " clamp")
}

fn part_name(part: SdwaSel) -> &'static str {
    match part {
        SdwaSel::Byte0 => "BYTE_0",
        SdwaSel::Byte1 => "BYTE_1",
        SdwaSel::Byte2 => "BYTE_2",
        SdwaSel::Byte3 => "BYTE_3",
        SdwaSel::Word0 => "WORD_0",
        SdwaSel::Word1 => "WORD_1",
        SdwaSel::Dword => "DWORD",
    }
}

fn sdwa(f: &mut Formatter<'_>, info: &OpcodeInfo, sdwa: &Sdwa) -> fmt::Result {
    if info.operands.is_empty() {
        return Ok(());
    }
    if info.format != Format::Vopc {
        let unused = match sdwa.dst_unused {
            SdwaUnused::Pad => "UNUSED_PAD",
            SdwaUnused::Sext => "UNUSED_SEXT",
            SdwaUnused::Preserve => "UNUSED_PRESERVE",
        };
        write!(f, " dst_sel:{} dst_unused:{unused}", part_name(sdwa.dst_sel))?;
    }
    write!(f, " src0_sel:{}", part_name(sdwa.src_sel[0]))?;
    if info.format == Format::Vop1 { Ok(()) } else { write!(f, " src1_sel:{}", part_name(sdwa.src_sel[1])) }
}

fn dpp(f: &mut Formatter<'_>, dpp: &Dpp) -> fmt::Result {
    let ctrl = dpp.ctrl;
    match ctrl {
        0..=0xff => {
            let lane = |i: u16| ctrl >> (2 * i) & 3;
            write!(f, " quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3))?;
        }
        0x101..=0x10f => write!(f, " row_shl:{}", ctrl & 15)?,
        0x111..=0x11f => write!(f, " row_shr:{}", ctrl & 15)?,
        0x121..=0x12f => write!(f, " row_ror:{}", ctrl & 15)?,
        0x130 => f.write_str(" wave_shl:1")?,
        0x134 => f.write_str(" wave_rol:1")?,
        0x138 => f.write_str(" wave_shr:1")?,
        0x13c => f.write_str(" wave_ror:1")?,
        0x140 => f.write_str(" row_mirror")?,
        0x141 => f.write_str(" row_half_mirror")?,
        0x142 => f.write_str(" row_bcast:15")?,
        0x143 => f.write_str(" row_bcast:31")?,
        0x150..=0x15f => write!(f, " row_share:{}", ctrl & 15)?,
        0x160..=0x16f => write!(f, " row_xmask:{}", ctrl & 15)?,
        other => write!(f, " dpp_ctrl:{other:#x}")?,
    }
    write!(f, " row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask)?;
    if dpp.bound_ctrl {
        f.write_str(" bound_ctrl:1")?;
    }
    if dpp.fetch_inactive { f.write_str(" fi:1") } else { Ok(()) }
}

fn dpp8(f: &mut Formatter<'_>, dpp: &Dpp8) -> fmt::Result {
    f.write_str(" dpp8:")?;
    for lane in 0..8 {
        write!(f, "{}{}", if lane == 0 { '[' } else { ',' }, dpp.lanes >> (3 * lane) & 7)?;
    }
    f.write_str(if dpp.fetch_inactive { "] fi:1" } else { "]" })
}
