//! Which sections something leads to.

use super::dynamic::{Referent, referent};
use super::input::{InputObject, Place};
use super::resolve::{Definition, Symbols, bound_section};
use object::elf;

/// Lets only those sections live that what the result offers leads to, through relocations. What is not loaded lives anyway.
pub(super) fn mark(objects: &mut [InputObject<'_>], symbols: &Symbols<'_>) {
    let mut reached: Vec<Vec<bool>> = objects.iter().map(|o| vec![false; o.sections.len()]).collect();
    let mut work: Vec<(usize, usize)> = Vec::new();
    let mut reach = |work: &mut Vec<(usize, usize)>, at: (usize, usize)| {
        if !std::mem::replace(&mut reached[at.0][at.1], true) {
            work.push(at);
        }
    };
    let home = |referent: Referent| {
        let (object, symbol) = match referent {
            Referent::Local(object, symbol) => (object, symbol),
            Referent::Global(id) => match symbols.list[id].definition {
                Definition::Object(object, symbol) => (object, symbol),
                _ => return None,
            },
        };
        match objects[object].symbols[symbol].place {
            Place::Section(section, _) => Some((object, section)),
            _ => None,
        }
    };
    for (id, symbol) in symbols.list.iter().enumerate() {
        if symbol.is_exported()
            && let Some(at) = home(Referent::Global(id))
        {
            reach(&mut work, at);
        }
    }
    let bounded: Vec<&str> = symbols.list.iter().filter_map(|s| Some(bound_section(s.name)?.0)).collect();
    for (o, object) in objects.iter().enumerate() {
        for (s, section) in object.sections.iter().enumerate() {
            let root = !section.is_allocated()
                || matches!(
                    section.kind,
                    elf::SHT_NOTE | elf::SHT_INIT_ARRAY | elf::SHT_FINI_ARRAY | elf::SHT_PREINIT_ARRAY
                )
                || section.flags.contains(elf::SHF_GNU_RETAIN)
                || bounded.contains(&section.name);
            if section.live && root {
                reach(&mut work, (o, s));
            }
        }
    }
    while let Some((o, s)) = work.pop() {
        // Debug information leads nowhere: it describes what is there.
        if !objects[o].sections[s].is_allocated() {
            continue;
        }
        for reloc in &objects[o].sections[s].relocs {
            if let Some(at) = home(referent(symbols, o, reloc.symbol)) {
                reach(&mut work, at);
            }
        }
    }
    for (object, reached) in objects.iter_mut().zip(&reached) {
        for (section, &reached) in object.sections.iter_mut().zip(reached) {
            section.live &= reached;
        }
    }
}
