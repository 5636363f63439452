//! The binary form: a table of offsets, sizes and targets, then the parts.
//!
//! | bytes | meaning |
//! |---|---|
//! | 24 | `__CLANG_OFFLOAD_BUNDLE__` |
//! | 8 | number of parts |
//! | for each: 8, 8, 8, n | offset of the part from the start, its size, length n of its target, the target |
//!
//! All numbers are little-endian.

use super::{MAX_PARTS, Part, malformed, slice, word};
use mir::{Diagnostic, Result};
use std::borrow::Cow;

/// What a bundle begins with.
pub const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";

/// Most bytes of a target.
const MAX_TARGET_BYTES: u64 = 4096;

/// Whether `bytes` begin as a bundle does.
pub fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The parts of the bundle at the start of `bytes`, and how many bytes it takes.
///
/// # Errors
/// A table or parts that the bytes do not hold ([`mir::ErrorKind::Malformed`]); more parts than [`MAX_PARTS`]
/// ([`mir::ErrorKind::Limit`]).
pub fn read_prefix(bytes: &[u8]) -> Result<(Vec<Part<'_>>, usize)> {
    if !is_bundle(bytes) {
        return malformed("this is no offload bundle");
    }
    let Some(count) = word(bytes, MAGIC.len()) else { return malformed("the bundle ends in its header") };
    if count > MAX_PARTS {
        return Err(Diagnostic::limit(format!("a bundle of {count} parts, at most {MAX_PARTS} are read")));
    }
    let mut at = MAGIC.len() + 8;
    let mut parts = Vec::new();
    let (mut first, mut end) = (usize::MAX, at);
    let mut left = bytes.len();
    for index in 0..count {
        let header = (word(bytes, at), word(bytes, at + 8), word(bytes, at + 16));
        let (Some(offset), Some(size), Some(length)) = header else {
            return malformed(format!("the bundle ends in the table's entry {index}"));
        };
        at += 24;
        let target = slice(bytes, at as u64, length).filter(|_| length <= MAX_TARGET_BYTES);
        let Some(target) = target.and_then(|target| std::str::from_utf8(target).ok()) else {
            return malformed(format!("the target of part {index} is no text inside of the bundle"));
        };
        at += target.len();
        let Some(contents) = slice(bytes, offset, size) else {
            return malformed(format!(
                "part {index} for {target} is {size:#x} bytes at {offset:#x}, the bundle has {:#x}",
                bytes.len()
            ));
        };
        // Parts that share bytes would make a small file a large one.
        let Some(rest) = left.checked_sub(contents.len()) else {
            return malformed("parts of the bundle overlap");
        };
        left = rest;
        end = end.max(offset as usize + contents.len());
        if !contents.is_empty() {
            first = first.min(offset as usize);
        }
        parts.push(Part { target: Cow::Borrowed(target), contents: Cow::Borrowed(contents) });
    }
    if first < at {
        return malformed("a part overlaps the bundle's table");
    }
    Ok((parts, end.max(at)))
}

/// The parts of a bundle.
///
/// # Errors
/// Those of [`read_prefix`].
pub fn read(bytes: &[u8]) -> Result<Vec<Part<'_>>> {
    read_prefix(bytes).map(|(parts, _)| parts)
}

/// The bundle of `parts`, each at a multiple of `align` bytes.
///
/// # Errors
/// An alignment that is no power of two, or above 1 GiB ([`mir::ErrorKind::Malformed`]).
pub fn write(parts: &[Part<'_>], align: u64) -> Result<Vec<u8>> {
    if !align.is_power_of_two() || align > 1 << 30 {
        return malformed(format!("parts cannot be aligned to {align} bytes"));
    }
    let table: u64 = parts.iter().map(|part| 24 + part.target.len() as u64).sum();
    let mut end = MAGIC.len() as u64 + 8 + table;
    let mut out = MAGIC.to_vec();
    out.extend((parts.len() as u64).to_le_bytes());
    let mut offsets = Vec::with_capacity(parts.len());
    for part in parts {
        end = end.next_multiple_of(align);
        offsets.push(end as usize);
        for number in [end, part.contents.len() as u64, part.target.len() as u64] {
            out.extend(number.to_le_bytes());
        }
        out.extend_from_slice(part.target.as_bytes());
        end += part.contents.len() as u64;
    }
    for (part, offset) in parts.iter().zip(offsets) {
        out.resize(offset, 0);
        out.extend_from_slice(&part.contents);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(target: &'static str, contents: &'static [u8]) -> Part<'static> {
        Part { target: target.into(), contents: contents.into() }
    }

    /// The bytes that clang-offload-bundler 22 writes.
    #[test]
    fn bytes_are_those_of_clang() {
        let parts = [
            part("host-x86_64-unknown-linux-unknown-", b""),
            part("hipv4-amdgcn-amd-amdhsa--gfx900", b"dev1xx"),
        ];
        let bytes = write(&parts, 1).expect("writable");
        assert_eq!(bytes.len(), 0x97);
        assert_eq!(
            bytes[0x20..0x38],
            [0x91, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x22, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(&bytes[0x91..], b"dev1xx");
        assert_eq!(read_prefix(&[&bytes[..], b"more"].concat()).expect("readable"), (parts.to_vec(), 0x97));
        let aligned = write(&parts, 4096).expect("writable");
        assert_eq!((aligned.len(), read(&aligned)), (0x1006, Ok(parts.to_vec())));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let bytes = write(&[part("hip-amdgcn-amd-amdhsa--gfx900", b"code")], 1).expect("writable");
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
        let with = |at: usize, value: u64| {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            read(&bytes).map(|_| ())
        };
        for (at, value) in
            [(24, 2), (24, u64::MAX), (32, u64::MAX), (32, 8), (40, 5), (40, u64::MAX), (48, 1 << 40)]
        {
            assert!(with(at, value).is_err(), "{value:#x} at {at}");
        }
        assert_eq!(with(40, 3), Ok(()));
        assert!(write(&[], 3).is_err());
    }
}
