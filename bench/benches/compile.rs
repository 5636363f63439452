//! Compile time per IR instruction, with criterion's statistics: gcnc and LLVM in one process on the same
//! parsed modules.
//!
//! `cargo bench -p gcnc-bench`. Modules: every example, and of hashcat's kernels those in
//! `$GCNC_CACHE/hashcat-bitcode` (`tests/corpus` makes them) that are named below. gcnc's time includes the
//! translation from LLVM's module; LLVM's is `LLVMTargetMachineEmitToMemoryBuffer` on a fresh copy of the
//! module.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gcnc_bench::llvm;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use std::path::PathBuf;
use std::time::Duration;

/// What the command uses; LLVM has the C library's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Modules of the corpus: small and large, integer and table lookups, with and without loops.
const CORPUS: &[&str] =
    &["m00000_a3-optimized", "m00400-optimized", "m00500-optimized", "m01770_a3-optimized"];

fn modules() -> Vec<(String, PathBuf)> {
    let folder = std::env::temp_dir().join("gcnc-bench-bitcode");
    std::fs::create_dir_all(&folder).expect("temporary folder");
    let mut out = Vec::new();
    for example in gcnc_tests::examples::EXAMPLES {
        let bitcode = folder.join(example.name).with_extension("bc");
        let source = gcnc_tests::toolchain::examples_folder().join(example.name).with_extension("cl");
        gcnc_tests::toolchain::clang(&source, &bitcode, "gfx900", 2, &[])
            .expect("clang compiles the examples");
        out.push((example.name.to_owned(), bitcode));
    }
    let cache = std::env::var_os("GCNC_CACHE").map(PathBuf::from).unwrap_or_default().join("hashcat-bitcode");
    for name in CORPUS {
        let bitcode = cache.join(name).with_extension("bc");
        if bitcode.exists() {
            out.push(((*name).to_owned(), bitcode));
        } else {
            eprintln!("{name}: not in the cache, left out (run tests/corpus)");
        }
    }
    out
}

fn compile_time(criterion: &mut Criterion) {
    let context = Context::create();
    for (name, path) in modules() {
        let buffer = MemoryBuffer::create_from_file(&path).expect("bitcode is readable");
        let module = Module::parse_bitcode_from_buffer(&buffer, &context).expect("bitcode parses");
        llvm::remove_dead_copies(&module);
        let mut group = criterion.benchmark_group(&name);
        group.throughput(Throughput::Elements(llvm::instructions(&module)));
        for level in [0, 2] {
            let options = gcnc_bench::time::options("gfx900", level);
            group.bench_function(format!("gcnc -O{level}"), |bencher| {
                bencher.iter(|| {
                    let reading = frontend::read_llvm_module(&module, &name).expect("valid module");
                    gcnc::compile_reading(reading, &options).expect("gcnc compiles the module")
                })
            });
            let machine = llvm::machine("gfx900", level).expect("LLVM was linked with AMDGPU");
            group.bench_function(format!("llvm -O{level}"), |bencher| {
                bencher.iter_batched(
                    || module.clone(),
                    |module| llvm::compile(&machine, &module),
                    criterion::BatchSize::PerIteration,
                )
            });
        }
        group.finish();
    }
}

/// From bitcode to bytes that a runtime loads, for a kernel of about 50 instructions: what a host waits for at run time.
fn latency(criterion: &mut Criterion) {
    let mut text =
        String::from("define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {\n  %v0 = add i32 %n, 1\n");
    for i in 1..46 {
        let before = i - 1;
        text += &match i % 3 {
            0 => format!("  %v{i} = mul i32 %v{before}, %n\n"),
            1 => format!("  %v{i} = xor i32 %v{before}, {i}\n"),
            _ => format!("  %v{i} = add i32 %v{before}, %v{}\n", i / 2),
        };
    }
    text += "  store i32 %v45, ptr addrspace(1) %p\n  ret void\n}\n";
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "kernel");
    let module = context.create_module_from_ir(buffer).expect("the kernel is valid");
    let bitcode = module.write_bitcode_to_memory().as_slice().to_vec();
    let compiler = gcnc::Compiler::builder("gfx900").opt_level(2).build().expect("there is such a processor");
    criterion.bench_function("latency of 50 instructions", |bencher| {
        bencher.iter(|| compiler.compile(&bitcode).expect("gcnc compiles the kernel"))
    });
    // LLVM's share ends with the relocatable object: lld is no part of LLVM's C API, so its time is not counted.
    let machine = llvm::machine("gfx900", 2).expect("LLVM was linked with AMDGPU");
    criterion.bench_function("latency of 50 instructions, LLVM without lld", |bencher| {
        bencher.iter(|| {
            let context = Context::create();
            let buffer = MemoryBuffer::create_from_memory_range_copy(&bitcode, "kernel");
            let module = Module::parse_bitcode_from_buffer(&buffer, &context).expect("bitcode parses");
            llvm::compile(&machine, &module).expect("LLVM compiles the kernel").as_slice().len()
        })
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = latency, compile_time
}
criterion_main!(benches);
