//! The frame of vector arithmetic, the same for all operations: fetching operands, modifiers, SDWA and DPP, then the operation, then
//! output modifiers and writing under EXEC.
//!
//! A VGPR that no modifier touches is read where it is. What is undefined costs a mask test a source while no active lane has any.

use super::modifiers::{env, extract, flush, flushes, is_float};
use super::scalar::scalar_of;
use super::valu::{In, ZERO};
use super::{Exec, bit};
use crate::program::{Denormals, Op, Permutation, Src};
use crate::report::Result;
use crate::wave::{Lanes, MAX_LANES, Wave};
use mir::isa::{OpFlags, ValueType};
use mir::machine::{PReg, SdwaSel};

/// A value of up to 64 bits in each lane.
#[derive(Clone, Debug)]
pub struct Val {
    /// Low dwords.
    pub lo: Lanes,
    /// High dwords.
    pub hi: Lanes,
}

impl Default for Val {
    fn default() -> Self {
        Self { lo: [0; MAX_LANES], hi: [0; MAX_LANES] }
    }
}

/// Where a fetched source is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// There is none.
    Absent,
    /// VGPRs from this one on; whether there are two.
    Registers(usize, bool),
    /// In the executor's copy; whether it is wide.
    Copy(bool),
}

/// What [`Exec::fetch`] found.
#[derive(Clone, Debug)]
pub struct Fetched {
    places: [Place; 3],
    /// Lanes that the instruction may write: all, unless DPP withholds some.
    pub lanes: u64,
    /// Whether an active lane reads undefined bits, which are then in `Exec::u`.
    pub undef: bool,
    /// The lane mask read.
    pub mask: u64,
    /// Its undefined bits in active lanes.
    pub mask_undef: u64,
}

impl Fetched {
    /// The sources, in `copies` or in the wave's registers.
    pub fn inputs<'a>(&self, copies: &'a [Val; 3], w: &'a Wave) -> In<'a> {
        let mut i = In { lo: [&ZERO; 3], hi: [&ZERO; 3], mask: self.mask };
        for k in 0..3 {
            match self.places[k] {
                Place::Absent => {}
                Place::Registers(n, wide) => {
                    i.lo[k] = &w.v[n & 255];
                    if wide {
                        i.hi[k] = &w.v[(n + 1) & 255];
                    }
                }
                Place::Copy(wide) => {
                    i.lo[k] = &copies[k].lo;
                    if wide {
                        i.hi[k] = &copies[k].hi;
                    }
                }
            }
        }
        i
    }
}

/// Lanes whose source under `p` exists and is active.
fn valid_lanes(p: &Permutation, exec: u64) -> u64 {
    if exec == u64::MAX || p.fetch_inactive {
        return p.exists;
    }
    let reached = super::valu::mask_of(|l| exec >> (p.from[l] & 63) & 1 != 0);
    p.exists & reached
}

/// DPP, SDWA and `op_sel` on source `k`, its values or its undefined bits.
pub(super) fn shape(v: &mut Val, op: &Op, k: usize, exec: u64) {
    if let (Some(p), 0) = (&op.dpp, k) {
        let valid = valid_lanes(p, exec);
        let old = v.clone();
        for l in 0..MAX_LANES {
            let from = usize::from(p.from[l]) & 63;
            v.lo[l] = old.lo[from] & bit(valid, l);
            v.hi[l] = old.hi[from] & bit(valid, l);
        }
    }
    let mods = &op.inst.mods;
    if let Some(sdwa) = mods.sdwa().filter(|sdwa| k < 2 && sdwa.src_sel[k] != SdwaSel::Dword) {
        let sext = sdwa.sext >> k & 1 != 0;
        v.lo.iter_mut().for_each(|x| *x = extract(*x, sdwa.src_sel[k], sext));
    } else if op.srcs.get(k).is_some_and(|s| s.bits() == 16) && !op.is_packed() {
        let shift = u32::from(mods.op_sel >> k & 1) * 16;
        v.lo.iter_mut().for_each(|x| *x = *x >> shift & 0xffff);
    }
}

/// `abs` and `neg` of source `k`.
fn signs(v: &mut Val, op: &Op, k: usize) {
    let mods = &op.inst.mods;
    let (abs, neg) = (mods.abs >> k & 1 != 0, mods.neg >> k & 1 != 0);
    if op.is_packed() || !(abs || neg) {
        return;
    }
    let bits = op.srcs.get(k).map_or(32, |s| s.bits());
    let sign_word = if bits == 64 { &mut v.hi } else { &mut v.lo };
    let sign = if bits == 16 { 0x8000 } else { 0x8000_0000 };
    if abs {
        sign_word.iter_mut().for_each(|x| *x &= !sign);
    }
    if neg {
        sign_word.iter_mut().for_each(|x| *x ^= sign);
    }
}

impl Exec<'_> {
    /// Fetches the sources with their modifiers.
    pub(super) fn fetch(&mut self, w: &Wave, op: &Op) -> Fetched {
        let exec = w.exec();
        let (mut lanes, mut seen) = (u64::MAX, exec);
        if let Some(p) = &op.dpp {
            lanes = p.rows;
            if !p.bound_ctrl {
                lanes &= valid_lanes(p, exec);
            }
            seen = u64::MAX;
        }
        let mut places = [Place::Absent; 3];
        let mut undef = false;
        for (k, s) in op.srcs.iter().take(3).enumerate() {
            let wide = s.dwords >= 2;
            // A source of mixed precision is a dword of two halves where `op_sel_hi` says so.
            let halves = op.info.flags.contains(OpFlags::MIX) && op.inst.mods.op_sel_hi >> k & 1 != 0;
            let ty = if halves { ValueType::V2F16 } else { s.ty };
            let flushed = op.denormals != Denormals::Keep && is_float(ty) && flushes(w, op, ty).0;
            let changes = op.changes >> k & 1 != 0;
            let v = &mut self.s[k];
            match s.src {
                Src::V(n) => {
                    let n = w.source(n, k);
                    undef |= w.v_undef[n] & seen != 0 || wide && w.v_undef[(n + 1) & 255] & seen != 0;
                    if !changes && !flushed {
                        places[k] = Place::Registers(n, wide);
                        continue;
                    }
                    v.lo = w.v[n];
                    if wide {
                        v.hi = w.v[(n + 1) & 255];
                    }
                }
                Src::S(r) => {
                    let (x, u) = scalar_of(self.launch, w, r, s.dwords);
                    undef |= u != 0;
                    v.lo = [x as u32; MAX_LANES];
                    v.hi = [(x >> 32) as u32; MAX_LANES];
                }
                Src::K(c) => {
                    v.lo = [c as u32; MAX_LANES];
                    v.hi = [(c >> 32) as u32; MAX_LANES];
                }
            }
            if changes {
                shape(v, op, k, exec);
                signs(v, op, k);
            }
            if flushed {
                flush(ty, &mut v.lo, &mut v.hi);
            }
            places[k] = Place::Copy(wide);
        }
        let active = exec & lanes;
        let (mut mask, mut mask_undef) = (0, 0);
        if let Some(reg) = op.mask.filter(|&reg| reg != PReg::NULL.0) {
            mask = w.mask(PReg(reg));
            mask_undef = w.mask_undef(PReg(reg)) & active;
        }
        if undef || mask_undef != 0 {
            self.fetch_undefined(w, op);
            undef = mask_undef != 0
                || (0..MAX_LANES).any(|l| {
                    active >> l & 1 != 0 && self.u.iter().fold(0, |acc, s| acc | s.lo[l] | s.hi[l]) != 0
                });
        }
        Fetched { places, lanes, undef, mask, mask_undef }
    }

    /// One vector ALU instruction.
    pub(super) fn valu(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let fetched = self.fetch(w, op);
        let env = env(w, op);
        let Some(kernel) = op.kernel else { return Err(super::unsupported(op)) };
        kernel(&fetched.inputs(&self.s, w), &mut self.o, &env);
        let undef = fetched.undef;
        if undef {
            self.undefined_results(w, op, &fetched, &env);
        }
        if op.float_result {
            self.finish_float(w, op);
        }
        let exec = w.exec() & fetched.lanes;
        if let Some((reg, dwords)) = op.vdst {
            let reg = w.destination(reg);
            let mut low_undef = undef;
            if op.partial {
                low_undef = self.place(w, op, reg, undef);
            }
            w.write_v(reg, &self.o.lo, low_undef.then_some(&self.ou.lo), exec);
            if dwords >= 2 {
                w.write_v(reg + 1, &self.o.hi, undef.then_some(&self.ou.hi), exec);
            }
        }
        if let Some((reg, dwords)) = op.sdst {
            let u = if undef { self.ou.mask & exec } else { 0 };
            self.write_scalar(w, reg, dwords, self.o.mask & exec, u)?;
        }
        Ok(())
    }
}
