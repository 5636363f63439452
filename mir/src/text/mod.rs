//! The text of a whole program.

use crate::ir::Module;
use crate::machine::Function;
use crate::{Diagnostic, Result};
use std::fmt::Write as _;

/// A module and machine code of its functions.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The module.
    pub module: Module,
    /// Machine code.
    pub functions: Vec<Function>,
}

/// The text of `module` and `functions`.
pub fn print_program<'a>(module: &Module, functions: impl IntoIterator<Item = &'a Function>) -> String {
    let mut text = module.to_string();
    for function in functions {
        let _ = write!(text, "{function}");
    }
    text
}

/// Reads it back.
pub fn parse_program(_text: &str, _name: &str) -> Result<Program> {
    Err(Diagnostic::unsupported("not yet"))
}
