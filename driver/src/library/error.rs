//! Why there is no code object.

use mir::interrupt::Interruption;
use mir::{Diagnostic, ErrorKind};
use std::fmt;

/// Why there is no code object.
///
/// Each [`Diagnostic`] names kind, function, instruction, file, line and column as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The options are wrong: an unknown processor or feature, options that contradict each other.
    Options(Diagnostic),
    /// The input was refused: one diagnostic for each function that was, in the order of the module. Never empty.
    Refused(Vec<Diagnostic>),
    /// The compiler is wrong, and says so; diagnostics of functions that were refused may stand beside. Never empty.
    Defect(Vec<Diagnostic>),
    /// A [`CancelToken`](crate::CancelToken) was pulled.
    Cancelled,
    /// The compilation did not end in time.
    Deadline,
    /// The compilation takes more memory than allowed.
    Memory,
}

impl Error {
    pub(crate) fn of(errors: crate::Errors) -> Self {
        let interruption = errors.iter().find_map(|error| match error.kind {
            ErrorKind::Interrupted(reason) => Some(reason),
            _ => None,
        });
        match interruption {
            Some(Interruption::Cancelled) => return Self::Cancelled,
            Some(Interruption::Deadline) => return Self::Deadline,
            Some(Interruption::Memory) => return Self::Memory,
            None => {}
        }
        let is_defect = errors.iter().any(|error| error.kind == ErrorKind::Defect);
        let errors = errors.into_iter().map(|error| *error).collect();
        if is_defect { Self::Defect(errors) } else { Self::Refused(errors) }
    }

    pub(crate) fn of_one(error: Box<Diagnostic>) -> Self {
        Self::of(vec![error])
    }

    /// What went wrong, where anything did.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Options(diagnostic) => std::slice::from_ref(diagnostic),
            Self::Refused(all) | Self::Defect(all) => all,
            Self::Cancelled | Self::Deadline | Self::Memory => &[],
        }
    }
}

impl fmt::Display for Error {
    /// A line for each diagnostic: `FILE:LINE:COLUMN: in function F: what, at INSTRUCTION`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interruption = match self {
            Self::Cancelled => Some(Interruption::Cancelled),
            Self::Deadline => Some(Interruption::Deadline),
            Self::Memory => Some(Interruption::Memory),
            _ => None,
        };
        if let Some(reason) = interruption {
            return reason.fmt(f);
        }
        for (index, diagnostic) in self.diagnostics().iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            if let Some(at) = &diagnostic.location {
                if !at.file.is_empty() {
                    write!(f, "{}:", at.file)?;
                }
                for number in [at.line, at.column].into_iter().take_while(|&number| number != 0) {
                    write!(f, "{number}:")?;
                }
                write!(f, " ")?;
            }
            if diagnostic.kind == ErrorKind::Defect {
                f.write_str("defect of gcnc: ")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
