//! Programs that are compiled, run on the simulator and made smaller where they go wrong.

use super::options;
use crate::measure::Compiler;
use crate::opt;
use crate::toolchain::Machine;
use sim::{Checks, CodeObject};

/// What is wrong.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The compiler does not take it.
    Refused(String),
    /// The simulator stops.
    Stopped(sim::Kind, String),
    /// Another result.
    Wrong(String),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Refused(text) | Self::Stopped(_, text) | Self::Wrong(text)) = self;
        f.write_str(text)
    }
}

impl Problem {
    /// Whether both are of one kind, and a smaller program with the one tells of the other.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stopped(a, _), Self::Stopped(b, _)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// The code object of `text`.
pub fn build(text: &str, compiler: Compiler, machine: Machine<'_>, level: u8) -> Result<CodeObject, String> {
    if let Compiler::Llc = compiler {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        return super::build(text, scratch.path(), compiler, machine, level);
    }
    let output = gcnc::compile(text.as_bytes(), "random", &options(machine, level, 4))
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    CodeObject::load(&output.bytes).map_err(|report| report.to_string())
}

/// Whether a pass at `-O2` changes the program `text`.
///
/// # Errors
/// A refusal of the compiler, as text.
#[cfg(test)]
pub fn is_changed(text: &str, machine: Machine<'_>, pass: &str) -> Result<bool, String> {
    let stop = |stop: Option<gcnc::Place>| {
        let options = gcnc::CompileOptions {
            stop: Some(stop.ok_or_else(|| format!("there is no pass {pass}"))?),
            threads: 1,
            ..machine.options(2)
        };
        let output = gcnc::compile(text.as_bytes(), "random", &options)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        Ok::<_, String>(output.bytes)
    };
    Ok(stop(gcnc::Place::before(pass))? != stop(gcnc::Place::after(pass))?)
}

/// Bytes, the lowest first, as a number.
pub fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

/// A program whose results are known.
pub trait Judged: Sized {
    /// LLVM IR.
    fn text(&self) -> String;

    /// Runs kernel `k` of `object`, with `checks` besides those for results.
    ///
    /// # Errors
    /// The first problem.
    fn judge(&self, object: &CodeObject, checks: Checks) -> Result<(), Problem>;

    /// The smallest program found for which `fails` still holds, which holds for this one.
    fn reduce(&self, fails: &dyn Fn(&Self) -> bool) -> Self;

    /// Compiles the program, after `passes` of opt where they are given, and runs it. Where opt fails, all is well.
    ///
    /// # Errors
    /// The first problem.
    fn check(
        &self,
        compiler: Compiler,
        machine: Machine<'_>,
        level: u8,
        passes: Option<&str>,
    ) -> Result<(), Problem> {
        let mut text = self.text();
        if let Some(passes) = passes {
            text = match opt::run(&text, passes) {
                Ok(text) => text,
                Err(_) => return Ok(()),
            };
        }
        let checks = match compiler {
            // What llc's code is wrong about between waves and on GFX10.1 is known (docs/llc-findings.md); it is to judge results.
            Compiler::Llc => Checks::default() - Checks::RACE - Checks::HAZARD,
            Compiler::Gcnc => Checks::default() | Checks::RACE_GLOBAL,
        };
        self.judge(&build(&text, compiler, machine, level).map_err(Problem::Refused)?, checks)
    }

    /// Checks the program of a seed: the first of `levels` at which it goes wrong, with a smaller program that does, too.
    ///
    /// # Errors
    /// What is wrong.
    fn check_levels(
        &self,
        seed: u64,
        compiler: Compiler,
        machine: Machine<'_>,
        levels: &[u8],
        passes: Option<&str>,
    ) -> Result<(), String> {
        for &level in levels {
            let Err(problem) = self.check(compiler, machine, level, passes) else { continue };
            let least = self.reduce(&|smaller| {
                let found = smaller.check(compiler, machine, level, passes);
                found.is_err_and(|found| found.is_like(&problem))
            });
            let problem = least.check(compiler, machine, level, passes).err().unwrap_or(problem);
            let passes = passes.map_or_else(String::new, |passes| format!(" after {passes}"));
            return Err(format!("seed {seed} {machine} -O{level}{passes}: {problem}\n{}", least.text()));
        }
        Ok(())
    }
}
