//! `gcnc as`: files of assembly with directives.

use super::{compile, file_of, report, status};
use emit::assemble::{Options, assemble_with};
use gcnc::CompileOptions;
use mir::isa::parse::lexer::{Lexer, Token};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Assembly text; `-` reads standard input.
    input: PathBuf,
    /// Target triple; default: what `.amdgcn_target` or `.amd_amdgpu_isa` names, else amdgcn-amd-amdhsa.
    #[arg(long, default_value = "")]
    mtriple: String,
    /// Processor; default: what `.amdgcn_target` or `.amd_amdgpu_isa` names.
    #[arg(long, default_value = "")]
    mcpu: String,
    /// Target features, `+a,-b`.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// Code object version where the text has no directive for it.
    #[arg(long, value_name = "N")]
    amdhsa_code_object_version: Option<u8>,
    /// Folder of files that the text includes, behind that of the text.
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Output file; `-` is standard output.
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn main(args: &Args) -> i32 {
    let name = args.input.display().to_string();
    let refused = |what: &dyn std::fmt::Display| {
        eprintln!("gcnc: error: {name}: {what}");
        status::REFUSED
    };
    let text = match compile::read(&args.input).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => return refused(&"the text is not UTF-8"),
        Err(error) => return refused(&error),
    };
    let cpu = if args.mcpu.is_empty() { processor_of(&text) } else { Some(args.mcpu.as_str()) };
    let options = CompileOptions {
        cpu: cpu.unwrap_or_default().to_owned(),
        attributes: args.mattr.iter().filter(|attribute| !attribute.is_empty()).cloned().collect(),
        code_object_version: args.amdhsa_code_object_version,
        ..CompileOptions::default()
    };
    let triple = if args.mtriple.is_empty() { triple_of(&text) } else { Some(args.mtriple.as_str()) };
    let target = match options.target(triple.unwrap_or("amdgcn-amd-amdhsa"), None) {
        Ok(target) => target,
        Err(error) => return report(&name, &error),
    };
    let read_file = |name: &str| read_included(name, &args.input, &args.include);
    let version_is_given = args.amdhsa_code_object_version.is_some();
    let options = Options { read_file: Some(&read_file), version_is_given, ..Options::default() };
    let assembled = match assemble_with(&text, &target, &options) {
        Ok(assembled) => assembled,
        Err(errors) => {
            return errors.iter().map(|error| report(&name, error)).max().unwrap_or(status::DEFECT);
        }
    };
    assembled.printed.iter().for_each(|text| println!("{text}"));
    for warning in &assembled.warnings {
        let place = warning.location.as_ref();
        let place = place.map_or_else(|| name.clone(), |at| format!("{}:{}", file_of(at, &name), at.line));
        eprintln!("gcnc: warning: {place}: {warning}");
    }
    let output = args.output.clone().unwrap_or_else(|| args.input.with_extension("o"));
    match compile::write(&output, &assembled.object) {
        Ok(()) => status::OK,
        Err(error) => {
            eprintln!("gcnc: error: {}: {error}", output.display());
            status::REFUSED
        }
    }
}

/// The contents of the file that the text in `source` calls `name`: relative to the folder of `source`, then to
/// each of `folders`.
fn read_included(name: &str, source: &Path, folders: &[PathBuf]) -> Result<Vec<u8>, String> {
    let own = source.parent().unwrap_or(Path::new(""));
    let candidates = std::iter::once(own).chain(folders.iter().map(PathBuf::as_path));
    let found = candidates.map(|folder| folder.join(name)).find(|path| path.is_file());
    let Some(path) = found else { return Err("there is no such file".to_owned()) };
    std::fs::read(path).map_err(|error| error.to_string())
}

/// The target id that `.amdgcn_target` in `text` names, or `.amd_amdgpu_isa`: triple and processor with settings.
fn target_of(text: &str) -> Option<(&str, &str)> {
    let named = |directive: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(directive))?;
        let Token::Str(id) = Lexer::new(line).after().token else { return None };
        id.rsplit_once("--")
    };
    named(".amdgcn_target").or_else(|| named(".amd_amdgpu_isa"))
}

/// The triple that the text names.
fn triple_of(text: &str) -> Option<&str> {
    target_of(text).map(|(triple, _)| triple).filter(|triple| !triple.is_empty())
}

/// The processor that the text names; `.amd_amdgpu_isa` may have the name that V2 has for it.
fn processor_of(text: &str) -> Option<&str> {
    let name = target_of(text)?.1.split([':', '+']).next()?;
    let is_known = mir::target::Target::processor_by_name(name).is_some();
    let v2 = mir::abi::kernel_code::v2_processor(name).filter(|_| !is_known);
    Some(v2.map_or(name, |(processor, _)| processor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_its_processor() {
        let text = "\t.text\n\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-\"\n";
        assert_eq!(processor_of(text), Some("gfx906"));
        assert_eq!((processor_of("s_endpgm\n"), triple_of("s_endpgm\n")), (None, None));
        assert_eq!(triple_of(text), Some("amdgcn-amd-amdhsa"));
        assert_eq!(
            triple_of("\t.amd_amdgpu_isa \"amdgcn-mesa-mesa3d--gfx803\"\n"),
            Some("amdgcn-mesa-mesa3d")
        );
        assert_eq!(
            processor_of("s_endpgm\n\t.amd_amdgpu_isa \"amdgcn-amd-amdhsa--gfx901\"\n"),
            Some("gfx900")
        );
    }
}
