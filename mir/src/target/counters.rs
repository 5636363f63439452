//! The counters that `s_waitcnt` waits on, and how its immediate holds them.
//!
//! | | vmcnt | expcnt | lgkmcnt |
//! |---|---|---|---|
//! | GFX6-8 | bits 3:0 | bits 6:4 | bits 11:8 |
//! | GFX9 | bits 15:14 and 3:0 | bits 6:4 | bits 11:8 |
//! | GFX10 | bits 15:14 and 3:0 | bits 6:4 | bits 13:8 |
//!
//! Source: the ISA manuals, "S_WAITCNT". GFX6-7 have four bits of lgkmcnt: ERRATA E1.

use super::{Generation, Target};

/// Outstanding operations allowed by a wait; a counter's maximum waits for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WaitCounts {
    /// Vector memory.
    pub vm: u8,
    /// Exports, GDS, and on GFX6 stores' data.
    pub exp: u8,
    /// LDS, GDS, scalar memory and messages.
    pub lgkm: u8,
}

impl WaitCounts {
    /// What both waits together wait for.
    pub fn min(self, other: Self) -> Self {
        Self { vm: self.vm.min(other.vm), exp: self.exp.min(other.exp), lgkm: self.lgkm.min(other.lgkm) }
    }
}

/// Bit fields of the immediate of `s_waitcnt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitLayout {
    /// (first bit, width) of the low and the high part of vmcnt.
    vm: [(u8, u8); 2],
    exp: (u8, u8),
    lgkm: (u8, u8),
}

static LAYOUTS: [WaitLayout; Generation::COUNT] = {
    let gfx6 = WaitLayout { vm: [(0, 4), (14, 0)], exp: (4, 3), lgkm: (8, 4) };
    let gfx9 = WaitLayout { vm: [(0, 4), (14, 2)], exp: (4, 3), lgkm: (8, 4) };
    let gfx10 = WaitLayout { vm: [(0, 4), (14, 2)], exp: (4, 3), lgkm: (8, 6) };
    [gfx6, gfx6, gfx6, gfx9, gfx10]
};

const fn ones(width: u8) -> u16 {
    (1 << width) - 1
}

impl WaitLayout {
    /// The largest value of each counter, which waits for nothing.
    pub fn max(&self) -> WaitCounts {
        WaitCounts {
            vm: ones(self.vm[0].1 + self.vm[1].1) as u8,
            exp: ones(self.exp.1) as u8,
            lgkm: ones(self.lgkm.1) as u8,
        }
    }

    /// The immediate for `counts`; counts beyond the maximum become the maximum.
    pub fn encode(&self, counts: WaitCounts) -> u16 {
        let counts = counts.min(self.max());
        let [(low_pos, low_width), (high_pos, _)] = self.vm;
        let vm = u16::from(counts.vm);
        (vm & ones(low_width)) << low_pos
            | (vm >> low_width) << high_pos
            | u16::from(counts.exp) << self.exp.0
            | u16::from(counts.lgkm) << self.lgkm.0
    }

    /// The counters in `imm`; other bits are ignored.
    pub fn decode(&self, imm: u16) -> WaitCounts {
        let field = |(pos, width): (u8, u8)| (imm >> pos) & ones(width);
        WaitCounts {
            vm: (field(self.vm[0]) | field(self.vm[1]) << self.vm[0].1) as u8,
            exp: field(self.exp) as u8,
            lgkm: field(self.lgkm) as u8,
        }
    }
}

impl Target {
    /// Layout and maxima of the wait counters.
    pub fn waits(&self) -> &'static WaitLayout {
        &LAYOUTS[self.generation() as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_survives() {
        for layout in &LAYOUTS {
            let max = layout.max();
            for vm in 0..=max.vm {
                for exp in 0..=max.exp {
                    for lgkm in 0..=max.lgkm {
                        let counts = WaitCounts { vm, exp, lgkm };
                        assert_eq!(layout.decode(layout.encode(counts)), counts);
                    }
                }
            }
        }
    }

    /// Values of llvm-mc 22.
    #[test]
    fn known_immediates() {
        let counts = WaitCounts { vm: 0, exp: 7, lgkm: 15 };
        assert_eq!(LAYOUTS[Generation::Gfx9 as usize].encode(counts), 0x0f70);
        let counts = WaitCounts { vm: 63, exp: 7, lgkm: 0 };
        assert_eq!(LAYOUTS[Generation::Gfx9 as usize].encode(counts), 0xc07f);
        assert_eq!(LAYOUTS[Generation::Gfx8 as usize].encode(counts), 0x007f);
    }
}
