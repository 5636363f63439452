//! Writes the modifier fields, and refuses what the instruction or the encoding does not have.

use super::{Encoder, out_of_range};
use crate::diag::{Diagnostic, Result};
use crate::isa::accept::accepted;
use crate::isa::format::{Mod, Slot};
use crate::isa::{Format, ImageParts, OpFlags, dpp_control_exists};
use crate::machine::{ModFlags, Modifiers};
use crate::target::Features;
use crate::target::operands::DPP8;

impl Encoder<'_> {
    /// Walks the layout's modifier fields; what is set in the instruction and found none is an error.
    pub(super) fn mods(&mut self) -> Result<()> {
        let mods = &self.inst.mods;
        let flags = self.info.flags;
        // What the verifier of machine code is told has no bits.
        let mut pending = mods.flags - ModFlags::SETS_EXEC;
        if flags.contains(OpFlags::RTN) {
            pending |= ModFlags::GLC;
        }
        if flags.contains(OpFlags::LDS_DMA) {
            pending |= ModFlags::LDS;
        }
        if flags.contains(OpFlags::GDS_ONLY) {
            pending |= ModFlags::GDS;
        }
        let atomic_without_result = flags.contains(OpFlags::ATOMIC)
            && !flags.contains(OpFlags::RTN)
            && self.info.format.returns_by_glc();
        if atomic_without_result && pending.contains(ModFlags::GLC) {
            return Err(Diagnostic::defect("glc on an atomic that returns nothing"));
        }
        let stray = pending - self.layout.flags - ModFlags::ANY_LAYOUT;
        if !stray.is_empty() {
            return Err(Diagnostic::limit(format!("modifiers {stray:?} in this encoding")));
        }
        let source = |i: u8, of: u8| u64::from(of >> i & 1);
        // Parts of the modifiers that found a field; the rest must be neutral.
        let (mut abs, mut neg, mut neg_hi) = (mods.abs, mods.neg, mods.neg_hi);
        let (mut op_sel, mut op_sel_hi, mut omod) = (mods.op_sel, mods.op_sel_hi, mods.omod);
        let (mut offset, mut offset1, mut dmask) = (i64::from(mods.offset), mods.offset1, mods.dmask);
        let (mut dim, mut parts) = (mods.dim, mods.address_parts);
        let mix = flags.contains(OpFlags::MIX);
        let ray = self.info.image.contains(ImageParts::RAY);
        if ray {
            if pending.intersects(ModFlags::UNORM | ModFlags::R128) {
                return Err(Diagnostic::limit("a modifier that this instruction lacks"));
            }
            pending |= ModFlags::UNORM | ModFlags::R128;
        }
        for &(what, field) in self.layout.mods {
            let value = match what {
                Mod::Flag(flag) => u64::from(pending.contains(flag)),
                Mod::Abs => u64::from(std::mem::take(&mut abs)),
                Mod::Neg => u64::from(std::mem::take(&mut neg)),
                Mod::NegHi if mix => u64::from(std::mem::take(&mut abs)),
                Mod::NegHi => u64::from(std::mem::take(&mut neg_hi)),
                Mod::OpSel => u64::from(std::mem::take(&mut op_sel)),
                Mod::OpSelHi01 => u64::from(std::mem::take(&mut op_sel_hi) & 3),
                Mod::OpSelHi2 => u64::from(mods.op_sel_hi >> 2),
                Mod::Omod => u64::from(std::mem::take(&mut omod)),
                // Cache control has no address.
                Mod::Offset if self.info.operands.is_empty() => continue,
                Mod::Offset => std::mem::take(&mut offset) as u64,
                Mod::SignedOffset => {
                    let value = std::mem::take(&mut offset);
                    let limit = 1 << (field.width - 1);
                    if !(-limit..limit).contains(&value) {
                        return Err(out_of_range("offset", value));
                    }
                    value as u64 & ((1 << field.width) - 1)
                }
                Mod::DsOffset => {
                    let value = std::mem::take(&mut offset) as u64;
                    let second = u64::from(std::mem::take(&mut offset1));
                    if flags.contains(OpFlags::DS_TWO) {
                        if value > 255 {
                            return Err(out_of_range("offset0", value as i64));
                        }
                        value | second << 8
                    } else if second != 0 {
                        return Err(out_of_range("offset1", second as i64));
                    } else {
                        value
                    }
                }
                Mod::Offset1 => u64::from(std::mem::take(&mut offset1)),
                Mod::Dmask if ray => 15,
                Mod::Dmask => u64::from(std::mem::take(&mut dmask)),
                Mod::Dim => u64::from(std::mem::take(&mut dim)),
                Mod::NsaDwords => u64::from(std::mem::take(&mut parts).div_ceil(4)),
                Mod::Neg0 => source(0, mods.neg),
                Mod::Neg1 => {
                    neg &= !3;
                    source(1, mods.neg)
                }
                Mod::Abs0 => source(0, mods.abs),
                Mod::Abs1 => {
                    abs &= !3;
                    source(1, mods.abs)
                }
                Mod::Segment => self.info.format.segment().into(),
                Mod::SmemImm | Mod::SmemSgpr | Mod::SmemSgprEnable | Mod::SmemValue => {
                    offset = 0;
                    continue;
                }
                Mod::Scalar0 | Mod::Scalar1 | Mod::ScalarDst => continue,
                Mod::DstSel | Mod::DstUnused | Mod::SrcSel0 | Mod::SrcSel1 | Mod::Sext0 | Mod::Sext1 => {
                    let Some(sdwa) = mods.sdwa() else {
                        return Err(Diagnostic::defect("no SDWA control"));
                    };
                    let unary = self.layout.slot(Slot::Src1).width == 0;
                    match what {
                        // `v_nop` has neither destination nor source.
                        _ if self.info.operands.is_empty() => 0,
                        Mod::SrcSel1 | Mod::Sext1 if unary => 0,
                        Mod::DstSel => sdwa.dst_sel as u64,
                        Mod::DstUnused => sdwa.dst_unused as u64,
                        Mod::SrcSel0 => sdwa.src_sel[0] as u64,
                        Mod::SrcSel1 => sdwa.src_sel[1] as u64,
                        Mod::Sext0 => source(0, sdwa.sext),
                        _ => source(1, sdwa.sext),
                    }
                }
                Mod::Dpp8Marker | Mod::Dpp8Lanes => {
                    let Some(dpp) = mods.dpp8() else {
                        return Err(Diagnostic::defect("no DPP control"));
                    };
                    match what {
                        Mod::Dpp8Lanes => u64::from(dpp.lanes),
                        _ => u64::from(DPP8[usize::from(dpp.fetch_inactive)]),
                    }
                }
                Mod::DppCtrl | Mod::RowMask | Mod::BankMask | Mod::BoundCtrl | Mod::FetchInactive => {
                    let Some(dpp) = mods.dpp() else {
                        return Err(Diagnostic::defect("no DPP control"));
                    };
                    match what {
                        Mod::DppCtrl => u64::from(dpp.ctrl),
                        Mod::RowMask => u64::from(dpp.row_mask),
                        Mod::BankMask => u64::from(dpp.bank_mask),
                        Mod::FetchInactive => u64::from(dpp.fetch_inactive),
                        _ => u64::from(dpp.bound_ctrl),
                    }
                }
            };
            self.put(field, value, "modifier")?;
        }
        if parts != 0 {
            return Err(Diagnostic::limit("an address of several registers, which this generation lacks"));
        }
        if let Some(dpp) = mods.dpp()
            && (!dpp_control_exists(dpp.ctrl, self.generation)
                || (dpp.fetch_inactive && !self.layout.has_mod(Mod::FetchInactive)))
        {
            return Err(Diagnostic::limit("a DPP control that this generation lacks"));
        }
        let rest = dim | abs | neg | neg_hi | op_sel | op_sel_hi | omod | offset1 | dmask;
        if rest != 0 || offset != 0 {
            return Err(Diagnostic::limit("a modifier that this encoding lacks"));
        }
        let accepted = accepted(self.info, self.encoding, self.layout, self.generation);
        let implied = if ray { ModFlags::UNORM | ModFlags::R128 } else { ModFlags::empty() };
        if !accepted.takes(&Modifiers { flags: pending - implied, ..*mods }) {
            return Err(Diagnostic::limit("a modifier that this instruction lacks"));
        }
        if self.info.format == Format::Flat && mods.offset != 0 && !self.target.has(Features::GLOBAL) {
            return Err(out_of_range("offset", i64::from(mods.offset)));
        }
        Ok(())
    }
}
