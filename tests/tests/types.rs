//! Types and vector intrinsics that OpenCL C does not write, as LLVM IR: what gcnc and `llc` make of a kernel
//! must leave the same memory.
//!
//! Every kernel has two buffers of 512 bytes a lane, `out` and `in`; `%o` and `%p` point to the lane's part.

use gcnc_tests::{random, toolchain};
use sim::{Arg, CodeObject, Config, Dispatch, Memory};
use std::collections::BTreeSet;
use std::fmt::Write;

const LANES: usize = 64;
const BYTES: usize = 512;

/// A module of kernels that the two compilers are asked for.
#[derive(Default)]
struct Table {
    text: String,
    declarations: BTreeSet<String>,
    names: Vec<String>,
}

impl Table {
    fn kernel(&mut self, body: &str) {
        let name = format!("k{}", self.names.len());
        let _ = writeln!(
            self.text,
            "define amdgpu_kernel void @{name}(ptr addrspace(1) %out, ptr addrspace(1) %in) {{
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %off = mul i32 %id, {BYTES}
  %o = getelementptr i8, ptr addrspace(1) %out, i32 %off
  %p = getelementptr i8, ptr addrspace(1) %in, i32 %off
  %p1 = getelementptr i8, ptr addrspace(1) %p, i32 64
  %p2 = getelementptr i8, ptr addrspace(1) %p, i32 128
  %q = getelementptr i8, ptr addrspace(1) %in, i32 96
  %m8 = load i8, ptr addrspace(1) %p2
  %m4 = trunc i8 %m8 to i4
  %m = bitcast i4 %m4 to <4 x i1>
  %n = load i32, ptr addrspace(1) %p2
  %n7 = and i32 %n, 7
  %u = load i32, ptr addrspace(1) %q
{body}
  ret void
}}"
        );
        self.names.push(name);
    }

    /// A kernel that stores `%r` of type `ret`, computed from `%a` and `%b`.
    fn value(&mut self, [a, b, ret]: [&str; 3], body: &str) {
        self.kernel(&format!(
            "  %a = load {a}, ptr addrspace(1) %p\n  %b = load {b}, ptr addrspace(1) %p1\n{body}\n  store {ret} %r, ptr addrspace(1) %o"
        ));
    }

    /// `@llvm.{name}` called with `args`, types and values apart.
    fn call(&mut self, ret: &str, name: &str, args: &[(&str, &str)]) -> String {
        let kinds: Vec<&str> = args.iter().map(|(ty, _)| *ty).collect();
        self.declarations.insert(format!("declare {ret} @llvm.{name}({})", kinds.join(", ")));
        let values: Vec<String> = args.iter().map(|(ty, value)| format!("{ty} {value}")).collect();
        format!("call {ret} @llvm.{name}({})", values.join(", "))
    }

    fn module(&self) -> String {
        let mut text = self.text.clone();
        text.push_str("declare i32 @llvm.amdgcn.workitem.id.x()\n");
        for declaration in &self.declarations {
            let _ = writeln!(text, "{declaration}");
        }
        text
    }
}

const V: &str = "<4 x i32>";
const M: (&str, &str) = ("<4 x i1>", "%m");

/// Vector-predicated operations, masked memory accesses, rearrangements.
fn vectors() -> Table {
    let mut t = Table::default();
    for op in ["add", "mul", "and", "or", "xor", "smax", "smin", "umax", "umin"] {
        let args = [("i32", "%u"), (V, "%a"), M, ("i32", "%n7")];
        let call = t.call("i32", &format!("vp.reduce.{op}.v4i32"), &args);
        t.value([V, V, "i32"], &format!("  %r = {call}"));
    }
    for op in ["add", "mul", "udiv", "lshr", "smin"] {
        let call = t.call(V, &format!("vp.{op}.v4i32"), &[(V, "%a"), (V, "%c"), M, ("i32", "%n7")]);
        let merge = t.call(V, "vp.merge.v4i32", &[M, (V, "%x"), (V, "%b"), ("i32", "%n7")]);
        let body = format!(
            "  %b1 = and {V} %b, splat (i32 31)\n  %c = or {V} %b1, splat (i32 1)\n  %x = {call}\n  %r = {merge}"
        );
        t.value([V, V, V], &body);
    }
    let load = t.call(V, "vp.load.v4i32.p1", &[("ptr addrspace(1)", "align 4 %p1"), M, ("i32", "%n7")]);
    let merge = t.call(V, "vp.merge.v4i32", &[M, (V, "%x"), (V, "%a"), ("i32", "%n7")]);
    t.value([V, V, V], &format!("  %x = {load}\n  %r = {merge}"));
    for (element, suffix) in [("i8", "i8"), ("i32", "i32"), ("i64", "i64"), ("i128", "i128")] {
        let vector = format!("<4 x {element}>");
        let v = vector.as_str();
        let call = t.call(
            v,
            &format!("masked.load.v4{suffix}.p1"),
            &[("ptr addrspace(1)", "align 1 %p1"), M, (v, "%a")],
        );
        t.value([v, v, v], &format!("  %r = {call}"));
        let store = t.call(
            "void",
            &format!("masked.store.v4{suffix}.p1"),
            &[(v, "%a"), ("ptr addrspace(1)", "align 1 %o"), M],
        );
        t.kernel(&format!("  %a = load {v}, ptr addrspace(1) %p\n  {store}"));
        let pointers = ("<4 x ptr addrspace(1)>", "align 1 %g");
        let gather = t.call(v, &format!("masked.gather.v4{suffix}.v4p1"), &[pointers, M, (v, "%a")]);
        t.value(
            [v, v, v],
            &format!(
                "  %i8 = load <4 x i8>, ptr addrspace(1) %p2\n  %i = zext <4 x i8> %i8 to <4 x i32>\n  %g = getelementptr i8, ptr addrspace(1) %in, <4 x i32> %i\n  %r = {gather}"
            ),
        );
        let scatter = t.call("void", &format!("masked.scatter.v4{suffix}.v4p1"), &[(v, "%a"), pointers, M]);
        t.kernel(&format!(
            "  %a = load {v}, ptr addrspace(1) %p\n  %g = getelementptr i8, ptr addrspace(1) %o, <4 x i32> <i32 16, i32 64, i32 0, i32 37>\n  {scatter}"
        ));
    }
    for place in ["1", "-3"] {
        let call = t.call(V, "vector.splice.v4i32", &[(V, "%a"), (V, "%b"), ("i32", place)]);
        t.value([V, V, V], &format!("  %r = {call}"));
    }
    let reverse = t.call(V, "vector.reverse.v4i32", &[(V, "%a")]);
    t.value([V, V, V], &format!("  %r = {reverse}"));
    let two = "<2 x i32>";
    let insert = t.call(V, "vector.insert.v4i32.v2i32", &[(V, "%a"), (two, "%b"), ("i64", "2")]);
    t.value([V, two, V], &format!("  %r = {insert}"));
    let extract = t.call(two, "vector.extract.v2i32.v4i32", &[(V, "%a"), ("i64", "2")]);
    t.value([V, V, two], &format!("  %r = {extract}"));
    let eight = "<8 x i32>";
    let interleave = t.call(eight, "vector.interleave2.v8i32", &[(V, "%a"), (V, "%b")]);
    t.value([V, V, eight], &format!("  %r = {interleave}"));
    let pair = "{ <2 x i32>, <2 x i32> }";
    let split = t.call(pair, "vector.deinterleave2.v4i32", &[(V, "%a")]);
    t.value([V, V, two], &format!("  %x = {split}\n  %r = extractvalue {pair} %x, 1"));
    for ty in ["i8", "i32", "i64"] {
        for end in ["%b", "%e"] {
            let call =
                t.call("<5 x i1>", &format!("get.active.lane.mask.v5i1.{ty}"), &[(ty, "%a"), (ty, end)]);
            t.value(
                [ty, ty, "<5 x i32>"],
                &format!(
                    "  %few = and {ty} %b, 7\n  %e = add {ty} %a, %few\n  %x = {call}\n  %r = sext <5 x i1> %x to <5 x i32>"
                ),
            );
        }
    }
    let sixteen = "<16 x i32>";
    let partial = t.call(V, "vector.partial.reduce.add.v4i32.v16i32", &[(V, "%a"), (sixteen, "%b")]);
    t.value([V, sixteen, V], &format!("  %r = {partial}"));
    let compress = t.call(V, "experimental.vector.compress.v4i32", &[(V, "%a"), M, (V, "%b")]);
    t.value([V, V, V], &format!("  %r = {compress}"));
    let first = t.call("i32", "experimental.cttz.elts.i32.v4i1", &[M, ("i1", "false")]);
    t.value([V, V, "i32"], &format!("  %r = {first}"));
    for ty in ["i16", "i32", "i64"] {
        let call = t.call(ty, &format!("clmul.{ty}"), &[(ty, "%a"), (ty, "%b")]);
        t.value([ty, ty, ty], &format!("  %r = {call}"));
    }
    t
}

/// Conversions of wide integers, values of odd sizes in memory, elements at variable places.
fn shapes() -> Table {
    let mut t = Table::default();
    for float in ["float", "double", "half"] {
        for op in ["sitofp", "uitofp"] {
            t.value(
                ["i128", "i128", float],
                &format!(
                    "  %few = and i128 %b, 127\n  %x = lshr i128 %a, %few\n  %r = {op} i128 %x to {float}"
                ),
            );
        }
    }
    for (float, suffix) in [("float", "f32"), ("double", "f64")] {
        let magnitude = t.call(float, &format!("fabs.{suffix}"), &[(float, "%a")]);
        for (op, from) in [("fptosi", "%a"), ("fptoui", "%x")] {
            t.value(
                [float, float, "i128"],
                &format!(
                    "  %x = {magnitude}\n  %fits = fcmp olt {float} %x, 0x47c0000000000000\n  %y = select i1 %fits, {float} {from}, {float} 1.0\n  %r = {op} {float} %y to i128"
                ),
            );
        }
    }
    let magnitude = t.call("half", "fabs.f16", &[("half", "%a")]);
    for to in ["i40", "i64", "i128", "i200"] {
        for (op, from) in [("fptosi", "%a"), ("fptoui", "%x")] {
            t.value(
                ["half", "half", to],
                &format!(
                    "  %x = {magnitude}\n  %fits = fcmp olt half %x, 0xH7C00\n  %y = select i1 %fits, half {from}, half 1.0\n  %r = {op} half %y to {to}"
                ),
            );
        }
    }
    let types = [
        "i24",
        "i48",
        "i96",
        "i200",
        "<3 x i8>",
        "<17 x i16>",
        "<3 x i24>",
        "<3 x i64>",
        "<2 x i128>",
        "<3 x half>",
        "<3 x ptr addrspace(3)>",
        "<2 x ptr>",
        "{ i8, i32, [3 x i16] }",
        "<{ i8, i32, [3 x i16] }>",
        "[3 x <3 x i8>]",
    ];
    for ty in types {
        t.kernel(&format!("  %a = load {ty}, ptr addrspace(1) %p\n  store {ty} %a, ptr addrspace(1) %o"));
        t.kernel(&format!(
            "  %p9 = getelementptr i8, ptr addrspace(1) %p, i32 1\n  %o9 = getelementptr i8, ptr addrspace(1) %o, i32 3\n  %a = load {ty}, ptr addrspace(1) %p9, align 1\n  store {ty} %a, ptr addrspace(1) %o9, align 1"
        ));
    }
    for (bits, stored) in [(3, 8), (7, 8), (17, 24), (33, 40), (65, 72), (129, 136)] {
        t.kernel(&format!(
            "  %w = load i{stored}, ptr addrspace(1) %p\n  %a = trunc i{stored} %w to i{bits}\n  store i{bits} %a, ptr addrspace(1) %o\n  %s = sext i{bits} %a to i256\n  %o2 = getelementptr i8, ptr addrspace(1) %o, i32 64\n  store i256 %s, ptr addrspace(1) %o2"
        ));
    }
    for (lanes, bits) in [(5, 1), (33, 1), (5, 7), (3, 33), (2, 65)] {
        let all = lanes * bits;
        let stored = (all + 7) / 8 * 8;
        t.kernel(&format!(
            "  %w = load i{stored}, ptr addrspace(1) %p\n  %t = trunc i{stored} %w to i{all}\n  %a = bitcast i{all} %t to <{lanes} x i{bits}>\n  store <{lanes} x i{bits}> %a, ptr addrspace(1) %o"
        ));
    }
    for (element, lanes) in [
        ("i8", 5),
        ("i8", 16),
        ("i16", 3),
        ("i16", 17),
        ("i32", 3),
        ("i32", 8),
        ("i64", 5),
        ("i128", 3),
        ("i1", 8),
        ("half", 9),
        ("ptr addrspace(3)", 4),
    ] {
        let vector = format!("<{lanes} x {element}>");
        for index in ["%n", "%u"] {
            t.kernel(&format!(
                "  %i = urem i32 {index}, {lanes}\n  %a = load {vector}, ptr addrspace(1) %p\n  %r = extractelement {vector} %a, i32 %i\n  store {element} %r, ptr addrspace(1) %o"
            ));
            t.kernel(&format!(
                "  %i = urem i32 {index}, {lanes}\n  %a = load {vector}, ptr addrspace(1) %p\n  %e = load {element}, ptr addrspace(1) %p1\n  %r = insertelement {vector} %a, {element} %e, i32 %i\n  store {vector} %r, ptr addrspace(1) %o"
            ));
        }
    }
    // An element without a value leaves its neighbour in the dword alone.
    for (element, bits) in [("i16", 16), ("half", 16), ("i8", 8)] {
        let vector = format!("<2 x {element}>");
        t.kernel(&format!(
            "  %a = load {vector}, ptr addrspace(1) %p\n  %s = shufflevector {vector} %a, {vector} poison, <2 x i32> <i32 poison, i32 0>\n  store volatile {vector} %s, ptr addrspace(1) %o\n  store volatile i{bits} 7, ptr addrspace(1) %o"
        ));
    }
    let product = t.call("i64", "amdgcn.mul.u24.i64", &[("i32", "%n"), ("i32", "%u")]);
    t.value(["i32", "i32", "i64"], &format!("  %r = {product}"));
    let table: Vec<String> = (0..32).map(|i| format!("i32 {}", i * i + 1000)).collect();
    t.kernel(&format!(
        "  %i = urem i32 %n, 32\n  %r = extractelement <32 x i32> <{}>, i32 %i\n  store i32 %r, ptr addrspace(1) %o",
        table.join(", ")
    ));
    t.value(
        ["i128", "i128", "i32"],
        "  %x = and i128 %a, 18446744073709551617\n  switch i128 %x, label %other [\n    i128 1, label %one\n    i128 18446744073709551616, label %two\n  ]\none:\n  br label %join\ntwo:\n  br label %join\nother:\n  br label %join\njoin:\n  %r = phi i32 [ 1, %one ], [ 2, %two ], [ 3, %other ]",
    );
    t
}

/// One of `values` as an operand called `name`: as it is, or with its halves moved about, another sign, another half.
fn pair_operand(
    rng: &mut fastrand::Rng,
    values: &[String],
    body: &mut String,
    name: String,
    float: bool,
) -> String {
    let value = &values[rng.usize(0..values.len())];
    let other = &values[rng.usize(0..values.len())];
    let (vector, constant) = if float { ("<2 x half>", "half 0.5") } else { ("<2 x i16>", "i16 3") };
    let lane = rng.u32(0..2);
    let definition = match rng.u32(0..9) {
        0 => format!("shufflevector {vector} {value}, {vector} poison, <2 x i32> <i32 1, i32 0>"),
        1 => format!("shufflevector {vector} {value}, {vector} poison, <2 x i32> <i32 {lane}, i32 {lane}>"),
        2 | 3 => {
            let from = rng.u32(0..4);
            format!("shufflevector {vector} {value}, {vector} {other}, <2 x i32> <i32 {lane}, i32 {from}>")
        }
        4 => format!("insertelement {vector} {value}, {constant}, i32 {lane}"),
        5 | 6 if float => format!("fneg {vector} {value}"),
        _ => return value.clone(),
    };
    let _ = writeln!(body, "  {name} = {definition}");
    name
}

/// Random trees of operations on pairs of 16 bits, with signs, halves moved about, single halves and constants among the operands.
/// Floating-point values stay small, so that no choice between NaNs decides.
fn pairs() -> Table {
    let mut t = Table::default();
    let mut rng = fastrand::Rng::with_seed(16);
    for round in 0..200 {
        let float = round % 2 == 0;
        let vector = if float { "<2 x half>" } else { "<2 x i16>" };
        let mut body = String::new();
        let mut values: Vec<String> = ["%a", "%b"].map(str::to_owned).to_vec();
        if float {
            for (n, value) in values.iter_mut().enumerate() {
                let _ = writeln!(body, "  %t{n} = and <2 x i16> {value}, splat (i16 7)");
                let _ = writeln!(body, "  %u{n} = sub <2 x i16> %t{n}, splat (i16 3)");
                let _ = writeln!(body, "  %f{n} = sitofp <2 x i16> %u{n} to <2 x half>");
                let _ = writeln!(body, "  %x{n} = fmul <2 x half> %f{n}, splat (half 0.25)");
                *value = format!("%x{n}");
            }
        }
        let operations: &[&str] = match (float, rng.bool()) {
            (true, true) => &["fadd", "fmul", "fsub", "fma", "minnum", "maxnum"],
            (true, false) => &["fadd contract", "fmul contract", "fsub contract"],
            (false, _) => &["add", "sub", "mul", "xor", "smin", "umax", "shl", "lshr", "ashr"],
        };
        // Few that may be contracted, whose results are exact either way.
        let most = if operations[0].ends_with("contract") { 3 } else { 5 };
        for n in 0..rng.usize(1..=most) {
            let [x, mut y, z] = [0, 1, 2]
                .map(|place| pair_operand(&mut rng, &values, &mut body, format!("%o{n}.{place}"), float));
            let operation = operations[rng.usize(0..operations.len())];
            if matches!(operation, "shl" | "lshr" | "ashr") {
                let _ = writeln!(body, "  %s{n} = and {vector} {y}, splat (i16 15)");
                y = format!("%s{n}");
            }
            let (kind, operands) =
                (vector, [(vector, x.as_str()), (vector, y.as_str()), (vector, z.as_str())]);
            let suffix = if float { "v2f16" } else { "v2i16" };
            let definition = match operation {
                "fma" => t.call(kind, &format!("fma.{suffix}"), &operands),
                "minnum" | "maxnum" | "smin" | "umax" => {
                    t.call(kind, &format!("{operation}.{suffix}"), &operands[..2])
                }
                _ => format!("{operation} {vector} {x}, {y}"),
            };
            let _ = writeln!(body, "  %v{n} = {definition}");
            values.push(format!("%v{n}"));
        }
        let last = values.last().cloned().unwrap_or_default();
        let _ = write!(body, "  %r = bitcast {vector} {last} to <2 x i16>");
        let loaded = "<2 x i16>";
        t.value([loaded, loaded, loaded], &body);
    }
    t
}

/// Random dwords, corner values among them.
fn input() -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(11);
    let corners = [0, 1, 3, 0x7f, 0x80, 0xffff_ffff, 0x8000_0000, 0x3f80_0000, 0xc2f0_0000, 0x5a00_0001];
    (0..LANES * BYTES / 4)
        .flat_map(|_| if rng.u32(0..3) == 0 { corners[rng.usize(0..10)] } else { rng.u32(..) }.to_le_bytes())
        .collect()
}

fn run(object: &CodeObject, kernel: &str) -> Result<Vec<u8>, String> {
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; LANES * BYTES]);
    let args = [out, memory.add_buffer("in", input())];
    let dispatch = Dispatch {
        kernel: kernel.to_owned(),
        grid: [LANES as u32, 1, 1],
        group: [64, 1, 1],
        args: args.map(Arg::Buffer).to_vec(),
        ..Dispatch::default()
    };
    sim::run(object, &mut memory, &dispatch, &Config::default()).map_err(|report| report.to_string())?;
    Ok(memory.bytes(out).to_vec())
}

fn agree(table: &Table, cpu: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = table.module();
    let (source, object) = (folder.path().join("t.ll"), folder.path().join("t.o"));
    std::fs::write(&source, &text).expect("writable folder");
    toolchain::llc(&source, &object, cpu, 2).expect("llc compiles the kernels");
    let load = |object| CodeObject::load(&toolchain::link(object).expect("links")).expect("loads");
    let theirs = load(&object);
    let mut failures = Vec::new();
    for level in [0, 2] {
        let options = gcnc::CompileOptions {
            cpu: cpu.to_owned(),
            opt_level: level,
            file_type: gcnc::FileType::Obj,
            code_object_version: Some(3),
            verify: true,
            threads: 1,
            ..Default::default()
        };
        let output = gcnc::compile(
            format!("target triple = \"amdgcn-amd-amdhsa\"\n{text}").as_bytes(),
            "types",
            &options,
        );
        let output = output.unwrap_or_else(|errors| panic!("{}", errors[0]));
        std::fs::write(&object, output.bytes).expect("writable folder");
        let ours = load(&object);
        for name in &table.names {
            match (run(&theirs, name), run(&ours, name)) {
                (Ok(expected), Ok(found)) => {
                    if let Some(at) = (0..found.len()).find(|&i| found[i] != expected[i]) {
                        let (lane, byte) = (at / BYTES, at % BYTES);
                        failures.push(format!("{name} at -O{level}: lane {lane}, byte {byte}"));
                    }
                }
                (Err(report), _) => failures.push(format!("{name}: llc's object: {report}")),
                (_, Err(report)) => failures.push(format!("{name} at -O{level}: {report}")),
            }
        }
    }
    assert!(failures.is_empty(), "{}\n{text}", failures.join("\n"));
}

/// Bytes of words in any order: shuffles with zeros and gaps, and trees of masks, shifts and `or` of one word or two.
fn bytes() -> Table {
    const B: &str = "<8 x i8>";
    let mut rng = fastrand::Rng::with_seed(1);
    let mut t = Table::default();
    for round in 0..48 {
        // Of one operand, of both, or of one and zero; orders near to the one that exists are the likeliest.
        let other = if round % 3 == 1 { "zeroinitializer" } else { "%b" };
        let lanes: Vec<String> = (0..8u32)
            .map(|i| match rng.u32(..8) {
                0 => "i32 poison".to_owned(),
                1..4 => format!("i32 {i}"),
                _ => format!("i32 {}", rng.u32(..if round % 3 == 0 { 8 } else { 16 })),
            })
            .collect();
        let lanes = lanes.join(", ");
        // What a byte without a value is may differ; only the others count.
        let kept: Vec<&str> =
            lanes.split(", ").map(|lane| if lane == "i32 poison" { "i8 0" } else { "i8 -1" }).collect();
        t.value(
            [B, B, B],
            &format!(
                "  %s = shufflevector {B} %a, {B} {other}, <8 x i32> <{lanes}>\n  %f = freeze {B} %s\n  %r = and {B} %f, <{}>",
                kept.join(", ")
            ),
        );
    }
    for _ in 0..96 {
        let mut body = String::new();
        let mut sum = "0".to_owned();
        for i in 0..rng.u32(2..6) {
            let word = if rng.u32(..4) == 0 { "%b" } else { "%a" };
            // Masks of whole bytes, but for some.
            let mask = rng.u32(..).to_le_bytes().map(|byte| if byte & 1 == 0 { 0 } else { 255 });
            let mask = u32::from_le_bytes(mask) ^ if rng.u32(..8) == 0 { 0x10 } else { 0 };
            let (first, second) = (8 * rng.u32(..4), 8 * rng.u32(..4) + u32::from(rng.u32(..8) == 0));
            let _ = writeln!(body, "  %x{i} = lshr i32 {word}, {first}");
            let _ = writeln!(body, "  %y{i} = and i32 %x{i}, {mask}");
            let _ = writeln!(body, "  %z{i} = shl i32 %y{i}, {second}");
            let _ = writeln!(body, "  %s{i} = or i32 {sum}, %z{i}");
            sum = format!("%s{i}");
        }
        let _ = writeln!(body, "  %r = add i32 {sum}, 0");
        t.value(["i32", "i32", "i32"], &body);
    }
    t
}

/// Digits of long products: lower and upper halves, with what is carried from digit to digit, found in each of the ways.
fn digits() -> Table {
    let mut t = Table::default();
    for (factor, of_carry, swap) in
        [("%b", true, false), ("%b", false, true), ("3680671129", true, true), ("-1", false, false)]
    {
        let mut body = String::from("  %wide = zext i32 %b to i64\n");
        let mut carry = "%u".to_owned();
        for i in 0..4 {
            let other = if factor == "%b" {
                "%wide".to_owned()
            } else {
                format!("{}", factor.parse::<i64>().unwrap_or(0) as u32)
            };
            let _ = writeln!(body, "  %d.{i} = extractelement {V} %a, i32 {i}");
            let _ = writeln!(body, "  %w.{i} = zext i32 %d.{i} to i64\n  %p.{i} = mul i64 %w.{i}, {other}");
            let _ = writeln!(body, "  %q.{i} = lshr i64 %p.{i}, 32\n  %h.{i} = trunc i64 %q.{i} to i32");
            let _ = writeln!(body, "  %l.{i} = mul i32 %d.{i}, {factor}\n  %s.{i} = add i32 %l.{i}, {carry}");
            let part = if of_carry { carry.clone() } else { format!("%l.{i}") };
            let compared =
                if swap { format!("ugt i32 {part}, %s.{i}") } else { format!("ult i32 %s.{i}, {part}") };
            let _ = writeln!(body, "  %o.{i} = icmp {compared}\n  %z.{i} = zext i1 %o.{i} to i32");
            let _ = writeln!(body, "  %c.{i} = add i32 %h.{i}, %z.{i}");
            let before = if i == 0 { "poison".to_owned() } else { format!("%r.{}", i - 1) };
            let _ = writeln!(body, "  %r.{i} = insertelement {V} {before}, i32 %s.{i}, i32 {i}");
            carry = format!("%c.{i}");
        }
        let _ = writeln!(body, "  %r = insertelement {V} %r.3, i32 {carry}, i32 0");
        t.value([V, "i32", V], &body);
    }
    t
}

#[test]
fn vector_intrinsics_agree_with_llc() {
    agree(&vectors(), "gfx900");
}

#[test]
fn odd_shapes_agree_with_llc() {
    agree(&shapes(), "gfx803");
}

#[test]
fn pairs_agree_with_llc() {
    agree(&pairs(), "gfx900");
}

#[test]
fn bytes_agree_with_llc() {
    agree(&bytes(), "gfx700");
    agree(&bytes(), "gfx900");
    agree(&bytes(), "gfx1030");
}

#[test]
fn digits_agree_with_llc() {
    agree(&digits(), "gfx600");
    agree(&digits(), "gfx900");
}

/// Programs over odd widths, vectors and aggregates give what was computed beside them.
#[test]
fn typed_programs_compute_what_they_must() {
    for (seed, cpu) in [
        (1, "gfx600"),
        (2, "gfx700"),
        (3, "gfx803"),
        (4, "gfx900"),
        (5, "gfx906"),
        (6, "gfx900"),
        (7, "gfx1010"),
        (8, "gfx1030"),
    ] {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let programs = random::typed_module(seed, 60);
        for level in [0, 2] {
            let compiler = gcnc_tests::measure::Compiler::Gcnc;
            let findings = random::check(&programs, scratch.path(), compiler, cpu, level, None)
                .unwrap_or_else(|message| panic!("seed {seed} for {cpu} at -O{level}: {message}"));
            if let Some(finding) = findings.first() {
                panic!("seed {seed} for {cpu} at -O{level}: {}\n{}", finding.problem, finding.text);
            }
        }
    }
}
