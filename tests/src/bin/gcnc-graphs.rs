//! Kernels over control-flow graphs of every shape, judged by a direct evaluation.

use clap::Parser;
use gcnc_tests::graphs::{self, Campaign, Case, Counts, Finding, Program, Setting, judge};
use gcnc_tests::measure::Compiler;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

/// Small allocations by the million.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compiles and runs kernels over control-flow graphs, and compares with what they must compute.
///
/// Without --random, takes every graph of up to --blocks blocks once: each block ends in a jump or in a
/// uniform or divergent branch, and each graph is dressed in four ways. What goes wrong is made smaller and
/// printed. Exit status 1 where anything does.
#[derive(Parser)]
struct Args {
    /// Blocks of the largest graphs, 1 to 6. All smaller ones are taken too.
    #[arg(long, default_value_t = 3)]
    blocks: usize,
    /// Blocks of the smallest graphs.
    #[arg(long, default_value_t = 1)]
    from: usize,
    /// This many random programs instead, with switches, several returns, calls, operations across lanes,
    /// barriers and kills.
    #[arg(long, value_name = "COUNT")]
    random: Option<u64>,
    /// Blocks of a random graph, at most.
    #[arg(long, default_value_t = 12)]
    size: usize,
    /// Takes one graph in so many.
    #[arg(long, default_value_t = 1)]
    every: u64,
    /// Takes part I of N parts that make up the whole, counted from 0, after --every.
    #[arg(long, default_value = "0/1")]
    part: String,
    /// Seed of what blocks do and branches ask, and of random graphs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Processors; modules of eight graphs take them in turn.
    #[arg(long, alias = "cpu", value_delimiter = ',', default_values = ["gfx600", "gfx803", "gfx900"])]
    mcpu: Vec<String>,
    /// Target features, as `+feature` or `-feature`, for all processors.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// Optimisation levels; each program is compiled at all of them.
    #[arg(short = 'O', value_delimiter = ',', default_values_t = [0, 2])]
    levels: Vec<u8>,
    /// Verifies every step for one module in so many; 0 for none.
    #[arg(long, default_value_t = 16)]
    verify: u64,
    /// Sends modules through random passes of opt-22 first; programs with operations across lanes are left
    /// out.
    #[arg(long)]
    opt: bool,
    /// Compiles with llc-22 instead: its code is a judge of the simulator and of what programs are expected
    /// to compute.
    #[arg(long)]
    llc: bool,
    /// Folder for the programs that go wrong, as LLVM IR with the dispatch for `gcnc run`.
    #[arg(long)]
    save: Option<PathBuf>,
    /// Differences that are reduced and printed; of those that say the same, one.
    #[arg(long, default_value_t = 20)]
    print: usize,
}

/// Blocks of a program that are printed.
const SHOWN: usize = 8;

fn main() -> std::process::ExitCode {
    gcnc_tests::exit("gcnc-graphs", run(&Args::parse()))
}

/// Part and number of parts.
fn part(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("--part {text}: not I/N with I below N");
    let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
    let (part, parts) = (part.parse().map_err(|_| wrong())?, parts.parse().map_err(|_| wrong())?);
    if part < parts { Ok((part, parts)) } else { Err(wrong()) }
}

fn run(args: &Args) -> Result<bool, String> {
    // A step of the compiler that panics is reported as a defect.
    std::panic::set_hook(Box::new(|_| {}));
    if args.opt {
        gcnc_tests::opt::available()?;
    }
    if args.mcpu.is_empty() {
        return Err("--mcpu: no processor".to_owned());
    }
    let campaign = Campaign {
        seed: args.seed,
        every: args.every,
        part: part(&args.part)?,
        cpus: args.mcpu.clone(),
        attributes: args.mattr.clone(),
        levels: args.levels.clone(),
        verify: args.verify,
        opt: args.opt,
        compiler: if args.llc { Compiler::Llc } else { Compiler::Gcnc },
    };
    // Kinds of problems that were printed.
    let kinds = Mutex::new(HashSet::new());
    let listener = |case: &Case, setting: &Setting, finding: &Finding| {
        let number = kinds.lock().ok().and_then(|mut kinds| {
            (kinds.len() < args.print && kinds.insert(kind(&finding.problem))).then_some(kinds.len())
        });
        if let Some(number) = number {
            print!("{}", tell(args, number, case, setting, finding));
        }
    };
    let start = Instant::now();
    let mut counts = Counts::default();
    if let Some(count) = args.random {
        counts = campaign.random(count, args.size, &listener);
    } else {
        for blocks in args.from..=args.blocks {
            let here = campaign.exhaustive(blocks, &listener);
            println!(
                "{blocks} blocks: {} graphs, {} runs, {:.0} s",
                here.graphs,
                here.runs,
                start.elapsed().as_secs_f64()
            );
            counts += here;
        }
    }
    let Counts { graphs, runs, differences, left_out } = counts;
    let rate = runs as f64 / start.elapsed().as_secs_f64();
    println!("{graphs} graphs, {runs} runs ({rate:.0} a second): {differences} differences");
    if left_out != 0 {
        println!("{left_out} runs left out: opt failed, or llc's code of what it made is wrong too");
    }
    Ok(differences == 0)
}

/// What kind of problem it is: the message without its numbers.
fn kind(problem: &str) -> String {
    let first = problem.lines().next().unwrap_or_default();
    if first.contains(" instead of ") {
        return first.to_owned();
    }
    first.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// A report on what went wrong, with a smaller program that does too.
fn tell(args: &Args, number: usize, case: &Case, setting: &Setting, finding: &Finding) -> String {
    let inputs = case.inputs;
    let problem = |program: &Program| {
        graphs::check(&[(program.clone(), inputs)], setting).pop().map(|finding| finding.problem)
    };
    let small = graphs::reduce(&case.program, inputs, &|program| problem(program).is_some());
    let mut text = format!("{}, {setting}: {}\n", case.name, finding.problem);
    let what = problem(&small).unwrap_or_default();
    let _ = writeln!(text, "  reduced: {what}");
    for (block, (end, code)) in small.graph.ends.iter().zip(&small.blocks).enumerate().take(SHOWN) {
        let _ = writeln!(text, "  {block}: {:?} {:?}; {end:?}", code.ops, code.fuel);
        if end.targets().len() > 1 {
            let _ = writeln!(text, "     {:?} {:?}", code.cond, code.pick);
        }
    }
    let Some(folder) = &args.save else { return text };
    let saved = judge::report(&small, inputs).and_then(|(module, dispatch)| {
        let module = format!("; {setting}: {}\n{module}", what.replace('\n', "\n; "));
        let base = folder.join(format!("graph{number}"));
        let write = |ext: &str, text: String| std::fs::write(base.with_extension(ext), text);
        write("ll", module).and_then(|()| write("json", dispatch)).map_err(|error| error.to_string())
    });
    let _ = match saved {
        Ok(()) => writeln!(text, "  {}", folder.join(format!("graph{number}.ll")).display()),
        Err(error) => writeln!(text, "  not saved: {error}"),
    };
    text
}
