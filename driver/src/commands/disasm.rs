//! `gcnc disasm`: an object as assembly that reads back.

use super::{compile, devices, refused, report, status};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Code object, relocatable or linked, or what has one in it: a bundle, an object or program of a host; `-` reads standard input.
    object: PathBuf,
    /// Output file; `-` is standard output.
    #[arg(short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// File, line and source as comments in front of the code of each line, where the object has DWARF line tables.
    #[arg(short = 'S', long)]
    source: bool,
    /// Of a bundle, or of an object or program of a host with one in it: the processor whose code object is meant.
    #[arg(long, value_name = "PROCESSOR", default_value = "")]
    mcpu: String,
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
    let bytes = match devices::may_have(&bytes) {
        true => match devices::fitting(&name, &bytes, &args.mcpu) {
            Ok(mut objects) if objects.len() == 1 => objects.pop().unwrap_or_default(),
            Ok(objects) => {
                let count = objects.len();
                return refused(&format_args!(
                    "{name}: {count} code objects fit: `gcnc unbundle` takes them out"
                ));
            }
            Err(status) => return status,
        },
        false => bytes,
    };
    let text = match args.source {
        true => emit::disassemble::disassemble_with_source(&bytes, &read_source),
        false => emit::disassemble(&bytes),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return report(&name, &error),
    };
    match compile::write(&args.output, text.as_bytes()) {
        Ok(()) => status::OK,
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
