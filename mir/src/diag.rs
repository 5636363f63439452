//! Diagnostics: every failure of every step is a value of type [`Diagnostic`].

use crate::interrupt::Interruption;
use std::fmt;

/// Whose fault a failure is; decides the exit status of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The input is legal but asks for something that gcnc or the target cannot do (yet).
    Unsupported,
    /// The input is not what it claims to be: syntax, broken structure, wrong target.
    Malformed,
    /// The input exceeds a limit of the target or of an encoding (LDS size, immediate range, ...).
    Limit,
    /// gcnc itself is wrong. Users are asked to report these.
    Defect,
    /// Nothing is wrong: whoever asked for the compilation stopped it, or its limits did.
    Interrupted(Interruption),
}

/// A position in a source file, from debug information or from a text parser. Lines and columns count from 1; 0 is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct SourceLocation {
    /// File name as the producer wrote it; empty where unknown.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// One failure: what is wrong, in which function, at which instruction.
///
/// Prints as `in function F: what, at INSTRUCTION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// What is wrong, with the offending value; lower case, no full stop.
    pub message: String,
    /// Name of the function being compiled.
    pub function: Option<String>,
    /// Text of the instruction, IR or machine.
    pub inst: Option<String>,
    /// Where the user wrote it, as far as known.
    pub location: Option<SourceLocation>,
}

/// Most bytes of a message and of the text of an instruction: types may be written in thousands of them.
const MOST_BYTES: usize = 400;

/// `text` without its middle where it is too long.
fn shortened(mut text: String) -> String {
    if text.len() > MOST_BYTES {
        let head = text.floor_char_boundary(MOST_BYTES * 3 / 4);
        let tail = text.ceil_char_boundary(text.len() - MOST_BYTES / 8);
        text.replace_range(head..tail, " ... ");
    }
    text
}

/// The result of every fallible step.
pub type Result<T, E = Box<Diagnostic>> = std::result::Result<T, E>;

impl Diagnostic {
    /// A diagnostic of `kind` that knows neither function nor instruction yet.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            message: shortened(message.into()),
            function: None,
            inst: None,
            location: None,
        })
    }

    /// Shorthand for [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Box<Self> {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Shorthand for [`ErrorKind::Malformed`].
    pub fn malformed(message: impl Into<String>) -> Box<Self> {
        Self::new(ErrorKind::Malformed, message)
    }

    /// Shorthand for [`ErrorKind::Limit`].
    pub fn limit(message: impl Into<String>) -> Box<Self> {
        Self::new(ErrorKind::Limit, message)
    }

    /// Shorthand for [`ErrorKind::Defect`].
    pub fn defect(message: impl Into<String>) -> Box<Self> {
        Self::new(ErrorKind::Defect, message)
    }

    /// What became of a compilation that was stopped.
    pub fn interrupted(reason: Interruption) -> Box<Self> {
        Self::new(ErrorKind::Interrupted(reason), reason.to_string())
    }

    /// Names the function, unless one is named already.
    pub fn in_function(mut self: Box<Self>, name: &str) -> Box<Self> {
        self.function.get_or_insert_with(|| name.to_owned());
        self
    }

    /// Names the instruction, unless one is named already.
    pub fn at(mut self: Box<Self>, inst: impl fmt::Display) -> Box<Self> {
        self.inst.get_or_insert_with(|| shortened(inst.to_string()));
        self
    }

    /// Adds a source position, unless one is known already.
    pub fn located(mut self: Box<Self>, location: SourceLocation) -> Box<Self> {
        self.location.get_or_insert(location);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, "in function {function}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(inst) = &self.inst {
            write!(f, ", at {inst}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        let text = format!("load {{ {}i32 }}, at the end", "i32, ".repeat(2000));
        let error = Diagnostic::unsupported(text.clone()).at(&text);
        assert!(error.to_string().len() < 900, "{error}");
        assert!(
            error.message.starts_with("load { i32, ") && error.message.ends_with("at the end"),
            "{error}"
        );
        assert!(error.inst.as_deref().is_some_and(|inst| inst.contains(" ... ")));
        // Letters of several bytes stay whole.
        assert!(Diagnostic::unsupported("é".repeat(9000)).message.contains("é ... é"));
    }
}
