//! Notes as directives.

use super::Targets;
use super::program::Section;
use crate::object::notes::{Note, read};
use crate::object::pal;
use mir::abi::{Document, metadata, metadata_v2 as v2};
use mir::target::Os;
use std::fmt::Write;

/// The directives that make the notes of `section`, if they make exactly these.
pub(super) fn text(section: &Section<'_>, targets: &Targets) -> Option<String> {
    if section.name != ".note" || section.data.is_empty() {
        return None;
    }
    let mut out = String::new();
    for note in read(section.data) {
        out.push_str(&directive(&note.ok()?, targets)?);
    }
    (targets.assembled(&out, section.name)? == section.data).then_some(out)
}

/// The directive of a note.
fn directive(note: &Note<'_>, targets: &Targets) -> Option<String> {
    let hsa = targets.exact.os == Os::AmdHsa;
    let owner = std::str::from_utf8(note.owner).ok()?;
    let description = note.description;
    let mut out = String::new();
    match (owner, note.kind) {
        (metadata::NOTE_NAME, metadata::NOTE_TYPE) => {
            let name = if hsa { "amdgpu_metadata" } else { "amdgpu_pal_metadata" };
            let yaml = Document::from_msgpack(description).ok()?.to_yaml();
            let _ = write!(out, "\t.{name}\n{yaml}\t.end_{name}\n");
        }
        (v2::NOTE_NAME, v2::NOTE_VERSION) if hsa => {
            let [major, minor] = dwords::<2>(description)?;
            let _ = writeln!(out, "\t.hsa_code_object_version {major},{minor}");
        }
        (v2::NOTE_NAME, v2::NOTE_ISA_VERSION) if hsa => {
            let ([major, minor, stepping], vendor, architecture) = v2::read_isa_version(description)?;
            let _ = writeln!(
                out,
                "\t.hsa_code_object_isa {major},{minor},{stepping},\"{vendor}\",\"{architecture}\""
            );
        }
        (v2::NOTE_NAME, v2::NOTE_ISA_NAME) => {
            let name = std::str::from_utf8(description).ok()?;
            let _ = writeln!(out, "\t.amd_amdgpu_isa \"{name}\"");
        }
        (v2::NOTE_NAME, v2::NOTE_METADATA) if hsa => {
            let yaml = std::str::from_utf8(description).ok()?;
            let _ = writeln!(out, "\t.amd_amdgpu_hsa_metadata\n{yaml}\n\t.end_amd_amdgpu_hsa_metadata");
        }
        (owner, kind) if (owner, kind) == pal::REGISTERS_NOTE && targets.exact.os == Os::AmdPal => {
            let words = description.chunks_exact(4);
            let words = words.map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
            let words: Vec<String> = words.map(|word| format!("{word:#x}")).collect();
            let _ = writeln!(out, "\t.amd_amdgpu_pal_metadata {}", words.join(","));
        }
        _ => return None,
    }
    Some(out)
}

/// The dwords that `bytes` are.
fn dwords<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let mut words = bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    if bytes.len() != 4 * N {
        return None;
    }
    Some(std::array::from_fn(|_| words.next().unwrap_or_default()))
}
