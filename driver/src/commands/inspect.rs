//! `gcnc inspect`: all that a file says.

use super::{compile, refused, status};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Code object, host object, bundle, archive or metadata of AMDIL; `-` reads standard input.
    file: PathBuf,
    /// Write JSON.
    #[arg(long)]
    json: bool,
}

pub fn main(args: &Args) -> i32 {
    let name = args.file.display();
    let bytes = match compile::read(&args.file) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("gcnc: error: {name}: {error}");
            return status::REFUSED;
        }
    };
    let report = emit::inspect::inspect(&bytes);
    let text = match args.json {
        true => serde_json::to_string_pretty(&report).map(|text| text + "\n"),
        false => Ok(report.to_string()),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            eprintln!("gcnc: error: {name}: {error}");
            return status::DEFECT;
        }
    };
    if let Err(error) = crate::output::write(text.as_bytes()) {
        return refused(&format_args!("standard output: {error}"));
    }
    if report.is_known() {
        return status::OK;
    }
    eprintln!("gcnc: error: {name}: the file has no form that is known here");
    status::REFUSED
}
