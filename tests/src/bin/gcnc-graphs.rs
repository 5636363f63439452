//! Kernels over control-flow graphs of every shape, judged by a direct evaluation.

use clap::Parser;
use gcnc_tests::graphs::{self, Finding, Graph, Inputs, Program, Setting, Style, dress, judge};
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Compiles and runs kernels over control-flow graphs, and compares with what they must compute.
///
/// Without --random, takes every graph of up to --blocks blocks once: each block ends in a jump or in a uniform or divergent branch.
#[derive(Parser)]
struct Args {
    /// Blocks of the largest graphs, 1 to 6. All smaller ones are taken too.
    #[arg(long, default_value_t = 3)]
    blocks: usize,
    /// Blocks of the smallest graphs.
    #[arg(long, default_value_t = 1)]
    from: usize,
    /// Takes one graph in so many.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Takes part I of N parts that make up the whole, counted from 0, after --every.
    #[arg(long, default_value = "0/1")]
    part: String,
    /// Seed of what blocks do and branches ask.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Processors; each graph takes one in turn.
    #[arg(long, value_delimiter = ',', default_values = ["gfx600", "gfx803", "gfx900"])]
    cpu: Vec<String>,
    /// Optimisation levels; each program is compiled at all of them.
    #[arg(short = 'O', value_delimiter = ',', default_values_t = [0, 2])]
    levels: Vec<u8>,
    /// Verifies every step for one graph in so many; 0 for none.
    #[arg(long, default_value_t = 16)]
    verify: usize,
    /// Folder for the programs that go wrong, as LLVM IR with the dispatch for `gcnc run`.
    #[arg(long)]
    save: Option<PathBuf>,
    /// Differences that are printed.
    #[arg(long, default_value_t = 20)]
    print: u64,
}

/// Graphs of a module, whose programs are compiled together.
const MODULE: usize = 8;

fn main() -> std::process::ExitCode {
    gcnc_tests::exit("gcnc-graphs", run(&Args::parse()))
}

/// Part and number of parts.
fn part(text: &str) -> Result<(usize, usize), String> {
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
}

fn run(args: &Args) -> Result<bool, String> {
    let (part, parts) = part(&args.part)?;
    let every = args.every.max(1);
    let counts = Counts::default();
    let start = Instant::now();
    for blocks in args.from..=args.blocks {
        let before = counts.graphs.load(Ordering::Relaxed);
        let taken = graphs::graphs(blocks).enumerate().filter(|(index, _)| {
            index % every == 0 && index / every % parts == part
        });
        batches(taken).par_bridge().for_each(|batch| one_batch(args, &counts, &batch));
        let graphs = counts.graphs.load(Ordering::Relaxed) - before;
        println!("{blocks} blocks: {graphs} graphs, {:.0} s", start.elapsed().as_secs_f64());
    }
    let (graphs, runs, differences) = (
        counts.graphs.into_inner(),
        counts.runs.into_inner(),
        counts.differences.into_inner(),
    );
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{graphs} graphs, {runs} runs ({:.0} a second): {differences} differences",
        runs as f64 / seconds
    );
    Ok(differences == 0)
}

fn batches<T>(items: impl Iterator<Item = T>) -> impl Iterator<Item = Vec<T>> {
    let mut items = items.fuse();
    std::iter::from_fn(move || {
        let batch: Vec<T> = items.by_ref().take(MODULE).collect();
        (!batch.is_empty()).then_some(batch)
    })
}

fn one_batch(args: &Args, counts: &Counts, batch: &[(usize, Graph)]) {
    let first = batch.first().map_or(0, |(index, _)| index / args.every.max(1) / MODULE);
    let cpu = &args.cpu[first % args.cpu.len().max(1)];
    let verify = args.verify != 0 && first % args.verify == 0;
    let mut programs: Vec<(Program, Inputs)> = Vec::new();
    for (index, graph) in batch {
        for (number, style) in Style::PLAIN.into_iter().enumerate() {
            let seed = args.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add((index * 4 + number) as u64);
            programs.push(dress(graph, seed, style));
        }
    }
    for &level in &args.levels {
        let setting = Setting { cpu: cpu.clone(), level, verify };
        for finding in graphs::check(&programs, &setting) {
            let number = counts.differences.fetch_add(1, Ordering::Relaxed);
            if number < args.print {
                tell(args, number, &setting, &finding, &programs[finding.index]);
            }
        }
        counts.runs.fetch_add(programs.len() as u64, Ordering::Relaxed);
    }
    counts.graphs.fetch_add(batch.len() as u64, Ordering::Relaxed);
}

fn tell(args: &Args, number: u64, setting: &Setting, finding: &Finding, (program, inputs): &(Program, Inputs)) {
    println!("{} -O{}: {}", setting.cpu, setting.level, finding.problem);
    println!("  {:?}", program.graph.ends);
    let Some(folder) = &args.save else { return };
    let saved = judge::report(program, *inputs).and_then(|(text, dispatch)| {
        let text = format!("; {} -O{}: {}\n{text}", setting.cpu, setting.level, finding.problem);
        let base = folder.join(format!("graph{number}"));
        let write = |ext: &str, text: String| std::fs::write(base.with_extension(ext), text);
        write("ll", text).and_then(|()| write("json", dispatch)).map_err(|error| error.to_string())
    });
    match saved {
        Ok(()) => println!("  {}", folder.join(format!("graph{number}.ll")).display()),
        Err(error) => println!("  not saved: {error}"),
    }
}
