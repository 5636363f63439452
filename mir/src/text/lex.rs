//! Tokens of the text form of both IRs. A comment goes from `;` to the end of the line. Cost: linear.

use crate::diag::SourceLocation;
use crate::{Diagnostic, Result};

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tok {
    Word(String),
    Number(i128),
    Str(String),
    /// `@name`
    Symbol(String),
    /// `%5`, `%5.1`
    Local(String),
    /// `#fn3`, `#global4`
    Numbered(String),
    Punct(char),
    End,
}

/// A token with its place, counted from 1.
pub(crate) struct Token {
    pub tok: Tok,
    pub line: u32,
    pub column: u32,
}

/// A diagnostic at a place of the text.
pub(super) fn error(file: &str, line: u32, column: u32, message: impl Into<String>) -> Box<Diagnostic> {
    Diagnostic::malformed(message).located(SourceLocation { file: file.to_owned(), line, column })
}

/// The tokens of `text`, [`Tok::End`] the last.
pub(super) fn tokens(text: &str, file: &str) -> Result<Vec<Token>> {
    let bytes = text.as_bytes();
    let (mut at, mut line, mut line_start) = (0, 1u32, 0);
    let mut out = Vec::new();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
    while let Some(&byte) = bytes.get(at) {
        let (start, column) = (at, (at - line_start) as u32 + 1);
        at += 1;
        let run = |at: &mut usize, accept: &dyn Fn(u8) -> bool| {
            while bytes.get(*at).is_some_and(|&b| accept(b)) {
                *at += 1;
            }
        };
        let tok = match byte {
            b'\n' => {
                line += 1;
                line_start = at;
                continue;
            }
            b' ' | b'\t' | b'\r' => continue,
            b';' => {
                run(&mut at, &|b| b != b'\n');
                continue;
            }
            b'"' => Tok::Str(quoted(bytes, &mut at).ok_or_else(|| error(file, line, column, "bad string"))?),
            b'@' if bytes.get(at) == Some(&b'"') => {
                at += 1;
                Tok::Symbol(quoted(bytes, &mut at).ok_or_else(|| error(file, line, column, "bad string"))?)
            }
            b'@' => {
                run(&mut at, &|b| is_word(b) || matches!(b, b'$' | b'-'));
                Tok::Symbol(text[start + 1..at].to_owned())
            }
            b'#' => {
                run(&mut at, &is_word);
                Tok::Numbered(text[start + 1..at].to_owned())
            }
            b'%' => {
                run(&mut at, &is_word);
                Tok::Local(text[start + 1..at].to_owned())
            }
            b'-' if !bytes.get(at).is_some_and(u8::is_ascii_digit) => Tok::Punct('-'),
            b'-' | b'0'..=b'9' => {
                run(&mut at, &is_word);
                let digits = &text[start..at];
                let number = match digits.strip_prefix("0x") {
                    Some(hex) if !hex.starts_with(['+', '-']) => i128::from_str_radix(hex, 16).ok(),
                    Some(_) => None,
                    None => digits.parse().ok(),
                };
                Tok::Number(number.ok_or_else(|| error(file, line, column, format!("bad number {digits}")))?)
            }
            _ if is_word(byte) => {
                run(&mut at, &is_word);
                Tok::Word(text[start..at].to_owned())
            }
            0x21..=0x7e => Tok::Punct(byte as char),
            _ => return Err(error(file, line, column, "unexpected byte")),
        };
        out.push(Token { tok, line, column });
    }
    let column = (bytes.len() - line_start) as u32 + 1;
    out.push(Token { tok: Tok::End, line, column });
    Ok(out)
}

/// The rest of a string whose opening quote is read.
fn quoted(bytes: &[u8], at: &mut usize) -> Option<String> {
    let mut out = Vec::new();
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        match byte {
            b'"' => return String::from_utf8(out).ok(),
            b'\\' => {
                let hex = std::str::from_utf8(bytes.get(*at..*at + 2)?).ok()?;
                out.push(u8::from_str_radix(hex, 16).ok()?);
                *at += 2;
            }
            b'\n' => return None,
            byte => out.push(byte),
        }
    }
}
