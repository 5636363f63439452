//! Random pipelines of LLVM's passes: code of other shapes, with the same meaning.
//!
//! Generators write what they think of; passes that rotate, unswitch, peel and thread jumps make of it what
//! they did not think of. What opt is wrong about would be a difference too, so a finding with passes is
//! compared with llc's code before anybody looks for it in gcnc.

use crate::toolchain;
use fastrand::Rng;
use std::process::Command;

/// LLVM's optimiser.
const OPT: &str = "opt-22";

/// Passes over functions, and pieces of pipelines that belong together.
const PASSES: &[&str] = &[
    "adce",
    "break-crit-edges",
    "callsite-splitting",
    "correlated-propagation",
    "dfa-jump-threading",
    "early-cse<memssa>",
    "fix-irreducible",
    "flatten-cfg",
    "gvn",
    "gvn-hoist",
    "gvn-sink",
    "instcombine<no-verify-fixpoint>",
    "irce",
    "jump-threading",
    "lcssa",
    "loop(indvars)",
    "loop(loop-deletion)",
    "loop(loop-instsimplify)",
    "loop(loop-rotate)",
    "loop(loop-simplifycfg)",
    "loop-fusion",
    "loop-mssa(licm)",
    "loop-mssa(simple-loop-unswitch<nontrivial;trivial>)",
    "loop-simplify",
    "loop-simplify,lcssa",
    "loop-sink",
    "loop-unroll<O3;peeling;runtime>",
    "lower-switch",
    "lower-switch,fix-irreducible,unify-loop-exits,structurizecfg",
    "mem2reg",
    "mergereturn",
    "mldst-motion",
    "newgvn",
    "reassociate",
    "reg2mem",
    "sccp",
    "simplifycfg",
    "simplifycfg<no-keep-loops;switch-range-to-icmp;hoist-common-insts;sink-common-insts>",
    "sink",
    "speculative-execution",
    "sroa<modify-cfg>",
    "unify-loop-exits",
];

/// A random pipeline, as opt takes it.
pub fn pipeline(rng: &mut Rng) -> String {
    let passes: Vec<&str> = (0..rng.usize(1..7)).map(|_| PASSES[rng.usize(0..PASSES.len())]).collect();
    format!("function({})", passes.join(","))
}

/// Whether opt is there; else a message that says what is missing.
///
/// # Errors
/// The message.
pub fn available() -> Result<(), String> {
    toolchain::run(Command::new(OPT).arg("--version"))
        .map(drop)
        .map_err(|error| format!("random pipelines need {OPT} (Debian: llvm-22): {error}"))
}

/// LLVM assembly `text` after `passes`.
///
/// # Errors
/// What opt says.
pub fn run(text: &str, passes: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(failed)?;
    let input = folder.path().join("in.ll");
    std::fs::write(&input, text).map_err(failed)?;
    let output = toolchain::run(Command::new(OPT).arg("-S").arg(format!("-passes={passes}")).arg(&input))?;
    String::from_utf8(output).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opt_knows_every_pass() {
        if let Err(message) = available() {
            eprintln!("{message}");
            return;
        }
        let text = "define void @f() {\n  ret void\n}\n";
        for pass in PASSES {
            let result = run(text, &format!("function({pass})"));
            assert!(result.as_ref().is_ok_and(|text| text.contains("@f()")), "{pass}: {result:?}");
        }
    }
}
