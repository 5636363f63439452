//! Floating point on every generation: small kernels compiled by gcnc, run on the simulator, compared with
//! software arithmetic.
//!
//! Each kernel applies one operation to [`ITEMS`] elements of three arrays in which corner values are
//! frequent. What IEEE 754 defines must agree in every bit (but for the payloads of NaNs), approximations
//! within the error that LLVM's documentation allows.

/// Runs `$body` with the soft-float type of a format as `F`.
macro_rules! with_format {
    ($fmt:expr, $body:expr) => {
        match $fmt {
            Fmt::Half => {
                type F = rustc_apfloat::ieee::Half;
                $body
            }
            Fmt::BFloat => {
                type F = rustc_apfloat::ieee::BFloat;
                $body
            }
            Fmt::Single => {
                type F = rustc_apfloat::ieee::Single;
                $body
            }
            Fmt::Double => {
                type F = rustc_apfloat::ieee::Double;
                $body
            }
        }
    };
}

mod table;

use rustc_apfloat::{Float, ieee};
use sim::{Arg, CodeObject, Config, Dispatch, Memory};
use std::fmt::Write;

/// Elements of each array.
const ITEMS: usize = 512;

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fmt {
    Half,
    BFloat,
    Single,
    Double,
}

impl Fmt {
    pub(crate) const ALL: [Self; 4] = [Self::Half, Self::BFloat, Self::Single, Self::Double];

    /// Name of the type.
    pub(crate) fn ir(self) -> &'static str {
        ["half", "bfloat", "float", "double"][self as usize]
    }

    /// Suffix of intrinsics.
    pub(crate) fn suffix(self) -> &'static str {
        ["f16", "bf16", "f32", "f64"][self as usize]
    }

    pub(crate) fn bits(self) -> u32 {
        [16, 16, 32, 64][self as usize]
    }

    /// Bits of the fraction.
    pub(crate) fn fraction(self) -> u32 {
        [10, 7, 23, 52][self as usize]
    }

    pub(crate) fn infinity(self) -> u128 {
        let sign = 1u128 << (self.bits() - 1);
        (sign - 1) & !((1u128 << self.fraction()) - 1)
    }

    pub(crate) fn magnitude(self, x: u128) -> u128 {
        x & ((1u128 << (self.bits() - 1)) - 1)
    }

    pub(crate) fn is_nan(self, x: u128) -> bool {
        self.magnitude(x) > self.infinity()
    }

    pub(crate) fn negative(self, x: u128) -> bool {
        x >> (self.bits() - 1) & 1 == 1
    }

    /// The number as binary64, exactly.
    pub(crate) fn to_f64(self, x: u128) -> f64 {
        let wide = convert(self, Fmt::Double, x);
        f64::from_bits(wide as u64)
    }

    /// The number of this format nearest to `x`.
    pub(crate) fn nearest(self, x: f64) -> u128 {
        convert(Fmt::Double, self, u128::from(x.to_bits()))
    }

    /// Distance in units in the last place; `None` where only one is NaN.
    pub(crate) fn ulps(self, x: u128, y: u128) -> Option<u128> {
        if self.is_nan(x) || self.is_nan(y) {
            return (self.is_nan(x) && self.is_nan(y)).then_some(0);
        }
        let ordered = |v: u128| {
            let m = self.magnitude(v) as i128;
            if self.negative(v) { -m } else { m }
        };
        Some(ordered(x).abs_diff(ordered(y)))
    }
}

/// `x` of one format rounded to another.
pub(crate) fn convert(from: Fmt, to: Fmt, x: u128) -> u128 {
    use rustc_apfloat::FloatConvert;
    let mut loses = false;
    // By binary128, which holds them all.
    let wide: ieee::Quad = with_format!(from, F::from_bits(x).convert(&mut loses).value);
    with_format!(to, {
        let narrow: rustc_apfloat::StatusAnd<F> = wide.convert(&mut loses);
        narrow.value.to_bits()
    })
}

/// What a kernel must store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// These bits; for a floating-point result any NaN is like another.
    Bits(u128),
    /// A float within so many units in the last place.
    Near(u128, u128),
    /// Anything.
    Any,
}

/// Computes what is expected of `a`, `b` and `c`.
pub(crate) type Reference = Box<dyn Fn(u128, u128, u128) -> Expect>;

/// One kernel.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Type of the three inputs.
    pub(crate) input: String,
    /// Type of the result.
    pub(crate) output: String,
    /// The format of the result where it is floating.
    pub(crate) format: Option<Fmt>,
    /// Instructions that compute %r from %a, %b, %c.
    pub(crate) body: String,
    pub(crate) expect: Reference,
    /// Attributes of the kernel.
    pub(crate) attributes: String,
}

fn bits_of(ty: &str) -> u32 {
    match ty {
        "half" | "bfloat" => 16,
        "float" => 32,
        "double" => 64,
        _ => ty[1..].parse().expect("an integer type"),
    }
}

/// Bytes that an element takes in an array.
fn stride(ty: &str) -> usize {
    (bits_of(ty).div_ceil(8) as usize).next_power_of_two()
}

fn source(cases: &[&Case]) -> String {
    let mut ir =
        String::from("target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n");
    for case in cases {
        let (input, output) = (&case.input, &case.output);
        let (in_stride, out_stride) = (stride(input), stride(output));
        let _ = writeln!(
            ir,
            "define amdgpu_kernel void @{}(ptr addrspace(1) %out, ptr addrspace(1) %pa, ptr addrspace(1) %pb, ptr addrspace(1) %pc) {} {{\n  \
             %i = call i32 @llvm.amdgcn.workitem.id.x()\n  %ii = mul i32 %i, {in_stride}\n  %oi = mul i32 %i, {out_stride}",
            case.name, case.attributes
        );
        for v in ["a", "b", "c"] {
            let _ = writeln!(
                ir,
                "  %q{v} = getelementptr i8, ptr addrspace(1) %p{v}, i32 %ii\n  %{v} = load {input}, ptr addrspace(1) %q{v}, align {in_stride}"
            );
        }
        let _ = writeln!(
            ir,
            "{}\n  %o = getelementptr i8, ptr addrspace(1) %out, i32 %oi\n  store {output} %r, ptr addrspace(1) %o, align {}\n  ret void\n}}\n",
            case.body,
            out_stride.min(8)
        );
    }
    // Declarations come from the calls.
    let mut declared = std::collections::BTreeSet::new();
    for line in ir.clone().lines() {
        let Some(at) = line.find("call ") else { continue };
        let rest = &line[at + 5..];
        let (Some(name), Some(open)) = (rest.find('@'), rest.find('(')) else { continue };
        let args: Vec<String> = rest[open + 1..rest.rfind(')').unwrap_or(rest.len())]
            .split(", ")
            .filter(|a| !a.is_empty())
            .map(|a| a.split(' ').next().unwrap_or("").to_owned())
            .collect();
        let signature = format!("declare {}{}({})", &rest[..name], &rest[name..open], args.join(", "));
        let known = rest[name..open].contains("workitem");
        let flags = ["fast ", "afn ", "nnan ", "contract ", "arcp ", "nsz ", "ninf "];
        let signature = flags.iter().fold(signature, |s, flag| s.replace(flag, ""));
        if !known {
            declared.insert(signature);
        }
    }
    for line in declared {
        let _ = writeln!(ir, "{line}");
    }
    ir
}

/// Inputs for a type: every pair of corner values of a float, then random bits; integers of all magnitudes.
fn inputs(ty: &str) -> [Vec<u128>; 3] {
    let bits = bits_of(ty);
    let mask = if bits == 128 { u128::MAX } else { (1u128 << bits) - 1 };
    let mut rng = fastrand::Rng::with_seed(u64::from(bits) + ty.len() as u64);
    let fmt = Fmt::ALL.into_iter().find(|f| f.ir() == ty);
    let mut arrays = [Vec::new(), Vec::new(), Vec::new()];
    let corners: Vec<u128> = match fmt {
        Some(f) => {
            let one = f.nearest(1.0);
            let plain = [
                0.0,
                1.0,
                0.5,
                1.5,
                2.5,
                3.0,
                0.1,
                7.0,
                100.0,
                255.5,
                2147483647.5,
                4294967296.0,
                1e10,
                65504.0,
                9.223_372_036_854_776e18,
                1.8446744073709552e19,
                1e30,
            ];
            let mut all: Vec<u128> = plain.iter().map(|&x| f.nearest(x)).collect();
            all.extend([1, 2, (1 << f.fraction()) - 1, 1 << f.fraction(), f.infinity() - 1, f.infinity()]);
            all.extend([one - 1, one + 1, f.infinity() | 1 << (f.fraction() - 1)]);
            let negative: Vec<u128> = all.iter().map(|x| x | 1 << (bits - 1)).collect();
            all.extend(negative);
            all
        }
        None => vec![
            0,
            1,
            2,
            3,
            mask,
            mask - 1,
            mask >> 1,
            (mask >> 1) + 1,
            0xffff,
            0x10000,
            0xff_ffff,
            0x1ff_ffff,
        ],
    };
    for i in 0..ITEMS {
        let random = |rng: &mut fastrand::Rng| {
            let x = u128::from(rng.u64(..)) << 64 | u128::from(rng.u64(..));
            match fmt {
                // A number near 1, or any bits.
                Some(f) if rng.bool() => f.nearest((rng.f64() - 0.5) * 2f64.powi(rng.i32(-12..13))),
                Some(_) => x & mask,
                None => (x & mask) >> rng.u32(0..bits),
            }
        };
        for (k, array) in arrays.iter_mut().enumerate() {
            let pick = match k {
                0 => corners.get(i % (corners.len() + 8)).copied(),
                1 => corners.get(i / 7 % (corners.len() + 40)).copied(),
                _ => corners.get(i * 5 % (2 * corners.len())).copied(),
            };
            let value = pick.map_or_else(|| random(&mut rng), |v| v & mask);
            array.push(value);
        }
    }
    arrays
}

fn bytes(values: &[u128], ty: &str) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()[..stride(ty)].to_vec()).collect()
}

/// Compiles and runs `cases` for `cpu`, and returns what went wrong.
fn failures(cpu: &str, level: u8, cases: &[Case]) -> Vec<String> {
    let options = gcnc::CompileOptions {
        cpu: cpu.into(),
        opt_level: level,
        file_type: gcnc::FileType::Obj,
        ..Default::default()
    };
    let mut failures = Vec::new();
    let mut cases: Vec<&Case> = cases.iter().collect();
    let output = match gcnc::compile(source(&cases).as_bytes(), "float.ll", &options) {
        Ok(output) => output,
        Err(errors) => {
            // What is refused must not hide the rest.
            failures.extend(errors.iter().map(|e| format!("{cpu} -O{level}: {e}")));
            cases.retain(|case| !failures.iter().any(|f| f.contains(&format!("{}:", case.name))));
            match gcnc::compile(source(&cases).as_bytes(), "float.ll", &options) {
                Ok(output) => output,
                Err(_) => return failures,
            }
        }
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("float.o");
    std::fs::write(&path, &output.bytes).expect("writable folder");
    let linked = gcnc_tests::toolchain::link(&path).expect("a valid object");
    let object = CodeObject::load(&linked).expect("a valid code object");
    for case in cases {
        let [a, b, c] = inputs(&case.input);
        let mut memory = Memory::new();
        let out_stride = stride(&case.output);
        let out = memory.add_buffer("out", vec![0; ITEMS * out_stride]);
        let mut args = vec![Arg::Buffer(out)];
        for (name, values) in [("a", &a), ("b", &b), ("c", &c)] {
            args.push(Arg::Buffer(memory.add_buffer(name, bytes(values, &case.input))));
        }
        let dispatch = Dispatch {
            kernel: case.name.clone(),
            grid: [ITEMS as u32, 1, 1],
            group: [ITEMS as u32, 1, 1],
            args,
            ..Dispatch::default()
        };
        let config = Config { budget: 10_000_000, ..Config::default() };
        if let Err(report) = sim::run(&object, &mut memory, &dispatch, &config) {
            failures.push(format!("{cpu} -O{level} {}: {report}", case.name));
            continue;
        }
        let found = memory.bytes(out);
        let width = bits_of(&case.output);
        for i in 0..ITEMS {
            let mut word = [0u8; 16];
            word[..out_stride].copy_from_slice(&found[i * out_stride..(i + 1) * out_stride]);
            let got = u128::from_le_bytes(word) & if width == 128 { u128::MAX } else { (1 << width) - 1 };
            let expected = (case.expect)(a[i], b[i], c[i]);
            let good = match (expected, case.format) {
                (Expect::Any, _) => true,
                (Expect::Bits(want), Some(f)) => got == want || f.is_nan(got) && f.is_nan(want),
                (Expect::Bits(want), None) => got == want,
                (Expect::Near(want, ulps), Some(f)) => f.ulps(got, want).is_some_and(|d| d <= ulps),
                (Expect::Near(..), None) => false,
            };
            if !good {
                failures.push(format!(
                    "{cpu} -O{level} {}({:#x}, {:#x}, {:#x}) = {got:#x}, expected {expected:x?}",
                    case.name, a[i], b[i], c[i]
                ));
                break;
            }
        }
    }
    failures
}

fn check(cpu: &str, level: u8) {
    let cases = table::all();
    let failures = failures(cpu, level, &cases);
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn gfx600() {
    check("gfx600", 2);
}

#[test]
fn gfx700() {
    check("gfx700", 2);
}

#[test]
fn gfx803() {
    check("gfx803", 2);
}

#[test]
fn gfx900() {
    check("gfx900", 2);
}

#[test]
fn gfx906() {
    check("gfx906", 2);
}

#[test]
fn unoptimised() {
    check("gfx803", 0);
}
