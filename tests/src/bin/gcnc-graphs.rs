//! Kernels over control-flow graphs of every shape, judged by a direct evaluation.

use clap::Parser;
use gcnc_tests::graphs::{self, Finding, Inputs, Program, Setting, Style, dress, judge};
use rayon::prelude::*;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Compiles and runs kernels over control-flow graphs, and compares with what they must compute.
///
/// Without --random, takes every graph of up to --blocks blocks once: each block ends in a jump or in a uniform or divergent branch, and each graph is
/// dressed in four ways. What goes wrong is made smaller and printed. Exit status 1 where anything does.
#[derive(Parser)]
struct Args {
    /// Blocks of the largest graphs, 1 to 6. All smaller ones are taken too.
    #[arg(long, default_value_t = 3)]
    blocks: usize,
    /// Blocks of the smallest graphs.
    #[arg(long, default_value_t = 1)]
    from: usize,
    /// This many random programs instead, with switches, several returns, calls, operations across lanes, barriers and kills.
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
    #[arg(long, value_delimiter = ',', default_values = ["gfx600", "gfx803", "gfx900"])]
    cpu: Vec<String>,
    /// Optimisation levels; each program is compiled at all of them.
    #[arg(short = 'O', value_delimiter = ',', default_values_t = [0, 2])]
    levels: Vec<u8>,
    /// Verifies every step for one module in so many; 0 for none.
    #[arg(long, default_value_t = 16)]
    verify: u64,
    /// Folder for the programs that go wrong, as LLVM IR with the dispatch for `gcnc run`.
    #[arg(long)]
    save: Option<PathBuf>,
    /// Differences that are reduced and printed; of those that say the same, one.
    #[arg(long, default_value_t = 20)]
    print: u64,
}

/// Blocks of a program that are printed.
const SHOWN: usize = 8;

/// Graphs of a module, whose programs are compiled together.
const MODULE: usize = 8;

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

#[derive(Default)]
struct Counts {
    graphs: AtomicU64,
    runs: AtomicU64,
    differences: AtomicU64,
    /// Kinds of problems that were printed.
    kinds: Mutex<HashSet<String>>,
}

fn run(args: &Args) -> Result<bool, String> {
    // A step of the compiler that panics is reported as a defect.
    std::panic::set_hook(Box::new(|_| {}));
    let (part, parts) = part(&args.part)?;
    let every = args.every.max(1);
    let taken = |index: u64| index % every == 0 && index / every % parts == part;
    if args.cpu.is_empty() {
        return Err("--cpu: no processor".to_owned());
    }
    let counts = Counts::default();
    let start = Instant::now();
    if let Some(count) = args.random {
        let seeds = (0..count).filter(|&index| taken(index)).map(|index| args.seed.wrapping_add(index));
        batches(seeds).par_bridge().for_each(|(number, seeds)| {
            let permute = has_permute(args, number);
            let program = |&seed: &u64| (format!("seed {seed}"), graphs::random(seed, args.size, permute));
            let programs = seeds.iter().map(program).collect();
            one_module(args, &counts, number, seeds.len(), programs);
        });
    }
    for blocks in (args.from..=args.blocks).take_while(|_| args.random.is_none()) {
        let before = counts.graphs.load(Ordering::Relaxed);
        let graphs = (0u64..).zip(graphs::graphs(blocks)).filter(|&(index, _)| taken(index));
        batches(graphs).par_bridge().for_each(|(number, graphs)| {
            let mut programs = Vec::new();
            for (index, graph) in &graphs {
                for (way, style) in (0u64..).zip(Style::PLAIN) {
                    let seed = args.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index * 4 + way);
                    programs.push((format!("graph {index}, way {way}"), dress(graph, seed, style)));
                }
            }
            one_module(args, &counts, number, graphs.len(), programs);
        });
        let graphs = counts.graphs.load(Ordering::Relaxed) - before;
        println!("{blocks} blocks: {graphs} graphs, {:.0} s", start.elapsed().as_secs_f64());
    }
    let [graphs, runs, differences] =
        [counts.graphs, counts.runs, counts.differences].map(AtomicU64::into_inner);
    let rate = runs as f64 / start.elapsed().as_secs_f64();
    println!("{graphs} graphs, {runs} runs ({rate:.0} a second): {differences} differences");
    Ok(differences == 0)
}

/// The items in batches of a module, with the number of each.
fn batches<T>(items: impl Iterator<Item = T>) -> impl Iterator<Item = (u64, Vec<T>)> {
    let mut items = items.fuse();
    let batch = std::iter::from_fn(move || {
        let batch: Vec<T> = items.by_ref().take(MODULE).collect();
        (!batch.is_empty()).then_some(batch)
    });
    (0u64..).zip(batch)
}

/// The processor of module `number`.
fn cpu(args: &Args, number: u64) -> &str {
    &args.cpu[(number % args.cpu.len() as u64) as usize]
}

/// Whether the processor of module `number` has `ds_bpermute_b32`.
fn has_permute(args: &Args, number: u64) -> bool {
    !["gfx6", "gfx7"].iter().any(|old| cpu(args, number).starts_with(old))
}

fn one_module(
    args: &Args,
    counts: &Counts,
    number: u64,
    graphs: usize,
    named: Vec<(String, (Program, Inputs))>,
) {
    let cpu = cpu(args, number);
    let verify = args.verify != 0 && number % args.verify == 0;
    let (names, programs): (Vec<String>, Vec<(Program, Inputs)>) = named.into_iter().unzip();
    for &level in &args.levels {
        let setting = Setting { cpu: cpu.to_owned(), level, verify };
        for finding in graphs::check(&programs, &setting) {
            let difference = counts.differences.fetch_add(1, Ordering::Relaxed);
            let new = counts.kinds.lock().is_ok_and(|mut kinds| kinds.insert(kind(&finding.problem)));
            if new && difference < args.print {
                let name = &names[finding.index];
                print!("{}", tell(args, difference, &setting, name, &finding, &programs[finding.index]));
            }
        }
        counts.runs.fetch_add(programs.len() as u64, Ordering::Relaxed);
    }
    counts.graphs.fetch_add(graphs as u64, Ordering::Relaxed);
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
fn tell(
    args: &Args,
    number: u64,
    setting: &Setting,
    name: &str,
    finding: &Finding,
    (program, inputs): &(Program, Inputs),
) -> String {
    let problem = |program: &Program| {
        graphs::check(&[(program.clone(), *inputs)], setting).pop().map(|finding| finding.problem)
    };
    let small = graphs::reduce(program, *inputs, &|program| problem(program).is_some());
    let mut text = format!("{name}, {} -O{}: {}\n", setting.cpu, setting.level, finding.problem);
    let what = problem(&small).unwrap_or_default();
    let _ = writeln!(text, "  reduced: {what}");
    for (block, (end, code)) in small.graph.ends.iter().zip(&small.blocks).enumerate().take(SHOWN) {
        let _ = writeln!(text, "  {block}: {:?} {:?}; {end:?}", code.ops, code.fuel);
        if end.targets().len() > 1 {
            let _ = writeln!(text, "     {:?} {:?}", code.cond, code.pick);
        }
    }
    let Some(folder) = &args.save else { return text };
    let saved = judge::report(&small, *inputs).and_then(|(module, dispatch)| {
        let module = format!("; {} -O{}: {what}\n{module}", setting.cpu, setting.level);
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
