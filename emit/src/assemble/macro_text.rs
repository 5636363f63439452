//! What lines, arguments and bodies of macros are made of: text before anything is known of its meaning.

use std::fmt::Write;

/// The first word of a line and what follows it.
pub(super) fn first_word(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    let ends = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'));
    line.split_at(line.find(ends).unwrap_or(line.len()))
}

/// `text` without the comment at its end.
pub(super) fn uncommented(text: &str) -> &str {
    let bytes = text.as_bytes();
    let mut quoted = false;
    for (i, &b) in bytes.iter().enumerate() {
        match b {
            b'"' if i == 0 || bytes[i - 1] != b'\\' => quoted = !quoted,
            b';' if !quoted => return text[..i].trim(),
            b'/' if !quoted && bytes.get(i + 1) == Some(&b'/') => return text[..i].trim(),
            _ => {}
        }
    }
    text.trim()
}

/// A name and what follows it, without a comma between.
pub(super) fn split_name(text: &str) -> (&str, &str) {
    let (name, rest) = first_word(text);
    (name, rest.trim_start().trim_start_matches(',').trim_start())
}

/// A string's contents, or what is no string.
pub(super) fn unquoted(text: &str) -> &str {
    match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(inside) if !inside.contains('"') => inside,
        _ => text,
    }
}

/// The first argument of a list, and the rest. Commas separate arguments, and blanks between what is no
/// operator. Where `alternative`, an argument may stand between `<` and `>`.
pub(super) fn argument(text: &str, alternative: bool) -> (&str, &str) {
    let bytes = text.as_bytes();
    let operator = |b: u8| b"+-*/%&|^<>=!~".contains(&b);
    let (mut depth, mut i) = (0i32, 0);
    if alternative && bytes.first() == Some(&b'<') {
        while i < bytes.len() && bytes[i] != b'>' {
            i += if bytes[i] == b'!' { 2 } else { 1 };
        }
        i += 1;
    }
    while i < bytes.len() {
        match bytes[i] {
            b'"' => {
                i += 1;
                while i < bytes.len() && bytes[i] != b'"' {
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
            }
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b',' if depth <= 0 => return (text[..i].trim(), text[i + 1..].trim_start()),
            b if b.is_ascii_whitespace() && depth <= 0 => {
                let after = text[i..].trim_start();
                let next = after.bytes().next().unwrap_or(b',');
                let before = text[..i].trim_end().bytes().next_back().unwrap_or(b'+');
                if next != b',' && !operator(next) && !operator(before) {
                    return (text[..i].trim(), after);
                }
            }
            _ => {}
        }
        i += 1;
    }
    (text.trim(), "")
}

/// All arguments of a list.
pub(super) fn arguments(mut text: &str, alternative: bool) -> Vec<&str> {
    let mut out = Vec::new();
    while !text.is_empty() {
        let (first, rest) = argument(text, alternative);
        out.push(first);
        text = rest;
    }
    out
}

/// What an expansion puts in the place of names.
pub(super) struct Substitution<'s> {
    /// Parameters and their values.
    pub pairs: &'s [(&'s str, &'s str)],
    /// Expansions so far: `\@`.
    pub expanded: u64,
    /// Round of a repetition: `\+`.
    pub round: Option<u64>,
    /// Parameters are replaced without a backslash, too; `&` joins them to what follows.
    pub bare: bool,
}

impl Substitution<'_> {
    /// Appends `body` with values in the place of `\name`, `\@` and, in repetitions, `\+`.
    pub(super) fn apply(&self, out: &mut String, body: &str) {
        let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        let begins = |c: char| c == '\\' || self.bare && in_name(c);
        let value = |name: &str| {
            self.pairs.iter().find(|(known, _)| !known.is_empty() && *known == name).map(|(_, value)| *value)
        };
        let mut rest = body;
        while let Some(start) = rest.find(begins) {
            out.push_str(&rest[..start]);
            let Some(after) = rest[start..].strip_prefix('\\') else {
                let word = &rest[start..];
                let (word, after) = word.split_at(word.find(|c| !in_name(c)).unwrap_or(word.len()));
                rest = match value(word) {
                    Some(value) => {
                        out.push_str(value);
                        after.strip_prefix('&').unwrap_or(after)
                    }
                    None => {
                        out.push_str(word);
                        after
                    }
                };
                continue;
            };
            let (name, behind) = after.split_at(after.find(|c| !in_name(c)).unwrap_or(after.len()));
            rest = if let Some(after) = after.strip_prefix("()") {
                after
            } else if let Some(after) = after.strip_prefix('@') {
                let _ = write!(out, "{}", self.expanded);
                after
            } else if let (Some(after), Some(round)) = (after.strip_prefix('+'), self.round) {
                let _ = write!(out, "{round}");
                after
            } else if let Some(value) = value(name) {
                out.push_str(value);
                behind
            } else {
                out.push('\\');
                after
            };
        }
        out.push_str(rest);
    }
}
