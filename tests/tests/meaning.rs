//! The comparison of gcnc's code with `llc`'s: it agrees where both compile the same, and it notices when
//! they do not.

use gcnc_tests::llvm_suite::cases::target_of;
use gcnc_tests::llvm_suite::compare::{Subject, Verdict, compare_function};
use gcnc_tests::llvm_suite::llc::{Llc, arguments};
use sim::CodeObject;

const GOOD: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @outside(i32, i64)
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, ptr addrspace(3) %lds, i32 %n, double %d) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(3) %lds, i32 %id
  %v = load i32, ptr addrspace(3) %p
  %w = mul i32 %v, %n
  %c = fptosi double %d to i32
  %s = xor i32 %w, %c
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %s, ptr addrspace(1) %q
  store i32 %s, ptr addrspace(3) %p
  ret void
}
define <2 x i64> @values(i64 %a, <2 x i16> %b, i8 zeroext %c, [28 x i32] %many, i32 %stack) {
  %x = extractvalue [28 x i32] %many, 27
  %y = add i32 %x, %stack
  %e = extractelement <2 x i16> %b, i32 1
  %z = sext i16 %e to i64
  %m = mul i64 %a, %z
  %k = zext i8 %c to i64
  %o = or i64 %m, %k
  %u = zext i32 %y to i64
  %r = insertelement <2 x i64> poison, i64 %o, i32 0
  %t = insertelement <2 x i64> %r, i64 %u, i32 1
  ret <2 x i64> %t
}
define i64 @private(ptr addrspace(5) %p, ptr %flat, i32 %x) {
  %q = getelementptr i32, ptr addrspace(5) %p, i32 3
  %old = load i32, ptr addrspace(5) %q
  store i32 %x, ptr addrspace(5) %q
  %f = load i64, ptr %flat
  %z = zext i32 %old to i64
  %s = add i64 %f, %z
  ret i64 %s
}
define i32 @branch(i32 %x, i32 %y) {
  %c = icmp slt i32 %x, %y
  br i1 %c, label %a, label %b
a:
  %s = sub i32 %y, %x
  br label %end
b:
  %t = mul i32 %x, 7
  br label %end
end:
  %r = phi i32 [ %s, %a ], [ %t, %b ]
  ret i32 %r
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

/// A function for graphics, which keeps other registers than usual ones.
const GRAPHICS: &str = r#"
target triple = "amdgcn--"
define amdgpu_gfx void @many(ptr addrspace(4) inreg %p, ptr addrspace(1) %q) noinline {
  %v = load <16 x i32>, ptr addrspace(4) %p
  %p2 = getelementptr i8, ptr addrspace(4) %p, i32 64
  %w = load <16 x i32>, ptr addrspace(4) %p2
  %p3 = getelementptr i8, ptr addrspace(4) %p, i32 128
  %x = load <16 x i32>, ptr addrspace(4) %p3
  %a = mul <16 x i32> %v, %w
  %b = mul <16 x i32> %a, %x
  %c = mul <16 x i32> %b, %v
  %d = mul <16 x i32> %c, %w
  store <16 x i32> %d, ptr addrspace(1) %q
  ret void
}
"#;

fn object(text: &str, triple: &str, cpu: &str, level: u8) -> CodeObject {
    let options = gcnc::CompileOptions {
        triple: triple.to_owned(),
        cpu: cpu.to_owned(),
        opt_level: level,
        file_type: gcnc::FileType::Obj,
        ..Default::default()
    };
    let output = gcnc::compile(text.as_bytes(), "good.ll", &options);
    CodeObject::load_open(&output.unwrap().bytes).unwrap()
}

/// Shaders that keep values in private memory, whose place each system tells in another way.
const PRIVATE: &str = r#"
define amdgpu_cs void @compute(i32 inreg %table, i32 inreg %i, i32 %v, ptr addrspace(1) inreg %out) {
  call void @through_private(i32 %i, i32 %v, ptr addrspace(1) %out)
  ret void
}
define amdgpu_ps void @pixel(i32 inreg %table, i32 inreg %i, i32 %v, ptr addrspace(1) inreg %out) {
  call void @through_private(i32 %i, i32 %v, ptr addrspace(1) %out)
  ret void
}
define internal amdgpu_gfx void @through_private(i32 %i, i32 %v, ptr addrspace(1) %out) alwaysinline {
  %object = alloca [16 x i32], addrspace(5)
  %j = and i32 %i, 15
  %p = getelementptr [16 x i32], ptr addrspace(5) %object, i32 0, i32 %j
  store volatile i32 %v, ptr addrspace(5) %p
  %w = load volatile i32, ptr addrspace(5) %p
  %x = add i32 %w, 1
  %lo = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %lo)
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %x, ptr addrspace(1) %q
  ret void
}
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
"#;

/// Compute shaders that go on with one another.
const CHAIN: &str = include_str!("chain.ll");

fn verdicts(ours: &str, theirs: &str, cpu: &str) -> Vec<(String, Verdict)> {
    let triple = if theirs.contains("\"amdgcn--\"") { "amdgcn--" } else { "amdgcn-amd-amdhsa" };
    verdicts_on(triple, ours, theirs, cpu)
}

fn verdicts_on(triple: &str, ours: &str, theirs: &str, cpu: &str) -> Vec<(String, Verdict)> {
    let work = tempfile::tempdir().unwrap();
    let file = work.path().join("theirs.ll");
    std::fs::write(&file, theirs).unwrap();
    let llc = Llc::new(work.path()).unwrap();
    let reference = |level| {
        let args = arguments(triple, cpu, "", level);
        CodeObject::load_open(&llc.object(&file, theirs.as_bytes(), &args).unwrap()).unwrap()
    };
    let (low, high) = (reference(0), reference(2));
    let module = frontend::read(theirs.as_bytes(), "theirs.ll").unwrap().complete().unwrap();
    let target = target_of(cpu, triple).unwrap();
    let mut out = Vec::new();
    for level in [0, 2] {
        let gcnc = object(ours, triple, cpu, level);
        for function in module.functions.values().filter(|f| !f.is_declaration()) {
            let subject = Subject { module: &module, function, target };
            for seed in [1, 2] {
                let verdict = compare_function(&subject, [&low, &high], &gcnc, seed, false);
                out.push((format!("{} {cpu} -O{level} seed {seed}", function.name), verdict));
            }
        }
    }
    out
}

#[test]
fn kernels_and_functions_mean_what_llc_says() {
    for cpu in ["gfx700", "gfx803", "gfx900", "gfx1010", "gfx1030"] {
        for (what, verdict) in verdicts(GOOD, GOOD, cpu) {
            assert!(matches!(verdict, Verdict::Equal(_)), "{what}: {verdict:?}");
        }
    }
}

#[test]
fn functions_for_graphics_keep_their_registers() {
    for (what, verdict) in verdicts(GRAPHICS, GRAPHICS, "gfx900") {
        assert!(matches!(verdict, Verdict::Equal(_)), "{what}: {verdict:?}");
    }
}

#[test]
fn shaders_find_private_memory_on_every_system() {
    for triple in ["amdgcn--amdpal", "amdgcn-mesa-mesa3d", "amdgcn--"] {
        for cpu in ["gfx600", "gfx803", "gfx900", "gfx1010", "gfx1030"] {
            for (what, verdict) in verdicts_on(triple, PRIVATE, PRIVATE, cpu) {
                assert!(
                    matches!(verdict, Verdict::Equal(_)) || what.starts_with("through_private"),
                    "{triple}: {what}: {verdict:?}"
                );
            }
        }
    }
}

#[test]
fn chains_of_compute_shaders_go_on() {
    for (triple, cpu) in
        [("amdgcn--amdpal", "gfx1010"), ("amdgcn--amdpal", "gfx1030"), ("amdgcn--", "gfx1030")]
    {
        let mut equal = 0;
        for (what, verdict) in verdicts_on(triple, CHAIN, CHAIN, cpu) {
            let nothing_happens = matches!(&verdict, Verdict::Skipped(why) if why == "leaves nothing behind");
            assert!(
                matches!(verdict, Verdict::Equal(_)) || nothing_happens,
                "{triple} {cpu}: {what}: {verdict:?}"
            );
            equal += usize::from(!nothing_happens);
        }
        assert!(equal >= 14, "{triple} {cpu}: {equal}");
    }
}

#[test]
fn other_code_is_noticed() {
    // Each function is changed in one place.
    let other = GOOD
        .replace("xor i32 %w, %c", "sub i32 %v, 77")
        .replace("zext i8 %c", "sext i8 %c")
        .replace("%p, i32 3", "%p, i32 4")
        .replace("mul i32 %x, 7", "mul i32 %x, 9");
    for (what, verdict) in verdicts(&other, GOOD, "gfx900") {
        assert!(matches!(verdict, Verdict::Different(_) | Verdict::Unclear(_)), "{what}: {verdict:?}");
    }
}
