//! What passes ask about a machine instruction, in one place.
//!
//! Problem: waits, hazards, allocation, linearisation, memory model and simulator want to know the same things: which unit executes an
//! instruction, what it does to memory, which registers it touches besides its operands, what it counts in. Asked of formats and mnemonics
//! at each place, the answers drift apart.
//!
//! Idea: [`OpFacts`] says it for each opcode. It is made from the rows when the compiler is built, a static table beside them. What depends
//! on modifiers, operands or the target is a function of the instruction that starts from there:
//!
//! | question | answer |
//! |---|---|
//! | unit, rate, memory, relation | [`OpFacts`] |
//! | registers, implicit ones too | [`access`]: [`Inst::for_each_access`], [`Implicit`] |
//! | operands before allocation | [`Inst::operand_access`], [`Inst::defined_early`] |
//! | counters | [`Inst::counter_events`] |
//! | cycles | [`timing`]: [`Rate::cycles`], [`LatencyClass`]; [`crate::target::timing`] |
//! | does EXEC decide? | [`Inst::reads_exec`] |
//!
//! Rows say what cannot be derived; nothing here reads a mnemonic. Cost: a load from a table; nothing allocates.
//!
//! Source: the rows; each derived fact names its own.

mod access;
mod events;
pub mod timing;

pub use access::*;
pub use events::*;
pub use timing::{LatencyClass, Rate};

use super::format::Slot;
use super::{Format, OpFlags, Opcode, OpcodeInfo, Rmw, ValueType, Width};
use crate::machine::{Inst, ModFlags, Operand, PReg, Reg};
use crate::target::Generation;

/// The unit that executes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// Scalar ALU; branches that write registers too.
    Salu,
    /// Program control: branches, waits, messages, barriers.
    Control,
    /// Scalar memory.
    Smem,
    /// Vector ALU. Transcendental operations are its own, at another [`Rate`].
    Valu,
    /// Vector ALU with attributes from LDS.
    Interp,
    /// Vector memory: buffers, images, flat, global, scratch.
    Vmem,
    /// LDS and GDS.
    Ds,
    /// Exports.
    Export,
    /// None: not an instruction of the hardware yet.
    Pseudo,
}

impl Unit {
    /// Whether instructions of the unit are one for the wave, whatever lanes are active.
    #[inline]
    pub const fn is_scalar(self) -> bool {
        matches!(self, Self::Salu | Self::Control | Self::Smem)
    }

    /// Whether instructions of the unit work lane by lane.
    #[inline]
    pub const fn is_vector(self) -> bool {
        !self.is_scalar() && !matches!(self, Self::Pseudo)
    }

    const fn of(info: &OpcodeInfo) -> Self {
        match info.format {
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => Self::Salu,
            Format::Sopp => Self::Control,
            Format::Smem => Self::Smem,
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3p | Format::Vintrp => {
                if info.interpolates() {
                    Self::Interp
                } else {
                    Self::Valu
                }
            }
            Format::Ds => Self::Ds,
            Format::Mubuf
            | Format::Mtbuf
            | Format::Mimg
            | Format::Flat
            | Format::Global
            | Format::Scratch => Self::Vmem,
            Format::Exp => Self::Export,
            Format::Pseudo => Self::Pseudo,
        }
    }
}

/// How memory is addressed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryKind {
    /// Scalar, by a 64-bit address.
    Scalar,
    /// Scalar, by a buffer resource.
    ScalarBuffer,
    /// MUBUF: by a buffer resource.
    Buffer,
    /// MTBUF: the same, with the format in the instruction.
    TypedBuffer,
    /// By an image resource.
    Image,
    /// By generic 64-bit addresses.
    Flat,
    /// By 64-bit addresses of memory.
    Global,
    /// By 32-bit addresses of scratch.
    Scratch,
    /// LDS, or GDS with the modifier `gds` ([`Inst::is_gds`]).
    Lds,
    /// GDS alone.
    Gds,
}

impl MemoryKind {
    const fn of(info: &OpcodeInfo) -> Option<Self> {
        Some(match info.format {
            Format::Smem => {
                let base = slot(info, Slot::Sbase);
                let by_resource = base != NONE
                    && matches!(info.operands[base as usize].width, Width::Dwords(RESOURCE_DWORDS));
                if by_resource { Self::ScalarBuffer } else { Self::Scalar }
            }
            Format::Mubuf => Self::Buffer,
            Format::Mtbuf => Self::TypedBuffer,
            Format::Mimg => Self::Image,
            Format::Flat => Self::Flat,
            Format::Global => Self::Global,
            Format::Scratch => Self::Scratch,
            Format::Ds if info.flags.contains(OpFlags::GDS_ONLY) => Self::Gds,
            Format::Ds => Self::Lds,
            _ => return None,
        })
    }

    /// Whether accesses go through the vector L1 cache with `glc` and `slc` of their own meaning.
    #[inline]
    pub const fn has_cache_bits(self) -> bool {
        matches!(self, Self::Buffer | Self::TypedBuffer | Self::Flat | Self::Global | Self::Scratch)
    }
}

bitflags::bitflags! {
    /// What an instruction does to memory.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct MemoryAction: u8 {
        /// Reads it.
        const LOAD = 1 << 0;
        /// Writes it.
        const STORE = 1 << 1;
        /// Reads and writes it in one step.
        const ATOMIC = 1 << 2;
        /// Data go to registers.
        const RETURNS = 1 << 3;
    }
}

/// A memory instruction, or one of the memory's units without an access (cache control, clocks, permutations through LDS).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// How it is addressed.
    pub kind: MemoryKind,
    /// What it does; empty where there is no access.
    pub action: MemoryAction,
    /// Bytes of an element: of a lane's access, with two addresses of one of them; 0 where modifiers or formats decide.
    pub element_bytes: u8,
    /// With two addresses: bytes that one of their offsets counts; else 0.
    pub stride_bytes: u16,
    /// Whether what is loaded is sign-extended.
    pub sign_extends: bool,
    /// What a read-modify-write does.
    pub rmw: Option<Rmw>,
}

impl Memory {
    const fn of(info: &OpcodeInfo) -> Option<Self> {
        let Some(kind) = MemoryKind::of(info) else { return None };
        let flags = info.flags;
        let mut action = MemoryAction::empty();
        if flags.contains(OpFlags::LOAD) {
            action = action.union(MemoryAction::LOAD);
        }
        if flags.contains(OpFlags::STORE) {
            action = action.union(MemoryAction::STORE);
        }
        if flags.contains(OpFlags::ATOMIC) {
            action = action.union(MemoryAction::ATOMIC);
        }
        if info.def_count() > 0 {
            action = action.union(MemoryAction::RETURNS);
        }
        let two = flags.contains(OpFlags::DS_TWO);
        let element_bytes = if two { info.memory_bytes / 2 } else { info.memory_bytes };
        let stride_bytes = match (two, flags.contains(OpFlags::ST64)) {
            (false, _) => 0,
            (true, false) => element_bytes as u16,
            (true, true) => element_bytes as u16 * 64,
        };
        let sign_extends = flags.contains(OpFlags::SIGN_EXTENDS);
        Some(Self { kind, action, element_bytes, stride_bytes, sign_extends, rmw: info.rmw })
    }

    /// Whether there is an access at all.
    #[inline]
    pub const fn is_access(&self) -> bool {
        self.action.intersects(MemoryAction::LOAD.union(MemoryAction::STORE).union(MemoryAction::ATOMIC))
    }

    /// Whether memory is written.
    #[inline]
    pub const fn writes(&self) -> bool {
        self.action.intersects(MemoryAction::STORE.union(MemoryAction::ATOMIC))
    }
}

bitflags::bitflags! {
    /// When a comparison holds: where the first operand is ... than the second.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct Relation: u8 {
        /// Less.
        const LESS = 1;
        /// Equal.
        const EQUAL = 2;
        /// Greater.
        const GREATER = 4;
        /// Neither of these: one is a NaN.
        const UNORDERED = 8;
    }
}

/// What a vector comparison asks. The type of the operands is the row's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    /// A relation of two numbers.
    Relation(Relation),
    /// Whether a number is in one of the classes of a mask.
    Class,
}

impl Comparison {
    /// The relation is in the opcode number: four bits for floats, three for integers, of which all mean "always". On GFX10 halves have the fourth bit
    /// two places higher.
    ///
    /// Source: ISA manuals, "VOPC instructions".
    const fn of(info: &OpcodeInfo) -> Option<Self> {
        if !matches!(info.format, Format::Vopc) {
            return None;
        }
        if info.flags.contains(OpFlags::CLASS) {
            return Some(Self::Class);
        }
        let (mut code, mut i) = (0, 0);
        while i < info.codes.len() {
            if info.codes[i] >= 0 {
                code = info.codes[i] as u8;
                break;
            }
            i += 1;
        }
        let split = i == Generation::Gfx10 as usize && matches!(info.operands[1].ty, ValueType::F16);
        Some(Self::Relation(Relation::from_bits_truncate(match (is_float(info.operands[1].ty), code & 7) {
            (true, low) if split => low | code >> 2 & 8,
            (true, _) => code & 15,
            (false, 7) => 15,
            (false, relation) => relation,
        })))
    }
}

impl Opcode {
    /// Whether it is an instruction of the vector ALU that does nothing for lanes that are not active, and nothing else: where it writes VGPRs alone,
    /// nothing happens without lanes.
    pub fn works_by_lane(self) -> bool {
        let facts = self.facts();
        let flags = OpFlags::SIDE_EFFECTS | OpFlags::BRANCH | OpFlags::BARRIER;
        facts.unit == Unit::Valu
            && facts.implicit.contains(Implicit::EXEC_USE)
            && !facts.implicit.intersects(Implicit::DEFS)
            && !self.info().flags.intersects(flags)
            && self != Self::V_READFIRSTLANE_B32
    }
}

/// No such operand.
const NONE: u8 = u8::MAX;
/// Dwords of a buffer resource.
const RESOURCE_DWORDS: u8 = 4;

/// What is known of an opcode.
#[derive(Clone, Copy, Debug)]
pub struct OpFacts {
    /// Executing unit.
    pub unit: Unit,
    /// Issue rate.
    pub rate: Rate,
    /// Where the result comes from, how late.
    pub latency: LatencyClass,
    /// Registers touched besides the operands.
    pub implicit: Implicit,
    /// Memory instruction.
    pub memory: Option<Memory>,
    /// Vector comparison.
    pub comparison: Option<Comparison>,
    /// Number of operands that are written; they come first.
    pub def_count: u8,
    /// What it counts in.
    events: EventClass,
    /// Index of the stored data.
    data: u8,
    /// Index of the buffer offset.
    soffset: u8,
    /// Index of the scalar address.
    saddr: u8,
}

impl OpFacts {
    const fn of(opcode: Opcode, info: &OpcodeInfo) -> Self {
        let unit = Unit::of(info);
        Self {
            unit,
            rate: Rate::of(opcode, info),
            latency: LatencyClass::of(unit),
            implicit: Implicit::of(info, unit),
            memory: Memory::of(info),
            comparison: Comparison::of(info),
            def_count: info.def_count() as u8,
            events: EventClass::of(info),
            data: slot(info, Slot::Data0),
            soffset: slot(info, Slot::Soffset),
            saddr: slot(info, Slot::Saddr),
        }
    }

    /// Index of the operand with the data of a vector memory or LDS instruction: stored, exchanged, or of a buffer load.
    #[inline]
    pub fn data(&self) -> Option<usize> {
        (self.data != NONE).then_some(usize::from(self.data))
    }

    /// Index of the scalar offset of a buffer instruction.
    #[inline]
    pub fn soffset(&self) -> Option<usize> {
        (self.soffset != NONE).then_some(usize::from(self.soffset))
    }

    /// Index of the scalar address of a global or scratch instruction.
    #[inline]
    pub fn saddr(&self) -> Option<usize> {
        (self.saddr != NONE).then_some(usize::from(self.saddr))
    }

    /// Whether it accesses memory through a scalar load of a buffer resource.
    #[inline]
    pub fn is_scalar_buffer(&self) -> bool {
        self.memory.is_some_and(|m| m.kind == MemoryKind::ScalarBuffer)
    }

    /// Whether it writes memory.
    #[inline]
    pub fn writes_memory(&self) -> bool {
        self.memory.is_some_and(|m| m.writes())
    }
}

static FACTS: [OpFacts; Opcode::ALL.len()] = {
    let mut table = [OpFacts::of(Opcode::ALL[0], &super::rows::ROWS[0]); Opcode::ALL.len()];
    let mut i = 1;
    while i < table.len() {
        table[i] = OpFacts::of(Opcode::ALL[i], &super::rows::ROWS[i]);
        i += 1;
    }
    table
};

impl Opcode {
    /// What is known of the opcode.
    #[inline]
    pub fn facts(self) -> &'static OpFacts {
        &FACTS[self as usize]
    }
}

impl Inst {
    /// What is known of the opcode.
    #[inline]
    pub fn facts(&self) -> &'static OpFacts {
        self.op.facts()
    }

    /// Whether EXEC decides what the instruction does: as the mask of its lanes, or as data. Of a pseudo instruction that is copies between
    /// registers, these decide.
    #[inline]
    pub fn reads_exec(&self) -> bool {
        self.facts().implicit.contains(Implicit::EXEC_USE)
            || self.regs().any(|(_, reg)| reg.reg == Reg::Physical(PReg::EXEC_LO))
    }

    /// Whether a DS instruction is one of GDS.
    #[inline]
    pub fn is_gds(&self) -> bool {
        match self.facts().memory {
            Some(Memory { kind: MemoryKind::Gds, .. }) => true,
            Some(Memory { kind: MemoryKind::Lds, .. }) => self.mods.flags.contains(ModFlags::GDS),
            _ => false,
        }
    }

    /// Whether the instruction is checked against an LDS limit in M0, where the target has one: DS, and FLAT that may be to LDS.
    #[inline]
    pub fn needs_lds_limit(&self) -> bool {
        self.op.info().flags.contains(OpFlags::M0_LDS)
            && !self.mods.flags.contains(ModFlags::GDS)
            && !self.is_to_memory()
    }

    /// Whether other instructions will stand in its place, of which nothing is known yet: a pseudo instruction but for copies and marks.
    #[inline]
    pub fn is_expanded_later(&self) -> bool {
        self.facts().unit == Unit::Pseudo && !self.op.is_copy() && !self.op.is_mark()
    }

    /// Whether control goes elsewhere, so that other code follows.
    #[inline]
    pub fn leaves(&self) -> bool {
        self.op.info().flags.contains(OpFlags::BRANCH) && self.op != Opcode::S_ENDPGM
    }

    /// Whether vector memory writes LDS.
    #[inline]
    pub fn loads_to_lds(&self) -> bool {
        self.op.info().flags.contains(OpFlags::LDS_DMA) || self.mods.flags.contains(ModFlags::LDS)
    }

    /// The data operand of a memory instruction ([`OpFacts::data`]).
    #[inline]
    pub fn data_operand(&self) -> Option<&Operand> {
        self.operands.get(self.facts().data()?)
    }

    /// Whether M0 is read by a modifier or by the row: GDS, loads to LDS, messages, interpolation, indexed moves.
    #[inline]
    pub fn reads_m0(&self) -> bool {
        self.facts().implicit.contains(Implicit::M0_USE)
            || self.mods.flags.intersects(ModFlags::GDS.union(ModFlags::LDS))
    }
}

/// Index of the operand in `wanted`, or [`NONE`].
const fn slot(info: &OpcodeInfo, wanted: Slot) -> u8 {
    let mut i = 0;
    while i < info.operands.len() {
        if info.operands[i].slot as u8 == wanted as u8 {
            return i as u8;
        }
        i += 1;
    }
    NONE
}

pub(super) const fn is_float(ty: ValueType) -> bool {
    matches!(ty, ValueType::F16 | ValueType::V2F16 | ValueType::F32 | ValueType::F64)
}

#[cfg(test)]
mod tests;
