//! What comes out of a compilation, with what a host must know to launch it.

use mir::abi::metadata::{ArgMeta, KernelMeta, Metadata, NOTE_NAME, NOTE_TYPE};
use mir::abi::metadata_v2;
use mir::{Diagnostic, Result};
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A code object, loadable as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeObject {
    /// The ELF file: what `hipModuleLoadData` or `hsa_code_object_reader_create_from_memory` take.
    #[serde(with = "bytes")]
    pub bytes: Vec<u8>,
    /// Name of the processor that the code is for.
    pub processor: String,
    /// Kernels in the order of the code object's metadata; none where the system has no metadata.
    pub kernels: Vec<Kernel>,
    /// What the user should know although it compiled; one line each.
    pub warnings: Vec<String>,
    /// Numbers about functions and passes.
    pub stats: Stats,
}

impl CodeObject {
    /// The kernel called `name`.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// What launching a kernel takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Kernel {
    /// Name in the source.
    pub name: String,
    /// Symbol of the kernel's descriptor (`NAME.kd`).
    pub symbol: String,
    /// Arguments in the order of the block, those that the runtime fills in included.
    pub arguments: Vec<Argument>,
    /// Bytes of the block of arguments.
    pub kernarg_bytes: u32,
    /// Alignment of the block of arguments, in bytes.
    pub kernarg_align: u32,
    /// Bytes of LDS that a work-group has from the start; dynamic LDS is added by the host.
    pub lds_bytes: u32,
    /// Bytes of scratch of a work-item.
    pub scratch_bytes: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers of a wave.
    pub vgprs: u32,
    /// Scalar registers that were spilled, in dwords.
    pub sgpr_spills: u32,
    /// Vector registers that were spilled, in dwords of a work-item.
    pub vgpr_spills: u32,
    /// Work-items of a wave.
    pub wave_size: u32,
    /// Most work-items of a work-group.
    pub max_work_group_size: u32,
    /// Size that work-groups must have, where the source says so.
    pub required_work_group_size: Option<[u32; 3]>,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Argument {
    /// Name in the source, where the module has it.
    pub name: Option<String>,
    /// Type in the source, where the module has it.
    pub type_name: Option<String>,
    /// What it is, in the words of the code object's metadata: `by_value`, `global_buffer`, `dynamic_shared_pointer`, `hidden_...`.
    pub kind: String,
    /// Address space of a pointer: `global`, `constant`, `local`, `generic`.
    pub address_space: Option<String>,
    /// Offset in the block of arguments, in bytes.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

impl Argument {
    /// Whether the runtime, not the caller, fills it in.
    pub fn is_hidden(&self) -> bool {
        self.kind.starts_with("hidden_")
    }
}

/// Numbers about a compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stats {
    /// One entry a function, in the order of the modules.
    pub functions: Vec<FunctionInfo>,
    /// Time of each pass, the sum over functions; empty where the code object is from a cache.
    #[serde(skip)]
    pub passes: Vec<(&'static str, Duration)>,
    /// Whether a cache had it.
    #[serde(skip)]
    pub from_cache: bool,
}

/// Numbers about the code of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FunctionInfo {
    /// Symbol.
    pub name: String,
    /// Scalar registers, specials included.
    pub sgprs: u32,
    /// Vector registers.
    pub vgprs: u32,
    /// Waves that a SIMD can hold.
    pub occupancy: u32,
    /// Bytes of scratch of a work-item.
    pub scratch_bytes: u32,
    /// Bytes of code.
    pub code_bytes: u32,
    /// Machine instructions.
    pub instructions: u32,
}

impl From<&crate::stats::FunctionStats> for FunctionInfo {
    fn from(stats: &crate::stats::FunctionStats) -> Self {
        Self {
            name: stats.function.clone(),
            sgprs: stats.sgprs,
            vgprs: stats.vgprs,
            occupancy: stats.occupancy,
            scratch_bytes: stats.scratch_bytes,
            code_bytes: stats.code_bytes,
            instructions: stats.instructions,
        }
    }
}

impl From<KernelMeta> for Kernel {
    fn from(meta: KernelMeta) -> Self {
        Self {
            name: meta.name,
            symbol: meta.symbol,
            arguments: meta.args.into_iter().map(Argument::from).collect(),
            kernarg_bytes: meta.kernarg_segment_size,
            kernarg_align: meta.kernarg_segment_align,
            lds_bytes: meta.group_segment_fixed_size,
            scratch_bytes: meta.private_segment_fixed_size,
            sgprs: meta.sgpr_count,
            vgprs: meta.vgpr_count,
            sgpr_spills: meta.sgpr_spill_count,
            vgpr_spills: meta.vgpr_spill_count,
            wave_size: meta.wavefront_size,
            max_work_group_size: meta.max_flat_workgroup_size,
            required_work_group_size: meta.reqd_workgroup_size,
        }
    }
}

impl From<ArgMeta> for Argument {
    fn from(meta: ArgMeta) -> Self {
        Self {
            name: meta.name,
            type_name: meta.type_name,
            kind: meta.value_kind,
            address_space: meta.address_space,
            offset: meta.offset,
            size: meta.size,
        }
    }
}

/// Kernels by the metadata of a linked code object, which knows what the linker counted again; none where it has no note.
///
/// # Errors
/// `Defect` where our own output cannot be read.
pub(super) fn kernels(bytes: &[u8]) -> Result<Vec<Kernel>> {
    let broken =
        |error: object::Error| Diagnostic::defect(format!("the code object cannot be read: {error}"));
    let elf = ElfFile64::<object::Endianness>::parse(bytes).map_err(broken)?;
    let endian = elf.endian();
    for header in elf.elf_header().program_headers(endian, bytes).map_err(broken)? {
        let Some(mut notes) = header.notes(endian, bytes).map_err(broken)? else { continue };
        while let Some(note) = notes.next().map_err(broken)? {
            let kind = note.n_type(endian).0;
            let metadata = if note.name() == NOTE_NAME.as_bytes() && kind == NOTE_TYPE {
                Metadata::from_bytes(note.desc())?
            } else if note.name() == metadata_v2::NOTE_NAME.as_bytes() && kind == metadata_v2::NOTE_METADATA {
                metadata_v2::parse(&String::from_utf8_lossy(note.desc()))?
            } else {
                continue;
            };
            return Ok(metadata.kernels.into_iter().map(Kernel::from).collect());
        }
    }
    Ok(Vec::new())
}

/// Bytes as bytes, not as a list of numbers.
mod bytes {
    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }

            fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
                Ok(bytes)
            }
        }
        deserializer.deserialize_byte_buf(Bytes)
    }
}
