//! `-r`: objects joined to one that can be linked again.
//!
//! Sections of a name become one, in the order of the inputs; those of groups and those that stay with another section are kept apart.
//! Relocations move with their sections and keep their symbols, sections' own symbols become those of the output. A name has the
//! definition that it would have in a whole link; what nothing defines stays undefined, and memory that only has a size stays so, in LDS too.
//! Kernels are as their objects describe them: what they take with other objects' functions is counted in the last link, for which what the
//! functions take ([`call_graph::RESOURCES_SECTION`]) is joined as one list.
//!
//! Strings and constants that occur twice are there once ([`super::merge`]). Cost: linear.

use super::input::{InputObject, InputSection, Place, Reloc};
use super::merge::{self, Purpose};
use super::resolve::{Definition, SymbolId, Symbols};
use super::{IMAGE_MAX, Input, LinkOptions, Strip, kernels, read, resolve_names, strip_debug};
use crate::object::S_NOP;
use crate::object::elf::{
    self as image, ABSENT_SYMBOL, ElfSymbol, ElfSymbolId, Group, Image, Relocation, Section, SectionId,
};
use mir::abi::call_graph::{self, Callee, Node};
use mir::{Diagnostic, Result};
use object::elf;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// What a section of the output is found by; the object and section of those that stay alone.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    name: &'a str,
    group: Option<&'a str>,
    alone: Option<(usize, usize)>,
    /// What is left out of the last link is no part of what is not.
    excluded: bool,
}

/// Where the objects' sections and symbols are in the output.
struct Joined<'a> {
    image: Image,
    /// By object and section: section and offset.
    places: Vec<Vec<Option<(SectionId, u64)>>>,
    /// Groups of which one of a name is kept: names and sections.
    groups: Vec<(&'a str, Vec<SectionId>)>,
    globals: Vec<Option<ElfSymbolId>>,
    section_symbols: FxHashMap<SectionId, ElfSymbolId>,
}

/// Joins `inputs` to one relocatable object. Of the options, only two have an effect: [`LinkOptions::strip`], by which debug information is left out, and
/// nothing else, and [`LinkOptions::merge`], of which [`super::Merge::Nothing`] is as [`super::Merge::Equal`].
///
/// # Errors
/// Inputs that cannot be read or do not fit together, names defined twice ([`mir::ErrorKind::Malformed`]); more than 2 GB
/// ([`mir::ErrorKind::Limit`]).
pub fn link_relocatable(inputs: &[Input<'_>], options: &LinkOptions) -> Result<Vec<u8>> {
    let (mut objects, mut lazy) = read(inputs)?;
    let in_archives = lazy.iter_mut().filter_map(|lazy| lazy.object.as_mut());
    for section in objects.iter_mut().chain(in_archives).flat_map(|object| &mut object.sections) {
        section.live |= section.excluded;
    }
    let mut symbols = resolve_names(&mut objects, &mut lazy)?;
    let identity = kernels::Identity::merge(&objects)?;
    if options.strip != Strip::None {
        strip_debug(&mut objects);
    }
    match identity.target() {
        Some(_) => join_resources(&mut objects)?,
        // Nobody reads the lists of other systems.
        None => drop_resources(&mut objects),
    }
    merge::join(
        &mut objects,
        &mut symbols,
        Purpose { how: options.merge, relocatable: true, only_used: false },
    );
    let mut joined = Joined {
        image: Image {
            os_abi: identity.os_abi,
            abi_version: identity.abi_version,
            flags: identity.flags,
            ..Image::default()
        },
        places: objects.iter().map(|object| vec![None; object.sections.len()]).collect(),
        groups: Vec::new(),
        globals: vec![None; symbols.list.len()],
        section_symbols: FxHashMap::default(),
    };
    joined.add_sections(&objects)?;
    let locals = joined.add_symbols(&objects, &symbols);
    for (o, object) in objects.iter().enumerate() {
        for (s, section) in object.sections.iter().enumerate() {
            if let Some((output, at)) = joined.places[o][s] {
                joined.add_relocations(&objects, (o, section), &symbols, &locals[o], (output, at));
            }
        }
    }
    for section in &mut joined.image.sections {
        section.relocations.sort_by_key(|relocation| relocation.offset);
    }
    joined.add_groups(&symbols);
    joined.image.write()
}

fn drop_resources(objects: &mut [InputObject<'_>]) {
    for section in objects.iter_mut().flat_map(|object| &mut object.sections) {
        section.live &= section.name != call_graph::RESOURCES_SECTION;
    }
}

/// Puts what all objects' functions take into the first object that says so.
fn join_resources(objects: &mut [InputObject<'_>]) -> Result<()> {
    let is_list = |section: &InputSection<'_>| section.live && section.name == call_graph::RESOURCES_SECTION;
    let mut nodes: Vec<Node> = Vec::new();
    let mut home = None;
    for (o, object) in objects.iter_mut().enumerate() {
        let Some(s) = object.sections.iter().position(is_list) else { continue };
        let base = nodes.len() as u32;
        let read = call_graph::from_bytes(&object.sections[s].data).map_err(|mut e| {
            e.message = format!("{}: {}", object.name, e.message);
            e
        })?;
        nodes.extend(read.into_iter().map(|mut node| {
            for callee in &mut node.callees {
                if let Callee::Node(index) = callee {
                    *index += base;
                }
            }
            node
        }));
        match home {
            None => home = Some((o, s)),
            Some(_) => object.sections[s].live = false,
        }
    }
    if let Some((o, s)) = home {
        let section = &mut objects[o].sections[s];
        section.data = call_graph::to_bytes(&nodes)?.into();
        section.size = section.data.len() as u64;
    }
    Ok(())
}

impl<'a> Joined<'a> {
    fn add_sections(&mut self, objects: &[InputObject<'a>]) -> Result<()> {
        let mut by_key: FxHashMap<Key<'a>, SectionId> = FxHashMap::default();
        let mut groups: FxHashMap<&'a str, usize> = FxHashMap::default();
        for (o, object) in objects.iter().enumerate() {
            for (s, section) in object.sections.iter().enumerate().filter(|(_, section)| section.live) {
                let alone = section.link.map(|_| (o, s));
                let key = Key { name: section.name, group: section.group, alone, excluded: section.excluded };
                let own = flags_of(section);
                let (id, is_new) = match by_key.entry(key) {
                    Entry::Occupied(entry) => (*entry.get(), false),
                    Entry::Vacant(entry) => {
                        let id = self.image.add_section(Section::new(section.name, section.kind, own));
                        self.image.sections[id.0].entry_size = section.entry_size;
                        (*entry.insert(id), true)
                    }
                };
                if let Some(signature) = section.group.filter(|_| is_new) {
                    let group = *groups.entry(signature).or_insert_with(|| {
                        self.groups.push((signature, Vec::new()));
                        self.groups.len() - 1
                    });
                    self.groups[group].1.push(id);
                }
                let offset = append(&mut self.image.sections[id.0], section, own)?;
                self.places[o][s] = Some((id, offset));
            }
        }
        for (o, object) in objects.iter().enumerate() {
            for (s, section) in object.sections.iter().enumerate() {
                let (Some((id, _)), Some(link)) = (self.places[o][s], section.link) else { continue };
                let to = self.places[o].get(link).copied().flatten();
                self.image.sections[id.0].link = to.map(|(to, _)| to);
            }
        }
        Ok(())
    }

    /// Adds all symbols but those of sections. By object and symbol: the local ones.
    fn add_symbols(
        &mut self,
        objects: &[InputObject<'a>],
        symbols: &Symbols<'a>,
    ) -> Vec<Vec<Option<ElfSymbolId>>> {
        let mut locals = Vec::with_capacity(objects.len());
        for (o, object) in objects.iter().enumerate() {
            let own = object.symbols.iter().enumerate().map(|(number, symbol)| {
                let is_known = number == 0 || symbol.kind == elf::STT_SECTION || !symbol.is_local();
                let place = if is_known { None } else { self.place(o, symbol.place) };
                place.map(|place| {
                    self.image.add_symbol(ElfSymbol {
                        name: symbol.name.to_owned(),
                        place,
                        size: symbol.size,
                        binding: symbol.binding,
                        kind: symbol.kind,
                        visibility: symbol.visibility,
                    })
                })
            });
            locals.push(own.collect());
        }
        for (id, symbol) in symbols.list.iter().enumerate() {
            let place = match symbol.definition {
                Definition::Undefined | Definition::Linker(_) => Some(image::Place::Undefined),
                Definition::Common { align, .. } => Some(image::Place::Common(align)),
                Definition::Lds { align, .. } => Some(image::Place::Lds(align)),
                Definition::Object(o, number) => self.place(o, objects[o].symbols[number].place),
            };
            self.globals[id] = place.map(|place| {
                self.image.add_symbol(ElfSymbol {
                    name: symbol.name.to_owned(),
                    place,
                    size: symbol.size,
                    binding: symbol.binding,
                    kind: symbol.kind,
                    visibility: symbol.visibility,
                })
            });
        }
        locals
    }

    /// Where a symbol of object `o` is; `None` for what is left out.
    fn place(&self, o: usize, place: Place) -> Option<image::Place> {
        Some(match place {
            Place::Undefined => image::Place::Undefined,
            Place::Section(section, offset) => {
                let (output, at) = self.places[o][section]?;
                image::Place::Defined(output, at.wrapping_add(offset))
            }
            Place::Joined { object, section, offset } => {
                let (output, at) = self.places[object][section]?;
                image::Place::Defined(output, at.wrapping_add(offset))
            }
            Place::Absolute(value) => image::Place::Absolute(value),
            Place::Common(align) => image::Place::Common(align),
            Place::Lds(align) => image::Place::Lds(align),
        })
    }

    fn section_symbol(&mut self, section: SectionId) -> ElfSymbolId {
        let image = &mut self.image;
        *self.section_symbols.entry(section).or_insert_with(|| {
            image.add_symbol(ElfSymbol {
                name: String::new(),
                place: image::Place::Section(section),
                size: 0,
                binding: elf::STB_LOCAL,
                kind: elf::STT_SECTION,
                visibility: elf::STV_DEFAULT,
            })
        })
    }

    /// Moves the relocations of a section of object `o` that is at `at` of `output`.
    fn add_relocations(
        &mut self,
        objects: &[InputObject<'a>],
        (o, section): (usize, &InputSection<'a>),
        symbols: &Symbols<'a>,
        locals: &[Option<ElfSymbolId>],
        (output, at): (SectionId, u64),
    ) {
        for &Reloc { offset, symbol, kind, addend } in &section.relocs {
            let of = &objects[o].symbols[symbol];
            let (symbol, addend) = match (symbols.of_object[o][symbol], of.place) {
                (Some(id), _) => (self.global(id), addend),
                (None, Place::Section(to, value)) if of.kind == elf::STT_SECTION => {
                    match self.places[o][to] {
                        Some((to, moved)) => {
                            let addend = addend.wrapping_add_unsigned(moved.wrapping_add(value));
                            (self.section_symbol(to), addend)
                        }
                        // What was dropped with its group: debug information says that nothing is there.
                        None => (ABSENT_SYMBOL, 0),
                    }
                }
                (None, Place::Joined { object, section, offset }) if of.kind == elf::STT_SECTION => {
                    match self.places[object][section] {
                        Some((to, moved)) => (
                            self.section_symbol(to),
                            addend.wrapping_add_unsigned(moved.wrapping_add(offset)),
                        ),
                        None => (ABSENT_SYMBOL, 0),
                    }
                }
                // A relocation without a symbol.
                (None, _) if symbol == 0 => (ABSENT_SYMBOL, addend),
                (None, _) => locals[symbol].map_or((ABSENT_SYMBOL, 0), |local| (local, addend)),
            };
            let relocation = Relocation { offset: at + offset, symbol, kind, addend };
            self.image.sections[output.0].relocations.push(relocation);
        }
    }

    fn global(&self, id: SymbolId) -> ElfSymbolId {
        self.globals[id].unwrap_or(ABSENT_SYMBOL)
    }

    fn add_groups(&mut self, symbols: &Symbols<'a>) {
        for (number, (signature, members)) in std::mem::take(&mut self.groups).into_iter().enumerate() {
            let known = symbols.find(signature).and_then(|id| self.globals[id]);
            let signature = known.unwrap_or_else(|| {
                self.image.add_symbol(ElfSymbol {
                    name: signature.to_owned(),
                    place: image::Place::Group(number),
                    size: 0,
                    binding: elf::STB_LOCAL,
                    kind: elf::STT_NOTYPE,
                    visibility: elf::STV_DEFAULT,
                })
            });
            self.image.groups.push(Group { signature, comdat: true, members });
        }
    }
}

/// Flags that an input section gives to the output.
fn flags_of(section: &InputSection<'_>) -> elf::SectionFlags {
    // The writer says by itself which sections are in groups; those of relocations are its own.
    let flags = section.flags.0 & !(elf::SHF_GROUP.0 | elf::SHF_INFO_LINK.0);
    elf::SectionFlags(flags)
}

/// Puts `section` behind what `output` has; its offset there.
fn append(output: &mut Section, section: &InputSection<'_>, flags: elf::SectionFlags) -> Result<u64> {
    let first = output.size() == 0;
    let different = |what: &str| {
        Diagnostic::malformed(format!("sections {} of different {what} cannot be joined", section.name))
    };
    if !first {
        if (output.flags.0 ^ flags.0) & elf::SHF_TLS.0 != 0 {
            return Err(different("kinds of memory"));
        }
        // What holds entries of different sizes is no table of entries.
        let entries = elf::SHF_MERGE.0 | elf::SHF_STRINGS.0;
        if output.entry_size != section.entry_size || (output.flags.0 ^ flags.0) & entries != 0 {
            output.entry_size = 0;
            output.flags = elf::SectionFlags((output.flags.0 | flags.0) & !entries);
        }
        output.flags = elf::SectionFlags(output.flags.0 | (flags.0 & !entries));
    }
    if output.is_nobits() && !section.is_nobits() {
        // Contents behind zeros: these get written.
        output.kind = section.kind;
        output.data = vec![0; std::mem::take(&mut output.nobits_size) as usize];
    } else if output.kind != section.kind && !section.is_nobits() {
        if !first {
            return Err(different("types"));
        }
        output.kind = section.kind;
    }
    let end = output.size().checked_next_multiple_of(section.align);
    let end = end.and_then(|end| end.checked_add(section.size)).filter(|end| *end <= IMAGE_MAX);
    if end.is_none() {
        return Err(Diagnostic::limit(format!("section {} has more than 2 GB", section.name)));
    }
    let is_code = output.flags.contains(elf::SHF_EXECINSTR) && output.size().is_multiple_of(4);
    let offset = output.align_to(section.align, if is_code { &S_NOP } else { &[0] });
    if output.is_nobits() {
        output.nobits_size += section.size;
    } else if section.is_nobits() {
        output.data.resize((offset + section.size) as usize, 0);
    } else {
        output.data.extend_from_slice(&section.data);
    }
    Ok(offset)
}
