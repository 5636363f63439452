//! Rust kernels on the simulator beside the same Rust on the host, and Rust's `core` as input.
//!
//! Needs Debian's `rustc-web` and `rust-web-src`; without them the tests say so and end.

use gcnc_rustc_tests::{Rust, link, work};
use sim::{Arg, CodeObject, Config, Dispatch, Kind, Memory};
use std::path::{Path, PathBuf};

const ITEMS: usize = 128;
const WIDTH: usize = 8;

type Work = fn(usize, &[u32], &mut [u32]);

macro_rules! table {
    ($($name:ident)*) => { const KERNELS: &[(&str, Work)] = &[$((stringify!($name), work::$name)),*]; };
}
gcnc_rustc_tests::for_each_kernel!(table);

fn rust() -> Option<Rust> {
    let cache =
        std::env::var_os("GCNC_CACHE").map_or_else(|| std::env::temp_dir().join("gcnc-cache"), PathBuf::from);
    match Rust::new(&cache) {
        Ok(rust) => Some(rust),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

/// The relocatable object of a module.
fn compile(bitcode: &Path, level: u8) -> Result<Vec<u8>, String> {
    let bytes = std::fs::read(bitcode).map_err(|e| e.to_string())?;
    let options = gcnc::CompileOptions {
        cpu: "gfx900".to_owned(),
        opt_level: level,
        file_type: gcnc::FileType::Obj,
        ..Default::default()
    };
    gcnc::compile(&bytes, "kernels.bc", &options)
        .map(|output| output.bytes)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

fn input() -> Vec<u32> {
    let mut rng = fastrand::Rng::with_seed(0x7275_7374);
    (0..ITEMS * 64 + 64).map(|_| rng.u32(..)).collect()
}

/// Runs a kernel; what is in its output, or what stopped it.
fn run(object: &CodeObject, kernel: &str, input: &[u32]) -> Result<Vec<u32>, Box<sim::Report>> {
    let mut memory = Memory::new();
    let bytes = input.iter().flat_map(|w| w.to_le_bytes()).collect();
    let source = memory.add_buffer("input", bytes);
    let output = memory.add_buffer("output", vec![0; ITEMS * WIDTH * 4]);
    let dispatch = Dispatch {
        kernel: format!("k_{kernel}"),
        grid: [ITEMS as u32, 1, 1],
        group: [64, 1, 1],
        args: vec![
            Arg::Buffer(source),
            Arg::Value((input.len() as u64).to_le_bytes().to_vec()),
            Arg::Buffer(output),
        ],
        ..Dispatch::default()
    };
    let config = Config { budget: 200_000_000, ..Config::default() };
    sim::run(object, &mut memory, &dispatch, &config)?;
    Ok(memory.read_u32s(output))
}

/// The module of the kernels at a level of rustc, or nothing where packages are missing.
fn module(rust: &Rust, level: u8) -> PathBuf {
    let core = rust.core().unwrap();
    link(&rust.kernels(level).unwrap(), &core).unwrap()
}

fn kernels_at(rustc: u8, gcnc: u8) {
    let Some(rust) = rust() else { return };
    let object = CodeObject::load(&compile(&module(&rust, rustc), gcnc).unwrap()).unwrap();
    let input = &input()[..512];
    let mut wrong = Vec::new();
    for &(name, work) in KERNELS {
        let mut expected = vec![0u32; ITEMS * WIDTH];
        for (i, out) in expected.chunks_mut(WIDTH).enumerate() {
            work(i, input, out);
        }
        match run(&object, name, input) {
            Ok(found) if found == expected => {}
            Ok(found) => {
                let at = (0..found.len()).find(|&k| found[k] != expected[k]).unwrap_or(0);
                let (item, word) = (at / WIDTH, at % WIDTH);
                let message =
                    format!("{name}: item {item} word {word}: {:x}, not {:x}", found[at], expected[at]);
                wrong.push(message);
            }
            Err(report) => wrong.push(format!("{name}: {report}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} kernels:\n{}", wrong.len(), KERNELS.len(), wrong.join("\n"));
    let report = run(&object, "panics", input).unwrap_err();
    assert_eq!(report.kind, Kind::Trap, "{report}");
}

#[test]
fn kernels_of_optimised_rust_compute_what_the_host_does() {
    assert!(KERNELS.len() >= 30);
    kernels_at(2, 2);
}

#[test]
fn kernels_without_optimisation_compute_what_the_host_does() {
    kernels_at(0, 0);
}

/// `core` alone leaves `memcpy` and its like to others, so its object is not loaded.
#[test]
#[ignore = "takes minutes"]
fn core_compiles_without_a_refusal() {
    let Some(rust) = rust() else { return };
    let core = rust.core().unwrap();
    for level in [0, 2] {
        let object = compile(&core, level).unwrap();
        assert!(object.len() > 1 << 20, "level {level}: {} bytes", object.len());
    }
}
