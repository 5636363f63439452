//! Compile time and memory.
//!
//! In one process gcnc and LLVM compile the same parsed module in turns; gcnc's time includes the translation from LLVM's module. Whole
//! commands are measured from their start to their end, again in turns. The least of all rounds counts: noise only adds.

use crate::llvm;
use crate::report::{Sample, TimeRow};
use gcnc_tests::examples::EXAMPLES;
use gcnc_tests::measure::{self, Compiler};
use gcnc_tests::toolchain::{self, Machine};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Levels that are measured in one process.
pub const LEVELS: [u8; 4] = [0, 1, 2, 3];
/// Levels of whole commands.
pub const COMMAND_LEVELS: [u8; 2] = [0, 2];

/// gcnc's options where its compile time is measured: an object, on one thread, as LLVM has one.
pub fn options(cpu: &str, level: u8) -> gcnc::CompileOptions {
    gcnc::CompileOptions {
        cpu: cpu.into(),
        file_type: gcnc::FileType::Obj,
        code_object_version: Some(3),
        opt_level: level,
        threads: 1,
        ..Default::default()
    }
}

/// A module to compile.
pub struct Input {
    /// Name.
    pub name: String,
    /// File.
    pub bitcode: PathBuf,
}

/// The examples whose names contain `filter`, as bitcode in `folder`.
///
/// # Errors
/// clang is missing or refuses one.
pub fn examples(folder: &Path, cpu: &str, filter: &str) -> Result<Vec<Input>, String> {
    let chosen = EXAMPLES.iter().filter(|example| example.name.contains(filter));
    chosen
        .map(|example| {
            let bitcode = folder.join(example.name).with_extension("bc");
            let source = toolchain::examples_folder().join(example.name).with_extension("cl");
            toolchain::clang(&source, &bitcode, cpu, 2, &[])?;
            Ok(Input { name: example.name.to_owned(), bitcode })
        })
        .collect()
}

/// Runs `first` and `second` in turns, `rounds` times, the order changing; their times.
fn in_turns(
    rounds: u32,
    mut first: impl FnMut() -> Result<f64, String>,
    mut second: impl FnMut() -> Result<f64, String>,
) -> Result<(Sample, Sample), String> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..rounds.max(1) {
        if round % 2 == 0 {
            a.push(first()?);
            b.push(second()?);
        } else {
            b.push(second()?);
            a.push(first()?);
        }
    }
    Sample::of(a).zip(Sample::of(b)).ok_or_else(|| "nothing was measured".to_owned())
}

fn microseconds<T>(work: impl FnOnce() -> Result<T, String>) -> Result<f64, String> {
    let start = Instant::now();
    let result = work()?;
    let time = start.elapsed().as_secs_f64() * 1e6;
    drop(result);
    Ok(time)
}

/// Compile times in this process at all [`LEVELS`]. What a compiler refuses is left out and told in `notes`.
///
/// # Errors
/// A module that cannot be read, or LLVM does not know the processor.
pub fn in_process(
    inputs: &[Input],
    cpu: &str,
    rounds: u32,
    notes: &mut Vec<String>,
) -> Result<Vec<TimeRow>, String> {
    let context = Context::create();
    let mut rows = Vec::new();
    for Input { name, bitcode } in inputs {
        let buffer = MemoryBuffer::create_from_file(bitcode).map_err(|error| error.to_string())?;
        let module =
            Module::parse_bitcode_from_buffer(&buffer, &context).map_err(|error| error.to_string())?;
        llvm::remove_dead_copies(&module);
        let ir_instructions = llvm::instructions(&module);
        for level in LEVELS {
            let (options, machine) = (options(cpu, level), llvm::machine(cpu, level)?);
            let ours = || {
                microseconds(|| {
                    let reading = frontend::read_llvm_module(&module, name).map_err(|e| e.to_string())?;
                    gcnc::compile_reading(reading, &options).map_err(|errors| messages(&errors))
                })
            };
            let theirs = || {
                let copy = module.clone();
                microseconds(|| llvm::compile(&machine, &copy))
            };
            match in_turns(rounds, ours, theirs) {
                Ok((gcnc, llvm)) => rows.push(TimeRow {
                    module: name.clone(),
                    ir_instructions,
                    level,
                    gcnc,
                    llvm,
                    gcnc_peak_kib: 0,
                    llvm_peak_kib: 0,
                }),
                Err(message) => notes.push(format!("{name} at -O{level}: {message}")),
            }
        }
    }
    Ok(rows)
}

/// Diagnostics as one line.
pub fn messages(errors: &gcnc::Errors) -> String {
    errors.first().map_or_else(|| "refused".to_owned(), ToString::to_string)
}

/// Whole commands at [`COMMAND_LEVELS`]: time and peak memory. `peak` is the program that measures it, `gcnc` the compiler.
///
/// # Errors
/// A command fails.
pub fn commands(
    inputs: &[Input],
    folder: &Path,
    [peak, gcnc]: [&Path; 2],
    cpu: &str,
    rounds: u32,
) -> Result<Vec<TimeRow>, String> {
    let object = folder.join("command.o");
    let mut rows = Vec::new();
    for Input { name, bitcode } in inputs {
        for level in COMMAND_LEVELS {
            let command =
                |compiler| measure::command(compiler, gcnc, bitcode, &object, Machine::from(cpu), level);
            let time = |compiler| {
                let mut command = command(compiler);
                microseconds(|| toolchain::run(&mut command))
            };
            let (ours, llvm) = in_turns(rounds, || time(Compiler::Gcnc), || time(Compiler::Llc))?;
            rows.push(TimeRow {
                module: name.clone(),
                ir_instructions: 0,
                level,
                gcnc: ours,
                llvm,
                gcnc_peak_kib: peak_of(peak, &command(Compiler::Gcnc))?,
                llvm_peak_kib: peak_of(peak, &command(Compiler::Llc))?,
            });
        }
    }
    Ok(rows)
}

/// Peak memory of `command` in KiB, which `gcnc-peak` says.
fn peak_of(peak: &Path, command: &Command) -> Result<u64, String> {
    let output = toolchain::run(Command::new(peak).arg(command.get_program()).args(command.get_args()))?;
    let text = String::from_utf8_lossy(&output);
    text.trim().parse().map_err(|_| format!("no number of kilobytes: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_change_their_order_and_the_least_counts() {
        let order = std::cell::RefCell::new(String::new());
        let mut times = [5.0, 3.0, 4.0].into_iter();
        let first = || {
            order.borrow_mut().push('a');
            times.next().ok_or_else(|| "too many".to_owned())
        };
        let second = || {
            order.borrow_mut().push('b');
            Ok(1.0)
        };
        let (a, b) = in_turns(3, first, second).expect("three rounds");
        assert_eq!((a.least_us, b.least_us), (3.0, 1.0));
        assert_eq!(*order.borrow(), "abbaab");
    }
}
