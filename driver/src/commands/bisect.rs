//! `gcnc bisect`: which step of the compiler changed what a kernel does.

use super::{read_json, refused, report, status};
use gcnc::bisect::{Run, bisect, target_of};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// LLVM IR, bitcode or text.
    input: PathBuf,
    /// Processor.
    #[arg(long, default_value = "")]
    mcpu: String,
    /// What to run, as JSON; see `gcnc run`.
    #[arg(long, value_name = "FILE")]
    dispatch: PathBuf,
    /// Optimisation level.
    #[arg(short = 'O', default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// Seed of what undefined registers and memory hold.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Most instructions that each stage may execute.
    #[arg(long, default_value_t = 100_000_000, value_name = "COUNT")]
    fuel: u64,
}

pub fn main(args: &Args) -> i32 {
    match run(args) {
        Ok(status) | Err(status) => status,
    }
}

fn run(args: &Args) -> Result<i32, i32> {
    let name = args.input.display().to_string();
    let input = std::fs::read(&args.input).map_err(|error| refused(&format!("{name}: {error}")))?;
    let json = read_json(&args.dispatch)?;
    let options =
        gcnc::CompileOptions { cpu: args.mcpu.clone(), opt_level: args.opt_level, ..Default::default() };
    let diagnosed = |errors: &[Box<mir::Diagnostic>]| {
        errors.iter().map(|error| report(&name, error)).max().unwrap_or(status::DEFECT)
    };
    let reading = frontend::read(&input, &name).map_err(|error| report(&name, &error))?;
    if !reading.errors.is_empty() {
        return Err(diagnosed(&reading.errors));
    }
    let target = target_of(&reading.module, &options).map_err(|error| report(&name, &error))?;
    let described = sim::Described::from_json(&json, args.dispatch.parent(), target.generation())
        .map_err(|error| refused(&error))?;
    let run =
        Run { dispatch: &described.dispatch, memory: &described.memory, seed: args.seed, fuel: args.fuel };
    let verdict = bisect(&reading.module, &options, &run, None).map_err(|errors| diagnosed(&errors))?;
    println!("{verdict}");
    Ok(match verdict.culprit {
        Some(_) => status::STRICT,
        None if verdict.finished() < 2 => status::REFUSED,
        None => status::OK,
    })
}
