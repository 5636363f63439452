//! Compile time grows with the size of a function, not faster.
//!
//! Generated kernels of n and 10 n instructions, in one block, in many, in deep nests and wide switches, go
//! through the parser and all steps. A step that is quadratic somewhere makes the larger one a hundred times
//! as slow; what is accepted is 40 times, which leaves room for caches (without load it is 13 to 17) and for
//! a busy machine.

use gcnc::{CompileOptions, FileType};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Most times that ten times the code may take.
const LIMIT: f64 = 25.0;
/// The same for nests. The masks of all loops around are alive in the innermost one, so live ranges alone
/// grow with the square of the depth, a hundred times; what was cubic took a thousand.
const NEST_LIMIT: f64 = 150.0;

fn kernel(body: &str) -> String {
    format!("define kernel void @f(v0: ptr addrspace(1), v1: i32) {{\n{body}}}\n")
}

/// One block: arithmetic on the last few values, a load and a store now and then.
fn one_block(insts: usize) -> String {
    let mut body = String::from(
        "block0:\n  v2: i32 = intrinsic amdgcn.workitem.id.x()\n  v3: i32 = mul v2, i32 77\n  \
         v4: ptr addrspace(1) = ptradd v0, v2 * 4 + 0\n  v5: i32 = add v3, v1\n",
    );
    // The values that are left to compute with.
    let mut last = [2, 3, 5];
    for value in 6..insts + 6 {
        let [a, b, c] = last;
        let _ = match value % 16 {
            0 => writeln!(body, "  store v4, v{c} addrspace(1) align 4\n  v{value}: i32 = add v{a}, v{b}"),
            1 => writeln!(body, "  v{value}: i32 = load v4 addrspace(1) align 4"),
            2 => writeln!(body, "  v{value}: i32 = mul v{b}, v{c}"),
            3 | 9 => writeln!(body, "  v{value}: i32 = xor v{c}, i32 {value}"),
            4 => writeln!(body, "  v{value}: i32 = shl v{c}, i32 3"),
            5 => writeln!(body, "  v{value}: i32 = and v{c}, v{a}"),
            6 => writeln!(body, "  v{value}: i32 = sub v{b}, v{c}"),
            _ => writeln!(body, "  v{value}: i32 = add v{c}, v{a}"),
        };
        last = [b, c, value];
    }
    let _ = writeln!(body, "  store v4, v{} addrspace(1) align 4\n  ret", last[2]);
    kernel(&body)
}

/// Many blocks: branches with two arms that store, every other one divergent, in loops of eight.
fn many_blocks(blocks: usize) -> String {
    let mut body = String::from(
        "block0:\n  v2: i32 = intrinsic amdgcn.workitem.id.x()\n  \
         v3: ptr addrspace(1) = ptradd v0, v2 * 4 + 0\n  jump block1(v2)\n",
    );
    let (mut value, mut block) = (4, 1);
    for diamond in 0..blocks / 4 {
        let (x, y, c, join) = (value, value + 1, value + 2, value + 3);
        let (head, left, right, end) = (block, block + 1, block + 2, block + 3);
        let tested = if diamond % 2 == 0 { x } else { 1 };
        let _ = writeln!(
            body,
            "block{head}(v{x}: i32):\n  v{y}: i32 = add v{x}, i32 {diamond}\n  \
             v{c}: i1 = icmp ult v{tested}, i32 {diamond}\n  br v{c}, block{left}, block{right}\n\
             block{left}:\n  store v3, v{y} addrspace(1) align 4\n  jump block{end}(v{x})\n\
             block{right}:\n  store v3, v{x} addrspace(1) align 4\n  jump block{end}(v{y})"
        );
        value += 4;
        block += 4;
        let _ = writeln!(body, "block{end}(v{join}: i32):");
        let _ = if diamond % 8 == 7 {
            let first = end - 31;
            value += 1;
            let again = value - 1;
            writeln!(
                body,
                "  v{again}: i1 = icmp ugt v{join}, v1\n  br v{again}, block{first}(v{join}), block{block}(v{join})"
            )
        } else {
            writeln!(body, "  jump block{block}(v{join})")
        };
    }
    let _ = writeln!(body, "block{block}(v{value}: i32):\n  store v3, v{value} addrspace(1) align 4\n  ret");
    kernel(&body)
}

fn compile_time(text: &str) -> Duration {
    let options = CompileOptions {
        cpu: "gfx900".into(),
        file_type: FileType::Obj,
        opt_level: 2,
        threads: 1,
        ..Default::default()
    };
    let start = Instant::now();
    if text.starts_with("target") {
        gcnc::compile(text.as_bytes(), "scaling", &options).unwrap_or_else(|errors| panic!("{}", errors[0]));
    } else {
        let mut module = mir::ir::parse_module(text, "scaling").unwrap_or_else(|error| panic!("{error}"));
        module.triple = "amdgcn-amd-amdhsa".into();
        gcnc::compile_module(module, &options).unwrap_or_else(|errors| panic!("{}", errors[0]));
    }
    start.elapsed()
}

/// How many times longer `large` takes than `small`, by the best of a few interleaved runs.
fn ratio(small: &str, large: &str) -> f64 {
    let mut best = [Duration::MAX; 2];
    for _ in 0..3 {
        best[0] = best[0].min(compile_time(small));
        best[1] = best[1].min(compile_time(large));
        // Clear enough.
        if best[1] < best[0] * 20 {
            break;
        }
    }
    eprintln!("{:?} and {:?}", best[0], best[1]);
    best[1].as_secs_f64() / best[0].as_secs_f64()
}

/// What is nested in [`nest`].
#[derive(Clone, Copy, Debug)]
enum Nest {
    /// Conditions at the top, as in `for`.
    Loops,
    /// Conditions at the bottom; `leaves`: the innermost one is also left for the end of the function.
    Latches {
        leaves: bool,
    },
    Ifs,
}

/// A nest of `depth` divergent loops or conditions.
fn nest(depth: usize, shape: Nest) -> String {
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n\
         define amdgpu_kernel void @f(ptr addrspace(1) %out) {\nentry:\n  %id = call i32 @llvm.amdgcn.workitem.id.x()\n  \
         %o = getelementptr i32, ptr addrspace(1) %out, i32 %id\n  br label %h0\n",
    );
    let last = depth - 1;
    for i in 0..depth {
        let above = if i == 0 { "entry".to_owned() } else { format!("h{}", i - 1) };
        let inside = if i == last { "inner".to_owned() } else { format!("h{}", i + 1) };
        let _ = writeln!(text, "h{i}:");
        if !matches!(shape, Nest::Ifs) {
            let _ = writeln!(text, "  %i{i} = phi i32 [ 0, %{above} ], [ %n{i}, %l{i} ]");
        }
        let counter = if matches!(shape, Nest::Ifs) { "%id".to_owned() } else { format!("%i{i}") };
        let _ = match shape {
            Nest::Latches { .. } => writeln!(text, "  br label %{inside}"),
            _ => writeln!(
                text,
                "  %s{i} = xor i32 %id, {i}\n  %c{i} = icmp ult i32 {counter}, %s{i}\n  br i1 %c{i}, label %{inside}, label %x{i}"
            ),
        };
    }
    let next = match shape {
        Nest::Ifs => format!("x{last}"),
        _ => format!("l{last}"),
    };
    let _ = writeln!(text, "inner:\n  %q = atomicrmw add ptr addrspace(1) %o, i32 1 monotonic");
    let _ = match shape {
        Nest::Latches { leaves: true } => {
            writeln!(text, "  %e = icmp eq i32 %q, 77\n  br i1 %e, label %exit, label %{next}")
        }
        _ => writeln!(text, "  br label %{next}"),
    };
    for i in (0..depth).rev() {
        let around = |prefix: &str| if i == 0 { "exit".to_owned() } else { format!("{prefix}{}", i - 1) };
        let _ = match shape {
            Nest::Ifs => {
                writeln!(text, "x{i}:\n  store i32 {i}, ptr addrspace(1) %o\n  br label %{}", around("x"))
            }
            Nest::Loops => {
                writeln!(
                    text,
                    "l{i}:\n  %n{i} = add i32 %i{i}, 1\n  br label %h{i}\nx{i}:\n  br label %{}",
                    around("l")
                )
            }
            Nest::Latches { .. } => writeln!(
                text,
                "l{i}:\n  %n{i} = add i32 %i{i}, 1\n  %s{i} = xor i32 %id, {i}\n  %c{i} = icmp ult i32 %n{i}, %s{i}\n  \
                 br i1 %c{i}, label %h{i}, label %{}",
                around("l")
            ),
        };
    }
    text.push_str("exit:\n  ret void\n}\n");
    text
}

/// A switch with `cases` divergent cases, some of which fall through.
fn switch(cases: usize) -> String {
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n\
         define amdgpu_kernel void @f(ptr addrspace(1) %out) {\n  %id = call i32 @llvm.amdgcn.workitem.id.x()\n  \
         %o = getelementptr i32, ptr addrspace(1) %out, i32 %id\n  switch i32 %id, label %exit [\n",
    );
    for i in 0..cases {
        let _ = writeln!(text, "    i32 {i}, label %c{i}");
    }
    text.push_str("  ]\n");
    for i in 0..cases {
        let next = if i % 3 == 0 && i + 1 < cases { format!("c{}", i + 1) } else { "exit".to_owned() };
        let _ = writeln!(
            text,
            "c{i}:\n  %r{i} = atomicrmw xor ptr addrspace(1) %o, i32 {} monotonic\n  br label %{next}",
            7 * i
        );
    }
    text.push_str("exit:\n  ret void\n}\n");
    text
}

// One test, so that no two run at the same time.
#[test]
fn ten_times_the_code_takes_about_ten_times_as_long() {
    let blocks = ratio(&one_block(10_000), &one_block(100_000));
    assert!(blocks < LIMIT, "in one block ten times the instructions take {blocks:.0} times as long");
    let graph = ratio(&many_blocks(2_000), &many_blocks(20_000));
    assert!(graph < LIMIT, "ten times the blocks take {graph:.0} times as long");
    for shape in [Nest::Loops, Nest::Latches { leaves: false }, Nest::Latches { leaves: true }, Nest::Ifs] {
        let deep = ratio(&nest(100, shape), &nest(1000, shape));
        assert!(deep < NEST_LIMIT, "{shape:?} nested ten times as deeply take {deep:.0} times as long");
    }
    let cases = ratio(&switch(200), &switch(2000));
    assert!(cases < LIMIT, "ten times the cases take {cases:.0} times as long");
}
