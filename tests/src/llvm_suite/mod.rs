//! LLVM's own AMDGPU code generator tests as input: what is accepted, whether it is right, and whether it
//! means what `llc` says.
//!
//! * [`cases`] finds the `llc` invocations of the tests, which are fetched and never part of this project;
//! * [`judge`] compiles one with gcnc in this process and checks the object beside `llc`'s ([`check`]);
//! * [`compare`] runs kernels, functions and shaders of both compilers' objects on the simulator from the
//!   same seeded state.
//!
//! Three tables that are checked in hold what is known: [`refusals`], [`suspects`], [`explained`]. `llc-22` is run once for each input and kept ([`llc`]).

pub mod cases;
pub mod check;
pub mod compare;
pub mod defined;
pub mod elsewhere;
pub mod explained;
pub mod layout;
pub mod llc;
pub mod refusals;
pub mod resources;
pub mod runlines;
pub mod suspects;
pub mod tolerance;

use cases::{Case, target_of};
use check::Findings;
use compare::{Subject, Verdict, compare_function};
use gcnc::{CompileOptions, FileType};
use llc::{Llc, arguments};
use mir::ir::{CallConv, Linkage, Module};
use mir::target::Target;
use sim::CodeObject;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

/// A compilation that takes longer hangs.
const HANG: Duration = Duration::from_secs(20);

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is an object, and this is what was found in it.
    Accepted(Findings),
    /// Refused with this diagnostic.
    Refused(String),
    /// A defect that was caught.
    Crashed(String),
    /// No answer in time.
    Hung,
}

/// Options for a case. Modules compile on one thread: cases run side by side.
fn options(triple: &str, mcpu: &str, mattr: &str, opt: u8, version: Option<u8>) -> CompileOptions {
    CompileOptions {
        triple: triple.to_owned(),
        cpu: mcpu.to_owned(),
        attributes: mattr.split(',').filter(|a| !a.is_empty()).map(str::to_owned).collect(),
        opt_level: opt,
        file_type: FileType::Obj,
        code_object_version: version,
        threads: 1,
        ..CompileOptions::default()
    }
}

/// Runs `work` on a thread of its own; `None` where it takes too long (the thread is left behind).
fn timed<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<Result<T, String>> {
    let (sender, receiver) = mpsc::channel();
    let builder = std::thread::Builder::new().stack_size(16 << 20);
    if let Err(error) = builder.spawn(move || sender.send(work()).ok()) {
        return Some(Err(error.to_string()));
    }
    match receiver.recv_timeout(HANG) {
        Ok(value) => Some(Ok(value)),
        Err(mpsc::RecvTimeoutError::Timeout) => None,
        Err(mpsc::RecvTimeoutError::Disconnected) => Some(Err("the thread has died".to_owned())),
    }
}

/// Compiles with gcnc.
fn compile(text: Vec<u8>, name: String, options: CompileOptions) -> Result<Vec<u8>, Outcome> {
    let result = timed(move || {
        gcnc::compile(&text, &name, &options).map(|output| output.bytes).map_err(|errors| {
            let defect = errors.iter().find(|e| e.kind == mir::ErrorKind::Defect);
            (defect.is_some(), defect.or(errors.first()).map_or_else(String::new, ToString::to_string))
        })
    });
    match result {
        None => Err(Outcome::Hung),
        Some(Err(died)) => Err(Outcome::Crashed(died)),
        Some(Ok(Ok(bytes))) => Ok(bytes),
        Some(Ok(Err((true, message)))) => Err(Outcome::Crashed(message)),
        Some(Ok(Err((false, message)))) => Err(Outcome::Refused(message)),
    }
}

/// Whether `llc-22` does with a case what the test was written for; an error is that it does not.
///
/// # Errors
/// Its message.
pub fn reference(case: &Case, llc: &Llc) -> Result<Vec<u8>, String> {
    let text = std::fs::read(&case.input).map_err(|e| e.to_string())?;
    llc.object(&case.input, &text, &arguments(&case.triple, &case.mcpu, &case.mattr, case.opt))
}

/// Compiles a case and checks the object beside `llc`'s.
pub fn judge(case: &Case, theirs: Option<&[u8]>) -> Outcome {
    let text = match std::fs::read(&case.input) {
        Ok(text) => text,
        Err(error) => return Outcome::Refused(format!("{}: {error}", case.input.display())),
    };
    let options = options(&case.triple, &case.mcpu, &case.mattr, case.opt, case.version);
    let object = match compile(text, case.id.clone(), options) {
        Ok(object) => object,
        Err(outcome) => return outcome,
    };
    let findings = match (target_of(&case.mcpu, &case.triple), theirs) {
        (Some(target), Some(theirs)) => check::check(&object, theirs, &target),
        _ => Findings::default(),
    };
    Outcome::Accepted(findings)
}

/// One function's comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The case, the function, the level of gcnc, the seed.
    pub what: String,
    /// The case.
    pub case: String,
    /// The function; empty for all.
    pub function: String,
    /// Result.
    pub verdict: Verdict,
}

fn skipped(case: &Case, why: String) -> Comparison {
    let verdict = Verdict::Skipped(why);
    Comparison { what: case.id.clone(), case: case.id.clone(), function: String::new(), verdict }
}

/// How [`compare_case`] works.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seeds of the inputs: even ones leave lanes inactive.
    pub seeds: Vec<u64>,
    /// gcnc's levels.
    pub levels: Vec<u8>,
    /// Only functions whose name has this part.
    pub only: Option<String>,
    /// Prints what gcnc's code executes.
    pub trace: bool,
    /// This `gcnc` instead of the one in this process.
    pub gcnc: Option<PathBuf>,
}

/// Whether a shader, or a function for shaders, is among the defined functions; kernels beside them only
/// exist without an operating system.
fn has_shader(module: &Module) -> bool {
    module.functions.values().any(|f| !f.is_declaration() && is_shader(f.call_conv))
}

fn is_shader(cc: CallConv) -> bool {
    !matches!(cc, CallConv::Kernel | CallConv::Device | CallConv::Other(_))
}

/// The module without the bodies of functions that `keep` does not name.
fn only(module: &Module, keep: &dyn Fn(&str) -> bool) -> Module {
    let mut module = module.clone();
    for f in module.functions.values_mut().filter(|f| !keep(&f.name)) {
        f.layout.clear();
        f.linkage = Linkage::External;
    }
    module
}

/// Compares each function of a case that both compilers take and the simulator can execute. Functions about
/// which undefined operands leave nothing to say are compared again with values in their place.
pub fn compare_case(case: &Case, llc: &Llc, work: &Path, plan: &Plan) -> Vec<Comparison> {
    let mut results = compare_text(case, llc, work, plan, &|_| true);
    let open = |r: &Comparison| match &r.verdict {
        Verdict::Unclear(_) => true,
        Verdict::Skipped(why) => why == compare::WILD || why.contains("stops: undef"),
        _ => false,
    };
    let names: Vec<String> = results.iter().filter(|r| open(r)).map(|r| r.function.clone()).collect();
    if names.is_empty() {
        return results;
    }
    let Ok(text) = std::fs::read_to_string(&case.input) else { return results };
    let made = defined::defined(&text);
    let folder = work.join("defined");
    let input = folder.join(format!("{:016x}.ll", sim::memory::digest(made.as_bytes())));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&input, &made));
    if made == text || written.is_err() {
        return results;
    }
    let case = Case { input, ..case.clone() };
    let again = compare_text(&case, llc, work, plan, &|name| names.iter().any(|n| n == name));
    for name in names {
        let new: Vec<&Comparison> = again.iter().filter(|r| r.function == name).collect();
        // Where undefined vectors remain, or nothing can be said again, the first verdict stays.
        let says = |r: &&Comparison| !matches!(r.verdict, Verdict::Unclear(_) | Verdict::Skipped(_));
        if new.iter().any(says) {
            results.retain(|r| r.function != name);
            results.extend(new.into_iter().cloned());
        }
    }
    results
}

fn compare_text(
    case: &Case,
    llc: &Llc,
    work: &Path,
    plan: &Plan,
    named: &dyn Fn(&str) -> bool,
) -> Vec<Comparison> {
    let skip = |why: String| vec![skipped(case, why)];
    let text = match std::fs::read(&case.input) {
        Ok(text) => text,
        Err(error) => return skip(error.to_string()),
    };
    let reading = match frontend::read(&text, &case.id) {
        Ok(reading) => reading,
        Err(error) => return skip(format!("unreadable: {}", refusals::reason(&error.to_string()))),
    };
    let module = reading.module;
    let shaders = has_shader(&module);
    let kernels = module.functions.values().any(|f| f.call_conv == CallConv::Kernel && !f.is_declaration());
    let hsa = if case.triple.contains("amdhsa") { case.triple.as_str() } else { "amdgcn-amd-amdhsa" };
    if !shaders {
        return variant(case, llc, plan, (&case.input, &text), hsa, &module, named);
    }
    // Kernels need descriptors, which only HSA has, and HSA has no shaders: two modules.
    let keep = |f: &mir::ir::Function| f.call_conv != CallConv::Kernel;
    let names: Vec<&str> = module.functions.values().filter(|f| keep(f)).map(|f| f.name.as_str()).collect();
    let mut out = variant(case, llc, plan, (&case.input, &text), &case.triple, &module, &|n| {
        names.contains(&n) && named(n)
    });
    if kernels {
        match without_shaders(case, &text, &module, work) {
            Ok((path, text)) => match frontend::read(&text, &case.id) {
                Ok(reading) => {
                    let kernel = |n: &str| !names.contains(&n) && named(n);
                    out.extend(variant(case, llc, plan, (&path, &text), hsa, &reading.module, &kernel));
                }
                Err(error) => out.extend(skip(error.to_string())),
            },
            Err(why) => out.extend(skip(why)),
        }
    }
    out
}

/// The input without its shaders.
fn without_shaders(
    case: &Case,
    text: &[u8],
    module: &Module,
    work: &Path,
) -> Result<(PathBuf, Vec<u8>), String> {
    let folder = work.join("kernels");
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let path = folder.join(format!("{:016x}.ll", sim::memory::digest(text)));
    if !path.exists() {
        let mut command = Command::new("llvm-extract-22");
        command.args(["-S", "--delete"]).arg(&case.input).arg("-o").arg(&path);
        for f in module.functions.values().filter(|f| !f.is_declaration() && is_shader(f.call_conv)) {
            command.arg(format!("--func={}", f.name));
        }
        crate::toolchain::run(&mut command)?;
    }
    let text = std::fs::read(&path).map_err(|e| e.to_string())?;
    Ok((path, text))
}

/// gcnc's object of a module, and of each function alone where the whole is refused.
enum Ours {
    Whole(Box<CodeObject>),
    Parts,
}

fn load(bytes: &[u8]) -> Result<CodeObject, String> {
    CodeObject::load_open(bytes).map_err(|report| format!("loader: {}", report.message))
}

fn compile_module(module: Module, options: CompileOptions) -> Result<CodeObject, String> {
    let result = timed(move || {
        gcnc::compile_module(module, &options)
            .map(|output| output.bytes)
            .map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string))
    });
    match result {
        None => Err("hang".to_owned()),
        Some(Err(died)) => Err(died),
        Some(Ok(Err(message))) => Err(refusals::reason(&message)),
        Some(Ok(Ok(bytes))) => load(&bytes),
    }
}

/// Compiles with another `gcnc`.
fn compile_outside(gcnc: &Path, input: &Path, args: &[String]) -> Result<CodeObject, String> {
    let out = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    let mut command = Command::new(gcnc);
    command
        .args(["--llc-compat", "-filetype=obj", "--threads=1"])
        .args(args)
        .arg(input)
        .arg("-o")
        .arg(out.path());
    llc::finish(&mut command)?;
    load(&std::fs::read(out.path()).map_err(|e| e.to_string())?)
}

fn variant(
    case: &Case,
    llc: &Llc,
    plan: &Plan,
    (input, text): (&Path, &[u8]),
    triple: &str,
    module: &Module,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<Comparison> {
    let skip = |why: String| vec![skipped(case, why)];
    let Some(target) = target_of(&case.mcpu, triple) else { return skip("processor".to_owned()) };
    // What the case says of the processor's settings, such as error correction, is so on the simulator, too.
    let set = options(triple, target.processor.name, &case.mattr, 2, None).target(triple, None);
    let target = set.map_or(target, |set| Target { features: set.features, ..target });
    let object = |opt: u8| {
        let bytes = llc.object(input, text, &arguments(triple, &case.mcpu, &case.mattr, opt));
        load(&bytes.map_err(|message| format!("llc refuses: {}", refusals::reason(&message)))?)
    };
    let (low, high) = match (object(0), object(2)) {
        (Ok(low), Ok(high)) => (low, high),
        (Err(why), _) | (_, Err(why)) => return skip(why),
    };
    let mut out = Vec::new();
    for &level in &plan.levels {
        let mcpu = match case.mcpu.as_str() {
            "" | "generic" | "generic-hsa" => target.processor.name,
            name => name,
        };
        let mut options = options(triple, mcpu, &case.mattr, level, None);
        let mut whole = match &plan.gcnc {
            Some(gcnc) => compile_outside(gcnc, input, &arguments(triple, mcpu, &case.mattr, level)),
            None => compile_module(module.clone(), options.clone()),
        };
        if plan.gcnc.is_none() && whole.as_ref().is_err_and(|why| why.contains("feature")) {
            options.attributes.clear();
            whole = compile_module(module.clone(), options.clone());
        }
        let ours = match whole {
            Ok(object) => Ours::Whole(Box::new(object)),
            Err(why) if plan.gcnc.is_some() => {
                out.extend(skip(format!("gcnc refuses: {}", refusals::reason(&why))));
                continue;
            }
            Err(_) => Ours::Parts,
        };
        for f in module.functions.values().filter(|f| !f.is_declaration() && wanted(&f.name)) {
            if plan.only.as_ref().is_some_and(|part| !f.name.contains(part.as_str())) {
                continue;
            }
            let alone;
            let gcnc = match &ours {
                Ours::Whole(object) => &**object,
                Ours::Parts => match compile_module(only(module, &|name| name == f.name), options.clone()) {
                    Ok(object) => {
                        alone = object;
                        &alone
                    }
                    Err(why) => {
                        let what = format!("{} {} -O{level}", case.id, f.name);
                        let verdict = Verdict::Skipped(format!("gcnc refuses: {why}"));
                        let (case, function) = (case.id.clone(), f.name.clone());
                        out.push(Comparison { what, case, function, verdict });
                        continue;
                    }
                },
            };
            let own = f.attribute("target-cpu").and_then(|cpu| target_of(cpu, triple));
            let subject = Subject { module, function: f, target: own.unwrap_or(target) };
            for &seed in &plan.seeds {
                let mut verdict = compare_function(&subject, [&low, &high], gcnc, seed, plan.trace);
                // There the stack pointer counts bytes of a lane, which gcnc's functions do not know.
                let flat = case.mattr.contains("+enable-flat-scratch") && f.call_conv != CallConv::Kernel;
                if flat && matches!(verdict, Verdict::Different(_)) {
                    verdict = Verdict::Skipped("a function with flat scratch has another stack".to_owned());
                }
                let what = format!("{} {} -mcpu={} -O{level} seed {seed}", case.id, f.name, case.mcpu);
                let skipped = matches!(verdict, Verdict::Skipped(_));
                let (case, function) = (case.id.clone(), f.name.clone());
                out.push(Comparison { what, case, function, verdict });
                if skipped {
                    break;
                }
            }
        }
    }
    out
}
