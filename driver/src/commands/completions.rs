//! `gcnc completions`: what a shell needs to complete gcnc's words, made of the same description as the help.

use super::{refused, status};
use clap_complete::Shell;

#[derive(clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes the script to standard output.
pub fn main(args: &Args, mut command: clap::Command) -> i32 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "gcnc", &mut script);
    match crate::output::write(&script) {
        Ok(()) => status::OK,
        Err(error) => refused(&error),
    }
}
