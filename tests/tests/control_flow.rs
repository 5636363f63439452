//! Loops whose back edges, exits and masks are shared in unusual ways. Each kernel runs on the simulator;
//! what it leaves is computed here as well.

use gcnc_tests::gpu::{ITEMS, run_words};

fn check(text: &str, input: &[u32], expected: &[u32]) {
    check_by_wave(text, input, |_| expected.to_vec());
}

/// The same where the result depends on how many lanes a wave has.
fn check_by_wave(text: &str, input: &[u32], expected: impl Fn(usize) -> Vec<u32>) {
    for cpu in ["gfx600", "gfx803", "gfx900", "gfx1010", "gfx1030"] {
        let lanes = if cpu.starts_with("gfx10") { 32 } else { 64 };
        for level in [0, 2] {
            assert_eq!(run_words(text, cpu, level, input), expected(lanes), "{cpu} -O{level}");
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
    for cpu in ["gfx600", "gfx803", "gfx900", "gfx1010", "gfx1030"] {
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

/// Lanes leave a loop in different iterations: what was the same for all of them there differs behind it.
const LEFT_AT_DIFFERENT_TIMES: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define internal i32 @even(i32 %x) noinline { %r = add i32 %x, 1000
  ret i32 %r }
define internal i32 @odd(i32 %x) noinline { %r = add i32 %x, 2000
  ret i32 %r }
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %limit = load i32, ptr addrspace(1) %p
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %n, %body ]
  %set = phi i1 [ false, %entry ], [ true, %body ]
  %bit = and i32 %i, 1
  %is.odd = icmp ne i32 %bit, 0
  %f = select i1 %is.odd, ptr @odd, ptr @even
  %size = add i32 %i, 1
  %more = icmp ult i32 %i, %limit
  br i1 %more, label %body, label %exit
body:
  %n = add i32 %i, 1
  br label %loop
exit:
"#;

/// The kernel with `rest` behind its loop.
fn behind_the_loop(rest: &str) -> String {
    format!(
        "{LEFT_AT_DIFFERENT_TIMES}{rest}\n  ret void\n}}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)\n"
    )
}

/// Iterations of each work-item.
fn limits() -> Vec<u32> {
    (0..ITEMS).map(|id| (id * 5 + 3) % 7).collect()
}

#[test]
fn a_condition_that_a_loop_leaves_chooses_by_lane() {
    // The condition of a choice between lane masks.
    let rest = "%c = icmp ult i32 %id, 9\n %d = select i1 %set, i1 %c, i1 true\n %e = select i1 %set, i1 %set, i1 %c
  %x = zext i1 %d to i32\n %y = select i1 %e, i32 2, i32 0\n %z = or i32 %x, %y\n store i32 %z, ptr addrspace(1) %o";
    let expected: Vec<u32> = (0..)
        .zip(limits())
        .map(|(id, limit)| {
            let (set, c) = (limit > 0, id < 9);
            u32::from(!set || c) | (2 * u32::from(set || c))
        })
        .collect();
    check(&behind_the_loop(rest), &limits(), &expected);
}

#[test]
fn the_first_lane_is_read_behind_a_loop() {
    let rest = "%r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %i)\n store i32 %r, ptr addrspace(1) %o";
    let first = |lanes| (0..ITEMS as usize).map(|item| limits()[item / lanes * lanes]).collect();
    check_by_wave(&behind_the_loop(rest), &limits(), first);
}

#[test]
fn each_lane_calls_what_it_left_the_loop_with() {
    let rest = "%r = call i32 %f(i32 %id)\n store i32 %r, ptr addrspace(1) %o";
    let expected: Vec<u32> =
        (0..).zip(limits()).map(|(id, limit)| id + if limit % 2 == 1 { 2000 } else { 1000 }).collect();
    check(&behind_the_loop(rest), &limits(), &expected);
}

#[test]
fn the_stack_grows_by_the_most_that_a_loop_leaves_a_lane_with() {
    let rest = "%a = alloca i32, i32 %size, addrspace(5)
  %b = alloca i32, i32 %size, addrspace(5)
  %at = getelementptr i32, ptr addrspace(5) %a, i32 %i\n store volatile i32 %id, ptr addrspace(5) %at
  store volatile i32 7, ptr addrspace(5) %b
  %v = load volatile i32, ptr addrspace(5) %at\n store i32 %v, ptr addrspace(1) %o";
    let expected: Vec<u32> = (0..ITEMS).collect();
    check(&behind_the_loop(rest), &limits(), &expected);
}

#[test]
fn uniform_addends_behind_a_loop_are_those_of_each_lane() {
    let rest = "%a = add i32 %id, %i\n %b = add i32 %a, %i\n store i32 %b, ptr addrspace(1) %o";
    let expected: Vec<u32> = (0..).zip(limits()).map(|(id, limit)| id + 2 * limit).collect();
    check(&behind_the_loop(rest), &limits(), &expected);
}

/// What lanes leave a loop with at different times, and is the same for all: parts of arguments, what the vector unit makes in front of
/// the loop, a condition.
const TAKEN_THROUGH: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %i = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %pair = load i64, ptr addrspace(1) %in, !invariant.load !0
  %low = trunc i64 %pair to i32
  %up = lshr i64 %pair, 32
  %high = trunc i64 %up to i32
  %made = uitofp i32 %low to float
  %bits = bitcast float %made to i32
  %less = fcmp olt float %made, 1.0e9
  %square = mul i64 %pair, %pair
  %skip = icmp eq i32 %high, 7
  br i1 %skip, label %join, label %loop
loop:
  %n = phi i32 [ 0, %entry ], [ %more, %loop ]
  %more = add i32 %n, 1
  %at = and i32 %id, 7
  %leave = icmp eq i32 %at, %n
  br i1 %leave, label %join, label %loop
join:
  %a = phi i32 [ 1, %entry ], [ %low, %loop ]
  %b = phi i32 [ 2, %entry ], [ %bits, %loop ]
  %c = phi i1 [ false, %entry ], [ %less, %loop ]
  %d = phi i64 [ 3, %entry ], [ %square, %loop ]
  %e = phi i32 [ 4, %entry ], [ %high, %loop ]
  %s = select i1 %c, i32 %a, i32 %b
  %x = add i32 %s, %e
  %dl = trunc i64 %d to i32
  %dh = lshr i64 %d, 32
  %dt = trunc i64 %dh to i32
  %y = xor i32 %dl, %dt
  %r = add i32 %x, %y
  %own = load i32, ptr addrspace(1) %i
  %z = xor i32 %r, %own
  store i32 %z, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
!0 = !{}
"#;

#[test]
fn uniform_values_are_taken_through_loops_that_lanes_leave_apart() {
    for [low, high] in [[5, 7], [5, 8], [0xf000_0000, 9]] {
        let mut input: Vec<u32> = (0..ITEMS).map(|id| id.wrapping_mul(0x9e37_79b9)).collect();
        input[..2].copy_from_slice(&[low, high]);
        let bits = (low as f32).to_bits();
        let square = (u64::from(high) << 32 | u64::from(low)).wrapping_pow(2);
        let r = match high {
            7 => 2 + 4 + 3,
            _ => {
                let chosen = if (low as f32) < 1.0e9 { low } else { bits };
                chosen.wrapping_add(high).wrapping_add(square as u32 ^ (square >> 32) as u32)
            }
        };
        let expected: Vec<u32> = input.iter().map(|own| r ^ own).collect();
        check(TAKEN_THROUGH, &input, &expected);
    }
}
