//! Runs the passes of [`crate::pipeline`] over a program: times, prints and verifies each, and names it in
//! what goes wrong.

mod runner;

use crate::callees::Callees;
use crate::check::check_text;
use crate::options::{CompileOptions, FileType};
use crate::pass::{FunctionTargets, ModuleContext, Pass, Run, Stage};
use crate::pipeline::PASSES;
use crate::stats::{FunctionStats, PassTimes};
use emit::FinalFunction;
use mir::analysis::Uniformity;
use mir::interrupt::Stop;
use mir::ir::{Func, Module};
use mir::target::Target;
use mir::{CodegenOptions, Diagnostic, ErrorKind, Result, machine};
use runner::{Runner, Sweep};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Everything that went wrong, in the order of the module's functions. Never empty.
pub type Errors = Vec<Box<Diagnostic>>;

/// The result of a compilation.
#[derive(Debug, Default)]
pub struct Output {
    /// The file; where compilation stopped before the last pass, the text of the program.
    pub bytes: Vec<u8>,
    /// What was to be printed between passes.
    pub dump: String,
    /// One entry a compiled function.
    pub functions: Vec<FunctionStats>,
    /// Time of passes over the whole module, and of reading it.
    pub times: PassTimes,
    /// What is known about the kernels, where the options ask for it.
    pub metadata: Option<mir::abi::Metadata>,
    /// What the code is for.
    pub target: Option<Target>,
    /// The processor that the code is for.
    pub processor: &'static str,
    /// What the user should know although it compiled; one line each.
    pub warnings: Vec<String>,
}

impl Output {
    /// Time of each pass in the order of the list, summed over all functions (and so over threads).
    pub fn pass_times(&self) -> PassTimes {
        let mut sum = self.times.clone();
        self.functions.iter().for_each(|function| sum.add_all(&function.times));
        sum
    }
}

/// Looks at what passes make of a program, and may change it between them. Functions are compiled at the same
/// time.
pub trait Observer: Sync {
    /// The module behind `pass`, the last one of several that go over the functions one by one.
    fn module(&self, _pass: &'static Pass, _module: &mut Module) {}
    /// Machine code of a function behind `pass`.
    fn function(&self, pass: &'static Pass, function: &mut machine::Function);
    /// The functions before they are written.
    fn finished(&self, _functions: &[FinalFunction]) {}
}

/// Compiles LLVM bitcode or text. `name` stands for the input in messages.
///
/// # Errors
/// One diagnostic for each function that was refused; a bad function does not hide another's.
pub fn compile(input: &[u8], name: &str, options: &CompileOptions) -> Result<Output, Errors> {
    let start = Instant::now();
    let program = if options.starts_from_text() {
        let text =
            std::str::from_utf8(input).map_err(|_| vec![Diagnostic::malformed("the text is not UTF-8")])?;
        guarded("read", || mir::text::parse_program(text, name)).map_err(one)?
    } else {
        let reading = guarded("read", || frontend::read(input, name)).map_err(one)?;
        let time = start.elapsed();
        let mut output = compile_reading(reading, options)?;
        output.times.add_first("read", time);
        return Ok(output);
    };
    let time = start.elapsed();
    let mut output = run_passes(program, options, None)?;
    output.times.add_first("read", time);
    Ok(output)
}

/// Compiles what was read before, for instance from an LLVM module in memory.
///
/// # Errors
/// As [`compile`].
pub fn compile_reading(reading: frontend::Reading, options: &CompileOptions) -> Result<Output, Errors> {
    let frontend::Reading { module, mut errors } = reading;
    if errors.is_empty() {
        return compile_module(module, options);
    }
    // What was read is compiled for its errors alone. Functions that could not be read are declarations there.
    let options = CompileOptions { file_type: FileType::Null, ..options.clone() };
    if let Err(others) = compile_module(module, &options) {
        if others.iter().any(|error| matches!(error.kind, ErrorKind::Interrupted(_))) {
            return Err(others);
        }
        errors.extend(others.into_iter().filter(|error| error.function.is_some() && is_own(error)));
    }
    Err(errors)
}

/// Compiles a module that was read before.
///
/// # Errors
/// As [`compile`].
pub fn compile_module(module: Module, options: &CompileOptions) -> Result<Output, Errors> {
    compile_observed(module, options, None)
}

/// Compiles a module while `observer` looks on.
///
/// # Errors
/// As [`compile`].
pub fn compile_observed(
    module: Module,
    options: &CompileOptions,
    observer: Option<&dyn Observer>,
) -> Result<Output, Errors> {
    run_passes(mir::text::Program { module, functions: Vec::new() }, options, observer)
}

/// Runs the passes that `options` choose over a program that has come as far as the first of them needs.
/// Where they stop before the last pass, the output is the text of the program.
///
/// # Errors
/// As [`compile`].
pub fn compile_program(program: mir::text::Program, options: &CompileOptions) -> Result<Output, Errors> {
    run_passes(program, options, None)
}

/// Brings a module to legal IR for `target`.
///
/// # Errors
/// The first diagnostic.
pub fn legalize(module: &mut Module, target: &Target, settings: &CodegenOptions) -> Result<()> {
    let options = CompileOptions {
        opt_level: settings.opt_level,
        contract_all: settings.contract_all,
        ..CompileOptions::default()
    };
    let targets = FunctionTargets::default();
    let cx = ModuleContext { options: &options, target, targets: &targets, settings };
    let begin = crate::pass::position(PASSES, "lower-printf");
    let end = crate::pass::position(PASSES, "uniformity");
    let mut output = Output::default();
    let mut refused = Refused::new();
    Runner { cx, observer: None }.ir_passes(begin..end, module, &mut output, &mut refused)?;
    refused.into_iter().next().map_or(Ok(()), |refusal| Err(refusal.1))
}

/// Brings allocated machine code of a function of a legal `module` to its bytes.
///
/// # Errors
/// `Defect` where `f` is not allocated, else those of the passes.
pub fn finish(mut f: machine::Function, module: &Module, target: &Target) -> Result<FinalFunction> {
    let options = CompileOptions { verify: true, ..CompileOptions::default() };
    let (targets, settings) = (FunctionTargets::default(), CodegenOptions::default());
    let cx = ModuleContext { options: &options, target, targets: &targets, settings: &settings };
    f.stage = machine::Stage::Allocated;
    machine::verify(&f)?;
    let (func, begin) = (f.source, crate::pass::position(PASSES, "remove-identity-moves"));
    let end = crate::pass::position(PASSES, "add-callees");
    let runner = Runner { cx, observer: None };
    let sweep = Sweep { passes: begin..end, module, callees: &Callees::default() };
    let done = runner.function(&sweep, func, Form::Machine(Box::new(f)), false)?;
    done.form.finished().ok_or_else(|| Diagnostic::defect("the last pass left no bytes"))
}

/// Whether an error is not the consequence of others: what is missing may look like a defect.
fn is_own(error: &Diagnostic) -> bool {
    error.kind != ErrorKind::Defect
}

/// Functions that were refused, each with the reason. They are declarations from then on, so that the others are looked at, too.
type Refused = Vec<(Func, Box<Diagnostic>)>;

/// What goes wrong with the module as a whole, behind the functions that were refused before; it may be a consequence of that.
fn with_refused(refused: &mut Refused, error: Box<Diagnostic>) -> Errors {
    let mut errors: Errors = std::mem::take(refused).into_iter().map(|refusal| refusal.1).collect();
    if errors.is_empty() || matches!(error.kind, ErrorKind::Interrupted(_)) {
        errors.push(error);
    }
    errors
}

fn one(error: Box<Diagnostic>) -> Errors {
    vec![error]
}

fn run_passes(
    program: mir::text::Program,
    options: &CompileOptions,
    observer: Option<&dyn Observer>,
) -> Result<Output, Errors> {
    let _entered = options.watch.as_ref().map(|watch| watch.enter());
    let mir::text::Program { mut module, functions } = program;
    crate::incompatible::drop_incompatible(&mut module, options);
    let target = options.target(&module.triple, module.code_object_version_flag).map_err(one)?;
    let targets = FunctionTargets::new(&module, &target, options);
    let target = options.module_target(target, &module, &targets).map_err(one)?;
    let settings = CodegenOptions { opt_level: options.opt_level, contract_all: options.contract_all };
    let mut warnings = options.warnings(&module, &target);
    warnings.extend(crate::prepare::warnings_of_traps(&module, &target));
    let mut output =
        Output { warnings, target: Some(target), processor: target.processor.name, ..Output::default() };
    let cx = ModuleContext { options, target: &target, targets: &targets, settings: &settings };
    let runner = Runner { cx, observer };
    let passes = options.passes();

    let first = &PASSES[passes.start.min(PASSES.len() - 1)];
    if let (Stage::Machine(needs), true) = (first.needs, options.starts_from_text())
        && let Some(f) = functions.iter().find(|f| f.stage != needs)
    {
        let message = format!("{} needs stage {}, not {}", first.name, needs.word(), f.stage.word());
        return Err(one(Diagnostic::malformed(message).in_function(&f.name)));
    }
    if options.starts_from_text() {
        check_text(first, &module, &functions, &runner.cx).map_err(one)?;
    }
    let of_ir = PASSES.iter().take_while(|pass| !pass.is_machine()).count();
    let mut refused = Refused::new();
    let ir_times = runner
        .ir_passes(clamp(&passes, 0..of_ir), &mut module, &mut output, &mut refused)
        .map_err(|error| with_refused(&mut refused, error))?;

    let of_functions = of_ir
        + PASSES[of_ir..].iter().take_while(|p| !matches!(p.run, Run::Program(_) | Run::Write(_))).count();
    let bodies = bodies(&module, functions, passes.start > of_ir).map_err(one)?;
    let sources: Vec<Func> = bodies.iter().map(|body| body.0).collect();
    let forms = runner.function_passes(
        clamp(&passes, of_ir..of_functions),
        &module,
        bodies,
        &mut output,
        &mut refused,
    )?;
    if !refused.is_empty() {
        refused.sort_by_key(|refusal| refusal.0);
        return Err(refused.into_iter().map(|refusal| refusal.1).collect());
    }
    for (func, stats) in sources.iter().zip(&mut output.functions) {
        let own = std::mem::replace(&mut stats.times, ir_times[*func].clone());
        stats.times.append(own);
    }
    if passes.end <= of_functions {
        output.bytes = program_text(&module, &forms).into_bytes();
        return Ok(output);
    }
    let mut finals: Vec<FinalFunction> = forms.into_iter().filter_map(Form::finished).collect();
    if let Some(observer) = observer {
        observer.finished(&finals);
    }
    output.metadata = options.metadata.then(|| emit::module_metadata(&module, &finals, &target).cloned());
    output.bytes = runner
        .program_passes(clamp(&passes, of_functions..PASSES.len()), &module, &mut finals, &mut output)
        .map_err(one)?;
    Ok(output)
}

/// What of `all` is to run.
fn clamp(passes: &Range<usize>, all: Range<usize>) -> Range<usize> {
    let start = passes.start.clamp(all.start, all.end);
    start..passes.end.clamp(start, all.end)
}

/// What there is of a function between two passes.
pub(crate) enum Form {
    /// IR in the module.
    Ir,
    Analysed(Box<Uniformity>),
    Machine(Box<machine::Function>),
    Final(Box<FinalFunction>),
}

impl Form {
    fn finished(self) -> Option<FinalFunction> {
        match self {
            Self::Final(function) => Some(*function),
            _ => None,
        }
    }

    pub(crate) fn machine(&self) -> Option<&machine::Function> {
        match self {
            Self::Machine(f) => Some(f),
            Self::Final(f) => Some(&f.function),
            _ => None,
        }
    }
}

/// The functions that are to be compiled, as they are given.
fn bodies(module: &Module, functions: Vec<machine::Function>, machine: bool) -> Result<Vec<(Func, Form)>> {
    if machine {
        let known = |f: &machine::Function| module.functions.get(f.source).is_some();
        if let Some(f) = functions.iter().find(|f| !known(f)) {
            return Err(Diagnostic::malformed("the function is not of this module").in_function(&f.name));
        }
        return Ok(functions.into_iter().map(|f| (f.source, Form::Machine(Box::new(f)))).collect());
    }
    let defined = module.functions.iter().filter(|(_, f)| !f.is_declaration());
    Ok(defined.map(|(func, _)| (func, Form::Ir)).collect())
}

fn program_text(module: &Module, forms: &[Form]) -> String {
    mir::text::print_program(module, forms.iter().filter_map(Form::machine))
}

/// Runs `body`; a panic becomes a diagnostic that names the pass, and what ends a compilation early its own.
pub(crate) fn guarded<T>(name: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    // A pass that panics leaves nothing behind that anybody looks at again: its inputs are dropped with the
    // compilation.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        if let Some(&Stop(reason)) = payload.downcast_ref::<Stop>() {
            return Err(Diagnostic::interrupted(reason));
        }
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Diagnostic::defect(format!("pass {name} panicked: {text}")))
    })
}
