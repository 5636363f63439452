//! File tests: the text of a program before a pass, and what the pass must make of it.
//!
//! Problem: most of what a pass must do can be said in ten lines of its input and its output, and whoever
//! finds a wrong output has just these. Idea: a file holds both; the runner parses the input, verifies it,
//! runs the passes that the first lines name, with the verifier behind each, and compares text. With
//! `BLESS=1` it writes the text into the file instead. `tests/filetests/README.md` has the form.
//!
//! What an output does not show, since it would say the same in every file: lines of a header that the input
//! has, too, stages, kernel arguments, and the numbers of constants. `; show: all` shows them. Waits have the
//! names of their counters.
//!
//! Cost: that of the passes; all files take about a second.

mod case;
mod diff;
mod run;
mod waits;

use case::Case;
use std::path::{Path, PathBuf};

/// The files below `folder`, in order.
///
/// # Errors
/// A folder that cannot be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |error| format!("{}: {error}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "gcn") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Runs the test in `text`, a file in the directory called `folder`: with `bless` the text of the file as it
/// should be, else nothing.
///
/// # Errors
/// What is wrong with the file, or how the output differs.
pub fn check(text: &str, folder: &str, bless: bool) -> Result<Option<String>, String> {
    let case = Case::parse(text)?;
    if !case.passes.iter().any(|pass| pass == folder) {
        return Err(format!("it does not run {folder}, the pass of its directory"));
    }
    let outcomes: Vec<run::Outcome> =
        case.processors.iter().map(|cpu| run::run(&case, cpu)).collect::<Result<_, _>>()?;
    if bless {
        return Ok(Some(case.blessed(&outcomes)));
    }
    let mut wrong = String::new();
    for (cpu, outcome) in case.processors.iter().zip(&outcomes) {
        let expected = case.expected(cpu).ok_or_else(|| format!("it expects nothing on {cpu}"))?;
        if !expected.is_met_by(outcome) {
            wrong.push_str(&format!("on {cpu}:\n{}", diff::lines(&expected.text(), &outcome.text())));
        }
    }
    if wrong.is_empty() { Ok(None) } else { Err(wrong) }
}
