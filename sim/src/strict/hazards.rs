//! Wait states that hardware leaves to the programmer.
//!
//! Each rule names a producer, a consumer and the number of *wait states* (issued instructions, `s_nop n` counting n + 1)
//! that must lie between them, or that nothing but certain instructions ends it. The table was written from the manuals' lists of "manually inserted wait states" and shares nothing with
//! the pass of the compiler that inserts them.
//!
//! When an instruction is decoded, the rules become two lists: *slots* whose clock it sets, and slots whose clock it compares.
//! So running costs one load and compare for each register operand that matters.

use super::waits::RegRange;
use mir::machine::PReg;
use mir::target::{Counter, Features, Generation, Target, WaitCounts};
use smallvec::SmallVec;

/// A rule, as reported.
#[derive(Debug)]
pub struct Rule {
    /// What must not follow what too closely.
    pub name: &'static str,
    /// What must lie between them.
    pub needed: Needed,
}

/// What a rule asks for.
#[derive(Clone, Copy, Debug)]
pub enum Needed {
    /// Wait states by generation (GFX6 to GFX10); 0 where the hardware takes care.
    States([u8; Generation::COUNT]),
    /// An instruction that ends the hazard ([`Effects::ends`]), on processors with this erratum.
    End(Features),
}

impl Needed {
    /// Wait states on `target`, [`UNTIL_ENDED`], or 0.
    fn on(self, target: &Target) -> u8 {
        match self {
            Self::States(states) => states[target.generation() as usize],
            Self::End(erratum) if target.has(erratum) => UNTIL_ENDED,
            Self::End(_) => 0,
        }
    }
}

/// Stands for wait states in a check that no number of them satisfies.
pub const UNTIL_ENDED: u8 = u8::MAX;

macro_rules! rules {
    ($($id:ident: $name:literal, $states:expr, $source:literal;)*) => {
        /// Names a rule.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "named by their rows")]
        pub enum RuleId { $($id),* }

        /// The rules, with their sources in the last column.
        pub static RULES: &[Rule] = &[$({
            const _SOURCE: &str = $source;
            Rule { name: $name, needed: $states }
        }),*];
    };
}

rules! {
    SetregGetreg: "s_setreg, then s_getreg of the same register", Needed::States([1, 1, 2, 2, 0]), "GCN3 and Vega ISA, table of manually inserted wait states; 1 on GFX6-7";
    SetregSetreg: "s_setreg, then s_setreg of the same register", Needed::States([1, 1, 2, 2, 0]), "LLVM's hazard recogniser; ERRATA E8";
    ValuSgprVmem: "VALU writes an SGPR, then VMEM reads it", Needed::States([0, 0, 5, 5, 0]), "GCN3 and Vega ISA";
    ValuSgprLaneSelect: "VALU writes an SGPR, then v_readlane or v_writelane selects the lane by it", Needed::States([4, 4, 4, 4, 0]), "all manuals";
    ValuVccDivFmas: "VALU writes VCC, then v_div_fmas", Needed::States([4, 4, 4, 4, 0]), "all manuals";
    ValuExecDpp: "VALU writes EXEC, then a DPP operation", Needed::States([0, 0, 5, 5, 0]), "GCN3 and Vega ISA";
    ValuVgprDpp: "VALU writes a VGPR, then a DPP operation reads it", Needed::States([0, 0, 2, 2, 0]), "GCN3 and Vega ISA";
    ValuMaskAsData: "VALU writes VCC or EXEC, then VALU reads VCCZ or EXECZ as data", Needed::States([5, 5, 5, 5, 0]), "all manuals";
    SaluM0Use: "SALU writes M0, then an LDS add-TID, LDS DMA, s_movrel, v_interp, GDS or s_sendmsg uses it", Needed::States([0, 0, 1, 1, 0]), "GCN3 and Vega ISA";
    StoreData: "a store of more than 64 bits, then a VALU write of its data", Needed::States([0, 1, 1, 1, 0]), "all manuals; not where soffset is an SGPR";
    SgprSmrd: "VALU writes an SGPR, then SMRD reads it", Needed::States([4, 0, 0, 0, 0]), "Southern Islands ISA";
    SaluSgprSbuffer: "SALU writes an SGPR, then s_buffer_load reads it", Needed::States([4, 0, 0, 0, 0]), "Southern Islands ISA";
    TrapstsRfe: "s_setreg TRAPSTS, then s_rfe", Needed::States([1, 1, 1, 1, 0]), "all manuals";
    VmemSgprScalar: "VMEM or DS reads an SGPR, M0 or EXEC, then a scalar instruction writes it", Needed::End(Features::VMEM_READS_SCALARS_LATE), "ACO README-ISA, VMEMtoScalarWriteHazard";
    SmemSgprValu: "SMEM reads an SGPR, then VALU writes it", Needed::End(Features::SMEM_READS_SCALARS_LATE), "ACO README-ISA, SMEMtoVectorWriteHazard";
    ExecValu: "EXEC is read outside of the VALU, then VALU writes it", Needed::End(Features::COMPARISONS_OVERTAKE_EXEC), "ACO README-ISA, VcmpxExecWARHazard";
    SetregVskip: "s_setreg of MODE.vskip, then a vector operation", Needed::States([2, 2, 2, 2, 0]), "all manuals";
}

const VALU_SGPR: u16 = 0;
const SALU_SGPR: u16 = 160;
const VALU_VGPR: u16 = 320;
const STORE_VGPR: u16 = 576;
const SETREG: u16 = 832;
const VMEM_READ: u16 = 896;
const SMEM_READ: u16 = 1056;
const EXEC_READ: u16 = 1216;
/// Number of slots.
pub const SLOTS: usize = 1217;

/// A comparison that an instruction makes: (slot, wait states, rule).
pub type Check = (u16, u8, RuleId);

/// What an instruction sets and compares.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Slots set.
    pub sets: SmallVec<[u16; 4]>,
    /// Slots compared.
    pub checks: SmallVec<[Check; 2]>,
    /// Rules whose hazards it ends.
    pub ends: SmallVec<[RuleId; 2]>,
}

/// What the rules need to know of an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// Vector ALU.
    pub valu: bool,
    /// Scalar ALU.
    pub salu: bool,
    /// Vector memory (buffer, image, flat, global, scratch).
    pub vmem: bool,
    /// Scalar memory.
    pub smem: bool,
    /// Scalar memory by resource.
    pub sbuffer: bool,
    /// Registers read.
    pub reads: &'a [RegRange],
    /// Registers written.
    pub writes: &'a [RegRange],
    /// The SGPR that selects a lane.
    pub lane_select: Option<u16>,
    /// `v_div_fmas`.
    pub div_fmas: bool,
    /// The VGPR read through DPP.
    pub dpp: Option<u16>,
    /// Uses M0 in one of the ways of `SaluM0Use`.
    pub m0_use: bool,
    /// `s_setreg` of this register.
    pub setreg: Option<u8>,
    /// `s_getreg` of this register.
    pub getreg: Option<u8>,
    /// Data of a store wider than 64 bits that the hardware reads late.
    pub wide_store: Option<RegRange>,
    /// `s_rfe`.
    pub rfe: bool,
    /// `s_setreg` touches MODE.vskip.
    pub vskip: bool,
    /// LDS or GDS.
    pub ds: bool,
    /// Reads EXEC as the mask of its lanes.
    pub lanes: bool,
    /// What it waits for.
    pub waits: Option<WaitCounts>,
    /// Immediate of `s_waitcnt_depctr`.
    pub depctr: Option<u16>,
}

fn each(ranges: &[RegRange]) -> impl Iterator<Item = u16> {
    ranges.iter().flat_map(|r| r.first..r.first + u16::from(r.len))
}

impl Effects {
    /// The slots of an instruction on `target`.
    pub fn new(f: &Facts<'_>, target: &Target) -> Self {
        let mut out = Self::default();
        let sgpr = |r: u16| r < 160;
        let vgpr0 = PReg::vgpr(0).0;
        let exec = PReg::EXEC_LO.0;
        let mut check = |slot: u16, rule: RuleId| {
            let states = RULES[rule as usize].needed.on(target);
            if states != 0 {
                out.checks.push((slot, states, rule));
            }
        };
        if f.vmem {
            each(f.reads).filter(|&r| sgpr(r)).for_each(|r| check(VALU_SGPR + r, RuleId::ValuSgprVmem));
        }
        if f.smem {
            each(f.reads).filter(|&r| sgpr(r)).for_each(|r| check(VALU_SGPR + r, RuleId::SgprSmrd));
        }
        if f.sbuffer {
            each(f.reads).filter(|&r| sgpr(r)).for_each(|r| check(SALU_SGPR + r, RuleId::SaluSgprSbuffer));
        }
        if let Some(r) = f.lane_select.filter(|&r| sgpr(r)) {
            check(VALU_SGPR + r, RuleId::ValuSgprLaneSelect);
        }
        if f.div_fmas {
            check(VALU_SGPR + PReg::VCC_LO.0, RuleId::ValuVccDivFmas);
            check(VALU_SGPR + PReg::VCC_HI.0, RuleId::ValuVccDivFmas);
        }
        if let Some(r) = f.dpp {
            check(VALU_SGPR + exec, RuleId::ValuExecDpp);
            check(VALU_VGPR + (r - vgpr0), RuleId::ValuVgprDpp);
        }
        if f.valu {
            for r in each(f.reads) {
                if r == PReg::VCCZ.0 {
                    check(VALU_SGPR + PReg::VCC_LO.0, RuleId::ValuMaskAsData);
                } else if r == PReg::EXECZ.0 {
                    check(VALU_SGPR + exec, RuleId::ValuMaskAsData);
                }
            }
            each(f.writes)
                .filter(|&r| r >= vgpr0)
                .for_each(|r| check(STORE_VGPR + (r - vgpr0), RuleId::StoreData));
        }
        if f.m0_use {
            check(SALU_SGPR + PReg::M0.0, RuleId::SaluM0Use);
        }
        if let Some(r) = f.getreg {
            check(SETREG + u16::from(r & 63), RuleId::SetregGetreg);
        }
        if let Some(r) = f.setreg {
            check(SETREG + u16::from(r & 63), RuleId::SetregSetreg);
        }
        if f.rfe {
            check(SETREG + 3, RuleId::TrapstsRfe);
        }
        if f.valu || f.vmem {
            check(SETREG + 63, RuleId::SetregVskip);
        }
        if (f.salu || f.smem) && !f.valu {
            each(f.writes).filter(|&r| sgpr(r)).for_each(|r| check(VMEM_READ + r, RuleId::VmemSgprScalar));
        }
        if f.valu {
            for r in each(f.writes).filter(|&r| sgpr(r)) {
                check(SMEM_READ + r, RuleId::SmemSgprValu);
                if r == exec {
                    check(EXEC_READ, RuleId::ExecValu);
                }
            }
        }
        out.mitigations(f, target);
        for r in each(f.writes) {
            if f.valu && sgpr(r) {
                out.sets.push(VALU_SGPR + r);
            } else if f.valu && r >= vgpr0 {
                out.sets.push(VALU_VGPR + (r - vgpr0));
            } else if f.salu && sgpr(r) {
                out.sets.push(SALU_SGPR + r);
            }
        }
        if let Some(r) = f.wide_store {
            each(&[r]).filter(|&r| r >= vgpr0).for_each(|r| out.sets.push(STORE_VGPR + (r - vgpr0)));
        }
        if let Some(r) = f.setreg {
            out.sets.push(SETREG + u16::from(r & 63));
        }
        if f.vskip {
            out.sets.push(SETREG + 63);
        }
        out
    }

    /// Late reads, and what ends the hazards after them.
    fn mitigations(&mut self, f: &Facts<'_>, target: &Target) {
        let needed = |rule: RuleId| RULES[rule as usize].needed.on(target) == UNTIL_ENDED;
        let sgpr = |r: &u16| *r < 160;
        let exec = [PReg::EXEC_LO.0, PReg::EXEC_HI.0];
        let zero = |counters: &[Counter]| f.waits.is_some_and(|w| counters.iter().all(|&c| w[c] == 0));
        let depctr = |bits: u16| f.depctr.is_some_and(|imm| imm & bits == 0);
        if needed(RuleId::VmemSgprScalar) {
            if f.vmem || f.ds {
                self.sets.extend(each(f.reads).filter(sgpr).map(|r| VMEM_READ + r));
                self.sets.extend(exec.map(|r| VMEM_READ + r));
            }
            if f.valu || zero(&[Counter::Vm, Counter::Exp, Counter::Lgkm]) || depctr(0b11100) {
                self.ends.push(RuleId::VmemSgprScalar);
            }
        }
        if needed(RuleId::SmemSgprValu) {
            if f.smem {
                self.sets.extend(each(f.reads).filter(sgpr).map(|r| SMEM_READ + r));
            }
            if f.salu && !f.writes.is_empty() || zero(&[Counter::Lgkm]) {
                self.ends.push(RuleId::SmemSgprValu);
            }
        }
        if needed(RuleId::ExecValu) {
            if !f.valu && (f.lanes || each(f.reads).any(|r| exec.contains(&r))) {
                self.sets.push(EXEC_READ);
            }
            if f.valu && each(f.writes).any(|r| sgpr(&r)) || depctr(1) {
                self.ends.push(RuleId::ExecValu);
            }
        }
    }
}

/// The clock of a wave in wait states, and when each slot was last set.
#[derive(Clone, Debug)]
pub struct Clock {
    now: u64,
    set: Vec<u64>,
    /// When the hazards of a rule were last ended.
    ended: [u64; RULES.len()],
}

impl Default for Clock {
    fn default() -> Self {
        Self { now: 64, set: vec![0; SLOTS], ended: [0; RULES.len()] }
    }
}

impl Clock {
    /// Starts anew.
    pub fn reset(&mut self) {
        self.now = 64;
        self.set.fill(0);
        self.ended.fill(0);
    }

    /// Issues an instruction with `effects` that takes `states` wait states. `Err`: the rule it violates and the states that are missing.
    #[inline]
    pub fn issue(&mut self, effects: &Effects, states: u64) -> Result<(), (&'static Rule, u8, u16)> {
        let mut result = Ok(());
        for &(slot, need, rule) in &effects.checks {
            let between = self.now - self.set[usize::from(slot)];
            if need == UNTIL_ENDED {
                if self.set[usize::from(slot)] > self.ended[rule as usize] {
                    result = Err((&RULES[rule as usize], 1, slot));
                }
            } else if between < u64::from(need) {
                result = Err((&RULES[rule as usize], need - between as u8, slot));
            }
        }
        for &rule in &effects.ends {
            self.ended[rule as usize] = self.now;
        }
        self.now += states;
        for &slot in &effects.sets {
            self.set[usize::from(slot)] = self.now;
        }
        result
    }
}

/// The register of a slot in the numbering of [`PReg`], if it stands for one.
pub fn slot_register(slot: u16) -> Option<PReg> {
    match slot {
        0..160 => Some(PReg(slot)),
        160..320 => Some(PReg(slot - SALU_SGPR)),
        320..576 => Some(PReg::vgpr(slot - VALU_VGPR)),
        576..832 => Some(PReg::vgpr(slot - STORE_VGPR)),
        VMEM_READ..SMEM_READ => Some(PReg(slot - VMEM_READ)),
        SMEM_READ..EXEC_READ => Some(PReg(slot - SMEM_READ)),
        EXEC_READ => Some(PReg::EXEC_LO),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::target::hazards::{HAZARDS, Hazard, HazardClass, HazardRegs};

    fn target(name: &str) -> Target {
        Target::new(Target::processor_by_name(name).expect("a processor of the table"))
    }

    /// One for each generation, and those of GFX10 without its errata.
    const PROCESSORS: [&str; 6] = ["gfx600", "gfx700", "gfx803", "gfx900", "gfx1010", "gfx1030"];

    #[test]
    fn wait_states_are_counted() {
        let write = [RegRange { first: 4, len: 2 }];
        let producer =
            Effects::new(&Facts { valu: true, writes: &write, ..Facts::default() }, &target("gfx900"));
        let consumer =
            Effects::new(&Facts { vmem: true, reads: &write, ..Facts::default() }, &target("gfx900"));
        let other = Effects::default();
        for nops in 0..8 {
            let mut clock = Clock::default();
            clock.issue(&producer, 1).unwrap();
            if nops > 0 {
                clock.issue(&other, nops).unwrap();
            }
            assert_eq!(clock.issue(&consumer, 1).is_ok(), nops >= 5, "{nops}");
        }
        let gfx6 = Effects::new(&Facts { vmem: true, reads: &write, ..Facts::default() }, &target("gfx600"));
        assert!(gfx6.checks.iter().all(|c| c.2 != RuleId::ValuSgprVmem));
    }

    /// Not a rule of the simulator: whether a block is left by a branch is known when it runs, and three are of instructions that nothing here selects.
    fn is_left_out(hazard: &Hazard) -> bool {
        let consumers = HazardClass::PERMLANE | HazardClass::BUFFER_OFFSET | HazardClass::DENORM_MODE;
        hazard.produced == HazardRegs::AcrossBranch || hazard.consumer.intersects(consumers)
    }

    /// The hazard stays until an instruction ends it, whatever the distance.
    #[test]
    fn late_reads() {
        let registers = [RegRange { first: 4, len: 2 }];
        let on = |facts: Facts<'_>| Effects::new(&facts, &target("gfx1010"));
        let load = on(Facts { smem: true, reads: &registers, ..Facts::default() });
        let write = on(Facts { valu: true, writes: &registers, ..Facts::default() });
        let salu = on(Facts { salu: true, writes: &[RegRange { first: 9, len: 1 }], ..Facts::default() });
        let wait = Generation::Gfx10.waits().max().with(Counter::Lgkm, 0);
        let wait = on(Facts { waits: Some(wait), ..Facts::default() });
        for (between, ends) in [(&Effects::default(), false), (&salu, true), (&wait, true)] {
            let mut clock = Clock::default();
            clock.issue(&load, 1).unwrap();
            clock.issue(between, 1000).unwrap();
            assert_eq!(clock.issue(&write, 1).is_ok(), ends);
        }
        let vmem = on(Facts { vmem: true, lanes: true, reads: &registers, ..Facts::default() });
        let exec = [RegRange { first: PReg::EXEC_LO.0, len: 2 }];
        let set_exec = on(Facts { salu: true, writes: &exec, ..Facts::default() });
        let compare = on(Facts { valu: true, writes: &exec, ..Facts::default() });
        let mut clock = Clock::default();
        clock.issue(&vmem, 1).unwrap();
        assert!(clock.issue(&set_exec, 1).is_err() && clock.issue(&compare, 1).is_err());
        for depctr in [0xffe3, 0xfffe] {
            clock.issue(&on(Facts { depctr: Some(depctr), ..Facts::default() }), 1).unwrap();
        }
        assert!(clock.issue(&set_exec, 1).is_ok());
        let gfx9 = Facts { smem: true, reads: &registers, ..Facts::default() };
        for later in ["gfx900", "gfx1030"] {
            assert!(Effects::new(&gfx9, &target(later)).sets.is_empty(), "{later}");
        }
    }

    /// The compiler's table was written apart from this one: both must name the same hazards with the same wait states.
    #[test]
    fn the_compilers_table_agrees() {
        let ours = RULES.iter().map(|r| PROCESSORS.map(|name| r.needed.on(&target(name))));
        let theirs = HAZARDS.iter().filter(|h| !is_left_out(h)).map(|h| {
            PROCESSORS.map(target).map(|target| match h.mitigation(target.generation()) {
                _ if !h.is_of(&target) => 0,
                Some(_) => UNTIL_ENDED,
                None => h.wait_states(target.generation()),
            })
        });
        let (mut ours, mut theirs): (Vec<_>, Vec<_>) = (ours.collect(), theirs.collect());
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs);
    }

    /// Wait states of LLVM's hazard recogniser by generation, for those that both know.
    #[test]
    fn llvm_agrees() {
        let expect = [
            (RuleId::ValuSgprVmem, [0, 0, 5, 5]),
            (RuleId::ValuSgprLaneSelect, [4, 4, 4, 4]),
            (RuleId::ValuVccDivFmas, [4, 4, 4, 4]),
            (RuleId::ValuExecDpp, [0, 0, 5, 5]),
            (RuleId::ValuVgprDpp, [0, 0, 2, 2]),
            (RuleId::SetregSetreg, [1, 1, 2, 2]),
            (RuleId::SetregGetreg, [1, 1, 2, 2]),
            (RuleId::SgprSmrd, [4, 0, 0, 0]),
            (RuleId::TrapstsRfe, [1, 1, 1, 1]),
            (RuleId::StoreData, [0, 1, 1, 1]),
        ];
        for (rule, states) in expect {
            let ours = PROCESSORS.map(|name| RULES[rule as usize].needed.on(&target(name)));
            assert_eq!(ours[..4], states, "{rule:?}");
        }
    }
}
