//! The text of a whole compilation between two steps: the module, and the machine functions that are made of
//! it so far.
//!
//! Problem: a step can be tested, and a compilation be stopped and started again, only if everything that
//! later steps read can be written down. Idea: the module stands first, as [`ir::Module`](crate::ir::Module)
//! prints it, legal or not; the machine functions follow as [`machine::Function`](crate::machine::Function)
//! prints them. What belongs to no step's input (dead entities) keeps its number and loses its contents.
//! Cost: linear.
//!
//! ```text
//! module "k.cl"
//! ...
//! define kernel void @k(v0: ptr addrspace(1)) {
//! ...
//! }
//!
//! function k
//! mbb0:
//!   ...
//! ```

mod lds;
mod lex;
mod reader;
#[cfg(test)]
mod tests;

pub(crate) use lds::{read_lds, write_lds};
pub(crate) use lex::Tok;
pub(crate) use reader::{Cursor, Reader, flag_of, numbered};

use crate::{Result, ir, machine};
use std::fmt::{self, Display, Formatter, Write as _};

/// Declares the words of enums: `word` writes, `from_word` reads.
macro_rules! words {
    ($($ty:ident { $($variant:ident = $word:literal),* $(,)? })*) => { $(
        impl $ty {
            /// The variant's word in the text form.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The variant that `word` means.
            pub fn from_word(word: &str) -> Option<Self> {
                Some(match word { $($word => Self::$variant,)* _ => return None })
            }
        }
    )* };
}

/// Writes each word of `table` whose flag is in `$flags`, with a blank before it.
macro_rules! write_flags {
    ($f:expr, $table:expr, $flags:expr) => {
        for (flag, word) in $table {
            if $flags.contains(flag) {
                write!($f, " {word}")?;
            }
        }
    };
}

pub(crate) use {words, write_flags};

/// A string in quotes; bytes that are not plain are `\xx`.
pub(crate) struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for byte in self.0.bytes() {
            match byte {
                b'"' | b'\\' => write!(f, "\\{byte:02x}")?,
                0x20..=0x7e => f.write_char(byte as char)?,
                _ => write!(f, "\\{byte:02x}")?,
            }
        }
        f.write_char('"')
    }
}

/// `items` with commas between them, each written by `each`.
pub(crate) fn comma_separated<T>(
    f: &mut Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    mut each: impl FnMut(&mut Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index != 0 {
            f.write_str(", ")?;
        }
        each(f, item)?;
    }
    Ok(())
}

/// A module with machine functions made of it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The module.
    pub module: ir::Module,
    /// Functions that have come as far as machine code, each with its [`source`](machine::Function::source)
    /// in the module.
    pub functions: Vec<machine::Function>,
}

/// Prints a module and machine functions made of it, in the order given. [`parse_program`] reads it back.
pub fn print_program<'a>(
    module: &ir::Module,
    functions: impl IntoIterator<Item = &'a machine::Function>,
) -> String {
    let mut text = module.to_string();
    for function in functions {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{function}");
    }
    text
}

/// Parses the text of a module, and of machine functions behind it. `name` stands for the text in messages.
///
/// # Errors
/// `Malformed` with line and column; also where a machine function's source is no function of the module.
pub fn parse_program(text: &str, name: &str) -> Result<Program> {
    let (module, cursor) = ir::parse_module_at(Cursor::new(text, name)?)?;
    let functions = machine::parse_functions_at(cursor, Some(&module))?;
    Ok(Program { module, functions })
}
