//! Macros, repetitions, conditionals and numbered labels: what makes other lines out of the lines of a file.
//!
//! An [`Expander`] gives the assembler one line after the other. It keeps a stack of texts: the file, and in
//! it the bodies that are being expanded, each written once with its arguments in place. Directives that
//! choose or make lines (`.macro`, `.rept`, `.irp`, `.if` and their kin) are obeyed here; what they ask of
//! symbols the assembler answers. `1:`, `1b` and `1f` become private labels.
//!
//! Syntax is LLVM's: `\name`, `\()`, `\@` (macros expanded so far) and `\+` (round of a repetition);
//! arguments separated by commas or blanks, by position or name, with defaults, `:req` and `:vararg`. Lines
//! of an expansion are reported at the line that asked for it.
//!
//! Cost: linear in the lines that come out, which [`TEXT_MAX`] bounds, so texts that multiply themselves end
//! in an error.

use super::{Assembler, Result, fail};
use bumpalo::Bump;
use mir::isa::parse::lexer::Lexer;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Deepest nesting of expansions, as in LLVM.
const DEPTH_MAX: usize = 20;
/// Most bytes that expansions make.
const TEXT_MAX: usize = 1 << 26;

/// A parameter of a macro.
#[derive(Clone, Debug)]
struct Parameter<'a> {
    name: &'a str,
    default: Option<&'a str>,
    required: bool,
    rest: bool,
}

#[derive(Clone, Debug)]
struct Macro<'a> {
    parameters: Vec<Parameter<'a>>,
    body: &'a str,
}

/// A text that is being read.
struct Frame<'a> {
    lines: std::str::Lines<'a>,
    /// Number of the last line; of an expansion, the line that asked for it.
    number: u32,
    expansion: bool,
    /// Conditionals open when it began.
    conditions: usize,
    is_macro: bool,
}

/// An open `.if`.
struct Condition {
    /// Its lines are read.
    active: bool,
    /// One of its branches has been read, or none may be.
    done: bool,
    /// `.else` has been seen.
    last: bool,
    line: u32,
}

/// The lines of a file, expanded.
pub(super) struct Expander<'a> {
    arena: &'a Bump,
    frames: Vec<Frame<'a>>,
    macros: FxHashMap<&'a str, Macro<'a>>,
    conditions: Vec<Condition>,
    /// How often each numbered label has been defined.
    numbered: FxHashMap<u32, u32>,
    expanded: u64,
    bytes: usize,
}

/// The first word of a line and what follows it.
fn first_word(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    let ends = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'));
    line.split_at(line.find(ends).unwrap_or(line.len()))
}

/// `text` without the comment at its end.
fn uncommented(text: &str) -> &str {
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

impl<'a> Expander<'a> {
    /// The lines of `text`; what expansions make is kept in `arena`.
    pub(super) fn new(arena: &'a Bump, text: &'a str) -> Self {
        let frame =
            Frame { lines: text.lines(), number: 0, expansion: false, conditions: 0, is_macro: false };
        Self {
            arena,
            frames: vec![frame],
            macros: FxHashMap::default(),
            conditions: Vec::new(),
            numbered: FxHashMap::default(),
            expanded: 0,
            bytes: 0,
        }
    }

    /// The next line with its number.
    pub(super) fn next_line(&mut self) -> Option<(&'a str, u32)> {
        while let Some(frame) = self.frames.last_mut() {
            if let Some(line) = frame.lines.next() {
                frame.number += u32::from(!frame.expansion);
                return Some((line, frame.number));
            }
            self.frames.pop();
        }
        None
    }

    /// What is left open at the end of the file: the line where it began, and a message.
    pub(super) fn unfinished(&self) -> Option<(u32, &'static str)> {
        self.conditions.first().map(|c| (c.line, "missing .endif"))
    }

    /// Obeys a line that chooses or makes others; gives back what the assembler must read, in which numbered
    /// labels have names.
    pub(super) fn expand(
        &mut self,
        line: &'a str,
        number: u32,
        assembler: &mut Assembler<'a, '_>,
    ) -> Result<Option<&'a str>> {
        let (word, rest) = first_word(line);
        let at = line.len() - rest.len();
        if word.starts_with(".if") || matches!(word, ".else" | ".elseif" | ".endif") {
            self.conditional(word, rest, at, number, assembler)?;
            return Ok(None);
        }
        if self.conditions.last().is_some_and(|c| !c.active) {
            return Ok(None);
        }
        // A label before what is expanded is read first.
        if let Some(after) = rest.strip_prefix(':')
            && !word.is_empty()
            && self.is_ours(first_word(after).0)
        {
            let label = &line[..at + 1];
            assembler.line(self.named(label, at)?, number)?;
            return self.expand(after, number, assembler);
        }
        match word {
            ".macro" => self.define(rest, at)?,
            ".endm" | ".endmacro" | ".endr" => return fail(0, format!("{word} without its beginning")),
            ".exitm" => self.exit()?,
            ".purgem" => {
                let name = uncommented(rest);
                if self.macros.remove(name).is_none() {
                    return fail(at, format!("macro {name} is not defined"));
                }
            }
            ".rept" | ".rep" => {
                let body = self.body(&[".rept", ".rep", ".irp", ".irpc"], &[".endr"], at)?;
                let count = assembler.number(rest, number, at)?;
                let Ok(count) = u64::try_from(count) else { return fail(at, "the count is negative") };
                self.repeat(body, at, (0..count).map(|_| None))?;
            }
            ".irp" | ".irpc" => {
                let body = self.body(&[".rept", ".rep", ".irp", ".irpc"], &[".endr"], at)?;
                let (name, values) = split_name(uncommented(rest));
                if name.is_empty() {
                    return fail(at, "expected a name");
                }
                if word == ".irp" {
                    let values = arguments(values);
                    self.repeat(body, at, values.iter().map(|v| Some((name, *v))))?;
                } else {
                    let values = unquoted(values);
                    let each = values.char_indices().map(|(i, c)| Some((name, &values[i..i + c.len_utf8()])));
                    self.repeat(body, at, each)?;
                }
            }
            _ => match self.macros.get(word) {
                Some(found) if !rest.starts_with([':', '=']) => {
                    let found = found.clone();
                    self.call(&found, word, uncommented(rest), at)?;
                }
                _ => return self.named(line, at).map(Some),
            },
        }
        Ok(None)
    }

    fn is_ours(&self, word: &str) -> bool {
        matches!(word, ".rept" | ".rep" | ".irp" | ".irpc" | ".macro")
            || word.starts_with(".if")
            || self.macros.contains_key(word)
    }

    /// The lines from here to the directive that ends them; `open` begins a nested one.
    fn body(&mut self, open: &[&str], close: &[&str], at: usize) -> Result<&'a str> {
        let mut text = String::new();
        let mut depth = 1;
        let Some(frame) = self.frames.last_mut() else { return fail(at, "no text") };
        for line in frame.lines.by_ref() {
            frame.number += u32::from(!frame.expansion);
            let (word, _) = first_word(line);
            depth += usize::from(open.contains(&word));
            depth -= usize::from(close.contains(&word));
            if depth == 0 {
                return Ok(self.arena.alloc_str(&text));
            }
            text.push_str(line);
            text.push('\n');
        }
        fail(at, format!("missing {}", close[0]))
    }

    /// `.macro name [parameters]`.
    fn define(&mut self, rest: &'a str, at: usize) -> Result {
        let (name, list) = split_name(uncommented(rest));
        let mut parameters: Vec<Parameter<'a>> = Vec::new();
        let body = self.body(&[".macro"], &[".endm", ".endmacro"], at)?;
        if name.is_empty() {
            return fail(at, "expected a name");
        }
        for text in arguments(list) {
            let (head, default) = match text.split_once('=') {
                Some((head, default)) => (head.trim(), Some(default.trim())),
                None => (text, None),
            };
            let (parameter, kind) = head.split_once(':').unwrap_or((head, ""));
            let (required, rest) = match kind {
                "" => (false, false),
                "req" => (true, false),
                "vararg" => (false, true),
                other => return fail(at, format!("unknown kind of parameter {other}")),
            };
            if parameters.iter().any(|p| p.name == parameter) {
                return fail(at, format!("parameter {parameter} is given twice"));
            }
            if parameters.last().is_some_and(|p| p.rest) {
                return fail(at, "a parameter behind the one that takes the rest");
            }
            parameters.push(Parameter { name: parameter, default, required, rest });
        }
        if self.macros.insert(name, Macro { parameters, body }).is_some() {
            return fail(at, format!("macro {name} is defined twice"));
        }
        Ok(())
    }

    fn call(&mut self, found: &Macro<'a>, name: &str, text: &'a str, at: usize) -> Result {
        let mut values: Vec<Option<&'a str>> = vec![None; found.parameters.len()];
        let mut rest = text;
        let mut next = 0;
        while !rest.is_empty() {
            if found.parameters.get(next).is_some_and(|p| p.rest) {
                values[next] = Some(rest);
                break;
            }
            let (argument, after) = argument(rest);
            rest = after;
            let named = argument.split_once('=').and_then(|(head, value)| {
                Some((found.parameters.iter().position(|p| p.name == head.trim())?, value.trim()))
            });
            let (index, value) = named.unwrap_or((next, argument));
            let Some(slot) = values.get_mut(index) else {
                return fail(at, format!("too many arguments for {name}"));
            };
            if !value.is_empty() {
                *slot = Some(value);
            }
            next = index + 1;
        }
        let mut pairs = Vec::with_capacity(values.len());
        for (parameter, value) in found.parameters.iter().zip(values) {
            if parameter.required && value.is_none() {
                return fail(at, format!("{name} needs an argument for {}", parameter.name));
            }
            let value = value.or(parameter.default).unwrap_or("");
            pairs.push((parameter.name, if parameter.rest { value } else { unquoted(value) }));
        }
        let mut out = String::new();
        substitute(&mut out, found.body, &pairs, self.expanded, None);
        self.expanded += 1;
        self.enter(&out, true, at)
    }

    /// The body once for each of `rounds`, which may give a name a value.
    fn repeat<'v>(
        &mut self,
        body: &str,
        at: usize,
        rounds: impl Iterator<Item = Option<(&'v str, &'v str)>>,
    ) -> Result {
        let mut out = String::new();
        for (round, value) in rounds.enumerate() {
            let pairs: Vec<_> = value.map(|(name, value)| (name, unquoted(value))).into_iter().collect();
            substitute(&mut out, body, &pairs, self.expanded, Some(round as u64));
            if out.len() > TEXT_MAX || round > TEXT_MAX {
                return fail(at, "the repetition makes too much text");
            }
        }
        self.expanded += 1;
        self.enter(&out, false, at)
    }

    /// Goes on with `text`.
    fn enter(&mut self, text: &str, is_macro: bool, at: usize) -> Result {
        self.bytes += text.len();
        if self.bytes > TEXT_MAX {
            return fail(at, "expansions make too much text");
        }
        if self.frames.len() > DEPTH_MAX {
            return fail(at, format!("expansions are nested more than {DEPTH_MAX} deep"));
        }
        let number = self.frames.last().map_or(0, |f| f.number);
        let lines = (*self.arena.alloc_str(text)).lines();
        let conditions = self.conditions.len();
        self.frames.push(Frame { lines, number, expansion: true, conditions, is_macro });
        Ok(())
    }

    /// `.exitm`: the rest of the macro is not read.
    fn exit(&mut self) -> Result {
        let Some(depth) = self.frames.iter().rposition(|f| f.is_macro) else {
            return fail(0, ".exitm outside a macro");
        };
        self.conditions.truncate(self.frames[depth].conditions);
        self.frames.truncate(depth);
        Ok(())
    }

    fn conditional(
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
        self.conditions.push(Condition { active: false, done: !active, last: false, line });
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

    /// `line` with names for numbered labels.
    fn named(&mut self, line: &'a str, at: usize) -> Result<&'a str> {
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

/// A name and what follows it, without a comma between.
fn split_name(text: &str) -> (&str, &str) {
    let (name, rest) = first_word(text);
    (name, rest.trim_start().trim_start_matches(',').trim_start())
}

/// A string's contents, or what is no string.
fn unquoted(text: &str) -> &str {
    match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(inside) if !inside.contains('"') => inside,
        _ => text,
    }
}

/// The first argument of a list, and the rest. Commas separate arguments, and blanks between what is no
/// operator.
fn argument(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let operator = |b: u8| b"+-*/%&|^<>=!~".contains(&b);
    let (mut depth, mut i) = (0i32, 0);
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
fn arguments(mut text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    while !text.is_empty() {
        let (first, rest) = argument(text);
        out.push(first);
        text = rest;
    }
    out
}

/// Appends `body` with values in the place of `\name`, `\@` and, in repetitions, `\+`.
fn substitute(out: &mut String, body: &str, pairs: &[(&str, &str)], expanded: u64, round: Option<u64>) {
    let mut rest = body;
    while let Some(start) = rest.find('\\') {
        out.push_str(&rest[..start]);
        let after = &rest[start + 1..];
        let length = after
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')))
            .unwrap_or(after.len());
        let found = pairs.iter().find(|(name, _)| !name.is_empty() && *name == &after[..length]);
        rest = if let Some(after) = after.strip_prefix("()") {
            after
        } else if let Some(after) = after.strip_prefix('@') {
            let _ = write!(out, "{expanded}");
            after
        } else if let (Some(after), Some(round)) = (after.strip_prefix('+'), round) {
            let _ = write!(out, "{round}");
            after
        } else if let Some((_, value)) = found {
            out.push_str(value);
            &after[length..]
        } else {
            out.push('\\');
            after
        };
    }
    out.push_str(rest);
}

impl<'a> Assembler<'a, '_> {
    /// The number that the expression `text` has here; differences of labels count.
    fn number(&mut self, text: &'a str, line: u32, at: usize) -> Result<i64> {
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
