//! The examples compute the same from an object that `gcnc link` linked as from the one of ld.lld.

use emit::link::{Input, LinkOptions, Undefined};
use gcnc_tests::examples::EXAMPLES;
use gcnc_tests::gpu::Gpu;
use gcnc_tests::toolchain;
use rayon::prelude::*;
use std::process::Command;

/// One example for one processor, linked twice and run.
fn compare(example: &gcnc_tests::examples::Example, cpu: &str) -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let source = toolchain::examples_folder().join(example.name).with_extension("cl");
    let (bitcode, path) = (scratch.path().join("example.bc"), scratch.path().join("example.o"));
    toolchain::clang(&source, &bitcode, cpu, 2, &[])?;
    let bytes = std::fs::read(&bitcode).map_err(|error| error.to_string())?;
    let options = gcnc::CompileOptions {
        cpu: cpu.to_owned(),
        file_type: gcnc::FileType::Obj,
        code_object_version: Some(4),
        ..gcnc::CompileOptions::default()
    };
    let object = gcnc::compile(&bytes, example.name, &options).map_err(|errors| format!("{errors:?}"))?.bytes;
    std::fs::write(&path, &object).map_err(|error| error.to_string())?;
    let input = Input { name: "example.o", bytes: &object, whole_archive: false };
    let link = LinkOptions { undefined: Undefined::Allow, ..LinkOptions::default() };
    let ours = emit::link::link(&[input], &link).map_err(|error| error.to_string())?;
    let contents = [ours, toolchain::link(&path)?].map(|linked| {
        let mut gpu = Gpu::new(&linked)?;
        (example.run)(&mut gpu)?;
        let buffers: Vec<Vec<u8>> = gpu.contents().into_iter().map(<[u8]>::to_vec).collect();
        Ok::<_, String>(buffers)
    });
    let [ours, theirs] = contents;
    if ours? == theirs? { Ok(()) } else { Err("other contents of buffers".to_owned()) }
}

#[test]
fn examples_linked_by_either_linker_compute_the_same() {
    if Command::new("ld.lld-22").arg("--version").output().is_err() {
        eprintln!("skipped: ld.lld-22 is not installed");
        return;
    }
    let jobs = EXAMPLES.iter().flat_map(|example| ["gfx803", "gfx900"].map(|cpu| (example, cpu)));
    let jobs: Vec<_> = jobs.collect();
    let problems: Vec<String> = jobs
        .par_iter()
        .filter_map(|&(example, cpu)| {
            compare(example, cpu).err().map(|error| format!("{} {cpu}: {error}", example.name))
        })
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(jobs.len() >= 36);
}
