//! Volcanic Islands; the chip is Fiji (64 compute units, 1.05 GHz, 512 GB/s, L2 of 2 MB in 16 channels of 64 bytes).
//!
//! What is not here is as in Sea Islands. 16 × 64 / 64 bytes of L2 a cycle and compute unit, 512 / 1.05 / 64 = 7.6 bytes of memory.
//! Carrizo (gfx801) has half rate, as LLVM has it; all others have 1/16 (CLRX, "GcnTimings").

use super::{Cache, DoubleFactor, Dram, Timing, gfx7};

pub(super) const TIMING: Timing = Timing {
    double_factors: &[DoubleFactor { processor: "gfx801", factor: 1 }],
    l2: Cache { bytes: 2 << 20, line_cycles: 4, shared_by: 64, ..gfx7::TIMING.l2 },
    dram: Dram { latency: 370, line_cycles: 8 },
    compute_units: 64,
    ..gfx7::TIMING
};
