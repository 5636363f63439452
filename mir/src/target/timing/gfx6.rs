//! Southern Islands; the chip is Tahiti (Radeon HD 7970: 32 compute units, 925 MHz, 264 GB/s).
//!
//! The white paper: four SIMDs of 16 lanes; up to five instructions a cycle; 32 bytes fetched a cycle; 32 KB of instruction cache and 16
//! KB of scalar cache, 4-way, lines of 64 bytes, shared by up to four compute units; 16 KB of vector L1, 4-way, a line of 64 bytes a
//! cycle; L2 of 12 channels with 64 KB and 64 bytes a cycle each, 16-way; LDS with 32 banks. From these and the chip: 12 × 64 / 32 bytes
//! of L2 a cycle and compute unit, 264 / 0.925 / 32 = 8.9 bytes of memory. 16 work-groups of several waves: Southern Islands ISA, "Work-groups".
//!
//! Latencies: 104 cycles (there 50, back 50, 4 in the cache) are gem5's defaults for a hit in L1. Those of L2 and memory are chosen:
//! Vega's distances, fewer cycles at the lower clock. LDS and scalar cache are taken over from Vega; GDS, messages, exports, barriers and
//! dispatch are chosen.

use super::{Alu, Cache, DoubleFactor, Dram, FrontEnd, LocalShare, Results, Timing};

pub(super) const TIMING: Timing = Timing {
    front: FrontEnd {
        simds: 4,
        turn: 4,
        simds_of_unit: 4,
        barriers: 16,
        issue: 5,
        fetch_bytes: 32,
        buffer_bytes: 64,
        branch: 4,
    },
    alu: Alu {
        lanes: 64,
        full: 4,
        quarter: 16,
        slow_fma: 16,
        trans_apart: false,
        fast_sums: true,
        vector_to_scalar: 16,
        results: Results::AT_ONCE,
    },
    double_factors: &[DoubleFactor { processor: "gfx600", factor: 2 }],
    double_factor: 8,
    instruction_cache: Cache {
        bytes: 32 << 10,
        line: 64,
        ways: 4,
        latency: 12,
        line_cycles: 2,
        shared_by: 4,
    },
    scalar_cache: Cache { bytes: 16 << 10, line: 64, ways: 4, latency: 41, line_cycles: 4, shared_by: 4 },
    vector_cache: Cache { bytes: 16 << 10, line: 64, ways: 4, latency: 104, line_cycles: 1, shared_by: 1 },
    l2: Cache { bytes: 768 << 10, line: 64, ways: 16, latency: 192, line_cycles: 3, shared_by: 32 },
    dram: Dram { latency: 350, line_cycles: 7 },
    scalar_shortcut: 64,
    vector_lanes: 16,
    lds: LocalShare { bytes: 64 << 10, banks: 32, lanes: 32, latency: 64 },
    gds: 200,
    message: 40,
    export: 40,
    barrier: 8,
    dispatch: 40,
    compute_units: 32,
};
