//! Every stage of the compiler, run by itself, means the same; and a stage that is damaged is named.

mod mutation;

use gcnc::CompileOptions;
use gcnc::bisect::{Ran, Run, StopKind, Verdict, bisect};
use gcnc_tests::examples::EXAMPLES;
use gcnc_tests::gpu::Gpu;
use gcnc_tests::random;
use gcnc_tests::toolchain;
use mir::ir::Module;
use rayon::prelude::*;
use sim::{Arg, Dispatch, Memory};
use std::path::Path;

/// Most instructions of a stage of an example.
const FUEL: u64 = 50_000_000;

const KERNELS: &str = include_str!("kernels.ll");

const SHAPES: &str = include_str!("shapes.ll");

/// The kernels of `kernels.ll`.
const NAMES: [&str; 10] = [
    "divergent_loop",
    "nested_loops",
    "barriers",
    "atomics",
    "ballots",
    "scratch",
    "indices",
    "switches",
    "spills",
    "calls",
];

/// The kernels of `shapes.ll`.
const SHAPE_NAMES: [&str; 9] = [
    "shared_latch",
    "several_exits",
    "conditions",
    "mixed_conditions",
    "uniform_inside",
    "exchange",
    "signs",
    "wide",
    "spilling_loop",
];

fn options(cpu: &str, level: u8) -> CompileOptions {
    CompileOptions {
        cpu: cpu.to_owned(),
        opt_level: level,
        code_object_version: Some(4),
        ..Default::default()
    }
}

fn module(bytes: &[u8]) -> Module {
    let reading = frontend::read(bytes, "test").expect("the module is read");
    assert!(reading.errors.is_empty(), "{:?}", reading.errors);
    reading.module
}

/// Whether all stages ran to their end, and agree.
fn complete(verdict: &Verdict) -> Result<(), String> {
    let whole = verdict.stages.iter().all(|(_, ran)| matches!(ran, Ran::Finished));
    if verdict.culprit.is_none() && whole { Ok(()) } else { Err(verdict.to_string()) }
}

/// What a kernel of `kernels.ll` or `shapes.ll` starts with.
struct Input {
    memory: Memory,
    dispatch: Dispatch,
}

impl Input {
    /// Input `number`, from 1 on, with `items` work-items.
    fn new(name: &str, number: u64, items: u32) -> Self {
        let mut memory = Memory::new();
        let mut rng = fastrand::Rng::with_seed(7 + number);
        let out = memory.add_buffer("out", vec![0; 1024]);
        let input = memory.add_buffer("in", (0..256).flat_map(|_| rng.u32(..).to_le_bytes()).collect());
        let n: u32 = [37, 6, 129, 0, 255][(number as usize - 1) % 5];
        let dispatch = Dispatch {
            kernel: name.to_owned(),
            grid: [items, 1, 1],
            group: [128, 1, 1],
            args: vec![Arg::Buffer(out), Arg::Buffer(input), Arg::Value(n.to_le_bytes().to_vec())],
            ..Dispatch::default()
        };
        Self { memory, dispatch }
    }
}

/// A module with one kernel of another, and the functions that are no kernels if it calls any.
fn alone(module: &Module, name: &str) -> Module {
    let mut module = module.clone();
    for function in module.functions.values_mut() {
        if function.name != name && (function.is_kernel() || name != "calls") {
            function.layout.clear();
        }
    }
    module
}

/// All stages of a kernel.
fn kernel(module: &Module, name: &str, options: &CompileOptions, number: u64) -> Verdict {
    let Input { memory, dispatch } = Input::new(name, number, 256);
    let run = Run { dispatch: &dispatch, memory: &memory, seed: number, fuel: 1_000_000 };
    bisect(module, options, &run, None).expect("the kernel compiles")
}

#[test]
fn all_stages_of_the_kernels_agree() {
    let texts = [(module(KERNELS.as_bytes()), NAMES.as_slice()), (module(SHAPES.as_bytes()), &SHAPE_NAMES)];
    let cases: Vec<(&Module, &str, &str, u8)> = texts
        .iter()
        .flat_map(|(text, names)| names.iter().map(move |name| (text, *name)))
        .flat_map(|(text, name)| ["gfx600", "gfx803", "gfx900"].map(|cpu| (text, name, cpu)))
        .filter(|&(_, name, cpu)| cpu != "gfx600" || name != "ballots")
        .flat_map(|(text, name, cpu)| [0, 2].map(|level| (text, name, cpu, level)))
        .collect();
    let failures: Vec<String> = cases
        .par_iter()
        .filter_map(|&(text, name, cpu, level)| {
            // What undefined bits hold must not matter.
            let number = 1 + u64::from(level);
            let result = complete(&kernel(&alone(text, name), name, &options(cpu, level), number));
            result.err().map(|message| format!("{name}, {cpu}, -O{level}: {message}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The first launch of each kernel of an example, at all stages; how many there were.
fn example(name: &str, folder: &Path, cpu: &'static str, level: u8) -> Result<usize, String> {
    let example = EXAMPLES.iter().find(|e| e.name == name).ok_or("no such example")?;
    let bitcode = folder.join(format!("{name}-{cpu}-{level}.bc"));
    let source = toolchain::examples_folder().join(name).with_extension("cl");
    toolchain::clang(&source, &bitcode, cpu, level, &[])?;
    let bytes = std::fs::read(&bitcode).map_err(|error| error.to_string())?;
    let module = module(&bytes);
    let object = CompileOptions { file_type: gcnc::FileType::Obj, ..options(cpu, level) };
    let output = gcnc::compile_module(module.clone(), &object).map_err(|errors| format!("{errors:?}"))?;
    let mut gpu = Gpu::new(&output.bytes)?;
    let count = std::rc::Rc::new(std::cell::Cell::new(0));
    let mut seen: Vec<String> = Vec::new();
    let counted = count.clone();
    gpu.watch = Some(Box::new(move |dispatch, memory| {
        if seen.contains(&dispatch.kernel) {
            return Ok(());
        }
        seen.push(dispatch.kernel.clone());
        counted.set(seen.len());
        let run = Run { dispatch, memory, seed: 1, fuel: FUEL };
        let verdict =
            bisect(&module, &options(cpu, level), &run, None).map_err(|errors| format!("{errors:?}"))?;
        complete(&verdict)
    }));
    (example.run)(&mut gpu)?;
    Ok(count.get())
}

#[test]
fn all_stages_of_the_examples_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let targets = [("gfx803", 2), ("gfx900", 0), ("gfx600", 2)];
    let cases: Vec<(&str, &str, u8)> =
        EXAMPLES.iter().flat_map(|e| targets.map(|(cpu, level)| (e.name, cpu, level))).collect();
    let failures: Vec<String> = cases
        .par_iter()
        .filter_map(|&(name, cpu, level)| match example(name, folder.path(), cpu, level) {
            Ok(0) => Some(format!("{name}, {cpu}, -O{level}: no launch")),
            Ok(_) => None,
            Err(message) => Some(format!("{name}, {cpu}, -O{level}: {message}")),
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Seeds of random programs; `GCNC_RANDOM` asks for more.
fn seeds(usual: u64) -> std::ops::RangeInclusive<u64> {
    let asked = std::env::var("GCNC_RANDOM").ok().and_then(|text| text.parse().ok());
    1..=asked.unwrap_or(usual)
}

/// All stages of a random program; what was found.
fn random_program(text: &str, dispatch: &Dispatch, memory: &Memory, cpu: &str, level: u8) -> Option<String> {
    let run = Run { dispatch, memory, seed: 1, fuel: 1_000_000 };
    let verdict = match bisect(&module(text.as_bytes()), &options(cpu, level), &run, None) {
        Ok(verdict) => verdict,
        Err(errors) => return Some(format!("refused: {errors:?}")),
    };
    // Loops that call loops may run for too long.
    let long = |ran: &Ran| matches!(ran, Ran::Stopped(stop) if stop.kind == StopKind::Fuel);
    if verdict.culprit.is_none() && verdict.stages.iter().all(|(_, ran)| long(ran)) {
        return None;
    }
    complete(&verdict).err()
}

#[test]
fn all_stages_of_random_programs_agree() {
    let findings: Vec<String> = seeds(6)
        .into_par_iter()
        .flat_map_iter(|seed| {
            let programs = [random::module(seed, 60), random::typed_module(seed, 40)].concat();
            programs.into_iter().enumerate().flat_map(move |(n, (program, inputs))| {
                let (memory, _, dispatch) = random::launch("k", &program, &inputs);
                let text = random::text_of(&program, "k");
                let level = if n % 2 == 0 { 2 } else { 0 };
                let cpu = ["gfx900", "gfx803", "gfx700"][n % 3];
                random_program(&text, &dispatch, &memory, cpu, level)
                    .map(|found| format!("seed {seed}, program {n}, {cpu}, -O{level}: {found}\n{text}"))
            })
        })
        .collect();
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn all_stages_of_random_calls_agree() {
    let findings: Vec<String> = seeds(12)
        .into_par_iter()
        .filter_map(|seed| {
            let (memory, _, dispatch) = random::calls_launch();
            let text = random::calls(seed, random::CallsForm::default());
            let (cpu, level) = [("gfx900", 2), ("gfx700", 0), ("gfx803", 2)][seed as usize % 3];
            random_program(&text, &dispatch, &memory, cpu, level)
                .map(|found| format!("seed {seed}, {cpu}, -O{level}: {found}\n{text}"))
        })
        .collect();
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
}
