//! What a pass is, and the check of their order.

use crate::callees::Callees;
use crate::options::CompileOptions;
use emit::FinalFunction;
use mir::analysis::Uniformity;
use mir::ir::{self, Func, Module};
use mir::target::Target;
use mir::{CodegenOptions, Result, machine};

/// How far a program has come. Each pass needs one stage and leaves the same or a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The module as read.
    Read,
    /// IR with legal types and operations; branches on constants and unreachable blocks may be left.
    Expanded,
    /// Legal IR: `mir::ir::legal`.
    Legal,
    /// Machine code; [`machine::Stage`] says which.
    Machine(machine::Stage),
    /// Functions with their bytes.
    Encoded,
    /// Kernels with descriptor and metadata.
    Described,
    /// A file.
    Written,
}

impl Stage {
    /// The stage in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Expanded => "expanded",
            Self::Legal => "legal",
            Self::Machine(stage) => stage.word(),
            Self::Encoded => "encoded",
            Self::Described => "described",
            Self::Written => "written",
        }
    }

    /// Position in the order of stages.
    const fn rank(self) -> u8 {
        match self {
            Self::Read => 0,
            Self::Expanded => 1,
            Self::Legal => 2,
            Self::Machine(stage) => 3 + stage as u8,
            Self::Encoded => 32,
            Self::Described => 33,
            Self::Written => 34,
        }
    }
}

/// What passes over a whole program know.
#[derive(Clone, Copy, Debug)]
pub struct ModuleContext<'a> {
    /// What the compilation is asked to do.
    pub options: &'a CompileOptions,
    /// The module's target.
    pub target: &'a Target,
    /// Targets that functions ask for.
    pub targets: &'a FunctionTargets,
    /// Settings of code generation.
    pub settings: &'a CodegenOptions,
}

impl ModuleContext<'_> {
    /// The target of one function, which may name a processor and features of its own.
    ///
    /// # Errors
    /// As [`CompileOptions::function_target`].
    pub fn target_of(&self, function: &ir::Function) -> Result<Target> {
        self.targets.of(function, self.target, self.options)
    }
}

/// What the functions of a module ask for by attributes, each list of features read once.
#[derive(Clone, Debug, Default)]
pub struct FunctionTargets {
    /// `"target-cpu"`, `"target-features"`, and the target before the module's settings.
    rows: Vec<(Option<String>, Option<String>, Target)>,
}

impl FunctionTargets {
    /// More lists than this are read again: a search through them would take as long.
    const ROWS: usize = 16;

    /// Reads the attributes of the functions with bodies. Those that are refused are left out.
    pub fn new(module: &ir::Module, base: &Target, options: &CompileOptions) -> Self {
        let mut out = Self::default();
        for function in module.functions.values().filter(|f| !f.is_declaration()) {
            let (cpu, features) = Self::attributes(function);
            if cpu.is_none() && features.is_none() || out.find(cpu, features).is_some() {
                continue;
            }
            if let Ok(target) = options.function_target(base, function) {
                out.rows.push((cpu.map(str::to_owned), features.map(str::to_owned), target));
            }
            if out.rows.len() == Self::ROWS {
                break;
            }
        }
        out
    }

    fn attributes(function: &ir::Function) -> (Option<&str>, Option<&str>) {
        (function.attribute("target-cpu"), function.attribute("target-features"))
    }

    fn find(&self, cpu: Option<&str>, features: Option<&str>) -> Option<&Target> {
        self.rows.iter().find(|row| row.0.as_deref() == cpu && row.1.as_deref() == features).map(|row| &row.2)
    }

    /// The target of `function`, `base` being the module's.
    ///
    /// # Errors
    /// As [`CompileOptions::function_target`].
    pub fn of(&self, function: &ir::Function, base: &Target, options: &CompileOptions) -> Result<Target> {
        let (cpu, features) = Self::attributes(function);
        match self.find(cpu, features) {
            Some(target) => Ok(*target),
            None => options.function_target(base, function),
        }
    }
}

/// What passes over one function know.
#[derive(Clone, Copy, Debug)]
pub struct FunctionContext<'a> {
    /// The module. While an IR pass runs, the function it works on is taken out of it.
    pub module: &'a Module,
    /// The function.
    pub func: Func,
    /// The function's own target.
    pub target: &'a Target,
    /// What the compilation is asked to do.
    pub options: &'a CompileOptions,
    /// Settings of code generation.
    pub settings: &'a CodegenOptions,
    /// What calls of functions change that have been compiled before.
    pub callees: &'a Callees,
}

impl FunctionContext<'_> {
    /// The function in its module; while an IR pass runs, an empty one.
    pub fn ir(&self) -> &ir::Function {
        &self.module.functions[self.func]
    }
}

/// What a pass does, by what it works on.
#[derive(Clone, Copy)]
pub enum Run {
    /// IR of the whole module.
    Module(fn(&mut Module, &ModuleContext<'_>) -> Result<()>),
    /// IR of one function.
    Function(fn(&mut ir::Function, &FunctionContext<'_>) -> Result<()>),
    /// Which values of a function differ between lanes.
    Analysis(fn(&FunctionContext<'_>) -> Uniformity),
    /// From IR to machine code.
    Select(fn(&FunctionContext<'_>, &Uniformity) -> Result<machine::Function>),
    /// Machine code of one function.
    Machine(fn(&mut machine::Function, &FunctionContext<'_>) -> Result<()>),
    /// From machine code to bytes.
    Encode(fn(machine::Function, &FunctionContext<'_>) -> Result<FinalFunction>),
    /// One function with its bytes.
    Final(fn(&mut FinalFunction, &FunctionContext<'_>) -> Result<()>),
    /// All functions with their bytes.
    Program(fn(&mut [FinalFunction], &Module, &ModuleContext<'_>) -> Result<()>),
    /// The file.
    Write(fn(&[FinalFunction], &Module, &ModuleContext<'_>) -> Result<Vec<u8>>),
}

impl Run {
    /// Passes of a lower number come before those of a higher one; IR passes of both kinds alternate.
    const fn rank(&self) -> u8 {
        match self {
            Self::Module(_) | Self::Function(_) => 0,
            Self::Analysis(_) => 1,
            Self::Select(_) => 2,
            Self::Machine(_) => 3,
            Self::Encode(_) => 4,
            Self::Final(_) => 5,
            Self::Program(_) => 6,
            Self::Write(_) => 7,
        }
    }
}

/// An entry of the list of passes.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Name on the command line and in messages.
    pub name: &'static str,
    /// Stage that it needs.
    pub needs: Stage,
    /// Stage that it leaves.
    pub leaves: Stage,
    /// Runs from this optimisation level on.
    pub from_level: u8,
    /// What it does.
    pub run: Run,
}

impl Pass {
    /// A pass that runs at all levels.
    pub const fn new(name: &'static str, needs: Stage, leaves: Stage, run: Run) -> Self {
        Self { name, needs, leaves, from_level: 0, run }
    }

    /// A pass that only optimises.
    pub const fn optimisation(name: &'static str, stage: Stage, run: Run) -> Self {
        Self { name, needs: stage, leaves: stage, from_level: 1, run }
    }

    /// The same, from a higher level on: what costs more to compile.
    pub const fn from_level(mut self, level: u8) -> Self {
        self.from_level = level;
        self
    }

    /// Whether it works on machine code, or on what is made of it.
    pub const fn is_machine(&self) -> bool {
        self.run.rank() > 0
    }

    /// Whether the text of a program does not hold what the pass makes, so that a compilation that starts
    /// behind it runs it again.
    pub const fn is_derived(&self) -> bool {
        matches!(self.run, Run::Analysis(_) | Run::Encode(_) | Run::Final(_) | Run::Program(_))
    }
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A reason why one pass comes after another besides the stages: `(first, then, why)`.
pub type Constraint = (&'static str, &'static str, &'static str);

/// Refuses a list of passes whose order is wrong, when the compiler is compiled: the message is the name of
/// the pass that is out of place.
///
/// Each pass must need the stage that the one before leaves and not go back; names are unique; IR comes
/// before machine code, and that before bytes; `constraints` name passes that exist, in the right order.
pub const fn check_order(passes: &[Pass], constraints: &[Constraint]) {
    let mut i = 0;
    while i < passes.len() {
        let pass = &passes[i];
        let (needs, kind) =
            if i == 0 { (Stage::Read, 0) } else { (passes[i - 1].leaves, passes[i - 1].run.rank()) };
        if pass.needs.rank() != needs.rank()
            || pass.leaves.rank() < pass.needs.rank()
            || pass.run.rank() < kind
            || position(passes, pass.name) != i
        {
            panic!("{}", pass.name);
        }
        i += 1;
    }
    let mut i = 0;
    while i < constraints.len() {
        let (first, then, _) = constraints[i];
        let (a, b) = (position(passes, first), position(passes, then));
        if b == passes.len() || a >= b {
            panic!("{}", then);
        }
        i += 1;
    }
}

/// Place of the pass called `name`; the length of the list where there is none.
pub const fn position(passes: &[Pass], name: &str) -> usize {
    let mut i = 0;
    while i < passes.len() && !same(passes[i].name.as_bytes(), name.as_bytes()) {
        i += 1;
    }
    i
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{CONSTRAINTS, PASSES};

    fn refusal(passes: &[Pass]) -> Option<String> {
        let checked = std::panic::catch_unwind(|| check_order(passes, CONSTRAINTS));
        checked.err().map(|payload| payload.downcast_ref::<String>().cloned().unwrap_or_default())
    }

    #[test]
    fn a_pass_in_the_wrong_place_is_refused_by_name() {
        assert_eq!(refusal(PASSES), None);
        // Any neighbours of different stages, and any that a constraint names, must not be exchanged.
        let mut refused = 0;
        for i in 1..PASSES.len() {
            let mut passes = PASSES.to_vec();
            passes.swap(i - 1, i);
            if let Some(name) = refusal(&passes) {
                assert!([PASSES[i - 1].name, PASSES[i].name].contains(&&*name), "{name} at {i}");
                refused += 1;
            }
        }
        assert!(refused > PASSES.len() / 2, "{refused} of {}", PASSES.len());
        for i in 0..PASSES.len() {
            let mut passes = PASSES.to_vec();
            passes.insert(0, passes[i]);
            assert!(refusal(&passes).is_some(), "{:?} twice", PASSES[i]);
        }
    }
}
