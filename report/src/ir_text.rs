//! The printed IR that code was made from, and which line of it each instruction comes from.

use std::collections::BTreeMap;

/// A line of IR.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IrLine {
    /// Text.
    pub text: String,
    /// Source file (index into [`IrText::files`]) and line.
    pub source: Option<(u32, u32)>,
}

/// A function of the printed IR.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IrFunction {
    /// Symbol.
    pub name: String,
    /// Number of its first line.
    pub first: u32,
    /// Lines.
    pub lines: Vec<IrLine>,
}

/// The printed IR of a module. Lines are numbered from 1 through all functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IrText {
    /// Functions with bodies, in the module's order.
    pub functions: Vec<IrFunction>,
    /// Source files.
    pub files: Vec<String>,
    /// By function of the machine code: byte offsets at which the IR line changes, ascending, with the new one; 0 is none.
    pub positions: BTreeMap<String, Vec<(u32, u32)>>,
}

impl IrText {
    /// The function with line `number`, and the line.
    pub fn line(&self, number: u32) -> Option<(&IrFunction, &IrLine)> {
        let after = self.functions.partition_point(|function| function.first <= number);
        let function = self.functions.get(after.checked_sub(1)?)?;
        Some((function, function.lines.get((number - function.first) as usize)?))
    }

    /// The IR line of the instruction at a byte offset of a function.
    pub fn line_of(&self, function: &str, offset: u64) -> Option<u32> {
        let positions = self.positions.get(function)?;
        let after = positions.partition_point(|(at, _)| u64::from(*at) <= offset);
        Some(positions.get(after.checked_sub(1)?)?.1).filter(|line| *line != 0)
    }
}
