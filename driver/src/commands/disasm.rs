//! `gcnc disasm`: the code of an object as text.

use super::{compile, report, status};
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Code object, relocatable or linked.
    object: PathBuf,
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
    match emit::disassemble(&bytes) {
        // A closed pipe is the reader's wish.
        Ok(text) => match std::io::stdout().lock().write_all(text.as_bytes()) {
            Ok(()) => status::OK,
            Err(_) => status::REFUSED,
        },
        Err(error) => report(&name, &error),
    }
}
