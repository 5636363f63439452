//! Numbered labels: `1:`, `1b` and `1f` become private labels.

use super::macros::{Expander, TEXT_MAX};
use super::{Result, fail};
use std::fmt::Write;

impl<'a> Expander<'a> {
    /// `line` with names for numbered labels.
    pub(super) fn named(&mut self, line: &'a str, at: usize) -> Result<&'a str> {
        let bytes = line.as_bytes();
        if !bytes.iter().any(u8::is_ascii_digit) {
            return Ok(line);
        }
        let mut out = String::new();
        let (mut copied, mut i) = (0, 0);
        let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b'@' | b'\\');
        let mut first = true;
        while i < bytes.len() {
            let start = i;
            match bytes[i] {
                b';' => break,
                b'/' if bytes.get(i + 1) == Some(&b'/') => break,
                b'"' => {
                    i += 1;
                    while i < bytes.len() && bytes[i] != b'"' {
                        i += if bytes[i] == b'\\' { 2 } else { 1 };
                    }
                    i += 1;
                    continue;
                }
                b if !word(b) => {
                    i += 1;
                    first &= b.is_ascii_whitespace();
                    continue;
                }
                _ => {}
            }
            while i < bytes.len() && word(bytes[i]) {
                i += 1;
            }
            let token = &line[start..i];
            let digits = token.find(|c: char| !c.is_ascii_digit()).unwrap_or(token.len());
            let (number, direction) = token.split_at(digits);
            let defines = first && direction.is_empty() && bytes.get(i) == Some(&b':');
            first = defines;
            if !(defines || matches!(direction, "b" | "f")) || digits == 0 {
                continue;
            }
            let Ok(number) = number.parse::<u32>() else {
                return fail(start, "the label's number is too large");
            };
            let count = self.numbered.entry(number).or_insert(0);
            if defines {
                *count += 1;
            }
            let which = *count + u32::from(direction == "f");
            if which == 0 {
                return fail(start, format!("no label {number} before"));
            }
            out.push_str(&line[copied..start]);
            let _ = write!(out, ".Lnumbered.{number}.{which}");
            copied = i;
        }
        if copied == 0 {
            return Ok(line);
        }
        self.bytes += line.len();
        if self.bytes > TEXT_MAX {
            return fail(at, "expansions make too much text");
        }
        out.push_str(&line[copied..]);
        Ok(self.arena.alloc_str(&out))
    }
}
