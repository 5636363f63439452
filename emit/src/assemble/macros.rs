//! Macros, repetitions, conditionals and numbered labels: what makes other lines out of the lines of a file.
//!
//! An [`Expander`] gives the assembler one line after the other. It keeps a stack of texts: the file, files
//! that it includes, and in them the bodies that are being expanded, each written once with its arguments in
//! place. Directives that choose or make lines (`.macro`, `.rept`, `.irp`, `.include`, `.if` and their kin) are
//! obeyed here; what they ask of symbols the assembler answers. `1:`, `1b` and `1f` become private labels.
//!
//! Syntax is LLVM's: `\name`, `\()`, `\@` (macros expanded so far) and `\+` (round of a repetition);
//! arguments separated by commas or blanks, by position or name, with defaults, `:req` and `:vararg`. After
//! `.altmacro`, parameters are replaced without the backslash, `%expression` is an argument's value and `<text>`
//! one argument. Lines of an expansion are reported at the line that asked for it.
//!
//! Cost: linear in the lines that come out, which [`TEXT_MAX`] bounds, so texts that multiply themselves end
//! in an error.

use super::conditional::Condition;
use super::macro_text::{Substitution, argument, arguments, first_word, split_name, uncommented, unquoted};
use super::{Assembler, Result, data, fail, without_block_comments};
use bumpalo::Bump;
use mir::isa::parse::lexer::{Lexer, Token};
use rustc_hash::FxHashMap;

/// Deepest nesting of expansions, as in LLVM.
const DEPTH_MAX: usize = 20;
/// Most bytes that expansions make: a second of work.
pub(super) const TEXT_MAX: usize = 1 << 24;

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
    /// Index of the file that the number counts in.
    file: u32,
    expansion: bool,
    /// Conditionals open when it began.
    conditions: usize,
    is_macro: bool,
}

/// A file with its text; the first one has no name.
pub(super) struct File<'a> {
    pub name: String,
    pub text: &'a str,
}

/// The lines of a file, expanded.
pub(super) struct Expander<'a> {
    pub(super) arena: &'a Bump,
    /// Every file that has been read, by index.
    pub(super) files: Vec<File<'a>>,
    frames: Vec<Frame<'a>>,
    macros: FxHashMap<&'a str, Macro<'a>>,
    pub(super) conditions: Vec<Condition>,
    /// How often each numbered label has been defined.
    pub(super) numbered: FxHashMap<u32, u32>,
    expanded: u64,
    pub(super) bytes: usize,
    /// `.altmacro` is in force.
    alternative: bool,
}

impl<'a> Expander<'a> {
    /// The lines of `text`; what expansions make is kept in `arena`.
    pub(super) fn new(arena: &'a Bump, text: &'a str) -> Self {
        let lines = text.lines();
        let frame = Frame { lines, number: 0, file: 0, expansion: false, conditions: 0, is_macro: false };
        Self {
            arena,
            files: vec![File { name: String::new(), text }],
            frames: vec![frame],
            macros: FxHashMap::default(),
            conditions: Vec::new(),
            numbered: FxHashMap::default(),
            expanded: 0,
            bytes: 0,
            alternative: false,
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

    /// Index of the file that the last line is of.
    pub(super) fn file(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.file)
    }

    /// What is left open at the end of the file: the file and the line where it began, and a message.
    pub(super) fn unfinished(&self) -> Option<(u32, u32, &'static str)> {
        self.conditions.first().map(|c| (c.file, c.line, "missing .endif"))
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
        // Lines of a descriptor are neither chosen nor made, as with LLVM.
        if assembler.open_kernel.is_some() {
            return self.named(line, at).map(Some);
        }
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
            ".include" => self.include(rest, at, assembler)?,
            ".end" => self.frames.clear(),
            ".altmacro" | ".noaltmacro" => self.alternative = word == ".altmacro",
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
                    let values = arguments(values, self.alternative);
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
                    self.call(&found, word, uncommented(rest), at, assembler)?;
                }
                _ => return self.named(line, at).map(Some),
            },
        }
        Ok(None)
    }

    fn is_ours(&self, word: &str) -> bool {
        matches!(word, ".rept" | ".rep" | ".irp" | ".irpc" | ".macro" | ".include" | ".end")
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
        for text in arguments(list, false) {
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

    fn call(
        &mut self,
        found: &Macro<'a>,
        name: &str,
        text: &'a str,
        at: usize,
        assembler: &mut Assembler<'a, '_>,
    ) -> Result {
        let mut values: Vec<Option<&'a str>> = vec![None; found.parameters.len()];
        let mut rest = text;
        let mut next = 0;
        while !rest.is_empty() {
            if found.parameters.get(next).is_some_and(|p| p.rest) {
                values[next] = Some(rest);
                break;
            }
            let (argument, after) = argument(rest, self.alternative);
            rest = after;
            let named = argument.split_once('=').and_then(|(head, value)| {
                Some((found.parameters.iter().position(|p| p.name == head.trim())?, value.trim()))
            });
            let (index, value) = named.unwrap_or((next, argument));
            let Some(slot) = values.get_mut(index) else {
                return fail(at, format!("too many arguments for {name}"));
            };
            if !value.is_empty() {
                *slot = Some(if self.alternative {
                    self.alternative_value(value, at, assembler)?
                } else {
                    value
                });
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
        let substitution =
            Substitution { pairs: &pairs, expanded: self.expanded, round: None, bare: self.alternative };
        substitution.apply(&mut out, found.body);
        self.expanded += 1;
        self.enter(&out, true, at)
    }

    /// An argument after `.altmacro`: the number of `%expression`, the inside of `<text>`.
    fn alternative_value(
        &self,
        value: &'a str,
        at: usize,
        assembler: &mut Assembler<'a, '_>,
    ) -> Result<&'a str> {
        if let Some(expression) = value.strip_prefix('%') {
            let number = assembler.number(expression, self.frames.last().map_or(0, |f| f.number), at)?;
            return Ok(self.arena.alloc_str(&number.to_string()));
        }
        let Some(inside) = value.strip_prefix('<').and_then(|v| v.strip_suffix('>')) else {
            return Ok(value);
        };
        if !inside.contains('!') {
            return Ok(inside);
        }
        // An exclamation mark takes the next character as it is.
        let mut out = String::with_capacity(inside.len());
        let mut chars = inside.chars();
        while let Some(c) = chars.next() {
            out.extend(if c == '!' { chars.next() } else { Some(c) });
        }
        Ok(self.arena.alloc_str(&out))
    }

    /// `.include "file"`.
    fn include(&mut self, rest: &'a str, at: usize, assembler: &Assembler<'a, '_>) -> Result {
        let lexer = Lexer::new(rest);
        let Token::Str(name) = lexer.token else { return fail(at, "expected the name of a file") };
        super::end(&lexer.after())?;
        let name = data::unescape(name).map(|name| String::from_utf8_lossy(&name).into_owned());
        let name = name.or_else(|message| fail(at, message))?;
        let Ok(text) = String::from_utf8(assembler.read_file(&name, at)?) else {
            return fail(at, format!("{name} is not UTF-8"));
        };
        self.room(text.len(), at)?;
        let text: &'a str = self.arena.alloc_str(&without_block_comments(&text));
        let file = self.files.len() as u32;
        self.files.push(File { name, text });
        let conditions = self.conditions.len();
        let lines = text.lines();
        self.frames.push(Frame { lines, number: 0, file, expansion: false, conditions, is_macro: false });
        Ok(())
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
            let round = round as u64;
            let bare = self.alternative;
            Substitution { pairs: &pairs, expanded: self.expanded, round: Some(round), bare }
                .apply(&mut out, body);
            // A round without text costs time, too.
            if self.bytes + out.len() > TEXT_MAX || round > TEXT_MAX as u64 / 4 {
                // Whatever else is repeated must not come this far again.
                self.bytes = TEXT_MAX;
                return fail(at, "the repetition makes too much text");
            }
        }
        self.expanded += 1;
        self.enter(&out, false, at)
    }

    /// Goes on with `text`.
    fn enter(&mut self, text: &str, is_macro: bool, at: usize) -> Result {
        self.room(text.len(), at)?;
        let (number, file) = self.frames.last().map_or((0, 0), |f| (f.number, f.file));
        let lines = (*self.arena.alloc_str(text)).lines();
        let conditions = self.conditions.len();
        self.frames.push(Frame { lines, number, file, expansion: true, conditions, is_macro });
        Ok(())
    }

    /// Checks that `bytes` of text and a level of nesting more are allowed, and counts the bytes.
    fn room(&mut self, bytes: usize, at: usize) -> Result {
        self.bytes = self.bytes.saturating_add(bytes).min(TEXT_MAX + 1);
        if self.bytes > TEXT_MAX {
            return fail(at, "expansions make too much text");
        }
        if self.frames.len() > DEPTH_MAX {
            return fail(at, format!("expansions are nested more than {DEPTH_MAX} deep"));
        }
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
}
