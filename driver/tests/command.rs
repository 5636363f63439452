//! The command as scripts see it: exit status, messages, files left behind.

use std::path::Path;
use std::process::{Command, Output};

struct Run {
    folder: tempfile::TempDir,
    output: Output,
}

impl Run {
    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn status(&self) -> Option<i32> {
        self.output.status.code()
    }
}

/// Runs gcnc on `input` with `flags`, writing to `out.o`.
fn gcnc(input: &[u8], flags: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input.ll");
    std::fs::write(&path, input).unwrap();
    run(folder, &path, flags)
}

fn run(folder: tempfile::TempDir, input: &Path, flags: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_gcnc"))
        .args(["-filetype=obj", "-o"])
        .arg(folder.path().join("out.o"))
        .args(flags)
        .arg(input)
        .output()
        .unwrap();
    Run { folder, output }
}

/// One error that contains `text`, exit status 1, no output file.
#[track_caller]
fn assert_refused(run: &Run, text: &str) {
    let stderr = run.stderr();
    assert_eq!(run.status(), Some(1), "{stderr}");
    assert!(stderr.starts_with("gcnc: error: "), "{stderr}");
    assert!(stderr.contains(text), "{stderr}");
    assert_eq!(stderr.matches("error:").count(), 1, "{stderr}");
    assert!(!run.folder.path().join("out.o").exists());
}

const KERNEL: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @store(ptr addrspace(1) %p, i32 %x) {
  store i32 %x, ptr addrspace(1) %p, align 4
  ret void
}
"#;
const GFX900: &[&str] = &["-mcpu=gfx900", "--amdhsa-code-object-version=3"];

/// Runs a subcommand with `input` on standard input.
fn subcommand(args: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcnc"))
        .args(args)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may have ended already.
    match child.stdin.take().unwrap().write_all(input.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => panic!("{error}"),
        _ => {}
    }
    child.wait_with_output().unwrap()
}

#[test]
fn instructions_in_bulk() {
    let lines = "s_endpgm\nv_add_f32 v0, s1, s2\n\ns_nop 0\n";
    let output = subcommand(&["mc", "--mcpu=gfx900", "--assemble"], lines);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[3]), (4, "000081bf", "000080bf"));
    assert!(lines[1].starts_with("error: 2:19: ") && lines[2].starts_with("error: "), "{text}");
    let output = subcommand(&["mc", "-mcpu=gfx900", "--disassemble"], "000081bf\nxyz\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "s_endpgm\n<invalid>\n");
}

/// Text of the compiler, assembled, has the code, descriptor and metadata of the compiler's object.
#[test]
fn own_text_assembles_to_the_same_code() {
    let object = gcnc(KERNEL.as_bytes(), GFX900);
    assert_eq!(object.status(), Some(0), "{}", object.stderr());
    let text = subcommand(&[GFX900, &["-filetype=asm", "-", "-o", "-"]].concat(), KERNEL);
    assert!(text.status.success(), "{}", String::from_utf8_lossy(&text.stderr));
    let text = String::from_utf8(text.stdout).unwrap();
    let output = subcommand(&["as", "--amdhsa-code-object-version=3", "-", "-o", "-"], &text);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = |bytes: &[u8]| {
        let path = object.folder.path().join("shown.o");
        std::fs::write(&path, bytes).unwrap();
        let output = subcommand(&["disasm", path.to_str().unwrap()], "");
        String::from_utf8(output.stdout).unwrap()
    };
    let compiled = std::fs::read(object.folder.path().join("out.o")).unwrap();
    let text = shown(&output.stdout);
    assert_eq!(text, shown(&compiled));
    assert!(text.contains("\nstore:\n") && text.contains("\ts_endpgm"), "{text}");
}

#[test]
fn wrong_assembly_is_refused_with_its_place() {
    let output = subcommand(&["as", "-mcpu=gfx900", "-", "-o", "-"], "\n  v_add_f32 v0, v1\n");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.starts_with("gcnc: error: -:2:19: too few operands"), "{stderr}");
}

#[test]
fn good_input_gives_an_elf_file() {
    let run = gcnc(KERNEL.as_bytes(), GFX900);
    assert_eq!(run.status(), Some(0), "{}", run.stderr());
    let bytes = std::fs::read(run.folder.path().join("out.o")).unwrap();
    assert_eq!(&bytes[..4], b"\x7fELF");
    assert_eq!(run.stderr(), "");
}

#[test]
fn standard_input_to_standard_output() {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcnc"))
        .args(GFX900)
        .args(["-o", "-", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(KERNEL.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("global_store_dword") && text.contains("s_endpgm"), "{text}");
}

#[test]
fn syntax_error_names_line_and_column() {
    let run = gcnc(KERNEL.replace("store i32", "stroe i32").as_bytes(), GFX900);
    assert_refused(&run, ":4:3: ");
}

#[test]
fn truncated_bitcode_is_refused() {
    let bitcode = [b"BC\xc0\xde".as_slice(), &[0x35, 0x14, 0, 0, 5, 0, 0, 0, 0x62, 0x0c]].concat();
    assert_refused(&gcnc(&bitcode, GFX900), "input.ll");
}

#[test]
fn empty_and_missing_files_are_refused() {
    assert_refused(&gcnc(b"", GFX900), "input.ll");
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.bc");
    assert_refused(&run(folder, &missing, GFX900), "missing.bc: No such file");
}

#[test]
fn other_targets_are_refused() {
    let run = gcnc(KERNEL.replace("amdgcn-amd-amdhsa", "x86_64-pc-linux-gnu").as_bytes(), GFX900);
    assert_refused(&run, "x86_64-pc-linux-gnu");
    assert_refused(&gcnc(KERNEL.as_bytes(), &["-mcpu=gfx9999"]), "unknown processor `gfx9999` (-mcpu=help");
}

#[test]
fn too_much_lds_is_refused_with_the_kernel_and_the_size() {
    let body = "  %q = getelementptr i8, ptr addrspace(3) @big, i32 %x\n  store i8 0, ptr addrspace(3) %q\n  ret void";
    let text =
        KERNEL.replace("  ret void", body) + "@big = internal addrspace(3) global [71680 x i8] undef\n";
    let run = gcnc(text.as_bytes(), GFX900);
    assert_refused(&run, "in function store: ");
    assert!(run.stderr().contains("71680"), "{}", run.stderr());
}

#[test]
fn attributes_that_are_no_numbers_are_refused_by_name() {
    for key in ["amdgpu-lds-size", "amdgpu-gds-size", "amdgpu-num-vgpr", "amdgpu-max-num-workgroups"] {
        let text = KERNEL.replace(") {", &format!(") \"{key}\"=\"many\" {{"));
        assert_refused(&gcnc(text.as_bytes(), GFX900), &format!("attribute \"{key}\" is not"));
    }
    let text = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @store(ptr addrspace(6) %p, ptr addrspace(1) %out) "amdgpu-32bit-address-high-bits"="many" {
  %wide = addrspacecast ptr addrspace(6) %p to ptr addrspace(4)
  store ptr addrspace(4) %wide, ptr addrspace(1) %out
  ret void
}
"#;
    assert_refused(&gcnc(text.as_bytes(), GFX900), "high bits of addresses: \"many\"");
}

#[test]
fn register_that_does_not_exist_is_refused() {
    let text =
        KERNEL.replace("  ret void", "  call void asm sideeffect \"\", \"{v299}\"(i32 %x)\n  ret void");
    assert_refused(&gcnc(text.as_bytes(), GFX900), "in function store: ");
}

#[test]
fn wrong_usage_is_status_two() {
    for flags in [&["-mcpu=gfx900", "--no-such-flag"][..], &["-filetype=exe"], &["-O7"]] {
        let run = gcnc(KERNEL.as_bytes(), flags);
        assert_eq!(run.status(), Some(2), "{flags:?}: {}", run.stderr());
    }
}

#[test]
fn every_bad_function_is_reported() {
    let other = KERNEL.replace("@store", "@other").replace("target triple = \"amdgcn-amd-amdhsa\"", "");
    let bad = "  %y = bitcast i32 %x to float
  %bad = call float @llvm.amdgcn.log.clamp.f32(float %y)
  store float %bad, ptr addrspace(1) %p
  ret void";
    let text = format!("{KERNEL}{other}").replace("  ret void", bad);
    let text = format!("{text}declare float @llvm.amdgcn.log.clamp.f32(float)\n");
    let run = gcnc(text.as_bytes(), GFX900);
    assert_eq!(run.status(), Some(1), "{}", run.stderr());
    assert!(run.stderr().contains("in function store: ") && run.stderr().contains("in function other: "));
}

#[test]
fn output_does_not_depend_on_threads() {
    let many: String = (0..20)
        .map(|i| {
            KERNEL
                .replace("@store", &format!("@store{i}"))
                .replace("target triple = \"amdgcn-amd-amdhsa\"", "")
        })
        .collect();
    let text = format!("target triple = \"amdgcn-amd-amdhsa\"\n{many}");
    let bytes = |threads: &str| {
        let run = gcnc(text.as_bytes(), &[GFX900, &[threads]].concat());
        assert_eq!(run.status(), Some(0), "{}", run.stderr());
        std::fs::read(run.folder.path().join("out.o")).unwrap()
    };
    assert_eq!(bytes("--threads=1"), bytes("--threads=4"));
}

/// llc's tuning flags are refused by name unless scripts say that they are written for llc.
#[test]
fn tuning_flags_need_compatibility() {
    let flag = "-amdgpu-sdwa-peephole=0";
    let strict = gcnc(KERNEL.as_bytes(), &[GFX900, &[flag]].concat());
    assert_eq!(strict.status(), Some(2));
    assert!(strict.stderr().contains("amdgpu-sdwa-peephole"), "{}", strict.stderr());
    let lenient =
        gcnc(KERNEL.as_bytes(), &[GFX900, &[flag, "--llc-compat", "-mattr=+no-such-thing"]].concat());
    assert_eq!(lenient.status(), Some(0), "{}", lenient.stderr());
    let warnings: Vec<_> = lenient.stderr().lines().map(str::to_owned).collect();
    assert!(
        warnings.len() == 2 && warnings.iter().all(|line| line.starts_with("gcnc: warning: ")),
        "{warnings:?}"
    );
    assert!(
        warnings[0].contains("amdgpu-sdwa-peephole") && warnings[1].contains("no-such-thing"),
        "{warnings:?}"
    );
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn flags_that_would_change_code_are_refused_whatever_is_asked_for() {
    for flag in ["-amdgpu-asan-instrument-lds", "-amdgpu-use-native=sin", "-no-such-flag"] {
        let run = gcnc(KERNEL.as_bytes(), &[GFX900, &["--llc-compat", flag]].concat());
        let name = flag.split('=').next().unwrap();
        assert_eq!(run.status(), Some(2), "{flag}");
        assert!(run.stderr().contains(name), "{}", run.stderr());
    }
    let usual = ["-amdgpu-asan-instrument-lds=0", "-amdgpu-enable-lower-module-lds"];
    let run = gcnc(KERNEL.as_bytes(), &[GFX900, &usual].concat());
    assert_eq!((run.status(), run.stderr()), (Some(0), String::new()));
}

/// The same bytes, however the command line is spelled.
#[test]
fn command_lines_are_llcs() {
    let bytes = |flags: &[&str]| {
        let output = subcommand(flags, KERNEL);
        assert!(output.status.success(), "{flags:?}: {}", stderr_of(&output));
        output.stdout
    };
    let wanted = bytes(&["-mcpu=gfx900", "-O1", "-filetype=obj", "-o", "-", "-"]);
    assert_eq!(&wanted[..4], b"\x7fELF");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flags");
    std::fs::write(&file, "-mcpu 'gfx900' -filetype=obj\n-O1 -o -").unwrap();
    let response = format!("@{}", file.display());
    let spellings: [&[&str]; 6] = [
        &["--mcpu", "gfx900", "-O=1", "--filetype", "obj"],
        &["-mcpu=fiji", "-O3", "--mcpu=gfx900", "--O1", "-filetype=asm", "-filetype=obj", "-o=-"],
        &[
            "-mcpu=gfx900",
            "-O",
            "1",
            "-filetype=obj",
            "-verify-machineinstrs=false",
            "-x=ir",
            "-march=amdgcn",
        ],
        &["-mcpu=gfx900", "-O1", "-filetype=obj", "-x", "IR", "-mtriple", "amdgcn-amd-amdhsa", "--o", "-"],
        &["--mcpu=gfx900", "--O=1", "--filetype=obj", "-verify-machineinstrs", "-time-passes=0", "-W"],
        &[&response],
    ];
    for flags in spellings {
        assert!(bytes(flags) == wanted, "{flags:?}");
    }
}

#[test]
fn processors_and_features_are_listed() {
    for flag in ["-mcpu=help", "-mattr=help"] {
        let output = subcommand(&[flag], "nonsense that is not read");
        let text = stderr_of(&output);
        assert!(output.status.success() && output.stdout.is_empty(), "{text}");
        for name in
            ["gfx803", "polaris10", "generic-hsa", "xnack", "flat-for-global", "unaligned-access-mode"]
        {
            assert!(text.contains(&format!("\n  {name} ")), "{name}: {text}");
        }
    }
}

/// What every stage leaves is in a file, and each file compiles on by itself to the same bytes.
#[test]
fn stages_are_saved_and_compile_on() {
    let folder = tempfile::tempdir().unwrap();
    let save = format!("--save-temps={}", folder.path().display());
    let output = subcommand(&["-mcpu=gfx900", "-filetype=obj", "-o", "-", &save], KERNEL);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    let stages = names.iter().filter(|name| name.ends_with(".mir")).count();
    assert!(stages >= 10 && names.len() == stages + 2, "{names:?}");
    assert!(names[0] == "stdin.00-read.mir" && names.contains(&"stdin.s".to_owned()), "{names:?}");
    for name in names.iter().filter(|name| name.ends_with(".mir")) {
        let path = folder.path().join(name);
        let again = subcommand(&["-mcpu=gfx900", "-filetype=obj", "-o", "-", path.to_str().unwrap()], "");
        assert!(again.stdout == output.stdout, "{name}: {}", stderr_of(&again));
        // From standard input its language must be said.
        let text = std::fs::read_to_string(&path).unwrap();
        let again = subcommand(&["-mcpu=gfx900", "-filetype=obj", "-x", "mir"], &text);
        assert!(again.stdout == output.stdout, "{name}: {}", stderr_of(&again));
    }
    let output = subcommand(&["-mcpu=gfx900", "-x=mir"], KERNEL);
    assert!(output.status.code() == Some(1) && stderr_of(&output).contains("next pass"));
}

#[test]
fn numbers_are_a_table_or_json() {
    let output = subcommand(&["-mcpu=gfx900", "-filetype=null", "-stats"], KERNEL);
    let text = stderr_of(&output);
    assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("  store")), "{text}");
    for flags in [["-stats", "json"], ["-stats-json", "-O2"]] {
        let output = subcommand(&[&["-mcpu=gfx900", "-filetype=null"], &flags[..]].concat(), KERNEL);
        assert!(output.stdout.starts_with(b"{\"function\":\"store\""), "{}", stderr_of(&output));
    }
}

#[test]
fn warnings_are_errors_or_silent_where_asked_for() {
    let warned =
        |flags: &[&str]| gcnc(KERNEL.as_bytes(), &[GFX900, &["-mattr=+no-such-thing"], flags].concat());
    assert_refused(&warned(&["-fatal-warnings"]), "no-such-thing");
    let silent = warned(&["-no-warn"]);
    assert_eq!((silent.status(), silent.stderr()), (Some(0), String::new()));
}

#[test]
fn stacks_without_a_bound_are_counted_as_asked_for() {
    let text = r#"
target triple = "amdgcn-amd-amdhsa"
declare void @unknown()
define amdgpu_kernel void @calls() {
  call void @unknown()
  ret void
}
"#;
    let size = |flags: &[&str]| {
        let output = subcommand(&[&["-mcpu=gfx900", "-o", "-"], flags].concat(), text);
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.contains(".amdhsa_private_segment_fixed_size"));
        line.and_then(|line| line.split_whitespace().last()?.parse::<u32>().ok()).unwrap_or_default()
    };
    let flag = "-amdgpu-assume-external-call-stack-size=64";
    assert_eq!([size(&[]), size(&[flag])], [0, 64]);
    assert_eq!(
        [size(&["--amdhsa-code-object-version=4"]), size(&["--amdhsa-code-object-version=4", flag])],
        [16384, 64]
    );
}

/// More threads than a process may have are as many as there is work for.
#[test]
fn any_number_of_threads_will_do() {
    let mut text = String::from("target triple = \"amdgcn-amd-amdhsa\"\n");
    for function in 0..8 {
        text += &format!("define void @f{function}(ptr addrspace(1) %p) {{\n");
        for i in 0..60 {
            text += &format!("  store volatile i32 {i}, ptr addrspace(1) %p\n");
        }
        text += "  ret void\n}\n";
    }
    let one = gcnc(text.as_bytes(), &["-mcpu=gfx900", "--threads=1"]);
    let many = gcnc(text.as_bytes(), &["-mcpu=gfx900", "--threads=20000"]);
    assert_eq!((one.status(), many.status()), (Some(0), Some(0)), "{}", many.stderr());
    let bytes = |run: &Run| std::fs::read(run.folder.path().join("out.o")).unwrap();
    assert!(bytes(&one) == bytes(&many));
}

#[test]
fn an_output_file_keeps_what_it_is() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("input.ll"), KERNEL).unwrap();
    let compile = |output: &str| {
        let status = Command::new(env!("CARGO_BIN_EXE_gcnc"))
            .args(["-mcpu=gfx900", "-filetype=obj", "-o"])
            .args([path(output), path("input.ll")])
            .status();
        assert_eq!(status.unwrap().code(), Some(0), "{output}");
    };
    let is_object = |name: &str| std::fs::read(path(name)).unwrap().starts_with(b"\x7fELF");
    std::fs::write(path("mode.o"), "old").unwrap();
    std::fs::set_permissions(path("mode.o"), std::fs::Permissions::from_mode(0o640)).unwrap();
    compile("mode.o");
    assert_eq!(std::fs::metadata(path("mode.o")).unwrap().mode() & 0o777, 0o640);
    std::fs::write(path("first.o"), "old and much longer than nothing").unwrap();
    std::fs::hard_link(path("first.o"), path("second.o")).unwrap();
    compile("first.o");
    assert_eq!(std::fs::metadata(path("first.o")).unwrap().nlink(), 2);
    std::os::unix::fs::symlink(path("mode.o"), path("link.o")).unwrap();
    std::fs::write(path("mode.o"), "old").unwrap();
    compile("link.o");
    assert!(std::fs::symlink_metadata(path("link.o")).unwrap().is_symlink());
    assert!(["mode.o", "first.o", "second.o", "link.o"].into_iter().all(is_object));
    // A file of devices is written, as before.
    compile("/dev/null");
}
