//! `gcnc report` and `gcnc explain` as commands: from IR, objects and assembly text.

use std::path::Path;
use std::process::{Command, Output};

/// A kernel with a loop, a function that is inlined, LDS, and positions in a source file for some instructions.
const IR: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [64 x i32] poison
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()

define internal i32 @twice(i32 %x) alwaysinline !dbg !9 {
  %y = shl i32 %x, 1, !dbg !10
  ret i32 %y, !dbg !10
}

define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %n) !dbg !4 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x(), !dbg !7
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %slot = getelementptr i32, ptr addrspace(3) @lds, i32 %id
  %old = load i32, ptr addrspace(1) %at, !dbg !8
  store i32 %old, ptr addrspace(3) %slot, !dbg !8
  call void @llvm.amdgcn.s.barrier()
  %next = xor i32 %id, 1
  %other = getelementptr i32, ptr addrspace(3) @lds, i32 %next
  %value = load i32, ptr addrspace(3) %other
  %sum = call i32 @twice(i32 %value), !dbg !11
  %is = icmp slt i32 %id, %n
  br i1 %is, label %then, label %end
then:
  store i32 %sum, ptr addrspace(1) %at, !dbg !12
  br label %end
end:
  ret void
}

!llvm.module.flags = !{!0, !1}
!llvm.dbg.cu = !{!2}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 7, !"Dwarf Version", i32 5}
!2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, emissionKind: LineTablesOnly)
!3 = !DIFile(filename: "k.cl", directory: "")
!4 = distinct !DISubprogram(name: "k", file: !3, line: 1, type: !5, unit: !2, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 2, column: 1, scope: !4)
!8 = !DILocation(line: 3, column: 1, scope: !4)
!9 = distinct !DISubprogram(name: "twice", file: !3, line: 7, type: !5, unit: !2, spFlags: DISPFlagDefinition)
!10 = !DILocation(line: 8, column: 1, scope: !9)
!11 = !DILocation(line: 4, column: 1, scope: !4)
!12 = !DILocation(line: 5, column: 1, scope: !4)
"#;

const SOURCE: &str = "kernel void k()\nid;\nload;\ntwice;\nstore;\n}\nint twice\nshift;\n";

fn gcnc(folder: &Path, args: &[&str]) -> Output {
    let gcnc = Command::new(env!("CARGO_BIN_EXE_gcnc")).args(args).current_dir(folder).output();
    gcnc.expect("the command starts")
}

/// Standard output of a command that succeeds.
fn output(folder: &Path, args: &[&str]) -> String {
    let out = gcnc(folder, args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("UTF-8")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.ll"), IR).expect("the folder can be written to");
    std::fs::write(folder.path().join("k.cl"), SOURCE).expect("the folder can be written to");
    folder
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

/// The kernel's instructions: offset and text.
fn code(report: &serde_json::Value) -> Vec<(u64, String)> {
    let functions = report["functions"].as_array().expect("functions");
    let kernel = functions.iter().find(|f| f["kernel"] == true).expect("a kernel");
    let line = |line: &serde_json::Value| {
        (line["offset"].as_u64().expect("a number"), line["text"].as_str().expect("a text").to_owned())
    };
    kernel["lines"].as_array().expect("lines").iter().map(line).collect()
}

/// Lines of IR, those of what was inlined too, and of the source are known; the code is the one that is compiled without a report.
#[test]
fn lines_of_ir_and_source() {
    let folder = folder();
    let data = json(&output(folder.path(), &["report", "k.ll", "-mcpu=gfx900", "--format=json"]));
    output(folder.path(), &["k.ll", "-mcpu=gfx900", "-filetype=obj", "-o", "plain.o"]);
    let plain = json(&output(folder.path(), &["report", "plain.o", "--format=json"]));
    assert!(code(&plain).len() > 12);
    assert_eq!(code(&data), code(&plain), "numbering IR lines changes the code");
    assert_eq!(data["functions"][0]["peak"], plain["functions"][0]["peak"]);
    assert_eq!(plain["ir"].as_array().map(Vec::len), Some(0));

    let ir = |number: u64| {
        data["ir"].as_array().expect("functions").iter().find_map(|function| {
            let at = number.checked_sub(function["first"].as_u64()?)?;
            let line = function["lines"].get(at as usize)?;
            Some((
                function["name"].as_str()?.to_owned(),
                line["text"].as_str()?.to_owned(),
                line["source"][1].as_u64(),
            ))
        })
    };
    // What a machine instruction must come from: a part of its text, of the IR line, and the source line.
    for (mnemonic, function, text, source) in [
        ("global_load_dword", "k", " load ", Some(3)),
        ("ds_write_b32", "k", "store ", Some(3)),
        ("s_barrier", "k", "s.barrier", None),
        ("ds_read_b32", "k", " load ", None),
        ("v_lshlrev_b32_e32 v1, 1, v1", "twice", " shl ", Some(8)),
        ("global_store_dword", "k", "store ", Some(5)),
    ] {
        let lines = data["functions"][0]["lines"].as_array().expect("lines");
        let mut fitting = lines.iter().filter(|line| {
            line["text"]
                .as_str()
                .is_some_and(|t| t.starts_with(mnemonic.split(' ').next().unwrap_or_default()))
        });
        let found = fitting.find_map(|line| {
            let found = ir(line["ir"].as_u64()?)?;
            (found.0 == function && found.1.contains(text) && found.2 == source).then_some(line)
        });
        let found = found.unwrap_or_else(|| panic!("{mnemonic} of `{text}` at {source:?} in {lines:#?}"));
        assert_eq!(found["source"][1].as_u64(), source);
    }
    assert_eq!(data["sources"][0]["name"], "k.cl");
    assert_eq!(data["sources"][0]["lines"][7][1], "shift;");
}

#[test]
fn pages_are_files() {
    let folder = folder();
    let page = output(folder.path(), &["report", "k.ll", "-mcpu=gfx900"]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{}", &page[..60]);
    for outside in ["http:", "https:", "src=", "@import", "url(h"] {
        assert!(!page.contains(outside), "{outside}");
    }
    output(folder.path(), &["report", "k.ll", "-mcpu=gfx900", "-o", "r.html"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("r.html")).expect("a file"), page);
    let linked = ["k.ll", "-mcpu=gfx900", "-filetype=hsaco", "-o", "k.hsaco"];
    output(folder.path(), &linked);
    assert!(output(folder.path(), &["report", "k.hsaco"]).contains("Kernel <code>k</code>"));
    std::fs::write(folder.path().join("bad.o"), b"\x7fELF").expect("the folder can be written to");
    assert_eq!(gcnc(folder.path(), &["report", "bad.o"]).status.code(), Some(1));
    assert_eq!(gcnc(folder.path(), &["report", "none.o"]).status.code(), Some(1));
    // What is refused is refused with the place in the source.
    std::fs::write(folder.path().join("bad.ll"), "define void @f() {\n  nonsense\n}")
        .expect("the folder can be written to");
    let out = gcnc(folder.path(), &["report", "bad.ll", "-mcpu=gfx900"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("bad.ll:2:"), "{out:?}");
}

/// A run's cycles, lines and passes: 64 lanes read 64 dwords of four lines; LDS is free of conflicts.
#[test]
fn runs() {
    let folder = folder();
    let dispatch = r#"{"kernel": "k", "grid": [64, 1, 1], "group": [64, 1, 1], "args": [{"buffer": 256, "fill": "iota32"}, {"i32": 10}]}"#;
    std::fs::write(folder.path().join("d.json"), dispatch).expect("the folder can be written to");
    let args = ["report", "k.ll", "-mcpu=gfx900", "--run", "d.json", "--format=json"];
    let data = json(&output(folder.path(), &args));
    let lines = data["functions"][0]["lines"].as_array().expect("lines");
    let run_of = |text: &str| {
        let line = lines.iter().find(|line| line["text"].as_str().is_some_and(|t| t.starts_with(text)));
        line.unwrap_or_else(|| panic!("no {text}"))["run"].clone()
    };
    let load = run_of("global_load_dword");
    assert_eq!(
        (load["count"].as_u64(), load["traffic"]["lines"].as_u64(), load["traffic"]["passes"].as_u64()),
        (Some(1), Some(4), Some(4))
    );
    let write = run_of("ds_write_b32");
    assert_eq!(
        (write["traffic"]["lds_passes"].as_u64(), write["traffic"]["lds_least"].as_u64()),
        (Some(2), Some(2))
    );
    let waited: u64 = lines.iter().filter_map(|line| line["run"]["stalls"]["vmcnt"].as_u64()).sum();
    assert!(waited > 100, "{waited}");
    assert!(data["functions"][0]["run"]["cycles"].as_u64() > Some(100));
    let page = output(folder.path(), &["report", "k.ll", "-mcpu=gfx900", "--run", "d.json"]);
    assert!(page.contains("lost: vmcnt") && page.contains("of them bank conflicts"));
}

/// The same instruction through assembly text and through the object.
#[test]
fn explanations() {
    let folder = folder();
    output(folder.path(), &["k.ll", "-mcpu=gfx900", "-o", "k.s"]);
    output(folder.path(), &["k.ll", "-mcpu=gfx900", "-filetype=obj", "-o", "k.o"]);
    let text = std::fs::read_to_string(folder.path().join("k.s")).expect("a file");
    let line = text
        .lines()
        .position(|line| line.contains("s_load_dword") && !line.contains("dwordx2"))
        .expect("a load")
        + 1;
    let explained = output(folder.path(), &["explain", &format!("k.s:{line}")]);
    assert!(explained.starts_with(&format!("line {line} of k: s_load_dword")), "{explained}");
    assert!(explained.contains("argument 1"), "{explained}");
    let data = json(&output(folder.path(), &["explain", &format!("k.s:{line}"), "--format=json"]));
    assert_eq!(data["reasons"][0]["kind"], "argument");
    let place = format!("k.o:k+{:#x}", data["offset"].as_u64().expect("a number"));
    let by_object = json(&output(folder.path(), &["explain", &place, "--format=json"]));
    assert_eq!((&by_object["text"], &by_object["line"]), (&data["text"], &data["line"]));
    assert!(gcnc(folder.path(), &["explain", "k.s:1"]).status.code() == Some(1));
    assert!(gcnc(folder.path(), &["explain", "k.s"]).status.code() == Some(2));
    let barrier = text.lines().position(|line| line.trim() == "s_barrier").expect("a barrier");
    let wait = output(folder.path(), &["explain", &format!("k.s:{barrier}")]);
    assert!(
        wait.contains("lgkmcnt(0) waits for LDS")
            && wait.contains(&format!("line {} `s_barrier`", barrier + 1)),
        "{wait}"
    );
}

/// Every NOP that the compiler inserts has its hazard or is there for the place of what follows, and every wait somebody who needs it: over modules of all kinds, on the first and the last generation.
#[test]
fn what_is_inserted_is_explained() {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fields");
    let mut files: Vec<_> =
        std::fs::read_dir(modules).expect("the folder is there").flatten().map(|f| f.path()).collect();
    files.sort();
    let (mut nops, mut waits, mut open) = (0, 0, Vec::new());
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "ll")) {
        let text = std::fs::read(file).expect("the file can be read");
        for cpu in ["gfx600", "gfx900"] {
            let options = gcnc::CompileOptions {
                cpu: cpu.to_owned(),
                triple: "amdgcn-amd-amdhsa".to_owned(),
                file_type: gcnc::FileType::Obj,
                ..Default::default()
            };
            let Ok(output) = gcnc::compile(&text, "test.ll", &options) else { continue };
            let program = report::Program::load(&output.bytes).expect("the object is right");
            for function in &program.functions {
                let places = |line: usize| line.to_string();
                let explainer = report::Explainer::new(&program, function, &places);
                for (line, reasons) in function.lines.iter().zip(explainer.all_reasons()) {
                    let has = |kind: report::Kind, text: &str| {
                        reasons.iter().any(|r| r.kind == kind && r.text.contains(text))
                    };
                    let explained = if line.text.starts_with("s_nop") {
                        nops += 1;
                        has(report::Kind::Hazard, "Hazard") || has(report::Kind::Alignment, "fetched")
                    } else if line.text.starts_with("s_waitcnt") {
                        waits += 1;
                        let user = [" reads ", "overwrites", "calling convention"]
                            .iter()
                            .any(|word| has(report::Kind::Wait, word));
                        user || reasons.iter().any(|r| {
                            r.kind == report::Kind::MemoryModel && !r.text.starts_with("No register")
                        })
                    } else {
                        true
                    };
                    if !explained {
                        open.push(format!(
                            "{} {cpu} {}+{:#x}: {} {reasons:?}",
                            file.display(),
                            function.name,
                            line.offset,
                            line.text
                        ));
                    }
                }
            }
        }
    }
    assert!(nops > 10 && waits > 300, "{nops} NOPs, {waits} waits");
    assert!(open.is_empty(), "{} of {}:\n{}", open.len(), nops + waits, open.join("\n"));
}
