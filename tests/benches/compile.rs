//! Compile time per IR instruction: gcnc and LLVM in one process on the same parsed modules.
//!
//! `cargo bench -p gcnc-tests`. Modules: every example, and of hashcat's kernels those in
//! `$GCNC_CACHE/hashcat-bitcode` (`tests/corpus` makes them) that are named below. gcnc's time includes the
//! translation from LLVM's module; LLVM's is `LLVMTargetMachineEmitToMemoryBuffer` on a fresh copy of the
//! module.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::{CodeModel, FileType, RelocMode, Target, TargetMachine, TargetTriple};
use inkwell::values::BasicValue;
use std::path::PathBuf;
use std::time::Duration;

/// What the command uses; LLVM has the C library's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Modules of the corpus: small and large, integer and table lookups, with and without loops.
const CORPUS: &[&str] =
    &["m00000_a3-optimized", "m00400-optimized", "m00500-optimized", "m01770_a3-optimized"];

unsafe extern "C" {
    fn LLVMInitializeAMDGPUTargetInfo();
    fn LLVMInitializeAMDGPUTarget();
    fn LLVMInitializeAMDGPUTargetMC();
    fn LLVMInitializeAMDGPUAsmPrinter();
}

fn machine(level: OptimizationLevel) -> TargetMachine {
    // SAFETY: LLVM's initialisers take no arguments and may be called any number of times.
    unsafe {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTarget();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUAsmPrinter();
    }
    let triple = TargetTriple::create("amdgcn-amd-amdhsa");
    Target::from_triple(&triple)
        .ok()
        .and_then(|t| {
            t.create_target_machine(&triple, "gfx900", "", level, RelocMode::PIC, CodeModel::Default)
        })
        .expect("LLVM was linked with AMDGPU")
}

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

/// clang emits beside every kernel a second copy of its body that nothing calls. gcnc does not compile it;
/// LLVM would, so it is removed for both.
fn remove_dead_copies(module: &Module) {
    let dead: Vec<_> = module
        .get_functions()
        .filter(|f| f.get_name().to_bytes().starts_with(b"__clang_ocl_kern_imp_"))
        .filter(|f| f.as_global_value().as_pointer_value().get_first_use().is_none())
        .collect();
    for function in dead {
        // SAFETY: nothing uses the function, and its handle is dropped here.
        unsafe { function.delete() };
    }
}

fn instructions(module: &Module) -> u64 {
    let blocks = module.get_functions().flat_map(|f| f.get_basic_blocks());
    blocks.map(|block| block.get_instructions().count() as u64).sum()
}

fn compile_time(criterion: &mut Criterion) {
    let context = Context::create();
    let options = |opt_level| gcnc::CompileOptions {
        cpu: "gfx900".into(),
        file_type: gcnc::FileType::Obj,
        code_object_version: Some(3),
        opt_level,
        threads: 1,
        ..Default::default()
    };
    for (name, path) in modules() {
        let buffer = MemoryBuffer::create_from_file(&path).expect("bitcode is readable");
        let module = Module::parse_bitcode_from_buffer(&buffer, &context).expect("bitcode parses");
        remove_dead_copies(&module);
        let mut group = criterion.benchmark_group(&name);
        group.throughput(Throughput::Elements(instructions(&module)));
        for level in [0, 2] {
            let options = options(level);
            group.bench_function(format!("gcnc -O{level}"), |bencher| {
                bencher.iter(|| {
                    let reading = frontend::read_llvm_module(&module, &name).expect("valid module");
                    gcnc::compile_reading(reading, &options).expect("gcnc compiles the module")
                })
            });
            let machine =
                machine(if level == 0 { OptimizationLevel::None } else { OptimizationLevel::Default });
            group.bench_function(format!("llvm -O{level}"), |bencher| {
                bencher.iter_batched(
                    || module.clone(),
                    |module| machine.write_to_memory_buffer(&module, FileType::Object),
                    criterion::BatchSize::PerIteration,
                )
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = compile_time
}
criterion_main!(benches);
