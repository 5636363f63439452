//! Runs passes on the input of a file test, and shows what they leave.

use super::case::Case;
use super::waits;
use gcnc::options::{PassSet, Place};
use gcnc::pass::{Pass, Stage};
use gcnc::pipeline::PASSES;
use gcnc::{CompileOptions, compile_program};
use mir::text::{Program, parse_program, print_program};
use mir::{Diagnostic, ir, machine};
use std::collections::HashSet;
use std::fmt::Write as _;

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The text of the result.
    Text(String),
    /// The message.
    Refused(String),
}

impl Default for Outcome {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Outcome {
    /// As a difference shows it.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Refused(message) => format!("error: {message}"),
        }
    }
}

/// Runs a test on the processor called `cpu`.
///
/// # Errors
/// Where the file itself is wrong: passes that do not exist, input that cannot be read.
pub fn run(case: &Case, cpu: &str) -> Result<Outcome, String> {
    let mut options = CompileOptions { cpu: cpu.to_owned(), ..case.options.clone() };
    let passes = passes(case)?;
    let stage = passes.first().map(|pass| pass.needs);
    let target = options.target("amdgcn-amd-amdhsa", None).map_err(|error| error.to_string())?;
    let mut program = read(&waits::to_numbers(&case.input, &target), stage)?;
    if program.module.triple.is_empty() {
        program.module.triple = "amdgcn-amd-amdhsa".to_owned();
    }
    if let Err(error) = verify(&program, stage, &options) {
        return match stage {
            None => Ok(Outcome::Refused(error.to_string())),
            Some(_) => Err(format!("the input is wrong: {error}")),
        };
    }
    let (Some(first), Some(last)) = (passes.first(), passes.last()) else {
        return Ok(Outcome::Text("; verified".to_owned()));
    };
    let before = print_program(&program.module, &program.functions);
    options.start = Place::before(first.name);
    options.stop = if last.name == "write" { None } else { Place::after(last.name) };
    // The text of a program does not hold these.
    let printed = last.is_derived();
    if printed {
        options.print_after = PassSet { all: false, names: vec![last.name.to_owned()] };
    }
    let output = match compile_program(program, &options) {
        Ok(output) => output,
        Err(errors) => {
            return Ok(Outcome::Refused(errors.iter().map(|e| e.to_string()).collect::<Vec<_>>().join("; ")));
        }
    };
    let text = if printed {
        output.dump
    } else {
        String::from_utf8(output.bytes).map_err(|_| "the output is no text")?
    };
    let shown = match case.show.first().map(String::as_str) {
        Some("all") => text,
        Some(_) => text.lines().filter(|line| case.show.iter().any(|word| line.contains(word))).fold(
            String::new(),
            |mut shown, line| {
                let _ = writeln!(shown, "{line}");
                shown
            },
        ),
        None if printed || last.name == "write" => text,
        None => news(&before, &text),
    };
    let shown = if last.name == "write" { shown } else { waits::to_names(&shown, &target) };
    Ok(Outcome::Text(shown.trim_end().to_owned()))
}

/// The passes that a test runs, which must follow each other in the list; none where it only verifies.
fn passes(case: &Case) -> Result<&'static [Pass], String> {
    if case.passes == ["verify"] {
        return Ok(&[]);
    }
    let position = |name: &String| {
        PASSES.iter().position(|pass| pass.name == name).ok_or_else(|| format!("there is no pass {name}"))
    };
    let places = case.passes.iter().map(position).collect::<Result<Vec<_>, _>>()?;
    match places.as_slice() {
        [first, .., last] if places.windows(2).all(|pair| pair[0] + 1 == pair[1]) => {
            Ok(&PASSES[*first..=*last])
        }
        [first] => Ok(&PASSES[*first..=*first]),
        _ => Err("passes must follow each other as in `gcnc --list-passes`".to_owned()),
    }
}

/// Reads a program at `stage`, which titles of machine functions need not name. Where there is no module, one
/// is made up.
fn read(input: &str, stage: Option<Stage>) -> Result<Program, String> {
    let mut text = String::new();
    let mut has_module = false;
    for line in input.lines() {
        let title = line.strip_prefix("function ");
        let first = line.split(' ').next().unwrap_or_default();
        has_module |= matches!(first, "define" | "declare" | "global" | "triple" | "type");
        text.push_str(line);
        if let (Some(title), Some(Stage::Machine(stage))) = (title, stage) {
            let title = title.split(';').next().unwrap_or_default();
            let words = || title.split(", ").skip(1).map(str::trim);
            if !words().any(|word| machine::Stage::ALL.iter().any(|stage| stage.word() == word)) {
                text.truncate(text.len() - line.len());
                let _ = write!(text, "function {}, {}", title.trim_end(), stage.word());
            }
        }
        text.push('\n');
    }
    let place = |error: Box<Diagnostic>| {
        let line = error.location.as_ref().map_or(0, |location| location.line);
        format!("line {line}: {error}")
    };
    if has_module {
        return parse_program(&text, "test").map_err(place);
    }
    let mut functions = machine::parse_functions(&text, "test").map_err(place)?;
    let mut module = ir::Module::default();
    for function in &mut functions {
        function.source =
            module.functions.push(ir::Function::new(&*function.name, function.call_conv, ir::Type::Void));
    }
    Ok(Program { module, functions })
}

/// Checks a program that has come as far as `stage`, or where that is not known as its functions say.
fn verify(program: &Program, stage: Option<Stage>, options: &CompileOptions) -> Result<(), Box<Diagnostic>> {
    program.functions.iter().try_for_each(machine::verify)?;
    let module = &program.module;
    let Some(stage) = stage else { return Ok(()) };
    if matches!(stage, Stage::Machine(_)) {
        return Ok(());
    }
    let target = options.target(&module.triple, module.code_object_version_flag)?;
    for function in module.functions.values().filter(|function| !function.is_declaration()) {
        let check = if stage == Stage::Read { ir::verify } else { ir::verify_lowered };
        check(module, function).map_err(|errors| match errors.into_iter().next() {
            Some(error) => Box::new(error),
            None => Diagnostic::defect("refused without a reason"),
        })?;
        match stage {
            Stage::Read => {}
            Stage::Expanded => ir::legal::verify_expanded(function, &module.types, &target)?,
            _ => ir::legal::verify_legal(function, &module.types, &target)?,
        }
    }
    Ok(())
}

/// What `after` says that `before` does not: of machine functions the code and new lines of the header, of a
/// module all functions that differ and new lines outside of them.
fn news(before: &str, after: &str) -> String {
    let old: HashSet<&str> = before.lines().collect();
    let mut shown = String::new();
    let code =
        if after.starts_with("function ") { Some(0) } else { after.find("\nfunction ").map(|at| at + 1) };
    if let Some(code) = code {
        let mut in_header = false;
        for line in after[code..].lines().filter(|line| !line.is_empty()) {
            if line.starts_with("function ") {
                let words = line.split(", ");
                let kept = words.filter(|word| machine::Stage::ALL.iter().all(|s| s.word() != *word));
                shown.push_str(&kept.collect::<Vec<_>>().join(", "));
                shown.push('\n');
                in_header = true;
                continue;
            }
            in_header &= !line.starts_with("mbb");
            let usual = ["  args ", "  kernarg "].iter().any(|word| line.starts_with(word));
            if !in_header || !usual && !old.contains(line) {
                shown.push_str(line);
                shown.push('\n');
            }
        }
        return shown;
    }
    let mut function: Option<String> = None;
    for line in after.lines().filter(|line| !line.is_empty()) {
        let starts = line.starts_with("define ");
        match &mut function {
            Some(body) => {
                body.push_str(line);
                body.push('\n');
                if line == "}" {
                    if before.contains(body.as_str()) {
                        let title = body.lines().next().unwrap_or_default();
                        let _ = writeln!(shown, "; unchanged: {}", title.trim_end_matches(" {"));
                    } else {
                        let hidden =
                            |line: &&str| line.starts_with("constants ") || line.starts_with("tables ");
                        body.lines().filter(|line| !hidden(line)).for_each(|line| {
                            let _ = writeln!(shown, "{line}");
                        });
                    }
                    function = None;
                }
            }
            None if starts => function = Some(format!("{line}\n")),
            None if old.contains(line) || line.starts_with("triple ") => {}
            None => {
                let _ = writeln!(shown, "{line}");
            }
        }
    }
    shown
}
