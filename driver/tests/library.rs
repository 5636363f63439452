//! The library as a host uses it: errors, limits, threads, memory, LLVM's modules.

mod generated;

use gcnc::{CancelToken, Compiler, Diagnostic, Error, ErrorKind, Input};
use generated::module;
use std::time::{Duration, Instant};

#[path = "../../examples/embedding/jit.rs"]
mod example;

/// The guide shows what runs.
#[test]
fn the_example_of_the_guide_runs() {
    let guide = include_str!("../../docs/guide/src/embedding-rust.md");
    let (_, code) = include_str!("../../examples/embedding/jit.rs").split_once("\n\n").unwrap();
    assert!(guide.contains(&format!("```rust\n{code}```")));
    example::main().unwrap();
}

fn compiler() -> Compiler {
    Compiler::new("gfx900").unwrap()
}

#[test]
fn kernels_are_described() {
    let text = r#"
        @lds = internal addrspace(3) global [64 x i32] poison
        define amdgpu_kernel void @a(ptr addrspace(1) %out, i64 %n, ptr addrspace(3) %local) #0 {
          store i32 1, ptr addrspace(3) @lds
          %v = load volatile i32, ptr addrspace(3) @lds
          store i32 %v, ptr addrspace(1) %out
          ret void
        }
        define amdgpu_kernel void @b() { ret void }
        attributes #0 = { "amdgpu-flat-work-group-size"="1,128" }"#;
    let object = compiler().compile(text).unwrap();
    let names: Vec<&str> = object.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let kernel = object.kernel("a").unwrap();
    assert_eq!((kernel.symbol.as_str(), kernel.lds_bytes, kernel.max_work_group_size), ("a.kd", 256, 128));
    assert_eq!((kernel.wave_size, kernel.scratch_bytes), (64, 0));
    let arguments: Vec<_> = kernel.arguments.iter().filter(|argument| !argument.is_hidden()).collect();
    let laid_out: Vec<_> = arguments.iter().map(|a| (a.offset, a.size, a.kind.as_str())).collect();
    assert_eq!(laid_out, [(0, 8, "global_buffer"), (8, 8, "by_value"), (16, 4, "dynamic_shared_pointer")]);
    assert_eq!(arguments[0].name.as_deref(), Some("out"));
    assert!(kernel.vgprs > 0 && kernel.sgprs > 0);
    assert_eq!(object.stats.functions.len(), 2);
    // ET_DYN: what runtimes load.
    assert_eq!(object.bytes[16], 3);
    // Older code objects say it in notes of another form.
    for version in 2..=5 {
        let old = Compiler::builder("gfx900").code_object_version(version).build().unwrap();
        let object = old.compile(text).unwrap();
        assert_eq!(object.kernel("a").unwrap().lds_bytes, 256, "V{version}");
    }
}

#[test]
fn other_forms_of_output() {
    let text = module(1, 50);
    assert!(compiler().assembly(&text).unwrap().contains("s_endpgm"));
    // ET_REL.
    assert_eq!(compiler().relocatable(&text).unwrap()[16], 1);
}

#[test]
fn modules_are_linked_and_the_host_has_symbols() {
    let caller = r#"
        target triple = "amdgcn-amd-amdhsa"
        @table = external addrspace(1) global i32
        declare i32 @twice(i32)
        define amdgpu_kernel void @k(ptr addrspace(1) %out) {
          %v = load i32, ptr addrspace(1) @table
          %w = call i32 @twice(i32 %v)
          store i32 %w, ptr addrspace(1) %out
          ret void
        }"#;
    let callee = r#"
        target triple = "amdgcn-amd-amdhsa"
        define i32 @twice(i32 %x) { %y = shl i32 %x, 1 ret i32 %y }"#;
    let inputs = || [Input::from(caller), Input::from(callee)];
    let error = compiler().link(inputs()).unwrap_err();
    assert!(error.to_string().contains("table"), "{error}");
    let address = 0x1234_5678_9abc_def0_u64;
    let host = Compiler::builder("gfx900").symbol("table", address).build().unwrap();
    let object = host.link(inputs()).unwrap();
    assert_eq!(object.kernels.len(), 1);
    // The global offset table holds the address as it is.
    let bytes = address.to_le_bytes();
    assert!(object.bytes.windows(8).any(|window| window == bytes));
    assert_eq!(object.stats.functions.len(), 2);
}

#[test]
fn modules_in_memory_are_read() {
    let text = module(3, 40);
    let context = gcnc::LlvmContext::create();
    let buffer =
        inkwell::memory_buffer::MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "module");
    let module = context.create_module_from_ir(buffer).unwrap();
    let of_module = compiler().compile(&module).unwrap();
    assert_eq!(of_module.bytes, compiler().compile(&text).unwrap().bytes);
}

#[test]
fn every_refused_function_is_reported() {
    // One that cannot be read, one that cannot be legalised, one that cannot be selected, and a good one.
    let text = r#"
        target triple = "amdgcn-amd-amdhsa"
        define void @unread(ptr %p) { %v = load <vscale x 2 x i32>, ptr %p store <vscale x 2 x i32> %v, ptr %p ret void }
        define amdgpu_kernel void @good() { ret void }
        define void @wide(ptr %p) { %v = load i5000, ptr %p %w = mul i5000 %v, 3 store i5000 %w, ptr %p ret void }
        define void @named() { call void asm sideeffect "s_nonesuch", ""() ret void }"#;
    let error = compiler().job().name("bad.ll").compile(text).unwrap_err();
    let Error::Refused(all) = &error else { panic!("{error:?}") };
    let functions: Vec<_> =
        all.iter().map(|diagnostic| diagnostic.function.as_deref().unwrap_or("")).collect();
    assert_eq!(functions, ["unread", "wide", "named"], "{error}");
    assert_eq!(error.to_string().lines().count(), 3, "{error}");
    assert!(all.iter().all(|diagnostic| diagnostic.kind != ErrorKind::Defect));

    let syntax = compiler().job().name("bad.ll").compile("define void @f() { ret i32 }").unwrap_err();
    let Error::Refused(all) = &syntax else { panic!("{syntax:?}") };
    let at = all[0].location.as_ref().unwrap();
    assert_eq!((at.file.as_str(), at.line), ("bad.ll", 1));
    assert!(at.column > 0 && syntax.to_string().starts_with("bad.ll:1:"), "{syntax}");

    let options = Compiler::builder("gfx9000").build().unwrap_err();
    assert!(
        matches!(options, Error::Options(Diagnostic { kind: ErrorKind::Unsupported, .. })),
        "{options:?}"
    );
    assert!(Compiler::builder("gfx900").opt_level(4).build().is_err());
}

/// Bitcode of `text`, without our data layout where the text has none.
fn bitcode(text: &str) -> Vec<u8> {
    let context = gcnc::LlvmContext::create();
    let buffer =
        inkwell::memory_buffer::MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "module");
    let module = context.create_module_from_ir(buffer).unwrap();
    module.write_bitcode_to_memory().as_slice().to_vec()
}

#[test]
fn broken_modules_with_debug_information_do_not_end_the_host() {
    // LLVM's reader runs the verifier on such modules, and ends the process where it complains.
    let flags = "!llvm.module.flags = !{!0}\n!0 = !{i32 2, !\"Debug Info Version\", i32 3}\n";
    let body = "define void @f() { %x = add i32 %x, 1 ret void }\n";
    let good = format!("{}{flags}", module(1, 10));
    let broken = format!("{body}{flags}");
    for _ in 0..2 {
        let error = compiler().compile(&broken).unwrap_err();
        assert!(error.to_string().contains("invalid IR"), "{error}");
        assert!(compiler().compile(&good).is_ok());
        let mut bitcode = bitcode(&good);
        assert!(compiler().compile(&bitcode).is_ok());
        let half = bitcode.len() / 2;
        bitcode.truncate(half);
        assert!(compiler().compile(&bitcode).is_err());
    }
}

#[test]
fn lines_survive_reading_twice() {
    let text = r#"
        target triple = "amdgcn-amd-amdhsa"
        define void @f(ptr %p) !dbg !3 { %v = load i5000, ptr %p, !dbg !5
          store i5000 %v, ptr %p, !dbg !5
          ret void, !dbg !5 }
        !llvm.module.flags = !{!0}
        !llvm.dbg.cu = !{!1}
        !0 = !{i32 2, !"Debug Info Version", i32 3}
        !1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, emissionKind: FullDebug)
        !2 = !DIFile(filename: "k.cl", directory: "/src")
        !3 = distinct !DISubprogram(name: "f", file: !2, line: 1, type: !4, unit: !1, spFlags: DISPFlagDefinition)
        !4 = !DISubroutineType(types: !{})
        !5 = !DILocation(line: 7, column: 3, scope: !3)"#;
    let error = compiler().compile(text).unwrap_err();
    assert!(error.to_string().starts_with("/src/k.cl:7:3: in function f: "), "{error}");
}

#[test]
fn limits_are_errors_and_the_next_compilation_is_intact() {
    let (small, large) = (module(5, 60), module(6, 60_000));
    let known = compiler().compile(&small).unwrap().bytes;
    let limited = Compiler::builder("gfx900").memory_limit(4 << 20).build().unwrap();
    assert_eq!(limited.compile(&large).unwrap_err(), Error::Memory);
    assert_eq!(limited.compile(&small).unwrap().bytes, known);
    let hasty = Compiler::builder("gfx900").time_limit(Duration::from_millis(1)).build().unwrap();
    assert_eq!(hasty.compile(&large).unwrap_err(), Error::Deadline);
    assert_eq!(compiler().job().within(Duration::ZERO).compile(&small).unwrap_err(), Error::Deadline);
    assert_eq!(compiler().job().within(Duration::MAX).compile(&small).unwrap().bytes, known);
    assert!(limited.compile("no IR").is_err());
    assert_eq!(limited.compile(&small).unwrap().bytes, known);
}

/// A function of 100,000 instructions ends soon after the token is pulled, wherever it is.
#[test]
fn a_pulled_token_ends_one_large_function() {
    let (small, bitcode) = (module(5, 60), bitcode(&module(6, 100_000)));
    let known = compiler().compile(&small).unwrap().bytes;
    let start = Instant::now();
    compiler().compile(&bitcode).unwrap();
    let whole = start.elapsed();
    let mut slowest = Duration::ZERO;
    for step in 0..12u32 {
        let token = CancelToken::new();
        let (result, late) = std::thread::scope(|scope| {
            let (compiler, job_token, bitcode) = (compiler(), token.clone(), &bitcode);
            let worker = scope.spawn(move || {
                let result = compiler.job().cancelled_by(&job_token).compile(bitcode);
                (result, Instant::now())
            });
            std::thread::sleep(whole * step / 13);
            token.cancel();
            let pulled = Instant::now();
            let (result, ended) = worker.join().unwrap();
            (result, ended.saturating_duration_since(pulled))
        });
        // It may have come to its end just before.
        assert!(matches!(result, Err(Error::Cancelled) | Ok(_)), "step {step}: {result:?}");
        println!("{step}: {late:?}");
        slowest = slowest.max(late);
        assert_eq!(compiler().compile(&small).unwrap().bytes, known);
    }
    println!("whole {whole:?}, slowest cancellation {slowest:?}");
    // Other work on the machine may take the processor away; without looks inside of passes it would take the rest of the compilation.
    assert!(slowest < Duration::from_millis(300).max(whole / 3), "{slowest:?} of {whole:?}");
}

#[test]
fn sixty_four_threads_make_the_bytes_of_one() {
    let modules: Vec<String> = (0..64).map(|seed| module(seed, 40 + seed * 5)).collect();
    let compilers = [1, 4].map(|threads| Compiler::builder("gfx803").threads(threads).build().unwrap());
    let alone: Vec<Vec<u8>> = modules.iter().map(|text| compilers[0].compile(text).unwrap().bytes).collect();
    std::thread::scope(|scope| {
        for (index, (text, known)) in modules.iter().zip(&alone).enumerate() {
            let compiler = &compilers[index % 2];
            scope.spawn(move || {
                for _ in 0..4 {
                    assert!(compiler.compile(text).unwrap().bytes == *known, "module {index}");
                }
            });
        }
    });
}
