//! The command line: one binary; an input file compiles, the other jobs are subcommands.

mod assemble;
mod bisect;
mod build;
mod bundle;
mod code_flags;
mod compile;
mod completions;
mod devices;
mod disasm;
mod explain;
mod inspect;
mod link;
mod llc_words;
mod man;
mod mc;
mod pages;
mod report;
mod response;
mod roles;
mod run;
mod save_temps;
mod thin;

use clap::{Args as _, CommandFactory, Parser, Subcommand, error::ErrorKind};
use std::ffi::OsString;

/// Exit statuses, as documented.
pub mod status {
    /// Done.
    pub const OK: i32 = 0;
    /// The input was refused.
    pub const REFUSED: i32 = 1;
    /// Wrong usage.
    pub const USAGE: i32 = 2;
    /// A strict check or a limit of the simulator stopped the run, results are not the expected ones, or stages of the compiler differ.
    pub const STRICT: i32 = 3;
    /// A defect of gcnc.
    pub const DEFECT: i32 = 70;
}

/// Compiles LLVM IR to code objects for AMD GCN GPUs.
#[derive(Parser)]
#[command(name = "gcnc", version, args_conflicts_with_subcommands = true, args_override_self = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    compile: compile::Args,
}

/// A compilation alone: what [`Cli`] is where no subcommand is named. Describing the subcommands takes longer than compiling a small kernel.
#[derive(Parser)]
#[command(name = "gcnc", version, args_override_self = true)]
struct Compilation {
    #[command(flatten)]
    compile: compile::Args,
}

#[derive(Subcommand)]
enum Command {
    /// Run a kernel on the simulator.
    Run(Box<run::Args>),
    /// Run a kernel after every step of the compiler and name the first step that changed what it does.
    ///
    /// Exit status: 0 all stages that ran agree, 3 a step is named, 1 the input was refused or fewer than two
    /// stages ran to their end, 2 wrong usage, 70 a defect of gcnc.
    Bisect(bisect::Args),
    /// Assemble a file.
    As(assemble::Args),
    /// Link objects, archives and IR into a loadable code object, with ld.lld's flags.
    Link(Box<link::Args>),
    /// Put files for a host and devices into one, with clang-offload-bundler's flags.
    Bundle(Box<bundle::Args>),
    /// Take the files out of a bundle again.
    Unbundle(Box<bundle::Args>),
    /// Write an object as assembly that `gcnc as` reads back.
    Disasm(disasm::Args),
    /// Show all that an object, a bundle or an archive says.
    Inspect(inspect::Args),
    /// Assemble or disassemble single instructions, one a line.
    Mc(mc::Args),
    /// Write a page about the kernels of an object or of IR: source, IR and machine code, registers, waves, cycles.
    ///
    /// Exit status: 0 done, 1 the input was refused, 2 wrong usage, 3 a strict check stopped the run, 70 a defect of gcnc.
    Report(Box<report::Args>),
    /// Say in words what an instruction does and why it is there.
    Explain(explain::Args),
    /// Print what a shell needs to complete gcnc's words.
    Completions(completions::Args),
    /// Write man pages: `gcnc.1`, and one for each subcommand.
    Man(man::Args),
}

/// Runs the command with `args` (the program's name first) and returns the exit status.
pub fn main(args: Vec<OsString>) -> i32 {
    pages::start_small();
    let args = match words(args) {
        Ok(args) => args,
        Err(message) => {
            eprintln!("gcnc: error: {message}");
            return status::USAGE;
        }
    };
    if !names_subcommand(&args)
        && let Ok(Compilation { compile }) = Compilation::try_parse_from(&args)
    {
        return compile::main(&compile);
    }
    // Help and complaints speak of the subcommands, too.
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => status::OK,
                _ => status::USAGE,
            };
        }
    };
    match cli.command {
        Some(Command::Run(args)) => run::main(&args),
        Some(Command::Bisect(args)) => bisect::main(&args),
        Some(Command::As(args)) => assemble::main(&args),
        Some(Command::Link(args)) => link::main(&args),
        Some(Command::Bundle(args)) => bundle::main(&args, false),
        Some(Command::Unbundle(args)) => bundle::main(&args, true),
        Some(Command::Disasm(args)) => disasm::main(&args),
        Some(Command::Inspect(args)) => inspect::main(&args),
        Some(Command::Mc(args)) => mc::main(&args),
        Some(Command::Report(args)) => report::main(&args),
        Some(Command::Explain(args)) => explain::main(&args),
        Some(Command::Completions(args)) => completions::main(&args, Cli::command()),
        Some(Command::Man(args)) => man::main(&args, Cli::command()),
        None => compile::main(&cli.compile),
    }
}

/// The options of a compilation in `words`, the program's name first.
fn compile_args(words: Vec<OsString>) -> Result<compile::Args, String> {
    Compilation::try_parse_from(words).map(|it| it.compile).map_err(|error| error.to_string())
}

/// Whether the word behind the program's name is that of a subcommand.
fn names_subcommand(args: &[OsString]) -> bool {
    let word = args.get(1).and_then(|word| word.to_str());
    word.is_some_and(|word| word == "help" || Command::has_subcommand(word))
}

/// The words of the command line as clap takes them; warns of those that are passed over.
fn words(args: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let mut args = response::expand(args)?;
    if let Some(subcommand) = roles::subcommand(&args).filter(|_| !names_subcommand(&args)) {
        args.insert(1, subcommand.into());
    }
    let first = args.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    if first == "link" {
        return Ok(normalise(roles::of_compiler(args)));
    }
    if first == "run" {
        let run = run::Args::augment_args(clap::Command::new("run"));
        return Ok(normalise(build::words::hand_on(&args, &run)));
    }
    if names_subcommand(&args) {
        return Ok(normalise(args));
    }
    let (args, warnings) = llc_words::translate(args, &Compilation::command())?;
    for warning in warnings {
        eprintln!("gcnc: warning: {warning}");
    }
    Ok(args)
}

/// llc and linkers accept long options with one dash; clap does not. Everything after a dash that is longer than a known short option
/// with its value gets a second dash.
fn normalise(args: Vec<OsString>) -> Vec<OsString> {
    let mut only_files = false;
    let linking = args.get(1).is_some_and(|command| command == "link");
    let bundling = args.get(1).is_some_and(|command| command == "bundle" || command == "unbundle");
    args.into_iter()
        .map(|arg| {
            only_files |= arg == "--";
            match arg.to_str() {
                Some(text) if linking && let Some(word) = roles::linker_word(text) => OsString::from(word),
                // `-lNAME`, `-LDIR`, `-melf64_amdgpu`, `-zdefs`: a linker's short options with their values.
                Some(text) if linking && has_attached_value(text) => arg,
                // The bundler's long options, one of which begins with an `o`.
                Some(text) if bundling && text.starts_with("-output") => OsString::from(format!("-{text}")),
                Some(text) if !only_files && needs_second_dash(text) => OsString::from(format!("-{text}")),
                _ => arg,
            }
        })
        .collect()
}

/// Whether `text` is a short option of a linker with its value.
fn has_attached_value(text: &str) -> bool {
    let long = ["-library", "-lto-", "-mllvm"].iter().any(|name| text.starts_with(name));
    !long && ["-l", "-L", "-m", "-z"].iter().any(|name| text.starts_with(name))
}

/// Whether `text` is a long option written with one dash. `-o FILE`, `-oFILE` and `-O2` are short options; of the names that begin with
/// an `o`, only llc's own long ones are taken as such.
fn needs_second_dash(text: &str) -> bool {
    let Some(name) = text.strip_prefix('-') else { return false };
    match name.as_bytes() {
        [] | [b'-', ..] | [_] => false,
        [b'O', level] => !level.is_ascii_digit(),
        [b'o', ..] => false,
        _ => true,
    }
}

/// Prints why the input is refused and returns the exit status for it.
fn refused(what: &dyn std::fmt::Display) -> i32 {
    eprintln!("gcnc: error: {what}");
    status::REFUSED
}

/// The text of a file that describes a dispatch, or the exit status where it cannot be read.
fn read_json(path: &std::path::Path) -> Result<String, i32> {
    std::fs::read_to_string(path).map_err(|error| refused(&format!("{}: {error}", path.display())))
}

/// Prints a diagnostic the way scripts expect it and returns the exit status for it.
fn report(file: &str, diagnostic: &mir::Diagnostic) -> i32 {
    let location = match &diagnostic.location {
        Some(at) if at.line != 0 && at.column != 0 => {
            format!("{}:{}:{}", file_of(at, file), at.line, at.column)
        }
        Some(at) if at.line != 0 => format!("{}:{}", file_of(at, file), at.line),
        _ => file.to_owned(),
    };
    eprintln!("gcnc: error: {location}: {diagnostic}");
    match diagnostic.kind {
        mir::ErrorKind::Defect => {
            eprintln!("gcnc: this is a defect of gcnc; please report it with the input and the command line");
            status::DEFECT
        }
        _ => status::REFUSED,
    }
}

fn file_of<'a>(location: &'a mir::diag::SourceLocation, fallback: &'a str) -> &'a str {
    if location.file.is_empty() { fallback } else { &location.file }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalised(args: &[&str]) -> Vec<String> {
        let args = normalise(args.iter().map(OsString::from).collect());
        args.into_iter().map(|a| a.into_string().unwrap()).collect()
    }

    #[test]
    fn one_dash_options_become_two() {
        assert_eq!(
            normalised(&["gcnc", "-mcpu=gfx900", "-O2", "-o", "x.o", "-filetype", "obj", "-", "--", "-mcpu"]),
            ["gcnc", "--mcpu=gfx900", "-O2", "-o", "x.o", "--filetype", "obj", "-", "--", "-mcpu"]
        );
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    /// Options that are "the same" or mapped exist, and options that exist and llc knows are such.
    #[test]
    fn the_table_of_flags_is_right_about_this_command() {
        use gcnc::llc_flags::{Fate, find, rows};
        let command = Cli::command();
        let built_in = ["help", "version"];
        let exists = |name: &str| {
            built_in.contains(&name)
                || command.get_arguments().any(|arg| {
                    arg.get_long() == Some(name)
                        || arg.get_short().is_some_and(|short| name == short.to_string())
                })
        };
        for flag in rows() {
            match flag.fate {
                Fate::Same => assert!(exists(flag.name), "{}", flag.name),
                Fate::Mapped(to) => assert!(exists(to.split('=').next().unwrap_or(to)), "{}", flag.name),
                Fate::Tuning | Fate::Missing => assert!(!exists(flag.name), "{}", flag.name),
            }
        }
        for name in command.get_arguments().filter_map(|arg| arg.get_long()) {
            assert!(find(name).is_none_or(|flag| flag.fate == Fate::Same), "{name}");
        }
    }
}
