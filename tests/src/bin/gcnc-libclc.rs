//! Compiles all of libclc as functions and checks a sample of its mathematics.

use clap::Parser;
use gcnc_tests::libclc::{PROCESSORS, SAMPLE, compile, largest_error};
use gcnc_tests::toolchain::{LIBCLC, Machine};
use sim::CodeObject;
use std::process::ExitCode;

/// Compiles libclc for several processors, counts refusals, and runs a sample of its functions on the
/// simulator.
#[derive(Parser)]
struct Args {
    /// Processors.
    #[arg(long, value_delimiter = ',', default_values_t = PROCESSORS.map(String::from))]
    mcpu: Vec<String>,
    /// Target features, as `+feature` or `-feature`, for all processors.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// Optimisation levels.
    #[arg(short = 'O', value_delimiter = ',', default_values_t = [0, 2])]
    levels: Vec<u8>,
    /// Calls of each function of the sample, with a wave of lanes each.
    #[arg(long, default_value_t = 4)]
    calls: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let Ok(bitcode) = std::fs::read(LIBCLC) else {
        eprintln!("gcnc-libclc: skipped: {LIBCLC} is missing (package libclc-22)");
        return ExitCode::from(2);
    };
    let mut good = true;
    let features = args.mattr.join(",");
    for cpu in &args.mcpu {
        let machine = Machine { cpu, features: &features };
        for &level in &args.levels {
            let whole = match compile(&bitcode, machine, level) {
                Ok(whole) => whole,
                Err(message) => {
                    eprintln!("gcnc-libclc: {message}");
                    return ExitCode::FAILURE;
                }
            };
            let refused: usize = whole.refused.values().sum();
            good &= refused == 0;
            println!(
                "{}: {} functions, {refused} refused, {:.1} s",
                whole.what, whole.functions, whole.seconds
            );
            whole.refused.iter().for_each(|(why, count)| println!("{count:6}  {why}"));
            let Some(object) = whole.object else { continue };
            let object = match CodeObject::load_open(&object) {
                Ok(object) => object,
                Err(report) => {
                    println!("  {report}");
                    good = false;
                    continue;
                }
            };
            let mut within = 0;
            for math in SAMPLE {
                let mut worst = (0.0, String::new());
                for seed in 0..args.calls {
                    match largest_error(&object, math, machine, seed) {
                        Ok(error) if error.0 > worst.0 => worst = error,
                        Ok(_) => {}
                        Err(message) => worst = (f64::INFINITY, message),
                    }
                }
                if worst.0 <= math.ulp {
                    within += 1;
                } else {
                    println!("  {}: {:.1} ulp, allowed {}: {}", math.name, worst.0, math.ulp, worst.1);
                    good = false;
                }
            }
            println!("  {within} of {} functions within OpenCL's bounds", SAMPLE.len());
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
