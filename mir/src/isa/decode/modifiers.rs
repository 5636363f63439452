//! Reads the modifier fields, and refuses what the instruction does not have.

use super::{DecodeError, Decoder};
use crate::isa::accept::accepted;
use crate::isa::format::{Mod, Slot};
use crate::isa::{Format, ImageParts, OpFlags, dpp_control_exists};
use crate::machine::{Dpp, Dpp8, Encoding, Extension, ModFlags, Sdwa, SdwaSel, SdwaUnused};
use crate::target::operands::DPP8;

impl Decoder<'_> {
    /// Reads all modifier fields.
    pub(super) fn mods(&mut self) -> Result<(), DecodeError> {
        let flags = self.info.flags;
        let mix = flags.contains(OpFlags::MIX);
        let mut sdwa = Sdwa::default();
        let mut dpp = Dpp { ctrl: 0, row_mask: 0, bank_mask: 0, bound_ctrl: false, fetch_inactive: false };
        let mut dpp8 = Dpp8 { lanes: 0, fetch_inactive: false };
        for &(what, field) in self.layout.mods {
            let value = field.get(self.bits);
            let small = value as u8;
            let mods = &mut self.mods;
            match what {
                Mod::Flag(flag) => {
                    if value != 0 {
                        mods.flags |= flag;
                    }
                }
                Mod::Abs => mods.abs = small,
                Mod::Neg => mods.neg = small,
                Mod::NegHi if mix => mods.abs = small,
                Mod::NegHi => mods.neg_hi = small,
                Mod::OpSel => mods.op_sel = small,
                Mod::OpSelHi01 => mods.op_sel_hi |= small,
                Mod::OpSelHi2 => mods.op_sel_hi |= small << 2,
                Mod::Omod => mods.omod = small,
                Mod::Offset => mods.offset = value as i32,
                Mod::SignedOffset => {
                    let unused = 64 - u32::from(field.width);
                    mods.offset = ((value << unused) as i64 >> unused) as i32;
                }
                Mod::DsOffset if flags.contains(OpFlags::DS_TWO) => {
                    mods.offset = (value & 0xff) as i32;
                    mods.offset1 = (value >> 8) as u8;
                }
                Mod::DsOffset => mods.offset = value as i32,
                Mod::Offset1 => mods.offset1 = small,
                Mod::Dmask => mods.dmask = small,
                Mod::Dim => mods.dim = small,
                Mod::NsaDwords => self.nsa_dwords = small,
                Mod::FetchInactive => dpp.fetch_inactive = value != 0,
                Mod::Dpp8Marker => dpp8.fetch_inactive = value == u64::from(DPP8[1]),
                Mod::Dpp8Lanes => dpp8.lanes = value as u32,
                Mod::Neg0 => mods.neg |= small,
                Mod::Neg1 => mods.neg |= small << 1,
                Mod::Abs0 => mods.abs |= small,
                Mod::Abs1 => mods.abs |= small << 1,
                Mod::DstSel => sdwa.dst_sel = self.part(value)?,
                Mod::SrcSel0 => sdwa.src_sel[0] = self.part(value)?,
                Mod::SrcSel1 => sdwa.src_sel[1] = self.part(value)?,
                Mod::DstUnused => {
                    sdwa.dst_unused = match value {
                        0 => SdwaUnused::Pad,
                        1 => SdwaUnused::Sext,
                        2 => SdwaUnused::Preserve,
                        _ => return Err(self.bad("dst_unused", value)),
                    }
                }
                Mod::Sext0 => sdwa.sext |= small,
                Mod::Sext1 => sdwa.sext |= small << 1,
                Mod::DppCtrl => dpp.ctrl = value as u16,
                Mod::RowMask => dpp.row_mask = small,
                Mod::BankMask => dpp.bank_mask = small,
                Mod::BoundCtrl => dpp.bound_ctrl = value != 0,
                Mod::Scalar1 if value != 0 && self.layout.slot(Slot::Src1).width == 0 => {
                    return Err(self.bad("src1", value));
                }
                Mod::ScalarDst if value != 0 && self.info.def_count() == 0 => {
                    return Err(self.bad("sdst", value));
                }
                // These follow from operands or format.
                Mod::Segment | Mod::Scalar0 | Mod::Scalar1 | Mod::ScalarDst => {}
                Mod::SmemImm | Mod::SmemSgprEnable | Mod::SmemSgpr | Mod::SmemValue => continue,
            }
            self.seen |= field.mask();
        }
        match self.encoding {
            Encoding::Sdwa => {
                // Parts of sources that the instruction lacks are neutral; the field then is 0.
                if self.layout.slot(Slot::Src1).width == 0 {
                    if sdwa.src_sel[1] != SdwaSel::Byte0 || sdwa.sext & 2 != 0 {
                        return Err(self.bad("src1_sel", self.bits >> 56));
                    }
                    sdwa.src_sel[1] = SdwaSel::Dword;
                }
                if self.info.operands.is_empty() {
                    sdwa = Sdwa::default();
                }
                self.mods.ext = Extension::Sdwa(sdwa);
            }
            Encoding::Dpp => {
                if !dpp_control_exists(dpp.ctrl, self.generation) {
                    return Err(self.bad("dpp_ctrl", u64::from(dpp.ctrl)));
                }
                self.mods.ext = Extension::Dpp(dpp);
            }
            Encoding::Dpp8 => self.mods.ext = Extension::Dpp8(dpp8),
            _ => {}
        }
        Ok(())
    }

    fn part(&self, value: u64) -> Result<SdwaSel, DecodeError> {
        Ok(match value {
            0 => SdwaSel::Byte0,
            1 => SdwaSel::Byte1,
            2 => SdwaSel::Byte2,
            3 => SdwaSel::Byte3,
            4 => SdwaSel::Word0,
            5 => SdwaSel::Word1,
            6 => SdwaSel::Dword,
            _ => return Err(self.bad("sel", value)),
        })
    }

    /// Refuses modifiers that the instruction lacks; a disassembler passes over those that the hardware does not look at.
    pub(super) fn check_modifiers(&mut self) -> Result<(), DecodeError> {
        let info = self.info;
        let accepted = accepted(info, self.encoding, self.layout, self.generation);
        let mods = &mut self.mods;
        if info.image.contains(ImageParts::RAY) {
            if mods.dmask != 15 || !mods.flags.contains(ModFlags::UNORM | ModFlags::R128) {
                return Err(DecodeError::BadOperand { name: "dmask", value: u32::from(mods.dmask) });
            }
            mods.dmask = 0;
            mods.flags -= ModFlags::UNORM | ModFlags::R128;
        }
        if !self.strict {
            mods.neg &= !accepted.deaf;
            mods.abs &= !accepted.deaf;
            if !matches!(info.format, Format::Vop3p) && accepted.op_sel == 0 {
                mods.op_sel = 0;
            }
            match info.format {
                Format::Mubuf if info.operands.is_empty() => {
                    mods.flags -= ModFlags::SLC;
                    mods.offset = 0;
                }
                Format::Smem => mods.flags &= accepted.flags,
                // `v_nop` has nothing to modify.
                Format::Vop1 if info.operands.is_empty() && self.encoding == Encoding::Sdwa => {
                    mods.flags = ModFlags::empty();
                    mods.omod = 0;
                }
                _ => {}
            }
        }
        let implied = [
            (OpFlags::RTN, ModFlags::GLC),
            (OpFlags::LDS_DMA, ModFlags::LDS),
            (OpFlags::GDS_ONLY, ModFlags::GDS),
        ];
        for (flag, modifier) in implied {
            if info.flags.contains(flag) && !self.layout.flag_is_set(modifier, self.bits) {
                return Err(self.bad("opcode", self.layout.op.get(self.bits)));
            }
        }
        let no_offset =
            info.format == Format::Ds && info.operands.is_empty() && !info.flags.contains(OpFlags::GDS_ONLY);
        if accepted.takes(&self.mods) && !(no_offset && self.mods.offset != 0) {
            return Ok(());
        }
        let fields = self.layout.mods.iter().fold(0, |mask, (_, f)| mask | f.mask());
        Err(DecodeError::ReservedBits(self.bits & fields))
    }

    /// Refuses bits outside the instruction's fields, but for those that a disassembler may pass over.
    pub(super) fn check_reserved(&self) -> Result<(), DecodeError> {
        let mut ignored = if self.strict { 0 } else { self.layout.ignored };
        // Buffer cache control wants the control bits of the first dword clear.
        if self.info.format == Format::Mubuf && self.info.operands.is_empty() {
            ignored &= !0xffff;
        }
        // A comparison that writes EXEC alone has no use for the fields of a destination.
        let no_destination = self.info.format == Format::Vopc && self.info.def_count() == 0;
        if !self.strict && no_destination && self.encoding == Encoding::Sdwa {
            ignored |= self.layout.slot(Slot::Vdst).mask();
        }
        let reserved = (self.bits & !self.seen & !ignored) | (self.layout.fixed & !self.bits);
        if reserved == 0 { Ok(()) } else { Err(DecodeError::ReservedBits(reserved)) }
    }
}
