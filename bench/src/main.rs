//! One command that measures gcnc beside LLVM and ACO.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand, ValueEnum};
use gcnc_bench::report::Report;
use gcnc_bench::{code, compare, corpora, plot, shaders, table, time};
use gcnc_tests::toolchain::Machine;
use std::path::{Path, PathBuf};

/// What the gcnc command uses; LLVM has the C library's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures gcnc beside LLVM 22 and Mesa's ACO: compile time, memory, code.
///
/// Without `--quick` every part runs with more rounds, and kernels of other projects are fetched.
#[derive(Parser)]
#[command(name = "gcnc-bench", version)]
struct Args {
    #[command(subcommand)]
    helper: Option<Helper>,
    /// Examples and shaders alone, with few rounds: some minutes on two cores.
    #[arg(long)]
    quick: bool,
    /// Only these parts.
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    parts: Vec<Part>,
    /// Processor.
    #[arg(long, default_value = "gfx900")]
    mcpu: String,
    /// gcnc's optimisation level for code; llc's is 3.
    #[arg(short = 'O', default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    level: u8,
    /// Only examples, shaders and modules whose names contain this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Rounds of each measurement of time; the least counts [default: 9, quick 3].
    #[arg(long)]
    rounds: Option<u32>,
    /// Modules of each corpus, spread evenly.
    #[arg(long, default_value_t = 40)]
    modules: usize,
    /// Modules (IR or bitcode) whose kernels are measured instead of other projects' in the part `corpora`.
    #[arg(long, value_name = "FOLDER")]
    given: Option<PathBuf>,
    /// Runs the kernels of the part `corpora`, too, with arguments made up from their metadata, and compares what they leave.
    #[arg(long)]
    run: bool,
    /// Where to keep fetched corpora [default: $GCNC_CACHE, else ~/.cache/gcnc].
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Writes the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes plots (SVG) into a folder.
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
    /// Compares with an earlier report [default: the one kept for this version in bench/results].
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Keeps the report as that of this version.
    #[arg(long)]
    keep: bool,
    /// Keeps what is compared (IR, objects, ACO's text) in this folder, and of kernels that run the cycles of each instruction.
    #[arg(long, value_name = "FOLDER")]
    work: Option<PathBuf>,
    /// Shows this report instead of measuring anything.
    #[arg(long, value_name = "FILE")]
    show: Option<PathBuf>,
}

/// What this program starts itself for.
#[derive(Subcommand)]
enum Helper {
    /// Prints as JSON what the Vulkan driver says of a shader.
    #[command(hide = true)]
    Radv { shader: PathBuf },
}

/// Parts of a run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Compile time in one process.
    Time,
    /// Whole commands and their memory.
    Commands,
    /// Code of the examples.
    Code,
    /// Shaders, beside ACO.
    Shaders,
    /// Kernels of other projects.
    Corpora,
}

fn main() -> std::process::ExitCode {
    let args = Args::parse();
    let result = match &args.helper {
        Some(Helper::Radv { shader }) => shaders::ask_driver(shader).map(|text| println!("{text}")),
        None => run(&args),
    };
    gcnc_tests::exit("gcnc-bench", result.map(|()| true))
}

/// The report that is kept for the version.
fn kept() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    folder.join(concat!(env!("CARGO_PKG_VERSION"), ".json"))
}

fn read(path: &Path) -> Result<Report, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Report::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn run(args: &Args) -> Result<(), String> {
    let report = match &args.show {
        Some(path) => read(path)?,
        None => measure(args)?,
    };
    print!("{}", table::text(&report));
    if let Some(folder) = &args.plots {
        for path in plot::all(&report, folder)? {
            println!("wrote {}", path.display());
        }
    }
    match &args.against {
        Some(path) => print!("\n{}", compare::text(&read(path)?, &report)),
        None if kept().exists() => print!("\n{}", compare::text(&read(&kept())?, &report)),
        None => {}
    }
    let text = report.json()?;
    if let Some(path) = &args.json {
        write(path, &text)?;
    }
    if args.keep {
        write(&kept(), &text)?;
        println!("kept as {}", kept().display());
    }
    Ok(())
}

/// The folder for what is fetched.
fn cache(args: &Args) -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let home = || variable("HOME").map(|home| home.join(".cache"));
    args.cache
        .clone()
        .or_else(|| variable("GCNC_CACHE"))
        .or_else(|| Some(variable("XDG_CACHE_HOME").or_else(home)?.join("gcnc")))
}

fn measure(args: &Args) -> Result<Report, String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let gcnc = me.with_file_name("gcnc");
    if !gcnc.exists() {
        return Err(format!("{} is missing: cargo build --release -p gcnc", gcnc.display()));
    }
    let temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = args.work.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let rounds = args.rounds.unwrap_or(if args.quick { 3 } else { 9 });
    let wanted = |part| match args.parts.is_empty() {
        true => part != Part::Corpora || !args.quick,
        false => args.parts.contains(&part),
    };
    let mut report =
        Report { version: env!("CARGO_PKG_VERSION").into(), cpu: args.mcpu.clone(), ..Report::default() };
    let machine = Machine::from(args.mcpu.as_str());
    if wanted(Part::Code) {
        eprintln!("code of the examples");
        report.code = code::examples(&gcnc, folder, machine, args.level, &args.filter, &mut report.notes);
    }
    if wanted(Part::Shaders) {
        eprintln!("shaders");
        let rows = shaders::measure(&me, folder, &args.mcpu, args.level, &args.filter, &mut report.notes);
        match rows {
            Ok(rows) => report.code.extend(rows),
            Err(message) => report.notes.push(format!("shaders: left out: {message}")),
        }
    }
    if wanted(Part::Corpora) {
        eprintln!("corpora");
        match cache(args) {
            None => report.notes.push("corpora: left out: no folder for a cache, give --cache".to_owned()),
            Some(cache) => {
                let choice = corpora::Choice {
                    level: args.level,
                    modules: args.modules,
                    filter: &args.filter,
                    given: args.given.as_deref(),
                    run: args.run,
                    profiles: args.work.is_some(),
                };
                let rows = corpora::measure(&gcnc, &cache, folder, machine, choice, &mut report.notes);
                report.code.extend(rows);
            }
        }
    }
    if wanted(Part::Time) || wanted(Part::Commands) {
        let inputs = time::examples(folder, &args.mcpu, &args.filter)?;
        if wanted(Part::Commands) {
            eprintln!("whole commands");
            report.commands = time::commands(
                &inputs,
                folder,
                [&me.with_file_name("gcnc-peak"), &gcnc],
                &args.mcpu,
                rounds,
            )?;
        }
        if wanted(Part::Time) {
            eprintln!("compile time in one process");
            report.in_process = time::in_process(&inputs, &args.mcpu, rounds, &mut report.notes)?;
        }
    }
    Ok(report)
}
