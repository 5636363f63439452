//! Names the build, so that a cache knows what another one left: by the version and the sources of all passes. Says how the command is
//! linked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Crates whose code decides what comes out.
const CRATES: [&str; 9] =
    ["mir", "frontend", "opt", "isel", "schedule", "regalloc", "lower", "emit", "driver"];

fn main() {
    // At an address of its own: the loader has 28,000 addresses of LLVM's tables less to relocate, and a small kernel takes a third less
    // time. As GCC's compilers are linked. The libraries stay position-independent.
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let compiler = std::env::var("CARGO_CFG_TARGET_ENV").unwrap_or_default();
    if system == "linux" && compiler == "gnu" {
        println!("cargo:rustc-link-arg-bin=gcnc=-no-pie");
    }
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    let mut files = BTreeMap::new();
    for name in CRATES {
        let folder = root.join(name).join("src");
        // A package has the driver's folder alone, and a version for the rest.
        if folder.is_dir() {
            println!("cargo:rerun-if-changed={}", folder.display());
            collect(&folder, &mut files);
        }
    }
    // FNV-1a: no attacker, just another build.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for contents in files.values() {
        for byte in contents {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo:rustc-env=GCNC_BUILD={version}-{hash:016x}");
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            collect(&path, files);
        } else if let Ok(contents) = std::fs::read(&path) {
            files.insert(path, contents);
        }
    }
}
