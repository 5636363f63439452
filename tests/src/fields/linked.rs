//! Linked objects: what `gcnc link` and `ld.lld-22` make of the same object, but for addresses and offsets.
//!
//! Beside the fields of [`super::facts`] these are segments, entries of the dynamic table, whether both hash tables find every symbol, and all that
//! `llvm-readelf` prints ([`super::readelf`]).

use super::facts::{Facts, facts, report};
use super::{Difference, Outcome};
use emit::link::{Input, LinkOptions, Undefined};
use object::read::elf::{Dyn as _, ElfFile64, SectionHeader as _, Sym as _};
use object::{Endianness, Object, ObjectSection, elf};

/// Entries of the dynamic table whose values are addresses, or sizes of what is laid out.
const PLACES: [elf::DynamicTag; 10] = [
    elf::DT_HASH,
    elf::DT_GNU_HASH,
    elf::DT_STRTAB,
    elf::DT_SYMTAB,
    elf::DT_RELA,
    elf::DT_STRSZ,
    elf::DT_RELASZ,
    elf::DT_INIT_ARRAY,
    elf::DT_FINI_ARRAY,
    elf::DT_JMPREL,
];

/// Links an object both ways and compares.
pub fn compare(object: &[u8], place: &str) -> Outcome {
    let ours = ours(object).and_then(|bytes| linked_facts(&bytes));
    let theirs = theirs(object).and_then(|bytes| linked_facts(&bytes));
    match super::compare(&ours, &theirs, place) {
        Outcome::Compared(differences) => Outcome::Compared(
            differences
                .into_iter()
                .map(|difference| Difference { field: format!("linked {}", difference.field), ..difference })
                .collect(),
        ),
        other => other,
    }
}

fn ours(object: &[u8]) -> Result<Vec<u8>, String> {
    // As `ld.lld -shared` and the command do.
    let options = LinkOptions { undefined: Undefined::Allow, ..LinkOptions::default() };
    let input = Input { name: "object.o", bytes: object, whole_archive: false };
    emit::link::link(&[input], &options).map_err(|error| error.to_string())
}

fn theirs(object: &[u8]) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("object.o");
    std::fs::write(&path, object).map_err(|error| error.to_string())?;
    crate::toolchain::link(&path)
}

/// Fields of a linked object.
fn linked_facts(bytes: &[u8]) -> Result<Facts, String> {
    let mut out = facts(bytes)?;
    let object = report(bytes)?;
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(|error| error.to_string())?;
    let endian = file.endian();
    // How far code is from its descriptor depends on what lies between; that it is there does not.
    for kernel in object.kernels.iter().filter(|kernel| kernel.described_by == "descriptor") {
        let address = |name: &str| object.symbols.iter().find(|symbol| symbol.name == name).map(|s| s.value);
        let field = format!("descriptor {}.kernel_code_entry_byte_offset", kernel.name);
        if let Some(offset) = out.get_mut(&field) {
            let entry = address(&format!("{}.kd", kernel.name))
                .zip(offset.parse().ok())
                .map(|(descriptor, offset)| descriptor.wrapping_add_signed(offset));
            let found = entry.is_some() && entry == address(&kernel.name);
            *offset = if found { "to the kernel".to_owned() } else { format!("{offset}, to no kernel") };
        }
    }
    for segment in &object.segments {
        // Which sections a segment covers says where it is, without addresses.
        let covered = object.sections.iter().filter(|section| {
            section.flags.contains('a')
                && section.size > 0
                && section.address >= segment.address
                && section.address + section.size <= segment.address + segment.memory_bytes
        });
        let names: Vec<&str> = covered.map(|section| section.name.as_str()).collect();
        let name = format!("segment {} {} [{}]", segment.kind, segment.flags, names.join(" "));
        out.insert(name, format!("align {}", segment.align));
        if segment.kind == "load"
            && segment.align > 1
            && segment.offset % segment.align != segment.address % segment.align
        {
            return Err(format!("segment at {:#x} is not where its alignment asks for", segment.address));
        }
    }
    for section in file.sections() {
        let header = section.elf_section_header();
        if let Ok(Some((entries, _))) = header.dynamic(endian, bytes) {
            for entry in entries {
                let tag = entry.d_tag(endian);
                let value = entry.d_val(endian);
                let value = if PLACES.contains(&tag) { "a place".to_owned() } else { format!("{value:#x}") };
                out.insert(format!("dynamic {:#x}", tag.0), value);
            }
        }
    }
    for symbol in object.symbols.iter().filter(|symbol| symbol.dynamic && !symbol.name.is_empty()) {
        let value = format!("{} {} {} {}", symbol.binding, symbol.kind, symbol.visibility, symbol.section);
        out.insert(format!("dynamic symbol {}", symbol.name), value);
    }
    lookups(&file, bytes, &mut out)?;
    let copy = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    std::fs::write(copy.path(), bytes).map_err(|error| error.to_string())?;
    super::readelf::add(copy.path(), &mut out)?;
    Ok(out)
}

/// Whether the hash tables find every defined dynamic symbol, as a loader looks for it.
fn lookups(file: &ElfFile64<'_, Endianness>, bytes: &[u8], out: &mut Facts) -> Result<(), String> {
    let endian = file.endian();
    let symbols = file.elf_dynamic_symbol_table();
    let versions = object::read::elf::VersionTable::default();
    for section in file.sections() {
        let header = section.elf_section_header();
        let old = header.hash_header(endian, bytes).map_err(|error| error.to_string())?;
        let new = header.gnu_hash_header(endian, bytes).map_err(|error| error.to_string())?;
        if old.is_none() && new.is_none() {
            continue;
        }
        let data = section.data().map_err(|error| error.to_string())?;
        for (index, symbol) in symbols.enumerate() {
            let name = symbol.name(endian, symbols.strings()).map_err(|error| error.to_string())?;
            let is_defined = symbol.st_shndx(endian) != elf::SHN_UNDEF;
            if name.is_empty() || new.is_some() && !is_defined {
                continue;
            }
            let found = if old.is_some() {
                let table =
                    object::read::elf::HashTable::<elf::FileHeader64<Endianness>>::parse(endian, data)
                        .map_err(|error| error.to_string())?;
                table.find(endian, name, elf::hash(name), None, symbols, &versions)
            } else {
                let table =
                    object::read::elf::GnuHashTable::<elf::FileHeader64<Endianness>>::parse(endian, data)
                        .map_err(|error| error.to_string())?;
                table.find(endian, name, elf::gnu_hash(name), None, symbols, &versions)
            };
            let found = found.is_some_and(|(at, _)| at == index);
            let name = String::from_utf8_lossy(name);
            out.insert(
                format!("lookup in {} of {name}", section.name().unwrap_or_default()),
                found.to_string(),
            );
        }
    }
    Ok(())
}
