//! The text form of the IR, read: what [`Module`]'s `Display` writes, so that a test can start at any step.
//!
//! One pass makes tokens, one registers symbols, one builds. Numbers of values and blocks in the text become
//! the entities' own; numbers that the text leaves out become entities that nothing uses. Nesting of types
//! and constants is limited, everything else is linear. The result is well formed as a table, and no more:
//! [`super::verify`] judges it.

mod function;
mod inst;
mod module;
mod types;

use super::*;
use crate::Result;
use crate::text::{Cursor, Reader, Tok, flag_of, numbered};
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// Deepest nesting of types and constants.
const MAX_DEPTH: u32 = 250;

/// Largest number of a value, block or instruction; the tables are as long.
const MAX_ENTITY: u32 = 1 << 24;

/// Parses the text form of a module. `name` is for messages.
///
/// # Errors
/// `Malformed` with line and column.
pub fn parse_module(text: &str, name: &str) -> Result<Module> {
    let (module, cursor) = parse_module_at(Cursor::new(text, name)?)?;
    let rest = Parser { cursor, ..Parser::default() };
    if *rest.peek() == Tok::End { Ok(module) } else { rest.expected("a definition") }
}

/// Parses a module up to the first machine function behind it, and returns what is left of the text, too.
pub(crate) fn parse_module_at(cursor: Cursor) -> Result<(Module, Cursor)> {
    let mut parser = Parser { cursor, ..Parser::default() };
    parser.register();
    parser.module()?;
    Ok((parser.module, parser.cursor))
}

#[derive(Default)]
struct Parser {
    cursor: Cursor,
    module: Module,
    symbols: FxHashMap<String, SymbolRef>,
    /// Number of the module's variables.
    globals: usize,
    depth: u32,
    /// Values of the current function that have a definition.
    defined: Vec<bool>,
    /// Blocks of the current function that have been there.
    placed: Vec<bool>,
    /// Uses in the current function, with their tokens.
    used: Vec<(Value, usize)>,
}

impl Reader for Parser {
    fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    fn cursor_mut(&mut self) -> &mut Cursor {
        &mut self.cursor
    }
}

impl Parser {
    fn loc(&mut self) -> Result<SourceLoc> {
        Ok(SourceLoc { file: self.number()?, line: self.number()?, column: self.number()? })
    }

    /// Numbers the functions and variables, so that a use may stand before its definition.
    fn register(&mut self) {
        let (mut functions, mut globals) = (0, 0);
        let mut pending = None;
        for token in self.cursor.tokens() {
            match &token.tok {
                Tok::Word(word) if token.column == 1 => match word.as_str() {
                    "define" | "declare" => {
                        pending = Some(SymbolRef::Func(Func::from_u32(functions)));
                        functions += 1;
                    }
                    "global" => {
                        pending = Some(SymbolRef::Global(Global::from_u32(globals)));
                        globals += 1;
                    }
                    // The labels of blocks stand there too.
                    _ => pending = None,
                },
                Tok::Symbol(name) => {
                    if let Some(symbol) = pending.take() {
                        self.symbols.entry(name.clone()).or_insert(symbol);
                    }
                }
                _ => {}
            }
        }
        for _ in 0..functions {
            self.module.functions.push(Function::new("", CallConv::Device, Type::Void));
        }
        self.globals = globals as usize;
    }

    fn symbol(&mut self) -> Result<SymbolRef> {
        let found = match self.peek() {
            Tok::Symbol(name) => self.symbols.get(name).copied(),
            Tok::Numbered(text) => {
                let func = numbered(text, "fn").map(|n| SymbolRef::Func(Func::from_u32(n)));
                func.or_else(|| numbered(text, "global").map(|n| SymbolRef::Global(Global::from_u32(n))))
            }
            _ => None,
        };
        let exists = |symbol: &SymbolRef| match symbol {
            SymbolRef::Func(func) => func.index() < self.module.functions.len(),
            SymbolRef::Global(global) => global.index() < self.globals,
        };
        match found.filter(exists) {
            Some(symbol) => {
                self.skip();
                Ok(symbol)
            }
            None => self.expected("a symbol of the module"),
        }
    }

    fn function_symbol(&mut self) -> Result<Func> {
        let at = self.cursor.at;
        match self.symbol()? {
            SymbolRef::Func(func) => Ok(func),
            SymbolRef::Global(_) => Err(self.fail_at(at, "expected a function")),
        }
    }

    fn symbol_name(&mut self) -> Result<String> {
        match self.peek() {
            Tok::Symbol(name) => {
                let name = name.clone();
                self.skip();
                Ok(name)
            }
            _ => self.expected("@name"),
        }
    }

    fn call_conv(&mut self) -> Result<CallConv> {
        if self.eat_word("cc") {
            return Ok(CallConv::Other(self.number()?));
        }
        self.required("a calling convention", |word| flag_of(&CALL_CONVS, word))
    }
}
