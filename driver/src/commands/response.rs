//! Response files: `@FILE` stands for the words in FILE, as GNU tools and LLVM's have it.
//!
//! Words are separated by white space; a backslash takes the next character as it is, within quotes of either kind, too. A file may name
//! others. `@FILE` where there is no such file is a word like any other.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Most files that are read: a chain in which each file names the next one twice would have no end otherwise.
const MAX_FILES: usize = 1000;

/// `args` with the contents of response files in their places.
///
/// # Errors
/// A file cannot be read, names itself, or there are too many.
pub fn expand(args: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let mut out = Vec::with_capacity(args.len());
    // Files being read, the innermost last, with the words that are left of each.
    let mut open: Vec<(Option<PathBuf>, VecDeque<OsString>)> = vec![(None, args.into())];
    let mut files = 0;
    while let Some((_, words)) = open.last_mut() {
        let Some(word) = words.pop_front() else {
            open.pop();
            continue;
        };
        let Some(file) = response_file(&word) else {
            out.push(word);
            continue;
        };
        if open.iter().any(|(known, _)| known.as_deref() == Some(file.as_path())) {
            return Err(format!("{}: response files that name each other", file.display()));
        }
        files += 1;
        if files > MAX_FILES {
            return Err(format!("more than {MAX_FILES} response files"));
        }
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let words = split(&text).into_iter().map(OsString::from).collect();
        open.push((Some(file), words));
    }
    Ok(out)
}

/// The file that `word` names, if it does.
fn response_file(word: &OsString) -> Option<PathBuf> {
    let file = Path::new(word.to_str()?.strip_prefix('@')?);
    file.is_file().then(|| file.canonicalize().unwrap_or_else(|_| file.to_owned()))
}

/// The words of a response file.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(chars.next()),
            _ if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            _ if c.is_whitespace() && quote.is_none() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_gnu_does() {
        assert_eq!(
            split("-mcpu=gfx900\n\t\"a b\"c '' 'it\\'s' \"\\\"\" x\\ y #z\r\n"),
            ["-mcpu=gfx900", "a bc", "", "it's", "\"", "x y", "#z"]
        );
        assert_eq!(split("'open end"), ["open end"]);
        assert_eq!(split("  \\"), [""]);
    }

    #[test]
    fn files_name_files_but_not_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let at = |name: &str| format!("@{}", path(name).display());
        std::fs::write(path("inner"), "b c").unwrap();
        std::fs::write(path("outer"), format!("a {} d @nowhere", at("inner"))).unwrap();
        let expanded = expand(vec!["gcnc".into(), at("outer").into(), "e".into()]).unwrap();
        assert_eq!(expanded, ["gcnc", "a", "b", "c", "d", "@nowhere", "e"]);
        std::fs::write(path("inner"), at("outer")).unwrap();
        let message = expand(vec![at("outer").into()]).unwrap_err();
        assert!(message.contains("name each other"), "{message}");
        // Each file names the next one twice.
        for i in 0..30 {
            let next = at(&format!("f{}", i + 1));
            std::fs::write(path(&format!("f{i}")), format!("{next} {next}")).unwrap();
        }
        std::fs::write(path("f30"), "x").unwrap();
        assert!(expand(vec![at("f0").into()]).unwrap_err().contains("more than"));
    }
}
