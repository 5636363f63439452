//! Sections of which equal parts need be there once only (`SHF_MERGE`): strings and constants.
//!
//! The sections of one output section that agree in flags, size of entries and, for strings, alignment become one, in the place of the first. They are cut into
//! *pieces*, strings with their terminator or entries; of equal pieces the first is kept. At [`Merge::Tails`] a string that another one ends with
//! is a part of that. What refers to a section and an offset in it (its own symbol and an addend) means the piece there: each such relocation
//! gets a local symbol at the piece, so that nobody else has to know of pieces. A section that has relocations itself stays as it is, and so does one that does not
//! end with its entries, or would grow.
//!
//! Cost: linear, at [`Merge::Tails`] with a logarithm for sorting. Sources: System V ABI, "Sections"; which sections are merged, and what offsets in them mean, is as
//! ld.lld has it.

use super::Merge;
use super::dynamic::{Referent, referent};
use super::input::{InputObject, InputSection, InputSymbol, Place};
use super::resolve::{Definition, Symbols};
use crate::object::reloc;
use object::elf;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// How many times as large as it was a section may become by alignment of its pieces.
const MOST_ROOM: u64 = 16;

/// What sections must agree in.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    output: &'a str,
    flags: u32,
    entry_size: u64,
    /// Of strings; other entries are aligned as the strictest section.
    align: Option<u64>,
}

/// A section in pieces.
struct Pieces {
    object: usize,
    section: usize,
    /// Where each starts, ascending; the first at 0.
    starts: Vec<u64>,
    used: Vec<bool>,
    /// Where each is in the joined section.
    places: Vec<u64>,
}

impl Pieces {
    /// The piece at `offset`; the last one for what is behind it.
    fn at(&self, offset: u64) -> usize {
        self.starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    fn bytes<'s>(&self, section: &'s InputSection<'_>, piece: usize) -> &'s [u8] {
        let end = self.starts.get(piece + 1).map_or(section.data.len(), |&end| end as usize);
        &section.data[self.starts[piece] as usize..end]
    }
}

/// What the joined sections are made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    pub how: Merge,
    /// The result is linked again: output sections have the names of the inputs, and groups stay apart.
    pub relocatable: bool,
    /// Leave out pieces of loaded sections that nothing refers to.
    pub only_used: bool,
}

/// Joins the live sections of `objects` that can be.
pub(super) fn join<'a>(objects: &mut [InputObject<'a>], symbols: &mut Symbols<'a>, purpose: Purpose) {
    if purpose.how == Merge::Nothing && !purpose.relocatable {
        return;
    }
    let mut groups: Vec<Vec<Pieces>> = Vec::new();
    let mut by_key: FxHashMap<Key<'a>, usize> = FxHashMap::default();
    // By object and section: group and number in it.
    let mut homes: FxHashMap<(usize, usize), (usize, usize)> = FxHashMap::default();
    for (o, object) in objects.iter().enumerate() {
        for (s, section) in object.sections.iter().enumerate() {
            let Some(starts) = is_candidate(section, purpose).then(|| starts(section)).flatten() else {
                continue;
            };
            // Each piece is aligned as its section, which is to save room and not to take it.
            if (starts.len() as u64).saturating_mul(section.align) > MOST_ROOM * section.size {
                continue;
            }
            let strings = section.flags.contains(elf::SHF_STRINGS);
            let key = Key {
                output: if purpose.relocatable {
                    section.name
                } else {
                    super::layout::output_name(section.name)
                },
                flags: section.flags.0 as u32 & !elf::SHF_GROUP.0 as u32,
                entry_size: section.entry_size,
                align: strings.then_some(section.align),
            };
            let group = *by_key.entry(key).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            homes.insert((o, s), (group, groups[group].len()));
            let used = vec![!(purpose.only_used && section.is_allocated()); starts.len()];
            groups[group].push(Pieces { object: o, section: s, places: vec![0; starts.len()], starts, used });
        }
    }
    if groups.is_empty() {
        return;
    }
    if purpose.only_used {
        mark_used(objects, symbols, &homes, &mut groups);
    }
    for group in &mut groups {
        build(objects, group, purpose.how);
    }
    refer(objects, symbols, &homes, &groups);
}

fn is_candidate(section: &InputSection<'_>, purpose: Purpose) -> bool {
    section.live
        && section.flags.contains(elf::SHF_MERGE)
        && !section.flags.contains(elf::SHF_WRITE)
        && !section.flags.contains(elf::SHF_COMPRESSED)
        && section.kind == elf::SHT_PROGBITS
        && section.entry_size > 0
        && section.size > 0
        && section.size.is_multiple_of(section.entry_size)
        && section.relocs.is_empty()
        && section.link.is_none()
        && (section.group.is_none() || !purpose.relocatable)
        // The linker makes it itself.
        && (section.name != super::contents::COMMENT_SECTION || purpose.relocatable)
}

/// Where the pieces of a section start; `None` where its last string does not end.
fn starts(section: &InputSection<'_>) -> Option<Vec<u64>> {
    let size = section.entry_size;
    let mut out = vec![0];
    let entries = section.data.chunks_exact(usize::try_from(size).ok()?);
    if !section.flags.contains(elf::SHF_STRINGS) {
        return Some((0..entries.len() as u64).map(|n| n * size).collect());
    }
    let ends = entries.enumerate().filter(|(_, entry)| entry.iter().all(|&byte| byte == 0));
    out.extend(ends.map(|(n, _)| (n as u64 + 1) * size));
    (out.pop() == Some(section.size)).then_some(out)
}

/// Notes the pieces that loaded sections and exported names refer to: debug information keeps nothing.
fn mark_used(
    objects: &[InputObject<'_>],
    symbols: &Symbols<'_>,
    homes: &FxHashMap<(usize, usize), (usize, usize)>,
    groups: &mut [Vec<Pieces>],
) {
    let mut mark = |object: usize, symbol: usize, addend: i64| {
        let symbol = &objects[object].symbols[symbol];
        let Place::Section(section, offset) = symbol.place else { return };
        let Some(&(group, number)) = homes.get(&(object, section)) else { return };
        let addend = if symbol.kind == elf::STT_SECTION { addend } else { 0 };
        let pieces = &mut groups[group][number];
        let piece = pieces.at(offset.wrapping_add_signed(addend));
        pieces.used[piece] = true;
    };
    for (o, object) in objects.iter().enumerate() {
        for reloc in loaded(object).flat_map(|section| &section.relocs) {
            match referent(symbols, o, reloc.symbol) {
                Referent::Local(object, symbol) => mark(object, symbol, reloc.addend),
                Referent::Global(id) => {
                    if let Definition::Object(object, symbol) = symbols.list[id].definition {
                        mark(object, symbol, 0);
                    }
                }
            }
        }
    }
    for symbol in symbols.list.iter().filter(|symbol| symbol.is_exported()) {
        if let Definition::Object(object, symbol) = symbol.definition {
            mark(object, symbol, 0);
        }
    }
}

fn loaded<'s, 'a>(object: &'s InputObject<'a>) -> impl Iterator<Item = &'s InputSection<'a>> {
    object.sections.iter().filter(|section| section.live && section.is_allocated())
}

/// Puts the different pieces of a group into its first section; the others are gone.
fn build(objects: &mut [InputObject<'_>], group: &mut [Pieces], how: Merge) {
    let align = group.iter().map(|p| objects[p.object].sections[p.section].align).fold(1, u64::max);
    let mut list: Vec<&[u8]> = Vec::new();
    let mut known: FxHashMap<&[u8], usize> = FxHashMap::default();
    for pieces in group.iter_mut() {
        let section = &objects[pieces.object].sections[pieces.section];
        for piece in (0..pieces.starts.len()).filter(|&piece| pieces.used[piece]) {
            mir::interrupt::checkpoint();
            // First their numbers.
            pieces.places[piece] = match known.entry(pieces.bytes(section, piece)) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    list.push(entry.key());
                    *entry.insert(list.len() - 1)
                }
            } as u64;
        }
    }
    let first = &objects[group[0].object].sections[group[0].section];
    let (data, offsets) = match how {
        Merge::Tails if first.flags.contains(elf::SHF_STRINGS) => with_tails(&list, align),
        _ => in_order(&list, align),
    };
    for pieces in group.iter_mut() {
        for (place, _) in pieces.places.iter_mut().zip(&pieces.used).filter(|(_, used)| **used) {
            *place = offsets[*place as usize];
        }
    }
    for pieces in &group[1..] {
        objects[pieces.object].sections[pieces.section].live = false;
    }
    let first = &mut objects[group[0].object].sections[group[0].section];
    first.align = align;
    first.size = data.len() as u64;
    first.data = data.into();
}

/// The pieces one behind the other, and where each is.
fn in_order(list: &[&[u8]], align: u64) -> (Vec<u8>, Vec<u64>) {
    let mut data = Vec::with_capacity(list.iter().map(|piece| piece.len()).sum());
    let mut offsets = Vec::with_capacity(list.len());
    for piece in list {
        data.resize(data.len().next_multiple_of(align as usize), 0);
        offsets.push(data.len() as u64);
        data.extend_from_slice(piece);
    }
    (data, offsets)
}

/// The same, but what another piece ends with is there.
fn with_tails(list: &[&[u8]], align: u64) -> (Vec<u8>, Vec<u64>) {
    // Read from the end, and backwards: behind a piece follow its tails.
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by(|&a, &b| list[b].iter().rev().cmp(list[a].iter().rev()));
    let mut data: Vec<u8> = Vec::new();
    let mut offsets = vec![0; list.len()];
    for n in order {
        let piece = list[n];
        let tail = data.len().wrapping_sub(piece.len());
        if data.ends_with(piece) && tail.is_multiple_of(align as usize) {
            offsets[n] = tail as u64;
            continue;
        }
        data.resize(data.len().next_multiple_of(align as usize), 0);
        offsets[n] = data.len() as u64;
        data.extend_from_slice(piece);
    }
    (data, offsets)
}

/// Lets symbols and relocations mean what has been joined.
fn refer<'a>(
    objects: &mut [InputObject<'a>],
    symbols: &mut Symbols<'a>,
    homes: &FxHashMap<(usize, usize), (usize, usize)>,
    groups: &[Vec<Pieces>],
) {
    // Where the piece that has a byte is, and how far behind its start that byte.
    let find = |object: usize, section: usize, offset: u64| {
        let &(group, number) = homes.get(&(object, section))?;
        let (pieces, first) = (&groups[group][number], &groups[group][0]);
        let piece = pieces.at(offset);
        if !pieces.used[piece] {
            return Some((Place::Undefined, 0));
        }
        let place =
            Place::Joined { object: first.object, section: first.section, offset: pieces.places[piece] };
        Some((place, offset.wrapping_sub(pieces.starts[piece])))
    };
    for (o, object) in objects.iter_mut().enumerate() {
        let mut own: FxHashMap<Place, usize> = FxHashMap::default();
        let InputObject { sections, symbols: list, .. } = object;
        for reloc in sections.iter_mut().filter(|section| section.live).flat_map(|s| &mut s.relocs) {
            let InputSymbol { place, kind, .. } = list[reloc.symbol];
            let Place::Section(section, value) = place else { continue };
            if kind != elf::STT_SECTION {
                continue;
            }
            // What is added to an entry of the table of addresses is no part of what the entry means.
            let in_table =
                matches!(reloc.kind, reloc::GOTPCREL | reloc::GOTPCREL32_LO | reloc::GOTPCREL32_HI);
            let addend = if in_table { 0 } else { reloc.addend };
            let Some((place, rest)) = find(o, section, value.wrapping_add_signed(addend)) else { continue };
            reloc.addend = if in_table { reloc.addend } else { rest as i64 };
            reloc.symbol = *own.entry(place).or_insert_with(|| {
                list.push(InputSymbol { place, ..list[reloc.symbol] });
                symbols.of_object[o].push(None);
                list.len() - 1
            });
        }
        for symbol in list.iter_mut().filter(|symbol| symbol.kind != elf::STT_SECTION) {
            let Place::Section(section, offset) = symbol.place else { continue };
            match find(o, section, offset) {
                Some((Place::Joined { object, section, offset }, rest)) => {
                    symbol.place = Place::Joined { object, section, offset: offset + rest };
                }
                Some((gone, _)) => symbol.place = gone,
                None => {}
            }
        }
    }
}
