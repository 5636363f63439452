//! The assembler of whole files: directives, labels and sections around [`mir::isa::parse`].
//!
//! One pass over the lines appends bytes to sections and notes what depends on symbols ([`Patch`]);
//! instruction sizes never do, so a label's offset is final when it is read, but for LEB128 numbers of distances that are
//! known later: where their sizes turn out too small, the text is read again ([`leb`]). At the end symbols that are
//! expressions are evaluated ([`symbols`]), the patches are applied or become relocations, kernel descriptors
//! are packed ([`kernel`]), and the object is written by the writer that compiled code uses.
//!
//! What compilers print for AMD GPUs is understood, and what people write: macros, conditionals, repetitions,
//! other files and numbered labels ([`macros`]). Directives are rows of a table ([`directive`]). Those about
//! lines and frames (`.loc`, `.cfi_*`) are read over with a warning: no debug sections are written for them.
//!
//! Cost: linear in the text, apart from the sort of relocations. Every error has line and column; reading
//! goes on after an error, so a file is refused with all that is wrong with it, up to [`MAX_ERRORS`].

mod conditional;
mod data;
mod directive;
mod finish;
mod fragment;
mod kernel;
mod kernel_code;
mod leb;
mod macro_text;
mod macros;
mod metadata;
mod numbered;
mod object_target;
mod padding;
mod predefined;
mod section;
mod subsection;
mod symbols;

use crate::object::S_NOP;
use crate::object::elf::{Image, Section, SectionId};
use mir::diag::SourceLocation;
use mir::isa::parse::lexer::{Lexer, Token};
use mir::isa::parse::{Expr, Failure, FixupKind, Parser};
use mir::target::{Os, Target};
use mir::{Diagnostic, ErrorKind};
use object::elf as raw;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use symbols::Symbols;

pub(crate) use symbols::assumed_extra_sgprs;

pub use fragment::{Fault, Fragment, FragmentReloc, fragment};

/// Errors after which reading stops.
const MAX_ERRORS: usize = 20;

/// Largest section in bytes; also what fills, alignments and files may put into all sections together.
const MAX_SECTION_BYTES: u64 = 1 << 30;

/// The errors of a file.
pub type Errors = Vec<Box<Diagnostic>>;

type Result<T = ()> = std::result::Result<T, Failure>;

fn fail<T>(at: usize, message: impl Into<Cow<'static, str>>) -> Result<T> {
    Err(Failure { at, message: message.into(), kind: ErrorKind::Malformed })
}

/// A failure of something else's making, at a place in the line.
fn at(at: usize) -> impl FnOnce(Box<Diagnostic>) -> Failure {
    move |error| Failure { at, message: error.message.into(), kind: error.kind }
}

/// Reads the file that a directive names; the error says why that fails.
pub type ReadFile<'o> = &'o dyn Fn(&str) -> std::result::Result<Vec<u8>, String>;

/// What the assembler is told besides text and target.
#[derive(Clone, Copy, Default)]
pub struct Options<'o> {
    /// Reads the files of `.include` and `.incbin`, which are refused without it.
    pub read_file: Option<ReadFile<'o>>,
    /// The target's code object version is asked for. Otherwise the text's target id and metadata tell the
    /// version where no `.amdhsa_code_object_version` does, as texts of V3 have none.
    pub version_is_given: bool,
    /// Notes where each line of code went ([`Assembled::lines`]).
    pub note_lines: bool,
    /// Most bytes that fills, alignments and files may make, of which a short text may ask for any number; `None` is 1 GiB.
    pub most_bytes: Option<u64>,
}

/// A line of the text, and the instruction that it became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine {
    /// Line of the text, from 1.
    pub line: u32,
    /// Section.
    pub section: String,
    /// Byte offset in the section.
    pub offset: u64,
}

/// An object with what was to be said on the way.
#[derive(Clone, Debug, Default)]
pub struct Assembled {
    /// The relocatable object.
    pub object: Vec<u8>,
    /// Warnings, in the order of the text.
    pub warnings: Vec<Box<Diagnostic>>,
    /// The texts of `.print`.
    pub printed: Vec<String>,
    /// Instructions in the order of the text, where the options ask for them. Those of included files, and of subsections, which move, are
    /// left out.
    pub lines: Vec<CodeLine>,
}

/// Assembles `text` for `target` and returns the relocatable object; files cannot be included.
///
/// # Errors
/// Those of [`assemble_with`].
pub fn assemble(text: &str, target: &Target) -> std::result::Result<Vec<u8>, Errors> {
    assemble_with(text, target, &Options::default()).map(|assembled| assembled.object)
}

/// Assembles `text` for `target`.
///
/// `.amdhsa_code_object_version` overrides the target's version; `.amdgcn_target` must name its processor.
///
/// # Errors
/// All that is wrong with the text, in its order.
pub fn assemble_with(
    text: &str,
    target: &Target,
    options: &Options<'_>,
) -> std::result::Result<Assembled, Errors> {
    let text = without_block_comments(text);
    let mut layout = leb::Layout::default();
    loop {
        if let Some(assembled) = assemble_laid_out(&text, target, options, &mut layout)? {
            return Ok(assembled);
        }
        layout.check().map_err(|error| vec![error])?;
    }
}

/// The same with the sizes that `layout` has; `None` where they are too small, and `layout` has others.
fn assemble_laid_out(
    text: &str,
    target: &Target,
    options: &Options<'_>,
    layout: &mut leb::Layout,
) -> std::result::Result<Option<Assembled>, Errors> {
    let arena = bumpalo::Bump::new();
    let mut assembler = Assembler::new(target, *options);
    assembler.layout = std::mem::take(layout);
    let mut expander = macros::Expander::new(&arena, text);
    let mut errors: Errors = Vec::new();
    while let Some((line, number)) = expander.next_line() {
        assembler.file = expander.file();
        let expanded = if assembler.open_metadata.is_some() {
            Ok(Some(line))
        } else {
            expander.expand(line, number, &mut assembler)
        };
        let result = expanded.and_then(|line| line.map_or(Ok(()), |line| assembler.line(line, number)));
        if let Err(failure) = result {
            let mut error = failure.diagnostic(line, number);
            if let Some(location) = &mut error.location {
                location.file.clone_from(&expander.files[assembler.file as usize].name);
            }
            errors.push(error);
        }
        if errors.len() >= MAX_ERRORS || assembler.aborted {
            break;
        }
    }
    if let Some((file, line, message)) = expander.unfinished() {
        let file = expander.files[file as usize].name.clone();
        errors.push(Diagnostic::malformed(message).located(SourceLocation { file, line, column: 1 }));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut warnings = Vec::new();
    for (origin, message) in std::mem::take(&mut assembler.warnings) {
        warnings.push(Diagnostic::unsupported(message).located(origin.location(&expander.files)));
    }
    let printed = std::mem::take(&mut assembler.printed);
    let lines = assembler.code_lines();
    match assembler.finish(&expander.files)? {
        finish::Finished::Object(object) => Ok(Some(Assembled { object, warnings, printed, lines })),
        finish::Finished::Again(larger) => {
            *layout = larger;
            Ok(None)
        }
    }
}

/// `text` with spaces in place of `/* */` comments, which may span lines.
fn without_block_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = comment_start(rest) {
        let (before, comment) = rest.split_at(start);
        let end = comment.find("*/").map_or(comment.len(), |n| n + 2);
        out.push_str(before);
        out.extend(comment[..end].chars().map(|c| if c == '\n' { c } else { ' ' }));
        rest = &comment[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Where the first block comment of `text` starts; strings and line comments hold none.
fn comment_start(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match (bytes[i], bytes.get(i + 1)) {
            (b'/', Some(b'*')) => return Some(i),
            (b';', _) | (b'/', Some(b'/')) => i += text[i..].find('\n')?,
            (b'"', _) => {
                i += 1;
                while i < bytes.len() && !matches!(bytes[i], b'"' | b'\n') {
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
                i += 1;
            }
            _ => i += 1,
        }
    }
    None
}

/// A place in the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    section: SectionId,
    offset: u64,
}

/// A place in the text.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// Index of the file.
    file: u32,
    line: u32,
    at: usize,
}

impl Origin {
    /// The place as diagnostics have it.
    fn location(self, files: &[macros::File<'_>]) -> SourceLocation {
        let file = files.get(self.file as usize);
        let text = file.and_then(|file| file.text.lines().nth(self.line.saturating_sub(1) as usize));
        let before = text.and_then(|line| line.get(..self.at));
        let column = before.map_or(0, |before| before.chars().count() as u32 + 1);
        SourceLocation { file: file.map_or_else(String::new, |f| f.name.clone()), line: self.line, column }
    }
}

/// An expression with what its `.` means and where it is written.
#[derive(Clone, Debug)]
struct Value<'a> {
    expr: Expr<'a>,
    here: Place,
    origin: Origin,
}

/// What a patch fills in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PatchKind {
    /// Data of so many bytes.
    Data(u8),
    /// The literal dword of an instruction.
    Literal,
    /// The distance in the first half of a branch at the place.
    Branch,
}

/// Bytes that depend on symbols.
#[derive(Clone, Debug)]
struct Patch<'a> {
    kind: PatchKind,
    place: Place,
    value: Value<'a>,
}

/// State between two lines.
struct Assembler<'a, 't> {
    target: Target,
    options: Options<'t>,
    /// What the text says about the object's target.
    stated: object_target::Stated,
    /// Index of the file that is being read.
    file: u32,
    parser: Parser<'t>,
    image: Image,
    sections: FxHashMap<section::Key<'a>, SectionId>,
    groups: section::Groups,
    current: SectionId,
    previous: SectionId,
    pushed: Vec<(SectionId, SectionId)>,
    symbols: Symbols<'a>,
    patches: Vec<Patch<'a>>,
    /// LEB128 numbers that are known at the end.
    lebs: Vec<leb::Leb<'a>>,
    /// Their sizes, and what stands behind branches.
    layout: leb::Layout,
    /// Branches to labels so far.
    branches: u32,
    kernels: Vec<kernel::Kernel<'a>>,
    /// Symbols that count registers.
    counts: predefined::Counts,
    /// `.reloc` directives.
    relocs: Vec<data::Reloc<'a>>,
    /// Sections that are parts of others.
    subsections: Vec<subsection::Subsection>,
    /// The kernel whose `.amdhsa_` directives are being read.
    open_kernel: Option<kernel::Kernel<'a>>,
    /// The lines of `.amdgpu_metadata` that are being read.
    open_metadata: Option<metadata::Open<'a>>,
    /// The `.amd_kernel_code_t` that is being read.
    open_header: Option<kernel_code::Header<'a>>,
    /// Those that have been read.
    headers: Vec<kernel_code::Header<'a>>,
    /// Instructions with their offsets, where somebody wants them.
    collected: Option<Vec<(u64, mir::machine::Inst)>>,
    /// Lines of the text itself that became instructions, where the options ask for them.
    lines: Vec<(u32, Place)>,
    warnings: Vec<(Origin, String)>,
    /// Bytes so far that the text does not spell out.
    multiplied: u64,
    /// Kinds of warnings that have been given.
    warned: FxHashSet<&'static str>,
    printed: Vec<String>,
    /// `.abort` has been read.
    aborted: bool,
}

impl<'a, 't> Assembler<'a, 't> {
    fn new(target: &'t Target, options: Options<'t>) -> Self {
        let mut image = Image::default();
        let mut text = Section::new(".text", raw::SHT_PROGBITS, raw::SHF_ALLOC | raw::SHF_EXECINSTR);
        text.align = 4;
        let current = image.add_section(text);
        let mut symbols = Symbols::default();
        let counts = predefined::define(&mut symbols, target);
        Self {
            target: *target,
            options,
            stated: object_target::Stated::default(),
            file: 0,
            parser: Parser::new(target),
            image,
            sections: FxHashMap::from_iter([(section::Key::plain(Cow::Borrowed(".text")), current)]),
            groups: section::Groups::default(),
            current,
            previous: current,
            pushed: Vec::new(),
            symbols,
            patches: Vec::new(),
            lebs: Vec::new(),
            layout: leb::Layout::default(),
            branches: 0,
            kernels: Vec::new(),
            counts,
            relocs: Vec::new(),
            subsections: Vec::new(),
            open_kernel: None,
            open_metadata: None,
            open_header: None,
            headers: Vec::new(),
            collected: None,
            lines: Vec::new(),
            warnings: Vec::new(),
            multiplied: 0,
            warned: FxHashSet::default(),
            printed: Vec::new(),
            aborted: false,
        }
    }

    fn section(&mut self) -> &mut Section {
        &mut self.image.sections[self.current.0]
    }

    fn here(&mut self) -> Place {
        Place { section: self.current, offset: self.section().size() }
    }

    fn origin(&self, line: u32, at: usize) -> Origin {
        Origin { file: self.file, line, at }
    }

    /// Warns of `kind`, once.
    fn warn_once(&mut self, kind: &'static str, line: u32, at: usize) {
        if self.warned.insert(kind) {
            self.warnings.push((self.origin(line, at), kind.to_owned()));
        }
    }

    /// The contents of the file called `name`.
    fn read_file(&self, name: &str, at: usize) -> Result<Vec<u8>> {
        let Some(read) = self.options.read_file else { return fail(at, "files cannot be read here") };
        read(name).or_else(|reason| fail(at, format!("cannot read {name}: {reason}")))
    }

    fn switch_to(&mut self, section: SectionId) {
        self.previous = self.current;
        self.current = section;
    }

    fn line(&mut self, text: &'a str, number: u32) -> Result {
        if let Some(open) = &mut self.open_metadata {
            if macro_text::first_word(text).0 == open.kind.end {
                return self.end_metadata();
            }
            open.lines.push(text);
            return Ok(());
        }
        if self.open_header.is_some() {
            return self.header_line(text, number);
        }
        let mut lexer = Lexer::new(text);
        loop {
            let at = lexer.start;
            let (name, next) = match lexer.token {
                Token::End => return Ok(()),
                // Preprocessors leave line markers.
                Token::Op(b'#') => return Ok(()),
                Token::Name(name) | Token::Str(name) => (name, lexer.after()),
                // `.2byte` begins as a number does.
                Token::Bad(_) if lexer.text().starts_with('.') => (lexer.text(), lexer.after()),
                _ => return fail(at, "expected a label, a directive or an instruction"),
            };
            match next.token {
                _ if self.open_kernel.is_some() => {
                    lexer = next;
                    return self.directive_of_kernel(name, &mut lexer, number, at);
                }
                Token::Op(b':') => {
                    let here = self.here();
                    self.symbols.define(name, here).or_else(|message| fail(at, message))?;
                    lexer = next.after();
                    continue;
                }
                Token::Op(b'=') => {
                    lexer = next.after();
                    return self.assign(name, &mut lexer, number, at);
                }
                _ if name.starts_with('.') => {
                    lexer = next;
                    return self.directive(name, &mut lexer, number, at);
                }
                _ => return self.instruction(text, at, number),
            }
        }
    }

    /// Assembles the instruction that begins at byte `from` of `text`.
    fn instruction(&mut self, text: &'a str, from: usize, line: u32) -> Result {
        let symbols = &self.symbols;
        let parsed = self.parser.parse_at(text, from, &|name| symbols.constant(name))?;
        let section = self.image.sections[self.current.0].kind;
        if section == raw::SHT_NOBITS {
            return fail(from, "instruction in a section without contents");
        }
        let place = self.here();
        if self.options.note_lines && self.file == 0 {
            self.lines.push((line, place));
        }
        for word in &parsed.words {
            self.section().data.extend_from_slice(&word.to_le_bytes());
        }
        if let Some(collected) = &mut self.collected {
            collected.push((place.offset, parsed.inst.clone()));
        }
        self.count_registers(&parsed.inst);
        if let Some(fixup) = parsed.fixup {
            let (kind, distance) = match fixup.kind {
                FixupKind::Branch => (PatchKind::Branch, 0),
                FixupKind::Literal(index) => (PatchKind::Literal, 4 * u64::from(index)),
            };
            let value = Value { expr: fixup.expr, here: place, origin: self.origin(line, from) };
            let place = Place { offset: place.offset + distance, ..place };
            self.patches.push(Patch { kind, place, value });
            if kind == PatchKind::Branch {
                self.pad_branch();
            }
        }
        Ok(())
    }

    /// Where the lines of the text went, which are asked for.
    fn code_lines(&mut self) -> Vec<CodeLine> {
        let is_part = |section| self.subsections.iter().any(|part| part.section == section);
        let whole = |(_, place): &(u32, Place)| !is_part(place.section);
        let noted = std::mem::take(&mut self.lines);
        let name = |section: SectionId| self.image.sections[section.0].name.clone();
        let line = |(line, Place { section, offset })| CodeLine { line, section: name(section), offset };
        noted.into_iter().filter(whole).map(line).collect()
    }

    /// `name = expression`.
    fn assign(&mut self, name: &'a str, lexer: &mut Lexer<'a>, line: u32, at: usize) -> Result {
        let value = self.value(lexer, line)?;
        end(lexer)?;
        if name == "." {
            return fail(at, "the location counter cannot be assigned");
        }
        self.symbols.equate(name, value).or_else(|message| fail(at, message))
    }

    /// Reads an expression.
    fn value(&mut self, lexer: &mut Lexer<'a>, line: u32) -> Result<Value<'a>> {
        let origin = self.origin(line, lexer.start);
        let here = self.here();
        let symbols = &self.symbols;
        let expr = mir::isa::parse::expr::parse(lexer, &|name| symbols.constant(name), false)?;
        Ok(Value { expr, here, origin })
    }

    /// Reads an expression whose value is known already.
    fn constant(&mut self, lexer: &mut Lexer<'a>) -> Result<i64> {
        let at = lexer.start;
        match self.value(lexer, 0)?.expr.constant() {
            Some(value) => Ok(value),
            None => fail(at, "expected an absolute expression"),
        }
    }

    /// Pads the current section to a multiple of `align` with `fill`, or, without it, code with `s_nop 0` and
    /// data with zeros. Where the fill does not come out even, zeros stand before it.
    fn align(&mut self, align: u64, fill: Option<&[u8]>, at: usize) -> Result {
        let section = self.section();
        let end = section.size().checked_next_multiple_of(align);
        let Some(end) = end.filter(|&end| end <= MAX_SECTION_BYTES) else {
            return fail(at, "alignment makes the section too large");
        };
        let missing = if section.is_nobits() { 0 } else { end - section.size() };
        self.multiply(missing, at)?;
        let section = self.section();
        let code = section.flags.contains(raw::SHF_EXECINSTR);
        let fill = fill.unwrap_or(if code { &S_NOP } else { &[0] });
        if !section.is_nobits() {
            let odd = (end - section.size()) as usize % fill.len().max(1);
            section.data.resize(section.data.len() + odd, 0);
        }
        section.align_to(align, fill);
        Ok(())
    }

    fn is_hsa(&self) -> bool {
        self.target.os == Os::AmdHsa
    }
}

/// Checks that the line ends here.
fn end(lexer: &Lexer<'_>) -> Result {
    if lexer.at_end() { Ok(()) } else { fail(lexer.start, "unexpected text at the end of the line") }
}

#[cfg(test)]
mod directive_tests;
#[cfg(test)]
mod macro_tests;
#[cfg(test)]
mod object_tests;
#[cfg(test)]
mod tests;
