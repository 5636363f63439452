//! Small kernels, one operation each, as gcnc and as `llc` compiled them: the same inputs must leave the same
//! memory.
//!
//! Each kernel has three buffers: `out`, and the inputs `a` and `b` of random bits in which corner values are
//! frequent. Results of operations that need not be rounded correctly are compared within units in the last
//! place.

use gcnc_tests::{gpu, measure::Compiler, toolchain};
use sim::CodeObject;
use std::fmt::Write;
use std::path::Path;

/// How results are compared.
#[derive(Clone, Copy)]
enum Precision {
    /// All bits.
    Exact,
    /// `float`s within so many units in the last place.
    Ulps(u32),
}

const ITEMS: u32 = 128;
const BYTES: usize = 128 * 128;

/// Name, body and precision. `i` is the work-item; `out`, `a` and `b` point to the type.
struct Micro {
    name: String,
    ty: String,
    body: String,
    precision: Precision,
}

/// The table.
fn micros() -> Vec<Micro> {
    use Precision::{Exact, Ulps};
    let mut table = Vec::new();
    let mut add = |name: &str, ty: &str, body: &str, precision| {
        table.push(Micro { name: format!("k_{name}"), ty: ty.to_owned(), body: body.to_owned(), precision });
    };
    let integers = ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"];
    let binary = [
        ("add", "a[i] + b[i]"),
        ("sub", "a[i] - b[i]"),
        ("mul", "a[i] * b[i]"),
        ("div", "a[i] / (b[i] | 1)"),
        ("rem", "a[i] % (b[i] | 1)"),
        ("div7", "a[i] / (T)7 + a[i] / (T)-3"),
        ("rem10", "a[i] % (T)10"),
        ("shl", "a[i] << (b[i] & (T)(sizeof(T) * 8 - 1))"),
        ("shr", "a[i] >> (b[i] & (T)(sizeof(T) * 8 - 1))"),
        ("cmp", "(a[i] < b[i]) + 2 * (a[i] == b[i]) + 4 * (a[i] >= (T)5)"),
        ("select", "a[i] > b[i] ? a[i] : b[i + 1]"),
        ("mul_hi", "mul_hi(a[i], b[i])"),
        ("rotate", "rotate(a[i], b[i])"),
        ("clz", "clz(a[i])"),
        ("popcount", "popcount(a[i])"),
        ("add_sat", "add_sat(a[i], b[i])"),
        ("sub_sat", "sub_sat(a[i], b[i])"),
        ("abs_diff", "(T)abs_diff(a[i], b[i])"),
        ("hadd", "hadd(a[i], b[i])"),
        ("minmax", "min(a[i], b[i]) ^ max(a[i], b[i + 1])"),
    ];
    for ty in integers {
        for (name, expression) in binary {
            add(&format!("{ty}_{name}"), ty, &format!("out[i] = {expression};"), Exact);
        }
    }
    for ty in ["char3", "short2", "int4", "uchar8", "ushort16", "long2", "uint3"] {
        for (name, expression) in
            [("add", "a[i] + b[i]"), ("mul", "a[i] * b[i]"), ("cmp", "a[i] < b[i] ? a[i] : b[i]")]
        {
            // A vector comparison has the signed type; through select on unsigned ones that fails to type, so
            // min serves there.
            let expression = if name == "cmp" { "min(a[i], b[i])" } else { expression };
            add(&format!("{ty}_{name}"), ty, &format!("out[i] = {expression};"), Exact);
        }
    }
    for (name, expression) in [
        ("add", "a[i] + b[i]"),
        ("mul", "a[i] * b[i]"),
        ("fma", "fma(a[i], b[i], a[i + 1])"),
        ("fmin", "fmin(a[i], b[i])"),
        ("fmax", "fmax(a[i], b[i])"),
        ("floor", "floor(a[i])"),
        ("ceil", "ceil(a[i])"),
        ("rint", "rint(a[i])"),
        ("trunc", "trunc(a[i])"),
        ("cmp", "(a[i] < b[i]) + 2 * isunordered(a[i], b[i]) + 4 * (a[i] != b[i])"),
        ("fabs", "fabs(a[i]) - b[i]"),
        ("from_int", "convert_float(as_int((float)b[i]))"),
    ] {
        add(&format!("float_{name}"), "float", &format!("out[i] = {expression};"), Exact);
        add(
            &format!("double_{name}"),
            "double",
            &format!(
                "out[i] = {};",
                expression
                    .replace("as_int((float)b[i])", "as_long(b[i])")
                    .replace("convert_float", "convert_double")
            ),
            Exact,
        );
    }
    add("double_div", "double", "out[i] = a[i] / b[i];", Exact);
    for (name, expression, ulps) in [
        ("div", "a[i] / b[i]", 3),
        ("sqrt", "sqrt(fabs(a[i]))", 3),
        ("rsqrt", "rsqrt(fabs(a[i]))", 2),
        ("exp", "exp(a[i])", 4),
        ("log", "log(fabs(a[i]))", 4),
    ] {
        add(&format!("float_{name}"), "float", &format!("out[i] = {expression};"), Ulps(ulps));
    }
    for (name, to, from, suffix) in [
        ("i8", "char", "float", "_sat"),
        ("u8", "uchar", "float", "_sat"),
        ("i16", "short", "float", "_sat_rte"),
        ("i32", "int", "float", "_sat_rtz"),
        ("u32", "uint", "double", "_sat"),
        ("narrow", "char", "int", "_sat"),
        ("unsign", "ushort", "int", "_sat"),
        ("long", "int", "long", "_sat"),
        ("widen", "long", "short", ""),
    ] {
        let body = format!("((global {to}*)out)[i] = convert_{to}{suffix}(((global {from}*)a)[i]);");
        add(&format!("convert_{name}"), "int", &body, Exact);
    }
    let shapes = [
        ("mad24", "out[i] = mad24(a[i] << 8 >> 8, b[i] << 8 >> 8, a[i + 1]);"),
        (
            "private",
            "int p[16]; for (int k = 0; k < 16; k++) p[k] = a[k + i]; int s = 0; for (int k = 0; k < 8; k++) { s += p[b[k] & 15] * k; p[s & 15] ^= s; } out[i] = s;",
        ),
        (
            "structs",
            "struct S { char c; long l; short s[5]; }; struct S x, y; x.c = a[i]; x.l = b[i]; for (int k = 0; k < 5; k++) x.s[k] = a[i + k]; y = x; y.s[b[i] & 3] = 7; out[i] = y.c + (int)y.l + y.s[0] + y.s[1] + x.s[2] + y.s[3];",
        ),
        ("unaligned", "vstore3(vload3(i, (global char*)a + 1), i, (global char*)out + 2);"),
        ("unaligned4", "vstore4(vload4(i, (global short*)a + 1) + (short)3, i, (global short*)out + 1);"),
        (
            "switch",
            "int r = 0; switch (a[i] & 15) { case 0: r = b[i]; break; case 1: r = 3; case 2: r += 7; break; case 5: r = b[i] * 5; break; case 9: r = 1; break; case 14: r = i; break; default: r = -1; } out[i] = r;",
        ),
        (
            "loops",
            "int s = 0; for (int j = 0; j < (a[i] & 15); j++) { if ((j ^ b[i]) & 4) continue; for (int k = 0; k < (b[j] & 7); k++) { s = s * 31 + j * k; if ((s & 63) == 5) break; } if ((s & 255) == 17) break; } out[i] = s;",
        ),
        (
            "early",
            "if (a[i] & 1) return; int s = b[i]; for (int n = 0; n < 40 && (s & 0xff); n++) { if ((s & 0x70) == 0x30) return; s = (s >> 1) ^ (s & 3 ? 0x51 : 0); if (s == a[i]) break; } out[i] = s;",
        ),
        (
            "lds",
            "local int t[64]; local char c[64]; int l = get_local_id(0); for (int k = 0; k < 3; k++) { t[l] = a[i] + k; c[63 - l] = b[i]; barrier(CLK_LOCAL_MEM_FENCE); out[i] += t[(l * 7 + k) & 63] * c[l ^ k]; barrier(CLK_LOCAL_MEM_FENCE); }",
        ),
        (
            "ldslong",
            "local long t[64]; local short2 c[64]; int l = get_local_id(0); t[l] = a[i] * 3L; c[l] = as_short2(b[i]); barrier(CLK_LOCAL_MEM_FENCE); out[i] = (int)(t[l ^ 5] >> 1) + c[63 - l].x - c[l ^ 1].y;",
        ),
        ("temporal", "int k = 0; while ((a[i] >> k) & 1 && k < 31) k++; out[i] = k * 100 + (b[k] & 15);"),
    ];
    for (name, body) in shapes {
        add(name, "int", body, Exact);
    }
    for ty in ["int", "uint", "long", "ulong"] {
        for op in ["add", "sub", "and", "or", "xor", "min", "max"] {
            let call = if ty.ends_with("long") { format!("atom_{op}") } else { format!("atomic_{op}") };
            add(&format!("{ty}_atomic_{op}"), ty, &format!("{call}(&out[i & 7], a[i]);"), Exact);
        }
    }
    table
}

fn source(table: &[Micro]) -> String {
    let mut text = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n\
        #pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"
        .to_owned();
    for micro in table {
        let _ = writeln!(
            text,
            "#define T {ty}\nkernel void {name}(global T *out, global const T *a, global const T *b) {{ size_t i = get_global_id(0); {body} }}\n#undef T",
            ty = micro.ty,
            name = micro.name,
            body = micro.body
        );
    }
    text
}

/// Random dwords, every fourth a corner value or small.
fn input(rng: &mut fastrand::Rng) -> Vec<u8> {
    let corners = [
        0,
        1,
        2,
        7,
        31,
        0x7f,
        0x80,
        0xffff_ffff,
        0x8000_0000,
        0x7fff_ffff,
        0x3f80_0000,
        0xbfc0_0000,
        0x4120_0000,
        0x7f80_0000,
        0x7fc0_0000,
        0x4049_0fdb,
    ];
    (0..BYTES / 4)
        .flat_map(|_| {
            match rng.u32(0..4) {
                0 => *rng.choice(&corners).unwrap_or(&0),
                1 => (rng.f32() * 200.0 - 100.0).to_bits(),
                _ => rng.u32(..),
            }
            .to_le_bytes()
        })
        .collect()
}

fn run(object: &CodeObject, kernel: &str) -> Result<Vec<u8>, String> {
    let mut rng = fastrand::Rng::with_seed(7);
    let inputs = [input(&mut rng), input(&mut rng)];
    gpu::run_on_two(object, kernel, ITEMS, BYTES, inputs)
}

/// Whether two floats are as near as `ulps` units in the last place.
fn near(a: u32, b: u32, ulps: u32) -> bool {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let ordered = |bits: u32| if bits >> 31 == 0 { i64::from(bits) } else { -i64::from(bits & 0x7fff_ffff) };
    x.is_nan() && y.is_nan() || ordered(a).abs_diff(ordered(b)) <= u64::from(ulps)
}

/// The first difference; NaNs are alike whatever their bits where the type is floating.
fn difference(micro: &Micro, ours: &[u8], theirs: &[u8]) -> Option<String> {
    let dwords =
        |bytes: &[u8]| bytes.as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c)).collect::<Vec<_>>();
    let (ours, theirs) = (dwords(ours), dwords(theirs));
    let same = |k: usize| match (micro.precision, micro.ty.as_str()) {
        (Precision::Ulps(ulps), _) => near(ours[k], theirs[k], ulps),
        (_, "float") => near(ours[k], theirs[k], 0),
        (_, "double") => {
            let value =
                |words: &[u32]| f64::from_bits(u64::from(words[k & !1]) | u64::from(words[k | 1]) << 32);
            ours[k] == theirs[k] || value(&ours).is_nan() && value(&theirs).is_nan()
        }
        _ => ours[k] == theirs[k],
    };
    (0..ours.len())
        .find(|&k| !same(k))
        .map(|k| format!("dword {k}: gcnc {:08x}, llc {:08x}", ours[k], theirs[k]))
}

fn check(level: u8) {
    let gcnc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/gcnc");
    if !gcnc.exists() {
        eprintln!("skipped: build gcnc in release first");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut failures = Vec::new();
    let table = micros();
    // Modules of some twenty kernels: one that does not compile hides few others.
    for (number, part) in table.chunks(20).enumerate() {
        let path = |extension: &str| folder.path().join(format!("m{number}{extension}"));
        std::fs::write(path(".cl"), source(part)).expect("writable folder");
        toolchain::clang(&path(".cl"), &path(".bc"), "gfx900", level, &[])
            .expect("clang accepts the kernels");
        let object = |compiler: Compiler| {
            let object = path(&format!("-{}.o", compiler.name()));
            gcnc_tests::measure::compile(compiler, &gcnc, &path(".bc"), &object, "gfx900".into(), level)?;
            CodeObject::load(&toolchain::link(&object)?).map_err(|report| report.to_string())
        };
        let theirs = object(Compiler::Llc).expect("llc compiles the kernels");
        let ours = match object(Compiler::Gcnc) {
            Ok(ours) => ours,
            Err(message) => {
                failures.push(format!("module of {}: {message}", part[0].name));
                continue;
            }
        };
        for micro in part {
            let expected = match run(&theirs, &micro.name) {
                Ok(expected) => expected,
                Err(report) => {
                    failures.push(format!("{}: llc's object: {report}", micro.name));
                    continue;
                }
            };
            match run(&ours, &micro.name) {
                Ok(found) => failures
                    .extend(difference(micro, &found, &expected).map(|d| format!("{}: {d}", micro.name))),
                Err(report) => failures.push(format!("{}: {report}", micro.name)),
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} at -O{level}:\n{}",
        failures.len(),
        table.len(),
        failures.join("\n")
    );
}

#[test]
fn optimised_kernels_agree_with_llc() {
    check(2);
}

#[test]
fn unoptimised_kernels_agree_with_llc() {
    check(0);
}
