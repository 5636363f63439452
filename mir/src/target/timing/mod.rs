//! How long things take: units, caches and memory of a compute unit, by generation.
//!
//! Selection, scheduling and the simulator's cycle model read the same numbers. What an opcode says of itself, its rate and where its
//! result comes from, is in [`crate::isa::facts::timing`]; here is what these mean in cycles. All cycles are those of the engine clock,
//! as a wave sees them: from the issue of an instruction to the issue of one that uses its result, with nothing else in the way.
//!
//! What AMD has published is exact: sizes, lines, widths, rates, what is shared. Latencies and shares of bandwidth are not published;
//! they are taken from microbenchmarks, and each file says from which and what was chosen between them.
//!
//! | what | source |
//! |---|---|
//! | SIMDs, issue, fetch, caches, LDS | AMD, "Graphics Cores Next (GCN) Architecture", white paper, 2012 |
//! | rates of vector instructions | AMD APP SDK OpenCL Optimization Guide, "Instruction Throughput"; CLRX, "GcnTimings" |
//! | SGPRs from the vector ALU | CLRX, "GcnTimings": 16 cycles between a vector instruction on VCC and a scalar one |
//! | latencies of Vega | gem5's GPU model as fitted to Vega by Ramadas et al., "Closing the Gap: Improving the Accuracy of gem5's GPU Models", 2023 |
//! | units and caches of Navi | AMD, "RDNA Architecture", white paper, 2019 |
//! | latencies of Navi's ALUs | LLVM, SISchedule.td, `GFX10SpeedModel`; Mesa, ACO's statistics: the same figures |
//! | latencies before | gem5's defaults for GCN3 |

mod gfx10;
mod gfx6;
mod gfx7;
mod gfx8;
mod gfx9;

use super::{Generation, Processor, Target};
use crate::isa::LatencyClass;

/// A cache, or the part of a shared one that a compute unit sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cache {
    /// Size in bytes.
    pub bytes: u32,
    /// Bytes of a line.
    pub line: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Cycles from issue to the result of a hit.
    pub latency: u16,
    /// Cycles for which one line occupies the way from the cache to a compute unit, whose share of a shared cache that is.
    pub line_cycles: u16,
    /// Compute units that share it.
    pub shared_by: u16,
}

impl Cache {
    /// Number of sets, at least 1.
    pub const fn sets(&self) -> u32 {
        let sets = self.bytes / self.line / self.ways;
        if sets == 0 { 1 } else { sets }
    }
}

/// Memory behind the last cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dram {
    /// Cycles from issue to the result.
    pub latency: u16,
    /// Cycles for which a line of the last cache occupies a compute unit's share of the bandwidth.
    pub line_cycles: u16,
}

/// The local data share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalShare {
    /// Bytes of a compute unit; a work-group may have fewer ([`super::Limits::lds_bytes`]).
    pub bytes: u32,
    /// Banks, each a dword wide and one address a cycle.
    pub banks: u8,
    /// Lanes that are served together.
    pub lanes: u8,
    /// Cycles from issue to the result without conflicts.
    pub latency: u16,
}

/// The front end: instruction fetch and issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrontEnd {
    /// SIMDs that share LDS, instruction fetch and constants: those of a compute unit, or of a pair of them.
    pub simds: u8,
    /// Cycles from one turn of a SIMD to its next: SIMDs issue one after the other, or each in every cycle.
    pub turn: u8,
    /// SIMDs that share a way to vector memory, its nearest cache and half of the LDS's banks: those of one compute unit.
    pub simds_of_unit: u8,
    /// Work-groups of several waves that are there at a time: each has a barrier.
    pub barriers: u8,
    /// Instructions of different kinds that a SIMD issues in its turn, each of another wave.
    pub issue: u8,
    /// Bytes that a compute unit fetches in a cycle, for one wave.
    pub fetch_bytes: u8,
    /// Bytes of a wave's instruction buffer.
    pub buffer_bytes: u8,
    /// Cycles from a taken branch's issue until its target can be fetched.
    pub branch: u8,
}

/// Cycles of arithmetic: for which an instruction occupies its unit, and until its result is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alu {
    /// Lanes that a vector instruction computes with at a time; a wave of more takes as many times the cycles below.
    pub lanes: u8,
    /// Cycles of a vector instruction at full rate.
    pub full: u8,
    /// Transcendental operations and 32-bit multiplications.
    pub quarter: u8,
    /// `v_fma_f32` where [`super::Features::FAST_FMA_F32`] is not.
    pub slow_fma: u8,
    /// Transcendental operations have a unit of their own, so that other vector instructions wait for them no longer than at full rate.
    pub trans_apart: bool,
    /// Sums of 64-bit floats take half the cycles of products.
    pub fast_sums: bool,
    /// Cycles from the end of a vector instruction that writes scalar registers until a scalar one may read them.
    pub vector_to_scalar: u8,
    /// Cycles from issue to the result.
    pub results: Results,
}

/// Cycles from the issue of an instruction to that of one that reads its result, of which the hardware keeps track. 0: when the instruction
/// has left its unit, or, on the scalar one, when the wave has its next turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Results {
    /// Scalar instructions.
    pub scalar: u8,
    /// Vector instructions at full rate.
    pub full: u8,
    /// 32-bit multiplications.
    pub quarter: u8,
    /// Transcendental operations.
    pub trans: u8,
    /// 64-bit floats.
    pub double: u8,
    /// Approximations in 64-bit floats.
    pub double_trans: u8,
}

impl Results {
    /// Those that are there when the next instruction is issued.
    const AT_ONCE: Self = Self { scalar: 0, full: 0, quarter: 0, trans: 0, double: 0, double_trans: 0 };
}

/// How many times slower than a half of full rate a processor multiplies 64-bit floats: 1, 2, 4 or 8 stand for 1/2, 1/4, 1/8 and 1/16.
///
/// CLRX calls it DPFACTOR. Additions take half the cycles of multiplications.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoubleFactor {
    /// [`Processor::name`].
    pub processor: &'static str,
    /// The factor.
    pub factor: u8,
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Fetch and issue.
    pub front: FrontEnd,
    /// Arithmetic.
    pub alu: Alu,
    /// Processors whose factor for 64-bit floats is not [`Self::double_factor`].
    pub double_factors: &'static [DoubleFactor],
    /// The factor of the others.
    pub double_factor: u8,
    /// Instructions; its latency is the one from a request to the first bytes in a wave's buffer.
    pub instruction_cache: Cache,
    /// Constants.
    pub scalar_cache: Cache,
    /// Vector L1.
    pub vector_cache: Cache,
    /// L2, as vector memory sees it.
    pub l2: Cache,
    /// Memory, as vector memory sees it.
    pub dram: Dram,
    /// Cycles by which an answer from L2 or memory reaches scalar memory or instruction fetch earlier than vector memory: addresses and
    /// data of 64 lanes are not on the way.
    pub scalar_shortcut: u16,
    /// Lanes whose addresses vector memory takes in a cycle.
    pub vector_lanes: u8,
    /// LDS.
    pub lds: LocalShare,
    /// Cycles from issue to the result of GDS operations.
    pub gds: u16,
    /// Cycles until a message is taken.
    pub message: u16,
    /// Cycles until an export has left.
    pub export: u16,
    /// Cycles from the arrival of the last wave at a barrier until the waves can issue.
    pub barrier: u8,
    /// Cycles from the end of a work-group's last wave until another's first wave can issue.
    pub dispatch: u16,
    /// Compute units of the chip that the shares of bandwidth are of.
    pub compute_units: u16,
}

impl Timing {
    /// Cycles from issue to the result that a scheduler should expect: of vector memory those of a hit in L2, of scalar memory of one in
    /// its cache.
    pub const fn expected(&self, class: LatencyClass) -> u16 {
        match class {
            LatencyClass::Alu if self.alu.results.full > 0 => self.alu.results.full as u16,
            LatencyClass::Alu => self.alu.full as u16,
            LatencyClass::ScalarMemory => self.scalar_cache.latency,
            LatencyClass::Lds => self.lds.latency,
            LatencyClass::VectorMemory => self.l2.latency,
            LatencyClass::Other => self.gds,
        }
    }

    /// Cycles for the addresses of a wave of `lanes` lanes, if nothing keeps them.
    pub fn address_cycles(&self, lanes: u32) -> u32 {
        lanes.div_ceil(u32::from(self.vector_lanes.max(1)))
    }

    /// Cycles of LDS for a wave of `lanes` lanes without conflicts.
    pub fn lds_cycles(&self, lanes: u32) -> u32 {
        lanes.div_ceil(u32::from(self.lds.lanes.max(1)))
    }

    /// The factor of `processor` for 64-bit floats ([`DoubleFactor`]).
    pub fn double_factor_of(&self, processor: &Processor) -> u8 {
        let own = self.double_factors.iter().find(|row| row.processor == processor.name);
        own.map_or(self.double_factor, |row| row.factor)
    }
}

static TIMINGS: [&Timing; Generation::COUNT] =
    [&gfx6::TIMING, &gfx7::TIMING, &gfx8::TIMING, &gfx9::TIMING, &gfx10::TIMING];

impl Generation {
    /// Cycles of the generation.
    #[inline]
    pub fn timing(self) -> &'static Timing {
        TIMINGS[self as usize]
    }
}

impl Target {
    /// Cycles of the target's generation.
    #[inline]
    pub fn timing(&self) -> &'static Timing {
        self.generation().timing()
    }
}

#[cfg(test)]
mod tests {
    use super::super::PROCESSORS;
    use super::*;

    #[test]
    fn tables_are_consistent() {
        for generation in Generation::ALL {
            let t = generation.timing();
            for cache in [t.instruction_cache, t.scalar_cache, t.vector_cache, t.l2] {
                assert!(cache.line.is_power_of_two() && cache.shared_by > 0 && cache.line_cycles > 0);
                assert_eq!(cache.sets() * cache.ways * cache.line, cache.bytes);
            }
            // Farther is later and narrower.
            assert!(t.scalar_cache.latency < t.vector_cache.latency && t.vector_cache.latency < t.l2.latency);
            assert!(
                t.l2.latency < t.dram.latency && t.scalar_shortcut < t.l2.latency - t.scalar_cache.latency
            );
            assert!(t.vector_cache.line_cycles <= t.l2.line_cycles && t.l2.line_cycles <= t.dram.line_cycles);
            assert!(usize::from(t.front.buffer_bytes) >= usize::from(t.front.fetch_bytes));
            assert_eq!(t.front.simds % t.front.simds_of_unit, 0);
            assert!(t.front.turn == 1 || t.front.turn == t.front.simds);
        }
    }

    /// Factors are of processors that exist, of the right generation, and agree with what LLVM calls half rate.
    #[test]
    fn factors_of_processors() {
        use super::super::Features;
        for generation in Generation::ALL {
            for row in generation.timing().double_factors {
                let processor = Target::processor_by_name(row.processor).expect("a processor");
                let t = processor.generation.timing();
                assert!(t.double_factors.contains(row) && row.factor != t.double_factor);
            }
        }
        for processor in PROCESSORS {
            let factor = processor.generation.timing().double_factor_of(processor);
            assert!(!processor.features.contains(Features::FAST_F64) || factor <= 2, "{}", processor.name);
        }
    }
}
