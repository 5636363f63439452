//! Looks for bundles: in a file that is one, or several behind each other, and in the sections of host objects that hold them.

use super::{MAX_UNCOMPRESSED_BYTES, Part, compressed, offload_binary, plain};
use mir::Result;
use object::{Object, ObjectSection};

/// The format of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// [`plain`].
    Plain,
    /// [`compressed`].
    Compressed,
    /// [`offload_binary`].
    OffloadBinary,
    /// A section of a host object that holds one part by itself; its name says for whom.
    Section,
}

/// A bundle inside of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// Its format.
    pub container: Container,
    /// The section that holds it; empty where the file is no object. For [`Container::Section`], the target.
    pub place: String,
    /// Byte offset in the section or the file.
    pub offset: usize,
    /// Its bytes, and all that is behind it where it does not say where it ends.
    pub bytes: &'a [u8],
}

impl Found<'_> {
    /// The parts, and how many bytes were decompressed for them. A part of an offload binary is named as one of a bundle would be.
    ///
    /// # Errors
    /// Those of the format's reader.
    pub fn parts(&self) -> Result<(Vec<Part<'static>>, u64)> {
        self.parts_within(MAX_UNCOMPRESSED_BYTES)
    }

    /// The same, refusing to decompress more than `most` bytes.
    ///
    /// # Errors
    /// Those of the format's reader.
    pub fn parts_within(&self, most: u64) -> Result<(Vec<Part<'static>>, u64)> {
        let owned = |parts: Vec<Part<'_>>| parts.into_iter().map(Part::into_owned).collect();
        Ok(match self.container {
            Container::Plain => (owned(plain::read(self.bytes)?), 0),
            Container::Compressed => {
                let bundle = compressed::decompress_within(self.bytes, most)?;
                (owned(plain::read(&bundle)?), bundle.len() as u64)
            }
            Container::OffloadBinary => {
                let (binary, _) = offload_binary::read_prefix(self.bytes)?;
                let (kind, triple) =
                    (binary.offload_kind_name(), binary.string("triple").unwrap_or_default());
                // Four parts, whatever the triple leaves out.
                let missing = 3usize.saturating_sub(triple.matches('-').count());
                let arch = binary.string("arch").unwrap_or_default();
                let target = format!("{kind}-{triple}{}-{arch}", "-".repeat(missing));
                (owned(vec![Part { target: target.into(), contents: binary.image }]), 0)
            }
            Container::Section => {
                (owned(vec![Part { target: self.place.as_str().into(), contents: self.bytes.into() }]), 0)
            }
        })
    }
}

/// Sections of host objects that hold bundles. Sources: clang's documentation, "Offloading Design" and "HIP Support".
const SECTIONS: [&str; 2] = [".hip_fatbin", ".llvm.offloading"];

/// What the names of sections begin with that hold a part for the target behind it. Source: clang's documentation, "Clang Offload
/// Bundler", bundles of objects.
const SECTION_OF_TARGET: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// The format that `bytes` begin with.
pub fn container_of(bytes: &[u8]) -> Option<Container> {
    if plain::is_bundle(bytes) {
        Some(Container::Plain)
    } else if compressed::Header::read(bytes).is_some() {
        Some(Container::Compressed)
    } else if offload_binary::is_offload_binary(bytes) {
        Some(Container::OffloadBinary)
    } else {
        None
    }
}

/// The bundles in `bytes`: a file of bundles, or an object of any machine. What is no such file has none.
pub fn find(bytes: &[u8]) -> Vec<Found<'_>> {
    if container_of(bytes).is_some() {
        return scan(bytes, "");
    }
    let Ok(file) = object::File::parse(bytes) else { return Vec::new() };
    let mut out = Vec::new();
    for section in file.sections() {
        let (Ok(name), Ok(data)) = (section.name(), section.data()) else { continue };
        if SECTIONS.contains(&name) {
            out.append(&mut scan(data, name));
        } else if let Some(target) = name.strip_prefix(SECTION_OF_TARGET) {
            let (container, place) = (Container::Section, target.to_owned());
            out.push(Found { container, place, offset: 0, bytes: data });
        }
    }
    out
}

/// The bundles in `bytes` that follow each other, with anything between. One that is damaged, or does not tell its size, takes all
/// that is left.
fn scan<'a>(bytes: &'a [u8], place: &str) -> Vec<Found<'a>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let Some(container) = container_of(&bytes[at..]) else {
            at += 1;
            continue;
        };
        let rest = &bytes[at..];
        let size = match container {
            Container::Plain => plain::read_prefix(rest).ok().map(|(_, size)| size),
            Container::Compressed => compressed::Header::read(rest).and_then(|header| {
                usize::try_from(header.file_bytes?).ok().filter(|size| *size >= header.size())
            }),
            Container::OffloadBinary => offload_binary::read_prefix(rest).ok().map(|(_, size)| size),
            Container::Section => None,
        };
        let found = size.and_then(|size| rest.get(..size)).unwrap_or(rest);
        out.push(Found { container, place: place.to_owned(), offset: at, bytes: found });
        at += found.len().max(1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;

    #[test]
    fn bundles_are_found_behind_each_other() {
        let part = Part { target: "hip-amdgcn-amd-amdhsa--gfx900".into(), contents: b"code"[..].into() };
        let plain = plain::write(&[part], 1).expect("writable");
        let packed = compressed::compress(&plain, compressed::Method::Zstd, 3).expect("writable");
        let mut bytes = [&plain[..], &[0; 50], &packed, &[0; 3]].concat();
        let found = |bytes: &[u8]| -> Vec<_> {
            find(bytes).into_iter().map(|f| (f.container, f.offset, f.bytes.len())).collect()
        };
        let second = plain.len() + 50;
        let wanted = [(Container::Plain, 0, plain.len()), (Container::Compressed, second, packed.len())];
        assert_eq!(found(&bytes), wanted);
        // Without an end, it takes what is left.
        bytes[40] = 0xff;
        assert_eq!(found(&bytes), [(Container::Plain, 0, bytes.len())]);
        assert_eq!(found(b"nothing of the kind"), []);
    }
}
