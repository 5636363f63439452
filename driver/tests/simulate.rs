//! `gcnc run` as people use it: typed arguments, what is printed, compared and limited.

use std::process::{Command, Output};

const SAXPY: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @saxpy(ptr addrspace(1) %y, ptr addrspace(1) %x, float %a) !kernel_arg_addr_space !0 !kernel_arg_access_qual !1 !kernel_arg_type !2 !kernel_arg_base_type !2 !kernel_arg_type_qual !3 {
  %local = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %start = mul i32 %group, 64
  %id = add i32 %start, %local
  %px = getelementptr float, ptr addrspace(1) %x, i32 %id
  %py = getelementptr float, ptr addrspace(1) %y, i32 %id
  %vx = load float, ptr addrspace(1) %px
  %vy = load float, ptr addrspace(1) %py
  %product = fmul float %a, %vx
  %sum = fadd float %product, %vy
  store float %sum, ptr addrspace(1) %py
  ret void
}
define amdgpu_kernel void @forever(ptr addrspace(1) %y) {
  br label %again
again:
  %old = load volatile i32, ptr addrspace(1) %y
  store volatile i32 %old, ptr addrspace(1) %y
  br label %again
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
!0 = !{i32 1, i32 1, i32 0}
!1 = !{!"none", !"none", !"none"}
!2 = !{!"float*", !"float*", !"float"}
!3 = !{!"", !"const", !""}
"#;

fn run(line: &str) -> Output {
    run_in(&tempfile::tempdir().unwrap(), line)
}

fn run_in(folder: &tempfile::TempDir, line: &str) -> Output {
    std::fs::write(folder.path().join("saxpy.ll"), SAXPY).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gcnc"));
    command
        .current_dir(folder.path())
        .args(["run", "saxpy.ll", "-mcpu=gfx900"])
        .args(line.split_whitespace());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const START: &str = "--kernel saxpy --grid 128 --block 64 --arg a=2.5 --arg x=iota:128 --arg y=ones:128xf32";

#[test]
fn arguments_have_types_and_results_are_printed() {
    let output = run(&format!("{START} --print y[0..3] --print y:u32[127] --print 1[2..4]"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let last = (2.5f32 * 127.0 + 1.0).to_bits();
    assert_eq!(text(&output.stdout), format!("y[0]: 1.0 3.5 6.0\ny[127]: {last}\n1[2]: 2.0 3.0\n"));
    assert!(
        text(&output.stderr).starts_with("saxpy: 128 work-items in 2 work-groups, "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn results_are_expected_saved_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(&folder, &format!("{START} --expect y=1,3.5,6 --save y=y.bin"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(std::fs::read(folder.path().join("y.bin")).unwrap()[4..8], 3.5f32.to_le_bytes());
    let output = run_in(&folder, &format!("{START} --expect y=file:y.bin --compare saxpy.ll -O0"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = run_in(&folder, &format!("{START} --expect y=1,3.4999,7"));
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr)
            .ends_with("y[1]: 3.5, expected 3.4999\ny[2]: 6.0, expected 7.0\ny: 2 of 3 elements differ\n")
    );
    let output = run_in(&folder, &format!("{START} --expect y=1,3.4999,6 --tolerance 0.001"));
    assert_eq!(output.status.code(), Some(0));
    // An object for another processor runs on that.
    let mut command = Command::new(env!("CARGO_BIN_EXE_gcnc"));
    command.current_dir(folder.path()).args([
        "saxpy.ll",
        "-mcpu=gfx803",
        "-filetype=hsaco",
        "-o",
        "old.hsaco",
    ]);
    assert!(command.status().unwrap().success());
    let output = run_in(&folder, &format!("{START} --compare old.hsaco"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    std::fs::write(folder.path().join("other.ll"), SAXPY.replace("fadd", "fsub")).unwrap();
    let output = run_in(&folder, &format!("{START} --compare other.ll"));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("y[0]: 1.0, there -1.0"), "{}", text(&output.stderr));
}

#[test]
fn wrong_arguments_are_explained() {
    let fails = |line: &str, expected: &str| {
        let output = run(line);
        assert_eq!(output.status.code(), Some(2), "{line}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{line}: {}", text(&output.stderr));
    };
    fails("--kernel saxpy", "--grid 1024");
    fails("--grid 64", "which kernel? --kernel names one of: forever, saxpy");
    fails("--kernel saxpy --grid 64 --arg a=1", "0: float* y, global_buffer: --arg y=zeros:1024xf32");
    fails("--kernel saxpy --grid 64 --arg a=1 --arg b=2", "no argument is called `b`");
    fails(&format!("{START} --memory-limit 600"), "--memory-limit");
    fails(&format!("{START} --print z"), "no buffer is called `z`; there are: y, x");
    fails(&format!("{START} --dispatch d.json"), "cannot be used with");
    fails("--kernel saxpy --grid 64 --block 2048 --arg a=1 --arg x=1 --arg y=1", "2048 work-items");
}

#[test]
fn runs_end() {
    let stopped = |line: &str, expected: &str| {
        let start = std::time::Instant::now();
        let output = run(line);
        assert_eq!(output.status.code(), Some(3), "{line}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{line}: {}", text(&output.stderr));
        assert!(start.elapsed().as_secs() < 50, "{line}");
    };
    stopped("--kernel forever --grid 64 --arg y=0 --time-limit 1", "the time limit of 1 s is used up");
    stopped(
        "--kernel forever --grid 64 --arg y=0 --max-instructions 1000",
        "the instruction budget is used up",
    );
    let huge = "--kernel saxpy --block 64 --arg a=2 --arg x=zeros:64 --arg y=zeros:64";
    // Behind the first work-group, not behind the last.
    stopped(&format!("{huge} --grid 4294967295,1000000"), "the grid is too large to run here");
    stopped(&format!("{huge} --grid 4294967295,4294967295,4294967295 --block 1,1,1"), "work-groups");
}

#[test]
fn profiles_and_traces() {
    let output = run(&format!("{START} --profile=folded"));
    let folded = text(&output.stdout);
    assert!(output.status.success() && folded.lines().count() > 5, "{folded}");
    for line in folded.lines() {
        let (frames, cycles) = line.rsplit_once(' ').unwrap();
        assert!(frames.starts_with("saxpy;+0x") && cycles.parse::<u64>().unwrap() > 0, "{line}");
    }
    let output = run(&format!("{START} --profile"));
    assert!(text(&output.stdout).contains("wave cycles"), "{}", text(&output.stdout));
    let output = run(&format!("{START} --trace"));
    assert!(text(&output.stderr).contains("w0 +0x0: "), "{}", text(&output.stderr));
    let output = run(&format!("{START} --stats=json"));
    assert!(text(&output.stdout).contains("\"instructions\":"), "{}", text(&output.stdout));
}

#[test]
fn json_has_limits_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let dispatch =
        r#"{"kernel": "forever", "grid": [64, 1, 1], "group": [64, 1, 1], "args": [{"buffer": 64}]}"#;
    std::fs::write(folder.path().join("d.json"), dispatch).unwrap();
    let output = run_in(&folder, "--dispatch d.json --time-limit 1");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let output = run_in(&folder, "--dispatch d.json --memory-limit 63");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("limit of 63 bytes"), "{}", text(&output.stderr));
}

/// Kernels whose metadata names no types get them from IR; where there is none, integers and floats must be told apart.
/// Writes a half of FLAT_SCRATCH, reads the whole, and puts it back.
const FLAT_SCRATCH: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %n) {
  %old = call i64 @llvm.read_register.i64(metadata !0)
  %low = trunc i64 %old to i32
  %new = add i32 %low, %n
  call void @llvm.write_register.i32(metadata !1, i32 %new)
  %now = call i64 @llvm.read_register.i64(metadata !0)
  call void @llvm.write_register.i64(metadata !0, i64 %old)
  %back = call i32 @llvm.read_register.i32(metadata !1)
  %difference = sub i64 %now, %old
  store i64 %difference, ptr addrspace(1) %out
  %same = icmp eq i32 %back, %low
  %one = zext i1 %same to i32
  %behind = getelementptr i32, ptr addrspace(1) %out, i32 2
  store i32 %one, ptr addrspace(1) %behind
  ret void
}
declare i64 @llvm.read_register.i64(metadata)
declare i32 @llvm.read_register.i32(metadata)
declare void @llvm.write_register.i32(metadata, i32)
declare void @llvm.write_register.i64(metadata, i64)
!0 = !{!"flat_scratch"}
!1 = !{!"flat_scratch_lo"}
"#;

/// SGPRs on GFX9, hardware registers on GFX10.
#[test]
fn flat_scratch_is_read_and_written_by_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.ll"), FLAT_SCRATCH).unwrap();
    for cpu in ["gfx900", "gfx1010", "gfx1030"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gcnc"));
        command
            .current_dir(folder.path())
            .args(["run", "k.ll", "--mcpu", cpu, "--grid", "1", "--block", "1"]);
        let output =
            command.args(["--arg", "zeros:3xu32", "--arg", "4:i32", "--print", "out"]).output().unwrap();
        assert_eq!(text(&output.stdout), "out[0]: 4 0 1\n", "{cpu}: {}", text(&output.stderr));
    }
}

#[test]
fn values_have_the_types_of_ir() {
    let folder = tempfile::tempdir().unwrap();
    let plain = SAXPY.split(" !kernel_arg_addr_space").next().unwrap().to_owned()
        + &SAXPY[SAXPY.find(" {\n").unwrap()..].replace("!0 = !{i32 1, i32 1, i32 0}", "!0 = !{}");
    std::fs::write(folder.path().join("plain.ll"), plain).unwrap();
    let gcnc = |line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gcnc"));
        command.current_dir(folder.path()).args(line.split_whitespace()).output().unwrap()
    };
    let start = "--kernel saxpy --grid 64 --arg 0=ones:64xf32 --arg 1=iota:64xf32";
    let output = gcnc(&format!("run plain.ll -mcpu=gfx900 {start} --arg 2=3 --print 0[0..3]"));
    assert_eq!(text(&output.stdout), "0[0]: 1.0 4.0 7.0\n", "{}", text(&output.stderr));
    assert!(gcnc("plain.ll -mcpu=gfx900 -filetype=hsaco -o plain.hsaco").status.success());
    let output = gcnc(&format!("run plain.hsaco {start} --arg 2=3"));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("integers or floats is not known: `3:i32` or `3:f32`"),
        "{}",
        text(&output.stderr)
    );
    let output = gcnc(&format!("run plain.hsaco {start} --arg 2=3:f32 --print 0[0..3]"));
    assert_eq!(text(&output.stdout), "0[0]: 1.0 4.0 7.0\n", "{}", text(&output.stderr));
}

/// Objects of hosts have bundles, plain or compressed, or offload binaries in sections of their own.
#[test]
fn code_objects_in_objects_of_hosts_run() {
    use object::write::Object;
    use object::{Architecture, BinaryFormat, Endianness, SectionKind};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("saxpy.ll"), SAXPY).unwrap();
    std::fs::write(path("other.ll"), SAXPY.replace("@saxpy", "@other").replace("@forever", "@never"))
        .unwrap();
    std::fs::write(path("empty"), "").unwrap();
    let gcnc = |line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gcnc"));
        command.current_dir(folder.path()).args(line.split_whitespace()).output().unwrap()
    };
    let done = |line: &str| {
        let output = gcnc(line);
        assert!(output.status.success(), "gcnc {line}: {}", text(&output.stderr));
    };
    for cpu in ["gfx900", "gfx803"] {
        done(&format!("saxpy.ll -mcpu={cpu} -filetype=hsaco -o {cpu}.hsaco"));
    }
    done("other.ll -mcpu=gfx900 -filetype=hsaco -o other.hsaco");
    let targets = "-targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx900,hipv4-amdgcn-amd-amdhsa--gfx803";
    done(&format!(
        "bundle -type=o {targets} -input=empty -input=gfx900.hsaco -input=gfx803.hsaco -output=plain"
    ));
    done(&format!(
        "bundle -type=o -compress {targets} -input=empty -input=gfx900.hsaco -input=gfx803.hsaco -output=packed"
    ));
    done(
        "bundle -type=o -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx900 -input=empty -input=other.hsaco -output=second",
    );
    let host = |name: &str, section: &str, bundles: &[&str]| {
        let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let section = object.add_section(Vec::new(), section.into(), SectionKind::ReadOnlyData);
        for bundle in bundles {
            object.append_section_data(section, &std::fs::read(path(bundle)).unwrap(), 4096);
        }
        std::fs::write(path(name), object.write().unwrap()).unwrap();
    };
    host("host.o", ".hip_fatbin", &["plain"]);
    host("packed.o", ".hip_fatbin", &["packed"]);
    host("two.o", ".hip_fatbin", &["plain", "second"]);
    host("none.o", ".data", &[]);
    let rest = "--grid 64 --arg a=2 --arg x=iota:64 --arg y=ones:64xf32 --print y[0..3]";
    for (file, kernel) in [("host.o", "saxpy"), ("packed.o", "saxpy"), ("two.o", "saxpy"), ("two.o", "other")]
    {
        let output = gcnc(&format!("run {file} -mcpu=gfx900 --kernel {kernel} {rest}"));
        assert_eq!(text(&output.stdout), "y[0]: 1.0 3.0 5.0\n", "{file}: {}", text(&output.stderr));
    }
    let fails = |line: &str, status: i32, message: &str| {
        let output = gcnc(line);
        assert_eq!(output.status.code(), Some(status), "{line}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(message), "{line}: {}", text(&output.stderr));
    };
    fails(&format!("run host.o --kernel saxpy {rest}"), 2, "in the bundle: gfx803, gfx900");
    fails(&format!("run two.o -mcpu=gfx900 {rest}"), 2, "2 code objects fit: --kernel chooses");
    fails(&format!("run two.o -mcpu=gfx900 --kernel no {rest}"), 1, "none of its code objects has a kernel");
    fails(&format!("run none.o --kernel saxpy {rest}"), 1, "no code object");
    let listed = gcnc("disasm host.o --mcpu=gfx803");
    assert!(text(&listed.stdout).contains("amdhsa--gfx803"), "{}", text(&listed.stderr));
}

/// A reader that has seen enough is no error of anybody's.
#[test]
fn closed_pipes_are_quiet() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("saxpy.ll"), SAXPY).unwrap();
    let run = format!("run saxpy.ll -mcpu=gfx900 {START} --print y --stats=json --profile");
    let trace = format!("run saxpy.ll -mcpu=gfx900 {START} --trace");
    let made = ["saxpy.ll -mcpu=gfx900 -filetype=obj -o k.o", "saxpy.ll -mcpu=gfx900 -o k.s"];
    let printing = [
        "inspect k.o",
        "inspect k.o --json",
        "disasm k.o",
        "explain k.o:saxpy+0 --format json",
        "--list-passes",
        "--help",
        "completions bash",
        "saxpy.ll -mcpu=gfx900 -o - --stats=json",
        "as k.s -mcpu=gfx900 -o -",
        &run,
        &trace,
    ];
    for (line, is_closed) in made.iter().map(|line| (*line, false)).chain(printing.map(|line| (line, true))) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gcnc"));
        command.current_dir(folder.path()).args(line.split_whitespace());
        let (reader, writer) = std::io::pipe().unwrap();
        if is_closed {
            command.stdout(writer.try_clone().unwrap()).stderr(writer);
            drop(reader);
        }
        let status = command.status().unwrap();
        assert_eq!(status.code(), Some(0), "gcnc {line}");
    }
}

const DIVISION: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %dividends, ptr addrspace(1) %divisors) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %px = getelementptr i32, ptr addrspace(1) %dividends, i32 %t
  %py = getelementptr i64, ptr addrspace(1) %divisors, i32 %t
  %narrow = load i32, ptr addrspace(1) %px
  %y = load i64, ptr addrspace(1) %py
  %x = zext i32 %narrow to i64
  %q = udiv i64 %x, %y
  %r = urem i64 %x, %y
  %first = mul i32 %t, 2
  %pq = getelementptr i64, ptr addrspace(1) %out, i32 %first
  store i64 %q, ptr addrspace(1) %pq
  %pr = getelementptr i64, ptr addrspace(1) %pq, i32 1
  store i64 %r, ptr addrspace(1) %pr
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

/// Divisors whose lower half says something else than the whole, above all.
#[test]
fn short_dividends_are_divided_by_long_divisors() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.ll"), DIVISION).unwrap();
    let dividends = [0u64, 1, 7, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    let divisors = [
        1u64,
        2,
        3,
        0xffff_fffe,
        0xffff_ffff,
        1 << 32,
        (1 << 32) + 3,
        5 << 32,
        (2 << 32) - 1,
        1 << 63,
        u64::MAX,
    ];
    let pairs: Vec<[u64; 2]> = dividends.iter().flat_map(|&x| divisors.map(|y| [x, y])).collect();
    let list = |of: &dyn Fn(&[u64; 2]) -> Vec<u64>, ty: &str| {
        let values: Vec<String> = pairs.iter().flat_map(of).map(|value| value.to_string()).collect();
        format!("{}:{ty}", values.join(","))
    };
    let expected = format!("0={}", list(&|&[x, y]| vec![x / y, x % y], "u64"));
    let (xs, ys) = (list(&|&[x, _]| vec![x], "u32"), list(&|&[_, y]| vec![y], "u64"));
    let (items, results) = (pairs.len().to_string(), format!("zeros:{}xu64", 2 * pairs.len()));
    for cpu in ["gfx600", "gfx900", "gfx1030"] {
        for level in ["0", "2"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_gcnc"));
            command.current_dir(folder.path()).args(["run", "k.ll", "-O", level, "--mcpu", cpu]);
            command
                .args(["--grid", &items, "--block", &items, "--arg", &results, "--arg", &xs, "--arg", &ys]);
            let output = command.args(["--expect", &expected]).output().unwrap();
            assert!(output.status.success(), "{cpu} -O{level}: {}", text(&output.stderr));
        }
    }
}
