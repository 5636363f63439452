//! `gcnc disasm --source`: the lines that llvm-objdump shows, in a text that assembles to the same.

use object::{Object, ObjectSection};
use std::path::Path;
use std::process::Command;

/// A kernel with a function that was inlined, and a function in another file.
const MODULE: &str = r#"
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %x) !dbg !6 {
  %a = mul i32 %x, %x, !dbg !8
  %b = udiv i32 %a, 7, !dbg !9
  call void @f(ptr addrspace(1) %p), !dbg !10
  store i32 %b, ptr addrspace(1) %p, !dbg !11
  ret void, !dbg !12
}
define void @f(ptr addrspace(1) %p) noinline !dbg !13 {
  store volatile i32 1, ptr addrspace(1) %p, !dbg !14
  store volatile i32 2, ptr addrspace(1) %p
  store volatile i32 3, ptr addrspace(1) %p, !dbg !15
  ret void, !dbg !15
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_OpenCL, file: !1, producer: "test", emissionKind: FullDebug)
!1 = !DIFile(filename: "k.cl", directory: "FOLDER")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 VERSION}
!4 = !DISubroutineType(types: !5)
!5 = !{null}
!6 = distinct !DISubprogram(name: "k", file: !1, line: 2, type: !4, unit: !0)
!7 = !DIFile(filename: "sub/f.h", directory: "FOLDER")
!8 = !DILocation(line: 3, column: 1, scope: !6)
!9 = !DILocation(line: 4, column: 1, scope: !16, inlinedAt: !17)
!10 = !DILocation(line: 5, column: 9, scope: !6)
!11 = !DILocation(line: 6, column: 9, scope: !6)
!12 = !DILocation(line: 9, column: 9, scope: !6)
!13 = distinct !DISubprogram(name: "f", file: !7, line: 1, type: !4, unit: !0)
!14 = !DILocation(line: 2, column: 1, scope: !13)
!15 = !DILocation(line: 0, column: 1, scope: !13)
!16 = distinct !DISubprogram(name: "inlined", file: !7, line: 4, type: !4, unit: !0)
!17 = distinct !DILocation(line: 5, column: 1, scope: !6)
"#;

fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let out = Command::new(program).args(arguments).current_dir(folder).output().ok()?;
    assert!(out.status.success(), "{program}: {}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// File, line and source of each instruction that has some, with the instruction's address behind.
fn lines(text: &str) -> Vec<String> {
    let address = |line: &str| {
        line.split("// ").nth(1).map(|rest| rest.split(':').next().unwrap_or_default().to_lowercase())
    };
    let mut out = Vec::new();
    for line in text.lines() {
        // Functions are named by labels.
        if let Some(comment) = line.strip_prefix("; ").filter(|comment| !comment.ends_with("():")) {
            out.push(comment.to_owned());
        } else if let Some(address) = address(line).filter(|_| line.starts_with('\t')) {
            out.push(address);
        }
    }
    // An address counts where something stands in front of it.
    let keep = |i: &usize| *i == 0 || !out[*i].starts_with("0000") || !out[*i - 1].starts_with("0000");
    (0..out.len()).filter(keep).map(|i| out[i].clone()).collect()
}

#[test]
fn lines_are_those_of_llvm() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::create_dir(path.join("sub")).expect("made");
    std::fs::write(path.join("k.cl"), (1..=9).map(|i| format!("line {i} /* ;\n")).collect::<String>())
        .expect("written");
    for version in [3, 4, 5] {
        let module = MODULE.replace("FOLDER", &path.display().to_string());
        std::fs::write(path.join("k.ll"), module.replace("VERSION", &version.to_string())).expect("written");
        let compile = ["-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx900", "-filetype=obj", "k.ll", "-o", "k.o"];
        let link = ["-shared", "k.o", "-o", "k.so"];
        if run("llc-22", &compile, path).is_none() || run("ld.lld-22", &link, path).is_none() {
            eprintln!("skipped: llc-22 and ld.lld-22 are needed");
            return;
        }
        for object in ["k.o", "k.so"] {
            let bytes = std::fs::read(path.join(object)).expect("written above");
            let shown =
                run(env!("CARGO_BIN_EXE_gcnc"), &["disasm", "--source", object], path).expect("gcnc runs");
            let theirs = run("llvm-objdump-22", &["-d", "-l", "--source", object], path)
                .expect("llvm-objdump-22 runs");
            let code = shown.split("\t.section .text").nth(1).expect("code");
            let code = code.split("\n\t.section").next().unwrap_or_default();
            let (ours, theirs) = (lines(code), lines(&theirs));
            assert_eq!(ours, theirs, "DWARF {version}, {object}\n{shown}");
            assert!(
                ours.iter().any(|line| line.ends_with("k.cl:3")) && ours.contains(&"line 3 /* ;".to_owned()),
                "{shown}"
            );
            // What is printed is the object, with and without sources.
            let plain = emit::disassemble(&bytes).expect("an object");
            let without: String =
                shown.lines().filter(|line| !line.starts_with("; ")).flat_map(|line| [line, "\n"]).collect();
            assert_eq!(without, plain);
            if object == "k.o" {
                std::fs::write(path.join("k.s"), &shown).expect("written");
                run(env!("CARGO_BIN_EXE_gcnc"), &["as", "k.s", "-o", "again.o"], path).expect("gcnc runs");
                let again = std::fs::read(path.join("again.o")).expect("written");
                for name in [".text", ".rodata", ".note", ".debug_line", ".debug_info"] {
                    let data = |bytes: &[u8]| {
                        let file = object::File::parse(bytes).expect("an object");
                        file.section_by_name(name).map(|section| section.data().expect("contents").to_vec())
                    };
                    assert_eq!(data(&again), data(&bytes), "{name}");
                }
            }
        }
    }
    // A source that is not there is told once.
    let out = Command::new(env!("CARGO_BIN_EXE_gcnc"))
        .args(["disasm", "--source", "k.o"])
        .current_dir(path)
        .output();
    let told = String::from_utf8_lossy(&out.expect("gcnc runs").stderr).into_owned();
    assert_eq!(told.matches("sub/f.h").count(), 1, "{told}");
    assert!(!told.contains("k.cl"), "{told}");
}
