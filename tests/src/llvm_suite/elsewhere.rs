//! The tests of LLVM's other targets and of its optimiser as inputs for a GPU: some 31,000 modules that nobody wrote with one in mind.
//!
//! Each is moved: what names its target goes (triple, data layout, processor, features), and its stack objects, which these tests have where all
//! pointers point to, are private ones whose addresses are cast. No module may crash the compiler or keep it busy, whatever it makes of
//! the intrinsics and types of other targets. Compared with `llc`'s code ([`super::compare_case`]) they are functions like any other, but differences need a look:
//! many read poison, or give addresses of their stack objects away.

use super::cases::{Case, unpacked_sources};
use regex::{Captures, Regex};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Folders of `llvm/test` that are taken. `Verifier` has modules for which LLVM's reader ends the process.
const FOLDERS: [&str; 8] =
    ["Analysis", "Assembler", "Bitcode", "CodeGen", "DebugInfo", "Feature", "Instrumentation", "Transforms"];

/// Larger files are data with little code.
const MAX_BYTES: u64 = 2_000_000;

/// `text` for the target that the command line names.
pub fn moved(text: &str) -> String {
    static TARGET: LazyLock<Regex> = LazyLock::new(|| {
        let lines =
            r#"(?m)^target (datalayout|triple).*$|^;.*$|"(target-cpu|target-features|tune-cpu)"="[^"]*""#;
        Regex::new(lines).expect("a regular expression")
    });
    static ALLOCA: LazyLock<Regex> = LazyLock::new(|| {
        let line =
            r#"(?m)^(\s*)%("[^"\n]*"|[-\w.$]+) = alloca ([^\n;!]*?)((?:, ![^\n;]*?)?)(\s*(?:;[^\n]*)?)$"#;
        Regex::new(line).expect("a regular expression")
    });
    let text = TARGET.replace_all(text, "");
    let private = |found: &Captures<'_>| {
        let [whole, indent, name, what, metadata, rest] = [0, 1, 2, 3, 4, 5].map(|n| &found[n]);
        if ["addrspace(5)", "inalloca", "swifterror"].iter().any(|word| what.contains(word)) {
            return whole.to_owned();
        }
        // A quoted name does not count among the numbers of those without one.
        let object = format!("%\"{}.private\"", name.trim_matches('"'));
        format!(
            "{indent}{object} = alloca {what}, addrspace(5){metadata}\n\
             {indent}%{name} = addrspacecast ptr addrspace(5) {object} to ptr{rest}"
        )
    };
    ALLOCA.replace_all(&text, private).into_owned()
}

/// All modules, moved to `cpu` with `features`, once written below `work`.
///
/// # Errors
/// Where the tests are missing and cannot be fetched, or nothing can be written.
pub fn find(cache: &Path, work: &Path, cpu: &str, features: &str) -> Result<Vec<Case>, String> {
    let tests = unpacked_sources(&cache.join("src"), "llvm/test/Transforms", &unpack())?;
    let tests = tests.parent().ok_or("a folder without a parent")?.to_owned();
    let folder = work.join("elsewhere");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut out = Vec::new();
    for path in files(&tests)? {
        let place = path.strip_prefix(&tests).map_err(|e| e.to_string())?;
        let id: Vec<_> = place.iter().map(|part| part.to_string_lossy()).collect();
        let input = folder.join(id.join("_"));
        if !input.exists() {
            let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let text = moved(&String::from_utf8_lossy(&bytes));
            std::fs::write(&input, text).map_err(|e| format!("{}: {e}", input.display()))?;
        }
        out.push(Case {
            id: format!("{}:1", id.join("/")),
            input,
            triple: "amdgcn-amd-amdhsa".to_owned(),
            mcpu: cpu.to_owned(),
            mattr: features.to_owned(),
            opt: 2,
            version: None,
            negative: false,
        });
    }
    Ok(out)
}

/// What fetches the tests, in the folder of sources.
fn unpack() -> String {
    let globs: Vec<String> = FOLDERS.iter().map(|folder| format!("'*/llvm/test/{folder}/*.ll'")).collect();
    format!(
        "set -e; test -e llvm-toolchain-19_*.orig.tar.xz || apt-get source -qq --download-only llvm-toolchain-19 >&2; \
         tar -xf llvm-toolchain-19_*.orig.tar.xz --wildcards {}",
        globs.join(" ")
    )
}

/// Text IR of the folders, but for this target's own tests, in order.
fn files(tests: &Path) -> Result<Vec<PathBuf>, String> {
    let mut stack: Vec<PathBuf> = FOLDERS.iter().map(|folder| tests.join(folder)).collect();
    let mut out = Vec::new();
    while let Some(folder) = stack.pop() {
        if folder.ends_with("AMDGPU") {
            continue;
        }
        let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let small = || path.metadata().is_ok_and(|data| data.len() <= MAX_BYTES);
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ll") && small() {
                out.push(path);
            }
        }
    }
    out.sort();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_go_and_stack_objects_are_private() {
        let text = "; RUN: llc -mtriple=x86_64\n\
            target triple = \"x86_64-linux\"\n\
            define void @f() \"target-cpu\"=\"core2\" {\n\
            \x20 %1 = alloca [2 x i32], align 4, !tag !0 ; two\n\
            \x20 %\"a b\" = alloca i8\n\
            \x20 %p = alloca i32, addrspace(5)\n\
            \x20 ret void\n}\n";
        let expected = "\n\n\
            define void @f()  {\n\
            \x20 %\"1.private\" = alloca [2 x i32], align 4, addrspace(5), !tag !0\n\
            \x20 %1 = addrspacecast ptr addrspace(5) %\"1.private\" to ptr ; two\n\
            \x20 %\"a b.private\" = alloca i8, addrspace(5)\n\
            \x20 %\"a b\" = addrspacecast ptr addrspace(5) %\"a b.private\" to ptr\n\
            \x20 %p = alloca i32, addrspace(5)\n\
            \x20 ret void\n}\n";
        assert_eq!(moved(text), expected);
    }
}
