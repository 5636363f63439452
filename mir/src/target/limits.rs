//! Sizes that differ between generations: register files, fields of immediate offsets, layouts of what the hardware reads.
//!
//! A row is a generation, from GFX10 on with the portions of VGPRs that its processors and wave sizes have; passes read `target.limits()` and
//! never ask which row it is.
//!
//! Sources: ISA manuals of Southern Islands, Sea Islands, GCN3 and Vega, "SGPR allocation", "Occupancy", "Microcode Formats" and "Buffer
//! resource descriptor"; AMDGPU usage guide, "Kernel Descriptor".

use super::{Features, Generation, Target, WaveSize};

/// Values of an immediate offset, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OffsetRange {
    /// The least, in bytes.
    pub min: i32,
    /// The largest, in bytes.
    pub max: i32,
}

impl OffsetRange {
    /// There is no field: the offset is 0.
    const NONE: Self = Self { min: 0, max: 0 };

    /// Of a field of `bits` without sign that counts bytes.
    const fn unsigned(bits: u32) -> Self {
        Self { min: 0, max: (1 << bits) - 1 }
    }

    /// Of a field of `bits` in two's complement.
    const fn signed(bits: u32) -> Self {
        Self { min: -(1 << (bits - 1)), max: (1 << (bits - 1)) - 1 }
    }

    /// Whether an access at `offset` bytes, and one `span` bytes behind it, can be encoded.
    #[inline]
    pub fn contains(self, offset: i64, span: i64) -> bool {
        i64::from(self.min) <= offset && offset <= i64::from(self.max) - span
    }

    /// `offset` as a part in the range and the rest, which is the same for neighbours: a multiple of the range's size.
    #[inline]
    pub fn split(self, offset: i64) -> (i64, i64) {
        let [min, size] = [i64::from(self.min), i64::from(self.max) - i64::from(self.min) + 1];
        let rest = (offset.wrapping_sub(min)).div_euclid(size).wrapping_mul(size);
        (offset.wrapping_sub(rest), rest)
    }
}

/// Immediate offsets of memory instructions, by format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OffsetRanges {
    /// Scalar memory. Sums are of whole dwords: the two lowest bits are dropped.
    pub smem: OffsetRange,
    /// MUBUF and MTBUF.
    pub buffer: OffsetRange,
    /// DS with one address.
    pub ds: OffsetRange,
    /// `flat_*`.
    pub flat: OffsetRange,
    /// `global_*` and `scratch_*`, where there are such.
    pub global: OffsetRange,
}

/// Halves of FLAT_SCRATCH where they are hardware registers, as operands of `s_getreg_b32` and `s_setreg_b32`: number 20 and 21, and all 32
/// bits (the width less one in bits 15:11). Source: RDNA ISA, "Hardware register values".
pub const FLAT_SCRATCH_HALVES: [i64; 2] = [20 | 31 << 11, 21 | 31 << 11];

/// What FLAT_SCRATCH holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlatScratch {
    /// There is none.
    None,
    /// LO: bytes of a lane, HI: offset from a hidden base in units of 256 bytes.
    SizeAndOffset,
    /// A 64-bit address.
    Address,
    /// A 64-bit address that is no SGPR: `s_setreg_b32` writes its halves.
    HardwareAddress,
}

impl FlatScratch {
    /// Whether it is an address, in whatever kind of register.
    pub fn is_address(self) -> bool {
        matches!(self, Self::Address | Self::HardwareAddress)
    }
}

/// SGPRs at the end of a wave's allocation that have roles of their own; a deeper one implies those above it. 0 where there is none, or it
/// has a place apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpecialSgprs {
    /// SGPRs taken where VCC is used.
    pub vcc: u32,
    /// Where page faults are retried (XNACK_MASK).
    pub xnack_mask: u32,
    /// Where FLAT_SCRATCH is used.
    pub flat_scratch: u32,
    /// How many of them count within [`Limits::addressable_sgprs`].
    pub within_limit: u32,
}

/// Of which linear buffers with a stride `NUM_RECORDS` is in units of the stride; of others, and of all without a stride, it is in bytes. Swizzled
/// buffers with a stride always count records.
///
/// Source: Mesa, `si_make_buffer_descriptor` (ERRATA E9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Records {
    /// Of all.
    Strided,
    /// Of none.
    Swizzled,
    /// Where the instruction has an index (`idxen`).
    Indexed,
    /// As the resource says (`OOB_SELECT`).
    Selected,
}

/// How a buffer resource is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferRules {
    /// Bits 20:19 of dword 3 are the size of a swizzled element, 2 << n bytes; without them it is a dword.
    pub element_size: bool,
    /// With `ADD_TID_ENABLE` the data format's bits (18:15 of dword 3) are the stride's bits 17:14.
    pub wide_stride: bool,
    /// The range check of raw buffers counts `soffset`.
    pub checks_soffset: bool,
    /// Of which buffers that have a stride and are not swizzled the records are counted, not their bytes.
    pub records: Records,
    /// Dword 3 of a resource for scratch: swizzled by lane, 64 lanes apart, without the size of elements.
    pub scratch_dword3: u32,
}

/// How an image resource is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageRules {
    /// Number of the linear layout in the tiling field.
    pub linear: u8,
    /// Bits of the pitch; 0 where it follows from the width: rows start at multiples of [`Self::ROW_BYTES`].
    pub pitch_bits: u8,
    /// Instructions name the dimension; elsewhere they say whether the resource is an array.
    pub names_dimension: bool,
    /// Address registers of an instruction that need not follow each other; more of them do, in one tuple. 0 where they always do.
    pub address_registers: u8,
}

impl BufferRules {
    /// Whether the records of a linear buffer are counted in units of its `stride`, where `indexed` says whether the instruction has an index.
    pub fn counts_records(&self, stride: u64, indexed: bool) -> bool {
        stride != 0
            && match self.records {
                Records::Strided => true,
                Records::Swizzled | Records::Selected => false,
                Records::Indexed => indexed,
            }
    }
}

impl ImageRules {
    /// Rows of a linear image start at multiples of so many bytes where its resource has no pitch. Source: Mesa, addrlib (`Gfx10Lib`, linear surfaces).
    pub const ROW_BYTES: u32 = 256;
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Lanes that a wave can have; features choose ([`Target::wave`]).
    pub wave_sizes: &'static [WaveSize],
    /// Waves that a SIMD can hold.
    pub max_waves_per_simd: u32,
    /// SGPRs that a wave can address, specials apart.
    pub addressable_sgprs: u32,
    /// SGPRs of a SIMD.
    pub total_sgprs: u32,
    /// SGPRs are given out in multiples of this.
    pub sgpr_granule: u32,
    /// The count in a descriptor, in units of [`SGPR_BLOCK`], is rounded to this.
    pub sgpr_block_granule: u32,
    /// Specials at the end of the allocation.
    pub special_sgprs: SpecialSgprs,
    /// VGPRs that a wave can address.
    pub addressable_vgprs: u32,
    /// VGPRs of a lane on a SIMD.
    pub total_vgprs: u32,
    /// VGPRs are given out in multiples of this.
    pub vgpr_granule: u32,
    /// VGPRs that one in the field of a descriptor stands for.
    pub vgpr_block: u32,
    /// LDS bytes of a work-group.
    pub lds_bytes: u32,
    /// LDS is given out in multiples of so many bytes.
    pub lds_granule: u32,
    /// Scalar values (SGPRs, literals) that a vector instruction can read.
    pub constant_bus: usize,
    /// Lanes among which `ds_permute_b32` and `ds_bpermute_b32` exchange: a part of the wave where it has more; 0 where they do not exist.
    pub exchanged_lanes: u32,
    /// Immediate offsets.
    pub offsets: OffsetRanges,
    /// What FLAT_SCRATCH holds.
    pub flat_scratch: FlatScratch,
    /// How a buffer resource is read.
    pub buffers: BufferRules,
    /// How an image resource is read.
    pub images: ImageRules,
}

/// SGPRs that one in the field of a descriptor stands for.
pub const SGPR_BLOCK: u32 = 8;

impl Limits {
    /// Most VGPRs of a wave with which `waves` of them fit on a SIMD.
    ///
    /// Source: AMDGPU usage guide and the ISA manuals: registers of a lane on a SIMD, shared by the waves in whole granules.
    pub fn vgpr_budget(&self, waves: u32) -> u32 {
        let granule = self.vgpr_granule;
        let share = self.total_vgprs / waves.clamp(1, self.max_waves_per_simd) / granule * granule;
        share.clamp(granule, self.addressable_vgprs)
    }

    /// The descriptor's field for a wave of `count` SGPRs, specials included: blocks, less one.
    pub fn sgpr_blocks(&self, count: u32) -> u32 {
        let granule = self.sgpr_block_granule;
        count
            .checked_div(granule)
            .map_or(0, |_| (count.div_ceil(granule).max(1) - 1) * (granule / SGPR_BLOCK))
    }

    /// SGPRs that a wave has whose descriptor says `blocks`.
    pub fn allocated_sgprs(&self, blocks: u32) -> u32 {
        let granule = self.sgpr_block_granule.max(SGPR_BLOCK);
        (blocks * SGPR_BLOCK / granule + 1) * granule
    }

    /// VGPRs that a wave has whose descriptor says `blocks`.
    pub fn allocated_vgprs(&self, blocks: u32) -> u32 {
        ((blocks + 1) * self.vgpr_block).next_multiple_of(self.vgpr_granule)
    }

    /// Waves with so many registers each that a SIMD can hold.
    pub fn waves_that_fit(&self, sgprs: u32, vgprs: u32) -> u32 {
        let fit = |total: u32, used: u32, granule: u32| total / used.max(1).next_multiple_of(granule.max(1));
        fit(self.total_vgprs, vgprs, self.vgpr_granule)
            .min(fit(self.total_sgprs, sgprs, self.sgpr_granule))
            .min(self.max_waves_per_simd)
    }
}

const GFX6: Limits = Limits {
    wave_sizes: &[WaveSize::W64],
    max_waves_per_simd: 10,
    addressable_sgprs: 104,
    total_sgprs: 512,
    sgpr_granule: 8,
    sgpr_block_granule: 8,
    special_sgprs: SpecialSgprs { vcc: 2, xnack_mask: 0, flat_scratch: 0, within_limit: 2 },
    addressable_vgprs: 256,
    total_vgprs: 256,
    vgpr_granule: 4,
    vgpr_block: 4,
    lds_bytes: 32 << 10,
    lds_granule: 256,
    constant_bus: 1,
    exchanged_lanes: 0,
    offsets: OffsetRanges {
        // 8 bits of dwords.
        smem: OffsetRange { min: 0, max: 0xff * 4 + 3 },
        buffer: OffsetRange::unsigned(12),
        ds: OffsetRange::unsigned(16),
        flat: OffsetRange::NONE,
        global: OffsetRange::NONE,
    },
    flat_scratch: FlatScratch::None,
    buffers: BufferRules {
        element_size: true,
        wide_stride: false,
        checks_soffset: false,
        records: Records::Strided,
        scratch_dword3: 0x00e0_f000,
    },
    images: ImageRules { linear: 8, pitch_bits: 14, names_dimension: false, address_registers: 0 },
};

const GFX7: Limits = Limits {
    special_sgprs: SpecialSgprs { flat_scratch: 4, within_limit: 4, ..GFX6.special_sgprs },
    lds_bytes: 64 << 10,
    lds_granule: 512,
    flat_scratch: FlatScratch::SizeAndOffset,
    ..GFX6
};

const GFX8: Limits = Limits {
    exchanged_lanes: 64,
    addressable_sgprs: 102,
    total_sgprs: 800,
    sgpr_granule: 16,
    special_sgprs: SpecialSgprs { vcc: 2, xnack_mask: 4, flat_scratch: 6, within_limit: 0 },
    offsets: OffsetRanges { smem: OffsetRange::unsigned(20), ..GFX7.offsets },
    buffers: BufferRules {
        wide_stride: true,
        records: Records::Swizzled,
        scratch_dword3: 0x00e0_0000,
        ..GFX7.buffers
    },
    ..GFX7
};

const GFX9: Limits = Limits {
    sgpr_block_granule: 16,
    // Scalar memory has 21 bits in two's complement, but no access may start in front of its base.
    offsets: OffsetRanges {
        flat: OffsetRange::unsigned(12),
        global: OffsetRange::signed(13),
        ..GFX8.offsets
    },
    flat_scratch: FlatScratch::Address,
    buffers: BufferRules {
        element_size: false,
        checks_soffset: true,
        records: Records::Indexed,
        scratch_dword3: 0x00e0_0000,
        ..GFX8.buffers
    },
    images: ImageRules { linear: 0, pitch_bits: 16, ..GFX8.images },
    ..GFX8
};

/// GFX10.1, waves of 64 lanes. Every wave has all SGPRs, 128 with the special ones, so they never limit how many fit; a lane of such a wave
/// takes two of a SIMD's 1,024 VGPRs for each of its own.
///
/// Sources: RDNA ISA, "SGPRs" and "VGPRs"; AMDGPU usage guide, `GRANULATED_WORKITEM_VGPR_COUNT`; LLVM, AMDGPUBaseInfo (portions, waves of a SIMD).
const GFX10: Limits = Limits {
    wave_sizes: &WaveSize::ALL,
    max_waves_per_simd: 20,
    addressable_sgprs: 106,
    total_sgprs: 20 * 128,
    sgpr_granule: 128,
    sgpr_block_granule: 0,
    special_sgprs: SpecialSgprs { vcc: 2, xnack_mask: 0, flat_scratch: 0, within_limit: 0 },
    total_vgprs: 512,
    constant_bus: 2,
    // Source: Mesa, "aco: Implement subgroup shuffle in GFX10 wave64 mode".
    exchanged_lanes: 32,
    offsets: OffsetRanges {
        flat: OffsetRange::unsigned(11),
        global: OffsetRange::signed(12),
        ..GFX9.offsets
    },
    flat_scratch: FlatScratch::HardwareAddress,
    buffers: BufferRules {
        records: Records::Selected,
        // The format of a 32-bit float, RESOURCE_LEVEL, and no check but of raw buffers' ranges.
        scratch_dword3: 0x31e1_6000,
        ..GFX9.buffers
    },
    // More than five can be encoded, but LLVM keeps to them in front of GFX10.3.
    images: ImageRules { pitch_bits: 0, names_dimension: true, address_registers: 5, ..GFX9.images },
    ..GFX9
};

/// `limits` with the VGPRs and scratch of waves of 32 lanes.
const fn wave32(limits: Limits) -> Limits {
    Limits {
        total_vgprs: limits.total_vgprs * 2,
        vgpr_granule: limits.vgpr_granule * 2,
        vgpr_block: limits.vgpr_block * 2,
        buffers: BufferRules {
            // The index stride is 32 lanes, not 64.
            scratch_dword3: limits.buffers.scratch_dword3 & !(1 << 21),
            ..limits.buffers
        },
        ..limits
    }
}

/// GFX10.3.
const GFX10_3: Limits = Limits {
    max_waves_per_simd: 16,
    vgpr_granule: 8,
    images: ImageRules { address_registers: 13, ..GFX10.images },
    ..GFX10
};

/// GFX10 by [`Features::COARSE_VGPRS`] and wave size.
static GFX10_LIMITS: [[Limits; 2]; 2] = [[wave32(GFX10), GFX10], [wave32(GFX10_3), GFX10_3]];

static LIMITS: [Limits; Generation::COUNT] = [GFX6, GFX7, GFX8, GFX9, GFX10];

impl Generation {
    /// Sizes of the generation, where they do not depend on processor or wave size: what can be encoded.
    #[inline]
    pub fn limits(self) -> &'static Limits {
        &LIMITS[self as usize]
    }
}

impl Target {
    /// Sizes of the target.
    #[inline]
    pub fn limits(&self) -> &'static Limits {
        self.limits_of(self.wave())
    }

    /// Sizes that waves of `wave` have, which a descriptor may ask for against the target's own.
    #[inline]
    pub fn limits_of(&self, wave: WaveSize) -> &'static Limits {
        match self.generation() {
            Generation::Gfx10 => &GFX10_LIMITS[usize::from(self.has(Features::COARSE_VGPRS))][wave as usize],
            generation => generation.limits(),
        }
    }

    /// Whether there is FLAT_SCRATCH.
    #[inline]
    pub fn has_flat_scratch(&self) -> bool {
        self.limits().flat_scratch != FlatScratch::None
    }

    /// Whether FLAT_SCRATCH is a pair of SGPRs, which counts among those of a wave.
    #[inline]
    pub fn flat_scratch_is_sgprs(&self) -> bool {
        self.limits().special_sgprs.flat_scratch > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn register_blocks_hold_what_they_are_made_for() {
        for generation in [Generation::Gfx6, Generation::Gfx7, Generation::Gfx8, Generation::Gfx9] {
            let limits = generation.limits();
            for count in 1..=limits.addressable_sgprs {
                let blocks = limits.sgpr_blocks(count);
                let allocated = limits.allocated_sgprs(blocks);
                assert!(allocated >= count && allocated - count < limits.sgpr_block_granule);
            }
        }
    }

    /// Portions of VGPRs and the resource of scratch, as llc 22 has them.
    #[test]
    fn gfx10_depends_on_processor_and_wave_size() {
        let row = |name: &str, wave| {
            let processor = Target::processor_by_name(name).expect("a processor of the table");
            let l = Target::new(processor).limits_of(wave);
            let granules = (l.vgpr_granule, l.vgpr_block, l.allocated_vgprs(0));
            (granules, l.waves_that_fit(106, 64), l.buffers.scratch_dword3)
        };
        assert_eq!(row("gfx1010", WaveSize::W32), ((8, 8, 8), 16, 0x31c1_6000));
        assert_eq!(row("gfx1010", WaveSize::W64), ((4, 4, 4), 8, 0x31e1_6000));
        assert_eq!(row("gfx1030", WaveSize::W32), ((16, 8, 16), 16, 0x31c1_6000));
        assert_eq!(row("gfx1030", WaveSize::W64), ((8, 4, 8), 8, 0x31e1_6000));
    }

    #[test]
    fn ranges_include_their_ends() {
        let global = Generation::Gfx9.limits().offsets.global;
        assert!(global.contains(-4096, 0) && global.contains(4095, 0) && global.contains(4091, 4));
        assert!(!global.contains(-4097, 0) && !global.contains(4096, 0) && !global.contains(4092, 4));
        assert!(!Generation::Gfx8.limits().offsets.flat.contains(1, 0));
    }
}
