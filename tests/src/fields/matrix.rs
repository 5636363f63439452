//! What is compiled: processors, systems, versions of code objects, settings, and who knows which of them.

use gcnc::{CompileOptions, FileType};
use mir::target::{Features, PROCESSORS, Processor};
use std::fmt;
use std::io::Write as _;
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
    const SIGNS: &[char] = &['+', '-'];
    for (feature, name, signs) in [
        (Features::XNACK_SUPPORTED, "xnack", SIGNS),
        (Features::SRAM_ECC_SUPPORTED, "sramecc", SIGNS),
        (Features::WORKGROUP_PROCESSORS, "cumode", SIGNS),
        // Left open they have 32 lanes.
        (Features::WORKGROUP_PROCESSORS, "wavefrontsize64", &['+']),
    ] {
        if !processor.features.contains(feature) {
            continue;
        }
        let with = |list: &String, sign: char| {
            let comma = if list.is_empty() { "" } else { "," };
            format!("{list}{comma}{sign}{name}")
        };
        let both = |list: &String| {
            let more: Vec<_> = signs.iter().map(|&sign| with(list, sign)).collect();
            std::iter::once(list.clone()).chain(more)
        };
        out = out.iter().flat_map(both).collect();
    }
    out
}

/// Every setting: processors that have a number of their own, in the order of the table; generic ones on amdhsa only for code objects V6.
pub fn settings() -> Vec<Setting> {
    let mut out = Vec::new();
    for processor in PROCESSORS.iter().filter(|p| p.elf_mach != 0) {
        for features in feature_lists(processor) {
            for (system, triple) in SYSTEMS {
                let versions: &[Option<u8>] = match (system, processor.generic_version) {
                    ("amdhsa", 0) => &[Some(2), Some(3), Some(4), Some(5), Some(6)],
                    ("amdhsa", _) => &[Some(6)],
                    _ => &[None],
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

/// About every `step`-th setting, others for every `number`.
///
/// Neighbours differ in the system and the version, and the list repeats itself in both, so that a fixed step would meet some of them only.
pub fn sample(settings: &[Setting], step: usize, number: usize) -> Vec<&Setting> {
    let mut order: Vec<usize> = (0..settings.len()).collect();
    if step > 1 {
        fastrand::Rng::with_seed(number as u64).shuffle(&mut order);
        order.truncate(settings.len().div_ceil(step));
        order.sort_unstable();
    }
    order.into_iter().map(|index| &settings[index]).collect()
}

/// An llc to compare with.
#[derive(Clone, Debug)]
pub struct Llc {
    /// Number of the release.
    pub release: u8,
    program: String,
    /// What it says of its version.
    version: String,
}

/// The release from which on GFX10 is compared: older ones left progress of every wave off.
const GFX10_SINCE: u8 = 22;
/// Versions of code objects for which each release is asked.
const RELEASES: [(u8, &[u8]); 3] = [(22, &[4, 5, 6]), (16, &[2, 3, 5]), (14, &[2, 3, 4])];

impl Llc {
    /// The releases that are compared with, newest first, each with whether it is installed.
    pub fn all() -> Vec<(Self, bool)> {
        let llc = |release: u8| {
            let program = format!("llc-{release}");
            let version = crate::toolchain::run(Command::new(&program).arg("--version"));
            let version = version.map(|text| String::from_utf8_lossy(&text).into_owned());
            let installed = version.is_ok();
            (Self { release, program, version: version.unwrap_or_default() }, installed)
        };
        RELEASES.iter().map(|&(release, _)| llc(release)).collect()
    }

    /// Whether it knows `setting` and is asked for it. Releases before [`GFX10_SINCE`] have other modes for GFX10's waves.
    pub fn knows(&self, setting: &Setting) -> bool {
        if setting.cpu.starts_with("gfx10") && self.release < GFX10_SINCE {
            return false;
        }
        let asked = RELEASES.iter().find(|(release, _)| *release == self.release);
        let versions = asked.map_or(&[][..], |(_, versions)| versions);
        setting.version.is_none_or(|version| versions.contains(&version))
    }

    /// Compiles the file.
    ///
    /// # Errors
    /// What it says where it fails.
    pub fn compile(&self, file: &Path, setting: &Setting) -> Result<Vec<u8>, String> {
        crate::toolchain::run(Command::new(&self.program).args(self.arguments(setting)).arg(file))
    }

    /// As [`Self::compile`], but what it once said of the same text is read from `folder`.
    ///
    /// # Errors
    /// What it says where it fails.
    pub fn compile_once(&self, module: &Module, setting: &Setting, folder: &Path) -> Result<Vec<u8>, String> {
        let arguments = self.arguments(setting).join(" ");
        let key = fnv([self.version.as_bytes(), arguments.as_bytes(), &module.contents]);
        let path = folder.join(format!("{key:032x}"));
        // The first byte tells objects from errors.
        if let Ok(kept) = std::fs::read(&path) {
            match kept.split_first() {
                Some((1, object)) => return Ok(object.to_vec()),
                Some((0, error)) => return Err(String::from_utf8_lossy(error).into_owned()),
                _ => {}
            }
        }
        let result = self.compile(&module.path, setting);
        let (kind, rest) = match &result {
            Ok(object) => (1, object.as_slice()),
            Err(error) => (0, error.as_bytes()),
        };
        // Renamed, so that nobody reads half of it. Without a place to keep it nothing is kept.
        let kept = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
            file.write_all(&[kind])?;
            file.write_all(rest)?;
            Ok(file.persist(&path)?)
        });
        drop(kept);
        result
    }

    fn arguments(&self, setting: &Setting) -> Vec<String> {
        let mut out: Vec<String> =
            ["-filetype=obj", "-o", "-", "-mtriple", setting.triple].map(str::to_owned).to_vec();
        out.push(format!("-mcpu={}", setting.cpu));
        if !setting.features.is_empty() {
            out.push(format!("-mattr={}", setting.features));
        }
        out.extend(setting.version.map(|version| format!("--amdhsa-code-object-version={version}")));
        if self.release == 14 {
            out.push("-opaque-pointers".to_owned());
        }
        out
    }
}

/// FNV-1a of 128 bits over texts and their ends.
fn fnv<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> u128 {
    let bytes = texts.into_iter().flat_map(|text| text.iter().copied().chain([0xff]));
    bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash: u128, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// Where lines for this comparison stand in a text: near its start.
const HEAD_BYTES: usize = 4096;

/// A module of LLVM IR.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name of the file, without its ending.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Its text, or bitcode.
    pub contents: Vec<u8>,
    /// Systems for which it is meant; empty for all.
    systems: Vec<String>,
    /// The oldest release of LLVM that reads it.
    pub since: u8,
}

impl Module {
    /// Reads a file. A line `; systems: NAME NAME` near its start says where it belongs, `; since: 22` which release of LLVM is the first
    /// that knows what it tests.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(path: &Path, since: u8) -> Result<Self, String> {
        let contents = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let is_bitcode = contents.starts_with(b"BC\xc0\xde");
        let lines = if is_bitcode { &[][..] } else { &contents[..contents.len().min(HEAD_BYTES)] };
        let text = String::from_utf8_lossy(lines);
        let said = |key| text.lines().take(5).find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        let systems = said("; systems:").split_whitespace().map(str::to_owned).collect();
        let since = said("; since:").trim().parse().unwrap_or(since);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, path: path.to_owned(), contents, systems, since })
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
    fn samples_meet_every_system_and_version() {
        let all = settings();
        let kinds = |settings: &[&Setting]| {
            let kinds: std::collections::BTreeSet<_> =
                settings.iter().map(|setting| (setting.system, setting.version)).collect();
            kinds.len()
        };
        assert_eq!(kinds(&sample(&all, 1, 0)), 8);
        for number in 0..20 {
            let some = sample(&all, 12, number);
            assert_eq!(some.len(), all.len().div_ceil(12));
            assert!(kinds(&some) >= 6, "{number}");
        }
    }

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
            "amdhsa gfx1010 V4 -xnack,+cumode,+wavefrontsize64",
            "amdpal gfx1036",
        ] {
            assert!(has(text), "{text}");
        }
        assert!(!has("amdhsa gfx600 V4 +xnack"), "a feature that the processor lacks");
        assert!(!has("amdhsa gfx9-generic V5"), "generic processors come with V6");
    }
}
