//! Calls that return in the function's place: chains that are longer than any stack, with lanes that leave them at different times. Each
//! kernel runs on the simulator, which knows the size of the stack, and its results are computed here as well.

use gcnc_tests::gpu::{ITEMS, run_words as run};
use std::fmt::Write;

const HEADER: &str = "target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n";

/// A kernel whose lanes each pass their dword of the input to `first` as the first of the arguments.
fn kernel(call: &str) -> String {
    format!(
        "define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {{\n\
         \x20 %id = call i32 @llvm.amdgcn.workitem.id.x()\n\
         \x20 %p = getelementptr i32, ptr addrspace(1) %in, i32 %id\n\
         \x20 %n = load i32, ptr addrspace(1) %p\n{call}\
         \x20 %q = getelementptr i32, ptr addrspace(1) %out, i32 %id\n\
         \x20 store i32 %r, ptr addrspace(1) %q\n  ret void\n}}\n"
    )
}

/// That kernel `k` of `text` leaves what `expected` says of each lane's input, on three generations with and without optimisation.
fn check(text: &str, input: &[u32], expected: impl Fn(u32) -> u32) {
    check_on(&["gfx600", "gfx803", "gfx900"], text, input, expected);
}

fn check_on(processors: &[&str], text: &str, input: &[u32], expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = input.iter().map(|&n| expected(n)).collect();
    for cpu in processors {
        for level in [0, 2] {
            assert_eq!(run(text, cpu, level, input), expected, "{cpu} -O{level}");
        }
    }
}

/// How long the lanes' chains are: one much longer than the stack is deep, others of a few hundred links.
fn lengths(longest: u32) -> Vec<u32> {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut lengths: Vec<u32> = (0..ITEMS).map(|_| rng.u32(0..300)).collect();
    lengths[5] = longest;
    lengths[6] = 0;
    lengths
}

#[test]
fn chains_of_two_functions_need_no_stack() {
    let function = |name: &str, other: &str, result: &str, step: &str| {
        format!(
            "define internal i32 @{name}(i32 %n, i32 %acc) noinline {{\n  %z = icmp eq i32 %n, 0\n  br i1 %z, label %done, label %more\n\
             done:\n  %b = {result}\n  ret i32 %b\n\
             more:\n  %m = sub i32 %n, 1\n  %a = {step} i32 %acc, %n\n\
             \x20 %r = musttail call i32 @{other}(i32 %m, i32 %a)\n  ret i32 %r\n}}\n"
        )
    };
    let text = format!(
        "{HEADER}{}{}{}",
        function("even", "odd", "add i32 %acc, 0", "add"),
        function("odd", "even", "sub i32 0, %acc", "xor"),
        kernel("  %r = call i32 @even(i32 %n, i32 7)\n"),
    );
    check(&text, &lengths(100_000), |mut n| {
        let (mut acc, mut odd) = (7u32, false);
        while n != 0 {
            acc = if odd { acc ^ n } else { acc.wrapping_add(n) };
            (n, odd) = (n - 1, !odd);
        }
        if odd { acc.wrapping_neg() } else { acc }
    });
}

/// A machine of three states: each is a function that looks its successor up, by its accumulator, in a table of pointers.
#[test]
fn a_chain_goes_through_pointers_that_differ_between_lanes() {
    let mut text = format!(
        "{HEADER}@table = internal addrspace(4) constant [4 x ptr] [ptr @s0, ptr @s1, ptr @s2, ptr @stop]\n\
         define internal i32 @stop(i32 %n, i32 %acc) noinline {{\n  ret i32 %acc\n}}\n"
    );
    for (state, step) in ["add i32 %acc, %n", "mul i32 %acc, 5", "xor i32 %acc, 1234567"].iter().enumerate() {
        let _ = write!(
            text,
            "define internal i32 @s{state}(i32 %n, i32 %acc) noinline {{\n  %a = {step}\n  %m = sub i32 %n, 1\n\
             \x20 %h = lshr i32 %a, 3\n  %next = urem i32 %h, 3\n  %z = icmp eq i32 %m, 0\n  %i = select i1 %z, i32 3, i32 %next\n\
             \x20 %p = getelementptr [4 x ptr], ptr addrspace(4) @table, i32 0, i32 %i\n  %f = load ptr, ptr addrspace(4) %p\n\
             \x20 %r = musttail call i32 %f(i32 %m, i32 %a)\n  ret i32 %r\n}}\n"
        );
    }
    text += &kernel("  %m = add i32 %n, 1\n  %r = call i32 @s0(i32 %m, i32 %n)\n");
    check(&text, &lengths(4000), |n| {
        let (mut left, mut acc, mut state) = (n + 1, n, 0);
        while left != 0 {
            acc = match state {
                0 => acc.wrapping_add(left),
                1 => acc.wrapping_mul(5),
                _ => acc ^ 1_234_567,
            };
            left -= 1;
            state = (acc >> 3) % 3;
        }
        acc
    });
}

/// Forty arguments, of which nine are on the stack, trade places at each call.
#[test]
fn arguments_on_the_stack_replace_the_callers() {
    const COUNT: usize = 40;
    let list =
        |start: &dyn Fn(usize) -> String| -> String { (0..COUNT).map(start).collect::<Vec<_>>().join(", ") };
    let params = list(&|k| format!("i32 %a{k}"));
    let rotated = list(&|k| format!("i32 %{}{}", if k == 39 { "t" } else { "a" }, (k + 1) % COUNT));
    let start = list(&|k| format!("i32 {}", k * k));
    let text = format!(
        "{HEADER}define internal i32 @turn(i32 %n, {params}) noinline {{\n  %z = icmp eq i32 %n, 0\n  br i1 %z, label %done, label %more\n\
         done:\n  %x = mul i32 %a39, 3\n  %s = add i32 %x, %a0\n  ret i32 %s\n\
         more:\n  %m = sub i32 %n, 1\n  %t0 = add i32 %a0, %n\n\
         \x20 %r = musttail call i32 @turn(i32 %m, {rotated})\n  ret i32 %r\n}}\n{}",
        kernel(&format!("  %r = call i32 @turn(i32 %n, {start})\n"))
    );
    // Lanes leave at four times: each leaves a frame, and frames are large here.
    let lengths: Vec<u32> = (0..ITEMS).map(|lane| [0, 3, 150, 3000][lane as usize % 4]).collect();
    check(&text, &lengths, |n| {
        let mut a: Vec<u32> = (0..COUNT as u32).map(|k| k * k).collect();
        for left in (1..=n).rev() {
            a[0] = a[0].wrapping_add(left);
            a.rotate_left(1);
        }
        a[COUNT - 1].wrapping_mul(3).wrapping_add(a[0])
    });
}

/// An argument in an SGPR is not the same in all lanes that call the same function.
#[test]
fn uniform_arguments_differ_between_paths() {
    let text = format!(
        "{HEADER}define internal i32 @f(i32 inreg %u, i32 %n) noinline {{\n  %z = icmp eq i32 %n, 0\n  br i1 %z, label %done, label %more\n\
         done:\n  ret i32 %u\n\
         more:\n  %m = lshr i32 %n, 1\n  %b = and i32 %n, 1\n  %odd = icmp eq i32 %b, 1\n  br i1 %odd, label %one, label %zero\n\
         one:\n  %u3 = mul i32 %u, 3\n  %r1 = musttail call i32 @f(i32 inreg %u3, i32 %m)\n  ret i32 %r1\n\
         zero:\n  %u1 = add i32 %u, 1\n  %r0 = musttail call i32 @f(i32 inreg %u1, i32 %m)\n  ret i32 %r0\n}}\n{}",
        kernel("  %r = call i32 @f(i32 inreg 1, i32 %n)\n")
    );
    check(&text, &lengths(100_000), |mut n| {
        let mut u = 1u32;
        while n != 0 {
            u = if n & 1 == 1 { u.wrapping_mul(3) } else { u + 1 };
            n >>= 1;
        }
        u
    });
}

/// A function with a frame of its own that uses registers of its caller calls, and is left by, a function with more arguments.
#[test]
fn what_belongs_to_the_caller_is_back_before_the_jump() {
    let text = format!(
        "{HEADER}define i32 @last(i32 %a, i32 %b, i32 %c) noinline {{\n\
         \x20 call void asm sideeffect \"v_mov_b32 v30, 0\\0Av_mov_b32 v33, 0\", \"~{{v30}},~{{v33}}\"()\n\
         \x20 %x = mul i32 %a, %b\n  %y = add i32 %x, %c\n  ret i32 %y\n}}\n\
         define i32 @framed(i32 %n) noinline {{\n  %p = alloca [4 x i32], addrspace(5)\n\
         \x20 %i = and i32 %n, 3\n  %q = getelementptr i32, ptr addrspace(5) %p, i32 %i\n  store volatile i32 %n, ptr addrspace(5) %q\n\
         \x20 call void asm sideeffect \"v_mov_b32 v41, 0\\0As_mov_b32 s50, 0\\0As_mov_b32 s66, 0\", \"~{{v41}},~{{s50}},~{{s66}}\"()\n\
         \x20 %v = call i32 @last(i32 %n, i32 3, i32 4)\n  %w = load volatile i32, ptr addrspace(5) %q\n\
         \x20 %r = tail call i32 @last(i32 %v, i32 %w, i32 %n)\n  ret i32 %r\n}}\n\
         define i32 @middle(i32 %n) noinline {{\n  %m = mul i32 %n, 77\n  %u = call i32 @framed(i32 %n)\n  %s = xor i32 %u, %m\n\
         \x20 %r = tail call i32 @last(i32 %s, i32 1, i32 %m)\n  ret i32 %r\n}}\n{}",
        kernel("  %m = call i32 @middle(i32 %n)\n  %r = add i32 %m, %n\n")
    );
    check(&text, &lengths(100_000), |n| {
        let last = |a: u32, b: u32, c: u32| a.wrapping_mul(b).wrapping_add(c);
        let m = n.wrapping_mul(77);
        let framed = last(last(n, 3, 4), n, n);
        last(framed ^ m, 1, m).wrapping_add(n)
    });
}

/// A result in memory goes where the first caller wants it.
#[test]
fn results_too_large_for_registers_pass_through() {
    let text = format!(
        "{HEADER}define [40 x i32] @make(i32 %n) noinline {{\n  %a = insertvalue [40 x i32] zeroinitializer, i32 %n, 3\n\
         \x20 %b = insertvalue [40 x i32] %a, i32 99, 39\n  ret [40 x i32] %b\n}}\n\
         define [40 x i32] @down(i32 %n) noinline {{\n  %c = icmp ugt i32 %n, 50\n  br i1 %c, label %more, label %done\n\
         more:\n  %m = sub i32 %n, 7\n  %r = musttail call [40 x i32] @down(i32 %m)\n  ret [40 x i32] %r\n\
         done:\n  %s = musttail call [40 x i32] @make(i32 %n)\n  ret [40 x i32] %s\n}}\n{}",
        kernel(
            "  %x = call [40 x i32] @down(i32 %n)\n  %y = extractvalue [40 x i32] %x, 3\n  %z = extractvalue [40 x i32] %x, 39\n\
             \x20 %r = add i32 %y, %z\n"
        )
    );
    check(&text, &lengths(9000), |n| {
        let rest = if n > 50 { n - 7 * (n - 50).div_ceil(7) } else { n };
        rest + 99
    });
}

#[test]
fn chains_hand_variable_arguments_on() {
    let text = format!(
        "{HEADER}declare void @llvm.va_start.p5(ptr addrspace(5))\ndeclare void @llvm.va_end.p5(ptr addrspace(5))\n\
         define i32 @sum(i32 %n, ...) noinline {{\n  %list = alloca ptr, addrspace(5)\n  call void @llvm.va_start.p5(ptr addrspace(5) %list)\n\
         \x20 %a = va_arg ptr addrspace(5) %list, i32\n  %b = va_arg ptr addrspace(5) %list, i32\n  call void @llvm.va_end.p5(ptr addrspace(5) %list)\n\
         \x20 %s = add i32 %a, %b\n  %r = add i32 %s, %n\n  ret i32 %r\n}}\n\
         define i32 @on(i32 %n, ...) noinline {{\n  %m = mul i32 %n, 3\n  %r = musttail call i32 (i32, ...) @sum(i32 %m, ...)\n  ret i32 %r\n}}\n{}",
        kernel("  %r = call i32 (i32, ...) @on(i32 %n, i32 5, i32 %n)\n")
    );
    let expected = |n: u32| n.wrapping_mul(4).wrapping_add(5);
    check_on(&["gfx803", "gfx900"], &text, &lengths(100_000), expected);
}

/// What is in the way of a jump is told for `musttail`; a `tail` call stays a call.
#[test]
fn what_cannot_be_a_jump_is_refused_or_called() {
    let compile = |text: &str| {
        let options = gcnc::CompileOptions {
            cpu: "gfx900".to_owned(),
            file_type: gcnc::FileType::Asm,
            verify: true,
            opt_level: 2,
            ..gcnc::CompileOptions::default()
        };
        gcnc::compile(text.as_bytes(), "test", &options)
            .map(|output| String::from_utf8_lossy(&output.bytes).into_owned())
    };
    let preserved = "declare amdgpu_gfx void @g(i32 inreg)\n\
         define amdgpu_gfx void @f(i32 inreg %n) {\n  %m = add i32 %n, 1\n  musttail call amdgpu_gfx void @g(i32 inreg %m)\n  ret void\n}\n";
    let errors = compile(&format!("{HEADER}{preserved}")).expect_err("musttail is refused");
    let message = "musttail call with arguments in registers that the function preserves";
    assert!(errors.iter().any(|e| e.to_string().contains(message)), "{errors:?}");
    let larger = "declare void @g([40 x i32])\n\
         define void @f(i32 %n) {\n  tail call void @g([40 x i32] zeroinitializer)\n  ret void\n}\n";
    for text in [&preserved.replace("musttail", "tail"), larger] {
        let plain = compile(&format!("{HEADER}{text}")).expect("a plain call will do");
        assert!(plain.contains("s_swappc_b64"), "{plain}");
    }
    // One marked neither way may look at the caller's stack objects.
    let plain = compile(&format!(
        "{HEADER}declare void @g()\ndefine void @f() {{\n  call void @g()\n  ret void\n}}\n"
    ));
    assert!(plain.expect("compiles").contains("s_swappc_b64"));
}
