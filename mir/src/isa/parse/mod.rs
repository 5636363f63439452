//! Parser of assembly text: the syntax of LLVM's AMDGPU assembler, driven by the instruction table.
//!
//! A line is read in three steps:
//!
//! 1. The mnemonic selects candidate rows and, by its suffix, an encoding ([`matcher`]).
//! 2. Operands ([`operand`], [`register`], [`expr`], [`special`]) and modifiers ([`modifier`]) are read once, as they stand.
//! 3. The candidates are tried in LLVM's order of preference (the short encoding first); the first one that the operands fit
//!    and that the encoder accepts is the instruction. Otherwise the error is that of the candidate that came furthest.
//!
//! Nothing here knows an instruction by itself: operands, modifiers and limits follow from rows, layouts and the encoder.
//! Errors are values with line and column; no text makes the parser panic. Cost: linear in the length of the line.
//!
//! Directives, labels and sections are the assembler's business (`emit::assemble`).

mod check;
mod constant;
pub mod expr;
pub mod lexer;
mod matcher;
mod modifier;
mod operand;
mod register;
mod special;

pub use expr::{Expr, Known};
pub use register::special as special_register;

use crate::diag::{Diagnostic, ErrorKind, Result as DiagResult, SourceLocation};
use crate::machine::Inst;
use crate::target::Target;
use lexer::{Lexer, Token};
use matcher::{Entry, Table};
use smallvec::SmallVec;
use std::borrow::Cow;

/// What is wrong and where: a byte offset in the line.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// First byte of what is wrong.
    pub at: usize,
    /// What is wrong.
    pub message: Cow<'static, str>,
    /// Whose fault it is.
    pub kind: ErrorKind,
}

/// A syntax error.
#[cold]
fn fail<T>(at: usize, message: impl Into<Cow<'static, str>>) -> Result<T, Failure> {
    Err(Failure { at, message: message.into(), kind: ErrorKind::Malformed })
}

impl Failure {
    /// The diagnostic for a failure in `text`, which is line `line` of its file.
    #[cold]
    pub fn diagnostic(self, text: &str, line: u32) -> Box<Diagnostic> {
        let before = text.get(..self.at).unwrap_or(text);
        let location =
            SourceLocation { file: String::new(), line, column: before.chars().count() as u32 + 1 };
        Diagnostic::new(self.kind, self.message).located(location)
    }
}

/// Which part of an instruction a symbolic expression fills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FixupKind {
    /// The 16-bit distance of a branch, in dwords from the next instruction.
    Branch,
    /// The literal dword of this index.
    Literal(u8),
}

/// A part of an instruction that is known when symbols are.
#[derive(Clone, PartialEq, Debug)]
pub struct Fixup<'a> {
    /// Which part; it is 0 in the instruction's words.
    pub kind: FixupKind,
    /// Its value.
    pub expr: Expr<'a>,
}

/// An assembled instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed<'a> {
    /// The instruction.
    pub inst: Inst,
    /// Its encoding.
    pub words: SmallVec<[u32; 4]>,
    /// What symbols have to fill in.
    pub fixup: Option<Fixup<'a>>,
}

/// Parser of instructions for one target.
pub struct Parser<'t> {
    target: &'t Target,
    table: &'static Table,
}

impl<'t> Parser<'t> {
    /// A parser for `target`. The table of mnemonics is built once for each generation.
    pub fn new(target: &'t Target) -> Self {
        Self { target, table: Table::of(target.generation()) }
    }

    /// Whether any processor has an instruction called `mnemonic`.
    pub fn knows(&self, mnemonic: &str) -> bool {
        self.table.find(mnemonic).is_some() || matcher::exists_elsewhere(mnemonic)
    }

    /// Assembles one instruction. `known` gives the values of symbols that have one already.
    ///
    /// # Errors
    /// `Malformed` for wrong syntax or operands, `Unsupported` where the target lacks the instruction, `Limit` where operands do
    /// not fit; all with line (`line`, as given) and column.
    pub fn parse<'a>(&self, text: &'a str, line: u32, known: Known<'_>) -> DiagResult<Parsed<'a>> {
        self.parse_at(text, 0, known).map_err(|failure| failure.diagnostic(text, line))
    }

    /// The same for the instruction that begins at byte `from` of the line `text`.
    ///
    /// # Errors
    /// As [`Self::parse`], with the byte offset in `text`.
    pub fn parse_at<'a>(&self, text: &'a str, from: usize, known: Known<'_>) -> Result<Parsed<'a>, Failure> {
        let mut lexer = Lexer::at(text, from);
        let at = lexer.start;
        let Token::Name(mnemonic) = lexer.token else { return fail(at, "expected an instruction") };
        let Some((entry, encoding)) = self.table.find(mnemonic) else {
            if matcher::exists_elsewhere(mnemonic) {
                let message = format!("instruction {mnemonic} is not supported on {}", self.target);
                return Err(Failure { at, message: message.into(), kind: ErrorKind::Unsupported });
            }
            return fail(at, format!("unknown instruction {mnemonic}"));
        };
        lexer.step();
        let statement = self.read(entry, &mut lexer, known)?;
        matcher::choose(entry, encoding, &statement, self.target, at)
    }

    /// Reads `[v1, v7, v3]`: address registers that need not follow each other.
    fn address_list<'a>(
        &self,
        lexer: &mut Lexer<'a>,
        known: Known<'_>,
        statement: &mut matcher::Statement<'a>,
    ) -> Result<(), Failure> {
        lexer.step();
        let mut first = true;
        loop {
            let at = lexer.start;
            if !register::is_here(lexer) {
                return fail(at, "expected a register");
            }
            let tuple = register::parse(lexer, self.target, known)?;
            let operand = operand::Operand::plain(operand::Value::Register(tuple), at);
            if std::mem::take(&mut first) {
                statement.operands.push(operand);
            } else {
                statement.addresses.push(operand);
            }
            if lexer.skip(b']') {
                return Ok(());
            }
            if !lexer.skip(b',') {
                return fail(lexer.start, "expected a comma or a closing square bracket");
            }
        }
    }

    /// Reads operands and modifiers up to the end of the line.
    fn read<'a>(
        &self,
        entry: &Entry,
        lexer: &mut Lexer<'a>,
        known: Known<'_>,
    ) -> Result<matcher::Statement<'a>, Failure> {
        let context = special::Context { target: self.target, known };
        let mut statement = matcher::Statement::default();
        while !lexer.at_end() {
            let at = lexer.start;
            if lexer.token == Token::Op(b'[')
                && entry.takes_address_list(self.target, statement.operands.len())
            {
                self.address_list(lexer, known, &mut statement)?;
            } else if let Some(operand) = entry.special(&context, lexer, statement.operands.len())? {
                statement.operands.push(operand);
            } else if modifier::is_here(lexer) {
                modifier::parse(&context, lexer, &mut statement.mods)?;
            } else {
                statement.operands.push(operand::parse(lexer, self.target, known)?);
            }
            // Commas separate, but nobody insists.
            lexer.skip(b',');
            if lexer.start == at && !lexer.at_end() {
                return fail(at, "not a valid operand");
            }
        }
        statement.end = lexer.start;
        Ok(statement)
    }
}
