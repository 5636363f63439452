//! How graphics shaders start and end, and where waves find scratch on systems other than amdhsa.
//!
//! Arguments and results are counted in dwords. `inreg` arguments are in SGPRs from s0 on (behind what the driver puts first), others in
//! VGPRs from v0 on. Results are in VGPRs where they are floating point of at most 32 bits, else in SGPRs; what follows the shader in
//! memory (the driver's epilog) goes on with them. The first 16 arguments of a pixel shader that are not `inreg` are its
//! interpolation inputs: the hardware leaves out those whose bits in `SPI_PS_INPUT_ADDR` are clear.
//!
//! Scratch: on amdhsa, and for kernels of Mesa, the resource comes in user SGPRs. Elsewhere the prolog builds it, in SGPRs behind all others:
//!
//! | system | from |
//! |---|---|
//! | amdpal | the global table, whose low address half is in s0 (merged shaders of GFX9: s8); entry 0, compute: 1 |
//! | mesa3d | the pointer in s[0:1]: the address of scratch (compute), or that of a pointer to it |
//! | none | the symbols `SCRATCH_RSRC_DWORD0` and `SCRATCH_RSRC_DWORD1`, which the driver defines |
//!
//! Functions of the conventions `amdgpu_cs_chain` and `amdgpu_cs_chain_preserve` are what compute shaders jump to on and on. They start as shaders do, with
//! `inreg` arguments from s0 and others from v8 on, whose inactive lanes may have values, too; a finished scratch resource is in s[48:51]. A jump to the next
//! function passes the same; VGPRs from v8 on that are not passed keep what they hold, in inactive lanes or (`_preserve`) in all.
//!
//! Sources: AMDGPU usage guide, "AMDPAL", "Mesa 3D" and "Calling Conventions"; register manuals for `SPI_PS_INPUT_ADDR`; what llc 22 makes of
//! shaders for gfx600, gfx802 and gfx900.

use crate::ir::{CallConv, Float, Scalar};
use crate::machine::{PReg, RegFile};
use crate::target::{Features, Os, Target};

/// Argument registers, as many as LLVM gives out.
pub const MAX_SGPRS: u16 = 44;
/// The same for VGPRs, and for results.
pub const MAX_VGPRS: u16 = 136;
/// The scratch resource of chain functions.
pub const CHAIN_RESOURCE: PReg = PReg::sgpr(48);
/// The first VGPR that belongs to all functions of a chain; arguments start there, what is below is each function's own.
pub const CHAIN_FIRST_VGPR: u16 = 8;
/// Argument registers of chain functions end here.
const CHAIN_ENDS: [u16; 2] = [105, 256];
/// Interpolation inputs of a pixel shader.
pub const PS_INPUTS: u32 = 16;

/// Symbols that stand for the first two dwords of the scratch resource.
pub const SCRATCH_SYMBOLS: [&str; 2] = ["SCRATCH_RSRC_DWORD0", "SCRATCH_RSRC_DWORD1"];

/// Where the scratch resource comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScratchSource {
    /// It is in user SGPRs.
    Given,
    /// Two symbols are its first dwords.
    Symbols,
    /// A pointer in user SGPRs: the address itself, or where it is.
    BufferPointer {
        /// Whether the address is behind the pointer.
        indirect: bool,
    },
    /// The resource is an entry of the table whose low address half is in `low`.
    GlobalTable {
        /// Register with the low half of the table's address; the high one is that of the code.
        low: PReg,
        /// Byte offset of the entry.
        offset_bytes: u32,
    },
    /// It is finished in [`CHAIN_RESOURCE`].
    Chain,
}

/// Whether `convention` is that of a graphics shader, or of what follows one.
pub fn is_shader(convention: CallConv) -> bool {
    use CallConv::*;
    matches!(convention, AmdgpuVs | AmdgpuGs | AmdgpuPs | AmdgpuCs | AmdgpuHs | AmdgpuLs | AmdgpuEs)
        || convention.is_chain()
}

/// LLVM's number of a convention that no code on `target` calls: chains are of GFX10 and later.
pub fn uncalled(convention: CallConv, target: &Target) -> Option<u32> {
    // What all processors of these generations have.
    let chains = target.has(Features::WORKGROUP_PROCESSORS);
    match convention {
        CallConv::Other(number) => Some(number),
        CallConv::AmdgpuCsChain if !chains => Some(104),
        CallConv::AmdgpuCsChainPreserve if !chains => Some(105),
        _ => None,
    }
}

/// Whether the first eight SGPRs are those of two stages that the hardware runs as one (GFX9).
fn is_merged(convention: CallConv, target: &Target) -> bool {
    matches!(convention, CallConv::AmdgpuHs | CallConv::AmdgpuGs) && target.has(Features::MERGED_SHADERS)
}

/// Where waves of `convention` find scratch.
pub fn scratch_source(convention: CallConv, target: &Target) -> ScratchSource {
    match target.os {
        _ if convention.is_chain() => ScratchSource::Chain,
        Os::AmdHsa => ScratchSource::Given,
        Os::Mesa3d if convention == CallConv::Kernel => ScratchSource::Given,
        Os::Mesa3d => ScratchSource::BufferPointer { indirect: convention != CallConv::AmdgpuCs },
        Os::AmdPal => ScratchSource::GlobalTable {
            low: PReg::sgpr(if is_merged(convention, target) { 8 } else { 0 }),
            offset_bytes: if convention == CallConv::AmdgpuCs { 16 } else { 0 },
        },
        Os::Unknown => ScratchSource::Symbols,
    }
}

/// The register of the wave's scratch offset where it does not simply follow the arguments.
pub fn fixed_wave_offset(convention: CallConv, target: &Target) -> Option<PReg> {
    is_merged(convention, target).then_some(PReg::sgpr(5))
}

/// First SGPR of the arguments.
pub fn first_argument_sgpr(convention: CallConv, target: &Target) -> u16 {
    match scratch_source(convention, target) {
        ScratchSource::BufferPointer { .. } => 2,
        _ => 0,
    }
}

/// Where dword 3 of a resource has the size of its elements.
const ELEMENT_SIZE_SHIFT: u32 = 19;

/// The size of elements as resources and headers of kernels have it: 0 for 2 bytes, 1 for 4, 2 for 8, 3 for 16.
pub fn element_code(bytes: u32) -> u32 {
    bytes.trailing_zeros().saturating_sub(1)
}

/// Dwords 2 and 3 of a scratch resource that is built by hand: no limit; swizzled by lane, 64 lanes apart, in elements as the target has them.
///
/// Source: ISA manuals, "Buffer Resource Descriptor"; GFX9 has no element size, and where lanes are added (`ADD_TID_ENABLE`) GFX8 and GFX9 take
/// the data format's bits for those of the stride.
pub fn resource_tail(target: &Target) -> [u32; 2] {
    let rules = &target.limits().buffers;
    let element = if rules.element_size { element_code(target.private_element_bytes.into()) } else { 0 };
    [u32::MAX, rules.scratch_dword3 | element << ELEMENT_SIZE_SHIFT]
}

/// The file of a result's dwords that hold a scalar or an element of `scalar`.
pub fn result_file(scalar: Scalar) -> RegFile {
    match scalar {
        Scalar::Float(Float::Half | Float::BFloat | Float::Single) => RegFile::Vgpr,
        _ => RegFile::Sgpr,
    }
}

/// Gives out registers in order, one file after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    next_sgpr: u16,
    next_vgpr: u16,
    /// Registers behind the last of each file.
    ends: [u16; 2],
    /// SGPRs that are left out.
    taken: [u16; 2],
}

impl Places {
    /// For arguments or results whose SGPRs start at `first_sgpr`.
    pub fn new(first_sgpr: u16) -> Self {
        Self { next_sgpr: first_sgpr, next_vgpr: 0, ends: [first_sgpr + MAX_SGPRS, MAX_VGPRS], taken: [0, 0] }
    }

    /// For the arguments of a function of `convention`.
    pub fn of_arguments(convention: CallConv, target: &Target) -> Self {
        let places = Self::new(first_argument_sgpr(convention, target));
        let resource = CHAIN_RESOURCE.0 - PReg::sgpr(0).0;
        match convention.is_chain() {
            true => {
                let taken = [resource, resource + 4];
                Self { next_vgpr: CHAIN_FIRST_VGPR, ends: CHAIN_ENDS, taken, ..places }
            }
            false => places,
        }
    }

    /// The next register of `file`; `None` where there is none left.
    pub fn dword(&mut self, file: RegFile) -> Option<PReg> {
        let (next, end, make): (_, _, fn(u16) -> PReg) = match file {
            RegFile::Sgpr => (&mut self.next_sgpr, self.ends[0], PReg::sgpr),
            RegFile::Vgpr => (&mut self.next_vgpr, self.ends[1], PReg::vgpr),
        };
        if file == RegFile::Sgpr && (self.taken[0]..self.taken[1]).contains(next) {
            *next = self.taken[1];
        }
        let number = *next;
        *next += 1;
        (number < end).then(|| make(number))
    }

    /// Number of the SGPR behind those given out.
    pub fn sgprs_end(&self) -> u16 {
        self.next_sgpr
    }
}

/// Interpolation inputs of a pixel shader: bits of `SPI_PS_INPUT_ADDR` and `SPI_PS_INPUT_ENA`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PsInputs {
    /// Inputs that have registers.
    pub addr: u32,
    /// Inputs that are computed.
    pub ena: u32,
}

impl PsInputs {
    /// Bits of the perspective inputs.
    const PERSPECTIVE: u32 = 0xf;
    /// Bits of all inputs that interpolate.
    const INTERPOLATING: u32 = 0x7f;
    /// Bit of the position's w.
    const POS_W: u32 = 1 << 11;

    /// Notes input `number`; false where it is left out: nobody reads it, and `addr` did not ask for it beforehand.
    pub fn take(&mut self, number: u32, used: bool) -> bool {
        let bit = 1 << number;
        if !used && self.addr & bit == 0 {
            return false;
        }
        self.addr |= bit;
        self.ena |= if used { bit } else { 0 };
        true
    }

    fn hangs(bits: u32) -> bool {
        bits & Self::INTERPOLATING == 0 || bits & Self::PERSPECTIVE == 0 && bits & Self::POS_W != 0
    }

    /// The hardware hangs unless something is interpolated (with the position's w: in perspective). True where the first input was
    /// added for this, whose two VGPRs then come first.
    pub fn complete(&mut self, target: &Target) -> bool {
        let add = Self::hangs(self.addr);
        if add {
            self.addr |= 1;
            self.ena |= 1;
        }
        // Others may enable inputs later; PAL takes the bits as they are.
        if target.os == Os::AmdPal && Self::hangs(self.addr & self.ena) {
            self.ena |= self.addr & self.addr.wrapping_neg();
        }
        add
    }
}

/// Whether flat instructions can reach scratch: the values for FLAT_SCRATCH come from the command processor alone.
pub fn has_flat_scratch(convention: CallConv, target: &Target) -> bool {
    scratch_source(convention, target) == ScratchSource::Given && target.has_flat_scratch()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str, os: Os) -> Target {
        Target { os, ..Target::new(Target::processor_by_name(name).expect("a processor of the table")) }
    }

    #[test]
    fn scratch_comes_from_the_system() {
        let of = |name, os, convention| scratch_source(convention, &target(name, os));
        assert_eq!(of("gfx900", Os::Mesa3d, CallConv::Kernel), ScratchSource::Given);
        assert_eq!(of("gfx600", Os::Unknown, CallConv::Kernel), ScratchSource::Symbols);
        let table = |low, offset_bytes| ScratchSource::GlobalTable { low: PReg::sgpr(low), offset_bytes };
        assert_eq!(of("gfx900", Os::AmdPal, CallConv::AmdgpuGs), table(8, 0));
        assert_eq!(of("gfx803", Os::AmdPal, CallConv::AmdgpuGs), table(0, 0));
        assert_eq!(of("gfx900", Os::AmdPal, CallConv::AmdgpuCs), table(0, 16));
        assert_eq!(
            fixed_wave_offset(CallConv::AmdgpuHs, &target("gfx900", Os::Unknown)),
            Some(PReg::sgpr(5))
        );
        assert_eq!(first_argument_sgpr(CallConv::AmdgpuPs, &target("gfx900", Os::Mesa3d)), 2);
    }

    #[test]
    fn chains_leave_the_resource_out() {
        let gfx1030 = target("gfx1030", Os::AmdPal);
        let mut places = Places::of_arguments(CallConv::AmdgpuCsChain, &gfx1030);
        assert_eq!(places.dword(RegFile::Vgpr), Some(PReg::vgpr(8)));
        let sgprs: Vec<PReg> = std::iter::from_fn(|| places.dword(RegFile::Sgpr)).collect();
        assert_eq!((sgprs[0], sgprs[47], sgprs[48]), (PReg::sgpr(0), PReg::sgpr(47), PReg::sgpr(52)));
        assert_eq!((sgprs.len(), sgprs.last()), (101, Some(&PReg::sgpr(104))));
        assert_eq!(uncalled(CallConv::AmdgpuCsChain, &gfx1030), None);
        assert_eq!(uncalled(CallConv::AmdgpuCsChain, &target("gfx900", Os::AmdPal)), Some(104));
    }

    #[test]
    fn registers_run_out() {
        let mut places = Places::new(2);
        assert_eq!(places.dword(RegFile::Sgpr), Some(PReg::sgpr(2)));
        let count = std::iter::from_fn(|| places.dword(RegFile::Sgpr)).count();
        assert_eq!((count, places.dword(RegFile::Vgpr)), (43, Some(PReg::vgpr(0))));
    }

    #[test]
    fn pixel_shaders_interpolate_something() {
        let (unknown, pal) = (target("gfx900", Os::Unknown), target("gfx900", Os::AmdPal));
        let mut inputs = PsInputs::default();
        assert!(!inputs.take(0, false) && inputs.take(1, true) && inputs.take(2, true));
        assert!(!inputs.complete(&unknown));
        assert_eq!((inputs.addr, inputs.ena), (6, 6));
        let mut none = PsInputs::default();
        assert!(none.complete(&unknown));
        assert_eq!((none.addr, none.ena), (1, 1));
        // The position's w alone does not do.
        let mut position = PsInputs { addr: 0, ena: 0 };
        assert!(position.take(11, true) && position.take(4, true) && position.complete(&unknown));
        // Asked for from outside, and not read.
        let mut asked = PsInputs { addr: 2, ena: 0 };
        assert!(asked.take(1, false) && !asked.complete(&unknown) && asked.ena == 0);
        assert!(!asked.complete(&pal) && asked.ena == 2);
    }
}
