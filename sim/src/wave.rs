//! The state of one wave.
//!
//! Registers are numbered as by [`PReg`]. Beside each register stand its undefined bits: a set bit there means that nothing has given this bit
//! a value. For VGPRs a flag tells whether any lane may have undefined bits, so that the common case costs nothing.

use crate::strict::hazards::Clock;
use crate::strict::waits::Waits;
use mir::machine::PReg;

/// Lanes of a wave.
pub const LANES: usize = 64;
/// One value a lane.
pub type Lanes = [u32; LANES];
/// Scalar registers by [`PReg`] number.
pub const SCALARS: usize = 160;

/// What a wave is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It can run.
    Running,
    /// It waits at a barrier (byte address of the instruction).
    Barrier(u64),
    /// It has ended.
    Done,
}

/// A wave.
#[derive(Clone, Debug)]
pub struct Wave {
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
    /// Their undefined bits; meaningful where `v_undef` is set.
    pub vu: Vec<Lanes>,
    /// Whether a VGPR may have undefined bits.
    pub v_undef: [bool; 256],
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
    /// Whether GPR index mode is on (MODE.gpr_idx_en).
    pub gpr_idx: bool,
    /// Instructions executed, what `s_memtime` shows.
    pub time: u64,
}

fn garbage(seed: u64, n: u64) -> u32 {
    let x = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

impl Wave {
    /// A wave whose counters count to `vm_max` and `lgkm_max`.
    pub fn new(vm_max: u32, lgkm_max: u32) -> Self {
        Self {
            s: [0; SCALARS],
            su: [!0; SCALARS],
            scc: false,
            scc_undef: true,
            v: vec![[0; LANES]; 256],
            vu: vec![[!0; LANES]; 256],
            v_undef: [true; 256],
            mode: 0,
            pc: 0,
            status: Status::Running,
            index: 0,
            waits: Waits::new(vm_max, lgkm_max),
            clock: Clock::default(),
            gpr_idx: false,
            time: 0,
        }
    }

    /// Makes everything undefined; what undefined bits read as depends on `seed`.
    pub fn reset(&mut self, seed: u64) {
        for (i, r) in self.s.iter_mut().enumerate() {
            *r = garbage(seed, i as u64);
        }
        self.su = [!0; SCALARS];
        self.scc = seed & 1 != 0;
        self.scc_undef = true;
        for (i, (v, u)) in self.v.iter_mut().zip(&mut self.vu).enumerate() {
            v.fill(garbage(seed, 1000 + i as u64));
            u.fill(!0);
        }
        self.v_undef = [true; 256];
        self.status = Status::Running;
        self.waits.reset();
        self.clock.reset();
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
        self.vu[n] = [0; LANES];
        self.v_undef[n] = false;
    }

    /// EXEC.
    #[inline]
    pub fn exec(&self) -> u64 {
        self.pair(PReg::EXEC_LO)
    }

    /// VCC.
    pub fn vcc(&self) -> u64 {
        self.pair(PReg::VCC_LO)
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

    /// Writes a VGPR in the lanes of `mask`; without `undef` the values are defined.
    pub fn write_v(&mut self, n: usize, value: &Lanes, undef: Option<&Lanes>, mask: u64) {
        let n = n & 255;
        let select = |l: usize| 0u32.wrapping_sub((mask >> l & 1) as u32);
        if mask == u64::MAX {
            self.v[n] = *value;
            match undef {
                None => self.v_undef[n] = false,
                Some(u) => {
                    self.vu[n] = *u;
                    self.v_undef[n] = u.iter().fold(0, |a, x| a | x) != 0;
                }
            }
            return;
        }
        let v = &mut self.v[n];
        for l in 0..LANES {
            v[l] = v[l] & !select(l) | value[l] & select(l);
        }
        if undef.is_none() && !self.v_undef[n] {
            return;
        }
        let was = self.v_undef[n];
        let vu = &mut self.vu[n];
        let mut any = 0;
        for l in 0..LANES {
            let old = if was { vu[l] } else { 0 };
            let new = undef.map_or(0, |u| u[l]);
            vu[l] = old & !select(l) | new & select(l);
            any |= vu[l];
        }
        self.v_undef[n] = any != 0;
    }

    /// The undefined bits of a VGPR in one lane.
    pub fn undef_at(&self, n: usize, lane: usize) -> u32 {
        let n = n & 255;
        if self.v_undef[n] { self.vu[n][lane] } else { 0 }
    }
}
