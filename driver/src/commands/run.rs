//! `gcnc run`: a kernel on the simulator.

use super::status;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Code object (relocatable or linked).
    object: PathBuf,
    /// Processor; default: what the object says.
    #[arg(long, default_value = "")]
    mcpu: String,
    /// What to run, as JSON.
    #[arg(long, value_name = "FILE")]
    dispatch: PathBuf,
    /// Strict checks: `all`, `none`, or a list.
    #[arg(long, default_value = "all")]
    strict: String,
    /// Seed of the order in which waves run.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print executed instructions, memory traffic and digests.
    #[arg(long, value_name = "FORMAT", value_parser = ["json"])]
    stats: Option<String>,
}

pub fn main(args: &Args) -> i32 {
    let _ = args;
    status::DEFECT
}
