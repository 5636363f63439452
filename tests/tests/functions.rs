//! Functions and their stack: frames larger than an offset reaches, objects of variable size in loops,
//! variable arguments, `invoke`, and addresses that are folded across the end of a loop. Each kernel runs on
//! the simulator, and its results are computed here as well.

use gcnc_tests::gpu::{ITEMS, run_words as run};
use std::fmt::Write;

/// Words of the input.
fn input(count: usize) -> Vec<u32> {
    let mut rng = fastrand::Rng::with_seed(5);
    (0..count).map(|_| rng.u32(..)).collect()
}

/// That kernel `k` leaves `expected` at both levels.
fn check(processors: &[&str], text: &str, input: &[u32], expected: &[u32]) {
    for cpu in processors {
        for level in [0, 2] {
            assert_eq!(run(text, cpu, level, input), expected, "{cpu} -O{level}");
        }
    }
}

/// A function (or a kernel) with an object of 8 KiB, a uniform condition that lives in SCC, and more values
/// than registers.
fn large_frame(function: bool, values: usize) -> String {
    let mut body = String::from(
        "  %big = alloca [2048 x i32], addrspace(5)\n  %end = getelementptr i32, ptr addrspace(5) %big, i32 2047\n\
         \x20 store volatile i32 %id, ptr addrspace(5) %end\n",
    );
    for k in 0..values {
        let _ = writeln!(body, "  %p{k} = getelementptr i32, ptr addrspace(1) %in, i32 {k}");
        let _ = writeln!(body, "  %q{k} = getelementptr i32, ptr addrspace(1) %p{k}, i32 %id");
        let _ = writeln!(body, "  %v{k} = load volatile i32, ptr addrspace(1) %q{k}");
    }
    let _ = writeln!(body, "  %s0 = load volatile i32, ptr addrspace(5) %end");
    for k in 0..values {
        let _ = writeln!(body, "  %m{k} = mul i32 %v{k}, {}", 2 * k + 1);
        let _ = writeln!(body, "  %s{} = xor i32 %s{k}, %m{k}", k + 1);
    }
    let declarations = "target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n";
    let store = "  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id\n";
    if function {
        format!(
            "{declarations}define i32 @f(ptr addrspace(1) %in, i32 %id) noinline {{\n{body}  ret i32 %s{values}\n}}\n\
             define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {{\n  %id = call i32 @llvm.amdgcn.workitem.id.x()\n\
             \x20 %r = call i32 @f(ptr addrspace(1) %in, i32 %id)\n{store}  store i32 %r, ptr addrspace(1) %o\n  ret void\n}}\n"
        )
    } else {
        format!(
            "{declarations}define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {{\n  %id = call i32 @llvm.amdgcn.workitem.id.x()\n\
             {body}{store}  store i32 %s{values}, ptr addrspace(1) %o\n  ret void\n}}\n"
        )
    }
}

#[test]
fn spills_behind_large_objects_are_found_again() {
    let values = 300;
    let input = input(values + ITEMS as usize);
    let expected: Vec<u32> = (0..ITEMS)
        .map(|id| (0..values).fold(id, |s, k| s ^ input[k + id as usize].wrapping_mul(2 * k as u32 + 1)))
        .collect();
    for cpu in ["gfx900", "gfx803", "gfx600", "gfx1010"] {
        for function in [false, true] {
            assert_eq!(run(&large_frame(function, values), cpu, 2, &input), expected, "{cpu} {function}");
        }
    }
}

/// Two objects for each turn of a loop, one of a size that differs between lanes, which leave the loop at
/// different times. All turns together take more than the stack has.
const GROWING: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare ptr addrspace(5) @llvm.stacksave.p5()
declare void @llvm.stackrestore.p5(ptr addrspace(5))
declare i32 @llvm.amdgcn.workitem.id.x()
define void @fill(ptr addrspace(5) %p, i32 %n, i32 %v) noinline {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i2, %loop]
  %q = getelementptr i32, ptr addrspace(5) %p, i32 %i
  %w = add i32 %v, %i
  store volatile i32 %w, ptr addrspace(5) %q
  %i2 = add i32 %i, 1
  %c = icmp ult i32 %i2, %n
  br i1 %c, label %loop, label %done
done:
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %twice = mul i32 %id, 20
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i2, %latch]
  %s = phi i32 [0, %entry], [%s2, %latch]
  %sp = call ptr addrspace(5) @llvm.stacksave.p5()
  %low = and i32 %id, 7
  %n = add i32 %low, 5
  %a = alloca i32, i32 %n, addrspace(5)
  call void @fill(ptr addrspace(5) %a, i32 %n, i32 %i)
  %b = alloca [4 x i32], addrspace(5)
  call void @fill(ptr addrspace(5) %b, i32 4, i32 100)
  %last = sub i32 %n, 1
  %q = getelementptr i32, ptr addrspace(5) %a, i32 %last
  %v = load i32, ptr addrspace(5) %q
  %s2 = add i32 %s, %v
  %early = icmp eq i32 %i, %twice
  br i1 %early, label %leave, label %latch
leave:
  call void @llvm.stackrestore.p5(ptr addrspace(5) %sp)
  br label %done
latch:
  call void @fill(ptr addrspace(5) %b, i32 4, i32 7)
  %v2 = load i32, ptr addrspace(5) %a
  %bad = icmp ne i32 %v2, %i
  call void @llvm.stackrestore.p5(ptr addrspace(5) %sp)
  %i2 = add i32 %i, 1
  br i1 %bad, label %done, label %loop
done:
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %s2, ptr addrspace(1) %o
  ret void
}
"#;

#[test]
fn the_stack_shrinks_where_it_is_restored() {
    let expected: Vec<u32> = (0..ITEMS).map(|id| (0..=20 * id).map(|i| i + (id & 7) + 4).sum()).collect();
    check(&["gfx900", "gfx700"], GROWING, &[0], &expected);
}

/// A list: each turn of the loop makes a new object, though its size is known.
const CHAIN: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i2, %loop]
  %head = phi ptr addrspace(5) [null, %entry], [%node, %loop]
  %node = alloca { i32, ptr addrspace(5) }, addrspace(5)
  %v = mul i32 %i, %id
  store i32 %v, ptr addrspace(5) %node
  %next = getelementptr i8, ptr addrspace(5) %node, i32 4
  store ptr addrspace(5) %head, ptr addrspace(5) %next
  %i2 = add i32 %i, 1
  %c = icmp ult i32 %i2, 10
  br i1 %c, label %loop, label %walk
walk:
  %n = phi i32 [0, %loop], [%n2, %walk]
  %at = phi ptr addrspace(5) [%node, %loop], [%following, %walk]
  %s = phi i32 [0, %loop], [%s2, %walk]
  %x = load i32, ptr addrspace(5) %at
  %s2 = add i32 %s, %x
  %link = getelementptr i8, ptr addrspace(5) %at, i32 4
  %following = load ptr addrspace(5), ptr addrspace(5) %link
  %n2 = add i32 %n, 1
  %more = icmp ult i32 %n2, 10
  br i1 %more, label %walk, label %done
done:
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %s2, ptr addrspace(1) %o
  ret void
}
"#;

#[test]
fn each_turn_of_a_loop_has_its_own_object() {
    let expected: Vec<u32> = (0..ITEMS).map(|id| 45 * id).collect();
    for level in [0, 2] {
        assert_eq!(run(CHAIN, "gfx900", level, &[0]), expected, "-O{level}");
    }
}

/// The sum of variable arguments by `va_arg`, by pointers, through a copy of the list, and over calls that
/// might unwind.
const VARIABLE: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @__gxx_personality_v0(...)
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_start.p5(ptr addrspace(5))
declare void @llvm.va_end.p5(ptr addrspace(5))
declare void @llvm.va_copy.p5(ptr addrspace(5), ptr addrspace(5))
define i32 @instructions(i32 %n, ...) noinline {
  %list = alloca ptr, addrspace(5)
  %copy = alloca ptr, addrspace(5)
  call void @llvm.va_start.p5(ptr addrspace(5) %list)
  %a = va_arg ptr addrspace(5) %list, i32
  call void @llvm.va_copy.p5(ptr addrspace(5) %copy, ptr addrspace(5) %list)
  %b = va_arg ptr addrspace(5) %list, i64
  %c = va_arg ptr addrspace(5) %list, double
  %d = va_arg ptr addrspace(5) %copy, i64
  call void @llvm.va_end.p5(ptr addrspace(5) %list)
  %b32 = trunc i64 %b to i32
  %c32 = fptoui double %c to i32
  %d64 = lshr i64 %d, 32
  %d32 = trunc i64 %d64 to i32
  %ab = add i32 %a, %b32
  %cd = add i32 %c32, %d32
  %abcd = add i32 %ab, %cd
  %r = mul i32 %abcd, %n
  ret i32 %r
}
define i32 @pointers(i32 %n, ...) noinline {
entry:
  %own = alloca ptr, addrspace(5)
  %list = addrspacecast ptr addrspace(5) %own to ptr
  call void @llvm.va_start.p0(ptr %list)
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i2, %loop]
  %s = phi i32 [0, %entry], [%s2, %loop]
  %place = load ptr, ptr %list
  %next = getelementptr i8, ptr %place, i64 4
  store ptr %next, ptr %list
  %x = load i32, ptr %place
  %s2 = add i32 %s, %x
  %i2 = add i32 %i, 1
  %c = icmp ult i32 %i2, %n
  br i1 %c, label %loop, label %done
done:
  ret i32 %s2
}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) personality ptr @__gxx_personality_v0 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %id64 = zext i32 %id to i64
  %high = shl i64 %id64, 33
  %wide = or i64 %high, 5
  %f = uitofp i32 %id to double
  %x = invoke i32 (i32, ...) @instructions(i32 3, i32 %id, i64 %wide, double %f) to label %fine unwind label %pad
fine:
  %indirect = load volatile i32, ptr addrspace(1) %in
  %zero = icmp eq i32 %indirect, 0
  %callee = select i1 %zero, ptr @pointers, ptr @instructions
  %y = call i32 (i32, ...) %callee(i32 4, i32 1000, i32 %id, i32 20, i32 %x)
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %y, ptr addrspace(1) %o
  ret void
pad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}
"#;

#[test]
fn variable_arguments_arrive() {
    let expected: Vec<u32> = (0..ITEMS).map(|id| 1020 + id + 3 * (id + 5 + id + 2 * id)).collect();
    check(&["gfx900", "gfx803", "gfx1030"], VARIABLE, &[0], &expected);
}

/// Lanes leave the loop at different turns; the place behind the last one written is uniform in the loop, but
/// not after it.
const BEHIND: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %a = alloca [70 x i32], addrspace(5)
  %own = getelementptr i32, ptr addrspace(5) %a, i32 %id
  store volatile i32 9, ptr addrspace(5) %own
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i2, %loop]
  %at = phi ptr addrspace(5) [%a, %entry], [%next, %loop]
  store volatile i32 %i, ptr addrspace(5) %at
  %next = getelementptr i8, ptr addrspace(5) %at, i32 4
  %i2 = add i32 %i, 1
  %c = icmp ugt i32 %i, %id
  br i1 %c, label %done, label %loop
done:
  store volatile i32 1234, ptr addrspace(5) %next
  %place = add i32 %id, 2
  %q = getelementptr i32, ptr addrspace(5) %a, i32 %place
  %v = load volatile i32, ptr addrspace(5) %q
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %v, ptr addrspace(1) %o
  ret void
}
"#;

#[test]
fn an_address_after_a_loop_is_that_of_each_lanes_last_turn() {
    for level in [0, 2] {
        assert_eq!(run(BEHIND, "gfx900", level, &[0]), vec![1234; ITEMS as usize], "-O{level}");
    }
}

/// Arguments on the stack that the callee does not read need their room all the same.
const UNREAD: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define i32 @f(i32 %n, [30 x i32] %a, [200 x i32] %unread) noinline {
  %x = extractvalue [30 x i32] %a, 29
  %r = add i32 %x, %n
  ret i32 %r
}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %a = insertvalue [30 x i32] zeroinitializer, i32 %id, 29
  %b = insertvalue [200 x i32] zeroinitializer, i32 %id, 199
  %r = call i32 @f(i32 %id, [30 x i32] %a, [200 x i32] %b)
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %r, ptr addrspace(1) %o
  ret void
}
"#;

#[test]
fn arguments_that_nobody_reads_have_room() {
    let expected: Vec<u32> = (0..ITEMS).map(|id| 2 * id).collect();
    for level in [0, 2] {
        assert_eq!(run(UNREAD, "gfx900", level, &[0]), expected, "-O{level}");
    }
}

/// A function that writes registers in inactive lanes too saves what its caller has there.
#[test]
fn whole_wave_mode_in_a_function_leaves_other_lanes_alone() {
    let values = 36;
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.set.inactive.i32(i32, i32)
declare i32 @llvm.amdgcn.strict.wwm.i32(i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
define i32 @f(i32 %x) noinline {
  %a0 = call i32 @llvm.amdgcn.set.inactive.i32(i32 %x, i32 7)
",
    );
    // Each from the one before and the lane beside its own: all are alive at once.
    for k in 0..values {
        let _ = writeln!(text, "  %a{} = mul i32 %a{k}, {}", k + 1, 2 * k + 3);
    }
    let _ = writeln!(text, "  %s0 = xor i32 %a0, 0");
    for k in 0..values {
        let _ = writeln!(text, "  %s{} = add i32 %s{k}, %a{}", k + 1, values - k);
    }
    let _ = writeln!(
        text,
        "  %first = call i32 @llvm.amdgcn.readlane.i32(i32 %s{values}, i32 0)
  %sum = add i32 %s{values}, %first
  %r = call i32 @llvm.amdgcn.strict.wwm.i32(i32 %sum)
  ret i32 %r
}}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {{
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %odd.bit = and i32 %id, 1
  %odd = icmp ne i32 %odd.bit, 0"
    );
    for k in 0..values {
        let _ = writeln!(text, "  %p{k} = getelementptr i32, ptr addrspace(1) %in, i32 {k}");
        let _ = writeln!(text, "  %q{k} = getelementptr i32, ptr addrspace(1) %p{k}, i32 %id");
        let _ = writeln!(text, "  %v{k} = load volatile i32, ptr addrspace(1) %q{k}");
    }
    text.push_str(
        "  br i1 %odd, label %call, label %sum\ncall:\n  %r = call i32 @f(i32 %v0)\n  br label %end\nsum:\n",
    );
    let _ = writeln!(text, "  %t0 = xor i32 %v0, 5");
    for k in 1..values {
        let _ =
            writeln!(text, "  %m{k} = mul i32 %v{k}, {}\n  %t{k} = xor i32 %t{}, %m{k}", 2 * k + 1, k - 1);
    }
    let _ = writeln!(
        text,
        "  br label %end\nend:\n  %result = phi i32 [ %r, %call ], [ %t{}, %sum ]
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %result, ptr addrspace(1) %o
  ret void\n}}",
        values - 1
    );
    let words = input(values + ITEMS as usize);
    let chain = |x: u32| {
        let mut at = x;
        (0..values as u32).fold(x, |sum, k| {
            at = at.wrapping_mul(2 * k + 3);
            sum.wrapping_add(at)
        })
    };
    let expected: Vec<u32> = (0..ITEMS as usize)
        .map(|id| match id % 2 {
            1 => chain(words[id]).wrapping_add(chain(7)),
            _ => (1..values).fold(words[id] ^ 5, |sum, k| sum ^ words[id + k].wrapping_mul(2 * k as u32 + 1)),
        })
        .collect();
    check(&["gfx600", "gfx803", "gfx900", "gfx1010"], &text, &words, &expected);
}

/// A function that changes all VGPRs, and more SGPRs of its caller than a VGPR has lanes.
#[test]
fn all_registers_of_the_caller_are_saved() {
    let values = 24;
    let mut clobbers: Vec<String> = (2..256).map(|n| format!("~{{v{n}}}")).collect();
    clobbers.extend((34..96).map(|n| format!("~{{s{n}}}")));
    let mut text = format!(
        "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
define i32 @g(i32 %x) noinline {{
  %y = add i32 %x, 1
  ret i32 %y
}}
define i32 @f(i32 %x) noinline {{
  call void asm sideeffect \"v_mov_b32 v255, -1\\0Av_mov_b32 v40, -1\\0As_mov_b32 s34, -1\\0As_mov_b32 s95, -1\\0As_mov_b32 s64, -1\", \"{}\"()
  %y = call i32 @g(i32 %x)
  ret i32 %y
}}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {{
  %id = call i32 @llvm.amdgcn.workitem.id.x()\n",
        clobbers.join(",")
    );
    for k in 0..values {
        let _ = writeln!(text, "  %p{k} = getelementptr i32, ptr addrspace(1) %in, i32 {k}");
        let _ = writeln!(text, "  %q{k} = getelementptr i32, ptr addrspace(1) %p{k}, i32 %id");
        let _ = writeln!(text, "  %v{k} = load volatile i32, ptr addrspace(1) %q{k}");
        let _ = writeln!(text, "  %l{k} = load volatile i32, ptr addrspace(1) %p{k}");
        let _ = writeln!(text, "  %u{k} = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %l{k})");
    }
    text.push_str("  %s0 = call i32 @f(i32 %v0)\n");
    for k in 0..values {
        let _ = writeln!(text, "  %m{k} = mul i32 %v{k}, {}\n  %w{k} = xor i32 %m{k}, %u{k}", 2 * k + 1);
        let _ = writeln!(text, "  %s{} = add i32 %s{k}, %w{k}", k + 1);
    }
    let _ = writeln!(
        text,
        "  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id\n  store i32 %s{values}, ptr addrspace(1) %o\n  ret void\n}}"
    );
    let words = input(values + ITEMS as usize);
    let expected: Vec<u32> = (0..ITEMS as usize)
        .map(|id| {
            (0..values).fold(words[id].wrapping_add(1), |sum, k| {
                sum.wrapping_add(words[id + k].wrapping_mul(2 * k as u32 + 1) ^ words[k])
            })
        })
        .collect();
    check(&["gfx600", "gfx803", "gfx900", "gfx1010"], &text, &words, &expected);
}

/// Callees that change all registers but those that any callee leaves alone: called from divergent code by a function and a kernel that keep values of the wave across.
const GREEDY: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define internal i32 @greedy(i32 %x) noinline {
  call void asm sideeffect "s_nop 0", "~{v[0:255]},~{s[4:29]},~{s[34:101]},~{vcc}"()
  %r = mul i32 %x, 5
  ret i32 %r
}
define internal i32 @labels(i32 %x) noinline {
  call void asm sideeffect "s_branch 1f\0A s_nop 0\0A1:", "~{v0}"()
  %r = add i32 %x, 7
  ret i32 %r
}
define internal i32 @twice(i32 %x) noinline {
  %a = call i32 @greedy(i32 %x)
  %b = call i32 @greedy(i32 %a)
  %c = mul i32 %a, %b
  %d = add i32 %c, %x
  ret i32 %d
}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %v = load i32, ptr addrspace(1) %p
  %n = load i32, ptr addrspace(1) %in
  %low = icmp ult i32 %id, 40
  br i1 %low, label %then, label %join
then:
  %r = call i32 @greedy(i32 %v)
  %s = call i32 @twice(i32 %r)
  %q = call i32 @labels(i32 %s)
  %u = add i32 %q, %v
  %w = xor i32 %u, %r
  br label %join
join:
  %x = phi i32 [ %w, %then ], [ %v, %entry ]
  %y = add i32 %x, %n
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %y, ptr addrspace(1) %o
  ret void
}
"#;

#[test]
fn values_survive_callees_that_change_every_register() {
    let input = input(ITEMS as usize);
    let expected: Vec<u32> = (0..ITEMS)
        .map(|id| {
            let v = input[id as usize];
            let r = v.wrapping_mul(5);
            let a = r.wrapping_mul(5);
            let s = a.wrapping_mul(a.wrapping_mul(5)).wrapping_add(r);
            let w = s.wrapping_add(7).wrapping_add(v) ^ r;
            (if id < 40 { w } else { v }).wrapping_add(input[0])
        })
        .collect();
    for text in [
        GREEDY.to_owned(),
        GREEDY.replace("noinline {", "noinline \"amdgpu-flat-work-group-size\"=\"1,256\" {"),
    ] {
        check(&["gfx900", "gfx803", "gfx600", "gfx1030"], &text, &input, &expected);
    }
}
