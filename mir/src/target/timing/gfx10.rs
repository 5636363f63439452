//! Navi; the chip is Navi 10 (40 compute units in 20 pairs, 1.9 GHz, 448 GB/s, L2 of 4 MB in 16 channels of 64 bytes a cycle).
//!
//! What is not here is as in Vega. AMD, "RDNA Architecture", white paper, 2019: a pair of compute units shares 32 KB of instructions and 16 KB of
//! constants. 16 · 64 / 40 = 26 bytes of L2 and 448 / 1.9 / 40 = 6 bytes of memory a cycle and compute unit.
//!
//! Known limits. Issue is that of four SIMDs in turn, each with a vector instruction in four cycles, where there are two of 32 lanes that issue in every cycle: the
//! same number of lanes a cycle and compute unit for waves of 64, half of it for waves of 32, whose results are there earlier besides. Vector caches have
//! lines of 128 bytes; the model has 64 everywhere. The L1 of 128 KB that five pairs share is a part of the way to L2. Latencies are Vega's; AMD has
//! published none.

use super::{Cache, Dram, Timing, gfx9};

pub(super) const TIMING: Timing = Timing {
    double_factors: &[],
    instruction_cache: Cache { shared_by: 2, ..gfx9::TIMING.instruction_cache },
    scalar_cache: Cache { shared_by: 2, ..gfx9::TIMING.scalar_cache },
    l2: Cache { line_cycles: 3, shared_by: 40, ..gfx9::TIMING.l2 },
    dram: Dram { line_cycles: 11, ..gfx9::TIMING.dram },
    compute_units: 40,
    ..gfx9::TIMING
};
