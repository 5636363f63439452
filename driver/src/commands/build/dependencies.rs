//! `-MD` and its like: what files a source is made of, as rules of make.
//!
//! clang writes the rules. It writes bitcode into a pipe, so the target and the file's name, which it takes from its output otherwise, are
//! always said; and files that only lived as long as the compilation are taken out of them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Words for clang, sorted by what they are about.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Words about dependencies, but for the name of the file.
    dependencies: Vec<OsString>,
    /// The file of the rules.
    file: Option<PathBuf>,
    /// All others.
    others: Vec<OsString>,
}

impl Words {
    /// Sorts clang's words.
    pub fn new(words: &[OsString]) -> Self {
        let mut out = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = word.to_str().unwrap_or_default();
            match text {
                "-MD" | "-MMD" | "-MP" | "-MG" | "-MV" | "-M" | "-MM" => out.dependencies.push(word.clone()),
                "-MT" | "-MQ" => {
                    out.dependencies.extend([Some(word), words.next()].into_iter().flatten().cloned())
                }
                "-MF" => out.file = words.next().map(PathBuf::from),
                _ if text.starts_with("-MF") => out.file = Some(PathBuf::from(&text[3..])),
                _ if text.starts_with("-MT") || text.starts_with("-MQ") => {
                    out.dependencies.push(word.clone())
                }
                // These take the next word, whatever it looks like.
                "-Xclang" | "-D" | "-U" | "-I" | "-include" => {
                    out.others.extend([Some(word), words.next()].into_iter().flatten().cloned());
                }
                _ => out.others.push(word.clone()),
            }
        }
        out
    }

    /// Clang's words that are not about dependencies.
    pub fn others(&self) -> &[OsString] {
        &self.others
    }

    fn has(&self, words: &[&str]) -> bool {
        self.dependencies.iter().any(|word| words.iter().any(|known| word == known))
    }

    /// Whether rules are all that is asked for.
    pub fn only_dependencies(&self) -> bool {
        self.has(&["-M", "-MM"])
    }

    /// The words for the compilation of a HIP source that writes `output`, and the file that it writes rules to. clang's driver passes over `-MD` where it
    /// compiles for devices alone, so the compiler proper is told; `file` is where rules go that are all that is asked for.
    pub fn for_device(&self, output: &Path, file: &Path) -> (Vec<OsString>, Option<PathBuf>) {
        let (words, rules) = self.for_output(output);
        let rules = if self.only_dependencies() { Some(file.to_owned()) } else { rules };
        let Some(rules) = rules else { return (Vec::new(), None) };
        let mut out: Vec<OsString> = Vec::new();
        let mut tell = |word: OsString| out.extend(["-Xclang".into(), word]);
        tell("-dependency-file".into());
        tell(rules.clone().into());
        if self.has(&["-MD", "-M"]) {
            tell("-sys-header-deps".into());
        }
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.to_str() {
                // As the driver does, the name is escaped where `-MQ` asks for it; names with spaces are the only ones that matter.
                Some("-MT" | "-MQ") => {
                    let quoted = word == "-MQ";
                    let name = words.next().unwrap_or_default();
                    let name = match name.to_str() {
                        Some(text) if quoted => text.replace(' ', "\\ ").into(),
                        _ => name,
                    };
                    tell("-MT".into());
                    tell(name);
                }
                Some("-MP") => tell("-MP".into()),
                Some("-MF") => {
                    words.next();
                }
                _ => {}
            }
        }
        (out, Some(rules))
    }

    /// The words for the compilation that writes `output`, and the file that it writes rules to.
    pub fn for_output(&self, output: &Path) -> (Vec<OsString>, Option<PathBuf>) {
        if !self.has(&["-MD", "-MMD", "-M", "-MM"]) {
            return (Vec::new(), None);
        }
        let mut words = self.dependencies.clone();
        let names_target = |word: &OsString| {
            let text = word.to_str().unwrap_or_default();
            text.starts_with("-MT") || text.starts_with("-MQ")
        };
        if !words.iter().any(names_target) {
            words.extend(["-MQ".into(), output.into()]);
        }
        if self.only_dependencies() {
            return (words, None);
        }
        let file = self.file.clone().unwrap_or_else(|| match output == Path::new("-") {
            true => PathBuf::from("stdin.d"),
            false => output.with_extension("d"),
        });
        words.extend(["-MF".into(), file.clone().into()]);
        (words, Some(file))
    }
}

/// `rules` without the files in `folder`.
pub fn without(rules: &str, folder: &Path) -> String {
    let folder = folder.to_string_lossy();
    let mut out = String::with_capacity(rules.len());
    for line in rules.split_inclusive('\n') {
        if !line.contains(&*folder) {
            out.push_str(line);
            continue;
        }
        // `FILE:` alone, of -MP, is a rule of its own.
        if line.starts_with(&*folder) {
            continue;
        }
        let end = &line[line.trim_end_matches(['\n', '\\', ' ']).len()..];
        let words = line.trim_end_matches(['\n', '\\', ' ']).split(' ');
        let kept: Vec<&str> = words.filter(|word| !word.starts_with(&*folder)).collect();
        out.push_str(&kept.join(" "));
        out.push_str(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn file_and_target_are_always_said() {
        let sorted = Words::new(&words("-DA -MD -MP -I -MD"));
        assert_eq!(sorted.others(), words("-DA -I -MD"));
        let (out, file) = sorted.for_output(Path::new("out/k.hsaco"));
        assert_eq!(out, words("-MD -MP -MQ out/k.hsaco -MF out/k.d"));
        assert_eq!(file.as_deref(), Some(Path::new("out/k.d")));
        let (out, _) = Words::new(&words("-MMD -MF x.d -MT t")).for_output(Path::new("k.o"));
        assert_eq!(out, words("-MMD -MT t -MF x.d"));
        assert_eq!(Words::new(&words("-MF x.d")).for_output(Path::new("k.o")).0, words(""));
        assert!(Words::new(&words("-MM")).only_dependencies());
    }

    #[test]
    fn private_files_are_left_out() {
        let rules = "k.o: k.hip /tmp/gcnc-1/hip/h.h \\\n  /tmp/gcnc-1/w.bc a.h\n/tmp/gcnc-1/hip/h.h:\na.h:\n";
        assert_eq!(without(rules, Path::new("/tmp/gcnc-1")), "k.o: k.hip \\\n  a.h\na.h:\n");
    }
}
