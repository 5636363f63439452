//! Sources, several inputs, and what is linked of them: each input becomes an object, on several threads, and all objects of a
//! processor one code object. HIP's are bundled by processor.
//!
//! ```text
//! .cl .clcpp .hip  clang, libraries ->  bitcode ┐
//! .ll .bc                                       ├ gcnc -> object ┐
//! .S  clang -E -> .s ── gcnc as ───────────────────────> object ├ link -> hsaco ┐
//! .o .a                                                          ┘               └ bundle
//! ```

mod async_copy;
pub mod clang;
mod dependencies;
pub mod inputs;
pub mod libraries;
mod printf;
mod unit;
pub mod words;
mod workitem;

use super::compile::{self, Args, Emit, wrong};
use super::{report, status};
use clang::Clang;
use emit::bundle::{BundleTarget, Part, plain};
use emit::link::{Input, LinkOptions};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use inputs::{Kind, Language};
use libraries::Provided;
use mir::target::Os;
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use unit::{Made, Setting, Unit};

/// Alignment of code objects in a bundle, as compilers' drivers have it: a page.
const BUNDLE_ALIGN: u64 = 4096;
/// The empty host part that bundles begin with.
const HOST: &str = "host-x86_64-unknown-linux-gnu-";

/// Runs the command on `inputs` that are not just one file of IR.
pub fn main(args: &Args, inputs: &[(PathBuf, Kind)]) -> i32 {
    match build(args, inputs) {
        Ok(status) | Err(status) => status,
    }
}

/// The code object of the inputs that `args` has.
///
/// # Errors
/// The exit status; what is wrong is reported.
pub fn object(args: &Args) -> Result<Vec<u8>, i32> {
    let inputs = args.units().map_err(|message| super::refused(&message))?;
    check(args, &inputs, Emit::Hsaco)?;
    let settings = [Setting::new(args, None)?];
    let (clang, provided) = tools(args, &inputs)?;
    let units: Vec<Unit<'_>> =
        inputs.iter().map(|(input, kind)| Unit { input, kind: *kind, setting: &settings[0] }).collect();
    let work = unit::Work {
        args,
        emit: Emit::Hsaco,
        clang: clang.as_ref(),
        provided: &provided,
        words: dependencies::Words::new(&args.clang_arg),
        is_linked: true,
    };
    let made = units.iter().zip(run(&work, &units)).map(|(unit, made)| made.tell_of(args, unit));
    let mut objects = made.collect::<Result<Vec<_>, i32>>()?;
    if settings[0].os == Os::Mesa3d && objects.len() == 1 {
        // Mesa's loader takes objects, whose addresses are absolute; a shared object could not have them.
        return Ok(objects.pop().unwrap_or_default());
    }
    let mut images = images(&inputs, &objects, "the code object")?;
    Ok(images.pop().unwrap_or_default())
}

/// The bitcode of the one source that `args` has.
///
/// # Errors
/// The exit status; what is wrong is reported.
pub fn bitcode(args: &Args) -> Result<Vec<u8>, i32> {
    let inputs = args.units().map_err(|message| super::refused(&message))?;
    check(args, &inputs, Emit::LlvmBc)?;
    let [(input, kind)] = &inputs[..] else { return Err(wrong("one source is to be compiled")) };
    let setting = Setting::new(args, None)?;
    let (clang, provided) = tools(args, &inputs)?;
    let work = unit::Work {
        args,
        emit: Emit::LlvmBc,
        clang: clang.as_ref(),
        provided: &provided,
        words: dependencies::Words::new(&args.clang_arg),
        is_linked: false,
    };
    work.bitcode(&Unit { input, kind: *kind, setting: &setting }).tell()
}

/// clang, where an input needs it, and the files for it.
fn tools(args: &Args, inputs: &[(PathBuf, Kind)]) -> Result<(Option<Clang>, Provided), i32> {
    let needs_clang = |kind: Kind| matches!(kind, Kind::Source(_) | Kind::Assembly { preprocessed: true });
    let clang = match inputs.iter().any(|&(_, kind)| needs_clang(kind)) {
        true => Some(Clang::find(args.clang.as_deref()).map_err(|message| super::refused(&message))?),
        false => None,
    };
    let provided = Provided::new().map_err(|error| super::refused(&format!("temporary folder: {error}")))?;
    Ok((clang, provided))
}

fn build(args: &Args, inputs: &[(PathBuf, Kind)]) -> Result<i32, i32> {
    let emit = what_to_write(args);
    check(args, inputs, emit)?;
    // A processor for each target that is asked for; the command line's where there is none.
    let targets: Vec<Option<&str>> = match &args.offload_arch[..] {
        [] => vec![None],
        targets => targets.iter().map(|target| Some(target.as_str())).collect(),
    };
    let (clang, provided) = tools(args, inputs)?;
    let settings: Vec<Setting> =
        targets.iter().map(|target| Setting::new(args, *target)).collect::<Result<_, _>>()?;
    let units: Vec<Unit<'_>> = settings
        .iter()
        .flat_map(|setting| inputs.iter().map(move |(input, kind)| Unit { input, kind: *kind, setting }))
        .collect();
    let work = unit::Work {
        args,
        emit,
        clang: clang.as_ref(),
        provided: &provided,
        words: dependencies::Words::new(&args.clang_arg),
        is_linked: emit == Emit::Hsaco && units.len() > 1,
    };

    if let [unit] = &units[..]
        && settings[0].target.is_none()
        && matches!(unit.kind, Kind::Source(_))
        && !matches!(emit, Emit::LlvmIr | Emit::LlvmBc | Emit::Preprocessed)
        && !work.words.only_dependencies()
    {
        // One source is one module, with all that the options can show of its compilation.
        let bitcode = work.bitcode(unit);
        let bitcode = bitcode.tell()?;
        return Ok(compile::ir(args, &bitcode, unit.input, false, emit));
    }
    if args.looks_inside() {
        return Err(wrong(
            "options that look into a compilation (--stop-after, --save-temps, ...) take one file of IR or one source",
        ));
    }

    let made = run(&work, &units);
    let mut results = Vec::with_capacity(units.len());
    let mut failed = None;
    for (unit, made) in units.iter().zip(made) {
        match made.tell_of(args, unit) {
            Ok(bytes) => results.push(bytes),
            Err(status) => failed = failed.or(Some(status)),
        }
    }
    if let Some(status) = failed {
        return Err(status);
    }
    match emit {
        Emit::Null => Ok(status::OK),
        Emit::Hsaco if !work.words.only_dependencies() => link(args, inputs, &settings, &results),
        _ => separate(args, emit, &units, &results, &work),
    }
}

/// What is to be written: what an option says, or the ending of the output, or a code object.
fn what_to_write(args: &Args) -> Emit {
    let ending = args.output.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
    args.emit().unwrap_or(match ending {
        Some("s" | "S") => Emit::Asm,
        Some("o") => Emit::Obj,
        Some("ll") => Emit::LlvmIr,
        Some("bc") => Emit::LlvmBc,
        _ => Emit::Hsaco,
    })
}

/// Refuses command lines that cannot mean anything.
fn check(args: &Args, inputs: &[(PathBuf, Kind)], emit: Emit) -> Result<(), i32> {
    let has = |wanted: fn(Kind) -> bool| inputs.iter().any(|&(_, kind)| wanted(kind));
    let has_source = has(|kind| matches!(kind, Kind::Source(_) | Kind::Assembly { preprocessed: true }));
    if !args.offload_arch.is_empty() && !has(|kind| kind == Kind::Source(Language::Hip)) {
        return Err(wrong("--offload-arch is for HIP sources; -mcpu names the processor of all others"));
    }
    if !args.offload_arch.is_empty() && !args.mcpu.is_empty() {
        return Err(wrong("--offload-arch and -mcpu both name processors"));
    }
    let bundled: Vec<BundleTarget> = args
        .offload_arch
        .iter()
        .filter_map(|target| BundleTarget::parse(&format!("hipv4-amdgcn-amd-amdhsa--{target}")).ok())
        .collect();
    for (index, target) in bundled.iter().enumerate() {
        if let Some(other) = bundled[..index].iter().find(|other| *other == target || other.conflicts(target))
        {
            let [one, two] = [&other.target_id, &target.target_id];
            return Err(wrong(&format!(
                "--offload-arch: {one} and {two} overlap, and a loader could not choose"
            )));
        }
    }
    // clang would say it, too, after questions about what is to be made of it.
    let sources = inputs.iter().filter(|(_, kind)| matches!(kind, Kind::Source(_)));
    for (source, _) in sources.filter(|(source, _)| source != Path::new("-")) {
        if let Err(error) = std::fs::metadata(source) {
            return Err(super::refused(&format!("{}: {error}", source.display())));
        }
    }
    if has_source && args.mcpu.is_empty() && args.offload_arch.is_empty() {
        return Err(wrong("for which processor? -mcpu=gfx900 names one, and -mcpu=help lists them"));
    }
    if let (Some(word), false) = (args.clang_arg.first(), has_source) {
        return Err(wrong(&format!("`{}` is for sources, and no input is one", word.display())));
    }
    if inputs.iter().filter(|(input, _)| input == Path::new("-")).count() > 1 {
        return Err(wrong("standard input can be one input alone"));
    }
    let outputs = if emit == Emit::Hsaco { 1 } else { inputs.len() * args.offload_arch.len().max(1) };
    if outputs > 1 && args.output.is_some() && emit != Emit::Null {
        return Err(wrong(&format!("-o names one file, and {outputs} are written")));
    }
    if inputs.len() > 1 && has(|kind| kind == Kind::Mir) {
        return Err(wrong(
            "the text of a program between two passes (.mir) is not linked: it is compiled alone",
        ));
    }
    Ok(())
}

/// Makes all units, several at a time, with a bar on terminals.
fn run(work: &unit::Work<'_>, units: &[Unit<'_>]) -> Vec<Made> {
    let bar = match units.len() {
        // Nothing to count.
        0 | 1 => ProgressBar::hidden(),
        // Hidden where standard error is no terminal.
        count => ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::stderr()),
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let one = |unit: &Unit<'_>| {
        bar.set_message(unit.input.display().to_string());
        let made = work.make(unit);
        bar.inc(1);
        made
    };
    let all = || units.par_iter().with_max_len(1).map(one).collect();
    let pool = (work.args.threads > 0).then(|| {
        rayon::ThreadPoolBuilder::new().num_threads(work.args.threads.min(units.len().max(1))).build()
    });
    let made = match pool {
        Some(Ok(pool)) => pool.install(all),
        // The global pool has as many threads as there are cores.
        _ => all(),
    };
    bar.finish_and_clear();
    made
}

/// Links the objects of each processor, bundles the results where processors were listed, and writes the file.
fn link(
    args: &Args,
    inputs: &[(PathBuf, Kind)],
    settings: &[Setting],
    objects: &[Vec<u8>],
) -> Result<i32, i32> {
    let is_bundle = !args.offload_arch.is_empty();
    let path = args.output.clone().unwrap_or_else(|| match inputs {
        [(input, _)] => inputs::beside(input, if is_bundle { "hipfb" } else { "hsaco" }),
        _ => PathBuf::from(if is_bundle { "a.hipfb" } else { "a.hsaco" }),
    });
    let name = path.display().to_string();
    let images = images(inputs, objects, &name)?;
    let bytes = match is_bundle {
        false => images.into_iter().next().unwrap_or_default(),
        true => {
            let host = Part { target: Cow::Borrowed(HOST), contents: Cow::Borrowed(&[]) };
            let device = |(setting, image): (&Setting, &'_ Vec<u8>)| Part {
                target: Cow::Owned(format!("hipv4-amdgcn-amd-amdhsa--{}", setting.target_id)),
                contents: Cow::Owned(image.clone()),
            };
            let parts: Vec<Part<'_>> =
                std::iter::once(host).chain(settings.iter().zip(&images).map(device)).collect();
            plain::write(&parts, BUNDLE_ALIGN).map_err(|error| report(&name, &error))?
        }
    };
    write(&path, &bytes)
}

/// A code object of each run of objects, one for each input.
fn images(inputs: &[(PathBuf, Kind)], objects: &[Vec<u8>], name: &str) -> Result<Vec<Vec<u8>>, i32> {
    let names: Vec<String> = inputs.iter().map(|(input, _)| input.display().to_string()).collect();
    let link = |objects: &[Vec<u8>]| {
        let files = names.iter().zip(objects);
        let files: Vec<Input<'_>> =
            files.map(|(name, bytes)| Input { name, bytes, whole_archive: false }).collect();
        emit::link::link(&files, &LinkOptions::default()).map_err(|error| report(name, &error))
    };
    objects.chunks(inputs.len().max(1)).map(link).collect()
}

/// Writes a file for each unit.
fn separate(
    args: &Args,
    emit: Emit,
    units: &[Unit<'_>],
    results: &[Vec<u8>],
    work: &unit::Work<'_>,
) -> Result<i32, i32> {
    for (unit, bytes) in units.iter().zip(results) {
        let to_stdout = emit == Emit::Preprocessed || work.words.only_dependencies();
        let path = match &args.output {
            Some(path) => path.clone(),
            None if to_stdout => PathBuf::from("-"),
            None => unit.output(emit),
        };
        if args.output.is_none() && path == unit.input && path != Path::new("-") {
            return Err(wrong(&format!(
                "the output would replace its input, {}: -o names another",
                path.display()
            )));
        }
        write(&path, bytes)?;
    }
    Ok(status::OK)
}

fn write(path: &Path, bytes: &[u8]) -> Result<i32, i32> {
    match compile::write(path, bytes) {
        Ok(()) => Ok(status::OK),
        Err(error) => Err(super::refused(&format!("{}: {error}", path.display()))),
    }
}
