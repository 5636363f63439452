//! What happens between passes, as the command line offers it: printing, stopping, starting, timing.

use gcnc::pipeline::PASSES;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const TEXT: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@table = internal addrspace(4) constant [4 x i32] [i32 1, i32 5, i32 7, i32 9]
@tile = internal addrspace(3) global [64 x i32] poison, align 4
declare i32 @llvm.amdgcn.workitem.id.x()
define internal i32 @helper(i32 %x) noinline {
  %y = udiv i32 %x, 7
  ret i32 %y
}
define amdgpu_kernel void @first(ptr addrspace(1) %out, i32 %limit) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %c = icmp ult i32 %l, %limit
  br i1 %c, label %loop, label %end
loop:
  %i = phi i32 [0, %0], [%n, %loop]
  %n = add i32 %i, 3
  %d = icmp ult i32 %n, %l
  br i1 %d, label %loop, label %end
end:
  %x = phi i32 [7, %0], [%n, %loop]
  %z = call i32 @helper(i32 %x)
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %z, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @second(ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %m = and i32 %l, 3
  %e = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %m
  %v = load i32, ptr addrspace(4) %e
  %t = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %l
  store i32 %v, ptr addrspace(3) %t
  %a = call i32 asm sideeffect "v_mov_b32 $0, $1", "=v,v"(i32 %v)
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %a, ptr addrspace(1) %p
  ret void
}
"#;

/// Runs gcnc with `input` on standard input and the output on standard output.
fn gcnc(input: &[u8], flags: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcnc"))
        .args(["-o", "-", "-"])
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that refuses its flags does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// The same, which must succeed.
#[track_caller]
fn run(input: &[u8], flags: &[&str]) -> (Vec<u8>, String) {
    let output = gcnc(input, flags);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{flags:?}: {stderr}");
    (output.stdout, stderr)
}

#[test]
fn stopping_and_starting_anywhere_makes_the_same_object() {
    for (cpu, level) in [("gfx900", "-O2"), ("gfx803", "-O0"), ("gfx600", "-O2")] {
        let cpu = format!("-mcpu={cpu}");
        let base = [cpu.as_str(), level, "-filetype=obj"];
        let (whole, _) = run(TEXT.as_bytes(), &base);
        let flags = |extra: &[&str]| -> Vec<String> {
            base.iter().chain(extra).map(|flag| (*flag).to_owned()).collect()
        };
        for pass in &PASSES[..PASSES.len() - 1] {
            for when in ["before", "after"] {
                let (stop, start) =
                    (format!("--stop-{when}={}", pass.name), format!("--start-{when}={}", pass.name));
                let stop: Vec<String> = flags(&[&stop]);
                let (text, _) = run(TEXT.as_bytes(), &stop.iter().map(String::as_str).collect::<Vec<_>>());
                // Before the first pass of all there is only the text of the module.
                let start: Vec<String> = flags(&[&start]);
                let (object, _) = run(&text, &start.iter().map(String::as_str).collect::<Vec<_>>());
                assert!(object == whole, "{cpu} {level} {when} {}", pass.name);
            }
        }
    }
}

#[test]
fn every_pass_is_shown() {
    let (_, printed) = run(TEXT.as_bytes(), &["-mcpu=gfx900", "--print-after-all", "--print-before-all"]);
    for pass in PASSES {
        assert!(printed.contains(&format!(" after {}\n", pass.name)), "{}", pass.name);
    }
    let (_, printed) = run(
        TEXT.as_bytes(),
        &["-mcpu=gfx900", "--print-after=select,allocate", "--filter-print-funcs=first"],
    );
    let headers: Vec<&str> = printed.lines().filter(|line| line.starts_with("; ")).collect();
    assert_eq!(headers, ["; first after select", "; first after allocate"]);
}

#[test]
fn every_pass_is_timed() {
    let (_, printed) = run(TEXT.as_bytes(), &["-mcpu=gfx900", "--time-passes"]);
    for pass in PASSES {
        assert!(printed.lines().any(|line| line.ends_with(&format!("  {}", pass.name))), "{}", pass.name);
    }
    assert!(printed.lines().any(|line| line.ends_with("  read")), "{printed}");
    let (stdout, _) = run(TEXT.as_bytes(), &["-mcpu=gfx900", "--stats=json", "-filetype=null"]);
    let stdout = String::from_utf8(stdout).unwrap();
    for line in stdout.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        for pass in ["legalize", "select", "allocate", "encode"] {
            assert!(value["micros"][pass].is_u64(), "{pass}: {line}");
        }
    }
    assert_eq!(stdout.lines().count(), 3);
}

#[test]
fn one_pass_runs_alone() {
    let (before, _) = run(TEXT.as_bytes(), &["-mcpu=gfx900", "--stop-before=insert-waits"]);
    let (alone, _) = run(&before, &["-mcpu=gfx900", "--run-pass=insert-waits"]);
    let (after, _) = run(TEXT.as_bytes(), &["-mcpu=gfx900", "--stop-after=insert-waits"]);
    assert_eq!(String::from_utf8(alone).unwrap(), String::from_utf8(after).unwrap());
}

#[test]
fn wrong_places_are_refused() {
    let refused = |flags: &[&str], input: &[u8], text: &str| {
        let output = gcnc(input, flags);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && stderr.contains(text), "{flags:?}: {stderr}");
    };
    refused(&["--stop-after=nonsense"], b"", "one of apply-options, ");
    refused(&["--stop-after=select", "--stop-before=allocate"], b"", "cannot be used with");
    let (selected, _) = run(TEXT.as_bytes(), &["-mcpu=gfx900", "--stop-after=select"]);
    refused(&["-mcpu=gfx900", "--start-after=allocate"], &selected, "stage");
    refused(&["-mcpu=gfx900", "--start-before=allocate"], b"nonsense", "expected");
    // Code that breaks a rule of its stage is the fault of who wrote it.
    let broken = String::from_utf8(selected).unwrap().replacen("  end\n", "  jump\n", 1);
    let output = gcnc(broken.as_bytes(), &["-mcpu=gfx900", "--start-after=select"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && stderr.contains("successors"), "{stderr}");
}
