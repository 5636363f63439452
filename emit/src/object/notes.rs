//! Records of note sections and segments.
//!
//! A record is three dwords (bytes of the owner's name with its NUL, bytes of the description, type), the name, and the description, both
//! padded to whole dwords. Source: ELF's generic ABI, "Note Section"; AMD's notes have dwords in 64-bit files, too.

use mir::{Diagnostic, Result};

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// Who defines the type.
    pub owner: &'a [u8],
    /// Type.
    pub kind: u32,
    /// Description.
    pub description: &'a [u8],
}

/// The records of `bytes`. What is damaged ends the list, with an error.
pub fn read(bytes: &[u8]) -> Vec<Result<Note<'_>>> {
    let mut out = Vec::new();
    let mut rest = bytes;
    // What is left may be padding.
    while rest.iter().any(|byte| *byte != 0) {
        match first(rest) {
            Some((note, behind)) => {
                out.push(Ok(note));
                rest = behind;
            }
            None => {
                let at = bytes.len() - rest.len();
                out.push(Err(Diagnostic::malformed(format!("the note at {at:#x} is not complete"))));
                break;
            }
        }
    }
    out
}

/// The first record, and what is behind it.
fn first(bytes: &[u8]) -> Option<(Note<'_>, &[u8])> {
    let dword = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (name_bytes, description_bytes, kind) = (dword(0)? as usize, dword(4)? as usize, dword(8)?);
    let rest = bytes.get(12..)?;
    let owner = rest.get(..name_bytes)?;
    let owner = owner.strip_suffix(&[0]).unwrap_or(owner);
    let rest = rest.get(name_bytes.checked_next_multiple_of(4)?..)?;
    let description = rest.get(..description_bytes)?;
    // The last one's padding may be missing.
    let behind = description_bytes.checked_next_multiple_of(4)?.min(rest.len());
    Some((Note { owner, kind, description }, &rest[behind..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_read_back() {
        let mut bytes = Vec::new();
        crate::object::write_note(&mut bytes, "AMD", 11, b"amdgcn");
        crate::object::write_note(&mut bytes, "AMDGPU", 32, b"");
        let note =
            |owner: &'static [u8], kind, description: &'static [u8]| Ok(Note { owner, kind, description });
        assert_eq!(read(&bytes), [note(b"AMD", 11, b"amdgcn"), note(b"AMDGPU", 32, b"")]);
        assert_eq!(read(&[&bytes[..], &[0; 8]].concat()).len(), 2);
        assert!(read(&bytes[..bytes.len() - 9]).last().is_some_and(Result::is_err));
        assert!(read(&[0xff; 40])[0].is_err());
    }
}
