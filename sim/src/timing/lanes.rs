//! What the addresses of a wave's lanes cost: passes through the banks of LDS, passes and lines of vector memory.

use crate::wave::MAX_LANES;
use smallvec::SmallVec;

/// Bytes of a line as traces number them. Lines of caches are that or a multiple, which a test keeps.
pub const LINE: u64 = 64;
/// Banks that LDS can have.
const MAX_BANKS: usize = 32;

/// Cycles of LDS with `banks` banks for accesses of `dwords` at these byte offsets (`None`: the lane is inactive), `lanes` lanes together.
///
/// A bank gives one dword a cycle, and the same one to all lanes that want it. Accesses of several dwords go dword by dword, so that
/// those of two and four at consecutive places take as many cycles as the data are dwords wide over the banks.
pub fn lds_passes(offsets: &[Option<u32>; MAX_LANES], dwords: u32, banks: u8, lanes: u8) -> u32 {
    let banks = usize::from(banks).clamp(1, MAX_BANKS);
    let dwords = dwords.max(1);
    let mut cycles = 0;
    for part in offsets.chunks(together(dwords, lanes)) {
        let mut seen: [SmallVec<[u32; 8]>; MAX_BANKS] = Default::default();
        for at in part.iter().flatten() {
            for d in 0..dwords {
                let at = (at / 4).wrapping_add(d);
                let bank = &mut seen[at as usize % banks];
                if !bank.contains(&at) {
                    bank.push(at);
                }
            }
        }
        cycles += seen.iter().map(SmallVec::len).max().unwrap_or(0) as u32;
    }
    cycles
}

/// The cycles that are left of [`lds_passes`] without conflicts: one for each group of lanes of which any is active.
pub fn lds_least(offsets: &[Option<u32>; MAX_LANES], dwords: u32, lanes: u8) -> u32 {
    let parts = offsets.chunks(together(dwords.max(1), lanes));
    parts.filter(|part| part.iter().any(Option::is_some)).count() as u32
}

/// Lanes whose accesses come together: as many as fill the banks once, if they lie side by side.
fn together(dwords: u32, lanes: u8) -> usize {
    (usize::from(lanes.max(1)) / dwords.next_power_of_two() as usize).max(1)
}

/// Adds the lines that bytes `at` to `at + bytes` lie in to `lines`; those behind the end of the address space are left out.
pub fn add_lines(lines: &mut impl Extend<u64>, at: u64, bytes: u64) {
    let last = at.saturating_add(bytes.max(1) - 1);
    lines.extend(at / LINE..=last / LINE);
}

/// The lines of accesses of `bytes` at the lanes' addresses, each once and ascending, and the passes: of `together` lanes at a time, a line of
/// `line` bytes a cycle.
///
/// `row`: bytes from a dword of a lane to its next one where lanes are interleaved; `None` where an access is contiguous.
pub fn memory_passes(
    addresses: &[Option<(u64, Option<u64>)>; MAX_LANES],
    bytes: u32,
    (together, line): (u8, u32),
    lines: &mut Vec<u64>,
) -> u32 {
    let parts = (u64::from(line) / LINE).max(1);
    let first = lines.len();
    let mut passes = 0;
    for some in addresses.chunks(usize::from(together.max(1))) {
        let start = lines.len();
        for &(at, row) in some.iter().flatten() {
            match row {
                None => add_lines(lines, at, bytes.into()),
                Some(row) => {
                    let dwords = u64::from(bytes.div_ceil(4));
                    (0..dwords).for_each(|d| add_lines(lines, at.wrapping_add(d.wrapping_mul(row)), 4));
                }
            }
        }
        lines[start..].sort_unstable();
        unique_from(lines, start);
        let whole = |i: usize| lines[i] / parts;
        passes += (start..lines.len()).filter(|&i| i == start || whole(i) != whole(i - 1)).count();
    }
    lines[first..].sort_unstable();
    unique_from(lines, first);
    passes as u32
}

/// Drops what occurs twice in the sorted lines from `first` on.
fn unique_from(lines: &mut Vec<u64>, first: usize) {
    let mut kept = first;
    for i in first..lines.len() {
        if i == first || lines[i] != lines[kept - 1] {
            lines[kept] = lines[i];
            kept += 1;
        }
    }
    lines.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(f: fn(u32) -> u32, dwords: u32) -> u32 {
        lds_passes(&std::array::from_fn(|l| Some(f(l as u32))), dwords, 32, 32)
    }

    /// Southern Islands ISA, "LDS": 32 banks; half a wave at a time. Strides of 2^n dwords conflict 2^n-fold, odd ones never; one address
    /// is given to all.
    #[test]
    fn banks() {
        for (stride, cycles) in [(1, 2), (2, 4), (4, 8), (8, 16), (16, 32), (32, 64), (3, 2), (33, 2)] {
            let offsets = std::array::from_fn(|l| Some(4 * stride * l as u32));
            assert_eq!(lds_passes(&offsets, 1, 32, 32), cycles, "stride {stride}");
            assert_eq!(lds_least(&offsets, 1, 32), 2);
        }
        assert_eq!(passes(|_| 12, 1), 2);
        assert_eq!(passes(|l| 8 * l, 2), 4);
        assert_eq!(passes(|l| 16 * l, 4), 8);
        assert_eq!(lds_passes(&[None; MAX_LANES], 1, 32, 32), 0);
    }

    fn memory(f: fn(u64) -> u64, bytes: u32) -> (u32, usize) {
        let mut lines = Vec::new();
        let addresses = std::array::from_fn(|l| Some((f(l as u64), None)));
        let passes = memory_passes(&addresses, bytes, (16, 64), &mut lines);
        (passes, lines.len())
    }

    #[test]
    fn lines() {
        assert_eq!(memory(|l| 4 * l, 4), (4, 4));
        assert_eq!(memory(|_| 256, 4), (4, 1));
        assert_eq!(memory(|l| 16 * l, 16), (16, 16));
        assert_eq!(memory(|l| 64 * l, 4), (64, 64));
        assert_eq!(memory(|l| 64 * l + 62, 4), (68, 65));
        // At the end of the address space there is no next line.
        assert_eq!(memory(|_| u64::MAX - 1, 4), (4, 1));
        let mut lines = Vec::new();
        let scratch = std::array::from_fn(|l| Some((4 * l as u64, Some(256))));
        assert_eq!((memory_passes(&scratch, 8, (16, 64), &mut lines), lines.len()), (8, 8));
    }

    /// RDNA white paper: 32 lanes and a line of 128 bytes a cycle.
    #[test]
    fn lines_of_128_bytes() {
        let passes = |f: fn(u64) -> u64, bytes| {
            let mut lines = Vec::new();
            let addresses = std::array::from_fn(|l| (l < 32).then_some((f(l as u64), None)));
            (memory_passes(&addresses, bytes, (32, 128), &mut lines), lines.len())
        };
        assert_eq!(passes(|l| 4 * l, 4), (1, 2));
        assert_eq!(passes(|l| 64 + 4 * l, 4), (2, 2));
        assert_eq!(passes(|l| 16 * l, 16), (4, 8));
        assert_eq!(passes(|l| 128 * l, 4), (32, 32));
    }
}
