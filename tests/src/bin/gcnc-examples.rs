//! The main job: every example through clang, gcnc and the simulator, compared with the CPU, with llc-22
//! beside it.

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use gcnc_tests::examples::{EXAMPLES, Example};
use gcnc_tests::gpu::{Gpu, Launch};
use gcnc_tests::measure::{self, Compiler, KernelFacts};
use gcnc_tests::toolchain::{self, Machine};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// Do not run the examples a second time at -O0.
    #[arg(long)]
    skip_o0: bool,
}

/// What one compiler made of one example.
struct Side {
    kernels: Vec<KernelFacts>,
    launches: Vec<Launch>,
    compile_time: Duration,
    unknown_instructions: Vec<String>,
    result: Result<(), String>,
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
                build_and_run(example, folder.path(), &gcnc, target, compiler, [clang_level, level])
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
        "gcnc -O{0} | llc-22 -O3, on the same bitcode of clang -O{0}, for {1}{2}; \"executed\" counts wave instructions, \"cycles\" and those of its waves alone are the simulator's model.",
        args.level, args.mcpu, args.mattr
    );
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

fn build_and_run(
    example: Example,
    folder: &Path,
    gcnc: &Path,
    machine: Machine<'_>,
    compiler: Compiler,
    [clang_level, level]: [u8; 2],
) -> Result<Side, String> {
    let stem = format!("{}-{}-O{clang_level}", example.name, compiler.name());
    let bitcode: PathBuf = folder.join(&stem).with_extension("bc");
    let object = bitcode.with_extension("o");
    let source = toolchain::examples_folder().join(example.name).with_extension("cl");
    toolchain::clang(&source, &bitcode, machine.cpu, clang_level, &[])?;
    let compile_time = measure::compile(compiler, gcnc, &bitcode, &object, machine, level)?;
    let shared = toolchain::link(&object)?;
    let mut gpu = Gpu::new(&shared)?;
    let result = (example.run)(&mut gpu);
    Ok(Side {
        kernels: measure::kernels(&shared)?,
        launches: gpu.launches,
        compile_time,
        unknown_instructions: toolchain::unknown_instructions(&object, machine.cpu)?,
        result,
    })
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
        "of waves",
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
            let launched = |side: &Side, get: fn(&Launch) -> u64| -> u64 {
                side.launches.iter().filter(|l| l.kernel == kernel.name).map(get).sum()
            };
            let launches = |get: fn(&Launch) -> u64| {
                let theirs = rival.map_or("-".to_owned(), |side| launched(side, get).to_string());
                format!("{}|{theirs}", launched(ours, get))
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
                launches(|l| l.instructions),
                launches(|l| l.modelled_cycles),
                launches(|l| l.wave_cycles),
                format!("{}|{}", milliseconds(ours), rival.map_or("-".to_owned(), milliseconds)),
            ]);
        }
    }
    table
}
