//! How long instructions take: the rate at which a unit takes them, and a class of latency.
//!
//! Sources: all ISA manuals (64 lanes on 16 ALUs are 4 cycles); CLRX, "GCN Timings": quarter rate of transcendental operations and 32-bit
//! multiplications, 1/2 to 1/16 of the rate for 64-bit floats.

use super::super::{OpFlags, OpcodeInfo, ValueType};
use super::Unit;
use crate::target::{Features, Target};

/// How often a unit takes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rate {
    /// One in four cycles.
    Full,
    /// A quarter of that: transcendental operations and 32-bit multiplications.
    Quarter,
    /// 64-bit floats: by the processor.
    Double,
}

impl Rate {
    pub(super) const fn of(info: &OpcodeInfo) -> Self {
        let flags = info.flags;
        if flags.contains(OpFlags::TRANS) {
            return Self::Quarter;
        }
        if !flags.contains(OpFlags::F64_RATE) {
            return Self::Full;
        }
        // Multiplications share the flag.
        let mut i = 0;
        while i < info.operands.len() {
            if matches!(info.operands[i].ty, ValueType::F64) {
                return Self::Double;
            }
            i += 1;
        }
        Self::Quarter
    }

    /// Cycles for which an instruction of the whole wave occupies its unit.
    #[inline]
    pub fn cycles(self, target: &Target) -> u8 {
        match self {
            Self::Full => 4,
            Self::Quarter => 16,
            Self::Double if target.has(Features::FAST_F64) => 8,
            Self::Double => 64,
        }
    }
}

/// Where a result comes from, which says how late it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LatencyClass {
    /// An ALU: when the next instruction of the wave is issued.
    Alu,
    /// Scalar cache.
    ScalarMemory,
    /// LDS.
    Lds,
    /// Vector memory.
    VectorMemory,
    /// Messages, GDS, exports.
    Other,
}

impl LatencyClass {
    pub(super) const fn of(unit: Unit) -> Self {
        match unit {
            Unit::Salu | Unit::Valu | Unit::Interp | Unit::Pseudo => Self::Alu,
            Unit::Smem => Self::ScalarMemory,
            Unit::Ds => Self::Lds,
            Unit::Vmem => Self::VectorMemory,
            Unit::Control | Unit::Export => Self::Other,
        }
    }

    /// Modelled cycles from issue to the result. Chosen within what microbenchmarks of GCN give.
    #[inline]
    pub const fn cycles(self) -> u16 {
        match self {
            Self::Alu => 4,
            Self::Lds => 64,
            Self::ScalarMemory => 120,
            Self::Other => 200,
            Self::VectorMemory => 400,
        }
    }
}
