//! `gcnc explain`: why an instruction is there.

use super::assemble::target_of_text;
use super::{compile, refused, report, status};
use ::report::place::Place;
use ::report::{Explainer, Explanation, Program};
use emit::assemble::{Assembled, Options, assemble_with};
use gcnc::CompileOptions;
use std::fmt::Write as _;
use std::path::Path;

#[derive(clap::Args)]
pub struct Args {
    /// `FILE.s:LINE`, a line of assembly text; or an object with `FILE:OFFSET` or `FILE:KERNEL+OFFSET`, offsets in bytes.
    #[arg(value_name = "FILE:PLACE")]
    place: String,
    /// Processor of assembly text that does not name one.
    #[arg(long, default_value = "")]
    mcpu: String,
    /// How to write it.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn main(args: &Args) -> i32 {
    match run(args) {
        Ok(()) => status::OK,
        Err(status) => status,
    }
}

/// Whether a file is assembly text by its name.
fn is_text(file: &str) -> bool {
    let extension = Path::new(file).extension();
    extension.is_some_and(|extension| ["s", "S", "asm"].iter().any(|known| extension == *known))
}

fn run(args: &Args) -> Result<(), i32> {
    let (file, place) = Place::split(&args.place, is_text).map_err(|message| {
        eprintln!("gcnc: error: {message}");
        status::USAGE
    })?;
    let bytes = compile::read(Path::new(file)).map_err(|error| refused(&format!("{file}: {error}")))?;
    let Assembled { object, lines, .. } = match is_text(file) {
        true => assemble(args, file, &bytes)?,
        false => Assembled { object: bytes, ..Assembled::default() },
    };
    let program = Program::load(&object).map_err(|error| report(file, &error))?;
    let (function, line) =
        program.find(&place, &lines).map_err(|message| refused(&format!("{file}: {message}")))?;
    let text_lines = program.text_lines(function, &lines);
    let places = |line: usize| match text_lines.get(line).copied().flatten() {
        Some(number) => format!("line {number}"),
        None => function.lines.get(line).map_or_else(String::new, |line| format!("+{:#x}", line.offset)),
    };
    let explainer = Explainer::new(&program, function, &places);
    let explained =
        explainer.explain(line).ok_or_else(|| refused(&format!("{file}: no such instruction")))?;
    match args.format {
        Format::Text => print!("{}", text(&explained, &places(line))),
        Format::Json => println!("{}", serde_json::to_string(&explained).map_err(|error| refused(&error))?),
    }
    Ok(())
}

fn assemble(args: &Args, file: &str, bytes: &[u8]) -> Result<Assembled, i32> {
    let text = std::str::from_utf8(bytes).map_err(|_| refused(&format!("{file}: the text is not UTF-8")))?;
    let options = CompileOptions { cpu: args.mcpu.clone(), ..CompileOptions::default() };
    let target = target_of_text(text, options).map_err(|error| report(file, &error))?;
    let options = Options { note_lines: true, ..Options::default() };
    assemble_with(text, &target, &options)
        .map_err(|errors| errors.iter().map(|error| report(file, error)).max().unwrap_or(status::DEFECT))
}

/// An explanation for people.
fn text(e: &Explanation, place: &str) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(out, "{place} of {}: {}", e.function, e.text);
    let _ = writeln!(out, "  what:   {}", e.operation);
    let _ = writeln!(out, "  unit:   {}", e.rate);
    for (title, list) in [("reads: ", &e.reads), ("writes:", &e.writes)] {
        for (index, entry) in list.iter().enumerate() {
            let _ = writeln!(out, "  {} {entry}", if index == 0 { title } else { "       " });
        }
    }
    for (index, reason) in e.reasons.iter().enumerate() {
        let _ = writeln!(out, "  {} {}", if index == 0 { "why:   " } else { "       " }, reason.text);
    }
    out
}
