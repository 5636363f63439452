//! The interpreter of IR against results computed beside programs, against the simulator, and against the CPU's results of the examples.

use gcnc_tests::examples::EXAMPLES;
use gcnc_tests::gpu::Gpu;
use gcnc_tests::interpret::Interpreter;
use gcnc_tests::{random, toolchain};

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
