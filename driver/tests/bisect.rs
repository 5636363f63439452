//! `gcnc bisect` as scripts see it: exit status and what it prints.

use std::process::{Command, Output};

const DISPATCH: &str =
    r#"{"kernel": "k", "grid": [128, 1, 1], "group": [128, 1, 1], "args": [{"buffer": 512}]}"#;

/// Work-items hand a value to each other through LDS; without the barrier they race.
const EXCHANGE: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [128 x i32] poison, align 4
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %slot = getelementptr [128 x i32], ptr addrspace(3) @tile, i32 0, i32 %l
  store i32 %l, ptr addrspace(3) %slot
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %n = xor i32 %l, 64
  %other = getelementptr [128 x i32], ptr addrspace(3) @tile, i32 0, i32 %n
  %x = load i32, ptr addrspace(3) %other
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %x, ptr addrspace(1) %p
  ret void
}
"#;

fn bisect(text: &str, dispatch: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let (input, json) = (folder.path().join("input.ll"), folder.path().join("dispatch.json"));
    std::fs::write(&input, text).unwrap();
    std::fs::write(&json, dispatch).unwrap();
    Command::new(env!("CARGO_BIN_EXE_gcnc"))
        .arg("bisect")
        .arg(&input)
        .args(["-mcpu=gfx900", "-O2", "--dispatch"])
        .arg(&json)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn stages_that_agree_are_status_zero() {
    let output = bisect(EXCHANGE, DISPATCH);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}{}", text(&output.stderr));
    for pass in [
        "apply-options",
        "lay-out-lds",
        "select",
        "combine",
        "linearise",
        "memory-model",
        "schedule",
        "allocate",
        "remove-identity-moves",
        "encode",
    ] {
        assert!(printed.contains(&format!("{pass:22}ran\n")), "{printed}");
    }
}

#[test]
fn a_stage_that_differs_is_status_three() {
    let racing = EXCHANGE.replace("  call void @llvm.amdgcn.s.barrier()\n", "");
    let output = bisect(&racing, DISPATCH);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{printed}{}", text(&output.stderr));
    // What only the finished code is held to.
    assert!(printed.contains("encode differs from remove-identity-moves: race: "), "{printed}");
}

#[test]
fn what_cannot_be_judged_is_status_one() {
    let out_of_bounds = EXCHANGE.replace("xor i32 %l, 64", "add i32 %l, 64");
    for (text, dispatch, what) in [
        ("define", DISPATCH, "error: "),
        (EXCHANGE, "{}", "dispatch: "),
        (EXCHANGE, &DISPATCH.replace("\"k\"", "\"other\""), "no kernel other"),
        (out_of_bounds.as_str(), DISPATCH, "nothing to compare"),
    ] {
        let output = bisect(text, dispatch);
        let printed = self::text(&[output.stdout, output.stderr].concat());
        assert_eq!(output.status.code(), Some(1), "{printed}");
        assert!(printed.contains(what), "{printed}");
    }
}

#[test]
fn help_tells_the_exit_statuses() {
    let output = Command::new(env!("CARGO_BIN_EXE_gcnc")).args(["bisect", "--help"]).output().unwrap();
    assert!(text(&output.stdout).contains("3 a step is named"), "{}", text(&output.stdout));
}
