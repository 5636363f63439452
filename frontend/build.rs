//! Links LLVM statically and slim: only what reading IR needs.
//!
//! Linked dynamically, `libLLVM` costs every start 9 ms of relocations; the parts named here, linked
//! statically and with unused sections dropped, cost 1.5 ms. `llvm-config` is looked for in
//! `$LLVM_SYS_221_PREFIX/bin`, then in `PATH` as `llvm-config-22`, then in `/usr/lib/llvm-22/bin`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The parts of LLVM that the reader and its tests (`bitwriter`) call, in `llvm-config`'s words;
/// `executionengine` brings what inkwell's own wrappers refer to. LLVM's references to zlib, zstd, libxml2
/// and z3 are all in code that is not reached: lld (unlike GNU ld) drops that code first and does not ask for
/// them.
const COMPONENTS: [&str; 6] = ["core", "bitreader", "bitwriter", "irreader", "executionengine", "support"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    if let Err(message) = link() {
        eprintln!("error: {message}");
        std::process::exit(1);
    }
}

fn link() -> Result<(), String> {
    let config = find_config()?;
    let version = run(&config, &["--version"])?;
    if !version.starts_with("22.") {
        return Err(format!("{} is LLVM {version}; gcnc needs LLVM 22", config.display()));
    }
    println!("cargo:rustc-link-search=native={}", run(&config, &["--libdir"])?);
    let names = run(&config, &[&["--link-static", "--libnames"][..], &COMPONENTS].concat())?;
    for name in names.split_whitespace() {
        let stem = name.strip_prefix("lib").and_then(|n| n.strip_suffix(".a"));
        let stem = stem.ok_or_else(|| format!("llvm-config names an unexpected library: {name}"))?;
        println!("cargo:rustc-link-lib=static:-bundle={stem}");
    }
    println!("cargo:rustc-link-search=native={}", directory_of("libstdc++.a")?);
    println!("cargo:rustc-link-lib=static:-bundle=stdc++");
    Ok(())
}

fn find_config() -> Result<PathBuf, String> {
    let prefix = std::env::var_os("LLVM_SYS_221_PREFIX").map(|p| Path::new(&p).join("bin/llvm-config"));
    let candidates =
        prefix.into_iter().chain(["llvm-config-22".into(), "/usr/lib/llvm-22/bin/llvm-config".into()]);
    for candidate in candidates {
        if run(&candidate, &["--version"]).is_ok() {
            return Ok(candidate);
        }
    }
    Err("LLVM 22 was not found: install llvm-22-dev, or set LLVM_SYS_221_PREFIX to where LLVM 22 is"
        .to_owned())
}

/// The directory in which the C++ compiler finds `file`.
fn directory_of(file: &str) -> Result<String, String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
    let path = run(Path::new(&compiler), &[&format!("-print-file-name={file}")])?;
    match Path::new(&path).parent() {
        Some(parent) if parent.is_absolute() => Ok(parent.display().to_string()),
        _ => Err(format!("{compiler} has no {file}: install g++")),
    }
}

fn run(program: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(args)
        .output()
        .map_err(|e| format!("cannot run {}: {e}", program.display()))?;
    if !output.status.success() {
        return Err(format!("{} {} failed", program.display(), args.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
