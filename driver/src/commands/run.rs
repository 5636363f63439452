//! `gcnc run`: a kernel on the simulator.

use super::{read_json, refused, report, status};
use mir::target::{OlderName, Target};
use sim::{Model, RunError, RunOptions};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Code object (relocatable or linked), or LLVM IR to be compiled first.
    object: PathBuf,
    /// Processor; default: what the object says.
    #[arg(long, default_value = "")]
    mcpu: String,
    /// What to run, as JSON.
    #[arg(long, value_name = "FILE")]
    dispatch: PathBuf,
    /// Strict checks: `all`, `none`, or names separated by commas; `-name` removes one. Names: in-flight,
    /// undef-address, undef-branch, hazard, misaligned, barrier, register-range, scratch-owner, race, stale,
    /// and, not in `all`: undef-store, buffer-range, race-global.
    #[arg(long)]
    strict: Option<String>,
    /// Seed of the order in which waves run and of what undefined registers hold; 0: each wave runs as far as
    /// it can.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print executed instructions, memory traffic, modelled cycles with what they were lost for, and digests.
    #[arg(long, value_name = "FORMAT", value_parser = ["json"])]
    stats: Option<String>,
    /// With --stats: modelled cycles of each instruction.
    #[arg(long, requires = "stats")]
    per_instruction: bool,
    /// Print a table of the modelled cycles, instruction by instruction.
    #[arg(long)]
    profile: bool,
    /// Compute units that share the work-groups in the model of cycles; it follows the first one.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    compute_units: u32,
    /// Work-groups of that compute unit that are modelled at most; the cycles of the others are scaled.
    #[arg(long, value_name = "COUNT", default_value_t = Model::default().groups, value_parser = clap::value_parser!(u32).range(1..))]
    model_groups: u32,
    /// Optimisation level for IR.
    #[arg(short = 'O', default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,
}

pub fn main(args: &Args) -> i32 {
    match run(args) {
        Ok(status) | Err(status) => status,
    }
}

fn run(args: &Args) -> Result<i32, i32> {
    let name = args.object.display().to_string();
    let mut object = std::fs::read(&args.object).map_err(|error| refused(&format!("{name}: {error}")))?;
    let json = read_json(&args.dispatch)?;
    if !object.starts_with(b"\x7fELF") {
        object = compile(args, &object, &name)?;
    }
    let target = match args.mcpu.as_str() {
        "" => None,
        cpu => {
            let older = OlderName::find(cpu, u8::MAX);
            let processor = Target::processor_by_name(older.map_or(cpu, |older| older.processor));
            Some(Target::new(processor.ok_or_else(|| refused(&format!("unknown processor `{cpu}`")))?))
        }
    };
    let options = RunOptions {
        strict: args.strict.clone(),
        seed: args.seed,
        target,
        model: (args.stats.is_some() || args.profile).then_some(Model {
            compute_units: args.compute_units,
            groups: args.model_groups,
            per_instruction: args.per_instruction || args.profile,
        }),
        base: args.dispatch.parent().map(PathBuf::from),
        ..RunOptions::default()
    };
    match sim::run_from_json(&object, &json, &options) {
        Ok(mut outcome) => {
            if args.profile
                && let Some(cycles) = &mut outcome.stats.model
            {
                print!("{}", cycles.table());
                if !args.per_instruction {
                    cycles.per_instruction.clear();
                }
            }
            if args.stats.is_some() {
                let text = serde_json::to_string(&outcome).map_err(|error| refused(&error))?;
                println!("{text}");
            }
            Ok(status::OK)
        }
        Err(RunError::Usage(message)) => Err(refused(&message)),
        Err(RunError::Stopped(stopped)) => {
            eprintln!("gcnc: {stopped}");
            Ok(status::STRICT)
        }
    }
}

fn compile(args: &Args, ir: &[u8], name: &str) -> Result<Vec<u8>, i32> {
    let options = gcnc::CompileOptions {
        cpu: args.mcpu.clone(),
        opt_level: args.opt_level,
        file_type: gcnc::FileType::Obj,
        ..Default::default()
    };
    let output = gcnc::compile(ir, name, &options);
    output
        .map(|output| output.bytes)
        .map_err(|errors| errors.iter().map(|error| report(name, error)).max().unwrap_or(status::DEFECT))
}
