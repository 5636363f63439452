//! `gcnc INPUT`: what llc does.

use super::{code_flags, report, status};
use gcnc::{CompileOptions, FileType, Step};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// LLVM IR, bitcode or text; `-` reads standard input.
    #[arg(required = true)]
    input: Option<PathBuf>,
    /// Target triple; overrides the module's.
    #[arg(long, default_value = "")]
    mtriple: String,
    /// Architecture; only `amdgcn`.
    #[arg(long, value_parser = ["amdgcn"])]
    march: Option<String>,
    /// Processor.
    #[arg(long, default_value = "")]
    mcpu: String,
    /// Target features, `+a,-b`.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// Optimisation level.
    #[arg(short = 'O', default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// What to write.
    #[arg(long, value_enum, default_value_t = FileTypeArg::Asm)]
    filetype: FileTypeArg,
    /// Output file; `-` is standard output.
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Code object version, 3 to 6.
    #[arg(long, value_name = "N")]
    amdhsa_code_object_version: Option<u8>,
    /// Verify after every step.
    #[arg(long)]
    verify_machineinstrs: bool,
    /// Dump the result of a step.
    #[arg(long, value_name = "STEP", value_parser = step)]
    print_after: Option<Step>,
    /// Stop after a step and write its result as text.
    #[arg(long, value_name = "STEP", value_parser = step)]
    stop_after: Option<Step>,
    #[command(flatten)]
    code: code_flags::CodeFlags,
    /// Print numbers about each function on standard output.
    #[arg(long, value_name = "FORMAT", value_parser = ["json"])]
    stats: Option<String>,
    /// Threads; the output does not depend on it.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FileTypeArg {
    Asm,
    Obj,
    Null,
}

fn step(name: &str) -> Result<Step, String> {
    Step::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Step::ALL.iter().map(|step| step.name()).collect();
        format!("one of {}", names.join(", "))
    })
}

pub fn main(args: &Args) -> i32 {
    let input = args.input.as_deref().unwrap_or(Path::new("-"));
    let name = input.to_string_lossy();
    let bytes = match read(input) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("gcnc: error: {name}: {error}");
            return status::REFUSED;
        }
    };
    let options = CompileOptions {
        triple: args.mtriple.clone(),
        march: args.march.clone(),
        cpu: args.mcpu.clone(),
        attributes: args.mattr.clone(),
        opt_level: args.opt_level,
        file_type: match args.filetype {
            FileTypeArg::Asm => FileType::Asm,
            FileTypeArg::Obj => FileType::Obj,
            FileTypeArg::Null => FileType::Null,
        },
        code_object_version: args.amdhsa_code_object_version,
        verify: args.verify_machineinstrs,
        print_after: args.print_after,
        stop_after: args.stop_after,
        threads: args.threads,
        function_attributes: args.code.function_attributes(),
        contract_all: args.code.contract_all(),
        function_sections: args.code.function_sections(),
    };
    let output = match gcnc::compile(&bytes, &name, &options) {
        Ok(output) => output,
        Err(errors) => {
            return errors.iter().map(|error| report(&name, error)).max().unwrap_or(status::DEFECT);
        }
    };
    for warning in &output.warnings {
        eprintln!("gcnc: warning: {name}: {warning}");
    }
    eprint!("{}", output.dump);
    if args.filetype as u8 != FileTypeArg::Null as u8 || args.stop_after.is_some() {
        let path = args.output.clone().unwrap_or_else(|| default_output(input, args.filetype));
        if let Err(error) = write(&path, &output.bytes) {
            eprintln!("gcnc: error: {}: {error}", path.display());
            return status::REFUSED;
        }
    }
    if args.stats.is_some() {
        let mut out = std::io::stdout().lock();
        for function in &output.functions {
            // Plain data always serialises; a closed pipe is the reader's wish.
            let _ = serde_json::to_writer(&mut out, function).map(|()| writeln!(out));
        }
    }
    status::OK
}

pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    std::fs::read(path)
}

/// Writes through a temporary file in the same folder, so that a failure leaves no half-written output behind.
pub(super) fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if path == Path::new("-") {
        return std::io::stdout().lock().write_all(bytes);
    }
    // Devices and pipes cannot be replaced by a rename.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, bytes);
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().permissions(output_permissions()).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// What a plain create would ask for; the process's umask applies.
fn output_permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o666)
}

fn default_output(input: &Path, file_type: FileTypeArg) -> PathBuf {
    if input == Path::new("-") {
        return PathBuf::from("-");
    }
    input.with_extension(match file_type {
        FileTypeArg::Obj => "o",
        _ => "s",
    })
}
