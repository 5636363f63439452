//! Files of files: archives, bundles, host objects; and what is no ELF file.

use super::records::{Amdil, Archive, Bundle, HostObject, Report, SectionBundle};
use super::{MAX_DEPTH, MAX_FILES, MAX_UNCOMPRESSED_BYTES, object};
use crate::bundle::{self, Container, Found, compressed};
use ::object::elf;

/// Tells all that `bytes`, a file, says. It never fails: what is nothing known is [`Report::Unknown`].
pub fn inspect(bytes: &[u8]) -> Report {
    let mut budget = Budget { files: MAX_FILES, bytes: MAX_UNCOMPRESSED_BYTES };
    open(bytes, 0, &mut budget)
}

/// What may still be opened.
struct Budget {
    files: usize,
    /// Bytes that may be decompressed.
    bytes: u64,
}

/// The report of `bytes`, a file that is inside of `depth` others; so deep goes the recursion.
fn open(bytes: &[u8], depth: usize, budget: &mut Budget) -> Report {
    let size = bytes.len() as u64;
    if depth > MAX_DEPTH || budget.files == 0 {
        let problem = "not opened: too many files, or too deep inside of others".to_owned();
        return Report::Unknown { size, problems: vec![problem] };
    }
    budget.files -= 1;
    if bytes.starts_with(b"\x7fELF") {
        return elf_file(bytes, depth, budget);
    }
    if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") {
        return archive(bytes, depth, budget);
    }
    if bundle::find::container_of(bytes).is_some() {
        let found = bundle::find(bytes);
        let bundles = found.iter().map(|found| bundle_of(found, depth, budget)).collect();
        return Report::Bundles { bundles };
    }
    if bytes.starts_with(b"BC\xc0\xde") {
        return Report::Bitcode { size };
    }
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text_file(text, depth, budget))
        .unwrap_or(Report::Unknown { size, problems: Vec::new() })
}

/// AMDIL's metadata, or a bundle of sources.
fn text_file(text: &str, depth: usize, budget: &mut Budget) -> Option<Report> {
    for comment in ["#", "//", ";"] {
        if !bundle::text::is_bundle(text.as_bytes(), comment) {
            continue;
        }
        let mut report = empty_bundle("text bundle", 0, text.len());
        match bundle::text::read(text.as_bytes(), comment) {
            Ok(parts) => report.parts.extend(
                parts.iter().map(|part| (part.target.to_string(), open(&part.contents, depth + 1, budget))),
            ),
            Err(error) => report.problems.push(error.to_string()),
        }
        return Some(Report::Bundles { bundles: vec![report] });
    }
    if !text.contains(";ARGSTART:") && !text.contains(";#DATASTART") {
        return None;
    }
    Some(match mir::abi::amdil::parse(text) {
        Ok(unit) => Report::Amdil {
            kernels: unit
                .kernels
                .into_iter()
                .map(|kernel| Amdil {
                    name: kernel.name,
                    tokens: kernel.tokens.iter().map(ToString::to_string).collect(),
                })
                .collect(),
            data: unit.data.iter().map(|segment| (segment.buffer, segment.bytes)).collect(),
        },
        Err(error) => Report::Unknown { size: text.len() as u64, problems: vec![error.to_string()] },
    })
}

fn elf_file(bytes: &[u8], depth: usize, budget: &mut Budget) -> Report {
    // `e_machine`, in the byte order that the identification names.
    let field = [bytes.get(18).copied().unwrap_or(0), bytes.get(19).copied().unwrap_or(0)];
    let machine =
        if bytes.get(5) == Some(&2) { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) };
    if machine == elf::EM_AMDGPU.0 {
        return object::report(bytes);
    }
    let found = bundle::find(bytes);
    let bundles = found
        .iter()
        .map(|found| SectionBundle { section: found.place.clone(), bundle: bundle_of(found, depth, budget) })
        .collect();
    Report::HostObject(HostObject { machine, bundles })
}

fn archive(bytes: &[u8], depth: usize, budget: &mut Budget) -> Report {
    let mut out = Archive { members: Vec::new(), problems: Vec::new() };
    let archive = match ::object::read::archive::ArchiveFile::parse(bytes) {
        Ok(archive) => archive,
        Err(error) => {
            out.problems.push(error.to_string());
            return Report::Archive(out);
        }
    };
    for member in archive.members() {
        let member = match member {
            Ok(member) => member,
            Err(error) => {
                out.problems.push(error.to_string());
                break;
            }
        };
        if budget.files == 0 {
            out.problems.push(format!("only the first {} members are opened", out.members.len()));
            break;
        }
        let name = String::from_utf8_lossy(member.name()).into_owned();
        match (archive.is_thin(), member.data(bytes)) {
            (true, _) => out.problems.push(format!("{name} is not in this thin archive")),
            (false, Ok(data)) => out.members.push((name, open(data, depth + 1, budget))),
            (false, Err(error)) => out.problems.push(format!("{name}: {error}")),
        }
    }
    Report::Archive(out)
}

fn empty_bundle(format: &'static str, offset: usize, size: usize) -> Bundle {
    let (offset, size) = (offset as u64, size as u64);
    Bundle { format, offset, size, compression: None, parts: Vec::new(), problems: Vec::new() }
}

fn bundle_of(found: &Found<'_>, depth: usize, budget: &mut Budget) -> Bundle {
    let format = match found.container {
        Container::Plain => "bundle",
        Container::Compressed => "compressed bundle",
        Container::OffloadBinary => "offload binary",
        Container::Section => "section",
    };
    let mut out = empty_bundle(format, found.offset, found.bytes.len());
    if found.container == Container::Compressed {
        let header = compressed::Header::read(found.bytes);
        out.compression = header.map(|header| (header.version, header.method.name(), header.bundle_bytes));
    }
    match found.parts_within(budget.bytes) {
        Ok((parts, bytes)) => {
            budget.bytes -= bytes.min(budget.bytes);
            for part in parts {
                out.parts.push((part.target.into_owned(), open(&part.contents, depth + 1, budget)));
            }
        }
        Err(error) => {
            // What is found wrong behind decompression has cost as much.
            let bytes = out.compression.map_or(0, |(_, _, bytes)| bytes);
            budget.bytes -= bytes.min(budget.bytes);
            out.problems.push(error.to_string());
        }
    }
    out
}
