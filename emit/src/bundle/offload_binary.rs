//! Offload binaries: an image with strings that say what it is for. Several follow each other in one file or section.
//!
//! | bytes | meaning |
//! |---|---|
//! | 4 | 10 ff 10 ad |
//! | 4 | version: 1 |
//! | 8, 8, 8 | size of all, padding included; offset and size of the entry |
//!
//! and the entry
//!
//! | bytes | meaning |
//! |---|---|
//! | 2, 2, 4 | kind of image, kind of offloading, flags |
//! | 8, 8 | offset of the strings' table, number of its rows: offsets of key and value, each ended by a NUL |
//! | 8, 8 | offset and size of the image |
//!
//! All numbers are little-endian, offsets count from the start of the binary, which is at a multiple of eight bytes.

use super::{MAX_PARTS, array, malformed, slice, word};
use mir::{Diagnostic, Result};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What an offload binary begins with.
pub const MAGIC: &[u8; 4] = b"\x10\xff\x10\xad";

/// The version that is read and written.
const VERSION: u32 = 1;
/// Binaries and their images begin at multiples of it.
const ALIGN: usize = 8;
const HEADER_BYTES: usize = 32;
const ENTRY_BYTES: usize = 40;
const ROW_BYTES: usize = 16;

/// Kinds of images, by number.
const IMAGE_KINDS: [&str; 7] = ["none", "object", "bitcode", "cubin", "fatbinary", "ptx", "spir-v"];

/// Kinds of offloading: number and name.
const OFFLOAD_KINDS: [(u16, &str); 5] = [(0, "none"), (1, "openmp"), (2, "cuda"), (4, "hip"), (8, "sycl")];

/// An offload binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadBinary<'a> {
    /// What the image is; see [`Self::image_kind_name`].
    pub image_kind: u16,
    /// Who offloads; see [`Self::offload_kind_name`].
    pub offload_kind: u16,
    /// Flags; none are defined for images that are read here.
    pub flags: u32,
    /// `triple`, `arch` and others with their values, in the order of the file.
    pub strings: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The image.
    pub image: Cow<'a, [u8]>,
}

/// Whether `bytes` begin as an offload binary does.
pub fn is_offload_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The number of the kind of offloading called `name`.
pub fn offload_kind(name: &str) -> Option<u16> {
    let name = if name == "hipv4" { "hip" } else { name };
    OFFLOAD_KINDS.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// What kind of image `contents` are by their first bytes.
pub fn image_kind(contents: &[u8]) -> u16 {
    match contents {
        [0x7f, b'E', b'L', b'F', ..] => 1,
        [b'B', b'C', 0xc0, 0xde, ..] => 2,
        [3, 2, 0x23, 7, ..] => 6,
        _ => 0,
    }
}

impl OffloadBinary<'_> {
    /// Name of the kind of image.
    pub fn image_kind_name(&self) -> &'static str {
        IMAGE_KINDS.get(usize::from(self.image_kind)).copied().unwrap_or("unknown")
    }

    /// Name of the kind of offloading.
    pub fn offload_kind_name(&self) -> &'static str {
        OFFLOAD_KINDS
            .iter()
            .find(|(number, _)| *number == self.offload_kind)
            .map_or("unknown", |(_, name)| name)
    }

    /// The value of a string.
    pub fn string(&self, key: &str) -> Option<&str> {
        self.strings.iter().find(|(known, _)| known == key).map(|(_, value)| &**value)
    }
}

/// The string at `at`, up to its NUL.
fn string(bytes: &[u8], at: u64) -> Option<&str> {
    let text = bytes.get(usize::try_from(at).ok()?..)?;
    let end = text.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&text[..end]).ok()
}

/// The offload binary at the start of `bytes`, and how many bytes it takes.
///
/// # Errors
/// Another version, a table or an image that the bytes do not hold ([`mir::ErrorKind::Malformed`]), too many strings
/// ([`mir::ErrorKind::Limit`]).
pub fn read_prefix(bytes: &[u8]) -> Result<(OffloadBinary<'_>, usize)> {
    let version = array(bytes, 4).map(u32::from_le_bytes);
    let header = (word(bytes, 8), word(bytes, 16), word(bytes, 24));
    let (Some(version), (Some(size), Some(entry_offset), Some(entry_bytes))) = (version, header) else {
        return malformed("the offload binary ends in its header");
    };
    if !is_offload_binary(bytes) || version != VERSION {
        return malformed(format!("an offload binary of version {version}, not {VERSION}"));
    }
    let Some(all) = slice(bytes, 0, size).filter(|all| all.len() >= HEADER_BYTES) else {
        return malformed(format!("the offload binary is {size:#x} bytes, {:#x} are there", bytes.len()));
    };
    let entry = slice(all, entry_offset, entry_bytes).filter(|entry| entry.len() >= ENTRY_BYTES);
    let number = |at| entry.and_then(|entry| word(entry, at));
    let (Some(kinds), Some(table), Some(rows)) = (number(0), number(8), number(16)) else {
        return malformed("the entry of the offload binary is outside of it");
    };
    let image = number(24).zip(number(32)).and_then(|(offset, size)| slice(all, offset, size));
    let Some(image) = image else { return malformed("the image of the offload binary is outside of it") };
    if rows > MAX_PARTS {
        return Err(Diagnostic::limit(format!(
            "{rows} strings in an offload binary, at most {MAX_PARTS} are read"
        )));
    }
    let Some(table) = rows.checked_mul(ROW_BYTES as u64).and_then(|size| slice(all, table, size)) else {
        return malformed("the strings of the offload binary are outside of it");
    };
    let mut strings = Vec::new();
    let mut left = all.len();
    for row in table.chunks_exact(ROW_BYTES) {
        let text = |at| word(row, at).and_then(|offset| string(all, offset));
        let (Some(key), Some(value)) = (text(0), text(8)) else {
            return malformed("a string of the offload binary is outside of it, or no text");
        };
        // Rows may share strings, but not so many that reading them takes longer than reading the file.
        left = left.checked_sub(key.len() + value.len()).ok_or_else(|| {
            Diagnostic::malformed("the strings of the offload binary are longer than all of it")
        })?;
        strings.push((Cow::Borrowed(key), Cow::Borrowed(value)));
    }
    let image_kind = kinds as u16;
    let offload_kind = (kinds >> 16) as u16;
    let flags = (kinds >> 32) as u32;
    Ok((OffloadBinary { image_kind, offload_kind, flags, strings, image: Cow::Borrowed(image) }, all.len()))
}

/// All offload binaries that follow each other in `bytes`; zeros between them are padding.
///
/// # Errors
/// Those of [`read_prefix`].
pub fn read(bytes: &[u8]) -> Result<Vec<OffloadBinary<'_>>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (binary, size) = read_prefix(&bytes[at..])?;
        out.push(binary);
        at += size;
        at += bytes[at..].iter().take_while(|byte| **byte == 0).count();
    }
    Ok(out)
}

/// Strings in one table, a string that ends another sharing its bytes: those that are longer come first among equal ends, as LLVM's
/// tables have them. Gives the table and the offset of each string.
fn string_table<'s>(strings: &[&'s str]) -> (Vec<u8>, BTreeMap<&'s str, usize>) {
    let mut order: Vec<&str> = strings.to_vec();
    order.sort_by(|a, b| b.bytes().rev().cmp(a.bytes().rev()));
    order.dedup();
    let mut table = vec![0];
    let mut offsets = BTreeMap::new();
    let mut before: Option<(&str, usize)> = None;
    for text in order {
        let offset = match before {
            Some((longer, at)) if longer.ends_with(text) => at + longer.len() - text.len(),
            _ => {
                let at = table.len();
                table.extend_from_slice(text.as_bytes());
                table.push(0);
                before = Some((text, at));
                at
            }
        };
        offsets.insert(text, offset);
    }
    (table, offsets)
}

/// The bytes of `binary`, padded so that another can follow.
pub fn write(binary: &OffloadBinary<'_>) -> Vec<u8> {
    let strings: Vec<&str> = binary.strings.iter().flat_map(|(key, value)| [&**key, &**value]).collect();
    let (table, offsets) = string_table(&strings);
    let rows_at = HEADER_BYTES + ENTRY_BYTES;
    let table_at = rows_at + ROW_BYTES * binary.strings.len();
    let image_at = (table_at + table.len()).next_multiple_of(ALIGN);
    let size = (image_at + binary.image.len()).next_multiple_of(ALIGN);
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    let mut numbers = |numbers: &[usize]| numbers.iter().for_each(|n| out.extend((*n as u64).to_le_bytes()));
    numbers(&[size, HEADER_BYTES, ENTRY_BYTES]);
    out.extend(binary.image_kind.to_le_bytes());
    out.extend(binary.offload_kind.to_le_bytes());
    out.extend(binary.flags.to_le_bytes());
    let mut numbers = |numbers: &[usize]| numbers.iter().for_each(|n| out.extend((*n as u64).to_le_bytes()));
    numbers(&[rows_at, binary.strings.len(), image_at, binary.image.len()]);
    for text in strings {
        numbers(&[table_at + offsets.get(text).copied().unwrap_or_default()]);
    }
    out.extend_from_slice(&table);
    out.resize(image_at, 0);
    out.extend_from_slice(&binary.image);
    out.resize(size, 0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> OffloadBinary<'static> {
        OffloadBinary {
            image_kind: 0,
            offload_kind: 4,
            flags: 0,
            strings: vec![("triple".into(), "amdgcn-amd-amdhsa".into()), ("arch".into(), "gfx900".into())],
            image: Cow::Borrowed(b"hello image"),
        }
    }

    /// The bytes that llvm-offload-binary 22 writes.
    #[test]
    fn bytes_are_those_of_llvm() {
        let bytes = write(&sample());
        assert_eq!(bytes.len(), 0xa0);
        assert_eq!(&bytes[0x68..0x90], b"\0arch\0triple\0amdgcn-amd-amdhsa\0gfx900\0\0\0");
        assert_eq!((bytes[0x48], bytes[0x50], bytes[0x58], bytes[0x60]), (0x6e, 0x75, 0x69, 0x87));
        let two = [&bytes[..], &bytes[..]].concat();
        assert_eq!(read(&two), Ok(vec![sample(), sample()]));
        assert_eq!((sample().offload_kind_name(), sample().image_kind_name()), ("hip", "none"));
        assert_eq!(sample().string("arch"), Some("gfx900"));
    }

    #[test]
    fn strings_share_their_ends() {
        let (table, offsets) = string_table(&["b", "ab", "c", "ab", ""]);
        assert_eq!(table, b"\0c\0ab\0");
        assert_eq!((offsets["b"], offsets["ab"], offsets["c"]), (4, 3, 1));
        assert_eq!(table[offsets[""]], 0);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let bytes = write(&sample());
        for length in 0..bytes.len() {
            assert!(read_prefix(&bytes[..length]).is_err(), "{length}");
        }
        for at in [4, 8, 16, 24, 40, 48, 56, 64, 72, 80] {
            let mut damaged = bytes.clone();
            damaged[at..at + 4].copy_from_slice(&[0xff; 4]);
            assert!(read_prefix(&damaged).is_err(), "{at}");
        }
    }
}
