//! Forms of IR that llc takes and that were refused once.

mod common;

use common::{compile, listing};
use gcnc::{CompileOptions, FileType};

const HSA: &str = "amdgcn-amd-amdhsa";

#[test]
fn results_of_many_dwords_of_constants() {
    let text = r#"
        define <32 x i32> @f() { ret <32 x i32> zeroinitializer }
        define <16 x i64> @g() { ret <16 x i64> splat (i64 30064771077) }
        define <30 x i32> @h(i32 inreg %x) { %v = insertelement <30 x i32> splat (i32 9), i32 %x, i32 29 ret <30 x i32> %v }"#;
    for cpu in ["gfx600", "gfx803", "gfx90c"] {
        for (name, dwords) in [("f", 32), ("g", 32), ("h", 30)] {
            let code = listing(text, HSA, cpu, name);
            for register in 0..dwords {
                assert_eq!(code.matches(&format!("v_mov_b32_e32 v{register}, ")).count(), 1, "{code}");
            }
        }
    }
}

#[test]
fn casts_to_the_region_are_undefined_and_compile() {
    let text = r#"
        define ptr addrspace(2) @f(ptr addrspace(1) %p) {
          %q = addrspacecast ptr addrspace(1) %p to ptr addrspace(2)
          ret ptr addrspace(2) %q
        }
        define ptr @g(ptr addrspace(2) %p) {
          %q = addrspacecast ptr addrspace(2) %p to ptr
          ret ptr %q
        }"#;
    for name in ["f", "g"] {
        assert!(listing(text, HSA, "gfx900", name).contains("s_setpc_b64"));
    }
}

/// The pointer is its offset and its resource, in this order, and 32 bytes of the block; what llc 22 does.
#[test]
fn kernels_take_buffer_pointers() {
    let text = r#"
        define amdgpu_kernel void @k(ptr addrspace(7) %p, i32 %x) {
          store i32 %x, ptr addrspace(7) %p
          ret void
        }"#;
    let code = listing(text, HSA, "gfx900", "k");
    assert!(code.contains("0x20") && code.contains("buffer_store_dword"), "{code}");
    let object = gcnc::Compiler::new("gfx900").unwrap().compile(text).unwrap();
    let [pointer, number, ..] = &object.kernels[0].arguments[..] else { panic!("{object:?}") };
    assert_eq!((pointer.offset, pointer.size, pointer.kind.as_str()), (0, 32, "by_value"));
    assert_eq!((number.offset, number.size), (32, 4));
}

/// Of a vector, the resources of all elements are passed in front of all offsets; comparisons, masks and numbers are those of offsets. What llc 22 does.
#[test]
fn vectors_of_buffer_pointers_are_passed_and_computed_with() {
    let text = r#"
        define <2 x ptr addrspace(7)> @move(<2 x ptr addrspace(7)> %v, i32 %x) {
          %g = getelementptr i8, <2 x ptr addrspace(7)> %v, i32 %x
          ret <2 x ptr addrspace(7)> %g
        }
        define <2 x i1> @less(<2 x ptr addrspace(7)> %a, <2 x ptr addrspace(7)> %b) {
          %r = icmp ult <2 x ptr addrspace(7)> %a, %b
          ret <2 x i1> %r
        }
        define ptr addrspace(7) @mask(ptr addrspace(7) %p, i32 %m) {
          %r = call ptr addrspace(7) @llvm.ptrmask.p7.i32(ptr addrspace(7) %p, i32 %m)
          ret ptr addrspace(7) %r
        }
        define <2 x i32> @masked(ptr addrspace(7) inreg %p, <2 x i1> %m) {
          %r = call <2 x i32> @llvm.masked.load.v2i32.p7(ptr addrspace(7) %p, i32 4, <2 x i1> %m, <2 x i32> zeroinitializer)
          ret <2 x i32> %r
        }
        define i64 @number(ptr addrspace(7) %p) {
          %n = ptrtoint ptr addrspace(7) %p to i64
          ret i64 %n
        }
        declare ptr addrspace(7) @llvm.ptrmask.p7.i32(ptr addrspace(7), i32)
        declare <2 x i32> @llvm.masked.load.v2i32.p7(ptr addrspace(7), i32, <2 x i1>, <2 x i32>)"#;
    let code = |name| listing(text, HSA, "gfx900", name);
    for (name, parts) in [
        ("move", &["v_add_u32_e32 v8, v8, v10", "v_add_u32_e32 v9, v9, v10"][..]),
        ("less", &["v_cmp_lt_u32_e32 vcc, v8, v18", ", v9, v19"]),
        ("mask", &["v_and_b32_e32 v4, v4, v5"]),
        ("masked", &["buffer_load_dword ", "s_and_saveexec_b64", "offset:4"]),
        ("number", &["v_mov_b32_e32 v0, v4"]),
    ] {
        let code = code(name);
        assert!(parts.iter().all(|part| code.contains(part)), "{name}: {code}");
    }
}

#[test]
fn variables_in_buffers_are_refused() {
    let text = r#"
        @v = external addrspace(8) global i8
        define ptr addrspace(7) @f() {
          ret ptr addrspace(7) addrspacecast (ptr addrspace(8) @v to ptr addrspace(7))
        }"#;
    let error = compile(text, HSA, "gfx900").unwrap_err();
    assert!(error.contains("address of a variable in address space 8"), "{error}");
}

/// Bitcode of `text` as LLVM writes it for a module without a data layout.
fn bitcode(text: &str) -> Vec<u8> {
    let context = gcnc::LlvmContext::create();
    let buffer =
        inkwell::memory_buffer::MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "module");
    let module = context.create_module_from_ir(buffer).unwrap();
    module.write_bitcode_to_memory().as_slice().to_vec()
}

fn object_of(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let options = CompileOptions {
        triple: HSA.into(),
        cpu: "gfx900".into(),
        file_type: FileType::Obj,
        ..CompileOptions::default()
    };
    let output = gcnc::compile(bytes, "module", &options);
    output
        .map(|output| output.bytes)
        .map_err(|errors| errors.iter().map(|error| format!("{error}\n")).collect())
}

#[test]
fn bitcode_needs_no_data_layout() {
    let body = "define amdgpu_kernel void @k(ptr addrspace(1) %p) {
        %a = alloca i64, addrspace(5)
        store volatile i64 5, ptr addrspace(5) %a
        %v = load volatile i64, ptr addrspace(5) %a
        store i64 %v, ptr addrspace(1) %p ret void }";
    for triple in ["", "target triple = \"amdgcn-amd-amdhsa\"\n"] {
        let text = format!("{triple}{body}");
        assert_eq!(object_of(&bitcode(&text)), object_of(text.as_bytes()));
        assert!(object_of(text.as_bytes()).is_ok());
    }
    // That of another machine is still refused.
    let foreign = format!("target datalayout = \"e-m:e-p:32:32-i64:64\"\n{body}");
    assert!(object_of(&bitcode(&foreign)).unwrap_err().contains("data layout"));
}

#[test]
fn zero_bytes_in_names_are_refused() {
    let mut bytes =
        bitcode("@vari_able = addrspace(1) global i32 1\ndefine amdgpu_kernel void @ker_nel() { ret void }");
    for at in 1..bytes.len() - 1 {
        if bytes[at] == b'_' && (bytes[at - 1] == b'r' || bytes[at - 1] == b'i') {
            bytes[at] = 0;
        }
    }
    let error = object_of(&bytes).unwrap_err();
    assert_eq!(error.matches("zero byte in the name").count(), 2, "{error}");
}

#[test]
fn types_nest_deeply() {
    for (depth, compiles) in [(300, true), (1000, true), (1001, false)] {
        let ty = format!("{}i32{}", "{ ".repeat(depth), " }".repeat(depth));
        let text = format!(
            "define void @f(ptr addrspace(1) %p, {ty} %v) {{ store {ty} %v, ptr addrspace(1) %p ret void }}"
        );
        assert_eq!(compile(&text, HSA, "gfx900").is_ok(), compiles, "{depth}");
    }
}

#[test]
fn messages_of_large_types_are_short() {
    let ty = format!("{{ {}i5000000 }}", "i32, ".repeat(3000));
    let text = format!("define void @f(ptr %p) {{ %v = load {ty}, ptr %p store {ty} %v, ptr %p ret void }}");
    let error = compile(&text, HSA, "gfx900").unwrap_err();
    assert!(error.contains("i5000000") || error.contains("5000000 bits"), "{error}");
    assert!(error.len() < 1000, "{} bytes", error.len());
}
