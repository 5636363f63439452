//! Kernels over intrinsics of the target (`intrinsics.ll`), as gcnc and as `llc` compiled them for one
//! processor of each generation: the same inputs must leave the same memory. On GFX6 and GFX7, where `llc`
//! makes no object of some, the results are those of GFX9.

use gcnc_tests::{gpu, toolchain};
use sim::CodeObject;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const ITEMS: u32 = 64;
const BYTES: usize = 8192;
const KERNELS: &str = include_str!("intrinsics.ll");

/// The compiler that was built with this test, or any other.
fn gcnc() -> Option<PathBuf> {
    let built = std::env::current_exe().ok()?.parent()?.parent()?.join("gcnc");
    let release = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/gcnc");
    [built, release].into_iter().find(|path| path.exists())
}

/// The kernels for a generation, with the declarations that they need, and their names.
fn module(generation: char) -> (String, Vec<String>) {
    let mut text = "target triple = \"amdgcn-amd-amdhsa\"\n".to_owned();
    let mut declared: BTreeMap<String, String> = BTreeMap::new();
    let mut names = Vec::new();
    for kernel in KERNELS.split("\ndefine ").skip(1) {
        let kernel = kernel.split("\ndeclare ").next().unwrap_or(kernel);
        let Some((_, rest)) = kernel.split_once('@') else { continue };
        let name = rest.split('(').next().unwrap_or(rest);
        if !name[1..].split('_').next().is_some_and(|generations| generations.contains(generation)) {
            continue;
        }
        names.push(name.to_owned());
        let _ = writeln!(text, "define {kernel}");
        for line in kernel.lines().filter(|line| line.contains("call ")) {
            let Some((result, call)) = line.split_once("call ").and_then(|(_, c)| c.split_once(" @")) else {
                continue;
            };
            let Some((callee, args)) = call.split_once('(') else { continue };
            let args = args.trim_end().trim_end_matches(')');
            // The type of an argument is all but its last word; commas inside types stand in no argument
            // here.
            let types: Vec<&str> = args
                .split(", ")
                .filter(|a| !a.is_empty())
                .filter_map(|a| a.rsplit_once(' ').map(|(ty, _)| ty))
                .collect();
            declared.insert(callee.to_owned(), format!("declare {result} @{callee}({})\n", types.join(", ")));
        }
    }
    declared.into_values().for_each(|line| text.push_str(&line));
    (text, names)
}

fn object(compiler: &Path, source: &Path, cpu: &str, level: u8) -> Result<CodeObject, String> {
    let object = source.with_extension("o");
    toolchain::run(
        Command::new(compiler)
            .args([
                "-mtriple=amdgcn-amd-amdhsa",
                "-filetype=obj",
                &format!("-mcpu={cpu}"),
                &format!("-O{level}"),
            ])
            .arg(source)
            .arg("-o")
            .arg(&object),
    )?;
    CodeObject::load(&toolchain::link(&object)?).map_err(|report| report.to_string())
}

fn run(object: &CodeObject, kernel: &str) -> Result<Vec<u8>, String> {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut input = || (0..BYTES / 4).flat_map(|_| rng.u32(..).to_le_bytes()).collect::<Vec<u8>>();
    let inputs = [input(), input()];
    gpu::run_on_two(object, kernel, ITEMS, BYTES, inputs)
}

#[test]
fn kernels_agree_with_llc() {
    let Some(gcnc) = gcnc() else {
        eprintln!("skipped: gcnc is not built");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut expected: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut failures = Vec::new();
    // GFX9 first: its results are what the others must have.
    for (cpu, generation) in [("gfx900", '9'), ("gfx803", '8'), ("gfx700", '7'), ("gfx600", '6')] {
        let (text, names) = module(generation);
        assert!(names.len() >= 8, "{cpu}: {names:?}");
        let source = folder.path().join(format!("{cpu}.ll"));
        std::fs::write(&source, text).expect("writable folder");
        if generation >= '8' {
            let llc = object(Path::new("llc-22"), &source, cpu, 2).expect("llc compiles the kernels");
            for name in &names {
                match run(&llc, name) {
                    Ok(bytes) => {
                        let first = expected.entry(name.clone()).or_insert_with(|| bytes.clone());
                        assert!(*first == bytes, "{name}: llc's results differ between processors");
                    }
                    Err(report) => failures.push(format!("{name}: llc's object: {report}")),
                }
            }
        }
        for level in [0, 2] {
            let ours = match object(&gcnc, &source, cpu, level) {
                Ok(ours) => ours,
                Err(message) => {
                    failures.push(format!("{cpu} -O{level}: {message}"));
                    continue;
                }
            };
            for name in &names {
                match (run(&ours, name), expected.get(name)) {
                    (Ok(found), Some(wanted)) => {
                        if let Some(at) = (0..BYTES).find(|&k| found[k] != wanted[k]) {
                            failures.push(format!("{cpu} -O{level} {name}: byte {at}"));
                        }
                    }
                    (Err(report), _) => failures.push(format!("{cpu} -O{level} {name}: {report}")),
                    (_, None) => {}
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
