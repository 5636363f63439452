//! The form of a file: what it asks for, its input, and what it expects.

use super::run::Outcome;
use gcnc::CompileOptions;
use std::fmt::Write as _;

/// What is expected on some processors.
pub struct Expected {
    /// Empty means all.
    processors: Vec<String>,
    outcome: Outcome,
}

impl Expected {
    /// Whether `outcome` is what is expected; a message may say more.
    pub fn is_met_by(&self, outcome: &Outcome) -> bool {
        match (&self.outcome, outcome) {
            (Outcome::Text(expected), Outcome::Text(text)) => expected == text,
            (Outcome::Refused(expected), Outcome::Refused(message)) => message.contains(expected),
            _ => false,
        }
    }

    /// As a difference shows it.
    pub fn text(&self) -> String {
        self.outcome.text()
    }
}

/// A file that was read.
pub struct Case {
    /// Everything before the first expectation.
    head: String,
    /// Passes that run, in order; `verify` alone runs none.
    pub passes: Vec<String>,
    /// Processors, each a run of its own.
    pub processors: Vec<String>,
    /// Options besides processor and passes.
    pub options: CompileOptions,
    /// Words of which a line of the output must have one to be shown; none shows all lines but the usual
    /// ones, `all` really all.
    pub show: Vec<String>,
    /// The program, with its lines where they are in the file.
    pub input: String,
    expected: Vec<Expected>,
}

/// The first line of a block of expectations: whether it is a refusal, processors, and the message.
fn block(line: &str) -> Option<(bool, &str, &str)> {
    if let Some(rest) = line.strip_prefix("; expect") {
        return (rest.is_empty() || rest.starts_with(' ')).then_some((false, rest, ""));
    }
    let (processors, message) = line.strip_prefix("; error")?.split_once(": ")?;
    Some((true, processors, message))
}

fn words(text: &str) -> Vec<String> {
    text.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl Case {
    /// Reads a file.
    ///
    /// # Errors
    /// The line that is not understood, or what is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut case = Self {
            head: String::new(),
            passes: Vec::new(),
            processors: Vec::new(),
            options: CompileOptions { threads: 1, verify: true, ..CompileOptions::default() },
            show: Vec::new(),
            input: String::new(),
            expected: Vec::new(),
        };
        if !text.starts_with("; ") {
            return Err("the first line must say in a sentence what is tested".to_owned());
        }
        for line in text.lines() {
            if let Some((refused, processors, message)) = block(line) {
                let outcome = if refused { Outcome::Refused(message.to_owned()) } else { Outcome::default() };
                case.expected.push(Expected { processors: words(processors), outcome });
            } else if let Some(Expected { outcome, .. }) = case.expected.last_mut() {
                match outcome {
                    Outcome::Text(text) if !(text.is_empty() && line.is_empty()) => {
                        text.push_str(line);
                        text.push('\n');
                    }
                    Outcome::Refused(_) if !line.is_empty() => {
                        return Err(format!("behind the message: {line}"));
                    }
                    _ => {}
                }
            } else {
                case.head.push_str(line);
                case.head.push('\n');
                let is_directive = case.directive(line)?;
                case.input.push_str(if is_directive { "" } else { line });
                case.input.push('\n');
            }
        }
        for expected in &mut case.expected {
            if let Outcome::Text(text) = &mut expected.outcome {
                text.truncate(text.trim_end().len());
            }
        }
        if case.passes.is_empty() {
            return Err("no line `; run: PASS on PROCESSOR`".to_owned());
        }
        if case.processors.is_empty() {
            case.processors.push("gfx900".to_owned());
        }
        Ok(case)
    }

    /// Reads a line that says how to run; false where it is none.
    fn directive(&mut self, line: &str) -> Result<bool, String> {
        if let Some(rest) = line.strip_prefix("; run: ") {
            let (passes, processors) = rest.split_once(" on ").unwrap_or((rest, ""));
            self.passes = words(passes);
            self.processors = words(processors);
        } else if let Some(rest) = line.strip_prefix("; show: ") {
            self.show = rest.split(", ").map(str::to_owned).collect();
        } else if let Some(rest) = line.strip_prefix("; options: ") {
            for option in rest.split(' ') {
                let (name, value) = option.split_once('=').unwrap_or((option, ""));
                match name {
                    "-O0" => self.options.opt_level = 0,
                    "-O1" => self.options.opt_level = 1,
                    "-mtriple" => self.options.triple = value.to_owned(),
                    "-mattr" => self.options.attributes = words(value),
                    "-fp-contract" => self.options.contract_all = value == "fast",
                    _ => return Err(format!("unknown option {option}")),
                }
            }
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// What is expected on `cpu`: by name, else of all others.
    pub fn expected(&self, cpu: &str) -> Option<&Expected> {
        let named = self.expected.iter().find(|block| block.processors.iter().any(|name| name == cpu));
        named.or_else(|| self.expected.iter().find(|block| block.processors.is_empty()))
    }

    /// The file with these outcomes as its expectations, one for each processor: equal ones share a block.
    pub fn blessed(&self, outcomes: &[Outcome]) -> String {
        let mut text = format!("{}\n", self.head.trim_end());
        let mut blocks: Vec<(&Outcome, Vec<&str>)> = Vec::new();
        for (cpu, outcome) in self.processors.iter().zip(outcomes) {
            match blocks.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, processors)) => processors.push(cpu),
                None => blocks.push((outcome, vec![cpu])),
            }
        }
        let alone = blocks.len() == 1;
        for (outcome, processors) in blocks {
            let names = if alone { String::new() } else { format!(" {}", processors.join(" ")) };
            // Part of a message that is still there stays as it is.
            let kept = self.expected(processors[0]).filter(|expected| expected.is_met_by(outcome));
            let _ = match kept.map_or(outcome, |expected| &expected.outcome) {
                Outcome::Text(lines) => write!(text, "\n; expect{names}\n{}\n", lines.trim_end()),
                Outcome::Refused(message) => writeln!(text, "\n; error{names}: {message}"),
            };
        }
        text
    }
}
