//! Inline assembly: kernels run on the simulator, on processors of all generations, at two levels of
//! optimisation, with the allocation checked.
//!
//! Each kernel reads `a[i]` and writes `out[i]`; the test knows the function. Texts that need what a
//! processor lacks are not run there. What LLVM refuses is refused by name.

use sim::{Arg, CodeObject, Config, Dispatch, Memory};

const ITEMS: u32 = 64;
const PROCESSORS: [&str; 8] =
    ["gfx600", "gfx700", "gfx803", "gfx900", "gfx906", "gfx90c", "gfx1010", "gfx1030"];

/// A kernel around `body`, which uses `%x` (`a[i]`), `%i` (the id) and defines `%r`.
fn kernel(body: &str) -> String {
    format!(
        "define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %a, i32 %u) {{
entry:
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %x = load i32, ptr addrspace(1) %pa
{body}
  store i32 %r, ptr addrspace(1) %po
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
"
    )
}

fn options(cpu: &str, level: u8) -> gcnc::CompileOptions {
    gcnc::CompileOptions {
        triple: "amdgcn-amd-amdhsa".to_owned(),
        cpu: cpu.to_owned(),
        // What is expected is of waves of 64 lanes.
        attributes: cpu.starts_with("gfx10").then(|| "+wavefrontsize64".to_owned()).into_iter().collect(),
        file_type: gcnc::FileType::Obj,
        verify: true,
        opt_level: level,
        code_object_version: Some(4),
        ..gcnc::CompileOptions::default()
    }
}

fn input(i: u32) -> u32 {
    i.wrapping_mul(0x9e37_79b9) ^ 0x55
}

/// The value of `%u`.
const UNIFORM: u32 = 37;

fn run(text: &str, cpu: &str, level: u8) -> Vec<u32> {
    let what = format!("{cpu} -O{level}:\n{text}");
    let output = gcnc::compile(text.as_bytes(), "test", &options(cpu, level))
        .unwrap_or_else(|errors| panic!("{what}{errors:#?}"));
    let object = CodeObject::load(&output.bytes).unwrap_or_else(|error| panic!("{what}{error}"));
    let mut memory = Memory::new();
    let bytes: Vec<u8> = (0..ITEMS).flat_map(|i| input(i).to_le_bytes()).collect();
    let out = memory.add_buffer("out", vec![0; 4 * ITEMS as usize]);
    let a = memory.add_buffer("a", bytes);
    let dispatch = Dispatch {
        kernel: "k".to_owned(),
        grid: [ITEMS, 1, 1],
        group: [ITEMS, 1, 1],
        args: vec![Arg::Buffer(out), Arg::Buffer(a), Arg::Value(UNIFORM.to_le_bytes().to_vec())],
        ..Dispatch::default()
    };
    sim::run(&object, &mut memory, &dispatch, &Config { budget: 1_000_000, ..Config::default() })
        .unwrap_or_else(|report| panic!("{what}{report}"));
    memory.bytes(out).chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Runs `body` on `processors` and compares with `expected` of id and input; as it is, and with the promise that
/// texts without side effects access no memory, which lets them be moved and taken apart.
fn check_on(processors: &[&str], body: &str, expected: impl Fn(u32, u32) -> u32) {
    let promised = |line: &str| {
        let pure = line.contains(" asm \"") && line.ends_with(')');
        format!("{line}{}\n", if pure { " memory(none)" } else { "" })
    };
    let pure: String = body.lines().map(promised).collect();
    let wanted: Vec<u32> = (0..ITEMS).map(|i| expected(i, input(i))).collect();
    for body in [body, pure.as_str()] {
        let text = kernel(body);
        for cpu in processors {
            for level in [0, 2] {
                assert_eq!(run(&text, cpu, level), wanted, "{cpu} -O{level}:\n{body}");
            }
        }
    }
}

fn check(body: &str, expected: impl Fn(u32, u32) -> u32) {
    check_on(&PROCESSORS, body, expected);
}

#[test]
fn classes_of_both_files() {
    check("  %r = call i32 asm \"v_xor_b32 $0, $1, $2\", \"=v,v,v\"(i32 %x, i32 %i)", |i, x| x ^ i);
    // An SGPR result is uniform and feeds a branch-free scalar sum.
    check(
        "  %s = call i32 asm \"s_lshl_b32 $0, $1, 3\", \"=s,s,~{scc}\"(i32 %u)
  %r = add i32 %s, %x",
        |_, x| (UNIFORM << 3).wrapping_add(x),
    );
    // A value that differs between lanes in an SGPR is the first lane's.
    check(
        "  %s = call i32 asm \"s_mov_b32 $0, $1\", \"=s,s\"(i32 %x)
  %r = sub i32 %x, %s",
        |_, x| x.wrapping_sub(input(0)),
    );
    check(
        "  %f = bitcast i32 %x to <2 x half>
  %s = call i32 asm \"v_lshrrev_b32 $0, 16, $1\", \"=v,v\"(i32 %x)
  %t = trunc i32 %s to i16
  %n = call i16 asm \"v_not_b32 $0, $1\", \"=v,v\"(i16 %t)
  %r = zext i16 %n to i32",
        |_, x| !(x >> 16) & 0xffff,
    );
}

#[test]
fn wide_operands_and_several_results() {
    check(
        "  %q = call { i32, double, i32 } asm \"v_mov_b32 $0, $3\\0Av_cvt_f64_u32 $1, $4\\0As_mov_b32 $2, 0x1234\", \"=&v,=&v,=s,v,v\"(i32 %i, i32 %x)
  %q0 = extractvalue { i32, double, i32 } %q, 0
  %q1 = extractvalue { i32, double, i32 } %q, 1
  %q2 = extractvalue { i32, double, i32 } %q, 2
  %lo = call i32 asm \"v_cvt_u32_f64 $0, $1\", \"=v,v\"(double %q1)
  %m = mul i32 %q0, %q2
  %r = add i32 %lo, %m",
        |i, x| x.wrapping_add(i.wrapping_mul(0x1234)),
    );
    // Tuples of four registers in both files, from vectors and back.
    check(
        "  %v0 = insertelement <4 x i32> poison, i32 %x, i32 0
  %v1 = insertelement <4 x i32> %v0, i32 %i, i32 1
  %v2 = insertelement <4 x i32> %v1, i32 %u, i32 2
  %v3 = insertelement <4 x i32> %v2, i32 7, i32 3
  %t = call <4 x i32> asm \"; $0\", \"=v,0\"(<4 x i32> %v3)
  %s = call i128 asm \"; $0\", \"=s,0\"(i128 24197857203266734864629346612071973665)
  %s1 = lshr i128 %s, 64
  %s2 = trunc i128 %s1 to i32
  %t0 = extractelement <4 x i32> %t, i32 0
  %t1 = extractelement <4 x i32> %t, i32 1
  %t2 = extractelement <4 x i32> %t, i32 2
  %t3 = extractelement <4 x i32> %t, i32 3
  %a0 = add i32 %t0, %t1
  %a1 = mul i32 %t2, %t3
  %a2 = add i32 %a0, %s2
  %r = add i32 %a1, %a2",
        |i, x| {
            let wide = 24_197_857_203_266_734_864_629_346_612_071_973_665_u128;
            x.wrapping_add(i).wrapping_add(UNIFORM * 7).wrapping_add((wide >> 64) as u32)
        },
    );
}

#[test]
fn tied_operands() {
    // The tied input lives on, so it must be copied.
    check(
        "  %t = call i32 asm \"v_or_b32 $0, 0x100, $1\", \"=v,0\"(i32 %x)
  %r = sub i32 %t, %x",
        |_, x| (x | 0x100).wrapping_sub(x),
    );
    check(
        "  %t = call { i32, i32 } asm \"v_mov_b32 $0, 5\\0Av_xor_b32 $1, $4, $3\", \"=&v,=v,0,1,v\"(i32 %i, i32 %x, i32 %i)
  %t0 = extractvalue { i32, i32 } %t, 0
  %t1 = extractvalue { i32, i32 } %t, 1
  %r = add i32 %t0, %t1",
        |i, x| (i ^ x).wrapping_add(5),
    );
}

#[test]
fn early_clobber_keeps_inputs() {
    check(
        "  %r = call i32 asm \"v_mov_b32 $0, 7\\0Av_add_f32 $0, $0, $0\\0Av_xor_b32 $0, $1, $2\", \"=&v,v,v\"(i32 %x, i32 %i)",
        |i, x| x ^ i,
    );
}

#[test]
fn fixed_registers_and_clobbers() {
    // The id arrives in v0, which the text destroys.
    check(
        "  call void asm sideeffect \"v_mov_b32 v0, 3\\0Av_mov_b32 v1, 4\\0As_mov_b32 s8, 0\", \"~{v0},~{v1},~{s[0:15]},~{vcc}\"()
  %r = add i32 %i, %x",
        |i, x| i.wrapping_add(x),
    );
    check(
        "  %t = call i32 asm sideeffect \"v_xor_b32 v7, v5, v6\", \"={v7},{v5},{v6},~{v[0:4]}\"(i32 %x, i32 %i)
  %r = sub i32 %t, %i",
        |i, x| (x ^ i).wrapping_sub(i),
    );
    check(
        "  %t = call i64 asm sideeffect \"s_mov_b64 s[10:11], s[12:13]\", \"={s[10:11]},{s[12:13]}\"(i64 81985529216486895)
  %hi = lshr i64 %t, 32
  %l = trunc i64 %hi to i32
  %r = add i32 %l, %x",
        |_, x| 0x0123_4567_u32.wrapping_add(x),
    );
    // A lane mask out of VCC; M0 in and out; SCC out.
    check(
        "  %m = call i64 asm \"v_cmp_gt_u32 vcc, 10, $1\", \"={vcc},v\"(i32 %i)
  %l = trunc i64 %m to i32
  %r = add i32 %l, %x",
        |_, x| x.wrapping_add(0x3ff),
    );
    check(
        "  %m = call i32 asm \"s_mov_b32 m0, 0x77\", \"={m0}\"()
  %s = call i32 asm \"s_cmp_gt_u32 $1, 36\", \"={scc},s\"(i32 %u)
  %n = call i32 asm \"s_mov_b32 $0, m0\", \"=s,{m0}\"(i32 %u)
  %t = add i32 %m, %s
  %v = add i32 %t, %n
  %r = add i32 %v, %x",
        |_, x| x.wrapping_add(0x78 + UNIFORM),
    );
}

#[test]
fn constants_in_the_text() {
    check(
        "  %r = call i32 asm \"v_xor_b32 $0, $2, $1\\0Av_sub_f32 $0, $0, 0\\0Av_mov_b32 $0, ${3:n}\\0Av_xor_b32 $0, $2, $1\", \"=&v,v,i,I\"(i32 %x, i32 70000, i32 -5)",
        |_, x| x ^ 70000,
    );
}

#[test]
fn indirect_outputs_are_stored() {
    check(
        "  %m = alloca i64, addrspace(5)
  %t = call i32 asm sideeffect \"v_not_b32 $0, $2\\0Av_cvt_f64_u32 $1, $2\", \"=&v,=*v,v\"(ptr addrspace(5) elementtype(double) %m, i32 %x)
  %d = load double, ptr addrspace(5) %m
  %b = fptoui double %d to i32
  %r = sub i32 %t, %b",
        |_, x| (!x).wrapping_sub(x),
    );
}

#[test]
fn loops_with_labels_and_macros() {
    // Opaque: a loop of its own, the sum of 1 to u.
    check(
        "  %s = call { i32, i32 } asm sideeffect \"s_mov_b32 $0, 0\\0A.Lloop${:uid}:\\0As_add_u32 $0, $0, $1\\0As_sub_u32 $1, $1, 1\\0As_cmp_lg_u32 $1, 0\\0As_cbranch_scc1 .Lloop${:uid}\", \"=&s,=s,1,~{scc}\"(i32 %u)
  %t = extractvalue { i32, i32 } %s, 0
  %r = add i32 %t, %x",
        |_, x| x.wrapping_add(UNIFORM * (UNIFORM + 1) / 2),
    );
    check(
        "  %r = call i32 asm \".set three, 3 ; a comment\\0A.rept three\\0Av_xor_b32 $0, 1, $0\\0A.endr\", \"=v,0\"(i32 %x)",
        |_, x| x ^ 1,
    );
    // A dword written as data: s_nop 0.
    check("  call void asm sideeffect \".long 0xbf800000\", \"\"()\n  %r = add i32 %x, 1", |_, x| {
        x.wrapping_add(1)
    });
}

#[test]
fn under_divergent_control_flow() {
    let body = "  %c = icmp ult i32 %i, 20
  br i1 %c, label %then, label %join
then:
  %t = call i32 asm sideeffect \"v_not_b32 $0, $1\", \"=v,v,~{s20},~{vcc}\"(i32 %x)
  br label %join
join:
  %r = phi i32 [ %x, %entry ], [ %t, %then ]";
    check(body, |i, x| if i < 20 { !x } else { x });
}

#[test]
fn loads_in_the_text_are_waited_for() {
    let body = "  %p = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %t = call i32 asm sideeffect \"global_load_dword $0, $1, off\", \"=v,v\"(ptr addrspace(1) %p)
  %r = add i32 %t, %x";
    check_on(&["gfx900", "gfx906"], body, |_, x| x.wrapping_mul(2));
}

/// More values live across than registers that the text leaves.
#[test]
fn clobbers_that_force_spills() {
    let mut body = String::new();
    for n in 0..40 {
        body += &format!("  %y{n} = mul i32 %x, {}\n", 2 * n + 3);
    }
    body += "  call void asm sideeffect \"; all but a few\", \"~{v[0:220]},~{s[4:90]}\"()\n";
    body += "  %z0 = xor i32 %y0, %u\n";
    for n in 1..40 {
        body += &format!("  %z{n} = xor i32 %z{}, %y{n}\n", n - 1);
    }
    body += "  %r = add i32 %z39, %i";
    check_on(&["gfx700", "gfx900"], &body, |i, x| {
        (0..40).fold(UNIFORM, |z, n| z ^ x.wrapping_mul(2 * n + 3)).wrapping_add(i)
    });
}

/// Text that takes the registers of the scratch resource: around a private array, under calls and with spills.
#[test]
fn scratch_whose_resource_the_text_overwrites() {
    const TAKES: &str =
        "  call void asm sideeffect \"s_mov_b64 s[0:1], 7\\0As_mov_b64 s[2:3], 9\", \"~{s[0:3]}\"()\n";
    let array = format!(
        "{TAKES}  %array = alloca [32 x i32], addrspace(5)
  %at = and i32 %i, 31
  %place = getelementptr i32, ptr addrspace(5) %array, i32 %at
  store volatile i32 %x, ptr addrspace(5) %place
{TAKES}  %r = load volatile i32, ptr addrspace(5) %place"
    );
    check(&array, |_, x| x);
    let calls = format!(
        "{TAKES}  %f = call i32 @keep(i32 %x)\n{TAKES}  %g = call i32 @keep(i32 %f)\n  %r = add i32 %g, %i"
    );
    let callee = "define internal i32 @keep(i32 %x) noinline {
  %slot = alloca i32, addrspace(5)
  store volatile i32 %x, ptr addrspace(5) %slot
  %r = load volatile i32, ptr addrspace(5) %slot
  ret i32 %r
}
";
    for cpu in PROCESSORS {
        for level in [0, 2] {
            let found = run(&(kernel(&calls) + callee), cpu, level);
            assert!((0..ITEMS).zip(found).all(|(i, r)| r == input(i).wrapping_add(i)), "{cpu} -O{level}");
        }
    }
    // Operands of the text in these very registers, in a kernel whose calls hand the resource on there.
    let operands = "  %f = call i32 @keep(i32 %x)
  %v = insertelement <4 x i32> zeroinitializer, i32 %u, i32 2
  %w = call <4 x i32> asm sideeffect \"s_add_u32 s2, s2, 5\", \"={s[0:3]},0,~{scc}\"(<4 x i32> %v)
  %g = call i32 @keep(i32 %f)
  %h = extractelement <4 x i32> %w, i32 2
  %r = add i32 %g, %h";
    for level in [0, 2] {
        let found = run(&(kernel(operands) + callee), "gfx900", level);
        assert!((0..ITEMS).zip(found).all(|(i, r)| r == input(i).wrapping_add(UNIFORM + 5)), "-O{level}");
    }
    let mut spills = TAKES.to_owned();
    for n in 0..40 {
        spills += &format!("  %y{n} = mul i32 %x, {}\n", 2 * n + 3);
    }
    spills += "  call void asm sideeffect \"; all but a few\", \"~{v[0:220]},~{s[0:90]}\"()\n  %z0 = xor i32 %y0, %u\n";
    for n in 1..40 {
        spills += &format!("  %z{n} = xor i32 %z{}, %y{n}\n", n - 1);
    }
    spills += "  %r = add i32 %z39, %i";
    check_on(&["gfx700", "gfx900"], &spills, |i, x| {
        (0..40).fold(UNIFORM, |z, n| z ^ x.wrapping_mul(2 * n + 3)).wrapping_add(i)
    });
}

#[test]
fn module_assembly() {
    let text = kernel("  %f = call i32 @twice(i32 %x)\n  %r = add i32 %f, %i")
        + "declare i32 @twice(i32)
module asm \".globl twice\"
module asm \".type twice,@function\"
module asm \"twice:\"
module asm \"  s_waitcnt vmcnt(0) lgkmcnt(0)\"
module asm \"  v_lshlrev_b32 v0, 1, v0\"
module asm \"  s_setpc_b64 s[30:31]\"
";
    let object = gcnc::compile(text.as_bytes(), "test", &options("gfx900", 2)).expect("compiles").bytes;
    let needle = b"twice\0";
    assert!(object.windows(needle.len()).any(|bytes| bytes == needle), "the symbol is in the object");
    // v_lshlrev_b32_e32 v0, 1, v0
    let word = 0x2400_0081u32.to_le_bytes();
    assert!(object.chunks_exact(4).any(|bytes| bytes == word), "its code is in the object");
}

/// Register counts of the descriptor cover operands, clobbers and what the text names.
#[test]
fn counts_cover_the_text() {
    let text = kernel("  call void asm sideeffect \"v_mov_b32 v77, 0\", \"~{s60}\"()\n  %r = add i32 %x, 0");
    let output = gcnc::compile(text.as_bytes(), "test", &options("gfx900", 2)).expect("compiles");
    let stats = &output.functions[0];
    assert!(stats.vgprs >= 78 && stats.sgprs >= 61, "{} VGPRs, {} SGPRs", stats.vgprs, stats.sgprs);
}

#[test]
fn refusals_name_the_rule() {
    let refused = |body: &str, cpu: &str, message: &str| {
        let text = kernel(&format!("{body}\n  %r = add i32 %x, 0"));
        for level in [0, 2] {
            let errors = match gcnc::compile(text.as_bytes(), "test", &options(cpu, level)) {
                Ok(_) => panic!("accepted: {body}"),
                Err(errors) => errors,
            };
            let found = errors[0].to_string();
            assert!(found.contains(message) && found.contains("function k"), "{found}");
            assert_ne!(errors[0].kind, mir::ErrorKind::Defect, "{found}");
        }
    };
    let asm = |text: &str, constraints: &str, args: &str| {
        format!("  call void asm sideeffect \"{text}\", \"{constraints}\"({args})")
    };
    let input = "couldn't allocate input reg for constraint";
    refused(&asm("; $0", "a", "i32 %x"), "gfx900", &format!("{input} 'a'"));
    refused(&asm("; $0", "q", "i32 %x"), "gfx900", &format!("{input} 'q'"));
    refused(&asm("; $0", "v", "i8 1"), "gfx900", &format!("{input} 'v'"));
    refused(&asm("; $0", "v", "i256 1"), "gfx900", &format!("{input} 'v'"));
    refused(&asm("; $0", "{s[3:4]}", "i64 1"), "gfx900", &format!("{input} '{{s[3:4]}}'"));
    refused(&asm("; $0", "{s[4:5]}", "i32 %u"), "gfx900", &format!("{input} '{{s[4:5]}}'"));
    refused(&asm("; $0", "v", "<2 x i16> zeroinitializer"), "gfx700", &format!("{input} 'v'"));
    refused(&asm("; $0", "I", "i32 65"), "gfx900", "invalid operand for inline asm constraint 'I'");
    refused(&asm("; $0", "^DA", "i64 65"), "gfx900", "invalid operand for inline asm constraint 'DA'");
    refused(&asm("; $0", "n", "i32 %x"), "gfx900", "invalid operand for inline asm constraint 'n'");
    refused(
        &asm("; $0", "*v", "ptr addrspace(1) elementtype(i32) %pa"),
        "gfx900",
        "indirect register inputs",
    );
    refused(
        &asm("; $0", "*m", "ptr addrspace(1) elementtype(i32) %pa"),
        "gfx900",
        "could not match memory address",
    );
    // Registers that do not exist are over the limit; those that do are not.
    refused(&asm("", "~{s[96:103]},~{vcc}", ""), "gfx700", "106 SGPRs are used, gfx700 can address 104");
    refused(&asm("", "~{s[100:103]}", ""), "gfx803", "104 SGPRs are used");
    refused(&asm("v_nonsense v0", "", ""), "gfx900", "unknown instruction v_nonsense");
    refused(&asm("s_nop 0\\0Av_add_u32 v0, v1", "", ""), "gfx900", "line 2");
    refused(&asm("v_pk_add_f16 v0, v1, v2", "", ""), "gfx803", "not supported");
    refused(&asm("v_mov_b32 v0, $3", "", ""), "gfx900", "invalid operand in inline asm");
    refused(
        "  %q = call i8 asm \"; $0\", \"=v\"()",
        "gfx900",
        "couldn't allocate output register for constraint 'v'",
    );
}

/// The registers before it may hold the scratch resource, which text in a kernel that spills may not change.
const FIRST_SGPR: u32 = 4;

/// Values of all lanes.
type Lanes = Vec<u32>;

/// A random kernel of inline assembly: values, and what each is in each lane.
struct Program {
    rng: fastrand::Rng,
    body: String,
    values: Vec<(String, Lanes)>,
}

impl Program {
    fn new(seed: u64) -> Self {
        let lanes = |f: fn(u32) -> u32| (0..ITEMS).map(f).collect();
        let values = vec![
            ("%x".to_owned(), lanes(input)),
            ("%i".to_owned(), lanes(|i| i)),
            ("%u".to_owned(), lanes(|_| UNIFORM)),
        ];
        Self { rng: fastrand::Rng::with_seed(seed), body: String::new(), values }
    }

    fn pick(&mut self) -> (String, Lanes) {
        let n = self.rng.usize(..self.values.len());
        self.values[n].clone()
    }

    fn name(&self) -> String {
        format!("%n{}", self.values.len())
    }

    /// Different numbers below `end`.
    fn numbers<const N: usize>(&mut self, end: u32) -> [u32; N] {
        let mut all: Vec<u32> = (0..end).collect();
        self.rng.shuffle(&mut all);
        std::array::from_fn(|i| all[i])
    }

    fn line(&mut self, text: String) {
        self.body += "  ";
        self.body += &text;
        self.body.push('\n');
    }

    fn define(&mut self, value: Lanes) {
        let name = self.name();
        self.values.push((name, value));
    }

    fn step(&mut self) {
        let ((a, x), (b, y), name) = (self.pick(), self.pick(), self.name());
        let both = |f: fn(u32, u32) -> u32| -> Lanes { x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect() };
        let k = self.rng.u32(65..);
        match self.rng.u32(..9) {
            0 => {
                self.line(format!(
                    "{name} = call i32 asm \"v_xor_b32 $0, $1, $2\", \"=v,v,v\"(i32 {a}, i32 {b})"
                ));
                self.define(both(|x, y| x ^ y));
            }
            1 => {
                self.line(format!(
                    "{name} = call i32 asm sideeffect \"v_mov_b32 $0, {k}\\0Av_xor_b32 $0, $0, $1\\0Av_and_b32 $0, $0, $2\", \"=&v,v,v\"(i32 {a}, i32 {b})"
                ));
                self.define(x.iter().zip(&y).map(|(x, y)| (k ^ x) & y).collect());
            }
            2 => {
                // What differs between lanes is taken from the first.
                self.line(format!(
                    "{name} = call i32 asm \"s_xor_b32 $0, $1, $2\", \"=s,s,s,~{{scc}}\"(i32 {a}, i32 {b})"
                ));
                self.define(vec![x[0] ^ y[0]; ITEMS as usize]);
            }
            3 => {
                self.line(format!("{name} = call i32 asm \"v_not_b32 $0, $0\", \"=v,0\"(i32 {a})"));
                self.define(x.iter().map(|x| !x).collect());
            }
            4 => {
                let [d, p, q] = self.numbers::<3>(12);
                self.line(format!(
                    "{name} = call i32 asm sideeffect \"v_or_b32 v{d}, v{p}, v{q}\", \"={{v{d}}},{{v{p}}},{{v{q}}}\"(i32 {a}, i32 {b})"
                ));
                self.define(both(|x, y| x | y));
            }
            5 => {
                let [d, p] = self.numbers::<2>(26).map(|n| n + FIRST_SGPR);
                self.line(format!(
                    "{name} = call i32 asm sideeffect \"s_not_b32 s{d}, s{p}\", \"={{s{d}}},{{s{p}}},~{{scc}}\"(i32 {a})"
                ));
                self.define(vec![!x[0]; ITEMS as usize]);
            }
            6 => {
                self.line(format!(
                    "{name}p = call {{ i32, i32 }} asm \"v_mov_b32 $0, $3\\0Av_mov_b32 $1, $2\", \"=&v,=&v,v,v\"(i32 {a}, i32 {b})"
                ));
                self.line(format!("{name} = extractvalue {{ i32, i32 }} {name}p, 0"));
                self.define(y.clone());
                let second = self.name();
                self.line(format!("{second} = extractvalue {{ i32, i32 }} {name}p, 1"));
                self.define(x);
            }
            7 => {
                let [v, w, s] = self.numbers::<3>(20);
                let s = s + FIRST_SGPR;
                self.line(format!(
                    "call void asm sideeffect \"v_mov_b32 v{v}, {k}\\0Av_mov_b32 v{w}, {k}\\0As_mov_b32 s{s}, {k}\\0As_mov_b64 vcc, 0\", \"~{{v{v}}},~{{v{w}}},~{{s{s}}},~{{vcc}}\"()"
                ));
            }
            _ => {
                // A tuple whose first and third register stay what they are.
                let file = if self.rng.bool() { 'v' } else { 's' };
                let at = self.values.len();
                for (n, value) in [&a, &b, &a, &b].into_iter().enumerate() {
                    let before = if n == 0 { "poison".to_owned() } else { format!("%t{at}_{}", n - 1) };
                    self.line(format!("%t{at}_{n} = insertelement <4 x i32> {before}, i32 {value}, i32 {n}"));
                }
                self.line(format!("%t{at} = call <4 x i32> asm \"; $0\", \"={file},0\"(<4 x i32> %t{at}_3)"));
                self.line(format!("{name} = extractelement <4 x i32> %t{at}, i32 3"));
                self.define(if file == 'v' { y } else { vec![y[0]; ITEMS as usize] });
            }
        }
    }

    /// Every value is used at the end, so all live until then.
    fn finish(&mut self) -> Lanes {
        let mut sum: Lanes = vec![0; ITEMS as usize];
        let mut last = "0".to_owned();
        for (n, (name, lanes)) in self.values.clone().into_iter().enumerate() {
            let factor = 2 * n as u32 + 1;
            self.line(format!("%m{n} = mul i32 {name}, {factor}"));
            self.line(format!("%s{n} = add i32 %m{n}, {last}"));
            last = format!("%s{n}");
            sum.iter_mut().zip(lanes).for_each(|(sum, x)| *sum = sum.wrapping_add(x.wrapping_mul(factor)));
        }
        self.line(format!("%r = add i32 {last}, 0"));
        sum
    }
}

#[test]
fn random_sequences() {
    for seed in 0..48 {
        let mut program = Program::new(seed);
        let steps = program.rng.u32(4..60);
        (0..steps).for_each(|_| program.step());
        let expected = program.finish();
        let mut text = kernel(&program.body);
        if seed % 3 != 0 {
            // Few registers, so that values are spilled around the text.
            let attributes = " \"amdgpu-num-vgpr\"=\"24\" \"amdgpu-num-sgpr\"=\"48\" {\n";
            text = text.replacen(" {\n", attributes, 1);
        }
        let cpu = PROCESSORS[seed as usize % PROCESSORS.len()];
        for level in [0, 2] {
            assert_eq!(run(&text, cpu, level), expected, "seed {seed}, {cpu} -O{level}:\n{text}");
        }
    }
}
