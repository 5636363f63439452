//! Directives that choose a section.

use super::{Assembler, Result, end, fail};
use crate::object::elf::{Section, SectionId};
use mir::isa::parse::lexer::{Lexer, Token};
use object::elf as raw;
use std::borrow::Cow;

/// Flags of `.section` by their letters. Merging equal strings is an optimisation and left out.
const FLAGS: [(u8, raw::SectionFlags); 8] = [
    (b'a', raw::SHF_ALLOC),
    (b'w', raw::SHF_WRITE),
    (b'x', raw::SHF_EXECINSTR),
    (b'e', raw::SHF_EXCLUDE),
    (b'T', raw::SHF_TLS),
    (b'R', raw::SHF_GNU_RETAIN),
    (b'M', raw::SectionFlags(0)),
    (b'S', raw::SectionFlags(0)),
];

/// Types of `.section` by name.
const TYPES: [(&str, raw::SectionType); 6] = [
    ("progbits", raw::SHT_PROGBITS),
    ("nobits", raw::SHT_NOBITS),
    ("note", raw::SHT_NOTE),
    ("init_array", raw::SHT_INIT_ARRAY),
    ("fini_array", raw::SHT_FINI_ARRAY),
    ("preinit_array", raw::SHT_PREINIT_ARRAY),
];

/// Types and flags of sections that are named without them; a name that begins so and goes on behind a point
/// is meant too.
const NAMED: [(&str, raw::SectionType, u64); 10] = [
    (".text", raw::SHT_PROGBITS, raw::SHF_ALLOC.0 | raw::SHF_EXECINSTR.0),
    (".data", raw::SHT_PROGBITS, raw::SHF_ALLOC.0 | raw::SHF_WRITE.0),
    (".bss", raw::SHT_NOBITS, raw::SHF_ALLOC.0 | raw::SHF_WRITE.0),
    (".rodata", raw::SHT_PROGBITS, raw::SHF_ALLOC.0),
    (".tdata", raw::SHT_PROGBITS, raw::SHF_ALLOC.0 | raw::SHF_WRITE.0 | raw::SHF_TLS.0),
    (".tbss", raw::SHT_NOBITS, raw::SHF_ALLOC.0 | raw::SHF_WRITE.0 | raw::SHF_TLS.0),
    (".init_array", raw::SHT_INIT_ARRAY, raw::SHF_ALLOC.0 | raw::SHF_WRITE.0),
    (".fini_array", raw::SHT_FINI_ARRAY, raw::SHF_ALLOC.0 | raw::SHF_WRITE.0),
    (".preinit_array", raw::SHT_PREINIT_ARRAY, raw::SHF_ALLOC.0 | raw::SHF_WRITE.0),
    (".note", raw::SHT_NOTE, 0),
];

impl<'a> Assembler<'a, '_> {
    /// A directive that is the name of a section; a number behind it chooses a part.
    pub(super) fn section_shorthand(
        &mut self,
        name: &'a str,
        kind: raw::SectionType,
        flags: raw::SectionFlags,
        lexer: &mut Lexer<'a>,
    ) -> Result {
        let part = if lexer.at_end() { 0 } else { self.subsection_number(lexer)? };
        end(lexer)?;
        let section = match self.sections.get(name) {
            Some(&section) => section,
            None => self.new_section(Cow::Borrowed(name), kind, flags),
        };
        let section = self.subsection(section, part);
        self.switch_to(section);
        Ok(())
    }

    /// The section called `name`, made if there is none with the type and flags that its name implies.
    pub(super) fn section_called(&mut self, name: Cow<'a, str>) -> SectionId {
        if let Some(&id) = self.sections.get(&name) {
            return id;
        }
        let is = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let (kind, flags) = match NAMED.iter().find(|(prefix, ..)| is(prefix)) {
            Some(&(_, kind, flags)) => (kind, flags),
            None => (raw::SHT_PROGBITS, 0),
        };
        self.new_section(name, kind, raw::SectionFlags(flags))
    }

    fn new_section(
        &mut self,
        name: Cow<'a, str>,
        kind: raw::SectionType,
        flags: raw::SectionFlags,
    ) -> SectionId {
        let mut section = Section::new(name.as_ref(), kind, flags);
        if flags.contains(raw::SHF_EXECINSTR) {
            section.align = 4;
        }
        let id = self.image.add_section(section);
        self.sections.insert(name, id);
        id
    }

    /// `.section name [, "flags" [, @type [, entry size]]]`. Groups are refused.
    pub(super) fn section_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let (name, _) = symbol_name(lexer)?;
        let mut flags = None;
        let mut kind = None;
        if lexer.skip(b',') {
            let Token::Str(letters) = lexer.token else { return fail(lexer.start, "expected section flags") };
            let mut set = raw::SectionFlags(0);
            for letter in letters.bytes() {
                let Some((_, flag)) = FLAGS.iter().find(|(known, _)| *known == letter) else {
                    let message = format!("section flag {} is not supported", char::from(letter));
                    return fail(lexer.start, message);
                };
                set |= *flag;
            }
            flags = Some(set);
            lexer.step();
            if lexer.skip(b',') {
                kind = Some(section_type(lexer)?);
                if lexer.skip(b',') {
                    self.constant(lexer)?;
                }
            }
        }
        end(lexer)?;
        let known = self.sections.contains_key(name);
        let id = match (known, flags) {
            (false, Some(flags)) => {
                let kind = kind.unwrap_or(if name.starts_with(".bss") {
                    raw::SHT_NOBITS
                } else {
                    raw::SHT_PROGBITS
                });
                self.new_section(Cow::Borrowed(name), kind, flags)
            }
            _ => self.section_called(Cow::Borrowed(name)),
        };
        self.switch_to(id);
        Ok(())
    }
}

/// The name here, which may be quoted, and its place.
pub(super) fn symbol_name<'a>(lexer: &mut Lexer<'a>) -> Result<(&'a str, usize)> {
    let at = lexer.start;
    match lexer.token {
        Token::Name(name) | Token::Str(name) => {
            lexer.step();
            Ok((name, at))
        }
        _ => fail(at, "expected a name"),
    }
}

/// Steps over a comma.
pub(super) fn comma(lexer: &mut Lexer<'_>) -> Result {
    if lexer.skip(b',') { Ok(()) } else { fail(lexer.start, "expected a comma") }
}

fn section_type(lexer: &mut Lexer<'_>) -> Result<raw::SectionType> {
    let _ = lexer.skip(b'@') || lexer.skip(b'%');
    let (Token::Name(name) | Token::Str(name)) = lexer.token else {
        return fail(lexer.start, "expected a section type");
    };
    let kind = match TYPES.iter().find(|(known, _)| *known == name) {
        Some(&(_, kind)) => kind,
        None if name.starts_with("llvm_") => raw::SHT_PROGBITS,
        None => return fail(lexer.start, "unknown section type"),
    };
    lexer.step();
    Ok(kind)
}
