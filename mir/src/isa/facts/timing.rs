//! How long instructions take: the rate at which a unit takes them, and a class of latency. What they are in cycles is in the tables of
//! generations, [`crate::target::timing`].
//!
//! Sources: all ISA manuals (64 lanes on 16 ALUs are 4 cycles); CLRX, "GcnTimings", and AMD's OpenCL Optimization Guide, "Instruction
//! Throughput": quarter rate of transcendental operations and 32-bit multiplications, 1/2 to 1/16 of the rate for products of 64-bit
//! floats, twice that for their sums, comparisons and conversions. GFX10: the sources of its table.

use super::super::{OpFlags, Opcode, OpcodeInfo, ValueType};
use super::Unit;
use crate::target::timing::Timing;
use crate::target::{Features, Target};

/// How often a unit takes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rate {
    /// That of most instructions.
    Full,
    /// A quarter of that: 32-bit multiplications.
    Quarter,
    /// A quarter of that, or on a unit of their own: transcendental operations.
    Trans,
    /// `v_fma_f32`: full where the processor has made room for it, else a quarter.
    Fma,
    /// Sums, comparisons, conversions and the like of 64-bit floats: by the processor.
    DoubleAdd,
    /// Products of 64-bit floats: by the processor.
    Double,
    /// Approximations in 64-bit floats: as products, but never faster than other approximations.
    DoubleTrans,
}

impl Rate {
    pub(super) const fn of(opcode: Opcode, info: &OpcodeInfo) -> Self {
        let flags = info.flags;
        let mut double = false;
        let mut i = 0;
        while i < info.operands.len() {
            double |= matches!(info.operands[i].ty, ValueType::F64);
            i += 1;
        }
        if matches!(opcode, Opcode::V_FMA_F32) {
            return Self::Fma;
        }
        if flags.contains(OpFlags::TRANS) {
            return if double { Self::DoubleTrans } else { Self::Trans };
        }
        if !flags.contains(OpFlags::F64_RATE) {
            return Self::Full;
        }
        // Multiplications of integers share the flag.
        if !double {
            return Self::Quarter;
        }
        match opcode {
            Opcode::V_FMA_F64 | Opcode::V_MUL_F64 | Opcode::V_DIV_FMAS_F64 => Self::Double,
            _ => Self::DoubleAdd,
        }
    }

    /// Cycles for which an instruction of the whole wave occupies its unit.
    #[inline]
    pub fn cycles(self, target: &Target) -> u8 {
        let timing = target.timing();
        let alu = &timing.alu;
        let double = || timing.double_factor_of(target.processor);
        let cycles = match self {
            Self::Full => alu.full,
            Self::Quarter | Self::Trans => alu.quarter,
            Self::Fma if target.has(Features::FAST_FMA_F32) => alu.full,
            Self::Fma => alu.slow_fma,
            Self::DoubleAdd if alu.fast_sums => alu.full * double(),
            Self::DoubleAdd | Self::Double => 2 * alu.full * double(),
            Self::DoubleTrans => (2 * alu.full * double()).max(alu.quarter),
        };
        cycles * passes(target)
    }

    /// Cycles until the next vector instruction of another kind may be issued: [`Self::cycles`], but for units of their own.
    #[inline]
    pub fn issue_cycles(self, target: &Target) -> u8 {
        match self {
            Self::Trans if target.timing().alu.trans_apart => Self::Full.cycles(target),
            _ => self.cycles(target),
        }
    }

    /// Cycles from issue to the result, as a vector instruction reads it.
    #[inline]
    pub fn result_cycles(self, target: &Target) -> u8 {
        let results = &target.timing().alu.results;
        let cycles = match self {
            Self::Full | Self::Fma => results.full,
            Self::Quarter => results.quarter,
            Self::Trans => results.trans,
            Self::DoubleAdd | Self::Double => results.double,
            Self::DoubleTrans => results.double_trans,
        };
        // What is behind a unit's first lanes is behind its last ones, too; nothing is there before the unit is free.
        if cycles == 0 { self.cycles(target) } else { cycles.max(self.issue_cycles(target)) }
    }
}

/// How often a vector instruction goes through its unit.
#[inline]
fn passes(target: &Target) -> u8 {
    (target.wave_size() / u32::from(target.timing().alu.lanes.max(1))).clamp(1, 2) as u8
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

    /// Cycles from issue to the result that a scheduler should expect ([`Timing::expected`]).
    #[inline]
    pub const fn cycles(self, timing: &Timing) -> u16 {
        timing.expected(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles of a wave's instruction: full rate is 4. Sources: OpenCL Optimization Guide, "Instruction Throughput"; CLRX, "GcnTimings"
    /// (DPFACTOR).
    #[test]
    fn rates_of_processors() {
        let cycles = |opcode: Opcode| {
            ["tahiti", "pitcairn", "gfx701", "gfx702", "polaris10", "gfx900", "gfx906"].map(|name| {
                let processor = Target::processor_by_name(name).expect("a processor");
                opcode.facts().rate.cycles(&Target::new(processor))
            })
        };
        assert_eq!(cycles(Opcode::V_ADD_F32), [4; 7]);
        assert_eq!(cycles(Opcode::V_RCP_F32), [16; 7]);
        assert_eq!(cycles(Opcode::V_MUL_LO_U32), [16; 7]);
        assert_eq!(cycles(Opcode::V_FMA_F32), [4, 16, 4, 4, 16, 4, 4]);
        assert_eq!(cycles(Opcode::V_ADD_F64), [8, 32, 4, 16, 32, 32, 4]);
        assert_eq!(cycles(Opcode::V_FMA_F64), [16, 64, 8, 32, 64, 64, 8]);
        assert_eq!(cycles(Opcode::V_RCP_F64), [16, 64, 16, 32, 64, 64, 16]);
    }

    /// Navi: cycles of the unit, of issue and until the result, for waves of 32 and of 64 lanes. Sources: those of its table.
    #[test]
    fn rates_of_navi() {
        let cycles = |opcode: Opcode| {
            [false, true].map(|wide| {
                let processor = Target::processor_by_name("gfx1030").expect("a processor");
                let mut target = Target::new(processor);
                if wide {
                    target.features.remove(Features::WAVEFRONTSIZE32);
                }
                let rate = opcode.facts().rate;
                (rate.cycles(&target), rate.issue_cycles(&target), rate.result_cycles(&target))
            })
        };
        assert_eq!(cycles(Opcode::V_ADD_F32), [(1, 1, 5), (2, 2, 5)]);
        assert_eq!(cycles(Opcode::V_FMA_F32), [(1, 1, 5), (2, 2, 5)]);
        assert_eq!(cycles(Opcode::V_MUL_LO_U32), [(4, 4, 8), (8, 8, 8)]);
        assert_eq!(cycles(Opcode::V_RCP_F32), [(4, 1, 10), (8, 2, 10)]);
        assert_eq!(cycles(Opcode::V_ADD_F64), [(16, 16, 22), (32, 32, 32)]);
        assert_eq!(cycles(Opcode::V_FMA_F64), [(16, 16, 22), (32, 32, 32)]);
    }
}
