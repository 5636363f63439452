//! Runs passes one after the other: on the module, on its functions on several threads, on the program.

use super::{Errors, Form, Observer, Output, Refused, guarded, is_own, one};
use crate::callees::{self, Callees, Levels};
use crate::check::{verify_ir, verify_machine};
use crate::dump::{describe, descriptors};
use crate::pass::{FunctionContext, ModuleContext, Pass, Run, Stage, position};
use crate::pipeline::PASSES;
use crate::stats::{FunctionStats, PassTimes};
use cranelift_entity::SecondaryMap;
use emit::FinalFunction;
use lower::changes::Changes;
use mir::interrupt::Watch;
use mir::ir::{self, CallConv, Func, Module, Type};
use mir::machine::{self, RegSet};
use mir::{Diagnostic, ErrorKind, Result};
use rayon::prelude::*;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::Instant;

/// A module with fewer instructions than this compiles on the caller's thread: waking others takes longer.
const PARALLEL_INSTS: usize = 200;

/// Where calls learn what their callees change.
const NOTE_CALLEES: usize = position(PASSES, "note-callees");

/// The last pass that makes instructions which write registers.
const LAST_CHANGE: usize = position(PASSES, "lower-branches");

/// Most threads of a pool. More than any machine has use for, and few enough that a process may have them.
const MAX_THREADS: usize = 256;

pub(super) struct Runner<'a> {
    pub(super) cx: ModuleContext<'a>,
    pub(super) observer: Option<&'a dyn Observer>,
}

/// What passes leave beside their results.
struct Notes {
    dump: String,
    times: PassTimes,
    /// When the pass before ended.
    last: Instant,
}

impl Notes {
    fn new() -> Self {
        Self { dump: String::new(), times: PassTimes::default(), last: Instant::now() }
    }

    /// Keeps what was done since the last pass, such as printing, out of the time of the next.
    fn resume(&mut self) {
        self.last = Instant::now();
    }
}

impl Runner<'_> {
    fn watch(&self) -> Option<&Watch> {
        self.cx.options.watch.as_ref()
    }

    fn enabled(&self, pass: &Pass) -> bool {
        self.cx.options.opt_level >= pass.from_level
    }

    /// IR passes. Neighbours that go over functions run one after the other on each function. Gives the time
    /// spent on each function.
    pub(super) fn ir_passes(
        &self,
        passes: Range<usize>,
        module: &mut Module,
        output: &mut Output,
        refused: &mut Refused,
    ) -> Result<SecondaryMap<Func, PassTimes>> {
        let mut notes = Notes::new();
        let mut times: SecondaryMap<Func, PassTimes> = SecondaryMap::new();
        let mut at = passes.start;
        while at < passes.end {
            let mut last = &PASSES[at];
            if let Run::Module(run) = last.run {
                if self.enabled(last) {
                    self.print(last, "before", None, &mut notes, || module.to_string());
                    notes.resume();
                    timed(last, &mut notes, self.watch(), || run(module, &self.cx))?;
                    self.print(last, "after", None, &mut notes, || module.to_string());
                    self.verify_module(last, module)?;
                }
                at += 1;
            } else {
                let of_functions = |pass: &&Pass| matches!(pass.run, Run::Function(_));
                let end = at + PASSES[at..passes.end].iter().take_while(of_functions).count();
                let funcs: Vec<Func> = module.functions.keys().collect();
                for func in funcs {
                    if module.functions[func].is_declaration() {
                        continue;
                    }
                    let mut of_function = Notes::new();
                    if let Err(error) = self.ir_function(&PASSES[at..end], module, func, &mut of_function) {
                        if matches!(error.kind, ErrorKind::Interrupted(_)) {
                            return Err(error);
                        }
                        module.functions[func].layout.clear();
                        refused.push((func, error));
                    }
                    notes.dump.push_str(&of_function.dump);
                    times[func].append(of_function.times);
                }
                last = &PASSES[end.max(at + 1) - 1];
                at = end.max(at + 1);
            }
            if let Some(observer) = self.observer {
                observer.module(last, module);
                // It may have changed what was verified.
                self.verify_module(last, module)?;
            }
        }
        output.dump.push_str(&notes.dump);
        output.times.add_all(&notes.times);
        Ok(times)
    }

    fn ir_function(
        &self,
        passes: &'static [Pass],
        module: &mut Module,
        func: Func,
        notes: &mut Notes,
    ) -> Result<()> {
        let empty = ir::Function::new(String::new(), CallConv::Device, Type::Void);
        let mut function = std::mem::replace(&mut module.functions[func], empty);
        let name = function.name.clone();
        let target = self.cx.target_of(&function)?;
        let ModuleContext { options, settings, .. } = self.cx;
        let callees = Callees::default();
        for pass in passes.iter().filter(|pass| self.enabled(pass)) {
            let Run::Function(run) = pass.run else { continue };
            let callees = &callees;
            let cx = FunctionContext { module, func, target: &target, options, settings, callees };
            self.print(pass, "before", Some(&function.name), notes, || function.display(module).to_string());
            if let Err(error) = timed(pass, notes, self.watch(), || run(&mut function, &cx)) {
                // Others may still refer to it, and are looked at for errors of their own.
                module.functions[func] = function;
                return Err(error.in_function(&name));
            }
            self.print(pass, "after", Some(&function.name), notes, || function.display(module).to_string());
            if options.verify {
                verify_ir(pass, module, &function, &target)?;
                notes.resume();
            }
        }
        module.functions[func] = function;
        Ok(())
    }

    fn verify_module(&self, pass: &Pass, module: &Module) -> Result<()> {
        if self.cx.options.verify {
            for function in module.functions.values().filter(|f| !f.is_declaration()) {
                verify_ir(pass, module, function, &self.cx.target_of(function)?)?;
            }
        }
        Ok(())
    }

    /// Passes over each function, on as many threads as the options allow, callees before their callers where what they change is asked for.
    /// Results are in the order of the module.
    pub(super) fn function_passes(
        &self,
        passes: Range<usize>,
        module: &Module,
        bodies: Vec<(Func, Form)>,
        output: &mut Output,
        refused: &mut Refused,
    ) -> Result<Vec<Form>, Errors> {
        let (had_refused, funcs) =
            (!refused.is_empty(), bodies.iter().map(|body| body.0).collect::<Vec<_>>());
        let noted = passes.contains(&NOTE_CALLEES) && self.enabled(&PASSES[NOTE_CALLEES]);
        let levels = if noted { callees::levels(module, &bodies) } else { None };
        let compiled = match levels {
            Some(levels) => self.by_levels(passes, module, bodies, levels)?,
            None => {
                let sweep = Sweep { passes, module, callees: &Callees::default() };
                let bodies = bodies.into_iter().map(|(func, form)| (func, form, false)).collect();
                self.sweep(&sweep, bodies, &mut None)?
            }
        };
        let mut forms = Vec::with_capacity(compiled.len());
        for (func, result) in funcs.into_iter().zip(compiled) {
            match result {
                Ok(function) => {
                    output.dump.push_str(&function.dump);
                    output.functions.extend(function.stats);
                    forms.push(function.form);
                }
                // What a refused function leaves missing may look like a defect.
                Err(error) if had_refused && !is_own(&error) => {}
                Err(error) => refused.push((func, error)),
            }
        }
        Ok(forms)
    }

    /// [`Self::sweep`] level by level. Which functions run at the same time makes no difference: what is known of callees is that of levels before.
    fn by_levels(
        &self,
        passes: Range<usize>,
        module: &Module,
        bodies: Vec<(Func, Form)>,
        Levels { levels, called, owned }: Levels,
    ) -> Result<Vec<Result<Compiled>>, Errors> {
        let mut callees = Callees::default();
        bodies.iter().zip(owned).filter(|body| body.1).for_each(|body| callees.own(body.0.0));
        let mut pool = None;
        let mut bodies: Vec<Option<(Func, Form)>> = bodies.into_iter().map(Some).collect();
        let mut compiled: Vec<Option<Result<Compiled>>> = bodies.iter().map(|_| None).collect();
        for level in levels {
            let take = |&i: &usize| bodies[i].take().map(|(func, form)| (func, form, called[i]));
            let of_level: Vec<(Func, Form, bool)> = level.iter().filter_map(take).collect();
            let funcs: Vec<Func> = of_level.iter().map(|body| body.0).collect();
            let sweep = Sweep { passes: passes.clone(), module, callees: &callees };
            let done = self.sweep(&sweep, of_level, &mut pool)?;
            for ((i, func), done) in level.into_iter().zip(funcs).zip(done) {
                // Callers of a function that is refused have the convention.
                callees.insert(func, done.as_ref().ok().and_then(|done| done.changes));
                compiled[i] = Some(done);
            }
        }
        Ok(compiled.into_iter().flatten().collect())
    }

    /// Passes over functions of which none waits for another, each with whether what it changes is asked for. `pool` is kept from sweep to sweep.
    fn sweep(
        &self,
        sweep: &Sweep<'_>,
        bodies: Vec<(Func, Form, bool)>,
        pool: &mut Option<rayon::ThreadPool>,
    ) -> Result<Vec<Result<Compiled>>, Errors> {
        let run = |(func, form, called)| {
            let _entered = self.cx.options.watch.as_ref().map(|watch| watch.enter());
            self.function(sweep, func, form, called)
        };
        let threads = self.cx.options.threads.min(MAX_THREADS);
        let insts = || bodies.iter().map(|body| sweep.module.functions[body.0].insts.len()).sum::<usize>();
        let given = self.cx.options.pool.as_ref();
        if threads == 1 && given.is_none() || bodies.len() <= 1 || insts() < PARALLEL_INSTS {
            return Ok(bodies.into_iter().map(run).collect());
        }
        if let Some(given) = given {
            return Ok(given.install(|| bodies.into_par_iter().map(run).collect()));
        }
        if threads == 0 {
            return Ok(bodies.into_par_iter().map(run).collect());
        }
        let pool = match pool {
            Some(pool) => pool,
            None => {
                let new = rayon::ThreadPoolBuilder::new().num_threads(threads.min(bodies.len())).build();
                pool.insert(new.map_err(|error| {
                    one(Diagnostic::limit(format!("cannot start {threads} threads: {error}")))
                })?)
            }
        };
        Ok(pool.install(|| bodies.into_par_iter().map(run).collect()))
    }

    /// Passes over one function; `called`: what it changes is asked for.
    pub(super) fn function(
        &self,
        sweep: &Sweep<'_>,
        func: Func,
        form: Form,
        called: bool,
    ) -> Result<Compiled> {
        let name = &sweep.module.functions[func].name;
        self.steps(sweep, func, form, called).map_err(|error| error.in_function(name))
    }

    fn steps(&self, sweep: &Sweep<'_>, func: Func, mut form: Form, called: bool) -> Result<Compiled> {
        let &Sweep { ref passes, module, callees } = sweep;
        let ir = &module.functions[func];
        let target = self.cx.target_of(ir)?;
        let ModuleContext { options, settings, .. } = self.cx;
        let cx = FunctionContext { module, func, target: &target, options, settings, callees };
        crate::prepare::check_attributes(&cx)?;
        let mut notes = Notes::new();
        let mut changes = Changes::default();
        for pass in PASSES[passes.clone()].iter().filter(|pass| self.enabled(pass)) {
            self.print(pass, "before", Some(&ir.name), &mut notes, || describe(&cx, &form));
            form = timed(pass, &mut notes, self.watch(), || step(pass, &cx, form))?;
            if let Form::Machine(f) = &mut form {
                if let Stage::Machine(stage) = pass.leaves {
                    f.stage = stage;
                }
                if let Some(observer) = self.observer {
                    observer.function(pass, f);
                }
                if options.verify {
                    verify_machine(pass, f)?;
                    notes.resume();
                }
                if called && settles_changes(pass) {
                    changes.note(f);
                }
            }
            self.print(pass, "after", Some(&ir.name), &mut notes, || describe(&cx, &form));
        }
        let stats = match &form {
            Form::Final(f) => {
                Some(FunctionStats { times: notes.times, ..FunctionStats::new(f, self.cx.target) })
            }
            _ => None,
        };
        let changes = if called { self.changes(passes.end, &cx, &form, changes) } else { None };
        Ok(Compiled { form, dump: notes.dump, stats, changes })
    }

    /// What calls of a function change that has come as far as the pass `next`, `seen` being what was written on the way. Where compilation stops
    /// before it is known, a copy goes all the way, so that callers are compiled as ever.
    fn changes(
        &self,
        next: usize,
        cx: &FunctionContext<'_>,
        form: &Form,
        mut seen: Changes,
    ) -> Option<RegSet> {
        let f = form.machine()?;
        if next > LAST_CHANGE {
            return seen.of(f);
        }
        let mut copy = Form::Machine(Box::new(f.clone()));
        for pass in PASSES[next..=LAST_CHANGE].iter().filter(|pass| self.enabled(pass)) {
            copy = guarded(pass.name, || step(pass, cx, copy)).ok()?;
            if let (Form::Machine(f), Stage::Machine(stage)) = (&mut copy, pass.leaves) {
                f.stage = stage;
                if settles_changes(pass) {
                    seen.note(f);
                }
            }
        }
        seen.of(copy.machine()?)
    }

    pub(super) fn program_passes(
        &self,
        passes: Range<usize>,
        module: &Module,
        finals: &mut [FinalFunction],
        output: &mut Output,
    ) -> Result<Vec<u8>> {
        let mut bytes = None;
        // What these passes make is derived from the text.
        let text = (passes.end < PASSES.len())
            .then(|| mir::text::print_program(module, finals.iter().map(|f| &f.function)).into_bytes());
        let mut notes = Notes::new();
        for pass in &PASSES[passes] {
            match pass.run {
                Run::Program(run) => timed(pass, &mut notes, self.watch(), || run(finals, module, &self.cx))?,
                Run::Write(run) => {
                    bytes = Some(timed(pass, &mut notes, self.watch(), || run(finals, module, &self.cx))?)
                }
                _ => return Err(Diagnostic::defect(format!("{} is not a pass over the program", pass.name))),
            }
            self.print(pass, "after", None, &mut notes, || descriptors(finals));
        }
        output.dump.push_str(&notes.dump);
        output.times.add_all(&notes.times);
        Ok(text.or(bytes).unwrap_or_default())
    }

    /// Prints `text` where the options ask for it.
    fn print(
        &self,
        pass: &Pass,
        when: &str,
        function: Option<&str>,
        notes: &mut Notes,
        text: impl FnOnce() -> String,
    ) {
        let options = self.cx.options;
        let printed = if when == "before" { &options.print_before } else { &options.print_after };
        if printed.covers(pass.name) && function.is_none_or(|name| options.prints_function(name)) {
            let name = function.unwrap_or("the module");
            let _ = writeln!(notes.dump, "; {name} {when} {}\n{}", pass.name, text().trim_end());
            notes.resume();
        }
    }
}

/// Passes over functions, and what all of them know.
pub(super) struct Sweep<'a> {
    pub(super) passes: Range<usize>,
    pub(super) module: &'a Module,
    pub(super) callees: &'a Callees,
}

/// A function behind the passes that ran.
pub(super) struct Compiled {
    pub(super) form: Form,
    dump: String,
    stats: Option<FunctionStats>,
    /// What calls of it change, where that is asked for and known.
    changes: Option<RegSet>,
}

/// Whether the code behind `pass` is looked at for what it changes: while tuples and clobbers are named, and when all instructions are there.
fn settles_changes(pass: &Pass) -> bool {
    pass.needs != pass.leaves
        && matches!(pass.leaves, Stage::Machine(machine::Stage::Waited | machine::Stage::Final))
}

/// Runs one pass on a function.
fn step(pass: &Pass, cx: &FunctionContext<'_>, form: Form) -> Result<Form> {
    Ok(match (&pass.run, form) {
        (Run::Analysis(run), Form::Ir) => Form::Analysed(Box::new(run(cx))),
        (Run::Select(run), Form::Analysed(uniformity)) => Form::Machine(Box::new(run(cx, &uniformity)?)),
        (Run::Machine(run), Form::Machine(mut f)) => {
            run(&mut f, cx)?;
            Form::Machine(f)
        }
        (Run::Encode(run), Form::Machine(f)) => Form::Final(Box::new(run(*f, cx)?)),
        (Run::Final(run), Form::Final(mut f)) => {
            run(&mut f, cx)?;
            Form::Final(f)
        }
        _ => return Err(Diagnostic::malformed(format!("the function has not come as far as {}", pass.name))),
    })
}

/// Runs `body` in the name of `pass`.
fn timed<T>(
    pass: &Pass,
    notes: &mut Notes,
    watch: Option<&Watch>,
    body: impl FnOnce() -> Result<T>,
) -> Result<T> {
    watch.map_or(Ok(()), Watch::check).map_err(Diagnostic::interrupted)?;
    let result = guarded(pass.name, body);
    // One reading a pass: a clock costs as much as a short pass over a small function.
    let now = Instant::now();
    // Each pass runs once on what the notes are about.
    notes.times.push(pass.name, now - notes.last);
    notes.last = now;
    result
}
