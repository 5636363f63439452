//! `gcnc link`: objects, archives and IR to one loadable code object, with the flags of `ld.lld` that compilers' drivers pass.

use super::{compile, report, status, thin};
use clap::{ArgAction, ArgMatches, CommandFactory, FromArgMatches};
use emit::link::{BuildId, Exports, Input, LinkOptions, Merge, Strip, Undefined};
use gcnc::{CompileOptions, FileType};
use std::path::{Path, PathBuf};

/// Objects, archives and libraries in the order of the command line, with the mode that each was given in.
#[derive(Debug)]
pub struct Args {
    flags: Flags,
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    name: PathBuf,
    /// Given as `-lNAME`: to be looked for.
    library: bool,
    whole_archive: bool,
}

#[derive(clap::Args, Debug)]
#[command(
    after_help = "LLVM IR among the inputs is compiled first, each file by itself. `@FILE` reads arguments from a file."
)]
struct Flags {
    /// Relocatable objects, archives, LLVM IR.
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Library to look for in the folders of `-L`: `libNAME.a`, or NAME itself after a colon.
    #[arg(short = 'l', long = "library", value_name = "NAME", action = ArgAction::Append)]
    library: Vec<String>,
    /// Folder of libraries.
    #[arg(short = 'L', long = "library-path", value_name = "DIR", action = ArgAction::Append)]
    library_path: Vec<PathBuf>,
    /// Output file; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "a.out")]
    output: PathBuf,
    /// Make a shared object, the only kind that AMD's runtimes load: always so, but for `-r`.
    #[arg(long, visible_alias = "Bshareable")]
    shared: bool,
    /// Join objects to one that can be linked again: sections of a name become one, relocations stay.
    #[arg(short = 'r', long, conflicts_with_all = ["shared", "gc_sections"])]
    relocatable: bool,
    /// Take all members of the archives that follow.
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append)]
    whole_archive: Vec<bool>,
    /// Take members of the archives that follow as they are needed.
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append)]
    no_whole_archive: Vec<bool>,
    /// Refuse undefined symbols. Without it those of default visibility are left to the loader.
    #[arg(long)]
    no_undefined: bool,
    /// What to do about undefined symbols.
    #[arg(long, value_name = "HOW", value_parser = ["report-all", "ignore-all", "ignore-in-object-files"])]
    unresolved_symbols: Option<String>,
    /// References to symbols that are defined here stay here.
    #[arg(long = "Bsymbolic")]
    symbolic: bool,
    /// The same for functions.
    #[arg(long = "Bsymbolic-functions")]
    symbolic_functions: bool,
    /// Name of the shared object.
    #[arg(long, short = 'h', value_name = "NAME")]
    soname: Option<String>,
    /// Which symbols are exported: `{ global: NAME; PATTERN*; local: *; };`. Versions by name are refused.
    #[arg(long, value_name = "FILE")]
    version_script: Option<PathBuf>,
    /// Note that names the object: by contents (fast, sha1), by given bytes (0xHEX), or none.
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "fast", overrides_with = "build_id")]
    build_id: Option<String>,
    /// Drop sections that nothing leads to.
    #[arg(long)]
    gc_sections: bool,
    /// Keep all sections.
    #[arg(long, overrides_with = "gc_sections")]
    no_gc_sections: bool,
    /// Leave out symbols and debug information.
    #[arg(short, long)]
    strip_all: bool,
    /// Leave out debug information.
    #[arg(short = 'S', long)]
    strip_debug: bool,
    /// Options of the compiler for LLVM IR, as of LLVM's linkers: mcpu=P, O2, -mattr=+a.
    #[arg(long = "plugin-opt", value_name = "OPTION", action = ArgAction::Append, allow_hyphen_values = true)]
    plugin_opt: Vec<String>,
    /// Strings and constants that occur more than once: 0 keep them (but with `-r`), 1 keep one, 2 keep no string that another one ends with.
    #[arg(short = 'O', value_name = "N", default_value = "1")]
    level: String,
    /// Optimisation level for LLVM IR.
    #[arg(long = "lto-O", value_name = "N", require_equals = true, value_parser = clap::value_parser!(u8).range(0..=3))]
    lto_level: Option<u8>,
    /// Emulated output format; only `elf64_amdgpu`.
    #[arg(short, value_name = "NAME", value_parser = ["elf64_amdgpu"])]
    m: Option<String>,
    /// Behave as this linker; only `gnu`.
    #[arg(long, value_name = "NAME", value_parser = ["gnu"])]
    flavor: Option<String>,
    /// `defs`, `undefs`; others of GNU's linker change nothing here.
    #[arg(short, value_name = "KEYWORD", action = ArgAction::Append)]
    z: Vec<String>,
    #[command(flatten)]
    ignored: Ignored,
}

/// What drivers pass and what changes nothing here.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Accepted without effect")]
struct Ignored {
    /// The result has both hash tables.
    #[arg(long, value_name = "STYLE", value_parser = ["sysv", "gnu", "both"])]
    hash_style: Option<String>,
    /// There is no section `.eh_frame`.
    #[arg(long)]
    eh_frame_hdr: bool,
    /// Shared libraries cannot be linked against.
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append)]
    as_needed: Vec<bool>,
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append)]
    no_as_needed: Vec<bool>,
    /// Names of a version script may be missing.
    #[arg(long)]
    no_undefined_version: bool,
    #[arg(long)]
    undefined_version: bool,
    /// Libraries are archives.
    #[arg(long = "Bdynamic")]
    prefer_shared: bool,
    #[arg(long = "Bstatic")]
    prefer_static: bool,
    /// Archives are searched as often as needed.
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append)]
    start_group: Vec<bool>,
    #[arg(long, num_args = 0, default_missing_value = "true", action = ArgAction::Append)]
    end_group: Vec<bool>,
    /// Symbols of a shared object are exported by their visibility.
    #[arg(short = 'E', long)]
    export_dynamic: bool,
    /// Code objects have no entry.
    #[arg(short = 'e', long, value_name = "SYMBOL")]
    entry: Option<String>,
    /// Threads: the linker needs none.
    #[arg(long, value_name = "N")]
    threads: Option<String>,
    /// Options for LLVM's code generator.
    #[arg(long, value_name = "OPTION", action = ArgAction::Append, allow_hyphen_values = true)]
    mllvm: Vec<String>,
    /// LLVM's plug-in for other linkers: IR needs none here.
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    plugin: Option<String>,
    /// Parts that LLVM compiles at the same time.
    #[arg(long, value_name = "N")]
    lto_partitions: Option<String>,
    /// Optimisation level of LLVM's code generator.
    #[arg(long = "lto-CGO", value_name = "N", require_equals = true)]
    lto_codegen: Option<String>,
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let flags = Flags::from_arg_matches(matches)?;
        let places = |id: &str| matches.indices_of(id).into_iter().flatten().collect::<Vec<_>>();
        let (on, off) = (places("whole_archive"), places("no_whole_archive"));
        // A file is in the mode of the last switch before it.
        let whole_at = |place: usize| {
            let last = |switches: &[usize]| switches.iter().copied().filter(|&s| s < place).max();
            last(&on) > last(&off)
        };
        let inputs = flags.inputs.iter().map(|input| (input.clone(), false)).zip(places("inputs"));
        let libraries = flags.library.iter().map(|name| (PathBuf::from(name), true)).zip(places("library"));
        let mut files: Vec<(usize, File)> = inputs
            .chain(libraries)
            .map(|((name, library), place)| (place, File { name, library, whole_archive: whole_at(place) }))
            .collect();
        files.sort_by_key(|(place, _)| *place);
        Ok(Self { flags, files: files.into_iter().map(|(_, file)| file).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Args {
    fn augment_args(command: clap::Command) -> clap::Command {
        // `-h` names the shared object, as in every linker.
        Flags::augment_args(command)
            .disable_help_flag(true)
            .arg(clap::Arg::new("help").long("help").action(ArgAction::HelpLong).help("Print help"))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl CommandFactory for Args {
    fn command() -> clap::Command {
        <Self as clap::Args>::augment_args(clap::Command::new("link"))
    }

    fn command_for_update() -> clap::Command {
        Self::command()
    }
}

pub fn main(args: &Args) -> i32 {
    let options = match args.flags.link_options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("gcnc: error: {message}");
            return status::USAGE;
        }
    };
    let mut contents: Vec<(String, Vec<u8>, bool)> = Vec::new();
    for file in &args.files {
        let read = args.flags.find(file).and_then(|path| {
            let mut bytes = compile::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            if thin::is_thin(&bytes) {
                bytes = thin::whole(&bytes, &path)?;
            }
            Ok((path.display().to_string(), bytes))
        });
        let (name, bytes) = match read {
            Ok(read) => read,
            Err(message) => {
                eprintln!("gcnc: error: {message}");
                return status::REFUSED;
            }
        };
        let bytes = match is_object(&bytes) {
            true => bytes,
            false => match args.flags.compile(&bytes, &name) {
                Ok(bytes) => bytes,
                Err(status) => return status,
            },
        };
        contents.push((name, bytes, file.whole_archive));
    }
    let inputs: Vec<Input<'_>> = contents
        .iter()
        .map(|(name, bytes, whole_archive)| Input { name, bytes, whole_archive: *whole_archive })
        .collect();
    let output = &args.flags.output;
    let linked = match args.flags.relocatable {
        true => emit::link::link_relocatable(&inputs, &options),
        false => emit::link::link(&inputs, &options),
    };
    match linked {
        Ok(bytes) => match compile::write(output, &bytes) {
            Ok(()) => status::OK,
            Err(error) => {
                eprintln!("gcnc: error: {}: {error}", output.display());
                status::REFUSED
            }
        },
        Err(error) => report(&output.display().to_string(), &error),
    }
}

/// Whether the linker reads it: everything else is IR.
fn is_object(bytes: &[u8]) -> bool {
    [&b"\x7fELF"[..], b"!<arch>\n", b"!<thin>\n"].iter().any(|magic| bytes.starts_with(magic))
}

impl Flags {
    /// The file that `file` means.
    fn find(&self, file: &File) -> Result<PathBuf, String> {
        if !file.library {
            return Ok(file.name.clone());
        }
        let name = file.name.to_string_lossy();
        let wanted = match name.strip_prefix(':') {
            Some(exact) => exact.to_owned(),
            None => format!("lib{name}.a"),
        };
        let candidates = self.library_path.iter().map(|folder| folder.join(&wanted));
        candidates.into_iter().find(|path| path.is_file()).ok_or_else(|| {
            let folders = self.library_path.iter().map(|f| f.display().to_string()).collect::<Vec<_>>();
            format!("-l{name}: no {wanted} in the folders of -L ({})", folders.join(", "))
        })
    }

    fn link_options(&self) -> Result<LinkOptions, String> {
        let has = |keyword: &str| {
            self.z
                .iter()
                .rev()
                .find(|k| ["defs", "undefs"].contains(&k.as_str()))
                .is_some_and(|k| k == keyword)
        };
        let reported = self.unresolved_symbols.as_deref() == Some("report-all");
        let refused = self.no_undefined || has("defs") || reported && !has("undefs");
        let undefined = if refused { Undefined::Error } else { Undefined::Allow };
        Ok(LinkOptions {
            soname: self.soname.clone(),
            undefined,
            symbolic: self.symbolic,
            symbolic_functions: self.symbolic_functions,
            gc_sections: self.gc_sections,
            merge: match self.level.parse::<u32>() {
                Ok(0) => Merge::Nothing,
                Ok(1) | Err(_) => Merge::Equal,
                Ok(_) => Merge::Tails,
            },
            strip: match (self.strip_all, self.strip_debug) {
                (true, _) => Strip::All,
                (_, true) => Strip::Debug,
                _ => Strip::None,
            },
            build_id: build_id(self.build_id.as_deref())?,
            exports: self.version_script.as_deref().map(exports).transpose()?,
        })
    }

    /// The object of LLVM IR.
    fn compile(&self, bytes: &[u8], name: &str) -> Result<Vec<u8>, i32> {
        let mut options = CompileOptions { file_type: FileType::Obj, ..CompileOptions::default() };
        options.opt_level = self.lto_level.unwrap_or(options.opt_level);
        for option in &self.plugin_opt {
            let option = option.trim_start_matches('-');
            if let Some(cpu) = option.strip_prefix("mcpu=") {
                options.cpu = cpu.to_owned();
            } else if let Some(features) = option.strip_prefix("mattr=") {
                options.attributes.extend(features.split(',').map(str::to_owned));
            } else if let Some(Ok(level @ 0..=3)) = option.strip_prefix('O').map(str::parse) {
                options.opt_level = level;
            }
        }
        match gcnc::compile(bytes, name, &options) {
            Ok(output) => {
                for warning in &output.warnings {
                    eprintln!("gcnc: warning: {name}: {warning}");
                }
                Ok(output.bytes)
            }
            Err(errors) => {
                Err(errors.iter().map(|error| report(name, error)).max().unwrap_or(status::DEFECT))
            }
        }
    }
}

/// What the version script in a file says.
fn exports(path: &Path) -> Result<Exports, String> {
    let bytes = compile::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Exports::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| format!("{}: {error}", path.display()))
}

fn build_id(how: Option<&str>) -> Result<BuildId, String> {
    let Some(how) = how else { return Ok(BuildId::None) };
    let wrong =
        || format!("--build-id={how}: one of none, fast, sha1, 0xHEX (random and MD5 names are not made)");
    Ok(match how {
        "none" => BuildId::None,
        "fast" => BuildId::Hash(8),
        "sha1" | "tree" => BuildId::Hash(20),
        _ => {
            let digits = how.strip_prefix("0x").or_else(|| how.strip_prefix("0X")).ok_or_else(wrong)?;
            if digits.is_empty() || digits.len() % 2 != 0 || !digits.is_ascii() {
                return Err(wrong());
            }
            let bytes = digits.as_bytes().chunks(2).map(|pair| {
                std::str::from_utf8(pair)
                    .ok()
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                    .ok_or_else(wrong)
            });
            BuildId::Bytes(bytes.collect::<Result<_, _>>()?)
        }
    })
}
