//! What is compiled: processors, systems, versions of code objects, settings, and who knows which of them.

use gcnc::{CompileOptions, FileType};
use mir::target::{Features, PROCESSORS, Processor};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Systems with the triples that are compiled for.
pub const SYSTEMS: [(&str, &str); 4] = [
    ("amdhsa", "amdgcn-amd-amdhsa"),
    ("amdpal", "amdgcn--amdpal"),
    ("mesa3d", "amdgcn--mesa3d"),
    ("none", "amdgcn--"),
];

/// What a module is compiled for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// One of [`SYSTEMS`].
    pub system: &'static str,
    /// Its triple.
    pub triple: &'static str,
    /// Processor.
    pub cpu: &'static str,
    /// Version of code objects; `None` on systems that have none.
    pub version: Option<u8>,
    /// `-mattr`; may be empty.
    pub features: String,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.system, self.cpu)?;
        if let Some(version) = self.version {
            write!(f, " V{version}")?;
        }
        if !self.features.is_empty() {
            write!(f, " {}", self.features)?;
        }
        Ok(())
    }
}

impl Setting {
    /// Options for an object.
    pub fn options(&self) -> CompileOptions {
        CompileOptions {
            triple: self.triple.to_owned(),
            cpu: self.cpu.to_owned(),
            attributes: self.features.split(',').filter(|f| !f.is_empty()).map(str::to_owned).collect(),
            file_type: FileType::Obj,
            code_object_version: self.version,
            threads: 1,
            ..CompileOptions::default()
        }
    }
}

/// Values of `-mattr` for a processor: each of its settings left open, on and off.
fn feature_lists(processor: &Processor) -> Vec<String> {
    let mut out = vec![String::new()];
    for (feature, name) in [(Features::XNACK_SUPPORTED, "xnack"), (Features::SRAM_ECC_SUPPORTED, "sramecc")] {
        if !processor.features.contains(feature) {
            continue;
        }
        let with = |list: &String, sign: char| {
            let comma = if list.is_empty() { "" } else { "," };
            format!("{list}{comma}{sign}{name}")
        };
        out = out.iter().flat_map(|list| [list.clone(), with(list, '+'), with(list, '-')]).collect();
    }
    out
}

/// Every setting: processors that have a number of their own, in the order of the table; generic ones only for code objects V6.
pub fn settings() -> Vec<Setting> {
    let mut out = Vec::new();
    for processor in PROCESSORS.iter().filter(|processor| processor.elf_mach != 0) {
        for features in feature_lists(processor) {
            for (system, triple) in SYSTEMS {
                let versions: &[Option<u8>] = match (system, processor.generic_version) {
                    ("amdhsa", 0) => &[Some(2), Some(3), Some(4), Some(5), Some(6)],
                    ("amdhsa", _) => &[Some(6)],
                    (_, 0) => &[None],
                    _ => &[],
                };
                out.extend(versions.iter().map(|&version| Setting {
                    system,
                    triple,
                    cpu: processor.name,
                    version,
                    features: features.clone(),
                }));
            }
        }
    }
    out
}

/// An llc to compare with.
#[derive(Clone, Debug)]
pub struct Llc {
    /// Number of the release.
    pub release: u8,
    program: String,
}

/// Versions of code objects for which each release is asked.
const RELEASES: [(u8, &[u8]); 3] = [(22, &[4, 5, 6]), (16, &[2, 3, 5]), (14, &[2, 3, 4])];

impl Llc {
    /// The releases that are compared with, newest first, each with whether it is installed.
    pub fn all() -> Vec<(Self, bool)> {
        let llc = |release: u8| Self { release, program: format!("llc-{release}") };
        let runs = |llc: &Self| {
            Command::new(&llc.program).arg("--version").output().is_ok_and(|o| o.status.success())
        };
        RELEASES.iter().map(|&(release, _)| llc(release)).map(|llc| (llc.clone(), runs(&llc))).collect()
    }

    /// Whether it knows `setting` and is asked for it.
    pub fn knows(&self, setting: &Setting) -> bool {
        let asked = RELEASES.iter().find(|(release, _)| *release == self.release);
        let versions = asked.map_or(&[][..], |(_, versions)| versions);
        setting.version.is_none_or(|version| versions.contains(&version))
    }

    /// Compiles the file.
    ///
    /// # Errors
    /// What it says where it fails.
    pub fn compile(&self, file: &Path, setting: &Setting) -> Result<Vec<u8>, String> {
        let mut command = Command::new(&self.program);
        command.args(["-filetype=obj", "-o", "-", "-mtriple", setting.triple]);
        command.arg(format!("-mcpu={}", setting.cpu));
        if !setting.features.is_empty() {
            command.arg(format!("-mattr={}", setting.features));
        }
        if let Some(version) = setting.version {
            command.arg(format!("--amdhsa-code-object-version={version}"));
        }
        if self.release == 14 {
            command.arg("-opaque-pointers");
        }
        crate::toolchain::run(command.arg(file))
    }
}

/// A module of LLVM IR.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name of the file, without its ending.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Systems for which it is meant; empty for all.
    systems: Vec<String>,
    /// The oldest release of LLVM that reads it.
    pub since: u8,
}

impl Module {
    /// Reads a file. A line `; systems: NAME NAME` near its start says where it belongs.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(path: &Path, since: u8) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let line = text.lines().take(5).find_map(|line| line.strip_prefix("; systems:"));
        let systems = line.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, path: path.to_owned(), text, systems, since })
    }

    /// Whether it is meant for `setting`.
    pub fn suits(&self, setting: &Setting) -> bool {
        self.systems.is_empty() || self.systems.iter().any(|system| system == setting.system)
    }
}

/// The examples' IR, made by clang in `folder`, without processor, features and version of code objects.
///
/// # Errors
/// What clang says.
pub fn examples(folder: &Path) -> Result<Vec<Module>, String> {
    let mut out = Vec::new();
    for example in crate::examples::EXAMPLES {
        let source = crate::toolchain::examples_folder().join(example.name).with_extension("cl");
        let path = folder.join(example.name).with_extension("ll");
        crate::toolchain::clang(&source, &path, "gfx900", 2, &["-S"])?;
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let mut plain = text.replace("\"amdhsa_code_object_version\"", "\"version_of_the_source\"");
        for attribute in ["\"target-cpu\"=\"", "\"target-features\"=\""] {
            while let Some(at) = plain.find(attribute) {
                let value = at + attribute.len();
                let end = plain[value..].find('"').map_or(plain.len(), |end| value + end + 1);
                plain.replace_range(at..end, "");
            }
        }
        std::fs::write(&path, plain).map_err(|error| error.to_string())?;
        out.push(Module::read(&path, 22)?);
    }
    Ok(out)
}

/// The folder of modules that were written for this comparison.
pub fn modules_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fields")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_cover_generations_systems_versions_and_features() {
        let all = settings();
        let has = |text: &str| all.iter().any(|setting| setting.to_string() == text);
        for text in [
            "amdhsa gfx600 V2",
            "amdhsa gfx906 V4 +xnack,-sramecc",
            "amdhsa gfx906 V3",
            "amdhsa gfx801 V2 -xnack",
            "amdpal gfx90c +xnack",
            "mesa3d gfx705",
            "none gfx805",
            "amdhsa gfx9-generic V6 +xnack",
        ] {
            assert!(has(text), "{text}");
        }
        assert!(!has("amdhsa gfx600 V4 +xnack"), "a feature that the processor lacks");
        assert!(!has("amdhsa gfx9-generic V5"), "generic processors come with V6");
    }
}
