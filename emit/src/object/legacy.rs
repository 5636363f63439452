//! What objects of other systems than amdhsa hold besides code, and code objects V2 as well: register values for the driver, kernel
//! headers, a note with the name of the instruction set.
//!
//! * `.AMDGPU.config` (no system, Mesa): for each function, pairs of a register's address and its value.
//!   Addresses below 0x1000 are no registers but numbers: 4 and 8 are spilled SGPRs and VGPRs.
//! * `amd_kernel_code_t` (Mesa's kernels and those of V2): 256 bytes in front of the code ([`mir::abi::kernel_code`]).
//! * The note `NT_AMD_HSA_ISA_NAME`.
//!
//! Sources: AMDGPU usage guide, "Code Object V2 Note Records"; register manuals for the addresses; sections as llc
//! 22 writes them.

use super::v2;
use crate::FinalFunction;
use mir::Result;
use mir::abi::descriptor::RegisterCounts;
use mir::abi::{KernelCode, KernelDescriptor, kernel_code};
use mir::ir::{CallConv, Function};
use mir::target::{Os, Target};

/// Section of the register values.
pub(crate) const CONFIG_SECTION: &str = ".AMDGPU.config";

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

/// The name of what the section has under `number`.
pub(crate) fn register_name(number: u32) -> Option<String> {
    const NAMES: [(u32, &str); 8] = [
        (COMPUTE_PGM_RSRC1, "COMPUTE_PGM_RSRC1"),
        (COMPUTE_PGM_RSRC2, "COMPUTE_PGM_RSRC2"),
        (COMPUTE_TMPRING_SIZE, "COMPUTE_TMPRING_SIZE"),
        (SPI_TMPRING_SIZE, "SPI_TMPRING_SIZE"),
        (SPI_SHADER_PGM_RSRC2_PS, "SPI_SHADER_PGM_RSRC2_PS"),
        (SPI_PS_INPUT_ENA, "SPI_PS_INPUT_ENA"),
        (SPI_PS_INPUT_ADDR, "SPI_PS_INPUT_ADDR"),
        (SPILLED_SGPRS, "spilled SGPRs"),
    ];
    let stages = ["PS", "VS", "GS", "ES", "HS", "LS"];
    if number == SPILLED_VGPRS {
        return Some("spilled VGPRs".to_owned());
    }
    let known = NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned());
    known.or_else(|| {
        let stage = number.checked_sub(0xb028).filter(|offset| offset.is_multiple_of(0x100))?;
        let stage = stages.get(stage as usize / 0x100)?;
        Some(format!("SPI_SHADER_PGM_RSRC1_{stage}"))
    })
}

/// Whether the object says something about its functions for the driver.
pub(crate) fn has_config(target: &Target) -> bool {
    matches!(target.os, Os::Unknown | Os::Mesa3d)
}

/// The function's descriptor with the size of LDS, which on amdhsa comes from elsewhere.
fn descriptor(function: &FinalFunction, source: &Function, target: &Target) -> Result<KernelDescriptor> {
    let mut descriptor = KernelDescriptor::for_kernel(&function.function, source, target)?;
    if target.os != Os::AmdHsa {
        descriptor.granulated_lds_size = lds_blocks(function, target);
    }
    Ok(descriptor)
}

/// Dwords 48 and 52 of the function's descriptor, `COMPUTE_PGM_RSRC1` and `2`.
pub(crate) fn compute_registers(
    function: &FinalFunction,
    source: &Function,
    target: &Target,
) -> Result<[u32; 2]> {
    let bytes = descriptor(function, source, target)?.pack()?;
    let dword = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    Ok([dword(48), dword(52)])
}

/// LDS in granules.
pub(crate) fn lds_blocks(function: &FinalFunction, target: &Target) -> u32 {
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
            let [rsrc1, rsrc2] = if f.call_conv.follows_others() {
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
///
/// # Errors
/// A processor that code objects V2 do not know.
pub(crate) fn isa_name(target: &Target) -> Result<String> {
    match v2::applies(target) {
        true => Ok(format!("amdgcn-amd-amdhsa--{}", kernel_code::v2_isa(target)?)),
        false => Ok(mir::abi::metadata::target_id(target)),
    }
}

/// Whether the function's code has an `amd_kernel_code_t` in front.
pub(crate) fn has_header(function: &FinalFunction, target: &Target) -> bool {
    (target.os == Os::Mesa3d || v2::applies(target)) && function.function.call_conv == CallConv::Kernel
}

/// The `amd_kernel_code_t` of a kernel.
pub(crate) fn header(function: &FinalFunction, source: &Function, target: &Target) -> Result<KernelCode> {
    KernelCode::for_kernel(&function.function, &descriptor(function, source, target)?, target)
}
