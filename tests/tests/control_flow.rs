//! Loops whose back edges, exits and masks are shared in unusual ways. Each kernel runs on the simulator; what it leaves is computed here as well.

use gcnc_tests::gpu::{ITEMS, run_words};

fn check(text: &str, input: &[u32], expected: &[u32]) {
    for cpu in ["gfx600", "gfx803", "gfx900"] {
        for level in [0, 2] {
            assert_eq!(run_words(text, cpu, level, input), expected, "{cpu} -O{level}");
        }
    }
}

/// A block is the latch of two loops, one inside the other: lanes that leave the inner loop for the header of the outer one must run that again.
const SHARED_LATCH: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %i = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %pattern = load i32, ptr addrspace(1) %i
  br label %outer
outer:
  %n = phi i32 [ 0, %entry ], [ %n.next, %latch ]
  %trips = phi i32 [ 0, %entry ], [ %t, %latch ]
  %bits = phi i32 [ %pattern, %entry ], [ %bits.next, %latch ]
  %n1 = add i32 %n, 1000
  %c1 = icmp ugt i32 %trips, 20
  br i1 %c1, label %exit, label %inner
inner:
  %m = phi i32 [ %n1, %outer ], [ %n.next, %latch ]
  %u = phi i32 [ %trips, %outer ], [ %t, %latch ]
  %b = phi i32 [ %bits, %outer ], [ %bits.next, %latch ]
  %t = add i32 %u, 1
  %c2 = icmp ugt i32 %t, 24
  br i1 %c2, label %exit, label %latch
latch:
  %n.next = add i32 %m, 1
  %bits.next = lshr i32 %b, 1
  %low = and i32 %b, 1
  %c3 = icmp ne i32 %low, 0
  br i1 %c3, label %outer, label %inner
exit:
  %r = phi i32 [ %n1, %outer ], [ %m, %inner ]
  store i32 %r, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

#[test]
fn one_latch_of_two_loops() {
    let input: Vec<u32> = (0..ITEMS).map(|id| id.wrapping_mul(0x9e37_79b1) | id & 1).collect();
    let lane = |pattern: u32| {
        let (mut n, mut trips, mut bits) = (0u32, 0, pattern);
        'outer: loop {
            n += 1000;
            if trips > 20 {
                return n;
            }
            loop {
                trips += 1;
                if trips > 24 {
                    return n;
                }
                n += 1;
                let low = bits & 1;
                bits >>= 1;
                if low != 0 {
                    continue 'outer;
                }
            }
        }
    };
    check(SHARED_LATCH, &input, &input.iter().map(|&p| lane(p)).collect::<Vec<_>>());
}

/// A loop behind a loop that an edge which is never taken makes a part of it: what is `i1` in the first one is used in the second by lanes that
/// came there in different iterations.
const FALSE_PART: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %i = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %x = load i32, ptr addrspace(1) %i
  br label %first
first:
  %n = phi i32 [ 0, %entry ], [ %n1, %again ], [ %n1, %latch ]
  %n1 = add i32 %n, 1
  %p = xor i32 %n, %x
  %q = and i32 %p, 1
  %odd = icmp ne i32 %q, 0
  %stop = icmp uge i32 %n, %id
  br i1 %stop, label %second, label %again
again:
  %never = icmp ugt i32 %n, 100
  br i1 %never, label %exit, label %first
second:
  %m = phi i32 [ 0, %first ], [ %m1, %latch ]
  %m1 = add i32 %m, 1
  %more = icmp ult i32 %m1, %q
  br i1 %more, label %latch, label %exit
latch:
  br i1 false, label %first, label %second
exit:
  %r = phi i1 [ false, %again ], [ %odd, %second ]
  %z = zext i1 %r to i32
  %w = add i32 %z, %n
  store i32 %w, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

#[test]
fn an_edge_never_taken_makes_no_loop() {
    let input: Vec<u32> = (0..ITEMS).map(|id| id / 3).collect();
    let expected: Vec<u32> = (0..ITEMS).map(|id| ((id ^ (id / 3)) & 1) + id).collect();
    check(FALSE_PART, &input, &expected);
}

/// The mode of the descriptor and what the code expects of it must be the same where operands and results are treated apart.
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
        let operands: Vec<f32> = (0..2 * ITEMS)
            .map(|_| f32::from_bits(rng.u32(..) & 0x807f_ffff | rng.u32(1..255) << 23))
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
