//! The text of every step reads back, and the compilation goes on from it to the same bytes.

use gcnc::CompileOptions;
use gcnc_tests::examples::EXAMPLES;
use gcnc_tests::round_trip::check;
use gcnc_tests::{random, toolchain};
use rayon::prelude::*;

const TARGETS: [(&str, u8); 4] = [("gfx600", 2), ("gfx803", 0), ("gfx900", 2), ("gfx1030", 2)];

fn options(cpu: &str, level: u8) -> CompileOptions {
    CompileOptions {
        cpu: cpu.to_owned(),
        opt_level: level,
        code_object_version: Some(4),
        ..CompileOptions::default()
    }
}

/// Compiles IR from the text of every step; what is wrong.
fn wrong(bytes: &[u8], cpu: &str, level: u8) -> Result<(), String> {
    let reading = frontend::read(bytes, "test").map_err(|error| error.to_string())?;
    let findings = check(&reading.module, &options(cpu, level), 2);
    match findings.wrong.as_slice() {
        [] if findings.compiled && findings.texts > 2 => Ok(()),
        [] => Err("it does not compile".to_owned()),
        wrong => Err(wrong.join("\n")),
    }
}

#[test]
fn examples_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases: Vec<(&str, &str, u8)> =
        EXAMPLES.iter().flat_map(|e| TARGETS.map(|(cpu, level)| (e.name, cpu, level))).collect();
    let read_back = |&(name, cpu, level): &(&str, &str, u8)| {
        let bitcode = folder.path().join(format!("{name}-{cpu}-{level}.bc"));
        let source = toolchain::examples_folder().join(name).with_extension("cl");
        toolchain::clang(&source, &bitcode, cpu, level, &[])?;
        let bytes = std::fs::read(&bitcode).map_err(|error| error.to_string())?;
        wrong(&bytes, cpu, level)
    };
    let failures: Vec<String> =
        cases.par_iter().filter_map(|case| Some(format!("{case:?}: {}", read_back(case).err()?))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn kernels_and_calls_read_back() {
    let mut texts: Vec<String> =
        [include_str!("bisect/kernels.ll"), include_str!("bisect/shapes.ll")].map(str::to_owned).into();
    texts.extend(
        (1..=12).map(|seed| random::calls(seed, random::CallsForm { assembly: true, ..Default::default() })),
    );
    let cases: Vec<(usize, &str, u8)> =
        (0..texts.len()).flat_map(|n| TARGETS.map(|(cpu, level)| (n, cpu, level))).collect();
    // Ballots need GFX7, and so do calls.
    let failures: Vec<String> = cases
        .par_iter()
        .filter(|(_, cpu, _)| *cpu != "gfx600")
        .filter_map(|&(n, cpu, level)| {
            let message = wrong(texts[n].as_bytes(), cpu, level).err()?;
            Some(format!("{n}, {cpu}, -O{level}: {message}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
