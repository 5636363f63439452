//! Memory on every generation: kernels written as LLVM IR, compiled by gcnc, run on the simulator with all
//! strict checks, and compared with results that are computed here.
//!
//! Each kernel has the signature `(ptr addrspace(1) %out, ptr addrspace(1) %in)` and starts with `%lid`
//! (work-item in the group), `%wg` and `%id` (work-item in the grid). A [`Case`] says what `out` must hold
//! for a given `in`.

mod access;
mod atomics;
mod blocks;
mod casts;
mod globals;
mod halves;
mod lanes;
mod neighbours;
mod scratch;
mod stack_places;

use gcnc_tests::toolchain;
use sim::{Arg, CodeObject, Config, Dispatch, Memory};
use std::fmt::Write as _;

/// One processor of each generation, and the one with the most additions.
const PROCESSORS: [&str; 5] = ["gfx600", "gfx700", "gfx803", "gfx900", "gfx906"];

/// Work-items of a work-group, two waves.
const GROUP: usize = 128;
/// Work-groups.
const GROUPS: usize = 2;
/// Work-items.
const ITEMS: usize = GROUP * GROUPS;

/// A kernel with its input and the output that it must make.
struct Case {
    name: String,
    /// Instructions of the entry block and further blocks, up to `ret void`.
    body: String,
    input: Vec<u8>,
    /// `out` before, whose length is that of the buffer.
    before: Vec<u8>,
    expected: Vec<u8>,
}

/// Whether `cpu` has a generic address space.
fn has_flat(cpu: &str) -> bool {
    !cpu.starts_with("gfx6")
}

/// A module of the kernels of `cases` behind `head`, which declares what they share.
fn module(head: &str, cases: &[Case]) -> String {
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\n\
         declare i32 @llvm.amdgcn.workitem.id.x()\ndeclare i32 @llvm.amdgcn.workgroup.id.x()\n\
         declare void @llvm.amdgcn.s.barrier()\n",
    );
    text.push_str(head);
    for case in cases {
        let _ = write!(
            text,
            "define amdgpu_kernel void @{}(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {{\nentry:\n\
             %lid = call i32 @llvm.amdgcn.workitem.id.x()\n%wg = call i32 @llvm.amdgcn.workgroup.id.x()\n\
             %first = mul i32 %wg, {GROUP}\n%id = add i32 %first, %lid\n{}ret void\n}}\n",
            case.name, case.body
        );
    }
    text.push_str("attributes #0 = { \"amdgpu-flat-work-group-size\"=\"1,128\" }\n");
    text
}

/// Compiles `text` with gcnc.
fn build(text: &str, cpu: &str, level: u8, attributes: &[&str]) -> Result<CodeObject, String> {
    let options = gcnc::CompileOptions {
        cpu: cpu.to_owned(),
        attributes: attributes.iter().map(ToString::to_string).collect(),
        opt_level: level,
        file_type: gcnc::FileType::Obj,
        code_object_version: (!attributes.contains(&"-code-object-v3")).then_some(4),
        verify: true,
        threads: 1,
        ..Default::default()
    };
    let output = gcnc::compile(text.as_bytes(), "memory", &options)
        .map_err(|errors| errors.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let object = folder.path().join("memory.o");
    std::fs::write(&object, output.bytes).map_err(|error| error.to_string())?;
    CodeObject::load(&toolchain::link(&object)?).map_err(|report| report.to_string())
}

/// What is wrong with the run of one kernel.
fn run(object: &CodeObject, case: &Case) -> Option<String> {
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", case.before.clone());
    let input = memory.add_buffer("in", case.input.clone());
    let dispatch = Dispatch {
        kernel: case.name.clone(),
        grid: [ITEMS as u32, 1, 1],
        group: [GROUP as u32, 1, 1],
        args: vec![Arg::Buffer(out), Arg::Buffer(input)],
        ..Dispatch::default()
    };
    if let Err(report) = sim::run(object, &mut memory, &dispatch, &Config::default()) {
        return Some(format!("{}: {report}", case.name));
    }
    let actual = memory.bytes(out);
    let at = (0..actual.len()).find(|&i| actual[i] != case.expected[i])?;
    let around = |bytes: &[u8]| format!("{:02x?}", &bytes[at & !7..bytes.len().min((at & !7) + 16)]);
    Some(format!(
        "{}: byte {at:#x} of out: {} instead of {}",
        case.name,
        around(actual),
        around(&case.expected)
    ))
}

/// Compiles and runs `cases` for one processor; the failures.
fn check(head: &str, cases: &[Case], cpu: &str, level: u8, attributes: &[&str]) -> Vec<String> {
    let place = format!("{cpu} -O{level} {attributes:?}");
    let text = module(head, cases);
    let findings: Vec<String> = match build(&text, cpu, level, attributes) {
        Ok(object) => cases.iter().filter_map(|case| run(&object, case)).collect(),
        Err(message) => vec![message],
    };
    if let (Ok(folder), false) = (std::env::var("GCNC_KEEP"), findings.is_empty()) {
        let _ = std::fs::write(format!("{folder}/{cpu}-{level}.ll"), &text);
    }
    findings.into_iter().map(|finding| format!("{place}: {finding}")).collect()
}

/// The processors to test; `GCNC_CPU` names one.
fn processors() -> Vec<String> {
    match std::env::var("GCNC_CPU") {
        Ok(cpu) => vec![cpu],
        Err(_) => PROCESSORS.iter().map(ToString::to_string).collect(),
    }
}

/// Fails with the first findings.
fn report(findings: &[String], cases: usize) {
    let shown = std::env::var("GCNC_SHOW").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let text: Vec<_> = findings.iter().take(shown).cloned().collect();
    assert!(findings.is_empty(), "{} of {cases} fail:\n{}", findings.len(), text.join("\n"));
}

/// Bytes that look random, the same in every run.
fn random_bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..len).map(|_| rng.u8(..)).collect()
}
