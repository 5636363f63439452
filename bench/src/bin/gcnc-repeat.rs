//! Compiles modules again and again in one process, for a profiler to watch: `perf record`, or `callgrind` with few rounds.

use clap::Parser;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compiles modules again and again in one process, for a profiler to watch. Modules are parsed once;
/// what is repeated is the translation from LLVM's module and everything behind it
#[derive(Parser)]
struct Options {
    /// Files of bitcode
    inputs: Vec<PathBuf>,
    /// Optimization level
    #[arg(short = 'O', default_value_t = 2)]
    level: u8,
    /// Processor
    #[arg(long, default_value = "gfx900")]
    mcpu: String,
    /// Compilations of each module
    #[arg(long, default_value_t = 10)]
    rounds: u32,
}

fn run(options: &Options) -> Result<(), String> {
    let context = Context::create();
    let settings = gcnc_bench::time::options(&options.mcpu, options.level);
    for input in &options.inputs {
        let name = input.display().to_string();
        let buffer = MemoryBuffer::create_from_file(input).map_err(|error| format!("{name}: {error}"))?;
        let module = Module::parse_bitcode_from_buffer(&buffer, &context)
            .map_err(|error| format!("{name}: {error}"))?;
        let mut least = f64::INFINITY;
        for _ in 0..options.rounds {
            let start = Instant::now();
            let reading =
                frontend::read_llvm_module(&module, &name).map_err(|error| format!("{name}: {error}"))?;
            gcnc::compile_reading(reading, &settings)
                .map_err(|errors| format!("{name}: {}", gcnc_bench::time::messages(&errors)))?;
            least = least.min(start.elapsed().as_secs_f64() * 1e6);
        }
        println!("{name}: {least:.0} us");
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("gcnc-repeat: {message}");
            ExitCode::FAILURE
        }
    }
}
