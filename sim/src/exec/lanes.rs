//! Vector instructions that address lanes or registers, and the lane patterns of DPP.

use super::valu::msad8;
use super::{Exec, Handler, unsupported};
use crate::program::{Op, Src};
use crate::report::{Checks, Kind, Report, Result};
use crate::wave::{MAX_LANES, Wave};
use mir::isa::Opcode;
use mir::machine::{ModFlags, PReg};

/// For each lane the lane that DPP reads, and the lanes whose source exists.
///
/// Source: Vega ISA, "DPP_CTRL Enumerations". A row is 16 lanes.
pub fn dpp_sources(ctrl: u16) -> ([u8; MAX_LANES], u64) {
    let mut from = [0u8; MAX_LANES];
    let mut valid = 0u64;
    let n = i32::from(ctrl & 15);
    for l in 0..MAX_LANES as i32 {
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
            0x150..=0x15f => Some(row + n),
            0x160..=0x16f => Some(row + (in_row ^ n)),
            0x142 => (row > 0).then_some(row - 1),
            0x143 => (l >= 32).then_some(31),
            _ => None,
        };
        if let Some(s) = source {
            from[l as usize] = s as u8;
            valid |= 1 << l;
        }
    }
    (from, valid)
}

/// The lanes that the row and bank masks enable.
pub fn dpp_rows(row_mask: u8, bank_mask: u8) -> u64 {
    (0..MAX_LANES).fold(0, |m, l| {
        let on = row_mask >> (l / 16) & 1 != 0 && bank_mask >> (l / 4 % 4) & 1 != 0;
        m | u64::from(on) << l
    })
}

/// What executes `op`.
pub fn handler(op: Opcode) -> Option<Handler> {
    Some(match op {
        Opcode::V_NOP | Opcode::V_CLREXCP | Opcode::V_PIPEFLUSH => |_, _, _, _| Ok(()),
        Opcode::V_READFIRSTLANE_B32 => |x, w, _, op| {
            let exec = w.exec();
            x.read_lane(w, op, if exec == 0 { 0 } else { exec.trailing_zeros() as usize })
        },
        Opcode::V_READLANE_B32 => |x, w, _, op| {
            let lane = x.lane_select(w, op)?;
            x.read_lane(w, op, lane)
        },
        Opcode::V_WRITELANE_B32 => |x, w, _, op| x.write_lane(w, op),
        Opcode::V_SWAP_B32 => |_, w, _, op| swap(w, op),
        Opcode::V_MOVRELD_B32 => |x, w, _, op| x.movrel(w, op, false, true),
        Opcode::V_MOVRELS_B32 => |x, w, _, op| x.movrel(w, op, true, false),
        Opcode::V_MOVRELSD_B32 => |x, w, _, op| x.movrel(w, op, true, true),
        Opcode::V_MOVRELSD_2_B32 => |x, w, _, op| {
            let (s, d) = x.two_indices(w)?;
            x.movrel_by(w, op, s, d)
        },
        Opcode::V_SWAPREL_B32 => |x, w, _, op| x.swaprel(w, op),
        Opcode::V_PERMLANE16_B32 => |x, w, _, op| x.permlane(w, op, 0),
        Opcode::V_PERMLANEX16_B32 => |x, w, _, op| x.permlane(w, op, 16),
        Opcode::V_MQSAD_U32_U8 => |x, w, _, op| x.mqsad(w, op),
        _ => return None,
    })
}

fn swap(w: &mut Wave, op: &Op) -> Result<()> {
    let mut regs = op.writes.iter().filter_map(|r| PReg(r.first).vgpr_index()).map(usize::from);
    let (Some(a), Some(b)) = (regs.next(), regs.next()) else { return Err(unsupported(op)) };
    swap_registers(w, a, b);
    Ok(())
}

fn swap_registers(w: &mut Wave, a: usize, b: usize) {
    let exec = w.exec();
    let (va, vb) = (w.v[a], w.v[b]);
    let (ua, ub) = (w.undef_of(a), w.undef_of(b));
    w.write_v(a, &vb, Some(&ub), exec);
    w.write_v(b, &va, Some(&ua), exec);
}

impl Exec<'_> {
    fn read_lane(&mut self, w: &mut Wave, op: &Op, lane: usize) -> Result<()> {
        let (value, undef) = match op.srcs.first().map(|s| s.src) {
            Some(Src::V(n)) => {
                let n = w.source(n, 0);
                (w.v[n][lane], w.undef_at(n, lane))
            }
            Some(Src::S(r)) => {
                let (v, u) = self.scalar(w, r, 1);
                (v as u32, u as u32)
            }
            Some(Src::K(k)) => (k as u32, 0),
            None => return Err(unsupported(op)),
        };
        let Some((reg, _)) = op.sdst else { return Err(unsupported(op)) };
        self.write_scalar(w, reg, 1, value.into(), undef.into())
    }

    fn write_lane(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let lane = self.lane_select(w, op)?;
        let (value, undef) = match op.srcs.first().map(|s| s.src) {
            Some(Src::S(r)) => self.scalar(w, r, 1),
            Some(Src::K(k)) => (k, 0),
            _ => return Err(unsupported(op)),
        };
        let Some((reg, _)) = op.vdst else { return Err(unsupported(op)) };
        let (v, u) = ([value as u32; MAX_LANES], [undef as u32; MAX_LANES]);
        w.write_v(usize::from(reg), &v, Some(&u), 1 << lane);
        Ok(())
    }

    /// `v_movrel*`: M0 is added to the source's (`s`), the destination's (`d`) register number.
    fn movrel(&mut self, w: &mut Wave, op: &Op, s: bool, d: bool) -> Result<()> {
        let m0 = self.defined_m0(w)? as usize;
        self.movrel_by(w, op, if s { m0 } else { 0 }, if d { m0 } else { 0 })
    }

    /// The VGPR `index` behind `n`.
    fn vgpr_at(&self, n: u16, index: usize) -> Result<usize> {
        let n = usize::from(n).wrapping_add(index);
        if n as u64 >= u64::from(self.launch.vgprs) {
            return Err(Report::new(Kind::OutOfBounds, format!("VGPR {n} by index {index} in M0")));
        }
        Ok(n & 255)
    }

    /// The indices of source (bits 9:0 of M0) and destination (25:16). Source: RDNA ISA, `V_MOVRELSD_2_B32`.
    fn two_indices(&self, w: &Wave) -> Result<(usize, usize)> {
        let m0 = self.defined_m0(w)? as usize;
        Ok((m0 & 0x3ff, m0 >> 16 & 0x3ff))
    }

    fn swaprel(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let (s, d) = self.two_indices(w)?;
        let mut regs = op.writes.iter().filter_map(|r| PReg(r.first).vgpr_index());
        let (Some(a), Some(b)) = (regs.next(), regs.next()) else { return Err(unsupported(op)) };
        swap_registers(w, self.vgpr_at(a, d)?, self.vgpr_at(b, s)?);
        Ok(())
    }

    /// `v_permlane16`, or with `other` = 16 `v_permlanex16`: each lane reads one of its row of 16, or of the other row of the pair, four bits of two
    /// scalars saying which. Lanes that are not active are read where `op_sel` has bit 0; else a lane keeps what it has, or with bit 1 gets
    /// zero. Source: RDNA ISA, `V_PERMLANE16_B32`.
    fn permlane(&mut self, w: &mut Wave, op: &Op, other: usize) -> Result<()> {
        let Some((dst, _)) = op.vdst else { return Err(unsupported(op)) };
        let Some(Src::V(source)) = op.srcs.first().map(|s| s.src) else { return Err(unsupported(op)) };
        let mut select = 0u64;
        for k in 0..2 {
            let (v, u) = match op.srcs.get(k + 1).map(|s| s.src) {
                Some(Src::S(r)) => self.scalar(w, r, 1),
                Some(Src::K(c)) => (c, 0),
                _ => return Err(unsupported(op)),
            };
            if u != 0 && self.checks(Checks::UNDEF_ADDRESS) {
                return Err(Report::new(Kind::UndefAddress, "the lane select is undefined"));
            }
            select |= (v & 0xffff_ffff) << (32 * k);
        }
        let (inactive, zero) = (op.inst.mods.op_sel & 1 != 0, op.inst.mods.op_sel & 2 != 0);
        let (exec, n) = (w.exec(), usize::from(source) & 255);
        let (mut v, mut u, mut lanes) = ([0; MAX_LANES], [0; MAX_LANES], 0);
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let from = (l & !15 ^ other) | (select >> (4 * (l & 15)) & 15) as usize;
            if inactive || exec >> from & 1 != 0 {
                (v[l], u[l]) = (w.v[n][from], w.undef_at(n, from));
                lanes |= 1 << l;
            } else if zero {
                lanes |= 1 << l;
            }
        }
        w.write_v(usize::from(dst), &v, Some(&u), lanes);
        Ok(())
    }

    /// A move from the source `s` registers further to the destination `d` further.
    fn movrel_by(&mut self, w: &mut Wave, op: &Op, s: usize, d: usize) -> Result<()> {
        let Some((dst, _)) = op.vdst else { return Err(unsupported(op)) };
        let dst = self.vgpr_at(dst, d)?;
        let exec = w.exec();
        match op.srcs.first().map(|s| s.src) {
            Some(Src::V(n)) => {
                let n = self.vgpr_at(n, s)?;
                let (v, u) = (w.v[n], w.undef_of(n));
                w.write_v(dst, &v, Some(&u), exec);
            }
            Some(Src::S(r)) => {
                let (v, u) = self.scalar(w, r, 1);
                w.write_v(dst, &[v as u32; MAX_LANES], Some(&[u as u32; MAX_LANES]), exec);
            }
            Some(Src::K(k)) => w.write_v(dst, &[k as u32; MAX_LANES], None, exec),
            None => return Err(unsupported(op)),
        }
        Ok(())
    }

    /// `v_mqsad_u32_u8`: four masked sums of a sliding window, each added to a dword of the third source.
    fn mqsad(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let fetched = self.fetch(w, op);
        let (Some((dst, _)), Some(Src::V(sums))) = (op.vdst, op.srcs.get(2).map(|s| s.src)) else {
            return Err(unsupported(op));
        };
        let clamp = op.flag(ModFlags::CLAMP);
        let mut out = [[0; MAX_LANES]; 4];
        let mut undef = [[0; MAX_LANES]; 4];
        let i = fetched.inputs(&self.s, w);
        for k in 0..4 {
            let n = (usize::from(sums) + k) & 255;
            for l in 0..MAX_LANES {
                let sad = msad8((i.w(0, l) >> (8 * k)) as u32, i.lo[1][l]);
                let old = w.v[n][l];
                out[k][l] = if clamp { old.saturating_add(sad) } else { old.wrapping_add(sad) };
                let source =
                    if fetched.undef { self.u[0].lo[l] | self.u[0].hi[l] | self.u[1].lo[l] } else { 0 };
                undef[k][l] = if source | w.undef_at(n, l) != 0 { !0 } else { 0 };
            }
        }
        let exec = w.exec();
        for (k, (v, u)) in out.iter().zip(&undef).enumerate() {
            w.write_v(usize::from(dst) + k, v, Some(u), exec);
        }
        Ok(())
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
        let number = u64::from(w.size.lanes() - 1);
        if undef & number != 0 && self.checks(Checks::UNDEF_ADDRESS) {
            return Err(Report::new(Kind::UndefAddress, "the lane select is undefined"));
        }
        Ok((lane & number) as usize)
    }

    /// `ds_swizzle`, `ds_permute`, `ds_bpermute`: lanes exchange values without touching LDS.
    pub(super) fn lds_lanes(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let exec = w.exec();
        let (Some(dst), Some(addr)) = (op.vgpr("vdst"), op.vgpr("addr")) else { return Err(unsupported(op)) };
        let (dst, addr) = (usize::from(dst), usize::from(addr) & 255);
        let data = usize::from(op.vgpr("data0").unwrap_or(addr as u16)) & 255;
        let offset = op.inst.mods.offset as u32;
        let mut from = [None; MAX_LANES];
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
                // Waves of more lanes exchange in each half.
                let span = self.launch.target.limits().exchanged_lanes.clamp(1, w.size.lanes());
                for l in 0..MAX_LANES {
                    if exec >> l & 1 == 0 {
                        continue;
                    }
                    let other = w.v[addr][l].wrapping_add(offset) >> 2 & (span - 1);
                    let other = (l as u32 & !(span - 1) | other) as usize;
                    if op.inst.op == Opcode::DS_BPERMUTE_B32 {
                        from[l] = Some(other);
                    } else {
                        // Where several lanes push to one, the highest wins.
                        from[other] = Some(l);
                    }
                }
            }
        }
        let (mut v, mut u) = ([0; MAX_LANES], [0; MAX_LANES]);
        for l in 0..MAX_LANES {
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
        let undef = w.v_undef[n & 255] & exec;
        if undef == 0 || !self.checks(Checks::UNDEF_ADDRESS) {
            return Ok(());
        }
        match (0..MAX_LANES).find(|&l| undef >> l & 1 != 0 && w.vu[n & 255][l] != 0) {
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
        let (from, valid) = dpp_sources(0x1b);
        assert_eq!((&from[..4], valid), (&[3, 2, 1, 0][..], !0));
        let (from, valid) = dpp_sources(0x111);
        assert_eq!((from[17], valid), (16, 0xfffe_fffe_fffe_fffe));
        let (from, valid) = dpp_sources(0x142);
        assert_eq!((from[16], from[40], valid), (15, 31, !0xffff));
        assert_eq!(dpp_rows(0xa, 0xf), 0xffff_0000_ffff_0000);
    }
}
