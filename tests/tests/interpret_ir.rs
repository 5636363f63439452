//! The interpreter of IR against results computed beside programs, against the simulator, and against the
//! CPU's results of the examples.

use gcnc_tests::examples::EXAMPLES;
use gcnc_tests::gpu::Gpu;
use gcnc_tests::interpret::{Interpreter, agree};
use gcnc_tests::{random, toolchain};
use rayon::prelude::*;
use sim::{Arg, CodeObject, Config, Dispatch, Memory};

fn options(cpu: &str, level: u8) -> gcnc::CompileOptions {
    gcnc::CompileOptions {
        cpu: cpu.to_owned(),
        opt_level: level,
        code_object_version: Some(4),
        threads: 1,
        ..Default::default()
    }
}

/// As read, and simplified at both levels.
fn stages(text: &[u8], cpu: &str) -> Vec<(String, Interpreter)> {
    let mut all = vec![("as read".to_owned(), Interpreter::as_read(text, &options(cpu, 0)).unwrap())];
    for level in [0, 2] {
        let module = Interpreter::simplified(text, &options(cpu, level)).unwrap();
        all.push((format!("legal at -O{level}"), module));
    }
    all
}

/// Modules of 16 programs of each kind; `GCNC_RANDOM` asks for more.
fn modules() -> u64 {
    std::env::var("GCNC_RANDOM").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

#[test]
fn random_programs_compute_what_they_must() {
    for seed in 1..=modules() {
        for (programs, cpu) in [
            (random::module(seed, 60), "gfx900"),
            (random::typed_module(seed, 40), "gfx900"),
            (random::module(seed + 1000, 60), "gfx700"),
            (random::module(seed + 2000, 40), "gfx1030"),
        ] {
            for (stage, module) in stages(random::text(&programs).as_bytes(), cpu) {
                let findings =
                    random::judge_by(&programs, &|memory, dispatch| module.run(memory, dispatch).map(drop));
                if let Some(finding) = findings.first() {
                    panic!("seed {seed} on {cpu} {stage}: {}\n{}", finding.problem, finding.text);
                }
            }
        }
    }
}

/// Programs whose additions became subtractions are found: the judge can say no.
#[test]
fn wrong_programs_are_found() {
    let programs = random::module(5, 60);
    let text = random::text(&programs).replace(" = add ", " = sub ");
    let module = Interpreter::as_read(text.as_bytes(), &options("gfx900", 0)).unwrap();
    let findings = random::judge_by(&programs, &|memory, dispatch| module.run(memory, dispatch).map(drop));
    assert!(!findings.is_empty());
}

/// `out` after kernel `k` of a program with calls ran, by whatever executes it; `None` where it takes too
/// long.
fn run_calls(
    execute: &dyn Fn(&mut Memory, &Dispatch) -> Result<(), String>,
) -> Result<Option<Vec<u8>>, String> {
    const ITEMS: u32 = 128;
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 4 * ITEMS as usize]);
    let mut rng = fastrand::Rng::with_seed(3);
    let input = (0..ITEMS * 8).flat_map(|_| (rng.u32(..) >> rng.u32(0..32)).to_le_bytes()).collect();
    let args = vec![Arg::Buffer(out), Arg::Buffer(memory.add_buffer("in", input))];
    let kernel = "k".to_owned();
    let dispatch = Dispatch { kernel, grid: [ITEMS, 1, 1], group: [64, 1, 1], args, ..Dispatch::default() };
    match execute(&mut memory, &dispatch) {
        Ok(()) => Ok(Some(memory.bytes(out).to_vec())),
        Err(problem) if problem.contains("budget") => Ok(None),
        Err(problem) => Err(problem),
    }
}

#[test]
fn programs_with_calls_leave_the_memory_of_their_objects() {
    for seed in 1..=2 * modules() {
        let text = random::calls(seed, random::CallsForm::default());
        let settings = gcnc::CompileOptions { file_type: gcnc::FileType::Obj, ..options("gfx900", 2) };
        let output = gcnc::compile(text.as_bytes(), "calls", &settings).unwrap();
        let object = CodeObject::load(&output.bytes).unwrap();
        let config = Config { budget: 1_000_000, ..Config::default() };
        let want = run_calls(&|memory, dispatch| {
            sim::run(&object, memory, dispatch, &config).map(drop).map_err(|report| report.to_string())
        });
        let Some(want) = want.unwrap() else { continue };
        for (stage, module) in stages(text.as_bytes(), "gfx900") {
            let got = run_calls(&|memory, dispatch| module.run(memory, dispatch).map(drop));
            let got = got.unwrap_or_else(|problem| panic!("seed {seed} {stage}: {problem}"));
            assert!(got.is_none_or(|got| got == want), "seed {seed} {stage}: another result");
        }
    }
}

/// The examples give the CPU's results as read and simplified, and the very bytes of the simulator where
/// nothing is approximate.
#[test]
fn examples_compute_what_they_must() {
    let problems: Vec<String> = EXAMPLES
        .par_iter()
        .flat_map_iter(|example| {
            let scratch = tempfile::tempdir().unwrap();
            let source = toolchain::examples_folder().join(example.name).with_extension("cl");
            let bitcode = scratch.path().join("example.bc");
            toolchain::clang(&source, &bitcode, "gfx900", 2, &[]).unwrap();
            let bytes = std::fs::read(&bitcode).unwrap();
            let mut problems = Vec::new();
            for (stage, module) in stages(&bytes, "gfx900") {
                let level = if stage.ends_with('2') { 2 } else { 0 };
                let mut interpreted = Gpu::interpreting(module);
                if let Err(problem) = (example.run)(&mut interpreted) {
                    problems.push(format!("{} {stage}: {problem}", example.name));
                    continue;
                }
                let object = scratch.path().join("example.o");
                let settings =
                    gcnc::CompileOptions { file_type: gcnc::FileType::Obj, ..options("gfx900", level) };
                std::fs::write(&object, gcnc::compile(&bytes, "example", &settings).unwrap().bytes).unwrap();
                let mut simulated = Gpu::new(&toolchain::link(&object).unwrap()).unwrap();
                (example.run)(&mut simulated).unwrap();
                let same = interpreted.contents() == simulated.contents();
                if !same && !interpreted.approximate {
                    problems.push(format!("{} {stage}: other bytes than the simulator's", example.name));
                }
            }
            problems
        })
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Kernels over intrinsics mean the same as read and simplified; `GCNC_IR` names a folder of more LLVM IR.
#[test]
fn modules_mean_the_same_as_read_and_simplified() {
    let folder = std::env::var_os("GCNC_IR").map(std::path::PathBuf::from);
    let own = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut files: Vec<_> =
        std::fs::read_dir(folder.unwrap_or(own)).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "ll"));
    files.sort();
    let results: Vec<_> = files
        .par_iter()
        .filter_map(|path| {
            let text = std::fs::read(path).ok()?;
            let ran = std::panic::catch_unwind(|| agree::stages(&text, &options("gfx900", 2), &[1, 2]));
            let ran = ran.unwrap_or_else(|_| Err("a panic".to_owned()));
            Some((
                path.display().to_string(),
                ran.inspect_err(|error| println!("{}: {error}", path.display())).ok()?,
            ))
        })
        .collect();
    let (mut compared, mut approximate) = (0, 0);
    let mut stopped = std::collections::BTreeMap::<&str, usize>::new();
    for (path, agreement) in &results {
        compared += agreement.compared;
        approximate += agreement.approximate;
        agreement.stopped.iter().for_each(|(reason, n)| *stopped.entry(reason).or_default() += n);
        agreement.differences.iter().for_each(|difference| println!("{path}: {difference}"));
    }
    println!("{compared} runs compared, {approximate} approximate, others stopped: {stopped:#?}");
    assert!(compared > 0 && results.iter().all(|(_, a)| a.differences.is_empty()));
}
