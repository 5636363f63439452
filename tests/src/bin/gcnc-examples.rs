//! The main job: every example through clang, gcnc and the simulator, compared with the CPU, with llc-22
//! beside it.

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use gcnc_tests::examples::{EXAMPLES, Example};
use gcnc_tests::measure::{self, Compiler, KernelFacts, Side};
use gcnc_tests::toolchain::Machine;
use rayon::prelude::*;
use sim::timing::Stall;

/// Compiles the examples, runs them on the simulator and compares with the CPU and with llc-22.
#[derive(Parser)]
struct Args {
    /// Processor.
    #[arg(long, default_value = "gfx900")]
    mcpu: String,
    /// Features, as for gcnc and llc.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    mattr: String,
    /// Only examples whose name contains this.
    #[arg(default_value = "")]
    filter: String,
    /// Optimisation level of clang and gcnc in the table (llc always runs at -O3).
    #[arg(short = 'O', default_value_t = 2)]
    level: u8,
    /// Say for how many kernels, those that take longest beside llc's, what each instruction costs.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    profile: usize,
    /// Do not run the examples a second time at -O0.
    #[arg(long)]
    skip_o0: bool,
}

struct Row {
    example: Example,
    ours: Result<Side, String>,
    llvm: Result<Side, String>,
    unoptimised: Option<Result<Side, String>>,
}

fn main() -> std::process::ExitCode {
    gcnc_tests::exit("gcnc-examples", run(&Args::parse()))
}

/// Whether every example gave the CPU's results.
fn run(args: &Args) -> Result<bool, String> {
    let gcnc = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("gcnc");
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let examples: Vec<Example> = EXAMPLES.iter().copied().filter(|e| e.name.contains(&args.filter)).collect();
    let rows: Vec<Row> = examples
        .par_iter()
        .map(|&example| {
            let side = |compiler: Compiler, clang_level, level| {
                let target = Machine { cpu: &args.mcpu, features: &args.mattr };
                measure::build_and_run(example, folder.path(), &gcnc, target, compiler, [clang_level, level])
            };
            Row {
                example,
                ours: side(Compiler::Gcnc, args.level, args.level),
                llvm: side(Compiler::Llc, args.level, 3),
                unoptimised: (!args.skip_o0).then(|| side(Compiler::Gcnc, 0, 0)),
            }
        })
        .collect();
    println!("{}", table(&rows));
    println!(
        "gcnc -O{0} | llc-22 -O3, on the same bitcode of clang -O{0}, for {1}{2}; \"executed\" counts wave instructions.",
        args.level, args.mcpu, args.mattr
    );
    print!("{}", cycles(&rows, args.profile));
    let mut good = true;
    for row in &rows {
        let sides =
            [("gcnc", Some(&row.ours)), ("gcnc -O0", row.unoptimised.as_ref()), ("llc-22", Some(&row.llvm))];
        for (name, side) in sides {
            let problem = match side {
                None => continue,
                Some(Err(message)) => message.clone(),
                Some(Ok(Side { result: Err(message), .. })) => message.clone(),
                Some(Ok(Side { unknown_instructions, .. })) if !unknown_instructions.is_empty() => {
                    format!("disassembles to unknown instructions: {}", unknown_instructions[0])
                }
                Some(Ok(_)) => continue,
            };
            println!("{} with {name}: {problem}", row.example.name);
            good &= name == "llc-22";
        }
    }
    let right = |side: &Result<Side, String>| {
        side.as_ref().is_ok_and(|s| s.result.is_ok() && s.unknown_instructions.is_empty())
    };
    let (ours, zero) = (
        rows.iter().filter(|row| right(&row.ours)).count(),
        rows.iter().filter(|row| row.unoptimised.as_ref().is_some_and(right)).count(),
    );
    println!("{ours} of {} examples equal the CPU at -O{}", rows.len(), args.level);
    if !args.skip_o0 {
        println!("{zero} of {} examples equal the CPU at -O0", rows.len());
    }
    Ok(good)
}

/// For what waves of a kernel lose their time, the most first, in percent of it.
fn lost(side: &Side, kernel: &str) -> String {
    let total: u64 = side.cycles(kernel).map(|cycles| cycles.wave_cycles).sum();
    let mut lost: Vec<(u64, Stall)> = Stall::ALL
        .into_iter()
        .map(|stall| (side.cycles(kernel).map(|cycles| cycles.stalls.of(stall)).sum::<u64>(), stall))
        .filter(|(cycles, _)| 100 * cycles >= total.max(1))
        .collect();
    lost.sort_by_key(|&(cycles, _)| std::cmp::Reverse(cycles));
    let each = lost.iter().map(|(cycles, stall)| format!("{} {}", stall.name(), 100 * cycles / total));
    each.collect::<Vec<_>>().join(", ")
}

/// Modelled cycles of all kernels beside llc's: the ratios from the worst on, their geometric mean, what waves wait for, and the tables of the first
/// `profiles`.
fn cycles(rows: &[Row], profiles: usize) -> String {
    let mut pairs: Vec<(f64, &str, &Side, &Side)> = Vec::new();
    for row in rows {
        let (Ok(ours), Ok(theirs)) = (&row.ours, &row.llvm) else { continue };
        for kernel in &ours.kernels {
            let (a, b) = (ours.modelled(&kernel.name), theirs.modelled(&kernel.name));
            if a > 0 && b > 0 {
                pairs.push((a as f64 / b as f64, &kernel.name, ours, theirs));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header([
        "kernel",
        "cycles/llc",
        "waves lose %, gcnc",
        "waves lose %, llc",
    ]);
    for (ratio, kernel, ours, theirs) in &pairs {
        table.add_row([
            (*kernel).to_owned(),
            format!("{ratio:.3}"),
            lost(ours, kernel),
            lost(theirs, kernel),
        ]);
    }
    let mean = (pairs.iter().map(|pair| pair.0.ln()).sum::<f64>() / pairs.len().max(1) as f64).exp();
    let mut out = format!(
        "{table}\nmodelled cycles of gcnc over llc's: geometric mean {mean:.3} of {} kernels\n",
        pairs.len()
    );
    for (_, kernel, ours, theirs) in pairs.iter().take(profiles) {
        for (name, side) in [("gcnc", ours), ("llc", theirs)] {
            for launch in side.cycles(kernel).take(1) {
                out += &format!("\n{kernel}, {name}, first launch\n{}", launch.table());
            }
        }
    }
    out
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header([
        "kernel",
        "result",
        "insts",
        "SGPRs",
        "VGPRs",
        "waves",
        "LDS",
        "scratch",
        "bytes",
        "executed",
        "cycles",
        "compile ms",
    ]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        let Ok(ours) = &row.ours else {
            table.add_row([row.example.name, "REFUSED"]);
            continue;
        };
        for kernel in &ours.kernels {
            let rival = row.llvm.as_ref().ok();
            let other = rival.and_then(|side| side.kernels.iter().find(|k| k.name == kernel.name));
            let pair = |get: fn(&KernelFacts) -> u64| {
                format!("{}|{}", get(kernel), other.map_or("-".to_owned(), |k| get(k).to_string()))
            };
            let milliseconds = |side: &Side| format!("{:.1}", side.compile_time.as_secs_f64() * 1e3);
            table.add_row([
                kernel.name.clone(),
                if ours.result.is_ok() { "ok" } else { "WRONG" }.to_owned(),
                pair(|k| k.instructions),
                pair(|k| k.sgprs),
                pair(|k| k.vgprs),
                pair(|k| k.occupancy),
                pair(|k| k.lds_bytes),
                pair(|k| k.scratch_bytes),
                pair(|k| k.code_bytes),
                format!(
                    "{}|{}",
                    ours.executed(&kernel.name),
                    rival.map_or("-".to_owned(), |side| side.executed(&kernel.name).to_string())
                ),
                format!(
                    "{}|{}",
                    ours.modelled(&kernel.name),
                    rival.map_or("-".to_owned(), |side| side.modelled(&kernel.name).to_string())
                ),
                format!("{}|{}", milliseconds(ours), rival.map_or("-".to_owned(), milliseconds)),
            ]);
        }
    }
    table
}
