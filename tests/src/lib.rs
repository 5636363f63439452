//! What tests, examples and benchmarks share: host programs, reference tools, corpora.
#![forbid(unsafe_code)]

pub mod callees;
pub mod compare;
pub mod corpus;
pub mod disassembly;
pub mod examples;
pub mod fields;
pub mod filetests;
pub mod gpu;
pub mod graphs;
pub mod interpret;
pub mod libclc;
pub mod llvm_suite;
pub mod measure;
pub mod mutate;
pub mod opt;
pub mod packages;
pub mod piglit;
pub mod random;
pub mod round_trip;
pub mod toolchain;

use std::path::PathBuf;
use std::process::ExitCode;

/// What a program of this crate ends with: `Ok` says whether all was well, an error is printed after the
/// program's name.
pub fn exit(program: &str, result: Result<bool, String>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{program}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The files of LLVM IR as text that `inputs` name, which may be folders, in order.
///
/// # Errors
/// A folder that cannot be read.
pub fn ir_files(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    files(inputs, &["ll"])
}

/// The files that `inputs` name, of folders those whose names end in one of `endings`, in order.
///
/// # Errors
/// A folder that cannot be read.
pub fn files(inputs: &[PathBuf], endings: &[&str]) -> Result<Vec<PathBuf>, String> {
    let mut out = Vec::new();
    for input in inputs {
        if !input.is_dir() {
            out.push(input.clone());
            continue;
        }
        let entries = std::fs::read_dir(input).map_err(|error| format!("{}: {error}", input.display()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let wanted =
            |path: &PathBuf| path.extension().is_some_and(|e| endings.iter().any(|&ending| e == ending));
        let mut paths: Vec<_> = paths.filter(wanted).collect();
        paths.sort();
        out.append(&mut paths);
    }
    Ok(out)
}
