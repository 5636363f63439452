//! Relocatable objects as the linker reads them.
//!
//! Everything is checked here once: indices of sections and symbols, ranges of contents and relocations, alignments. The rest of the linker
//! indexes without fear.

use super::Input;
use crate::object::reloc;
use mir::{Diagnostic, Result};
use object::elf;
use object::read::elf::{FileHeader, Rel as _, Rela as _, SectionHeader as _, SectionTable, Sym as _};
use object::{LittleEndian, SectionIndex, SymbolIndex};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

type Header = elf::FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// Section index of LDS variables, which the linker places. Source: usage guide, "Symbols".
const SHN_AMDGPU_LDS: u16 = 0xff00;
/// A relocation of an input section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reloc {
    /// Byte offset in the section; the field lies within it.
    pub offset: u64,
    /// Index of a symbol of the object.
    pub symbol: usize,
    /// `R_AMDGPU_*`.
    pub kind: u32,
    pub addend: i64,
}

/// A section of an object.
#[derive(Clone, Debug)]
pub(super) struct InputSection<'a> {
    pub name: &'a str,
    pub kind: elf::SectionType,
    pub flags: elf::SectionFlags,
    pub align: u64,
    pub entry_size: u64,
    /// Size in memory; that of `data`, but for `SHT_NOBITS`.
    pub size: u64,
    pub data: Cow<'a, [u8]>,
    pub relocs: Vec<Reloc>,
    /// Signature of its group, if it is in one of which only the first counts.
    pub group: Option<&'a str>,
    /// The section that it stays with (`SHF_LINK_ORDER`).
    pub link: Option<usize>,
    /// Whether it becomes part of the output.
    pub live: bool,
    /// Not live, but only since it is not part of linked objects (`SHF_EXCLUDE`).
    pub excluded: bool,
}

impl<'a> InputSection<'a> {
    /// Memory that starts as zeros.
    pub fn zeroed(name: &'a str, size: u64, align: u64) -> Self {
        Self {
            name,
            kind: elf::SHT_NOBITS,
            flags: elf::SHF_ALLOC | elf::SHF_WRITE,
            align,
            entry_size: 0,
            size,
            data: Cow::Borrowed(&[]),
            relocs: Vec::new(),
            group: None,
            link: None,
            live: true,
            excluded: false,
        }
    }

    pub fn is_allocated(&self) -> bool {
        self.flags.contains(elf::SHF_ALLOC)
    }

    pub fn is_nobits(&self) -> bool {
        self.kind == elf::SHT_NOBITS
    }
}

/// Where an input symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Undefined,
    /// At a byte offset of a section of its object.
    Section(usize, u64),
    /// At a byte offset of a section, here of `object`, that sections of several objects were joined to.
    Joined {
        object: usize,
        section: usize,
        offset: u64,
    },
    Absolute(u64),
    /// Zeroed memory of this alignment, one for all of the name.
    Common(u64),
    /// LDS of this alignment, one for all of the name.
    Lds(u64),
}

/// A symbol of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputSymbol<'a> {
    pub name: &'a str,
    pub place: Place,
    pub size: u64,
    pub binding: elf::SymbolBind,
    pub kind: elf::SymbolType,
    pub visibility: elf::SymbolVisibility,
}

impl InputSymbol<'_> {
    pub fn is_local(&self) -> bool {
        self.binding == elf::STB_LOCAL
    }
}

/// A relocatable object.
#[derive(Clone, Debug)]
pub(super) struct InputObject<'a> {
    /// For messages: the file, with the member where it is of an archive.
    pub name: String,
    pub os_abi: u8,
    pub abi_version: u8,
    pub flags: u32,
    /// By section index; index 0 and sections that only describe others are not live and empty.
    pub sections: Vec<InputSection<'a>>,
    /// By symbol index.
    pub symbols: Vec<InputSymbol<'a>>,
}

/// Whether `bytes` are an archive.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n")
}

/// The members of an archive: name for messages and contents.
pub(super) fn members<'a>(input: &Input<'a>) -> Result<Vec<(String, &'a [u8])>> {
    let bad = |e| Diagnostic::malformed(format!("{}: {e}", input.name));
    let archive = object::read::archive::ArchiveFile::parse(input.bytes).map_err(bad)?;
    if archive.is_thin() {
        return Err(Diagnostic::unsupported(format!(
            "{}: a thin archive, which holds names of files only; make a whole one",
            input.name
        )));
    }
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(bad)?;
        let name = format!("{}({})", input.name, String::from_utf8_lossy(member.name()));
        members.push((name, member.data(input.bytes).map_err(bad)?));
    }
    Ok(members)
}

impl<'a> InputObject<'a> {
    /// Reads a relocatable ELF object for AMDGPU.
    ///
    /// # Errors
    /// What is not one, or whose tables contradict each other ([`mir::ErrorKind::Malformed`]).
    pub fn read(name: String, bytes: &'a [u8]) -> Result<Self> {
        let result = Self::read_tables(name.clone(), bytes);
        result.map_err(|mut e| {
            e.message = format!("{name}: {}", e.message);
            e
        })
    }

    fn read_tables(name: String, bytes: &'a [u8]) -> Result<Self> {
        let bad = |e: object::read::Error| Diagnostic::malformed(e.to_string());
        if !bytes.starts_with(b"\x7fELF") {
            return Err(Diagnostic::malformed("neither an ELF object nor an archive of them"));
        }
        let header = Header::parse(bytes).map_err(bad)?;
        if header.e_machine(LE) != elf::EM_AMDGPU {
            let machine = header.e_machine(LE).0;
            return Err(Diagnostic::malformed(format!(
                "an object for ELF machine {machine}, not for AMDGPU"
            )));
        }
        if header.e_type(LE) != elf::ET_REL {
            return Err(Diagnostic::unsupported("linked already; relocatable objects can be linked"));
        }
        let table = header.sections(LE, bytes).map_err(bad)?;
        let symbols = read_symbols(&table, bytes)?;
        let mut sections = read_sections(&table, bytes)?;
        read_groups(&table, bytes, &symbols, &mut sections)?;
        read_relocations(&table, bytes, symbols.len(), &mut sections)?;
        let ident = header.e_ident();
        Ok(Self {
            name,
            os_abi: ident.os_abi.0,
            abi_version: ident.abi_version,
            flags: header.e_flags(LE).0,
            sections,
            symbols,
        })
    }
}

fn text<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes)
        .map_err(|_| Diagnostic::malformed(format!("the name of a {what} is not UTF-8")))
}

fn read_sections<'a>(table: &SectionTable<'a, Header>, bytes: &'a [u8]) -> Result<Vec<InputSection<'a>>> {
    let bad = |e: object::read::Error| Diagnostic::malformed(e.to_string());
    let mut sections = Vec::with_capacity(table.len());
    for header in table.iter() {
        let name = text(table.section_name(LE, header).map_err(bad)?, "section")?;
        let (kind, flags) = (header.sh_type(LE), header.sh_flags(LE));
        let align = header.sh_addralign(LE).max(1);
        if !align.is_power_of_two() || align > 1 << 32 {
            return Err(Diagnostic::malformed(format!("section {name} is aligned to {align} bytes")));
        }
        if flags.contains(elf::SHF_COMPRESSED) && flags.contains(elf::SHF_ALLOC) {
            return Err(Diagnostic::malformed(format!("section {name} is in memory and compressed")));
        }
        // Tables of this object alone, and what it does not want linked.
        let describes = matches!(
            kind,
            elf::SHT_NULL
                | elf::SHT_SYMTAB
                | elf::SHT_STRTAB
                | elf::SHT_REL
                | elf::SHT_RELA
                | elf::SHT_GROUP
                | elf::SHT_SYMTAB_SHNDX
        );
        let excluded = flags.contains(elf::SHF_EXCLUDE) || name == ".note.GNU-stack";
        let data = if describes { &[][..] } else { header.data(LE, bytes).map_err(bad)? };
        let size = if kind == elf::SHT_NOBITS { header.sh_size(LE) } else { data.len() as u64 };
        if size > super::IMAGE_MAX {
            return Err(Diagnostic::limit(format!("section {name} has {size} bytes")));
        }
        sections.push(InputSection {
            name,
            kind,
            flags,
            align,
            entry_size: header.sh_entsize(LE),
            size,
            data: Cow::Borrowed(data),
            relocs: Vec::new(),
            group: None,
            link: flags.contains(elf::SHF_LINK_ORDER).then_some(header.sh_link(LE) as usize),
            live: !describes && !excluded,
            excluded: kind == elf::SHT_PROGBITS && flags.contains(elf::SHF_EXCLUDE),
        });
    }
    Ok(sections)
}

fn read_symbols<'a>(table: &SectionTable<'a, Header>, bytes: &'a [u8]) -> Result<Vec<InputSymbol<'a>>> {
    let bad = |e: object::read::Error| Diagnostic::malformed(e.to_string());
    let symtab = table.symbols(LE, bytes, elf::SHT_SYMTAB).map_err(bad)?;
    let mut symbols = Vec::with_capacity(symtab.len());
    for (index, symbol) in symtab.iter().enumerate() {
        let mut name = text(symtab.symbol_name(LE, symbol).map_err(bad)?, "symbol")?;
        let value = symbol.st_value(LE);
        let place = match symbol.st_shndx(LE) {
            elf::SHN_UNDEF => Place::Undefined,
            elf::SHN_ABS => Place::Absolute(value),
            elf::SHN_COMMON => Place::Common(value.max(1)),
            elf::SymbolSection(SHN_AMDGPU_LDS) => Place::Lds(value.max(1)),
            shndx => {
                let section = symtab.symbol_section(LE, symbol, SymbolIndex(index)).map_err(bad)?;
                let section = section.filter(|s| s.0 < table.len()).ok_or_else(|| {
                    Diagnostic::malformed(format!(
                        "symbol {name} is in section {:#x}, which does not exist",
                        shndx.0
                    ))
                })?;
                Place::Section(section.0, value)
            }
        };
        if let Place::Common(align) | Place::Lds(align) = place
            && !align.is_power_of_two()
        {
            return Err(Diagnostic::malformed(format!("symbol {name} is aligned to {align} bytes")));
        }
        let kind = symbol.st_type();
        if kind == elf::STT_SECTION
            && name.is_empty()
            && let Place::Section(section, _) = place
            && let Ok(header) = table.section(SectionIndex(section))
        {
            name = text(table.section_name(LE, header).map_err(bad)?, "section")?;
        }
        symbols.push(InputSymbol {
            name,
            place,
            size: symbol.st_size(LE),
            binding: symbol.st_bind(),
            kind,
            visibility: symbol.st_visibility(),
        });
    }
    Ok(symbols)
}

/// Notes of which groups sections are.
fn read_groups<'a>(
    table: &SectionTable<'a, Header>,
    bytes: &'a [u8],
    symbols: &[InputSymbol<'a>],
    sections: &mut [InputSection<'a>],
) -> Result<()> {
    let bad = |e: object::read::Error| Diagnostic::malformed(e.to_string());
    for header in table.iter() {
        let Some((flags, members)) = header.group(LE, bytes).map_err(bad)? else { continue };
        if !flags.contains(elf::GRP_COMDAT) {
            continue;
        }
        let signature = symbols.get(header.sh_info(LE) as usize).map(|s| s.name);
        let signature =
            signature.ok_or_else(|| Diagnostic::malformed("a section group without signature"))?;
        for member in members {
            let section = sections.get_mut(member.get(LE) as usize);
            section.ok_or_else(|| Diagnostic::malformed("a group of sections that do not exist"))?.group =
                Some(signature);
        }
    }
    Ok(())
}

fn read_relocations<'a>(
    table: &SectionTable<'a, Header>,
    bytes: &'a [u8],
    symbols: usize,
    sections: &mut [InputSection<'a>],
) -> Result<()> {
    let bad = |e: object::read::Error| Diagnostic::malformed(e.to_string());
    for header in table.iter() {
        let target = header.sh_info(LE) as usize;
        let rela = header.rela(LE, bytes).map_err(bad)?;
        let rel = header.rel(LE, bytes).map_err(bad)?;
        if rela.is_none() && rel.is_none() {
            continue;
        }
        let Some(section) = sections.get_mut(target).filter(|_| target != 0) else {
            return Err(Diagnostic::malformed(format!(
                "relocations of section {target}, which does not exist"
            )));
        };
        // In the order of their offsets, as everybody writes them and as addresses are handed out.
        let explicit = rela
            .into_iter()
            .flat_map(|(entries, _)| entries)
            .map(|r| (r.r_offset(LE), r.r_sym(LE, false), r.r_type(LE, false).0, Some(r.r_addend(LE))));
        let implicit = rel
            .into_iter()
            .flat_map(|(entries, _)| entries)
            .map(|r| (r.r_offset(LE), r.r_sym(LE), r.r_type(LE).0, None));
        for (offset, symbol, kind, addend) in explicit.chain(implicit) {
            let width = reloc::width_bytes(kind) as u64;
            if offset.checked_add(width).is_none_or(|end| end > section.data.len() as u64) {
                return Err(Diagnostic::malformed(format!(
                    "a relocation at {offset:#x} of section {}, which has {:#x} bytes",
                    section.name,
                    section.data.len()
                )));
            }
            let symbol = symbol as usize;
            if symbol >= symbols {
                return Err(Diagnostic::malformed(format!(
                    "a relocation of symbol {symbol}, which does not exist"
                )));
            }
            let addend = addend.unwrap_or_else(|| reloc::implicit_addend(&section.data, offset, kind));
            section.relocs.push(Reloc { offset, symbol, kind, addend });
        }
    }
    Ok(())
}

/// Drops sections of groups that an earlier object has already.
pub(super) fn drop_repeated_groups<'a>(objects: &mut [InputObject<'a>]) {
    let mut owner: FxHashMap<&'a str, usize> = FxHashMap::default();
    for (index, object) in objects.iter_mut().enumerate() {
        for section in &mut object.sections {
            let Some(signature) = section.group else { continue };
            if *owner.entry(signature).or_insert(index) != index {
                section.live = false;
                section.relocs.clear();
            }
        }
    }
}
