//! The tools around gcnc: clang to make bitcode, `llc` to compare with, `ld.lld` to link. Each is a Debian
//! package that `scripts/setup` installs.

use mir::target::Target;
use std::path::{Path, PathBuf};
use std::process::Command;

/// libclc for amdgcn-amd-amdhsa.
pub const LIBCLC: &str = "/usr/lib/clc/amdgcn-amd-amdhsa.bc";

/// Runs a command; its standard error is the error.
pub fn run(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}

/// Compiles OpenCL C to bitcode for `cpu` at `-O{level}` with libclc linked in.
///
/// libclc's work-item functions read the implicit arguments of code objects before V5, hence version 4.
pub fn clang(source: &Path, bitcode: &Path, cpu: &str, level: u8, extra: &[&str]) -> Result<(), String> {
    let mut command = Command::new("clang-22");
    command
        .args(["-x", "cl", "-cl-std=CL2.0", "--target=amdgcn-amd-amdhsa", "-nogpulib"])
        .arg(format!("-mcpu={cpu}"))
        .arg("-mcode-object-version=4")
        .args(["-Xclang", "-mlink-builtin-bitcode", "-Xclang", LIBCLC])
        .arg(format!("-O{level}"))
        .args(["-emit-llvm", "-c", "-w"])
        .args(extra)
        .arg(source)
        .arg("-o")
        .arg(bitcode);
    run(&mut command).map(drop)
}

/// What code is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// Processor.
    pub cpu: &'a str,
    /// Features in the form of `-mattr`; may be empty.
    pub features: &'a str,
}

impl<'a> From<&'a str> for Machine<'a> {
    fn from(cpu: &'a str) -> Self {
        Self { cpu, features: "" }
    }
}

impl std::fmt::Display for Machine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.cpu, self.features)
    }
}

impl Machine<'_> {
    /// The compiler's options for it, at `-O{level}`.
    pub fn options(self, level: u8) -> gcnc::CompileOptions {
        gcnc::CompileOptions {
            cpu: self.cpu.to_owned(),
            attributes: self.features.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            opt_level: level,
            ..Default::default()
        }
    }

    /// What clang must be told besides, which notes the size of waves in the bitcode.
    pub fn wave_flag(self) -> Option<&'static str> {
        self.features.split(',').any(|name| name == "+wavefrontsize64").then_some("-mwavefrontsize64")
    }

    /// The target of a module for HSA.
    ///
    /// # Errors
    /// A processor or feature that is unknown.
    pub fn target(self) -> Result<Target, String> {
        self.options(2).target("amdgcn-amd-amdhsa", None).map_err(|error| error.to_string())
    }

    /// The flags of gcnc and llc.
    pub fn flags(self) -> impl Iterator<Item = String> {
        let features = (!self.features.is_empty()).then(|| format!("-mattr={}", self.features));
        std::iter::once(format!("-mcpu={}", self.cpu)).chain(features)
    }
}

/// The command that compiles bitcode with llc to a relocatable object of code object version 4, the oldest that LLVM 22
/// writes.
pub fn llc_command<'a>(bitcode: &Path, object: &Path, machine: impl Into<Machine<'a>>, level: u8) -> Command {
    let mut command = Command::new("llc-22");
    command
        .args(["-mtriple=amdgcn-amd-amdhsa", "-filetype=obj", "--amdhsa-code-object-version=4"])
        .args(machine.into().flags())
        .arg(format!("-O{level}"))
        .arg(bitcode)
        .arg("-o")
        .arg(object);
    command
}

/// Runs [`llc_command`].
///
/// # Errors
/// What llc says.
pub fn llc<'a>(
    bitcode: &Path,
    object: &Path,
    machine: impl Into<Machine<'a>>,
    level: u8,
) -> Result<(), String> {
    run(&mut llc_command(bitcode, object, machine, level)).map(drop)
}

/// Links a relocatable object to a loadable shared object and returns its bytes.
pub fn link(object: &Path) -> Result<Vec<u8>, String> {
    let shared = object.with_extension("so");
    run(Command::new("ld.lld-22").args(["-shared", "-o"]).arg(&shared).arg(object))?;
    std::fs::read(&shared).map_err(|error| format!("{}: {error}", shared.display()))
}

/// Disassembles `object` and returns the lines that the disassembler could not make sense of. LLVM has none for GFX6 and GFX7.
pub fn unknown_instructions(object: &Path, cpu: &str) -> Result<Vec<String>, String> {
    if cpu.starts_with("gfx6") || cpu.starts_with("gfx7") {
        return Ok(Vec::new());
    }
    let mut command = Command::new("llvm-objdump-22");
    command.args(["-d", "--triple=amdgcn-amd-amdhsa", &format!("--mcpu={cpu}")]).arg(object);
    let text = run(&mut command)?;
    let text = String::from_utf8_lossy(&text);
    let unknown =
        |line: &&str| line.contains("<unknown>") || line.contains("\t.long") || line.contains("illegal");
    Ok(text.lines().filter(unknown).map(str::to_owned).collect())
}

/// The folder `examples/` of the source tree.
pub fn examples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}
