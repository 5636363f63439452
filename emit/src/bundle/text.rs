//! The form for sources: each part between two comments.
//!
//! ```text
//! (empty line)
//! # __CLANG_OFFLOAD_BUNDLE____START__ TARGET
//! ...
//! (empty line)
//! # __CLANG_OFFLOAD_BUNDLE____END__ TARGET
//! ```
//!
//! The comment begins as in the part's language ([`comment`]).

use super::{MAX_PARTS, Part, malformed};
use mir::{Diagnostic, Result};
use std::borrow::Cow;

const START: &str = "__CLANG_OFFLOAD_BUNDLE____START__ ";
const END: &str = "__CLANG_OFFLOAD_BUNDLE____END__ ";

/// What comments begin with in files of a type, as `-type=` names it; `None` where bundles have the binary form.
pub fn comment(kind: &str) -> Option<&'static str> {
    match kind {
        "i" | "ii" | "cui" | "hipi" | "d" => Some("//"),
        "ll" => Some(";"),
        "s" => Some("#"),
        _ => None,
    }
}

/// Whether `text` has a part behind a comment that begins with `comment`.
pub fn is_bundle(text: &[u8], comment: &str) -> bool {
    position(text, format!("\n{comment} {START}").as_bytes()).is_some()
}

/// The bundle of `parts`.
pub fn write(parts: &[Part<'_>], comment: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for Part { target, contents } in parts {
        out.extend(format!("\n{comment} {START}{target}\n").into_bytes());
        out.extend_from_slice(contents);
        out.extend(format!("\n{comment} {END}{target}\n").into_bytes());
    }
    out
}

/// The parts of a bundle; text between them belongs to none.
///
/// # Errors
/// A part without an end, or whose end names another target ([`mir::ErrorKind::Malformed`]), too many parts
/// ([`mir::ErrorKind::Limit`]).
pub fn read<'a>(text: &'a [u8], comment: &str) -> Result<Vec<Part<'a>>> {
    let (start, end) = (format!("\n{comment} {START}"), format!("\n{comment} {END}"));
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = position(rest, start.as_bytes()) {
        if parts.len() as u64 == MAX_PARTS {
            return Err(Diagnostic::limit(format!("a bundle of more than {MAX_PARTS} parts")));
        }
        let (target, behind) = line(&rest[at + start.len()..])?;
        let Some(length) = position(behind, end.as_bytes()) else {
            return malformed(format!("the part for {target} has no end"));
        };
        let (closed, behind_end) = line(&behind[length + end.len()..])?;
        if closed != target {
            return malformed(format!("the part for {target} ends as one for {closed}"));
        }
        parts.push(Part { target: Cow::Borrowed(target), contents: Cow::Borrowed(&behind[..length]) });
        // The line's end may be the beginning of the next part.
        rest = behind_end;
    }
    Ok(parts)
}

/// The line at the start of `text`, and what is behind it, its end included where there is more.
fn line(text: &[u8]) -> Result<(&str, &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let Ok(line) = std::str::from_utf8(&text[..end]) else {
        return malformed("the target of a part is no text");
    };
    Ok((line, text.get(end + 1..).unwrap_or_default()))
}

/// Where `wanted` first occurs in `text`.
fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    // All that is looked for begins with a line's end, which is rare enough.
    let (first, _) = wanted.split_first()?;
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|byte| byte == first) {
        if text[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        let part =
            |target: &'static str, text: &'static [u8]| Part { target: target.into(), contents: text.into() };
        let parts = [
            part("host-x86_64-unknown-linux-unknown-", b"int x;\n"),
            part("hip-amdgcn-amd-amdhsa--gfx900", b""),
        ];
        let text = write(&parts, "#");
        // As clang-offload-bundler 22 writes it.
        assert!(text.starts_with(b"\n# __CLANG_OFFLOAD_BUNDLE____START__ host-x86_64-unknown-linux-unknown-\nint x;\n\n# __CLANG_OFFLOAD_BUNDLE____END__"));
        assert!(is_bundle(&text, "#") && !is_bundle(&text, "//"));
        assert_eq!(read(&text, "#"), Ok(parts.to_vec()));
        assert_eq!(read(&text, "//"), Ok(vec![]));
        assert!(read(&text[..text.len() - 60], "#").is_err());
        let renamed = String::from_utf8(text).expect("text").replace("END__ hip", "END__ hop");
        assert!(read(renamed.as_bytes(), "#").is_err());
    }
}
