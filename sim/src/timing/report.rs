//! What the model reports.

use super::cache::Found;
use serde::Serialize;
use std::fmt::Write as _;

/// Why a wave that could go on does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Stall {
    /// It waits for vector memory.
    Vmcnt,
    /// It waits for LDS, scalar memory or messages.
    Lgkmcnt,
    /// It waits for exports or the data of stores.
    Expcnt,
    /// Its next instruction is not there yet.
    Fetch,
    /// A register is not there yet that nothing must be waited for.
    Dependency,
    /// The unit is busy.
    Unit,
    /// Another wave of the SIMD issues an instruction of the kind in this turn.
    Arbitration,
    /// A counter is at its maximum.
    Counter,
    /// It waits for other waves of its work-group.
    Barrier,
    /// `s_nop` and `s_sleep`.
    Idle,
}

impl Stall {
    /// Number of reasons.
    pub const COUNT: usize = 10;
    /// All reasons.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Vmcnt,
        Self::Lgkmcnt,
        Self::Expcnt,
        Self::Fetch,
        Self::Dependency,
        Self::Unit,
        Self::Arbitration,
        Self::Counter,
        Self::Barrier,
        Self::Idle,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vmcnt => "vmcnt",
            Self::Lgkmcnt => "lgkmcnt",
            Self::Expcnt => "expcnt",
            Self::Fetch => "fetch",
            Self::Dependency => "dependency",
            Self::Unit => "unit_busy",
            Self::Arbitration => "arbitration",
            Self::Counter => "counter_full",
            Self::Barrier => "barrier",
            Self::Idle => "idle",
        }
    }
}

/// Cycles of waves by the reason for which they were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls(pub [u64; Stall::COUNT]);

impl Serialize for Stalls {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Stall::ALL.iter().map(|&stall| (stall.name(), self.0[stall as usize])))
    }
}

impl Stalls {
    /// Cycles lost for one reason.
    pub fn of(&self, stall: Stall) -> u64 {
        self.0[stall as usize]
    }
}

/// Cycles for which the units of a compute unit were busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Busy {
    /// Vector ALUs, summed over the SIMDs.
    pub valu: u64,
    /// Scalar unit: instructions of scalar ALU and scalar memory.
    pub scalar: u64,
    /// Addresses of vector memory.
    pub vmem: u64,
    /// LDS.
    pub lds: u64,
    /// Exports and GDS.
    pub export: u64,
    /// Branches and messages.
    pub branch: u64,
    /// Instruction fetch.
    pub fetch: u64,
    /// The compute unit's share of the way from L2.
    pub l2: u64,
    /// Its share of memory.
    pub memory: u64,
}

/// What accesses of the caches found, by line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Caches {
    /// Instructions, by blocks fetched.
    pub instruction: Found,
    /// Constants.
    pub scalar: Found,
    /// Vector L1.
    pub vector: Found,
    /// L2.
    pub l2: Found,
}

/// What the accesses of an instruction took of memory's units, summed over its executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Lines of memory that were touched.
    pub lines: u64,
    /// Cycles of the vector memory's address path, or lines of scalar memory.
    pub passes: u64,
    /// Cycles of LDS.
    pub lds_passes: u64,
    /// Cycles that LDS would have taken without conflicts of banks.
    pub lds_least: u64,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instruction {
    /// Byte offset from the kernel's entry; negative in front of it.
    pub pc: i64,
    /// Text.
    pub text: String,
    /// Times issued by modelled waves.
    pub count: u64,
    /// Cycles of waves that it took: from the issue of the instruction before it, which ended its turn, to the end of its own.
    pub cycles: u64,
    /// Of these the ones lost.
    pub stalls: Stalls,
    /// What it did to memory, where it accesses any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// Modelled cycles of a dispatch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cycles {
    /// Cycles from the start of the first wave to the end of the last one on one compute unit that runs its share of the work-groups.
    /// Where not all of these are modelled, scaled by instructions.
    pub cycles: u64,
    /// Cycles that were modelled. All that follows is of these.
    pub modelled_cycles: u64,
    /// Work-groups that were modelled.
    pub modelled_groups: u64,
    /// Waves that were.
    pub modelled_waves: u64,
    /// Instructions that were.
    pub modelled_instructions: u64,
    /// Cycles of waves, from their start to their end: with [`Self::modelled_cycles`] the mean number of waves.
    pub wave_cycles: u64,
    /// Of these the ones lost.
    pub stalls: Stalls,
    /// Units.
    pub busy: Busy,
    /// Caches.
    pub caches: Caches,
    /// Cycles of SIMDs without a wave.
    pub no_wave: u64,
    /// By instruction, where that was asked for; ascending by address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_instruction: Vec<Instruction>,
}

impl Cycles {
    /// A table for people: the sums, then the instructions in the order of the code with what they lost.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let mut line = |text: std::fmt::Arguments<'_>| {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{text}");
        };
        line(format_args!(
            "{} cycles; modelled {} cycles, {} work-groups, {} waves, {} instructions",
            self.cycles,
            self.modelled_cycles,
            self.modelled_groups,
            self.modelled_waves,
            self.modelled_instructions
        ));
        let percent = |part: u64, whole: u64| 100 * part / whole.max(1);
        line(format_args!("wave cycles {:>12}", self.wave_cycles));
        for stall in Stall::ALL {
            let lost = self.stalls.of(stall);
            if lost > 0 {
                line(format_args!(
                    "  {:<13} {:>9} {:>3} %",
                    stall.name(),
                    lost,
                    percent(lost, self.wave_cycles)
                ));
            }
        }
        let b = &self.busy;
        let units = [
            ("valu", b.valu / 4),
            ("scalar", b.scalar),
            ("vmem", b.vmem),
            ("lds", b.lds),
            ("export", b.export),
            ("branch", b.branch),
            ("fetch", b.fetch),
            ("l2", b.l2),
            ("memory", b.memory),
        ];
        for (name, busy) in units.into_iter().filter(|(_, busy)| *busy > 0) {
            line(format_args!("busy {name:<10} {busy:>9} {:>3} %", percent(busy, self.modelled_cycles)));
        }
        let c = &self.caches;
        let caches =
            [("instruction", c.instruction), ("scalar", c.scalar), ("vector", c.vector), ("l2", c.l2)];
        for (name, found) in caches {
            line(format_args!("cache {name:<11} {:>9} hits {:>9} misses", found.hits, found.misses));
        }
        if !self.per_instruction.is_empty() {
            line(format_args!("{:>8} {:>9} {:>10}  {:<52} lost", "pc", "count", "cycles", "instruction"));
        }
        for i in &self.per_instruction {
            let lost: Vec<String> = Stall::ALL
                .into_iter()
                .filter(|&stall| i.stalls.of(stall) > 0)
                .map(|stall| format!("{} {}", stall.name(), i.stalls.of(stall)))
                .collect();
            line(format_args!(
                "{:>8} {:>9} {:>10}  {:<52} {}",
                format!("{}0x{:x}", if i.pc < 0 { '-' } else { '+' }, i.pc.unsigned_abs()),
                i.count,
                i.cycles,
                i.text,
                lost.join(", ")
            ));
        }
        out
    }
}
