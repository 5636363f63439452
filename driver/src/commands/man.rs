//! `gcnc man`: man pages, made of the same description as the help.

use super::{refused, status};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Folder for the pages, such as `/usr/local/share/man/man1`; it is made where there is none.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// Writes `gcnc.1` and `gcnc-SUBCOMMAND.1` for each subcommand.
pub fn main(args: &Args, command: clap::Command) -> i32 {
    let made = std::fs::create_dir_all(&args.out)
        .and_then(|()| clap_mangen::generate_to(command.disable_help_subcommand(true), &args.out));
    match made {
        Ok(()) => status::OK,
        Err(error) => refused(&format_args!("{}: {error}", args.out.display())),
    }
}
