//! What LLVM IR does not tell of kernels, and options do.

use mir::abi::KernelDescriptor;
use object::{Object, ObjectSection, ObjectSymbol};
use std::process::Command;

const KERNEL: &str = r#"
define amdgpu_kernel void @k(ptr addrspace(1) %p, i64 %x) !kernel_arg_base_type !0 {
  store i64 %x, ptr addrspace(1) %p
  ret void
}
!0 = !{!"ulong*", !"ulong"}
"#;

/// Metadata and the size of the arguments in the descriptor.
fn compiled(arguments: &[&str]) -> (String, u32) {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("k.ll"), folder.path().join("k.o"));
    std::fs::write(&input, KERNEL).expect("written");
    let run = Command::new(env!("CARGO_BIN_EXE_gcnc"))
        .args(["-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx900", "-filetype=obj"])
        .args(arguments)
        .arg(&input)
        .arg("-o")
        .arg(&output)
        .output()
        .expect("gcnc runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let bytes = std::fs::read(&output).expect("written above");
    let file = object::File::parse(&*bytes).expect("an object");
    let symbol = file.symbol_by_name("k.kd").expect("a descriptor");
    let section = file.section_by_index(symbol.section_index().expect("defined")).expect("exists");
    let descriptor = section.data_range(symbol.address(), 64).expect("in the file").expect("whole");
    let descriptor = KernelDescriptor::unpack(descriptor.try_into().expect("64 bytes")).expect("valid");
    (emit::disassemble(&bytes).expect("an object"), descriptor.kernarg_size)
}

#[test]
fn what_the_ir_does_not_tell_is_asked_for() {
    let (plain, size) = compiled(&["--amdhsa-code-object-version=3"]);
    assert!(!plain.contains(".language") && !plain.contains(".value_type") && size == 0, "{plain}");
    let asked = ["--metadata-language=OpenMP", "--metadata-value-types", "--kernarg-size-in-v3"];
    let (told, size) = compiled(&[&["--amdhsa-code-object-version=3"], &asked[..]].concat());
    assert_eq!((told.matches(".language:       OpenMP").count(), size), (1, 16), "{told}");
    assert!(told.matches(".value_type:").count() == 2 && told.contains("u64"), "{told}");
    // Later versions have sizes anyway, and no types.
    let (v5, size) = compiled(&[&["--amdhsa-code-object-version=4"], &asked[..]].concat());
    assert!(v5.contains("OpenMP") && !v5.contains(".value_type") && size == 72, "{v5}");
    let refused =
        Command::new(env!("CARGO_BIN_EXE_gcnc")).args(["--metadata-language=Basic", "x.ll"]).output();
    assert_eq!(refused.expect("gcnc runs").status.code(), Some(2));
}
