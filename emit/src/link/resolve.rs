//! Which definition each name means, over all objects and archives.

use super::input::{InputObject, InputSymbol, Place};
use super::{Exports, Undefined};
use mir::{Diagnostic, Result};
use object::elf;
use rustc_hash::FxHashMap;

/// Index of a symbol of [`Symbols`].
pub(super) type SymbolId = usize;

/// Where a name of the whole program is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Definition {
    /// Nowhere.
    Undefined,
    /// By a symbol of an object: (object, symbol).
    Object(usize, usize),
    /// Zeroed memory that the linker makes: bytes and alignment. Later the offset in `.bss` of what it made.
    Common { size: u64, align: u64 },
    /// LDS: bytes and alignment.
    Lds { size: u64, align: u64 },
    /// By the linker.
    Linker(Reserved),
}

/// Symbols that the linker defines where they are used. Source: the System V ABI and what GNU's linker scripts define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    /// Start of the file header.
    FileHeader,
    /// Start of `.dynamic`.
    Dynamic,
    /// Start of the table of addresses.
    GlobalOffsetTable,
    /// Start of an output section, 0 where there is none; the section's name follows from the symbol's.
    Start,
    /// End of an output section.
    Stop,
}

/// A name of the whole program.
#[derive(Clone, Debug)]
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    pub definition: Definition,
    /// `STB_GLOBAL` or `STB_WEAK`: of the definition, or of the references where there is none.
    pub binding: elf::SymbolBind,
    /// The strictest that any object asks for.
    pub visibility: elf::SymbolVisibility,
    pub kind: elf::SymbolType,
    pub size: u64,
    /// First object that has a reference which the definition must satisfy.
    pub wanted_by: Option<usize>,
}

impl Symbol<'_> {
    pub fn is_defined(&self) -> bool {
        self.definition != Definition::Undefined
    }

    /// Whether other objects may see it when the result is loaded.
    pub fn is_exported(&self) -> bool {
        self.is_defined() && matches!(self.visibility, elf::STV_DEFAULT | elf::STV_PROTECTED)
    }
}

/// All names.
#[derive(Debug, Default)]
pub(super) struct Symbols<'a> {
    /// In the order in which they were met.
    pub list: Vec<Symbol<'a>>,
    by_name: FxHashMap<&'a str, SymbolId>,
    /// By object and symbol: the name's entry; none for locals.
    pub of_object: Vec<Vec<Option<SymbolId>>>,
}

/// An object of an archive, which becomes part of the program when something needs it.
pub(super) struct Lazy<'a> {
    pub object: Option<InputObject<'a>>,
}

/// How strict a visibility is; the order is that of the System V ABI, "Symbol Visibility".
fn strictness(visibility: elf::SymbolVisibility) -> u8 {
    match visibility {
        elf::STV_DEFAULT => 0,
        elf::STV_PROTECTED => 1,
        elf::STV_HIDDEN => 2,
        _ => 3,
    }
}

impl<'a> Symbols<'a> {
    /// The entry of `name`, if anybody speaks of it.
    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.by_name.get(name).copied()
    }

    fn entry(&mut self, symbol: &InputSymbol<'a>) -> SymbolId {
        *self.by_name.entry(symbol.name).or_insert_with(|| {
            self.list.push(Symbol {
                name: symbol.name,
                definition: Definition::Undefined,
                binding: elf::STB_WEAK,
                visibility: elf::STV_DEFAULT,
                kind: elf::STT_NOTYPE,
                size: 0,
                wanted_by: None,
            });
            self.list.len() - 1
        })
    }

    /// Enters the names of object `index`. Symbols of its sections that are not live are references.
    ///
    /// # Errors
    /// A second definition of a name, or one name for memory and for LDS.
    pub fn add(&mut self, objects: &[InputObject<'a>], index: usize) -> Result<()> {
        let object = &objects[index];
        let mut ids = Vec::with_capacity(object.symbols.len());
        for (number, input) in object.symbols.iter().enumerate() {
            if input.is_local() || number == 0 {
                ids.push(None);
                continue;
            }
            let id = self.entry(input);
            ids.push(Some(id));
            let symbol = &mut self.list[id];
            if strictness(input.visibility) > strictness(symbol.visibility) {
                symbol.visibility = input.visibility;
            }
            let definition = match input.place {
                Place::Undefined => Definition::Undefined,
                Place::Section(section, _) if !object.sections[section].live => Definition::Undefined,
                Place::Section(..) | Place::Joined { .. } | Place::Absolute(_) => {
                    Definition::Object(index, number)
                }
                Place::Common(align) => Definition::Common { size: input.size, align },
                Place::Lds(align) => Definition::Lds { size: input.size, align },
            };
            let weak = input.binding == elf::STB_WEAK;
            let merged = match (symbol.definition, definition) {
                (_, Definition::Undefined) => {
                    if !weak {
                        symbol.wanted_by.get_or_insert(index);
                        if symbol.definition == Definition::Undefined {
                            symbol.binding = elf::STB_GLOBAL;
                        }
                    }
                    continue;
                }
                (Definition::Common { size: a, align: b }, Definition::Common { size, align }) => {
                    Definition::Common { size: a.max(size), align: b.max(align) }
                }
                (Definition::Lds { size: a, align: b }, Definition::Lds { size, align }) => {
                    Definition::Lds { size: a.max(size), align: b.max(align) }
                }
                (Definition::Lds { .. }, _)
                | (Definition::Object(..) | Definition::Common { .. }, Definition::Lds { .. }) => {
                    return Err(Diagnostic::malformed(format!(
                        "{}: symbol {} is LDS in one object and not in another",
                        object.name, input.name
                    )));
                }
                (Definition::Object(..), Definition::Common { .. }) => continue,
                (Definition::Object(first, _), Definition::Object(..)) => {
                    if weak {
                        continue;
                    }
                    if symbol.binding != elf::STB_WEAK {
                        return Err(Diagnostic::malformed(format!(
                            "symbol {} is defined twice: in {} and in {}",
                            input.name, objects[first].name, object.name
                        )));
                    }
                    definition
                }
                (Definition::Undefined | Definition::Common { .. } | Definition::Linker(_), _)
                | (Definition::Object(..), Definition::Linker(_)) => definition,
            };
            symbol.definition = merged;
            symbol.binding = input.binding;
            symbol.kind = input.kind;
            symbol.size = match merged {
                Definition::Common { size, .. } | Definition::Lds { size, .. } => size,
                _ => input.size,
            };
        }
        self.of_object.push(ids);
        Ok(())
    }

    /// Takes objects out of archives until nothing undefined is left that one of them defines. Of several, the first on the command line counts.
    pub fn extract(&mut self, objects: &mut Vec<InputObject<'a>>, lazy: &mut [Lazy<'a>]) -> Result<()> {
        let mut provider: FxHashMap<&'a str, usize> = FxHashMap::default();
        for (index, member) in lazy.iter().enumerate() {
            for symbol in member.object.iter().flat_map(|o| &o.symbols) {
                if !symbol.is_local() && symbol.place != Place::Undefined {
                    provider.entry(symbol.name).or_insert(index);
                }
            }
        }
        // New names are behind the old ones, but an old weak reference can become a strong one: then the new object is looked at again.
        let mut next = 0;
        while next < self.list.len() {
            let symbol = &self.list[next];
            next += 1;
            if symbol.is_defined() || symbol.wanted_by.is_none() {
                continue;
            }
            let Some(object) = provider.get(symbol.name).and_then(|&p| lazy[p].object.take()) else {
                continue;
            };
            objects.push(object);
            let index = objects.len() - 1;
            super::input::drop_repeated_groups(objects);
            self.add(objects, index)?;
            let again = self.of_object[index].iter().flatten().min();
            next = again.map_or(next, |&id| next.min(id));
        }
        Ok(())
    }

    /// Defines what programs expect of a linker, where it is used and nobody defined it.
    pub fn define_reserved(&mut self, section_exists: &dyn Fn(&str) -> bool) {
        for symbol in &mut self.list {
            if symbol.is_defined() {
                continue;
            }
            let reserved = match symbol.name {
                "__ehdr_start" | "__executable_start" | "__dso_handle" => Some(Reserved::FileHeader),
                "_DYNAMIC" => Some(Reserved::Dynamic),
                "_GLOBAL_OFFSET_TABLE_" => Some(Reserved::GlobalOffsetTable),
                name => match bound_section(name) {
                    // Arrays of constructors may be empty; other sections exist if they are asked for.
                    Some((section, bound)) if section.starts_with('.') || section_exists(section) => {
                        Some(bound)
                    }
                    _ => None,
                },
            };
            if let Some(reserved) = reserved {
                symbol.definition = Definition::Linker(reserved);
                // Bounds of a section that C can name are offered to other objects, as ld.lld does.
                let offered = symbol.name.starts_with("__start_") || symbol.name.starts_with("__stop_");
                symbol.visibility = if offered { elf::STV_PROTECTED } else { elf::STV_HIDDEN };
                symbol.binding = elf::STB_GLOBAL;
            }
        }
    }

    /// Takes from what the result offers the names that a version script does not keep.
    pub fn hide(&mut self, exports: &Exports) {
        for symbol in self.list.iter_mut().filter(|symbol| symbol.is_exported()) {
            if !exports.keeps(symbol.name) {
                symbol.visibility = elf::STV_HIDDEN;
            }
        }
    }

    /// Refuses what is loaded, refers to a name and is given no definition, with all names at once.
    pub fn check_undefined(&self, objects: &[InputObject<'_>], undefined: Undefined) -> Result<()> {
        let mut used_by: Vec<Option<&str>> = vec![None; self.list.len()];
        for (object, of_object) in objects.iter().zip(&self.of_object) {
            let loaded = object.sections.iter().filter(|section| section.live && section.is_allocated());
            for id in loaded.flat_map(|section| &section.relocs).filter_map(|reloc| of_object[reloc.symbol]) {
                used_by[id].get_or_insert(&object.name);
            }
        }
        let missing = |s: &Symbol<'_>| {
            !s.is_defined()
                && s.binding != elf::STB_WEAK
                && (undefined == Undefined::Error || s.visibility != elf::STV_DEFAULT)
        };
        let names: Vec<String> = self
            .list
            .iter()
            .zip(used_by)
            .filter(|(symbol, _)| missing(symbol))
            .filter_map(|(symbol, used_by)| Some(format!("{} (used by {})", symbol.name, used_by?)))
            .collect();
        match &names[..] {
            [] => Ok(()),
            [one] => Err(Diagnostic::malformed(format!("undefined symbol {one}"))),
            all => Err(Diagnostic::malformed(format!("undefined symbols {}", all.join(", ")))),
        }
    }
}

/// The output section that a symbol like `__start_NAME` or `__init_array_end` bounds.
pub(super) fn bound_section(name: &str) -> Option<(&str, Reserved)> {
    const ARRAYS: [(&str, &str, Reserved); 6] = [
        ("__preinit_array_start", ".preinit_array", Reserved::Start),
        ("__preinit_array_end", ".preinit_array", Reserved::Stop),
        ("__init_array_start", ".init_array", Reserved::Start),
        ("__init_array_end", ".init_array", Reserved::Stop),
        ("__fini_array_start", ".fini_array", Reserved::Start),
        ("__fini_array_end", ".fini_array", Reserved::Stop),
    ];
    if let Some(&(_, section, bound)) = ARRAYS.iter().find(|(symbol, ..)| *symbol == name) {
        return Some((section, bound));
    }
    let (section, bound) = match name.strip_prefix("__start_") {
        Some(section) => (section, Reserved::Start),
        None => (name.strip_prefix("__stop_")?, Reserved::Stop),
    };
    // Only names that C can spell have such bounds.
    let identifier = |c: char| c == '_' || c.is_ascii_alphanumeric();
    (!section.is_empty() && section.chars().all(identifier)).then_some((section, bound))
}
