//! Runs piglit's OpenCL programs as gcnc compiles them, on the simulator.

use clap::Parser;
use gcnc_tests::piglit::{self, Outcome, Report};
use gcnc_tests::toolchain::Machine;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Runs piglit's OpenCL programs on the simulator and compares with the results that they expect.
#[derive(Parser)]
struct Args {
    /// Only programs whose path contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// At most so many programs, spread evenly over the list.
    #[arg(long)]
    limit: Option<usize>,
    /// Optimisation level of clang and gcnc.
    #[arg(short = 'O', default_value_t = 2)]
    level: u8,
    /// Processor.
    #[arg(long, default_value = "gfx900")]
    mcpu: String,
    /// Target features, as `+feature` or `-feature`.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// Print every run.
    #[arg(long)]
    verbose: bool,
}

fn main() -> std::process::ExitCode {
    gcnc_tests::exit("gcnc-piglit", run(&Args::parse()))
}

/// Whether no run failed.
fn run(args: &Args) -> Result<bool, String> {
    let cache =
        PathBuf::from(std::env::var_os("GCNC_CACHE").ok_or("GCNC_CACHE is not set; use tests/piglit")?);
    let mut programs = piglit::programs(&cache.join("piglit/usr"));
    programs.retain(|path| path.to_string_lossy().contains(&args.filter));
    if let Some(limit) = args.limit.filter(|&limit| limit < programs.len()) {
        programs = (0..limit).map(|i| programs[i * programs.len() / limit].clone()).collect();
    }
    let features = args.mattr.join(",");
    let machine = Machine { cpu: &args.mcpu, features: &features };
    let reports: Vec<Report> = programs
        .par_iter()
        .map(|path| {
            let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
            Ok(piglit::run(path, scratch.path(), machine, args.level))
        })
        .collect::<Result<Vec<_>, String>>()?
        .concat();
    let (mut counts, mut reasons) = ([0; 5], BTreeMap::<String, usize>::new());
    for report in &reports {
        let (kind, label) = match &report.outcome {
            Outcome::Passed => (0, None),
            Outcome::Failed(problem) => {
                println!("FAILED {}: {problem}", report.name);
                (1, None)
            }
            Outcome::AsLlc(_) => (2, None),
            Outcome::Refused(reason) => (3, Some(format!("refused: {reason}"))),
            Outcome::Skipped(reason) => (4, Some(format!("skipped: {reason}"))),
        };
        if args.verbose {
            println!("{}: {:?}", report.name, report.outcome);
        }
        counts[kind] += 1;
        if let Some(label) = label {
            *reasons.entry(label).or_default() += 1;
        }
    }
    let [passed, failed, as_llc, refused, skipped] = counts;
    println!(
        "{} programs, {} runs: {passed} as expected, {failed} failed, {as_llc} unexpected but as llc's object, \
         {refused} refused, {skipped} skipped",
        programs.len(),
        reports.len()
    );
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (reason, count) in reasons {
        println!("{count:6}  {reason}");
    }
    Ok(failed == 0)
}
