//! What tests, examples and benchmarks share: host programs, reference tools, corpora.
#![forbid(unsafe_code)]

pub mod compare;
pub mod corpus;
pub mod examples;
pub mod filetests;
pub mod gpu;
pub mod graphs;
pub mod interpret;
pub mod libclc;
pub mod llvm_suite;
pub mod measure;
pub mod opt;
pub mod piglit;
pub mod random;
pub mod round_trip;
pub mod toolchain;

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
