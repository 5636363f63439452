//! What a run reports: the checks by name, the report of the first violation, and the statistics.

use crate::timing::{Cycles, Model};
use serde::{Deserialize, Serialize};
use std::fmt;

bitflags::bitflags! {
    /// The strict checks. Each can be switched off by its name ([`Checks::parse`]).
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Checks: u32 {
        /// A register is read or overwritten while a memory operation that writes it is in flight.
        const IN_FLIGHT = 1 << 0;
        /// An undefined value decides an address.
        const UNDEF_ADDRESS = 1 << 1;
        /// An undefined value decides a branch, a trap or EXEC.
        const UNDEF_BRANCH = 1 << 2;
        /// A lane stores to memory a value none of whose bits is defined. (Padding and unused elements travel with what is defined.)
        const UNDEF_STORE = 1 << 3;
        /// Wait states that the programmer must provide are missing.
        const HAZARD = 1 << 4;
        /// A misaligned access.
        const MISALIGNED = 1 << 5;
        /// Waves of a group wait at different barriers, or some ended without reaching the barrier.
        const BARRIER = 1 << 6;
        /// A register above those that the descriptor allocates.
        const REGISTER_RANGE = 1 << 7;
        /// A scratch access to another wave's part.
        const SCRATCH_OWNER = 1 << 8;
        /// A buffer access outside the buffer resource's range (which hardware answers with zero).
        const BUFFER_RANGE = 1 << 9;
        /// Two waves of a group access LDS without a wait and a barrier between them, and one writes.
        const RACE = 1 << 10;
        /// A load may come from a cache that does not know of another work-group's store.
        const STALE = 1 << 11;
        /// The same as [`Self::RACE`] in memory. Not part of `all`: programs may poll a flag.
        const RACE_GLOBAL = 1 << 12;
        /// A load finds another work-group's store that nothing waited for before it was published.
        const RELEASE = 1 << 13;
        /// A clause of memory instructions that cannot be issued again. Not part of `all`: it matters where page faults are retried (XNACK).
        const XNACK = 1 << 14;
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self::all().difference(Self::BUFFER_RANGE).difference(Self::RACE_GLOBAL).difference(Self::XNACK)
    }
}

const CHECK_NAMES: &[(&str, Checks)] = &[
    ("in-flight", Checks::IN_FLIGHT),
    ("undef-address", Checks::UNDEF_ADDRESS),
    ("undef-branch", Checks::UNDEF_BRANCH),
    ("undef-store", Checks::UNDEF_STORE),
    ("hazard", Checks::HAZARD),
    ("misaligned", Checks::MISALIGNED),
    ("barrier", Checks::BARRIER),
    ("register-range", Checks::REGISTER_RANGE),
    ("scratch-owner", Checks::SCRATCH_OWNER),
    ("buffer-range", Checks::BUFFER_RANGE),
    ("race", Checks::RACE),
    ("stale", Checks::STALE),
    ("race-global", Checks::RACE_GLOBAL),
    ("release", Checks::RELEASE),
    ("xnack", Checks::XNACK),
];

impl Checks {
    /// All checks by name, and whether `all` has them.
    pub fn names() -> impl Iterator<Item = (&'static str, bool)> {
        CHECK_NAMES.iter().map(|&(name, check)| (name, Self::default().contains(check)))
    }

    /// Reads `all`, `none` or a list of names separated by commas; a name after `-` is removed. `all` leaves out
    /// `buffer-range`, `race-global` and `xnack`, which valid programs may violate; `all,xnack` adds one.
    pub fn parse(list: &str) -> std::result::Result<Self, String> {
        let mut set = Self::empty();
        for (i, item) in list.split(',').map(str::trim).filter(|s| !s.is_empty()).enumerate() {
            let (remove, name) = match item.strip_prefix('-') {
                Some(name) => (true, name),
                None => (false, item),
            };
            let bits = match name {
                "all" => Self::default(),
                "none" => Self::empty(),
                _ => match CHECK_NAMES.iter().find(|(n, _)| *n == name) {
                    Some((_, bits)) => *bits,
                    None => return Err(format!("unknown check `{name}`")),
                },
            };
            if remove {
                if i == 0 {
                    set = Self::default();
                }
                set.remove(bits);
            } else {
                set.insert(bits);
            }
        }
        Ok(set)
    }
}

/// What stopped a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// [`Checks::IN_FLIGHT`].
    InFlight,
    /// [`Checks::UNDEF_ADDRESS`].
    UndefAddress,
    /// [`Checks::UNDEF_BRANCH`].
    UndefBranch,
    /// [`Checks::UNDEF_STORE`].
    UndefStore,
    /// [`Checks::HAZARD`].
    Hazard,
    /// [`Checks::MISALIGNED`].
    Misaligned,
    /// [`Checks::BARRIER`].
    Barrier,
    /// [`Checks::REGISTER_RANGE`].
    RegisterRange,
    /// [`Checks::SCRATCH_OWNER`].
    ScratchOwner,
    /// [`Checks::BUFFER_RANGE`].
    BufferRange,
    /// [`Checks::RACE`].
    Race,
    /// [`Checks::STALE`].
    Stale,
    /// [`Checks::RACE_GLOBAL`].
    RaceGlobal,
    /// [`Checks::RELEASE`].
    Release,
    /// [`Checks::XNACK`].
    Xnack,
    /// An access to memory that is not mapped.
    OutOfBounds,
    /// A write to read-only memory.
    ReadOnly,
    /// `s_trap` or another stop that the program asked for.
    Trap,
    /// The instruction budget is used up.
    Budget,
    /// Bytes that are no instruction, or an instruction that the simulator does not execute.
    BadInstruction,
    /// The object is malformed.
    BadObject,
    /// The dispatch does not fit the kernel.
    BadDispatch,
}

impl Kind {
    /// The check that this kind belongs to; `None` for those that always stop.
    pub fn check(self) -> Option<Checks> {
        Some(match self {
            Self::InFlight => Checks::IN_FLIGHT,
            Self::UndefAddress => Checks::UNDEF_ADDRESS,
            Self::UndefBranch => Checks::UNDEF_BRANCH,
            Self::UndefStore => Checks::UNDEF_STORE,
            Self::Hazard => Checks::HAZARD,
            Self::Misaligned => Checks::MISALIGNED,
            Self::Barrier => Checks::BARRIER,
            Self::RegisterRange => Checks::REGISTER_RANGE,
            Self::ScratchOwner => Checks::SCRATCH_OWNER,
            Self::BufferRange => Checks::BUFFER_RANGE,
            Self::Race => Checks::RACE,
            Self::Stale => Checks::STALE,
            Self::RaceGlobal => Checks::RACE_GLOBAL,
            Self::Release => Checks::RELEASE,
            Self::Xnack => Checks::XNACK,
            _ => return None,
        })
    }

    /// The name in reports, the same as the check's where there is one.
    pub fn name(self) -> &'static str {
        match self {
            Self::InFlight => "in-flight",
            Self::UndefAddress => "undef-address",
            Self::UndefBranch => "undef-branch",
            Self::UndefStore => "undef-store",
            Self::Hazard => "hazard",
            Self::Misaligned => "misaligned",
            Self::Barrier => "barrier",
            Self::RegisterRange => "register-range",
            Self::ScratchOwner => "scratch-owner",
            Self::BufferRange => "buffer-range",
            Self::Race => "race",
            Self::Stale => "stale",
            Self::RaceGlobal => "race-global",
            Self::Release => "release",
            Self::Xnack => "xnack",
            Self::OutOfBounds => "out-of-bounds",
            Self::ReadOnly => "read-only",
            Self::Trap => "trap",
            Self::Budget => "budget",
            Self::BadInstruction => "bad-instruction",
            Self::BadObject => "bad-object",
            Self::BadDispatch => "bad-dispatch",
        }
    }
}

/// Why and where a run stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Report {
    /// What.
    pub kind: Kind,
    /// In words, with the offending values and registers.
    pub message: String,
    /// Kernel.
    pub kernel: String,
    /// Byte offset of the instruction from the kernel's entry.
    pub pc: Option<u64>,
    /// Text of the instruction.
    pub instruction: Option<String>,
    /// Source file and line, where the object has line tables.
    pub source: Option<String>,
    /// Work-group id.
    pub group: Option<[u32; 3]>,
    /// Wave in the work-group.
    pub wave: Option<u32>,
    /// Lane in the wave.
    pub lane: Option<u32>,
}

impl Report {
    /// A report without a place.
    pub fn new(kind: Kind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            message: message.into(),
            kernel: String::new(),
            pc: None,
            instruction: None,
            source: None,
            group: None,
            wave: None,
            lane: None,
        })
    }

    /// The same at `lane`.
    pub fn at_lane(mut self: Box<Self>, lane: usize) -> Box<Self> {
        self.lane = Some(lane as u32);
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)?;
        if !self.kernel.is_empty() {
            write!(f, "\n  kernel {}", self.kernel)?;
        }
        if let Some(pc) = self.pc {
            write!(f, " at +0x{pc:x}")?;
        }
        if let Some(text) = &self.instruction {
            write!(f, ": {text}")?;
        }
        if let Some(source) = &self.source {
            write!(f, "\n  {source}")?;
        }
        if let Some([x, y, z]) = self.group {
            write!(f, "\n  work-group ({x}, {y}, {z})")?;
        }
        if let Some(wave) = self.wave {
            write!(f, " wave {wave}")?;
        }
        if let Some(lane) = self.lane {
            write!(f, " lane {lane}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// A result whose error is where the run stopped.
pub type Result<T> = std::result::Result<T, Box<Report>>;

/// How loads and stores that hit no mapped memory behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unmapped {
    /// They stop the run.
    #[default]
    Fault,
    /// A load gives a fixed function of its address, a store is logged.
    Hash,
}

/// How images behave whose texels are a function of all that an instruction sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpaqueImages {
    /// The type of all images; 0 takes it from the resource.
    pub ty: u8,
    /// Implicit derivatives see all four lanes of a quad, also inactive ones.
    pub quads: bool,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Checks that stop the run.
    pub checks: Checks,
    /// Unmapped memory.
    pub unmapped: Unmapped,
    /// Image instructions access texels that are anywhere: for comparing two programs.
    pub opaque_images: Option<OpaqueImages>,
    /// Instructions that all waves together may execute.
    pub budget: u64,
    /// Limits the time, and tells how far the run is.
    pub watch: Option<std::sync::Arc<crate::Watch>>,
    /// Seed of everything that hardware leaves open.
    pub seed: u64,
    /// Prints each executed instruction to standard error.
    pub trace: bool,
    /// Leaves out the instruction at this offset in the image: for tests of what the checks notice.
    pub skip: Option<u64>,
    /// 1: one work-group at a time; 0: as many as the thread pool has threads. The result is the same.
    pub threads: u32,
    /// Models cycles ([`crate::timing`]). The results of the run do not depend on it.
    pub model: Option<Model>,
    /// Tells memory which lane stores, and of stores to LDS ([`crate::memory::Bus::lane`], [`crate::memory::Bus::lds_stored`]).
    pub observe: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            checks: Checks::default(),
            unmapped: Unmapped::Fault,
            opaque_images: None,
            budget: 20_000_000_000,
            watch: None,
            seed: 0,
            trace: false,
            skip: None,
            threads: 0,
            model: None,
            observe: false,
        }
    }
}

/// What a run executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Instructions executed by waves.
    pub instructions: u64,
    /// Of these by kind.
    pub salu: u64,
    /// Vector arithmetic.
    pub valu: u64,
    /// Scalar memory.
    pub smem: u64,
    /// Vector memory (buffer, flat, global, scratch).
    pub vmem: u64,
    /// LDS.
    pub lds: u64,
    /// Branches.
    pub branch: u64,
    /// `s_waitcnt`.
    pub waitcnt: u64,
    /// `s_nop`.
    pub nop: u64,
    /// Everything else (barriers, end of program, ...).
    pub other: u64,
    /// Active lanes summed over vector instructions.
    pub lane_instructions: u64,
    /// Bytes loaded from memory by lanes and scalar loads.
    pub bytes_loaded: u64,
    /// Bytes stored to memory.
    pub bytes_stored: u64,
    /// Bytes moved from and to LDS.
    pub bytes_lds: u64,
    /// Bytes moved from and to scratch, also counted above.
    pub bytes_scratch: u64,
    /// Waves started.
    pub waves: u64,
    /// Work-groups.
    pub groups: u64,
    /// Modelled cycles, where [`Config::model`] asks for them.
    #[serde(flatten)]
    pub model: Option<Box<Cycles>>,
    /// Waves a SIMD can hold with the kernel's registers and LDS.
    pub occupancy: u32,
    /// Number of stores to unmapped memory.
    pub unmapped_stores: u64,
    /// Digest of the log of stores to unmapped memory.
    pub store_log_digest: u64,
    /// How often the wait that [`Config::skip`] left out would have waited for anything.
    #[serde(skip)]
    pub missed_waits: u64,
}

impl Stats {
    /// Adds the counts of another work-group.
    pub fn add(&mut self, other: &Self) {
        let Self {
            instructions,
            salu,
            valu,
            smem,
            vmem,
            lds,
            branch,
            waitcnt,
            nop,
            other: rest,
            lane_instructions,
            bytes_loaded,
            bytes_stored,
            bytes_lds,
            bytes_scratch,
            waves,
            groups,
            model: _,
            occupancy: _,
            unmapped_stores: _,
            store_log_digest: _,
            missed_waits,
        } = other;
        self.instructions += instructions;
        self.missed_waits += missed_waits;
        self.salu += salu;
        self.valu += valu;
        self.smem += smem;
        self.vmem += vmem;
        self.lds += lds;
        self.branch += branch;
        self.waitcnt += waitcnt;
        self.nop += nop;
        self.other += rest;
        self.lane_instructions += lane_instructions;
        self.bytes_loaded += bytes_loaded;
        self.bytes_stored += bytes_stored;
        self.bytes_lds += bytes_lds;
        self.bytes_scratch += bytes_scratch;
        self.waves += waves;
        self.groups += groups;
    }
}
