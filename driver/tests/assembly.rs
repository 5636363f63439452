//! The compiler's text, assembled, is the compiler's object: every byte, on every system.

use emit::assemble::{Options, assemble_with};
use gcnc::{CompileOptions, FileType};

/// Symbols of every kind, defined here and elsewhere; data with addresses; names that readers of YAML take for
/// something else; an encoding that only the mnemonic tells.
const MODULE: &str = r#"
@zeros = internal addrspace(1) global [4 x i32] zeroinitializer, align 16
@table = addrspace(1) constant [2 x ptr addrspace(1)] [ptr addrspace(1) @zeros, ptr addrspace(1) @there]
@hidden_table = hidden addrspace(1) global [2 x ptr] [ptr @local, ptr @elsewhere]
@there = external hidden addrspace(1) global i32
@maybe = extern_weak addrspace(1) global i32
declare hidden i32 @elsewhere(i32)
declare i32 @anywhere(i32)
define internal i32 @local(i32 %x) noinline {
  %y = call i32 @elsewhere(i32 %x)
  ret i32 %y
}
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %y, i32 %no, i32 %"1.5") {
  %a = load i32, ptr addrspace(1) @maybe
  %b = load i32, ptr addrspace(1) @zeros
  %c = call i32 @local(i32 %a)
  %d = call i32 @anywhere(i32 %b)
  %e = add i32 %c, %d
  %f = add i32 %e, %y
  store i32 %f, ptr addrspace(1) %p
  call void asm sideeffect "v_nop_e64", ""()
  ret void
}
define hidden amdgpu_kernel void @quiet(ptr addrspace(1) %p, float %x) {
  %y = fptoui float %x to i32
  store i32 %y, ptr addrspace(1) %p
  ret void
}
"#;

#[test]
fn the_text_is_the_object() {
    let systems = ["amdgcn-amd-amdhsa", "amdgcn-mesa-mesa3d", "amdgcn--", "amdgcn-amd-amdpal"];
    for cpu in ["gfx600", "gfx700", "gfx803", "gfx900", "gfx906"] {
        for triple in systems {
            let versions: &[Option<u8>] = match triple {
                "amdgcn-amd-amdhsa" => &[Some(2), Some(3), Some(4), Some(5), Some(6)],
                _ => &[None],
            };
            for &code_object_version in versions {
                let options = CompileOptions {
                    triple: triple.into(),
                    cpu: cpu.into(),
                    code_object_version,
                    ..CompileOptions::default()
                };
                let compiled = |file_type| {
                    let options = CompileOptions { file_type, ..options.clone() };
                    gcnc::compile(MODULE.as_bytes(), "test.ll", &options)
                        .unwrap_or_else(|error| panic!("{cpu} {triple}: {error:?}"))
                        .bytes
                };
                let text = String::from_utf8(compiled(FileType::Asm)).expect("UTF-8");
                let target = options.target(triple, None).expect("a target");
                let told = Options { version_is_given: true, ..Options::default() };
                let assembled = assemble_with(&text, &target, &told)
                    .unwrap_or_else(|errors| panic!("{cpu} {triple}: {errors:?}\n{text}"));
                let place = format!("{cpu} {triple} {code_object_version:?}");
                assert!(assembled.warnings.is_empty(), "{place}: {:?}", assembled.warnings);
                assert!(assembled.object == compiled(FileType::Obj), "{place}\n{text}");
            }
        }
    }
}
