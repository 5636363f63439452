//! Archives as they are written: GNU's form, with a table of symbols where all members are ELF objects, deterministic (no times, users or modes).
//!
//! Source: the manual of `ar` and what llvm-ar writes.

use mir::{Diagnostic, Result};
use object::{Object as _, ObjectSymbol as _};
use std::borrow::Cow;

/// What every archive starts with, but for thin ones.
const MAGIC: &[u8] = b"!<arch>\n";
/// Longest name that a header holds, with the `/` behind it.
const SHORT_NAME_BYTES: usize = 15;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Name, without a folder.
    pub name: String,
    /// Contents.
    pub data: Cow<'a, [u8]>,
}

/// Symbols that the members define for others, with the indices of the members; `None` where one is no ELF object.
fn defined(members: &[Member<'_>]) -> Option<Vec<(usize, String)>> {
    let mut out = Vec::new();
    for (index, member) in members.iter().enumerate() {
        let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*member.data).ok()?;
        let symbols = file.symbols().filter(|symbol| symbol.is_global() && !symbol.is_undefined());
        out.extend(symbols.filter_map(|symbol| Some((index, symbol.name().ok()?.to_owned()))));
    }
    Some(out)
}

/// Adds a member: a header of text fields, the contents, and a byte that makes their size even.
fn append(out: &mut Vec<u8>, name: &str, mode: &str, contents: &[u8]) {
    out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{mode:<8}{:<10}`\n", 0, 0, 0, contents.len()).bytes());
    out.extend_from_slice(contents);
    if !contents.len().is_multiple_of(2) {
        out.push(b'\n');
    }
}

/// The archive of `members`.
///
/// # Errors
/// More than 4 GiB ([`mir::ErrorKind::Limit`]).
pub fn write(members: &[Member<'_>]) -> Result<Vec<u8>> {
    let mut long_names = Vec::new();
    let mut body = Vec::new();
    let mut starts = Vec::with_capacity(members.len());
    for member in members {
        let name = match member.name.len() {
            ..=SHORT_NAME_BYTES => format!("{}/", member.name),
            _ => {
                let start = long_names.len();
                long_names.extend_from_slice(member.name.as_bytes());
                long_names.extend_from_slice(b"/\n");
                format!("/{start}")
            }
        };
        starts.push(body.len());
        append(&mut body, &name, "644", &member.data);
    }
    let mut names = Vec::new();
    if !long_names.is_empty() {
        // The table's own size is even.
        if !long_names.len().is_multiple_of(2) {
            long_names.push(b'\n');
        }
        append(&mut names, "//", "", &long_names);
    }
    let mut out = MAGIC.to_vec();
    let symbols = defined(members).unwrap_or_default();
    if !symbols.is_empty() {
        let text: Vec<u8> = symbols.iter().flat_map(|(_, name)| name.bytes().chain([0])).collect();
        let bytes = (4 + 4 * symbols.len() + text.len()).next_multiple_of(2);
        let behind = MAGIC.len() + 60 + bytes + names.len();
        let mut table = Vec::with_capacity(bytes);
        let number = |number: usize| {
            u32::try_from(number)
                .map(u32::to_be_bytes)
                .map_err(|_| Diagnostic::limit("an archive of more than 4 GiB"))
        };
        table.extend(number(symbols.len())?);
        for (member, _) in &symbols {
            table.extend(number(behind + starts[*member])?);
        }
        table.extend(text);
        table.resize(bytes, 0);
        append(&mut out, "/", "0", &table);
    }
    out.append(&mut names);
    out.append(&mut body);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::read::archive::ArchiveFile;

    #[test]
    fn what_is_written_is_read() {
        let target = mir::target::Target::processor_by_name("gfx900").expect("a processor");
        let text = ".globl f\nf: s_endpgm\nlocal: s_endpgm\n";
        let object = crate::assemble(text, &mir::target::Target::new(target)).expect("assembles");
        let member =
            |name: &str, data: &'static [u8]| Member { name: name.to_owned(), data: Cow::Borrowed(data) };
        let mut members = vec![
            member("a-name-of-more-than-15.o", b"odd"),
            member("b.o", b"even"),
            member("another-long-name.o", b""),
        ];
        let read = |bytes: &[u8]| -> (Vec<(String, Vec<u8>)>, usize) {
            let archive = ArchiveFile::parse(bytes).expect("an archive");
            let members = archive.members().map(|member| {
                let member = member.expect("a member");
                let name = String::from_utf8_lossy(member.name()).into_owned();
                (name, member.data(bytes).expect("contents").to_vec())
            });
            (members.collect(), archive.symbols().ok().flatten().map_or(0, Iterator::count))
        };
        let wanted = |members: &[Member<'_>]| -> Vec<(String, Vec<u8>)> {
            members.iter().map(|member| (member.name.clone(), member.data.to_vec())).collect()
        };
        assert_eq!(read(&write(&members).expect("writable")), (wanted(&members), 0));
        assert_eq!(write(&[]).expect("writable"), MAGIC);
        // Objects alone have a table of symbols, whose places are those of the members.
        members = (0..3).map(|i| Member { name: format!("{i}.o"), data: object.clone().into() }).collect();
        let bytes = write(&members).expect("writable");
        assert_eq!(read(&bytes), (wanted(&members), 3));
        let archive = ArchiveFile::parse(&*bytes).expect("an archive");
        for symbol in archive.symbols().expect("a table").expect("a table") {
            let symbol = symbol.expect("an entry");
            let member = archive.member(symbol.offset()).expect("a member");
            assert_eq!((symbol.name(), member.data(&*bytes).expect("contents")), (&b"f"[..], &*object));
        }
    }
}
