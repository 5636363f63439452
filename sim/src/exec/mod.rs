//! Executes instructions: one at a time, for all lanes of a wave.
//!
//! [`Exec::step`] makes the checks that all instructions share, counts, and hands over to the part for the instruction's class. Here
//! is also everything around vector arithmetic that all of its operations share: fetching operands, modifiers, SDWA and DPP, denormals,
//! output modifiers, writing under EXEC, and the undefined bits.
//!
//! Undefined bits: the common case is that no active lane reads any, which costs a flag test a register. Otherwise operations that move
//! or combine bits ([`Op::transparent`]) are computed again with other values in the place of undefined bits, and
//! the bits that change are undefined; of all other operations the whole result is.

pub mod atomic;
mod compare;
mod lanes;
mod memory;
pub mod salu;
mod special;
pub mod valu;

use crate::fp::{self, Round};
use crate::memory::Memory;
use crate::program::{Class, Denormals, Op, Src};
use crate::report::{Checks, Config, Kind, Report, Result, Stats};
use crate::strict::hazards::slot_register;
use crate::strict::waits::{Counter, EventKind};
use crate::wave::{LANES, Lanes, Wave};
use mir::isa::{Format, OpFlags, Opcode, ValueType};
use mir::machine::{ModFlags, PReg, SdwaSel, SdwaUnused};
use mir::target::Target;
use valu::{Env, In, Out};

/// Values tried in the place of undefined bits.
pub const PATTERNS: [u64; 4] = [0, u64::MAX, 0x5a3c_96e1_0f78_b4d2, 0xb4d2_7c55_a1e6_3b8f];

/// What is the same for all waves of a dispatch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Processor and features.
    pub target: Target,
    /// Address of the image.
    pub image_base: u64,
    /// Aperture of LDS in the flat address space (high dword).
    pub shared_aperture: u32,
    /// Aperture of scratch.
    pub private_aperture: u32,
    /// Address to which FLAT_SCRATCH of GFX7 and GFX8 is relative.
    pub hidden_private_base: u64,
    /// Scratch bytes of a lane.
    pub scratch_lane_bytes: u32,
    /// SGPRs and VGPRs that the descriptor allocates.
    pub sgprs: u32,
    /// VGPRs.
    pub vgprs: u32,
}

/// The state that the waves of a work-group share.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Work-group id.
    pub id: [u32; 3],
    /// LDS.
    pub lds: Vec<u8>,
    /// Its undefined bits.
    pub lds_undef: Vec<u8>,
}

/// The executor.
#[derive(Debug)]
pub struct Exec<'a> {
    /// Memory.
    pub mem: &'a mut Memory,
    /// The dispatch.
    pub launch: &'a Launch,
    /// Configuration.
    pub cfg: &'a Config,
    /// Counts.
    pub stats: Stats,
    i: Box<In>,
    u: Box<In>,
    j: Box<In>,
    o: Box<Out>,
    o2: Box<Out>,
    ou: Box<Out>,
}

fn bit(mask: u64, lane: usize) -> u32 {
    0u32.wrapping_sub((mask >> lane & 1) as u32)
}

/// Bits of `u` in lanes of `mask`, ORed.
fn any_in(u: &Lanes, mask: u64) -> u32 {
    (0..LANES).fold(0, |acc, l| acc | u[l] & bit(mask, l))
}

fn extract(x: u32, sel: SdwaSel, sext: bool) -> u32 {
    let (shift, bits) = match sel {
        SdwaSel::Byte0 => (0, 8),
        SdwaSel::Byte1 => (8, 8),
        SdwaSel::Byte2 => (16, 8),
        SdwaSel::Byte3 => (24, 8),
        SdwaSel::Word0 => (0, 16),
        SdwaSel::Word1 => (16, 16),
        SdwaSel::Dword => return x,
    };
    let up = x << (32 - bits - shift);
    if sext { ((up as i32) >> (32 - bits)) as u32 } else { up >> (32 - bits) }
}

fn insert(x: u32, old: u32, sel: SdwaSel, unused: SdwaUnused) -> u32 {
    let (shift, bits) = match sel {
        SdwaSel::Byte0 => (0, 8),
        SdwaSel::Byte1 => (8, 8),
        SdwaSel::Byte2 => (16, 8),
        SdwaSel::Byte3 => (24, 8),
        SdwaSel::Word0 => (0, 16),
        SdwaSel::Word1 => (16, 16),
        SdwaSel::Dword => return x,
    };
    let field = (1u32 << bits) - 1;
    match unused {
        SdwaUnused::Pad => (x & field) << shift,
        SdwaUnused::Preserve => old & !(field << shift) | (x & field) << shift,
        SdwaUnused::Sext => (((x << (32 - bits)) as i32 >> (32 - bits)) as u32) << shift,
    }
}

impl<'a> Exec<'a> {
    /// An executor.
    pub fn new(mem: &'a mut Memory, launch: &'a Launch, cfg: &'a Config) -> Self {
        Self {
            mem,
            launch,
            cfg,
            stats: Stats::default(),
            i: Box::default(),
            u: Box::default(),
            j: Box::default(),
            o: Box::default(),
            o2: Box::default(),
            ou: Box::default(),
        }
    }

    /// Whether a check is on.
    #[inline]
    pub fn checks(&self, check: Checks) -> bool {
        self.cfg.checks.contains(check)
    }

    /// Executes the instruction at `w.pc`.
    pub fn step(&mut self, w: &mut Wave, g: &mut Group, op: &Op) -> Result<()> {
        if self.checks(Checks::REGISTER_RANGE) {
            self.check_range(op)?;
        }
        if w.waits.any() && self.checks(Checks::IN_FLIGHT) {
            self.check_flight(w, op)?;
        }
        let states = if op.inst.op == Opcode::S_NOP { (op.imm as u64 & 15) + 1 } else { 1 };
        if let Err((rule, missing, slot)) = w.clock.issue(&op.effects, states)
            && self.checks(Checks::HAZARD)
        {
            let register = slot_register(slot).map(|r| format!(" ({r})")).unwrap_or_default();
            return Err(Report::new(
                Kind::Hazard,
                format!("{missing} wait states missing: {}{register}", rule.name),
            ));
        }
        self.stats.instructions += 1;
        self.stats.cycles += u64::from(op.cycles);
        w.time += u64::from(op.cycles);
        w.pc = w.pc.wrapping_add(u64::from(op.size));
        match op.class {
            Class::Valu => {
                self.count_vector(w);
                self.stats.valu += 1;
                self.valu(w, op)
            }
            Class::Salu => {
                self.stats.salu += 1;
                self.salu(w, op)
            }
            Class::Special => self.special(w, op),
            Class::Compare(_) | Class::CompareClass => {
                self.count_vector(w);
                self.stats.valu += 1;
                self.compare(w, op)
            }
            Class::Lane => {
                self.count_vector(w);
                self.stats.valu += 1;
                self.lane(w, op)
            }
            Class::Smem => {
                self.stats.smem += 1;
                self.smem(w, op)
            }
            Class::Lds => {
                self.count_vector(w);
                self.stats.lds += 1;
                self.lds(w, g, op)
            }
            Class::Buffer => {
                self.count_vector(w);
                self.stats.vmem += 1;
                self.buffer(w, op)
            }
            Class::Flat => {
                self.count_vector(w);
                self.stats.vmem += 1;
                self.flat(w, g, op)
            }
            Class::Unsupported => Err(unsupported(op)),
        }
    }

    #[inline]
    fn count_vector(&mut self, w: &Wave) {
        self.stats.lane_instructions += u64::from(w.exec().count_ones());
    }

    fn check_range(&self, op: &Op) -> Result<()> {
        if let Some(n) = op.max_vgpr
            && u32::from(n) >= self.launch.vgprs
        {
            let message = format!("v{n} used, the descriptor allocates {} VGPRs", self.launch.vgprs);
            return Err(Report::new(Kind::RegisterRange, message));
        }
        if let Some(n) = op.max_sgpr
            && u32::from(n) >= self.launch.sgprs
        {
            let message = format!("s{n} used, the descriptor allocates {} SGPRs", self.launch.sgprs);
            return Err(Report::new(Kind::RegisterRange, message));
        }
        Ok(())
    }

    fn check_flight(&self, w: &Wave, op: &Op) -> Result<()> {
        let name = |c: Counter| match c {
            Counter::Vm => "vmcnt",
            Counter::Lgkm => "lgkmcnt",
            Counter::Exp => "expcnt",
        };
        for r in &op.reads {
            for reg in r.first..r.first + u16::from(r.len) {
                if let Some(c) = w.waits.blocks_read(reg) {
                    let message =
                        format!("{} is read while a load to it is in flight ({})", PReg(reg), name(c));
                    return Err(Report::new(Kind::InFlight, message));
                }
            }
        }
        let kind = memory_event(op);
        for r in &op.writes {
            for reg in r.first..r.first + u16::from(r.len) {
                if let Some(c) = w.waits.blocks_write(reg, kind) {
                    let message = format!(
                        "{} is written while a memory operation on it is in flight ({})",
                        PReg(reg),
                        name(c)
                    );
                    return Err(Report::new(Kind::InFlight, message));
                }
            }
        }
        Ok(())
    }

    /// A scalar source: value and undefined bits.
    pub fn scalar(&self, w: &Wave, reg: u16, dwords: u8) -> (u64, u64) {
        let special = |x: u64| (x, 0);
        match PReg(reg) {
            PReg::VCCZ => {
                let (v, u) = (w.vcc(), w.pair_undef(PReg::VCC_LO));
                (u64::from(v == 0), u64::from(u != 0 && v & !u == 0))
            }
            PReg::EXECZ => special(u64::from(w.exec() == 0)),
            PReg::SCC => (u64::from(w.scc), u64::from(w.scc_undef)),
            PReg::SHARED_BASE => special(u64::from(self.launch.shared_aperture) << 32),
            PReg::SHARED_LIMIT => special(u64::from(self.launch.shared_aperture) << 32 | 0xffff_ffff),
            PReg::PRIVATE_BASE => special(u64::from(self.launch.private_aperture) << 32),
            PReg::PRIVATE_LIMIT => special(u64::from(self.launch.private_aperture) << 32 | 0xffff_ffff),
            PReg::NULL => special(0),
            r if dwords >= 2 => (w.pair(r), w.pair_undef(r)),
            PReg(r) => match w.s.get(usize::from(r)) {
                Some(&v) => (u64::from(v), u64::from(w.su[usize::from(r)])),
                None => special(0),
            },
        }
    }

    /// Writes EXEC, whose bits must be defined.
    pub fn set_exec(&self, w: &mut Wave, value: u64, undef: u64) -> Result<()> {
        if undef != 0 && self.checks(Checks::UNDEF_BRANCH) {
            let lane = undef.trailing_zeros() as usize;
            return Err(
                Report::new(Kind::UndefBranch, format!("EXEC gets undefined bits 0x{undef:x}")).at_lane(lane)
            );
        }
        w.set_pair(PReg::EXEC_LO, value, 0);
        Ok(())
    }

    /// Writes a scalar destination of one or two dwords.
    pub fn write_scalar(&self, w: &mut Wave, reg: u16, dwords: u8, value: u64, undef: u64) -> Result<()> {
        let exec = PReg::EXEC_LO.0;
        if reg == exec && dwords >= 2 {
            return self.set_exec(w, value, undef);
        }
        if (reg == exec || reg == exec + 1) && undef as u32 != 0 {
            self.set_exec(w, 0, undef)?;
        }
        if dwords >= 2 {
            w.set_pair(PReg(reg), value, undef);
        } else if let Some(s) = w.s.get_mut(usize::from(reg)) {
            *s = value as u32;
            w.su[usize::from(reg)] = undef as u32;
        }
        Ok(())
    }

    fn salu(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let mut input = salu::In { scc: w.scc, exec: w.exec(), ..Default::default() };
        let mut undef = salu::Undef {
            scc: w.scc_undef && op.info.flags.contains(OpFlags::SCC_USE),
            ..Default::default()
        };
        for (k, s) in op.srcs.iter().enumerate() {
            let (v, u) = match s.src {
                Src::S(r) => self.scalar(w, r, s.dwords),
                Src::K(c) if s.dwords >= 2 => (c, 0),
                Src::K(c) => (c & 0xffff_ffff, 0),
                Src::V(_) => (0, !0),
            };
            // The immediate of SOPK is the second operand whatever stands before it.
            let second = k > 0 || op.info.format == Format::Sopk && matches!(s.src, Src::K(_));
            if second {
                (input.b, undef.b) = (v, u);
            } else {
                (input.a, undef.a) = (v, u);
            }
        }
        if let Some((reg, dwords)) = op.sdst
            && op.info.operands.first().is_some_and(|o| o.role == mir::isa::Role::DefUse)
        {
            (input.d, undef.d) = self.scalar(w, reg, dwords);
        }
        let Some(out) = salu::compute(op.inst.op, &input) else {
            return Err(unsupported(op));
        };
        let (du, scc_u, exec_u) =
            if undef.any() { salu::undefined(op.inst.op, &input, &undef, &out) } else { (0, false, 0) };
        if let Some((reg, dwords)) = op.sdst {
            self.write_scalar(w, reg, dwords, out.d, du)?;
        }
        if let Some(scc) = out.scc {
            w.scc = scc;
            w.scc_undef = scc_u;
        }
        if let Some(exec) = out.exec {
            self.set_exec(w, exec, exec_u)?;
        }
        Ok(())
    }

    /// Whether denormals of this type are flushed: (sources, result).
    fn flushes(&self, w: &Wave, op: &Op, ty: ValueType) -> (bool, bool) {
        let field = match ty {
            ValueType::F32 => w.mode >> 4,
            _ => w.mode >> 6,
        };
        match op.denormals {
            Denormals::Keep => (false, false),
            Denormals::Flush => (true, true),
            Denormals::Mode => (field & 1 == 0, field & 2 == 0),
        }
    }

    /// Fetches the sources into `self.i`, with modifiers. Returns the lanes that the instruction may write (all, unless DPP withholds
    /// some) and whether an active lane reads undefined bits, which are then in `self.u`.
    fn fetch(&mut self, w: &Wave, op: &Op) -> (u64, bool) {
        let exec = w.exec();
        let mut lanes = u64::MAX;
        // Undefined bits are fetched only where a source may have some.
        let mut undef = op.srcs.iter().take(3).enumerate().any(|(k, s)| match s.src {
            Src::V(n) => {
                let n = usize::from(if w.gpr_idx { w.indexed(n, k as u32) } else { n }) & 255;
                w.v_undef[n] || s.dwords >= 2 && w.v_undef[(n + 1) & 255]
            }
            Src::S(r) => scalar_of(self.launch, w, r, s.dwords).1 != 0,
            Src::K(_) => false,
        });
        for (k, s) in op.srcs.iter().take(3).enumerate() {
            let wide = s.dwords >= 2;
            let v = &mut self.i.s[k];
            match s.src {
                Src::V(n) => {
                    let n = usize::from(if w.gpr_idx { w.indexed(n, k as u32) } else { n }) & 255;
                    v.lo = w.v[n];
                    if wide {
                        v.hi = w.v[(n + 1) & 255];
                    }
                }
                Src::S(r) => {
                    let x = match PReg(r) {
                        PReg::SHARED_BASE | PReg::SHARED_LIMIT | PReg::PRIVATE_BASE | PReg::PRIVATE_LIMIT
                            if !wide =>
                        {
                            scalar_of(self.launch, w, r, 2).0 >> 32
                        }
                        _ => scalar_of(self.launch, w, r, s.dwords).0,
                    };
                    v.lo = [x as u32; LANES];
                    if wide {
                        v.hi = [(x >> 32) as u32; LANES];
                    }
                }
                Src::K(c) => {
                    v.lo = [c as u32; LANES];
                    if wide {
                        v.hi = [(c >> 32) as u32; LANES];
                    }
                }
            }
            if !wide && op.looks_high {
                v.hi = [0; LANES];
            }
        }
        if undef || op.mask.is_some_and(|m| w.pair_undef(PReg(m)) != 0) {
            self.fetch_undefined(w, op);
        }
        if let Some(dpp) = op.inst.mods.dpp() {
            let (source, valid) = lanes::dpp_sources(dpp.ctrl, exec);
            for x in [&mut self.i.s[0], &mut self.u.s[0]] {
                let old = x.clone();
                for l in 0..LANES {
                    let from = usize::from(source[l]) & 63;
                    x.lo[l] = old.lo[from] & bit(valid, l);
                    x.hi[l] = old.hi[from] & bit(valid, l);
                }
            }
            lanes = lanes::dpp_rows(dpp.row_mask, dpp.bank_mask);
            if !dpp.bound_ctrl {
                lanes &= valid;
            }
        }
        if let Some(sdwa) = op.inst.mods.sdwa() {
            for k in 0..2 {
                if sdwa.src_sel[k] != SdwaSel::Dword {
                    let sext = sdwa.sext >> k & 1 != 0;
                    for x in [&mut self.i.s[k], &mut self.u.s[k]] {
                        x.lo.iter_mut().for_each(|x| *x = extract(*x, sdwa.src_sel[k], sext));
                    }
                }
            }
        }
        let mods = &op.inst.mods;
        let packed = op.info.format == Format::Vop3p;
        for (k, s) in op.srcs.iter().take(3).enumerate() {
            let (v, u) = (&mut self.i.s[k], &mut self.u.s[k]);
            let bits = s.bits();
            if bits == 16 {
                let high = !packed && op.inst.mods.sdwa().is_none() && mods.op_sel >> k & 1 != 0;
                if high {
                    v.lo.iter_mut().for_each(|x| *x >>= 16);
                    u.lo.iter_mut().for_each(|x| *x >>= 16);
                } else if undef {
                    u.lo.iter_mut().for_each(|x| *x &= 0xffff);
                }
            }
            if packed {
                continue;
            }
            let sign_word = if bits == 64 { &mut v.hi } else { &mut v.lo };
            let sign = if bits == 16 { 0x8000 } else { 0x8000_0000 };
            if mods.abs >> k & 1 != 0 {
                sign_word.iter_mut().for_each(|x| *x &= !sign);
            }
            if mods.neg >> k & 1 != 0 {
                sign_word.iter_mut().for_each(|x| *x ^= sign);
            }
        }
        if op.denormals != Denormals::Keep {
            self.flush_sources(w, op);
        }
        let active = exec & lanes;
        self.i.mask = 0;
        self.u.mask = 0;
        if let Some(mask) = op.mask {
            self.i.mask = w.pair(PReg(mask));
            self.u.mask = w.pair_undef(PReg(mask)) & active;
            undef |= self.u.mask != 0;
        }
        if undef {
            let bits = self.u.s.iter().fold(0, |acc, s| acc | any_in(&s.lo, active) | any_in(&s.hi, active));
            undef = bits != 0 || self.u.mask != 0;
        }
        (lanes, undef)
    }

    /// Fills `self.u` with the undefined bits of the sources.
    fn fetch_undefined(&mut self, w: &Wave, op: &Op) {
        for k in 0..3 {
            let u = &mut self.u.s[k];
            u.lo = [0; LANES];
            u.hi = [0; LANES];
            let Some(s) = op.srcs.get(k) else { continue };
            match s.src {
                Src::V(n) => {
                    let n = usize::from(if w.gpr_idx { w.indexed(n, k as u32) } else { n }) & 255;
                    let n1 = (n + 1) & 255;
                    if w.v_undef[n] {
                        u.lo = w.vu[n];
                    }
                    if s.dwords >= 2 && w.v_undef[n1] {
                        u.hi = w.vu[n1];
                    }
                }
                Src::S(r) => {
                    let x = scalar_of(self.launch, w, r, s.dwords).1;
                    u.lo = [x as u32; LANES];
                    u.hi = [(x >> 32) as u32; LANES];
                }
                Src::K(_) => {}
            }
        }
    }

    fn flush_sources(&mut self, w: &Wave, op: &Op) {
        for (k, s) in op.srcs.iter().take(3).enumerate() {
            if !matches!(s.ty, ValueType::F16 | ValueType::F32 | ValueType::F64 | ValueType::V2F16)
                || !self.flushes(w, op, s.ty).0
            {
                continue;
            }
            let v = &mut self.i.s[k];
            match s.ty {
                ValueType::F32 => v.lo.iter_mut().for_each(|x| *x = fp::flush32(*x)),
                ValueType::F16 => v.lo.iter_mut().for_each(|x| *x = fp::flush16(*x & 0xffff)),
                ValueType::V2F16 => v.lo.iter_mut().for_each(|x| {
                    *x = fp::flush16(*x & 0xffff) | fp::flush16(*x >> 16) << 16;
                }),
                _ => {
                    for l in 0..LANES {
                        let x = fp::flush64(u64::from(v.lo[l]) | u64::from(v.hi[l]) << 32);
                        v.lo[l] = x as u32;
                        v.hi[l] = (x >> 32) as u32;
                    }
                }
            }
        }
    }

    fn env(w: &Wave, op: &Op) -> Env {
        let m = &op.inst.mods;
        Env {
            clamp: op.flag(ModFlags::CLAMP),
            ieee: w.mode & 1 << 9 != 0,
            round32: Round::from_bits(w.mode),
            round64: Round::from_bits(w.mode >> 2),
            packed: [m.op_sel, m.op_sel_hi, m.neg, m.neg_hi],
        }
    }

    fn valu(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let (lanes, undef) = self.fetch(w, op);
        let env = Self::env(w, op);
        if !valu::compute(op.inst.op, &self.i, &mut self.o, &env) {
            return Err(unsupported(op));
        }
        if undef {
            self.undefined_results(op, &env);
        }
        self.finish_float(w, op);
        let exec = w.exec() & lanes;
        if let Some((reg, dwords)) = op.vdst {
            let reg = usize::from(if w.gpr_idx { w.indexed(reg, 3) } else { reg }) & 255;
            self.place(w, op, reg, undef);
            w.write_v(reg, &self.o.d.lo, undef.then_some(&self.ou.d.lo), exec);
            if dwords >= 2 {
                w.write_v((reg + 1) & 255, &self.o.d.hi, undef.then_some(&self.ou.d.hi), exec);
            }
        }
        if let Some((reg, dwords)) = op.sdst {
            let u = if undef { self.ou.mask & exec } else { 0 };
            self.write_scalar(w, reg, dwords, self.o.mask & exec, u)?;
        }
        Ok(())
    }

    /// Fills `self.ou` with the undefined bits of the results.
    fn undefined_results(&mut self, op: &Op, env: &Env) {
        if !op.transparent {
            let mut mask = self.u.mask;
            for l in 0..LANES {
                let any = self.u.s.iter().fold(0, |acc, s| acc | s.lo[l] | s.hi[l]) != 0
                    || self.u.mask >> l & 1 != 0;
                let u = if any { !0 } else { 0 };
                self.ou.d.lo[l] = u;
                self.ou.d.hi[l] = u;
                mask |= u64::from(any) << l;
            }
            self.ou.mask = mask;
            return;
        }
        self.ou.d.lo = [0; LANES];
        self.ou.d.hi = [0; LANES];
        self.ou.mask = 0;
        for pattern in PATTERNS {
            for k in 0..3 {
                let p = pattern.rotate_left(k as u32 * 21);
                let (i, u, j) = (&self.i.s[k], &self.u.s[k], &mut self.j.s[k]);
                for l in 0..LANES {
                    j.lo[l] = i.lo[l] & !u.lo[l] | p as u32 & u.lo[l];
                    j.hi[l] = i.hi[l] & !u.hi[l] | (p >> 32) as u32 & u.hi[l];
                }
            }
            self.j.mask = self.i.mask & !self.u.mask | if pattern & 1 != 0 { self.u.mask } else { 0 };
            self.o2.mask = 0;
            valu::compute(op.inst.op, &self.j, &mut self.o2, env);
            for l in 0..LANES {
                self.ou.d.lo[l] |= self.o.d.lo[l] ^ self.o2.d.lo[l];
                self.ou.d.hi[l] |= self.o.d.hi[l] ^ self.o2.d.hi[l];
            }
            if op.sdst.is_some() {
                self.ou.mask |= self.o.mask ^ self.o2.mask;
            }
        }
    }

    /// Output modifier, clamp and denormals of a floating-point result.
    fn finish_float(&mut self, w: &Wave, op: &Op) {
        let Some(ty) = op.info.operands.first().map(|o| o.ty) else { return };
        if !matches!(ty, ValueType::F16 | ValueType::F32 | ValueType::F64 | ValueType::V2F16) {
            return;
        }
        let (omod, clamp) = (op.inst.mods.omod, op.flag(ModFlags::CLAMP));
        let flush = self.flushes(w, op, ty).1;
        if omod == 0 && !clamp && !flush {
            return;
        }
        let nan_to_zero = w.mode & 1 << 8 != 0;
        let scale = match omod {
            1 => 2.0,
            2 => 4.0,
            3 => 0.5,
            _ => 1.0,
        };
        let finish32 = |x: u32, flush: bool| {
            let x = if flush { fp::flush32(x) } else { x };
            let mut v = f32::from_bits(x);
            if omod != 0 {
                v *= scale;
            }
            if clamp {
                v = if v.is_nan() && nan_to_zero { 0.0 } else { v.clamp(0.0, 1.0) + 0.0 };
            }
            if omod == 0 && !clamp { x } else { v.to_bits() }
        };
        let finish16 = |x: u32| {
            let x = if flush { fp::flush16(x & 0xffff) } else { x & 0xffff };
            if omod == 0 && !clamp {
                x
            } else {
                fp::f32_to_f16(f32::from_bits(finish32(fp::f16_to_f32(x).to_bits(), false)))
            }
        };
        let d = &mut self.o.d;
        match ty {
            ValueType::F32 => d.lo.iter_mut().for_each(|x| *x = finish32(*x, flush)),
            ValueType::F16 => d.lo.iter_mut().for_each(|x| *x = finish16(*x)),
            ValueType::V2F16 => d.lo.iter_mut().for_each(|x| *x = finish16(*x) | finish16(*x >> 16) << 16),
            _ => {
                for l in 0..LANES {
                    let mut x = u64::from(d.lo[l]) | u64::from(d.hi[l]) << 32;
                    if flush {
                        x = fp::flush64(x);
                    }
                    let mut v = f64::from_bits(x);
                    if omod != 0 {
                        v *= f64::from(scale);
                    }
                    if clamp {
                        v = if v.is_nan() && nan_to_zero { 0.0 } else { v.clamp(0.0, 1.0) + 0.0 };
                    }
                    if omod != 0 || clamp {
                        x = v.to_bits();
                    }
                    d.lo[l] = x as u32;
                    d.hi[l] = (x >> 32) as u32;
                }
            }
        }
    }

    /// Puts results of less than a dword where they belong in the destination register `reg`.
    fn place(&mut self, w: &Wave, op: &Op, reg: usize, undef: bool) {
        let zero = [0; LANES];
        let old_undef = if w.v_undef[reg] { &w.vu[reg] } else { &zero };
        if let Some(sdwa) = op.inst.mods.sdwa() {
            if sdwa.dst_sel == SdwaSel::Dword {
                if op.dst16 {
                    self.o.d.lo.iter_mut().for_each(|x| *x &= 0xffff);
                }
                return;
            }
            for l in 0..LANES {
                self.o.d.lo[l] = insert(self.o.d.lo[l], w.v[reg][l], sdwa.dst_sel, sdwa.dst_unused);
                if undef {
                    self.ou.d.lo[l] = insert(self.ou.d.lo[l], old_undef[l], sdwa.dst_sel, sdwa.dst_unused);
                }
            }
            return;
        }
        if !op.dst16 {
            return;
        }
        let flags = op.info.flags;
        let high = op.inst.mods.op_sel & 8 != 0
            || matches!(op.inst.op, Opcode::V_MAD_MIXHI_F16 | Opcode::V_FMA_MIXHI_F16);
        let keep = flags.contains(OpFlags::OP_SEL) || flags.contains(OpFlags::MIX);
        for l in 0..LANES {
            let put = |x: u32, old: u32| match (keep, high) {
                (false, _) => x & 0xffff,
                (true, false) => x & 0xffff | old & 0xffff_0000,
                (true, true) => x << 16 | old & 0xffff,
            };
            self.o.d.lo[l] = put(self.o.d.lo[l], w.v[reg][l]);
            if undef {
                self.ou.d.lo[l] = put(self.ou.d.lo[l], old_undef[l]);
            }
        }
    }
}

fn scalar_of(launch: &Launch, w: &Wave, reg: u16, dwords: u8) -> (u64, u64) {
    match PReg(reg) {
        PReg(r) if r < PReg::VCCZ.0 && PReg(r) != PReg::NULL => {
            if dwords >= 2 {
                (w.pair(PReg(r)), w.pair_undef(PReg(r)))
            } else {
                (u64::from(w.s[usize::from(r)]), u64::from(w.su[usize::from(r)]))
            }
        }
        PReg::VCCZ => (u64::from(w.vcc() == 0), u64::from(w.pair_undef(PReg::VCC_LO) != 0)),
        PReg::EXECZ => (u64::from(w.exec() == 0), 0),
        PReg::SCC => (u64::from(w.scc), u64::from(w.scc_undef)),
        PReg::SHARED_BASE => (u64::from(launch.shared_aperture) << 32, 0),
        PReg::SHARED_LIMIT => (u64::from(launch.shared_aperture) << 32 | 0xffff_ffff, 0),
        PReg::PRIVATE_BASE => (u64::from(launch.private_aperture) << 32, 0),
        PReg::PRIVATE_LIMIT => (u64::from(launch.private_aperture) << 32 | 0xffff_ffff, 0),
        _ => (0, 0),
    }
}

/// The kind of event that a memory instruction is, for the order of completion.
pub fn memory_event(op: &Op) -> Option<EventKind> {
    Some(match op.class {
        Class::Smem => EventKind::Smem,
        Class::Lds if op.flag(ModFlags::GDS) => EventKind::Gds,
        Class::Lds => EventKind::Lds,
        Class::Flat if op.info.format == Format::Flat => EventKind::Flat,
        Class::Buffer | Class::Flat => EventKind::Vmem,
        _ => return None,
    })
}

/// The report for an instruction that is not executed.
pub fn unsupported(op: &Op) -> Box<Report> {
    Report::new(Kind::BadInstruction, format!("the simulator does not execute {}", op.info.name))
}
