//! Compiles and runs random programs until told to stop.

use clap::Parser;
use gcnc_tests::graphs::{Campaign, Counts};
use gcnc_tests::measure::Compiler;
use gcnc_tests::toolchain::Machine;
use gcnc_tests::{opt, random};
use rayon::prelude::*;

/// Compiles random programs, runs them on the simulator, and compares with what they must compute.
#[derive(Parser)]
struct Args {
    /// Seed of the first program.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Modules of 16 programs each.
    #[arg(long, default_value_t = 20)]
    count: u64,
    /// Operations of a program, at most.
    #[arg(long, default_value_t = 60)]
    size: usize,
    /// Processor.
    #[arg(long, default_value = "gfx900")]
    mcpu: String,
    /// Target features, as `+feature` or `-feature`.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// Integers of odd widths, vectors and aggregates, too.
    #[arg(long)]
    typed: bool,
    /// Programs with calls instead, one a seed, whose functions are called and inlined.
    #[arg(long)]
    calls: bool,
    /// Programs whose lanes exchange values through memory instead, one a seed.
    #[arg(long)]
    exchange: bool,
    /// Programs that are loops over memory instead, one a seed.
    #[arg(long)]
    loops: bool,
    /// Programs over random control-flow graphs instead, one a seed, of at most --size blocks; `gcnc-graphs`
    /// does more with them.
    #[arg(long)]
    graphs: bool,
    /// Sends programs through random passes of opt-22 first.
    #[arg(long)]
    opt: bool,
    /// Compile with llc-22 instead: its code is a judge of the simulator.
    #[arg(long)]
    llc: bool,
    /// Optimisation levels.
    #[arg(short = 'O', value_delimiter = ',', default_values_t = [0, 2])]
    levels: Vec<u8>,
}

fn main() -> std::process::ExitCode {
    let args = Args::parse();
    if args.opt
        && let Err(message) = opt::available()
    {
        return gcnc_tests::exit("gcnc-random", Err(message));
    }
    if args.graphs { graphs(&args) } else { trees(&args) }
}

/// Programs over graphs.
fn graphs(args: &Args) -> std::process::ExitCode {
    let campaign = Campaign {
        cpus: vec![args.mcpu.clone()],
        attributes: args.mattr.clone(),
        levels: args.levels.clone(),
        opt: args.opt,
        compiler: if args.llc { Compiler::Llc } else { Compiler::Gcnc },
        ..Campaign::new(args.seed, 1)
    };
    let counts = campaign.random(args.count, args.size.min(60), &|case, setting, finding| {
        println!("{}, {setting}: {}", case.name, finding.problem);
    });
    let Counts { graphs, runs, differences, left_out } = counts;
    println!("{graphs} programs, {runs} runs, {left_out} of them left out: {differences} problems");
    if differences == 0 { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}

/// Programs that are trees of statements.
fn trees(args: &Args) -> std::process::ExitCode {
    let compiler = if args.llc { Compiler::Llc } else { Compiler::Gcnc };
    let features = args.mattr.join(",");
    let machine = Machine { cpu: &args.mcpu, features: &features };
    let results: Vec<Vec<String>> = (args.seed..args.seed + args.count)
        .into_par_iter()
        .map(|seed| {
            let passes = args.opt.then(|| opt::pipeline(&mut fastrand::Rng::with_seed(seed)));
            let passes = passes.as_deref();
            if args.calls {
                let result = random::check_calls(seed, machine, &args.levels, passes);
                return result.err().into_iter().collect();
            }
            if args.exchange {
                let result = random::check_exchange(seed, compiler, machine, &args.levels, passes);
                return result.err().into_iter().collect();
            }
            if args.loops {
                let result = random::check_loops(seed, compiler, machine, &args.levels, passes);
                return result.err().into_iter().collect();
            }
            let Ok(scratch) = tempfile::tempdir() else { return vec!["no temporary folder".to_owned()] };
            let programs = if args.typed {
                random::typed_module(seed, args.size)
            } else {
                random::module(seed, args.size)
            };
            let mut problems = Vec::new();
            for &level in &args.levels {
                match random::check(&programs, scratch.path(), compiler, machine, level, passes) {
                    Ok(findings) => problems.extend(
                        findings.iter().map(|f| format!("seed {seed} -O{level}: {}\n{}", f.problem, f.text)),
                    ),
                    Err(message) => problems.push(format!("seed {seed} -O{level}: {message}")),
                }
            }
            problems
        })
        .collect();
    let problems = results.concat();
    problems.iter().for_each(|problem| println!("{problem}"));
    println!(
        "{} programs at {} levels: {} problems",
        args.count * if args.calls || args.exchange || args.loops { 1 } else { random::PROGRAMS as u64 },
        args.levels.len(),
        problems.len()
    );
    if problems.is_empty() { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
