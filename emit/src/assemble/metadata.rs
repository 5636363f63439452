//! `.amdgpu_metadata`: the YAML document of a code object's metadata, to MessagePack in a note. Maps are sorted by key, as LLVM does.

use super::{Assembler, Result, at, fail};
use crate::object::write_note;
use mir::abi::Document;
use mir::abi::metadata::{NOTE_NAME, NOTE_TYPE};
use object::elf as raw;
use std::borrow::Cow;

impl<'a> Assembler<'a, '_> {
    /// Writes the note for the lines that have been read.
    pub(super) fn end_metadata(&mut self) -> Result {
        let lines = self.open_metadata.take().unwrap_or_default();
        let text = lines.iter().flat_map(|(_, line)| [*line, "\n"]).collect::<String>();
        let document = Document::from_yaml(&text).and_then(|mut d| d.sort_keys().map(|()| d));
        let bytes = document.and_then(|d| d.to_msgpack()).map_err(at(0))?;
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
