//! The libraries of functions that sources need: ROCm's where an option or `$ROCM_PATH` names them, else libclc with our own work-item
//! functions, and our own header in the place of HIP's.

use super::inputs::Language;
use super::printf;
use super::workitem::{self, Flavour};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where libclc may be: Debian's and Ubuntu's folder, then those of other systems.
const FOLDERS: [&str; 5] =
    ["/usr/lib/clc", "/usr/share/clc", "/usr/lib64/clc", "/usr/local/share/clc", "/usr/local/lib/clc"];

/// What is included in front of HIP sources where ROCm's headers are not there.
const HIP_HEADER: &str = include_str!("hip_runtime.h");
/// The header's name for `#include`.
const HIP_HEADER_NAME: &str = "hip/hip_runtime.h";

/// Which libraries are linked to sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Libraries {
    /// None: `-nogpulib`.
    None,
    /// ROCm's, found by clang: the options that say where.
    Rocm(Vec<OsString>),
    /// This file of libclc, or none where there is none.
    Libclc(Option<PathBuf>),
}

/// What the command line says about libraries.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Sources")]
pub struct LibraryArgs {
    /// ROCm's folder, whose device libraries and HIP headers sources get; default: `$ROCM_PATH` where it has them.
    #[arg(long, value_name = "FOLDER")]
    rocm_path: Option<PathBuf>,
    /// Folder of ROCm's device libraries (`ocml.bc` and so on).
    #[arg(long, value_name = "FOLDER")]
    rocm_device_lib_path: Option<PathBuf>,
    /// libclc's bitcode, or the folder that has it; default: `$GCNC_LIBCLC`, then where systems install it.
    #[arg(long, value_name = "PATH")]
    libclc: Option<PathBuf>,
}

impl LibraryArgs {
    /// The options as words.
    pub fn words(&self) -> Vec<OsString> {
        let options = [
            ("rocm-path", &self.rocm_path),
            ("rocm-device-lib-path", &self.rocm_device_lib_path),
            ("libclc", &self.libclc),
        ];
        let word = |(name, path): (&str, &Option<PathBuf>)| path.as_deref().map(|path| option(name, path));
        options.into_iter().filter_map(word).collect()
    }

    /// The libraries for sources in `language` of `triple`, where clang's own words are `words`. `resources` is clang's folder, looked into last.
    ///
    /// # Errors
    /// A message where what is named is not there.
    pub fn find(
        &self,
        language: Language,
        triple: &str,
        words: &[OsString],
        resources: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Libraries, String> {
        if words.iter().any(|word| word == "-nogpulib") {
            return Ok(Libraries::None);
        }
        if let Some(path) = &self.rocm_device_lib_path {
            let more = self.rocm_path.iter().map(|path| option("rocm-path", path));
            return Ok(Libraries::Rocm(
                std::iter::once(option("rocm-device-lib-path", path)).chain(more).collect(),
            ));
        }
        if let Some(path) = &self.rocm_path {
            return Ok(Libraries::Rocm(vec![option("rocm-path", path)]));
        }
        let own = self.libclc.clone().or_else(|| std::env::var_os("GCNC_LIBCLC").map(PathBuf::from));
        if let Some(path) = own {
            let found = if path.is_dir() {
                in_folder(&path, triple)
            } else {
                Some(path.clone()).filter(|p| p.is_file())
            };
            return match found {
                Some(file) => Ok(Libraries::Libclc(Some(file))),
                None => Err(format!("{}: no libclc for {triple}", path.display())),
            };
        }
        if let Some(path) = std::env::var_os("ROCM_PATH").map(PathBuf::from)
            && has_device_libraries(&path)
            // Where the libraries are alone, our header does.
            && (language != Language::Hip || path.join("include/hip/hip_runtime.h").is_file())
        {
            return Ok(Libraries::Rocm(vec![option("rocm-path", &path)]));
        }
        let found = FOLDERS.iter().find_map(|folder| in_folder(Path::new(folder), triple));
        let in_clang = || {
            let file = resources()?.join("lib").join(format!("{triple}-llvm")).join("libclc.bc");
            file.is_file().then_some(file)
        };
        Ok(Libraries::Libclc(found.or_else(in_clang)))
    }
}

/// `--NAME=PATH`.
fn option(name: &str, path: &Path) -> OsString {
    let mut word = OsString::from(format!("--{name}="));
    word.push(path);
    word
}

/// Whether ROCm's folder has device libraries, in the places where versions of it had them.
fn has_device_libraries(rocm: &Path) -> bool {
    ["amdgcn/bitcode", "lib/bitcode", "lib"].iter().any(|place| rocm.join(place).join("ocml.bc").is_file())
}

/// libclc's file for `triple` in a folder. For systems other than AMDHSA there is one for each processor, and all of ours are the same.
fn in_folder(folder: &Path, triple: &str) -> Option<PathBuf> {
    let names = [
        format!("{triple}.bc"),
        format!("tahiti-{triple}.bc"),
        format!("tahiti-{triple}--.bc"),
        "libclc.bc".to_owned(),
    ];
    names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// The files that clang needs and that come from here, in a private folder that goes away with it.
pub struct Provided {
    folder: tempfile::TempDir,
}

impl Provided {
    /// Writes the header.
    ///
    /// # Errors
    /// Where the folder cannot be made or written.
    pub fn new() -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("gcnc-").tempdir()?;
        let header = folder.path().join(HIP_HEADER_NAME);
        std::fs::create_dir_all(header.parent().unwrap_or(folder.path()))?;
        std::fs::write(header, HIP_HEADER)?;
        Ok(Self { folder })
    }

    /// The private folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Words for clang that bring in what `printf` needs.
    ///
    /// # Errors
    /// A message where a file cannot be written.
    pub fn printf_words(&self, version: u8) -> Result<[OsString; 4], String> {
        let path = self.library(&format!("printf-{version}.bc"), || printf::text(version))?;
        Ok(["-Xclang".into(), "-mlink-bitcode-file".into(), "-Xclang".into(), path.into()])
    }

    /// Words for clang that bring in the functions of images.
    ///
    /// # Errors
    /// A message where a file cannot be written.
    pub fn image_words(&self) -> Result<[OsString; 4], String> {
        let path = self.library("images.bc", gcnc::image_library::text)?;
        Ok(["-Xclang".into(), "-mlink-builtin-bitcode".into(), "-Xclang".into(), path.into()])
    }

    /// The file of bitcode called `name`, made of the text where it is not there yet.
    fn library(&self, name: &str, text: impl FnOnce() -> String) -> Result<PathBuf, String> {
        let path = self.folder().join(name);
        if path.is_file() {
            return Ok(path);
        }
        let bitcode = bitcode(&text()).map_err(|error| error.to_string())?;
        // Others may be about to write the same.
        let mut file = tempfile::NamedTempFile::new_in(self.folder()).map_err(|error| error.to_string())?;
        std::io::Write::write_all(&mut file, &bitcode).map_err(|error| error.to_string())?;
        file.persist(&path).map_err(|error| error.to_string())?;
        Ok(path)
    }

    /// Words for clang that bring the libraries in: with work-item functions of a flavour, and with our header in the place of HIP's (ROCm's libraries
    /// come with theirs).
    ///
    /// # Errors
    /// A message where a file cannot be written.
    pub fn words(
        &self,
        libraries: &Libraries,
        own_header: bool,
        flavour: Option<Flavour>,
    ) -> Result<Vec<OsString>, String> {
        let mut words: Vec<OsString> = Vec::new();
        let link = |words: &mut Vec<OsString>, file: &Path| {
            for word in
                [OsString::from("-Xclang"), "-mlink-builtin-bitcode".into(), "-Xclang".into(), file.into()]
            {
                words.push(word);
            }
        };
        match libraries {
            Libraries::Rocm(options) => {
                words.extend(options.iter().cloned());
                return Ok(words);
            }
            Libraries::None => {}
            Libraries::Libclc(file) => {
                words.push("-nogpulib".into());
                if let Some(flavour) = flavour {
                    let name =
                        format!("workitem-{}-{}-{}.bc", flavour.version, flavour.uniform, flavour.mesa);
                    link(&mut words, &self.library(&name, || workitem::text(flavour))?);
                }
                if let Some(file) = file {
                    link(&mut words, file);
                }
            }
        }
        if own_header {
            words.push("-nogpuinc".into());
            // The other kind needs functions of ROCm's.
            words.push("-mprintf-kind=buffered".into());
            words.push("-isystem".into());
            words.push(self.folder().into());
            words.push("-include".into());
            words.push(HIP_HEADER_NAME.into());
        }
        Ok(words)
    }
}

/// Bitcode of a text of ours.
///
/// # Errors
/// Of LLVM's parser; the texts here are right, and tests say so.
pub fn bitcode(text: &str) -> mir::Result<Vec<u8>> {
    let context = frontend::Context::create();
    let module = frontend::parse(&context, text.as_bytes(), "a library of gcnc's")?;
    Ok(module.write_bitcode_to_memory().as_slice().to_vec())
}

/// What `-cl-std=` and its like among clang's words say of work-groups: whether all are whole.
pub fn are_uniform(language: Language, words: &[OsString]) -> bool {
    if words.iter().any(|word| word == "-cl-uniform-work-group-size") {
        return true;
    }
    let standard = words.iter().rev().find_map(|word| {
        let word = word.to_str()?;
        word.strip_prefix("-cl-std=").or(word.strip_prefix("-std="))
    });
    match standard {
        // clang's default is OpenCL C 1.2.
        None => language == Language::OpenClC,
        Some(name) => ["CL", "CL1.0", "CL1.1", "CL1.2"].iter().any(|old| name.eq_ignore_ascii_case(old)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn old_standards_have_whole_groups() {
        let uniform = |line: &str| are_uniform(Language::OpenClC, &words(line));
        assert!(uniform("") && uniform("-cl-std=CL1.2") && uniform("-cl-std=CL2.0 -cl-std=cl1.1"));
        assert!(!uniform("-cl-std=CL2.0") && !uniform("-cl-std=CL3.0") && !uniform("-cl-std=clc++2021"));
        assert!(uniform("-cl-std=CL3.0 -cl-uniform-work-group-size"));
        assert!(!are_uniform(Language::OpenClCpp, &[]));
    }

    #[test]
    fn libraries_are_chosen_by_what_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("amdgcn-amd-amdhsa.bc"), "").unwrap();
        let find = |args: LibraryArgs, line: &str| {
            args.find(Language::OpenClC, "amdgcn-amd-amdhsa", &words(line), || None)
        };
        let libclc = LibraryArgs { libclc: Some(folder.path().to_owned()), ..Default::default() };
        let file = folder.path().join("amdgcn-amd-amdhsa.bc");
        assert_eq!(find(libclc.clone(), ""), Ok(Libraries::Libclc(Some(file))));
        assert_eq!(find(libclc, "-nogpulib"), Ok(Libraries::None));
        let missing = LibraryArgs { libclc: Some(folder.path().join("none")), ..Default::default() };
        assert!(find(missing, "").is_err_and(|message| message.contains("no libclc")));
        let rocm = LibraryArgs { rocm_path: Some("/r".into()), ..Default::default() };
        assert_eq!(find(rocm, ""), Ok(Libraries::Rocm(words("--rocm-path=/r"))));
    }
}
