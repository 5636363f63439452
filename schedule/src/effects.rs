//! What instructions do besides reading and writing registers, as far as order is concerned.
//!
//! Memory is divided into spaces that no pointer of another one reaches, global memory by what is known of kernels' arguments ([`AliasClass`]). Accesses
//! of a space keep their order unless both read. Inside of LDS, of scratch and of global memory, places are told apart by their address ([`Place`]). Lanes may
//! speak to each other through memory; what orders them leaves a wait or a mark, which memory does not pass.
//!
//! Sources: LLVM language reference, "Volatile Memory Accesses", "Memory Model"; AMDGPU usage guide, "Address Spaces", "Memory Model GFX6-GFX9".

use crate::places::Place;
use mir::ir::{AddrSpace, AliasClass, MemFlags};
use mir::isa::{Implicit, Memory, MemoryAction, MemoryKind, OpFlags, Opcode, Unit};
use mir::machine::{Inst, ModFlags, Operand, PReg, Reg, writes_exec};
use mir::target::Target;

/// Number of spaces: memory that all work-groups see is one for each alias class that is known.
pub(crate) const SPACES: usize = 6 + AliasClass::ARGUMENTS as usize;

/// A set of spaces, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spaces(u16);

impl Spaces {
    const NONE: Self = Self(0);
    /// Memory that all work-groups see: of [`AliasClass::REST`].
    const REST: Self = Self(1);
    pub const LDS: Self = Self(2);
    /// Scratch that pointers lead to.
    const SCRATCH: Self = Self(4);
    const GDS: Self = Self(8);
    /// Not memory: exports come in order.
    const EXPORTS: Self = Self(16);
    /// Scratch that no pointer leads to: [`AliasClass::SLOT`].
    const SLOTS: Self = Self(32);
    /// What is in scratch.
    pub const OF_SCRATCH: Self = Self::SCRATCH.or(Self::SLOTS);
    /// Of the first `noalias` argument. The others follow.
    const ARGUMENT: Self = Self(64);
    /// All memory that all work-groups see.
    pub const MEMORY: Self = Self(((1 << SPACES) - Self::ARGUMENT.0) | Self::REST.0);
    const ALL: Self = Self((1 << SPACES) - 1);
    /// What a generic pointer reaches.
    const GENERIC: Self = Self::MEMORY.or(Self::LDS).or(Self::SCRATCH);

    /// Memory that all work-groups see, of this class.
    #[inline]
    fn of_class(alias: AliasClass) -> Self {
        match alias.0 {
            0 => Self::MEMORY,
            1 => Self::REST,
            k if k < 2 + AliasClass::ARGUMENTS => Self(Self::ARGUMENT.0 << (k - 2)),
            _ => Self::MEMORY,
        }
    }

    /// The numbers of the spaces, below [`SPACES`].
    #[inline]
    pub fn each(self) -> impl Iterator<Item = usize> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            let space = (bits != 0).then(|| bits.trailing_zeros() as usize);
            bits &= bits.wrapping_sub(1);
            space
        })
    }

    /// Whether only some of the memory that all work-groups see is among them.
    #[inline]
    pub fn tells_classes(self) -> bool {
        let memory = self.0 & Self::MEMORY.0;
        memory != 0 && memory != Self::MEMORY.0
    }

    /// Whether all of `other` is among them.
    #[inline]
    pub fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// With one space for all that memory, which is among them whole or not at all.
    #[inline]
    pub fn without_classes(self) -> Self {
        Self(self.0 & !(Self::MEMORY.0 & !Self::REST.0))
    }

    /// The numbers of the spaces that memory which all work-groups see has if classes are told apart: the one that it is without, and the others.
    pub fn of_classes() -> (usize, impl Iterator<Item = usize>) {
        (Self::REST.0.trailing_zeros() as usize, Self(Self::MEMORY.0 & !Self::REST.0).each())
    }

    /// Whether one of `other` is among them.
    #[inline]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What order an instruction needs besides that of its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Effects {
    /// Nothing passes it.
    pub wall: bool,
    /// Spaces that are read.
    pub reads: Spaces,
    /// Spaces that are written.
    pub writes: Spaces,
    /// What is read was written before the program started, so that writes may come before or after as far as they came after already.
    pub unwritten: bool,
    /// A result arrives late.
    pub late: bool,
    /// Where memory is accessed, if it is one place of one kind.
    pub place: Option<Place>,
}

impl Effects {
    const WALL: Self = Self {
        wall: true,
        reads: Spaces::NONE,
        writes: Spaces::ALL,
        unwritten: false,
        late: false,
        place: None,
    };

    /// What `inst` does on `target`.
    #[inline]
    pub fn of(inst: &Inst, target: &Target) -> Self {
        let facts = inst.facts();
        let plain = matches!(facts.unit, Unit::Valu | Unit::Salu)
            && !inst.op.info().flags.intersects(OpFlags::SIDE_EFFECTS.union(OpFlags::BRANCH))
            && !facts.implicit.intersects(Implicit::EXEC_DEF.union(Implicit::MODE_DEF));
        if !plain {
            return Self::of_others(inst, target);
        }
        // By far the most frequent ones.
        let is = |operand: &Operand, wanted: PReg| {
            operand.as_reg().is_some_and(|reg| reg.reg == Reg::Physical(wanted))
        };
        let (defs, sources) = inst.operands.split_at(usize::from(facts.def_count).min(inst.operands.len()));
        // LDS may be the first source of a vector instruction.
        let wall = defs.iter().any(|def| is(def, PReg::EXEC_LO) || is(def, PReg::EXEC_HI))
            || sources.first().is_some_and(|source| is(source, PReg::LDS_DIRECT));
        if wall { Self::WALL } else { Self::default() }
    }

    /// The same of instructions that are no arithmetic.
    fn of_others(inst: &Inst, target: &Target) -> Self {
        let facts = inst.facts();
        let flags = inst.op.info().flags;
        if target.waits().waited_for(inst).is_some() || inst.op == Opcode::FENCE {
            // An obligation, or the mark of one that the hardware meets by itself: memory accesses stay on their side of it.
            return Self { writes: Spaces::ALL, ..Self::default() };
        }
        if let Some(memory) = &facts.memory {
            return Self::of_memory(inst, memory, flags);
        }
        if facts.unit == Unit::Export {
            let writes = if inst.mods.flags.contains(ModFlags::DONE) { Spaces::ALL } else { Spaces::EXPORTS };
            return Self { writes, ..Self::default() };
        }
        if matches!(inst.op, Opcode::INDEXED_READ | Opcode::INDEXED_WRITE) {
            return Self::default();
        }
        let stays = OpFlags::SIDE_EFFECTS | OpFlags::BARRIER | OpFlags::BRANCH;
        if flags.intersects(stays)
            || facts.unit == Unit::Control
            || facts.implicit.contains(Implicit::MODE_DEF)
            || writes_exec(inst)
        {
            return Self::WALL;
        }
        Self::default()
    }

    fn of_memory(inst: &Inst, memory: &Memory, flags: OpFlags) -> Self {
        if !memory.is_access() {
            // Permutations through LDS and questions about images are arithmetic; caches are cleaned in order with accesses;
            // clocks are read where they stand.
            let returns = memory.action.contains(MemoryAction::RETURNS);
            return match (returns, flags.contains(OpFlags::SIDE_EFFECTS)) {
                (true, false) if inst.facts().unit != Unit::Smem => Self { late: true, ..Self::default() },
                (false, true) if memory.kind != MemoryKind::Gds && memory.kind != MemoryKind::Lds => {
                    Self { writes: Spaces::ALL, ..Self::default() }
                }
                _ => Self::WALL,
            };
        }
        if flags.intersects(OpFlags::SIDE_EFFECTS | OpFlags::BARRIER) {
            return Self::WALL;
        }
        let late = memory.action.contains(MemoryAction::RETURNS);
        let ordered = Self { writes: Spaces::ALL, late, ..Self::default() };
        if inst.loads_to_lds() {
            return ordered;
        }
        let of_kind = match memory.kind {
            _ if inst.is_gds() => Spaces::GDS,
            MemoryKind::Lds | MemoryKind::Gds => Spaces::LDS,
            MemoryKind::Flat => Spaces::GENERIC,
            MemoryKind::Scratch => Spaces::OF_SCRATCH,
            _ => Spaces::MEMORY.or(Spaces::OF_SCRATCH),
        };
        let Some(access) = inst.mem.map(|mem| mem.access) else {
            let writes = if memory.writes() { of_kind } else { Spaces::NONE };
            return Self { reads: of_kind, writes, late, ..Self::default() };
        };
        if !access.is_simple() {
            return ordered;
        }
        let space = match access.space {
            AddrSpace::LOCAL => Spaces::LDS,
            AddrSpace::REGION => Spaces::GDS,
            AddrSpace::PRIVATE if access.alias == AliasClass::SLOT => Spaces::SLOTS,
            AddrSpace::PRIVATE => Spaces::SCRATCH,
            AddrSpace::FLAT => of_kind,
            _ => Spaces::of_class(access.alias),
        };
        let place = match space {
            Spaces::LDS => Place::in_lds(inst),
            Spaces::SCRATCH | Spaces::SLOTS => Place::in_scratch(inst),
            _ if access.space == AddrSpace::GLOBAL => Place::in_memory(inst),
            _ => None,
        };
        if memory.writes() {
            return Self { reads: space, writes: space, late, place, ..Self::default() };
        }
        let constant = matches!(access.space, AddrSpace::CONSTANT | AddrSpace::CONSTANT_32BIT);
        if constant || access.flags.contains(MemFlags::INVARIANT) {
            return Self { late, ..Self::default() };
        }
        let unwritten = access.flags.contains(MemFlags::NO_CLOBBER);
        Self { reads: space, late, unwritten, place, ..Self::default() }
    }
}
