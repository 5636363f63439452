//! `gcnc run`: a kernel on the simulator, described by options or by a file in JSON.

mod arguments;
mod images;
mod profile;
mod progress;
mod results;
mod types;
mod values;

use super::build::inputs::{self, Kind};
use super::build::libraries::LibraryArgs;
use super::compile::{self, Level, level, wrong};
use super::{build, devices, read_json, refused, report, status};
use arguments::Arguments;
use mir::abi::metadata::ArgMeta;
use mir::target::{Generation, OlderName, Target};
use sim::{
    Checks, CodeObject, Config, Cycles, Dispatch, Kernel, Model, Printed, RunError, RunOptions, Stats, Watch,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Seconds that a run described by options may take where no option says so.
const TIME_LIMIT: u64 = 60;
/// Bytes of all buffers together where no option says so.
const MEMORY_LIMIT: u64 = 4 << 30;

const EXAMPLES: &str = "Values of a buffer: zeros:NxT, ones:NxT, iota:NxT, random:NxT:SEED, undef:NxT, file:PATH[:T], hex:BYTES, 1,2,3[:T], null. \
T is i8 to u64, f16, f32, f64, or a vector of OpenCL such as float4; without T it is what the kernel says. Of a value: a number, numbers for a vector, \
with :T where the kernel does not say it. Of local memory: NxT or bytes.

An image is SIZE:ORDER:CHANNEL[:VALUES], for instance 64x32:rgba:f32:random:7, with image2d: in front where the kernel does not say its type (image1d, image1d_buffer, \
image1d_array, image2d, image2d_array, image3d). SIZE: width, height, depth or slices. ORDER: a, r, rg, ra, rgba, bgra, argb, intensity, luminance. CHANNEL: i8 to i32, u8 to u32, \
f16, f32, unorm8, unorm16, snorm8, snorm16. VALUES: zeros, ones, iota, random:SEED, undef, file:PATH, hex:BYTES, 1,2,3, channel by channel as they are in memory; results are the same. \
A sampler is sampler:WORDS: none, clamp_to_edge, clamp, repeat or mirrored_repeat; nearest or linear; unnormalized or normalized; or OpenCL C's number.

What the kernel prints by `printf` is written behind the run, on standard output (with --stats on standard error): of OpenCL C, and of HIP with \
-mprintf-kind=buffered, which sources have without ROCm. The buffer has 1 MiB; calls that find no room print nothing and return -1. Calls by hostcalls \
(-mprintf-kind=hostcall) are not served.

    gcnc run saxpy.cl -mcpu=gfx900 --grid 1024 --block 64 --arg a=2 --arg x=iota:1024 --arg y=ones:1024 --print y[0..8]

Exit status: 0 it ran to its end and what is expected is there, 1 the input was refused, 2 wrong usage, 3 a check or a limit stopped it, or results \
differ.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Code object (relocatable or linked), or what is to be compiled first: LLVM IR, OpenCL (.cl), HIP (.hip), assembly.
    object: PathBuf,
    /// Processor; default: what the object says.
    #[arg(long, default_value = "")]
    mcpu: String,
    /// Target triple for what is compiled: amdgcn-mesa-mesa3d for instance.
    #[arg(long, alias = "target", default_value = "", value_name = "TRIPLE")]
    mtriple: String,
    /// What to run, as JSON, in the place of --kernel, --grid, --arg and so on.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["grid", "block", "kernel", "arg", "offset", "dynamic_lds", "print", "save", "expect", "compare"])]
    dispatch: Option<PathBuf>,
    /// Kernel; may be left out where there is one alone.
    #[arg(long, value_name = "NAME", help_heading = "Dispatch")]
    kernel: Option<String>,
    /// Work-items (not work-groups) in each direction: X, X,Y or X,Y,Z.
    #[arg(long, value_name = "X,Y,Z", value_parser = extent, help_heading = "Dispatch")]
    grid: Option<[u32; 3]>,
    /// Work-items of a work-group in each direction; default: what the kernel requires, else 64 in a row.
    #[arg(long, visible_alias = "group", value_name = "X,Y,Z", value_parser = extent, help_heading = "Dispatch")]
    block: Option<[u32; 3]>,
    /// What get_global_offset returns.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', num_args = 1, help_heading = "Dispatch")]
    offset: Vec<u64>,
    /// Bytes of LDS on top of what the kernel and its arguments have.
    #[arg(long, value_name = "BYTES", default_value_t = 0, help_heading = "Dispatch")]
    dynamic_lds: u32,
    /// An argument, by name, by number, or in the order of the kernel: NAME=VALUES, 0=VALUES, VALUES.
    #[arg(long, value_name = "NAME=VALUES", allow_hyphen_values = true, help_heading = "Dispatch")]
    arg: Vec<String>,
    /// Print elements of a buffer behind the run: NAME, NAME:T, NAME[0..16], NAME:T[0..16].
    #[arg(long, value_name = "WHAT", help_heading = "Results")]
    print: Vec<String>,
    /// Write a buffer to a file behind the run.
    #[arg(long, value_name = "NAME=PATH", help_heading = "Results")]
    save: Vec<String>,
    /// What a buffer, or its start, must hold behind the run: values as of --arg.
    #[arg(long, value_name = "NAME=VALUES", allow_hyphen_values = true, help_heading = "Results")]
    expect: Vec<String>,
    /// Run this file on the same arguments, too, and compare all buffers. A code object runs on its own processor.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    compare: Option<PathBuf>,
    /// Difference of floats that does not count, absolute or relative.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, help_heading = "Results")]
    tolerance: f64,
    /// Seconds that the run may take; 0: any. Default: 60, and any with --dispatch. What clearly cannot end in time is refused early.
    #[arg(long, value_name = "SECONDS", help_heading = "Limits")]
    time_limit: Option<u64>,
    /// Instructions that all waves together may execute.
    #[arg(long, value_name = "COUNT", default_value_t = Config::default().budget, help_heading = "Limits")]
    max_instructions: u64,
    /// Bytes of all buffers together, with K, M or G.
    #[arg(long, value_name = "BYTES", default_value_t = MEMORY_LIMIT, value_parser = bytes, help_heading = "Limits")]
    memory_limit: u64,
    /// Print every instruction as it is executed, on standard error.
    #[arg(long)]
    trace: bool,
    /// Strict checks.
    #[arg(long, help = strict_help())]
    strict: Option<String>,
    /// Seed of the order in which waves run and of what undefined registers hold; 0: each wave runs as far as
    /// it can.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print executed instructions, memory traffic, modelled cycles with what they were lost for, and digests.
    #[arg(long, value_name = "FORMAT", value_parser = ["json"])]
    stats: Option<String>,
    /// With --stats: modelled cycles of each instruction.
    #[arg(long, requires = "stats")]
    per_instruction: bool,
    /// Print the modelled cycles, instruction by instruction: a table, or folded stacks, of which tools make flame graphs.
    #[arg(long, value_name = "FORM", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "table")]
    profile: Option<profile::Form>,
    /// Compute units that share the work-groups in the model of cycles; it follows the first one.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    compute_units: u32,
    /// Work-groups of that compute unit that are modelled at most; the cycles of the others are scaled.
    #[arg(long, value_name = "COUNT", default_value_t = Model::default().groups, value_parser = clap::value_parser!(u32).range(1..))]
    model_groups: u32,
    /// Optimisation level for what is compiled.
    #[arg(short = 'O', default_value = "2", value_parser = level, value_name = "LEVEL")]
    opt_level: Level,
    /// Code object version for what is compiled.
    #[arg(long, value_name = "N")]
    amdhsa_code_object_version: Option<u8>,
    /// The clang that compiles sources.
    #[arg(long, value_name = "PROGRAM", help_heading = "Sources")]
    clang: Option<PathBuf>,
    #[command(flatten)]
    libraries: LibraryArgs,
    /// A word for clang. -D, -I, -include, -cl-* and their like go there without it.
    #[arg(long, value_name = "WORD", allow_hyphen_values = true, help_heading = "Sources")]
    clang_arg: Vec<OsString>,
}

/// Reads `X`, `X,Y` or `X,Y,Z`, also with `x` between them.
fn extent(text: &str) -> Result<[u32; 3], String> {
    let wrong = || "one, two or three numbers above 0, for instance 1024 or 64,64".to_owned();
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split([',', 'x']).collect();
    if parts.len() > 3 {
        return Err(wrong());
    }
    for (place, part) in out.iter_mut().zip(parts) {
        *place = part.trim().parse().ok().filter(|&number| number > 0).ok_or_else(wrong)?;
    }
    Ok(out)
}

/// Reads a number of bytes, with `K`, `M` or `G` behind it.
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.strip_suffix(['K', 'M', 'G', 'k', 'm', 'g']) {
        Some(digits) => (
            digits,
            match text.as_bytes().last().map(u8::to_ascii_uppercase) {
                Some(b'K') => 10,
                Some(b'M') => 20,
                _ => 30,
            },
        ),
        None => (text, 0),
    };
    let number: Option<u64> = digits.parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("`{text}` is no number of bytes"))
}

pub fn main(args: &Args) -> i32 {
    match run(args) {
        Ok(status) | Err(status) => status,
    }
}

fn run(args: &Args) -> Result<i32, i32> {
    let loaded = load(args, &args.object)?;
    let object = &loaded.object;
    let model = (args.stats.is_some() || args.profile.is_some()).then_some(Model {
        compute_units: args.compute_units,
        groups: args.model_groups,
        per_instruction: args.per_instruction || args.profile.is_some(),
    });
    let time_limit = args.time_limit.unwrap_or(if args.dispatch.is_some() { 0 } else { TIME_LIMIT });
    let watch = Arc::new(Watch::new((time_limit > 0).then(|| Duration::from_secs(time_limit))));
    match &args.dispatch {
        Some(dispatch) => from_json(args, object, dispatch, model, &watch),
        None => from_options(args, &loaded, model, &watch),
    }
}

/// The target that `-mcpu` names.
fn target(args: &Args) -> Result<Option<Target>, i32> {
    if args.mcpu.is_empty() {
        return Ok(None);
    }
    let older = OlderName::find(&args.mcpu, u8::MAX);
    let processor = Target::processor_by_name(older.map_or(&*args.mcpu, |older| older.processor));
    let processor = processor.ok_or_else(|| {
        refused(&format!("unknown processor `{}` (-mcpu=help lists the known ones)", args.mcpu))
    })?;
    Ok(Some(Target::new(processor)))
}

/// A dispatch described in JSON.
fn from_json(
    args: &Args,
    object: &[u8],
    dispatch: &Path,
    model: Option<Model>,
    watch: &Arc<Watch>,
) -> Result<i32, i32> {
    let json = read_json(dispatch)?;
    let options = RunOptions {
        strict: args.strict.clone(),
        seed: args.seed,
        target: target(args)?,
        budget: Some(args.max_instructions),
        memory_limit: Some(args.memory_limit),
        watch: Some(Arc::clone(watch)),
        trace: args.trace,
        model,
        print: Some(if args.stats.is_some() { show_on_error } else { show }),
        base: dispatch.parent().map(PathBuf::from),
    };
    match progress::shown(watch, args.trace, || sim::run_from_json(object, &json, &options)) {
        Ok(mut outcome) => {
            show_profile(args, outcome.stats.model.as_deref_mut(), &outcome.kernel, object);
            if args.stats.is_some() {
                let text = serde_json::to_string(&outcome).map_err(|error| refused(&error))?;
                println!("{text}");
            }
            Ok(status::OK)
        }
        Err(RunError::Usage(message)) => Err(refused(&message)),
        Err(RunError::Stopped(stopped)) => {
            eprintln!("gcnc: {stopped}");
            Ok(status::STRICT)
        }
    }
}

/// A dispatch described by options.
fn from_options(args: &Args, loaded: &Loaded, model: Option<Model>, watch: &Arc<Watch>) -> Result<i32, i32> {
    let object = &loaded.object;
    let Some(grid) = args.grid else {
        return Err(wrong("how many work-items? --grid 1024, or --dispatch FILE"));
    };
    let name = args.object.display();
    let code = CodeObject::load(object).map_err(|report| refused(&format!("{name}: {report}")))?;
    let given = target(args)?;
    let target = processor(&code, given.as_ref())?;
    let generation = target.generation();
    let (mut dispatch, mut arguments) = describe(args, &code, &loaded.origin, grid, generation)?;
    let checks = args.strict.as_deref().map_or(Ok(Checks::default()), Checks::parse);
    let config = Config {
        checks: checks.map_err(|message| wrong(&message))?,
        budget: args.max_instructions,
        watch: Some(Arc::clone(watch)),
        seed: args.seed,
        trace: args.trace,
        model,
        ..Config::default()
    };
    let mut other = arguments.clone();
    let start = std::time::Instant::now();
    let ran =
        progress::shown(watch, args.trace, || simulate(&code, &mut arguments, &dispatch, &config, &target));
    let ran = ran?;
    if args.stats.is_some() {
        show_on_error(&arguments.memory.printed)
    } else {
        show(&arguments.memory.printed)
    }
    let Ok(mut stats) = ran else { return Ok(status::STRICT) };
    let items = grid.iter().map(|&n| u64::from(n)).product::<u64>();
    eprintln!(
        "{}: {items} work-items in {} work-groups, {} instructions, {:.2} s",
        dispatch.kernel,
        stats.groups,
        stats.instructions,
        start.elapsed().as_secs_f64()
    );
    for what in &args.print {
        print!("{}", results::print(&arguments, what).map_err(|message| wrong(&message))?);
    }
    for what in &args.save {
        results::save(&arguments, what).map_err(|message| refused(&message))?;
    }
    show_profile(args, stats.model.as_deref_mut(), &dispatch.kernel, object);
    if args.stats.is_some() {
        println!("{}", serde_json::to_string(&stats).map_err(|error| refused(&error))?);
    }
    let mut differ = false;
    for what in &args.expect {
        let found = results::expect(&arguments, what, args.tolerance, args.memory_limit);
        if let Some(text) = found.map_err(|message| wrong(&message))? {
            differ = true;
            eprint!("{text}");
        }
    }
    if let Some(path) = &args.compare {
        let Loaded { object, .. } = load(args, path)?;
        let second =
            CodeObject::load(&object).map_err(|report| refused(&format!("{}: {report}", path.display())))?;
        // It may be for another processor, and then runs on that.
        let target = processor(&second, given.as_ref().filter(|_| second.processor().is_none()))?;
        // Another generation has its images laid out its own way.
        if target.generation() != generation && other.buffers.iter().any(|buffer| buffer.image.is_some()) {
            (dispatch, other) = describe(args, &code, &loaded.origin, grid, target.generation())?;
        }
        if second.kernel(&dispatch.kernel).is_none() && second.kernels().len() == 1 {
            dispatch.kernel.clone_from(&second.kernels()[0].name);
        }
        let watch = Arc::new(Watch::new(config.watch.as_ref().and_then(|watch| watch.limit())));
        let config = Config { watch: Some(Arc::clone(&watch)), model: None, ..config };
        let ran = progress::shown(&watch, args.trace, || {
            simulate(&second, &mut other, &dispatch, &config, &target)
        });
        let Ok(_) = ran? else { return Ok(status::STRICT) };
        if let Some(text) = results::compare(&arguments, &other, args.tolerance) {
            differ = true;
            eprint!("{text}");
        }
    }
    Ok(if differ { status::STRICT } else { status::OK })
}

/// What `code` runs on: the target that `-mcpu` gives, else the processor that it names.
fn processor(code: &CodeObject, given: Option<&Target>) -> Result<Target, i32> {
    match (given, code.processor()) {
        (Some(target), _) => Ok(*target),
        (None, Some(processor)) => Ok(Target::new(processor)),
        (None, None) => Err(refused(&"the object names no processor known here")),
    }
}

/// Runs a dispatch; what stopped it is printed.
fn simulate(
    code: &CodeObject,
    arguments: &mut Arguments,
    dispatch: &Dispatch,
    config: &Config,
    target: &Target,
) -> Result<Result<Stats, ()>, i32> {
    Ok(sim::run_on(code, &mut arguments.memory, dispatch, config, target)
        .map_err(|stopped| eprintln!("gcnc: {stopped}")))
}

/// The kernel called `name`. Of C++, the name in front of the types of arguments will do where it is the only one.
fn find<'a>(kernels: &'a [Kernel], name: &str) -> Option<&'a Kernel> {
    let start = format!("_Z{}{name}", name.len());
    let mut mangled = kernels.iter().filter(|kernel| kernel.name.starts_with(&start));
    let exact = kernels.iter().find(|kernel| kernel.name == name);
    exact.or_else(|| mangled.next().filter(|_| mangled.next().is_none()))
}

/// The dispatch that the options describe, with its arguments.
fn describe(
    args: &Args,
    code: &CodeObject,
    origin: &Origin,
    grid: [u32; 3],
    generation: Generation,
) -> Result<(Dispatch, Arguments), i32> {
    let names = || code.kernels().iter().map(|kernel| &*kernel.name).collect::<Vec<_>>().join(", ");
    let kernel = match (&args.kernel, code.kernels()) {
        (Some(name), kernels) => find(kernels, name)
            .ok_or_else(|| refused(&format!("no kernel is called `{name}`; there are: {}", names())))?,
        (None, [kernel]) => kernel,
        (None, []) => return Err(refused(&"the object has no kernel")),
        (None, _) => return Err(wrong(&format!("which kernel? --kernel names one of: {}", names()))),
    };
    let metadata = kernel.metadata.as_ref();
    let mut all = metadata.map_or_else(Vec::new, |metadata| metadata.args.clone());
    let is_unknown = |arg: &&ArgMeta| arg.value_kind == "by_value" && arg.type_name.is_none();
    if arguments::explicit(&all).iter().any(is_unknown) {
        match origin {
            Origin::Object => {}
            Origin::Ir(bytes) => types::complete(bytes, &kernel.name, &mut all),
            Origin::Source(source) => types::complete(&build::bitcode(source)?, &kernel.name, &mut all),
        }
    }
    let kinds = arguments::explicit(&all);
    if metadata.is_none() && !args.arg.is_empty() {
        return Err(refused(
            &"the object says nothing about its kernels' arguments: describe them with --dispatch",
        ));
    }
    let arguments = arguments::read(&args.arg, &kinds, args.memory_limit, generation);
    let arguments = arguments.map_err(|message| wrong(&format!("kernel `{}`: {message}", kernel.name)))?;
    let required = metadata.and_then(|metadata| metadata.reqd_workgroup_size);
    let most = metadata.map_or(0, |metadata| metadata.max_flat_workgroup_size);
    let group =
        args.block.or(required).unwrap_or([64.min(grid[0]).min(if most == 0 { 64 } else { most }), 1, 1]);
    if let Some(required) = required.filter(|required| *required != group) {
        let [x, y, z] = required;
        return Err(wrong(&format!("kernel `{}` requires --block {x},{y},{z}", kernel.name)));
    }
    let items: u64 = group.iter().map(|&n| u64::from(n)).product();
    if most > 0 && items > most.into() {
        return Err(wrong(&format!(
            "a work-group of {items} work-items: kernel `{}` takes {most} at most",
            kernel.name
        )));
    }
    if args.offset.len() > 3 {
        return Err(wrong("--offset has one number for each direction"));
    }
    let mut offset = [0; 3];
    offset.iter_mut().zip(&args.offset).for_each(|(place, given)| *place = *given);
    let dispatch = Dispatch {
        kernel: kernel.name.clone(),
        grid,
        group,
        dynamic_lds: args.dynamic_lds,
        args: arguments.args.clone(),
        offset,
    };
    Ok((dispatch, arguments))
}

/// Writes what a kernel printed.
fn show(printed: &Printed) {
    write_printed(printed, std::io::stdout().lock());
}

/// The same on standard error, where standard output is for numbers.
fn show_on_error(printed: &Printed) {
    write_printed(printed, std::io::stderr().lock());
}

fn write_printed(printed: &Printed, mut place: impl std::io::Write) {
    // Nothing can be done about an output that is closed.
    let _ = place.write_all(&printed.text).and_then(|()| place.flush());
    if let Some(problem) = &printed.problem {
        eprintln!("gcnc: the rest of what the kernel printed cannot be read: {problem}");
    }
}

/// Prints the profile where it is asked for.
fn show_profile(args: &Args, cycles: Option<&mut Cycles>, kernel: &str, object: &[u8]) {
    if let (Some(form), Some(cycles)) = (args.profile, cycles) {
        print!("{}", profile::text(form, cycles, kernel, object));
        if !args.per_instruction {
            cycles.per_instruction.clear();
        }
    }
}

/// A code object, and what it was made of.
struct Loaded {
    object: Vec<u8>,
    origin: Origin,
}

/// What a code object was made of, where that says more of its kernels than the object.
enum Origin {
    Object,
    /// Bitcode or text of IR.
    Ir(Vec<u8>),
    /// A source that clang compiles, as it is to be compiled.
    Source(Box<compile::Args>),
}

/// The code object in a file, or of a file that is compiled first.
fn load(args: &Args, path: &Path) -> Result<Loaded, i32> {
    let name = path.display().to_string();
    if is_bundle(path) {
        return Ok(Loaded { object: of_bundle(args, path)?, origin: Origin::Object });
    }
    let kind = inputs::kind(path, None).map_err(|message| refused(&message))?;
    if matches!(kind, Kind::Source(_) | Kind::Assembly { .. }) {
        let source = source_args(args, path, kind)?;
        let object = build::object(&source)?;
        let origin = match kind {
            Kind::Source(_) => Origin::Source(Box::new(source)),
            _ => Origin::Object,
        };
        return Ok(Loaded { object, origin });
    }
    let bytes = compile::read(path).map_err(|error| refused(&format!("{name}: {error}")))?;
    if bytes.starts_with(b"\x7fELF") {
        return Ok(Loaded { object: bytes, origin: Origin::Object });
    }
    let options = gcnc::CompileOptions {
        cpu: args.mcpu.clone(),
        triple: args.mtriple.clone(),
        opt_level: args.opt_level.number,
        code_object_version: args.amdhsa_code_object_version,
        file_type: gcnc::FileType::Obj,
        ..Default::default()
    };
    let output = gcnc::compile(&bytes, &name, &options);
    output
        .map(|output| Loaded { object: output.bytes, origin: Origin::Ir(bytes) })
        .map_err(|errors| errors.iter().map(|error| report(&name, error)).max().unwrap_or(status::DEFECT))
}

/// Whether a file is a bundle of code objects, as HIP's compilers write them, or an object or program of a host, which may have some.
fn is_bundle(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(64).read_to_end(&mut start));
    read.is_ok() && devices::may_have(&start)
}

/// The code object of a bundle for the processor of `-mcpu`, or the only one. Of several for a processor, as programs of several sources have, it
/// is the one with the kernel of `--kernel`.
fn of_bundle(args: &Args, path: &Path) -> Result<Vec<u8>, i32> {
    let name = path.display().to_string();
    let bytes = compile::read(path).map_err(|error| refused(&format!("{name}: {error}")))?;
    let mut fitting = devices::fitting(&name, &bytes, &args.mcpu)?;
    if fitting.len() > 1 {
        let Some(kernel) = &args.kernel else {
            return Err(wrong(&format!("{name}: {} code objects fit: --kernel chooses", fitting.len())));
        };
        fitting.retain(|object| {
            CodeObject::load(object).is_ok_and(|code| find(code.kernels(), kernel).is_some())
        });
        if fitting.len() != 1 {
            let number = if fitting.is_empty() { "none" } else { "more than one" };
            return Err(refused(&format!(
                "{name}: {number} of its code objects has a kernel called `{kernel}`"
            )));
        }
    }
    fitting.pop().ok_or(status::REFUSED)
}

/// The command line that compiles a source.
fn source_args(args: &Args, path: &Path, kind: Kind) -> Result<compile::Args, i32> {
    let mut words: Vec<OsString> = vec!["gcnc".into(), format!("--mcpu={}", args.mcpu).into()];
    words.push(format!("-O{}", args.opt_level.word).into());
    if !args.mtriple.is_empty() {
        words.push(format!("--mtriple={}", args.mtriple).into());
    }
    words.extend(
        args.amdhsa_code_object_version
            .map(|version| format!("--amdhsa-code-object-version={version}").into()),
    );
    if let Some(clang) = &args.clang {
        words.extend(["--clang".into(), clang.into()]);
    }
    words.extend(args.libraries.words());
    let mut hand_on = |word: &std::ffi::OsStr| {
        let mut whole = OsString::from("--clang-arg=");
        whole.push(word);
        words.push(whole);
    };
    args.clang_arg.iter().for_each(|word| hand_on(word));
    // The names of arguments.
    match kind {
        Kind::Source(inputs::Language::Hip) => hand_on("-fno-discard-value-names".as_ref()),
        Kind::Source(_) => hand_on("-cl-kernel-arg-info".as_ref()),
        _ => {}
    }
    words.extend(["--".into(), path.into()]);
    super::compile_args(words).map_err(|message| refused(&message))
}

/// What `--strict` takes.
fn strict_help() -> String {
    let names = |in_all| {
        let of = Checks::names().filter(|&(_, all)| all == in_all).map(|(name, _)| name);
        of.collect::<Vec<_>>().join(", ")
    };
    format!(
        "Strict checks: `all`, `none`, or names separated by commas; `-name` removes one. Names: {}; and, not in `all`: {}",
        names(true),
        names(false)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_and_sizes() {
        assert_eq!(
            [extent("7"), extent("7,8"), extent("1x2x3")],
            [Ok([7, 1, 1]), Ok([7, 8, 1]), Ok([1, 2, 3])]
        );
        assert!(["", "0", "1,2,3,4", "a", "-1"].iter().all(|text| extent(text).is_err()));
        assert_eq!([bytes("12"), bytes("3K"), bytes("2G")], [Ok(12), Ok(3072), Ok(2 << 30)]);
        assert!(bytes("K").is_err() && bytes("99999999999G").is_err());
    }
}
