//! `gcnc INPUT…`: what llc does with one file of IR. Sources, several inputs and what is linked go on in [`build`].

use super::build::inputs::{self, Kind};
use super::build::libraries::LibraryArgs;
use super::{build, code_flags, pages, refused, report, save_temps, status};
use gcnc::pipeline::PASSES;
use gcnc::{CompileOptions, FileType, Output, PassSet, Place};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// LLVM IR (.ll, .bc), OpenCL (.cl, .clcpp), HIP (.hip), assembly (.s, .S), objects and archives (.o, .a); `-` or nothing is IR on
    /// standard input. Several are linked into one code object.
    #[arg(value_name = "INPUT")]
    pub(super) inputs: Vec<PathBuf>,
    /// What the inputs are whatever their endings: ir, cl, clcpp, hip, assembler, assembler-with-cpp, or mir: the text that
    /// `--stop-before` and `--stop-after` write, which says itself where to go on.
    #[arg(short = 'x', value_name = "LANGUAGE", value_parser = inputs::language)]
    pub(super) language: Option<Kind>,
    /// Target triple; overrides the module's.
    #[arg(long, alias = "target", default_value = "")]
    pub(super) mtriple: String,
    /// Architecture; only `amdgcn`.
    #[arg(long, value_parser = ["amdgcn"])]
    march: Option<String>,
    /// Processor; `help` lists them.
    #[arg(long, default_value = "")]
    pub(super) mcpu: String,
    /// Target features, `+a,-b`; `help` lists them.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// Optimisation level: 0 copies into callers only what must be and optimises nothing; 1 is fast: small functions
    /// are copied; 2 copies what is worth its size; 3 copies more, for larger code. Results are the same. Of sources, clang
    /// optimises at the same level; s and z are 2 for size.
    #[arg(short = 'O', default_value = "2", value_parser = level, value_name = "LEVEL")]
    pub(super) opt_level: Level,
    /// What to write; asm for one file of IR, else hsaco.
    #[arg(long, value_enum)]
    filetype: Option<FileTypeArg>,
    /// The same, with the IR itself to choose from.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "filetype")]
    emit: Option<Emit>,
    /// Do not link: an object for each input, as `--emit=obj`.
    #[arg(short = 'c', conflicts_with_all = ["filetype", "emit"])]
    no_link: bool,
    /// Assembly, as `--emit=asm`.
    #[arg(short = 'S', conflicts_with_all = ["filetype", "emit", "no_link"])]
    assembly: bool,
    /// Preprocess sources only.
    #[arg(short = 'E', conflicts_with_all = ["filetype", "emit", "no_link", "assembly"])]
    preprocess: bool,
    /// Output file; `-` is standard output. Where there are sources or several inputs, its ending (.s, .o, .ll, .bc) tells what to write
    /// where nothing else does.
    #[arg(short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Processors of HIP sources, each with its settings (`gfx906:xnack-`); the output is a bundle with a code object for each.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', help_heading = "Sources")]
    pub(super) offload_arch: Vec<String>,
    /// The clang that compiles sources; default: `$GCNC_CLANG`, clang-22, clang.
    #[arg(long, value_name = "PROGRAM", help_heading = "Sources")]
    pub(super) clang: Option<PathBuf>,
    #[command(flatten)]
    pub(super) libraries: LibraryArgs,
    /// A word for clang. -D, -I, -U, -include, -std=, -cl-*, -f*, -g, -W*, -M*, -Xclang and their like go there without it.
    #[arg(long, value_name = "WORD", allow_hyphen_values = true, help_heading = "Sources")]
    pub(super) clang_arg: Vec<OsString>,
    /// Code object version, 2 to 6.
    #[arg(long, value_name = "N")]
    amdhsa_code_object_version: Option<u8>,
    /// Write metadata in another form, too: `amdil`, text beside the output (`.amdil`).
    #[arg(long, value_name = "FORM", value_parser = ["amdil"])]
    metadata: Option<String>,
    #[command(flatten)]
    passes: PassArgs,
    #[command(flatten)]
    code: code_flags::CodeFlags,
    /// Print numbers about each function: `text` on standard error, `json` on standard output.
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    stats: Option<StatsFormat>,
    /// Write what each stage of the compiler leaves to files in this folder, or beside the output.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    save_temps: Option<PathBuf>,
    /// Warnings are errors.
    #[arg(long)]
    fatal_warnings: bool,
    /// No warnings.
    #[arg(long)]
    no_warn: bool,
    /// Threads; the output does not depend on it.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(super) threads: usize,
}

/// An optimisation level.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// Of gcnc, 0 to 3.
    pub number: u8,
    /// What stands behind `-O`, for clang.
    pub word: String,
}

/// Reads an optimisation level.
pub(super) fn level(word: &str) -> Result<Level, String> {
    let number = match word {
        "0" => 0,
        "1" => 1,
        "2" | "s" | "z" => 2,
        "3" => 3,
        _ => return Err("one of 0, 1, 2, 3, s, z".to_owned()),
    };
    Ok(Level { number, word: word.to_owned() })
}

/// What happens between passes.
#[derive(clap::Args)]
#[command(next_help_heading = "Passes")]
struct PassArgs {
    /// Verify behind every pass.
    #[arg(long)]
    verify_machineinstrs: bool,
    /// Print what these passes work on, on standard error.
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = pass)]
    print_before: Vec<String>,
    /// Print what these passes leave, on standard error.
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = pass)]
    print_after: Vec<String>,
    /// Print before every pass.
    #[arg(long)]
    print_before_all: bool,
    /// Print after every pass.
    #[arg(long)]
    print_after_all: bool,
    /// Print these functions alone.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    filter_print_funcs: Vec<String>,
    /// Start before a pass; the input is what `--stop-before` or `--stop-after` wrote.
    #[arg(long, value_name = "PASS", value_parser = before, conflicts_with_all = ["start_after", "run_pass"])]
    start_before: Option<Place>,
    /// Start behind a pass; the input is what `--stop-before` or `--stop-after` wrote.
    #[arg(long, value_name = "PASS", value_parser = after, conflicts_with = "run_pass")]
    start_after: Option<Place>,
    /// Stop before a pass and write the program as text.
    #[arg(long, value_name = "PASS", value_parser = before, conflicts_with_all = ["stop_after", "run_pass"])]
    stop_before: Option<Place>,
    /// Stop behind a pass and write the program as text.
    #[arg(long, value_name = "PASS", value_parser = after, conflicts_with = "run_pass")]
    stop_after: Option<Place>,
    /// Run one pass on the text of a program and write its text.
    #[arg(long, value_name = "PASS", value_parser = pass)]
    run_pass: Option<String>,
    /// Print the time spent in each pass, on standard error.
    #[arg(long)]
    time_passes: bool,
    /// List all passes in their order, with what they need and leave.
    #[arg(long)]
    list_passes: bool,
}

impl PassArgs {
    fn start(&self) -> Option<Place> {
        let run = self.run_pass.as_deref().and_then(Place::before);
        self.start_before.or(self.start_after).or(run)
    }

    fn stop(&self) -> Option<Place> {
        let run = self.run_pass.as_deref().and_then(Place::after);
        self.stop_before.or(self.stop_after).or(run)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FileTypeArg {
    Asm,
    Obj,
    Null,
    /// A loadable code object.
    Hsaco,
}

/// What a compilation writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Emit {
    /// Assembly.
    Asm,
    /// A relocatable object.
    Obj,
    /// A loadable code object.
    Hsaco,
    /// LLVM IR as text.
    LlvmIr,
    /// LLVM IR as bitcode.
    LlvmBc,
    /// Nothing.
    #[value(skip)]
    Null,
    /// Preprocessed source.
    #[value(skip)]
    Preprocessed,
}

impl Emit {
    /// The file type of a compilation from IR; IR itself has none.
    pub(super) fn file_type(self) -> FileType {
        match self {
            Self::Asm => FileType::Asm,
            Self::Obj => FileType::Obj,
            Self::Hsaco => FileType::Hsaco,
            Self::LlvmIr | Self::LlvmBc | Self::Null | Self::Preprocessed => FileType::Null,
        }
    }

    /// The ending of files of it.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Asm | Self::Null => "s",
            Self::Obj => "o",
            Self::Hsaco => "hsaco",
            Self::LlvmIr => "ll",
            Self::LlvmBc => "bc",
            Self::Preprocessed => "i",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StatsFormat {
    Text,
    Json,
}

fn unknown_pass() -> String {
    let names: Vec<_> = PASSES.iter().map(|pass| pass.name).collect();
    format!("one of {}", names.join(", "))
}

fn pass(name: &str) -> Result<String, String> {
    before(name).map(|_| name.to_owned())
}

fn before(name: &str) -> Result<Place, String> {
    Place::before(name).ok_or_else(unknown_pass)
}

fn after(name: &str) -> Result<Place, String> {
    Place::after(name).ok_or_else(unknown_pass)
}

/// The list of passes as a table.
fn list_passes() {
    for pass in PASSES {
        let level = if pass.from_level > 0 { format!("  from -O{}", pass.from_level) } else { String::new() };
        let line = format!("{:24} {:?} -> {:?}{level}", pass.name, pass.needs, pass.leaves);
        println!("{}", line.replace("Machine(", "").replace(')', ""));
    }
}

/// Seconds and share of each pass, the sum over all threads.
fn print_times(output: &Output) {
    let times = output.pass_times();
    let total: f64 = times.iter().map(|(_, time)| time.as_secs_f64()).sum();
    eprintln!("  seconds  share  pass");
    for (pass, time) in times.iter() {
        let seconds = time.as_secs_f64();
        eprintln!("{seconds:9.6} {:5.1}%  {pass}", seconds / total.max(f64::MIN_POSITIVE) * 100.0);
    }
    eprintln!("{total:9.6} 100.0%  all");
}

/// Numbers about each function as a table.
fn print_stats(output: &Output) {
    eprintln!("  sgprs  vgprs spilled s+v  waves    lds scratch   code  insts  function");
    for f in &output.functions {
        let spilled = format!("{}+{}", f.sgpr_spills, f.vgpr_spills);
        eprintln!(
            "{:7} {:6} {spilled:>11} {:6} {:6} {:7} {:6} {:6}  {}",
            f.sgprs,
            f.vgprs,
            f.occupancy,
            f.lds_bytes,
            f.scratch_bytes,
            f.code_bytes,
            f.instructions,
            f.function
        );
    }
}

/// Processors and features, as llc lists them, on standard error.
fn print_targets() {
    eprintln!("Available CPUs for this target:\n");
    for processor in mir::target::PROCESSORS {
        eprintln!("  {:16} - GFX{}.", processor.name, processor.generation as u8 + 6);
        for alias in processor.aliases {
            eprintln!("  {alias:16} - Another name of {}.", processor.name);
        }
    }
    eprintln!("\nAvailable features for this target:\n");
    for (name, text) in gcnc::options::feature_help() {
        eprintln!("  {name:26} - {text}.");
    }
    eprintln!("\nUse +feature to enable a feature, or -feature to disable it.");
    eprintln!("For example, gcnc -mcpu=gfx900 -mattr=+feature1,-feature2");
}

/// Where the text in `bytes` says that its compilation goes on.
///
/// # Errors
/// A message where it does not say so.
fn next_pass(bytes: &[u8]) -> Result<Place, &'static str> {
    let place = std::str::from_utf8(bytes).ok().and_then(Place::named_in);
    place.ok_or("no line of the text names the next pass, and there is no --start-before or --start-after")
}

pub fn main(args: &Args) -> i32 {
    if args.passes.list_passes {
        list_passes();
        return status::OK;
    }
    if args.mcpu == "help" || args.mattr.iter().any(|name| name == "help" || name == "+help") {
        print_targets();
        return status::OK;
    }
    let units = match args.units() {
        Ok(units) => units,
        Err(message) => return refused(&message),
    };
    let [(input, kind @ (Kind::Ir | Kind::Mir))] = &units[..] else { return build::main(args, &units) };
    let emit = args.emit().unwrap_or(Emit::Asm);
    if matches!(emit, Emit::LlvmIr | Emit::LlvmBc | Emit::Preprocessed) || !args.offload_arch.is_empty() {
        return build::main(args, &units);
    }
    if let Some(word) = args.clang_arg.first() {
        return wrong(&format!("`{}` is for sources, and no input is one", word.display()));
    }
    let name = input.to_string_lossy();
    match read(input) {
        Ok(bytes) => {
            pages::fit(bytes.len());
            ir(args, &bytes, input, *kind == Kind::Mir, emit)
        }
        Err(error) => refused(&format!("{name}: {error}")),
    }
}

/// Reports wrong usage.
pub(super) fn wrong(message: &str) -> i32 {
    eprintln!("gcnc: error: {message}");
    status::USAGE
}

/// Compiles one module, `bytes`, which came of `input`, and writes all that the options ask for.
pub(super) fn ir(args: &Args, bytes: &[u8], input: &Path, is_text: bool, emit: Emit) -> i32 {
    let name = input.to_string_lossy();
    let passes = &args.passes;
    let mut options = args.options(emit.file_type());
    if is_text && options.start.is_none() {
        match next_pass(bytes) {
            Ok(place) => options.start = Some(place),
            Err(message) => return refused(&format!("{name}: {message}")),
        }
    }
    let path = args.output.clone().unwrap_or_else(|| inputs::beside(input, emit.ending()));
    if args.metadata.is_some() && path == Path::new("-") {
        return wrong("--metadata writes a file beside the output, which is none here");
    }
    let output = match gcnc::compile(bytes, &name, &options) {
        Ok(output) => output,
        Err(errors) => {
            return errors.iter().map(|error| report(&name, error)).max().unwrap_or(status::DEFECT);
        }
    };
    if let Err(status) = args.tell(&output, &name) {
        return status;
    }
    let is_written = emit != Emit::Null || options.stop.is_some();
    let contents = [options.text_header().as_bytes(), &output.bytes].concat();
    if is_written && let Err(error) = write(&path, &contents) {
        return refused(&format!("{}: {error}", path.display()));
    }
    if let Some(metadata) = &output.metadata {
        let path = path.with_extension("amdil");
        let unit = mir::abi::amdil::of_metadata(metadata, output.processor);
        if let Err(error) = write(&path, unit.to_string().as_bytes()) {
            return refused(&format!("{}: {error}", path.display()));
        }
    }
    if passes.time_passes {
        print_times(&output);
    }
    if let Some(folder) = &args.save_temps {
        let beside = args.output.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let folder = if folder.as_os_str().is_empty() { beside } else { folder };
        if let Err(message) = save_temps::write(bytes, &name, folder, &options) {
            return refused(&message);
        }
    }
    args.tell_numbers(&output);
    status::OK
}

impl Args {
    /// The inputs with their kinds.
    pub(super) fn units(&self) -> Result<Vec<(PathBuf, Kind)>, String> {
        if self.inputs.is_empty() {
            let kind = self.language.unwrap_or(Kind::Ir);
            return Ok(vec![(PathBuf::from("-"), kind)]);
        }
        let kind = |path: &PathBuf| Ok((path.clone(), inputs::kind(path, self.language)?));
        self.inputs.iter().map(kind).collect()
    }

    /// What the options say is to be written.
    pub(super) fn emit(&self) -> Option<Emit> {
        let of_type = |file_type| match file_type {
            FileTypeArg::Asm => Emit::Asm,
            FileTypeArg::Obj => Emit::Obj,
            FileTypeArg::Null => Emit::Null,
            FileTypeArg::Hsaco => Emit::Hsaco,
        };
        let switches =
            [(self.no_link, Emit::Obj), (self.assembly, Emit::Asm), (self.preprocess, Emit::Preprocessed)];
        let switch = switches.iter().find(|(on, _)| *on).map(|&(_, emit)| emit);
        self.emit.or(self.filetype.map(of_type)).or(switch)
    }

    /// The options of a compilation from IR.
    pub(super) fn options(&self, file_type: FileType) -> CompileOptions {
        let passes = &self.passes;
        CompileOptions {
            triple: self.mtriple.clone(),
            march: self.march.clone(),
            cpu: self.mcpu.clone(),
            attributes: self.mattr.clone(),
            opt_level: self.opt_level.number,
            file_type,
            code_object_version: self.amdhsa_code_object_version,
            verify: passes.verify_machineinstrs,
            print_before: PassSet { all: passes.print_before_all, names: passes.print_before.clone() },
            print_after: PassSet { all: passes.print_after_all, names: passes.print_after.clone() },
            print_functions: passes.filter_print_funcs.clone(),
            start: passes.start(),
            stop: passes.stop(),
            threads: self.threads,
            function_attributes: self.code.function_attributes(),
            contract_all: self.code.contract_all(),
            function_sections: self.code.function_sections(),
            data_sections: self.code.data_sections(),
            memory_model: self.code.memory_model(),
            metadata: self.metadata.is_some(),
            assumed_stack: self.code.assumed_stack(),
            watch: None,
            pool: None,
        }
    }

    /// Prints the warnings of a compilation and what was to be printed between passes.
    ///
    /// # Errors
    /// The exit status where warnings are errors.
    pub(super) fn tell(&self, output: &Output, name: &str) -> Result<(), i32> {
        let kind = if self.fatal_warnings { "error" } else { "warning" };
        for warning in output.warnings.iter().filter(|_| self.fatal_warnings || !self.no_warn) {
            eprintln!("gcnc: {kind}: {name}: {warning}");
        }
        if self.fatal_warnings && !output.warnings.is_empty() {
            return Err(status::REFUSED);
        }
        eprint!("{}", output.dump);
        Ok(())
    }

    /// Prints the numbers of `--stats`.
    pub(super) fn tell_numbers(&self, output: &Output) {
        if self.stats == Some(StatsFormat::Text) {
            print_stats(output);
        }
        if self.stats == Some(StatsFormat::Json) {
            let mut out = std::io::stdout().lock();
            for function in &output.functions {
                // Plain data always serialises; a closed pipe is the reader's wish.
                let _ = serde_json::to_writer(&mut out, function).map(|()| writeln!(out));
            }
        }
    }

    /// Whether an option wants what only one compilation from IR has.
    pub(super) fn looks_inside(&self) -> bool {
        let passes = &self.passes;
        passes.stop().is_some()
            || passes.start().is_some()
            || self.save_temps.is_some()
            || self.metadata.is_some()
            || passes.time_passes
    }
}

pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    std::fs::read(path)
}

/// Writes through a temporary file in the same folder, so that a failure leaves no half-written output
/// behind. A file that is there keeps its mode; one that has other names, or another owner, is written in place, and all of them name the
/// new contents.
pub(super) fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if path == Path::new("-") {
        return crate::output::write(bytes);
    }
    let existing = match std::fs::symlink_metadata(path) {
        // Devices and pipes cannot be replaced by a rename.
        Ok(known) if !known.is_file() => return std::fs::write(path, bytes),
        Ok(known) => {
            // What must not be written is not replaced either.
            std::fs::OpenOptions::new().write(true).open(path)?;
            Some(known)
        }
        Err(_) => None,
    };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().permissions(output_permissions()).tempfile_in(folder)?;
    if let Some(known) = existing {
        let own = file.as_file().metadata()?;
        if known.nlink() > 1 || (known.uid(), known.gid()) != (own.uid(), own.gid()) {
            return std::fs::write(path, bytes);
        }
        file.as_file().set_permissions(known.permissions())?;
    }
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// What a plain create would ask for; the process's umask applies.
fn output_permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o666)
}
