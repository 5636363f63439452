//! `.amdgpu_metadata`: the YAML document of a code object's metadata, to MessagePack in a note. Maps are sorted by key, as LLVM does.
//! `.amd_amdgpu_hsa_metadata`: that of code objects V2, which the note holds as text.

use super::{Assembler, Result, at, fail};
use crate::object::write_note;
use mir::abi::Document;
use mir::abi::metadata::{NOTE_NAME, NOTE_TYPE};
use mir::abi::metadata_v2;
use object::elf as raw;
use std::borrow::Cow;

/// How a note holds metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// MessagePack.
    Binary,
    /// Text: V2.
    Text,
}

impl Form {
    /// The form that a directive begins.
    pub fn of(directive: &str) -> Option<Self> {
        match directive {
            ".amdgpu_metadata" => Some(Self::Binary),
            ".amd_amdgpu_hsa_metadata" => Some(Self::Text),
            _ => None,
        }
    }

    /// The directive that ends it.
    pub fn end(self) -> &'static str {
        match self {
            Self::Binary => ".end_amdgpu_metadata",
            Self::Text => ".end_amd_amdgpu_hsa_metadata",
        }
    }
}

/// Metadata that is being read.
#[derive(Clone, Debug)]
pub(super) struct OpenMetadata<'a> {
    /// What it becomes.
    pub form: Form,
    /// Its lines with their numbers.
    pub lines: Vec<(u32, &'a str)>,
}

impl<'a> Assembler<'a, '_> {
    /// Writes the note for the lines that have been read.
    pub(super) fn end_metadata(&mut self) -> Result {
        let Some(OpenMetadata { form, lines }) = self.open_metadata.take() else { return Ok(()) };
        let text = lines.iter().flat_map(|(_, line)| [*line, "\n"]).collect::<String>();
        let mut document = Document::from_yaml(&text).map_err(at(0))?;
        if form == Form::Text {
            return self.add_note(metadata_v2::NOTE_METADATA, document.to_yaml_v2().as_bytes());
        }
        document.sort_keys().map_err(at(0))?;
        let bytes = document.to_msgpack().map_err(at(0))?;
        let section = self.section_called(Cow::Borrowed(".note"));
        let section = &mut self.image.sections[section.0];
        if section.kind != raw::SHT_NOTE {
            return fail(0, "section .note holds something else");
        }
        // The loader reads it from the linked object's segments.
        section.flags |= raw::SHF_ALLOC;
        section.align_to(4, &[0]);
        write_note(&mut section.data, NOTE_NAME, NOTE_TYPE, &bytes);
        Ok(())
    }
}
