//! What kind of file each input of a compilation is: by its ending, by `-x`, or by its first bytes.

use std::path::{Path, PathBuf};

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// LLVM IR, bitcode or text.
    Ir,
    /// A program between two passes.
    Mir,
    /// Source that clang compiles.
    Source(Language),
    /// Assembly; `preprocessed` first where so (`.S`).
    Assembly { preprocessed: bool },
    /// A relocatable object or an archive.
    Object,
}

/// A language that clang compiles for these processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// OpenCL C.
    OpenClC,
    /// C++ for OpenCL.
    OpenClCpp,
    /// HIP.
    Hip,
}

impl Language {
    /// clang's name for it (`-x`).
    pub fn clang_name(self) -> &'static str {
        match self {
            Self::OpenClC => "cl",
            Self::OpenClCpp => "clcpp",
            Self::Hip => "hip",
        }
    }
}

/// Endings and kinds.
const ENDINGS: [(&str, Kind); 10] = [
    ("ll", Kind::Ir),
    ("bc", Kind::Ir),
    ("mir", Kind::Mir),
    ("cl", Kind::Source(Language::OpenClC)),
    ("clcpp", Kind::Source(Language::OpenClCpp)),
    ("hip", Kind::Source(Language::Hip)),
    ("s", Kind::Assembly { preprocessed: false }),
    ("S", Kind::Assembly { preprocessed: true }),
    ("o", Kind::Object),
    ("a", Kind::Object),
];

/// What `-x NAME` means.
pub fn language(name: &str) -> Result<Kind, String> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "ir" => Kind::Ir,
        "mir" => Kind::Mir,
        "cl" => Kind::Source(Language::OpenClC),
        "clcpp" => Kind::Source(Language::OpenClCpp),
        "hip" => Kind::Source(Language::Hip),
        "assembler" => Kind::Assembly { preprocessed: false },
        "assembler-with-cpp" => Kind::Assembly { preprocessed: true },
        _ => return Err("one of ir, mir, cl, clcpp, hip, assembler, assembler-with-cpp".to_owned()),
    })
}

/// The kind that the ending of `path` tells.
fn by_ending(path: &Path) -> Option<Kind> {
    let ending = path.extension()?.to_str()?;
    let found = ENDINGS.iter().find(|(known, _)| *known == ending);
    let found = found.or_else(|| ENDINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)));
    found.map(|&(_, kind)| kind)
}

/// Whether a word of the command line names a file that clang is needed for.
pub fn is_source_name(word: &str) -> bool {
    matches!(by_ending(Path::new(word)), Some(Kind::Source(_) | Kind::Assembly { preprocessed: true }))
        && !word.starts_with('-')
}

/// The kind of the input `path`, of which `-x` says `forced`.
///
/// # Errors
/// A message where nothing tells.
pub fn kind(path: &Path, forced: Option<Kind>) -> Result<Kind, String> {
    if let Some(kind) = forced {
        return Ok(kind);
    }
    if path == Path::new("-") || path.extension().is_none() {
        return Ok(Kind::Ir);
    }
    if let Some(kind) = by_ending(path) {
        return Ok(kind);
    }
    // A file that cannot be read is reported where it is read.
    let start = first_bytes(path).unwrap_or_default();
    if start.starts_with(b"\x7fELF") || start.starts_with(b"!<arch>\n") || start.starts_with(b"!<thin>\n") {
        return Ok(Kind::Object);
    }
    if start.is_empty()
        || start.starts_with(b"BC\xc0\xde")
        || start.starts_with(&[0xde, 0xc0, 0x17, 0x0b])
        || is_ir_text(&start)
    {
        return Ok(Kind::Ir);
    }
    let name = path.display();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    Err(format!(
        "{name}: what a `.{ending}` file holds is not known: IR ends in .ll or .bc, sources in .cl, .clcpp or .hip, assembly in .s or .S, \
         objects in .o or .a; `-x ir`, `-x cl` and so on say it"
    ))
}

/// The first bytes of a file.
fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(1 << 16).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Words with which a line of IR begins.
const IR_WORDS: [&str; 7] =
    ["define", "declare", "target", "source_filename", "attributes", "module", "uselistorder"];

/// Whether the first line with anything on it looks like one of IR.
fn is_ir_text(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(';'));
    // A file of comments alone is an empty module.
    line.is_none_or(|line| {
        line.starts_with(['@', '%', '!', '$', '^'])
            || IR_WORDS
                .contains(&line.split(|c: char| !c.is_alphabetic() && c != '_').next().unwrap_or_default())
    })
}

/// The output for `input`: its name with another ending, in the current folder's terms as llc has it (beside the input).
pub fn beside(input: &Path, ending: &str) -> PathBuf {
    if input == Path::new("-") { PathBuf::from("-") } else { input.with_extension(ending) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_tell_kinds() {
        let kind_of = |name: &str| kind(Path::new(name), None).unwrap();
        assert_eq!(kind_of("a.cl"), Kind::Source(Language::OpenClC));
        assert_eq!(kind_of("a.CL"), Kind::Source(Language::OpenClC));
        assert_eq!([kind_of("-"), kind_of("a.bc"), kind_of("noending")], [Kind::Ir; 3]);
        assert_eq!(kind_of("x/a.S"), Kind::Assembly { preprocessed: true });
        assert_eq!(kind_of("a.s"), Kind::Assembly { preprocessed: false });
        assert_eq!(kind(Path::new("a.s"), Some(Kind::Mir)), Ok(Kind::Mir));
        assert!(is_source_name("k.hip") && !is_source_name("k.ll") && !is_source_name("-Dk.cl"));
    }

    #[test]
    fn contents_tell_where_endings_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, contents: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, contents).unwrap();
            kind(&path, None)
        };
        assert_eq!(file("a.txt", b"; text\n\ntarget triple = \"amdgcn\"\n"), Ok(Kind::Ir));
        assert_eq!(file("b.tmp", b"BC\xc0\xde...."), Ok(Kind::Ir));
        assert_eq!(file("c.so", b"\x7fELF"), Ok(Kind::Object));
        let message = file("d.rs", b"fn main() {}\n").unwrap_err();
        assert!(message.contains("`.rs`") && message.contains("-x cl"), "{message}");
    }
}
