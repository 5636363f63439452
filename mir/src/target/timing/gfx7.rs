//! Sea Islands; the chip is Hawaii (44 compute units, 1 GHz, 320 GB/s, L2 of 1 MB in 16 channels).
//!
//! What is not here is as in Southern Islands. 16 × 64 / 44 bytes of L2 a cycle and compute unit, 320 / 44 = 7.3 bytes of memory. The
//! factors are those of CLRX, "GcnTimings": half rate on the professional boards with Hawaii (gfx701), 1/8 on the others (gfx702), 1/16
//! on smaller chips.

use super::{Cache, DoubleFactor, Dram, Timing, gfx6};

pub(super) const TIMING: Timing = Timing {
    double_factors: &[
        DoubleFactor { processor: "gfx701", factor: 1 },
        DoubleFactor { processor: "gfx702", factor: 4 },
    ],
    l2: Cache { bytes: 1 << 20, shared_by: 44, ..gfx6::TIMING.l2 },
    dram: Dram { latency: 370, line_cycles: 9 },
    compute_units: 44,
    ..gfx6::TIMING
};
