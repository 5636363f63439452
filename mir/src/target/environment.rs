//! What is compiled for besides the processor: system, vendor, language, access to scratch.

use super::{Features, Generation, PROCESSORS, Processor};
use crate::ir::AddrSpace;
use std::fmt;

/// The operating system part of the triple: decides sections, notes and entry conventions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Os {
    /// Empty or unknown.
    Unknown,
    /// HSA runtimes (ROCm).
    AmdHsa,
    /// Platform Abstraction Library.
    AmdPal,
    /// Mesa 3D.
    Mesa3d,
}

/// The vendor part of the triple, which names of other systems' targets repeat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Vendor {
    /// Empty, unknown, or one without a meaning here.
    Unknown,
    /// AMD.
    #[default]
    Amd,
    /// Mesa.
    Mesa,
    /// Mesa, as the usage guide calls it on its own system.
    Mesa3d,
}

impl Vendor {
    /// The part of the triple.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Amd => "amd",
            Self::Mesa => "mesa",
            Self::Mesa3d => "mesa3d",
        }
    }
}

/// Which happens-before relations a program relies on.
///
/// Source: AMDGPU usage guide of LLVM 8, "Memory Model".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemoryModel {
    /// One relation over all address spaces.
    #[default]
    Hsa,
    /// Separate ones for global and local memory: ordering one does not wait for the other.
    OpenCl,
}

/// How code reaches the private memory of its lanes.
///
/// Source: AMDGPU usage guide, "Private Segment Buffer" and "Flat Scratch"; feature `enable-flat-scratch` of LLVM.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ScratchAccess {
    /// `buffer_*` with a resource in SGPRs. A base in an SGPR counts bytes of all lanes.
    #[default]
    Buffer,
    /// `scratch_*` from FLAT_SCRATCH on. A base in an SGPR counts bytes of one lane.
    Scratch,
}

impl ScratchAccess {
    /// What one byte of a lane counts in the stack pointer, the frame pointer, and every other base in an SGPR.
    pub fn bytes_in_base(self, wave: super::WaveSize) -> u32 {
        match self {
            Self::Buffer => wave.lanes(),
            Self::Scratch => 1,
        }
    }

    /// The largest immediate offset of an access, a row of ones. Negative ones are not used: with a base in an SGPR GFX9 does not take
    /// them (LLVM's `negative-scratch-offset-bug`).
    pub fn max_offset(self, limits: &super::Limits) -> u32 {
        let range = match self {
            Self::Buffer => limits.offsets.buffer,
            Self::Scratch => limits.offsets.global,
        };
        range.max as u32
    }
}

/// What is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Processor.
    pub processor: &'static Processor,
    /// Abilities after `-mattr`.
    pub features: Features,
    /// Operating system.
    pub os: Os,
    /// Vendor.
    pub vendor: Vendor,
    /// Memory model of the source language.
    pub memory_model: MemoryModel,
    /// Code object version, 2 to 6.
    pub code_object_version: u8,
    /// Bytes of scratch that are a lane's before the next lane's follow (4, 8 or 16), where the resource says it: see [`Self::scratch_width`].
    pub private_element_bytes: u8,
}

impl Target {
    /// `processor` with its default features on amdhsa, code object V3.
    pub fn new(processor: &'static Processor) -> Self {
        Self {
            processor,
            features: processor.features | Features::TRAP_HANDLER,
            os: Os::AmdHsa,
            vendor: Vendor::Amd,
            memory_model: MemoryModel::Hsa,
            code_object_version: 3,
            private_element_bytes: 4,
        }
    }

    /// Finds a processor by `gfx` name or alternative name.
    pub fn processor_by_name(name: &str) -> Option<&'static Processor> {
        // Names differ at their ends.
        let same = |own: &str| own.len() == name.len() && own.bytes().rev().eq(name.bytes().rev());
        PROCESSORS.iter().find(|p| same(p.name) || p.aliases.iter().any(|alias| same(alias)))
    }

    /// Whether the processor can do all of `features`.
    #[inline]
    pub fn has(&self, features: Features) -> bool {
        self.features.contains(features)
    }

    /// Whether loads into one half of a register leave the other as it is, on all that the code may run on. Where SRAM ECC is on they do
    /// not; names that stand for several processors do not say whether it is.
    ///
    /// Source: AMDGPU usage guide, "Target Features" (`sramecc`) and "Generic processors".
    pub fn loads_keep_halves(&self) -> bool {
        self.has(Features::D16_PRESERVES)
            && !self.has(Features::SRAM_ECC)
            && self.processor.generic_version == 0
    }

    /// How code reaches scratch: by `scratch_*` where that is asked for and the processor has them.
    pub fn scratch_access(&self) -> ScratchAccess {
        if self.has(Features::SCRATCH_INSTRUCTIONS | Features::GLOBAL) {
            ScratchAccess::Scratch
        } else {
            ScratchAccess::Buffer
        }
    }

    /// The most bytes that one access through the scratch resource may have at a place that is aligned to `align_bytes`, at least a dword.
    ///
    /// An access must not leave its element, since those of other lanes stand between it and the next; without sizes of elements in resources the
    /// hardware finds each dword's place on its own. Source: `ELEMENT_SIZE` of the buffer resource (GFX6 to GFX8 ISA manuals), which the resource of GFX9 lacks; what LLVM makes of
    /// `max-private-element-size`.
    pub fn scratch_width(&self, align_bytes: u64) -> u64 {
        let element = u64::from(self.private_element_bytes);
        match self.limits().buffers.element_size {
            true => element.min(align_bytes),
            false => element,
        }
    }

    /// Whether the waves of a work-group may run on different compute units, which then do not share their innermost cache.
    ///
    /// Source: AMDGPU usage guide, "Memory Model GFX10-GFX11".
    pub fn splits_work_groups(&self) -> bool {
        self.has(Features::WORKGROUP_PROCESSORS) && !self.has(Features::CU_MODE)
    }

    /// Whether several dwords of LDS must be aligned to their size: where the waves of a work-group are on two compute units of GFX10.1.
    ///
    /// Source: README-ISA of Mesa's ACO, "LdsMisalignedBug"; LLVM's test `lds-misaligned-bug.ll`.
    pub fn aligns_lds(&self) -> bool {
        self.has(Features::LDS_MISALIGNED_IN_PAIRS) && self.splits_work_groups()
    }

    /// Whether one instruction may access several dwords of LDS, up to four, at any byte. Slower than aligned ones, but not than one for each dword.
    ///
    /// Source: LLVM, `SITargetLowering::allowsMisalignedMemoryAccessesImpl`.
    pub fn takes_any_lds(&self) -> bool {
        self.has(Features::UNALIGNED_DS | Features::DS_B128) && !self.aligns_lds()
    }

    /// Whether accesses of up to a dword of this memory may be anywhere, also across two dwords. Flat ones may go to LDS and to scratch.
    ///
    /// Source: LLVM, `SITargetLowering::allowsMisalignedMemoryAccessesImpl`, and `FeatureUnalignedScratchAccess` of GFX9 and later.
    pub fn takes_any_dword(&self, space: AddrSpace) -> bool {
        let scratch = Features::UNALIGNED_ACCESS | Features::UNALIGNED_SCRATCH;
        match space {
            AddrSpace::GLOBAL | AddrSpace::CONSTANT => self.has(Features::UNALIGNED_ACCESS),
            AddrSpace::LOCAL => self.has(Features::UNALIGNED_DS),
            AddrSpace::PRIVATE => self.has(scratch),
            AddrSpace::FLAT => self.has(scratch | Features::UNALIGNED_DS),
            _ => false,
        }
    }

    /// Generation, for indexing table columns. Passes ask [`Self::has`] instead.
    #[inline]
    pub fn generation(&self) -> Generation {
        self.processor.generation
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.processor.name)
    }
}
