//! The relocatable object of a program: written directly, or, where the module has assembly of its own,
//! through its text.

use crate::{FinalFunction, assemble, object};
use mir::ir::Module;
use mir::target::Target;
use mir::{Diagnostic, Result};

/// The relocatable object of `functions` and of the variables of `module`.
///
/// `functions` are finished definitions of `module`; their order is that of the code.
///
/// # Errors
/// Those of the writer, and of the assembler for the module's own assembly.
pub fn emit_object(module: &Module, functions: &[FinalFunction], target: &Target) -> Result<Vec<u8>> {
    if module.inline_asm.trim().is_empty() {
        object::write(module, functions, target)
    } else {
        assembled(module, functions, target)
    }
}

/// The object of a module with assembly of its own: all of it is written as text, which the assembler makes
/// one object of.
fn assembled(module: &Module, functions: &[FinalFunction], target: &Target) -> Result<Vec<u8>> {
    let text = crate::emit_asm(module, functions, target)?;
    let options = assemble::Options { version_is_given: true, ..assemble::Options::default() };
    let assembled = assemble::assemble_with(&text, target, &options);
    assembled.map(|assembled| assembled.object).map_err(|errors| {
        let first = errors.into_iter().next();
        let error = first.unwrap_or_else(|| Diagnostic::defect("the assembler failed without a reason"));
        let line =
            error.location.as_ref().and_then(|at| text.lines().nth(at.line.saturating_sub(1) as usize));
        let place = line.map_or_else(String::new, |line| format!(" in \"{}\"", line.trim()));
        Diagnostic::new(error.kind, format!("module assembly: {}{place}", error.message))
    })
}
