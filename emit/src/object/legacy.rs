//! What objects of other systems than amdhsa hold besides code: register values for the driver, Mesa's kernel
//! headers, a note with the name of the instruction set.
//!
//! * `.AMDGPU.config` (no system, Mesa): for each function, pairs of a register's address and its value.
//!   Addresses below 0x1000 are no registers but numbers: 4 and 8 are spilled SGPRs and VGPRs.
//! * `amd_kernel_code_t` (Mesa's kernels): 256 bytes in front of the code, as in code objects V2.
//! * The note `NT_AMD_HSA_ISA_NAME`.
//!
//! Sources: AMDGPU usage guide, "Code Object V2 Note Records"; HSA runtime's public header
//! `amd_hsa_kernel_code.h`; register manuals for the addresses; sections as llc 22 writes them.

use crate::FinalFunction;
use mir::Result;
use mir::abi::KernelDescriptor;
use mir::abi::descriptor::RegisterCounts;
use mir::ir::{CallConv, Function};
use mir::target::{FIXED_SGPRS, Features, Os, Target};

/// Section of the register values.
pub(crate) const CONFIG_SECTION: &str = ".AMDGPU.config";
/// Owner and type of the note with the name of the instruction set.
pub(crate) const ISA_NOTE: (&str, u32) = ("AMD", 11);
/// Symbol type of Mesa's kernels (`STT_AMDGPU_HSA_KERNEL`).
pub(crate) const STT_HSA_KERNEL: u8 = 10;
/// Bytes of `amd_kernel_code_t`.
pub(crate) const HEADER_BYTES: usize = 256;

const COMPUTE_PGM_RSRC1: u32 = 0xb848;
const COMPUTE_PGM_RSRC2: u32 = 0xb84c;
const COMPUTE_TMPRING_SIZE: u32 = 0xb860;
const SPI_TMPRING_SIZE: u32 = 0x286e8;
const SPI_SHADER_PGM_RSRC2_PS: u32 = 0xb02c;
const SPI_PS_INPUT_ENA: u32 = 0x286cc;
const SPI_PS_INPUT_ADDR: u32 = 0x286d0;
const SPILLED_SGPRS: u32 = 4;
const SPILLED_VGPRS: u32 = 8;

/// `SPI_SHADER_PGM_RSRC1_*` of a graphics stage.
fn stage_register(convention: CallConv) -> Option<u32> {
    Some(match convention {
        CallConv::AmdgpuPs => 0xb028,
        CallConv::AmdgpuVs => 0xb128,
        CallConv::AmdgpuGs => 0xb228,
        CallConv::AmdgpuEs => 0xb328,
        CallConv::AmdgpuHs => 0xb428,
        CallConv::AmdgpuLs => 0xb528,
        _ => return None,
    })
}

/// Whether the object says something about its functions for the driver.
pub(crate) fn has_config(target: &Target) -> bool {
    matches!(target.os, Os::Unknown | Os::Mesa3d)
}

/// Dwords 48 and 52 of the function's descriptor, `COMPUTE_PGM_RSRC1` and `2`, with the size of LDS, which on
/// amdhsa comes from elsewhere.
fn compute_registers(function: &FinalFunction, source: &Function, target: &Target) -> Result<[u32; 2]> {
    let mut descriptor = KernelDescriptor::for_kernel(&function.function, source, target)?;
    descriptor.granulated_lds_size = lds_blocks(function, target);
    let bytes = descriptor.pack()?;
    let dword = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    Ok([dword(48), dword(52)])
}

/// LDS in granules.
fn lds_blocks(function: &FinalFunction, target: &Target) -> u32 {
    function.function.lds.size_bytes.div_ceil(target.limits().lds_granule)
}

/// Scratch of a wave in units of 256 dwords, in bits 24:12.
fn ring_size(function: &FinalFunction, target: &Target) -> u32 {
    (function.function.resources.scratch_bytes * target.wave_size()).div_ceil(1024) << 12
}

/// The words that [`CONFIG_SECTION`] holds for a function.
pub(crate) fn config(function: &FinalFunction, source: &Function, target: &Target) -> Result<Vec<u32>> {
    let f = &function.function;
    let ring = ring_size(function, target);
    let mut out = Vec::new();
    match stage_register(f.call_conv) {
        None => {
            // Functions that are called say what they use; the rest is up to the kernel.
            let [rsrc1, rsrc2] = if f.call_conv.is_callable() {
                let counts = RegisterCounts::of_kernel(f, target);
                [counts.vgpr_blocks(target)? | counts.sgpr_blocks(target)? << 6, 0]
            } else {
                compute_registers(function, source, target)?
            };
            out.extend([COMPUTE_PGM_RSRC1, rsrc1, COMPUTE_PGM_RSRC2, rsrc2, COMPUTE_TMPRING_SIZE, ring]);
        }
        Some(register) => {
            let counts = RegisterCounts::of_kernel(f, target);
            let rsrc1 = counts.vgpr_blocks(target)? | counts.sgpr_blocks(target)? << 6;
            out.extend([register, rsrc1, SPI_TMPRING_SIZE, ring]);
        }
    }
    if f.call_conv == CallConv::AmdgpuPs {
        let inputs = source.ps_inputs;
        let extra_lds = lds_blocks(function, target) << 8;
        out.extend([SPI_SHADER_PGM_RSRC2_PS, extra_lds]);
        out.extend([SPI_PS_INPUT_ENA, inputs.ena, SPI_PS_INPUT_ADDR, inputs.addr]);
    }
    out.extend([SPILLED_SGPRS, f.resources.sgpr_spills, SPILLED_VGPRS, f.resources.vgpr_spills]);
    Ok(out)
}

/// Name of the instruction set, as the note has it.
pub(crate) fn isa_name(target: &Target) -> String {
    let system = match target.os {
        Os::Unknown => "unknown-unknown",
        Os::AmdHsa => "amd-amdhsa",
        Os::AmdPal => "amd-amdpal",
        Os::Mesa3d => "mesa-mesa3d",
    };
    format!("amdgcn-{system}--{}", target.processor.name)
}

/// Major, minor and stepping of the processor's version, which its name spells: the last two digits, of base
/// sixteen, are minor and stepping. A processor without a number has the generation alone.
pub(crate) fn isa_version(target: &Target) -> [u16; 3] {
    let digits = target.processor.name.strip_prefix("gfx").unwrap_or_default();
    let split = digits.len().saturating_sub(2);
    let part = |from: usize, to: usize, radix| {
        digits.get(from..to).and_then(|digits| u16::from_str_radix(digits, radix).ok())
    };
    match (part(0, split, 10), part(split, split + 1, 16), part(split + 1, split + 2, 16)) {
        (Some(major), Some(minor), Some(stepping)) => [major, minor, stepping],
        _ => [6 + target.generation() as u16, 0, 0],
    }
}

/// Whether the function's code has an `amd_kernel_code_t` in front.
pub(crate) fn has_header(function: &FinalFunction, target: &Target) -> bool {
    target.os == Os::Mesa3d && function.function.call_conv == CallConv::Kernel
}

/// The `amd_kernel_code_t` of a kernel.
pub(crate) fn header(
    function: &FinalFunction,
    source: &Function,
    target: &Target,
) -> Result<[u8; HEADER_BYTES]> {
    let f = &function.function;
    let descriptor = KernelDescriptor::for_kernel(f, source, target)?;
    let counts = RegisterCounts::of_kernel(f, target);
    let [rsrc1, rsrc2] = compute_registers(function, source, target)?;
    let packed = descriptor.pack()?;
    // User SGPRs as in later descriptors; scratch in elements of a dword (1 in bits 18:17), 64-bit pointers
    // (bit 19), replay (bit 22).
    let replay = u32::from(target.has(Features::XNACK));
    let properties = u32::from(packed[56]) | 1 << 17 | 1 << 19 | replay << 22;
    let version = isa_version(target);
    let sgprs = if target.has(Features::SGPR_INIT_BUG) { FIXED_SGPRS } else { counts.sgprs() };
    let mut out = [0; HEADER_BYTES];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &1u32.to_le_bytes());
    put(4, &2u32.to_le_bytes());
    put(8, &1u16.to_le_bytes());
    for (at, part) in [10, 12, 14].into_iter().zip(version) {
        put(at, &part.to_le_bytes());
    }
    put(16, &(HEADER_BYTES as u64).to_le_bytes());
    put(48, &rsrc1.to_le_bytes());
    put(52, &rsrc2.to_le_bytes());
    put(56, &properties.to_le_bytes());
    put(60, &f.resources.scratch_bytes.to_le_bytes());
    put(64, &f.lds.size_bytes.to_le_bytes());
    put(72, &u64::from(f.kernarg.size_bytes).to_le_bytes());
    put(84, &(sgprs as u16).to_le_bytes());
    put(86, &(counts.vgprs as u16).to_le_bytes());
    // Alignments of kernarg, LDS and scratch, and the wave size, as powers of two.
    let kernarg_align = f.kernarg.align_bytes.max(16).trailing_zeros() as u8;
    put(100, &[kernarg_align, 4, 4, 6]);
    put(104, &u32::MAX.to_le_bytes());
    Ok(out)
}
