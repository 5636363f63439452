//! Links LLVM's AMDGPU code generator, the rival that is measured. No other crate contains it.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let config = "/usr/lib/llvm-22/bin/llvm-config";
    let ask = |args: &[&str]| -> Option<String> {
        let output = Command::new(config).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let components = [
        "--link-static",
        "--libnames",
        "amdgpuasmparser",
        "amdgpucodegen",
        "amdgpuinfo",
        "amdgpudesc",
        "target",
    ];
    let (Some(folder), Some(names)) = (ask(&["--libdir"]), ask(&components)) else {
        println!("cargo:warning={config} is missing: benchmarks will not link (run scripts/setup)");
        return;
    };
    let arg = |text: &str| println!("cargo:rustc-link-arg={text}");
    arg(&format!("-L{folder}"));
    arg("-Wl,--start-group");
    names.split_whitespace().for_each(|name| arg(&format!("-l:{name}")));
    arg("-Wl,--end-group");
    for library in ["-l:libstdc++.a", "-lz", "-l:libzstd.so.1", "-ldl", "-lm"] {
        arg(library);
    }
}
