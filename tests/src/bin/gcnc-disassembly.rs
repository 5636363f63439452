//! Disassembles the objects of files of LLVM IR, for instance of LLVM's own tests, assembles the text and compares.

use clap::Parser;
use gcnc::{CompileOptions, FileType};
use gcnc_tests::disassembly::{Outcome, check};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compiles, disassembles, assembles and compares.
#[derive(Parser)]
struct Args {
    /// Files of LLVM IR, or folders of them.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Processors.
    #[arg(long, value_delimiter = ',', default_values = ["gfx600", "gfx803", "gfx900"])]
    mcpu: Vec<String>,
    /// Versions of code objects.
    #[arg(long, value_delimiter = ',', default_values_t = [2, 3, 4, 5, 6])]
    versions: Vec<u8>,
    /// Triple.
    #[arg(long, default_value = "amdgcn-amd-amdhsa")]
    mtriple: String,
    /// Linked objects instead of relocatable ones.
    #[arg(long)]
    hsaco: bool,
    /// Every n-th file.
    #[arg(long, default_value_t = 1)]
    every: usize,
}

fn main() -> ExitCode {
    gcnc_tests::exit("gcnc-disassembly", run(&Args::parse()))
}

/// The outcome for a file; `None` where it does not compile.
fn outcome(file: &Path, args: &Args, cpu: &str, version: u8) -> Option<Outcome> {
    let text = std::fs::read(file).ok()?;
    let options = CompileOptions {
        triple: args.mtriple.clone(),
        cpu: cpu.to_owned(),
        file_type: if args.hsaco { FileType::Hsaco } else { FileType::Obj },
        code_object_version: Some(version),
        threads: 1,
        ..CompileOptions::default()
    };
    let output = gcnc::compile(&text, &file.to_string_lossy(), &options).ok()?;
    let target = options.target(&args.mtriple, None).ok()?;
    Some(check(&output.bytes, &target))
}

fn run(args: &Args) -> Result<bool, String> {
    let files: Vec<PathBuf> =
        gcnc_tests::ir_files(&args.inputs)?.into_iter().step_by(args.every.max(1)).collect();
    let mut well = true;
    for cpu in &args.mcpu {
        for &version in &args.versions {
            let outcomes: Vec<(&PathBuf, Outcome)> = files
                .par_iter()
                .filter_map(|file| Some((file, outcome(file, args, cpu, version)?)))
                .collect();
            let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
            let (mut same, mut different) = (0, 0);
            for (file, outcome) in &outcomes {
                match outcome {
                    Outcome::Same => same += 1,
                    Outcome::LeftOut(line) => *reasons.entry(line).or_default() += 1,
                    Outcome::Different(what) => {
                        different += 1;
                        println!("{}, {cpu}, V{version}: {what}", file.display());
                    }
                }
            }
            let left_out = outcomes.len() - same - different;
            println!(
                "{cpu} V{version}: {} objects, {same} come back, {left_out} have no text, {different} differ",
                outcomes.len()
            );
            reasons.iter().for_each(|(reason, count)| println!("  {count}: {reason}"));
            well &= different == 0;
        }
    }
    Ok(well)
}
