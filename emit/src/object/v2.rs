//! The notes of code objects V2: their version, the instruction set by number and by name, metadata as YAML.
//!
//! Source: AMDGPU usage guide, "Code Object V2 Note Records"; order as `llc` 14 writes them. Strings of descriptions end with a NUL only in the
//! note of the instruction set, whose sizes count it.

use super::{module_metadata, write_note};
use crate::FinalFunction;
use mir::Result;
use mir::abi::kernel_code;
use mir::abi::metadata_v2 as v2;
use mir::ir::Module;
use mir::target::{Os, PROCESSORS, Processor, Target};

/// Whether code objects for `target` are of version 2.
pub(crate) fn applies(target: &Target) -> bool {
    target.os == Os::AmdHsa && target.code_object_version < 3
}

/// Number of the instruction set that V2 calls `name`.
pub(crate) fn isa_version(name: &str, processor: &Processor) -> [u16; 3] {
    // `gfx901` is `gfx900` with another stepping.
    let version = processor.isa_version();
    let named = PROCESSORS.iter().find(|known| known.name == name);
    named.map_or([version[0], version[1], version[2] + 1], Processor::isa_version)
}

/// Description of the note of the version.
pub(crate) fn version(version: [u32; 2]) -> Vec<u8> {
    version.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Description of the note of the instruction set.
pub(crate) fn isa(version: [u32; 3], names: [&str; 2]) -> Vec<u8> {
    let mut out: Vec<u8> = names.iter().flat_map(|name| (name.len() as u16 + 1).to_le_bytes()).collect();
    out.extend(version.into_iter().flat_map(u32::to_le_bytes));
    for name in names {
        out.extend_from_slice(name.as_bytes());
        out.push(0);
    }
    out
}

/// The YAML document of the object that holds `functions`.
pub(crate) fn metadata(module: &Module, functions: &[FinalFunction], target: &Target) -> String {
    let metadata = module_metadata(module, functions, target);
    let kernels = functions.iter().filter(|f| f.kernel.is_some()).map(|f| &f.function);
    v2::document(module, metadata.kernels.into_iter().zip(kernels), target).to_yaml_v2()
}

/// All notes of an object.
///
/// # Errors
/// A processor that V2 does not know.
pub(crate) fn notes(module: &Module, functions: &[FinalFunction], target: &Target) -> Result<Vec<u8>> {
    let name = kernel_code::v2_isa(target)?;
    let isa_version = isa_version(name, target.processor).map(u32::from);
    let mut out = Vec::new();
    write_note(&mut out, v2::NOTE_NAME, v2::NOTE_VERSION, &version(v2::VERSION));
    write_note(&mut out, v2::NOTE_NAME, v2::NOTE_ISA_VERSION, &isa(isa_version, v2::VENDOR_AND_ARCHITECTURE));
    write_note(&mut out, v2::NOTE_NAME, v2::NOTE_ISA_NAME, super::legacy::isa_name(target)?.as_bytes());
    write_note(&mut out, v2::NOTE_NAME, v2::NOTE_METADATA, metadata(module, functions, target).as_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruction_sets_are_numbered_by_name() {
        let number = |processor: &str, name: &str| {
            isa_version(name, Target::processor_by_name(processor).expect("a processor of the table"))
        };
        assert_eq!(number("gfx900", "gfx900"), [9, 0, 0]);
        assert_eq!([number("gfx900", "gfx901"), number("gfx906", "gfx907")], [[9, 0, 1], [9, 0, 7]]);
        assert_eq!(number("generic-hsa", "gfx700"), [7, 0, 0]);
        let note = isa([9, 0, 1], v2::VENDOR_AND_ARCHITECTURE);
        assert_eq!(note, b"\x04\0\x07\0\x09\0\0\0\0\0\0\0\x01\0\0\0AMD\0AMDGPU\0");
    }
}
