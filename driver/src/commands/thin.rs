//! Thin archives: they hold the names of files, which lie beside them, in place of their contents.

use emit::archive::Member;
use object::read::archive::ArchiveFile;
use std::path::Path;

/// Bytes of the members of one archive: more than a linker could place.
const MAX_BYTES: usize = 1 << 31;

/// Whether `bytes` are a thin archive.
pub fn is_thin(bytes: &[u8]) -> bool {
    bytes.starts_with(b"!<thin>\n")
}

/// The ordinary archive of the files that the thin one at `path` names. Names are relative to its folder.
///
/// # Errors
/// Of a damaged archive, or a member that cannot be read: with its name.
pub fn whole(bytes: &[u8], path: &Path) -> Result<Vec<u8>, String> {
    let bad = |error: object::Error| format!("{}: {error}", path.display());
    let archive = ArchiveFile::parse(bytes).map_err(bad)?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let (mut members, mut bytes) = (Vec::new(), 0usize);
    for member in archive.members() {
        let member = member.map_err(bad)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let file = folder.join(&name);
        let data = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        bytes = bytes.saturating_add(data.len());
        if bytes > MAX_BYTES {
            return Err(format!("{}: members of more than {MAX_BYTES} bytes", path.display()));
        }
        members.push(Member { name, data: data.into() });
    }
    emit::archive::write(&members).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_beside_the_archive() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lib.a");
        std::fs::write(folder.path().join("a-name-of-more-than-15.o"), b"odd").expect("written");
        std::fs::write(folder.path().join("b.o"), b"even").expect("written");
        let mut thin = b"!<thin>\n".to_vec();
        let names = b"a-name-of-more-than-15.o/\nb.o/\n";
        thin.extend(format!("{:<48}{:<10}`\n", "//", names.len()).bytes().chain(names.iter().copied()));
        thin.extend((names.len() % 2 == 1).then_some(b'\n'));
        // Thin archives have the sizes of members and no contents.
        for (name, size) in [("/0", 3), ("/26", 4)] {
            thin.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
        }
        assert!(is_thin(&thin));
        let whole = whole(&thin, &path).expect("an archive");
        let archive = ArchiveFile::parse(&*whole).expect("an archive");
        let members: Vec<(Vec<u8>, Vec<u8>)> = archive
            .members()
            .map(|member| {
                let member = member.expect("a member");
                (member.name().to_vec(), member.data(&*whole).expect("contents").to_vec())
            })
            .collect();
        let expected = [(&b"a-name-of-more-than-15.o"[..], &b"odd"[..]), (b"b.o", b"even")];
        assert_eq!(members, expected.map(|(name, data)| (name.to_vec(), data.to_vec())));
        std::fs::remove_file(folder.path().join("b.o")).expect("removed");
        assert!(super::whole(&thin, &path).is_err_and(|error| error.contains("b.o")));
    }
}
