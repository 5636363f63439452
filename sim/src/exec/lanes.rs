//! Vector instructions that address lanes or registers, and the lane patterns of DPP.

use super::{Exec, bit, unsupported};
use crate::program::{Op, Src};
use crate::report::{Checks, Kind, Report, Result};
use crate::wave::{LANES, Wave};
use mir::isa::Opcode;
use mir::machine::PReg;

/// For each lane the lane that DPP reads, and the lanes whose source exists and is active.
///
/// Source: Vega ISA, "DPP_CTRL Enumerations". A row is 16 lanes.
pub fn dpp_sources(ctrl: u16, exec: u64) -> ([u8; LANES], u64) {
    let mut from = [0u8; LANES];
    let mut valid = 0u64;
    let n = i32::from(ctrl & 15);
    for l in 0..LANES as i32 {
        let (row, in_row) = (l & !15, l & 15);
        let source = match ctrl {
            0x000..=0x0ff => Some((l & !3) + i32::from(ctrl >> (2 * (l & 3)) & 3)),
            0x101..=0x10f => (in_row + n < 16).then_some(l + n),
            0x111..=0x11f => (in_row >= n).then_some(l - n),
            0x121..=0x12f => Some(row + ((in_row - n) & 15)),
            0x130 => (l < 63).then_some(l + 1),
            0x134 => Some((l + 1) & 63),
            0x138 => (l > 0).then_some(l - 1),
            0x13c => Some((l - 1) & 63),
            0x140 => Some(row + 15 - in_row),
            0x141 => Some((l & !7) + 7 - (l & 7)),
            0x142 => (row > 0).then_some(row - 1),
            0x143 => (l >= 32).then_some(31),
            _ => None,
        };
        if let Some(s) = source {
            from[l as usize] = s as u8;
            valid |= (exec >> s & 1) << l;
        }
    }
    (from, valid)
}

/// The lanes that the row and bank masks enable.
pub fn dpp_rows(row_mask: u8, bank_mask: u8) -> u64 {
    (0..LANES).fold(0, |m, l| {
        let on = row_mask >> (l / 16) & 1 != 0 && bank_mask >> (l / 4 % 4) & 1 != 0;
        m | u64::from(on) << l
    })
}

impl Exec<'_> {
    pub(super) fn lane(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let exec = w.exec();
        match op.inst.op {
            Opcode::V_NOP | Opcode::V_CLREXCP => Ok(()),
            Opcode::V_READFIRSTLANE_B32 | Opcode::V_READLANE_B32 => {
                let lane = if op.inst.op == Opcode::V_READLANE_B32 {
                    self.lane_select(w, op)?
                } else if exec == 0 {
                    0
                } else {
                    exec.trailing_zeros() as usize
                };
                let (value, undef) = match op.srcs.first().map(|s| s.src) {
                    Some(Src::V(n)) => {
                        let n = usize::from(if w.gpr_idx { w.indexed(n, 0) } else { n }) & 255;
                        (w.v[n][lane], w.undef_at(n, lane))
                    }
                    Some(Src::S(r)) => {
                        let (v, u) = self.scalar(w, r, 1);
                        (v as u32, u as u32)
                    }
                    Some(Src::K(k)) => (k as u32, 0),
                    None => return Err(unsupported(op)),
                };
                match op.sdst {
                    Some((reg, _)) => self.write_scalar(w, reg, 1, value.into(), undef.into()),
                    None => Err(unsupported(op)),
                }
            }
            Opcode::V_WRITELANE_B32 => {
                let lane = self.lane_select(w, op)?;
                let (value, undef) = match op.srcs.first().map(|s| s.src) {
                    Some(Src::S(r)) => self.scalar(w, r, 1),
                    Some(Src::K(k)) => (k, 0),
                    _ => return Err(unsupported(op)),
                };
                let Some((reg, _)) = op.vdst else { return Err(unsupported(op)) };
                let (v, u) = ([value as u32; LANES], [undef as u32; LANES]);
                w.write_v(usize::from(reg), &v, Some(&u), 1 << lane);
                Ok(())
            }
            Opcode::V_SWAP_B32 => {
                let mut regs = op.writes.iter().filter_map(|r| PReg(r.first).vgpr_index()).map(usize::from);
                let (Some(a), Some(b)) = (regs.next(), regs.next()) else { return Err(unsupported(op)) };
                let (va, vb) = (w.v[a], w.v[b]);
                let zero = [0; LANES];
                let ua = if w.v_undef[a] { w.vu[a] } else { zero };
                let ub = if w.v_undef[b] { w.vu[b] } else { zero };
                w.write_v(a, &vb, Some(&ub), exec);
                w.write_v(b, &va, Some(&ua), exec);
                Ok(())
            }
            Opcode::V_MOVRELD_B32 | Opcode::V_MOVRELS_B32 | Opcode::V_MOVRELSD_B32 => {
                let m0 = self.defined_m0(w)? as usize;
                let which = op.inst.op;
                let s = if which == Opcode::V_MOVRELD_B32 { 0 } else { m0 };
                let d = if which == Opcode::V_MOVRELS_B32 { 0 } else { m0 };
                let Some((dst, _)) = op.vdst else { return Err(unsupported(op)) };
                let dst = (usize::from(dst) + d) & 255;
                match op.srcs.first().map(|s| s.src) {
                    Some(Src::V(n)) => {
                        let n = (usize::from(n) + s) & 255;
                        let (v, u) = (w.v[n], if w.v_undef[n] { w.vu[n] } else { [0; LANES] });
                        w.write_v(dst, &v, Some(&u), exec);
                    }
                    Some(Src::S(r)) => {
                        let (v, u) = self.scalar(w, r, 1);
                        w.write_v(dst, &[v as u32; LANES], Some(&[u as u32; LANES]), exec);
                    }
                    Some(Src::K(k)) => w.write_v(dst, &[k as u32; LANES], None, exec),
                    None => return Err(unsupported(op)),
                }
                Ok(())
            }
            _ => Err(unsupported(op)),
        }
    }

    /// M0, whose value must be defined.
    pub(super) fn defined_m0(&self, w: &Wave) -> Result<u32> {
        if w.su[usize::from(PReg::M0.0)] != 0 && self.checks(Checks::UNDEF_ADDRESS) {
            return Err(Report::new(Kind::UndefAddress, "M0 is undefined"));
        }
        Ok(w.s[usize::from(PReg::M0.0)])
    }

    fn lane_select(&self, w: &Wave, op: &Op) -> Result<usize> {
        let (lane, undef) = match op.srcs.get(1).map(|s| s.src) {
            Some(Src::S(r)) => self.scalar(w, r, 1),
            Some(Src::K(k)) => (k, 0),
            _ => return Err(unsupported(op)),
        };
        if undef & 63 != 0 && self.checks(Checks::UNDEF_ADDRESS) {
            return Err(Report::new(Kind::UndefAddress, "the lane select is undefined"));
        }
        Ok((lane & 63) as usize)
    }

    /// `ds_swizzle`, `ds_permute`, `ds_bpermute`: lanes exchange values without touching LDS.
    pub(super) fn lds_lanes(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let exec = w.exec();
        let (Some(dst), Some(addr)) = (op.vgpr("vdst"), op.vgpr("addr")) else { return Err(unsupported(op)) };
        let (dst, addr) = (usize::from(dst), usize::from(addr) & 255);
        let data = usize::from(op.vgpr("data0").unwrap_or(addr as u16)) & 255;
        let offset = op.inst.mods.offset as u32;
        let mut from = [None; LANES];
        match op.inst.op {
            Opcode::DS_SWIZZLE_B32 => {
                for (l, slot) in from.iter_mut().enumerate() {
                    let l32 = l as u32;
                    let s = if offset & 0x8000 != 0 {
                        (l32 & !3) + (offset >> (2 * (l32 & 3)) & 3)
                    } else {
                        let (and, or, xor) = (offset & 31, offset >> 5 & 31, offset >> 10 & 31);
                        (l32 & 32) | (((l32 & 31) & and) | or) ^ xor
                    };
                    *slot = Some(s as usize);
                }
            }
            _ => {
                self.defined_lanes(w, addr, exec)?;
                for l in 0..LANES {
                    if exec >> l & 1 == 0 {
                        continue;
                    }
                    let other = (w.v[addr][l].wrapping_add(offset) >> 2 & 63) as usize;
                    if op.inst.op == Opcode::DS_BPERMUTE_B32 {
                        from[l] = Some(other);
                    } else {
                        // Where several lanes push to one, the highest wins.
                        from[other] = Some(l);
                    }
                }
            }
        }
        let (mut v, mut u) = ([0; LANES], [0; LANES]);
        for l in 0..LANES {
            // What an inactive lane holds is not read: zero.
            if let Some(s) = from[l].filter(|&s| exec >> s & 1 != 0) {
                v[l] = w.v[data][s];
                u[l] = w.undef_at(data, s);
            }
        }
        w.write_v(dst, &v, Some(&u), exec);
        Ok(())
    }

    /// Reports the first active lane with undefined bits in a VGPR that is an address.
    pub(super) fn defined_lanes(&self, w: &Wave, n: usize, exec: u64) -> Result<()> {
        if !w.v_undef[n & 255] || !self.checks(Checks::UNDEF_ADDRESS) {
            return Ok(());
        }
        match (0..LANES).find(|&l| w.vu[n & 255][l] & bit(exec, l) != 0) {
            Some(l) => {
                Err(Report::new(Kind::UndefAddress, format!("the address in v{n} is undefined")).at_lane(l))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dpp_patterns() {
        let (from, valid) = dpp_sources(0x1b, !0);
        assert_eq!((&from[..4], valid), (&[3, 2, 1, 0][..], !0));
        let (from, valid) = dpp_sources(0x111, !0);
        assert_eq!((from[17], valid), (16, 0xfffe_fffe_fffe_fffe));
        let (from, valid) = dpp_sources(0x142, !0);
        assert_eq!((from[16], from[40], valid), (15, 31, !0xffff));
        let (_, valid) = dpp_sources(0x101, 1);
        assert_eq!(valid, 0);
        assert_eq!(dpp_rows(0xa, 0xf), 0xffff_0000_ffff_0000);
    }
}
