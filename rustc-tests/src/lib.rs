//! Rust on the GPU: kernels that rustc compiles to LLVM IR and gcnc to a code object.
//!
//! `work.rs` and the files below `work` are compiled twice: for the host as a module of this crate, and for `amdgcn-amd-amdhsa` by Debian's `rustc-web`, whose LLVM has the version that gcnc reads,
//! with `core` from `rust-web-src`. [`Rust::core`] and [`Rust::kernels`] make the bitcode, [`link`] puts both into one module in which only kernels are visible.
//! `core` takes a minute and is kept in the cache.
// `work/memory.rs` is about raw memory.
#![deny(unsafe_code)]

#[allow(missing_docs, dead_code, clippy::all, reason = "names say it; not every kernel is run")]
#[rustfmt::skip]
pub mod work;
/// Names of the kernels that panic.
#[allow(missing_docs, dead_code, clippy::all, reason = "what they do is for the GPU alone")]
#[rustfmt::skip]
pub mod panics;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's compiler with LLVM 22.
const RUSTC: &str = "/usr/bin/rustc";
/// Its sources.
const LIBRARY: &str = "/usr/lib/rustlib/src/rust/library";

/// rustc for the GPU.
#[derive(Debug)]
pub struct Rust {
    folder: PathBuf,
    cpu: String,
    features: String,
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{name}: {}", errors.trim())) }
}

impl Rust {
    /// The compiler for a processor with target features (as `+a,-b`), its products below `cache`.
    ///
    /// # Errors
    /// Says which package is missing.
    pub fn new(cache: &Path, cpu: &str, features: &str) -> Result<Self, String> {
        let version = Command::new(RUSTC).arg("-vV").output().map_err(|_| missing("rustc-web"))?;
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        if !version.contains("LLVM version: 22") {
            return Err(missing("rustc-web (with LLVM 22)"));
        }
        if !Path::new(LIBRARY).join("core/src/lib.rs").exists() {
            return Err(missing("rust-web-src"));
        }
        let release = version.lines().find_map(|l| l.strip_prefix("release: ")).unwrap_or("unknown");
        let folder = cache.join("rustc-tests").join(release).join(format!("{cpu}{features}"));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Self { folder, cpu: cpu.to_owned(), features: features.to_owned() })
    }

    fn rustc(&self, name: &str, level: &str, emit: &str) -> Command {
        let mut command = Command::new(RUSTC);
        // The target is unstable, and so is `core` outside of a toolchain.
        command
            .env("RUSTC_BOOTSTRAP", "1")
            .args(["--edition=2024", "--crate-type=rlib", "--target=amdgcn-amd-amdhsa"])
            .arg(format!("-Ctarget-cpu={}", self.cpu))
            .arg(format!("-Ctarget-feature={}", self.features))
            .args(["-Cpanic=abort", "-Ccodegen-units=1", "-Cdebug-assertions=no", "--cap-lints=allow"])
            .arg(format!("-Copt-level={level}"))
            .arg(format!("--crate-name={name}"))
            .arg(format!("--emit={emit}"))
            .arg("-L")
            .arg(&self.folder)
            .arg("--out-dir")
            .arg(&self.folder);
        command
    }

    /// Bitcode of `core`.
    ///
    /// # Errors
    /// rustc's message.
    pub fn core(&self) -> Result<PathBuf, String> {
        let bitcode = self.folder.join("core.bc");
        let stub = self.folder.join("compiler_builtins.rs");
        if !bitcode.exists() || !self.folder.join("libcompiler_builtins.rmeta").exists() {
            let mut command = self.rustc("core", "2", "llvm-bc,metadata");
            run(command.arg(Path::new(LIBRARY).join("core/src/lib.rs")))?;
            let text = "#![no_std]\n#![feature(compiler_builtins)]\n#![compiler_builtins]\n";
            std::fs::write(&stub, text).map_err(|e| e.to_string())?;
            run(self.rustc("compiler_builtins", "2", "metadata").arg(&stub))?;
        }
        Ok(bitcode)
    }

    /// Bitcode of the kernels at a level of rustc: `0` to `3`, `s`, `z`.
    ///
    /// # Errors
    /// rustc's message.
    pub fn kernels(&self, level: &str) -> Result<PathBuf, String> {
        self.core()?;
        let name = format!("kernels_o{level}");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/device.rs");
        run(self.rustc(&name, level, "llvm-bc").arg(source))?;
        Ok(self.folder.join(format!("{name}.bc")))
    }

    /// The text of `module`, a product of this compiler, as one for another processor with other target features.
    ///
    /// # Errors
    /// The message of `llvm-dis`, or that the module does not name this compiler's processor.
    pub fn moved(&self, module: &Path, cpu: &str, features: &str) -> Result<PathBuf, String> {
        let named = module.with_extension(format!("{cpu}{features}.ll"));
        run(Command::new("llvm-dis-22").arg(module).arg("-o").arg(&named))?;
        let text = std::fs::read_to_string(&named).map_err(|e| format!("{}: {e}", named.display()))?;
        let own = format!("\"target-cpu\"=\"{}\"", self.cpu);
        if !text.contains(&own) {
            return Err(format!("{} does not name {}", module.display(), self.cpu));
        }
        let text = text.replace(&own, &format!("\"target-cpu\"=\"{cpu}\""));
        let own = format!("\"target-features\"=\"{}\"", self.features);
        let text = match self.features.is_empty() {
            true => text,
            false => text.replace(&own, &format!("\"target-features\"=\"{features}\"")),
        };
        std::fs::write(&named, text).map_err(|e| format!("{}: {e}", named.display()))?;
        Ok(named)
    }
}

fn missing(package: &str) -> String {
    format!("package {package} is missing: install it, or run scripts/setup --rust")
}

/// One module of `kernels` and what they use of `core`.
///
/// # Errors
/// The message of `llvm-link` or `opt`.
pub fn link(kernels: &Path, core: &Path) -> Result<PathBuf, String> {
    let linked = kernels.with_extension("linked.bc");
    let memory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lds.ll");
    let mut command = Command::new("llvm-link-22");
    run(command.arg(kernels).arg(memory).arg("--only-needed").arg(core).arg("-o").arg(&linked))?;
    let module = kernels.with_extension("module.bc");
    let mut command = Command::new("opt-22");
    let passes = "--passes=internalize,globaldce";
    run(command.arg(passes).arg("--internalize-public-api-list=k_*").arg(&linked).arg("-o").arg(&module))?;
    Ok(module)
}
