//! LLVM's own tests of its assembler, as cases for this one: lines with their bytes, and lines that must be refused.
//!
//! They come from Debian's source package of LLVM 19, below `$GCNC_CACHE` or the temporary folder, where `gcnc-llvm-suite` leaves them, too. Skipped with a message
//! where they are not there; with `$GCNC_CACHE` set they are fetched. A test file has the words after `RUN:` for each way that the assembler is called, with the
//! prefixes of the comments that belong to it; behind a line of assembly stand the comments about it.
//! Those of GFX6 to GFX9 were compared whole when the assembler was written (`mir/tests/assembler_exceptions.txt`).

use gcnc_tests::llvm_suite::cases;
use gcnc_tests::packages;
use gcnc_tests::toolchain::Machine;
use mir::isa::parse::Parser;
use rayon::prelude::*;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One line in so many is taken.
const STEP: usize = 5;

/// One way that the assembler is called.
struct Run {
    cpu: String,
    features: String,
    prefixes: Vec<String>,
    /// Whether errors are what is looked at.
    errors: bool,
}

/// What a comment expects.
enum Expected {
    Bytes(String),
    Error,
}

fn value<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.trim_start_matches('-').strip_prefix(name)?.strip_prefix('='))
}

/// The runs of a file that are for one processor and assemble text.
fn runs(text: &str) -> Vec<Run> {
    let lines = text.lines().filter_map(|line| line.split_once("RUN:")).map(|(_, run)| run);
    let run = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let assembles =
            words.contains(&"llvm-mc") && !line.contains("disassemble") && !line.contains("filetype=obj");
        let prefixes = value(&words, "check-prefix").or_else(|| value(&words, "check-prefixes"))?;
        let errors = line.contains("2>&1") || line.contains("2> ");
        assembles.then(|| Run {
            cpu: value(&words, "mcpu").unwrap_or_default().to_owned(),
            features: value(&words, "mattr").unwrap_or_default().to_owned(),
            prefixes: prefixes.split(',').map(str::to_owned).collect(),
            errors,
        })
    };
    lines.filter_map(run).collect()
}

/// The lines of a file, each with the comments behind it.
fn lines(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("//") {
            Some(comment) => {
                if let Some((_, comments)) = all.last_mut() {
                    comments.push(comment.trim());
                }
            }
            None => all.push((line.split("//").next().unwrap_or(line).trim(), Vec::new())),
        }
    }
    all
}

/// What `comments` expect of `run`.
fn expected(comments: &[&str], run: &Run) -> Option<Expected> {
    comments.iter().find_map(|comment| {
        let (prefix, rest) = comment.split_once(':')?;
        if !run.prefixes.iter().any(|known| known == prefix.trim()) {
            return None;
        }
        if run.errors {
            return rest.contains("error:").then_some(Expected::Error);
        }
        let (_, bytes) = rest.split_once("encoding: [")?;
        let (bytes, _) = bytes.split_once(']')?;
        // Letters stand for what a symbol fills in.
        let plain = bytes.split(',').all(|byte| byte.starts_with("0x"));
        plain.then(|| Expected::Bytes(bytes.replace("0x", "").replace(',', "")))
    })
}

/// Compares a file; how many lines, and what is wrong.
fn compare(path: &Path, known: &HashSet<&str>) -> (usize, Vec<String>) {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = lines(&text);
    let (mut count, mut wrong) = (0, Vec::new());
    for run in runs(&text) {
        let both = run.features.matches("+wavefrontsize").count() > 1;
        let Ok(target) = (Machine { cpu: &run.cpu, features: &run.features }).target() else { continue };
        if both || !run.cpu.starts_with("gfx10") {
            continue;
        }
        let parser = Parser::new(&target);
        let taken = lines.iter().filter(|(line, _)| !line.starts_with('.') && !known.contains(line));
        for (line, comments) in taken.filter(|(_, comments)| !comments.is_empty()).step_by(STEP) {
            let Some(expected) = expected(comments, &run) else { continue };
            let got = parser.parse(line, 1, &|_| None).map(|parsed| {
                parsed.words.iter().flat_map(|word| word.to_le_bytes()).fold(
                    String::new(),
                    |mut all, byte| {
                        let _ = write!(all, "{byte:02x}");
                        all
                    },
                )
            });
            count += 1;
            match (&expected, &got) {
                (Expected::Bytes(bytes), Ok(got)) if bytes == got => {}
                (Expected::Error, Err(_)) => {}
                (Expected::Bytes(bytes), got) => {
                    wrong.push(format!("{} {line}: {got:?} instead of {bytes}", run.cpu));
                }
                (Expected::Error, Ok(got)) => {
                    wrong.push(format!("{} {line}: {got} instead of an error", run.cpu))
                }
            }
        }
    }
    (count, wrong)
}

/// The folder of LLVM's tests of the assembler.
fn folder() -> Result<PathBuf, String> {
    let cache = packages::cache();
    let fetches = std::env::var_os("GCNC_CACHE").is_some();
    if !fetches && !cache.join("src").is_dir() {
        return Err("LLVM's tests are not in the cache; with GCNC_CACHE set they are fetched".to_owned());
    }
    let folder = cases::tests_folder(None, &cache)?.join("../../MC/AMDGPU");
    if folder.is_dir() { Ok(folder) } else { Err(format!("{}: no such folder", folder.display())) }
}

#[test]
fn lines_of_gfx10_are_llvms() {
    let folder = match folder() {
        Ok(folder) => folder,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let exceptions = include_str!("../../mir/tests/assembler_exceptions.txt");
    let known: HashSet<&str> = exceptions.lines().filter_map(|line| line.split('\t').nth(2)).collect();
    let entries = std::fs::read_dir(&folder).expect("a readable folder").flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|ending| ending == "s"))
        // In the others comments stand in front of lines, or symbols are defined.
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("gfx10")))
        .collect();
    files.sort();
    let results: Vec<(usize, Vec<String>)> = files.par_iter().map(|path| compare(path, &known)).collect();
    let count: usize = results.iter().map(|(count, _)| count).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|(_, wrong)| wrong).collect();
    println!("{count} lines, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
    assert!(count > 5000, "only {count} lines");
}
