//! What instructions count in while they are under way.
//!
//! Which counter an event is in, and in which order events finish, is the generation's ([`crate::target::WaitModel`]).
//!
//! Sources: ISA manuals, "Data dependency resolution" and S_WAITCNT; AMDGPU usage guide, "Memory Model" for the order of FLAT. That FLAT is in order
//! with vector memory where it cannot be to LDS: LLVM's wait insertion (`mayAccessLDSThroughFlat`), on processors that have no other way to memory.

use super::super::{Format, ImageParts, OpFlags, OpcodeInfo};
use super::MemoryKind;
use crate::ir::AddrSpace;
use crate::machine::{Inst, ModFlags};
use crate::target::{EventKind, Features, Target};

/// What an instruction counts as: at most two kinds, and the one that guards registers it reads late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Kinds of what it does.
    pub kinds: [Option<EventKind>; 2],
    /// Where it counts besides, without being done later for it.
    pub counted: Option<EventKind>,
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
    /// Whether something is loaded into registers.
    Flat {
        returns: bool,
    },
    /// Whether it is a store that some processors read the data of late, and what it does besides; the finest kind of what returns.
    Vmem {
        stores: bool,
        returns: bool,
        returned: EventKind,
    },
    Export,
    Message,
}

impl EventClass {
    pub const fn of(info: &OpcodeInfo) -> Self {
        let flags = info.flags;
        let is_access = flags.intersects(OpFlags::LOAD.union(OpFlags::STORE).union(OpFlags::ATOMIC));
        // A load to LDS is counted as a load.
        let returns = info.def_count() > 0 || flags.contains(OpFlags::LDS_DMA.union(OpFlags::LOAD));
        match info.format {
            Format::Smem => Self::Smem,
            Format::Ds if flags.contains(OpFlags::LGKM) => Self::Ds,
            Format::Flat => Self::Flat { returns },
            // Cache invalidations have no result, and nothing says that they count everywhere: they never make an older
            // operation look older than it is.
            Format::Global | Format::Scratch | Format::Mubuf | Format::Mtbuf | Format::Mimg if is_access => {
                let returned = if info.image.contains(ImageParts::RAY) {
                    EventKind::Ray
                } else if info.image.intersects(ImageParts::SAMPLED.union(ImageParts::MSAA)) {
                    EventKind::Sampled
                } else {
                    EventKind::Vmem
                };
                Self::Vmem { stores: flags.contains(OpFlags::EXPCNT), returns, returned }
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
        let model = target.waits();
        let one = |kind| Events { kinds: [Some(kind), None], ..Events::default() };
        match self.facts().events {
            EventClass::None => Events::default(),
            EventClass::Smem => one(EventKind::Smem),
            EventClass::Ds if self.is_gds() => {
                Events { sources: Some(EventKind::Data), ..one(EventKind::Gds) }
            }
            EventClass::Ds => one(EventKind::Lds),
            EventClass::Flat { returns } => {
                let returns = self.returns(returns);
                if !target.has(Features::GLOBAL) && self.is_to_memory() {
                    // What is not for LDS is in order with other vector memory.
                    let kind = if returns { EventKind::Vmem } else { EventKind::Store };
                    let kind = model.finest(kind, EventKind::Vmem);
                    return Events { counted: Some(EventKind::FlatLgkm), ..one(kind) };
                }
                let store = model.finest(EventKind::FlatStore, EventKind::FlatVm);
                let kind = if returns { EventKind::FlatVm } else { store };
                Events { kinds: [Some(kind), Some(EventKind::FlatLgkm)], ..Events::default() }
            }
            EventClass::Vmem { stores, returns, returned } => {
                let late = stores && target.has(Features::STORES_READ_LATE);
                let kind = if self.returns(returns) { returned } else { EventKind::Store };
                let kind = model.finest(kind, EventKind::Vmem);
                Events { sources: late.then_some(EventKind::Data), ..one(kind) }
            }
            EventClass::Export => Events { sources: Some(EventKind::Export), ..Events::default() },
            EventClass::Message => one(EventKind::Message),
        }
    }

    /// Whether the address space says that the access is neither to LDS nor to scratch.
    pub(super) fn is_to_memory(&self) -> bool {
        let space = self.mem.map(|mem| mem.access.space);
        space.is_some_and(|space| {
            matches!(space, AddrSpace::GLOBAL | AddrSpace::CONSTANT | AddrSpace::CONSTANT_32BIT)
        })
    }

    /// Whether a vector memory instruction brings something back. An image atomic writes its data operand in every case, and returns where `glc` says so.
    fn returns(&self, row_does: bool) -> bool {
        let atomic = self.op.info().flags.contains(OpFlags::ATOMIC);
        row_does
            && (!atomic
                || self.mods.flags.contains(ModFlags::GLC)
                || self.op.info().flags.contains(OpFlags::RTN))
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
