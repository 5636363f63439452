//! Vega; the chip is Vega 10 (64 compute units, 1.5 GHz, 484 GB/s, L2 of 4 MB in 16 channels of 64 bytes).
//!
//! What is not here is as in Volcanic Islands. AMD, "Radeon's next-generation Vega architecture", white paper: L2 of 4 MB; the
//! instruction and scalar caches are shared by three compute units. 484 / 1.5 / 64 = 5 bytes of memory a cycle and compute unit.
//!
//! Latencies are those to which gem5's model was fitted by microbenchmarks (parameters for gfx900 at 1.8 GHz): vector memory 69 cycles
//! there, 69 back and 4 in L1; L2 121 more; scalar memory as `s_memtime`, 41; LDS 63 besides its first cycle. Memory has no published
//! figure in cycles: 500 is chosen within what microbenchmarks of GCN give, 300 to 600.

use super::{Cache, DoubleFactor, Dram, Timing, gfx8};

pub(super) const TIMING: Timing = Timing {
    double_factors: &[DoubleFactor { processor: "gfx906", factor: 1 }],
    instruction_cache: Cache { shared_by: 3, ..gfx8::TIMING.instruction_cache },
    scalar_cache: Cache { shared_by: 3, ..gfx8::TIMING.scalar_cache },
    vector_cache: Cache { latency: 142, ..gfx8::TIMING.vector_cache },
    l2: Cache { bytes: 4 << 20, latency: 263, ..gfx8::TIMING.l2 },
    dram: Dram { latency: 500, line_cycles: 13 },
    scalar_shortcut: 100,
    ..gfx8::TIMING
};
