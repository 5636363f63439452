//! A function's text, written line by line.

use std::fmt::Write as _;

/// The text of a function's body.
#[derive(Default)]
pub(super) struct Lines {
    pub text: String,
    /// The block that is being written.
    pub block: String,
    next: usize,
}

impl Lines {
    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {text}");
    }

    /// Begins a block.
    pub fn label(&mut self, name: &str) {
        let _ = writeln!(self.text, "{name}:");
        self.block = name.to_owned();
    }

    /// A number that no name has yet.
    pub fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Writes an instruction, and gives the name of its result.
    pub fn op(&mut self, text: &str) -> String {
        let name = format!("%t{}", self.number());
        self.line(&format!("{name} = {text}"));
        name
    }
}
