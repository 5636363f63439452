//! The operations, their types and what they must give.

use crate::{Case, Expect, Fmt, Reference, convert};
use rustc_apfloat::{Float, Round, Status};

/// Kernels under construction.
#[derive(Default)]
struct Table {
    cases: Vec<Case>,
}

fn exact(f: impl Fn(u128, u128, u128) -> u128 + 'static) -> Reference {
    Box::new(move |a, b, c| Expect::Bits(f(a, b, c)))
}

impl Table {
    fn add(&mut self, name: String, input: &str, output: &str, body: String, expect: Reference) {
        self.add_with(name, input, output, body, String::new(), expect);
    }

    fn add_with(
        &mut self,
        name: String,
        input: &str,
        output: &str,
        body: String,
        attributes: String,
        expect: Reference,
    ) {
        let format = Fmt::ALL.into_iter().find(|f| f.ir() == output);
        self.cases.push(Case {
            name: name.replace('.', "_"),
            input: input.to_owned(),
            output: output.to_owned(),
            format,
            body,
            expect,
            attributes,
        });
    }

    /// An operation from and to one format.
    fn same(&mut self, name: &str, fmt: Fmt, body: &str, expect: Reference) {
        let t = fmt.ir();
        let body = body.replace("$t", t).replace("$s", fmt.suffix());
        self.add(format!("{name}_{}", fmt.suffix()), t, t, body, expect);
    }
}

/// All kernels.
pub(crate) fn all() -> Vec<Case> {
    let mut t = Table::default();
    for fmt in Fmt::ALL {
        arithmetic(&mut t, fmt);
        rounding(&mut t, fmt);
        bits(&mut t, fmt);
        comparisons(&mut t, fmt);
        integers(&mut t, fmt);
        for to in Fmt::ALL {
            if to != fmt {
                let (from, into) = (fmt.ir(), to.ir());
                let op = if to.bits() > fmt.bits() { "fpext" } else { "fptrunc" };
                if to.bits() != fmt.bits() {
                    let body = format!("  %r = {op} {from} %a to {into}");
                    let name = format!("{op}_{}_{}", fmt.suffix(), to.suffix());
                    t.add(name, from, into, body, exact(move |a, _, _| convert(fmt, to, a)));
                }
            }
        }
        elementary(&mut t, fmt);
    }
    environment(&mut t);
    t.cases
}

fn arithmetic(t: &mut Table, fmt: Fmt) {
    macro_rules! soft {
        (|$a:ident, $b:ident, $c:ident| $body:expr) => {
            exact(move |x, y, z| {
                with_format!(fmt, {
                    let ($a, $b, $c) = (F::from_bits(x), F::from_bits(y), F::from_bits(z));
                    let _ = (&$b, &$c);
                    $body.to_bits()
                })
            })
        };
    }
    for (op, expect) in [
        ("fadd", soft!(|a, b, c| (a + b).value)),
        ("fsub", soft!(|a, b, c| (a - b).value)),
        ("fmul", soft!(|a, b, c| (a * b).value)),
        ("fdiv", soft!(|a, b, c| (a / b).value)),
        ("frem", soft!(|a, b, c| a.c_fmod(b).value)),
    ] {
        t.same(op, fmt, &format!("  %r = {op} $t %a, %b"), expect);
    }
    t.same(
        "fma",
        fmt,
        "  %r = call $t @llvm.fma.$s($t %a, $t %b, $t %c)",
        soft!(|a, b, c| a.mul_add(b, c).value),
    );
    // Fused or not.
    let fused = soft!(|a, b, c| a.mul_add(b, c).value);
    let apart = soft!(|a, b, c| ((a * b).value + c).value);
    t.same(
        "fmuladd",
        fmt,
        "  %r = call $t @llvm.fmuladd.$s($t %a, $t %b, $t %c)",
        Box::new(move |a, b, c| {
            let (Expect::Bits(x), Expect::Bits(y)) = (fused(a, b, c), apart(a, b, c)) else {
                return Expect::Any;
            };
            let near = fmt.ulps(x, y).unwrap_or(u128::MAX);
            // Both are right; where they are far apart nothing is said.
            if x == y {
                Expect::Bits(x)
            } else if near < 3 {
                Expect::Near(x, near)
            } else {
                Expect::Any
            }
        }),
    );
    t.same(
        "negated",
        fmt,
        "  %n = fneg $t %a\n  %m = fmul $t %n, %b\n  %r = fsub $t %c, %m",
        soft!(|a, b, c| (c - (-a * b).value).value),
    );
    t.same(
        "absolute",
        fmt,
        "  %n = call $t @llvm.fabs.$s($t %a)\n  %m = fneg $t %n\n  %r = fadd $t %m, %b",
        soft!(|a, b, c| (-a.abs() + b).value),
    );
    t.same("canonicalize", fmt, "  %r = call $t @llvm.canonicalize.$s($t %a)", soft!(|a, b, c| a));
    // The root of binary64 is correctly rounded by the host; narrower formats have few enough digits for it.
    let root = exact(move |a, _, _| match fmt {
        Fmt::Single => u128::from(f32::from_bits(a as u32).sqrt().to_bits()),
        _ => fmt.nearest(fmt.to_f64(a).sqrt()),
    });
    t.same("sqrt", fmt, "  %r = call $t @llvm.sqrt.$s($t %a)", root);
    // Strict forms compute the same.
    let meta = "metadata !\"round.dynamic\", metadata !\"fpexcept.strict\"";
    let constrained = [
        ("fadd", soft!(|a, b, c| (a + b).value)),
        ("fmul", soft!(|a, b, c| (a * b).value)),
        ("fdiv", soft!(|a, b, c| (a / b).value)),
    ];
    for (op, expect) in constrained {
        let body =
            format!("  %r = call $t @llvm.experimental.constrained.{op}.$s($t %a, $t %b, {meta}) strictfp");
        let body = body.replace("$t", fmt.ir()).replace("$s", fmt.suffix());
        t.add_with(
            format!("strict_{op}_{}", fmt.suffix()),
            fmt.ir(),
            fmt.ir(),
            body,
            "strictfp".into(),
            expect,
        );
    }
}

fn rounding(t: &mut Table, fmt: Fmt) {
    for (name, mode) in [
        ("floor", Round::TowardNegative),
        ("ceil", Round::TowardPositive),
        ("trunc", Round::TowardZero),
        ("rint", Round::NearestTiesToEven),
        ("nearbyint", Round::NearestTiesToEven),
        ("roundeven", Round::NearestTiesToEven),
        ("round", Round::NearestTiesToAway),
    ] {
        let expect =
            exact(move |a, _, _| with_format!(fmt, F::from_bits(a).round_to_integral(mode).value.to_bits()));
        t.same(name, fmt, &format!("  %r = call $t @llvm.{name}.$s($t %a)"), expect);
    }
    for (name, mode, bits) in [
        ("lrint", Round::NearestTiesToEven, 32),
        ("llrint", Round::NearestTiesToEven, 64),
        ("lround", Round::NearestTiesToAway, 32),
        ("llround", Round::NearestTiesToAway, 64),
    ] {
        let body = format!("  %r = call i{bits} @llvm.{name}.i{bits}.{}({} %a)", fmt.suffix(), fmt.ir());
        let expect: Reference = Box::new(move |a, _, _| {
            with_format!(fmt, {
                let whole = F::from_bits(a).round_to_integral(mode).value;
                let mut is_exact = false;
                let n = whole.to_i128_r(bits, Round::TowardZero, &mut is_exact);
                if n.status.contains(Status::INVALID_OP) {
                    Expect::Any
                } else {
                    Expect::Bits(n.value as u128 & ((1 << bits) - 1))
                }
            })
        });
        t.add(format!("{name}_{}", fmt.suffix()), fmt.ir(), &format!("i{bits}"), body, expect);
    }
    // The two members of modf together: the whole part plus the fraction is the number.
    let parts = exact(move |a, _, _| a);
    t.same(
        "modf",
        fmt,
        "  %p = call { $t, $t } @llvm.modf.$s($t %a)\n  %f = extractvalue { $t, $t } %p, 0\n  %w = extractvalue { $t, $t } %p, 1\n  %r = fadd $t %f, %w",
        parts,
    );
}

/// -0 is below +0.
fn less(fmt: Fmt, x: u128, y: u128) -> bool {
    let key = |v: u128| {
        let m = fmt.magnitude(v) as i128;
        if fmt.negative(v) { -m - 1 } else { m }
    };
    key(x) < key(y)
}

fn bits(t: &mut Table, fmt: Fmt) {
    let sign = 1u128 << (fmt.bits() - 1);
    t.same("fneg", fmt, "  %r = fneg $t %a", exact(move |a, _, _| a ^ sign));
    t.same("fabs", fmt, "  %r = call $t @llvm.fabs.$s($t %a)", exact(move |a, _, _| a & !sign));
    t.same(
        "copysign",
        fmt,
        "  %r = call $t @llvm.copysign.$s($t %a, $t %b)",
        exact(move |a, b, _| a & !sign | b & sign),
    );
    for (name, max, propagates) in [
        ("minnum", false, false),
        ("maxnum", true, false),
        ("minimumnum", false, false),
        ("maximumnum", true, false),
        ("minimum", false, true),
        ("maximum", true, true),
    ] {
        let expect: Reference = Box::new(move |a, b, _| {
            let (na, nb) = (fmt.is_nan(a), fmt.is_nan(b));
            let quiet = |x: u128| x | 1 << (fmt.fraction() - 1);
            let signalling = |x: u128| fmt.is_nan(x) && quiet(x) != x;
            if (signalling(a) || signalling(b)) && matches!(name, "minnum" | "maxnum") {
                // Either rule is allowed.
                return Expect::Any;
            }
            if propagates && (na || nb) {
                return Expect::Bits(quiet(fmt.infinity()));
            }
            Expect::Bits(match (na, nb) {
                (true, true) => quiet(fmt.infinity()),
                (true, false) => b,
                (false, true) => a,
                _ if less(fmt, a, b) != max => a,
                _ => b,
            })
        });
        t.same(name, fmt, &format!("  %r = call $t @llvm.{name}.$s($t %a, $t %b)"), expect);
    }
    for mask in [0x003u32, 0x204, 0x090, 0x060, 0x108, 0x1f8, 0x2aa] {
        let body = format!(
            "  %k = call i1 @llvm.is.fpclass.{}({} %a, i32 {mask})\n  %r = zext i1 %k to i32",
            fmt.suffix(),
            fmt.ir()
        );
        let expect = exact(move |a, _, _| {
            let m = fmt.magnitude(a);
            let signed = |plus: u32, minus: u32| if fmt.negative(a) { minus } else { plus };
            let class = if m > fmt.infinity() {
                u32::from(m >> (fmt.fraction() - 1) & 1 == 1)
            } else if m == fmt.infinity() {
                signed(9, 2)
            } else if m == 0 {
                signed(6, 5)
            } else if m < 1 << fmt.fraction() {
                signed(7, 4)
            } else {
                signed(8, 3)
            };
            u128::from(mask >> class & 1)
        });
        t.add(format!("class{mask:x}_{}", fmt.suffix()), fmt.ir(), "i32", body, expect);
    }
    // frexp: its parts scaled back.
    let (s, ty) = (fmt.suffix(), fmt.ir());
    t.same(
        "frexp",
        fmt,
        &format!("  %p = call {{ {ty}, i32 }} @llvm.frexp.{s}.i32({ty} %a)\n  %m = extractvalue {{ {ty}, i32 }} %p, 0\n  %e = extractvalue {{ {ty}, i32 }} %p, 1\n  %r = call {ty} @llvm.ldexp.{s}.i32({ty} %m, i32 %e)"),
        exact(move |a, _, _| a),
    );
    let expect = exact(move |a, b, _| {
        let e = (b & 0xff) as i32 - 128;
        with_format!(fmt, F::from_bits(a).scalbn(e).to_bits())
    });
    t.same(
        "ldexp",
        fmt,
        &format!("  %bi = bitcast {ty} %b to i{0}\n  %bz = and i{0} %bi, 255\n  %bt = {1} i{0} %bz to i32\n  %e = sub i32 %bt, 128\n  %r = call {ty} @llvm.ldexp.{s}.i32({ty} %a, i32 %e)",
            fmt.bits(), match fmt.bits() { 16 => "zext", 64 => "trunc", _ => "bitcast" }),
        expect,
    );
    // The register of a narrow exponent holds more than the exponent.
    let expect =
        exact(move |a, b, _| with_format!(fmt, F::from_bits(a).scalbn(i32::from(b as u8 as i8)).to_bits()));
    t.same(
        "ldexp_i8",
        fmt,
        &format!("  %bi = bitcast {ty} %b to i{0}\n  %e = trunc i{0} %bi to i8\n  %r = call {ty} @llvm.ldexp.{s}.i8({ty} %a, i8 %e)", fmt.bits()),
        expect,
    );
    let expect = exact(move |a, _, _| with_format!(fmt, F::from_bits(a).scalbn(5000).to_bits()));
    t.same(
        "ldexp_i64",
        fmt,
        &format!("  %bi = bitcast {ty} %b to i{0}\n  %bt = {1} i{0} %bi to i32\n  %bz = zext i32 %bt to i64\n  %e = add i64 %bz, 4294967296\n  %r = call {ty} @llvm.ldexp.{s}.i64({ty} %a, i64 %e)",
            fmt.bits(), match fmt.bits() { 16 => "zext", 64 => "trunc", _ => "bitcast" }),
        expect,
    );
}

fn comparisons(t: &mut Table, fmt: Fmt) {
    // All predicates in the bits of one number.
    let names =
        ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "uno", "ueq", "ugt", "uge", "ult", "ule", "une"];
    let mut body = String::new();
    let mut sum = "0".to_owned();
    for (i, name) in names.iter().enumerate() {
        body += &format!(
            "  %c{i} = fcmp {name} {ty} %a, %b\n  %z{i} = zext i1 %c{i} to i32\n  %s{i} = shl i32 %z{i}, {i}\n  %o{i} = or i32 %s{i}, {sum}\n",
            ty = fmt.ir()
        );
        sum = format!("%o{i}");
    }
    body += &format!("  %r = add i32 {sum}, 0");
    let expect = exact(move |a, b, _| {
        let (x, y) = (fmt.to_f64(a), fmt.to_f64(b));
        let unordered = x.is_nan() || y.is_nan();
        let holds = [
            x == y,
            x > y,
            x >= y,
            x < y,
            x <= y,
            !unordered && x != y,
            !unordered,
            unordered,
            unordered || x == y,
            unordered || x > y,
            unordered || x >= y,
            unordered || x < y,
            unordered || x <= y,
            x != y,
        ];
        holds.iter().enumerate().map(|(i, &h)| u128::from(h) << i).sum()
    });
    t.add(format!("fcmp_{}", fmt.suffix()), fmt.ir(), "i32", body, expect);
}

fn integers(t: &mut Table, fmt: Fmt) {
    for width in [1u32, 7, 8, 16, 24, 32, 33, 48, 64, 65, 100, 128] {
        let (s, ty) = (fmt.suffix(), fmt.ir());
        let mask = if width == 128 { u128::MAX } else { (1u128 << width) - 1 };
        // Results narrower than a byte multiple are extended to one.
        let store = width.max(8).next_power_of_two();
        let fit = |signed: bool| {
            if store == width {
                "  %r = add i$w %k, 0".replace("$w", &width.to_string())
            } else {
                let op = if signed { "sext" } else { "zext" };
                format!("  %r = {op} i{width} %k to i{store}")
            }
        };
        for signed in [true, false] {
            let extended = move |v: u128| {
                if signed && width < 128 && v >> (width - 1) & 1 == 1 {
                    (v | !mask) & if store == 128 { u128::MAX } else { (1 << store) - 1 }
                } else {
                    v
                }
            };
            let letter = if signed { "s" } else { "u" };
            let whole = move |a: u128| {
                with_format!(fmt, {
                    let x = F::from_bits(a);
                    let mut is_exact = false;
                    if signed {
                        let n = x.to_i128_r(width as usize, Round::TowardZero, &mut is_exact);
                        (n.value as u128 & mask, n.status.contains(Status::INVALID_OP))
                    } else {
                        let n = x.to_u128_r(width as usize, Round::TowardZero, &mut is_exact);
                        (n.value & mask, n.status.contains(Status::INVALID_OP))
                    }
                })
            };
            let body = format!("  %k = fpto{letter}i {ty} %a to i{width}\n{}", fit(signed));
            let expect: Reference = Box::new(move |a, _, _| match whole(a) {
                (_, true) => Expect::Any,
                (n, false) => Expect::Bits(extended(n)),
            });
            t.add(format!("fpto{letter}i{width}_{s}"), ty, &format!("i{store}"), body, expect);
            let body = format!(
                "  %k = call i{width} @llvm.fpto{letter}i.sat.i{width}.{s}({ty} %a)\n{}",
                fit(signed)
            );
            let expect = exact(move |a, _, _| {
                if fmt.is_nan(a) {
                    return 0;
                }
                match whole(a) {
                    (n, false) => extended(n),
                    _ if fmt.negative(a) => extended(if signed { 1 << (width - 1) } else { 0 }),
                    _ => extended(if signed { mask >> 1 } else { mask }),
                }
            });
            t.add(format!("sat{letter}{width}_{s}"), ty, &format!("i{store}"), body, expect);
            let cut = if store == width {
                "  %k = add i$w %a, 0".replace("$w", &width.to_string())
            } else {
                format!("  %k = trunc i{store} %a to i{width}")
            };
            let body = format!("{cut}\n  %r = {letter}itofp i{width} %k to {ty}");
            let expect = exact(move |a, _, _| {
                let v = a & mask;
                with_format!(fmt, {
                    if signed {
                        let n = (v << (128 - width)) as i128 >> (128 - width);
                        F::from_i128(n).value.to_bits()
                    } else {
                        F::from_u128(v).value.to_bits()
                    }
                })
            });
            t.add(format!("{letter}itofp{width}_{s}"), &format!("i{store}"), ty, body, expect);
        }
    }
}

/// Functions that are approximations: float within the error of LLVM's expansions, half correctly rounded but
/// for one unit.
fn elementary(t: &mut Table, fmt: Fmt) {
    if fmt == Fmt::Double {
        return;
    }
    let ulps = if fmt == Fmt::Single { 3 } else { 1 };
    let functions: [(&str, fn(f64) -> f64); 6] = [
        ("exp", f64::exp),
        ("exp2", f64::exp2),
        ("exp10", |x| 10f64.powf(x)),
        ("log", f64::ln),
        ("log2", f64::log2),
        ("log10", f64::log10),
    ];
    for (name, function) in functions {
        let expect: Reference = Box::new(move |a, _, _| {
            let x = fmt.to_f64(a);
            // Logarithms near 1 lose digits by cancellation in the hardware's approximation.
            if name.starts_with("log") && (x - 1.0).abs() < 0.01 && x != 1.0 && fmt == Fmt::Single {
                return Expect::Any;
            }
            Expect::Near(fmt.nearest(function(x)), ulps)
        });
        t.same(name, fmt, &format!("  %r = call $t @llvm.{name}.$s($t %a)"), expect);
    }
    if fmt == Fmt::Single {
        // An approximation, but not of zero: denormals are numbers.
        let expect: Reference = Box::new(move |a, _, _| {
            let x = fmt.to_f64(a);
            if x > 0.0 && x < 1e-30 { Expect::Near(fmt.nearest(x.log2()), 3) } else { Expect::Any }
        });
        t.same("log2_afn", fmt, "  %r = call afn $t @llvm.log2.$s($t %a)", expect);
        let expect: Reference = Box::new(move |a, _, _| {
            let x = fmt.to_f64(a);
            if (-140.0..-126.0).contains(&x) { Expect::Near(fmt.nearest(x.exp2()), 3) } else { Expect::Any }
        });
        t.same("exp2_afn", fmt, "  %r = call afn $t @llvm.exp2.$s($t %a)", expect);
    }
    for (name, function) in [("sin", f64::sin as fn(f64) -> f64), ("cos", f64::cos)] {
        let expect: Reference = Box::new(move |a, _, _| {
            let x = fmt.to_f64(a);
            if !x.is_finite() || x.abs() > 8.0 {
                return Expect::Any;
            }
            let near = function(x);
            // The argument in turns has an absolute error.
            if near.abs() < 0.1 {
                Expect::Any
            } else {
                Expect::Near(fmt.nearest(near), if fmt == Fmt::Single { 64 } else { 1 })
            }
        });
        t.same(name, fmt, &format!("  %r = call $t @llvm.{name}.$s($t %a)"), expect);
    }
}

/// Modes: flushed denormals, rounding, what may be assumed.
fn environment(t: &mut Table) {
    let flush = "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"";
    let flushed = |x: u128| if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x };
    let single = |x: u128| f32::from_bits(x as u32);
    for (mode, attributes) in [("flush", flush), ("dynamic", "\"denormal-fp-math-f32\"=\"dynamic,dynamic\"")]
    {
        let f = move |x: u128| if mode == "flush" { flushed(x) } else { x };
        let denormal = move |x: u128| mode == "flush" && flushed(x) != x;
        let quotient: Reference = Box::new(move |a, b, _| {
            let q = u128::from((single(a) / single(b)).to_bits());
            // Denormals may be flushed here, and need not be.
            if denormal(a) || denormal(b) || denormal(q) { Expect::Any } else { Expect::Bits(q) }
        });
        t.add_with(
            format!("{mode}_fdiv"),
            "float",
            "float",
            "  %r = fdiv float %a, %b".into(),
            attributes.into(),
            quotient,
        );
        let root = exact(move |a, _, _| u128::from(single(f(a)).sqrt().to_bits()));
        t.add_with(
            format!("{mode}_sqrt"),
            "float",
            "float",
            "  %r = call float @llvm.sqrt.f32(float %a)".into(),
            attributes.into(),
            root,
        );
        let sum = exact(move |a, b, _| f(u128::from((single(f(a)) + single(f(b))).to_bits())));
        t.add_with(
            format!("{mode}_fadd"),
            "float",
            "float",
            "  %r = fadd float %a, %b".into(),
            attributes.into(),
            sum,
        );
        let canonical = exact(move |a, _, _| f(a));
        t.add_with(
            format!("{mode}_canonicalize"),
            "float",
            "float",
            "  %r = call float @llvm.canonicalize.f32(float %a)".into(),
            attributes.into(),
            canonical,
        );
        let body = "  %r = call float @llvm.fma.f32(float %a, float %b, float %c)";
        let fused =
            exact(move |a, b, c| f(u128::from(single(f(a)).mul_add(single(f(b)), single(f(c))).to_bits())));
        t.add_with(format!("{mode}_fma"), "float", "float", body.into(), attributes.into(), fused);
    }
    // Rounding of binary32 and binary64 by LLVM's numbers.
    for (number, mode) in [
        (0, Round::TowardZero),
        (1, Round::NearestTiesToEven),
        (2, Round::TowardPositive),
        (3, Round::TowardNegative),
    ] {
        let body = format!(
            "  call void @llvm.set.rounding(i32 {number})\n  \
             %s = call double @llvm.experimental.constrained.fadd.f64(double %a, double %b, metadata !\"round.dynamic\", metadata !\"fpexcept.strict\") strictfp\n  \
             %g = call i32 @llvm.get.rounding()\n  call void @llvm.set.rounding(i32 1)\n  \
             %k = icmp eq i32 %g, {number}\n  %r = select i1 %k, double %s, double 0.0"
        );
        let expect = exact(move |a, b, _| {
            type F = rustc_apfloat::ieee::Double;
            F::from_bits(a).add_r(F::from_bits(b), mode).value.to_bits()
        });
        t.add_with(format!("rounding{number}"), "double", "double", body, "strictfp".into(), expect);
        if number != 1 {
            let word = ["towardzero", "tonearest", "upward", "downward"][number];
            let body =
                format!("  %r = call half @llvm.fptrunc.round.f16.f32(float %a, metadata !\"round.{word}\")");
            let expect = exact(move |a, _, _| {
                use rustc_apfloat::{FloatConvert, StatusAnd, ieee};
                let mut loses = false;
                let x = ieee::Single::from_bits(a);
                let narrow: StatusAnd<ieee::Half> = x.convert_r(mode, &mut loses);
                narrow.value.to_bits()
            });
            t.add(format!("fptrunc_round_{word}"), "float", "half", body, expect);
        }
    }
}
