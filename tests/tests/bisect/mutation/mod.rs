//! Code changed after one step: exactly that step must be named.
//!
//! A *kind* of mutation is a row of a table: the step after which it is done, what it breaks, and a function
//! that does it at a place of its choice. Each kind is tried at places of all kernels where it fits, one a
//! compilation, and the verdict of the bisection is compared with what the object that comes out of it does:
//!
//! * named: the bisection says that this step is at fault;
//! * without effect: it finds nothing, and the object leaves on all inputs the memory that the intact one
//!   leaves;
//! * by order: the object leaves other memory only if waves take their turns in another order, which is a
//!   race. No stage is looked at for those;
//! * missed: it finds nothing, but the object does something else; or it names another step. There must be
//!   none.
//!
//! An input on which the object does something else is one on which the bisection must name the step, even
//! where it does not on the first. The places tried are a sample that does not change from run to run; with
//! `GCNC_MUTANTS=all` they are all there are.

mod allocate;
mod linearise;
mod memory_model;
mod places;
mod select;

use super::{Input, KERNELS, NAMES, SHAPE_NAMES, SHAPES, alone, module, options};
use comfy_table::{CellAlignment, Table};
use gcnc::bisect::Step;
use gcnc::bisect::{Run, bisect};
use gcnc::{CompileOptions, FileType};
use gcnc::{Observer, Pass, compile_observed};
use mir::ir::Module;
use mir::machine::Function;
use places::Pick;
use rayon::prelude::*;
use sim::report::Checks;
use sim::{CodeObject, Config, Memory};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Changes a function at the place that is wanted, if that is among those where the mutation fits.
type Mutate = fn(&mut Function, &mut Pick);

/// A kind of mutation.
struct Kind {
    name: &'static str,
    /// The step after which code is changed.
    step: Step,
    /// What the change does to the code.
    breaks: &'static str,
    mutate: Mutate,
}

/// All kinds.
fn kinds() -> Vec<&'static Kind> {
    [select::KINDS, linearise::KINDS, memory_model::KINDS, allocate::KINDS].into_iter().flatten().collect()
}

/// Places of a kind that are tried.
const SAMPLE: usize = 24;

/// Inputs on which the object is run where the bisection finds nothing on the first.
const INPUTS: u64 = 5;

/// Most instructions of a stage; [`gcnc::bisect`] takes more for an endless loop where the intact code takes
/// fewer than a sixty-fourth of it.
const FUEL: u64 = 300_000;

/// A kernel for a processor, at a level of optimisation.
struct Case {
    name: &'static str,
    module: Module,
    options: CompileOptions,
    /// What the intact object leaves, by input.
    intact: Vec<Memory>,
    /// In how many places each kind fits.
    places: Vec<usize>,
}

/// Mutates code on its way through the compiler.
struct Mutator<'a> {
    mutant: Mutex<(&'a Kind, Pick)>,
}

impl Observer for Mutator<'_> {
    fn function(&self, pass: &'static Pass, function: &mut Function) {
        let (kind, pick) = &mut *self.mutant.lock().expect("no thread panics");
        if pass.name == kind.step {
            (kind.mutate)(function, pick);
        }
    }
}

/// Counts the places of all kinds.
struct Counter(Mutex<Vec<usize>>);

impl Observer for Counter {
    fn function(&self, pass: &'static Pass, function: &mut Function) {
        let mut counts = self.0.lock().expect("no thread panics");
        for (kind, count) in kinds().into_iter().zip(&mut *counts).filter(|(kind, _)| kind.step == pass.name)
        {
            let mut pick = Pick::none();
            (kind.mutate)(&mut function.clone(), &mut pick);
            *count += pick.seen;
        }
    }
}

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Fate {
    Named,
    WithoutEffect,
    ByOrder,
    Missed(String),
}

impl Case {
    fn new(name: &'static str, text: &Module, cpu: &str, level: u8) -> Self {
        // On one thread, so that places of several functions have an order.
        let options = CompileOptions { threads: 1, file_type: FileType::Obj, ..options(cpu, level) };
        let module = alone(text, name);
        let counter = Counter(Mutex::new(vec![0; kinds().len()]));
        let object = compile_observed(module.clone(), &options, Some(&counter)).expect("the kernel compiles");
        let mut case = Self {
            name,
            module,
            options,
            intact: Vec::new(),
            places: counter.0.into_inner().expect("no thread panics"),
        };
        case.intact = (1..=INPUTS).map(|n| case.run(&object.bytes, n, 0).expect("the kernel runs")).collect();
        case
    }

    fn label(&self) -> String {
        format!("{}, {}, -O{}", self.name, self.options.cpu, self.options.opt_level)
    }

    /// What an object leaves of an input. With a seed other than 0 waves take turns of random lengths.
    fn run(&self, bytes: &[u8], input: u64, seed: u64) -> Result<Memory, String> {
        let Input { mut memory, dispatch } = Input::new(self.name, input, 128);
        let object = CodeObject::load(bytes).map_err(|report| report.to_string())?;
        let checks = Checks::default().difference(Checks::UNDEF_STORE);
        let config = Config { checks, seed, budget: FUEL, threads: 1, ..Config::default() };
        sim::run(&object, &mut memory, &dispatch, &config).map_err(|report| report.to_string())?;
        Ok(memory)
    }

    /// What the bisection says to a mutant on an input: the step at fault, and everything in words.
    fn bisect(&self, kind: &Kind, place: usize, input: u64) -> (Option<Step>, String) {
        let Input { memory, dispatch } = Input::new(self.name, input, 128);
        let run = Run { dispatch: &dispatch, memory: &memory, seed: input, fuel: FUEL };
        let mut pick = Pick::nth(place);
        let mut damage = |step: Step, f: &mut Function| {
            if step == kind.step {
                (kind.mutate)(f, &mut pick);
            }
        };
        let verdict =
            bisect(&self.module, &self.options, &run, Some(&mut damage)).expect("the kernel compiles");
        (verdict.culprit.as_ref().map(|c| c.step), verdict.to_string())
    }

    fn fate(&self, kind: &Kind, place: usize) -> Fate {
        let named = |(step, text): (Option<Step>, String), why: &str| match step {
            Some(step) if step == kind.step => Fate::Named,
            _ => Fate::Missed(format!(
                "{} ({}), {}, place {place}: {why}{text}",
                kind.name,
                kind.step,
                self.label()
            )),
        };
        let first = self.bisect(kind, place, 1);
        if first.0.is_some() {
            return named(first, "");
        }
        let mutator = Mutator { mutant: Mutex::new((kind, Pick::nth(place))) };
        let object = match compile_observed(self.module.clone(), &self.options, Some(&mutator)) {
            Ok(output) => output.bytes,
            Err(errors) => return named((None, first.1), &format!("refused: {errors:?}\n")),
        };
        let differs = |input: u64, seed: u64| match self.run(&object, input, seed) {
            Ok(memory) if same(&memory, &self.intact[input as usize - 1]) => None,
            Ok(_) => Some("memory differs".to_owned()),
            Err(report) => Some(report),
        };
        if let Some((input, what)) = (1..=INPUTS).find_map(|n| Some((n, differs(n, 0)?))) {
            return named(self.bisect(kind, place, input), &format!("input {input}: {what}\n"));
        }
        if (1..=INPUTS).any(|n| differs(n, n).is_some()) {
            return Fate::ByOrder;
        }
        Fate::WithoutEffect
    }
}

/// Whether the buffers hold the same. The kernels leave nothing undefined.
fn same(a: &Memory, b: &Memory) -> bool {
    a.buffers()
        .zip(b.buffers())
        .all(|((x, _), (y, _))| a.bytes(x) == b.bytes(y) && a.undefined_bits(x) == b.undefined_bits(y))
}

/// `SAMPLE` of `all`, at even distances.
fn sample<T: Copy>(all: &[T]) -> Vec<T> {
    let wanted = if std::env::var("GCNC_MUTANTS").is_ok_and(|v| v == "all") { all.len() } else { SAMPLE };
    let count = wanted.min(all.len());
    (0..count).map(|k| all[k * all.len() / count]).collect()
}

#[test]
fn every_mutant_with_an_effect_is_named() {
    let kinds = kinds();
    let texts = [(module(KERNELS.as_bytes()), NAMES.as_slice()), (module(SHAPES.as_bytes()), &SHAPE_NAMES)];
    let wanted = texts.iter().flat_map(|(text, names)| {
        let targets = names.iter().flat_map(|name| ["gfx803", "gfx900"].map(|cpu| (*name, cpu)));
        targets.flat_map(|(name, cpu)| [0, 2].map(|level| (name, cpu, level))).map(move |case| (text, case))
    });
    let wanted: Vec<_> = wanted.collect();
    let cases: Vec<Case> =
        wanted.into_par_iter().map(|(text, (name, cpu, level))| Case::new(name, text, cpu, level)).collect();
    let mutants: Vec<(usize, &Case, usize)> = (0..kinds.len())
        .flat_map(|k| {
            let all: Vec<_> = cases
                .iter()
                .flat_map(|case| (0..case.places[k]).map(move |place| (k, case, place)))
                .collect();
            sample(&all)
        })
        .collect();
    let fates: Vec<(usize, Fate)> =
        mutants.par_iter().map(|&(k, case, place)| (k, case.fate(kinds[k], place))).collect();
    let mut of: BTreeMap<usize, [usize; 4]> = BTreeMap::new();
    let mut missed = Vec::new();
    for (k, fate) in fates {
        let column = match fate {
            Fate::Named => 0,
            Fate::WithoutEffect => 1,
            Fate::ByOrder => 2,
            Fate::Missed(what) => {
                missed.push(what);
                3
            }
        };
        of.entry(k).or_default()[column] += 1;
    }
    let (text, [named, without, by_order, lost]) = table(&kinds, &cases, &of);
    println!("{text}");
    let effective = named + lost;
    let percent = 100.0 * named as f64 / effective.max(1) as f64;
    println!(
        "{} kinds, {} mutants; named {named} of {effective} that have an effect ({percent:.1} %), {without} without effect, {by_order} by order",
        kinds.len(),
        named + without + by_order + lost,
    );
    assert!(kinds.len() >= 30);
    let silent: Vec<_> =
        (0..kinds.len()).filter(|k| of.get(k).is_none_or(|c| c[0] == 0)).map(|k| kinds[k].name).collect();
    assert!(missed.is_empty(), "{} mutants are missed:\n{}", missed.len(), missed.join("\n"));
    assert!(silent.is_empty(), "nobody names a mutant of {silent:?}");
}

/// A row a kind, and the sums of what became of the mutants.
fn table(kinds: &[&Kind], cases: &[Case], of: &BTreeMap<usize, [usize; 4]>) -> (String, [usize; 4]) {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header([
        "step",
        "kind",
        "breaks",
        "places",
        "tried",
        "named",
        "without effect",
        "by order",
        "missed",
    ]);
    let mut sums = [0; 4];
    for (k, kind) in kinds.iter().enumerate() {
        let places: usize = cases.iter().map(|case| case.places[k]).sum();
        let counts = of.get(&k).copied().unwrap_or_default();
        let tried: usize = counts.iter().sum();
        let words = [kind.step, kind.name, kind.breaks].map(str::to_owned);
        let numbers = [places, tried].into_iter().chain(counts).map(|n| n.to_string());
        table.add_row(words.into_iter().chain(numbers));
        (0..4).for_each(|i| sums[i] += counts[i]);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    (table.to_string(), sums)
}
