//! Directives that choose a section.

use super::symbols::{Definition, SymbolId};
use super::{Assembler, Place, Result, end, fail};
use crate::object::elf::{Section, SectionId};
use mir::isa::parse::lexer::{Lexer, Token};
use object::elf as raw;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Flags of `.section` by their letters.
const FLAGS: [(u8, raw::SectionFlags); 10] = [
    (b'a', raw::SHF_ALLOC),
    (b'w', raw::SHF_WRITE),
    (b'x', raw::SHF_EXECINSTR),
    (b'e', raw::SHF_EXCLUDE),
    (b'T', raw::SHF_TLS),
    (b'R', raw::SHF_GNU_RETAIN),
    (b'M', raw::SHF_MERGE),
    (b'S', raw::SHF_STRINGS),
    // The writer of the object sets the flag of sections in groups.
    (b'G', raw::SectionFlags(0)),
    (b'o', raw::SHF_LINK_ORDER),
];

/// Flags as Sun's assembler wrote them, and LLVM up to version 18 for these processors.
const WORDS: [(&str, raw::SectionFlags); 5] = [
    ("alloc", raw::SHF_ALLOC),
    ("execinstr", raw::SHF_EXECINSTR),
    ("write", raw::SHF_WRITE),
    ("tls", raw::SHF_TLS),
    ("exclude", raw::SHF_EXCLUDE),
];

/// What tells sections apart: those of one name are one, unless they are of other groups or called `unique`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key<'a> {
    name: Cow<'a, str>,
    group: Option<SymbolId>,
    unique: Option<i64>,
}

impl<'a> Key<'a> {
    /// The section of this name in no group.
    pub(super) fn plain(name: Cow<'a, str>) -> Self {
        Self { name, group: None, unique: None }
    }
}

/// A section group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The symbol that names it.
    pub signature: SymbolId,
    /// Of all objects' groups of this name, one is kept.
    pub comdat: bool,
    /// Its sections in the order of their creation.
    pub members: Vec<SectionId>,
}

/// All section groups.
#[derive(Default)]
pub(super) struct Groups {
    pub all: Vec<Group>,
    by_signature: FxHashMap<SymbolId, usize>,
    by_member: FxHashMap<SectionId, usize>,
}

impl Groups {
    /// Puts `section` into the group called `signature`.
    fn add(&mut self, signature: SymbolId, comdat: bool, section: SectionId) {
        let new = self.all.len();
        let number = *self.by_signature.entry(signature).or_insert(new);
        if number == new {
            self.all.push(Group { signature, comdat, members: Vec::new() });
        }
        self.all[number].members.push(section);
        self.by_member.insert(section, number);
    }

    /// The group of `section`.
    fn of(&self, section: SectionId) -> Option<&Group> {
        self.all.get(*self.by_member.get(&section)?)
    }
}

/// What stands behind the name in `.section`.
#[derive(Default)]
struct Attributes {
    flags: Option<raw::SectionFlags>,
    kind: Option<raw::SectionType>,
    entry_size: u64,
    /// The signature, and whether the group is COMDAT.
    group: Option<(SymbolId, bool)>,
    link: Option<SectionId>,
    unique: Option<i64>,
}

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
        let key = Key::plain(Cow::Borrowed(name));
        let section = match self.sections.get(&key) {
            Some(&section) => section,
            None => self.new_section(key, kind, flags),
        };
        let section = self.subsection(section, part);
        self.switch_to(section);
        Ok(())
    }

    /// The section called `name`, made if there is none with the type and flags that its name implies.
    pub(super) fn section_called(&mut self, name: Cow<'a, str>) -> SectionId {
        let key = Key::plain(name);
        if let Some(&id) = self.sections.get(&key) {
            return id;
        }
        let (kind, flags) = implied(&key.name);
        self.new_section(key, kind, flags)
    }

    fn new_section(&mut self, key: Key<'a>, kind: raw::SectionType, flags: raw::SectionFlags) -> SectionId {
        let mut section = Section::new(key.name.as_ref(), kind, flags);
        if flags.contains(raw::SHF_EXECINSTR) {
            section.align = 4;
        }
        let id = self.image.add_section(section);
        self.sections.insert(key, id);
        id
    }

    /// `.section name [, "flags" [, @type [, entry size] [, group [, comdat]] [, linked symbol] [, unique, number]]]`;
    /// flags `M`, `G` and `o` say which of these there are. Or
    /// `.section name, #flag, ...`.
    pub(super) fn section_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let (name, _) = symbol_name(lexer)?;
        let name = Cow::Borrowed(name);
        let mut given = Attributes::default();
        if lexer.skip(b',') {
            given = self.section_attributes(lexer)?;
        }
        end(lexer)?;
        let Some(flags) = given.flags else {
            let id = self.section_called(name);
            self.switch_to(id);
            return Ok(());
        };
        let key = Key { name, group: given.group.map(|(signature, _)| signature), unique: given.unique };
        let id = match self.sections.get(&key) {
            Some(&id) => id,
            None => {
                let (implied_kind, _) = implied(&key.name);
                let id = self.new_section(key, given.kind.unwrap_or(implied_kind), flags);
                let section = &mut self.image.sections[id.0];
                (section.entry_size, section.link) = (given.entry_size, given.link);
                if let Some((signature, comdat)) = given.group {
                    self.groups.add(signature, comdat, id);
                }
                id
            }
        };
        self.switch_to(id);
        Ok(())
    }

    /// What follows the comma behind a section's name.
    fn section_attributes(&mut self, lexer: &mut Lexer<'a>) -> Result<Attributes> {
        let mut given = Attributes::default();
        if lexer.token == Token::Op(b'#') {
            given.flags = Some(flag_words(lexer)?);
            return Ok(given);
        }
        let letters_at = lexer.start;
        let Token::Str(letters) = lexer.token else { return fail(letters_at, "expected section flags") };
        let mut flags = raw::SectionFlags(0);
        for letter in letters.bytes() {
            match FLAGS.iter().find(|(known, _)| *known == letter) {
                Some((_, flag)) => flags |= *flag,
                None if letter == b'?' => {
                    given.group = self.groups.of(self.current).map(|group| (group.signature, group.comdat));
                }
                None => {
                    let message = format!("section flag {} is not supported", char::from(letter));
                    return fail(letters_at, message);
                }
            }
        }
        given.flags = Some(flags);
        let in_group = letters.contains('G');
        if in_group && letters.contains('?') {
            return fail(letters_at, "a section of a group of its own and of that before");
        }
        lexer.step();
        if lexer.skip(b',') {
            given.kind = Some(section_type(lexer)?);
        }
        if flags.contains(raw::SHF_MERGE) {
            comma(lexer)?;
            let at = lexer.start;
            given.entry_size = match u64::try_from(self.constant(lexer)?) {
                Ok(size @ 1..) => size,
                _ => return fail(at, "the size of an entry is not positive"),
            };
        }
        if in_group {
            comma(lexer)?;
            let (signature, _) = symbol_name(lexer)?;
            let comdat = self.next_is(lexer, "comdat");
            if comdat {
                lexer.step();
                lexer.step();
            }
            given.group = Some((self.symbols.get(signature), comdat));
        }
        if flags.contains(raw::SHF_LINK_ORDER) {
            comma(lexer)?;
            given.link = self.linked_section(lexer)?;
        }
        if self.next_is(lexer, "unique") {
            lexer.step();
            lexer.step();
            comma(lexer)?;
            let at = lexer.start;
            given.unique = match self.constant(lexer)? {
                number @ 0..=0xffff_fffe => Some(number),
                _ => return fail(at, "the number of a unique section is out of range"),
            };
        }
        Ok(given)
    }

    /// Makes symbols that nothing defines and that are called like sections mean the sections.
    pub(super) fn name_sections(&mut self) {
        for (key, &section) in &self.sections {
            if key.group.is_some() || key.unique.is_some() {
                continue;
            }
            let id = self.symbols.get(key.name.clone());
            let symbol = self.symbols.of(id);
            if matches!(symbol.definition, Definition::Undefined) {
                symbol.definition = Definition::Label(Place { section, offset: 0 });
                symbol.predefined = true;
            }
        }
    }

    /// Whether a comma and `word` come next.
    fn next_is(&self, lexer: &Lexer<'a>, word: &str) -> bool {
        lexer.token == Token::Op(b',') && lexer.after().token == Token::Name(word)
    }

    /// The section of the symbol here; 0 is none.
    fn linked_section(&mut self, lexer: &mut Lexer<'a>) -> Result<Option<SectionId>> {
        let at = lexer.start;
        if lexer.token == Token::Int(0) {
            lexer.step();
            return Ok(None);
        }
        let (name, _) = symbol_name(lexer)?;
        let id = self.symbols.get(name);
        match (self.symbols.label(id), self.sections.get(&Key::plain(Cow::Borrowed(name)))) {
            (Some(place), _) => Ok(Some(place.section)),
            (None, Some(&section)) => Ok(Some(section)),
            (None, None) => fail(at, format!("{name} is in no section")),
        }
    }
}

/// `#alloc, #write`.
fn flag_words(lexer: &mut Lexer<'_>) -> Result<raw::SectionFlags> {
    let mut flags = raw::SectionFlags(0);
    loop {
        let at = lexer.start;
        let word = if lexer.skip(b'#') { lexer.token } else { Token::End };
        let Token::Name(word) = word else { return fail(at, "expected a flag behind #") };
        match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, flag)) => flags |= *flag,
            None => return fail(at, format!("section flag #{word} is not supported")),
        }
        lexer.step();
        if !lexer.skip(b',') {
            return Ok(flags);
        }
    }
}

/// Type and flags of a section by its name.
fn implied(name: &str) -> (raw::SectionType, raw::SectionFlags) {
    let is =
        |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    match NAMED.iter().find(|(prefix, ..)| is(prefix)) {
        Some(&(_, kind, flags)) => (kind, raw::SectionFlags(flags)),
        None => (raw::SHT_PROGBITS, raw::SectionFlags(0)),
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
