//! Whether disassembly assembles back: to the same header, sections, symbols and relocations.
//!
//! Symbols are compared by name, sections by name and bytes, whatever their order. A relocation for a local symbol is the same as one for
//! its section and offset, as assemblers write it; where relocated fields hold addends, they are compared as such. Linked objects become relocatable ones: the entries of their kernels' descriptors are
//! relocated again, and are left out of the comparison, with all relocations.

use mir::target::Target;
use object::read::elf::{ElfFile64, Sym as _};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, elf};
use std::collections::BTreeMap;

/// What an object holds that its disassembly must keep.
#[derive(Debug, PartialEq, Eq)]
struct Contents {
    header: (u8, u8, u32),
    /// Type, flags, alignment, size and bytes by name.
    sections: BTreeMap<String, (u32, u64, u64, u64, Vec<u8>)>,
    /// Section, value, size, binding and type, visibility by name.
    symbols: BTreeMap<String, (String, u64, u64, u8, u8)>,
    /// By section: offset, type, symbol, addend.
    relocations: BTreeMap<String, Vec<(u64, u32, String, i64)>>,
}

/// Bytes of the field that a relocation fills in: 8 for `R_AMDGPU_ABS64` and `REL64`.
fn field_bytes(kind: u32) -> usize {
    if matches!(kind, 3 | 5) { 8 } else { 4 }
}

/// Reads what is to be compared.
fn contents(bytes: &[u8], compare_relocations: bool) -> Result<Contents, String> {
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(|error| error.to_string())?;
    let (header, endian) = (file.elf_header(), file.endian());
    let linked = header.e_type.get(endian) != elf::ET_REL;
    let ident = header.e_ident;
    let mut out = Contents {
        header: (ident.os_abi.0, ident.abi_version, header.e_flags.get(endian).0),
        sections: BTreeMap::new(),
        symbols: BTreeMap::new(),
        relocations: BTreeMap::new(),
    };
    let own = |kind| {
        matches!(
            kind,
            elf::SHT_PROGBITS | elf::SHT_NOBITS | elf::SHT_NOTE | elf::SHT_INIT_ARRAY | elf::SHT_FINI_ARRAY
        )
    };
    let base = |section: &object::read::elf::ElfSection64<'_, '_>| if linked { section.address() } else { 0 };
    for section in file.sections() {
        let raw = section.elf_section_header();
        let kind = raw.sh_type.get(endian);
        let name = section.name().unwrap_or_default().to_owned();
        if !own(kind) || section.size() == 0 && section.relocations().next().is_none() {
            continue;
        }
        // The merging of strings is left out by the assembler.
        let flags = raw.sh_flags.get(endian).0 & !(elf::SHF_MERGE.0 | elf::SHF_STRINGS.0);
        let align = raw.sh_addralign.get(endian).max(1);
        let mut data = section.data().unwrap_or_default().to_vec();
        for symbol in file.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
            let at = (symbol.address() - base(&section)) as usize;
            let is_descriptor = symbol.size() == 64 && symbol.name().is_ok_and(|name| name.ends_with(".kd"));
            if let Some(entry) =
                data.get_mut(at + 16..at + 24).filter(|_| is_descriptor && !compare_relocations)
            {
                entry.fill(0);
            }
        }
        for (offset, relocation) in
            section.relocations().filter(|(_, relocation)| relocation.has_implicit_addend())
        {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let at = offset as usize;
            data.get_mut(at..at + field_bytes(r_type.0)).into_iter().for_each(|field| field.fill(0));
        }
        let size = section.size();
        out.sections.insert(name.clone(), (kind.0, flags, align, size, data));
        if !compare_relocations {
            continue;
        }
        let data = section.data().unwrap_or_default();
        let mut relocations = Vec::new();
        for (offset, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let mut addend = relocation.addend();
            if relocation.has_implicit_addend() {
                let width = field_bytes(r_type.0);
                let mut field = [0; 8];
                field[..width].copy_from_slice(&data[offset as usize..offset as usize + width]);
                let unused = 64 - 8 * width as u32;
                addend = i64::from_le_bytes(field) << unused >> unused;
            }
            let mut name = String::new();
            if let RelocationTarget::Symbol(index) = relocation.target()
                && let Ok(symbol) = file.symbol_by_index(index)
            {
                name = symbol.name().unwrap_or_default().to_owned();
                if symbol.is_local()
                    && let Some(section) = symbol.section_index()
                {
                    addend += symbol.address() as i64;
                    let section = file.section_by_index(section).map_err(|error| error.to_string())?;
                    name = format!("section {}", section.name().unwrap_or_default());
                }
            }
            relocations.push((offset, r_type.0, name, addend));
        }
        relocations.sort();
        if !relocations.is_empty() {
            out.relocations.insert(name, relocations);
        }
    }
    for symbol in file.symbols() {
        let raw = symbol.elf_symbol();
        let kind = raw.st_type();
        let name = symbol.name().unwrap_or_default().to_owned();
        if matches!(kind, elf::STT_SECTION | elf::STT_FILE) || name.is_empty() {
            continue;
        }
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        if linked
            && section.as_ref().is_some_and(|section| !own(section.elf_section_header().sh_type.get(endian)))
        {
            continue;
        }
        let value = symbol.address().wrapping_sub(section.as_ref().map_or(0, base));
        let place = match &section {
            Some(section) => section.name().unwrap_or_default().to_owned(),
            None => format!("{:#x}", raw.st_shndx(endian).0),
        };
        out.symbols.insert(name, (place, value, raw.st_size(endian), raw.st_info().0, raw.st_other().0));
    }
    Ok(out)
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The same came back.
    Same,
    /// Its text says that something cannot be written: the first of it.
    LeftOut(String),
    /// It came back otherwise, or not at all.
    Different(String),
}

/// Disassembles an object, assembles the text for `target` and compares.
pub fn check(object: &[u8], target: &Target) -> Outcome {
    let text = match emit::disassemble(object) {
        Ok(text) => text,
        Err(error) => return Outcome::Different(format!("refused: {error}")),
    };
    let left_out = text.lines().find(|line| line.starts_with("// cannot be written"));
    if let Some(line) = left_out {
        return Outcome::LeftOut(line.to_owned());
    }
    let again = match emit::assemble(&text, target) {
        Ok(again) => again,
        Err(errors) => {
            let first = errors.first().map(|error| {
                let line = error.location.as_ref().map_or(0, |at| at.line);
                let shown = text.lines().nth((line as usize).saturating_sub(1)).unwrap_or_default();
                format!("line {line}: {error}: {shown}")
            });
            return Outcome::Different(format!("does not assemble: {}", first.unwrap_or_default()));
        }
    };
    let linked = ElfFile64::<Endianness>::parse(object)
        .is_ok_and(|file| file.elf_header().e_type.get(file.endian()) != elf::ET_REL);
    match (contents(object, !linked), contents(&again, !linked)) {
        (Ok(before), Ok(after)) => {
            difference(&before, &after, linked).map_or(Outcome::Same, Outcome::Different)
        }
        (Err(error), _) | (_, Err(error)) => Outcome::Different(error),
    }
}

/// The first difference.
fn difference(before: &Contents, after: &Contents, linked: bool) -> Option<String> {
    if before.header != after.header {
        return Some(format!("header {:x?}, then {:x?}", before.header, after.header));
    }
    for (name, section) in &before.sections {
        let Some(other) = after.sections.get(name) else { return Some(format!("section {name} is missing")) };
        if (section.0, section.1, section.2, section.3) != (other.0, other.1, other.2, other.3) {
            return Some(format!(
                "section {name}: {:x?}, then {:x?}",
                (section.0, section.1, section.2, section.3),
                (other.0, other.1, other.2, other.3)
            ));
        }
        if let Some(at) = section.4.iter().zip(&other.4).position(|(a, b)| a != b) {
            return Some(format!("section {name} at {at:#x}: {:#x}, then {:#x}", section.4[at], other.4[at]));
        }
    }
    if let Some(name) = after.sections.keys().find(|name| !before.sections.contains_key(*name)) {
        return Some(format!("section {name} is new"));
    }
    for (name, symbol) in &before.symbols {
        let other = after.symbols.get(name);
        if other != Some(symbol) {
            return Some(format!("symbol {name}: {symbol:x?}, then {other:x?}"));
        }
    }
    let new = after.symbols.keys().find(|name| !before.symbols.contains_key(*name));
    if let Some(name) = new.filter(|_| !linked) {
        return Some(format!("symbol {name} is new"));
    }
    for (name, list) in &before.relocations {
        let other = after.relocations.get(name).map_or(&[][..], |list| &list[..]);
        if let Some(lost) = list.iter().find(|relocation| !other.contains(relocation)) {
            return Some(format!("relocation of {name}: {lost:x?} is missing"));
        }
        if list.len() != other.len() {
            return Some(format!("{} relocations of {name}, then {}", list.len(), other.len()));
        }
    }
    (before.relocations.len() != after.relocations.len())
        .then(|| "relocations of a section are new".to_owned())
}
