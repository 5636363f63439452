//! Modelled cycles of a kernel on one compute unit.
//!
//! A compute unit has four SIMDs that issue in turn, so that each issues one instruction of each kind every four cycles; a scalar unit, an LDS
//! unit and a path to memory that they share. The model has two parts:
//!
//! * *Throughput*: what each unit is busy with, summed over all waves. The busiest unit bounds the time from below.
//! * *Latency*: for each wave alone, issue cycles plus what it waits for at `s_waitcnt` and barriers. As many waves as fit
//!   (occupancy) overlap.
//!
//! The modelled time is the larger of both. There are no caches, no instruction fetch and no arbitration in it: it is for comparing two
//! versions of a kernel, not for predicting milliseconds.
//!
//! | number | value | source |
//! |---|---|---|
//! | vector ALU | 4 cycles a wave instruction | all ISA manuals: 64 lanes on 16 |
//! | transcendental | 16 | CLRX, GcnTimings: quarter rate |
//! | 64-bit floats | 8 on processors with fast f64, else 64 | CLRX, GcnTimings: 1/2 to 1/16 of the rate |
//! | 32-bit multiplies | 16 | CLRX, GcnTimings: V_MUL_LO_U32 and its kin |
//! | LDS | 128 bytes a cycle: 32 banks of a dword, half a wave at a time | GCN whitepaper; Vega ISA, "LDS" |
//! | vector memory | 4 cycles for the addresses, one for each 64-byte line | GCN whitepaper: 16 addresses, a line a cycle |
//! | memory bandwidth | 16 bytes a cycle and compute unit | chosen: some 500 GB/s at 1.5 GHz over 20 units |
//! | latencies | see [`LATENCY`] | chosen within what microbenchmarks of GCN give |

use serde::Serialize;

/// SIMDs of a compute unit.
pub const SIMDS: u64 = 4;
/// Banks of LDS, a dword wide.
pub const BANKS: usize = 32;
/// Bytes of a cache line.
pub const LINE: u64 = 64;
/// Bytes that a compute unit moves from and to memory in a cycle.
pub const BANDWIDTH: u64 = 16;
/// Cycles for the addresses of a vector memory instruction.
pub const ADDRESSES: u64 = 4;

/// Cycles from issue to the result.
pub struct Latency {
    /// Vector memory.
    pub vector: u64,
    /// Scalar memory.
    pub scalar: u64,
    /// LDS.
    pub lds: u64,
    /// Messages and GDS.
    pub other: u64,
}

/// The latencies of the model.
pub const LATENCY: Latency = Latency { vector: 400, scalar: 120, lds: 64, other: 200 };

/// Cycles of the LDS unit for accesses of `dwords` at these byte offsets (`None`: the lane is inactive): half a wave at a time, and each bank
/// gives one dword a cycle.
pub fn lds_cycles(offsets: &[Option<u32>; 64], dwords: u32) -> u64 {
    let mut cycles = 0;
    for half in offsets.chunks(32) {
        for d in 0..dwords.max(1) {
            let mut seen: [[u32; 4]; BANKS] = [[u32::MAX; 4]; BANKS];
            let mut counts = [0u64; BANKS];
            for at in half.iter().flatten().map(|o| (o / 4).wrapping_add(d)) {
                let bank = at as usize % BANKS;
                // The same dword is given to all lanes that want it; a few remembered ones find most repetitions.
                if seen[bank].contains(&at) {
                    continue;
                }
                seen[bank][counts[bank] as usize % 4] = at;
                counts[bank] += 1;
            }
            cycles += counts.iter().copied().max().unwrap_or(0);
        }
    }
    cycles
}

/// Cycles of the memory path for accesses of `bytes` at these addresses.
pub fn memory_cycles(addresses: impl Iterator<Item = u64>, bytes: u64) -> u64 {
    let mut lines: Vec<u64> =
        addresses.flat_map(|a| [a / LINE, a.saturating_add(bytes.max(1) - 1) / LINE]).collect();
    lines.sort_unstable();
    lines.dedup();
    ADDRESSES.max(lines.len() as u64)
}

/// What the units of the compute unit are busy with, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Busy {
    /// Vector ALUs, summed over SIMDs.
    pub valu_cycles: u64,
    /// Scalar unit.
    pub salu_cycles: u64,
    /// LDS.
    pub lds_cycles: u64,
    /// Path to memory.
    pub vmem_cycles: u64,
    /// Time of each wave alone, summed.
    pub wave_cycles: u64,
    /// Modelled cycles of the dispatch on one compute unit; 0 until the end.
    pub modelled_cycles: u64,
}

impl Busy {
    /// Adds another work-group's.
    pub fn add(&mut self, other: &Self) {
        self.valu_cycles += other.valu_cycles;
        self.salu_cycles += other.salu_cycles;
        self.lds_cycles += other.lds_cycles;
        self.vmem_cycles += other.vmem_cycles;
        self.wave_cycles += other.wave_cycles;
    }

    /// The modelled time with `occupancy` waves a SIMD, of which there are `waves`, and `bytes` from and to memory.
    pub fn finish(&mut self, occupancy: u32, waves: u64, bytes: u64) {
        let together = (u64::from(occupancy.max(1)) * SIMDS).min(waves.max(1));
        let throughput = (self.valu_cycles / SIMDS.min(waves.max(1)))
            .max(self.salu_cycles)
            .max(self.lds_cycles)
            .max(self.vmem_cycles)
            .max(bytes / BANDWIDTH);
        self.modelled_cycles = throughput.max(self.wave_cycles / together);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_at_the_end_of_the_address_space_have_a_last_line() {
        // The first goes over the end, which is no other line; the others end with their lines.
        let others = (1..=ADDRESSES).map(|i| u64::MAX - 3 - i * 2 * LINE);
        assert_eq!(memory_cycles(std::iter::once(u64::MAX - 1).chain(others), 4), ADDRESSES + 1);
    }

    #[test]
    fn banks_and_lines() {
        let offsets = |f: fn(u32) -> u32| std::array::from_fn(|l| Some(f(l as u32)));
        assert_eq!(lds_cycles(&offsets(|l| 4 * l), 1), 2);
        assert_eq!(lds_cycles(&offsets(|l| 8 * l), 1), 4);
        assert_eq!(lds_cycles(&offsets(|l| 128 * l), 1), 64);
        assert_eq!(lds_cycles(&offsets(|_| 12), 1), 2);
        assert_eq!(lds_cycles(&[None; 64], 1), 0);
        assert_eq!(memory_cycles((0..64).map(|l| 4 * l), 4), 4);
        assert_eq!(memory_cycles((0..64).map(|l| 64 * l), 4), 64);
    }

    #[test]
    fn the_busiest_unit_or_latency_bounds() {
        let mut b = Busy { valu_cycles: 4000, salu_cycles: 100, wave_cycles: 80_000, ..Busy::default() };
        b.finish(10, 40, 0);
        assert_eq!(b.modelled_cycles, 2000);
        b.finish(10, 400, 1_000_000);
        assert_eq!(b.modelled_cycles, 62_500);
    }
}
