//! Runs a command and prints the most memory that it had at a time, in KiB.
//!
//! Linux counts for a process also what its maker had when it made it. Therefore this is a program of its own, which is small, and not a part of
//! gcnc-bench, which contains LLVM.
#![forbid(unsafe_code)]

use nix::sys::resource::{UsageWho, getrusage};
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    let command: Vec<_> = std::env::args_os().skip(1).collect();
    match run(&command) {
        Ok(kib) => {
            println!("{kib}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("gcnc-peak: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &[std::ffi::OsString]) -> Result<i64, String> {
    let (program, arguments) = command.split_first().ok_or("usage: gcnc-peak COMMAND ARGUMENTS...")?;
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).status();
    let status = status.map_err(|error| format!("{}: {error}", program.to_string_lossy()))?;
    if !status.success() {
        return Err(format!("{}: {status}", program.to_string_lossy()));
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    Ok(usage.max_rss())
}
