//! Links relocatable objects and archives of them into one loadable code object, in process.
//!
//! ```text
//! input      objects and members of archives, checked
//! resolve    what each name means
//! kernels    registers, stack and LDS of kernels over calls between objects; one note of metadata
//! merge      strings and constants that occur twice
//! dynamic    what is left to the loader: addresses table, relocations, symbols
//! layout     output sections, addresses, segments
//! contents   bytes of the sections, relocations applied
//! ```
//!
//! [`link_relocatable`] joins objects to one that can be linked again ([`partial`]).
//!
//! The result is what AMD's runtimes load: a shared object (`ET_DYN`) whose segments follow LLVM's linker, with notes in a segment of type
//! `PT_NOTE`, dynamic symbols and both hash tables. It depends on inputs and options alone. Cost: linear in the size of the inputs.
//!
//! Sources: System V ABI, "Object Files" and "Program Loading and Dynamic Linking"; AMDGPU usage guide, "ELF Code Object".

mod contents;
mod dynamic;
mod exports;
mod input;
mod kernels;
mod layout;
mod live;
mod merge;
mod partial;
mod resolve;
mod tables;

use dynamic::{DynamicSymbols, Referent};
use input::{InputObject, Place};
use layout::{OutputSection, Sections};
use merge::Purpose;
use mir::{Diagnostic, Result};
use resolve::{Definition, Lazy, Reserved, SymbolId, Symbols};
use rustc_hash::FxHashMap;

pub use exports::Exports;
pub use partial::link_relocatable;

/// Most bytes of an input section and of the result.
const IMAGE_MAX: u64 = 1 << 31;

/// A file to be linked.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// For messages.
    pub name: &'a str,
    /// A relocatable object, or an archive of such.
    pub bytes: &'a [u8],
    /// Of an archive: take all members, not only those that are needed.
    pub whole_archive: bool,
}

/// What to do about names that nothing defines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Undefined {
    /// Refuse them, but for weak ones, whose address is 0.
    #[default]
    Error,
    /// Leave them to the loader.
    Allow,
}

/// What symbols to leave out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strip {
    /// None.
    #[default]
    None,
    /// Debug information.
    Debug,
    /// Debug information and the symbol table; what the loader needs stays.
    All,
}

/// How the result is named by a note.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum BuildId {
    /// Not at all.
    #[default]
    None,
    /// By so many bytes of a hash of its contents, at most 20 (SHA-1).
    Hash(usize),
    /// By these bytes.
    Bytes(Vec<u8>),
}

/// What to do about strings and constants that occur more than once, where their sections allow to join them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Merge {
    /// Nothing, unless the result is linked again.
    Nothing,
    /// Keep the first.
    #[default]
    Equal,
    /// And keep none that another string ends with.
    Tails,
}

/// Options of [`link`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkOptions {
    /// Name of the shared object (`DT_SONAME`).
    pub soname: Option<String>,
    /// Names that nothing defines.
    pub undefined: Undefined,
    /// References to what the object defines itself never mean another object's definition (`-Bsymbolic`).
    pub symbolic: bool,
    /// The same for functions (`-Bsymbolic-functions`).
    pub symbolic_functions: bool,
    /// Drop sections that nothing leads to from what the result offers.
    pub gc_sections: bool,
    /// Strings and constants that occur more than once.
    pub merge: Merge,
    /// Symbols and debug information.
    pub strip: Strip,
    /// Note that names the result.
    pub build_id: BuildId,
    /// What a version script leaves of the names that the result offers.
    pub exports: Option<Exports>,
}

/// Everything known about the program, and where it is.
struct Program<'a> {
    objects: Vec<InputObject<'a>>,
    symbols: Symbols<'a>,
    sections: Vec<OutputSection>,
    /// By object and section: output section and offset in it.
    places: Vec<Vec<Option<(usize, u64)>>>,
    /// Zeroed memory that the linker makes: output section and offset.
    common: FxHashMap<SymbolId, (usize, u64)>,
    /// LDS addresses.
    lds: FxHashMap<Referent, u64>,
}

impl Program<'_> {
    fn of_object(&self, object: usize, symbol: usize) -> u64 {
        match self.objects[object].symbols[symbol].place {
            Place::Section(section, offset) => self.places[object][section]
                .map_or(0, |(output, at)| self.sections[output].address + at + offset),
            Place::Joined { object, section, offset } => self.places[object][section]
                .map_or(0, |(output, at)| self.sections[output].address + at + offset),
            Place::Absolute(value) => value,
            Place::Lds(_) => self.lds.get(&Referent::Local(object, symbol)).copied().unwrap_or(0),
            Place::Undefined | Place::Common(_) => 0,
        }
    }

    /// Address of what a relocation refers to; 0 where nothing defines it.
    fn address(&self, referent: Referent) -> u64 {
        let id = match referent {
            Referent::Local(object, symbol) => return self.of_object(object, symbol),
            Referent::Global(id) => id,
        };
        let symbol = &self.symbols.list[id];
        match symbol.definition {
            Definition::Undefined => 0,
            Definition::Object(object, number) => self.of_object(object, number),
            Definition::Common { .. } => {
                self.common.get(&id).map_or(0, |&(output, offset)| self.sections[output].address + offset)
            }
            Definition::Lds { .. } => self.lds.get(&referent).copied().unwrap_or(0),
            Definition::Linker(reserved) => self.reserved(symbol.name, reserved),
        }
    }

    /// Address of a symbol that the linker defines; that of the file's header where its section is not there.
    fn reserved(&self, name: &str, reserved: Reserved) -> u64 {
        self.reserved_section(name, reserved).map_or(0, |section| {
            let section = &self.sections[section];
            section.address + if reserved == Reserved::Stop { section.size } else { 0 }
        })
    }

    fn reserved_section(&self, name: &str, reserved: Reserved) -> Option<usize> {
        let named = match reserved {
            Reserved::FileHeader => return None,
            Reserved::Dynamic => ".dynamic",
            Reserved::GlobalOffsetTable => ".got",
            Reserved::Start | Reserved::Stop => resolve::bound_section(name)?.0,
        };
        self.sections.iter().position(|s| s.name == named)
    }

    /// Whether `id` is a number and no place.
    fn is_absolute(&self, id: SymbolId) -> bool {
        match self.symbols.list[id].definition {
            Definition::Object(object, number) => {
                matches!(self.objects[object].symbols[number].place, Place::Absolute(_))
            }
            _ => false,
        }
    }

    /// Output section of an object's symbol, for the symbol tables.
    fn section_of(&self, id: SymbolId) -> Option<usize> {
        match self.symbols.list[id].definition {
            Definition::Object(object, number) => match self.objects[object].symbols[number].place {
                Place::Section(section, _) => self.places[object][section].map(|p| p.0),
                Place::Joined { object, section, .. } => self.places[object][section].map(|p| p.0),
                _ => None,
            },
            Definition::Common { .. } => self.common.get(&id).map(|p| p.0),
            Definition::Linker(reserved) => self.reserved_section(self.symbols.list[id].name, reserved),
            _ => None,
        }
    }
}

/// Links `inputs` into one loadable shared object.
///
/// # Errors
/// Inputs that cannot be read or do not fit together, names defined twice or not at all, relocations that a loaded object cannot have; the
/// message names the objects ([`mir::ErrorKind::Malformed`], [`mir::ErrorKind::Unsupported`]). More than 2 GB ([`mir::ErrorKind::Limit`]).
pub fn link(inputs: &[Input<'_>], options: &LinkOptions) -> Result<Vec<u8>> {
    let (mut objects, mut lazy) = read(inputs)?;
    let mut symbols = resolve_names(&mut objects, &mut lazy)?;
    let identity = kernels::Identity::merge(&objects)?;
    symbols
        .define_reserved(&|name| objects.iter().flat_map(|o| &o.sections).any(|s| s.live && s.name == name));
    if let Some(exports) = &options.exports {
        symbols.hide(exports);
    }
    if options.gc_sections {
        live::mark(&mut objects, &symbols);
    }
    symbols.check_undefined(&objects, options.undefined)?;
    if options.strip != Strip::None {
        strip_debug(&mut objects);
    }
    let lds = kernels::complete(&mut objects, &symbols, &identity)?;
    let purpose = Purpose { how: options.merge, relocatable: false, only_used: options.gc_sections };
    merge::join(&mut objects, &mut symbols, purpose);
    let needs = dynamic::scan(&objects, &symbols, options)?;
    let dynamic_symbols = DynamicSymbols::new(&symbols, &needs);

    let mut program = Program {
        places: Vec::with_capacity(objects.len()),
        objects,
        symbols,
        sections: Vec::new(),
        common: FxHashMap::default(),
        lds,
    };
    place_inputs(&mut program)?;
    let tables = tables::add(&mut program, &needs, &dynamic_symbols, options)?;
    let mut order: Vec<usize> = (0..program.sections.len()).collect();
    order.sort_by_key(|&s| program.sections[s].rank);
    let headers = layout::assign(&mut program.sections, &order)?;
    contents::fill(&mut program, &needs, options)?;
    tables::fill(&mut program, &needs, &dynamic_symbols, &tables, options, &order)?;
    tables::write(&program, &identity, &tables, &headers, &order, options)
}

/// What each name means; objects of archives that are needed become objects.
fn resolve_names<'a>(objects: &mut Vec<InputObject<'a>>, lazy: &mut [Lazy<'a>]) -> Result<Symbols<'a>> {
    input::drop_repeated_groups(objects);
    let mut symbols = Symbols::default();
    for index in 0..objects.len() {
        symbols.add(objects, index)?;
    }
    symbols.extract(objects, lazy)?;
    Ok(symbols)
}

/// Drops debug information.
fn strip_debug(objects: &mut [InputObject<'_>]) {
    for section in objects.iter_mut().flat_map(|o| &mut o.sections) {
        section.live &= section.is_allocated() || !section.name.starts_with(".debug");
    }
}

/// The objects named, and those of archives that may be needed.
fn read<'a>(inputs: &[Input<'a>]) -> Result<(Vec<InputObject<'a>>, Vec<Lazy<'a>>)> {
    let (mut objects, mut lazy) = (Vec::new(), Vec::new());
    for input in inputs {
        if !input::is_archive(input.bytes) {
            objects.push(InputObject::read(input.name.to_owned(), input.bytes)?);
            continue;
        }
        for (name, bytes) in input::members(input)? {
            let object = InputObject::read(name, bytes)?;
            match input.whole_archive {
                true => objects.push(object),
                false => lazy.push(Lazy { object: Some(object) }),
            }
        }
    }
    if objects.is_empty() {
        return Err(Diagnostic::malformed("no object to link"));
    }
    Ok((objects, lazy))
}

/// Gives every live input section, and memory that only has a size, a place in an output section.
fn place_inputs(program: &mut Program<'_>) -> Result<()> {
    let mut sections = Sections::default();
    program.places = program.objects.iter().map(|o| vec![None; o.sections.len()]).collect();
    // First, as ld.lld has it.
    for (id, symbol) in program.symbols.list.iter().enumerate() {
        if let Definition::Common { size, align } = symbol.definition {
            let memory = input::InputSection::zeroed(".bss", size, align);
            program.common.insert(id, sections.place(&memory)?);
        }
    }
    let mut inputs: Vec<(u32, usize, usize)> = Vec::new();
    for (o, object) in program.objects.iter().enumerate() {
        for (s, section) in object.sections.iter().enumerate() {
            if section.live {
                inputs.push((layout::priority(section.name), o, s));
            }
        }
    }
    // Arrays of constructors by priority, everything else as given. The sort is stable.
    let mut arrays: Vec<(u32, usize, usize)> = inputs.iter().copied().filter(|i| i.0 != u32::MAX).collect();
    arrays.sort_by_key(|i| i.0);
    for (_, o, s) in arrays.into_iter().chain(inputs.into_iter().filter(|i| i.0 == u32::MAX)) {
        let section = &program.objects[o].sections[s];
        if section.name != contents::COMMENT_SECTION {
            program.places[o][s] = Some(sections.place(section)?);
        } else if sections.find(contents::COMMENT_SECTION).is_none() {
            // Its contents are the linker's.
            sections.list.push(layout::OutputSection {
                entry_size: 1,
                ..OutputSection::table(
                    contents::COMMENT_SECTION,
                    layout::Rank::NotLoaded,
                    object::elf::SHT_PROGBITS,
                    contents::COMMENT_FLAGS,
                    1,
                    0,
                )
            });
        }
    }
    let frames = sections.find(".eh_frame").map(|index| &sections.list[index]);
    if frames.is_some_and(|frames| frames.size > 0 && frames.is_allocated() && !frames.is_nobits()) {
        // An entry without length ends the table. Source: Linux Standard Base, ".eh_frame".
        sections.place(&input::InputSection {
            kind: object::elf::SHT_PROGBITS,
            flags: object::elf::SHF_ALLOC,
            ..input::InputSection::zeroed(".eh_frame", 4, 4)
        })?;
    }
    program.sections = sections.list;
    Ok(())
}
