//! Being called as another tool: compilers' drivers run linkers and bundlers by name, or by a path that is given to them, with that tool's words.
//!
//! Called by a tool's name (a link `ld.lld` to `gcnc`), the command is that tool's subcommand; called `llc`, it is itself. Under its own name, as clang's
//! `--ld-path=gcnc` does, words that only linkers have tell.

use std::ffi::OsString;
use std::path::Path;

/// Names of tools, without a version behind them, and the subcommands that do their work.
const TOOLS: [(&str, &str); 5] = [
    ("ld", "link"),
    ("ld.lld", "link"),
    ("lld", "link"),
    ("rust-lld", "link"),
    ("clang-offload-bundler", "bundle"),
];

/// The subcommand that `args`, the program's name first, mean although they do not name it.
pub fn subcommand(args: &[OsString]) -> Option<&'static str> {
    let name = Path::new(args.first()?).file_name()?.to_str()?;
    let version = name
        .rfind('-')
        .filter(|&at| name.len() > at + 1 && name[at + 1..].bytes().all(|b| b.is_ascii_digit()));
    let name = &name[..version.unwrap_or(name.len())];
    if let Some((_, subcommand)) = TOOLS.iter().find(|(tool, _)| *tool == name) {
        return Some(subcommand);
    }
    let words = args.iter().skip(1).take_while(|word| *word != "--");
    let mut words = words.map(|word| word.to_str().unwrap_or_default()).peekable();
    while let Some(word) = words.next() {
        let is_linkers = match word {
            "-shared" | "--shared" | "-flavor" | "-melf64_amdgpu" => true,
            word if word.starts_with("-Wl,") => true,
            "-m" => words.peek() == Some(&"elf64_amdgpu"),
            _ => false,
        };
        if is_linkers {
            return Some("link");
        }
    }
    None
}

/// What a linker gets of the words that a C compiler would be given in its place, as rustc has them with a linker flavor that ends in `cc`: `-Wl,A,B` and `-Xlinker A` hand
/// on, and what says which linker and which of a system's libraries are meant has no meaning here.
pub fn of_compiler(args: Vec<OsString>) -> Vec<OsString> {
    let mut out = Vec::with_capacity(args.len());
    for arg in args {
        match arg.to_str() {
            Some(
                "-Xlinker" | "-nodefaultlibs" | "-nostartfiles" | "-nostdlib" | "-nolibc" | "-static-libgcc",
            ) => {}
            Some(word) if word.starts_with("-fuse-ld=") => {}
            Some(word) if let Some(words) = word.strip_prefix("-Wl,") => {
                out.extend(words.split(',').map(OsString::from));
            }
            _ => out.push(arg),
        }
    }
    out
}

/// A linker's word in the form that clap takes: of `--lto-O3` and `--lto-CGO3` the rest is the value.
pub fn linker_word(word: &str) -> Option<String> {
    let body = word.strip_prefix("--").or(word.strip_prefix('-'))?;
    ["lto-O", "lto-CGO"].iter().find_map(|name| {
        let level = body.strip_prefix(name)?;
        (!level.is_empty() && level.bytes().all(|b| b.is_ascii_digit())).then(|| format!("--{name}={level}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words_tell() {
        let of = |line: &str| subcommand(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            [of("/usr/bin/ld.lld-22 a.o"), of("lld -flavor gnu a.o"), of("x/rust-lld")],
            [Some("link"); 3]
        );
        assert_eq!(of("clang-offload-bundler -type=o"), Some("bundle"));
        assert_eq!(of("gcnc --no-undefined -shared -plugin-opt=mcpu=gfx900 a.o -o a.out"), Some("link"));
        assert_eq!(of("gcnc -m elf64_amdgpu a.o"), Some("link"));
        assert_eq!(
            [of("llc a.bc"), of("gcnc -mcpu=gfx900 a.ll"), of("gcnc -- -shared"), of("gcnc-22 a.ll")],
            [None; 4]
        );
        assert_eq!(of("gcnc -Wl,--gc-sections a.o"), Some("link"));
        let words = "link -Wl,-z,defs -fuse-ld=lld -Xlinker --gc-sections -nodefaultlibs a.o".split(' ');
        let words = of_compiler(words.map(OsString::from).collect());
        assert_eq!(words, ["link", "-z", "defs", "--gc-sections", "a.o"]);
        assert_eq!(linker_word("--lto-CGO3").as_deref(), Some("--lto-CGO=3"));
        assert_eq!(linker_word("-lto-O2").as_deref(), Some("--lto-O=2"));
        assert_eq!((linker_word("--lto-O"), linker_word("--lto-partitions=8")), (None, None));
    }
}
