//! piglit's OpenCL programs: thousands of runs whose results somebody else wrote down.
//!
//! clang makes bitcode of each program, gcnc or llc an object, the simulator runs its kernels with all strict
//! checks, and the buffers are compared with what the program's comment expects. Where gcnc's result is
//! unexpected, llc's object runs too: if it leaves the very same bytes, the fault is the library's (libclc)
//! or the test's.

mod format;

pub use format::{Data, Program, Scalar, Test, Tolerance, Type, parse};

use crate::toolchain::{self, Machine};
use mir::half;
use sim::images::Placed;
use sim::{Arg, BufferId, Checks, CodeObject, Config, Dispatch, Memory};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What became of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As expected.
    Passed,
    /// Not as expected, and llc's object left the same bytes.
    AsLlc(String),
    /// Not as expected.
    Failed(String),
    /// gcnc refused the program, for this reason.
    Refused(String),
    /// clang rejects the program, or nothing is known of its results.
    Skipped(String),
}

/// A run and its outcome.
#[derive(Clone, Debug)]
pub struct Report {
    /// File, kernel and title.
    pub name: String,
    /// Outcome.
    pub outcome: Outcome,
}

/// Every program below `folder`, sorted.
pub fn programs(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "cl") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Builds the program at `path` at `-O{level}` for `machine` and runs its tests. `scratch` is a folder of its
/// own.
pub fn run(path: &Path, scratch: &Path, machine: Machine<'_>, level: u8) -> Vec<Report> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let single = |outcome| vec![Report { name: stem.clone(), outcome }];
    let program = match std::fs::read(path).map(|bytes| parse(&String::from_utf8_lossy(&bytes))) {
        Ok(Ok(Some(program))) => program,
        Ok(Ok(None)) => return single(Outcome::Skipped("no configuration".into())),
        Ok(Err(message)) => return single(Outcome::Skipped(message)),
        Err(error) => return single(Outcome::Skipped(error.to_string())),
    };
    if program.build_fails {
        return single(Outcome::Skipped("must not build".into()));
    }
    let bitcode = scratch.join("program.bc");
    let include = path.parent().map(|folder| format!("-I{}", folder.display())).unwrap_or_default();
    let mut extra: Vec<&str> = program.build_options.iter().map(String::as_str).collect();
    // The programs are older than this error, and build where their author ran them.
    extra.extend([&*include, "-Wno-error=incompatible-pointer-types"]);
    extra.extend(machine.wave_flag());
    let images = scratch.join("images.bc");
    let library = gcnc::image_library::bitcode().map_err(|error| error.to_string());
    if let Err(error) = library.and_then(|bytes| std::fs::write(&images, bytes).map_err(|e| e.to_string())) {
        return single(Outcome::Failed(error));
    }
    let images = images.to_string_lossy();
    extra.extend(["-Xclang", "-mlink-builtin-bitcode", "-Xclang", &*images]);
    if let Err(message) = toolchain::clang(path, &bitcode, machine.cpu, level, &extra) {
        let line = message.lines().find(|l| l.contains("error:")).unwrap_or("clang fails");
        return single(Outcome::Skipped(format!("clang: {line}")));
    }
    let object = match compile(&bitcode, scratch, machine, level) {
        Ok(object) => object,
        Err(reason) => {
            return program
                .tests
                .iter()
                .map(|test| Report {
                    name: format!("{stem} {} ({})", test.kernel, test.name),
                    outcome: Outcome::Refused(reason.clone()),
                })
                .collect();
        }
    };
    let mut llc = None;
    let mut judge = |test: &Test| -> Outcome {
        // All work-items write one variable of the work-group and read it back: whose value they get is anyone's.
        if test.kernel.starts_with("test_") && test.kernel.contains("_remquo_local_") {
            return Outcome::Skipped("the program races".into());
        }
        let ours = execute(&object, test, Checks::default());
        let problem = match &ours {
            Ok(buffers) => match mismatch(test, buffers) {
                None => return Outcome::Passed,
                Some(problem) => problem,
            },
            Err(report) => report.clone(),
        };
        if test.fails {
            return Outcome::Passed;
        }
        let llc = llc.get_or_insert_with(|| reference(&bitcode, scratch, machine, level));
        // llc's own hazards (`docs/llc-findings.md`) say nothing of what its code computes.
        let theirs = Checks::default().difference(Checks::HAZARD);
        match (llc.as_ref().map(|object| execute(object, test, theirs)), ours) {
            (Ok(Ok(theirs)), Ok(ours)) if theirs == ours => Outcome::AsLlc(problem),
            // Reports name addresses and registers, which differ between compilers: that both stop must do.
            (Ok(Err(_)), Err(_)) => Outcome::AsLlc(problem),
            _ => Outcome::Failed(problem),
        }
    };
    let report = |test: &Test| Report {
        name: format!("{stem} {} ({})", test.kernel, test.name),
        outcome: judge(test),
    };
    program.tests.iter().map(report).collect()
}

/// The linked object that gcnc makes, or why it refuses.
fn compile(bitcode: &Path, scratch: &Path, machine: Machine<'_>, level: u8) -> Result<CodeObject, String> {
    let input = std::fs::read(bitcode).map_err(|error| error.to_string())?;
    let options = gcnc::CompileOptions {
        file_type: gcnc::FileType::Obj,
        code_object_version: Some(3),
        verify: true,
        threads: 1,
        ..machine.options(level)
    };
    let output = gcnc::compile(&input, "program", &options).map_err(|errors| {
        errors
            .first()
            .map_or_else(String::new, |error| error.message.split(": %").next().unwrap_or("").into())
    })?;
    let object = scratch.join("gcnc.o");
    std::fs::write(&object, output.bytes).map_err(|error| error.to_string())?;
    load(&object).map_err(|message| missing(&message).unwrap_or(message))
}

/// What a linker's message says is missing, in one line.
fn missing(message: &str) -> Option<String> {
    let names: BTreeSet<&str> = message
        .lines()
        .filter_map(|line| Some(line.split_once("undefined hidden symbol: ")?.1))
        .map(|name| name.split('(').next().unwrap_or(name))
        .collect();
    let list = names.into_iter().collect::<Vec<_>>().join(", ");
    (!list.is_empty()).then(|| format!("libclc has no {list}"))
}

fn reference(bitcode: &Path, scratch: &Path, machine: Machine<'_>, level: u8) -> Result<CodeObject, String> {
    let object = scratch.join("llc.o");
    toolchain::llc(bitcode, &object, machine, level)?;
    load(&object)
}

fn load(object: &Path) -> Result<CodeObject, String> {
    CodeObject::load(&toolchain::link(object)?).map_err(|report| report.to_string())
}

/// Contents of all buffers by argument number after a run.
type Buffers = BTreeMap<usize, Vec<u8>>;

/// Runs one test with `checks`; an error is the simulator's report.
fn execute(object: &CodeObject, test: &Test, checks: Checks) -> Result<Buffers, String> {
    let mut memory = Memory::new();
    let generation = object.processor().map(|processor| processor.generation);
    let count = test.inputs.iter().chain(&test.outputs).map(|data| data.index + 1).max().unwrap_or(0);
    let (mut args, mut buffers) = (Vec::with_capacity(count), BTreeMap::new());
    for index in 0..count {
        let input = test.inputs.iter().find(|data| data.index == index);
        let output = test.outputs.iter().find(|data| data.index == index);
        if let Some(flags) = input.and_then(|data| data.sampler) {
            args.push(Arg::Buffer(sim::images::add_sampler(&mut memory, "sampler", flags)));
            continue;
        }
        if let Some(image) = input.or(output).and_then(|data| data.image) {
            let generation = generation.ok_or("an object without a processor has no images")?;
            let bytes = input.map(|data| data.bytes.as_slice()).unwrap_or_default();
            let placed = image.place(&mut memory, "image", bytes, generation);
            args.push(Arg::Buffer(placed.words));
            buffers.insert(index, (placed.texels, Some(placed)));
            continue;
        }
        args.push(match (input, output) {
            (Some(input), None) if input.buffer && input.bytes.is_empty() => {
                // No contents: a null pointer, or room in LDS, which only the kernel's signature tells.
                if is_local(object, test, index) { Arg::Local(input.size as u32) } else { Arg::Address(0) }
            }
            (Some(input), _) if !input.buffer => Arg::Value(input.bytes.clone()),
            (input, output) => {
                let size = input.map_or(0, |d| d.size).max(output.map_or(0, |d| d.size));
                let mut bytes = input.map(|d| d.bytes.clone()).unwrap_or_default();
                bytes.resize(size, 0);
                let id = memory.add_buffer("argument", bytes);
                buffers.insert(index, (id, None));
                Arg::Buffer(id)
            }
        });
    }
    let used = |sizes: [u32; 3]| std::array::from_fn(|i| if i < test.dimensions { sizes[i] } else { 1 });
    let grid = used(test.global);
    let group = match test.local {
        Some(local) => used(local),
        // The largest divisor of the first dimension that a wave holds; the run-time would choose alike.
        None => [(1..=64).rev().find(|n| grid[0] % n == 0).unwrap_or(1), 1, 1],
    };
    let offset = std::array::from_fn(|i| if i < test.dimensions { test.offset[i] } else { 0 });
    let dispatch = Dispatch { kernel: test.kernel.clone(), grid, group, args, offset, ..Dispatch::default() };
    let config = Config { checks, ..Config::default() };
    sim::run(object, &mut memory, &dispatch, &config).map_err(|report| report.to_string())?;
    let contents = |(index, (id, image)): (usize, (BufferId, Option<Placed>))| {
        let bytes = memory.bytes(id);
        (index, image.map_or_else(|| bytes.to_vec(), |image| image.packed(bytes)))
    };
    Ok(buffers.into_iter().map(contents).collect())
}

/// Whether the kernel's argument `index` is a pointer to LDS.
fn is_local(object: &CodeObject, test: &Test, index: usize) -> bool {
    let kernel = object.kernel(&test.kernel);
    let args = kernel.and_then(|kernel| kernel.metadata.as_ref()).map(|metadata| &metadata.args);
    args.and_then(|args| args.iter().filter(|arg| !arg.is_hidden()).nth(index))
        .is_some_and(|arg| arg.pointee_align.is_some())
}

/// The first value that is not as expected.
fn mismatch(test: &Test, buffers: &Buffers) -> Option<String> {
    test.outputs.iter().find_map(|expected| {
        let actual = buffers.get(&expected.index)?;
        let size = expected.ty.scalar.bytes();
        let values = expected.bytes.chunks_exact(size).zip(actual.chunks_exact(size));
        let slots = expected.ty.slots();
        values
            .enumerate()
            // What lies in the padding of a vector of three does not matter.
            .filter(|(i, _)| i % slots < expected.ty.lanes)
            .find(|(_, (want, got))| !close(want, got, expected.ty.scalar, expected.tolerance))
            .map(|(i, (want, got))| {
                let text = |bytes| {
                    number(bytes, expected.ty.scalar)
                        .map_or_else(|| format!("{:?}", integer(bytes)), |value| format!("{value:e}"))
                };
                format!("argument {}, value {i}: {} instead of {}", expected.index, text(got), text(want))
            })
    })
}

/// A floating-point number of 2, 4 or 8 bytes.
fn number(bytes: &[u8], scalar: Scalar) -> Option<f64> {
    let Scalar::Float(_) = scalar else { return None };
    Some(match *bytes {
        [a, b] => half::to_f64(u16::from_le_bytes([a, b])),
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).into(),
        _ => f64::from_bits(integer(bytes)),
    })
}

fn integer(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn close(want: &[u8], got: &[u8], scalar: Scalar, tolerance: Tolerance) -> bool {
    if want == got {
        return true;
    }
    let Some((want, got)) = number(want, scalar).zip(number(got, scalar)) else {
        let shift = 64 - 8 * want.len() as u32;
        // Sign does not matter to a distance that is taken modulo the type's size.
        let distance = ((integer(got) << shift) as i64).wrapping_sub((integer(want) << shift) as i64);
        let distance = (distance >> shift).unsigned_abs() as f64;
        return match tolerance {
            Tolerance::Ulp(limit) | Tolerance::Absolute(limit) => distance <= limit,
        };
    };
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    match tolerance {
        Tolerance::Absolute(limit) => want == got || (want - got).abs() <= limit,
        Tolerance::Ulp(limit) => want == got || (want - got).abs() <= limit * ulp(want, scalar),
    }
}

/// The unit in the last place at `value`.
fn ulp(value: f64, scalar: Scalar) -> f64 {
    let (fraction_bits, smallest) = match scalar {
        Scalar::Float(2) => (10, -14),
        Scalar::Float(4) => (23, -126),
        _ => (52, -1022),
    };
    let exponent = (value.abs().to_bits() >> 52) as i32 - 1023;
    2f64.powi(exponent.clamp(smallest, 1023) - fraction_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_functions_are_named_once() {
        let line = "ld.lld-22: error: undefined hidden symbol: read_imagef(ocl_image2d_ro, int vector[2])";
        let message = format!(
            "{line}\n>>> referenced by gcnc.o:(k)\n{line}\n{}",
            line.replace("read_imagef", "get_image_width")
        );
        assert_eq!(missing(&message).unwrap(), "libclc has no get_image_width, read_imagef");
        assert_eq!(missing("ld.lld-22: error: out of memory"), None);
    }

    #[test]
    fn tolerances() {
        let (one, next) = (1f32.to_le_bytes(), (1.0 + f32::EPSILON).to_le_bytes());
        let float = Scalar::Float(4);
        assert!(!close(&one, &next, float, Tolerance::Absolute(0.0)));
        assert!(close(&one, &next, float, Tolerance::Ulp(1.0)));
        assert!(!close(&one, &f32::NAN.to_le_bytes(), float, Tolerance::Ulp(1e9)));
        assert!(close(&[255], &[0], Scalar::Int(1), Tolerance::Absolute(1.0)));
        assert!(!close(&[254], &[0], Scalar::Int(1), Tolerance::Absolute(1.0)));
        assert!(close(&0f32.to_le_bytes(), &(-0f32).to_le_bytes(), float, Tolerance::Ulp(0.0)));
    }
}
