//! What instructions count in while they are under way.
//!
//! Sources: ISA manuals, "Data dependency resolution" and S_WAITCNT; AMDGPU usage guide, "Memory Model" for the order of FLAT.

use super::super::{Format, OpFlags, OpcodeInfo};
use super::MemoryKind;
use crate::machine::Inst;
use crate::target::{Features, Target};

/// A counter of `s_waitcnt`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Counter {
    /// Vector memory.
    Vm,
    /// LDS, GDS, scalar memory, messages.
    Lgkm,
    /// Exports, GDS, data of stores that are read late.
    Exp,
}

impl Counter {
    /// Number of counters.
    pub const COUNT: usize = 3;
}

/// A kind of operation that is under way after its instruction; it counts in one counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum EventKind {
    /// Vector memory.
    Vmem,
    /// FLAT, as vector memory.
    FlatVm,
    /// LDS.
    Lds,
    /// GDS.
    Gds,
    /// Scalar memory.
    Smem,
    /// Messages.
    Message,
    /// FLAT, as LDS.
    FlatLgkm,
    /// Exports.
    Export,
    /// Data of GDS operations and of stores that read them late.
    Data,
}

impl EventKind {
    /// Number of kinds.
    pub const COUNT: usize = 9;
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Vmem,
        Self::FlatVm,
        Self::Lds,
        Self::Gds,
        Self::Smem,
        Self::Message,
        Self::FlatLgkm,
        Self::Export,
        Self::Data,
    ];

    /// The counter.
    pub const fn counter(self) -> Counter {
        match self {
            Self::Vmem | Self::FlatVm => Counter::Vm,
            Self::Lds | Self::Gds | Self::Smem | Self::Message | Self::FlatLgkm => Counter::Lgkm,
            Self::Export | Self::Data => Counter::Exp,
        }
    }

    /// Whether operations of the kind finish oldest first.
    pub const fn is_in_order(self) -> bool {
        matches!(self, Self::Vmem | Self::Lds | Self::Gds)
    }
}

/// What an instruction counts as: at most two kinds, and the one that guards registers it reads late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Kinds of what it does.
    pub kinds: [Option<EventKind>; 2],
    /// Until its sources have been read.
    pub sources: Option<EventKind>,
}

/// What the row alone says of [`Events`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventClass {
    None,
    Smem,
    /// LDS or GDS, as the modifier says.
    Ds,
    Flat,
    /// Whether it is a store that some processors read the data of late.
    Vmem {
        stores: bool,
    },
    Export,
    Message,
}

impl EventClass {
    pub const fn of(info: &OpcodeInfo) -> Self {
        let flags = info.flags;
        let is_access = flags.intersects(OpFlags::LOAD.union(OpFlags::STORE).union(OpFlags::ATOMIC));
        match info.format {
            Format::Smem => Self::Smem,
            Format::Ds if flags.contains(OpFlags::LGKM) => Self::Ds,
            Format::Flat => Self::Flat,
            // Cache invalidations have no result, and nothing says that they count everywhere: they never make an older
            // operation look older than it is.
            Format::Global | Format::Scratch | Format::Mubuf | Format::Mtbuf | Format::Mimg if is_access => {
                Self::Vmem { stores: flags.contains(OpFlags::EXPCNT) }
            }
            Format::Exp => Self::Export,
            Format::Sopp if flags.contains(OpFlags::LGKM) => Self::Message,
            _ => Self::None,
        }
    }
}

impl Inst {
    /// What the instruction counts as on `target`.
    #[inline]
    pub fn counter_events(&self, target: &Target) -> Events {
        let one = |kind| Events { kinds: [Some(kind), None], sources: None };
        match self.facts().events {
            EventClass::None => Events::default(),
            EventClass::Smem => one(EventKind::Smem),
            EventClass::Ds if self.is_gds() => {
                Events { sources: Some(EventKind::Data), ..one(EventKind::Gds) }
            }
            EventClass::Ds => one(EventKind::Lds),
            EventClass::Flat => {
                Events { kinds: [Some(EventKind::FlatVm), Some(EventKind::FlatLgkm)], sources: None }
            }
            EventClass::Vmem { stores } => {
                let late = stores && target.has(Features::STORES_READ_LATE);
                Events { sources: late.then_some(EventKind::Data), ..one(EventKind::Vmem) }
            }
            EventClass::Export => Events { kinds: [None; 2], sources: Some(EventKind::Export) },
            EventClass::Message => one(EventKind::Message),
        }
    }

    /// Whether the instruction may read LDS that a buffer load writes.
    #[inline]
    pub fn reads_lds(&self) -> bool {
        self.facts().memory.is_some_and(|m| {
            use super::MemoryAction as A;
            matches!(m.kind, MemoryKind::Lds | MemoryKind::Gds | MemoryKind::Flat)
                && m.action.intersects(A::LOAD.union(A::ATOMIC))
        })
    }
}
