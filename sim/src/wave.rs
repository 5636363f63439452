//! The state of one wave.
//!
//! Registers are numbered as by [`PReg`]. Beside each register stand its undefined bits: a set bit there means that nothing has given this bit
//! a value. For VGPRs a mask tells which lanes may have undefined bits, so that the common case costs one test a register.

use crate::exec::memory::gws::Wait;
use crate::exec::valu::{mask_of, spread};
use crate::strict::clause::Clause;
use crate::strict::errata::Errata;
use crate::strict::hazards::Clock;
use crate::strict::waits::Waits;
use mir::machine::PReg;
use mir::target::{WaitCounts, WaveSize};

/// Lanes that a wave has at most, and places for them in every VGPR and mask.
pub const MAX_LANES: usize = 64;
/// One value a lane.
pub type Lanes = [u32; MAX_LANES];
/// Scalar registers by [`PReg`] number.
pub const SCALARS: usize = 160;

/// What a wave is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It can run.
    Running,
    /// It waits at a barrier (byte address of the instruction).
    Barrier(u64),
    /// It waits for global wave sync.
    Gws(Wait),
    /// It has ended.
    Done,
}

/// A wave.
#[derive(Clone, Debug)]
pub struct Wave {
    /// Lanes that it has; bits of masks beyond are 0.
    pub size: WaveSize,
    /// Scalar registers.
    pub s: [u32; SCALARS],
    /// Their undefined bits.
    pub su: [u32; SCALARS],
    /// SCC.
    pub scc: bool,
    /// Whether SCC is undefined.
    pub scc_undef: bool,
    /// VGPRs.
    pub v: Vec<Lanes>,
    /// Their undefined bits; meaningful in the lanes of `v_undef`.
    pub vu: Vec<Lanes>,
    /// Lanes in which a VGPR may have undefined bits.
    pub v_undef: [u64; 256],
    /// MODE.
    pub mode: u32,
    /// Address of the next instruction, relative to the image.
    pub pc: u64,
    /// What it is doing.
    pub status: Status,
    /// Number in the work-group.
    pub index: u32,
    /// Counters.
    pub waits: Waits,
    /// Wait states.
    pub clock: Clock,
    /// What errata and rules of hard clauses are about.
    pub errata: Errata,
    /// The clause of memory instructions that it is in.
    pub clause: Clause,
    /// Whether GPR index mode is on (MODE.gpr_idx_en).
    pub gpr_idx: bool,
    /// Cycles of the instructions executed, what `s_memtime` shows.
    pub time: u64,
}

fn garbage(seed: u64, n: u64) -> u32 {
    let x = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

impl Wave {
    /// A wave of `size` whose counters count to `max`.
    pub fn new(size: WaveSize, max: WaitCounts) -> Self {
        Self {
            size,
            s: [0; SCALARS],
            su: [!0; SCALARS],
            scc: false,
            scc_undef: true,
            v: vec![[0; MAX_LANES]; 256],
            vu: vec![[!0; MAX_LANES]; 256],
            v_undef: [!0; 256],
            mode: 0,
            pc: 0,
            status: Status::Running,
            index: 0,
            waits: Waits::new(max),
            clock: Clock::default(),
            errata: Errata::default(),
            clause: Clause::default(),
            gpr_idx: false,
            time: 0,
        }
    }

    /// Makes everything undefined; what undefined bits read as depends on `seed`. `vgprs`: how many VGPRs may be in use.
    pub fn reset(&mut self, seed: u64, vgprs: usize) {
        for (i, r) in self.s.iter_mut().enumerate() {
            *r = garbage(seed, i as u64);
        }
        self.su = [!0; SCALARS];
        self.scc = seed & 1 != 0;
        self.scc_undef = true;
        for (i, (v, u)) in self.v.iter_mut().zip(&mut self.vu).enumerate().take(vgprs) {
            v.fill(garbage(seed, 1000 + i as u64));
            u.fill(!0);
        }
        self.v_undef = [!0; 256];
        self.status = Status::Running;
        self.waits.reset();
        self.clock.reset();
        self.errata = Errata::default();
        self.clause.end();
        self.gpr_idx = false;
        self.time = 0;
    }

    /// Sets a scalar register to a defined value.
    pub fn set_s(&mut self, reg: PReg, value: u32) {
        if let Some(r) = self.s.get_mut(usize::from(reg.0)) {
            *r = value;
            self.su[usize::from(reg.0)] = 0;
        }
    }

    /// Sets a VGPR to defined values.
    pub fn set_v(&mut self, n: usize, value: Lanes) {
        self.v[n] = value;
        self.v_undef[n] = 0;
    }

    /// EXEC.
    #[inline]
    pub fn exec(&self) -> u64 {
        self.mask(PReg::EXEC_LO)
    }

    /// Sets EXEC; lanes that the wave does not have are left out.
    #[inline]
    pub fn set_exec(&mut self, lanes: u64) {
        self.set_mask(PReg::EXEC_LO, lanes, 0);
    }

    /// VCC.
    pub fn vcc(&self) -> u64 {
        self.mask(PReg::VCC_LO)
    }

    /// A mask of lanes: a scalar register, or a pair where the wave has 64 lanes.
    #[inline]
    pub fn mask(&self, reg: PReg) -> u64 {
        self.pair(reg) & self.size.all_lanes()
    }

    /// Undefined bits of a mask of lanes.
    #[inline]
    pub fn mask_undef(&self, reg: PReg) -> u64 {
        self.pair_undef(reg) & self.size.all_lanes()
    }

    /// Writes a mask of lanes and nothing behind it.
    #[inline]
    pub fn set_mask(&mut self, reg: PReg, value: u64, undef: u64) {
        match self.size {
            WaveSize::W64 => self.set_pair(reg, value, undef),
            WaveSize::W32 => {
                let i = usize::from(reg.0).min(SCALARS - 1);
                (self.s[i], self.su[i]) = (value as u32, undef as u32);
            }
        }
    }

    /// A pair of scalar registers.
    #[inline]
    pub fn pair(&self, reg: PReg) -> u64 {
        let i = usize::from(reg.0).min(SCALARS - 2);
        u64::from(self.s[i]) | u64::from(self.s[i + 1]) << 32
    }

    /// Undefined bits of a pair.
    #[inline]
    pub fn pair_undef(&self, reg: PReg) -> u64 {
        let i = usize::from(reg.0).min(SCALARS - 2);
        u64::from(self.su[i]) | u64::from(self.su[i + 1]) << 32
    }

    /// Writes a pair.
    #[inline]
    pub fn set_pair(&mut self, reg: PReg, value: u64, undef: u64) {
        let i = usize::from(reg.0).min(SCALARS - 2);
        self.s[i] = value as u32;
        self.s[i + 1] = (value >> 32) as u32;
        self.su[i] = undef as u32;
        self.su[i + 1] = (undef >> 32) as u32;
    }
}

impl Wave {
    /// The VGPR that `n` names while GPR index mode is on. `which`: 0 to 2 a source, 3 the destination.
    pub fn indexed(&self, n: u16, which: u32) -> u16 {
        let m0 = self.s[usize::from(PReg::M0.0)];
        if m0 >> (12 + which) & 1 != 0 { n + (m0 & 0xff) as u16 } else { n }
    }

    /// The VGPR read as source `k` that an instruction calls `n`.
    #[inline]
    pub fn source(&self, n: u16, k: usize) -> usize {
        usize::from(if self.gpr_idx { self.indexed(n, k as u32) } else { n }) & 255
    }

    /// The VGPR written that an instruction calls `n`.
    #[inline]
    pub fn destination(&self, n: u16) -> usize {
        usize::from(if self.gpr_idx { self.indexed(n, 3) } else { n }) & 255
    }

    /// Writes a VGPR in the lanes of `mask`; without `undef` the values are defined.
    pub fn write_v(&mut self, n: usize, value: &Lanes, undef: Option<&Lanes>, mask: u64) {
        let n = n & 255;
        let select = if mask == u64::MAX {
            self.v[n] = *value;
            None
        } else {
            let select = spread(mask);
            let v = &mut self.v[n];
            for l in 0..MAX_LANES {
                v[l] = v[l] & !select[l] | value[l] & select[l];
            }
            Some(select)
        };
        self.v_undef[n] &= !mask;
        let Some(u) = undef else { return };
        self.v_undef[n] |= mask_of(|l| u[l] != 0) & mask;
        let vu = &mut self.vu[n];
        match select {
            None => *vu = *u,
            Some(select) => {
                for l in 0..MAX_LANES {
                    vu[l] = vu[l] & !select[l] | u[l] & select[l];
                }
            }
        }
    }

    /// The undefined bits of a VGPR in one lane.
    pub fn undef_at(&self, n: usize, lane: usize) -> u32 {
        let n = n & 255;
        if self.v_undef[n] >> lane & 1 != 0 { self.vu[n][lane] } else { 0 }
    }

    /// The undefined bits of a VGPR.
    pub fn undef_of(&self, n: usize) -> Lanes {
        let n = n & 255;
        if self.v_undef[n] == 0 {
            return [0; MAX_LANES];
        }
        let select = spread(self.v_undef[n]);
        std::array::from_fn(|l| self.vu[n][l] & select[l])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_32_lanes_are_one_register() {
        let mut w = Wave::new(WaveSize::W32, WaitCounts::from([63, 7, 15, 0]));
        w.set_s(PReg::EXEC_HI, 7);
        w.set_exec(u64::MAX);
        assert_eq!((w.exec(), w.s[usize::from(PReg::EXEC_HI.0)]), (0xffff_ffff, 7));
        w.set_mask(PReg::VCC_LO, 5, 2);
        w.set_s(PReg::VCC_HI, 9);
        assert_eq!((w.vcc(), w.mask_undef(PReg::VCC_LO), w.pair(PReg::VCC_LO)), (5, 2, 9 << 32 | 5));
    }

    #[test]
    fn lanes_become_defined_one_by_one() {
        let mut w = Wave::new(WaveSize::W64, WaitCounts::from([63, 7, 15, 0]));
        w.reset(1, 256);
        w.write_v(3, &[7; MAX_LANES], None, 0xff);
        assert_eq!((w.undef_at(3, 7), w.undef_at(3, 8)), (0, !0));
        let mut u = [0; MAX_LANES];
        u[1] = 0xf0;
        w.write_v(3, &[9; MAX_LANES], Some(&u), 0x3);
        assert_eq!((w.v[3][0], w.v[3][2], w.undef_at(3, 1), w.v_undef[3]), (9, 7, 0xf0, !0xff | 2));
        assert_eq!(w.undef_of(3)[..3], [0, 0xf0, 0]);
        w.write_v(3, &[9; MAX_LANES], None, !0);
        assert_eq!(w.undef_of(3), [0; MAX_LANES]);
    }
}
