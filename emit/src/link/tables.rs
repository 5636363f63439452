//! Tables that the linker makes, and the file.

use super::dynamic::{DynamicSymbols, Field, Needs};
use super::layout::{OutputSection, Rank};
use super::resolve::{Definition, SymbolId};
use super::{BuildId, LinkOptions, Program, Strip, contents, kernels};
use mir::{Diagnostic, Result};
use object::LittleEndian;
use object::elf;
use object::write::StringTable;
use object::write::elf::{
    Encoder, FileHeader, FileHeaderLayout, GnuHashTable, ProgramHeader, Rel, SectionHeader, Sym,
};
use sha1::{Digest, Sha1};

/// Bits by which the second hash of the Bloom filter is shifted, as GNU's and LLVM's linkers have it.
const BLOOM_SHIFT: u32 = 26;
/// Name and header of the build-id note; the hash follows.
const BUILD_ID_HEADER: usize = 16;
const NT_GNU_BUILD_ID: u32 = 3;

/// An entry of `.symtab`.
#[derive(Clone, Copy)]
enum Entry {
    /// Of an object: (object, symbol).
    Local(usize, usize),
    /// `_DYNAMIC`.
    Dynamic,
    Global(SymbolId),
}

/// What is known of the tables before addresses are.
pub(super) struct Tables {
    /// Offsets of names in `.dynstr`, in the order of the dynamic symbols.
    dynamic_names: Vec<u32>,
    soname: Option<u32>,
    symbols: Vec<Entry>,
    /// How many of `symbols` are local.
    locals: usize,
    symbol_names: Vec<u32>,
}

fn encoder() -> Encoder<LittleEndian> {
    Encoder::new(LittleEndian, true, elf::EM_AMDGPU)
}

/// A string table of `names` in their order; where each begins.
fn strings<'a>(names: impl Iterator<Item = &'a str>) -> Result<(Vec<u8>, Vec<u32>)> {
    let mut table = StringTable::new_in_order(1);
    let ids: Vec<_> = names.map(|name| (!name.is_empty()).then(|| table.add(name.as_bytes()))).collect();
    let mut data = vec![0];
    table.write(&mut data, 1).map_err(|e| Diagnostic::limit(format!("names of symbols: {e}")))?;
    let offsets = ids.into_iter().map(|id| table.maybe_get_offset(id)).collect();
    Ok((data, offsets))
}

/// Adds the linker's sections, whose sizes are known, to those of the objects.
pub(super) fn add(
    program: &mut Program<'_>,
    needs: &Needs,
    dynamic: &DynamicSymbols,
    options: &LinkOptions,
) -> Result<Tables> {
    let encoder = encoder();
    let symbols = &program.symbols.list;
    let soname = options.soname.as_deref();
    let names = dynamic.order.iter().map(|&id| symbols[id].name).chain(soname);
    let (dynstr, mut dynamic_names) = strings(names)?;
    let soname = soname.and_then(|_| dynamic_names.pop());
    let entries = symbol_table(program, options);
    let locals = entries.iter().take_while(|e| is_local(program, **e)).count();
    let (strtab, symbol_names) = strings(entries.iter().map(|&e| name(program, e)))?;

    let alloc = elf::SHF_ALLOC;
    let written = elf::SHF_ALLOC | elf::SHF_WRITE;
    let none = elf::SectionFlags::default();
    let mut comment_at = program.sections.iter().position(|s| s.name == contents::COMMENT_SECTION);
    let mut add = |name: &str, rank, kind, flags, align, size: u64, entry_size| {
        let section = OutputSection::table(name, rank, kind, flags, align, size);
        program.sections.push(OutputSection { entry_size, ..section });
        program.sections.len() - 1
    };
    let build_id = match &options.build_id {
        BuildId::None => 0,
        BuildId::Hash(bytes) => BUILD_ID_HEADER + (*bytes).min(20),
        BuildId::Bytes(bytes) => BUILD_ID_HEADER + bytes.len(),
    };
    if build_id > 0 {
        add(".note.gnu.build-id", Rank::Note, elf::SHT_NOTE, alloc, 4, build_id as u64, 0);
    }
    let (count, hashed) = (dynamic.order.len() as u32 + 1, dynamic.hashed());
    let size = u64::from(count) * encoder.sym_size();
    add(".dynsym", Rank::DynamicSymbols, elf::SHT_DYNSYM, alloc, 8, size, encoder.sym_size());
    let size = encoder.gnu_hash_size(dynamic.bloom_words(), dynamic.buckets, hashed);
    add(".gnu.hash", Rank::GnuHash, elf::SHT_GNU_HASH, alloc, 8, size, 0);
    add(".hash", Rank::Hash, elf::SHT_HASH, alloc, 4, encoder.hash_size(count, count), 4);
    let at = add(".dynstr", Rank::DynamicStrings, elf::SHT_STRTAB, alloc, 1, dynstr.len() as u64, 0);
    let rela_size = needs.relocs.len() as u64 * encoder.rel_size(true);
    if rela_size > 0 {
        add(".rela.dyn", Rank::Relocations, elf::SHT_RELA, alloc, 8, rela_size, encoder.rel_size(true));
    }
    let dynamic_at = add(".dynamic", Rank::Dynamic, elf::SHT_DYNAMIC, written, 8, 0, encoder.dyn_size());
    let got_is_named = program.symbols.find("_GLOBAL_OFFSET_TABLE_").is_some();
    if !needs.got.is_empty() || got_is_named {
        add(".got", Rank::Got, elf::SHT_PROGBITS, written, 8, needs.got.len() as u64 * 8, 0);
    }
    // Up to the end of the page that the loader protects.
    add(".relro_padding", Rank::RelroPadding, elf::SHT_NOBITS, written, 1, 0, 0);
    let comment_at = *comment_at.get_or_insert_with(|| {
        let (name, flags) = (contents::COMMENT_SECTION, contents::COMMENT_FLAGS);
        add(name, Rank::NotLoaded, elf::SHT_PROGBITS, flags, 1, 0, 1)
    });
    let symbol_tables = (options.strip != Strip::All).then(|| {
        let size = (entries.len() as u64 + 1) * encoder.sym_size();
        add(".symtab", Rank::SymbolTable, elf::SHT_SYMTAB, none, 8, size, encoder.sym_size());
        add(".strtab", Rank::Strings, elf::SHT_STRTAB, none, 1, strtab.len() as u64, 0)
    });
    let names_at = add(".shstrtab", Rank::SectionNames, elf::SHT_STRTAB, none, 1, 0, 0);

    let mut set = |at: usize, data: Vec<u8>| {
        program.sections[at].size = data.len() as u64;
        program.sections[at].data = data;
    };
    set(at, dynstr);
    if let Some(at) = symbol_tables {
        set(at, strtab);
    }
    let data = contents::comment(program);
    program.sections[comment_at].size = data.len() as u64;
    program.sections[comment_at].data = data;
    program.sections[names_at].size = section_names(program)?.0.len() as u64;
    let tables = Tables { dynamic_names, soname, symbols: entries, locals, symbol_names };
    program.sections[dynamic_at].size =
        dynamic_entries(program, needs, &tables, options).len() as u64 * encoder.dyn_size();
    Ok(tables)
}

/// `.shstrtab` and where each section's name is in it.
fn section_names(program: &Program<'_>) -> Result<(Vec<u8>, Vec<u32>)> {
    let names: Vec<String> = program.sections.iter().map(|s| s.name.clone()).collect();
    strings(names.iter().map(String::as_str))
}

/// Whether a symbol only is there since what it names could be merged: ld.lld drops these, too.
fn is_label(program: &Program<'_>, object: usize, symbol: &super::input::InputSymbol<'_>) -> bool {
    let (object, section) = match symbol.place {
        super::Place::Section(section, _) => (object, section),
        super::Place::Joined { object, section, .. } => (object, section),
        _ => return false,
    };
    let merged = program.objects[object].sections[section].flags.contains(elf::SHF_MERGE);
    merged && symbol.name.starts_with(".L")
}

/// What goes into `.symtab`: what was local or becomes so, then the rest.
fn symbol_table(program: &Program<'_>, options: &LinkOptions) -> Vec<Entry> {
    let mut entries = Vec::new();
    if options.strip == Strip::All {
        return entries;
    }
    for (o, object) in program.objects.iter().enumerate() {
        for (s, symbol) in object.symbols.iter().enumerate().skip(1) {
            let named = !symbol.name.is_empty() && symbol.kind != elf::STT_SECTION;
            let kept = match symbol.place {
                super::Place::Section(section, _) => program.places[o][section].is_some(),
                super::Place::Joined { object, section, .. } => program.places[object][section].is_some(),
                super::Place::Undefined => false,
                _ => true,
            };
            if symbol.is_local() && named && kept && !is_label(program, o, symbol) {
                entries.push(Entry::Local(o, s));
            }
        }
    }
    let present = |&id: &SymbolId| match program.symbols.list[id].definition {
        Definition::Object(..) => program.section_of(id).is_some() || program.is_absolute(id),
        _ => true,
    };
    let (hidden, global): (Vec<SymbolId>, Vec<SymbolId>) =
        (0..program.symbols.list.len()).filter(present).partition(|&id| is_local(program, Entry::Global(id)));
    entries.extend(hidden.into_iter().map(Entry::Global));
    if program.symbols.find("_DYNAMIC").is_none() {
        entries.push(Entry::Dynamic);
    }
    entries.extend(global.into_iter().map(Entry::Global));
    entries
}

/// Whether an entry of `.symtab` is local: other objects cannot see what is hidden.
fn is_local(program: &Program<'_>, entry: Entry) -> bool {
    match entry {
        Entry::Local(..) | Entry::Dynamic => true,
        Entry::Global(id) => {
            !matches!(program.symbols.list[id].visibility, elf::STV_DEFAULT | elf::STV_PROTECTED)
        }
    }
}

fn name<'a>(program: &Program<'a>, entry: Entry) -> &'a str {
    match entry {
        Entry::Local(object, symbol) => program.objects[object].symbols[symbol].name,
        Entry::Dynamic => "_DYNAMIC",
        Entry::Global(id) => program.symbols.list[id].name,
    }
}

/// The dynamic table. Values are right once addresses are.
fn dynamic_entries(
    program: &Program<'_>,
    needs: &Needs,
    tables: &Tables,
    options: &LinkOptions,
) -> Vec<(elf::DynamicTag, u64)> {
    let section = |name: &str| program.sections.iter().find(|s| s.name == name);
    let address = |name: &str| section(name).map_or(0, |s| s.address);
    let size = |name: &str| section(name).map_or(0, |s| s.size);
    let mut entries = Vec::new();
    entries.extend(tables.soname.map(|name| (elf::DT_SONAME, u64::from(name))));
    if options.symbolic {
        entries.push((elf::DT_FLAGS, elf::DF_SYMBOLIC.0));
    }
    if !needs.relocs.is_empty() {
        entries.push((elf::DT_RELA, address(".rela.dyn")));
        entries.push((elf::DT_RELASZ, size(".rela.dyn")));
        entries.push((elf::DT_RELAENT, encoder().rel_size(true)));
        let relative = needs.relocs.iter().filter(|r| r.symbol.is_none()).count();
        if relative > 0 {
            entries.push((elf::DT_RELACOUNT, relative as u64));
        }
    }
    entries.push((elf::DT_SYMTAB, address(".dynsym")));
    entries.push((elf::DT_SYMENT, encoder().sym_size()));
    entries.push((elf::DT_STRTAB, address(".dynstr")));
    entries.push((elf::DT_STRSZ, size(".dynstr")));
    entries.push((elf::DT_GNU_HASH, address(".gnu.hash")));
    entries.push((elf::DT_HASH, address(".hash")));
    for (name, start, bytes) in [
        (".preinit_array", elf::DT_PREINIT_ARRAY, elf::DT_PREINIT_ARRAYSZ),
        (".init_array", elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ),
        (".fini_array", elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ),
    ] {
        if section(name).is_some() {
            entries.push((start, address(name)));
            entries.push((bytes, size(name)));
        }
    }
    entries.push((elf::DT_NULL, 0));
    entries
}

/// Index in the section header table of each section of `program`: null first, then in the order of the file.
fn header_indices(program: &Program<'_>, order: &[usize]) -> Vec<u32> {
    let mut indices = vec![0; program.sections.len()];
    for (place, &section) in order.iter().enumerate() {
        indices[section] = place as u32 + 1;
    }
    indices
}

/// Fills in the tables, now that everything has its address.
pub(super) fn fill(
    program: &mut Program<'_>,
    needs: &Needs,
    dynamic: &DynamicSymbols,
    tables: &Tables,
    options: &LinkOptions,
    order: &[usize],
) -> Result<()> {
    let encoder = encoder();
    let too_many = |e: object::write::Error| Diagnostic::limit(e.to_string());
    let indices = header_indices(program, order);
    let mut filled: Vec<(&str, Vec<u8>)> = Vec::new();

    let mut dynsym = Vec::new();
    encoder.null_symbol(&mut dynsym);
    for (&id, &name) in dynamic.order.iter().zip(&tables.dynamic_names) {
        encoder.symbol(&mut dynsym, &global(program, id, name, &indices));
    }
    filled.push((".dynsym", dynsym));

    let names: Vec<&[u8]> =
        dynamic.order.iter().map(|&id| program.symbols.list[id].name.as_bytes()).collect();
    let count = names.len() as u32 + 1;
    let mut hash = Vec::new();
    encoder.hash_table(&mut hash, count, count, |i| i.checked_sub(1).map(|i| elf::hash(names[i as usize])));
    filled.push((".hash", hash));
    let mut gnu_hash = Vec::new();
    let table = GnuHashTable {
        bloom_shift: BLOOM_SHIFT,
        bloom_count: dynamic.bloom_words(),
        bucket_count: dynamic.buckets,
        symbol_base: dynamic.undefined as u32 + 1,
        symbol_count: dynamic.hashed(),
    };
    encoder.gnu_hash_table(&mut gnu_hash, &table, |i| elf::gnu_hash(names[dynamic.undefined + i as usize]));
    filled.push((".gnu.hash", gnu_hash));

    let got = program.sections.iter().find(|s| s.rank == Rank::Got).map_or(0, |s| s.address);
    filled.push((".rela.dyn", relocations(program, needs, dynamic, got)));
    let mut entries = Vec::new();
    for (tag, value) in dynamic_entries(program, needs, tables, options) {
        encoder.dynamic(&mut entries, tag, value).map_err(too_many)?;
    }
    filled.push((".dynamic", entries));
    let got = needs.got.iter().map(|&referent| {
        // The loader fills in the others.
        let fixed = !super::dynamic::moves(&program.objects, &program.symbols, options, referent);
        if fixed { program.address(referent) } else { 0 }
    });
    filled.push((".got", got.flat_map(u64::to_le_bytes).collect()));

    let mut symtab = Vec::new();
    encoder.null_symbol(&mut symtab);
    for (&entry, &name) in tables.symbols.iter().zip(&tables.symbol_names) {
        encoder.symbol(&mut symtab, &symbol(program, entry, name, &indices));
    }
    filled.push((".symtab", symtab));
    filled.push((".shstrtab", section_names(program)?.0));
    for (name, data) in filled {
        if let Some(section) = program.sections.iter_mut().find(|s| s.name == name) {
            if section.size != data.len() as u64 {
                return Err(Diagnostic::defect(format!(
                    "{name} was laid out with {} bytes and has {}",
                    section.size,
                    data.len()
                )));
            }
            section.data = data;
        }
    }
    Ok(())
}

/// `.rela.dyn`: relative relocations first, then by symbol and place, which is what loaders are fastest with.
fn relocations(program: &Program<'_>, needs: &Needs, dynamic: &DynamicSymbols, got: u64) -> Vec<u8> {
    use crate::object::reloc;
    let mut entries: Vec<Rel> = needs
        .relocs
        .iter()
        .map(|r| {
            let r_offset = match r.at {
                Field::Got(i) => got + 8 * i as u64,
                Field::Input(object, section, offset) => program.places[object][section]
                    .map_or(0, |(output, at)| program.sections[output].address + at + offset),
            };
            let (r_sym, r_type, r_addend) = match r.symbol {
                Some(id) => (dynamic.index[id], reloc::ABS64, r.addend),
                None => (0, reloc::RELATIVE64, (program.address(r.referent) as i64).wrapping_add(r.addend)),
            };
            Rel { r_offset, r_sym, r_type: elf::RelocationType(r_type), r_addend }
        })
        .collect();
    entries.sort_by_key(|r| (r.r_sym, r.r_offset));
    let mut data = Vec::new();
    entries.iter().for_each(|r| encoder().relocation(&mut data, true, r));
    data
}

fn global(program: &Program<'_>, id: SymbolId, name: u32, indices: &[u32]) -> Sym {
    let symbol = &program.symbols.list[id];
    let section = program.section_of(id).map(|s| indices[s]);
    let value = program.address(super::Referent::Global(id));
    let binding = if is_local(program, Entry::Global(id)) { elf::STB_LOCAL } else { symbol.binding };
    Sym {
        section,
        st_name: name,
        st_info: elf::SymbolInfo::new(binding, symbol.kind),
        st_other: symbol.visibility.into(),
        st_shndx: match symbol.definition {
            Definition::Undefined => elf::SHN_UNDEF,
            // The header is in no section, yet moves with the object: it counts to the first one.
            Definition::Linker(_) => elf::SymbolSection(1),
            _ => elf::SHN_ABS,
        },
        st_value: value,
        st_size: symbol.size,
    }
}

fn symbol(program: &Program<'_>, entry: Entry, name: u32, indices: &[u32]) -> Sym {
    let (object, number) = match entry {
        Entry::Global(id) => return global(program, id, name, indices),
        Entry::Dynamic => {
            let dynamic = program.sections.iter().position(|s| s.rank == Rank::Dynamic);
            return Sym {
                section: dynamic.map(|s| indices[s]),
                st_name: name,
                st_info: elf::SymbolInfo::new(elf::STB_LOCAL, elf::STT_NOTYPE),
                st_other: elf::STV_HIDDEN.into(),
                st_shndx: elf::SHN_ABS,
                st_value: dynamic.map_or(0, |s| program.sections[s].address),
                st_size: 0,
            };
        }
        Entry::Local(object, number) => (object, number),
    };
    let symbol = &program.objects[object].symbols[number];
    let section = match symbol.place {
        super::Place::Section(section, _) => program.places[object][section].map(|p| indices[p.0]),
        super::Place::Joined { object, section, .. } => program.places[object][section].map(|p| indices[p.0]),
        _ => None,
    };
    Sym {
        section,
        st_name: name,
        st_info: elf::SymbolInfo::new(elf::STB_LOCAL, symbol.kind),
        st_other: symbol.visibility.into(),
        st_shndx: elf::SHN_ABS,
        st_value: program.address(super::Referent::Local(object, number)),
        st_size: symbol.size,
    }
}

/// The file.
pub(super) fn write(
    program: &Program<'_>,
    identity: &kernels::Identity,
    tables: &Tables,
    headers: &[ProgramHeader],
    order: &[usize],
    options: &LinkOptions,
) -> Result<Vec<u8>> {
    let encoder = encoder();
    let indices = header_indices(program, order);
    let index = |name: &str| program.sections.iter().position(|s| s.name == name).map_or(0, |s| indices[s]);
    let end = order.iter().map(|&s| &program.sections[s]);
    let end = end.map(|s| s.offset + if s.is_nobits() { 0 } else { s.size }).max().unwrap_or(0);
    let section_table = end.next_multiple_of(8);
    let mut bytes = Vec::with_capacity(section_table as usize + 64 * (order.len() + 1));
    let header = FileHeader {
        os_abi: elf::OsAbi(identity.os_abi),
        abi_version: identity.abi_version,
        e_type: elf::ET_DYN,
        e_machine: elf::EM_AMDGPU,
        e_entry: 0,
        e_flags: elf::FileFlags(identity.flags),
    };
    let layout = FileHeaderLayout {
        e_phoff: encoder.file_header_size(),
        segment_num: headers.len() as u32,
        e_shoff: section_table,
        section_num: order.len() as u32 + 1,
        shstrtab_index: index(".shstrtab"),
    };
    encoder
        .file_header(&mut bytes, &header, &layout)
        .map_err(|e| Diagnostic::limit(format!("the linked object: {e}")))?;
    headers.iter().for_each(|header| encoder.program_header(&mut bytes, header));
    for section in order.iter().map(|&s| &program.sections[s]).filter(|s| !s.is_nobits()) {
        if section.data.len() as u64 != section.size || section.offset < bytes.len() as u64 {
            return Err(Diagnostic::defect(format!("{} does not fit its place in the file", section.name)));
        }
        bytes.resize(section.offset as usize, 0);
        bytes.extend_from_slice(&section.data);
    }
    bytes.resize(section_table as usize, 0);
    let (_, names) = section_names(program)?;
    encoder.section_header(&mut bytes, &SectionHeader::default());
    for &at in order {
        let section = &program.sections[at];
        let (link, info) = match section.rank {
            Rank::DynamicSymbols => (index(".dynstr"), 1),
            Rank::GnuHash | Rank::Hash | Rank::Relocations => (index(".dynsym"), 0),
            Rank::Dynamic => (index(".dynstr"), 0),
            Rank::SymbolTable => (index(".strtab"), tables.locals as u32 + 1),
            _ => (0, 0),
        };
        let header = SectionHeader {
            sh_name: names[at],
            sh_type: section.kind,
            sh_flags: section.flags,
            sh_addr: section.address,
            sh_offset: section.offset,
            sh_size: section.size,
            sh_link: link,
            sh_info: info,
            sh_addralign: section.align,
            sh_entsize: section.entry_size,
        };
        encoder.section_header(&mut bytes, &header);
    }
    name_by_contents(program, options, &mut bytes);
    Ok(bytes)
}

/// Fills in the build-id note, which is zeros until the rest is there.
fn name_by_contents(program: &Program<'_>, options: &LinkOptions, bytes: &mut [u8]) {
    let Some(section) = program.sections.iter().find(|s| s.name == ".note.gnu.build-id") else { return };
    let id = match &options.build_id {
        BuildId::None => return,
        BuildId::Bytes(bytes) => bytes.clone(),
        BuildId::Hash(length) => Sha1::digest(&*bytes)[..(*length).min(20)].to_vec(),
    };
    let mut note = Vec::with_capacity(section.size as usize);
    for word in [4, id.len() as u32, NT_GNU_BUILD_ID] {
        note.extend_from_slice(&word.to_le_bytes());
    }
    note.extend_from_slice(b"GNU\0");
    note.extend_from_slice(&id);
    bytes[section.offset as usize..][..note.len()].copy_from_slice(&note);
}
