//! Reads LLVM IR: bitcode or text into [`mir::ir::Module`], through LLVM's own parser and verifier.
//!
//! The copy is faithful: nothing is optimised and nothing is decided here, so that no later step touches
//! LLVM. Three steps, each usable alone:
//!
//! 1. [`parse`]: bytes → LLVM module, verified ([`parse_unverified`] leaves the verifier out);
//! 2. [`read_llvm_module`]: LLVM module → `ir::Module`. Whoever has a module in memory starts here;
//! 3. [`read_module`]: both, and the LLVM module is gone afterwards.
//!
//! What the IR cannot say (`callbr`, scalable vectors, target types, ...) is refused by name with function
//! and instruction. A function that cannot be read is left as a declaration and its diagnostic put beside the
//! module ([`Reading::errors`]), so that one bad function hides neither the others nor their errors.
//!
//! The cost is linear: two walks over the instructions of a function, the first of which makes all results,
//! so that operands are found whatever the order of blocks.

mod body;
mod constants;
mod constructors;
mod enums;
mod globals;
mod instructions;
mod kinds;
mod llvm;
mod metadata;
mod module;
mod parse;
mod reader;
mod scopes;
mod strict;
mod types;
mod unnamed;
mod vp;

#[cfg(test)]
mod tests;

pub use inkwell::context::Context;
pub use inkwell::module::Module as LlvmModule;
pub use parse::{DATA_LAYOUT, parse, parse_unverified, verify};

use mir::{Diagnostic, Result, ir};

/// A module, and what could not be read of it.
#[derive(Debug)]
#[allow(clippy::vec_box, reason = "diagnostics travel boxed")]
pub struct Reading {
    /// The module. Functions named in `errors` are declarations.
    pub module: ir::Module,
    /// One diagnostic for each function or variable that could not be read, in the order of the input.
    pub errors: Vec<Box<Diagnostic>>,
}

impl Reading {
    /// The module, or the first diagnostic.
    pub fn complete(self) -> Result<ir::Module> {
        match self.errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(self.module),
        }
    }
}

/// Reads bitcode or text (told apart by the first bytes). `name` is for messages.
///
/// Errors: `Malformed` with the position for what LLVM's parser or verifier rejects and for other targets;
/// `Unsupported` or `Limit` for the first thing that the IR cannot say.
pub fn read_module(bytes: &[u8], name: &str) -> Result<ir::Module> {
    read(bytes, name)?.complete()
}

/// Sets what a process may settle about LLVM that has no LLVM of somebody else in it: a handler that says why LLVM ends the process, where
/// it does, and an option that saves reading modules with debug information twice. For commands alone: both are global.
pub fn settle_process() {
    llvm::settle();
}

/// [`read_module`], with the diagnostics of bad functions beside the others that are good.
pub fn read(bytes: &[u8], name: &str) -> Result<Reading> {
    let context = Context::create();
    let module = parse(&context, bytes, name)?;
    read_llvm_module(&module, name)
}

/// Copies a module that LLVM has in memory and that is valid ([`verify`]). Constants may be interned in its
/// context; the module itself is left as it is.
///
/// Errors: `Malformed` when it is meant for another target; the rest is in [`Reading::errors`].
pub fn read_llvm_module(module: &LlvmModule<'_>, name: &str) -> Result<Reading> {
    module::read(llvm::ModuleRef::of(module), name)
}
