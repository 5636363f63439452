//! Reads back the text of every step of files of LLVM IR, for instance of LLVM's own tests.

use clap::Parser;
use gcnc::CompileOptions;
use gcnc_tests::round_trip::{Findings, check};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Prints and parses what every step makes, goes on from there, and compares.
#[derive(Parser)]
struct Args {
    /// Files of LLVM IR, or folders of them.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Processors.
    #[arg(long, value_delimiter = ',', default_values = ["gfx600", "gfx803", "gfx900"])]
    mcpu: Vec<String>,
    /// Levels.
    #[arg(short = 'O', value_delimiter = ',', default_values_t = [0, 2])]
    levels: Vec<u8>,
    /// Triple.
    #[arg(long, default_value = "amdgcn-amd-amdhsa")]
    mtriple: String,
    /// Damaged copies of each text that the parser must survive.
    #[arg(long, default_value_t = 0)]
    damage: u32,
    /// Every n-th file.
    #[arg(long, default_value_t = 1)]
    every: usize,
}

fn main() -> ExitCode {
    gcnc_tests::exit("gcnc-text", run(&Args::parse()))
}

fn run(args: &Args) -> Result<bool, String> {
    let files: Vec<PathBuf> =
        gcnc_tests::ir_files(&args.inputs)?.into_iter().step_by(args.every.max(1)).collect();
    let mut well = true;
    for cpu in &args.mcpu {
        for &opt_level in &args.levels {
            let options = CompileOptions {
                triple: args.mtriple.clone(),
                cpu: cpu.clone(),
                opt_level,
                ..CompileOptions::default()
            };
            let found: Vec<(&PathBuf, Findings)> = files
                .par_iter()
                .filter_map(|file| Some((file, file_findings(file, &options, args.damage)?)))
                .collect();
            let texts: usize = found.iter().map(|(_, findings)| findings.texts).sum();
            let compiled = found.iter().filter(|(_, findings)| findings.compiled).count();
            let mut wrong = 0;
            for (file, findings) in &found {
                wrong += usize::from(!findings.wrong.is_empty());
                for line in &findings.wrong {
                    println!("{}, {cpu}, -O{opt_level}: {line}", file.display());
                }
            }
            let damaged: usize = found.iter().map(|(_, findings)| findings.damaged).sum();
            print!("{cpu} -O{opt_level}: {} modules, {compiled} compile; {texts} texts", found.len());
            println!(", {damaged} damaged; {wrong} modules differ");
            well &= wrong == 0;
        }
    }
    Ok(well)
}

/// What came of a file; `None` where it cannot be read.
fn file_findings(file: &Path, options: &CompileOptions, damage: u32) -> Option<Findings> {
    let bytes = std::fs::read(file).ok()?;
    let reading = frontend::read(&bytes, &file.to_string_lossy()).ok()?;
    reading.errors.is_empty().then(|| check(&reading.module, options, damage))
}
