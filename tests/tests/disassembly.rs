//! Disassembly of objects with all that has a text assembles back. `gcnc-disassembly` is the long run.

use gcnc::{CompileOptions, FileType};
use gcnc_tests::disassembly::{Outcome, check};

/// Kernels, functions, a shader's relatives, variables of every kind, addresses in code and data.
const MODULE: &str = r#"
@table = addrspace(1) global [3 x ptr addrspace(1)] [ptr addrspace(1) @table, ptr addrspace(1) @zero, ptr addrspace(1) null]
@zero = internal addrspace(1) global [40 x i8] zeroinitializer, align 16
@text = hidden addrspace(4) constant [6 x i8] c"a\22\00\\\0Ab"
@weak = weak addrspace(1) global i32 7
@named = addrspace(1) global i16 3, section ".data.own"
@alias = alias i8, getelementptr (i8, ptr addrspace(1) @zero, i64 3)

define internal i32 @callee(i32 %x) noinline {
  %y = mul i32 %x, 12345678
  %v = load i32, ptr addrspace(1) @weak
  %z = add i32 %y, %v
  ret i32 %z
}

define protected amdgpu_kernel void @first(ptr addrspace(1) %p, i32 %n) {
entry:
  %b = load i8, ptr addrspace(4) @text
  %w = zext i8 %b to i32
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %r = call i32 @callee(i32 %i)
  %s = add i32 %r, %w
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store volatile i32 %s, ptr addrspace(1) %at
  %j = add i32 %i, 1
  %c = icmp ult i32 %j, %n
  br i1 %c, label %loop, label %out
out:
  ret void
}

define hidden amdgpu_kernel void @second(ptr addrspace(1) %p) section ".text.own" {
  %a = load ptr addrspace(1), ptr addrspace(1) @table
  store volatile ptr addrspace(1) %a, ptr addrspace(1) %p
  ret void
}
"#;

#[test]
fn objects_come_back() {
    for file_type in [FileType::Obj, FileType::Hsaco] {
        for (triple, versions) in [
            ("amdgcn-amd-amdhsa", &[2, 3, 4, 5, 6][..]),
            ("amdgcn-mesa-mesa3d", &[5]),
            ("amdgcn--amdpal", &[5]),
            ("amdgcn--", &[5]),
        ] {
            for cpu in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906", "gfx1010", "gfx1036"] {
                for &version in versions {
                    // GFX6 has no FLAT, and so no generic pointers; only HSA's objects can be linked.
                    if file_type == FileType::Hsaco && triple != "amdgcn-amd-amdhsa" {
                        continue;
                    }
                    // V2 is older than GFX10.
                    if version == 2 && cpu.starts_with("gfx10") {
                        continue;
                    }
                    let options = CompileOptions {
                        triple: triple.into(),
                        cpu: cpu.into(),
                        file_type,
                        code_object_version: Some(version),
                        ..CompileOptions::default()
                    };
                    let what = format!("{triple} {cpu} V{version} {file_type:?}");
                    let output = gcnc::compile(MODULE.as_bytes(), "module", &options);
                    let output = output.unwrap_or_else(|errors| panic!("{what}: {errors:?}"));
                    let target = options.target(triple, None).expect("a target");
                    assert_eq!(check(&output.bytes, &target), Outcome::Same, "{what}");
                }
            }
        }
    }
}
