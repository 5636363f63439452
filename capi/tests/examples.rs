//! The examples in C, C++ and Python are built against the installed library and run, under valgrind too where it is installed.

#[path = "../../driver/tests/common/guide.rs"]
#[allow(dead_code, reason = "the driver's test has use for the rest")]
mod guide;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command to its end and gives what it printed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("{program} is not installed: what needs it is skipped");
    }
    found
}

/// The library that was built for this test, which stands beside it.
fn archive() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let files = std::fs::read_dir(program.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libgcnc_capi") && name.ends_with(".a")
    };
    let found = files.filter(is_ours).max_by_key(|path| path.metadata().unwrap().modified().unwrap());
    found.expect("cargo builds the library in front of its tests")
}

fn valgrind(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    command.arg(program);
    command
}

#[test]
fn examples_build_and_run() {
    if !has("cc") || !has("c++") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("gcnc");
    run(Command::new(root.join("scripts/capi")).arg(&prefix).env("GCNC_ARCHIVE", archive()));
    let (library, include) = (prefix.join("lib"), prefix.join("include"));
    let shared = library.join("libgcnc.so.0");

    // Symbols have a version, and nothing but the interface is visible.
    let symbols = run(Command::new("nm").args(["-D", "--defined-only"]).arg(&shared));
    assert!(symbols.lines().any(|line| line.ends_with(" gcnc_compile@@GCNC_0.1")), "{symbols}");
    let is_ours = |line: &&str| line.contains(" gcnc_") || line.contains("GCNC_0.1");
    assert!(symbols.lines().all(|line| is_ours(&line)), "{symbols}");
    let package = std::fs::read_to_string(library.join("pkgconfig/gcnc.pc")).unwrap();
    assert!(package.contains("-lgcnc") && !package.contains('@'), "{package}");

    let source = root.join("examples/embedding");
    for (compiler, name, standard) in [("cc", "jit.c", "-std=c11"), ("c++", "jit.cpp", "-std=c++17")] {
        let program = folder.path().join(name).with_extension(compiler);
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-Werror", "-I"]).arg(&include).arg(source.join(name));
        command.arg("-L").arg(&library).arg("-lgcnc").arg("-o").arg(&program);
        run(command.arg(format!("-Wl,-rpath,{}", library.display())));
        let printed = run(&mut Command::new(&program));
        match compiler {
            "cc" => {
                assert!(printed.contains("store: ELF 1, "), "{printed}");
                assert!(printed.contains("  value at 8: 4 bytes, by_value"), "{printed}");
                assert!(printed.contains("in function: bad"), "{printed}");
            }
            _ => assert!(printed.contains("nothing: some bytes\nrefused: "), "{printed}"),
        }
        if has("valgrind") {
            assert_eq!(run(&mut valgrind(&program)), printed);
        }
    }
    // The guide's chapter, whose commands are the reader's.
    let chapter = std::fs::read_to_string(root.join("docs/guide/src/embedding-c.md")).unwrap();
    let place = guide::Place {
        repository: root.canonicalize().unwrap(),
        path: Vec::new(),
        has: &["libgcnc"],
        variables: vec![("PREFIX", prefix.clone())],
    };
    let outcome = guide::run("embedding-c.md", &chapter, &place);
    outcome.skipped.iter().for_each(|line| eprintln!("{line}"));
    assert!(outcome.wrong.is_empty() && outcome.ran >= 3, "{}", outcome.wrong.join("\n"));
    // Not --cold: helgrind does not know that atomic operations order accesses, by which what is made once is published.
    if has("valgrind") {
        let program = folder.path().join("threads");
        let mut command = Command::new("cc");
        command.arg(source.join("threads.c")).arg("-I").arg(&include).arg("-L").arg(&library);
        command.arg("-lgcnc").arg("-pthread").arg(format!("-Wl,-rpath,{}", library.display()));
        run(command.arg("-o").arg(&program));
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--tool=helgrind", "--error-exitcode=9"]).arg(&program);
        assert_eq!(run(&mut command), "32 of 32 objects are as they must be\n");
    }
    if has("python3") {
        let printed = run(Command::new("python3").arg(source.join("jit.py")).arg(&shared));
        assert!(printed.contains("ELF True\nrefused: "), "{printed}");
    }
}
