//! What the loader is left to do: the table of addresses (GOT), dynamic relocations, dynamic symbols and their hash tables.

use super::LinkOptions;
use super::input::{InputObject, Place, Reloc};
use super::resolve::{Definition, Symbol, SymbolId, Symbols};
use crate::object::reloc;
use mir::{Diagnostic, Result};
use object::elf;
use rustc_hash::FxHashMap;

/// What a relocation refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Referent {
    /// A name of the whole program.
    Global(SymbolId),
    /// A local symbol: (object, symbol).
    Local(usize, usize),
}

/// A field that the loader fills in.
#[derive(Clone, Copy, Debug)]
pub(super) struct DynamicReloc {
    /// Where the field is.
    pub at: Field,
    /// The symbol whose address counts; none: an address of this object (`R_AMDGPU_RELATIVE64`).
    pub symbol: Option<SymbolId>,
    /// What the address of `symbol`, or of this object, is added to: of the latter, `referent`'s address too.
    pub addend: i64,
    /// For relative ones.
    pub referent: Referent,
}

/// A field of eight bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// Entry of the table of addresses.
    Got(usize),
    /// (object, section, offset).
    Input(usize, usize, u64),
}

/// What scanning the relocations found.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// What the table of addresses holds.
    pub got: Vec<Referent>,
    got_index: FxHashMap<Referent, usize>,
    pub relocs: Vec<DynamicReloc>,
}

impl Needs {
    /// Puts the table in the order of the symbols, as LLVM's linker has it: names, then locals.
    fn number_got(&mut self) {
        self.got.sort_by_key(|&referent| match referent {
            Referent::Global(id) => (0, id, 0),
            Referent::Local(object, symbol) => (1, object, symbol),
        });
        self.got_index = self.got.iter().enumerate().map(|(i, &referent)| (referent, i)).collect();
    }

    /// Index of `referent` in the table of addresses.
    pub fn got_entry(&self, referent: Referent) -> Option<usize> {
        self.got_index.get(&referent).copied()
    }
}

/// Of the symbol of a relocation of object `object`.
pub(super) fn referent(symbols: &Symbols<'_>, object: usize, symbol: usize) -> Referent {
    match symbols.of_object[object][symbol] {
        Some(id) => Referent::Global(id),
        None => Referent::Local(object, symbol),
    }
}

/// Whether another object's definition may come before this one when the result is loaded.
pub(super) fn is_preemptible(symbol: &Symbol<'_>, options: &LinkOptions) -> bool {
    if symbol.visibility != elf::STV_DEFAULT {
        return false;
    }
    match symbol.definition {
        Definition::Undefined => true,
        Definition::Lds { .. } | Definition::Linker(_) => false,
        _ => !(options.symbolic || options.symbolic_functions && symbol.kind == elf::STT_FUNC),
    }
}

/// How an address that a relocation asks for is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// When linking.
    Number,
    /// Relative to where the object is loaded.
    Relative,
    /// When loading, by name.
    Preemptible(SymbolId),
}

fn known(
    objects: &[InputObject<'_>],
    symbols: &Symbols<'_>,
    options: &LinkOptions,
    referent: Referent,
) -> Known {
    let of_place = |object: usize, symbol: usize| match objects[object].symbols[symbol].place {
        // What a dropped section held does not exist, and neither does symbol 0: their address is 0.
        Place::Section(section, _) if objects[object].sections[section].live => Known::Relative,
        Place::Joined { object, section, .. } if objects[object].sections[section].live => Known::Relative,
        _ => Known::Number,
    };
    match referent {
        Referent::Local(object, symbol) => of_place(object, symbol),
        Referent::Global(id) => {
            let symbol = &symbols.list[id];
            match symbol.definition {
                _ if is_preemptible(symbol, options) => Known::Preemptible(id),
                Definition::Undefined | Definition::Lds { .. } => Known::Number,
                Definition::Object(object, number) => of_place(object, number),
                Definition::Common { .. } | Definition::Linker(_) => Known::Relative,
            }
        }
    }
}

/// Whether the address of `referent` is not known before loading.
pub(super) fn moves(
    objects: &[InputObject<'_>],
    symbols: &Symbols<'_>,
    options: &LinkOptions,
    referent: Referent,
) -> bool {
    known(objects, symbols, options, referent) != Known::Number
}

/// Looks at every relocation of loaded sections.
///
/// # Errors
/// Relocations that the loader cannot do ([`mir::ErrorKind::Unsupported`]), naming symbol, section and object.
pub(super) fn scan(
    objects: &[InputObject<'_>],
    symbols: &Symbols<'_>,
    options: &LinkOptions,
) -> Result<Needs> {
    let mut needs = Needs::default();
    for (o, object) in objects.iter().enumerate() {
        for (s, section) in object.sections.iter().enumerate() {
            if !section.live || !section.is_allocated() {
                continue;
            }
            for reloc in &section.relocs {
                let refuse = |why: &str| {
                    Diagnostic::unsupported(format!(
                        "{}: section {}, offset {:#x}: {} of {}: {why}",
                        object.name,
                        section.name,
                        reloc.offset,
                        reloc::name(reloc.kind),
                        object.symbols[reloc.symbol].name,
                    ))
                };
                let referent = referent(symbols, o, reloc.symbol);
                let known = known(objects, symbols, options, referent);
                let writable = section.flags.contains(elf::SHF_WRITE);
                if reloc.kind == reloc::ABS64 && known != Known::Number && !writable {
                    return Err(refuse("the loader would have to write to a section that is only read"));
                }
                need(&mut needs, known, referent, reloc, (o, s), &refuse)?;
            }
        }
    }
    needs.number_got();
    let entries: Vec<DynamicReloc> = needs
        .got
        .iter()
        .enumerate()
        .filter_map(|(i, &referent)| match known(objects, symbols, options, referent) {
            Known::Number => None,
            Known::Relative => Some(DynamicReloc { at: Field::Got(i), symbol: None, addend: 0, referent }),
            Known::Preemptible(id) => {
                Some(DynamicReloc { at: Field::Got(i), symbol: Some(id), addend: 0, referent })
            }
        })
        .collect();
    needs.relocs.extend(entries);
    Ok(needs)
}

fn need(
    needs: &mut Needs,
    known: Known,
    referent: Referent,
    reloc: &Reloc,
    (object, section): (usize, usize),
    refuse: &dyn Fn(&str) -> Box<Diagnostic>,
) -> Result<()> {
    match reloc.kind {
        reloc::NONE => {}
        reloc::GOTPCREL | reloc::GOTPCREL32_LO | reloc::GOTPCREL32_HI => {
            if !needs.got_index.contains_key(&referent) {
                needs.got_index.insert(referent, needs.got.len());
                needs.got.push(referent);
            }
        }
        reloc::ABS64 => {
            let at = Field::Input(object, section, reloc.offset);
            let addend = reloc.addend;
            match known {
                Known::Number => {}
                Known::Relative => needs.relocs.push(DynamicReloc { at, symbol: None, addend, referent }),
                Known::Preemptible(id) => {
                    needs.relocs.push(DynamicReloc { at, symbol: Some(id), addend, referent })
                }
            }
        }
        reloc::ABS32 | reloc::ABS32_LO | reloc::ABS32_HI => {
            if known != Known::Number {
                return Err(refuse("a loaded object has no fixed address; compile for relative addresses"));
            }
        }
        reloc::REL32 | reloc::REL64 | reloc::REL32_LO | reloc::REL32_HI | reloc::REL16 => {
            if matches!(known, Known::Preemptible(_)) {
                return Err(refuse(
                    "another object may define the symbol; use its table entry (GOTPCREL), or hide or protect the symbol",
                ));
            }
        }
        _ => return Err(refuse("a relocation that objects to be linked do not have")),
    }
    Ok(())
}

/// The dynamic symbol table: which names, in which order.
#[derive(Debug, Default)]
pub(super) struct DynamicSymbols {
    /// Without the null symbol; what is undefined first, the rest by bucket of the GNU hash table.
    pub order: Vec<SymbolId>,
    /// Place of each in the table, by symbol; 0 if it has none.
    pub index: Vec<u32>,
    /// How many of `order` are undefined.
    pub undefined: usize,
    /// Of the GNU hash table.
    pub buckets: u32,
}

impl DynamicSymbols {
    /// Every name that the result offers or asks for.
    pub fn new(symbols: &Symbols<'_>, needs: &Needs) -> Self {
        let mut asked = vec![false; symbols.list.len()];
        for id in needs.relocs.iter().filter_map(|r| r.symbol) {
            asked[id] = true;
        }
        let (undefined, mut defined): (Vec<SymbolId>, Vec<SymbolId>) = (0..symbols.list.len())
            .filter(|&id| symbols.list[id].is_exported() || asked[id])
            .partition(|&id| !symbols.list[id].is_defined());
        let buckets = (defined.len() / 4).max(1) as u32;
        defined.sort_by_key(|&id| elf::gnu_hash(symbols.list[id].name.as_bytes()) % buckets);
        let mut index = vec![0; symbols.list.len()];
        let undefined_count = undefined.len();
        let order: Vec<SymbolId> = undefined.into_iter().chain(defined).collect();
        for (place, &id) in order.iter().enumerate() {
            index[id] = place as u32 + 1;
        }
        Self { order, index, undefined: undefined_count, buckets }
    }

    /// Symbols in the hash table.
    pub fn hashed(&self) -> u32 {
        (self.order.len() - self.undefined) as u32
    }

    /// 64-bit words of the Bloom filter: some twelve bits a symbol, as LLVM's linker takes.
    pub fn bloom_words(&self) -> u32 {
        match self.hashed() {
            0 => 1,
            n => (n * 12 / 64 + 1).next_power_of_two(),
        }
    }
}
