//! What must hold of a program between passes, checked by the verifiers.

use crate::pass::{ModuleContext, Pass, Stage};
use mir::ir::{self, Module};
use mir::target::Target;
use mir::{Diagnostic, ErrorKind, Result, machine};

/// Refuses the text of a program that does not hold what `first`, the pass that it starts with, may rely on.
pub(crate) fn check_text(
    first: &Pass,
    module: &Module,
    functions: &[machine::Function],
    cx: &ModuleContext<'_>,
) -> Result<()> {
    let malformed = |error: Box<Diagnostic>| Box::new(Diagnostic { kind: ErrorKind::Malformed, ..*error });
    for function in module.functions.values().filter(|f| !f.is_declaration()) {
        check_ir(first.needs, module, function, &cx.target_of(function)?).map_err(malformed)?;
    }
    functions.iter().try_for_each(|f| machine::verify(f).map_err(malformed))
}

/// Checks IR behind `pass`.
pub(crate) fn verify_ir(
    pass: &Pass,
    module: &Module,
    function: &ir::Function,
    target: &Target,
) -> Result<()> {
    check_ir(pass.leaves, module, function, target).map_err(|error| broken(pass, *error))
}

/// Checks what must hold of IR at `stage`.
fn check_ir(stage: Stage, module: &Module, function: &ir::Function, target: &Target) -> Result<()> {
    let verify = if stage >= Stage::Expanded { ir::verify_lowered } else { ir::verify };
    verify(module, function).map_err(|errors| match errors.into_iter().next() {
        Some(error) => Box::new(error),
        None => Diagnostic::defect("refused without a reason"),
    })?;
    match stage {
        Stage::Read => Ok(()),
        Stage::Expanded => ir::legal::verify_expanded(function, &module.types, target),
        _ => ir::legal::verify_legal(function, &module.types, target),
    }
}

/// What the verifier found behind `pass`.
fn broken(pass: &Pass, error: Diagnostic) -> Box<Diagnostic> {
    let mut defect = Diagnostic::defect(format!("after {}: {}", pass.name, error.message));
    (defect.function, defect.inst) = (error.function, error.inst);
    defect
}

/// Checks machine code behind `pass`.
pub(crate) fn verify_machine(pass: &Pass, f: &machine::Function) -> Result<()> {
    machine::verify(f).map_err(|error| broken(pass, *error))
}
