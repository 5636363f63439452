//! Loops whose back edges, exits and masks are shared in unusual ways. Each kernel runs on the simulator;
//! what it leaves is computed here as well.

use gcnc_tests::gpu::{ITEMS, run_words};

fn check(text: &str, input: &[u32], expected: &[u32]) {
    for cpu in ["gfx600", "gfx803", "gfx900"] {
        for level in [0, 2] {
            assert_eq!(run_words(text, cpu, level, input), expected, "{cpu} -O{level}");
        }
    }
}

/// A block is the latch of two loops, one inside the other: lanes that leave the inner loop for the header of
/// the outer one must run that again. No values pass along the edges, so they are not split for other
/// reasons.
const SHARED_LATCH: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %i = getelementptr i32, ptr addrspace(1) %in, i32 %id
  br label %outer
outer:
  %n = atomicrmw add ptr addrspace(1) %o, i32 1 monotonic
  %stop = icmp sge i32 %n, 5
  br i1 %stop, label %exit, label %inner
inner:
  %m = atomicrmw add ptr addrspace(1) %o, i32 1 monotonic
  %end = icmp sge i32 %m, 5
  br i1 %end, label %exit, label %latch
latch:
  %x = load volatile i32, ptr addrspace(1) %i
  %again = icmp ne i32 %x, 0
  br i1 %again, label %outer, label %inner
exit:
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

#[test]
fn one_latch_of_two_loops() {
    // All lanes, some, none take the outer back edge.
    for mask in [0, 3, u32::MAX] {
        let input: Vec<u32> = (0..ITEMS).map(|id| u32::from(id & mask == 0)).collect();
        check(SHARED_LATCH, &input, &[6; ITEMS as usize]);
    }
}

/// A loop behind a loop that an edge which is never taken makes a part of it: what is `i1` in the first one
/// is used in the second by lanes that came there in different iterations.
const FALSE_PART: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  br label %outer
outer:
  %p = phi i1 [ false, %entry ], [ %q, %choose ]
  %n = phi i32 [ 9, %entry ], [ %n2, %choose ]
  %n1 = add i32 %n, -1
  %stop = icmp eq i32 %n1, 0
  br i1 %stop, label %exit, label %first
first:
  %q = phi i1 [ true, %outer ], [ %q, %choose ], [ %q, %latch ]
  %m = phi i32 [ %n1, %outer ], [ %n2, %choose ], [ %n3, %latch ]
  %n2 = add i32 %m, -1
  %end = icmp eq i32 %n2, 0
  br i1 %end, label %exit, label %choose
choose:
  %c = and i32 %id, 7
  switch i32 %c, label %outer [
    i32 5, label %first
    i32 6, label %second
  ]
second:
  %r = phi i32 [ %n2, %choose ], [ %n3, %latch ]
  %n3 = add i32 %r, -1
  %done = icmp eq i32 %n3, 0
  br i1 %done, label %exit, label %latch
latch:
  %three = and i32 %id, 3
  switch i32 %three, label %second [
    i32 4, label %first
  ]
exit:
  %x = phi i1 [ %p, %outer ], [ %q, %first ], [ %q, %second ]
  %z = zext i1 %x to i32
  store i32 %z, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

#[test]
fn an_edge_never_taken_makes_no_loop() {
    check(FALSE_PART, &[0], &[1; ITEMS as usize]);
}

/// The mode of the descriptor and what the code expects of it must be the same where operands and results are
/// treated apart.
const QUOTIENT: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %i = getelementptr <2 x float>, ptr addrspace(1) %in, i32 %id
  %x = load <2 x float>, ptr addrspace(1) %i
  %a = extractelement <2 x float> %x, i32 0
  %b = extractelement <2 x float> %x, i32 1
  %q = fdiv float %a, %b
  store float %q, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "denormal-fp-math-f32"="MODE" }
"#;

#[test]
fn quotients_where_operands_and_results_are_treated_apart() {
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..16 {
        // No denormal operands: what the steps of a division make of these in such a mode is the hardware's.
        // Small dividends: the residues of the steps are denormal.
        let operands: Vec<f32> = (0..2 * ITEMS)
            .map(|i| if i % 2 == 0 { rng.u32(1..40) } else { rng.u32(80..160) } << 23 | rng.u32(..) & 0x807f_ffff)
            .map(f32::from_bits)
            .collect();
        let bits: Vec<u32> = operands.iter().map(|x| x.to_bits()).collect();
        for (mode, flushed) in [
            ("ieee,preserve-sign", false),
            ("preserve-sign,ieee", true),
            ("preserve-sign", true),
            ("ieee", false),
        ] {
            let quotient = |pair: &[f32]| {
                let q = pair[0] / pair[1];
                if flushed && q.is_subnormal() { 0f32.copysign(q) } else { q }.to_bits()
            };
            let expected: Vec<u32> = operands.chunks(2).map(quotient).collect();
            check(&QUOTIENT.replace("MODE", mode), &bits, &expected);
        }
    }
}

/// Where all lanes of a pixel shader are killed, it exports nothing from a block of its own: what sets EXEC
/// for the export is no place for it.
#[test]
fn a_kill_that_takes_all_lanes() {
    let text = r#"
target triple = "amdgcn-mesa-mesa3d"
define amdgpu_ps void @k(ptr addrspace(1) inreg %out, i32 inreg %x) {
  %c = icmp eq i32 %x, 7
  call void @llvm.amdgcn.kill(i1 %c)
  store i32 2, ptr addrspace(1) %out
  ret void
}
declare void @llvm.amdgcn.kill(i1)
"#;
    for cpu in ["gfx600", "gfx803", "gfx900"] {
        for opt_level in [0, 2] {
            let options = gcnc::CompileOptions {
                cpu: cpu.to_owned(),
                file_type: gcnc::FileType::Asm,
                verify: true,
                opt_level,
                ..gcnc::CompileOptions::default()
            };
            let output = gcnc::compile(text.as_bytes(), "test", &options);
            let output = output.unwrap_or_else(|errors| panic!("{cpu} -O{opt_level}: {errors:?}"));
            let text = String::from_utf8(output.bytes).expect("assembly is text");
            assert!(text.contains("exp null off, off, off, off done vm"), "{text}");
        }
    }
}
