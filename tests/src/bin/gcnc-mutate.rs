//! Runs readers of gcnc's on damaged files for as long as one likes.

use clap::Parser;
use gcnc_tests::mutate::{End, SUBJECTS, run};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs readers on damaged inputs: no panic, no defect, no hang, no memory without bound. Inputs follow from the seed. Findings are kept.
///
/// Exit status: 0 for no finding, 1 for panics and defects, 3 where an input took more than 5 s or 1 GiB; where the process dies, the input is
/// the folder's READER-current.
#[derive(Parser)]
struct Args {
    /// Readers; all, where none is named.
    #[arg(long, value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(SUBJECTS.map(|s| s.name)))]
    reader: Vec<String>,
    /// Minutes for each reader.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// So many inputs for each reader, in place of a time.
    #[arg(long)]
    inputs: Option<u64>,
    /// What the inputs follow from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for inputs that were findings.
    #[arg(long, default_value = "target/mutate")]
    keep: PathBuf,
}

fn main() -> ExitCode {
    gcnc_tests::exit("gcnc-mutate", all(&Args::parse()))
}

/// Whether nothing was found.
fn all(args: &Args) -> Result<bool, String> {
    let time = Duration::try_from_secs_f64(args.minutes * 60.0).map_err(|error| error.to_string())?;
    let end = args.inputs.map_or(End::Time(time), End::After);
    let mut clean = true;
    for subject in SUBJECTS {
        if !args.reader.is_empty() && !args.reader.iter().any(|name| name == subject.name) {
            continue;
        }
        let found = run(&subject, args.seed, end, &args.keep)?;
        println!(
            "{}: {} inputs, {} right, the longest took {:?}, {} places of panics",
            subject.name,
            found.executions,
            found.right,
            found.longest,
            found.panics.len()
        );
        for (place, (count, file)) in &found.panics {
            println!(
                "{}: FINDING {count} times: {place}; the first input is {}",
                subject.name,
                file.display()
            );
        }
        clean &= found.panics.is_empty();
    }
    Ok(clean)
}
