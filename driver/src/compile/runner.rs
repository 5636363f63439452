//! Runs passes one after the other: on the module, on its functions on several threads, on the program.

use super::{Errors, Form, Observer, Output, Refused, guarded, is_own, one};
use crate::check::{verify_ir, verify_machine};
use crate::dump::{describe, descriptors};
use crate::pass::{FunctionContext, ModuleContext, Pass, Run, Stage};
use crate::pipeline::PASSES;
use crate::stats::{FunctionStats, PassTimes};
use cranelift_entity::SecondaryMap;
use emit::FinalFunction;
use mir::interrupt::Watch;
use mir::ir::{self, CallConv, Func, Module, Type};
use mir::{Diagnostic, ErrorKind, Result};
use rayon::prelude::*;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::Instant;

/// A module with fewer instructions than this compiles on the caller's thread: waking others takes longer.
const PARALLEL_INSTS: usize = 200;

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
        for pass in passes.iter().filter(|pass| self.enabled(pass)) {
            let Run::Function(run) = pass.run else { continue };
            let cx = FunctionContext { module, func, target: &target, options, settings };
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

    /// Passes over each function, on as many threads as the options allow. Results are in the order of the
    /// module.
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
        let run = |(func, form): (Func, Form)| self.function(&PASSES[passes.clone()], module, func, form);
        let run = |body| {
            let _entered = self.cx.options.watch.as_ref().map(|watch| watch.enter());
            run(body)
        };
        let threads = self.cx.options.threads.min(MAX_THREADS);
        let insts = || bodies.iter().map(|&(f, _)| module.functions[f].insts.len()).sum::<usize>();
        let pool = self.cx.options.pool.as_ref();
        let compiled: Vec<Result<Compiled>> =
            if threads == 1 && pool.is_none() || bodies.len() <= 1 || insts() < PARALLEL_INSTS {
                bodies.into_iter().map(run).collect()
            } else if let Some(pool) = pool {
                pool.install(|| bodies.into_par_iter().map(run).collect())
            } else if threads == 0 {
                bodies.into_par_iter().map(run).collect()
            } else {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.min(bodies.len())).build();
                let pool = pool.map_err(|error| {
                    one(Diagnostic::limit(format!("cannot start {threads} threads: {error}")))
                })?;
                pool.install(|| bodies.into_par_iter().map(run).collect())
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

    pub(super) fn function(
        &self,
        passes: &'static [Pass],
        module: &Module,
        func: Func,
        form: Form,
    ) -> Result<Compiled> {
        let name = &module.functions[func].name;
        self.steps(passes, module, func, form).map_err(|error| error.in_function(name))
    }

    fn steps(
        &self,
        passes: &'static [Pass],
        module: &Module,
        func: Func,
        mut form: Form,
    ) -> Result<Compiled> {
        let ir = &module.functions[func];
        let target = self.cx.target_of(ir)?;
        let ModuleContext { options, settings, .. } = self.cx;
        let cx = FunctionContext { module, func, target: &target, options, settings };
        crate::prepare::check_attributes(&cx)?;
        let mut notes = Notes::new();
        for pass in passes.iter().filter(|pass| self.enabled(pass)) {
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
            }
            self.print(pass, "after", Some(&ir.name), &mut notes, || describe(&cx, &form));
        }
        let stats = match &form {
            Form::Final(f) => {
                Some(FunctionStats { times: notes.times, ..FunctionStats::new(f, self.cx.target) })
            }
            _ => None,
        };
        Ok(Compiled { form, dump: notes.dump, stats })
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

/// A function behind the passes that ran.
pub(super) struct Compiled {
    pub(super) form: Form,
    dump: String,
    stats: Option<FunctionStats>,
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
