//! `gcnc report`: a page about the kernels of an object, or of IR.

mod ir_lines;

use super::build::{self, inputs::Kind};
use super::{compile, read_json, refused, report, status};
use ::report::{Inputs, IrText};
use gcnc::{CompileOptions, FileType};
use sim::{Model, Outcome, RunError, RunOptions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// OpenCL or HIP source, LLVM IR (text or bitcode), or a code object, relocatable or linked.
    input: PathBuf,
    /// Output file; `-` is standard output.
    #[arg(short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// What to write: a page, or its data.
    #[arg(long, value_enum, default_value_t = Format::Html)]
    format: Format,
    /// Run this dispatch (as `gcnc run` takes it) and show where its cycles went.
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    /// Processor that IR is compiled for.
    #[arg(long, default_value = "")]
    mcpu: String,
    /// Target triple of IR; overrides the module's.
    #[arg(long, default_value = "")]
    mtriple: String,
    /// Target features of IR, `+a,-b`.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// Optimisation level for IR.
    #[arg(short = 'O', default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// Code object version for IR, 2 to 6.
    #[arg(long, value_name = "N")]
    amdhsa_code_object_version: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One page of HTML that needs nothing beside it.
    Html,
    /// The page's data.
    Json,
}

/// What a report is made of: an object, and the IR that it was made from.
struct Prepared {
    object: Vec<u8>,
    ir: Option<IrText>,
}

pub fn main(args: &Args) -> i32 {
    match run(args) {
        Ok(()) => status::OK,
        Err(status) => status,
    }
}

fn run(args: &Args) -> Result<(), i32> {
    let name = args.input.display().to_string();
    let bytes = match build::inputs::kind(&args.input, None) {
        Ok(Kind::Source(_)) => build::bitcode(&source_args(args)?)?,
        _ => compile::read(&args.input).map_err(|error| refused(&format!("{name}: {error}")))?,
    };
    let prepared = prepare(args, bytes, &name)?;
    let outcome = match &args.run {
        Some(dispatch) => Some(simulate(&prepared.object, dispatch)?),
        None => None,
    };
    let inputs = Inputs {
        object: &prepared.object,
        name: &name,
        ir: prepared.ir.as_ref(),
        run: outcome.as_ref(),
        read_source: &|file| read_source(&args.input, file),
    };
    let data = ::report::gather(&inputs).map_err(|error| report(&name, &error))?;
    let text = match args.format {
        Format::Html => ::report::html(&data),
        Format::Json => serde_json::to_string(&data).map_err(|error| refused(&error))? + "\n",
    };
    compile::write(&args.output, text.as_bytes())
        .map_err(|error| refused(&format!("{}: {error}", args.output.display())))
}

/// The command line that compiles a source, with its lines.
fn source_args(args: &Args) -> Result<compile::Args, i32> {
    let mut words: Vec<OsString> = vec![
        "gcnc".into(),
        format!("--mcpu={}", args.mcpu).into(),
        format!("-O{}", args.opt_level).into(),
        "--clang-arg=-g".into(),
    ];
    let version = args.amdhsa_code_object_version;
    words.extend(version.map(|version| format!("--amdhsa-code-object-version={version}").into()));
    words.extend(["--".into(), args.input.clone().into()]);
    super::compile_args(words).map_err(|message| refused(&message))
}

/// Makes an object of the input. What is to be reported on otherwise than through IR gets its way here.
fn prepare(args: &Args, bytes: Vec<u8>, name: &str) -> Result<Prepared, i32> {
    if bytes.starts_with(b"\x7fELF") {
        return Ok(Prepared { object: bytes, ir: None });
    }
    let options = CompileOptions {
        triple: args.mtriple.clone(),
        cpu: args.mcpu.clone(),
        attributes: args.mattr.clone(),
        opt_level: args.opt_level,
        file_type: FileType::Obj,
        code_object_version: args.amdhsa_code_object_version,
        ..CompileOptions::default()
    };
    match ir_lines::compile(&bytes, name, &options) {
        Ok((object, ir)) => Ok(Prepared { object, ir: Some(ir) }),
        Err(errors) => Err(errors.iter().map(|error| report(name, error)).max().unwrap_or(status::DEFECT)),
    }
}

/// Runs a dispatch and follows the cycles of each instruction.
fn simulate(object: &[u8], dispatch: &Path) -> Result<Outcome, i32> {
    let json = read_json(dispatch)?;
    let options = RunOptions {
        model: Some(Model { per_instruction: true, ..Model::default() }),
        base: dispatch.parent().map(PathBuf::from),
        ..RunOptions::default()
    };
    sim::run_from_json(object, &json, &options).map_err(|error| match error {
        RunError::Usage(message) => refused(&message),
        RunError::Stopped(stopped) => {
            eprintln!("gcnc: {stopped}");
            status::STRICT
        }
    })
}

/// A source file: where the line table says, or beside the input.
fn read_source(input: &Path, file: &str) -> Option<String> {
    let beside = || input.parent().map(|folder| folder.join(file));
    let text = std::fs::read(file).ok().or_else(|| std::fs::read(beside()?).ok())?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
