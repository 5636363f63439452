//! Compiles hashcat's kernels and reports what became of them.

use clap::Parser;
use gcnc_tests::compare::{self, Verdict};
use gcnc_tests::corpus;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compiles hashcat's OpenCL kernels with gcnc.
#[derive(Parser)]
struct Args {
    /// Only modules whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// At most so many modules, spread evenly over the list.
    #[arg(long)]
    limit: Option<usize>,
    /// Optimisation level.
    #[arg(short = 'O', default_value_t = 2)]
    level: u8,
    /// Seconds that one module may take.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Print a line for each module.
    #[arg(long)]
    verbose: bool,
    /// Instead run so many kernels, spread over the modules, as gcnc and as llc compiled them on the
    /// simulator with the same random inputs, and compare all buffers. Fails where they differ or where only
    /// gcnc's object breaks a strict check.
    #[arg(long, value_name = "N")]
    compare: Option<usize>,
    /// Seed of the inputs and of the choice of kernels for `--compare`.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> std::process::ExitCode {
    gcnc_tests::exit("gcnc-corpus", run(&Args::parse()))
}

/// Whether nothing crashed and nothing hung.
fn run(args: &Args) -> Result<bool, String> {
    let cache =
        PathBuf::from(std::env::var_os("GCNC_CACHE").ok_or("GCNC_CACHE is not set; use tests/corpus")?);
    let hashcat = cache.join("hashcat/usr/share/hashcat");
    let bitcode_folder = cache.join("hashcat-bitcode");
    std::fs::create_dir_all(&bitcode_folder)
        .map_err(|error| format!("{}: {error}", bitcode_folder.display()))?;
    let mut sources = corpus::sources(&hashcat)?;
    sources.retain(|path| path.to_string_lossy().contains(&args.filter));
    if let Some(limit) = args.limit.filter(|&limit| limit < sources.len()) {
        sources = (0..limit).map(|i| sources[i * sources.len() / limit].clone()).collect();
    }
    if let Some(count) = args.compare {
        return compare(args, &cache, count);
    }
    let modules: Vec<PathBuf> = sources
        .par_iter()
        .filter_map(|source| corpus::bitcode(&hashcat, source, &bitcode_folder, "gfx900"))
        .collect();
    println!("{} source files, {} that clang compiles", sources.len(), modules.len());
    let gcnc = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("gcnc");
    let out = tempfile::tempdir().map_err(|error| error.to_string())?;
    let reports =
        corpus::compile_all(&gcnc, &modules, out.path(), args.level, Duration::from_secs(args.seconds))?;
    if args.verbose {
        for report in &reports {
            println!("{:28} {:9.3} s  {:?}", report.module, report.time.as_secs_f64(), report.outcome);
        }
    }
    print!("{}", corpus::summary(&reports));
    let bad =
        |outcome: &corpus::Outcome| matches!(outcome, corpus::Outcome::Crashed(_) | corpus::Outcome::Hung);
    Ok(!reports.iter().any(|report| bad(&report.outcome)))
}

/// Whether no kernel differs.
fn compare(args: &Args, cache: &Path, count: usize) -> Result<bool, String> {
    let (view, bitcode) = (cache.join("hashcat-observed"), cache.join("hashcat-observed-bitcode"));
    std::fs::create_dir_all(&bitcode).map_err(|error| format!("{}: {error}", bitcode.display()))?;
    compare::observed_sources(&cache.join("hashcat/usr/share/hashcat"), &view)?;
    let mut sources = corpus::sources(&view)?;
    sources.retain(|path| path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains(&args.filter)));
    let gcnc = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("gcnc");
    let results =
        compare::compare(&gcnc, &view, &sources, &bitcode, count, args.seed, &|result| println!("{result}"))?;
    let number =
        |wanted: fn(&Verdict) -> bool| results.iter().filter(|result| wanted(&result.verdict)).count();
    let different = number(|verdict| matches!(verdict, Verdict::Different(_)));
    println!(
        "{} kernels: {} equal, {different} different, {} skipped",
        results.len(),
        number(|verdict| matches!(verdict, Verdict::Equal { .. })),
        number(|verdict| matches!(verdict, Verdict::Skipped(_))),
    );
    Ok(different == 0)
}
