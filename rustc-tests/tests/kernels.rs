//! Rust kernels on the simulator beside the same Rust on the host, and Rust's `core` as input.
//!
//! Needs Debian's `rustc-web` and `rust-web-src`; without them the tests say so and end.

use gcnc_rustc_tests::work::group::{Group, ITEMS as GROUP, Shared};
use gcnc_rustc_tests::{Rust, link, panics, work};
use rayon::prelude::*;
use sim::{Arg, CodeObject, Config, Dispatch, Kind, Memory};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, LazyLock};

const ITEMS: usize = 128;
const WIDTH: usize = 8;

type Work = fn(usize, &[u32], &mut [u32]);

macro_rules! table {
    ($($name:ident)*) => { const KERNELS: &[(&str, Work)] = &[$((stringify!($name), work::$name)),*]; };
}
gcnc_rustc_tests::for_each_kernel!(table);

macro_rules! group_table {
    ($($name:ident)*) => {
        const GROUPS: &[&str] = &[$(stringify!($name)),*];
        fn by_name(name: &str, group: &Group<'_, impl Fn()>) {
            match name {
                $(stringify!($name) => work::group::$name(group),)*
                _ => unreachable!("all names are in the list"),
            }
        }
    };
}
gcnc_rustc_tests::for_each_group_kernel!(group_table);

macro_rules! panic_table {
    ($($name:ident)*) => { const PANICS: &[&str] = &[$({ let _: Work = panics::$name; stringify!($name) }),*]; };
}
gcnc_rustc_tests::for_each_panic!(panic_table);

/// The processor that rustc compiles for.
fn cpu() -> String {
    std::env::var("GCNC_RUST_CPU").unwrap_or_else(|_| "gfx900".to_owned())
}

/// Target features.
fn features() -> String {
    std::env::var("GCNC_RUST_FEATURES").unwrap_or_default()
}

/// Processors and features that the kernels are moved to, gcnc's level, and which half of the kernels, for time's sake: each is run by waves of both sizes, on
/// both kinds of GFX10, at both levels.
const MOVED_TO: [(&str, &str, u8, usize); 4] = [
    ("gfx1010", "", 2, 0),
    ("gfx1010", "+wavefrontsize64", 0, 1),
    ("gfx1030", "", 2, 1),
    ("gfx1030", "+wavefrontsize64", 0, 0),
];

fn rust() -> Option<Rust> {
    let cache =
        std::env::var_os("GCNC_CACHE").map_or_else(|| std::env::temp_dir().join("gcnc-cache"), PathBuf::from);
    match Rust::new(&cache, &cpu(), &features()) {
        Ok(rust) => Some(rust),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

/// The relocatable object of a module.
fn compile(module: &Path, level: u8) -> Result<Vec<u8>, String> {
    compile_for(module, &cpu(), &features(), level)
}

fn compile_for(module: &Path, cpu: &str, features: &str, level: u8) -> Result<Vec<u8>, String> {
    let bytes = std::fs::read(module).map_err(|e| e.to_string())?;
    let options = gcnc::CompileOptions {
        cpu: cpu.to_owned(),
        attributes: features.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        opt_level: level,
        file_type: gcnc::FileType::Obj,
        ..Default::default()
    };
    gcnc::compile(&bytes, "kernels", &options)
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

/// What a kernel of a group leaves on the host, where each item is a thread.
fn together(name: &str, input: &[u32]) -> Vec<u32> {
    let output: Vec<AtomicU32> = input.iter().map(|_| AtomicU32::new(0)).collect();
    for group in 0..ITEMS / GROUP {
        let (arrived, shared) = (Barrier::new(GROUP), Shared::default());
        std::thread::scope(|scope| {
            for item in 0..GROUP {
                let barrier = || {
                    arrived.wait();
                };
                let group = Group { item, group, shared: &shared, barrier, input, output: &output };
                scope.spawn(move || by_name(name, &group));
            }
        });
    }
    output.iter().map(|word| word.load(Ordering::Relaxed)).collect()
}

/// rustc, and its `core`, once for all tests.
static RUST: LazyLock<Option<(Rust, PathBuf)>> = LazyLock::new(|| {
    let rust = rust()?;
    let core = rust.core().expect("core compiles");
    Some((rust, core))
});

/// The first difference, in words.
fn difference(found: &[u32], expected: &[u32], width: usize) -> Option<String> {
    let at = found.iter().zip(expected).position(|(a, b)| a != b)?;
    Some(format!("item {} word {}: {:x}, not {:x}", at / width, at % width, found[at], expected[at]))
}

/// Runs everything at a level of rustc and one of gcnc.
fn kernels_at(rustc: &str, gcnc: u8) {
    let Some((rust, core)) = &*RUST else { return };
    let module = link(&rust.kernels(rustc).unwrap(), core).unwrap();
    run_those(&compile(&module, gcnc).unwrap(), &cpu(), |_| true);
}

/// Runs the kernels of an object whose numbers are wanted and compares; `machine` is for messages.
fn run_those(object: &[u8], machine: &str, wanted: impl Fn(usize) -> bool + Sync) {
    let object = CodeObject::load(object).unwrap();
    let all = input();
    let input = &all[..512];
    let alone = KERNELS.par_iter().enumerate().filter(|(number, _)| wanted(*number)).filter_map(
        |(_, &(name, work))| {
            let mut expected = vec![0u32; ITEMS * WIDTH];
            for (i, out) in expected.chunks_mut(WIDTH).enumerate() {
                work(i, input, out);
            }
            match run(&object, name, input) {
                Ok(found) => difference(&found, &expected, WIDTH).map(|why| format!("{name}: {why}")),
                Err(report) => Some(format!("{name}: {report}")),
            }
        },
    );
    let groups = GROUPS.par_iter().enumerate().filter(|(number, _)| wanted(*number)).filter_map(
        |(_, &name)| match run(&object, &format!("group_{name}"), input) {
            Ok(found) => {
                difference(&found, &together(name, input), 1).map(|why| format!("group of {name}: {why}"))
            }
            Err(report) => Some(format!("group of {name}: {report}")),
        },
    );
    let panicking = PANICS.par_iter().enumerate().filter(|(number, _)| wanted(*number)).filter_map(
        |(_, &name)| match run(&object, &format!("panic_{name}"), input) {
            Err(report) if report.kind == Kind::Trap => None,
            Err(report) => Some(format!("panic of {name}: {report}")),
            Ok(_) => Some(format!("panic of {name}: it ran to its end")),
        },
    );
    let wrong: Vec<String> = alone.chain(groups).chain(panicking).collect();
    assert!(wrong.is_empty(), "{machine}: {} kernels:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn kernels_of_fast_rust_compute_what_the_host_does() {
    assert!(KERNELS.len() + GROUPS.len() + PANICS.len() >= 90);
    kernels_at("3", 3);
}

/// What rustc made for one processor says nothing of it but its name, so that one run of rustc does for all.
#[test]
fn kernels_moved_to_gfx10_compute_what_the_host_does() {
    let Some((rust, core)) = &*RUST else { return };
    let module = link(&rust.kernels("2").unwrap(), core).unwrap();
    MOVED_TO.par_iter().for_each(|&(cpu, features, level, half)| {
        let moved = rust.moved(&module, cpu, features).unwrap();
        let object = compile_for(&moved, cpu, features, level).unwrap();
        run_those(&object, &format!("{cpu}{features} at level {level}"), |number| number % 2 == half);
    });
}

#[test]
fn kernels_of_small_rust_compute_what_the_host_does() {
    kernels_at("s", 2);
}

#[test]
fn kernels_without_optimisation_compute_what_the_host_does() {
    kernels_at("0", 0);
}

/// `core` alone leaves `memcpy` and its like to others, so its object is not loaded.
#[test]
#[ignore = "takes minutes"]
fn core_compiles_without_a_refusal() {
    let Some((_, core)) = &*RUST else { return };
    for level in [0, 2] {
        let object = compile(core, level).unwrap();
        assert!(object.len() > 1 << 20, "level {level}: {} bytes", object.len());
    }
}
