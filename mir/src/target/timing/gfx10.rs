//! Navi; the chip is Navi 10 (40 compute units in 20 pairs, 1.9 GHz, 448 GB/s, L2 of 4 MB in 16 channels of 64 bytes a cycle).
//!
//! A row is a pair of compute units, which AMD calls a work-group processor. AMD, "RDNA Architecture", white paper, 2019: each compute unit has two
//! SIMDs of 32 lanes, each with a scalar unit of its own, which issue in every cycle; a vector instruction of a wave of 32 lanes takes one, of a wave
//! of 64 two; transcendental operations have a unit of a quarter of the lanes; 64-bit floats have 1/16 of the rate. The pair shares 32 KB of instructions and
//! 16 KB of constants, both 4-way, in lines of 64 bytes, and LDS: two halves of 64 KB with 32 banks each, the nearer of which a
//! compute unit is served by here. Each compute unit has 16 KB of vector cache (L0), 4-way, in lines of 128 bytes, a line a cycle. 16 · 64 / 20 = 51
//! bytes of L2 and 448 / 1.9 / 20 = 12 bytes of memory a cycle and pair. Work-groups of several waves: 32 (LLVM, AMDGPUBaseInfo: twice those of one compute unit).
//!
//! Latencies of arithmetic are those that LLVM (SISchedule.td, `GFX10SpeedModel`) and ACO (aco_statistics) agree on: 5 cycles, 8 for 32-bit products, 10 for
//! transcendental operations, 22 and 24 in 64-bit floats, 2 on the scalar unit. 64-bit integers, 6 there, count as others do.
//!
//! Chosen, since AMD has published nothing in cycles: L0, L2 and memory are 112, 200 and 465 cycles, Vega's less a fifth, a quarter and a
//! fourteenth; LLVM expects 320 of vector memory. LDS and constants are Vega's. Four instructions of different kinds are issued in a cycle and SIMD. Instructions come by
//! lines, two of which a wave's buffer holds, 8 cycles after they were asked for, so that a wave alone is not held up by its instructions.
//!
//! Known limits. The L1 of 128 KB that five pairs share is a part of the way to L2, whose lines of 128 bytes are two of 64. Hard clauses and the
//! prefetching of instructions take their turn and do nothing. GFX10.3's cache behind L2 is not modelled. Pairs whose work-groups keep to one compute unit (`cumode`) are taken as others.

use super::{Alu, Cache, Dram, FrontEnd, LocalShare, Results, Timing, gfx9};

pub(super) const TIMING: Timing = Timing {
    front: FrontEnd {
        simds: 4,
        turn: 1,
        simds_of_unit: 2,
        barriers: 32,
        issue: 4,
        fetch_bytes: 64,
        buffer_bytes: 128,
        branch: 8,
    },
    alu: Alu {
        lanes: 32,
        full: 1,
        quarter: 4,
        slow_fma: 1,
        trans_apart: true,
        fast_sums: false,
        vector_to_scalar: 0,
        results: Results { scalar: 2, full: 5, quarter: 8, trans: 10, double: 22, double_trans: 24 },
    },
    double_factors: &[],
    instruction_cache: Cache { latency: 8, line_cycles: 1, shared_by: 2, ..gfx9::TIMING.instruction_cache },
    scalar_cache: Cache { shared_by: 2, ..gfx9::TIMING.scalar_cache },
    vector_cache: Cache { line: 128, latency: 112, ..gfx9::TIMING.vector_cache },
    l2: Cache { line_cycles: 1, latency: 200, shared_by: 40, ..gfx9::TIMING.l2 },
    dram: Dram { latency: 465, line_cycles: 5 },
    scalar_shortcut: 80,
    vector_lanes: 32,
    lds: LocalShare { bytes: 128 << 10, ..gfx9::TIMING.lds },
    compute_units: 40,
    ..gfx9::TIMING
};
