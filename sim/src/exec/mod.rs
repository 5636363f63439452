//! Executes instructions: one at a time, for all lanes of a wave.
//!
//! [`Exec::step`] makes the checks that all instructions share, counts, and calls the function that was chosen when the instruction was decoded
//! ([`handler`]).
//!
//! ```text
//! salu, scalar       scalar ALU: operations; operands and results
//! special            branches, waits, hardware registers, register indexing
//! valu/              vector ALU: operations
//! vector, modifiers  its frame: operands, modifiers, results
//! undefined          undefined bits through it
//! compare, lanes     comparisons; lanes and registers by index
//! memory/, atomic    scalar memory, LDS, buffers, flat
//! ```

pub mod atomic;
mod compare;
pub mod lanes;
pub mod memory;
mod modifiers;
pub mod salu;
mod scalar;
mod special;
mod undefined;
pub mod valu;
mod vector;

pub use modifiers::is_float;

use crate::memory::Bus;
use crate::program::{Class, Mem, Op};
use crate::report::{Checks, Config, Kind, Report, Result, Stats};
use crate::strict::hazards::{Needed, slot_register};
use crate::strict::races::{Path, Races};
use crate::strict::waits::EventKind;
use crate::timing::record::Recorder;
use crate::wave::Wave;
use mir::isa::{OpFlags, Opcode};
use mir::machine::{ModFlags, PReg};
use mir::target::{Features, Target};
use valu::Out;
use vector::Val;

/// Values tried in the place of undefined bits.
pub const PATTERNS: [u64; 4] = [0, u64::MAX, 0x5a3c_96e1_0f78_b4d2, 0xb4d2_7c55_a1e6_3b8f];

/// Executes an instruction.
pub type Handler = fn(&mut Exec<'_>, &mut Wave, &mut Group, &Op) -> Result<()>;

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
    /// Address of GDS.
    pub gds: u64,
    /// SGPRs and VGPRs that the descriptor allocates.
    pub sgprs: u32,
    /// VGPRs.
    pub vgprs: u32,
    /// The waves of a work-group run on both compute units of a pair, each with a vector L0 of its own.
    pub wgp: bool,
    /// The processor is of GFX10.1, whose errata GFX10.3 has not.
    pub first_gfx10: bool,
}

impl Launch {
    /// FLAT_SCRATCH is a hardware register, not the last SGPRs of the allocation.
    pub fn flat_scratch_is_apart(&self) -> bool {
        self.target.has(Features::FLAT) && self.target.limits().special_sgprs.flat_scratch == 0
    }
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
    /// Barriers and semaphores of global wave sync.
    pub gws: memory::gws::Resources,
    /// Who accessed LDS, where several waves do and the check is on.
    pub races: Option<Box<Races>>,
}

/// The executor.
pub struct Exec<'a> {
    /// Memory.
    pub mem: &'a mut dyn Bus,
    /// The dispatch.
    pub launch: &'a Launch,
    /// Configuration.
    pub cfg: &'a Config,
    /// Counts.
    pub stats: Stats,
    /// What the model of cycles wants to know, where it is asked for.
    pub record: Option<Box<Recorder>>,
    /// The vector L1 cache has been invalidated since the work-group started.
    vector_fresh: bool,
    /// The cache behind it, where there is one of its own, has been.
    outer_fresh: bool,
    /// The scalar cache has been invalidated since then.
    scalar_fresh: bool,
    /// The access is part of a read-modify-write.
    atomic: bool,
    /// By which instructions LDS is reached.
    path: Path,
    /// The instruction is vector memory without result, which is counted apart.
    stores: bool,
    /// Sources that are not read in place.
    s: Box<[Val; 3]>,
    /// Undefined bits of the sources.
    u: Box<[Val; 3]>,
    /// Sources with other values in the place of undefined bits.
    j: Box<[Val; 3]>,
    o: Box<Out>,
    o2: Box<Out>,
    /// Undefined bits of the results.
    ou: Box<Out>,
}

fn bit(mask: u64, lane: usize) -> u32 {
    0u32.wrapping_sub((mask >> lane & 1) as u32)
}

impl<'a> Exec<'a> {
    /// An executor.
    pub fn new(mem: &'a mut dyn Bus, launch: &'a Launch, cfg: &'a Config) -> Self {
        Self {
            mem,
            launch,
            cfg,
            stats: Stats::default(),
            record: None,
            vector_fresh: false,
            outer_fresh: false,
            scalar_fresh: false,
            atomic: false,
            path: Path::Ds,
            stores: false,
            s: Box::default(),
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
            let what = match rule.needed {
                Needed::States(_) => format!("{missing} wait states missing"),
                Needed::End(_) => "nothing has ended the hazard".to_owned(),
            };
            return Err(Report::new(Kind::Hazard, format!("{what}: {}{register}", rule.name)));
        }
        if let Err(rule) = w.errata.issue(op.traits, op.imm, self.launch.first_gfx10)
            && self.checks(Checks::HAZARD)
        {
            return Err(Report::new(Kind::Hazard, rule));
        }
        if self.checks(Checks::XNACK) {
            self.check_clause(w, op)?;
        }
        self.count(w, op);
        self.stores = w.waits.counts_stores()
            && matches!(op.class, Class::Buffer | Class::Image | Class::Flat)
            && !op.returns();
        w.time += u64::from(op.cycles);
        w.pc = w.pc.wrapping_add(u64::from(op.size));
        (op.run)(self, w, g, op)?;
        if let Some(record) = &mut self.record {
            record.executed(w.index, op, w.pc);
        }
        Ok(())
    }

    #[inline]
    fn count(&mut self, w: &Wave, op: &Op) {
        let s = &mut self.stats;
        s.instructions += 1;
        let mut vector = || s.lane_instructions += u64::from(w.exec().count_ones());
        match op.class {
            Class::Valu | Class::Compare(_) | Class::CompareClass | Class::Lane => {
                vector();
                s.valu += 1;
            }
            Class::Salu => s.salu += 1,
            Class::Smem => s.smem += 1,
            Class::Lds => {
                vector();
                s.lds += 1;
            }
            Class::Buffer | Class::Image | Class::Flat => {
                vector();
                s.vmem += 1;
            }
            Class::Special | Class::Unsupported => {}
        }
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

    fn check_clause(&self, w: &mut Wave, op: &Op) -> Result<()> {
        // What invalidates has no address whose page could be absent.
        if matches!(op.inst.op, Opcode::BUFFER_GL0_INV | Opcode::BUFFER_GL1_INV) {
            return Ok(());
        }
        let memory = matches!(op.class, Class::Smem | Class::Buffer | Class::Image | Class::Flat);
        if !memory || !self.launch.target.has(Features::XNACK_SUPPORTED) {
            w.clause.end();
            return Ok(());
        }
        let store = op.info.flags.contains(OpFlags::STORE);
        match w.clause.add(&op.reads, &op.writes, op.class == Class::Smem, store) {
            Some(reg) => Err(Report::new(
                Kind::Xnack,
                format!("{} is both read and written in a clause of memory instructions", PReg(reg)),
            )),
            None => Ok(()),
        }
    }

    fn check_flight(&self, w: &Wave, op: &Op) -> Result<()> {
        for r in &op.reads {
            for reg in r.first..r.first + u16::from(r.len) {
                if let Some(c) = w.waits.blocks_read(reg) {
                    let message =
                        format!("{} is read while a load to it is in flight ({})", PReg(reg), c.name());
                    return Err(Report::new(Kind::InFlight, message));
                }
            }
        }
        let kind = memory_event(op, w.waits.counts_stores());
        for r in &op.writes {
            for reg in r.first..r.first + u16::from(r.len) {
                if let Some(c) = w.waits.blocks_write(reg, kind) {
                    let message = format!(
                        "{} is written while a memory operation on it is in flight ({})",
                        PReg(reg),
                        c.name()
                    );
                    return Err(Report::new(Kind::InFlight, message));
                }
            }
        }
        Ok(())
    }
}

/// What executes an instruction of `op`; `None` where the simulator does not.
pub fn handler(op: Opcode, class: Class, kernel: bool, mem: Option<&Mem>) -> Option<Handler> {
    match class {
        Class::Valu if kernel => Some(|x, w, _, op| x.valu(w, op)),
        Class::Salu => Some(|x, w, _, op| x.salu(w, op)),
        Class::Special => special::handler(op),
        Class::Compare(_) | Class::CompareClass => Some(|x, w, _, op| x.compare(w, op)),
        Class::Lane => lanes::handler(op),
        Class::Smem | Class::Lds | Class::Buffer | Class::Image | Class::Flat => {
            memory::handler(op, class, mem?)
        }
        Class::Valu | Class::Unsupported => None,
    }
}

/// Stands for [`handler`] where there is none.
pub fn refuse(_: &mut Exec<'_>, _: &mut Wave, _: &mut Group, op: &Op) -> Result<()> {
    Err(unsupported(op))
}

/// The kind of event that a memory instruction is, for the order of completion.
///
/// `stores`: what has no result is counted apart.
pub fn memory_event(op: &Op, stores: bool) -> Option<EventKind> {
    let apart = stores && !op.returns();
    Some(match op.class {
        Class::Smem => EventKind::Smem,
        Class::Lds if op.flag(ModFlags::GDS) => EventKind::Gds,
        Class::Lds => EventKind::Lds,
        Class::Flat if op.is_generic() && apart => EventKind::FlatStore,
        Class::Flat if op.is_generic() => EventKind::Flat,
        Class::Image if stores && op.is_sample() => EventKind::Sampled,
        Class::Buffer | Class::Image | Class::Flat if apart => EventKind::Store,
        Class::Buffer | Class::Image | Class::Flat => EventKind::Vmem,
        _ => return None,
    })
}

/// The report for an instruction that is not executed.
pub fn unsupported(op: &Op) -> Box<Report> {
    Report::new(Kind::BadInstruction, format!("the simulator does not execute {}", op.info.name))
}
