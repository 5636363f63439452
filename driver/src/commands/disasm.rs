//! `gcnc disasm`: an object as assembly that reads back.

use super::{compile, report, status};
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Code object, relocatable or linked; `-` reads standard input.
    object: PathBuf,
    /// Output file; `-` is standard output.
    #[arg(short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// File, line and source as comments in front of the code of each line, where the object has DWARF line tables.
    #[arg(short = 'S', long)]
    source: bool,
}

pub fn main(args: &Args) -> i32 {
    let name = args.object.display().to_string();
    let bytes = match compile::read(&args.object) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("gcnc: error: {name}: {error}");
            return status::REFUSED;
        }
    };
    let text = match args.source {
        true => emit::disassemble::disassemble_with_source(&bytes, &read_source),
        false => emit::disassemble(&bytes),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return report(&name, &error),
    };
    let written = match args.output.to_str() {
        // A closed pipe is the reader's wish.
        Some("-") => std::io::stdout().lock().write_all(text.as_bytes()),
        _ => compile::write(&args.output, text.as_bytes()),
    };
    match written {
        Ok(()) => status::OK,
        Err(_) if args.output.to_str() == Some("-") => status::REFUSED,
        Err(error) => {
            eprintln!("gcnc: error: {}: {error}", args.output.display());
            status::REFUSED
        }
    }
}

/// A source file; where it cannot be read, the user is told.
fn read_source(path: &str) -> Option<Vec<u8>> {
    match std::fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            eprintln!("gcnc: warning: source {path}: {error}; line numbers alone are shown");
            None
        }
    }
}
