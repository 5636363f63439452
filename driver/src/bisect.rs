//! Which step of the compiler changed what a kernel does.
//!
//! Problem: a kernel leaves wrong memory, and eight steps stand between its IR and its bytes. Idea: what each
//! step makes can be run by itself (`interpret`). The same dispatch is run after every step, on the same
//! memory at the same addresses; the first step whose result leaves something else than the one before is at
//! fault, and the bytes that differ lead to the instructions that wrote them.
//!
//! What an earlier stage leaves undefined, a later one may define as it likes. A stage that the interpreter
//! cannot run is passed over: then two steps come into question instead of one, and the verdict says so
//! ([`Culprit::before`]).
//!
//! For tests of this very thing, code can be damaged between two steps ([`Damage`]).

use crate::compile::{Errors, Observer, compile_observed};
use crate::options::CompileOptions;
use crate::pass::Pass;
use emit::FinalFunction;
use interpret::compare::{Describe, Difference, Exact, Nearly, Tolerance, compare};
use interpret::dispatch::Source;
use interpret::machine::{Description, KernelEntry, Program, Symbols};
use interpret::record::Outcome;
pub use interpret::record::{Stop, StopKind};
use mir::ir::{Func, Linkage, Module, SymbolRef};
use mir::target::Target;
use mir::{Diagnostic, machine};
use sim::report::Checks;
use sim::{CodeObject, Config, Dispatch, Memory, Prepared};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What is run after each step.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The dispatch.
    pub dispatch: &'a Dispatch,
    /// Memory at its start; [`Dispatch::args`] point into it.
    pub memory: &'a Memory,
    /// Seed of what undefined bits read as.
    pub seed: u64,
    /// Most instructions that each stage may execute.
    pub fuel: u64,
}

/// A pass, by its name.
pub type Step = &'static str;

/// Changes code after a step.
pub type Damage<'a> = dyn FnMut(Step, &mut machine::Function) + Send + 'a;

/// How the run of a stage ended.
#[derive(Clone, Debug)]
pub enum Ran {
    /// All waves came to their end.
    Finished,
    /// It was stopped.
    Stopped(Stop),
    /// There is nothing to run, and why.
    Not(String),
}

/// What a step did wrong.
#[derive(Clone, Debug)]
pub enum Change {
    /// Memory differs.
    Memory(Difference),
    /// What the code did before it must not do now.
    Stopped(Stop),
    /// The compiler refused its own code.
    Refused(String),
}

/// The step at fault.
#[derive(Clone, Debug)]
pub struct Culprit {
    /// The first stage whose meaning differs.
    pub step: Step,
    /// The stage that it differs from, the last before that could be run.
    pub before: Step,
    /// How.
    pub change: Change,
}

/// What running all stages showed.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The stages in order.
    pub stages: Vec<(Step, Ran)>,
    /// The first that differs; `None` where all agree.
    pub culprit: Option<Culprit>,
}

impl Verdict {
    /// How many stages ran to their end. Fewer than two prove nothing.
    pub fn finished(&self) -> usize {
        self.stages.iter().filter(|(_, ran)| matches!(ran, Ran::Finished)).count()
    }
}

/// How many times the instructions of one stage another may execute.
const LONGER: u64 = 64;

/// The stages that can be run.
const STAGES: [Step; 10] = [
    READ,
    LEGAL,
    "select",
    COMBINE,
    "linearise",
    "memory-model",
    SCHEDULE,
    "allocate",
    "remove-identity-moves",
    BYTES,
];
/// The passes that levels without optimisation leave out.
const COMBINE: Step = "combine";
const SCHEDULE: Step = "schedule";
/// The pass behind which IR is as it was read.
const READ: Step = "apply-options";
/// The pass behind which IR is legal and settled.
const LEGAL: Step = "lay-out-lds";
/// The pass behind which there are bytes.
const BYTES: Step = "encode";

/// What the steps made.
#[derive(Default)]
struct Snapshots {
    modules: BTreeMap<Step, Module>,
    functions: BTreeMap<(Step, u32), machine::Function>,
    finals: Vec<FinalFunction>,
}

struct Collector<'a, 'd> {
    snapshots: Mutex<Snapshots>,
    damage: Mutex<Option<&'a mut Damage<'d>>>,
}

impl Observer for Collector<'_, '_> {
    fn module(&self, pass: &'static Pass, module: &mut Module) {
        if ![READ, LEGAL].contains(&pass.name) {
            return;
        }
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        snapshots.modules.insert(pass.name, module.clone());
    }

    fn function(&self, pass: &'static Pass, function: &mut machine::Function) {
        let step = pass.name;
        if let Some(damage) = self.damage.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            damage(step, function);
        }
        if !STAGES.contains(&step) {
            return;
        }
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        snapshots.functions.insert((step, function.source.as_u32()), function.clone());
    }

    fn finished(&self, functions: &[FinalFunction]) {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner).finals = functions.to_vec();
    }
}

fn compiled(
    module: &Module,
    options: &CompileOptions,
    damage: Option<&mut Damage<'_>>,
) -> (Snapshots, Result<Vec<u8>, Errors>) {
    let collector = Collector { snapshots: Mutex::default(), damage: Mutex::new(damage) };
    let result = compile_observed(module.clone(), options, Some(&collector)).map(|output| output.bytes);
    (collector.snapshots.into_inner().unwrap_or_else(PoisonError::into_inner), result)
}

/// Runs `run` after every step of compiling `module`, and names the first step that changed its meaning.
///
/// # Errors
/// The module is refused, or the dispatch does not fit it.
pub fn bisect(
    module: &Module,
    options: &CompileOptions,
    run: &Run<'_>,
    damage: Option<&mut Damage<'_>>,
) -> Result<Verdict, Errors> {
    let one = |error| vec![error];
    let options =
        CompileOptions { file_type: crate::FileType::Obj, start: None, stop: None, ..options.clone() };
    let module = &named(module);
    let damaged = damage.is_some();
    let (snapshots, result) = compiled(module, &options, damage);
    // Code that the damage made the compiler refuse has no bytes; earlier stages run at the addresses of the
    // intact one.
    let (refused, intact) = match result {
        Ok(bytes) => (None, (None, bytes)),
        Err(errors) if damaged => {
            let (snapshots, bytes) = compiled(module, &options, None);
            (errors.first().map(ToString::to_string), (Some(snapshots), bytes?))
        }
        Err(errors) => return Err(errors),
    };
    let (own, bytes) = intact;
    let finals = own.as_ref().map_or(&snapshots.finals, |s| &s.finals);
    let object = CodeObject::load(&bytes).map_err(|report| one(Diagnostic::unsupported(report.message)))?;
    let target = target_of(module, &options).map_err(one)?;
    let stages = Stages { snapshots: &snapshots, finals, object: &object, options: &options, target, run };
    stages.judge(refused).map_err(one)
}

/// The target that `module` is compiled for.
///
/// # Errors
/// The options or the module name what does not exist.
pub fn target_of(module: &Module, options: &CompileOptions) -> mir::Result<Target> {
    let target = options.target(&module.triple, module.code_object_version_flag)?;
    let targets = crate::pass::FunctionTargets::new(module, &target, options);
    options.module_target(target, module, &targets)
}

/// The module with a symbol for everything: private variables and functions have none, and nobody could say
/// where they are.
fn named(module: &Module) -> Module {
    let mut module = module.clone();
    let linkages = module.functions.values_mut().map(|f| &mut f.linkage);
    for linkage in linkages.chain(module.globals.values_mut().map(|g| &mut g.linkage)) {
        if *linkage == Linkage::Private {
            *linkage = Linkage::Internal;
        }
    }
    module
}

/// Everything that running needs.
struct Stages<'a> {
    snapshots: &'a Snapshots,
    finals: &'a [FinalFunction],
    object: &'a CodeObject,
    options: &'a CompileOptions,
    target: Target,
    run: &'a Run<'a>,
}

impl Stages<'_> {
    fn judge(&self, refused: Option<String>) -> mir::Result<Verdict> {
        let mut verdict = Verdict { stages: Vec::new(), culprit: None };
        let config = self.config(Checks::UNDEF_ADDRESS | Checks::UNDEF_BRANCH | Checks::MISALIGNED);
        let strict = self.config(Checks::default().difference(Checks::UNDEF_STORE));
        let kernel =
            self.finals.iter().find(|f| f.function.name == self.run.dispatch.kernel).ok_or_else(|| {
                Diagnostic::malformed(format!("no kernel {} here", self.run.dispatch.kernel))
            })?;
        let entry = KernelEntry::new(&kernel.function);
        // The addresses are the same in every run.
        let prepared = self.prepared(&mut self.run.memory.clone(), &config)?;
        let module = self.snapshots.modules.get(LEGAL);
        let address = |symbol: SymbolRef, got: bool| {
            let module = module?;
            let name = match symbol {
                SymbolRef::Func(func) => &module.functions.get(func)?.name,
                SymbolRef::Global(global) => &module.globals.get(global)?.name,
            };
            prepared.symbol(name, got)
        };
        let frame_bytes = |func: Func| {
            let found = self.finals.iter().find(|f| f.function.source == func);
            found.map_or(0, |f| f.function.resources.scratch_bytes)
        };
        let symbols = Symbols { address: &address, frame_bytes: &frame_bytes };
        let mut last: Option<(Step, Outcome, Box<Describe<'_>>)> = None;
        for step in STAGES
            .into_iter()
            .filter(|&step| !matches!(step, COMBINE | SCHEDULE) || self.options.opt_level > 0)
        {
            let ran = match step {
                READ | LEGAL => self.run_ir(step, &kernel.function, &address, &config),
                BYTES => match &refused {
                    Some(message) => {
                        let before = last.as_ref().map_or(READ, |l| l.0);
                        let change = Change::Refused(message.clone());
                        verdict.culprit.get_or_insert(Culprit { step, before, change });
                        Err(message.clone())
                    }
                    None => self.run_object(&strict).map(|outcome| -> (Outcome, Box<Describe<'_>>) {
                        (outcome, Box::new(|site| interpret::object::describe(&prepared, site)))
                    }),
                },
                _ => self.run_machine(step, &entry, &symbols, &config),
            };
            let (outcome, describe) = match ran {
                Ok(ran) => ran,
                Err(why) => {
                    verdict.stages.push((step, Ran::Not(why)));
                    continue;
                }
            };
            verdict.stages.push((step, outcome.stop.clone().map_or(Ran::Finished, Ran::Stopped)));
            if outcome.stop.as_ref().is_some_and(|stop| stop.kind == StopKind::Unsupported) {
                continue;
            }
            if let Some((before, old, old_describe)) = &last {
                let change = match (&old.stop, &outcome.stop) {
                    (None, None) => {
                        // Only IR as read leaves the results of some operations open.
                        let tolerance: &dyn Tolerance = match *before {
                            READ if old.approximate => &Nearly::APPROXIMATE,
                            READ => &Nearly::NANS,
                            _ => &Exact,
                        };
                        compare((old, &**old_describe), (&outcome, &*describe), tolerance).map(Change::Memory)
                    }
                    // A later stage executes more instructions for the same, but not any number of them.
                    (None, Some(stop))
                        if stop.kind == StopKind::Fuel
                            && old.instructions.saturating_mul(LONGER) > self.run.fuel =>
                    {
                        continue;
                    }
                    (None, Some(stop)) => Some(Change::Stopped(stop.clone())),
                    // What is wrong from the start is not for a step to answer for.
                    (Some(_), _) => None,
                };
                if let Some(change) = change {
                    verdict.culprit = Some(Culprit { step, before, change });
                    break;
                }
            }
            last = Some((step, outcome, describe));
        }
        Ok(verdict)
    }

    fn config(&self, checks: Checks) -> Config {
        Config { checks, seed: self.run.seed, budget: self.run.fuel, observe: true, ..Config::default() }
    }

    fn prepared<'c>(&'c self, memory: &mut Memory, config: &'c Config) -> mir::Result<Prepared<'c>> {
        Prepared::new(self.object, memory, self.run.dispatch, config, &self.target)
            .map_err(|report| Diagnostic::malformed(report.to_string()))
    }

    /// The bytes: first judged strictly, then once more with a record of the writers.
    fn run_object(&self, config: &Config) -> Result<Outcome, String> {
        let mut memory = self.run.memory.clone();
        let judged = sim::run_on(self.object, &mut memory, self.run.dispatch, config, &self.target);
        let mut memory = self.run.memory.clone();
        let prepared = self.prepared(&mut memory, config).map_err(|error| error.to_string())?;
        let mut outcome = interpret::object::run(&prepared, &mut memory, self.run.fuel);
        if let (Err(report), None) = (&judged, &outcome.stop) {
            let place = Description {
                function: report.kernel.clone(),
                block: report.pc.map_or_else(String::new, |pc| format!("at +0x{pc:x}")),
                instruction: report.instruction.clone().unwrap_or_default(),
            };
            let group = report.group.unwrap_or_default();
            outcome.stop =
                Some(interpret::object::stopped(report, group, report.wave.unwrap_or_default(), place));
        }
        Ok(outcome)
    }

    /// IR as read, or legal.
    fn run_ir<'s>(
        &'s self,
        step: Step,
        kernel: &machine::Function,
        address: &dyn Fn(SymbolRef, bool) -> Option<u64>,
        config: &Config,
    ) -> Result<(Outcome, Box<Describe<'s>>), String> {
        let module = self.snapshots.modules.get(step).ok_or("the step was not reached")?;
        let place = |f: &machine::Function, symbol: SymbolRef| match symbol {
            SymbolRef::Global(global) => {
                f.lds.globals.iter().find(|(g, _)| *g == global).map(|(_, offset)| u64::from(*offset))
            }
            SymbolRef::Func(_) => None,
        };
        let symbol = |user: Func, symbol: SymbolRef| {
            let of_user = self.finals.iter().find(|f| f.function.source == user);
            of_user
                .and_then(|f| place(&f.function, symbol))
                .or_else(|| place(kernel, symbol))
                .or_else(|| address(symbol, false))
        };
        let source = Source {
            module,
            legal: step == LEGAL,
            kernel: kernel.source,
            symbol: &symbol,
            implicit_offset: kernel.kernarg.implicit_offset,
        };
        let mut memory = self.run.memory.clone();
        let prepared = self.prepared(&mut memory, config).map_err(|error| error.to_string())?;
        let outcome = interpret::dispatch::run(&source, &prepared, &mut memory, self.run.fuel);
        Ok((outcome, Box::new(move |site| interpret::dispatch::describe(module, site))))
    }

    fn run_machine<'s>(
        &'s self,
        step: Step,
        entry: &KernelEntry,
        symbols: &Symbols<'_>,
        config: &Config,
    ) -> Result<(Outcome, Box<Describe<'s>>), String> {
        let functions: Vec<&machine::Function> = self
            .snapshots
            .functions
            .range((step, 0)..=(step, u32::MAX))
            .map(|(_, function)| function)
            .collect();
        if functions.is_empty() {
            return Err("the step was not reached".to_owned());
        }
        let module = self.snapshots.modules.get(LEGAL);
        let target_of = |f: &machine::Function| {
            let source = module.and_then(|module| module.functions.get(f.source));
            source
                .and_then(|source| self.options.function_target(&self.target, source).ok())
                .unwrap_or(self.target)
        };
        let program = Program::new(&functions, &target_of, symbols);
        let mut memory = self.run.memory.clone();
        let prepared = self.prepared(&mut memory, config).map_err(|error| error.to_string())?;
        let outcome = interpret::machine::run(&program, entry, &prepared, &mut memory, self.run.fuel);
        Ok((outcome, Box::new(move |site| program.describe(site))))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(difference) => difference.fmt(f),
            Self::Stopped(stop) => write_stop(f, stop),
            Self::Refused(message) => write!(f, "the code is refused: {message}"),
        }
    }
}

fn write_stop(f: &mut fmt::Formatter<'_>, stop: &Stop) -> fmt::Result {
    let Stop { message, group: [x, y, z], wave, place, .. } = stop;
    let Description { function, block, instruction } = place;
    write!(f, "{message}; in {function} {block}: {instruction}; wave {wave} of work-group ({x}, {y}, {z})")
}

impl fmt::Display for Culprit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} differs from {}: {}", self.step, self.before, self.change)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (step, ran) in &self.stages {
            write!(f, "{:22}", step)?;
            match ran {
                Ran::Finished => writeln!(f, "ran")?,
                Ran::Stopped(stop) => {
                    f.write_str("stopped: ")?;
                    write_stop(f, stop)?;
                    writeln!(f)?;
                }
                Ran::Not(why) => writeln!(f, "not run: {why}")?,
            }
        }
        match &self.culprit {
            Some(culprit) => write!(f, "{culprit}"),
            None if self.finished() < 2 => f.write_str("nothing to compare"),
            None => f.write_str("all stages that ran agree"),
        }
    }
}
