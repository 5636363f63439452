//! Which words of a command line are clang's, where an input is a source.

use super::inputs;
use std::ffi::OsString;

/// Options of clang with their values in the next word.
const WITH_VALUE: [&str; 17] = [
    "D",
    "U",
    "I",
    "include",
    "imacros",
    "isystem",
    "iquote",
    "idirafter",
    "iprefix",
    "iwithprefix",
    "isysroot",
    "MF",
    "MT",
    "MQ",
    "Xclang",
    "Xpreprocessor",
    "mllvm",
];

/// Options of clang that are these words.
const WORDS: [&str; 25] = [
    "g",
    "g0",
    "g1",
    "g2",
    "g3",
    "w",
    "v",
    "M",
    "MM",
    "MD",
    "MMD",
    "MP",
    "MG",
    "MV",
    "ansi",
    "nogpulib",
    "nogpuinc",
    "nostdinc",
    "nostdinc++",
    "nostdlib",
    "nobuiltininc",
    "undef",
    "pthread",
    "P",
    "C",
];

/// What options of clang begin with. The rest of the word belongs to them.
const PREFIXES: [&str; 22] = [
    "D",
    "U",
    "I",
    "W",
    "f",
    "cl-",
    "std=",
    "gdwarf",
    "gline",
    "ggdb",
    "MF",
    "MT",
    "MQ",
    "pedantic",
    "isystem",
    "iquote",
    "idirafter",
    "munsafe-fp-atomics",
    "mno-unsafe-fp-atomics",
    "Rpass",
    "mprintf-kind=",
    "ftime-trace",
];

/// Whether among the words of a command line is a source, or `-x` says so.
pub fn has_source(words: &[OsString]) -> bool {
    let text = |word: &OsString| word.to_str().unwrap_or_default().to_owned();
    words.iter().zip(words.iter().skip(1).map(Some).chain([None])).skip(1).any(|(word, next)| {
        let (word, next) = (text(word), next.map(text).unwrap_or_default());
        let language = match word.trim_start_matches('-') {
            "x" if word.starts_with('-') => next.as_str(),
            rest if word.starts_with('-') => {
                rest.strip_prefix("x=").or(rest.strip_prefix('x')).unwrap_or_default()
            }
            _ => "",
        };
        inputs::is_source_name(&word)
            || matches!(
                inputs::language(language),
                Ok(inputs::Kind::Source(_) | inputs::Kind::Assembly { preprocessed: true })
            )
    })
}

/// What follows an option of clang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Nothing that belongs to it.
    Nothing,
    /// Its value.
    Value,
}

/// Whether `body`, an option without its dashes, is one of clang's, and what follows it.
pub fn clang_option(body: &str) -> Option<Follows> {
    if WITH_VALUE.contains(&body) {
        return Some(Follows::Value);
    }
    let known = WORDS.contains(&body) || PREFIXES.iter().any(|prefix| body.starts_with(prefix));
    known.then_some(Follows::Nothing)
}

/// `words` of the subcommand `command` with clang's options behind `--clang-arg=`.
pub fn hand_on(words: &[OsString], command: &clap::Command) -> Vec<OsString> {
    let is_own = |body: &str| {
        let name = body.split('=').next().unwrap_or_default();
        let names = |arg: &clap::Arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name)
        };
        command.get_arguments().any(names)
    };
    let mut out = Vec::with_capacity(words.len());
    let mut rest = words.iter();
    let prefixed = |word: &OsString| {
        let mut whole = OsString::from("--clang-arg=");
        whole.push(word);
        whole
    };
    while let Some(word) = rest.next() {
        let text = word.to_str().unwrap_or_default();
        let body = text.strip_prefix("--").or(text.strip_prefix('-')).unwrap_or_default();
        if text == "--" {
            out.push(word.clone());
            out.extend(rest.by_ref().cloned());
            break;
        }
        match clang_option(body).filter(|_| !is_own(body)) {
            Some(follows) => {
                out.push(prefixed(word));
                if follows == Follows::Value {
                    out.extend(rest.next().map(prefixed));
                }
            }
            None => {
                out.push(word.clone());
                // The value of an option that is not joined to it may look like anything.
                let takes_value = command.get_arguments().any(|arg| {
                    arg.get_long() == Some(body)
                        && arg.get_action().takes_values()
                        && !arg.is_require_equals_set()
                });
                if takes_value {
                    out.extend(rest.next().cloned());
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_clang() {
        for body in
            ["DN=4", "cl-fast-relaxed-math", "Wno-all", "ffast-math", "std=c++17", "g", "MD", "cl-std=CL2.0"]
        {
            assert_eq!(clang_option(body), Some(Follows::Nothing), "{body}");
        }
        for body in ["D", "include", "MF", "Xclang"] {
            assert_eq!(clang_option(body), Some(Follows::Value), "{body}");
        }
        for body in ["mcpu=gfx900", "O2", "stats", "no-such-flag", "verify-machineinstrs", "grid", "goal"] {
            assert_eq!(clang_option(body), None, "{body}");
        }
    }

    #[test]
    fn sources_are_seen() {
        let has = |line: &str| has_source(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(has("gcnc -O2 k.cl") && has("gcnc -x cl -") && has("gcnc -xhip k") && has("gcnc a.ll b.S"));
        assert!(!has("gcnc a.ll -o b.s") && !has("gcnc -x ir k.txt") && !has("k.cl"));
    }
}
