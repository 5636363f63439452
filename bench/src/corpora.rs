//! Kernels of other projects: fetched into a cache, compiled to IR by clang, never part of the tree.
//!
//! | corpus | from | kernels |
//! |---|---|---|
//! | `hashcat` | Debian's package hashcat-data | integer code with tables, large functions |
//! | `darktable` | Debian's package darktable | image filters in floating point |
//!
//! A folder of modules takes their place where one is given. All are compared with `llc -O3`. Without a network, and without an earlier run's cache, a corpus is left out.

use crate::estimate;
use crate::report::{CodeRow, Facts};
use crate::trial::{self, Outcome};
use gcnc_tests::callees;
use gcnc_tests::corpus;
use gcnc_tests::measure::{self, Compiler, KernelFacts};
use gcnc_tests::toolchain::{self, Machine};
use mir::target::Target;
use rayon::prelude::*;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use wait_timeout::ChildExt;

/// What one compiler may take for one module.
const LIMIT: Duration = Duration::from_secs(60);

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// gcnc's level.
    pub level: u8,
    /// Modules of each corpus, spread evenly.
    pub modules: usize,
    /// Only modules whose names contain this.
    pub filter: &'a str,
    /// IR and bitcode to measure instead of other projects'.
    pub given: Option<&'a Path>,
    /// Whether kernels run, too.
    pub run: bool,
    /// Whether what each instruction cost is kept in the folder of objects.
    pub profiles: bool,
}

/// A corpus.
struct Corpus {
    name: &'static str,
    /// Debian package.
    package: &'static str,
    /// Where it has its files.
    folder: &'static str,
    /// The source files of the unpacked package's folder.
    sources: fn(&Path) -> Result<Vec<PathBuf>, String>,
    /// The bitcode of one for a processor, made in a cache; `None` where clang refuses it.
    bitcode: fn(&Path, &Path, &Path, &str) -> Option<PathBuf>,
}

const CORPORA: &[Corpus] = &[
    Corpus {
        name: "hashcat",
        package: "hashcat-data",
        folder: "usr/share/hashcat",
        sources: corpus::sources,
        bitcode: corpus::bitcode,
    },
    Corpus {
        name: "darktable",
        package: "darktable",
        folder: "usr/share/darktable/kernels",
        sources: all_sources,
        bitcode: darktable_bitcode,
    },
];

/// Measures all corpora. What is missing or refused is told in `notes`.
pub fn measure(
    gcnc: &Path,
    cache: &Path,
    folder: &Path,
    machine: Machine<'_>,
    choice: Choice<'_>,
    notes: &mut Vec<String>,
) -> Vec<CodeRow> {
    if let Some(given) = choice.given {
        return match modules_of(given, choice.filter) {
            Ok((name, modules)) => {
                let results =
                    modules.par_iter().map(|path| module(&name, gcnc, path, folder, machine, choice));
                collect(&name, results.collect(), notes)
            }
            Err(message) => {
                notes.push(message);
                Vec::new()
            }
        };
    }
    let mut rows = Vec::new();
    for corpus in CORPORA {
        match corpus.measure(gcnc, cache, folder, machine, choice, notes) {
            Ok(more) => rows.extend(more),
            Err(message) => notes.push(format!("{}: left out: {message}", corpus.name)),
        }
    }
    rows
}

impl Corpus {
    fn measure(
        &self,
        gcnc: &Path,
        cache: &Path,
        folder: &Path,
        machine: Machine<'_>,
        choice: Choice<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<CodeRow>, String> {
        let unpacked = self.unpacked(cache)?;
        // hashcat's bitcode for gfx900 has the place where `tests/corpus` looks for it; what clang makes of a source says for which processor.
        let place = match machine.cpu {
            "gfx900" => format!("{}-bitcode", self.name),
            cpu => format!("{}-bitcode-{cpu}", self.name),
        };
        let bitcode = cache.join(place);
        std::fs::create_dir_all(&bitcode).map_err(|error| format!("{}: {error}", bitcode.display()))?;
        let mut sources = (self.sources)(&unpacked)?;
        let chosen = |path: &PathBuf| {
            path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains(choice.filter))
        };
        sources.retain(chosen);
        let count = choice.modules.min(sources.len());
        let sources: Vec<&PathBuf> = (0..count).map(|i| &sources[i * sources.len() / count]).collect();
        let results: Vec<Measured> = sources
            .par_iter()
            .filter_map(|source| (self.bitcode)(&unpacked, source, &bitcode, machine.cpu))
            .map(|path| module(self.name, gcnc, &path, folder, machine, choice))
            .collect();
        notes.push(format!(
            "{}: {} of {} modules compile with clang",
            self.name,
            results.len(),
            sources.len()
        ));
        Ok(collect(self.name, results, notes))
    }

    /// The unpacked package, downloaded where the cache has none.
    fn unpacked(&self, cache: &Path) -> Result<PathBuf, String> {
        let root = cache.join(self.name);
        let folder = root.join(self.folder);
        if !folder.is_dir() {
            std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
            let download =
                Command::new("apt-get").args(["download", "-qq", self.package]).current_dir(&root).output();
            let package = download.ok().filter(|output| output.status.success()).and_then(|_| {
                let mut entries = std::fs::read_dir(&root).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
                entries.find(|path| path.extension().is_some_and(|e| e == "deb"))
            });
            let package = package.ok_or_else(|| format!("cannot download {}", self.package))?;
            toolchain::run(Command::new("dpkg").arg("-x").arg(&package).arg(&root))?;
        }
        if folder.is_dir() { Ok(folder) } else { Err(format!("{} has no {}", self.package, self.folder)) }
    }
}

/// The name of a folder and the modules in it, sorted.
fn modules_of(folder: &Path, filter: &str) -> Result<(String, Vec<PathBuf>), String> {
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
    let mut modules = files(folder, &["bc", "ll"])?;
    modules.retain(|path| path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains(filter)));
    Ok((name, modules))
}

/// The rows of the modules of a corpus; what failed is told in `notes`.
fn collect(corpus: &str, results: Vec<Measured>, notes: &mut Vec<String>) -> Vec<CodeRow> {
    let mut rows = Vec::new();
    for result in results {
        match result {
            Ok((more, told)) => {
                rows.extend(more);
                notes.extend(told.into_iter().map(|message| format!("{corpus}: {message}")));
            }
            Err(message) => notes.push(format!("{corpus}: {message}")),
        }
    }
    rows
}

/// The kernels of a module, and what is to be said of them.
type Measured = Result<(Vec<CodeRow>, Vec<String>), String>;

/// The kernels of one module, compiled by both.
fn module(
    corpus: &str,
    gcnc: &Path,
    bitcode: &Path,
    folder: &Path,
    machine: Machine<'_>,
    choice: Choice<'_>,
) -> Measured {
    let stem = bitcode.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let target = machine.target()?;
    let linked = |compiler: Compiler, level| {
        let object = folder.join(format!("{}-{stem}-{}.o", corpus, compiler.name()));
        let told = |message: String| format!("{stem} with {}: {message}", compiler.name());
        run_limited(measure::command(compiler, gcnc, bitcode, &object, machine, level))
            .and_then(|()| toolchain::link(&object))
            .and_then(|bytes| {
                let mut kernels = measure::kernels(&bytes)?;
                let relocatable = std::fs::read(&object).map_err(|error| error.to_string())?;
                callees::add(&mut kernels, &relocatable, &target)?;
                Ok((kernels, load(&bytes)?))
            })
            .map_err(told)
    };
    let (ours, our_object) = linked(Compiler::Gcnc, choice.level)?;
    let (theirs, their_object) = linked(Compiler::Llc, 3)?;
    let objects = [our_object, their_object];
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for kernel in &ours {
        let Some(other) = theirs.iter().find(|other| other.name == kernel.name) else { continue };
        let name = format!("{stem}/{}", kernel.name);
        let row = |corpus: String, [gcnc, llc]: [Facts; 2]| CodeRow {
            corpus,
            kernel: name.clone(),
            gcnc,
            rivals: [("llc".to_owned(), llc)].into(),
        };
        rows.push(row(corpus.to_owned(), [facts(kernel, &target), facts(other, &target)]));
        if !choice.run {
            continue;
        }
        match trial::run(&objects, &kernel.name, choice.profiles) {
            Outcome::Same(stats) => {
                let [ours, theirs] = &*stats;
                if choice.profiles {
                    let path = folder.join(format!("{corpus}-{stem}-{}.json", kernel.name));
                    write_profiles(&path, [ours, theirs])?;
                }
                let both = [(kernel, ours), (other, theirs)];
                rows.push(row(
                    format!("{corpus} run"),
                    both.map(|(kernel, stats)| Facts::of_run(kernel, stats)),
                ));
            }
            Outcome::Different(message) => notes.push(format!("{name} differs: {message}")),
            Outcome::Broken(message) => notes.push(format!("{name} is broken: {message}")),
            Outcome::Skipped(message) => notes.push(format!("{name} does not run: {message}")),
        }
    }
    Ok((rows, notes))
}

/// Writes what each instruction cost in either compiler's code: an array of two, of what `gcnc run --stats=json --per-instruction` prints.
fn write_profiles(path: &Path, runs: [&sim::Stats; 2]) -> Result<(), String> {
    let costs = runs.map(|stats| stats.model.as_ref().map(|model| &model.per_instruction));
    let text = serde_json::to_string(&costs).map_err(|error| error.to_string())?;
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn load(bytes: &[u8]) -> Result<sim::CodeObject, String> {
    sim::CodeObject::load(bytes).map_err(|report| report.to_string())
}

/// What a kernel's code and metadata say, with the cycles of a walk through the code; none where it calls, since the walk would not follow.
fn facts(kernel: &KernelFacts, target: &Target) -> Facts {
    let facts = Facts::of_kernel(kernel);
    let walked = (!estimate::calls(&kernel.words, target))
        .then(|| estimate::walk(&kernel.words, target, kernel.occupancy as u32, kernel.lds_bytes as u32));
    Facts { cycles: walked.and_then(Result::ok).map(|cycles| cycles.modelled_cycles), ..facts }
}

/// Runs a command for [`LIMIT`] at most.
fn run_limited(mut command: Command) -> Result<(), String> {
    // A file, since a full pipe would stop the command.
    let mut told = tempfile::tempfile().map_err(|error| error.to_string())?;
    let errors = told.try_clone().map_err(|error| error.to_string())?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .map_err(|error| error.to_string())?;
    match child.wait_timeout(LIMIT).map_err(|error| error.to_string())? {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            let mut text = Vec::new();
            let _ = told.rewind().and_then(|()| told.read_to_end(&mut text));
            let text = String::from_utf8_lossy(&text);
            Err(format!("{status}: {}", text.lines().next().unwrap_or_default()))
        }
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Err(format!("takes more than {} s", LIMIT.as_secs()))
        }
    }
}

/// Every OpenCL source of a folder, sorted.
fn all_sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    files(folder, &["cl"])
}

/// Every file of a folder that has one of these endings, sorted.
fn files(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut out: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| endings.iter().any(|&end| e == end))).collect();
    out.sort();
    Ok(out)
}

/// The functions on images that libclc lacks, as LLVM assembly.
const IMAGES: &str = include_str!("images.ll");

/// The bitcode of `source`, a file of darktable, for the processor `cpu`.
fn darktable_bitcode(folder: &Path, source: &Path, cache: &Path, cpu: &str) -> Option<PathBuf> {
    let stem = source.file_stem()?.to_string_lossy().into_owned();
    let bitcode = cache.join(format!("{stem}.bc"));
    if bitcode.exists() {
        return Some(bitcode);
    }
    // Written under other names first: an interrupted run must not leave half a file behind.
    let [partial, text, images] =
        ["partial", "images.ll", "images.bc"].map(|e| cache.join(format!("{stem}.{e}")));
    std::fs::write(&text, IMAGES).ok()?;
    toolchain::run(Command::new("llvm-as-22").arg(&text).arg("-o").arg(&images)).ok()?;
    let (include, images) = (format!("-I{}", folder.display()), images.to_string_lossy().into_owned());
    let flags =
        [&*include, "-cl-fast-relaxed-math", "-Xclang", "-mlink-builtin-bitcode", "-Xclang", &*images];
    toolchain::clang(source, &partial, cpu, 2, &flags).ok()?;
    std::fs::rename(&partial, &bitcode).ok().map(|()| bitcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_is_told() {
        assert!(run_limited(Command::new("true")).is_ok());
        assert!(run_limited(Command::new("false")).is_err());
        let mut command = Command::new("sh");
        command.args(["-c", "echo why >&2; exit 3"]);
        assert_eq!(run_limited(command), Err("exit status: 3: why".to_owned()));
        assert!(run_limited(Command::new("/no/such/command")).is_err());
    }

    #[test]
    fn sources_are_sorted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["b.cl", "a.cl", "c.h"] {
            std::fs::write(folder.path().join(name), "").expect("it is written");
        }
        let sources = all_sources(folder.path()).expect("the folder is there");
        let names: Vec<_> = sources.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["a.cl", "b.cl"]);
    }

    #[test]
    fn a_folder_of_modules_is_a_corpus() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let folder = parent.path().join("mine");
        std::fs::create_dir(&folder).expect("it is made");
        for name in ["b.bc", "a.ll", "other.bc", "a.cl"] {
            std::fs::write(folder.join(name), "").expect("it is written");
        }
        let names = |filter| {
            let (corpus, modules) = modules_of(&folder, filter).expect("the folder is there");
            assert_eq!(corpus, "mine");
            modules.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(names(""), ["a.ll", "b.bc", "other.bc"]);
        assert_eq!(names("othe"), ["other.bc"]);
        assert!(modules_of(Path::new("/no/such/folder"), "").is_err());
    }
}
