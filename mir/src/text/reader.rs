//! What the parsers of both IRs share: a place in the tokens, and small steps over them.

use super::lex::{Tok, Token, error, tokens};
use crate::machine::PReg;
use crate::{Diagnostic, Result};

/// A place in the tokens of a text.
pub(crate) struct Cursor {
    tokens: Vec<Token>,
    /// Index of the next token.
    pub at: usize,
    /// Name of the text in messages.
    file: String,
}

impl Default for Cursor {
    fn default() -> Self {
        Self { tokens: vec![Token { tok: Tok::End, line: 1, column: 1 }], at: 0, file: String::new() }
    }
}

impl Cursor {
    /// The start of `text`, which is called `name` in messages.
    pub fn new(text: &str, name: &str) -> Result<Self> {
        Ok(Self { tokens: tokens(text, name)?, at: 0, file: name.to_owned() })
    }

    /// All tokens.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The next token; at the end of the text that one stays.
    pub fn token(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }
}

/// The number behind `prefix` in `word`, if that is all there is.
pub(crate) fn numbered(word: &str, prefix: &str) -> Option<u32> {
    let digits = word.strip_prefix(prefix)?;
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The flag that `word` means in `table`.
pub(crate) fn flag_of<T: Copy>(table: &[(T, &str)], word: &str) -> Option<T> {
    table.iter().find(|(_, w)| *w == word).map(|(flag, _)| *flag)
}

/// Steps over tokens, for whatever has a [`Cursor`]. Errors are `Malformed` and name the place and what was
/// expected.
pub(crate) trait Reader: Sized {
    /// The place.
    fn cursor(&self) -> &Cursor;
    /// The place, to be moved.
    fn cursor_mut(&mut self) -> &mut Cursor;

    /// The next token.
    fn peek(&self) -> &Tok {
        &self.cursor().token().tok
    }

    /// Whether the next token is the first of a line that is not indented, and this word.
    fn at_line(&self, word: &str) -> bool {
        let token = self.cursor().token();
        token.column == 1 && matches!(&token.tok, Tok::Word(w) if w == word)
    }

    /// Moves behind the next token.
    fn skip(&mut self) {
        let cursor = self.cursor_mut();
        cursor.at = (cursor.at + 1).min(cursor.tokens.len() - 1);
    }

    /// Takes the next token.
    fn next(&mut self) -> Tok {
        let tok = self.peek().clone();
        self.skip();
        tok
    }

    /// An error at the next token.
    fn fail(&self, message: impl Into<String>) -> Box<Diagnostic> {
        self.fail_at(self.cursor().at, message)
    }

    /// An error at token `at`.
    fn fail_at(&self, at: usize, message: impl Into<String>) -> Box<Diagnostic> {
        let cursor = self.cursor();
        let token = &cursor.tokens[at.min(cursor.tokens.len() - 1)];
        error(&cursor.file, token.line, token.column, message)
    }

    /// The error that `what` does not come next.
    fn expected<T>(&self, what: &str) -> Result<T> {
        Err(self.fail(format!("expected {what}")))
    }

    /// Takes `punct`, if it comes next.
    fn eat(&mut self, punct: char) -> bool {
        let found = *self.peek() == Tok::Punct(punct);
        if found {
            self.skip();
        }
        found
    }

    /// Takes `punct`.
    fn expect(&mut self, punct: char) -> Result<()> {
        if self.eat(punct) { Ok(()) } else { self.expected(&format!("'{punct}'")) }
    }

    /// Takes `word`, if it comes next.
    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Tok::Word(w) if w == word);
        if found {
            self.skip();
        }
        found
    }

    /// Takes `word`.
    fn keyword(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("'{word}'")) }
    }

    /// Takes a word.
    fn word(&mut self) -> Result<String> {
        match self.peek() {
            Tok::Word(word) => {
                let word = word.clone();
                self.skip();
                Ok(word)
            }
            _ => self.expected("a word"),
        }
    }

    /// Takes a string.
    fn string(&mut self) -> Result<String> {
        match self.peek() {
            Tok::Str(text) => {
                let text = text.clone();
                self.skip();
                Ok(text)
            }
            _ => self.expected("a string"),
        }
    }

    /// Takes a number that fits `T`.
    fn number<T: TryFrom<i128>>(&mut self) -> Result<T> {
        match *self.peek() {
            Tok::Number(number) => match T::try_from(number) {
                Ok(number) => {
                    self.skip();
                    Ok(number)
                }
                Err(_) => Err(self.fail("number out of range")),
            },
            _ => self.expected("a number"),
        }
    }

    /// Takes a word that `from_word` knows, if one comes next.
    fn one_of<T>(&mut self, from_word: impl Fn(&str) -> Option<T>) -> Option<T> {
        let Tok::Word(word) = self.peek() else { return None };
        let found = from_word(word)?;
        self.skip();
        Some(found)
    }

    /// Takes a word that `from_word` knows; `what` says which.
    fn required<T>(&mut self, what: &str, from_word: impl Fn(&str) -> Option<T>) -> Result<T> {
        match self.one_of(from_word) {
            Some(found) => Ok(found),
            None => self.expected(what),
        }
    }

    /// `each` until `close`, separated by commas.
    fn list(&mut self, close: char, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if self.eat(close) {
            return Ok(());
        }
        loop {
            each(self)?;
            if self.eat(close) {
                return Ok(());
            }
            self.expect(',')?;
        }
    }

    /// Takes an alignment in bytes, as its logarithm.
    fn align_log2(&mut self) -> Result<u8> {
        match *self.peek() {
            Tok::Number(bytes) if bytes.count_ones() == 1 && (1..=1 << 63).contains(&bytes) => {
                self.skip();
                Ok(bytes.ilog2() as u8)
            }
            _ => self.expected("a power of two"),
        }
    }

    /// Takes the name of a physical register.
    fn preg(&mut self) -> Result<PReg> {
        self.required("a physical register", PReg::from_name)
    }
}
