//! clang as the front end: sources in, bitcode out.
//!
//! What clang writes comes through a pipe; what it reads beside the sources (libraries, the header) is in a private folder. Its messages and its exit
//! status are its own.

use super::inputs::Language;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names that clang is looked for by, the best first.
const NAMES: [&str; 2] = ["clang-22", "clang"];
/// What to do where it is missing.
const INSTALL: &str = "install it (`apt install clang-22 libclc-22`), or name it by --clang or $GCNC_CLANG";

/// A clang that can be run.
#[derive(Clone, Debug)]
pub struct Clang {
    program: PathBuf,
}

/// What clang is to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Bitcode.
    Bitcode,
    /// LLVM IR as text.
    Text,
    /// Preprocessed source (`-E`).
    Preprocess,
    /// The files that the source includes, as a rule of make (`-M`, `-MM`).
    Dependencies,
}

/// One run of clang.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What for.
    pub task: Task,
    /// Language; `None` is assembly that is to be preprocessed.
    pub language: Option<Language>,
    /// The source; `-` is standard input.
    pub input: &'a Path,
    /// Processor by LLVM's name, with settings.
    pub target_id: &'a str,
    /// Target triple.
    pub triple: &'a str,
    /// Code object version.
    pub version: u8,
    /// What stands behind `-O`.
    pub level: &'a str,
    /// Words for libraries.
    pub libraries: &'a [OsString],
    /// Words of the command line that are clang's.
    pub words: &'a [OsString],
    /// Words about dependency files.
    pub dependencies: &'a [OsString],
}

/// What clang left.
#[derive(Debug)]
pub struct Ran {
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its messages.
    pub messages: Vec<u8>,
    /// Exit status; 0 is done.
    pub status: i32,
}

impl Clang {
    /// The clang called `given`, or by `$GCNC_CLANG`, or that is installed.
    ///
    /// # Errors
    /// A message that says what to install.
    pub fn find(given: Option<&Path>) -> Result<Self, String> {
        let own = given.map(Path::to_owned).or_else(|| std::env::var_os("GCNC_CLANG").map(PathBuf::from));
        if let Some(name) = own {
            let program = in_path(name.as_os_str());
            return program.map(|program| Self { program }).ok_or_else(|| {
                format!("{}: no such program; sources need clang: {INSTALL}", name.display())
            });
        }
        let program = NAMES.iter().find_map(|name| in_path(OsStr::new(name)));
        program
            .map(|program| Self { program })
            .ok_or_else(|| format!("sources need clang, which was not found: {INSTALL}"))
    }

    /// Where clang's own headers and libraries are.
    pub fn resources(&self) -> Option<PathBuf> {
        let output =
            Command::new(&self.program).arg("-print-resource-dir").stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(PathBuf::from(text.trim()))
    }

    /// Runs it.
    ///
    /// # Errors
    /// A message where it could not be started.
    pub fn run(&self, request: &Request<'_>) -> Result<Ran, String> {
        let mut command = Command::new(&self.program);
        command.args(request.arguments()).stdin(Stdio::inherit()).stderr(Stdio::piped());
        let output = command.output().map_err(|error| format!("{}: {error}", self.program.display()))?;
        let Some(status) = output.status.code() else {
            // It may have had no time for words of its own.
            return Err(format!("{}: {}", self.program.display(), output.status));
        };
        Ok(Ran { output: output.stdout, messages: output.stderr, status })
    }
}

impl Request<'_> {
    fn arguments(&self) -> Vec<OsString> {
        let mut out: Vec<OsString> = Vec::new();
        let mut push = |word: &str| out.push(word.into());
        match self.language {
            Some(Language::Hip) => {
                push("--offload-device-only");
                push(&format!("--offload-arch={}", self.target_id));
            }
            Some(_) => {
                push(&format!("--target={}", self.triple));
                push(&format!("-mcpu={}", self.target_id));
            }
            None => {
                push(&format!("--target={}", self.triple));
                push(&format!("-mcpu={}", self.target_id));
            }
        }
        push("-x");
        push(self.language.map_or("assembler-with-cpp", Language::clang_name));
        if self.language.is_some() {
            // clang knows no older version; what older ones have is the same.
            push(&format!("-mcode-object-version={}", self.version.clamp(4, 6)));
            push(&format!("-O{}", self.level));
            if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
                push("-fcolor-diagnostics");
            }
        }
        match self.task {
            Task::Bitcode => ["-emit-llvm", "-c"].into_iter().for_each(&mut push),
            Task::Text => ["-emit-llvm", "-S"].into_iter().for_each(&mut push),
            Task::Preprocess => push("-E"),
            Task::Dependencies => {}
        }
        out.extend(self.libraries.iter().cloned());
        out.extend(self.words.iter().map(|word| standard(word)));
        out.extend(self.dependencies.iter().cloned());
        out.extend([OsString::from("-o"), "-".into()]);
        out.push(self.input.into());
        out
    }
}

/// `-cl-std=2.0` means `-cl-std=CL2.0`; all else is as it is.
fn standard(word: &OsStr) -> OsString {
    let number = word.to_str().and_then(|text| text.strip_prefix("-cl-std="));
    match number.filter(|name| name.starts_with(|c: char| c.is_ascii_digit())) {
        Some(number) => format!("-cl-std=CL{number}").into(),
        None => word.to_owned(),
    }
}

/// The program called `name`, through `$PATH` where it has no folder.
fn in_path(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return is_program(path).then(|| path.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(path)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|known| known.is_file() && known.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_order() {
        let request = Request {
            task: Task::Bitcode,
            language: Some(Language::OpenClC),
            input: Path::new("k.cl"),
            target_id: "gfx900:xnack-",
            triple: "amdgcn-amd-amdhsa",
            version: 2,
            level: "s",
            libraries: &["-nogpulib".into()],
            words: &["-DN=1".into(), "-cl-std=3.0".into()],
            dependencies: &[],
        };
        let words: Vec<String> =
            request.arguments().into_iter().map(|word| word.into_string().unwrap()).collect();
        assert_eq!(
            words.join(" ").replace(" -fcolor-diagnostics", ""),
            "--target=amdgcn-amd-amdhsa -mcpu=gfx900:xnack- -x cl -mcode-object-version=4 -Os -emit-llvm -c -nogpulib -DN=1 \
             -cl-std=CL3.0 -o - k.cl"
        );
    }

    #[test]
    fn missing_programs_are_named() {
        let message = Clang::find(Some(Path::new("/no/such/clang"))).unwrap_err();
        assert!(
            message.contains("/no/such/clang") && message.contains("apt install clang-22 libclc-22"),
            "{message}"
        );
        assert!(in_path(OsStr::new("sh")).is_some());
    }
}
