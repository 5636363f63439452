//! Compile time grows with the size of a function, not faster.
//!
//! Generated kernels of n and 10 n instructions, in one block and in many, go through the parser and all steps. A step that is quadratic
//! somewhere makes the larger one a hundred times as slow; what is accepted is 40 times, which leaves room for caches
//! (without load it is 13 to 17) and for a busy machine.

use gcnc::{CompileOptions, FileType};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Most times that ten times the code may take.
const LIMIT: f64 = 40.0;

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
        let _ = write!(body, "block{end}(v{join}: i32):\n");
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
    let mut module = mir::ir::parse_module(text, "scaling").unwrap_or_else(|error| panic!("{error}"));
    module.triple = "amdgcn-amd-amdhsa".into();
    gcnc::compile_module(module, &options).unwrap_or_else(|errors| panic!("{}", errors[0]));
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

// One test, so that the two do not run at the same time.
#[test]
fn ten_times_the_code_takes_about_ten_times_as_long() {
    let blocks = ratio(&one_block(10_000), &one_block(100_000));
    assert!(blocks < LIMIT, "in one block ten times the instructions take {blocks:.0} times as long");
    let graph = ratio(&many_blocks(2_000), &many_blocks(20_000));
    assert!(graph < LIMIT, "ten times the blocks take {graph:.0} times as long");
}
