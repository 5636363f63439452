//! The compiler: every step in order, each named, timed, dumped on request, and verified in tests.

use crate::options::{CompileOptions, FileType};
use crate::stats::{FunctionStats, StepTimes};
use emit::FinalFunction;
use isel::uniformity::Uniformity;
use mir::ir::{Func, Module};
use mir::target::Target;
use mir::{Diagnostic, Result, machine};
use rayon::prelude::*;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Everything that went wrong, in the order of the module's functions. Never empty.
pub type Errors = Vec<Box<Diagnostic>>;

/// A step whose result can be dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The module as read.
    Ir,
    /// Legal IR.
    Simplified,
    /// Which values differ between lanes.
    Uniformity,
    /// Machine code on the thread graph.
    Selected,
    /// Both graphs, EXEC code.
    Structured,
    /// Memory model applied.
    Legalized,
    /// Physical registers.
    Allocated,
    /// Prolog, waits, NOPs, branches.
    Final,
}

impl Step {
    /// All steps in order.
    pub const ALL: [Self; 8] = [
        Self::Ir,
        Self::Simplified,
        Self::Uniformity,
        Self::Selected,
        Self::Structured,
        Self::Legalized,
        Self::Allocated,
        Self::Final,
    ];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ir => "ir",
            Self::Simplified => "simplified",
            Self::Uniformity => "uniformity",
            Self::Selected => "selected",
            Self::Structured => "structured",
            Self::Legalized => "legalized",
            Self::Allocated => "allocated",
            Self::Final => "final",
        }
    }

    /// The step called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }
}

/// The result of a compilation.
#[derive(Debug, Default)]
pub struct Output {
    /// The file.
    pub bytes: Vec<u8>,
    /// What `print_after` asked for.
    pub dump: String,
    /// One entry a compiled function.
    pub functions: Vec<FunctionStats>,
    /// What the user should know although it compiled; one line each.
    pub warnings: Vec<String>,
}

/// Looks at what the steps make of a module, and may change the machine code between them. Functions are compiled at the same time.
pub trait Observer: Sync {
    /// The module after [`Step::Ir`] or [`Step::Simplified`].
    fn module(&self, _step: Step, _module: &Module) {}
    /// A function after one of the steps from [`Step::Selected`] to [`Step::Allocated`].
    fn function(&self, step: Step, function: &mut machine::Function);
    /// The functions after [`Step::Final`], each by itself: kernels do not know yet what their callees need.
    fn finished(&self, _functions: &[FinalFunction]) {}
}

/// Compiles LLVM bitcode or text. `name` stands for the input in messages.
///
/// # Errors
/// One diagnostic for each function that was refused; a bad function does not hide another's.
pub fn compile(input: &[u8], name: &str, options: &CompileOptions) -> Result<Output, Errors> {
    let reading = guarded(Step::Ir, || frontend::read(input, name)).map_err(|error| vec![error])?;
    compile_reading(reading, options)
}

/// Compiles what was read before, for instance from an LLVM module in memory.
///
/// # Errors
/// As [`compile`].
pub fn compile_reading(reading: frontend::Reading, options: &CompileOptions) -> Result<Output, Errors> {
    if !reading.errors.is_empty() {
        return Err(reading.errors);
    }
    compile_module(reading.module, options)
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
    mut module: Module,
    options: &CompileOptions,
    observer: Option<&dyn Observer>,
) -> Result<Output, Errors> {
    let one = |error| vec![error];
    crate::incompatible::drop_incompatible(&mut module, options);
    let target = options.target(&module.triple, module.code_object_version_flag).map_err(one)?;
    let target = options.module_target(target, &module).map_err(one)?;
    let settings = isel::Options {
        opt_level: options.opt_level,
        contract_all: options.contract_all,
        ..isel::Options::default()
    };
    let mut output = Output { warnings: options.warnings(&module), ..Output::default() };
    add_default_attributes(&mut module, options);
    declare_scratch_symbols(&mut module, &target);
    if options.function_sections {
        for function in module.functions.values_mut().filter(|f| f.section.is_empty()) {
            function.section = format!(".text.{}", function.name);
        }
    }
    if let Some(observer) = observer {
        observer.module(Step::Ir, &module);
    }
    if dumped(options, Step::Ir, &mut output, || module.to_string()) {
        return Ok(output);
    }

    let target_of = |function: &mir::ir::Function| options.function_target(&target, function);
    guarded(Step::Simplified, || isel::simplify::run_for_targets(&mut module, &target_of, &settings))
        .map_err(one)?;
    if let Some(observer) = observer {
        observer.module(Step::Simplified, &module);
    }
    if dumped(options, Step::Simplified, &mut output, || module.to_string()) {
        return Ok(output);
    }

    let defined: Vec<Func> =
        module.functions.keys().filter(|&f| !module.functions[f].is_declaration()).collect();
    let compiler = Compiler { module: &module, target: &target, settings: &settings, options, observer };
    let compiled = compiler.functions(&defined).map_err(one)?;

    let (mut finals, mut errors) = (Vec::with_capacity(compiled.len()), Vec::new());
    for result in compiled {
        match result {
            Ok(function) => {
                output.dump.push_str(&function.dump);
                output.functions.push(function.stats);
                finals.extend(function.result);
            }
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if options.stop_after.is_some() {
        output.bytes = std::mem::take(&mut output.dump).into_bytes();
        return Ok(output);
    }
    if let Some(observer) = observer {
        observer.finished(&finals);
    }
    let mut targets = Vec::with_capacity(finals.len());
    for function in &finals {
        targets.push(target_of(&module.functions[function.function.source]).map_err(one)?);
    }
    guarded(Step::Final, || {
        let target_of = |i: usize| targets.get(i).copied().unwrap_or(target);
        emit::callgraph::complete_kernels(&mut finals, &module, &target_of)
    })
    .map_err(one)?;
    output.bytes = guarded(Step::Final, || match options.file_type {
        FileType::Asm => emit::emit_asm(&module, &finals, &target).map(String::into_bytes),
        FileType::Obj => emit::emit_object(&module, &finals, &target),
        FileType::Null => Ok(Vec::new()),
    })
    .map_err(one)?;
    Ok(output)
}

/// Declares the symbols of which prologs build the scratch resource where no system passes it.
fn declare_scratch_symbols(module: &mut Module, target: &Target) {
    if target.os != mir::target::Os::Unknown {
        return;
    }
    for name in mir::abi::shader::SCRATCH_SYMBOLS {
        if !module.globals.values().any(|global| global.name == name) {
            module.globals.push(mir::ir::GlobalData::external(name));
        }
    }
}

/// Gives the options' attributes to the functions that say nothing themselves.
fn add_default_attributes(module: &mut Module, options: &CompileOptions) {
    for function in module.functions.values_mut().filter(|f| !f.is_declaration()) {
        for (key, value) in &options.function_attributes {
            function.attributes.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// A module with fewer instructions than this compiles on the caller's thread: waking others takes longer.
const PARALLEL_INSTS: usize = 200;

/// What the steps of one function need besides the function.
struct Compiler<'a> {
    module: &'a Module,
    target: &'a Target,
    settings: &'a isel::Options,
    options: &'a CompileOptions,
    observer: Option<&'a dyn Observer>,
}

/// A function that went through all steps, or up to the one asked for.
struct Compiled {
    result: Option<FinalFunction>,
    dump: String,
    stats: FunctionStats,
}

impl Compiler<'_> {
    /// Compiles `functions`, on as many threads as the options allow. Results are in the order of `functions`.
    fn functions(&self, functions: &[Func]) -> Result<Vec<Result<Compiled>>> {
        let insts = || functions.iter().map(|&f| self.module.functions[f].insts.len()).sum::<usize>();
        if self.options.threads == 1 || functions.len() <= 1 || insts() < PARALLEL_INSTS {
            return Ok(functions.iter().map(|&func| self.function(func)).collect());
        }
        let all = || functions.par_iter().map(|&func| self.function(func)).collect();
        if self.options.threads == 0 {
            return Ok(all());
        }
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(self.options.threads).build().map_err(|error| {
                Diagnostic::limit(format!("cannot start {} threads: {error}", self.options.threads))
            })?;
        Ok(pool.install(all))
    }

    fn function(&self, func: Func) -> Result<Compiled> {
        let name = &self.module.functions[func].name;
        let mut steps =
            Steps { options: self.options, name, times: StepTimes::default(), dump: String::new() };
        let result = self.steps(func, &mut steps).map_err(|error| error.in_function(name))?;
        let mut stats = result.as_ref().map(|f| self.stats(f)).unwrap_or_default();
        stats.micros = steps.times.micros();
        Ok(Compiled { result, dump: steps.dump, stats })
    }

    /// The compiler. `None` where `stop_after` ended it early.
    fn steps(&self, func: Func, steps: &mut Steps) -> Result<Option<FinalFunction>> {
        let (module, settings) = (self.module, self.settings);
        let ir = &module.functions[func];
        let target = &self.options.function_target(self.target, ir)?;
        let registers = self.register_limits(ir)?;

        let uniformity = steps.run(Step::Uniformity, || Ok(Uniformity::compute(ir, target)))?;
        if steps.dumped(Step::Uniformity, || divergence(module, ir, &uniformity)) {
            return Ok(None);
        }
        let mut f = steps
            .run(Step::Selected, || isel::select::select(module, func, &uniformity, target, settings))?;
        if self.check(steps, Step::Selected, &mut f)? {
            return Ok(None);
        }
        steps.run(Step::Structured, || isel::structure::structure(&mut f))?;
        if self.check(steps, Step::Structured, &mut f)? {
            return Ok(None);
        }
        steps.run(Step::Legalized, || {
            isel::memory_model::legalize(&mut f, target);
            Ok(())
        })?;
        if self.check(steps, Step::Legalized, &mut f)? {
            return Ok(None);
        }
        let mut f = steps.run(Step::Allocated, || regalloc::allocate(f, target, &registers))?;
        if self.check(steps, Step::Allocated, &mut f)? {
            return Ok(None);
        }
        let f = steps.run(Step::Final, || emit::finish(f, module, target))?;
        Ok(Some(f))
    }

    /// Shows machine code to the observer, verifies and dumps it; true where compilation is to stop here.
    fn check(&self, steps: &mut Steps, step: Step, f: &mut machine::Function) -> Result<bool> {
        if let Some(observer) = self.observer {
            observer.function(step, f);
        }
        steps.check(step, f)
    }

    /// Limits that the function's attributes set on register allocation.
    fn register_limits(&self, ir: &mir::ir::Function) -> Result<regalloc::Options> {
        let number = |key: &str| -> Result<Option<u32>> {
            // `"amdgpu-waves-per-eu"="m,n"`: the lower bound is the one that limits registers.
            let Some(text) = ir.attribute(key) else { return Ok(None) };
            let first = text.split(',').next().unwrap_or_default().trim();
            let malformed =
                |_| Diagnostic::malformed(format!("attribute \"{key}\" is not a number: \"{text}\""));
            first.parse().map(Some).map_err(malformed)
        };
        if let Some(text) = ir.attribute("amdgpu-max-num-workgroups") {
            let numbers: Vec<_> = text.split(',').map(|part| part.trim().parse::<u32>()).collect();
            if numbers.len() != 3 || numbers.iter().any(Result::is_err) {
                return Err(Diagnostic::malformed(format!(
                    "attribute \"amdgpu-max-num-workgroups\" is not three numbers: \"{text}\""
                )));
            }
        }
        Ok(regalloc::Options {
            verify: self.options.verify,
            max_vgprs: number("amdgpu-num-vgpr")?,
            max_sgprs: number("amdgpu-num-sgpr")?,
            min_waves: number("amdgpu-waves-per-eu")?,
            regalloc2: self.options.opt_level >= 1,
        })
    }

    fn stats(&self, f: &FinalFunction) -> FunctionStats {
        let resources = &f.function.resources;
        let kernel = f.kernel.as_ref();
        let sgprs = kernel.map_or(resources.sgprs, |k| k.metadata.sgpr_count);
        FunctionStats {
            function: f.function.name.clone(),
            sgprs,
            vgprs: resources.vgprs,
            sgpr_spills: resources.sgpr_spills,
            vgpr_spills: resources.vgpr_spills,
            occupancy: self.target.limits().waves_that_fit(sgprs, resources.vgprs),
            lds_bytes: f.function.lds.size_bytes,
            scratch_bytes: resources.scratch_bytes,
            code_bytes: f.code.len() as u32,
            instructions: f.function.layout.iter().map(|&b| f.function.blocks[b].insts.len() as u32).sum(),
            micros: Vec::new(),
        }
    }
}

/// Runs steps of one function: names, times, dumps and verifies them.
struct Steps<'a> {
    options: &'a CompileOptions,
    name: &'a str,
    times: StepTimes,
    dump: String,
}

impl Steps<'_> {
    fn run<T>(&mut self, step: Step, body: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let result = guarded(step, body);
        self.times.add(step, start.elapsed());
        result
    }

    /// Dumps `text` where asked for; true where compilation is to stop here.
    fn dumped(&mut self, step: Step, text: impl FnOnce() -> String) -> bool {
        if self.options.print_after == Some(step) || self.options.stop_after == Some(step) {
            let _ = write!(self.dump, "; {} after {}\n{}", self.name, step.name(), text());
        }
        self.options.stop_after == Some(step)
    }

    /// Verifies and dumps machine code; true where compilation is to stop here.
    fn check(&mut self, step: Step, f: &machine::Function) -> Result<bool> {
        let stop = self.dumped(step, || f.to_string());
        if self.options.verify {
            let stage = match step {
                Step::Selected => machine::Stage::Selected,
                Step::Allocated => machine::Stage::Allocated,
                _ => machine::Stage::Structured,
            };
            machine::verify(f, stage).map_err(|error| {
                Diagnostic::defect(format!("after step {}: {}", step.name(), error.message))
            })?;
        }
        Ok(stop)
    }
}

/// The instructions of `ir`, each marked `divergent` or `uniform`.
fn divergence(module: &Module, ir: &mir::ir::Function, uniformity: &Uniformity) -> String {
    let mut text = String::new();
    for &block in &ir.layout {
        let _ = writeln!(text, "{block}:");
        for &inst in &ir.blocks[block].insts {
            let mark = match ir.insts[inst].result {
                Some(value) if uniformity.is_divergent(value) => "divergent",
                None if ir.insts[inst].kind.is_terminator() && uniformity.is_divergent_branch(block) => {
                    "divergent"
                }
                _ => "uniform",
            };
            let _ = writeln!(text, "  {mark:9}  {}", ir.display_inst(module, inst));
        }
    }
    text
}

/// Runs `body`; a panic becomes a diagnostic that names the step.
fn guarded<T>(step: Step, body: impl FnOnce() -> Result<T>) -> Result<T> {
    // A step that panics leaves nothing behind that anybody looks at again: its inputs are dropped with the compilation.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Diagnostic::defect(format!("step {} panicked: {text}", step.name())))
    })
}

/// Dumps the module where asked for; true where compilation is to stop here.
fn dumped(options: &CompileOptions, step: Step, output: &mut Output, text: impl FnOnce() -> String) -> bool {
    if options.stop_after == Some(step) {
        output.bytes = text().into_bytes();
        return true;
    }
    if options.print_after == Some(step) {
        output.dump.push_str(&text());
    }
    false
}
