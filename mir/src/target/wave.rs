//! How many lanes a wave has, and so how wide a mask of its lanes is.

use super::{Features, Target};

/// Lanes of a wave.
///
/// Source: RDNA ISA manual, "Wave32 and Wave64": EXEC, VCC and every other mask of lanes are one SGPR for 32 lanes, the low one of the pair where
/// the register has a place of its own; VCC_HI is an SGPR like others then, and EXEC_HI is not used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum WaveSize {
    /// 32 lanes.
    W32,
    /// 64 lanes.
    #[default]
    W64,
}

impl WaveSize {
    /// Both sizes; the discriminant is the index.
    pub const ALL: [Self; 2] = [Self::W32, Self::W64];

    /// Number of lanes.
    #[inline]
    pub const fn lanes(self) -> u32 {
        1 << self.log2()
    }

    /// Binary logarithm of the number of lanes.
    #[inline]
    pub const fn log2(self) -> u32 {
        5 + self as u32
    }

    /// SGPRs of a mask with one bit a lane.
    #[inline]
    pub const fn mask_dwords(self) -> u8 {
        1 + self as u8
    }

    /// The mask of all lanes.
    #[inline]
    pub const fn all_lanes(self) -> u64 {
        u64::MAX >> (64 - self.lanes())
    }

    /// The size with so many lanes.
    pub const fn of_lanes(lanes: u32) -> Option<Self> {
        match lanes {
            32 => Some(Self::W32),
            64 => Some(Self::W64),
            _ => None,
        }
    }
}

impl Target {
    /// Lanes of a wave.
    #[inline]
    pub fn wave(&self) -> WaveSize {
        if self.has(Features::WAVEFRONTSIZE32) { WaveSize::W32 } else { WaveSize::W64 }
    }

    /// The same as a number.
    #[inline]
    pub fn wave_size(&self) -> u32 {
        self.wave().lanes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Generation, PROCESSORS};

    #[test]
    fn masks_have_a_bit_a_lane() {
        for wave in WaveSize::ALL {
            assert_eq!(wave.all_lanes().count_ones(), wave.lanes());
            assert_eq!(u32::from(wave.mask_dwords()) * 32, wave.lanes());
            assert_eq!(1 << wave.log2(), wave.lanes());
            assert_eq!(WaveSize::of_lanes(wave.lanes()), Some(wave));
        }
        assert_eq!(WaveSize::of_lanes(16), None);
    }

    /// The feature stands for a choice that the generation leaves.
    #[test]
    fn processors_have_waves_of_their_generation() {
        for processor in PROCESSORS {
            let wave = Target::new(processor).wave();
            assert!(processor.limits().wave_sizes.contains(&wave), "{}", processor.name);
        }
        assert_eq!(Generation::Gfx9.limits().wave_sizes, [WaveSize::W64]);
        assert_eq!(Generation::Gfx10.limits().wave_sizes, WaveSize::ALL);
    }
}
