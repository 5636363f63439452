//! `.if` and its kin: which lines are read.

use super::macro_text::uncommented;
use super::macros::Expander;
use super::{Assembler, Result, fail};
use mir::isa::parse::lexer::Lexer;

/// An open `.if`.
pub(super) struct Condition {
    /// Its lines are read.
    pub active: bool,
    /// One of its branches has been read, or none may be.
    done: bool,
    /// `.else` has been seen.
    last: bool,
    pub line: u32,
    /// Index of its file.
    pub file: u32,
}

impl<'a> Expander<'a> {
    /// Obeys the conditional directive `word`.
    pub(super) fn conditional(
        &mut self,
        word: &str,
        rest: &'a str,
        at: usize,
        line: u32,
        assembler: &mut Assembler<'a, '_>,
    ) -> Result {
        let outer = self.conditions.len().checked_sub(2).is_none_or(|k| self.conditions[k].active);
        match word {
            ".endif" => {
                return if self.conditions.pop().is_some() { Ok(()) } else { fail(0, ".endif without .if") };
            }
            ".else" | ".elseif" => {
                let Some(open) = self.conditions.last_mut().filter(|c| !c.last) else {
                    return fail(0, format!("{word} without .if"));
                };
                open.last = word == ".else";
                open.active = false;
                if open.done || !outer {
                    return Ok(());
                }
                // Whatever comes of the condition, an error leaves nothing half open.
                let holds = word == ".else" || assembler.number(rest, line, at)? != 0;
                if let Some(open) = self.conditions.last_mut() {
                    (open.active, open.done) = (holds, holds);
                }
                return Ok(());
            }
            _ => {}
        }
        let active = self.conditions.last().is_none_or(|c| c.active);
        self.conditions.push(Condition {
            active: false,
            done: !active,
            last: false,
            line,
            file: self.file(),
        });
        if !active {
            return Ok(());
        }
        let text = uncommented(rest);
        let holds = match word {
            ".if" | ".ifne" => assembler.number(rest, line, at)? != 0,
            ".ifeq" => assembler.number(rest, line, at)? == 0,
            ".ifge" => assembler.number(rest, line, at)? >= 0,
            ".ifgt" => assembler.number(rest, line, at)? > 0,
            ".ifle" => assembler.number(rest, line, at)? <= 0,
            ".iflt" => assembler.number(rest, line, at)? < 0,
            ".ifdef" => assembler.symbols.is_defined(text),
            ".ifndef" | ".ifnotdef" => !assembler.symbols.is_defined(text),
            ".ifb" => text.is_empty(),
            ".ifnb" => !text.is_empty(),
            ".ifc" | ".ifnc" | ".ifeqs" | ".ifnes" => {
                let Some((a, b)) = text.split_once(',') else { return fail(at, "expected two strings") };
                let (a, b) = (a.trim(), b.trim());
                (a == b) == matches!(word, ".ifc" | ".ifeqs")
            }
            _ => return fail(0, format!("unknown directive {word}")),
        };
        if let Some(open) = self.conditions.last_mut() {
            (open.active, open.done) = (holds, holds);
        }
        Ok(())
    }
}

impl<'a> Assembler<'a, '_> {
    /// The number that the expression `text` has here; differences of labels count.
    pub(super) fn number(&mut self, text: &'a str, line: u32, at: usize) -> Result<i64> {
        let mut lexer = Lexer::new(text);
        let value = self.value(&mut lexer, line)?;
        super::end(&lexer)?;
        if let Some(constant) = value.expr.constant() {
            return Ok(constant);
        }
        let target = self.target;
        match self.symbols.evaluate(&value, &target) {
            Ok(sum) if sum.plus.is_none() && sum.minus.is_none() => Ok(sum.constant),
            _ => fail(at, "expected an absolute expression"),
        }
    }
}
