//! Calls: functions of one module called by kernels of another, each compiled by gcnc and by `llc`, in all
//! four combinations. Linked by `ld.lld` and run on the simulator, all must leave the same memory; so both
//! follow one calling convention, and what a callee may not change survives. `callee.ll` has recursion,
//! arguments on the stack, `byval`, `sret`, results too large for registers, narrow and wide types, handed-on
//! ids, calls through pointers, uniform arguments, frames, and values in registers across calls.

use gcnc_tests::{gpu, toolchain};
use sim::CodeObject;
use std::path::{Path, PathBuf};
use std::process::Command;

const CALLEE: &str = include_str!("calls/callee.ll");
const CALLER: &str = include_str!("calls/caller.ll");

/// Makes `llc` count enough registers for callees that it does not see.
const REGISTERS: &str = "
define void @unused_registers() {
  call void asm sideeffect \"\", \"~{v120},~{s101}\"()
  ret void
}
";

const ITEMS: u32 = 128;
const WORDS: usize = 256;

fn gcnc(text: &str, path: &Path, cpu: &str, level: u8) -> PathBuf {
    let options = gcnc::CompileOptions {
        cpu: cpu.to_owned(),
        file_type: gcnc::FileType::Obj,
        verify: true,
        opt_level: level,
        code_object_version: Some(4),
        ..gcnc::CompileOptions::default()
    };
    let output = gcnc::compile(text.as_bytes(), "test", &options).expect("gcnc compiles the module");
    std::fs::write(path, output.bytes).expect("writable folder");
    path.to_owned()
}

fn llc(text: &str, path: &Path, cpu: &str, level: u8) -> PathBuf {
    let source = path.with_extension("ll");
    std::fs::write(&source, text).expect("writable folder");
    toolchain::llc(&source, path, cpu, level).expect("llc compiles the module");
    path.to_owned()
}

fn link(objects: &[&Path], path: &Path) -> CodeObject {
    toolchain::run(Command::new("ld.lld-22").args(["-shared", "-o"]).arg(path).args(objects))
        .expect("ld.lld links the objects");
    let bytes = std::fs::read(path).expect("ld.lld wrote the object");
    CodeObject::load(&bytes).expect("the object loads")
}

/// Random numbers, small ones among them.
fn input(rng: &mut fastrand::Rng) -> Vec<u8> {
    let word = |rng: &mut fastrand::Rng| match rng.u32(0..4) {
        0 => rng.u32(..),
        1 => rng.u32(..300),
        2 => rng.u32(..16),
        _ => rng.u32(..2000),
    };
    (0..WORDS).flat_map(|_| word(rng).to_le_bytes()).collect()
}

fn run(object: &CodeObject, kernel: &str) -> Result<Vec<u8>, String> {
    let mut rng = fastrand::Rng::with_seed(11);
    let inputs = [input(&mut rng), input(&mut rng)];
    gpu::run_on_two(object, kernel, ITEMS, 4 * WORDS, inputs)
}

fn kernels(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("define amdgpu_kernel void @"))
        .filter_map(|rest| rest.split('(').next())
        .collect()
}

fn agree(cpu: &str, level: u8) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let callers = [
        llc(&format!("{CALLER}{REGISTERS}"), &path("caller-llc.o"), cpu, level),
        gcnc(CALLER, &path("caller-gcnc.o"), cpu, level),
    ];
    let callees =
        [llc(CALLEE, &path("callee-llc.o"), cpu, level), gcnc(CALLEE, &path("callee-gcnc.o"), cpu, level)];
    let names = ["llc", "gcnc"];
    let mut expected: Vec<Vec<u8>> = Vec::new();
    let mut failures = Vec::new();
    for (c, caller) in callers.iter().enumerate() {
        for (d, callee) in callees.iter().enumerate() {
            let object = link(&[caller, callee], &path(&format!("{c}{d}.so")));
            for (k, kernel) in kernels(CALLER).into_iter().enumerate() {
                let found = run(&object, kernel);
                if (c, d) == (0, 0) {
                    expected.push(found.expect("llc's kernels run"));
                    continue;
                }
                let pair = format!("{kernel} of {} with callees of {}", names[c], names[d]);
                match found {
                    Err(report) => failures.push(format!("{pair}: {report}")),
                    Ok(found) if found != expected[k] => failures.push(format!("{pair}: other results")),
                    Ok(_) => {}
                }
            }
        }
    }
    assert!(expected.len() >= 15, "the kernels are found");
    assert!(failures.is_empty(), "{} at -O{level}:\n{}", cpu, failures.join("\n"));
}

#[test]
fn objects_of_gcnc_and_llc_call_each_other_on_gfx900() {
    agree("gfx900", 2);
}

#[test]
fn objects_of_gcnc_and_llc_call_each_other_on_gfx803() {
    agree("gfx803", 2);
}

#[test]
fn unoptimised_objects_call_each_other() {
    agree("gfx900", 0);
}

/// A kernel with its functions in one module, as gcnc and as llc compile it.
fn same_as_llc(text: &str, cpu: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    for kernel in kernels(text) {
        let object = |object: PathBuf| link(&[&object], &object.with_extension("so"));
        let expected = run(&object(llc(text, &path("llc.o"), cpu, 2)), kernel).expect("llc's kernel runs");
        for level in [0, 2] {
            let found = run(&object(gcnc(text, &path("gcnc.o"), cpu, level)), kernel)
                .unwrap_or_else(|report| panic!("{kernel} at -O{level}: {report}"));
            assert!(found == expected, "{kernel} at -O{level} on {cpu}: other results");
        }
    }
}

/// LDS variables that a function and a kernel use, in two kernels with different variables of their own.
#[test]
fn functions_find_lds_variables() {
    let text = "
target triple = \"amdgcn-amd-amdhsa\"
@shared = internal addrspace(3) global [64 x i32] poison
@own = internal addrspace(3) global [64 x i64] poison
define internal void @put(i32 %i, i32 %v) noinline {
  %p = getelementptr i32, ptr addrspace(3) @shared, i32 %i
  store i32 %v, ptr addrspace(3) %p
  ret void
}
define internal i32 @get(i32 %i) noinline {
  %p = getelementptr i32, ptr addrspace(3) @shared, i32 %i
  %v = load i32, ptr addrspace(3) %p
  ret i32 %v
}
define amdgpu_kernel void @one(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %m = mul i32 %i, 3
  call void @put(i32 %i, i32 %m)
  fence syncscope(\"workgroup\") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope(\"workgroup\") acquire
  %j = xor i32 %i, 5
  %v = call i32 @get(i32 %j)
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %v, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @two(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %z = zext i32 %i to i64
  %q = getelementptr i64, ptr addrspace(3) @own, i32 %i
  store i64 %z, ptr addrspace(3) %q
  %m = mul i32 %i, 7
  call void @put(i32 %i, i32 %m)
  %v = call i32 @get(i32 %i)
  %w = load i64, ptr addrspace(3) %q
  %t = trunc i64 %w to i32
  %s = add i32 %v, %t
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %s, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
";
    same_as_llc(text, "gfx900");
    same_as_llc(text, "gfx803");
}

/// Objects of variable size, the same and not the same in all lanes, beside calls and an object of large
/// alignment.
#[test]
fn stack_objects_of_variable_size() {
    let text = "
target triple = \"amdgcn-amd-amdhsa\"
define internal i32 @sum(ptr addrspace(5) %p, i32 %n) noinline {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i1, %loop]
  %s = phi i32 [0, %entry], [%s1, %loop]
  %q = getelementptr i32, ptr addrspace(5) %p, i32 %i
  %v = load i32, ptr addrspace(5) %q
  %s1 = add i32 %s, %v
  %i1 = add i32 %i, 1
  %c = icmp uge i32 %i1, %n
  br i1 %c, label %out, label %loop
out:
  ret i32 %s1
}
define internal i32 @variable(i32 %n, i32 %x) noinline {
entry:
  %fixed = alloca [4 x i32], align 64, addrspace(5)
  %a = alloca i32, i32 %n, addrspace(5)
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i1, %loop]
  %q = getelementptr i32, ptr addrspace(5) %a, i32 %i
  %v = mul i32 %i, %x
  store i32 %v, ptr addrspace(5) %q
  %i1 = add i32 %i, 1
  %c = icmp uge i32 %i1, %n
  br i1 %c, label %out, label %loop
out:
  call void @llvm.memset.p5.i32(ptr addrspace(5) align 64 %fixed, i8 3, i32 16, i1 false)
  %b = alloca i32, i32 5, addrspace(5)
  store i32 17, ptr addrspace(5) %b
  %s = call i32 @sum(ptr addrspace(5) %a, i32 %n)
  %t = call i32 @sum(ptr addrspace(5) %fixed, i32 4)
  %w = load i32, ptr addrspace(5) %b
  %place = ptrtoint ptr addrspace(5) %fixed to i32
  %low = and i32 %place, 63
  %st = add i32 %s, %t
  %stw = add i32 %st, %w
  %all = add i32 %stw, %low
  ret i32 %all
}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %v = load i32, ptr addrspace(1) %p
  %n = and i32 %v, 31
  %n1 = add i32 %n, 1
  %r = call i32 @variable(i32 %n1, i32 %v)
  %r2 = call i32 @variable(i32 9, i32 %r)
  %r3 = add i32 %r, %r2
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %r3, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.memset.p5.i32(ptr addrspace(5), i8, i32, i1)
";
    same_as_llc(text, "gfx900");
    same_as_llc(text, "gfx803");
}

/// Arguments in SGPRs, which are uniform inside of the function.
#[test]
fn uniform_arguments_come_in_scalar_registers() {
    let text = "
target triple = \"amdgcn-amd-amdhsa\"
define internal i32 @unif(i32 inreg %a, i32 %b, i64 inreg %c, i32 inreg %d) noinline {
  %t = trunc i64 %c to i32
  %h = lshr i64 %c, 32
  %ht = trunc i64 %h to i32
  %1 = mul i32 %a, %b
  %2 = add i32 %1, %t
  %3 = xor i32 %2, %ht
  %4 = sub i32 %3, %d
  ret i32 %4
}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %v = load i32, ptr addrspace(1) %p
  %k1 = load i32, ptr addrspace(1) %b
  %k2 = load i64, ptr addrspace(1) %b
  %r = call i32 @unif(i32 inreg %k1, i32 %v, i64 inreg %k2, i32 inreg 77)
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %r, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let object = gcnc(text, &folder.path().join("u.o"), "gfx900", 2);
    let object = link(&[&object], &folder.path().join("u.so"));
    let found = run(&object, "k").expect("the kernel runs");
    let words = |bytes: Vec<u8>| -> Vec<u32> {
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    };
    let mut rng = fastrand::Rng::with_seed(11);
    let (a, b) = (words(input(&mut rng)), words(input(&mut rng)));
    for (i, (&v, &result)) in a.iter().zip(&words(found)).take(64).enumerate() {
        let expected = (b[0].wrapping_mul(v).wrapping_add(b[0]) ^ b[1]).wrapping_sub(77);
        assert_eq!(result, expected, "work-item {i}");
    }
}
