//! Places that `explain` is asked about, as the command line writes them.

use crate::program::{Function, Program};
use emit::assemble::CodeLine;

/// What stands behind the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of assembly text.
    Line(u32),
    /// An address of the image, or, in a relocatable object, an offset in `.text`.
    Address(u64),
    /// An offset in a function.
    Symbol(String, u64),
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Place {
    /// Splits `FILE:PLACE`. `is_text`: whether the file is assembly text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn split(argument: &str, is_text: impl Fn(&str) -> bool) -> Result<(&str, Self), String> {
        let wrong = || format!("`{argument}` is not FILE.s:LINE, FILE:OFFSET or FILE:KERNEL+OFFSET");
        let (file, place) = argument.rsplit_once(':').ok_or_else(wrong)?;
        if file.is_empty() || place.is_empty() {
            return Err(wrong());
        }
        if is_text(file) {
            let line = place.parse().ok().filter(|line| *line > 0);
            return line.map(|line| (file, Self::Line(line))).ok_or_else(wrong);
        }
        if let Some(address) = number(place) {
            return Ok((file, Self::Address(address)));
        }
        let (name, offset) = match place.rsplit_once('+') {
            Some((name, offset)) => (name, number(offset).ok_or_else(wrong)?),
            None => (place, 0),
        };
        Ok((file, Self::Symbol(name.to_owned(), offset)))
    }
}

impl Program {
    /// The function and its line at a place. `lines`: where the lines of assembly text went.
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(&self, place: &Place, lines: &[CodeLine]) -> Result<(&Function, usize), String> {
        match place {
            Place::Line(line) => {
                let code = lines.iter().find(|code| code.line == *line);
                let code = code.ok_or_else(|| format!("line {line} is no instruction"))?;
                let address = self.section_address(&code.section, code.offset);
                let found = address.and_then(|address| self.at(address));
                found.ok_or_else(|| format!("line {line} is in no function"))
            }
            Place::Address(address) => {
                let found = self.at(*address).or_else(|| self.at(self.section_address(".text", *address)?));
                found.ok_or_else(|| format!("no instruction begins at {address:#x}"))
            }
            Place::Symbol(name, offset) => {
                let function = self.function(name).ok_or_else(|| format!("there is no function `{name}`"))?;
                let line = function.line_at(*offset);
                Ok((function, line.ok_or_else(|| format!("no instruction begins at {name}+{offset:#x}"))?))
            }
        }
    }

    /// The lines of assembly text that the lines of `function` were made from.
    pub fn text_lines(&self, function: &Function, lines: &[CodeLine]) -> Vec<Option<u32>> {
        let mut out = vec![None; function.lines.len()];
        for code in lines {
            let place = self
                .section_address(&code.section, code.offset)
                .and_then(|at| at.checked_sub(function.start));
            if let Some(line) = place.and_then(|offset| function.line_at(offset)) {
                out[line] = Some(code.line);
            }
        }
        out
    }
}
