//! `gcnc bundle` and `gcnc unbundle`: files for a host and devices in one, with the flags of clang-offload-bundler.

use super::{compile, report, status};
use clap::ArgAction;
use emit::bundle::{self, BundleTarget, Part, archive, compressed, offload_binary, plain, text};
use mir::{Diagnostic, Result};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// What the files are: i, ii, cui, hipi, d, ll and s are bundled as text, bc, o, gch and ast as bytes; a is an archive of bundles, to be taken
    /// apart into an archive for each target. An archive is seen as such under o, too.
    #[arg(long = "type", value_name = "TYPE", default_value = "o",
        value_parser = ["i", "ii", "cui", "hipi", "d", "ll", "bc", "s", "o", "gch", "ast", "a"])]
    kind: String,
    /// Whom the files are for, KIND-ARCH-VENDOR-OS-ENVIRONMENT-TARGETID, in the order of the files.
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    targets: Vec<String>,
    /// Input file; given once for each.
    #[arg(long, visible_alias = "inputs", value_name = "FILE", value_delimiter = ',', action = ArgAction::Append, required = true)]
    input: Vec<PathBuf>,
    /// Output file; given once for each.
    #[arg(long, short, visible_alias = "outputs", value_name = "FILE", value_delimiter = ',', action = ArgAction::Append)]
    output: Vec<PathBuf>,
    /// Take the files out of a bundle, as `gcnc unbundle` does.
    #[arg(long)]
    unbundle: bool,
    /// List the targets of a bundle, or of all in a host object.
    #[arg(long, conflicts_with = "unbundle")]
    list: bool,
    /// Make empty files for targets that the bundle does not have.
    #[arg(long)]
    allow_missing_bundles: bool,
    /// Files begin at multiples of so many bytes in the bundle.
    #[arg(long, value_name = "BYTES", default_value_t = 1)]
    bundle_align: u64,
    /// Compress the bundle.
    #[arg(long)]
    compress: bool,
    /// How: zstd, or zlib for older readers.
    #[arg(long, value_name = "METHOD", default_value = "zstd", value_parser = ["zstd", "zlib"])]
    compression_method: String,
    /// Version of the compressed bundle's header, 1 to 3.
    #[arg(long, value_name = "N", default_value_t = compressed::DEFAULT_VERSION, value_parser = clap::value_parser!(u16).range(1..=3))]
    compressed_format_version: u16,
    /// `hip` and `hipv4` suit `openmp`, and the other way around.
    #[arg(long)]
    hip_openmp_compatible: bool,
    /// `bundle`, or `offload-binary`: what clang-linker-wrapper reads.
    #[arg(long, value_name = "FORMAT", default_value = "bundle", value_parser = ["bundle", "offload-binary"])]
    format: String,
}

pub fn main(args: &Args, unbundling: bool) -> i32 {
    let result = match (args.list, unbundling || args.unbundle) {
        (true, _) => list(args),
        (_, true) => unbundle(args),
        _ => bundle(args),
    };
    match result {
        Ok(()) => status::OK,
        Err((name, error)) => report(&name, &error),
    }
}

/// What went wrong, with the file.
type Failure = (String, Box<Diagnostic>);

fn of(path: &Path) -> impl Fn(Box<Diagnostic>) -> Failure {
    let name = path.display().to_string();
    move |error| (name.clone(), error)
}

fn wrong_usage(message: impl Into<String>) -> Failure {
    ("arguments".to_owned(), Diagnostic::malformed(message.into()))
}

fn read(path: &Path) -> std::result::Result<Vec<u8>, Failure> {
    compile::read(path).map_err(|error| of(path)(Diagnostic::malformed(error.to_string())))
}

fn write(path: &Path, bytes: &[u8]) -> std::result::Result<(), Failure> {
    compile::write(path, bytes).map_err(|error| of(path)(Diagnostic::malformed(error.to_string())))
}

/// The targets that are asked for, one for each of `files`.
fn targets(args: &Args, files: &[PathBuf], what: &str) -> std::result::Result<Vec<BundleTarget>, Failure> {
    if args.targets.len() != files.len() {
        let message = format!("{} targets for {} {what} files", args.targets.len(), files.len());
        return Err(wrong_usage(message));
    }
    let targets: Result<Vec<BundleTarget>> = args.targets.iter().map(|id| BundleTarget::parse(id)).collect();
    let targets = targets.map_err(|error| ("arguments".to_owned(), error))?;
    for (index, target) in targets.iter().enumerate() {
        if let Some(other) = targets[..index].iter().find(|other| *other == target || other.conflicts(target))
        {
            let message =
                if other == target { "is given twice".to_owned() } else { format!("and {other} overlap") };
            return Err(wrong_usage(format!("target {target} {message}")));
        }
    }
    Ok(targets)
}

fn bundle(args: &Args) -> std::result::Result<(), Failure> {
    if args.kind == "a" {
        return Err(wrong_usage(
            "archives are taken apart alone: --unbundle; their members are bundles of type o or bc",
        ));
    }
    let [output] = &args.output[..] else { return Err(wrong_usage("one output file is needed")) };
    let targets = targets(args, &args.input, "input")?;
    if args.format == "bundle" {
        let hosts = targets.iter().filter(|target| target.is_host()).count();
        if hosts != 1 {
            return Err(wrong_usage(format!("a bundle has one host target, not {hosts}; /dev/null will do")));
        }
    }
    let mut parts = Vec::new();
    for (target, input) in targets.iter().zip(&args.input) {
        parts.push(Part { target: Cow::Owned(target.to_string()), contents: Cow::Owned(read(input)?) });
    }
    let bytes = match (&*args.format, text::comment(&args.kind)) {
        ("offload-binary", _) => offload_binaries(&targets, &parts),
        (_, Some(comment)) => text::write(&parts, comment),
        (_, None) => plain::write(&parts, args.bundle_align).map_err(of(output))?,
    };
    if !args.compress {
        return write(output, &bytes);
    }
    let method =
        if args.compression_method == "zlib" { compressed::Method::Zlib } else { compressed::Method::Zstd };
    let packed = compressed::compress(&bytes, method, args.compressed_format_version).map_err(of(output))?;
    write(output, &packed)
}

/// An offload binary for each device; the host's part is the object that will hold them.
fn offload_binaries(targets: &[BundleTarget], parts: &[Part<'_>]) -> Vec<u8> {
    let devices = targets.iter().zip(parts).filter(|(target, _)| !target.is_host());
    devices
        .flat_map(|(target, part)| {
            let triple = target.triple.join("-");
            let string = |key: &'static str, value: String| (Cow::Borrowed(key), Cow::Owned(value));
            offload_binary::write(&offload_binary::OffloadBinary {
                image_kind: offload_binary::image_kind(&part.contents),
                offload_kind: offload_binary::offload_kind(&target.kind).unwrap_or_default(),
                flags: 0,
                // In the order of llvm-offload-binary.
                strings: vec![
                    string("arch", target.target_id.clone()),
                    string("triple", triple.trim_end_matches('-').to_owned()),
                ],
                image: Cow::Borrowed(&part.contents),
            })
        })
        .collect()
}

/// The parts of all bundles in a file of a type.
fn parts(bytes: &[u8], kind: &str) -> Result<Vec<Part<'static>>> {
    let mut found = bundle::find(bytes);
    if found.is_empty()
        && let Some(comment) = text::comment(kind)
    {
        return Ok(text::read(bytes, comment)?.into_iter().map(Part::into_owned).collect());
    }
    found.drain(..).try_fold(Vec::new(), |mut all, found| {
        all.extend(found.parts()?.0);
        Ok(all)
    })
}

fn one_input(args: &Args) -> std::result::Result<(&Path, Vec<u8>), Failure> {
    let [input] = &args.input[..] else { return Err(wrong_usage("one input file is needed")) };
    Ok((input, read(input)?))
}

fn list(args: &Args) -> std::result::Result<(), Failure> {
    let (input, bytes) = one_input(args)?;
    let targets: Vec<String> = match is_archive(args, input, &bytes)? {
        true => archive::targets(&bytes).map_err(of(input))?,
        false => {
            let parts = parts(&bytes, &args.kind).map_err(of(input))?;
            parts.into_iter().map(|part| part.target.into_owned()).collect()
        }
    };
    print!("{}", targets.iter().map(|target| format!("{target}\n")).collect::<String>());
    Ok(())
}

/// Whether the file is an archive that is to be taken apart.
fn is_archive(args: &Args, input: &Path, bytes: &[u8]) -> std::result::Result<bool, Failure> {
    match (&*args.kind, archive::is_archive(bytes)) {
        ("a", false) => Err(of(input)(Diagnostic::malformed("this is no archive"))),
        (kind, is_archive) => Ok(is_archive && matches!(kind, "a" | "o")),
    }
}

/// Writes an archive for each target.
fn unbundle_archive(
    args: &Args,
    input: &Path,
    bytes: &[u8],
    targets: &[BundleTarget],
) -> std::result::Result<(), Failure> {
    if let Some(host) = targets.iter().find(|target| target.is_host()) {
        return Err(wrong_usage(format!("{host}: code for hosts is not taken out of archives")));
    }
    let found = archive::unbundle(bytes, targets, args.hip_openmp_compatible).map_err(of(input))?;
    let missing = targets.iter().zip(&found).find(|(_, members)| members.is_empty());
    if let Some((target, _)) = missing.filter(|_| !args.allow_missing_bundles) {
        return Err(of(input)(Diagnostic::malformed(format!("the archive has nothing for {target}"))));
    }
    for (path, members) in args.output.iter().zip(found) {
        write(path, &emit::archive::write(&members).map_err(of(path))?)?;
    }
    Ok(())
}

fn unbundle(args: &Args) -> std::result::Result<(), Failure> {
    let (input, bytes) = one_input(args)?;
    let targets = targets(args, &args.output, "output")?;
    if is_archive(args, input, &bytes)? {
        return unbundle_archive(args, input, &bytes, &targets);
    }
    let parts = parts(&bytes, &args.kind).map_err(of(input))?;
    // A file that is no bundle is the host's, as compilers' drivers have it.
    let plain_host = parts.is_empty() && targets.iter().any(BundleTarget::is_host);
    let mut contents: Vec<Option<&[u8]>> = vec![None; targets.len()];
    for part in &parts {
        let Ok(own) = BundleTarget::parse(&part.target) else { continue };
        let free = (0..targets.len()).find(|&index| {
            contents[index].is_none() && own.serves(&targets[index], args.hip_openmp_compatible)
        });
        if let Some(index) = free {
            contents[index] = Some(&part.contents);
        }
    }
    for (target, contents) in targets.iter().zip(&mut contents) {
        if plain_host {
            contents.get_or_insert(if target.is_host() { &bytes } else { &[] });
        } else if contents.is_none() {
            if !args.allow_missing_bundles {
                return Err(of(input)(Diagnostic::malformed(format!("the bundle has nothing for {target}"))));
            }
            *contents = Some(&[]);
        }
    }
    args.output
        .iter()
        .zip(contents)
        .try_for_each(|(path, contents)| write(path, contents.unwrap_or_default()))
}
