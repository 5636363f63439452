//! `--save-temps`: what a compilation leaves at the end of each of its stages, in files of their own.
//!
//! The input is compiled once for each stage, so this costs a dozen compilations, and what is written is what `--stop-after` writes: each file
//! can be compiled on.

use gcnc::pass::{Stage, position};
use gcnc::pipeline::PASSES;
use gcnc::{CompileOptions, FileType, Pass, PassSet, Place};
use std::path::{Path, PathBuf};

/// The last pass of each stage that can be written as text.
fn ends() -> impl Iterator<Item = &'static Pass> {
    let text = |stage| matches!(stage, Stage::Read | Stage::Expanded | Stage::Legal | Stage::Machine(_));
    let neighbours = PASSES.iter().zip(&PASSES[1..]);
    neighbours
        .filter(move |(pass, next)| text(pass.leaves) && pass.leaves != next.leaves)
        .map(|(pass, _)| pass)
}

/// Writes `STEM.NUMBER-STAGE.mir` for each stage, `STEM.s` and `STEM.o` in `folder`.
///
/// # Errors
/// A message where the input is refused or a file cannot be written.
pub fn write(input: &[u8], name: &str, folder: &Path, options: &CompileOptions) -> Result<(), String> {
    let stem = Path::new(name).file_stem().map_or("stdin".into(), |stem| stem.to_string_lossy());
    let stem = if name == "-" { "stdin" } else { &*stem };
    let save = |suffix: &str, options: CompileOptions| {
        let path: PathBuf = folder.join(format!("{stem}.{suffix}"));
        let output = gcnc::compile(input, name, &options)
            .map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string))?;
        super::compile::write(&path, &[options.text_header().as_bytes(), &output.bytes].concat())
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    let quiet = CompileOptions {
        print_before: PassSet::default(),
        print_after: PassSet::default(),
        stop: None,
        ..options.clone()
    };
    let start = options.passes().start;
    for (number, pass) in ends().enumerate().filter(|(_, pass)| position(PASSES, pass.name) >= start) {
        let stop = Place::after(pass.name);
        save(&format!("{number:02}-{}.mir", pass.leaves.word()), CompileOptions { stop, ..quiet.clone() })?;
    }
    save("s", CompileOptions { file_type: FileType::Asm, ..quiet.clone() })?;
    save("o", CompileOptions { file_type: FileType::Obj, ..quiet })
}
